"""Inputs are counted from 0 in all messages; lines of files, and words of a sentence, from 1."""

import re
from pathlib import Path

import pytest

import sidelight as sl

SOURCES = sorted(Path(sl.__file__).parent.rglob("*.py"))
# A noun of an input with its number in an f-string, counted from 1.
FROM_ONE = re.compile(r"\b(sequence|sentence|document|pair|input|example)s? \{[^{}]*\+ ?1[^{}]*\}")


def test_no_message_counts_inputs_from_one():
    assert len(SOURCES) > 300
    assert not [f"{path}: {found[0]}" for path in SOURCES for found in FROM_ONE.finditer(path.read_text())]
    assert FROM_ONE.search('f"there is no sentence pair {pair + 1}"')


@pytest.mark.parametrize(
    ("fit", "name"),
    [
        (lambda: sl.CRF().fit([["a"], [7]], [["A"], ["B"]]), "sequence 1, token 0"),
        (lambda: sl.HMM().fit([["a"], ["b"]], [["A"], None]), "sequence 1"),
        (lambda: sl.MaxEnt().fit([["a"], [7]], ["A", "B"]), "document 1"),
        (lambda: sl.CRF(task=sl.Aligning()).fit([("a", "b"), 7], [[(0, 0)], [(0, 0)]]), "pair 1"),
        (lambda: sl.CRF(task=sl.Parsing()).fit([["a"], ["b"]], [[0], [7]]), "sentence 1"),
        (lambda: sl.WordAligner().fit([(["a"], ["b"]), 7]), "pair 1"),
        (lambda: sl.LCLR(classes=["A"]).fit([["a"], ["b"]], [sl.GOOD, 7]), "sequence 1"),
        (lambda: sl.Combined(sl.CRF(), guard=False).fit([["a"], ["b"]], [["A"], ["B", "A"]]), "sequence 1"),
    ],
)
def test_the_second_input_is_number_one(fit, name):
    with pytest.raises(sl.SidelightError, match=rf"\b{name}\b"):
        fit()
