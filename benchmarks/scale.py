"""Time and memory against the number of tokens, of corpora that stay on disk: `python -m benchmarks.scale`.

Tokens are generated: words with Zipf's frequencies, and labels that follow from a word and the one before it, with
some noise. Every learner runs in a process of its own, for a fixed number of passes over the data, so that what is
measured is the cost of a pass and not how fast it converges. `--results FILE` keeps a JSON line for every run,
`--figure FILE` draws all lines of that file; with `--learners ""` nothing is measured.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .drawing import Panel, draw, require_drawing
from .memory import own_peak

WORDS, LABELS, LENGTH = 50_000, 10, 20
TEMPLATES = (
    "word", "word[-1]", "word[1]", "word.suffix(2)", "word[-1].suffix(2)", "word[-1].suffix(2) & word.suffix(2)",
)  # fmt: skip
LEARNERS = ("crf", "perceptron", "codl", "predict")
# Gradients of the CRF, passes of the perceptron, rounds of CoDL, and its labelled sequences.
_ITERATIONS, _EPOCHS, _ROUNDS, _LABELLED = 5, 3, 2, 5000
_BATCH = 20_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MILLION = 1_000_000


def vocabulary() -> list[str]:
    """Words whose last two letters tell their class."""
    stems = [_LETTERS[k // 676 % 26] + _LETTERS[k // 26 % 26] + _LETTERS[k % 26] for k in range(17_576)]
    return [f"{stems[k % 17_576]}{k // 17_576}{_LETTERS[k % LABELS]}{_LETTERS[k % 7]}" for k in range(WORDS)]


def generate(tokens: int, seed: int) -> Iterator[tuple[list[str], list[str]]]:
    """Sequences of words and labels, some at a time; at least so many tokens."""
    rng = np.random.default_rng(seed)
    words, names = np.array(vocabulary(), object), np.array([f"L{k}" for k in range(LABELS)], object)
    shares = np.cumsum(1 / np.arange(1, WORDS + 1))
    made = 0
    while made < tokens:
        lengths = rng.integers(LENGTH // 2, LENGTH + LENGTH // 2 + 1, _BATCH)
        edges = np.concatenate(([0], np.cumsum(lengths)))
        if made + edges[-1] > tokens:
            edges = edges[: np.searchsorted(edges, tokens - made) + 1]
        chosen = np.searchsorted(shares, rng.uniform(0, shares[-1], edges[-1]))
        before = np.concatenate(([0], chosen[:-1]))
        before[edges[:-1]] = 0
        labels = np.where(chosen % 3 == 0, chosen + before, chosen) % LABELS
        noise = rng.uniform(size=len(labels)) < 0.05
        labels[noise] = rng.integers(0, LABELS, int(noise.sum()))
        texts, known, ends = words[chosen].tolist(), names[labels].tolist(), edges.tolist()
        yield from ((texts[a:b], known[a:b]) for a, b in pairwise(ends))
        made += int(edges[-1])


def write(tokens: int, folder: Path) -> None:
    """A corpus with labels, one with few labels, and the same text without any."""
    from sidelight import write_corpus

    write_corpus(folder / "full.sl", generate(tokens, 0))
    few = ((x, y if k < _LABELLED else None) for k, (x, y) in enumerate(generate(tokens, 0)))
    write_corpus(folder / "few.sl", few)
    with open(folder / "text.tok", "w", encoding="utf-8") as file:
        file.writelines(" ".join(x) + "\n" for x, _ in generate(tokens, 0))


def small_model(folder: Path) -> None:
    """The model that `predict` predicts by."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # five iterations are enough here
        X, y = map(list, zip(*generate(_MILLION // 5, 0), strict=True))
        learner("crf").fit(X, y).save(folder / "small.model")


def learner(name: str) -> Any:
    """The learner as it is measured."""
    from sidelight import CRF, HMM, CoDL, StructuredPerceptron, starts_with, where, word

    if name == "crf":
        return CRF(TEMPLATES, solver="lbfgs", max_iterations=_ITERATIONS, l2=1.0)
    if name == "perceptron":
        return StructuredPerceptron(TEMPLATES, epochs=_EPOCHS)
    # What no neighbour changes: of some frequent words, and that sequences begin with labels that are not rare.
    words = vocabulary()
    rules = [where(word.isin(words[k])).label(f"L{k % LABELS}") for k in (1, 2, 4, 5, 7)]
    return CoDL(HMM(), [*rules, starts_with(*(f"L{k}" for k in range(9)))], iterations=_ROUNDS, guard=False)


def run(name: str, folder: Path) -> dict[str, Any]:
    """Do one thing in this process, and tell what it took."""
    from sidelight import read_corpus, token_accuracy

    begin, out, model = time.perf_counter(), dict[str, Any](), None
    if name == "predict":
        from sidelight.cli.main import app

        target = folder / "labelled.tsv"
        arguments = ["predict", folder / "small.model", folder / "text.tok", "-o", target]
        app([str(one) for one in arguments], standalone_mode=False)
        out["bytes_written"] = target.stat().st_size
        target.unlink()
    else:
        corpus = read_corpus(folder / ("few.sl" if name == "codl" else "full.sl"))
        model = learner(name).fit(corpus, corpus.y)
    seconds, used = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF)
    out |= {"seconds": round(seconds, 2), "cpu": round(used.ru_utime + used.ru_stime, 2), "peak_mb": round(own_peak())}
    if model is not None:
        X, y = map(list, zip(*generate(20_000, 1), strict=True))
        out["accuracy"] = round(token_accuracy(y, model.predict(X)), 4)
    return out


def measure(name: str, tokens: int, folder: Path) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.scale", "--alone", name, "--folder", str(folder)]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {"learner": name, "tokens": tokens, **json.loads(found.splitlines()[-1])}


def table(lines: list[dict[str, Any]]) -> str:
    """Processor seconds and peak MB of what was measured, the latest line of each learner and size, in Markdown."""
    latest = {(one["learner"], one["tokens"]): one for one in lines}
    names = [name for name in LEARNERS if any(name == known for known, _ in latest)]
    rows = [["million tokens", *names], ["---"] * (len(names) + 1)]
    for tokens in sorted({tokens for _, tokens in latest}):
        cells = [latest.get((name, tokens)) for name in names]
        shown = ["not run" if one is None else f"{one['cpu']:,.0f} s, {one['peak_mb']:,} MB" for one in cells]
        rows.append([f"{tokens / _MILLION:g}", *shown])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def figure(lines: list[dict[str, Any]], file: Path) -> None:
    """Time and memory against tokens, the latest line of each learner and size."""
    latest = {(one["learner"], one["tokens"]): one for one in lines}
    panels = {
        "processor time": Panel("million tokens", y="seconds of a core"),
        "memory": Panel("million tokens", y="peak resident memory, MB"),
    }
    for (name, tokens), one in sorted(latest.items()):
        panels["processor time"].add(name, tokens / _MILLION, one["cpu"])
        panels["memory"].add(name, tokens / _MILLION, one["peak_mb"])
    draw(panels, file)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", default="1,2,5", help="millions of tokens, with commas between")
    parser.add_argument("--learners", default=",".join(LEARNERS))
    parser.add_argument("--folder", type=Path, help="where generated corpora go; a temporary one by default")
    parser.add_argument("--results", type=Path, help="file of JSON lines that results are added to")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--alone", choices=LEARNERS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    require_drawing(given.figure)
    if given.alone:
        print(json.dumps(run(given.alone, given.folder)))
        return
    names, lines = [one for one in given.learners.split(",") if one], list[dict[str, Any]]()
    for millions in [float(one) for one in given.tokens.split(",") if one] if names else []:
        tokens = int(millions * _MILLION)
        with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
            folder, begin = Path(temporary), time.perf_counter()
            write(tokens, folder)
            print(f"{tokens:,} tokens written in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
            if "predict" in names:
                small_model(folder)
            for name in names:
                lines.append(measure(name, tokens, folder))
                print(json.dumps(lines[-1]), flush=True)
                if given.results:
                    with open(given.results, "a", encoding="utf-8") as file:
                        file.write(json.dumps({**lines[-1], "cores": os.cpu_count()}) + "\n")
    kept = given.results.read_text(encoding="utf-8").splitlines() if given.results else []
    lines = [json.loads(one) for one in kept] or lines
    print(table(lines))
    if given.figure:
        figure(lines, given.figure)


if __name__ == "__main__":
    main()
