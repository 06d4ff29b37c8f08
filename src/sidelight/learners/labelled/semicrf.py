"""Semi-Markov conditional random fields (Sarawagi & Cohen 2004)."""

from dataclasses import field
from typing import Annotated, Any

from ...declared import Bounds, declared
from ..tasks.segmenting import Segmenting
from .crf import LogLinear


@declared
class SemiCRF(LogLinear):
    """Conditional random field on segmentations: `CRF(task=Segmenting(...))` with a penalty that suits it.

        minimise  Σ_i [log Z(x_i) - log Z(x_i, y_i)] + l1 ‖w‖₁ + l2 ‖w‖²

    Segments are the runs of equal labels, so neighbours have different labels and a segmentation is the same as a
    label sequence. A segment's score is the sum of its tokens' attribute weights, of those of its first and of its
    last token, and of a weight of its length; neighbouring labels have weights as in `CRF`. Its solver is the one
    that `CRF` takes by itself: exponentiated gradient, and L-BFGS where that does not apply or is slow.

    Z(x, y) sums over the segmentations that agree with y: the exponential of the score of y where all labels are known.
    Two known neighbours with the same label are in one segment, and tokens without a label may continue the segments
    beside them or be segments of their own. With such partial labels the objective is not convex, and from zero weights
    L-BFGS can end where every unknown token is a segment. It begins instead with the weights of a full labelling: that
    of a label chain (the weights of tokens and of label pairs), which is fitted first to the labelling with the fewest
    segments, and from there to y.

    Attributes
    ----------
    classes_, weights_, solver_, converged_, trace_
    max_length_ : int
        Most tokens of a segment.
    """

    features: Annotated[
        Any,
        "Templates for every token; None is `DEFAULT_TEMPLATES`. It must be None where X holds feature dicts or "
        "arrays.",
    ] = field(default=None, kw_only=False)
    begin_features: Annotated[Any, "Templates for the first token of a segment, as for `Segmenting`."] = None
    end_features: Annotated[
        Any,
        'Templates for the last token of a segment. `["word.ispunct()"]` says whether segments end with '
        "punctuation, as in Table 3.4 of Chang 2011.",
    ] = None
    length: Annotated[bool, "Whether the lengths of segments have weights."] = True
    max_length: Annotated[
        int | None,
        "Most tokens of a segment; None is half as much again as the longest one in training, where a label that is "
        "not known counts as any that it may be.",
        Bounds(1),
    ] = None
    boundaries: Annotated[bool, "Whether first and last labels have weights of their own."] = True
    l2: Annotated[float, "Penalty of the sum of the squared weights.", Bounds(0)] = 0.03

    solver = "auto"

    @property
    def task_(self) -> Segmenting:
        """Segments with these features."""
        return Segmenting(self.begin_features, self.end_features, self.length, self.max_length, self.boundaries)

    @property
    def max_length_(self) -> int:
        """Most tokens of a segment."""
        longest: int = self.scorer_.longest
        return longest
