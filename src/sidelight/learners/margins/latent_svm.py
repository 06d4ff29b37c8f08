"""The structural support vector machine with labels that are known in part."""

from collections.abc import Callable
from typing import Annotated, Any, Self

import numpy as np

from ...declared import Bounds, declared
from ...estimator import warn_convergence
from ...kernels.compiling import Floats
from ...scorers.protocol import KeepsReady
from ...scorers.segments import SegmentScorer
from ...solvers import latent_margins
from ...solvers.certificate import warn_unconverged
from ...solvers.latent_margins import Alternation, LatentProblem
from ...solvers.margin_constraints import BestSearch, Labelled, MarginInputs
from ...solvers.segment_start import fewest_segments
from ..inputs import weighed
from ..learner import Learner
from ..model import Prepared, prepare
from ..parameters import LatentParameters, LinearParameters

# What learners with unknown outputs keep in a model file.
LATENT = ("converged_", "objective_", "rounds_", "run_objectives_", "trace_")


def all_runs(
    learner: Any,
    problem: Callable[[int], LatentProblem],
    start: Callable[[int], Floats],
    solve: Callable[..., Alternation] = latent_margins.minimize,
) -> list[Alternation]:
    """Solve a problem with unknown outputs for every restart; problem, start: of a seed."""
    runs: list[Alternation] = []
    for number in range(learner.restarts):
        seed = learner.seed(number)
        runs.append(
            solve(
                problem(seed), start(seed), change=learner.change, max_rounds=learner.max_rounds,
                tolerance=learner.tolerance, epsilon=learner.epsilon, max_iterations=learner.max_iterations, seed=seed,
                check=learner.check_inference, title=type(learner).__name__, verbose=learner.verbose,
            )
        )  # fmt: skip
    return runs


def adopt_lowest(learner: Any, prepared: Prepared, runs: list[Alternation]) -> None:
    """Let a learner take over the run with the lowest objective, and warn if that is not done.

    A weight beyond those of the scorer is that of the constant feature.
    """
    best, size = min(runs, key=lambda run: run.objective), prepared.scorer.size
    learner._adopt(prepared.model(best.weights[:size].copy()))
    if len(best.weights) > size:
        learner.constant_weight_ = float(best.weights[size])
    learner.objective_, learner.rounds_, learner.trace_ = best.objective, best.rounds, best.last.steps
    learner.converged_ = best.converged and best.last.converged
    learner.run_objectives_ = tuple(run.objective for run in runs)
    warn_unconverged(type(learner).__name__, best.last, "raise max_iterations, or lower the costs")
    if not best.converged:
        warn_convergence(
            f"{type(learner).__name__} still changed by more than `change` after {len(best.rounds)} rounds; "
            "raise max_rounds or change"
        )


@declared
class LatentStructuralSVM(LatentParameters, LinearParameters, Learner):
    """Structural SVM for labels that are known in part; the others are latent.

        minimise  ‖w‖² / 2 + C Σ_i ℓ(max_y [Δ(y, y_i) + w·F(x_i, y)] - max_{y agrees with y_i} w·F(x_i, y))

    (Eq. 2.18 of Chang 2011; Yu and Joachims 2009). Δ counts labels that contradict what is known. The problem is not
    convex; the objective never rises from round to round. `CRF` takes partial labels too, and is quicker.

    Attributes
    ----------
    classes_, weights_, objective_, rounds_, run_objectives_, converged_
    trace_ : tuple of Step
        Steps of the last convex problem.
    """

    C: Annotated[
        float,
        "How much a margin that is missed costs; larger fits the training data more closely.",
        Bounds(0, above=True),
    ] = 0.1

    saved = LATENT

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from sequences X and what is known of their labels y.

        sample_weight : what C is multiplied by for each sequence, at least 0; None: 1 for all.
        """
        X, y, counts = weighed(self, X, y, sample_weight)
        prepared, cost = prepare(self, X, y), self.C * (1.0 if counts is None else counts)
        start = np.zeros(prepared.scorer.size)
        runs = all_runs(self, lambda seed: self._problem(prepared, cost, seed), lambda _: start)
        adopt_lowest(self, prepared, runs)
        return self

    def _problem(self, prepared: Prepared, cost: Floats | float, seed: int) -> LatentProblem:
        structure, known = self.structure_, prepared.known
        batch = MarginInputs(KeepsReady(prepared.scorer), prepared.encoded, BestSearch(structure))

        def complete(w: Floats, number: int) -> Labelled:
            """With the best outputs that agree with what is known; ties are broken at random.

            Without weights all outputs are equally good, and segmentations with fewer segments are preferred.
            """
            fewest = not w.any() and isinstance(prepared.scorer, SegmentScorer)
            scores = known.restrict(fewest_segments(known, prepared.scorer) if fewest else batch.scores(w.view()))
            best = batch.argmax(scores, 0, len(batch), seed + number)
            return Labelled(batch, known, cost, best.outputs)

        return LatentProblem((), (complete,), self.loss, margins_stay=True)
