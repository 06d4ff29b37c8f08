"""One learner for any mixture of signals."""

from itertools import pairwise, product

import numpy as np
import pytest

from sidelight import (
    BAD,
    CRF,
    GOOD,
    HMM,
    Combined,
    SemiCRF,
    TagDictionary,
    count,
    generate_references,
    load,
    share,
    starts_with,
    where,
    word,
)
from sidelight.errors import DataError, NotSupported
from sidelight.learners.choosing.signals import SignalWeight
from sidelight.solvers.expected import Companions, PoolWeights, ToFit
from sidelight.solvers.losses import weighed_parts
from sidelight.structures.chain import Chain, ChainParts

X = [["a", "b", "c"], ["b", "a"], ["c", "c", "a", "b"], ["a", "c"], ["b", "b", "a"], ["a", "b"], ["b", "c", "a"]]
Y = [["P", "Q", "P"], ["Q", "P"], ["P", None, "Q", {"P", "Q"}], None, None, GOOD, BAD]
RULES = [starts_with("P"), where(word.isin("b")).label("Q").hard(), share("P") <= 0.6]


def model(base=None, rules=RULES, **more):
    return Combined(base or CRF(l2=0.1), rules, **{"weights": {}, "n_jobs": 1, **more})


def monotone(fitted):
    steps = [step for step in fitted.trace_ if step.comparable]
    return all(b.objective <= a.objective + a.missed + b.missed + 1e-9 for a, b in pairwise(steps))


def fits(base, counts=None):
    companions = Companions(
        [["a", "b"], ["b", "a", "c"], ["c", "b", "a"], ["a", "a"]], 2, np.array([1.0, 0.5, 2.0, 1.0]),
        np.array([2.0, 3.0, 3.0, 2.0]),
    )  # fmt: skip
    known = [["P", "Q", "P"], ["Q", "P"], ["P", "Q", "Q", "P"] if counts is None else Y[2]]
    weights = PoolWeights(0, 0.5, 0.5, 0.5)
    data = ToFit(X[:3], known, X[3:5], [None, None], ["P", "Q"], weights, 0, 1, counts=counts, companions=companions)
    return base.fitting(data)


@pytest.mark.parametrize("base", [CRF(n_jobs=1), SemiCRF(n_jobs=1)], ids=lambda one: type(one).__name__)
def test_gradients_of_what_is_fixed(base):
    counts = np.array([1.0, 0.3, 0.3]) if isinstance(base, CRF) else None
    terms = fits(base, counts)._fixed
    assert len(terms) == 2
    for term in terms:
        w = np.random.default_rng(0).normal(size=term.scorer.size)
        slope = [(term(w + 1e-5 * e)[0] - term(w - 1e-5 * e)[0]) / 2e-5 for e in np.eye(len(w))]
        np.testing.assert_allclose(term(w)[1], slope, atol=1e-7)


def test_companions_by_enumeration():
    """The loss is that of the log-odds, whose threshold no other beats."""
    term = fits(CRF(n_jobs=1))._fixed[1]
    w = np.random.default_rng(1).normal(size=term.scorer.size)
    scores = term.scorer.scores(term.encoded, w)
    sums = []
    for i, n in enumerate((2, 3, 3, 2)):
        one = scores.sequences(i, i + 1)
        values = [float(Chain(1).score(one, np.array(y, np.int32))[0]) for y in product(range(2), repeat=n)]
        sums.append(np.logaddexp.reduce(values) - n * np.log(2))
    sizes, signs = np.array([2.0, 3, 3, 2]), np.array([1.0, 1, -1, -1])

    def loss(tau):
        odds = np.array(sums) - tau[0] - tau[1] * sizes / sizes.mean()
        ridge = 0.5e-3 * term.counts.sum() * float(tau @ tau)
        return float(term.counts @ np.log1p(np.exp(-signs * odds))) + ridge

    best = term.threshold(np.array(sums))
    assert term(w)[0] == pytest.approx(loss(best))
    rng = np.random.default_rng(0)
    assert all(loss(best + rng.normal(size=2) * size) > loss(best) for size in (0.01, 0.1, 1.0) for _ in range(5))


def test_sequences_that_count_differently():
    rng = np.random.default_rng(0)
    scores = ChainParts.of(np.array([0, 2, 5, 6]), rng.normal(size=(6, 3)), rng.normal(size=(3, 3)))
    counts = np.array([0.5, 1e-9, 2.0])
    found = weighed_parts(Chain(1), scores, counts, Chain(1).marginals(scores).log_partition)
    each = [Chain(1).marginals(scores.sequences(i, i + 1)).parts for i in range(3)]
    asked = each[0].joined(each, counts.tolist())
    for name in ("unary", "pair", "start", "end"):
        np.testing.assert_allclose(getattr(found, name), getattr(asked, name), atol=1e-12)


def test_any_mixture(tmp_path):
    fitted = model(iterations=6).fit(X, Y, sample_weight=[1, 0.5, 0.5, 1, 1, 1, 2])
    assert monotone(fitted)
    assert fitted.trace_[-1].objective < fitted.trace_[0].objective
    pairs = [pair for x, labels in zip(X, fitted.predict(X), strict=True) for pair in zip(x, labels, strict=True)]
    assert {label for token, label in pairs if token == "b"} == {"Q"}
    assert [one.kind for one in fitted.rule_readings()] == ["soft", "hard", "expected"]
    fitted.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.predict(X) == fitted.predict(X)
    assert again.trace_ == fitted.trace_
    assert again.explain(X[0], 1) == fitted.explain(X[0], 1)


def test_the_objective_by_enumeration():
    """What the trace ends with is the penalised likelihood, the companions' term, and the divergence."""
    fitted = model(rules=[], iterations=2, label_shares=False, companion_weight=0.5, unlabeled_weight=0.25).fit(X, Y)
    crf = fitted.base_
    known = [crf.scores([x]) for x in X[:3]]
    loss = crf.l2 * float(crf.weights_ @ crf.weights_)
    for one, y in zip(known, Y[:3], strict=True):
        choices = [{"P", "Q"} if c is None else {c} if isinstance(c, str) else c for c in y]
        n = len(y)
        every = {out: float(Chain(1).score(one, np.array(out, np.int32))[0]) for out in product(range(2), repeat=n)}
        right = [v for out, v in every.items() if all("PQ"[c] in s for c, s in zip(out, choices, strict=True))]
        total = np.logaddexp.reduce(list(every.values()))
        loss += total - np.logaddexp.reduce(right)
        if y is Y[2]:  # it is in the pool too, where q agrees with what is known
            loss += 0.25 * (total - np.logaddexp.reduce(right))
    excess = crf.log_partition(X[5:7]) - np.array([2, 3]) * np.log(2)
    sizes, signs, counts = np.array([2.0, 3.0]), np.array([1.0, -1.0]), np.full(2, 0.5)
    columns = np.column_stack((np.ones(2), sizes / sizes.mean()))
    from scipy.optimize import minimize

    def judged(tau):
        return float(counts @ np.log1p(np.exp(-signs * (excess - columns @ tau)))) + 0.5e-3 * float(tau @ tau)

    loss += float(minimize(judged, np.zeros(2), tol=1e-12).fun)
    assert fitted.trace_[-1].objective == pytest.approx(loss, abs=1e-4)


@pytest.mark.parametrize(
    ("weighed", "same"),
    [
        ({"weights": {"companions": 0.4}, "companion_weight": 0.5}, {"companion_weight": 0.2}),
        ({"weights": {"unlabelled": 0.4}, "unlabeled_weight": 0.5}, {"unlabeled_weight": 0.2}),
        ({"unlabeled_weight": None}, {"unlabeled_weight": 3 / 4}),  # three are labelled, and four are in the pool
        ({"rules": [RULES[0].expected(2.0)], "weights": {RULES[0].title: 0.4}}, {"rules": [RULES[0].expected(0.8)]}),
    ],
    ids=["companions", "unlabelled", "as much as the labelled ones", "a rule"],
)
def test_weights_of_signals_multiply_what_they_count(weighed, same):
    one, other = (model(iterations=2, **options).fit(X, Y) for options in (weighed, same))
    assert one.trace_ == other.trace_


def test_rules_are_statements_wherever_they_can_be():
    """Sets of rules and conjunctions are statements too; logic is for predictions alone."""
    both, logic = (count("P") <= 2) & (count("Q") >= 1), (count("P") >= 2) >> (count("Q") >= 1)
    model = Combined(CRF(), [both, both.expected(2.0), logic], iterations=1, guard=False, label_shares=False).fit(X, Y)
    assert [(rule.title, rule.reading.penalty) for rule in model.rules_used_][1:] == [(both.title, 2.0)]
    assert model.rules_used_[0].title == both.title
    with pytest.raises(NotSupported, match="not a sum over parts"):
        Combined(CRF(), [logic.expected()], iterations=1, guard=False).fit(X, Y)


def test_a_second_view_and_a_dictionary(tmp_path):
    tags = TagDictionary({"a": {"P"}, "b": {"P", "Q"}})
    fitted = model(view=CRF([word[-1]]), dictionary=tags, iterations=4).fit(
        X, [["P", "Q", "P"], ["Q", "P"], *Y[2:]][:2] + [None] * 5
    )
    assert monotone(fitted)
    assert all(
        label == "P"
        for x, y in zip(X, fitted.predict(X), strict=True)
        for t, label in zip(x, y, strict=True)
        if t == "a"
    )
    fitted.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(X) == fitted.predict(X)
    counted = model(HMM(), view=CRF(), iterations=4).fit(X, Y)
    assert monotone(counted)
    with pytest.raises(NotSupported, match="no use for GOOD and BAD; give CRF"):
        model(HMM()).fit(X, Y)


@pytest.mark.parametrize("base", [CRF(l2=0.1), HMM(rare=0)], ids=["two views", "one view"])
@pytest.mark.parametrize("rare", [0, 1])
def test_the_objective_falls_from_the_first_model_on(base, rare):
    """Also where the first model of a generative view lacks most words of the other sequences."""
    some, known = generate_references(40, seed=1)
    view = HMM(rare=rare) if isinstance(base, CRF) else None
    base = base if view else HMM(rare=rare)
    fitted = model(base, [starts_with("author")], view=view, iterations=6).fit(some, [*known[:5], *[None] * 35])
    assert all(step.comparable for step in fitted.trace_)
    assert monotone(fitted)


def test_the_objective_of_a_model_that_lacks_words():
    """Unknown words of a class share its probability: that of every output with its words, by enumeration."""
    some = [["a", "b1"], ["b1", "c"], ["a", "b2", "b3"], ["Zz", "b2", "a"], ["c", "Yy"]]
    known = [["P", "Q"], ["Q", "P"]]
    smoothing = {"start_smoothing": 0.5, "transition_smoothing": 0.3, "emission_smoothing": 0.2}
    base = HMM(emission="word", unknown="word.shape()", rare=1, **smoothing)
    first = base.fit(some[:2], known)
    fitted = Combined(base, [], weights={}, iterations=0, label_shares=False).fit(some, [*known, None, None, None])
    table = first.scorer_
    start, steps, emission = np.exp(table.start), np.exp(table.transition), np.exp(table.emission)
    words, classes = first.encoder_.words, first.encoder_.classes
    unseen, other = len(words) + classes["xd"], len(words) + len(classes)
    # Of the class xd there are b2, b3 and the class itself; of classes that are new Zz, Yy, their class and the rest.
    chance = {**{w: emission[k] for w, k in words.items()}, "b2": emission[unseen] / 3, "b3": emission[unseen] / 3}
    chance |= dict.fromkeys(("Zz", "Yy", "class Xx", "rest"), emission[other] / 4)
    chance |= {"class x": emission[len(words) + classes["x"]], "class xd": emission[unseen] / 3}
    np.testing.assert_allclose(sum(chance.values()), 1)
    prior = 0.5 * table.start.sum() + 0.3 * table.transition.sum() + 0.2 * sum(np.log(p).sum() for p in chance.values())

    def joint(x, y):
        value = start[y[0]] * chance[x[0]][y[0]]
        for t in range(1, len(x)):
            value *= steps[y[t - 1], y[t]] * chance[x[t]][y[t]]
        return value

    loss = -prior - sum(np.log(joint(x, ["PQ".index(c) for c in y])) for x, y in zip(some, known, strict=False))
    loss -= sum(np.log(sum(joint(x, y) for y in product(range(2), repeat=len(x)))) for x in some[2:])
    assert fitted.trace_[0].objective == pytest.approx(loss, abs=1e-3)


def test_confidence_is_a_number_of_copies():
    close = CRF(l2=0.1, tolerance=1e-5)  # they take different solvers
    once = model(close, rules=[], weights={}).fit([*X[:2], X[0]], [*Y[:2], Y[0]])
    twice = model(close, rules=[], weights={}).fit(X[:2], Y[:2], sample_weight=[2, 1])
    np.testing.assert_allclose(once.log_partition(X), twice.log_partition(X), rtol=1e-2)
    counting = {"base": HMM(rare=0), "rules": [], "weights": {}}
    once = model(**counting).fit([X[0], *X[:5]], [Y[0], *Y[:3], None, None])
    twice = model(**counting).fit(X[:5], [*Y[:3], None, None], sample_weight=[2, 1, 1, 1, 1])
    np.testing.assert_allclose(once.log_partition(X), twice.log_partition(X), rtol=1e-6)
    with pytest.raises(DataError, match="for each of the 2 sequences"):
        model().fit(X[:2], Y[:2], sample_weight=[1])


def test_signals_that_exclude_each_other_are_both_named():
    with pytest.raises(DataError, match=r"sequence 0, token 1: y says 'Q', and the dictionary 'P'"):
        model(dictionary=TagDictionary({"b": {"P"}})).fit(X, Y)
    with pytest.raises(DataError, match=r"labels of sequence 1 and the hard rule .* exclude each other"):
        model(rules=[(count("P") == 0).hard()]).fit(X[1:], [None, *Y[2:]])
    with pytest.raises(DataError, match="no signal 'rules' to weigh"):
        model(weights={"rules": 1.0}).fit(X, Y)


def test_a_false_rule_is_weighed_down_and_reported():
    rng = np.random.default_rng(0)
    some = [[str(rng.choice(list("abc"))) for _ in range(rng.integers(2, 6))] for _ in range(24)]
    gold = [["Q" if token == "b" else "P" for token in x] for x in some]
    lie = where(word.isin("a")).label("Q").soft(20.0).named("a is Q")
    truth = where(word.isin("b")).label("Q").named("b is Q")
    fitted = Combined(CRF(), [lie, truth], iterations=2, n_jobs=1).fit(some, [*gold[:10], *[None] * 14])
    weights = {one.name: one.weight for one in fitted.signals_}
    assert weights["a is Q"] == 0.0
    assert weights["b is Q"] == 1.0
    assert fitted.predict(some) == gold
    assert any(str(one).startswith("rule 'a is Q' costs") for one in fitted.signals_)
    assert str(SignalWeight("title is once", 0.1, -0.02, 0.008, 10, True)) == (
        "rule 'title is once' costs 2.0 ± 0.8 points: weight 0.1"
    )
