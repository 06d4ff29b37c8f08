"""Aligning: which segments of two strings correspond, in the same order on both sides."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from ...declared import Bounds
from ...errors import DataError
from ...features.encoded import Encoder
from ...features.letters import LetterEncoder, letter_dicts
from ...features.parts import token_columns
from ...kernels.compiling import Longs
from ...quoting import quoted
from ...stored import Arrays
from ...structures.alignments import Alignments
from ...structures.flat import Shape
from .pairs import PairTask, SegmentPair, require_order


@dataclass(frozen=True)
class Aligning(PairTask):
    """Links segments of two strings, or lists of items, without crossings; what is not linked is deleted.

    An input is a pair (source, target). An output is a list of links: (i, j) for single items, ((i, i2), (j, j2)) for
    the source items i to i2 - 1 and the target items j to j2 - 1. `Partial([...])` says that these links are in it.

    Parameters
    ----------
    longest : int, default=1
        The most items that a link has on either side.
    features : {"items", "letters"}, default="items"
        "items" has features for words: what both ends share, and how far they are from the diagonal. "letters" has
        those of transliteration: both ends, with the item behind either, and how far they are from each other.
    """

    longest: Annotated[int, "The most items that a link has on either side.", Bounds(1)] = 1
    features: Annotated[
        Literal["items", "letters"], "Features for words, or for transliteration (Table 5.1 of Chang 2011)."
    ] = "items"

    has_rows: ClassVar[bool] = True

    def structure(self, n_jobs: int = -1) -> Alignments:
        """Returns the alignments."""
        return Alignments(n_jobs, longest=self.longest)

    # Features ---------------------------------------------------------------------------------------------------------

    def describe(self, x: Any) -> tuple[Shape, list[dict[str, Any]]]:
        """Returns features of every link and deletion."""
        if self.features == "items":
            return super().describe(x)
        n, m, _ = shape = self.shape(x)
        return shape, letter_dicts(*self._letters(x), self._of_shape(n, m))

    def choose_encoder(self, X: Any, features: Any, min_count: int, n_jobs: int) -> Encoder:
        """Returns the encoder of feature dicts, or the quicker one of letters."""
        if self.features == "items" or type(self).describe is not Aligning.describe:
            return super().choose_encoder(X, features, min_count, n_jobs)
        self.require_own(features)
        return self._encoder(min_count)

    def restore_encoder(self, values: dict[str, Any], arrays: Arrays) -> Encoder:
        """Returns the encoder that gave this state."""
        if self.features == "items" or type(self).describe is not Aligning.describe:
            return super().restore_encoder(values, arrays)
        return self._encoder(1).restored(values, arrays)

    def _encoder(self, min_count: int) -> LetterEncoder:
        return LetterEncoder(self._letters, self._of_shape, self.longest, min_count)

    def _letters(self, x: Any) -> tuple[list[str], list[str]]:
        """The items of both sides, checked."""
        self.shape(x)
        return token_columns(list(x[0]))[0], token_columns(list(x[1]))[0]

    def _of_shape(self, n: int, m: int) -> tuple[Longs, Longs, Longs, Longs]:
        """Where the segments of all links begin, and how long they are."""
        links = self.structure(1).links((n, m, 1))
        return links.source, links.source_length, links.target, links.target_length

    def segments(self, shape: Shape) -> tuple[Longs, Longs, Longs, Longs]:
        """Returns the segments of every link."""
        links = self.structure(1).links(shape)
        return (
            links.source, links.source + links.source_length, links.target, links.target + links.target_length
        )  # fmt: skip

    def number(self, shape: Shape, link: SegmentPair) -> int:
        """Returns the number of a link's part."""
        i, i2, j, j2 = link
        if max(i2 - i, j2 - j) > self.longest:
            raise DataError(
                f"the link {quoted(((i, i2), (j, j2)))} is longer than Aligning(longest={self.longest}) allows"
            )
        return int(self.structure(1).link(shape, i, i2 - i, j, j2 - j))

    def code(self, shape: Shape, part: int) -> int:
        """A source item is written as its part."""
        return part

    def part(self, shape: Shape, place: int, code: int) -> int:
        """A source item is written as its part."""
        return code

    def _links(self, shape: Shape, y: Any) -> list[SegmentPair]:
        links = super()._links(shape, y)
        require_order(links)
        for link in links:
            self.number(shape, link)
        return links
