"""Estimators keep scikit-learn's conventions, and do without it until it is asked for."""

import copy
import pickle
import subprocess
import sys

import pytest
import sklearn.base
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sidelight import CRF, HMM, MaxEnt, StructuredPerceptron
from sidelight.estimator import Estimator, available_if, clone, require_fitted, warn_convergence


def made(base):
    class Example(base):
        """An estimator on either base."""

        def __init__(self, first=1, second=None):
            self.first, self.second = first, second

        def fit(self, X, y, sample_weight=None):
            self.classes_ = ["A"]
            return self

    return Example


Own, Theirs = made(Estimator), made(sklearn.base.BaseEstimator)
VALUES = [{}, {"first": 3}, {"second": ["some text"] * 40}, {"first": "x" * 200, "second": {"a": 1.5}}]


@pytest.mark.parametrize("values", VALUES)
def test_the_same_as_an_estimator_of_scikit_learn(values):
    own, theirs = (cls(second=[cls(**values), cls(first=cls())]) for cls in (Own, Theirs))
    assert repr(own) == repr(theirs)
    with config_context(print_changed_only=False):
        assert repr(own) == repr(theirs)
    assert own.get_params().keys() == theirs.get_params().keys()
    assert own.__sklearn_tags__() == theirs.__sklearn_tags__()
    assert str(own.get_metadata_routing()) == str(theirs.get_metadata_routing())
    assert own._repr_mimebundle_()["text/plain"] == theirs._repr_mimebundle_()["text/plain"]
    with config_context(display="text"):
        assert not hasattr(own, "_repr_html_")


def test_parameters_of_estimators_inside():
    outer = Own(Own(5), Own(Own(6)))
    assert outer.get_params(deep=False) == {"first": outer.first, "second": outer.second}
    assert outer.get_params()["second__first__first"] == 6
    assert outer.set_params(second__first__first=7, first=8) is outer
    assert (outer.first, outer.second.first.first) == (8, 7)
    with pytest.raises(ValueError, match=r"Invalid parameter 'third' for estimator Example\(.*Valid .*'second'\]"):
        Own().set_params(third=1)


@pytest.mark.parametrize("function", [clone, sklearn.base.clone])
def test_clones(function):
    inner = Own([1])
    outer = Own([inner], {"inside": inner}).fit(None, None)
    twin = function(outer)
    assert type(twin) is Own
    assert not hasattr(twin, "classes_")
    assert repr(twin) == repr(outer)
    assert twin.first[0] is not inner
    assert twin.second["inside"].first == [1]
    assert twin.second["inside"].first is not inner.first


def test_requests_for_metadata_belong_to_the_estimator_and_its_copies():
    with config_context(enable_metadata_routing=True):
        own = Own()
        assert own.set_fit_request(sample_weight=True) is own
        for one in (own, clone(own), sklearn.base.clone(own), copy.deepcopy(own), pickle.loads(pickle.dumps(CRF()))):
            asked = one.get_metadata_routing().fit.requests
            assert asked == {"sample_weight": None if isinstance(one, CRF) else True}
        with pytest.raises(TypeError, match="Unexpected args"):
            own.set_fit_request(nonsense=True)
        kept = pickle.loads(pickle.dumps(HMM().set_fit_request(sample_weight="weights")))
        assert kept.get_metadata_routing().fit.requests == {"sample_weight": "weights"}
    with pytest.raises(RuntimeError, match="metadata routing is enabled"):
        Own().set_fit_request(sample_weight=True)
    assert hasattr(StructuredPerceptron(), "set_partial_fit_request")
    assert not hasattr(CRF(), "set_partial_fit_request")


def test_methods_that_some_have():
    class Even(Estimator):
        def __init__(self, number=0):
            self.number = number

        @available_if(lambda self: self.number % 2 == 0)
        def half(self):
            """Half of it."""
            return self.number // 2

    assert Even(4).half() == Even.half(Even(4)) == 2
    assert Even.half.__doc__ == "Half of it."
    assert "half" in dir(Even(4))
    assert "half" not in dir(Even(3))
    for odd in (Even(3), Even("three")):
        with pytest.raises(AttributeError, match="This 'Even' has no attribute 'half'"):
            odd.half()
    with pytest.raises(AttributeError, match="'Even' object has no attribute 'third'"):
        Even().third  # noqa: B018
    with pytest.raises(AttributeError, match="was not fitted to a matrix"):
        MaxEnt().n_features_in_  # noqa: B018


def test_errors_and_warnings_are_those_of_scikit_learn():
    require_fitted(Own().fit(None, None))
    with pytest.raises(NotFittedError, match="This Example instance is not fitted yet"):
        require_fitted(Own())
    with pytest.warns(ConvergenceWarning, match="too few"):
        warn_convergence("too few")


def test_fits_and_predictions_do_without_scikit_learn():
    code = """
import sys
from sidelight import CCM, CRF, starts_with
X, y = [["a", "b"], ["c"]] * 4, [["P", "Q"], ["P"]] * 4
model = CCM(CRF(), [starts_with("P")], guard=False).fit(X, y)
model.predict(X)
print({name.partition(".")[0] for name in sys.modules} & {"sklearn", "joblib"})
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
