"""What learners from labels and from GOOD / BAD share, whatever they predict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..errors import DataError, Infeasible
from ..features.encoded import Encoded, State
from ..kernels.compiling import Floats, Ints
from ..solvers import cutting_plane
from ..solvers.alternate import Alternation
from ..solvers.demands import Accepted, Argmax, Batch, Demand, Labelled, Rejected
from ..solvers.working_sets import WorkingSets
from ..structures.protocol import Best
from ..supervision import BAD, GOOD, Companion, Signal, kind_of
from .base import require_number
from .margins import AlternatingLearner

Size = Literal["length"] | Callable[[Any], float] | None


@dataclass(frozen=True)
class _Problem:
    """Eq. 6.3: labelled inputs, accepted ones whose outputs are not known, rejected ones.

    size, bias: as for the demands; weights: how many there are, that of the bias included; seed: of random ties, if
    any; state: the working sets, once there are some.
    """

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


class CompanionLearner(AlternatingLearner):
    """A learner from labels and from GOOD / BAD; `_prepare` makes data ready, `_argmax` knows the output space."""

    C1: float
    C2: float
    size: Size
    bias: float
    random_ties: bool
    bias_: float

    def _argmax(self, X: Any, classes: Sequence[str]) -> Argmax:
        """How the best outputs of these inputs are found."""
        structure = self._structure
        return lambda scores, first, last, seed=None: structure.argmax(scores, seed=seed)

    def _runs(self, X: Any, known: Sequence[Any], prepared: Any) -> list[Alternation]:
        """Learn from prepared data, once for every restart; known: what is known of each input."""
        parts = {
            "labelled": [i for i, one in enumerate(known) if kind_of(one) is Signal.FULL],
            "good": [i for i, one in enumerate(known) if one is GOOD],
            "bad": [i for i, one in enumerate(known) if one is BAD],
        }
        sizes = self._sizes(X)
        seeds = [self._seed(number) for number in range(self.restarts)]
        return [self._run(self._problem(X, prepared, parts, sizes, seed), seed) for seed in seeds]

    def _take(self, weights: Floats) -> None:
        self.weights_, self.bias_ = weights[:-1].copy(), float(weights[-1])

    def _check_companions(self, known: Sequence[Any], *, labels_known: bool) -> None:
        self._check_margins()
        self._check_rounds()
        for name in ("C1", "C2"):
            require_number(self, name, 0, open_end=True)
        require_number(self, "bias", 0)
        if not (self.size is None or self.size == "length" or callable(self.size)):
            raise DataError(f"size must be 'length', None or a function of x, got {self.size!r}")
        kinds = {kind_of(one) for one in known}
        if Signal.FULL in kinds or not len(known):
            return
        if GOOD not in known:
            raise DataError(
                "y has neither labelled nor GOOD inputs: BAD ones only say what is wrong, so no structure can be "
                "learned; add labelled or GOOD inputs"
            )
        if BAD not in known:
            raise DataError(
                "y has GOOD inputs only: any weights with a large bias suit them, so no structure can be learned; add "
                "labelled or BAD inputs, such as shuffled(X)"
            )
        if not labels_known:
            raise DataError("without labelled inputs the labels are not known; name them in classes=[...]")

    def _sizes(self, X: Any) -> Floats:
        if self.size is None:
            return np.ones(X.shape[0] if hasattr(X, "shape") else len(X))
        measure = len if self.size == "length" else self.size
        out = np.array([float(measure(x)) for x in X])
        bad = np.flatnonzero(~(out > 0) | ~np.isfinite(out))
        if len(bad):
            raise DataError(f"the size of input {bad[0]} is {out[bad[0]]:g}; sizes must be positive, finite numbers")
        return out

    def _problem(self, X: Any, prepared: Any, parts: dict[str, list[int]], sizes: Floats, seed: int) -> _Problem:
        def batch(which: list[int]) -> Batch:
            some = X[which] if hasattr(X, "shape") else [X[i] for i in which]
            encoded: Encoded = prepared.encoded.take(np.array(which))
            return Batch(
                prepared.scorer, self._structure, encoded, numbered(self._argmax(some, prepared.classes), which)
            )

        labelled = accepted = rejected = None
        if parts["labelled"]:
            offsets, labels = prepared.encoded.offsets, prepared.targets.labels
            target = np.concatenate([labels[offsets[i] : offsets[i + 1]] for i in parts["labelled"]])
            labelled = Labelled(batch(parts["labelled"]), target, self.C1)
        if parts["bad"]:
            rejected = Rejected(batch(parts["bad"]), self.C2, sizes[parts["bad"]], self.bias)
        if parts["good"]:
            accepted = batch(parts["good"])
        return _Problem(
            labelled, accepted, rejected, self.C2, sizes[parts["good"]], self.bias, prepared.scorer.size + 1,
            self.loss == "squared_hinge", seed if self.random_ties else None, [],
        )  # fmt: skip

    def _run(self, problem: _Problem, seed: int) -> Alternation:
        """From the weights that labelled inputs give, or from zero."""
        start = np.zeros(problem.weights)
        if problem.labelled is not None:
            cost = np.full(len(problem.labelled), float(self.C1))
            start = cutting_plane.minimize(
                [problem.labelled],
                WorkingSets(problem.weights, cost, squared=problem.squared),
                tolerance=self.tolerance,
                epsilon=self.epsilon,
                max_iterations=self.max_iterations,
                seed=seed,
                check=self.check_inference,
            ).weights
        return self._alternate(problem, start, seed)

    def decision_function(self, X: Any) -> Floats:
        """max_y w·F_B(x, y) of each input: above zero, it looks GOOD."""
        scores = self.scores(X)
        best = self._argmax(X, self.classes_)(scores, 0, len(scores.offsets) - 1).scores
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


def numbered(argmax: Argmax, numbers: Sequence[int]) -> Argmax:
    """The same search, whose errors name inputs by their place in X; numbers: those places."""

    def best(scores: Any, first: int, last: int, seed: int | None = None) -> Best:
        try:
            return argmax(scores, first, last, seed)
        except Infeasible as error:
            if error.sequence is None:
                raise
            raise error.numbered(numbers[first + error.sequence]) from None

    return best
