import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight.data import read_text, tokenize, write_text
from sidelight.errors import DataError


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The cat sat.", "The cat sat ."),
        ("Don't stop, O’Neil's well-known co-op!", "Don't stop , O’Neil's well-known co-op !"),
        ("'quoted' - and trailing-", "' quoted ' - and trailing -"),
        ("1,234.5 and 3.14, 10%.", "1,234.5 and 3.14 , 10 % ."),
        ("Wait... (A.C.)", "Wait . . . ( A . C . )"),
        ("3rd B2B snake_case 1990-95", "3rd B2B snake_case 1990-95"),
        ("pp. 5--10", "pp . 5 - - 10"),
        ("café cafe\u0301s naïve", "café cafe\u0301s naïve"),
        ("हिन्दी में", "हिन्दी में"),
        ("日本語。", "日本語 。"),
        ("a@b.org €5", "a @ b . org € 5"),
        ("\u0301x", "\u0301 x"),
    ],
)
def test_tokens(text, tokens):
    assert tokenize(text) == tokens.split(" ")


@given(st.text())
def test_only_white_space_is_dropped(text):
    tokens = tokenize(text)
    assert "".join(tokens) == "".join(text.split())
    assert all(tokens)


def test_one_sequence_a_line(tmp_path, monkeypatch):
    content = "\ufeffHello, you.\r\n\r\n   \r\nBye"
    expected = ([["Hello", ",", "you", "."], ["Bye"]], [None, None])
    path = tmp_path / "a.txt"
    path.write_bytes(content.encode())
    assert read_text(path) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode()), encoding="ascii"))
    assert read_text("-") == expected


def test_writing():
    target = io.StringIO()
    write_text(target, [["a", "."], ["b"]], [None, None])
    assert target.getvalue() == "a .\nb\n"
    with pytest.raises(DataError, match="no place for labels; write columns, tsv or jsonl"):
        write_text(target, [["a"]], [["X"]])
    with pytest.raises(DataError, match="sequence 0: plain text holds tokens of one column"):
        write_text(target, [[("a", "b")]])
    with pytest.raises(DataError, match="sequence 0: expected tokens without line ends"):
        write_text(target, [["a\nb"]])


def test_text_that_is_cut_already_stays_as_it_is():
    lines = ["J.K. Moore  (1989)\n", "\n", "a\u00a0b\tc\n"]
    assert read_text(lines, tokenized=True) == ([["J.K.", "Moore", "(1989)"], ["a\u00a0b", "c"]], [None, None])
