"""A task: what is predicted, and from what.

It joins the inputs and outputs that people write with a structure: it chooses the encoder of the inputs, reads what is
known about the outputs, lays out the weights, and writes predictions the way y is written. Learners with a weight
vector take one as `task=`, and label sequences without it; learners around others have that of their base.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np

from ...errors import DataError
from ...features.encoded import Encoded, Encoder, sequence_lengths
from ...inference.compiled import CompiledRules
from ...inference.rows import Rows, RowSet
from ...kernels.compiling import Floats, Ints, Longs
from ...labels import label_set
from ...rules.language import Rule
from ...stored import Arrays, check_declared
from ...structures.known import Known
from ...structures.protocol import Structure
from ...supervision import Signal, all_kinds

# What speaks for each label at one place: a text, and a row over the labels.
Reasons = list[tuple[str, Floats]]


@dataclass(frozen=True)
class Choices:
    """What could be chosen at one position of an input.

    position: from 0; place: what stands there is called; names: of the choices; chosen: the number of the one that
    was; parts: of each choice, where choices are parts.
    """

    position: int
    place: str
    names: Sequence[str]
    chosen: int
    parts: Longs | None = None

    def chances(self, parts: Any) -> Floats:
        """Returns the probability of each choice, given expected parts."""
        found: Floats = parts.unary[self.position] if self.parts is None else parts.values[self.parts]
        return found


def position_of(position: int, count: int, whole: str, place: str) -> int:
    """Returns a position from the beginning; raises `DataError` for one outside."""
    if not -count <= position < count:
        raise DataError(f"position {position} is outside the {whole} of {count} {place}s")
    return position % count


class Weighted(Protocol):
    """A linear model as tasks explain it."""

    @property
    def classes(self) -> list[str]:
        """The labels."""
        ...

    @property
    def encoder(self) -> Any:
        """What made the attributes."""
        ...

    @property
    def scorer(self) -> Any:
        """What the weights belong to."""
        ...

    @property
    def weights(self) -> Floats:
        """The weights."""
        ...


class Task(Protocol):
    """What is predicted, and from what; `noun` is what one input is called in messages."""

    noun: ClassVar[str]
    # What outputs are, for files and reports: "labels", "trees", "links", or "others", which these do not know.
    kind: ClassVar[str]
    # Whether its scores are those of label chains, or can be seen as such; whether its decisions are labels; and
    # whether the expectations of its parts can be worked out, with rules about them.
    chained: ClassVar[bool]
    of_labels: ClassVar[bool]
    has_rows: ClassVar[bool]
    # Whether an input without tokens has an output without decisions, and need not be looked at.
    passes_over_empty: ClassVar[bool]

    @property
    def has_labels(self) -> bool:
        """Whether outputs have labels, which somebody must name."""
        ...

    def check(self) -> None:
        """Raises `DataError` unless the parameters are as declared and make sense together."""
        ...

    def structure(self, n_jobs: int) -> Structure[Any]:
        """Returns the structure of the outputs."""
        ...

    def sizes(self, X: Any) -> list[Any]:
        """Returns how many decisions each input asks for, or its shape; raises `DataError` for what is no input."""
        ...

    def sizes_of(self, scores: Any) -> list[Any]:
        """Returns the same for the inputs that have these scores."""
        ...

    def tokens(self, x: Any) -> int:
        """Returns how many tokens an input has."""
        ...

    def choose_encoder(self, X: Any, features: Any, min_count: int, n_jobs: int) -> Encoder:
        """Returns the encoder for inputs of this kind."""
        ...

    def read(self, y: Any, sizes: Sequence[int]) -> list[Any]:
        """Returns y with a list of decisions for every input of which some are known; raises `DataError` otherwise."""
        ...

    def known(self, read: Sequence[Any], sizes: Sequence[int], classes: Sequence[str]) -> Known[Any]:
        """Returns what `read` gave as arrays over these labels."""
        ...

    def kinds(self, read: Sequence[Any]) -> list[Signal]:
        """Returns the kind of knowledge about each output."""
        ...

    def labels(self, read: Sequence[Any]) -> list[str]:
        """Returns all labels that occur, sorted; none where outputs have none."""
        ...

    def decode(self, values: Ints, scores: Any, classes: Sequence[str]) -> list[Any]:
        """Returns flat outputs of the inputs that have these scores, the way y is written."""
        ...

    def decisions(self, values: Ints, scores: Any, classes: Sequence[str]) -> list[Any]:
        """Returns the same with a list of decisions for every input."""
        ...

    def write(self, decisions: list[Any]) -> list[Any]:
        """Returns lists of decisions the way y is written."""
        ...

    def chances(self, parts: Any) -> list[Floats]:
        """Returns the probabilities of each input's decisions, given expected parts."""
        ...

    def for_rules(self, X: Any) -> Any:
        """Returns the inputs as rules read them: sequences with a token for every decision."""
        ...

    def known_to_rules(self, read: Sequence[Any], X: Any, classes: Sequence[str]) -> Known[Any]:
        """Returns what `read` gave as arrays, for inputs as rules read them."""
        ...

    def rows(self, rules: Sequence[Rule], X: Any, classes: Sequence[str], **options: Any) -> RowSet:
        """Returns rules as statements about expectations on inputs as rules read them; see `Rows.compile`."""
        ...

    def compiled(self, rules: Sequence[Rule], X: Any, classes: Sequence[str]) -> Any:
        """Returns rules about single outputs, compiled for inputs as rules read them."""
        ...

    def size_of(self, x: Any) -> float:
        """Returns how large an input is, for learners that divide by it."""
        ...

    def score(self, y: Sequence[Any], predicted: Sequence[Any], weights: Floats | None = None) -> float:
        """Returns the share of right decisions; weights: what each input counts, None for 1."""
        ...

    def lay_out(self, encoded: Any, known: Any, labels: int, *, all_weights: bool) -> Any:
        """Returns the scorer with a weight for whatever is observed or allowed, or for everything."""
        ...

    def restore(self, labels: int, arrays: Arrays) -> Any:
        """Returns the scorer whose `arrays()` these are."""
        ...

    def require_encoded(self, scorer: Any, encoded: Any) -> None:
        """Raises `DataError` where input was encoded by another model: kernels trust attribute numbers."""
        ...

    def start(self, offsets: Longs, unary: Floats) -> Any:
        """Returns scores of single labels alone, as before anything is learned; unary: (decisions, labels)."""
        ...

    def for_comparing(self) -> "Task":
        """Returns the same task with all outputs that predictions may be compared with."""
        ...

    def choices(self, x: Any, scores: Any, outputs: Ints, position: int, classes: Sequence[str]) -> "Choices":
        """Returns what could be chosen at one position, and what is; raises `DataError` where there is no such."""
        ...

    def certainty(self, parts: Any, outputs: Ints, classes: Sequence[str]) -> Floats:
        """Returns the probability of what is chosen at each position, given expected parts of one input."""
        ...

    def charges(
        self, rules: Sequence[Rule], penalties: Floats, x: Any, outputs: Ints, t: int, classes: Sequence[str]
    ) -> Reasons:
        """Returns what every rule charges for each choice at a position, the others being as they are."""
        ...

    def reasons(self, model: Weighted, encoded: Any, scores: Any, outputs: Ints, t: int) -> Reasons:
        """Returns every contribution to the score of each choice at t, the other decisions being as they are."""
        ...

    def strongest(self, model: Weighted, count: int, label: int | None) -> list[tuple[str, int, float]]:
        """Returns the weights of largest size, of one label or of all: (feature, label, weight)."""
        ...


class LabelTask:
    """What the tasks share whose decisions are labels; a mixin."""

    kind: ClassVar[str] = "labels"
    # What explanations call the place of a label.
    place: ClassVar[str] = "token"
    of_labels: ClassVar[bool] = True
    has_rows: ClassVar[bool] = True
    passes_over_empty: ClassVar[bool] = True

    def check(self) -> None:
        """Raises `DataError` unless the parameters are as they are declared."""
        check_declared(self)

    @property
    def has_labels(self) -> bool:
        """Every decision is a label."""
        return True

    def rows(self, rules: Sequence[Rule], X: Any, classes: Sequence[str], **options: Any) -> RowSet:
        """Returns rules as statements about expectations of label chains."""
        return Rows.compile(rules, X, classes, **options)

    def compiled(self, rules: Sequence[Rule], X: Any, classes: Sequence[str]) -> CompiledRules:
        """Returns rules about labels as automata."""
        return CompiledRules.compile(rules, X, classes)

    def known_to_rules(self, read: Sequence[Any], X: Any, classes: Sequence[str]) -> Known[Any]:
        """Returns y as arrays, for sequences with a token for every decision."""
        task: Any = self
        known: Known[Any] = task.known(read, sequence_lengths(X), classes)
        return known

    def size_of(self, x: Any) -> float:
        """Returns how many tokens there are."""
        return float(len(x))

    def tokens(self, x: Any) -> int:
        """Returns how many tokens there are."""
        return len(x)

    def kinds(self, read: Sequence[Any]) -> list[Signal]:
        """Returns the kind of knowledge about each output."""
        return all_kinds(read)

    def labels(self, read: Sequence[Any]) -> list[str]:
        """Returns all labels that occur, sorted."""
        return label_set(read)

    def decisions(self, values: Ints, scores: Any, classes: Sequence[str]) -> list[list[str]]:
        """Returns flat outputs as lists of labels."""
        task: Any = self
        names = np.array(classes, object)[task.structure(1).token_labels(values)].tolist()
        return [names[a:b] for a, b in pairwise(scores.offsets.tolist())]

    def decode(self, values: Ints, scores: Any, classes: Sequence[str]) -> list[Any]:
        """Returns flat outputs the way y is written."""
        task: Any = self
        written: list[Any] = task.write(self.decisions(values, scores, classes))
        return written

    def for_rules(self, X: Any) -> Any:
        """Rules read the tokens themselves."""
        return X

    def sizes_of(self, scores: Any) -> list[int]:
        """Returns how many decisions the inputs ask for that have these scores."""
        sizes: list[int] = np.diff(scores.offsets).tolist()
        return sizes

    def for_comparing(self) -> Any:
        """All labels can be compared."""
        return self

    def choices(self, x: Any, scores: Any, outputs: Ints, position: int, classes: Sequence[str]) -> Choices:
        """Returns the labels."""
        task: Any = self
        t = position_of(position, int(scores.offsets[-1]), task.noun, self.place)
        return Choices(t, self.place, classes, int(task.structure(1).token_labels(outputs)[t]))

    def certainty(self, parts: Any, outputs: Ints, classes: Sequence[str]) -> Floats:
        """Returns the probability of each token's label."""
        task: Any = self
        labels = task.structure(1).token_labels(outputs)
        return np.asarray(parts.unary[np.arange(len(labels)), labels])

    def charges(
        self, rules: Sequence[Rule], penalties: Floats, x: Any, outputs: Ints, t: int, classes: Sequence[str]
    ) -> Reasons:
        """Returns what every rule charges for each label of token t."""
        task: Any = self
        seen = list(self.for_rules([x]))
        changed = np.tile(task.structure(1).token_labels(outputs), (len(classes), 1))
        changed[:, t] = np.arange(len(classes))
        broken = self.compiled(rules, seen * len(classes), classes).violations(changed.ravel())  # (labels, rules)
        return [(rule.title, cost_of(broken[:, k], penalties[k])) for k, rule in enumerate(rules)]

    def chances(self, parts: Any) -> list[Floats]:
        """Returns the probability of every label of each decision."""
        return [parts.unary[a:b] for a, b in pairwise(parts.offsets)]


def predict_the_same(task: Task, other: Task) -> bool:
    """Whether two tasks have outputs of the same structure, so that models can agree on them."""
    return task.structure(1) == other.structure(1) and getattr(task, "order", 1) == getattr(other, "order", 1)


def cost_of(broken: Floats, penalty: float) -> Floats:
    """Returns less than nothing where something is violated, at a penalty that may be infinite."""
    with np.errstate(invalid="ignore"):
        return np.asarray(-np.where(broken > 0, broken * penalty, 0.0))


def attribute_reasons(encoded: Encoded, t: int, describe: Any, row: Any) -> Reasons:
    """Returns what each attribute of one token adds; describe, row: its text and its weights by number."""
    out = []
    for n in range(encoded.indptr[t], encoded.indptr[t + 1]):
        value = float(encoded.values[n]) if len(encoded.values) else 1.0
        attribute = int(encoded.indices[n])
        out.append((describe(attribute), value * row(attribute)))
    return out
