"""Whatever is known, and the learner that does best with it on labelled sequences held out."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ...dictionary import TagDictionary
from ...errors import DataError, warn
from ...features.encoded import Encoded, State
from ...kernels.compiling import Floats
from ...labels import label_set
from ...progress import growing_table
from ...rules.automata import labels_named
from ...rules.language import Rule
from ...supervision import Signal, kind_of
from ..learner import Explanation, Learner, Scored, require_number
from ..tasks.task import Task
from ..wrappers.wrapper import check_input, listed_rules
from .candidates import Known, fallback
from .race import Race, Result
from .rule_costs import RuleCost
from .trials import Metric, usable

# Labelled sequences without which there is no trial.
_LEAST = 2
_COLUMNS = ("learner", "score", "against the base from labels alone", "time", "")


class Auto(Learner[Any]):
    """The learner that does best on labelled sequences held out, among those that can use what is known.

    Supervised learners (`HMM`, `CRF`, `SemiCRF`) come first: `SemiCRF` where labels come in long runs, and `CRF`
    elsewhere, is the base, unless another one is better by more than its standard error. Then come those that use
    rules, unlabelled sequences, partial labels, GOOD and BAD as well, with their default settings, until the time is
    up. The one with the largest advantage over the base, less its standard error, is fitted to everything; the base if
    there is no such advantage. Each learner is given the rules that it can read; rules that clearly cost are left out
    too.

    Parameters
    ----------
    rules : what is known about outputs.
    features : templates for the learners that have them, None for the default ones.
    dictionary : a `TagDictionary`; it says which labels the tokens of unlabelled sequences may have.
    budget : seconds for trials; supervised learners are always tried, but for `SemiCRF` where segments are so long that
        a fit would take more than a tenth of the budget, and the last fit comes on top.
    folds : parts of the labelled sequences, each of which is held out in turn; of more than 100 labelled sequences
        3 parts are tried, of more than 300 one. With fewer than two, a usual choice is made without trials.
    most_unlabeled : sequences without full labels that a trial learns from, at most, drawn at random.
    classes : all labels, where y does not have them all.
    random_state : of the parts and of the draw.
    verbose : whether results are shown as they come, on standard error.
    n_jobs : threads; -1 is every core.

    Attributes
    ----------
    best_ : the learner that was chosen, fitted; results_ : a `Result` for each candidate; metric_ : what scores are;
    rule_costs_ : a `RuleCost` for each rule; why_ : the choice in a sentence; classes_ : labels.
    """

    random_state: int
    best_: Any
    results_: tuple[Result, ...]
    rule_costs_: tuple[RuleCost, ...]
    why_: str
    metric_: str

    def __init__(
        self,
        rules: Sequence[Rule] | None = None,
        *,
        features: Any = None,
        dictionary: TagDictionary | None = None,
        budget: float = 120.0,
        folds: int = 5,
        most_unlabeled: int = 200,
        classes: Sequence[str] | None = None,
        random_state: int = 0,
        verbose: bool = False,
        n_jobs: int = -1,
    ) -> None:
        self.rules = rules
        self.features = features
        self.dictionary = dictionary
        self.budget = budget
        self.folds = folds
        self.most_unlabeled = most_unlabeled
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Try the learners that can use X and what y says, choose one, and fit it to everything."""
        self._check(X, y)
        known = self._known(X, y)
        if not known.classes:
            raise DataError("no label is known: give labelled sequences, partial labels, a dictionary, or `classes`")
        if sum(kind_of(one) is Signal.FULL for one in known.y) < _LEAST:
            best, results, why = _untried(known)
            self.rule_costs_, self.metric_ = (), Metric.choose(known.y).name
        else:
            with growing_table("trial", _COLUMNS, self.verbose) as show:
                race = Race(
                    known, parts=self.folds, budget=self.budget, most=self.most_unlabeled, seed=self.random_state,
                    show=show,
                )  # fmt: skip
                race.run()
            best, results, why = race.fit_best()
            self.rule_costs_, self.metric_ = tuple(race.costs), race.metric.name
        self.best_, self.results_, self.why_, self.classes_ = best, results, why, best.classes_
        return self

    def _check(self, X: Any, y: Any) -> None:
        require_number(self, "budget", 0)
        require_number(self, "folds", 2, whole=True)
        require_number(self, "most_unlabeled", 0, whole=True)
        if not (self.dictionary is None or isinstance(self.dictionary, TagDictionary)):
            raise DataError(f"dictionary must be a TagDictionary or None, got {type(self.dictionary).__name__}")
        listed_rules(self)
        check_input(self, X, y)

    def _known(self, X: Any, y: Any) -> Known:
        """Everything together; the dictionary speaks of the unlabelled sequences."""
        labels, told, rules = set(label_set(y)), list(y), tuple(self.rules or ())
        if self.dictionary is not None:
            bare = [i for i, one in enumerate(y) if one is None]
            for i, sets in zip(bare, self.dictionary.apply([X[i] for i in bare]), strict=True):
                told[i] = sets
            labels |= set(self.dictionary.open).union(*self.dictionary.labels.values())
        named = labels_named(rules)
        if self.classes is not None:
            labels = set(self.classes)
        for rule in rules if labels else ():
            unknown = sorted(labels_named([rule]) - labels)
            if unknown:
                raise DataError(
                    f"the rule {rule.title!r} names the label {unknown[0]!r}, which no sequence has (they have "
                    f"{', '.join(sorted(labels))}); if it is right, name all labels in classes"
                )
        if not labels and named:
            warn(
                f"no sequence is labelled, so the labels are those that the rules name: {', '.join(sorted(named))}; "
                "name all labels in classes=[...] if there are more"
            )
        classes = list(self.classes) if self.classes is not None else sorted(labels or named)
        return Known(X, told, classes, rules, self.dictionary, self.features, self.n_jobs)

    # Prediction ------------------------------------------------------------------------------------------------------

    @property
    def _task(self) -> Task:
        """That of the learner that was chosen."""
        task: Task = self.best_._task if hasattr(self, "best_") else super()._task
        return task

    @property
    def trace_(self) -> Any:
        """The trace of the chosen learner, if it has one."""
        return self.best_.trace_

    def _best(self) -> Any:
        check_is_fitted(self, "best_")
        return self.best_

    def scores(self, X: Any) -> Any:
        """The scores of the chosen model."""
        return self._best().scores(X)

    def encode(self, X: Any) -> Encoded:
        """X as flat arrays for the chosen model, where it has one encoding."""
        encoded: Encoded = self._best().encode(X)
        return encoded

    def predict(self, X: Any) -> list[list[str]]:
        """The best label sequence of each input."""
        labels: list[list[str]] = self._best().predict(X)
        return labels

    def complete(self, X: Any, y: Any) -> list[list[str]]:
        """The best label sequence of each input among those that agree with what y says about it."""
        labels: list[list[str]] = self._best().complete(X, y)
        return labels

    def predict_marginals(self, X: Any) -> list[Floats]:
        """For each input the probability of every label at every token, where the chosen model has them."""
        chances: list[Floats] = self._best().predict_marginals(X)
        return chances

    def predict_kbest(self, X: Any, k: int = 5) -> list[list[Scored]]:
        """For each input its k best label sequences with their scores."""
        ranked: list[list[Scored]] = self._best().predict_kbest(X, k)
        return ranked

    def log_partition(self, X: Any) -> Floats:
        """log Σ exp(score) over all label sequences of each input."""
        total: Floats = self._best().log_partition(X)
        return total

    def explain(self, x: Any, position: int = 0, *, top: int = 10) -> Explanation:
        """What speaks for a token's label, where the chosen model can tell."""
        explanation: Explanation = self._best().explain(x, position, top=top)
        return explanation

    def top_weights(self, count: int = 20, label: str | None = None) -> list[tuple[str, str, float]]:
        """The largest weights of the chosen model."""
        weights: list[tuple[str, str, float]] = self._best().top_weights(count, label)
        return weights

    def _models(self) -> dict[str, Any]:
        return {"best_": getattr(self, "best_", None)}

    def _state(self) -> State:
        values = {
            "results": [asdict(result) for result in self.results_],
            "rule_costs": [asdict(cost) for cost in self.rule_costs_],
            "why": self.why_,
            "metric": self.metric_,
        }
        return values, {}

    def _restore(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.results_ = tuple(Result(**result) for result in values["results"])
        self.rule_costs_ = tuple(map(RuleCost.from_dict, values["rule_costs"]))
        self.why_, self.metric_ = values["why"], values["metric"]


def _untried(known: Known) -> tuple[Any, tuple[Result, ...], str]:
    """A usual choice, fitted, where too little is labelled to hold any out."""
    chosen = fallback(known)
    best = chosen.learner.fit(*usable(chosen.learner, known.X, known.y))
    count = sum(kind_of(one) is Signal.FULL for one in known.y)
    labelled = "one sequence" if count else "no sequence"
    why = f"With {labelled} labelled nothing can be compared; {chosen.name} is a usual choice for what is known."
    result = Result(chosen.name, chosen.supervised, chosen=True, outcome="not compared", note=chosen.remark)
    return best, (result,), why
