"""Parameters of learners, declared once: a field with its type, its text and its default.

    @declared
    class CRF(LinearParameters, Learner):
        l2: Annotated[float, "Penalty of the squared weights."] = 0.1

`declared` makes a class a dataclass without a comparison or a representation of its own, so that scikit-learn's
conventions hold, and writes the section *Parameters* of its docstring. Parameters that several learners have are
declared in the classes below, which know nothing else. In the section *Attributes* of a docstring a line of names
alone takes its texts from `ATTRIBUTES`.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from numbers import Integral, Real
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin

import numpy as np

from ..errors import DataError, NotSupported
from ..estimator import require_fitted
from ..inference.readings import LabelledData, Penalty, Readings, RuleReading
from ..rules.language import Rule
from ..rules.rows import require_expected
from ..structures.protocol import Structure
from .tasks.labelling import Labelling
from .tasks.task import Task

C = TypeVar("C", bound=type)
MarginLoss = Literal["squared_hinge", "hinge", "logistic"]
# How outputs are read off: the best under the rules, by the projection onto them, or by the model alone.
Decode = Literal["rules", "projected", "model"]
Size = Literal["length"] | Callable[[Any], float] | None

# Parameters that say how a fit runs.
_RUNNING = ("guard", "random_state", "verbose", "n_jobs")
# What many learners have after `fit`: type and text.
ATTRIBUTES = {
    "classes_": ("list, or array of documents' labels", "The labels."),
    "weights_": ("array", "The weights."),
    "trace_": ("tuple", "A step for each iteration or round."),
    "converged_": ("bool", "Whether the tolerance was reached."),
    "solver_": ("str", "The solver that ran."),
    "mistakes_": ("tuple of int", "Wrong tokens in each pass."),
    "base_": ("learner", "The fitted base learner."),
    "penalties_": ("array", "The penalty of each rule; infinite for hard rules."),
    "rules_used_": ("tuple of Rule", "The rules with their penalties, and the label shares that were added."),
    "guard_": ("Guard or None", "The comparison with the base learner alone; None where nothing was compared."),
    "objective_": ("float", "The objective of the weights."),
    "rounds_": ("tuple of Round", "The rounds, each with the objective before it."),
    "run_objectives_": ("tuple of float", "The objective that each run ended with."),
    "weight_": ("float", "The weight of the model learned from labelled data."),
    "start_": ("learner or None", "The supervised model that predictions are mixed with."),
    "prices_": ("array", "Prices of the rules about the corpus."),
    "units_": ("tuple of float", "What a share of each rule about the corpus counts in."),
}


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def declared(cls: C) -> C:
    """Returns the class with its annotated names as keyword parameters, and their texts in its docstring."""
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)
    order = _ordered(made)
    written = inspect.signature(made.__init__)
    made.__signature__ = written.replace(parameters=[written.parameters[one.name] for one in order])
    made.__doc__ = _documented(made, order)
    return made  # type: ignore[no-any-return]


def parameter_hints(cls: Any) -> dict[str, Any]:
    """Returns what every parameter of a class may be: as it is annotated, but those that say how a fit runs.

    scikit-learn's users give None as a seed and as a number of threads, and numbers for how much is shown.
    """
    running = dict.fromkeys(_RUNNING, int | bool | None)
    return {one.name: running.get(one.name, one.type) for one in fields(cls)}


def _ordered(cls: Any) -> list[Field[Any]]:
    """Returns the parameters as people read them: by position first, then a class's own, and how it runs last."""

    def rank(one: Field[Any]) -> tuple[bool, bool, int]:
        home = next(k for k, base in enumerate(cls.__mro__) if one.name in inspect.get_annotations(base))
        return bool(one.kw_only), one.name in _RUNNING, home if one.kw_only else 0

    return sorted(fields(cls), key=rank)


def _documented(cls: Any, order: list[Field[Any]]) -> str:
    """Returns the docstring with all parameters and attributes in numpydoc form."""
    text = "\n".join(_entry(one.name, one.type, one.default) for one in order)
    written = f"    Parameters\n    ----------\n{text}\n"
    before, mark, attributes = (cls.__doc__ or "").partition("    Attributes\n    ----------\n")
    return f"{before.rstrip()}\n\n{written}" + (f"\n{mark}{_attributes(attributes)}" if mark else "    ")


def _entry(name: str, hint: Any, default: Any) -> str:
    """Returns the lines of one parameter."""
    kind, text = get_args(hint) if get_origin(hint) is Annotated else (hint, "")
    shown = "" if default is MISSING else f", default={default!r}"
    return f"    {name} : {_type_name(kind)}{shown}\n{_wrapped(text)}"


def _type_name(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "{" + ", ".join(map(repr, get_args(kind))) + "}"
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(map(_type_name, get_args(kind)))
    if kind is Any:
        return "object"
    name = kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
    return "None" if name == "NoneType" else re.sub(r"\b[a-z_]+(\.[a-z_]+)*\.(?=[A-Z])", "", name)


def _wrapped(text: str, width: int = 112) -> str:
    """Returns a text in lines that are indented by eight."""
    lines, line = list[str](), ""
    for word in text.split():
        if len(line) + len(word) + 1 > width:
            lines, line = [*lines, line], ""
        line = f"{line} {word}".strip()
    return "\n".join(f"        {one}" for one in [*lines, line])


def _attributes(section: str) -> str:
    """Returns the section with lines of names alone written out."""
    out = []
    for line in section.splitlines():
        names = [name.strip() for name in line.split(",")]
        if line.strip() and all(name in ATTRIBUTES for name in names):
            out += [f"    {name} : {ATTRIBUTES[name][0]}\n        {ATTRIBUTES[name][1]}" for name in names]
        else:
            out.append(line)
    return "\n".join(out)


def require_number(learner: Any, name: str, low: float, *, whole: bool = False, open_end: bool = False) -> None:
    """Raise `DataError` unless a parameter is a finite (whole) number of at least `low` (above it, if open)."""
    value = getattr(learner, name)
    kind = Integral if whole else Real
    good = isinstance(value, kind) and not isinstance(value, bool) and np.isfinite(float(value))
    if not good or value < low or (open_end and value == low):
        bound = f"above {low:g}" if open_end else f"of at least {low:g}"
        raise DataError(f"{name} must be a {'whole' if whole else 'finite'} number {bound}, got {value!r}")


def require_share(learner: Any, name: str, what: str) -> None:
    """Raise `DataError` unless a parameter is None or a number between 0 and 1."""
    value = getattr(learner, name)
    if value is None:
        return
    require_number(learner, name, 0)
    if value > 1:
        raise DataError(f"{name} {what}, got {value!r}")


# Parameters that several learners have --------------------------------------------------------------------------------


@declared
class Running:
    """How a fit runs."""

    verbose: Annotated[bool, "Whether to show progress: a bar on a terminal, log lines elsewhere."] = False
    n_jobs: Annotated[int, "Threads; -1 is every core."] = -1


@declared
class LayoutParameters(Running):
    """What all learners with a weight vector have."""

    min_count: Annotated[int, "Attributes that occur less often are dropped."] = 1
    all_weights: Annotated[bool, "Whether all pairs of attribute and label have weights, not only those observed."] = (
        False
    )
    classes: Annotated[Sequence[str] | None, "All labels, where y may lack some."] = None


@declared
class LinearParameters(LayoutParameters):
    """What learners with a weight vector have that take any task."""

    features: Annotated[
        Any,
        "Templates over the token columns, as text or expressions; None is a default set. It must be None "
        "where X holds feature dicts or arrays.",
    ] = field(default=None, kw_only=False)
    order: Annotated[int, "1 gives weights to label pairs, 2 to label triples as well."] = 1
    boundaries: Annotated[bool, "Whether first and last labels have weights of their own."] = True
    edges: Annotated[
        bool,
        "Whether what is observed at a token also has weights for pairs of its label and the one before, as the bigram "
        "templates of CRF++ have; slower, and for order 1.",
    ] = False
    hash_bits: Annotated[
        int | None,
        "Attributes of templates are hashed to so many bits: no words are kept, one pass encodes the data, and the "
        "model does not grow with it, but attributes may share weights (18 to 24 are usual). None keeps every one.",
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


@declared
class MarginParameters:
    """What the large-margin learners have."""

    loss: Annotated[
        MarginLoss,
        "What a margin missed by ξ costs: its square, itself, or log(1 + exp(ξ)). The last is never zero, so that the "
        "objective has less room to fall: give a lower tolerance with it.",
    ] = "squared_hinge"
    tolerance: Annotated[float, "The duality gap to stop at, as a share of the objective."] = 0.01
    epsilon: Annotated[
        float, "An output joins its working set if it misses the margin by this much more than those already there."
    ] = 0.01
    max_iterations: Annotated[int, "Searches through the data at most."] = 200
    check_inference: Annotated[
        bool, "Whether to raise an error if an output found before is ever better than the one that the search returns."
    ] = False


@declared
class LatentParameters(MarginParameters):
    """What large-margin learners with unknown outputs have."""

    change: Annotated[
        float, "It stops when a round changes the objective by no more than this share (Eq. 6.11 of Chang 2011)."
    ] = 1e-5
    max_rounds: Annotated[int, "Rounds at most."] = 50
    restarts: Annotated[int, "Runs with different seeds, of which the one with the lowest objective is kept."] = 1


@declared
class CompanionParameters(MarginParameters):
    """What learners have that know whether inputs have a good output; F_B(x, y) = (F(x, y) / κ(x), constant)."""

    size: Annotated[
        Size, 'κ, by which the features of GOOD and BAD inputs are divided: "length", a function of x, or None for 1.'
    ] = "length"
    constant: Annotated[float, "Value of the constant feature of GOOD and BAD inputs; 0 leaves it out."] = 1.0


@declared
class LatentCompanionParameters(CompanionParameters, LatentParameters):
    """What those of them have that choose the outputs of GOOD inputs anew in every round."""

    random_ties: Annotated[
        bool,
        "Whether ties between best outputs are broken at random; else the first of `classes` wins. Without "
        "labelled inputs all outputs tie at first, and where a fixed order leads is a matter of luck with "
        "that order; random ties are steadier, the more so with a lower C2 and `change`. Under rules that are "
        "not sums over parts ties are not random.",
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
            written = f"{base.__name__}, a class; write {base.__name__}()" if isinstance(base, type) else repr(base)
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
        require_fitted(self)
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

    def check_expectations(self, decodings: tuple[str, ...]) -> None:
        """Raise for parameters that make no sense, and for tasks without labels; decodings: what `decode` may be."""
        one: Any = self
        one.listed_rules()
        if not self.task_.has_rows:
            raise NotSupported(
                f"{type(self).__name__} works out expectations under rules, which {type(self.task_).__name__} does "
                "not offer; use StructuralSVM, StructuredPerceptron, MIRA, CCM or CoDL"
            )
        if isinstance(self.penalty, str) and self.penalty != "learned":
            raise DataError(f"the penalty is a number, None or 'learned', got {self.penalty!r}")
        if self.unlabeled_weight is not None:
            require_number(self, "unlabeled_weight", 0)
        if self.decode not in decodings:
            raise DataError(f"decode is one of {', '.join(decodings)}, got {self.decode!r}")

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
