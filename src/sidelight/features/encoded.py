"""Encoded inputs: the attributes of every token of a batch, flat."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from ..data.corpus import Corpus
from ..data.joined import Joined
from ..errors import DataError
from ..kernels.compiling import Floats, Ints, Longs
from ..quoting import quoted
from ..supervision import StoredOutputs

# Squares of larger values of features would be too large for floats, or nearly.
LARGEST_VALUE = 1e100
State = tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]


def require_list(X: Any, what: str = "sequences") -> int:
    """Returns how many inputs there are; raises `DataError` unless X is a list, or like one."""
    try:
        if hasattr(X, "__getitem__") and not isinstance(X, str | bytes | Mapping):
            return len(X)
    except TypeError:  # sparse matrices and arrays without dimensions have no length
        pass
    raise DataError(f"X must be a list of {what}, got {type(X).__name__}")


def sequence_lengths(X: Sequence[Any]) -> list[int]:
    """How many tokens each sequence has: a list of tokens, or an array with a row for each."""
    if isinstance(X, Corpus):
        lengths: list[int] = np.diff(X.offsets).tolist()
        return lengths
    return [_length(i, x) for i, x in enumerate(X)]


def in_blocks(X: Any) -> list[tuple[int, int]]:
    """Ranges of inputs that are to be looked at one after the other: a corpus on disk has several of them."""
    if not isinstance(X, Corpus):
        return [(0, len(X))]
    edges = np.concatenate(([0], np.cumsum([len(block) for block in X.blocks()]))).tolist()
    return list(pairwise(edges)) or [(0, 0)]


def _length(index: int, x: Any) -> int:
    if getattr(x, "shape", ()):
        return int(x.shape[0])
    if isinstance(x, str) or not hasattr(x, "__len__") or hasattr(x, "shape"):
        raise DataError(f"sequence {index}: expected a list of tokens or an array, got {quoted(x)}")
    return len(x)


def some_of(X: Any, which: Any) -> Any:
    """Some of the inputs, or of y: rows of a matrix or of a data frame, elements of a list; which: their numbers.

    What is on disk stays there.
    """
    if isinstance(X, Corpus | StoredOutputs | Joined):
        return X.take(which)
    if hasattr(X, "iloc"):
        return X.iloc[which]
    if hasattr(X, "tocsr"):  # not all kinds of sparse matrices can give rows
        return X.tocsr()[which]
    return X[which] if hasattr(X, "shape") else [X[i] for i in which]


@dataclass(frozen=True)
class Encoded:
    """A batch of sequences as sparse rows, one per token.

    offsets: (sequences + 1,) int64, where sequences begin; indptr: (tokens + 1,) int64, where rows begin; indices:
    int32 attribute numbers; values: float64 like indices, or empty if all are one; attributes: how many there are.
    """

    offsets: Longs
    indptr: Longs
    indices: Ints
    values: Floats
    attributes: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getstate__(self) -> dict[str, Any]:
        """Other processes, and copies, get the rows of these sequences alone."""
        return dict(vars(self.take(np.arange(len(self)))))

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return len(self.indptr) - 1

    @property
    def entries(self) -> int:
        """Number of attributes that tokens have in all."""
        return int(self.indptr[-1] - self.indptr[0])

    def chunks(self) -> list[tuple[int, int]]:
        """Ranges of sequences that are to be in memory at a time: all of them are."""
        return [(0, len(self))]

    def loaded(self) -> "Encoded":
        """The same in memory, where it is."""
        return self

    def sequences(self, first: int, last: int) -> "Encoded":
        """Sequences first to last - 1. Rows keep pointing into the shared indices."""
        offsets = self.offsets[first : last + 1]
        rows = self.indptr[offsets[0] : offsets[-1] + 1]
        return Encoded(offsets - offsets[0], rows, self.indices, self.values, self.attributes)

    def take(self, which: Longs) -> "Encoded":
        """Some sequences, in this order, with rows of their own."""
        lengths = np.diff(self.offsets)[which]
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        tokens = np.repeat(self.offsets[which] - offsets[:-1], lengths) + np.arange(offsets[-1])
        widths = np.diff(self.indptr)[tokens]
        indptr = np.concatenate(([0], np.cumsum(widths))).astype(np.int64)
        entries = np.repeat(self.indptr[tokens] - indptr[:-1], widths) + np.arange(indptr[-1])
        values = self.values[entries] if len(self.values) else self.values
        return Encoded(offsets, indptr, self.indices[entries], values, self.attributes)


def require_attributes(encoded: Encoded, count: int) -> None:
    """Raises `DataError` unless input has this many attributes: kernels trust their numbers."""
    if encoded.attributes != count:
        raise DataError(
            f"X was encoded by another model: it has {encoded.attributes} attributes, this model {count}; "
            "encode it with this one"
        )


class Encoder(Protocol):
    """Turns sequences into `Encoded`; what it learned in `fit_transform` travels as `state`."""

    def fit_transform(self, X: Any) -> Encoded:
        """Learn the attributes of X and encode it."""
        ...

    def transform(self, X: Any) -> Encoded:
        """Encode X; attributes never seen in fit are left out."""
        ...

    def describe(self, attribute: int) -> str:
        """An attribute in words."""
        ...

    def state(self) -> State:
        """Plain values and arrays that `from_state` of the same class rebuilds the encoder from."""
        ...


def same_encoders(one: Encoder, other: Encoder) -> bool:
    """Whether two encoders have the same state; False where that cannot be told, as with functions in expressions."""
    try:
        return same_states(one.state(), other.state())
    except DataError:
        return False


def same_states(one: State, other: State) -> bool:
    """Whether two states have the same values and arrays."""
    (values, arrays), (others, tables) = one, other
    return (
        values == others
        and arrays.keys() == tables.keys()
        and all(np.array_equal(arrays[name], tables[name]) for name in arrays)
    )
