"""Parts with feature dicts: inputs whose every part has a row of attributes of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Number
from typing import Any, cast

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Longs
from .dicts import DictEncoder
from .encoded import Encoded, require_list

# The feature dicts of the parts of one input, in the structure's order, and the input's shape.
Describe = Callable[[Any], tuple[tuple[Any, ...], list[dict[str, Any]]]]


@dataclass(frozen=True)
class PartsEncoded(Encoded):
    """A batch with a sparse row for every part; shapes: (inputs, numbers) int64, or object for other than numbers."""

    shapes: Longs

    def sequences(self, first: int, last: int) -> "PartsEncoded":
        """Inputs first to last - 1."""
        return _with(super().sequences(first, last), self.shapes[first:last])

    def take(self, which: Longs) -> "PartsEncoded":
        """Some inputs, in this order, with rows of their own."""
        return _with(super().take(which), self.shapes[which])


@dataclass
class PartsEncoder:
    """Turns inputs into rows of attributes, one for each part, by a function that describes the parts."""

    describe_parts: Describe
    dicts: DictEncoder = field(default_factory=DictEncoder)

    def fit_transform(self, X: Sequence[Any]) -> PartsEncoded:
        """Learn the attributes of X and encode it."""
        shapes, parts = self._parts(X)
        return _with(self.dicts.fit_transform(parts), shapes)

    def transform(self, X: Sequence[Any]) -> PartsEncoded:
        """Encode X; attributes never seen in fit are left out."""
        shapes, parts = self._parts(X)
        return _with(self.dicts.transform(parts), shapes)

    def _parts(self, X: Sequence[Any]) -> tuple[Longs, list[list[dict[str, Any]]]]:
        require_list(X, "inputs")
        found = described(self.describe_parts, X)
        if not found:
            return np.empty((0, 1), np.int64), []
        return shape_array([shape for shape, _ in found]), [parts for _, parts in found]

    def describe(self, attribute: int) -> str:
        """An attribute in words."""
        return self.dicts.describe(attribute)

    def state(self) -> Any:
        """That of the attributes; how parts are described is the task's."""
        return self.dicts.state()


def described(describe: Callable[[Any], Any], X: Sequence[Any], noun: str = "input") -> list[Any]:
    """Returns what a function says of every input; errors name the input."""
    found = []
    for i, x in enumerate(X):
        try:
            found.append(describe(x))
        except DataError as error:
            raise DataError(f"{noun} {i}: {error}") from None
    return found


def token_columns(x: Sequence[Any]) -> tuple[list[str], list[str]]:
    """Returns word and tag of every token, a string or a tuple of strings; the tag is "" where there is none."""
    columns = [(token,) if isinstance(token, str) else token if isinstance(token, tuple | list) else () for token in x]
    for t, one in enumerate(columns):
        if not one or not all(isinstance(value, str) for value in one[:2]):
            raise DataError(f"token {t} is a string or a tuple of strings, got {x[t]!r}")
    return [one[0] for one in columns], [one[1] if len(one) > 1 else "" for one in columns]


def shape_array(shapes: Sequence[tuple[Any, ...]]) -> Longs:
    """Returns the shapes of inputs as one array: (inputs, numbers), of objects where some are no numbers."""
    if all(isinstance(value, Number) for shape in shapes for value in shape):
        return np.array(shapes, np.int64).reshape(len(shapes), -1)
    objects: Any = np.empty((len(shapes), len(shapes[0])), object)
    for i, shape in enumerate(shapes):
        for j, value in enumerate(shape):
            objects[i, j] = value
    return cast(Longs, objects)


def _with(encoded: Encoded, shapes: Longs) -> PartsEncoded:
    return PartsEncoded(encoded.offsets, encoded.indptr, encoded.indices, encoded.values, encoded.attributes, shapes)
