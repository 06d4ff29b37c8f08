"""Tables of scores, weights and facts."""

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..metrics import Score
from .evaluation import Confusion, Evaluation
from .weights import Transitions, Weight

if TYPE_CHECKING:  # it reads learners, which tables of scores do without
    from .summary import AutoSummary, ModelSummary, TrainingSummary

_MANY = 20
TableRows = Sequence[tuple[str, RenderableType]]


def grid(rows: TableRows) -> Table:
    """Names and values side by side."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    return table


def sheet(columns: Sequence[str], *, text_columns: int = 1) -> Table:
    """An empty table whose first columns are text and the others numbers."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, name in enumerate(columns):
        is_text = number < text_columns
        table.add_column(Text(name), justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text)
    return table


def titled(title: str, table: Table) -> Group:
    """A table below its title, which may be wider than the table."""
    return Group(Text(title, "bold"), table)


def page(*parts: RenderableType) -> Group:
    """One below the other, with a blank line between."""
    return Group(*(item for part in parts for item in (part, "")))


def percent(share: float) -> str:
    """A fraction as conlleval prints it."""
    return f"{100 * share:.2f}"


def counted(count: int, thing: str) -> str:
    """A number of things."""
    many = f"{thing}es" if thing.endswith("s") else f"{thing}s"
    return f"{count:,} {thing if count == 1 else many}"


def training_table(summary: "TrainingSummary", dev: TableRows = ()) -> Table:
    """What `train` says at the end, but for rules; dev: what it says about held-out data."""
    model = summary.model
    unlabeled = f", {summary.unlabeled:,} of them unlabelled" if summary.unlabeled else ""
    unlabeled += f", {summary.companions:,} of them good or bad" if summary.companions else ""
    rows: list[tuple[str, RenderableType]] = [
        ("data", f"{counted(summary.sequences, model.task.noun)}{unlabeled}, {counted(summary.tokens, 'token')}"),
        *(
            [("not used", f"{counted(summary.unused, model.task.noun)} more: {model.learner} has no use for them")]
            if summary.unused
            else []
        ),
        *_task(model),
        ("features", f"{model.features:,} features, {model.weights:,} weights"),
        ("training", Text(_course(summary))),
    ]
    rows += _guard(model)
    rows += dev
    rows.append(("model", _model(model)))
    return grid(rows)


def _task(model: "ModelSummary") -> list[tuple[str, RenderableType]]:
    """What is predicted, where that is more than labels, and the labels, where there are some."""
    task, rows = model.task, list[tuple[str, RenderableType]]()
    if task.kind != "labels":
        rows.append(("task", Text(f"{task.name}({', '.join(f'{k}={v}' for k, v in task.parameters.items())})")))
    return rows + ([("labels", _labels(model.labels))] if model.labels or task.kind == "labels" else [])


def _guard(model: "ModelSummary") -> list[tuple[str, RenderableType]]:
    """How it compares with its base, if that was asked."""
    rows: list[tuple[str, RenderableType]] = [("held out", Text(str(model.guard)))] if model.guard else []
    return rows + ([("signals", Text("\n".join(model.signals)))] if model.signals else [])


def choice_table(choice: "AutoSummary") -> Group:
    """The trials behind a choice, and the choice."""
    table = sheet(["learner", "score", "points", "time", "remarks"])
    table.columns[-1].justify, table.columns[-1].no_wrap = "left", False
    for result in choice.results:
        style = "bold" if result.chosen else ""
        table.add_row(*(Text(cell, style) for cell in result.cells))
    title = (
        f"Trials: {choice.metric} on labelled sequences held out (in brackets: on some of them), and points against "
        "the base from labels alone on the same sequences, ± one standard error"
    )
    return Group(titled(title, table), Text(choice.why))


def _course(summary: "TrainingSummary") -> str:
    parts = [f"{summary.seconds:.1f} s"]
    # The last step of learners that project, or of views that agree, says how the final model stands.
    final = bool(summary.rounds) and bool({"temperature", "divergence"} & set(summary.rounds[-1]))
    if summary.rounds:
        parts.append(f"{counted(len(summary.rounds) - final, 'round')} over unlabelled {summary.model.task.noun}s")
        parts += _last_round(summary.rounds[-1])
    if final:  # a round is one step of the model inside, whose own solver has nothing to add
        return ", ".join(parts)
    if summary.passes is not None:
        passes = counted(summary.passes, "iteration" if "lbfgs" in (summary.solver or "") else "pass")
        parts.append(passes + (f" of {summary.solver}" if summary.solver else ""))
    if summary.mistakes is not None:
        parts.append(f"{summary.mistakes:,} tokens wrong in the last")
    if summary.converged is not None:
        good, bad = ("its models converged", "a model has") if summary.rounds else ("converged", "")
        parts.append(good if summary.converged else f"{bad} NOT CONVERGED (raise --max-iterations)".strip())
    if summary.gap is not None:
        parts.append(f"relative duality gap {summary.gap:.1e}")
    return ", ".join(parts)


def _last_round(last: Mapping[str, Any]) -> list[str]:
    texts = {"changed": "labels changed in the last", "violations": "violations there", "kept": "inputs kept"}
    slack = [f"rules missed by {last['slack']:,.4g} in all"] if last.get("slack") else []
    return [f"{last[name]:,.10g} {text}" for name, text in texts.items() if name in last] + slack


def _model(model: "ModelSummary") -> Text:
    around = f" around {model.base.learner}" if model.base else ""
    return Text(f"{model.learner}{around} in {model.path} ({_size(model.bytes)})")


def _labels(labels: Sequence[str]) -> Text:
    return Text(f"{len(labels)}: {', '.join(labels)}")


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def headline(evaluation: Evaluation) -> Text:
    """The two numbers that matter, and on how much."""
    spans = evaluation.spans
    return Text(
        f"token accuracy {percent(evaluation.accuracy)} %, span F1 {percent(spans.overall.f1)} % "
        f"({counted(evaluation.sequences, 'sequence')}, {counted(evaluation.tokens, 'token')})"
    )


def remarks(evaluation: Evaluation) -> list[tuple[str, RenderableType]]:
    """What the numbers alone do not tell."""
    found: list[tuple[str, RenderableType]] = []
    if evaluation.skipped:
        found.append(("left out", f"{counted(evaluation.skipped, 'sequence')} without a label at every token"))
    if evaluation.unseen:
        unseen = ", ".join(f"{label} ({count:,})" for label, count in evaluation.unseen.items())
        doubt = "; is --label-column right?" if sum(evaluation.unseen.values()) > evaluation.tokens / 2 else ""
        found.append(("unseen", Text(f"labels that the model does not know, so always wrong: {unseen}{doubt}")))
    return found


def evaluation_page(evaluation: Evaluation, width: int, *, confusion: bool) -> Group:
    """What `evaluate` and `score` show."""
    spans = evaluation.spans
    meaning = "B- I- prefixes" if spans.scheme == "bio" else "runs of one label"
    facts: list[tuple[str, RenderableType]] = [
        ("tokens", f"accuracy {percent(evaluation.accuracy)} %, {counted(evaluation.tokens, 'token')} in "
         f"{counted(evaluation.sequences, 'sequence')}"),
        ("spans", f"F1 {percent(spans.overall.f1)} %, {spans.overall.support:,} gold, {spans.overall.predicted:,} "
         f"predicted, {spans.overall.correct:,} correct"),
        *remarks(evaluation),
    ]  # fmt: skip
    parts: list[RenderableType] = [
        grid(facts),
        scores_table(f"Spans ({meaning})", "type", spans.by_type, spans.overall),
        scores_table("Labels over tokens", "label", evaluation.labels),
    ]
    if confusion:
        parts.append(confusion_table(evaluation.confusion, width))
    return page(*parts)


def scores_table(title: str, kind: str, scores: Mapping[str, Score], overall: Score | None = None) -> Group:
    """Precision, recall and F1 by name."""
    table = sheet([kind, "precision", "recall", "F1", "gold", "predicted", "correct"])
    rows = [(Text(name), score) for name, score in scores.items()]
    for name, score in [*rows, *([(Text("all", "bold"), overall)] if overall else [])]:
        shares = (percent(score.precision), percent(score.recall), percent(score.f1))
        table.add_row(name, *shares, f"{score.support:,}", f"{score.predicted:,}", f"{score.correct:,}")
    return titled(title, table)


def confusion_table(found: Confusion, width: int) -> Group:
    """The matrix if it fits, else the most frequent confusions."""
    cells = [[f"{n:,}" if n else "." for n in row] for row in found.matrix]
    matrix = _matrix(found.labels, found.labels, cells, width)
    if matrix:
        return titled("Confusion (rows gold, columns predicted)", matrix)
    pairs = [
        (n, found.labels[i], found.labels[j])
        for i, row in enumerate(found.matrix)
        for j, n in enumerate(row)
        if i != j and n
    ]
    table = sheet(["gold", "predicted", "tokens"], text_columns=2)
    for n, gold, predicted in sorted(pairs, key=lambda pair: -pair[0])[:_MANY]:
        table.add_row(Text(gold), Text(predicted), f"{n:,}")
    return titled(f"Most frequent confusions ({len(pairs):,} in all; --json has the matrix)", table)


def _matrix(rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> Table | None:
    """A table with letters for the names of columns, or None if it is too wide. The first rows are those columns."""
    if len(columns) > len(ascii_lowercase):
        return None
    letters = ascii_lowercase[: len(columns)]
    table = sheet(["", *letters])
    for k, (name, row) in enumerate(zip(rows, cells, strict=True)):
        letter = letters[k] if k < len(letters) and columns[k] == name else " "
        table.add_row(Text(f"{letter} {name}"), *(Text(cell, _emphasis(cell, j == k)) for j, cell in enumerate(row)))
    widths = [max(map(len, column)) + 2 for column in zip(*cells, strict=True)]
    return table if max(map(len, rows)) + 2 + sum(widths) <= width else None


def _emphasis(cell: str, diagonal: bool) -> str:
    return "dim" if cell == "." else "bold" if diagonal else ""


def model_table(summary: "ModelSummary") -> Table:
    """What a model file holds."""
    rows: list[tuple[str, RenderableType]] = [
        ("model", _model(summary)),
        *_task(summary),
        ("features", f"{summary.features:,} features, {summary.weights:,} weights"),
        ("parameters", _parameters(summary.parameters)),
    ]
    if summary.layout:
        rows.append(("columns", Text(summary.layout.options)))
    if summary.base:
        rows.append((summary.base.learner, _parameters(summary.base.parameters)))
    rows += _guard(summary)
    parameters = summary.base.parameters if summary.base else summary.parameters
    if "features" in parameters and summary.task.kind == "labels":
        given = parameters["features"]
        rows.append(("templates", Text("the default ones" if given is None else "\n".join(given))))
    return grid(rows)


def _parameters(parameters: Mapping[str, Any]) -> Text:
    return Text(", ".join(f"{name}={value}" for name, value in parameters.items() if name != "features"))


def weights_table(weights: Sequence[Weight], source: str = "") -> Group:
    """Features, labels and weights."""
    table = sheet(["feature", "label", "weight"], text_columns=2)
    for item in weights:
        table.add_row(Text(item.feature), Text(item.label), f"{item.weight:+.3f}")
    return titled("Strongest weights" + (f", learned from {source}" if source else ""), table)


def transitions_table(found: Transitions, width: int) -> Group:
    """The matrix if it fits, else the strongest pairs."""
    labels, start, end = found.labels, "(start)", "(end)"
    rows = [[*row, last] for row, last in zip(found.pair, found.end, strict=True)]
    cells = [[f"{value:.1f}" for value in row] for row in rows] + [[*(f"{value:.1f}" for value in found.start), ""]]
    matrix = _matrix([*labels, start], [*labels, end], cells, width)
    if matrix:
        matrix.columns[-1].header = Text(end)
        return titled("Transitions (a row's label before a column's)", matrix)
    pairs = [(v, labels[i], labels[j]) for i, row in enumerate(found.pair) for j, v in enumerate(row)]
    pairs += [(v, start, label) for label, v in zip(labels, found.start, strict=True)]
    pairs += [(v, label, end) for label, v in zip(labels, found.end, strict=True)]
    ranked = sorted((pair for pair in pairs if pair[0]), key=lambda pair: -pair[0])
    half = _MANY // 2
    table = sheet(["label", "next", "weight"], text_columns=2)
    for value, before, after in ranked[:half] + ranked[half:][-half:]:
        table.add_row(Text(before), Text(after), f"{value:+.3f}")
    return titled(f"Transitions (the {half} highest and lowest; --json has all)", table)
