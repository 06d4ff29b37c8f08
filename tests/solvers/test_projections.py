"""E steps that project, as M steps that go down a gradient see them."""

import numpy as np
import pytest

from sidelight import CRF, changes, count
from sidelight.inference.norms import Slack
from sidelight.inference.rows import Rows
from sidelight.solvers.expected import PoolWeights, ToFit
from sidelight.solvers.projections import Pool, onto_rows
from sidelight.structures.chain import Chain
from tests.learners.samples import labelled

X, Y = labelled(count=8, longest=4)
LABELS = ["A", "T", "Y"]
RULES = [(changes() <= 0.5).over_corpus(), count("T") >= 0.7]


@pytest.mark.parametrize("slack", [Slack("l1", penalty=0.7), Slack("squared", penalty=2.0)], ids=lambda one: one.norm)
def test_the_gradient_is_that_of_the_objective_however_rough_the_projection(slack):
    """At given prices the cost is that of the dual, whose derivative by the weights the expected parts give exactly."""
    weights = PoolWeights.of(0, 0.5, 0.8)
    fitting = CRF(n_jobs=1).fitting(ToFit(X[:3], Y[:3], X[3:], [None] * 5, LABELS, weights, 0, 1))
    rows = Rows.compile(RULES, X[3:], LABELS)
    rng = np.random.default_rng(0)
    prices = 0.5 * rng.uniform(size=len(rows)) * np.where(rows.low < 0, -1, 1)
    projector = onto_rows(rows, slack, 1e9, 1)  # so wide a tolerance that the prices stay what they are

    def loss(w):
        fitting._w = w
        found = Pool(Chain(1), projector, None, prices).expect(fitting, 1.0)
        sums = fitting._scorer.expectation()
        sums.add(fitting._pool, found.model - found.parts)
        return found.cost, sums.total()

    w, way = (rng.normal(size=fitting._scorer.size) for _ in range(2))
    numeric = (loss(w + 1e-5 * way)[0] - loss(w - 1e-5 * way)[0]) / 2e-5
    np.testing.assert_allclose(loss(w)[1] @ way, numeric, rtol=1e-6)
