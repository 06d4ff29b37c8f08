from itertools import product

import numpy as np
import pytest
from scipy.special import digamma

from sidelight import DataError, ModelFileError, WordAligner, load
from sidelight.kernels.word_alignment import Direction, grow_links, likeness, normalise, stem_uses
from sidelight.wordalign.bitext import Bitext, Vocabulary
from sidelight.wordalign.estimation import EStep, Parameters, entropy, posteriors
from tests.convex_oracle import least
from tests.wordalign.oracle import alignments, indicators, jump_weight

PLAIN = {"stems": 0, "cognates": 0}
NOUNS = {"house": "maison", "book": "livre", "flower": "fleur", "table": "nappe", "door": "porte", "wall": "mur"}
ADJECTIVES = {"blue": "bleue", "big": "grande", "old": "vieille", "new": "neuve"}
ARTICLES = {"the": "la", "a": "une", "this": "cette"}


def bitext(count=60, seed=0):
    """Adjectives behind their nouns, and in half of the sentences a word that has no translation."""
    rng = np.random.default_rng(seed)
    pairs = []
    for k in range(count):
        article, adjective, noun = (list(words)[rng.integers(len(words))] for words in (ARTICLES, ADJECTIVES, NOUNS))
        target = [ARTICLES[article], NOUNS[noun], ADJECTIVES[adjective]]
        pairs.append(([article, adjective, noun, *["indeed"] * (k % 2)], target))
    return pairs


def tiny(seed, n=3, m=2, reach=2):
    """One pair of random parameters, and the emissions of both directions, (words, states)."""
    rng = np.random.default_rng(seed)
    source, target = [[f"e{i}" for i in range(n)]], [[f"f{j}" for j in range(m)]]
    one, two = Vocabulary.of(source), Vocabulary.of(target)
    text = Bitext.of(one.encode(source), two.encode(target), (n, m))
    model = Parameters(*(
        Direction(rng.dirichlet(np.ones(n * m)).astype(np.float32), rng.dirichlet(np.ones(size)).astype(np.float32),
                  rng.uniform(0.2, 2, 3 * reach + 2), 0.3)
        for size in (m, n)
    ))  # fmt: skip
    table = [np.asarray(one.table, float).reshape(n, m) for one in model]  # pairs are sorted by source word
    return text, model, (table[0].T, table[1])


def found(text, model, **more):
    step = EStep(**{"markov": True, "constraint": 0, "gamma": 1.0, "steps": 2000, "tolerance": 1e-7, **more})
    (block,) = posteriors(text.pairs, model, step, 1)
    n, m = (len(side) for side in (text.pairs.source, text.pairs.target))
    return block, block.forward.reshape(m, n), block.backward.reshape(m, n).T


def enumerated(model, emissions, markov=True):
    """Alignments, probabilities and links of both directions."""
    out = []
    for one, e in zip(model, emissions, strict=True):
        paths, p = alignments(e, np.asarray(one.null_row, float), one.jumps, one.null, markov=markov)
        out.append((p, indicators(paths, e.shape[1])))
    return out


@pytest.mark.parametrize("markov", [True, False])
@pytest.mark.parametrize("gamma", [1.0, 0.4])
@pytest.mark.parametrize("size", [(3, 2), (1, 3), (2, 1)])
def test_posteriors_equal_enumeration(markov, gamma, size):
    text, model, emissions = tiny(1, *size)
    block, forward, backward = found(text, model, markov=markov, gamma=gamma)
    total = 0.0
    for q, nulls, (p, links) in zip(
        (forward, backward),
        (block.null_forward, block.null_backward),
        enumerated(model, emissions, markov),
        strict=True,
    ):
        tempered = p ** (1 / gamma)
        expected = np.tensordot(tempered / tempered.sum(), links, 1)
        np.testing.assert_allclose(q, expected, atol=2e-6)
        np.testing.assert_allclose(nulls, 1 - expected.sum(1), atol=2e-6)
        total += gamma * np.log(tempered.sum())
    assert block.objective == pytest.approx(total, rel=1e-6)


def test_counts_of_jumps_equal_enumeration():
    """n_d, and Σ_m N_m / Σ_i c_mi over the memories m that the jump d is possible from."""
    text, model, emissions = tiny(4, 3, 3)
    block, *_ = found(text, model)
    for one, e, uses, chances in zip(model, emissions, block.uses, block.chances, strict=True):
        reach, jumps = (len(one.jumps) - 2) // 3, one.jumps
        expected = np.zeros((2, len(jumps)))
        paths, p = alignments(e, np.asarray(one.null_row, float), jumps, one.null)
        numbers = {
            (m, i): 2 * reach + 1 + min(i, reach) if m < 0 else max(-reach, min(reach, i - m)) + reach
            for m in range(-1, 3)
            for i in range(3)
        }
        for path, q in zip(paths, p / p.sum(), strict=True):
            memory = -1
            for i in path:
                if i >= 0:
                    expected[0, numbers[memory, i]] += q
                    for k in range(3):
                        expected[1, numbers[memory, k]] += q / sum(jump_weight(jumps, memory, h) for h in range(3))
                    memory = i
        np.testing.assert_allclose(uses, expected[0], atol=1e-6)
        np.testing.assert_allclose(chances, expected[1], atol=1e-6)


def test_tables_of_variational_bayes():
    """exp ψ(n + α) / exp ψ(Σ (n + α)), to the digits that tables have; without a prior n / Σ n."""
    counts, owners = np.array([0.0, 1e-3, 0.4, 3.0, 5.99, 40.0]), np.array([0, 0, 0, 1, 1, 1], np.int32)
    for prior in (0.0, 0.01, 0.3):
        table = np.empty(6, np.float32)
        normalise(counts, owners, 2, prior, np.empty(0), 0.0, 1e-30, table)
        totals = np.bincount(owners, counts + prior)[owners]
        expected = counts / totals if prior == 0 else np.exp(digamma(counts + prior) - digamma(totals))
        np.testing.assert_allclose(table, np.maximum(expected, 1e-30), rtol=3e-7)


def test_likeness_by_letters():
    """Shared first letters by the longer word's; at least half of these, and four or two whole words."""
    source, target = ["house", "ab", "a", "nation", "abcdefghi", "abc"], ["houses", "ab", "a", "nativity", "abc"]
    owners, partners = (index.ravel().astype(np.int32) for index in np.indices((6, 5)))
    out = np.empty(30, np.float32)
    likeness(owners, partners, *letters(source), *letters(target), out)
    for (a, b), value in zip(product(source, target), out, strict=True):
        longest = max(len(a), len(b))
        same = next(k for k in range(longest, -1, -1) if a[:k] == b[:k] and k <= min(len(a), len(b)))
        alike = same >= longest / 2 and (same >= 4 or (a == b and same >= 2))
        assert value == pytest.approx(same / longest if alike else 0.0)
    assert (out > 0).sum() == 4


def letters(words):
    offsets = np.cumsum([0, *map(len, words)])
    return np.array([ord(c) for c in "".join(words)], np.int32), offsets


def test_uses_of_stems_by_hand():
    """uses p(stem of f | stem of e) p(f | stem of f), of source words 0 and 1 of one stem, and 2 of another."""
    owners, partners = np.array([0, 0, 1, 2, 2], np.int32), np.array([0, 1, 2, 0, 2], np.int32)
    owner_stems, partner_stems = np.array([0, 0, 1], np.int32), np.array([0, 0, 1], np.int32)
    counts = np.array([3.0, 1.0, 2.0, 4.0, 5.0])
    numbers = {
        pair: k for k, pair in enumerate(sorted(set(zip(owner_stems[owners], partner_stems[partners], strict=True))))
    }
    pairs = np.array(
        [numbers[owner_stems[e], partner_stems[f]] for e, f in zip(owners, partners, strict=True)], np.int32
    )
    out = np.empty(5)
    stem_uses(counts, pairs, len(numbers), owners, owner_stems, partners, partner_stems, 0.7, out)
    stem_of, word_of_stem = {(0, 0): 4 / 6, (0, 1): 2 / 6, (1, 0): 4 / 9, (1, 1): 5 / 9}, [7 / 8, 1 / 8, 1.0]
    expected = [
        0.7 * stem_of[owner_stems[e], partner_stems[f]] * word_of_stem[f] for e, f in zip(owners, partners, strict=True)
    ]
    np.testing.assert_allclose(out, expected)


@pytest.mark.parametrize("seed", range(10))
def test_links_grow_as_the_algorithm_says(seed):
    """Grow-diag-final-and, in sets of (target, source), rows of source words first (Koehn, Och and Marcu 2003)."""
    rng = np.random.default_rng(seed)
    n, m = 5, 4
    one, two = (rng.random((m, n)) < 0.35 for _ in range(2))
    links, either = one & two, one | two
    added = True
    while added:
        added = False
        for i, j in product(range(n), range(m)):
            for dj, di in product((-1, 0, 1), repeat=2):
                k, h = i + di, j + dj
                if not (links[j, i] and 0 <= k < n and 0 <= h < m and either[h, k] and not links[h, k]):
                    continue
                if not links[:, k].any() or not links[h].any():
                    links[h, k] = added = True
    for given in (one, two):
        for i, j in product(range(n), range(m)):
            if given[j, i] and not links[:, i].any() and not links[j].any():
                links[j, i] = True
    found = np.empty(n * m, bool)
    grow_links(np.array([0, n]), np.array([0, m]), one.ravel(), two.ravel(), found)
    np.testing.assert_array_equal(found.reshape(m, n), links)


@pytest.mark.parametrize("markov", [True, False])
def test_best_alignments_equal_enumeration(markov):
    for seed in range(5):
        text, model, emissions = tiny(seed)
        _, forward, backward = found(text, model, markov=markov, gamma=0.0)
        for q, (p, links) in zip((forward, backward), enumerated(model, emissions, markov), strict=True):
            np.testing.assert_array_equal(q, links[p.argmax()])


def solved(model, emissions, constraint, gamma):
    """The projection by a general solver over the probabilities of all alignments: max E_q[log p] + γ H(q)."""
    (p1, u1), (p2, u2) = enumerated(model, emissions)
    sizes = len(p1), len(p2)

    def split(q):
        return q[: sizes[0]], q[sizes[0] :]

    def objective(q):
        q = np.maximum(q, 1e-300)
        return -sum(
            (one * np.log(p)).sum() - gamma * (one * np.log(one)).sum()
            for one, p in zip(split(q), (p1, p2), strict=True)
        )

    def slope(q):
        q = np.maximum(q, 1e-300)
        return np.concatenate(
            [-np.log(p) + gamma * (np.log(one) + 1) for one, p in zip(split(q), (p1, p2), strict=True)]
        )

    flat1, flat2 = u1.reshape(sizes[0], -1).T, u2.transpose(0, 2, 1).reshape(sizes[1], -1).T
    if constraint == 2:
        rows = np.hstack([flat1, -flat2])
        kept = {"type": "eq", "fun": lambda q: rows @ q, "jac": lambda q: rows}
    else:
        zeros = (np.zeros((u1.shape[2], sizes[1])), np.zeros((u2.shape[2], sizes[0])))
        rows = np.vstack([np.hstack([u1.sum(1).T, zeros[0]]), np.hstack([zeros[1], u2.sum(1).T])])
        kept = {"type": "ineq", "fun": lambda q: 1 - rows @ q, "jac": lambda q: -rows}
    ones = np.vstack([np.repeat([1.0, 0.0], sizes), np.repeat([0.0, 1.0], sizes)])
    whole = {"type": "eq", "fun": lambda q: ones @ q - 1, "jac": lambda q: ones}
    start = np.concatenate([p1 / p1.sum(), p2 / p2.sum()])
    limits = [(1e-12, 1)] * len(start)
    best = least(objective, start, jac=slope, bounds=limits, constraints=[kept, whole], tolerance=1e-9)
    q1, q2 = split(best.x)
    return np.tensordot(q1, u1, 1), np.tensordot(q2, u2, 1), -best.fun


@pytest.mark.parametrize("constraint", [1, 2])
@pytest.mark.parametrize("gamma", [1.0, 0.5])
def test_projections_equal_those_of_a_general_solver(constraint, gamma):
    text, model, emissions = tiny(3, 2, 3)
    block, forward, backward = found(text, model, constraint=constraint, gamma=gamma)
    one, two, value = solved(model, emissions, constraint, gamma)
    np.testing.assert_allclose(forward, one, atol=2e-4)
    np.testing.assert_allclose(backward, two, atol=2e-4)
    assert block.objective == pytest.approx(value, abs=1e-5)
    if constraint == 2:
        np.testing.assert_allclose(forward, backward.T, atol=1e-6)
    else:
        assert forward.sum(0).max() <= 1 + 1e-6
        assert backward.sum(0).max() <= 1 + 1e-6


def test_small_gamma_comes_to_hard_agreement():
    """E_q[log p] + γ H(q) comes to the value of the best alignments that agree, within γ times the largest entropy."""
    gamma, entropy_bound = 0.01, np.log(3**3) + np.log(4**2)
    agreeing = 0
    for seed in range(8):
        text, model, _ = tiny(seed, 2, 3)
        hard, one, two = found(text, model, constraint=2, gamma=0.0, steps=300)
        if np.array_equal(one, two.T):  # else the steps came to no agreement
            agreeing += 1
            soft, *_ = found(text, model, constraint=2, gamma=gamma, steps=5000, tolerance=1e-4)
            assert hard.objective - 1e-3 <= soft.objective <= hard.objective + gamma * entropy_bound + 1e-3
    assert agreeing >= 3


def test_em_raises_the_likelihood():
    trace = WordAligner(**PLAIN, constraint="none", gamma=1, ibm1_iterations=6, hmm_iterations=8).fit(bitext()).trace_
    for model in ("ibm1", "hmm"):
        objectives = [step.objective for step in trace if step.model == model]
        assert np.all(np.diff(objectives) > -1e-6 * abs(objectives[0]))


@pytest.mark.parametrize(("constraint", "gamma"), [("bijective", 1.0), ("symmetric", 1.0), ("symmetric", 0.3)])
def test_projected_em_raises_its_objective(constraint, gamma):
    learner = WordAligner(**PLAIN, constraint=constraint, gamma=gamma, ibm1_iterations=0, hmm_iterations=6,
                          steps=500, tolerance=1e-6)  # fmt: skip
    objectives = [step.objective for step in learner.fit(bitext(20)).trace_]
    assert np.all(np.diff(objectives) > -1e-6 * abs(objectives[0]))


@pytest.mark.parametrize("constraint", ["none", "bijective", "symmetric"])
@pytest.mark.parametrize("gamma", [0.0, 0.01])
def test_small_gamma_stays_within_the_range_of_numbers(constraint, gamma):
    learner = WordAligner(constraint=constraint, gamma=gamma, hmm_iterations=2).fit(bitext())
    assert np.isfinite([step.objective for step in learner.trace_]).all()
    for one in learner.predict_posteriors(bitext(), constraint=constraint, gamma=gamma):
        np.testing.assert_allclose(one.forward.sum(0) + one.null_forward, 1, atol=1e-5)
        np.testing.assert_allclose(one.backward.sum(1) + one.null_backward, 1, atol=1e-5)


def test_a_pair_has_an_alignment_where_the_weights_of_all_underflow():
    """At γ = 0.01 weights are raised to the power 100: both target words come from the first source word alone, no
    jump leads from there to itself, and without a weight that the null word keeps there were none to divide by.
    """
    text, model, _ = tiny(0, 2, 2)
    table, jumps = np.array([0.5, 0.5, 1e-8, 1e-8], np.float32), np.array([1, 1, 1e-8, 1, 1, 1, 1, 1])
    one = model.forward._replace(table=table, null_row=np.full(2, 1e-8, np.float32), jumps=jumps)
    block, forward, _ = found(text, model._replace(forward=one), gamma=0.01)
    assert np.isfinite(block.objective)
    np.testing.assert_allclose(forward.sum(1) + block.null_forward, 1, atol=1e-6)
    assert block.null_forward.sum() == pytest.approx(1)  # one of the words, which the other leaves alone


@pytest.mark.parametrize("constraint", ["none", "bijective", "symmetric"])
def test_learns_who_translates_whom(constraint):
    pairs = bitext()
    links = WordAligner(constraint=constraint, gamma=1.0).fit_predict(pairs)
    right = [[(0, 0), (1, 2), (2, 1)]] * len(pairs)
    assert links == right


def test_swapped_sides_have_swapped_links():
    swapped = [(target, source) for source, target in bitext()]
    links = WordAligner().fit_predict(bitext())
    assert [sorted((j, i) for i, j in one) for one in WordAligner().fit_predict(swapped)] == [
        sorted(one) for one in links
    ]


@pytest.mark.parametrize("combine", ["intersection", "union", "grow-diag-final-and", "forward", "backward"])
@pytest.mark.parametrize("viterbi", [True, False])
def test_combinations_keep_the_clear_links(combine, viterbi):
    pairs = bitext()
    links = WordAligner(combine=combine, viterbi=viterbi, threshold=0.5).fit_predict(pairs)
    assert all({(0, 0), (1, 2), (2, 1)} <= set(one) for one in links)


def test_threads_give_identical_results(monkeypatch):
    monkeypatch.setattr("sidelight.wordalign.bitext._SHARD", 30)
    monkeypatch.setattr("sidelight.wordalign.bitext._BLOCK", 200)
    pairs = bitext()
    one, two = (WordAligner(n_jobs=n).fit(pairs) for n in (1, 3))
    assert one.trace_ == two.trace_
    for first, second in zip(one.predict_posteriors(pairs), two.predict_posteriors(pairs), strict=True):
        np.testing.assert_array_equal(first.forward, second.forward)


def test_bijectivity_lowers_the_entropy_of_tables():
    free, bound = (WordAligner(**PLAIN, constraint=c, gamma=1).fit(bitext(20)).entropy_ for c in ("none", "bijective"))
    assert bound[0] < free[0]
    assert bound[1] < free[1]


def test_entropy_is_that_of_the_rows():
    assert entropy(np.array([0.5, 0.5, 1.0], np.float32), np.array([0, 0, 1], np.int32), 2) == pytest.approx(0.5)


def test_empty_sides_have_no_links():
    pairs = [*bitext(10), ([], ["la"]), (["the"], []), ([], [])]
    learner = WordAligner().fit(pairs)
    assert learner.predict(pairs)[-3:] == [[], [], []]
    assert learner.predict([]) == []
    assert learner.predict_posteriors(pairs)[-2].null_backward.tolist() == [1.0]


def test_new_words_are_linked_to_each_other():
    learner = WordAligner().fit(bitext())
    assert learner.predict([(["the", "blue", "zebra"], ["la", "girafe", "bleue"])]) == [[(0, 0), (1, 2), (2, 1)]]


def test_files(tmp_path):
    pairs = bitext()
    learner = WordAligner(gamma=0.5).fit(pairs)
    learner.save(tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert again.get_params() == learner.get_params()
    assert (again.trace_, again.entropy_) == (learner.trace_, learner.entropy_)
    assert again.predict(pairs) == learner.predict(pairs)
    content = (tmp_path / "a.model").read_bytes()
    (tmp_path / "cut.model").write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "cut.model")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"constraint": "one"}, "constraint must be 'none', 'bijective' or 'symmetric'"),
        ({"combine": "best"}, "combine must be 'posterior'"),
        ({"gamma": -1}, "gamma must be"),
        ({"gamma": 0.001}, "gamma is 0 or at least 0.01"),
        ({"null": 0.0}, "null word"),
        ({"ibm1_iterations": 0, "hmm_iterations": 0}, "nothing would be learned"),
        ({"viterbi": True}, "viterbi has no posteriors"),
    ],
)
def test_parameters_are_checked(wrong, message):
    with pytest.raises(DataError, match=message):
        WordAligner(**wrong).fit(bitext(2))


def test_input_is_checked():
    with pytest.raises(DataError, match=r"pair 0: expected lists of words"):
        WordAligner().fit([("the house", "la maison")])
    with pytest.raises(DataError, match=r"pair 1: expected \(source, target\)"):
        WordAligner().fit([(["a"], ["b"]), (["a"],)])
    with pytest.raises(DataError, match="no pair has words on both sides"):
        WordAligner().fit([([], ["a"])])
