"""Tag dictionaries as partial labels."""

import numpy as np
import pytest

from sidelight import CRF, EM, HMM, Combined, ContrastiveEstimation, DataError, TagDictionary, check, word
from sidelight.supervision import Signal, kind_of
from tests.learners.samples import as_columns, labelled

X, Y = labelled()


def test_labels_that_words_have():
    tags = TagDictionary.of([["a", "b"], ["a", "c", "a"]], [["N", "V"], ["V", "N", "V"]])
    assert tags.labels == {"a": {"N", "V"}, "b": {"V"}, "c": {"N"}}
    assert tags.apply([["c", "a"], ["?"]]) == [[{"N"}, {"N", "V"}], [{"N", "V"}]]


def test_unknown_words_may_have_the_open_labels():
    assert TagDictionary({"the": {"DET"}}, {"NOUN", "VERB"}).apply([["the", "blip"]]) == [[{"DET"}, {"NOUN", "VERB"}]]
    rare = TagDictionary.of(X, Y, open={"A"}, min_count=5)
    assert rare.apply([["nothing"]]) == [[{"A"}]]
    counts = {w: sum(x.count(w) for x in X) for x in X for w in x}
    assert rare.labels.keys() == {w for w, count in counts.items() if count >= 5}


def test_rare_labels_of_a_word():
    sentences, labels = [["a"]] * 20, [["N"]] * 19 + [["V"]]
    assert TagDictionary.of(sentences, labels, min_share=0.1).labels == {"a": {"N"}}
    assert TagDictionary.of(sentences, labels, min_share=0.05).labels == {"a": {"N", "V"}}


def test_what_is_looked_up():
    tags = TagDictionary.of([["Play", "play"]], [["NOUN", "VERB"]], word=word.lower())
    assert tags.apply([["PLAY"]]) == [[{"NOUN", "VERB"}]]
    columns = TagDictionary.of(as_columns(X), Y, word="pos")
    assert set(columns.labels) == {"N", "V"}
    assert columns.apply(as_columns(X)[:1])[0][0] == columns.labels["N"]


def test_gold_labels_agree_with_their_dictionary():
    known = TagDictionary.of(X, Y).apply(X)
    assert all(label in labels for a, b in zip(Y, known, strict=True) for label, labels in zip(a, b, strict=True))
    assert {kind_of(one) for one in known} == {Signal.PARTIAL}


@pytest.mark.parametrize("learner", [EM(HMM(), iterations=3), CRF(), ContrastiveEstimation()], ids=str)
def test_learners_take_it(learner):
    known = TagDictionary.of(X, Y).apply(X)
    model = learner.fit(X, known)
    found = model.complete(X, known)
    assert all(label in labels for a, b in zip(found, known, strict=True) for label, labels in zip(a, b, strict=True))
    right = [a == b for x, y in zip(found, Y, strict=True) for a, b in zip(x, y, strict=True)]
    assert np.mean(right) > 0.75


@pytest.mark.parametrize("open_labels", [frozenset(), {"N"}], ids=["any", "open"])
def test_rules_are_broken_where_the_dictionary_is_contradicted(open_labels):
    tags = TagDictionary({"a": {"N", "V"}, "b": {"V"}, "c": {"V"}, "D": {"N"}}, open_labels, word.lower())
    rng = np.random.default_rng(0)
    sentences = [rng.choice(["a", "A", "b", "c", "d", "e"], size=4).tolist() for _ in range(50)]
    labels = [rng.choice(["N", "V", "X"], size=4).tolist() for _ in sentences]
    wrong = [
        allowed is not None and label not in allowed
        for sets, y in zip(tags.apply(sentences), labels, strict=True)
        for allowed, label in zip(sets, y, strict=True)
    ]
    rules = tags.rules()
    assert len(rules) == 3 + bool(open_labels)
    assert [rule.name for rule in rules][:2] == ["dictionary: N or V", "dictionary: V"]
    assert sum(found.violations for found in check(rules, sentences, labels)) == sum(wrong) > 0


def test_a_dictionary_that_labels_contradict():
    """As hard limits it is an error that names `rules()`, which labels may break."""
    tags = TagDictionary({"a": {"N"}, "b": {"V"}})
    sentences, labels = [["a", "b"], ["b", "a"], ["a", "a"], ["b"]], [["N", "V"], ["V", "N"], ["N", "V"], None]
    with pytest.raises(DataError, match=r"token 1: y says 'V', and the dictionary 'N'; .* give dictionary.rules\(\)"):
        Combined(HMM(), dictionary=tags, weights={}).fit(sentences, labels)
    fitted = Combined(HMM(), tags.rules(), weights={}, iterations=2).fit(sentences, labels)
    assert fitted.predict([["a", "b"]]) == [["N", "V"]]
    first, second = (reading.penalty for reading in fitted.rule_readings())
    assert 0 < first < second


def test_bad_dictionaries():
    with pytest.raises(DataError, match="the labels of 'a' must be a non-empty set of strings, got 'N'"):
        TagDictionary({"a": "N"})
    with pytest.raises(DataError, match="the labels of 'a' must be a non-empty set"):
        TagDictionary({"a": set()})
    with pytest.raises(DataError, match="the labels of 'unknown words'"):
        TagDictionary({"a": {"N"}}, "N")
    with pytest.raises(DataError, match="sequence 1: a dictionary is made of full labels"):
        TagDictionary.of([["a"], ["b"]], [["N"], None])
    with pytest.raises(DataError, match="sequence 0 has 2 tokens but 1 labels"):
        TagDictionary.of([["a", "b"]], [["N"]])
    with pytest.raises(DataError, match="min_share lies between"):
        TagDictionary.of(X, Y, min_share=0.7)
    with pytest.raises(DataError, match="column 1"):
        TagDictionary({"a": {"N"}}, word="pos").apply(X)
