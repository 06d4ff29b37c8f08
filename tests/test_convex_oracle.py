import numpy as np
import pytest
from scipy.optimize import LinearConstraint

from tests.convex_oracle import is_feasible, least


def test_a_point_that_breaks_a_constraint_is_no_minimum():
    rules = [
        LinearConstraint(np.array([[1.0, 0.0]]), 1.0, np.inf),
        LinearConstraint(np.array([[1.0, 0.0]]), -9.0, -1.0),
    ]
    with pytest.raises(AssertionError, match="SLSQP gave up"):
        least(lambda x: x @ x, np.zeros(2), tolerance=1e-9, constraints=rules)


@pytest.mark.parametrize(
    ("x", "expected"), [([1.0, 0.5], True), ([0.9, 0.5], False), ([1.0, 0.6], False), ([2.0, 0.5], False)]
)
def test_constraints_of_every_kind(x, expected):
    rules = [
        LinearConstraint(np.array([[1.0, 0.0]]), 1.0, np.inf),
        {"type": "ineq", "fun": lambda x: 0.5 - x[1:]},
        {"type": "eq", "fun": lambda x: x[1:] - 0.5},
    ]
    assert is_feasible(np.array(x), rules, [(0.0, 1.5), (None, None)]) == expected
