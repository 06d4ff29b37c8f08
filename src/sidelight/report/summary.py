"""The facts about a model and about its training."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..data.corpus import Corpus
from ..data.formats import Layout
from ..features.encoded import some_of
from ..learners.choosing.guard import Guard
from ..learners.choosing.race import Result
from ..supervision import BAD, Signal
from .models import inner_models
from .rules import RuleUse, kinds_of, rules_of

# Names of signals in `Combined`.
_SIGNALS = {Signal.NOTHING: "unlabelled", Signal.COMPANION: "companions", Signal.PARTIAL: "partial labels"}
# Values of a mapping that are written out.
_FEW = 8


@dataclass(frozen=True)
class ModelSummary:
    """What a model file holds. features: what can be observed of a token; weights: the numbers that were learned.

    base: the learner that this one is built around, with its parameters; None if there is none. guard: how the learner
    compares with its base on labelled sequences held out, where that was asked; signals: what each signal counts, and
    why; choice: how it was chosen, if it was; task: what is predicted; layout: how options named the columns of its
    training files.
    """

    path: str
    bytes: int
    learner: str
    parameters: dict[str, Any]
    base: "Base | None"
    labels: list[str]
    features: int
    weights: int
    rules: list[RuleUse]
    guard: Guard | None
    signals: list[str]
    choice: "AutoSummary | None"
    task: "TaskSummary"
    layout: Layout | None


@dataclass(frozen=True)
class TaskSummary:
    """What is predicted. kind: what outputs are; noun: what one input is called."""

    name: str
    kind: str
    noun: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Base:
    """A learner inside another one."""

    learner: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class AutoSummary:
    """Why a learner was chosen, and what became of all candidates."""

    why: str
    metric: str
    results: list[Result]


@dataclass(frozen=True)
class TrainingSummary:
    """A training run. gap: how far at most the objective is above its optimum, relative to it; None if unknown.

    sequences, tokens: what the learner used; unlabeled, companions: how many of the sequences have no labels, and are
    only good or bad; unused: how many others were given, of which it has no use; rounds: what happened in each round
    over these, and at last how the final model stands, where the learner tells.
    """

    model: ModelSummary
    sequences: int
    unlabeled: int
    companions: int
    unused: int
    tokens: int
    seconds: float
    solver: str | None
    passes: int | None
    converged: bool | None
    gap: float | None
    mistakes: int | None
    rounds: list[dict[str, Any]]
    dev: Any


def summarize_model(whole: Any, path: str, X: Sequence[Any] = (), y: Sequence[Any] = ()) -> ModelSummary:
    """The facts about a fitted learner and its file; with the training data also the violations of rules there."""
    learner = whole.chosen_
    base = learner.base
    return ModelSummary(
        path,
        os.path.getsize(path) if os.path.isfile(path) else 0,
        type(learner).__name__,
        _parameters(learner),
        None if base is None else Base(type(base).__name__, _parameters(base)),
        list(learner.model_.classes),
        learner.model_.attributes,
        learner.model_.size,
        rules_of(learner, X, y),
        learner.guard_,
        [str(one) for one in learner.signals_],
        None if learner is whole else AutoSummary(whole.why_, whole.metric_, list(whole.results_)),
        _task(learner.task_),
        whole.layout_,
    )


def _task(task: Any) -> TaskSummary:
    parameters = {one.name: getattr(task, one.name) for one in fields(task)}
    return TaskSummary(type(task).__name__, task.kind, task.noun, parameters)


def _parameters(learner: Any) -> dict[str, Any]:
    hidden = {"n_jobs", "verbose", "base", "rules", "guard"} | ({"task"} if learner.task_.kind != "labels" else set())
    return {name: _shown(value) for name, value in learner.get_params(deep=False).items() if name not in hidden}


def _shown(value: Any) -> Any:
    """A parameter as tables and JSON show it."""
    if isinstance(value, Mapping):
        return _shown_mapping(value)
    if isinstance(value, list | tuple):
        return [str(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _shown_mapping(value: Mapping[Any, Any]) -> str:
    """Views by their names, and a few weights with their names."""
    if len(value) > _FEW:
        return f"{len(value)} named weights"
    numbers = all(isinstance(one, int | float) for one in value.values())
    return ", ".join(f"{name}: {one:g}" if numbers else str(name) for name, one in value.items())


def summarize_training(
    whole: Any, X: Sequence[Any], y: Sequence[Any], seconds: float, path: str, dev: Any
) -> TrainingSummary:
    """The facts about a learner that has just been fitted and saved."""
    learner = whole.chosen_
    models = list(inner_models(learner).values())
    found = _used(learner, kinds_of(learner.task_, X, y), y)
    kinds = list(found.values())
    # How a single model came about; of several, trained again in every round, only whether all converged.
    single: Any = models[0] if len(models) == 1 else None
    last = single.trace_[-1] if single is not None and single.trace_ else None
    converged = [model.converged_ for model in models if model.converged_ is not None]
    return TrainingSummary(
        summarize_model(whole, path, X, y),
        len(kinds),
        kinds.count(Signal.NOTHING),
        kinds.count(Signal.COMPANION),
        len(X) - len(kinds),
        _tokens(learner.task_, X if len(kinds) == len(X) else some_of(X, list(found))),
        seconds,
        None if single is None else single.solver_,
        last.iteration if last else None,
        all(converged) if converged else None,
        last.gap / max(last.objective, 1.0) if last and last.gap == last.gap else None,
        last.known("mistakes") if last else None,
        _rounds(learner),
        dev,
    )


def _used(learner: Any, kinds: Sequence[Signal], y: Sequence[Any]) -> dict[int, Signal]:
    """The signals of the inputs that a learner used, by the numbers of the inputs; those of weight 0 are not used."""
    worthless = {one.name for one in learner.signals_ if not one.weight}
    used = {kind for kind in learner.signals if _SIGNALS.get(kind) not in worthless}
    return {i: kind for i, kind in enumerate(kinds) if kind in used or (Signal.NOTHING in used and y[i] is not BAD)}


def _tokens(task: Any, X: Any) -> int:
    return X.tokens if isinstance(X, Corpus) else sum(map(task.tokens, X))


def _rounds(learner: Any) -> list[dict[str, Any]]:
    """What the learner says of each round over unlabelled data."""
    return [asdict(step) for step in learner.trace_ if step.unit in ("round", "step")]
