from pathlib import Path

import pytest

from sidelight import load

from .conftest import Run


def test_page(run: Run, folder: Path) -> None:
    said = run("inspect", folder / "crf.model", "--transitions", "--top", 5)
    assert said.code == 0
    for part in ("CRF in", "author, booktitle", "l2=0.1", "Strongest weights", "Transitions"):
        assert part in said.out


def test_weights_of_one_label(run: Run, folder: Path) -> None:
    said = run("inspect", folder / "crf.model", "--label", "author", "--top", 8, "--json").json
    assert {label for _, label, _ in said["weights"]} == {"author"}
    everything = load(folder / "crf.model").top_weights(10**6)
    assert said["weights"] == [list(item) for item in everything if item[1] == "author"][:8]


def test_explain_is_what_the_library_says(run: Run, folder: Path) -> None:
    said = run("explain", folder / "crf.model", folder / "dev.tsv", "--labeled", "-s", 2, "-p", 3, "--json").json
    explanation = load(folder / "crf.model").explain(said["tokens"], 3, top=12)
    assert said["explanation"]["label"] == explanation.label == said["labels"][3]
    assert [e["feature"] for e in said["explanation"]["evidence"]] == [e.feature for e in explanation.evidence]


def test_explain_takes_the_least_certain_token(run: Run, folder: Path) -> None:
    said = run("explain", folder / "crf.model", folder / "new.txt", "--json").json
    model = load(folder / "crf.model")
    table = model.predict_marginals([said["tokens"]])[0]
    chances = [table[t, model.classes_.index(label)] for t, label in enumerate(said["labels"])]
    assert said["explanation"]["probability"] == pytest.approx(min(chances))


def test_explain_page_names_the_gold_label(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("J\tauthor\n.\tauthor\nMoore\ttitle\n")
    said = run("explain", folder / "crf.model", tmp_path / "x.tsv", "--labeled", "-p", 2)
    assert "[author ≠ title] Moore" in said.out
    assert "gold is title" in said.out
