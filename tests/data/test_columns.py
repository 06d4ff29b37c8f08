import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight.data import read_columns, write_columns
from sidelight.data.columns import column_rows
from sidelight.errors import DataError

CHUNKS = ["He PRP B-NP\n", "ran  VBD\tB-VP\n", "\n", " \t\n", "Stop VB B-VP"]


def test_columns_and_labels():
    X, y = read_columns(CHUNKS)
    assert X == [[("He", "PRP"), ("ran", "VBD")], [("Stop", "VB")]]
    assert y == [["B-NP", "B-VP"], ["B-VP"]]


def test_label_column_can_be_any():
    assert read_columns(CHUNKS, label=1)[1] == [["PRP", "VBD"], ["VB"]]
    X, y = read_columns(CHUNKS, label=-3)
    assert X[1] == [("VB", "B-VP")]
    assert y[1] == ["Stop"]


def test_files_without_labels():
    X, y = read_columns(CHUNKS, label=None)
    assert X[1] == [("Stop", "VB", "B-VP")]
    assert y == [None, None]
    assert read_columns(["a\n", "b\n", "\n", "c\n"], label=None) == ([["a", "b"], ["c"]], [None, None])


def test_one_column_beside_the_label_makes_strings():
    assert read_columns(["a X\n", "b Y\n"]) == ([["a", "b"]], [["X", "Y"]])


def test_tabs_keep_spaces_in_tokens():
    assert read_columns(["New York\tLOC\n", " \tO\n"], separator="\t") == ([["New York", " "]], [["LOC", "O"]])


def test_no_break_spaces_are_part_of_tokens():
    assert read_columns(["10\u00a0000 NUM\n"]) == ([["10\u00a0000"]], [["NUM"]])


def test_file_with_mark_and_windows_ends(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(b"\xef\xbb\xbfa\tX\r\n\r\nb\tY")
    assert read_columns(path, separator="\t") == ([["a"], ["b"]], [["X"], ["Y"]])


def test_comments_are_skipped_only_if_asked():
    lines = ["# 1\n", "a X\n"]
    assert read_columns(lines, comment="#") == ([["a"]], [["X"]])
    assert read_columns(lines) == ([["#", "a"]], [["1", "X"]])


def test_partial_labels():
    lines = ["a ?\n", "b X|Y\n", "c X\n"]
    assert read_columns(lines, partial=True)[1] == [[None, frozenset({"X", "Y"}), "X"]]
    assert read_columns(lines)[1] == [["?", "X|Y", "X"]]


def test_empty_input():
    assert read_columns([]) == ([], [])


def test_ragged_columns_name_file_line_counts_and_content(tmp_path):
    path = tmp_path / "ragged.txt"
    path.write_text("a b X\n\nc X\n")
    with pytest.raises(DataError, match=r"ragged\.txt:3: expected 3 columns, found 2: 'c X'; mend the line"):
        read_columns(path)


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (["word\n"], {}, r"<lines>:1: expected a token and a label, found 1 column: 'word'; .*label=None"),
        (["a b\n"], {"separator": "\t"}, "found 1 column: 'a b'; give the separator"),
        (["a X\n"], {"label": 2}, "<lines>:1: expected the label in column 2, found 2 columns"),
        (["a X\n"], {"label": -3}, "expected the label in column -3, found 2 columns"),
        (["a\tX\n", "b\t\n"], {"separator": "\t"}, "<lines>:2: expected a label, found an empty column"),
        (["a X|\n"], {"partial": True}, r"<lines>:1: expected labels around each '\|', found 'X\|'"),
    ],
)
def test_malformed_lines(lines, options, message):
    with pytest.raises(DataError, match=message):
        read_columns(lines, **options)


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1).filter(
    lambda cell: cell.strip(" \f\v") and not cell.startswith("\ufeff")
)
LABEL = st.sampled_from(["X", "Y-1", "B-Z"])
PARTIAL = st.one_of(LABEL, st.none(), st.frozensets(LABEL, min_size=2))


@given(st.lists(st.lists(st.tuples(CELL, CELL, PARTIAL), min_size=1)))
def test_round_trip(sequences):
    X = [[token[:2] for token in sequence] for sequence in sequences]
    y = [[token[2] for token in sequence] for sequence in sequences]
    target = io.StringIO()
    write_columns(target, X, y)
    assert read_columns(io.StringIO(target.getvalue()), separator="\t", partial=True) == (X, y)


def test_what_is_written(tmp_path):
    path = tmp_path / "a.txt"
    write_columns(path, [["a", "b"], ["c"]], [["X", {"Z", "Y"}], None], separator=" ")
    assert path.read_text() == "a X\nb Y|Z\n\nc ?\n\n"
    write_columns(path, [[("a", "b")]])
    assert path.read_text() == "a\tb\n\n"


@pytest.mark.parametrize(
    ("X", "y", "separator", "message"),
    [
        ([["a"]], [["X"], ["Y"]], "\t", r"as many label sequences as token sequences \(1\), got 2"),
        ([["a"], ["b", "c"]], [["X"], ["Y"]], "\t", "sequence 1: expected 2 labels, one a token, got 1"),
        ([["a"]], ["X"], "\t", "sequence 0: columns cannot hold 'X' as labels; write JSON lines"),
        ([["a"]], [[1]], "\t", "sequence 0: expected a label .*, got 1"),
        ([["a"]], [[frozenset()]], "\t", "sequence 0: expected a label"),
        ([["a"]], [[""]], "\t", "sequence 0: expected a label, got an empty string"),
        ([["a", "b"]], [["X|Y", None]], "\t", r"beside partial labels, 'X\|Y' would not be read back"),
        ([["a", "b"]], [["?", None]], "\t", r"beside partial labels, '\?' would not be read back"),
        ([["a", "b\tc"]], None, "\t", r"sequence 0, position 1: columns are separated by '\\t', so"),
        ([["b c"]], None, " ", "sequence 0, position 0: columns are separated by ' ', so"),
        ([["b\tc"]], None, " ", "would not be read back as it is"),
        ([["b\nc"]], None, "\t", "would not be read back as it is"),
        ([["b\r"]], None, "\t", "would not be read back as it is"),
        ([[("", "c")]], None, " ", "would not be read back as it is"),
        ([[""]], None, "\t", "would not be read back as it is"),
        ([[{"w": "a"}]], None, "\t", "cannot hold tokens that are dicts; write JSON lines"),
    ],
)
def test_what_cannot_be_written_leaves_no_file(tmp_path, X, y, separator, message):
    path = tmp_path / "a.txt"
    with pytest.raises(DataError, match=message):
        write_columns(path, X, y, separator=separator)
    assert not path.exists()


def test_companions_cannot_be_written_in_columns():
    from sidelight.supervision import GOOD

    with pytest.raises(DataError, match=r"sequence 0: columns cannot hold .*GOOD.*; write JSON lines"):
        write_columns(io.StringIO(), [["a"]], [GOOD])


def test_other_separators_of_ascii_are_parts_of_tokens():
    assert read_columns(["a\x1cb X", "\x1d Y"]) == ([["a\x1cb", "\x1d"]], [["X", "Y"]])
    with pytest.raises(DataError, match=":1: expected a token and a label"):
        read_columns(["\x1c"])


ROWS = ["1 NN dog N x\n", "2 VB barks V y\n"]


@pytest.mark.parametrize(
    ("columns", "X", "y"),
    [
        (["_", "pos", "word", "label", "_"], [("dog", "NN"), ("barks", "VB")], ["N", "V"]),
        (["_", "label", "word", "_", "_"], ["dog", "barks"], ["NN", "VB"]),
        (["_", "tag", "form", "_", "other"], [("NN", "dog", "x"), ("VB", "barks", "y")], None),
    ],
)
def test_columns_are_chosen_by_their_names(columns, X, y):
    assert read_columns(ROWS, columns=columns) == ([X], [y])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["word", "label"], r"<lines>:1: expected 2 columns \(word, label\), found 5: .*name every column, with _"),
        ("word,label", r"columns is a list of names; write \['word', 'label'\], got 'word,label'"),
        (["word", "word", "_", "_", "_"], "expected a name of its own for every column, got 'word' twice"),
        (["word", "", "_", "_", "_"], "got an empty name"),
        (["_", "_", "_", "_", "label"], "expected a column that tokens are made of"),
        (["pos", "_", "_", "_", "label"], "expected a column called word before the one called pos"),
    ],
)
def test_names_that_do_not_fit(columns, message):
    with pytest.raises(DataError, match=message):
        read_columns(ROWS, columns=columns)


def test_all_columns_of_a_file():
    rows = column_rows(["# c\n", "a b\n", "\n", "\n", "c d\n"], comment="#")
    assert rows == [[["a", "b"]], [["c", "d"]]]
