"""The kernel perceptron is the perceptron over all conjunctions up to its degree."""

from itertools import combinations
from math import sqrt

import numpy as np
import pytest

from sidelight import DataError, KernelPerceptron, StructuredPerceptron, bias
from tests.learners.samples import as_columns, labelled

TEMPLATES = ["word", "pos[-1]", "word[1]"]


@pytest.mark.parametrize("margin", [0.0, 1.5])
def test_degree_one_is_the_perceptron_with_a_bias(margin):
    X, y = labelled()
    X, options = as_columns(X), {"margin": margin, "epochs": 4, "all_weights": True}
    dual = KernelPerceptron(TEMPLATES, degree=1, **options).fit(X, y)
    primal = StructuredPerceptron([*TEMPLATES, bias], **options).fit(X, y)
    assert dual.mistakes_ == primal.mistakes_
    np.testing.assert_allclose(dual.scores(X).unary, primal.scores(X).unary, atol=1e-9)
    np.testing.assert_allclose(dual.scores(X).pair, primal.scores(X).pair, atol=1e-12)


def conjunctions(rows):
    """(x·z + 1)² of 0/1 features as a product of explicit ones: a bias, each √3 times, each pair √2 times."""
    pairs = [rows[:, a] * rows[:, b] * sqrt(2) for a, b in combinations(range(rows.shape[1]), 2)]
    return np.column_stack([np.ones(len(rows)), rows * sqrt(3), *pairs])


def test_degree_two_is_the_perceptron_over_pairs():
    X, y = labelled(count=20)
    words = sorted({w for x in X for w in x})
    flags = [np.array([[w == v for v in words] + [t == 0, w[0].isupper()] for t, w in enumerate(x)], float) for x in X]
    dual = KernelPerceptron(epochs=3, all_weights=True).fit(flags, y)
    primal = StructuredPerceptron(epochs=3, all_weights=True).fit([conjunctions(rows) for rows in flags], y)
    assert dual.mistakes_ == primal.mistakes_
    expected = primal.scores([conjunctions(rows) for rows in flags]).unary
    np.testing.assert_allclose(dual.scores(flags).unary, expected, atol=1e-9)


def test_only_tokens_that_were_wrong_are_kept():
    X, y = labelled()
    model = KernelPerceptron(["word", "word[-1]"]).fit(X, y)
    assert 0 < model.scorer_.supports <= sum(model.mistakes_)
    feature, label, weight = model.top_weights(1)[0]
    assert feature.startswith("word=")
    assert label in model.classes_
    assert weight != 0
    with pytest.raises(DataError, match="degree must be a whole number"):
        KernelPerceptron(degree=0).fit(X, y)
