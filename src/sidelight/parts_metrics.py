"""How good trees, links, answers and rankings are: attachment scores, precision and recall, error rates, ranks.

All are fractions from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any
from unicodedata import category

import numpy as np

from sidelight.errors import DataError
from sidelight.kernels.compiling import Floats
from sidelight.metrics import Score
from sidelight.supervision import GOOD


@dataclass(frozen=True)
class Attachment:
    """Scores of some words: how many they are, and the shares with the right head, and with the right label too."""

    words: int
    uas: float
    las: float | None


@dataclass(frozen=True)
class TreeScores:
    """Scores of dependency trees.

    uas: the share of words with the right head; las: with the right head and label, None where arcs have no labels;
    exact: the share of trees that are right as a whole, of `whole` that are known as a whole. unknown: words left out,
    since their head (or label) is not known; skipped: sentences left out, since nothing of them is known. without: the
    scores of the words that are no punctuation, None where it is not known which these are.
    """

    sentences: int
    words: int
    uas: float
    las: float | None
    exact: float
    whole: int
    unknown: int
    skipped: int = 0
    without: Attachment | None = None


@dataclass(frozen=True)
class LinkScores:
    """Scores of links: precision, recall and F1 of all of them, and the share of pairs with exactly the right ones.

    skipped: pairs left out, since not all of their links are known.
    """

    pairs: int
    links: Score
    exact: float
    skipped: int = 0


@dataclass(frozen=True)
class AnswerScores:
    """Scores of a yes or no for every input: the share of right ones, and precision, recall and F1 of the good inputs.

    skipped: inputs left out, since it is not known whether they are good.
    """

    inputs: int
    accuracy: float
    good: Score
    skipped: int = 0


@dataclass(frozen=True)
class RankingScores:
    """Scores of rankings: how often a right candidate is the first, and the mean of 1 / its rank."""

    queries: int
    accuracy: float
    mrr: float


def answer_scores(y_true: Sequence[Any], y_pred: Sequence[Any]) -> AnswerScores:
    """Return the scores of a yes or no for every input.

    Parameters
    ----------
    y_true : sequence of Companion
        GOOD or BAD of each input.
    y_pred : sequence of Companion
        What was predicted.

    Returns
    -------
    AnswerScores
        Accuracy, and precision, recall and F1 of the good inputs.
    """
    _require_as_many(y_true, y_pred)
    pairs = list(zip(y_true, y_pred, strict=True))
    right = sum(a is b for a, b in pairs)
    both = sum(a is GOOD and b is GOOD for a, b in pairs)
    good = Score.from_counts(both, sum(b is GOOD for _, b in pairs), sum(a is GOOD for a, _ in pairs))
    return AnswerScores(len(pairs), right / len(pairs) if pairs else 0.0, good)


def ranking_scores(scores: Sequence[Sequence[float]], right: Sequence[Any]) -> RankingScores:
    """Return how well scores rank the candidates of queries: accuracy at 1, and mean reciprocal rank.

    The rank of a query is that of the best of its right candidates, behind wrong ones with the same score.

    Parameters
    ----------
    scores : sequence of sequence of float
        For each query the scores of its candidates.
    right : sequence of int, or of collection of int
        The number of the right candidate of each query, or the numbers of several.

    Returns
    -------
    RankingScores
        Accuracy at 1 and mean reciprocal rank.
    """
    if len(scores) != len(right) or not len(scores):
        raise DataError(f"there are scores of {len(scores)} queries, and right candidates of {len(right)}")
    ranks = [
        _rank(i, np.asarray(mine, float), known) for i, (mine, known) in enumerate(zip(scores, right, strict=True))
    ]
    return RankingScores(len(ranks), float(np.mean([r == 1 for r in ranks])), float(np.mean([1 / r for r in ranks])))


def _rank(query: int, scores: Floats, known: Any) -> int:
    """The rank of the best right candidate."""
    numbers = [int(known)] if isinstance(known, Integral) else sorted(int(one) for one in known)
    if not numbers or numbers[0] < 0 or numbers[-1] >= len(scores):
        raise DataError(f"query {query} has {len(scores)} candidates, and {known!r} is right; they count from 0")
    if np.isnan(scores).any():
        raise DataError(f"query {query} has a score that is no number")
    wrong = np.delete(scores, numbers)
    return 1 + int((wrong >= scores[numbers].max()).sum())


@dataclass(frozen=True)
class AlignmentScores:
    """Scores of word alignments A against sure links S and possible links P, of which sure ones are some.

    aer: the alignment error rate, 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|); precision: |A ∩ P| / |A|; recall:
    |A ∩ S| / |S| (Och and Ney 2003). links: how many there are in A; sure, possible: in S and P.
    """

    pairs: int
    aer: float
    precision: float
    recall: float
    links: int
    sure: int
    possible: int


def tree_scores(
    y_true: Sequence[Any], y_pred: Sequence[Any], *, labelled: bool = False, X: Sequence[Any] | None = None
) -> TreeScores:
    """Return the attachment scores of dependency trees.

    Words whose true head (or label, with labels) is not known are left out. A word is punctuation if all of its
    characters are, by their Unicode category, as in the evaluation of CoNLL-X.

    Parameters
    ----------
    y_true : sequence
        The true heads of each sentence, as `Parsing` has them.
    y_pred : sequence
        The predicted heads of each sentence.
    labelled : bool, default=False
        Whether heads come with labels.
    X : sequence or None, default=None
        The words of each sentence, or tuples that begin with the word, for scores without punctuation.

    Returns
    -------
    TreeScores
        The share of right heads (UAS), of right heads with labels (LAS), and of trees that are right as a whole.
    """
    _require_as_many(y_true, y_pred)
    words = unknown = heads = both = whole = exact = 0
    rest = [0, 0, 0]  # words other than punctuation, and those with the right head and the right label
    for i, (truth, guess) in enumerate(zip(y_true, y_pred, strict=True)):
        if len(truth) != len(guess):
            raise DataError(f"expected {len(truth)} heads, one a word, got {len(guess)}")
        pairs = [(_pair(one, labelled), _pair(other, labelled)) for one, other in zip(truth, guess, strict=True)]
        known = [(one, other) for one, other in pairs if None not in one]
        words, unknown = words + len(known), unknown + len(pairs) - len(known)
        heads += sum(one[0] == other[0] for one, other in known)
        right = sum(one == other for one, other in known)
        both += right
        for token, (one, other) in zip(() if X is None else X[i], pairs, strict=X is not None):
            if None not in one and not is_punctuation(token):
                rest = [rest[0] + 1, rest[1] + (one[0] == other[0]), rest[2] + (one == other)]
        if len(known) == len(pairs):
            whole, exact = whole + 1, exact + (right == len(pairs))
    if not words:
        raise DataError("there is nothing to compare with: no head is known")
    las, without = both / words if labelled else None, None
    if rest[0]:
        without = Attachment(rest[0], rest[1] / rest[0], rest[2] / rest[0] if labelled else None)
    return TreeScores(
        len(y_true), words, heads / words, las, exact / whole if whole else 0.0, whole, unknown, without=without
    )


def is_punctuation(token: Any) -> bool:
    """Whether all characters of a word are punctuation; token: the word, or a tuple that begins with it."""
    return all(map(_is_mark, token if isinstance(token, str) else token[0]))


@cache
def _is_mark(character: str) -> bool:
    return category(character).startswith("P")


def link_scores(y_true: Sequence[Any], y_pred: Sequence[Any]) -> LinkScores:
    """Return the scores of links.

    Parameters
    ----------
    y_true : sequence
        The true links of each pair, as `Aligning` and `Matching` have them.
    y_pred : sequence
        The predicted links of each pair.

    Returns
    -------
    LinkScores
        Precision, recall and F1 of all links, and the share of pairs with exactly the right ones.
    """
    _require_as_many(y_true, y_pred)
    if not len(y_true):
        raise DataError("there is nothing to compare with: no links are known")
    known = found = right = exact = 0
    for truth, guess in zip(y_true, y_pred, strict=True):
        one, other = (set(map(as_segments, links)) for links in (truth, guess))
        known, found, right, exact = (
            known + len(one),
            found + len(other),
            right + len(one & other),
            exact + (one == other),
        )
    return LinkScores(len(y_true), Score.from_counts(right, found, known), exact / len(y_true))


def alignment_scores(y_true: Sequence[Any], y_pred: Sequence[Any]) -> AlignmentScores:
    """Return the alignment error rate, precision and recall of word alignments.

    Parameters
    ----------
    y_true : sequence of GoldLinks
        The sure and the possible links of each pair, as `read_links` gives them.
    y_pred : sequence
        The predicted links (i, j) of each pair.

    Returns
    -------
    AlignmentScores
        The scores over all links of all pairs.
    """
    _require_as_many(y_true, y_pred)
    links = sure = possible = surely = possibly = 0
    for truth, guess in zip(y_true, y_pred, strict=True):
        found, certain = {(int(i), int(j)) for i, j in guess}, set(truth.sure)
        allowed = certain | set(truth.possible)
        links, sure, possible = links + len(found), sure + len(certain), possible + len(allowed)
        surely, possibly = surely + len(found & certain), possibly + len(found & allowed)
    if not possible:
        raise DataError("there is nothing to compare with: no links are known")
    return AlignmentScores(
        len(y_true),
        1.0 - (surely + possibly) / (links + sure) if links + sure else 1.0,
        possibly / links if links else 0.0,
        surely / sure if sure else 0.0,
        links,
        sure,
        possible,
    )


def as_segments(link: Any) -> tuple[int, int, int, int]:
    """Return where the source and the target of a link begin and end, however it is written."""
    (i, i2), (j, j2) = ((end, end + 1) if not hasattr(end, "__len__") else end for end in link)
    return int(i), int(i2), int(j), int(j2)


def _pair(one: Any, labelled: bool) -> tuple[Any, ...]:
    """A head with its label, or alone."""
    several = isinstance(one, tuple | list)
    if not labelled:
        return (one[0],) if several else (one,)
    if one is not None and not several:
        raise DataError(f"with labels, an output has a pair (head, label) for every word, got {one!r}")
    return (None, None) if one is None else tuple(one)


def _require_as_many(y_true: Sequence[Any], y_pred: Sequence[Any]) -> None:
    if len(y_true) != len(y_pred):
        raise DataError(f"expected as many predicted outputs as true ones ({len(y_true)}), got {len(y_pred)}")
