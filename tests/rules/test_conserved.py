"""Heads that are listed in a column, and the share of them that a tree keeps."""

import numpy as np
import pytest

from sidelight import (
    CRF,
    DMV,
    DataError,
    NotSupported,
    Parsing,
    PosteriorRegularization,
    check,
    child,
    column,
    conserved,
    count,
    head_in,
    parse_rule,
    pos,
)  # fmt: skip
from sidelight.learners.tasks.valence import ValenceParsing

X = [
    [("a", "D", "2"), ("b", "N", "0,3"), ("c", "V", "_")],
    [("d", "N", ""), ("e", "V", "0")],
    [("f", "V", "")],
]


@pytest.mark.parametrize("task", [Parsing(projective=True), ValenceParsing()])
def test_listed_arcs(task):
    view = task.view(X, [])
    holds = view.holds(head_in(column(2)))
    copies = 1 if type(task) is Parsing else 2
    # Arcs of the first sentence: to a from the root, b, c; to b from the root, a, c; to c from the root, a, b.
    expected = [0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0]
    np.testing.assert_array_equal(holds, np.repeat(expected, copies).astype(bool))


def test_conserved_counts_words():
    trees = [[2, 3, 0], [2, 0], [0]]
    rule = conserved(column(2), 0.9)
    assert [one.violations for one in check([rule], X, trees, task=Parsing())] == [0.0]
    (found,) = check([rule], X, [[3, 1, 0], [0, 1], [0]], task=Parsing())
    np.testing.assert_allclose(found.violations, 1.8 + 0.9)
    assert found.sequences == 2
    assert repr(parse_rule(repr(rule))) == repr(rule) == "conserved(column(2), 0.9)"


def test_conserved_expectation():
    """Each sentence keeps 90 % of its listed heads in expectation, whatever the model; others are left alone."""
    rules = [conserved(column(2), 0.9)]
    for base in (DMV(), CRF(task=Parsing(projective=True))):
        learner = PosteriorRegularization(base, rules, penalty=20.0, decode="model", iterations=3, guard=False)
        learner.fit(X, [None] * len(X))
        rows, found = learner.project(X)
        assert rows.sequences == len(X)
        assert (rows.excess(found.expected) > -0.021).all()
        assert check(rules, X[:2], learner.predict(X[:2]), task=learner.task_)[0].violations == 0.0


def test_bad_lists():
    with pytest.raises(DataError, match="reads numbers of heads"):
        check([conserved(column(2))], [[("a", "D", "x")]], [[0]], task=Parsing())
    with pytest.raises(DataError, match="takes a column"):
        head_in("2")
    with pytest.raises(DataError, match="between 0 and 1"):
        conserved(column(2), 2)
    with pytest.raises(NotSupported, match="speaks of arcs"):
        check([count("D", where=head_in(column(2))) == 0], X, [["D"] * len(x) for x in X])
    assert repr(count(where=head_in(column(2)) & child(pos.isin("V"))))
