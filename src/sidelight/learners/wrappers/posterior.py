"""Posterior regularization: rules about expectations guide learning from unlabelled data (Ganchev et al. 2010).

Unified EM and deterministic annealing are the same alternation, at other temperatures.

    minimise over w, q   -log prior(w) - Σ_L log p_w(labels) - c Σ_P log p_w(partial labels) - ω Σ_U log p_w(x)
                         + ω α [ Σ_{P, U} E_q(-log p_w(y | observed)) - T H(q) + cost of slack ]
                         s.t.  A E_q[y] - b <= ξ   on P and U, the pool

L are the sequences with full labels, P those with partial ones, U those without; ω is `unlabeled_weight`. α, the
strength, weighs only the divergence of q from the model (Eq. 60 of Ganchev et al. 2010), which is given all that is
observed: log p_w(partial labels), summed over the outputs that agree with them, counts in full, c = 1 (or ω where that
is more, see `PoolWeights`). At T = 1 without rules q is the model, the divergence is 0 and α does not matter. With a
generative base p_w is the joint p(x, y); with a discriminative one p(y|x), and the term of U is 0.

q is the projection of the model at temperature T (`inference.projection`), w is fitted to expected parts, ω α times
those of q and the rest of what a sequence counts by the model (Eq. 62; `solvers.expected`): a round is a projection
and a step of w. No step raises the objective at a given T (Proposition 2.3 of Ganchev et al. 2010, Theorem 2 of Chang
2011) by more than the gap of the projection. The first model of a generative base lacks words of the pool: in its
objective the words of a class that it lacks share the probability of the class evenly, so that all objectives are over
the same words (`solvers.expected.WordShares`); no p_w(y | x) depends on that. There are two exceptions. An HMM whose
`rare` is above 0 counts rare words once more for their class, which is no part of p_w(x, y), so its steps could raise
the objective a little (on citations and chunks none of them did). And the objective of a first model that is
variational, or chance, is another one, marked as `of_start`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from numbers import Real
from typing import Annotated, Any, Literal, Self

import numpy as np

from ...declared import Bounds, declared
from ...errors import DataError, NotSupported, inputs_called, numbers_of
from ...estimator import require_fitted
from ...inference.few_labels import Occurrences, alone
from ...inference.norms import NormName, Slack
from ...inference.projection import Projection, project, shifted
from ...inference.readings import Readings
from ...inference.rows import RowSet
from ...rules.few_labels import FewLabels
from ...rules.language import Rule
from ...running.checkpoints import all_of
from ...solvers import rounds
from ...solvers.expected import Expected, Fitting, PoolWeights, ToFit
from ...solvers.projections import Batches, Pool, ProjectionStep, Projector, onto_few_labels, onto_rows
from ...supervision import Signal, by_kind
from ..choosing.guard import guarded
from ..decoding import Decoder, Projected, expectation_decoder, require_tokens
from ..inputs import refuse_weights
from ..learner import Learner
from ..model import mixed
from ..parameters import ExpectationParameters


@declared
class ProjectionParameters(ExpectationParameters):
    """What learners that project have."""

    norm: Annotated[
        NormName,
        'The slack of the rules\' bounds is charged `penalty` times its norm ("l1", "l2", "linf", "group") or half of '
        'its square ("squared"). `few_labels` (section 8 of Ganchev et al. 2010) is charged its penalty (1 if it is '
        '"learned") times a norm of its own, whatever this one is.',
    ] = "l1"
    bound: Annotated[
        float | None,
        "The largest norm that the slack may have. Where `bound` and `penalty` are both None, there is no slack.",
        Bounds(0),
    ] = None
    balance: Annotated[
        float | None,
        "β, the weight of the scores of the model learned from full labels alone in predictions. None: 0.7 for an HMM, "
        "but 0 where there are partial labels, and 0 for a CRF. Learning itself does not depend on it.",
        Bounds(0, 1),
    ] = None
    iterations: Annotated[
        int,
        "Rounds, each a projection and a step of the model: EM's M step for an HMM, one of L-BFGS for a CRF.",
        Bounds(0),
    ] = 10
    tolerance: Annotated[
        float,
        "Gap of the projection for each sequence, and the largest miss of a bound beyond its slack.",
        Bounds(0, above=True),
    ] = 0.02
    random_state: Annotated[
        int, "Seed of the first scores, where nothing is labelled and `fit` is given no model to begin with."
    ] = 0


@declared
class ProjectingLearner(ProjectionParameters, Learner):
    """Base of the learners that alternate between projecting and fitting.

    A subclass gives the temperature of every round and may change how it projects.
    """

    saved = ("readings_", "prices_", "units_", "balance_", "temperature_", "trace_")

    def _temperatures(self) -> list[float]:
        """The temperature of every round."""
        raise NotImplementedError

    def _strength(self) -> float:
        """α: how much the divergence counts (Appendix A of Ganchev et al. 2010)."""
        return 1.0

    def _labelled_first(self) -> bool:
        """Whether the first projection is of the base fitted to the labelled sequences."""
        return True

    @property
    def predicts_apart(self) -> bool:
        """Whether inputs may come in parts: prices of words that are to have few labels are those of all inputs."""
        return self.decode != "projected" or not self._few_labels()

    @property
    def models_(self) -> dict[str, Any]:
        """The model, and the supervised one that predictions are mixed with."""
        return {"base_": getattr(self, "base_", None), "start_": getattr(self, "start_", None)}

    @property
    def model_(self) -> Any:
        """The model that predictions are read off."""
        return mixed(self.start_, self.base_, self.balance_, rows=True)

    def slack(self) -> Slack:
        """Returns how far expectations may be from what rules ask, and what that costs."""
        if self.bound is not None and self.penalty not in (None, "learned"):
            raise DataError("slack has a penalty or a bound, not both; leave one of them out")
        charged = self.penalty is not None and self.bound is None
        slack = Slack(self.norm, 1.0 if charged else None, self.bound)  # each rule's penalty is in its rows
        slack.check()
        return slack

    @guarded
    def fit(self, X: Any, y: Any, *, initial: Any = None, sample_weight: Any = None) -> Self:
        """Learn from labelled sequences and, where y is partial or None, from rules and unlabelled ones.

        initial : a fitted model that the first projection is of, for a generative base; it has the labels to learn.
        None: the base fitted to the labelled sequences, or chance where there are none.
        """
        refuse_weights(self, sample_weight)
        _, read = self.read_input(X, y)
        which = by_kind(read)
        known, partial = which[Signal.FULL], which[Signal.PARTIAL]
        rest = [*partial, *which[Signal.NOTHING]]
        if initial is not None and not rest:
            raise DataError(f"an initial model is for unlabelled {self.task_.noun}s; here all are labelled")
        if initial is not None and not self._labelled_first():
            raise DataError("begin='nothing' and an initial model contradict each other; leave one of them out")
        classes = self.all_labels(read, required=initial is None)
        if initial is not None:
            classes = _labels_of(initial, classes)
        if not known and not self.iterations and initial is None:
            raise DataError(f"without labelled {self.task_.noun}s there is nothing to learn in 0 iterations")
        pool, labelled, labels = [X[i] for i in rest], [X[i] for i in known], [read[i] for i in known]
        left, seen = [read[i] for i in rest], self.task_.for_rules(X)
        seen_rest = [seen[i] for i in rest]
        readings = self._read([seen[i] for i in known], labels, classes)
        rows, projector = self._projector(readings, seen_rest or seen, classes)
        self._require_prices(rows)
        weight, balance = self._weights(len(known) + len(partial), len(rest), partial=bool(partial))
        fitting = self.base.fitting(
            ToFit(
                labelled, labels, pool, left, classes,
                PoolWeights.of(len(partial), weight, self._strength()), self.random_state, self.n_jobs,
                self._labelled_first() or not pool, initial,
            )
        )  # fmt: skip
        temperatures = self._temperatures()
        found, trace = None, tuple[ProjectionStep, ...]()
        if pool:
            observed = self.task_.known_to_rules(left, seen_rest, classes) if partial else None
            sequences = Pool(self.structure_, projector, observed, np.zeros(len(rows)))
            with inputs_called(self.task_.noun), numbers_of(rest):
                trace = self._rounds(fitting, rows, sequences, temperatures if self.iterations else [])
                sequences.expect(fitting, temperatures[-1])
                trace = (*trace, sequences.step(len(trace) + 1, temperatures[-1], fitting))
            found = sequences.found
        elif rows.joint:  # the prices of rules about the corpus are those on the labelled sequences
            everything = Pool(self.structure_, projector, None, np.zeros(len(rows)))
            found = everything.project(fitting.learner.scores(X).for_rows(), temperatures[-1], fitting)
        if found is not None:
            found.warn_unfinished()
        mixing = balance and known and pool
        self.start_ = self.fit_base(labelled, [y[i] for i in known], classes) if mixing else None
        self.base_, self.classes_, self.trace_ = fitting.learner, classes, trace
        self.balance_, self.readings_ = balance, readings
        self.prices_ = np.empty(0) if found is None else found.prices[: rows.joint]
        self.units_, self.temperature_ = tuple(rows.units), temperatures[-1]
        return self

    def _rounds(
        self, fitting: Fitting, rows: RowSet, pool: Pool, temperatures: list[float]
    ) -> tuple[ProjectionStep, ...]:
        """Project and fit in turn."""
        return rounds.alternate(
            temperatures, lambda temperature: pool.expect(fitting, temperature), fitting,
            lambda number, temperature, _: pool.step(number, temperature, fitting),
            title=type(self).__name__, verbose=self.verbose, carried=all_of([pool.carried, fitting.carried]),
            form=lambda: Expected.form(fitting.scores()),
        )  # fmt: skip

    def _read(self, X: Sequence[Any], y: Sequence[Any], classes: list[str]) -> Readings:
        """The rules with what fully labelled sequences say about them."""
        slack = not self.slack().none
        return self.read_rules(X, y, classes, shares=self.label_shares and slack, room=slack)

    def _weights(self, observed: int, rest: int, *, partial: bool) -> tuple[float, float]:
        """What an unlabelled sequence counts, and what the supervised model does in predictions.

        The supervised model knows full labels only, so it has no weight where there are partial ones, which count as
        much.
        """
        counting = self.base.generative
        weight, balance = self.unlabeled_weight, self.balance
        if weight is None:
            weight = observed / rest if observed and rest and not counting else 1.0
        if balance is None:
            balance = 0.7 if counting and self._labelled_first() and not partial else 0.0
        return weight, balance

    def _require_prices(self, rows: RowSet) -> None:
        """Raise where predictions need prices of rules about the corpus that cannot be kept."""
        if self.decode == "projected" and rows.joint and not self.slack().separates(rows):
            raise NotSupported(
                f"the price of {rows.statement(0).title!r}, which is about the corpus, cannot be kept for "
                f"decode='projected' with the norm {self.norm}; use a penalty in 'squared' or 'l1', or decode='model'"
            )

    def check_parameters(self) -> None:
        """Raise for parameters that make no sense."""
        self.check_expectations()
        self.slack()

    def _few_labels(self) -> list[FewLabels]:
        """The rules that each word has few labels; they have their own projection, and stand alone."""
        return alone(self.rules or (), chained=self.task_.chained, charged=self.penalty is not None)

    @staticmethod
    def _words(readings: Readings, X: Sequence[Any]) -> Occurrences:
        """The words that are to have few labels, with what each of these costs."""
        return Occurrences.compile([rule for rule in readings.used if isinstance(rule, FewLabels)], X)

    def _projector(self, read: Readings, pool: Sequence[Any], classes: Sequence[str]) -> tuple[RowSet, Projector]:
        """The rules on the pool, and the E step under them."""
        few = self._few_labels()
        if few:
            words = self._words(read, pool)
            if not words.words:
                raise DataError(f"rule {few[0].title!r} is about words of the corpus, and the data has none of them")
            return self.task_.rows([], pool, classes), onto_few_labels(words, len(classes), self.tolerance, self.n_jobs)
        rows = self.task_.rows(read.used, pool, classes, room=read.room)
        return rows, onto_rows(rows, self.slack(), self.tolerance, self.n_jobs)

    # Prediction ------------------------------------------------------------------------------------------------------

    def _decoder(self) -> Decoder:
        if self.decode == "projected":
            return Projected(self.structure_, self._move) if self.rules else _Cooled(self.structure_, self.temperature_)
        return expectation_decoder(self)

    def _move(self, X: Any, scores: Any) -> Any:
        """Scores of the projection of the model onto the rules.

        Prices of rules about the corpus are those of training; those about single sequences are found for X (Eq. 30
        of Dhillon et al. 2012), and so are those of words that are to have few labels, over all of X.
        """
        if self._few_labels():
            words = self._words(self.readings_, self.task_.for_rules(X))
            log_z = self.structure_.marginals(scores).log_partition
            projector = onto_few_labels(words, len(self.labels_), self.tolerance, self.n_jobs)
            found = projector(scores, self.temperature_, np.empty(0), log_z)
            found.warn_unfinished()
            return words.shift(scores, found.prices).divide(self.temperature_)
        rows, found = self._project(X, scores)
        return shifted(scores, rows, found.prices).divide(self.temperature_)

    def project(self, X: Any) -> tuple[RowSet, Projection]:
        """The model's distributions over outputs of X projected onto the rules, as decode="projected" predicts by them,
        and the rows that the prices and expectations belong to.
        """
        require_fitted(self)
        require_tokens(X)
        if self._few_labels():
            raise NotSupported(f"{self._few_labels()[0].title!r} has a price for every token, not rows; see scores(X)")
        if not 0 < self.temperature_ < np.inf:
            raise NotSupported(f"there is a projection between gamma = 0 and inf, not at {self.temperature_}")
        return self._project(X, self.model_.scores(X, self.n_jobs))

    def _project(self, X: Any, scores: Any) -> tuple[RowSet, Projection]:
        read = self.readings_
        rows = self.task_.rows(read.used, self.task_.for_rules(X), self.labels_, units=self.units_, room=read.room)
        if len(self.prices_) != rows.joint:
            raise DataError(f"there are {len(self.prices_)} prices of rules about the corpus, and {rows.joint} bounds")
        start = np.zeros(len(rows))
        start[: rows.joint] = self.prices_
        found = project(
            scores, rows, self.slack(), temperature=self.temperature_, start=start, fixed=bool(rows.joint),
            tolerance=self.tolerance, n_jobs=self.n_jobs,
        )  # fmt: skip
        if not rows.joint:  # kept prices are not the best ones for X
            found.warn_unfinished()
        return rows, found


@declared
class PosteriorRegularization(ProjectingLearner):
    """Posterior regularization of a generative (HMM, DMV) or discriminative (CRF of order 1, SemiCRF) model.

        maximise  L(w) - α min over q of [ KL(q ‖ p_w) + cost of slack ]      (Eq. 4, 5, 25 and 60)

    L is the likelihood of what is observed, and p_w is given that. Without rules it is EM (HMM), or leaves the model as
    it is (CRF). The guard makes no comparison where `fit` is given a model to begin with.

    Attributes
    ----------
    classes_, start_, rules_used_, prices_, units_, guard_
    base_ : learner
        The model.
    trace_ : tuple of ProjectionStep
        The rounds, and the final model.
    """

    strength: Annotated[
        float,
        "α between 0 and 1: what the divergence counts, and with it the rules. What is observed, partial labels among "
        "it, counts in full.",
        Bounds(0, 1, above=True),
    ] = 1.0
    batches: Annotated[
        int,
        "In each round the unlabelled sequences come in this many batches, and the model is fitted after each of them "
        "(incremental EM; a CRF takes a few steps of L-BFGS); for rules about each sequence.",
        Bounds(1),
    ] = 1

    def check_parameters(self) -> None:
        """Raise for parameters that make no sense."""
        super().check_parameters()
        if self.batches > 1 and self._few_labels():
            raise NotSupported(f"{self._few_labels()[0].title!r} is about the corpus and cannot be kept batch by batch")

    def _strength(self) -> float:
        return self.strength

    def _temperatures(self) -> list[float]:
        return [1.0] * max(self.iterations, 1)

    def _rounds(
        self, fitting: Fitting, rows: RowSet, pool: Pool, temperatures: list[float]
    ) -> tuple[ProjectionStep, ...]:
        if self.batches == 1 or not temperatures:
            return super()._rounds(fitting, rows, pool, temperatures)
        if rows.joint:
            raise NotSupported(f"{rows.statement(0).title!r} is about the corpus and cannot be kept batch by batch")
        if not self.slack().separates(rows):
            raise NotSupported(
                f"slack in the norm {self.norm} is that of all batches together; use a penalty in 'squared' or 'l1'"
            )
        count = min(self.batches, rows.sequences)
        some = Batches.cut(self.structure_, rows, count, self.slack(), self.tolerance, self.n_jobs)
        return some.alternate(fitting, pool, self.iterations, type(self).__name__, verbose=self.verbose)


def measurements(
    base: Any,
    rules: Sequence[Rule],
    *,
    noise: Literal["box", "gaussian"] = "gaussian",
    width: float = 1.0,
    **options: Any,
) -> PosteriorRegularization:
    """Return a learner from measurements, which are rules about what is measured with noise (Liang et al. 2009).

        maximise  log prior(w) + log-likelihood of the labels + log E_{p_w}[ p_N(b | φ(X, Y)) ]

    (Eq. 38 of Ganchev et al. 2010). φ are the counts in the rules and b their bounds. The expectation is intractable;
    Liang et al. take a distribution q, and the noise of its expected counts in place of the expected noise. The last
    term becomes that of posterior regularization (section 4.3), -ω min_q [KL(q ‖ p_w) - log p_N(b | E_q[φ])], where ω
    is `unlabeled_weight`; theirs is 1, while the default for a CRF depends on the number of labels.

    Parameters
    ----------
    base : CRF, HMM or SemiCRF
        The model.
    rules : sequence of Rule
        The measurements, such as ``share("title") == 0.3`` or ``count("author") >= 1``.
    noise : {'box', 'gaussian'}, default='gaussian'
        'gaussian' has the standard deviation `width`: a miss costs half its square over `width` squared. 'box' is even
        within `width` of a bound and impossible beyond.
    width : float, default=1.0
        The width of the noise of a count in one sequence. A share is a mean over sequences of tokens in each: 'box'
        allows it to miss by `width` tokens per sequence, and the 'gaussian' noise of n sequences is independent, so
        that a miss in tokens per sequence costs n times half its square over `width` squared.
    **options : Any
        Other parameters of `PosteriorRegularization`, such as `iterations`.

    Returns
    -------
    PosteriorRegularization
        The learner, to be fitted.
    """
    if noise not in ("box", "gaussian"):
        raise DataError(f"noise is 'box' or 'gaussian', got {noise!r}")
    if not (isinstance(width, Real) and 0 < width < inf):
        raise DataError(f"the width of the noise is a finite number above 0, got {width!r}")
    if noise == "gaussian":
        given: dict[str, Any] = {"norm": "squared", "penalty": 1 / width**2}
    else:
        given = {"norm": "linf", "bound": width, "penalty": None}
    given |= {"label_shares": False, "decode": "model"}
    return PosteriorRegularization(base, list(rules), **{**given, **options})


@dataclass(frozen=True)
class _Cooled(Decoder):
    """The best outputs of a model at another temperature."""

    temperature: float

    def shift(self, X: Any, scores: Any) -> Any:
        """Returns the scores at that temperature."""
        return scores.divide(self.temperature) if len(scores) else scores


def _labels_of(initial: Any, named: list[str]) -> list[str]:
    """All labels where learning begins with a model: those of the model, which must know all that are named."""
    require_fitted(initial)
    lacking = sorted(set(named) - set(initial.labels_))
    if lacking:
        raise DataError(f"the initial model lacks the labels {', '.join(lacking)}; fit it with `classes` set to all")
    return list(initial.labels_)
