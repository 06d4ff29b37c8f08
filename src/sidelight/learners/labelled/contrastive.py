"""Contrastive estimation: labels of unlabelled sequences, learned against reordered copies (Smith & Eisner 2005)."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import numpy as np

from ...errors import DataError, NotSupported
from ...features.choose import choose_encoder
from ...features.choose import kind_of as input_kind
from ...features.encoded import State, sequence_lengths
from ...kernels.compiling import Flags, Floats, Longs
from ...neighbours import neighbourhoods, shuffles, transpositions
from ...progress import progress
from ...scorers.linear import LinearScorer, observed_attributes
from ...solvers import lbfgs
from ...solvers.certificate import Solution, Step, warn_unconverged
from ...solvers.losses import Contrast, ContrastiveLoss
from ...structures.chain import Chain
from ...structures.known import KnownLabels
from ..learner import require_number
from ..tasks.labelling import Labelling
from ..tasks.task import Task
from .linear import LinearLearner, Prepared

# Standard deviation of the attribute weights that a fit begins with.
_SPREAD = 0.1


class ContrastiveEstimation(LinearLearner):
    """Log-linear chain learned from unlabelled sequences and what their tokens may be labelled.

        maximise  Σ_i log [ Σ_y exp s(x_i, y) / Σ_{x' in N(x_i)} Σ_y exp s(x', y) ] - l2 ‖w‖²

    y runs over the label sequences that are allowed, and the allowed labels move with the tokens. The neighbourhood
    N(x) holds x and reordered copies of it, so the weights learn which labels explain that the tokens stand as they
    do (section 6.5.4 of Chang 2011; Smith & Eisner 2005). The objective is not convex: `restarts` fits begin from
    random weights, and the one that ends highest is kept.

    y holds a set of labels for every token, as `TagDictionary.apply` gives, or None where all are allowed. A full
    label is a set of one and says nothing about which label suits the token; tokens with a choice must be there.

    Parameters
    ----------
    features : templates over the token columns, None for the word alone; must be None where X holds feature dicts or
        arrays. Attributes are those of the neighbours as well.
    neighbourhood : "transpose", x with any two neighbouring tokens exchanged, or "shuffle", a sample of orders.
    shuffles : how many orders are drawn for each sequence.
    l2 : penalty.
    restarts : fits from random weights.
    tolerance : ten iterations that lower the negated objective by less than a tenth of this share are the last.
    max_iterations : L-BFGS iterations of each fit.
    min_count : attributes seen less often are dropped; every neighbour counts.
    order, boundaries, classes, verbose, n_jobs : as for `CRF`.
    random_state : of the weights to begin with and the shuffles.

    Attributes
    ----------
    classes_ : labels; weights_ : weights; converged_ : whether the kept fit reached the tolerance; trace_ : its
    L-BFGS steps, with the negated objective; run_objectives_ : the negated objective that each fit ended with.

    To predict under the same knowledge, use `complete(X, y)`.
    """

    def __init__(
        self,
        features: Any = None,
        *,
        neighbourhood: Literal["transpose", "shuffle"] = "transpose",
        shuffles: int = 10,
        l2: float = 0.1,
        restarts: int = 1,
        tolerance: float = 1e-3,
        max_iterations: int = 200,
        min_count: int = 1,
        order: int = 1,
        boundaries: bool = True,
        classes: Sequence[str] | None = None,
        task: Task | None = None,
        random_state: int | None = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.features = features
        self.neighbourhood = neighbourhood
        self.shuffles = shuffles
        self.l2 = l2
        self.restarts = restarts
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.min_count = min_count
        self.order = order
        self.boundaries = boundaries
        self.classes = classes
        self.task = task
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from sequences X and the labels that y allows."""
        self._check()
        prepared, loss = self._contrast(X, y)
        rng = np.random.default_rng(self._seed(1))
        attributes = len(prepared.scorer.label)
        solutions: list[Solution] = []
        for k in range(self.restarts):
            start = np.zeros(prepared.scorer.size)
            start[:attributes] = rng.normal(scale=_SPREAD, size=attributes)
            with progress(f"CE, fit {k + 1}", None, self.verbose) as tell:
                solutions.append(self._solve(loss, start, tell))
        best = min(solutions, key=lambda solution: solution.last.objective)
        self._adopt(prepared)
        self.weights_, self.trace_, self.converged_ = best.weights, best.steps, best.converged
        self.run_objectives_ = tuple(solution.last.objective for solution in solutions)
        warn_unconverged("ContrastiveEstimation", best, "raise max_iterations or l2")
        return self

    def _check(self) -> None:
        if not isinstance(self._task, Labelling):
            raise NotSupported("ContrastiveEstimation reorders the tokens of label sequences; use CRF for other tasks")
        require_number(self, "l2", 0)
        require_number(self, "tolerance", 0, open_end=True)
        require_number(self, "shuffles", 1, whole=True)
        require_number(self, "restarts", 1, whole=True)
        require_number(self, "max_iterations", 1, whole=True)
        self._check_layout()
        if self.neighbourhood not in ("transpose", "shuffle"):
            raise DataError(f"neighbourhood must be 'transpose' or 'shuffle', got {self.neighbourhood!r}")

    def _solve(self, loss: ContrastiveLoss[LinearScorer], start: Floats, tell: Callable[[int, str], None]) -> Solution:
        return lbfgs.minimize(
            loss,
            start,
            l1=0.0,
            l2=self.l2,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            convex=False,
            on_step=lambda step: tell(step.iteration, str(step)),
        )

    def _contrast(self, X: Any, y: Any) -> tuple[Prepared, ContrastiveLoss[LinearScorer]]:
        """Encode the sequences and their neighbours, and lay out the weights."""
        features = ["word"] if self.features is None and input_kind(X) == "columns" else self.features
        encoder = choose_encoder(X, features, self.min_count, self.n_jobs)
        lengths = sequence_lengths(X)
        if 0 in lengths:
            raise DataError(f"sequence {lengths.index(0)} is empty; leave empty sequences out")
        classes, known = self._read_known(lengths, y, self.classes)
        assert isinstance(known, KnownLabels)  # what labelling knows
        allowed = known.choices(len(classes))
        if not (allowed.sum(axis=1) > 1).any():
            raise DataError(
                "no token has more than one allowed label, so there is nothing to learn; give `classes` where y is "
                "None, sets of labels where tokens have a choice, and full labels to CRF or HMM"
            )
        others, moved, groups = neighbourhoods(X, allowed, self._orders())
        encoded = encoder.fit_transform(others)
        scorer = _layout(encoded, moved, len(classes), self.order, self.boundaries)
        observed = Contrast(encoder.transform(X), allowed, np.arange(len(lengths) + 1))
        loss = ContrastiveLoss(scorer, Chain(self.n_jobs), observed, Contrast(encoded, moved, groups))
        return Prepared(observed.encoded, known, classes, encoder, scorer), loss

    def _orders(self) -> Callable[[int], Longs]:
        if self.neighbourhood == "transpose":
            return transpositions
        rng = np.random.default_rng(self._seed(2))
        return lambda n: shuffles(n, self.shuffles, rng)

    def _state(self) -> State:
        values, arrays = super()._state()
        values |= {"converged": self.converged_, "last_step": self.trace_[-1].as_list()}
        return {**values, "run_objectives": list(self.run_objectives_)}, arrays

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(values, arrays)
        self.converged_, self.run_objectives_ = values["converged"], tuple(values["run_objectives"])
        self.trace_ = (Step.from_list(values["last_step"]),)


def _layout(encoded: Any, allowed: Flags, labels: int, order: int, boundaries: bool) -> LinearScorer:
    """Weights for every attribute with the labels it may have, and for all label pairs (and triples)."""
    nothing = np.empty(0, np.int64)
    known = KnownLabels((), np.full(len(allowed), -1, np.int32), allowed, np.array([0, len(allowed)]))
    edge = np.arange(labels) if boundaries else nothing
    return LinearScorer(
        labels,
        order,
        *observed_attributes(encoded, known, labels),
        np.arange(labels**2),
        edge,
        edge,
        np.arange(labels**3) if order == 2 else nothing,
    )
