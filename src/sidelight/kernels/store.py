"""Where compiled kernels are kept, so that later processes need not compile them again.

A compiled kernel is one file, named by what its machine code follows from: the source of its module and of the modules
that this one imports from its folder, the argument types, the processor, and the versions of Python and of what
compiles. So no file is ever out of date, and files made on one machine serve every machine of its type; files made for
one of `LEVELS` serve all machines of that level.

Kernels are looked for in the package (`SHIPPED`, which `sidelight compile` fills) and then in a folder of the user's,
where new ones are written. No result depends on these files: where one is missing, damaged or cannot be written, the
kernel is compiled. They hold machine code, so whoever can write to these folders can run code as their reader: a folder
of another user, or one that all users can write to, is not used.

Processes that need the same kernel at the same time compile it once: one has a lock, and the others wait for its file.
"""

import os
import pickle
import re
import secrets
import stat
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from platform import python_version
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba.core import caching, config, serialize
from numba.core.compiler import CompileResult
from numba.core.runtime import _nrt_python
from numba.misc.appdirs import AppDirs

from .linked import link_later, rebuilt

try:
    import fcntl
except ImportError:  # Windows: every process compiles for itself
    fcntl = None  # type: ignore[assignment]

SHIPPED = Path(__file__).parent / "compiled"
# Levels of processors, as LLVM calls them, the highest first, and the instructions that tell them. A machine takes
# kernels of its own level only: best paths take half as long again where AVX-512 is there but not used.
_AVX2 = {"avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf", "xsave"}
_AVX512 = {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
LEVELS = {"x86-64-v4": _AVX2 | _AVX512, "x86-64-v3": _AVX2}
_VERSIONS = (python_version(), numba.__version__, llvmlite.__version__, np.__version__)
_LAYOUT = 3  # of a file, which kernels outside of this package cannot tell by their sources
_DIGEST = 32  # bytes of a file before its content
_DAYS = 90  # after which a file that nobody has read is removed
_PATIENCE = 120.0  # seconds to wait for another process that compiles the same kernel
_PAUSE = 0.02  # seconds between two looks whether it is done
_IMPORTED = re.compile(r"^ *from \.(\w+) import ", re.MULTILINE)


class Store(caching.NullCache):  # type: ignore[misc]
    """What numba asks for compiled versions of one function, and gives new ones to."""

    def __init__(self, function: Callable[..., Any]) -> None:
        package, _, module = function.__module__.rpartition(".")
        self._name = f"{module}.{function.__qualname__}"
        self._source = source(package, module)  # now, while it is what was imported

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The version for these argument types, or None where it has to be compiled."""
        _name_runtime()
        for path in self._files(signature, target):
            content = _read(path)
            if content:
                return _loaded(target, *pickle.loads(content))
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a version that was compiled."""
        if not compiled.library.has_dynamic_globals:  # addresses of this process
            machine, ((name, kind, (code, bitcode)), *rest) = compiled.codegen.magic_tuple(), compiled._reduce()
            module = llvmlite.binding.parse_bitcode(bitcode)
            named = [*module.functions, *module.global_variables]
            defined = [one.name for one in named if not one.is_declaration]
            library = name, kind, (code, llvmlite.binding.parse_assembly("").as_bitcode())
            _write(self._file_name(signature, machine), serialize.dumps((library, tuple(rest), defined, bitcode)))

    @contextmanager
    def turn(self, signature: Any, target: Any) -> Iterator[None]:
        """Wait until no other process compiles the version for these argument types: its file is there then."""
        files, folder = list(self._files(signature, target)), own_folder()
        if folder is None or _foreign(folder) or any(path.exists() for path in files):
            yield
        else:
            with _lock(folder / f"{self._file_name(signature, target.codegen().magic_tuple())}.lock"):
                yield

    def _files(self, signature: Any, target: Any) -> Iterator[Path]:
        """Where the version for these argument types may be, in the order in which they are looked at."""
        for machine in _machines(target.codegen()):
            name = self._file_name(signature, machine)
            yield SHIPPED / name
            folder = own_folder()
            if folder is not None and not _foreign(folder):
                yield folder / name

    def _file_name(self, signature: Any, machine: tuple[str, str, str]) -> str:
        options = config.OPT, config.BOUNDSCHECK
        key = self._source, str(signature), machine, _VERSIONS, _LAYOUT, options
        return f"{self._name}-{_digest(repr(key).encode()).hex()[:32]}.kernel"


def _loaded(target: Any, library: tuple[Any, ...], parts: tuple[Any, ...], defined: list[str], bitcode: bytes) -> Any:
    """A compiled version of what `save_overload` kept.

    library, parts: what numba makes it of; defined: names that its machine code defines; bitcode: its instructions as
    LLVM reads them. Numba reads these whenever it loads a version, which takes several times as long and as much memory
    as the machine code does; here they are read once a kernel that calls this one is compiled.
    """
    name, _, (code, _) = library
    if not code:
        return rebuilt(target, name, parts, bitcode)
    target.codegen()._engine._defined_symbols.update(defined)
    compiled = CompileResult._rebuild(target, library, *parts)
    link_later(compiled.library, bitcode)
    return compiled


@cache
def _name_runtime() -> None:
    """Name the functions of numba's runtime, which allocates arrays, to LLVM: all that a compiled kernel needs.

    Numba's own caches make it ready to compile before they load (`target.refresh`). That imports all that any function
    may call, which takes as long as importing numba, and 60 MB. Numba does so again before it does compile.
    """
    for name, address in _nrt_python.c_helpers.items():
        llvmlite.binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def _machines(codegen: Any) -> list[tuple[str, str, str]]:
    """Whose kernels are used here: this processor's, then its level's; each as numba writes it, with features."""
    triple, _, features = here = codegen.magic_tuple()
    has = {one.removeprefix("+") for one in features.split(",")}
    levels = [(triple, level, "") for level, needed in LEVELS.items() if needed <= has]
    return [here, *levels[:1]]


@cache
def source(package: str, module: str) -> str:
    """A digest of the module's source and of all that it imports from its folder."""
    texts: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in texts:
            texts[name] = resources.files(package).joinpath(f"{name}.py").read_text(encoding="utf-8")
            waiting += _IMPORTED.findall(texts[name])
    return _digest(repr(sorted(texts.items())).encode()).hex()


_filled: list[Path] = []


@contextmanager
def fill(folder: Path) -> Iterator[None]:
    """Write new kernels to a folder of this choice, and read those of the package and of this folder only."""
    _filled.append(folder)
    try:
        yield
    finally:
        _filled.pop()


def own_folder() -> Path | None:
    """The folder of new kernels: in numba's NUMBA_CACHE_DIR, or else in the folder of the user's caches, if any."""
    if _filled:
        return _filled[-1]
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR, "sidelight")
    folder = Path(AppDirs("sidelight", appauthor=False).user_cache_dir, "kernels")
    return folder if folder.is_absolute() else None


def _foreign(folder: Path) -> bool:
    """Whether a folder belongs to another user than this one and root, or can be written by all users."""
    try:
        found = folder.stat()
    except OSError:  # it is not there yet, or cannot be used, which is noticed later
        return False
    return hasattr(os, "getuid") and (found.st_uid not in (os.getuid(), 0) or bool(found.st_mode & stat.S_IWOTH))


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST).digest()


def _read(path: Path) -> bytes | None:
    try:
        whole = path.read_bytes()
    except OSError:
        return None
    digest, content = whole[:_DIGEST], whole[_DIGEST:]
    if digest == _digest(content):
        return content
    _remove(path)
    return None


def _write(name: str, content: bytes) -> None:
    folder = own_folder()
    if folder is None:
        _note("there is no folder for the user's caches")
        return
    if _foreign(folder):
        _note(f"{folder} belongs to another user, or all users can write to it")
        return
    temporary = folder / f"{name}.{secrets.token_hex(4)}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        try:
            with open(temporary, "xb") as file:
                file.write(_digest(content) + content)
            os.replace(temporary, folder / name)
        except BaseException:
            _remove(temporary)
            raise
    except OSError as error:
        _note(f"{folder} cannot be written ({error.strerror})")


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold a lock, which the system opens when this process ends; go on without where there is none, or not in time."""
    if fcntl is None:
        yield
        return
    with ExitStack() as stack:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(open(path, "ab"))
            if _locked(file.fileno()):
                stack.callback(fcntl.flock, file, fcntl.LOCK_UN)  # also for children that were forked meanwhile
                stack.callback(_remove, path)
        yield


def _locked(file: int) -> bool:
    """Whether the lock of an open file was to be had in time."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)
        else:
            return True
    return False


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


@cache
def _sweep(folder: Path) -> None:
    """Remove what nobody has read for long: kernels of former versions, remains of processes that were stopped."""
    for path in folder.iterdir():
        with suppress(OSError):
            if max(path.stat()[7:9]) < time.time() - _DAYS * 24 * 3600:
                path.unlink()


@cache
def _note(reason: str) -> None:
    warnings.warn(
        f"compiled kernels are not kept, since {reason}: every process compiles anew what it needs. "
        "Set NUMBA_CACHE_DIR to a folder that can be written, or run `sidelight compile` after installation.",
        stacklevel=2,
    )
