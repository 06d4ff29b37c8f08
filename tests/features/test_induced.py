"""Templates from decision trees: gains by hand, trees by a plain twin, and everything that templates are used for."""

from collections import Counter
from math import log2

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from sidelight import DataError, InducedTemplates, NotSupported, Parsing, StructuredPerceptron, load
from sidelight.features.induced import BasicDataset, TokenFactors
from tests.learners.samples import as_arrays, as_columns, as_dicts, labelled


def entropy(values):
    counts = Counter(values)
    return -sum(n / len(values) * log2(n / len(values)) for n in counts.values()) if values else 0.0


def plain_tree(rows, decisions, criterion, depth, least, asked=()):
    """The paths of a tree, by definition: features on the path, rows, and gain in bits."""
    if depth == 0 or len(rows) < 2 * least or entropy([decisions[r[-1]] for r in rows]) == 0:
        return []
    found = {}
    for k in range(len(rows[0]) - 1):
        if k in asked:
            continue
        sizes = Counter(r[k] for r in rows)
        branches = {}
        for r in rows:
            branches.setdefault(r[k] if sizes[r[k]] >= least else "rest", []).append(r)
        if len(branches) < 2:
            continue
        inside = sum(len(b) * entropy([decisions[r[-1]] for r in b]) for b in branches.values()) / len(rows)
        gain = entropy([decisions[r[-1]] for r in rows]) - inside
        between = entropy([key for key, b in branches.items() for _ in b])
        if gain > 1e-9:
            found[k] = gain, gain / between, branches
    if not found:
        return []
    mean = np.mean([gain for gain, _, _ in found.values()])
    if criterion == "gain":
        best = max(found, key=lambda k: (found[k][0], -k))
    else:
        best = max((k for k in found if found[k][0] >= mean - 1e-12), key=lambda k: (found[k][1], -k))
    path = (*asked, best)
    out = [(path, len(rows), found[best][0])]
    for branch in found[best][2].values():
        out += plain_tree(branch, decisions, criterion, depth - 1, least, path)
    return out


@pytest.mark.parametrize("criterion", ["gain", "gain_ratio"])
@pytest.mark.parametrize("least", [1, 4])
def test_trees_are_those_of_the_definition(criterion, least):
    rng = np.random.default_rng(least)
    sizes, rows = np.array([2, 3, 12, 40, 1]), 200
    values = np.stack([rng.integers(0, size, rows) for size in sizes]).astype(np.int32)
    decisions = ((values[0] * 2 + values[1] + (values[2] > 6) + (rng.random(rows) < 0.2)) % 3).astype(np.int32)
    tree = BasicDataset(tuple("abcde"), values, sizes, decisions).grow(criterion, 3, least)
    plain = plain_tree([(*values[:, r], r) for r in range(rows)], decisions, criterion, 3, least)
    mine = []
    for k in range(len(tree.rows)):
        path, at = [], k
        while at >= 0:
            path, at = [int(tree.features[at]), *path], tree.parents[at]
        mine.append((tuple(path), int(tree.rows[k]), round(float(tree.gains[k]), 9)))
    assert sorted(mine) == sorted((path, n, round(gain, 9)) for path, n, gain in plain)
    assert len(mine) > 3


def test_gain_by_hand():
    # 4 of 8 decisions are 1; the first feature tells them all, the second tells nothing, the third has a value per row.
    values = np.array([[0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1], np.arange(8)], np.int32)
    data = BasicDataset(("a", "b", "c"), values, np.array([2, 2, 8]), np.array([0] * 4 + [1] * 4, np.int32))
    tree = data.grow("gain_ratio", 3, 1)
    assert (tree.features.tolist(), tree.gains.tolist(), tree.rows.tolist()) == ([0], [1.0], [8])
    assert data.grow("gain", 3, 1).features.tolist() == [0]  # of the same gain as the third, which comes later
    assert list(tree.paths()) == [(0,)]


def exclusive():
    """The label is whether two neighbouring letters are equal, which no letter alone tells."""
    rng = np.random.default_rng(0)
    X = [[str(c) for c in rng.choice(list("ab"), 6)] for _ in range(60)]
    return X, [["same" if t and x[t] == x[t - 1] else "other" for t in range(6)] for x in X]


def test_conjunctions_make_a_linear_learner_do_what_it_cannot():
    X, y = exclusive()
    found = InducedTemplates(["word", "word[-1]", "word[1]"], min_rows=5, max_templates=6).fit(X, y)
    assert str(found.templates_[0]) == "word & word[-1]"
    alone, joined = (
        StructuredPerceptron(features).fit(X, y).score(X, y)
        for features in (["word", "word[-1]", "word[1]"], found.templates_)
    )
    assert joined > 0.95 > alone + 0.1
    piped = make_pipeline(clone(found), StructuredPerceptron()).fit(X, y)
    assert piped.score(X, y) == joined


def test_files_of_templates(tmp_path):
    X, y = exclusive()
    found = InducedTemplates(["word", "word[-1]"], min_rows=5).fit(X, y)
    found.save(tmp_path / "found.txt")
    lines = (tmp_path / "found.txt").read_text().splitlines()
    assert lines == found.lines()
    assert [line for line in lines if not line.startswith("#")] == list(map(str, found.templates_))


def test_known_labels_alone_count_and_the_label_before_is_left_out():
    X, y = exclusive()
    known = InducedTemplates(["word", "word[-1]"], min_rows=5).fit(X[:40], y[:40])
    more = [None] * 10 + [[None, {"same", "other"}] + [None] * 4] * 10
    some = InducedTemplates(["word", "word[-1]"], min_rows=5).fit(X, y[:40] + more)
    assert some.paths_ == known.paths_
    before = InducedTemplates(["word", "word[-1]"], min_rows=5, previous=True).fit(X, y)
    assert before.tree_.names == ("word", "word[-1]", "label[-1]")
    assert set(before.paths_) <= {"word", "word[-1]", "word & word[-1]"}


def test_templates_of_too_many_values_are_left_out():
    rng = np.random.default_rng(0)
    X = [[tuple(map(str, rng.integers(0, 2, 64)))] for _ in range(64)]
    columns = [f"column({k})" for k in range(64)]
    factors = TokenFactors([" & ".join(columns[:32]), " & ".join(columns[32:])], X)
    factors.dataset(X, [["a"]] * 64, previous=False)
    assert [len(one.columns) for one in factors.join((1,))] == [32]
    assert factors.join((0, 1)) == []


def test_feature_dicts():
    X, y = labelled(0)
    dicts = as_dicts(X)
    found = InducedTemplates(min_rows=2).fit(dicts, y)
    assert found.tree_.names == ("word", "title")  # a length is a number
    names = [" & ".join(one) for one in found.templates_ if len(one) > 1]
    joined = found.transform(dicts)
    assert set(joined[0][0]) <= {*dicts[0][0], *names}
    assert all(token.items() >= plain.items() for x, p in zip(joined, dicts, strict=True)
               for token, plain in zip(x, p, strict=True))  # fmt: skip


def test_arcs():
    words, tags = ["the", "dog", "sees", "a", "cat"], ["DET", "NOUN", "VERB", "DET", "NOUN"]
    X, y = [list(zip(words, tags, strict=True))] * 6, [[2, 3, 0, 5, 3]] * 6
    found = InducedTemplates(factors="arcs", min_rows=2, keep_basic=False).fit(X, y)
    assert found.tree_.rows[0] == 6 * 25
    parser = StructuredPerceptron(found.templates_, task=Parsing(), epochs=3).fit(X, y)
    assert parser.predict(X[:1]) == y[:1]
    partial = InducedTemplates(factors="arcs", min_rows=2).fit(X, [[2, None, None, (5, "det"), 3]] * 5 + [None])
    assert partial.tree_.rows[0] == 5 * 15
    for call in (lambda: found.transform(X), lambda: clone(found).set_params(previous=True).fit(X, y)):
        with pytest.raises(NotSupported):
            call()
    with pytest.raises(DataError, match="arcs have no feature 'x'"):
        InducedTemplates(["x"], factors="arcs").fit(X, y)


def test_parsers_with_templates_are_saved(tmp_path):
    X = [[("dogs", "NOUN"), ("bark", "VERB"), ("loudly", "ADV")]]
    parser = StructuredPerceptron(["hw ct", "ht ht+1 ct-1 ct cw"], task=Parsing(labelled=True)).fit(
        X, [[(2, "nsubj"), (0, "root"), (2, "advmod")]]
    )
    parser.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.scores(X).values, parser.scores(X).values)
    assert again.explain(X[0], 0) == parser.explain(X[0], 0)
    assert again.scorer_.templates[3:] == (("t t+1", "w t t-1"),)
    with pytest.raises(DataError, match="cannot read the template 'hx'"):
        StructuredPerceptron(["hx"], task=Parsing()).fit(X, [[2, 0, 2]])


def test_bad_input():
    X, y = exclusive()
    for options, message in (
        ({"criterion": "gini"}, "criterion must be"),
        ({"min_rows": 0}, "min_rows must be a whole number"),
        ({"factors": "words"}, "factors must be"),
        ({"basic": "word"}, "put it into a list"),
        ({"basic": ["pos"]}, "needs column 1"),
    ):
        with pytest.raises(DataError, match=message):
            InducedTemplates(**options).fit(X, y)
    for labels, message in ((y[:-1], "one element for each"), ([None] * 60, "no decision"), ([["a"]] * 60, "6 tokens")):
        with pytest.raises(DataError, match=message):
            InducedTemplates().fit(X, labels)
    with pytest.raises(NotSupported, match="arrays"):
        InducedTemplates().fit(as_arrays(labelled()[0]), labelled()[1])
    assert InducedTemplates().fit(as_columns(labelled()[0]), labelled()[1]).templates_
