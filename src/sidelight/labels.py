"""Labels as people write them in y, and the arrays that they become.

An element of y is a list of labels, each a string, a set of strings of which one is right, or None; or it is None, GOOD
or BAD as a whole.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np

from .errors import DataError
from .structures.known import KnownLabels
from .supervision import Companion, Signal, kind_of


def check_lengths(X_lengths: Sequence[int], y: Any) -> None:
    """X and y must tell of the same sequences and tokens."""
    if not hasattr(y, "__len__") or isinstance(y, str):
        raise DataError(f"y must be a list with one element per sequence, got {type(y).__name__}")
    if len(X_lengths) != len(y):
        raise DataError(f"X has {len(X_lengths)} sequences but y has {len(y)}")
    for i, (n, known) in enumerate(zip(X_lengths, y, strict=True)):
        if known is None or isinstance(known, Companion):
            continue
        if isinstance(known, str) or not hasattr(known, "__len__"):
            raise DataError(f"y of sequence {i} must be a list of labels, None, GOOD or BAD, got {known!r}")
        if len(known) != n:
            raise DataError(f"sequence {i} has {n} tokens but {len(known)} labels")


def label_set(y: Sequence[Any]) -> list[str]:
    """All labels that occur, sorted."""
    found: set[str] = set()
    for i, known in enumerate(y):
        if known is None or isinstance(known, Companion):
            continue
        if isinstance(known, list | tuple) and set(map(type, known)) <= {str}:  # as most are
            found.update(known)
            continue
        for t, label in enumerate(known):
            if isinstance(label, str):
                found.add(label)
            elif isinstance(label, set | frozenset) and label and all(isinstance(one, str) for one in label):
                found |= label
            elif label is not None:
                raise DataError(
                    f"sequence {i}, token {t}: a label is a string, None or a non-empty set of strings, got {label!r}"
                )
    return sorted(found)


def majority_label(y: Sequence[Any]) -> str | None:
    """The label of most tokens with full labels, such as that of tokens in no field; None without.

    That is more than half of them and more than 1.2 times the share that it would have if all labels had the same.
    """
    counts = Counter(label for known in y if kind_of(known) is Signal.FULL for label in known)
    if len(counts) < 2:
        return None
    label, count = counts.most_common(1)[0]
    return label if count / counts.total() > max(0.5, 1.2 / len(counts)) else None


def encode_labels(y: Sequence[Any], lengths: Sequence[int], labels: Sequence[str]) -> KnownLabels:
    """Returns y as arrays over the given labels; a label outside of them is an error."""
    number = {label: k for k, label in enumerate(labels)}
    kinds = tuple(kind_of(known) for known in y)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    flat: list[Any] = []
    for known, n in zip(y, lengths, strict=True):
        flat.extend([None] * n if known is None or isinstance(known, Companion) else known)
    full = all(kind is Signal.FULL for kind in kinds)
    coded = (number.get(one, -1) if isinstance(one, str) else -1 for one in flat)
    codes = np.fromiter(map(number.get, flat, repeat(-1)) if full else coded, np.int32, len(flat))
    if full:
        if (codes < 0).any():
            _unknown_label(y, number)
        return KnownLabels(kinds, codes, None, offsets)
    allowed = np.ones((len(flat), len(labels)), bool)
    for t, one in enumerate(flat):
        if one is None:
            continue
        options = {one} if isinstance(one, str) else one
        if not options <= number.keys():
            _unknown_label(y, number)
        allowed[t] = False
        allowed[t, [number[label] for label in options]] = True
    single = allowed.sum(axis=1) == 1
    if single.any():
        codes[single] = allowed[single].argmax(axis=1)
    return KnownLabels(kinds, codes, allowed, offsets)


def as_sequences(y: Any, count: int) -> list[Any]:
    """What is known about `count` single decisions, written as for sequences of one token.

    An element of y is a label, a set of labels, None, GOOD or BAD.
    """
    if not hasattr(y, "__len__") or isinstance(y, str):
        raise DataError(f"y must be a list with one element per document, got {type(y).__name__}")
    if len(y) != count:
        raise DataError(f"X has {count} documents but y has {len(y)}")
    out: list[Any] = []
    for i, known in enumerate(y):
        labels = known if isinstance(known, set | frozenset) else [known]
        if known is None or isinstance(known, Companion):
            out.append(known)
        elif labels and all(isinstance(label, str) for label in labels):
            out.append([known])
        else:
            raise DataError(
                f"document {i}: expected a label (a string), a non-empty set of them, None, GOOD or BAD, got {known!r}"
            )
    return out


def _unknown_label(y: Sequence[Any], number: dict[str, int]) -> None:
    for i, known in enumerate(y):
        if known is None or isinstance(known, Companion):
            continue
        for t, one in enumerate(known):
            for label in [one] if isinstance(one, str) else one or ():
                if label not in number:
                    raise DataError(
                        f"sequence {i}, token {t}: label {label!r} was never seen in training; "
                        f"known are {', '.join(number)}"
                    )
