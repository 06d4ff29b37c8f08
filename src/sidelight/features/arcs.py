"""Features of dependency arcs: word and tag of both ends, their neighbours' tags, and the distance.

`arc_dicts` says them in words, a feature dict for every arc. `ArcEncoder` works the same attributes out on whole
numbers for all arcs of a batch at once: words and tags are numbered, and a feature is a number whose digits are those
of the columns that it joins. The two agree wherever words and tags are without spaces; with spaces in them, two
features of the same text are one attribute for the dicts, and two for the encoder.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Ints, Longs
from .encoded import Encoded, State
from .numbering import Numbering, factorize
from .parts import PartsEncoded, described

ROOT, END, NONE = "<root>", "<end>", "<none>"
# Distances between a word and its head that count as different; longer ones count as the last.
_DISTANCES = (1, 2, 3, 4, 6, 10)
# How an arc goes: from the root, or from a head to the right (<) or left (>) of the child, and how far.
_WAYS = ("root", *(f"{side}{distance}" for side in "<>" for distance in _DISTANCES))
_SIDES = ("r", "<", ">")
# The columns that features join: head and child have words (hw, cw) and tags (ht, ct), tags beside the head are before
# and after, those beside the child left and right; way is how the arc goes, and side is how without the distance.
_TEMPLATES = {
    "hw": ("hw",), "ht": ("ht",), "cw": ("cw",), "ct": ("ct",), "way": ("way",), "hw ht": ("hw", "ht"),
    "cw ct": ("cw", "ct"), "hw cw": ("hw", "cw"), "ht ct": ("ht", "ct"), "hw ct": ("hw", "ct"), "ht cw": ("ht", "cw"),
    "ht ct way": ("ht", "ct", "way"), "hw ct way": ("hw", "ct", "way"), "ht cw way": ("ht", "cw", "way"),
    "ct way": ("ct", "way"), "ht way": ("ht", "way"), "tags": ("before", "ht", "after", "ct", "side"),
    "tags 2": ("ht", "left", "ct", "right", "side"),
}  # fmt: skip

# Words and tags of a sentence.
Columns = tuple[list[str], list[str]]


def arc_ends(n: int) -> tuple[Longs, Longs]:
    """Child (from 0) and head (0 for the root) of every arc of a sentence, in the structure's order."""
    child = np.repeat(np.arange(n), n)
    place = np.tile(np.arange(n), n)
    return child, place + (place > child)


def arc_dicts(words: Sequence[str], tags: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the features of every arc of a sentence as dicts, in the structure's order."""
    around = [ROOT, *tags, END]
    ends = [(ROOT, ROOT), *zip(words, tags, strict=True)]
    child, head = arc_ends(len(words))
    return [_arc_dict(ends[h], ends[c], h, c, around) for c, h in zip((child + 1).tolist(), head.tolist(), strict=True)]


def _arc_dict(head: tuple[str, str], child: tuple[str, str], h: int, c: int, tags: Sequence[str]) -> dict[str, Any]:
    """Features of one arc; tags: of all words, with one more at each end."""
    (hw, ht), (cw, ct) = head, child
    distance = next((d for d in reversed(_DISTANCES) if abs(h - c) >= d), 1)
    way = f"{'<' if h > c else '>'}{distance}" if h else "root"
    before = tags[h - 1] if h else NONE
    return {
        "hw": hw, "ht": ht, "cw": cw, "ct": ct, "way": way, "hw ht": f"{hw} {ht}", "cw ct": f"{cw} {ct}",
        "hw cw": f"{hw} {cw}", "ht ct": f"{ht} {ct}", "hw ct": f"{hw} {ct}", "ht cw": f"{ht} {cw}",
        "ht ct way": f"{ht} {ct} {way}", "hw ct way": f"{hw} {ct} {way}", "ht cw way": f"{ht} {cw} {way}",
        "ct way": f"{ct} {way}", "ht way": f"{ht} {way}", "tags": f"{before} {ht} {tags[h + 1]} {ct} {way[:1]}",
        "tags 2": f"{ht} {tags[c - 1]} {ct} {tags[c + 1]} {way[:1]}",
    }  # fmt: skip


@dataclass
class ArcEncoder:
    """Turns sentences into rows of attributes, one for each arc.

    read: words and tags of a sentence, checked; min_count: attributes of fewer arcs are dropped.
    """

    read: Callable[[Any], Columns]
    min_count: int = 1
    words_: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    tags_: dict[str, int] = field(default_factory=dict, init=False, repr=False)

    def fit_transform(self, X: Sequence[Any]) -> PartsEncoded:
        """Learn the attributes of X and encode it."""
        sentences = self._sentences(X)
        self.words_, _ = factorize([ROOT, *chain.from_iterable(words for words, _ in sentences)])
        self.tags_, _ = factorize([ROOT, END, NONE, *chain.from_iterable(tags for _, tags in sentences)])
        self._require_room()
        arcs = self._arcs(sentences)
        shape = int(arcs.offsets[-1]), len(_TEMPLATES)
        self.numbering_, ids = Numbering.learn(self._keys(arcs), shape, self.min_count)
        return arcs.encoded(self.numbering_.encoded(ids, arcs.offsets))

    def transform(self, X: Sequence[Any]) -> PartsEncoded:
        """Encode X; attributes never seen in fit are left out."""
        arcs = self._arcs(self._sentences(X))
        ids = np.empty((int(arcs.offsets[-1]), len(_TEMPLATES)), np.int32)
        for number, keys in enumerate(self._keys(arcs)):
            self.numbering_.look_up(number, keys, ids[:, number])
        return arcs.encoded(self.numbering_.encoded(ids, arcs.offsets))

    def _sentences(self, X: Sequence[Any]) -> list[Columns]:
        if isinstance(X, str):
            raise DataError("X must be a list of sentences, got a string")
        return described(self.read, X, "sentence")

    def _require_room(self) -> None:
        """Raise `DataError` unless all keys are below 2^63."""
        values = self._values()
        for name, columns in _TEMPLATES.items():
            room = 2**63
            for column in columns:
                room //= len(values[column])
            if room == 0:
                raise DataError(
                    f"{len(self.words_)} words and {len(self.tags_)} tags are too many for the feature {name!r} of "
                    "arcs; join rare ones, or give Parsing a method `describe` with features of your own"
                )

    def _values(self) -> dict[str, Sequence[str]]:
        """What the digits of every column stand for."""
        words, tags = list(self.words_), list(self.tags_)
        return {
            "hw": words, "cw": words, "ht": tags, "ct": tags, "before": tags, "after": tags, "left": tags,
            "right": tags, "way": _WAYS, "side": _SIDES,
        }  # fmt: skip

    def _arcs(self, sentences: Sequence[Columns]) -> "_Arcs":
        """Words and tags as numbers, -1 for those never seen in fit."""
        known, tag = self.words_.get, self.tags_.get
        words = [known(w, -1) for some, _ in sentences for w in (ROOT, *some, ROOT)]
        tags = [tag(t, -1) for _, some in sentences for t in (ROOT, *some, END)]
        sizes = np.array([len(some) for some, _ in sentences], np.int64)
        return _Arcs(np.array(words, np.int32), np.array(tags, np.int32), self.tags_[NONE], sizes)

    def _keys(self, arcs: "_Arcs") -> Iterator[Longs]:
        """The keys of all arcs, template by template; -1 where a word or tag was never seen in fit."""
        from ..kernels import hashing

        columns, count = arcs.columns(), int(arcs.offsets[-1])
        radix = {column: len(values) for column, values in self._values().items()}
        for template in _TEMPLATES.values():
            digits, keys = np.stack([columns[column] for column in template]), np.empty(count, np.int64)
            sizes = np.array([radix[column] for column in template], np.int64)
            hashing.template_keys(np.array([0, count]), digits, np.zeros(len(sizes), np.int64), sizes, 0, keys)
            yield keys

    def describe(self, attribute: int) -> str:
        """For example "hw ct=sees NOUN", as the feature dicts have it."""
        number, key = self.numbering_.find(attribute)
        name, columns = list(_TEMPLATES.items())[number]
        values, texts = self._values(), []
        for column in reversed(columns):
            key, digit = divmod(key, len(values[column]))
            texts.append(values[column][digit])
        return f"{name}={' '.join(reversed(texts))}"

    def state(self) -> State:
        """Words and tags in order, and the keys of each feature."""
        values = {"min_count": self.min_count, "words": list(self.words_), "tags": list(self.tags_)}
        return values, dict(self.numbering_.arrays())

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any], read: Callable[[Any], Columns]) -> "ArcEncoder":
        """The encoder that gave this state."""
        encoder = cls(read, values["min_count"])
        encoder.words_, encoder.tags_ = (
            {value: k for k, value in enumerate(values[name])} for name in ("words", "tags")
        )
        encoder.numbering_ = Numbering.from_arrays(arrays, len(_TEMPLATES))
        return encoder


class _Arcs:
    """All arcs of a batch.

    words, tags: numbers of all words and tags, with one more at both ends of every sentence; none: the number of the
    tag before the root; sizes: how many words each sentence has.
    """

    def __init__(self, words: Ints, tags: Ints, none: int, sizes: Longs) -> None:
        self.words, self.tags, self.none, self.sizes = words, tags, none, sizes
        self.offsets = np.concatenate(([0], np.cumsum(sizes * sizes))).astype(np.int64)

    def columns(self) -> dict[str, Ints]:
        """Returns the digits of every column: (arcs,) int32."""
        first = np.cumsum(self.sizes + 2) - self.sizes - 2
        before = np.concatenate(([self.none], self.tags[:-1])).astype(np.int32)
        before[first] = self.none
        counts = self.sizes * self.sizes
        base, n = np.repeat(first, counts), np.repeat(self.sizes, counts)
        child, place = np.divmod(np.arange(len(n)) - np.repeat(self.offsets[:-1], counts), n)
        head = place + (place > child)
        side, way = _ways(child + 1, head)
        c, h = base + child + 1, base + head
        return {
            "hw": self.words[h], "ht": self.tags[h], "cw": self.words[c], "ct": self.tags[c], "before": before[h],
            "after": self.tags[h + 1], "left": self.tags[c - 1], "right": self.tags[c + 1], "way": way, "side": side,
        }  # fmt: skip

    def encoded(self, rows: Encoded) -> PartsEncoded:
        """Returns rows of arcs as the parts of sentences."""
        return PartsEncoded(
            rows.offsets, rows.indptr, rows.indices, rows.values, rows.attributes, self.sizes.reshape(-1, 1)
        )


def _ways(child: Longs, head: Longs) -> tuple[Ints, Ints]:
    """Numbers of side and way of arcs; child: from 1, head: 0 for the root."""
    side = np.where(head == 0, 0, np.where(head > child, 1, 2))
    distance = np.searchsorted(_DISTANCES, np.abs(head - child), side="right") - 1
    way = np.where(head == 0, 0, 1 + (side - 1) * len(_DISTANCES) + distance)
    return side.astype(np.int32), way.astype(np.int32)
