"""Weights of attributes and label pairs against explicit features."""

import numpy as np
import pytest

from sidelight import CRF, Labelling, StructuralSVM, StructuredPerceptron, load
from sidelight.errors import DataError
from sidelight.features.dicts import DictEncoder
from sidelight.scorers.edges import EdgeScorer
from sidelight.structures.chain import Chain
from sidelight.structures.known import KnownLabels

X = [[{"a": True}, {"b": 2.0}, {"a": True, "b": True}], [{"b": True}]]
Y = np.array([0, 1, 1, 0], np.int32)


def scorer_of(all_weights):
    encoded = DictEncoder().fit_transform(X)
    return encoded, EdgeScorer.observed(encoded, KnownLabels.complete(Y, encoded.offsets), 2, all_weights=all_weights)


def test_scores_are_sums_over_tokens_and_steps():
    encoded, scorer = scorer_of(True)
    assert scorer.size == 2 * 2 + 4 + 2 + 2 + 2 * 4
    w = np.random.default_rng(0).normal(size=scorer.size)
    parts = scorer.scores(encoded, w)
    single, pair, start, end = w[:4].reshape(2, 2), w[4:8].reshape(2, 2), w[8:10], w[10:12]
    edges = w[12:].reshape(2, 2, 2)  # attribute, label before, label
    expected = start[0] + single[0, 0] + (2 * single[1, 1] + pair[0, 1] + 2 * edges[1, 0, 1])
    expected += single[0, 1] + single[1, 1] + pair[1, 1] + edges[0, 1, 1] + edges[1, 1, 1] + end[1]
    np.testing.assert_allclose(Chain(1).score(parts, Y)[0], expected)


def test_observed_pairs_alone_have_weights():
    encoded, scorer = scorer_of(False)
    assert scorer.edges.size == 3  # b: 0 1, a and b: 1 1; first tokens have no label before them
    w = np.arange(1.0, scorer.size + 1)
    again = EdgeScorer.from_arrays(2, scorer.arrays())
    np.testing.assert_array_equal(again.scores(encoded, w).pair, scorer.scores(encoded, w).pair)


@pytest.mark.parametrize("all_weights", [True, False])
def test_expected_features_are_the_gradient(all_weights):
    encoded, scorer = scorer_of(all_weights)
    chain, w = Chain(1), np.random.default_rng(1).normal(size=scorer.size)
    found = scorer.expectation()
    found.add(encoded, chain.marginals(scorer.scores(encoded, w)).parts)
    step = 1e-6 * np.eye(scorer.size)
    ends = [
        [chain.marginals(scorer.scores(encoded, w + sign * one)).log_partition.sum() for sign in (1, -1)]
        for one in step
    ]
    np.testing.assert_allclose(found.total(), (np.array(ends)[:, 0] - np.array(ends)[:, 1]) / 2e-6, atol=1e-5)
    rows = scorer.rows(encoded, np.array([0, 1]), Y, None)
    np.testing.assert_allclose(
        [rows.row(r)[1] @ w[rows.row(r)[0]] for r in range(2)], chain.score(scorer.scores(encoded, w), Y), rtol=1e-6
    )


def test_learners_take_them_and_keep_them_in_files(tmp_path):
    # What is seen at a token says whether its label is that of the token before.
    rng, sequences, y = np.random.default_rng(0), [], []
    for _ in range(30):
        same = rng.integers(2, size=6)
        labels = [int(rng.integers(2))]
        for flag in same[1:]:
            labels.append(labels[-1] if flag else 1 - labels[-1])
        sequences.append([{"first": str(labels[0]), "same": str(flag)} if t == 0 else {"same": str(flag)}
                          for t, flag in enumerate(same)])  # fmt: skip
        y.append([str(label) for label in labels])
    task = Labelling(edges=True)
    for learner in (CRF(task=task), StructuredPerceptron(task=task), StructuralSVM(task=task, C=10.0)):
        assert learner.fit(sequences, y).score(sequences, y) == 1.0
    model = CRF(task=task).fit(sequences, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.predict(sequences) == model.predict(sequences)
    assert "after" in str(again.explain(sequences[0], 2))
    assert CRF().fit(sequences, y).score(sequences, y) < 0.9
    with pytest.raises(DataError, match="order 1"):
        CRF(task=Labelling(order=2, edges=True)).fit(sequences, y)


def test_the_strongest_weights_name_both_labels():
    X, y = [["a", "b", "a"]] * 3, [["P", "Q", "P"]] * 3
    model = CRF(["word"], edges=True, max_iterations=30).fit(X, y)
    found = model.top_weights(100)
    assert {(feature, label) for feature, label, _ in found} >= {("word=b after P", "Q"), ("word=a after Q", "P")}
    sizes = [abs(weight) for *_, weight in found]
    assert sizes == sorted(sizes, reverse=True)
    assert {label for _, label, _ in model.top_weights(100, "Q")} == {"Q"}
    assert len(model.top_weights(3)) == 3
