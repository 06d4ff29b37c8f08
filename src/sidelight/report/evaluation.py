"""Predictions compared with gold labels: all the numbers that `evaluate` and `score` show."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..errors import DataError
from ..metrics import Scheme, Score, confusion, label_scores, span_scores


@dataclass(frozen=True)
class Spans:
    """Scores of spans; `scheme` says what a span was, bio or runs."""

    scheme: str
    overall: Score
    by_type: dict[str, Score]


@dataclass(frozen=True)
class Confusion:
    """`matrix[i][j]`: tokens of gold label i that were given label j."""

    labels: list[str]
    matrix: list[list[int]]


@dataclass(frozen=True)
class Evaluation:
    """How good predictions are.

    skipped: sequences left out because not every token of theirs has a gold label; unseen: tokens by gold label that
    the model does not know.
    """

    sequences: int
    tokens: int
    accuracy: float
    spans: Spans
    labels: dict[str, Score]
    confusion: Confusion
    skipped: int
    unseen: dict[str, int]


def evaluate(learner: Any, X: Sequence[Any], y: Sequence[Any], *, scheme: str = "auto") -> Evaluation:
    """Compare what a fitted learner predicts with y."""
    chosen = [i for i, labels in enumerate(y) if is_full(labels)]
    predicted = learner.predict([X[i] for i in chosen]) if chosen else []
    return _compare([y[i] for i in chosen], predicted, scheme, len(y) - len(chosen), set(learner.classes_))


def compare(y: Sequence[Any], predicted: Sequence[Any], *, scheme: str = "auto") -> Evaluation:
    """Compare labels with labels."""
    if len(y) != len(predicted):
        raise DataError(f"expected as many predicted as gold sequences ({len(y)}), got {len(predicted)}")
    chosen = [i for i, labels in enumerate(y) if is_full(labels)]
    return _compare([y[i] for i in chosen], [predicted[i] for i in chosen], scheme, len(y) - len(chosen), None)


def _compare(y: list[Any], predicted: list[Any], scheme: str, skipped: int, known: set[str] | None) -> Evaluation:
    if not y:
        raise DataError("there is nothing to compare with: no sequence has a label at every token")
    spans = span_scores(y, predicted, scheme=cast(Scheme, str(scheme)))
    labels, matrix = confusion(y, predicted)
    # Runs have labels for types, and prefixed labels never are types.
    resolved = "runs" if spans.by_type.keys() <= set(labels) else "bio"
    gold = Counter(label for one in y for label in one)
    return Evaluation(
        len(y),
        spans.tokens,
        spans.accuracy,
        Spans(resolved if scheme == "auto" else str(scheme), spans.overall, spans.by_type),
        label_scores(y, predicted),
        Confusion(labels, matrix.tolist()),
        skipped,
        {} if known is None else {label: n for label, n in sorted(gold.items()) if label not in known},
    )


def is_full(labels: Any) -> bool:
    """Whether every token has a label."""
    return isinstance(labels, list) and all(isinstance(label, str) for label in labels)
