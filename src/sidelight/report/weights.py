"""What a model learned: its strongest weights, and how labels follow each other."""

from dataclasses import dataclass
from typing import Any, NamedTuple


class Weight(NamedTuple):
    """How much a feature speaks for a label."""

    feature: str
    label: str
    weight: float


@dataclass(frozen=True)
class Transitions:
    """Scores of a label at the start and at the end, and of pairs: `pair[i][j]` of label i before label j."""

    labels: list[str]
    start: list[float]
    end: list[float]
    pair: list[list[float]]


def strongest_weights(learner: Any, count: int, label: str | None = None) -> list[Weight]:
    """The largest weights of all labels or of one."""
    return [Weight(*item) for item in learner.top_weights(count, label)]


def weights_by_label(learner: Any, count: int) -> dict[str, list[Weight]]:
    """For each label the features that speak most for it."""
    strongest = {label: strongest_weights(learner, 4 * count, label) for label in learner.classes_}
    return {label: [item for item in found if item.weight > 0][:count] for label, found in strongest.items()}


def transition_scores(learner: Any) -> Transitions | None:
    """The tables of label pairs, first and last labels, which do not depend on the input; None without sequences."""
    if learner.task_.kind != "labels" or learner.task_.noun != "sequence":
        return None
    scores = learner.scores([])
    labels = len(learner.classes_)
    pair = scores.pair.reshape(-1, labels, labels)[0]
    return Transitions(list(learner.classes_), scores.start.tolist(), scores.end.tolist(), pair.tolist())
