"""Fits that survive: a journal of what the solvers of a fit found, from which a fit that was killed goes on.

Everything that a fit does follows from its data and parameters, so it can be done again, to the last bit, if what takes
long is read from the journal. Every run of a solver and every loop of rounds is a `step`, counted in the order of the
program. On resuming, a step that was finished returns what it had found, the one that was under way goes on from the
state that was saved last, and the others run.

The journal is in memory, and is written as a whole, to one file, from time to time (`every`).
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from ..errors import DataError, warn
from ..quoting import quoted
from ..stored import matches
from . import saved_values, stopping
from .digests import UNIMPORTANT, digest
from .forms import Number, require

T = TypeVar("T")

_FORMAT, _VERSION, _FILE, _LOCK = "sidelight checkpoint", 3, "checkpoint.zip", "lock"
# Writing may take this share of the time at most.
_SHARE = 0.1


@dataclass
class JournalEntry:
    """What the journal knows of a step: what it found, if it is done, or else a state to go on from, None if none."""

    kind: str
    done: bool = False
    value: Any = None


@dataclass
class _Level:
    """A step that others are part of: how many of these were opened."""

    path: str
    opened: int = 0


class Journal:
    """The steps of fits, by their places, and the file that they are written to."""

    def __init__(self, folder: Path, every: float, complain: Callable[[str], None] = warn) -> None:
        self.folder, self.every, self.complain = folder, every, complain
        self.entries: dict[str, JournalEntry] = {}
        self.fits: dict[str, dict[str, Any]] = {}
        self.open: list[_Level] = []
        self.fitted = 0
        self.closed = False  # after an interrupt that a fit ends by: what it does from then on is not to be resumed
        self.unwritten = False
        self.refused: DataError | None = None  # what was found wrong with the file while a fit went on from it
        self._written = time.monotonic()
        self._cost = 0.0
        self._warned = False

    @property
    def file(self) -> Path:
        """Where it is written to."""
        return self.folder / _FILE

    # Files ------------------------------------------------------------------------------------------------------------

    def read(self) -> None:
        """Take over what an earlier run has written, if there is anything."""
        if not self.file.exists():
            return
        try:
            found = saved_values.read(self.file, self._check_head)
        except OSError as error:
            raise DataError(f"cannot read the checkpoint {self.file}: {error.strerror}") from error
        except ValueError as error:
            raise self.damaged(error) from error
        if not matches(found, dict[str, dict[str, Any]]) or found.keys() != {"entries", "fits"}:
            raise self.damaged("it has no entries")
        if not matches(found["entries"], dict[str, JournalEntry]) or not all(map(_is_header, found["fits"].values())):
            raise self.damaged("its entries are no steps of fits")
        self.entries, self.fits = found["entries"], found["fits"]

    def _check_head(self, head: Any) -> None:
        """Raise `DataError` unless this is the head of a checkpoint of this version."""
        from .. import __version__

        if not isinstance(head, dict) or head.get("format") != _FORMAT or head.get("version") != _VERSION:
            raise DataError(f"{self.file} is no checkpoint of this version of sidelight; {self._way_out}")
        if head.get("sidelight") != __version__:
            raise DataError(
                f"the checkpoint {self.file} is of sidelight {quoted(head.get('sidelight'))}, and this is "
                f"{__version__}; go on with that version, or {self._way_out}"
            )

    def damaged(self, why: object) -> DataError:
        """Returns the error about a file that is not what a fit wrote; no fit goes on after it."""
        self.refused = DataError(f"the checkpoint {self.file} is damaged ({why}); {self._way_out}")
        return self.refused

    def write(self) -> None:
        """Write everything; raises `OSError` where that fails."""
        from .. import __version__

        begin = time.monotonic()
        head = {"format": _FORMAT, "version": _VERSION, "sidelight": __version__}
        saved_values.write(self.file, head, {"fits": self.fits, "entries": self.entries})
        self._written = time.monotonic()
        self._cost, self.unwritten = self._written - begin, False

    def write_or_warn(self) -> None:
        """Write everything; where that fails the fit goes on, and the file before stays what it is."""
        try:
            self.write()
        except OSError as error:
            self._written = time.monotonic()
            if not self._warned:
                self.complain(
                    f"the checkpoint {self.file} could not be written: {error.strerror or error}; training goes on and "
                    "tries again from time to time. Make room there: until then it can be resumed only from what was "
                    "written before"
                )
            self._warned = True

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return not self.every or time.monotonic() - self._written >= max(self.every, self._cost / _SHARE)

    @property
    def _way_out(self) -> str:
        return f"give another folder, or delete {self.folder} to begin anew"

    # Steps ------------------------------------------------------------------------------------------------------------

    def begin_fit(self, learner: Any, given: Mapping[str, Any]) -> None:
        """The next fit; raises `DataError` if an earlier run had another learner, other parameters or data here."""
        self.fitted += 1
        number, header = str(self.fitted), _header(learner, given)
        before = self.fits.setdefault(number, header)
        differs = _difference(before, header)
        if differs:
            raise DataError(f"the checkpoint in {self.folder} is of another fit: {differs}; {self._way_out}")
        self.open = [_Level(number)]

    def open_step(self, kind: str, nested: bool) -> "JournalStep":
        """The next step of the one that is open."""
        level = self.open[-1]
        level.opened += 1
        path = f"{level.path}.{level.opened}"
        entry = self.entries.get(path)
        if entry is not None and entry.kind != kind:
            raise DataError(
                f"the checkpoint in {self.folder} was written by a fit with other steps: it has {entry.kind!r} where "
                f"this fit has {kind!r}; {self._way_out}"
            )
        if nested:
            self.open.append(_Level(path))
        return JournalStep(self, path, kind, entry)

    def forget_below(self, path: str) -> None:
        """Drop the steps of which a step is made."""
        below = f"{path}."
        for one in [one for one in self.entries if one.startswith(below)]:
            del self.entries[one]

    def changed(self, *, at_once: bool = False) -> None:
        """Write if it is time."""
        self.unwritten = True
        if at_once or self.due:
            self.write_or_warn()


_journal: ContextVar[Journal | None] = ContextVar("journal", default=None)
_inside: ContextVar[bool] = ContextVar("inside", default=False)  # of a run of a solver


@dataclass
class JournalStep:
    """A run of a solver or a loop of rounds; without a journal it saves nothing, and knows of no earlier run.

    inner: whether it is part of a run of a solver, which then saves and stops for it.
    """

    journal: Journal | None = None
    path: str = ""
    kind: str = ""
    entry: JournalEntry | None = None
    inner: bool = False

    @property
    def done(self) -> bool:
        """Whether an earlier run finished it."""
        return self.entry is not None and self.entry.done

    def found(self, form: Any) -> Any:
        """Returns the result of a finished step, which must have this form (`forms`)."""
        return self._checked(form)

    def state(self, form: Callable[[], Any]) -> Any:
        """Returns the saved state of an unfinished step, None if there is none; form: returns the form of the state."""
        if self.entry is None or self.entry.done or self.entry.value is None:
            return None
        return self._checked(form())

    def _checked(self, form: Any) -> Any:
        assert self.entry is not None
        assert self.journal is not None
        try:
            require(self.entry.value, form, self.kind)
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            raise self.journal.damaged(error) from error
        return self.entry.value

    def save(self, state: Any) -> bool:
        """Called by a solver in every iteration, where it can go on from a state; returns whether it is to stop there.

        The state is written if it is time to, and may change afterwards.
        """
        if self.inner:
            return False
        journal = self._open_journal
        if journal is not None:
            asked = stopping.asked()
            if asked or journal.due:
                journal.entries[self.path] = JournalEntry(self.kind, False, state)
                journal.changed(at_once=True)
                del journal.entries[self.path]  # the state goes on changing
            journal.closed |= asked
        return stopping.at_step()

    def stop(self) -> bool:
        """Returns whether it is to stop where it could not go on from; it can from the state that was saved last."""
        if self.inner:
            return False
        if self._open_journal is not None and stopping.asked():
            self._open_journal.closed = True
        return stopping.at_step()

    def keep(self, state: Any) -> bool:
        """The same for a loop with steps inside: the state may not change, and needs no step inside from before."""
        if self.inner:
            return False
        journal = self._open_journal
        if journal is not None:
            asked = stopping.asked()
            journal.entries[self.path] = JournalEntry(self.kind, False, state)
            journal.forget_below(self.path)
            journal.open[-1].opened = 0
            journal.changed(at_once=asked)
            journal.closed |= asked
        return stopping.at_step()

    def finish(self, found: T) -> T:
        """Returns what it found, after it was noted."""
        journal = self._open_journal
        if journal is not None:
            journal.entries[self.path] = JournalEntry(self.kind, True, found)
            journal.forget_below(self.path)
            journal.changed()
        return found

    @property
    def _open_journal(self) -> Journal | None:
        return None if self.journal is None or self.journal.closed else self.journal


@dataclass(frozen=True)
class Carried:
    """What a function that a solver calls carries from one call to the next: how it is saved and taken back.

    form: returns the form of what is saved (`forms`).
    """

    save: Callable[[], Any]
    load: Callable[[Any], None]
    form: Callable[[], Any]


NOTHING = Carried(lambda: None, lambda saved: None, lambda: None)


def all_of(some: Sequence[Carried]) -> Carried:
    """What several of them carry, one after the other."""

    def load(saved: Sequence[Any]) -> None:
        for one, value in zip(some, saved, strict=True):
            one.load(value)

    return Carried(lambda: [one.save() for one in some], load, lambda: [one.form() for one in some])


@contextmanager
def step(kind: str, *, nested: bool = False) -> Iterator[JournalStep]:
    """Yields a step of the fit that is under way; nested: whether steps inside of it are journaled too."""
    if _inside.get():
        yield JournalStep(inner=True)
        return
    journal = _journal.get()
    levels = [] if journal is None or journal.closed else journal.open
    depth = len(levels)
    one = journal.open_step(kind, nested) if journal is not None and levels else JournalStep()
    token = _inside.set(not nested)
    try:
        yield one
    finally:
        del levels[depth:]
        _inside.reset(token)


def recorded(kind: str, find: Callable[[], T], form: Any) -> T:
    """Returns what `find` returns, which has this form; on resuming, what it returned in the earlier run."""
    with step(kind) as saved:
        if saved.done:
            earlier: T = saved.found(form)
            return earlier
        return saved.finish(find())


def close() -> None:
    """Write what is known, and nothing after: what is done from now on is not to be resumed."""
    journal = _journal.get()
    if journal is not None and not journal.closed:
        journal.changed(at_once=True)
        journal.closed = True


def ends_here() -> bool:
    """Returns whether a loop that is not a step itself is to end here."""
    if _inside.get():
        return False
    if stopping.asked():
        close()
    return stopping.at_step()


class Clock:
    """Seconds since a fit began, those of earlier runs included: what depends on it comes out alike on resuming."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()

    def seconds(self) -> float:
        """Returns the seconds so far."""
        now = time.perf_counter() - self._begin
        found = recorded("clock", lambda: now, Number(0.0))
        self._begin -= found - now
        return found


@contextmanager
def fitting(learner: Any, given: Mapping[str, Any]) -> Iterator[None]:
    """Around every `fit`: the steps inside of the outermost one are journaled; given: what it is given, by name."""
    journal = _journal.get()
    if journal is None or journal.open or journal.closed:
        yield
        return
    journal.begin_fit(learner, given)
    try:
        with stopping.stoppable(gently=False) as request:
            yield
    finally:
        journal.open = []
        if journal.refused is not None:  # also where it became the outcome of a trial
            journal.closed = True
            raise journal.refused
    if journal.unwritten and not journal.closed:
        journal.write_or_warn()
    if request.asked and not request.gently:  # after its last step
        raise KeyboardInterrupt


@contextmanager
def checkpointing(
    folder: str | PathLike[str], *, every: float = 30.0, complain: Callable[[str], None] = warn
) -> Iterator[Journal]:
    """Let fits inside a `with` block save where they stand, so that they go on from there if they are killed.

    Run the same program again, with the same data, parameters and folder: it goes on, and ends with the same model, to
    the last bit. Save the model inside of the block: when the block ends, the checkpoint is deleted. Ctrl-C interrupts
    a fit between two steps, after its state was saved; a second Ctrl-C interrupts it at once.

    Parameters
    ----------
    folder : str or path-like
        The folder of the checkpoint, which is made if it is not there. It belongs to one program at a time.
    every : float, default=30.0
        Seconds between two states that are saved, at least; where saving takes long there are more between them. 0
        saves after every step.
    complain : callable, default=a warning
        Called with a text if a state cannot be written; training goes on.

    Yields
    ------
    Journal
        What the checkpoint holds.
    """
    if not (isinstance(every, Real) and every >= 0):
        raise DataError(f"every is a number of seconds, at least 0, got {every!r}")
    journal = Journal(Path(folder), float(every), complain)
    with _locked(journal.folder):
        journal.read()
        try:
            journal.write()
        except OSError as error:
            raise DataError(
                f"cannot write checkpoints to {journal.folder}: {error.strerror or error}; make room there, or give "
                "another folder"
            ) from error
        token = _journal.set(journal)
        try:
            yield journal
        finally:
            _journal.reset(token)
        if not journal.closed:
            journal.file.unlink(missing_ok=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make the folder this program's own; the operating system gives it back when the program ends, however it does."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / _LOCK, "a")  # noqa: SIM115 (it is closed below)
    except OSError as error:
        raise DataError(
            f"cannot write checkpoints to {folder}: {error.strerror or error}; give another folder"
        ) from error
    with file:
        try:
            import fcntl
        except ImportError:  # no such locks there
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError(
                f"the checkpoint in {folder} is in use by another program; wait for it, or give another folder"
            ) from None
        yield


def _header(learner: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a fit is of."""
    parameters = {
        name: [digest(value), quoted(value)]
        for name, value in learner.get_params(deep=False).items()
        if name not in UNIMPORTANT
    }
    data = {name: digest(value) for name, value in given.items() if name != "self"}
    return {"learner": type(learner).__name__, "parameters": parameters, "data": data}


def _is_header(header: Any) -> bool:
    """Whether a value is what `_header` returns."""
    if not matches(header, dict[str, Any]) or header.keys() != {"learner", "parameters", "data"}:
        return False
    described, data = header["parameters"], header["data"]
    return (
        isinstance(header["learner"], str)
        and matches(described, dict[str, tuple[str, str]])
        and matches(data, dict[str, str])
    )


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """How two fits differ, in words; empty if they do not."""
    if before["learner"] != now["learner"]:
        return f"it is of {before['learner']}, and this is {now['learner']}"
    for name in sorted({*before["parameters"], *now["parameters"]}):
        (one, old), (other, new) = (some["parameters"].get(name, ["", "not there"]) for some in (before, now))
        if one != other:
            return f"its parameter {name} was {old}, and is now {new}"
    old, new = before["data"], now["data"]
    names = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    return f"the data differ ({', '.join(names)})" if names else ""
