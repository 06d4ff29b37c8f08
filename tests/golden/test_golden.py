"""Files of this version of the format, as they were once written: they load, and predict what they predicted then."""

import json
import warnings
import zipfile

import pytest

import sidelight
from sidelight import load
from tests.golden.cases import CASES
from tests.golden.regenerate import FOLDER, PREDICTED, plain

RECORDED = json.loads((FOLDER / PREDICTED).read_text())


@pytest.mark.parametrize("name", CASES)
def test_a_golden_file_predicts_what_is_recorded(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert plain(load(FOLDER / f"{name}.model").predict(CASES[name].new)) == RECORDED[name]


def test_every_learner_has_a_golden_file():
    """What is recorded, what is there and what is declared are the same files, and no learner is left out."""
    assert {path.stem for path in FOLDER.glob("*.model")} == RECORDED.keys() == CASES.keys()
    learners = set()
    for path in FOLDER.glob("*.model"):
        with zipfile.ZipFile(path) as archive:
            learners.add(json.loads(archive.read("header.json"))["learner"])
    assert learners == {*sidelight.LEARNERS, "WordAligner"}
