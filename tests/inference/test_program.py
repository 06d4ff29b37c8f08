"""Integer programs over polytopes of other outputs than labels of tokens, against a list of all outputs."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest

from sidelight import Chain, Infeasible, NotSupported, Segmentation, count
from sidelight.inference.program import solve
from sidelight.rules.automata import compile_rules
from sidelight.structures.highs import HighsProgram
from sidelight.structures.highs import solve as solve_program
from sidelight.structures.polytope import LinearRows, Polytope
from tests.rules.oracle import LABELS, random_input, random_scores, random_segment_scores

ITEMS = "abcd"
NO_PENALTY = np.empty(0)


def items(chosen):
    """An output that is no array."""
    return frozenset(item for item, on in zip(ITEMS, chosen, strict=True) if on)


def knapsack(rng):
    """Sets of items of limited weight, some pairs of which gain together; and the score of every set.

    The variables of pairs come first, at most as large as either item, so that only the items need be whole.
    """
    weight, gain = rng.integers(1, 6, size=4).astype(float), rng.normal(size=4)
    pairs = [(0, 1), (1, 3)]
    bonus = rng.exponential(size=2)
    low, high = float(rng.integers(0, 4)), float(weight.sum() - rng.integers(0, 6))
    entries = [(0, 2 + i, w) for i, w in enumerate(weight)]
    for number, pair in enumerate(pairs):
        for row, item in enumerate(pair, start=1 + 2 * number):
            entries += [(row, number, 1.0), (row, 2 + item, -1.0)]
    row, variable, value = (np.array(column) for column in zip(*entries, strict=True))
    limits = np.array([low, *[-np.inf] * 4]), np.array([high, *[0.0] * 4])
    outputs = Polytope(
        np.concatenate((bonus, gain)), 2 + np.arange(4), LinearRows.of(*limits, row, variable, value), items
    )
    scores = {}
    for chosen in product((0, 1), repeat=4):
        if low <= weight @ chosen <= high:
            both = sum(b for b, (i, j) in zip(bonus, pairs, strict=True) if chosen[i] and chosen[j])
            scores[items(chosen)] = gain @ chosen + both
    return outputs, scores


@pytest.mark.parametrize("seed", range(15))
def test_sets_that_contain_each_other(seed):
    """All of them, each once and in order, then none."""
    outputs, scores = knapsack(np.random.default_rng(seed))
    found, bounds = solve(outputs, [], NO_PENALTY, 20)
    assert len(found) == len(scores) > 1
    assert set(found) == set(scores)
    np.testing.assert_allclose(bounds[: len(found)], [scores[output] for output in found], atol=1e-7)
    np.testing.assert_allclose(bounds[: len(found)], sorted(scores.values(), reverse=True), atol=1e-7)
    assert (bounds[len(found) :] == -np.inf).all()
    assert any(small < large for small in found for large in found)


def test_the_empty_output_and_its_supersets():
    """The best output is none of the choices, and every other one contains it."""
    outputs = Polytope(-np.array([1.0, 2.0, 4.0, 8.0]), np.arange(4), LinearRows.none(), items)
    found, bounds = solve(outputs, [], NO_PENALTY, 17)
    assert found[:4] == [frozenset(), {"a"}, {"b"}, {"a", "b"}]
    np.testing.assert_allclose(bounds, [*-np.arange(16.0), -np.inf])


def test_outputs_that_do_not_contain_each_other_may_say_so():
    """The shorter row excludes the same output."""
    one = LinearRows.equal(np.ones(1), (1.0, np.zeros(4, int), np.arange(4)))
    outputs = Polytope(np.array([3.0, 1.0, 2.0, -np.inf]), np.arange(4), one, items)
    for nested in (True, False):
        found, _ = solve(replace(outputs, nested=nested), [], NO_PENALTY, 5)
        assert found == [{"a"}, {"c"}, {"b"}]
    chosen = np.array([True, False, False, False])
    assert outputs.without(chosen).value.tolist() == [1, -1, -1, -1]
    assert replace(outputs, nested=False).without(chosen).index.tolist() == [0]


def test_nothing_to_choose():
    """One output or none."""
    outputs = Polytope(np.empty(0), np.empty(0, np.int64), LinearRows.none(), len)
    assert solve(outputs, [], NO_PENALTY, 3)[0] == [0]
    broken = replace(outputs, rows=LinearRows.equal(np.ones(1), (1.0, np.empty(0, int), np.empty(0, int))))
    found, bounds = solve(broken, [], NO_PENALTY, 3)
    assert found == []
    assert (bounds == -np.inf).all()


def test_automata_need_labels_of_tokens():
    outputs = Polytope(np.zeros(4), np.arange(4), LinearRows.none(), items)
    automata = compile_rules([(count("A") >= 2).named("two")], [["x"] * 3], LABELS)
    with pytest.raises(NotSupported, match="rule 'two' reads labels from token to token, which these outputs do not"):
        solve(outputs, automata, np.ones(1))


@pytest.mark.parametrize(
    ("structure", "draw"),
    [
        (Chain(1), partial(random_scores, types=2)),
        (Segmentation(1), partial(random_segment_scores, longest=3)),
        (Segmentation(1), partial(random_segment_scores, longest=9, differ=True)),
    ],
)
@pytest.mark.parametrize("forbidden", [0.0, 0.1])
def test_lattices_of_a_batch(structure, draw, forbidden):
    """The polytope of several sequences has the best output of each as its best point, whole without being asked to."""
    empty = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = [random_input(rng, 5) for _ in range(4)]
        scores = draw(rng, X, whole=False, forbidden=forbidden)
        outputs = scores.lattice().polytope()
        found, bounds = solve(outputs, [], NO_PENALTY)
        if not found:
            empty += 1
            with pytest.raises(Infeasible):
                structure.argmax(scores)
            continue
        best = structure.argmax(scores)
        np.testing.assert_array_equal(found[0], best.outputs.values)
        np.testing.assert_allclose(bounds[0], best.scores.sum())
        relaxed = solve_program(HighsProgram(outputs.scores, np.ones(len(outputs.scores)), outputs.rows))
        np.testing.assert_allclose(relaxed.objective, best.scores.sum())
        singles = [scores.lattice().sequence(i).polytope() for i in range(len(X))]
        assert sum(len(one.scores) for one in singles) == len(outputs.scores)
        assert sum(len(one.rows) for one in singles) == len(outputs.rows)
    assert empty <= (6 if forbidden else 0)
