"""Trials of learners on the labelled sequences: cross-validation in which all else that is known stays in training.

A score is a ratio of sums over sequences, Σ a_i / Σ b_i: correct tokens over tokens, or twice the correct spans over
gold and predicted ones (F1). The difference D of two such scores on the same sequences has, to first order, the
residuals z_i = (a_i - R b_i) / Σ b - (a'_i - R' b'_i) / Σ b', and the standard error sqrt(n / (n - 1) Σ z_i²).
"""

import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ...errors import DataError, SidelightError, numbers_of
from ...estimator import clone
from ...kernels.compiling import Floats
from ...labels import label_set, majority_label
from ...metrics import OUTSIDE, Scheme, scheme_of, span_scores
from ...running import scatter
from ...running.checkpoints import recorded
from ...running.forms import Number
from ...supervision import BAD, Signal, all_kinds, by_kind, kind_of, some_known


@dataclass(frozen=True)
class Metric:
    """What predictions are measured by: token accuracy; span F1 if `outside`, a label that is in no span, is set."""

    outside: str | None = None
    scheme: Scheme = "runs"

    @classmethod
    def choose(cls, y: Sequence[Any]) -> Self:
        """Span F1 where one label has at least half of the tokens and hides the others; else token accuracy."""
        label = majority_label(y)
        if label is None:
            return cls()
        return cls(label, scheme_of(label_set(some_known(y, by_kind(y)[Signal.FULL]))))

    @property
    def name(self) -> str:
        """As it is reported."""
        return "token accuracy" if self.outside is None else "span F1"

    def counts(self, gold: Sequence[Any], predicted: Sequence[Any]) -> Floats:
        """(sequences, 2): the parts a_i and b_i of each sequence."""
        pairs = zip(gold, predicted, strict=True)
        return np.array([self._counts(list(truth), list(guess)) for truth, guess in pairs], float).reshape(-1, 2)

    def _counts(self, truth: list[str], guess: list[str]) -> tuple[float, float]:
        if self.outside is None:
            return sum(map(str.__eq__, truth, guess)), len(truth)
        if self.scheme == "runs":
            truth, guess = ([OUTSIDE if label == self.outside else label for label in one] for one in (truth, guess))
        spans = span_scores([truth], [guess], scheme=self.scheme).overall
        return 2 * spans.correct, spans.support + spans.predicted


@dataclass(frozen=True)
class Fold:
    """One part held out: its sequences (their numbers), what they count, the seconds, and the model of the others."""

    sequences: tuple[int, ...]
    counts: Floats
    seconds: float
    model: Any


@dataclass(frozen=True)
class Trial:
    """What a learner scores on sequences that it did not learn from.

    failure: why it could not be fitted or could not predict; then the other fields are those of the folds before.
    """

    sequences: tuple[int, ...]
    counts: Floats
    seconds: float
    failure: str | None = None

    @classmethod
    def of(cls, folds: Sequence[Fold], failure: str | None = None) -> Self:
        """All folds together."""
        return cls(
            tuple(i for fold in folds for i in fold.sequences),
            np.concatenate([np.empty((0, 2)), *(fold.counts for fold in folds)]),
            sum(fold.seconds for fold in folds),
            failure,
        )

    @property
    def score(self) -> float:
        """The score over all sequences held out; nan without any."""
        if not len(self.counts):
            return float("nan")
        above, below = self.counts.sum(axis=0)
        return float(above / below) if below else 0.0


@dataclass(frozen=True)
class Difference:
    """The score of one learner less that of another on the same sequences, and its standard error."""

    mean: float
    error: float
    sequences: int

    def beyond(self, errors: float, margin: float = 0.0) -> bool:
        """Whether it is above `margin`, and above this many standard errors; on one sequence nothing is."""
        return self.sequences > 1 and self.mean > margin and self.mean > errors * self.error

    def __neg__(self) -> "Difference":
        return Difference(-self.mean, self.error, self.sequences)


def compare(one: Trial, other: Trial) -> Difference:
    """The paired difference over the sequences that both have."""
    both = sorted(set(one.sequences) & set(other.sequences))
    n = len(both)
    if not n:
        return Difference(float("nan"), float("nan"), 0)
    scores, residuals = [], []
    for trial in (one, other):
        place = {i: k for k, i in enumerate(trial.sequences)}
        above, below = trial.counts[[place[i] for i in both]].T
        total = max(float(below.sum()), 1.0)
        scores.append(float(above.sum()) / total)
        residuals.append((above - scores[-1] * below) / total)
    spread = residuals[0] - residuals[1]
    error = float(np.sqrt(n / (n - 1) * (spread**2).sum())) if n > 1 else float("nan")
    return Difference(scores[0] - scores[1], error, n)


def folds(y: Sequence[Any], count: int, seed: int = 0) -> list[list[int]]:
    """The numbers of the fully labelled sequences in `count` parts of equal size (at most one sequence larger).

    Sequences that share a rare label come into different parts, so that few labels are unknown to a training part. With
    fewer labelled sequences than `count` there are as many parts; with fewer than two there is no trial, and no part.
    """
    labelled = [i for i, one in enumerate(y) if kind_of(one) is Signal.FULL]
    if count < 2:
        raise DataError(f"a trial needs at least 2 folds, got {count}")
    if len(labelled) < 2:
        return []
    sets = {i: set(y[i]) for i in labelled}
    often = Counter(label for labels in sets.values() for label in labels)
    rank = dict(zip(labelled, np.random.default_rng(seed).permutation(len(labelled)).tolist(), strict=True))
    order = sorted(labelled, key=lambda i: (min((often[label] for label in sets[i]), default=0), rank[i]))
    parts: list[list[int]] = [[] for _ in range(min(count, len(labelled)))]
    for i in order:
        smallest = min(map(len, parts))
        rarest = min(sorted(sets[i]), key=lambda label: often[label], default=None)
        open_parts = [part for part in parts if len(part) == smallest]
        min(open_parts, key=lambda part: sum(rarest in sets[k] for k in part)).append(i)
    return [sorted(part) for part in parts]


def sample(y: Sequence[Any], most: int, seed: int = 0) -> list[int]:
    """Numbers of all fully labelled sequences and of at most this many others, drawn at random."""
    kinds = all_kinds(y)
    others = [i for i, kind in enumerate(kinds) if kind is not Signal.FULL]
    if len(others) > most:
        others = np.random.default_rng(seed).choice(others, most, replace=False).tolist()
    kept = set(others)
    return [i for i, kind in enumerate(kinds) if i in kept or kind is Signal.FULL]


def usable(learner: Any, X: Sequence[Any], y: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The sequences that a learner can use, with what it can use of them.

    To a learner of unlabelled sequences, GOOD and partly labelled ones that it cannot use otherwise are unlabelled.
    """
    places = usable_places(learner, y)
    return [X[i] for i in places], [y[i] if kind_of(y[i]) in learner.signals else None for i in places]


def usable_places(learner: Any, y: Sequence[Any]) -> list[int]:
    """The numbers of these sequences."""
    unlabelled = Signal.NOTHING in learner.signals
    return [i for i, one in enumerate(y) if kind_of(one) in learner.signals or (unlabelled and one is not BAD)]


def fit_usable(learner: Any, X: Sequence[Any], y: Sequence[Any]) -> Any:
    """The learner fitted to them; errors name sequences by their numbers among all."""
    with numbers_of(usable_places(learner, y)):
        return learner.fit(*usable(learner, X, y))


def prepared(learner: Any, classes: Sequence[str]) -> Any:
    """A clone for a trial: quiet, without a guard, and, like the learners inside, knowing all labels."""
    twin = clone(learner)
    for name, value in twin.get_params().items():
        last = name.rpartition("__")[2]
        if last in ("guard", "verbose"):
            twin.set_params(**{name: False})
        elif last == "classes" and value is None:
            twin.set_params(**{name: list(classes)})
    return twin


def each_fold(
    learner: Any, X: Sequence[Any], y: Sequence[Any], parts: Sequence[Sequence[int]], metric: Metric,
    classes: Sequence[str] | None = None,
) -> Iterator[Fold]:  # fmt: skip
    """Hold out each part in turn: fit the learner to all other sequences, and predict those of the part.

    One fold after the other, as they are asked for; on a cluster all at once, each in a process of its own.
    classes: all labels that the learner is to know where it names none itself; None: those of y.
    """
    common = X, y, metric, label_set(y) if classes is None else list(classes)
    return scatter(list(parts), common, n_jobs=1).map(_fold, learner)


def _fold(part: Sequence[int], common: tuple[Any, Any, Metric, list[str]], learner: Any) -> Fold:
    """One part held out."""
    X, y, metric, classes = common
    begin, away = time.perf_counter(), set(part)
    left = [i for i in range(len(y)) if i not in away]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they are about a model that nobody keeps
        with numbers_of(left):
            model = fit_usable(prepared(learner, classes), [X[i] for i in left], [y[i] for i in left])
        with numbers_of(part):
            predicted = model.predict([X[i] for i in part])
    counts = metric.counts([y[i] for i in part], predicted)
    seconds = recorded("seconds", lambda: time.perf_counter() - begin, Number(0.0))
    return Fold(tuple(part), counts, seconds, model)


def held_out(learner: Any, X: Sequence[Any], y: Sequence[Any], parts: Sequence[Sequence[int]], metric: Metric) -> Trial:
    """A trial over all parts. What the learner refuses or cannot satisfy is the outcome, not an error."""
    done: list[Fold] = []
    try:
        for fold in each_fold(learner, X, y, parts, metric):
            done.append(fold)
    except SidelightError as error:
        return Trial.of(done, f"{type(error).__name__}: {error}")
    return Trial.of(done)
