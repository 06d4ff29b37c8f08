"""Real processes of joblib, Dask and Ray: the same numbers as threads, errors and warnings, processes that die."""

import os
import pickle
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
    ClusterError,
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
from sidelight.running.joblib_cluster import JoblibProcesses
from sidelight.running.places import current

from . import work

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


@pytest.fixture(scope="module", params=["joblib:2", "dask:3", "ray:2"])
def place(request):
    library = {"dask": "distributed"}.get(request.param[:4], request.param.partition(":")[0])
    pytest.importorskip(library)
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    with running_on(request.param) as cluster:
        yield cluster


def test_as_many_processes_work_as_asked_for(place):
    asked = {"JoblibProcesses": 2, "DaskCluster": 3, "RayCluster": 2}[type(place).__name__]
    assert place.workers == place.traffic.workers == asked


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


def test_warnings_of_the_work_are_heard_here(place):
    with pytest.warns(UserWarning, match="part 1"):
        assert list(scatter([0, 1]).map(work.warn)) == [0, 1]


def test_a_process_that_dies_is_replaced(place):
    parts = scatter(list(range(8)), 100)
    victims = set(place.evaluated("__import__('os').getpid()"))
    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(lambda: (sleep(0.5), os.kill(min(victims), signal.SIGKILL)))
        assert list(parts.map(work.slowly, 1000)) == [1100 + i for i in range(8)]
        killing.result()
    assert list(parts.map(work.slowly, 2000)) == [2100 + i for i in range(8)]


def test_parts_travel_once_and_what_is_shared_each_time(place):
    parts, before = scatter([np.zeros(100_000), np.ones(100_000)]), place.traffic.placed
    place.traffic.sent = place.traffic.received = 0
    for _ in range(3):
        list(parts.map(work.total, np.zeros(10_000)))
    assert place.traffic.placed == before
    assert 3 * place.workers * 80_000 <= place.traffic.sent < 3 * place.workers * 82_000
    assert place.traffic.received < 3 * place.workers * 2000


@pytest.mark.parametrize("where", ["joblib", "dask:0", "spark:4", 0, True, None, "joblib:four", 10**5, "9" * 400])
def test_places_that_are_none(where):
    with pytest.raises(DataError, match="where work runs"):
        _parsed(where)


def test_places_by_name():
    assert _parsed(4) == _parsed("4") == _parsed("joblib:4") == ("joblib", 4)
    assert _parsed("dask:tcp://host:8786") == ("dask", "tcp://host:8786")
    assert _parsed("ray:auto") == ("ray", "auto")


def test_workers_of_dask_come_back_however_long_they_take():
    pytest.importorskip("distributed")
    from dask import config

    with config.set({"distributed.deploy.lost-worker-timeout": "1ms"}), running_on("dask:1") as place:
        before = place.evaluated("__import__('os').getpid()")
        os.kill(before[0], signal.SIGKILL)
        while set(place.evaluated("1")) != {1}:
            sleep(0.05)
            place.recover()


class _Leftovers:
    """Makes calls here, and returns first what was left of the calls before, as joblib does after a death."""

    n_jobs, left = 2, ()

    def __call__(self, calls):
        before, found = self.left, [function(*args, **named) for function, args, named in calls]
        self.left = found[:2]
        return [*before, *found]


def test_results_of_calls_that_were_given_up_are_not_taken_for_others(tmp_path):
    place = JoblibProcesses(_Leftovers(), tmp_path)
    parts = place.hold([1, 2, 3], 10)
    for shared in (100, 200):
        assert list(place.map(_added, parts, range(3), (shared,), None)) == [shared + 10 + i for i in (1, 2, 3)]
        assert place.evaluated("6 * 7") == [42, 42]


def test_only_names_go_through_joblib(tmp_path):
    """A process that is killed while it sends something long would leave all others waiting."""

    class Sizes(_Leftovers):
        def __call__(self, calls):
            found = super().__call__(calls)
            assert max(len(pickle.dumps(one)) for one in found) < 1000
            return found

    place = JoblibProcesses(Sizes(), tmp_path)
    parts = place.hold([np.zeros(100_000), np.ones(100_000)], 10)
    for shared in (100, 200):
        first, second = place.map(_added, parts, range(2), (shared,), None)
        assert (first == shared + 10).all()
        assert (second == shared + 11).all()
    assert len(list(tmp_path.glob("answer-*"))) == 0


def _added(part, common, shared):
    return part + common + shared


@pytest.mark.parametrize("where", ["ray:2", "ray:auto"])
def test_a_ray_cluster_that_does_not_start(where, monkeypatch):
    ray = pytest.importorskip("ray")

    def init(**options):
        raise Exception("the node timed out")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(ClusterError, match=r"(could not start 2|no Ray cluster answers).*timed out"), running_on(where):
        pass


def test_words_are_aligned_as_in_threads(place):
    pairs = [(["a", "b", "c"][: 1 + i % 3], ["x", "y", "z"][: 1 + i % 2]) for i in range(60)]
    here, there = in_threads(lambda: WordAligner().fit(pairs)), WordAligner().fit(pairs)
    assert there.predict(pairs) == here.predict(pairs)
    np.testing.assert_allclose([one.objective for one in there.trace_], [one.objective for one in here.trace_])


def test_a_process_that_has_just_died_is_not_asked(place):
    # The last test of a place: a death may be noticed only later.
    for _ in range(3):
        os.kill(min(place.evaluated("__import__('os').getpid()")), signal.SIGKILL)
        assert set(place.evaluated("6 * 7")) <= {42}
