"""`python -m benchmarks.costs --data DIR`: what a pass over a million tokens costs on one core, and what that comes to.

Processor time of one thread for a gradient of a CRF, a round of EM and of CoDL, and a prediction, on the sentences of
CoNLL-2000 (22 chunk labels, 19 templates) and on generated references; bytes of a token as it is held in memory and of
the weights that travel. From these it works out a run over a billion sequences.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from sidelight import (
    CRF,
    EM,
    HMM,
    CoDL,
    changes_only_after,
    generate_references,
    punctuation,
    read_columns,
    starts_with,
)
from sidelight.solvers.losses import LogLoss

# A run: sequences, tokens of each, passes over all, cores, and what an hour of a core and a gigabyte of network cost.
SEQUENCES, PASSES, CORES = 1_000_000_000, 60, 512
CORE_HOUR, NETWORK = 0.05, 10e9 / 8


def seconds(call: Callable[[], Any], times: int = 3) -> float:
    """Returns the least processor time of a call."""
    taken = []
    for _ in range(times):
        begin = process_time()
        call()
        taken.append(process_time() - begin)
    return min(taken)


def measure(data: Path) -> dict[str, float]:
    """Returns core-seconds for a million tokens, bytes of a token, and weights."""
    warnings.simplefilter("ignore")
    X, y = read_columns(data / "conll2000" / "train.txt")
    X, y = X[:3000], y[:3000]
    tokens = sum(map(len, X))
    crf = CRF(solver="lbfgs", max_iterations=2, n_jobs=1).fit(X, y)
    encoded, known = crf.encode(X), crf.read_known(X, y, crf.classes_)[1]
    loss, w = LogLoss(crf.scorer_, crf.structure_, encoded, known), crf.weights_
    loss(w)
    found = {
        "CRF, a gradient": seconds(lambda: loss(w)) * 1e6 / tokens,
        "CRF, predicting encoded tokens": seconds(lambda: crf.predict(encoded)) * 1e6 / tokens,
        "CRF, predicting words and tags": seconds(lambda: crf.predict(X)) * 1e6 / tokens,
        "tokens a sentence": tokens / len(X),
        "bytes of an encoded token": (encoded.indices.nbytes + encoded.indptr.nbytes) / tokens,
        "weights": float(crf.weights_.size),
    }
    X, y = generate_references(1200, seed=1)
    half = [*y[:20], *[None] * 1180]
    tokens = sum(map(len, X[20:]))
    rules = [starts_with("author", "editor"), changes_only_after(punctuation)]

    def rounds(make: Callable[[int], Any], few: int, many: int) -> float:
        make(few).fit(X, half)
        less, more = (seconds(lambda count=count: make(count).fit(X, half), 2) for count in (few, many))
        return (more - less) / (many - few) * 1e6 / tokens

    found["EM(HMM), a round"] = rounds(lambda n: EM(HMM(n_jobs=1), iterations=n, guard=False, n_jobs=1), 2, 12)
    found["CoDL(HMM), a round"] = rounds(
        lambda n: CoDL(HMM(n_jobs=1), rules, balance=0.9, iterations=n, guard=False, n_jobs=1), 1, 3
    )
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser("python -m benchmarks.costs", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    found = measure(parser.parse_args().data)
    for name, value in found.items():
        print(f"{name}: {value:,.2f}" + (" core-seconds for a million tokens" if value < 50 and "," in name else ""))
    tokens = SEQUENCES * found["tokens a sentence"]
    core_hours = PASSES * found["CRF, a gradient"] * tokens / 1e6 / 3600
    vector = 8 * found["weights"]
    shards = 1 << int(np.ceil(np.log2(CORES)))
    print(
        f"a billion sentences of CoNLL-2000's kind, {tokens / 1e9:.0f} billion tokens, {PASSES} passes of a CRF:\n"
        f"  memory or disk for encoded tokens: {tokens * found['bytes of an encoded token'] / 1e12:.2f} TB in all\n"
        f"  core-hours: {core_hours:,.0f}; on {CORES} cores {core_hours / CORES:.1f} hours; "
        f"{core_hours * CORE_HOUR:,.0f} dollars at {CORE_HOUR} an hour of a core\n"
        f"  traffic: {vector / 1e6:.1f} MB of weights to every worker and as much back for each of {shards} shards, "
        f"{vector * (CORES + shards) * PASSES / 1e12:.2f} TB in all, "
        f"{vector * (CORES + shards) / NETWORK:.1f} s of each pass at 10 Gbit/s into one machine"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
