import warnings
from pathlib import Path

import numpy as np
import pytest

from sidelight import CRF, HMM, CoDL, Combined, SemiCRF, generate_references, load

from .conftest import Run


def test_page(run: Run, folder: Path) -> None:
    said = run("inspect", folder / "crf.model", "--top", 5)
    assert said.code == 0
    for part in ("CRF in", "author, booktitle", "l2=0.1", "Strongest weights", "Transitions"):
        assert part in said.out


def test_weights_of_label_pairs(run: Run, tmp_path: Path) -> None:
    """Of all learners that label sequences, whatever their features and however many models they have."""
    X, y = generate_references(8, seed=1)
    some = {"guard": False, "iterations": 1}
    learners = {
        "crf": CRF(l2=1.0, max_iterations=3),
        "edges": CRF(["word.shape()"], l2=1.0, max_iterations=3, edges=True),
        "order 2": CRF(["word.shape()"], l2=1.0, max_iterations=3, order=2),
        "hmm": HMM(),
        "segments": SemiCRF(["word.shape()"], max_iterations=3),
        "mixed": CoDL(HMM(), [], **some),
        "views": Combined(CRF(["word.shape()"], edges=True), view=HMM(), weights={}, **some),
    }
    for name, learner in learners.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learner.fit(X, [*y[:7], None] if "guard" in learner.get_params() else y).save(tmp_path / name)
        assert "Transitions" in run("inspect", tmp_path / name).out, name
        table = run("inspect", tmp_path / name, "--json").json["transitions"]
        assert table["labels"] == learner.classes_, name
        if name != "segments":
            scores = learner.scores([["@@@", "@@@"]])  # no feature of it was seen
            np.testing.assert_allclose(table["pair"], scores.pair[scores.pair_type[1]], err_msg=name)
    page = run("inspect", tmp_path / "views").out
    assert "learned from the base" in page
    assert "learned from the second view" in page


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
