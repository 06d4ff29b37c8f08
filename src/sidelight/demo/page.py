"""The demo as a page that fits a terminal of 100 by 50."""

from collections.abc import Sequence
from itertools import zip_longest

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ..report.tables import page, sheet, titled
from ..report.text import DIFFERS, label_styles, labelled_text
from .run import Addition, Demo, DemoResult

# Names that leave room for the numbers.
_SHORT = {"PosteriorRegularization": "PR", "DeterministicAnnealing": "DASO"}


def demo_page(demo: Demo) -> Group:
    """Scores, what rules and unlabelled references add, what was learned, and examples."""
    styles = label_styles(demo.weights)
    examples = [labelled_text(e.tokens, e.predicted, e.gold, styles) for e in demo.examples]
    heading = Text(f"References it had not seen (CRF, {demo.examples_labeled} labelled): ", "bold")
    heading.append(f"[field] words, or [field {DIFFERS} right field] words", "not bold dim")
    tables = page(_scores(demo), _additions(demo), _violations(demo), _weights(demo, styles))
    return Group(tables, Group(heading, *examples))


def _scores(demo: Demo) -> Group:
    counts = _listed(sorted({result.labeled for result in demo.results}))
    title = f"Token accuracy and span F1 (%) on {demo.test:,} references, learned from {counts} labelled others"
    rows = [(result.learner, result, _duration(result.seconds)) for result in demo.results]
    return titled(title, _by_count("learner", "time", rows))


def _duration(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _additions(demo: Demo) -> Group:
    title = f"What rules and {demo.unlabeled:,} unlabelled references add to the HMM, and how often it breaks the rules"
    rows = [
        (f"{item.added} ({_SHORT.get(item.learner, item.learner)})", item, f"{item.violations:,.0f}")
        for item in demo.additions
    ]
    return titled(title, _by_count("added", "broken", rows))


def _by_count(first: str, last: str, rows: Sequence[tuple[str, DemoResult | Addition, str]]) -> Table:
    """Accuracy, F1 and one more cell for each number of labelled references."""
    counts = sorted({scores.labeled for _, scores, _ in rows})
    table = sheet([f"\n{first}", *(head for n in counts for head in (f"{n} refs\naccuracy", "\nF1", f"\n{last}"))])
    table.columns[0].no_wrap = True
    cells: dict[str, list[str]] = {}
    for name, scores, more in rows:
        cells.setdefault(name, []).extend((f"{100 * scores.accuracy:.1f}", f"{100 * scores.f1:.1f}", more))
    for name, row in cells.items():
        table.add_row(name, *row)
    return table


def _listed(counts: list[int]) -> str:
    head = ", ".join(map(str, counts[:-1]))
    return f"{head} and {counts[-1]}" if head else str(counts[-1])


def _violations(demo: Demo) -> Group:
    title = f"The rules, and how often {demo.test:,} references break them ({demo.examples_labeled} labelled)"
    table = sheet(["rule", "gold", "HMM", "HMM with rules"])
    for found in demo.violations:
        table.add_row(Text(found.rule), *(f"{n:,.0f}" for n in (found.gold, found.without, found.with_rules)))
    return titled(title, table)


def _weights(demo: Demo, styles: dict[str, str]) -> Group:
    """Two fields side by side."""
    pairs = [
        (Text(label, f"bold {styles[label]}"), Text(f"{best.feature} {best.weight:+.1f}", no_wrap=True))
        for label, (best, *_) in ((label, weights) for label, weights in demo.weights.items() if weights)
    ]
    half = (len(pairs) + 1) // 2
    table = Table.grid(padding=(0, 2))
    for left, right in zip_longest(pairs[:half], pairs[half:], fillvalue=()):
        table.add_row(*left, *right)
    return titled(f"What speaks most for each field (CRF, {demo.weights_labeled} labelled)", table)
