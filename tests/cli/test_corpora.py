"""Corpora on the command line, and input of any length: what is read block by block gives what the whole gives."""

import io
import json

import pytest

from sidelight import read_columns, read_corpus, write_columns, write_jsonlines, write_text
from sidelight.data.source import line_blocks


@pytest.fixture
def small_blocks(monkeypatch):
    """A few lines are read at a time."""
    monkeypatch.setitem(line_blocks.__kwdefaults__, "size", 300)
    monkeypatch.setattr("sidelight.data.corpus.Corpus.blocks.__defaults__", (40,))


def test_encode_reads_every_format(run, folder, tmp_path, small_blocks):
    X, y = read_columns(folder / "train.tsv", separator="\t")
    for name in ("train.tsv", "train.conll", "train.jsonl"):
        said = run("encode", folder / name, "-o", tmp_path / "c.sl")
        assert said.code == 0, said.message
        assert f"{len(X)} sequences" in said.out
        corpus = read_corpus(tmp_path / "c.sl")
        assert list(corpus) == X
        assert list(corpus.y) == y


def test_encode_joins_files_and_reads_standard_input(run, folder, tmp_path, small_blocks):
    said = run("encode", folder / "train.tsv", folder / "dev.tsv", "-o", tmp_path / "c.sl", "--json")
    assert said.json["sequences"] == 60
    assert "author" in said.json["labels"]
    text = "a b. c\n\nd e\n"
    assert run("encode", "-", "-f", "text", "-o", tmp_path / "t.sl", stdin=text).code == 0
    corpus = read_corpus(tmp_path / "t.sl")
    assert list(corpus) == [["a", "b", ".", "c"], ["d", "e"]]
    assert list(corpus.y) == [None, None]


def test_encode_takes_partial_labels_and_leaves_labels_out(run, tmp_path):
    (tmp_path / "p.tsv").write_text("a\tA|B\nb\t?\n")
    assert run("encode", tmp_path / "p.tsv", "--partial", "-o", tmp_path / "c.sl").code == 0
    assert list(read_corpus(tmp_path / "c.sl").y) == [[frozenset("AB"), None]]
    assert run("encode", tmp_path / "p.tsv", "--columns", "word,_", "--unlabeled", "-o", tmp_path / "c.sl").code == 0
    assert list(read_corpus(tmp_path / "c.sl")) == [["a", "b"]]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a\tA\nb\n", (), "expected 2 columns, found 1"),
        ("", (), "the file is empty"),
        ('{"tokens": [{"w": 1}]}', ("-f", "jsonl"), "strings or tuples of strings"),
        ("a\tA\n", ("-f", "text", "--comment", "#"), "the format text has no such thing"),
    ],
)
def test_encode_refuses_bad_files_and_writes_nothing(run, tmp_path, content, options, message):
    (tmp_path / "x.tsv").write_text(content)
    said = run("encode", tmp_path / "x.tsv", "-o", tmp_path / "c.sl", *options)
    assert said.code != 0
    assert message in said.message
    assert not (tmp_path / "c.sl").exists()


def test_tokens_with_more_columns_in_a_later_block_are_refused(run, tmp_path, small_blocks):
    (tmp_path / "x.tsv").write_text("word\tA\n\n" * 60 + "word\tN\tA\n\n" * 60)
    said = run("encode", tmp_path / "x.tsv", "-o", tmp_path / "c.sl")
    assert said.code == 1
    assert "expected" in said.message
    assert "2 columns" in said.message


def test_training_on_a_corpus_is_training_on_its_file(run, folder, tmp_path):
    run("encode", folder / "train.tsv", "-o", tmp_path / "train.sl")
    run("encode", folder / "dev.tsv", "-o", tmp_path / "dev.sl")
    said = run(
        "train", tmp_path / "train.sl", "-o", tmp_path / "m", "-l", "crf", "-q", "--dev", tmp_path / "dev.sl",
        "--scratch", tmp_path, "--json",
    )  # fmt: skip
    assert said.code == 0, said.message
    assert said.json["sequences"] == 40
    theirs = run("evaluate", folder / "crf.model", folder / "dev.tsv", "--json").json
    assert said.json["dev"] == theirs
    for path in (tmp_path / "dev.sl", folder / "dev.tsv"):
        assert run("evaluate", tmp_path / "m", path, "--json").json == theirs


def test_hash_bits_are_an_option(run, folder, tmp_path):
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", "-l", "crf", "-q", "--hash-bits", "12", "--json")
    assert said.json["model"]["features"] == 4096
    mine, theirs = (
        run("evaluate", model, folder / "dev.tsv", "--json") for model in (tmp_path / "m", folder / "crf.model")
    )
    assert mine.json["accuracy"] > theirs.json["accuracy"] - 0.1
    assert "hash " in run("inspect", tmp_path / "m").out


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_unlabelled_corpora(run, folder, more, tmp_path):
    run("encode", more, "-f", "columns", "--unlabeled", "-o", tmp_path / "more.sl")
    run("encode", folder / "train.tsv", "-o", tmp_path / "train.sl")
    found = []
    for data, unlabeled in (("train.tsv", more), ("train.tsv", tmp_path / "more.sl"), (None, tmp_path / "more.sl")):
        path = tmp_path / "train.sl" if data is None else folder / data
        options = ("-f", "columns", "--columns", "word,label") if unlabeled == more else ()
        said = run("train", path, "-o", tmp_path / "m", "-l", "codl", "--base", "hmm", "--unlabeled", unlabeled, "-q",
                   "--iterations", "2", *options)  # fmt: skip
        assert said.code == 0, said.message
        found.append(run("predict", tmp_path / "m", folder / "dev.jsonl").out)
    assert found[0] == found[1] == found[2]


def test_options_about_columns_are_refused_for_corpora(run, folder, tmp_path):
    run("encode", folder / "train.tsv", "-o", tmp_path / "c.sl")
    said = run("train", tmp_path / "c.sl", "-o", tmp_path / "m", "-f", "tsv")
    assert said.code == 2
    assert "is a corpus" in said.message
    (tmp_path / "bad.sl").write_bytes((tmp_path / "c.sl").read_bytes()[:-20])
    said = run("train", tmp_path / "bad.sl", "-o", tmp_path / "m")
    assert said.code == 1
    assert "damaged or cut off" in said.message


@pytest.mark.parametrize("options", [(), ("--marginals",), ("--json", "--kbest", "2"), ("--output-format", "conllu")])
def test_predictions_in_blocks_are_those_of_the_whole(run, folder, monkeypatch, options):
    names = [("dev.jsonl",), ("dev.tsv", "--labeled"), ("dev.conll", "--labeled"), ("new.txt", "-f", "text")]
    if "conllu" not in options:
        names += [("dev.tsv", "--columns", "word,label"), ("dev.tsv", "--label-column", "1")]
    whole = [run("predict", folder / "crf.model", folder / name, *more, *options) for name, *more in names]
    assert not any(said.code for said in whole)
    monkeypatch.setitem(line_blocks.__kwdefaults__, "size", 300)
    for (name, *more), said in zip(names, whole, strict=True):
        assert run("predict", folder / "crf.model", folder / name, *more, *options).out == said.out


def test_standard_input_of_several_blocks_and_corpora(run, folder, tmp_path, small_blocks):
    run("encode", folder / "dev.jsonl", "-o", tmp_path / "dev.sl")
    expected = run("predict", folder / "crf.model", folder / "dev.conll", "--labeled").out
    assert run("predict", folder / "crf.model", tmp_path / "dev.sl").out == expected
    content = (folder / "dev.conll").read_text()
    assert run("predict", folder / "crf.model", "-f", "columns", "--labeled", stdin=content).out == expected


def test_an_error_in_a_later_block_names_its_line_and_leaves_the_output(run, folder, tmp_path, small_blocks):
    target = tmp_path / "out.tsv"
    target.write_text("before")
    lines = (folder / "dev.jsonl").read_text().splitlines()
    (tmp_path / "x.jsonl").write_text("\n".join([*lines, "no json"]) + "\n")
    said = run("predict", folder / "crf.model", tmp_path / "x.jsonl", "-o", target)
    assert said.code == 1
    assert f"x.jsonl:{len(lines) + 1}: bad JSON" in said.message
    assert target.read_text() == "before"


def test_evaluation_in_blocks_is_that_of_the_whole(run, folder, tmp_path, monkeypatch):
    X = [["a", "b", "c"]] * 30 + [["d", "e"]] * 30
    labels = {"bio": (["B-X", "I-X", "O"], ["O", "B-Y"]), "runs": (["X"] * 3, ["O", "Y"])}
    for name, (one, two) in labels.items():
        y = [one] * 30 + [two] * 30
        write_jsonlines(tmp_path / f"{name}.jsonl", X, y)
        other = [[label.replace("Y", "X") for label in known] for known in y]
        write_jsonlines(tmp_path / "train.jsonl", X[:1] + X[-5:], y[:1] + other[-5:])
        assert run("train", tmp_path / "train.jsonl", "-o", tmp_path / "m", "-l", "hmm", "-q").code == 0
        whole = run("evaluate", tmp_path / "m", tmp_path / f"{name}.jsonl", "--json").json
        assert whole["unseen"]
        with monkeypatch.context() as change:
            change.setitem(line_blocks.__kwdefaults__, "size", 300)
            assert run("evaluate", tmp_path / "m", tmp_path / f"{name}.jsonl", "--json").json == whole
        assert whole["spans"]["scheme"] == name


def test_lines_come_in_blocks_that_cut_no_paragraph():
    lines = [f"{k}" if k % 7 else "" for k in range(1, 200)]
    for content in ("\n".join(lines), "\r\n".join(lines) + "\r\n", "\ufeff" + "\n".join(lines)):
        for size in (1, 5, 64, 10**6):
            for source in (io.BytesIO(content.encode()), io.StringIO(content)):
                blocks = list(line_blocks(source, whole_paragraphs=True, size=size))
                assert [line for block in blocks for line in block.lines] == lines
                assert [block.first for block in blocks] == [
                    1 + sum(len(one.lines) for one in blocks[:k]) for k in range(len(blocks))
                ]
                assert all(block.lines[-1] == "" for block in blocks[:-1])


def test_files_of_trees_are_parsed_in_blocks(run, tmp_path, monkeypatch):
    sentence = "# text\n1\ta\t_\tN\t_\t_\t2\t_\t_\t_\n2\tb\t_\tV\t_\t_\t0\t_\t_\t_\n\n"
    (tmp_path / "t.conllu").write_text("# first\n\n# second\n\n" + sentence * 30 + "# last\n")
    said = run("train", tmp_path / "t.conllu", "-o", tmp_path / "m", "--task", "parsing", "-l", "perceptron", "-q")
    assert said.code == 0, said.message
    whole = run("predict", tmp_path / "m", tmp_path / "t.conllu", "-o", tmp_path / "whole.conllu")
    assert whole.code == 0
    monkeypatch.setitem(line_blocks.__kwdefaults__, "size", 200)
    assert run("predict", tmp_path / "m", tmp_path / "t.conllu", "-o", tmp_path / "parts.conllu").code == 0
    assert (tmp_path / "parts.conllu").read_text() == (tmp_path / "whole.conllu").read_text()
    assert "# first" in (tmp_path / "whole.conllu").read_text()


def test_text_and_columns_round_trip_through_a_corpus(run, tmp_path):
    write_text(tmp_path / "x.tok", [["a-b", "c."], ["d"]])
    assert run("encode", tmp_path / "x.tok", "-o", tmp_path / "c.sl").code == 0
    assert list(read_corpus(tmp_path / "c.sl")) == [["a-b", "c."], ["d"]]
    write_columns(tmp_path / "x.tsv", [[("a", "N")]], [["A"]])
    assert json.loads(run("encode", tmp_path / "x.tsv", "-o", tmp_path / "c.sl", "--json").out)["columns"] == 2
