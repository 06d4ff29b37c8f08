"""Templates whose attributes are hashed: no words are kept, and new attributes need no numbers.

An attribute is a number of `bits` bits that is worked out from the template's number and the texts of its columns, so
that different attributes may share one. One pass over the data encodes it, and a model has the same size whatever it
sees.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data.corpus import Corpus
from ..errors import DataError
from ..kernels.compiling import Bits, Longs
from ..stored import Arrays, whole
from .columns import Column, Template, as_template, parse
from .encoded import Encoded, State
from .on_disk import encode_to_disk
from .templates import coded_columns, other_width, sequence_offsets

# Bits of a number at most: weights are found by numbers of 32 bits.
MOST_BITS = 30


@dataclass
class HashedEncoder:
    """Attributes are hashes of the templates' values, of so many bits."""

    templates: Sequence[str | Column | Template]
    bits: int
    n_jobs: int = -1
    width_: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if isinstance(self.bits, bool) or not isinstance(self.bits, int) or not 1 <= self.bits <= MOST_BITS:
            raise DataError(f"hash_bits must be a whole number from 1 to {MOST_BITS}, got {self.bits!r}")
        self.templates_ = [as_template(t) for t in self.templates]

    @property
    def attributes_(self) -> int:
        """How many attributes there can be."""
        return 1 << self.bits

    def fit_transform(self, X: Sequence[Sequence[Any]]) -> Encoded:
        """Encode X, and remember how many columns tokens have; the rows of a corpus go to disk."""
        if len(X) == 0:
            raise DataError("no sequences were given")
        self.width_ = 0
        if isinstance(X, Corpus):
            return encode_to_disk(X, self.transform, len(self.templates_))
        return self.transform(X)

    def transform(self, X: Sequence[Sequence[Any]]) -> Encoded:
        """Encode X."""
        from ..kernels import hashing, parallel

        offsets = sequence_offsets(X)
        ids = np.empty((int(offsets[-1]), len(self.templates_)), np.int32)
        if len(X):
            coded = coded_columns(X)
            self._require_width(len(coded))
            columns = {c.base for template in self.templates_ for c in template.columns}
            tables = {c: _hashes(coded[c.index].values(c))[coded[c.index].codes] for c in columns}
            seeds = hashing.mixed_texts(*_pool([str(k) for k in range(len(self.templates_))]))

            def run(first: int, last: int) -> None:
                at = slice(offsets[first], offsets[last])
                for number, template in enumerate(self.templates_):
                    texts = [tables[c.base][at] for c in template.columns]
                    hashes = np.stack(texts) if texts else np.empty((0, at.stop - at.start), np.uint64)
                    places = np.array([c.offset for c in template.columns], np.int64)
                    bounds, mask = offsets[first : last + 1], np.uint64(self.attributes_ - 1)
                    hashing.hashed_keys(bounds, hashes, places, seeds[number], mask, ids[at, number])

            parallel.map_shards(run, offsets, self.n_jobs)
        there = ids >= 0
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(there.sum(axis=1))))
        return Encoded(offsets, indptr, ids.ravel() if there.all() else ids[there], np.empty(0), self.attributes_)

    def _require_width(self, found: int) -> None:
        """Learn how many columns there are, or see to it that they are as many as in training."""
        for template in self.templates_:
            for c in template.columns:
                if c.index >= found:
                    raise DataError(f"template {template} needs column {c.index}, but tokens have {found}")
        if self.width_ and found != self.width_:
            raise other_width(self.width_, found)
        self.width_ = found

    def describe(self, attribute: int) -> str:
        """Its number: what it was worked out from is not kept."""
        return f"hash {attribute}"

    def state(self) -> State:
        """Templates as text."""
        for template in self.templates_:
            for c in template.columns:
                c.require_text()
        return {"templates": [str(t) for t in self.templates_], "bits": self.bits, "width": self.width_}, {}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Arrays, n_jobs: int = -1) -> "HashedEncoder":
        """The encoder that gave this state."""
        encoder = cls([parse(t) for t in values["templates"]], whole(values["bits"], "bits"), n_jobs)
        encoder._require_width(whole(values["width"], "width"))
        return encoder


def _hashes(values: list[str | None]) -> Bits:
    """A hash of each text; 0 for None."""
    from ..kernels import hashing

    out: Bits = hashing.mixed_texts(*_pool([value or "" for value in values]))
    out[[value is None for value in values]] = 0
    return out


def _pool(texts: list[str]) -> tuple[Any, Longs]:
    """The bytes of texts one after the other, and where each begins."""
    content = [text.encode(errors="surrogatepass") for text in texts]
    edges = np.concatenate(([0], np.cumsum([len(one) for one in content]))).astype(np.int64)
    return np.frombuffer(b"".join(content) or b"\0", np.uint8).copy(), edges
