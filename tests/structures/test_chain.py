from dataclasses import replace

import numpy as np
import pytest

from sidelight.errors import DataError, Infeasible
from sidelight.structures.chain import Chain, ChainParts, require_tables
from tests.structure_kit import check_loss, check_sampling, check_structure, check_ties, known_labels


def random_scores(rng, lengths, labels=3, order=1, types=1, scale=1.0, forbid=0.0):
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    tokens = offsets[-1]

    def table(*shape):
        values = rng.normal(scale=scale, size=shape)
        values[rng.random(shape) < forbid] = -np.inf
        return values

    return ChainParts.of(
        offsets,
        table(tokens, labels),
        table(types, labels, labels),
        pair_type=rng.integers(types, size=tokens),
        start=table(labels),
        end=table(labels),
        triple=table(labels, labels, labels) if order == 2 else None,
    )


def indicator(scores, index, output):
    """Parts of one output, by the definition of the score, position by position."""
    labels, base = scores.labels, scores.offsets[index]
    parts = {
        "unary": np.zeros_like(scores.unary),
        "pair": np.zeros_like(scores.pair),
        "start": np.zeros(labels),
        "end": np.zeros(labels),
    }
    if scores.triple is not None:
        parts["triple"] = np.zeros_like(scores.triple)
    parts["start"][output[0]] += 1
    parts["end"][output[-1]] += 1
    for t, c in enumerate(output):
        parts["unary"][base + t, c] += 1
        if t >= 1:
            parts["pair"][scores.pair_type[base + t], output[t - 1], c] += 1
        if t >= 2 and scores.triple is not None:
            parts["triple"][output[t - 2], output[t - 1], c] += 1
    return parts


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("types", [1, 3])
@pytest.mark.parametrize("case", ["plain", "huge", "forbidden", "one label", "tempered", "loss"])
def test_against_enumeration(order, types, case):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(1, 6, size=4)
        scores = random_scores(
            rng,
            lengths,
            labels=1 if case == "one label" else 3,
            order=order,
            types=types,
            scale=400.0 if case == "huge" else 1.0,
            forbid=0.15 if case == "forbidden" else 0.0,
        )
        if case == "tempered":
            scores = scores.divide(0.3)
        if case == "loss":
            scores = scores + Chain().loss(scores, known_labels(rng, scores)).cost
        check_structure(Chain(), scores, indicator)


@pytest.mark.parametrize("order", [1, 2])
def test_all_but_one_output_forbidden(order):
    rng = np.random.default_rng(3)
    scores = random_scores(rng, [4, 1, 5], order=order)
    only = rng.integers(3, size=10)
    allowed = np.zeros((10, 3), bool)
    allowed[np.arange(10), only] = True
    restricted = scores.restrict(allowed)
    check_structure(Chain(), restricted, indicator)
    np.testing.assert_array_equal(Chain().argmax(restricted).outputs.values, only)
    np.testing.assert_allclose(Chain().entropy(restricted), 0, atol=1e-12)


def test_a_path_hidden_behind_tiny_probabilities_is_found():
    """Two label worlds without a bridge: the world that is e^-4000 less likely is the only one allowed at the end."""
    length = 200
    unary = np.zeros((length, 2))
    unary[:, 1] = -20.0
    unary[-1, 0] = -np.inf
    pair = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    scores = ChainParts.of(np.array([0, length]), unary, pair)
    marginals = Chain().marginals(scores)
    np.testing.assert_allclose(marginals.log_partition, [-20.0 * length])
    np.testing.assert_allclose(marginals.parts.unary[:, 1], 1.0)


def test_unreachable_states_do_not_spoil_the_marginals():
    """What could follow a state that no path reaches is beyond all bounds; it must not come back as NaN."""
    length = 400
    unary = np.zeros((length, 2))
    unary[:, 0] = -8.0
    scores = ChainParts.of(
        np.array([0, length]),
        unary,
        np.array([[0.0, -np.inf], [-np.inf, 0.0]]),
        start=np.array([0.0, -np.inf]),
    )
    marginals = Chain().marginals(scores)
    np.testing.assert_allclose(marginals.log_partition, [-8.0 * length])
    np.testing.assert_allclose(marginals.parts.unary[:, 0], 1.0)
    np.testing.assert_allclose(marginals.parts.pair[0], [[length - 1, 0], [0, 0]])
    np.testing.assert_allclose(Chain().entropy(scores), 0, atol=1e-9)


def test_slow_decay_does_not_lose_the_better_path():
    """The forward mass of the winning path is far below the smallest double before its rival decays."""
    unary = np.zeros((12, 2))
    unary[0, 1] = -1000.0
    unary[1:, 0] = -110.0
    pair = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    marginals = Chain().marginals(ChainParts.of(np.array([0, 12]), unary, pair))
    np.testing.assert_allclose(marginals.log_partition, [-1000.0])
    np.testing.assert_allclose(marginals.parts.unary[:, 1], 1.0)


@pytest.mark.parametrize("order", [1, 2])
def test_sampling(order):
    check_sampling(Chain(), random_scores(np.random.default_rng(5), [1, 3], labels=2, order=order))


@pytest.mark.parametrize("order", [1, 2])
def test_ties(order):
    triple = np.zeros((2, 2, 2)) if order == 2 else None
    check_ties(Chain(), ChainParts.of(np.array([0, 3]), np.zeros((3, 2)), np.zeros((2, 2)), triple=triple))


def few_of(rng, tokens, labels):
    """One or two labels for each token."""
    possible = np.zeros((tokens, labels), bool)
    np.put_along_axis(possible, rng.integers(labels, size=(tokens, 2)), True, axis=1)
    return possible


@pytest.mark.parametrize("order", [1, 2])
def test_few_possible_labels_by_enumeration(order):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        scores = random_scores(rng, rng.integers(1, 4, size=4), labels=8, order=order, types=2, forbid=0.1)
        check_structure(Chain(), scores.restrict(few_of(rng, len(scores.unary), 8)), indicator)


@pytest.mark.parametrize("order", [1, 2])
def test_few_possible_labels_are_the_same_output_ties_included(order):
    """Whether labels are forbidden where they are, or by the arcs that lead there: one way visits few, one all."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        drawn = random_scores(rng, [6], labels=12, order=order, types=6)
        tables = ("unary", "pair", "start", "end", *(["triple"] if order == 2 else []))
        whole = replace(drawn, **{name: np.rint(getattr(drawn, name)) for name in tables})  # so that there are ties
        whole = replace(whole, pair_type=np.arange(6, dtype=np.int32))
        possible = few_of(rng, 6, 12)
        by_arcs = replace(
            whole,
            pair=np.where(possible[:, None, :], whole.pair, -np.inf),
            start=np.where(possible[0], whole.start, -np.inf),
        )
        for ties in (None, 0, 1, 2, 3):
            few, all_ = Chain().argmax(whole.restrict(possible), seed=ties), Chain().argmax(by_arcs, seed=ties)
            np.testing.assert_array_equal(few.outputs.values, all_.outputs.values)
            np.testing.assert_array_equal(few.scores, all_.scores)


@pytest.mark.parametrize("order", [1, 2])
def test_ties_of_few_possible_labels(order):
    """All outputs of two labels out of ten tie: each of the eight is found about as often."""
    triple = np.zeros((10, 10, 10)) if order == 2 else None
    free = ChainParts.of(np.array([0, 3]), np.zeros((3, 10)), np.zeros((10, 10)), triple=triple)
    scores = free.restrict(np.isin(np.arange(10), (3, 7))[None].repeat(3, axis=0))
    np.testing.assert_array_equal(Chain().argmax(scores).outputs.values, [3, 3, 3])
    seen = [tuple(Chain().argmax(scores, seed=seed).outputs.values) for seed in range(400)]
    counts = [seen.count(output) for output in set(seen)]
    assert len(counts) == 8
    assert min(counts) > 25


@pytest.mark.parametrize("order", [1, 2])
def test_no_path_of_few_possible_labels(order):
    triple = np.zeros((10, 10, 10)) if order == 2 else None
    pair = np.zeros((10, 10))
    pair[3, 3] = -np.inf
    scores = ChainParts.of(np.array([0, 3]), np.zeros((3, 10)), pair, triple=triple)
    with pytest.raises(Infeasible, match="sequence 0 "):
        Chain().argmax(scores.restrict(np.isin(np.arange(10), 3)[None].repeat(3, axis=0)))


@pytest.mark.parametrize("order", [1, 2])
def test_arc_marginals_sum_to_the_expected_parts(order):
    scores = random_scores(np.random.default_rng(9), [1, 2, 5, 3], order=order)
    arcs, parts = Chain().arc_marginals(scores), Chain().marginals(scores).parts
    total = arcs.sum(axis=0)
    np.testing.assert_allclose(total, parts.pair[0] if order == 1 else parts.triple)


def test_threads_do_not_change_results():
    scores = random_scores(np.random.default_rng(1), np.full(400, 20), labels=5)
    one, many = Chain(n_jobs=1), Chain(n_jobs=3)
    np.testing.assert_array_equal(one.argmax(scores, seed=4).outputs.values, many.argmax(scores, seed=4).outputs.values)
    np.testing.assert_allclose(one.marginals(scores).parts.pair, many.marginals(scores).parts.pair, rtol=1e-12)
    np.testing.assert_array_equal(many.marginals(scores).parts.pair, many.marginals(scores).parts.pair)
    np.testing.assert_array_equal(one.sample(scores, 2, seed=3), many.sample(scores, 2, seed=3))


def test_log_partition_is_the_potential_of_the_marginals():
    """d log Z / d θ = μ, by central differences on every table."""
    scores = random_scores(np.random.default_rng(2), [3, 4], order=2, types=2)
    parts = Chain().marginals(scores).parts
    for name in ("unary", "pair", "start", "end", "triple"):
        table = getattr(scores, name)
        index = tuple(np.random.default_rng(0).integers(table.shape))
        ends = []
        for step in (1e-5, -1e-5):
            moved = table.copy()
            moved[index] += step
            ends.append(Chain().marginals(replace(scores, **{name: moved})).log_partition.sum())
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, getattr(parts, name)[index], rtol=1e-6)


def test_entropy_of_tempered_scores_falls_with_the_temperature():
    scores = random_scores(np.random.default_rng(8), [6, 6])
    entropies = [Chain().entropy(scores.divide(t)).sum() for t in (10.0, 1.0, 0.1, 0.01)]
    assert entropies == sorted(entropies, reverse=True)
    assert entropies[-1] < 1e-3


def test_adding_scores_adds_them_part_by_part():
    rng = np.random.default_rng(4)
    a, b = random_scores(rng, [3, 2], order=2), random_scores(rng, [3, 2], order=2)
    y = np.array([0, 1, 2, 2, 0], np.int32)
    np.testing.assert_allclose(Chain().score(a + b, y), Chain().score(a, y) + Chain().score(b, y))
    assert (a + replace(b, triple=None)).triple is a.triple


def test_bad_scores_are_refused():
    offsets, unary, pair = np.array([0, 2]), np.zeros((2, 2)), np.zeros((2, 2))
    with pytest.raises(DataError, match="unary scores must be numbers"):
        ChainParts.of(offsets, np.full((2, 2), np.nan), pair)
    with pytest.raises(DataError, match="pair scores must be numbers"):
        ChainParts.of(offsets, unary, np.full((2, 2), np.inf))
    with pytest.raises(DataError, match="offsets must rise"):
        ChainParts.of(np.array([0, 1, 1, 2]), unary, pair)
    with pytest.raises(DataError, match="pair_type needs one of"):
        ChainParts.of(offsets, unary, pair, pair_type=np.array([0, 1]))
    with pytest.raises(DataError, match=r"start scores must have the shape \(2,\)"):
        ChainParts.of(offsets, unary, pair, start=np.zeros(1))
    with pytest.raises(DataError, match="pair scores must have the shape"):
        ChainParts.of(offsets, unary, np.zeros((3, 3)))
    with pytest.raises(DataError, match="same pair types"):
        ChainParts.of(offsets, unary, pair) + ChainParts.of(offsets, unary, np.zeros((2, 2, 2)))
    with pytest.raises(DataError, match="a seed is a whole number"):
        Chain().argmax(ChainParts.of(offsets, unary, pair), seed=-5)
    with pytest.raises(DataError, match="n_jobs is a number of threads"):
        Chain(n_jobs=0).argmax(ChainParts.of(offsets, unary, pair))
    with pytest.raises(DataError, match="temperature must be positive"):
        ChainParts.of(offsets, unary, pair).divide(0.0)
    with pytest.raises(DataError, match="k >= 1"):
        Chain().kbest(ChainParts.of(offsets, unary, pair), 0)
    with pytest.raises(Infeasible, match="sequence 1 has no output"):
        Chain().argmax(ChainParts.of(np.array([0, 1, 2]), np.array([[0, 0], [-np.inf, -np.inf]]), pair))


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("token", [0, 2, 4])
def test_what_is_not_a_number_is_not_passed_over(scale, token):
    scores = random_scores(np.random.default_rng(3), [5], scale=scale)
    unary = scores.unary.copy()
    unary[token, 1] = np.nan
    with pytest.raises(DataError, match="sequence 0 has scores that are no numbers"):
        Chain().marginals(replace(scores, unary=unary))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scale", [1.0, 60.0, 400.0])
def test_groups_of_sequences(order, scale):
    """A sequence drawn by the softmax of the log-partitions, then its labels; scaled and in logarithms."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        scores = random_scores(rng, [1, 2, 4, 3, 1, 5, 2], order=order, types=2, scale=scale, forbid=0.1)
        groups = np.array([0, 3, 4, 7])
        each = [Chain().marginals(scores.sequences(i, i + 1)) for i in range(7)]
        log_z = np.array([one.log_partition[0] for one in each])
        total = np.repeat([np.logaddexp.reduce(log_z[a:b]) for a, b in ((0, 3), (3, 4), (4, 7))], np.diff(groups))
        weights = np.exp(log_z - total)
        for n_jobs in (1, 3):
            found = Chain(n_jobs).group_marginals(scores, groups)
            np.testing.assert_allclose(found.log_partition, total[groups[:-1]])
            unary = np.concatenate([w * one.parts.unary for w, one in zip(weights, each, strict=True)])
            np.testing.assert_allclose(found.parts.unary, unary, atol=1e-9)
            for name in ("pair", "start", "end", "triple"):
                if getattr(scores, name) is not None:
                    expected = sum(w * getattr(one.parts, name) for w, one in zip(weights, each, strict=True))
                    np.testing.assert_allclose(getattr(found.parts, name), expected, atol=1e-9)


def test_bad_groups_are_refused():
    scores = random_scores(np.random.default_rng(0), [1, 2, 3])
    for groups in ([], [0, 2], [1, 3], [0, 1, 1, 3]):
        with pytest.raises(DataError, match="groups must rise from 0 to the 3 sequences"):
            Chain().group_marginals(scores, np.array(groups))
    nothing = scores.restrict(np.repeat([True, False, True], [1, 2, 3])[:, None])
    with pytest.raises(Infeasible):
        Chain().group_marginals(nothing, np.array([0, 1, 2, 3]))
    assert np.isfinite(Chain().group_marginals(nothing, np.array([0, 3])).log_partition).all()


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("partial", [False, True])
def test_the_loss_counts_wrong_tokens(order, partial):
    rng = np.random.default_rng(4)
    scores = random_scores(rng, [3, 1, 4], order=order)
    check_loss(Chain(), scores, known_labels(rng, scores, partial))


def test_large_tables():
    require_tables(16384, 1)
    require_tables(645, 2)
    with pytest.raises(DataError, match=r"pairs of 16,385 labels takes 2.1 GB of memory.* use at most 16,384 labels"):
        require_tables(16385, 1)
    with pytest.raises(DataError, match=r"triples of 2,000 labels.* use order=1, or at most 645 labels"):
        require_tables(2000, 2)
