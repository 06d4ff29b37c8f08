"""How often data violates rules."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ..containers import plain_inputs, plain_outputs
from ..errors import DataError, warn
from ..features.encoded import sequence_lengths, some_of
from ..kernels.compiling import Floats, Ints
from ..labels import check_lengths, encode_labels, label_set, misspelt_label
from ..quoting import FEW, quoted_few
from ..rules.automata import Batch, Compilation, labels_named, require_rule_tables
from ..rules.comparisons import Comparison
from ..rules.language import Rule
from ..supervision import Signal, StoredOutputs, all_kinds, some_known
from .compiled import CompiledRules

# A label that no data has.
_OTHER_LABEL = "\0"


@dataclass(frozen=True)
class RuleCheck:
    """Violations of one rule: their sum, the sequences with any, and the worst of these (number, degree).

    For a rule about the corpus, `violations` is by how much the count over the corpus misses its bound (that of an
    average times the number of sequences), or how many labels its words have beyond one each.
    """

    rule: Rule
    violations: float
    sequences: int
    of: int
    examples: tuple[tuple[int, float], ...]

    @property
    def share(self) -> float:
        """Share of sequences with a violation."""
        return self.sequences / self.of if self.of else 0.0


def check(
    rules: Sequence[Rule], X: Sequence[Any], y: Sequence[Any], *, examples: int = 3, task: Any = None
) -> list[RuleCheck]:
    """Check how often labelled data violate each rule.

    Inputs whose outputs are not fully known are left out. A warning for each rule names its labels that no output has
    but that are spelt nearly like one that some have; others name each rule that nothing in the data could violate.

    Parameters
    ----------
    rules : sequence of Rule
        The rules.
    X : sequence
        The input sequences, or inputs of the task.
    y : sequence
        What is known about the labels of each sequence, or about the output of each input.
    examples : int, default=3
        How many of the inputs that violate a rule most are named.
    task : Task or None, default=None
        What the outputs are, such as `Parsing()`; None for label sequences.

    Returns
    -------
    list of RuleCheck
        For each rule the sum of its violations, the number of inputs with any, how many inputs were checked, and the
        worst ones.

    Raises
    ------
    DataError
        If no output is fully known.
    """
    X, y = plain_inputs(X), plain_outputs(y)
    data = _data(rules, X, y, task)
    for title, labels in labels_unused(rules, data.present):
        misspelt = [label for label in labels if misspelt_label(label, data.present)]
        if misspelt:  # few outputs need not have all labels
            warn(unused_labels(misspelt, title, data.present))
    for rule in data.about_nothing(rules):
        warn(about_nothing_text(rule.title))
    return _checked(rules, data, examples)


def count_violations(
    rules: Sequence[Rule], X: Sequence[Any], y: Sequence[Any], *, examples: int = 3, task: Any = None
) -> list[RuleCheck]:
    """The same as `check`, of rules whose labels are known to be right: without warnings."""
    X, y = plain_inputs(X), plain_outputs(y)
    return _checked(rules, _data(rules, X, y, task), examples)


def labels_unused(rules: Sequence[Rule], known: Collection[str]) -> list[tuple[str, list[str]]]:
    """Titles of the rules that name labels that are not known, with these labels, each at the first such rule."""
    found, seen = list[tuple[str, list[str]]](), set(known)
    for rule in rules:
        labels = labels_named([rule], known) - seen
        seen |= labels
        if labels:
            found.append((rule.title, sorted(labels)))
    return found


def unused_labels(labels: Sequence[str], title: str, known: Collection[str]) -> str:
    """The message about the labels that a rule names and that are not known; misspelt ones are named first."""
    meant = {label: misspelt_label(label, known) for label in labels}
    shown = sorted(labels, key=lambda label: meant[label] is None)
    right = dict.fromkeys(one for one in (meant[label] for label in shown[:FEW]) if one)
    hint = f"; did you mean {quoted_few(list(right), 'or')}?" if right else ""
    hint = hint or (f"; there are {', '.join(sorted(known))}" if known else "")
    return (
        f"no token has the {'label' if len(labels) == 1 else 'labels'} {quoted_few(shown)} of the rule {title!r}{hint}"
    )


def rules_about_nothing(rules: Sequence[Rule], X: Sequence[Any], y: Sequence[Any], task: Any = None) -> list[Rule]:
    """Rules that no output of these inputs could violate, most likely since their conditions hold nowhere."""
    return _data(rules, X, y, task).about_nothing(rules)


def _has_condition(rule: Rule) -> bool:
    return isinstance(rule, Comparison) and any(term.where is not None for term in rule.count.terms)


def about_nothing_text(title: str) -> str:
    """What to say about a rule that no labels of the data could violate."""
    return f"whatever the labels were, nothing here could violate the rule {title!r}; does its condition hold nowhere?"


def _checked(rules: Sequence[Rule], data: "_LabelData | _OutputData", examples: int) -> list[RuleCheck]:
    local = [rule for rule in rules if not rule.only_about_corpus]
    found = iter(data.violations(local).T) if local else iter(())
    out = []
    for rule in rules:
        if rule.only_about_corpus:
            out.append(RuleCheck(rule, data.corpus_violation(rule), 0, len(data.full), ()))
            continue
        degree = next(found)
        worst = np.argsort(-degree, kind="stable")[:examples]
        named = tuple((data.full[i], float(degree[i])) for i in worst if degree[i] > 0)
        out.append(RuleCheck(rule, float(degree.sum()), int((degree > 0).sum()), len(data.full), named))
    return out


def _data(rules: Sequence[Rule], X: Sequence[Any], y: Sequence[Any], task: Any) -> "_LabelData | _OutputData":
    return _labels(rules, X, y) if task is None or task.of_labels else _outputs(rules, X, y, task)


@dataclass(frozen=True)
class _LabelData:
    """Label sequences that are fully known; full: their numbers; names: of the labels; present: those that occur."""

    full: list[int]
    X: Sequence[Any]
    codes: Ints
    names: list[str]
    present: list[str]

    def violations(self, rules: Sequence[Rule]) -> Floats:
        """Degrees of violation of each sequence and rule."""
        return CompiledRules.compile(rules, self.X, self.names).violations(self.codes)

    def about_nothing(self, rules: Sequence[Rule]) -> list[Rule]:
        """The rules with conditions that no labels of these sequences could violate, nor any other label."""
        asked = [rule for rule in rules if not rule.only_about_corpus and _has_condition(rule)]
        places = CompiledRules.compile(asked, self.X, [*self.names, _OTHER_LABEL]).places if asked else ()
        return [rule for rule, count in zip(asked, places, strict=True) if not count]

    def corpus_violation(self, rule: Rule) -> float:
        """Over all labels that `each` stands for."""
        singles, batch = rule.expand(self.names, rule.title), Batch(self.X, self.names)
        return sum(single.corpus_violation(Compilation(rule, title, batch), self.codes) for title, single in singles)


def _labels(rules: Sequence[Rule], X: Sequence[Any], y: Sequence[Any]) -> _LabelData:
    for i, known in enumerate(() if isinstance(y, StoredOutputs) else y):
        if isinstance(known, list | tuple) and any(isinstance(one, Integral | tuple) for one in known):
            raise DataError(
                f"y of sequence {i} holds no labels, got {known!r}; for trees and links name the task: "
                "check(rules, X, y, task=Parsing()), Aligning() or Matching()"
            )
    sizes = sequence_lengths(X)
    check_lengths(sizes, y)
    full = [i for i, kind in enumerate(all_kinds(y)) if kind is Signal.FULL and sizes[i]]
    if not full:
        raise DataError("no sequence is fully labelled, so there is nothing to check rules on")
    inputs, outputs = some_of(X, full), some_known(y, full)
    present = label_set(outputs)
    names = sorted({*present, *labels_named(rules, present)})
    require_rule_tables(rules, names)
    return _LabelData(full, inputs, encode_labels(outputs, [sizes[i] for i in full], names).labels, names, present)


@dataclass(frozen=True)
class _OutputData:
    """Outputs of a task that are fully known, over parts."""

    full: list[int]
    X: list[Any]
    values: Ints
    names: list[str]
    present: list[str]
    task: Any

    def violations(self, rules: Sequence[Rule]) -> Floats:
        """Degrees of violation of each input and rule."""
        degrees: Floats = self.task.compiled(rules, self.X, self.names).violations(self.values)
        return degrees

    def about_nothing(self, rules: Sequence[Rule]) -> list[Rule]:
        """None: places are counted in label sequences alone."""
        return []

    def corpus_violation(self, rule: Rule) -> float:
        """By how much counts miss their bounds, that of an average times the inputs."""
        rows = self.task.rows([rule.expected()], self.X, self.names)
        parts = self.task.structure(1).indicator(self.task.blank(self.X, self.names), self.values)
        return float((np.abs(rows.excess(rows.count(parts))) * rows.per_row(lambda s: s.unit)).sum())


def _outputs(rules: Sequence[Rule], X: Sequence[Any], y: Sequence[Any], task: Any) -> _OutputData:
    sizes = task.sizes(X)
    read = task.read(y, sizes)
    full = [i for i, kind in enumerate(task.kinds(read)) if kind is Signal.FULL]
    if not full:
        raise DataError(f"no {task.noun} has an output that is fully known, so there is nothing to check rules on")
    known = [read[i] for i in full]
    present = task.labels(known) if task.has_labels else []
    names = sorted({*present, *labels_named(rules, present)}) if task.has_labels else []
    values = task.known(known, [sizes[i] for i in full], names).outputs.values
    return _OutputData(full, list(task.for_rules([X[i] for i in full])), values, names, present, task)
