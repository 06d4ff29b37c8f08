"""`train` without `--learner`."""

from pathlib import Path

import pytest

from sidelight import Auto, CoDL, load, read_columns

from .conftest import Run

RULES = """
[[rule]]
rule = "starts_with('author', 'editor')"

[[rule]]
name = "fields end with a mark"
rule = "changes_only_after(punctuation)"

[[rule]]
name = "not too much title"
rule = "share('title') <= 0.6"
reading = "expected"
"""


@pytest.fixture
def data(folder: Path, more: Path, tmp_path: Path, quick: None) -> list[object]:
    """Arguments; only quick candidates are tried."""
    (tmp_path / "r.toml").write_text(RULES)
    return ["train", folder / "dev.tsv", "-o", tmp_path / "m", "--rules", tmp_path / "r.toml", "--unlabeled", more]


def test_the_table_and_the_sentence(
    run: Run, data: list[object], folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said = run(*data, "--budget", 1000, "--dev", folder / "train.tsv")
    assert said.code == 0, said.err
    model = load(tmp_path / "m")
    assert isinstance(model, Auto)
    for text in (said.out, run("inspect", tmp_path / "m").out):
        flat = " ".join(text.split())
        assert "Trials: token accuracy on labelled sequences held out" in flat
        assert model.why_ in flat
        assert "without 1 rule: not too much title" in flat
    assert [line.split(",")[0] for line in caplog.messages] == [
        "trial: HMM", "trial: CRF", "trial: CCM(HMM)", "trial: CoDL(HMM)",
    ]  # fmt: skip
    X, _ = read_columns(folder / "train.tsv", separator="\t")
    assert run("evaluate", tmp_path / "m", folder / "train.tsv").code == 0
    predicted = run("predict", tmp_path / "m", folder / "train.tsv", "--labeled")
    labels = [line.split()[-1] for line in predicted.out.splitlines() if line]
    assert labels == [label for one in model.predict(X) for label in one]
    for command in (["explain", tmp_path / "m", folder / "new.txt"], ["inspect", tmp_path / "m"]):
        assert run(*command).code == 0


def test_json(run: Run, data: list[object], tmp_path: Path) -> None:
    said = run(*data, "-l", "auto", "-q", "--json").json
    choice = said["model"]["choice"]
    model = load(tmp_path / "m")
    assert choice["why"] == model.why_
    assert choice["metric"] == "token accuracy"
    assert [one["candidate"] for one in choice["results"]] == ["HMM", "CRF", "CCM(HMM)", "CoDL(HMM)"]
    assert [one["chosen"] for one in choice["results"]].count(True) == 1
    assert said["model"]["learner"] == type(model.best_).__name__
    assert run("inspect", tmp_path / "m", "--json").json["model"]["choice"] == choice


def test_a_named_learner_is_not_tried(run: Run, data: list[object], tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text("[[rule]]\nrule = \"starts_with('author', 'editor')\"\n")
    said = run(*data, "-l", "hmm", "-q", "--json").json
    assert said["model"]["choice"] is None
    assert isinstance(load(tmp_path / "m"), CoDL)


def test_labels_that_only_rules_name(run: Run, data: list[object], tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text("[[rule]]\nrule = \"starts_with('Author', 'author', 'editor')\"\n")
    said = run(*data, "-q")
    assert (said.code, said.err.count("names the label 'Author'")) == (0, 1)
    assert "did you mean 'author'?" in said.err
    assert "Author" in load(tmp_path / "m").classes_
    said = run(*data, "-q", "--classes", "Author")
    assert (said.code, "names the label 'Author'" in said.err) == (0, False)


def test_good_and_bad_sequences(run: Run, folder: Path, more: Path, tmp_path: Path, data: list[object]) -> None:
    arguments = ["train", folder / "dev.tsv", "-o", tmp_path / "m", "--good", more, "--bad", "shuffled", "-q", "--json"]
    said = run(*arguments).json
    unused = 20 if said["model"]["learner"] == "CoDL" else 40  # which takes GOOD sequences as unlabelled ones
    assert (said["sequences"], said["unused"]) == (60 - unused, unused)
    assert said["companions"] == 20 - max(unused - 20, 0)
    out = run(*arguments[:-1]).out
    assert f"not used  {unused} sequences more: {said['model']['learner']} has no use for them" in out
