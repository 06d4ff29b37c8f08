"""Why a learner predicts what it does: what speaks for a choice and against the next best, and how sure it is."""

from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np

from .errors import Infeasible, inputs_called
from .kernels.compiling import Floats


@dataclass(frozen=True)
class Evidence:
    """How much one feature speaks for the label and for its rival (contributions to the score)."""

    feature: str
    weight: float
    rival_weight: float

    @property
    def difference(self) -> float:
        """Above zero: speaks for the label; below: for the rival."""
        return self.weight - self.rival_weight


@dataclass(frozen=True)
class Explanation:
    """Why a token got its label (or head, or link) rather than the next best one; the strongest evidence first.

    Probabilities are None where there are none; place: what stands at a position is called.
    """

    position: int
    label: str
    probability: float | None
    rival: str
    rival_probability: float | None
    evidence: tuple[Evidence, ...]
    place: str = "token"

    @property
    def says(self) -> str:
        """What was chosen rather than what, with probabilities where there are some."""
        named = (
            name if chance is None else f"{name} ({chance:.1%})"
            for name, chance in ((self.label, self.probability), (self.rival, self.rival_probability))
        )
        return " rather than ".join(named)

    def __str__(self) -> str:
        lines = [f"{self.place} {self.position}: {self.says}"]
        if (self.rival_probability or 0.0) > (self.probability or 0.0):
            lines[0] += f"; {self.rival} is more probable here, but not in the best output as a whole"
        lines += [f"  {e.difference:+8.3f}  {e.feature}" for e in self.evidence]
        return "\n".join(lines)


class Predicted:
    """What a learner predicts for one input, and the scores and probabilities that explain it.

    outputs: the best output; scores: less what rules cost that are sums over parts; parts: expected ones by these, None
    where there are no probabilities.
    """

    def __init__(self, learner: Any, x: Any) -> None:
        scores, decoder = learner.scores([x]), learner.decoder_
        self.learner, self.x, self.task, self.classes = learner, x, learner.task_, learner.model_.classes
        with inputs_called(self.task.noun):
            self.outputs = decoder.best([x], scores, 1).outputs.values[0]
        self.scores = decoder.fold([x], scores, strict=False)
        self.parts = learner.structure_.marginals(self.scores).parts if self.task.has_rows else None

    def explain(self, position: int, top: int) -> Explanation:
        """Returns what speaks for the choice at a position, against the most probable other."""
        choices = self._choices(position)
        t, chosen, names = choices.position, choices.chosen, choices.names
        chance = None if self.parts is None else choices.chances(self.parts)
        rival = self._rival(choices) if chance is None else _next_best(chance, chosen)
        rows = self.learner.model_.reasons([self.x], self.outputs, t, self.learner.n_jobs)
        rows = rows + self.learner.decoder_.reasons([self.x], self.outputs, t)
        evidence = [Evidence(text, float(row[chosen]), float(row[rival])) for text, row in rows]
        telling = [e for e in evidence if e.difference != 0 and not isnan(e.difference)]
        telling.sort(key=lambda e: -abs(e.difference))
        first, second = (None, None) if chance is None else (float(chance[chosen]), float(chance[rival]))
        return Explanation(t, names[chosen], first, names[rival], second, tuple(telling[:top]), choices.place)

    def certainty(self) -> Floats | None:
        """Returns the probability of what is predicted at each position; None without probabilities."""
        found: Floats | None = None
        if self.parts is not None:
            found = self.task.certainty(self.parts, self.outputs, self.classes)
        return found

    def least_certain(self) -> int:
        """Returns the position where what is predicted is least probable, or where another output comes nearest."""
        chances = self.certainty()
        if chances is not None:
            return int(np.argmin(chances))
        others = [self._best_without(self._choices(t)) for t in range(len(self.outputs))]
        return int(np.argmax([-np.inf if other is None else float(other.scores[0]) for other in others]))

    def _choices(self, position: int) -> Any:
        """What could be chosen at a position."""
        return self.task.choices(self.x, self.scores, self.outputs, position, self.classes)

    def _rival(self, choices: Any) -> int:
        """The choice in the best output that lacks the one that was chosen; itself if there is none."""
        found = self._best_without(choices)
        if found is None:
            return int(choices.chosen)
        on = self.learner.structure_.indicator(self.scores, found.outputs.values).values
        return int(np.flatnonzero(on[choices.parts] > 0)[0])

    def _best_without(self, choices: Any) -> Any:
        """The best output of those that lack what was chosen, None if there is none."""
        if choices.parts is None:
            return None
        values = self.scores.values.copy()
        values[choices.parts[choices.chosen]] = -np.inf
        try:
            return self.learner.structure_.argmax(replace(self.scores, values=values))
        except Infeasible:
            return None


def _next_best(chance: Floats, chosen: int) -> int:
    """The most probable choice but for one."""
    others = [int(c) for c in np.argsort(-chance, kind="stable") if c != chosen]
    return others[0] if others else chosen
