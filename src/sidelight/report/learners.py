"""What a learner is, read off the registry and its docstring: summary, objective, what it learns from, parameters."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from ..learners.registry import REGISTRY
from .tables import grid, page, sheet

_SECTION = re.compile(r"^(Parameters|Attributes)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+) : (.*?)(?:, default=(.*))?$")


@dataclass(frozen=True)
class Parameter:
    """One parameter; default: as Python writes it, None where there is none; text: what it does."""

    name: str
    type: str
    default: str | None
    text: str


@dataclass(frozen=True)
class LearnerFacts:
    """A learner; command: its name on the command line, None where it has none; base: what it goes around there."""

    name: str
    command: str | None
    base: str | None
    learns_from: list[str]
    summary: str
    description: str
    parameters: list[Parameter]


def learner_facts(name: str) -> LearnerFacts:
    """Return what the registry and the docstring say of the learner with this name in Python."""
    import sidelight

    entry = REGISTRY[name]
    noun = "document" if entry.documents == "only" else "sequence"
    sections = _SECTION.split(inspect.getdoc(getattr(sidelight, name)) or "")
    summary, _, description = sections[0].strip().partition("\n\n")
    parameters = dict(zip(sections[1::2], sections[2::2], strict=True)).get("Parameters", "")
    return LearnerFacts(
        name,
        entry.command,
        entry.inside,
        [signal.value.format(noun) for signal in type(next(iter(entry.signals))) if signal in entry.signals],
        " ".join(summary.split()),
        description,
        list(map(_parameter, re.split(r"\n(?=\w)", parameters.strip()))) if parameters else [],
    )


def _parameter(entry: str) -> Parameter:
    first, _, text = entry.partition("\n")
    found = _ENTRY.match(first)
    assert found is not None, first
    return Parameter(found[1], found[2], found[3], " ".join(text.split()))


def learners_page() -> Group:
    """All learners, a line each: those of the command line, then those for Python alone."""
    facts = [learner_facts(name) for name in REGISTRY]
    parts: list[RenderableType] = []
    for title, chosen in (
        ("--learner", [one for one in facts if one.command]),
        ("in Python only", [one for one in facts if not one.command]),
    ):
        table = sheet([title, ""], text_columns=2)
        table.columns[0].no_wrap = True
        for one in chosen:
            table.add_row(Text(one.command or one.name, "bold"), Text(one.summary))
        parts.append(table)
    return page(*parts, Text("sidelight learners NAME shows one with its objective and its parameters."))


def _paragraph(text: str) -> Text:
    """A paragraph as wide as the page; formulas are indented, and stay as they are."""
    return Text(text if text.startswith(" ") else " ".join(text.split()))


def learner_page(facts: LearnerFacts, elsewhere: Mapping[str, str]) -> Group:
    """One learner; elsewhere: how parameters are given on the command line that are not set by their names."""
    head: list[tuple[str, RenderableType]] = [
        ("learner", Text(f"{facts.command or 'for Python only'} (in Python {facts.name})")),
        ("learns from", Text(", ".join(facts.learns_from))),
    ]
    if facts.base:
        bases = REGISTRY[facts.name].around or [one.command for one in REGISTRY.values() if one.base and one.command]
        others = ", ".join(one for one in bases if one != facts.base)
        head.append(("goes around", Text(facts.base + (f", or another (--base): {others}" if others else ""))))
    parts: list[RenderableType] = [grid(head), Text(facts.summary)]
    parts += map(_paragraph, filter(None, facts.description.split("\n\n")))
    parts.append(Text("Parameters: --set NAME=VALUE or --NAME VALUE", "bold"))
    for one in facts.parameters:
        default = "" if one.default is None else f" = {one.default}"
        place = f"  [{elsewhere[one.name]}]" if one.name in elsewhere else ""
        title = Text.assemble((one.name, "bold"), f"{default}  ({one.type})", place)
        parts.append(Group(title, Padding(Text(one.text), (0, 0, 0, 4))))
    return page(*parts)
