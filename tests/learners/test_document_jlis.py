import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from sidelight import BAD, GOOD, DocumentJLIS, load
from sidelight.errors import NotSupported

TOPICS = {"sport": ["ball", "goal", "team"], "law": ["court", "judge", "bill"], "art": ["oil", "paint", "frame"]}
OTHERS = ["rain", "snow", "wind"]


def documents(seed=0, count=40):
    """Words of a topic among common ones; BAD ones are about the weather."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for label, words in TOPICS.items():
        for _ in range(count):
            X.append([*rng.choice(words, 2).tolist(), *rng.choice(["the", "a", "of"], 3).tolist()])
            y.append(label)
    bad = [[*rng.choice(OTHERS, 2).tolist(), *rng.choice(["the", "a", "of"], 3).tolist()] for _ in range(count)]
    return X, y, bad


def test_companions_help_the_classes():
    X, y, bad = documents()
    known = [0, 41, 82]
    rest = [i for i in range(len(X)) if i not in known]
    labelled, labels = [X[i] for i in known], [y[i] for i in known]
    alone = DocumentJLIS().fit(labelled, labels)
    joint = DocumentJLIS(C2=10.0).fit(
        labelled + [X[i] for i in rest] + bad, labels + [GOOD] * len(rest) + [BAD] * len(bad)
    )
    assert joint.score(X, y) > alone.score(X, y)
    assert all(one is GOOD for one in joint.predict_companion(X))
    assert all(one is BAD for one in joint.predict_companion(bad))
    values = [one.objective for one in joint.rounds_] + [joint.objective_]
    assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()


def test_objective_against_a_general_solver():
    """Two classes and full labels: the multiclass SVM of Crammer and Singer with squared loss."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.choice(["p", "q"], 30).tolist()
    learner = DocumentJLIS(C1=0.5, tolerance=1e-4, epsilon=1e-4, max_iterations=1000).fit(X, y)

    def value(w):
        weights, biases = w[:6].reshape(3, 2), w[6:]
        scores = X @ weights + biases
        gold = np.array([label == "q" for label in y], int)
        worst = (scores + 1.0 - np.eye(2)[gold]).max(axis=1) - scores[np.arange(30), gold]
        return 0.5 * w @ w + 0.5 * (worst**2).sum()

    best = minimize(value, np.zeros(8), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(learner.objective_, best.fun, rtol=2e-4)


def test_matrices_and_files(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 4))
    y = [("p" if row[0] > 0 else "q") if i < 10 else (GOOD if i < 15 else BAD) for i, row in enumerate(X)]
    learner = DocumentJLIS().fit(X, y)
    thin = DocumentJLIS().fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(thin.predict(sparse.csr_array(X)), learner.predict(X))
    learner.save(tmp_path / "m")
    read = load(tmp_path / "m")
    np.testing.assert_array_equal(read.decision_function(X), learner.decision_function(X))
    assert clone(learner).get_params() == learner.get_params()


def test_what_it_cannot_use_is_said():
    X, _, _ = documents(count=3)
    with pytest.raises(
        NotSupported,
        match=r"DocumentJLIS cannot learn from partial labels \(document 1\); use CRF or Latent",
    ):
        DocumentJLIS().fit(X[:2], ["sport", {"law", "art"}])
