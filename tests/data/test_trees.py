import io

import pytest

from sidelight.data import read_trees, write_trees
from sidelight.data.trees import Treebank
from sidelight.errors import DataError


def row(number, form, head="_", deprel="_", misc="_"):
    return f"{number}\t{form}\t{form.lower()}\tX\txX\t_\t{head}\t{deprel}\t_\t{misc}\n"


TREEBANK = [
    "# text = Vámonos al mar\n",
    row("1-2", "Vámonos"),
    row("1", "Vamos", "0", "root", "SpaceAfter=No"),
    row("2", "nos", "1", "obj"),
    row("2.1", "empty"),
    row("3", "mar", "_", "obl"),
    "\n",
    row("1", "a b"),
]


def test_words_heads_and_labels():
    X, y = read_trees(TREEBANK)
    assert X == [[("Vamos", "X"), ("nos", "X"), ("mar", "X")], [("a b", "X")]]
    assert y == [[0, 1, None], None]
    assert read_trees(TREEBANK, labelled=True)[1] == [[(0, "root"), (1, "obj"), (None, "obl")], None]
    assert read_trees(TREEBANK, columns="form")[0][0] == ["Vamos", "nos", "mar"]


def test_everything_else_is_kept():
    bank, out = Treebank.read(TREEBANK), io.StringIO()
    bank.write(out, [[(2, "a"), (0, "b"), (2, "c")], [(0, "root")]], labelled=True)
    written = out.getvalue()
    assert read_trees(written.splitlines(), labelled=True)[1][0] == [(2, "a"), (0, "b"), (2, "c")]
    assert written.startswith("".join(TREEBANK[:2]))
    assert "SpaceAfter=No\n" in written
    assert TREEBANK[4] in written
    assert written.endswith("\n\n")


def test_labels_of_other_heads_do_not_stay():
    bank, out = Treebank.read(TREEBANK), io.StringIO()
    bank.write(out, [[2, 0, 2], [0]])
    assert read_trees(out.getvalue().splitlines(), labelled=True)[1] == [
        [(2, None), (0, None), (2, None)],
        [(0, None)],
    ]


def test_written_trees_can_be_read_back():
    X, y = [[("The", "DET"), ("dog", "NOUN")], [("Go", "VERB")]], [[(2, "det"), (0, "root")], None]
    out = io.StringIO()
    write_trees(out, X, y, labelled=True)
    assert read_trees(out.getvalue().splitlines(), labelled=True) == (X, y)
    with pytest.raises(DataError, match="2 words, and there are 1 heads"):
        write_trees(out, X[:1], [[0]])


@pytest.mark.parametrize("head", ["4", "-1", "x", "1.1", "٢"])
def test_heads_out_of_range_name_the_line(head):
    lines = [row(1, "a", "0"), row(2, "b", head), row(3, "c", "1")]
    with pytest.raises(
        DataError, match=f"<lines>:2: word 2 has the head '{head}'; a head is a word of the sentence, 1 "
    ):
        read_trees(lines)


def test_a_word_is_not_its_own_head():
    with pytest.raises(DataError, match="<lines>:1: word 1 is its own head"):
        read_trees([row(1, "a", "1")])
