"""What the semi-supervised learners share: a model from labelled data and one from the rest, mixed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..errors import DataError
from ..features.choose import kind_of as input_kind
from ..kernels.compiling import Floats
from ..rules.automata import labels_named
from ..structures.chain import ChainParts
from ..supervision import Signal, check_lengths, kind_of, label_set, require


def mix_scores(first: ChainParts, second: ChainParts, weight: float) -> ChainParts:
    """weight * first + (1 - weight) * second: for linear models the scores of the mixed weights."""

    def mix(a: Floats, b: Floats) -> Floats:
        if weight in (0.0, 1.0):  # -inf times zero is no number
            return a if weight == 1.0 else b
        return weight * a + (1 - weight) * b

    triple = first.triple if first.triple is None or second.triple is None else mix(first.triple, second.triple)
    return replace(
        first,
        unary=mix(first.unary, second.unary),
        pair=mix(first.pair, second.pair),
        start=mix(first.start, second.start),
        end=mix(first.end, second.end),
        triple=triple,
    )


def fit_on(base: Any, X: Any, y: Any, classes: Sequence[str]) -> Any:
    """A clone of the base learner fitted so that it knows all of these labels."""
    learner = clone(base)
    if "classes" not in learner.get_params(deep=False):
        raise DataError(f"{type(base).__name__} cannot be a base learner: it has no parameter `classes`")
    return learner.set_params(classes=list(classes)).fit(X, y)


def check_input(learner: Any, X: Any, y: Any) -> None:
    """Errors about X and y that name sequences by their place in X, before some of them go to other learners."""
    input_kind(X)
    lengths = [x.shape[0] if hasattr(x, "shape") else len(x) for x in X]
    if 0 in lengths:
        raise DataError(f"sequence {lengths.index(0)} is empty; leave empty sequences out")
    check_lengths(lengths, y)
    label_set(y)
    require(learner, map(kind_of, y))


def all_labels(learner: Any, y: Any) -> list[str]:
    """A learner's `classes`, or else the labels that y, its rules and its base learner name."""
    if learner.classes is not None:
        return list(learner.classes)
    told = getattr(learner.base, "classes", None) or ()
    labels = sorted({*label_set(y), *labels_named(list(learner.rules or ())), *told})
    if not labels:
        raise DataError("no label is known: give labelled sequences, or `classes`, or rules that name the labels")
    return labels


def split_known(learner: Any, X: Any, y: Any) -> tuple[list[int], list[Any]]:
    """Numbers of the labelled sequences, and the unlabelled ones."""
    check_input(learner, X, y)
    known = [i for i, one in enumerate(y) if kind_of(one) is Signal.FULL]
    return known, [X[i] for i in range(len(X)) if kind_of(y[i]) is Signal.NOTHING]


class Mixture:
    """Scores of two models: `base_` with weight `weight_`, and `driven_`; either may be None."""

    base_: Any
    driven_: Any
    weight_: float

    def _models(self) -> dict[str, Any]:
        return {"base_": getattr(self, "base_", None), "driven_": getattr(self, "driven_", None)}

    def scores(self, X: Any) -> ChainParts:
        """β times the scores of the supervised model plus 1 - β times those of the other."""
        check_is_fitted(self, "classes_")
        models: list[ChainParts] = [m.scores(X) for m in (self.base_, self.driven_) if m is not None]
        return models[0] if len(models) == 1 else mix_scores(models[0], models[1], self.weight_)
