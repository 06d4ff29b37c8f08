"""E steps of learners that project: the model's distributions over a pool of sequences, as near to rules as these ask.

minimise over q   E_q(-log p_w(y | observed)) - T H(q) + cost of slack      s.t.  A E_q[y] - b <= ξ
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ..errors import numbers_of
from ..inference.few_labels import Occurrences, project_words
from ..inference.norms import Slack
from ..inference.projection import Projection, project
from ..inference.rows import RowSet
from ..kernels.compiling import Floats
from ..records import Record, recorded
from ..running.checkpoints import NOTHING, Carried, all_of
from ..running.forms import Maybe, Number, Several, Such
from ..stored import ArraySpec
from ..structures.protocol import Structure
from . import rounds
from .expected import Expected, Fitting, joined
from .quasi_newton import Curvature


@dataclass(frozen=True)
class Projector:
    """How an E step projects: from scores, a temperature, prices to begin with, and the model's log-partitions.

    carried: what it carries from one projection to the next; prices: how many it returns, None for one for each row.
    """

    project: Callable[[Any, float, Floats, Floats], Projection]
    carried: Carried = NOTHING
    prices: int | None = None

    def __call__(self, scores: Any, temperature: float, prices: Floats, log_partition: Floats) -> Projection:
        """The projection."""
        return self.project(scores, temperature, prices, log_partition)


def onto_rows(rows: RowSet, slack: Slack, tolerance: float, n_jobs: int) -> Projector:
    """Returns the E step under rules as rows."""
    curvature = Curvature()

    def step(scores: Any, temperature: float, prices: Floats, log_partition: Floats) -> Projection:
        return project(
            scores, rows, slack, temperature=temperature, start=prices, curvature=curvature,
            log_partition=log_partition, tolerance=tolerance, n_jobs=n_jobs,
        )  # fmt: skip

    return Projector(step, Carried(curvature.copy, curvature.take, curvature.form))


def onto_few_labels(words: Occurrences, labels: int, tolerance: float, n_jobs: int) -> Projector:
    """Returns the E step under few labels for each word; there are no rows then, and prices begin as none."""

    def step(scores: Any, temperature: float, prices: Floats, log_partition: Floats) -> Projection:
        return project_words(
            scores, words, temperature=temperature, start=prices if len(prices) else None,
            log_partition=log_partition, tolerance=tolerance, n_jobs=n_jobs,
        )  # fmt: skip

    return Projector(step, prices=words.members * labels)


def onto_best(rules: Any, structure: Structure[Any]) -> Projector:
    """Returns the E step that takes the best output under hard rules; there are no rows then."""

    def step(scores: Any, temperature: float, prices: Floats, log_partition: Floats) -> Projection:
        best = rules.best(structure, scores)
        parts = structure.indicator(scores, best.outputs.values[0])
        value = float((log_partition - best.scores[:, 0]).sum())
        nothing = np.empty(0)
        return Projection(parts, nothing, nothing, nothing, value, value, value, 0.0, True, 0.0)

    return Projector(step)


def evenly(rows: RowSet, slack: Slack, tolerance: float, n_jobs: int) -> Projector:
    """Returns the E step that takes the most even distribution under the rules; its primal is -H(q)."""

    def step(scores: Any, temperature: float, prices: Floats, log_partition: Floats) -> Projection:
        flat, nothing = scores.changed(lambda table: np.where(np.isfinite(table), 0.0, -np.inf)), np.zeros(len(scores))
        return project(flat, rows, slack, start=prices, log_partition=nothing, tolerance=tolerance, n_jobs=n_jobs)

    return Projector(step)


@recorded
class ProjectionStep(Record):
    """One round, before its step of the model: the objective, which falls at any one temperature; both sides of the
    projection; the slack of its expectations, added up (of `few_labels`, what is charged); and its work in
    forward-backward passes.
    """

    unit: ClassVar[str] = "step"
    drawn: ClassVar[dict[str, str]] = {"slack": "slack of the rules, in all", "temperature": "temperature"}
    iteration: int
    temperature: float
    objective: float
    primal: float
    dual: float
    slack: float
    passes: float
    of_start: bool = False  # whether there is no model of all words yet, so that the objective is another one

    @property
    def gap(self) -> float:
        """How far the projection may be from the best."""
        return self.primal - self.dual

    def __str__(self) -> str:
        return f"objective {self.objective:.6g}, gap {self.gap:.2g}, slack {self.slack:.4g}"


@dataclass(frozen=True)
class GivenModel:
    """The model's distributions over the outputs of the pool, given what is observed of these.

    log_partition: (sequences,) log Z of the outputs that agree with it; loss: what the likelihood of the pool adds to
    the objective; rest: expected parts to fit beside ω α times those of q, so that each sequence counts its weight;
    model: those of a discriminative model whatever is observed, each with the weight of its sequence.
    """

    log_partition: Floats
    loss: float
    rest: Any
    model: Any

    @classmethod
    def of(cls, structure: Structure[Any], scores: Any, restricted: Any, fitting: Fitting) -> "GivenModel":
        """Those of the pool's scores; restricted: the same with -inf on what is observed not to be."""
        groups = fitting.weights.groups(len(scores))
        given = []
        for first, last, _ in groups:
            with numbers_of(range(first, last)):
                given.append(structure.marginals(restricted.sequences(first, last)))
        free, weights = given, [weight for *_, weight in groups]
        if not fitting.generative and fitting.weights.partial:
            free = [structure.marginals(scores.sequences(*groups[0][:2])), *given[1:]]
        loss = -sum(w * float(one.log_partition.sum()) for w, one in zip(weights, given, strict=True))
        if not fitting.generative:
            loss += sum(w * float(one.log_partition.sum()) for w, one in zip(weights, free, strict=True))
        return cls(
            np.concatenate([one.log_partition for one in given]),
            loss,
            joined([one.parts for one in given], [w - fitting.weights.rules for w in weights]),
            joined([one.parts for one in free], weights),
        )


def carried_prices(one: Any) -> Carried:
    """How checkpoints keep the dual variables that the next projection starts from; one: has `prices`, `projector`."""
    sizes = (len(one.prices), one.projector.prices)

    def form() -> Such:
        return Such(ArraySpec(np.float64, ("prices",), infinite=True), lambda prices: len(prices) in sizes)

    return Carried(lambda: one.prices, lambda prices: setattr(one, "prices", prices), form)


@dataclass
class Pool:
    """The sequences without full labels between E steps, each of which begins with the prices of the last.

    known: what is observed of the outputs, None if nothing is; found: the projection; given: what it projects.
    """

    structure: Structure[Any]
    projector: Projector
    known: Any
    prices: Floats
    found: Projection = field(init=False)
    given: GivenModel = field(init=False)

    @property
    def carried(self) -> Carried:
        """What the next projection begins with."""
        return all_of([carried_prices(self), self.projector.carried])

    def restrict(self, scores: Any) -> Any:
        """Returns scores with -inf on what is observed not to be."""
        return scores if self.known is None else self.known.restrict(scores)

    def project(self, scores: Any, temperature: float, fitting: Fitting) -> Projection:
        """The E step."""
        restricted = self.restrict(scores)
        self.given = GivenModel.of(self.structure, scores, restricted, fitting)
        self.found = self.projector(restricted, temperature, self.prices, self.given.log_partition)
        self.prices = self.found.prices
        return self.found

    def expect(self, fitting: Fitting, temperature: float) -> Expected:
        """The E step, as M steps take it."""
        scores = fitting.scores()
        found = self.project(scores, temperature, fitting)
        log_z = float(self.given.log_partition.sum())
        # Not the primal: at given prices the gradient that is followed is that of the dual, and exact. Where slack is
        # dear and the projection rough, the primal is much further from the optimum.
        divergence = found.dual if temperature < np.inf else log_z - scores.dot(found.parts)
        cost = self.given.loss + fitting.weights.rules * divergence
        return Expected(targets(fitting, found.parts, lambda: self.given), self.given.model, cost)

    def step(self, iteration: int, temperature: float, fitting: Fitting) -> ProjectionStep:
        """Returns where a round stands, before its step of the model; at T = inf the objective is -H(q)."""
        found = self.found
        objective = fitting.loss() + self.given.loss + fitting.weights.rules * found.primal
        objective = objective if temperature < np.inf else found.primal
        slack = float(np.abs(found.excess).sum())
        apart = not fitting.comparable
        return ProjectionStep(iteration, temperature, objective, found.primal, found.dual, slack, found.passes, apart)


def targets(fitting: Fitting, projected: Any, given: Callable[[], GivenModel]) -> Any:
    """Returns expected parts to fit: those of q, and of the model where its likelihood counts more than q (Eq. 62)."""
    weights = fitting.weights
    if all(weight == weights.rules for *_, weight in weights.groups(len(projected))):
        return joined([projected], [weights.rules])
    return joined([projected], [weights.rules]) + given().rest


@dataclass
class Batches:
    """Batches of the pool, the projection of each, and its entropy and slack: what of F(q, w) does not change with w
    (Neal and Hinton 1998).
    """

    structure: Structure[Any]
    ranges: list[tuple[int, int]]
    rows: list[RowSet]
    options: dict[str, Any]
    found: list[Projection | None]
    rest: list[float]

    @classmethod
    def cut(
        cls, structure: Structure[Any], rows: RowSet, count: int, slack: Slack, tolerance: float, n_jobs: int
    ) -> "Batches":
        """Ranges of about equally many sequences."""
        edges = np.linspace(0, rows.sequences, count + 1).astype(int).tolist()
        ranges = list(pairwise(edges))
        some = [rows.sequence_range(*one) for one in ranges]
        options = {"slack": slack, "tolerance": tolerance, "n_jobs": n_jobs}
        return cls(structure, ranges, some, options, [None] * count, [0.0] * count)

    def project(self, number: int, batch: Any, known: Any) -> None:
        """The E step of one batch, with the scores of its sequences; known: what is observed of all."""
        (first, last), before = self.ranges[number], self.found[number]
        restricted = batch if known is None else known.inputs(first, last).restrict(batch)
        log_z = self.structure.marginals(restricted).log_partition
        start = None if before is None else before.prices
        with numbers_of(range(first, last)):
            now = project(restricted, self.rows[number], log_partition=log_z, start=start, **self.options)
        self.found[number], self.rest[number] = now, now.primal - float(log_z.sum()) + batch.dot(now.parts)

    def parts(self) -> Any:
        """Expected parts of the whole pool."""
        return joined([one.parts for one in self.found if one is not None])

    def alternate(
        self, fitting: Fitting, pool: Pool, iterations: int, title: str, *, verbose: bool
    ) -> tuple[ProjectionStep, ...]:
        """Project and fit batch by batch, and return where each round over all of them ends."""
        count = len(self.ranges)

        def given() -> GivenModel:
            scores = fitting.scores()
            return GivenModel.of(self.structure, scores, pool.restrict(scores), fitting)

        def expect(place: tuple[int, int]) -> tuple[int, int]:
            self.project(place[1], fitting.scores(*self.ranges[place[1]]), pool.known)
            return place

        def fit(place: tuple[int, int]) -> None:
            if place[0] > 1 or place[1] == count - 1:  # every batch has its distribution
                fitting.update(targets(fitting, self.parts(), given))
            if place[1] == count - 1:
                trace.append(self.step(place[0], fitting, given()))

        def save() -> tuple[Any, ...]:
            return list(self.found), list(self.rest), tuple(trace)

        def load(saved: tuple[Any, ...]) -> None:
            self.found, self.rest, trace[:] = list(saved[0]), list(saved[1]), saved[2]

        def form() -> tuple[Any, ...]:
            some = [
                Maybe(Projection.form(fitting.scores(*one), len(rows)))
                for one, rows in zip(self.ranges, self.rows, strict=True)
            ]
            return some, Several(Number(), count), Several(ProjectionStep)

        trace: list[ProjectionStep] = []
        schedule = [(iteration, number) for iteration in range(1, iterations + 1) for number in range(count)]
        rounds.alternate(
            schedule, expect, rounds.InTurn(fit), lambda number, place, _: f"round {place[0]}, batch {place[1] + 1}",
            title=title, verbose=verbose, carried=all_of([Carried(save, load, form), fitting.carried]),
            form=lambda: (Number(1, iterations, whole=True), Number(0, count - 1, whole=True)),
        )  # fmt: skip
        return tuple(trace)

    def step(self, iteration: int, fitting: Fitting, given: GivenModel) -> ProjectionStep:
        """Returns where a round ends: the objective at the distributions as they are, none newer than its batch."""
        scores = fitting.scores()
        primal = float(given.log_partition.sum()) - scores.dot(self.parts()) + sum(self.rest)
        objective = fitting.loss() + given.loss + fitting.weights.rules * primal
        found = [one for one in self.found if one is not None]
        slack = sum(float(np.abs(one.excess).sum()) for one in found)
        dual = primal - sum(one.gap for one in found)
        passes = sum(one.passes * len(one.parts) for one in found) / len(scores)
        return ProjectionStep(iteration, 1.0, objective, primal, dual, slack, passes)
