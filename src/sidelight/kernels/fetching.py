"""Memory that is asked for before it is needed, so that reading at random does not wait for it."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .compiling import COMPILED


def _go_on(array: Any, at: int) -> None:
    """Python asks for nothing."""


@intrinsic  # type: ignore[untyped-decorator]
def _fetch(typing: Any, array: Any, at: Any) -> Any:
    """Ask for the cache line of an entry of a flat array, which need not be inside: nothing is read."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place, whole = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer()), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, whole, whole, whole])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, near, data_cache = ir.Constant(whole, 0), ir.Constant(whole, 3), ir.Constant(whole, 1)
        builder.call(function, [place, read, near, data_cache])
        return context.get_dummy_value()

    return types.none(array, types.intp), build


fetch = _fetch if COMPILED else _go_on
