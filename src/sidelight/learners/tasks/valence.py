"""Parsing by trees whose parts know whether a child is the nearest one of its head on its side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...features.arcs import arc_ends
from ...features.encoded import Encoder
from ...features.symbols import SymbolEncoder
from ...kernels.compiling import Flags, Floats, Ints, Longs
from ...rules.part_view import EndView, PartView
from ...stored import Arrays
from ...structures.flat import FlatParts, Shape
from ...structures.trees import ValenceTrees, with_valence
from .parsing import Parsing
from .task import Choices, position_of


@dataclass(frozen=True)
class _Heads(Choices):
    """The heads of one word, each by one of its two parts."""

    def chances(self, parts: FlatParts) -> Floats:
        """Returns the probability of each head."""
        if self.parts is None:
            return np.empty(0)
        both: Floats = parts.values.reshape(-1, 2).sum(axis=1)[self.parts // 2]
        return both


@dataclass(frozen=True)
class ValenceParsing(Parsing):
    """`Parsing` over the parts of `ValenceTrees`: two for every arc, of which the heads of a tree choose one."""

    projective: bool = True
    lift: bool = True
    generative: ClassVar[bool] = True

    def structure(self, n_jobs: int = -1) -> ValenceTrees:
        """Returns the trees."""
        return ValenceTrees(n_jobs)

    def shape_with(self, shape: Shape, classes: Sequence[str]) -> Shape:
        """Returns the number of words, and two."""
        return (*shape, 2)

    def restore_encoder(self, values: dict[str, Any], arrays: Arrays) -> Encoder:
        """Returns the encoder of symbols that gave this state."""
        return SymbolEncoder.from_state(values, arrays)

    def output_of(self, shape: Shape, y: Any, classes: Sequence[str]) -> Sequence[int]:
        """Returns heads as the structure writes them."""
        return [int(code) for code in with_valence(np.array(self._heads(shape, y)[0], np.int32))]

    def allowed(self, shape: Shape, y: Any, classes: Sequence[str]) -> Flags:
        """Returns the parts that agree with the heads that are known."""
        return np.repeat(super().allowed((shape[0], 1), y, classes), 2)

    def write_one(self, shape: Shape, output: Ints, classes: Sequence[str]) -> Any:
        """Returns heads."""
        return [int(code) // 2 for code in output]

    def view(self, X: Sequence[Any], classes: Sequence[str]) -> PartView:
        """Returns the parts of a batch with head and child; rules cannot tell the two parts of an arc apart."""
        arcs = super().view(X, classes)
        ends = {name: EndView(X, np.repeat(e.first, 2), np.repeat(e.last, 2)) for name, e in arcs.ends.items()}
        return PartView(2 * arcs.offsets, np.repeat(arcs.label, 2), arcs.labels, ends, arcs.main)

    def part_names(self, x: Any, parts: Longs, classes: Sequence[str]) -> list[str]:
        """Returns the head of each arc."""
        return super().part_names(x, parts // 2, ())

    def choices(self, x: Any, scores: FlatParts, outputs: Ints, position: int, classes: Sequence[str]) -> Choices:
        """Returns the heads that a word may have."""
        n = len(outputs)
        t = position_of(position, n, self.noun, self.place)
        parts = self.arcs_to(outputs, t)
        chosen = int(outputs[t]) // 2
        return _Heads(t, self.place, self.part_names(x, parts, ()), chosen - (chosen > t), parts)

    def arcs_to(self, outputs: Ints, t: int) -> Longs:
        """Returns a part for every head of a word: that which it has if the other heads stay as they are."""
        n, heads, out = len(outputs), outputs // 2, list[int]()
        for head in arc_ends(n)[1][t * n : (t + 1) * n].tolist():
            other = np.concatenate((heads[:t], [head], heads[t + 1 :])).astype(np.int32)
            out.append(int(self.structure(1).parts_of((n, 2), with_valence(other))[t]))
        return np.array(out, np.int64)

    def certainty(self, parts: FlatParts, outputs: Ints, classes: Sequence[str]) -> Floats:
        """Returns the probability of the head that each word has."""
        table = self.chances(parts)[0]
        return np.array([table[t, code // 2] for t, code in enumerate(outputs.tolist())])

    def chances(self, parts: FlatParts) -> list[Any]:
        """Returns for every sentence the probability of every head of every word: (words, words + 1), 0 the root."""
        shapes = np.stack((parts.shapes[:, 0], np.ones(len(parts), np.int64)), axis=1)
        return super().chances(FlatParts(parts.values.reshape(-1, 2).sum(axis=1), parts.offsets // 2, shapes))
