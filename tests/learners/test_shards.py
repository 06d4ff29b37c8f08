"""E steps work shard by shard: copies of shards in other processes find what threads do, and only sums travel."""

import numpy as np
import pytest

from sidelight import CRF, DMV, EM, HMM, CoDL, Segmenting, changes_only_after, count, runs, starts_with, word
from sidelight.errors import Infeasible
from sidelight.learners.decoding import UnderRules
from sidelight.scorers.chance import RandomScores
from sidelight.solvers.pools import LabelledShard, Labeller
from tests.learners.samples import labelled
from tests.running.copies import running_on_copies

X, Y = labelled(seed=5, count=1500)  # about 5000 tokens, so that there are several shards
LABELS = ["A", "T", "Y"]
SOME = [*Y[:100], *[None] * 1400]
PARTIAL = [*Y[:50], *([None, *y[1:]] if len(y) > 1 else None for y in Y[50:200]), *[None] * 1300]
TREES = [[("w", "DNV"[i % 3]) for i, _ in enumerate(x)] for x in X]


def everywhere(learner, X, y):
    """The learner fitted in threads, and in other processes that keep their shards or lose them."""
    here = learner().fit(X, y)
    for kept in (True, False):
        with running_on_copies(kept=kept) as place:
            there = learner().fit(X, y)
        assert place.sent
        yield here, there, place


@pytest.mark.parametrize(
    ("learner", "X", "y"),
    [
        (lambda: EM(HMM(), guard=False, iterations=3), X, SOME),
        (lambda: EM(HMM(order=2), guard=False, iterations=2), X, SOME),
        (lambda: EM(HMM(), guard=False, iterations=3), X, PARTIAL),
        (lambda: EM(HMM(), classes=LABELS, restarts=2, iterations=3), X, [None] * len(X)),
        (lambda: EM(HMM(), classes=LABELS, spread=1.0, iterations=3), X, [None] * len(X)),
        (lambda: EM(DMV(), iterations=3), TREES, [None] * len(X)),
        (lambda: EM(DMV(start="random"), iterations=2), TREES, [None] * len(X)),
    ],
    ids=["labels", "order 2", "partial labels", "restarts", "spread", "trees", "random trees"],
)
def test_em(learner, X, y):
    for here, there, place in everywhere(learner, X, y):
        np.testing.assert_allclose(
            [step.objective for step in there.trace_], [step.objective for step in here.trace_], rtol=1e-10
        )
        np.testing.assert_allclose(there.run_objectives_, here.run_objectives_, rtol=1e-10)
        for table, same in zip(vars(there.driven_.counts_).values(), vars(here.driven_.counts_).values(), strict=True):
            if table is not None:
                np.testing.assert_allclose(table, same, atol=1e-8)
        assert max(place.sent.values()) + max(place.returned.values()) < 1e5 * len(there.trace_)


LISTED = [starts_with("A"), changes_only_after(word.isin("x", "7")), runs("T") <= 1, count("Y") >= 1]


def segments():
    return CRF(task=Segmenting(), solver="lbfgs", l2=0.03, max_iterations=5)


@pytest.mark.parametrize(
    ("learner", "X", "y"),
    [
        (lambda: CoDL(HMM(), LISTED[:3], guard=False, iterations=3), X, SOME),
        (lambda: CoDL(HMM(), LISTED, k=2, counting="tokens", guard=False, iterations=2), X, SOME),
        (lambda: CoDL(CRF(solver="lbfgs", max_iterations=10), LISTED[:2], guard=False, iterations=2), X, SOME),
        (lambda: CoDL(segments(), LISTED[:2], guard=False, iterations=1), X, SOME),
        (lambda: CoDL(EM(HMM(), guard=False), LISTED[:2], guard=False, iterations=1), X, SOME),
        (lambda: CoDL(HMM(), LISTED[:2], guard=False, iterations=3), X, [None] * len(X)),
    ],
    ids=["labels", "two outputs", "crf", "segments", "a mixture inside", "nothing"],
)
@pytest.mark.filterwarnings("ignore:.*stopped before")
def test_codl(learner, X, y):
    for here, there, place in everywhere(learner, X, y):
        assert [(step.changed, step.violations) for step in there.trace_] == [
            (step.changed, step.violations) for step in here.trace_
        ]
        np.testing.assert_allclose(
            [step.objective for step in there.trace_], [step.objective for step in here.trace_], rtol=1e-10
        )
        np.testing.assert_allclose(there.penalties_, here.penalties_)
        assert there.predict(X[:50]) == here.predict(X[:50])
        assert place.returned["LabelledShard.label"] < 20 * sum(map(len, X)) * len(there.trace_)


def test_shards_on_disk_keep_nothing():
    class Lazy:
        """Inputs that are not in memory: a slice of them is read when it is asked for."""

        read = 0

        def __init__(self, some):
            self.some = some

        def __len__(self):
            return len(self.some)

        def __getitem__(self, at):
            Lazy.read += 1
            return Lazy(self.some[at]) if isinstance(at, slice) else self.some[at]

    offsets = np.concatenate(([0], np.cumsum(list(map(len, X)))))
    for some, kept in ((X, True), (Lazy(X), False)):
        shard = LabelledShard(some, offsets, 0, 0)
        learner = CoDL(HMM(classes=LABELS), LISTED[:2])
        decoder = UnderRules(learner.structure_, learner.task_, LISTED[:2], np.ones(2), LABELS)
        chance = RandomScores.drawn(np.random.default_rng(0), int(offsets[-1]), 3)
        found = shard.label(Labeller(decoder, 1, None, chance), None, np.ones(2), 0.0)
        assert found.labels.shape == (1, offsets[-1])
        assert bool(shard.kept) is kept


def test_errors_of_other_processes_name_the_sequence():
    base = HMM(transition_smoothing=0.1, start_smoothing=0.1, emission_smoothing=0.0, rare=0)
    odd = [*X[:1400], ["zebra"], *X[1401:]]
    with pytest.raises(Infeasible, match="sequence 1400 has no output") as here:
        EM(base, guard=False).fit(odd, SOME)
    with running_on_copies(), pytest.raises(Infeasible) as there:
        EM(base, guard=False).fit(odd, SOME)
    assert str(there.value) == str(here.value)
