"""What is known about an output: y may be full, partial, nothing, or a yes/no.

["AUTHOR", "AUTHOR", "TITLE"]        every label is known
[None, {"AUTHOR", "EDITOR"}, None]   unknown, one of these, unknown
None                                 nothing is known
GOOD, BAD                            the input has a good structure, or has none
"""

from collections.abc import Iterable
from enum import Enum
from typing import Any

from .errors import NotSupported


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
    Signal.PARTIAL: (
        "Auto", "CRF", "LatentStructuralSVM", "SemiCRF", "CCM", "EM", *_EXPECTING, "ContrastiveEstimation", "MaxEnt",
    ),
    Signal.NOTHING: ("Auto", "Codl", "EM", "SelfTraining", *_EXPECTING, "ContrastiveEstimation"),
    Signal.COMPANION: ("Auto", "JLIS", "DocumentJLIS"),
}  # fmt: skip
# Those that are for documents alone, and all that can learn from documents.
PRESETS = ("MaxEnt", "DocumentJLIS")
OF_DOCUMENTS = (
    "CRF", "StructuredPerceptron", "Mira", "StructuralSVM", "LatentStructuralSVM", "JLIS", "SelfTraining", *PRESETS,
)  # fmt: skip


def learns_from(*signals: Signal) -> Any:
    """Class decorator: this learner can use these kinds of y."""

    def mark(cls: Any) -> Any:
        cls.signals = frozenset(signals)
        return cls

    return mark


def require(learner: Any, kinds: Iterable[Signal], noun: str = "sequence") -> None:
    """Raise `NotSupported`, naming learners that would work, if y holds a kind the learner cannot use."""
    name = type(learner).__name__
    for index, kind in enumerate(kinds):
        if kind not in learner.signals:
            others = [one for one in USERS[kind] if (one in OF_DOCUMENTS if noun == "document" else one not in PRESETS)]
            raise NotSupported(
                f"{name} cannot learn from {kind.value.format(noun)} ({noun} {index}); use {' or '.join(others)}"
            )


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
