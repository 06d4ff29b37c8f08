"""Generalized expectation and entropy regularization on the command line."""

from pathlib import Path

import pytest

from sidelight import EntropyRegularization, GeneralizedExpectation, load

from .conftest import Run

RULES = """
[[rule]]
name = "years"
rule = "share('date', where=word.matches('^(19|20)[0-9][0-9]$')) >= 0.9"
reading = "expected"
penalty = 2.0

[[rule]]
rule = "runs(each) <= 1"
"""


@pytest.mark.parametrize(("name", "cls"), [("ge", GeneralizedExpectation), ("er", EntropyRegularization)])
def test_train_and_use(run: Run, folder: Path, more: Path, tmp_path: Path, name: str, cls: type) -> None:
    (tmp_path / "rules.toml").write_text(RULES)
    data = ["train", folder / "train.tsv", "-o", tmp_path / "m", "-q", "--unlabeled", more, "-l", name]
    options = ["--rules", tmp_path / "rules.toml", "--l2", 0.5, "--set", "strength=0.5", "--tolerance", 0.01]
    said = run(*data, *options, "--json").json
    assert (said["unlabeled"], said["model"]["learner"], said["model"]["base"]["learner"]) == (20, cls.__name__, "CRF")
    assert [(r["name"], r["reading"], r["penalty"]) for r in said["model"]["rules"]] == [
        ("years", "expected", 2.0),
        ("runs(each) <= 1", "expected", pytest.approx(6.2126, abs=1e-4)),
    ]
    model = load(tmp_path / "m")
    assert isinstance(model, cls)
    assert (model.strength, model.base.l2, model.base.tolerance) == (0.5, 0.5, 0.01)
    for command in (["evaluate", tmp_path / "m", folder / "dev.tsv"], ["inspect", tmp_path / "m"]):
        assert run(*command).code == 0
    told = run("explain", tmp_path / "m", folder / "new.txt")
    assert (told.code, "rules changed" in told.out) == (0, False)
    assert run("predict", tmp_path / "m", folder / "new.txt", "--marginals").code == 0


def test_wrong_usage(run: Run, folder: Path, more: Path, tmp_path: Path) -> None:
    data = ["train", folder / "train.tsv", "-o", tmp_path / "m", "-q", "--unlabeled", more]
    said = run(*data, "-l", "ge", "--base", "hmm")
    assert (said.code, "needs the gradient of a crf, and hmm has none" in said.err) == (1, True)
    said = run(*data, "-l", "er", "--balance", 0.5)
    assert (said.code, "the learner er has no such parameter" in said.message) == (2, True)
