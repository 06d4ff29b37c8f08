import io

import pytest

from sidelight.data import read_conllu, write_conllu
from sidelight.errors import DataError


def row(number, form, upos="_", feats="_", deprel="_", misc="_"):
    return f"{number}\t{form}\t{form.lower()}\t{upos}\tx{upos}\t{feats}\t0\t{deprel}\t_\t{misc}\n"


TREEBANK = [
    "# text = Vámonos al mar\n",
    row("1-2", "Vámonos"),
    row("1", "Vamos", "VERB", "Mood=Imp|Number=Plur", "root", "SpaceAfter=No|free text"),
    row("2", "nos", "PRON", "Number=Plur", "obj"),
    row("2.1", "empty", "NOUN", "Number=Sing"),
    row("3", "#", "SYM"),
    "\n",
    row("1", "a b", "X"),
]


def test_words_and_tags():
    X, y = read_conllu(TREEBANK)
    assert X == [["Vamos", "nos", "#"], ["a b"]]
    assert y == [["VERB", "PRON", "SYM"], ["X"]]


def test_several_columns():
    X, y = read_conllu(TREEBANK, columns=["form", "lemma", "misc:SpaceAfter"], label="xpos")
    assert X[0] == [("Vamos", "vamos", "No"), ("nos", "nos", "_"), ("#", "#", "_")]
    assert y == [["xVERB", "xPRON", "xSYM"], ["xX"]]


def test_labels_from_features():
    assert read_conllu(TREEBANK, label="feats:Number")[1] == [["Plur", "Plur", "_"], ["_"]]
    assert read_conllu(TREEBANK, label="feats:Mood")[1] == [["Imp", "_", "_"], ["_"]]


def test_an_underscore_is_an_unknown_label():
    assert read_conllu(TREEBANK, label="deprel")[1] == [["root", "obj", None], None]


def test_partial_labels_as_in_columns():
    lines = [row(str(k), "a", upos=upos) for k, upos in enumerate(("?", "NOUN|VERB", "X", "_"), start=1)]
    assert read_conllu(lines, partial=True)[1] == [[None, frozenset(["NOUN", "VERB"]), "X", None]]
    assert read_conllu(lines)[1] == [["?", "NOUN|VERB", "X", None]]
    assert read_conllu([row("1", "a", upos="?")], partial=True)[1] == [None]
    with pytest.raises(DataError, match=r"<lines>:2: expected labels around each '\|', found '\|X'"):
        read_conllu([row("1", "a", upos="Y"), row("2", "a", upos="|X")], partial=True)


def test_no_labels():
    assert read_conllu(TREEBANK, label=None)[1] == [None, None]


def test_file_with_mark_and_windows_ends(tmp_path):
    path = tmp_path / "a.conllu"
    text = "".join(TREEBANK).rstrip("\n").replace("\n", "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_conllu(path, columns="misc") == read_conllu(TREEBANK, columns="misc")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 The the DET\n", r"a\.conllu:2: expected 10 columns, found 1: '1 The the DET'; .* single tabs"),
        (row("2", "a"), r"a\.conllu:2: expected '1' in the ID column, found '2'; words count from 1"),
        (row("x", "a"), "expected '1' in the ID column, found 'x'"),
        (row("1", "a", feats="Plur"), r"a\.conllu:2: expected Key=Value.* in FEATS, found 'Plur'"),
    ],
)
def test_malformed_lines(tmp_path, line, message):
    path = tmp_path / "a.conllu"
    path.write_text("# comment\n" + line)
    with pytest.raises(DataError, match=message):
        read_conllu(path, label="feats:Number")


def test_a_missing_blank_line_is_noticed():
    with pytest.raises(DataError, match="<lines>:2: expected '2' in the ID column, found '1'"):
        read_conllu([row("1", "a"), row("1", "b")])


@pytest.mark.parametrize("name", ["tag", "UPOS", "feats:", "form:x", ""])
def test_unknown_columns(name):
    with pytest.raises(DataError, match=f"expected one of the columns id, form.*; got '{name}'"):
        read_conllu(TREEBANK, label=name)
    with pytest.raises(DataError, match="expected one of the columns"):
        write_conllu(io.StringIO(), [["a"]], label=name)


def test_no_columns():
    with pytest.raises(DataError, match="expected at least one column"):
        read_conllu(TREEBANK, columns=[])


@pytest.mark.parametrize("label", ["upos", "xpos", "deprel", "feats:Number", "misc:Tag"])
def test_round_trip(label):
    X = [[("a", "Nom"), ("b c", "_")], [("d", "Acc")]]
    y = [["P", "Q"], ["P"]]
    columns = ("form", "feats:Case")
    target = io.StringIO()
    write_conllu(target, X, y, columns=columns, label=label)
    assert read_conllu(io.StringIO(target.getvalue()), columns=columns, label=label) == (X, y)


def test_what_is_written(tmp_path):
    path = tmp_path / "a.conllu"
    write_conllu(path, [["a", "b"], ["c"]], [["X", None], None])
    assert path.read_text() == (
        "1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n2\tb\t_\t_\t_\t_\t_\t_\t_\t_\n\n1\tc\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    )
    write_conllu(path, [[("a", "Nom")]], [["Sing"]], columns=["form", "feats:Case"], label="feats:Aspect")
    assert path.read_text().split("\t")[5] == "Aspect=Sing|Case=Nom"


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([["a"]], [], r"as many label sequences as token sequences \(1\), got 0"),
        ([["a"], ["b", "c"]], [["X"], ["Y"]], "sequence 1: expected 2 labels, one a token, got 1"),
        ([["a"]], [[frozenset({"X", "Y"})]], "sequence 0: CoNLL-U holds one label a word, got frozenset"),
        ([["a"]], ["X"], "sequence 0: CoNLL-U cannot hold 'X' as labels; write JSON lines"),
        ([[("a", "b")]], None, "sequence 0: expected tokens of 1 columns, got .*; name each"),
        ([[{"w": "a"}]], None, "cannot hold tokens that are dicts"),
        ([["b", "a\tb"]], None, r"sequence 0, position 1: expected text without tabs .* form, got 'a\\tb'"),
        ([["a"]], [[""]], "expected text without tabs and line ends for upos, got ''"),
    ],
)
def test_what_cannot_be_written_leaves_no_file(tmp_path, X, y, message):
    path = tmp_path / "a.conllu"
    with pytest.raises(DataError, match=message):
        write_conllu(path, X, y)
    assert not path.exists()
