"""Sums over the lengths of segments in vector registers, eight labels at a time.

Tables have a row for each boundary or each length and a column for each label. The number of columns is a multiple of
eight: those that stand for no label are zero.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .compiling import COMPILED, Floats, inner
from .row_products import _LANES, _WHOLE, WIDTH, _eight, _sum

_NOTHING = [0.0] * WIDTH


@inner
def padded(labels: int) -> int:
    """The number of columns of tables for so many labels."""
    return -(-labels // WIDTH) * WIDTH


def _arrays(context: Any, builder: Any, signature: Any, arguments: Any, which: tuple[int, ...]) -> Any:
    return (context.make_array(signature.args[k])(context, builder, arguments[k]) for k in which)


def _columns(builder: Any, row: Any) -> Any:
    return cgutils.unpack_tuple(builder, row.shape, 1)[0]


def _eights(builder: Any, columns: Any) -> Any:
    """The first of every eight columns."""
    none, step = ir.Constant(_WHOLE, 0), ir.Constant(_WHOLE, WIDTH)
    return cgutils.for_range_slice(builder, none, columns, step, _WHOLE)


def _sum_plainly(values: Floats, weights: Floats, last: int, count: int, out: Floats) -> None:
    """out = Σ_k values[last - k] * weights[k] over the first `count` rows of weights."""
    out[:] = 0.0
    for k in range(count):
        out += values[last - k] * weights[k]


@intrinsic  # type: ignore[untyped-decorator]
def _sum_closing(typing: Any, values: Any, weights: Any, last: Any, count: Any, out: Any) -> Any:
    """As `_sum_plainly`, of arrays without gaps in memory."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, weights, out = _arrays(context, builder, signature, arguments, (0, 1, 4))
        columns, state = _columns(builder, out), cgutils.alloca_once(builder, _LANES)
        with _eights(builder, columns) as (at, _):
            builder.store(ir.Constant(_LANES, _NOTHING), state)
            with cgutils.for_range(builder, arguments[3], intp=_WHOLE) as loop:
                row = builder.sub(arguments[2], loop.index)
                here = builder.load(_eight(builder, values.data, builder.add(builder.mul(row, columns), at)), align=8)
                place = builder.add(builder.mul(loop.index, columns), at)
                weight = builder.load(_eight(builder, weights.data, place), align=8)
                builder.store(_sum(builder, builder.load(state), here, weight), state)
            builder.store(builder.load(state), _eight(builder, out.data, at), align=8)
        return context.get_dummy_value()

    return types.none(values, weights, types.intp, types.intp, out), build


def _spread_plainly(
    values: Floats,
    weights: Floats,
    first: int,
    count: int,
    factor: Floats,
    out: Floats,
    lengths: Floats,
    tokens: Floats,
) -> None:
    """out = Σ_k values[first + k] * weights[k], and what `factor` times its terms adds to lengths and tokens.

    The k-th term is that of a segment of k + 1 tokens, from the one at first - 1 on. lengths[k] gets the term without
    its weight, which is the same in all sums; a token gets the terms of the segments that reach it, added up from the
    longest.
    """
    out[:] = 0.0
    for k in range(count - 1, -1, -1):
        out += values[first + k] * weights[k]
        lengths[k] += factor * values[first + k]
        tokens[first + k - 1] += factor * out


@intrinsic  # type: ignore[untyped-decorator]
def _spread_opening(
    typing: Any, values: Any, weights: Any, first: Any, count: Any, factor: Any, out: Any, lengths: Any, tokens: Any
) -> Any:
    """As `_spread_plainly`, of arrays without gaps in memory."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        which = (0, 1, 4, 5, 6, 7)
        values, weights, factor, out, lengths, tokens = _arrays(context, builder, signature, arguments, which)
        first, count = arguments[2], arguments[3]
        columns, state = _columns(builder, out), cgutils.alloca_once(builder, _LANES)
        one = ir.Constant(_WHOLE, 1)

        def place(array: Any, row: Any, at: Any) -> Any:
            return _eight(builder, array.data, builder.add(builder.mul(row, columns), at))

        with _eights(builder, columns) as (at, _):
            builder.store(ir.Constant(_LANES, _NOTHING), state)
            by = builder.load(_eight(builder, factor.data, at), align=8)
            with cgutils.for_range(builder, count, intp=_WHOLE) as loop:
                k = builder.sub(builder.sub(count, one), loop.index)
                row = builder.add(first, k)
                here = builder.load(place(values, row, at), align=8)
                weight = builder.load(place(weights, k, at), align=8)
                total = _sum(builder, builder.load(state), here, weight)
                builder.store(total, state)
                of_length, on_token = place(lengths, k, at), place(tokens, builder.sub(row, one), at)
                builder.store(_sum(builder, builder.load(of_length, align=8), by, here), of_length, align=8)
                builder.store(_sum(builder, builder.load(on_token, align=8), by, total), on_token, align=8)
            builder.store(builder.load(state), _eight(builder, out.data, at), align=8)
        return context.get_dummy_value()

    return types.none(values, weights, types.intp, types.intp, factor, out, lengths, tokens), build


sum_closing = _sum_closing if COMPILED else _sum_plainly
spread_opening = _spread_opening if COMPILED else _spread_plainly
