"""The demo's computing: learners, rules and unlabelled data on a growing handful of generated references.

`demo_page` prints it.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..estimator import clone
from ..inference.checking import count_violations
from ..learners.labelled.crf import CRF
from ..learners.labelled.hmm import HMM
from ..learners.labelled.perceptron import StructuredPerceptron
from ..learners.labelled.semicrf import SemiCRF
from ..learners.wrappers.annealing import DeterministicAnnealing
from ..learners.wrappers.ccm import CCM
from ..learners.wrappers.codl import CoDL
from ..learners.wrappers.posterior import PosteriorRegularization
from ..metrics import span_scores
from ..report.weights import Weight, weights_by_label
from ..supervision import Signal
from .references import FIELDS, generate_references
from .rules import REFERENCE_RULES

# Tokens of a reference that fits on two or three lines, and the share of wrong ones that is still few.
_LENGTH = 30
_FEW = 0.15

_Outputs = list[list[str]]


@dataclass(frozen=True)
class DemoResult:
    """How well one learner does after a number of labelled references."""

    learner: str
    labeled: int
    accuracy: float
    f1: float
    seconds: float


@dataclass(frozen=True)
class Addition:
    """How well an HMM does with something added, and how often what it says violates the rules."""

    added: str
    learner: str
    labeled: int
    accuracy: float
    f1: float
    violations: float


@dataclass(frozen=True)
class RuleViolations:
    """Violations of a rule by the gold labels, by an HMM's, and by those of an HMM with rules."""

    rule: str
    gold: float
    without: float
    with_rules: float


@dataclass(frozen=True)
class ShownReference:
    """A test reference, its gold fields and the predicted ones."""

    tokens: list[str]
    gold: list[str]
    predicted: list[str]


@dataclass(frozen=True)
class Demo:
    """Everything the demo shows.

    weights and examples are those of the CRF, of the most and the middle labels; violations also of the middle.
    """

    seed: int
    test: int
    unlabeled: int
    results: list[DemoResult]
    additions: list[Addition]
    violations: list[RuleViolations]
    weights: dict[str, list[Weight]]
    weights_labeled: int
    examples: list[ShownReference]
    examples_labeled: int


@dataclass(frozen=True)
class _References:
    """Labelled references to learn from, unlabelled ones, and others to test on."""

    labelled: tuple[_Outputs, _Outputs]
    unlabelled: _Outputs
    test: tuple[_Outputs, _Outputs]


@cache
def prepare() -> None:
    """Compile, or load from the cache, what the demo needs, so that this does not count as time to learn."""
    run_demo([5], test=10, unlabeled=20, seed=0)


def run_demo(labeled: Sequence[int], *, test: int, unlabeled: int, seed: int) -> Demo:
    """Train on the first references, for each number of them; test on others."""
    most, middle = labeled[-1], labeled[len(labeled) // 2]
    X, y = generate_references(most + test + unlabeled, seed=seed)
    end = most + test
    data = _References((X[:most], y[:most]), X[end:], (X[most:end], y[most:end]))
    results, crfs = _compare_learners(data, labeled)
    additions, answers = _add_to_hmm(data, labeled)
    counts = [
        [found.violations for found in count_violations(REFERENCE_RULES, data.test[0], outputs, examples=0)]
        for outputs in (data.test[1], answers["nothing", middle], answers["rules", middle])
    ]
    violations = [RuleViolations(rule.body(), *row) for rule, *row in zip(REFERENCE_RULES, *counts, strict=True)]
    weights = weights_by_label(crfs[most], 1)
    examples = _examples(crfs[middle], *data.test)
    return Demo(seed, test, unlabeled, results, additions, violations, weights, most, examples, middle)


def _compare_learners(data: _References, labeled: Sequence[int]) -> tuple[list[DemoResult], dict[int, Any]]:
    """Every learner by itself; also the CRFs by the number of labelled references."""
    results, crfs = [], {}
    for learner in (HMM(), CRF(), SemiCRF(), StructuredPerceptron()):
        for count in labeled:
            begin = time.perf_counter()
            model = clone(learner).fit(data.labelled[0][:count], data.labelled[1][:count])
            seconds = time.perf_counter() - begin
            scores = span_scores(data.test[1], model.predict(data.test[0]), scheme="runs")
            results.append(DemoResult(type(model).__name__, count, scores.accuracy, scores.overall.f1, seconds))
            if type(model) is CRF:  # SemiCRF is one too
                crfs[count] = model
    return results, crfs


def _add_to_hmm(data: _References, labeled: Sequence[int]) -> tuple[list[Addition], dict[tuple[str, int], _Outputs]]:
    """An HMM by itself, with rules, with unlabelled references and with both (three ways); also what each predicts."""
    rules, hmm = list(REFERENCE_RULES), HMM(classes=sorted(FIELDS))
    learners: dict[str, Any] = {
        "nothing": hmm,
        "rules": CCM(hmm, rules, guard=False),
        "unlabelled references": CoDL(hmm, guard=False),
        "both": CoDL(hmm, rules, guard=False),
        "both, in expectation": PosteriorRegularization(hmm, rules, guard=False),
        "both, annealed": DeterministicAnnealing(hmm, rules, guard=False),
    }
    additions, answers = [], {}
    for added, learner in learners.items():
        more = data.unlabelled if Signal.NOTHING in learner.signals else []
        for count in labeled:
            y = [*data.labelled[1][:count], *(None for _ in more)]
            model = clone(learner).fit(data.labelled[0][:count] + more, y)
            predicted = model.predict(data.test[0])
            scores = span_scores(data.test[1], predicted, scheme="runs")
            violations = sum(found.violations for found in count_violations(rules, data.test[0], predicted, examples=0))
            additions.append(
                Addition(added, type(model).__name__, count, scores.accuracy, scores.overall.f1, violations)
            )
            answers[added, count] = predicted
    return additions, answers


def _examples(model: Any, X: _Outputs, y: _Outputs) -> list[ShownReference]:
    """The first short references with few mistakes and with more, or without any."""
    predicted = model.predict(X)
    short = [ShownReference(x, gold, p) for x, gold, p in zip(X, y, predicted, strict=True) if len(x) <= _LENGTH]
    groups = (
        [e for e in short if 0 < _share_wrong(e) <= _FEW],
        [e for e in short if _share_wrong(e) > _FEW],
        [e for e in short if _share_wrong(e) == 0],
    )
    return [group[0] for group in groups if group][:2]


def _share_wrong(example: ShownReference) -> float:
    return sum(map(str.__ne__, example.gold, example.predicted)) / len(example.gold)
