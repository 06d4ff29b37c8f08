"""The compiled pass against a plain twin that keeps weights in dicts and the average as a sum over visits."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from sidelight.scorers.linear import LinearScorer
from sidelight.solvers import perceptron
from sidelight.solvers.perceptron import Examples, PerceptronState, run
from sidelight.structures.chain import Chain, indicator
from tests.scorers.test_linear import random_encoded, random_targets


def features(encoded, i, y, order):
    """The features of one output of sequence i: attributes, starts, ends, pairs and triples with their counts."""
    counts = Counter({("start", y[0]): 1})
    counts["end", y[-1]] += 1
    for t, c in enumerate(y):
        row = encoded.offsets[i] + t
        for n in range(encoded.indptr[row], encoded.indptr[row + 1]):
            counts["attribute", int(encoded.indices[n]), c] += encoded.values[n] if len(encoded.values) else 1
        if t >= 1:
            counts["pair", y[t - 1], c] += 1
        if t >= 2 and order == 2:
            counts["triple", y[t - 2], y[t - 1], c] += 1
    return counts


def names(scorer):
    """What each weight stands for, in the order of the weight vector."""
    L = scorer.labels
    owners = np.repeat(np.arange(len(scorer.pointer) - 1), np.diff(scorer.pointer)).tolist()
    out = [("attribute", a, c) for a, c in zip(owners, scorer.label.tolist(), strict=True)]
    out += [("pair", k // L, k % L) for k in scorer.pairs.tolist()]
    out += [("start", k) for k in scorer.starts.tolist()]
    out += [("end", k) for k in scorer.ends.tolist()]
    return out + [("triple", k // (L * L), k // L % L, k % L) for k in scorer.triples.tolist()]


def twin(scorer, encoded, gold, visits, margin, batches=None):
    """Algorithm: enumerate outputs, take the best of score + margin * Hamming, the last labels' order breaking ties.

    batches: for each visit whether a batch begins there; else every visit does.
    """
    known = names(scorer)
    w = dict.fromkeys(known, 0.0)
    total = Counter()  # of the weights before the first visit (zero) and after each
    mistakes, seen = 0, dict(w)
    for visit, i in enumerate(visits):
        if batches is None or batches[visit]:
            seen = dict(w)
        y = tuple(int(c) for c in gold[encoded.offsets[i] : encoded.offsets[i + 1]])

        def augmented(z, i=i, y=y, seen=seen):
            loss = sum(a != b for a, b in zip(z, y, strict=True))
            counts = features(encoded, i, z, scorer.order)
            return sum(seen.get(k, 0.0) * n for k, n in counts.items()) + margin * loss

        outputs = list(product(range(scorer.labels), repeat=len(y)))
        values = {z: augmented(z) for z in outputs}
        top = max(values.values())
        guess = min((z for z in outputs if values[z] >= top - 1e-9), key=lambda z: tie_order(z, scorer.order))
        if guess != y:
            mistakes += sum(a != b for a, b in zip(guess, y, strict=True))
            for k, n in features(encoded, i, y, scorer.order).items():
                if k in w:
                    w[k] += n
            for k, n in features(encoded, i, guess, scorer.order).items():
                if k in w:
                    w[k] -= n
        total.update(w)
    return np.array([w[k] for k in known]), np.array([total[k] for k in known]), mistakes


def tie_order(z, order):
    """Viterbi compares final states first, then goes back; a state of order two is (previous label, label)."""
    back = z[::-1]
    return back if order == 1 or len(z) == 1 else (back[1], back[0], *back[2:])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("margin", [0.0, 1.5])
@pytest.mark.parametrize("all_weights", [False, True])
def test_against_the_twin(order, values, margin, all_weights):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        encoded = random_encoded(rng, [1, 2, 4, 3, 5], values=values)
        gold = random_targets(rng, encoded, 3)
        scorer = LinearScorer.observed(encoded, gold, 3, order=order, all_weights=all_weights)
        state = PerceptronState.zero(scorer)
        passes = []
        run(
            Examples(scorer, Chain(1), encoded, gold), state, passes=4, margin=margin, seed=seed,
            on_pass=lambda number, wrong, kept=passes: kept.append((number, wrong)),
        )  # fmt: skip
        order_of_visits = np.random.default_rng(seed)
        visits = [i for _ in passes for i in order_of_visits.permutation(len(encoded))]
        w, total, mistakes = twin(scorer, encoded, gold.labels, visits, margin)
        np.testing.assert_allclose(state.weights, w, atol=1e-9)
        np.testing.assert_allclose(state.average(), total / (len(visits) + 1), atol=1e-9)
        assert sum(state.mistakes) == mistakes
        assert passes == list(enumerate(state.mistakes, start=1))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("compiled", [True, False])
def test_batches_against_the_twin(order, compiled):
    """The best outputs of a batch are those under the weights before it; the last batch of a pass may be smaller."""
    rng = np.random.default_rng(order)
    encoded = random_encoded(rng, [1, 2, 4, 3, 5, 2, 3], values=True)
    gold = random_targets(rng, encoded, 3)
    scorer = LinearScorer.observed(encoded, gold, 3, order=order)
    state, seen = PerceptronState.zero(scorer), scorer if compiled else WithoutChain(scorer)
    run(Examples(seen, Chain(1), encoded, gold), state, passes=3, margin=0.5, batch_size=3, seed=7)
    shuffled = np.random.default_rng(7)
    visits = [i for _ in range(3) for i in shuffled.permutation(7)]
    begins = [k in (0, 3, 6) for _ in range(3) for k in range(7)]
    w, total, mistakes = twin(scorer, encoded, gold.labels, visits, 0.5, begins)
    np.testing.assert_allclose(state.weights, w, atol=1e-5)
    np.testing.assert_allclose(state.average(), total / (len(visits) + 1), atol=1e-5)
    assert sum(state.mistakes) == mistakes


@pytest.mark.parametrize("batch_size", [2, 5, 200])
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_share_batches(batch_size, threads, monkeypatch):
    """The weights of several lanes are those of one, to the last bit; batches may be larger than the data."""
    monkeypatch.setattr(perceptron, "available_cores", lambda: threads)
    monkeypatch.setattr(perceptron, "WORTH_TOKENS", 0)
    monkeypatch.setattr(perceptron, "_STRETCH", 40)
    rng = np.random.default_rng(batch_size)
    encoded = random_encoded(rng, rng.integers(1, 9, 90), values=True)
    gold = random_targets(rng, encoded, 4)
    scorer, weights = LinearScorer.observed(encoded, gold, 4), rng.random(90)
    states = []
    for count in (1, threads):
        states.append(PerceptronState.zero(scorer))
        examples = Examples(scorer, Chain(count), encoded, gold, weights)
        run(examples, states[-1], passes=5, margin=1.0, batch_size=batch_size, seed=3)
    assert states[0].mistakes == states[1].mistakes
    np.testing.assert_array_equal(states[0].weights, states[1].weights)
    np.testing.assert_array_equal(states[0].late, states[1].late)


def test_batches_of_no_inputs_and_larger_than_memory():
    rng = np.random.default_rng(0)
    encoded = random_encoded(rng, [3, 4, 2])
    gold = random_targets(rng, encoded, 3)
    scorer = LinearScorer.observed(encoded, gold, 3)
    states = [PerceptronState.zero(scorer) for _ in range(3)]
    for state, size in zip(states, (3, 10**30), strict=False):
        run(Examples(scorer, Chain(2), encoded, gold), state, passes=2, margin=0.0, batch_size=size, seed=0)
    np.testing.assert_array_equal(states[0].weights, states[1].weights)
    nothing = Examples(scorer, Chain(1), encoded.sequences(0, 0), gold.inputs(0, 0))
    run(nothing, states[2], passes=1, margin=0.0, seed=0)
    assert states[2].mistakes == [0]


def test_passes_go_on_from_the_state():
    """Two runs of one pass are the twin's two passes, the average taken over both."""
    rng = np.random.default_rng(9)
    encoded = random_encoded(rng, [3, 4, 2])
    gold = random_targets(rng, encoded, 3)
    scorer = LinearScorer.observed(encoded, gold, 3)
    state = PerceptronState.zero(scorer)
    visits = []
    for seed in (4, 5):
        run(Examples(scorer, Chain(1), encoded, gold), state, passes=1, margin=0.0, seed=seed)
        visits += np.random.default_rng(seed).permutation(3).tolist()
    w, total, _ = twin(scorer, encoded, gold.labels, visits, 0.0)
    np.testing.assert_allclose(state.weights, w)
    np.testing.assert_allclose(state.average(), total / 7)


def test_stops_after_a_pass_without_mistakes():
    rng = np.random.default_rng(2)
    encoded = random_encoded(rng, [3, 4, 2, 5], attributes=30)
    gold = random_targets(rng, encoded, 3)
    scorer = LinearScorer.observed(encoded, gold, 3, all_weights=True)
    state = PerceptronState.zero(scorer)
    run(Examples(scorer, Chain(1), encoded, gold), state, passes=200, margin=0.0, seed=0)
    assert state.mistakes[-1] == 0
    assert all(state.mistakes[:-1])
    assert len(state.mistakes) < 200
    np.testing.assert_array_equal(Chain().argmax(scorer.scores(encoded, state.weights)).outputs.values, gold.labels)


def test_a_margin_is_kept():
    """On separable data a pass without mistakes under margin m puts the gold output m * Hamming above all others."""
    rng = np.random.default_rng(2)
    encoded = random_encoded(rng, [3, 4, 2], attributes=30)
    gold = random_targets(rng, encoded, 3)
    scorer = LinearScorer.observed(encoded, gold, 3, all_weights=True)
    state = PerceptronState.zero(scorer)
    run(Examples(scorer, Chain(1), encoded, gold), state, passes=500, margin=2.0, seed=0)
    assert state.mistakes[-1] == 0
    scores = scorer.scores(encoded, state.weights)
    delta = Chain().loss(scores, gold).cost
    best = Chain().argmax(scores + delta + delta)
    np.testing.assert_allclose(best.scores, Chain().score(scores, gold.labels))


def test_updates_are_feature_differences():
    """After one visit of one sequence the weights are F(x, y) - F(x, guess) on what has a weight."""
    rng = np.random.default_rng(5)
    encoded = random_encoded(rng, [5], values=True)
    gold = random_targets(rng, encoded, 4)
    scorer = LinearScorer.observed(encoded, gold, 4, all_weights=True)
    state = PerceptronState.zero(scorer)
    run(Examples(scorer, Chain(1), encoded, gold), state, passes=1, margin=0.0, seed=0)
    expectation = scorer.expectation()
    guess = np.zeros(5, np.int32)  # all scores are zero: the lowest label wins
    y = indicator(encoded.offsets, gold.labels, 4, 1)
    expectation.add(encoded, y - indicator(encoded.offsets, guess, 4, 1))
    np.testing.assert_allclose(state.weights, expectation.total(), atol=1e-12)


class WithoutChain:
    """A scorer that does not say that its scores are those of chains."""

    def __init__(self, scorer):
        self.size, self.prepare, self.rows = scorer.size, scorer.prepare, scorer.rows


@pytest.mark.parametrize("margin", [0.0, 1.5])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("weights", [(), (0.3, 2.0, 1.0, 0.1, 5.0)], ids=["alike", "weighed"])
def test_passes_on_any_structure_do_what_compiled_ones_do(order, margin, weights):
    rng = np.random.default_rng(8)
    encoded = random_encoded(rng, [3, 1, 4, 2, 5], values=True)
    gold = random_targets(rng, encoded, 3)
    scorer = LinearScorer.observed(encoded, gold, 3, order=order, all_weights=True)
    states = []
    for one in (scorer, WithoutChain(scorer)):
        states.append(PerceptronState.zero(scorer))
        examples = Examples(one, Chain(1), encoded, gold, np.array(weights))
        run(examples, states[-1], passes=4, margin=margin, batch_size=2, seed=2)
    assert states[0].mistakes == states[1].mistakes
    np.testing.assert_allclose(states[1].weights, states[0].weights, atol=1e-5)
    np.testing.assert_allclose(states[1].average(), states[0].average(), atol=1e-5)
