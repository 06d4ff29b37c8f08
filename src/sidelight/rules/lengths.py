"""Every run of a label has at least a number of tokens."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import DataError
from .automata import Automaton, Compilation
from .labels import Any_, Labels, some_labels
from .language import Rule


@dataclass(frozen=True, eq=False, repr=False)
class MinLength(Rule):
    """Every run of a label of `to` has at least `length` tokens; each shorter run is a violation."""

    length: int
    to: Labels = field(default=Any_)

    def body(self) -> str:
        """For example "min_length(3)"."""
        return f"min_length({', '.join(filter(None, (str(self.length), repr(self.to) if self.to != Any_ else '')))})"

    @property
    def about_whole_outputs(self) -> bool:
        """Whether a run can be too short at all."""
        return self.length != 1

    def automata(self, at: Compilation) -> list[Automaton]:
        """State: tokens of the current run so far, up to `length`, which also stands for a run that may be short."""
        k, L = min(self.length, at.longest + 1), len(at.labels)  # no run is longer than a sequence
        mine = at.members_by_run(self.to) > 0
        events = np.tile(np.where(mine, 1, 2), (L + 1, 1))  # a run begins, of these labels or others
        np.fill_diagonal(events[:L], 0)  # a run goes on
        states = np.arange(k + 1)
        after = np.stack((np.minimum(states + 1, k), np.full(k + 1, 1), np.full(k + 1, k)), axis=1)
        short = (states < k).astype(float)
        degree = np.stack((np.zeros(k + 1), short, short), axis=1)
        return [Automaton.of_labels(at, events, after, degree, np.repeat(short[:, None], L, axis=1), initial=k)]

    def shown_at(self, charged: Sequence[int], labels: Sequence[int]) -> list[int]:
        """The run that is too short, which is known at the first token behind it."""
        return [t for end in charged for t in _run_before(labels, end)]


def _run_before(labels: Sequence[int], end: int) -> range:
    begin = end
    while begin > 0 and labels[begin - 1] == labels[end - 1]:
        begin -= 1
    return range(begin, end)


def min_length(length: int, *labels: Any) -> MinLength:
    """Require that every run of a label has at least this many tokens.

    Each shorter run is a violation.

    Parameters
    ----------
    length : int
        The least number of tokens, at least 1.
    *labels : str, list of str, each or others(...)
        The labels whose runs the rule is about; without any, those of all labels.

    Returns
    -------
    MinLength
        The rule.
    """
    if not isinstance(length, int) or length < 1:
        raise DataError(f"a length is a whole number of at least 1, got {length!r}")
    return MinLength(length, some_labels(labels))
