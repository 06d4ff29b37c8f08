"""Monotone alignments against listing every output."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from sidelight import Alignments, DataError, Infeasible
from tests.structure_kit import check_entropy, check_sampling
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

SIZES = [(1, 1), (1, 3), (3, 1), (2, 2), (3, 3)]
KINDS = [(longest, labels) for longest in (1, 2, 3) for labels in (1, 2)]


def batch_of(rng, longest, labels, **options):
    structure = Alignments(1, longest)
    return structure, random_scores(rng, structure, [(n, m, labels) for n, m in SIZES], **options)


def check_marginals(structure, scores, listed):
    marginals = structure.marginals(scores)
    for i, (outputs, values) in enumerate(listed):
        theta, shape = scores.of(i)
        np.testing.assert_allclose(marginals.log_partition[i], logsumexp(values), rtol=1e-12, atol=1e-10)
        expected = np.zeros(len(theta))
        for output, p in zip(outputs, np.exp(values - logsumexp(values)), strict=True):
            expected[structure.parts_of(shape, np.array(output))] += p
        np.testing.assert_allclose(marginals.parts.of(i)[0], expected, atol=1e-9)
        log_partition, mass = structure.expected(theta, shape)
        assert log_partition == marginals.log_partition[i]
        np.testing.assert_array_equal(mass, marginals.parts.of(i)[0])


@pytest.mark.parametrize(("longest", "labels"), KINDS)
@pytest.mark.parametrize("case", ["plain", "large", "tempered", "loss", "ties"])
def test_against_enumeration(longest, labels, case):
    rng = np.random.default_rng(longest)
    structure, scores = batch_of(rng, longest, labels, scale=400.0 if case == "large" else 1.0)
    if case == "tempered":
        scores = scores.divide(0.3)
    if case == "loss":
        scores = with_loss(structure, scores)
    if case == "ties":
        scores = replace(scores, values=np.round(scores.values))
    listed = check_kit(structure, scores)
    check_marginals(structure, scores, listed)
    check_entropy(structure, scores, listed)


@pytest.mark.parametrize(("longest", "labels"), KINDS)
def test_forbidden_parts(longest, labels):
    """Random parts forbidden; inputs without an output are named, by every call."""
    infeasible = 0
    for seed in range(12):
        structure, scores = batch_of(np.random.default_rng(seed), longest, labels, forbid=0.4)
        none = [i for i in range(len(scores)) if not any(True for _ in structure.support(scores, i))]
        if none:
            infeasible += 1
            for call in (
                structure.argmax,
                structure.marginals,
                structure.entropy,
                lambda s, structure=structure: structure.kbest(s, 2),
                lambda s, structure=structure: structure.argmax(s, seed=0),
                lambda s, structure=structure: structure.sample(s, 1, seed=0),
            ):
                with pytest.raises(Infeasible, match=f"sequence {none[0]} has no output"):
                    call(scores)
            scores = scores.take(np.array([i for i in range(len(scores)) if i not in none], np.int64))
        listed = check_kit(structure, scores)
        check_marginals(structure, scores, listed)
        check_entropy(structure, scores, listed)
    assert infeasible


@pytest.mark.parametrize(("longest", "labels"), KINDS)
def test_all_but_one_output_forbidden(longest, labels):
    rng = np.random.default_rng(3)
    structure, scores = batch_of(rng, longest, labels)
    for _ in range(5):
        left, outputs = all_but_one_forbidden(rng, structure, scores)
        check_marginals(structure, left, check_kit(structure, left))
        np.testing.assert_array_equal(structure.argmax(left).outputs.values, outputs)
        np.testing.assert_array_equal(structure.sample(left, 2, seed=1), [outputs] * 2)
        np.testing.assert_allclose(structure.marginals(left).parts.values, left.values > -np.inf, atol=1e-12)
        np.testing.assert_allclose(structure.entropy(left), 0.0, atol=1e-12)


@pytest.mark.parametrize(("longest", "labels"), KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_parts_and_rivals(longest, labels, size):
    check_parts(Alignments(1, longest), (*size, labels))


@pytest.mark.parametrize(("longest", "labels"), KINDS)
def test_every_output_is_one_path(longest, labels):
    """With all scores zero the partition counts paths, and there are as many as outputs."""
    structure, scores = batch_of(np.random.default_rng(0), longest, labels)
    counts = np.exp(structure.marginals(scores.times(0.0)).log_partition)
    listed = [sum(1 for _ in structure.all_outputs(scores.of(i)[1])) for i in range(len(scores))]
    np.testing.assert_allclose(counts, listed)


def test_outputs_of_pairs_are_counted():
    """Sets of k links among n and m items are C(n, k) C(m, k), so there are C(n + m, n) outputs in all."""
    shapes = np.array([[1, 1, 1], [2, 3, 1], [5, 5, 1], [10, 10, 1]])
    structure = Alignments(1)
    scores = random_scores(np.random.default_rng(0), structure, shapes).times(0.0)
    np.testing.assert_allclose(np.exp(structure.marginals(scores).log_partition), [2, 10, 252, 184756])


@pytest.mark.parametrize("longest", [1, 2, 3, 7])
@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 2, 3), (2, 5, 1), (6, 6, 2)])
def test_links_are_numbered(longest, shape):
    structure = Alignments(1, longest)
    links, (n, m, labels) = structure.links(shape), shape
    expected = [
        (i, a, j, b, c)
        for i in range(n)
        for a in range(1, min(longest, n - i) + 1)
        for j in range(m)
        for b in range(1, min(longest, m - j) + 1)
        for c in range(labels)
    ]
    assert list(zip(*(column.tolist() for column in links), strict=True)) == expected
    np.testing.assert_array_equal(structure.link(shape, *links), np.arange(len(expected)))
    assert structure.part_counts(np.array([shape])).tolist() == [len(expected) + n + m]
    for wrong in ((n, 1, 0, 1, 0), (0, longest + 1, 0, 1, 0), (0, 1, 0, 0, 0), (0, 1, 0, 1, labels), (-1, 1, 0, 1, 0)):
        with pytest.raises(DataError, match="has no such link"):
            structure.link(shape, *wrong)


def test_an_output_by_hand():
    """abc - xyz: ab - x, c deleted, and y and z deleted."""
    structure, shape = Alignments(1, 2), (3, 3, 1)
    link, links = int(structure.link(shape, 0, 2, 0, 1)), len(structure.links(shape).label)
    assert structure.parts_of(shape, np.array([link, link, links + 2])).tolist() == [
        link,
        links + 2,
        links + 4,
        links + 5,
    ]
    crossing = [int(structure.link(shape, i, 1, j, 1)) for i, j in ((0, 2), (1, 1), (2, 0))]
    for wrong in (crossing, [link, links + 1, links + 2], [links, links, links + 2], [-1, links + 1, links + 2]):
        with pytest.raises(DataError, match="is no output of an input of the shape"):
            structure.parts_of(shape, np.array(wrong))
    assert structure.parts_of(shape, np.full(3, -1)).tolist() == []


@pytest.mark.parametrize(("longest", "labels"), KINDS)
def test_the_loss_counts_items(longest, labels):
    rng = np.random.default_rng(longest + labels)
    structure, scores = batch_of(rng, longest, labels)
    check_loss(rng, structure, scores)


@pytest.mark.parametrize(("longest", "labels"), [(1, 1), (2, 2), (3, 1)])
def test_sampling(longest, labels):
    rng = np.random.default_rng(5)
    structure = Alignments(1, longest)
    for shape in ((2, 2, labels), (3, 1, labels), (1, 3, labels)):
        check_sampling(structure, random_scores(rng, structure, [shape]))
    scores = random_scores(rng, structure, [(2, 3, labels), (2, 2, labels)])
    drawn = structure.sample(scores, 40_000, seed=2)
    mean = np.mean([structure.indicator(scores, y).values for y in drawn[:4000]], axis=0)
    np.testing.assert_allclose(mean, structure.marginals(scores).parts.values, atol=0.05)


def test_ties_are_drawn():
    structure = Alignments(1)
    scores = random_scores(np.random.default_rng(0), structure, [(2, 2, 1)]).times(0.0)
    seen = {tuple(structure.argmax(scores, seed=seed).outputs.values) for seed in range(200)}
    assert len(seen) == 6
    assert len({tuple(structure.argmax(scores).outputs.values) for _ in range(5)}) == 1


@pytest.mark.parametrize("longest", [1, 3])
def test_larger_marginals_are_derivatives(longest):
    """dlog Z / dθ = μ by central differences, and every item is covered with probability one."""
    structure, rng = Alignments(1, longest), np.random.default_rng(longest)
    scores = random_scores(rng, structure, [(12, 9, 2), (1, 15, 1), (15, 1, 3)], scale=2.0)
    marginals = structure.marginals(scores)
    for part in rng.choice(len(scores.values), 60, replace=False):
        ends = []
        for step in (1e-5, -1e-5):
            values = scores.values.copy()
            values[part] += step
            ends.append(structure.marginals(replace(scores, values=values)).log_partition.sum())
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, marginals.parts.values[part], atol=1e-8)
    for i in range(len(scores)):
        mass, shape = marginals.parts.of(i)
        np.testing.assert_allclose(mass @ structure.items_covered(shape), shape[0] + shape[1])
    product = np.array([scores.of(i)[0] @ marginals.parts.of(i)[0] for i in range(len(scores))])
    np.testing.assert_allclose(structure.entropy(scores), marginals.log_partition - product)


def test_threads_and_slices_do_not_change_results():
    rng = np.random.default_rng(1)
    one, many = Alignments(1, 2), Alignments(3, 2)
    scores = random_scores(rng, one, rng.integers(1, 9, size=(200, 3)))
    scores.values[scores.offsets[50]] = 1e12
    np.testing.assert_array_equal(one.argmax(scores).outputs.values, many.argmax(scores).outputs.values)
    np.testing.assert_array_equal(one.kbest(scores, 3).outputs.values, many.kbest(scores, 3).outputs.values)
    np.testing.assert_array_equal(one.sample(scores, 2, seed=3), many.sample(scores, 2, seed=3))
    whole, parted = one.marginals(scores), many.marginals(scores)
    np.testing.assert_array_equal(whole.parts.values, parted.parts.values)
    np.testing.assert_array_equal(whole.log_partition, parted.log_partition)
    some = one.marginals(scores.sequences(40, 60))
    np.testing.assert_array_equal(some.parts.values, whole.parts.sequences(40, 60).values)
    which = np.array([7, 50, 3])
    np.testing.assert_array_equal(one.argmax(scores.take(which)).scores, one.argmax(scores).scores[which])
    assert len(one.argmax(scores.sequences(0, 0)).scores) == 0
    assert len(one.marginals(scores.sequences(0, 0)).log_partition) == 0


@pytest.mark.parametrize("size", [1e6, 1e10, 1e12, 1e30, 1e300])
def test_scores_of_any_size(size):
    """Far apart, the best output has all mass, and -1e30 forbids as well as -inf does."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        structure, wide = batch_of(rng, 2, 2, scale=size)
        check_best_exactly(structure, wide)
        marginals, best = structure.marginals(wide), structure.argmax(wide)
        np.testing.assert_allclose(marginals.log_partition, best.scores, rtol=1e-12)
        one = structure.indicator(wide, best.outputs.values).values
        np.testing.assert_allclose(marginals.parts.values, one, atol=1e-8)
        np.testing.assert_allclose(structure.entropy(wide), 0.0, atol=1e-9)
        _, scores = batch_of(rng, 2, 2)
        forbidden = rng.random(len(scores.values)) < 0.2
        soft, hard = (replace(scores, values=np.where(forbidden, low, scores.values)) for low in (-size, -np.inf))
        if any(next(structure.support(hard, i), None) is None for i in range(len(hard))):
            continue
        check_best_exactly(structure, soft)
        np.testing.assert_allclose(structure.marginals(soft).parts.values, structure.marginals(hard).parts.values)
        np.testing.assert_allclose(structure.entropy(soft), structure.entropy(hard), atol=1e-9)


def test_large_scores_of_close_outputs_are_refused():
    """A link covers two items, so with 1e12 for each item all outputs have the same."""
    structure = Alignments(1)
    scores = random_scores(np.random.default_rng(0), structure, [(3, 3, 1)])
    close = replace(scores, values=scores.values + 1e12 * structure.items_covered((3, 3, 1)))
    for call in (structure.marginals, structure.entropy, lambda s: structure.sample(s, 1, seed=0)):
        with pytest.raises(DataError, match="too large or too far apart for exact probabilities"):
            call(close)


def test_sums_beyond_numbers_are_refused():
    """Neither a best output of infinite score nor one that only rounding forbids."""
    structure = Alignments(1)
    scores = random_scores(np.random.default_rng(0), structure, [(2, 2, 1), (3, 3, 1)])
    for sign in (1.0, -1.0):
        huge = replace(scores, values=np.where(np.arange(len(scores.values)) < 8, scores.values, sign * 1e308))
        for call in (structure.argmax, structure.marginals, lambda s: structure.kbest(s, 2)):
            with pytest.raises(DataError, match=r"sequence 1 has scores .* add up to more than numbers can be"):
                call(huge)


def test_bad_scores_are_refused():
    structure, scores = batch_of(np.random.default_rng(0), 2, 1)
    check_refused(structure, scores)
    with pytest.raises(DataError, match="segments have at least one item"):
        Alignments(1, 0)
