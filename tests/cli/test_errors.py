"""Whatever goes wrong ends in one line on standard error and the right exit code, and leaves files as they were."""

import os
import zipfile
from pathlib import Path

import pytest

from sidelight.cli.reading import Reader

from .conftest import Run


def test_missing_file(run: Run, folder: Path, tmp_path: Path) -> None:
    said = run("train", "nowhere.tsv", "-o", tmp_path / "m", "-q")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("error: nowhere.tsv: cannot read: it does not exist")
    assert os.listdir(tmp_path) == []


def test_missing_model(run: Run, folder: Path) -> None:
    said = run("evaluate", "nowhere.model", folder / "dev.tsv")
    assert said.code == 1
    assert said.err.startswith("error: cannot read the model file nowhere.model")


def test_ragged_columns_name_file_and_line(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "bad.tsv"
    data.write_text("a\tX\nb\tY\nc\n")
    said = run("train", data, "-o", tmp_path / "m", "-q")
    assert said.code == 1
    assert f"{data}:3: expected 2 columns, found 1" in said.err


def test_not_utf8(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "latin.tsv"
    data.write_bytes("a\tX\nM\xf6ller\tY\n".encode("latin-1"))
    said = run("train", data, "-o", tmp_path / "m", "-q")
    assert said.code == 1
    assert f"{data}:2: expected UTF-8" in said.err


def test_empty_file(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").write_text("\n\n")
    for arguments in (["train", tmp_path / "empty.tsv", "-o", tmp_path / "m"], ["predict", folder / "crf.model"]):
        said = run(*arguments, *(["-f", "tsv"] if "predict" in arguments else []), stdin="")
        assert said.code == 1
        assert "the file is empty or has only blank lines; expected sequences" in said.err


def test_empty_sequence(run: Run, folder: Path) -> None:
    said = run("predict", folder / "crf.model", "-f", "jsonl", stdin='{"tokens": []}')
    assert (said.code, said.out) == (0, '{"tokens": [], "labels": []}\n')


def test_unclear_format(run: Run, folder: Path) -> None:
    said = run("predict", folder / "crf.model", stdin="a b c")
    assert said.code == 1
    assert "say which with --format" in said.err
    assert "A B: cannot read: it does not exist" in run("predict", folder / "crf.model", "A B").err


@pytest.mark.parametrize("target", ["missing/m.model", "."])
def test_unwritable_model_is_found_before_anything_is_read(run: Run, tmp_path: Path, target: str) -> None:
    said = run("train", "nowhere.tsv", "-o", tmp_path / target, "-q")
    assert said.code == 1
    assert "cannot write" in said.err


def test_the_data_is_never_overwritten(run: Run, folder: Path) -> None:
    before = (folder / "train.tsv").read_bytes()
    said = run("train", folder / "train.tsv", "-o", folder / "." / "train.tsv", "-q")
    assert said.code == 1
    assert "it is also what is read" in said.err
    assert run("predict", folder / "crf.model", folder / "train.tsv", "-o", folder / "train.tsv", "--labeled").code == 1
    assert (folder / "train.tsv").read_bytes() == before


def test_a_failed_training_keeps_the_old_model(run: Run, folder: Path, tmp_path: Path) -> None:
    model, data = tmp_path / "m", tmp_path / "bad.tsv"
    model.write_bytes(b"old")
    data.write_text("a\tX\nb\n")
    assert run("train", data, "-o", model, "-q").code == 1
    assert run("train", folder / "train.tsv", "-o", model, "-q", "-l", "crf", "--l2", "-1").code == 1
    assert model.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["bad.tsv", "m"]


@pytest.mark.parametrize("command", ["evaluate", "predict", "inspect", "explain"])
def test_files_that_are_no_models(run: Run, folder: Path, tmp_path: Path, command: str) -> None:
    data = [] if command == "inspect" else [folder / "dev.tsv"]
    said = run(command, folder / "train.tsv", *data)
    assert (said.code, "is not a sidelight model" in said.err) == (1, True)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme", "hello")
    said = run(command, tmp_path / "other.zip", *data)
    assert (said.code, "not a sidelight model" in said.err) == (1, True)
    content = (folder / "crf.model").read_bytes()
    (tmp_path / "cut.model").write_bytes(content[: len(content) // 2])
    said = run(command, tmp_path / "cut.model", *data)
    assert (said.code, "damaged or cut off" in said.err) == (1, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["-l", "hmm", "--l2", "1"],
            "--l2: the learner hmm has no such parameter; crf, semicrf and contrastive have it",
        ),
        (
            ["-l", "hmm", "-t", "word"],
            "no such parameter; auto, crf, semicrf, perceptron, kernel-perceptron, mira, svm, latent-svm, jlis",
        ),
        (
            ["-l", "perceptron", "--tolerance", "1"],
            "perceptron has no such parameter; crf, semicrf, svm, latent-svm, jlis, lclr, transductive-svm",
        ),
        (
            ["-l", "crf", "--epochs", "3"],
            "--epochs: the learner crf has no such parameter; perceptron, kernel-perceptron and mira have it",
        ),
        (["-l", "crf", "--smoothing", "3"], "--start-smoothing: the learner crf has no such parameter; hmm has it"),
        (
            ["-l", "crf", "--set", "epochs=3"],
            "--set epochs: the learner crf has no such parameter; perceptron, kernel-perceptron and mira have it",
        ),
        (
            ["-l", "crf", "--set", "colour=red"],
            "--set colour: the learner crf has no such parameter; it has solver",
        ),
        (["-l", "crf", "--set", "tolerence=1"], "; did you mean 'tolerance'?"),
        (["-l", "crf", "--set", "l2"], "expected name=value, got 'l2'"),
        (["-l", "crf", "--L2", "1"], "--L2: there is no such option; is it --l2?"),
        (["-l", "crf", "--l3", "1"], "--l3: there is no such option; is it --l1 or --l2?"),
        (["-l", "crf", "--c2", "1"], "--c2: there is no such option; is it --l2?"),
        (["--c1", "1"], "--c1: there is no such option; is it --l1?"),
        (["--learner=jlis", "--c2", "1"], "--c2: there is no such option; is it --C2?"),
        (["-l", "crf", "--xyz", "1"], "--xyz: there is no such option; `sidelight learners NAME` lists those of"),
        (["-l", "crf", "--solver", "dcd"], "solver must be auto, eg, lbfgs or sgd, got 'dcd'"),
        (["-l", "crf", "--set", "l2=much"], "--set l2: l2 must be a number, got 'much'"),
        (["-l", "crf", "--l2", "much"], "for --l2: l2 must be a number, got 'much'"),
        (["-l", "perceptron", "--set", "batch-size=x"], "--set batch-size: batch_size must be a whole number"),
        (["-l", "codl", "--set", "base.l2=1"], "--set base.l2: the learner hmm has no such parameter; crf and semicrf"),
        (["-l", "pr", "--base", "crf", "--set", "base__l2=x"], "--set base__l2: l2 must be a number, got 'x'"),
        (["-l", "pr", "--base", "crf", "--base.l2", "x"], "for --base.l2: l2 must be a number, got 'x'"),
        (["-l", "pr", "--base", "crf", "--base.l3", "1"], "--base.l3: there is no such option"),
        (["-l", "pr", "--base", "crf", "--base.L2", "1"], "--base.L2: there is no such option; is it --base.l2?"),
        (["-l", "pr", "--base", "crf", "--set", "base.penalty=1"], "the learner crf has no such parameter; it has"),
        (["-l", "pr", "--base", "crf", "--l2", "1", "--set", "base.l2=1"], "--set base.l2: l2 is given twice"),
        (["-l", "crf", "--set", "base.l2=1"], "the learner crf does not go around another; say l2 without base in"),
        (["--set", "base.l2=1"], "--set base.l2: the learner auto tries learners with their own settings"),
        (["--set", "task.labelled=true"], "parameters of a task need --task: parsing, aligning or matching"),
        (["-l", "hmm", "--task", "segmenting"], "segments are learned without --task, by --learner semicrf"),
        (["-l", "hmm", "--task", "classifying"], "labels of documents are for Python"),
        (["--task", "parsin"], "did you mean 'parsing'?"),
        (["-l", "crf", "--set", "order=1.5"], "order must be a whole number, got '1.5'"),
        (["-l", "crf", "--set", "boundaries=perhaps"], "boundaries must be true or false, got 'perhaps'"),
        (["-l", "crf", "--set", "features=word"], "features is for --features"),
        (["-l", "crf", "--l2", "1", "--set", "l2=2"], "l2 is given twice"),
        (
            ["-l", "hmm", "--C", "1"],
            "--C: the learner hmm has no such parameter; mira, svm, latent-svm, lclr and transductive-svm have it",
        ),
        (["--learner", "tree"], "'tree' is not one of"),
        (["--l2", "1"], "--l2: the learner auto tries learners with their own settings; name one with --learner"),
        (["--base", "hmm"], "the learner auto does not go around another; ccm, codl, em,"),
        (["--penalty", "1"], "the learner auto tries learners with their own settings; name one with --learner"),
        (["--figure", "f.png"], "auto may choose one without a course to draw; name one with --learner"),
        (["-l", "crf", "--budget", "9"], "--budget: the learner crf has no such parameter; auto has it"),
        (["-l", "crf", "--base", "hmm"], "the learner crf does not go around another; ccm, codl, em,"),
        (["--learner", "pr", "--base", "contrastive"], "'contrastive' is not one of"),
        (["--format", "pdf"], "'pdf' is not one of"),
        (["--learner", "cfr"], "'combined'; did you mean 'crf'?"),
        (["--columns", "form"], "one of the columns must be called label, got form"),
        (["--label-column", "upos"], "columns have numbers, not names"),
    ],
)
def test_wrong_usage(run: Run, folder: Path, tmp_path: Path, options: list[str], message: str) -> None:
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", *options)
    assert (said.code, said.out) == (2, "")
    assert message in said.message
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("command", "advice"),
    [("fit", " Did you mean 'train'?"), ("evalute", " Did you mean 'evaluate'?"), ("tag", " Did you mean 'predict'?"),
     ("xyz", "")],
)  # fmt: skip
def test_a_command_that_is_not_known_suggests_one(run: Run, command: str, advice: str) -> None:
    said = run(command, "train.tsv")
    assert (said.code, said.message.partition("Error ")[2]) == (2, f"No such command {command!r}.{advice}")


def test_a_token_is_a_position(run: Run, folder: Path) -> None:
    asked = (folder / "crf.model", folder / "dev.tsv", "--labeled", "--json")
    assert run("explain", *asked, "--token", 2).json == run("explain", *asked, "--position", 2).json
    assert run("explain", *asked, "--token", 2).json["explanation"]["position"] == 2


def test_inputs_of_any_size_are_errors_of_a_line(run: Run, folder: Path, tmp_path: Path) -> None:
    """Numbers beyond floats and beyond what Python reads, rules longer than names of files, long lines."""
    large, larger = "1" + "0" * 401, "1" + "0" * 5000
    (tmp_path / "long.tsv").write_text("a\tX\n" + "x" * 200_000 + "\n")
    (tmp_path / "many.jsonl").write_text(f'{{"tokens": [{{"a": {larger}}}], "labels": ["X"]}}\n')
    for name, value in (("large", large), ("larger", larger)):
        (tmp_path / f"{name}.toml").write_text(f"[[rule]]\nrule = \"count('title') >= 1\"\npenalty = {value}\n")
    train = ("train", folder / "train.tsv", "-o", tmp_path / "m", "-l", "crf", "-q")
    for said, message in (
        (run(*train, "--rules", tmp_path / "large.toml"), "large.toml:2: a penalty is a finite number of at least 0"),
        (run(*train, "--rules", tmp_path / "larger.toml"), "larger.toml: a number has more digits than can be read"),
        (run(*train, "--rules", f"count('title') >= {large}"), "numbers in rules lie between"),
        (run(*train, "--l2", large), "l2 must be a finite number of at least 0, got inf"),
        (run("train", tmp_path / "many.jsonl", "-o", tmp_path / "m", "-l", "crf"), "a number has more digits than can"),
        (run("train", tmp_path / "long.tsv", "-o", tmp_path / "m", "-l", "crf"), "expected 2 columns, found 1: 'xxx"),
        (run("check", "x" * 200_000, folder / "dev.tsv"), "cannot read: "),
    ):
        assert said.code == 1
        assert message in said.err
        assert len(said.err) < 1100
    said = run(*train, "--columns", "x" * 200_000)
    assert (said.code, len(said.message) < 1500) == (2, True)


def test_model_to_standard_output(run: Run, folder: Path) -> None:
    said = run("train", folder / "train.tsv", "-o", "-")
    assert (said.code, "a model goes to a file" in said.message) == (2, True)


def test_bad_templates(run: Run, folder: Path, tmp_path: Path) -> None:
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", "-t", "word[-1] & colour")
    assert (said.code, "'colour' is not known here" in said.err) == (1, True)
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", "-t", "pos", "-q")
    assert (said.code, "template pos needs column 1" in said.err) == (1, True)
    (tmp_path / "t").write_text("# fine\nword\nword[\n")
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", "--templates", tmp_path / "t")
    assert (said.code, f"{tmp_path / 't'}:3: cannot read the expression" in said.err) == (1, True)
    (tmp_path / "t").write_text("# nothing\n")
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", "--templates", tmp_path / "t")
    assert (said.code, "there are no templates in it" in said.err) == (1, True)


def test_partial_labels_need_a_learner_that_can(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text("a\tX\nb\t?\nc\tY|X\n")
    said = run("train", tmp_path / "p.tsv", "-o", tmp_path / "m", "-l", "hmm", "--partial")
    assert (said.code, "use auto or crf" in said.err) == (1, True)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("p.jsonl", ['{"tokens": ["a", "b", "c"], "labels": ["X", "?", "Y|X"]}', '{"tokens": ["b"], "labels": ["Y"]}']),
        ("p.conllu", [one and one + "\t_" * 6
                      for one in ("1\ta\t_\tX", "2\tb\t_\t?", "3\tc\t_\tY|X", "", "1\tb\t_\tY", "")]),
        ("p.tsv", ["a\tX", "b\t?", "c\tY|X", "", "b\tY"]),
    ],
)  # fmt: skip
def test_partial_labels_of_every_format(run: Run, tmp_path: Path, name: str, lines: list[str]) -> None:
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    train = ("train", tmp_path / name, "-o", tmp_path / "m", "-l", "crf", "-q", "--json")
    assert run(*train, "--partial").json["model"]["labels"] == ["X", "Y"]
    said = run(*train)
    assert said.json["model"]["labels"] == ["?", "X", "Y", "Y|X"]
    assert "note: ? and Y|X are labels like any other here; with --partial ? is an unknown label" in said.err


def test_partial_is_for_labels(run: Run, tmp_path: Path) -> None:
    said = run("train", tmp_path / "x.conllu", "-o", tmp_path / "m", "--task", "parsing", "--partial")
    assert (said.code, "for --partial: Parsing has no such thing" in said.message) == (2, True)


def test_text_has_no_labels(run: Run, folder: Path, tmp_path: Path) -> None:
    said = run("train", folder / "new.txt", "-o", tmp_path / "m")
    assert (said.code, "plain text has no labels" in said.err) == (1, True)
    said = run("predict", folder / "crf.model", folder / "new.txt", "--output-format", "text")
    assert (said.code, "plain text has no place for labels" in said.message) == (2, True)


def test_a_forgotten_label_column(run: Run, folder: Path, tmp_path: Path) -> None:
    said = run("predict", folder / "crf.model", folder / "dev.tsv")
    assert (said.code, "say --labeled" in said.err) == (1, True)
    assert run("train", folder / "train.tsv", "-o", tmp_path / "semicrf.model", "-l", "semicrf", "-q").code == 0
    said = run("predict", tmp_path / "semicrf.model", folder / "dev.tsv")
    assert (said.code, "say --labeled" in said.err) == (1, True)
    model = tmp_path / "hmm.model"  # it reads words alone, and would take any other column
    assert run("train", folder / "train.tsv", "-o", model, "-l", "hmm", "-q").code == 0
    assert "the last column has labels of the model only" in run("predict", model, folder / "train.tsv").err


def test_kbest_needs_jsonl(run: Run, folder: Path, tmp_path: Path) -> None:
    said = run("predict", folder / "crf.model", folder / "new.txt", "--kbest", 2, "-o", tmp_path / "o.tsv")
    assert (said.code, "need jsonl output" in said.message) == (2, True)
    said = run("predict", folder / "crf.model", folder / "new.txt", "--marginals", "--output-format", "conllu")
    assert (said.code, "no place for probabilities" in said.err) == (1, True)


def test_nobody_there(run: Run, folder: Path) -> None:
    said = run("explain", folder / "crf.model", folder / "new.txt", "-s", 2)
    assert (said.code, "there is no sequence 2; the input has 2" in said.err) == (1, True)
    said = run("explain", folder / "crf.model", folder / "new.txt", "-p", 99)
    assert (said.code, "position 99 is outside" in said.err) == (1, True)
    said = run("inspect", folder / "crf.model", "--label", "colour")
    assert (said.code, "the model has no label 'colour'" in said.err) == (1, True)


def test_quiet_is_quiet(run: Run, folder: Path, tmp_path: Path) -> None:
    assert run("train", folder / "train.tsv", "-o", tmp_path / "m", "-l", "crf", "--quiet").err == ""


def test_text_that_is_cut_in_another_way_is_noticed(run: Run, tmp_path: Path) -> None:
    """Labelled tokens such as `Dr.` are two in a file of plain text, and one in a file of tokens."""
    (tmp_path / "few.tsv").write_text("Dr.\tT\nKay\tN\n\nMrs.\tT\nLee\tN\n\n")
    for name in ("more.txt", "more.tok"):
        (tmp_path / name).write_text("Dr. Lee meets Kay\nMrs. Kay\n")
    options = ["train", tmp_path / "few.tsv", "-o", tmp_path / "m", "-l", "codl", "-q", "--unlabeled"]
    noted = run(*options, tmp_path / "more.txt")
    assert (
        "2 of the 4 labelled tokens are not, such as 'Dr.'; if spaces separate its tokens, call it more.tok"
        in noted.err
    )
    assert "note:" not in run(*options, tmp_path / "more.tok").err


def test_labels_that_look_partial_are_noticed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "few.tsv").write_text("a\tX\nb\t?\n\na\tX|Y\nb\tY\n\nc\tU|V\n\n")
    options = ["train", tmp_path / "few.tsv", "-o", tmp_path / "m", "-l", "crf", "-q"]
    assert run(*options).err.startswith("note: ? and X|Y are labels like any other here; with --partial")
    assert run(*options, "--partial").err == ""


def test_json_lines_without_labels_are_noticed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "few.jsonl").write_text('{"tokens": ["a"], "tags": ["X"]}\n')
    said = run("train", tmp_path / "few.jsonl", "-o", tmp_path / "m", "-l", "crf", "-q")
    assert said.err.startswith(
        'note: no line of the data has a label; they are expected under "labels"\nerror: crf cannot'
    )


@pytest.mark.parametrize("command", [["train", "-l", "crf", "-q", "-o"], ["check", "starts_with('X')"]])
def test_an_empty_first_sequence_is_passed_over(run: Run, tmp_path: Path, command: list[str]) -> None:
    lines = ['{"tokens": [], "labels": []}', *['{"tokens": ["a", "b"], "labels": ["X", "Y"]}'] * 3]
    (tmp_path / "few.jsonl").write_text("\n".join(lines))
    said = run(*command, *([tmp_path / "m"] if "-o" in command else []), tmp_path / "few.jsonl")
    assert said.code == 0, said.err
    refused = run("templates", tmp_path / "few.jsonl")
    assert (refused.code, refused.err) == (1, "error: sequence 0 is empty; leave empty sequences out\n")


def test_one_long_sequence_is_noticed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "long.tsv").write_text("a\tX\nb\tY\n" * 600)
    said = run("train", tmp_path / "long.tsv", "-o", tmp_path / "m", "-l", "hmm")
    assert (said.code, said.err) == (0, "note: all 1,200 tokens are one sequence; blank lines separate sequences\n")


def test_other_columns_of_dev_are_an_error_before_the_fit(run: Run, tmp_path: Path) -> None:
    data, dev = tmp_path / "two.tsv", tmp_path / "three.tsv"
    data.write_text("a\tX\nb\tY\n")
    dev.write_text("a\tN\tX\nb\tN\tY\n")
    said = run("train", data, "-o", tmp_path / "m", "-l", "crf", "--dev", dev)
    message = f"error: {dev}: tokens have 2 columns, those of {data} 1 column; both files have the same columns\n"
    assert (said.code, said.err, (tmp_path / "m").exists()) == (1, message, False)


def test_a_line_of_column_names_is_noticed(run: Run, tmp_path: Path) -> None:
    path, train = tmp_path / "named.tsv", ("-o", tmp_path / "m", "-l", "hmm")
    path.write_text("token\tlabel\na\tX\nb\tY\n\na\tX\n")
    said = run("train", path, *train)
    line = "the first line looks like names of columns, and is read as a token with the label 'label'; delete it"
    assert (said.code, said.err) == (0, f"note: {path}: {line}\n")
    path.write_text("a\tlabel\na\tX\nb\tlabel\n")  # a label like any other
    assert run("train", path, *train).err == ""


def test_attributes_in_the_place_of_labels_are_noticed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "crfsuite.tsv").write_text("X\tw=a\tnext=b\nY\tw=b\tnext=c\nY\tw=c\tnext=d\n")
    train = ("train", tmp_path / "crfsuite.tsv", "-o", tmp_path / "m", "-l", "crf", "-q")
    advice = "where the label is the first column, say --label-column 0"
    assert run(*train).err == f"note: labels such as 'next=b' look like attributes of tokens; {advice}\n"
    said = run(*train, "--label-column", "0", "--json")
    assert (said.err, said.json["model"]["labels"]) == ("", ["X", "Y"])
    (tmp_path / "morphology.tsv").write_text("a\tCase=Nom\nb\tCase=Acc\nc\tCase=Nom\n")
    assert run("train", tmp_path / "morphology.tsv", *train[2:]).err == ""


def test_interrupted(run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Reader, "read", interrupt)
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", "-q")
    assert (said.code, said.err) == (130, "interrupted\n")
    assert os.listdir(tmp_path) == []


def test_interrupted_in_a_kernel(run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr(Reader, "read", interrupt)
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", "-q")
    assert (said.code, said.err) == (130, "interrupted\n")


def test_score_refuses_different_tokens(run: Run, tmp_path: Path) -> None:
    (tmp_path / "gold.tsv").write_text("a\tA\nb\tB\n")
    (tmp_path / "other.tsv").write_text("a\tA\nc\tB\n")
    said = run("score", tmp_path / "gold.tsv", tmp_path / "other.tsv")
    assert said.code == 1
    gold, other = tmp_path / "gold.tsv", tmp_path / "other.tsv"
    assert said.err == f"error: {other}: sequence 0, token 1 is 'c', and in {gold} it is 'b'\n"
    (tmp_path / "wide.tsv").write_text("a\tA\t0.9\nb\tB\t0.8\n")
    assert "wide.tsv: tokens have 2 columns beside the label" in run("score", gold, tmp_path / "wide.tsv").err
    other.write_text("a\tA\n")
    assert run("score", gold, other).err == f"error: {other}: sequence 0 has 1 tokens, and in {gold} it has 2\n"
    other.write_text("a\tA\nb\tB\n\nc\tC\n")
    assert f"{other}: expected the 1 sequences of {gold}, found 2" in run("score", gold, other).err
    (tmp_path / "other.jsonl").write_text('{"tokens": ["a", "b"], "labels": ["A", null]}')
    said = run("score", gold, tmp_path / "other.jsonl")
    assert f"other.jsonl: sequence 0, token 1 has no label, and in {gold} it has 'B'" in said.err


def test_the_label_is_no_input(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text("1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n\n")
    said = run("train", tmp_path / "a.conllu", "-o", tmp_path / "m", "--columns", "form,upos")
    assert said.code == 2
    assert "upos is the label" in said.message
    assert not (tmp_path / "m").exists()
