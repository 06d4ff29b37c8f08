"""Random scores of labels, to begin with where nothing is known; those of some tokens are drawn without the others."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..features.encoded import Encoded
from ..kernels.compiling import Floats
from ..structures.chain import ChainParts


@dataclass(frozen=True)
class RandomScores:
    """A random score between 0 and 1 for every label of every token.

    state: of the generator that gives those of all tokens, one after the other.
    """

    state: Any
    labels: int
    order: int = 1

    @classmethod
    def drawn(cls, rng: np.random.Generator, tokens: int, labels: int, order: int = 1) -> "RandomScores":
        """Those of this many tokens, which the generator has then given away."""
        found = cls(rng.bit_generator.state, labels, order)
        rng.bit_generator.advance(tokens * labels)  # type: ignore[attr-defined]
        return found

    def unary(self, first: int, tokens: int) -> Floats:
        """Those of some tokens, from one of this number on: (tokens, labels)."""
        bits = np.random.PCG64()
        bits.state = self.state
        bits.advance(first * self.labels)
        return np.random.Generator(bits).uniform(size=(tokens, self.labels))

    def scores(self, encoded: Encoded, first: int) -> ChainParts:
        """Those of label chains whose first token has this number."""
        nothing = np.zeros((self.labels, self.labels))
        triple = np.zeros((self.labels,) * 3) if self.order == 2 else None
        return ChainParts.of(encoded.offsets, self.unary(first, encoded.tokens), nothing, triple=triple)
