"""`python -m benchmarks.matchings`: best matchings beside SciPy's assignments, on the same problems in turns.

SciPy gets the assignment problem of n + m rows and columns with a row or column of its own for every deletion, made
ready before the clock runs. Both use one thread.
"""

from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sidelight import FlatParts, Matchings

Floats = NDArray[np.float64]

# What is taken off the scores of deletions, which are drawn as those of links are: from many deletions to none.
CASES = {"deletions as links": 0.0, "deletions at -2": 2.0, "deletions at -10": 10.0, "no deletions": np.inf}
SIZES = ((1000, 20, 20), (1000, 20, 15), (100, 60, 60), (10, 200, 200))
ROUNDS = 7


def problems(count: int, n: int, m: int, lower: float, seed: int = 0) -> FlatParts:
    """Returns random scores of links and deletions; without deletions as many items a side as fit."""
    n, m = (min(n, m),) * 2 if lower == np.inf else (n, m)
    rng, parts = np.random.default_rng(seed), n * m + n + m
    values = rng.normal(size=(count, parts))
    values[:, n * m :] -= lower
    return FlatParts(values.ravel(), parts * np.arange(count + 1), np.tile([n, m, 1], (count, 1)))


def squares(scores: FlatParts) -> list[Floats]:
    """Returns the equivalent problems of n + m rows and columns."""
    found = []
    for i in range(len(scores)):
        theta, (n, m, _) = scores.of(i)
        full = np.full((n + m, n + m), -np.inf)
        full[:n, :m] = theta[: n * m].reshape(n, m)
        full[np.arange(n), m + np.arange(n)] = theta[n * m : n * m + n]
        full[n + np.arange(m), np.arange(m)] = theta[n * m + n :]
        full[n:, m:] = 0.0
        found.append(full)
    return found


def seconds(call: Callable[[], object]) -> float:
    """Returns how long a call takes."""
    began = perf_counter()
    call()
    return perf_counter() - began


def in_turns(scores: FlatParts) -> tuple[float, float, float]:
    """Returns the median seconds of both, and the largest difference of their scores."""
    structure, full = Matchings(n_jobs=1), squares(scores)
    ours = structure.argmax(scores).scores
    theirs = [one[linear_sum_assignment(one, maximize=True)].sum() for one in full]
    taken = [
        (
            seconds(lambda: structure.argmax(scores)),
            seconds(lambda: [linear_sum_assignment(one, maximize=True) for one in full]),
        )
        for _ in range(ROUNDS)
    ]
    mine, other = (median(column) for column in zip(*taken, strict=True))
    return mine, other, float(np.abs(ours - theirs).max())


def main() -> None:
    """Prints a line for every size and case."""
    print(f"median of {ROUNDS} rounds in turns, one thread")
    print(f"{'matchings':>9} {'size':>9}  {'case':<20} {'sidelight':>10} {'SciPy':>10} {'ratio':>6}  difference")
    for count, n, m in SIZES:
        for case, lower in CASES.items():
            mine, other, miss = in_turns(problems(count, n, m, lower))
            print(
                f"{count:>9} {f'{n} x {m}':>9}  {case:<20} {1e3 * mine:>7.1f} ms {1e3 * other:>7.1f} ms "
                f"{other / mine:>6.1f}  {miss:.0e}"
            )


if __name__ == "__main__":
    main()
