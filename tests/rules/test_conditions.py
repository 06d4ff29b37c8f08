"""Where conditions find what they read: in strings, tuples and feature dicts."""

import numpy as np
import pytest

from sidelight import CCM, HMM, DataError, StructuredPerceptron, TagDictionary, check, column, pos, where, word
from sidelight.rules.conditions import mask_of

DICTS = [[{"word": "pp", "pos": "N", "bias": 1.0}, {"word": "12", "pos": "CD"}], [{"word": "a", "pos": "D"}]]


def test_conditions_read_words_of_feature_dicts():
    assert mask_of(word.isdigit(), DICTS).tolist() == [False, True, False]
    assert mask_of(word[-1].isin("pp") & pos.isin("CD"), DICTS).tolist() == [False, True, False]
    rule = where(word.isin("pp")).label("A")
    assert check([rule], DICTS, [["A", "B"], ["B"]])[0].violations == 0
    assert TagDictionary({"pp": {"A"}}).apply(DICTS) == [[{"A"}, None], [None]]


def test_rules_about_words_around_feature_dicts():
    learner = CCM(StructuredPerceptron(epochs=1), [where(word.isin("pp")).label("B").hard()])
    fitted = learner.fit(DICTS, [["A", "B"], ["B"]])
    assert fitted.predict([[{"word": "pp"}]]) == [["B"]]


def test_words_that_are_not_there():
    for X, condition, message in [
        ([[{"word": "a"}, {"w": "b"}]], word, "sequence 0, token 1: word reads the key 'word', which must be a string"),
        ([[{"word": "a"}]], pos.isin("N"), "token 0: pos.isin.* reads the key 'pos', .* got None"),
        ([[{"word": 3}]], word, "token 0: word reads the key 'word', .* got 3"),
        ([[{"word": "a"}]], column(2), r"column\(2\) is a column of tuples, and X holds feature dicts"),
        ([np.zeros((2, 3))], word, "word reads tokens, and X holds arrays; give feature dicts with the key 'word'"),
    ]:
        with pytest.raises(DataError, match=message):
            mask_of(condition, X)


def test_labels_that_are_misspelt_get_a_hint():
    rule = where(word.isin("pp")).label("autor")
    with pytest.warns(UserWarning, match="names the label 'autor', which no sequence has.*; did you mean 'author'"):
        CCM(HMM(), [rule]).fit([["a", "b"]], [["author", "title"]])
    with pytest.raises(DataError, match=r"known are author, title; did you mean 'title'\?"):
        HMM(classes=["author", "title"]).fit([["a", "b"]], [["author", "titel"]])
