"""Classifiers of inputs by latent structures: learning over constrained latent representations, and in two stages."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from math import nan
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from ...declared import Bounds, declared
from ...errors import DataError, NotSupported
from ...estimator import available_if, clone, is_fitted, require_fitted
from ...kernels.compiling import Flags, Floats
from ...quoting import quoted
from ...rules.automata import labels_named
from ...rules.language import Rule
from ...sample_weights import read_weights
from ...solvers import latent_margins
from ...solvers.certificate import warn_unconverged
from ...solvers.latent_margins import LatentProblem
from ...solvers.margin_constraints import Accepted, Rejected
from ...structures.known import Outputs
from ...supervision import BAD, GOOD, Companion
from ..inputs import weighed
from ..learner import Learner
from ..model import Prepared, prepare
from ..parameters import CompanionParameters, LatentCompanionParameters, LinearParameters
from .jlis import best_decisions, decisions, input_sizes, some_inputs
from .latent_svm import LATENT, adopt_lowest, all_runs
from .structural_svm import solve

# What says which structures to begin with.
Start = Mapping[Any, float] | Sequence[float] | Learner | Callable[[Any], Any] | None
# Labels that y may have, the negative one first.
_ANSWERS = ((False, True), (0, 1), (-1, 1))


def read_answers(y: Any, count: int, noun: str) -> tuple[Any, list[Companion]]:
    """Returns both labels of y, the negative one first, and GOOD or BAD for every input."""
    if isinstance(y, str) or not hasattr(y, "__len__"):
        raise DataError(f"y must be a list with one label per {noun}, got {type(y).__name__}")
    if len(y) != count:
        raise DataError(f"X has {count} {noun}s but y has {len(y)}")
    listed = [one.item() if isinstance(one, np.generic) else one for one in y]
    if all(isinstance(one, Companion) for one in listed):
        classes, good = [BAD, GOOD], [one is GOOD for one in listed]
    else:
        for i, one in enumerate(listed):
            if not isinstance(one, bool | int | float | Companion) or one not in (-1, 0, 1, GOOD, BAD):
                raise DataError(
                    f"{noun} {i} has the label {quoted(one)}; a label is GOOD or BAD, True or False, 1 or 0, or 1 or "
                    "-1 (JLIS learns from structures too)"
                )
        found = set(listed)
        if not any(found <= set(both) for both in _ANSWERS):
            named = ", ".join(sorted(map(repr, found)))
            raise DataError(f"y has the labels {named}; write 1 and 0, 1 and -1, or GOOD and BAD")
        classes, good = np.unique(np.asarray(y)), [one == 1 for one in listed]  # type: ignore[assignment]
    if len(set(good)) < 2:
        raise DataError(f"all {noun}s have the same label; give some that are good and some that are bad")
    return classes, [GOOD if one else BAD for one in good]


def start_weights(initial: Any, prepared: Prepared, X: Any, known: list[Companion]) -> Floats | None:
    """Returns the weights that the structures to begin with are found by; None where a function gives these.

    A learner that is not fitted is fitted to the inputs X, of which is known whether they are GOOD or BAD.
    """
    size = int(prepared.scorer.size)
    if initial is None:
        return np.zeros(size)
    if isinstance(initial, Learner):
        if not is_fitted(initial):
            untrained: Any = clone(initial)
            initial = untrained.fit(X, known)
        initial = {(feature, label): weight for feature, label, weight in initial.top_weights(initial.model_.size)}
    if isinstance(initial, Mapping):
        return _by_name(initial, prepared)
    if callable(initial):
        return None
    try:
        weights = np.asarray(initial, float)
    except (TypeError, ValueError):
        raise DataError(
            f"initial is weights by the names of features, a fitted learner, an array or a function, "
            f"got {quoted(initial)}"
        ) from None
    if weights.shape != (size,):
        raise DataError(f"initial has the shape {weights.shape}, and there are {size} weights; name features instead")
    return weights


def _by_name(named: Mapping[Any, float], prepared: Prepared) -> Floats:
    """Returns weights by the names of features, or of features and labels; features that X lacks have none."""
    size, out = int(prepared.scorer.size), np.zeros(int(prepared.scorer.size))
    places = prepared.task.strongest(prepared.model(np.arange(1.0, size + 1)), size, None)  # weights are their places
    found = 0
    for feature, label, place in places:
        name = prepared.classes[label] if label >= 0 else ""
        weight = named.get((feature, name), named.get(feature))
        if weight is not None:
            out[int(place) - 1] = weight
            found += 1
    if not found:
        some = ", ".join(repr(feature) for feature, _, _ in places[:3])
        raise DataError(f"initial names no feature that the inputs have; they have {some} and others")
    return out


@declared
class StructureClassifier(LinearParameters, CompanionParameters, Learner):
    """What classifiers by latent structures share."""

    C: Annotated[
        float, "What missed margins cost; larger fits the training data more closely.", Bounds(0, above=True)
    ] = 1.0
    class_weight: Annotated[
        Literal["balanced"] | None,
        'With "balanced" good and bad inputs cost the same in all, however many there are of each: C is multiplied by '
        "n / (2 n_good) and n / (2 n_bad).",
    ] = None
    initial: Annotated[
        Start,
        "What says which structures to begin with: weights by the names of features, as `top_weights` writes them (or "
        "by feature and label); a learner with such features, which is fitted first if it is not yet; an array of "
        "weights; or a function that gives the structure of an input.",
    ] = None
    rules: Annotated[Sequence[Rule] | None, "What structures are possible: every rule is hard."] = None
    calibration: Annotated[
        int,
        "Folds of the cross-validation that calibrates `predict_proba` (Platt scaling), each one more fit. With 0 "
        "there is no `predict_proba`.",
        Bounds(0),
    ] = 0

    judges: ClassVar[bool] = True
    _estimator_type = "classifier"  # what versions of scikit-learn before 1.6 ask for

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from inputs X and labels y: GOOD or BAD, True or False, 1 or 0, or 1 or -1.

        sample_weight : what C is multiplied by for each input, at least 0; None: 1 for all.
        """
        classes, known = read_answers(y, len(self.task_.sizes(X)), self.task_.noun)
        X, known, counts = weighed(self, X, known, sample_weight)
        read_answers(known, len(known), self.task_.noun)
        weights = np.ones(len(known)) if counts is None else counts
        if self.task_.has_labels and self.classes is None and not labels_named(self.rules or ()):
            raise DataError("the labels of the structures are not known; name them in classes=[...]")
        calibrated = self._calibrate(X, known, weights) if self.calibration else None
        self._learn(X, known, prepare(self, X, known, self.all_labels(known, required=False)), weights)
        self.classes_, self.calibrated_ = classes, calibrated
        return self

    def check_restored(self, labels: list[str]) -> None:
        """Raise `DataError` where what a file says does not fit together."""
        super().check_restored(labels)
        if len(self.classes_) != 2:
            raise DataError(f"{type(self).__name__} has two labels, one for GOOD and one for BAD")

    def _learn(self, X: Any, known: list[Companion], prepared: Prepared, counts: Floats) -> None:
        """Learn, and take over what was learned; counts: what C is multiplied by for each input."""
        raise NotImplementedError

    def _demands(self, X: Any, known: list[Companion], prepared: Prepared, counts: Floats, kind: Companion) -> Rejected:
        """The inputs of one kind, with their sizes."""
        which = [i for i, one in enumerate(known) if one is kind]
        share = 1.0 if self.class_weight is None else counts.sum() / (2 * counts[which].sum())
        cost = self.C * share * counts[which]
        return Rejected(some_inputs(self, X, prepared, which), cost, input_sizes(self, X)[which], self.constant)

    def _given(self, X: Any, classes: Sequence[str]) -> Outputs:
        """The structures that the function `initial` gives."""
        initial: Any = self.initial
        sizes = self.task_.sizes(X)
        read = self.task_.read([initial(x) for x in X], sizes)
        known = self.task_.known(read, sizes, classes)
        if not known.full:
            raise DataError(
                "initial gives no structure of some inputs; it is a function of x that returns one, as in y"
            )
        return known.outputs

    def _calibrate(self, X: Any, known: list[Companion], counts: Floats) -> tuple[float, float]:
        """Returns slope and intercept of the log-odds of GOOD, from decisions about inputs that were held out."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import StratifiedKFold

        good = np.array([one is GOOD for one in known])
        if min(good.sum(), (~good).sum()) < self.calibration or self.calibration < 2:
            raise DataError(
                f"calibration={self.calibration} needs at least 2 folds, and as many inputs that are good and bad"
            )
        values = np.empty(len(known))
        folds = StratifiedKFold(self.calibration, shuffle=True, random_state=self.seed() % 2**31)
        for train, test in folds.split(known, good):
            model = clone(self).set_params(calibration=0, initial=self.initial)
            model.fit(*_taken(X, known, train), sample_weight=counts[train])
            values[test] = model.decision_function(_taken(X, known, test)[0])
        # Platt's targets keep probabilities off 0 and 1: every input counts for both answers, for one of them little.
        high, low = (good.sum() + 1) / (good.sum() + 2), 1 / ((~good).sum() + 2)
        target = np.where(good, high, low)
        both = np.repeat([1, 0], len(values)), np.concatenate((counts * target, counts * (1 - target)))
        fitted = LogisticRegression(C=1e6).fit(np.tile(values, 2)[:, None], both[0], sample_weight=both[1])
        return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])

    def decision_function(self, X: Any) -> Floats:
        """max_h w·F_B(x, h) of each input, over the structures that are possible: above zero, it looks GOOD."""
        return best_decisions(self, X)

    def _answers(self, good: Flags) -> Any:
        """Labels the way y was written."""
        if isinstance(self.classes_, np.ndarray):
            return self.classes_[good.astype(int)]
        return [self.classes_[int(one)] for one in good]

    def predict(self, X: Any) -> Any:
        """The label of each input, written as in y: whether its best structure scores above zero."""
        return self._answers(self.decision_function(X) > 0)

    def _is_calibrated(self) -> bool:
        if not self.calibration:
            raise AttributeError(f"predict_proba needs calibration: {type(self).__name__}(calibration=5)")
        return True

    @available_if(_is_calibrated)
    def predict_proba(self, X: Any) -> Floats:
        """The probability of both labels for each input: (inputs, 2), columns as `classes_`."""
        slope, intercept = self.calibrated_ or (nan, nan)
        chance = 1.0 / (1.0 + np.exp(-(slope * self.decision_function(X) + intercept)))
        return np.stack((1.0 - chance, chance), axis=1)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of right labels; sample_weight: what each input counts, None for 1."""
        good = self.decision_function(X) > 0
        _, known = read_answers(y, len(good), self.task_.noun)
        weights = read_weights(sample_weight, len(good), self.task_.noun, "score")
        right = [one == (label is GOOD) for one, label in zip(good, known, strict=True)]
        return float(np.average(right, weights=weights))


@declared
class LCLR(LatentCompanionParameters, StructureClassifier):
    """Learning over constrained latent representations: a yes or no for each input, by a structure nobody labelled.

        minimise  ‖w‖² / 2 + C Σ_good ℓ(1 - max_h w·F_B(x_i, h)) + C Σ_bad ℓ(1 + max_h w·F_B(x_i, h))

    with F_B(x, h) = (F(x, h) / κ(x), constant): the best structure of a good input scores above zero, and no structure
    of a bad one does (Eq. 5.3, Algorithms 10 and 11 of Chang 2011; Chang et al. 2010). Each element of y is GOOD or
    BAD, True or False, 1 or 0, or 1 or -1. The problem is not convex because of the good inputs; the objective never
    rises from round to round, and where it ends depends on `initial`.

    Eq. 5.3 has F itself in the place of F_B: `size=None, constant=0` is that. By default features are divided by the
    length κ, and there is a constant feature, whose weight is in the penalty ‖w‖² / 2 like every other.

    Attributes
    ----------
    weights_, objective_, rounds_, run_objectives_, converged_
    classes_ : array, or list
        The two labels of y, the negative one first.
    constant_weight_ : float
        The weight of the constant feature.
    trace_ : tuple of Step
        Steps of the last convex problem.
    """

    approximate: Annotated[
        bool,
        "Whether each round fixes the structures of bad inputs too (Algorithm 12), which is an ordinary SVM; the "
        "objective may rise then.",
    ] = False

    saved = (*LATENT, "constant_weight_", "classes_", "calibrated_")

    def _learn(self, X: Any, known: list[Companion], prepared: Prepared, counts: Floats) -> None:
        good, bad = (self._demands(X, known, prepared, counts, kind) for kind in (GOOD, BAD))
        size, first = int(prepared.scorer.size) + 1, start_weights(self.initial, prepared, X, known)

        def problem(seed: int) -> LatentProblem:
            ties = seed if self.random_ties else None
            accept = partial(Accepted.best, good.batch, good.cost, good.size, self.constant, ties)
            return LatentProblem((bad,), (accept,), self.loss, margins_stay=True)

        def begin(seed: int) -> Floats:
            if first is not None:
                return np.append(first, 0.0)
            outputs = self._given([x for x, one in zip(X, known, strict=True) if one is GOOD], prepared.classes)
            accepted = Accepted(good.batch, good.cost, good.size, self.constant, outputs)
            return solve(self, [bad, accepted], size, seed).weights

        rounds = latent_margins.repeat if self.approximate else latent_margins.minimize
        runs = all_runs(self, problem, begin, rounds)
        adopt_lowest(self, prepared, runs)


@declared
class TwoStage(StructureClassifier):
    """Two stages, for comparison with `LCLR`: structures by `initial`, and a linear SVM that classifies them.

        minimise  ‖w‖² / 2 + C Σ_i ℓ(1 - z_i w·F_B(x_i, h_i)),   h_i the best structure of x_i under `initial`

    (*Alignment + Learning* in section 5.4 of Chang 2011.) Structures are those of `initial` in prediction too.

    Attributes
    ----------
    converged_, trace_
    classes_ : array, or list
        The two labels of y, the negative one first.
    coef_ : array
        The weights of the classifier; `weights_` are those of `initial`.
    constant_weight_ : float
        The weight of the constant feature.
    """

    tolerance: Annotated[float, "The duality gap to stop at, as a share of the objective.", Bounds(0, above=True)] = (
        0.002
    )

    saved = ("converged_", "trace_", "coef_", "constant_weight_", "classes_", "calibrated_")

    def _learn(self, X: Any, known: list[Companion], prepared: Prepared, counts: Floats) -> None:
        if self.initial is None:
            raise DataError(
                "TwoStage needs `initial`, which says the structures: weights by the names of features, ..."
            )
        first = start_weights(self.initial, prepared, X, known)
        demands = []
        for kind, sign in ((BAD, -1.0), (GOOD, 1.0)):
            one = self._demands(X, known, prepared, counts, kind)
            some = [x for x, label in zip(X, known, strict=True) if label is kind]
            outputs = self._given(some, prepared.classes) if first is None else one.batch.best(first).outputs
            demands.append(Accepted(one.batch, one.cost, one.size, self.constant, outputs, sign))
        solution = solve(self, demands, int(prepared.scorer.size) + 1, self.seed())
        self._adopt(prepared.model(np.zeros(prepared.scorer.size) if first is None else first))
        self.coef_, self.constant_weight_ = solution.weights[:-1].copy(), float(solution.weights[-1])
        self.trace_, self.converged_ = solution.steps, solution.converged
        warn_unconverged("TwoStage", solution, "raise max_iterations, or lower C")

    def _structures(self, X: Any, encoded: Any) -> Outputs:
        """The structures of inputs; encoded: the same inputs."""
        if callable(self.initial):
            return self._given(X, self.model_.classes)
        decoder = self.decoder_
        return decoder.best(X, decoder.shift(X, self.model_.scores(encoded, self.n_jobs)), 1).best().outputs

    def decision_function(self, X: Any) -> Floats:
        """w·F_B(x, h) of each input and its structure: above zero, it looks GOOD."""
        require_fitted(self)
        encoded = self.model_.encode(X)
        outputs = self._structures(X, encoded)
        values: Floats = self.structure_.score(self.scorer_.scores(encoded, self.coef_, self.n_jobs), outputs.values)
        return decisions(self, X, values, outputs)

    def predict_structure(self, X: Any) -> list[Any]:
        """The structure of each input by `initial`."""
        require_fitted(self)
        encoded = self.model_.encode(X)
        scores = self.model_.scores(encoded, self.n_jobs)
        return self.task_.decode(self._structures(X, encoded).values, scores, self.model_.classes)

    def explain(self, x: Any, position: int = 0, *, top: int = 10) -> Any:
        """What speaks for a link or label in the structure, by the weights of `initial`."""
        if callable(self.initial):
            raise NotSupported("structures come from the function `initial`, which gives no reasons")
        return super().explain(x, position, top=top)

    def top_weights(self, count: int = 20, label: str | None = None) -> list[tuple[str, str, float]]:
        """The weights of the classifier of largest size: (feature, label, weight)."""
        shown = copy(self)
        shown.model_ = replace(self.model_, weights=self.coef_)
        return super(TwoStage, shown).top_weights(count, label)


def _taken(X: Any, known: list[Companion], which: Any) -> tuple[Any, list[Companion]]:
    """Some of the inputs, and what is known of them."""
    some = X[which] if hasattr(X, "shape") else [X[i] for i in which]
    return some, [known[i] for i in which]
