"""Folding local rules into scores, penalties by counting, and readings."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sidelight import (
    NotSupported,
    changes_only_after,
    count,
    ends_with,
    first,
    once_each,
    share,
    starts_with,
    transitions,
    where,
    word,
)
from sidelight.inference.compiled import CompiledRules, learn_penalties, log_prior, penalties, stack, times
from sidelight.rules.language import Reading
from tests.rules.oracle import (
    LABELS,
    chain_score,
    random_comparison,
    random_input,
    random_rule,
    random_scores,
    random_segment_scores,
    scored_outputs,
    segment_score,
)

LOCAL = [
    starts_with("A", "C"),
    ends_with("B"),
    transitions("A", "B", where=word.isdigit()) <= 0,
    transitions(to="C") <= 0,
    changes_only_after(word.ispunct()),
    where(word.isalpha()).never("C"),
    where(~first).label("A", "B"),
    count("A") <= -2,
    (transitions("B", where=word[-1].isalpha()) == 0) & (count("C", where=first) <= 0),
]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("types", [1, 3])
def test_folded_scores_are_scores_less_penalties(order, types):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = [random_input(rng, 4) for _ in range(3)]
        scores = random_scores(rng, X, types=types, order=order, forbidden=0.05)
        kept = [rule for rule in LOCAL if rng.random() < 0.6]
        penalty = np.where(rng.random(len(kept)) < 0.2, np.inf, rng.exponential(size=len(kept)))
        compiled = CompiledRules.compile(kept, X, LABELS)
        weighed = compiled.weigh(penalty)
        before = [scores.unary.copy(), scores.pair.copy(), scores.start.copy(), scores.end.copy()]
        folded, rest = weighed.fold(scores)
        assert rest.compiled.automata == ()
        assert (folded.order, len(folded)) == (order, len(X))
        for old, new in zip(before, (scores.unary, scores.pair, scores.start, scores.end), strict=True):
            np.testing.assert_array_equal(old, new)
        for i, x in enumerate(X):
            one = compiled.sequences(i, i + 1)
            for y in product(range(3), repeat=len(x)):
                cost = times(penalty, one.violations(np.array(y, np.int32))[0]).sum()
                np.testing.assert_allclose(chain_score(folded, i, y), chain_score(scores, i, y) - cost, atol=1e-9)


def folds_on_segments(rule, differ, x=("a", "1", ",", "b")):
    """Whether a hard rule, and a soft one, become part of the scores of a segmentation."""
    X = [list(x)]
    scores = random_segment_scores(np.random.default_rng(0), X, differ=differ)
    compiled = CompiledRules.compile([rule], X, LABELS)
    return [len(compiled.weigh(np.array([rho])).fold(scores)[1].penalty) == 0 for rho in (np.inf, 1.0)]


@pytest.mark.parametrize(
    ("rule", "differ", "same"),
    [
        (starts_with("A", "C"), True, True),
        (ends_with("B"), True, True),
        (where(word.isalpha()).never("C"), True, True),
        (count("A") <= -2, True, True),
        (transitions("A", "B") <= 0, True, True),
        (changes_only_after(word.ispunct()), True, False),  # equal neighbours make no change
        (transitions("A", "B", where=word.isdigit()) <= 0, False, False),  # a pair, but only somewhere
    ],
    ids=str,
)
def test_what_folds_on_segments(rule, differ, same):
    assert folds_on_segments(rule, True) == [differ, differ]
    assert folds_on_segments(rule, False) == [same, same]


def test_a_step_within_segments_cannot_be_forbidden_alone():
    """No A behind A: softly it is a cost per step, but as a hard rule it would need segments of one token."""
    assert folds_on_segments(transitions("A", "A") <= 0, True) == [False, True]
    assert folds_on_segments(transitions("A", "A") <= 0, False) == [False, True]


@pytest.mark.parametrize("differ", [False, True])
def test_folded_segment_scores_are_scores_less_penalties(differ):
    folded_rules = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = [random_input(rng, 4) for _ in range(2)]
        scores = random_segment_scores(rng, X, forbidden=0.1 * (seed % 2), differ=differ)
        rules = [rule for rule in LOCAL if rng.random() < 0.4] + [random_rule(rng)[0]]
        penalty = np.where(rng.random(len(rules)) < 0.3, np.inf, rng.exponential(size=len(rules)))
        compiled = CompiledRules.compile(rules, X, LABELS)
        folded, rest = compiled.weigh(penalty).fold(scores)
        folded_rules += len(compiled.automata) - len(rest.penalty)
        for i, x in enumerate(X):
            one, left = compiled.sequences(i, i + 1), rest.sequence(i)
            for y, labels, score in scored_outputs(scores, i, len(x)):
                tokens = np.array(labels, np.int32)
                expected = score - times(penalty, one.violations(tokens)[0]).sum()
                np.testing.assert_allclose(segment_score(folded, i, y) - left.cost(tokens)[0], expected, atol=1e-9)
    assert folded_rules > 30


def test_what_folds_and_what_is_searched_adds_up():
    """Folded score less `cost` is the score less all penalties, for any mix of rules."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = [random_input(rng, 4) for _ in range(2)]
        scores = random_scores(rng, X, types=2)
        rules = [random_rule(rng)[0] for _ in range(3)]
        penalty = rng.exponential(size=3) * (rng.random(3) < 0.8)
        compiled = CompiledRules.compile(rules, X, LABELS)
        weighed = compiled.weigh(penalty)
        folded, rest = weighed.fold(scores)
        for _ in range(10):
            labels = rng.integers(3, size=len(scores.unary)).astype(np.int32)
            pieces = [labels[a:b] for a, b in zip(scores.offsets[:-1], scores.offsets[1:], strict=True)]
            plain, shifted = ([chain_score(s, i, y) for i, y in enumerate(pieces)] for s in (scores, folded))
            expected = plain - compiled.violations(labels) @ penalty
            np.testing.assert_allclose(shifted - rest.cost(labels), expected, atol=1e-9)


def test_positions_that_see_the_same_rules_share_a_table():
    X = [["a", "1", ",", "b"] * 5] * 10
    scores = random_scores(np.random.default_rng(0), X)
    rules = [transitions("A", "B", where=word.isdigit()) <= 0, changes_only_after(word.ispunct())]
    folded, _ = CompiledRules.compile(rules, X, LABELS).weigh(np.ones(2)).fold(scores)
    assert len(folded.pair) == 3


def test_places_where_rules_can_be_broken():
    """Tokens of a condition, first and last ones, those that have one before; and sequences, where counts say it."""
    X = [["a", "1"], ["b", "2", "c"]]
    rules = [where(word.isdigit()).label("A"), starts_with("A"), ends_with("B"), transitions("A", "B") <= 0]
    compiled = CompiledRules.compile([*rules, count("A") >= 2], X, LABELS)
    np.testing.assert_array_equal(compiled.places, [2, 2, 2, 3, 2])


def test_stacking_keeps_every_automaton():
    rng = np.random.default_rng(0)
    X = [random_input(rng) for _ in range(4)]
    rules = [random_comparison(rng)[0] for _ in range(6)]
    compiled = CompiledRules.compile(rules, X, LABELS)
    labels = rng.integers(3, size=int(compiled.offsets[-1])).astype(np.int32)
    alone = [CompiledRules.compile([rule], X, LABELS).violations(labels)[:, 0] for rule in rules]
    np.testing.assert_array_equal(compiled.violations(labels), np.stack(alone, axis=1))
    assert stack(compiled.automata, 3).sizes.tolist() == [len(m.after) for m in compiled.automata]
    assert CompiledRules.compile([], X, LABELS).violations(labels).shape == (4, 0)


def test_penalties_by_counting():
    """P = (violations + 1) / (tokens + 2), ρ = log (1 - P) / P: Eq. 3.10 with one more violation and one more not."""
    got = learn_penalties(np.array([0.0, 1.0, 4.0, 49.0, 50.0, 60.0, 98.0, 500.0]), 98)
    expected = [np.log(99 / 1), np.log(98 / 2), np.log(95 / 5), 0, 0, 0, 0, 0]
    np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_allclose(learn_penalties(np.array([2.0]), 8, smoothing=0.5), np.log(6.5 / 2.5))
    with np.errstate(divide="ignore"):
        assert learn_penalties(np.array([0.0]), 10, smoothing=0.0)[0] == np.inf
    np.testing.assert_allclose(learn_penalties(np.array([2.0]), 8, smoothing=0.0), -np.log(0.25 / 0.75))
    counts = np.linspace(0, 300, 50)
    falling = learn_penalties(counts, 100)
    assert (falling >= 0).all()
    assert (np.diff(falling) <= 0).all()


def test_the_log_prior_of_penalties_and_the_penalties_that_it_makes_best():
    """T log (1 - P) + log P + log (1 - P) with P = 1 / (1 + e^ρ); less ρ for each violation it is highest at
    `learn_penalties` (Eq. 3.8 and 3.10 of Chang 2011).
    """
    rho, tokens = np.array([0.3, 2.0, 5.0]), 40
    P = 1 / (1 + np.exp(rho))
    np.testing.assert_allclose(log_prior(rho, tokens), ((tokens + 1) * np.log(1 - P) + np.log(P)).sum())
    for violations in (0.0, 1.0, 7.5):
        best = minimize_scalar(
            lambda r, n=violations: n * r - log_prior(np.array([r]), tokens), bounds=(0, 20), method="bounded",
            options={"xatol": 1e-9},
        )  # fmt: skip
        np.testing.assert_allclose(best.x, learn_penalties(np.array([violations]), tokens)[0], atol=1e-6)


def test_readings_become_penalties():
    rule = count("A") >= 1
    rules = [rule.hard(), rule.soft(2.5), rule.soft(), rule, rule.soft(0)]
    learned = np.array([9.0, 8.0, 7.0, 6.0, 5.0])
    np.testing.assert_array_equal(penalties(rules, Reading("soft"), learned), [np.inf, 2.5, 7.0, 6.0, 0.0])
    np.testing.assert_array_equal(penalties(rules, Reading("hard"), learned), [np.inf, 2.5, 7.0, np.inf, 0.0])
    with pytest.raises(NotSupported, match="the penalty of 'mine' is to be learned, which needs labelled sequences"):
        penalties([rule.soft().named("mine")], Reading("hard"), None)
    np.testing.assert_array_equal(penalties([rule], Reading("hard"), None), [np.inf])
    with pytest.raises(NotSupported, match="'mine' is read as a statement about expectations, which decoding cannot"):
        penalties([rule.expected().named("mine")], Reading("soft"), learned)


def test_infinity_times_nothing():
    product = times(np.array([np.inf, np.inf, 2.0, 0.0]), np.array([0.0, 1, 3, 5]))
    np.testing.assert_array_equal(product, [0, np.inf, 6, 0])


def test_corpus_rules_do_not_compile():
    with pytest.raises(NotSupported, match="is about the corpus"):
        CompiledRules.compile([once_each(), share("A") == 0.5], [["x"]], LABELS)
