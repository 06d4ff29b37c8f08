"""A row times a matrix in vector registers: sums of products, or the maxima of sums.

Both are the step of a recursion over label pairs. A loop over labels inside one over the labels before writes and reads
its row again for each of these; here eight entries of the row are worked out at a time, and written once. Where their
number is no multiple of eight, the last eight overlap those before, and are worked out again.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .compiling import Floats, inner

# Entries at a time, in one, two or four registers of a processor. Fewer labels than that have plain loops.
WIDTH = 8
_DOUBLE, _WHOLE = ir.DoubleType(), ir.IntType(64)
_LANES = ir.VectorType(_DOUBLE, WIDTH)
_CONTRACT = ("contract",)


def _everywhere(builder: Any, value: Any) -> Any:
    """The same number in all entries of a vector."""
    nothing = ir.Constant(_LANES, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH))


def _sum(builder: Any, total: Any, before: Any, entries: Any) -> Any:
    """total + before * entries."""
    return builder.fadd(total, builder.fmul(before, entries, flags=_CONTRACT), flags=_CONTRACT)


def _maximum(builder: Any, best: Any, before: Any, entries: Any) -> Any:
    """The larger of best and before + entries."""
    value = builder.fadd(before, entries)
    return builder.select(builder.fcmp_ordered(">", value, best), value, best)


def _product(name: str, combine: Any, nothing: float) -> Any:
    """An intrinsic for a row of `step` by a matrix of (labels before, labels), both in memory without gaps."""

    def typed(typing: Any, row: Any, skip: Any, matrix: Any, out: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row, matrix, out = (
                context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 3)
            )
            labels = cgutils.unpack_tuple(builder, out.shape, 1)[0]
            before = cgutils.unpack_tuple(builder, matrix.shape, 2)[0]
            last = builder.sub(labels, ir.Constant(_WHOLE, WIDTH))
            state = cgutils.alloca_once(builder, _LANES)

            def eight(pointer: Any, at: Any) -> Any:
                return builder.bitcast(builder.gep(pointer, [at]), _LANES.as_pointer())

            with cgutils.for_range_slice(
                builder, ir.Constant(_WHOLE, 0), labels, ir.Constant(_WHOLE, WIDTH), _WHOLE
            ) as (place, _):
                at = builder.select(builder.icmp_signed("<", place, last), place, last)
                builder.store(ir.Constant(_LANES, [nothing] * WIDTH), state)
                with cgutils.for_range(builder, before, intp=_WHOLE) as loop:
                    one = builder.load(builder.gep(row.data, [builder.mul(loop.index, arguments[1])]))
                    entries = builder.load(
                        eight(matrix.data, builder.add(builder.mul(loop.index, labels), at)), align=8
                    )
                    found = combine(builder, builder.load(state), _everywhere(builder, one), entries)
                    builder.store(found, state)
                builder.store(builder.load(state), eight(out.data, at), align=8)
            return context.get_dummy_value()

        return types.none(row, types.intp, matrix, out), build

    typed.__name__ = typed.__qualname__ = name
    return intrinsic(typed)


_sums = _product("sums", _sum, 0.0)
_maxima = _product("maxima", _maximum, float("-inf"))


@inner
def sums_of_products(row: Floats, skip: int, matrix: Floats, out: Floats) -> None:
    """out[c] = Σ_a row[a * skip] * matrix[a, c]."""
    L = len(out)
    if L >= WIDTH:
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
    if L >= WIDTH:
        _maxima(row, skip, matrix, out)
        return
    for c in range(L):
        out[c] = -float("inf")
    for a in range(len(matrix)):
        before = row[a * skip]
        for c in range(L):
            v = before + matrix[a, c]
            out[c] = v if v > out[c] else out[c]
