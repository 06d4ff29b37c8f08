"""How learners of rules are set in the tables of papers, whatever the defaults of the library are.

The papers' rules have one penalty each, slack is squared, nothing is added to them, and outputs are read off the model
(or, where a table says so, off its projection). The library's defaults are others: see `PosteriorRegularization`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sidelight.features.templates import sequence_offsets
from sidelight.rules.comparisons import Comparison
from sidelight.rules.conditions import mask_of
from sidelight.rules.language import Rule
from sidelight.rules.rows import penalty_of

_PROJECTING: dict[str, Any] = {
    "norm": "squared",
    "label_shares": False,
    "balance": 0.0,
    "unlabeled_weight": 1.0,
    "iterations": 30,
    "decode": "model",
    "tolerance": 1e-3,
    "guard": False,
}
# Ganchev et al. 2010; unified EM of Chang 2011, without slack; Dhillon et al. 2012, both losses as means and Eq. 30.
POSTERIOR: dict[str, Any] = {**_PROJECTING, "penalty": 1.0}
UNIFIED: dict[str, Any] = {**_PROJECTING, "penalty": None}
ANNEALING: dict[str, Any] = {**_PROJECTING, "penalty": 1.0, "unlabeled_weight": None, "decode": "projected"}
# Generalized expectation and entropy regularization.
CRITERIA: dict[str, Any] = {
    "penalty": 1.0, "label_shares": False, "unlabeled_weight": 1.0, "decode": "model", "guard": False,
}  # fmt: skip
# CCM and CoDL: penalties by Eq. 3.10 of Chang 2011.
COUNTED: dict[str, Any] = {"counting": "tokens", "guard": False}
# The prior of a CRF that no one has chosen another for.
PLAIN_L2 = 1.0


def per_fraction(rules: Sequence[Rule], X: Sequence[Any]) -> list[Rule]:
    """The rules with their penalties per unit of a fraction, which the papers' shares are missed by, changed to ours.

    A share that is missed by the fraction f costs p n f² / 2 there, with n sequences. Here its slack is the number of
    tokens per sequence t f / m, for the m sequences with tokens that it speaks of, t in all, and costs p' m (t f / m)²
    / 2. So p' = p n m / t². Other rules stay as they are. X are the unlabelled sequences.
    """
    return [_converted(rule, X) if isinstance(rule, Comparison) and rule.share else rule for rule in rules]


def _converted(rule: Comparison, X: Sequence[Any]) -> Rule:
    offsets, where = sequence_offsets(X), rule.count.terms[0].where
    spoken = np.ones(int(offsets[-1]), bool) if where is None else mask_of(where, X)
    if not spoken.any():  # which learners refuse
        return rule
    sequences = int(np.logical_or.reduceat(spoken, offsets[:-1]).sum())
    return rule.expected(penalty_of(rule) * len(X) * sequences / int(spoken.sum()) ** 2)
