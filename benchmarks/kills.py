"""Fits with checkpoints that are killed at random moments: `python -m benchmarks.kills --runs 200`.

Processes train on generated references and are killed (SIGKILL) at a random moment of the fit; the next one goes on,
until one ends. What it wrote is compared with the model file of an undisturbed process, byte by byte. Then this begins
anew, until there were as many kills as asked for.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

from sidelight import (
    CRF,
    EM,
    HMM,
    CoDL,
    PosteriorRegularization,
    StructuralSVM,
    StructuredPerceptron,
    checkpointing,
    count,
    generate_references,
    once_each,
    starts_with,
)
from sidelight.running import saved_values

# Seconds between states; how many inputs are labelled where others are not.
_EVERY, _LABELLED = 0.05, 60
# The time within which a process is killed, after one that was not in time, and after one that was.
_SOONER, _LATER = 0.7, 1.1
# Seconds between two looks whether a fit has begun.
_POLL = 0.005


def _rules() -> list[Any]:
    return [starts_with("author", "editor"), once_each()]


# What is trained, and on how many references; of those of the second kind few are labelled.
CASES: dict[str, tuple[Callable[[], Any], int, bool]] = {
    "CRF, exponentiated gradient": (lambda: CRF(solver="eg", tolerance=1e-6), 500, True),
    "CRF, L-BFGS": (lambda: CRF(solver="lbfgs", tolerance=1e-5), 250, True),
    "CRF, L-BFGS with l1": (lambda: CRF(solver="lbfgs", l1=0.1, tolerance=1e-4), 100, True),
    "StructuredPerceptron": (lambda: StructuredPerceptron(epochs=20), 2500, True),
    "StructuralSVM": (lambda: StructuralSVM(tolerance=1e-2), 120, True),
    "CoDL(CRF)": (lambda: CoDL(CRF(tolerance=1e-4), _rules(), iterations=3, guard=False), 400, False),
    "EM(HMM)": (lambda: EM(HMM(), iterations=60, guard=False), 1500, False),
    "PR(HMM)": (
        lambda: PosteriorRegularization(HMM(), [count("author") >= 1], iterations=40, guard=False),
        1500,
        False,
    ),
    "PR(CRF)": (
        lambda: PosteriorRegularization(CRF(), [count("author") >= 1], iterations=10, guard=False),
        120,
        False,
    ),
}


@dataclass
class Tally:
    """What came of one case: kills, of which some left a state to go on from, and models that were compared.

    seconds: what an undisturbed fit takes; within: the time in which the next one is killed.
    """

    seconds: float
    within: float
    kills: int = 0
    resumed: int = 0
    models: int = 0
    different: int = 0


def train(name: str, model: str, folder: str | None) -> None:
    """What the processes do: train, with a checkpoint if there is a folder, and save."""
    make, size, labelled = CASES[name]
    X, y = generate_references(size, seed=7)
    known = y if labelled else [one if i < _LABELLED else None for i, one in enumerate(y)]
    _begun(model).touch()
    if folder is None:
        make().fit(X, known).save(model)
        return
    with checkpointing(folder, every=_EVERY):
        make().fit(X, known).save(model)


def _begun(model: str | Path) -> Path:
    """The file that says that a fit has begun, which takes a process some seconds."""
    return Path(f"{model}.begun")


def _start(name: str, model: Path, folder: Path | None) -> subprocess.Popen[bytes]:
    """Returns a process when its fit has begun."""
    where = [] if folder is None else ["--folder", str(folder)]
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.kills", "--train", name, "--model", str(model), *where]
    begun = _begun(model)
    begun.unlink(missing_ok=True)
    process = subprocess.Popen(command)
    while not begun.exists() and process.poll() is None:
        sleep(_POLL)
    return process


def undisturbed(name: str, model: Path) -> float:
    """Train without checkpoints; returns the seconds that the fit took."""
    process, begin = _start(name, model, None), perf_counter()
    if process.wait():
        raise SystemExit(f"{name} could not be trained")
    return perf_counter() - begin


def one_round(name: str, right: bytes, tally: Tally, place: Path, rng: np.random.Generator, most: int) -> None:
    """Start processes and kill them, at most so often, until one ends; compare what it wrote."""
    model, folder = place / "model", place / "checkpoint"
    model.unlink(missing_ok=True)
    while True:
        process = _start(name, model, folder)
        try:
            process.wait(None if tally.kills >= most else rng.uniform(0.0, tally.within))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            tally.kills += 1
            tally.within = min(_LATER * tally.within, tally.seconds)
            tally.resumed += _has_state(folder / "checkpoint.zip")
            if model.exists() and model.read_bytes() != right:  # written as a whole or not at all
                tally.different += 1
            continue
        if process.returncode:
            raise SystemExit(f"{name} ended with {process.returncode}; its checkpoint is in {folder}")
        tally.models += 1
        tally.within *= _SOONER
        tally.different += model.read_bytes() != right
        return


def _has_state(file: Path) -> bool:
    """Whether a checkpoint has what a solver or a loop of rounds can go on from; it is begun before there is any."""
    return file.exists() and bool(saved_values.read(file)["entries"])


def measure(runs: int, names: Sequence[str], seed: int) -> dict[str, Tally]:
    """Kill this many processes, about as many of every case."""
    rng, tallies = np.random.default_rng(seed), dict[str, Tally]()
    for number, name in enumerate(names):
        share = runs * (number + 1) // len(names) - runs * number // len(names)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            undisturbed(name, place / "right")  # which may compile
            seconds = undisturbed(name, place / "right")
            tally = tallies[name] = Tally(seconds, seconds)
            right = (place / "right").read_bytes()
            while tally.kills < share:
                one_round(name, right, tally, place, rng, share)
        print(
            f"{name:28} {tally.seconds:5.1f} s undisturbed, {tally.kills:3} kills ({tally.resumed} with a state to go "
            f"on from), {tally.models:3} models, {tally.different} different",
            flush=True,
        )
    return tallies


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser("python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="processes that are killed (200)")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES), metavar="NAME")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--train", choices=list(CASES), help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.train:
        train(given.train, given.model, given.folder)
        return 0
    tallies = measure(given.runs, given.cases, given.seed).values()
    different, resumed = sum(one.different for one in tallies), sum(one.resumed for one in tallies)
    print(
        f"{sum(one.kills for one in tallies)} kills ({resumed} with a state to go on from), "
        f"{sum(one.models for one in tallies)} models, {different} different or lost"
    )
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
