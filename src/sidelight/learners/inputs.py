"""What every learner does to X, y and `sample_weight` before anything else.

Containers of other libraries become lists, and empty inputs are set aside: fits ignore them, and predictions give them
an empty output.

`sample_weight` has a number for every input. A weight of 2 is the same as the input twice, and one of 0 the same as
leaving it out, in learners that minimise a sum over inputs or count. In those that visit one input after another it is
the length of a step.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from itertools import pairwise
from typing import Any

import numpy as np

from ..containers import plain_inputs, plain_outputs
from ..data.corpus import Corpus
from ..errors import DataError, Infeasible, NotSupported, SidelightError, numbers_of
from ..features.encoded import in_blocks, some_of
from ..inference.constrained import Constrained
from ..kernels.compiling import Floats
from ..running import checkpoints, scatter
from ..running.places import current
from ..sample_weights import read_weights
from ..structures.known import Outputs
from ..supervision import Signal, some_known
from .registry import REGISTRY, able

Spread = Callable[[Any, Any, list[int], int], Any]


def _in_list(nothing: Callable[[Any], Any]) -> Spread:
    """Results of inputs that have some, and `nothing(learner)` for the others."""

    def spread(learner: Any, found: Any, kept: list[int], count: int) -> Any:
        out = [nothing(learner) for _ in range(count)]
        for i, one in zip(kept, found, strict=True):
            out[i] = one
        return np.array(out) if isinstance(found, np.ndarray) else out

    return spread


def _constrained(learner: Any, found: Constrained, kept: list[int], count: int) -> Constrained:
    lengths = np.zeros(count, np.int64)
    lengths[kept] = np.diff(found.outputs.offsets)
    scores = np.full((count, found.scores.shape[1]), -np.inf)
    scores[:, 0], scores[kept] = 0.0, found.scores
    exact, bound = np.ones(count, bool), np.zeros(count)
    searched, nodes = np.zeros(count, bool), np.zeros(count, np.int64)
    exact[kept], bound[kept], searched[kept], nodes[kept] = found.exact, found.bound, found.searched, found.nodes
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    return Constrained(Outputs(found.outputs.values, offsets), scores, exact, bound, searched, nodes)


def _best_nothing(learner: Any) -> list[Any]:
    from .learner import Scored

    return [Scored([], 0.0, 1.0)]


# Methods that take X, and how results are spread over all inputs; None where empty ones are not set aside.
_FITTING: tuple[str, ...] = ("fit", "partial_fit")
_PREDICTING: dict[str, Spread | None] = {
    "predict_structure": _in_list(lambda learner: []),
    "complete": _in_list(lambda learner: []),
    "predict_marginals": _in_list(lambda learner: np.empty((0, len(learner.classes_)))),
    "predict_kbest": _in_list(_best_nothing),
    "log_partition": _in_list(lambda learner: 0.0),
    "decision_function": _in_list(lambda learner: learner.constant * learner.constant_weight_),
    "infer": _constrained,
    **dict.fromkeys(("encode", "scores", "score", "project", "explain", "certainty", "least_certain")),
}


def read_inputs_first(cls: type) -> None:
    """Let the methods of a learner's class that take inputs begin with what this module does."""
    for name in (*_FITTING, *_PREDICTING):
        method = getattr(cls, name, None)
        if inspect.isfunction(method) and not hasattr(method, "reads_inputs"):
            setattr(cls, name, _reading(method, name in _FITTING, _PREDICTING.get(name)))


def _reading(method: Any, fitting: bool, spread: Spread | None) -> Any:
    signature = inspect.signature(method)

    @wraps(method)
    def read(*args: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(*args, **named)
        except TypeError:
            return method(*args, **named)  # which says what is wrong
        given = bound.arguments
        if not {"x", "X"} & given.keys():  # a class outside of the package may call its inputs something else
            return method(*args, **named)
        if "x" in given:
            (given["x"],) = plain_inputs([given["x"]])
            return method(*bound.args, **bound.kwargs)
        learner = given["self"]
        if fitting:
            learner.check()
        X = plain_inputs(given["X"])
        given["X"] = X
        if "y" in given:
            given["y"] = _each(given["y"], plain_outputs)
        kept = None if spread is None and not fitting else _not_empty(learner, X)
        if fitting and getattr(learner, "layout_", None) is not None:  # of other data
            learner.layout_ = None
        if kept is None and fitting:
            with checkpoints.fitting(learner, given):
                return method(*bound.args, **bound.kwargs)
        if kept is None:
            apart = method.__name__ in _JOINED and learner.predicts_apart
            if apart and _parts(X) > 1:
                return _on_workers(bound, method)
            return _by_blocks(bound, method) if apart and isinstance(X, Corpus) else method(*bound.args, **bound.kwargs)
        _require_empty(given.get("y"), X, kept, learner.task_.noun)
        if fitting and not kept:
            raise DataError(f"all {learner.task_.noun}s are empty, so there is nothing to learn from")
        for name in {"X", "y", "sample_weight"} & given.keys():
            given[name] = _each(given[name], lambda values: _chosen(values, kept, len(X)))
        with numbers_among_all(kept, learner.task_.noun):
            found = read(*bound.args, **bound.kwargs)
        return found if spread is None else spread(learner, found, kept, len(X))

    read.reads_inputs = True  # type: ignore[attr-defined]
    return read


# Methods whose results are one after the other those of the inputs, so that other processes can work on some of them.
_JOINED = ("predict_structure", "predict_marginals", "predict_kbest", "log_partition", "decision_function")
# Parts of the inputs for every process, so that those that are done early have more to do.
_PARTS_EACH = 4


def _parts(X: Any) -> int:
    """How many parts the inputs are cut into for the place where work runs."""
    workers = current().workers
    return 1 if workers is None or not isinstance(X, list | tuple | Corpus) else min(len(X), _PARTS_EACH * workers)


def _on_workers(bound: inspect.BoundArguments, method: Any) -> Any:
    """Results of a method of a fitted learner, worked out by other processes."""
    given = dict(bound.arguments)
    learner, X = given.pop("self"), given.pop("X")
    edges = np.linspace(0, len(X), _parts(X) + 1).astype(int).tolist()
    parts = scatter([X[a:b] for a, b in pairwise(edges)], learner)
    return _one_after_the_other(list(parts.map(_predicted, method.__name__, given)))


def _predicted(X: Any, learner: Any, name: str, given: dict[str, Any]) -> Any:
    learner.use_threads(1)
    return getattr(learner, name)(X=X, **given)


def _by_blocks(bound: inspect.BoundArguments, method: Any) -> Any:
    """Results of a method of a fitted learner for a corpus on disk, of which a block is in memory at a time."""
    X, found = bound.arguments["X"], list[Any]()
    for first, last in in_blocks(X):
        bound.arguments["X"] = X[first:last]
        with numbers_among_all(range(first, last), "sequence"):
            found.append(method(*bound.args, **bound.kwargs))
    return _one_after_the_other(found)


def _one_after_the_other(found: list[Any]) -> Any:
    return np.concatenate(found) if isinstance(found[0], np.ndarray) else [one for some in found for one in some]


def _each(y: Any, change: Callable[[Any], Any]) -> Any:
    """The same with the labels changed; those of several views have names."""
    return {name: change(one) for name, one in y.items()} if isinstance(y, Mapping) else change(y)


def _chosen(values: Any, kept: list[int], count: int) -> Any:
    """Those of the inputs that were kept; what is not about each of all inputs is left for the method to refuse."""
    return [values[i] for i in kept] if hasattr(values, "__len__") and len(values) == count else values


def _not_empty(learner: Any, X: Any) -> list[int] | None:
    """The numbers of the inputs that have tokens; None if all have some, or if the task does not ask for tokens."""
    if not isinstance(X, list | tuple):
        return None
    empty = {i for i, x in enumerate(X) if (not x if type(x) is list else _has_nothing(x))}
    if not empty or not getattr(getattr(learner, "task_", None), "passes_over_empty", False):
        return None
    return [i for i in range(len(X)) if i not in empty]


def _has_nothing(x: Any) -> bool:
    if hasattr(x, "shape"):
        return len(x.shape) > 0 and x.shape[0] == 0
    return isinstance(x, Sequence) and not isinstance(x, str) and len(x) == 0


def _require_empty(y: Any, X: Sequence[Any], kept: list[int], noun: str) -> None:
    """Raise `DataError` unless y fits to X, and has no labels for inputs without tokens."""
    for known in y.values() if isinstance(y, Mapping) else [] if y is None else [y]:
        if not hasattr(known, "__len__") or len(known) != len(X):
            found = f"{len(known)}" if hasattr(known, "__len__") else type(known).__name__
            raise DataError(f"X has {len(X)} {noun}s but y has {found}")
        for i in set(range(len(X))) - set(kept):
            if hasattr(known[i], "__len__") and len(known[i]):
                raise DataError(f"{noun} {i} has 0 tokens but {len(known[i])} labels")


@contextmanager
def numbers_among_all(kept: Sequence[int], noun: str) -> Iterator[None]:
    """Errors about the inputs that were kept name them by their numbers among all."""

    def among_all(found: re.Match[str]) -> str:
        number = int(found[1])
        return f"{noun} {kept[number]}" if number < len(kept) else found[0]

    try:
        with numbers_of(kept):
            yield
    except Infeasible:
        raise
    except SidelightError as error:
        error.args = (re.sub(rf"\b{noun} (\d+)\b", among_all, str(error), count=1),)
        raise


# What each input counts ----------------------------------------------------------------------------------------------


def weighed(learner: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Floats | None]:
    """Returns the inputs that count, what is known of them, and what each counts, None where all count 1.

    Inputs of weight 0 are left out after they were checked as the others are.
    """
    if sample_weight is None:
        return X, y, None
    sizes, _ = learner.read_input(X, y)
    weights = read_weights(sample_weight, len(sizes), learner.task_.noun)
    which = np.flatnonzero(weights)
    if len(which) < len(sizes):
        X, y, weights = some_of(X, which), some_known(y, which.tolist()), weights[which]
    return X, y, None if (weights == 1.0).all() else weights


def by_weight(X: Any, y: Any, weights: Floats | None) -> tuple[Any, Any, Floats | None]:
    """Returns inputs of the same weight side by side, which are worked out together."""
    if weights is None:
        return X, y, None
    order = np.argsort(weights, kind="stable")
    return some_of(X, order), some_known(y, order.tolist()), weights[order]


def refuse_weights(learner: Any, sample_weight: Any) -> None:
    """Raises `NotSupported`, naming learners that would work, if a learner that cannot use weights is given some."""
    if sample_weight is None:
        return
    task, rules = learner.task_, learner.rules or ()
    possible = [able(learner.signals, task, rules), *(able([kind], task, rules) for kind in Signal)]
    others = next((some for names in possible if (some := [name for name in names if REGISTRY[name].weighted])), [])
    advice = f"use {' or '.join(others)}" if others else "leave it out"
    raise NotSupported(f"{type(learner).__name__} has no use for sample_weight; {advice}")
