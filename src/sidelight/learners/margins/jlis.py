"""Joint learning with indirect supervision: labelled inputs, and inputs of which only a yes or no is known."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from ...dictionary import TagDictionary
from ...errors import DataError, warn
from ...kernels.compiling import Floats
from ...rules.language import Rule
from ...solvers import cutting_plane
from ...solvers.latent_margins import Alternation, Problem
from ...solvers.margin_constraints import Demand, Labelled, Rejected
from ...solvers.working_sets import WorkingSets
from ...supervision import BAD, GOOD, Companion, Signal, kind_of
from ..checks import check_input, sizes_for_rules
from ..choosing.guard import guarded
from ..model import Prepared, prepare
from ..parameters import GuardParameters, LinearParameters, declared, require_number
from .good_or_bad import LatentGoodOrBadLearner, accept_best
from .latent_svm import all_runs, keep_lowest, lowest
from .structural_svm import StructuralSVM


@declared
class JointLearner(LatentGoodOrBadLearner):
    """Labels and GOOD / BAD on any task; a subclass says what its task and its other parameters are."""

    C1: Annotated[float, "What missed margins of labelled inputs cost; C of `StructuralSVM`."] = 0.1
    C2: Annotated[float, "What missed margins of GOOD and BAD inputs cost."] = 0.1

    # Where to find GOOD and BAD inputs.
    _lacking: ClassVar[dict[Companion, str]] = {
        GOOD: "unlabelled sequences that are as they should be (on the command line: --good FILE)",
        BAD: "such as sidelight.shuffled makes of the GOOD ones (on the command line: --bad shuffled)",
    }

    @guarded
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs X, of which y tells the labels, GOOD or BAD."""
        known = check_input(self, X, y)
        self._check_options()
        self._check_companions(known)
        prepared = prepare(self, X, y, self._all_labels(known))
        self._compare_labels(X, known, prepared.classes)
        runs = self._learn(X, known, prepared)
        weights = lowest(runs).weights
        self._adopt(prepared.model(weights[:-1].copy()))
        self.constant_weight_ = float(weights[-1])
        keep_lowest(self, runs)
        return self

    def _learn(self, X: Any, known: Sequence[Any], prepared: Prepared) -> list[Alternation]:
        """Returns runs with weights, that of the constant feature last; known: what is known of each input."""
        labelled = self._labelled(X, prepared, [i for i, one in enumerate(known) if kind_of(one) is Signal.FULL])
        good, bad = ([i for i, one in enumerate(known) if one is kind] for kind in (GOOD, BAD))
        sizes, cost = self._sizes(X), float(self.C2)
        demands: list[Demand] = [] if labelled is None else [labelled]
        if bad:
            demands.append(Rejected(self._some(X, prepared, bad), cost, sizes[bad], self.constant))
        batch = self._some(X, prepared, good) if good else None

        def problem(seed: int) -> Problem:
            ties = seed if self.random_ties else None
            choose = [] if batch is None else [accept_best(batch, cost, sizes[good], self.constant, ties)]
            return Problem(tuple(demands), tuple(choose), self.loss == "squared_hinge")

        return all_runs(self, problem, lambda seed: self._start(labelled, prepared.scorer.size + 1, seed))

    def _check_companions(self, known: Sequence[Any]) -> None:
        for name in ("C1", "C2"):
            require_number(self, name, 0, open_end=True)
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
        if self.task_.has_labels and not (self.classes or self.dictionary):
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

    def _labelled(self, X: Any, prepared: Prepared, which: list[int]) -> Labelled | None:
        """What labelled inputs ask for."""
        if not which:
            return None
        known = prepared.known.take(np.array(which))
        return Labelled(self._some(X, prepared, which), known.all_known(), float(self.C1))

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

    def _compare_labels(self, X: Any, y: Any, classes: Sequence[str]) -> None:
        """Warn where labelled sequences contradict the rules or the dictionary: such outputs become impossible."""
        labelled = [i for i, known in enumerate(y) if kind_of(known) is Signal.FULL]
        if not labelled or not (self.dictionary or self._rules_given()):
            return
        some, gold = [X[i] for i in labelled], [y[i] for i in labelled]
        bad: set[int] = set()
        if labelled and self.dictionary is not None:
            for i, known, tags in zip(labelled, gold, self.dictionary.apply(some), strict=True):
                if any(
                    allowed is not None and label not in allowed for label, allowed in zip(known, tags, strict=True)
                ):
                    bad.add(i)
        if labelled and self._rules_given():
            told = self.task_.for_rules(some)
            known = self.task_.known(gold, sizes_for_rules(self.task_, told), classes)
            outputs = self.structure_.token_labels(known.outputs.values)
            violated = self.task_.compiled(self._rules_given(), told, classes).violations(outputs).sum(axis=1)
            bad |= {labelled[n] for n in np.flatnonzero(violated)}
        if bad:
            warn(
                f"{len(bad)} of {len(labelled)} labelled {self.task_.noun}s contradict the rules or the dictionary, "
                f"{self.task_.noun} {min(bad)} for one; outputs like theirs will never be predicted",
            )

    def predict_companion(self, X: Any) -> list[Companion]:
        """GOOD or BAD for each input."""
        return [GOOD if value > 0 else BAD for value in self.decision_function(X)]


@declared
class JLIS(GuardParameters, LinearParameters, JointLearner):
    """Joint learning with indirect supervision on label chains, or on what another task predicts.

        minimise  ‖w‖² / 2 + C1 Σ_labelled ℓ(max_y [Δ(y, y_i) + w·F(x_i, y)] - w·F(x_i, y_i))
                           + C2 Σ_GOOD ℓ(1 - max_y w·F_B(x_i, y)) + C2 Σ_BAD ℓ(1 + max_y w·F_B(x_i, y))

    with F_B(x, y) = (F(x, y) / κ(x), constant): some output of a GOOD input scores above zero, and every output of a
    BAD one below (Eq. 6.3 of Chang 2011; Chang et al. 2010). Each element of y is a list of labels, GOOD or BAD. The
    problem is not convex because of the GOOD inputs; the objective never rises from round to round (Theorem 3).

    Attributes
    ----------
    classes_, weights_, objective_, rounds_, run_objectives_, converged_, guard_
    constant_weight_ : float
        The weight of the constant feature.
    trace_ : tuple of Step
        Steps of the last convex problem.
    """

    classes: Annotated[
        Sequence[str] | None, "All labels; without labelled inputs, this or the dictionary must name them."
    ] = None
    rules: Annotated[
        Sequence[Rule] | None,
        "What outputs are possible: every rule is hard, in training, `predict` and `decision_function`. Rules that do "
        "not fold into the scores, such as `once_each()`, make every search of training slow.",
    ] = None
    dictionary: Annotated[TagDictionary | None, "Which labels are possible for each token, in the same places."] = None
    guard: Annotated[
        bool,
        "Whether `fit` compares with a `StructuralSVM` of the same features, with C = C1, on labelled sequences held "
        "out, and warns where it does worse.",
    ] = True

    def supervised(self) -> StructuralSVM:
        """What learns from the labelled inputs alone."""
        shared = StructuralSVM().get_params().keys() & self.get_params(deep=False).keys() - {"tolerance"}
        return StructuralSVM(C=self.C1, **{name: getattr(self, name) for name in shared})
