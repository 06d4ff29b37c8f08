"""Columns beside the words: offsets and ids are no features without a word, and models remember what columns are."""

from pathlib import Path

import pytest

from sidelight import load, read_corpus
from sidelight.data.formats import Layout

from .conftest import Run

WORDS, LABELS = ("In", "Ann", "met", "Bob", "."), ("O", "P", "O", "P", "O")


@pytest.fixture(scope="module")
def offsets(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    """Tokens with offsets, with and without labels, and in other layouts; a model that leaves the offsets out."""
    folder = tmp_path_factory.mktemp("offsets")
    rows, at = list[list[str]](), 0
    for k in range(50):
        word = WORDS[k % 5]
        rows.append([word, str(at), str(at + len(word)), LABELS[k % 5]])
        at += len(word) + 1
    for name, columns in (("train", (0, 1, 2, 3)), ("new", (0, 1, 2)), ("first", (3, 0, 1)), ("words", (0,))):
        lines = ["\t".join(row[k] for k in columns) + "\n" * (number % 5 == 4) for number, row in enumerate(rows)]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    told = run("train", folder / "train.tsv", "-o", folder / "m", "-l", "crf", "-q", "--columns", "word,_,_,label")
    assert told.code == 0, told.err
    return folder


@pytest.mark.parametrize(
    ("file", "options", "names"),
    [
        ("train", [], "word,_,_,label"),
        ("train", ["-t", "default"], "word,_,_,label"),
        ("train", ["--columns", "word,start,_,label"], "word,_,_,label"),
        ("train", ["--columns", "pos,_,word,label"], "word,_,_,label"),
        ("first", ["--label-column", "0"], "label,word,_"),
    ],
)
def test_offsets_are_refused_with_the_option_that_leaves_them_out(
    run: Run, offsets: Path, tmp_path: Path, file: str, options: list[str], names: str
) -> None:
    train = ("train", offsets / f"{file}.tsv", "-o", tmp_path / "m", "-l", "crf", "-q")
    said = run(*train, *options)
    assert said.code == 1
    assert f"{file}.tsv: column" in said.err
    assert f"like offsets and ids; leave them out with --columns {names}, or say which columns to" in said.err
    assert not (tmp_path / "m").exists()
    assert run(*train, "--columns", names).code == 0  # as it is typed
    assert run(*train, "--label-column", 0 if file == "first" else -1, "-t", "word", "-t", "pos").code == 0


def test_offsets_in_corpora_are_left_out_when_these_are_made(run: Run, offsets: Path, tmp_path: Path) -> None:
    train = ("train", tmp_path / "c.sl", "-o", tmp_path / "m", "-l", "crf", "-q")
    assert run("encode", offsets / "train.tsv", "-o", tmp_path / "c.sl").code == 0
    assert "leave them out with `sidelight encode --columns`, or say which columns to read with -t" in run(*train).err
    assert run("encode", offsets / "train.tsv", "-o", tmp_path / "c.sl", "--columns", "word,_,_,label").code == 0
    assert run(*train).code == 0


def test_models_remember_the_columns_of_a_corpus(run: Run, offsets: Path, tmp_path: Path) -> None:
    corpus, model, train = tmp_path / "c.sl", tmp_path / "m", offsets / "train.tsv"
    assert run("encode", train, "-o", corpus, "--columns", "word,_,_,label").code == 0
    assert run("train", corpus, "-o", model, "-l", "crf", "-q").code == 0
    assert load(model).layout_ == Layout("tsv", "word,_,_,label", None)
    assert run("evaluate", model, train, "--json").json["tokens"] == 50
    assert run("predict", model, train).out == run("predict", offsets / "m", train).out != ""
    assert run("encode", train, "-o", corpus, "--columns", "word,_,_,_", "--unlabeled").code == 0
    assert read_corpus(corpus).file.layout is None


def test_models_remember_columns(run: Run, offsets: Path) -> None:
    model, train, new = offsets / "m", offsets / "train.tsv", offsets / "new.tsv"
    assert load(model).layout_ == Layout("tsv", "word,_,_,label", None)
    assert "--columns word,_,_,label" in run("inspect", model).out
    typed = ("--columns", "word,_,_,label")
    assert run("evaluate", model, train, "--json").json["tokens"] == 50
    for command in (("evaluate", model, train), ("predict", model, train), ("explain", model, train, "--labeled"),
                    ("check", "count('P') >= 1", train, "--model", model)):  # fmt: skip
        assert run(*command).out == run(*command, *typed).out != ""
    predicted = run("predict", model, new).out
    assert predicted == run("predict", model, new, "--columns", "word,_,_").out == train.read_text().rstrip() + "\n\n"
    assert predicted == run("predict", model, "-", "-f", "tsv", stdin=new.read_text()).out
    assert run("predict", model, "-", "-f", "text", stdin="Ann met Bob.\n").code == 0


@pytest.mark.parametrize(
    ("command", "file", "message"),
    [
        ("evaluate", "new", "found 3: 'In\\t0\\t2'; name"),
        ("evaluate", "first", "found 3: 'O\\tIn\\t0'; name"),
        ("predict", "words", " or all but label, found 1: 'In'; name"),
        ("explain", "words", " or all but label, found 1: 'In'; name"),
    ],
)
def test_another_layout_is_an_error_that_names_the_option(
    run: Run, offsets: Path, command: str, file: str, message: str
) -> None:
    said = run(command, offsets / "m", offsets / f"{file}.tsv")
    assert (said.code, said.out) == (1, "")
    assert f"{file}.tsv:1: expected the 4 columns of training (word, _, _, label)" in said.err
    assert message in said.err
    assert " file with --columns, _ for each to leave out" in said.err
    columns = {"new": "word,_,_", "first": "label,word,_", "words": "word"}[file]
    assert run("predict", offsets / "m", offsets / f"{file}.tsv", "--columns", columns).code == 0


def test_models_that_remember_nothing_name_the_option_too(run: Run, offsets: Path, tmp_path: Path) -> None:
    lines = [f"{line}\tX" if line else "" for line in (offsets / "words.tsv").read_text().split("\n")]
    (tmp_path / "plain.tsv").write_text("\n".join(lines))
    assert run("train", tmp_path / "plain.tsv", "-o", tmp_path / "m", "-l", "crf", "-q").code == 0
    assert load(tmp_path / "m").layout_ is None
    said = run("evaluate", tmp_path / "m", offsets / "train.tsv")
    assert "trained on tokens of 1 column, these have 3; name the columns of the file with --columns, _ for" in said.err


def test_models_remember_the_columns_of_conllu(run: Run, tmp_path: Path) -> None:
    words = (("the", "det", "D"), ("dog", "noun", "N"), ("barks", "verb", "V"))
    row = "{}\t{}\t{}\t_\t{}\t_\t_\t_\t_\t_\n"
    (tmp_path / "t.conllu").write_text("".join(row.format(k, *one) for k, one in enumerate(words, start=1)) * 1 + "\n")
    train = ("train", tmp_path / "t.conllu", "-o", tmp_path / "m", "-l", "crf", "-q")
    assert run(*train, "--columns", "form,lemma", "--label-column", "xpos").code == 0
    assert run("evaluate", tmp_path / "m", tmp_path / "t.conllu", "--json").json["accuracy"] == 1.0
    assert run("predict", tmp_path / "m", tmp_path / "t.conllu").out == (tmp_path / "t.conllu").read_text()


def test_a_fit_forgets_the_columns_of_other_data(run: Run, offsets: Path) -> None:
    model = load(offsets / "m")
    assert model.fit([["a", "b"]], [["O", "P"]]).layout_ is None
