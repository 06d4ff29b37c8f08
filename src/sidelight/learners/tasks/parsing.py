"""Parsing: a head for every word of a sentence, and a label for every arc."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Annotated, Any, ClassVar

import numpy as np

from ...errors import DataError
from ...features.arcs import ArcEncoder, arc_dicts, arc_ends, read_templates
from ...features.encoded import Encoder, require_attributes
from ...features.parts import token_columns
from ...kernels.compiling import Flags, Floats, Ints, Longs
from ...quoting import quoted
from ...rules.part_view import EndView, PartView
from ...scorers.arcs import ArcScorer
from ...stored import Arrays
from ...structures.flat import FlatParts, Shape
from ...structures.trees import Trees
from ...supervision import Given, Signal
from .parts import PartsTask
from .task import Reasons, Weighted


@dataclass(frozen=True)
class Parsing(PartsTask):
    """Gives every word of a sentence its head, so that the arcs are a tree.

    An input is a list of words, or of tuples such as (word, tag). An output is a list with the head of every word: 0
    for the root, 1 for the first word, and so on. With labels it is a list of pairs (head, label). None stands for a
    head, or a label, that is not known.

    Parameters
    ----------
    labelled : bool, default=False
        Whether arcs have labels.
    projective : bool, default=False
        Whether arcs may not cross.
    single_root : bool, default=True
        Whether exactly one word depends on the root.
    lift : bool, default=False
        Whether known trees with crossing arcs are learned from where arcs may not cross: an arc that crosses others is
        lifted, to the head of its head, until none does. Only trees that are known as a whole are.
    joint : bool, default=True
        Whether labels are chosen together with heads, by the sum of their scores. Else heads are chosen first, and
        labels of the arcs that are there after that, which is faster and has more features; `StructuredPerceptron`
        learns it.
    """

    labelled: Annotated[bool, "Whether arcs have labels."] = False
    projective: Annotated[bool, "Whether arcs may not cross."] = False
    single_root: Annotated[bool, "Whether exactly one word depends on the root."] = True
    lift: Annotated[bool, "Whether crossing arcs of known trees are lifted until none crosses."] = False
    joint: Annotated[bool, "Whether labels are chosen together with heads; else after them, by more features."] = True

    noun: ClassVar[str] = "sentence"
    kind: ClassVar[str] = "trees"
    place: ClassVar[str] = "word"
    has_rows: ClassVar[bool] = True
    parts_have_labels: ClassVar[bool] = True
    passes_over_empty: ClassVar[bool] = True

    @property
    def has_labels(self) -> bool:
        """Whether arcs have labels, which somebody must name."""
        return self.labelled

    def structure(self, n_jobs: int = -1) -> Trees:
        """Returns the trees."""
        return Trees(n_jobs, projective=self.projective, single_root=self.single_root)

    # Inputs -----------------------------------------------------------------------------------------------------------

    def shape(self, x: Any) -> Shape:
        """Returns how many words there are."""
        if isinstance(x, str) or not hasattr(x, "__len__") or hasattr(x, "tocsr"):
            raise DataError(f"a sentence is a list of words, got {quoted(x)}")
        if not len(x):
            raise DataError("a sentence has no words; leave empty sentences out")
        return (len(x),)

    def describe(self, x: Any) -> tuple[Shape, list[dict[str, Any]]]:
        """Returns the features of every arc: word and tag of both ends, their neighbours' tags, and the distance."""
        words, tags = self._columns(x)
        return (len(words),), arc_dicts(words, tags)

    def _columns(self, x: Any) -> tuple[list[str], list[str]]:
        """Words and tags of a sentence, checked."""
        self.shape(x)
        return token_columns(x)

    def choose_encoder(self, X: Any, features: Any, min_count: int, n_jobs: int) -> Encoder:
        """Returns the encoder of arcs, or that of feature dicts where a subclass describes arcs in its own way."""
        if self._described:
            return super().choose_encoder(X, features, min_count, n_jobs)
        return ArcEncoder(self._columns, min_count, read_templates(features))

    def restore_encoder(self, values: dict[str, Any], arrays: Arrays) -> Encoder:
        """Returns the encoder that gave this state."""
        if self._described:
            return super().restore_encoder(values, arrays)
        return ArcEncoder.from_state(values, arrays, self._columns)

    @property
    def _described(self) -> bool:
        """Whether a subclass describes arcs in its own way, by feature dicts."""
        return type(self).describe is not Parsing.describe

    def lay_out(self, encoded: Any, known: Any, labels: int, *, all_weights: bool) -> Any:
        """Returns tables of weights of hashed features, or a weight for every feature of a dict and label."""
        if self._described:
            return super().lay_out(encoded, known, labels, all_weights=all_weights)
        bits = int(encoded.attributes).bit_length() - 1
        return ArcScorer(bits, self.structure(1), max(labels, 1), self.joint, encoded.templates)

    def restore(self, labels: int, arrays: Arrays) -> Any:
        """Returns the scorer whose arrays these are."""
        if self._described:
            return super().restore(labels, arrays)
        return ArcScorer.from_arrays(self.structure(1), max(labels, 1), arrays)

    def require_encoded(self, scorer: Any, encoded: Any) -> None:
        """Raises `DataError` where input was encoded by another model."""
        if self._described:
            super().require_encoded(scorer, encoded)
        else:
            require_attributes(encoded, 1 << scorer.bits)
            if encoded.templates != scorer.templates:
                raise DataError("X was encoded by a model with other templates of arcs; encode it with this one")

    def reasons(self, model: Weighted, encoded: Any, scores: FlatParts, outputs: Ints, t: int) -> Reasons:
        """Returns what features add to each of the parts of token t."""
        if self._described:
            return super().reasons(model, encoded, scores, outputs, t)
        parts = self.parts_at(tuple(scores.shapes[0].tolist()), t)
        (n, labels), rows = scores.shapes[0].tolist(), dict[str, Floats]()
        pointer, places = model.scorer.places(encoded, parts)
        heads = arc_ends(n)[1]
        for column, part in enumerate(parts.tolist()):
            head, joint = int(heads[part // labels]), model.scorer.joint
            names = encoded.features(0, head, t + 1)
            if labels > 1:
                names += encoded.label_features(0, head, t + 1, joint=joint)
            weights = model.weights[places[pointer[column] : pointer[column + 1]]].tolist()
            for text, weight in zip(names, weights, strict=True):
                rows.setdefault(text, np.zeros(len(parts)))[column] += weight
        return list(rows.items())

    def strongest(self, model: Weighted, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns the weights of largest size; those of arcs belong to all labels, -1."""
        if self._described:
            return super().strongest(model, count, label)
        weights, first, labels = model.weights, 1 << model.scorer.bits, range(model.scorer.labels)
        found: list[tuple[str, int, float]] = []
        if label is None:
            largest = np.argsort(-np.abs(weights[:first]), kind="stable")[:count]
            found = [(model.encoder.describe(place), -1, float(weights[place])) for place in largest.tolist()]
        if len(weights) > first:
            wanted = labels if label is None else (label,)
            for place, name in model.encoder.names_.items():
                found += [(name, k, float(weights[place + k])) for k in wanted if place >= first]
        return sorted(found, key=lambda one: -abs(one[2]))[:count]

    def view(self, X: Sequence[Any], classes: Sequence[str]) -> PartView:
        """Returns the arcs of a batch with head and child."""
        sizes = np.array([self.shape(x)[0] for x in X], np.int64)
        count = max(len(classes), 1)
        edges = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        child, head = (np.concatenate(found) for found in zip(*map(arc_ends, sizes), strict=True))
        first = np.repeat(edges[:-1], sizes**2)
        heads = np.where(head > 0, first + head - 1, 0)
        ends = {
            "child": EndView(X, np.repeat(first + child, count), np.repeat(first + child + 1, count)),
            "head": EndView(X, np.repeat(heads, count), np.repeat(heads + (head > 0), count)),
        }
        label = np.tile(np.arange(count, dtype=np.int32), len(child)) if classes else np.full(len(child), -1, np.int32)
        offsets = np.concatenate(([0], np.cumsum(sizes**2 * count))).astype(np.int64)
        return PartView(offsets, label, list(classes), ends, "child")

    def parts_at(self, shape: Shape, t: int) -> Longs:
        """Returns the arcs to one word."""
        n, count = shape
        return np.arange(t * n * count, (t + 1) * n * count)

    def part_names(self, x: Any, parts: Longs, classes: Sequence[str]) -> list[str]:
        """Returns the head of each arc, and its label."""
        (n,), (words, _) = self.shape(x), token_columns(x)
        heads = arc_ends(n)[1][parts // max(len(classes), 1)].tolist()
        labels = [f", {classes[k]}" for k in parts % len(classes)] if classes else [""] * len(parts)
        return [f"{f'{words[h - 1]} ({h})' if h else 'root'}{label}" for h, label in zip(heads, labels, strict=True)]

    def for_comparing(self) -> "Parsing":
        """Returns the same task with all trees."""
        return replace(self, projective=False, single_root=False, lift=False)

    # Outputs ----------------------------------------------------------------------------------------------------------

    def read_one(self, shape: Shape, y: Any) -> Any:
        """Returns what is known of the heads, checked; None where nothing is."""
        heads, labels = self._heads(shape, y)
        missing = [head is None for head in heads] + [label is None for label in labels if self.labelled]
        if all(missing):
            return None
        if self.lift and self.projective and None not in heads:
            _require_tree(heads, single_root=self.single_root, projective=False)
            heads = lifted(heads)
            y = list(zip(heads, labels, strict=True)) if self.labelled else heads
        _require_tree(heads, single_root=self.single_root, projective=self.projective)
        return Given(Signal.PARTIAL if any(missing) else Signal.FULL, y)

    def _heads(self, shape: Shape, y: Any) -> tuple[list[Any], list[Any]]:
        """Heads and labels of an output, None where they are not known."""
        n = shape[0]
        if isinstance(y, str) or not hasattr(y, "__len__") or len(y) != n:
            what = f"{len(y)} heads" if hasattr(y, "__len__") and not isinstance(y, str) else repr(y)
            raise DataError(f"the sentence has {n} words, and there are {what}")
        pairs = [(one, None) for one in y] if not self.labelled else [self._pair(t, one) for t, one in enumerate(y)]
        for t, (head, _) in enumerate(pairs):
            if head is None:
                continue
            if isinstance(head, bool) or not isinstance(head, int | np.integer):
                raise DataError(
                    f"word {t + 1} has the head {quoted(head)}; a head is a number from 0 (the root) to {n}"
                )
            if not 0 <= head <= n:
                raise DataError(f"word {t + 1} has the head {head}; heads are numbers from 0 (the root) to {n}")
            if head == t + 1:
                raise DataError(f"word {t + 1} is its own head")
        return [head for head, _ in pairs], [label for _, label in pairs]

    def _pair(self, t: int, one: Any) -> tuple[Any, Any]:
        if one is None:
            return None, None
        if isinstance(one, str) or not hasattr(one, "__len__") or len(one) != 2:
            raise DataError(f"word {t + 1} needs a pair (head, label), got {quoted(one)}")
        head, label = one
        if label is not None and not isinstance(label, str):
            raise DataError(f"word {t + 1} has the label {quoted(label)}; a label is a string, or None")
        return head, label

    def labels(self, read: Sequence[Any]) -> list[str]:
        """Returns all labels of arcs that occur, sorted."""
        if not self.labelled:
            return []
        found = {pair[1] for one in read if isinstance(one, Given) for pair in one.y if pair is not None}
        return sorted(found - {None})

    def to_output(self, x_shape: Shape, y: Any) -> Sequence[int]:
        """Returns the heads; raises `DataError` where they are no tree that the task allows."""
        heads, _ = self._heads(x_shape, y)
        _require_tree(heads, single_root=self.single_root, projective=self.projective)
        return [int(head) for head in heads]

    def to_y(self, x_shape: Shape, output: Ints) -> list[int]:
        """Returns the heads as a list."""
        return [int(head) for head in output]

    def output_of(self, shape: Shape, y: Any, classes: Sequence[str]) -> Sequence[int]:
        """Returns heads and labels as the structure writes them."""
        heads, labels = self._heads(shape, y)
        if not self.labelled:
            return [int(head) for head in heads]
        number = {label: k for k, label in enumerate(classes)}
        return [int(h) * len(number) + self._number(number, label) for h, label in zip(heads, labels, strict=True)]

    def _number(self, number: dict[str, int], label: str) -> int:
        if label not in number:
            raise DataError(f"label {quoted(label)} was never seen in training; known are {', '.join(number)}")
        return number[label]

    def allowed(self, shape: Shape, y: Any, classes: Sequence[str]) -> Flags:
        """Returns the arcs that agree with the heads and labels that are known."""
        n, count = shape
        heads, labels = self._heads(shape, y)
        child, head = arc_ends(n)
        known = np.array([-1 if one is None else one for one in heads])[child]
        arcs = (known < 0) | (known == head)
        if not self.labelled:
            return np.asarray(arcs)
        number = {label: k for k, label in enumerate(classes)}
        codes = np.array([-1 if label is None else self._number(number, label) for label in labels])[child]
        fits = (codes[:, None] < 0) | (codes[:, None] == np.arange(count))
        return np.asarray((arcs[:, None] & fits).ravel())

    def write_one(self, shape: Shape, output: Ints, classes: Sequence[str]) -> Any:
        """Returns heads, or pairs of head and label."""
        count = shape[-1]
        if not self.labelled:
            return [int(head) for head in output]
        return [(int(code) // count, classes[int(code) % count]) for code in output]

    def score(self, y: Sequence[Any], predicted: Sequence[Any], weights: Floats | None = None) -> float:
        """Returns the share of words with the right head, and label if arcs have some; unknown heads are left out."""
        right = total = 0.0
        for i, (one, other) in enumerate(zip(y, predicted, strict=True)):
            weight = 1.0 if weights is None else weights[i]
            try:
                heads, labels = self._heads((len(other),), one)
            except DataError as error:
                raise DataError(f"sentence {i}: {quoted(one)} cannot be compared: {error}") from None
            for head, label, found in zip(heads, labels, other, strict=True):
                if head is None or (self.labelled and label is None):
                    continue
                total += weight
                right += weight * ((head, label) == tuple(found) if self.labelled else head == found)
        if not total:
            raise DataError("no head is known of a sentence that counts, so there is nothing to score")
        return right / total

    def chances(self, parts: FlatParts) -> list[Any]:
        """Returns for every sentence the probability of every head of every word: (words, words + 1), 0 the root.

        With labels they are (words, words + 1, labels).
        """
        out = []
        for i in range(len(parts)):
            values, (n, count) = parts.of(i)
            child, head = arc_ends(n)
            table = np.zeros((n, n + 1, count))
            table[child, head] = values.reshape(-1, count)
            out.append(table if self.labelled else table[:, :, 0])
        return out


def lifted(heads: Sequence[int]) -> list[int]:
    """Returns the heads of a tree without crossing arcs: the shortest arc over a word that does not depend on its head
    is lifted to the head of that head, again and again (Nivre & Nilsson 2005).
    """
    found = list(heads)
    while True:
        wrong = [(abs(head - c), c) for c, head in enumerate(found, start=1) if _reaches_over(found, c, head)]
        if not wrong:
            return found
        _, c = min(wrong)
        found[c - 1] = found[found[c - 1] - 1]


def _reaches_over(heads: Sequence[int], c: int, head: int) -> bool:
    """Whether a word between a child and its head does not depend on that head, directly or through others."""
    for word in range(min(c, head) + 1, max(c, head)):
        above = word
        while above not in (0, head):
            above = heads[above - 1]
        if above != head:
            return True
    return False


def _require_tree(heads: Sequence[int | None], *, single_root: bool, projective: bool) -> None:
    """Raise `DataError`, naming words, unless heads (None where they are not known) are of a tree that is allowed."""
    for t in range(len(heads)):
        way, at = [t + 1], heads[t]
        while at:
            if at in way:
                cycle = " -> ".join(map(str, (*way[way.index(at) :], at)))
                raise DataError(f"the words {cycle} are in a cycle; some word must depend on the root (head 0)")
            way.append(at)
            at = heads[at - 1]
    roots = [t + 1 for t, head in enumerate(heads) if head == 0]
    if single_root and len(roots) > 1:
        words = ", ".join(map(str, roots))
        raise DataError(f"the words {words} depend on the root; Parsing(single_root=False) allows this")
    arcs = [(*sorted((c, head)), c) for c, head in enumerate(heads if projective else (), start=1) if head is not None]
    for (low, high, c), (begin, end, other) in permutations(arcs, 2):
        if low < begin < high < end:
            words = " and ".join(map(str, sorted((c, other))))
            raise DataError(f"the arcs of the words {words} cross; Parsing(projective=False) allows this")
