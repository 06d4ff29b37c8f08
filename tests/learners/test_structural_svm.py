import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sidelight import StructuralSVM, load
from sidelight.errors import DataError, NotSupported
from tests.learners.samples import labelled

X, Y = labelled()


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_gap_is_a_certificate(loss):
    rough = StructuralSVM(loss=loss, C=1.0, tolerance=0.05).fit(X, Y)
    close = StructuralSVM(loss=loss, C=1.0, tolerance=1e-5, epsilon=0.0, max_iterations=3000).fit(X, Y)
    assert rough.converged_
    assert close.converged_
    assert rough.trace_[-1].dual <= close.trace_[-1].objective
    assert rough.trace_[-1].objective - close.trace_[-1].objective <= rough.trace_[-1].gap
    assert close.trace_[-1].relative_gap <= 1e-5


def test_subgradient_steps_do_not_converge_where_the_objective_rises():
    """Once 40.6, the last one, was called converged here, where the optimum is 34.1."""
    inputs, labels = labelled(seed=1)
    with pytest.warns(ConvergenceWarning, match="StructuralSVM stopped before its tolerance"):
        found = StructuralSVM(C=10.0, solver="sgd").fit(inputs, labels)
    assert not found.converged_
    optimum = StructuralSVM(C=10.0, tolerance=1e-3, max_iterations=3000).fit(inputs, labels).trace_[-1]
    assert found.trace_[-1].dual <= optimum.objective
    assert found.trace_[-1].objective < 1.15 * optimum.objective


@pytest.mark.parametrize(("solver", "within"), [("eg", 1e-3), ("sgd", 0.01)])
def test_all_solvers_reach_the_same_optimum(solver, within):
    least = (
        StructuralSVM(loss="hinge", C=0.5, tolerance=1e-5, epsilon=0.0, max_iterations=3000).fit(X, Y).trace_[-1].dual
    )
    found = StructuralSVM(loss="hinge", C=0.5, solver=solver, tolerance=within, max_iterations=3000).fit(X, Y)
    assert found.converged_
    assert least <= found.trace_[-1].objective <= (1 + within) * least * 1.001


def test_solvers_say_what_they_need():
    with pytest.raises(NotSupported, match="solver 'eg' needs loss='hinge'"):
        StructuralSVM(solver="eg").fit(X, Y)
    for solver in ("eg", "sgd"):
        with pytest.raises(NotSupported, match=f"solver '{solver}' has no warm start"):
            StructuralSVM(solver=solver, loss="hinge", warm_start=True).fit(X, Y)
    with pytest.raises(NotSupported, match="solver 'eg' needs order=1"):
        StructuralSVM(solver="eg", loss="hinge", order=2).fit(X, Y)
    with pytest.raises(DataError, match="solver must be 'dcd', 'eg' or 'sgd', got 'newton'"):
        StructuralSVM(solver="newton").fit(X, Y)


def test_larger_costs_fit_more_closely():
    errors = [1 - StructuralSVM(["word"], C=C).fit(X, Y).score(X, Y) for C in (1e-4, 0.01, 10.0)]
    assert errors[0] > errors[-1]
    norms = [np.linalg.norm(StructuralSVM(["word"], C=C).fit(X, Y).weights_) for C in (1e-4, 0.01, 10.0)]
    assert norms == sorted(norms)


def test_warm_start_reaches_the_same_optimum_in_fewer_searches():
    options = {"tolerance": 1e-4, "epsilon": 1e-4, "max_iterations": 1000}
    warm = StructuralSVM(C=1.0, warm_start=True, **options).fit(X, Y)
    searches = len(warm.trace_)
    warm.set_params(C=1.1).fit(X, Y)
    cold = StructuralSVM(C=1.1, **options).fit(X, Y)
    np.testing.assert_allclose(warm.trace_[-1].objective, cold.trace_[-1].objective, rtol=3e-4)
    assert len(warm.trace_) < searches
    with pytest.raises(DataError, match="a warm start needs the data of the last fit"):
        warm.fit(X[:20], Y[:20])
    with pytest.raises(DataError, match="a warm start needs the data of the last fit"):
        warm.fit(X[::-1], Y[::-1])
    swapped = [[{"A": "T", "T": "A"}.get(label, label) for label in y] for y in Y]
    with pytest.raises(DataError, match="a warm start needs the data of the last fit"):
        warm.fit(X, swapped)
    other = [["Ann"] * len(x) for x in X]
    with pytest.raises(DataError, match="a warm start needs the data of the last fit"):
        warm.fit(other, Y)


def test_one_thread_and_many_agree():
    one, many = (StructuralSVM(n_jobs=n).fit(X * 40, Y * 40) for n in (1, 2))
    np.testing.assert_array_equal(one.weights_, many.weights_)


def test_stopping_early_is_said():
    with pytest.warns(ConvergenceWarning, match=r"StructuralSVM stopped before its tolerance, at objective .* gap"):
        learner = StructuralSVM(C=10.0, tolerance=1e-9, max_iterations=3).fit(X, Y)
    assert not learner.converged_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "C must be a finite number above 0, got 0.0"),
        ({"C": -1.0}, "C must be a finite number above 0, got -1.0"),
        ({"C": float("nan")}, "C must be a finite number above 0"),
        ({"loss": "log"}, "loss must be 'squared_hinge', 'hinge' or 'logistic', got 'log'"),
        ({"tolerance": 0.0}, "tolerance must be a finite number above 0"),
        ({"epsilon": -0.1}, "epsilon must be a finite number of at least 0"),
        ({"max_iterations": 0}, "max_iterations must be a whole number of at least 1"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(DataError, match=message):
        StructuralSVM(**options).fit(X, Y)


def test_files_keep_the_certificate(tmp_path):
    learner = StructuralSVM().fit(X, Y)
    learner.save(tmp_path / "m")
    read = load(tmp_path / "m")
    assert list(map(str, read.trace_)) == list(map(str, learner.trace_))
    assert read.converged_ is True
