"""`sidelight learners`."""

from typing import Annotated

import typer

from sidelight.cli.options import JsonOption
from sidelight.cli.parameters import NOT_SET
from sidelight.errors import did_you_mean
from sidelight.learners.registry import REGISTRY

NAME = "learners"
EXAMPLES = ("sidelight learners", "sidelight learners pr", "sidelight learners crf --json")


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The learner to show: its name here or in Python.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the learners, or show one with its objective, its parameters and their defaults."""
    from sidelight.cli.output import print_json
    from sidelight.report.console import results
    from sidelight.report.learners import learner_facts, learner_page, learners_page

    if name is None:
        if json:
            print_json({"learners": [learner_facts(one) for one in REGISTRY]})
        else:
            results().print(learners_page())
        return
    facts = learner_facts(_python_name(name))
    if json:
        print_json(facts)
    else:
        results().print(learner_page(facts, NOT_SET))


def _python_name(name: str) -> str:
    """The learner that has this name, on the command line or in Python."""
    found = [one for one, entry in REGISTRY.items() if name.lower() in (entry.command, one.lower())]
    if not found:
        known = [entry.command for entry in REGISTRY.values() if entry.command]
        hint = did_you_mean(name, known)
        raise typer.BadParameter(f"there is no learner {name!r}; there are {', '.join(known)}{hint}", param_hint="NAME")
    return found[0]
