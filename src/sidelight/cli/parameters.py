"""From settings to a learner: a parameter has one name in Python and here, and a learner without it refuses it.

`--set l2=0.5` and `--l2 0.5` (see `spelling`) are the same.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

from sidelight.errors import close_names, listed
from sidelight.learners.registry import REGISTRY
from sidelight.supervision import Signal

# The learners of the command line by their names there: those that learn by themselves, and those around another one.
CLASSES: dict[str, str] = {one.command: name for name, one in REGISTRY.items() if one.command and not one.inside}
WRAPPERS: dict[str, str] = {one.command: name for name, one in REGISTRY.items() if one.command and one.inside}
# The learners that others go around: those that learn from full labels.
BASES = [one.command for one in REGISTRY.values() if one.command and one.base]
# What goes inside where --base does not say.
DEFAULT_BASES = {one.command: one.inside for one in REGISTRY.values() if one.command and one.inside}
# Learners of good and bad inputs, but for auto, which chooses one: those by themselves, and those around another.
_JUDGING = [one for one in REGISTRY.values() if one.command not in (None, "auto") and Signal.COMPANION in one.signals]
COMPANIONS = [one.command for one in _JUDGING if not one.inside]
JUDGING_WRAPPERS = [one.command for one in _JUDGING if one.inside]
# Learners by themselves that take unlabelled data and rules without another one around them.
UNLABELLED = [one for one in CLASSES if REGISTRY[CLASSES[one]].signals == {Signal.FULL, Signal.NOTHING}]
# Learners that read rules as statements about expectations.
EXPECTING = [one.command for one in REGISTRY.values() if one.expecting]

# The tasks of the command line by their names there; without one, sequences are labelled.
TASKS = {"parsing": "Parsing", "aligning": "Aligning", "matching": "Matching"}
_OF_TASK = "task."

if TYPE_CHECKING:
    LearnerName = str
    BaseName = str
    TaskName = str
else:
    TaskName = StrEnum("TaskName", {name: name for name in TASKS})
    LearnerName = StrEnum("LearnerName", {name: name for name in (*CLASSES, *WRAPPERS)})
    BaseName = StrEnum("BaseName", {name: name for name in BASES})

# Parameters that have an option of their own, or that no text could give.
NOT_SET = {
    "features": "--features", "verbose": "--quiet", "n_jobs": "--n-jobs", "warm_start": "Python",
    "begin_features": "Python", "end_features": "Python", "classes": "--classes", "base": "--base", "rules": "--rules",
    "dictionary": "Python", "task": "--task", "initial": "Python", "view": "Python",
}  # fmt: skip


def make_task(name: str | None, settings: Sequence[str]) -> tuple[Any, list[str]]:
    """The task of this name, None without, with the `--set task.NAME=VALUE` options; and the other settings."""
    mine = [setting.strip().removeprefix(_OF_TASK) for setting in settings if setting.strip().startswith(_OF_TASK)]
    others = [setting for setting in settings if not setting.strip().startswith(_OF_TASK)]
    if name is None:
        if mine:
            raise typer.BadParameter(f"{_OF_TASK}{mine[0]} needs --task", param_hint="--set")
        return None, others
    import sidelight

    made = getattr(sidelight, TASKS[name])
    known, chosen = inspect.signature(made).parameters, dict[str, Any]()
    for setting in mine:
        parameter, text = _split(setting)
        if parameter not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise typer.BadParameter(f"the task {name} has no parameter {parameter}; {has}", param_hint="--set")
        chosen[parameter] = _value(known[parameter], text)
    task = made(**chosen)
    task.check()
    return task, others


def named_task(name: str | None, settings: Sequence[str]) -> Any:
    """The task whose outputs a file has, all of them allowed; labels of sequences where none is named."""
    from sidelight.learners.tasks.labelling import Labelling

    chosen, others = make_task(name, settings)
    if others:
        message = f"{others[0]} is no parameter of a task; these begin with {_OF_TASK}"
        raise typer.BadParameter(message, param_hint="--set")
    return Labelling() if chosen is None else chosen.for_comparing()


def require_task(learner: str, task: str) -> None:
    """Refuse a learner that labels sequences only."""
    if "task" not in _known_parameters(learner):
        others = [other for other in CLASSES if "task" in _known_parameters(other)]
        message = f"the learner {learner} labels sequences; for {task} there are {', '.join(others)}"
        raise typer.BadParameter(message, param_hint="--learner")


def make_learner(
    name: str, features: list[str] | None, settings: Sequence[str], *, quiet: bool, jobs: int | None, **fixed: Any
) -> Any:
    """The learner with the features, if there are some, and the settings."""
    known = _known_parameters(name)
    chosen: dict[str, Any] = {}
    if features is not None:
        _require(name, "features")
        chosen["features"] = features
    for setting in settings:
        parameter, value = _parse_setting(name, setting, known)
        if parameter in chosen:
            raise typer.BadParameter(f"{parameter} is given twice", param_hint=_flag(parameter))
        chosen[parameter] = value
    if "verbose" in known:
        chosen["verbose"] = not quiet
    if jobs is not None:
        chosen["n_jobs"] = jobs
    return _learner_class(name)(**fixed, **chosen)


def divide(wrapper: str, base: str, settings: Sequence[str]) -> tuple[list[str], list[str]]:
    """The settings that only the wrapper has, and the others, which the base takes or refuses."""
    only = _known_parameters(wrapper).keys() - _known_parameters(base).keys()
    for setting in settings:
        name = _split(setting)[0]
        if name not in {*_known_parameters(wrapper), *_known_parameters(base), *NOT_SET}:
            _require(wrapper, name)
    mine = [setting for setting in settings if _split(setting)[0] in only]
    return mine, [setting for setting in settings if setting not in mine]


# Parameters of learners of views that may be set; the others are those of the views' models.
_OF_VIEWS = ("guard", "unlabeled_weight", "predict_by", "iterations")


def divide_views(settings: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The settings of the learner of several views as values, and those that its models take or refuse."""
    from sidelight import Agreement

    known = inspect.signature(Agreement).parameters
    mine = {name: _value(known[name], text) for name, text in map(_split, settings) if name in _OF_VIEWS}
    return mine, [setting for setting in settings if _split(setting)[0] not in _OF_VIEWS]


def names(settings: Sequence[str]) -> list[str]:
    """The parameters that are set."""
    return [_split(setting)[0] for setting in settings]


def close_parameters(name: str) -> list[str]:
    """Parameters whose names are nearly this one."""
    known = {
        parameter for one in CLASSES | WRAPPERS for parameter in _known_parameters(one) if parameter not in NOT_SET
    }
    return close_names(name, known, 2)


def has_parameter(name: str, *learners: str) -> bool:
    """Whether one of these learners, or without any one of all, has a parameter that can be set."""
    return name not in NOT_SET and any(name in _known_parameters(one) for one in learners or CLASSES | WRAPPERS)


def _learner_class(name: str) -> Any:
    import sidelight

    return getattr(sidelight, (CLASSES | WRAPPERS)[name])


def _known_parameters(name: str) -> Mapping[str, inspect.Parameter]:
    """Parameters of a learner."""
    return inspect.signature(_learner_class(name)).parameters


def _flag(parameter: str) -> str:
    return "--" + parameter.replace("_", "-")


def _require(name: str, parameter: str) -> None:
    """Raise an error that names learners with this parameter unless the learner has it."""
    if parameter in _known_parameters(name):
        return
    others = [other for other in CLASSES | WRAPPERS if parameter in _known_parameters(other)]
    if others:
        advice = f"{listed(others)} {'has' if len(others) == 1 else 'have'} it (--learner)"
    else:
        advice = f"it has {', '.join(p for p in _known_parameters(name) if p not in NOT_SET)}"
    raise typer.BadParameter(f"the learner {name} has no such parameter; {advice}", param_hint=_flag(parameter))


def _parse_setting(name: str, setting: str, known: Mapping[str, inspect.Parameter]) -> tuple[str, Any]:
    parameter, text = _split(setting)
    if parameter in NOT_SET:
        raise typer.BadParameter(f"{parameter} is for {NOT_SET[parameter]}", param_hint="--set")
    _require(name, parameter)
    return parameter, _value(known[parameter], text)


def _split(setting: str) -> tuple[str, str]:
    """Name and value of a setting."""
    parameter, equals, text = setting.partition("=")
    if not equals:
        raise typer.BadParameter(f"expected name=value, got {setting!r}", param_hint="--set")
    return parameter.strip().replace("-", "_"), text.strip()


def _value(parameter: inspect.Parameter, text: str) -> Any:
    """The text as one of the types that the parameter may have."""
    kinds = list(_kinds(parameter.annotation))
    choices = [kind for kind in kinds if isinstance(kind, str)]
    if text in choices:
        return text
    if text.lower() == "none" and type(None) in kinds:
        return None
    if bool in kinds and text.lower() in _TRUTHS:
        return _TRUTHS[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            if kind in kinds:
                return kind(text)
    wanted = [_CALLED[kind] for kind in kinds if kind in _CALLED] + choices
    if len(wanted) < len(kinds):  # it may be something else, of which only the learner knows how it is written
        return text
    message = f"{parameter.name} must be {listed(wanted, 'or')}, got {text!r}"
    raise typer.BadParameter(message, param_hint=_flag(parameter.name))


_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_CALLED: dict[Any, str] = {bool: "true or false", int: "a whole number", float: "a number", type(None): "none"}


def _kinds(annotation: Any) -> Iterator[Any]:
    """The types that an annotation names, and the texts that it allows."""
    if get_origin(annotation) is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for one in get_args(annotation):
            yield from _kinds(one)
    elif get_origin(annotation) is Literal:
        yield from get_args(annotation)
    else:
        yield annotation
