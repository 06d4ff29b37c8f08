"""Trials of candidates one after the other, within a time, and the choice among them.

A candidate c has the advantage D_c over the supervised base b on the sequences held out, with the standard error e_c of
the paired difference; the one with the largest D_c - e_c is chosen, b itself having 0. The base is found in the same
way: it is the supervised learner that is usual for labels of this kind (`Knowledge.usual`), unless another is better
by more than its standard error. Few labelled sequences tell little about which learner is best, and what is known of
other tasks tells something. Who writes a hard rule wants outputs that keep to it: where there are hard rules, c is
chosen among those that keep to all of them, but for those with D_c + e_c < 0; only if none is left, among all others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isnan
from typing import Any

from ...errors import DataError, SidelightError, numbers_of
from ...progress import AddRow
from ...records import recorded
from ...rules.language import Rule
from ...running import stopping
from ...running.checkpoints import Clock, close
from ..labelled.semicrf import SemiCRF
from ..margins.structural_svm import StructuralSVM
from ..wrappers.ccm import CCM
from .candidates import Candidate, Knowledge, too_slow
from .rule_costs import RuleCost, how_often_broken, rule_costs
from .trials import Fold, Metric, Trial, compare, each_fold, fit_usable, folds, sample

# With more labelled sequences than these, this many parts are held out in turn.
_PARTS = ((300, 1), (100, 3))
# A candidate this much and this many standard errors below the best after some parts is not tried on the others.
_HOPELESS, _HOPELESS_ERRORS, _HOPELESS_SEQUENCES = 0.05, 2.5, 4
# This many standard errors are taken off the advantage of a candidate. With half of one, rules that do harm were
# chosen now and then, and on average it was no better.
_DOUBT = 1.0
# A rule clearly costs if the base loses this much, and this many standard errors, by it alone.
_COST, _COST_ERRORS = 0.01, 1.5
_WITHOUT = "without rules that cost"
_STOPPED = "stopped after"


@recorded
class Result:
    """What became of one candidate.

    score: on the labelled sequences held out, whose number is `sequences`; difference, error: its score less that of
    the best supervised learner on the same sequences, and the standard error; None where it was not tried. outcome: why
    it was not tried on all parts, or could not be fitted in the end, else ""; note: what it does without.
    """

    candidate: str
    supervised: bool
    chosen: bool = False
    score: float | None = None
    difference: float | None = None
    error: float | None = None
    sequences: int = 0
    seconds: float = 0.0
    outcome: str = ""
    note: str = ""

    @property
    def points(self) -> str:
        """The difference, as it is shown."""
        if self.difference is None or self.error is None or not self.sequences:
            return ""
        doubt = "" if isnan(self.error) else f" ± {100 * self.error:.1f}"  # one sequence alone has no standard error
        return f"{100 * self.difference:+.1f}{doubt}"

    @property
    def cells(self) -> list[str]:
        """As it is shown: candidate, score, difference, seconds, remarks."""
        score = "" if self.score is None else f"{100 * self.score:.1f} %"
        if score and self.outcome.startswith(_STOPPED):  # of other sequences than the scores above and below
            score = f"({score})"
        time = f"{self.seconds:.1f} s" if self.sequences else ""
        remarks = "; ".join(filter(None, (self.outcome, self.note)))
        return [self.candidate, score, "" if self.supervised else self.points, time, remarks]


@dataclass
class Tried:
    """A candidate and its folds; outcome: why there are not all of them, or why it could not be fitted in the end."""

    candidate: Candidate
    folds: list[Fold] = field(default_factory=list)
    outcome: str = ""

    @property
    def trial(self) -> Trial:
        """All folds together."""
        return Trial.of(self.folds)

    @property
    def complete(self) -> bool:
        """Whether it was tried on all parts."""
        return bool(self.folds) and not self.outcome

    def result(self, base: "Tried | None" = None) -> Result:
        """What is reported of it."""
        bare = Result(
            self.candidate.name, self.candidate.supervised, outcome=self.outcome, note=self.candidate.remark
        )  # fmt: skip
        if not self.folds:
            return bare
        trial = self.trial
        measured = replace(bare, score=trial.score, sequences=len(trial.sequences), seconds=trial.seconds)
        if base is None:
            return measured
        found = compare(trial, base.trial)
        return replace(measured, difference=found.mean, error=found.error)


class Race:
    """Trials of all candidates, as many as the time allows; `show` is called with each result."""

    def __init__(
        self,
        known: Knowledge,
        *,
        parts: int,
        budget: float,
        most: int,
        seed: int,
        show: AddRow,
    ) -> None:
        self.known, self.budget, self.show = known, budget, show
        self.metric = Metric.choose(known.y)
        self.places = sample(known.y, most, seed)  # of the sequences that take part, among all
        self.X, self.y = [known.X[i] for i in self.places], [known.y[i] for i in self.places]
        all_parts = folds(self.y, parts, seed)
        labelled = sum(map(len, all_parts))
        self.parts = all_parts[: next((few for many, few in _PARTS if labelled > many), len(all_parts))]
        self.tried: list[Tried] = []
        self.broken: list[Rule] = []
        self.hard: set[Rule] = set()
        self.costs: list[RuleCost] = []
        self.base: Tried | None = None
        self._clock = Clock()
        self.interrupted = False

    @property
    def left(self) -> float:
        """Seconds left."""
        return self.budget - self._clock.seconds()

    def run(self) -> None:
        """Try the supervised learners, then the rules alone, then all others.

        If that is interrupted, the trial under way is the last, unless nothing was tried yet.
        """
        with stopping.when_asked("go on"):
            self._run()

    def _run(self) -> None:
        self.broken = _mostly_broken(self.known)
        kept = tuple(rule for rule in self.known.rules if rule not in self.broken)
        candidates = [
            replace(one, left_out=(*self.broken, *one.left_out)) if one.rules else one
            for one in replace(self.known, rules=kept).candidates()
        ]
        for candidate in candidates:
            if candidate.supervised:
                self._try(candidate)
        done = [tried for tried in self.tried if tried.complete]
        if not done:
            reasons = "; ".join(f"{tried.candidate.name} {tried.outcome}" for tried in self.tried)
            raise DataError(f"no supervised learner could be tried: {reasons}")
        by_name = {tried.candidate.name: tried for tried in done}
        usual = by_name.get(self.known.usual) or by_name.get("CRF") or done[0]
        self.base = max(done, key=lambda tried: (_merit(tried, usual), tried is usual))
        readable = {rule for candidate in candidates for rule in candidate.rules}
        self.hard = set(filter(_is_hard, readable))
        others = [candidate for candidate in candidates if not candidate.supervised]
        # Those that learn nothing from rules are quick, and show whether the others should go without those that cost.
        quick = [candidate for candidate in others if isinstance(candidate.learner, CCM)]
        losers = [] if self._interrupted else self._losers(done)
        for candidate in quick:
            without = candidate.without(losers, _WITHOUT)
            if without is not None:
                self._try(without)
            self._try(candidate)
        best = self.ranked[0].candidate
        gone = [rule for rule in losers if rule not in best.rules]
        for candidate in others:
            if candidate not in quick:
                self._try(candidate.without(gone, _WITHOUT) or candidate)

    @property
    def ranked(self) -> list[Tried]:
        """All that were tried on all parts, best first; of equals the base, then what is around it, then the first."""
        assert self.base is not None
        base, usual = self.base, type(self.base.candidate.learner)

        def rank(tried: Tried) -> tuple[bool, float, bool, bool]:
            around = type(tried.candidate.learner.base) is usual
            return self._obeys(tried, base), _merit(tried, base), tried is base, around

        return sorted((tried for tried in self.tried if tried.complete), key=rank, reverse=True)

    def _obeys(self, tried: Tried, base: Tried) -> bool:
        """Whether it keeps to all hard rules, and is not clearly worse than the base; True where there are none."""
        return not self.hard or (self.hard <= set(tried.candidate.rules) and _advantage(tried, base)[1] >= 0.0)

    def _try(self, candidate: Candidate) -> None:
        tried = Tried(candidate)
        slow = too_slow(replace(self.known, X=self.X, y=self.y), candidate, self.budget)
        if slow:
            tried.outcome = f"not tried: {slow}"
        elif self._interrupted and any(one.complete for one in self.tried):
            tried.outcome = "not tried: interrupted"
        elif not candidate.supervised and self.left <= 0:
            tried.outcome = "not tried: the time was up"
        else:
            self._run_folds(tried)
        self.tried.append(tried)
        self.show(tried.result(self.base).cells, left=inf if tried.candidate.supervised else self.left)

    @property
    def _interrupted(self) -> bool:
        """Whether no more is to be tried; what comes after the trials is not part of what is resumed."""
        if stopping.heed():
            close()
            self.interrupted = True
        return self.interrupted

    def _run_folds(self, tried: Tried) -> None:
        try:
            for fold in self._folds(tried):
                tried.folds.append(fold)
                reason = None if tried.candidate.supervised else self._reason_to_stop(tried)
                if self._interrupted and any(one.complete for one in self.tried):
                    reason = "interrupted"
                if reason:
                    tried.outcome = f"{_STOPPED} {len(tried.folds)} of {len(self.parts)} parts: {reason}"
                    return
        except SidelightError as error:
            if tried.candidate.supervised and isinstance(error, DataError):
                raise  # of the data or the features themselves
            tried.outcome = f"failed: {error}"

    def _folds(self, tried: Tried) -> Iterator[Fold]:
        """One fold after the other; errors name sequences by their numbers among all."""
        with numbers_of(self.places):
            yield from each_fold(tried.candidate.learner, self.X, self.y, self.parts, self.metric)

    def _reason_to_stop(self, tried: Tried) -> str | None:
        rest = len(self.parts) - len(tried.folds)
        if not rest or self.base is None:
            return None
        best = self.ranked[0]
        behind = -compare(tried.trial, best.trial)
        if behind.sequences >= _HOPELESS_SEQUENCES and behind.beyond(_HOPELESS_ERRORS, _HOPELESS):
            return f"far below {best.candidate.name}"
        if self.left <= 0:
            return "the time was up"
        # The first fold may have waited for a compiler.
        needed = rest * min(fold.seconds for fold in tried.folds) / (2 if len(tried.folds) == 1 else 1)
        if self.left <= needed:
            return f"{self.left:.0f} s were left, and the others would take {needed:.0f} s or more"
        return None

    def _losers(self, done: Sequence[Tried]) -> list[Rule]:
        """The rules that clearly cost the best supervised learner on a chain, which can be tried with any rule.

        Its scores are log-probabilities: beside those of a structural SVM penalties mean something else.
        """
        chains = [tried for tried in done if not isinstance(tried.candidate.learner, SemiCRF | StructuralSVM)]
        if not self.known.rules or not chains:
            return []
        best = max(chains, key=lambda tried: tried.trial.score)
        self.costs = rule_costs(self.known.rules, self.X, self.y, best.folds, self.metric)
        return [
            rule
            for rule, cost in zip(self.known.rules, self.costs, strict=True)
            if rule not in self.broken and (-cost.difference).beyond(_COST_ERRORS, _COST)
        ]

    def fit_best(self) -> tuple[Any, tuple[Result, ...], str]:
        """The chosen learner fitted to everything, all results, and why it was chosen.

        One that cannot be fitted to everything makes way for the next best, and its result says so.
        """
        assert self.base is not None
        ranked = self.ranked
        for tried in ranked:
            learner = tried.candidate.learner
            try:
                best = fit_usable(learner, self.known.X, self.known.y)
            except SidelightError as error:
                tried.outcome = f"could not be fitted to everything: {error}"
                continue
            results = [replace(one.result(self.base), chosen=one is tried) for one in self.tried]
            return best, tuple(results), self._why(tried)
        raise DataError(f"{ranked[0].candidate.name} and all others {ranked[0].outcome}")

    def _gone(self, chosen: Tried) -> str:
        """The rules that it goes without, for the sentence."""
        if self.known.rules and not chosen.candidate.rules:
            return "; it uses no rules"
        gone, unread = list[str](), list[str]()
        for rule in chosen.candidate.left_out:
            (gone if rule in self.broken else unread).append(repr(rule.title))
        left_out = f"; without {', '.join(gone)}, which the labelled sequences break at most places" if gone else ""
        return left_out + (
            f"; without {', '.join(unread)}, which it cannot use or does better without" if unread else ""
        )

    def _why(self, chosen: Tried) -> str:
        assert self.base is not None
        name, score = chosen.candidate.name, f"{100 * chosen.trial.score:.1f} % {self.metric.name}"
        held = f"{len(self.base.trial.sequences):,} labelled sequences held out"
        others = [tried for tried in self.tried if tried.complete and tried is not chosen]
        if not chosen.candidate.supervised:
            points = chosen.result(self.base).points
            why = f"{name} has {score} on {held}, {points} points against {self.base.candidate.name}, the base that "
            why += "learns from labels alone"
            which = "the other hard rules" if any(map(_is_hard, chosen.candidate.left_out)) else "the hard rules"
            obeys = f"; it keeps to {which}" if self.hard and self._obeys(chosen, self.base) else ""
            return f"{why}{obeys}{self._gone(chosen)}."
        why = f"{name} has {score} on {held}"
        if all(tried.candidate.supervised and tried.trial.score <= chosen.trial.score for tried in others):
            tied = any(tried.trial.score == chosen.trial.score for tried in others)
            most = "and no other that was tried has more" if tied else "the most of those that were tried"
            return f"{why}, {most}{self._gone(chosen)}."
        best = max(others, key=lambda tried: tried.trial.score)
        points = best.result(self.base).points
        better = f"no other is better by more than a standard error ({best.candidate.name}: {points} points)"
        return f"{why}, and {better}{self._gone(chosen)}."


def _is_hard(rule: Rule) -> bool:
    return rule.reading is not None and rule.reading.kind == "hard"


def _merit(tried: Tried, base: Tried) -> float:
    """The advantage over a base, with doubt; of the base itself 0."""
    return _advantage(tried, base)[0]


def _advantage(tried: Tried, base: Tried) -> tuple[float, float]:
    """The advantage over a base, less the doubt and with it; of the base itself 0."""
    if tried is base:
        return 0.0, 0.0
    found = compare(tried.trial, base.trial)
    doubt = 0.0 if isnan(found.error) else _DOUBT * found.error
    return found.mean - doubt, found.mean + doubt


def _mostly_broken(known: Knowledge) -> list[Rule]:
    """The rules that labelled sequences break at most places; they are given to no learner."""
    often = how_often_broken(known.rules, known.X, known.y)
    return [rule for rule, found in zip(known.rules, often, strict=True) if found is not None and found.mostly]
