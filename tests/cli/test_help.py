"""Examples of `--help` run as written, `train --help` is short, and parameters have one name."""

import inspect
import json
import re
import shlex
from pathlib import Path

import pytest
import typer

import sidelight
from sidelight import DMV, HMM, JLIS, load, write_columns, write_pairs, write_trees
from sidelight.cli import align, demo, templates, train, transfer
from sidelight.cli.main import COMMANDS, app
from sidelight.cli.parameters import NOT_SET
from sidelight.demo import run as demo_run
from sidelight.demo.files import write_files
from sidelight.learners.choosing import signals
from sidelight.learners.registry import REGISTRY

from .conftest import Run, Said

WORDS = "the old dog sees a small cat and the cat sees a dog ."
TAGS = "DET ADJ NOUN VERB DET ADJ NOUN CCONJ DET NOUN VERB DET NOUN PUNCT"
HEADS = [3, 3, 4, 0, 7, 7, 4, 11, 10, 11, 4, 13, 11, 4]
CHUNKS = ["B", "I", "I", "O", "B", "I", "I", "O", "B", "I", "O", "B", "I", "O"]
# Examples that write what others read come first.
_FIRST = (templates, train, align, transfer, demo)
EXAMPLES = [line for module in (*_FIRST, *(one for one in COMMANDS if one not in _FIRST)) for line in module.EXAMPLES]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file that an example reads and none writes."""
    folder = tmp_path_factory.mktemp("examples")
    write_files(str(folder))
    words, tags = WORDS.split(), TAGS.split()
    for name in ("few.tsv", "train.tsv", "dev.tsv", "gold.tsv", "predicted.tsv", "other.tsv"):  # quick to learn from
        X, y = sidelight.generate_references(8, seed=1)
        write_columns(folder / name, X, y)
    write_columns(folder / "more.txt", X)
    write_columns(folder / "bad.txt", sidelight.shuffled(X))
    tagged = list(zip(words, tags, strict=True))
    for name in ("train.txt", "dev.txt", "test.txt", "gold.txt", "predicted.txt"):
        write_columns(folder / name, [tagged] * 4, [CHUNKS] * 4, separator=" ")
    (folder / "words.tsv").write_text("the\tDET\ndog\tNOUN|VERB\nbarks\tVERB\n\n" * 3)
    arcs = list(zip(HEADS, ["root" if head == 0 else "dep" for head in HEADS], strict=True))
    for name in ("trees", "dev", "new", "gold", "tagged"):
        write_trees(folder / f"{name}.conllu", [tagged] * 4, [arcs] * 4, labelled=True)
    (folder / "arcs.toml").write_text("[[rule]]\nrule = \"count(where=head(pos.isin('DET'))) == 0\"\n")
    pairs = [(list("kay"), list("cay")), (list("kay"), list("zzz"))] * 2
    records = [{"source": a, "target": b, "good": a[1:] == b[1:]} for a, b in pairs]
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, records)))
    for name in ("gold.jsonl", "predicted.jsonl"):
        write_pairs(folder / name, pairs[:1], [[(0, 0), (1, 1), (2, 2)]])
    for name in ("text", "train", "new", "dev"):
        for language in ("en", "fr"):
            (folder / f"{name}.{language}").write_text((WORDS + "\n") * 3)
    (folder / "dev.wa").write_text((" ".join(f"{t}-{t}" for t in range(len(words))) + "\n") * 3)
    DMV().fit([tagged], [HEADS]).save(folder / "en.model")
    for name in ("en-tags", "fr-tags"):
        HMM().fit([words], [tags]).save(folder / f"{name}.model")
    return folder


def typed(run: Run, line: str) -> Said:
    """What the last command of a line says; commands are joined by pipes, and echo and cat are known."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    words, said = list(lexer), Said(0, "", "")
    target = words.pop() if ">" in words else None
    words = words[:-1] if target else words
    while words:
        end = words.index("|") if "|" in words else len(words)
        (command, *arguments), words = words[:end], words[end + 1 :]
        if command == "sidelight":
            said = run(*arguments, stdin=said.out or None)
        else:
            assert command in ("echo", "cat")
            text = " ".join(arguments) + "\n" if command == "echo" else Path(*arguments).read_text()
            said = Said(0, text, "")
        assert said.code == 0, (line, said.err)
    if target:
        Path(target).write_text(said.out)
    return said


@pytest.mark.usefixtures("quick")
def test_examples_run_as_written(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    for name in ("change", "tolerance"):  # commands are the point here, not what they learn
        monkeypatch.setitem(JLIS.__init__.__kwdefaults__, name, 0.5)
    monkeypatch.setattr(signals, "_LEAST", 100)  # no trials
    whole = demo_run.run_demo
    monkeypatch.setattr(demo_run, "run_demo", lambda labeled, **more: whole([5], **more | {"test": 9, "unlabeled": 9}))
    for line in EXAMPLES:
        if line == "sidelight demo --write .":
            for name in ("few.tsv", "train.tsv", "dev.tsv", "more.txt", "new.txt", "rules.toml"):
                Path(name).rename(f"{name}.kept")
        typed(run, line)
        for kept in Path().glob("*.kept"):
            kept.rename(kept.stem)


def test_train_has_a_dozen_options(run: Run) -> None:
    def options(name: str) -> set[str]:
        return set(re.findall(r"^│ [* ]*(--[a-z-]+)", run("train", name).out, re.MULTILINE))

    assert len(options("--help") - {"--help", "--help-all"}) <= 14
    assert options("--help-all") - options("--help") == {
        "--classes", "--templates", "--view", "--figure", "--label-column", "--comment", "--partial", "--n-jobs",
        "--quiet", "--checkpoint", "--every", "--scratch", "--workers",
    }  # fmt: skip


def test_a_parameter_has_one_name(run: Run, folder: Path, tmp_path: Path) -> None:
    arguments = ("train", folder / "train.tsv", "-o", tmp_path / "m", "-l", "hmm", "-q")
    assert run(*arguments, "--emission-smoothing=2", "--rare", "2").code == 0
    assert (load(tmp_path / "m").emission_smoothing, load(tmp_path / "m").rare) == (2.0, 2)
    options = {name for one in typer.main.get_command(app).commands["train"].params for name in one.opts}  # type: ignore
    assert {place for place in NOT_SET.values() if place.startswith("--")} <= options
    assert [name for name in NOT_SET if NOT_SET[name] not in ("Python", "--quiet", f"--{name.replace('_', '-')}")] == []


def test_older_names_of_options_still_work(run: Run, folder: Path, tmp_path: Path) -> None:
    arguments = ("train", folder / "train.tsv", "-o", tmp_path / "m", "-q", "--jobs", "1", "-l")
    assert run(*arguments, "hmm", "--smoothing", "0.5").code == 0
    assert (load(tmp_path / "m").start_smoothing, load(tmp_path / "m").n_jobs) == (0.5, 1)
    assert run(*arguments, "perceptron", "--template", "word", "--seed=7", "--epochs", "1").code == 0
    assert (load(tmp_path / "m").random_state, load(tmp_path / "m").features) == (7, ["word"])
    assert "Invalid value for --seed: a value is missing" in run(*arguments, "perceptron", "--seed").message
    message = run(*arguments, "hmm", "--lerner", "crf").message
    assert "No such option" in message
    assert "--lerner" in message


def test_learners_are_listed_and_shown(run: Run) -> None:
    listed = run("learners").out
    assert [
        name for one in REGISTRY.values() if (name := one.command) and not re.search(rf"^{name}\b", listed, re.M)
    ] == []
    assert "MaxEnt" in listed
    said = run("learners", "pr")
    for part in ("maximise  L(w)", "iterations = 10", "goes around  hmm", "[--rules]", "unlabelled sequences"):
        assert part in said.out
    assert "or another (--base): crf, semicrf\n" in re.sub(" +\n", "\n", said.out)
    facts = run("learners", "CRF", "--json").json
    assert (facts["command"], facts["base"]) == ("crf", None)
    assert {"name": "l2", "type": "float", "default": "0.1"}.items() <= next(
        one for one in facts["parameters"] if one["name"] == "l2"
    ).items()
    assert "there is no learner 'tree'" in run("learners", "tree").message
    assert "; did you mean 'codl'?" in run("learners", "cold").message


def test_every_learner_can_be_shown() -> None:
    from sidelight.report.learners import learner_facts

    for name in REGISTRY:
        facts = learner_facts(name)
        assert [one.name for one in facts.parameters] == list(inspect.signature(getattr(sidelight, name)).parameters)
        assert facts.summary.endswith(".")
