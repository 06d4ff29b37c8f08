"""Rules as statements about expectations, with what labelled sequences say about them: penalties, and label shares.

A user's rule says nothing of how far it can be trusted, and rules about form ("each field once") are kept by outputs
with one label everywhere. So learners that read rules as statements about expectations weigh each rule by how often
labelled sequences break it, as those that decode under rules do, and add what labelled sequences say about label
shares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, Literal

import numpy as np

from ...errors import DataError, NotSupported
from ...features.encoded import Encoded
from ...inference.compiled import CompiledRules, WeighedRules, trusted_penalties
from ...inference.constrained import Constrained, best_outputs
from ...kernels.compiling import Floats, Ints
from ...labels import encode_labels
from ...rules.automata import about_the_corpus
from ...rules.comparisons import Comparison
from ...rules.few_labels import FewLabels
from ...rules.files import parse_rule, saved_text
from ...rules.labels import Each
from ...rules.language import Rule
from ...rules.rows import require_expected
from ...rules.shares import share
from ...structures.chain import Chain, ChainParts
from ..choosing.guard import Guard
from ..learner import Learner, require_number
from ..tasks.task import Task
from .ccm import warn_unproved

# How outputs are read off: the best under the rules, by the projection onto them, or by the model alone.
Decode = Literal["rules", "projected", "model"]
Penalty = float | Literal["learned"] | None
# Standard errors that a label's share may be away from that of the labelled sequences.
_ERRORS = 2.0
# Tokens that are added to the counts of each label, since those that few sequences lack exist.
_MORE = 0.5
# Bounds of shares are rounded outwards to such parts, so that none contradicts the labels that it comes from.
_DIGITS = 10_000
# The least penalty, of a rule that labelled sequences break nearly always: it has no say, but is among those used.
_LEAST = 0.01


def label_shares(y: Sequence[Sequence[str]], classes: Sequence[str] | None = None) -> list[Comparison]:
    """Bounds on the share of each label in a corpus, by labelled sequences of it.

    y: full labels of at least two sequences; classes: all labels, where y may lack some. The bounds are two standard
    errors around the share in y: sequences differ, and the fewer there are, the wider the bounds. Those of labels that
    y lacks are narrow, as if tokens were independent; learners did better with these than with wide ones. Bounds that
    would say nothing, below 0 or above 1, are left out.
    """
    if len(y) < 2:
        raise DataError(f"the shares of labels are estimated from at least two labelled sequences, got {len(y)}")
    lengths = np.array([len(labels) for labels in y], float)
    names = sorted({label for labels in y for label in labels}) if classes is None else list(classes)
    out: list[Comparison] = []
    for name in names:
        counts = np.array([list(labels).count(name) for labels in y], float)
        found = (counts.sum() + _MORE) / (lengths.sum() + _MORE * len(names))
        # The error of a ratio of sums over sequences; one more sequence of independent tokens keeps it above zero.
        spread = float(((counts - found * lengths) ** 2).sum()) + found * (1 - found) * float(lengths.mean())
        error = np.sqrt(spread / (len(y) - 1) / len(y)) / float(lengths.mean())
        low, high = float(found - _ERRORS * error), float(found + _ERRORS * error)
        low, high = floor(low * _DIGITS) / _DIGITS, ceil(high * _DIGITS) / _DIGITS
        out += [share(name) >= low] if low > 0 else []
        out += [share(name) <= high] if high < 1 else []
    return out


@dataclass(frozen=True)
class Readings:
    """Rules as a learner of expectations uses them.

    used: the rules with their penalties, and the label shares that were added; decoded: the rules that decoding keeps
    to, those about single outputs; penalties: (decoded,) for each unit of violation.
    """

    used: tuple[Rule, ...]
    decoded: tuple[Rule, ...]
    penalties: Floats

    @classmethod
    def of(
        cls,
        rules: Sequence[Rule],
        X: Sequence[Any],
        y: Sequence[Any],
        classes: Sequence[str],
        *,
        penalty: Penalty,
        shares: bool,
        decoding: bool,
        hard: bool = False,
    ) -> "Readings":
        """Rules with what fully labelled sequences X, y say about them.

        penalty: of the rules without their own; shares: whether to add those of labels, unless penalty is None, so that
        they would have to hold without slack; decoding: whether outputs will be decoded under the rules; hard: whether
        rules without a reading of their own are hard there.
        """
        local = [k for k, rule in enumerate(rules) if decoding and not about_the_corpus(rule)]
        learned = _learned(rules, X, y, classes) if penalty == "learned" or decoding else [1.0] * len(rules)
        weighed = [_weighed(rule, p) if penalty == "learned" else rule for rule, p in zip(rules, learned, strict=True)]
        factor = penalty if isinstance(penalty, int | float) else 1.0
        costs = [
            np.inf if (hard if rule.reading is None else rule.reading.kind == "hard")
            else factor * rule.reading.penalty if rule.reading is not None and rule.reading.penalty is not None
            else learned[k] if not isinstance(penalty, int | float) else factor
            for k, rule in enumerate(rules)
        ]  # fmt: skip
        added = _added_shares(rules, y, classes) if shares and penalty is not None else []
        more = [_weighed(rule, _trust()) for rule in added] if penalty == "learned" else added
        return cls((*weighed, *more), tuple(rules[k] for k in local), np.array([costs[k] for k in local], float))

    def state(self) -> tuple[list[str], Floats]:
        """The rules as text, and the penalties, for a model file."""
        return [saved_text(rule) for rule in self.used], self.penalties

    @classmethod
    def restored(cls, rules: Sequence[Rule], used: Sequence[str], penalties: Floats) -> "Readings":
        """Take back what `state` gave, for these rules."""
        decoded = tuple(rule for rule in rules if not about_the_corpus(rule)) if len(penalties) else ()
        return cls(tuple(map(parse_rule, used)), decoded, penalties)

    def best(self, structure: Any, scores: Any, X: Any, classes: Sequence[str], k: int = 1) -> Constrained:
        """The k best outputs under the rules that decoding can keep to."""
        return best_outputs(structure, scores, self.weigh(X, classes), k=k)

    def weigh(self, X: Any, classes: Sequence[str]) -> WeighedRules:
        """The rules that decoding can keep to, compiled for X."""
        if isinstance(X, Encoded):
            raise NotSupported("rules read tokens, not encoded input; give the sequences, or set decode='model'")
        return CompiledRules.compile(self.decoded, X, classes).weigh(self.penalties)


class ExpectationLearner(Learner[ChainParts]):
    """Base of the learners that read rules as statements about expectations, and decode under them."""

    base: Any
    rules: Sequence[Rule]
    penalty: Penalty
    label_shares: bool
    unlabeled_weight: float | None
    decode: Any
    classes: Sequence[str] | None
    guard: bool
    verbose: bool
    base_: Any
    rules_used_: tuple[Rule, ...]
    guard_: Guard | None
    readings_: Readings

    @property
    def _task(self) -> Task:
        task: Task = self.base._task
        return task

    @property
    def _structure(self) -> Chain:
        """Label chains; documents are sequences of one token."""
        return Chain(self.n_jobs)

    def _for_rules(self, X: Any) -> Any:
        """X as rules read it; what is encoded already stays so, and is refused where rules are needed."""
        return X if isinstance(X, Encoded) else self._task.for_rules(X)

    def _check_readings(self, decodings: tuple[str, ...]) -> None:
        """Check the parameters that all of them have."""
        if not self._task.chained:
            raise NotSupported(
                f"{type(self).__name__} works out expectations on label chains, and {type(self.base).__name__} has "
                "others; use CRF or HMM for labels, or CCM or Codl with hard or soft rules"
            )
        if isinstance(self.penalty, str) and self.penalty != "learned":
            raise DataError(f"the penalty is a number, None or 'learned', got {self.penalty!r}")
        if self.unlabeled_weight is not None:
            require_number(self, "unlabeled_weight", 0)
        if self.decode not in decodings:
            raise DataError(f"decode is one of {', '.join(decodings)}, got {self.decode!r}")

    def _read(self, X: Sequence[Any], y: Sequence[Any], classes: list[str]) -> Readings:
        """The rules with what fully labelled sequences say about them."""
        rules = list(self.rules or ())
        for rule in rules:
            require_expected(rule)
        return Readings.of(
            rules, X, y, classes, penalty=self.penalty, shares=self._adds_shares(), decoding=self.decode == "rules"
        )

    def _adds_shares(self) -> bool:
        """Whether label shares are added to the rules."""
        return self.label_shares

    def _adopt_readings(self, readings: Readings) -> None:
        self.readings_, self.rules_used_ = readings, readings.used

    def _decode(self, X: Any, scores: ChainParts, k: int) -> tuple[Ints, Floats]:
        """Under the rules, if `decode` says so; their penalties are part of the scores then."""
        if self.decode != "rules" or not len(X) or not self.readings_.decoded:
            return super()._decode(X, scores, k)
        found = warn_unproved(self.readings_.best(self._structure, scores, self._for_rules(X), self.classes_, k))
        return found.outputs.values, found.scores


def _trust() -> float:
    """The penalty of a rule that nothing is known about."""
    return float(trusted_penalties(np.zeros(1), np.zeros(1))[0])


def _learned(rules: Sequence[Rule], X: Sequence[Any], y: Sequence[Any], classes: Sequence[str]) -> list[float]:
    """The penalty of every rule by counting; of rules about the corpus, what any rule is trusted with."""
    out = [_trust()] * len(rules)
    local = [k for k, rule in enumerate(rules) if not about_the_corpus(rule)]
    if local and len(X):
        codes = encode_labels(y, [len(x) for x in X], classes).labels
        found = CompiledRules.compile([rules[k] for k in local], X, classes).learn(codes)
        for k, penalty in zip(local, found.tolist(), strict=True):
            out[k] = penalty
    return out


def _weighed(rule: Rule, penalty: float) -> Rule:
    """The rule with this penalty, unless it has its own or is of a kind without any."""
    own = rule.reading is not None and (rule.reading.penalty is not None or rule.reading.kind != "expected")
    return rule if own or isinstance(rule, FewLabels) else rule.expected(max(penalty, _LEAST))


def _added_shares(rules: Sequence[Rule], y: Sequence[Any], classes: Sequence[str]) -> list[Comparison]:
    """Label shares by the labelled sequences, beside rules and where no rule gives the share of the label already."""
    if len(y) < 2 or not rules or any(isinstance(rule, FewLabels) for rule in rules):
        return []
    given = {
        rule.count.terms[0].to
        for rule in rules
        if isinstance(rule, Comparison) and rule.share and rule.count.terms[0].where is None
    }
    if any(isinstance(to.names, Each) and not to.names.labels for to in given):
        return []
    return [rule for rule in label_shares(y, classes) if rule.count.terms[0].to not in given]
