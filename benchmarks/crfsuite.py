"""CRFsuite by python-crfsuite: training and tagging."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from .chunk_features import attributes

try:
    import pycrfsuite
except ImportError:
    pycrfsuite = None

NAME = "CRFsuite"
INSTALLED = pycrfsuite is not None
MISSING = f"{NAME} is not installed, so it is left out; pip install 'sidelight[bench]'"
OBSERVED_ONLY = {"feature.minfreq": 0, "feature.possible_states": 0, "feature.possible_transitions": 0}
LBFGS = {"c1": 0.0, "c2": 0.5, **OBSERVED_ONLY}


@dataclass(frozen=True)
class Trained:
    """A model file and what its training took.

    feature_s: making attributes and handing them over; training_s: the rest, less storing the model; weights: how many;
    loss: the objective it reports at the end, None where it reports none.
    """

    path: str
    feature_s: float
    training_s: float
    weights: int
    loss: float | None

    @property
    def total_s(self) -> float:
        """Features and training."""
        return self.feature_s + self.training_s


def train(
    X: Sequence[Any],
    y: Sequence[Any],
    algorithm: str,
    parameters: dict[str, Any],
    folder: Path,
    features: Callable[[Any], Any] = attributes,
) -> Trained:
    """Train on the features of each sequence, the chunking attributes by default; write the model to the folder."""
    trainer = pycrfsuite.Trainer(algorithm, parameters, verbose=False)
    started = perf_counter()
    for tokens, labels in zip(X, y, strict=True):
        trainer.append(features(tokens), labels)
    ready = perf_counter()
    path = str(folder / f"{algorithm}.crfsuite")
    trainer.train(path)
    log = trainer.logparser
    training = perf_counter() - ready - (log.storing_seconds or 0.0)
    return Trained(path, ready - started, training, log.featgen_num_features, log.last_iteration.get("loss"))


def open_tagger(trained: Trained) -> Any:
    """A tagger of the model."""
    tagger = pycrfsuite.Tagger()
    tagger.open(trained.path)
    return tagger


def predict(tagger: Any, X: Iterable[Any]) -> list[list[str]]:
    """Labels from raw columns."""
    return [tagger.tag(attributes(x)) for x in X]


def item_sequences(X: Iterable[Any]) -> list[Any]:
    """Inputs as CRFsuite holds them."""
    return [pycrfsuite.ItemSequence(attributes(x)) for x in X]


def marginals(tagger: Any, items: Sequence[Any]) -> list[list[list[float]]]:
    """The probability of every label at every token."""
    labels, out = tagger.labels(), []
    for sequence in items:
        tagger.set(sequence)
        out.append([[tagger.marginal(label, t) for label in labels] for t in range(len(sequence))])
    return out
