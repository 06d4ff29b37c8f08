"""What learners from labels and from GOOD / BAD share, whatever they predict."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from ...errors import DataError, Infeasible, warn
from ...features.encoded import Encoded, State
from ...kernels.compiling import Floats
from ...solvers import cutting_plane
from ...solvers.alternate import Alternation, Problem
from ...solvers.demands import Accepted, Argmax, Batch, Demand, Labelled, Rejected, by_structure
from ...solvers.working_sets import WorkingSets
from ...structures.protocol import Best
from ...supervision import BAD, GOOD, Companion, Signal, kind_of
from ..learner import require_number
from .margin_learner import LatentMarginLearner

Size = Literal["length"] | Callable[[Any], float] | None


class CompanionLearner(LatentMarginLearner):
    """A learner from labels and from GOOD / BAD; `_prepare` makes data ready, `_argmax` knows the output space."""

    C1: float
    C2: float
    size: Size
    constant: float
    random_ties: bool
    constant_weight_: float
    # Where to find GOOD and BAD inputs.
    _lacking: ClassVar[dict[Companion, str]]

    def _argmax(self, X: Any, classes: Sequence[str]) -> Argmax:
        """How the best outputs of these inputs are found."""
        return by_structure(self._structure)

    def _runs(self, X: Any, known: Sequence[Any], prepared: Any) -> list[Alternation]:
        """Learn from prepared data, once for every restart; known: what is known of each input."""
        labelled = self._labelled(X, prepared, [i for i, one in enumerate(known) if kind_of(one) is Signal.FULL])
        good, bad = ([i for i, one in enumerate(known) if one is kind] for kind in (GOOD, BAD))
        sizes, cost = self._sizes(X), float(self.C2)
        demands: list[Demand] = [] if labelled is None else [labelled]
        if bad:
            demands.append(Rejected(self._some(X, prepared, bad), cost, sizes[bad], self.constant))
        batch = self._some(X, prepared, good) if good else None

        def run(seed: int) -> Alternation:
            choose = []
            if batch is not None:
                ties = seed if self.random_ties else None
                choose.append(_accept_best(batch, cost, sizes[good], self.constant, ties))
            problem = Problem(tuple(demands), tuple(choose), self.loss == "squared_hinge")
            return self._alternate(problem, self._start(labelled, prepared.scorer.size + 1, seed), seed)

        return [run(self._seed(number)) for number in range(self.restarts)]

    def _take(self, weights: Floats) -> None:
        self.weights_, self.constant_weight_ = weights[:-1].copy(), float(weights[-1])

    def _check_companions(self, known: Sequence[Any], *, labels_known: bool) -> None:
        self._check_margins()
        self._check_rounds()
        for name in ("C1", "C2"):
            require_number(self, name, 0, open_end=True)
        require_number(self, "constant", 0)
        if not (self.size is None or self.size == "length" or callable(self.size)):
            raise DataError(f"size must be 'length', None or a function of x, got {self.size!r}")
        kinds = {kind_of(one) for one in known}
        if Signal.FULL in kinds or not len(known):
            self._warn_half(known)
            return
        if GOOD not in known:
            raise DataError(
                "y has neither labelled nor GOOD inputs: BAD ones only say what is wrong, so no structure can be "
                "learned; add labelled or GOOD inputs"
            )
        if BAD not in known:
            raise DataError(
                "y has GOOD inputs only: the constant feature alone can suit them, so no structure can be learned; add "
                "labelled or BAD inputs"
            )
        if not labels_known:
            raise DataError("without labelled inputs the labels are not known; name them in classes=[...]")

    def _warn_half(self, known: Sequence[Any]) -> None:
        """Warn the caller of `fit` where labelled inputs come with GOOD or with BAD ones alone."""
        good, bad = (any(one is kind for one in known) for kind in (GOOD, BAD))
        if good == bad:
            return
        there, lacking = (GOOD, BAD) if good else (BAD, GOOD)
        warn(
            f"y has {there!r} inputs and no {lacking!r} ones: half of what {type(self).__name__} learns from is "
            f"missing, and nothing tells the two apart; add {lacking!r} inputs, {self._lacking[lacking]}",
        )

    def _sizes(self, X: Any) -> Floats:
        if self.size is None:
            return np.ones(len(self._task.sizes(X)))
        out = np.array([self._size_of(i, x) for i, x in enumerate(X)])
        bad = np.flatnonzero(~(out > 0) | ~np.isfinite(out))
        if len(bad):
            raise DataError(f"the size of input {bad[0]} is {out[bad[0]]:g}; sizes must be positive, finite numbers")
        return out

    def _size_of(self, index: int, x: Any) -> float:
        try:
            return float(len(x) if self.size == "length" else self.size(x))  # type: ignore[misc]
        except (TypeError, ValueError) as error:
            raise DataError(
                f"size gives no number for input {index}: {error}; it is a function of one input"
            ) from error

    def _some(self, X: Any, prepared: Any, which: list[int]) -> Batch:
        """Some of the inputs."""
        some = X[which] if hasattr(X, "shape") else [X[i] for i in which]
        encoded: Encoded = prepared.encoded.take(np.array(which))
        argmax = numbered(self._argmax(some, prepared.classes), which)
        return Batch(prepared.scorer, self._structure, encoded, argmax)

    def _labelled(self, X: Any, prepared: Any, which: list[int]) -> Labelled | None:
        """What labelled inputs ask for."""
        if not which:
            return None
        known = prepared.known.take(np.array(which))
        return Labelled(self._some(X, prepared, which), replace(known, allowed=None), float(self.C1))

    def _start(self, labelled: Labelled | None, weights: int, seed: int) -> Floats:
        """The weights that labelled inputs give, or zero."""
        if labelled is None:
            return np.zeros(weights)
        return cutting_plane.minimize(
            [labelled],
            WorkingSets(weights, np.full(len(labelled), labelled.cost), squared=self.loss == "squared_hinge"),
            tolerance=self.tolerance,
            epsilon=self.epsilon,
            max_iterations=self.max_iterations,
            seed=seed,
            check=self.check_inference,
        ).weights

    def decision_function(self, X: Any) -> Floats:
        """max_y w·F_B(x, y) of each input: above zero, it looks GOOD."""
        scores = self.scores(X)
        best = self._argmax(X, self.classes_)(scores, 0, len(scores.offsets) - 1).scores
        return best / self._sizes(X) + self.constant * self.constant_weight_

    def predict_companion(self, X: Any) -> list[Companion]:
        """GOOD or BAD for each input."""
        return [GOOD if value > 0 else BAD for value in self.decision_function(X)]

    def _state(self) -> State:
        values, arrays = super()._state()
        return {**values, "constant_weight": self.constant_weight_}, arrays

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(values, arrays)
        self.constant_weight_ = values["constant_weight"]


def _accept_best(
    batch: Batch, cost: float, size: Floats, constant: float, seed: int | None
) -> Callable[[Floats, int], Accepted]:
    """What GOOD inputs ask for, given weights: that their best outputs are good; a seed breaks ties at random."""

    def accept(w: Floats, number: int) -> Accepted:
        best = batch.best(w, None if seed is None else seed + number)
        return Accepted(batch, cost, size, constant, best.outputs)

    return accept


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
