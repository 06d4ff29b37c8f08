"""Why a token got its label: the evidence, and what the rules did."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..explanation import Explanation
from .explanations import Change
from .outputs import OutputKind
from .tables import counted, page, sheet
from .text import labelled_text, token_text


def explanation_page(
    e: Explanation, tokens: Sequence[Any], labels: Sequence[str], gold: Any, change: Change | None
) -> Group:
    """The labelled sequence, what speaks for the label of one token, and what the rules changed."""
    known = gold if isinstance(gold, list) else None
    says = Text(f"Token {e.position}, ")
    says.append(token_text(tokens[e.position]), "bold underline")
    says.append(f": {e.says}")
    if known and known[e.position] != labels[e.position]:
        says.append(f"; gold is {known[e.position]}")
    parts: list[RenderableType] = [labelled_text(tokens, labels, known), says, _evidence(e)]
    if change is not None:
        parts += _changes(change, tokens, labels, e.position)
    return page(*parts)


def _evidence(e: Explanation) -> Table:
    table = sheet(["evidence", e.label, e.rival, "difference", ""], text_columns=1)
    table.columns[4].justify = "left"
    largest = max((abs(item.difference) for item in e.evidence if isfinite(item.difference)), default=1.0)
    for item in e.evidence:
        bar = "█" * max(1, round(12 * min(abs(item.difference) / largest, 1.0)))
        style = "green" if item.difference > 0 else "red"
        numbers = (f"{item.weight:+.3f}", f"{item.rival_weight:+.3f}", f"{item.difference:+.3f}")
        table.add_row(Text(item.feature), *numbers, Text(bar, style))
    return table


def structure_page(e: Explanation, x: Any, text: str, change: Change | None, outputs: OutputKind) -> Group:
    """A tree or links as text, what speaks for one decision, and what the rules changed."""
    says = Text(outputs.token(x, e.position), "bold")
    says.append(f": {outputs.decision} {e.says}", "not bold")
    parts: list[RenderableType] = [Text(text, no_wrap=True, overflow="ignore"), says, _evidence(e)]
    if change is not None and not change.tokens:
        parts.append(Text("The rules change nothing here."))
    elif change is not None:
        differ = f"The rules change {counted(change.tokens, outputs.decision)}. Without them:"
        parts += [Group(Text(differ), outputs.line(x, change.without, ())), _effects(change)]
    return page(*parts)


def _changes(change: Change, tokens: Sequence[Any], labels: Sequence[str], at: int) -> list[RenderableType]:
    if not change.tokens:
        return [Text("The rules change nothing here.")]
    changed = change.without[at] != labels[at]
    here = f"change this label from {change.without[at]} to {labels[at]}" if changed else "leave this label as it is"
    says = Text(f"The rules {here}, and change {counted(change.tokens, 'label')} in all. Without rules:")
    return [Group(says, labelled_text(tokens, change.without)), _effects(change)]


def _effects(change: Change) -> Table:
    table = sheet(["rule", "penalty", "violations without rules", "with rules"])
    for rule in change.rules:
        penalty = "hard" if rule.penalty is None else f"{rule.penalty:.2f}"
        table.add_row(Text(rule.name), penalty, f"{rule.without:,.10g}", f"{rule.with_rules:,.10g}")
    return table
