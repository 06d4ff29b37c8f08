"""Tasks on structures over flat parts: what somebody who adds a structure need not write again."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...errors import DataError, NotSupported
from ...features.dicts import DictEncoder
from ...features.encoded import Encoder, require_attributes, require_list
from ...features.parts import PartsEncoded, PartsEncoder, described, shape_array
from ...inference.part_rows import FlatRows
from ...inference.part_rules import PartRules
from ...inference.rows import RowSet
from ...kernels.compiling import Flags, Floats, Ints, Longs
from ...quoting import quoted
from ...rules.language import Rule
from ...rules.part_view import PartView
from ...scorers.parts import PartScorer
from ...stored import Arrays, check_declared
from ...structures.flat import FlatParts, FlatStructure, KnownOutputs, Shape
from ...structures.known import Outputs
from ...supervision import Companion, Given, Signal, kind_of
from .task import Choices, Reasons, Weighted, cost_of, position_of


@dataclass(frozen=True)
class PartsTask(ABC):
    """Base of tasks on a structure over flat parts; a new one gives the abstract methods, each for one input."""

    noun: ClassVar[str] = "input"
    kind: ClassVar[str] = "others"
    # What explanations call a token at the main end of parts.
    place: ClassVar[str] = "token"
    chained: ClassVar[bool] = False
    of_labels: ClassVar[bool] = False
    # Whether expectations of the parts can be worked out and rules can speak of these (`view`), and whether shapes end
    # with the number of labels of the parts.
    has_rows: ClassVar[bool] = False
    parts_have_labels: ClassVar[bool] = False
    passes_over_empty: ClassVar[bool] = False

    def check(self) -> None:
        """Raises `DataError` unless the parameters are as they are declared."""
        check_declared(self)

    @property
    def has_labels(self) -> bool:
        """Whether parts have labels, which somebody must name."""
        return False

    @abstractmethod
    def structure(self, n_jobs: int = -1) -> FlatStructure:
        """Returns the structure of the outputs."""

    @abstractmethod
    def describe(self, x: Any) -> tuple[Shape, list[dict[str, Any]]]:
        """Returns the shape of an input, and a feature dict for every part, in the structure's order."""

    @abstractmethod
    def to_output(self, x_shape: Shape, y: Any) -> Sequence[int]:
        """Returns an output of y as the structure writes it; raises `DataError` if it cannot be one of this input."""

    @abstractmethod
    def to_y(self, x_shape: Shape, output: Ints) -> Any:
        """Returns an output the way y is written."""

    def shape(self, x: Any) -> Shape:
        """Returns the shape of an input; override it where that is quicker than to describe all parts."""
        return self.describe(x)[0]

    # What learners ask -----------------------------------------------------------------------------------------------

    def sizes(self, X: Any) -> list[Any]:
        """Returns the shape of every input."""
        if require_list(X, f"{self.noun}s") == 0:
            raise DataError(f"no {self.noun}s were given")
        return described(self.shape, X, self.noun)

    def sizes_of(self, scores: FlatParts) -> list[Any]:
        """Returns the shapes of the inputs that have these scores."""
        shapes = scores.shapes[:, :-1] if self.parts_have_labels else scores.shapes
        return [tuple(shape) for shape in shapes.tolist()]

    def size_of(self, x: Any) -> float:
        """Returns how large an input is: how many numbers an output of it is written with."""
        return float(self.structure(1).slots(self.shape_with(self.shape(x), ())))

    def tokens(self, x: Any) -> int:
        """Returns how many tokens an input has."""
        return len(x)

    def require_own(self, features: Any) -> None:
        """Raises `DataError` for features other than the task's own."""
        if features is not None:
            raise DataError("this task has features of its own; leave `features` out")

    def choose_encoder(self, X: Any, features: Any, min_count: int, n_jobs: int) -> Encoder:
        """Returns the encoder of the parts' feature dicts."""
        self.require_own(features)
        return PartsEncoder(self.describe, DictEncoder(min_count))

    def restore_encoder(self, values: dict[str, Any], arrays: Arrays) -> Encoder:
        """Returns the encoder that gave this state."""
        return PartsEncoder(self.describe, DictEncoder.from_state(values, arrays))

    def read(self, y: Any, sizes: Sequence[Any]) -> list[Any]:
        """Returns y, checked: every output of which something is known as `Given`."""
        if not hasattr(y, "__len__") or isinstance(y, str):
            raise DataError(f"y must be a list with one element per {self.noun}, got {type(y).__name__}")
        if len(y) != len(sizes):
            raise DataError(f"X has {len(sizes)} {self.noun}s but y has {len(y)}")
        out: list[Any] = []
        for i, (known, shape) in enumerate(zip(y, sizes, strict=True)):
            if known is None or isinstance(known, Companion | Given):
                out.append(known)
                continue
            try:
                given = self.read_one(shape, known)
            except (DataError, TypeError, ValueError) as error:
                raise DataError(f"{self.noun} {i}: {quoted(known)} is no output: {error}") from None
            out.append(given)
        return out

    def read_one(self, shape: Shape, y: Any) -> Any:
        """Returns what y says of one output, checked; None where it says nothing."""
        output = list(self.to_output(shape, y))
        if len(output) != self.structure(1).slots(shape):
            raise DataError(f"it does not fit to an input of the shape {shape}")
        return Given(Signal.FULL, y)

    def require(self, x: Any, y: Any) -> None:
        """Raises `DataError` if x is no input, or y says of its output what cannot be."""
        shape = self.shape(x)
        if y is not None and not isinstance(y, Companion):
            self.read_one(shape, y)

    def kinds(self, read: Sequence[Any]) -> list[Signal]:
        """Returns what is known about each output."""
        return [kind_of(one) for one in read]

    def labels(self, read: Sequence[Any]) -> list[str]:
        """There are no labels."""
        return []

    def shape_with(self, shape: Shape, classes: Sequence[str]) -> Shape:
        """Returns a shape as the structure knows it, with the number of labels of parts that have some."""
        return (*shape, max(len(classes), 1)) if self.parts_have_labels else shape

    def output_of(self, shape: Shape, y: Any, classes: Sequence[str]) -> Sequence[int]:
        """Returns an output that is known as a whole, as the structure writes it; shape: as the structure knows it."""
        return self.to_output(shape, y)

    def partial_output(self, shape: Shape, y: Any, classes: Sequence[str]) -> Sequence[int]:
        """Returns what y tells of an output as the structure writes it; -1 where it is not known, or not so simple."""
        return [-1] * self.structure(1).slots(shape)

    def allowed(self, shape: Shape, y: Any, classes: Sequence[str]) -> Flags:
        """Returns which parts an output may have of which y tells some."""
        raise NotSupported(f"{type(self).__name__} takes outputs that are known as a whole, or not at all")

    def known(self, read: Sequence[Any], sizes: Sequence[Any], classes: Sequence[str]) -> KnownOutputs:
        """Returns y as arrays."""
        structure, flat = self.structure(1), list[int]()
        shapes, kinds = [self.shape_with(shape, classes) for shape in sizes], self.kinds(read)
        slots = [structure.slots(shape) for shape in shapes]
        allowed: list[Flags | None] = []
        for one, kind, shape, n in zip(read, kinds, shapes, slots, strict=True):
            if kind is Signal.PARTIAL:
                flat += self.partial_output(shape, one.y, classes)
            else:
                flat += self.output_of(shape, one.y, classes) if kind is Signal.FULL else [-1] * n
            allowed.append(self.allowed(shape, one.y, classes) if kind is Signal.PARTIAL else None)
        offsets = np.concatenate(([0], np.cumsum(slots))).astype(np.int64)
        return KnownOutputs(tuple(kinds), Outputs(np.array(flat, np.int32), offsets), structure, tuple(allowed))

    def decode(self, values: Ints, scores: FlatParts, classes: Sequence[str]) -> list[Any]:
        """Returns outputs the way y is written."""
        structure, out, first = self.structure(1), [], 0
        for shape in map(tuple, scores.shapes.tolist()):
            last = first + structure.slots(shape)
            out.append(self.write_one(shape, values[first:last], classes))
            first = last
        return out

    def write_one(self, shape: Shape, output: Ints, classes: Sequence[str]) -> Any:
        """Returns one output the way y is written; shape: as the structure knows it."""
        return self.to_y(shape, output)

    decisions = decode

    def write(self, decisions: list[Any]) -> list[Any]:
        """Decisions are written as y already."""
        return decisions

    def chances(self, parts: FlatParts) -> list[Floats]:
        """Returns the probability of every part of each input."""
        return [parts.of(i)[0] for i in range(len(parts))]

    def for_rules(self, X: Any) -> Any:
        """Rules read the inputs as they are."""
        return X

    def known_to_rules(self, read: Sequence[Any], X: Any, classes: Sequence[str]) -> KnownOutputs:
        """Returns y as arrays."""
        return self.known(read, self.sizes(X), classes)

    def view(self, X: Sequence[Any], classes: Sequence[str]) -> PartView:
        """Returns the parts of a batch as rules see them; not offered unless a task says how."""
        raise NotSupported(
            f"{type(self).__name__} takes no rules; give the task a method `view`, which shows its parts to rules, or "
            "leave the rules out"
        )

    def blank(self, X: Sequence[Any], classes: Sequence[str]) -> FlatParts:
        """Returns the parts of a batch, without scores."""
        shapes = [self.shape_with(shape, classes) for shape in self.sizes(X)]
        view = self.view(X, classes)
        return FlatParts(np.zeros(int(view.offsets[-1])), view.offsets, shape_array(shapes))

    def rows(self, rules: Sequence[Rule], X: Any, classes: Sequence[str], **options: Any) -> RowSet:
        """Returns rules as statements about the parts of a batch."""
        return FlatRows.compile(rules, self.view(X, classes), self.structure(1), **options)

    def compiled(self, rules: Sequence[Rule], X: Any, classes: Sequence[str]) -> PartRules:
        """Returns rules about single outputs on a batch."""
        return PartRules.compile(rules, self.view(X, classes), self.blank(X, classes), self.structure(1))

    def broken_at(self, rule: Rule, x: Any, y: Any, classes: Sequence[str]) -> list[int]:
        """Returns the tokens at the main end of parts that break a rule; none if what it misses is not there."""
        shape, view = self.shape(x), self.view([x], classes)
        values = np.array(self.output_of(self.shape_with(shape, classes), y, classes), np.int32)
        parts = self.compiled([rule], [x], classes).broken_at(values)
        return sorted(set(view.ends[view.main].covered(parts)[1].tolist()))

    def score(self, y: Sequence[Any], predicted: Sequence[Any], weights: Floats | None = None) -> float:
        """Returns the share of outputs that are right as a whole."""
        return float(np.average([a == b for a, b in zip(y, predicted, strict=True)], weights=weights))

    def lay_out(self, encoded: PartsEncoded, known: Any, labels: int, *, all_weights: bool) -> PartScorer:
        """Returns a weight for every attribute, or for every attribute and label."""
        if not self.parts_have_labels:
            return PartScorer(encoded.attributes, self.structure(1))
        return PartScorer(encoded.attributes * max(labels, 1), self.structure(1), max(labels, 1))

    def restore(self, labels: int, arrays: Arrays) -> PartScorer:
        """Returns the scorer whose arrays these are."""
        return PartScorer.from_arrays(self.structure(1), max(labels, 1) if self.parts_have_labels else None, arrays)

    def require_encoded(self, scorer: PartScorer, encoded: PartsEncoded) -> None:
        """Raises `DataError` where input was encoded by another model."""
        require_attributes(encoded, scorer.size // (scorer.labels or 1))

    def start(self, offsets: Longs, unary: Floats) -> Any:
        """Not offered: parts are no labels of tokens."""
        raise NotSupported("there are no labels of tokens to begin with")

    # Explanation -----------------------------------------------------------------------------------------------------

    def for_comparing(self) -> "PartsTask":
        """Returns the task that reads outputs which predictions are compared with."""
        return self

    def parts_at(self, shape: Shape, t: int) -> Longs:
        """Returns the parts of which one is chosen at token t; shape: as the structure knows it."""
        raise NotSupported(
            f"{type(self).__name__} does not say which parts belong to a token; give it methods `parts_at` and "
            "`part_names`, or see top_weights"
        )

    def part_names(self, x: Any, parts: Longs, classes: Sequence[str]) -> list[str]:
        """Returns what some parts are called, seen from their token."""
        return [f"part {part}" for part in parts.tolist()]

    def choices(self, x: Any, scores: FlatParts, outputs: Ints, position: int, classes: Sequence[str]) -> Choices:
        """Returns the parts of one token."""
        shape = self.shape_with(self.shape(x), classes)
        t = position_of(position, int(shape[0]), self.noun, self.place)
        parts = self.parts_at(shape, t)
        on = np.flatnonzero(self.structure(1).indicator(scores, outputs).values[parts] > 0)
        return Choices(t, self.place, self.part_names(x, parts, classes), int(on[0]), parts)

    def certainty(self, parts: FlatParts, outputs: Ints, classes: Sequence[str]) -> Floats:
        """Returns the probability of the part that each token has."""
        shape, on = tuple(parts.shapes[0].tolist()), self.structure(1).indicator(parts, outputs).values
        return np.array([(parts.values * on)[self.parts_at(shape, t)].sum() for t in range(int(shape[0]))])

    def reasons(self, model: Weighted, encoded: PartsEncoded, scores: FlatParts, outputs: Ints, t: int) -> Reasons:
        """Returns what attributes add to each of the parts of token t."""
        parts, labels = self.parts_at(tuple(scores.shapes[0].tolist()), t), model.scorer.labels or 1
        weights, rows = model.weights.reshape(-1, labels), dict[int, Floats]()
        for column, part in enumerate(parts.tolist()):
            described, label = divmod(part, labels)
            for n in range(encoded.indptr[described], encoded.indptr[described + 1]):
                value = float(encoded.values[n]) if len(encoded.values) else 1.0
                attribute = int(encoded.indices[n])
                row = rows.setdefault(attribute, np.zeros(len(parts)))
                row[column] += value * weights[attribute, label]
        return [(model.encoder.describe(attribute), row) for attribute, row in rows.items()]

    def charges(
        self, rules: Sequence[Rule], penalties: Floats, x: Any, outputs: Ints, t: int, classes: Sequence[str]
    ) -> Reasons:
        """Returns what every rule charges if one part takes the place of another, the others being as they are."""
        compiled, parts = self.compiled(rules, [x], classes), self.parts_at(self.shape_with(self.shape(x), classes), t)
        on = self.structure(1).indicator(compiled.blank, outputs)
        chosen = parts[on.values[parts] > 0][0]
        matrix = compiled.rows.matrix
        counts = compiled.rows.count(on)[:, None] + matrix[:, parts].toarray() - matrix[:, [chosen]].toarray()
        broken = np.stack([np.abs(compiled.rows.excess(column)) for column in counts.T], axis=1)
        return [
            (rule.title, cost_of(broken[compiled.row_rule == k].sum(axis=0), penalties[k]))
            for k, rule in enumerate(rules)
        ]

    def strongest(self, model: Weighted, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns the weights of largest size."""
        several = self.parts_have_labels and model.classes
        table = model.weights.reshape(-1, len(model.classes) if several else 1)
        some = table if label is None else table[:, [label]]
        largest = np.argsort(-np.abs(some.ravel()), kind="stable")[:count]
        out = []
        for place in largest.tolist():
            attribute, column = divmod(place, some.shape[1])
            number = -1 if not several else column if label is None else label
            out.append((model.encoder.describe(attribute), number, float(some[attribute, column])))
        return out
