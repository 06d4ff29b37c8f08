"""Rules read as statements about expectations: E[count] compared with a bound, as tables over chain parts.

A comparison of a count is linear in the parts whatever its bound, so `runs(each) <= 1` is a statement here although as
a rule about outputs it needs a counter. Logic and patterns are no sums over parts and are refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError, NotSupported
from ..features.templates import sequence_offsets
from ..kernels.compiling import Flags
from .automata import CountTable, count_table, expand
from .language import Comparison, FewLabels, Op, Rule


@dataclass(frozen=True)
class Statement:
    """One rule (or one label's share of it) on a batch: E[table·y] op bound, in each sequence or once if `corpus`.

    A statement about the corpus is divided by the number of sequences that it is an average over, its `unit`: those
    with tokens that a share speaks of, and all of them for other counts. So slack is a number of tokens per sequence
    for both. `penalty` weighs it. `target` is what the count itself should be: the bound, or for a share, whose table
    is less its value everywhere, that value times the tokens it speaks of, per sequence.
    """

    rule: Rule
    title: str
    table: CountTable
    op: Op
    bound: float
    corpus: bool
    penalty: float
    unit: float = 1.0
    target: float = 0.0


def compile_statements(
    rules: Sequence[Rule], X: Sequence[Any], labels: Sequence[str], units: Sequence[float] | None = None
) -> list[Statement]:
    """All statements of all rules on a batch; `each` makes one for every label.

    units: what each statement about the corpus is divided by; None means the sequences of this batch.
    """
    out: list[Statement] = []
    left = None if units is None else iter(units)
    for rule in rules:
        require_expected(rule)
        out += [_statement(rule, title, one, X, labels, left) for title, one in expand(rule, labels, rule.title)]
    return out


def require_expected(rule: Any) -> None:
    """Raise unless it is a rule that is, or may be, read as a statement about expectations."""
    if not isinstance(rule, Rule):
        raise DataError(f"expected a rule, got {rule!r}")
    if rule.reading is not None and rule.reading.kind != "expected":
        raise NotSupported(
            f"{rule.title!r} is read as {rule.reading.kind}, and only statements about expectations can be used "
            "here; write it with .expected(), or without a reading"
        )


def penalty_of(rule: Rule) -> float:
    """How much its slack counts."""
    return 1.0 if rule.reading is None or rule.reading.penalty is None else rule.reading.penalty


def _statement(
    rule: Rule, title: str, single: Rule, X: Sequence[Any], labels: Sequence[str], units: Iterator[float] | None
) -> Statement:
    if isinstance(single, FewLabels):
        raise NotSupported(
            f"rule {title!r} is no bound on a count, but a charge that only PosteriorRegularization and its relatives "
            "know, with no other kind of rule beside it"
        )
    if not isinstance(single, Comparison):
        raise NotSupported(
            f"rule {title!r} is not a sum over parts, so a chain cannot work out its expectation; read it as hard or "
            "soft (CCM, Codl), or compare a count with a bound"
        )
    penalty = penalty_of(rule)
    table = count_table(single.count, X, labels, rule)
    if not single.corpus:
        return Statement(rule, title, table, single.op, single.bound, False, penalty, target=single.bound)
    if units is not None:
        return _averaged(rule, title, single, table, penalty, next(units))
    spoken = _spoken(table)
    if not spoken.any() and not table.at_end.any():
        raise DataError(f"rule {title!r} is about tokens of the corpus, and the data has none of them")
    concerned = np.logical_or.reduceat(spoken, sequence_offsets(X)[:-1]).sum() if single.share else len(X)
    return _averaged(rule, title, single, table, penalty, float(concerned))


def _spoken(table: CountTable) -> Flags:
    """The tokens that a count speaks of."""
    spoken: Flags = (np.abs(table.amount).sum(axis=(1, 2)) > 0)[table.kind]
    return spoken


def _averaged(rule: Rule, title: str, single: Comparison, table: CountTable, penalty: float, unit: float) -> Statement:
    scaled = CountTable(table.kind, table.amount / unit, table.at_end / unit)
    target = -single.count.terms[-1].coefficient * _spoken(table).sum() / unit if single.share else single.bound
    return Statement(rule, title, scaled, single.op, single.bound, True, penalty, unit, target)


def forbids(statement: Statement) -> bool:
    """Whether it says, without slack, that some parts never occur: counts of one sign with a bound of zero."""
    amounts = np.concatenate((statement.table.amount.ravel(), statement.table.at_end))
    above, below = statement.op != ">=" and (amounts >= 0).all(), statement.op != "<=" and (amounts <= 0).all()
    return bool(statement.bound == 0 and (above or below))
