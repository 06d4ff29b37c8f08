"""One loop of rounds, for everything that alternates: an E step finds outputs or expectations, an M step fits to them.

EM, hard EM, constraint-driven learning, self-training, posterior regularization, unified EM, deterministic annealing
and margins with unknown outputs are this loop with different steps.

A checkpoint has what the last E step found, so that a loop that is resumed begins with the M step after it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from ..progress import progress
from ..records import Record
from ..running import checkpoints, stopping
from ..running.checkpoints import NOTHING, Carried
from ..running.forms import Number, Several

F = TypeVar("F")
S = TypeVar("S")
R = TypeVar("R")


class MStep(Protocol[F]):
    """What fits to what E steps find.

    within_solver: whether all rounds of a setting are one run of a solver, which then saves what they carry.
    """

    within_solver: ClassVar[bool]

    def alternate(self, expect: Callable[[], F], rounds: int, after: Callable[[F], bool], carried: Carried) -> bool:
        """Make E and M steps, this many rounds or fewer if they lead nowhere; returns whether all rounds are to end.

        `after` is called between the E step and the M step of each round, and returns whether to stop there. carried:
        what both carry from one round to the next.
        """
        ...


@dataclass(frozen=True)
class InTurn(Generic[F]):
    """E and M steps in turn; `fit` may return True to stop."""

    within_solver: ClassVar[bool] = False
    fit: Callable[[F], bool | None]

    def alternate(
        self, expect: Callable[[], F], rounds: int, after: Callable[[F], bool], carried: Carried = NOTHING
    ) -> bool:
        """Make E and M steps in turn."""
        for _ in range(rounds):
            found = expect()
            if after(found) or self.fit(found):
                return True
        return False


def alternate(
    schedule: Sequence[S],
    expect: Callable[[S], F],
    fit: MStep[F],
    record: Callable[[int, S, F], R | None],
    *,
    title: str = "",
    verbose: bool = False,
    settled: Callable[[F], bool] = lambda found: False,
    carried: Carried = NOTHING,
    first_needed: bool = True,
    form: Callable[[], Any] = lambda: None,
) -> tuple[R, ...]:
    """Make rounds, and return what `record` says of each.

    schedule: a setting for every round, such as its temperature; rounds with the same setting go to `fit` together.
    record: called with the round's number, its setting and what the E step found; None is not kept. settled: whether
    what was found ends the rounds. carried: what the next round needs beside what the last E step found and what the M
    step makes of that alone. first_needed: whether there is no model before the first round; a later one that is
    interrupted is given up. form: returns the form of what E steps find (`running.forms`), where checkpoints keep that.
    """
    loop = _Loop[F, R](carried, len(schedule))
    with progress(title, len(schedule), verbose) as tell, checkpoints.step("rounds", nested=True) as saved:
        before = saved.state(lambda: loop.form(form()))
        if before is not None:
            loop.load(before)

        def find(setting: S) -> F:
            return expect(setting) if loop.waiting is None else loop.waiting

        def after(setting: S, found: F) -> bool:
            if loop.waiting is not None:  # an earlier run came this far
                loop.waiting = None
                return loop.ended
            loop.number += 1
            step = record(loop.number, setting, found)
            if step is not None:
                loop.trace.append(step)
                tell(loop.number, str(step))
            loop.ended = settled(found)
            if not fit.within_solver and not loop.ended:  # at the end the M step before is the one to make again
                saved.keep(loop.save(found))
            return loop.ended

        try:
            for setting, count in _runs(schedule[loop.made :], together=fit.within_solver):
                first = loop.number == 0 and first_needed
                with stopping.when_asked("end" if fit.within_solver else "go on" if first else "give up"):
                    if not first and checkpoints.ends_here():
                        break
                    ends = fit.alternate(partial(find, setting), count, partial(after, setting), loop.carried)
                    if ends or loop.ended:
                        break
        except stopping.GivenUp:
            if not stopping.given_up_here():
                raise
    return tuple(loop.trace)


class _Loop(Generic[F, R]):
    """Where the rounds stand: how many E steps there were, what is told of them, and whether they are to end.

    waiting: what an E step of an earlier run found, which the M step is to fit to first.
    """

    def __init__(self, carried: Carried, most: int) -> None:
        self.number, self.ended, self._most = 0, False, most
        self.trace: list[R] = []
        self.waiting: F | None = None
        self._steps = carried
        self.carried = Carried(lambda: self.save(None), self.load, lambda: self.form(None))

    @property
    def made(self) -> int:
        """How many rounds are over."""
        return self.number if self.waiting is None else self.number - 1

    def save(self, found: F | None) -> dict[str, Any]:
        """Returns what the rest of the rounds needs, after an E step has found this."""
        held = {"number": self.number, "ended": self.ended, "trace": tuple(self.trace)}
        return {**held, "found": found, "steps": self._steps.save()}

    def form(self, found: Any) -> dict[str, Any]:
        """Returns the form of what `save` gives; found: that of what E steps find."""
        number, trace = Number(0, self._most, whole=True), Several(Record | str)
        return {"number": number, "ended": bool, "trace": trace, "found": found, "steps": self._steps.form()}

    def load(self, saved: dict[str, Any]) -> None:
        """Take back what `save` gave."""
        self.number, self.ended, self.trace = saved["number"], saved["ended"], list(saved["trace"])
        self.waiting = saved["found"]
        self._steps.load(saved["steps"])


def _runs(schedule: Sequence[S], *, together: bool) -> list[tuple[S, int]]:
    """The settings, and how many rounds each of them has at a time."""
    if together:
        return [(setting, len(list(group))) for setting, group in groupby(schedule)]
    return [(setting, 1) for setting in schedule]
