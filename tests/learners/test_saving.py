"""What `fit` takes, `save` writes and `load` reads: every learner with every parameter at every kind of value."""

import warnings
from collections.abc import Mapping, Sequence
from math import inf, nan
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

import numpy as np
import pytest

import sidelight as sl
from sidelight.declared import Bounds, parameter_hints
from sidelight.errors import DataError, NotSupported, SidelightError
from sidelight.stored import matches
from tests.parts_data import sentences

X = [["Ann", "run"], ["7", "Bob"], ["run", "7"], ["Ann"]]
Y = [["A", "T"], ["Y", "A"], ["T", "Y"], ["A"]]
FEW, ANSWERS = [*Y[:3], None], [sl.GOOD, sl.BAD, sl.GOOD, sl.BAD]
TOPICS = ["s", "l", "s", "l"]
RULES = [sl.share("A") >= 0.3]
SOON = {"tolerance": 0.1, "change": 0.1, "max_rounds": 1}


def crf(feature="word"):
    return sl.CRF([feature], tolerance=0.1)


CASES = {
    "Auto": (lambda: sl.Auto(folds=2, budget=0.0), X, FEW),
    "CRF": (crf, X, Y),
    "HMM": (sl.HMM, X, Y),
    "DMV": (sl.DMV, *sentences(3)),
    "SemiCRF": (lambda: sl.SemiCRF(["word"], tolerance=0.1), X, Y),
    "StructuredPerceptron": (lambda: sl.StructuredPerceptron(["word"], epochs=2), X, Y),
    "KernelPerceptron": (lambda: sl.KernelPerceptron(["word"], epochs=2), X, Y),
    "MIRA": (lambda: sl.MIRA(["word"], epochs=2), X, Y),
    "StructuralSVM": (lambda: sl.StructuralSVM(["word"], tolerance=0.1), X, Y),
    "LatentStructuralSVM": (lambda: sl.LatentStructuralSVM(["word"], **SOON), X, Y),
    "JLIS": (lambda: sl.JLIS(["word"], guard=False, **SOON), X, [*Y[:2], sl.GOOD, sl.BAD]),
    "LCLR": (lambda: sl.LCLR(["word"], classes=["A", "T"], **SOON), X, ANSWERS),
    "TwoStage": (lambda: sl.TwoStage(["word"], classes=["A", "T"], initial={"word=Ann": 1.0}), X, ANSWERS),
    "CCM": (lambda: sl.CCM(sl.HMM(), [sl.starts_with("A")]), X, Y),
    "CoDL": (lambda: sl.CoDL(sl.HMM(), iterations=1, guard=False), X, FEW),
    "EM": (lambda: sl.EM(sl.HMM(), iterations=1, guard=False), X, FEW),
    "SelfTraining": (lambda: sl.SelfTraining(sl.HMM(), guard=False), X, FEW),
    "PosteriorRegularization": (
        lambda: sl.PosteriorRegularization(sl.HMM(), RULES, iterations=1, guard=False), X, FEW
    ),
    "UnifiedEM": (lambda: sl.UnifiedEM(sl.HMM(), RULES, iterations=1, guard=False), X, FEW),
    "DeterministicAnnealing": (
        lambda: sl.DeterministicAnnealing(sl.HMM(), RULES, iterations=1, temperatures=1, guard=False), X, FEW
    ),
    "GeneralizedExpectation": (lambda: sl.GeneralizedExpectation(crf(), RULES, guard=False), X, FEW),
    "EntropyRegularization": (lambda: sl.EntropyRegularization(crf(), guard=False), X, FEW),
    "Combined": (lambda: sl.Combined(crf(), RULES, weights={}, iterations=1, guard=False), X, FEW),
    "Agreement": (lambda: sl.Agreement([crf(), crf("word.prefix(1)")], iterations=1, guard=False), X, FEW),
    "TransductiveSVM": (lambda: sl.TransductiveSVM(["word"], steps=1, guard=False, **SOON), X, FEW),
    "ContrastiveEstimation": (
        lambda: sl.ContrastiveEstimation(classes=["A", "T", "Y"], max_iterations=2), X, [None] * 4
    ),
    "MaxEnt": (sl.MaxEnt, X, TOPICS),
    "DocumentJLIS": (lambda: sl.DocumentJLIS(change=0.1, tolerance=0.1), X, [*TOPICS[:3], sl.BAD]),
}  # fmt: skip
# Values of parameters whose annotation does not say what else there is.
OTHERS = {
    "features": (("word",), [sl.word.lower()]),
    "begin_features": ([sl.word],),
    "end_features": ([],),
    "base": (sl.HMM(order=1, rare=0), crf("word.lower()")),
    "views": ({"one": crf(), "other": sl.View(crf("word.prefix(1)"))},),
    "predict_by": ("view 2",),
    "label_maps": ({f"view {k}": {"A": "A", "T": "T", "Y": "Y"} for k in (1, 2)},),
    "view": (sl.HMM(), sl.View(crf("word.prefix(1)"))),
    "dictionary": (sl.TagDictionary({"Ann": {"A"}}),),
    "initial": ({"word=run": 1.0}, np.zeros(7)),
    "task": (sl.Labelling(boundaries=False),),
    "emission": ("word.lower()", sl.word),
    "unknown": ("word", sl.word.suffix(1)),
    "symbol": ("word", sl.word),
    "weights": ({"unlabelled": 0.5},),
    "max_length": (4,),
    "start": (2.0,),
    "gamma": (0.5,),
    "penalty": (0.5, "learned"),
    "time_limit": (5.0,),
}
# What few parameters may be.
JUNK = [
    nan, -inf, -1, -0.5, 2.5, 10**400, 1e300, True, "x" * 200_000, b"word", 1j, object(), {1: 2}, {"a"}, range(3),
    sl.CRF, ["A", 1], [[]], np.zeros(2, [("a", int)]), sl.Segmenting(max_length=0),
    sl.Labelling(order=3), sl.CRF(l2="x"),
]  # fmt: skip


def kinds(hint, bounds=None):
    """Values of the kinds that an annotation allows."""
    origin, arguments = get_origin(hint), get_args(hint)
    bounds = bounds or Bounds()
    if origin is Annotated:
        return kinds(arguments[0], next((one for one in arguments if isinstance(one, Bounds)), None))
    if origin in (Union, UnionType):
        return [value for one in arguments for value in kinds(one, bounds)]
    if origin is Literal:
        return list(arguments)
    if origin is Sequence:
        return [] if arguments[0] is not sl.rules.language.Rule else [[], (), tuple(RULES)]
    numbers = {bool: [True, np.False_], int: [1, np.int64(2)], float: [np.float32(0.5)], NoneType: [None]}
    return [one for one in numbers.get(hint, []) if hint not in (int, float) or bounds.hold(one)]


def values(name, hint, cls):
    """Values of a parameter that a learner may have."""
    labels = ["s", "l"] if sl.learners.registry.REGISTRY[cls.__name__].documents == "only" else ["A", "T", "Y"]
    more = (labels, tuple(labels), np.array(labels)) if name == "classes" else OTHERS.get(name, ())
    return [one for one in (*kinds(hint), *more) if matches(one, hint)]


def the_same(one, other):
    """Whether a parameter is what it was: lists stand for tuples and arrays, numbers of Python for those of NumPy."""
    one, other = (value.tolist() if isinstance(value, np.ndarray) else value for value in (one, other))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(the_same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(the_same(one[key], other[key]) for key in one)
    return repr(one) == repr(other) or bool(one == other)


def round_trip(learner, X, path):
    """Save and load; the parameters and the predictions of the copy are those of the fitted learner."""
    learner.save(path)
    again = sl.load(path)
    for name, value in learner.get_params(deep=False).items():
        assert the_same(value, again.get_params(deep=False)[name]), name
    assert repr(again.predict(X)) == repr(learner.predict(X))
    assert repr(list(again.classes_)) == repr(list(learner.classes_))


def test_no_learner_is_left_out():
    assert CASES.keys() == set(sl.LEARNERS)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_every_parameter_at_every_kind_of_value(name, tmp_path):
    """Each is refused by `fit`, or saved and loaded; and each parameter has a value that is."""
    make, X, y = CASES[name]
    hints = parameter_hints(getattr(sl, name))
    saved = set()
    for parameter, hint in hints.items():
        for value in values(parameter, hint, getattr(sl, name)):
            try:
                learner = make().set_params(**{parameter: value}).fit(X, y)
            except (DataError, NotSupported):  # it does not go with the other parameters
                continue
            round_trip(learner, X, tmp_path / "m")
            saved.add(parameter)
    assert hints.keys() - saved <= {"edges", "hash_bits", "size", "calibration"}, hints.keys() - saved


@pytest.mark.parametrize("name", CASES)
def test_values_of_other_kinds_are_refused_by_name(name):
    make, X, y = CASES[name]
    for parameter, hint in parameter_hints(getattr(sl, name)).items():
        for junk in JUNK:
            if not matches(junk, hint):
                with pytest.raises(SidelightError) as caught:
                    make().set_params(**{parameter: junk}).fit(X, y)
                assert parameter.removesuffix("s") in str(caught.value), (parameter, str(caught.value))
                assert len(str(caught.value)) < 500


@pytest.mark.parametrize("parameter", ["features", "base", "views", "view", "n_jobs"])
def test_values_that_have_no_declared_kind(parameter):
    for name, (make, X, y) in CASES.items():
        if parameter not in parameter_hints(getattr(sl, name)):
            continue
        for junk in (2, 0, 2.5, object(), "x" * 200_000, len, sl.CRF, slice(3)):
            if parameter == "n_jobs" and junk == 2:
                continue
            with pytest.raises(SidelightError) as caught, warnings.catch_warnings(action="ignore"):
                make().set_params(**{parameter: junk}).fit(X, y)
            assert len(str(caught.value)) < 500


LABELLINGS = {
    "texts": (["s", "l", "s", "l"], str),
    "whole numbers": ([3, 1, 3, 1], int),
    "truth values": ([True, False, True, False], bool),
    "numbers of NumPy": (np.array([3, 1, 3, 1]), int),
    "truth values of NumPy": (np.array([True, False, True, False]), bool),
    "texts of NumPy": (np.array(["s", "l", "s", "l"]), str),
}
OF_DOCUMENTS = [
    sl.MaxEnt(),
    sl.DocumentJLIS(change=0.1),
    sl.CRF(task=sl.Classifying()),
    sl.StructuredPerceptron(task=sl.Classifying()),
    sl.MIRA(task=sl.Classifying()),
    sl.StructuralSVM(task=sl.Classifying(), tolerance=0.1),
    sl.CCM(sl.MaxEnt(), guard=False),
    sl.CoDL(sl.MaxEnt(), iterations=1, guard=False),
    sl.SelfTraining(sl.MaxEnt(), guard=False),
    sl.UnifiedEM(sl.MaxEnt(), iterations=1, guard=False),
    sl.GeneralizedExpectation(sl.MaxEnt(), guard=False),
    sl.EntropyRegularization(sl.MaxEnt(), guard=False),
    sl.Agreement([sl.MaxEnt(), sl.MaxEnt(l2=0.5)], iterations=1, guard=False),
]


@pytest.mark.parametrize("learner", OF_DOCUMENTS, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_labels_of_documents_come_back_as_they_were(learner, tmp_path):
    for y, kind in LABELLINGS.values():
        round_trip(learner.fit(X, y), X, tmp_path / "m")
        assert {type(one) for one in sl.load(tmp_path / "m").predict(X)} == {kind}
    for y in (["s", 1, "s", 1], [True, 2, True, 2], [True, 0, 1, False]):
        with pytest.raises(DataError, match="y has labels of several kinds; write all as strings"):
            learner.fit(X, y)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("DMV", "MaxEnt", "DocumentJLIS")])
def test_labels_of_tokens_are_texts(name):
    make, X, y = CASES[name]
    for label in (1, True, np.int64(1), 2.5, b"A", ("A",)):
        if name in ("LCLR", "TwoStage"):
            break  # y are answers
        message = "sequence 0, token 0: a label is a string, None or a non-empty set of strings, got"
        hint = ".*; write names in place of numbers" if isinstance(label, int | np.integer) else ""
        with pytest.raises(DataError, match=message + hint):
            make().fit(X, [[label, "T"], *y[1:]])
    if "classes" in parameter_hints(getattr(sl, name)):
        for classes in ([0, 1], [True, False], ["A", None], ["A", 1]):
            with pytest.raises(DataError, match=r"classes must be a list of (texts|labels)( or None)?, got"):
                make().set_params(classes=classes).fit(X, y)


def columns_of(values):
    """The same values as a list, and as what columns and arrays of other libraries are."""
    pandas = pytest.importorskip("pandas")
    return [values, np.array(values), np.array(values, object), pandas.Series(values), pandas.Index(values)]


@pytest.mark.filterwarnings("ignore")
def test_labels_in_columns_of_other_libraries(tmp_path):
    for classes in columns_of(["A", "T", "Y", "Z"]):
        for make, y in ((sl.HMM, Y), (crf, Y), (lambda: sl.JLIS(["word"], **SOON), [sl.GOOD, sl.BAD, sl.GOOD, sl.BAD])):
            with sl.checkpointing(tmp_path / "c"):
                fitted = make().set_params(classes=classes).fit(X, y)
            assert fitted.classes_ == ["A", "T", "Y", "Z"]
            fitted.save(tmp_path / "m")
            assert sl.load(tmp_path / "m").predict(X) == fitted.predict(X)
    for numbers in columns_of([1, 2]):
        with pytest.raises(DataError, match="classes must be a list of texts or None, got"):
            sl.HMM(classes=numbers).fit(X, Y)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8])
def test_penalties_of_other_number_types(kind):
    exact = sl.CRF(l2=1.0, tolerance=0.1).fit(X, Y)
    assert np.array_equal(sl.CRF(l2=kind(1), tolerance=0.1).fit(X, Y).weights_, exact.weights_)


def test_advice_about_large_numbers_works_when_typed():
    with pytest.raises(DataError, match=r"l2 must be .*; write large numbers like 1e\+20"):
        sl.CRF(l2=10**20).fit(X, Y)
    sl.CRF(l2=1e20).fit(X, Y)
    with pytest.raises(DataError, match=r"max_iterations must be .*; use a number below 2\*\*62"):
        sl.CRF(max_iterations=10**20).fit(X, Y)
    sl.CRF(max_iterations=4611686018427387903).fit(X, Y)


@pytest.mark.parametrize(
    ("learner", "parameter", "values"),
    [(sl.CRF, "solver", ["eg", "lbfgs"]), (sl.HMM, "estimate", ["frequencies", "variational"])],
)
def test_grids_may_be_arrays_of_texts(learner, parameter, values, tmp_path):
    for value in np.array(values):
        learner(**{parameter: value}).fit(X, Y).save(tmp_path / "m")
        assert sl.load(tmp_path / "m").get_params()[parameter] == str(value)
