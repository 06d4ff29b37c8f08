"""Rows of matrices in vector registers: sums of products, maxima of sums, sums of some rows, and steps of one row.

The first two are the step of a recursion over label pairs, the third adds up the weights of a token's attributes. A
loop over labels inside one over rows writes and reads its result again for each of these; here eight entries of the
result are worked out at a time, and written once. Where their number is no multiple of eight, the last eight overlap
those before, and are worked out again. A step changes some entries of a row, which bits tell, eight at a time, too.

Where numba is told not to compile (NUMBA_DISABLE_JIT), plain loops do all of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .compiling import COMPILED, Bytes, Floats, Longs, Singles, inner

# Entries at a time, in one, two or four registers of a processor. Fewer labels than that have plain loops.
WIDTH = 8
_DOUBLE, _WHOLE = ir.DoubleType(), ir.IntType(64)
_LANES, _SINGLES = ir.VectorType(_DOUBLE, WIDTH), ir.VectorType(ir.FloatType(), WIDTH)
_FLAGS, _COUNT = ir.VectorType(ir.IntType(1), WIDTH), ir.IntType(32)
_CONTRACT = ("contract",)


def _everywhere(builder: Any, value: Any) -> Any:
    """The same number in all entries of a vector."""
    nothing = ir.Constant(_LANES, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(_COUNT, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_COUNT, WIDTH), [0] * WIDTH))


def _together(builder: Any, vector: Any) -> Any:
    """The sum of all entries of a vector, of halves first."""
    entries = [builder.extract_element(vector, ir.Constant(_COUNT, k)) for k in range(WIDTH)]
    while len(entries) > 1:
        half = len(entries) // 2
        entries = [builder.fadd(*pair) for pair in zip(entries[:half], entries[half:], strict=True)]
    return entries[0]


def _load_some(builder: Any, kind: Any, place: Any, there: Any) -> Any:
    """The entries of a vector in memory that are there, and zero for all others, which are not read."""
    size, pointer = 8 if kind is _LANES else 4, builder.bitcast(place, kind.as_pointer())
    load = ir.FunctionType(kind, [pointer.type, _COUNT, _FLAGS, kind])
    function = cgutils.get_or_insert_function(builder.module, load, f"llvm.masked.load.v{WIDTH}f{8 * size}.p0")
    return builder.call(function, [pointer, ir.Constant(_COUNT, size), there, ir.Constant(kind, [0.0] * WIDTH)])


def _store_some(builder: Any, value: Any, place: Any, there: Any) -> None:
    """Write the entries of a vector that are there."""
    pointer = builder.bitcast(place, _LANES.as_pointer())
    store = ir.FunctionType(ir.VoidType(), [_LANES, pointer.type, _COUNT, _FLAGS])
    function = cgutils.get_or_insert_function(builder.module, store, f"llvm.masked.store.v{WIDTH}f64.p0")
    builder.call(function, [value, pointer, ir.Constant(_COUNT, 8), there])


def _sum(builder: Any, total: Any, before: Any, entries: Any) -> Any:
    """total + before * entries."""
    return builder.fadd(total, builder.fmul(before, entries, flags=_CONTRACT), flags=_CONTRACT)


def _maximum(builder: Any, best: Any, before: Any, entries: Any) -> Any:
    """The larger of best and before + entries."""
    value = builder.fadd(before, entries)
    return builder.select(builder.fcmp_ordered(">", value, best), value, best)


def _eight(builder: Any, pointer: Any, at: Any) -> Any:
    """Where the eight entries from one on lie."""
    return builder.bitcast(builder.gep(pointer, [at]), _LANES.as_pointer())


@contextmanager
def _eights(builder: Any, columns: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Eight columns at a time: the first of them, the first of the last eight, and a place for what is worked out."""
    last = builder.sub(columns, ir.Constant(_WHOLE, WIDTH))
    state = cgutils.alloca_once(builder, _LANES)
    none, step = ir.Constant(_WHOLE, 0), ir.Constant(_WHOLE, WIDTH)
    with cgutils.for_range_slice(builder, none, columns, step, _WHOLE) as (place, _):
        yield builder.select(builder.icmp_signed("<", place, last), place, last), last, state


def _product(name: str, combine: Any, nothing: float) -> Any:
    """An intrinsic for a row of `step` by a matrix of (labels before, labels), both in memory without gaps."""

    def typed(typing: Any, row: Any, skip: Any, matrix: Any, out: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row, matrix, out = (
                context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 3)
            )
            labels = cgutils.unpack_tuple(builder, out.shape, 1)[0]
            before = cgutils.unpack_tuple(builder, matrix.shape, 2)[0]
            with _eights(builder, labels) as (at, _, state):
                builder.store(ir.Constant(_LANES, [nothing] * WIDTH), state)
                with cgutils.for_range(builder, before, intp=_WHOLE) as loop:
                    one = builder.load(builder.gep(row.data, [builder.mul(loop.index, arguments[1])]))
                    place = builder.add(builder.mul(loop.index, labels), at)
                    entries = builder.load(_eight(builder, matrix.data, place), align=8)
                    found = combine(builder, builder.load(state), _everywhere(builder, one), entries)
                    builder.store(found, state)
                builder.store(builder.load(state), _eight(builder, out.data, at), align=8)
            return context.get_dummy_value()

        return types.none(row, types.intp, matrix, out), build

    typed.__name__ = typed.__qualname__ = name
    return intrinsic(typed)


@intrinsic  # type: ignore[untyped-decorator]
def _add_rows(typing: Any, rows: Any, factors: Any, count: Any, matrix: Any, out: Any) -> Any:
    """out += Σ_k factors[k] * matrix[rows[k]], all without gaps in memory, for at least `WIDTH` columns."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, factors, matrix, out = (
            context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 3, 4)
        )
        labels = cgutils.unpack_tuple(builder, out.shape, 1)[0]
        # What stands in the last eight: the eight before them change it where they overlap.
        last_eight = builder.load(_eight(builder, out.data, builder.sub(labels, ir.Constant(_WHOLE, WIDTH))), align=8)
        with _eights(builder, labels) as (at, last, state):
            own = builder.load(_eight(builder, out.data, at), align=8)
            builder.store(builder.select(builder.icmp_signed("<", at, last), own, last_eight), state)
            with cgutils.for_range(builder, arguments[2], intp=_WHOLE) as loop:
                row = builder.load(builder.gep(rows.data, [loop.index]))
                factor = builder.load(builder.gep(factors.data, [loop.index]))
                place = builder.add(builder.mul(row, labels), at)
                entries = builder.load(_eight(builder, matrix.data, place), align=8)
                builder.store(_sum(builder, builder.load(state), _everywhere(builder, factor), entries), state)
            builder.store(builder.load(state), _eight(builder, out.data, at), align=8)
        return context.get_dummy_value()

    return types.none(rows, factors, types.intp, matrix, out), build


def _step_plainly(table: Floats, row: int, free: Bytes, mass: Singles | Floats, factor: float) -> float:
    """table[row, c] += factor * mass[c] where the bit of c is set in free[row]; by how much the row's squares grew."""
    growth = 0.0
    for c in range(table.shape[1]):
        if free[row, c // WIDTH] >> (c % WIDTH) & 1:
            step = factor * mass[c]
            growth += step * (2 * table[row, c] + step)
            table[row, c] += step
    return growth


@intrinsic  # type: ignore[untyped-decorator]
def _step_row(typing: Any, table: Any, row: Any, free: Any, mass: Any, factor: Any) -> Any:
    """As `_step_plainly`, of arrays without gaps in memory."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, free, mass = (context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 3))
        labels, eights = (cgutils.unpack_tuple(builder, one.shape, 2)[1] for one in (table, free))
        kind = _SINGLES if signature.args[3].dtype == types.float32 else _LANES
        first, flags = builder.mul(arguments[1], labels), builder.mul(arguments[1], eights)
        factor, two = _everywhere(builder, arguments[4]), ir.Constant(_LANES, [2.0] * WIDTH)
        growth = cgutils.alloca_once_value(builder, ir.Constant(_LANES, [0.0] * WIDTH))
        with cgutils.for_range(builder, eights, intp=_WHOLE) as loop:
            at = builder.mul(loop.index, ir.Constant(_WHOLE, WIDTH))
            there = builder.bitcast(builder.load(builder.gep(free.data, [builder.add(flags, loop.index)])), _FLAGS)
            place = builder.gep(table.data, [builder.add(first, at)])
            before = _load_some(builder, _LANES, place, there)
            moved = _load_some(builder, kind, builder.gep(mass.data, [at]), there)
            step = builder.fmul(factor, builder.fpext(moved, _LANES) if kind is _SINGLES else moved)
            middle = _sum(builder, step, two, before)
            builder.store(_sum(builder, builder.load(growth), step, middle), growth)
            _store_some(builder, builder.fadd(before, step), place, there)
        return _together(builder, builder.load(growth))

    return types.float64(table, types.intp, free, mass, types.float64), build


_sums = _product("sums", _sum, 0.0)
_maxima = _product("maxima", _maximum, float("-inf"))
# Not a function that kernels call, which LLVM does not always make a part of them: a call takes longer than a step.
step_row = _step_row if COMPILED else _step_plainly


@inner
def sums_of_products(row: Floats, skip: int, matrix: Floats, out: Floats) -> None:
    """out[c] = Σ_a row[a * skip] * matrix[a, c]."""
    L = len(out)
    if L >= WIDTH and COMPILED:
        _sums(row, skip, matrix, out)
        return
    for c in range(L):
        out[c] = 0.0
    for a in range(len(matrix)):
        for c in range(L):
            out[c] += row[a * skip] * matrix[a, c]


@inner
def maxima_of_sums(row: Floats, skip: int, matrix: Floats, out: Floats) -> None:
    """out[c] = max_a row[a * skip] + matrix[a, c]; -inf where all are."""
    L = len(out)
    if L >= WIDTH and COMPILED:
        _maxima(row, skip, matrix, out)
        return
    for c in range(L):
        out[c] = -float("inf")
    for a in range(len(matrix)):
        before = row[a * skip]
        for c in range(L):
            v = before + matrix[a, c]
            out[c] = v if v > out[c] else out[c]


@inner
def add_rows(rows: Longs, factors: Floats, count: int, matrix: Floats, out: Floats) -> None:
    """out[c] += Σ_k factors[k] * matrix[rows[k], c] for the first `count` of the rows."""
    if len(out) >= WIDTH and COMPILED:
        _add_rows(rows, factors, count, matrix, out)
        return
    for k in range(count):
        for c in range(len(out)):
            out[c] += factors[k] * matrix[rows[k], c]


def bits_of(free: Floats) -> Bytes:
    """Which entries of a table differ from zero, in rows of bytes as `step_row` takes them."""
    return np.packbits(free != 0, axis=1, bitorder="little")
