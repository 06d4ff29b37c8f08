"""Features of sentence pairs."""

import sys
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from sidelight import DataError, Sentence
from sidelight.features.sentence_pairs import ALIKE, SAME_LEMMA, link_features, similarities, stem
from sidelight.kernels import spelling


def letters(*words):
    starts = np.concatenate(([0], np.cumsum([len(word) for word in words]))).astype(np.int64)
    return np.frombuffer("".join(words).encode("utf-32-le"), np.int32), starts


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


def test_links_have_a_distance_and_neighbours():
    one, other = Sentence(["The", "old", "dog"]), Sentence(["the", "dog"])
    found = link_features(one, other, np.array([[0, 0], [2, 1], [0, 1]]), np.array([1.0, 1.0, 0.5]))
    np.testing.assert_allclose([x["distance"] for x in found], [1 / 12, 1 / 12, 7 / 12])
    assert [x["equal neighbours"] for x in found] == ["1", "1", "0"]  # no word before the first, none behind the last


def test_word_vectors(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("3 2\nbuy 1 1\npurchase 2 1\nfar -1 0\n")
    one, other = Sentence(["Buy"]), Sentence(["purchase", "far", "unknown"])
    table = similarities(one, other, vectors=str(file))
    assert table[0].tolist() == [ALIKE, 0.0, 0.0]
    assert similarities(one, other)[0, 0] < 0.5
    for text, message in (
        ("a 1 2\nb 1\n", "line 2"),
        ("a x y\n", "no word vectors can be read"),
        ("", "no word vectors"),
    ):
        file = tmp_path / f"{len(text)}.txt"
        file.write_text(text)
        with pytest.raises(DataError, match=message):
            similarities(one, other, vectors=str(file))
    with pytest.raises(DataError, match="missing"):
        similarities(one, other, vectors=str(tmp_path / "missing"))


def test_wordnet(monkeypatch):
    """A small stand-in for the package wn, which is not installed with sidelight."""
    monkeypatch.setitem(sys.modules, "wn", None)
    with pytest.raises(DataError, match="pip install"):
        similarities(Sentence(["absent"]), Sentence(["missing"]), wordnet=True)

    def synsets(word, lang):
        if word == "lexicon":
            raise LookupError("no lexicon found")
        return [SimpleNamespace(pos="n", name=word), SimpleNamespace(pos="v", name=word)] if word != "xyzzy" else []

    def path(a, b, simulate_root):
        assert simulate_root
        assert a.pos == b.pos
        return 0.5 if {a.name, b.name} == {"car", "automobile"} and a.pos == "n" else 0.1

    monkeypatch.setitem(sys.modules, "wn", SimpleNamespace(synsets=synsets, Error=LookupError))
    monkeypatch.setitem(sys.modules, "wn.similarity", SimpleNamespace(path=path))
    table = similarities(Sentence(["car", "xyzzy"]), Sentence(["automobile", "on"]), wordnet=True)
    assert table.tolist() == [[0.5, 0.1], [0.0, 0.0]]
    with pytest.raises(DataError, match="an English lexicon"):
        similarities(Sentence(["lexicon"]), Sentence(["car"]), wordnet=True)


def test_word_vectors_of_a_device_are_not_read():
    """Model files name such files."""
    one = Sentence(["a"])
    with pytest.raises(DataError, match="/dev/zero: cannot read: it is no regular file"):
        similarities(one, one, vectors="/dev/zero")
