"""Seconds and exactness of inference under all rules, and seconds of constraint-driven learning."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from sidelight import CCM
from sidelight.inference.compiled import CompiledRules
from sidelight.inference.constrained import Constrained
from sidelight.inference.program import solve
from sidelight.kernels.compiling import Longs

from ..report import Report
from .experiment import ITERATIONS, Experiment, ccm, codl
from .known import soft

LABELLED = 20
SAMPLE = 100
DECODING_TARGET, DRIVING_TARGET = 10.0, 60.0
OURS, PROGRAM = "sidelight", "integer program"


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result."""
    started = perf_counter()
    result = work()
    return perf_counter() - started, result


def decode(experiment: Experiment, report: Report) -> None:
    """The unlabelled references under all rules, exactly, and a sample of them by integer programs."""
    seed, pool = experiment.seeds[0], experiment.pool
    model = ccm(soft()).fit(*experiment.subset(LABELLED, seed))
    model.infer(pool[:20])
    seconds, found = timed(lambda: model.infer(pool))
    chosen = sample(found, np.random.default_rng(seed))
    again, _ = timed(lambda: model.infer([pool[i] for i in chosen]))
    spent, best = timed(lambda: np.array([by_program(model, pool[i]) for i in chosen]))
    hard_ones = int(found.searched[chosen].sum())
    with report.section(f"decoding {len(pool)} references under all rules, {LABELLED} labelled, seed {seed}"):
        report.add("exact decoding", OURS, seconds, "s", at_most=DECODING_TARGET)
        report.add("proved exact", OURS, found.exact.sum(), "references")
        report.add("where Viterbi was not enough", OURS, found.searched.sum(), "references")
        report.add("nodes expanded, in all", OURS, found.nodes.sum(), "nodes")
        report.add("nodes expanded, at most", OURS, found.nodes.max(), "nodes")
        what = f"sample of {len(chosen)}, {hard_ones} of them searched"
        report.add(what, OURS, again, "s")
        report.add(what, PROGRAM, spent, "s")
        apart = float(np.abs(found.scores[chosen, 0] - best).max())
        report.add("largest difference in score there", OURS, apart, "score", at_most=1e-6)


def sample(found: Constrained, rng: np.random.Generator) -> Longs:
    """References to compare: half of them, or as many as there are, from those that needed search."""
    count = min(SAMPLE, len(found.searched))
    hard_ones, easy = np.flatnonzero(found.searched), np.flatnonzero(~found.searched)
    many = max(min(len(hard_ones), count // 2), count - len(easy))
    drawn = (rng.choice(hard_ones, many, replace=False), rng.choice(easy, count - many, replace=False))
    return np.sort(np.concatenate(drawn))


def by_program(model: CCM, x: Any) -> float:
    """The best score by an integer program that holds every rule, none of them folded into the scores."""
    rules = CompiledRules.compile(model.rules, [x], model.classes_).weigh(model.penalties_)
    _, scores = solve(model.scores([x]).lattice().polytope(), rules.compiled.automata, rules.penalty)
    return float(scores[0])


def drive(experiment: Experiment, report: Report) -> None:
    """Constraint-driven learning from the unlabelled references."""
    seed = experiment.seeds[0]
    data = experiment.with_pool(LABELLED, seed)
    seconds, model = timed(lambda: codl(soft()).fit(*data))
    with report.section(f"CoDL over {len(experiment.pool)} references, {LABELLED} labelled, seed {seed}"):
        report.add(f"at most {ITERATIONS} iterations", OURS, seconds, "s", at_most=DRIVING_TARGET)
        report.add("iterations made", OURS, len(model.trace_), "")
