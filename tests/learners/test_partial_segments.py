"""Segments whose labels are known in part: what the likelihood is, how long segments may be, and where fits begin."""

from itertools import groupby, pairwise, product

import numpy as np
import pytest

from sidelight import (
    CRF,
    DataError,
    LatentStructuralSVM,
    PosteriorRegularization,
    Segmenting,
    SemiCRF,
    generate_references,
    share,
)
from sidelight.learners.labelled.crf import LogLinear
from sidelight.learners.model import prepare
from sidelight.solvers.losses import LogLoss

ALTERNATING = [["O" if t % 2 == 0 else None for t in range(10)], ["B", "O"]]
TOKENS = [list("abcdefghij"), ["x", "y"]]


def score_of(scores, labels):
    """The score of one labelling as the first lines of `structures/segmentation.py` define it, segment by segment."""
    segments, first = [], 0
    for label, run in groupby(labels):
        length = len(list(run))
        segments.append((label, first, length))
        first += length
    if max(length for *_, length in segments) > scores.longest:
        return -np.inf
    total = scores.start[labels[0]] + scores.end[labels[-1]]
    for c, begin, length in segments:
        total += scores.opens[begin, c] + scores.closes[begin + length - 1, c] + scores.length[c, length - 1]
        total += scores.unary[begin : begin + length, c].sum()
    return total + sum(scores.pair[a, b] for (a, *_), (b, *_) in pairwise(segments))


@pytest.mark.parametrize("max_length", [None, 3])
def test_the_likelihood_sums_over_all_labellings_that_agree(max_length):
    """Each labelling is one segmentation, whose segments are its runs; an unknown run may be any segments."""
    X = [["a", "b", "a", "c", "b"], ["c", "a", "b", "b"]]
    y = [["A", None, None, "A", {"B", "C"}], [None, "B", "B", None]]
    learner = SemiCRF(["word"], max_length=max_length)
    prepared = prepare(learner, X, y)
    loss = LogLoss(prepared.scorer, learner.structure_, prepared.encoded, prepared.known)
    weights = np.random.default_rng(0).normal(size=prepared.scorer.size)
    expected = 0.0
    for i, known in enumerate(y):
        scores = prepared.scorer.scores(prepared.encoded.sequences(i, i + 1), weights)
        allowed = [[{one} if isinstance(one, str) else one or {"A", "B", "C"}] for one in known]
        every = list(product(range(3), repeat=len(known)))
        agrees = [all("ABC"[c] in one[0] for c, one in zip(labels, allowed, strict=True)) for labels in every]
        found = np.array([score_of(scores, labels) for labels in every])
        expected += np.logaddexp.reduce(found) - np.logaddexp.reduce(found[agrees])
    np.testing.assert_allclose(loss(weights)[0], expected, rtol=1e-10)


@pytest.mark.parametrize("learner", [SemiCRF(), CRF(task=Segmenting()), LatentStructuralSVM(task=Segmenting())])
@pytest.mark.parametrize("first", [ALTERNATING[0], ["O", None, None, "O", "O", "O", None, None, "O", "O"]])
def test_unknown_tokens_may_lengthen_segments(learner, first):
    model = learner.fit(TOKENS, [first, ALTERNATING[1]])
    assert model.scorer_.longest == 15
    assert model.predict(TOKENS) == [["O"] * 10, ["B", "O"]]


def test_the_longest_segment_that_is_possible():
    X = [["a"] * 6, ["a"] * 3]
    for y, longest in [
        ([["A", None, {"A", "B"}, "B", None, "A"], ["A", "B", "A"]], 6),  # four tokens may be B, half as much again
        ([["A", "A", "B", "B", "A", "A"], ["A", "A", "A"]], 5),
        ([["A", "A", "B", "B", "A", "A"], ["A", None, "B"]], 3),
    ]:
        assert prepare(SemiCRF(), X, y).scorer.longest == longest


def test_known_labels_that_are_longer_than_segments_may_be():
    y = [["O", None, "O", "O", "O", None, "B", None, None, "O"], ["B", "O"]]
    with pytest.raises(DataError, match="token 2: a segment of 3 equal labels is longer than max_length = 2"):
        SemiCRF(max_length=2).fit(TOKENS, y)
    assert SemiCRF(max_length=3).fit(TOKENS, y).max_length_ == 3


@pytest.fixture(scope="module")
def references():
    """References of which every second label is known."""
    X, y = generate_references(12, seed=1)[:2]
    return X, y, [[label if t % 2 == 0 else None for t, label in enumerate(labels)] for labels in y]


def runs(y):
    return sum(1 for labels in y for _ in groupby(labels))


def test_unknown_tokens_continue_the_segments_beside_them(references, monkeypatch):
    X, y, partial = references
    learner = SemiCRF(["word"])
    model = learner.fit(X, partial)
    assert model.score(X, y) > 0.9
    assert runs(model.predict(X)) < 1.2 * runs(y)
    monkeypatch.setattr(LogLinear, "first_weights", lambda self, loss: np.zeros(loss.scorer.size))
    assert runs(SemiCRF(["word"]).fit(X, partial).predict(X)) > 3 * runs(y)  # another local optimum


def test_a_fit_ends_below_where_it_began(references):
    X, _, partial = references
    learner = SemiCRF(["word"])
    prepared = prepare(learner, X, partial)
    loss = LogLoss(prepared.scorer, learner.structure_, prepared.encoded, prepared.known)
    begun = learner.first_weights(loss)
    objective = loss(begun)[0] + learner.l2 * begun @ begun
    assert learner.fit(X, partial).trace_[-1].objective < objective < loss(0 * begun)[0]


@pytest.mark.parametrize(
    "learner",
    [
        PosteriorRegularization(SemiCRF(["word"]), [share("title") <= 0.9], iterations=20, guard=False),
        LatentStructuralSVM(["word"], task=Segmenting(), max_rounds=1, max_iterations=20),
    ],
    ids=lambda one: type(one).__name__,
)
def test_learners_around_segments_begin_there_too(references, learner):
    X, y, partial = references
    model = learner.fit(X, partial)
    assert model.score(X, y) > 0.9
    assert runs(model.predict(X)) < 1.2 * runs(y)
