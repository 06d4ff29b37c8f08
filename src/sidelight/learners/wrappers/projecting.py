"""Alternating projections: what posterior regularization, unified EM and deterministic annealing share.

    minimise over w, q   -log prior(w) - Σ_L log p_w(labels) - c Σ_P log p_w(partial labels) - ω Σ_U log p_w(x)
                         + ω α [ Σ_{P, U} E_q(-log p_w(y | observed)) - T H(q) + cost of slack ]
                         s.t.  A E_q[y] - b <= ξ   on P and U, the pool

L are the sequences with full labels, P those with partial ones, U those without; ω is `unlabeled_weight`. α, the
strength, weighs only the divergence of q from the model (Eq. 60 of Ganchev et al. 2010), which is given all that is
observed: log p_w(partial labels), summed over the outputs that agree with them, counts in full, c = 1 (or ω where that
is more, see `Weights`). At T = 1 without rules q is the model, the divergence is 0 and α does not matter. With a
generative base p_w is the joint p(x, y); with a discriminative one p(y|x), and the term of U is 0.

q is the projection of the model at temperature T (`inference.projection`), w is fitted to expected parts, ω α times
those of q and the rest of what a sequence counts by the model (Eq. 62; `wrappers.m_steps`): a round is a projection
and a step of w. No step raises the objective at a given T (Proposition 2.3 of Ganchev et al. 2010, Theorem 2 of Chang
2011) by more than the gap of the projection, once the model knows the words of the pool: the first model of a
generative base does not, and neither do words that it counts as rare.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, get_args

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ...errors import DataError, NotSupported, warn
from ...features.encoded import Encoded, State
from ...inference.norms import NormName, Slack
from ...inference.occurrences import Occurrences, project_words
from ...inference.projection import Projection, project, shifted
from ...inference.rows import Rows
from ...kernels.compiling import Flags, Floats
from ...labels import encode_labels
from ...progress import progress
from ...rules.few_labels import FewLabels
from ...rules.language import Rule
from ...rules.rows import require_expected
from ...solvers.quasi_newton import Curvature
from ...structures.chain import ChainParts
from ...structures.protocol import Structure
from ...supervision import Signal, kind_of
from ..choosing.guard import guarded
from ..learner import Explanation, require_number
from .expectations import Decode, ExpectationLearner, Readings
from .m_steps import Expected, Fitting, Weights, begin, is_generative, joined
from .wrapper import all_labels, check_input, fit_on, listed_rules, named_labels, numbers_of

# Scores, temperature, prices to begin with, and the model's log-partitions.
Projector = Callable[[ChainParts, float, Floats, Floats], Projection]


@dataclass(frozen=True)
class ProjectionStep:
    """One round, before its step of the model: the objective, which falls at any one temperature; both sides of the
    projection; the slack of its expectations, added up (of `few_labels`, what is charged); and its work in
    forward-backward passes.
    """

    iteration: int
    temperature: float
    objective: float
    primal: float
    dual: float
    slack: float
    passes: float

    @property
    def gap(self) -> float:
        """How far the projection may be from the best."""
        return self.primal - self.dual

    def __str__(self) -> str:
        return f"objective {self.objective:.6g}, gap {self.gap:.2g}, slack {self.slack:.4g}"


@dataclass(frozen=True)
class Given:
    """The model's distributions over the outputs of the pool, given what is observed of these.

    log_partition: (sequences,) log Z of the outputs that agree with it; loss: what the likelihood of the pool adds to
    the objective; rest: expected parts to fit beside ω α times those of q, so that each sequence counts its weight;
    model: those of a discriminative model whatever is observed, each with the weight of its sequence.
    """

    log_partition: Floats
    loss: float
    rest: ChainParts
    model: ChainParts

    @classmethod
    def of(
        cls, structure: Structure[ChainParts], scores: ChainParts, restricted: ChainParts, fitting: Fitting
    ) -> "Given":
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


@dataclass
class _Pool:
    """The sequences without full labels between E steps, each of which begins with the prices of the last.

    found: the projection; given: what it projects.
    """

    structure: Structure[ChainParts]
    projector: Projector
    allowed: Flags | None
    prices: Floats
    found: Projection = field(init=False)
    given: Given = field(init=False)

    def project(self, scores: ChainParts, temperature: float, fitting: Fitting) -> Projection:
        """The E step."""
        restricted = scores if self.allowed is None else scores.restrict(self.allowed)
        self.given = Given.of(self.structure, scores, restricted, fitting)
        self.found = self.projector(restricted, temperature, self.prices, self.given.log_partition)
        self.prices = self.found.prices
        return self.found


class ProjectingLearner(ExpectationLearner):
    """Base of the learners that alternate between projecting and fitting.

    A subclass gives the temperature of every round and may change how it projects.
    """

    norm: NormName
    bound: float | None
    balance: float | None
    iterations: int
    tolerance: float
    random_state: int
    start_: Any
    balance_: float
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

    def _labelled_first(self) -> bool:
        """Whether the first projection is of the base fitted to the labelled sequences."""
        return True

    def _slack(self) -> Slack:
        penalty = (1.0 if self.bound is None else None) if self.penalty == "learned" else self.penalty
        slack = Slack(self.norm, penalty, self.bound)
        slack.check()
        return slack

    def _adds_shares(self) -> bool:
        return self.label_shares and not self._slack().none

    @guarded
    def fit(self, X: Any, y: Any, *, initial: Any = None) -> Any:
        """Learn from labelled sequences and, where y is partial or None, from rules and unlabelled ones.

        initial : a fitted model that the first projection is of, for a generative base; it has the labels to learn.
        None: the base fitted to the labelled sequences, or chance where there are none.
        """
        self._check()
        read = check_input(self, X, y)
        known = [i for i, one in enumerate(read) if kind_of(one) is Signal.FULL]
        partial = [i for i, one in enumerate(read) if kind_of(one) is Signal.PARTIAL]
        rest = [*partial, *(i for i, one in enumerate(read) if kind_of(one) is Signal.NOTHING)]
        if initial is not None and not rest:
            raise DataError("an initial model is for unlabelled sequences to begin with; here all are labelled")
        if initial is not None and not self._labelled_first():
            raise DataError("begin='nothing' and an initial model contradict each other; leave one of them out")
        classes = all_labels(self, read) if initial is None else _labels_of(initial, named_labels(self, read))
        if not known and not self.iterations and initial is None:
            raise DataError("without labelled sequences there is nothing to learn in 0 iterations")
        pool, labelled, labels = [X[i] for i in rest], [X[i] for i in known], [read[i] for i in known]
        told = self._task.for_rules(X)
        readings = self._read([told[i] for i in known], labels, classes)
        rows, projector = self._projector(readings.used, [told[i] for i in rest] or told, classes)
        self._require_prices(rows)
        weight, balance = self._weights(len(known) + len(partial), len(rest), partial=bool(partial))
        fitting = begin(
            self.base, labelled, labels, pool, classes,
            known=[read[i] for i in rest], weights=Weights.of(len(partial), weight, self._strength()),
            initial=initial, labelled_first=self._labelled_first() or not pool, seed=self.random_state,
            n_jobs=self.n_jobs,
        )  # fmt: skip
        temperatures = self._temperatures()
        found, trace = None, list[ProjectionStep]()
        if pool:
            targets = encode_labels([read[i] for i in rest], [len(told[i]) for i in rest], classes)
            allowed = targets.allowed if partial else None
            rounds = temperatures if self.iterations else []
            with numbers_of(rest):
                found, trace = self._rounds(fitting, rows, projector, allowed, rounds, temperatures[-1])
        elif rows.joint:  # the prices of rules about the corpus are those on the labelled sequences
            everything = _Pool(self._structure, projector, None, np.zeros(len(rows)))
            found = everything.project(fitting.learner.scores(X).as_chain(), temperatures[-1], fitting)
        if found is not None:
            _warn_unfinished(found)
        self.start_ = (
            fit_on(self.base, labelled, [y[i] for i in known], classes) if balance and known and pool else None
        )
        self.base_, self.classes_, self.trace_ = fitting.learner, classes, tuple(trace)
        self.balance_ = balance
        self._adopt_readings(readings)
        self.prices_ = np.empty(0) if found is None else found.prices[: rows.joint]
        self.units_, self.temperature_ = rows.units, temperatures[-1]
        return self

    def _weights(self, observed: int, rest: int, *, partial: bool) -> tuple[float, float]:
        """What an unlabelled sequence counts, and what the supervised model does in predictions.

        The supervised model knows full labels only, so it has no weight where there are partial ones, which count as
        much.
        """
        counting = is_generative(self.base)
        weight, balance = self.unlabeled_weight, self.balance
        if weight is None:
            weight = observed / rest if observed and rest and not counting else 1.0
        if balance is None:
            balance = 0.7 if counting and self._labelled_first() and not partial else 0.0
        return weight, balance

    def _require_prices(self, rows: Rows) -> None:
        """Raise where predictions need prices of rules about the corpus that cannot be kept."""
        if self.decode == "projected" and rows.joint and not self._slack().separates(rows):
            raise NotSupported(
                f"the price of {rows.about_corpus[0].title!r}, which is about the corpus, cannot be kept for "
                f"decode='projected' with the norm {self.norm}; use a penalty in 'squared' or 'l1', or decode='model'"
            )

    def _check(self) -> None:
        listed_rules(self)
        self._check_readings(get_args(Decode))
        self._slack()
        require_number(self, "iterations", 0, whole=True)
        require_number(self, "tolerance", 0, open_end=True)
        if self.balance is not None:
            require_number(self, "balance", 0)
            if self.balance > 1:
                raise DataError(f"balance lies between 0 and 1, got {self.balance!r}")

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
            raise DataError(
                f"{few[0].title!r} is charged for and has no bound: give the learner a penalty; its own multiplies it"
            )
        return few

    def _words(self, X: Sequence[Any]) -> Occurrences:
        """The words that are to have few labels, with what each of these costs."""
        return Occurrences.compile(self._few_labels(), X, self._slack().penalty or 0.0)

    def _projector(self, rules: Sequence[Rule], pool: Sequence[Any], classes: Sequence[str]) -> tuple[Rows, Projector]:
        """The rules on the pool, and the E step under them."""
        few = self._few_labels()
        if few:
            words = self._words(pool)
            if not words.words:
                raise DataError(f"rule {few[0].title!r} is about words of the corpus, and the data has none of them")
            return Rows.compile([], pool, classes), self._word_projector(words)
        rows, slack, curvature = Rows.compile(rules, pool, classes), self._slack(), Curvature()

        def step(scores: ChainParts, temperature: float, prices: Floats, log_partition: Floats) -> Projection:
            return project(
                scores, rows, slack, temperature=temperature, start=prices, curvature=curvature,
                log_partition=log_partition, tolerance=self.tolerance, n_jobs=self.n_jobs,
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
        temperatures: list[float],
        last: float,
    ) -> tuple[Projection, list[ProjectionStep]]:
        """Project and fit in turn, then project the last model at `last`: that projection, and all steps."""
        trace: list[ProjectionStep] = []
        pool = _Pool(self._structure, projector, allowed, np.zeros(len(rows)))

        def expect(temperature: float, scores: ChainParts) -> Expected:
            found = pool.project(scores, temperature, fitting)
            given, log_z = pool.given, float(pool.given.log_partition.sum())
            # Not the primal: at given prices the gradient that is followed is that of the dual, and exact. Where slack
            # is dear and the projection rough, the primal is much further from the optimum.
            divergence = found.dual if temperature < np.inf else log_z - scores.dot(found.parts)
            cost = given.loss + fitting.weights.rules * divergence
            return Expected(self._targets(fitting, found.parts, lambda: given), given.model, cost)

        with progress(type(self).__name__, len(temperatures), self.verbose) as tell:

            def record(temperature: float) -> ProjectionStep:
                trace.append(self._step(len(trace) + 1, temperature, fitting, pool.found, pool.given))
                return trace[-1]

            def after(temperature: float) -> None:
                tell(len(trace) + 1, str(record(temperature)))

            for temperature, rounds in groupby(temperatures):
                fitting.alternate(partial(expect, temperature), len(list(rounds)), partial(after, temperature))
            expect(last, fitting.scores())
            record(last)
        return pool.found, trace

    @staticmethod
    def _targets(fitting: Fitting, projected: ChainParts, given: Callable[[], Given]) -> ChainParts:
        """Expected parts to fit: those of q, and of the model where its likelihood counts more than q (Eq. 62)."""
        weights = fitting.weights
        if all(weight == weights.rules for *_, weight in weights.groups(len(projected))):
            return joined([projected], [weights.rules])
        return joined([projected], [weights.rules]) + given().rest

    def _step(
        self, iteration: int, temperature: float, fitting: Fitting, found: Projection, given: Given
    ) -> ProjectionStep:
        objective = fitting.loss() + given.loss + fitting.weights.rules * found.primal
        slack = float(np.abs(found.excess).sum())
        return ProjectionStep(iteration, temperature, objective, found.primal, found.dual, slack, found.passes)

    # Prediction ------------------------------------------------------------------------------------------------------

    def scores(self, X: Any) -> ChainParts:
        """The model's scores, or with decode="projected" those of its projection onto the rules.

        Where `balance` asks for it, the model is a mixture with the supervised one.
        Prices of rules about the corpus are those of training; those about single sequences are found for X (Eq. 30
        of Dhillon et al. 2012), and so are those of words that are to have few labels, over all of X.
        """
        check_is_fitted(self, "classes_")
        scores = self._model_scores(X)
        if self.decode != "projected" or len(scores) == 0:
            return scores
        if not self.rules:
            return scores.divide(self.temperature_)
        self._require_tokens(X)
        if self._few_labels():
            return self._few_labels_scores(X, scores)
        rows, found = self._project(X, scores)
        return shifted(scores, rows, found.prices).divide(self.temperature_)

    def _model_scores(self, X: Any) -> ChainParts:
        """Scores by the model, mixed with those of the supervised one."""
        scores: ChainParts = self.base_.scores(X).as_chain()
        return scores if self.start_ is None else self.start_.scores(X).as_chain().mix(scores, self.balance_)

    def _few_labels_scores(self, X: Any, scores: ChainParts) -> ChainParts:
        words, log_z = self._words(self._for_rules(X)), self._structure.marginals(scores).log_partition
        found = self._word_projector(words)(scores, self.temperature_, np.empty(0), log_z)
        _warn_unfinished(found)
        return words.shift(scores, found.prices).divide(self.temperature_)

    def project(self, X: Any) -> tuple[Rows, Projection]:
        """The model's distributions over outputs of X projected onto the rules, as decode="projected" predicts by them,
        and the rows that the prices and expectations belong to.
        """
        check_is_fitted(self, "classes_")
        self._require_tokens(X)
        if self._few_labels():
            raise NotSupported(f"{self._few_labels()[0].title!r} has a price for every token, not rows; see scores(X)")
        if not 0 < self.temperature_ < np.inf:
            raise NotSupported(f"there is a projection between gamma = 0 and inf, not at {self.temperature_}")
        return self._project(X, self._model_scores(X))

    @staticmethod
    def _require_tokens(X: Any) -> None:
        if isinstance(X, Encoded):
            raise NotSupported("rules read tokens, not encoded input; give the sequences, or set decode='model'")

    def _project(self, X: Any, scores: ChainParts) -> tuple[Rows, Projection]:
        rows = Rows.compile(self.rules_used_, self._for_rules(X), self.classes_, self.units_)
        start = np.zeros(len(rows))
        start[: rows.joint] = self.prices_
        found = project(
            scores, rows, self._slack(), temperature=self.temperature_, start=start, fixed=bool(rows.joint),
            tolerance=self.tolerance, n_jobs=self.n_jobs,
        )  # fmt: skip
        if not rows.joint:  # kept prices are not the best ones for X
            _warn_unfinished(found)
        return rows, found

    def encode(self, X: Any) -> Encoded:
        """X as flat arrays for the model."""
        check_is_fitted(self, "classes_")
        if self.start_ is not None:
            raise NotSupported("there are two models with an encoding each; give sequences, or set balance=0")
        encoded: Encoded = self.base_.encode(X)
        return encoded

    def explain(self, x: Any, position: int = 0, *, top: int = 10) -> Explanation:
        """What speaks for a label in the model."""
        check_is_fitted(self, "classes_")
        if self.decode == "projected":
            raise NotSupported("a projection has no explanation; ask the model, base_.explain(...)")
        if self.start_ is not None:
            raise NotSupported("two models are mixed; ask one of them, base_.explain(...) or start_.explain(...)")
        explanation: Explanation = self.base_.explain(x, position, top=top)
        return explanation

    def _models(self) -> dict[str, Any]:
        return {"base_": getattr(self, "base_", None), "start_": getattr(self, "start_", None)}

    def _state(self) -> State:
        values = {
            "units": list(self.units_),
            "balance": self.balance_,
            "rules_used": self.readings_.state()[0],
            "temperature": self.temperature_,
            "trace": [astuple(s) for s in self.trace_],
        }
        return values, {"prices": self.prices_, "penalties": self.readings_.penalties}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.units_, self.temperature_, self.prices_ = values["units"], values["temperature"], arrays["prices"]
        self.trace_ = tuple(ProjectionStep(*step) for step in values["trace"])
        self.balance_ = values["balance"]
        self._adopt_readings(Readings.restored(list(self.rules or ()), values["rules_used"], arrays["penalties"]))


def _warn_unfinished(found: Projection) -> None:
    """Warn of a projection that is not as good as asked."""
    if not found.converged:
        missed = f", and misses bounds by {found.violation:.2g}" if found.violation else ""
        warn(
            f"the projection onto the rules stopped {abs(found.gap):.2g} from its best{missed}; raise tolerance, or "
            "let the rules have more slack",
            ConvergenceWarning,
        )


def _labels_of(initial: Any, named: list[str]) -> list[str]:
    """All labels where learning begins with a model: those of the model, which must know all that are named."""
    check_is_fitted(initial, "classes_")
    lacking = sorted(set(named) - set(initial.classes_))
    if lacking:
        raise DataError(f"the initial model lacks the labels {', '.join(lacking)}; fit it with `classes` set to all")
    return list(initial.classes_)
