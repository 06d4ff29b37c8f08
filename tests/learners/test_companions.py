"""What learners from GOOD and BAD refuse, whatever they predict."""

import warnings

import pytest

from sidelight import BAD, GOOD, JLIS, DocumentJLIS
from sidelight.errors import DataError

WORDS = [["Ann", "runs"], ["Bob", "sits"], ["7", "on"], ["rain", "falls"]]
LABELLED = {JLIS: ["A", "T"], DocumentJLIS: "A"}
both = pytest.mark.parametrize("learner", [JLIS, DocumentJLIS])


@both
@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([BAD] * 4, "y has neither labelled nor GOOD inputs: .* so no structure can be learned"),
        ([GOOD] * 4, "y has GOOD inputs only: .* add labelled or BAD inputs$"),
        ([GOOD, BAD, GOOD, BAD], r"without labelled inputs the labels are not known; name them in classes"),
    ],
    ids=["BAD alone", "GOOD alone", "no labels"],
)
def test_what_cannot_be_learned_is_said(learner, y, message):
    with pytest.raises(DataError, match=message):
        learner().fit(WORDS, y)


@both
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C1": 0.0}, "C1 must be a finite number above 0, got 0.0"),
        ({"C2": 0}, "C2 must be a finite number above 0, got 0"),
        ({"C2": -1.0}, "C2 must be a finite number above 0, got -1.0"),
        ({"constant": -1.0}, "constant must be a finite number of at least 0, got -1.0"),
        ({"size": lambda x: 0}, "the size of input 0 is 0; sizes must be positive, finite numbers"),
        ({"size": lambda x: float("nan")}, "the size of input 0 is nan"),
        ({"size": lambda: None}, "size gives no number for input 0: .* takes 0 positional arguments"),
        ({"size": lambda x: None}, "size gives no number for input 0: .*; it is a function of one input"),
        ({"size": lambda x: "long"}, "size gives no number for input 0: could not convert"),
        ({"size": 3}, "size must be 'length', a function or None, got 3"),
    ],
)
def test_bad_parameters(learner, parameters, message):
    known = LABELLED[learner]
    with pytest.raises(DataError, match=message):
        learner(**parameters).fit(WORDS, [known, known, GOOD, BAD])


@pytest.mark.parametrize(
    ("learner", "companion", "message"),
    [
        (JLIS, GOOD, r"y has GOOD inputs and no BAD ones: .*; add BAD inputs, such as .* --bad shuffled\)"),
        (JLIS, BAD, r"y has BAD inputs and no GOOD ones: .*; add GOOD inputs, .* --good FILE\)"),
        (DocumentJLIS, GOOD, "half of what DocumentJLIS .*; add BAD inputs, documents of none of the classes"),
        (DocumentJLIS, BAD, "half of what DocumentJLIS .*; add GOOD inputs, documents of one of the classes"),
    ],
)
def test_half_of_the_companions_is_told(learner, companion, message):
    known = LABELLED[learner]
    with pytest.warns(UserWarning, match=message) as told:
        learner().fit(WORDS, [known, known, companion, companion])
    assert told[0].filename == __file__
    for y in ([known] * 4, [known, known, GOOD, BAD]):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            learner().fit(WORDS, y)


@both
def test_without_labels_the_classes_are_named(learner):
    model = learner(classes=["A", "T"]).fit(WORDS, [GOOD, GOOD, GOOD, BAD])
    assert list(model.classes_) == ["A", "T"]
    assert model.decision_function(WORDS)[:3].min() > model.decision_function(WORDS)[3]
