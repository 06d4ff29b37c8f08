"""Explanations of trees and links, their model files, and rules checked on them."""

import numpy as np
import pytest

from sidelight import (
    CCM,
    CRF,
    Aligning,
    CoDL,
    DataError,
    Matching,
    NotSupported,
    Parsing,
    StructuralSVM,
    check,
    count,
    each,
    head,
    load,
    pos,
    target,
    word,
)
from sidelight.learners.tasks.parts import PartsTask

X = [
    [("the", "DET"), ("dog", "NOUN"), ("sees", "VERB"), ("a", "DET"), ("cat", "NOUN")],
    [("a", "DET"), ("cat", "NOUN"), ("sleeps", "VERB")],
    [("dogs", "NOUN"), ("see", "VERB"), ("the", "DET"), ("old", "ADJ"), ("cat", "NOUN")],
]
HEADS = [[2, 3, 0, 5, 3], [2, 3, 0], [2, 0, 5, 5, 2]]
LABELS = [["det", "nsubj", "root", "det", "obj"], ["det", "nsubj", "root"], ["nsubj", "root", "det", "amod", "obj"]]
TREES = [list(zip(h, label, strict=True)) for h, label in zip(HEADS, LABELS, strict=True)]
PAIRS = [("abc", "abd"), ("xy", "xyz"), ("acb", "adb")]
LINKS = [[(0, 0), (1, 1), (2, 2)], [(0, 0), (1, 1)], [(0, 0), (1, 1), (2, 2)]]
RULES = [(count(where=head(pos.isin("DET"))) == 0).hard(), (count(by=head) <= 1).soft(0.5)]


@pytest.mark.parametrize("labelled", [False, True])
def test_the_head_of_a_word(labelled):
    model = CRF(task=Parsing(labelled=labelled, projective=labelled)).fit(X, TREES if labelled else HEADS)
    told = model.explain(X[0], 1, top=1000)
    label = ", nsubj" if labelled else ""
    assert told.label == f"sees (3){label}"
    assert told.place == "word"
    table = model.predict_marginals(X[:1])[0][1]
    chance = table[3, model.classes_.index("nsubj")] if labelled else table[3]
    assert told.probability == pytest.approx(chance)
    assert told.rival_probability == pytest.approx(np.sort(table.ravel())[-2])
    scores = model.scores(X[:1]).of(0)[0]
    names = Parsing(labelled=labelled).part_names(X[0], np.arange(len(scores)), model.classes_)
    of_word = len(scores) // 5
    one, other = (of_word + names[of_word : 2 * of_word].index(name) for name in (told.label, told.rival))
    assert sum(e.difference for e in told.evidence) == pytest.approx(scores[one] - scores[other])
    assert str(told).startswith(f"word 1: sees (3){label} (")
    assert model.explain(X[0], -4).position == 1
    with pytest.raises(DataError, match="position 5 is outside the sentence of 5 words"):
        model.explain(X[0], 5)


def test_what_rules_charge():
    model = CCM(CRF(task=Parsing()), RULES).fit(X, HEADS)
    told = model.explain(X[2], 0, top=1000)
    charged = {e.feature: e for e in told.evidence if e.feature.startswith("rule: ")}
    assert told.label == "see (2)"
    if told.rival == "the (3)":
        assert charged[f"rule: {RULES[0].title}"].rival_weight == -np.inf
    # The other arc leaves "see" with one dependent; where its own head has two already, it costs what was saved.
    soft = charged.get(f"rule: {RULES[1].title}")
    assert soft is None or soft.weight == -1.0


def test_certainty_is_the_probability_that_is_explained():
    model = CCM(CRF(task=Parsing()), RULES).fit(X, HEADS)
    explained = [model.explain(X[2], t).probability for t in range(len(X[2]))]
    np.testing.assert_allclose(model.certainty(X[2]), explained, atol=1e-12)


def test_the_link_of_an_item():
    model = CRF(task=Aligning()).fit(PAIRS, LINKS)
    told = model.explain(PAIRS[0], 2, top=1000)
    assert (told.label, told.place) == ("d (2)", "source item")
    assert 0 < told.rival_probability < told.probability < 1
    assert model.least_certain(PAIRS[0]) == int(np.argmin(model.certainty(PAIRS[0])))
    longer = CRF(task=Aligning(longest=2)).fit(PAIRS, [[(0, 0), ((1, 3), (1, 3))], *LINKS[1:]])
    assert "b c as b d (1 to 2)" in (longer.explain(PAIRS[0], 1).label, longer.explain(PAIRS[0], 1).rival)


def test_a_matching_has_no_probabilities():
    model = StructuralSVM(task=Matching()).fit(PAIRS, LINKS)
    told = model.explain(PAIRS[0], 1, top=1000)
    assert (told.label, told.probability, told.rival_probability) == ("b (1)", None, None)
    second = model.predict_kbest(PAIRS[:1], 2)[0][1].labels
    assert told.rival != told.label
    assert model.certainty(PAIRS[0]) is None
    changed = model.least_certain(PAIRS[0])
    assert dict(second).get(changed) != dict(LINKS[0]).get(changed)
    assert str(told).startswith("source item 1: b (1) rather than ")


def test_tasks_that_say_nothing_of_tokens_are_not_explained():
    class Other(Matching):
        parts_at = PartsTask.parts_at

    model = StructuralSVM(task=Other()).fit(PAIRS, LINKS)
    with pytest.raises(NotSupported, match="does not say which parts belong to a token"):
        model.explain(PAIRS[0], 0)


@pytest.mark.parametrize("wrapped", [False, True])
def test_model_files(tmp_path, wrapped):
    base = CRF(task=Parsing(labelled=True, projective=True))
    model = (CCM(base, RULES) if wrapped else base).fit(X, TREES)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.task_ == Parsing(labelled=True, projective=True)
    assert again.predict(X) == model.predict(X)
    assert again.explain(X[0], 2) == model.explain(X[0], 2)
    assert (again.without_rules().predict_marginals(X)[0] == model.without_rules().predict_marginals(X)[0]).all()


def test_a_mixture_is_explained():
    model = CoDL(CRF(task=Parsing()), RULES[1:], iterations=1).fit(X, [*HEADS[:2], None])
    assert model.explain(X[0], 0).label == "dog (2)"


def test_rules_are_checked_on_trees_and_links():
    found = check(RULES, X, HEADS, task=Parsing())
    assert [one.violations for one in found] == [0, 3]
    assert found[1].examples == ((2, 2.0), (0, 1.0))
    labelled = [count(each) <= 1, (count("det") <= 1).over_corpus(), (count("amod") <= 0).over_corpus()]
    found = check(labelled, X, [TREES[0], TREES[1], [*TREES[2][:4], (2, None)]], task=Parsing(labelled=True))
    assert [(one.violations, one.of) for one in found] == [(1, 2), (1, 2), (0, 2)]
    (found,) = check([count(where=target(word.isin("z"))) == 1], PAIRS, LINKS, task=Aligning())
    assert (found.violations, found.sequences) == (3, 3)
    with pytest.raises(DataError, match="no sentence has an output that is fully known"):
        check(RULES, X, [None, None, None], task=Parsing())
