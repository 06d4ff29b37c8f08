import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight.data import read_jsonlines, write_jsonlines
from sidelight.errors import DataError


def test_kinds_of_tokens():
    assert read_jsonlines(['{"tokens": ["a", "b"]}']) == ([["a", "b"]], [None])
    assert read_jsonlines(['{"tokens": [["a", "N"], ["b", "V"]]}'])[0] == [[("a", "N"), ("b", "V")]]
    assert read_jsonlines(['{"tokens": [{"w": "a", "cap": true, "len": 1.5}, {}]}'])[0] == [
        [{"w": "a", "cap": True, "len": 1.5}, {}]
    ]


def test_kinds_of_labels():
    from sidelight.supervision import BAD, GOOD

    lines = [
        '{"tokens": ["a", "b", "c"], "labels": ["X", null, ["X", "Y"]], "id": 7}\n',
        "\n",
        '{"tokens": ["a"], "labels": null}\n',
        '{"tokens": ["a"]}\n',
        '{"tokens": ["a"], "labels": "GOOD"}\n',
        '{"tokens": ["a"], "labels": "BAD"}\n',
    ]
    assert read_jsonlines(lines)[1] == [["X", None, frozenset({"X", "Y"})], None, None, GOOD, BAD]


def test_file_with_mark_and_windows_ends(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"tokens": ["\xc3\xa9"]}\r\n{"tokens": ["b"]}')
    assert read_jsonlines(path) == ([["é"], ["b"]], [None, None])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"tokens": ["a"', r"a\.jsonl:3: bad JSON at column 16: .*; write one JSON object a line"),
        ('["a"]', r'a\.jsonl:3: expected an object such as {"tokens": \[...\]}, found a list'),
        ('{"words": ["a"]}', r"""expected a list under "tokens", found only the keys \['words'\]"""),
        ('{"tokens": "a b"}', 'expected a list under "tokens", found the string'),
        ('{"tokens": ["a", 3]}', "token 1: expected a string, .* found the number 3"),
        ('{"tokens": [["a", 3]]}', "token 0: expected a string, .* found a list"),
        ('{"tokens": [[]]}', "token 0: expected a string, a list of strings or an object, found a list"),
        ('{"tokens": [["a"]]}', "token 0: expected a string like the tokens before, found a list of 1 string"),
        ('{"tokens": ["a", {}]}', "token 1: expected a string like the tokens before, found an object"),
        ('{"tokens": ["a"], "labels": "good"}', 'null, "GOOD" or "BAD"; found the string "good"'),
        ('{"tokens": ["a"], "labels": {}}', "expected labels: .*; found an object"),
        ('{"tokens": ["a", "b"], "labels": ["X"]}', "expected 2 labels, one a token, found 1"),
        ('{"tokens": ["a"], "labels": [3]}', "label 0: expected a string, null .*; found the number 3"),
        ('{"tokens": ["a"], "labels": [true]}', "label 0: .*; found the constant true"),
        ('{"tokens": ["a"], "labels": [[]]}', "label 0: .* none of them empty; found a list"),
        ('{"tokens": ["a"], "labels": [""]}', "label 0: .* none of them empty; found the string"),
        ("[" * 100_000, "bad JSON at column"),
        ('{"tokens": [' + "9" * 5000 + "]}", "bad JSON at column"),
    ],
)
def test_malformed_lines(tmp_path, line, message):
    path = tmp_path / "a.jsonl"
    path.write_text('{"tokens": ["a"]}\n\n' + line + "\n")
    with pytest.raises(DataError, match=r"a\.jsonl:3: ") as caught:
        read_jsonlines(path)
    assert caught.match(message)


def test_partial_labels_as_in_columns():
    line = '{"tokens": ["a", "b", "c", "d"], "labels": ["?", "X|Y", ["X", "?"], null]}'
    assert read_jsonlines([line], partial=True)[1] == [[None, frozenset("XY"), frozenset("X?"), None]]
    assert read_jsonlines([line])[1] == [["?", "X|Y", frozenset("X?"), None]]
    with pytest.raises(DataError, match=r"<lines>:2: expected labels around each '\|', found 'X\|'"):
        read_jsonlines(["", '{"tokens": ["a"], "labels": ["X|"]}'], partial=True)


def test_columns_must_agree_in_number():
    with pytest.raises(DataError, match=r"<lines>:1: token 1: expected a list of 2 strings .* a list of 1"):
        read_jsonlines(['{"tokens": [["a", "b"], ["c"]]}'])


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NAME = st.sampled_from(["X", "Y", "é"])
LABEL = st.one_of(NAME, st.none(), st.frozensets(NAME, min_size=1))


@st.composite
def data(draw):
    from sidelight.supervision import BAD, GOOD

    token = draw(st.sampled_from([TEXT, st.tuples(TEXT, TEXT), st.dictionaries(TEXT, TEXT)]))
    X = draw(st.lists(st.lists(token)))
    y = []
    for tokens in X:
        labels = st.lists(LABEL, min_size=len(tokens), max_size=len(tokens))
        y.append(draw(st.one_of(labels, st.sampled_from([None, GOOD, BAD]))))
    return X, y


@given(data())
def test_round_trip(both):
    target = io.StringIO()
    write_jsonlines(target, *both)
    assert read_jsonlines(io.StringIO(target.getvalue())) == both


def test_what_is_written(tmp_path):
    path = tmp_path / "a.jsonl"
    write_jsonlines(path, [["é"], ["b"]], [[{"Y", "X"}], None], extra=[{"score": np.float64(0.5)}, {}])
    assert path.read_text("utf-8") == (
        '{"tokens": ["é"], "labels": [["X", "Y"]], "score": 0.5}\n{"tokens": ["b"], "labels": null}\n'
    )
    write_jsonlines(path, [[("a", "b")]], extra=[{"marginals": np.array([[0.25, 0.75]])}])
    assert json.loads(path.read_text()) == {"tokens": [["a", "b"]], "marginals": [[0.25, 0.75]]}


@pytest.mark.parametrize(
    ("y", "extra", "message"),
    [
        ([], None, r"as many label sequences as token sequences \(1\), got 0"),
        (None, [], r"as many extra mappings as token sequences \(1\), got 0"),
        ([["X", "Y"]], None, "sequence 0: expected 1 labels, one a token, got 2"),
        (["X"], None, r"sequence 0: expected labels \(a list, None, GOOD or BAD\), got 'X'"),
        ([[3]], None, r"sequence 0: expected a label \(.*\), got 3"),
        ([[""]], None, r"sequence 0: expected a label \(.*\), got ''"),
        ([[frozenset()]], None, r"sequence 0: expected a label .*, got frozenset\(\)"),
        (None, [{"tokens": 1}], "sequence 0: the key 'tokens' is taken"),
        (None, [{"a": float("nan")}], "sequence 0: cannot be written as JSON: Out of range"),
        (None, [{"a": object()}], "sequence 0: cannot be written as JSON: no JSON form for object"),
    ],
)
def test_what_cannot_be_written_leaves_no_file(tmp_path, y, extra, message):
    path = tmp_path / "a.jsonl"
    with pytest.raises(DataError, match=message):
        write_jsonlines(path, [["a"]], y, extra=extra)
    assert not path.exists()
