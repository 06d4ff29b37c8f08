"""How commands end: 0 done, 1 expected error, 2 wrong usage, 130 interrupted, 141 nobody reads the output any more, 143
terminated.
"""

import errno
import os
import sys
import warnings
from typing import Any

import typer
from typer.core import TyperGroup

from sidelight.cli.output import note
from sidelight.cli.wording import as_typed
from sidelight.errors import SidelightError, close_names, shortened

INTERRUPTED = 130
PIPE_CLOSED = 141
# Names that other tools have for commands, and the commands.
_ELSEWHERE = {
    "fit": "train", "learn": "train", "tag": "predict", "label": "predict", "test": "evaluate", "eval": "evaluate",
}  # fmt: skip


class CommandGroup(TyperGroup):
    """The commands, with expected failures turned into one line on standard error and an exit code."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command by name; the error about an unknown one suggests the nearest, also by names of other tools."""
        name = args[0]
        if name not in self.commands and not name.startswith("-"):
            known = {one: one for one in self.commands} | _ELSEWHERE
            close = [known[one] for one in close_names(name, known)]
            ctx.fail(f"No such command {name!r}." + "".join(f" Did you mean {one!r}?" for one in close))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command; a warning is one line, and is given once."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("once", UserWarning)
                warnings.simplefilter("ignore", DeprecationWarning)  # of other packages: nothing that a user can change
                warnings.showwarning = lambda message, *_, **__: note(as_typed(str(message)))
                result = super().invoke(ctx)
            sys.stdout.flush()
        except typer.BadParameter as error:
            error.message = shortened(error.message)
            raise
        except SidelightError as error:
            print(f"error: {as_typed(str(error))}", file=sys.stderr)
            raise typer.Exit(1) from None
        except (KeyboardInterrupt, SystemError) as error:
            reason = _reason(error)
            if isinstance(reason, SystemExit):
                raise reason from None
            if not isinstance(reason, KeyboardInterrupt):
                raise
            print("interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise typer.Exit(_close_output(PIPE_CLOSED)) from None
            if error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
                raise
            print(f"error: cannot write: {error.strerror}", file=sys.stderr)
            raise typer.Exit(_close_output(1)) from None
        return result


def _reason(error: BaseException | None) -> BaseException | None:
    """The exception that a signal raised: in a compiled kernel it becomes the cause of a SystemError."""
    while isinstance(error, SystemError):
        error = error.__cause__
    return error


def _close_output(code: int) -> int:
    """Python flushes standard output once more when it ends; that must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
