"""Parameters that several learners have, declared once (`sidelight.declared`) in classes that know nothing else."""

from collections.abc import Callable, Sequence
from dataclasses import field
from math import nan
from typing import Annotated, Any, Literal

from ..declared import Bounds, Running, declared
from ..errors import DataError, NotSupported
from ..estimator import require_fitted
from ..inference.readings import LabelledData, Penalty, Readings, RuleReading
from ..quoting import quoted
from ..rules.language import Rule
from ..rules.rows import penalty_of, require_expected
from ..structures.protocol import Structure
from ..supervision import Label, Signal
from .registry import able
from .tasks.labelling import Labelling
from .tasks.task import Task

MarginLoss = Literal["squared_hinge", "hinge", "logistic"]
# How outputs are read off: the best under the rules, by the projection onto them, or by the model alone.
Decode = Literal["rules", "projected", "model"]
Size = Literal["length"] | Callable[[Any], float] | None


@declared
class LayoutParameters(Running):
    """What all learners with a weight vector have."""

    min_count: Annotated[int, "Attributes that occur less often are dropped.", Bounds(0)] = 1
    all_weights: Annotated[bool, "Whether all pairs of attribute and label have weights, not only those observed."] = (
        False
    )
    classes: Annotated[Sequence[Label] | None, "All labels, where y may lack some."] = None


@declared
class LinearParameters(LayoutParameters):
    """What learners with a weight vector have that take any task."""

    features: Annotated[
        Any,
        "Templates over the token columns, as text or expressions; None is `DEFAULT_TEMPLATES`. It must be None "
        "where X holds feature dicts or arrays.",
    ] = field(default=None, kw_only=False)
    order: Annotated[int, "1 gives weights to label pairs, 2 to label triples as well.", Bounds(1, 2)] = 1
    boundaries: Annotated[bool, "Whether first and last labels have weights of their own."] = True
    edges: Annotated[
        bool,
        "Whether what is observed at a token also has weights for pairs of its label and the one before, as the bigram "
        "templates of CRF++ have; slower, and for order 1.",
    ] = False
    hash_bits: Annotated[
        int | None,
        "The number of bits of a hash that takes the place of the vocabulary: one pass encodes the data, and the "
        "model does not grow with it, but attributes may share weights (18 to 24 are usual). None keeps a vocabulary.",
        Bounds(1, 30),
    ] = None
    task: Annotated[
        Task | None,
        "What is predicted. None labels sequences, Segmenting() cuts them into segments, Classifying() is for "
        "documents. `order`, `boundaries` and `edges` are those of labelling.",
    ] = None
    random_state: Annotated[int | None, "Seed of everything that is random; None gives another one each time."] = 0

    @property
    def task_(self) -> Task:
        """What is predicted, and from what: the task that was given, or labelling."""
        return Labelling(self.order, self.boundaries, self.edges) if self.task is None else self.task

    def check_parameters(self) -> None:
        """Raise for parameters that make no sense together."""
        if self.task is not None and (self.order != 1 or not self.boundaries or self.edges):
            raise DataError("order, boundaries and edges belong to the task where one is given: Labelling(order=2)")


@declared
class MarginParameters:
    """What the large-margin learners have."""

    loss: Annotated[
        MarginLoss,
        "The cost of a margin that is missed by ξ: ξ squared, ξ, or log(1 + exp(ξ)). The last is never zero, so the "
        "objective falls by a smaller share of itself: use a lower tolerance with it.",
    ] = "squared_hinge"
    tolerance: Annotated[float, "The duality gap to stop at, as a share of the objective.", Bounds(0, above=True)] = (
        0.01
    )
    epsilon: Annotated[
        float,
        "An output joins its working set if it misses the margin by this much more than those already there.",
        Bounds(0),
    ] = 0.01
    max_iterations: Annotated[int, "Searches through the data at most.", Bounds(1)] = 200
    check_inference: Annotated[
        bool, "Whether to raise an error if an output found before is ever better than the one that the search returns."
    ] = False


@declared
class LatentParameters(MarginParameters):
    """What large-margin learners with unknown outputs have."""

    change: Annotated[
        float,
        "It stops when a round changes the objective by no more than this share (Eq. 6.11 of Chang 2011).",
        Bounds(0, above=True),
    ] = 1e-5
    max_rounds: Annotated[int, "Rounds at most.", Bounds(1)] = 50
    restarts: Annotated[
        int, "Runs with different seeds, of which the one with the lowest objective is kept.", Bounds(1)
    ] = 1

    @property
    def course_(self) -> tuple[Any, ...]:
        """The rounds, and the objective after the last of them."""
        from ..solvers.latent_margins import Round

        one: Any = self
        return (*one.rounds_, Round(len(one.rounds_) + 1, one.objective_, nan))


@declared
class CompanionParameters(MarginParameters):
    """What learners have that know whether inputs have a good output; F_B(x, y) = (F(x, y) / κ(x), constant)."""

    size: Annotated[
        Size, 'κ, by which the features of GOOD and BAD inputs are divided: "length", a function of x, or None for 1.'
    ] = "length"
    constant: Annotated[float, "Value of the constant feature of GOOD and BAD inputs; 0 leaves it out.", Bounds(0)] = (
        1.0
    )


@declared
class LatentCompanionParameters(CompanionParameters, LatentParameters):
    """What those of them have that choose the outputs of GOOD inputs anew in every round."""

    random_ties: Annotated[
        bool,
        "Whether ties between best outputs are broken at random; otherwise the first of `classes` wins. Without "
        "labelled inputs all outputs tie at first, and a fixed order makes the result depend on the order of "
        "`classes`. Results vary less with random ties, and least with a low cost and `change`. Ties under rules that "
        "are not sums over parts are not random.",
    ] = True


@declared
class GuardParameters(Running):
    """What learners have that are compared with their supervised start."""

    guard: Annotated[
        bool,
        "Whether `fit` tries the learner and its base alone on labelled sequences held out, and warns "
        "(`WorseThanBase`) where rules or unlabelled sequences do harm.",
    ] = True


@declared
class WrapperParameters(GuardParameters):
    """What learners around others have."""

    base: Annotated[Any, "The base learner."] = field(kw_only=False)

    @property
    def task_(self) -> Task:
        """What the base learner predicts."""
        task: Task = self.base.task_
        return task

    def check_base(self) -> None:
        """Raise `DataError` unless the base is a learner."""
        base, name = self.base, type(self).__name__
        if isinstance(base, type) or not hasattr(base, "task_"):
            written = f"{base.__name__}, a class; write {base.__name__}()" if isinstance(base, type) else quoted(base)
            raise DataError(f"the base of {name} is a learner such as CRF() or HMM(), got {written}")

    def fit_base(self, X: Any, y: Any, classes: Sequence[str], counts: Any = None) -> Any:
        """Returns a clone of the base learner, fitted so that it knows all of these labels; counts: its weights."""
        return self.base.with_labels(classes).fit(X, y, **({} if counts is None else {"sample_weight": counts}))

    @property
    def models_(self) -> dict[str, Any]:
        """The fitted base learner."""
        return {"base_": getattr(self, "base_", None)}

    @property
    def model_(self) -> Any:
        """The model that predictions are read off: that of the fitted base learner."""
        from .model import Fitted

        return Fitted(self.models_["base_"])


@declared
class MixtureParameters(WrapperParameters):
    """What learners have whose model from labelled data, `base_`, is mixed with one from other data, `driven_`."""

    @property
    def models_(self) -> dict[str, Any]:
        """The models from labelled and from other data."""
        return {"base_": getattr(self, "base_", None), "driven_": getattr(self, "driven_", None)}

    @property
    def model_(self) -> Any:
        """Both models, mixed."""
        from .model import mixed

        one: Any = self
        return mixed(one.base_, one.driven_, one.weight_)


class _Read:
    """What a fit leaves behind, which is no parameter."""

    readings_: Readings


@declared
class ExpectationParameters(_Read, WrapperParameters):
    """What learners that read rules as statements about expectations have."""

    rules: Annotated[Sequence[Rule] | None, "Statements about expectations."] = field(default=(), kw_only=False)
    penalty: Annotated[
        Penalty,
        "The penalty of every rule without its own, which is written rule.expected(penalty): a number above 0, or "
        '"learned": the log-odds with which the labelled sequences keep to it, two thirds of the penalty that `CCM` '
        "would learn. Rules that labelled sequences often "
        "break then get a small penalty, and their bounds are widened by the average violation and one standard "
        "error. A rule about the corpus counts for each of its sequences, and "
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
        "The weight of an unlabelled sequence, and of the divergence of any sequence, where a labelled one has 1. "
        "None: 1 for an HMM, which has to count words to know them, and for a CRF all sequences without full labels "
        "as much as all with labels. A sequence with partial labels counts as a labelled one, or as an unlabelled "
        "one where that is more.",
        Bounds(0),
    ] = None
    decode: Annotated[
        Decode,
        '"rules" predicts the best output under the rules, as `CCM` does, with the penalties above and without rules '
        'about the corpus; "model" by the model alone; "projected" by the projection of the model onto the rules. '
        'Norms that join rows (all but "l1" and "squared") project all sequences of a call together: each prediction '
        "depends on the others.",
    ] = "rules"
    classes: Annotated[
        Sequence[Label] | None,
        "All labels, where y does not have them all; without any label, those that the rules name will do.",
    ] = None

    @property
    def structure_(self) -> Structure[Any]:
        """What the base learner predicts; documents are sequences of one token."""
        return self.task_.structure(self.n_jobs).for_rows()

    @property
    def rules_used_(self) -> tuple[Rule, ...]:
        """The rules with their penalties, and the label shares that were added."""
        require_fitted(self)
        return self.readings_.used

    def rule_readings(self) -> list[RuleReading]:
        """How each of the rules is used."""
        out = []
        for rule, used in zip(self.rules or (), self.rules_used_, strict=False):
            cost = None if self.penalty is None else penalty_of(used)
            out.append(RuleReading("expected", cost, self.learns_penalty(rule)))
        return out

    def learns_penalty(self, rule: Rule) -> bool:
        """Whether the penalty of a rule is learned: neither the rule nor the learner has a number."""
        own = rule.reading is not None and rule.reading.penalty is not None
        return isinstance(self.penalty, str) and not own

    def check_expectations(self, *, slack: bool = False) -> None:
        """Raise for tasks without expectations, and without a penalty where the learner needs slack."""
        if not self.task_.has_rows:
            raise NotSupported(
                f"{type(self).__name__} works out expectations under rules, which {type(self.task_).__name__} does "
                f"not offer; use {' or '.join(able([Signal.FULL], self.task_, self.rules or ()))}"
            )
        if slack:
            self.require_penalty()

    def require_penalty(self) -> None:
        """Raise `DataError` unless there is a penalty, for learners whose rules always have slack."""
        if self.penalty is None:
            raise DataError(
                f"rules of {type(self).__name__} always have slack, so its penalty is a number above 0 or 'learned', "
                "got None"
            )

    def read_rules(
        self, X: Sequence[Any], y: Sequence[Any], classes: list[str], *, shares: bool, room: bool = True
    ) -> Readings:
        """Returns the rules with what fully labelled sequences say; shares: whether those of labels are added."""
        rules, task = list(self.rules or ()), self.task_
        for rule in rules:
            require_expected(rule)
        known = task.known_to_rules(y, X, classes) if len(y) and rules else None
        labelled = LabelledData(task, X, y, known, classes)
        decoding = self.decode == "rules"
        return Readings.of(rules, labelled, penalty=self.penalty, shares=shares, decoding=decoding, room=room)
