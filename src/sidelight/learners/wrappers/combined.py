"""All signals at once: labels, partial labels, nothing, GOOD and BAD, rules, shares, a dictionary, a second view.

    minimise over w   Σ_v [ l2 ‖w_v‖² + Σ_{L, P} c_i (-log p_v(known_i | x_i)) ]
                      + ω_C Σ_{GOOD, BAD} c_i log(1 + exp(-z_i (log Z_w(x_i) - n_i log L - τ_0 - τ_1 n_i)))
                      + Σ_{P, U, GOOD} min over q of [ Σ_v ω_v KL(q ‖ p_v) + Σ_v ω_v cost of slack ]
                                              s.t.  A E_q[y] - b <= ξ, and q agrees with what is known

L are the sequences with full labels, P those with partial ones, U those without any, c_i is the confidence in what is
known of a sequence (`sample_weight`), z is 1 of GOOD and -1 of BAD, and the threshold τ is learned
(`solvers.losses.CompanionLoss`). Without `view` there is one view. A generative one has p(x, y) for p(y | x), full
labels alone for its likelihood, and no part in the second term. q is the projection of the views' geometric mean, each
counted ω_v, onto the rules (Propositions 6.1 and 6.2 of Ganchev et al. 2010, and their Eq. 25); a dictionary is part of
what is known. A round projects and then fits every view to its labels, its companions and to q, so that no round raises
the objective by more than the gap of the projection.

The first model of a generative view, that of the labelled sequences, has no probability for most words of the pool,
only for their classes: it gives them P(class | y) instead of P(word | y), and its prior has no entries for them. Its
objective would be much lower than all later ones, though the model is no better. Therefore the n words of a class that
it lacks share the probability of the class, P(word | y) = P(class | y) / n: each such token adds ω_v log n, the prior
has an entry for each word, and no p(y | x) changes, so that q is the same (`solvers.expected.WordShares`).

What each signal counts is learned on labelled sequences held out (`choosing.signals`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from ...declared import Bounds, declared
from ...dictionary import TagDictionary
from ...errors import DataError, Infeasible, NotSupported, WorseThanBase, inputs_called, numbers_of, warn
from ...inference.norms import Slack
from ...inference.projection import Projection
from ...inference.readings import LabelledData, Readings, RuleReading
from ...kernels.compiling import Floats
from ...quoting import quoted
from ...records import Record, recorded
from ...rules.automata import about_the_corpus
from ...rules.language import Rule
from ...rules.rows import compile_statements
from ...running.checkpoints import Carried, all_of
from ...sample_weights import read_weights
from ...solvers import rounds
from ...solvers.expected import Companions, Fitting, PoolWeights, ToFit, joined
from ...solvers.projections import Projector, carried_prices, onto_rows
from ...supervision import BAD, GOOD, Signal, by_kind, kind_of
from ..choosing.signals import COMPANIONS, PARTIAL, UNLABELLED, WORSE, SignalWeight, choose_weights
from ..decoding import Decoder, Within, expectation_decoder
from ..learner import Learner
from ..parameters import ExpectationParameters
from ..tasks.task import predict_the_same
from .agreement import Seeing, View

# What a unit of a hard rule's expected violation costs in learning; predictions never break it.
_HARD = 100.0


@recorded
class CombinedStep(Record):
    """One round, before its step of the models: the objective, which falls; what the projection costs for each
    sequence of the pool, and by how much it may be too high; and the slack of its expectations, added up.
    """

    drawn: ClassVar[dict[str, str]] = {"divergence": "divergence, for each sequence", "slack": "slack of the rules"}
    iteration: int
    objective: float
    divergence: float
    missed: float
    slack: float
    of_start: bool = False  # whether a view is no model of all words yet, so that the objective is another one

    def __str__(self) -> str:
        return f"objective {self.objective:.6g}, divergence {self.divergence:.4g}, slack {self.slack:.4g}"


class _Given(NamedTuple):
    """What `fit` was given: inputs, what is known of their outputs, the confidence in that, and all labels."""

    X: Sequence[Any]
    read: list[Any]
    counts: Floats
    classes: list[str]


@declared
class Combined(ExpectationParameters, Learner):
    """A learner from any mixture of signals.

        minimise  penalty + likelihood of full and partial labels, each times its confidence
                  + ω_C Σ_{GOOD, BAD} log(1 + exp(-z (log Z(x) - n log L - τ_0 - τ_1 n)))
                  + ω Σ_pool min over q of [ KL(q ‖ p) + cost of slack ]   s.t. the rules hold in expectation

    The pool are all sequences without full labels that are not BAD. Rules are statements about expectations there, and
    at prediction the best output under them is found; `rule.hard()` is never broken by predictions, and rules that are
    no statements about expectations (logic, patterns) are for predictions alone. Signals that labelled sequences
    contradict are weighed down: see `weights` and `signals_`.

    Attributes
    ----------
    classes_, base_, rules_used_, guard_
    view_ : learner or None
        The fitted second view.
    signals_ : tuple of SignalWeight
        What each signal counts, and why.
    trace_ : tuple of CombinedStep
        The rounds, and the final model.
    """

    rules: Annotated[Sequence[Rule] | None, "What is known about outputs; readings say how each rule is used."] = field(
        default=(), kw_only=False
    )
    view: Annotated[
        Any,
        "A second view of the inputs: a learner with features of its own, or a `View`. None: there is one model alone.",
    ] = None
    dictionary: Annotated[
        TagDictionary | None,
        "Which labels the tokens may have, in learning and in predictions; for one that may be wrong, give its "
        "`rules()` among the rules.",
    ] = None
    weights: Annotated[
        Mapping[str, float] | Literal["learned"],
        'What each signal counts: "learned" by cross-validation on the labelled sequences, or numbers by name '
        '("unlabelled", "companions", "partial labels", and titles of rules); signals without a number count 1.',
    ] = "learned"
    decode: Annotated[
        Literal["rules", "model"],
        '"rules" predicts the best output under the rules, as `CCM` does, "model" by the model alone.',
    ] = "rules"
    companion_weight: Annotated[float, "ω_C, what a GOOD or BAD sequence counts beside a labelled one.", Bounds(0)] = (
        0.1
    )
    iterations: Annotated[int, "Rounds, each a projection and a few steps of the models.", Bounds(0)] = 10
    tolerance: Annotated[float, "Gap of the projection for each sequence.", Bounds(0, above=True)] = 0.02
    guard: Annotated[
        bool,
        "Whether `fit` warns (`WorseThanBase`) where all signals together do worse than labels alone on labelled "
        "sequences held out; the other signals are not used then, warning or not.",
    ] = True
    random_state: Annotated[int, "Seed of the first scores, where nothing is labelled."] = 0

    saved = ("readings_", "signals_", "trace_")

    # What it is made of -----------------------------------------------------------------------------------------------

    def _views(self) -> list[View]:
        """The base, and the second view if there is one."""
        given = [self.base] if self.view is None else [self.base, self.view]
        return [one if isinstance(one, View) else View(one) for one in given]

    @property
    def models_(self) -> dict[str, Any]:
        """The fitted views."""
        return {"base_": getattr(self, "base_", None), "view_": getattr(self, "view_", None)}

    @property
    def views_(self) -> dict[str, Any]:
        """The fitted views by their names in reports, if there are two."""
        return (
            {} if self.view is None else dict(zip(("the base", "the second view"), self.models_.values(), strict=True))
        )

    @property
    def model_(self) -> Any:
        """The model that predictions are read off: the geometric mean of the views."""
        from ..model import Mixture

        pairs = zip(self._views(), filter(None, self.models_.values()), strict=True)
        first, *others = (Seeing(model, True, view=view) for view, model in pairs)
        return Mixture(first, others[0], 0.5) if others else first

    def _decoder(self) -> Decoder:
        inner = expectation_decoder(self)
        return inner if self.dictionary is None else Within(inner.structure, inner, self.dictionary, self.labels_)

    def rule_readings(self) -> list[RuleReading]:
        """How each of the rules is used."""
        charged = {
            rule.title: float(p) for rule, p in zip(self.readings_.decoded, self.readings_.penalties, strict=True)
        }
        used = {rule.title: rule.reading for rule in self.readings_.used}
        out = []
        for rule in self.rules or ():
            own = rule.reading
            penalty = charged.get(rule.title, 0.0)
            if about_the_corpus(rule) and used.get(rule.title) is not None:
                penalty = float(used[rule.title].penalty or 0.0)  # type: ignore[union-attr]
            kind = "expected" if about_the_corpus(rule) else "soft" if own is None else own.kind
            learned = kind != "hard" and self.learns_penalty(rule)
            out.append(RuleReading(kind, None if kind == "hard" else penalty, learned))
        return out

    # Fitting ----------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from whatever y says of the outputs of X.

        sample_weight : the confidence in what y says of each input, at least 0; None: 1 for all.
        """
        given = self._given(X, y, sample_weight)
        self._require_consistent(given)
        self._require_judges(given)
        guard, signals = None, tuple[SignalWeight, ...]()
        if isinstance(self.weights, str):
            guard, signals = choose_weights(self, given.X, given.read, given.counts, given.classes)
            weights = {one.name: one.weight for one in signals}
        else:
            weights = dict(self.weights)
        self._learn(given, weights)
        self.guard_, self.signals_ = guard, signals
        if self.guard and any(one.reason == WORSE for one in signals):
            warn(f"{WORSE}, which are used alone: {guard}", WorseThanBase)
        return self

    def check_parameters(self) -> None:
        """Raise for parameters that make no sense."""
        rules = self.rules or ()
        inner = self.view.learner if isinstance(self.view, View) else self.view
        if inner is not None and (isinstance(inner, type) or not hasattr(inner, "task_")):
            raise DataError(f"view is a learner such as HMM(), or a View, got {quoted(self.view)}")
        if not self.task_.has_rows:
            raise NotSupported(f"Combined needs probabilities of parts, and {type(self.task_).__name__} has none")
        for rule in rules:
            if rule.per_word:
                raise NotSupported(f"{rule.title!r} is projected onto alone; use PosteriorRegularization")
        self.require_penalty()
        if not isinstance(self.weights, str):
            known = {UNLABELLED, COMPANIONS, PARTIAL, *(rule.title for rule in rules)}
            wrong = [name for name in self.weights if name not in known]
            if wrong:
                raise DataError(f"there is no signal {quoted(wrong[0])} to weigh; there are {', '.join(sorted(known))}")
            for name, value in self.weights.items():
                if not (isinstance(value, Real) and 0 <= float(value) < np.inf):
                    raise DataError(
                        f"the weight of {quoted(name)} is a finite number of at least 0, got {quoted(value)}"
                    )

    def _given(self, X: Any, y: Any, sample_weight: Any) -> _Given:
        """What is known, read and checked."""
        sizes, read = self.read_input(X, y)
        counts = read_weights(sample_weight, len(sizes), self.task_.noun)
        for view in self._views()[1:]:
            if not predict_the_same(self.task_, view.learner.task_):
                raise NotSupported("the views predict different structures; give both the same task")
            own = list(view.learner.task_.sizes(view.of(X)))
            where = [i for i, (a, b) in enumerate(zip(sizes, own, strict=True)) if a != b]
            if where:
                raise DataError(
                    f"{self.task_.noun} {where[0]} has the size {sizes[where[0]]}, and {own[where[0]]} in the second "
                    "view; views of an input must have the same length"
                )
        return _Given(X, read, counts, self.all_labels(read))

    def _learn(self, given: _Given, weights: Mapping[str, float]) -> None:
        """Fit with these weights of the signals."""
        which = by_kind(given.read)
        full = which[Signal.FULL]
        partial = which[Signal.PARTIAL] if weights.get(PARTIAL, 1.0) else []
        good, bad = ([i for i in which[Signal.COMPANION] if given.read[i] is kind] for kind in (GOOD, BAD))
        counted = weights.get(UNLABELLED, 1.0) and self.unlabeled_weight != 0
        pool = [*partial, *which[Signal.NOTHING], *good] if counted else []
        readings = self._read_rules(given, full, weights)
        fits = self._fits(given, full, partial, pool, good, bad, weights)
        trace = self._rounds(fits, given, pool, readings) if pool else ()
        self.base_, self.view_ = fits[0].learner, fits[1].learner if len(fits) > 1 else None
        self.classes_, self.readings_, self.trace_ = given.classes, readings, trace

    def _fits(
        self, given: _Given, full: list[int], partial: list[int], pool: list[int], good: list[int], bad: list[int],
        weights: Mapping[str, float],
    ) -> list[Fitting]:  # fmt: skip
        """The M step of each view."""
        counts = given.counts.copy()
        counts[partial] *= weights.get(PARTIAL, 1.0)
        known = sorted([*full, *partial], key=lambda i: counts[i])
        out = []
        for view in self._views():
            learner, seen = view.learner, view.of(given.X)
            weight = self.unlabeled_weight
            if weight is None:
                weight = len(known) / len(pool) if known and pool and not learner.generative else 1.0
            weight *= weights.get(UNLABELLED, 1.0)
            mine = [i for i in known if kind_of(given.read[i]) is Signal.FULL] if learner.generative else known
            own = None if (counts[mine] == 1.0).all() else counts[mine]
            companions = None if learner.generative else self._companions(seen, given, good, bad, weights)
            some, outputs = [seen[i] for i in mine], [given.read[i] for i in mine]
            rest, left = [seen[i] for i in pool], self._observed([given.X[i] for i in pool], given, pool)
            share = PoolWeights(0, weight, weight, weight)
            data = ToFit(
                some, outputs, rest, left, given.classes, share, self.random_state, self.n_jobs, counts=own,
                companions=companions,
            )  # fmt: skip
            out.append(learner.fitting(data))
        return out

    def _companions(
        self, seen: Any, given: _Given, good: list[int], bad: list[int], weights: Mapping[str, float]
    ) -> Companions | None:
        """GOOD and BAD sequences, if they count."""
        both = [*good, *bad]
        counts = self.companion_weight * weights.get(COMPANIONS, 1.0) * given.counts[both]
        kept = [k for k in range(len(both)) if counts[k] > 0]
        if not kept:
            return None
        places = [both[k] for k in kept]
        sizes = np.array([self.task_.size_of(given.X[i]) for i in places])
        return Companions([seen[i] for i in places], sum(k < len(good) for k in kept), counts[kept], sizes)

    def _observed(self, X: Sequence[Any], given: _Given, which: Sequence[int]) -> list[Any]:
        """What is known of some outputs, the dictionary included.

        Outputs of GOOD inputs, and those with a confidence of 0, are as unknown as those of None.
        """
        known = [None if given.read[i] is GOOD or not given.counts[i] else given.read[i] for i in which]
        if self.dictionary is None or not len(X):
            return known
        return [_both(sets, one) for sets, one in zip(self.dictionary.apply(X), known, strict=True)]

    def _read_rules(self, given: _Given, full: list[int], weights: Mapping[str, float]) -> Readings:
        """The rules that count: as statements about expectations, and as decoding uses them."""
        rules = [rule for rule in self.rules or () if weights.get(rule.title, 1.0) or _is_hard(rule)]
        seen = self.task_.for_rules(given.X)
        X, y = [seen[i] for i in full], [given.read[i] for i in full]
        labelled = LabelledData(
            self.task_, X, y, self.task_.known_to_rules(y, X, given.classes) if full and rules else None, given.classes
        )
        stated = [_statement(rule) for rule in rules if not self.task_.of_labels or _is_stated(rule, seen, given)]
        expected = Readings.of(stated, labelled, penalty=self.penalty, shares=self.label_shares, decoding=False)
        decoded = Readings.of(rules, labelled, penalty=self.penalty, shares=False, decoding=True, room=False)
        used = tuple(_weighed(rule, weights.get(rule.title, 1.0)) for rule in expected.used)
        factors = np.array([1.0 if _is_hard(rule) else weights.get(rule.title, 1.0) for rule in decoded.decoded])
        return Readings(used, decoded.decoded, decoded.penalties * factors, expected.room)

    def _rounds(
        self, fits: list[Fitting], given: _Given, pool: list[int], readings: Readings
    ) -> tuple[CombinedStep, ...]:
        """Project and fit in turn."""
        seen = self.task_.for_rules(given.X)
        some = [seen[i] for i in pool]
        rows = self.task_.rows(readings.used, some, given.classes, room=readings.room)
        left = self._observed(some, given, pool)
        observed = (
            self.task_.known_to_rules(left, some, given.classes) if any(one is not None for one in left) else None
        )
        projector = onto_rows(rows, Slack("l1", 1.0), self.tolerance, self.n_jobs)
        step = _EStep(self.structure_, projector, observed, np.zeros(len(rows)))
        times = sum(fit.weights.rules for fit in fits)

        def update(found: Projection) -> None:
            for fit in fits:
                fit.update(joined([found.parts], [fit.weights.rules]))

        def record(number: int, _: Any, found: Projection) -> CombinedStep:
            objective = sum(fit.loss() for fit in fits) + times * found.primal
            apart = not all(fit.comparable for fit in fits)
            slack = float(np.abs(found.excess).sum())
            return CombinedStep(number, objective, found.primal / len(pool), times * found.gap, slack, apart)

        with inputs_called(self.task_.noun), numbers_of(pool):
            trace = rounds.alternate(
                [None] * self.iterations, lambda _: step(fits), rounds.InTurn[Projection](update), record,
                title=type(self).__name__, verbose=self.verbose,
                carried=all_of([step.carried, *(fit.carried for fit in fits)]),
                form=lambda: Projection.form(fits[0].scores().for_rows(), len(rows)),
            )  # fmt: skip
            return (*trace, record(len(trace) + 1, None, step(fits)))

    def _require_judges(self, given: _Given) -> None:
        """Raise where no view can use GOOD and BAD; warn where there is one of them alone."""
        judged = {one for one in given.read if one is GOOD or one is BAD}
        if judged and all(view.learner.generative for view in self._views()):
            name = type(self.base).__name__
            raise NotSupported(
                f"{name} counts, and has no use for GOOD and BAD; give CRF() as the base, or as the view"
            )
        if len(judged) == 1:
            there, lacking = (GOOD, BAD) if GOOD in judged else (BAD, GOOD)
            warn(f"y has {there!r} {self.task_.noun}s and no {lacking!r} ones, so nothing tells the two apart")

    # Contradictions ---------------------------------------------------------------------------------------------------

    def _require_consistent(self, given: _Given) -> None:
        """Raise `DataError`, naming both, where what y says is excluded by the dictionary or by a hard rule."""
        which = by_kind(given.read)
        labelled = [*which[Signal.FULL], *which[Signal.PARTIAL]]
        if self.dictionary is not None and labelled:
            for i, sets in zip(labelled, self.dictionary.apply([given.X[i] for i in labelled]), strict=True):
                for t, (allowed, label) in enumerate(zip(sets, given.read[i], strict=True)):
                    mine = {label} if isinstance(label, str) else label
                    if allowed is not None and mine is not None and not mine & allowed:
                        raise DataError(
                            f"sequence {i}, token {t}: y says {_listed(mine)}, and the dictionary {_listed(allowed)}; "
                            "correct one of them, or give dictionary.rules() among the rules, which may be broken at "
                            "a penalty, in place of the dictionary"
                        )
        seen = self.task_.for_rules(given.X)
        for rule in self.rules or ():
            if _is_hard(rule) and labelled and self.task_.of_labels:
                self._require_possible(rule, [seen[i] for i in labelled], given, labelled)

    def _require_possible(self, rule: Rule, X: Sequence[Any], given: _Given, which: list[int]) -> None:
        """Raise unless every labelled sequence has an output that agrees with its labels and keeps to a hard rule."""
        known = self.task_.known_to_rules([given.read[i] for i in which], X, given.classes)
        offsets = np.concatenate(([0], np.cumsum([len(x) for x in X]))).astype(np.int64)
        scores = known.restrict(self.task_.start(offsets, np.zeros((int(offsets[-1]), len(given.classes)))))
        try:
            self.task_.compiled([rule], X, given.classes).weigh(np.array([np.inf])).best(self.structure_, scores)
        except Infeasible as error:
            place = "" if error.sequence is None else f" {which[error.sequence]}"
            raise DataError(
                f"the labels of {self.task_.noun}{place} and the hard rule {rule.title!r} exclude each other; correct "
                "the labels, or make the rule soft"
            ) from None


# Divergences below zero by more than this for each input are no rounding.
_ROUNDING = 1e-6


@dataclass
class _EStep:
    """The projection of the views' geometric mean onto the rules; each begins with the prices of the last."""

    structure: Any
    projector: Projector
    observed: Any
    prices: Floats

    @property
    def carried(self) -> Carried:
        """What the next projection begins with."""
        return all_of([carried_prices(self), self.projector.carried])

    def __call__(self, fits: Sequence[Fitting]) -> Projection:
        """Returns q, with what it costs for each unit of Σ_v ω_v."""
        scores, weights = [fit.scores().for_rows() for fit in fits], [fit.weights.rules for fit in fits]
        mean = scores[0]
        for number in range(1, len(fits)):
            mean = mean.mix(scores[number], sum(weights[:number]) / sum(weights[: number + 1]))
        log_partition = np.zeros(len(mean))
        for fit, one, weight in zip(fits, scores, weights, strict=True):
            if not fit.generative:
                log_partition += weight / sum(weights) * self.structure.marginals(one).log_partition
        restricted = mean if self.observed is None else self.observed.restrict(mean)
        found = self.projector(restricted, 1.0, self.prices, log_partition)
        if len(fits) > 1 and not any(fit.generative for fit in fits) and found.primal < -_ROUNDING * len(mean):
            raise NotSupported(
                "one view allows outputs that the other forbids, such as longer segments; give both the same task"
            )
        self.prices = found.prices
        return found


def _is_hard(rule: Rule) -> bool:
    return rule.reading is not None and rule.reading.kind == "hard"


def _statement(rule: Rule) -> Rule:
    """The rule as a statement about expectations."""
    if rule.reading is None or rule.reading.kind == "expected":
        return rule
    return rule.expected(_HARD if rule.reading.kind == "hard" else rule.reading.penalty)


def _is_stated(rule: Rule, X: Sequence[Any], given: _Given) -> bool:
    """Whether a rule is used as a statement about expectations: it can be one, or was written as one.

    What was written as one and cannot be one is an error when it is compiled.
    """
    if rule.reading is not None and rule.reading.kind == "expected":
        return True
    try:
        compile_statements([_statement(rule)], X, given.classes)
    except NotSupported:
        return False
    return True


def _weighed(rule: Rule, weight: float) -> Rule:
    """A statement with a multiple of its penalty."""
    if weight == 1.0 or rule.reading is None or rule.reading.penalty is None:
        return rule
    return rule.expected(weight * rule.reading.penalty)


def _both(sets: Sequence[Any], known: Any) -> list[Any]:
    """What a dictionary and y say together of each token."""
    if known is None:
        return list(sets)
    out = []
    for allowed, label in zip(sets, known, strict=True):
        mine = {label} if isinstance(label, str) else label
        out.append(allowed if mine is None else mine if allowed is None else set(mine) & set(allowed))
    return out


def _listed(labels: Any) -> str:
    return " or ".join(map(repr, sorted(labels)))
