"""`sidelight templates`, and training with what it writes."""

from pathlib import Path

from sidelight import load, pos, write_trees
from sidelight.features.choose import default_templates
from sidelight.features.columns import as_template

from .conftest import Run


def test_templates_are_written_and_learned_with(run: Run, folder: Path, tmp_path: Path) -> None:
    said = run("templates", folder / "train.tsv", "-o", tmp_path / "found.txt", "--max-templates", 5, "--json")
    assert said.code == 0, said.err
    told = [one["template"] for one in said.json["templates"]]
    lines = [line for line in (tmp_path / "found.txt").read_text().splitlines() if not line.startswith("#")]
    assert (len(told), lines[:5]) == (5, told)
    plain = run("templates", folder / "train.tsv", "-t", "word.lower()", "-t", "word[-1]", "--no-basic").out
    assert plain.startswith("# ")
    options = ("-l", "perceptron", "-q", "--json", "--templates", tmp_path / "found.txt")
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", *options)
    assert said.code == 0, said.err
    assert run("predict", tmp_path / "m", folder / "new.txt").code == 0


def test_templates_of_arcs(run: Run, tmp_path: Path) -> None:
    X = [[("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")], [("dogs", "NOUN"), ("bark", "VERB")]]
    write_trees(tmp_path / "t.conllu", X * 10, [[2, 3, 0], [2, 0]] * 10)
    said = run("templates", tmp_path / "t.conllu", "--task", "parsing", "-o", tmp_path / "arcs.txt", "--min-rows", 5)
    assert said.code == 0, said.err
    train = ("train", tmp_path / "t.conllu", "-o", tmp_path / "m", "--task", "parsing", "-l", "perceptron", "-q")
    assert run(*train, "--templates", tmp_path / "arcs.txt").code == 0
    said = run(*train, "-t", "word")
    assert said.code != 0
    assert "cannot read the template 'word' of arcs" in said.message


def test_bad_files(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("word\nwoord\n")
    said = run("templates", folder / "train.tsv", "--templates", tmp_path / "bad.txt")
    assert said.code != 0
    assert "bad.txt" in said.message
    assert "2" in said.message
    said = run("templates", folder / "new.txt")
    assert said.code != 0
    assert "plain text has no labels" in said.message


def test_default_templates_beside_others(run: Run, folder: Path, tmp_path: Path) -> None:
    """On the command line and in files of templates; a column has the name that --columns gives it."""
    train = ("train", tmp_path / "d.tsv", "-q", "-l", "crf", "--columns", "word,list,label", "-o", tmp_path / "m")
    (tmp_path / "d.tsv").write_text("ab\tno\tX\nba\tyes\tY\n\n")
    (tmp_path / "t").write_text("default\nlist[3]\n")
    for options in (["-t", "default", "-t", "list[3]"], ["--templates", tmp_path / "t"]):
        assert run(*train, *options).code == 0
        assert load(tmp_path / "m").encoder_.templates_ == [*default_templates(2), as_template(pos[3])]
    said = run("templates", folder / "train.tsv", "-t", "default")
    assert (said.code, "'default' is not known here" in said.err) == (1, True)
