"""E steps work shard by shard: copies of shards in other processes find what threads do, and only sums travel."""

import numpy as np
import pytest

from sidelight import DMV, EM, HMM
from sidelight.errors import Infeasible
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


def test_errors_of_other_processes_name_the_sequence():
    base = HMM(transition_smoothing=0.1, start_smoothing=0.1, emission_smoothing=0.0, rare=0)
    odd = [*X[:1400], ["zebra"], *X[1401:]]
    with pytest.raises(Infeasible, match="sequence 1400 has no output") as here:
        EM(base, guard=False).fit(odd, SOME)
    with running_on_copies(), pytest.raises(Infeasible) as there:
        EM(base, guard=False).fit(odd, SOME)
    assert str(there.value) == str(here.value)
