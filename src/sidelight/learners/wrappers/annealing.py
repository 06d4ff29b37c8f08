"""Deterministic annealing for structured outputs (Dhillon et al. 2012)."""

from collections.abc import Sequence
from typing import Any, Literal

from ...errors import DataError
from ...inference.norms import NormName
from ...rules.language import Rule
from ...solvers.annealing import geometric
from ..learner import require_number
from .expectations import Decode, Penalty
from .projecting import ProjectingLearner


class DeterministicAnnealing(ProjectingLearner):
    """Learning from rules while the entropy of the unlabelled sequences' outputs is lowered step by step.

        minimise  R(w) + mean_L loss + mean_U E_q loss - T mean_U H(q) + cost of slack      (Eq. 13, 16)

    at temperatures T = start, start * rate, ..., each for `iterations` rounds. At T = 1 alone it is
    `PosteriorRegularization`.

    Parameters
    ----------
    start, rate, temperatures : the schedule. Above 1 the unlabelled sequences pull the model towards even
        distributions, and few labelled ones may not hold it: that of the paper, 2.0, 0.9 and 11, needs a base with a
        strong prior, such as CRF(l2=2).
    begin : the first model: "labelled", the base fitted to the labelled sequences, or "nothing", even distributions (of
        an HMM, chance). What high temperatures find hardly depends on it, what low ones do may be much worse.
    iterations : rounds at each temperature.
    norm, penalty : as for `PosteriorRegularization`; the paper has norm="squared" and a number, 1 / ε of Eq. 16.
    unlabeled_weight : None makes both losses means around a CRF, as in Eq. 3 and 10 (in units of the labelled ones'
        sum; sequences with partial labels are among them).
    decode : "rules" as for `PosteriorRegularization`; "projected" predicts by Eq. 30, "model" by Eq. 1. For
        transductive prediction give the sequences to `fit`, with None for their labels.
    base, rules, bound, label_shares, balance, tolerance, classes, guard, random_state, verbose, n_jobs : as for
        `PosteriorRegularization`.

    Attributes
    ----------
    base_, start_, rules_used_, classes_, prices_, units_, trace_, guard_ : as for `PosteriorRegularization`;
    temperature_ : the last one.
    """

    def __init__(
        self,
        base: Any,
        rules: Sequence[Rule] = (),
        *,
        start: float = 1.0,
        rate: float = 0.8,
        temperatures: int = 4,
        begin: Literal["labelled", "nothing"] = "labelled",
        norm: NormName = "l1",
        penalty: Penalty = "learned",
        bound: float | None = None,
        label_shares: bool = True,
        unlabeled_weight: float | None = None,
        balance: float | None = None,
        iterations: int = 5,
        decode: Decode = "rules",
        tolerance: float = 0.02,
        classes: Sequence[str] | None = None,
        guard: bool = True,
        random_state: int = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.base = base
        self.rules = rules
        self.start = start
        self.rate = rate
        self.temperatures = temperatures
        self.begin = begin
        self.norm = norm
        self.penalty = penalty
        self.bound = bound
        self.label_shares = label_shares
        self.unlabeled_weight = unlabeled_weight
        self.balance = balance
        self.iterations = iterations
        self.decode = decode
        self.tolerance = tolerance
        self.classes = classes
        self.guard = guard
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _check(self) -> None:
        super()._check()
        require_number(self, "temperatures", 1, whole=True)
        if self.begin not in ("labelled", "nothing"):
            raise DataError(f"begin is 'labelled' or 'nothing', got {self.begin!r}")
        if self.begin == "nothing" and not self.iterations:
            raise DataError("begin='nothing' learns nothing in 0 iterations; give some, or begin='labelled'")
        self._temperatures()

    def _labelled_first(self) -> bool:
        return self.begin == "labelled"

    def _temperatures(self) -> list[float]:
        schedule = geometric(self.start, self.rate, self.temperatures)
        return [T for T in schedule for _ in range(max(self.iterations, 1))]
