"""`python -m benchmarks.versions --old DIR --data DIR`: this version beside an older one, taking turns.

`--old` is a checkout of the older version. Every round runs each version in a process of its own, the older one first,
and notes the shortest time of each measurement over all rounds, the ratio of the two, and whether the results agree.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any
from zlib import crc32

HERE = Path(__file__).parents[1]


def measure(data: Path) -> dict[str, tuple[float, float]]:
    """Seconds, and a number that tells whether the result is the same, of every measurement."""
    import sidelight
    from sidelight import (
        CRF,
        HMM,
        PosteriorRegularization,
        StructuralSVM,
        StructuredPerceptron,
        changes_only_after,
        punctuation,
        read_columns,
        starts_with,
    )

    codl = getattr(sidelight, "CoDL", None) or sidelight.Codl
    X, y = read_columns(data / "conll2000" / "train.txt")
    found: dict[str, tuple[float, float]] = {}

    def note(name: str, call: Callable[[], Any], result: Callable[[Any], float]) -> Any:
        begin = perf_counter()
        value = call()
        found[name] = perf_counter() - begin, result(value)
        return value

    CRF(max_iterations=1).fit(X[:50], y[:50]).predict_marginals(X[:50])  # compiles
    StructuredPerceptron(epochs=1).fit(X[:50], y[:50])
    StructuralSVM(max_iterations=2).fit(X[:50], y[:50])
    crf = note("CRF, CoNLL-2000", lambda: CRF(l2=0.5).fit(X, y), lambda m: m.trace_[-1].objective)
    note("perceptron", lambda: StructuredPerceptron().fit(X, y), lambda m: float(abs(m.weights_).sum()))
    note("structural SVM", lambda: StructuralSVM().fit(X[:3000], y[:3000]), lambda m: m.trace_[-1].objective)
    encoded = crf.encode(X)
    note(
        "decoding, ten times",
        lambda: [crf.predict(encoded) for _ in range(10)],
        lambda p: float(crc32(repr(p[0]).encode())),
    )
    note("marginals, ten times", lambda: [crf.predict_marginals(encoded) for _ in range(10)],
         lambda p: float(sum(one.max(axis=1).sum() for one in p[0])))  # fmt: skip
    X, y = read_columns(data / "citations" / "train.tsv", separator="\t")
    pool, _ = read_columns(data / "citations" / "unlabeled.txt", label=None)
    known = [*y[:20], *[None] * len(pool)]
    first = sorted({labels[0] for labels in y[:20]})
    rules = [starts_with(*first), changes_only_after(punctuation)]
    for learner in (codl(HMM(), rules, guard=False), PosteriorRegularization(CRF(), rules, penalty=1.0, guard=False)):
        learner.fit(X[:21], [*y[:20], None])  # compiles
    note("CoDL(HMM), citations", lambda: codl(HMM(), rules, guard=False).fit([*X[:20], *pool], known),
         lambda m: m.score(X[20:], y[20:]))  # fmt: skip
    note("PR(CRF), citations",
         lambda: PosteriorRegularization(CRF(), rules, penalty=1.0, guard=False).fit([*X[:20], *pool], known),
         lambda m: m.score(X[20:], y[20:]))  # fmt: skip
    return found


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser("python -m benchmarks.versions", description=__doc__)
    parser.add_argument("--old", type=Path, help="checkout of the older version")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.old is None:
        print(json.dumps(measure(options.data)))
        return 0
    best: dict[str, dict[str, tuple[float, float]]] = {"old": {}, "new": {}}
    for _ in range(options.rounds):
        for version, root in (("old", options.old), ("new", HERE)):
            environment = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONWARNINGS": "ignore"}
            command = [sys.executable, str(Path(__file__)), "--data", str(options.data)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            for name, (seconds, result) in json.loads(done.stdout.splitlines()[-1]).items():
                before = best[version].get(name, (float("inf"), 0.0))[0]
                best[version][name] = min(seconds, before), result
    for name, (old, was) in best["old"].items():
        new, now = best["new"][name]
        same = "the same" if abs(now - was) <= 1e-6 * max(abs(was), 1.0) else "ANOTHER"
        print(
            f"{name}: {old:.2f} s, now {new:.2f} s, {new / old:.2f} of the time; {same} result, {was:.7g} and {now:.7g}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
