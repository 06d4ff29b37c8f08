"""What aligning and matching share: inputs that are pairs, and outputs that are sets of links."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ...errors import DataError
from ...features.parts import token_columns
from ...kernels.compiling import Flags, Floats, Ints, Longs
from ...quoting import quoted
from ...rules.part_view import EndView, PartView
from ...structures.flat import Shape
from ...supervision import Given, Partial, Signal
from .parts import PartsTask

# A link: where its source and target segments begin and end.
SegmentPair = tuple[int, int, int, int]
# Shares of the distance from the diagonal that count as different.
_AWAY = (0.05, 0.1, 0.2, 0.4)


@dataclass(frozen=True)
class PairTask(PartsTask):
    """Base of tasks whose input is a pair (source, target) and whose output is a set of links.

    A link of one item on each side is written (i, j). A link of longer segments is written ((i, i2), (j, j2)), with
    the items from i to i2 - 1. Items that no link has are deleted. `Partial([...])` says that these links are in the
    output, and nothing of the other items.
    """

    noun: ClassVar[str] = "pair"
    kind: ClassVar[str] = "links"
    place: ClassVar[str] = "source item"

    # What a task says of its structure --------------------------------------------------------------------------------

    @abstractmethod
    def segments(self, shape: Shape) -> tuple[Longs, Longs, Longs, Longs]:
        """Returns where the source and the target segment of every link begin and end, in the structure's order."""

    @abstractmethod
    def number(self, shape: Shape, link: SegmentPair) -> int:
        """Returns the number of a link's part."""

    @abstractmethod
    def code(self, shape: Shape, part: int) -> int:
        """Returns what is written for a source item that this part covers."""

    @abstractmethod
    def part(self, shape: Shape, place: int, code: int) -> int:
        """Returns the number of the part that a source item is covered by, from what is written for it."""

    # Inputs -----------------------------------------------------------------------------------------------------------

    def shape(self, x: Any) -> Shape:
        """Returns how many items both sides have."""
        if isinstance(x, str) or not hasattr(x, "__len__") or len(x) != 2:
            raise DataError(f"a pair is (source, target), got {quoted(x)}")
        for side, items in zip(("source", "target"), x, strict=True):
            if not hasattr(items, "__len__"):
                raise DataError(f"the {side} is a string or a list of items, got {quoted(items)}")
            if not len(items):
                raise DataError(f"the {side} is empty; leave such pairs out")
        return len(x[0]), len(x[1]), 1

    def tokens(self, x: Any) -> int:
        """Returns how many items both sides have together."""
        return len(x[0]) + len(x[1])

    def describe(self, x: Any) -> tuple[Shape, list[dict[str, Any]]]:
        """Returns features of every link and deletion: items, what they share, and the distance from the diagonal."""
        shape = self.shape(x)
        n, m, _ = shape
        (source, source_tags), (target, target_tags) = (token_columns(list(side)) for side in x)
        parts: list[dict[str, Any]] = []
        for i, i2, j, j2 in zip(*(column.tolist() for column in self.segments(shape)), strict=True):
            left, right = " ".join(source[i:i2]), " ".join(target[j:j2])
            tags = f"{' '.join(source_tags[i:i2])} {' '.join(target_tags[j:j2])}".strip()
            away = abs((i + i2) / (2 * n) - (j + j2) / (2 * m))
            parts.append(
                {
                    "pair": f"{left} {right}", "source": left, "target": right, "tags": tags or None,
                    "same": left.lower() == right.lower(), "first": left[:1].lower() == right[:1].lower(),
                    "first three": left[:3].lower() == right[:3].lower(), "sizes": f"{i2 - i} {j2 - j}",
                    "away": str(sum(away > one for one in _AWAY)),
                }
            )  # fmt: skip
        parts += [{"source deleted": item, "no target": True} for item in source]
        parts += [{"target deleted": item, "no source": True} for item in target]
        return shape, parts

    def view(self, X: Sequence[Any], classes: Sequence[str]) -> PartView:
        """Returns the links and deletions of a batch with source and target."""
        firsts: list[list[Longs]] = [[], [], [], []]
        sizes, links, edges = [0], [], np.zeros(2, np.int64)
        for x in X:
            n, m, _ = shape = self.shape(x)
            i, i2, j, j2 = self.segments(shape)
            nothing = np.zeros(max(n, m), np.int64)
            source, target = np.arange(n), np.arange(m)
            ends = (i, source, nothing[:m]), (i2, source + 1, nothing[:m]), (j, nothing[:n], target)
            for found, three, edge in zip(
                firsts, (*ends, (j2, nothing[:n], target + 1)), np.repeat(edges, 2), strict=True
            ):
                found.append(np.concatenate(three) + edge)
            links.append(np.arange(len(i) + n + m) < len(i))
            sizes.append(len(i) + n + m)
            edges = edges + np.array((n, m))
        first, last, begin, end = (np.concatenate(column) for column in firsts)
        views = {
            "source": EndView([list(x[0]) for x in X], first, last),
            "target": EndView([list(x[1]) for x in X], begin, end),
        }
        offsets = np.cumsum(sizes).astype(np.int64)
        label = np.full(int(offsets[-1]), -1, np.int32)
        return PartView(offsets, label, [], views, "source", np.concatenate(links))

    def parts_at(self, shape: Shape, t: int) -> Longs:
        """Returns the links of one source item, and its deletion."""
        first, last, _, _ = self.segments(shape)
        return np.append(np.flatnonzero((first <= t) & (t < last)), len(first) + t)

    def part_names(self, x: Any, parts: Longs, classes: Sequence[str]) -> list[str]:
        """Returns the target of each link with its items, and the source where that has several."""
        (source, _), (target, _) = (token_columns(list(side)) for side in x)
        columns, out = self.segments(self.shape(x)), []
        for part in parts.tolist():
            if part >= len(columns[0]):
                out.append("nothing")
                continue
            i, i2, j, j2 = (int(column[part]) for column in columns)
            whole = f"{' '.join(source[i:i2])} as " if i2 - i > 1 else ""
            out.append(f"{whole}{' '.join(target[j:j2])} ({j if j2 - j == 1 else f'{j} to {j2 - 1}'})")
        return out

    # Outputs ----------------------------------------------------------------------------------------------------------

    def read_one(self, shape: Shape, y: Any) -> Any:
        """Returns what is known of the links, checked."""
        links = self._links(shape, y.known if isinstance(y, Partial) else y)
        if not isinstance(y, Partial):
            return Given(Signal.FULL, y)
        return Given(Signal.PARTIAL, y) if links else None

    def _links(self, shape: Shape, y: Any) -> list[SegmentPair]:
        """Links as segments, checked: in range, of items that no other link has."""
        if isinstance(y, str) or not hasattr(y, "__iter__"):
            raise DataError("an output is a list of links (i, j)")
        links, taken = [], (set[int](), set[int]())
        for link in y:
            segments = self.link_segments(shape, link)
            for side, used, (first, last) in zip(
                ("source", "target"), taken, (segments[:2], segments[2:]), strict=True
            ):
                again = used & set(range(first, last))
                if again:
                    raise DataError(f"{side} item {min(again)} has two links")
                used |= set(range(first, last))
            links.append(segments)
        return links

    def link_segments(self, shape: Shape, link: Any) -> SegmentPair:
        """Returns a link as segments; raises `DataError` for what is none, or out of range."""
        if isinstance(link, str) or not hasattr(link, "__len__") or len(link) != 2:
            raise DataError(f"a link is a pair (i, j), or ((i, i2), (j, j2)), got {quoted(link)}")
        out: list[int] = []
        for side, end, size in zip(("source", "target"), link, shape, strict=False):
            first, last = _edges(link, end)
            if not 0 <= first < last <= size:
                raise DataError(
                    f"the link {quoted(link)} is out of range: the {side} has {size} items, numbered from 0"
                )
            out += [int(first), int(last)]
        return out[0], out[1], out[2], out[3]

    def to_output(self, x_shape: Shape, y: Any) -> Sequence[int]:
        """Returns what covers each source item."""
        n, count = x_shape[0], len(self.segments(x_shape)[0])
        out = [self.code(x_shape, count + i) for i in range(n)]
        for link in self._links(x_shape, y):
            for i in range(link[0], link[1]):
                out[i] = self.code(x_shape, self.number(x_shape, link))
        return out

    def to_y(self, x_shape: Shape, output: Ints) -> list[Any]:
        """Returns the links in the order of their source items."""
        columns = self.segments(x_shape)
        count, links = len(columns[0]), []
        for place, code in enumerate(output.tolist()):
            number = self.part(x_shape, place, code)
            if number < count and int(columns[0][number]) == place:
                links.append(self.written_link(*(int(column[number]) for column in columns)))
        return links

    def written_link(self, i: int, i2: int, j: int, j2: int) -> tuple[Any, Any]:
        """Returns a link the way y is written, from where its segments begin and end."""
        return (i, j) if (i2 - i, j2 - j) == (1, 1) else ((i, i2), (j, j2))

    def allowed(self, shape: Shape, y: Any, classes: Sequence[str]) -> Flags:
        """Returns the parts that share no item with a known link, and these links."""
        structure, numbers = self.structure(1), [self.number(shape, link) for link in self._links(shape, y.known)]
        n, m, _ = shape
        out = np.ones(len(self.segments(shape)[0]) + n + m, bool)
        for number in numbers:
            out[structure.rivals(shape, number)] = False
        out[numbers] = True
        return out

    def score(self, y: Sequence[Any], predicted: Sequence[Any], weights: Floats | None = None) -> float:
        """Returns the F1 of the links; 1 where there are none in either."""
        return links_f1(y, predicted, weights)


def links_f1(y: Sequence[Any], predicted: Sequence[Any], weights: Floats | None = None) -> float:
    """Returns the F1 of the links of some pairs; 1 where there are none in either."""
    found = right = known = 0.0
    for i, (gold, mine) in enumerate(zip(y, predicted, strict=True)):
        if isinstance(gold, Partial):  # the other links are not known
            continue
        try:
            one, other = ({_written(link) for link in links} for links in (gold, mine))
        except (DataError, TypeError) as error:
            raise DataError(f"pair {i}: {quoted(gold)} cannot be compared: {error}") from None
        weight = 1.0 if weights is None else weights[i]
        found, known, right = (
            found + weight * len(other), known + weight * len(one), right + weight * len(one & other)
        )  # fmt: skip
    return 2 * right / (found + known) if found + known else 1.0


def _written(link: Any) -> tuple[int, ...]:
    """A link as four numbers, however it is written."""
    return tuple(edge for end in link for edge in _edges(link, end))


def _edges(link: Any, end: Any) -> tuple[int, int]:
    """Where one end of a link begins and ends; a single item is a number."""
    both = (end,) if isinstance(end, int | np.integer) else end
    whole = hasattr(both, "__len__") and all(isinstance(v, int | np.integer) and not isinstance(v, bool) for v in both)
    if not whole or len(both) not in (1, 2):
        raise DataError(f"a link is a pair (i, j), or ((i, i2), (j, j2)), of whole numbers, got {quoted(link)}")
    return int(both[0]), int(both[-1]) + (len(both) == 1)


def require_order(links: Sequence[SegmentPair]) -> None:
    """Raise `DataError`, naming them, where two links cross."""
    for one, other in pairwise(sorted(links)):
        if other[2] < one[3]:
            raise DataError(
                f"the links of source items {one[0]} and {other[0]} cross; a monotone alignment has none, see Matching"
            )
