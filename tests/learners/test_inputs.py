"""What every learner does to X and y first."""

import inspect

import numpy as np
import pytest

import sidelight
from sidelight import BAD, CCM, CRF, DMV, GOOD, HMM, LCLR, DataError, Infeasible, MaxEnt, NotSupported
from sidelight.learners.learner import Learner
from sidelight.learners.registry import REGISTRY
from sidelight.learners.wrappers.agreement import random_views
from sidelight.transfer import complete_at_random

METHODS = ("fit", "partial_fit", "predict_structure", "complete", "infer", "decision_function", "explain", "score")


class Recording(Learner):
    """Keeps what it is given, or fails."""

    def __init__(self, error=None):
        self.error = error

    def fit(self, X, y, *, sample_weight=None):
        if self.error is not None:
            raise self.error
        self.given = X, y, sample_weight
        return self


@pytest.mark.parametrize("name", sidelight.LEARNERS)
def test_every_learner_reads_inputs_alike(name):
    found = [getattr(getattr(sidelight, name), method, None) for method in METHODS]
    assert all(hasattr(method, "reads_inputs") for method in found if inspect.isfunction(method))


def test_empty_sequences_are_set_aside():
    X, y = [[], ["a"], [], ["b"]], [None, ["A"], [], None]
    learner = Recording().fit(X, y=y, sample_weight=np.arange(4))
    assert learner.given == ([["a"], ["b"]], [["A"], None], [1, 3])
    assert Recording().fit(X, {"one": y, "two": y}).given[1] == {"one": [["A"], None], "two": [["A"], None]}
    assert Recording().fit(X, y, sample_weight=[1]).given[2] == [1]  # for the learner to refuse
    full = [["a"]], [["A"]]
    assert Recording().fit(*full).given == (*full, None)


def test_errors_name_places_among_all():
    X, y = [[], ["a"], [], ["b"]], [[], ["A"], [], ["B"]]
    for error, message in [
        (DataError("sequence 1, token 0: it is wrong"), "sequence 3, token 0: it is wrong"),
        (NotSupported("it cannot be (sequence 0); so"), r"it cannot be \(sequence 1\); so"),
        (Infeasible("has no output", 1), "sequence 3 has no output"),
        (DataError("X has 2 sequences"), "^X has 2 sequences$"),
    ]:
        with pytest.raises(type(error), match=message):
            Recording(error).fit(X, y)
    with pytest.raises(DataError, match="X has 4 sequences but y has 3"):
        Recording().fit(X, y[:3])
    with pytest.raises(DataError, match="sequence 2, token 0: expected a string"):
        HMM().fit([[], ["a"], [3]], [[], ["A"], ["A"]])
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        HMM().fit(X)


def test_empty_sentences_have_empty_trees():
    X, y = [[("a", "D"), ("b", "N")], [], [("b", "N")]], [[2, 0], [], [0]]
    assert DMV().fit(X, y).predict([[], X[0]]) == [[], y[0]]


def test_empty_sequences_are_judged_by_the_constant():
    model = LCLR(classes=["A", "B"], max_rounds=1).fit([["a"], ["b"], []], [GOOD, BAD, BAD])
    assert model.decision_function([[], ["a"]])[0] == pytest.approx(model.constant * model.constant_weight_)
    assert len(model.predict([[], ["a"]])) == 2


@pytest.mark.parametrize("learner", [CRF(), HMM(), CCM(HMM(), guard=False), MaxEnt()], ids=str)
def test_structured_arrays_are_refused(learner):
    """As all inputs, as each of them, and as their tokens."""
    table = np.zeros(2, [("a", int), ("b", float)])
    y = ["A", "B"] if isinstance(learner, MaxEnt) else [["A", "B"], ["B", "A"]]
    for given in (table, [table, table], [table[0], table[1]], [[table[0], table[1]]] * 2):
        with pytest.raises(DataError):
            learner.fit(given, y)


SEEDED = sorted(name for name in REGISTRY if "random_state" in getattr(sidelight, name)._get_param_names())


@pytest.mark.parametrize("name", SEEDED)
def test_seeds_are_whole_numbers(name):
    cls = getattr(sidelight, name)
    around = {"base": HMM()} if "base" in cls._get_param_names() else {}
    for value in (-1, 1.5, "1", True, [1], 10**30):
        learner = cls(*([CRF(), CRF()],) * (name == "Agreement"), **around, random_state=value)
        with pytest.raises(DataError, match=r"^random_state must be a whole number of at least 0 or None, got "):
            learner.fit([["a", "b"], ["b"]], [["A", "B"], ["B"]])


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: sidelight.shuffled([["a", "b"]], seed=seed),
        lambda seed: sidelight.transposed([["a", "b"]], seed=seed),
        lambda seed: sidelight.mismatched([("a", "b"), ("c", "d")], seed=seed),
        lambda seed: sidelight.generate_references(1, seed=seed),
        lambda seed: random_views(MaxEnt(), seed=seed),
        lambda seed: complete_at_random([[[0]]], random_state=seed),
    ],
    ids=["shuffled", "transposed", "mismatched", "generate_references", "random_views", "complete_at_random"],
)
def test_seeds_of_functions_are_whole_numbers(draw):
    for value in (-1, 1.5, "1", True, None):
        with pytest.raises(DataError, match=r"^(seed|random_state) must be a whole number of at least 0, got "):
            draw(value)
    draw(np.int64(3))
