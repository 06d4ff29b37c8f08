"""Word alignment of the Hansards by corpus size: AER beside the papers' numbers and beside eflomal, speed and memory.

The sentences that are scored are learned from too, without their links, as is usual for this task. With `--peers`
eflomal is run on the same text, if its command `eflomal-align` is found (`pip install eflomal`).
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sidelight import GoldLinks, WordAligner, alignment_scores, read_bitext, read_links

from .chosen import constant
from .report import Report, quoted
from .setting import Setting

SIZES = (10_000, 50_000, 100_000)
TABLES = {"wordalign-papers": "as in the papers", "wordalign-peers": "as it comes", "wordalign-speed": "speed"}
# Nothing but what the papers have: models, constraints and γ.
PLAIN: dict[str, Any] = {"stems": 0.0, "cognates": 0.0, "hmm_iterations": 5}
SYSTEMS: dict[str, dict[str, Any]] = {
    "EM": {"constraint": "none", "gamma": 1.0},
    "PR, bijective": {"constraint": "bijective", "gamma": 1.0},
    "PR, symmetric": {"constraint": "symmetric", "gamma": 1.0},
    "γ = 0.3, symmetric": {"constraint": "symmetric", "gamma": 0.3},
    "γ = 0, symmetric": {"constraint": "symmetric", "gamma": 0.0},
}
# Table 4.2 of Chang 2011: AER of English to French and back on the Hansards' test pairs.
THESIS = {
    "PR, symmetric": {10_000: (13.78, 13.22), 50_000: (11.26, 10.72), 100_000: (10.59, 10.33)},
    "γ = 0, symmetric": {10_000: (15.01, 15.70), 50_000: (11.03, 10.13), 100_000: (9.19, 9.68)},
    "γ = 0.3, symmetric": {10_000: (11.02, 10.92), 50_000: (9.08, 9.43), 100_000: (8.22, 8.76)},
}
# AER of intersected links on the test pairs, measured once on these files by others.
MEASURED = {
    "fast_align": {10_000: 15.7, 50_000: 13.1, 100_000: 12.3},
    "eflomal": {10_000: 9.3, 50_000: 7.9, 100_000: 7.7},
}
# What the aligner does by default.
DEFAULTS = constant("wordalign.DEFAULTS")
_ROUNDS = 2
_EFLOMAL = "eflomal-align"
MISSING = f"eflomal is not installed ({_EFLOMAL} is not on the PATH), so it is left out; pip install eflomal"
_ENDS = ("e", "f", "wa")
# What is decoded with thresholds that are chosen on dev, as in the papers.
READINGS = {
    "English to French": lambda one: one.forward,
    "French to English": lambda one: one.backward,
    "both": lambda one: np.sqrt(one.forward * one.backward),
}
THRESHOLDS = tuple(k / 20 for k in range(1, 20))

Pairs = list[tuple[list[str], list[str]]]


@dataclass(frozen=True)
class Text:
    """Training pairs, and pairs with gold links."""

    train: Pairs
    scored: Pairs
    gold: list[GoldLinks]
    dev: Pairs
    dev_gold: list[GoldLinks]

    def cut(self, size: int) -> Pairs:
        """The first pairs to learn from, and those that are scored or that thresholds are chosen on behind them."""
        return [*self.train[:size], *self.scored, *(self.dev if self.dev != self.scored else ())]


def rate(gold: Sequence[GoldLinks], links: Sequence[Any]) -> float:
    """AER in percent."""
    return 100 * alignment_scores(gold, links).aer


def files(setting: Setting) -> list[Path]:
    """What is read."""
    folder = setting.data / "hansards"
    splits = dict.fromkeys((setting.split, "dev"))
    return [
        folder / f"{name}.{end}" for name, ends in (("train", "ef"), *((one, _ENDS) for one in splits)) for end in ends
    ]


def scored(setting: Setting) -> str:
    """What is scored."""
    return f"Hansards, {setting.split} pairs"


def run(setting: Setting, report: Report) -> None:
    """Run the tables."""
    paths = files(setting)
    text = Text(read_bitext(*paths[:2]), *_gold(*paths[2:5]), *_gold(*paths[-3:]))
    chosen, peers = setting.chosen(TABLES), setting.peers and shutil.which(_EFLOMAL) is not None
    if setting.peers and not peers:
        report.note(MISSING)
    if "wordalign-papers" in chosen:
        for size in _sizes(text):
            with report.section(f"{TABLES['wordalign-papers']}, {size:,} pairs: AER"):
                _papers(text, size, report)
    if "wordalign-peers" in chosen:
        with report.section(f"{TABLES['wordalign-peers']}: AER"):
            _peers(text, report, peers)
    if "wordalign-speed" in chosen:
        with report.section(f"{TABLES['wordalign-speed']}: {len(text.train):,} pairs, both directions"):
            _speed(text, report, peers)


def _gold(source: Path, target: Path, links: Path) -> tuple[Pairs, list[GoldLinks]]:
    pairs = read_bitext(source, target)
    return pairs, read_links(links, pairs, "naacl")


def _sizes(text: Text) -> Iterator[int]:
    return (size for size in SIZES if size <= len(text.train))


def _papers(text: Text, size: int, report: Report) -> None:
    """Posterior decoding of each direction, as in the papers, and of both; entropies of the tables."""
    for name, more in SYSTEMS.items():
        aligner = WordAligner(**{**PLAIN, **more}).fit(text.cut(size))
        found = [aligner.predict_posteriors(pairs) for pairs in (text.dev, text.scored)]
        for column, what in READINGS.items():
            on_dev, on_scored = ([what(one) for one in posteriors] for posteriors in found)
            threshold = min(THRESHOLDS, key=lambda t: rate(text.dev_gold, above(on_dev, t)))
            report.add(name, column, rate(text.gold, above(on_scored, threshold)), "%")
        for column, value in zip(("entropy of f | e", "entropy of e | f"), aligner.entropy_, strict=True):
            report.add(name, column, value, "bits")
        for column, value in zip(("En-Fr", "Fr-En"), THESIS.get(name, {}).get(size, ()), strict=False):
            report.add(name, quoted(f"Chang 2011, {column}"), value, "%")


def above(posteriors: Sequence[Any], threshold: float) -> list[list[tuple[int, int]]]:
    """Links whose posterior reaches a threshold."""
    return [list(zip(*np.nonzero(one >= threshold), strict=True)) for one in posteriors]


def _peers(text: Text, report: Report, peers: bool) -> None:
    """The default aligner and eflomal."""
    for size in _sizes(text):
        name = f"{size:,} pairs"
        links = WordAligner(**DEFAULTS).fit(text.cut(size)).predict(text.scored)
        theirs = rate(text.gold, run_eflomal(text.cut(size), text)[0]) if peers else None
        report.add(name, "sidelight", rate(text.gold, links), "%", at_most=theirs)
        if theirs is not None:
            report.add(name, "eflomal, intersected", theirs, "%")
        for system, rates in MEASURED.items():
            report.add(name, quoted(f"{system}, test"), rates[size], "%")


def _speed(text: Text, report: Report, peers: bool) -> None:
    """Commands that read files and write links, taking turns; the shortest time of each."""
    found: dict[str, list[Spent]] = {}
    free = ("--constraint", "none", "--gamma", "1", "--ibm1", "5", "--hmm", "5")
    bound = ("--constraint", "symmetric", "--gamma", "1", "--ibm1", "5", "--hmm", "5")
    _sidelight(text.train[:200], free)  # compiles
    for turn in range(_ROUNDS):
        found.setdefault("HMM without constraints", []).append(_sidelight(text.train, free))
        if peers:
            found.setdefault("eflomal", []).append(run_eflomal(text.train, text)[1])
        if turn == 0:
            found["symmetric, 5 + 5 rounds"] = [_sidelight(text.train, bound)]
            found["default"] = [_sidelight(text.train, ())]
    best = {name: min(times, key=lambda one: one.seconds) for name, times in found.items()}
    peer = best.get("eflomal")
    for name, spent in best.items():
        at_most = 600.0 if name.startswith("symmetric") else None
        if name.startswith("HMM") and peer is not None:
            at_most = 2 * peer.seconds
        report.add(name, "wall time", spent.seconds, "s", at_most=at_most)
        report.add(name, "CPU time", spent.cpu, "s")
        if spent.megabytes is not None:
            report.add(name, "peak memory", spent.megabytes, "MB")


@dataclass(frozen=True)
class Spent:
    """What a command took."""

    seconds: float
    cpu: float
    megabytes: float | None


def _timed(command: list[str], peak: bool = False) -> Spent:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, after = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(seconds, cpu, float(done.stdout.split()[-1]) if peak else None)


def _written(pairs: Pairs, folder: str) -> tuple[str, str]:
    """Both sides as files."""
    names = str(Path(folder) / "e"), str(Path(folder) / "f")
    for side, name in enumerate(names):
        Path(name).write_text("".join(" ".join(pair[side]) + "\n" for pair in pairs))
    return names


def _sidelight(pairs: Pairs, options: Sequence[str]) -> Spent:
    """The command in a process of its own, which prints its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["align", *_written(pairs, folder), "-o", os.path.join(folder, "links"), "--quiet", *options]
        program = (
            "import sys; from sidelight.cli.main import app; from benchmarks.memory import own_peak; "
            "app(sys.argv[1:], standalone_mode=False); print(own_peak())"
        )
        return _timed([sys.executable, "-c", program, *arguments], peak=True)


def run_eflomal(pairs: Pairs, text: Text) -> tuple[list[set[tuple[int, int]]], Spent]:
    """Intersected links of the scored pairs, where they are among these, and what the command took."""
    with tempfile.TemporaryDirectory() as folder:
        e, f = _written(pairs, folder)
        out = [os.path.join(folder, name) for name in ("forward", "backward")]
        spent = _timed([_EFLOMAL, "-s", e, "-t", f, "-f", out[0], "-r", out[1], "--overwrite"])
        sides = [[_links(line) for line in Path(name).read_text().splitlines()] for name in out]
    found = {" ".join([*pair[0], "|||", *pair[1]]): a & b for pair, a, b in zip(pairs, *sides, strict=True)}
    return [found.get(" ".join([*one, "|||", *other]), set()) for one, other in text.scored], spent


def _links(line: str) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in (item.split("-") for item in line.split())}
