"""Command lines as people type them: parameters of learners as options, and older names of options."""

import re
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperCommand

from sidelight.cli.parameters import close_parameters, has_parameter, instead_of_task
from sidelight.cli.settings import TASK, owner
from sidelight.errors import did_you_mean

# Other names of options: those that differ from the parameters in Python, and --token.
_OLDER = {"--template": "--features", "--jobs": "--n-jobs", "--labels": "--classes", "--token": "--position"}
_OLDER_PARAMETERS = {
    "seed": ("random_state",),
    "smoothing": ("start_smoothing", "transition_smoothing", "emission_smoothing"),
}
# Names that CRFsuite has for parameters, and the parameters; --C2 is another one.
_CRFSUITE = {"c1": "l1", "c2": "l2"}


class Command(TyperCommand):
    """A command that knows the older names of its options."""

    # The learner that the command line names.
    _learner: str | None = None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line."""
        declared = {name for one in self.params for name in (*one.opts, *one.secondary_opts)}
        try:
            self._learner = _value_of(args, "--learner", "-l")
            return super().parse_args(ctx, self._spelled(list(args), declared))
        except typer.BadParameter as error:
            listed = re.search(r"'([^']*)' is not one of (.*?)\.?$", error.message)
            if listed:
                hint = instead_of_task(listed[1]) if error.param and error.param.name == "task" else ""
                hint = hint or did_you_mean(listed[1], [one.strip("'") for one in listed[2].split(", ")])
                error.message = listed[0].removesuffix(".") + hint
            raise

    def _spelled(self, args: list[str], declared: set[str]) -> list[str]:
        out: list[str] = []
        while args:
            argument = args.pop(0)
            if argument == "--":
                return [*out, argument, *args]
            name, equals, value = argument.partition("=")
            if not name.startswith("--") or name in declared:
                out.append(argument)
            elif _OLDER.get(name) in declared:
                out.append(_OLDER[name] + equals + value)
            else:
                out += self._unknown(argument, args, declared)
        return out

    def _unknown(self, argument: str, rest: list[str], declared: set[str]) -> list[str]:
        """What stands for an option that the command does not have; its value is taken off the rest."""
        return [argument]


class LearningCommand(Command):
    """A command that takes parameters of learners as options: `--l2 0.5` is `--set l2=0.5`."""

    def _unknown(self, argument: str, rest: list[str], declared: set[str]) -> list[str]:
        name, equals, value = argument.removeprefix("--").partition("=")
        of, parameter = owner(name)
        parameters = _OLDER_PARAMETERS.get(name, (parameter.replace("-", "_"),))
        if of != TASK and not all(map(has_parameter, parameters)):
            if not of and get_close_matches(name, [one[2:] for one in declared if one.startswith("--")]):
                return [argument]
            whose = f"{of}." if of else ""
            near = close_parameters(_CRFSUITE.get(parameters[0], parameters[0]), self._learner)
            close = [f"--{whose}{one.replace('_', '-')}" for one in near]
            advice = f"is it {' or '.join(close)}?" if close else "`sidelight learners NAME` lists those of a learner"
            raise typer.BadParameter(f"there is no such option; {advice}", param_hint=f"--{name}")
        if not equals and not rest:
            raise typer.BadParameter("a value is missing", param_hint=f"--{name}")
        text = value if equals else rest.pop(0)
        # The dashes say that it was typed as an option, for messages about it.
        typed = [name] if name not in _OLDER_PARAMETERS else [one.replace("_", "-") for one in parameters]
        return [word for one in typed for word in ("--set", f"--{one}={text}")]


def _value_of(args: list[str], *names: str) -> str | None:
    """Return the value of an option that has these names; None where it is not given."""
    for argument, value in pairwise([*args, ""]):
        name, equals, rest = argument.partition("=")
        if name in names:
            return rest if equals else value
    return None


def show_all(ctx: typer.Context, asked: bool) -> None:
    """Show the help with the options that it leaves out otherwise."""
    if asked:
        hidden: list[Any] = [one for one in ctx.command.params if getattr(one, "hidden", False)]
        for parameter in hidden:
            parameter.hidden = False
        typer.echo(ctx.get_help())
        for parameter in hidden:
            parameter.hidden = True
        raise typer.Exit
