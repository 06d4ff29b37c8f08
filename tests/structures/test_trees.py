"""Dependency trees against listing every tree."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logsumexp

from sidelight import DataError, FlatParts, Infeasible, Trees
from sidelight.structures.flat import KnownOutputs
from sidelight.structures.known import Outputs
from sidelight.supervision import Signal
from tests.structure_kit import check_argmax, check_entropy, check_kbest, check_ties, enumerate_outputs

KINDS = [
    Trees(1, projective=projective, single_root=single) for projective in (False, True) for single in (False, True)
]
SHAPES = [[(1, 1), (3, 1), (2, 1), (4, 1)], [(3, 3), (1, 3), (2, 3)], [(5, 1), (2, 3)]]
kinds = pytest.mark.parametrize("trees", KINDS, ids=repr)


def parts_of(values, shapes):
    offsets = np.concatenate(([0], np.cumsum([n * n * L for n, L in shapes]))).astype(np.int64)
    return FlatParts(np.broadcast_to(np.asarray(values, float), offsets[-1]).copy(), offsets, np.array(shapes))


def random_scores(rng, shapes, scale=1.0, forbid=0.0):
    count = sum(n * n * L for n, L in shapes)
    return parts_of(np.where(rng.random(count) < forbid, -np.inf, rng.normal(scale=scale, size=count)), shapes)


def chances_of(trees, scores, index, outputs, values):
    """Expected parts of one input by enumeration."""
    theta, shape = scores.of(index)
    expected = np.zeros(len(theta))
    for output, p in zip(outputs, np.exp(values - logsumexp(values)), strict=True):
        expected[trees.parts_of(shape, np.array(output))] += p
    return expected


def check(trees, scores, k=5):
    """Every call against enumeration; True if all inputs have a tree."""
    listed = [enumerate_outputs(trees, scores, i) for i in range(len(scores))]
    empty = [i for i, (outputs, _) in enumerate(listed) if not outputs]
    calls = (trees.argmax, trees.marginals, trees.entropy, lambda s: trees.kbest(s, 2),
             lambda s: trees.sample(s, 1, seed=0), lambda s: trees.argmax(s, seed=1))  # fmt: skip
    if empty:
        for call in calls:
            with pytest.raises(Infeasible, match=f"sequence {empty[0]} has no output of finite score"):
                call(scores)
        return False
    check_argmax(trees, scores, listed)
    check_kbest(trees, scores, listed, k)
    check_entropy(trees, scores, listed)
    marginals = trees.marginals(scores)
    for i, (outputs, values) in enumerate(listed):
        theta, shape = scores.of(i)
        mass = chances_of(trees, scores, i, outputs, values)
        np.testing.assert_allclose(marginals.log_partition[i], logsumexp(values), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(marginals.parts.of(i)[0], mass, atol=1e-9)
        np.testing.assert_allclose(marginals.parts.of(i)[0].reshape(shape[0], -1).sum(axis=1), 1.0, atol=1e-9)
        log_partition, alone = trees.expected(theta, shape)
        np.testing.assert_allclose(log_partition, marginals.log_partition[i])
        np.testing.assert_array_equal(alone, marginals.parts.of(i)[0])
    return True


@kinds
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize(("scale", "forbid"), [(1.0, 0.0), (400.0, 0.0), (1.0, 0.3), (50.0, 0.5)])
def test_against_enumeration(trees, shapes, scale, forbid):
    for seed in range(3):
        check(trees, random_scores(np.random.default_rng(seed), shapes, scale, forbid))


@kinds
def test_few_arcs(trees):
    """Words with hardly any arcs: some inputs have no tree, and where there is one it is found."""
    found = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 6))
        scores = random_scores(rng, [(n, 1)], [1.0, 100.0, 3000.0][seed % 3], rng.uniform(0.3, 0.8))
        found += check(trees, scores, k=3)
    assert 30 < found < 140


@kinds
def test_outputs_are_counted(trees):
    """(n + 1)^(n - 1) trees, n^(n - 1) with a single root; projective ones are counted by OEIS A001764 and A006013."""
    counts = {(False, False): [1, 3, 16, 125], (False, True): [1, 2, 9, 64], (True, False): [1, 3, 12, 55],
              (True, True): [1, 2, 7, 30]}[trees.projective, trees.single_root]  # fmt: skip
    scores = parts_of(0.0, [(n, 1) for n in range(1, 5)])
    assert [len(list(trees.support(scores, i))) for i in range(4)] == counts
    np.testing.assert_allclose(np.exp(trees.marginals(scores).log_partition), counts)
    labelled = parts_of(0.0, [(n, 2) for n in range(1, 5)])
    np.testing.assert_allclose(np.exp(trees.marginals(labelled).log_partition), np.array(counts) * 2 ** np.arange(1, 5))


@kinds
def test_all_but_one_tree_forbidden(trees):
    rng = np.random.default_rng(3)
    shape = (4, 2)
    scores = random_scores(rng, [shape], 100.0)
    for output in list(trees.all_outputs(shape))[::37]:
        allowed = np.zeros(len(scores.values), bool)
        allowed[trees.parts_of(shape, output)] = True
        only = scores.restrict(allowed)
        np.testing.assert_array_equal(trees.argmax(only).outputs.values, output)
        np.testing.assert_allclose(trees.marginals(only).parts.values, allowed, rtol=1e-12)
        np.testing.assert_allclose(trees.entropy(only), [0.0], atol=1e-12)
        np.testing.assert_array_equal(trees.sample(only, 2, seed=0), [output, output])
        assert trees.kbest(only, 2).scores[0, 1] == -np.inf


@kinds
def test_parts_are_numbered_by_word_head_and_label(trees):
    n, L = 3, 2
    number = 0
    for c in range(n):
        for h in [h for h in range(n + 1) if h != c + 1]:
            for label in range(L):
                output = np.zeros(n, int)
                output[c] = h * L + label
                assert trees.parts_of((n, L), output)[c] == number
                number += 1
    assert trees.rivals((n, L), 7).tolist() == [6, 8, 9, 10, 11]
    assert trees.slots((n, L)) == n


@kinds
def test_ties(trees):
    check_ties(replace(trees), parts_of(0.0, [(2, 1)]))
    scores = parts_of(0.0, [(4, 2), (3, 1)])
    np.testing.assert_array_equal(trees.argmax(scores).outputs.values, trees.argmax(scores).outputs.values)


@kinds
def test_partition_gives_the_same_as_the_compiled_one(trees):
    for seed in range(5):
        scores = random_scores(np.random.default_rng(seed), [(6, 2)], forbid=0.2)
        theta, shape = scores.of(0)
        ours, theirs = trees.best(theta, shape, 6), trees.by_partition(theta, shape, 6)
        np.testing.assert_array_equal(ours, theirs)


@kinds
def test_sampling(trees):
    """Frequencies of draws lie within five standard errors of the probabilities."""
    draws = 20_000
    scores = random_scores(np.random.default_rng(5), [(1, 2), (3, 2), (4, 1)], forbid=0.1)
    seen = trees.sample(scores, draws, seed=7)
    np.testing.assert_array_equal(seen, trees.sample(scores, draws, seed=7))
    offsets = trees.argmax(scores).outputs.offsets
    for i in range(len(scores)):
        outputs, values = enumerate_outputs(trees, scores, i)
        chance = dict(zip(outputs, np.exp(values - logsumexp(values)), strict=True))
        rows, counts = np.unique(seen[:, offsets[i] : offsets[i + 1]], axis=0, return_counts=True)
        for row, count in zip(rows, counts, strict=True):
            p = chance.pop(tuple(row.tolist()))
            assert abs(count / draws - p) < 5 * np.sqrt(p * (1 - p) / draws) + 1e-3
        assert sum(chance.values()) < 5e-3


@kinds
def test_draws_of_peaked_scores(trees):
    """Words that prefer each other to the root by far are drawn as often as they should, too."""
    scores = parts_of(0.0, [(3, 1)])
    table = scores.values.reshape(3, 3)
    table[:, 0] = -1500.0 + np.array([0.0, 1.0, 2.0])
    draws = trees.sample(scores, 4000, seed=1)
    root = trees.marginals(scores).parts.values.reshape(3, 3)[:, 0]
    np.testing.assert_allclose((draws == 0).mean(axis=0), root, atol=0.04)


def loop(n, depth):
    """Scores of words that prefer the next one, in a cycle, and come to the root at a price."""
    scores = parts_of(-np.inf, [(n, 1)])
    table = scores.values.reshape(n, n)
    for c in range(n):
        head = (c + 1) % n + 1
        table[c, head if head <= c else head - 1] = depth
        table[c, 0] = 0.1 * c
    return scores


@pytest.mark.parametrize("depth", [0.0, 30.0, 700.0, 1e4, 1e8])
@pytest.mark.parametrize("single", [False, True])
def test_cycles_cost_no_digits(depth, single):
    """In Laplacians the root's weight would be lost beside exp(30) already; here there is no subtraction."""
    n = 6
    marginals = Trees(1, single_root=single).marginals(loop(n, depth))
    root = marginals.parts.values.reshape(n, n)[:, 0]
    if single or depth >= 30.0:
        expected = np.exp(0.1 * np.arange(n))
        np.testing.assert_allclose(root, expected / expected.sum(), rtol=1e-7)
        np.testing.assert_allclose(marginals.log_partition, [(n - 1) * depth + np.log(expected.sum())], rtol=1e-9)
    else:
        weights = 1 + np.exp(0.1 * np.arange(n))
        np.testing.assert_allclose(np.exp(marginals.log_partition), [weights.prod() - 1])


@kinds
def test_sums_near_the_smallest_numbers(trees):
    """Weights of exp(-depth) at the root, which every tree has once at least: what has lost digits is not taken."""
    small = random_scores(np.random.default_rng(0), [(3, 1)])
    for depth in range(540, 770, 10):
        values = small.values.reshape(3, 3) - [depth, 0, 0]
        scores = replace(small, values=values.ravel())
        outputs, scored = enumerate_outputs(trees, scores, 0)
        marginals = trees.marginals(scores)
        np.testing.assert_allclose(marginals.log_partition, logsumexp(scored), rtol=1e-13)
        np.testing.assert_allclose(marginals.parts.values, chances_of(trees, scores, 0, outputs, scored), atol=1e-11)


@kinds
@pytest.mark.parametrize("size", [1e3, 1e8, 1e12, 1e30, 1e300])
def test_what_all_arcs_of_a_word_share_does_not_matter(trees, size):
    """Scores with a large number added to all arcs of each word: only digits that they lack are lost."""
    rng = np.random.default_rng(0)
    small = random_scores(rng, [(4, 2), (1, 1), (3, 1)], forbid=0.05)
    shift = np.concatenate([np.repeat(rng.uniform(-1, 1, n) * size, n * L) for n, L in small.shapes.tolist()])
    large = replace(small, values=small.values + shift)
    rounded = replace(small, values=large.values - shift)
    np.testing.assert_array_equal(trees.argmax(large).outputs.values, trees.argmax(rounded).outputs.values)
    np.testing.assert_allclose(
        trees.marginals(large).parts.values, trees.marginals(rounded).parts.values, atol=1e-9 + 1e-15 * min(size, 1e12)
    )
    np.testing.assert_allclose(trees.entropy(large), trees.entropy(rounded), atol=1e-9 + 1e-15 * min(size, 1e12))
    np.testing.assert_allclose(trees.argmax(large).scores, trees.score(large, trees.argmax(large).outputs.values))


@kinds
@pytest.mark.parametrize("size", [1e4, 1e8, 1e10, 1e15, 1e100, 1e300, 4e307])
def test_scores_far_apart(trees, size):
    """The best tree has all the mass, whatever the size of numbers."""
    for seed in range(4):
        wide = random_scores(np.random.default_rng(seed), [(3, 2), (4, 1), (1, 1)], forbid=0.1)
        wide = wide.times(1.0 / np.abs(wide.values[np.isfinite(wide.values)]).max())
        small = trees.argmax(wide)
        wide = replace(wide, values=size * wide.values)
        best = trees.argmax(wide)
        np.testing.assert_array_equal(best.outputs.values, small.outputs.values)
        np.testing.assert_allclose(best.scores / size, small.scores)
        marginals = trees.marginals(wide)
        ones = trees.indicator(wide, best.outputs.values).values
        np.testing.assert_allclose(marginals.parts.values, ones, atol=1e-9)
        np.testing.assert_allclose(marginals.log_partition, best.scores)
        np.testing.assert_allclose(trees.entropy(wide), 0.0, atol=2e-8)
        np.testing.assert_array_equal(trees.sample(wide, 2, seed=0), [best.outputs.values] * 2)
        ranked = trees.kbest(wide, 2).scores
        assert (ranked[:, 0] >= ranked[:, 1]).all()


@pytest.mark.parametrize("several", [False, True])
def test_known_roots(several):
    """One word has no head but the root, which is known then, and other heads may be known too."""
    rng, shapes = np.random.default_rng(0), [(5, 1), (4, 2), (5, 1), (4, 1)]
    scores = random_scores(rng, shapes)
    for i, word in enumerate((0, 3, 2, 1)):
        theta, (n, L) = scores.of(i)
        own = theta.reshape(n, n, L)
        own[word, 1:] = -np.inf  # the root is in place 0
        if i > 1:
            own[[c for c in range(n) if c != word][1:], 2:] = -np.inf
    if several:  # a second word that has no head but the root: there is no tree
        scores.of(2)[0].reshape(5, 5)[4, 1:] = -np.inf
    assert check(Trees(1), scores) != several


@kinds
def test_what_is_not_exact_is_refused(trees):
    """Two trees that tie far below the best arcs of all words, and numbers that cannot be added up."""
    scores = parts_of(-np.inf, [(1, 1), (2, 1)])
    scores.values[:] = [0.0, 0.0, 1e12, 0.3, 1e12]
    if trees.single_root:
        with pytest.raises(DataError, match="too large or too far apart for exact probabilities"):
            trees.marginals(scores)
        with pytest.raises(DataError, match="too large or too far apart for exact probabilities"):
            trees.sample(scores, 1, seed=0)
    huge = parts_of(1e308, [(1, 1), (3, 1)])
    for call in (trees.argmax, trees.marginals, lambda s: trees.kbest(s, 2)):
        with pytest.raises(DataError, match=r"sequence 1 has scores that .* add up to more than numbers can be"):
            call(huge)
    for value in (np.nan, np.inf):
        wrong = parts_of(0.0, [(1, 1), (2, 1)])
        wrong.values[3] = value
        for call in (trees.argmax, trees.marginals, lambda s: trees.kbest(s, 2)):
            with pytest.raises(DataError, match="sequence 1 has scores that are no numbers"):
                call(wrong)
    with pytest.raises(DataError, match="k >= 1"):
        trees.kbest(huge, 0)
    with pytest.raises(DataError, match="a seed is a whole number"):
        trees.sample(huge, 1, seed=-1)
    with pytest.raises(DataError, match=r"input 1 has 3 parts; 2 words and 1 labels have 4"):
        trees.argmax(FlatParts(np.zeros(4), np.array([0, 1, 4]), np.array([[1, 1], [2, 1]])))
    with pytest.raises(DataError, match=r"it must be \(words, labels\)"):
        trees.argmax(FlatParts(np.zeros(4), np.array([0, 4]), np.array([[2]])))
    with pytest.raises(DataError, match=r"it must be \(words, labels\)"):
        trees.argmax(FlatParts(np.zeros(0), np.array([0, 0]), np.array([[0, 1]])))


@kinds
def test_an_empty_batch_has_no_outputs(trees):
    none = FlatParts(np.empty(0), np.zeros(1, np.int64), np.empty((0, 2), np.int64))
    assert len(trees.argmax(none).outputs) == 0
    assert len(trees.marginals(none).log_partition) == 0
    assert trees.sample(none, 2, seed=0).shape == (2, 0)
    assert len(trees.kbest(none, 2).scores) == 0


@kinds
def test_threads_and_slices_do_not_change_results(trees):
    rng = np.random.default_rng(1)
    shapes = [(int(n), 2) for n in rng.integers(1, 25, size=120)]
    scores, many = random_scores(rng, shapes), replace(trees, n_jobs=3)
    best, marginals, draws = trees.argmax(scores), trees.marginals(scores), trees.sample(scores, 1, seed=3)
    np.testing.assert_array_equal(best.outputs.values, many.argmax(scores).outputs.values)
    np.testing.assert_array_equal(best.outputs.values, trees.kbest(scores, 2).outputs.values[0])
    np.testing.assert_array_equal(trees.kbest(scores, 3).outputs.values, many.kbest(scores, 3).outputs.values)
    np.testing.assert_array_equal(marginals.parts.values, many.marginals(scores).parts.values)
    np.testing.assert_array_equal(draws, many.sample(scores, 1, seed=3))
    np.testing.assert_allclose(best.scores, trees.score(scores, best.outputs.values))
    for first, last in pairwise([0, 7, 8, 120]):
        some = scores.sequences(first, last)
        np.testing.assert_array_equal(trees.argmax(some).outputs.values, best.outputs.inputs(first, last).values)
        np.testing.assert_array_equal(trees.marginals(some).log_partition, marginals.log_partition[first:last])
        np.testing.assert_array_equal(trees.marginals(some).parts.values, marginals.parts.sequences(first, last).values)
    which = np.array([5, 3, 100])
    np.testing.assert_array_equal(trees.argmax(scores.take(which)).scores, best.scores[which])


@kinds
@pytest.mark.parametrize("scale", [1.0, 200.0])
def test_log_partition_is_the_potential_of_the_marginals(trees, scale):
    """d log Z / d θ = μ by central differences on sentences that are too long for listing."""
    rng = np.random.default_rng(2)
    scores = random_scores(rng, [(12, 1), (9, 2)], scale, forbid=0.2)
    found = trees.marginals(scores)
    likely = np.flatnonzero(found.parts.values > 1e-3)
    for place in rng.choice(likely, 12, replace=False):
        ends = []
        for step in (1e-5, -1e-5):
            moved = scores.values.copy()
            moved[place] += step
            ends.append(trees.marginals(replace(scores, values=moved)).log_partition.sum())
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, found.parts.values[place], atol=1e-6)


@pytest.mark.parametrize("forbid", [0.0, 0.3])
def test_kinds_of_trees_contain_each_other(forbid):
    """Fewer trees have lower sums and best scores; frequencies of long draws agree with marginals."""
    rng = np.random.default_rng(4)
    scores = random_scores(rng, [(12, 2), (30, 1), (41, 1)], forbid=forbid)
    best = {(t.projective, t.single_root): t.argmax(scores).scores for t in KINDS}
    sums = {(t.projective, t.single_root): t.marginals(scores).log_partition for t in KINDS}
    for found in (best, sums):
        assert (found[True, True] <= found[True, False]).all()
        assert (found[True, False] <= found[False, False]).all()
        assert (found[True, True] <= found[False, True]).all()
        assert (found[False, True] <= found[False, False]).all()
    for trees in KINDS:
        assert (sums[trees.projective, trees.single_root] >= best[trees.projective, trees.single_root]).all()
        one = scores.sequences(0, 1)
        draws = trees.sample(one, 2000, seed=0)
        seen = sum(trees.indicator(one, row).values for row in draws) / len(draws)
        np.testing.assert_allclose(seen, trees.marginals(one).parts.values, atol=0.06)
        ranked = trees.kbest(scores, 4)
        assert (np.diff(ranked.scores, axis=1) <= 1e-9).all()
        np.testing.assert_allclose(ranked.scores[:, 0], best[trees.projective, trees.single_root])
        for row, values in zip(ranked.outputs.values, ranked.scores.T, strict=True):
            np.testing.assert_allclose(trees.score(scores, row), values)


@kinds
def test_long_sentences(trees):
    """Counts of trees beyond all numbers, and sharp scores: the sums agree with what is known of them."""
    flat = parts_of(0.0, [(400, 1)])
    n = 400
    found = trees.marginals(flat)
    if not trees.projective:
        count = (n - 1) * np.log(n if trees.single_root else n + 1)
        np.testing.assert_allclose(found.log_partition, [count], rtol=1e-12)
        roots = 1 if trees.single_root else 2 * n / (n + 1)
        np.testing.assert_allclose(found.parts.values.reshape(n, n)[:, 0].sum(), roots)
    np.testing.assert_allclose(found.parts.values.reshape(n, n).sum(axis=1), 1.0, atol=1e-9)
    sharp = random_scores(np.random.default_rng(0), [(60, 1)], 1e4)
    np.testing.assert_allclose(trees.marginals(sharp).parts.values, trees.indicator(
        sharp, trees.argmax(sharp).outputs.values).values, atol=1e-9)  # fmt: skip


@kinds
def test_the_loss_counts_words_with_a_wrong_arc(trees):
    rng = np.random.default_rng(1)
    shapes = [(3, 2), (2, 1), (3, 1), (2, 2)]
    scores = random_scores(rng, shapes)
    gold = trees.argmax(scores).outputs
    allowed = rng.random(9) < 0.5
    signals = (Signal.FULL, Signal.FULL, Signal.PARTIAL, Signal.NOTHING)
    values = gold.values.copy()
    values[gold.offsets[2] :] = -1
    known = KnownOutputs(signals, Outputs(values, gold.offsets), trees, (None, None, allowed, None))
    delta = trees.loss(scores, known)
    np.testing.assert_array_equal(delta.constant, np.zeros(4))
    for i in range(4):
        for output in trees.support(scores, i):
            cost = trees.score(delta.cost.sequences(i, i + 1), np.array(output, np.int32))[0]
            at = slice(gold.offsets[i], gold.offsets[i + 1])
            wrong = {
                Signal.FULL: (np.array(output) != gold.values[at]).sum(),
                Signal.PARTIAL: (~allowed[trees.parts_of(shapes[i], np.array(output))]).sum() if i == 2 else 0,
                Signal.NOTHING: 0,
            }[signals[i]]
            assert cost == wrong
    one = trees.loss(scores.sequences(2, 3), known.inputs(2, 3)).cost
    np.testing.assert_array_equal(one.values, delta.cost.sequences(2, 3).values)
    check(trees, scores + delta.cost)
    with pytest.raises(DataError, match="output 0 is known in part"):
        trees.loss(scores.sequences(3, 4), KnownOutputs((Signal.PARTIAL,), gold.inputs(3, 4), trees, (None,)))


@kinds
def test_tempered_and_restricted_scores(trees):
    rng = np.random.default_rng(6)
    scores = random_scores(rng, [(4, 1), (2, 3)])
    assert check(trees, scores.divide(0.2))
    known = KnownOutputs((Signal.FULL, Signal.NOTHING), trees.argmax(scores).outputs, trees, (None, None))
    assert check(trees, known.restrict(scores))
    np.testing.assert_allclose(trees.entropy(known.restrict(scores))[0], 0.0, atol=1e-12)


def test_tangents_are_covariances():
    rng = np.random.default_rng(1)
    for trees in KINDS:
        scores, delta = random_scores(rng, [(3, 2)]), random_scores(rng, [(3, 2)])
        outputs, values = enumerate_outputs(trees, scores, 0)
        chance = np.exp(values - logsumexp(values))
        ones = np.array([trees.indicator(scores, np.array(y, np.int32)).values for y in outputs])
        mean, gain = chance @ ones, ones @ delta.values
        moved = trees.tangents(scores, delta)
        np.testing.assert_allclose(moved.slope, [chance @ gain], atol=1e-9)
        np.testing.assert_allclose(moved.parts.values, (chance * (gain - chance @ gain)) @ (ones - mean), atol=1e-7)
