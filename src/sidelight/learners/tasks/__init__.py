"""What learners predict, and from what: one module for each task."""

from importlib import import_module
from typing import Any, TypeVar

T = TypeVar("T", bound=type)
# Where the tasks of the library are.
_HOME = {
    "Labelling": "labelling",
    "Segmenting": "segmenting",
    "Classifying": "classifying",
    "Parsing": "parsing",
    "Aligning": "aligning",
    "Matching": "matching",
    "GraphAligning": "graph_aligning",
}
_REGISTERED: dict[str, type] = {}


def register_task(task: T) -> T:
    """Register a task, so that models with it can be saved and read again.

    It is a class decorator.

    Parameters
    ----------
    task : type
        The class of the task, a dataclass.

    Returns
    -------
    type
        The same class.
    """
    _REGISTERED[task.__name__] = task
    return task


def task_named(name: str) -> Any:
    """Returns the class of a task of the library, or one that was registered; None without."""
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    return _REGISTERED.get(name)
