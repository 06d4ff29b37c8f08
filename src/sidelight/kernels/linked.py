"""Functions that only kernels call, compiled as far as a kernel needs.

Numba optimises every function and makes machine code of it before it becomes a part of its callers, which are optimised
again. Python never calls these functions, so both are left to the kernels, whose machine code is as fast. Functions
that call each other in turn are not for this: one of them would be dropped before the other is compiled.
"""

from functools import cache
from typing import Any

from llvmlite.binding import parse_bitcode
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, compile_result


class _NoEnvironments:
    """Stands for the compiler where numba would set the environment of a function, which has no memory for it yet."""

    def set_env(self, name: str, environment: Any) -> None:
        """Does nothing; `set_environments` sets it for the kernel."""


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """What becomes a part of kernels, and is no machine code by itself."""

    @property
    def codegen(self) -> Any:
        """What numba asks to set environments."""
        return _NoEnvironments()

    def get_pointer_to_function(self, name: str) -> int:
        """There is no machine code, so no address."""
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> Any:
        """As numba writes a library, without machine code."""
        self._ensure_finalized()
        return self.name, "object", (b"", self._get_module_for_linking().as_bitcode())

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class LinkedCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, into a library of this kind."""

    def define_pipelines(self) -> Any:
        """The usual steps."""
        self.state.library = LinkedLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


def link_later(library: Any, bitcode: bytes) -> None:
    """Let a library that was loaded read its instructions only once a kernel that calls it is compiled."""
    library._shared_module = None
    library._get_module_for_linking = cache(lambda: parse_bitcode(bitcode))


def rebuilt(target: Any, name: str, parts: tuple[Any, ...], bitcode: bytes) -> Any:
    """A compiled function of this kind, of what `serialize_using_object_code` and numba's `_reduce` gave."""
    descriptor, environment, signature, objectmode, lifted, annotation, reload_init, environments = parts
    library = LinkedLibrary(target.codegen(), name)
    link_later(library, bitcode)
    library._finalized = True
    for start in reload_init:
        start()
    return compile_result(
        target_context=target, typing_context=target.typing_context, library=library, environment=environment,
        entry_point=target.get_executable(library, descriptor, environment), fndesc=descriptor,
        type_annotation=annotation, signature=signature, objectmode=objectmode, lifted=lifted, reload_init=reload_init,
        referenced_envs=environments,
    )  # fmt: skip


def set_environments(compiled: Any) -> None:
    """Set the environments of all functions that became a part of a kernel, as numba does for kernels of its cache."""
    for environment in compiled._find_referenced_environments():
        compiled.codegen.set_env(environment.env_name, environment)
