"""Small data sets in every form a learner takes."""

import numpy as np
from scipy import sparse

VOCABULARY = {"A": ["Ann", "Bob", "Cid", "x"], "T": ["run", "sits", "on", "x"], "Y": ["1999", "2001", "7", "x"]}


def labelled(seed=0, count=30, longest=6):
    """Words that mostly tell their label; x does not, but labels tend to follow A -> T -> Y."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for n in rng.integers(1, longest + 1, size=count):
        labels = ["ATY"[(t + rng.integers(3) * (rng.random() < 0.3)) % 3] for t in range(n)]
        X.append([str(rng.choice(VOCABULARY[label])) for label in labels])
        y.append(labels)
    for i, x in enumerate(X[:3]):  # every label occurs early
        X[i], y[i] = ["Ann", *x[:2], "run", "7"], ["A", *y[i][:2], "T", "Y"]
    return X, y


def as_columns(X):
    return [[(w, "N" if w[0].isupper() else "V") for w in x] for x in X]


def as_dicts(X):
    return [[{"word": w, "title": w[0].isupper(), "length": len(w) / 4} for w in x] for x in X]


def as_arrays(X):
    words = sorted({w for ws in VOCABULARY.values() for w in ws})
    return [
        np.array([[float(w == v) for v in words] + [len(w) / 4, 0.0] for w in x]).reshape(len(x), len(words) + 2)
        for x in X
    ]


def as_sparse(X):
    return [sparse.csr_array(x) for x in as_arrays(X)]


FORMS = {"words": list, "columns": as_columns, "dicts": as_dicts, "arrays": as_arrays, "sparse": as_sparse}


def from_parts(learner, X, parts, classes):
    """A learner that counts, estimated from expected parts of X."""
    encoder = learner.symbols(X)
    sums = learner.counting(encoder, classes).expectation()
    sums.add(encoder.transform(X), parts)
    return learner.estimated(encoder, classes, sums.total())
