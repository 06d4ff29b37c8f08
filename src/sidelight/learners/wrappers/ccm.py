"""Constrained conditional models: any trained model, with rules at prediction.

    maximise  w·F(x, y) - Σ_k ρ_k d_k(x, y)      (Eq. 3.2 of Chang 2011)

d_k is the degree to which output y violates rule k, and ρ_k its penalty: infinite for a hard rule, given or learned by
counting for a soft one (Eq. 3.10, Algorithm 7).
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Any, Literal, Self

import numpy as np

from ...data.corpus import Corpus
from ...declared import Bounds, declared
from ...errors import NotSupported
from ...estimator import require_fitted
from ...features.encoded import some_of
from ...inference.compiled import Counting, decoding_penalties, penalties
from ...inference.constrained import Method
from ...inference.readings import RuleReading
from ...kernels.compiling import Floats
from ...rules.automata import about_the_corpus, about_whole_outputs
from ...rules.language import Reading, Rule
from ...structures.protocol import TIME_LIMIT
from ...supervision import Signal, by_kind, some_known
from ..choosing.guard import guarded
from ..decoding import UnderRules
from ..inputs import weighed
from ..learner import Learner
from ..parameters import WrapperParameters


@declared
class RuleParameters(WrapperParameters):
    """What learners that decode under hard and soft rules have."""

    rules: Annotated[Sequence[Rule] | None, "The rules; their readings say how each is used."] = field(
        default=None, kw_only=False
    )
    reading: Annotated[
        Literal["hard", "soft"],
        'For rules without a reading of their own: "soft" with penalties learned by counting, or "hard".',
    ] = "soft"
    counting: Annotated[
        Counting,
        '"places" compares the places where labelled sequences keep to a rule with those where they break it, '
        'and assumes that a rule holds where there are few such places; "tokens" is Eq. 3.10 of Chang 2011, the '
        "violations per token.",
    ] = "places"
    method: Annotated[
        Method, '"exact" (search, then integer programming where it is needed), "program", or "beam".'
    ] = "exact"
    beam: Annotated[int, "Width of the beam.", Bounds(1)] = 50
    time_limit: Annotated[
        float | None,
        "Seconds for each input that needs search; then the best output found is taken, and `infer` has a bound for "
        "it. None searches until the best output is proved to be it.",
        Bounds(0, above=True, infinite=True),
    ] = TIME_LIMIT

    @property
    def default_reading(self) -> Reading:
        """How rules without a reading of their own are used."""
        return Reading(self.reading)

    def check_parameters(self) -> None:
        """Raise for rules that cannot be used, before anything is learned."""
        one: Any = self
        rules, name, noun = one.listed_rules(), type(self).__name__, self.task_.noun
        for rule in rules:
            if about_the_corpus(rule):
                raise NotSupported(
                    f"the rule {rule.title!r} is about the corpus, and {name} decodes one {noun} at a time; leave it "
                    "out here and test it with check, or use PosteriorRegularization"
                )
            if getattr(self.task_, "order", 1) == 2 and about_whole_outputs(rule):
                raise NotSupported(
                    f"the rule {rule.title!r} is about whole outputs, which chains of order 2 cannot keep to; use "
                    "order=1, or rules about labels and neighbours such as where(...) and starts_with(...)"
                )
        penalties(rules, self.default_reading, np.zeros(len(rules)))

    def labels_under_rules(self, X: Any, read: Any) -> list[str]:
        """Returns all labels; raises the errors of the rules' conditions, before anything is learned."""
        one: Any = self
        classes: list[str] = one.all_labels(read)
        if self.rules:
            for some in X.blocks() if isinstance(X, Corpus) else [X]:
                self.task_.compiled(list(self.rules), self.task_.for_rules(some), classes)
        return classes

    def counted_penalties(self, X: Any, y: Any, classes: list[str]) -> Floats:
        """Returns penalties by the rules' readings, learned from fully labelled inputs where they are to be learned."""
        rules, task = list(self.rules or ()), self.task_
        labelled, learned = by_kind(y)[Signal.FULL], None
        if labelled and rules:
            some = task.for_rules(some_of(X, labelled))
            known = task.known_to_rules(some_known(y, labelled), some, classes)
            log_odds = task.compiled(rules, some, classes).learn_from(known, self.counting)
            learned = decoding_penalties(log_odds, self.counting)
        return penalties(rules, self.default_reading, learned)

    def decoder_at(self, charged: Floats, classes: Sequence[str]) -> UnderRules:
        """Returns how outputs are read off with these penalties."""
        one: Any = self
        rules = list(self.rules or ())
        return UnderRules(one.structure_, self.task_, rules, charged, classes, self.method, self.beam, self.time_limit)

    def _decoder(self) -> UnderRules:
        one: Any = self
        return self.decoder_at(one.penalties_, one.labels_)

    def rule_readings(self) -> list[RuleReading]:
        """How each of the rules is used."""
        one: Any = self
        out = []
        for rule, penalty in zip(self.rules or (), one.penalties_, strict=True):
            kind = rule.reading.kind if rule.reading else self.reading
            learned = kind == "soft" and (rule.reading is None or rule.reading.penalty is None)
            out.append(RuleReading(kind, None if kind == "hard" else float(penalty), learned))
        return out


def _require_no_rules(base: Any) -> None:
    """Raise where rules go around a learner that has rules: predictions would ignore its own."""
    if base.rules:
        raise NotSupported(
            f"the {type(base).__name__} inside has rules of its own, which predictions would ignore; give all rules to "
            "one of them, as in CCM.around(model.base_, [*model.rules, ...])"
        )


@declared
class CCM(RuleParameters, Learner):
    """A base learner trained as usual, with rules at prediction; `CCM.around` takes one that is fitted.

    Attributes
    ----------
    classes_, base_, penalties_, guard_
    """

    saved = ("penalties_",)
    keeps_base = True

    @guarded
    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Train the base learner, and count how often labelled sequences violate the rules.

        sample_weight : that of the base learner; violations are counted once whatever their sequence counts.
        """
        self.check_parameters()
        _require_no_rules(self.base)
        X, y, counts = weighed(self, X, y, sample_weight)
        _, known = self.read_input(X, y)
        self.base_ = self.fit_base(X, y, self.labels_under_rules(X, known), counts)
        self.labels_ = self.base_.labels_
        self.penalties_ = self.counted_penalties(X, known, self.labels_)
        return self

    @classmethod
    def around(cls, fitted: Any, rules: Sequence[Rule], **parameters: Any) -> "CCM":
        """Rules around a model that is trained already; soft rules then need penalties."""
        require_fitted(fitted)
        _require_no_rules(fitted)
        model = cls(fitted, rules, **parameters)
        model.check_parameters()
        model.base_, model.labels_ = fitted, fitted.labels_
        model.penalties_, model.guard_ = penalties(list(rules), model.default_reading, None), None
        return model

    @property
    def has_course(self) -> bool:
        """Whether the base learner has one."""
        return bool(self.base.has_course)

    @property
    def course_(self) -> tuple[Any, ...]:
        """That of the base learner."""
        steps: tuple[Any, ...] = self.base_.course_
        return steps
