"""Tables of the page, in Markdown, from summaries alone."""

from collections.abc import Callable, Sequence

from .materials import TITLES
from .plan import PAIRS, TOPICS
from .summaries import Summary

# How a topic is drawn and tabulated along its axis: the axis in words, and a cell's place on it.
AXES: dict[str, tuple[str, Callable[[Summary], int]]] = {
    "sentences": ("labelled sentences", lambda one: one.cell.labelled),
    "labels": ("labels", lambda one: one.cell.labels or 0),
    "rules": ("rules", lambda one: one.cell.rules or 0),
    "threads": ("threads", lambda one: one.cell.threads),
    "workers": ("processes of joblib (0: one thread)", lambda one: one.cell.workers),
}
# Where it matters how long one waits, beside what it costs.
_WAITING = ("threads", "workers")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; columns of numbers are aligned to the right."""
    numbers = [all(set(cell) <= set("0123456789.,*") for cell in column) for column in zip(*rows, strict=True)]
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join('---:' if one else '---' for one in numbers)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def peers(found: Sequence[Summary]) -> str:
    """What every system took, and ours as shares of the peers'."""
    rows = [
        [
            f"{one.cell.system} ({one.version})", _inputs(one.cell.data, one.cell.labelled, one.cell.unlabelled),
            str(one.cell.threads), seconds(one.wall),
            seconds(one.processor), seconds(one.predicting), _megabytes(one.peak), _megabytes(one.grown),
            f"{one.line['metric']} {one.score:.1f}", _objective(one),
        ]
        for one in found
    ]  # fmt: skip
    head = ["system", "data", "threads", "training, s", "its processor s", "prediction, processor s", "peak MB",
            "of that in training", "score", "objective"]  # fmt: skip
    by = {(one.cell.data, one.cell.labelled, one.cell.system): one for one in found}
    shares = []
    for data, labelled, unlabelled, name, peer in PAIRS:
        ours, theirs = by.get((data, labelled, name)), by.get((data, labelled, peer))
        if ours and theirs:
            memory = f"{ours.peak / theirs.peak:.2f}" if ours.peak and theirs.peak else ""
            shares.append(
                [f"{name} / {peer}", _inputs(data, labelled, unlabelled), f"**{ours.wall / theirs.wall:.3f}**",
                 f"{ours.processor / theirs.processor:.3f}", memory]
            )  # fmt: skip
    ratios = table(["ours / peer", "data", "time", "processor time", "peak memory"], shares)
    return f"{table(head, rows)}\n\n{ratios}"


def learners(found: Sequence[Summary]) -> str:
    """A row for each learner with its cost and score on both tasks, and the learners of other outputs below."""
    tasks = [data for data in ("citations", "chunks", "references") if any(one.cell.data == data for one in found)]
    names = dict.fromkeys(one.cell.system for one in found if one.cell.data in tasks)
    by = {(one.cell.data, one.cell.system): one for one in found}
    rows = []
    for name in names:
        row = [name]
        for data in tasks:
            one = by.get((data, name))
            row += (
                [seconds(one.processor), seconds(one.predicting), _megabytes(one.peak), f"{one.score:.1f}"]
                if one
                else [""] * 4
            )
        rows.append(row)
    head = ["learner"]
    for data in tasks:
        metric = next(one.line["metric"] for one in found if one.cell.data == data)
        head += [f"{TITLES[data]}: training, s", "prediction, s", "MB", metric]
    others = [
        [one.cell.system, TITLES[one.cell.data], f"{one.cell.labelled:,}", seconds(one.processor),
         seconds(one.predicting), _megabytes(one.peak), f"{one.line['metric']} {one.score:.1f}"]
        for one in found if one.cell.data not in tasks
    ]  # fmt: skip
    text = table(head, rows)
    if others:
        head = ["learner", "data", "inputs", "training, s", "prediction, s", "MB", "score"]
        text += f"\n\n{table(head, others)}"
    return text


def along(topic: str, found: Sequence[Summary]) -> str:
    """A row for each system, a column for each place on the topic's axis."""
    axis, place = AXES[topic]
    places = sorted({place(one) for one in found})
    rows = []
    for name in dict.fromkeys(cell.system for cell in TOPICS[topic]()):
        by = {place(one): one for one in found if one.cell.system == name}
        cells = [by.get(at) for at in places]
        if not by:
            continue
        if topic in _WAITING:
            rows.append([f"{name}: time, s", *(seconds(one.wall) if one else "" for one in cells)])
        rows.append([f"{name}: processor s", *(seconds(one.processor) if one else "" for one in cells)])
        rows.append([f"{name}: peak MB", *(_megabytes(one.peak) if one else "" for one in cells)])
        if topic not in _WAITING:
            metric = next(one.line["metric"] for one in cells if one)
            rows.append([f"{name}: {metric}", *(f"{one.score:.1f}" if one else "" for one in cells)])
    return table([axis, *(f"{at:,}" for at in places)], rows)


def _inputs(data: str, labelled: int, unlabelled: int) -> str:
    """Which data, and how many inputs of them."""
    return f"{TITLES[data]}, {labelled or unlabelled:,}{' labelled' if labelled and unlabelled else ''}"


def seconds(value: float) -> str:
    """Three digits, but no more than milliseconds."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value >= 1 else f"{value:.3f}"


def _megabytes(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _objective(one: Summary) -> str:
    """Of those that minimise the same function."""
    value = one.line.get("objective")
    return "" if value is None or one.cell.data != "chunks" or "CRF" not in one.cell.system else f"{value:,.1f}"
