"""Pairs of sentences: links of words and edges, with every learner that needs best outputs only."""

import pickle
from itertools import product

import numpy as np
import pytest

from sidelight import (
    BAD,
    CCM,
    CRF,
    GOOD,
    LCLR,
    DataError,
    GraphAligning,
    NotSupported,
    Sentence,
    StructuredPerceptron,
    TwoStage,
    count,
    draw_alignment,
    load,
    source,
    target,
    without,
    word,
)

START = {"similarity": 1.0, "link": -0.4}
WORDS = ["the", "dog", "saw", "a", "cat", "walking"]


def sentence(order, labels=True):
    """Words in some order, each the head of the next one."""
    heads = [0, *range(1, len(order))]
    return Sentence.parsed(
        [WORDS[k] for k in order], heads, ["dep"] * len(order) if labels else (), tags=["X"] * len(order)
    )


def pairs(count, seed=0):
    """Half of them share their words; the others share one."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for number in range(count):
        order = rng.permutation(6)
        same = number % 2 == 0
        X.append((sentence(order[:3]), sentence(order[:3] if same else order[2:5])))
        y.append(same)
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = pairs(24)
    return LCLR(task=GraphAligning(), initial=TwoStage(task=GraphAligning(), initial=START, C=10), C=10).fit(X, y)


def test_pairs_are_classified_by_their_alignment(fitted):
    X, y = pairs(10, seed=1)
    assert fitted.score(X, y) == 1.0
    assert fitted.predict_structure(X[:1]) == [[(0, 0), (1, 1), (2, 2)]]
    assert "●" in draw_alignment(X[0], fitted.predict_structure(X[:1])[0])


def test_models_are_saved(fitted, tmp_path):
    X, _ = pairs(4, seed=2)
    fitted.save(tmp_path / "pairs.model")
    again = load(tmp_path / "pairs.model")
    assert again.task == fitted.task
    np.testing.assert_allclose(again.decision_function(X), fitted.decision_function(X))
    np.testing.assert_allclose(pickle.loads(pickle.dumps(fitted)).decision_function(X), fitted.decision_function(X))


def test_explanations(fitted):
    x = pairs(1, seed=3)[0][0]
    assert "similarity" in str(fitted.explain(x, 1))


def test_links_are_learned():
    """From links that similarity alone does not tell: of equal words, those of equal neighbours."""
    x = (Sentence.parsed(["a", "b", "a", "c"], [2, 0, 4, 2]), Sentence.parsed(["a", "c", "a", "b"], [2, 4, 4, 0]))
    y = [(0, 2), (1, 3), (2, 0), (3, 1)]
    learner = StructuredPerceptron(task=GraphAligning(), epochs=20, random_state=0).fit([x], [y])
    assert learner.predict([x]) == [y]
    assert learner.score([x], [y]) == 1.0
    task = GraphAligning()
    shape, features = task.describe(x)
    assert shape[0] == len(features) == len(shape[1].names)
    assert task.to_y(shape, np.array(task.to_output(shape, y))) == y


@pytest.mark.parametrize("null_words", [True, False])
@pytest.mark.parametrize("null_relations", [True, False])
def test_what_has_features(null_words, null_relations):
    x = sentence([0, 1, 2]), sentence([1, 2])
    shape, features = GraphAligning(null_words=null_words, null_relations=null_relations).describe(x)
    assert shape[0] == len(features)
    names = {name for one in features for name in one}
    assert ("deleted " in names, "edge deleted " in names) == (null_words, null_relations)
    assert "label of edges" in names
    plain = GraphAligning(edges=False).describe(x)[1]
    assert not any("edge" in name for one in plain for name in one)
    directed = {name for one in GraphAligning(directed=True).describe(x)[1] for name in one}
    assert {"deleted source", "deleted target", "edge deleted target"} <= directed


def test_lists_of_words_have_no_edges():
    shape, features = GraphAligning().describe((["a", "dog"], [("Dog", "N")]))
    assert shape[1].names == (("word", 1, 0), ("word", 0, None), ("word", 1, None), ("word", None, 0))
    assert features[0]["kind"] == "same"
    assert "one tag" not in features[0]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ((["a"], []), "the target has no words"),
        ((Sentence(["a"], edges=[(0, 1)]), ["a"]), r"the edge \(0, 1\) of the source is out of range"),
        ((Sentence(["a"], edges=[(0,)]), ["a"]), "an edge is"),
        ((Sentence(["a", "b"], edges=[(0, "b")]), ["a"]), "numbers of words"),
        ((Sentence(["a"], tags=["A", "B"]), ["a"]), "1 words and 2 tags"),
        (("a", ["b"]), "the source is a Sentence or a list of words"),
        ((["a"],), "a pair is"),
    ],
)
def test_inputs_that_are_none(x, message):
    with pytest.raises(DataError, match=f"pair 1: .*{message}"):
        LCLR(task=GraphAligning(), initial=START).fit([(["a"], ["a"]), x], [GOOD, BAD])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([(0, 1)], "too different to be linked"),
        ([(0, 2)], "out of range"),
        ([(0, 0), (0, 0), (1, 1)], None),
        ("ab", "a list of links"),
        ([(0, 0), (2, 0)], "breaks the row 'word 0 of the target'"),
    ],
)
def test_outputs_that_are_none(y, message):
    learner, x = StructuredPerceptron(task=GraphAligning(), epochs=1), (["a", "b", "a"], ["a", "b"])
    if message is None:
        learner.fit([x], [y])
        return
    with pytest.raises(DataError, match=f"pair 0: .*{message}"):
        learner.fit([x], [y])


def test_learners_and_parameters_that_do_not_fit():
    X, y = pairs(2)
    with pytest.raises(NotSupported, match="no tractable marginals"):
        CRF(task=GraphAligning()).fit(X, [[(0, 0)], []])
    with pytest.raises(DataError, match="least must be a finite number from 0 to 1"):
        LCLR(task=GraphAligning(least=2), initial=START).fit(X, y)
    with pytest.raises(DataError, match="time_limit"):
        LCLR(task=GraphAligning(time_limit=-1), initial=START).fit(X, y)


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        (
            count(where=source(word.isin("the", "dog"))) == 0,
            lambda x, y: all(x[0].words[i] not in WORDS[:2] for i, _ in y),
        ),
        (count() <= 1, lambda x, y: len(y) <= 1),
        (count(where=without(target)) <= 2, lambda x, y: len(x[0]) - len(y) <= 2),
    ],
)
def test_rules_limit_links_and_deletions(fitted, rule, holds):
    """Against all outputs, of which those that break the rule are struck out; edges are never counted."""
    (X, y), task = pairs(6, seed=2), GraphAligning()
    limited = LCLR(task=task, initial=START, rules=[rule], max_rounds=9, change=0.1)
    for model in (limited.fit(X, y), CCM.around(fitted, [rule.hard()])):
        scores, found = model.model_.scores(X, 1), model.predict_structure(X)
        for i, x in enumerate(X):
            theta, shape = scores.of(i)
            rows = shape[1]
            every = [rows.graphs.output(np.array(on)) for on in product((False, True), repeat=len(rows.graphs.links))]
            possible = [one for one in every if not rows.broken(one.astype(np.int32))]
            kept = [theta[one].sum() for one in possible if holds(x, task.to_y(shape, one))]
            assert holds(x, found[i])
            own = np.array(task.to_output(shape, found[i]), bool)
            np.testing.assert_allclose(theta[own].sum(), max(kept), rtol=1e-6, atol=1e-9)
