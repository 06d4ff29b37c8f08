import pytest

from sidelight import CRF
from tests.wordalign.test_aligner import bitext


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bitext")
    for side, name in enumerate("ef"):
        lines = [" ".join(pair[side]) for pair in bitext(40)]
        (folder / f"train.{name}").write_text("\n".join(lines) + "\n")
        (folder / f"new.{name}").write_text("\n".join(lines[:2]) + "\n\n")
    (folder / "new.wa").write_text("1 1 1 S\n1 2 3 P\n2 1 1 S\n")
    return folder


def test_aligns_saves_and_aligns_new_text(run, texts):
    said = run("align", texts / "train.e", texts / "train.f", "-o", texts / "links", "--save", texts / "m", "--quiet")
    assert (said.code, said.out, said.err) == (0, "", "")
    lines = (texts / "links").read_text().splitlines()
    assert len(lines) == 40
    assert lines[0] == "0-0 1-2 2-1"
    said = run("align", texts / "new.e", texts / "new.f", "--force", texts / "m")
    assert said.code == 0
    assert said.out.splitlines() == [*lines[:2], ""]
    assert "note:" in said.err
    assert "1 pair has an empty side and get no links (line 3)" in said.message
    said = run("align", texts / "new.e", texts / "new.f", "--force", texts / "m", "-f", "naacl")
    assert said.out.splitlines()[:3] == ["1 1 1", "1 2 3", "1 3 2"]


def test_compares_with_gold(run, texts, caplog):
    options = ("--also", texts / "train.e", texts / "train.f", "--gold", texts / "new.wa", "--constraint", "bijective")
    said = run("align", texts / "new.e", texts / "new.f", *options, "--gamma", 1, "--threshold", 0.3)
    assert caplog.messages[0].startswith("align 1/8: IBM model 1, objective")
    assert said.out.startswith("AER 37.50 %  precision 50.00 %  recall 100.00 %")
    said = run("align", texts / "new.e", texts / "new.f", *options, "--json", "--viterbi")
    assert said.json["scores"]["recall"] == 1.0
    assert len(said.json["entropy"]) == 2


def test_shows_and_draws_posteriors(run, texts):
    run("align", texts / "train.e", texts / "train.f", "-o", texts / "links", "--save", texts / "m", "--quiet")
    pair = ("align", texts / "new.e", texts / "new.f", "--force", texts / "m", "--show")
    said = run(*pair, 1, "--gold", texts / "new.wa")
    assert [title for title in ("free posteriors", "bijective", "symmetric") if f"{title}\n" in said.out] != []
    assert "[●" in said.out
    assert run(*pair, 2, "--figure", texts / "p.svg").code == 0
    assert (texts / "p.svg").read_text().startswith("<svg")
    assert "--show 9 is beyond the last line" in run(*pair, 9).message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train.e", "new.f"), "train.e:4: there is no line with this number"),
        (("nowhere.e", "new.f"), "nowhere.e: cannot read: it does not exist"),
        (("new.e", "new.f", "--force", "nowhere"), "cannot read the model file"),
        (("new.e", "new.f", "--force", "other"), "this is a crf; --force needs a model written by sidelight align"),
        (("new.e", "new.f", "--gold", "bad.wa"), "bad.wa:1: the link 9 1 is out of range"),
        (("new.e", "new.f", "--gamma", "-1"), "gamma must be a finite number of at least 0"),
        (("new.e", "new.f", "-o", "new.e"), "it is also what is read"),
    ],
)
def test_errors_are_one_line(run, texts, monkeypatch, arguments, message):
    monkeypatch.chdir(texts)
    (texts / "bad.wa").write_text("1 9 1 S\n")
    if "other" in arguments:
        CRF(max_iterations=1).fit([["a"], ["b"]], [["X"], ["Y"]]).save(texts / "other")
    said = run("align", *arguments)
    assert said.code == 1
    assert message in said.message


@pytest.mark.parametrize(
    "more", [("--force", "m", "--gamma", 1), ("--force", "m", "--save", "n"), ("--figure", "p.svg")]
)
def test_options_without_effect_are_refused(run, texts, monkeypatch, more):
    monkeypatch.chdir(texts)
    assert run("align", "new.e", "new.f", *more).code == 2


def test_other_commands_say_what_a_word_aligner_is_for(run, texts):
    run("align", texts / "train.e", texts / "train.f", "-o", texts / "links", "--save", texts / "m", "--quiet")
    said = run("predict", texts / "m", texts / "new.e")
    assert "use it with `sidelight align SOURCE TARGET --force" in said.message
