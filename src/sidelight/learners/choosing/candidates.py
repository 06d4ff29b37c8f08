"""The learners that can use what is known, simple and quick ones first; `Auto` tries them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from ...dictionary import TagDictionary
from ...errors import DataError, NotSupported
from ...features.choose import input_kind
from ...inference.compiled import CompiledRules
from ...inference.rows import Rows
from ...labels import majority_label
from ...rules.automata import about_the_corpus
from ...rules.language import Rule
from ...supervision import BAD, LABELS, Signal, kind_of
from ..labelled.crf import CRF
from ..labelled.hmm import HMM
from ..labelled.semicrf import SemiCRF
from ..margins.jlis import JLIS
from ..margins.structural_svm import StructuralSVM
from ..wrappers.annealing import DeterministicAnnealing
from ..wrappers.ccm import CCM
from ..wrappers.codl import CoDL
from ..wrappers.em import EM
from ..wrappers.generalized import GeneralizedExpectation
from ..wrappers.posterior import PosteriorRegularization
from ..wrappers.self_training import SelfTraining
from .trials import prepared, usable

# How learners read rules: as hard or soft ones of outputs, as statements about expectations, or as hard ones only.
Way = Literal["decoded", "expected", "hard"]
# Tokens times squared labels times tokens of the longest segment: what a SemiCRF does of this in a second, or so.
_SEGMENT_WORK = 1e7
# Tokens that a structural SVM learns from in a second, or so.
_MARGIN_WORK = 1e4
# Tokens of a run of equal labels, on average, that make it a long one.
_LONG_RUNS = 2.5
# Seconds of a fit that are always there.
_ALWAYS = 1.0


@dataclass(frozen=True)
class Candidate:
    """An unfitted learner; supervised: it learns from labels alone; rules: those it is given, of which `left_out` are
    not, as it cannot read them; note: what else it does not use.
    """

    name: str
    learner: Any
    supervised: bool = False
    rules: tuple[Rule, ...] = ()
    left_out: tuple[Rule, ...] = ()
    note: str = ""

    @property
    def remark(self) -> str:
        """What it does without."""
        if not self.left_out:
            return self.note
        if not self.rules:
            return "; ".join(filter(None, ("without rules", self.note)))
        titles = ", ".join(rule.title for rule in self.left_out)
        count = f"{len(self.left_out)} rule{'s' if len(self.left_out) > 1 else ''}"
        return "; ".join(filter(None, (f"without {count}: {titles}", self.note)))

    def without(self, rules: Sequence[Rule], why: str) -> "Candidate | None":
        """The same learner without some of its rules; None if it has none of these, or none are left."""
        left = tuple(rule for rule in self.rules if rule not in rules)
        if len(left) == len(self.rules) or not left:
            return None
        gone = self.left_out + tuple(rule for rule in self.rules if rule in rules)
        learner = prepared(self.learner, ()).set_params(rules=list(left))
        return Candidate(f"{self.name}, {why}", learner, False, left, gone, self.note)


@dataclass(frozen=True)
class Knowledge:
    """All that is known; classes: all labels; features: templates, None for the default ones."""

    X: Sequence[Any]
    y: Sequence[Any]
    classes: list[str]
    rules: tuple[Rule, ...] = ()
    dictionary: TagDictionary | None = None
    features: Any = None
    n_jobs: int = -1
    kinds: frozenset[Signal] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", frozenset(map(kind_of, self.y)))

    @property
    def of_words(self) -> bool:
        """Whether tokens are words, or tuples of strings, and not features."""
        return input_kind(self.X) == "columns"

    @property
    def pool(self) -> bool:
        """Whether there are sequences without full labels that are not BAD."""
        return any(kind_of(one) is not Signal.FULL and one is not BAD for one in self.y)

    @property
    def segment_seconds(self) -> float:
        """What a SemiCRF would take to learn from all full labels, roughly."""
        return self._segment_seconds([one for one in self.y if kind_of(one) is Signal.FULL])

    @property
    def partial_segment_seconds(self) -> float:
        """The same of full and partial labels, where a token without a known label may be of any segment."""
        return self._segment_seconds([one for one in self.y if kind_of(one) in (Signal.FULL, Signal.PARTIAL)])

    def _segment_seconds(self, y: Sequence[Any]) -> float:
        longest = max((_longest_segment(one) for one in y), default=0)
        return sum(map(len, y)) * len(self.classes) ** 2 * longest / _SEGMENT_WORK

    @property
    def margin_seconds(self) -> float:
        """What a structural SVM would take to learn from all full labels, roughly."""
        return sum(len(one) for one in self.y if kind_of(one) is Signal.FULL) / _MARGIN_WORK

    @property
    def usual(self) -> str:
        """The supervised learner to take for labels like these, unless trials show that another one is better.

        Where one label has most tokens, that is a CRF: margins count every token alike, so they are mostly about that
        label, and segments are slow there for little. Elsewhere segments have much to tell if labels come in runs of
        several tokens, and if not, margins make more of few sequences than likelihood does.
        """
        full = [one for one in self.y if kind_of(one) is Signal.FULL]
        if majority_label(full) is not None:
            return "CRF"
        return "SemiCRF" if _in_long_runs(full) else "StructuralSVM"

    @property
    def usual_partial(self) -> str | None:
        """The same for labels of which some are known, full and partial ones; None where there are sets of labels only.

        A structural SVM cannot learn from partial labels, and one that can takes long: a CRF has its place.
        """
        some = [one for one in self.y if kind_of(one) in (Signal.FULL, Signal.PARTIAL)]
        known = [[label for label in one if isinstance(label, LABELS)] for one in some]
        if not any(known):
            return None
        return "SemiCRF" if majority_label(known) is None and _in_long_runs(some) else "CRF"

    @property
    def unlabelled_share(self) -> float:
        """Tokens without full labels, for each that has one."""
        full = sum(len(x) for x, one in zip(self.X, self.y, strict=True) if kind_of(one) is Signal.FULL)
        return sum(map(len, self.X)) / max(full, 1) - 1.0

    def candidates(self) -> Iterator[Candidate]:
        """All of them, the supervised ones first."""
        words, full = self.of_words, Signal.FULL in self.kinds
        some = full or Signal.PARTIAL in self.kinds
        bases: dict[str, Any] = {"HMM": HMM()} if words else {}
        bases |= {"CRF": CRF(self.features)} | ({"SemiCRF": SemiCRF(self.features)} if some else {})
        for name, base in bases.items():
            if full or (name != "HMM" and some):
                yield self._made(name, base, supervised=True)
        if full:  # CCM and CoDL around it are no better than around the others, and luck decides more often among many
            yield self._made("StructuralSVM", StructuralSVM(self.features), supervised=True)
        decoded, expected = self._readable("decoded"), self._readable("expected")
        if decoded:
            for name, base in bases.items():
                if full or (name == "CRF" and Signal.PARTIAL in self.kinds):
                    yield self._made(f"CCM({name})", CCM(base, decoded), decoded)
        if self.pool:
            yield from self._from_pool(bases, decoded, expected)
        if Signal.COMPANION in self.kinds:
            hard = self._readable("hard")
            learner = JLIS(self.features, rules=hard or None, dictionary=self.dictionary if words else None)
            yield self._made("JLIS", learner, hard)

    def _from_pool(self, bases: dict[str, Any], decoded: list[Rule], expected: list[Rule]) -> Iterator[Candidate]:
        """Learners from unlabelled sequences; EM and CoDL only where they make use of these."""
        hmm, crf, full = bases.get("HMM"), bases["CRF"], Signal.FULL in self.kinds
        partial, driven = Signal.PARTIAL in self.kinds, majority_label(self.y) is None
        if hmm is not None:
            if decoded and driven:
                yield self._made("CoDL(HMM)", CoDL(hmm, decoded), decoded)
            if driven or partial:
                yield self._made("EM(HMM)", EM(hmm))
            if expected:
                yield self._made("PosteriorRegularization(HMM)", PosteriorRegularization(hmm, expected), expected)
        if full and decoded and driven:
            yield self._made("CoDL(CRF)", CoDL(crf, decoded), decoded)
        if expected:
            yield self._made("PosteriorRegularization(CRF)", PosteriorRegularization(crf, expected), expected)
            yield self._made("DeterministicAnnealing(CRF)", DeterministicAnnealing(crf, expected), expected)
            yield self._made("GeneralizedExpectation(CRF)", GeneralizedExpectation(crf, expected), expected)
        if full and not self.rules:
            yield self._made("SelfTraining(CRF)", SelfTraining(crf))
        if full and not self.rules and driven:
            if hmm is not None:
                yield self._made("CoDL(HMM)", CoDL(hmm))
            yield self._made("CoDL(CRF)", CoDL(crf))
        if full and decoded and driven:
            yield self._made("CoDL(SemiCRF)", CoDL(bases["SemiCRF"], decoded), decoded)

    def _made(self, name: str, learner: Any, rules: Sequence[Rule] = (), *, supervised: bool = False) -> Candidate:
        learner = prepared(learner, self.classes)
        threads = {parameter: self.n_jobs for parameter in learner.get_params() if parameter.endswith("n_jobs")}
        learner.set_params(**threads)
        left = () if supervised else tuple(rule for rule in self.rules if rule not in rules)
        return Candidate(name, learner, supervised, tuple(rules), left, "" if supervised else self._unused(learner))

    def _unused(self, learner: Any) -> str:
        """How many sequences a learner can make nothing of, if any."""
        left = len(self.y) - len(usable(learner, self.X, self.y)[0])
        return f"without {left:,} sequences that have no full labels" if left else ""

    def _readable(self, way: Way) -> list[Rule]:
        """The rules that can be read in one way; an error about the rule itself is raised."""
        return [rule for rule in self.rules if self._reads(rule, way)]

    def _reads(self, rule: Rule, way: Way) -> bool:
        kind = None if rule.reading is None else rule.reading.kind
        if way == "hard":
            return kind == "hard" and not about_the_corpus(rule)
        try:
            if way == "decoded":
                if kind == "expected" or about_the_corpus(rule):
                    return False
                CompiledRules.compile([rule], self.X, self.classes)
            else:
                Rows.compile([rule], self.X, self.classes)
        except NotSupported:
            return False
        except DataError:
            if not about_the_corpus(rule):
                raise
        return True


def _in_long_runs(y: Sequence[Any]) -> bool:
    """Whether equal labels follow each other for several tokens, judged on neighbours whose labels are both known."""
    y = [one for one in y if len(one)]
    pairs = [(a, b) for one in y for a, b in pairwise(one) if isinstance(a, LABELS) and isinstance(b, LABELS)]
    tokens, changes = sum(map(len, y)), sum(a != b for a, b in pairs)
    runs = len(y) + (tokens - len(y)) * changes / len(pairs) if pairs else tokens
    return runs > 0 and tokens >= _LONG_RUNS * runs


def _longest_segment(known: Sequence[Any]) -> int:
    """The most neighbouring tokens of a sequence that may have the same label."""
    longest, begin, last, at = 0, 0, None, 0  # last: the label of the last token whose label is known, at: its position
    for t, label in enumerate(known):
        if isinstance(label, LABELS):
            if last is not None and label != last:
                begin = at + 1
            last, at = label, t
        longest = max(longest, t + 1 - begin)
    return longest


def fallback(known: Knowledge, budget: float) -> Candidate:
    """The candidate to take where too little is labelled to try any.

    An HMM makes the most of a sequence or two, but not where nearly all tokens have one label: all words are unknown.
    Where single labels of sequences are known, and no rules, that is the usual learner for these labels; a SemiCRF only
    if its fit takes a tenth of the budget at most, as in trials.
    """
    partial = Signal.PARTIAL in known.kinds
    base = "HMM" if majority_label(known.y) is None else "CRF"
    order = [f"CoDL({base})", f"PosteriorRegularization({base})", f"CCM({base})"] if known.rules else []
    if partial and known.rules:  # CoDL makes nothing of partial labels
        order.insert(0, f"PosteriorRegularization({base})")
    usual = known.usual_partial if partial else None
    if usual == "SemiCRF" and known.partial_segment_seconds > max(budget / 10, _ALWAYS):
        usual = "CRF"
    order += [usual or "EM(HMM)"] if partial else []
    if Signal.FULL in known.kinds:
        order += [base, "CRF"]
    else:
        order = (["JLIS"] if Signal.COMPANION in known.kinds else []) + order
        order += ["PosteriorRegularization(CRF)", "CRF"]
    found = {candidate.name: candidate for candidate in known.candidates()}
    for name in order:
        if name in found:
            return found[name]
    raise DataError("no label is known: give labelled sequences, partial labels, a dictionary, or rules and `classes`")


def too_slow(known: Knowledge, candidate: Candidate, budget: float) -> str | None:
    """Why a candidate should not even be tried with what is known in a trial, if so."""
    base, most = candidate.learner.base or candidate.learner, max(budget / 10, _ALWAYS)
    if isinstance(base, StructuralSVM) and known.margin_seconds > most:
        long = f"{known.margin_seconds:,.1f} s; the budget has {most:,.1f} s for it"
        return f"with as many tokens as these, a fit may take {long}, and a CRF does as well there"
    if not isinstance(base, SemiCRF):
        return None
    seconds = known.segment_seconds
    if isinstance(candidate.learner, CoDL):  # it learns from the unlabelled sequences, at most in every round
        seconds, most = seconds * candidate.learner.iterations * known.unlabelled_share, budget / 4
    if seconds > most:
        return f"with segments as long as these, a fit may take {seconds:,.1f} s; the budget has {most:,.1f} s for it"
    return None
