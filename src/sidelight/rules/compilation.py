"""What a rule is compiled for: a batch of inputs, and the labels that outputs can have."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError, did_you_mean
from ..features.templates import sequence_offsets
from ..kernels.compiling import Floats, Longs
from .conditions import Mask, Where, mask_of
from .labels import Each, Labels

if TYPE_CHECKING:
    from .language import Rule


class Batch:
    """A batch of inputs and the labels that outputs can have; what several rules ask of it is found once."""

    def __init__(self, X: Sequence[Any], labels: Sequence[str]) -> None:
        self.X, self.labels = X, labels
        self._masks: dict[int, tuple[Where, Mask]] = {}  # by identity, which the condition beside it keeps

    @cached_property
    def offsets(self) -> Longs:
        """Where sequences begin and end among the tokens of the batch."""
        return sequence_offsets(self.X)

    @cached_property
    def longest(self) -> int:
        """The number of tokens of the longest sequence, so that no counter takes more steps."""
        return int(np.diff(self.offsets).max())

    def holds(self, condition: Where) -> Mask:
        """Where a condition holds: (tokens,) bool, not to be changed."""
        if id(condition) not in self._masks:
            self._masks[id(condition)] = condition, mask_of(condition, self.X)
        return self._masks[id(condition)][1]


@dataclass(frozen=True)
class Compilation:
    """One rule on a batch of inputs.

    rule: as it was given, which errors name; title: what tables call this share of it, such as "once [author]".
    """

    rule: "Rule"
    title: str
    batch: Batch

    @property
    def labels(self) -> Sequence[str]:
        """The labels that outputs can have."""
        return self.batch.labels

    @property
    def offsets(self) -> Longs:
        """Where sequences begin and end among the tokens of the batch."""
        return self.batch.offsets

    @property
    def tokens(self) -> int:
        """The number of tokens in the batch."""
        return int(self.offsets[-1])

    @property
    def longest(self) -> int:
        """The number of tokens of the longest sequence, so that no counter takes more steps."""
        return self.batch.longest

    def members(self, these: Labels) -> Floats:
        """0/1 over labels: whether each is one of these. A label that does not exist is an error."""
        assert not isinstance(these.names, Each)
        unknown = [name for name in these.names if name not in self.labels]
        if unknown:
            raise DataError(
                f"rule {self.rule.title!r} names the label {unknown[0]!r}; known are {', '.join(self.labels)}"
                f"{did_you_mean(unknown[0], self.labels)}"
            )
        inside = np.array([label in these.names for label in self.labels], float)
        return 1 - inside if these.all_but else inside

    def holds(self, condition: Where | None) -> Mask:
        """Where a condition holds: (tokens,) bool; None holds everywhere."""
        if condition is None:
            return np.ones(self.tokens, bool)
        try:
            return self.batch.holds(condition)
        except DataError as error:
            raise DataError(f"rule {self.rule.title!r}: {error}") from error.__cause__
