"""Aligning: which segments of two strings correspond, in the same order on both sides."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from ...errors import DataError
from ...kernels.compiling import Longs
from ...structures.alignments import Alignments
from ...structures.flat import Shape
from .pairs import PairTask, Segments, require_order


@dataclass(frozen=True)
class Aligning(PairTask):
    """Links segments of two strings, or lists of items, without crossings; what is not linked is deleted.

    An input is a pair (source, target). An output is a list of links: (i, j) for single items, ((i, i2), (j, j2)) for
    the source items i to i2 - 1 and the target items j to j2 - 1. `Partial([...])` says that these links are in it.

    Parameters
    ----------
    longest : int, default=1
        The most items that a link has on either side.
    """

    longest: Annotated[int, "The most items that a link has on either side."] = 1

    has_rows: ClassVar[bool] = True

    def check(self) -> None:
        """Raises `DataError` if a parameter makes no sense."""
        if not isinstance(self.longest, int) or self.longest < 1:
            raise DataError(f"longest is a whole number of at least 1, got {self.longest!r}")

    def structure(self, n_jobs: int = -1) -> Alignments:
        """Returns the alignments."""
        return Alignments(n_jobs, longest=self.longest)

    def segments(self, shape: Shape) -> tuple[Longs, Longs, Longs, Longs]:
        """Returns the segments of every link."""
        links = self.structure(1).links(shape)
        return (
            links.source, links.source + links.source_length, links.target, links.target + links.target_length
        )  # fmt: skip

    def number(self, shape: Shape, link: Segments) -> int:
        """Returns the number of a link's part."""
        i, i2, j, j2 = link
        if max(i2 - i, j2 - j) > self.longest:
            raise DataError(f"the link {((i, i2), (j, j2))!r} is longer than longest={self.longest}")
        return int(self.structure(1).link(shape, i, i2 - i, j, j2 - j))

    def code(self, shape: Shape, part: int) -> int:
        """A source item is written as its part."""
        return part

    def part(self, shape: Shape, place: int, code: int) -> int:
        """A source item is written as its part."""
        return code

    def _links(self, shape: Shape, y: Any) -> list[Segments]:
        links = super()._links(shape, y)
        require_order(links)
        for link in links:
            self.number(shape, link)
        return links
