"""Tokens of some labels come before those of others."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .automata import Automaton, Compilation
from .labels import Labels, as_labels
from .language import Rule


@dataclass(frozen=True, eq=False, repr=False)
class Before(Rule):
    """No token of `earlier` comes after one of `later`; each such token is a violation."""

    earlier: Labels
    later: Labels

    def body(self) -> str:
        """For example "before('author', 'title')"."""
        return f"before({self.earlier.as_one()}, {self.later.as_one()})"

    def automata(self, at: Compilation) -> list[Automaton]:
        """State: whether a token of `later` was seen."""
        events = np.tile(at.members(self.earlier) + 2 * at.members(self.later), (len(at.labels) + 1, 1))
        after = [[0, 0, 1, 1], [1, 1, 1, 1]]
        degree = [[0, 0, 0, 0], [0, 1, 0, 1]]
        return [Automaton.of_labels(at, events, after, degree)]


def before(earlier: Any, later: Any) -> Before:
    """Require that tokens of some labels come before all tokens of others.

    Each token of `earlier` behind one of `later` is a violation.

    Parameters
    ----------
    earlier : str, list of str, each or others(...)
        The labels whose tokens come first.
    later : str, list of str, each or others(...)
        The labels whose tokens come after them.

    Returns
    -------
    Before
        The rule.
    """
    return Before(as_labels(earlier), as_labels(later))
