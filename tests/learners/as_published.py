"""Learners from rules about expectations as the papers have them: quadratic slack with one penalty for all rules,
nothing added from the labelled sequences, and predictions by the model (or its projection) alone.

Tests of equations use these; what the defaults add has tests of its own.
"""

from functools import partial

import sidelight

_MODEL = {"label_shares": False, "unlabeled_weight": 1.0, "decode": "model"}
_ROUNDS = {**_MODEL, "norm": "squared", "balance": 0.0, "iterations": 30, "tolerance": 1e-3}

PosteriorRegularization = partial(sidelight.PosteriorRegularization, **_ROUNDS, penalty=1.0)
UnifiedEM = partial(sidelight.UnifiedEM, **_ROUNDS, penalty=None)
DeterministicAnnealing = partial(
    sidelight.DeterministicAnnealing, **{**_ROUNDS, "unlabeled_weight": None, "decode": "projected"}, penalty=1.0
)
GeneralizedExpectation = partial(sidelight.GeneralizedExpectation, **_MODEL, penalty=1.0)
EntropyRegularization = partial(sidelight.EntropyRegularization, **_MODEL, penalty=1.0, strength=1e-5)
