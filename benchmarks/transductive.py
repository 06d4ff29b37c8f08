"""`python -m benchmarks.transductive --data DIR`: TransductiveSVM beside learners from labels alone.

Ten labelled citations are drawn from `train`, the other ones are unlabelled, and `dev` is scored; without rules, and
with the rule that fields change only after punctuation.
"""

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

from sidelight import CCM, StructuralSVM, TransductiveSVM, changes_only_after, punctuation

from .__main__ import seeds
from .datasets import MissingData, citation_files, read_citations, require_files

LABELLED = 10


def measure(data: Path, seed: int) -> list[str]:
    """Token accuracy of one draw, as lines."""
    task, lines = read_citations(data, "dev"), list[str]()
    order = np.random.default_rng(seed).permutation(len(task.train_X))
    X, labels = [task.train_X[i] for i in order], [task.train_y[i] for i in order]
    y = [*labels[:LABELLED], *[None] * (len(X) - LABELLED)]
    classes = sorted({label for one in labels for label in one})
    for title, rules in (
        ("no rules", []),
        ("fields change after punctuation", [changes_only_after(punctuation).hard()]),
    ):
        svm = StructuralSVM(classes=classes)
        alone = (CCM(svm, rules) if rules else svm).fit(X[:LABELLED], y[:LABELLED])
        begin = perf_counter()
        joint = TransductiveSVM(classes=classes, rules=rules, guard=False).fit(X, y)
        taken = perf_counter() - begin
        before, after = (100 * one.score(task.eval_X, task.eval_y) for one in (alone, joint))
        lines.append(
            f"seed {seed}, {title}: {type(alone).__name__} {before:.1f} %, "
            f"TransductiveSVM {after:.1f} % ({taken:.0f} s)"
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the accuracies of every draw; returns the exit code, 1 where data is missing."""
    parser = argparse.ArgumentParser("python -m benchmarks.transductive", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of data sets")
    parser.add_argument("--seeds", type=seeds, default=(0, 1, 2, 3), metavar="N,N", help="draws; default: 0,1,2,3")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    try:
        require_files(options.data, citation_files(options.data, "dev"))
    except MissingData as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    print(f"{LABELLED} labelled citations, the others of train unlabelled; token accuracy on dev")
    for seed in options.seeds:
        print(*measure(options.data, seed), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
