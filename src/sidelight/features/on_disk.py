"""Encoded corpora whose rows are on disk: the face of `Encoded`, and memory for the sequences that are looked at.

Rows are written once, block by block, to files without a name that are gone when nobody uses them any more, and read
back by ranges: 4 bytes for every attribute of a token, and 2 for their number. Attributes of corpora have no values.
"""

import shutil
import tempfile
from collections.abc import Callable
from functools import cached_property
from typing import IO, Any

import numpy as np

from ..data.corpus import BLOCK_TOKENS, Corpus
from ..data.disk import read_array
from ..errors import DataError
from ..kernels.compiling import Floats, Ints, Longs
from .encoded import Encoded

# Sequences with at most this many tokens come into memory at once; larger views stay on disk.
_SMALL = 1 << 14
# Keys of templates that are worked out at a time.
_BLOCK_KEYS = 1 << 21
# Tokens of the parts that learners visit in memory which go over one sequence after the other.
CHUNK_TOKENS = 1 << 20


class _Rows:
    """Rows of attributes in two files: how many each token has (uint16), and their numbers (int32)."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.widths, self.indices = self._file(), self._file()

    def _file(self) -> IO[bytes]:
        try:
            return tempfile.TemporaryFile(dir=self.folder, buffering=0)
        except OSError as error:
            raise DataError(
                f"{self.folder}: cannot write scratch files of the encoding: {error.strerror}; give another folder by "
                "read_corpus(path, scratch=...) or --scratch"
            ) from error

    def append(self, encoded: Encoded) -> None:
        """Write the rows of more tokens."""
        try:
            for file, array in (
                (self.widths, np.diff(encoded.indptr).astype(np.uint16)),
                (self.indices, encoded.indices[encoded.indptr[0] : encoded.indptr[-1]]),
            ):
                view = np.ascontiguousarray(array).view(np.uint8).data
                while view:
                    view = view[file.write(view) :]
        except OSError as error:
            raise self._no_room(error.strerror or str(error)) from error

    def require_room(self, size: int) -> None:
        """Raise `DataError` now where the disk is too full for so many bytes."""
        free = shutil.disk_usage(self.folder).free
        if free < size:
            raise self._no_room(f"{free / 1e9:.1f} GB are free, {size / 1e9:.1f} GB may be needed")

    def _no_room(self, reason: str) -> DataError:
        return DataError(
            f"{self.folder}: there is no room for the encoded corpus ({reason}); make room, give another folder by "
            "read_corpus(path, scratch=...) or --scratch, or use fewer templates"
        )


def block_tokens(templates: int) -> int:
    """How many tokens are encoded at a time, so that their keys and numbers take some ten megabytes."""
    return max(1, min(BLOCK_TOKENS, _BLOCK_KEYS // templates))


def encode_to_disk(corpus: Corpus, transform: Callable[[Any], Encoded], templates: int) -> "StoredEncoded":
    """Return a corpus encoded by `transform`, block by block, with its rows on disk; templates: attributes at most."""
    rows = _Rows(corpus.file.scratch)
    rows.require_room((4 * templates + 2) * corpus.tokens)
    starts, attributes, total = [np.zeros(1, np.int64)], 0, 0
    for block in corpus.blocks(block_tokens(templates)):
        encoded = transform(block)
        rows.append(encoded)
        ends = encoded.indptr[encoded.offsets[1:]] - encoded.indptr[0]
        starts.append(total + ends)
        total, attributes = total + int(ends[-1]), encoded.attributes
    return StoredEncoded(corpus.offsets, np.concatenate(starts), rows, attributes)


class StoredEncoded(Encoded):
    """Encoded sequences with rows on disk.

    `sequences` gives a few of them in memory, or more of them as a view. Whoever asks for the arrays of all gets these
    in memory, as long as this object lives: learners that go block by block never do.
    """

    _starts: Longs
    _rows: _Rows
    _token: int

    def __init__(self, offsets: Longs, starts: Longs, rows: _Rows, attributes: int, token: int = 0) -> None:
        """starts: (sequences + 1,) where the entries of each begin in the file; token: the number of the first one."""
        for name, value in (("offsets", offsets), ("attributes", attributes)):
            object.__setattr__(self, name, value)
        self.__dict__.update(_starts=starts, _rows=rows, _token=token)

    def __reduce__(self) -> tuple[Any, ...]:
        one = self.loaded()
        return Encoded, (one.offsets, one.indptr, one.indices, one.values, one.attributes)

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return int(self.offsets[-1])

    @property
    def entries(self) -> int:
        """Number of attributes that tokens have in all."""
        return int(self._starts[-1] - self._starts[0])

    def sequences(self, first: int, last: int) -> Encoded:
        """Sequences first to last - 1: in memory if they are few, else as they are."""
        offsets = self.offsets[first : last + 1]
        at = int(offsets[0])
        view = StoredEncoded(
            offsets - at, self._starts[first : last + 1], self._rows, self.attributes, self._token + at
        )
        return view.loaded() if view.tokens <= _SMALL or last - first <= 1 else view

    def take(self, which: Longs) -> Encoded:
        """Some sequences, in this order, in memory."""
        if not len(which):
            return self.sequences(0, 0)
        some = [self.sequences(i, i + 1) for i in np.asarray(which).tolist()]
        offsets = np.concatenate(([0], np.cumsum([one.tokens for one in some]))).astype(np.int64)
        widths = np.concatenate([np.diff(one.indptr) for one in some])
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(widths)))
        return Encoded(offsets, indptr, np.concatenate([one.indices for one in some]), np.empty(0), self.attributes)

    def chunks(self) -> list[tuple[int, int]]:
        """Ranges of sequences that are to be in memory at a time."""
        out, first = [], 0
        while first < len(self):
            last = int(np.searchsorted(self.offsets, self.offsets[first] + CHUNK_TOKENS, side="right")) - 1
            last = max(last, first + 1)
            out.append((first, last))
            first = last
        return out

    def loaded(self) -> Encoded:
        """The same in memory."""
        tokens, start, rows = self.tokens, int(self._starts[0]), self._rows
        widths = read_array(rows.widths, np.uint16, tokens, 2 * self._token, rows.folder)
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(widths, dtype=np.int64)))
        indices = read_array(rows.indices, np.int32, int(self._starts[-1]) - start, 4 * start, rows.folder)
        return Encoded(self.offsets, indptr, indices, np.empty(0), self.attributes)

    @cached_property
    def _all(self) -> Encoded:
        return self.loaded()

    @property
    def indptr(self) -> Longs:
        """Where rows begin."""
        return self._all.indptr

    @property
    def indices(self) -> Ints:
        """Attribute numbers."""
        return self._all.indices

    @property
    def values(self) -> Floats:
        """None: all are one."""
        return np.empty(0)
