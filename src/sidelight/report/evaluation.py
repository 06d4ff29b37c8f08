"""Predictions compared with gold labels: all the numbers that `evaluate` and `score` show."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..errors import DataError
from ..features.encoded import in_blocks
from ..metrics import Scheme, Score, confusion, scheme_of, span_scores

# What spans may be, that which is taken where both are possible first.
SCHEMES = ("bio", "runs")


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
    """Compare what a fitted learner predicts with y; a block of a corpus on disk is in memory at a time."""
    return evaluate_blocks(learner, ((X[a:b], y[a:b]) for a, b in in_blocks(X)), scheme=scheme)


def evaluate_blocks(learner: Any, blocks: Iterable[tuple[Any, Any]], *, scheme: str = "auto") -> Evaluation:
    """The same for inputs that come some after the other, none of which is kept."""
    found = _Counts(scheme)
    for X, y in blocks:
        full = [i for i, labels in enumerate(y) if is_full(labels)]
        found.skipped += len(y) - len(full)
        if full:
            found.add([y[i] for i in full], learner.predict([X[i] for i in full]))
    return found.evaluation(set(learner.classes_))


def compare(y: Sequence[Any], predicted: Sequence[Any], *, scheme: str = "auto") -> Evaluation:
    """Compare labels with labels."""
    if len(y) != len(predicted):
        raise DataError(f"expected as many predicted as gold sequences ({len(y)}), got {len(predicted)}")
    full = [i for i, labels in enumerate(y) if is_full(labels)]
    found = _Counts(scheme)
    found.skipped = len(y) - len(full)
    if full:
        found.add([y[i] for i in full], [predicted[i] for i in full])
    return found.evaluation(None)


class _Counts:
    """What is counted of sequences some after the other.

    What `auto` stands for depends on all labels, so both kinds of spans are counted as long as both are possible.
    """

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme
        self.sequences, self.skipped = 0, 0
        self.cells: Counter[tuple[str, str]] = Counter()
        self.spans: dict[str, dict[str, list[float]]] = {
            one: {} for one in (SCHEMES if scheme == "auto" else (scheme,))
        }

    def add(self, y: list[Any], predicted: list[Any]) -> None:
        """Count more sequences."""
        labels, matrix = confusion(y, predicted)
        if self.scheme == "auto" and scheme_of(labels) == "runs":
            self.spans.pop("bio", None)
        for scheme, types in self.spans.items():
            for kind, one in span_scores(y, predicted, scheme=cast(Scheme, scheme)).by_type.items():
                counts = types.setdefault(kind, [0, 0, 0])
                types[kind] = [counts[0] + one.correct, counts[1] + one.predicted, counts[2] + one.support]
        self.sequences += len(y)
        for i, j in zip(*matrix.nonzero(), strict=True):
            self.cells[labels[i], labels[j]] += int(matrix[i, j])

    def evaluation(self, known: set[str] | None) -> Evaluation:
        """All numbers; known: the labels of the model, None where there is none."""
        if not self.sequences:
            raise DataError("there is nothing to compare with: no sequence has a label at every token")
        labels = sorted({label for pair in self.cells for label in pair})
        matrix = [[self.cells[gold, guess] for guess in labels] for gold in labels]
        support = {label: sum(row) for label, row in zip(labels, matrix, strict=True)}
        scheme, types = next(iter(self.spans.items()))
        sums = [sum(counts[k] for counts in types.values()) for k in range(3)]
        right = {label: self.cells[label, label] for label in labels}
        return Evaluation(
            self.sequences,
            sum(support.values()),
            sum(right.values()) / sum(support.values()),
            Spans(scheme, Score.from_counts(*sums), {kind: Score.from_counts(*types[kind]) for kind in sorted(types)}),
            {
                label: Score.from_counts(right[label], sum(row[k] for row in matrix), support[label])
                for k, label in enumerate(labels)
            },
            Confusion(labels, matrix),
            self.skipped,
            {label: n for label, n in support.items() if n and known is not None and label not in known},
        )


def is_full(labels: Any) -> bool:
    """Whether every token has a label."""
    return isinstance(labels, list) and all(isinstance(label, str) for label in labels)
