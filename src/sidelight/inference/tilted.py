"""Distributions over a batch that rows tilt, as projections see them, wherever they are worked out."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..kernels.compiling import Floats
from .norms import RowCosts, Slack
from .rows import RowSet, Tilted


@dataclass(frozen=True)
class Tilting:
    """How distributions are tilted.

    temperature: T; steps, tolerance: of each sequence on its own prices, and what it may miss of the best, as
    `Rows.tilt` has it; forbidding: whether parts that rows without slack forbid are left out.
    """

    temperature: float
    steps: int = 0
    tolerance: float = 0.0
    forbidding: bool = True


class Tiltable(Protocol):
    """Distributions p_θ over the outputs of a batch."""

    @property
    def rows(self) -> RowSet:
        """What they are tilted by."""
        ...

    @property
    def never(self) -> RowSet | None:
        """Rows that forbid parts, None if there are none."""
        ...

    def tilt(self, prices: Floats, how: Tilting) -> Tilted:
        """Marginals of (θ - Aᵀλ) / T; their expected parts may stay where they were worked out."""
        ...

    def worst(self, corpus: Floats | None, how: Tilting) -> Floats:
        """The largest -θ·y of each sequence, or that of θ less what prices of corpus rows take off it."""
        ...

    def require_possible(self) -> None:
        """Raise `Infeasible` where no output is left without the parts that rows forbid."""
        ...


def parted(rows: RowSet, slack: Slack) -> tuple[RowSet | None, RowSet]:
    """Rows that forbid parts, since there is no slack and the dual has its optimum at infinity; and the others."""
    return rows.parted() if slack.none and rows.forbidding.any() else (None, rows)


@dataclass(frozen=True)
class ScoredBatch:
    """Distributions by their scores, in this process."""

    scores: Any
    rows: RowSet
    never: RowSet | None
    slack: Slack
    n_jobs: int

    @cached_property
    def costs(self) -> RowCosts:
        """What slack makes of the rows."""
        return RowCosts(self.rows, self.slack)

    @cached_property
    def possible(self) -> Any:
        """Scores with -inf on the parts that rows forbid."""
        return self.scores if self.never is None else self.never.forbid(self.scores)

    def tilt(self, prices: Floats, how: Tilting) -> Tilted:
        """Marginals of (θ - Aᵀλ) / T."""
        own, costs = self.rows.own, self.costs
        return self.rows.tilt(
            self.possible if how.forbidding else self.scores, prices, temperature=how.temperature,
            bound=own(costs.bound), curve=own(costs.curve), limit=own(costs.limit), steps=how.steps,
            tolerance=how.tolerance, n_jobs=self.n_jobs,
        )  # fmt: skip

    def worst(self, corpus: Floats | None, how: Tilting) -> Floats:
        """The largest -θ·y of each sequence."""
        scores = self.possible if how.forbidding else self.scores
        if corpus is not None and corpus.any():
            prices = np.zeros(len(self.rows))
            prices[: len(corpus)] = corpus
            scores = self.rows.shift(scores, prices)
        return self.rows.structure(self.n_jobs).argmax(_negative(scores)).scores

    def require_possible(self) -> None:
        """Raise `Infeasible` where no output is left."""
        self.rows.structure(self.n_jobs).argmax(self.possible)

    def parts(self, tilted: Any) -> Any:
        """Expected parts, laid out as the scores are."""
        return tilted if self.never is None else self.never.unforbid(self.scores, tilted)


def _negative(scores: Any) -> Any:
    """-θ on the parts that are possible."""
    return scores.changed(lambda table: np.where(np.isfinite(table), -table, -np.inf))
