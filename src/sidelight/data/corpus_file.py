"""Corpora on disk: sequences of tokens as numbers in one file, for data that is larger than memory.

    16 bytes   "sidelight corpus"
    rows       int32, (tokens, columns + 1): the number of every column's string, and that of the label last
    offsets    int64, (sequences + 1,): where the tokens of each sequence begin
    header     JSON: version, the strings of each column, the labels (a list is a set of labels, of which one is right),
               and where options named the columns of the files that it was made of, their layout
    tail       columns, tokens, sequences and bytes of the header (uint64), CRC-32 of offsets and header (uint32)
    16 bytes   "sidelight corpus"

All numbers are little-endian. Below 0 the number of a label says that it is not known (-1), or that the sequence is
GOOD (-2) or BAD (-3). Strings are numbered in order of appearance. What is small is checked when a file is opened, and
the rows when they are read.
"""

import json
import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import chain, islice
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..supervision import BAD, GOOD, Companion
from .disk import read_array
from .formats import CORPUS_EXTENSION, Layout
from .source import PathLike, file_error, open_for_writing

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

MAGIC = b"sidelight corpus"
VERSION = 1
_TAIL = struct.Struct("<4QI")
# Numbers that stand for no label; BAD is the least.
UNKNOWN, GOOD_CODE, BAD_CODE = -1, -2, -3
_WHOLE: dict[Any, int] = {None: UNKNOWN, GOOD: GOOD_CODE, BAD: BAD_CODE}
# Sequences that are numbered at a time.
_BATCH = 8192


def is_corpus(path: Any) -> bool:
    """Whether a path is that of a corpus: by its extension, or else by its first bytes."""
    if not isinstance(path, str | os.PathLike):
        return False
    if os.fspath(path).lower().endswith(CORPUS_EXTENSION):
        return True
    try:
        if not os.path.isfile(path):  # what is read from a pipe would be lost
            return False
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def write_corpus(
    path: PathLike, sequences: Iterable[tuple[Sequence[Any], Any]], *, layout: Layout | None = None
) -> None:
    """Write a corpus to disk, in memory that does not grow with the number of tokens.

    Parameters
    ----------
    path : str or path-like
        The file; it is written as a whole or not at all. The usual extension is ``.sl``.
    sequences : iterable
        Pairs of tokens and of what is known about them: tokens are strings, or tuples with as many strings each, and
        the labels are as in y: a list with a label, a set of labels or None for each token; or None, GOOD or BAD.
        Sequences without tokens are left out.
    layout : Layout or None, default=None
        How options named the columns of the files that the sequences are from, for models to remember.
    """
    with open_for_writing(path, binary=True) as file:
        writer = _Writer(file)
        given = iter(sequences)
        while batch := list(islice(given, _BATCH)):
            writer.add(batch)
        writer.finish(layout)


class _Numbers(dict[Any, int]):
    """Numbers things in order of appearance."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


class _Labels(_Numbers):
    """Numbers labels and sets of labels, and knows what stands for none."""

    def __init__(self) -> None:
        super().__init__(_WHOLE)

    def __missing__(self, key: Any) -> int:
        names = key if isinstance(key, frozenset) else [key]
        if not names or not all(isinstance(name, str) and name for name in names):
            raise DataError(f"a label is a string, None or a set of strings, none of them empty, got {key!r}")
        number = self[key] = len(self) - len(_WHOLE)
        return number


class _Writer:
    """What was written so far: numbers of strings and labels, and the lengths of sequences."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.labels = file, _Labels()
        self.words: list[_Numbers] = []
        self.single, self.given = True, 0
        self.lengths: list[NDArray[np.int32]] = []
        file.write(MAGIC)

    def add(self, batch: Sequence[tuple[Sequence[Any], Any]]) -> None:
        """Write the rows of more sequences."""
        numbered = list(enumerate(batch, self.given))
        kept = [(x, known) for i, (x, known) in numbered if self._check(x, known, i)]
        if not kept:
            self.given += len(batch)
            return
        columns = self._columns(list(chain.from_iterable(x for x, _ in kept)), numbered)
        self.given += len(batch)
        rows = np.empty((len(columns[0]), len(columns) + 1), "<i4")
        for k, (numbers, values) in enumerate(zip(self.words, columns, strict=True)):
            rows[:, k] = np.fromiter(map(numbers.__getitem__, values), np.int32, len(values))
        flat = list(chain.from_iterable(_flat(x, known) for x, known in kept))
        if set in map(type, flat):
            flat = [frozenset(one) if isinstance(one, set) else one for one in flat]
        rows[:, -1] = np.fromiter(map(self.labels.__getitem__, flat), np.int32, len(flat))
        self.lengths.append(np.fromiter((len(x) for x, _ in kept), np.int32, len(kept)))
        self.file.write(rows.tobytes())

    @staticmethod
    def _check(x: Any, known: Any, index: int) -> bool:
        """Whether there are tokens; labels must be as many."""
        if isinstance(x, str) or not hasattr(x, "__len__"):
            raise DataError(f"sequence {index}: expected a list of tokens, got {x!r}")
        if known is not None and not isinstance(known, Companion):
            if isinstance(known, str) or not hasattr(known, "__len__"):
                raise DataError(f"sequence {index}: expected labels (a list, None, GOOD or BAD), got {known!r}")
            if len(known) != len(x):
                raise DataError(f"sequence {index} has {len(x)} tokens but {len(known)} labels")
        return len(x) > 0

    def _columns(self, flat: list[Any], numbered: Sequence[Any]) -> list[list[str]]:
        """The columns of tokens, each a list of strings; numbered: the sequences, for errors."""
        if not self.words:
            self.single = isinstance(flat[0], str)
            self.words = [_Numbers() for _ in range(1 if self.single else _width(flat[0]))]
        kinds = set(map(type, flat))
        if self.single:
            columns = [flat]
        elif kinds <= {tuple, list} and set(map(len, flat)) == {len(self.words)}:
            columns = [list(column) for column in zip(*flat, strict=True)]
        else:
            columns = [[None]]
        if not all(issubclass(kind, str) for values in columns for kind in set(map(type, values))):
            expected = "a string" if self.single else f"a tuple of {len(self.words)} strings"
            for i, (x, _) in numbered:
                for t, token in enumerate(x):
                    cells = [token] if self.single else token
                    wide = isinstance(cells, tuple | list) and len(cells) == len(self.words)
                    if not wide or not all(isinstance(cell, str) for cell in cells):
                        raise DataError(f"sequence {i}, token {t}: expected {expected}, got {token!r}")
        return columns

    def finish(self, layout: Layout | None) -> None:
        """Write what stands behind the rows."""
        if not self.lengths:
            raise DataError("there are no tokens, so there is no corpus to write")
        offsets = np.concatenate(([0], np.cumsum(np.concatenate(self.lengths), dtype=np.int64))).astype("<i8")
        labels = [sorted(one) if isinstance(one, frozenset) else one for one in list(self.labels)[len(_WHOLE) :]]
        header = {
            "version": VERSION, "single": self.single, "strings": [list(words) for words in self.words],
            "labels": labels,
        }  # fmt: skip
        header |= {} if layout is None else {"layout": asdict(layout)}
        content = offsets.tobytes() + json.dumps(header, ensure_ascii=False).encode(errors="surrogatepass")
        size = len(content) - offsets.nbytes
        tail = _TAIL.pack(len(self.words), int(offsets[-1]), len(offsets) - 1, size, zlib.crc32(content))
        self.file.write(content + tail + MAGIC)


def _width(token: Any) -> int:
    if not isinstance(token, tuple | list) or not token:
        raise DataError(f"a corpus holds tokens that are strings or tuples of strings, got {token!r}")
    return len(token)


def _flat(x: Sequence[Any], known: Any) -> Iterable[Any]:
    return [known] * len(x) if known is None or isinstance(known, Companion) else known


class CorpusFile:
    """An open corpus: its rows on disk, and everything else."""

    def __init__(self, path: str, scratch: str | None) -> None:
        self.path, self.scratch = path, os.path.dirname(os.path.abspath(path)) if scratch is None else scratch
        if scratch is not None and not os.path.isdir(scratch):
            raise DataError(f"{scratch}: expected a folder for scratch files; make it first, or give another")
        try:
            self._file = open(path, "rb")  # noqa: SIM115
            size = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise file_error(path, error, "read") from error
        self._read_tail(size)

    def _read_tail(self, size: int) -> None:
        """Read and check everything but the rows."""
        ends = len(MAGIC), len(MAGIC) + _TAIL.size
        if size < sum(ends) or self._bytes(0, len(MAGIC)) != MAGIC:
            raise DataError(f"{self.path}: is not a sidelight corpus; these are written by `sidelight encode`")
        tail = self._bytes(size - ends[1], ends[1])
        self.columns, tokens, sequences, header, check = _TAIL.unpack(tail[: _TAIL.size])
        rows = 4 * tokens * (self.columns + 1)
        if tail[_TAIL.size :] != MAGIC or not self.columns or sum(ends) + rows + 8 * (sequences + 1) + header != size:
            raise self._damaged("its sizes do not fit together")
        content = self._bytes(len(MAGIC) + rows, 8 * (sequences + 1) + header)
        if zlib.crc32(content) != check:
            raise self._damaged("a checksum is wrong")
        self.offsets: Longs = np.frombuffer(content, "<i8", sequences + 1).astype(np.int64)
        self._read_header(content[8 * (sequences + 1) :])
        if self.offsets[0] != 0 or self.offsets[-1] != tokens or (np.diff(self.offsets) <= 0).any():
            raise self._damaged("the beginnings of its sequences are out of order")

    def _read_header(self, text: bytes) -> None:
        try:
            header = json.loads(text.decode(errors="surrogatepass"))
            if header["version"] != VERSION:
                raise DataError(f"{self.path}: was written by another version of sidelight; encode it again")
            strings, labels, self.single = header["strings"], header["labels"], header["single"]
            self.layout = None if "layout" not in header else Layout(**header["layout"])
            if self.layout is not None:
                self.layout.check()
            sets = [one for one in labels if isinstance(one, list)]
            texts = [one for some in (*strings, *sets, labels) for one in some if not isinstance(one, list)]
            if len(strings) != self.columns or not all(isinstance(one, str) for one in texts):
                raise ValueError("strings are missing")
            if self.single not in ([True, False] if self.columns == 1 else [False]) or not all(sets):
                raise ValueError("labels or columns are missing")
            self.entries: list[Any] = [frozenset(one) if isinstance(one, list) else one for one in labels]
            if any(len(set(some)) != len(some) for some in (*strings, self.entries)):
                raise ValueError("a string is there twice")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._damaged(f"its header cannot be read: {error}") from None
        self.strings: list[NDArray[Any]] = [np.array(some, object) for some in strings]
        # What was worked out of the strings of each column, so that blocks need not do it again.
        self.memo: dict[int, Any] = {}
        self._most = np.array([*map(len, strings), len(labels)], np.int64)

    def _damaged(self, reason: str) -> DataError:
        return DataError(f"{self.path}: is damaged or cut off ({reason}); encode it again")

    def _bytes(self, place: int, count: int) -> bytes:
        return read_array(self._file, np.uint8, count, place, self.path).tobytes()

    def rows(self, first: int, last: int) -> Ints:
        """Return the rows of tokens first to last - 1: (tokens, columns + 1)."""
        width = self.columns + 1
        rows = read_array(self._file, "<i4", (last - first) * width, len(MAGIC) + 4 * first * width, self.path)
        out = rows.astype(np.int32, copy=False).reshape(-1, width)
        if len(out):
            low, high = out.min(axis=0), out.max(axis=0)
            if (low[:-1] < 0).any() or low[-1] < BAD_CODE or (high >= self._most).any():
                raise self._damaged(f"tokens {first} to {last - 1} have numbers that stand for nothing")
        return out
