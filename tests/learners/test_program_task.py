"""Entities and relations as an integer program: types of candidates, relations of pairs, and rows that join them."""

import pickle
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sidelight import (
    BAD,
    CCM,
    CRF,
    GOOD,
    JLIS,
    MIRA,
    CoDL,
    DataError,
    Infeasible,
    LatentStructuralSVM,
    NotSupported,
    Partial,
    Program,
    StructuralSVM,
    StructuredPerceptron,
    Variables,
    count,
    load,
    register_task,
    word,
)
from sidelight.learners.model import prepare
from sidelight.solvers.losses import HingeLoss
from sidelight.structures import highs, points, reduced_programs
from tests.structure_kit import enumerate_outputs

TYPES, RELATIONS = ("person", "firm", "place"), {"works for": ("person", "firm"), "lives in": ("person", "place")}
WORDS = {
    "person": ["Ann", "Bob", "Cy", "Di"],
    "firm": ["Acme", "Bolt", "Corp", "Dyna"],
    "place": ["Aix", "Bonn", "Cork", "Delhi"],
}


@register_task
@dataclass(frozen=True)
class Joint(Program):
    """Types of the candidates of a sentence, and relations between them."""

    joined: bool = True
    noun = "sentence"

    def declare(self, x):
        found, places = Variables(), range(len(x["words"]))
        for i in places:
            for label in TYPES:
                found.add((i, label), {f"{label}: {x['words'][i]}": 1.0}, **{label: True})
            found.exactly_one([(i, label) for label in TYPES], title=f"one type of {i}")
        for i, j in permutations(places, 2):
            for label, (first, second) in RELATIONS.items():
                found.add((i, j, label), {f"{label}: {x['verb']}": 1.0, label: True, f"{label}: {i < j}": True})
                if self.joined:
                    found.implies((i, j, label), (i, first), title=f"{label} has a {first} first")
                    found.implies((i, j, label), (j, second), title=f"{label} has a {second} second")
            found.at_most_one([(i, j, label) for label in RELATIONS], title="one relation")
        return found


def sentence(rng):
    """Three candidates, of which some are words that are never seen again; the verb says what the relation is."""
    label = str(rng.choice(list(RELATIONS)))
    pair = RELATIONS[label]
    types = [*pair, str(rng.choice(TYPES[1:]))]
    order = rng.permutation(3)
    words = [f"new{rng.integers(10**6)}" if rng.random() < 0.2 else str(rng.choice(WORDS[types[k]])) for k in order]
    first, second = (int(np.flatnonzero(order == k)[0]) for k in (0, 1))
    y = {(i, types[k]) for i, k in enumerate(order)} | {(first, second, label)}
    if types[2] == types[1]:  # the other one could be meant
        y |= {(first, int(np.flatnonzero(order == 2)[0]), label)}
    return {"words": words, "verb": {"works for": "at", "lives in": "in"}[label]}, y


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, y = map(list, zip(*[sentence(rng) for _ in range(72)], strict=True))
    return X[:48], y[:48], X[48:], y[48:]


@pytest.fixture(scope="module")
def svm(data):
    return StructuralSVM(C=1.0, n_jobs=1, task=Joint()).fit(*data[:2])


@pytest.mark.parametrize("squared", [False, True])
def test_the_hinge_loss_is_that_of_the_worst_output(squared):
    """Δ is the number of variables that differ from those given: cost·y and a constant."""
    X = [{"words": ["Ann", "Acme"], "verb": "at"}, {"words": ["Aix", "Bob"], "verb": "in"}]
    y = [{(0, "person"), (1, "firm"), (0, 1, "works for")}, {(0, "place"), (1, "person")}]
    prepared = prepare(StructuralSVM(task=Joint(), n_jobs=1), X, y)
    structure, gold = Joint().structure(1), prepared.known
    w = np.random.default_rng(0).normal(size=prepared.scorer.size)
    scores, expected = prepared.scorer.scores(prepared.encoded, w), 0.0
    for i in range(2):
        outputs, values = enumerate_outputs(structure, scores, i)
        given = gold.inputs(i, i + 1).outputs.values
        own = structure.score(scores.sequences(i, i + 1), given)[0]
        missed = (values + (np.array(outputs) != given).sum(axis=1)).max() - own
        expected += missed**2 if squared else missed
    assert expected > 0
    loss = HingeLoss(prepared.scorer, structure, prepared.encoded, gold, squared)
    np.testing.assert_allclose(loss(w), expected)


@pytest.mark.parametrize("learner", [StructuredPerceptron(epochs=5), MIRA(epochs=3, k=2), None])
def test_margin_learners(data, svm, learner, tmp_path):
    X, y, other_X, other_y = data
    model = learner.set_params(task=Joint(), n_jobs=1).fit(X, y) if learner else svm
    assert model.score(other_X, other_y) > 0.6
    predicted = model.predict(other_X)
    for x, found in zip(other_X, predicted, strict=True):
        rows = Joint().describe(x)[0][1]
        assert found == sorted(found, key=rows.names.index)
        assert not rows.broken(Joint().to_output(rows.shape, found))
    model.save(tmp_path / "joint.model")
    read = load(tmp_path / "joint.model")
    assert read.task == Joint()
    assert read.predict(other_X) == predicted
    assert pickle.loads(pickle.dumps(model)).predict(other_X[:3]) == predicted[:3]
    assert clone(model).task == Joint()


def test_rows_help(data, svm):
    """The same features without the rows that join types and relations do worse."""
    X, y, other_X, other_y = data
    apart = clone(svm).set_params(task=Joint(joined=False)).fit(X, y)
    assert svm.score(other_X, other_y) > apart.score(other_X, other_y) + 0.1


def test_k_best_and_inference(data):
    X, y, other_X, _ = data
    model = StructuredPerceptron(epochs=2, task=Joint(), n_jobs=1).fit(X, y)
    for ranked in model.predict_kbest(other_X[:3], 4):
        assert len({tuple(one.labels) for one in ranked}) == 4
        assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    found = model.infer(other_X)
    assert found.exact.all()
    np.testing.assert_array_equal(found.bound, found.scores[:, 0])
    assert model.predict([]) == []
    assert model.top_weights(3)


def test_known_outputs_are_kept(data):
    """`complete` keeps known outputs, though others are contained in them."""
    X, y, _, _ = data
    model = StructuredPerceptron(epochs=1, task=Joint(), n_jobs=1).fit(X[:20], y[:20])
    completed = model.complete(X[:3], [y[0], None, y[2]])
    assert [set(completed[0]), set(completed[2])] == [y[0], y[2]]
    latent = LatentStructuralSVM(C=1.0, task=Joint(), n_jobs=1).fit(X[:8], y[:8])
    assert latent.score(X[:8], y[:8]) > 0.8


def test_partial_outputs(data):
    """Some variables are known; the others are latent, and the best ones that agree are put in for them."""
    X, y, other_X, other_y = data
    rng = np.random.default_rng(0)
    names = [Joint().describe(x)[0][1].names for x in X]
    partly = [
        one if i < 10 else Partial({name: name in one for name in all_ if rng.random() < 0.7})
        for i, (all_, one) in enumerate(zip(names, y, strict=True))
    ]
    model = LatentStructuralSVM(C=1.0, task=Joint(), n_jobs=1, tolerance=0.1, change=0.01, max_rounds=5).fit(
        X[:30], partly[:30]
    )
    few = LatentStructuralSVM(C=1.0, task=Joint(), n_jobs=1, tolerance=0.1, change=0.01).fit(X[:10], y[:10])
    assert model.score(other_X, other_y) > few.score(other_X, other_y)
    assert [one.objective for one in model.rounds_] == sorted((o.objective for o in model.rounds_), reverse=True)
    completed = model.complete(X[10:30], partly[10:30])
    for known, found, x in zip(partly[10:30], completed, X[10:30], strict=True):
        assert all((name in found) == value for name, value in known.known.items())
        Joint().to_output(Joint().describe(x)[0], found)  # keeps to the rows
    one = Partial([sorted(y[0], key=str)[0]])
    assert one.known[0] in model.complete(X[:1], [one])[0]
    assert model.score(X[:20], partly[:20]) == model.score(X[:10], y[:10])
    read = Joint().read([one, Partial({}), Partial({name: name in y[2] for name in names[2]})], Joint().sizes(X[:3]))
    assert read[1] is None
    known = Joint().known([read[0], read[2]], Joint().sizes([X[0], X[2]]), [])
    loss = Joint().structure(1).loss(model.scores([X[0], X[2]]), known)
    assert loss.constant.tolist() == [1.0, len(y[2])]
    assert np.abs(loss.cost.of(0)[0]).sum() == 1
    with pytest.raises(
        NotSupported, match=r"StructuralSVM cannot learn from partial labels .*; use LatentStructuralSVM or CCM"
    ):
        StructuralSVM(task=Joint()).fit(X[:20], partly[:20])
    wrong = {(0, "person"): True, (0, "firm"): True}
    for known, said in ((wrong, "no output has these values and satisfies the rows"), ({"x": 1}, "no variable 'x'"),
                        ({(0, "firm"): 2}, "write True or False")):  # fmt: skip
        with pytest.raises(DataError, match=said):
            LatentStructuralSVM(task=Joint()).fit(X[:1], [Partial(known)])


def test_out_of_time(data, monkeypatch):
    """Predictions say that they are not proved, and `infer` has the bound."""
    X, y, other_X, _ = data
    monkeypatch.setattr(reduced_programs, "LISTED", 1)
    model = StructuredPerceptron(epochs=1, task=Joint(time_limit=5.0), n_jobs=1).fit(X[:20], y[:20])
    solve = highs.solve

    def early(program, **options):
        best = solve(program, **options)
        if not len(program.whole):
            return highs.HighsSolution(np.full(len(program.gain), 0.5), best.objective + 1.0, np.inf, np.empty(0), True)
        return highs.HighsSolution(best.values, best.objective, best.bound + 1.0, np.empty(0), False)

    def nothing(program, **options):
        return highs.HighsSolution(None, -np.inf, np.inf, np.empty(0), False)

    right = model.predict(other_X[:9])
    monkeypatch.setattr(points.highs, "solve", early)
    found = model.infer(other_X[:9])
    assert not found.exact.all()
    assert (found.bound >= found.scores[:, 0]).all()
    with pytest.warns(UserWarning, match="of 9 outputs are not proved to be the best"):
        assert model.predict(other_X[:9]) == right
    with pytest.warns(ConvergenceWarning, match="time limits ended the searches for the worst outputs of"):
        StructuralSVM(C=1.0, task=Joint(time_limit=5.0), n_jobs=1, max_iterations=2).fit(X[:8], y[:8])
    monkeypatch.setattr(points.highs, "solve", nothing)
    with pytest.raises(Infeasible, match=r"sentence \d has no output that was found in 5 seconds; give it more time"):
        model.predict(other_X[:9])


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([(0, "person"), (1, "beast")], r"there is no variable \(1, 'beast'\); declare it, or leave it out"),
        ([(0, "person"), (0, "person")], r"the variable \(0, 'person'\) is there twice"),
        ([(0, "person")], "it breaks the row 'one type of 1'; correct the output"),
        ([(0, "firm"), (1, "firm"), (0, 1, "works for")], "it breaks the row 'works for has a person first'"),
        ("person", "write a set or list of the names that are 1"),
        ({(0, "person"): 1}, "write a set or list of the names that are 1"),
        (3, "write a set or list of the names that are 1"),
        ([{}], "{} cannot name a variable"),
    ],
)
def test_outputs_that_are_none(y, said):
    X = [{"words": ["Ann", "Acme"], "verb": "at"}] * 2
    known = [(0, "person"), (1, "firm"), (0, 1, "works for")]
    with pytest.raises(DataError, match=f"sentence 1: .* is no output: {said}"):
        StructuredPerceptron(task=Joint()).fit(X, [known, y])


def test_names_may_come_from_json():
    X = [{"words": ["Ann", "Acme"], "verb": "at"}]
    model = StructuredPerceptron(task=Joint(), n_jobs=1).fit(X, [[[0, "person"], [1, "firm"], [0, 1, "works for"]]])
    assert model.predict(X) == [[(0, "person"), (1, "firm"), (0, 1, "works for")]]
    assert model.score(X, [[[1, "firm"], [0, "person"], [0, 1, "works for"]]]) == 1.0


def declare(**actions):
    """Variables a and b, and what is done to them."""
    found = Variables()
    found.add("a", {"size": 1.0}, colour="red")
    found.add(("b", 2))
    for name, arguments in actions.items():
        getattr(found, name)(*arguments)
    return found


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        ({"add": ("a",)}, "the variable 'a' is declared twice; give each variable a name of its own"),
        ({"add": (float("nan"),)}, "nan cannot name a variable; a name is a string, a number, or a tuple of these"),
        ({"add": ({1},)}, "cannot name a variable"),
        ({"add": ("c", ["red"])}, "the features of the variable 'c' are a dict"),
        ({"row": ({"c": 1.0}, "<=", 1)}, "a row has the variable 'c', which is not declared; add it before the row"),
        ({"row": ({"a": float("nan")}, "<=", 1)}, "a row has the coefficient nan for 'a'; coefficients are finite"),
        ({"row": ({"a": "1"}, "<=", 1)}, "a row has the coefficient '1' for 'a'"),
        ({"row": ({"a": 1.0}, "<", 1)}, "a row is compared by one of <=, >=, ==, got '<'"),
        ({"row": ({"a": 1.0}, "<=", np.inf)}, "a row is compared with inf; give a finite number"),
        ({"row": (["a"], "<=", 1)}, "a row has coefficients by name"),
        ({"row": ({"a": 0.0}, ">=", 1)}, "has no variable and cannot hold; leave it out"),
        ({"exactly_one": ([],)}, "has no variable and cannot hold; leave it out"),
        ({"exactly_one": ("ab",)}, "exactly_one takes a list of names, got the string 'ab'"),
        ({"at_most_one": (["a", "a"],)}, "at_most_one has the variable 'a' twice; name each once"),
        ({"at_least_one": (["a", "c"],)}, "at_least_one has the variable 'c', which is not declared"),
        ({"implies": ("a", "c")}, "a row has the variable 'c'"),
    ],
)
def test_declarations_that_make_no_sense(actions, said):
    with pytest.raises(DataError, match=said):
        declare(**actions)


def test_what_is_declared():
    found = declare(
        row=({"a": 2.0, ("b", 2): -1.5}, ">=", -1), implies=("a", ["b", 2]), at_least_one=(["a", ("b", 2)],),
        at_most_one=([],), exactly_one=([("b", 2)],),
    )  # fmt: skip
    assert "a" in found
    assert ["b", 2] in found
    assert len(found) == 2
    rows, features = found.declared()
    assert features == [{"size": 1.0, "colour": "red"}, {}]
    assert rows.names == ("a", ("b", 2))
    assert [rows.title(r) for r in range(5)] == [
        "(-1 <= +2 'a' -1.5 ('b', 2))", "(+1 'a' -1 ('b', 2) <= 0)", "(1 <= +1 'a' +1 ('b', 2))", "(0 <= 1)",
        "(+1 ('b', 2) == 1)",
    ]  # fmt: skip


@register_task
@dataclass(frozen=True)
class Given(Program):
    """What each input says."""

    def declare(self, x):
        return x()


def test_inputs_that_make_no_sense():
    fine, none, other = declare, Variables, list
    learner = StructuredPerceptron(task=Given(), n_jobs=1)
    with pytest.raises(DataError, match="input 1: no variable is declared; add at least one, or leave the input out"):
        learner.fit([fine, none], [["a"], []])
    with pytest.raises(DataError, match="input 1: `declare` of Given returns Variables, got list"):
        learner.fit([fine, other], [["a"], []])
    learner.fit([fine, fine], [["a"], []])
    with pytest.raises(DataError, match="input 1: no variable is declared"):
        learner.predict([fine, none])
    with pytest.raises(DataError, match="time_limit must be a number above 0 or None"):
        learner.set_params(task=Given(time_limit=-1)).fit([fine], [["a"]])
    with pytest.raises(
        NotSupported, match="no tractable marginals; use StructuredPerceptron, MIRA, StructuralSVM or JLIS"
    ):
        CRF(task=Given()).fit([fine], [["a"]])
    with pytest.raises(TypeError, match="abstract"):
        Program()


def test_a_program_without_a_solution_is_named():
    learner = StructuredPerceptron(task=Given(), n_jobs=1).fit([declare], [["a"]])

    def impossible():
        found = declare()
        found.row({"a": 2.0, ("b", 2): 2.0}, "==", 3, title="three halves")
        found.row({"a": 2.0, ("b", 2): 1.0}, "<=", 3)
        return found

    with pytest.raises(Infeasible, match="input 1 has no output that satisfies 'three halves'; correct"):
        learner.predict([declare, impossible])


def test_rules_count_variables_by_label(tmp_path):
    """A rule about all relations of a sentence, hard and soft, with labels and without."""
    rng = np.random.default_rng(5)
    X, y = map(list, zip(*[sentence(rng) for _ in range(24)], strict=True))
    base, rule = StructuralSVM(C=0.1, task=Joint(), n_jobs=1), count("works for", "lives in") >= 2
    model = CCM(base, [rule.hard()]).fit(X[:12], y[:12])
    found = model.infer(X[12:])
    assert found.exact.all()
    for names in model.predict(X[12:]):
        assert sum(len(name) == 3 for name in names) >= 2
    plain = model.base_.predict(X[12:])
    assert any(sum(len(name) == 3 for name in names) < 2 for names in plain)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(X[12:]) == model.predict(X[12:])
    kept = count("works for", "lives in") >= 1
    for learner in (CCM(base, [kept]), CoDL(base, [kept], iterations=1, guard=False)):
        learner.fit(X, [*y[:12], *([None] * 12)] if isinstance(learner, CoDL) else y)
        assert learner.score(X, y) > 0.3
        assert learner.penalties_[0] > 1
    best = CCM.around(model.base_, [rule.soft(0.3)]).predict_kbest(X[12:14], 3)
    scores = model.base_.predict_kbest(X[12:14], 12)
    for ranked, free in zip(best, scores, strict=True):
        charged = [one.score - 0.3 * max(0, 2 - sum(len(n) == 3 for n in one.labels)) for one in free]
        np.testing.assert_allclose([one.score for one in ranked], sorted(charged, reverse=True)[:3], atol=1e-6)
        assert free[-1].score < ranked[-1].score  # no output beyond these can be among the best three
    with pytest.raises(NotSupported, match="is a condition on tokens, and these parts are about none"):
        CCM(base, [count(where=word.isin("a")) <= 1]).fit(X, y)


def test_good_and_bad_programs():
    rng = np.random.default_rng(6)
    X, y = map(list, zip(*[sentence(rng) for _ in range(16)], strict=True))
    bad = [{**x, "words": ["?", "?", "?"]} for x in X[8:]]
    learner = JLIS(task=Joint(), guard=False, C2=0.05, tolerance=0.1, change=0.1, n_jobs=1)
    model = learner.fit([*X, *bad], [*y[:8], *([GOOD] * 8), *([BAD] * 8)])
    assert np.mean(model.decision_function(X[8:]) > model.decision_function(bad)) > 0.9
