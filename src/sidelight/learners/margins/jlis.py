"""Joint learning with indirect supervision: labelled inputs, and inputs of which only a yes or no is known."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from ...declared import Bounds, declared
from ...dictionary import TagDictionary
from ...errors import DataError, warn
from ...features.encoded import Encoded, some_of
from ...kernels.compiling import Floats
from ...labels import encode_labels
from ...rules.automata import labels_named
from ...rules.language import Rule
from ...scorers.protocol import KeepsReady
from ...solvers.latent_margins import Alternation, LatentProblem
from ...solvers.margin_constraints import Accepted, BestSearch, Demand, Labelled, MarginInputs, Rejected
from ...structures.known import Outputs
from ...supervision import BAD, GOOD, Companion, Signal, by_kind
from ..choosing.guard import guarded
from ..inputs import weighed
from ..learner import Learner
from ..model import Prepared, prepare
from ..parameters import GuardParameters, LatentCompanionParameters, LinearParameters
from .latent_svm import LATENT, adopt_lowest, all_runs
from .structural_svm import StructuralSVM, solve, svm_of


def input_sizes(learner: Any, X: Any) -> Floats:
    """Returns κ of each input."""
    if learner.size is None:
        return np.ones(len(learner.task_.sizes(X)))
    measure = learner.task_.size_of if learner.size == "length" else learner.size
    out = np.empty(len(X))
    for i, x in enumerate(X):
        try:
            out[i] = float(measure(x))
        except (TypeError, ValueError) as error:
            raise DataError(f"size gives no number for input {i}: {error}; it is a function of one input") from error
    bad = np.flatnonzero(~(out > 0) | ~np.isfinite(out))
    if len(bad):
        raise DataError(f"the size of input {bad[0]} is {out[bad[0]]:g}; sizes must be positive, finite numbers")
    return out


def decisions(learner: Any, X: Any, scores: Floats, outputs: Outputs) -> Floats:
    """Returns w·F_B(x, y) of inputs with the scores w·F(x, y) of these outputs."""
    if learner.size is None:
        size = np.ones(len(outputs))
    elif learner.size == "length" and isinstance(X, Encoded):
        size = np.diff(outputs.offsets)
    else:
        size = input_sizes(learner, X)
    values: Floats = scores / size + learner.constant * learner.constant_weight_
    return values


def best_decisions(learner: Any, X: Any) -> Floats:
    """Returns max_y w·F_B(x, y) of each input, over the outputs that are possible."""
    found = learner.decoder_.best(X, learner.scores(X), 1)
    return decisions(learner, X, found.scores[:, 0], found.outputs)


def some_inputs(learner: Any, X: Any, prepared: Prepared, which: list[int]) -> MarginInputs:
    """Returns some of the inputs, with the search for their best outputs under rules and dictionary.

    Rules and dictionary are compiled once.
    """
    some, task, numbers, allowed, rules = some_of(X, which), learner.task_, np.array(which), None, None
    if learner.dictionary is not None:
        allowed = encode_labels(learner.dictionary.apply(some), [len(x) for x in some], prepared.classes)
    if learner.rules:
        rules = task.compiled([rule.hard() for rule in learner.rules], task.for_rules(some), prepared.classes)
    search = BestSearch(learner.structure_, numbers, allowed, rules)
    return MarginInputs(KeepsReady(prepared.scorer), prepared.encoded.take(numbers), search)


def compare_labels(learner: Any, X: Any, y: Any, classes: Sequence[str]) -> None:
    """Warn where labelled sequences contradict the rules or the dictionary: such outputs become impossible."""
    labelled, task = by_kind(y)[Signal.FULL], learner.task_
    some, gold, bad = [X[i] for i in labelled], [y[i] for i in labelled], set[int]()
    if labelled and learner.dictionary is not None:
        bad.update(learner.dictionary.contradicted(some, gold))
    if labelled and learner.rules:
        seen, hard = task.for_rules(some), [rule.hard() for rule in learner.rules]
        outputs = learner.structure_.token_labels(task.known_to_rules(gold, seen, classes).outputs.values)
        bad.update(np.flatnonzero(task.compiled(hard, seen, classes).violations(outputs).sum(axis=1)))
    if bad:
        warn(
            f"{len(bad)} of {len(labelled)} labelled {task.noun}s contradict the rules or the dictionary, "
            f"{task.noun} {labelled[min(bad)]} for one; outputs like theirs will never be predicted",
        )


@declared
class JointLearner(LatentCompanionParameters, Learner):
    """Labels and GOOD / BAD on any task; a subclass says what its task and its other parameters are."""

    C1: Annotated[
        float, "What missed margins of labelled inputs cost; C of `StructuralSVM`.", Bounds(0, above=True)
    ] = 0.1
    C2: Annotated[float, "What missed margins of GOOD and BAD inputs cost.", Bounds(0, above=True)] = 0.1
    labelled: Annotated[
        Literal["jointly", "start"],
        'Labelled inputs count in every round, "jointly", or give the first weights only, "start" (section 6.5.5 of '
        "Chang 2011), after which GOOD and BAD inputs alone count.",
    ] = "jointly"

    # Where to find GOOD and BAD inputs.
    _lacking: ClassVar[dict[Companion, str]] = {
        GOOD: "unlabelled sequences that are as they should be (on the command line: --good FILE)",
        BAD: "such as sidelight.shuffled makes of the GOOD ones (on the command line: --bad shuffled)",
    }

    saved: ClassVar[tuple[str, ...]] = (*LATENT, "constant_weight_")

    @guarded
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from inputs X, each with its labels, GOOD or BAD in y.

        sample_weight : what C1 or C2 is multiplied by for each input, at least 0; None: 1 for all. The guard compares
        without weights.
        """
        X, y, counts = weighed(self, X, y, sample_weight)
        _, known = self.read_input(X, y)
        self._check_known(known)
        prepared = prepare(self, X, y, self.all_labels(known, required=False))
        compare_labels(self, X, known, prepared.classes)
        runs = self._learn(X, known, prepared, np.ones(len(known)) if counts is None else counts)
        adopt_lowest(self, prepared, runs)
        return self

    def _learn(self, X: Any, known: Sequence[Any], prepared: Prepared, counts: Floats) -> list[Alternation]:
        """Returns runs with weights, that of the constant feature last.

        known, counts: what is known of each input, and what its costs are multiplied by.
        """
        labelled = self._labelled(X, prepared, by_kind(known)[Signal.FULL], counts)
        good, bad = ([i for i, one in enumerate(known) if one is kind] for kind in (GOOD, BAD))
        sizes, cost = input_sizes(self, X), self.C2 * counts
        demands: list[Demand] = [] if labelled is None or self.labelled == "start" else [labelled]
        if bad:
            demands.append(Rejected(some_inputs(self, X, prepared, bad), cost[bad], sizes[bad], self.constant))
        batch = some_inputs(self, X, prepared, good) if good else None

        def start(seed: int) -> Floats:
            size = prepared.scorer.size + 1
            return np.zeros(size) if labelled is None else solve(self, [labelled], size, seed).weights

        def problem(seed: int) -> LatentProblem:
            ties = seed if self.random_ties else None
            options = (cost[good], sizes[good], self.constant, ties)
            choose = [] if batch is None else [partial(Accepted.best, batch, *options)]
            return LatentProblem(tuple(demands), tuple(choose), self.loss, margins_stay=True)

        return all_runs(self, problem, start)

    def _check_known(self, known: Sequence[Any]) -> None:
        if self.labelled == "start" and not (GOOD in known and BAD in known):
            raise DataError("labelled='start' learns from GOOD and BAD inputs, and y lacks some of them; add both")
        if by_kind(known)[Signal.FULL] or not len(known):
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
        if self.task_.has_labels and self.classes is None and not (self.dictionary or labels_named(self.rules or ())):
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

    def _labelled(self, X: Any, prepared: Prepared, which: list[int], counts: Floats) -> Labelled | None:
        """What labelled inputs ask for."""
        if not which:
            return None
        known = prepared.known.take(np.array(which))
        return Labelled(some_inputs(self, X, prepared, which), known.all_known(), self.C1 * counts[which])

    def decision_function(self, X: Any) -> Floats:
        """max_y w·F_B(x, y) of each input, over the outputs that are possible: above zero, it looks GOOD."""
        return best_decisions(self, X)

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
        Sequence[str] | None, "All labels; without labelled inputs, this, the dictionary or the rules must name them."
    ] = None
    rules: Annotated[
        Sequence[Rule] | None,
        "What outputs are possible: every rule is hard, in training, `predict` and `decision_function`. Rules that do "
        "not fold into the scores, such as `once_each()`, make every search of training slow.",
    ] = None
    dictionary: Annotated[TagDictionary | None, "Which labels each token may have, in training and predictions."] = None
    guard: Annotated[
        bool,
        "Whether `fit` compares with a `StructuralSVM` of the same features, with C = C1, on labelled sequences held "
        "out, and warns where it does worse.",
    ] = True

    def supervised(self) -> StructuralSVM:
        """What learns from the labelled inputs alone."""
        return svm_of(self, self.C1)
