"""All, or at least one, of several rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from .automata import Automaton, Compilation
from .counters import product_of_counters
from .labels import Labels
from .language import Rule

if TYPE_CHECKING:
    from .comparisons import Comparison


@dataclass(frozen=True, eq=False, repr=False)
class Logic(Rule):
    """All, or at least one, of several rules.

    "any" is violated by one if it does not hold; the violations of "all" are those of its parts together, but inside
    another formula it holds or does not.
    """

    kind: Literal["all", "any"]
    parts: tuple[Rule, ...]
    text: str = ""

    def __post_init__(self) -> None:
        for part in self.parts:
            part.require_bare()

    def __invert__(self) -> Rule:
        self.require_bare()
        return Logic("any" if self.kind == "all" else "all", tuple(~part for part in self.parts))

    def body(self) -> str:
        """The parts joined by & or |."""
        mark = " & " if self.kind == "all" else " | "
        return self.text or mark.join(f"({part.body()})" for part in self.parts)

    def comparisons(self) -> "list[Comparison]":
        """Those of all parts."""
        return [one for part in self.parts for one in part.comparisons()]

    def holds(self, truth: Mapping[int, bool]) -> bool:
        """Whether all, or any, of the parts do."""
        parts = [part.holds(truth) for part in self.parts]
        return all(parts) if self.kind == "all" else any(parts)

    def label_sets(self) -> list[Labels]:
        """Those of all parts."""
        return [these for part in self.parts for these in part.label_sets()]

    def expand(self, labels: Sequence[str], title: str) -> list[tuple[str, Rule]]:
        """The parts of "all" are apart, and each has its own labels; "any" stays one rule."""
        if self.kind == "all":
            return [pair for part in self.parts for pair in part.expand(labels, title)]
        return [(title, self.together(labels, title))]

    def together(self, labels: Sequence[str], title: str) -> Rule:
        """The formula in which every part speaks of all its labels together."""
        return replace(self, parts=tuple(part.together(labels, title) for part in self.parts))

    @property
    def about_whole_outputs(self) -> bool:
        """Whether it is "any", or one of the parts is."""
        return self.kind == "any" or any(part.about_whole_outputs for part in self.parts)

    @property
    def about_corpus(self) -> bool:
        """Whether one of the parts is."""
        return any(part.about_corpus for part in self.parts)

    @property
    def only_about_corpus(self) -> bool:
        """Whether all of the parts bound counts over the corpus."""
        return self.kind == "all" and all(part.only_about_corpus and not part.per_word for part in self.parts)

    def automata(self, at: Compilation) -> list[Automaton]:
        """Those of the parts of "all"; for "any" the product of the counters of all comparisons."""
        if self.kind == "all":
            return [automaton for part in self.parts for automaton in part.automata(at)]
        return [product_of_counters(self.comparisons(), self.holds, at)]
