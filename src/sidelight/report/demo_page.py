"""The demo as a page that fits a terminal of 100 by 45."""

from rich.console import Group
from rich.text import Text

from .demo import Demo
from .tables import page, sheet, titled
from .text import WRONG, label_styles, labelled_text


def demo_page(demo: Demo) -> Group:
    """Scores, what was learned, and examples."""
    styles = label_styles(demo.weights)
    examples = [labelled_text(e.tokens, e.predicted, e.gold, styles) for e in demo.examples]
    heading = Text(f"References it had not seen (CRF, {demo.examples_labeled} labelled)", "bold")
    legend = f"[field] words with this field   [field {WRONG} right field] words that got a wrong one"
    return page(_scores(demo), _weights(demo, styles), heading, *examples, Text(legend, "dim"))


def _scores(demo: Demo) -> Group:
    counts = sorted({result.labeled for result in demo.results})
    title = (
        f"Token accuracy and span F1 (%) on {demo.test:,} references, learned from {_listed(counts)} labelled others"
    )
    heads = [head for count in counts for head in (f"{count} refs\naccuracy", "\nF1", "\ntime")]
    table = sheet(["\nlearner", *heads])
    table.columns[0].no_wrap = True
    for learner in dict.fromkeys(result.learner for result in demo.results):
        cells = [
            cell
            for result in demo.results
            if result.learner == learner
            for cell in (f"{100 * result.accuracy:.1f}", f"{100 * result.f1:.1f}", f"{1000 * result.seconds:.0f} ms")
        ]
        table.add_row(learner, *cells)
    return titled(title, table)


def _listed(counts: list[int]) -> str:
    head = ", ".join(map(str, counts[:-1]))
    return f"{head} and {counts[-1]}" if head else str(counts[-1])


def _weights(demo: Demo, styles: dict[str, str]) -> Group:
    title = f"What speaks for each field (CRF, {demo.weights_labeled} labelled)"
    table = sheet(["field", "strongest features"], text_columns=2)
    for label, weights in demo.weights.items():
        if weights:
            features = "   ".join(f"{item.feature} {item.weight:+.2f}" for item in weights)
            table.add_row(Text(label, f"bold {styles[label]}"), Text(features, no_wrap=True, overflow="ellipsis"))
    return titled(title, table)
