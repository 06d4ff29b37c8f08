"""Seconds of the first and second calls in this process, as JSON: `python -m benchmarks.first_calls fit|predict FILE`.

`fit` trains on a few tokens and writes the model; `predict` reads that model.
"""

from time import perf_counter

START = perf_counter()

import json  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

X = [["Ada", "Lovelace", ".", "Notes", ".", "1843", "."], ["Alan", "Turing", ".", "On", "numbers", ".", "1936", "."]]
Y = [["author"] * 3 + ["title"] * 2 + ["date"] * 2, ["author"] * 3 + ["title"] * 3 + ["date"] * 2]


def seconds(work: Callable[[], Any]) -> float:
    """Wall time of one call."""
    started = perf_counter()
    work()
    return perf_counter() - started


def main(mode: str, path: str) -> None:
    """Measure and print."""
    import sidelight

    learner = sidelight.CRF() if mode == "fit" else sidelight.load(path)
    loaded = perf_counter() - START
    if mode == "fit":
        calls = [seconds(lambda: learner.fit(X, Y)) for _ in range(2)]
        learner.save(path)
    else:
        calls = [seconds(lambda: learner.predict(X)) for _ in range(2)]
    print(json.dumps({"loaded": loaded, "first": calls[0], "second": calls[1]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
