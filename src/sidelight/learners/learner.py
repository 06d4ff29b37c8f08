"""What all learners share: prediction, explanation and files.

A learner has parameters (`parameters`), and `fit` gives it a model (`model`). Outputs are read off the model's scores
by its decoder (`decoding`). What it predicts, and from what, is its task (`tasks`).

What a stranger may rely on of every fitted learner: `classes_`, `trace_`, `models_`, `rules_used_`, `rule_readings()`,
`top_weights`, `explain`, `without_rules()`, and the files.
"""

from collections.abc import Collection, Sequence
from copy import copy
from inspect import signature
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from ..data.corpus import Corpus
from ..errors import DataError, NotSupported, did_you_mean, inputs_called, warn
from ..estimator import Estimator, available_if, clone, require_fitted
from ..explanation import Explanation, Predicted
from ..features.encoded import Encoded, in_blocks
from ..inference.constrained import Constrained, warn_unproved
from ..inference.readings import RuleReading
from ..kernels.compiling import Floats
from ..kernels.parallel import require_count
from ..labels import misspelt_label, plain_labels
from ..quoting import FEW, quoted, quoted_few
from ..rules.automata import labels_named, require_known_labels, require_rule_tables, require_suited
from ..rules.labels import labels_added
from ..rules.language import Rule, listed_rules
from ..scoring import labelled_part
from ..solvers.expected import Fitting, ToFit
from ..stored import Arrays, check_declared, check_values
from ..structures.known import Known
from ..structures.protocol import Marginals, Structure
from ..supervision import Signal, require
from .decoding import Decoder, hard_decoder
from .inputs import read_inputs_first
from .model import LinearModel
from .registry import REGISTRY
from .tasks.labelling import Labelling
from .tasks.task import Task, predict_the_same

if TYPE_CHECKING:
    from ..data.formats import Layout
    from .choosing.guard import Guard


# The most outputs of an input that can be asked for.
_MOST_OUTPUTS = 1_000_000


class Scored(NamedTuple):
    """An output, its score, and its probability given the input.

    The probability is None where scores have no log-partition: under rules about whole outputs, and for structures
    without marginals.
    """

    labels: list[str]
    score: float
    probability: float | None


class Learner(Estimator):
    """Base of the estimators."""

    signals: ClassVar[frozenset[Signal]]
    # Parameters that some learners have.
    base: Any = None
    rules: Any = None
    dictionary: Any = None
    features: Any = None
    classes: Any = None
    guard: Any = False
    random_state: Any = 0
    n_jobs: int = -1
    # What fits leave behind.
    trace_: Any = ()
    labels_: Any
    guard_: "Guard | None" = None
    signals_: Any = ()
    # The options about columns of `sidelight train`, None if there were none.
    layout_: "Layout | None" = None
    converged_: bool | None = None
    solver_: str | None = None
    # Fitted attributes that a model file keeps beside the model, and whether the supervised model is inside.
    saved: ClassVar[tuple[str, ...]] = ()
    keeps_base: ClassVar[bool] = False
    # Whether it predicts a yes or no for each input, by a structure of it.
    judges: ClassVar[bool] = False
    # What it is compared with by its guard where that is no base learner.
    compared_with: ClassVar[str] = ""
    # Whether its scores are log p(x, y), estimated from counts.
    generative: ClassVar[bool] = False
    _free = False  # predictions make no use of rules

    def __init_subclass__(cls, **more: Any) -> None:
        """A learner of the library learns from what its row of the registry says, and all of them read X alike."""
        super().__init_subclass__(**more)
        if cls.__name__ in REGISTRY:
            cls.signals = REGISTRY[cls.__name__].signals
        read_inputs_first(cls)

    def __sklearn_tags__(self) -> Any:
        """To scikit-learn it is a classifier where every input has one label, so that these can be stratified."""
        tags: Any = super().__sklearn_tags__()
        documents = self.task_.noun == "document"
        if documents or self.judges:
            from sklearn.utils import ClassifierTags

            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
            tags.input_tags.sparse, tags.target_tags.required = documents, tags.target_tags.required or self.judges
        return tags

    def with_labels(self, classes: Sequence[str]) -> Self:
        """Returns an unfitted copy that knows all of these labels."""
        twin: Self = clone(self)
        if not self.task_.has_labels:
            return twin
        if "classes" not in twin.get_params(deep=False):
            raise DataError(f"{type(self).__name__} cannot be a base learner: it has no parameter `classes`")
        twin.set_params(classes=list(classes))
        return twin

    def fitting(self, data: ToFit) -> Fitting:
        """Returns the M step of learners around this one, which fit it to expected parts."""
        raise NotSupported(f"{type(self).__name__} cannot learn from expected parts; use HMM, CRF or SemiCRF as base")

    # What it is made of -----------------------------------------------------------------------------------------------

    @property
    def task_(self) -> Task:
        """What is predicted, and from what; without a task, sequences are labelled."""
        return Labelling()

    @property
    def classes_(self) -> Any:
        """The labels; an array where every input has one of them, as scikit-learn has it of classifiers."""
        return np.array(self.labels_) if self.task_.noun == "document" and not self.judges else self.labels_

    @classes_.setter
    def classes_(self, labels: Any) -> None:
        self.labels_ = labels

    @property
    def n_features_in_(self) -> int:
        """How many columns the matrix had that it learned from; other inputs have no such number."""
        if not hasattr(self, "model_") or self.task_.noun != "document" or not hasattr(self.encoder_, "width_"):
            raise AttributeError(f"{type(self).__name__} was not fitted to a matrix")
        return int(self.encoder_.width_)

    @property
    def structure_(self) -> Structure[Any]:
        """What can be predicted."""
        return self.task_.structure(self.n_jobs)

    @property
    def decoder_(self) -> Decoder:
        """How outputs are read off."""
        return hard_decoder(self, ()) if self._free else self._decoder()

    def _decoder(self) -> Decoder:
        """How outputs are read off where there are rules; they are hard where a learner does not say otherwise."""
        return hard_decoder(self, self.rules or ())

    def without_rules(self) -> Self:
        """Returns the same model, which predicts as if it had no rules; a dictionary stays."""
        free = copy(self)
        free._free = True
        return free

    @property
    def predicts_apart(self) -> bool:
        """Whether what is predicted of an input does not depend on the others, so that inputs may come in parts."""
        return True

    @property
    def chosen_(self) -> Any:
        """The learner itself; of `Auto` the one that it chose."""
        return self

    @property
    def models_(self) -> dict[str, Any]:
        """Fitted learners inside this one, by attribute; None for those that are not there."""
        return {}

    @property
    def views_(self) -> dict[str, Any]:
        """The models of views, by their names, in the order of `models_`; none in learners without views."""
        return {}

    @property
    def has_course(self) -> bool:
        """Whether a fit goes in steps that it tells of."""
        return True

    @property
    def course_(self) -> tuple[Any, ...]:
        """The steps of the fit, as they are drawn."""
        steps: tuple[Any, ...] = self.trace_
        return steps

    def project(self, X: Any) -> Any:
        """The projection of the model's distributions onto the rules, for learners that project."""
        raise NotSupported(f"{type(self).__name__} projects onto no rules; use PosteriorRegularization")

    @property
    def encoder_(self) -> Any:
        """How inputs become attributes."""
        return self.model_.encoder

    @property
    def scorer_(self) -> Any:
        """What the weights belong to."""
        return self.model_.scorer

    @property
    def weights_(self) -> Floats:
        """The weights."""
        weights: Floats = self.model_.weights
        return weights

    @property
    def rules_used_(self) -> tuple[Rule, ...]:
        """The rules as the learner uses them."""
        require_fitted(self)
        return tuple(self.rules or ())

    def rule_readings(self) -> list[RuleReading]:
        """How each of the rules is used: as a limit, where a learner does not say otherwise."""
        return [RuleReading("hard", None, False) for _ in self.rules or ()]

    def check(self) -> None:
        """Raise unless the parameters are as declared and make sense: in `fit` and `load`, before all else."""
        self.listed_rules()
        check_declared(self)
        require_count(self.n_jobs)
        self.check_base()
        self.task_.check()
        if self.classes is not None and self.task_.noun != "document":  # labels of documents may be numbers
            check_values({"classes": self.classes}, {"classes": Sequence[str]}, type(self).__name__)
        self.check_parameters()

    def check_base(self) -> None:
        """Raise `DataError` unless a learner around another has a learner inside."""

    def check_parameters(self) -> None:
        """Raise for parameters that make no sense together."""

    def read_input(self, X: Any, y: Any) -> tuple[list[Any], list[Any]]:
        """Returns the sizes of the inputs, and y with a list of decisions for every input of which some are known.

        Empty inputs, what does not fit to X, and what this learner cannot use are errors that name the place in X.
        """
        task = self.task_
        sizes = task.sizes(X)
        if 0 in sizes:
            raise DataError(f"{task.noun} {sizes.index(0)} is empty; leave empty {task.noun}s out")
        read = task.read(y, sizes)
        task.labels(read)
        require(self, task.kinds(read), task.noun)
        return sizes, read

    def listed_rules(self) -> list[Rule]:
        """Returns the rules; raises `DataError` if they are no list of rules."""
        example = f"{type(self).__name__}({'base, ' if self.base is not None else ''}[rule])"
        return [] if self.rules is None else listed_rules(self.rules, example)

    def all_labels(self, read: Sequence[Any], *, required: bool = True) -> list[str]:
        """Returns `classes`, or else the labels of y, of the base learner's `classes`, of the dictionary and the rules.

        A rule that names a label outside of `classes` is an error, and so is no label at all if labels are `required`.
        Without `classes`, a label that only the dictionary or a rule names is a label like the others; `fit` warns
        where it looks like another one misspelt.
        """
        classes = plain_labels(() if self.classes is None else self.classes)
        if not self.task_.has_labels:
            return classes
        if self.classes is not None:
            require_known_labels(self.rules or (), classes)
            return classes
        given = None if self.base is None else self.base.classes
        seen = set(self.task_.labels(read)).union(plain_labels(() if given is None else given))
        sources = [] if self.dictionary is None else [("the dictionary", self.dictionary.classes)]
        known = seen.union(*(labels for _, labels in sources))
        if known:
            require_suited(self.rules or (), sorted(known))
        named = [(f"the rule {rule.title!r}", labels_named([rule], known)) for rule in self.rules or ()]
        new = set[str]().union(*(names for _, names in named)) - known
        if new and not all(isinstance(label, str) for label in known):
            raise DataError("y has numbers as labels, and the rules name strings; write the labels of y as strings")
        every = known.union(*(labels_added(name, sorted(known)) for name in new))
        if not every and required:
            raise DataError(
                f"no label is known: give labelled {self.task_.noun}s, or name the labels in `classes` or in rules"
            )
        if new and self.task_.of_labels:
            require_rule_tables(self.rules or (), sorted(every))
        self._note_misspelt(seen, sources + named)
        return sorted(every)

    def _note_misspelt(self, seen: Collection[Any], sources: Sequence[tuple[str, Collection[str]]]) -> None:
        """Warn of labels that no data have and that look like misspellings of labels that data have.

        seen: the labels of the data; sources: what else names labels, and these labels.
        """
        noun, whose = self.task_.noun, "" if "classes" in self.get_params(deep=False) else "the base's "
        noted = set(seen)
        for source, labels in sources:
            meant = {label: misspelt_label(label, seen) for label in sorted(set(labels) - noted)}
            noted.update(meant)
            new = [label for label, one in meant.items() if one is not None]
            if not new:
                continue
            one = len(new) == 1
            right = dict.fromkeys(meant[label] or "" for label in new[:FEW])
            warn(
                f"{source} names the {'label' if one else 'labels'} {quoted_few(new)}, which no {noun} has, so "
                f"{'it is a label of its own' if one else 'they are labels of their own'}; did you mean "
                f"{quoted_few(list(right), 'or')}? If {repr(new[0]) + ' is' if one else 'they are'} right, name all "
                f"labels in {whose}classes=[...]"
            )

    def read_known(self, X: Any, y: Any, classes: Sequence[Any] | None = None) -> tuple[list[str], Known[Any]]:
        """Returns all labels, and y as arrays."""
        sizes, read = self.read_input(X, y)
        labels = self.task_.labels(read) if classes is None else plain_labels(classes)
        if not labels and self.task_.has_labels and not self.task_.of_labels:
            raise DataError("no label is known: give outputs with labels, or name all labels in `classes`")
        if len(set(labels)) != len(labels):
            raise DataError(f"classes must be different labels, got {quoted(labels)}")
        return labels, self.task_.known(read, sizes, labels)

    def require_same_labels(self, classes: Any) -> None:
        """Raise `DataError` if a later call of `partial_fit` names other labels than the first one fixed."""
        if classes is not None and set(plain_labels(classes)) != set(self.labels_):
            named = ", ".join(map(str, self.labels_))
            raise DataError(f"classes are fixed by the first call of partial_fit: {named}; leave `classes` out later")

    def seed(self, *more: int) -> int:
        """Returns a seed from `random_state` (and more numbers); None gives another one each time."""
        base = [] if self.random_state is None else [self.random_state, *more]
        return int(np.random.SeedSequence(base or None).generate_state(1)[0])

    def _adopt(self, model: Any) -> None:
        """Take over what was learned: late, so that a fit that fails leaves the learner as it was."""
        self.model_, self.labels_ = model, model.classes

    # Prediction -------------------------------------------------------------------------------------------------------

    def encode(self, X: Any) -> Encoded:
        """X as flat arrays; `predict` and its relatives take this as well, and need not encode again."""
        require_fitted(self)
        if self.decoder_.reads_tokens and not isinstance(X, Encoded):
            raise NotSupported(
                f"{type(self).__name__} reads the tokens themselves; give X as it is, or ask a model inside (models_)"
            )
        encoded: Encoded = self.model_.encode(X)
        return encoded

    def scores(self, X: Any) -> Any:
        """The scores of every part of every sequence, as predictions see them."""
        require_fitted(self)
        return self.decoder_.shift(X, self.model_.scores(X, self.n_jobs))

    def infer(self, X: Any, k: int = 1) -> Constrained:
        """The k best outputs of each input, with what is known of their exactness, as arrays."""
        return self._best(X, self.scores(X), k)

    def _best(self, X: Any, scores: Any, k: int) -> Constrained:
        with inputs_called(self.task_.noun):
            return self.decoder_.best(X, scores, k)

    def predict(self, X: Any) -> Any:
        """The best output of each input, written as in y; an array of labels where X is a matrix."""
        found = self.predict_structure(X)
        return np.array(found) if self.task_.noun == "document" and hasattr(X, "shape") else found

    def predict_structure(self, X: Any) -> list[Any]:
        """The best output of each input, which is what most learners predict; others predict a label by it."""
        require_fitted(self)
        quick = None if self.decoder_.reads_tokens else getattr(self.model_, "best_outputs", None)
        found = None if quick is None else quick(X, self.n_jobs)
        if found is not None:
            outputs, parts = found
            return self.task_.decode(outputs, parts, self.labels_)
        return self._written(X, self.scores(X))

    def complete(self, X: Any, y: Any) -> list[Any]:
        """The best output of each input among those that agree with what y says about it."""
        scores = self.scores(X)
        sizes = self.task_.sizes_of(scores)
        read = self.task_.read(y, sizes)
        self.task_.labels(read)
        return self._written(X, self.task_.known(read, sizes, self.model_.classes).restrict(scores))

    def _written(self, X: Any, scores: Any) -> list[Any]:
        """The best outputs by these scores, the way y is written."""
        found = warn_unproved(self._best(X, scores, 1))
        return self.task_.decode(found.outputs.values[0], scores, self.model_.classes)

    def predict_marginals(self, X: Any) -> list[Floats]:
        """For each input the probability of every label at every token: (tokens, labels), columns as `classes_`."""
        return self.task_.chances(self._marginals(X, self.scores(X)).parts)

    @available_if(
        lambda self: self.task_.noun == "document",
        "; predict_marginals has the probabilities of labels, trees and links",
    )
    def predict_proba(self, X: Any) -> Floats:
        """The probability of every label for every document: (documents, labels), columns as `classes_`."""
        chances = self.predict_marginals(X)
        return np.concatenate(chances) if chances else np.empty((0, len(self.classes_)))

    def predict_kbest(self, X: Any, k: int = 5) -> list[list[Scored]]:
        """For each input its k best outputs with scores and probabilities, best first; fewer where fewer exist."""
        if isinstance(k, int) and k > _MOST_OUTPUTS:
            raise DataError(f"k-best needs k of at most {_MOST_OUTPUTS:,}, got {k}")
        scores = self.scores(X)
        found = warn_unproved(self._best(X, scores, k))
        try:
            totals: list[float | None] = self._marginals(X, scores).log_partition.tolist()
        except NotSupported:
            totals = [None] * len(found.scores)
        labels = found.outputs.values[: int((found.scores > -np.inf).any(axis=0).sum())]
        rows = np.where(labels < 0, labels[:1], labels)  # where there are fewer, the best one again
        outputs = [self.task_.decisions(row, scores, self.model_.classes) for row in rows]
        return [
            [
                Scored(outputs[r][i], float(s), None if total is None else float(np.exp(s - total)))
                for r, s in enumerate(row)
                if s > -np.inf
            ]
            for i, (row, total) in enumerate(zip(found.scores, totals, strict=True))
        ]

    def log_partition(self, X: Any) -> Floats:
        """log Σ exp(score) over all outputs of each input; score - this is an output's log-probability."""
        return self._marginals(X, self.scores(X)).log_partition

    def _marginals(self, X: Any, scores: Any) -> Marginals[Any]:
        with inputs_called(self.task_.noun):
            return self.structure_.marginals(self.decoder_.fold(X, scores))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of right labels; inputs that are not labelled (None, GOOD, BAD) are left out.

        sample_weight : what each input counts, at least 0; None: 1 for all.
        """
        X, y, weights = labelled_part(X, y, sample_weight, self.task_.noun)
        if isinstance(X, Corpus) and len(X) == len(y):  # a block of it is in memory at a time
            right = total = 0.0
            for first, last in in_blocks(X):
                some, known = X[first:last], list(y[first:last])
                counts = None if weights is None else weights[first:last]
                share = self._share_right(known, self.predict(some), counts)
                if counts is None:
                    right, total = right + round(some.tokens * share), total + some.tokens
                else:
                    tokens = float(counts @ list(map(len, known)))
                    right, total = right + tokens * share, total + tokens
            return right / total
        predicted = self.predict(X)
        if len(predicted) != len(y):
            raise DataError(f"X has {len(predicted)} {self.task_.noun}s but y has {len(y)}")
        return self._share_right(y, predicted, weights)

    def _share_right(self, y: Any, predicted: Any, weights: Floats | None) -> float:
        if weights is None:
            return self.task_.score(y, predicted)
        if "weights" not in signature(self.task_.score).parameters:  # a task from outside of the package
            raise NotSupported(
                f"the score of {type(self.task_).__name__} takes no weights: give it a third parameter `weights`, "
                "with a number for each input, or leave sample_weight out"
            )
        return self.task_.score(y, predicted, weights=weights)

    # Explanation ------------------------------------------------------------------------------------------------------

    def explain(self, x: Any, position: int = 0, *, top: int = 10) -> Explanation:
        """What speaks for a token's label in the best output, against the most probable other label.

        Of a tree it is about the head of a word, of links about the link of a source item. Rules are among it, with
        what they charge. Probabilities are those of the model under the rules that are sums over parts; other rules
        have no part in them. Where there are none, the other choice is that of the next best output.
        """
        return Predicted(self, x).explain(position, top)

    def certainty(self, x: Any) -> Floats | None:
        """The probability of what is predicted at each position, as `explain` gives it; None without probabilities."""
        return Predicted(self, x).certainty()

    def least_certain(self, x: Any) -> int:
        """The position where what is predicted is least probable, as `explain` gives it.

        Without probabilities it is where another output comes nearest.
        """
        return Predicted(self, x).least_certain()

    def top_weights(self, count: int = 20, label: str | None = None) -> list[tuple[str, str, float]]:
        """The weights of largest size, of one label or of all: (feature, label, weight)."""
        require_fitted(self)
        labels = self.model_.classes
        if label is not None and label not in labels:
            names = list(map(str, labels))
            raise DataError(
                f"the model has no label {quoted(label)}; it has {', '.join(names)}{did_you_mean(str(label), names)}"
            )
        found = self.model_.strongest(count, None if label is None else labels.index(label))
        return [(feature, "" if c < 0 else labels[c], weight) for feature, c, weight in found]

    def use_threads(self, n_jobs: int) -> None:
        """Let predictions run on this many threads, -1 for every core."""
        self.set_params(n_jobs=n_jobs)
        for model in filter(None, self.models_.values()):
            model.use_threads(n_jobs)
        if not self.models_ and hasattr(self.encoder_, "n_jobs"):
            self.encoder_.n_jobs = n_jobs

    # Files ------------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Arrays of the model, for a file; learners around others have none of their own."""
        own: dict[str, Any] = {} if self.models_ else self.model_.state()
        return own

    def restore(self, encoder: Any, arrays: Arrays) -> None:
        """Take back what `state` gave."""
        if not self.models_:
            self._adopt(LinearModel.restored(self.task_, self.labels_, encoder, arrays))

    def check_restored(self, labels: list[str]) -> None:
        """Raise `DataError` where what a file says does not fit together, so that predictions would fail.

        labels: those of the file.
        """
        for model in self.models_.values():
            if model is not None and not (model.model_.classes == labels and predict_the_same(model.task_, self.task_)):
                raise DataError(f"the models of {type(self).__name__} do not predict the same labels and structures")
        if self.model_.classes != labels:
            raise DataError(f"{type(self).__name__} has other labels than the model inside")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file, atomically."""
        from ..model_file import save

        require_fitted(self)
        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model of this class; `sidelight.load` reads any."""
        from ..model_file import load

        learner = load(path)
        if not isinstance(learner, cls):
            raise DataError(f"{path} holds a {type(learner).__name__}, not a {cls.__name__}")
        return learner


read_inputs_first(Learner)
