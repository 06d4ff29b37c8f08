"""Rules as statements about expectations, with what labelled sequences say about them: penalties, and label shares.

A user's rule says nothing of how far it can be trusted, and rules about form ("each field once") are kept by outputs
with one label everywhere. So learners that read rules as statements about expectations weigh each rule by the log-odds
with which labelled sequences keep to it, and add what labelled sequences say about label shares. `CCM` and `CoDL` have
1.5 times the log-odds: with false rules, that does harm to models that learned from rules (docs/defaults.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Annotated, Any, Literal

import numpy as np

from ..declared import Bounds
from ..errors import DataError
from ..kernels.compiling import Floats
from ..records import recorded
from ..rules.automata import about_the_corpus
from ..rules.comparisons import Comparison, share
from ..rules.few_labels import FewLabels
from ..rules.labels import Each
from ..rules.language import Reading, Rule
from ..stored import ArraySpec
from .compiled import rule_log_odds
from .rows import Rows, RowSet

# The penalty of rules without their own: a number, "learned" from labelled sequences, or None for no slack.
Penalty = Annotated[float, Bounds(0, above=True)] | Literal["learned"] | None
# Standard errors that a label's share may be away from that of the labelled sequences.
_ERRORS = 2.0
# Tokens that are added to the counts of each label, since those that few sequences lack exist.
_MORE = 0.5
# Bounds of shares are rounded outwards to such parts, so that none contradicts the labels that it comes from.
_DIGITS = 10_000
# The least penalty, of a rule that labelled sequences break nearly always: it has no say, but is among those used.
_LEAST = 0.01
# What a model file keeps.
_PENALTIES = ArraySpec(np.float64, ("decoded",), least=0, infinite=True)


@dataclass(frozen=True)
class RuleReading:
    """How a learner uses a rule: "hard", "soft" or "expected"; at what penalty, None where there is nothing to pay; and
    whether that was learned.
    """

    kind: str
    penalty: float | None
    learned: bool


def label_shares(y: Sequence[Sequence[str]], classes: Sequence[str] | None = None) -> list[Comparison]:
    """Estimate bounds on the share of each label in a corpus from labelled sequences of it.

    The bounds are two standard errors around the share in `y`: sequences differ, and the fewer there are, the wider
    the bounds. Those of labels that `y` lacks are narrow, as if tokens were independent; learners did better with these
    than with wide ones. Bounds that would say nothing, below 0 or above 1, are left out.

    Parameters
    ----------
    y : sequence of sequence of str
        Full labels of at least two sequences.
    classes : sequence of str or None, default=None
        All labels, where `y` may lack some; None is those of `y`.

    Returns
    -------
    list of Comparison
        The bounds, as rules about the corpus.
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
class LabelledData:
    """Fully labelled inputs, as rules read them; known: their outputs as arrays, None where there are none."""

    task: Any
    X: Sequence[Any]
    y: Sequence[Any]
    known: Any
    classes: Sequence[str]

    def counted(self, rule: Rule) -> tuple[RowSet, Floats]:
        """Returns the rows of a rule on these inputs, and what their outputs count there."""
        if self.task.of_labels:
            rows = Rows.compile([rule], self.X, self.classes)
            return rows, rows.count(self.known.labels)
        about = self.task.rows([rule], self.X, self.classes)
        parts = self.task.structure(1).indicator(self.task.blank(self.X, self.classes), self.known.outputs.values)
        return about, about.count(parts)


@recorded
class Readings:
    """Rules as a learner of expectations uses them.

    used: every rule with its penalty (its own, else the learner's number, else the learned one; none where the
    learner's is None), and the label shares that were added; decoded: the rules that decoding keeps
    to, those about single outputs; penalties: (decoded,) for each unit of violation; room: by how much labelled
    sequences miss the bound of each statement of these rules, on average, and one standard error more.
    """

    used: tuple[Rule, ...]
    decoded: tuple[Rule, ...]
    penalties: Floats
    room: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _PENALTIES.checked("penalties", self.penalties, {"decoded": len(self.decoded)})

    @classmethod
    def of(
        cls,
        rules: Sequence[Rule],
        labelled: "LabelledData",
        *,
        penalty: Penalty,
        shares: bool,
        decoding: bool,
        hard: bool = False,
        room: bool = True,
    ) -> "Readings":
        """Rules with what fully labelled inputs say about them.

        penalty: of the rules without their own; shares: whether to add those of labels, unless penalty is None, so that
        they would have to hold without slack; decoding: whether outputs will be decoded under the rules; hard: whether
        rules without a reading of their own are hard there; room: whether
        bounds have room where penalties are learned.
        """
        local = [k for k, rule in enumerate(rules) if decoding and not about_the_corpus(rule)]
        learned = _learned(rules, labelled) if penalty == "learned" or decoding else [1.0] * len(rules)
        shared = None if penalty is None or isinstance(penalty, str) else float(penalty)
        weighed = [
            rule if penalty is None else _weighed(rule, max(odds, _LEAST) if shared is None else shared)
            for rule, odds in zip(rules, learned, strict=True)
        ]
        costs = [
            np.inf if (hard if rule.reading is None else rule.reading.kind == "hard")
            else rule.reading.penalty if rule.reading is not None and rule.reading.penalty is not None
            else learned[k] if shared is None else shared
            for k, rule in enumerate(rules)
        ]  # fmt: skip
        added = _added_shares(rules, labelled) if shares and penalty is not None else []
        more = [_weighed(rule, _trust() if shared is None else shared) for rule in added]
        given = [rule.reading for rule in rules]
        more_room = _room(weighed, given, labelled) if room and penalty == "learned" else ()
        costly = np.array([costs[k] for k in local], float)
        return cls((*weighed, *more), tuple(rules[k] for k in local), costly, more_room)


def _trust() -> float:
    """The log-odds of a rule that nothing is known about."""
    return float(rule_log_odds(np.zeros(1), np.zeros(1))[0])


def _learned(rules: Sequence[Rule], labelled: LabelledData) -> list[float]:
    """The log-odds of every rule by counting; rules about the corpus have those of a rule without observations.

    `few_labels`, which charges for words and not for violations, has 1.
    """
    out = [1.0 if isinstance(rule, FewLabels) else _trust() for rule in rules]
    local = [k for k, rule in enumerate(rules) if not about_the_corpus(rule)]
    if local and labelled.known is not None:
        compiled = labelled.task.compiled([rules[k] for k in local], labelled.X, labelled.classes)
        for k, log_odds in zip(local, compiled.learn_from(labelled.known).tolist(), strict=True):
            out[k] = log_odds
    return out


def _room(rules: Sequence[Rule], given: Sequence[Reading | None], labelled: LabelledData) -> tuple[float, ...]:
    """What each statement of the rules is to be given beyond its bound; given: the readings that people wrote.

    A rule that labelled sequences break at a certain rate will be broken at about that rate elsewhere too: to ask for
    less, of a model that has learned the rate, does harm. Rules with a penalty of their own are taken as written, and
    so are those about the corpus.
    """
    if labelled.known is None or any(isinstance(rule, FewLabels) for rule in rules):
        return ()
    out = list[float]()
    for rule, own in zip(rules, given, strict=True):
        statements = len(list(rule.expand(labelled.classes, rule.title)))
        if about_the_corpus(rule) or (own is not None and own.penalty is not None):
            out += [0.0] * statements
            continue
        rows, counted = labelled.counted(rule)
        excess, one_sided = rows.excess(counted), ~rows.equations
        for number in range(statements):
            mine = rows.group == number
            missed, count = excess[mine], int(mine.sum())
            mean = float(missed.mean()) if count else 0.0
            error = float(missed.std(ddof=1)) / np.sqrt(count) if count > 1 else 0.0
            out.append(mean + (np.sign(mean) * error if one_sided[mine].any() else 0.0))
    return tuple(out)


def _weighed(rule: Rule, penalty: float) -> Rule:
    """The rule with this penalty, unless it has its own or is of a kind without any."""
    own = rule.reading is not None and (rule.reading.penalty is not None or rule.reading.kind != "expected")
    return rule if own else rule.expected(penalty)


def _added_shares(rules: Sequence[Rule], labelled: LabelledData) -> list[Comparison]:
    """Label shares by the labelled sequences, beside rules and where no rule gives the share of the label already."""
    y, classes = labelled.y, labelled.classes
    if not labelled.task.of_labels or len(y) < 2 or not rules or any(isinstance(rule, FewLabels) for rule in rules):
        return []
    given = {
        rule.count.terms[0].to
        for rule in rules
        if isinstance(rule, Comparison) and rule.share and rule.count.terms[0].where is None
    }
    if any(isinstance(to.names, Each) and not to.names.labels for to in given):
        return []
    return [rule for rule in label_shares(y, classes) if rule.count.terms[0].to not in given]
