"""Good and bad sequences on the command line."""

import json
from pathlib import Path

import pytest

from sidelight import BAD, GOOD, JLIS, load, read_columns, shuffled

from .conftest import Run

FAST = ["-l", "jlis", "-t", "word.lower()", "--set", "max_rounds=2", "--tolerance", 0.1, "-q"]


@pytest.mark.filterwarnings("ignore:JLIS still changed")
def test_bad_ones_made_from_good_ones(run: Run, folder: Path, more: Path, tmp_path: Path) -> None:
    data = ["train", folder / "train.tsv", "-o", tmp_path / "m", *FAST, "--dev", folder / "dev.tsv"]
    said = run(*data, "--good", more, "--bad", "shuffled", "--json").json
    assert (said["sequences"], said["companions"], said["unlabeled"]) == (80, 40, 0)
    X, y = read_columns(folder / "train.tsv", separator="\t")
    good, _ = read_columns(more, label=None)
    same = JLIS(["word.lower()"], max_rounds=2, tolerance=0.1)
    same.fit(X + good + shuffled(good), y + [GOOD] * 20 + [BAD] * 20)
    assert load(tmp_path / "m").objective_ == pytest.approx(same.objective_)
    assert "40 of them good or bad" in run(*data, "--good", more, "--bad", "transposed").out
    assert run("evaluate", tmp_path / "m", folder / "dev.tsv").code == 0


def test_bad_ones_of_a_file_and_none_that_are_good(run: Run, folder: Path, tmp_path: Path) -> None:
    X, _ = read_columns(folder / "train.tsv", separator="\t")
    (tmp_path / "bad.jsonl").write_text("".join(json.dumps({"tokens": x}) + "\n" for x in shuffled(X[:5])))
    data = ["train", folder / "train.tsv", "-o", tmp_path / "m", *FAST, "--json"]
    assert run(*data, "--bad", tmp_path / "bad.jsonl").json["companions"] == 5
    assert run(*data, "--bad", "shuffled").json["companions"] == 40


def test_errors_of_bad_sequences_that_are_made_name_the_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ab.tsv").write_text("a\tX\nb\tY\n\na\tX\nb\tY\n")
    rules = ("where(word.isin('a')).label('X')", "where(word[-1].isin('b')).never('X')")
    (tmp_path / "r.toml").write_text("".join(f'[[rule]]\nrule = "{rule}"\n' for rule in rules))
    train = ("-o", tmp_path / "m", "-l", "jlis", "-q")
    said = run("train", tmp_path / "ab.tsv", *train, "--bad", "transposed", "--rules", tmp_path / "r.toml")
    assert (said.code, f"error: {tmp_path}/ab.tsv (transposed): sequence 0 has no output" in said.err) == (1, True)
    (tmp_path / "one.tsv").write_text("a\tX\n\nb\tY\n")
    for made, good in (("shuffled", "one.tsv"), ("transposed", "good.txt")):
        (tmp_path / "good.txt").write_text("a\na\n\nb\n")
        more = ["--good", tmp_path / good] if good == "good.txt" else []
        said = run("train", tmp_path / "one.tsv", *train, "--bad", made, *more)
        assert said.err == f"error: {tmp_path / good} ({made}): no sequence has two tokens that differ\n"


def test_half_of_the_companions_is_noted(run: Run, folder: Path, more: Path, tmp_path: Path) -> None:
    data = ["train", folder / "train.tsv", "-o", tmp_path / "m", *FAST]
    said = run(*data, "--good", more)
    assert said.code == 0
    assert "note: y has GOOD inputs and no BAD ones" in said.err
    assert "--bad shuffled" in said.err
    said = run(*data, "--bad", "shuffled")
    assert said.code == 0
    assert "note: y has BAD inputs and no GOOD ones" in said.err
    assert "--good FILE" in said.err
    assert "note: y has" not in run(*data, "--good", more, "--bad", "shuffled").err


def test_rules_are_hard(run: Run, folder: Path, more: Path, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text("[[rule]]\nrule = \"starts_with('author', 'editor')\"\n")
    data = ["train", folder / "train.tsv", "-o", tmp_path / "m", *FAST, "--bad", "shuffled"]
    said = run(*data, "--rules", tmp_path / "r.toml", "--json")
    assert [rule["reading"] for rule in said.json["model"]["rules"]] == ["hard"]
    assert {labels[0] for labels in load(tmp_path / "m").predict(read_columns(more, label=None)[0])} <= {
        "author",
        "editor",
    }
    (tmp_path / "r.toml").write_text(
        "[[rule]]\nrule = \"starts_with('author')\"\n[[rule]]\nrule = \"starts_with('title')\"\n"
    )
    said = run(*data, "--rules", tmp_path / "r.toml")
    assert (said.code, "note: 40 of 40 labelled sequences contradict the rules" in said.err) == (1, True)
    assert "jlis takes every rule as hard, so leave one out" in said.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-l", "jlis"], "there is no good or bad data to learn from; give --good and --bad, or use svm"),
        (
            ["-l", "svm", "--bad", "shuffled"],
            "Invalid value for --bad: this needs --learner jlis, lclr, combined or auto",
        ),
        (["-l", "jlis", "--bad", "shufled"], "there is no file shufled, and it is not one of shuffled, transposed"),
        (["-l", "jlis", "--unlabeled", "MORE"], "jlis learns from --good and --bad"),
        (["-l", "jlis", "--set", "dictionary=x"], "dictionary is for Python"),
    ],
)
def test_wrong_usage(run: Run, folder: Path, more: Path, tmp_path: Path, options: list[str], message: str) -> None:
    given = [more if option == "MORE" else option for option in options]
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", *given)
    assert (said.code, message in said.message) == (2, True)


def test_margins_of_unlabelled_data(run: Run, folder: Path, more: Path, tmp_path: Path) -> None:
    quick = [
        "-l", "transductive-svm", "-t", "word.lower()", "--tolerance", 0.1, "--set", "max_rounds=1", "--set", "steps=1",
        "--set", "guard=false",
    ]  # fmt: skip
    model = tmp_path / "m"
    said = run("train", folder / "train.tsv", "-o", model, *quick)
    assert "there is no unlabelled data to learn from" in said.err
    said = run("train", folder / "train.tsv", "-o", model, *quick, "--unlabeled", more)
    assert said.code == 0
    assert type(load(model)).__name__ == "TransductiveSVM"


def test_sequences_without_outputs_are_named_by_their_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "few.tsv").write_text("a\tX\nb\tY\n\nb\tY\na\tX\n\n")
    (tmp_path / "good.tok").write_text("a b\nb b\na a\n")
    rules = ["where(word.isin('b')).label('Y').hard()", "(count('X') >= 1).hard()"]
    (tmp_path / "r.toml").write_text("".join(f'[[rule]]\nrule = "{rule}"\n' for rule in rules))
    data = ["train", tmp_path / "few.tsv", "-o", tmp_path / "m", "-l", "jlis", "-q", "--rules", tmp_path / "r.toml"]
    said = run(*data, "--good", tmp_path / "good.tok", "--bad", "transposed")
    assert said.err.startswith(f"error: {tmp_path / 'good.tok'}: sequence 1 has no output that satisfies")
    (tmp_path / "good.tok").write_text("a b\na a\n")
    (tmp_path / "few.tsv").write_text("a\tX\nb\tY\n\nb\tX\nb\tX\n\n")
    said = run(*data, "--good", tmp_path / "good.tok", "--bad", "transposed")
    assert f"error: {tmp_path / 'few.tsv'}: sequence 1 has no output that satisfies" in said.err
