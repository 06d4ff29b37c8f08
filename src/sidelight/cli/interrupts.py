"""Training that is killed, or interrupted with Ctrl-C: what is saved, and what is said."""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import typer

from sidelight.cli.exits import INTERRUPTED
from sidelight.cli.output import note
from sidelight.running.stopping import Request, stoppable


def surviving(checkpoint: str | None, every: float | None) -> AbstractContextManager[Any]:
    """Let a fit save where it stands to a folder, if there is one."""
    if checkpoint is None:
        if every is not None:
            raise typer.BadParameter("say where to with --checkpoint DIR", param_hint="--every")
        return nullcontext()
    from sidelight.running.checkpoints import checkpointing

    return checkpointing(checkpoint, every=30.0 if every is None else every, complain=note)


@contextmanager
def stoppable_with_note(what: str) -> Iterator[Request]:
    """Let Ctrl-C stop a fit at its next step; a second one ends the command."""
    ask = f"stopping at the next step, to write the {what} as it is; Ctrl-C again ends at once"
    with stoppable(gently=True, say=lambda: print(ask, file=sys.stderr, flush=True)) as request:
        yield request


def saved_apart(model: str, request: Request) -> str:
    """Returns the path to write a model to: beside an existing file, which stays, if the fit was interrupted."""
    return f"{model}.unfinished" if request.heeded and os.path.isfile(model) else model


def say_interrupted(steps: int, checkpoint: str | None, model: str | None = None, written: str | None = None) -> None:
    """Say what an interrupted fit has left behind; model, written: the file to write, and the one that was written."""
    after = f" after {steps} {'iteration' if steps == 1 else 'iterations'}" if steps else ""
    what = "and the model is as it was then"
    if written != model:
        what = f"and the model as it was then is in {written}; {model} is the one that was there before"
    way = "the same command goes on from there" if checkpoint else "with --checkpoint DIR it could go on from there"
    note(f"training was interrupted{after}, {what}; {way}")


def exit_if_apart(model: str | None, written: str | None) -> None:
    """End with the exit code of an interrupted command if the file to write is still the one from before."""
    if written != model:
        sys.stdout.flush()
        raise typer.Exit(INTERRUPTED)
