"""The page about the papers: its commands are there, and what it says of their sizes is so."""

import re
from pathlib import Path

import pytest

from benchmarks import agreement, citations, companions, induction, paraphrase, phonetic, projection, tagging
from benchmarks.__main__ import BENCHMARKS, TABLES, parser
from benchmarks.citations import known

PAGE = (Path(__file__).parents[1] / "docs" / "papers.md").read_text(encoding="utf-8")
COMMANDS = [one for one in re.findall(r"`([^`]+)`", PAGE) if one.split()[0] in BENCHMARKS]


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_commands_are_benchmarks_with_tables_of_theirs(command: str) -> None:
    options = parser().parse_args([*command.split(), "--data", "DIR"])
    (name,) = options.names
    assert set(options.tables) <= set(TABLES.get(name, ()))


def test_every_row_says_what_is_there_and_what_is_missing() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {4}
    assert len(rows) > 60
    for line in rows:
        _, _, here, missing, _ = line.split("|")
        assert here.strip() or missing.strip(), line


def test_sizes_are_those_of_the_benchmarks() -> None:
    assert known.LARGE == 100
    assert citations.figures.BALANCE == 0.5
    assert phonetic.COMPANIONS == (0, 2000, 8000)
    assert list(companions.fields.CHOSEN) == [100, 400, 1600, 6400]
    assert (companions.tags.GOOD_SENTENCES, companions.tags.CHANGE) == (1000, 1e-3)
    assert list(agreement.PUBLISHED_CHUNKS) == [10, 20, 50, 100]
    assert list(agreement.PUBLISHED_REVIEWS) == [("books", "dvd"), ("dvd", "books")]
    assert (induction.STRENGTH, induction.SENTENCES, induction.ROUNDS) == (32, 2000, 100)
    assert projection.SENTENCES == 1000
    assert paraphrase.FEW == 1000
    assert tagging.Setting(Path(), "dev", (0,)).tokens == 24_000
