"""Every learner from rules or unlabelled sequences with its defaults, and the base that it is compared with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sidelight import (
    CCM,
    CRF,
    EM,
    HMM,
    JLIS,
    CoDL,
    DeterministicAnnealing,
    EntropyRegularization,
    GeneralizedExpectation,
    PosteriorRegularization,
    SelfTraining,
    SemiCRF,
    StructuralSVM,
    UnifiedEM,
    shuffled,
)
from sidelight.rules.comparisons import Comparison
from sidelight.rules.language import Rule
from sidelight.supervision import BAD, GOOD

from .tasks import Draw

BASES: dict[str, Callable[[Sequence[str]], Any]] = {
    "HMM": lambda classes: HMM(classes=classes),
    "CRF": lambda classes: CRF(classes=classes),
    "SemiCRF": lambda classes: SemiCRF(classes=classes),
    "StructuralSVM": lambda classes: StructuralSVM(classes=classes),
}


def statements(rules: Sequence[Rule]) -> list[Rule]:
    """The rules that can be read as statements about expectations."""
    return [rule for rule in rules if isinstance(rule, Comparison)]


@dataclass(frozen=True)
class Wrapped:
    """A learner around a base; rules: which of a task's rules it gets; above: whether true rules must lift it."""

    base: str
    make: Callable[[Any, list[Rule]], Any]
    above: bool = False
    pool: bool = True

    def fit(self, draw: Draw, rules: Sequence[Rule], classes: Sequence[str]) -> Any:
        """With its defaults, but for the guard, which only warns."""
        more = draw.pool if self.pool else []
        learner = self.make(BASES[self.base](classes), list(rules)).set_params(guard=False)
        return learner.fit([*draw.X, *more], [*draw.y, *[None] * len(more)])


@dataclass(frozen=True)
class Companions:
    """J-LIS with some unlabelled sequences as good ones, and shuffled copies of them as bad ones."""

    base: str = "StructuralSVM"
    above: bool = False
    most: int = 60

    def fit(self, draw: Draw, rules: Sequence[Rule], classes: Sequence[str]) -> Any:
        """With its defaults and without rules, which it would take as hard."""
        good, bad = draw.pool[: self.most], shuffled(draw.pool[: self.most])
        y = [*draw.y, *[GOOD] * len(good), *[BAD] * len(bad)]
        return JLIS(classes=classes, guard=False).fit([*draw.X, *good, *bad], y)


LEARNERS: dict[str, Wrapped | Companions] = {
    "CCM(HMM)": Wrapped("HMM", CCM, pool=False),
    "CCM(CRF)": Wrapped("CRF", CCM, pool=False),
    "CoDL(HMM)": Wrapped("HMM", CoDL, above=True),
    "CoDL(CRF)": Wrapped("CRF", CoDL, above=True),
    "PosteriorRegularization(HMM)": Wrapped(
        "HMM", lambda base, rules: PosteriorRegularization(base, statements(rules)), above=True
    ),
    "PosteriorRegularization(CRF)": Wrapped(
        "CRF", lambda base, rules: PosteriorRegularization(base, statements(rules)), above=True
    ),
    "UnifiedEM(HMM, gamma=0.5)": Wrapped("HMM", lambda base, rules: UnifiedEM(base, statements(rules), gamma=0.5)),
    "DeterministicAnnealing(HMM)": Wrapped("HMM", lambda base, rules: DeterministicAnnealing(base, statements(rules))),
    "DeterministicAnnealing(CRF)": Wrapped("CRF", lambda base, rules: DeterministicAnnealing(base, statements(rules))),
    "GeneralizedExpectation(CRF)": Wrapped(
        "CRF", lambda base, rules: GeneralizedExpectation(base, statements(rules)), above=True
    ),
    "EntropyRegularization(CRF)": Wrapped("CRF", lambda base, rules: EntropyRegularization(base, statements(rules))),
    "EM(HMM)": Wrapped("HMM", lambda base, rules: EM(base)),
    "SelfTraining(HMM)": Wrapped("HMM", lambda base, rules: SelfTraining(base)),
    "SelfTraining(CRF)": Wrapped("CRF", lambda base, rules: SelfTraining(base)),
    "JLIS": Companions(),
}
