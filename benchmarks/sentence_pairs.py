"""What the benchmarks of sentence pairs share: LCLR, its approximation and the two-stage system, on the same folds.

Sentences are aligned as graphs (section 5.3 of Chang 2011). The two-stage system aligns words by their similarity alone
and learns to classify what comes out; LCLR and its approximation begin with its weights, as in the thesis. All have the
same features and tolerance. C is chosen for each system by the pairs that it learns from: of five folds one is tested,
and C is the one that is best where each of the other four is left out in turn. Tags, lemmas and trees are sidelight's
own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from statistics import fmean, stdev
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from sidelight import LCLR, GraphAligning, Sentence, TwoStage
from sidelight.features.dicts import DictEncoder
from sidelight.features.parts import PartsEncoded, PartsEncoder

from .report import Report
from .sentences import Pairs

# What aligns words in the first stage: those that are more similar than 0.4, the most similar ones first.
START = {"similarity": 1.0, "link": -0.4}
FOLDS = 5
# How closely convex problems are solved, and rounds at most: more of them change the objective by some 0.1 %.
TOLERANCE = 0.002
ROUNDS = 3
TWO_STAGE, JOINT, APPROXIMATE = "two-stage", "LCLR", "Algorithm 12"
SYSTEMS = (TWO_STAGE, JOINT, APPROXIMATE)

Found = dict[str, list[float]]


class _Once:
    """The features of all pairs of a benchmark, made once: fits to some of them take theirs."""

    def __init__(self, task: GraphAligning, X: list[Any]) -> None:
        self.inner = PartsEncoder(task.describe, DictEncoder())
        self.encoded = self.inner.fit_transform(X)
        self.places, self.X = {id(x): i for i, x in enumerate(X)}, X

    def transform(self, X: Sequence[Any]) -> PartsEncoded:
        """Those of some pairs."""
        return self.encoded.take(np.array([self.places[id(x)] for x in X]))

    fit_transform = transform

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@dataclass(frozen=True)
class _Encoded(GraphAligning):
    """Aligns pairs whose features are known; those that others alone have get no weight."""

    once: Any = field(default=None, repr=False, compare=False)

    def sizes(self, X: Any) -> list[Any]:
        return [tuple(self.once.encoded.shapes[self.once.places[id(x)]]) for x in X]

    def choose_encoder(self, X: Any, features: Any, min_count: int, n_jobs: int) -> Any:
        return self.once


@dataclass(frozen=True)
class Study:
    """Pairs with their answers, how they are aligned, what missed margins may cost, and what features are divided by.

    first: how many of the pairs are to be learned from, if the others are to be tested.
    """

    X: list[Any]
    y: list[bool]
    task: GraphAligning
    costs: tuple[float, ...]
    size: Any = "length"
    first: int | None = None

    def encoded(self, **options: Any) -> "Study":
        """The same pairs with their features, aligned otherwise if options of the task say so."""
        task = replace(self.task, **options)
        given = {one.name: getattr(task, one.name) for one in fields(GraphAligning)}
        return replace(self, task=_Encoded(**given, once=_Once(task, self.X)))

    def some(self, which: Sequence[int]) -> tuple[list[Any], list[bool]]:
        """Some of the pairs."""
        return [self.X[i] for i in which], [self.y[i] for i in which]

    def fitted(self, which: Sequence[int], C: float, systems: Sequence[str]) -> dict[str, Any]:
        """The systems, fitted to some of the pairs."""
        same: dict[str, Any] = {
            "task": self.task, "size": self.size, "C": C, "tolerance": TOLERANCE, "random_state": 0, "n_jobs": 1,
        }  # fmt: skip
        with catch_warnings():
            simplefilter("ignore", ConvergenceWarning)
            two = TwoStage(initial=START, **same).fit(*self.some(which))
            joint = {
                name: LCLR(initial=two, approximate=name == APPROXIMATE, max_rounds=ROUNDS, **same).fit(
                    *self.some(which)
                )
                for name in systems
                if name != TWO_STAGE
            }
        return {TWO_STAGE: two, **joint}

    def accuracies(self, seed: int, systems: Sequence[str], note: Callable[[str], None]) -> tuple[Found, Found]:
        """Accuracy in per cent on every fold, by system, with the C of each."""
        split = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(self.y, self.y)
        folds = [test.tolist() for _, test in split]
        held = {name: np.zeros((len(self.costs), FOLDS, FOLDS)) for name in systems}  # C, tested, left out
        for c, C in enumerate(self.costs):
            for a, b in combinations(range(FOLDS), 2):
                models = self.fitted(_others(folds, a, b), C, systems)
                for name, values in held.items():
                    values[c, a, b], values[c, b, a] = (models[name].score(*self.some(folds[k])) for k in (a, b))
        found, costs = Found(), Found()
        for name, values in held.items():
            best = [self.costs[int(values[:, :, k].sum(axis=1).argmax())] for k in range(FOLDS)]
            models = [self.fitted(_others(folds, k), C, (name,))[name] for k, C in enumerate(best)]
            found[name] = [100 * one.score(*self.some(fold)) for one, fold in zip(models, folds, strict=True)]
            costs[name] = best
            note(f"seed {seed}, {name}: {fmean(found[name]):.2f} %, C = {', '.join(f'{C:g}' for C in best)}")
        return found, costs

    def tested(self, seed: int, systems: Sequence[str], note: Callable[[str], None]) -> tuple[Found, Found]:
        """Accuracy in per cent on the pairs after the first ones, by system, with the C that folds of these chose."""
        train, test = list(range(self.first or 0)), list(range(self.first or 0, len(self.y)))
        split = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(train, self.y[: len(train)])
        held = {name: np.zeros(len(self.costs)) for name in systems}
        for some, rest in split:
            for c, C in enumerate(self.costs):
                models = self.fitted(some, C, systems)
                for name, values in held.items():
                    values[c] += models[name].score(*self.some(rest))
        costs = {name: [self.costs[int(values.argmax())]] for name, values in held.items()}
        found = {
            name: [100 * self.fitted(train, C[0], (name,))[name].score(*self.some(test))] for name, C in costs.items()
        }
        note(f"seed {seed}: C = {costs}")
        return found, costs


def _others(folds: Sequence[list[int]], *left_out: int) -> list[int]:
    """The pairs of all folds but some."""
    return [i for k, fold in enumerate(folds) if k not in left_out for i in fold]


def graphs(pairs: Pairs) -> list[tuple[Sentence, Sentence]]:
    """Parsed sentences as the task takes them."""
    return [
        tuple(Sentence.parsed(one.words, one.heads, one.labels, tags=one.tags, lemmas=one.lemmas) for one in pair)
        for pair in pairs
    ]  # type: ignore[misc]


def report_systems(
    report: Report, study: Study, what: str, seeds: Sequence[int], systems: Sequence[str] = SYSTEMS
) -> Found:
    """Reports mean accuracies over all folds and seeds, with their spread over seeds; returns all accuracies."""
    run = study.accuracies if study.first is None else study.tested
    runs = [run(seed, systems, report.note)[0] for seed in seeds]
    for name in systems:
        means = [fmean(one[name]) for one in runs]
        report.add(what, name, fmean(means), "%", deviation=stdev(means) if len(means) > 1 else None)
    return {name: [value for one in runs for value in one[name]] for name in systems}


def report_difference(report: Report, found: Found, one: str, other: str, **asked: float) -> None:
    """Reports the mean difference of two systems on the same folds, with the deviation of single folds."""
    differences = [a - b for a, b in zip(found[one], found[other], strict=True)]
    spread = stdev(differences) if len(differences) > 1 else None
    report.add(f"{one} less {other}", "accuracy", fmean(differences), "%", deviation=spread, **asked)
