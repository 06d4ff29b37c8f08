"""Ready-made features: a dict per token, as CRFsuite's users have them.

A string value makes the attribute "name=value", True makes "name", False and None make nothing, and a number makes
"name" with that value.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import chain
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Bytes, Floats, Ints, Longs
from ..quoting import quoted
from ..stored import Arrays, numbered, whole
from .encoded import LARGEST_VALUE, Encoded, State
from .numbering import capacity
from .templates import sequence_offsets

Token = Mapping[str, Any]

# How many tokens are encoded at a time, few enough to stay in cache; how many values are remembered between batches.
_BATCH = 256
_REMEMBERED = 1 << 18


class TokenRows(NamedTuple):
    """Some tokens, encoded: how many attributes each has, their numbers and their values, None if all are one."""

    widths: Longs
    indices: Ints
    values: Floats | None


class _Values(dict[Any, int]):
    """The attribute of every value of one feature, worked out when it is first asked for; -1 where there is none.

    Strings and True stay. Anything else is there for one batch only, as -2 - its place in `others`: numbers seldom
    recur, and 0, which makes an attribute, equals False, which makes none.
    """

    def __init__(self, name: str, number_of: Callable[[str], int | None]) -> None:
        self.name, self.number_of = name, number_of
        self.others: list[tuple[Any, int, float]] = []

    def __missing__(self, value: Any) -> int:
        attribute = attribute_of(self.name, value)
        number = None if attribute is None else self.number_of(attribute[0])
        found = -1 if number is None else number
        if not isinstance(value, str) and value is not True:
            self.others.append((value, found, 0.0 if attribute is None else attribute[1]))
            found = -1 - len(self.others)
        self[value] = found
        return found

    def look_up(self, column: Sequence[Any], indices: Ints, values: Floats) -> bool:
        """Fills in the attributes of some values and their sizes; False if truth values and zeros would be mixed up.

        values: ones.
        """
        try:
            indices[:] = np.fromiter(map(self.__getitem__, column), np.int32, len(column))
            if not self.others:
                return True
            kinds = set(map(type, column)) - {str, type(None)}
            if len(kinds) > 1 and kinds & {bool, np.bool_} and any(value == 0 for value, _, _ in self.others):
                return False
            at = np.flatnonzero(indices < -1)
            places = -2 - indices[at]
            values[at] = np.array([size for _, _, size in self.others])[places]
            indices[at] = np.array([number for _, number, _ in self.others], np.int32)[places]
            return True
        finally:
            for value, _, _ in self.others:
                del self[value]
            self.others.clear()


class _Texts:
    """Attributes by their texts, for columns of strings: a hash table, and the texts themselves to compare with."""

    def __init__(self, names: Sequence[str]) -> None:
        from ..kernels import hashing

        self.pool = _ended(names).copy()  # can be written, as copies of it can: the same version of a kernel
        self.starts = np.concatenate((np.zeros(1, np.int64), np.flatnonzero(self.pool == 0) + 1))
        self.slots = np.full(capacity(len(names)), -1, np.int32)
        hashing.fill_texts(self.pool, self.starts, self.slots)

    def look_up(self, names: Sequence[str], columns: Sequence[Sequence[Any]], out: Ints) -> bool:
        """Fills in the attributes of the values of features, (features, values), -1 for none.

        False, with nothing done, if a value is no string.
        """
        from ..kernels import hashing

        try:
            values = _ended(chain.from_iterable(columns))
        except TypeError:
            return False
        befores = _ended(f"{name}=" for name in names)
        # A text with a zero inside is looked up by itself.
        if np.count_nonzero(values) != len(values) - out.size or np.count_nonzero(befores) != len(befores) - len(names):
            return False
        hashing.look_up_texts(befores, values, self.pool, self.starts, self.slots, out)
        return True


def _ended(texts: Iterable[str]) -> Bytes:
    """Texts one after the other, a zero byte behind each."""
    return np.frombuffer("\0".join([*texts, ""]).encode("utf-8", "surrogatepass"), np.uint8)


class FeatureNumbers(dict[str, _Values]):
    """The attributes of the values of every feature.

    number_of: the attribute of a text, None where it is left out; texts: all attributes, None while they are learned.
    """

    def __init__(self, number_of: Callable[[str], int | None], texts: _Texts | None = None) -> None:
        self.number_of, self.texts = number_of, texts

    def __missing__(self, name: str) -> _Values:
        self[name] = found = _Values(name, self.number_of)
        return found

    def _look_up_apart(
        self, names: Sequence[str], columns: Sequence[Sequence[Any]], indices: Ints, values: Floats
    ) -> bool:
        """Fills in the attributes of the values of features, and their sizes: (features, values); False as `_Values`.

        Features with strings go together, others one by one, and all do where a string is not the only kind.
        """
        texts = [k for k, column in enumerate(columns) if type(column[0]) is str]
        if self.texts is not None and texts:
            found = np.empty((len(texts), indices.shape[1]), np.int32)
            if self.texts.look_up([names[k] for k in texts], [columns[k] for k in texts], found):
                indices[texts] = found
                columns = [() if k in texts else column for k, column in enumerate(columns)]
        return all(
            self[name].look_up(column, indices[k], values[k])
            for k, (name, column) in enumerate(zip(names, columns, strict=True))
            if column
        )

    def rows(self, tokens: Sequence[Any]) -> TokenRows | None:
        """Encodes tokens column by column, those with the same features in the same order together.

        None if these tokens have to be taken one by one: something is wrong with one of them, or unusual.
        """
        if set(map(type, tokens)) - {dict}:
            return None
        kinds = set(map(tuple, tokens))
        if any(set(map(type, names)) - {str} for names in kinds):  # 1 and True are the same key
            return None
        widths = np.fromiter(map(len, tokens), np.int64, len(tokens))
        try:
            if len(kinds) == 1:  # the usual case, and nothing has to be moved
                found = self._columns(kinds.pop(), tokens)
                if found is None:
                    return None
                some, sizes = found
                return _present(widths, some.T.ravel(), None if sizes is None else sizes.T.ravel())
            alike: dict[tuple[Any, ...], list[int]] = {}
            for place, names in enumerate(map(tuple, tokens)):
                alike.setdefault(names, []).append(place)
            begins, total = np.cumsum(widths) - widths, int(widths.sum())
            indices, values = np.empty(total, np.int32), np.ones(total)
            for names, places in alike.items():
                found = self._columns(names, [tokens[place] for place in places])
                if found is None:
                    return None
                at = begins[places] + np.arange(len(names))[:, None]
                indices[at] = found[0]
                if found[1] is not None:
                    values[at] = found[1]
        except (TypeError, DataError):  # a value that is no attribute; the error names it if they go one by one
            return None
        return _present(widths, indices, values)

    def _columns(self, names: tuple[str, ...], tokens: Sequence[dict[str, Any]]) -> tuple[Ints, Floats | None] | None:
        """The attributes and values of tokens that all have these features, (features, tokens), or None as `rows`."""
        some = np.empty((len(names), len(tokens)), np.int32)
        columns = list(zip(*map(dict.values, tokens), strict=True))
        if self.texts is not None and self.texts.look_up(names, columns, some):
            return some, None
        values = np.ones(some.shape)
        return (some, values) if self._look_up_apart(names, columns, some, values) else None

    def forget_if_many(self) -> None:
        """Starts anew where much is remembered."""
        if len(self) + sum(map(len, self.values())) > _REMEMBERED:
            self.clear()


def _present(widths: Longs, indices: Ints, values: Floats | None) -> TokenRows:
    """Rows without the attributes of number -1."""
    there = indices >= 0
    if there.all():
        return TokenRows(widths, indices, values)
    seen = np.concatenate((np.zeros(1, np.int64), np.cumsum(there)))
    ends = np.cumsum(widths)
    return TokenRows(seen[ends] - seen[ends - widths], indices[there], None if values is None else values[there])


@dataclass
class DictEncoder:
    """Attributes are the observed names (with their values, where those are strings)."""

    min_count: int = 1
    # The names, and the same as a list, made when the first is asked for.
    _listed: tuple[dict[str, int], list[str]] | None = field(default=None, init=False, repr=False, compare=False)
    # The names, and what was looked up in them.
    _met: tuple[dict[str, int], FeatureNumbers] | None = field(default=None, init=False, repr=False, compare=False)

    def fit_transform(self, X: Sequence[Sequence[Token]]) -> Encoded:
        """Learn the attributes of X and encode it."""
        names: dict[str, int] = {}
        encoded = self._encode(X, FeatureNumbers(lambda name: names.setdefault(name, len(names))))
        if self.min_count <= 1:
            self.names_ = names
            return replace(encoded, attributes=len(names))
        kept = np.bincount(encoded.indices, minlength=len(names)) >= self.min_count
        numbers = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        self.names_ = {name: int(number) for name, number in zip(names, numbers, strict=True) if number >= 0}
        values = encoded.values if len(encoded.values) else np.ones(len(encoded.indices))
        rows = _present(np.diff(encoded.indptr), numbers[encoded.indices], values)
        return _joined(encoded.offsets, [rows], len(self.names_))

    def transform(self, X: Sequence[Sequence[Token]]) -> Encoded:
        """Encode X; names never seen are left out."""
        if self._met is None or self._met[0] is not self.names_:
            names = list(self.names_)
            plain = not any("\0" in name for name in names)
            self._met = self.names_, FeatureNumbers(self.names_.get, _Texts(names) if plain else None)
        return replace(self._encode(X, self._met[1]), attributes=len(self.names_))

    def _encode(self, X: Sequence[Sequence[Token]], numbers: FeatureNumbers) -> Encoded:
        """X, without the number of attributes."""
        offsets = self._offsets(X)
        batches: list[TokenRows] = []
        first = 0
        while first < len(X):
            last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _BATCH)))
            batches.append(self._rows(X[first:last], first, numbers))
            numbers.forget_if_many()
            first = last
        return _joined(offsets, batches, 0)

    def _rows(self, X: Sequence[Any], first: int, numbers: FeatureNumbers) -> TokenRows:
        """A batch of sequences; first: the number of the first one."""
        return numbers.rows(list(chain.from_iterable(X))) or self._rows_by_steps(X, first, numbers.number_of)

    def _rows_by_steps(self, X: Sequence[Any], first: int, number_of: Callable[[str], int | None]) -> TokenRows:
        offsets = self._offsets(X)
        widths = np.zeros(int(offsets[-1]), np.int64)
        indices, values = [], []
        for i, t, name, value in self._features(X, first):
            number = number_of(name)
            if number is not None:
                widths[offsets[i - first] + t] += 1
                indices.append(number)
                values.append(value)
        return TokenRows(widths, np.array(indices, np.int32), np.array(values, np.float64))

    def _offsets(self, X: Sequence[Any]) -> Longs:
        return sequence_offsets(X)

    def _features(self, X: Sequence[Any], first: int) -> Iterator[tuple[int, int, str, float]]:
        """(sequence, token, attribute, value) of everything that is not absent; first: the number of sequence X[0]."""
        for i, x in enumerate(X, first):
            for t, token in enumerate(x):
                if not isinstance(token, Mapping):
                    raise DataError(
                        f"sequence {i}, token {t}: expected a feature dict as in the training data, got {quoted(token)}"
                    )
                for name, value in token.items():
                    try:
                        attribute = attribute_of(name, value)
                    except DataError as error:
                        raise DataError(f"sequence {i}, token {t}: {error}") from None
                    if attribute is not None:
                        yield i, t, *attribute

    def extended(self, X: Sequence[Any]) -> Self:
        """Returns an encoder that knows the names in X too, behind those that it has; `min_count` is of X alone."""
        grown, counts = copy(self), Counter(name for _, _, name, _ in self._features(X, 0))
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


def _joined(offsets: Longs, batches: Sequence[TokenRows], attributes: int) -> Encoded:
    """Batches one after the other; values that are all one are left out."""
    widths = np.concatenate((np.zeros(1, np.int64), *(one.widths for one in batches)))
    indices = np.concatenate((np.empty(0, np.int32), *(one.indices for one in batches)))
    values = np.empty(0)
    if any(one.values is not None for one in batches):
        values = np.concatenate([np.ones(len(one.indices)) if one.values is None else one.values for one in batches])
        values = np.empty(0) if (values == 1.0).all() else values
    return Encoded(offsets, np.cumsum(widths), indices, values, attributes)


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
            raise DataError(f"feature {quoted(name)} has a value beyond {LARGEST_VALUE:g}; scale its values down")
    raise DataError(
        f"feature {quoted(name)} is {quoted(value)}; a value is a string, True, False, None or a finite number"
    )
