"""Features of letters and short segments that correspond: Table 5.1 of Chang 2011, for segments instead of characters.

`letter_dicts` says them in words, a feature dict for every link and deletion of a pair. `LetterEncoder` works the same
attributes out on whole numbers for all pairs of a batch at once, those of the same shape together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Floats, Longs
from ..stored import Arrays, ArraySpec, numbered, read_arrays, whole
from .encoded import State, require_list
from .parts import PartsEncoded, described

# Stands behind the last item of a side.
END = "<end>"
# The features: of links (both ends, and one of them with the item behind it), and of deletions.
PAIR, SOURCE_NEXT, TARGET_NEXT = "pair", "pair, source next", "pair, target next"
SOURCE_DELETED, TARGET_DELETED = "source deleted", "target deleted"
BIAS, DISTANCE = "link", "distance"
_TEMPLATES = (PAIR, SOURCE_NEXT, TARGET_NEXT, SOURCE_DELETED, TARGET_DELETED)

# Where the segments of the links of a shape begin, and how long they are: source, length, target, length.
LinkArrays = tuple[Longs, Longs, Longs, Longs]
Sides = tuple[list[str], list[str]]


def letter_dicts(source: Sequence[str], target: Sequence[str], links: LinkArrays) -> list[dict[str, Any]]:
    """Returns the features of every link, and of the deletion of every item, as dicts.

    A link has a feature that is always there, 1 / (|i - j| + 1) for how far its ends are from each other, both ends,
    both ends with the source item behind, and both ends with the target item behind.
    """
    ahead, behind = [*source, END], [*target, END]
    parts: list[dict[str, Any]] = []
    for i, a, j, b in zip(*(column.tolist() for column in links), strict=True):
        s, t = " ".join(source[i : i + a]), " ".join(target[j : j + b])
        parts.append(
            {
                BIAS: True, DISTANCE: 1.0 / (abs(i - j) + 1), PAIR: f"{s} – {t}",
                SOURCE_NEXT: f"{s} ({ahead[i + a]}) – {t}", TARGET_NEXT: f"{s} – {t} ({behind[j + b]})",
            }
        )  # fmt: skip
    parts += [{SOURCE_DELETED: item} for item in source]
    parts += [{TARGET_DELETED: item} for item in target]
    return parts


@dataclass
class LetterEncoder:
    """Turns pairs into rows of attributes, one for each link and deletion.

    read: the items of both sides of a pair, checked; links: of a shape (n, m); longest: the most items of a segment;
    min_count: attributes of fewer parts are dropped.
    """

    read: Callable[[Any], Sides]
    links: Callable[[int, int], LinkArrays]
    longest: int = 1
    min_count: int = 1
    # The items of each side, and the keys of the attributes of every template, in order, with their numbers.
    items_: tuple[list[str], list[str]] = field(default=([], []), init=False, repr=False)
    keys_: list[Longs] = field(default_factory=list, init=False, repr=False)

    def fit_transform(self, X: Sequence[Any]) -> PartsEncoded:
        """Learn the attributes of X and encode it."""
        pairs = self._pairs(X)
        sides = ([pair[k] for pair in pairs] for k in (0, 1))
        self.items_ = tuple(sorted({item for side in one for item in side}) for one in sides)  # type: ignore[assignment]
        self._require_room()
        batch = _Batch(pairs, self)
        kept = []
        for number in range(len(_TEMPLATES)):
            keys, counts = np.unique(batch.keys(number), return_counts=True)
            kept.append(keys[(counts >= self.min_count) & (keys >= 0)])
        self.keys_ = kept
        return batch.encoded()

    def transform(self, X: Sequence[Any]) -> PartsEncoded:
        """Encode X; attributes never seen in fit are left out."""
        return _Batch(self._pairs(X), self).encoded()

    def _require_room(self) -> None:
        """Raises `DataError` where keys would be larger than whole numbers can be."""
        if self.radix ** min(2 * self.longest + 1, 64) >= 2**63:
            raise DataError(
                f"{self.radix - 2} different items in segments of up to {self.longest} are too many for the features "
                'of letters; use features="items", or join rare items'
            )

    def _pairs(self, X: Sequence[Any]) -> list[Sides]:
        require_list(X, "pairs")
        return described(self.read, X, "pair")

    @property
    def radix(self) -> int:
        """Digits of keys: 0 for none, the items, and one for the end."""
        return max(map(len, self.items_)) + 2

    @property
    def attributes(self) -> int:
        """How many there are; the first two are those of every link."""
        return 2 + sum(map(len, self.keys_))

    def describe(self, attribute: int) -> str:
        """For example "pair=s h – ש", as the feature dicts have it."""
        if attribute < 2:
            return (BIAS, DISTANCE)[attribute]
        number, place = 0, attribute - 2
        while place >= len(self.keys_[number]):
            number, place = number + 1, place - len(self.keys_[number])
        digits, key = list[int](), int(self.keys_[number][place])
        while key:
            key, digit = divmod(key, self.radix)
            digits.append(digit)
        digits += [0] * (2 * self.longest + 1 - len(digits))
        one, other, last = digits[: self.longest], digits[self.longest : 2 * self.longest], digits[-1]
        left, right = (" ".join(self._item(k, digit) for digit in some if digit) for k, some in enumerate((one, other)))
        name = _TEMPLATES[number]
        if name in (SOURCE_DELETED, TARGET_DELETED):
            return f"{name}={left or right}"
        if name == SOURCE_NEXT:
            left += f" ({self._item(0, last)})"
        elif name == TARGET_NEXT:
            right += f" ({self._item(1, last)})"
        return f"{name}={left} – {right}"

    def _item(self, side: int, digit: int) -> str:
        return self.items_[side][digit - 1] if digit <= len(self.items_[side]) else END

    def state(self) -> State:
        """The items of both sides, and the keys of each feature."""
        values = {"min_count": self.min_count, "items": [list(one) for one in self.items_]}
        return values, {f"keys_{k}": keys for k, keys in enumerate(self.keys_)}

    def restored(self, values: dict[str, Any], arrays: Arrays) -> "LetterEncoder":
        """Returns the encoder that gave this state."""
        one, other = values["items"]
        self.min_count = whole(values["min_count"], "min_count")
        self.items_ = list(numbered(one, "items of the source")), list(numbered(other, "items of the target"))
        self._require_room()
        specs = {
            f"keys_{k}": ArraySpec(np.int64, (f"keys_{k}",), least=0, ascending="strictly")
            for k in range(len(_TEMPLATES))
        }
        self.keys_ = list(read_arrays(arrays, specs).values())
        return self


class _Batch:
    """All parts of a batch: the digits of their items, and from them the keys of features."""

    def __init__(self, pairs: Sequence[Sides], encoder: LetterEncoder) -> None:
        self.encoder = encoder
        self.shapes = np.array([(len(s), len(t), 1) for s, t in pairs], np.int64).reshape(-1, 3)
        number = [{item: k + 1 for k, item in enumerate(one)} for one in encoder.items_]
        self.digits = [
            [np.array([number[k].get(item, -1) for item in pair[k]], np.int64) for pair in pairs] for k in (0, 1)
        ]
        groups: dict[tuple[int, int], list[int]] = {}
        for i, (n, m, _) in enumerate(self.shapes.tolist()):
            groups.setdefault((n, m), []).append(i)
        self.groups = {shape: np.array(which) for shape, which in groups.items()}
        self.links = {shape: encoder.links(*shape) for shape in groups}
        counts = np.array([len(self.links[n, m][0]) + n + m for n, m, _ in self.shapes.tolist()], np.int64)
        self.offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)

    def keys(self, template: int) -> Longs:
        """The key of every part, -1 where it has none or one of its items was never seen in fit."""
        out = np.empty(int(self.offsets[-1]), np.int64)
        for shape, which in self.groups.items():
            found = self._keys_of(template, shape, which)
            out[self.offsets[which][:, None] + np.arange(found.shape[1])] = found
        return out

    def _keys_of(self, template: int, shape: tuple[int, int], which: Longs) -> Longs:
        """The keys of the parts of the pairs of one shape: (pairs, parts)."""
        (n, m), radix, longest = shape, self.encoder.radix, self.encoder.longest
        source, target = (np.stack([self.digits[k][i] for i in which]) for k in (0, 1))
        name, (i, a, j, b) = _TEMPLATES[template], self.links[shape]
        keys = np.full((len(which), len(i) + n + m), -1, np.int64)
        if name == SOURCE_DELETED:
            keys[:, len(i) : len(i) + n] = source
        elif name == TARGET_DELETED:
            keys[:, len(i) + n :] = np.where(target > 0, target * radix**longest, -1)
        else:
            left = _segments(source, longest, radix)[:, i, a - 1]
            right = _segments(target, longest, radix)[:, j, b - 1]
            links = np.where((left > 0) & (right > 0), left + right * radix**longest, -1)
            if name != PAIR:
                side, place, known = (source, i + a, 0) if name == SOURCE_NEXT else (target, j + b, 1)
                end = np.full((len(which), 1), len(self.encoder.items_[known]) + 1)
                last = np.concatenate((side, end), axis=1)[:, place]
                links = np.where((links > 0) & (last > 0), links + last * radix ** (2 * longest), -1)
            keys[:, : len(i)] = links
        return keys

    def encoded(self) -> PartsEncoded:
        """The rows of all parts."""
        total, known = int(self.offsets[-1]), self.encoder.keys_
        ids, first = np.full((total, 2 + len(known)), -1, np.int32), 2
        distance = np.zeros(total)
        for shape, which in self.groups.items():
            i, _, j, _ = self.links[shape]
            places = self.offsets[which][:, None] + np.arange(len(i))
            ids[places, 0], ids[places, 1] = 0, 1
            distance[places] = 1.0 / (np.abs(i - j) + 1)
        for number, mine in enumerate(known):
            keys = self.keys(number)
            place = np.minimum(np.searchsorted(mine, keys), max(len(mine) - 1, 0))
            there = (mine[place] == keys) & (keys >= 0) if len(mine) else np.zeros(total, bool)
            ids[there, 2 + number] = first + place[there]
            first += len(mine)
        values: Floats = np.ones(ids.shape)
        values[:, 1] = distance
        there = ids >= 0
        indptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(there.sum(axis=1))))
        return PartsEncoded(self.offsets, indptr, ids[there], values[there], first, self.shapes)


def _segments(digits: Longs, longest: int, radix: int) -> Longs:
    """The numbers of all segments by where they begin and how long they are: (pairs, items, longest); -1 for none."""
    pairs, n = digits.shape
    out = np.full((pairs, n, longest), -1, np.int64)
    out[:, :, 0] = digits
    for length in range(1, longest):
        before, last = out[:, : n - length, length - 1], digits[:, length:]
        both = before + last * radix**length
        out[:, : n - length, length] = np.where((before > 0) & (last > 0), both, -1)
    return out
