"""Deterministic annealing for structured outputs (Dhillon et al. 2012)."""

from typing import Annotated, Literal

from ...declared import Bounds, declared
from ...errors import DataError
from ...solvers.annealing import geometric, last_temperature
from .posterior import ProjectingLearner


@declared
class DeterministicAnnealing(ProjectingLearner):
    """Learning from rules while the entropy of the unlabelled sequences' outputs is lowered step by step.

        minimise  R(w) + mean_L loss + mean_U E_q loss - T mean_U H(q) + cost of slack      (Eq. 13, 16)

    at temperatures T = start, start * rate, ..., each for `iterations` rounds. At T = 1 alone it is
    `PosteriorRegularization`. The paper has norm="squared" and a number as penalty, 1 / ε of Eq. 16; decode="projected"
    predicts by its Eq. 30, "model" by Eq. 1. For transductive prediction give the sequences to `fit`, with None for
    their labels.

    Attributes
    ----------
    classes_, start_, rules_used_, prices_, units_, guard_
    base_ : learner
        The model.
    temperature_ : float
        The last temperature.
    trace_ : tuple of ProjectionStep
        The rounds, and the final model.
    """

    start: Annotated[
        float,
        "The first temperature. Above 1 the unlabelled sequences pull the model towards even distributions, and few "
        "labelled ones may not hold it: the schedule of the paper, 2.0, 0.9 and 11, needs a base with a strong prior, "
        "such as CRF(l2=2).",
    ] = 1.0
    rate: Annotated[float, "What the temperature is multiplied by.", Bounds(0, 1, above=True)] = 0.8
    temperatures: Annotated[int, "How many temperatures there are.", Bounds(1)] = 4
    begin: Annotated[
        Literal["labelled", "nothing"],
        'The first model: "labelled", the base fitted to the labelled sequences, or "nothing", even '
        "distributions (of an HMM, chance). The result hardly depends on it where temperatures are high; where "
        'they are low, "nothing" can be much worse.',
    ] = "labelled"
    iterations: Annotated[int, "Rounds at each temperature.", Bounds(0)] = 5

    def check_parameters(self) -> None:
        """Raise for parameters that make no sense."""
        super().check_parameters()
        if self.begin == "nothing" and not self.iterations:
            raise DataError("begin='nothing' learns nothing in 0 iterations; give some, or begin='labelled'")
        last_temperature(self.start, self.rate, self.temperatures)

    def _labelled_first(self) -> bool:
        return self.begin == "labelled"

    def _temperatures(self) -> list[float]:
        schedule = geometric(self.start, self.rate, self.temperatures)
        return [T for T in schedule for _ in range(max(self.iterations, 1))]
