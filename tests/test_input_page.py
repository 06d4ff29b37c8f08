"""The page about data says nothing that does not run."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "input.md").read_text()
BLOCKS = dict(
    zip(
        ["pandas", "characters", "spacy", "columns", "dicts"],
        re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL),
        strict=True,
    )
)


def run(name):
    names: dict = {}
    exec(BLOCKS[name], names)
    return names


def test_tables():
    pytest.importorskip("pandas")
    table = run("pandas")["table"]
    assert table["predicted"].tolist() == table["label"].tolist()


def test_characters():
    assert run("characters")["spans"] == [[(0, 3, "PER", "Bob"), (9, 12, "PER", "Ann")]]


def test_spacy():
    pytest.importorskip("spacy")
    found = run("spacy")["new"]
    assert [[span.text for span in doc.ents] for doc in found] == [["Bob", "Ann"], []]
    assert [span.start_char for span in found[0].spans["fields"]] == [0, 8]


def test_columns():
    run("columns")


def test_words_beside_features():
    run("dicts")
