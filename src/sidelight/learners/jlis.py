"""Joint learning with indirect supervision: labelled inputs, and inputs of which only a yes or no is known."""

from collections.abc import Sequence
from typing import Any, Self

from ..dictionary import TagDictionary
from ..errors import DataError
from ..features.templates import sequence_offsets
from ..inference.compiled import CompiledRules, penalties
from ..inference.constrained import best_outputs
from ..rules.automata import labels_named
from ..rules.language import Reading, Rule
from ..solvers.demands import Argmax
from ..structures.protocol import Best
from ..supervision import Signal, encode_targets, label_set, learns_from
from .companions import CompanionLearner, Size
from .linear import LinearLearner
from .margins import Loss
from .mixture import check_input


@learns_from(Signal.FULL, Signal.COMPANION)
class JLIS(CompanionLearner, LinearLearner):
    """Joint learning with indirect supervision on label chains.

        minimise  ‖w‖² / 2 + C1 Σ_labelled ℓ(max_y [Δ(y, y_i) + w·F(x_i, y)] - w·F(x_i, y_i))
                           + C2 Σ_GOOD ℓ(1 - max_y w·F_B(x_i, y)) + C2 Σ_BAD ℓ(1 + max_y w·F_B(x_i, y))

    with F_B(x, y) = (F(x, y) / κ(x), bias): some output of a GOOD input scores above zero, and every output of a BAD
    one below (Eq. 6.3 of Chang 2011; Chang et al. 2010). Each element of y is a list of labels, GOOD or BAD. The
    problem is not convex because of the GOOD inputs; the objective never rises from round to round (Theorem 3).

    Parameters
    ----------
    features, min_count, order, boundaries, all_weights, classes, random_state, verbose, n_jobs : as for `CRF`; without
        labelled inputs `classes` or the dictionary must name the labels.
    C1, C2 : what missed margins of labelled and of GOOD / BAD inputs cost.
    size : κ, by which the features of GOOD and BAD inputs are divided: "length", a function of x, or None for 1.
    bias : value of the constant feature of GOOD and BAD inputs; 0 leaves it out.
    rules : what outputs are possible: every rule is hard, in training, `predict` and `decision_function`.
    dictionary : a `TagDictionary`, used in the same places; token by token it says which labels are possible.
    loss, epsilon, max_iterations, check_inference : as for `StructuralSVM`.
    tolerance : gap of the convex problem of each round, as a share of its objective.
    change : it stops when a round changes the objective by no more than this share (Eq. 6.11).
    max_rounds : rounds at most.
    random_ties : whether ties between best outputs are broken at random; without labelled inputs that matters much.
        Under rules that are not sums over parts they are not.
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
        rules: Sequence[Rule] | None = None,
        dictionary: TagDictionary | None = None,
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
        check_input(self, X, y)
        if not (self.dictionary is None or isinstance(self.dictionary, TagDictionary)):
            raise DataError(f"dictionary must be a TagDictionary or None, got {type(self.dictionary).__name__}")
        self._check_companions(y, labels_known=bool(self.classes or self.dictionary))
        prepared = self._prepare(X, y, self._all_labels(y))
        runs = self._runs(X, y, prepared)
        self._adopt(prepared)
        self._keep_best(runs)
        return self

    def _all_labels(self, y: Any) -> list[str]:
        """Those named in `classes`, or those of y, the rules and the dictionary."""
        if self.classes is not None:
            return list(self.classes)
        listed = set() if self.dictionary is None else {*self.dictionary.open}.union(*self.dictionary.labels.values())
        return sorted({*label_set(y), *labels_named(list(self.rules or ())), *listed})

    def _argmax(self, X: Any, classes: Sequence[str]) -> Argmax:
        structure, allowed, compiled = self._structure, None, None
        if self.dictionary is not None:
            known, lengths = self.dictionary.apply(X), [len(x) for x in X]
            allowed, edges = encode_targets(known, lengths, classes).choices(len(classes)), sequence_offsets(X)
        rules = list(self.rules or ())
        if rules:
            hard = penalties([rule.hard() for rule in rules], Reading("hard"), None)
            compiled = CompiledRules.compile(rules, X, classes)

        def best(scores: Any, first: int, last: int, seed: int | None = None) -> Best:
            if allowed is not None:
                scores = scores.restrict(allowed[edges[first] : edges[last]])
            if compiled is None:
                return structure.argmax(scores, seed=seed)
            found = best_outputs(structure, scores, compiled.sequences(first, last).weigh(hard))
            return Best(found.labels[0], found.scores[:, 0], bool(found.exact.all()))

        return best

    def predict(self, X: Any) -> list[list[str]]:
        """The best label sequence of each input that the rules and the dictionary allow."""
        scores = self.scores(X)
        return self._split(self._argmax(X, self.classes_)(scores, 0, len(scores)).labels, scores)
