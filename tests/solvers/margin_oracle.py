"""Structural SVMs on tiny chains, with every output listed: rows of features, losses, and the optimum by SciPy."""

from itertools import product

import numpy as np
from scipy.optimize import LinearConstraint

from tests.convex_oracle import least
from tests.solvers.test_perceptron import features, names


def listed(scorer, encoded, gold):
    """For every sequence F(x, y) - F(x, z) for all outputs z, (outputs, weights), and their Hamming losses."""
    known = names(scorer)
    found = []
    for i in range(len(encoded)):
        y = tuple(int(c) for c in gold.labels[encoded.offsets[i] : encoded.offsets[i + 1]])
        outputs = list(product(range(scorer.labels), repeat=len(y)))
        counts = [features(encoded, i, z, scorer.order) for z in outputs]
        table = np.array([[count.get(name, 0.0) for name in known] for count in counts])
        loss = np.array([sum(a != b for a, b in zip(z, y, strict=True)) for z in outputs], float)
        found.append((table[outputs.index(y)] - table, loss))
    return found


def objective(everything, w, C, squared):
    """‖w‖² / 2 + C Σ_i (max_z [loss - w·row])^d."""
    missed = np.array([(loss - rows @ w).max() for rows, loss in everything])
    return w @ w / 2 + C * (missed**2 if squared else missed).sum()


def optimum(everything, C, squared):
    """The weights of least objective: a quadratic program with a slack for each sequence."""
    size, count = everything[0][0].shape[1], len(everything)
    rows = np.concatenate([np.hstack((rows, np.eye(count)[[i] * len(rows)])) for i, (rows, _) in enumerate(everything)])
    loss = np.concatenate([loss for _, loss in everything])
    power = 2 if squared else 1

    def value(v):
        w, slack = v[:size], v[size:]
        return w @ w / 2 + C * (slack**power).sum(), np.concatenate((v[:size], C * power * slack ** (power - 1)))

    start = np.concatenate((np.zeros(size), [loss.max() for _, loss in everything]))
    rules = [LinearConstraint(rows, loss, np.inf)]
    return least(value, start, jac=True, constraints=rules, tolerance=1e-12).x[:size]
