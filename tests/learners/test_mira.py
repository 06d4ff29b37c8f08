import numpy as np
import pytest

from sidelight import MIRA, StructuredPerceptron
from sidelight.errors import DataError
from tests.learners.samples import labelled

X, Y = labelled()


def test_steps_are_as_long_as_they_must_be():
    """Beside the perceptron's steps of length one, those of MIRA do not grow with the size of the features."""
    large = [np.array([[1000.0 * (w == v) for v in ("a", "b")] for w in x]) for x in (["a", "b"], ["b"], ["a"])]
    y = [["A", "B"], ["B"], ["A"]]
    options = {"boundaries": False, "epochs": 5}
    assert np.abs(MIRA(**options).fit(large, y).weights_).max() < 1
    assert np.abs(StructuredPerceptron(**options).fit(large, y).weights_).max() > 100


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"k": 0}, "k must be a whole number of at least 1, got 0"),
        ({"k": 2.5}, "k must be a whole number of at least 1, got 2.5"),
        ({"C": 0}, "C must be a number above 0, got 0"),
        ({"C": -1.0}, "C must be a number above 0, got -1.0"),
        ({"C": float("nan")}, "C must be a number above 0, got nan"),
        ({"order": 3}, "order must be 1 or 2, got 3"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(DataError, match=message):
        MIRA(**parameters).fit(X, Y)
