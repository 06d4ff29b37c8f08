"""From options to a learner: every option names the parameters it sets, and a learner without them refuses it."""

import inspect
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

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

# Options that are not called as the parameter they set, or that set several.
_PARAMETERS = {
    "template": ("features",),
    "seed": ("random_state",),
    "smoothing": ("start_smoothing", "transition_smoothing", "emission_smoothing"),
}
_NOT_HERE = {
    "features": "--template", "verbose": "--quiet", "n_jobs": "--jobs", "warm_start": "Python",
    "begin_features": "Python", "end_features": "Python", "classes": "Python", "base": "--base", "rules": "--rules",
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
    name: str, options: Mapping[str, Any], settings: Sequence[str], *, quiet: bool, jobs: int | None, **fixed: Any
) -> Any:
    """The learner with the options that were given (those that are not None) and the `--set` ones."""
    known = _known_parameters(name)
    chosen: dict[str, Any] = {}
    for option, value in options.items():
        if value is not None:
            flag = "--" + option.replace("_", "-")
            for parameter in _PARAMETERS.get(option, (option,)):
                _require(name, parameter, flag)
                chosen[parameter] = value
    for setting in settings:
        parameter, value = _parse_setting(name, setting, known)
        if parameter in chosen:
            raise typer.BadParameter(f"{parameter} is given twice", param_hint="--set")
        chosen[parameter] = value
    if "verbose" in known:
        chosen["verbose"] = not quiet
    if jobs is not None:
        chosen["n_jobs"] = jobs
    return _learner_class(name)(**fixed, **chosen)


def divide(
    wrapper: str, base: str, options: Mapping[str, Any], settings: Sequence[str]
) -> tuple[dict[str, Any], list[str], dict[str, Any], list[str]]:
    """The options and `--set` ones that only the wrapper has, and the others, which the base takes or refuses."""
    only = _known_parameters(wrapper).keys() - _known_parameters(base).keys()
    for setting in settings:
        name = setting.partition("=")[0].strip().replace("-", "_")
        if name not in {*_known_parameters(wrapper), *_known_parameters(base), *_NOT_HERE} and "=" in setting:
            _require(wrapper, name, "--set")
    mine = {name: value for name, value in options.items() if only.issuperset(_PARAMETERS.get(name, (name,)))}
    wanted = [s for s in settings if s.partition("=")[0].strip().replace("-", "_") in only]
    rest = {name: value for name, value in options.items() if name not in mine}
    return mine, wanted, rest, [s for s in settings if s not in wanted]


# Parameters of learners of views that may be set; the others are those of the views' models.
_OF_VIEWS = ("guard", "unlabeled_weight", "predict_by")


def divide_views(settings: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The settings of the learner of several views as values, and those that its models take or refuse."""
    from sidelight import Agreement

    known = inspect.signature(Agreement).parameters
    mine = {name: _value(known[name], text) for name, text in map(_split, settings) if name in _OF_VIEWS}
    return mine, [setting for setting in settings if _split(setting)[0] not in _OF_VIEWS]


def _learner_class(name: str) -> Any:
    import sidelight

    return getattr(sidelight, (CLASSES | WRAPPERS)[name])


def _known_parameters(name: str) -> Mapping[str, inspect.Parameter]:
    """Parameters of a learner."""
    return inspect.signature(_learner_class(name)).parameters


def _require(name: str, parameter: str, flag: str) -> None:
    if parameter in _known_parameters(name):
        return
    others = [other for other in (WRAPPERS if name in WRAPPERS else CLASSES) if parameter in _known_parameters(other)]
    if others:
        listed = " and ".join([", ".join(others[:-1]), others[-1]] if others[1:] else others)
        advice = f"{listed} {'has' if len(others) == 1 else 'have'} it"
    else:
        advice = f"it has {', '.join(p for p in _known_parameters(name) if p not in _NOT_HERE)}"
    wanted = parameter if flag == "--set" else "such option"
    raise typer.BadParameter(f"the learner {name} has no {wanted}; {advice}", param_hint=flag)


def _parse_setting(name: str, setting: str, known: Mapping[str, inspect.Parameter]) -> tuple[str, Any]:
    parameter, text = _split(setting)
    if parameter in _NOT_HERE:
        raise typer.BadParameter(f"{parameter} is for {_NOT_HERE[parameter]}", param_hint="--set")
    _require(name, parameter, "--set")
    return parameter, _value(known[parameter], text)


def _split(setting: str) -> tuple[str, str]:
    """Name and value of a setting."""
    parameter, equals, text = setting.partition("=")
    if not equals:
        raise typer.BadParameter(f"expected name=value, got {setting!r}", param_hint="--set")
    return parameter.strip().replace("-", "_"), text.strip()


def _value(parameter: inspect.Parameter, text: str) -> Any:
    """The text as the type of the default; where that is None, as a number if it is one."""
    default = parameter.default
    if text.lower() == "none" and "None" in str(parameter.annotation):
        return None
    if isinstance(default, str):
        return text
    if default is None:
        return _number_or_text(text)
    try:
        if isinstance(default, bool):
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]
        return type(default)(text)
    except (KeyError, ValueError):
        kind = {bool: "true or false", int: "a whole number", float: "a number"}[type(default)]
        raise typer.BadParameter(f"{parameter.name} must be {kind}, got {text!r}", param_hint="--set") from None


def _number_or_text(text: str) -> int | float | str:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
