from pathlib import Path

from .conftest import Run


def test_page(run: Run, folder: Path) -> None:
    said = run("evaluate", folder / "crf.model", folder / "dev.tsv", "--confusion")
    assert (said.code, said.err) == (0, "")
    for part in ("accuracy", "Spans (runs of one label)", "Labels over tokens", "Confusion", "a author"):
        assert part in said.out


def test_an_unseen_gold_label_is_simply_wrong(run: Run, folder: Path, tmp_path: Path) -> None:
    lines = (folder / "dev.tsv").read_text().replace("\tpages", "\tfolio")
    (tmp_path / "dev.tsv").write_text(lines)
    said = run("evaluate", folder / "crf.model", tmp_path / "dev.tsv", "--json").json
    assert said["unseen"] == {"folio": lines.count("\tfolio")}
    assert said["labels"]["folio"]["correct"] == 0
    usual = run("evaluate", folder / "crf.model", folder / "dev.tsv", "--json").json
    assert said["accuracy"] < usual["accuracy"]
    (tmp_path / "other.tsv").write_text("a\tNOUN\nb\tVERB\n")
    page = run("evaluate", folder / "crf.model", tmp_path / "other.tsv").out
    assert "NOUN (1), VERB (1); is --label-column right?" in " ".join(page.split())
    assert "does not know, so always wrong: folio" in run("evaluate", folder / "crf.model", tmp_path / "dev.tsv").out


def test_sequences_without_labels_are_left_out_aloud(run: Run, folder: Path, tmp_path: Path) -> None:
    data = (folder / "dev.jsonl").read_text() + '{"tokens": ["a"]}\n{"tokens": ["a", "b"], "labels": [null, "title"]}\n'
    (tmp_path / "dev.jsonl").write_text(data)
    said = run("evaluate", folder / "crf.model", tmp_path / "dev.jsonl", "--json").json
    assert (said["sequences"], said["skipped"]) == (20, 2)
    assert (
        "2 sequences without a label at every token"
        in run("evaluate", folder / "crf.model", tmp_path / "dev.jsonl").out
    )
    (tmp_path / "dev.jsonl").write_text('{"tokens": ["a"]}\n')
    said = run("evaluate", folder / "crf.model", tmp_path / "dev.jsonl")
    assert (said.code, "nothing to compare with" in said.err) == (1, True)


def test_score_counts_spans_as_conlleval(run: Run, tmp_path: Path) -> None:
    # Two gold spans; the predicted first one is right, the second has the wrong end.
    (tmp_path / "gold.conll").write_text("a B-NP\nb I-NP\nc O\nd B-VP\ne I-VP\n")
    (tmp_path / "said.conll").write_text("a B-NP\nb I-NP\nc O\nd B-VP\ne O\n")
    said = run("score", tmp_path / "gold.conll", tmp_path / "said.conll", "--json").json
    assert said["accuracy"] == 0.8
    assert (said["spans"]["scheme"], said["spans"]["overall"]["f1"]) == ("bio", 0.5)
    runs = run("score", tmp_path / "gold.conll", tmp_path / "said.conll", "--scheme", "runs", "--json").json
    assert (runs["spans"]["scheme"], runs["spans"]["overall"]["support"]) == ("runs", 4)


def test_score_tests_two_predictions(run: Run, tmp_path: Path) -> None:
    gold = "a A\nb A\n\nc B\nd B\n\ne A\n"
    files = {"gold": gold, "one": gold, "two": gold.replace("b A", "b B").replace("e A", "e B"), "less": "a A\nb A\n"}
    for name, text in files.items():
        (tmp_path / f"{name}.conll").write_text(text)
    arguments = ("score", tmp_path / "gold.conll", tmp_path / "one.conll", "--against")
    said = run(*arguments, tmp_path / "two.conll", "--json").json
    assert said["accuracy"] == 1.0
    assert (said["against"]["difference"], said["against"]["pairs"]) == (2 / 3, 3)
    assert "paired t-test p = 0.18" in run(*arguments, tmp_path / "two.conll").out
    said = run(*arguments, tmp_path / "less.conll")
    assert (said.code, "expected the 3 sequences of" in said.err) == (1, True)


def test_score_needs_the_same_sequences(run: Run, folder: Path) -> None:
    said = run("score", folder / "dev.tsv", folder / "train.tsv")
    assert (said.code, "train.tsv: expected the 20 sequences of" in said.err) == (1, True)
