"""Semi-Markov conditional random fields (Sarawagi & Cohen 2004)."""

from collections.abc import Sequence
from typing import Any

from ..tasks.segmenting import Segmenting
from ..tasks.task import Task
from .crf import CRF


class SemiCRF(CRF):
    """Conditional random field on segmentations: `CRF(task=Segmenting(...))` with a penalty that suits it.

        minimise  Σ_i [log Z(x_i) - s(x_i, y_i)] + l1 ‖w‖₁ + l2 ‖w‖²

    Segments are the runs of equal labels, so neighbours have different labels and a segmentation is the same as a
    label sequence. A segment's score is the sum of its tokens' attribute weights, of those of its first and of its
    last token, and of a weight of its length; neighbouring labels have weights as in `CRF`.

    Parameters
    ----------
    features : templates for every token, None for a default set; must be None where X holds feature dicts or arrays.
    begin_features, end_features, length, max_length, boundaries : as for `Segmenting`. `["word.ispunct()"]` as
        `end_features` says whether segments end with punctuation, as in Table 3.4 of Chang 2011.
    l1, l2, tolerance, max_iterations, min_count, all_weights, classes, verbose, n_jobs : as for `CRF`; its solver is
        L-BFGS.

    Attributes
    ----------
    classes_ : labels; weights_ : weights; max_length_ : most tokens of a segment; converged_ : whether the solver
    reached the tolerance; trace_ : its steps, each with objective, dual, gap and residual.
    """

    solver, order, warm_start, random_state = "lbfgs", 1, False, 0

    def __init__(
        self,
        features: Any = None,
        *,
        begin_features: Any = None,
        end_features: Any = None,
        length: bool = True,
        max_length: int | None = None,
        l1: float = 0.0,
        l2: float = 0.03,
        tolerance: float = 1e-3,
        max_iterations: int = 500,
        min_count: int = 1,
        boundaries: bool = True,
        all_weights: bool = False,
        classes: Sequence[str] | None = None,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.features = features
        self.begin_features = begin_features
        self.end_features = end_features
        self.length = length
        self.max_length = max_length
        self.l1 = l1
        self.l2 = l2
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.min_count = min_count
        self.boundaries = boundaries
        self.all_weights = all_weights
        self.classes = classes
        self.verbose = verbose
        self.n_jobs = n_jobs

    @property
    def _task(self) -> Task:
        return Segmenting(self.begin_features, self.end_features, self.length, self.max_length, self.boundaries)

    @property
    def max_length_(self) -> int:
        """Most tokens of a segment."""
        longest: int = self.scorer_.longest
        return longest
