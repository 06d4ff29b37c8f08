"""Forms: what a value of a checkpoint must be, checked before a fit goes on from the value.

A form is one of these:

    ArraySpec                 an array, as in model files (`sidelight/stored.py`)
    Number                    a finite number between bounds
    Like(example)             a value whose arrays have the types and shapes of the example's, with finite numbers
    Several(form)             a list or tuple whose items all have one form
    Instance(cls, a=form)     an instance of this very class; attributes without a form are compared with annotations
    Maybe(form)               None, or a value of a form
    Such(form, holds)         a value of a form for which a function returns True
    {"a": form}, (form, ...)  a mapping with these keys; a tuple or list with these items
    anything else             an annotation, such as `bool` or `str | None`
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from inspect import get_annotations
from math import isfinite
from typing import Any

import numpy as np

from ..declared import LARGEST
from ..errors import DataError
from ..quoting import quoted
from ..stored import ArraySpec, matches


@dataclass(frozen=True)
class Number:
    """A finite number between bounds; whole: whether it is an integer."""

    least: float = -LARGEST
    most: float = LARGEST
    whole: bool = False


@dataclass(frozen=True)
class Like:
    """A value like an example: floating-point arrays of its types and shapes, whole numbers in arrays equal to its."""

    example: Any
    least: float | None = None


@dataclass(frozen=True)
class Several:
    """A list or tuple of items of one form; count: how many, None for any number of at least `least`."""

    form: Any
    count: int | None = None
    least: int = 0


class Instance:
    """An instance of this very class, with forms of its attributes; arrays may share named sizes."""

    def __init__(self, cls: type, **attributes: Any) -> None:
        self.cls, self.attributes = cls, {**annotations_of(cls), **attributes}


@dataclass(frozen=True)
class Maybe:
    """None, or a value of a form."""

    form: Any


@dataclass(frozen=True)
class Such:
    """A value of a form for which `holds` returns True."""

    form: Any
    holds: Callable[[Any], bool]


def annotations_of(cls: Any) -> dict[str, Any]:
    """Returns the annotations of what instances of a dataclass or named tuple hold; nothing for other classes."""
    if is_dataclass(cls):
        return {one.name: one.type for one in fields(cls)}
    return {name: hint for name, hint in get_annotations(cls).items() if name in getattr(cls, "_fields", ())}


def attributes_of(value: Any) -> dict[str, Any]:
    """Returns what an instance of a class holds, by name."""
    if hasattr(value, "_asdict"):  # a named tuple
        return dict(zip(value._fields, value, strict=True))
    return dict(vars(value))


def require(value: Any, form: Any, what: str, sizes: dict[str, int] | None = None) -> None:
    """Raise `DataError` unless a value has a form; what: its name, for the message."""
    sizes = {} if sizes is None else sizes
    if isinstance(form, ArraySpec):
        form.checked(what, value, sizes)
    elif isinstance(form, Number):
        _require_number(value, form, what)
    elif isinstance(form, Like):
        _require_like(value, form.example, form.least, what)
    elif isinstance(form, Several):
        _require_items(value, [form.form] * max(form.least, len(_listed(value, what))), what, sizes)
        if form.count is not None and len(value) != form.count:
            raise DataError(f"{what} must have {form.count} items, it has {len(value)}")
    elif isinstance(form, Instance):
        if type(value) is not form.cls:
            raise DataError(f"{what} must be a {form.cls.__name__}, it is a {type(value).__name__}")
        _require_values(attributes_of(value), form.attributes, what, {})
    elif isinstance(form, Maybe):
        if value is not None:
            require(value, form.form, what, sizes)
    elif isinstance(form, Such):
        require(value, form.form, what, sizes)
        if not form.holds(value):
            raise DataError(f"the values of {what} contradict each other")
    elif isinstance(form, dict):
        _require_values(value, form, what, sizes)
    elif isinstance(form, tuple | list):
        _require_items(value, form, what, sizes)
    elif not matches(value, form):
        raise DataError(f"{what} has a value of another type, {type(value).__name__}")


def _listed(value: Any, what: str) -> Any:
    if not isinstance(value, list | tuple):
        raise DataError(f"{what} must be a list, it is a {type(value).__name__}")
    return value


def _require_items(value: Any, forms: Any, what: str, sizes: dict[str, int]) -> None:
    if len(_listed(value, what)) != len(forms):
        raise DataError(f"{what} must have {len(forms)} items, it has {len(value)}")
    for k, (item, form) in enumerate(zip(value, forms, strict=True)):
        require(item, form, f"{what}[{k}]", sizes)


def _require_values(values: Any, forms: Mapping[str, Any], what: str, sizes: dict[str, int]) -> None:
    if not isinstance(values, dict) or values.keys() != forms.keys():
        raise DataError(f"{what} must have the values {', '.join(sorted(forms))}")
    for name, form in forms.items():
        require(values[name], form, f"{what}.{name}", sizes)


def _require_number(value: Any, form: Number, what: str) -> None:
    kinds = (int, np.integer) if form.whole else (int, float)  # np.float64 is a float, other types of NumPy are not
    if not isinstance(value, kinds) or isinstance(value, bool) or (isinstance(value, float) and not isfinite(value)):
        raise DataError(f"{what} must be a {'whole' if form.whole else 'finite'} number")
    if not form.least <= value <= form.most:
        raise DataError(f"{what} must be at least {form.least:g} and at most {form.most:g}, it is {quoted(value)}")


def _require_like(value: Any, example: Any, least: float | None, what: str) -> None:
    if type(value) is not type(example):
        raise DataError(f"{what} must be a {type(example).__name__}, it is a {type(value).__name__}")
    if isinstance(example, np.ndarray):
        if example.dtype.kind == "f":
            most = LARGEST if example.dtype == np.float64 else None
            ArraySpec(example.dtype, example.shape, least, most).checked(what, value, {})
        elif value.dtype != example.dtype or not np.array_equal(value, example):
            raise DataError(f"{what} does not belong to the data of this fit")
    elif isinstance(example, float):
        _require_number(value, Number(), what)
    elif isinstance(example, list | tuple) and not hasattr(example, "_fields"):
        for k, (item, one) in enumerate(zip(value, example, strict=True)):
            _require_like(item, one, least, f"{what}[{k}]")
    elif isinstance(example, dict):
        if value.keys() != example.keys():
            raise DataError(f"{what} must have the values {', '.join(map(str, example))}")
        for name in example:
            _require_like(value[name], example[name], least, f"{what}.{name}")
    elif hasattr(example, "_fields") or is_dataclass(example):
        _require_like(attributes_of(value), attributes_of(example), least, what)
