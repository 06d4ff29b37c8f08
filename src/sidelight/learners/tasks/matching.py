"""Matching: which items of two sides belong together, in any order."""

from dataclasses import dataclass

import numpy as np

from ...errors import DataError
from ...kernels.compiling import Longs
from ...quoting import quoted
from ...structures.flat import Shape
from ...structures.matchings import Matchings
from .pairs import PairTask, SegmentPair


@dataclass(frozen=True)
class Matching(PairTask):
    """Links items of two sides, each at most once and in any order; items that are not linked are deleted.

    An input is a pair (source, target) of lists. An output is a list of links (i, j). `Partial([...])` says that these
    links are in it. There are no probabilities of links: learners that need them refuse this task.
    """

    def structure(self, n_jobs: int = -1) -> Matchings:
        """Returns the matchings."""
        return Matchings(n_jobs)

    def segments(self, shape: Shape) -> tuple[Longs, Longs, Longs, Longs]:
        """Returns both items of every link."""
        n, m, _ = shape
        i, j = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
        return i, i + 1, j, j + 1

    def number(self, shape: Shape, link: SegmentPair) -> int:
        """Returns the number of a link's part."""
        i, i2, j, j2 = link
        if (i2 - i, j2 - j) != (1, 1):
            raise DataError(
                f"a link of a matching has one item on each side, got {quoted(((i, i2), (j, j2)))}; see Aligning"
            )
        return i * int(shape[1]) + j

    def code(self, shape: Shape, part: int) -> int:
        """A source item is written as the target item it is linked to, or how many of these there are."""
        n, m, _ = shape
        return int(part % m if part < n * m else m)

    def part(self, shape: Shape, place: int, code: int) -> int:
        """Returns the link of a source item, or its deletion."""
        n, m, _ = shape
        return int(place * m + code if code < m else n * m + place)

    def _links(self, shape: Shape, y: object) -> list[SegmentPair]:
        links = super()._links(shape, y)
        for link in links:
            self.number(shape, link)
        return links
