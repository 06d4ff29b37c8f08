"""Rules as tables: what they cost in a model, and how often data violates them."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from .outputs import outputs_of
from .rules import Checked, RuleExample, RuleUse, Violations
from .tables import counted, page, sheet, titled


def rules_table(rules: Sequence[RuleUse], task: Any) -> Group:
    """The rules of a model with readings and penalties and, after training, the violations by what it learned from."""
    checked = any(use.violations for use in rules)
    more = ["violations", f"{task.noun}s"] if checked else []
    table = sheet(["rule", "reading", "penalty", *more], text_columns=2)
    for use in rules:
        reading = use.reading if use.penalty is None else f"{use.reading}, {'learned' if use.learned else 'given'}"
        penalty = "" if use.penalty is None else f"{use.penalty:.2f}"
        table.add_row(Text(use.name), reading, penalty, *(_cells(use.violations) if checked else []))
    learned_from = "outputs" if task.kind == "others" else task.kind
    return titled(f"Rules (violations are those of the training {learned_from})" if checked else "Rules", table)


def _cells(found: Violations | None, corpus: bool = False) -> list[str]:
    if found is None:
        return ["", ""]
    return [f"{found.degree:,.10g}", "corpus" if corpus else f"{found.sequences:,}"]


def check_page(rules: Sequence[Checked], sequences: int, task: Any) -> Group:
    """Violations by rule, and examples of them."""
    gold, predicted = any(r.gold for r in rules), any(r.predicted for r in rules)
    both = gold and predicted
    heads = (
        ["violations", f"{task.noun}s", "%"]
        if not both
        else ["gold\nviolations", "\n%", "predicted\nviolations", "\n%"]
    )
    table = sheet(["\nrule" if both else "rule", *heads])
    for rule in rules:
        cells: list[str] = []
        for found in (rule.gold, rule.predicted):
            if found:
                share = "" if rule.corpus else f"{100 * found.sequences / found.of:.1f}"
                degree, count = _cells(found, rule.corpus)
                cells += [degree, share] if both else [degree, count, share]
        table.add_row(Text(rule.name), *cells)
    kind = "" if not predicted or both else " predicted for"
    title = f"Violations{kind or ' in'} {counted(sequences, task.noun)}, and the share with any (%)"
    parts: list[RenderableType] = [titled(title, table)]
    for rule in rules:
        if rule.examples:
            parts.append(Group(Text(rule.name, "bold"), *(_example(one, task) for one in rule.examples)))
    return page(*parts)


def _example(example: RuleExample, task: Any) -> Text:
    text = Text(f"{example.sequence}: ", "dim")
    return text.append_text(outputs_of(task).line(example.tokens, example.labels, example.at))
