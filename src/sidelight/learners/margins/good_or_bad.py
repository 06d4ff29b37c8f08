"""What learners share that are told of inputs whether they have a good structure: GOOD or BAD."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from ...dictionary import TagDictionary
from ...errors import DataError, Infeasible
from ...features.encoded import Encoded
from ...features.templates import sequence_offsets
from ...kernels.compiling import Floats
from ...labels import encode_labels
from ...rules.automata import labels_named
from ...rules.language import Rule
from ...solvers.latent_margins import Round
from ...solvers.margin_constraints import Accepted, Argmax, Batch
from ...structures.known import Outputs
from ...structures.protocol import Best
from ..decoding import Decoder, Free, UnderRules, Within
from ..learner import Learner, RuleReading
from ..model import Prepared
from ..parameters import LatentParameters, MarginParameters, declared, require_number
from .latent_svm import LATENT, check_rounds, rounds_and_end
from .structural_svm import check_margins

Size = Literal["length"] | Callable[[Any], float] | None


@declared
class GoodOrBadLearner(MarginParameters, Learner):
    """A good output scores above zero with F_B(x, y) = (F(x, y) / κ(x), constant); rules limit outputs."""

    size: Annotated[
        Size, 'κ, by which the features of GOOD and BAD inputs are divided: "length", a function of x, or None for 1.'
    ] = "length"
    constant: Annotated[float, "Value of the constant feature of GOOD and BAD inputs; 0 leaves it out."] = 1.0
    tolerance: Annotated[float, "Gap of the convex problem of each round, as a share of its objective."] = 0.002

    def without_rules(self) -> Self:
        """Returns the same model, which predicts as if it had no rules; a dictionary stays."""
        free = copy(self)
        free.rules = None
        return free

    def _check_options(self) -> None:
        """Raise `DataError` for parameters that make no sense."""
        check_margins(self)
        require_number(self, "constant", 0)
        if not (self.size is None or self.size == "length" or callable(self.size)):
            raise DataError(f"size must be 'length', None or a function of x, got {self.size!r}")
        if not (self.dictionary is None or isinstance(self.dictionary, TagDictionary)):
            raise DataError(f"dictionary must be a TagDictionary or None, got {type(self.dictionary).__name__}")
        if isinstance(self.rules, Rule):
            raise DataError("rules is a list of rules; write [...] around one")

    def _sizes(self, X: Any) -> Floats:
        if self.size is None:
            return np.ones(len(self.task_.sizes(X)))
        out = np.array([self._size_of(i, x) for i, x in enumerate(X)])
        bad = np.flatnonzero(~(out > 0) | ~np.isfinite(out))
        if len(bad):
            raise DataError(f"the size of input {bad[0]} is {out[bad[0]]:g}; sizes must be positive, finite numbers")
        return out

    def _size_of(self, index: int, x: Any) -> float:
        try:
            return float(self.task_.size_of(x) if self.size == "length" else self.size(x))  # type: ignore[misc]
        except (TypeError, ValueError) as error:
            raise DataError(
                f"size gives no number for input {index}: {error}; it is a function of one input"
            ) from error

    def _some(self, X: Any, prepared: Prepared, which: list[int]) -> Batch:
        """Some of the inputs."""
        some = X[which] if hasattr(X, "shape") else [X[i] for i in which]
        encoded: Encoded = prepared.encoded.take(np.array(which))
        argmax = numbered(self._argmax(some, prepared.classes), which)
        return Batch(prepared.scorer, self.structure_, encoded, argmax)

    def _all_labels(self, y: Any) -> list[str]:
        """Those named in `classes`, or those of y, the rules and the dictionary."""
        if self.classes is not None:
            return list(self.classes)
        listed = set() if self.dictionary is None else {*self.dictionary.open}.union(*self.dictionary.labels.values())
        known = {*self.task_.labels(y), *listed}
        for rule in self._rules_given():
            unknown = sorted(labels_named([rule]) - known)
            if unknown:
                raise DataError(
                    f"the rule {rule.title!r} names the label {unknown[0]!r}, which neither y nor the dictionary has; "
                    "if it is right, name all labels in classes"
                )
        return sorted(known)

    def _argmax(self, X: Any, classes: Sequence[str]) -> Argmax:
        structure, allowed, compiled = self.structure_, None, None
        if self.dictionary is not None:
            known, lengths = self.dictionary.apply(X), [len(x) for x in X]
            allowed, edges = encode_labels(known, lengths, classes).choices(len(classes)), sequence_offsets(X)
        if self._rules_given():
            compiled = self.task_.compiled(self._rules_given(), self.task_.for_rules(X), classes)
            hard = np.full(len(compiled.rules), np.inf)

        def best(scores: Any, first: int, last: int, seed: int | None = None) -> Best:
            if allowed is not None:
                scores = scores.restrict(allowed[edges[first] : edges[last]])
            if compiled is None:
                return structure.argmax(scores, seed=seed)
            limits = compiled.sequences(first, last).weigh(hard)
            folded, left = limits.folded(scores)
            if left is None:
                return structure.argmax(folded, seed=seed)
            found: Best = limits.best(structure, scores).best()
            return found

        return best

    def _rules_given(self) -> list[Rule]:
        return [rule.hard() for rule in self.rules or ()]

    def _decoder(self) -> Decoder:
        rules, free = self._rules_given(), Free(self.structure_)
        if not rules and self.dictionary is None:
            return free
        limits = np.full(len(rules), np.inf)
        inner = UnderRules(self.structure_, self.task_, rules, limits, self.model_.classes) if rules else free
        return inner if self.dictionary is None else Within(inner, self.dictionary, self.model_.classes)

    def rule_readings(self) -> list[RuleReading]:
        """Every rule limits the outputs."""
        return [RuleReading("hard", None, False) for _ in self._rules_given()]

    def decision_function(self, X: Any) -> Floats:
        """max_y w·F_B(x, y) of each input, over the outputs that are possible: above zero, it looks GOOD."""
        scores = self.scores(X)
        found = self.decoder_.best(X, scores, 1)
        values: Floats = found.scores[:, 0] / self._divisors(X, found.outputs) + self.constant * self.constant_weight_
        return values

    def _divisors(self, X: Any, outputs: Outputs) -> Floats:
        """κ of inputs that have these outputs; the inputs may be encoded where it is their length."""
        if self.size is None:
            return np.ones(len(outputs))
        encoded = isinstance(X, Encoded) and self.size == "length"
        return np.diff(outputs.offsets).astype(float) if encoded else self._sizes(X)


@declared
class LatentGoodOrBadLearner(LatentParameters, GoodOrBadLearner):
    """Some output of a GOOD input scores above zero, and every output of a BAD one below."""

    random_ties: Annotated[
        bool,
        "Whether ties between best outputs are broken at random; else the first of `classes` wins. Without "
        "labelled inputs all outputs tie at first, and where a fixed order leads is a matter of luck with "
        "that order; random ties are steadier, the more so with a lower C2 and `change`. Under rules that are "
        "not sums over parts ties are not random.",
    ] = True

    saved: ClassVar[tuple[str, ...]] = (*LATENT, "constant_weight_")

    @property
    def course_(self) -> tuple[Round, ...]:
        """The rounds, and the objective after them."""
        return rounds_and_end(self)

    def _check_options(self) -> None:
        check_rounds(self)
        super()._check_options()


def accept_best(
    batch: Batch, cost: float, size: Floats, constant: float, seed: int | None
) -> Callable[[Floats, int], Accepted]:
    """What GOOD inputs ask for, given weights: that their best outputs are good; a seed breaks ties at random."""

    def accept(w: Floats, number: int) -> Accepted:
        best = batch.best(w, None if seed is None else seed + number)
        return Accepted(batch, cost, size, constant, best.outputs)

    return accept


def numbered(argmax: Argmax, numbers: Sequence[int]) -> Argmax:
    """The same search, whose errors name inputs by their place in X; numbers: those places."""

    def best(scores: Any, first: int, last: int, seed: int | None = None) -> Best:
        try:
            return argmax(scores, first, last, seed)
        except Infeasible as error:
            if error.sequence is None:
                raise
            raise error.numbered(numbers[first + error.sequence]) from None

    return best
