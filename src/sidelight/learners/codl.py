"""Constraint-driven learning: labelled and unlabelled data with rules (Algorithm 8 of Chang 2011).

    (w, ρ) = learn(L);  repeat:  label U by argmax_y w·F(x, y) - Σ ρ_k d_k(x, y);  (w, ρ) = β (w_0, ρ_0) + (1 - β) learn(U)

Without rules it is hard EM. With no labelled data it begins from the rules alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from ..errors import DataError
from ..inference.compiled import CompiledRules, penalties
from ..inference.constrained import Method, best_outputs
from ..kernels.compiling import Floats, Ints
from ..progress import progress
from ..rules.language import Rule
from ..structures.chain import ChainParts
from ..supervision import Signal, check_lengths, kind_of, learns_from
from .ccm import RuleLearner, count_penalties, fit_on


@dataclass(frozen=True)
class CodlStep:
    """One round: the objective Σ_U max_y of the round's model, violations of its labels, and how many labels moved."""

    iteration: int
    objective: float
    violations: float
    changed: int


def mix_scores(first: ChainParts, second: ChainParts, weight: float) -> ChainParts:
    """weight * first + (1 - weight) * second: for linear models the scores of the mixed weights."""

    def mix(a: Floats, b: Floats) -> Floats:
        return weight * a + (1 - weight) * b

    return replace(
        first,
        unary=mix(first.unary, second.unary),
        pair=mix(first.pair, second.pair),
        start=mix(first.start, second.start),
        end=mix(first.end, second.end),
    )


@learns_from(Signal.FULL, Signal.NOTHING)
class Codl(RuleLearner):
    """Constraint-driven learning on any base learner.

    Parameters
    ----------
    base : any learner of sequences.
    rules, reading, method, beam : as for `CCM`; no rules make it hard EM.
    balance : β, the weight of the model learned from labelled data.
    iterations : rounds of labelling and learning.
    k : outputs taken of each unlabelled sequence.
    rules_at_prediction : whether `predict` uses the rules, or only the model they shaped.
    random_state : breaks ties where it begins without labelled data.
    verbose, n_jobs : as for `CRF`.

    Attributes
    ----------
    base_ : the model learned from labelled data (None without any); driven_ : the one learned from unlabelled data;
    penalties_; classes_; trace_ : a `CodlStep` for each round.
    """

    def __init__(
        self,
        base: Any,
        rules: Sequence[Rule] = (),
        *,
        reading: Literal["hard", "soft"] = "soft",
        balance: float = 0.5,
        iterations: int = 5,
        k: int = 1,
        rules_at_prediction: bool = True,
        method: Method = "exact",
        beam: int = 50,
        random_state: int = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.base = base
        self.rules = rules
        self.reading = reading
        self.balance = balance
        self.iterations = iterations
        self.k = k
        self.rules_at_prediction = rules_at_prediction
        self.method = method
        self.beam = beam
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
