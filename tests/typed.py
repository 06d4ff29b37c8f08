"""Types a page in this process, as `python -m benchmarks.readme` does in a process for every line."""

import io
import os
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path

from benchmarks import readme
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[1]


def wrong_steps(text: str, run: Run) -> list[str]:
    """What differs when everything that a page shows is typed in the current folder."""
    wrong = []
    for step in filter(readme.typed, readme.steps(text)):
        if step.kind == "file":
            readme.take(step, Path(), Path(sys.executable), {})
        elif step.kind == "python":
            printed = io.StringIO()
            with redirect_stdout(printed):
                wrong += readme.broken(step.text, {"__name__": "__main__"})
            wrong += _difference(step, printed.getvalue())
        elif step.text.startswith("sidelight ") and "|" not in step.text:
            said = run(*shlex.split(step.text, comments=True)[1:])
            wrong += [f"{step.text}: {said.err}"] if said.code else _difference(step, said.out)
        else:
            folder = str(Path(sys.executable).parent)
            environment = os.environ | {"COLUMNS": "100", "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
            wrong += readme.take(step, Path(), Path(sys.executable), environment)
    return wrong


def _difference(step: readme.Step, printed: str) -> list[str]:
    return [] if step.printed is None else readme.difference(step.printed, printed.splitlines())
