from .conftest import Run


def test_json(run: Run) -> None:
    said = run("demo", "--labeled", 20, "--labeled", 4, "--test", 30, "--unlabeled", 30, "--json").json
    assert [(r["learner"], r["labeled"]) for r in said["results"]] == [
        (name, count) for name in ("HMM", "CRF", "SemiCRF", "StructuredPerceptron") for count in (4, 20)
    ]
    assert all(0.2 < r["accuracy"] <= 1 and 0 < r["f1"] <= 1 for r in said["results"])
    assert (said["weights_labeled"], said["examples_labeled"]) == (20, 20)
    assert 1 <= len(said["examples"]) <= 2
    assert [(a["added"], a["learner"], a["labeled"]) for a in said["additions"]] == [
        (added, learner, count)
        for added, learner in
        (("nothing", "HMM"), ("rules", "CCM"), ("unlabelled references", "CoDL"), ("both", "CoDL"),
         ("both, in expectation", "PosteriorRegularization"), ("both, annealed", "DeterministicAnnealing"))
        for count in (4, 20)
    ]  # fmt: skip
    scores = {(a["added"], a["labeled"]): a for a in said["additions"]}
    assert scores["rules", 20]["f1"] > scores["nothing", 20]["f1"]
    for added in ("both", "both, in expectation", "both, annealed"):
        assert scores[added, 20]["violations"] < scores["nothing", 20]["violations"]
        assert scores[added, 20]["accuracy"] > scores["nothing", 20]["accuracy"]
    assert sum(v["without"] for v in said["violations"]) == scores["nothing", 20]["violations"]
    assert sum(v["with_rules"] for v in said["violations"]) == scores["rules", 20]["violations"]


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
    def numbers() -> list[tuple[float, float]]:
        said = run("demo", "--labeled", 3, "--test", 5, "--unlabeled", 9, "--seed", 4, "--json").json
        return [(r["accuracy"], r["f1"]) for r in said["results"] + said["additions"]]

    assert numbers() == numbers()
