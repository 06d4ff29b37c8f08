"""Some cases of the fuzzers of readers and rules; `python -m fuzz` runs more, with limits on time and memory."""

import warnings
from collections import Counter
from random import Random

import pytest

from fuzz import readers, rules
from sidelight.errors import SidelightError


@pytest.mark.parametrize(("target", "cases", "name"), [(readers, 400, "read"), (rules, 40, "predicted")])
def test_cases_end_well(target, cases, name, tmp_path):
    outcomes = Counter()
    for number in range(cases):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                outcomes[target.case(tmp_path, Random(f"7 {number}"))] += 1
            except SidelightError as error:
                outcomes[type(error).__name__] += 1
    assert sum(outcomes.values()) == cases
    assert outcomes[name] >= cases / 8  # files and rules that are never right test little
