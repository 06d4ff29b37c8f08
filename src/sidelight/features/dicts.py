"""Ready-made features: a dict per token, as CRFsuite's users have them.

A string value makes the attribute "name=value", True makes "name", False and None make nothing, and a number makes
"name" with that value.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Self

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Longs
from ..stored import Arrays, numbered, whole
from .encoded import LARGEST_VALUE, Encoded, State
from .templates import sequence_offsets

Token = Mapping[str, Any]


@dataclass
class DictEncoder:
    """Attributes are the observed names (with their values, where those are strings)."""

    min_count: int = 1
    # The names, and the same as a list, made when the first is asked for.
    _listed: tuple[dict[str, int], list[str]] | None = field(default=None, init=False, repr=False, compare=False)

    def fit_transform(self, X: Sequence[Sequence[Token]]) -> Encoded:
        """Learn the attributes of X and encode it."""
        if self.min_count <= 1:  # every name has an attribute, so that one pass is enough
            names: dict[str, int] = {}
            encoded = self._encode(X, lambda name: names.setdefault(name, len(names)))
            self.names_ = names
            return replace(encoded, attributes=len(names))
        counts = Counter(name for _, _, name, _ in self._features(X))
        self.names_ = {n: k for k, n in enumerate(n for n, count in counts.items() if count >= self.min_count)}
        return self.transform(X)

    def transform(self, X: Sequence[Sequence[Token]]) -> Encoded:
        """Encode X; names never seen are left out."""
        return replace(self._encode(X, self.names_.get), attributes=len(self.names_))

    def _encode(self, X: Sequence[Sequence[Token]], number_of: Callable[[str], int | None]) -> Encoded:
        """X, without the number of attributes; number_of: the attribute of a name, None where it is left out."""
        offsets = self._offsets(X)
        per_token = np.zeros(int(offsets[-1]) + 1, np.int64)
        indices, values = [], []
        for i, t, name, value in self._features(X):
            number = number_of(name)
            if number is not None:
                per_token[offsets[i] + t + 1] += 1
                indices.append(number)
                values.append(value)
        flat = np.array(values, np.float64)
        if (flat == 1.0).all():
            flat = np.empty(0)
        return Encoded(offsets, np.cumsum(per_token), np.array(indices, np.int32), flat, 0)

    def _offsets(self, X: Sequence[Any]) -> Longs:
        return sequence_offsets(X)

    def _features(self, X: Sequence[Any]) -> Iterator[tuple[int, int, str, float]]:
        """(sequence, token, attribute, value) of everything that is not absent."""
        for i, x in enumerate(X):
            for t, token in enumerate(x):
                if not isinstance(token, Mapping):
                    raise DataError(f"sequence {i}, token {t}: expected a feature dict as before, got {token!r}")
                for name, value in token.items():
                    if value.__class__ is str:  # as most are
                        yield i, t, f"{name}={value}", 1.0
                        continue
                    try:
                        attribute = attribute_of(name, value)
                    except DataError as error:
                        raise DataError(f"sequence {i}, token {t}: {error}") from None
                    if attribute is not None:
                        yield i, t, *attribute

    def extended(self, X: Sequence[Any]) -> Self:
        """Returns an encoder that knows the names in X too, behind those that it has; `min_count` is of X alone."""
        grown, counts = copy(self), Counter(name for _, _, name, _ in self._features(X))
        new = [name for name, count in counts.items() if count >= self.min_count and name not in self.names_]
        grown.names_ = {**self.names_, **{name: k for k, name in enumerate(new, start=len(self.names_))}}
        return grown

    def describe(self, attribute: int) -> str:
        """The attribute's name."""
        if self._listed is None or self._listed[0] is not self.names_:
            self._listed = self.names_, list(self.names_)
        return self._listed[1][attribute]

    def state(self) -> State:
        """The names in order."""
        return {"min_count": self.min_count, "names": list(self.names_)}, {}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Arrays, n_jobs: int = -1) -> Self:
        """The encoder that gave this state."""
        encoder = cls(whole(values["min_count"], "min_count"))
        encoder.names_ = numbered(values["names"], "the names of features")
        return encoder


def attribute_of(name: str, value: Any) -> tuple[str, float] | None:
    """The attribute that a feature makes, and its value; None if the feature is absent."""
    if isinstance(value, str):
        return f"{name}={value}", 1.0
    if value is None or value is False or (isinstance(value, np.bool_) and not value):
        return None
    if isinstance(value, Real | np.bool_):
        try:
            number = float(value)
        except OverflowError:  # a whole number
            number = sys.float_info.max
        if abs(number) <= LARGEST_VALUE:
            return str(name), number
        if math.isfinite(number):
            raise DataError(f"feature {name!r} has a value beyond {LARGEST_VALUE:g}; scale its values down")
    raise DataError(f"feature {name!r} is {value!r}; a value is a string, True, False, None or a finite number")
