"""What learners share that read rules as statements about expectations: parameters, readings, and decoding."""

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Any, Literal

from sklearn.utils.validation import check_is_fitted

from ...errors import DataError, NotSupported
from ...inference.readings import LabelledData, Penalty, Readings
from ...rules.language import Rule
from ...rules.rows import require_expected
from ...structures.protocol import Structure
from ..decoding import Decoder, UnderRules
from ..learner import RuleReading
from ..parameters import WrapperParameters, declared, require_number

# How outputs are read off: the best under the rules, by the projection onto them, or by the model alone.
Decode = Literal["rules", "projected", "model"]


class _Read:
    """What a fit leaves behind, which is no parameter."""

    readings_: Readings


@declared
class ExpectationParameters(_Read, WrapperParameters):
    """What learners that read rules as statements about expectations have."""

    rules: Annotated[Sequence[Rule], "Statements about expectations."] = field(default=(), kw_only=False)
    penalty: Annotated[
        Penalty,
        "The weight of every rule without its own, which is written rule.expected(penalty): a number, or "
        '"learned": that which `CCM` would learn for it by counting on the labelled sequences, so that a rule '
        "that they often break has little say; its bound then also has as much room as they need on average, and "
        "a standard error more. A rule about the corpus counts for each of its sequences, and "
        "the slack of a share is a number of tokens per sequence, so that a penalty means the same for a "
        "share and for a count. None asks for rules that hold without slack, where the learner can do that.",
    ] = "learned"
    label_shares: Annotated[
        bool,
        "Whether to add bounds on the share of each label, two standard errors around that of the labelled sequences "
        "(`sidelight.label_shares`), beside rules and where these do not give the share themselves; not where the "
        "penalty is None.",
    ] = True
    unlabeled_weight: Annotated[
        float | None,
        "What an unlabelled sequence, and the divergence of any, counts beside a labelled one. None: 1 for an "
        "HMM, which has to count words to know them, and for a CRF all sequences without full labels as much "
        "as all with labels. A sequence with partial labels counts as a labelled one, or as an unlabelled one "
        "where that is more.",
    ] = None
    decode: Annotated[
        Decode,
        '"rules" predicts the best output under the rules, as `CCM` does, with the penalties above and without rules '
        'about the corpus; "model" by the model alone; "projected" by the projection of the model onto the rules. '
        'Norms that join rows (all but "l1" and "squared") project all sequences of a call together: each prediction '
        "depends on the others.",
    ] = "rules"
    classes: Annotated[
        Sequence[str] | None,
        "All labels, where y does not have them all; without any label, those that the rules name will do.",
    ] = None

    @property
    def structure_(self) -> Structure[Any]:
        """What the base learner predicts; documents are sequences of one token."""
        return self.task_.structure(self.n_jobs).for_rows()

    @property
    def rules_used_(self) -> tuple[Rule, ...]:
        """The rules with their penalties, and the label shares that were added."""
        check_is_fitted(self, "classes_")
        return self.readings_.used

    def rule_readings(self) -> list[RuleReading]:
        """How each of the rules is used."""
        out, shared = [], self.penalty
        for rule, used in zip(self.rules or (), self.rules_used_, strict=False):
            own = 1.0 if used.reading is None else used.reading.penalty or 1.0
            learned = shared == "learned" and (rule.reading is None or rule.reading.penalty is None)
            cost = None if shared is None else own if isinstance(shared, str) else shared * own
            out.append(RuleReading("expected", cost, learned))
        return out


def check_expectations(learner: Any, decodings: tuple[str, ...]) -> None:
    """Raise for `ExpectationParameters` that make no sense, and for tasks without labels."""
    learner.listed_rules()
    if not learner.task_.has_rows:
        raise NotSupported(
            f"{type(learner).__name__} works out expectations under rules, which {type(learner.task_).__name__} does "
            "not offer; use StructuralSVM, StructuredPerceptron, MIRA, CCM or CoDL"
        )
    if isinstance(learner.penalty, str) and learner.penalty != "learned":
        raise DataError(f"the penalty is a number, None or 'learned', got {learner.penalty!r}")
    if learner.unlabeled_weight is not None:
        require_number(learner, "unlabeled_weight", 0)
    if learner.decode not in decodings:
        raise DataError(f"decode is one of {', '.join(decodings)}, got {learner.decode!r}")


def read_rules(
    learner: Any, X: Sequence[Any], y: Sequence[Any], classes: list[str], *, shares: bool, room: bool = True
) -> Readings:
    """Returns the rules with what fully labelled sequences say; shares: whether those of labels are added."""
    rules, task = list(learner.rules or ()), learner.task_
    for rule in rules:
        require_expected(rule)
    known = task.known_to_rules(y, X, classes) if len(y) and rules else None
    labelled = LabelledData(task, X, y, known, classes)
    return Readings.of(
        rules, labelled, penalty=learner.penalty, shares=shares, decoding=learner.decode == "rules", room=room
    )


def expectation_decoder(learner: Any) -> Decoder:
    """Returns how outputs are read off: under the rules that are about single outputs, or freely."""
    read: Readings = learner.readings_
    if learner.decode != "rules" or not read.decoded:
        return Decoder(learner.structure_)
    return UnderRules(
        learner.structure_, learner.task_, list(read.decoded), read.penalties, learner.labels_, folding=False
    )
