"""Labels as people write them in y, and the arrays that they become.

An element of y is a list of labels, each a string, a set of strings of which one is right, or None; or it is None, GOOD
or BAD as a whole.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from numbers import Integral
from typing import Any

import numpy as np

from .errors import DataError, close_names, did_you_mean
from .kernels.compiling import Flags, Ints, Longs
from .quoting import quoted
from .rules.labels import span_type
from .structures.known import KnownLabels, StoredLabels, places_of
from .supervision import LABELS, Companion, Signal, StoredOutputs, all_kinds, kind_of

# Labels with at least so many letters may be misspelt; a misspelling is at least this similar by `difflib`.
_LONG_ENOUGH, _LIKENESS = 5, 0.8


def check_lengths(X_lengths: Sequence[int], y: Any) -> None:
    """X and y must tell of the same sequences and tokens."""
    if not hasattr(y, "__len__") or isinstance(y, str):
        raise DataError(f"y must be a list with one element per sequence, got {type(y).__name__}")
    if len(X_lengths) != len(y):
        raise DataError(f"X has {len(X_lengths)} sequences but y has {len(y)}")
    if isinstance(y, StoredOutputs):
        other = np.flatnonzero(np.asarray(X_lengths) != np.diff(y.offsets))
        if len(other):
            i = int(other[0])
            raise DataError(f"sequence {i} has {X_lengths[i]} tokens but {np.diff(y.offsets)[i]} labels")
        return
    for i, (n, known) in enumerate(zip(X_lengths, y, strict=True)):
        if known is None or isinstance(known, Companion):
            continue
        if isinstance(known, str | type) or not hasattr(known, "__len__"):
            raise DataError(f"y of sequence {i} must be a list of labels, None, GOOD or BAD, got {quoted(known)}")
        if len(known) != n:
            raise DataError(f"sequence {i} has {n} tokens but {len(known)} labels")


def label_set(y: Sequence[Any], numbers: bool = False) -> list[Any]:
    """All labels that occur, sorted; numbers: whether these may be whole numbers, all of them, in place of strings."""
    found: set[Any] = set()
    if isinstance(y, StoredOutputs):
        return sorted(found.union(*({one} if isinstance(one, str) else one for one in y.used())))
    several = list[Any]()  # sets compare True and 1 as equal
    kinds = LABELS if numbers else (str,)
    for i, known in enumerate(y):
        if known is None or isinstance(known, Companion):
            continue
        if isinstance(known, list | tuple) and set(map(type, known)) <= {str}:  # as most are
            found.update(known)
            continue
        for t, label in enumerate(known):
            if isinstance(label, kinds):
                several.append(label)
            elif isinstance(label, set | frozenset) and label and all(isinstance(one, kinds) for one in label):
                several.extend(label)
            elif label is not None:
                names = "; write names in place of numbers, as in [[names[k] for k in labels] for labels in y]"
                hint = f"{names}; read_table does so for a ClassLabel" if isinstance(label, Integral) else ""
                raise DataError(
                    f"sequence {i}, token {t}: a label is a string, None or a non-empty set of strings, "
                    f"got {quoted(label)}{hint}"
                )
    require_one_kind([*found, *several], "y has")
    return sorted(found.union(several))


def require_one_kind(labels: Iterable[Any], where: str) -> None:
    """Raises `DataError` unless all labels are strings, all are whole numbers, or all are True and False."""
    kinds = {next(one for one in (bool, str, int, object) if isinstance(label, one)) for label in labels}
    if len(kinds) > 1:
        raise DataError(
            f"{where} labels of several kinds; write all as strings, all as whole numbers, or all as True and False"
        )


def plain_labels(classes: Iterable[Any]) -> list[Any]:
    """Returns labels without the types of NumPy, so that they are written to files and compared as others are."""
    plain = [one.item() if isinstance(one, np.generic) else one for one in classes]
    require_one_kind(plain, "classes has")
    return plain


def misspelt_label(label: str, known: Iterable[str]) -> str | None:
    """Returns the known label that a label seems to be a misspelling of; None where there is none.

    Short labels, such as NN and NNS, are no misspellings of each other unless they differ in upper and lower case
    alone, and neither is I-NP where there is B-NP. NP means the labels of the type NP there.
    """
    known = sorted(known)
    if any(one != span_type(one) == span_type(label) for one in known):
        return None
    if label == span_type(label):
        known = sorted({*known, *map(span_type, known)})
    if len(label) < _LONG_ENOUGH:
        return next((one for one in known if one.lower() == label.lower()), None)
    return next(iter(close_names(label, known, cutoff=_LIKENESS)), None)


def majority_label(y: Sequence[Any]) -> str | None:
    """The label of most tokens with full labels, such as that of tokens in no field; None without.

    That is more than half of them and more than 1.2 times the share that it would have if all labels had the same.
    """
    if isinstance(y, StoredOutputs):
        counts = y.full_counts()
    else:
        counts = Counter(label for known in y if kind_of(known) is Signal.FULL for label in known)
    if len(counts) < 2:
        return None
    label, count = counts.most_common(1)[0]
    return label if count / counts.total() > max(0.5, 1.2 / len(counts)) else None


def encode_labels(y: Sequence[Any], lengths: Sequence[int], labels: Sequence[str]) -> KnownLabels:
    """Returns y as arrays over the given labels; a label outside of them is an error."""
    number: dict[Any, int] = {label: k for k, label in enumerate(labels)}
    if isinstance(y, StoredOutputs):
        return _encode_stored(y, number)
    kinds = tuple(all_kinds(y))
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    flat: list[Any] = []
    for known, n in zip(y, lengths, strict=True):
        flat.extend([None] * n if known is None or isinstance(known, Companion) else known)
    full = all(kind is Signal.FULL for kind in kinds)
    coded = (number.get(one, -1) if isinstance(one, LABELS) else -1 for one in flat)
    codes = np.fromiter(map(number.get, flat, repeat(-1)) if full else coded, np.int32, len(flat))
    if full:
        if (codes < 0).any():
            _unknown_label(y, number)
        return KnownLabels(kinds, codes, None, offsets)
    allowed = np.ones((len(flat), len(labels)), bool)
    for t, one in enumerate(flat):
        if one is None:
            continue
        options = {one} if isinstance(one, LABELS) else one
        if not options <= number.keys():
            _unknown_label(y, number)
        allowed[t] = False
        allowed[t, [number[label] for label in options]] = True
    single = allowed.sum(axis=1) == 1
    if single.any():
        codes[single] = allowed[single].argmax(axis=1)
    return KnownLabels(kinds, codes, allowed, offsets)


def _encode_stored(y: StoredOutputs, number: dict[Any, int]) -> StoredLabels:
    """The same of labels on disk: tables from their codes to labels, and to the labels that are allowed."""
    kinds, none = tuple(y.kinds()), 3  # the codes -3, -2 and -1 stand for none
    table = np.full(none + len(y.entries), -1, np.int32)
    allowed: Flags = np.ones((len(table), len(number)), bool)
    used = set(y.used())
    for k, entry in enumerate(y.entries, none):
        options = {entry} if isinstance(entry, str) else entry
        if entry in used and not options <= number.keys():
            _unknown_label(y, number)
        known = [number[label] for label in options if label in number]
        allowed[k] = False
        allowed[k, known] = True
        table[k] = known[0] if len(known) == 1 else -1
    full = all(kind is Signal.FULL for kind in kinds)
    return StoredLabels(kinds, y.offsets, y.codes, none, table, None if full else allowed)


class CodedLabels(StoredOutputs):
    """Full labels as numbers, which take less memory than lists of strings: y to those who ask for a list.

    numbers: (tokens,) int32 places in `entries`, the labels; offsets: where the tokens of each sequence begin.
    """

    def __init__(self, numbers: Ints, offsets: Longs, entries: Sequence[str]) -> None:
        self._numbers, self._offsets, self._entries = numbers, offsets, entries

    @classmethod
    def joined(cls, parts: Sequence["CodedLabels"]) -> "CodedLabels":
        """Those of several with the same labels, one after the other."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        return cls(np.concatenate([part.codes(0, len(part)) for part in parts]), offsets, parts[0].entries)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step != 1:
                return self.take(range(first, last, step))
            return CodedLabels(self._numbers, self._offsets[first : max(first, last) + 1], self._entries)
        i = range(len(self))[index]
        return [self._entries[code] for code in self.codes(i, i + 1).tolist()]

    @property
    def offsets(self) -> Longs:
        """Where the tokens of each sequence begin."""
        own: Longs = self._offsets - self._offsets[0]
        return own

    @property
    def entries(self) -> Sequence[str]:
        """The labels."""
        return self._entries

    def codes(self, first: int, last: int) -> Ints:
        """The labels of sequences first to last - 1."""
        return self._numbers[self._offsets[first] : self._offsets[last]]

    def kinds(self) -> list[Signal]:
        """All labels are known."""
        return [Signal.FULL] * len(self)

    def used(self) -> list[Any]:
        """The labels that occur."""
        counts = np.bincount(self.codes(0, len(self)), minlength=len(self._entries))
        return [one for one, count in zip(self._entries, counts, strict=True) if count]

    def full_counts(self) -> Counter[str]:
        """How many tokens have each label."""
        counts = np.bincount(self.codes(0, len(self)), minlength=len(self._entries)).tolist()
        return Counter({one: count for one, count in zip(self._entries, counts, strict=True) if count})

    def take(self, which: Any) -> "CodedLabels":
        """Those of some sequences, in this order."""
        places, offsets = places_of(self._offsets, np.asarray(which, np.int64))
        return CodedLabels(self._numbers[places], offsets, self._entries)

    def content(self) -> Iterator[Any]:
        """Yields all that makes it what it is."""
        yield self.offsets
        yield list(self._entries)
        yield self.codes(0, len(self))


def as_sequences(y: Any, count: int) -> list[Any]:
    """What is known about `count` single decisions, written as for sequences of one token.

    An element of y is a label, a set of labels, None, GOOD or BAD. A label is a string or a whole number.
    """
    if not hasattr(y, "__len__") or isinstance(y, str):
        raise DataError(f"y must be a list with one element per document, got {type(y).__name__}")
    if len(y) != count:
        raise DataError(f"X has {count} documents but y has {len(y)}")
    out: list[Any] = []
    for i, known in enumerate(y):
        plain = known.item() if isinstance(known, np.generic) else known
        plain = int(plain) if isinstance(plain, float) and plain.is_integer() else plain
        labels = plain if isinstance(plain, set | frozenset) else [plain]
        if plain is None or isinstance(plain, Companion):
            out.append(plain)
        elif labels and all(isinstance(label, LABELS) for label in labels):
            out.append([plain])
        elif isinstance(plain, float):
            raise DataError(
                f"document {i}: a label is a string or a whole number, got the continuous value {quoted(plain)}"
            )
        else:
            raise DataError(
                f"document {i}: expected a label (a string or a whole number), a non-empty set of them, None, GOOD or "
                f"BAD, got {quoted(known)}"
            )
    return out


def _unknown_label(y: Sequence[Any], number: dict[Any, int]) -> None:
    for i, known in enumerate(y):
        if known is None or isinstance(known, Companion):
            continue
        for t, one in enumerate(known):
            for label in [one] if isinstance(one, LABELS) else one or ():
                if label not in number:
                    raise DataError(
                        f"sequence {i}, token {t}: label {quoted(label)} was never seen in training; "
                        f"known are {', '.join(map(str, number))}{did_you_mean(str(label), map(str, number))}"
                        "; name labels that training lacks with classes=[...]"
                    )
