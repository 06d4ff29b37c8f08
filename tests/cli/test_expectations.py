"""Learners of statements about expectations on the command line, each with the same file of rules."""

from pathlib import Path

import pytest

from sidelight import (
    CRF,
    HMM,
    DeterministicAnnealing,
    EntropyRegularization,
    GeneralizedExpectation,
    PosteriorRegularization,
    UnifiedEM,
    load,
    read_columns,
    read_rules,
)

from .conftest import Run

RULES = """
[[rule]]
name = "start"
rule = "starts_with('author', 'editor')"

[[rule]]
name = "years"
rule = "where(word.matches('^(19|20)[0-9][0-9]$')).label('date')"
"""
SMALL = {
    "pr": ["--iterations", 2],
    "uem": ["--iterations", 2, "--penalty", 1],
    "daso": ["--base", "hmm", "--iterations", 1, "--set", "temperatures=2"],
    "ge": ["-t", "word", "--max-iterations", 5],
    "er": ["-t", "word", "--max-iterations", 5],
}
CASES = {
    "codl": "CoDL",
    "pr": "PosteriorRegularization",
    "uem": "UnifiedEM",
    "daso": "DeterministicAnnealing",
    "ge": "GeneralizedExpectation",
    "er": "EntropyRegularization",
}


@pytest.fixture(scope="module")
def data(folder: Path, more: Path) -> list[object]:
    (folder / "expected.toml").write_text(RULES)
    return ["train", folder / "train.tsv", "-q", "--rules", folder / "expected.toml", "--unlabeled", more]


@pytest.mark.parametrize("name", CASES)
def test_one_rule_file_for_all(run: Run, data: list[object], tmp_path: Path, name: str) -> None:
    said = run(*data, "-o", tmp_path / "m", "-l", name, *SMALL.get(name, []), "--json").json
    assert (said["model"]["learner"], said["unlabeled"]) == (CASES[name], 20)
    assert [rule["name"] for rule in said["model"]["rules"]] == ["start", "years"]


@pytest.mark.parametrize(
    ("name", "cls", "base"),
    [
        ("pr", PosteriorRegularization, HMM),
        ("uem", UnifiedEM, HMM),
        ("daso", DeterministicAnnealing, CRF),
        ("ge", GeneralizedExpectation, CRF),
        ("er", EntropyRegularization, CRF),
    ],
)
def test_what_is_inside_unasked(
    run: Run, data: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, cls: type, base: type
) -> None:
    seen: list[object] = []
    monkeypatch.setattr(cls, "fit", lambda self, X, y: seen.append(self) or self)
    with pytest.raises(Exception, match="not fitted"):
        run(*data, "-o", tmp_path / "m", "-l", name)
    (learner,) = seen
    assert type(learner.base) is base  # type: ignore[attr-defined]


def test_the_same_as_in_python(run: Run, data: list[object], folder: Path, more: Path, tmp_path: Path) -> None:
    options = [
        "--base",
        "hmm",
        "--iterations",
        3,
        "--penalty",
        5,
        "--decode",
        "projected",
        "--smoothing",
        0.2,
        "--seed",
        4,
    ]
    said = run(*data, "-o", tmp_path / "m", "-l", "pr", *options)
    assert "3 rounds over unlabelled sequences, rules missed by" in " ".join(said.out.split())
    model = load(tmp_path / "m")
    X, y = read_columns(folder / "train.tsv", separator="\t")
    pool, _ = read_columns(more, label=None)
    hmm = HMM(start_smoothing=0.2, transition_smoothing=0.2, emission_smoothing=0.2)
    same = PosteriorRegularization(
        hmm, read_rules(folder / "expected.toml"), iterations=3, penalty=5.0, decode="projected", random_state=4
    )
    same.fit(X + pool, y + [None] * len(pool))
    assert model.random_state == 4
    assert [s.objective for s in model.trace_] == pytest.approx([s.objective for s in same.trace_])
    assert model.predict(pool) == same.predict(pool)


def test_settings_may_be_none_or_a_number(run: Run, data: list[object], tmp_path: Path) -> None:
    few = ["-o", tmp_path / "m", "--iterations", 1]
    assert run(*data, *few, "-l", "pr", "--set", "unlabeled_weight=none").code == 0
    assert load(tmp_path / "m").unlabeled_weight is None
    assert run(*data, *few, "-l", "uem", "--set", "start=2.5", "--set", "gamma=2.5", "--penalty", 1).code == 1
    few[-1] = 3
    assert run(*data, *few, "-l", "uem", "--set", "start=2.5", "--set", "rate=0.5", "--penalty", 1).code == 0
    assert load(tmp_path / "m").start == 2.5


def test_settings_of_the_learner_and_of_its_base(run: Run, data: list[object], tmp_path: Path) -> None:
    said = run(*data, "-o", tmp_path / "m", "-l", "daso", "--set", "temperature=0")
    assert said.code == 2
    assert (
        "--set temperature: the learner daso has no such parameter; it has iterations, start, rate, temperatures"
        in said.message
    )


def test_rules_with_another_reading(run: Run, data: list[object], tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(RULES + 'reading = "hard"\n')
    said = run(*data, "-o", tmp_path / "m", "--rules", tmp_path / "r.toml", "-l", "pr")
    assert said.code == 1
    assert said.err.startswith(f"error: {tmp_path / 'r.toml'}: the rule 'years' is read as hard, and pr reads rules as")
    assert 'give it reading = "expected" in a file of rules' in said.err


def test_contradictions(run: Run, data: list[object], more: Path, tmp_path: Path) -> None:
    rules = ["starts_with('author')", "starts_with('editor')"]
    (tmp_path / "r.toml").write_text("".join(f'[[rule]]\nrule = "{rule}"\n' for rule in rules))
    strict = ["-l", "uem", "--set", "penalty=None"]
    said = run(*data, "-o", tmp_path / "m", "--rules", tmp_path / "r.toml", *strict)
    assert (said.code, (tmp_path / "m").exists()) == (1, False)
    assert said.err.startswith(f"error: {more}: no distribution satisfies")
    assert said.err.endswith("(--penalty 1)\n")
    assert run(*data, "-o", tmp_path / "m", "--rules", tmp_path / "r.toml", "-l", "uem", "--penalty", 1).code == 0


def test_options_of_others(run: Run, data: list[object], tmp_path: Path) -> None:
    said = run(*data, "-o", tmp_path / "m", "-l", "codl", "--decode", "projected")
    message = "the learner codl has no such parameter; pr, uem, daso, ge, er and combined have it"
    assert (said.code, message in said.message) == (2, True)
    said = run("train", "nowhere.tsv", "-o", tmp_path / "m", "-l", "crf", "--penalty", 3)
    assert (said.code, "has no such parameter; pr, uem, daso" in said.message) == (2, True)


def test_a_rough_projection_is_told(run: Run, data: list[object], tmp_path: Path) -> None:
    """The summary speaks of models only."""
    (tmp_path / "r.toml").write_text('[[rule]]\nrule = "few_labels(word)"\nreading = "expected"\npenalty = 1e4\n')
    options = ["-l", "pr", "--rules", tmp_path / "r.toml", "--iterations", 1, "--set", "tolerance=1e-16"]
    said = run(*data, "-o", tmp_path / "m", *options)
    assert said.code == 0
    assert "note: the projection onto the rules stopped" in said.err


def test_conjunctions_about_the_corpus(run: Run, data: list[object], tmp_path: Path) -> None:
    """They are checked like their parts, and the summary has them."""
    (tmp_path / "r.toml").write_text("[[rule]]\nrule = \"(share('title') == 0.3) & (share('author') == 0.2)\"\n")
    said = run(*data, "-o", tmp_path / "m", "-l", "pr", "--rules", tmp_path / "r.toml", "--iterations", 1)
    assert said.code == 0
    assert "(share('title') == 0.3)" in said.out


def test_the_sequence_that_contradicts_is_that_of_the_file(
    run: Run, folder: Path, data: list[object], tmp_path: Path
) -> None:
    (tmp_path / "more.txt").write_text("a b c d e\n\na\n")
    (tmp_path / "r.toml").write_text("[[rule]]\nname = 'many'\nrule = \"count('author') >= 2\"\n")
    options = ["--unlabeled", tmp_path / "more.txt", "--rules", tmp_path / "r.toml"]
    for gamma, way in (("1", "--penalty 1"), ("0", "--norm l1"), ("inf", "--bound 1"), ("-inf", "codl")):
        said = run(
            "train", folder / "train.tsv", "-o", tmp_path / "m", "-l", "uem", *options, "--set", f"gamma={gamma}",
            "--set", "penalty=None",
        )  # fmt: skip
        assert said.code == 1
        assert f"{tmp_path / 'more.txt'}: sequence 1 has no" in said.err
        assert "'many'" in said.err
        assert way in said.err


def test_hard_rules_at_minus_infinity(run: Run, data: list[object], tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(RULES + 'reading = "hard"\n')
    options = ["-l", "uem", "--rules", tmp_path / "r.toml", "--iterations", 1]
    assert run(*data, "-o", tmp_path / "m", *options, "--set", "gamma=-inf").code == 0
    said = run(*data, "-o", tmp_path / "m", *options)
    assert (said.code, "only statements about expectations can be used" in said.err) == (1, True)
