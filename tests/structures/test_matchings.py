"""Matchings with deletions against listing every output, and against SciPy's assignments."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from sidelight import DataError, Infeasible, Matchings, NotSupported
from tests.structures.cover_kit import (
    all_but_one_forbidden,
    check_best_exactly,
    check_kit,
    check_loss,
    check_parts,
    check_refused,
    random_scores,
    with_loss,
)

SIZES = [(1, 1), (1, 3), (3, 1), (2, 2), (3, 3), (2, 3)]


def batch_of(rng, labels, **options):
    structure = Matchings(1)
    return structure, random_scores(rng, structure, [(n, m, labels) for n, m in SIZES], **options)


def square(theta, shape):
    """Scores of the assignment problem of n + m rows and columns that has the same best output."""
    n, m, labels = shape
    links, deletions = np.split(theta, [n * m * labels])
    full = np.full((n + m, n + m), -np.inf)
    full[:n, :m] = links.reshape(n, m, labels).max(axis=2)
    full[np.arange(n), m + np.arange(n)] = deletions[:n]
    full[n + np.arange(m), np.arange(m)] = deletions[n:]
    full[n:, m:] = 0.0
    return full


@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("case", ["plain", "large", "tempered", "loss", "ties"])
def test_against_enumeration(labels, case):
    for seed in range(4):
        structure, scores = batch_of(np.random.default_rng(seed), labels, scale=400.0 if case == "large" else 1.0)
        if case == "tempered":
            scores = scores.divide(0.3)
        if case == "loss":
            scores = with_loss(structure, scores)
        if case == "ties":
            scores = replace(scores, values=np.round(scores.values))
        check_kit(structure, scores)


@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("where", ["anywhere", "deletions"])
def test_forbidden_parts(labels, where):
    """Random parts forbidden; inputs without an output are named, by every call."""
    infeasible = 0
    for seed in range(8):
        structure, scores = batch_of(np.random.default_rng(seed), labels, forbid=0.4 if where == "anywhere" else 0.0)
        if where == "deletions":
            rng = np.random.default_rng(seed)
            for i, (n, m, _) in enumerate(scores.shapes.tolist()):
                at = scores.offsets[i + 1] - n - m + np.arange(n + m)
                scores.values[at[rng.random(n + m) < 0.6]] = -np.inf
        none = [i for i in range(len(scores)) if not any(True for _ in structure.support(scores, i))]
        if none:
            infeasible += 1
            for call in (
                structure.argmax,
                lambda s, structure=structure: structure.kbest(s, 2),
                lambda s, structure=structure: structure.argmax(s, seed=0),
            ):
                with pytest.raises(Infeasible, match=f"sequence {none[0]} has no output"):
                    call(scores)
            scores = scores.take(np.array([i for i in range(len(scores)) if i not in none], np.int64))
        check_kit(structure, scores)
    assert infeasible


@pytest.mark.parametrize("labels", [1, 2])
def test_all_but_one_output_forbidden(labels):
    rng = np.random.default_rng(3)
    structure, scores = batch_of(rng, labels)
    for _ in range(10):
        left, outputs = all_but_one_forbidden(rng, structure, scores)
        check_kit(structure, left)
        np.testing.assert_array_equal(structure.argmax(left).outputs.values, outputs)
        np.testing.assert_array_equal(structure.argmax(left, seed=1).outputs.values, outputs)


@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("size", SIZES)
def test_parts_and_rivals(labels, size):
    check_parts(Matchings(1), (*size, labels))


def test_an_output_by_hand():
    """Left 0 is linked to right 1 with label 1, left 1 is deleted, and so are right 0 and 2."""
    structure, shape = Matchings(1), (2, 3, 2)
    assert structure.parts_of(shape, np.array([3, 6])).tolist() == [3, 13, 14, 16]
    for wrong in ([2, 3], [-1, 6], [7, 6]):
        with pytest.raises(DataError, match="is no output of an input of the shape"):
            structure.parts_of(shape, np.array(wrong))
    assert structure.parts_of(shape, np.full(2, -1)).tolist() == []


@pytest.mark.parametrize("labels", [1, 2])
def test_the_loss_counts_items(labels):
    rng = np.random.default_rng(labels)
    structure, scores = batch_of(rng, labels)
    check_loss(rng, structure, scores)


def test_ties_are_drawn():
    structure = Matchings(1)
    scores = random_scores(np.random.default_rng(0), structure, [(2, 2, 1)]).times(0.0)
    seen = {tuple(structure.argmax(scores, seed=seed).outputs.values) for seed in range(200)}
    assert len(seen) == 7
    assert len({tuple(structure.argmax(scores).outputs.values) for _ in range(5)}) == 1


@pytest.mark.parametrize(
    "kind", ["plain", "whole numbers", "no deletions of rights", "few deletions", "soft", "shifted"]
)
def test_larger_matchings_beside_scipy(kind):
    """The same best scores as SciPy's on the square problem, and infeasible where that is."""
    structure, rng = Matchings(1), np.random.default_rng(0)
    for _ in range(150):
        shape = (*rng.integers(1, 40, size=2).tolist(), int(rng.integers(1, 3)))
        scores = random_scores(rng, structure, [shape])
        n, m, labels = shape
        links, left, right = np.split(scores.values, [n * m * labels, n * m * labels + n])
        if kind == "whole numbers":
            scores.values[:] = np.round(scores.values)
        if kind == "no deletions of rights":
            right[:] = -np.inf
            links[rng.random(len(links)) < 0.5] = -np.inf
        if kind == "few deletions":
            for some, share in ((links, 0.8), (left, 0.5), (right, 0.5)):
                some[rng.random(len(some)) < share] = -np.inf
        if kind == "soft":
            for some, share in ((links, 0.3), (left, 0.5), (right, 0.5)):
                some[rng.random(len(some)) < share] = -1e6
        if kind == "shifted":
            left += rng.choice([-10.0, -3.0, 0.0, 3.0])
            right += rng.choice([-10.0, -3.0, 0.0, 3.0])
        full = square(scores.values, shape)
        try:
            rows, columns = linear_sum_assignment(full, maximize=True)
        except ValueError:
            with pytest.raises(Infeasible):
                structure.argmax(scores)
            continue
        best = structure.argmax(scores)
        np.testing.assert_allclose(best.scores, [full[rows, columns].sum()], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(structure.score(scores, best.outputs.values), best.scores, rtol=1e-9)


@pytest.mark.parametrize("size", [1e6, 1e12, 1e30, 1e300])
@pytest.mark.parametrize("labels", [1, 2])
def test_scores_of_any_size(size, labels):
    """Best by exact sums, whether scores are large, or large and negative so as to forbid parts."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        structure, wide = batch_of(rng, labels, scale=size)
        check_best_exactly(structure, wide)
        _, scores = batch_of(rng, labels)
        check_best_exactly(
            structure, replace(scores, values=np.where(rng.random(len(scores.values)) < 0.3, -size, scores.values))
        )


def test_large_negative_scores_forbid_and_leave_the_others_their_digits():
    """Deletions at -1e30 everywhere: the best perfect matching, as with -inf."""
    structure, rng = Matchings(1), np.random.default_rng(0)
    for _ in range(30):
        scores = random_scores(rng, structure, [(8, 8, 1)])
        scores.values[64:] = -np.inf
        soft = replace(scores, values=np.maximum(scores.values, -1e30))
        np.testing.assert_array_equal(structure.argmax(soft).outputs.values, structure.argmax(scores).outputs.values)


def test_scores_beyond_numbers_are_refused():
    structure = Matchings(1)
    scores = random_scores(np.random.default_rng(0), structure, [(2, 2, 1), (3, 3, 1)])
    for sign in (1.0, -1.0):
        huge = replace(scores, values=np.where(np.arange(len(scores.values)) < 8, scores.values, sign * 1e308))
        for call in (structure.argmax, lambda s: structure.kbest(s, 2)):
            with pytest.raises(DataError, match=r"sequence 1 has scores .* add up to more than numbers can be"):
                call(huge)


def test_threads_and_slices_do_not_change_results():
    rng = np.random.default_rng(1)
    one, many = Matchings(1), Matchings(3)
    scores = random_scores(rng, one, rng.integers(1, 9, size=(200, 3)))
    best = one.argmax(scores)
    np.testing.assert_array_equal(best.outputs.values, many.argmax(scores).outputs.values)
    few = scores.sequences(40, 60)
    np.testing.assert_array_equal(one.argmax(few).outputs.values, best.outputs.inputs(40, 60).values)
    np.testing.assert_array_equal(one.kbest(few, 3).outputs.values, many.kbest(few, 3).outputs.values)
    which = np.array([7, 50, 3])
    np.testing.assert_array_equal(one.argmax(scores.take(which)).scores, best.scores[which])
    assert len(one.argmax(scores.sequences(0, 0)).scores) == 0


def test_there_are_no_probabilities():
    structure, scores = batch_of(np.random.default_rng(0), 1)
    for call in (structure.marginals, structure.entropy, lambda s: structure.expected(*s.of(0))):
        with pytest.raises(
            NotSupported, match=r"log-partition of matchings is intractable.*StructuredPerceptron, MIRA"
        ):
            call(scores)


def test_bad_scores_are_refused():
    check_refused(*batch_of(np.random.default_rng(0), 2))
