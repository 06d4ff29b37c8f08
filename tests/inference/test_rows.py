"""Rows against enumeration: expectations, shifts, and what is refused."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from sidelight import (
    Chain,
    ChainParts,
    DataError,
    NotSupported,
    before,
    changes,
    changes_only_after,
    count,
    each,
    ends_with,
    min_length,
    once_each,
    punctuation,
    runs,
    share,
    starts_with,
    transitions,
    where,
    word,
)
from sidelight.inference.rows import Rows

LABELS = ["A", "B", "C"]
RULES = [
    once_each(),
    changes_only_after(punctuation),
    starts_with("A"),
    ends_with("B", "C"),
    count("B", where=word.isdigit()) >= 1,
    runs(each("A", "B"), where=~punctuation) == 1,
    transitions("A", "C") + 2 * count("C") <= 3,
    where(word.isin("a")).label("A", "B"),
    share("A") == 0.3,
    share("B", where=word.isdigit()) >= 0.5,
    (changes(where=~punctuation) - 0.1 * changes() <= 0).over_corpus(),
    (ends_with("A") & starts_with("B")).expected(2),
]


def example(seed, lengths=(1, 4, 2, 3), types=1):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    X = [[str(w) for w in rng.choice(["a", "b", "1", ",", "."], n)] for n in lengths]
    X[0][0], X[1][0] = "1", "a"
    tokens = offsets[-1]
    scores = ChainParts.of(
        offsets,
        2 * rng.normal(size=(tokens, 3)),
        2 * rng.normal(size=(types, 3, 3)),
        pair_type=rng.integers(types, size=tokens).astype(np.int32),
        start=rng.normal(size=3),
        end=rng.normal(size=3),
    )
    return X, scores


def outputs_of(scores, index):
    n = int(scores.offsets[index + 1] - scores.offsets[index])
    return [np.array(y, np.int32) for y in product(range(3), repeat=n)]


def counts(rows, index, y):
    """A·y of one output of one sequence, by statement."""
    one = []
    for s in (*rows.about_corpus, *rows.about_each):
        kind = s.table.kind[rows.offsets[index] : rows.offsets[index + 1]]
        past = [3, *y[:-1]]
        one.append(sum(s.table.amount[k, a, c] for k, a, c in zip(kind, past, y, strict=True)) + s.table.at_end[y[-1]])
    return np.array(one)


def by_listing(rows, scores, prices, temperature):
    """log Z, Aμ and μ of every sequence from its outputs."""
    corpus, own = rows.split(prices)
    log_z, shared, single, unary = [], np.zeros(len(corpus)), [], []
    for i in range(len(scores)):
        outputs = outputs_of(scores, i)
        values = np.array([Chain().score(scores.sequences(i, i + 1), y)[0] for y in outputs])
        table = np.array([counts(rows, i, y) for y in outputs])
        values = (values - table @ np.concatenate((corpus, own[i]))) / temperature
        log_z.append(np.logaddexp.reduce(values))
        chance = np.exp(values - log_z[-1])
        shared += chance @ table[:, : len(corpus)]
        single.append(chance @ table[:, len(corpus) :])
        unary.append(sum(p * np.eye(3)[y] for p, y in zip(chance, outputs, strict=True)))
    return np.array(log_z), np.concatenate((shared, np.concatenate(single))), np.concatenate(unary)


@pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("types", [1, 2])
def test_tilted_marginals_by_enumeration(types, temperature):
    X, scores = example(types, types=types)
    rows = Rows.compile(RULES, X, LABELS)
    rng = np.random.default_rng(0)
    assert len(rows) == 3 + 4 * len(rows.about_each)
    for scale in (0.0, 1.0, 40.0):
        prices = scale * rng.normal(size=len(rows))
        tilted = rows.tilt(scores, prices, temperature=temperature)
        log_z, expected, unary = by_listing(rows, scores, prices, temperature)
        np.testing.assert_allclose(tilted.log_partition, log_z)
        np.testing.assert_allclose(tilted.expected, expected, atol=1e-9)
        np.testing.assert_allclose(tilted.parts.unary, unary, atol=1e-9)
        np.testing.assert_array_equal(tilted.prices, prices)
        shifted = Chain().marginals(rows.shift(scores, prices).divide(temperature))
        np.testing.assert_allclose(shifted.log_partition, log_z)
        np.testing.assert_allclose(shifted.parts.unary, unary, atol=1e-9)
        np.testing.assert_allclose(shifted.parts.pair.sum(axis=0), tilted.parts.pair.sum(axis=0), atol=1e-9)
    plain = Chain().marginals(scores)
    free = rows.tilt(scores, np.zeros(len(rows)))
    for name in ("unary", "pair", "start", "end"):
        np.testing.assert_allclose(getattr(free.parts, name), getattr(plain.parts, name), atol=1e-9)


@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_marginals_are_those_of_the_prices_that_steps_end_at(temperature):
    """After any number of steps on the own prices, the last of which may have been refused."""
    X, scores = example(1)
    rows = Rows.compile([runs(each("A", "B")) <= 0.3, (5 * count("C") >= 2).expected(2)], X, LABELS)
    curve = np.full(len(rows.about_each), 0.05)
    for steps in range(12):
        first = np.tile([4.0, 4.0, -1.0], 4)
        tilted = rows.tilt(scores, first, temperature=temperature, curve=curve, steps=steps, tolerance=1e-9)
        log_z, expected, unary = by_listing(rows, scores, tilted.prices, temperature)
        np.testing.assert_allclose(tilted.log_partition, log_z)
        np.testing.assert_allclose(tilted.expected, expected, atol=1e-9)
        np.testing.assert_allclose(tilted.parts.unary, unary, atol=1e-9)


@pytest.mark.parametrize("types", [1, 2])
@pytest.mark.parametrize("factor", [0.0, -0.7])
def test_a_direction_is_the_shift(types, factor):
    """The same derivatives as along the shifted scores, whose tables are one for each sequence."""
    X, scores = example(types, types=types)
    unary = scores.unary.copy()
    unary[2, 1] = unary[5, 0] = -np.inf
    rows, rng = Rows.compile(RULES, X, LABELS), np.random.default_rng(3)
    prices = rng.normal(size=len(rows))
    times = replace(
        scores, unary=factor * scores.unary, pair=factor * scores.pair, start=factor * scores.start,
        end=factor * scores.end,
    )  # fmt: skip
    shifted = rows.shift(times, prices)
    for some in (scores, replace(scores, unary=unary)):
        direction = rows.direction(some, prices, factor)
        assert direction.arcs.shape[1] <= types * rows.type_count < len(shifted.pair)
        found, expected = (Chain().tangents(some, d) for d in (direction, shifted))
        np.testing.assert_allclose(found.slope, expected.slope, atol=1e-9)
        for name in ("unary", "pair", "start", "end"):
            np.testing.assert_allclose(getattr(found.parts, name), getattr(expected.parts, name), atol=1e-9)


def test_counts_of_outputs():
    X, scores = example(3)
    rows = Rows.compile(RULES, X, LABELS)
    rng = np.random.default_rng(1)
    labels = rng.integers(3, size=len(scores.unary)).astype(np.int32)
    cut = len(rows.about_corpus)
    listed = [counts(rows, i, labels[scores.offsets[i] : scores.offsets[i + 1]]) for i in range(len(scores))]
    found, own = rows.split(rows.count(labels))
    np.testing.assert_allclose(found, np.sum(listed, axis=0)[:cut])
    np.testing.assert_allclose(own, np.array(listed)[:, cut:])
    some = rows.sequence_range(1, 3)
    part = some.tilt(scores.sequences(1, 3), np.zeros(len(some)))
    whole = rows.tilt(scores, np.zeros(len(rows)))
    np.testing.assert_allclose(some.split(part.expected)[1], rows.split(whole.expected)[1][1:3])


def test_bounds_and_signs():
    X, _ = example(0)
    rows = Rows.compile([share("A") == 0.3, count("A") <= 2, count("B") >= 1], X, LABELS)
    np.testing.assert_array_equal(rows.bound[:3], [0, 2, 1])
    np.testing.assert_array_equal(rows.low[:3], [-np.inf, 0, -np.inf])
    np.testing.assert_array_equal(rows.high[:3], [np.inf, np.inf, 0])
    expected = np.tile([3.0, 0.5], 4)
    np.testing.assert_allclose(rows.excess(np.concatenate(([-0.1], expected)))[:3], [-0.1, 1, -0.5])
    assert [rows.rule(r).title for r in (0, 3, 4)] == ["share('A') == 0.3", "count('A') <= 2", "count('B') >= 1"]
    np.testing.assert_array_equal(rows.equations[:3], [True, False, False])
    weighed = Rows.compile([(count("A") <= 2).expected(5), count("B") >= 1], X, LABELS)
    np.testing.assert_array_equal(weighed.penalty[:2], [5, 1])


def test_a_share_is_of_the_tokens_it_speaks_of():
    X = [["1", "a", "1"], ["b", "1"]]
    rows = Rows.compile([share("A", where=word.isdigit()) == 0.5, (runs("A") <= 1).over_corpus()], X, LABELS)
    labels = np.array([0, 1, 2, 1, 0], np.int32)
    np.testing.assert_allclose(rows.count(labels), [(2 - 0.5 * 3) / 2, 1.0])  # tokens for each of two sequences
    np.testing.assert_allclose(rows.copies, [2, 2])
    only = Rows.compile([share("A", where=word.isin("b")) == 1], X, LABELS)
    np.testing.assert_allclose((only.copies[0], only.target[0]), (1, 1))  # one sequence has the word, once
    np.testing.assert_array_equal(rows.bound, [0, 1])


def test_statements_that_forbid():
    X, scores = example(5, types=2)
    rows = Rows.compile(RULES, X, LABELS)
    never, other = rows.parted()
    assert len(never.about_each) + len(other.about_each) == len(rows.about_each)
    assert {s.title for s in never.about_each} >= {"starts_with('A')", "changes_only_after(word.ispunct())"}
    some = Rows.compile(
        [starts_with("A"), changes_only_after(punctuation), share("B", where=word.isin("b")) == 1], X, LABELS
    )
    forbidden = some.forbid(scores)
    for i in range(len(scores)):
        allowed = [y for y in outputs_of(scores, i) if not counts(some, i, y).any()]
        assert sorted(map(tuple, allowed)) == sorted(Chain().support(forbidden, i))


def test_what_is_refused():
    X, scores = example(0)
    for rule in (min_length(2), before("A", "B"), (count("A") >= 1) >> (count("B") >= 1), ~(count("A") == 1)):
        with pytest.raises(NotSupported, match="is not a sum over parts"):
            Rows.compile([rule], X, LABELS)
    with pytest.raises(NotSupported, match="is read as hard, and only statements about expectations"):
        Rows.compile([once_each().hard()], X, LABELS)
    with pytest.raises(DataError, match="expected a rule, got 3"):
        Rows.compile([3], X, LABELS)
    with pytest.raises(DataError, match="is about tokens of the corpus, and the data has none of them"):
        Rows.compile([share("A", where=word.isin("zebra")) == 1], X, LABELS)
    with pytest.raises(DataError, match="compiled for another batch"):
        Rows.compile([once_each()], X[:2], LABELS).tilt(scores, np.zeros(6))
    second = ChainParts.of(scores.offsets, scores.unary, scores.pair, triple=np.zeros((3, 3, 3)))
    with pytest.raises(NotSupported, match="need a chain of order 1"):
        Rows.compile([once_each()], X, LABELS).tilt(second, np.zeros(12))
    with pytest.raises(DataError, match="is about the corpus already"):
        (share("A") == 1).over_corpus()
    with pytest.raises(DataError, match="penalty of an expected rule"):
        once_each().expected(0)
