"""Corpora on disk: what is written is read back, views are those of lists, and damage is found."""

import json
import os
import pickle
import struct
import zlib

import numpy as np
import pytest

from sidelight import BAD, GOOD, DataError, read_corpus, write_corpus
from sidelight.data.corpus_file import MAGIC, is_corpus
from sidelight.data.joined import Joined, joined
from sidelight.supervision import Signal, all_kinds, by_kind

X = [["a", "b"], ["c"], ["b", "ä", "a"], ["c", "c"], ["d"]]
y = [["P", "Q"], None, ["Q", None, frozenset({"P", "R"})], GOOD, BAD]
_TAIL = struct.Struct("<4QI")


@pytest.fixture
def path(tmp_path):
    write_corpus(tmp_path / "c.sl", zip(X, y, strict=True))
    return tmp_path / "c.sl"


def test_what_is_written_is_read_back(path):
    corpus = read_corpus(path)
    assert list(corpus) == X
    assert [corpus[i] for i in range(-5, 5)] == X + X
    assert list(corpus.y) == y
    assert [corpus.y[i] for i in range(5)] == y
    assert (len(corpus), corpus.tokens, corpus.columns) == (5, 9, 1)
    with pytest.raises(IndexError):
        corpus[5]


def test_views_are_those_of_lists(path):
    corpus = read_corpus(path)
    assert list(corpus[1:4]) == X[1:4]
    assert list(corpus[1:4].y) == y[1:4]
    assert list(corpus[::2]) == X[::2]
    assert list(corpus[1:][1:3]) == X[2:4]
    assert list(corpus.take([3, 0, 2])) == [X[3], X[0], X[2]]
    assert list(corpus[1:].take([3, 0]).y) == [y[4], y[1]]
    assert corpus.take([3, 0]).offsets.tolist() == [0, 2, 4]
    assert list(corpus[2:2]) == []
    assert [len(block) for block in corpus.blocks(3)] == [2, 1, 2]


def test_kinds_and_labels_are_those_of_the_list(path):
    corpus = read_corpus(path)
    assert corpus.y.kinds() == all_kinds(y)
    assert by_kind(corpus.y) == by_kind(y)
    assert set(corpus.y.used()) == {"P", "Q", frozenset({"P", "R"})}
    assert corpus.y[:2].used() == ["P", "Q"]
    assert corpus.y.full_counts() == {"P": 1, "Q": 1}
    assert corpus.y[1:2].kinds() == [Signal.NOTHING]


def test_tokens_of_several_columns_and_of_one_in_tuples(tmp_path):
    for tokens in ([[("a", "N"), ("b", "V")], [("a", "V")]], [[("a",)]]):
        write_corpus(tmp_path / "c.sl", ((x, None) for x in tokens))
        assert list(read_corpus(tmp_path / "c.sl")) == tokens


def test_a_corpus_travels_by_its_path(path):
    view = read_corpus(path).take([2, 0])
    assert list(pickle.loads(pickle.dumps(view))) == list(view)


def test_sequences_without_tokens_are_left_out(tmp_path):
    write_corpus(tmp_path / "c.sl", [([], None), (["a"], ["A"]), ([], [])])
    assert list(read_corpus(tmp_path / "c.sl")) == [["a"]]


@pytest.mark.parametrize(
    ("sequences", "message"),
    [
        ([], "there are no tokens"),
        ([(["a"], ["A", "B"])], "sequence 0 has 1 tokens but 2 labels"),
        ([(["a"], None), (["a", 3], None)], "sequence 1, token 1: expected a string, got 3"),
        ([([("a", "b")], None), ([("a",)], None)], r"sequence 1, token 0: expected a tuple of 2 strings, got \('a',\)"),
        ([([{"w": "a"}], None)], "a corpus holds tokens that are strings or tuples of strings"),
        ([(["a"], [""])], "a label is a string, None or a set of strings"),
        ([("text", None)], "sequence 0: expected a list of tokens, got 'text'"),
        ([(["a"], "A")], "sequence 0: expected labels"),
    ],
)
def test_what_no_corpus_holds_is_refused_and_nothing_is_left(tmp_path, sequences, message):
    with pytest.raises(DataError, match=message):
        write_corpus(tmp_path / "c.sl", sequences)
    assert os.listdir(tmp_path) == []


def test_a_corpus_that_fails_leaves_the_one_before(path):
    def broken():
        yield ["x"], None
        raise OSError("no more")

    with pytest.raises((OSError, DataError)):
        write_corpus(path, broken())
    assert list(read_corpus(path)) == X
    assert os.listdir(path.parent) == ["c.sl"]


def _rewritten(content, *, header=None, offsets=None):
    """The bytes of a corpus with other offsets or another header, and a checksum that fits."""
    tail = content[-_TAIL.size - len(MAGIC) : -len(MAGIC)]
    columns, tokens, sequences, size, _ = _TAIL.unpack(tail)
    rows = len(MAGIC) + 4 * tokens * (columns + 1)
    found = content[rows : rows + 8 * (sequences + 1)] if offsets is None else np.array(offsets, "<i8").tobytes()
    text = content[rows + 8 * (sequences + 1) :][:size] if header is None else json.dumps(header).encode()
    checked = found + text
    end = _TAIL.pack(columns, tokens, len(found) // 8 - 1, len(text), zlib.crc32(checked))
    return content[:rows] + checked + end + MAGIC


_HEADER = {
    "version": 1, "single": True, "strings": [["a", "b", "c", "ä", "d"]], "labels": ["P", "Q", ["P", "R"]]
}  # fmt: skip


def test_damage_is_found_when_a_corpus_is_opened(path):
    whole = path.read_bytes()
    path.write_bytes(_rewritten(whole, header=_HEADER))
    assert list(read_corpus(path)) == X
    changed = [
        whole[:-3],
        whole[: len(whole) // 2],
        whole + b"x",
        whole[:-60] + bytes([whole[-60] ^ 1]) + whole[-59:],
        _rewritten(whole, offsets=[0, 2, 2, 6, 8, 9]),
        _rewritten(whole, offsets=[0, 3, 2, 6, 8, 9]),
        _rewritten(whole, offsets=[0, 2, 3, 6, 8, 10]),
        _rewritten(whole, header=[]),
        _rewritten(whole, header={**_HEADER, "strings": [["a", "a", "c", "ä", "d"]]}),
        _rewritten(whole, header={**_HEADER, "strings": [["a", 1, "c", "ä", "d"]]}),
        _rewritten(whole, header={**_HEADER, "strings": []}),
        _rewritten(whole, header={**_HEADER, "labels": ["P", "Q", []]}),
        _rewritten(whole, header={**_HEADER, "single": 3}),
        _rewritten(whole, header={**_HEADER, "layout": {"format": "tsv", "columns": 1, "label_column": None}}),
        _rewritten(whole, header={**_HEADER, "layout": {"columns": "word"}}),
        _rewritten(whole, header={**_HEADER, "layout": None}),
    ]
    for content in changed:
        path.write_bytes(content)
        with pytest.raises(DataError, match="damaged or cut off"):
            read_corpus(path)
    path.write_bytes(_rewritten(whole, header={**_HEADER, "version": 2}))
    with pytest.raises(DataError, match="another version"):
        read_corpus(path)
    path.write_bytes(b"no corpus at all, but long enough for one" * 9)
    with pytest.raises(DataError, match="is not a sidelight corpus"):
        read_corpus(path)
    with pytest.raises(DataError, match="cannot read"):
        read_corpus(path.parent / "none.sl")


def test_rows_that_stand_for_nothing_are_found_when_they_are_read(path):
    whole = bytearray(path.read_bytes())
    whole[len(MAGIC) : len(MAGIC) + 4] = struct.pack("<i", 77)
    path.write_bytes(whole)
    corpus = read_corpus(path)
    assert corpus[1] == X[1]
    with pytest.raises(DataError, match=r"damaged or cut off \(tokens 0 to 1"):
        corpus[0]
    whole[len(MAGIC) : len(MAGIC) + 8] = struct.pack("<ii", 0, -4)
    path.write_bytes(whole)
    with pytest.raises(DataError, match="damaged or cut off"):
        list(read_corpus(path))


def test_random_damage_is_an_error_or_changes_numbers_only(path):
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(300):
        content = bytearray(whole)
        content[rng.integers(len(content))] = rng.integers(256)
        path.write_bytes(content)
        try:
            corpus = read_corpus(path)
            assert [len(x) for x in corpus] == [len(x) for x in X]
            assert len(list(corpus.y)) == len(X)
        except DataError:
            pass


def test_corpora_are_known_by_name_or_content(path):
    assert is_corpus(path)
    other = path.with_name("other.bin")
    os.rename(path, other)
    assert is_corpus(str(other))
    assert is_corpus("none.sl")
    assert not is_corpus(__file__)
    assert not is_corpus("-")
    assert not is_corpus(str(path.parent))


def test_the_scratch_folder_must_be_there(path):
    with pytest.raises(DataError, match="expected a folder for scratch files"):
        read_corpus(path, scratch=path.parent / "none")


def test_lists_and_corpora_are_joined(path):
    corpus = read_corpus(path)
    both = joined([X[:2], corpus, []])
    assert isinstance(both, Joined)
    assert list(both) == X[:2] + X
    assert [both[i] for i in range(-7, 7)] == 2 * (X[:2] + X)
    assert list(both[1:4]) == (X[:2] + X)[1:4]
    assert both.take([2, 3, 4]).offsets.tolist() == [0, 2, 3, 6]  # those of the corpus alone stay on disk
    assert joined([X, X[:1]]) == X + X[:1]
    assert joined([[], corpus]) is corpus
    known = joined([[None, None], corpus.y])
    assert all_kinds(known) == all_kinds([None, None, *y])
