"""Whatever is known, and the learner that does best with it on labelled sequences held out."""

from collections.abc import Sequence
from copy import copy
from dataclasses import field
from typing import Annotated, Any, Self

from ...declared import Bounds, Running, declared
from ...dictionary import TagDictionary
from ...errors import warn
from ...estimator import require_fitted
from ...inference.readings import RuleReading
from ...labels import label_set
from ...progress import growing_table
from ...rules.language import Rule
from ...structures.protocol import Structure
from ...supervision import Signal, kind_of
from ..decoding import Decoder
from ..inputs import refuse_weights
from ..learner import Learner
from ..tasks.task import Task
from .candidates import Knowledge, fallback
from .race import Race, Result
from .rule_costs import RuleCost
from .trials import Metric, fit_usable

# Labelled sequences without which there is no trial.
_LEAST = 2
_COLUMNS = ("learner", "score", "against the base from labels alone", "time", "")


@declared
class Auto(Running, Learner):
    """The learner that does best on labelled sequences held out, among those that can use what is known.

    Supervised learners (`HMM`, `CRF`, `StructuralSVM`, `SemiCRF`) come first. One of them is the base: `CRF` where one
    label has most tokens, else `SemiCRF` where labels come in long runs, else `StructuralSVM`, unless another one is
    better by more than its standard error. Then come those that use rules, unlabelled sequences, partial labels, GOOD
    and BAD as well, with their default settings, until the time is up. The one with the largest advantage over the
    base, less its standard error, is fitted to everything; the base if there is no such advantage. Each learner is
    given the rules that it can read; rules that clearly cost are left out too. Learners that keep to all rules that are
    written `.hard()` go before all others, unless they are worse than the base by more than the standard error.

    Attributes
    ----------
    classes_
    best_ : learner
        The learner that was chosen, fitted.
    results_ : tuple of Result
        What became of each candidate.
    metric_ : str
        What scores are.
    rule_costs_ : tuple of RuleCost
        What each rule costs alone.
    why_ : str
        The choice in a sentence.
    """

    rules: Annotated[Sequence[Rule] | None, "What is known about outputs."] = field(default=None, kw_only=False)
    features: Annotated[Any, "Templates for the learners that have them; None is the default ones."] = None
    dictionary: Annotated[TagDictionary | None, "Which labels the tokens of unlabelled sequences may have."] = None
    budget: Annotated[
        float,
        "Seconds for trials; supervised learners are always tried, but for `SemiCRF` and `StructuralSVM` where a fit "
        "would take more than a tenth of the budget, and the last fit comes on top.",
        Bounds(0),
    ] = 120.0
    folds: Annotated[
        int,
        "Parts of the labelled sequences, each of which is held out in turn; of more than 100 labelled "
        "sequences 3 parts are tried, of more than 300 one. With fewer than two labelled sequences, a usual choice is "
        "made without trials.",
        Bounds(2),
    ] = 5
    most_unlabeled: Annotated[
        int, "Sequences without full labels that a trial learns from, at most, drawn at random.", Bounds(0)
    ] = 200
    classes: Annotated[Sequence[str] | None, "All labels, where y does not have them all."] = None
    random_state: Annotated[int, "Seed of the parts and of the draw."] = 0
    verbose: Annotated[bool, "Whether results are shown as they come, on standard error."] = False

    saved = ("results_", "rule_costs_", "why_", "metric_")

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Try the learners that can use X and what y says, choose one, and fit it to everything."""
        refuse_weights(self, sample_weight)
        self.read_input(X, y)
        known = self._known(X, y)
        if sum(kind_of(one) is Signal.FULL for one in known.y) < _LEAST:
            best, results, why = _untried(known, self.budget)
            costs, self.metric_ = list[RuleCost](), Metric.choose(known.y).name
        else:
            with growing_table("trial", _COLUMNS, self.verbose) as show:
                race = Race(
                    known, parts=self.folds, budget=self.budget, most=self.most_unlabeled, seed=self.random_state,
                    show=show,
                )  # fmt: skip
                race.run()
            best, results, why = race.fit_best()
            costs, self.metric_ = race.costs, race.metric.name
        self.rule_costs_ = tuple(costs)
        self.best_, self.results_, self.why_, self.labels_ = best, results, why, best.labels_
        return self

    def _known(self, X: Any, y: Any) -> Knowledge:
        """Everything together; the dictionary speaks of the unlabelled sequences."""
        known, rules, classes = list(y), tuple(self.rules or ()), self.all_labels(y)
        if self.dictionary is not None:
            bare = [i for i, one in enumerate(y) if one is None]
            for i, sets in zip(bare, self.dictionary.apply([X[i] for i in bare]), strict=True):
                known[i] = sets
        elif self.classes is None and not label_set(y):
            warn(
                f"no sequence is labelled, so the labels are those that the rules name: {', '.join(classes)}; "
                "name all labels in classes=[...] if there are more"
            )
        return Knowledge(X, known, classes, rules, self.dictionary, self.features, self.n_jobs)

    # Everything else is that of the learner that was chosen ---------------------------------------------------------

    @property
    def chosen_(self) -> Any:
        """The learner that was chosen."""
        require_fitted(self, "best_")
        return self.best_

    @property
    def models_(self) -> dict[str, Any]:
        """The learner that was chosen."""
        return {"best_": getattr(self, "best_", None)}

    @property
    def model_(self) -> Any:
        """The model of the chosen learner."""
        return self.best_.model_

    @property
    def task_(self) -> Task:
        """That of the chosen learner."""
        task: Task = self.best_.task_ if hasattr(self, "best_") else super().task_
        return task

    @property
    def structure_(self) -> Structure[Any]:
        """That of the chosen learner."""
        structure: Structure[Any] = self.best_.structure_
        return structure

    def without_rules(self) -> Self:
        """Returns the same choice, which predicts as if it had no rules."""
        free = copy(self)
        free.best_ = self.best_.without_rules()
        return free

    def _decoder(self) -> Decoder:
        decoder: Decoder = self.best_.decoder_
        return decoder

    @property
    def trace_(self) -> Any:
        """The trace of the chosen learner."""
        return self.best_.trace_ if hasattr(self, "best_") else ()

    @property
    def rules_used_(self) -> tuple[Rule, ...]:
        """The rules as the chosen learner uses them."""
        rules: tuple[Rule, ...] = self.chosen_.rules_used_
        return rules

    def rule_readings(self) -> list[RuleReading]:
        """How the chosen learner uses each of its rules."""
        readings: list[RuleReading] = self.chosen_.rule_readings()
        return readings


def _untried(known: Knowledge, budget: float) -> tuple[Any, tuple[Result, ...], str]:
    """A usual choice, fitted, where too little is labelled to hold any out."""
    chosen = fallback(known, budget)
    best = fit_usable(chosen.learner, known.X, known.y)
    count = sum(kind_of(one) is Signal.FULL for one in known.y)
    labelled = "one sequence" if count else "no sequence"
    why = f"With {labelled} fully labelled nothing can be compared; {chosen.name} is a usual choice for what is known."
    result = Result(chosen.name, chosen.supervised, chosen=True, outcome="not compared", note=chosen.remark)
    return best, (result,), why
