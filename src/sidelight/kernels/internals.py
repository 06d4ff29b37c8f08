"""What `linked`, `store` and `compiling` use of numba that it does not promise to keep, and whether it is there.

All of it was in every version from 0.60 to `CHECKED`. Where a version lacks some of it, kernels are compiled in the
ordinary way: they do the same, but every process compiles what it needs, and functions that only kernels call are
optimised twice. Attributes that numba sets when it makes an object (`_cache` of a dispatcher, `_finalized` of a
library, `_defined_symbols` of the engine) are used too, and cannot be looked for here.
"""

from importlib import import_module
from operator import attrgetter

# The newest version that was tried. Fits ran with all from 0.60 on, tests of kernels with most of them; 0.59 cannot
# compile some.
CHECKED = "0.68"
USED: dict[str, tuple[str, ...]] = {
    "llvmlite.binding": ("add_symbol", "parse_assembly", "parse_bitcode"),
    "numba.core.caching": ("NullCache",),
    "numba.core.codegen": (
        "JITCodeLibrary._ensure_finalized",
        "JITCodeLibrary._finalize_dynamic_globals",
        "JITCodeLibrary._finalize_final_module",
        "JITCodeLibrary._get_module_for_linking",
        "JITCodeLibrary._optimize_final_module",
        "JITCodeLibrary._verify_declare_only_symbols",
        "JITCodeLibrary.codegen",
        "JITCodeLibrary.get_pointer_to_function",
        "JITCodeLibrary.has_dynamic_globals",
        "JITCodeLibrary.serialize_using_object_code",
        "JITCPUCodegen.magic_tuple",
        "JITCPUCodegen.set_env",
        "JitEngine._load_defined_symbols",
    ),
    "numba.core.compiler": (
        "Compiler.define_pipelines",
        "CompileResult._find_referenced_environments",
        "CompileResult._rebuild",
        "CompileResult._reduce",
        "compile_result",
    ),
    "numba.core.compiler_lock": ("global_compiler_lock",),
    "numba.core.dispatcher": ("Dispatcher.compile", "Dispatcher.get_call_template"),
    "numba.core.runtime": ("_nrt_python.c_helpers",),
    "numba.core.serialize": ("dumps",),
    "numba.core.types.misc": ("unliteral",),
    "numba.misc.appdirs": ("AppDirs",),
}


def missing() -> list[str]:
    """Returns what the installed version lacks, by its full name."""
    return [f"{module}.{name}" for module, names in USED.items() for name in names if not _is_there(module, name)]


def _is_there(module: str, name: str) -> bool:
    try:
        attrgetter(name)(import_module(module))
    except (ImportError, AttributeError):
        return False
    return True
