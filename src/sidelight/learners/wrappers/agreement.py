"""Agreement of several views of the same inputs (section 6 of Ganchev et al. 2010).

    minimise over w   Σ_v L_v(w_v) + ω Σ_U min_q Σ_v KL(q || p_v(y | x))

L_v is the penalised loss of view v on its labelled inputs, U are the inputs that no view has labels of, and ω is
`unlabeled_weight`. The minimum over q is in closed form (`inference.agreement`); with two views it is twice the
Bhattacharyya distance, so this is Eq. 47 with c = 2 ω |U|, and Eq. 53 with label maps. A round finds q and then fits
every view to its labels and to q, so that no round raises the objective. For a generative view p_v is p(x, y); in the
objective of its first model, words that the model lacks share the probability of their class
(`solvers.expected.WordShares`), so that it is over the same words as those of later rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from ...declared import Bounds, declared, require_seed
from ...errors import DataError, NotSupported, warn
from ...estimator import clone, warn_convergence
from ...features.columns import as_template
from ...inference.agreement import Agreed, LabelMap, agree, agree_on_maps
from ...labels import plain_labels
from ...quoting import quoted
from ...records import Record, recorded
from ...running.checkpoints import Carried, all_of
from ...running.forms import Instance, Like, Number
from ...solvers import rounds
from ...solvers.expected import Fitting, PoolWeights, ToFit, joined
from ...stored import check_declared, finite
from ...structures.protocol import Structure
from ...supervision import Label, Signal, by_kind, require
from ..choosing.guard import guarded
from ..inputs import refuse_weights
from ..learner import Learner
from ..model import Fitted, Mixture, Model
from ..parameters import GuardParameters
from ..registry import able
from ..tasks.task import Task, predict_the_same

# What all unlabelled inputs count together, as a share of what the labelled ones do; and the most that it is, in
# labelled inputs, where outputs have several decisions.
_SHARE, _MOST = 0.2, 2.0
# Differences of probabilities that should be the same that are worth a warning.
_APART = 0.01


@dataclass(frozen=True)
class View:
    """A learner, and what it sees of an input.

    Parameters
    ----------
    learner : learner
        The model of this view; its `features` may already say what it sees.
    key : str or int or None, default=None
        Where inputs are mappings or tuples with an entry for each view: which one is this view's.
    prefix : str or None, default=None
        Of feature dicts, the features whose names begin so.
    part : tuple of int or None, default=None
        (k, count, seed): of feature dicts and words of documents, those that a division by chance into `count` parts
        puts into part k, counted from 0.
    """

    learner: Any
    key: Any = None
    prefix: str | None = None
    part: tuple[int, int, int] | None = None

    def check(self) -> None:
        """Raises `DataError` unless the parameters are as declared and features are divided into at least one part."""
        check_declared(self)
        if self.part is not None and self.part[1] < 1:
            raise DataError(f"part of a view is (k, count, seed) with a count of at least 1, got {self.part}")

    def of(self, X: Any) -> Any:
        """Returns what the view sees of inputs."""
        if self.key is not None:
            X = [self._entry(i, x) for i, x in enumerate(X)]
        if self.prefix is None and self.part is None:
            return X
        seen = [self._filtered(i, x) for i, x in enumerate(X)]
        if self.prefix is not None and len(seen) > 1 and not any(map(_has_features, seen)):
            raise DataError(f"no feature of any input begins with {quoted(self.prefix)}, so this view sees nothing")
        return seen

    def _entry(self, index: int, x: Any) -> Any:
        try:
            return x[self.key]
        except (KeyError, IndexError, TypeError):
            raise DataError(f"input {index} has no entry {quoted(self.key)} for this view") from None

    def _filtered(self, index: int, x: Any) -> Any:
        if isinstance(x, Mapping):
            return {name: value for name, value in x.items() if self._takes(str(name))}
        if isinstance(x, Sequence) and x and isinstance(x[0], Mapping):
            return [{name: value for name, value in token.items() if self._takes(str(name))} for token in x]
        if self.learner.task_.noun == "document" and isinstance(x, Sequence) and not isinstance(x, str):
            return [word for word in x if self._takes(word)]
        raise DataError(
            f"input {index}: a view of some features needs feature dicts, or documents as lists of words; give views "
            "of tokens templates of their own (features=)"
        )

    def _takes(self, name: str) -> bool:
        if self.prefix is not None and not name.startswith(self.prefix):
            return False
        if self.part is None:
            return True
        k, count, seed = self.part
        key = blake2b(f"{seed} {name}".encode(errors="surrogatepass"), digest_size=8).digest()
        return int.from_bytes(key, "big") % count == k


def _has_features(x: Any) -> bool:
    """Whether an input has any feature left."""
    return any(x) if isinstance(x, list) and x and isinstance(x[0], Mapping) else bool(x)


def random_views(learner: Any, count: int = 2, *, seed: int = 0) -> dict[str, View]:
    """Return views that see a part of the features each, divided by chance.

    Parameters
    ----------
    learner : learner
        The model of every view. Where it has templates (`features`), these are divided; else the features of feature
        dicts, or the words of documents.
    count : int, default=2
        How many views.
    seed : int, default=0
        What the division depends on.

    Returns
    -------
    dict of str to View
        The views, for `Agreement`.
    """
    require_seed(seed)
    if count < 2:
        raise DataError(f"there must be two views at least, got {count}")
    if learner.features is None:
        return {f"part {k + 1}": View(clone(learner), part=(k, count, seed)) for k in range(count)}
    templates = [as_template(one) for one in learner.features]
    if len(templates) < count:
        raise DataError(f"{len(templates)} templates cannot be divided into {count} views")
    Random(seed).shuffle(templates)
    parts = [templates[k::count] for k in range(count)]
    return {f"part {k + 1}": View(clone(learner).set_params(features=some)) for k, some in enumerate(parts)}


def prefix_views(learner: Any, prefixes: Sequence[str]) -> dict[str, View]:
    """Return views that see the features whose names begin with one of several prefixes each.

    Parameters
    ----------
    learner : learner
        The model of every view.
    prefixes : sequence of str
        The prefix of each view, such as "content" and "context".

    Returns
    -------
    dict of str to View
        The views, for `Agreement`.
    """
    return {prefix: View(clone(learner), prefix=prefix) for prefix in prefixes}


def template_views(learner: Any, templates: Mapping[str, Sequence[Any]]) -> dict[str, View]:
    """Return views with templates of their own, such as those of a token's content and of its context.

    Parameters
    ----------
    learner : learner
        The model of every view.
    templates : mapping of str to sequence
        The templates of each view.

    Returns
    -------
    dict of str to View
        The views, for `Agreement`.
    """
    return {name: View(clone(learner).set_params(features=list(some))) for name, some in templates.items()}


@recorded
class AgreementStep(Record):
    """One round, before its step of the models: the objective, which falls, and how far the views are apart.

    divergence: Σ_v KL(q || p_v) for each unlabelled input, on average.
    """

    drawn: ClassVar[dict[str, str]] = {"divergence": "divergence of the views, for each unlabelled input"}
    iteration: int
    objective: float
    divergence: float
    of_start: bool = False  # whether a view is no model of all words yet, so that the objective is another one

    def __str__(self) -> str:
        return f"objective {self.objective:.6g}, divergence {self.divergence:.4g}"


class _Sight(NamedTuple):
    """The inputs of one view."""

    name: str
    view: View
    X: Any
    sizes: list[Any]


class _Seen(NamedTuple):
    """The inputs of one view, and what is known of their outputs."""

    name: str
    view: View
    X: Any
    sizes: list[Any]
    read: list[Any]
    labelled: list[int]


@declared
class Agreement(GuardParameters, Learner):
    """Several views of the same inputs that are learned together, so that they agree on unlabelled ones.

    Every view is a model with features of its own: the words of a token and those around it, a review's title and its
    text. Each should be able to predict the output alone. Views may have labels of inputs of their own (`y` by the name
    of the view), and label sets of their own with `label_maps`.

    Attributes
    ----------
    classes_, trace_, guard_
    views_ : dict of str to learner
        The fitted models by the names of their views.
    """

    views: Annotated[
        Any,
        "The views by name, or as a list: learners that can be fitted to expected parts (CRF, MaxEnt, SemiCRF, HMM), "
        "or `View`s, which see a part of an input only; see `random_views`, `prefix_views` and `template_views`.",
    ] = field(kw_only=False)
    unlabeled_weight: Annotated[
        float | None,
        "ω, what an unlabelled input counts beside a labelled one. None: all unlabelled ones together a fifth of all "
        "labelled ones, but where outputs have several decisions no more than two labelled inputs: the more are "
        "labelled, the less agreement has to add.",
        Bounds(0),
    ] = None
    iterations: Annotated[
        int,
        "Rounds; with 0 the views are learned from labels alone, and only their predictions are put together.",
        Bounds(0),
    ] = 10
    predict_by: Annotated[
        str | None,
        "The name of the view that predicts alone; None predicts by the agreement of all, or with label maps by the "
        "first view.",
    ] = None
    label_maps: Annotated[
        Mapping[str, Mapping[str, str]] | None,
        "For views with different labels: for each view, by name, what its labels are called in a common set, on which "
        "two views agree. None: all views have the same labels and agree on outputs as a whole.",
    ] = None
    classes: Annotated[Sequence[Label] | None, "All labels, where y may lack some and there are no label maps."] = None
    random_state: Annotated[int, "Seed of the first scores, where a view has no labelled input."] = 0

    saved = ("trace_",)
    compared_with = "its views from labels alone"

    # What it is made of -----------------------------------------------------------------------------------------------

    def _views(self) -> dict[str, View]:
        """The views by name; `DataError` unless there are two at least, and learners in them."""
        given = self.views
        if isinstance(given, str) or not isinstance(given, Mapping | Sequence) or len(given) < 2:
            raise DataError(f"views are at least two learners, by name or as a list, got {quoted(given)}")
        named = given.items() if isinstance(given, Mapping) else ((f"view {k + 1}", v) for k, v in enumerate(given))
        found = {name: view if isinstance(view, View) else View(view) for name, view in named}
        for name, view in found.items():
            if isinstance(view.learner, type) or not hasattr(view.learner, "task_"):
                raise DataError(f"view {quoted(name)} needs a learner such as CRF(), got {quoted(view.learner)}")
        return found

    @property
    def _deciding(self) -> str:
        """The name of the view whose task and labels predictions have."""
        names = list(self._views())
        if self.predict_by is not None and self.predict_by not in names:
            raise DataError(f"there is no view {quoted(self.predict_by)} to predict by; there are {', '.join(names)}")
        return names[0] if self.predict_by is None else self.predict_by

    @property
    def task_(self) -> Task:
        """What the views predict."""
        task: Task = self._views()[self._deciding].learner.task_
        return task

    @property
    def structure_(self) -> Structure[Any]:
        """What the views predict; documents are sequences of one token."""
        return self.task_.structure(self.n_jobs).for_rows()

    @property
    def models_(self) -> dict[str, Any]:
        """The fitted models of the views, by attribute."""
        return {name: getattr(self, name, None) for name in self._attributes()}

    def _attributes(self) -> list[str]:
        return [f"view_{k}_" for k in range(len(self.views))]

    @property
    def views_(self) -> dict[str, Any]:
        """The fitted models by the names of their views."""
        return dict(zip(self._views(), self.models_.values(), strict=True))

    @property
    def model_(self) -> Model:
        """The model that predictions are read off."""
        pairs = zip(self._views().items(), self.models_.values(), strict=True)
        seen = {name: Seeing(model, True, view=view) for (name, view), model in pairs}
        if self.predict_by is not None or self.label_maps is not None:
            return seen[self._deciding]
        mean: Model
        mean, *others = seen.values()
        for count, one in enumerate(others, start=1):
            mean = Mixture(mean, one, count / (count + 1))
        return mean

    def supervised(self) -> "Agreement":
        """Returns the learner that unlabelled inputs are compared with: the views learned from labels alone."""
        alone: Agreement = clone(self).set_params(iterations=0, guard=False)
        return alone

    def check_restored(self, labels: list[str]) -> None:
        """Raise `DataError` where what a file says does not fit together; with label maps views have other labels."""
        if any(model is None for model in self.models_.values()):
            raise DataError("the model of a view is missing")
        if self.label_maps is None:
            super().check_restored(labels)
        elif self.model_.classes != labels:
            raise DataError("the labels are not those of the view that predicts")

    # Fitting ----------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from labelled and unlabelled inputs.

        y : outputs, None where there is none; or a mapping from names of views to such lists, with which the guard
        compares nothing.
        """
        refuse_weights(self, sample_weight)
        self.guard_ = None
        return self._fit_by_view(X, y) if isinstance(y, Mapping) else self._fit_guarded(X, y)

    @guarded
    def _fit_guarded(self, X: Any, y: Any) -> Self:
        return self._fit_by_view(X, dict.fromkeys(self._views(), y))

    def _fit_by_view(self, X: Any, y: Mapping[str, Any]) -> Self:
        views = self._views()
        lacking = [name for name in views if name not in y]
        if lacking or len(y) != len(views):
            raise DataError(f"y has labels by view, and needs one list for each of {', '.join(views)}; got {list(y)}")
        sights = [self._see(name, view, X) for name, view in views.items()]
        self._require_same(sights)
        seen = [self._read(one, y[one.name]) for one in sights]
        classes = self._classes(seen)
        labelled = {i for one in seen for i in one.labelled}
        pool = [i for i in range(len(seen[0].read)) if i not in labelled]
        if not pool:
            noun = self.task_.noun
            warn(f"no {noun} is unlabelled, so there is nothing to agree on: each view learns from its labels alone")
        weight = self._weight([len(one.labelled) for one in seen], len(pool))
        fits = [self._fitting(one, pool, names, weight) for one, names in zip(seen, classes, strict=True)]
        maps = None if self.label_maps is None else self._maps([one.name for one in seen], classes)
        trace = self._rounds(fits, maps, weight, len(pool)) if pool else ()
        for one, fit in zip(seen, fits, strict=True):
            if fit.learner is None:
                raise DataError(f"view {one.name!r} has no labelled {self.task_.noun}, and learns nothing in 0 rounds")
        for name, fit in zip(self._attributes(), fits, strict=True):
            setattr(self, name, fit.learner)
        self.classes_, self.trace_ = classes[list(views).index(self._deciding)], trace
        return self

    def _weight(self, labelled: Sequence[int], pool: int) -> float:
        """What an unlabelled input counts."""
        if self.unlabeled_weight is not None:
            return float(self.unlabeled_weight)
        if not pool or not any(labelled):
            return 1.0
        total = _SHARE * sum(labelled) / len(labelled)
        return (total if self.task_.noun == "document" else min(total, _MOST)) / pool

    def _rounds(
        self, fits: list[Fitting], maps: list[LabelMap] | None, weight: float, count: int
    ) -> tuple[AgreementStep, ...]:
        structure = self.structure_

        prices: Any = None

        def expect(_: Any = None) -> Agreed:
            nonlocal prices
            scores = [fit.scores() for fit in fits]
            if maps is None:
                return agree(structure, scores)
            found = agree_on_maps(structure, scores, maps, start=prices)
            prices = found.prices
            return found

        def estimate(found: Agreed) -> None:
            for fit, parts in zip(fits, found.parts, strict=True):
                fit.update(joined([parts], [weight]))

        def record(number: int, _: Any, found: Agreed) -> AgreementStep:
            counted = zip(fits, found.log_partitions, strict=True)
            known = sum(own for fit, own in counted if fit.generative)  # -log p(x) of generative views
            objective = sum(fit.loss() for fit in fits) + weight * (found.value - known)
            return AgreementStep(number, objective, found.value / count, not all(fit.comparable for fit in fits))

        def begin_with(saved: Any) -> None:
            nonlocal prices
            prices = saved

        def of_prices() -> Any:
            if maps is None:
                return None
            tokens, common = len(fits[0].scores().unary), maps[0].member.shape[1]
            return finite(tokens * common * (1 + common))

        def form() -> Instance:
            parts, numbers = [Like(fit.scores()) for fit in fits], [Number()] * len(fits)
            common = {"value": Number(0.0), "left": Number(0.0), "prices": of_prices()}
            return Instance(Agreed, parts=parts, log_partitions=numbers, **common)

        carried = all_of([Carried(lambda: prices, begin_with, of_prices), *(fit.carried for fit in fits)])
        trace = rounds.alternate(
            [None] * self.iterations, expect, rounds.InTurn[Agreed](estimate), record, title=type(self).__name__,
            verbose=self.verbose, carried=carried, form=form,
        )  # fmt: skip
        last = expect()
        if last.left > _APART:
            warn_convergence(
                f"probabilities of labels that are to be the same in both views still differ by up to {last.left:.2g}"
            )
        return (*trace, record(len(trace) + 1, None, last))

    def _see(self, name: str, view: View, X: Any) -> _Sight:
        """What a view sees, checked."""
        task, some = view.learner.task_, view.of(X)
        sizes = task.sizes(some)
        if 0 in sizes:
            raise DataError(f"view {quoted(name)}: {task.noun} {sizes.index(0)} is empty; leave empty {task.noun}s out")
        return _Sight(name, view, some, list(sizes))

    def _read(self, sight: _Sight, y: Any) -> _Seen:
        """What a view knows of the outputs, checked."""
        task = sight.view.learner.task_
        read = task.read(y, sight.sizes)
        task.labels(read)
        require(self, task.kinds(read), task.noun)
        return _Seen(*sight, read, by_kind(read)[Signal.FULL])

    def _require_same(self, seen: Sequence[_Sight]) -> None:
        """Raise `DataError` unless all views see inputs of the same sizes."""
        first = seen[0]
        for one in seen[1:]:
            if len(one.sizes) != len(first.sizes):
                raise DataError(f"view {first.name!r} has {len(first.sizes)} inputs, and {one.name!r} {len(one.sizes)}")
            for i, (a, b) in enumerate(zip(first.sizes, one.sizes, strict=True)):
                if a != b:
                    raise DataError(
                        f"{self.task_.noun} {i} has the size {a} in view {first.name!r}, and {b} in {one.name!r}; "
                        "views of an input must have the same length to agree on an output"
                    )
            if not predict_the_same(first.view.learner.task_, one.view.learner.task_):
                raise NotSupported(
                    f"views {first.name!r} and {one.name!r} predict different structures, and cannot agree"
                )

    def _classes(self, seen: Sequence[_Seen]) -> list[list[str]]:
        """The labels of each view; all have the same where there are no label maps."""
        own = [one.view.learner.task_.labels(one.read) for one in seen]
        if self.label_maps is not None:
            return [sorted({*found, *self.label_maps[one.name]}) for found, one in zip(own, seen, strict=True)]
        if not seen[0].view.learner.task_.has_labels:
            return [[] for _ in seen]
        names = plain_labels(self.classes) if self.classes is not None else sorted(set().union(*own))
        for one, found in zip(seen, own, strict=True):
            if self.classes is None and found and not set(found) & set().union(*(o for o in own if o is not found)):
                raise DataError(
                    f"view {one.name!r} has labels ({', '.join(found)}) of which no other view has one; say what they "
                    "are called in a common set with `label_maps`, or name all labels in `classes`"
                )
        if not names:
            raise DataError("no label is known: give labelled inputs, or name the labels in `classes`")
        return [names for _ in seen]

    def _fitting(self, one: _Seen, pool: list[int], classes: list[str], weight: float) -> Fitting:
        """The M step of a view."""
        known = one.labelled
        if not known and not one.view.learner.generative:
            raise DataError(f"view {one.name!r} has no labelled {self.task_.noun}; give it some, or leave it out")
        return one.view.learner.fitting(  # type: ignore[no-any-return]
            ToFit(
                [one.X[i] for i in known], [one.read[i] for i in known], [one.X[i] for i in pool],
                [one.read[i] for i in pool], classes, PoolWeights.of(0, weight, 1.0), self.random_state, self.n_jobs,
            )
        )  # fmt: skip

    def _maps(self, names: Sequence[str], classes: Sequence[list[str]]) -> list[LabelMap]:
        """What the labels of each view are in the common space."""
        given: Any = self.label_maps
        common = sorted({z for name in names for z in given[name].values()})
        out = []
        for name, labels in zip(names, classes, strict=True):
            missing = [label for label in labels if label not in given[name]]
            if missing:
                raise DataError(f"the label map of view {quoted(name)} misses {', '.join(map(repr, missing))}")
            out.append(LabelMap(np.array([[float(given[name][label] == z) for z in common] for label in labels])))
        return out

    def check_parameters(self) -> None:
        """Raise for parameters that make no sense together."""
        if not self.task_.has_rows:
            raise NotSupported(
                f"views agree by the probabilities of outputs, which {type(self.task_).__name__} does not offer; use "
                f"{' or '.join(able(self.signals, self.task_))} with all features"
            )
        names = list(self._views())
        if self.label_maps is not None:
            if set(self.label_maps) != set(names):
                raise DataError(f"label_maps needs a map for each of {', '.join(names)}, got {list(self.label_maps)}")
            if self.classes is not None:
                raise DataError("label maps name the labels of each view; leave `classes` out")


@dataclass(frozen=True)
class Seeing(Fitted):
    """The model of a view, which sees its part of an input."""

    view: View = field(kw_only=True)

    def encode(self, X: Any) -> Any:
        """Returns X as this view encodes it."""
        return super().encode(self.view.of(X))

    def scores(self, X: Any, n_jobs: int) -> Any:
        """Returns the scores of this view."""
        return super().scores(self.view.of(X), n_jobs)

    def reasons(self, X: Any, outputs: Any, t: int, n_jobs: int) -> Any:
        """Returns every contribution of this view to the score of decision t."""
        return super().reasons(self.view.of(X), outputs, t, n_jobs)
