"""`python -m benchmarks.clusters`: clusters of several processes on this machine beside threads, and workers killed.

For each of joblib, Dask and Ray it fits a CRF, a structural SVM, EM, CoDL and posterior regularization to generated
references, and prints the largest difference of any weight from that of threads, and what went between this process and
the workers. Then it fits CRFs while a random worker is killed in each of them, and compares the models.
"""

import argparse
import os
import signal
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Event
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
    changes_only_after,
    generate_references,
    punctuation,
    running_on,
    share,
    starts_with,
)


def learners() -> dict[str, Any]:
    """What is fitted; the second one of posterior regularization has a rule about the corpus."""
    rules = [starts_with("author", "editor"), changes_only_after(punctuation)]
    crf = CRF(solver="lbfgs")
    return {
        "CRF": crf,
        "StructuralSVM": StructuralSVM(),
        "EM(HMM)": EM(HMM(), guard=False),
        "CoDL(HMM)": CoDL(HMM(), rules, guard=False),
        "PR(CRF)": PosteriorRegularization(crf, rules, guard=False),
        "PR(CRF), corpus": PosteriorRegularization(crf, [*rules, share("title") >= 0.2], guard=False),
    }


def weights(model: Any) -> list[Any]:
    """Returns all arrays of a model, and of the models inside."""
    if model.models_:
        return [array for one in model.models_.values() if one is not None for array in weights(one)]
    return [array for _, array in sorted(model.model_.state().items())]


def difference(one: Any, other: Any) -> float:
    """Returns the largest difference of a number of two models."""
    pairs = zip(weights(one), weights(other), strict=True)
    return max(float(np.abs(a - b).max(initial=0.0)) for a, b in pairs)


def fit(learner: Any, X: Any, y: Any) -> tuple[Any, float]:
    """Returns the fitted learner and the seconds it took."""
    begin = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learner.fit(X, y), perf_counter() - begin


def compare(kind: str, workers: int, sequences: int) -> float:
    """Fit everything here and on a cluster, print what differs, and return the largest difference."""
    X, y = generate_references(sequences, seed=1)
    half = [*y[: sequences // 5], *[None] * (sequences - sequences // 5)]
    known = {name: y if name in ("CRF", "StructuralSVM") else half for name in learners()}
    here = {name: fit(one, X, known[name]) for name, one in learners().items()}
    worst = 0.0
    with running_on(f"{kind}:{workers}") as place:
        _require(place, workers)
        for name, one in learners().items():
            place.traffic = type(place.traffic)(workers)
            found, seconds = fit(one, X, known[name])
            worst = max(worst, apart := difference(found, here[name][0]))
            print(
                f"{kind}, {workers} processes: {name}: largest difference {apart:.1e} from threads; {seconds:.1f} s, "
                f"threads {here[name][1]:.1f} s; {place.traffic}", flush=True,
            )  # fmt: skip
    return worst


def kill_workers(kind: str, workers: int, kills: int, sequences: int, seed: int) -> float:
    """Fit a CRF again and again while a random worker is killed, and return the largest difference of a model.

    Where a fit ends before the kill, nothing is killed and nothing counted.
    """
    X, y = generate_references(sequences, seed=1)
    learner, random, worst, done = CRF(solver="lbfgs", max_iterations=40), Random(seed), 0.0, 0
    here, _ = fit(learner, X, y)
    first = [np.array(one) for one in weights(here)]
    with running_on(f"{kind}:{workers}") as place, ThreadPoolExecutor(1) as pool:
        _require(place, workers)
        usual = fit(learner, X, y)[1]
        while done < kills:
            victims = _all_back(place, workers)
            victim, moment, ended = random.choice(victims), random.uniform(0.05, 0.8) * usual, Event()
            killing = pool.submit(_kill, victim, moment, ended)
            found, seconds = fit(learner, X, y)
            ended.set()
            killed = killing.result()
            apart = max(float(np.abs(a - b).max(initial=0.0)) for a, b in zip(weights(found), first, strict=True))
            worst, done, usual = max(worst, apart), done + killed, min(usual, seconds)
            print(
                f"{kind}: {f'kill {done}' if killed else 'no kill'} of {len(victims)} workers after {moment:.1f} s of "
                f"{seconds:.1f}; difference {apart:.1e}", file=sys.stderr, flush=True,
            )  # fmt: skip
        print(
            f"{kind}, {workers} processes: {done} kills of a random worker during training, all fits finished; largest "
            f"difference {worst:.1e}; {place.traffic.repeated} calls were made again", flush=True,
        )  # fmt: skip
    return worst


def _require(place: Any, workers: int) -> None:
    """What is printed is of this many processes."""
    if place.workers != workers:
        raise SystemExit(f"{place.workers} processes were started in place of {workers}")


def _all_back(place: Any, workers: int) -> list[int]:
    """Returns the processes of all workers, when they are there; what is killed at its very start Dask gives up."""
    for _ in range(60):
        found = sorted(set(place.evaluated("__import__('os').getpid()")))
        sleep(1.0)
        if len(found) >= workers:
            break
    return found


def _kill(victim: int, moment: float, ended: Event) -> bool:
    if ended.wait(moment):
        return False
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def main() -> int:
    """Run and print; the exit code says whether all models are those of threads to 1e-6."""
    parser = argparse.ArgumentParser("python -m benchmarks.clusters", description=__doc__)
    parser.add_argument("--on", default="joblib,dask,ray", help="which libraries")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=20, help="workers killed, for each library")
    parser.add_argument("--sequences", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    worst = 0.0
    for kind in options.on.split(","):
        worst = max(worst, compare(kind, options.workers, options.sequences))
        if options.kills:
            apart = kill_workers(kind, options.workers, options.kills, options.sequences, options.seed)
            worst = max(worst, apart)
    return int(worst > 1e-6)


if __name__ == "__main__":
    sys.exit(main())
