"""Where data comes from and goes to: files, standard input and output, lines in memory; always UTF-8.

Reading drops a byte order mark and accepts Windows line ends. Writing is atomic: a reader of the file sees the
old content or all of the new, whatever happens in between. `line_blocks` reads input of any length in constant memory.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, overload

from sidelight.errors import DataError

if TYPE_CHECKING:
    from sidelight.supervision import Companion

Token: TypeAlias = str | tuple[str, ...] | dict[str, Any]
"""One column, several columns, or named features."""
Label: TypeAlias = str | frozenset[str] | None
"""Known, one of these, or unknown."""
Inputs: TypeAlias = list[list[Token]]
Outputs: TypeAlias = "list[list[Label] | Companion | None]"
InputsLike: TypeAlias = Sequence[Sequence[str | tuple[str, ...] | dict[str, Any]]]
OutputsLike: TypeAlias = "Sequence[Sequence[str | AbstractSet[str] | None] | Companion | None]"

PathLike: TypeAlias = str | os.PathLike[str]
Source: TypeAlias = "PathLike | IO[str] | IO[bytes] | Iterable[str] | Lines"
Target: TypeAlias = PathLike | IO[Any]

STANDARD_STREAM = "-"
# In files with partial labels: an unknown label, and the mark between possible labels.
UNKNOWN, ALTERNATIVE = "?", "|"
BYTE_ORDER_MARK = "\ufeff"
ASCII_SPACE = " \t\r\f\v"
"""What separates columns and fills blank lines. A no-break space is part of a token."""
# Bytes that are read at a time where input is taken block by block.
BLOCK = 1 << 21
# How archives begin.
_ZIP = b"PK\x03\x04"
# Seconds after which nobody writes to a temporary file any more.
_ABANDONED = 3600.0
_NOT_SPACE = re.compile(f"[^{ASCII_SPACE}]+")
# Characters that `str.split` may take for space, and ASCII_SPACE does not have.
_SPACE_TO_PYTHON = re.compile(r"[^\x00-\x1b -\x7f]")


def split_at_spaces(line: str) -> list[str]:
    """Return what stands between the spaces and tabs of a line."""
    return _NOT_SPACE.findall(line) if _SPACE_TO_PYTHON.search(line) else line.split()


class Lines(NamedTuple):
    """Lines of a source without their ends, the name by which errors call it, and the number of the first line."""

    name: str
    lines: list[str]
    first: int = 1

    def error(self, number: int, message: str) -> DataError:
        """Return an error (to be raised) about line ``number`` of these, counted from 1."""
        return DataError(f"{self.name}:{self.first + number - 1}: {message}")


def partial_label(name: str, lines: Lines, number: int) -> Label:
    """Return a label of a file with partial labels: None for ``?``, a frozenset for ``A|B``."""
    if name == UNKNOWN:
        return None
    if ALTERNATIVE not in name:
        return name
    names = name.split(ALTERNATIVE)
    if not all(names):
        raise lines.error(number, f"expected labels around each {ALTERNATIVE!r}, found {name!r}")
    return frozenset(names)


def read_lines(source: Source) -> Lines:
    """Read all lines of a path, of standard input (``"-"``), of an open file or of an iterable of lines.

    Lines that were read already are returned as they are.
    """
    if isinstance(source, Lines):
        return source
    return Lines(source_name(source), [line for block in line_blocks(source) for line in block.lines])


def line_blocks(source: Source, *, whole_paragraphs: bool = False, size: int = BLOCK) -> Iterator[Lines]:
    """Yield the lines of a source some after the other, about `size` bytes at a time.

    With `whole_paragraphs` a block ends with a blank line, or with the source, so that no sequence is cut.
    """
    if isinstance(source, Lines):
        yield source
        return
    name, first, lines = source_name(source), 1, list[str]()
    for number, piece in enumerate(_pieces(source, name, size)):
        if not number and piece:
            piece[0] = piece[0].removeprefix(BYTE_ORDER_MARK)
        before = len(lines)
        lines += piece
        end = len(lines)
        if whole_paragraphs:
            end = next((k for k in range(end, before, -1) if not lines[k - 1].strip(ASCII_SPACE)), 0)
        if end:
            yield Lines(name, lines[:end], first)
            first, lines = first + end, lines[end:]
    if lines:
        yield Lines(name, lines, first)


def _pieces(source: Any, name: str, size: int) -> Iterator[list[str]]:
    """Lines of a source without their ends, as many at a time as `size` bytes or characters have."""
    if not isinstance(source, str | os.PathLike) and not hasattr(source, "read"):
        yield _given_lines(source, name)
        return
    lines, place = 0, 0
    rest: Any = None
    with _opened(source, name) as file:
        while True:
            try:
                new = file.read(size)
            except UnicodeDecodeError as error:  # of an open text file
                raise _undecodable(error, name, lines, place) from error
            except OSError as error:
                raise file_error(name, error, "read") from error
            content = new if rest is None else rest + new
            text = isinstance(content, str)
            end = content.rfind("\n" if text else b"\n") + 1 if new else len(content)
            whole, rest = content[:end], content[end:]
            if whole:
                try:
                    decoded = whole if text else whole.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise _undecodable(error, name, lines, place) from error
                found = _split(decoded)
                lines, place = lines + len(found), place + len(whole)
                yield found
            if not new:
                return


def _opened(source: Any, name: str) -> contextlib.AbstractContextManager[Any]:
    """A file to read from, which is closed at the end if it was opened here."""
    if not isinstance(source, str | os.PathLike):
        return contextlib.nullcontext(source)
    if source == STANDARD_STREAM:
        return contextlib.nullcontext(getattr(sys.stdin, "buffer", sys.stdin))
    try:
        return open(source, "rb")
    except OSError as error:
        raise file_error(name, error, "read") from error


def require_regular(path: str, most: int) -> None:
    """Raise `DataError` unless a path that another file names is a regular file of at most `most` bytes.

    Devices and pipes may have no end, or wait for ever.
    """
    try:
        found = os.stat(path)
    except OSError as error:
        raise file_error(path, error, "read") from error
    except ValueError as error:  # a null character
        raise DataError(f"{path!r}: cannot read: {error}") from error
    if not stat.S_ISREG(found.st_mode):
        raise DataError(f"{path}: cannot read: it is no regular file, which a file that another file names must be")
    if found.st_size > most:
        raise DataError(f"{path}: cannot read: it has {found.st_size:,} bytes, and at most {most:,} are read here")


def source_name(source: object) -> str:
    """How errors call a source or target: its path, ``<standard input>``, or ``<lines>`` if it has no name."""
    if isinstance(source, str | os.PathLike):
        return "<standard input>" if source == STANDARD_STREAM else os.fspath(source)
    return str(getattr(source, "name", "<lines>"))


def file_error(name: str, error: OSError, task: str) -> DataError:
    """Return a data error saying why the file can't be read or written."""
    if isinstance(error, FileNotFoundError):
        where = "its folder" if task == "write" else "it"
        return DataError(f"{name}: cannot {task}: {where} does not exist; check the path (from {os.getcwd()})")
    return DataError(f"{name}: cannot {task}: {error.strerror or error}; check the path and its permissions")


def _undecodable(error: UnicodeDecodeError, name: str, lines: int, place: int) -> DataError:
    """An error about bytes that stand behind so many lines and bytes."""
    if not place and error.object[:4] == _ZIP:
        return DataError(f"{name}: expected text, got an archive such as a model file is; check the path")
    line = lines + error.object.count(b"\n", 0, error.start) + 1
    encoding = "UTF-16" if not place and error.object[:2] in (b"\xff\xfe", b"\xfe\xff") else "ISO-8859-1"
    return DataError(
        f"{name}:{line}: expected UTF-8, got byte 0x{error.object[error.start]:02x} at offset {place + error.start}; "
        f"convert the file first, for instance with: iconv -f {encoding} -t UTF-8 (use its real encoding)"
    )


def _split(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _given_lines(source: Iterable[str], name: str) -> list[str]:
    lines = []
    for number, line in enumerate(source, start=1):
        if not isinstance(line, str):
            raise DataError(f"{name}:{number}: expected a line of text, got {type(line).__name__}")
        lines.append(line.rstrip("\r\n"))
    return lines


@overload
def open_for_writing(
    target: Target, *, binary: Literal[False] = False
) -> contextlib.AbstractContextManager[IO[str]]: ...
@overload
def open_for_writing(target: Target, *, binary: Literal[True]) -> contextlib.AbstractContextManager[IO[bytes]]: ...
def open_for_writing(target: Target, *, binary: bool = False) -> contextlib.AbstractContextManager[IO[Any]]:
    """Open a path for writing as a whole or not at all; ``"-"`` is standard output.

    The content goes to a temporary file in the same folder, which takes the target's place when the block ends
    without an exception. After an exception the target is as it was and the temporary file is gone. Devices and
    pipes are written to directly, and an open file is passed on as it is and left open.
    """
    if not isinstance(target, str | os.PathLike):
        return contextlib.nullcontext(target)
    if target == STANDARD_STREAM:
        return _standard_output(binary)
    path = os.path.realpath(target)  # a symbolic link stays one: what it points to is replaced
    if os.path.isdir(path):
        raise DataError(f"{os.fspath(target)}: cannot write: it is a folder; give the name of a file")
    if os.path.exists(path) and not os.path.isfile(path):
        return _special_file(path, binary)
    return _replacing(path, os.fspath(target), binary)


@contextlib.contextmanager
def _standard_output(binary: bool) -> Iterator[IO[Any]]:
    """Standard output as UTF-8, whatever the locale says."""
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        if binary:
            raise DataError("standard output takes text only here; write to a file")
        yield sys.stdout
    elif binary:
        yield buffer
        buffer.flush()
    else:
        text = io.TextIOWrapper(buffer, encoding="utf-8", newline="\n", write_through=True)
        try:
            yield text
        finally:
            text.detach()


@contextlib.contextmanager
def _special_file(path: str, binary: bool) -> Iterator[IO[Any]]:
    try:
        file = _wrap(os.open(path, os.O_WRONLY), binary)
    except OSError as error:
        raise file_error(path, error, "write") from error
    with file:
        yield file


@contextlib.contextmanager
def _replacing(path: str, name: str, binary: bool) -> Iterator[IO[Any]]:
    _sweep(path)
    temporary = _temporary_name(path)
    try:
        descriptor = _create(temporary, path)
    except OSError as error:
        raise file_error(name, error, "write") from error
    try:
        with _wrap(descriptor, binary) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, UnicodeEncodeError):
            bad = error.object[error.start : error.end]
            raise DataError(f"{name}: cannot write {bad!r} as UTF-8; remove it from the data") from error
        # The operating system's errors about an open file (disk full) name no file; others are the caller's.
        if isinstance(error, OSError) and error.filename in (None, temporary):
            raise file_error(name, error, "write") from error
        raise


def _temporary_name(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name[:100]}.{secrets.token_hex(6)}.tmp")


def _sweep(path: str) -> None:
    """Removes temporary files that killed runs left beside a file; those written to within the last hour stay."""
    folder, name = os.path.split(path)
    ours = re.compile(re.escape(f".{name[:100]}.") + r"[0-9a-f]{12}\.tmp")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not ours.fullmatch(entry.name):
                continue
            with contextlib.suppress(OSError):
                if time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED:
                    os.unlink(entry.path)


def _create(temporary: str, path: str) -> int:
    """Create the temporary file with the permissions of the file it will replace, or else the usual ones."""
    exists = os.path.exists(path)
    if exists and not os.access(path, os.W_OK):
        raise PermissionError(0, "the file is read-only")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666)
    if exists:
        os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
    return descriptor


def _wrap(descriptor: int, binary: bool) -> IO[Any]:
    return open(descriptor, "wb") if binary else open(descriptor, "w", encoding="utf-8", newline="\n")
