"""A guard on learners from rules and unlabelled sequences: a warning where the supervised base alone does better.

After `fit`, a learner and its base are tried on the labelled sequences (`trials`), a few folds with few of the
unlabelled ones, and each rule is tried alone (`rule_costs`).
"""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import islice
from math import isnan
from typing import Any, TypeVar, cast

from ...errors import SidelightError, WorseThanBase, warn
from ...features.encoded import sequence_lengths
from ...inference.norms import Slack
from ...records import recorded
from ...rules.automata import about_the_corpus
from ...rules.language import Reading, Rule
from ...running.stopping import GivenUp, given_up_here, heeded, when_asked
from ...supervision import BAD, Signal, all_kinds, kind_of
from .rule_costs import RuleCost, rule_costs
from .trials import Difference, Fold, Metric, Trial, compare, each_fold, folds, sample

# Folds; with more labelled sequences than _MANY the first alone will do. With fewer than _LEAST there is no comparison.
_FOLDS, _MANY, _LEAST = 3, 100, 3
# Unlabelled sequences of a trial, and those whose labels are looked at, at most.
_UNLABELLED, _LOOKED_AT = 60, 300
# Worse by more than this (half a point), and by more than one standard error, is worth a warning.
_MARGIN, _ERRORS = 0.005, 1.0
# Rules that a warning names.
_NAMED = 5
_INTERRUPTED = "training was interrupted"

F = TypeVar("F", bound=Callable[..., Any])


@recorded
class Guard:
    """How a learner compares with its supervised base on labelled sequences held out.

    metric, base: what was measured, and the base learner's name; score, base_score: of both, and `error` the standard
    error of their difference over `sequences` sequences, all None where there was no trial; given, known: how many
    labels unlabelled sequences get, of how many that labelled ones have (0 where none were looked at); rules: costs of
    the single rules, worst first and unknown ones last; seconds: what the comparison took; failure: why there is none.
    """

    metric: str
    base: str
    score: float | None = None
    base_score: float | None = None
    error: float | None = None
    sequences: int = 0
    given: int = 0
    known: int = 0
    rules: tuple[RuleCost, ...] = ()
    seconds: float = 0.0
    failure: str | None = None

    @property
    def difference(self) -> Difference | None:
        """The learner's score less that of its base."""
        if self.score is None or self.base_score is None or self.error is None:
            return None
        return Difference(self.score - self.base_score, self.error, self.sequences)

    @property
    def worse(self) -> bool:
        """Whether the learner is worse than its base by more than half a point and more than a standard error."""
        return self.difference is not None and (-self.difference).beyond(_ERRORS, _MARGIN)

    @property
    def collapsed(self) -> bool:
        """Whether most labels are gone."""
        return self.given < min(self.known, max(2, self.known / 2))

    @property
    def costly(self) -> list[RuleCost]:
        """The rules that cost the base something, or whose cost is not known."""
        return [cost for cost in self.rules if not cost.gain >= 0]

    @property
    def compared_with(self) -> str:
        """What the learner was compared with, in words."""
        return self.base if " " in self.base else f"{self.base} alone"

    def __str__(self) -> str:
        if self.failure is not None:
            return f"not compared with {self.compared_with}: {self.failure}"
        if self.score is None or self.base_score is None or self.difference is None:
            return f"not compared with {self.compared_with}: too few labelled sequences"
        return (
            f"{self.metric} {100 * self.score:.1f} %, {self.compared_with} {100 * self.base_score:.1f} % "
            f"({100 * self.difference.mean:+.1f} ± {100 * self.difference.error:.1f} points, "
            f"{self.sequences} labelled sequences held out)"
        )


def guarded(fit: F) -> F:
    """Decorator of `fit`: afterwards, if `guard` is set, the comparison is in `guard_`; None where there is nothing to
    compare. A model that `fit` was given to begin with may know the labels held out, so there is no comparison then.
    """

    @wraps(fit)
    def fit_and_compare(self: Any, X: Any, y: Any, **more: Any) -> Any:
        fit(self, X, y, **more)
        self.guard_ = None
        if self.guard:
            self.guard_ = _look(self, X, y, tried=more.get("initial") is None)
            message = None if self.guard_ is None else _warning(self, self.guard_)
            if message:
                warn(message, WorseThanBase)
        return self

    return cast(F, fit_and_compare)


def supervised(learner: Any) -> Any:
    """The learner that a guarded one begins with: its base, or that which it names itself."""
    return learner.supervised() if learner.base is None else learner.base


def _look(learner: Any, X: Any, y: Any, *, tried: bool) -> Guard | None:
    if learner.task_.noun != "sequence":  # trials are of sequences
        return None
    begin, start = time.perf_counter(), supervised(learner)
    metric, rules = Metric.choose(y), list(learner.rules or ())
    kinds = all_kinds(y)
    labelled, others = kinds.count(Signal.FULL), len(kinds) - kinds.count(Signal.FULL)
    if not labelled or not (rules or others or learner.dictionary is not None):
        return None
    values: dict[str, Any] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # fit gave those of the model that is kept
            values["given"], values["known"] = _labels(learner, X, y)
            if heeded():
                values["failure"] = _INTERRUPTED
            elif tried and labelled >= _LEAST:
                with when_asked("give up"):
                    values |= _trial(learner, start, rules, X, y, metric)
    except GivenUp:
        if not given_up_here():
            raise
        values["failure"] = _INTERRUPTED
    except SidelightError as error:
        values["failure"] = f"{type(error).__name__}: {error}"
    return Guard(
        metric.name, learner.compared_with or type(start).__name__, **values, seconds=time.perf_counter() - begin
    )


def _labels(learner: Any, X: Any, y: Any) -> tuple[int, int]:
    """How many labels the model gives unlabelled sequences, of those that about as many labelled tokens have."""
    others = (i for i, kind in enumerate(all_kinds(y)) if kind is not Signal.FULL and y[i] is not BAD)
    rest = list(islice(others, _LOOKED_AT))
    if not rest:
        return 0, 0
    tokens, labels = sum(sequence_lengths([X[i] for i in rest])), set[str]()
    for one in y:
        if kind_of(one) is Signal.FULL:
            tokens -= len(one)
            if tokens < 0:
                break
            labels |= set(one)
    given = {label for output in learner.predict([X[i] for i in rest]) for label in output}
    return len(labels & given), len(labels)


def _trial(learner: Any, start: Any, rules: Sequence[Any], X: Any, y: Any, metric: Metric) -> dict[str, Any]:
    """Both learners, and the rules, on held-out sequences."""
    kept = sample(y, _UNLABELLED)
    some, known = [X[i] for i in kept], [y[i] for i in kept]
    parts = folds(known, _FOLDS)
    if sum(map(len, parts)) > _MANY:
        parts = parts[:1]
    mine = list(each_fold(learner, some, known, parts, metric, learner.labels_))
    if learner.keeps_base:  # the supervised model is inside
        bases = [_inside(fold, some, known, metric) for fold in mine]
    else:
        bases = list(each_fold(start, some, known, parts, metric, learner.labels_))
    found, alone = Trial.of(mine), Trial.of(bases)
    difference = compare(found, alone)
    costs = rule_costs(
        _as_used(learner, rules), some, known, bases, metric, reading=_reading(learner), slack=_slack(learner),
        shares=_added_shares(learner, rules),
    )  # fmt: skip
    return {
        "score": found.score,
        "base_score": alone.score,
        "error": difference.error,
        "sequences": difference.sequences,
        "rules": tuple(sorted(costs, key=lambda cost: float("inf") if isnan(cost.gain) else cost.gain)),
    }


def _inside(fold: Fold, X: Sequence[Any], y: Sequence[Any], metric: Metric) -> Fold:
    """The same fold for the supervised model inside a fitted learner."""
    predicted = fold.model.base_.predict([X[i] for i in fold.sequences])
    return Fold(fold.sequences, metric.counts([y[i] for i in fold.sequences], predicted), 0.0, fold.model.base_)


def _as_used(learner: Any, rules: Sequence[Rule]) -> list[Rule]:
    """Rules about the corpus with the penalties that the learner gave them; the others are tried by decoding."""
    used = learner.rules_used_
    return [mine if about_the_corpus(rule) else rule for rule, mine in zip(rules, used, strict=False)]


def _added_shares(learner: Any, rules: Sequence[Rule]) -> list[Rule]:
    """The label shares that the learner added to its rules."""
    return list(learner.rules_used_[len(rules) :])


def _reading(learner: Any) -> Reading:
    """How rules without a reading are tried: as the learner uses them, and as soft ones if that is by expectations."""
    used = zip(learner.rules or (), learner.rule_readings(), strict=False)
    return Reading("hard" if any(one.kind == "hard" for rule, one in used if rule.reading is None) else "soft")


def _slack(learner: Any) -> Slack | None:
    slack: Slack | None = learner.slack() if hasattr(learner, "slack") else None
    return slack


def _warning(learner: Any, guard: Guard) -> str | None:
    """What there is to warn of, if anything."""
    name, costs, parts = type(learner).__name__, guard.costly[:_NAMED], list[str]()
    if guard.collapsed:
        parts.append(
            f"the unlabelled sequences get {guard.given} of the {guard.known} labels that labelled ones have: a label "
            "everywhere is sure, and keeps to many rules. Add rules about the shares of labels, or let unlabelled "
            "sequences count less"
        )
    if guard.worse:
        parts.append(f"{name} does worse than {guard.compared_with} where labels are held out: {guard}")
    if guard.worse and costs:
        parts.append(f"Under one rule alone, {guard.base} changes by: {'; '.join(map(str, costs))}")
    if guard.worse:
        dear = any((-cost.difference).beyond(_ERRORS, _MARGIN) for cost in costs)
        less = "let good and bad inputs count less (C2)" if hasattr(learner, "C2") else ""
        other = "leave out rules that cost" if dear else less or "let unlabelled sequences count less"
        parts.append(f"Use {guard.compared_with}, or {other}; guard=False skips this comparison")
    return ". ".join(parts) or None
