"""Counting the violations of labelled data."""

import warnings

import numpy as np
import pytest

from sidelight import (
    GOOD,
    DataError,
    NotSupported,
    changes_only_after,
    check,
    count,
    each,
    ends_with,
    few_labels,
    generate_references,
    once_each,
    punctuation,
    runs,
    share,
    starts_with,
    transitions,
    where,
    word,
)
from tests.rules.oracle import LABELS, random_input, random_rule


def test_counts_are_those_of_the_meaning():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = [random_input(rng) for _ in range(8)]
        y = [[str(c) for c in rng.choice(LABELS, size=len(x))] for x in X]
        y[0] = (LABELS * 2)[: len(X[0])] if len(X[0]) >= 3 else y[0]
        rules = [random_rule(rng) for _ in range(3)]
        if {c for labels in y for c in labels} != set(LABELS):
            continue
        for found, (rule, meaning) in zip(check([rule for rule, _ in rules], X, y, examples=2), rules, strict=True):
            degrees = [meaning(a, b) for a, b in zip(X, y, strict=True)]
            assert found.rule is rule
            np.testing.assert_allclose(found.violations, sum(degrees))
            assert found.sequences == sum(d > 0 for d in degrees)
            assert found.of == 8
            np.testing.assert_allclose(found.share, found.sequences / 8)
            assert [degree for _, degree in found.examples] == sorted((d for d in degrees if d > 0), reverse=True)[:2]
            assert all(degrees[i] == degree for i, degree in found.examples)


def test_examples_are_the_worst_first():
    X = [["x"] * 4] * 4
    y = [["A", "B", "B", "B"], ["B"] * 4, ["A"] * 4, ["A", "A", "B", "B"]]
    (found,) = check([count("A") <= 0], X, y)
    assert found.examples == ((2, 4.0), (3, 2.0), (0, 1.0))
    assert check([count("A") <= 0], X, y, examples=1)[0].examples == ((2, 4.0),)
    assert check([count("A") <= 0], X, y, examples=0)[0].examples == ()
    assert check([count("A") <= 4], X, y)[0].examples == ()


def test_labels_of_words_beyond_the_first():
    """Once for the corpus: a has A, B and C, and b, whatever its case, has A and B; c is seen once."""
    X = [["a", "b", "a"], ["a", "B"], ["c", "a"]]
    y = [["A", "A", "B"], ["A", "B"], ["C", "C"]]
    found = check([few_labels(word.lower(), at_least=2), few_labels(word, at_least=2), few_labels(word)], X, y)
    assert [one.violations for one in found] == [3, 2, 0]
    assert [(one.sequences, one.of, one.examples) for one in found] == [(0, 3, ())] * 3


def test_what_is_not_fully_labelled_is_left_out():
    X = [["x", "y"]] * 5
    y = [None, ["A", "A"], [{"A", "B"}, "A"], GOOD, ["B", "A"]]
    (found,) = check([count("A") <= 0], X, y)
    assert (found.violations, found.sequences, found.of) == (3, 2, 2)
    assert found.examples == ((1, 2.0), (4, 1.0))
    with pytest.raises(DataError, match="no sequence is fully labelled, so there is nothing to check rules on"):
        check([count("A") <= 0], X[:1], [None])
    with pytest.raises(DataError, match="X has 5 sequences but y has 1"):
        check([count("A") <= 0], X, [None])


def test_shares_of_the_corpus():
    X, y = [["a", "1"], ["b", "c", "2"]], [["A", "B"], ["A", "A", "B"]]
    rules = [
        share("A") == 0.6,
        share("A") <= 0.4,
        share("A") >= 0.8,
        share("A") >= 0.6,
        share("B", where=word.isdigit()) == 1,
        share("A", where=word.isdigit()) >= 0.5,
        share("C") >= 0.2,
    ]
    expected = [0, 3 - 0.4 * 5, 0.8 * 5 - 3, 0, 0, 1, 1]
    np.testing.assert_allclose([found.violations for found in check(rules, X, y)], expected, atol=1e-12)
    found = check(rules, X, y)[1]
    assert (found.sequences, found.of, found.examples, found.share) == (0, 2, (), 0.0)


def test_corpus_rules_and_others_keep_their_order():
    X, y = [["a"], ["b"]], [["A"], ["B"]]
    rules = [share("A") == 1, count("A") <= 0, share("B") == 0, ends_with("B"), ends_with("B")]
    found = check(rules, X, y)
    assert [one.rule for one in found] == rules
    assert [one.violations for one in found] == [1, 1, 1, 1, 1]


def test_labels_that_only_rules_name():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (found,) = check([count("Z") >= 1], [["x"]], [["A"]])
    assert found.violations == 1
    with pytest.warns(UserWarning, match="did you mean 'author'"):
        check([count("autor") >= 1], [["x"]], [["author"]])


def test_clean_references_obey_their_rules():
    """Generated without noise, fields are single runs that end with punctuation; with noise they are not."""
    rules = [once_each(), changes_only_after(punctuation), transitions("title", "author") <= 0]
    once, after, _ = check(rules, *generate_references(200, seed=3, noise=0))
    assert (once.violations, after.violations) == (0, 0)
    once, after, _ = check(rules, *generate_references(200, seed=3, noise=1))
    assert min(once.violations, after.violations) > 10
    assert 0 < once.share <= 1


def test_rules_about_the_corpus_add_up_over_labels():
    X, y = [["a", "b", "a"], ["b"]], [["A", "B", "A"], ["B"]]
    rules = [(runs(name) <= 0.5).over_corpus() for name in (each, "A", "B")]
    found = [one.violations for one in check(rules, X, y)]
    assert found == [2.0, 1.0, 1.0]
    assert check([share(each("A", "B")) == 0.25], X, y)[0].violations == 2.0
    with pytest.raises(NotSupported, match="cannot hold for some label only"):
        check([(~(runs(each) <= 1)).over_corpus()], X, y)


def test_trees_need_their_task():
    with pytest.raises(DataError, match=r"y of sequence 0 holds no labels, got \[2, 0\]; .* task=Parsing\(\)"):
        check([count("A") <= 1], [["a", "b"]], [[2, 0]])


def test_negations_may_have_a_reading():
    X, y = [["a", "b", "c"]] * 2, [["A", "B", "A"], ["A", "A", "B"]]
    found = check([(~once_each()).hard().named("again")], X, y)[0]
    assert (found.rule.title, found.violations, found.examples) == ("again", 1.0, ((1, 1.0),))


def test_rules_that_nothing_could_violate_are_warned_of():
    rules = [where(word.isin("nowhere")).label("A"), starts_with("A")]
    with pytest.warns(UserWarning, match="nothing here could violate the rule .*nowhere") as caught:
        check(rules, [["a", "b"], ["a"]], [["A", "B"], ["A"]])
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # labels that the data lacks could violate these
        check([where(word.isin("a")).label("A"), changes_only_after(punctuation)], [["a", "."]], [["A", "A"]])
