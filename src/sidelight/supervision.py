"""What is known about an output: y may be full, partial, nothing, or a yes/no.

["AUTHOR", "AUTHOR", "TITLE"]        every label is known
[None, {"AUTHOR", "EDITOR"}, None]   unknown, one of these, unknown
None                                 nothing is known
GOOD, BAD                            the input has a good structure, or has none
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, NotSupported


class Companion(Enum):
    """The yes/no signal about an input."""

    GOOD = "GOOD"
    BAD = "BAD"

    def __repr__(self) -> str:
        return self.name


GOOD = Companion.GOOD
BAD = Companion.BAD


class Signal(Enum):
    """Kinds of knowledge about one output."""

    FULL = "full labels"
    PARTIAL = "partial labels"
    NOTHING = "unlabelled {}s (None)"
    COMPANION = "GOOD / BAD"


# Learners of rules about expectations.
_EXPECTING = (
    "PosteriorRegularization", "UnifiedEM", "DeterministicAnnealing", "GeneralizedExpectation", "EntropyRegularization",
)  # fmt: skip
# Which learners can use which signal, whether imported or not; a test holds it to the learners' own `signals`.
USERS: dict[Signal, tuple[str, ...]] = {
    Signal.FULL: (
        "Auto", "HMM", "CRF", "StructuredPerceptron", "Mira", "StructuralSVM", "LatentStructuralSVM", "JLIS", "SemiCRF",
        "CCM", "Codl", "EM", "SelfTraining", *_EXPECTING, "ContrastiveEstimation", "MaxEnt", "DocumentJLIS",
    ),
    Signal.PARTIAL: ("Auto", "CRF", "LatentStructuralSVM", "CCM", "EM", *_EXPECTING, "ContrastiveEstimation", "MaxEnt"),
    Signal.NOTHING: ("Auto", "Codl", "EM", "SelfTraining", *_EXPECTING, "ContrastiveEstimation"),
    Signal.COMPANION: ("Auto", "JLIS", "DocumentJLIS"),
}  # fmt: skip
# Those of one label per document; the others label sequences.
OF_DOCUMENTS = ("MaxEnt", "DocumentJLIS")


def learns_from(*signals: Signal) -> Any:
    """Class decorator: this learner can use these kinds of y."""

    def mark(cls: Any) -> Any:
        cls.signals = frozenset(signals)
        return cls

    return mark


def require(learner: Any, kinds: Iterable[Signal]) -> None:
    """Raise `NotSupported`, naming learners that would work, if y holds a kind the learner cannot use."""
    name = type(learner).__name__
    inputs = "document" if name in OF_DOCUMENTS else "sequence"
    for index, kind in enumerate(kinds):
        if kind not in learner.signals:
            others = [other for other in USERS[kind] if (other in OF_DOCUMENTS) == (name in OF_DOCUMENTS)]
            advice = f"use {' or '.join(others)}" if others else f"no learner of {inputs}s can; leave them out"
            raise NotSupported(f"{name} cannot learn from {kind.value.format(inputs)} ({inputs} {index}); {advice}")


def kind_of(known: Any) -> Signal:
    """The kind of one element of y."""
    if known is None:
        return Signal.NOTHING
    if isinstance(known, Companion):
        return Signal.COMPANION
    if all(isinstance(label, str) for label in known):
        return Signal.FULL
    if all(label is None for label in known):
        return Signal.NOTHING
    return Signal.PARTIAL


@dataclass(frozen=True)
class Targets:
    """y as arrays.

    kinds: one per sequence; labels: (tokens,) int32, -1 where the label is not known exactly; allowed: (tokens,
    labels) bool, or None if every label is known.
    """

    kinds: tuple[Signal, ...]
    labels: NDArray[np.int32]
    allowed: NDArray[np.bool_] | None

    @property
    def full(self) -> bool:
        """Whether every label is known."""
        return self.allowed is None

    def choices(self, count: int) -> NDArray[np.bool_]:
        """What is allowed among so many labels: (tokens, count); a known label allows itself alone."""
        if self.allowed is not None:
            return self.allowed
        alone: NDArray[np.bool_] = self.labels[:, None] == np.arange(count)
        return alone


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


def encode_targets(y: Sequence[Any], lengths: Sequence[int], labels: Sequence[str]) -> Targets:
    """y as arrays over the given labels; a label outside of them is an error."""
    number = {label: k for k, label in enumerate(labels)}
    kinds = tuple(kind_of(known) for known in y)
    flat: list[Any] = []
    for known, n in zip(y, lengths, strict=True):
        flat.extend([None] * n if known is None or isinstance(known, Companion) else known)
    codes = np.fromiter((number.get(one, -1) if isinstance(one, str) else -1 for one in flat), np.int32, len(flat))
    if all(kind is Signal.FULL for kind in kinds):
        if (codes < 0).any():
            _unknown_label(y, number)
        return Targets(kinds, codes, None)
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
    return Targets(kinds, codes, allowed)


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
