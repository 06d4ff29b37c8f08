import pytest

from sidelight import StructuredPerceptron
from sidelight.errors import DataError
from tests.learners.samples import labelled

X, Y = labelled()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"margin": -1.0}, "margin must be a finite number of at least 0, got -1.0"),
        ({"margin": float("nan")}, "margin must be a finite number"),
        ({"order": 3}, "order must be 1 or 2, got 3"),
        ({"features": []}, "at least one template"),
        ({"features": "word"}, "put it into a list"),
        ({"features": ["wrd"]}, "'wrd' is not known here"),
        ({"features": ["pos"]}, "template pos needs column 1, but tokens have 1"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(DataError, match=message):
        StructuredPerceptron(**parameters).fit(X, Y)
