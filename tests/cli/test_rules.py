"""Training with rules and unlabelled data, and what the other commands make of such models."""

import json
from pathlib import Path

import pytest

from sidelight import CCM, EM, HMM, CoDL, SelfTraining, SemiCRF, load, read_columns, read_rules

from .conftest import Run

RULES = """
[words]
meetings = ["proc", "proceedings"]

[[rule]]
rule = "starts_with('author', 'editor')"
reading = "hard"

[[rule]]
name = "each field once"
rule = "once_each()"

[[rule]]
name = "meeting"
rule = "where(word.lower().isin(meetings)).label('booktitle')"
penalty = 3.0
"""


@pytest.fixture(scope="session")
def rules(folder: Path) -> Path:
    path = folder / "rules.toml"
    path.write_text(RULES)
    return path


@pytest.fixture(scope="session")
def ruled(run: Run, folder: Path, rules: Path) -> Path:
    model = folder / "ccm.model"
    assert run("train", folder / "train.tsv", "-o", model, "-l", "hmm", "--rules", rules, "-q").code == 0
    return model


@pytest.fixture(scope="session")
def driven(run: Run, folder: Path, rules: Path, more: Path) -> Path:
    model = folder / "codl.model"
    options = ["-l", "hmm", "--rules", rules, "--unlabeled", more, "--iterations", 2]
    assert run("train", folder / "train.tsv", "-o", model, *options, "-q").code == 0
    return model


def test_rules_make_a_ccm(run: Run, folder: Path, rules: Path, tmp_path: Path) -> None:
    data = [folder / "train.tsv", "-o", tmp_path / "m", "-l", "hmm", "-q", "--dev", folder / "dev.tsv"]
    plain = run("train", *data, "--json").json
    said = run("train", *data, "--rules", rules, "--json").json
    X, y = read_columns(folder / "train.tsv", separator="\t")
    expected = CCM(HMM(), read_rules(rules)).fit(X, y)
    assert (said["model"]["learner"], said["model"]["base"]["learner"]) == ("CCM", "HMM")
    found = said["model"]["rules"]
    assert [(r["name"], r["reading"], r["learned"]) for r in found] == [
        ("starts_with('author', 'editor')", "hard", False),
        ("each field once", "soft", True),
        ("meeting", "soft", False),
    ]
    assert [r["penalty"] for r in found] == [None, pytest.approx(expected.penalties_[1]), 3.0]
    assert all(r["violations"]["of"] == 40 for r in found)
    assert said["dev"]["accuracy"] >= plain["dev"]["accuracy"]
    assert (plain["model"]["base"], plain["model"]["rules"], plain["rounds"]) == (None, [], [])


def test_unlabeled_makes_a_codl(run: Run, folder: Path, rules: Path, more: Path, tmp_path: Path) -> None:
    data = ["train", folder / "train.tsv", "-o", tmp_path / "m", "-l", "hmm", "-q", "--unlabeled", more]
    options = ["--rules", rules, "--balance", 0.7, "--iterations", 2, "--reading", "hard", "--set", "k=2"]
    said = run(*data, *options, "--json").json
    assert (said["sequences"], said["unlabeled"], said["model"]["learner"]) == (60, 20, "CoDL")
    assert set(said["rounds"][0]) == {"iteration", "objective", "violations", "changed"}
    model = load(tmp_path / "m")
    assert isinstance(model, CoDL)
    assert (model.balance, model.iterations, model.reading, model.k) == (0.7, 2, "hard", 2)
    assert run(*data).code == 0
    assert not load(tmp_path / "m").rules


@pytest.mark.parametrize(("name", "cls"), [("em", EM), ("self-training", SelfTraining), ("codl", CoDL)])
def test_other_ways_to_use_unlabelled_data(
    run: Run, folder: Path, more: Path, tmp_path: Path, name: str, cls: type
) -> None:
    options = ["-l", name, "-q", "--unlabeled", more, "--iterations", 1]
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", *options)
    assert (said.code, "1 round over unlabelled sequences" in said.out) == (0, True), said.err
    model = load(tmp_path / "m")
    assert isinstance(model, cls)
    assert isinstance(model.base, HMM)
    for command in (["evaluate", tmp_path / "m", folder / "dev.tsv"], ["inspect", tmp_path / "m"]):
        assert run(*command).code == 0
    assert run("explain", tmp_path / "m", folder / "new.txt").code == 0
    assert run("predict", tmp_path / "m", folder / "new.txt", "--marginals").code == 0


def test_unlabelled_sequences_may_be_in_the_data(run: Run, folder: Path, tmp_path: Path) -> None:
    data = (folder / "train.jsonl").read_text() + '{"tokens": ["J", ".", "Moore", "."]}\n'
    (tmp_path / "d.jsonl").write_text(data)
    arguments = ["train", tmp_path / "d.jsonl", "-o", tmp_path / "m", "-l", "hmm", "-q"]
    assert "use auto or codl" in run(*arguments).err
    assert run(*arguments[:-3], "-q", "-l", "codl", "--json").json["unlabeled"] == 1


def test_the_base_learner_takes_its_options(
    run: Run, folder: Path, rules: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = [
        "-l",
        "crf",
        "--l2",
        0.5,
        "-t",
        "word",
        "-t",
        "word[-1]",
        "--set",
        "boundaries=no",
        "--set",
        "method=beam",
    ]
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", "--rules", rules, *options)
    assert (said.code, "CCM around CRF" in said.out, "converged" in said.out) == (0, True, True)
    assert "CRF 1: " in caplog.text
    model = load(tmp_path / "m")
    assert (model.base.l2, model.base.features, model.base.boundaries) == (0.5, ["word", "word[-1]"], False)
    assert model.method == "beam"
    assert "word[-1]" in run("inspect", tmp_path / "m").out


@pytest.mark.parametrize("given", [["--set", "base.l2=0.25"], ["--set", "base__l2=0.25"], ["--base.l2", "0.25"]])
def test_parameters_of_the_base_by_name(run: Run, folder: Path, rules: Path, tmp_path: Path, given: list[str]) -> None:
    options = ["--learner", "ccm", "--base", "crf", "--rules", rules, "--set", "guard=no", "-q"]
    assert run("train", folder / "train.tsv", "-o", tmp_path / "m", *options, *given).code == 0
    assert load(tmp_path / "m").base.l2 == 0.25


def test_summary(
    run: Run, folder: Path, rules: Path, more: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = ["-l", "hmm", "--rules", rules, "--unlabeled", more]
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", *options)
    for part in ("each field once", "soft, learned", "soft, given", "hard", "60 sequences, 20 of them unlabelled",
                 "labels changed in the last", "CoDL around HMM"):  # fmt: skip
        assert part in said.out
    assert "CoDL 1/5: objective" in caplog.text


def test_predict_and_evaluate(run: Run, folder: Path, ruled: Path, driven: Path, tmp_path: Path) -> None:
    X, y = read_columns(folder / "dev.tsv", separator="\t")
    for path in (ruled, driven):
        model = load(path)
        output = tmp_path / "out.tsv"
        assert run("predict", path, folder / "dev.tsv", "--labeled", "-o", output).code == 0
        assert read_columns(output, separator="\t") == (X, model.predict(X))
        assert run("evaluate", path, folder / "dev.tsv", "--json").json["accuracy"] == model.score(X, y)
    free = run("evaluate", ruled, folder / "dev.tsv", "--without-rules", "--json").json
    assert free["accuracy"] == load(ruled).base_.score(X, y)


def test_probabilities_under_rules(run: Run, folder: Path, ruled: Path) -> None:
    said = run("predict", ruled, folder / "new.txt", "--marginals")
    assert (said.code, "no exact marginals under the rule 'each field once" in said.err) == (1, True)
    assert "--without-rules" in said.err
    assert run("predict", ruled, folder / "new.txt", "--marginals", "--without-rules").code == 0
    ranked = json.loads(run("predict", ruled, folder / "new.txt", "--kbest", 2).out.splitlines()[0])["kbest"]
    assert ranked[0]["score"] >= ranked[1]["score"]
    assert ranked[0]["probability"] is None
    free = run("predict", ruled, folder / "new.txt", "--kbest", 2, "--without-rules").out
    assert 0 < json.loads(free.splitlines()[0])["kbest"][0]["probability"] <= 1


def test_inspect(run: Run, ruled: Path, driven: Path) -> None:
    said = run("inspect", ruled, "--top", 3, "--json").json
    assert [r["penalty"] for r in said["model"]["rules"]][::2] == [None, 3.0]
    assert (len(said["weights"]), said["unlabeled_weights"]) == (3, None)
    assert len(said["transitions"]["pair"]) == len(said["model"]["labels"])
    assert len(run("inspect", driven, "--top", 3, "--json").json["unlabeled_weights"]) == 3
    page = run("inspect", driven).out
    for part in ("CoDL around HMM", "each field once", "learned from labelled", "learned from unlabelled"):
        assert part in page


def test_explain_tells_what_rules_change(run: Run, folder: Path, ruled: Path, driven: Path) -> None:
    X, _ = read_columns(folder / "dev.tsv", separator="\t")
    model = load(ruled)
    free, kept = model.base_.predict(X), model.predict(X)
    i = next(i for i in range(len(X)) if free[i] != kept[i])
    said = run("explain", ruled, folder / "dev.tsv", "--labeled", "-s", i, "--json").json
    assert (said["labels"], said["rules"]["without"]) == (kept[i], free[i])
    assert said["rules"]["tokens"] == sum(map(str.__ne__, free[i], kept[i]))
    assert any(rule["without"] > rule["with_rules"] for rule in said["rules"]["rules"])
    assert "The rules change this label from" in run("explain", ruled, folder / "dev.tsv", "--labeled", "-s", i).out
    same = next(i for i in range(len(X)) if free[i] == kept[i])
    assert "The rules change nothing" in run("explain", ruled, folder / "dev.tsv", "--labeled", "-s", same).out
    told = run("explain", driven, folder / "dev.tsv", "--labeled", "-s", i, "--top", 100, "--json").json
    assert any(item["feature"].startswith("word=") for item in told["explanation"]["evidence"])
    by_rules = [
        item["feature"]
        for position in range(len(X[i]))
        for item in run("explain", ruled, folder / "dev.tsv", "--labeled", "-s", i, "-p", position, "--json").json[
            "explanation"
        ]["evidence"]
        if item["feature"].startswith("rule: ")
    ]
    assert by_rules
    assert run("explain", folder / "crf.model", folder / "new.txt", "--json").json["rules"] is None


def write(path: Path, *rules: str) -> Path:
    path.write_text("".join(f'[[rule]]\nrule = "{rule}"\nreading = "hard"\n' for rule in rules))
    return path


def test_labels_that_the_data_lacks(run: Run, folder: Path, tmp_path: Path) -> None:
    rules = write(tmp_path / "r.toml", "starts_with('author', 'editor', 'autor')", "count('abstract') <= 90")
    arguments = ["train", folder / "train.tsv", "-o", tmp_path / "m", "-l", "hmm", "-q", "--rules", rules]
    said = run(*arguments)
    assert said.code == 0
    assert {"autor", "abstract"} <= set(load(tmp_path / "m").classes_)
    assert (
        "names the label 'autor', which no sequence has, so it is a label of its own; did you mean 'author'?"
        in said.err
    )
    assert "If 'autor' is right, name all labels in --classes A,B" in said.err
    assert said.err.count("label of its own") == 1
    said = run(*arguments, "--classes", "autor,abstract")
    assert (said.code, "label of its own" in said.err) == (0, False)
    assert {"autor", "abstract", "author"} <= set(load(tmp_path / "m").classes_)


def test_contradictions_are_found_before_the_model_is_written(run: Run, folder: Path, tmp_path: Path) -> None:
    rules = write(tmp_path / "r.toml", "count('title') >= 1", "starts_with('author')", "count('title') <= 0")
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", "-l", "hmm", "-q", "--rules", rules)
    assert (said.code, (tmp_path / "m").exists()) == (1, False)
    assert f"{folder / 'train.tsv'}: sequence 0 has" in said.err
    assert "no output that satisfies \"count('title') >= 1\" and \"count('title') <= 0\"" in said.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[[rule]]\nrule = \"count('author') > > 1\"\n", ":2:27: "),
        ("[[rule]]\nrule = \"count('author') >= colour\"\n", ":2:28: 'colour' is not known here"),
        ('[[rule]]\nrule = "count(\n', ":2:"),
        ("[[rule]]\nname = 'x'\n", ":1: this [[rule]] section has no line rule"),
        ("[[rules]]\nrule = 'once_each()'\n", ":1: unknown section 'rules'"),
        ("[[rule]]\nrule = 'once_each()'\ncost = 3\n", ":2: unknown key 'cost'"),
        ("[[rule]]\nrule = \"share('title') <= 0.4\"\n", "is about the corpus"),
        ("[[rule]]\nrule = 'once_each()'\nreading = 'expected'\n", "statement about expectations"),
        ("", "no rules found"),
    ],
)
def test_bad_rule_files(run: Run, folder: Path, tmp_path: Path, content: str, message: str) -> None:
    rules = tmp_path / "r.toml"
    rules.write_text(content)
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", "-l", "hmm", "-q", "--rules", rules)
    assert (said.code, said.out, (tmp_path / "m").exists()) == (1, "", False)
    assert message in said.err
    assert str(rules) in said.err or not message.startswith(":")


def test_rules_on_segments(run: Run, folder: Path, rules: Path, more: Path, tmp_path: Path) -> None:
    """Fields as segments: the same files of rules and unlabelled references."""
    model = tmp_path / "m"
    fast = ["-l", "semicrf", "--tolerance", 0.05, "-q"]
    assert run("train", folder / "train.tsv", "-o", model, *fast, "--rules", rules).code == 0
    assert isinstance(load(model).base, SemiCRF)
    said = run("predict", model, more, "--format", "columns")
    starts = [block.split("\n")[0].split()[-1] for block in said.out.strip().split("\n\n")]
    assert said.code == 0
    assert set(starts) <= {"author", "editor"}
    options = ["--rules", rules, "--unlabeled", more, "--iterations", 1]
    assert run("train", folder / "train.tsv", "-o", model, *fast, *options).code == 0
    assert isinstance(load(model), CoDL)
    assert run("explain", model, more).code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-l", "em", "--unlabeled", "MORE", "--rules", "RULES"], "em has no use for rules; codl and pr have"),
        (["-l", "ccm"], "Invalid value for --learner: this needs --rules"),
        (["-l", "ccm", "--rules", "RULES", "--unlabeled", "MORE"], "ccm learns from labels only; codl from both"),
        (["-l", "codl"], "there is no unlabelled data to learn from"),
        (["-l", "crf", "--reading", "hard"], "the learner crf has no such parameter; ccm and codl have it"),
        (["--classes", "x"], "this needs --rules"),
        (["-l", "codl", "--reading", "hard"], "this needs --rules"),
        (["-l", "crf", "--balance", "0.5"], "the learner crf has no such parameter; codl, em,"),
        (["-l", "crf", "--rules", "RULES", "--iterations", "3"], "the learner ccm has no such parameter; codl, em"),
        (["-l", "self-training", "--unlabeled", "MORE", "--balance", "1"], "the learner self-training has no such"),
        (["--rules", "RULES", "--set", "colour=1"], "--set colour: the learner auto has no such parameter"),
        (["--rules", "RULES", "--set", "rules=1"], "rules is for --rules"),
        (["-l", "ccm", "--rules", "RULES", "--reading", "firm"], "reading must be hard or soft, got 'firm'"),
    ],
)  # fmt: skip
def test_wrong_usage(
    run: Run, folder: Path, rules: Path, more: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    given = [{"RULES": rules, "MORE": more}.get(option, option) for option in options]
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", "-q", *given)
    assert (said.code, said.out) == (2, "")
    assert message in said.message


def test_other_errors(run: Run, folder: Path, rules: Path, more: Path, tmp_path: Path) -> None:
    arguments = ["train", folder / "train.tsv", "-o", tmp_path / "m", "-q"]
    said = run(*arguments, "--unlabeled", folder / "dev.tsv")
    assert (said.code, "tokens have 2 columns, those of the labelled data 1 column" in said.err) == (1, True)
    said = run(*arguments, "--rules", "nowhere.toml")
    assert (said.code, "nowhere.toml: cannot read" in said.err) == (1, True)
    said = run(*arguments, "-l", "crf", "--unlabeled", more, "--balance", 2)
    assert (said.code, "balance must be a finite number from 0 to 1 or None" in said.err) == (1, True)
    said = run(*arguments, "--unlabeled", more, "-l", "em", "--base", "crf")
    assert (said.code, "em needs a generative base learner" in said.err) == (1, True)
    said = run(*arguments, "-l", "crf", "--rules", rules, "--order", 2)
    assert (said.code, "chains of order 2" in said.err) == (1, True)
    before = rules.read_bytes()
    assert run("train", folder / "train.tsv", "-o", rules, "--rules", rules).code == 1
    assert rules.read_bytes() == before


@pytest.mark.guarded
def test_a_learner_worse_than_its_base_is_told(run: Run, folder: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('[[rule]]\nname = "nonsense"\nrule = "where(word.ispunct()).label(\'date\')"\npenalty = 30.0\n')
    train = ["train", folder / "train.tsv", "-o", tmp_path / "m", "-l", "hmm", "-q", "--rules", bad]
    said = run(*train)
    assert said.code == 0
    assert said.message.startswith("note: ccm does worse than hmm alone where labels are held out: token accuracy")
    assert "'nonsense' (-" in said.message
    assert "held out" in said.out
    assert "HMM alone" in run("inspect", tmp_path / "m").out
    found = run(*train, "--json").json["model"]["guard"]
    assert (found["base"], found["sequences"], found["rules"][0]["rule"]) == ("HMM", 40, "nonsense")
    quiet = run(*train, "--set", "guard=false")
    assert quiet.err == ""
    assert "held out" not in quiet.out
