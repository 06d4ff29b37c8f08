"""Train, predict, evaluate and inspect, in every format."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sidelight import CRF, MaxEnt, load, read_columns, read_conllu, read_jsonlines
from sidelight.cli.reading import Reader
from sidelight.data.formats import EXTENSIONS, FORMATS, Format
from sidelight.data.source import line_blocks, open_for_writing, read_lines

from .conftest import Run


@pytest.mark.parametrize("extension", ["tsv", "conll", "jsonl"])
@pytest.mark.parametrize("learner", ["crf", "hmm", "perceptron", "mira"])
def test_every_learner_and_format(run: Run, folder: Path, tmp_path: Path, extension: str, learner: str) -> None:
    model, dev = tmp_path / "m.model", folder / f"dev.{extension}"
    train = run("train", folder / f"train.{extension}", "-o", model, "-l", learner, "--dev", dev, "-q", "--json")
    assert train.code == 0, train.err
    assert (train.json["sequences"], train.json["model"]["path"]) == (40, str(model))
    assert len(train.json["model"]["labels"]) > 8
    evaluate = run("evaluate", model, dev, "--json").json
    assert evaluate == train.json["dev"]
    assert evaluate["accuracy"] > 0.6
    labeled = [] if extension == "jsonl" else ["--labeled"]
    output = tmp_path / f"out.{extension}"
    assert run("predict", model, dev, "-o", output, *labeled).out == ""
    assert run("score", dev, output, "--json").json["accuracy"] == evaluate["accuracy"]
    inspect = run("inspect", model, "--json", "--top", 3).json
    assert len(inspect["weights"]) == 3
    assert len(inspect["transitions"]["pair"]) == len(train.json["model"]["labels"])


def test_predictions_are_those_of_the_library(run: Run, folder: Path, tmp_path: Path) -> None:
    X, _ = read_columns(folder / "dev.tsv", separator="\t")
    expected = CRF.load(folder / "crf.model").predict(X)
    run("predict", folder / "crf.model", folder / "dev.tsv", "--labeled", "-o", tmp_path / "out.tsv")
    assert read_columns(tmp_path / "out.tsv", separator="\t") == (X, expected)


def test_text_in_columns_out(run: Run, folder: Path) -> None:
    said = run("predict", folder / "crf.model", folder / "new.txt")
    lines = said.out.splitlines()
    assert lines[0].split() == ["J", "author"]
    assert lines.count("") == 2


def test_standard_input_and_output(run: Run, folder: Path) -> None:
    text = (folder / "new.txt").read_text()
    said = run("predict", folder / "crf.model", "-", "-f", "text", stdin=text)
    assert said.out == run("predict", folder / "crf.model", folder / "new.txt").out
    assert said.out == run("predict", folder / "crf.model", "-f", "text", stdin=text).out


def test_standard_input_to_train_and_evaluate(run: Run, folder: Path, tmp_path: Path) -> None:
    data = (folder / "train.tsv").read_text()
    said = run("train", "-", "-f", "tsv", "-o", tmp_path / "m", "-l", "crf", "-q", "--json", stdin=data)
    assert said.json["sequences"] == 40
    assert (tmp_path / "m").read_bytes() == (folder / "crf.model").read_bytes()
    assert run("evaluate", tmp_path / "m", "-", "-f", "tsv", "--json", stdin=data).json["accuracy"] > 0.95


def test_input_may_be_in_any_encoding_of_line_ends(run: Run, folder: Path) -> None:
    said = run("predict", folder / "crf.model", "-", "-f", "text", stdin="\ufeffJ. Möller.\r\n".encode())
    assert [line.split()[0] for line in said.out.splitlines() if line] == ["J", ".", "Möller", "."]


def test_marginals(run: Run, folder: Path) -> None:
    model = load(folder / "crf.model")
    columns = run("predict", folder / "crf.model", folder / "new.txt", "--marginals").out.splitlines()
    records = run("predict", folder / "crf.model", folder / "new.txt", "--marginals", "--output-format", "jsonl").out
    first = json.loads(records.splitlines()[0])
    _, label, chance = columns[0].split()
    assert label == first["labels"][0]
    assert set(first["marginals"][0]) == set(model.classes_)
    assert first["marginals"][0][label] == pytest.approx(float(chance), abs=1e-4)
    assert sum(first["marginals"][0].values()) == pytest.approx(1, abs=1e-4)


def test_kbest(run: Run, folder: Path) -> None:
    lines = run("predict", folder / "crf.model", folder / "new.txt", "--kbest", 3).out.splitlines()
    ranked = json.loads(lines[0])["kbest"]
    assert ranked[0]["labels"] == json.loads(lines[0])["labels"]
    assert 1 >= ranked[0]["probability"] >= ranked[1]["probability"] >= ranked[2]["probability"] > 0


def test_conllu(run: Run, tmp_path: Path) -> None:
    rows = "1\tThe\tthe\tDET\tDT\t_\t_\t_\t_\t_\n2\tdog\tdog\tNOUN\tNN\tNumber=Sing\t_\t_\t_\t_\n\n"
    data = tmp_path / "a.conllu"
    data.write_text("# text = The dog\n" + rows * 3)
    options = ["--columns", "form,lemma", "--label-column", "xpos"]
    assert run("train", data, "-o", tmp_path / "m", "-q", *options).code == 0
    run("predict", tmp_path / "m", data, "-o", tmp_path / "b.conllu", *options)
    X, y = read_conllu(tmp_path / "b.conllu", columns=["form", "lemma"], label="xpos")
    assert (X[0], y[0]) == ([("The", "the"), ("dog", "dog")], ["DT", "NN"])


def test_partial_labels(run: Run, folder: Path, tmp_path: Path) -> None:
    lines = (folder / "train.tsv").read_text().splitlines()
    partial = [line.split("\t")[0] + "\t?" if i % 5 == 2 and line else line for i, line in enumerate(lines)]
    (tmp_path / "p.tsv").write_text("\n".join(partial))
    said = run(
        "train",
        tmp_path / "p.tsv",
        "-o",
        tmp_path / "m",
        "--partial",
        "-l",
        "crf",
        "-q",
        "--json",
        "--max-iterations",
        5,
    )
    assert said.json["solver"] == "lbfgs"
    assert "?" not in said.json["model"]["labels"]


def test_contrastive_estimation(run: Run, tmp_path: Path) -> None:
    rows = ["the\tD", "walk\tN|V", "is\tV", "good\tJ", "", "I\tP", "walk\tN|V", "the\tD", "dog\tN|V", ""] * 4
    (tmp_path / "p.tsv").write_text("\n".join(rows))
    options = ["-l", "contrastive", "--partial", "--l2", "0.5", "--set", "restarts=2", "-q", "--json"]
    said = run("train", tmp_path / "p.tsv", "-o", tmp_path / "m", *options)
    assert said.code == 0, said.err
    assert said.json["model"]["learner"] == "ContrastiveEstimation"
    assert said.json["converged"] is True
    model = load(tmp_path / "m")
    assert (model.l2, len(model.run_objectives_), model.classes_) == (0.5, 2, ["D", "J", "N", "P", "V"])
    assert run("predict", tmp_path / "m", "-", "-f", "text", stdin="the dog is good\n").code == 0
    (tmp_path / "more.tok").write_text("I walk\nthe dog\n")
    more = ["--unlabeled", tmp_path / "more.tok"]
    assert run("train", tmp_path / "p.tsv", "-o", tmp_path / "m", *options, *more).json["unlabeled"] == 2
    refused = run("train", tmp_path / "p.tsv", "-o", tmp_path / "m", *options, *more, "--rules", "starts_with('D')")
    assert "do not go with the learner contrastive" in refused.message


def test_a_model_of_documents_is_refused(run: Run, folder: Path, tmp_path: Path) -> None:
    MaxEnt().fit([["a"], ["b"]], ["A", "B"]).save(tmp_path / "m")
    said = run("predict", tmp_path / "m", folder / "new.txt")
    assert said.code != 0
    assert "MaxEnt labels documents, not tokens" in said.message


def test_templates_from_options_and_file(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("# the neighbours\nword[-1] & word\n\n  word[1].shape()\n")
    arguments = ["train", folder / "train.tsv", "-o", tmp_path / "m", "-q", "-t", "word", "--templates"]
    assert run(*arguments, tmp_path / "t.txt").code == 0
    assert load(tmp_path / "m").features == ["word", "word[-1] & word", "word[1].shape()"]
    assert "word[-1] & word" in run("inspect", tmp_path / "m").out


def test_options_reach_the_learner(run: Run, folder: Path, tmp_path: Path) -> None:
    options = [
        "-l",
        "crf",
        "--l2",
        "0.5",
        "--min-count",
        2,
        "--seed",
        7,
        "--set",
        "boundaries=no",
        "--set",
        "max-iterations=3",
    ]
    said = run("train", folder / "train.jsonl", "-o", tmp_path / "m", "-q", *options)
    assert "NOT CONVERGED" in said.out
    model = load(tmp_path / "m")
    assert (model.l2, model.min_count, model.random_state, model.boundaries) == (0.5, 2, 7, False)
    run("train", folder / "train.tsv", "-o", tmp_path / "h", "-l", "hmm", "--smoothing", 2, "--set", "unknown=none")
    hmm = load(tmp_path / "h")
    assert (hmm.start_smoothing, hmm.emission_smoothing, hmm.unknown) == (2, 2, None)


def test_jsonl_output_can_be_read_back(run: Run, folder: Path, tmp_path: Path) -> None:
    run("predict", folder / "crf.model", folder / "new.txt", "--kbest", 2, "--marginals", "-o", tmp_path / "o.jsonl")
    X, y = read_jsonlines(tmp_path / "o.jsonl")
    assert list(map(len, X)) == [len(labels) for labels in y]


ROUND_TRIPS = [
    ("a.txt", "the X1 D\ndog X2 N\n\na X1 D\ncat X2 N\n", ["--labeled"], []),
    ("a.tsv", "D\tthe\nN\tdog\n\nD\ta\nN\tbig cat\n", ["--label-column", "0"], ["--label-column", "0"]),
    ("a.txt", "1 D the X\n2 N dog Y\n", ["--columns", "_,label,word,tag"], ["--columns", "_,label,word,tag"]),
    ("a.txt", "# c\nthe D\ndog N\n", ["--comment", "#", "--labeled"], ["--comment", "#"]),
    ("a.conllu", "1\tthe\tt\tD\t_\t_\t_\t_\t_\t_\n2\tdog\tx\tN\t_\t_\t_\t_\t_\t_\n\n", [], []),
    ("a.jsonl", '{"tokens": ["the", "big dog"], "labels": ["D", "N"]}\n', [], []),
    ("a.jsonl", '{"tokens": [["the", "x"], ["dog", "y"]], "labels": ["D", "N"]}\n', [], []),
    ("a.jsonl", '{"tokens": [{"w": "the"}, {"w": "dog"}], "labels": ["D", "N"]}\n', [], []),
]


@pytest.mark.parametrize(("name", "text", "predict", "score"), ROUND_TRIPS)
def test_what_predict_writes_score_reads(
    run: Run, tmp_path: Path, name: str, text: str, predict: list[str], score: list[str]
) -> None:
    gold = tmp_path / name
    gold.write_text(text)
    reading = [option for option in predict if option != "--labeled"]
    assert run("train", gold, "-o", tmp_path / "m", "-l", "perceptron", "-q", *reading).code == 0
    said = run("predict", tmp_path / "m", gold, *predict)
    assert said.code == 0, said.err
    assert run("score", gold, "-", "--json", *score, stdin=said.out).json["accuracy"] == 1.0
    if not name.endswith(".conllu"):
        assert said.out.split() == text.replace("# c", "").split()


def test_templates_know_the_names_of_columns(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 D the x\n2 N dog y\n")
    data = ["train", tmp_path / "a.txt", "-o", tmp_path / "m", "-l", "perceptron", "-q"]
    said = run(*data, "--columns", "_,label,word,suffix", "-t", "suffix[-1] & word")
    assert said.code == 0, said.err
    assert load(tmp_path / "m").features == ["pos[-1] & word"]
    assert "'suffix' is not known here" in run(*data, "-t", "suffix").err


def test_text_is_cut_and_tokens_are_not(run: Run, folder: Path) -> None:
    def tokens(name: str) -> list[str]:
        said = run("predict", folder / "crf.model", "-f", name, "--json", stdin="J.K. Moore\n")
        return list(json.loads(said.out)["tokens"])

    assert tokens("text") == ["J", ".", "K", ".", "Moore"]
    assert tokens("tokens") == ["J.K.", "Moore"]
    said = run("predict", folder / "crf.model", "-f", "text", "--json", "--output-format", "tsv", stdin="a")
    assert "tsv output is no JSON" in said.message


def _copied(path: Path, name: str) -> Path:
    path.with_name(name).write_text(path.read_text())
    return path.with_name(name)


def test_standard_input_has_the_format_of_the_other_file(run: Run, folder: Path) -> None:
    dev = (folder / "dev.tsv").read_text()
    assert run("score", "-", folder / "dev.tsv", "--json", stdin=dev).json["accuracy"] == 1
    assert run("score", folder / "dev.tsv", _copied(folder / "dev.tsv", "dev.out"), "--json").json["accuracy"] == 1
    assert "only one of the two can be standard input" in run("score", "-", "-", stdin=dev).err


def test_a_new_format_is_one_line(run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sequence a line, its tokens written `word/LABEL`; it is known to `FORMATS` and nowhere else."""

    def read(source: Any) -> tuple[list[list[str]], list[list[str]]]:
        pairs = [[token.rsplit("/", 1) for token in line.split()] for line in read_lines(source).lines]
        return [[word for word, _ in one] for one in pairs], [[label for _, label in one] for one in pairs]

    def write(target: Any, X: Any, y: Any) -> None:
        with open_for_writing(target) as file:
            for tokens, labels in zip(X, y, strict=True):
                file.write(" ".join(f"{word}/{label}" for word, label in zip(tokens, labels, strict=True)) + "\n")

    monkeypatch.setitem(FORMATS, "slash", Format(read, write, by_lines=True))
    monkeypatch.setitem(EXTENSIONS, ".slash", "slash")
    monkeypatch.setattr("sidelight.data.source.line_blocks", partial(line_blocks, size=200))
    X, y = read_columns(folder / "dev.tsv", separator="\t")
    dev, model, out = tmp_path / "dev.slash", tmp_path / "m.model", tmp_path / "out.slash"
    write(dev, X, y)
    blocks = [block.X for block in Reader().blocks(str(dev), labels=True)]
    assert len(blocks) > 5
    assert [x for block in blocks for x in block] == X
    assert run("train", dev, "-o", model, "-l", "hmm", "-q").code == 0
    accuracy = run("evaluate", model, dev, "--json").json["accuracy"]
    assert accuracy == run("evaluate", model, folder / "dev.tsv", "--json").json["accuracy"]
    assert run("predict", model, folder / "dev.tsv", "--labeled", "-o", out).code == 0
    assert run("score", dev, out, "--json").json["accuracy"] == accuracy
    assert "slash has no place for probabilities" in run("predict", model, dev, "--marginals", "-o", out).message
    assert "the format slash has no such thing" in run("evaluate", model, dev, "--comment", "#").message
