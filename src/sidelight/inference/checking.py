"""How often data violates rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Ints
from ..labels import check_lengths, encode_labels, label_set
from ..rules.automata import labels_named
from ..rules.compilation import Compilation
from ..rules.language import Rule
from ..supervision import Signal, kind_of
from .compiled import CompiledRules


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
    """Check how often labelled data violate each rule.

    Sequences that are not fully labelled are left out.

    Parameters
    ----------
    rules : sequence of Rule
        The rules.
    X : sequence
        The input sequences.
    y : sequence
        What is known about the labels of each sequence.
    examples : int, default=3
        How many of the sequences that violate a rule most are named.

    Returns
    -------
    list of RuleCheck
        For each rule the sum of its violations, the number of sequences with any, how many sequences were checked, and
        the worst ones.

    Raises
    ------
    DataError
        If no sequence is fully labelled.
    """
    check_lengths([len(x) for x in X], y)
    full = [i for i, known in enumerate(y) if kind_of(known) is Signal.FULL]
    if not full:
        raise DataError("no sequence is fully labelled, so there is nothing to check rules on")
    inputs, outputs = [X[i] for i in full], [y[i] for i in full]
    labels = sorted({*label_set(outputs), *labels_named(rules)})
    codes = encode_labels(outputs, [len(x) for x in inputs], labels).labels
    local = [rule for rule in rules if not rule.only_about_corpus]
    found = iter(CompiledRules.compile(local, inputs, labels).violations(codes).T) if local else iter(())
    out = []
    for rule in rules:
        if rule.only_about_corpus:
            out.append(RuleCheck(rule, _corpus_violation(rule, inputs, codes, labels), 0, len(full), ()))
            continue
        degree = next(found)
        worst = np.argsort(-degree, kind="stable")[:examples]
        named = tuple((full[i], float(degree[i])) for i in worst if degree[i] > 0)
        out.append(RuleCheck(rule, float(degree.sum()), int((degree > 0).sum()), len(full), named))
    return out


def _corpus_violation(rule: Rule, X: Sequence[Any], labels: Ints, names: Sequence[str]) -> float:
    """Over all labels that `each` stands for."""
    singles = rule.expand(names, rule.title)
    return sum(single.corpus_violation(Compilation(rule, title, X, names), labels) for title, single in singles)
