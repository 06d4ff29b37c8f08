"""How fast structures answer, on random scores of real sizes and with one thread.

Every structure has a section of its own: a function that adds calls to be timed. The calls of a section take turns,
round by round, so that a machine that becomes slower or faster does so for all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median, pstdev
from typing import Any

import numpy as np

from sidelight import FlatParts, Trees, read_conllu

from .datasets import treebank_file
from .report import Report, seconds
from .setting import Setting

ROUNDS = 5
# Tokens a second that are asked of projective trees.
ASKED = {"argmax": 200_000, "marginals": 50_000}
# Labels of arcs: none, and about as many as Universal Dependencies has.
LABELS = (1, 40)
# Labelled trees are measured on this many sentences.
LABELLED = 2000


@dataclass(frozen=True)
class Call:
    """A call to be timed, and how many units (such as tokens) it goes through.

    what, system: row and column of the table; unit: that of the rate; at_least: the rate that is asked for.
    """

    what: str
    system: str
    work: Callable[[], Any]
    units: int
    unit: str
    at_least: float | None = None


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads: treebanks tell how long sentences are."""
    return [treebank_file(setting.data)]


def scored(setting: Setting) -> str:
    """The data whose sizes scores have."""
    return "en_ewt, train"


def run(setting: Setting, report: Report) -> None:
    """Time every structure."""
    report.note(
        f"Scores are drawn; one thread; medians of {ROUNDS} rounds in which the calls of a table take turns. --split "
        "changes nothing."
    )
    for section in SECTIONS:
        section(setting, report)


def measure(report: Report, calls: list[Call]) -> None:
    """Calls each in every round, after one that compiles, and adds the median rate of each."""
    for call in calls:
        call.work()
    rates: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, found in zip(calls, rates, strict=True):
            found.append(call.units / seconds(call.work))
    for call, found in zip(calls, rates, strict=True):
        spread = pstdev(found)
        report.add(call.what, call.system, median(found), call.unit, deviation=spread, at_least=call.at_least)


def drawn_arcs(lengths: Any, labels: int, seed: int) -> FlatParts:
    """Random scores of the arcs of sentences of these lengths."""
    shapes = np.stack((lengths, np.full_like(lengths, labels)), axis=1)
    offsets = np.concatenate(([0], np.cumsum(lengths * lengths * labels))).astype(np.int64)
    return FlatParts(np.random.default_rng(seed).normal(size=offsets[-1]), offsets, shapes)


def trees(setting: Setting, report: Report) -> None:
    """Dependency trees, for every sentence of the treebank."""
    X, _ = read_conllu(treebank_file(setting.data))
    lengths = np.array([len(x) for x in X], np.int64)
    with report.section("Dependency trees"):
        for labels in LABELS:
            some = lengths if labels == 1 else lengths[:LABELLED]
            scores, tokens = drawn_arcs(some, labels, setting.seeds[0]), int(some.sum())
            arcs = "arcs without labels" if labels == 1 else f"{labels} labels of arcs"
            report.note(f"{arcs}: {len(some):,} sentences, {tokens:,} tokens")
            measure(report, tree_calls(scores, tokens, arcs, ASKED if labels == 1 else {}))


def tree_calls(scores: FlatParts, tokens: int, arcs: str, asked: dict[str, int]) -> list[Call]:
    """Both calls on both kinds of trees, each with a single root."""
    calls = []
    for projective in (True, False):
        structure, kind = Trees(1, projective=projective), "projective" if projective else "non-projective"
        for name in ("argmax", "marginals"):
            work = _bound(getattr(structure, name), scores)
            bound = asked.get(name) if projective else None
            calls.append(Call(f"{kind} {name}, {arcs}", "sidelight", work, tokens, "tokens/s", bound))
    return calls


def _bound(call: Callable[[Any], Any], scores: Any) -> Callable[[], Any]:
    return lambda: call(scores)


SECTIONS: tuple[Callable[[Setting, Report], None], ...] = (trees,)
