"""The `sidelight` command. Commands import what they need when they run, so that `--help` is instant."""

import sys
from typing import Annotated

import typer

from sidelight import __version__
from sidelight.cli import (
    align,
    check,
    compile,
    demo,
    encode,
    evaluate,
    explain,
    inspect,
    learners,
    parse,
    predict,
    score,
    templates,
    train,
    transfer,
)
from sidelight.cli.exits import CommandGroup
from sidelight.cli.options import examples
from sidelight.cli.spelling import Command, LearningCommand

app = typer.Typer(
    name="sidelight",
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "sidelight demo --write .",
        "sidelight train few.tsv -o fields.model --rules rules.toml --unlabeled more.txt",
        "sidelight evaluate fields.model dev.tsv",
        "sidelight predict fields.model new.txt --format text",
    ),
)
COMMANDS = (
    train, encode, learners, predict, parse, evaluate, score, check, inspect, explain, templates, align, transfer, demo,
    compile,
)  # fmt: skip
for module in COMMANDS:
    kind = LearningCommand if module is train else Command
    app.command(module.NAME, cls=kind, epilog=examples(*module.EXAMPLES))(module.command)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"sidelight {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Learn to label words, to parse or to align, from few labelled examples, rules and unlabelled text.

    `sidelight demo` shows what rules and unlabelled text add, and with --write . writes files to try commands on.
    """


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a question mark rather than a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app()
