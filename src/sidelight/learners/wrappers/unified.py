"""Unified EM: one family from hard to soft EM, with and without rules (chapter 4 of Chang 2011)."""

from collections.abc import Sequence
from typing import Annotated, Any, cast

import numpy as np

from ...declared import Bounds, declared
from ...errors import DataError, NotSupported
from ...inference.linear_program import relax, require_linear
from ...inference.norms import Slack
from ...inference.projection import Projection
from ...inference.readings import LabelledData, Readings, RuleReading
from ...inference.rows import Rows, RowSet
from ...kernels.compiling import Floats
from ...solvers.annealing import geometric, last_temperature, require_temperature
from ...solvers.projections import Projector, evenly, onto_best
from .posterior import ProjectingLearner


@declared
class UnifiedEM(ProjectingLearner):
    """EM whose E step weighs the entropy of q by γ.

        maximise  L(w) - min over q of [ H(q, p_w) - γ H(q) + cost of slack ]      (Eq. 4.3 and 4.4)

    γ = 1 is EM, with rules posterior regularization; γ = 0 a linear program, without rules hard EM; γ = -inf hard EM
    with hard rules (constraint-driven learning without penalties); above 1 tempered EM, and at inf q is as even as the
    rules allow. Below 0 the E step is not convex, so with rules only -inf is offered. At γ = -inf and inf, where a
    penalty has no meaning, "learned" allows no slack.

    The better the model to begin with, the lower γ may be (Figure 4.1). To begin with a model, use
    fit(X, y, initial=model); with even distributions, that of UnifiedEM(base, gamma=inf, iterations=1), its base_.

    Attributes
    ----------
    classes_, start_, rules_used_, prices_, units_, guard_
    base_ : learner
        The model.
    trace_ : tuple of ProjectionStep
        The rounds, and the final model; at γ = inf, the objective is that over γ: -H(q).
    """

    gamma: Annotated[float, "γ, the weight of the entropy."] = 1.0
    start: Annotated[
        float | None,
        "Begin with γ = start and multiply by `rate` in each round until `gamma` is reached (deterministic annealing "
        "EM); None begins with `gamma`.",
    ] = None
    rate: Annotated[float, "What γ is multiplied by in each round.", Bounds(0, 1, above=True)] = 0.9

    def rule_readings(self) -> list[RuleReading]:
        """How each of the rules is used."""
        if self.gamma > -np.inf:
            return super().rule_readings()
        return [RuleReading("hard", None, False) for _ in self.rules or ()]

    def check_parameters(self) -> None:
        """Raise for parameters that make no sense."""
        super().check_parameters()
        if 0 < self.gamma < np.inf:
            require_temperature(self.gamma)
        if self.gamma in (0, np.inf) and self._few_labels():
            raise NotSupported("few_labels needs a gamma above 0 and below infinity")
        if -np.inf < self.gamma < 0 and self.rules:
            raise NotSupported(
                f"with rules, gamma is at least 0 or -inf, got {self.gamma!r}: between, there is no exact E step"
            )
        if self.decode == "projected" and not 0 < self.gamma < np.inf:
            raise NotSupported("decode='projected' needs a gamma above 0 and below inf; use decode='model'")
        if self.gamma == -np.inf and self.rules and self.slack() != Slack(self.norm):
            raise NotSupported(
                "at gamma = -inf rules are hard: leave out penalty and bound, or use CoDL for soft rules"
            )
        if self.gamma == np.inf and self.rules and self.slack().penalty is not None:
            raise NotSupported(
                "at gamma = inf a penalty is nothing beside the entropy: leave it out, or give a bound or another gamma"
            )
        if self.gamma == 0 and not self.task_.chained:
            raise NotSupported("gamma = 0 needs label chains; use a gamma above 0, or CRF or HMM as base")
        if self.gamma == 0 and self.rules:
            require_linear(self.slack())
        if self.start is not None:
            if self.gamma < 0:
                raise NotSupported(f"start needs a gamma of at least 0, got {self.gamma!r}: below, every round is hard")
            if self.gamma == 0:
                raise NotSupported("start needs a gamma above 0: cooling never arrives at 0")
            last_temperature(self.start, self.rate, 1)
            if not self.start > self.gamma:
                raise DataError(f"start must be above gamma, got {self.start!r} and {self.gamma!r}")
            last = max(last_temperature(self.start, self.rate, max(self.iterations, 1)), float(self.gamma))
            if last > self.gamma:
                raise DataError(
                    f"after {self.iterations} rounds gamma would still be {last:.3g}, not {self.gamma!r}: take more "
                    "iterations or a smaller rate"
                )

    def _temperatures(self) -> list[float]:
        rounds = max(self.iterations, 1)
        if self.start is None:
            return [float(self.gamma)] * rounds
        return [max(T, float(self.gamma)) for T in geometric(self.start, self.rate, rounds)]

    def slack(self) -> Slack:
        """None at γ = ±inf, where no penalty has a meaning and "learned" asks for none."""
        if self.penalty == "learned" and self.bound is None and np.isinf(self.gamma):
            return Slack(self.norm)
        return super().slack()

    def _read(self, X: Sequence[Any], y: Sequence[Any], classes: list[str]) -> Readings:
        if self.gamma > -np.inf:
            return super()._read(X, y, classes)
        rules = list(self.rules or ())  # hard, so there is nothing to weigh, and nothing about the corpus
        for rule in rules:
            if rule.reading is not None and rule.reading.kind != "hard":
                raise NotSupported(
                    f"at gamma = -inf rules are hard, and {rule.title!r} is read as {rule.reading.kind}; write it with "
                    ".hard(), or use CoDL for soft rules"
                )
        known = LabelledData(self.task_, X, y, None, classes)
        return Readings.of(rules, known, penalty=None, shares=False, decoding=self.decode == "rules", hard=True)

    def _projector(self, read: Readings, pool: Sequence[Any], classes: Sequence[str]) -> tuple[RowSet, Projector]:
        slack, hard = self.slack(), [rule.hard() for rule in self.rules or ()]
        if self.gamma < 0:
            rules = self.task_.compiled(hard, pool, classes).weigh(np.full(len(hard), np.inf))
            return self.task_.rows([], pool, classes), onto_best(rules, self.structure_)
        rows, usual = super()._projector(read, pool, classes)
        even = evenly(rows, slack, self.tolerance, self.n_jobs)

        def step(scores: Any, temperature: float, prices: Floats, log_partition: Floats) -> Projection:
            if temperature == 0:
                return relax(scores, cast(Rows, rows), slack, log_partition=log_partition, n_jobs=self.n_jobs)
            return (even if temperature == np.inf else usual)(scores, temperature, prices, log_partition)

        return rows, Projector(step, usual.carried)
