"""Real processes of joblib, Dask and Ray: the same numbers as threads, errors and warnings, processes that die."""

import os
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from time import sleep

import numpy as np
import pytest

from sidelight import (
    CCM,
    CRF,
    EM,
    HMM,
    CoDL,
    DataError,
    Infeasible,
    PosteriorRegularization,
    StructuralSVM,
    WordAligner,
    changes_only_after,
    count,
    generate_references,
    punctuation,
    starts_with,
)
from sidelight.running import running_on, scatter
from sidelight.running.cluster import _parsed
from sidelight.running.places import current

X, Y = generate_references(80, seed=3)
HALF = [*Y[:10], *[None] * 70]
RULES = [starts_with("author"), changes_only_after(punctuation)]
FITS = {
    "crf": (lambda: CRF(solver="lbfgs", max_iterations=8), Y),
    "svm": (lambda: StructuralSVM(max_iterations=2), Y),
    "em": (lambda: EM(HMM(), iterations=2, guard=False), HALF),
    "codl": (lambda: CoDL(HMM(), RULES, iterations=2, guard=False), HALF),
    "pr": (
        lambda: PosteriorRegularization(CRF(solver="lbfgs", max_iterations=8), RULES, iterations=3, guard=False),
        HALF,
    ),
}


@pytest.fixture(scope="module", params=["joblib:2", "dask:2", "ray:2"])
def place(request):
    library = {"dask": "distributed"}.get(request.param[:4], request.param.partition(":")[0])
    pytest.importorskip(library)
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    with running_on(request.param) as cluster:
        yield cluster


def fitted(name):
    make, known = FITS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make().fit(X, known)


def numbers(model):
    """All arrays of all models inside."""
    if model.models_:
        return [array for one in model.models_.values() if one is not None for array in numbers(one)]
    return [array for _, array in sorted(model.model_.state().items())]


def in_threads(function, *args):
    """Contexts are not inherited by threads, so that this runs where work always ran."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *args).result()


@cache
def numbers_of_threads(name):
    """They are the same for all places."""
    return numbers(in_threads(fitted, name))


@pytest.mark.parametrize("name", FITS)
def test_fits_are_those_of_threads(place, name):
    assert current() is place
    for one, other in zip(numbers_of_threads(name), numbers(fitted(name)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_predictions_are_those_of_threads(place):
    model = in_threads(lambda: HMM().fit(X[:20], Y[:20]))
    inputs = [X[30], [], *X[31:60]]
    assert model.predict(inputs) == in_threads(model.predict, inputs)
    for one, other in zip(model.predict_marginals(inputs), in_threads(model.predict_marginals, inputs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    before = place.traffic.calls
    np.testing.assert_allclose(model.log_partition(X), in_threads(model.log_partition, X), rtol=1e-12)
    assert place.traffic.calls == before + 1


def test_errors_of_the_work_are_raised_here(place):
    model = in_threads(lambda: CCM(HMM(), [(count("author") >= 3).hard()]).fit(X[:20], Y[:20]))
    with pytest.raises(Infeasible, match="author"):
        model.predict([["one"], ["two"]])


def _warn(part, common):
    warnings.warn(f"part {part}", UserWarning, stacklevel=1)
    return part


def test_warnings_of_the_work_are_heard_here(place):
    with pytest.warns(UserWarning, match="part 1"):
        assert list(scatter([0, 1]).map(_warn)) == [0, 1]


def _slowly(part, common, shared):
    sleep(0.3)
    return part + common + shared


def test_a_process_that_dies_is_replaced(place):
    parts = scatter(list(range(8)), 100)
    victims = set(place.evaluated("__import__('os').getpid()"))
    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(lambda: (sleep(0.5), os.kill(min(victims), signal.SIGKILL)))
        assert list(parts.map(_slowly, 1000)) == [1100 + i for i in range(8)]
        killing.result()
    assert list(parts.map(_slowly, 2000)) == [2100 + i for i in range(8)]


def test_parts_travel_once_and_what_is_shared_each_time(place):
    parts, before = scatter([np.zeros(100_000), np.ones(100_000)]), place.traffic.placed
    place.traffic.sent = place.traffic.received = 0
    for _ in range(3):
        list(parts.map(_total, np.zeros(10_000)))
    assert place.traffic.placed == before
    assert 3 * 2 * 80_000 <= place.traffic.sent < 3 * 2 * 82_000
    assert place.traffic.received < 3 * 2 * 2000


def _total(part, common, shared):
    return float(part.sum() + shared.sum())


@pytest.mark.parametrize("where", ["joblib", "dask:0", "spark:4", 0, True, None, "joblib:four"])
def test_places_that_are_none(where):
    with pytest.raises(DataError, match="where work runs"):
        _parsed(where)


def test_places_by_name():
    assert _parsed(4) == _parsed("4") == _parsed("joblib:4") == ("joblib", 4)
    assert _parsed("dask:tcp://host:8786") == ("dask", "tcp://host:8786")
    assert _parsed("ray:auto") == ("ray", "auto")


def test_words_are_aligned_as_in_threads(place):
    pairs = [(["a", "b", "c"][: 1 + i % 3], ["x", "y", "z"][: 1 + i % 2]) for i in range(60)]
    here, there = in_threads(lambda: WordAligner().fit(pairs)), WordAligner().fit(pairs)
    assert there.predict(pairs) == here.predict(pairs)
    np.testing.assert_allclose([one.objective for one in there.trace_], [one.objective for one in here.trace_])
