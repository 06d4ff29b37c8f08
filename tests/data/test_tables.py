"""Tables of pandas, polars, pyarrow and datasets, with a row for each token or for each sequence."""

import pytest

from sidelight import HMM, DataError, read_table, write_table
from sidelight.containers import plain_inputs

TOKENS = {"s": ["b", "b", "a", "b"], "word": ["u", "v", "w", "x"], "pos": [1, 2, 1, 1], "label": ["A", None, None, "B"]}
LISTS = {"words": [["u", "v"], [], ["w"]], "pos": [["N", "V"], [], ["N"]], "labels": [["A", "B"], [], None]}


def made(library, columns):
    module = pytest.importorskip(library)
    if library == "datasets":
        return module.Dataset.from_dict(columns)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


LIBRARIES = pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "datasets"])


@LIBRARIES
def test_a_row_for_each_token(library):
    table = made(library, TOKENS)
    assert read_table(table, "word", "label", sequence="s") == ([["u", "v", "x"], ["w"]], [["A", None, "B"], None])
    assert read_table(table, ["word", "pos"], sequence="s")[0] == [[("u", "1"), ("v", "2"), ("x", "1")], [("w", "1")]]
    out = write_table(table, [["A", "B", "C"], ["D"]], sequence="s")
    assert list(out["predicted"].to_pylist() if library == "pyarrow" else out["predicted"]) == ["A", "B", "D", "C"]
    assert "predicted" not in (table.columns if library in ("pandas", "polars") else table.column_names)


@LIBRARIES
def test_a_row_for_each_sequence(library):
    table = made(library, LISTS)
    X, y = read_table(table, "words", "labels")
    assert (X, y) == ([["u", "v"], [], ["w"]], [["A", "B"], [], None])
    assert read_table(table, ["words", "pos"]) == ([[("u", "N"), ("v", "V")], [], [("w", "N")]], [None] * 3)
    assert read_table(write_table(table, [["A", "B"], [], ["C"]], "new"), "words", "new") == (
        X,
        [["A", "B"], [], ["C"]],
    )


@LIBRARIES
def test_learners_take_columns(library):
    table = made(library, LISTS)
    model = HMM().fit(table["words"][:2], table["labels"][:2])
    assert model.predict(table["words"]) == model.predict(LISTS["words"])


def test_integers_of_a_class_label_become_its_names():
    datasets = pytest.importorskip("datasets")
    names = datasets.ClassLabel(names=["O", "B-x"])
    kinds = {"tokens": datasets.Sequence(datasets.Value("string")), "tags": datasets.Sequence(names)}
    rows = {"tokens": [["u", "v"], ["w"]], "tags": [[1, 0], [0]]}
    data = datasets.Dataset.from_dict(rows, features=datasets.Features(kinds))
    assert read_table(data, "tokens", "tags")[1] == [["B-x", "O"], ["O"]]
    assert HMM().fit(data["tokens"], data["tags"]).classes_ == ["B-x", "O"]
    assert plain_inputs(data) == [[("u", "B-x"), ("v", "O")], [("w", "O")]]
    flat = datasets.Dataset.from_dict({"w": ["u"], "s": [0], "t": [1]}, features=datasets.Features(
        {"w": datasets.Value("string"), "s": datasets.Value("int64"), "t": names}
    ))  # fmt: skip
    assert read_table(flat, "w", "t", sequence="s") == ([["u"]], [["B-x"]])


def test_bad_tables():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TOKENS)
    for call, message in [
        (lambda: read_table([["a"]], "word"), "expected a table of pandas, polars, pyarrow or datasets, got list"),
        (lambda: read_table(frame, "wrod"), "the table has no column 'wrod'; it has s, word, .*; did you mean 'word'?"),
        (lambda: read_table(frame, []), "name at least one column"),
        (lambda: read_table(frame, "word"), "row 0: expected a list of tokens in the column 'word', got 'u'; where"),
        (lambda: read_table(frame, "label", sequence="s"), "row 1: nothing is in the column 'label'; pandas takes"),
        (lambda: read_table(frame, "word", sequence="label"), "row 1: the sequence is missing"),
        (lambda: write_table(frame, [["A"]], sequence="s"), "the table has 2 sequences but there are labels of 1"),
        (lambda: write_table(frame, [["A"], ["B"]], sequence="s"), "sequence 0 has 3 rows but 1 labels"),
        (lambda: write_table(frame, [["A"]]), "the table has 4 rows but there are labels of 1 sequences"),
        (
            lambda: read_table(pandas.DataFrame({"a": [["x"]], "b": [[]]}), ["a", "b"]),
            "sequence 0 has different numbers of tokens: 1 in a, 0 in b",
        ),
    ]:
        with pytest.raises(DataError, match=message):
            call()
