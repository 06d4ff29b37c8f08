"""Alternating projections: what posterior regularization, unified EM and deterministic annealing share.

    minimise over w, q   -log p_w(labelled) - log prior(w) + ω [ Σ_U E_q(-log p_w) - T H(q) + cost of slack ]
                         s.t.  A E_q[y] - b <= ξ   on the unlabelled sequences U

q is the projection of the model at temperature T (`inference.projection`), w is fitted to q's expected parts
(`learners.expected`). With a generative base, p_w is the joint p(x, y); with a discriminative one p(y|x). Neither step
raises the objective at a given T (Propositions 2.1 to 2.3 of Ganchev et al. 2010, Theorem 2 of Chang 2011).
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import DataError, NotSupported
from ..features.encoded import Encoded, State
from ..inference.occurrences import Occurrences, project_words
from ..inference.projection import NormName, Projection, Slack, project, shifted
from ..inference.rows import Rows
from ..kernels.compiling import Flags, Floats
from ..progress import progress
from ..rules.automata import about_the_corpus
from ..rules.language import FewLabels, Rule
from ..rules.rows import require_expected
from ..structures.chain import ChainParts
from ..supervision import Signal, encode_targets, kind_of
from .base import Explanation, SequenceLearner, require_number
from .expected import Fitting, begin
from .mixture import all_labels, check_input, numbers_of

# Scores, temperature, prices to begin with, and the model's log-partitions.
Projector = Callable[[ChainParts, float, Floats, Floats], Projection]


@dataclass(frozen=True)
class ProjectionStep:
    """One round, before the model is updated: the objective, which falls at any one temperature; both sides of the
    projection; the slack of its expectations, added up; and its work in forward-backward passes.
    """

    iteration: int
    temperature: float
    objective: float
    primal: float
    dual: float
    violation: float
    passes: float

    @property
    def gap(self) -> float:
        """How far the projection may be from the best."""
        return self.primal - self.dual

    def __str__(self) -> str:
        return f"objective {self.objective:.6g}, gap {self.gap:.2g}, violation {self.violation:.4g}"


class ProjectingLearner(SequenceLearner):
    """Base of the learners that alternate between projecting and fitting.

    A subclass gives the temperature of every round and may change how it projects.
    """

    base: Any
    rules: Sequence[Rule]
    norm: NormName
    penalty: float | None
    bound: float | None
    unlabeled_weight: float | None
    iterations: int
    steps: int
    decode: Literal["model", "projected"]
    tolerance: float
    classes: Sequence[str] | None
    random_state: int
    verbose: bool
    base_: Any
    prices_: Floats
    units_: list[float]
    temperature_: float
    trace_: tuple[ProjectionStep, ...]

    def _temperatures(self) -> list[float]:
        """The temperature of every round."""
        raise NotImplementedError

    def _strength(self) -> float:
        """α: how much the divergence counts (Appendix A of Ganchev et al. 2010)."""
        return 1.0

    def _spread(self) -> float | None:
        """How random the first model is where nothing is labelled; None: random scores of every token."""
        return None

    def _warm_up(self) -> int:
        """How many rounds come before the rules count."""
        return 0

    def _slack(self) -> Slack:
        slack = Slack(self.norm, self.penalty, self.bound)
        slack.check()
        return slack

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from labelled sequences and, where y is partial or None, from rules and unlabelled ones."""
        self._check()
        check_input(self, X, y)
        known = [i for i, one in enumerate(y) if kind_of(one) is Signal.FULL]
        rest = [i for i, one in enumerate(y) if kind_of(one) is not Signal.FULL]
        classes = all_labels(self, y)
        pool = [X[i] for i in rest]
        weight = self.unlabeled_weight
        if weight is None:
            weight = len(known) / len(rest) if known and rest else 1.0
        fitting = begin(
            self.base, [X[i] for i in known], [y[i] for i in known], pool, classes,
            weight=weight * self._strength(), steps=self.steps, seed=self.random_state, n_jobs=self.n_jobs,
            spread=self._spread(),
        )  # fmt: skip
        temperatures = self._temperatures()
        if not pool:
            return self._take(fitting, classes, np.empty(0), [], temperatures[-1], ())
        targets = encode_targets([y[i] for i in rest], [len(x) for x in pool], classes)
        partial = any(kind is Signal.PARTIAL for kind in targets.kinds)
        rows, projector = self._projector(pool, classes)
        rounds = temperatures if self.iterations else []
        allowed = targets.allowed if partial else None
        with numbers_of(rest):
            found, trace = self._rounds(fitting, rows, projector, allowed, weight, rounds, temperatures[-1])
        prices = found.prices[: rows.joint]
        return self._take(fitting, classes, prices, rows.units, temperatures[-1], tuple(trace))

    def _take(
        self, fitting: Fitting, classes: list[str], prices: Floats, units: list[float], temperature: float, trace: Any
    ) -> Any:
        if fitting.learner is None:
            raise DataError("without labelled sequences there is nothing to learn in 0 iterations")
        self.base_, self.classes_, self.trace_ = fitting.learner, classes, trace
        self.prices_, self.units_, self.temperature_ = prices, units, temperature
        return self

    def _check(self) -> None:
        self._slack()
        require_number(self, "iterations", 0, whole=True)
        require_number(self, "steps", 1, whole=True)
        require_number(self, "tolerance", 0, open_end=True)
        if self.unlabeled_weight is not None:
            require_number(self, "unlabeled_weight", 0)
        if self.decode not in ("model", "projected"):
            raise DataError(f"decode is 'model' or 'projected', got {self.decode!r}")

    def _few_labels(self) -> list[FewLabels]:
        """The rules that each word has few labels; they have their own projection, and stand alone."""
        rules = list(self.rules or ())
        few = [rule for rule in rules if isinstance(rule, FewLabels)]
        if not few:
            return []
        for rule in rules:
            require_expected(rule)
        other = next((rule for rule in rules if not isinstance(rule, FewLabels)), None)
        if other is not None:
            raise NotSupported(f"{few[0].title!r} is projected onto alone, without other rules such as {other.title!r}")
        if self.penalty is None:
            raise DataError(f"{few[0].title!r} is charged for and has no bound: give a penalty")
        return few

    def _words(self, X: Sequence[Any]) -> Occurrences:
        """The words that are to have few labels, with what each of these costs."""
        return Occurrences.compile(self._few_labels(), X, float(self.penalty or 0.0))

    def _projector(self, pool: Sequence[Any], classes: Sequence[str]) -> tuple[Rows, Projector]:
        """The rules on the pool, and the E step under them."""
        if self._few_labels():
            return Rows.compile([], pool, classes), self._word_projector(self._words(pool))
        rows, slack = Rows.compile(list(self.rules or ()), pool, classes), self._slack()

        def step(scores: ChainParts, temperature: float, prices: Floats, log_partition: Floats) -> Projection:
            return project(
                scores, rows, slack, temperature=temperature, start=prices, log_partition=log_partition,
                tolerance=self.tolerance, n_jobs=self.n_jobs,
            )  # fmt: skip

        return rows, step

    def _word_projector(self, words: Occurrences) -> Projector:
        """The E step under few labels for each word; there are no rows then, and prices begin as none."""

        def step(scores: ChainParts, temperature: float, prices: Floats, log_partition: Floats) -> Projection:
            return project_words(
                scores, words, temperature=temperature, start=prices if len(prices) else None,
                log_partition=log_partition, tolerance=self.tolerance, n_jobs=self.n_jobs,
            )  # fmt: skip

        return step

    def _rounds(
        self,
        fitting: Fitting,
        rows: Rows,
        projector: Projector,
        allowed: Flags | None,
        weight: float,
        temperatures: list[float],
        last: float,
    ) -> tuple[Projection, list[ProjectionStep]]:
        """Project and fit in turn, then project the last model at `last`: that projection, and all steps."""
        trace: list[ProjectionStep] = []
        prices, nothing = np.zeros(len(rows)), Rows.of((), rows.offsets, rows.labels)
        with progress(type(self).__name__, len(temperatures), self.verbose) as tell:
            for iteration, temperature in enumerate([*temperatures, last], start=1):
                scores = fitting.scores()
                model = self._structure.marginals(scores)
                restricted = scores if allowed is None else scores.restrict(allowed)
                if iteration <= min(self._warm_up(), len(temperatures)):
                    found = project(restricted, nothing, log_partition=model.log_partition, n_jobs=self.n_jobs)
                else:
                    found = projector(restricted, temperature, prices, model.log_partition)
                    prices = found.prices
                step = self._step(iteration, temperature, fitting, found, model.log_partition, weight)
                trace.append(step)
                tell(min(iteration, len(temperatures)), str(step))
                if iteration > len(temperatures):
                    break
                fitting.update(self._targets(fitting, model.parts, found.parts))
        return found, trace

    def _targets(self, fitting: Fitting, model: ChainParts, projected: ChainParts) -> ChainParts:
        """Expected parts to fit: with α < 1 a generative model keeps a share of its own (Eq. 62)."""
        strength = self._strength()
        if not fitting.generative or strength == 1.0:
            return projected
        share = (1 - strength) / strength  # the weight of the pool is α times that of its sequences
        return replace(
            projected,
            unary=projected.unary + share * model.unary,
            pair=projected.pair + share * model.pair,
            start=projected.start + share * model.start,
            end=projected.end + share * model.end,
        )

    def _step(
        self, iteration: int, temperature: float, fitting: Fitting, found: Projection, log_z: Floats, weight: float
    ) -> ProjectionStep:
        objective = fitting.loss() + weight * self._strength() * found.primal
        objective -= weight * float(log_z.sum()) if fitting.generative else 0.0
        violation = float(np.abs(found.excess).sum())
        return ProjectionStep(iteration, temperature, objective, found.primal, found.dual, violation, found.passes)

    # Prediction ------------------------------------------------------------------------------------------------------

    def scores(self, X: Any) -> ChainParts:
        """The model's scores, or with decode="projected" those of its projection onto the rules.

        Prices of rules about the corpus are those of training; those about single sequences are found for X (Eq. 30
        of Dhillon et al. 2012), and so are those of words that are to have few labels, over all of X.
        """
        check_is_fitted(self, "classes_")
        scores: ChainParts = self.base_.scores(X)
        if self.decode == "model" or not self.rules or len(scores) == 0:
            return scores
        if isinstance(X, Encoded):
            raise NotSupported("rules read tokens, not encoded input; give the sequences, or set decode='model'")
        if self._few_labels():
            words = self._words(X)
            found = self._word_projector(words)(
                scores, self.temperature_, np.empty(0), self._structure.marginals(scores).log_partition
            )
            return words.shift(scores, found.prices).divide(self.temperature_)
        return self._projected_scores(scores, self._rows(X))

    def _rows(self, X: Any) -> Rows:
        rules = list(self.rules)
        if len(self.units_):
            return Rows.compile(rules, X, self.classes_, self.units_)
        return Rows.compile([r for r in rules if not about_the_corpus(r)], X, self.classes_)

    def _projected_scores(self, scores: ChainParts, rows: Rows) -> ChainParts:
        start = np.zeros(len(rows))
        start[: rows.joint] = self.prices_
        found = project(
            scores, rows, self._slack(), temperature=self.temperature_, start=start, fixed=True,
            tolerance=self.tolerance, n_jobs=self.n_jobs,
        )  # fmt: skip
        return shifted(scores, rows, found.prices).divide(self.temperature_)

    def encode(self, X: Any) -> Encoded:
        """X as flat arrays for the model."""
        check_is_fitted(self, "classes_")
        encoded: Encoded = self.base_.encode(X)
        return encoded

    def explain(self, x: Any, position: int, *, top: int = 10) -> Explanation:
        """What speaks for a label in the model."""
        check_is_fitted(self, "classes_")
        if self.decode == "projected":
            raise NotSupported("a projection has no explanation; ask the model, base_.explain(...)")
        explanation: Explanation = self.base_.explain(x, position, top=top)
        return explanation

    def _models(self) -> dict[str, Any]:
        return {"base_": getattr(self, "base_", None)}

    def _state(self) -> State:
        values = {
            "units": list(self.units_),
            "temperature": self.temperature_,
            "trace": [astuple(s) for s in self.trace_],
        }
        return values, {"prices": self.prices_}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.units_, self.temperature_, self.prices_ = values["units"], values["temperature"], arrays["prices"]
        self.trace_ = tuple(ProjectionStep(*step) for step in values["trace"])
