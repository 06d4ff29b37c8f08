"""What a model file may hold: declarations of arrays and values, checked before anything is built from them.

Kernels trust the arrays they are given, so whatever comes from a file is checked here first. A class that keeps arrays
in a model file declares each of them once, as an `ArraySpec`, and takes them through `read_arrays`:

    STORED = {
        "pointer": pointer("attributes", into="entries", widest="labels"),
        "label": ArraySpec(np.int32, ("entries",), below="labels"),
    }
    arrays = read_arrays(arrays, STORED, labels=3)

Sizes have names, which several arrays share. Those that are not given are set by the first array that has them, and
all others have to agree. Plain values are checked against the annotations that parameters and records have anyway.
"""

import io
from collections import abc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from math import prod
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from .containers import column_values, is_column
from .declared import LARGEST, Bounds, expected, parameter_hints
from .errors import DataError
from .quoting import quoted

Arrays = Mapping[str, NDArray[Any]]
# Whole numbers of a file are below this, so that arrays can hold them.
_WHOLE = 1 << 62


@dataclass(frozen=True)
class ArraySpec:
    """What one array must be.

    dtype: of its numbers; shape: a size for each axis, a number or an expression such as "attributes+1" or
    "labels*labels" over named sizes; least, most: the bounds of its numbers; below: they are less than this size;
    ascending: "sorted", or "strictly"; into: a pointer, whose first number is 0 and whose last one is this size;
    widest: a size that neighbours differ by at most; infinite: whether inf is a number too (nan never is).
    """

    dtype: Any
    shape: tuple[int | str, ...]
    least: float | None = None
    most: float | None = None
    below: int | str | None = None
    ascending: Literal["", "sorted", "strictly"] = ""
    into: str | None = None
    widest: int | str | None = None
    infinite: bool = False

    def checked(self, name: str, array: Any, sizes: dict[str, int]) -> NDArray[Any]:
        """Returns the array; raises `DataError` unless it is as declared.

        Sizes that its shape or its last number says for the first time are added to `sizes`.
        """
        wanted = np.dtype(self.dtype)
        if not isinstance(array, np.ndarray) or array.dtype != wanted:
            raise DataError(f"the array {name} must hold {wanted} numbers, it holds {getattr(array, 'dtype', array)!s}")
        self._check_shape(name, array.shape, sizes)
        if wanted.kind == "f":
            self._check_finite(name, array)
        if array.size:
            self._check_range(name, array, sizes)
        if self.ascending or self.into is not None:
            self._check_order(name, array, sizes)
        return array

    def _check_shape(self, name: str, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
        if len(shape) != len(self.shape):
            raise DataError(f"the array {name} must have {len(self.shape)} dimensions, it has {len(shape)}")
        for declared, length in zip(self.shape, shape, strict=True):
            if _settled(declared, length, sizes) != length:
                raise DataError(
                    f"the array {name} has the shape {shape}, and {declared} is {_settled(declared, length, sizes)}"
                )

    def _check_finite(self, name: str, array: NDArray[Any]) -> None:
        bad = np.isnan(array).any() if self.infinite else not np.isfinite(array).all()
        if bad:
            raise DataError(f"the array {name} holds something that is no finite number")

    def _check_range(self, name: str, array: NDArray[Any], sizes: dict[str, int]) -> None:
        if array.dtype.kind not in "fiu":
            return
        low, high = array.min(), array.max()
        if self.least is not None and low < self.least:
            raise DataError(f"the array {name} holds {low}, and its numbers are at least {self.least:g}")
        if self.below is not None and high >= _evaluate(self.below, sizes):
            raise DataError(f"the array {name} holds {high}, and its numbers are below {_evaluate(self.below, sizes)}")
        if self.most is not None and high > self.most and not (self.infinite and high == np.inf):
            raise DataError(f"the array {name} holds {high:g}, and its numbers are at most {self.most:g}")
        if self.least is None and self.most is not None and low < -self.most:
            raise DataError(f"the array {name} holds {low:g}, and its numbers are at least {-self.most:g}")

    def _check_order(self, name: str, array: NDArray[Any], sizes: dict[str, int]) -> None:
        if self.into is not None:
            if not len(array) or array[0] != 0 or not 0 <= array[-1] < _WHOLE:
                raise DataError(f"the array {name} must begin with 0, and end with the number of entries")
            if _settled(self.into, int(array[-1]), sizes) != array[-1]:
                raise DataError(f"the array {name} ends with {array[-1]}, and {self.into} is {sizes[self.into]}")
        strictly = self.ascending == "strictly"
        if not ((array[1:] > array[:-1]) if strictly else (array[1:] >= array[:-1])).all():
            raise DataError(f"the numbers of the array {name} must {'' if strictly else 'never fall, or '}rise")
        if self.widest is not None and np.diff(array).max(initial=0) > _evaluate(self.widest, sizes):
            raise DataError(f"numbers of the array {name} rise by more than {_evaluate(self.widest, sizes)} at once")


def finite(*shape: int | str, least: float | None = None) -> ArraySpec:
    """Returns the declaration of finite numbers: weights, or counts with 0 as the least."""
    return ArraySpec(np.float64, shape, least=least, most=LARGEST)


def pointer(rows: str, *, into: str, widest: int | str | None = None) -> ArraySpec:
    """Returns the declaration of the places where rows begin among entries, and where the last one ends."""
    return ArraySpec(np.int64, (f"{rows}+1",), least=0, into=into, widest=widest)


def places(name: str, below: str) -> ArraySpec:
    """Returns the declaration of some of the places of a table, in order."""
    return ArraySpec(np.int64, (name,), least=0, below=below, ascending="strictly")


def read_arrays(arrays: Arrays, specs: Mapping[str, ArraySpec], **sizes: int) -> dict[str, NDArray[Any]]:
    """Returns the declared arrays, and no others; raises `DataError` for one that is missing or not as declared.

    sizes: those that are known, by the names that declarations have for them.
    """
    out: dict[str, NDArray[Any]] = {}
    for name, spec in specs.items():
        if name not in arrays:
            raise DataError(f"the array {name} is missing")
        out[name] = spec.checked(name, arrays[name], sizes)
    return out


def read_npy(content: bytes) -> NDArray[Any]:
    """Returns the array of a `.npy` file, whose header must declare as many bytes as there are; raises `ValueError`."""
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array of another version")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject or min(shape, default=0) < 0 or prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise ValueError("an array of another size than it declares")
    flat = np.frombuffer(content, dtype, offset=file.tell())
    return flat.reshape(shape, order="F" if by_columns else "C").astype(dtype.newbyteorder("="), order="C")


def _evaluate(size: int | str, sizes: Mapping[str, int]) -> int:
    """Returns a size: a number, a name, or sums of products of these."""
    if isinstance(size, int):
        return size
    total = 0
    for term in size.split("+"):
        product = 1
        for factor in term.split("*"):
            product *= int(factor) if factor.isdigit() else sizes[factor]
        total += product
    return total


def _settled(size: int | str, length: int, sizes: dict[str, int]) -> int:
    """Returns a declared size, after taking it from a length where it is a new name, or a new name + 1."""
    if isinstance(size, str):
        name, _, more = size.partition("+")
        if name.isidentifier() and name not in sizes:
            sizes[name] = max(length - int(more or 0), 0)
    return _evaluate(size, sizes)


class _Within(Mapping[str, NDArray[Any]]):
    """The arrays whose names begin with a prefix, without it."""

    def __init__(self, arrays: Arrays, prefix: str) -> None:
        self._arrays, self._prefix = arrays, prefix

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[self._prefix + name]

    def __contains__(self, name: object) -> bool:
        return f"{self._prefix}{name}" in self._arrays

    def __iter__(self) -> Iterator[str]:
        return (name.removeprefix(self._prefix) for name in self._arrays if name.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def within(arrays: Arrays, prefix: str) -> Arrays:
    """Returns the arrays whose names begin with a prefix, without it; none is read before it is asked for."""
    return _Within(arrays, prefix)


# Plain values ---------------------------------------------------------------------------------------------------------


def numbered(names: Any, what: str) -> dict[str, int]:
    """Returns the number of each of some different texts; raises `DataError` unless they are that."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(f"{what} must be a list of texts")
    numbers = {name: k for k, name in enumerate(names)}
    if len(numbers) != len(names):
        raise DataError(f"{what} must be different texts, and some of {len(names)} are there twice")
    return numbers


def whole(value: Any, what: str, least: int = 0, most: int = _WHOLE) -> int:
    """Returns a whole number between bounds; raises `DataError` unless it is one."""
    if not _is_whole(value) or not least <= value <= most:
        raise DataError(f"{what} must be a whole number of at least {least} and at most {most}, got {quoted(value)}")
    return int(value)


def check_values(values: Mapping[str, Any], hints: Mapping[str, Any], owner: str) -> None:
    """Raises `DataError` for a value that has no annotation, is not as that says, or is nan."""
    for name, value in values.items():
        if name not in hints:
            raise DataError(f"{owner} has no {quoted(name)}")
        if not matches(value, hints[name]) or (isinstance(value, float) and value != value):
            raise DataError(f"{name} must be {expected(hints[name])}, got {quoted(value)}{_advice(value, hints[name])}")


def _advice(value: Any, hint: Any) -> str:
    """The advice that ends a message about a parameter's value; empty if there is none."""
    if isinstance(value, type):
        return f"; write {value.__name__}()"
    value = value.item() if isinstance(value, np.generic) else value
    if _is_number(value) and LARGEST < abs(value) < float("inf"):
        return f"; numbers are at most {LARGEST:g}"
    if not _is_whole(value) or abs(value) < _WHOLE:
        return ""
    return f"; write large numbers like {1e20:g}" if matches(1e20, hint) else "; use a number below 2**62"


def check_declared(owner: Any) -> None:
    """Raises `DataError` unless the parameters of a learner, a task or a view are as they are declared.

    Learners, tasks and views among them check themselves. `load` asks the same of what a file says (`check_values`).
    """
    hints = parameter_hints(type(owner)) if is_dataclass(owner) else {}
    values = {name: getattr(owner, name) for name in hints if hasattr(owner, name)}
    check_values(values, hints, type(owner).__name__)
    for value in values.values():
        for one in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else [value]:
            if hasattr(one, "check") and not isinstance(one, type):
                one.check()


def matches(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says; arrays of NumPy and columns of tables stand for lists."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hasattr(origin, "__value__"):  # an alias with parameters, as NumPy's NDArray is from Python 3.12 on
        origin = get_origin(origin.__value__)
    if origin is Annotated:
        bounds = [one for one in arguments[1:] if isinstance(one, Bounds)] if _is_number(value) else []
        number = value.item() if isinstance(value, np.generic) else value  # float32 knows no numbers as large as bounds
        return matches(value, arguments[0]) and all(one.hold(number) for one in bounds)
    if origin in (Union, UnionType):
        return any(matches(value, one) for one in arguments)
    if origin is Literal:
        kind = str if isinstance(value, str) else type(value)  # 1 is not True, and texts of NumPy are texts
        return any(type(one) is kind and value == one for one in arguments)
    if origin in (list, tuple, abc.Sequence, abc.Mapping, dict):
        return _matches_items(value, origin, arguments)
    if origin is abc.Callable:
        return callable(value)
    if origin is not None:
        return isinstance(value, origin)
    return hint is Any or isinstance(hint, str) or _matches_plain(value, hint)


def _matches_items(value: Any, origin: Any, arguments: tuple[Any, ...]) -> bool:
    if origin in (abc.Mapping, dict):
        key, item = arguments
        return isinstance(value, Mapping) and all(matches(k, key) and matches(v, item) for k, v in value.items())
    if is_column(value):
        value = column_values(value)
    if not isinstance(value, list | tuple):
        return False
    if origin is tuple and arguments[-1] is not Ellipsis:
        return len(value) == len(arguments) and all(map(matches, value, arguments))
    return all(matches(item, arguments[0]) for item in value)


def _matches_plain(value: Any, hint: Any) -> bool:
    if hint is None or hint is NoneType:
        return value is None
    if hint is bool:
        return isinstance(value, bool | np.bool_) or (_is_whole(value) and value in (0, 1))
    if hint is int:
        return _is_whole(value) and -_WHOLE < value < _WHOLE
    if hint is float:
        return _is_number(value) and (not _is_whole(value) or -_WHOLE < value < _WHOLE)
    if getattr(hint, "_is_protocol", False):
        return not isinstance(value, type) and all(
            hasattr(value, name) for name in vars(hint) if not name.startswith("_")
        )
    return isinstance(value, hint) if isinstance(hint, type) else True


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and isinstance(value, Real) and not isinstance(value, bool)
