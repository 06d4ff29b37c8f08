"""Cross-validation on the labelled part."""

import numpy as np
import pytest

from sidelight import BAD, CCM, CRF, GOOD, HMM, JLIS, CoDL, DataError, generate_references, share, starts_with
from sidelight.learners.choosing.trials import (
    Difference,
    Metric,
    Trial,
    compare,
    each_fold,
    folds,
    held_out,
    prepared,
    sample,
    usable,
)
from sidelight.learners.learner import Learner
from sidelight.metrics import span_scores, token_accuracy
from sidelight.supervision import Signal
from tests.learners.samples import labelled

X, Y = labelled()


class Parrot(Learner):
    """Remembers what it was fitted to, and says A of everything."""

    signals = frozenset({Signal.FULL, Signal.NOTHING})

    def __init__(self, seen=None, guard=True):
        self.seen = seen
        self.guard = guard

    def fit(self, X, y):
        assert not self.guard
        self.X_, self.y_, self.classes_ = X, y, ["A"]
        return self

    def predict(self, X):
        return [["A"] * len(x) for x in X]


class Broken(Parrot):
    def predict(self, X):
        raise AssertionError


@pytest.mark.parametrize(("labelled_count", "count", "sizes"), [(10, 5, [2] * 5), (11, 3, [4, 4, 3]), (3, 5, [1] * 3)])
def test_folds_are_a_partition_of_the_labelled_sequences(labelled_count, count, sizes):
    y = [*Y[:labelled_count], None, GOOD, [None, {"A", "T"}]]
    parts = folds(y, count)
    assert sorted(i for part in parts for i in part) == list(range(labelled_count))
    assert sorted(map(len, parts), reverse=True) == sizes
    assert folds(y, count) == parts != folds(y, count, seed=1)


def test_no_folds_of_fewer_than_two():
    assert folds([["A"], None, BAD], 5) == []
    with pytest.raises(DataError, match="at least 2 folds, got 1"):
        folds(Y, 1)


def test_sequences_of_a_rare_label_are_parted():
    y = [["A"], ["A", "B"], ["A"], ["A", "B"], ["A"], ["A"]]
    for seed in range(5):
        assert all(len({1, 3} & set(part)) < 2 for part in folds(y, 3, seed))


def test_all_else_stays_in_training():
    inputs = [["x"] * (i + 1) for i in range(8)]
    y = [["A"], ["A", "B"], ["B"] * 3, None, None, GOOD, BAD, ["A"] * 7 + [None]]
    parts = folds(y, 3)
    done = list(each_fold(Parrot(), inputs, y, parts, Metric()))
    assert [list(fold.sequences) for fold in done] == parts
    for fold, (out,) in zip(done, parts, strict=True):
        seen = [len(x) - 1 for x in fold.model.X_]
        assert seen == [i for i in range(8) if i not in (out, 6)]  # BAD is of no use to it
        assert [known for i, known in zip(seen, fold.model.y_, strict=True) if i > 2] == [None] * 4
    trial = Trial.of(done)
    assert trial.score == pytest.approx(2 / 6)
    assert held_out(Parrot(), inputs, y, parts, Metric()).score == trial.score


def test_what_a_learner_can_use():
    y = [["A"], None, GOOD, BAD, [{"A", "B"}]]
    inputs = [[str(i)] for i in range(5)]
    assert usable(HMM(), inputs, y) == ([["0"]], [["A"]])
    assert usable(CRF(), inputs, y) == ([["0"], ["4"]], [["A"], [{"A", "B"}]])
    assert usable(CoDL(HMM()), inputs, y) == ([["0"], ["1"], ["2"], ["4"]], [["A"], None, None, None])
    assert usable(JLIS(), inputs, y) == ([["0"], ["2"], ["3"]], [["A"], GOOD, BAD])


def test_samples():
    y = [None, ["A"], *[None] * 50, GOOD, ["B"]]
    kept = sample(y, 10)
    assert kept == sorted(kept)
    assert {1, 53} <= set(kept)
    assert len(kept) == 12
    assert sample(y, 10) == kept != sample(y, 10, seed=1)
    assert sample(y, 100) == list(range(54))


def test_prepared_learners_are_quiet_and_know_all_labels():
    twin = prepared(CoDL(CRF(verbose=True, classes=["Q"]), verbose=True), ["A", "B"])
    assert not twin.verbose
    assert not twin.base.verbose
    assert twin.base.classes == ["Q"]
    assert prepared(CCM(HMM()), ["A", "B"]).base.classes == ["A", "B"]


def test_the_score_is_that_of_scikit_learn():
    references, gold = generate_references(30, seed=1)
    parts = folds(gold, 3)
    trial = held_out(HMM(), references, gold, parts, Metric.choose(gold))
    predicted = {}
    for part in parts:
        rest = [i for i in range(30) if i not in part]
        model = HMM(classes=sorted({c for labels in gold for c in labels}))
        model.fit([references[i] for i in rest], [gold[i] for i in rest])
        predicted |= dict(zip(part, model.predict([references[i] for i in part]), strict=True))
    assert trial.score == pytest.approx(token_accuracy(gold, [predicted[i] for i in range(30)]))
    assert trial.seconds > 0


@pytest.mark.parametrize(
    ("y", "name", "scheme"),
    [
        ([["A", "B", "C"]], "token accuracy", "runs"),
        ([["O", "B-x", "O"]], "span F1", "bio"),
        ([["other", "name", "other"]], "span F1", "runs"),
        ([["A", "A"]], "token accuracy", "runs"),
        ([["A", "B", "C"], None, GOOD, [None, "A"]], "token accuracy", "runs"),
    ],
)
def test_the_metric(y, name, scheme):
    metric = Metric.choose(y)
    assert (metric.name, metric.scheme) == (name, scheme)


def test_span_scores_leave_the_outside_label_out():
    metric = Metric("other", "runs")
    gold = [["other", "name", "name", "other"], ["other", "other"], ["name"]]
    guess = [["other", "name", "other", "other"], ["name", "other"], ["name"]]
    assert metric.counts(gold, guess).tolist() == [[0, 2], [0, 1], [2, 2]]
    bio = [["O", "B-x", "I-x"], ["B-y", "O", "O"]], [["O", "B-x", "I-x"], ["O", "O", "O"]]
    above, below = Metric("O", "bio").counts(*bio).sum(axis=0)
    assert above / below == pytest.approx(span_scores(*bio).overall.f1)


def test_the_standard_error_of_a_difference():
    """It is what repeated draws of sequences show, for accuracy and for F1."""
    rng = np.random.default_rng(0)

    def draw(n):
        below = rng.integers(5, 30, n).astype(float)
        luck = rng.random(n)
        one, other = (rng.binomial(below.astype(int), np.clip(luck + shift, 0.05, 0.95)) for shift in (0.05, 0.0))
        numbers = tuple(range(n))
        return [Trial(numbers, np.stack([c, below], axis=1), 0.0) for c in (one, other)]

    found = [compare(*draw(20)) for _ in range(400)]
    spread = np.std([one.mean for one in found])
    assert np.mean([one.error for one in found]) == pytest.approx(spread, rel=0.1)


def test_one_sequence_alone_is_no_evidence():
    same, counts = tuple(range(5)), np.array([[8.0, 10.0]] * 5)
    changed = counts.copy()
    changed[2, 0] = 2.0
    found = compare(Trial(same, changed, 0.0), Trial(same, counts, 0.0))
    assert found.mean == pytest.approx(-0.12)
    assert not (-found).beyond(1.0 + 1e-9)
    changed[3, 0] = 3.0
    assert (-compare(Trial(same, changed, 0.0), Trial(same, counts, 0.0))).beyond(1.0, 0.005)
    assert not Difference(-0.3, float("nan"), 1).beyond(1.0)


def test_differences_are_over_common_sequences():
    one = Trial((3, 1, 2), np.array([[1.0, 2.0], [2.0, 2.0], [0.0, 2.0]]), 0.0)
    other = Trial((1, 3), np.array([[1.0, 2.0], [1.0, 2.0]]), 0.0)
    found = compare(one, other)
    assert (found.mean, found.sequences) == (pytest.approx(0.25), 2)
    assert compare(one, Trial((), np.empty((0, 2)), 0.0)).sequences == 0


def test_what_a_learner_refuses_is_its_outcome():
    parts = folds(Y, 3)
    trial = held_out(CCM(HMM(), [share("A") <= 0.5]), X, Y, parts, Metric())
    assert trial.failure.startswith("NotSupported: the rule")
    assert np.isnan(trial.score)
    contradiction = CCM(HMM(), [starts_with("A").hard(), starts_with("T").hard()])
    assert held_out(contradiction, X, Y, parts, Metric()).failure.startswith("Infeasible: ")
    with pytest.raises(AssertionError):  # a mistake in a program is no outcome
        held_out(Broken(), X, Y, parts, Metric())
