"""How good predictions are: token accuracy, spans as the conlleval script counts them, labels, confusions.

Predicted labels that were induced without any name have no accuracy; `one_to_many`, `one_to_one` and the measures of
information compare how they group the tokens (section 8.2 of Ganchev et al. 2010).

All scores but information (in bits) and `labels_per_word` are fractions from 0 to 1 (conlleval prints percentages), and
0 where a ratio has no denominator.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sidelight.errors import DataError
from sidelight.quoting import quoted
from sidelight.sample_weights import read_weights

Labels: TypeAlias = Sequence[str]
Weights: TypeAlias = Sequence[float] | NDArray[np.float64]
Scheme: TypeAlias = Literal["bio", "runs", "auto"]
Span: TypeAlias = tuple[str, int, int]

OUTSIDE = "O"
# BILOU writes L and U for what IOBES writes E and S.
_TAGS = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S", "O": OUTSIDE}
_SPAN_PREFIXES = frozenset("BIESLU")


@dataclass(frozen=True)
class Score:
    """Precision, recall and F1, from ``correct`` of ``predicted`` where the truth has ``support``.

    The three are whole numbers, or sums of weights where inputs have some.
    """

    precision: float
    recall: float
    f1: float
    support: float
    predicted: float
    correct: float

    @classmethod
    def from_counts(cls, correct: float, predicted: float, support: float) -> Score:
        """Compute the ratios; one without a denominator is 0."""
        precision = correct / predicted if predicted else 0.0
        recall = correct / support if support else 0.0
        f1 = 2 * precision * recall / (precision + recall) if correct else 0.0
        return cls(precision, recall, f1, support, predicted, correct)


@dataclass(frozen=True)
class SpanScores:
    """Scores of spans: all types together (micro-averaged), each type, and the accuracy over tokens."""

    overall: Score
    by_type: dict[str, Score]
    accuracy: float
    tokens: int


def token_accuracy(
    y_true: Sequence[Labels], y_pred: Sequence[Labels], *, sample_weight: Weights | None = None
) -> float:
    """Return the fraction of tokens whose label is right.

    Parameters
    ----------
    y_true : sequence of sequence of str
        The true labels of each sequence.
    y_pred : sequence of sequence of str
        The predicted labels of each sequence.
    sample_weight : sequence of float or None, default=None
        What each sequence counts, at least 0; None: 1 for all.

    Returns
    -------
    float
        The token accuracy, from 0 to 1.
    """
    return _accuracy(*_counted(y_true, y_pred, sample_weight))


@dataclass(frozen=True)
class PairedTest:
    """How two systems differ on the same data: the mean difference of their scores over ``pairs``, and its error.

    ``statistic`` is Student's t, and ``probability`` that of a t at least as far from zero, on either side, where the
    two do not differ.
    """

    difference: float
    error: float
    statistic: float
    probability: float
    pairs: int

    def __str__(self) -> str:
        return (
            f"{self.difference:+.4g} ± {self.error:.2g} on average of {self.pairs} pairs, paired t-test "
            f"p = {self.probability:.2g}"
        )


def paired_t_test(first: Sequence[float], second: Sequence[float]) -> PairedTest:
    """Test whether the scores of one system are better than those of another on the same data.

    The papers print this test (Table 2 of Chang et al. 2010, Tables 3 and 4 of Dhillon et al. 2012), of accuracies on
    several subsets. Right tokens of each sequence will do too; few pairs find large differences only.

    Parameters
    ----------
    first : sequence of float
        The scores of one system on each subset, or on each sequence.
    second : sequence of float
        Those of the other, in the same order.

    Returns
    -------
    PairedTest
        The mean of first less second, its standard error, t, and the two-sided probability.
    """
    from scipy.stats import t as student

    if len(first) != len(second) or len(first) < 2:
        raise DataError(f"a paired test needs two scores or more of each system, got {len(first)} and {len(second)}")
    less = np.asarray(first, float) - np.asarray(second, float)
    if not np.isfinite(less).all():
        raise DataError("a paired test needs finite scores; leave out the pairs that have none")
    mean, error = float(less.mean()), float(less.std(ddof=1) / np.sqrt(len(less)))
    # All differences may be the same: then there is nothing to doubt, or nothing to see.
    statistic = mean / error if error else float(np.copysign(np.inf, mean)) if mean else 0.0
    return PairedTest(mean, error, statistic, float(2 * student.sf(abs(statistic), len(less) - 1)), len(less))


def right_tokens(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> list[int]:
    """Return how many labels of each sequence are right."""
    _check_aligned(y_true, y_pred)
    return [sum(map(str.__eq__, truth, guess)) for truth, guess in zip(y_true, y_pred, strict=True)]


def spans(labels: Labels, scheme: Scheme = "auto") -> list[Span]:
    """Return the spans of a sequence as (type, start, end), the end exclusive.

    ``bio`` reads prefixes by the rules of conlleval (Tjong Kim Sang & Buchholz 2000), extended to IOBES and
    BILOU: a span starts at B, S or U; at I, E or L after O or the end of a span; and wherever the type changes,
    so that invalid sequences have spans too. Bare prefixes (``B``, ``I``) make spans of type ``""``.
    ``runs`` takes each run of one label as a span. ``auto`` is ``bio`` if each label is O or has a prefix and a
    hyphen, else ``runs``. In both, O is outside.
    """
    return _spans(labels, *_resolve(scheme, set(labels)))


def scheme_of(labels: Iterable[str]) -> Scheme:
    """Return what ``auto`` stands for with these labels."""
    return "bio" if all(map(_is_prefixed, labels)) else "runs"


def span_scores(
    y_true: Sequence[Labels],
    y_pred: Sequence[Labels],
    *,
    scheme: Scheme = "auto",
    sample_weight: Weights | None = None,
) -> SpanScores:
    """Return the scores of predicted spans, which are right if type, start and end are.

    The numbers are conlleval's, as fractions from 0 to 1.

    Parameters
    ----------
    y_true : sequence of sequence of str
        The true labels of each sequence.
    y_pred : sequence of sequence of str
        The predicted labels of each sequence.
    scheme : {'bio', 'runs', 'auto'}, default='auto'
        How labels are read as spans, see `sidelight.metrics.spans`; 'auto' chooses by all labels, true and predicted.
    sample_weight : sequence of float or None, default=None
        What each sequence counts, at least 0; None: 1 for all.

    Returns
    -------
    SpanScores
        The scores of all types together (micro-averaged) and of each type, and the accuracy over tokens.
    """
    y_true, y_pred, weights = _counted(y_true, y_pred, sample_weight)
    resolved = _resolve(scheme, _distinct(y_true) | _distinct(y_pred))
    support: dict[str, float] = defaultdict(int)
    predicted: dict[str, float] = defaultdict(int)
    correct: dict[str, float] = defaultdict(int)
    for truth, guess, weight in zip(y_true, y_pred, weights, strict=True):
        true_spans, guessed_spans = _spans(truth, *resolved), _spans(guess, *resolved)
        both = set(true_spans).intersection(guessed_spans)
        for counted, found in ((support, true_spans), (predicted, guessed_spans), (correct, both)):
            for kind, _, _ in found:
                counted[kind] += weight
    by_type = {
        kind: Score.from_counts(correct[kind], predicted[kind], support[kind])
        for kind in sorted(support.keys() | predicted.keys())
    }
    overall = Score.from_counts(sum(correct.values()), sum(predicted.values()), sum(support.values()))
    return SpanScores(overall, by_type, _accuracy(y_true, y_pred, weights), sum(map(len, y_true)))


def label_scores(
    y_true: Sequence[Labels], y_pred: Sequence[Labels], *, sample_weight: Weights | None = None
) -> dict[str, Score]:
    """Return the scores of each label over tokens.

    Parameters
    ----------
    y_true : sequence of sequence of str
        The true labels of each sequence.
    y_pred : sequence of sequence of str
        The predicted labels of each sequence.
    sample_weight : sequence of float or None, default=None
        What each sequence counts, at least 0; None: 1 for all.

    Returns
    -------
    dict of str to Score
        Precision, recall and F1 of each label, in the order of the labels' names.
    """
    labels, matrix = _confusion(y_true, y_pred, sample_weight)
    counts = zip(matrix.diagonal().tolist(), matrix.sum(axis=0).tolist(), matrix.sum(axis=1).tolist(), strict=True)
    return {label: Score.from_counts(*some) for label, some in zip(labels, counts, strict=True)}


def confusion(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> tuple[list[str], NDArray[np.int64]]:
    """Return how many tokens of each true label are predicted as each label.

    Parameters
    ----------
    y_true : sequence of sequence of str
        The true labels of each sequence.
    y_pred : sequence of sequence of str
        The predicted labels of each sequence.

    Returns
    -------
    labels : list of str
        The labels, sorted.
    matrix : array of int64, shape (labels, labels)
        At [i, j] the number of tokens of true label i that are predicted as label j.
    """
    labels, counts = _confusion(y_true, y_pred, None)
    return labels, counts.astype(np.int64)


def one_to_many(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> float:
    """Return the accuracy when each predicted label stands for the true one that it meets most often.

    Parameters
    ----------
    y_true : sequence of sequence of str
        The true labels of each sequence.
    y_pred : sequence of sequence of str
        The predicted labels of each sequence, which may have other names.

    Returns
    -------
    float
        The accuracy, from 0 to 1.
    """
    matrix = confusion(y_true, y_pred)[1]
    return float(matrix.max(axis=0).sum() / matrix.sum())


def one_to_one(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> float:
    """Return the accuracy when each predicted label stands for a different true one, in the best way there is.

    Parameters
    ----------
    y_true : sequence of sequence of str
        The true labels of each sequence.
    y_pred : sequence of sequence of str
        The predicted labels of each sequence, which may have other names.

    Returns
    -------
    float
        The accuracy, from 0 to 1.
    """
    from scipy.optimize import linear_sum_assignment

    matrix = confusion(y_true, y_pred)[1]
    return float(matrix[linear_sum_assignment(matrix, maximize=True)].sum() / matrix.sum())


def mutual_information(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> float:
    """Return the mutual information I(true; predicted) in bits.

    Parameters
    ----------
    y_true : sequence of sequence of str
        The true labels of each sequence.
    y_pred : sequence of sequence of str
        The predicted labels of each sequence, which may have other names.

    Returns
    -------
    float
        The information in bits, at most the entropy of either.
    """
    true, predicted, both = _entropies(y_true, y_pred)
    return max(true + predicted - both, 0.0)


def variation_of_information(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> float:
    """Return the variation of information H(true | predicted) + H(predicted | true) in bits.

    Parameters
    ----------
    y_true : sequence of sequence of str
        The true labels of each sequence.
    y_pred : sequence of sequence of str
        The predicted labels of each sequence, which may have other names.

    Returns
    -------
    float
        The information in bits: 0 if both group the tokens alike.
    """
    true, predicted, both = _entropies(y_true, y_pred)
    return max(2 * both - true - predicted, 0.0)


def labels_per_word(
    words: Sequence[Sequence[str]], marginals: Sequence[NDArray[np.float64]], *, at_least: int = 11
) -> float:
    """Return Σ over labels of the largest probability that any token of a word gives it, a mean over words.

    It is called L1LMax in section 8.2 of Ganchev et al. 2010.

    Parameters
    ----------
    words : sequence of sequence of str
        The words of each sequence.
    marginals : sequence of array, each of shape (tokens, labels)
        The probabilities of labels in each sequence, those of `predict_marginals`.
    at_least : int, default=11
        Words seen fewer times are left out.

    Returns
    -------
    float
        The mean: 1 where all tokens of a word have one label for sure, and at most the number of labels.
    """
    from sidelight.inference.few_labels import Occurrences

    if [len(x) for x in words] != [len(one) for one in marginals] or any(np.ndim(one) != 2 for one in marginals):
        raise DataError("expected a row of probabilities for each word, as predict_marginals gives for the same input")
    often = Occurrences.of([str(w) for x in words for w in x], at_least)
    if not often.words:
        raise DataError(f"no word is seen {at_least} times; choose a lower at_least")
    return float(often.largest(np.concatenate(marginals)[often.token]).sum() / often.words)


def _confusion(
    y_true: Sequence[Labels], y_pred: Sequence[Labels], sample_weight: Weights | None
) -> tuple[list[str], NDArray[Any]]:
    """`confusion`; where sequences have weights, of sums of these."""
    y_true, y_pred, weights = _counted(y_true, y_pred, sample_weight)
    labels = sorted(_distinct(y_true) | _distinct(y_pred))
    index = {label: i for i, label in enumerate(labels)}
    cells = _encode(y_true, index) * len(labels) + _encode(y_pred, index)
    each = None if sample_weight is None else np.repeat(weights, list(map(len, y_true)))
    counts = np.bincount(cells, each, minlength=len(labels) ** 2)
    return labels, counts.reshape(len(labels), len(labels))


def _entropies(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> tuple[float, float, float]:
    """H(true), H(predicted) and H(both) in bits."""
    matrix = confusion(y_true, y_pred)[1]
    return _entropy(matrix.sum(axis=1)), _entropy(matrix.sum(axis=0)), _entropy(matrix.ravel())


def _entropy(counts: NDArray[np.int64]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def _spans(labels: Labels, scheme: Scheme, parts: dict[str, tuple[str, str]]) -> list[Span]:
    return _bio_spans(labels, parts) if scheme == "bio" else _runs(labels)


def _bio_spans(labels: Labels, parts: dict[str, tuple[str, str]]) -> list[Span]:
    found: list[Span] = []
    before, type_before, start = OUTSIDE, "", 0
    for position, label in enumerate(labels):
        tag, kind = parts[label]
        starts = tag != OUTSIDE and (tag in "BS" or before in "OES" or kind != type_before)
        if before != OUTSIDE and (starts or tag == OUTSIDE):
            found.append((type_before, start, position))
        if starts:
            start = position
        before, type_before = tag, kind
    if before != OUTSIDE:
        found.append((type_before, start, len(labels)))
    return found


def _runs(labels: Labels) -> list[Span]:
    found: list[Span] = []
    before, start = OUTSIDE, 0
    for position, label in enumerate(labels):
        if label != before:
            if before != OUTSIDE:
                found.append((before, start, position))
            before, start = label, position
    if before != OUTSIDE:
        found.append((before, start, len(labels)))
    return found


def _resolve(scheme: Scheme, labels: set[str]) -> tuple[Scheme, dict[str, tuple[str, str]]]:
    """Settle ``auto`` by the labels and, for ``bio``, cut each of them into (tag, type)."""
    if scheme not in ("bio", "runs", "auto"):
        raise DataError(f"expected the scheme 'bio', 'runs' or 'auto', got {quoted(scheme)}")
    if scheme == "auto":
        scheme = scheme_of(labels)
    return scheme, {label: _tag_and_type(label) for label in labels} if scheme == "bio" else {}


def _is_prefixed(label: str) -> bool:
    return label == OUTSIDE or (label[:1] in _SPAN_PREFIXES and label[1:2] == "-")


def _tag_and_type(label: str) -> tuple[str, str]:
    prefix, _, kind = label.partition("-")
    if prefix not in _TAGS:
        raise DataError(
            f"expected labels O, or B- I- E- S- L- U- and a type, got {quoted(label)}; use scheme='runs' for plain "
            "labels"
        )
    return _TAGS[prefix], kind


def _check_aligned(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> None:
    if len(y_true) != len(y_pred):
        raise DataError(f"expected as many predicted as true sequences ({len(y_true)}), got {len(y_pred)}")
    tokens = 0
    for index, (truth, guess) in enumerate(zip(y_true, y_pred, strict=True)):
        _check_labels(truth, index, "true")
        _check_labels(guess, index, "predicted")
        if len(truth) != len(guess):
            raise DataError(f"sequence {index}: expected {len(truth)} labels, one a token, got {len(guess)}")
        tokens += len(truth)
    if not tokens:
        raise DataError("expected at least one token to score, got none")


def _check_labels(labels: object, index: int, whose: str) -> None:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise DataError(f"sequence {index}: expected a list of {whose} labels, got {quoted(labels)}; leave it out")
    if all(issubclass(kind, str) for kind in set(map(type, labels))):
        return
    position, label = next((i, label) for i, label in enumerate(labels) if not isinstance(label, str))
    raise DataError(
        f"sequence {index}, position {position}: expected a {whose} label (a string), got {quoted(label)}; "
        "scores need every label"
    )


def _counted(
    y_true: Sequence[Labels], y_pred: Sequence[Labels], sample_weight: Weights | None
) -> tuple[Sequence[Labels], Sequence[Labels], list[float]]:
    """The sequences that count, and what each counts; raises `DataError` for what cannot be scored."""
    _check_aligned(y_true, y_pred)
    if sample_weight is None:
        return y_true, y_pred, [1] * len(y_true)
    weights = read_weights(sample_weight, len(y_true), "sequence", "score")
    which = np.flatnonzero(weights).tolist()
    truth, guess = [y_true[i] for i in which], [y_pred[i] for i in which]
    if not any(map(len, truth)):
        raise DataError("expected at least one token in the sequences that count, got none")
    return truth, guess, weights[which].tolist()


def _accuracy(y_true: Sequence[Labels], y_pred: Sequence[Labels], weights: Sequence[float]) -> float:
    triples = zip(y_true, y_pred, weights, strict=True)
    right = sum(weight * sum(map(str.__eq__, truth, guess)) for truth, guess, weight in triples)
    total = sum(weight * len(truth) for truth, weight in zip(y_true, weights, strict=True))
    return right / total


def _distinct(y: Sequence[Labels]) -> set[str]:
    return set().union(*y)


def _encode(y: Sequence[Labels], index: dict[str, int]) -> NDArray[np.int64]:
    return np.array([index[label] for labels in y for label in labels], dtype=np.int64)
