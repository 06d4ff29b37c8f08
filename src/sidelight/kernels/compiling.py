"""One place that says how kernels are compiled; `store.py` keeps what was.

That takes more of numba than it promises to keep (`internals.py`). Where some of that is not there, kernels are
compiled in numba's ordinary way, in every process anew.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numba
import numpy as np
from numba.core import config
from numpy.typing import NDArray

from ..errors import listed, warn
from .internals import CHECKED, missing

if TYPE_CHECKING:
    from .store import Store

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Stream = NDArray[np.uint64]
Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Bytes = NDArray[np.uint8]

# Whether kernels are compiled: NUMBA_DISABLE_JIT runs them in Python, which knows no instructions of LLVM.
COMPILED = not config.DISABLE_JIT

P = ParamSpec("P")
R = TypeVar("R")

# Sums may be reordered so that they vectorise; NaN and infinity keep their meaning, since -inf forbids a part.
_FAST = {"reassoc", "contract", "arcp", "nsz"}
# Only code in C would call a kernel by the other wrapper.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": _FAST, "no_cfunc_wrapper": True}
_ORDERED: dict[str, Any] = {**_OPTIONS, "fastmath": False}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first use: without the GIL, cached on disk."""
    return _compiled(function, _OPTIONS)


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a function that only kernels call: it compiles faster, but Python cannot call it."""
    return _compiled(function, _OPTIONS, linked=True)


def ordered(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel whose sums are taken as they are written.

    The last bit of a reordered sum may depend on where arrays lie in memory, and a solver's path on that bit.
    """
    return _compiled(function, _ORDERED)


def ordered_inner(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a function that only kernels call."""
    return _compiled(function, _ORDERED, linked=True)


@cache
def keeps_kernels() -> bool:
    """Whether numba has all that keeps compiled kernels; warns where it does not."""
    lacks = missing()
    if lacks:
        warn(
            f"kernels are compiled anew in every process, and take longer to compile, since numba {numba.__version__} "
            f"has no {listed(lacks, 'or')}; install numba {CHECKED}, which has"
        )
    return not lacks


def _compiled(function: Callable[P, R], options: dict[str, Any], *, linked: bool = False) -> Callable[P, R]:
    """Linked: it becomes a part of kernels, and Python never calls it."""
    if not COMPILED or not keeps_kernels():
        return numba.njit(**options)(function)  # type: ignore[no-any-return]
    from .linked import LinkedCompiler
    from .store import Store

    if linked:
        options = {**options, "no_cpython_wrapper": True, "pipeline_class": LinkedCompiler}
    dispatcher = numba.njit(**options)(function)
    dispatcher._cache = store = Store(function)
    dispatcher.compile = _in_turn(dispatcher, store)
    dispatcher.get_call_template = _for_all_values(dispatcher.get_call_template)
    return dispatcher  # type: ignore[no-any-return]


def _in_turn(dispatcher: Any, store: "Store") -> Callable[[Any], Any]:
    """Numba's `compile`, while no other process compiles the same version.

    Threads come first: one that waited for them with the file's lock in hand would keep those from it that need it.
    """
    from numba.core.compiler_lock import global_compiler_lock

    from .linked import LinkedLibrary, set_environments

    compile_ = dispatcher.compile

    def in_turn(signature: Any) -> Any:
        if signature in dispatcher.overloads:
            return compile_(signature)
        with global_compiler_lock, store.turn(signature, dispatcher.targetctx):
            entry = compile_(signature)
            compiled = dispatcher.overloads[signature]
            if not isinstance(compiled.library, LinkedLibrary):
                set_environments(compiled)
            return entry

    return in_turn


def _for_all_values(call: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's answer to a call from another kernel, without a version of its own for each number written out there."""
    from numba.core.types.misc import unliteral

    return lambda types, named: call(
        [unliteral(one) for one in types], {name: unliteral(one) for name, one in named.items()}
    )
