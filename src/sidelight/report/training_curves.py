"""The course of a fit as curves: what a learner's trace says of every round."""

from dataclasses import dataclass, field
from typing import Any

from ..errors import NotSupported
from ..estimator import require_fitted
from ..records import Curve


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
    if not learner.has_course:
        raise NotSupported("an HMM learns by counting, in one step, so its training has no course to draw")


def course_of(learner: Any) -> Course:
    """The course of a fitted learner."""
    learner = learner.chosen_
    require_course(learner)
    require_fitted(learner)
    trace = learner.course_
    if len(trace) < 2:
        raise NotSupported(
            f"this {type(learner).__name__} tells of {len(trace)} step of its training, which makes no curve; give it "
            "unlabelled sequences where it goes in rounds"
        )
    heat = [step.known("temperature") for step in trace]
    breaks = [k for k in range(1, len(trace)) if heat[k] != heat[k - 1]]
    kind = type(trace[0])
    return Course(kind.unit, [step.iteration for step in trace], kind.curves(trace), breaks)
