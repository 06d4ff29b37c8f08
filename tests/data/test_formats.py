import inspect
import io
import subprocess
import sys

import pytest

import sidelight.data
from sidelight.data import FORMATS, guess_format
from sidelight.errors import DataError


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_reads_what_it_writes(name):
    X, y = [["a", "b"], ["c"]], [["X", "Y"], ["X"]] if FORMATS[name].labelled else [None, None]
    target = io.StringIO()
    FORMATS[name].write(target, X, y)
    assert FORMATS[name].read(io.StringIO(target.getvalue())) == (X, y)


@pytest.mark.parametrize("name", FORMATS)
def test_sequences_end_with_a_line_or_with_a_blank_line(name):
    target = io.StringIO()
    FORMATS[name].write(target, [["a", "b"], ["c"]], [["X", "Y"], ["X"]] if FORMATS[name].labelled else None)
    halves = target.getvalue().split("\n" if FORMATS[name].by_lines else "\n\n", 1)
    assert [FORMATS[name].read(io.StringIO(half))[0] for half in halves] == [[["a", "b"]], [["c"]]]


@pytest.mark.parametrize("name", FORMATS)
def test_options_are_those_of_the_reader(name):
    parameters = inspect.signature(FORMATS[name].read).parameters
    assert FORMATS[name].options == set(parameters) - {"source"} - ({"separator"} if name == "tsv" else set())


def test_tsv_is_separated_by_tabs_and_columns_by_spaces():
    assert FORMATS["tsv"].read(["a b\tX"]) == ([["a b"]], [["X"]])
    target = io.StringIO()
    FORMATS["columns"].write(target, [["a"]], [["X"]])
    assert target.getvalue() == "a X\n\n"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.tsv", "tsv"),
        ("dir.txt/a.CONLLU", "conllu"),
        ("a.jsonl", "jsonl"),
        ("a.json", "jsonl"),
        ("a.conll", "columns"),
        ("a.tok", "tokens"),
    ],
)
def test_extensions(path, name):
    assert guess_format(path) == name


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("He PRP O\nran VBD O\n\nStop VB O\n", "columns"),
        ("a\nb\n\nc\n", "columns"),
        ("He ran home.\n\nIt rained.\n", "text"),
        ("a b\n" * 20 + "c\n", "columns"),
    ],
)
def test_text_files_are_told_by_their_columns(tmp_path, content, name):
    path = tmp_path / "a.txt"
    path.write_text(content)
    assert guess_format(path) == name


@pytest.mark.parametrize("content", ["", "He ran home.\n"])
def test_too_little_text_to_tell(tmp_path, content):
    path = tmp_path / "a.txt"
    path.write_text(content)
    with pytest.raises(DataError, match=r"a\.txt: . line is too little.*--format \(columns, tsv, conllu"):
        guess_format(path)


@pytest.mark.parametrize("source", ["-", io.StringIO("a b"), ["a b"]])
def test_input_without_a_name(source):
    with pytest.raises(DataError, match="this input has no file name; say which with --format"):
        guess_format(source)


def test_commas_between_columns(tmp_path):
    (tmp_path / "a.csv").touch()
    with pytest.raises(DataError, match=r"a.csv: commas between columns are not read; write the file with tabs"):
        guess_format(tmp_path / "a.csv")


@pytest.mark.parametrize("path", ["a.xml", "plain"])
def test_unknown_extensions(tmp_path, path):
    with pytest.raises(DataError, match=f"{path}: cannot read: it does not exist"):
        guess_format(tmp_path / path)
    (tmp_path / path).touch()
    with pytest.raises(DataError, match=f"{path}: the extension .* is not one of .tsv, .*--format"):
        guess_format(tmp_path / path)


def test_every_public_name_is_there_and_no_other():
    for name in sidelight.data.__all__:
        assert callable(getattr(sidelight.data, name)) or name == "FORMATS"
        assert name in dir(sidelight.data)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sidelight.data.nothing


def test_importing_the_readers_does_not_import_numpy():
    code = "import sys, sidelight.data; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
