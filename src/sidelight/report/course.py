"""The course of a fit as curves: what a learner's trace says of every round."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import NotSupported
from ..learners.labelled.hmm import HMM
from ..learners.wrappers.projecting import ProjectionStep
from ..solvers.certificate import Step
from .inner import chosen

# What is drawn of a step, if it has it.
_TITLES = {
    "slack": "slack of the rules, in all",
    "violations": "violations of the rules",
    "changed": "labels changed",
    "temperature": "temperature",
}


@dataclass(frozen=True)
class Curve:
    """Lines by name, which share an axis."""

    title: str
    lines: dict[str, list[float]]
    logarithmic: bool = False


@dataclass(frozen=True)
class Course:
    """Curves over steps; unit: what is counted there; breaks: places in `steps` where the temperature changed, so that
    the objective before is another one than that after. What is not known of a step is nan.
    """

    unit: str
    steps: list[int]
    curves: list[Curve]
    breaks: list[int] = field(default_factory=list)


def require_course(learner: Any) -> None:
    """Raise, before it is fitted, if a learner has no steps to tell of."""
    inside = learner
    while hasattr(inside, "base") and not hasattr(inside, "iterations"):
        inside = inside.base
    if isinstance(inside, HMM):
        raise NotSupported("an HMM learns by counting, in one step, so its training has no course to draw")


def course_of(learner: Any) -> Course:
    """The course of a fitted learner."""
    learner = chosen(learner)
    require_course(learner)
    check_is_fitted(learner, "classes_")
    for name, title in (("kept_", "sequences kept"), ("mistakes_", "tokens wrong")):
        if hasattr(learner, name):
            values = list(map(float, getattr(learner, name)))
            return _checked(learner, Course("round", _count(values), [Curve(title, {title: values})]))
    if hasattr(learner, "rounds_"):
        values = [step.objective for step in learner.rounds_] + [learner.objective_]
        return Course("rounds done", list(range(len(values))), [_objective(values, "lower")])
    if not hasattr(learner, "trace_"):
        return course_of(learner.base_)
    trace = learner.trace_
    of_solver = bool(trace) and isinstance(trace[0], Step)
    return _checked(learner, _of_solver(trace) if of_solver else _of_rounds(learner))


def _of_solver(trace: Sequence[Step]) -> Course:
    lines = {"objective": [step.objective for step in trace], "dual": [step.dual for step in trace]}
    told = {name: values for name, values in lines.items() if np.isfinite(values).any()}
    curves = [Curve("objective (lower is better)" if len(told) == 1 else "objective, and a bound below it", told)]
    gaps = [step.relative_gap for step in trace]
    if np.isfinite(gaps).sum() > 1:
        curves.append(Curve("relative duality gap", {"gap": [max(gap, 1e-12) for gap in gaps]}, logarithmic=True))
    return Course("iteration", [step.iteration for step in trace], curves)


def _of_rounds(learner: Any) -> Course:
    trace = learner.trace_
    if not trace:
        return Course("round", [], [])
    projected = isinstance(trace[0], ProjectionStep)
    objective = [step.objective for step in trace]
    # A projection is told of before the model is fitted to it, but not where that is done batch by batch.
    early = projected and getattr(learner, "batches", 1) == 1
    if (early and hasattr(learner.base, "fit_expected")) or not projected:
        # The first model is another one: it may know the words of labelled sequences only, or nothing at all.
        objective[0] = float("nan")
    curves = [_objective(objective, "lower" if projected else "higher")]
    for name, title in _TITLES.items():
        values = [float(getattr(step, name)) for step in trace if hasattr(step, name)]
        if values and not (name == "temperature" and len(set(values)) == 1):
            curves.append(Curve(title, {title: values}))
    steps = [step.iteration - early for step in trace]
    heat = [getattr(step, "temperature", 0.0) for step in trace]
    breaks = [k for k in range(1, len(steps)) if heat[k] != heat[k - 1]]
    return Course("rounds done" if early else "round", steps, curves, breaks)


def _objective(values: list[float], better: str) -> Curve:
    return Curve(f"objective ({better} is better)", {"objective": values})


def _count(values: Sequence[float]) -> list[int]:
    return list(range(1, len(values) + 1))


def _checked(learner: Any, course: Course) -> Course:
    """A model file keeps only the last step of some learners."""
    if len(course.steps) < 2:
        raise NotSupported(
            f"this {type(learner).__name__} tells of {len(course.steps)} step of its training, which makes no curve; "
            "draw it right after fit (sidelight train --figure), with unlabelled sequences where it goes in rounds"
        )
    return course
