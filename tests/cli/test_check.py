import re
from pathlib import Path

import pytest

from sidelight import check, load, read_columns, read_rules

from .conftest import Run

RULES = """
[[rule]]
rule = "starts_with('author')"

[[rule]]
name = "fields end with punctuation"
rule = "changes_only_after(punctuation)"

[[rule]]
rule = "count('title') >= 1"

[[rule]]
rule = "share('title') <= 0.1"
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text(RULES)
    return path


def test_numbers_are_those_of_the_library(run: Run, folder: Path, rules: Path) -> None:
    X, y = read_columns(folder / "train.tsv", separator="\t")
    said = run("check", rules, folder / "train.tsv", "--examples", 2, "--json").json
    assert said["sequences"] == 40
    for found, expected in zip(said["rules"], check(read_rules(rules), X, y, examples=2), strict=True):
        assert found["gold"] == {"degree": expected.violations, "sequences": expected.sequences, "of": 40}
        assert found["predicted"] is None
        assert [(e["sequence"], e["degree"]) for e in found["examples"]] == list(expected.examples)
    assert [found["corpus"] for found in said["rules"]] == [False, False, False, True]


def test_examples_mark_the_place(run: Run, rules: Path, tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text("Moore\tauthor\nOn\ttitle\n.\ttitle\n")
    said = run("check", rules, tmp_path / "d.tsv")
    assert (said.code, said.err) == (0, "")
    assert "0: [author] Moore [title] »On«." in said.out
    assert "»" not in run("check", rules, tmp_path / "d.tsv", "--examples", 0).out
    example = run("check", rules, tmp_path / "d.tsv", "--json").json["rules"][1]["examples"][0]
    assert (example["at"], example["tokens"], example["degree"]) == ([1], ["Moore", "On", "."], 1)


def test_gold_and_predicted_side_by_side(run: Run, folder: Path, rules: Path) -> None:
    X, _ = read_columns(folder / "dev.tsv", separator="\t")
    predicted = load(folder / "crf.model").predict(X)
    said = run("check", rules, folder / "dev.tsv", "--model", folder / "crf.model", "--json").json
    expected = check(read_rules(rules), X, predicted)
    assert [found["predicted"]["degree"] for found in said["rules"]] == [one.violations for one in expected]
    assert all(found["gold"] for found in said["rules"])
    page = run("check", rules, folder / "dev.tsv", "-m", folder / "crf.model").out
    assert ("gold" in page, "predicted" in page) == (True, True)


def test_without_labels(run: Run, folder: Path, rules: Path) -> None:
    said = run("check", rules, folder / "new.txt", "-m", folder / "crf.model", "--no-labels")
    assert (said.code, "predicted for 2 sequences" in said.out) == (0, True)
    assert run("check", rules, folder / "new.txt", "-m", folder / "crf.model").code == 1
    said = run("check", rules, folder / "dev.tsv", "--no-labels")
    assert (said.code, "this needs --model" in said.message) == (2, True)


def test_a_label_that_occurs_nowhere_is_noticed(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text("[[rule]]\nrule = \"count('autor') >= 1\"\n")
    said = run("check", tmp_path / "r.toml", folder / "dev.tsv")
    assert said.code == 0
    rule = "of the rule \"count('autor') >= 1\""
    assert said.err == f"note: no token has the label 'autor' {rule}; did you mean 'author'?\n"
    said = run("check", "count('colour') <= 1", folder / "dev.tsv")
    assert said.code == 0
    assert "no token has the label 'colour' of the rule \"count('colour') <= 1\"; there are author, " in said.err


def test_one_note_for_each_rule_with_labels_that_occur_nowhere(run: Run, folder: Path) -> None:
    said = run("check", "starts_with('c1', 'c2', 'c3', 'c4', 'autor', 'c5', 'c6', 'c7')", folder / "dev.tsv")
    assert said.code == 0
    start = "note: no token has the labels 'autor', 'c1', 'c2', 'c3', 'c4' and 3 others of the rule \"starts_with("
    assert said.err.startswith(start)
    assert said.err.endswith("; did you mean 'author'?\n")
    assert said.err.count("note:") == 1


@pytest.mark.parametrize("command", ["check", "train"])
def test_too_many_labels_are_refused_with_their_number(run: Run, folder: Path, tmp_path: Path, command: str) -> None:
    names = ", ".join(repr(f"author{i:05d}") for i in range(20_000))
    (tmp_path / "r.toml").write_text(f'[[rule]]\nname = "first"\nrule = "starts_with({names})"\n')
    options = [tmp_path / "r.toml", folder / "dev.tsv"]
    if command == "train":
        options = [folder / "dev.tsv", "-o", tmp_path / "m", "--rules", tmp_path / "r.toml", "-q"]
    said = run(command, *options)
    assert said.code == 1
    assert re.fullmatch("error: the rule 'first' over 20,0[0-9]{2} labels needs a table of label pairs.*\n", said.err)
    assert not (tmp_path / "m").exists()


def test_rules_that_nothing_could_violate_are_noticed(run: Run, folder: Path) -> None:
    said = run("check", "where(word.isin('nowhere')).label('date')", folder / "dev.tsv")
    assert (said.code, said.err.startswith("note: whatever the labels were, nothing here could violate")) == (0, True)
    assert run("check", "starts_with('author')", folder / "dev.tsv").err == ""


def test_errors(run: Run, folder: Path, rules: Path, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text('[[rule]]\nrule = "once_each("\n')
    said = run("check", tmp_path / "r.toml", folder / "dev.tsv")
    assert (said.code, f"{tmp_path / 'r.toml'}:2:" in said.err) == (1, True)
    assert run("check", "nowhere.toml", folder / "dev.tsv").code == 1
    (tmp_path / "u.jsonl").write_text('{"tokens": ["a"]}\n')
    said = run("check", rules, tmp_path / "u.jsonl")
    assert (said.code, "nothing to check the rules on" in said.err) == (1, True)
    (tmp_path / "p.toml").write_text("[[rule]]\nrule = \"where(pos.isdigit()).label('date')\"\n")
    said = run("check", tmp_path / "p.toml", folder / "dev.tsv")
    assert (said.code, "needs column 1, but tokens have 1" in said.err) == (1, True)
