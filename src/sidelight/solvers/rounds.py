"""One loop of rounds, for everything that alternates: an E step finds outputs or expectations, an M step fits to them.

EM, hard EM, constraint-driven learning, self-training, posterior regularization, unified EM, deterministic annealing
and margins with unknown outputs are this loop with different steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Generic, Protocol, TypeVar

from ..progress import progress

F = TypeVar("F")
S = TypeVar("S")
R = TypeVar("R")


class MStep(Protocol[F]):
    """What fits to what E steps find."""

    def alternate(self, expect: Callable[[], F], rounds: int, after: Callable[[F], bool]) -> None:
        """Make E and M steps, this many rounds or fewer if they lead nowhere.

        `after` is called between the E step and the M step of each round, and returns whether to stop there.
        """
        ...


@dataclass(frozen=True)
class InTurn(Generic[F]):
    """E and M steps in turn; `fit` may return True to stop."""

    fit: Callable[[F], bool | None]

    def alternate(self, expect: Callable[[], F], rounds: int, after: Callable[[F], bool]) -> None:
        """Make E and M steps in turn."""
        for _ in range(rounds):
            found = expect()
            if after(found) or self.fit(found):
                return


def alternate(
    schedule: Sequence[S],
    expect: Callable[[S], F],
    fit: MStep[F],
    record: Callable[[int, S, F], R | None],
    *,
    title: str = "",
    verbose: bool = False,
    settled: Callable[[F], bool] = lambda found: False,
) -> tuple[R, ...]:
    """Make rounds, and return what `record` says of each.

    schedule: a setting for every round, such as its temperature; rounds with the same setting go to `fit` together.
    record: called with the round's number, its setting and what the E step found; None is not kept. settled: whether
    what was found ends the rounds.
    """
    trace: list[R] = []
    number, ended = 0, False

    def after(setting: S, found: F) -> bool:
        nonlocal number, ended
        number += 1
        step = record(number, setting, found)
        if step is not None:
            trace.append(step)
            tell(number, str(step))
        ended = settled(found)
        return ended

    with progress(title, len(schedule), verbose) as tell:
        for setting, group in groupby(schedule):
            fit.alternate(partial(expect, setting), len(list(group)), partial(after, setting))
            if ended:
                break
    return tuple(trace)
