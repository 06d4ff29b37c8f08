"""Penalised log-likelihood by averaged stochastic gradient steps (Table 2.2 of Chang 2011).

    minimise  P(w) = Σ_i f_i(w) + l2 ‖w‖²

Visit t sees one of the n inputs and moves w by -η_t [n ∇f_i(w) + 2 l2 w], with η_t = η_0 / (1 + 2 l2 η_0 t): the step
size begins at η_0 and nears 1 / (2 l2 t), with which strongly convex functions converge. η_0 is m / n times the power
of two, at most 1 / (2 l2), with which a pass over a sample of m inputs alone ends lowest (Bottou 2012). What is kept is
the mean of w weighted by t, whose objective nears the optimum at the rate 1 / t (Lacoste-Julien et al. 2012).

After each pass the objective, its gradient and with these the duality gap are worked out at the mean, so the solver
stops by the certificate that L-BFGS has.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..kernels.compiling import Floats, Longs
from ..running.checkpoints import step
from ..running.forms import Number
from ..stored import finite
from .certificate import Solution, Step, duality_gap, penalty, reached, residual, steps_form
from .losses import LogLoss

# How many inputs are the sample on which the first step size is chosen, and the exponents that are tried.
_SAMPLE, _EXPONENTS = 100, range(-16, 5)


def minimize(
    loss: LogLoss[Any],
    start: Floats,
    *,
    l2: float,
    tolerance: float,
    max_iterations: int,
    seed: int,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Solution:
    """Passes over the inputs in random order until `certificate.reached` holds; l2 must be above zero."""
    with step("sgd") as saved:
        if saved.done:
            solution: Solution = saved.found(Solution.form(len(start)))
            return solution
        w = finite(len(start))
        made = w, w, Number(l2, l2), Number(0.0), Number(0, whole=True)
        before = saved.state(lambda: (np.random.Generator, steps_form(), made))
        if before is None:
            rng, steps = np.random.default_rng(seed), list[Step]()
            way = _AveragedSteps(loss, start, start, l2, _first_rate(loss, start, l2, rng))
        else:
            rng, steps = before[0], list(before[1])
            way = _AveragedSteps(loss, *before[2])
        for iteration in range(len(steps) + 1, max_iterations + 1):
            way.visit(rng.permutation(len(loss.encoded)))
            value, gradient = loss(way.mean)
            objective = value + penalty(way.mean, 0.0, l2)
            dual = objective - duality_gap(way.mean, gradient, 0.0, l2) if loss.known.full else float("nan")
            steps.append(Step(iteration, objective, dual, residual(way.mean, gradient, 0.0, l2)))
            on_step(steps[-1])
            if reached(steps, tolerance) or saved.save((rng, steps, way.state())):
                break
        return saved.finish(Solution(way.mean, tuple(steps), reached(steps, tolerance)))


class _AveragedSteps:
    """Where the steps stand: the weights, their mean, and the number of visits."""

    def __init__(
        self, loss: LogLoss[Any], weights: Floats, mean: Floats, l2: float, rate: float, visits: int = 0
    ) -> None:
        self.loss, self.l2, self.rate, self.visits = loss, l2, rate, visits
        self.weights, self.mean = weights.copy(), mean.copy()
        self.single: Any = replace(loss.structure, n_jobs=1)  # type: ignore[type-var]

    def state(self) -> tuple[Any, ...]:
        """Returns what the constructor takes beside the loss."""
        return self.weights, self.mean, self.l2, self.rate, self.visits

    def visit(self, order: Longs) -> None:
        """A step for each of these inputs."""
        for i in order.tolist():
            gradient = _some(replace(self.loss, structure=self.single), i, i + 1)(self.weights)[1]
            step = self.rate / (1 + 2 * self.l2 * self.rate * self.visits)
            self.weights *= 1 - 2 * self.l2 * step
            self.weights -= step * len(self.loss.encoded) * gradient
            self.visits += 1
            self.mean += 2 / (self.visits + 1) * (self.weights - self.mean)


def _first_rate(loss: LogLoss[Any], start: Floats, l2: float, rng: np.random.Generator) -> float:
    """The first step size with which a pass over some inputs lowers their objective most."""
    count, lowest, best = len(loss.encoded), np.inf, 0.0
    first = int(rng.integers(max(count - _SAMPLE, 0) + 1))
    sample = _some(loss, first, min(first + _SAMPLE, count))
    order = rng.permutation(len(sample.encoded))
    for exponent in _EXPONENTS:
        # Longer steps would turn the signs of the weights.
        way = _AveragedSteps(sample, start, start, l2, min(2.0**exponent, 0.5 / l2))
        way.visit(order)
        objective = sample(way.mean)[0] + penalty(way.mean, 0.0, l2)
        if objective < lowest:
            lowest, best = objective, way.rate * len(order) / count
    return best


def _some(loss: LogLoss[Any], first: int, last: int) -> LogLoss[Any]:
    """The loss of inputs first to last - 1."""
    counts = None if loss.counts is None else loss.counts[first:last]
    return replace(
        loss, encoded=loss.encoded.sequences(first, last), known=loss.known.inputs(first, last), counts=counts
    )
