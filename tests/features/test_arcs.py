"""Features of arcs: what is worked out on numbers is what feature dicts say."""

import zipfile
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from sidelight import CRF, DataError, Parsing, load, register_task
from sidelight.features.arcs import ArcEncoder
from sidelight.features.dicts import DictEncoder
from sidelight.features.parts import PartsEncoder
from sidelight.scorers.parts import PartScorer
from sidelight.structures.trees import Trees

WORDS, TAGS = ["a", "dog", "sees", "<root>", "", "ß"], ["D", "N", "V", "", "<none>"]


def sentences(seed, lengths, words=WORDS, tags=TAGS):
    """Random sentences of (word, tag)."""
    rng = np.random.default_rng(seed)
    return [[(str(rng.choice(words)), str(rng.choice(tags))) for _ in range(n)] for n in lengths]


def both(min_count=1, task=None):
    """The encoder on numbers and the one of feature dicts."""
    task = task or Parsing()
    return task.choose_encoder([["a"]], None, min_count, 1), PartsEncoder(task.describe, DictEncoder(min_count))


def rows(encoder, encoded):
    """The attributes of every arc in words."""
    names = [encoder.describe(a) for a in range(encoded.attributes)]
    assert len(encoded.values) == 0
    assert encoded.indices.dtype == np.int32
    return [sorted(names[a] for a in encoded.indices[lo:hi].tolist()) for lo, hi in pairwise(encoded.indptr)]


def assert_same(X, X_new, min_count=1):
    """Both encoders give every arc the same attributes."""
    quick, plain = both(min_count)
    assert isinstance(quick, ArcEncoder)
    for call, some in (("fit_transform", X), ("transform", X_new)):
        found, expected = getattr(quick, call)(some), getattr(plain, call)(some)
        assert rows(quick, found) == rows(plain, expected)
        assert np.array_equal(found.offsets, expected.offsets)
        assert np.array_equal(found.shapes, expected.shapes)
        assert found.attributes == expected.attributes


@pytest.mark.parametrize("min_count", [1, 2, 7])
@pytest.mark.parametrize("seed", range(4))
def test_attributes_are_those_of_the_dicts(seed, min_count):
    X = sentences(seed, [1, 2, 5, 14, 3, 30])
    X_new = sentences(seed + 100, [4, 1, 25, 2], [*WORDS, "new"], [*TAGS, "X", "<end>"])
    assert_same(X, X_new, min_count)


def test_words_without_tags():
    assert_same([["the", "dog", "sees"], ["dog"]], [["dog", "sees", "the", "cat"]])


def test_scores_are_those_of_the_dicts():
    X, X_new = sentences(0, [3, 12, 7, 1]), sentences(1, [6, 2, 9], [*WORDS, "new"])
    quick, plain = both()
    found, expected = quick.fit_transform(X), plain.fit_transform(X)
    names = [plain.describe(a) for a in range(expected.attributes)]
    weight = dict(zip(names, np.random.default_rng(2).normal(size=len(names)), strict=True))
    for a, b in ((found, expected), (quick.transform(X_new), plain.transform(X_new))):
        scores = []
        for encoder, some in ((quick, a), (plain, b)):
            w = np.array([weight[encoder.describe(k)] for k in range(some.attributes)])
            scores.append(PartScorer(len(w), Trees(1), 1).scores(some, w).values)
        np.testing.assert_allclose(*scores, rtol=0, atol=1e-12)


def test_what_has_spaces_stays_apart():
    quick, _ = both()
    encoded = quick.fit_transform([[("a b", "c"), ("a", "b c")]])
    names = [quick.describe(a) for a in range(encoded.attributes)]
    assert names.count("cw ct=a b c") == 2


def test_the_state_says_everything():
    X, X_new = sentences(0, [3, 12, 7, 1]), sentences(1, [6, 2, 9])
    encoder, _ = both(2)
    encoded = encoder.fit_transform(X)
    again = Parsing().restore_encoder(*encoder.state())
    assert isinstance(again, ArcEncoder)
    assert again.min_count == 2
    assert [again.describe(a) for a in range(encoded.attributes)] == [
        encoder.describe(a) for a in range(encoded.attributes)
    ]
    assert rows(again, again.transform(X_new)) == rows(encoder, encoder.transform(X_new))


def test_no_sentences_are_encoded_as_none():
    encoder, _ = both()
    encoder.fit_transform(sentences(0, [3, 2]))
    assert len(encoder.transform([])) == 0


def test_an_attribute_that_is_not_there():
    encoder, _ = both()
    encoder.fit_transform([["a"]])
    with pytest.raises(DataError, match="no attribute 1000"):
        encoder.describe(1000)


@pytest.mark.parametrize("bad", ["dog", [], [3], [("a", 3)], [()]])
def test_bad_sentences_are_named(bad):
    encoder, _ = both()
    encoder.fit_transform([["a"]])
    with pytest.raises(DataError, match="sentence 1"):
        encoder.transform([["a"], bad])


def test_a_string_is_no_list_of_sentences():
    encoder, _ = both()
    with pytest.raises(DataError, match="a list of sentences"):
        encoder.fit_transform("dog")


def test_too_many_tags_are_refused():
    encoder, _ = both()
    with pytest.raises(DataError, match="too many for the feature 'tags'"):
        encoder.fit_transform([[("a", str(k))] for k in range(60_000)])


@register_task
@dataclass(frozen=True)
class Capitals(Parsing):
    """Features beside the usual ones."""

    def describe(self, x):
        shape, parts = super().describe(x)
        return shape, [{**one, "same": one["hw"][:1].isupper() == one["cw"][:1].isupper()} for one in parts]


@register_task
@dataclass(frozen=True)
class Renamed(Parsing):
    """The usual features under another name."""


def test_features_of_a_subclass_are_dicts(tmp_path):
    X, y = [["Dogs", "See", "cats"], ["cats", "Run"]], [[2, 0, 2], [2, 0]]
    learner = CRF(task=Capitals()).fit(X, y)
    assert isinstance(learner.encoder_, PartsEncoder)
    assert "same" in [learner.encoder_.describe(a) for a in range(len(learner.weights_))]
    learner.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(X) == learner.predict(X)
    assert isinstance(CRF(task=Renamed()).fit(X, y).encoder_, ArcEncoder)


@pytest.mark.parametrize("labelled", [False, True])
def test_model_files_hold_plain_arrays(labelled, tmp_path):
    X, X_new = sentences(0, [3, 5, 2, 4]), sentences(1, [6, 2, 9])
    y = [[0, *([1] * (len(x) - 1))] for x in X]
    if labelled:
        y = [[(head, "root" if not head else "dep") for head in heads] for heads in y]
    learner = CRF(task=Parsing(labelled=labelled), min_count=2).fit(X, y)
    learner.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.predict(X_new) == learner.predict(X_new)
    for a, b in zip(again.predict_marginals(X_new), learner.predict_marginals(X_new), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again.top_weights(5) == learner.top_weights(5)
    with zipfile.ZipFile(tmp_path / "model") as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    np.lib.format.read_array(member, allow_pickle=False)


def test_other_features_are_refused():
    with pytest.raises(DataError, match="features of its own"):
        Parsing().choose_encoder([["a"]], ["word"], 1, 1)
