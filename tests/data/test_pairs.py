import io
import json

import pytest

from sidelight import BAD, GOOD, Partial
from sidelight.data import read_pairs, write_pairs
from sidelight.data.pairs import PairFile
from sidelight.errors import DataError

LINES = [
    '{"source": "haus", "target": "house", "links": [[0, 0], [[1, 3], [1, 3]]], "id": 7}',
    "",
    '{"source": ["das", "Haus"], "target": [["the", "DET"], ["house", "NOUN"]], "links": [[1, 1]], "partial": true}',
    '{"source": ["a"], "target": ["b"]}',
    '{"source": ["a"], "target": ["b"], "links": null, "good": true}',
    '{"source": ["a"], "target": ["b"], "good": false}',
]


def test_pairs_and_what_is_known():
    X, y = read_pairs(LINES)
    assert X[:2] == [("haus", "house"), (["das", "Haus"], [("the", "DET"), ("house", "NOUN")])]
    assert y == [[(0, 0), ((1, 3), (1, 3))], Partial([(1, 1)]), None, GOOD, BAD]


def test_written_pairs_can_be_read_back():
    X, y = read_pairs(LINES)
    out = io.StringIO()
    write_pairs(out, X, y)
    assert read_pairs(out.getvalue().splitlines()) == (X, y)


def test_other_keys_are_kept_and_what_was_known_is_not():
    out = io.StringIO()
    PairFile.read(LINES, links=False).write(out, [[(0, 0)], [], [(0, 0)], [], []])
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    assert records[0] == {"source": "haus", "target": "house", "id": 7, "links": [[0, 0]]}
    assert records[1]["links"] == []
    assert "partial" not in records[1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", 'expected an object such as {"source": ..., "target": ...}, found a list'),
        ('{"source": "a"}', "under \"target\", found only the keys ['source']"),
        ('{"tokens": ["a"]}', "under \"source\", found only the keys ['tokens']"),
        ('{"source": "a", "target": []}', "the target is empty; leave such pairs out"),
        ('{"source": 3, "target": "a"}', 'a string or a list under "source", found the number 3'),
        ('{"source": ["a", 1], "target": "a"}', "source item 1: expected a string or a list of strings, found the num"),
        ('{"source": "a", "target": "a", "links": 3}', 'a list of links [i, j] under "links", found the number 3'),
        ('{"source": "a", "target": "a", "links": [[0]]}', "expected a link [i, j] or [[i, i2], [j, j2]], found a li"),
        ('{"source": "a", "target": "a", "links": [[0, true]]}', "expected a link [i, j]"),
        ('{"source": "a", "target": "a", "good": "yes"}', 'true or false under "good", found the string "yes"'),
        ("{", "bad JSON at column 2"),
    ],
)
def test_what_is_wrong_names_the_line(line, message):
    with pytest.raises(DataError) as error:
        read_pairs(["", line])
    assert str(error.value).startswith("<lines>:2: ")
    assert message in str(error.value)


def test_what_is_no_output_is_not_written():
    with pytest.raises(DataError, match="pair 0: expected a list of links"):
        write_pairs(io.StringIO(), [("a", "b")], [3])
