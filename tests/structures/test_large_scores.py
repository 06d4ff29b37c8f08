"""Scores of any size: marginals, best outputs and entropies against exact sums, or an error that says what to do."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sidelight import Infeasible, changes, count, each, runs
from sidelight.errors import DataError
from sidelight.inference.norms import Slack
from sidelight.inference.projection import project
from sidelight.inference.rows import Rows
from sidelight.structures.chain import Chain, ChainParts
from sidelight.structures.choice import Choice, ChoiceParts
from sidelight.structures.segmentation import Segmentation, SegmentParts
from tests.structures import test_chain, test_segmentation

CHAIN = ("unary", "pair", "start", "end", "triple")
SEGMENTS = test_segmentation.TABLES
SIZES = [1e8, 1e10, 1e12, 1e15, 1e30, 1e100, 1e300]


def listed(structure, scores, indicator, index):
    """Every output, its score as a fraction, and its parts."""
    found = []
    for output in structure.support(scores, index):
        parts = indicator(scores, index, output)
        total = Fraction(0)
        for name, table in parts.items():
            for place in zip(*np.nonzero(table), strict=True):
                total += int(table[place]) * Fraction(float(getattr(scores, name)[place]))
        found.append((output, total, parts))
    return found


def check(structure, scores, indicator, atol):
    """Marginals, entropy and the best output by exact sums of scores."""
    marginals, best = structure.marginals(scores), structure.argmax(scores)
    try:
        entropy = structure.entropy(scores)
    except DataError:
        assert max(np.abs(table[np.isfinite(table)]).max() for table in (scores.unary, scores.pair)) > 1e7
        entropy = None
    ranked = structure.kbest(scores, 2)
    sums = {}
    for i in range(len(scores)):
        outputs = listed(structure, scores, indicator, i)
        high = max(score for _, score, _ in outputs)
        mass = np.array([np.exp(float(max(score - high, Fraction(-800)))) for _, score, _ in outputs])
        chance = mass / mass.sum()
        for p, (_, _, parts) in zip(chance, outputs, strict=True):
            for name, table in parts.items():
                sums[name] = sums.get(name, 0.0) + p * table
        np.testing.assert_allclose(marginals.log_partition[i], float(high) + np.log(mass.sum()), rtol=1e-12, atol=atol)
        if entropy is not None:
            some = chance[chance > 0]
            np.testing.assert_allclose(entropy[i], -(some * np.log(some)).sum(), atol=max(1e-5, 10 * atol))
        at = slice(scores.offsets[i], scores.offsets[i + 1])
        for labels in (best.outputs.values[at], ranked.outputs.values[0][at]):
            found = next(score for output, score, _ in outputs if output == tuple(labels.tolist()))
            assert high - found <= Fraction(atol)
        np.testing.assert_allclose(best.scores[i], float(high), rtol=1e-12, atol=atol)
    for name, table in sums.items():
        np.testing.assert_allclose(getattr(marginals.parts, name), table, atol=atol, err_msg=name)
    np.testing.assert_allclose(marginals.parts.unary.sum(axis=1), 1.0, atol=max(1e-9, atol))


def offset(rng, scores, names, size):
    """Scores with a number of this size added to all that one position, or one table, has: the digits that are left
    are the same in all of them, so that only adding them up can lose any.
    """
    tables = {}
    for name in names:
        table = getattr(scores, name)
        if table is not None:
            shape = (len(table), *[1] * (table.ndim - 1)) if name == "unary" else (1,) * table.ndim
            tables[name] = table + size * rng.uniform(-1, 1, size=shape)
    return replace(scores, **tables)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("size", SIZES)
def test_chains_of_large_scores(order, size):
    """Far apart, the best output has all; what all outputs share does not matter; and -1e30 forbids as well as -inf."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        scores = test_chain.random_scores(rng, [1, 2, 4], order=order, types=2, scale=3.0)
        wide = test_chain.random_scores(rng, [1, 2, 4], order=order, types=2, scale=size)
        check(Chain(1), wide, test_chain.indicator, 1e-9)
        digits = 1e-15 * size
        if digits < 1e-2:
            for names in (("unary",), CHAIN):
                # Forbidding parts is what makes a pass go through log space.
                for table in (scores.unary, np.where(rng.random(scores.unary.shape) < 0.1, -500.0, scores.unary)):
                    shifted = offset(rng, replace(scores, unary=table), names, size)
                    check(Chain(1), shifted, test_chain.indicator, 1e-9 + 10 * digits)
        soft = replace(scores, unary=np.where(rng.random(scores.unary.shape) < 0.3, -size, scores.unary))
        hard = replace(soft, unary=np.where(soft.unary == -size, -np.inf, soft.unary))
        try:
            expected = Chain(1).marginals(hard)
        except Infeasible:
            continue
        found = Chain(1).marginals(soft)
        np.testing.assert_allclose(found.parts.unary, expected.parts.unary, atol=1e-9)
        np.testing.assert_allclose(found.parts.pair, expected.parts.pair, atol=1e-9)


@pytest.mark.parametrize("size", [1e3, 1e9, *SIZES[2:]])
def test_large_scores_that_cancel(size):
    """Where a large score is taken off again, what is left must be exact, or is refused."""
    scores = ChainParts.of([0, 2], np.array([[size, 0.3], [0.0, 1.0]]), np.array([[-size, -size], [0.0, 0.0]]))
    direction = ChainParts.of([0, 2], np.array([[1.0, 0.0], [0.0, 0.0]]), np.zeros((2, 2)))
    if size > 1e10:
        for call in (Chain(1).marginals, Chain(1).entropy, lambda s: Chain(1).tangents(s, direction)):
            with pytest.raises(DataError, match="too large or too far apart for exact probabilities"):
                call(scores)
        return
    first = 1 / (1 + np.exp(0.3))
    np.testing.assert_allclose(Chain(1).marginals(scores).parts.unary[0], [first, 1 - first], atol=1e-6)
    np.testing.assert_allclose(Chain(1).tangents(scores, direction).parts.unary[0, 0], first * (1 - first), atol=1e-6)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_best_outputs_of_long_sequences(order):
    """Scores of nine digits before the point and ten behind it, which their sum over 400 tokens has not."""
    structure, parts = (Chain(1), test_chain) if order else (Segmentation(1), test_segmentation)
    options = {"order": order} if order else {}
    small = parts.random_scores(np.random.default_rng(0), [400, 400], labels=2, **options)
    tables = {name: np.round(getattr(small, name) * 2**10) / 2**30 for name in (CHAIN[:3] if order else SEGMENTS)}
    small = replace(small, **tables)
    if order == 2:
        small = replace(small, triple=np.round(small.triple * 2**10) / 2**30)
    large = replace(small, unary=small.unary + 2.0**22)
    for seed in (None, 1):
        one, other = (structure.argmax(scores, seed=seed) for scores in (small, large))
        np.testing.assert_array_equal(one.outputs.values, other.outputs.values)
        np.testing.assert_allclose(one.scores + 400 * 2.0**22, other.scores, rtol=1e-15)
    one, other = (structure.kbest(scores, 3) for scores in (small, large))
    np.testing.assert_array_equal(one.outputs.values, other.outputs.values)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("size", SIZES)
def test_tangents_of_large_scores(order, size):
    """The covariance with a direction does not see what all outputs share, nor digits beyond the point."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        scores = test_chain.random_scores(rng, [1, 2, 4], order=order, scale=2.0)
        direction = test_chain.random_scores(rng, [1, 2, 4], order=order)
        wide = test_chain.random_scores(rng, [1, 2, 4], order=order, scale=size)
        moved = Chain(1).tangents(wide, direction)  # one output has all, and nothing moves
        for name in CHAIN[: 4 + (order == 2)]:
            np.testing.assert_allclose(getattr(moved.parts, name), 0.0, atol=1e-9)
        best = Chain(1).argmax(wide).outputs.values
        np.testing.assert_allclose(moved.slope, Chain(1).score(direction, best), atol=1e-9)
        if size <= 1e12:
            far = np.where(rng.random(scores.unary.shape) < 0.1, -500.0, scores.unary)
            small = replace(scores, unary=far)
            one, other = (Chain(1).tangents(s, direction) for s in (small, offset(rng, small, ("unary",), size)))
            np.testing.assert_allclose(other.slope, one.slope, atol=1e-9 + 1e-14 * size)
            np.testing.assert_allclose(other.parts.unary, one.parts.unary, atol=1e-9 + 1e-14 * size)


@pytest.mark.parametrize("size", SIZES)
def test_tilted_marginals_of_large_scores(size):
    """Expectations at given prices, and the projection, do not see what all outputs share."""
    rng = np.random.default_rng(0)
    X = [["a"] * n for n in (1, 3, 5)]
    rows = Rows.compile([runs(each) <= 1, count("A") <= 1, (changes() >= 1).over_corpus()], X, ["A", "B", "C"])
    scores = test_chain.random_scores(rng, [1, 3, 5], scale=2.0)
    prices = rng.uniform(0, 2, size=len(rows)) * np.where(rows.low < 0, -1, 1)
    wide = test_chain.random_scores(rng, [1, 3, 5], scale=size)
    tilted = rows.tilt(wide, prices, n_jobs=1)
    np.testing.assert_allclose(
        tilted.parts.unary, Chain(1).indicator(wide, Chain(1).argmax(wide).outputs.values).unary, atol=1e-9
    )
    np.testing.assert_allclose(tilted.expected, rows.count(Chain(1).argmax(wide).outputs.values), atol=1e-9)
    if size <= 1e12:
        large, near = offset(rng, scores, ("unary",), size), 1e-9 + 1e-14 * size
        one, other = (rows.tilt(some, prices, n_jobs=1) for some in (scores, large))
        np.testing.assert_allclose(other.parts.unary, one.parts.unary, atol=near)
        np.testing.assert_allclose(other.expected, one.expected, atol=10 * near)
        one, other = (project(some, rows, Slack(penalty=3.0), tolerance=1e-6, n_jobs=1) for some in (scores, large))
        np.testing.assert_allclose(other.expected, one.expected, atol=1e-2)
        assert other.converged


def segment_offset(rng, scores, size):
    return replace(scores, unary=scores.unary + size * rng.uniform(-1, 1, size=(len(scores.unary), 1)))


@pytest.mark.parametrize("size", SIZES)
def test_segmentations_of_large_scores(size):
    """What all outputs share does not matter; scores far apart have exact marginals, or none."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        scores = test_segmentation.random_scores(rng, [1, 2, 4], scale=3.0)
        digits = 1e-15 * size
        if digits < 1e-2:
            check(Segmentation(1), segment_offset(rng, scores, size), test_segmentation.indicator, 1e-9 + 10 * digits)
        wide = test_segmentation.random_scores(rng, [1, 2, 4], scale=size)
        if size < 1e10:
            check(Segmentation(1), wide, test_segmentation.indicator, 1e-6)
            continue
        with pytest.raises(DataError, match="too large or too far apart for exact probabilities"):
            Chain(1).entropy(test_chain.random_scores(rng, [1, 2, 4], scale=10 * size))
        for call in (Segmentation(1).marginals, Segmentation(1).entropy):
            with pytest.raises(DataError, match="too large or too far apart for exact probabilities"):
                call(wide)
        with pytest.raises(DataError, match="too large or too far apart for exact probabilities"):
            Segmentation(1).sample(wide, 3, seed=0)
        out = (rng.random(scores.unary.shape) < 0.3) & (np.arange(3) > 0)
        soft, hard = (replace(scores, unary=np.where(out, low, scores.unary)) for low in (-size, -np.inf))
        soft, hard = (Segmentation(1).marginals(some) for some in (soft, hard))
        np.testing.assert_allclose(soft.log_partition, hard.log_partition)
        for name in test_segmentation.TABLES:
            np.testing.assert_allclose(getattr(soft.parts, name), getattr(hard.parts, name), atol=1e-9)


def test_segments_that_outweigh_each_other():
    """Prefix sums are small here, and the sums over segments are not."""
    scores = SegmentParts.of(
        [0, 6], np.zeros((6, 2)), np.zeros((2, 2)), np.zeros((2, 3)), opens=np.full((6, 2), 3e13) / 7,
        closes=np.full((6, 2), -3e13) / 7 + 0.01,
    )  # fmt: skip
    with pytest.raises(DataError, match="too large or too far apart"):
        Segmentation(1).marginals(scores)


@pytest.mark.parametrize("size", SIZES)
def test_choices_of_large_scores(size):
    rng = np.random.default_rng(0)
    small = rng.normal(size=(5, 4))
    wide = Choice().marginals(ChoiceParts.of(small * size)).parts.unary
    np.testing.assert_allclose(wide, Choice().indicator(ChoiceParts(small), small.argmax(axis=1)).unary, atol=1e-9)
    np.testing.assert_allclose(Choice().entropy(ChoiceParts.of(small * size)), 0.0, atol=1e-9)
    if size <= 1e12:
        large = ChoiceParts.of(small + size)
        same = ChoiceParts.of(large.unary - large.unary[:, :1])
        np.testing.assert_allclose(
            Choice().marginals(large).parts.unary, Choice().marginals(same).parts.unary, atol=1e-12
        )
        np.testing.assert_allclose(Choice().entropy(large), Choice().entropy(same), atol=1e-12)


def test_groups_of_large_scores():
    """Exact, or refused."""
    groups, refused = np.array([0, 2, 3]), 0
    for size in SIZES:
        for seed in range(5):
            rng = np.random.default_rng(seed)
            scores = test_chain.random_scores(rng, [3, 3, 4], scale=size)
            try:
                found = Chain(1).group_marginals(scores, groups)
            except DataError:
                refused += 1
                continue
            best, labels = Chain(1).argmax(scores).scores, Chain(1).argmax(scores).outputs.values
            chosen = np.repeat([best[0] > best[1], best[1] > best[0], True], [3, 3, 4])
            expected = Chain(1).indicator(scores, labels).unary * chosen[:, None]
            np.testing.assert_allclose(found.parts.unary, expected, atol=1e-6)
    assert 0 < refused < 5 * len(SIZES)
    with pytest.raises(DataError, match="too large or too far apart for exact probabilities"):
        Chain(1).group_marginals(test_chain.random_scores(np.random.default_rng(0), [3, 3, 4], scale=1e20), groups)


@pytest.mark.parametrize("order", [1, 2])
def test_sums_beyond_all_numbers(order):
    rng = np.random.default_rng(0)
    scores = test_chain.random_scores(rng, [1, 5], order=order)
    huge = replace(scores, unary=np.full_like(scores.unary, 1e308))
    for call in (Chain(1).marginals, Chain(1).argmax, lambda s: Chain(1).kbest(s, 2)):
        with pytest.raises(DataError, match=r"sequence 1 has scores that .* add up to more than numbers can be"):
            call(huge)
    segments = test_segmentation.random_scores(rng, [1, 5])
    huge = replace(segments, unary=np.full_like(segments.unary, 1e308))
    for call in (Segmentation(1).argmax, lambda s: Segmentation(1).kbest(s, 2), Segmentation(1).marginals):
        with pytest.raises(DataError, match=r"sequence 1 has scores that .* add up to more than numbers can be"):
            call(huge)
