from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sidelight.errors import DataError, Infeasible
from sidelight.structures.segmentation import Segmentation, SegmentParts, begins_of, labels_of, runs
from tests.structure_kit import check_loss, check_sampling, check_structure, check_ties, enumerate_outputs, known_labels

TABLES = ("unary", "opens", "closes", "pair", "length", "start", "end")


def random_scores(rng, lengths, labels=3, longest=3, scale=1.0, forbid=0.0, distinct=False):
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    tokens = offsets[-1]

    def table(*shape):
        values = rng.normal(scale=scale, size=shape)
        values[rng.random(shape) < forbid] = -np.inf
        return values

    pair = table(labels, labels)
    if distinct:
        np.fill_diagonal(pair, -np.inf)
    return SegmentParts.of(
        offsets,
        table(tokens, labels),
        pair,
        table(labels, longest),
        opens=table(tokens, labels),
        closes=table(tokens, labels),
        start=table(labels),
        end=table(labels),
    )


def segments(output):
    """(first, last + 1, label) of every segment."""
    cuts = [t for t, code in enumerate(output) if code % 2] + [len(output)]
    return [(a, b, output[a] // 2) for a, b in pairwise(cuts)]


def indicator(scores, index, output):
    """Parts of one output, by the definition of the score, segment by segment."""
    base = scores.offsets[index]
    parts = {name: np.zeros_like(getattr(scores, name)) for name in TABLES}
    cut = segments(output)
    parts["start"][cut[0][2]] += 1
    parts["end"][cut[-1][2]] += 1
    for a, b, c in cut:
        parts["unary"][base + a : base + b, c] += 1
        parts["opens"][base + a, c] += 1
        parts["closes"][base + b - 1, c] += 1
        parts["length"][c, b - a - 1] += 1
    for (_, _, c), (_, _, d) in pairwise(cut):
        parts["pair"][c, d] += 1
    return parts


@pytest.mark.parametrize("longest", [1, 2, 7])
@pytest.mark.parametrize("case", ["plain", "huge", "forbidden", "one label", "distinct", "tempered", "loss"])
def test_against_enumeration(longest, case):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        scores = random_scores(
            rng,
            rng.integers(1, 5, size=4),
            labels=1 if case == "one label" else 3,
            longest=longest,
            scale=400.0 if case == "huge" else 1.0,
            forbid=0.1 if case == "forbidden" else 0.0,
            distinct=case == "distinct",
        )
        if case == "tempered":
            scores = scores.divide(0.3)
        if case == "loss":
            scores = scores + Segmentation().loss(scores, known_labels(rng, scores)).cost
        check_structure(Segmentation(), scores, indicator)


def test_the_scores_of_all_outputs_are_sums_over_their_parts():
    scores = random_scores(np.random.default_rng(0), [4, 3])
    for i in range(2):
        one = scores.sequences(i, i + 1)
        for output, value in zip(*enumerate_outputs(Segmentation(), scores, i), strict=True):
            parts = Segmentation().indicator(one, np.array(output, np.int32))
            for name, expected in indicator(one, 0, output).items():
                np.testing.assert_array_equal(getattr(parts, name), expected)
            np.testing.assert_allclose(one.dot(parts), value)


def test_outputs_are_counted():
    """With all scores zero Z counts: compositions of n times labels a segment."""
    scores = SegmentParts.of(np.array([0, 6]), np.zeros((6, 2)), np.zeros((2, 2)), np.zeros((2, 6)))
    np.testing.assert_allclose(np.exp(Segmentation().marginals(scores).log_partition), [2 * 3**5])
    distinct = replace(scores, pair=np.where(np.eye(2), -np.inf, 0.0))
    np.testing.assert_allclose(np.exp(Segmentation().marginals(distinct).log_partition), [2**6])


def test_all_but_one_labelling_forbidden():
    rng = np.random.default_rng(3)
    scores = random_scores(rng, [4, 1, 5], longest=5, distinct=True)
    only = rng.integers(3, size=10).astype(np.int32)
    restricted = scores.restrict(np.eye(3, dtype=bool)[only])
    check_structure(Segmentation(), restricted, indicator)
    np.testing.assert_array_equal(Segmentation().argmax(restricted).outputs.values, runs(scores.offsets, only))
    np.testing.assert_allclose(Segmentation().entropy(restricted), 0, atol=1e-12)


def test_a_path_hidden_behind_tiny_probabilities_is_found():
    """The only way through has e^-4000 of the mass of the prefixes that lead nowhere."""
    n = 200
    unary = np.zeros((n, 2))
    unary[:, 1] = -20.0
    unary[-1, 0] = -np.inf
    pair = np.array([[0.0, -np.inf], [-np.inf, -np.inf]])
    scores = SegmentParts.of(np.array([0, n]), unary, pair, np.zeros((2, n)))
    marginals = Segmentation().marginals(scores)
    np.testing.assert_allclose(marginals.log_partition, [-20.0 * n])
    np.testing.assert_allclose(marginals.parts.unary[:, 1], 1.0)
    np.testing.assert_allclose(marginals.parts.length[1, -1], 1.0)


def test_neighbours_that_must_differ_where_both_sides_want_the_same():
    """Boundary masses peak at the same label on both sides, and that pair is forbidden."""
    unary = np.array([[0.0, -800.0], [0.0, -800.0]])
    pair = np.array([[-np.inf, 0.0], [0.0, -np.inf]])
    scores = SegmentParts.of(np.array([0, 2]), unary, pair, np.zeros((2, 1)))
    marginals = Segmentation().marginals(scores)
    np.testing.assert_allclose(marginals.log_partition, [-800.0 + np.log(2)])
    np.testing.assert_allclose(marginals.parts.pair, [[0, 0.5], [0.5, 0]])


def test_sampling():
    check_sampling(Segmentation(), random_scores(np.random.default_rng(5), [1, 3], labels=2, longest=2))


def test_ties():
    check_ties(Segmentation(), SegmentParts.of(np.array([0, 3]), np.zeros((3, 2)), np.zeros((2, 2)), np.zeros((2, 2))))


def test_threads_do_not_change_results():
    scores = random_scores(np.random.default_rng(1), np.full(300, 20), labels=5, longest=12)
    one, many = Segmentation(n_jobs=1), Segmentation(n_jobs=3)
    np.testing.assert_array_equal(one.argmax(scores, seed=4).outputs.values, many.argmax(scores, seed=4).outputs.values)
    np.testing.assert_allclose(one.marginals(scores).parts.pair, many.marginals(scores).parts.pair, rtol=1e-12)
    np.testing.assert_array_equal(many.marginals(scores).parts.length, many.marginals(scores).parts.length)
    np.testing.assert_array_equal(one.sample(scores, 2, seed=3), many.sample(scores, 2, seed=3))


def test_log_partition_is_the_potential_of_the_marginals():
    """d log Z / d θ = μ, by central differences on every table."""
    scores = random_scores(np.random.default_rng(2), [3, 4])
    parts = Segmentation().marginals(scores).parts
    for name in TABLES:
        table = getattr(scores, name)
        index = tuple(np.random.default_rng(0).integers(table.shape))
        ends = []
        for step in (1e-5, -1e-5):
            moved = table.copy()
            moved[index] += step
            ends.append(Segmentation().marginals(replace(scores, **{name: moved})).log_partition.sum())
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, getattr(parts, name)[index], rtol=1e-6)


def test_adding_and_subtracting_go_part_by_part():
    rng = np.random.default_rng(4)
    a, b = random_scores(rng, [3, 2]), random_scores(rng, [3, 2])
    y = runs(a.offsets, np.array([0, 1, 1, 2, 2], np.int32))
    value = Segmentation().score
    np.testing.assert_allclose(value(a + b, y), value(a, y) + value(b, y))
    np.testing.assert_allclose(value(a - b, y), value(a, y) - value(b, y))


def test_outputs_tell_labels_and_beginnings():
    y = runs(np.array([0, 3, 5]), np.array([0, 0, 2, 2, 1], np.int32))
    assert y.tolist() == [1, 0, 5, 5, 3]
    assert labels_of(y).tolist() == [0, 0, 2, 2, 1]
    assert begins_of(y).tolist() == [True, False, True, True, True]


def test_a_segment_longer_than_allowed_has_no_score():
    scores = random_scores(np.random.default_rng(0), [4], longest=2)
    assert Segmentation().score(scores, np.array([1, 0, 0, 1], np.int32)) == [-np.inf]


def test_bad_scores_and_outputs_are_refused():
    offsets, unary, pair, length = np.array([0, 2]), np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))
    good = SegmentParts.of(offsets, unary, pair, length)
    with pytest.raises(DataError, match="unary scores must be numbers"):
        SegmentParts.of(offsets, np.full((2, 2), np.nan), pair, length)
    with pytest.raises(DataError, match="offsets must rise"):
        SegmentParts.of(np.array([0, 1, 1, 2]), unary, pair, length)
    with pytest.raises(DataError, match="length scores need one row"):
        SegmentParts.of(offsets, unary, pair, np.zeros((3, 2)))
    with pytest.raises(DataError, match="pair scores need the shape"):
        SegmentParts.of(offsets, unary, np.zeros((3, 2)), length)
    with pytest.raises(DataError, match="opens needs the shape"):
        SegmentParts.of(offsets, unary, pair, length, opens=np.zeros((1, 2)))
    with pytest.raises(DataError, match="temperature must be positive"):
        good.divide(0.0)
    with pytest.raises(DataError, match="k >= 1"):
        Segmentation().kbest(good, 0)
    for output in ([0, 0], [1, 2]):
        with pytest.raises(DataError, match="an output is 2"):
            Segmentation().score(good, np.array(output, np.int32))
    with pytest.raises(Infeasible, match="sequence 1 has no output"):
        Segmentation().argmax(SegmentParts.of(np.array([0, 1, 2]), [[0, 0], [-np.inf, -np.inf]], pair, length))


def test_mixed_scores():
    """The score of an output is mixed; where one has no segments that long, it takes the score of its longest."""
    rng = np.random.default_rng(0)
    one, other = (random_scores(rng, [4, 2], longest=longest, forbid=0.1) for longest in (4, 2))
    for weight in (0.0, 0.3, 1.0):
        mixed = one.mix(other, weight)
        for i in range(2):
            a, b, c = (parts.sequences(i, i + 1) for parts in (one, other, mixed))
            flat = replace(a, **{name: np.zeros_like(getattr(a, name)) for name in TABLES})
            if 0 < weight < 1:
                b = replace(b, length=b.length[:, [0, 1, 1, 1]])
            for y in Segmentation().support(flat, 0):
                left, right, got = (Segmentation().score(s, np.array(y, np.int32))[0] for s in (a, b, c))
                expected = left if weight == 1 else right if weight == 0 else weight * left + (1 - weight) * right
                np.testing.assert_allclose(got, expected)


def test_labels_of_tokens():
    codes = np.array([[1, 0, 5, 3, 3], [-1, -1, -1, 1, 0]], np.int32)
    np.testing.assert_array_equal(Segmentation().token_labels(codes), [[0, 0, 2, 1, 1], [-1, -1, -1, 0, 0]])


@pytest.mark.parametrize("partial", [False, True])
def test_the_loss_counts_wrong_tokens(partial):
    rng = np.random.default_rng(4)
    scores = random_scores(rng, [3, 1, 4])
    check_loss(Segmentation(), scores, known_labels(rng, scores, partial))
