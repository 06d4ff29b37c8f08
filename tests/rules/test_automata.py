"""What rules mean: violations against a naive evaluator, on random rules, inputs and outputs."""

from itertools import pairwise, product

import numpy as np
import pytest

from sidelight import (
    DataError,
    NotSupported,
    before,
    changes_only_after,
    count,
    each,
    ends_with,
    first,
    min_length,
    once_each,
    others,
    parse_rule,
    runs,
    share,
    starts_with,
    transitions,
    when,
    where,
    word,
)
from sidelight.inference.compiled import CompiledRules
from sidelight.rules.automata import compile_rules, labels_named
from tests.rules.oracle import CONDITIONS, LABELS, named_rules, random_input, random_logic, random_rule


def violations(rules, X, y, labels=LABELS):
    """Degrees (sequences, rules) of outputs given as names."""
    codes = np.array([labels.index(c) for one in y for c in one], np.int32)
    return CompiledRules.compile(rules, X, labels).violations(codes)


def agree(rule, meaning, rng, sequences=12):
    X = [random_input(rng) for _ in range(sequences)]
    y = [[str(c) for c in rng.choice(LABELS, size=len(x))] for x in X]
    expected = [meaning(a, b) for a, b in zip(X, y, strict=True)]
    np.testing.assert_allclose(violations([rule], X, y)[:, 0], expected, atol=1e-12, err_msg=repr(rule))
    if "when(" not in repr(rule):
        again = parse_rule(repr(rule))
        assert repr(again) == repr(rule)
        np.testing.assert_allclose(violations([again], X, y)[:, 0], expected, atol=1e-12, err_msg=repr(rule))


@pytest.mark.parametrize("block", range(10))
def test_random_rules_mean_what_they_say(block):
    for seed in range(50 * block, 50 * block + 50):
        rng = np.random.default_rng(seed)
        agree(*random_rule(rng), rng)


@pytest.mark.parametrize("number", range(len(named_rules())))
def test_named_rules_mean_what_they_say(number):
    rule, meaning = named_rules()[number]
    rng = np.random.default_rng(number)
    for _ in range(5):
        agree(rule, meaning, rng)


def test_logic_is_violated_by_one():
    """A disjunction or implication of comparisons, however wrong, counts one."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        left, a = random_logic(rng, depth=1)
        right, b = random_logic(rng, depth=1)
        agree(left | right, lambda x, y, a=a, b=b: float(not (a(x, y) or b(x, y))), rng, sequences=6)
        agree(left >> right, lambda x, y, a=a, b=b: float(a(x, y) and not b(x, y)), rng, sequences=6)


def test_both_rules_are_violated_separately():
    rule = (count("A") <= 1) & (count("B") == 2)
    assert violations([rule], [["x"] * 4], [["A", "A", "A", "C"]])[0, 0] == 2 + 2


def test_conjunctions_of_any_rules():
    rng = np.random.default_rng(0)
    listed = named_rules()
    for (one, a), (other, b) in pairwise(listed):
        agree(one & other, lambda x, y, a=a, b=b: a(x, y) + b(x, y), rng)


def test_each_means_one_rule_for_every_label():
    X, y = [["x"] * 5], [["A", "B", "A", "B", "A"]]
    single = [violations([runs(label) <= 1], X, y)[0, 0] for label in LABELS]
    assert single == [2, 1, 0]
    assert violations([runs(each) <= 1], X, y)[0, 0] == sum(single)
    assert violations([runs(each("B", "C")) <= 1], X, y)[0, 0] == 1
    titles = [m.title for m in compile_rules([once_each().named("once")], X, LABELS)]
    assert titles == ["once [A]", "once [B]", "once [C]"]


def test_each_on_both_sides_of_and_stays_apart():
    X, y = [["x"] * 5], [["A", "B", "A", "B", "A"]]
    assert violations([once_each("A") & once_each("B")], X, y)[0, 0] == 2 + 1
    assert violations([once_each() & (count("A") <= 1)], X, y)[0, 0] == 3 + 2


def test_two_different_each_in_one_comparison_are_refused():
    rule = count(each("A")) + count(each("B")) >= 1
    with pytest.raises(DataError, match=r"several different each\(...\)"):
        compile_rules([rule], [["x"]], LABELS)


def test_each_in_a_formula_belongs_to_its_comparison():
    X, y = [["x"] * 3] * 3, [list("ABA"), list("ABB"), list("CCC")]
    rules = [~once_each(), once_each() | (count("C") >= 1), (count(each("A")) >= 1) | (count(each("C")) >= 3)]
    assert violations(rules, X, y).tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0]]
    with pytest.raises(NotSupported, match="needs 531441 states, and 4096 are the most; use smaller bounds, or fewer"):
        compile_rules([~once_each()], [["x"] * 3], list("ABCDEFGHIJKL"))


def test_fractions():
    X, y = [["x"] * 4], [list("AAAB")]
    rules = [
        1.5 * count("A") <= 2,
        0.25 * count("A") >= 1,
        0.5 * count("A") == 1.5 * count("B"),
        ~(1.5 * count("B") <= 1),
    ]
    assert violations(rules, X, y).tolist() == [[2.5, 0.25, 0, 0]]
    assert violations([~(1.5 * count("B") <= 2), (0.1 * count("A") <= 0.3) & (count("B") >= 2)], X, y).tolist() == [
        [2, 1]
    ]


def test_every_output_of_all_rules_together():
    """One batch with many rules: each column is its own rule."""
    rng = np.random.default_rng(3)
    rules = named_rules()[:12]
    x = random_input(rng, 4)
    outputs = [list(y) for y in product(LABELS, repeat=len(x))]
    got = violations([rule for rule, _ in rules], [x] * len(outputs), outputs)
    expected = [[meaning(x, y) for _, meaning in rules] for y in outputs]
    np.testing.assert_allclose(got, expected)


def test_the_same_rule_twice_counts_twice():
    rule = count("A") <= 0
    got = violations([rule, count("B") <= 0, rule], [["x", "x"]], [["A", "B"]])
    np.testing.assert_array_equal(got, [[1, 1, 1]])


def test_sequences_cut_from_a_batch():
    rng = np.random.default_rng(1)
    X = [random_input(rng) for _ in range(6)]
    y = [[str(c) for c in rng.choice(LABELS, size=len(x))] for x in X]
    rules = [rule for rule, _ in named_rules()]
    codes = np.array([LABELS.index(c) for one in y for c in one], np.int32)
    compiled = CompiledRules.compile(rules, X, LABELS)
    whole = compiled.violations(codes)
    a, b = compiled.offsets[2], compiled.offsets[5]
    np.testing.assert_array_equal(compiled.sequences(2, 5).violations(codes[a:b]), whole[2:5])


@pytest.mark.parametrize(
    "rule",
    [
        count("A") <= 0,
        count("A") == 0,
        starts_with("A"),
        ends_with("A"),
        where(first).label("A"),
        transitions("A", "B") <= 0,
        changes_only_after(word.ispunct()),
        (count("A") <= 0) & (count("B") <= -1),
        count("A") >= 0,
    ],
    ids=repr,
)
def test_sums_over_parts_are_local(rule):
    assert all(m.local for m in compile_rules([rule], [["a", "b"]], LABELS))


@pytest.mark.parametrize("rule", [count("A") <= 1, count("A") >= 1, once_each(), min_length(2), before("A", "B")])
def test_other_rules_are_not(rule):
    assert not any(m.local for m in compile_rules([rule], [["a", "b"]], LABELS))


def test_labels_named():
    rules = [once_each("A"), before("B", others("C")), count("D") >= count("E"), min_length(2, "F") & starts_with("G")]
    assert labels_named(rules) == set("ABCDEFG")
    assert labels_named([once_each(), share("A") <= 0.5]) == {"A"}


def test_unknown_labels():
    with pytest.raises(DataError, match=r"rule 'mine' names the label 'Q'; known are A, B, C"):
        compile_rules([(count("A", "Q") >= 1).named("mine")], [["x"]], LABELS)


def test_what_cannot_steer_decoding():
    with pytest.raises(NotSupported, match="is about the corpus, not about one output"):
        compile_rules([share("A") <= 0.5], [["x"]], LABELS)
    with pytest.raises(NotSupported, match="counts in fractions finer than 1/10000"):
        compile_rules([count("A") * 0.123456789 <= 1], [["x"]], LABELS)
    with pytest.raises(NotSupported, match=r"cannot stand inside &, \|, >> or ~"):
        compile_rules([min_length(2) | (count("A") >= 1)], [["x"]], LABELS)
    with pytest.raises(NotSupported, match="differences of counts cannot stand inside logic"):
        compile_rules([(count("A") >= count("B")) | (count("A") >= 1)], [["x"]], LABELS)
    with pytest.raises(NotSupported, match="10201 states, and 4096 are the most; use smaller bounds"):
        compile_rules([(count("A") >= 100) | (count("B") >= 100)], [["x"] * 100], LABELS)
    huge = count("A") >= 2**16 - 2
    for _ in range(3):
        huge = huge | huge  # more than 64 bits can count
    with pytest.raises(NotSupported, match=f"needs {(2**16 - 1) ** 8} states"):
        compile_rules([huge], [["x"] * 2**16], LABELS)
    with pytest.raises(DataError, match="expected a rule, got 'count'"):
        compile_rules(["count"], [["x"]], LABELS)


def test_a_failing_predicate_names_rule_sequence_and_token():
    X = [["a", "b"], ["c", "d", "e"]]

    def fails(x, t):
        return {"a": 1, "b": 1, "c": 0}[x[t]]

    with pytest.raises(DataError, match=r"rule 'mine': when\(fails\) raised KeyError\('d'\) at sequence 1, token 1"):
        compile_rules([where(when(fails)).label("A").named("mine")], X, LABELS)
    told = word.map({"a": 1, "b": 1, "c": 0}.__getitem__)
    with pytest.raises(DataError, match=r"rule 'mine': word.map\(.*raised KeyError\('d'\) at sequence 1, token 1"):
        compile_rules([(count("A", where=told) >= 1).named("mine")], X, LABELS)


def test_conditions_are_worked_out_per_sequence():
    """Neighbours of a token are those of its own sequence."""
    X = [["a", ","], ["b", "1"]]
    for condition, holds in CONDITIONS[1:]:
        got = violations([count("A", where=condition) <= 0], X, [["A", "A"], ["A", "A"]])[:, 0]
        np.testing.assert_array_equal(got, [sum(holds(x, t) for t in range(2)) for x in X], err_msg=repr(condition))


@pytest.mark.parametrize(
    ("large", "small", "factor"),
    [
        (min_length(10**9), min_length(9), 1.0),
        (10**9 * count("A") <= 10**9, count("A") <= 1, 1e9),
        (10**9 * count("A") - 10**9 * count("B") >= 0, count("A") - count("B") >= 0, 1e9),
        (6 * count("A") <= 7, 1.2 * count("A") <= 1.4, 5.0),
    ],
)
def test_counters_are_no_larger_than_they_need_to_be(large, small, factor):
    rng = np.random.default_rng(0)
    X = [random_input(rng) for _ in range(9)]
    y = [[str(c) for c in rng.choice(LABELS, size=len(x))] for x in X]
    np.testing.assert_allclose(violations([large], X, y), factor * violations([small], X, y))
    assert max(len(m.after) for m in compile_rules([large], X, LABELS)) <= 100


def test_counters_that_are_too_large_are_refused():
    for rule in (10**9 * count("A") - count("B") >= 3, (10**9 * count("A") <= 10**9) | (count("B") >= 1)):
        with pytest.raises(NotSupported, match=r"states, .* use smaller"):
            compile_rules([rule], [["x"] * 5], LABELS)
    with pytest.raises(NotSupported, match="too large to add up exactly"):
        compile_rules([10**15 * count("A") >= 1], [["x"] * 50], LABELS)


@pytest.mark.parametrize(
    ("rule", "size"),
    [
        (count([f"L{i}" for i in range(20_000)]) <= 3, "needs a table of label pairs, which would take 1.6 GB"),
        (starts_with(*[f"L{i}" for i in range(20_000)]), "needs a table of label pairs, which would take 1.6 GB"),
        (once_each(), "needs 20,000 tables of label pairs, which would take 32,001.6 GB"),
    ],
)
def test_tables_of_many_labels_are_refused_before_they_are_made(rule, size):
    labels = [f"L{i}" for i in range(20_000)]
    with pytest.raises(DataError, match=rf"over 20,000 labels {size} of memory; leave out labels"):
        CompiledRules.compile([rule], [["a"]], labels)


def test_tables_of_many_kinds_of_positions_are_refused_before_they_are_made():
    labels = [f"L{i}" for i in range(4000)]
    some = [count("L1", where=word.isin(name)) for name in "abcdefghijklmnopqrs"]
    with pytest.raises(DataError, match=r"over 4,000 labels needs 20 tables of label pairs"):
        CompiledRules.compile([sum(some[1:], some[0]) <= 1], [list("abcdefghijklmnopqrst")], labels)
