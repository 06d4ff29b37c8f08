"""Records of what happened in a fit, which model files keep, and how they are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, ClassVar, TypeVar, dataclass_transform

T = TypeVar("T", bound=type)
# Every kind of record by its name.
RECORDS: dict[str, Any] = {}


@dataclass_transform(frozen_default=True)
def recorded(cls: T) -> T:
    """Returns the class as a frozen dataclass that model files know."""
    made: Any = dataclass(frozen=True)(cls)
    RECORDS[made.__name__] = made
    return made  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Curve:
    """Lines by name, which share an axis."""

    title: str
    lines: dict[str, list[float]]
    logarithmic: bool = False


class Record:
    """One step of a fit.

    unit: what is counted; better: whether the objective is to be "lower" or "higher", "" where there is none; drawn:
    titles of the figures that are drawn beside it, by field; first_apart: whether the first round is always that of
    another model.
    """

    unit: ClassVar[str] = "round"
    better: ClassVar[str] = "lower"
    drawn: ClassVar[dict[str, str]] = {}
    first_apart: ClassVar[bool] = False
    iteration: int

    def known(self, name: str) -> Any:
        """Returns a field, or None if steps of this kind do not have it."""
        return getattr(self, name, None)

    @property
    def gap(self) -> float:
        """How far the objective is from its optimum at most."""
        return nan

    @property
    def comparable(self) -> bool:
        """Whether its objective may be compared with those of the steps after it.

        That of a first model may not where it knows nothing, or not all the words that the later ones know.
        """
        return not self.known("of_start") and not (self.first_apart and self.iteration == 1)

    @classmethod
    def curves(cls, trace: Sequence[Any]) -> list[Curve]:
        """Returns what is drawn of steps of this kind."""
        out = []
        if cls.better:
            values = [float(step.objective) if step.comparable else nan for step in trace]
            out.append(Curve(f"objective ({cls.better} is better)", {"objective": values}))
        for name, title in cls.drawn.items():
            values = [float(getattr(step, name)) for step in trace]
            if not (name == "temperature" and len(set(values)) == 1):
                out.append(Curve(title, {title: values}))
        return out
