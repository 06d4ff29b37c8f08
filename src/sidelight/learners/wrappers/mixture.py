"""Two models, mixed: what is known from labels, and what is learned beside it."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...errors import DataError, warn
from ...features.templates import sequence_offsets
from ...labels import majority_label
from ...supervision import Signal, kind_of
from ..learner import require_number
from .wrapper import Wrapper


class Mixture(Wrapper):
    """Scores of two models: `base_` with weight `weight_`, and `driven_`; either may be None."""

    balance: float | None
    _usual: ClassVar[float]  # the balance where nothing is asked for
    iterations: int
    random_state: int
    base_: Any
    driven_: Any
    weight_: float

    def _check_rounds(self) -> None:
        if self.balance is not None:
            require_number(self, "balance", 0)
            if self.balance > 1:
                raise DataError(f"balance lies between 0 and 1, got {self.balance!r}")
        require_number(self, "iterations", 0, whole=True)

    def _labelled_weight(self, y: Sequence[Any]) -> float:
        """The weight of the model learned from labelled sequences, beside that learned from others in y.

        A label that most tokens have is given to even more of the unlabelled ones, and the model learned from these
        forgets the others: then it has no weight, unless `balance` gives it one.
        """
        if self.balance is not None:
            return self.balance
        kinds, most = set(map(kind_of, y)), majority_label(y)
        if Signal.PARTIAL in kinds:  # the other model knows these labels, and they count as much as full ones
            return 0.0
        if most is None or kinds != {Signal.FULL, Signal.NOTHING}:
            return self._usual
        warn(
            f"most labelled tokens have the label {most!r}, and {type(self).__name__} would learn little else from "
            "unlabelled sequences, so it makes no use of them; set balance below 1 to use them, or try "
            "PosteriorRegularization"
        )
        return 1.0

    def _models(self) -> dict[str, Any]:
        return {"base_": getattr(self, "base_", None), "driven_": getattr(self, "driven_", None)}

    def scores(self, X: Any) -> Any:
        """β times the scores of the supervised model plus 1 - β times those of the other."""
        check_is_fitted(self, "classes_")
        models = [m.scores(X) for m in (self.base_, self.driven_) if m is not None]
        return models[0] if len(models) == 1 else models[0].mix(models[1], self.weight_)

    def _mixed(self, constant: Any, driven: Any, weight: float, pool: list[Any], labels: int) -> Any:
        """Scores of the pool: those of the supervised model mixed with those of the other; chance without any."""
        if driven is None:
            return self._noise(pool, labels) if constant is None else constant
        scores = driven.scores(pool)
        return scores if constant is None else constant.mix(scores, weight)

    def _noise(self, pool: list[Any], labels: int) -> Any:
        """Scores to begin with where nothing was learned."""
        offsets = sequence_offsets(pool)
        rng = np.random.default_rng(self.random_state)
        return self._task.start(offsets, rng.uniform(size=(int(offsets[-1]), labels)))
