"""What single rules cost: held-out sequences decoded by supervised models under one rule at a time.

A rule that decoding can honour is decoded with the penalty that it has or that is learned from the training part (as
by `CCM`); one about expectations or the corpus by the projection of the model onto it, over the held-out sequences and
unlabelled ones together.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ...errors import SidelightError
from ...inference.compiled import CompiledRules, decoding_penalties, penalties
from ...inference.constrained import best_outputs
from ...inference.norms import Slack
from ...inference.projection import project, shifted
from ...labels import encode_labels, label_set
from ...records import recorded
from ...rules.automata import about_the_corpus, labels_named
from ...rules.language import Reading, Rule
from ...supervision import Signal, kind_of
from .trials import Difference, Fold, Metric, Trial, compare

# Seconds for one sequence that needs search under a rule: the cost need not be exact.
_SECONDS = 1.0
# A rule that is broken at fewer places may be right.
_SEVERAL = 2
# Held-out sequences of a fold that rules are tried on, at most.
_MOST = 100


@recorded
class Broken:
    """At how many places labelled sequences break a rule, of those where they could: tokens, or sequences."""

    places: int
    of: int

    @property
    def mostly(self) -> bool:
        """Whether they break it at more than half of the places, and not just at one."""
        return self.places >= _SEVERAL and self.places > self.of / 2

    def __str__(self) -> str:
        return f"{self.places:,} of {self.of:,} places"


@recorded
class RuleCost:
    """What the supervised model gains, or loses, by one rule alone, and how often labelled sequences break it.

    gain, error: of the score over a number of `sequences`, with its standard error; nan with a `reason` where it could
    not be worked out. broken: how often labelled sequences break it; None of a rule about the corpus.
    """

    rule: str
    gain: float
    error: float
    sequences: int
    broken: Broken | None
    reason: str | None = None

    @property
    def difference(self) -> Difference:
        """The gain as a difference of scores."""
        return Difference(self.gain, self.error, self.sequences)

    def __str__(self) -> str:
        often = "" if self.broken is None else f", broken at {self.broken}"
        if self.reason is not None:
            return f"{self.rule!r} (cost not known: {self.reason}{often})"
        return f"{self.rule!r} ({100 * self.gain:+.1f} ± {100 * self.error:.1f} points{often})"


def how_often_broken(rules: Sequence[Rule], X: Sequence[Any], y: Sequence[Any]) -> list[Broken | None]:
    """How often the labelled sequences break each rule; None of rules about the corpus."""
    full = [i for i, one in enumerate(y) if kind_of(one) is Signal.FULL]
    local = [rule for rule in rules if not about_the_corpus(rule)]
    if not full or not local:
        return [None] * len(rules)
    some, known = [X[i] for i in full], [y[i] for i in full]
    present = label_set(known)
    labels = sorted({*present, *labels_named(local, present)})
    compiled = CompiledRules.compile(local, some, labels)
    broken = compiled.broken(encode_labels(known, [len(x) for x in some], labels).labels)
    counts = iter(zip(broken.astype(int).tolist(), compiled.places.astype(int).tolist(), strict=True))
    return [None if about_the_corpus(rule) else Broken(*next(counts)) for rule in rules]


def rule_costs(
    rules: Sequence[Rule],
    X: Sequence[Any],
    y: Sequence[Any],
    folds: Sequence[Fold],
    metric: Metric,
    *,
    reading: Reading | None = None,
    slack: Slack | None = None,
    shares: Sequence[Rule] = (),
) -> list[RuleCost]:
    """The cost of each rule, given supervised models of the folds.

    reading: of rules without their own, soft unless it says otherwise; slack: of those that are projected onto; shares:
    label shares that were added to the rules, which are tried together.
    """
    settings = reading or Reading("soft"), slack or Slack("squared", 1.0)
    plain = Trial.of([_first(fold) for fold in folds])
    out = []
    each = [(rule.title, [rule], broken) for rule, broken in zip(rules, how_often_broken(rules, X, y), strict=True)]
    for title, some, broken in [*each, *([("label shares", list(shares), None)] if shares else [])]:
        try:
            found = compare(Trial.of(list(_under(some, X, y, folds, metric, *settings))), plain)
        except SidelightError as error:
            out.append(RuleCost(title, float("nan"), float("nan"), 0, broken, str(error)))
        else:
            out.append(RuleCost(title, found.mean, found.error, found.sequences, broken))
    return out


def _first(fold: Fold) -> Fold:
    return Fold(fold.sequences[:_MOST], fold.counts[:_MOST], fold.seconds, fold.model)


def _under(
    rules: list[Rule],
    X: Sequence[Any],
    y: Sequence[Any],
    folds: Sequence[Fold],
    metric: Metric,
    reading: Reading,
    slack: Slack,
) -> Iterator[Fold]:
    """The folds, decoded under one rule, or projected onto several about the corpus."""
    known = [i for i, one in enumerate(y) if kind_of(one) is Signal.FULL]
    pool = [X[i] for i, one in enumerate(y) if kind_of(one) is not Signal.FULL]
    expected = about_the_corpus(rules[0]) or (rules[0].reading or reading).kind == "expected"
    for fold in map(_first, folds):
        held, away = [X[i] for i in fold.sequences], set(fold.sequences)
        if expected:
            predicted = _projected(rules, fold.model, held, pool, slack)
        else:
            left = [i for i in known if i not in away]
            predicted = _decoded(rules[0], fold.model, held, [X[i] for i in left], [y[i] for i in left], reading)
        yield Fold(fold.sequences, metric.counts([y[i] for i in fold.sequences], predicted), 0.0, fold.model)


def _decoded(
    rule: Rule, model: Any, held: list[Any], X: Sequence[Any], y: Sequence[Any], reading: Reading
) -> list[list[str]]:
    """The best outputs under a hard or soft rule."""
    codes = encode_labels(y, [len(x) for x in X], model.classes_).labels
    log_odds = CompiledRules.compile([rule], X, model.classes_).learn(codes)
    penalty = penalties([rule], reading, decoding_penalties(log_odds, "places"))
    weighed, scores = CompiledRules.compile([rule], held, model.classes_).weigh(penalty), model.scores(held)
    found = best_outputs(model.structure_, scores, weighed, time_limit=_SECONDS)
    outputs: list[list[str]] = model.task_.decode(found.outputs.values[0], scores, model.classes_)
    return outputs


def _projected(rules: list[Rule], model: Any, held: list[Any], pool: list[Any], slack: Slack) -> list[list[str]]:
    """The best outputs by the projection onto statements about expectations."""
    some = held + pool
    scores, rows = model.scores(some), model.task_.rows(rules, some, model.classes_)
    found = project(scores, rows, slack, tolerance=1e-2, n_jobs=model.n_jobs)
    moved = shifted(scores, rows, found.prices)
    best = model.structure_.argmax(moved).outputs.values
    outputs: list[list[str]] = model.task_.decode(best, moved, model.classes_)
    return outputs[: len(held)]
