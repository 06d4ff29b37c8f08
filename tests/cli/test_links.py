"""Aligning and matching on the command line."""

import json
from pathlib import Path

import pytest

from sidelight import load, read_pairs, write_pairs

from .conftest import Run

WORDS = {"das": "the", "haus": "house", "ist": "is", "klein": "small", "hund": "dog"}
SOURCES = ["das haus ist klein", "hund ist klein", "das ist haus", "klein hund", "haus ist das hund"]


def _pairs(order: int) -> tuple[list[tuple[list[str], list[str]]], list[list[tuple[int, int]]]]:
    X, y = [], []
    for text in SOURCES:
        source = text.split()
        X.append((source, [WORDS[word] for word in source[::order]]))
        y.append(sorted((i, j) for j, i in enumerate(range(len(source))[::order])))
    return X, y


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    folder = tmp_path_factory.mktemp("links")
    for task, order in (("aligning", 1), ("matching", -1)):
        write_pairs(folder / f"{task}.jsonl", *_pairs(order))
        said = run("train", folder / f"{task}.jsonl", "-o", folder / task, "--task", task)
        assert said.code == 0, said.err
        assert f"so this is {'crf' if task == 'aligning' else 'svm'}" in said.err
        assert "5 pairs, 32 tokens" in said.out
    return folder


@pytest.mark.parametrize("task", ["aligning", "matching"])
def test_predict_and_evaluate(run: Run, links: Path, tmp_path: Path, task: str) -> None:
    X, y = read_pairs(links / f"{task}.jsonl")
    lines = [json.dumps({"id": i, "source": s, "target": t, "partial": True}) for i, (s, t) in enumerate(X)]
    (tmp_path / "new.jsonl").write_text("\n".join(lines))
    assert run("predict", links / task, tmp_path / "new.jsonl", "-o", tmp_path / "out.jsonl").out == ""
    assert read_pairs(tmp_path / "out.jsonl") == (X, y)
    assert json.loads((tmp_path / "out.jsonl").read_text().splitlines()[1])["id"] == 1
    (tmp_path / "more.jsonl").write_text((tmp_path / "out.jsonl").read_text() + lines[0])
    said = run("evaluate", links / task, tmp_path / "more.jsonl", "--json").json
    assert (said["pairs"], said["links"]["f1"], said["exact"], said["skipped"]) == (5, 1.0, 1.0, 1)
    assert "1 pair whose links are not all known" in run("evaluate", links / task, tmp_path / "more.jsonl").out


def test_probabilities_and_several_outputs(run: Run, links: Path, tmp_path: Path) -> None:
    X, _ = read_pairs(links / "aligning.jsonl")
    model = load(links / "aligning")
    said = run("predict", links / "aligning", links / "aligning.jsonl", "--marginals", "--kbest", 2).out.splitlines()
    first = json.loads(said[0])
    best = model.predict_kbest(X[:1], 2)[0]
    assert [[tuple(link) for link in one["links"]] for one in first["kbest"]] == [one.labels for one in best]
    assert first["links"] == first["kbest"][0]["links"]
    chances = {tuple(one["link"]): one["probability"] for one in first["marginals"]}
    assert chances[0, 0] == pytest.approx(model.predict_marginals(X[:1])[0][0], abs=1e-6)
    assert min(chances.values()) > 0
    lines = run("predict", links / "matching", links / "matching.jsonl", "--kbest", 2).out.splitlines()
    assert [one["probability"] for one in json.loads(lines[0])["kbest"]] == [None, None]
    X, _ = read_pairs(links / "matching.jsonl")
    assert [one.probability for one in load(links / "matching").predict_kbest(X[:1], 2)[0]] == [None, None]
    refused = run("predict", links / "matching", links / "matching.jsonl", "--marginals").err
    assert "the log-partition of matchings is intractable" in refused
    assert "--without-rules" not in refused
    refused = run("predict", links / "aligning", links / "aligning.jsonl", "--output-format", "conllu").message
    assert "links are written as JSON lines (.jsonl), not conllu" in refused


def test_score_compares_two_files(run: Run, links: Path, tmp_path: Path) -> None:
    X, y = read_pairs(links / "aligning.jsonl")
    write_pairs(tmp_path / "other.jsonl", X, [y[0][1:], *y[1:]])
    both = [links / "aligning.jsonl", tmp_path / "other.jsonl", "--task", "aligning"]
    said = run("score", *both, "--json").json
    assert (said["links"]["recall"], said["links"]["precision"], said["exact"]) == (15 / 16, 1.0, 0.8)
    assert "80.00 % of 5 with exactly the right links" in run("score", *both).out
    write_pairs(tmp_path / "none.jsonl", X, [None, *y[1:]])
    assert "pair 0 has no predicted links" in run("score", both[0], tmp_path / "none.jsonl", *both[2:]).err
    assert run("score", tmp_path / "none.jsonl", both[0], *both[2:], "--json").json["skipped"] == 1
    write_pairs(tmp_path / "others.jsonl", [(X[0][0], X[1][1]), *X[1:]], [[], *y[1:]])
    refused = run("score", both[0], tmp_path / "others.jsonl", *both[2:]).err
    assert "it is ['the', 'house', 'is', 'small']" in refused
    assert "pair 0, target is" in refused


@pytest.mark.parametrize("task", ["aligning", "matching"])
def test_explain(run: Run, links: Path, tmp_path: Path, task: str) -> None:
    said = run("explain", links / task, links / f"{task}.jsonl", "-p", 1, "--labeled", "--figure", tmp_path / "a.svg")
    assert said.code == 0, said.err
    assert "haus (1): link house (" in said.out
    assert ("%" in said.out.split("evidence")[0]) == (task == "aligning")
    assert "●" in said.out
    assert "</svg>" in (tmp_path / "a.svg").read_text()
    told = run("explain", links / task, links / f"{task}.jsonl", "--json").json["explanation"]
    assert (told["probability"] is None) == (task == "matching")
    assert told["place"] == "source item"


def test_rules_about_links(run: Run, links: Path, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text('[[rule]]\nname = "no is"\nrule = "count(where=target(word.isin(\'is\'))) == 0"\n')
    said = run("check", tmp_path / "r.toml", links / "matching.jsonl", "--task", "matching")
    assert "no is" in said.out
    assert "das–the  haus–house  »ist«–is  klein–small" in said.out
    options = ["--task", "matching", "--rules", tmp_path / "r.toml", "--reading", "hard", "-q"]
    assert run("train", links / "matching.jsonl", "-o", tmp_path / "m", *options).code == 0
    model = load(tmp_path / "m")
    assert (type(model).__name__, type(model.base).__name__) == ("CCM", "StructuralSVM")
    X, _ = read_pairs(links / "matching.jsonl")
    assert not [
        target[j] for (_, target), y in zip(X, model.predict(X), strict=True) for _, j in y if target[j] == "is"
    ]
    shown = run("explain", tmp_path / "m", links / "matching.jsonl", "-p", 2).out
    assert "The rules change" in shown


def test_good_and_bad_pairs(run: Run, links: Path, tmp_path: Path) -> None:
    good = [json.dumps({"source": ["das", "hund"], "target": ["the", "dog"], "good": known}) for known in (True, False)]
    (tmp_path / "all.jsonl").write_text((links / "aligning.jsonl").read_text() + "\n".join(good))
    said = run(
        "train", tmp_path / "all.jsonl", "-o", tmp_path / "m", "--task", "aligning", "-l", "jlis", "-q", "--json"
    )
    assert said.code == 0, said.err
    assert said.json["companions"] == 2
    options = ["--task", "aligning", "-l", "jlis", "--bad", "mismatched", "-q", "--json"]
    said = run("train", links / "aligning.jsonl", "-o", tmp_path / "m", *options)
    assert said.code == 0, said.err
    assert said.json["companions"] == 5


def test_parameters_and_partial_links(run: Run, tmp_path: Path) -> None:
    lines = [
        {"source": "haus", "target": "house", "links": [[0, 0], [[1, 3], [1, 3]], [3, 3]]},
        {"source": "maus", "target": "mouse", "links": [[0, 0]], "partial": True},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    options = ["--task", "aligning", "--set", "task.longest=2", "-q"]
    assert run("train", tmp_path / "a.jsonl", "-o", tmp_path / "m", *options).code == 0
    assert load(tmp_path / "m").task.longest == 2
    refused = run("train", tmp_path / "a.jsonl", "-o", tmp_path / "m", "--task", "aligning", "-q")
    assert "a.jsonl:1: the link ((1, 3), (1, 3)) is longer than --set task.longest=1 allows" in refused.err
    refused = run("train", tmp_path / "a.jsonl", "-o", tmp_path / "m", "--task", "aligning", "--set", "task.longest=0")
    assert "longest must be a whole number of at least 1" in refused.err


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ('"links": [[0, 5]]', "the link (0, 5) is out of range: the target has 2 items, numbered from 0"),
        ('"links": [[0, 1], [1, 0]]', "the links of source items 0 and 1 cross; a monotone alignment has none"),
        ('"links": [[0, 0], [0, 1]]', "source item 0 has two links"),
        ('"links": 3', 'expected a list of links [i, j] under "links"'),
        ('"good": 1', 'expected true or false under "good"'),
    ],
)
def test_wrong_links_name_file_and_line(run: Run, tmp_path: Path, known: str, message: str) -> None:
    data = tmp_path / "bad.jsonl"
    data.write_text(f'\n{{"source": "ab", "target": "cd", {known}}}\n')
    said = run("train", data, "-o", tmp_path / "m", "--task", "aligning", "-q")
    assert said.code == 1
    assert said.err.startswith(f"error: {data}:2: ")
    assert message in said.err


def test_other_files(run: Run, folder: Path, links: Path, tmp_path: Path) -> None:
    said = run("evaluate", links / "aligning", folder / "dev.jsonl")
    assert (
        "dev.jsonl:1: expected a string or a list under \"source\", found only the keys ['labels', 'tokens']"
        in said.err
    )
    assert (
        "Aligning reads JSON lines (.jsonl), and this is called tsv"
        in run("predict", links / "aligning", folder / "dev.tsv").err
    )
    said = run("evaluate", links / "aligning", links / "aligning.jsonl", "--columns", "form")
    assert "the format jsonl has no such thing" in said.message
