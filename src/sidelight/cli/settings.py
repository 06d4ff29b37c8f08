"""Values of parameters as they are typed: `--set l2=0.5`, `--l2 0.5`, `--set base.l2=0.5`, `--set task.longest=2`."""

from collections.abc import Sequence
from dataclasses import dataclass

import typer

# Whose parameter it is, where its name says so. Both `base.l2` and `base__l2`, as scikit-learn writes it, are read.
BASE, TASK = "base", "task"


@dataclass(frozen=True)
class Setting:
    """A parameter and its value.

    of: "base" or "task" where the name says whose it is, else empty. typed: what stands before the value on the command
    line, which is what errors about it name.
    """

    name: str
    text: str
    of: str = ""
    typed: str = "--set"

    @classmethod
    def read(cls, typed: str) -> "Setting":
        """The setting of `name=value`, or of `--name=value`, which stands for an option of this name (`spelling`)."""
        given, equals, text = typed.partition("=")
        if not equals:
            raise typer.BadParameter(f"expected name=value, got {typed!r}", param_hint="--set")
        given = given.strip()
        of, name = owner(given.removeprefix("--"))
        shown = given if given.startswith("--") else f"--set {given}"
        return cls(name.replace("-", "_"), text.strip(), of, shown)

    def refused(self, message: str) -> typer.BadParameter:
        """The error that says so."""
        return typer.BadParameter(message, param_hint=self.typed)


def owner(name: str) -> tuple[str, str]:
    """Whose parameter a name says it is, empty where it does not, and the parameter."""
    for of in (BASE, TASK):
        for mark in (".", "__"):
            if name.startswith(of + mark):
                return of, name.removeprefix(of + mark)
    return "", name


def read_settings(typed: Sequence[str] | None) -> list[Setting]:
    """All that were typed."""
    return [Setting.read(one) for one in typed or ()]


def names(settings: Sequence[Setting]) -> list[str]:
    """The parameters that are set."""
    return [setting.name for setting in settings]
