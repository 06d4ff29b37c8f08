"""Parameters of estimators, declared once: a field with its type, its text and its default.

    @declared
    class CRF(LinearParameters, Learner):
        l2: Annotated[float, "Penalty of the squared weights."] = 0.1

`declared` makes a class a dataclass without a comparison or a representation of its own, so that scikit-learn's
conventions hold, and writes the section *Parameters* of its docstring. In the section *Attributes* of a docstring a
line of names alone takes its texts from `ATTRIBUTES`.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from math import inf
from numbers import Integral
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin

from .errors import DataError, listed
from .quoting import quoted

C = TypeVar("C", bound=type)
# What many learners have after `fit`: type and text.
ATTRIBUTES = {
    "classes_": ("list, or array of documents' labels", "The labels."),
    "weights_": ("array", "The weights."),
    "trace_": ("tuple", "A step for each iteration or round."),
    "converged_": ("bool", "Whether the tolerance was reached."),
    "solver_": ("str", 'The solver that ran; "eg, then lbfgs" where L-BFGS took over.'),
    "mistakes_": ("tuple of int", "Wrong tokens in each pass."),
    "base_": ("learner", "The fitted base learner."),
    "penalties_": ("array", "The penalty of each rule; infinite for hard rules."),
    "rules_used_": ("tuple of Rule", "The rules with their penalties, and the label shares that were added."),
    "guard_": ("Guard or None", "The comparison with the base learner alone; None where nothing was compared."),
    "objective_": ("float", "The objective of the weights."),
    "rounds_": ("tuple of Round", "The rounds, each with the objective before it."),
    "run_objectives_": ("tuple of float", "The objective that each run ended with."),
    "weight_": ("float", "The weight of the model learned from labelled data."),
    "start_": ("learner or None", "The supervised model that predictions are mixed with."),
    "prices_": ("array", "Prices of the rules about the corpus."),
    "units_": ("tuple of float", "The number by which the count of each rule about the corpus is divided."),
}


# The largest weight, count or parameter: sums and products of a few of these are still numbers.
LARGEST = 1e100


@dataclass(frozen=True)
class Bounds:
    """Bounds of a number, beside its text: `Annotated[int, "Passes over the data.", Bounds(1, 10**9)]`.

    least, most: the smallest and the largest value; above: whether the value must be larger than `least`; infinite:
    whether inf will do. A parameter that may be None, or a text, may still be that.
    """

    least: float = -inf
    most: float = inf
    above: bool = False
    infinite: bool = False

    def hold(self, value: Any) -> bool:
        """Whether a number is within the bounds."""
        if abs(value) > LARGEST:
            return self.infinite and value == inf
        return bool(self.least <= value <= self.most) and not (self.above and value == self.least)

    def __str__(self) -> str:
        if self.most < inf and self.least > -inf:
            link = " above {:g} and at most {:g}" if self.above else " from {:g} to {:g}"
            return link.format(self.least, self.most)
        if self.least > -inf:
            return f" above {self.least:g}" if self.above else f" of at least {self.least:g}"
        return f" of at most {self.most:g}" if self.most < inf else ""


# Parameters that say how a fit runs, and what they may be: scikit-learn's users give None as a seed and as a number of
# threads, and numbers for how much is shown.
_RUNNING: dict[str, Any] = {
    "guard": bool,
    "random_state": Annotated[int | None, "", Bounds(0)],
    "verbose": bool | int,
    "n_jobs": int | None,
}


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def declared(cls: C) -> C:
    """Returns the class with its annotated names as keyword parameters, and their texts in its docstring."""
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)
    order = _ordered(made)
    written = inspect.signature(made.__init__)
    made.__signature__ = written.replace(parameters=[written.parameters[one.name] for one in order])
    made.__doc__ = _documented(made, order)
    return made  # type: ignore[no-any-return]


def parameter_hints(cls: Any) -> dict[str, Any]:
    """Returns the annotation of every parameter of a class; `_RUNNING` has those of how a fit runs."""
    return {one.name: _RUNNING.get(one.name, one.type) for one in fields(cls)}


# What values of a type are called in messages.
_CALLED: dict[Any, str] = {
    bool: "True or False", int: "a whole number", float: "a number", str: "a text", NoneType: "None", None: "None"
}  # fmt: skip
_PLURAL: dict[Any, str] = {str: "texts", str | int | bool: "labels", int: "whole numbers", float: "numbers"}


def expected(hint: Any) -> str:
    """Returns what an annotation asks for, in the words of a message."""
    return listed(list(dict.fromkeys(_options(hint))), "or")


def _options(hint: Any, bounds: Bounds | None = None) -> list[str]:
    """Returns the kinds of values that will do; bounds: of numbers."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _options(arguments[0], next((one for one in arguments[1:] if isinstance(one, Bounds)), None))
    if origin in (Union, UnionType):
        return [option for one in arguments for option in _options(one, bounds)]
    if origin is Literal:
        return [repr(one) for one in arguments]
    if hint is int and bounds is not None and bounds.most - bounds.least == 1:
        return [f"{bounds.least}", f"{bounds.most}"]
    if hint is int:
        return [f"a whole number{bounds or ''}"]
    if hint is float:
        return [f"a {'' if bounds is None or bounds.infinite else 'finite '}number{bounds or ''}"]
    if origin in (Sequence, list, tuple):
        return [f"a list of {_PLURAL.get(arguments[0], 'values')}"]
    if hint in _CALLED:
        return [_CALLED[hint]]
    names = {Mapping: "a mapping", dict: "a mapping", Callable: "a function"}
    name = getattr(hint, "__name__", "value of another type")
    return [names.get(origin) or f"a {name.lower() if getattr(hint, '_is_protocol', False) else name}"]


def _ordered(cls: Any) -> list[Field[Any]]:
    """Returns the parameters as people read them: by position first, then a class's own, and how it runs last."""

    def rank(one: Field[Any]) -> tuple[bool, bool, int]:
        home = next(k for k, base in enumerate(cls.__mro__) if one.name in inspect.get_annotations(base))
        return bool(one.kw_only), one.name in _RUNNING, home if one.kw_only else 0

    return sorted(fields(cls), key=rank)


def _documented(cls: Any, order: list[Field[Any]]) -> str:
    """Returns the docstring, without indentation, with all parameters and attributes in numpydoc form."""
    text = "\n".join(_entry(one.name, one.type, one.default) for one in order)
    before, mark, attributes = inspect.cleandoc(cls.__doc__ or "").partition("Attributes\n----------\n")
    written = f"{before.rstrip()}\n\nParameters\n----------\n{text}\n"
    return f"{written}\n{mark}{_attributes(attributes)}\n" if mark else written


def _entry(name: str, hint: Any, default: Any) -> str:
    """Returns the lines of one parameter."""
    kind, text, *_ = get_args(hint) if get_origin(hint) is Annotated else (hint, "")
    shown = "" if default is MISSING else f", default={default!r}"
    return f"{name} : {_type_name(kind)}{shown}\n{_wrapped(text)}"


def _type_name(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "{" + ", ".join(map(repr, get_args(kind))) + "}"
    if get_origin(kind) is Annotated:
        return _type_name(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(map(_type_name, get_args(kind)))
    if kind is Any:
        return "object"
    name = kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
    return "None" if name == "NoneType" else re.sub(r"\b[a-z_]+(\.[a-z_]+)*\.(?=[A-Z])", "", name)


def _wrapped(text: str, width: int = 112) -> str:
    """Returns a text in lines that are indented by four."""
    lines, line = list[str](), ""
    for word in text.split():
        if len(line) + len(word) + 1 > width:
            lines, line = [*lines, line], ""
        line = f"{line} {word}".strip()
    return "\n".join(f"    {one}" for one in [*lines, line])


def _attributes(section: str) -> str:
    """Returns the section with lines of names alone written out."""
    out = []
    for line in section.splitlines():
        names = [name.strip() for name in line.split(",")]
        if line.strip() and all(name in ATTRIBUTES for name in names):
            out += [f"{name} : {ATTRIBUTES[name][0]}\n    {ATTRIBUTES[name][1]}" for name in names]
        else:
            out.append(line)
    return "\n".join(out)


def require_seed(value: Any, name: str = "seed") -> None:
    """Raise `DataError` unless the value of a function's parameter is a seed, a whole number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 0:
        raise DataError(f"{name} must be a whole number of at least 0, got {quoted(value)}")


@declared
class Running:
    """How a fit runs."""

    verbose: Annotated[bool, "Whether to show progress: a bar on a terminal, log lines elsewhere."] = False
    n_jobs: Annotated[int, "Threads; -1 is every core."] = -1
