"""Joint learning with indirect supervision: labelled inputs, and inputs of which only a yes or no is known."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from ...dictionary import TagDictionary
from ...errors import DataError, NotSupported, warn
from ...features.encoded import Encoded
from ...features.templates import sequence_offsets
from ...inference.compiled import CompiledRules, WeighedRules
from ...inference.constrained import best_outputs
from ...kernels.compiling import Floats
from ...labels import encode_labels, label_set
from ...rules.automata import labels_named
from ...rules.language import Rule
from ...solvers.demands import Argmax
from ...structures.chain import ChainParts
from ...structures.protocol import Best
from ...supervision import BAD, GOOD, Companion, Signal, kind_of
from ..choosing.guard import Guard, guarded
from ..labelled.linear import LinearLearner
from ..learner import Explanation, Scored
from ..tasks.task import Task
from ..wrappers.wrapper import check_input
from .good_and_bad import CompanionLearner, Size
from .margin_learner import Loss
from .structural_svm import StructuralSVM


class JLIS(CompanionLearner, LinearLearner):
    """Joint learning with indirect supervision on label chains.

        minimise  ‖w‖² / 2 + C1 Σ_labelled ℓ(max_y [Δ(y, y_i) + w·F(x_i, y)] - w·F(x_i, y_i))
                           + C2 Σ_GOOD ℓ(1 - max_y w·F_B(x_i, y)) + C2 Σ_BAD ℓ(1 + max_y w·F_B(x_i, y))

    with F_B(x, y) = (F(x, y) / κ(x), constant): some output of a GOOD input scores above zero, and every output of a
    BAD one below (Eq. 6.3 of Chang 2011; Chang et al. 2010). Each element of y is a list of labels, GOOD or BAD. The
    problem is not convex because of the GOOD inputs; the objective never rises from round to round (Theorem 3).

    Parameters
    ----------
    features, min_count, order, boundaries, all_weights, classes, task, random_state, verbose, n_jobs : as for `CRF`;
        without labelled inputs `classes` or the dictionary must name the labels.
    C1, C2 : what missed margins of labelled and of GOOD / BAD inputs cost; C1 is what C is of `StructuralSVM`.
    size : κ, by which the features of GOOD and BAD inputs are divided: "length", a function of x, or None for 1.
    constant : value of the constant feature of GOOD and BAD inputs; 0 leaves it out.
    rules : what outputs are possible: every rule is hard, in training, `predict` and `decision_function`. Rules that do
        not fold into the scores, such as `once_each()`, make every search of training slow.
    dictionary : a `TagDictionary`, used in the same places; token by token it says which labels are possible.
    loss, epsilon, max_iterations, check_inference : as for `StructuralSVM`.
    tolerance : gap of the convex problem of each round, as a share of its objective.
    change : it stops when a round changes the objective by no more than this share (Eq. 6.11, and its value there).
    max_rounds : rounds at most.
    random_ties : whether ties between best outputs are broken at random; else the first of `classes` wins. Without
        labelled inputs all outputs tie at first, and where a fixed order leads is a matter of luck with that order;
        random ties are steadier, the more so with a lower C2 and `change`. Under rules that are not sums over parts
        ties are not random.
    restarts : runs with different seeds, of which the one with the lowest objective is kept.
    guard : as for `CCM`; what it is compared with is a `StructuralSVM` of the same features, with C = C1.

    Attributes
    ----------
    classes_; weights_; constant_weight_ : that of the constant feature; objective_; rounds_ : a `Round` each, with the
    objective before it; run_objectives_ : that of each run; converged_; trace_ : steps of the last convex problem;
    guard_ : as for `CCM`.
    """

    guard_: Guard | None
    _rules_are_hard = True
    _lacking: ClassVar[dict[Companion, str]] = {
        GOOD: "unlabelled sequences that are as they should be (on the command line: --good FILE)",
        BAD: "such as sidelight.shuffled makes of the GOOD ones (on the command line: --bad shuffled)",
    }

    def __init__(
        self,
        features: Any = None,
        *,
        C1: float = 0.1,
        C2: float = 0.1,
        size: Size = "length",
        constant: float = 1.0,
        rules: Sequence[Rule] | None = None,
        dictionary: TagDictionary | None = None,
        loss: Loss = "squared_hinge",
        tolerance: float = 0.002,
        change: float = 1e-5,
        epsilon: float = 0.01,
        max_rounds: int = 50,
        max_iterations: int = 200,
        random_ties: bool = True,
        restarts: int = 1,
        check_inference: bool = False,
        guard: bool = True,
        min_count: int = 1,
        order: int = 1,
        boundaries: bool = True,
        all_weights: bool = False,
        classes: Sequence[str] | None = None,
        task: Task | None = None,
        random_state: int | None = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.features = features
        self.C1 = C1
        self.C2 = C2
        self.size = size
        self.constant = constant
        self.rules = rules
        self.dictionary = dictionary
        self.loss = loss
        self.tolerance = tolerance
        self.change = change
        self.epsilon = epsilon
        self.max_rounds = max_rounds
        self.max_iterations = max_iterations
        self.random_ties = random_ties
        self.restarts = restarts
        self.check_inference = check_inference
        self.guard = guard
        self.min_count = min_count
        self.order = order
        self.boundaries = boundaries
        self.all_weights = all_weights
        self.classes = classes
        self.task = task
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    @guarded
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs X, of which y tells the labels, GOOD or BAD."""
        known = check_input(self, X, y)
        if not (self.dictionary is None or isinstance(self.dictionary, TagDictionary)):
            raise DataError(f"dictionary must be a TagDictionary or None, got {type(self.dictionary).__name__}")
        if isinstance(self.rules, Rule):
            raise DataError("rules is a list of rules; write [...] around one")
        self._check_companions(known, labels_known=bool(self.classes or self.dictionary))
        prepared = self._prepare(X, y, self._all_labels(known))
        self._compare_labels(X, known, prepared.classes)
        runs = self._runs(X, known, prepared)
        self._adopt(prepared)
        self._keep_best(runs)
        return self

    def _supervised(self) -> StructuralSVM:
        """What learns from the labelled inputs alone."""
        shared = StructuralSVM().get_params().keys() & self.get_params(deep=False).keys() - {"tolerance"}
        return StructuralSVM(C=self.C1, **{name: getattr(self, name) for name in shared})

    def _all_labels(self, y: Any) -> list[str]:
        """Those named in `classes`, or those of y, the rules and the dictionary."""
        if self.classes is not None:
            return list(self.classes)
        listed = set() if self.dictionary is None else {*self.dictionary.open}.union(*self.dictionary.labels.values())
        known = {*label_set(y), *listed}
        for rule in self._rules_given():
            unknown = sorted(labels_named([rule]) - known)
            if unknown:
                raise DataError(
                    f"the rule {rule.title!r} names the label {unknown[0]!r}, which neither y nor the dictionary has; "
                    "if it is right, name all labels in classes"
                )
        return sorted(known)

    def _compare_labels(self, X: Any, y: Any, classes: Sequence[str]) -> None:
        """Warn where labelled sequences contradict the rules or the dictionary: such outputs become impossible."""
        labelled = [i for i, known in enumerate(y) if kind_of(known) is Signal.FULL]
        some, gold = [X[i] for i in labelled], [y[i] for i in labelled]
        bad: set[int] = set()
        if labelled and self.dictionary is not None:
            for i, known, tags in zip(labelled, gold, self.dictionary.apply(some), strict=True):
                if any(
                    allowed is not None and label not in allowed for label, allowed in zip(known, tags, strict=True)
                ):
                    bad.add(i)
        if labelled and self._rules_given():
            told = self._task.for_rules(some)
            codes = encode_labels(gold, [len(x) for x in told], classes).labels
            violated = CompiledRules.compile(self._rules_given(), told, classes).violations(codes).sum(axis=1)
            bad |= {labelled[n] for n in np.flatnonzero(violated)}
        if bad:
            warn(
                f"{len(bad)} of {len(labelled)} labelled sequences contradict the rules or the dictionary, sequence "
                f"{min(bad)} for one; outputs like theirs will never be predicted",
            )

    def _argmax(self, X: Any, classes: Sequence[str]) -> Argmax:
        structure, allowed, compiled = self._structure, None, None
        if self.dictionary is not None:
            known, lengths = self.dictionary.apply(X), [len(x) for x in X]
            allowed, edges = encode_labels(known, lengths, classes).choices(len(classes)), sequence_offsets(X)
        if self._rules_given():
            limits = self._limits(X, classes)
            compiled, hard = limits.compiled, np.full(len(limits.compiled.rules), np.inf)

        def best(scores: Any, first: int, last: int, seed: int | None = None) -> Best:
            if allowed is not None:
                scores = scores.restrict(allowed[edges[first] : edges[last]])
            if compiled is None:
                return structure.argmax(scores, seed=seed)
            limits = compiled.sequences(first, last).weigh(hard)
            folded, rest = limits.fold(scores)
            if not rest.compiled.automata:
                return structure.argmax(folded, seed=seed)
            found = best_outputs(structure, scores, limits)
            return found.best()

        return best

    def _rules_given(self) -> list[Rule]:
        return list(self.rules or ())

    def scores(self, X: Any) -> ChainParts:
        """Scores of every part, with -inf on the labels that the dictionary excludes."""
        if isinstance(X, Encoded) and (self.dictionary is not None or self._rules_given()):
            raise NotSupported("rules and dictionaries read the tokens themselves; give X as it is, not encoded")
        scores: ChainParts = super().scores(X)
        if self.dictionary is None or not len(X):
            return scores
        known = encode_labels(self.dictionary.apply(X), [len(x) for x in X], self.classes_)
        return scores.restrict(known.choices(len(self.classes_)))

    def predict(self, X: Any) -> list[list[str]]:
        """The best label sequence of each input that the rules and the dictionary allow."""
        scores = self.scores(X)
        return self._split(self._best(X, scores).outputs.values, scores)

    def complete(self, X: Any, y: Any) -> list[list[str]]:
        """The best label sequence of each input that agrees with y and that the rules and the dictionary allow."""
        scores = self.scores(X)
        return self._split(self._best(X, self._agreeing(scores, y)).outputs.values, scores)

    def _best(self, X: Any, scores: ChainParts) -> Best:
        if not self._rules_given() or not len(scores):
            return self._structure.argmax(scores)
        found = best_outputs(self._structure, scores, self._limits(X, self.classes_))
        return found.best()

    def _limits(self, X: Any, classes: Sequence[str]) -> WeighedRules:
        rules = [rule.hard() for rule in self._rules_given()]
        return CompiledRules.compile(rules, self._task.for_rules(X), classes).weigh(np.full(len(rules), np.inf))

    def decision_function(self, X: Any) -> Floats:
        """max_y w·F_B(x, y) of each input, over the outputs that are possible: above zero, it looks GOOD."""
        scores = self.scores(X)
        sizes = np.diff(scores.offsets) if self.size == "length" else self._sizes(X)
        return self._best(X, scores).scores / sizes + self.constant * self.constant_weight_

    def predict_kbest(self, X: Any, k: int = 5) -> list[list[Scored]]:
        """For each input its k best label sequences that are possible, with their scores."""
        self._require_free("predict_kbest")
        return super().predict_kbest(X, k)

    def predict_marginals(self, X: Any) -> list[Floats]:
        """Softmax of the scores, which are not calibrated; not offered under rules."""
        self._require_free("predict_marginals")
        return super().predict_marginals(X)

    def log_partition(self, X: Any) -> Floats:
        """log Σ exp(score) over all label sequences; not offered under rules."""
        self._require_free("log_partition")
        return super().log_partition(X)

    def explain(self, x: Any, position: int = 0, *, top: int = 10) -> Explanation:
        """What speaks for a token's label; not offered under rules."""
        self._require_free("explain")
        return super().explain(x, position, top=top)

    def _require_free(self, name: str) -> None:
        if self._rules_given():
            raise NotSupported(f"JLIS has no {name} under rules; use CCM.around(model, rules) for what it offers")
