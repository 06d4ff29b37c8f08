"""Exceptions and warnings of the package. Every expected failure is one of these, and its message says what to do."""

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

_PACKAGE = f"{Path(__file__).parent}{os.sep}"
# A message of more characters keeps only so many of its beginning and of its end.
_LONGEST, _BEGINNING, _END = 1000, 600, 350


class SidelightError(Exception):
    """Base of all errors raised on purpose by sidelight."""

    def __str__(self) -> str:
        """Returns the message, shortened if it is very long."""
        return shortened(super().__str__())


class DataError(SidelightError, ValueError):
    """The input is malformed; the message names the place (file and line, or sequence and position)."""


class ParameterError(SidelightError, TypeError):
    """An estimator has no parameter of this name; the message names the nearest one."""


class NotSupported(SidelightError):
    """The chosen combination cannot do what is asked; the message names one that can."""


class Infeasible(SidelightError):
    """No output satisfies what is required; the message names the input and the requirement.

    Parameters
    ----------
    what : str
        The message, without the input's number.
    sequence : int or None, default=None
        The input's number, or None if the message is not about one.
    noun : str, default='sequence'
        What an input is called.
    """

    def __init__(self, what: str, sequence: int | None = None, noun: str = "sequence") -> None:
        super().__init__(what if sequence is None else f"{noun} {sequence} {what}")
        self.what, self.sequence, self.noun = what, sequence, noun

    def __reduce__(self) -> tuple[type["Infeasible"], tuple[str, int | None, str]]:
        return Infeasible, (self.what, self.sequence, self.noun)

    def numbered(self, sequence: int) -> "Infeasible":
        """The same about another number, where the input was one of a selection."""
        return Infeasible(self.what, sequence, self.noun)


class WorseThanBase(UserWarning):
    """A learner from rules or unlabelled data does worse than its supervised base, or has lost most labels."""


class ClusterError(SidelightError):
    """Processes that were to work cannot be reached, have another version of the package, or died too often."""


class ModelFileError(SidelightError):
    """A model file cannot be read or written."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, naming the line outside the package that called into it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(shortened(message), category, stacklevel=level)


def shortened(message: str) -> str:
    """Returns a message, without its middle if it is very long, as messages are that quote a long input."""
    if len(message) <= _LONGEST:
        return message
    left_out = len(message) - _BEGINNING - _END
    return f"{message[:_BEGINNING]} ... [{left_out:,} characters left out] ... {message[-_END:]}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns a hint for a message, with the known name that is most like one that is not known; empty without any."""
    return "".join(f"; did you mean {one!r}?" for one in close_names(name, known))


def close_names(name: str, known: Iterable[str], count: int = 1, *, cutoff: float = 0.7) -> list[str]:
    """Returns the known names that are most like one that is not known, at most `count` of them.

    cutoff: how much alike by `difflib` they must be, from 0 to 1.
    """
    names = {one.lower(): one for one in known}
    close = get_close_matches(name.lower(), names, n=count, cutoff=cutoff)
    if not close:  # two letters of a short name may have changed places, or one of them is another
        close = [one for one in names if _is_nearly(one, name.lower())][:count]
    return [names[found] for found in close]


def _is_nearly(short: str, other: str) -> bool:
    """Whether two names of the same length have the same letters, or are short and differ in a single one."""
    if len(short) != len(other):
        return False
    return sorted(short) == sorted(other) or (len(short) <= 4 and sum(map(str.__ne__, short, other)) == 1)


def listed(words: Sequence[str], last: str = "and") -> str:
    """Returns words as a message lists them: "a", "a and b", "a, b and c"."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


@contextmanager
def numbers_of(chosen: Sequence[int]) -> Iterator[None]:
    """Errors about a selection of sequences name them by their numbers among all."""
    try:
        yield
    except Infeasible as error:
        if error.sequence is None:
            raise
        raise error.numbered(chosen[error.sequence]) from None


@contextmanager
def inputs_called(noun: str) -> Iterator[None]:
    """Errors about inputs call them what the task does."""
    try:
        yield
    except Infeasible as error:
        raise Infeasible(error.what, error.sequence, noun) from None
