"""Rules read as statements about expectations: E[count] compared with a bound, as tables over chain parts.

A comparison of a count is linear in the parts whatever its bound, so `runs(each) <= 1` is a statement here although as
a rule about outputs it needs a counter. Logic and patterns are no sums over parts and are refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import DataError, NotSupported
from .automata import MOST_ENTRIES, Batch, Compilation
from .counters import CountTable
from .counts import Op
from .language import Rule, require_rule


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
    rules: Sequence[Rule],
    X: Sequence[Any],
    labels: Sequence[str],
    units: Sequence[float] | None = None,
    room: Sequence[float] = (),
) -> list[Statement]:
    """All statements of all rules on a batch; `each` makes one for every label.

    units: what each statement about the corpus is divided by; None means the sequences of this batch. room: what is
    added to the bounds of the first statements, as many as it has.
    """
    out: list[Statement] = []
    left, batch = None if units is None else iter(units), Batch(X, labels)
    for rule in rules:
        require_expected(rule)
    expanded = [(rule, title, single) for rule in rules for title, single in rule.expand(labels, rule.title)]
    _require_memory(len(expanded), len(labels))
    for rule, title, single in expanded:
        try:
            out.append(single.statement(Compilation(rule, title, batch), left))
        except StopIteration:
            raise DataError(f"there is no unit for {title!r}, which is about the corpus") from None
    if len(room) > len(out):
        raise DataError(f"there are {len(room)} bounds with room, and {len(out)} statements")
    for k, more in enumerate(room):
        out[k] = replace(out[k], bound=out[k].bound + more, target=out[k].target + more)
    return out


def _require_memory(statements: int, labels: int) -> None:
    """Raise `DataError` where the tables over label pairs, one for each statement, would take too much memory."""
    entries = statements * labels * (labels + 1)
    if entries > MOST_ENTRIES:
        raise DataError(
            f"{statements:,} statements about expectations over {labels:,} labels need {8 * entries / 1e9:,.1f} GB of "
            "memory for tables of label pairs; leave out labels that the data do not have, write rules for fewer of "
            "them, or give the learner label_shares=False, since label shares are a statement for every label"
        )


def require_expected(rule: Any) -> None:
    """Raise unless it is a rule that is, or may be, read as a statement about expectations."""
    if require_rule(rule).reading is None or rule.reading.kind == "expected":
        return
    if rule.hard_by_default and rule.reading.kind == "hard":
        raise NotSupported(
            f"{rule.title!r} is a hard rule unless it is given another reading, and only statements about expectations "
            f"can be used here; write {rule.body()}.expected(), or use CCM, CoDL or Combined, which keep hard rules"
        )
    raise NotSupported(
        f"{rule.title!r} is read as {rule.reading.kind}, and only statements about expectations can be used "
        "here; write it with .expected(), or without a reading"
    )


def penalty_of(rule: Rule) -> float:
    """How much its slack counts."""
    return 1.0 if rule.reading is None or rule.reading.penalty is None else rule.reading.penalty


def forbids(statement: Statement) -> bool:
    """Whether it says, without slack, that some parts never occur: counts of one sign with a bound of zero."""
    amounts = np.concatenate((statement.table.amount.ravel(), statement.table.at_end))
    above, below = statement.op != ">=" and (amounts >= 0).all(), statement.op != "<=" and (amounts <= 0).all()
    return bool(statement.bound == 0 and (above or below))
