"""The facts about a model and about its training."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .evaluation import Evaluation


@dataclass(frozen=True)
class ModelSummary:
    """What a model file holds. features: what can be observed of a token; weights: the numbers that were learned."""

    path: str
    bytes: int
    learner: str
    parameters: dict[str, Any]
    labels: list[str]
    features: int
    weights: int


@dataclass(frozen=True)
class TrainingSummary:
    """A training run. gap: how far at most the objective is above its optimum, relative to it; None if unknown."""

    model: ModelSummary
    sequences: int
    tokens: int
    seconds: float
    solver: str | None
    passes: int | None
    converged: bool | None
    gap: float | None
    mistakes: int | None
    dev: Evaluation | None


def summarize_model(learner: Any, path: str) -> ModelSummary:
    """The facts about a fitted learner and its file."""
    parameters = {
        name: [str(item) for item in value] if isinstance(value, list | tuple) else value
        for name, value in learner.get_params(deep=False).items()
        if name not in ("n_jobs", "verbose")
    }
    return ModelSummary(
        path,
        os.path.getsize(path) if os.path.isfile(path) else 0,
        type(learner).__name__,
        parameters,
        list(learner.classes_),
        learner.encode([]).attributes,
        _weight_count(learner),
    )


def _weight_count(learner: Any) -> int:
    if hasattr(learner, "weights_"):
        return int(learner.weights_.size)
    scorer = learner.scorer_  # log-probabilities
    return int(scorer.start.size + scorer.transition.size + scorer.emission.size)


def summarize_training(
    learner: Any, X: Sequence[Any], seconds: float, path: str, dev: Evaluation | None
) -> TrainingSummary:
    """The facts about a learner that has just been fitted and saved."""
    last = learner.trace_[-1] if getattr(learner, "trace_", ()) else None
    mistakes = getattr(learner, "mistakes_", None)
    return TrainingSummary(
        summarize_model(learner, path),
        len(X),
        sum(map(len, X)),
        seconds,
        getattr(learner, "solver_", None),
        last.iteration if last else len(mistakes) if mistakes else None,
        getattr(learner, "converged_", None),
        last.relative_gap if last and last.gap == last.gap else None,
        mistakes[-1] if mistakes else None,
        dev,
    )
