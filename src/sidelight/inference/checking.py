"""How often data violates rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError, NotSupported
from ..features.templates import sequence_offsets
from ..labels import check_lengths, encode_labels, label_set
from ..rules.automata import count_table, expand, labels_named
from ..rules.language import Comparison, FewLabels, Logic, Rule
from ..supervision import Signal, kind_of
from .compiled import CompiledRules
from .occurrences import Occurrences


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


def check(rules: Sequence[Rule], X: Sequence[Any], y: Sequence[Any], *, examples: int = 3) -> list[RuleCheck]:
    """Violations of each rule by labelled data; sequences that are not fully labelled are left out."""
    check_lengths([len(x) for x in X], y)
    full = [i for i, known in enumerate(y) if kind_of(known) is Signal.FULL]
    if not full:
        raise DataError("no sequence is fully labelled, so there is nothing to check rules on")
    inputs, outputs = [X[i] for i in full], [y[i] for i in full]
    labels = sorted({*label_set(outputs), *labels_named(rules)})
    codes = encode_labels(outputs, [len(x) for x in inputs], labels).labels
    local = [rule for rule in rules if not of_corpus(rule)]
    found = iter(CompiledRules.compile(local, inputs, labels).violations(codes).T) if local else iter(())
    out = []
    for rule in rules:
        if of_corpus(rule):
            out.append(RuleCheck(rule, _corpus_miss(rule, inputs, codes, labels), 0, len(full), ()))
            continue
        degree = next(found)
        worst = np.argsort(-degree, kind="stable")[:examples]
        named = tuple((full[i], float(degree[i])) for i in worst if degree[i] > 0)
        out.append(RuleCheck(rule, float(degree.sum()), int((degree > 0).sum()), len(full), named))
    return out


def of_corpus(rule: Rule) -> bool:
    """Whether a rule as a whole is checked once for all sequences."""
    if isinstance(rule, Logic) and rule.kind == "all":
        return all(isinstance(part, Comparison | Logic) and of_corpus(part) for part in rule.parts)
    return isinstance(rule, FewLabels) or (isinstance(rule, Comparison) and rule.corpus)


def _corpus_miss(rule: Rule, X: Sequence[Any], labels: Any, names: Sequence[str]) -> float:
    """Over all labels that `each` stands for, or all words."""
    if isinstance(rule, FewLabels):
        words = Occurrences.compile([rule], X)
        return float(words.largest(np.eye(len(names))[labels[words.token]]).sum()) - words.words
    return sum(_miss_of(rule, single, X, labels, names) for _, single in expand(rule, names, rule.title))


def _miss_of(rule: Rule, single: Rule, X: Sequence[Any], labels: Any, names: Sequence[str]) -> float:
    if not isinstance(single, Comparison):
        raise NotSupported(f"rule {rule.title!r} is about the corpus and cannot hold for some label only")
    table = count_table(single.count, X, names, rule)
    offsets = sequence_offsets(X)
    before = np.concatenate(([len(names)], labels[:-1]))
    before[offsets[:-1]] = len(names)
    total = float(table.amount[table.kind, before, labels].sum() + table.at_end[labels[offsets[1:] - 1]].sum())
    over = total - single.bound * len(X)
    return max(over, 0.0) if single.op == "<=" else max(-over, 0.0) if single.op == ">=" else abs(over)
