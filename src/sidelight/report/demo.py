"""The demo's computing: every learner on a growing handful of generated references. `demo_page` prints it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import learners_by_name
from ..data import generate_references
from ..metrics import span_scores
from .weights import Weight, weights_by_label

# Tokens of a reference that fits on three lines, and the share of wrong ones that is still few.
_LENGTH = 45
_FEW = 0.15


@dataclass(frozen=True)
class Result:
    """How well one learner does after so many labelled references."""

    learner: str
    labeled: int
    accuracy: float
    f1: float
    seconds: float


@dataclass(frozen=True)
class Example:
    """A test reference, its gold fields and the predicted ones."""

    tokens: list[str]
    gold: list[str]
    predicted: list[str]


@dataclass(frozen=True)
class Demo:
    """Everything the demo shows. weights and examples are those of the CRF, of the most and the middle labels."""

    seed: int
    test: int
    results: list[Result]
    weights: dict[str, list[Weight]]
    weights_labeled: int
    examples: list[Example]
    examples_labeled: int


def prepare() -> None:
    """Compile, or load from the cache, what the demo needs, so that this does not count as time to learn."""
    X, y = generate_references(3)
    for learner in learners_by_name().values():
        learner().fit(X, y).predict(X)


def run_demo(labeled: Sequence[int], *, test: int, seed: int) -> Demo:
    """Train every learner on the first so many references, for each number; test on others."""
    X, y = generate_references(max(labeled) + test, seed=seed)
    held_out = X[max(labeled) :], y[max(labeled) :]
    results, crfs = [], {}
    for name, learner in learners_by_name().items():
        for count in labeled:
            begin = time.perf_counter()
            model = learner().fit(X[:count], y[:count])
            seconds = time.perf_counter() - begin
            scores = span_scores(held_out[1], model.predict(held_out[0]), scheme="runs")
            results.append(Result(name, count, scores.accuracy, scores.overall.f1, seconds))
            if name == "CRF":
                crfs[count] = model
    most, middle = labeled[-1], labeled[len(labeled) // 2]
    weights = weights_by_label(crfs[most], 3)
    return Demo(seed, test, results, weights, most, _examples(crfs[middle], *held_out), middle)


def _examples(model: Any, X: list[list[str]], y: list[list[str]]) -> list[Example]:
    """The first short references without a mistake, with few and with more."""
    said = model.predict(X)
    short = [Example(x, gold, p) for x, gold, p in zip(X, y, said, strict=True) if len(x) <= _LENGTH]
    groups = (
        [e for e in short if _share_wrong(e) == 0],
        [e for e in short if 0 < _share_wrong(e) <= _FEW],
        [e for e in short if _share_wrong(e) > _FEW],
    )
    return [group[0] for group in groups if group]


def _share_wrong(example: Example) -> float:
    return sum(map(str.__ne__, example.gold, example.predicted)) / len(example.gold)
