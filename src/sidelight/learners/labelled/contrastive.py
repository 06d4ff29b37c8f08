"""Contrastive estimation: labels of unlabelled sequences, learned against reordered copies (Smith & Eisner 2005)."""

from collections.abc import Callable
from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from ...declared import Bounds, declared
from ...errors import DataError, NotSupported
from ...features.choose import choose_encoder as encoder_for
from ...features.choose import input_kind
from ...kernels.compiling import Longs
from ...progress import progress
from ...reorderings import neighbourhoods, shuffles, transpositions
from ...scorers.linear import LinearScorer
from ...solvers import lbfgs
from ...solvers.certificate import Solution, telling, warn_unconverged
from ...solvers.losses import Contrast, ContrastiveLoss
from ...structures.chain import Chain
from ...structures.known import KnownLabels
from ...supervision import Signal
from ..inputs import refuse_weights
from ..learner import Learner
from ..model import Prepared, choose_encoder
from ..parameters import LinearParameters
from ..registry import able
from ..tasks.labelling import Labelling

# Standard deviation of the attribute weights that a fit begins with.
_SPREAD = 0.1


@declared
class ContrastiveEstimation(LinearParameters, Learner):
    """Log-linear chain learned from unlabelled sequences and what their tokens may be labelled.

        maximise  Σ_i log [ Σ_y exp s(x_i, y) / Σ_{x' in N(x_i)} Σ_y exp s(x', y) ] - l2 ‖w‖²

    y runs over the label sequences that are allowed, and the allowed labels move with the tokens. The neighbourhood
    N(x) holds x and reordered copies of it, so the weights learn which labels explain that the tokens stand as they
    do (section 6.5.4 of Chang 2011; Smith & Eisner 2005). The objective is not convex: `restarts` fits begin from
    random weights, and the one that ends highest is kept.

    y holds a set of labels for every token, as `TagDictionary.apply` gives, or None where all are allowed. A full
    label is a set of one and says nothing about which label suits the token; tokens with a choice must be there.

    To predict under the same knowledge, use `complete(X, y)`.

    Attributes
    ----------
    classes_, weights_, converged_, trace_
    run_objectives_ : tuple of float
        The negated objective that each fit ended with.
    """

    features: Annotated[
        Any,
        "Templates over the token columns; None is the word alone. It must be None where X holds feature dicts or "
        "arrays. Attributes are those of the neighbours as well.",
    ] = field(default=None, kw_only=False)
    neighbourhood: Annotated[
        Literal["transpose", "shuffle"],
        '"transpose" is x with any two neighbouring tokens exchanged, "shuffle" a sample of orders.',
    ] = "transpose"
    shuffles: Annotated[int, "How many orders are drawn for each sequence.", Bounds(1)] = 10
    l2: Annotated[float, "Penalty of the sum of the squared weights.", Bounds(0)] = 0.1
    restarts: Annotated[int, "Fits from random weights.", Bounds(1)] = 1
    tolerance: Annotated[
        float,
        "Ten iterations that lower the negated objective by less than a tenth of this share are the last.",
        Bounds(0, above=True),
    ] = 1e-3
    max_iterations: Annotated[int, "L-BFGS iterations of each fit, at most.", Bounds(1)] = 200
    min_count: Annotated[int, "Attributes that occur less often are dropped; every neighbour counts.", Bounds(0)] = 1
    all_weights: ClassVar[bool] = False  # type: ignore[misc]

    saved = ("converged_", "run_objectives_", "trace_")

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from sequences X and the labels that y allows."""
        refuse_weights(self, sample_weight)
        prepared, loss = self._contrast(X, y)
        rng = np.random.default_rng(self.seed(1))
        attributes = len(prepared.scorer.label)
        solutions: list[Solution] = []
        for k in range(self.restarts):
            start = np.zeros(prepared.scorer.size)
            start[:attributes] = rng.normal(scale=_SPREAD, size=attributes)
            with progress(f"CE, fit {k + 1}", None, self.verbose) as tell:
                solution = lbfgs.minimize(
                    loss, start, l1=0.0, l2=self.l2, tolerance=self.tolerance, max_iterations=self.max_iterations,
                    convex=False, on_step=telling(tell, self.tolerance),
                )  # fmt: skip
            solutions.append(solution)
        best = min(solutions, key=lambda solution: solution.last.objective)
        self._adopt(prepared.model(best.weights))
        self.trace_, self.converged_ = best.steps, best.converged
        self.run_objectives_ = tuple(solution.last.objective for solution in solutions)
        warn_unconverged("ContrastiveEstimation", best, "raise max_iterations or l2")
        return self

    def check_parameters(self) -> None:
        """Raise `NotSupported` for tasks other than labelling, and for edges."""
        super().check_parameters()
        if not isinstance(self.task_, Labelling):
            others = able([Signal.NOTHING], self.task_)
            raise NotSupported(
                "ContrastiveEstimation reorders the tokens of label sequences; for other tasks use "
                f"{' or '.join(others)}"
            )
        if self.task_.edges:
            raise NotSupported(
                "ContrastiveEstimation has no weights of edges (label pairs of each token); leave edges out"
            )

    def _contrast(self, X: Any, y: Any) -> tuple[Prepared, ContrastiveLoss[LinearScorer]]:
        """Encode the sequences and their neighbours, and lay out the weights."""
        features = ["word"] if self.features is None and input_kind(X) == "columns" else self.features
        choose_encoder(self, X)  # for its errors
        encoder = encoder_for(X, features, self.min_count, self.n_jobs)
        classes, known = self.read_known(X, y, self.classes)
        assert isinstance(known, KnownLabels)  # what labelling knows
        allowed = known.choices(len(classes))
        if not (allowed.sum(axis=1) > 1).any():
            raise DataError(
                "no token has more than one allowed label, so there is nothing to learn; give `classes` where y is "
                "None, sets of labels where tokens have a choice, and full labels to CRF or HMM"
            )
        others, moved, groups = neighbourhoods(X, allowed, self._orders())
        encoded = encoder.fit_transform(others)
        assert isinstance(self.task_, Labelling)  # by check_parameters
        order, boundaries = self.task_.order, self.task_.boundaries
        scorer = LinearScorer.allowed(encoded, moved, len(classes), order=order, boundaries=boundaries)
        observed = Contrast(encoder.transform(X), allowed, np.arange(len(known) + 1))
        loss = ContrastiveLoss(scorer, Chain(self.n_jobs), observed, Contrast(encoded, moved, groups))
        return Prepared(self.task_, observed.encoded, known, classes, encoder, scorer), loss

    def _orders(self) -> Callable[[int], Longs]:
        if self.neighbourhood == "transpose":
            return transpositions
        rng = np.random.default_rng(self.seed(2))
        return lambda n: shuffles(n, self.shuffles, rng)
