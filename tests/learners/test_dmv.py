"""The dependency model with valence, alone and inside the learners that know no trees."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone

from sidelight import DMV, EM, DataError, PosteriorRegularization, UnifiedEM, check, child, count, head, load, pos
from sidelight.scorers.valence import Arcs, harmonic_parts
from sidelight.structures.trees import ValenceTrees

TREES = {  # tags, and heads
    "D N V": [2, 3, 0],
    "D N V D N": [2, 3, 0, 5, 3],
    "N V": [2, 0],
    "D A N V N": [3, 3, 4, 0, 4],
    "V D N": [0, 3, 1],
    "V": [0],
    "D N V D A N N": [2, 3, 0, 6, 6, 3, 3],
}
X = [[(f"w{t}", tag) for t, tag in enumerate(tags.split())] for tags in TREES]
Y = list(TREES.values())
NOTHING = [None] * len(X)


def log_probability(model, tags, heads):
    """Eq. 57, head by head."""
    number = model.encoder_.words
    root_table, child_table, stop = model.scorer_.tables
    total = root_table[number[tags[heads.index(0)]]]
    for h, tag in enumerate(tags, start=1):
        for side, where in ((0, range(1, h)), (1, range(h + 1, len(tags) + 1))):
            children = [c for c in where if heads[c - 1] == h]
            for k, c in enumerate(children):
                total += stop[number[tag], side, int(k > 0), 1] + child_table[number[tag], side, number[tags[c - 1]]]
            total += stop[number[tag], side, int(bool(children)), 0]
    return total


def test_scores_are_log_probabilities():
    model = DMV(smoothing=0.3).fit(X, Y)
    for x in X:
        tags, scores = [tag for _, tag in x], model.scores([x])
        listed = list(ValenceTrees(1).support(scores, 0))
        values = [log_probability(model, tags, [code // 2 for code in one]) for one in listed]
        found = [ValenceTrees(1).score(scores, np.array(one))[0] for one in listed]
        np.testing.assert_allclose(found, values)
        np.testing.assert_allclose(model.log_partition([x]), logsumexp(values))
        assert model.predict([x])[0] == [code // 2 for code in listed[int(np.argmax(values))]]


def test_counts_of_trees():
    counts = DMV().fit(X, Y).counts_
    words = DMV().fit(X, Y).encoder_.words
    V, N, D = words["V"], words["N"], words["D"]
    assert counts.root[V] == len(X)
    assert counts.child[N, 0, D] == 7
    assert counts.stop[V, 1, 0].tolist() == [3, 4]  # on the right: no child, and a first one
    assert counts.stop[V, 1, 1].tolist() == [4, 1]
    assert counts.stop[..., 0, :].sum() == 2 * sum(map(len, X))


def test_conventions(tmp_path):
    model = DMV()
    fitted = clone(model).set_params(smoothing=0.5).fit(X, Y)
    assert fitted.score(X, Y) > 0.9
    assert fitted.classes_ == []
    chances = fitted.predict_marginals(X[1:2])[0]
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    fitted.save(tmp_path / "dmv.model")
    again = load(tmp_path / "dmv.model")
    np.testing.assert_array_equal(again.scores(X).values, fitted.scores(X).values)
    assert again.predict(X) == fitted.predict(X)
    assert fitted.predict([[("w", "never seen"), ("w", "V")]])[0].count(0) == 1
    told = fitted.explain(X[1], 0)
    assert told.label == "w1 (2)"
    np.testing.assert_allclose(told.probability, chances[0, 2])
    np.testing.assert_allclose(fitted.certainty(X[1])[0], chances[0, 2])
    assert fitted.top_weights(3)[0][1] == ""
    assert fitted.predict_kbest(X[1:2], 2)[0][0].labels == fitted.predict(X[1:2])[0]
    assert fitted.complete(X[1:2], [[None, None, None, 3, None]])[0][3] == 3
    for wrong in ({"smoothing": 0}, {"start": "cold"}, {"constant": -1.0}):
        with pytest.raises(DataError):
            DMV(**wrong).fit(X, Y)
    with pytest.raises(DataError, match="needs column 1"):
        DMV().fit([["a", "b"]], [[0, 1]])


@pytest.mark.parametrize("constant", [0.0, 1.5])
def test_the_harmonic_start_by_listing_heads(constant):
    """Each word takes the root with 1 / n, or a head in proportion to 1 / (distance + constant), whatever others do;
    the first numbers are of children that are nearest on their side of the head, and of roots.
    """
    n = 4
    encoder = DMV().symbols(X[:1])
    encoded = encoder.transform([[("w", "D")] * n])
    found = harmonic_parts(encoded, constant).values.reshape(-1, 2)
    arcs, expected = Arcs.of(encoded.offsets), np.zeros((n, n + 1, 2))
    for heads in product(range(-1, n), repeat=n):
        if any(h == c for c, h in enumerate(heads)):
            continue
        p = 1.0
        for c, h in enumerate(heads):
            total = sum(1 / (abs(other - c) + constant) for other in range(n) if other != c)
            p *= 1 / n if h < 0 else (1 - 1 / n) / (abs(h - c) + constant) / total
        for c, h in enumerate(heads):
            nearer = range(min(c, h) + 1, max(c, h)) if h >= 0 else ()
            expected[c, h + 1, int(any(heads[k] == h for k in nearer))] += p
    np.testing.assert_allclose(found, expected[arcs.child, arcs.head + 1])


def test_known_and_lifted_trees():
    """Arcs that cross are lifted, so that they can be counted."""
    crossing = [[("w", tag) for tag in "ABCD"]]
    assert DMV().fit(crossing, [[3, 4, 0, 3]]).counts_.root.sum() == 1


@pytest.mark.parametrize("start", ["harmonic", "even", "random"])
def test_em_raises_the_likelihood(start):
    learner = EM(DMV(start=start), iterations=8, guard=False).fit(X, NOTHING)
    objectives = [step.objective for step in learner.trace_[1:]]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(objectives))
    assert [len(heads) for heads in learner.predict(X)] == [len(x) for x in X]


def test_unified_em_and_posterior_regularization_without_rules_are_em():
    em = EM(DMV(), iterations=4, guard=False).fit(X, NOTHING)
    for learner in (UnifiedEM(DMV(), iterations=4), PosteriorRegularization(DMV(), iterations=4)):
        np.testing.assert_allclose(learner.fit(X, NOTHING).scores(X).values, em.scores(X).values)


@pytest.mark.parametrize("gamma", [0.5, 3.0, -np.inf])
def test_gamma(gamma):
    learner = UnifiedEM(DMV(), gamma=gamma, iterations=6, guard=False).fit(X, NOTHING)
    objectives = [step.objective for step in learner.trace_ if step.comparable]
    assert all(later <= earlier + 0.02 * len(X) for earlier, later in pairwise(objectives))


def test_trees_known_in_part_and_as_a_whole():
    """Known heads are kept to, and labelled sentences count beside the others."""
    y = [[None] * len(x) for x in X]
    y[1] = [2, 3, 0, 5, 3]
    y[6][0] = 2
    learner = PosteriorRegularization(DMV(), iterations=3, guard=False).fit(X, y)
    objectives = [step.objective for step in learner.trace_ if step.comparable]
    assert all(later <= earlier + 1e-6 for earlier, later in pairwise(objectives))
    assert learner.complete(X[6:], y[6:])[0][0] == 2


def test_rules_about_arcs():
    """A rule that changes what the model learns: nouns on verbs, which EM learns, are not expected."""
    rules = [count(where=head(pos.isin("V")) & child(pos.isin("N"))) == 0]
    learner = PosteriorRegularization(DMV(), rules, penalty=20.0, decode="model", iterations=5, guard=False)
    learner.fit(X, NOTHING)
    free = EM(DMV(), iterations=5, guard=False).fit(X, NOTHING)
    few, many = (check(rules, X, one.predict(X), task=one.task_)[0].violations for one in (learner, free))
    assert few < many
    rows, found = learner.project(X)
    np.testing.assert_allclose(rows.excess(found.expected), 0.0, atol=0.02)


def test_batches():
    """Online: the model is fitted after every batch."""
    rules = [count(where=head(pos.isin("D"))) == 0]
    learner = PosteriorRegularization(DMV(), rules, penalty=20.0, decode="model", iterations=3, batches=3, guard=False)
    learner.fit(X, NOTHING)
    objectives = [step.objective for step in learner.trace_]
    assert all(later <= earlier + 0.02 * len(X) for earlier, later in pairwise(objectives))


def test_restarts():
    learner = EM(DMV(), iterations=3, restarts=2, spread=1.0, guard=False).fit(X, NOTHING)
    assert len(set(learner.run_objectives_)) == 2


def test_mixture():
    """With trees, the model learned from them is mixed with the other."""
    learner = EM(DMV(), iterations=2).fit([*X, *X], [*Y, *NOTHING])
    assert learner.weight_ == 0.8
    assert learner.score(X, Y) > 0.8
