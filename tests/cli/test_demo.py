from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from sidelight.demo import run as demo_run

from .conftest import Run


@pytest.fixture(scope="module")
def once() -> Callable[..., Any]:
    """The demo as it runs, once for all that is asked for twice."""
    whole = cache(demo_run.run_demo)
    return lambda labeled, **more: whole(tuple(labeled), **more)


@pytest.fixture
def same(once: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_run, "run_demo", once)


@pytest.mark.usefixtures("same")
def test_json(run: Run) -> None:
    said = run("demo", "--test", 30, "--unlabeled", 20, "--json").json
    counts = (5, 20, 100)
    assert [(r["learner"], r["labeled"]) for r in said["results"]] == [
        (name, count) for name in ("HMM", "CRF", "SemiCRF", "StructuredPerceptron") for count in counts
    ]
    assert all(0.2 < r["accuracy"] <= 1 and 0 < r["f1"] <= 1 for r in said["results"])
    assert (said["weights_labeled"], said["examples_labeled"]) == (100, 20)
    assert 1 <= len(said["examples"]) <= 2
    assert [(a["added"], a["learner"], a["labeled"]) for a in said["additions"]] == [
        (added, learner, count)
        for added, learner in
        (("nothing", "HMM"), ("rules", "CCM"), ("unlabelled references", "CoDL"), ("both", "CoDL"),
         ("both, in expectation", "PosteriorRegularization"), ("both, annealed", "DeterministicAnnealing"))
        for count in counts
    ]  # fmt: skip
    scores = {(a["added"], a["labeled"]): a for a in said["additions"]}
    assert scores["rules", 20]["f1"] > scores["nothing", 20]["f1"]
    for added in ("both", "both, in expectation", "both, annealed"):
        assert scores[added, 20]["violations"] < scores["nothing", 20]["violations"]
        assert scores[added, 20]["accuracy"] > scores["nothing", 20]["accuracy"]
    assert sum(v["without"] for v in said["violations"]) == scores["nothing", 20]["violations"]
    assert sum(v["with_rules"] for v in said["violations"]) == scores["rules", 20]["violations"]


@pytest.mark.usefixtures("same")
def test_page_is_compact_and_readable_without_colours(run: Run) -> None:
    said = run("demo", "--test", 30, "--unlabeled", 20)
    lines = said.out.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in said.out
    for part in (
        "StructuredPerceptron",
        "100 refs",
        "What rules and 20 unlabelled",
        "both, in expectation (PR)",
        "both, annealed (DASO)",
        "once_each()",
        "What speaks",
        "[author]",
        "≠",
    ):
        assert part in said.out
    assert "begins with" not in said.out  # the strongest weights are those of the CRF, not of segments


def test_the_same_seed_gives_the_same_numbers(run: Run) -> None:
    def numbers() -> list[tuple[int, float, float]]:
        few = ("--labeled", 3, "--labeled", 2, "--test", 3, "--unlabeled", 3)
        said = run("demo", *few, "--seed", 4, "--json").json
        return [(r["labeled"], r["accuracy"], r["f1"]) for r in said["results"] + said["additions"]]

    first = numbers()
    assert first == numbers()
    assert [count for count, _, _ in first] == [2, 3] * 10  # sorted
