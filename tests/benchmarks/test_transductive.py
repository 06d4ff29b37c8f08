"""The benchmark of the transductive SVM, on a few short references."""

from benchmarks.transductive import main


def test_both_learners_are_scored_with_and_without_a_rule(tmp_path, capsys):
    folder = tmp_path / "citations"
    folder.mkdir()
    for name, count in (("train", 12), ("dev", 3)):
        (folder / f"{name}.tsv").write_text("Ann\tauthor\n.\tauthor\nTrees\ttitle\n\n" * count)
    assert main(["--data", str(tmp_path), "--seeds", "0"]) == 0
    _, free, ruled = capsys.readouterr().out.splitlines()
    assert free.startswith("seed 0, no rules: StructuralSVM ")
    assert ruled.startswith("seed 0, fields change after punctuation: CCM ")


def test_missing_data_is_named(tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 1
    assert "citations/dev.tsv" in capsys.readouterr().err
