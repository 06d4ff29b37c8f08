"""Every learner on trees, alignments and matchings: labels, rules, partial outputs, unlabelled inputs, GOOD / BAD."""

import warnings

import numpy as np
import pytest

from sidelight import (
    BAD,
    CCM,
    CRF,
    GOOD,
    JLIS,
    MIRA,
    Aligning,
    CoDL,
    DataError,
    DeterministicAnnealing,
    EntropyRegularization,
    GeneralizedExpectation,
    Infeasible,
    LatentStructuralSVM,
    Matching,
    NotSupported,
    Parsing,
    Partial,
    PosteriorRegularization,
    SelfTraining,
    StructuralSVM,
    StructuredPerceptron,
    UnifiedEM,
    child,
    count,
    head,
    load,
    pos,
    root,
    source,
    target,
    where,
    without,
    word,
)
from sidelight.learners.tasks.parsing import lifted
from sidelight.structures.trees import Trees
from tests.parts_data import sentences, shuffles, spellings, with_labels

TREES = sentences(32)
NEW_TREES = sentences(20, seed=9)
LINKS = spellings(45)
NEW_LINKS = spellings(30, seed=9)
MATCHED = shuffles(50)
NEW_MATCHED = shuffles(30, seed=9)
TREE_RULES = [count(where=head(pos.isin("DET"))) == 0, count(by=head(pos.isin("NOUN"))) <= 1]
LINK_RULES = [count(where=source(word.isin("l"))) == 0, count(where=without(source)) <= 0]
MARGIN = [StructuredPerceptron(margin=1.0), MIRA(), StructuralSVM(C=1.0), JLIS(C1=1.0, guard=False)]


def few(y, known):
    """The first outputs, and nothing of the others."""
    return [one if i < known else None for i, one in enumerate(y)]


def name(learner):
    return type(learner).__name__


@pytest.mark.parametrize("learner", [*MARGIN, CRF(l2=0.05), LatentStructuralSVM(C=1.0)], ids=name)
@pytest.mark.parametrize(
    ("task", "data", "new"),
    [(Parsing(), TREES, NEW_TREES), (Parsing(projective=True), TREES, NEW_TREES), (Aligning(), LINKS, NEW_LINKS)],
    ids=["trees", "projective", "alignments"],
)
def test_labelled_outputs_are_learned(learner, task, data, new, tmp_path):
    model = learner.set_params(task=task).fit(*data)
    assert model.score(*new) > 0.95
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(new[0]) == model.predict(new[0])
    best = model.predict_kbest(new[0][:3], 2)
    assert [ranked[0].labels for ranked in best] == model.predict(new[0][:3])


@pytest.mark.parametrize("learner", MARGIN, ids=name)
def test_matchings_are_learned(learner, tmp_path):
    model = learner.set_params(task=Matching()).fit(*MATCHED)
    assert model.score(*NEW_MATCHED) > 0.9
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(NEW_MATCHED[0]) == model.predict(NEW_MATCHED[0])


@pytest.mark.parametrize("learner", [StructuredPerceptron(margin=1.0), CRF(l2=0.05), StructuralSVM(C=1.0)], ids=name)
def test_arcs_have_labels(learner, tmp_path):
    X, y = TREES
    model = learner.set_params(task=Parsing(labelled=True)).fit(X, with_labels(X, y))
    assert model.classes_ == ["arg", "det", "mod", "root"]
    assert model.score(NEW_TREES[0], with_labels(*NEW_TREES)) > 0.95
    assert {label for _, label, _ in model.top_weights(10)} <= {"", "arg", "det", "mod", "root"}  # "": of the arc
    assert [label for _, label, _ in model.top_weights(2, "det")] == ["det", "det"]
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(NEW_TREES[0]) == model.predict(NEW_TREES[0])


def test_probabilities_of_heads():
    X, y = TREES
    chances = CRF(task=Parsing()).fit(X, y).predict_marginals(X[:3])
    for x, table in zip(X, chances, strict=False):
        assert table.shape == (len(x), len(x) + 1)
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
        np.testing.assert_allclose(table[np.arange(len(x)), np.arange(1, len(x) + 1)], 0.0)
    labelled = CRF(task=Parsing(labelled=True)).fit(X, with_labels(X, y)).predict_marginals(X[:1])[0]
    assert labelled.shape == (len(X[0]), len(X[0]) + 1, 4)
    np.testing.assert_allclose(labelled.sum(axis=(1, 2)), 1.0)


EXPECTING = [
    PosteriorRegularization(CRF(), iterations=3), UnifiedEM(CRF(), gamma=0.5, iterations=3),
    DeterministicAnnealing(CRF(), iterations=3), GeneralizedExpectation(CRF()), EntropyRegularization(CRF()),
]  # fmt: skip


@pytest.mark.parametrize(
    "learner", [CCM(CRF()), CoDL(CRF(), iterations=2), *EXPECTING, SelfTraining(CRF(), iterations=2)], ids=name
)
@pytest.mark.parametrize(
    ("task", "data", "new", "rules"),
    [(Parsing(), TREES, NEW_TREES, TREE_RULES), (Aligning(), LINKS, NEW_LINKS, LINK_RULES)],
    ids=["trees", "alignments"],
)
def test_rules_and_unlabelled_inputs(learner, task, data, new, rules, tmp_path):
    (X, y), known = data, 5
    parameters = {"base": CRF(task=task), "guard": False, "rules": rules}
    model = learner.set_params(**{k: v for k, v in parameters.items() if k in learner.get_params(deep=False)})
    wanted = y[:known] if isinstance(learner, CCM) else few(y, known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[: len(wanted)], wanted)
        alone = CRF(task=task).fit(X[:known], y[:known])
    assert model.score(*new) >= alone.score(*new) - 0.01
    assert model.score(*new) > 0.8
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(new[0]) == model.predict(new[0])


@pytest.mark.parametrize("base", [StructuralSVM(C=1.0, task=Matching()), MIRA(task=Matching())], ids=name)
def test_rules_on_matchings(base):
    X, y = MATCHED
    rules = [count(where=source(word.isin("l"))) == 0, (count() >= 1).hard()]
    assert CCM(base, rules).fit(X[:8], y[:8]).score(*NEW_MATCHED) > 0.5
    model = CoDL(base, rules, iterations=2, guard=False).fit(X, few(y, 8))
    assert model.score(*NEW_MATCHED) > 0.5
    for learner in (PosteriorRegularization(CRF(task=Matching()), rules), GeneralizedExpectation(CRF(task=Matching()))):
        with pytest.raises(NotSupported, match="works out expectations under rules, which Matching does not offer"):
            learner.fit(X, few(y, 8))
    with pytest.raises(NotSupported, match="intractable"):
        CRF(task=Matching()).fit(X, y)


def test_hard_rules_hold():
    X, y = TREES
    model = CRF(task=Parsing(), l2=10.0).fit(X[:2], y[:2])
    rules = [
        (count(by=head) <= 1).hard(), (count(where=root) == 1).hard(),
        (count(where=child(pos.isin("NOUN")), by=head(pos.isin("VERB"))) >= 1).hard(),
    ]  # fmt: skip
    outputs = CCM.around(model, rules).predict(NEW_TREES[0])
    for x, heads in zip(NEW_TREES[0], outputs, strict=True):
        assert max(heads.count(h) for h in range(1, len(x) + 1)) <= 1
        assert heads.count(0) == 1
        for h, (_, tag) in enumerate(x, start=1):
            assert tag != "VERB" or any(heads[c] == h and x[c][1] == "NOUN" for c in range(len(x)))
    with pytest.raises(Infeasible, match=r"sentence 0 has no output that satisfies .*count\(where=root\) == 0"):
        CCM.around(model, [(count(where=root) == 0).hard(), (count() >= 1).hard()]).predict(NEW_TREES[0][:2])
    with pytest.raises(Infeasible, match=r"has no output that satisfies 'count\(\) <= 2'"):
        CCM.around(model, [(count() <= 2).hard()]).predict([x for x in NEW_TREES[0] if len(x) > 3][:2])


def test_each_word_is_linked_at_most_once():
    X, y = LINKS
    model = CRF(task=Aligning(longest=2), l2=5.0).fit(X[:3], y[:3])
    outputs = CCM.around(model, [(count(by=target) >= 1).hard()]).predict(NEW_LINKS[0])
    for (_, letters), links in zip(NEW_LINKS[0], outputs, strict=True):
        covered = [j for _, end in links for j in (range(*end) if isinstance(end, tuple) else [end])]
        assert sorted(covered) == list(range(len(letters)))


@pytest.mark.parametrize("learner", [CRF(l2=0.05), LatentStructuralSVM(C=1.0)], ids=name)
def test_some_heads_or_links_are_known(learner):
    rng = np.random.default_rng(0)
    X, y = TREES
    half = [[head if t == 0 or rng.random() < 0.5 else None for t, head in enumerate(heads)] for heads in y]
    model = learner.set_params(task=Parsing()).fit(X, half)
    assert model.score(*NEW_TREES) > 0.9
    for heads, known in zip(model.complete(X, half), half, strict=True):
        assert all(one is None or one == found for one, found in zip(known, heads, strict=True))
    X, y = LINKS
    some = [Partial([link for link in links if rng.random() < 0.5]) for links in y]
    mixed = [one if one.known else links for one, links in zip(some, y, strict=True)]
    model = learner.set_params(task=Aligning()).fit(X, mixed)
    assert model.score(*NEW_LINKS) > 0.9
    for links, known in zip(model.complete(X, some), some, strict=True):
        assert set(known.known) <= set(links)


def test_partial_trees_with_rules():
    X, y = TREES
    half = [[h if i % 2 else None for i, h in enumerate(heads)] for heads in y]
    for learner in (PosteriorRegularization(CRF(task=Parsing()), TREE_RULES, guard=False, iterations=2),
                    GeneralizedExpectation(CRF(task=Parsing()), TREE_RULES, guard=False)):  # fmt: skip
        assert learner.fit(X, [*y[:3], *half[3:20], *([None] * 12)]).score(*NEW_TREES) > 0.9


def test_good_and_bad_inputs():
    """Sentences in their order are good, shuffled ones bad; both help where few are labelled."""
    X, y = TREES
    rng = np.random.default_rng(0)
    bad = [[x[i] for i in rng.permutation(len(x))] for x in X[10:]]
    model = JLIS(task=Parsing(projective=True), guard=False, C2=0.05)
    model.fit([*X, *bad], [*y[:10], *([GOOD] * 22), *([BAD] * 22)])
    assert model.score(*NEW_TREES) > 0.9
    worse = [[x[i] for i in rng.permutation(len(x))] for x in NEW_TREES[0]]
    assert model.decision_function(NEW_TREES[0]).mean() > model.decision_function(worse).mean()
    X, y = LINKS
    pairs = [(X[i][0], X[i + 1][1]) for i in range(10, 40)]
    model = JLIS(task=Aligning(), guard=False).fit([*X[:40], *pairs], [*y[:10], *([GOOD] * 30), *([BAD] * 30)])
    assert model.score(*NEW_LINKS) > 0.9


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 9, 0], "sentence 1: .* word 2 has the head 9; heads are numbers from 0"),
        ([2, 1, 0], "sentence 1: .* the words 1 -> 2 -> 2 are in a cycle|are in a cycle"),
        ([0, 0, 2], "sentence 1: .* the words 1, 2 depend on the root; Parsing"),
        ([1, 0, 2], "word 1 is its own head"),
        ([2, 0], "the sentence has 3 words, and there are 2 heads"),
        (["a", 0, 2], "word 1 has the head 'a'; a head is a number"),
        (3, "the sentence has 3 words, and there are 3"),
    ],
)
def test_what_is_no_tree(heads, message):
    X = [["a", "b", "c"]] * 2
    with pytest.raises(DataError, match=message):
        CRF(task=Parsing()).fit(X, [[2, 0, 2], heads])


def test_arcs_that_cross():
    X, y = [["a", "b", "c", "d"]], [[3, 4, 0, 3]]
    CRF(task=Parsing()).fit(X, y)
    with pytest.raises(DataError, match=r"the arcs of the words 1 and 2 cross; Parsing"):
        CRF(task=Parsing(projective=True)).fit(X, y)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([(0, 7)], r"pair 0: .* the link \(0, 7\) is out of range: the target has 2 items"),
        ([(0, 0), (0, 1)], "source item 0 has two links"),
        ([(0, 1), (1, 0)], "the links of source items 0 and 1 cross"),
        ([((0, 2), (0, 1))], r"is longer than Aligning\(longest=1\) allows"),
        ([3], r"a link is a pair \(i, j\)"),
        ("abc", "an output is a list of links"),
    ],
)
def test_what_is_no_alignment(links, message):
    with pytest.raises(DataError, match=message):
        CRF(task=Aligning()).fit([(["a", "b"], ["x", "y"])], [links])


def test_what_is_no_input():
    for X, message in (([("a",)], "pair 0: a pair is"), ([("", "b")], "pair 0: the source is empty"), ("ab", "X must")):
        with pytest.raises(DataError, match=message):
            CRF(task=Aligning()).fit(X, [[]] * len(X))
    with pytest.raises(DataError, match="all sentences are empty"):
        CRF(task=Parsing()).fit([[]], [[]])
    with pytest.raises(DataError, match="longest must be a whole number of at least 1"):
        CRF(task=Aligning(longest=0)).fit(*LINKS)


def test_rules_that_make_no_sense_on_parts():
    X, y = TREES
    for rule, message in (
        (where(pos.isin("DET")).label("det"), "there is no label 'det'; these parts have no labels"),
        (count(by=target) <= 1, "target is no end of these parts; they have child and head"),
        ((count() <= 3) | (count(where=root) == 1), "is no comparison of a count"),
    ):
        with pytest.raises((DataError, NotSupported), match=message):
            CCM(CRF(task=Parsing()), [rule]).fit(X, y)
    with pytest.raises(NotSupported, match="counts by head, and the tokens"):
        CCM(CRF(), [count(by=head) <= 1]).fit([["a"]] * 3, [["A"]] * 3)
    with pytest.raises(NotSupported, match="speaks of arcs or links, and here tokens are labelled"):
        CCM(CRF(), [count(where=head(pos.isin("A"))) <= 1]).fit([[("a", "A")]] * 3, [["A"]] * 3)


def test_outputs_that_cannot_be_compared():
    X, y = TREES
    parser = StructuredPerceptron(task=Parsing(labelled=True)).fit(X, with_labels(X, y))
    with pytest.raises(DataError, match=r"sentence 0: .* cannot be compared: word 1 needs a pair \(head, label\)"):
        parser.score(X, y)
    with pytest.raises(DataError, match="X has 32 sentences but y has 31"):
        parser.score(X, with_labels(X, y)[1:])
    pairs, links = LINKS
    aligner = StructuredPerceptron(task=Aligning()).fit(pairs, links)
    assert aligner.score(pairs, [Partial(links[0]), *links[1:]]) > 0.9
    with pytest.raises(DataError, match=r"pair 1: .* cannot be compared"):
        aligner.score(pairs, [links[0], [3], *links[2:]])
    with pytest.raises(DataError, match="of whole numbers"):
        aligner.fit(pairs[:1], [[((0.2, 1.5), (0, 1))]])


def test_labels_of_arcs_must_be_known():
    X, y = TREES
    with pytest.raises(DataError, match="no label is known: give outputs with labels"):
        CRF(task=Parsing(labelled=True)).fit(X, [[(head, None) for head in heads] for heads in y])


@pytest.mark.parametrize("seed", range(5))
def test_crossing_arcs_are_lifted(seed):
    rng, projective = np.random.default_rng(seed), Trees(projective=True)._is_tree
    for _ in range(20):
        n = int(rng.integers(2, 9))
        order = rng.permutation(n)
        heads = [0] * n
        for k in range(1, n):
            heads[order[k]] = int(order[rng.integers(k)]) + 1
        found = lifted(heads)
        assert projective(tuple(found))
        if projective(tuple(heads)):
            assert found == heads
        for c, lift in enumerate(found, start=1):  # an ancestor is the head
            above = heads[c - 1]
            while above != lift:
                above = heads[above - 1]
    X, y = [["a", "b", "c", "d"]], [[3, 4, 0, 3]]
    learner = StructuredPerceptron(task=Parsing(projective=True, lift=True)).fit(X, y)
    assert learner.predict(X) == [[3, 3, 0, 3]]
    assert learner.score(X, y) == 0.75
    labelled = Parsing(labelled=True, projective=True, lift=True).read([[(h, "x") for h in y[0]]], [(4,)])
    assert labelled[0].y == [(3, "x"), (3, "x"), (0, "x"), (3, "x")]


def test_known_heads_that_cross():
    with pytest.raises(DataError, match="the arcs of the words 1 and 4 cross"):
        CRF(task=Parsing(projective=True)).fit([list("abcd")], [[3, None, None, 2]])


def test_what_is_not_without_an_end_is_a_link():
    X, y = LINKS
    rule = count(where=~without(target)) <= 0
    violations = Aligning().compiled([rule], X, [])
    known = Aligning().known(Aligning().read(y, Aligning().sizes(X)), Aligning().sizes(X), [])
    np.testing.assert_array_equal(violations.violations(known.outputs.values)[:, 0], [len(links) for links in y])
