"""The models with weights inside a learner that is built around others."""

from typing import Any

_LEARNED_FROM = {"base_": "labelled data", "driven_": "unlabelled data"}
# Where a supervised model is mixed with one that was learned from everything.
_MIXED = {"start_": "labelled data", "base_": "all data"}


def inner_models(learner: Any) -> dict[str, Any]:
    """Every model with features and weights, by what it was learned from; by "" where there is only one."""
    if not learner.models_:
        return {"": learner}
    parts = {name: model for name, model in learner.models_.items() if model is not None}
    if len(parts) == 1:
        return inner_models(next(iter(parts.values())))
    names = {**(_MIXED if "start_" in parts else _LEARNED_FROM), **dict(zip(parts, learner.views_, strict=False))}
    return {
        " and ".join(filter(None, (names[name], inner))): leaf
        for name, model in parts.items()
        for inner, leaf in inner_models(model).items()
    }
