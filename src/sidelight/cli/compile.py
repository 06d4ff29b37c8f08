"""`sidelight compile`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from enum import StrEnum
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from time import perf_counter
from typing import Annotated, Any

import typer

from sidelight.errors import SidelightError, did_you_mean

NAME = "compile"
EXAMPLES = ("sidelight compile", "sidelight compile crf codl --cpu x86-64-v3")
_REFERENCES = 12


class LevelName(StrEnum):
    """Levels of processors, as in `sidelight.kernels.store`."""

    v3 = "x86-64-v3"
    v4 = "x86-64-v4"


_RULES = """
[[rule]]
rule = "starts_with('author', 'title')"
[[rule]]
rule = "count('author') >= 1"
"""


def command(
    learners: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LEARNER]...", help="What will be trained and used, as --learner of train (auto)."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the kernels go: a folder that NUMBA_CACHE_DIR will name; by default into the package.",
        ),
    ] = None,
    cpu: Annotated[
        LevelName | None,
        typer.Option(
            help="For all processors of a level, not for this one only: x86-64-v4 has AVX-512, x86-64-v3 AVX2 alone."
        ),
    ] = None,
) -> None:
    """Compile the inner loops ahead of their first use, for an image or before a wheel is built.

    Trains on a few generated sequences with each learner, uses the models, and keeps what was compiled on the way.
    """
    with _variables({"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""} if cpu else {}):  # numba reads them on import
        _compile(learners or ["auto"], folder, cpu)


@contextmanager
def _variables(values: dict[str, str]) -> Iterator[None]:
    """Set variables of the environment for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _compile(learners: list[str], folder: Path | None, cpu: str | None) -> None:
    from sidelight.learners.registry import REGISTRY

    known = [one.command for one in REGISTRY.values() if one.command]
    for name in learners:
        if name not in known:
            raise SidelightError(
                f"there is no learner {name!r}; `sidelight learners` lists all{did_you_mean(name, known)}"
            )
    from llvmlite.binding import get_host_cpu_features

    from sidelight.kernels.compiling import keeps_kernels

    if not keeps_kernels():
        raise SidelightError("compiled kernels cannot be kept with this version of numba, as the warning says")
    from sidelight.kernels import store

    if cpu and not all(get_host_cpu_features().get(one) for one in store.LEVELS[cpu]):
        raise SidelightError(f"{cpu} has instructions that this processor lacks; run this on a processor that has them")
    folder = store.SHIPPED if folder is None else folder / "sidelight"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise SidelightError(
            f"cannot write to {folder}: {error.strerror}; give a --folder, and set NUMBA_CACHE_DIR to it later"
        ) from error
    started = perf_counter()
    with store.fill(folder), TemporaryDirectory() as work:
        for learner in learners:
            _use(learner, Path(work))
    typer.echo(f"{len(list(folder.glob('*.kernel')))} kernels in {folder}, {perf_counter() - started:.0f} s")


def _use(learner: str, folder: Path) -> None:
    """Train the learner on generated references and let the commands that take a model use it."""
    from sidelight import generate_references, write_columns
    from sidelight.learners.registry import REGISTRY

    X, y = generate_references(_REFERENCES)
    few, more, rules, model = (folder / name for name in ("few.tsv", "more.txt", "rules.toml", "fields.model"))
    write_columns(few, X, y)
    write_columns(more, X)
    rules.write_text(_RULES)
    beside: list[Any] = ["--rules", rules, "--unlabeled", more]
    around = any(one.command == learner and one.inside for one in REGISTRY.values())
    for options in ([], beside) if learner == "auto" else [beside] if around else [[]]:
        _run("train", few, "-o", model, "--learner", learner, *options)
        for name in ("predict", "evaluate", "explain"):
            _run(name, model, few, *([] if name == "evaluate" else ["--labeled"]))


def _run(*arguments: object) -> None:
    """Run a command whose output nobody needs, unless it fails."""
    from sidelight.cli.main import app

    output = StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        failed = app([str(one) for one in arguments], standalone_mode=False)
    if failed:
        raise SidelightError(f"cannot compile: {output.getvalue().strip().removeprefix('error: ')}")
