"""Self-training: a learner labels unlabelled data, keeps what it is sure of, and learns again from all of it."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from ...declared import Bounds, declared
from ...errors import DataError
from ...records import Record, recorded
from ...running.forms import Instance, Number, Several, Such
from ...solvers import rounds
from ...supervision import Label, Signal, by_kind
from ..choosing.guard import guarded
from ..inputs import refuse_weights
from ..learner import Learner
from ..parameters import WrapperParameters


@recorded
class SelfTrainingStep(Record):
    """One round, and how many unlabelled sequences it learned from, of how many."""

    better: ClassVar[str] = ""
    drawn: ClassVar[dict[str, str]] = {"kept": "inputs kept"}
    iteration: int
    kept: int
    of: int

    def __str__(self) -> str:
        return f"{self.kept} of {self.of} inputs kept"


class _Sure(NamedTuple):
    """The numbers of the unlabelled inputs that the model is sure of, and its outputs."""

    chosen: list[int]
    y: list[Any]

    @staticmethod
    def form(inputs: int) -> Such:
        """Returns the form of outputs of some of so many inputs."""
        chosen = Several(Number(0, inputs - 1, whole=True))
        return Such(Instance(_Sure, chosen=chosen, y=list), lambda found: len(found.chosen) == len(found.y))


@declared
class SelfTraining(WrapperParameters, Learner):
    """Self-training on any base learner.

    Attributes
    ----------
    classes_, trace_, guard_
    base_ : learner
        The last model.
    kept_ : tuple of int
        How many unlabelled sequences each round learned from.
    """

    threshold: Annotated[
        float,
        "An unlabelled sequence is kept if its best output has at least this probability; lower ones often do harm.",
        Bounds(0, 1),
    ] = 0.99
    iterations: Annotated[int, "Rounds.", Bounds(0)] = 5
    classes: Annotated[Sequence[Label] | None, "All labels, where y may lack some."] = None

    saved = ("trace_",)

    @property
    def kept_(self) -> tuple[int, ...]:
        """How many unlabelled sequences each round learned from."""
        return tuple(step.kept for step in self.trace_)

    @guarded
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from labelled sequences and, where y is None, from unlabelled ones."""
        refuse_weights(self, sample_weight)
        _, read = self.read_input(X, y)
        which = by_kind(read)
        known, pool = which[Signal.FULL], [X[i] for i in which[Signal.NOTHING]]
        if not known:
            raise DataError(f"self-training begins from labelled {self.task_.noun}s, and there are none")
        classes = self.all_labels(read)
        labelled, labels = [X[i] for i in known], [y[i] for i in known]
        model = self.fit_base(labelled, labels, classes)

        def label(_: None) -> _Sure:
            scores = model.scores(pool)
            best = self.structure_.argmax(scores)
            chance = np.exp(best.scores - self.structure_.marginals(scores).log_partition)
            chosen = np.flatnonzero(chance >= self.threshold).tolist()
            guessed = self.task_.decode(best.outputs.values, scores, classes)
            return _Sure(chosen, [guessed[i] for i in chosen])

        def learn(sure: _Sure) -> None:
            nonlocal model
            model = self.fit_base(labelled + [pool[i] for i in sure.chosen], labels + sure.y, classes)

        trace = rounds.alternate(
            [None] * (self.iterations if pool else 0), label, rounds.InTurn(learn),
            lambda number, _, sure: SelfTrainingStep(number, len(sure.chosen), len(pool)),
            title="self-training", verbose=self.verbose, first_needed=False, form=lambda: _Sure.form(len(pool)),
        )  # fmt: skip
        self.base_, self.classes_, self.trace_ = model, classes, trace
        return self
