"""The search kernels against plain Python: heap, hash table, prices and the two searches."""

import heapq

import numba
import numpy as np
import pytest

from sidelight.inference.compiled import CompiledRules, stack, times
from sidelight.kernels import search
from tests.rules.oracle import (
    LABELS,
    every_output,
    random_comparison,
    random_input,
    random_rule,
    random_scores,
    random_segment_scores,
)


@numba.njit
def run_heap(values, pops):
    """Push all values, popping the top after the k-th push where pops[k], then pop the rest; what was popped."""
    heap_value, heap_node = np.empty(len(values)), np.empty(len(values), np.int64)
    out, nodes = np.empty(len(values)), np.empty(len(values), np.int64)
    size, popped = 0, 0
    for k in range(len(values)):
        search.push(heap_value, heap_node, size, values[k], k)
        size += 1
        if pops[k]:
            out[popped], nodes[popped] = heap_value[0], heap_node[0]
            search.pop(heap_value, heap_node, size)
            size, popped = size - 1, popped + 1
    while size > 0:
        out[popped], nodes[popped] = heap_value[0], heap_node[0]
        search.pop(heap_value, heap_node, size)
        size, popped = size - 1, popped + 1
    return out, nodes


def test_heap_is_a_heap():
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 10, 200):
        values = rng.integers(20, size=size) / 4  # many ties
        pops = rng.random(size) < 0.4
        out, nodes = run_heap(values, pops)
        twin, expected = [], []
        for value, pop in zip(values, pops, strict=True):
            heapq.heappush(twin, -value)
            if pop:
                expected.append(-heapq.heappop(twin))
        expected += [-heapq.heappop(twin) for _ in range(len(twin))]
        np.testing.assert_array_equal(out, expected)
        assert sorted(nodes) == list(range(size))
        np.testing.assert_array_equal(values[nodes], out)


@numba.njit
def run_visits(keys):
    """How often each key was seen before, growing the table as search does."""
    slots, seen, filled = np.full(4, -1, np.int64), np.zeros(4, np.int64), 0
    out = np.empty(len(keys), np.int64)
    for k in range(len(keys)):
        if 2 * (filled + 1) > len(slots):
            slots, seen = search.grow_table(slots, seen)
        out[k] = search.visits(keys[k], slots, seen)
        filled += out[k] == 0
    return out


def test_visits_are_counted():
    rng = np.random.default_rng(0)
    keys = np.concatenate((rng.integers(50, size=300), rng.integers(2**62, size=100), rng.integers(50, size=100)))
    seen = {}
    expected = []
    for key in keys.tolist():
        expected.append(seen.get(key, 0))
        seen[key] = seen.get(key, 0) + 1
    np.testing.assert_array_equal(run_visits(keys), expected)


def prices_off(*arguments):
    """`best_first` with prices that stay at zero, by bounds that allow nothing else."""
    *head, amount, slack, low, _, rounds, limit, labels, scores = arguments
    zero = np.zeros_like(low)
    return search.best_first(*head, amount, slack, zero, zero, rounds, limit, labels, scores)


def problem(seed, draw, longest=6):
    """One sequence, a chain or segments by turns: the kernels' arguments, and every output by hand."""
    rng = np.random.default_rng(seed)
    x = random_input(rng, longest)
    scores = random_segment_scores(rng, [x]) if seed % 3 == 0 else random_scores(rng, [x], types=2)
    rules = [draw(rng) for _ in range(rng.integers(1, 4))]
    penalty = np.where(rng.random(len(rules)) < 0.2, np.inf, rng.exponential(3.0, size=len(rules)))
    weighed = CompiledRules.compile([rule for rule, _ in rules], [x], LABELS).weigh(penalty)
    everything = list(range(len(weighed.compiled.automata)))  # local ones too: search must cope with any automaton
    stacked, rho = stack([weighed.compiled.automata[k] for k in everything], 3), weighed.penalty
    listed = every_output(scores, 0, x, rules, penalty)
    return x, scores, stacked, rho, listed


def arguments(scores, stacked, rho, k, limit, n):
    labels, values = np.full((k, n), -1, np.int32), np.full(k, -np.inf)
    head = (*scores.lattice().tables(), *stacked.at(slice(None)))
    low, high = times(rho, stacked.low != 0) * stacked.low, times(rho, stacked.high)
    tail = (stacked.amount, stacked.slack, low, high, 40, limit, labels, values)
    return (*head, stacked.sizes, rho, k, *tail), labels, values


@pytest.mark.parametrize("draw", [random_comparison, random_rule], ids=["counts", "any rule"])
def test_prices_change_the_work_and_not_the_answer(draw):
    priced = unpriced = 0
    for seed in range(150):
        x, scores, stacked, rho, listed = problem(seed, draw, longest=5)
        for k in (1, 3):
            full, labels, values = arguments(scores, stacked, rho, k, 10**6, len(x))
            plain, plain_labels, plain_values = arguments(scores, stacked, rho, k, 10**6, len(x))
            status, found, nodes, left = search.best_first(*full)
            other_status, other_found, other_nodes, _ = prices_off(*plain)
            size = min(k, len(listed))
            assert (status, found) == (other_status, other_found) == (search.FOUND if listed else search.EMPTY, size)
            assert left == -np.inf
            best = [s for s, _ in listed[:size]]
            np.testing.assert_allclose(values[:size], best, atol=1e-9)
            np.testing.assert_allclose(plain_values[:size], best, atol=1e-9)
            by_output = {y: s for s, y in listed}
            for ranked, ranked_values in ((labels, values), (plain_labels, plain_values)):
                rows = [tuple(row) for row in scores.lattice().outputs(ranked[:size]).tolist()]
                assert len(set(rows)) == size
                np.testing.assert_allclose([by_output[row] for row in rows], ranked_values[:size], atol=1e-9)
            priced, unpriced = priced + nodes, unpriced + other_nodes
    if draw is random_comparison:
        assert priced < unpriced


def test_a_limit_leaves_a_bound():
    """Stopped early, search still bounds what is left, and the outputs it found are the best ones in order."""
    stopped = 0
    for seed in range(80):
        x, scores, stacked, rho, listed = problem(seed, random_comparison, longest=5)
        for limit in (0, 1, 3, 6):
            full, _, values = arguments(scores, stacked, rho, 4, limit, len(x))
            status, found, nodes, bound = search.best_first(*full)
            assert nodes <= limit
            np.testing.assert_allclose(values[:found], [s for s, _ in listed[:found]], atol=1e-9)
            if status == search.LIMIT and len(listed) > found:
                assert bound >= listed[found][0] - 1e-9
                stopped += 1
    assert stopped > 50


def test_a_wide_beam_keeps_everything():
    for seed in range(60):
        x, scores, stacked, rho, listed = problem(seed, random_rule, longest=4)
        full, labels, values = arguments(scores, stacked, rho, 5, 0, len(x))
        nodes = search.beam_search(*full[:-8], 4 ** len(x), labels, values)
        size = min(5, len(listed))
        np.testing.assert_allclose(values[:size], [s for s, _ in listed[:size]], atol=1e-9)
        assert (values[size:] == -np.inf).all()
        assert nodes <= sum(4**t for t in range(len(x)))


def test_a_narrow_beam_reports_true_scores():
    for seed in range(60):
        x, scores, stacked, rho, listed = problem(seed, random_rule, longest=5)
        full, labels, values = arguments(scores, stacked, rho, 1, 0, len(x))
        nodes = search.beam_search(*full[:-8], 2, labels, values)
        assert nodes <= 2 * len(x)
        if values[0] > -np.inf:
            np.testing.assert_allclose(
                {y: s for s, y in listed}[tuple(scores.lattice().outputs(labels[0]).tolist())], values[0], atol=1e-9
            )
