"""Parsing on the command line: train, predict, evaluate, check, explain, inspect, and what goes wrong."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from sidelight import load, read_trees, write_trees

from .conftest import Run

SENTENCES = [
    ("the dog sees a cat", "DET NOUN VERB DET NOUN", [2, 3, 0, 5, 3], "det nsubj root det obj"),
    ("a cat sleeps", "DET NOUN VERB", [2, 3, 0], "det nsubj root"),
    ("dogs see the old cat", "NOUN VERB DET ADJ NOUN", [2, 0, 5, 5, 2], "nsubj root det amod obj"),
    ("the old dog sleeps", "DET ADJ NOUN VERB", [3, 3, 4, 0], "det amod nsubj root"),
]
RULES = """
[[rule]]
name = "determiners are leaves"
rule = "count(where=head(pos.isin('DET'))) == 0"
reading = "hard"

[[rule]]
name = "one dependent"
rule = "count(by=head) <= 1"
penalty = 0.1
"""


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    """A small treebank with comments and other columns, and a parser learned from it."""
    folder = tmp_path_factory.mktemp("trees")
    X = [list(zip(words.split(), tags.split(), strict=True)) for words, tags, _, _ in SENTENCES]
    y = [list(zip(heads, labels.split(), strict=True)) for _, _, heads, labels in SENTENCES]
    write_trees(folder / "bare.conllu", X, y, labelled=True)
    text = (folder / "bare.conllu").read_text().replace("\t_\n", "\tSpaceAfter=No\n")
    (folder / "train.conllu").write_text("# newdoc\n" + text)
    (folder / "rules.toml").write_text(RULES)
    said = run("train", folder / "train.conllu", "-o", folder / "m", "--task", "parsing", "-q", "--json")
    assert said.code == 0, said.err
    assert (said.json["sequences"], said.json["tokens"]) == (4, 17)
    assert said.json["model"]["learner"] == "StructuredPerceptron"
    return folder


def test_predict_fills_in_heads_and_keeps_the_rest(run: Run, trees: Path, tmp_path: Path) -> None:
    blank = (trees / "train.conllu").read_text()
    for head in "012345":
        blank = blank.replace(f"\t_\t_\t{head}\t", "\t_\t_\t_\t")
    (tmp_path / "new.conllu").write_text(blank)
    assert run("predict", trees / "m", tmp_path / "new.conllu", "-o", tmp_path / "out.conllu").out == ""
    assert read_trees(tmp_path / "out.conllu") == read_trees(trees / "train.conllu")
    written = (tmp_path / "out.conllu").read_text()
    assert written.startswith("# newdoc\n1\tthe\t_\tDET\t_\t_\t2\t_\t_\tSpaceAfter=No\n")
    assert run("predict", trees / "m", "-", stdin=blank).out == written


def test_probabilities_and_several_trees(run: Run, trees: Path) -> None:
    X, _ = read_trees(trees / "train.conllu")
    model = load(trees / "m")
    table, best = model.predict_marginals(X)[0], model.predict(X)
    out = run("predict", trees / "m", trees / "train.conllu", "--marginals").out
    assert f"\t{best[0][0]}\t_\t_\tSpaceAfter=No|Prob={table[0, best[0][0]]:.4f}\n" in out
    assert run("predict", trees / "m", "-", "--marginals", stdin=out).out == out  # in the place of those before
    lines = run("predict", trees / "m", trees / "train.conllu", "--kbest", 3, "--marginals").out.splitlines()
    said = [json.loads(line) for line in lines]
    assert [one["heads"] for one in said] == best
    assert said[0]["tokens"][0] == ["the", "DET"]
    total = model.log_partition(X[:1])[0]
    for found, one in zip(said[0]["kbest"], model.predict_kbest(X, 3)[0], strict=True):
        assert (found["heads"], found["score"], found["probability"]) == one
        assert found["probability"] == pytest.approx(float(np.exp(one.score - total)))
    first = {one["head"]: one["probability"] for one in said[0]["marginals"][0]}
    assert sum(first.values()) == pytest.approx(1.0, abs=1e-5)
    assert first[2] == pytest.approx(table[0, 2], abs=1e-6)


def test_score_compares_two_files(run: Run, trees: Path, tmp_path: Path) -> None:
    gold = trees / "train.conllu"
    text = gold.read_text().replace("\t2\tdet", "\t3\tdet", 1).replace("\tamod", "\tdet", 1).replace("ADJ", "X")
    (tmp_path / "other.conllu").write_text(text)
    both = [gold, tmp_path / "other.conllu", "--task", "parsing"]
    assert run("score", *both, "--json").json["uas"] == 16 / 17
    said = run("score", *both, "--set", "task.labelled=true", "--json").json
    assert (said["uas"], said["las"], said["exact"]) == (16 / 17, 15 / 17, 0.5)
    assert "LAS 88.24 %, 17 words in 4 sentences" in run("score", *both, "--set", "task.labelled=true").out
    (tmp_path / "blank.conllu").write_text(text.split("\n\n")[0].replace("\t3\t", "\t_\t") + "\n\n")
    assert "blank.conllu: expected the 4 sentences of" in run("score", gold, tmp_path / "blank.conllu", *both[2:]).err
    (tmp_path / "one.conllu").write_text(gold.read_text().split("\n\n")[0] + "\n\n")
    unsaid = [tmp_path / "one.conllu", tmp_path / "blank.conllu", *both[2:]]
    assert run("score", *unsaid, "--json").json["uas"] == 2 / 5  # heads that are not predicted are wrong
    assert "sentence 0, token 0 is ('the', 'DET')" not in run("score", *both, "--columns", "form").err
    refused = run("score", *both, "--columns", "form,upos").err
    assert "sentence 2, token 3 is ('old', 'X'), and in" in refused
    assert "this is for labels" in run("score", *both, "--confusion").message
    X, y = read_trees(gold, labelled=True)
    write_trees(tmp_path / "heads.conllu", X, [[head for head, _ in tree] for tree in y])
    said = run("score", gold, tmp_path / "heads.conllu", *both[2:])
    assert "heads.conllu has no labels of arcs, so heads alone are compared" in said.err
    assert ("UAS 100.00 %" in said.out, "LAS" in said.out) == (True, False)
    assert (
        "--set epochs: this is no parameter of a task; these begin with task."
        in run("score", *both, "--set", "epochs=3").message
    )


def test_evaluate(run: Run, trees: Path, tmp_path: Path) -> None:
    text = (trees / "train.conllu").read_text().replace("\t3\tobj", "\t2\tobj")
    (tmp_path / "other.conllu").write_text(text.replace("\t0\troot", "\t_\troot", 1))
    said = run("evaluate", trees / "m", tmp_path / "other.conllu", "--json").json
    assert said == {
        "sentences": 4, "words": 16, "uas": 15 / 16, "las": None, "exact": 1.0, "whole": 3, "unknown": 1, "skipped": 0,
        "without": {"words": 16, "uas": 15 / 16, "las": None},
    }  # fmt: skip
    shown = run("evaluate", trees / "m", tmp_path / "other.conllu").out
    assert "UAS 93.75 %, 16 words in 4 sentences" in shown
    assert "1 word without a head" in shown
    assert "this is for labels" in run("evaluate", trees / "m", trees / "train.conllu", "--confusion").message


def test_parse_keeps_everything_else(run: Run, trees: Path, tmp_path: Path) -> None:
    lines = (trees / "train.conllu").read_text().splitlines()[:6]
    lines.insert(3, "2-3\tdogsees\t_\t_\t_\t_\t_\t_\t_\tA=1")
    lines.insert(5, "3.1\tgone\t_\tVERB\t_\t_\t_\t_\t3:conj\t_")
    (tmp_path / "new.conllu").write_text("\n".join([*lines, "", ""]))
    said = run("parse", trees / "m", tmp_path / "new.conllu", "-o", tmp_path / "out.conllu")
    assert "note: 5 words in " in said.err
    parsed = (tmp_path / "out.conllu").read_text().splitlines()
    for before, now in zip(lines, parsed, strict=False):
        assert [cell for k, cell in enumerate(now.split("\t")) if k not in (6, 7)] == [
            cell for k, cell in enumerate(before.split("\t")) if k not in (6, 7)
        ]
    assert read_trees(tmp_path / "out.conllu") == read_trees(tmp_path / "new.conllu")
    untagged = "1\tdogs\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    assert "note: no word has a tag" in run("parse", trees / "m", stdin=untagged).err
    assert run("parse", trees / "m", "-q", stdin="\n".join([*lines, "", ""])).out.splitlines() == parsed


def test_score_compares_treebanks(run: Run, trees: Path, tmp_path: Path) -> None:
    text = (trees / "train.conllu").read_text().replace("\tcat\t", "\t,\t")
    (tmp_path / "gold.conllu").write_text(text)
    (tmp_path / "guess.conllu").write_text(text.replace("\t3\tobj", "\t2\tobj").replace("amod", "det", 1))
    said = run("score", tmp_path / "gold.conllu", tmp_path / "guess.conllu", "--task", "parsing", "--json").json
    assert (said["words"], said["uas"], said["las"]) == (17, 16 / 17, 15 / 17)
    assert said["without"] == {"words": 14, "uas": 1.0, "las": 13 / 14}
    shown = run("score", tmp_path / "gold.conllu", tmp_path / "guess.conllu", "--task", "parsing").out
    assert "LAS 92.86 %, 14 words without punctuation" in shown
    (tmp_path / "short.conllu").write_text(text.split("\n\n")[0] + "\n\n")
    said = run("score", tmp_path / "gold.conllu", tmp_path / "short.conllu", "--task", "parsing")
    assert "expected the 4 sentences of" in said.err
    said = run("score", tmp_path / "gold.conllu", tmp_path / "gold.conllu", "--task", "aligning")
    assert "Aligning reads JSON lines" in said.message


def test_labels_and_parameters_of_the_task(run: Run, trees: Path, tmp_path: Path) -> None:
    options = ["--task", "parsing", "--set", "task.labelled=true", "--set", "task.projective=yes", "--epochs", 7]
    said = run("train", trees / "train.conllu", "-o", tmp_path / "m", *options, "--dev", trees / "train.conllu")
    assert said.code == 0, said.err
    assert "note: Parsing has no learner auto, so this is perceptron with --margin 300" in said.err
    assert "LAS 100.00 %" in said.out
    model = load(tmp_path / "m")
    assert (model.task.labelled, model.task.projective, model.epochs, model.margin) == (True, True, 7, 300)
    assert model.classes_ == ["amod", "det", "nsubj", "obj", "root"]
    shown = run("inspect", tmp_path / "m", "--label", "det", "--top", 3).out
    assert "Parsing(labelled=True, projective=True, single_root=True, lift=False, joint=True)" in shown
    assert "5: amod, det, nsubj, obj, root" in shown
    told = run("inspect", tmp_path / "m", "--json").json["model"]["task"]
    assert told["parameters"] == {
        "labelled": True,
        "projective": True,
        "single_root": True,
        "lift": False,
        "joint": True,
    }
    out = run("predict", tmp_path / "m", trees / "train.conllu").out
    assert out == (trees / "train.conllu").read_text()
    first = json.loads(
        run("predict", tmp_path / "m", trees / "train.conllu", "--kbest", 2, "--marginals").out.split("\n")[0]
    )
    assert (first["heads"], first["labels"]) == ([2, 3, 0, 5, 3], ["det", "nsubj", "root", "det", "obj"])
    assert first["kbest"][0]["labels"] == first["labels"]
    likely = max(first["marginals"][0], key=lambda one: one["probability"])
    assert (likely["head"], likely["label"]) == (2, "det")
    assert (
        f"|Prob={likely['probability']:.4f}"
        in run("predict", tmp_path / "m", trees / "train.conllu", "--marginals").out
    )
    crossing = (trees / "train.conllu").read_text().replace("\t2\tdet", "\t4\tdet", 1)
    (tmp_path / "c.conllu").write_text(crossing)
    assert run("evaluate", tmp_path / "m", tmp_path / "c.conllu", "--json").json["uas"] == 16 / 17


def test_rules_around_a_parser(run: Run, trees: Path, tmp_path: Path) -> None:
    options = ["--task", "parsing", "--rules", trees / "rules.toml", "-q"]
    said = run("train", trees / "train.conllu", "-o", tmp_path / "m", *options, "--json")
    assert (said.json["model"]["learner"], said.json["model"]["base"]["learner"]) == ("CCM", "CRF")
    uses = {use["name"]: use["violations"] for use in said.json["model"]["rules"]}
    assert uses["determiners are leaves"]["degree"] == 0
    assert uses["one dependent"]["degree"] > 0
    model = load(tmp_path / "m")
    X, y = read_trees(trees / "train.conllu")
    assert model.predict(X) == y
    plain = run("evaluate", tmp_path / "m", trees / "train.conllu", "--without-rules", "--json").json
    assert plain == run("evaluate", trees / "m", trees / "train.conllu", "--json").json
    shown = run("explain", tmp_path / "m", trees / "train.conllu", "-s", 0, "-p", 3)
    assert "a (4): head cat (5)" in shown.out
    told = run("explain", tmp_path / "m", trees / "train.conllu", "-p", 3, "--json", "--top", 99).json
    charged = {one["feature"]: one for one in told["explanation"]["evidence"]}
    assert charged["rule: one dependent"]["weight"] <= 0


def test_unlabelled_sentences(run: Run, trees: Path, tmp_path: Path) -> None:
    options = ["--task", "parsing", "--unlabeled", trees / "bare.conllu", "--iterations", 1, "-q", "--json"]
    said = run("train", trees / "train.conllu", "-o", tmp_path / "m", *options)
    assert said.code == 0, said.err
    assert (said.json["model"]["learner"], said.json["unlabeled"]) == ("CoDL", 4)


def test_partial_trees(run: Run, trees: Path, tmp_path: Path) -> None:
    text = (trees / "train.conllu").read_text().replace("\t2\tdet", "\t_\tdet", 1)
    (tmp_path / "p.conllu").write_text(text)
    options = ["-o", tmp_path / "m", "--task", "parsing", "-q"]
    assert "use crf" in run("train", tmp_path / "p.conllu", *options).message
    assert run("train", tmp_path / "p.conllu", *options, "--learner", "crf").code == 0
    refused = run("train", tmp_path / "p.conllu", "-o", tmp_path / "m2", "--task", "parsing", "-q", "-l", "mira")
    assert "mira cannot learn from partial labels (sentence 0); use crf" in refused.err


def test_check(run: Run, trees: Path) -> None:
    said = run("check", trees / "rules.toml", trees / "train.conllu", "--task", "parsing", "--json").json
    assert said["sequences"] == 4
    leaves, one = said["rules"]
    assert (leaves["gold"]["degree"], leaves["examples"]) == (0, [])
    assert one["gold"]["degree"] == 4
    assert one["examples"][0]["labels"] == [2, 0, 5, 5, 2]
    assert one["examples"][0]["at"] == [0, 2, 3, 4]
    shown = run("check", trees / "rules.toml", trees / "train.conllu", "--model", trees / "m").out
    assert "»dogs«→see  see→root  »the«→cat  »old«→cat  »cat«→see" in shown
    refused = run("check", trees / "rules.toml", trees / "train.conllu", "--model", trees / "m", "--task", "parsing")
    assert "the model says what it predicts" in refused.message


def test_explain(run: Run, trees: Path, tmp_path: Path) -> None:
    drawing = tmp_path / "tree.svg"
    said = run("explain", trees / "m", trees / "train.conllu", "-s", 2, "-p", 3, "--labeled", "--figure", drawing)
    assert said.code == 0, said.err
    assert "old (4): head cat (5) (" in said.out
    assert "├─" in said.out
    assert drawing.read_text().startswith("<svg")
    assert run("explain", trees / "m", trees / "train.conllu").code == 0
    told = run("explain", trees / "m", trees / "train.conllu", "-s", 2, "-p", 3, "--json").json
    assert told["output"] == [2, 0, 5, 5, 2]
    assert 0 < told["explanation"]["rival_probability"] < told["explanation"]["probability"]
    arcs = run("explain", trees / "m", trees / "train.conllu", "--labeled", "--arcs", 0.1, "--figure", drawing)
    assert "← " in arcs.out
    assert "%" in arcs.out
    assert min(re.findall(r">([01]\.\d\d)<", drawing.read_text())) >= "0.1"
    refused = run("explain", trees / "m", trees / "train.conllu", "--figure", tmp_path / "tree.png")
    assert "give a name that ends in .svg" in refused.err
    assert (
        "position 9 is outside the sentence of 5 words"
        in run("explain", trees / "m", trees / "train.conllu", "-p", 9).err
    )


ROW = "{}\tw\t_\tX\t_\t_\t{}\t_\t_\t_\n"


@pytest.mark.parametrize(
    ("heads", "line", "message"),
    [
        (["0", "7"], 3, "word 2 has the head '7'; a head is a word of the sentence, 1 to 2"),
        (["2", "1"], 2, "the words 1 -> 2 -> 1 are in a cycle; some word must depend on the root"),
        (["0", "0"], 2, "the words 1, 2 depend on the root; --set task.single_root=false allows"),
        (["_", "3", "2"], 2, "the words 2 -> 3 -> 2 are in a cycle"),
        (["1"], 2, "word 1 is its own head"),
    ],
)
def test_what_is_no_tree_names_file_and_line(
    run: Run, tmp_path: Path, heads: list[str], line: int, message: str
) -> None:
    data = tmp_path / "bad.conllu"
    data.write_text("# one\n" + "".join(ROW.format(t, head) for t, head in enumerate(heads, start=1)) + "\n")
    said = run("train", data, "-o", tmp_path / "m", "--task", "parsing", "-q")
    assert said.code == 1
    assert f"error: {data}:{line}: " in said.err
    assert message in said.err
    assert os.listdir(tmp_path) == ["bad.conllu"]


def test_other_formats_are_refused(run: Run, folder: Path, trees: Path, tmp_path: Path) -> None:
    said = run("train", folder / "train.tsv", "-o", tmp_path / "m", "--task", "parsing", "-q")
    assert "train.tsv: Parsing reads CoNLL-U (.conllu), and this is called tsv; if it is not, say -f conllu" in said.err
    assert "Parsing reads CoNLL-U (.conllu), not tsv" in run("predict", trees / "m", "-f", "tsv", stdin="").message
    assert "expected 10 columns, found 1" in run("predict", trees / "m", stdin='{"source": "a"}').err
    assert (
        "<standard input>: the file is empty or has only blank lines; expected sentences"
        in run("predict", trees / "m", stdin="\n").err
    )
    refused = run("predict", trees / "m", trees / "train.conllu", "--output-format", "tsv").message
    assert "trees are written as CoNLL-U (.conllu) or JSON lines (.jsonl), not tsv" in refused
    refused = run("predict", trees / "m", trees / "train.conllu", "--kbest", 2, "-o", tmp_path / "out.conllu").message
    assert "several trees need jsonl output, not conllu" in refused


def test_learners_and_settings_that_do_not_fit(run: Run, trees: Path, tmp_path: Path) -> None:
    train = ["train", trees / "train.conllu", "-o", tmp_path / "m", "-q"]
    said = run(*train, "--task", "parsing", "-l", "hmm")
    assert "the learner hmm labels sequences; for parsing there are crf" in said.message
    assert "labels sequences" in run(*train, "--task", "parsing", "-l", "auto").message
    said = run(*train, "--task", "parsing", "--set", "task.longest=2")
    assert "the task parsing has no parameter longest; it has labelled, projective, single_root" in said.message
    assert (
        "--set task.projective: parameters of a task need --task: parsing"
        in run(*train, "--set", "task.projective=true").message
    )
    assert "Parsing has no such thing" in run(*train, "--task", "parsing", "--label-column", "xpos").message
    (tmp_path / "r.toml").write_text("[[rule]]\nrule = \"count('det') >= 1\"\n")
    said = run(*train, "--task", "parsing", "--rules", tmp_path / "r.toml")
    assert "names the label 'det', and there are no labels; arcs have some with" in said.err
    assert "Transitions" not in run("inspect", trees / "m").out


def test_json_is_one_object(run: Run, trees: Path) -> None:
    assert json.loads(run("inspect", trees / "m", "--json").out)["model"]["labels"] == []
