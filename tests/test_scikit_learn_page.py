"""The page about scikit-learn says nothing that does not run."""

import re
from pathlib import Path

from sidelight.learners.registry import REGISTRY
from tests.learners.test_scikit_learn import EXPECTED

PAGE = (Path(__file__).parents[1] / "docs" / "scikit_learn.md").read_text()


def test_code():
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)
    assert names["search"].best_score_ > 0.3
    assert len(names["model"].mistakes_) == 4


def test_learners_with_weights_and_checks_are_all_named():
    section = PAGE.partition("## Weights")[2].partition("All others refuse")[0]
    assert set(re.findall(r"`(\w+)`", section)) - {"fit", "sample_weight"} == {
        name for name, one in REGISTRY.items() if one.weighted
    }
    assert all(f"`{name}`" in PAGE for name in EXPECTED)
