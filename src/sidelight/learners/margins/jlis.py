"""Joint learning with indirect supervision: labelled inputs, and inputs of which only a yes or no is known."""

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from ...dictionary import TagDictionary
from ...errors import DataError, warn
from ...features.encoded import Encoded
from ...features.templates import sequence_offsets
from ...kernels.compiling import Floats
from ...labels import encode_labels
from ...rules.language import Rule
from ...solvers import cutting_plane
from ...solvers.latent_margins import Alternation, LatentProblem, Round
from ...solvers.margin_constraints import Accepted, Argmax, Demand, Labelled, MarginInputs, Rejected, numbered
from ...solvers.working_sets import WorkingSets
from ...structures.protocol import Best
from ...supervision import BAD, GOOD, Companion, Signal, by_kind
from ..choosing.guard import guarded
from ..decoding import Decoder, UnderRules, Within
from ..learner import Learner, RuleReading
from ..model import Prepared, prepare
from ..parameters import GuardParameters, LatentParameters, LinearParameters, declared, require_number
from .latent_svm import LATENT, all_runs, check_rounds, keep_lowest, lowest, rounds_and_end
from .structural_svm import StructuralSVM

Size = Literal["length"] | Callable[[Any], float] | None


@declared
class JointLearner(LatentParameters, Learner):
    """Labels and GOOD / BAD on any task; a subclass says what its task and its other parameters are."""

    C1: Annotated[float, "What missed margins of labelled inputs cost; C of `StructuralSVM`."] = 0.1
    C2: Annotated[float, "What missed margins of GOOD and BAD inputs cost."] = 0.1
    size: Annotated[
        Size, 'κ, by which the features of GOOD and BAD inputs are divided: "length", a function of x, or None for 1.'
    ] = "length"
    constant: Annotated[float, "Value of the constant feature of GOOD and BAD inputs; 0 leaves it out."] = 1.0
    tolerance: Annotated[float, "Gap of the convex problem of each round, as a share of its objective."] = 0.002
    random_ties: Annotated[
        bool,
        "Whether ties between best outputs are broken at random; else the first of `classes` wins. Without "
        "labelled inputs all outputs tie at first, and where a fixed order leads is a matter of luck with "
        "that order; random ties are steadier, the more so with a lower C2 and `change`. Under rules that are "
        "not sums over parts ties are not random.",
    ] = True

    saved = (*LATENT, "constant_weight_")
    # Where to find GOOD and BAD inputs.
    _lacking: ClassVar[dict[Companion, str]] = {
        GOOD: "unlabelled sequences that are as they should be (on the command line: --good FILE)",
        BAD: "such as sidelight.shuffled makes of the GOOD ones (on the command line: --bad shuffled)",
    }

    @property
    def course_(self) -> tuple[Round, ...]:
        """The rounds, and the objective after them."""
        return rounds_and_end(self)

    def without_rules(self) -> Self:
        """Returns the same model, which predicts as if it had no rules; a dictionary stays."""
        free = copy(self)
        free.rules = None
        return free

    @guarded
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs X, of which y tells the labels, GOOD or BAD."""
        _, known = self.read_input(X, y)
        if not (self.dictionary is None or isinstance(self.dictionary, TagDictionary)):
            raise DataError(f"dictionary must be a TagDictionary or None, got {type(self.dictionary).__name__}")
        self.listed_rules()
        self._check_companions(known, labels_known=bool(self.classes or self.dictionary))
        prepared = prepare(self, X, y, self.all_labels(known, required=False))
        self._compare_labels(X, known, prepared.classes)
        runs = self._learn(X, known, prepared)
        weights = lowest(runs).weights
        self._adopt(prepared.model(weights[:-1].copy()))
        self.constant_weight_ = float(weights[-1])
        keep_lowest(self, runs)
        return self

    def _learn(self, X: Any, known: Sequence[Any], prepared: Prepared) -> list[Alternation]:
        """Returns runs with weights, that of the constant feature last; known: what is known of each input."""
        labelled = self._labelled(X, prepared, by_kind(known)[Signal.FULL])
        good, bad = ([i for i, one in enumerate(known) if one is kind] for kind in (GOOD, BAD))
        sizes, cost = self._sizes(X), float(self.C2)
        demands: list[Demand] = [] if labelled is None else [labelled]
        if bad:
            demands.append(Rejected(self._some(X, prepared, bad), cost, sizes[bad], self.constant))
        batch = self._some(X, prepared, good) if good else None

        def problem(seed: int) -> LatentProblem:
            ties = seed if self.random_ties else None
            choose = [] if batch is None else [partial(Accepted.best, batch, cost, sizes[good], self.constant, ties)]
            return LatentProblem(tuple(demands), tuple(choose), self.loss == "squared_hinge")

        return all_runs(self, problem, lambda seed: self._start(labelled, prepared.scorer.size + 1, seed))

    def _check_companions(self, known: Sequence[Any], *, labels_known: bool) -> None:
        check_rounds(self)
        for name in ("C1", "C2"):
            require_number(self, name, 0, open_end=True)
        require_number(self, "constant", 0)
        if not (self.size is None or self.size == "length" or callable(self.size)):
            raise DataError(f"size must be 'length', None or a function of x, got {self.size!r}")
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
            return np.ones(len(self.task_.sizes(X)))
        out = np.array([self._size_of(i, x) for i, x in enumerate(X)])
        bad = np.flatnonzero(~(out > 0) | ~np.isfinite(out))
        if len(bad):
            raise DataError(f"the size of input {bad[0]} is {out[bad[0]]:g}; sizes must be positive, finite numbers")
        return out

    def _size_of(self, index: int, x: Any) -> float:
        try:
            return float(self.task_.size_of(x) if self.size == "length" else self.size(x))  # type: ignore[misc]
        except (TypeError, ValueError) as error:
            raise DataError(
                f"size gives no number for input {index}: {error}; it is a function of one input"
            ) from error

    def _some(self, X: Any, prepared: Prepared, which: list[int]) -> MarginInputs:
        """Some of the inputs."""
        some = X[which] if hasattr(X, "shape") else [X[i] for i in which]
        encoded: Encoded = prepared.encoded.take(np.array(which))
        argmax = numbered(self._argmax(some, prepared.classes), which)
        return MarginInputs(prepared.scorer, self.structure_, encoded, argmax)

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
        labelled = by_kind(y)[Signal.FULL]
        if not labelled or not (self.dictionary or self._rules_given()):
            return
        some, gold = [X[i] for i in labelled], [y[i] for i in labelled]
        bad: set[int] = set()
        if self.dictionary is not None:
            for i, known, tags in zip(labelled, gold, self.dictionary.apply(some), strict=True):
                if any(
                    allowed is not None and label not in allowed for label, allowed in zip(known, tags, strict=True)
                ):
                    bad.add(i)
        if self._rules_given():
            seen = self.task_.for_rules(some)
            outputs = self.structure_.token_labels(self.task_.known_to_rules(gold, seen, classes).outputs.values)
            violated = self.task_.compiled(self._rules_given(), seen, classes).violations(outputs).sum(axis=1)
            bad |= {labelled[n] for n in np.flatnonzero(violated)}
        if bad:
            warn(
                f"{len(bad)} of {len(labelled)} labelled {self.task_.noun}s contradict the rules or the dictionary, "
                f"{self.task_.noun} {min(bad)} for one; outputs like theirs will never be predicted",
            )

    def _argmax(self, X: Any, classes: Sequence[str]) -> Argmax:
        structure, allowed, compiled = self.structure_, None, None
        if self.dictionary is not None:
            known, lengths = self.dictionary.apply(X), [len(x) for x in X]
            allowed, edges = encode_labels(known, lengths, classes).choices(len(classes)), sequence_offsets(X)
        if self._rules_given():
            compiled = self.task_.compiled(self._rules_given(), self.task_.for_rules(X), classes)
            hard = np.full(len(compiled.rules), np.inf)

        def best(scores: Any, first: int, last: int, seed: int | None = None) -> Best:
            if allowed is not None:
                scores = scores.restrict(allowed[edges[first] : edges[last]])
            if compiled is None:
                return structure.argmax(scores, seed=seed)
            limits = compiled.sequences(first, last).weigh(hard)
            folded, left = limits.folded(scores)
            if left is None:
                return structure.argmax(folded, seed=seed)
            found: Best = limits.best(structure, scores).best()
            return found

        return best

    def _rules_given(self) -> list[Rule]:
        return [rule.hard() for rule in self.rules or ()]

    def _decoder(self) -> Decoder:
        rules, free = self._rules_given(), Decoder(self.structure_)
        if not rules and self.dictionary is None:
            return free
        limits = np.full(len(rules), np.inf)
        inner = UnderRules(self.structure_, self.task_, rules, limits, self.classes_) if rules else free
        return inner if self.dictionary is None else Within(self.structure_, inner, self.dictionary, self.classes_)

    def rule_readings(self) -> list[RuleReading]:
        """Every rule limits the outputs."""
        return [RuleReading("hard", None, False) for _ in self._rules_given()]

    def decision_function(self, X: Any) -> Floats:
        """max_y w·F_B(x, y) of each input, over the outputs that are possible: above zero, it looks GOOD."""
        scores = self.scores(X)
        encoded = isinstance(X, Encoded) and self.size == "length"
        sizes = np.diff(scores.offsets) if encoded else self._sizes(X)
        return self.decoder_.best(X, scores, 1).scores[:, 0] / sizes + self.constant * self.constant_weight_

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
