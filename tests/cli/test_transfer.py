"""A parser for another language on the command line."""

import pytest

from sidelight import CRF, DMV, HMM, load, read_conllu

ENGLISH = ["the dog sees a cat", "a cat sees the dog", "the dog barks", "a cat barks", "the cat"]
FRENCH = ["le chien voit un chat", "un chat voit le chien", "le chien aboie", "un chat aboie", "le chat"]
TAGS = {"the": "DET", "a": "DET", "dog": "NOUN", "cat": "NOUN", "sees": "VERB", "barks": "VERB"}
TAGS |= {"le": "DET", "un": "DET", "chien": "NOUN", "chat": "NOUN", "voit": "VERB", "aboie": "VERB"}
HEADS = [[2, 3, 0, 5, 3], [2, 3, 0, 5, 3], [2, 3, 0], [2, 3, 0], [2, 0]]


def tagged(lines):
    return [[(word, TAGS[word]) for word in line.split()] for line in lines]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("transfer")
    for name, lines in (("en", ENGLISH), ("fr", FRENCH)):
        words = [line.split() for line in lines]
        (path / f"text.{name}").write_text("\n".join(lines) + "\n")
        HMM().fit(words, [[TAGS[word] for word in x] for x in words]).save(path / f"{name}.tags")
    DMV().fit(tagged(ENGLISH), HEADS).save(path / "en.model")
    (path / "links").write_text("".join(" ".join(f"{t}-{t}" for t in range(len(x.split()))) + "\n" for x in ENGLISH))
    return path


def options(folder, *more):
    models = ("--parser", folder / "en.model", "--tagger", folder / "en.tags", "--target-tagger", folder / "fr.tags")
    return ("transfer", folder / "text.en", folder / "text.fr", "-o", folder / "fr.model", *models, *more)


def test_both_learners(run, folder):
    links = ("--links", folder / "links")
    for learner in ("dmv", "crf"):
        said = run(*options(folder, *links, "--learner", learner, "--json", "--projected", folder / "heads.conllu"))
        assert said.code == 0, said.err
        assert {name: said.json[name] for name in ("pairs", "sentences", "words", "projected")} == {
            "pairs": 5, "sentences": 4, "words": 16, "projected": 16,
        }  # fmt: skip
        assert load(folder / "fr.model").predict(tagged(FRENCH))[:4] == HEADS[:4]
    X, _ = read_conllu(folder / "heads.conllu", columns=("form", "misc:Head"))
    assert X[0] == [("le", "2"), ("chien", "3"), ("voit", "0"), ("un", "5"), ("chat", "3")]


def test_pairs_are_aligned_first(run, folder):
    said = run(*options(folder, "--learner", "dmv", "--most", 2))
    assert said.code == 0, said.err
    assert "note: 2 of 5 sentences" in said.err


def test_errors_are_one_line(run, folder):
    said = run(*options(folder, "--links", folder / "links", "--parser", folder / "en.tags"))
    assert "this model predicts labels, and trees are needed here" in said.message
    HMM().fit([["dog"], ["a"]], [["NN"], ["DT"]]).save(folder / "xpos.tags")
    said = run(*options(folder, "--links", folder / "links", "--tagger", folder / "xpos.tags"))
    assert "xpos.tags: this model predicts DT, NN, and taggers predict universal tags" in said.message
    CRF().fit([[("dog", "x")]], [["NOUN"]]).save(folder / "wide.tags")
    said = run(*options(folder, "--links", folder / "links", "--target-tagger", folder / "wide.tags"))
    assert "this model reads tokens of 2 columns, and a tagger of text reads words alone" in said.message
    said = run(*options(folder, "--links", folder / "links", "--longest", 1))
    assert "nothing was projected on any sentence" in said.message
    assert said.code != 0
