"""From settings to a learner: a parameter has one name in Python and here, and a learner without it refuses it."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

from sidelight.cli.settings import BASE, TASK, Setting
from sidelight.errors import close_names, did_you_mean, listed
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
# Those that take unlabelled data and no rules.
WITHOUT_RULES = [
    one for one in CLASSES if {Signal.PARTIAL, Signal.NOTHING} <= REGISTRY[CLASSES[one]].signals and one != "auto"
]
# Learners that read rules as statements about expectations.
EXPECTING = [one.command for one in REGISTRY.values() if one.expecting]

# The tasks of the command line by their names there; without one, sequences are labelled.
TASKS = {"parsing": "Parsing", "aligning": "Aligning", "matching": "Matching"}
# What to do instead for tasks that are called so in Python.
OTHER_TASKS = {
    "labelling": "labels are learned without --task",
    "segmenting": "labels of segments are learned without --task, by --learner semicrf",
    "classifying": "labels of documents are for Python (MaxEnt, DocumentJLIS)",
    "graph-aligning": "graphs are for Python (GraphAligning)",
    "program": "integer programs are for Python (Program)",
}

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


def make_task(name: str | None, settings: Sequence[Setting]) -> tuple[Any, list[Setting]]:
    """The task of this name, None without, with the `--set task.NAME=VALUE` options; and the other settings."""
    mine = [setting for setting in settings if setting.of == TASK]
    others = [setting for setting in settings if setting.of != TASK]
    if name is None:
        if mine:
            raise mine[0].refused(f"parameters of a task need --task: {listed(list(TASKS), 'or')}")
        return None, others
    import sidelight

    made = getattr(sidelight, TASKS[name])
    known, chosen = inspect.signature(made).parameters, dict[str, Any]()
    for setting in mine:
        if setting.name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise setting.refused(f"the task {name} has no parameter {setting.name}; {has}")
        _add(chosen, setting, known)
    task = made(**chosen)
    task.check()
    return task, others


def named_task(name: str | None, settings: Sequence[Setting]) -> Any:
    """The task whose outputs a file has, all of them allowed; labels of sequences where none is named."""
    from sidelight.learners.tasks.labelling import Labelling

    chosen, others = make_task(name, settings)
    if others:
        raise others[0].refused(f"this is no parameter of a task; these begin with {TASK}.")
    return Labelling() if chosen is None else chosen.for_comparing()


def instead_of_task(name: str) -> str:
    """What to do instead of a task that the command line does not have: the end of a message, empty for others."""
    return "".join(f"; {OTHER_TASKS[one]}" for one in close_names(name, OTHER_TASKS))


def require_task(learner: str, task: str) -> None:
    """Refuse a learner that labels sequences only."""
    if "task" not in _known_parameters(learner):
        others = [other for other in CLASSES if "task" in _known_parameters(other)]
        message = f"the learner {learner} labels sequences; for {task} there are {', '.join(others)}"
        raise typer.BadParameter(message, param_hint="--learner")


def make_learner(
    name: str, features: list[str] | None, settings: Sequence[Setting], *, quiet: bool, jobs: int | None, **fixed: Any
) -> Any:
    """The learner with the features, if there are some, and the settings."""
    known = _known_parameters(name)
    chosen: dict[str, Any] = {}
    if features is not None:
        _require(name, Setting("features", "", typed="--features"))
        chosen["features"] = features
    for setting in settings:
        if setting.name in NOT_SET:
            raise setting.refused(f"{setting.name} is for {NOT_SET[setting.name]}")
        _require(name, setting)
        _add(chosen, setting, known)
    if "verbose" in known:
        chosen["verbose"] = not quiet
    if jobs is not None:
        chosen["n_jobs"] = jobs
    return _learner_class(name)(**fixed, **chosen)


def divide(wrapper: str, base: str, settings: Sequence[Setting]) -> tuple[list[Setting], list[Setting]]:
    """The settings that only the wrapper has, and the others, which the base takes or refuses."""
    around, inside = _known_parameters(wrapper), _known_parameters(base)
    for setting in settings:
        if setting.of != BASE and setting.name not in {*around, *inside, *NOT_SET}:
            _require(wrapper, setting)
    mine = [one for one in settings if one.of != BASE and one.name in around and one.name not in inside]
    return mine, [setting for setting in settings if setting not in mine]


def require_base(learner: str, settings: Sequence[Setting]) -> None:
    """Refuse settings of a base where the learner goes around none."""
    for setting in settings:
        if setting.of == BASE:
            ways = f"say {setting.name} without {BASE} in front, or name one that does with --learner"
            raise setting.refused(f"the learner {learner} does not go around another; {ways}")


# Parameters of learners of views that may be set; the others are those of the views' models.
_OF_VIEWS = ("guard", "unlabeled_weight", "predict_by", "iterations")


def divide_views(settings: Sequence[Setting]) -> tuple[dict[str, Any], list[Setting]]:
    """The settings of the learner of several views as values, and those that its models take or refuse."""
    from sidelight import Agreement

    known, mine = inspect.signature(Agreement).parameters, dict[str, Any]()
    for setting in settings:
        if setting.of != BASE and setting.name in _OF_VIEWS:
            _add(mine, setting, known)
    return mine, [setting for setting in settings if setting.of == BASE or setting.name not in _OF_VIEWS]


def close_parameters(name: str, learner: str | None = None) -> list[str]:
    """Names of parameters close to a misspelt one: of the learner if it has any, else of all learners."""
    every = CLASSES | WRAPPERS
    for learners in ([learner] if learner in every else [], every):
        known = {one for other in learners for one in _known_parameters(other) if one not in NOT_SET}
        close = close_names(name, sorted(known), 2)
        if close:
            return close
    return []


def has_parameter(name: str, *learners: str) -> bool:
    """Whether one of these learners, or without any one of all, has a parameter that can be set."""
    return name not in NOT_SET and any(name in _known_parameters(one) for one in learners or CLASSES | WRAPPERS)


def _learner_class(name: str) -> Any:
    import sidelight

    return getattr(sidelight, (CLASSES | WRAPPERS)[name])


def _known_parameters(name: str) -> Mapping[str, inspect.Parameter]:
    """Parameters of a learner."""
    return inspect.signature(_learner_class(name)).parameters


def _require(name: str, setting: Setting) -> None:
    """Raise an error that names learners with this parameter unless the learner has it."""
    if setting.name in _known_parameters(name):
        return
    among, option = (BASES, "--base") if setting.of == BASE else ([*CLASSES, *WRAPPERS], "--learner")
    others = [other for other in among if setting.name in _known_parameters(other)]
    if others:
        advice = f"{listed(others)} {'has' if len(others) == 1 else 'have'} it ({option})"
    else:
        own = [parameter for parameter in _known_parameters(name) if parameter not in NOT_SET]
        advice = f"it has {', '.join(own)}{did_you_mean(setting.name, own)}"
    raise setting.refused(f"the learner {name} has no such parameter; {advice}")


def _add(chosen: dict[str, Any], setting: Setting, known: Mapping[str, inspect.Parameter]) -> None:
    """Put the value of a parameter among those that were chosen."""
    if setting.name in chosen:
        raise setting.refused(f"{setting.name} is given twice")
    chosen[setting.name] = _value(known[setting.name], setting)


def _value(parameter: inspect.Parameter, setting: Setting) -> Any:
    """The text as one of the types that the parameter may have."""
    kinds, text = list(_kinds(parameter.annotation)), setting.text
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
    raise setting.refused(f"{parameter.name} must be {listed(wanted, 'or')}, got {text!r}")


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
