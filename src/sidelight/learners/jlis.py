"""Joint learning with indirect supervision: labelled inputs, and inputs of which only a yes or no is known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from ..errors import DataError
from ..features.encoded import Encoded, State
from ..kernels.compiling import Floats, Ints
from ..solvers import cutting_plane
from ..solvers.alternate import Alternation
from ..solvers.demands import Accepted, Batch, Demand, Labelled, Rejected
from ..solvers.working_sets import WorkingSets
from ..supervision import BAD, GOOD, Companion, Signal, kind_of, learns_from
from .base import require_number
from .linear import Prepared
from .margins import AlternatingLearner, Loss
from .mixture import check_input

Size = Literal["length"] | Callable[[Any], float] | None


@dataclass(frozen=True)
class _Companions:
    """The problem of J-LIS (Eq. 6.3): labelled inputs, accepted ones whose outputs are not known, rejected ones."""

    labelled: Labelled | None
    accepted: Batch | None
    rejected: Rejected | None
    cost: float
    size: Floats
    bias: float
    weights: int
    squared: bool
    seed: int | None
    state: list[WorkingSets]

    def fix(self, w: Floats, number: int) -> Sequence[Demand]:
        """With the best outputs under w for the accepted inputs; ties are broken at random if there is a seed."""
        demands: list[Demand] = [d for d in (self.labelled, self.rejected) if d is not None]
        if self.accepted is not None:
            outputs = self._best(self.accepted, w, number)
            demands.append(Accepted(self.accepted, outputs, self.cost, self.size, self.bias))
        return demands

    def _best(self, batch: Batch, w: Floats, number: int) -> Ints:
        scores = batch.scores(w, batch.encoded)
        seed = None if self.seed is None else self.seed + number
        return batch.argmax(scores, 0, len(batch), seed).labels

    def sets(self, demands: Sequence[Demand], w: Floats) -> WorkingSets:
        """The working sets of the round before, with the rows of accepted inputs exchanged."""
        last = demands[-1]
        if not self.state:
            cost = np.concatenate([np.full(len(demand), demand.cost) for demand in demands])
            self.state.append(WorkingSets(self.weights, cost, squared=self.squared))
        (sets,) = self.state
        if isinstance(last, Accepted):
            everything = np.arange(len(last))
            rows, margin = last.rows(0, len(last), everything, last.outputs)
            sets.exchange((len(sets.cost) - len(last) + everything).astype(np.int32), margin, rows)
        return sets


@learns_from(Signal.FULL, Signal.COMPANION)
class JLIS(AlternatingLearner):
    """Joint learning with indirect supervision on label chains.

        minimise  ‖w‖² / 2 + C1 Σ_labelled ℓ(max_y [Δ(y, y_i) + w·F(x_i, y)] - w·F(x_i, y_i))
                           + C2 Σ_GOOD ℓ(1 - max_y w·F_B(x_i, y)) + C2 Σ_BAD ℓ(1 + max_y w·F_B(x_i, y))

    with F_B(x, y) = (F(x, y) / κ(x), bias): some output of a GOOD input scores above zero, and every output of a BAD
    one below (Eq. 6.3 of Chang 2011; Chang et al. 2010). Each element of y is a list of labels, GOOD or BAD. The
    problem is not convex because of the GOOD inputs; the objective never rises from round to round (Theorem 3).

    Parameters
    ----------
    features, min_count, order, boundaries, all_weights, classes, random_state, verbose, n_jobs : as for `CRF`; without
        labelled inputs `classes` must name the labels.
    C1, C2 : what missed margins of labelled and of GOOD / BAD inputs cost.
    size : κ, by which the features of GOOD and BAD inputs are divided: "length", a function of x, or None for 1.
    bias : value of the constant feature of GOOD and BAD inputs; 0 leaves it out.
    loss, epsilon, max_iterations, check_inference : as for `StructuralSVM`.
    tolerance : gap of the convex problem of each round, as a share of its objective.
    change : it stops when a round changes the objective by no more than this share (Eq. 6.11).
    max_rounds : rounds at most.
    random_ties : whether ties between best outputs are broken at random; without labelled inputs that matters much.
    restarts : runs with different seeds, of which the one with the lowest objective is kept.

    Attributes
    ----------
    classes_; weights_; bias_ : weight of the constant feature; objective_; rounds_ : a `Round` each, with the objective
    before it; restarts_ : the objective of each run; converged_; trace_ : steps of the last convex problem.
    """

    def __init__(
        self,
        features: Any = None,
        *,
        C1: float = 1.0,
        C2: float = 1.0,
        size: Size = "length",
        bias: float = 1.0,
        loss: Loss = "squared_hinge",
        tolerance: float = 0.002,
        change: float = 1e-3,
        epsilon: float = 0.01,
        max_rounds: int = 50,
        max_iterations: int = 200,
        random_ties: bool = True,
        restarts: int = 1,
        check_inference: bool = False,
        min_count: int = 1,
        order: int = 1,
        boundaries: bool = True,
        all_weights: bool = False,
        classes: Sequence[str] | None = None,
        random_state: int | None = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.features = features
        self.C1 = C1
        self.C2 = C2
        self.size = size
        self.bias = bias
        self.loss = loss
        self.tolerance = tolerance
        self.change = change
        self.epsilon = epsilon
        self.max_rounds = max_rounds
        self.max_iterations = max_iterations
        self.random_ties = random_ties
        self.restarts = restarts
        self.check_inference = check_inference
        self.min_count = min_count
        self.order = order
        self.boundaries = boundaries
        self.all_weights = all_weights
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs X, of which y tells the labels, GOOD or BAD."""
        self._check()
        check_input(self, X, y)
        known = [i for i, one in enumerate(y) if kind_of(one) is Signal.FULL]
        good = [i for i, one in enumerate(y) if one is GOOD]
        bad = [i for i, one in enumerate(y) if one is BAD]
        self._require_enough(len(known), len(good), len(bad))
        prepared = self._prepare(X, y)
        sizes = self._sizes(X)
        runs = [self._run(prepared, known, good, bad, sizes, k) for k in range(self.restarts)]
        self._adopt(prepared)
        self._keep_best(runs)
        self.weights_, self.bias_ = self.weights_[:-1].copy(), float(self.weights_[-1])
        return self

    def _check(self) -> None:
        self._check_margins()
        self._check_rounds()
        for name in ("C1", "C2"):
            require_number(self, name, 0, open_end=True)
        require_number(self, "bias", 0)
        if not (self.size is None or self.size == "length" or callable(self.size)):
            raise DataError(f"size must be 'length', None or a function of x, got {self.size!r}")

    def _require_enough(self, known: int, good: int, bad: int) -> None:
        if known:
            return
        if not good:
            raise DataError(
                "y has neither labelled nor GOOD inputs: BAD ones only say what is wrong, so no structure can be "
                "learned; add labelled or GOOD inputs"
            )
        if not bad:
            raise DataError(
                "y has GOOD inputs only: any weights with a large bias suit them, so no structure can be learned; add "
                "labelled or BAD inputs, such as shuffled(X)"
            )
        if not self.classes:
            raise DataError("without labelled inputs the labels are not known; name them in classes=[...]")

    def _sizes(self, X: Any) -> Floats:
        if self.size is None:
            return np.ones(len(X))
        measure = len if self.size == "length" else self.size
        out = np.array([float(measure(x)) for x in X])
        bad = np.flatnonzero(~(out > 0) | ~np.isfinite(out))
        if len(bad):
            raise DataError(f"the size of sequence {bad[0]} is {out[bad[0]]:g}; sizes must be positive, finite numbers")
        return out

    def _run(
        self, prepared: Prepared, known: list[int], good: list[int], bad: list[int], sizes: Floats, number: int
    ) -> Alternation:
        width = prepared.scorer.size + 1
        labelled = accepted = rejected = None
        seed = self._seed(number)
        start = np.zeros(width)
        if known:
            encoded, labels = _take(prepared.encoded, prepared.targets.labels, known)
            labelled = Labelled(self._batch(prepared, encoded), labels, self.C1)
            sets = WorkingSets(width, np.full(len(known), float(self.C1)), squared=self.loss == "squared_hinge")
            first = self._minimize([labelled], sets, seed)
            start = first.weights
        if bad:
            batch = self._batch(prepared, _take(prepared.encoded, None, bad)[0])
            rejected = Rejected(batch, self.C2, sizes[bad], self.bias)
        if good:
            accepted = self._batch(prepared, _take(prepared.encoded, None, good)[0])
        problem = _Companions(
            labelled, accepted, rejected, self.C2, sizes[good], self.bias, width, self.loss == "squared_hinge",
            seed if self.random_ties else None, [],
        )  # fmt: skip
        return self._alternate(problem, start, seed)

    def _minimize(self, demands: Sequence[Demand], sets: WorkingSets, seed: int) -> Any:
        return cutting_plane.minimize(
            demands,
            sets,
            tolerance=self.tolerance,
            epsilon=self.epsilon,
            max_iterations=self.max_iterations,
            seed=seed,
            check=self.check_inference,
        )

    def decision_function(self, X: Any) -> Floats:
        """max_y w·F_B(x, y) of each input: above zero, it looks GOOD."""
        best = self._structure.argmax(self.scores(X)).scores
        return best / self._sizes(X) + self.bias * self.bias_

    def predict_companion(self, X: Any) -> list[Companion]:
        """GOOD or BAD for each input."""
        return [GOOD if value > 0 else BAD for value in self.decision_function(X)]

    def _state(self) -> State:
        values, arrays = super()._state()
        return {**values, "bias": self.bias_}, arrays

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(values, arrays)
        self.bias_ = values["bias"]


def _take(encoded: Encoded, labels: Ints | None, which: list[int]) -> tuple[Encoded, Ints]:
    """Some sequences of a batch, and their labels."""
    part = encoded.take(np.array(which))
    if labels is None:
        return part, np.empty(0, np.int32)
    return part, np.concatenate([labels[encoded.offsets[i] : encoded.offsets[i + 1]] for i in which])
