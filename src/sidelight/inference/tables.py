"""Statements as sparse tables over labels and pairs of labels, shared by positions of the same kind."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..kernels.compiling import Floats, Ints, Longs
from ..kernels.tilting import Entries
from ..rules.counters import distinct_rows
from ..rules.rows import Statement


class Tables(NamedTuple):
    """Some statements as sparse tables: at each token one over labels, by `code`, and one over pairs, by pair type."""

    code: Ints
    unary: Entries
    pair: Entries


def lay_out(corpus: Sequence[Statement], each: Sequence[Statement], offsets: Longs) -> tuple[Tables, Tables, Ints, int]:
    """Tables of statements about the corpus and about each sequence; the pair type of every position, of how many."""
    pairs = [_pair_tables(s, offsets) for s in (*corpus, *each)]
    types, kinds = _joint([kind for kind, _ in pairs], int(offsets[-1]))
    tables, cut = [table for _, table in pairs], len(corpus)
    shared = _tables(corpus, offsets, _entries(tables[:cut], kinds[:, :cut]))
    single = _tables(each, offsets, _entries(tables[cut:], kinds[:, cut:]))
    return shared, single, types, len(kinds)


def _tables(statements: Sequence[Statement], offsets: Longs, pair: Entries) -> Tables:
    unary = [_unary_tables(s, offsets) for s in statements]
    code, kinds = _joint([kind for kind, _ in unary], int(offsets[-1]))
    return Tables(code, _entries([table for _, table in unary], kinds), pair)


def _unary_tables(statement: Statement, offsets: Longs) -> tuple[Longs, Floats]:
    """Kind of every token and its (kinds, labels) table: amounts that do not depend on the label before."""
    table, K = statement.table, len(statement.table.amount)
    inner = np.where(_paired(table.amount)[:, None], 0.0, table.amount[:, 0])
    rows = np.concatenate((inner, table.amount[:, -1]))
    rows = np.concatenate((rows, rows + table.at_end))
    kind = table.kind.astype(np.int64)
    kind[offsets[:-1]] += K
    kind[offsets[1:] - 1] += 2 * K
    return _distinct(kind, rows)


def _pair_tables(statement: Statement, offsets: Longs) -> tuple[Longs, Floats]:
    """The same for amounts that do depend on it: (kinds, labels * labels)."""
    amount = statement.table.amount
    L = amount.shape[2]
    rows = np.where(_paired(amount)[:, None, None], amount[:, :L], 0.0).reshape(len(amount), L * L)
    kind = statement.table.kind.astype(np.int64)
    if len(rows) > 1:  # not read at the first token of a sequence
        kind[offsets[:-1]] = 0
    return _distinct(kind, rows)


def _paired(amount: Floats) -> Any:
    """For every kind of position, whether the label before matters."""
    return (amount[:, :-1] != amount[:, :1]).any(axis=(1, 2))


def _distinct(kind: Longs, rows: Floats) -> tuple[Longs, Floats]:
    """Kinds of positions where those of equal rows are one, by the order of their rows; and these rows."""
    written = [tuple(row) for row in rows.tolist()]  # few, of which a dictionary is faster than sorting in NumPy
    number = {row: k for k, row in enumerate(sorted(set(written)))}
    return np.array([number[row] for row in written], np.int64)[kind], np.array(list(number)).reshape(-1, rows.shape[1])


def _joint(kinds: Sequence[Longs], tokens: int) -> tuple[Ints, Longs]:
    """Positions with the same kind for every statement share a code: (tokens,), and (codes, statements) their kinds."""
    if not kinds:
        return np.zeros(tokens, np.int32), np.zeros((1, 0), np.int64)
    classes, code = distinct_rows(np.stack(kinds, axis=1))
    return code.astype(np.int32), classes


def _entries(tables: Sequence[Floats], classes: Longs) -> Entries:
    """Sparse tables, one for each code, of all statements."""
    pointer, rows, cells, values = [0], [], [], []
    for kinds in classes:
        for row, kind in enumerate(kinds):
            at = np.flatnonzero(tables[row][kind])
            rows += [row] * len(at)
            cells += at.tolist()
            values += tables[row][kind][at].tolist()
        pointer.append(len(rows))
    return Entries(np.array(pointer, np.int64), np.array(rows, np.int32), np.array(cells, np.int32), np.array(values))


def _codes(entries: Entries) -> Longs:
    """The table that each entry belongs to."""
    return np.repeat(np.arange(len(entries.pointer) - 1), np.diff(entries.pointer))


def some_of(entries: Entries, tables: Longs) -> Entries:
    """Some of the tables, in this order."""
    if np.array_equal(tables, np.arange(len(entries.pointer) - 1)):
        return entries
    picked = [np.arange(entries.pointer[k], entries.pointer[k + 1]) for k in tables]
    index = np.concatenate(picked)
    pointer = np.concatenate(([0], np.cumsum([len(p) for p in picked]))).astype(np.int64)
    return Entries(pointer, entries.row[index], entries.cell[index], entries.value[index])


def add_up(entries: Entries, prices: Floats, cells: int) -> Floats:
    """Σ_rows λ A as dense tables: (tables, cells)."""
    out = np.zeros((len(entries.pointer) - 1, cells))
    np.add.at(out, (_codes(entries), entries.cell), entries.value * prices[entries.row])
    return out


def spread(entries: Entries, rows: int, cells: int) -> Floats:
    """Dense tables of every statement: (tables, statements, cells)."""
    out = np.zeros((len(entries.pointer) - 1, rows, cells))
    out[_codes(entries), entries.row, entries.cell] = entries.value
    return out


def read_off(entries: Entries, mass: Floats, rows: int) -> Floats:
    """A μ from marginals summed by table."""
    flat = mass.reshape(len(mass), -1)
    return np.bincount(entries.row, weights=entries.value * flat[_codes(entries), entries.cell], minlength=rows).astype(
        float
    )
