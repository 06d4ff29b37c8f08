"""Attributes for segments: those of every token, of the first and of the last one, each from its own templates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Longs
from ..stored import Arrays, within
from .arrays import ArrayEncoder
from .choose import Features, choose_encoder, input_kind
from .columns import Template, window, word
from .dicts import DictEncoder
from .encoded import Encoded, Encoder, State
from .templates import TemplateEncoder

_ENCODERS: dict[str, Any] = {cls.__name__: cls for cls in (TemplateEncoder, DictEncoder, ArrayEncoder)}
_SHARED = "as token"


@dataclass(frozen=True)
class SegmentEncoded(Encoded):
    """A batch with two more rows for every token: its attributes as the first and as the last token of a segment."""

    first: Encoded
    last: Encoded

    def sequences(self, first: int, last: int) -> "SegmentEncoded":
        """Sequences first to last - 1."""
        token = super().sequences(first, last)
        return _join(token, self.first.sequences(first, last), self.last.sequences(first, last))

    def take(self, which: Longs) -> "SegmentEncoded":
        """Some sequences, in this order, with rows of their own."""
        return _join(super().take(which), self.first.take(which), self.last.take(which))


@dataclass
class SegmentEncoder:
    """Encodes tokens, and segments' first and last tokens; an encoder that is None gives no attributes there."""

    token: Encoder
    first: Encoder | None
    last: Encoder | None

    @property
    def width_(self) -> int | None:
        """The columns of a token in training; None where it has no templates."""
        return getattr(self.token, "width_", None)

    @classmethod
    def choose(
        cls,
        X: Any,
        features: Features | None,
        begin_features: Features | None,
        end_features: Features | None,
        min_count: int,
        n_jobs: int,
    ) -> "SegmentEncoder":
        """For each place the given templates, None being a default set and an empty list none.

        Feature dicts and arrays have no templates: their default is the token's own attributes in all three places.
        """
        token = choose_encoder(X, features, min_count, n_jobs)
        columns = input_kind(X) == "columns"

        def place(chosen: Features | None, default: Sequence[Template], name: str) -> Encoder | None:
            if chosen is not None and not isinstance(chosen, str) and hasattr(chosen, "__len__") and len(chosen) == 0:
                return None
            if columns:
                return TemplateEncoder(default if chosen is None else chosen, min_count, n_jobs)
            if chosen is not None:
                raise DataError(
                    f"{name} are templates over columns, but X holds {input_kind(X)}; leave them out or use []"
                )
            return token

        return cls(
            token,
            place(begin_features, default_begin_templates(), "begin_features"),
            place(end_features, default_end_templates(), "end_features"),
        )

    def fit_transform(self, X: Any) -> SegmentEncoded:
        """Learn the attributes of X and encode it."""
        return self._encode(X, "fit_transform")

    def transform(self, X: Any) -> SegmentEncoded:
        """Encode X; attributes never seen in fit are left out."""
        return self._encode(X, "transform")

    def _encode(self, X: Any, call: str) -> SegmentEncoded:
        token: Encoded = getattr(self.token, call)(X)

        def place(encoder: Encoder | None) -> Encoded:
            if encoder is self.token:
                return token
            return _nothing(token) if encoder is None else getattr(encoder, call)(X)

        return _join(token, place(self.first), place(self.last))

    def describe(self, attribute: int) -> str:
        """An attribute of any token of a segment in words."""
        return self.token.describe(attribute)

    def state(self) -> State:
        """The states of the three encoders."""
        values: dict[str, Any] = {}
        arrays: dict[str, Any] = {}
        for name in ("token", "first", "last"):
            encoder = getattr(self, name)
            if encoder is None or (name != "token" and encoder is self.token):
                values[name] = None if encoder is None else _SHARED
                continue
            own_values, own_arrays = encoder.state()
            values[name] = {"class": type(encoder).__name__, "values": own_values}
            arrays |= {f"{name}_{key}": array for key, array in own_arrays.items()}
        return values, arrays

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Arrays, n_jobs: int = -1) -> "SegmentEncoder":
        """The encoder that gave this state."""
        made: dict[str, Any] = {}
        for name in ("token", "first", "last"):
            if values[name] is None or values[name] == _SHARED:
                made[name] = None if values[name] is None else made["token"]
                continue
            own = within(arrays, f"{name}_")
            made[name] = _ENCODERS[values[name]["class"]].from_state(values[name]["values"], own, n_jobs)
        return cls(**made)


def _join(token: Encoded, first: Encoded, last: Encoded) -> SegmentEncoded:
    return SegmentEncoded(token.offsets, token.indptr, token.indices, token.values, token.attributes, first, last)


def _nothing(like: Encoded) -> Encoded:
    return Encoded(like.offsets, np.zeros(like.tokens + 1, np.int64), np.empty(0, np.int32), np.empty(0), 0)


def default_begin_templates() -> list[Template]:
    """What tells that a segment begins here: words and shapes of the two tokens on either side of the boundary."""
    shape = word.shape()
    return [*window(word.lower(), -2, 1), *window(shape, -2, 1), shape[-1] & shape, shape[-2] & shape[-1] & shape]


def default_end_templates() -> list[Template]:
    """What tells that a segment ends here, likewise."""
    shape = word.shape()
    return [*window(word.lower(), -1, 2), *window(shape, -1, 2), shape & shape[1], shape & shape[1] & shape[2]]
