"""X and y in containers of NumPy and pandas; the other libraries are tried in tests/data."""

import numpy as np
import pytest

from sidelight import CCM, CRF, DataError, check, where, word
from sidelight.containers import plain_inputs, plain_outputs

X, Y = [["a", "b"], [], ["c", "d"]], [["A", "B"], [], None]


def objects(values):
    out = np.empty(len(values), object)
    out[:] = values
    return out


def test_what_is_plain_stays_as_it_is():
    for value in (X, [{"a": 1}], [[("a", "N")]], [np.zeros((2, 3))], np.zeros((2, 3)), None, "abc", 3, [None]):
        assert plain_inputs(value) is value or plain_inputs(value)[0] is value[0]
    for value in (Y, None, ["A", "B"], np.array([0, 1]), np.array(["A", "B"])):
        assert plain_outputs(value) is value or plain_outputs(value) == value


def test_arrays_of_strings():
    assert plain_inputs([np.array(["a", "b"]), np.array([], str), ["c", "d"]]) == X
    assert plain_inputs(np.array([["a", "b"], ["c", "d"]])) == [["a", "b"], ["c", "d"]]
    assert plain_inputs([np.array([["a", "N"], ["b", "V"]])]) == [[("a", "N"), ("b", "V")]]
    assert plain_inputs(objects(X)) == X
    assert plain_inputs([np.array(["a", "b"], object)]) == [["a", "b"]]
    assert plain_outputs(objects(Y)) == Y
    assert plain_outputs([np.array(["A", "B"]), np.array([], str), None]) == Y


def test_columns_and_tables_of_pandas():
    pandas = pytest.importorskip("pandas")
    assert plain_inputs(pandas.Series(X, index=[7, 8, 9])) == X
    assert plain_inputs([pandas.Series(x, dtype=str) for x in X]) == X
    assert plain_inputs(pandas.DataFrame({"w": X})) == X
    assert plain_inputs(pandas.DataFrame({"w": X[:1], "p": Y[:1]})) == [[("a", "A"), ("b", "B")]]
    assert plain_inputs([pandas.DataFrame({"w": ["a"], "p": ["N"]})]) == [[("a", "N")]]
    assert plain_inputs(pandas.DataFrame({"x": [1.0, 2.0]})).tolist() == [[1.0], [2.0]]
    assert plain_outputs(pandas.Series([["A", "B"], [], np.nan])) == Y
    assert plain_outputs(pandas.Series(["A", None, pandas.NA], dtype=object)) == ["A", None, None]
    with pytest.raises(DataError, match=r"read it with read_table\(table, .*\); there are s, w"):
        plain_inputs(pandas.DataFrame({"s": [0], "w": ["a"]}))


def test_what_is_not_loaded_yet():
    polars = pytest.importorskip("polars")
    with pytest.raises(DataError, match=r"a LazyFrame by \.collect\(\)"):
        plain_inputs(polars.DataFrame({"w": X}).lazy())


def test_parts_of_a_data_set():
    datasets = pytest.importorskip("datasets")
    with pytest.raises(DataError, match="choose one of the parts train, and a column of it"):
        plain_inputs(datasets.DatasetDict(train=datasets.Dataset.from_dict({"w": X})))


ATTRIBUTES = [[["word=a", "t=b"], ["word=1", "t=d", "bias", "EOS"]], [], [["word=1", "t=d", "bias", "BOS"]]]
DICTS = [
    [{"word": "a", "t": "b"}, {"word": "1", "t": "d", "bias": True, "EOS": True}],
    [],
    [{"word": "1", "t": "d", "bias": True, "BOS": True}],
]


def test_lists_of_attributes_are_feature_dicts():
    assert plain_inputs(ATTRIBUTES) == DICTS
    assert plain_inputs([[tuple(token) for token in x] for x in ATTRIBUTES]) == DICTS
    odd = [["w=a", "w=b", "w=a", "x=", "=y", "z==", "q=1"]]
    assert plain_inputs([odd]) == [[{"w": "a", "w=b": True, "x": "", "=y": True, "z": "=", "q": "1"}]]


def test_models_of_attributes_are_those_of_feature_dicts():
    y = [["A", "B"], [], ["B"]]
    model, same = CRF().fit(ATTRIBUTES, y), CRF().fit(DICTS, y)
    assert (model.weights_ == same.weights_).all()
    assert model.top_weights() == same.top_weights()
    assert model.predict(ATTRIBUTES) == same.predict(DICTS) == model.predict(DICTS) == y
    assert str(model.explain(ATTRIBUTES[0], 1)) == str(same.explain(DICTS[0], 1))
    rule = where(word.isdigit()).label("B")
    assert CCM(CRF(), [rule.hard()]).fit(ATTRIBUTES, y).predict(ATTRIBUTES) == y
    assert check([rule], ATTRIBUTES, y)[0].violations == 0


@pytest.mark.parametrize(
    "X",
    [
        [[("a", "Number=Sing"), ("b", "Number=Plur")]],  # columns of CoNLL-U
        [[("=", "SYM"), ("a=b", "X"), ("c", "X")]],
        [["a=b", "c=d"]],  # words
        [[["bias"], ["bias"]]],
    ],
)
def test_columns_are_no_attributes(X):
    assert plain_inputs(X) is X


def test_what_is_no_list_of_attributes_beside_some():
    with pytest.raises(DataError, match=r"sequence 1, token 1: expected a list of attributes.*, got \('w=a', 3\)"):
        plain_inputs([[["w=a"]], [["w=a"], ("w=a", 3)]])
