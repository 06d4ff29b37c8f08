"""The page about the papers: its commands exist, and its sizes are those of the benchmarks."""

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
    tokens, changed = tagging.Setting(Path(), "dev", (0,)).tokens, f"{companions.tags.CHANGE:.0e}".replace("-0", "-")
    few, many = phonetic.COMPANIONS[1:]
    said = [
        f"a penalty of {known.LARGE:g},", f"has β = {citations.figures.BALANCE:g},", f"{few:,} and {many:,} companions",
        f"{companions.tags.GOOD_SENTENCES:,} GOOD,", f"at a change of {changed},", f"{tokens:,} tokens of UD English",
        f"The rows of {min(agreement.PUBLISHED_CHUNKS)} to {max(agreement.PUBLISHED_CHUNKS)} sentences",
        f"σ = {induction.STRENGTH:g} only", f"and {induction.ROUNDS} rounds", f"{induction.SENTENCES:,} sentences each",
        f"{projection.SENTENCES:,} sentences, English to French", f"{paraphrase.FEW:,} training pairs",
    ]  # fmt: skip
    assert [text for text in said if text not in PAGE] == []
    assert list(agreement.PUBLISHED_REVIEWS) == [("books", "dvd"), ("dvd", "books")]  # "books and dvds"
    assert list(companions.fields.CHOSEN) == [100, 400, 1600, 6400]  # without "the row of 9,000 tokens"
