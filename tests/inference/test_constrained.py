"""The best outputs under rules against a list of all outputs."""

from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest

from sidelight import (
    Chain,
    ChainParts,
    DataError,
    Infeasible,
    NotSupported,
    Segmentation,
    SegmentParts,
    before,
    changes,
    changes_only_after,
    count,
    ends_with,
    first,
    min_length,
    once_each,
    position,
    runs,
    starts_with,
    transitions,
    where,
    word,
)
from sidelight.inference import constrained, program
from sidelight.inference.compiled import CompiledRules
from sidelight.inference.constrained import best_outputs
from tests.rules.oracle import (
    LABELS,
    every_output,
    random_comparison,
    random_input,
    random_rule,
    random_scores,
    random_segment_scores,
)

FAMILIES = {
    "chain": (Chain(), random_scores),
    "segments": (Segmentation(), random_segment_scores),
    "segments that differ": (Segmentation(), partial(random_segment_scores, differ=True)),
}


def problem(seed, *, family="chain", sequences=3, longest=5, draw=random_rule, hard=0.25):
    """Random inputs, scores, rules with their meanings, and penalties, of which some are infinite or zero."""
    rng = np.random.default_rng(seed)
    X = [random_input(rng, longest) for _ in range(sequences)]
    rules = [draw(rng) for _ in range(rng.integers(1, 4))]
    kinds = rng.choice([np.inf, 0.0, 1.0], p=[hard, 0.1, 0.9 - hard], size=len(rules))
    penalty = np.where(kinds == 1, rng.exponential(2.0, size=len(rules)), kinds)
    options = {"whole": bool(rng.random() < 0.3), "forbidden": 0.1 * (rng.random() < 0.4)}
    if options["whole"]:  # small whole numbers: ties
        penalty = np.ceil(penalty)
    if family == "chain":
        options["types"] = int(rng.integers(1, 4))
    else:
        options["longest"] = int(rng.integers(1, longest + 1))
    return X, FAMILIES[family][1](rng, X, **options), rules, penalty


def weigh(rules, X, penalty):
    return CompiledRules.compile([rule for rule, _ in rules], X, LABELS).weigh(np.asarray(penalty, float))


def check_ranking(found, i, scores, listed, k, tolerance):
    """The k scores are the best ones, each with an output that has it, and none twice."""
    tokens = slice(scores.offsets[i], scores.offsets[i + 1])
    size = min(k, len(listed))
    np.testing.assert_allclose(found.scores[i, :size], [s for s, _ in listed[:size]], atol=tolerance)
    by_output = {y: s for s, y in listed}
    rows = [tuple(row[tokens].tolist()) for row in found.outputs.values[:size]]
    assert len(set(rows)) == size
    np.testing.assert_allclose([by_output[row] for row in rows], found.scores[i, :size], atol=tolerance)
    assert (found.scores[i, size:] == -np.inf).all()
    assert (found.outputs.values[size:, tokens] == -1).all()


def check(seed, method, tolerance, *, family="chain", **options):
    X, scores, rules, penalty = problem(seed, family=family, **options)
    structure, weighed = FAMILIES[family][0], weigh(rules, X, penalty)
    listed = [every_output(scores, i, x, rules, penalty) for i, x in enumerate(X)]
    empty = [i for i, outputs in enumerate(listed) if not outputs]
    for k in (1, 4):
        if empty:
            with pytest.raises(Infeasible, match=f"sequence ({'|'.join(map(str, empty))}) has no output"):
                best_outputs(structure, scores, weighed, k=k, method=method)
            continue
        found = best_outputs(structure, scores, weighed, k=k, method=method)
        assert found.exact.all()
        for i, outputs in enumerate(listed):
            check_ranking(found, i, scores, outputs, k, tolerance)
            assert abs(found.bound[i] - outputs[0][0]) < tolerance
            assert found.searched[i] or found.nodes[i] == 0
    return len(empty) < 1


@pytest.mark.parametrize(
    ("family", "block"),
    [("chain", block) for block in range(5)] + [(name, block) for name in FAMILIES for block in (5, 6)],
)
def test_search_finds_the_best_outputs(family, block):
    feasible = [check(seed, "exact", 1e-9, family=family) for seed in range(40 * block, 40 * block + 40)]
    assert sum(feasible) > 12


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", range(2))
def test_programs_find_the_best_outputs(family, block):
    seeds = range(15 * block, 15 * block + (15 if family == "chain" else 8))
    feasible = [check(seed, "program", 1e-9, family=family, longest=4, sequences=2) for seed in seeds]
    assert sum(feasible) > 2


@pytest.mark.parametrize(
    ("family", "block"), [("chain", block) for block in range(3)] + [(name, 3) for name in list(FAMILIES)[1:]]
)
def test_counters_are_priced_rightly(family, block):
    """Counts of every kind with bounds of every kind, which search prices (Lagrange): many, and all soft."""
    for seed in range(40 * block, 40 * block + 40):
        check(seed, "exact", 1e-9, family=family, draw=random_comparison, hard=0.0)


@pytest.mark.parametrize("family", FAMILIES)
def test_limit_falls_back_on_the_integer_program(family):
    """Search that may expand nothing leaves all to the program, and the answer stays exact."""
    programs = 0
    for seed in range(25):
        X, scores, rules, penalty = problem(seed, family=family, longest=4)
        listed = [every_output(scores, i, x, rules, penalty) for i, x in enumerate(X)]
        if not all(listed):
            continue
        found = best_outputs(FAMILIES[family][0], scores, weigh(rules, X, penalty), node_limit=0)
        assert found.exact.all()
        programs += int(found.searched.sum())
        np.testing.assert_allclose(found.scores[:, 0], [outputs[0][0] for outputs in listed], atol=1e-6)
        np.testing.assert_allclose(found.bound, found.scores[:, 0])
    assert programs > 10


def narrow_beam(structure, scores, weighed):
    """A beam of one, or None if it lost every output."""
    try:
        return best_outputs(structure, scores, weighed, method="beam", beam=1)
    except Infeasible:
        return None


@pytest.mark.parametrize("family", FAMILIES)
def test_beams(family):
    narrow_misses, structure = 0, FAMILIES[family][0]
    for seed in range(40):
        X, scores, rules, penalty = problem(seed, family=family, longest=4)
        weighed = weigh(rules, X, penalty)
        listed = [every_output(scores, i, x, rules, penalty) for i, x in enumerate(X)]
        if not all(listed):
            continue
        best = np.array([outputs[0][0] for outputs in listed])
        wide = best_outputs(structure, scores, weighed, k=3, method="beam", beam=3 * 4**3)
        np.testing.assert_array_equal(wide.exact, ~wide.searched)
        for i, outputs in enumerate(listed):
            check_ranking(wide, i, scores, outputs, 3, 1e-9)
        narrow = narrow_beam(structure, scores, weighed)
        if narrow is None:
            continue
        assert (narrow.scores[:, 0] <= best + 1e-9).all()
        assert (narrow.bound >= best - 1e-9).all()
        for i, outputs in enumerate(listed):
            y = tuple(narrow.outputs.values[0, scores.offsets[i] : scores.offsets[i + 1]].tolist())
            np.testing.assert_allclose({y: s for s, y in outputs}[y], narrow.scores[i, 0])
        narrow_misses += int((narrow.scores[:, 0] < best - 1e-9).sum())
    assert narrow_misses > 0


def test_a_lost_beam_says_so():
    """The best prefix leads nowhere, and a beam of one has no other."""
    scores = ChainParts.of(np.array([0, 2]), np.array([[5.0, 0, 0], [0, 0, 0]]), np.zeros((3, 3)))
    weighed = CompiledRules.compile([count("A") == 1, (count("B") >= 2) | (count("C") >= 1)], [["x", "y"]], LABELS)
    penalty = np.full(2, np.inf)
    assert best_outputs(Chain(), scores, weighed.weigh(penalty)).outputs.values[0].tolist() == [0, 2]
    stuck = CompiledRules.compile([count("A") <= 1, (count("B") >= 2) | (count("A") >= 2)], [["x", "y"]], LABELS)
    with pytest.raises(Infeasible, match=r"sequence 0 has no output in the beam of 1 that .*; take a wider one, or"):
        best_outputs(Chain(), scores, stuck.weigh(penalty), method="beam", beam=1)
    found = best_outputs(Chain(), scores, stuck.weigh(penalty), method="beam", beam=9)
    assert found.outputs.values[0].tolist() == [1, 1]


def test_viterbi_is_enough_where_nothing_is_violated():
    scores = ChainParts.of(np.array([0, 2, 4]), np.array([[3.0, 0, 0], [0, 3, 0]] * 2), np.zeros((3, 3)))
    rules = CompiledRules.compile([count("A") <= 1, count("B") >= 1], [["x", "y"]] * 2, LABELS)
    found = best_outputs(Chain(), scores, rules.weigh(np.array([np.inf, 5.0])))
    assert not found.searched.any()
    assert (found.nodes == 0).all()
    assert found.exact.all()
    strict = CompiledRules.compile([count("A") >= 2], [["x", "y"]] * 2, LABELS)
    found = best_outputs(Chain(), scores, strict.weigh(np.array([np.inf])))
    assert found.searched.all()
    assert (found.nodes >= 2).all()
    assert found.outputs.values[0].tolist() == [0, 0, 0, 0]


def test_rules_without_a_penalty_change_nothing():
    for seed in range(20):
        X, _, rules, penalty = problem(seed)
        plain = random_scores(np.random.default_rng(seed), X)
        found = best_outputs(Chain(), plain, weigh(rules, X, np.zeros_like(penalty)), k=3)
        nothing = best_outputs(Chain(), plain, CompiledRules.compile([], X, LABELS).weigh(np.empty(0)), k=3)
        np.testing.assert_array_equal(found.outputs.values, nothing.outputs.values)
        np.testing.assert_array_equal(found.scores, nothing.scores)
        assert not found.searched.any()


def test_threads_do_not_change_the_answer():
    X, scores, rules, penalty = problem(4, sequences=30, hard=0.0)
    one, many = (best_outputs(Chain(n), scores, weigh(rules, X, penalty), k=2) for n in (1, 4))
    np.testing.assert_array_equal(one.outputs.values, many.outputs.values)
    for name in ("scores", "exact", "bound", "searched", "nodes"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))


def test_prices_leave_few_nodes():
    """On a long sequence with rules that bind, unpriced search drowns; priced search goes almost straight."""
    rng = np.random.default_rng(0)
    n = 40
    X = [["x"] * n]
    scores = ChainParts.of(np.array([0, n]), rng.normal(size=(n, 3)), np.zeros((3, 3)))
    rules = [count("A") == 5, count("B") >= 25]
    found = best_outputs(Chain(), scores, CompiledRules.compile(rules, X, LABELS).weigh(np.array([np.inf, np.inf])))
    names = [LABELS[c] for c in found.outputs.values[0]]
    assert (names.count("A"), names.count("B") >= 25) == (5, True)
    assert found.exact.all()
    assert found.nodes[0] < 5000
    value = scores.unary[np.arange(n), found.outputs.values[0]].sum()
    np.testing.assert_allclose(value, found.scores[0, 0])
    # The same by dynamic programming over how many As and Bs there were so far.
    a, b, c = scores.unary.T
    table = {(0, 0): 0.0}
    for t in range(n):
        fresh = {}
        for (i, j), v in table.items():
            for key, gain in (((i + 1, j), a[t]), ((i, min(j + 1, 25)), b[t]), ((i, j), c[t])):
                if key[0] <= 5:
                    fresh[key] = max(fresh.get(key, -np.inf), v + gain)
        table = fresh
    np.testing.assert_allclose(found.scores[0, 0], table[5, 25])


def flat(family, offsets):
    """Scores of zero."""
    n = offsets[-1]
    if family == "chain":
        return ChainParts.of(offsets, np.zeros((n, 3)), np.zeros((3, 3)))
    differ = family == "segments that differ"
    pair = np.where(np.eye(3, dtype=bool) & differ, -np.inf, 0.0)
    return SegmentParts.of(offsets, np.zeros((n, 3)), pair, np.zeros((3, 3)))


def conflict(rules, X=(("a", "b", "c"),), scores=None, family="chain", **options):
    X = [list(x) for x in X]
    offsets = np.concatenate(([0], np.cumsum([len(x) for x in X])))
    scores = flat(family, offsets) if scores is None else scores
    penalty = np.array([np.inf if r.reading is None else r.reading.penalty for r in rules], float)
    with pytest.raises(Infeasible) as caught:
        best_outputs(FAMILIES[family][0], scores, CompiledRules.compile(rules, X, LABELS).weigh(penalty), **options)
    return str(caught.value)


OPTIONS = [{}, {"method": "program"}, {"method": "beam", "beam": 5}, {"k": 3}, {"node_limit": 0}]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_conflict_names_a_smallest_set_of_rules(family, options):
    rules = [
        starts_with("A"),
        (count("A") >= 2).named("many"),
        once_each(),
        (count("A") <= 1).named("few"),
        (count("C") >= 5).soft(3.0),
    ]
    message = conflict(rules, family=family, **options)
    assert message == "sequence 0 has no output that satisfies 'many' and 'few'; make one of them soft"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_conflict_names_the_sequence(family, options):
    rules = [starts_with("A"), where(word.isin("bad")).label("B"), min_length(2), ends_with("B", "A")]
    message = conflict(rules, X=[["a", "b", "c"], ["a", "b"], ["bad", "b"], ["bad"]], family=family, **options)
    assert message.startswith("sequence 2 has no output that satisfies \"starts_with('A')\" and ")
    assert "label('B')" in message
    assert "min_length" not in message
    assert "ends_with" not in message


def test_one_rule_can_be_impossible():
    assert "satisfies \"count('A') >= 4\"; make it" in conflict([count("A") >= 4, count("B") <= 1])
    assert "satisfies \"count('A') <= -1\"; make it" in conflict([count("A") <= -1, count("B") <= 1])


def test_three_rules_that_conflict_only_together():
    rules = [runs() <= 1, count("A") >= 1, count("B") >= 1, before("A", "B")]
    message = conflict(rules)
    assert [rule.title in message for rule in rules] == [True, True, True, False]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_conflict_is_smallest(family):
    """The rules named have no common output, and without any one of them there is one."""
    seen = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        x = random_input(rng, 3)
        rules = [random_comparison(rng) for _ in range(5)]
        outputs = [list(y) for y in product(LABELS, repeat=len(x))]
        fine = [[degree(x, y) == 0 for _, degree in rules] for y in outputs]
        if any(map(all, fine)):
            continue
        named = [rule.named(f"rule{k}") for k, (rule, _) in enumerate(rules)]
        message = conflict(named, X=[x], family=family)
        guilty = [k for k in range(5) if f"'rule{k}'" in message]
        assert not any(all(row[k] for k in guilty) for row in fine)
        for left_out in guilty:
            assert any(all(row[k] for k in guilty if k != left_out) for row in fine)
        seen += len(guilty) > 1
    assert seen > 5


def test_infeasible_without_rules():
    unary = np.zeros((4, 3))
    unary[2] = -np.inf
    scores = ChainParts.of(np.array([0, 2, 4]), unary, np.zeros((3, 3)))
    for rules in ([], [count("A") <= 1], [starts_with("A")]):
        message = conflict(rules, X=[["a", "b"], ["c", "d"]], scores=scores)
        assert message == "sequence 1 has no output of finite score, even without rules"


def test_a_rule_against_the_scores():
    pair = np.zeros((3, 3))
    pair[:, 1] = -np.inf
    scores = ChainParts.of(np.array([0, 3]), np.zeros((3, 3)), pair)
    message = conflict([count("B") >= 2, once_each()], scores=scores)
    assert message == "sequence 0 has no output that satisfies \"count('B') >= 2\"; make it soft"


def test_order_two_takes_local_rules_only():
    rng = np.random.default_rng(0)
    local = [
        (starts_with("A"), lambda x, y: y[0] != "A"),
        (transitions("A", "B") <= 0, lambda x, y: sum(p == ("A", "B") for p in pairwise(y))),
        (
            changes_only_after(word.ispunct()),
            lambda x, y: sum(y[t] != y[t - 1] and x[t - 1] not in {",", "."} for t in range(1, len(y))),
        ),
    ]
    for _ in range(20):
        X = [random_input(rng) for _ in range(3)]
        scores = random_scores(rng, X, order=2, types=2)
        penalty = np.array([np.inf, 1.3, 0.7])
        found = best_outputs(Chain(), scores, weigh(local, X, penalty), k=4)
        for i, x in enumerate(X):
            check_ranking(found, i, scores, every_output(scores, i, x, local, penalty), 4, 1e-9)
    beyond = [*local, (count("A") <= 1, None)]
    with pytest.raises(NotSupported, match="rules that are not local need a chain of order 1"):
        best_outputs(Chain(), scores, weigh(beyond, X, [1.0, 1.0, 1.0, 1.0]))
    best_outputs(Chain(), scores, weigh(beyond, X, [1.0, 1.0, 1.0, 0.0]))


def test_long_conflicts_are_named_soon():
    """Many rules on a long input: the two that conflict are found without trying to prove more than that."""
    x = [["x", ",", "y", "1"][t % 4] for t in range(200)]
    rules = [once_each(), count("A") >= 30, count("C") >= 2, (count("B") <= 3).named("few"), min_length(2)]
    rules += [(count("B", where=word.isdigit()) >= 4).named("many")]
    assert conflict(rules, X=[x]) == "sequence 0 has no output that satisfies 'few' and 'many'; make one of them soft"


def test_structures_without_steps_from_label_to_label_take_no_rules():
    class Tree:
        n_jobs = 1

    rules = CompiledRules.compile([count("A") <= 1], [["x"]], LABELS).weigh(np.ones(1))
    with pytest.raises(NotSupported, match="Tree takes no rules; Chain and Segmentation do"):
        best_outputs(Tree(), object(), rules)


def test_bad_arguments():
    X, scores, rules, _ = problem(0)
    weighed = weigh(rules, X, np.zeros(len(rules)))
    for options in ({"k": 0}, {"beam": 0}):
        with pytest.raises(DataError, match="k >= 1 and a beam of at least 1"):
            best_outputs(Chain(), scores, weighed, **options)
    with pytest.raises(DataError, match="method is one of exact, beam, program, got 'ilp'"):
        best_outputs(Chain(), scores, weighed, method="ilp")


def test_too_many_joint_states_for_search():
    """Such rules are left to the integer program; a beam cannot have it."""
    n = 8
    x = ["x"] * n
    rng = np.random.default_rng(0)
    scores = ChainParts.of(np.array([0, n]), rng.normal(size=(n, 3)), np.zeros((3, 3)))
    rules = [2 * count("A", where=position(k)) + count("A") - count("B") == m for k in range(n) for m in (3, 4)]
    compiled = CompiledRules.compile(rules, [x], LABELS)
    found = best_outputs(Chain(), scores, compiled.weigh(np.full(2 * n, 0.1)))
    assert found.exact.all()
    assert found.nodes[0] == 0
    np.testing.assert_allclose(
        found.scores[0, 0],
        scores.unary[np.arange(n), found.outputs.values[0]].sum()
        - 0.1 * compiled.violations(found.outputs.values[0]).sum(),
    )
    with pytest.raises(NotSupported, match="too many joint states for a beam; use method='exact'"):
        best_outputs(Chain(), scores, compiled.weigh(np.ones(2 * n)), method="beam")
    hard = [*rules, (count("A") >= n + 1).named("too many")]
    with pytest.raises(Infeasible, match="sequence 0 has no output that satisfies 'too many'"):
        best_outputs(Chain(), scores, CompiledRules.compile(hard, [x], LABELS).weigh(np.full(2 * n + 1, np.inf)))


def test_counters_end_where_no_sequence_gets():
    scores = ChainParts.of(np.array([0, 3]), np.eye(3), np.zeros((3, 3)))
    compiled = CompiledRules.compile([count("A") >= 1000 + k for k in range(7)], [["x"] * 3], LABELS)
    assert [len(m.after) for m in compiled.automata] == [4] * 7
    assert best_outputs(Chain(), scores, compiled.weigh(np.ones(7))).outputs.values[0].tolist() == [0, 0, 0]


def test_many_labels():
    """More labels than search has room for at first."""
    rng, L, n = np.random.default_rng(0), 2100, 3
    scores = ChainParts.of(np.array([0, n]), rng.normal(size=(n, L)), np.zeros((L, L)))
    compiled = CompiledRules.compile([count("7") >= 2], [["x"] * n], [str(c) for c in range(L)])
    found = best_outputs(Chain(), scores, compiled.weigh(np.array([np.inf])))
    best, own = scores.unary.max(axis=1), scores.unary[:, 7]
    np.testing.assert_allclose(found.scores[0, 0], best.sum() - np.sort(best - own)[:2].sum())


def long_problem(penalty=np.inf):
    """Equalities of several counts on a long sequence."""
    n, rng = 40, np.random.default_rng(1)
    scores = ChainParts.of(np.array([0, n]), rng.normal(size=(n, 3)), np.zeros((3, 3)))
    rules = [count("A") == 4, count("B") == 2 * count("A"), count("C", where=first) == 1, changes() <= 9]
    return scores, CompiledRules.compile(rules, [["x"] * n], LABELS).weigh(np.full(4, penalty))


def test_several_equalities_on_a_long_sequence():
    """Priced differences of counts, so that search alone finds the best output soon."""
    scores, rules = long_problem()
    found = best_outputs(Chain(), scores, rules)
    assert found.exact.all()
    assert 0 < found.nodes[0] < 50_000
    table = {(0, 0, 0, 2): scores.unary[0, 2]}  # As, Bs, changes, last label
    for t in range(1, 40):
        fresh = {}
        for (a, b, d, last), v in table.items():
            for c in range(3):
                key = (a + (c == 0), b + (c == 1), d + (c != last), c)
                if key[0] <= 4 and key[1] <= 8 and key[2] <= 9:
                    fresh[key] = max(fresh.get(key, -np.inf), v + scores.unary[t, c])
        table = fresh
    best = max(v for (a, b, *_), v in table.items() if (a, b) == (4, 8))
    np.testing.assert_allclose(found.scores[0, 0], best)


def test_time_limit():
    """Out of time, the output is a good one, and the bound is above the best score."""
    scores, rules = long_problem(0.5)
    best = best_outputs(Chain(), scores, rules).scores[0, 0]
    found = best_outputs(Chain(), scores, rules, node_limit=0, time_limit=1e-4, beam=2)
    assert not found.exact.any()
    np.testing.assert_allclose(
        found.scores[0, 0],
        scores.unary[np.arange(40), found.outputs.values[0]].sum() - rules.cost(found.outputs.values[0])[0],
    )
    assert found.scores[0, 0] <= best + 1e-9
    assert found.bound[0] >= best - 1e-9
    scores, rules = long_problem()
    with pytest.raises(Infeasible, match=r"sequence 0 has no output found in 0.0001 seconds that satisfies the hard"):
        best_outputs(Chain(), scores, rules, node_limit=0, time_limit=1e-4, beam=1)
    with pytest.raises(DataError, match="time_limit is a number of seconds above 0, or None, got -1"):
        best_outputs(Chain(), scores, rules, time_limit=-1)


@pytest.mark.parametrize(("above", "exact"), [(0.0, True), (1e-6, True), (1e-3, False)])
def test_a_program_whose_bound_is_above_its_score_is_not_exact(above, exact, monkeypatch):
    solve = program.solve

    def cut_short(*args, **options):
        found, bounds = solve(*args, **options)
        return found, bounds + above

    monkeypatch.setattr(program, "solve", cut_short)
    X = [list("abcd")]
    scores = FAMILIES["chain"][1](np.random.default_rng(0), X)
    rules = CompiledRules.compile([count(LABELS[0]) >= 4, runs(LABELS[1]) >= 1], X, LABELS).weigh(np.ones(2))
    found = best_outputs(Chain(), scores, rules, method="program")
    assert found.searched.all()
    assert found.exact.tolist() == [exact]
    assert found.bound[0] >= found.scores[0, 0] + above - 1e-6


def test_programs_that_are_too_large_are_not_made(monkeypatch):
    monkeypatch.setattr(constrained, "_LARGEST_PROGRAM", 10)
    scores, rules = long_problem(0.5)
    found = best_outputs(Chain(), scores, rules, node_limit=0, time_limit=None)
    assert not found.exact.any()
    assert found.scores[0, 0] <= found.bound[0]
    with pytest.raises(NotSupported, match="too large an integer program"):
        best_outputs(Chain(), scores, rules, method="program")
    scores, rules = long_problem()
    with pytest.raises(Infeasible, match="has no output found that satisfies the hard rules; give it more time or"):
        best_outputs(Chain(), scores, rules, node_limit=0, time_limit=None, beam=1)
    monkeypatch.setattr(constrained._SequenceSearch, "searchable", False)
    with pytest.raises(NotSupported, match="too many states to decode under together"):
        best_outputs(Chain(), scores, rules)


def test_a_lost_beam_is_soon_told(monkeypatch):
    """Whether there is any output is not proved at length."""
    scores, rules = long_problem()
    monkeypatch.setattr("sidelight.inference.program.solve", None)
    with pytest.raises(Infeasible, match="sequence 0 has no output in the beam of 2 ") as caught:
        best_outputs(Chain(), scores, rules, method="beam", beam=2)
    assert caught.value.sequence == 0
    assert str(caught.value.numbered(7)).startswith("sequence 7 has no output in the beam")


@pytest.mark.parametrize("family", ["chain", "segments"])
def test_pairs_of_automata_prove_a_contradiction_before_long_searches(family):
    structure, draw = FAMILIES[family]
    X = [list("abcdefgh")] * 2
    scores = draw(np.random.default_rng(0), X)
    rules = CompiledRules.compile([runs(LABELS[0]) >= 2, once_each()], X, LABELS).weigh(np.full(2, np.inf))
    with pytest.raises(Infeasible, match=r"sequence 0 has no output that satisfies .*runs.* and 'once_each\(\)'"):
        best_outputs(structure, scores, rules, node_limit=1)
