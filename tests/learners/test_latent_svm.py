import numpy as np
import pytest

from sidelight import LatentStructuralSVM, StructuralSVM
from sidelight.errors import DataError
from tests.learners.samples import labelled

X, Y = labelled(seed=2, count=40)


def hide(share, seed=0):
    """Some labels replaced by sets that hold them."""
    rng = np.random.default_rng(seed)
    options = {"A": {"A", "T"}, "T": {"A", "T"}, "Y": {"T", "Y"}}
    return [[label if rng.random() > share else options[label] for label in y] for y in Y]


def objective(learner, y):
    """Eq. 2.18 by its words, at the learner's weights."""
    total = 0.5 * learner.weights_ @ learner.weights_
    for x, known in zip(X, y, strict=True):
        allowed = np.array([[c == k if isinstance(k, str) else c in k for c in learner.classes_] for k in known])
        scores, structure = learner.scores([x]), learner.structure_
        slack = structure.argmax(scores + scores.of_labels((~allowed).astype(float))).scores[0]
        slack -= structure.argmax(scores.restrict(allowed)).scores[0]
        total += learner.C * (slack**2 if learner.loss == "squared_hinge" else slack)
    return total


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("share", [0.2, 0.8])
def test_the_objective_never_rises(loss, share):
    y = hide(share)
    learner = LatentStructuralSVM(loss=loss, C=1.0, change=1e-6).fit(X, y)
    values = [one.objective for one in learner.rounds_] + [learner.objective_]
    assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()
    np.testing.assert_allclose(learner.objective_, objective(learner, y), rtol=1e-6)


def test_full_labels_make_it_the_structural_svm():
    options = {"tolerance": 1e-5, "epsilon": 1e-5, "max_iterations": 2000}
    some = X[:12], Y[:12]
    latent, plain = LatentStructuralSVM(C=0.3, **options).fit(*some), StructuralSVM(C=0.3, **options).fit(*some)
    np.testing.assert_allclose(latent.objective_, plain.trace_[-1].objective, rtol=1e-4)
    np.testing.assert_allclose(latent.weights_, plain.weights_, atol=0.02)


def test_partial_labels_help():
    known = [*Y[:3], *hide(0.7)[3:]]
    assert LatentStructuralSVM(C=1.0).fit(X, known).score(X, Y) > StructuralSVM(C=1.0).fit(X[:3], Y[:3]).score(X, Y)


def test_restarts():
    learner = LatentStructuralSVM(C=1.0, restarts=3).fit(X, hide(0.9))
    assert learner.objective_ == min(learner.run_objectives_)
    assert len(learner.run_objectives_) == 3


@pytest.mark.parametrize(("name", "value"), [("C", 0.0), ("change", 0.0), ("max_rounds", 0), ("restarts", 0.5)])
def test_bad_parameters(name, value):
    with pytest.raises(DataError, match=f"{name} must be a"):
        LatentStructuralSVM(**{name: value}).fit(X, Y)
