"""What every scorer answers: scores θ = F(x)·w of the parts of a batch, and expected features Fᵀμ of expected parts."""

from typing import Protocol, TypeVar

from ..features.encoded import Encoded
from ..kernels.compiling import Floats
from ..structures.protocol import Parts

P_out = TypeVar("P_out", bound=Parts, covariant=True)
P_in = TypeVar("P_in", bound=Parts, contravariant=True)
P = TypeVar("P", bound=Parts)


class Weights(Protocol[P_out]):
    """A weight vector made ready for scoring batches."""

    def scores(self, encoded: Encoded, n_jobs: int = 1) -> P_out:
        """Scores of every part of a batch."""
        ...


class Expectation(Protocol[P_in]):
    """A running sum of expected features over batches."""

    def add(self, encoded: Encoded, parts: P_in) -> None:
        """Add the expected features of one batch's expected parts."""
        ...

    def total(self) -> Floats:
        """The sum as a vector like the weights."""
        ...


class Scorer(Protocol[P]):
    """A linear map between weights and parts."""

    @property
    def size(self) -> int:
        """Number of weights."""
        ...

    def prepare(self, w: Floats) -> Weights[P]:
        """A weight vector made ready for scoring batches."""
        ...

    def expectation(self) -> Expectation[P]:
        """An empty sum of expected features."""
        ...
