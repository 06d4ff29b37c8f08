"""Classes of words by the words beside them, in place of the Brown clusters of section 5.3 of Dhillon et al. 2012.

Rows of positive pointwise mutual information with the left and right neighbour, reduced by an SVD, in k-means classes.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

CLASSES = 100
_DIMENSIONS, _NEIGHBOURS, _LEAST = 50, 1000, 2
_EDGE, _UNKNOWN = "", "?"


def learn_classes(X: Sequence[Sequence[str]]) -> dict[str, str]:
    """The class of every word that occurs twice, without regard to case and digits."""
    text = [[_EDGE, *map(plain, x), _EDGE] for x in X]
    counts = Counter(word for x in text for word in x[1:-1])
    words = {word: n for n, (word, count) in enumerate(counts.most_common()) if count >= _LEAST}
    beside = {word: n for n, (word, _) in enumerate(counts.most_common(_NEIGHBOURS), start=2)} | {_EDGE: 1}
    entries = [
        (words[x[t]], side * (_NEIGHBOURS + 2) + beside.get(x[t + step], 0))
        for x in text
        for t in range(1, len(x) - 1)
        if x[t] in words
        for side, step in enumerate((-1, 1))
    ]
    table = _information(np.array(entries), len(words))
    places = normalize(TruncatedSVD(min(_DIMENSIONS, min(table.shape) - 1), random_state=0).fit_transform(table))
    weight = np.sqrt([counts[word] for word in words])
    found = KMeans(min(CLASSES, len(words)), n_init=3, random_state=0).fit(places, sample_weight=weight).labels_
    return {word: f"class {found[n]}" for word, n in words.items()}


def with_classes(X: Sequence[Sequence[str]], classes: dict[str, str]) -> list[Any]:
    """Tokens as (word, class)."""
    return [[(word, classes.get(plain(word), _UNKNOWN)) for word in x] for x in X]


def plain(word: str) -> str:
    """A word without case, with all digits alike."""
    return re.sub(r"\d", "0", word.lower())


def _information(entries: Any, words: int) -> Any:
    """Positive pointwise mutual information of (word, neighbour) pairs."""
    shape = (words, 2 * (_NEIGHBOURS + 2))
    counts = csr_matrix((np.ones(len(entries)), entries.T), shape=shape).tocoo()
    counts.sum_duplicates()
    rows, columns = (np.asarray(counts.sum(axis=axis)).ravel() for axis in (1, 0))
    ratio = counts.data * counts.sum() / (rows[counts.row] * columns[counts.col])
    return csr_matrix((np.maximum(np.log(ratio), 0.0), (counts.row, counts.col)), shape=shape)
