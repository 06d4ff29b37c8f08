"""Entropy-guided feature generation: templates that a decision tree finds (section 4.2 of Fernandes 2012).

The *basic dataset* has a row for every factor of the training data, with its basic features and its decision: a token
and its label, or an arc and whether it is in the tree. A decision tree is grown on it by information gain. What its
paths ask one after the other are features that decide together, so every path from the root becomes a template that
joins these features, and a linear model over the templates is not linear in the basic features. Values are forgotten:
a template has a weight for every combination that is seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from math import log2
from os import PathLike
from typing import Any, Literal, Protocol, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..data.source import open_for_writing
from ..errors import DataError, NotSupported
from ..kernels.compiling import Floats, Ints, Longs
from .arcs import BASIC_ARCS, arc_table, template_of
from .choose import input_kind
from .columns import Column, Template, as_template, column, pos, window, word
from .encoded import sequence_lengths
from .templates import TemplateEncoder

Criterion = Literal["gain_ratio", "gain"]
_CRITERIA = ("gain_ratio", "gain")
_JOINT = " & "
# Templates have fewer values than two to the power of 63, some of which may come later.
_BITS = 60


@dataclass(frozen=True)
class BasicDataset:
    """A row for every factor: the values of its basic features, and its decision.

    names: of the features; values: (features, rows), numbers from 0; sizes: how many values each feature has;
    decisions: (rows,), numbers from 0.
    """

    names: tuple[str, ...]
    values: Ints
    sizes: Longs
    decisions: Ints

    def grow(self, criterion: Criterion, depth: int, least: int) -> "DecisionTree":
        """Returns the tree of at most this depth, in which every branch has at least `least` rows."""
        from ..kernels import decision_tree

        kinds = {"gain": decision_tree.GAIN, "gain_ratio": decision_tree.RATIO}
        labels = int(self.decisions.max(initial=-1)) + 1
        return DecisionTree(
            self.names,
            *decision_tree.grow(self.values, self.sizes, self.decisions, labels, depth, least, kinds[criterion]),
        )


@dataclass(frozen=True)
class DecisionTree:
    """What a tree asks, without the answers: one number for every question in each array.

    parents: the question before, -1 for the first; features: what is asked; rows: of how many factors; gains: bits
    that the answer tells of the decision of one of them.
    """

    names: tuple[str, ...]
    parents: Longs
    features: Longs
    rows: Longs
    gains: Floats

    def paths(self) -> dict[tuple[int, ...], "Path"]:
        """Returns the sets of features on paths from the root, those that tell most first."""
        on: list[frozenset[int]] = []
        found: dict[frozenset[int], list[float]] = {}
        for parent, feature, rows, gain in zip(
            self.parents.tolist(), self.features.tolist(), self.rows.tolist(), self.gains.tolist(), strict=True
        ):
            on.append((on[parent] if parent >= 0 else frozenset()) | {feature})
            total = found.setdefault(on[-1], [0, 0.0])
            total[0] += rows
            total[1] += rows * gain
        ranked = sorted(found.items(), key=lambda item: (-item[1][1], sorted(item[0])))
        return {tuple(sorted(some)): Path(int(rows), bits) for some, (rows, bits) in ranked}


@dataclass(frozen=True)
class Path:
    """How many rows the last question of a path is asked of, in all places of the tree, and the bits that it tells."""

    rows: int
    bits: float


class InducedTemplates(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]
    """Find conjunctions of features by a decision tree: entropy-guided feature generation.

    Every path from the root of a tree that is grown by information gain, on tokens and their labels or on arcs and
    whether they are in the tree, is a template, and those that tell most are kept. `templates_` are the `features` of
    any learner, and can be written to a file that ``sidelight train --templates`` reads.

    Parameters
    ----------
    basic : list of str, Column or Template, default=None
        The features to join. Of tokens with columns they are templates, and None is a window of words and of every
        other column, and affixes, capitals and digits of words. Of feature dicts they are names, and None is all of
        them that are not numbers. Of arcs they are names such as "hw", "ct+1" and "way", and None is words, tags
        and affixes at and beside both ends, the distance and the tags between.
    factors : {"tokens", "arcs"}, default="tokens"
        What has a decision: a token its label, or an arc of a sentence whether it is in the tree.
    criterion : {"gain_ratio", "gain"}, default="gain_ratio"
        How the tree chooses a feature: by the ratio of information gain and entropy of the branches among the features
        of at least average gain, as C4.5 does, or by information gain alone.
    max_length : int, default=6
        How many features a template joins at most.
    min_rows : int, default=20
        How many rows a branch of the tree has at least. Values of fewer rows are one branch together.
    max_templates : int or None, default=20
        How many templates are kept, basic features not counted; None is all.
    keep_basic : bool, default=True
        Whether the basic features are templates, too.
    previous : bool, default=False
        Whether the tree may also ask for the label before. Templates leave it out, since chains have weights of label
        pairs.
    max_rows : int, default=2000000
        How many rows the tree is grown on at most; of more, only every second sequence is used, every third, and so on.

    Attributes
    ----------
    templates_ : list
        The templates, as learners take them for `features`; of feature dicts tuples of names, which `transform` joins.
    tree_ : DecisionTree
        What the tree asks.
    paths_ : dict of str to Path
        What each template that was found tells, those that tell most first.
    """

    def __init__(
        self,
        basic: Sequence[Any] | None = None,
        *,
        factors: Literal["tokens", "arcs"] = "tokens",
        criterion: Criterion = "gain_ratio",
        max_length: int = 6,
        min_rows: int = 20,
        max_templates: int | None = 20,
        keep_basic: bool = True,
        previous: bool = False,
        max_rows: int = 2_000_000,
    ) -> None:
        self.basic = basic
        self.factors = factors
        self.criterion = criterion
        self.max_length = max_length
        self.min_rows = min_rows
        self.max_templates = max_templates
        self.keep_basic = keep_basic
        self.previous = previous
        self.max_rows = max_rows

    def fit(self, X: Any, y: Any) -> Self:
        """Find templates; factors of which the decision is not known are left out.

        Parameters
        ----------
        X : list of sequences
            Tokens with columns, or feature dicts; for arcs, sentences of words and tags.
        y : list
            The labels of each sequence, or the heads of each sentence.

        Returns
        -------
        InducedTemplates
            The transformer itself.
        """
        self._check()
        factors = self._factors(X)
        if not hasattr(y, "__len__") or isinstance(y, str) or len(y) != len(X):
            raise DataError(f"y must be a list with one element for each of the {len(X)} sequences")
        data = factors.dataset(*_thinned(X, y, factors.sizes(X), self.max_rows), previous=self.previous)
        if not len(data.decisions):
            raise DataError("no decision is known in y; templates are found with the help of labelled data")
        self.tree_ = data.grow(self.criterion, self.max_length, self.min_rows)
        found: dict[str, tuple[Any, Path]] = {}
        for path, seen in self.tree_.paths().items():
            for template in factors.join(path):
                text = _text(template)
                before = found[text][1] if text in found else Path(0, 0.0)
                found[text] = template, Path(before.rows + seen.rows, before.bits + seen.bits)
        ranked = sorted(found.items(), key=lambda item: -item[1][1].bits)[: self.max_templates]
        self.paths_ = {text: seen for text, (_, seen) in ranked}
        self.templates_ = [template for _, (template, _) in ranked]
        if self.keep_basic:
            self.templates_ += [one for one in factors.alone() if _text(one) not in self.paths_]
        self._table = factors.table(self.templates_, X)
        return self

    def transform(self, X: Any) -> list[Any]:
        """Return the features that the templates have in X.

        Parameters
        ----------
        X : list of sequences
            Sequences as for `fit`.

        Returns
        -------
        list
            Of tokens with columns, a sparse array for every sequence, with a row for every token, or a data frame (see
            `set_output`); of feature dicts the dicts with the conjunctions. Learners take all of them.
        """
        check_is_fitted(self, "templates_")
        found: list[Any] = self._table(X)
        own = getattr(self, "_sklearn_output_config", {}).get("transform")
        if (own or get_config()["transform_output"]) != "pandas":
            return found
        names = self.get_feature_names_out()
        try:
            frames: Any = import_module("pandas").DataFrame
        except ModuleNotFoundError:
            raise NotSupported("data frames need pandas: install it, or use set_output(transform='default')") from None
        # Some versions of pandas (3.0) read the entries that a sparse array leaves out as missing values.
        return [frames.sparse.from_spmatrix(one, columns=names).fillna(0.0) for one in found]

    def set_output(self, *, transform: Literal["default", "pandas"] | None = None) -> Self:
        """Choose what `transform` makes of each sequence of tokens.

        Parameters
        ----------
        transform : {"default", "pandas"} or None, default=None
            "default" for sparse arrays, "pandas" for data frames with the names of the features; None changes nothing.

        Returns
        -------
        InducedTemplates
            The transformer itself.
        """
        if transform not in (None, "default", "pandas"):
            raise DataError(f"transform must be 'default', 'pandas' or None, got {transform!r}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns that `transform` makes of tokens with columns.

        Parameters
        ----------
        input_features : object, default=None
            Not used; it is there for scikit-learn.

        Returns
        -------
        array of str
            What each column asks of a token, such as "word[-1]=the & pos=NN".
        """
        check_is_fitted(self, "templates_")
        if not isinstance(self._table, _ArrayMaker):
            raise NotSupported("only features of tokens with columns have names; feature dicts stay dicts")
        return self._table.names()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the templates to a text file, one a line, atomically; `-` is standard output.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        check_is_fitted(self, "templates_")
        with open_for_writing(path) as file:
            file.writelines(f"{line}\n" for line in self.lines())

    def lines(self) -> list[str]:
        """Return the text of the file that `save` writes: the templates, and comments with what they tell.

        Returns
        -------
        list of str
            The lines.
        """
        out = [f"# {len(self.paths_)} templates of a decision tree by {self.criterion}, those that tell most first"]
        out += self.paths_
        others = [text for text in map(_text, self.templates_) if text not in self.paths_]
        return [*out, "# basic features", *others] if others else out

    def _factors(self, X: Any) -> "Factors":
        if self.factors == "arcs":
            return ArcFactors(self.basic)
        kind = input_kind(X)
        if kind == "arrays":
            raise NotSupported("templates join columns or feature dicts, but X holds arrays")
        return DictFactors(self.basic, X) if kind == "feature dicts" else TokenFactors(self.basic, X)

    def _check(self) -> None:
        if self.factors not in ("tokens", "arcs"):
            raise DataError(f"factors must be 'tokens' or 'arcs', got {self.factors!r}")
        if self.criterion not in _CRITERIA:
            raise DataError(f"criterion must be one of {', '.join(_CRITERIA)}, got {self.criterion!r}")
        if isinstance(self.basic, str | Column | Template):
            raise DataError(f"basic features are a list, got only {self.basic!r}; put it into a list")
        for name in ("max_length", "min_rows", "max_rows", "max_templates"):
            value = getattr(self, name)
            if name == "max_templates" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise DataError(f"{name} must be a whole number of at least 1, got {value!r}")


def _text(template: Any) -> str:
    """A template as it is written."""
    return _JOINT.join(template) if isinstance(template, tuple) else str(template)


def _thinned(X: Sequence[Any], y: Sequence[Any], sizes: Sequence[int], most: int) -> tuple[list[Any], list[Any]]:
    """Evenly spaced inputs of which something is known, with at most about this many rows."""
    known = [i for i, one in enumerate(y) if one is not None]
    if not known:
        raise DataError("no decision is known in y; give labelled inputs")
    step = -(-sum(sizes[i] for i in known) // most) or 1
    return [X[i] for i in known[::step]], [y[i] for i in known[::step]]


# What has a decision --------------------------------------------------------------------------------------------------


class Factors(Protocol):
    """The factors of a structure: what the tree is grown on, and what becomes of its paths."""

    def sizes(self, X: Sequence[Any]) -> list[int]:
        """Returns how many factors each input has."""
        ...

    def dataset(self, X: list[Any], y: list[Any], *, previous: bool) -> BasicDataset:
        """Returns the basic dataset."""
        ...

    def join(self, path: tuple[int, ...]) -> list[Any]:
        """Returns the template that joins these features of the dataset, or none."""
        ...

    def alone(self) -> list[Any]:
        """Returns the basic features as templates."""
        ...

    def table(self, templates: list[Any], X: Any) -> Any:
        """Returns the function that gives inputs the features of templates."""
        ...


class TokenFactors:
    """Tokens with columns; their decisions are labels."""

    def __init__(self, basic: Sequence[Any] | None, X: Sequence[Any]) -> None:
        token = next((x[0] for x in X if len(x)), "")
        given = basic_templates(1 if isinstance(token, str) else len(token)) if basic is None else basic
        self.basic = [as_template(one) for one in given]
        self.values: dict[Column, int] = {}

    def sizes(self, X: Sequence[Any]) -> list[int]:
        """Returns how many tokens each sequence has."""
        return sequence_lengths(X)

    def dataset(self, X: list[Any], y: list[Any], *, previous: bool) -> BasicDataset:
        """Returns the attributes of every token that has one label, with the label."""
        encoder = TemplateEncoder(self.basic)
        offsets, ids = encoder.fit_numbers(X)
        self.values = {c: len(one.values) + 2 * encoder.reach_ for c, one in encoder.expressions_.items()}
        names = tuple(map(str, self.basic))
        columns = []
        for k in range(len(names)):
            numbers = encoder.numbering_.keys[k][1]
            local = np.full(encoder.attributes_ + 1, len(numbers), np.int32)  # the last one, -1, is for no attribute
            local[numbers] = np.arange(len(numbers), dtype=np.int32)
            columns.append(local[ids[:, k]])
        sizes = [encoder.numbering_.keys[k][0].size + 1 for k in range(len(names))]
        return _with_labels(names, columns, sizes, _label_numbers(y, offsets), offsets, previous)

    def join(self, path: tuple[int, ...]) -> list[Any]:
        """Returns the template of all columns, each once; none if it has too many values to be numbered."""
        columns = dict.fromkeys(c for k in path if k < len(self.basic) for c in self.basic[k].columns)
        fits = sum(log2(max(1, self.values[c.base])) for c in columns) < _BITS
        return [Template(tuple(columns))] if columns and fits else []

    def alone(self) -> list[Any]:
        """Returns the basic templates."""
        return list(self.basic)

    def table(self, templates: list[Any], X: Any) -> Any:
        """Returns the function that makes sparse arrays."""
        return _ArrayMaker(templates, X)


class DictFactors:
    """Feature dicts; their decisions are labels, of whatever they describe."""

    def __init__(self, basic: Sequence[Any] | None, X: Sequence[Any]) -> None:
        if basic is None:
            names = dict.fromkeys(n for x in X for token in x for n, v in token.items() if isinstance(v, str | bool))
            basic = list(names)
        self.basic = [str(one) for one in basic]

    def sizes(self, X: Sequence[Any]) -> list[int]:
        """Returns how many dicts each sequence has."""
        return sequence_lengths(X)

    def dataset(self, X: list[Any], y: list[Any], *, previous: bool) -> BasicDataset:
        """Returns the values of every dict that has one label, with the label."""
        rows = [token for x in X for token in x]
        columns, sizes = [], []
        for name in self.basic:
            codes = {None: 0}
            columns.append(np.array([codes.setdefault(_value(row, name), len(codes)) for row in rows], np.int32))
            sizes.append(len(codes))
        offsets = np.concatenate(([0], np.cumsum([len(x) for x in X]))).astype(np.int64)
        return _with_labels(tuple(self.basic), columns, sizes, _label_numbers(y, offsets), offsets, previous)

    def join(self, path: tuple[int, ...]) -> list[Any]:
        """Returns the names."""
        names = tuple(self.basic[k] for k in path if k < len(self.basic))
        return [names] if names else []

    def alone(self) -> list[Any]:
        """Returns every name alone."""
        return [(name,) for name in self.basic]

    def table(self, templates: list[Any], X: Any) -> Any:
        """Returns the function that adds conjunctions to dicts."""
        return _DictMaker([one for one in templates if len(one) > 1])


class ArcFactors:
    """Arcs of sentences; their decision is whether they are in the tree."""

    def __init__(self, basic: Sequence[Any] | None) -> None:
        self.basic = list(BASIC_ARCS if basic is None else basic)

    def sizes(self, X: Sequence[Any]) -> list[int]:
        """Returns how many arcs each sentence may have."""
        return [n * n for n in sequence_lengths(X)]

    def dataset(self, X: list[Any], y: list[Any], *, previous: bool) -> BasicDataset:
        """Returns the features of every arc whose child has a known head, with whether it is there."""
        if previous:
            raise NotSupported("arcs have no label before; leave `previous` out")
        values, sizes, decisions = arc_table(X, y, self.basic)
        kept = decisions >= 0
        kept_values = values if kept.all() else np.ascontiguousarray(values[:, kept])
        return BasicDataset(tuple(self.basic), kept_values, sizes, decisions[kept])

    def join(self, path: tuple[int, ...]) -> list[Any]:
        """Returns what a template joins of head and child, which has the side and the distance anyway."""
        found = template_of([self.basic[k] for k in path])
        return [found] if found else []

    def alone(self) -> list[Any]:
        """Returns the features of head or child."""
        return list(dict.fromkeys(template for k in range(len(self.basic)) for template in self.join((k,))))

    def table(self, templates: list[Any], X: Any) -> Any:
        """Arcs have no arrays."""
        return _refuse_arcs


def _refuse_arcs(X: Any) -> Any:
    raise NotSupported("features of arcs are worked out by Parsing; give it `templates_` as the learner's `features`")


class _ArrayMaker:
    """Tokens as rows of sparse arrays, of the attributes that the templates have in X."""

    def __init__(self, templates: list[Any], X: Any) -> None:
        self.encoder = TemplateEncoder(templates)
        self.encoder.fit_transform(X)

    def names(self) -> Any:
        """Returns what each column asks of a token."""
        return np.array([self.encoder.describe(k) for k in range(self.encoder.attributes_)], object)

    def __call__(self, X: Any) -> list[Any]:
        from scipy import sparse

        encoded = self.encoder.transform(X)
        ones = np.ones(len(encoded.indices))
        whole = sparse.csr_array(
            (ones, encoded.indices, encoded.indptr), shape=(encoded.tokens, encoded.attributes)
        )  # fmt: skip
        return [whole[a:b] for a, b in pairwise(encoded.offsets.tolist())]


class _DictMaker:
    """Feature dicts with conjunctions; they have a value where all that is joined has one."""

    def __init__(self, templates: list[tuple[str, ...]]) -> None:
        self.templates = templates

    def __call__(self, X: Any) -> list[Any]:
        return [[self._with(token) for token in x] for x in X]

    def _with(self, token: Mapping[str, Any]) -> dict[str, Any]:
        more = {}
        for names in self.templates:
            values = [_value(token, name) for name in names]
            if None not in values:
                more[_JOINT.join(names)] = _JOINT.join(map(str, values))
        return {**token, **more}


def _value(token: Mapping[str, Any], name: str) -> Any:
    """A feature as a category; None where it is absent, or a number."""
    value = token.get(name)
    if value is True:
        return "yes"
    return value if isinstance(value, str) else None


def _label_numbers(y: Sequence[Any], offsets: Longs) -> Ints:
    """The number of every token's label, -1 where it is not known."""
    out = np.full(int(offsets[-1]), -1, np.int32)
    numbers: dict[str, int] = {}
    for i, labels in enumerate(y):
        if not isinstance(labels, list | tuple | np.ndarray):  # nothing is known, or a yes or no
            continue
        if len(labels) != offsets[i + 1] - offsets[i]:
            raise DataError(f"sequence {i} has {offsets[i + 1] - offsets[i]} tokens but {len(labels)} labels")
        known = (numbers.setdefault(one, len(numbers)) if isinstance(one, str) else -1 for one in labels)
        out[offsets[i] : offsets[i + 1]] = list(known)
    return out


def _with_labels(
    names: tuple[str, ...], columns: list[Ints], sizes: list[int], labels: Ints, offsets: Longs, previous: bool
) -> BasicDataset:
    """The rows with a known label, and the label before each as a feature if it is asked for."""
    if previous:
        count = int(labels.max(initial=-1)) + 1
        before = np.concatenate(([-1], labels[:-1]))
        before = np.where(before < 0, count, before)
        before[offsets[:-1]] = count + 1
        names, columns, sizes = (*names, "label[-1]"), [*columns, before.astype(np.int32)], [*sizes, count + 2]
    known = labels >= 0
    if not columns:
        raise DataError("there are no features with names or texts to join; numbers alone cannot be")
    return BasicDataset(names, np.stack([one[known] for one in columns]), np.array(sizes, np.int64), labels[known])


def basic_templates(width: int) -> list[Template]:
    """Returns the columns that are joined by default where tokens have this many of them."""
    found: list[Column | Template] = [*window(word, -2, 2)]
    for k in range(1, width):
        found += window(pos if k == 1 else column(k), -2, 2)
    found += [
        *window(word.shape(), -1, 1),
        word.lower(),
        *(word.lower().prefix(n) for n in (2, 3)),
        *(word.lower().suffix(n) for n in (2, 3)),
    ]
    return [as_template(one) for one in found]
