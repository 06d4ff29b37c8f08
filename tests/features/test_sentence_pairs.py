"""Features of sentence pairs."""

from functools import cache

import numpy as np
import pytest

from sidelight import DataError, Sentence
from sidelight.features.sentence_pairs import ALIKE, SAME_LEMMA, similarities, stem
from sidelight.kernels import spelling


def letters(*words):
    starts = np.concatenate(([0], np.cumsum([len(word) for word in words]))).astype(np.int64)
    return np.array([ord(letter) for word in words for letter in word], np.int32), starts


def distance(one, other):
    """Edit distance by its definition."""

    @cache
    def d(i, j):
        if not i or not j:
            return i + j
        return min(d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + (one[i - 1] != other[j - 1]))

    return d(len(one), len(other))


def test_words_are_compared_by_edit_distance_and_prefix():
    words = "sitting", "kitten", "abcdxyz", "abcdefgh", "ab", "ac", "colour", "color", "x"
    table = np.empty((len(words), len(words)))
    spelling.similarities(*letters(*words), *letters(*words), 4, table)
    for i, one in enumerate(words):
        for j, other in enumerate(words):
            longest, shortest = max(len(one), len(other)), min(len(one), len(other))
            prefix = sum(one[: k + 1] == other[: k + 1] for k in range(shortest))
            near = 1 - distance(one, other) / longest if 2 * shortest >= longest else 0.0
            expected = float(one == other) if longest < 4 else max(near, prefix / longest)
            assert table[i, j] == pytest.approx(expected), (one, other)


def test_similarity():
    source = Sentence(["He", "sold", "21", "cars", "modernised"], lemmas=["he", "sell", "21", "car", "modernise"])
    target = Sentence(["he", "sells", "22", "Car", "modernized"], lemmas=["he", "sell", "22", "car", "modernize"])
    table = similarities(source, target)
    assert np.diag(table).tolist() == [1.0, SAME_LEMMA, 0.0, SAME_LEMMA, ALIKE]
    without = similarities(Sentence(source.words), Sentence(target.words))
    assert without[1, 1] < SAME_LEMMA == without[3, 3]


def test_stems():
    assert stem("stopped") == stem("Stops") == stem("stop")
    assert stem("is") == "is"


def test_trees_become_edges():
    sentence = Sentence.parsed(["a", "b", "c"], [2, 0, 2], ["x", "root", "y"], tags=["A", "B", "C"])
    assert sentence.edges == [(1, 0, "x"), (1, 2, "y")]
    assert list(sentence) == ["a", "b", "c"]
    assert len(sentence) == 3
    assert Sentence.parsed(["a", "b"], [0, 1]).edges == [(0, 1)]
    with pytest.raises(DataError, match="2 words, 1 heads"):
        Sentence.parsed(["a", "b"], [0])
