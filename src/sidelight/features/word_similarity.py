"""How similar words are by what others know of them: word vectors from a file, or WordNet, where it is installed."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..data.source import require_regular
from ..errors import DataError
from ..kernels.compiling import Floats

# A file of word vectors may have so many bytes: model files name such files.
_MOST_BYTES = 1 << 34


def vector_similarities(path: str, one: Sequence[str], other: Sequence[str]) -> Floats:
    """Returns the cosines of words in lower case, 0 where they are below or a word has no vector: (words, words)."""
    vectors = read_vectors(path)
    width = len(next(iter(vectors.values())))
    left, right = (np.array([vectors.get(word, np.zeros(width)) for word in words]) for words in (one, other))
    cosines: Floats = np.maximum(left @ right.T, 0.0)
    return cosines


@lru_cache(maxsize=4)
def read_vectors(path: str) -> dict[str, Floats]:
    """Returns vectors of length 1 by word, from lines of a word and its numbers; a first line of counts is skipped."""
    out: dict[str, Floats] = {}
    require_regular(path, _MOST_BYTES)
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                word, *values = line.rstrip().split(" ")
                if number == 1 and len(values) == 1:
                    continue
                vector = np.array(values, float)
                if not len(vector) or (out and len(vector) != len(next(iter(out.values())))):
                    raise DataError(f"{path}, line {number}: a word and as many numbers as in other lines are expected")
                out.setdefault(word.lower(), vector / max(float(np.linalg.norm(vector)), np.finfo(float).tiny))
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"no word vectors can be read from {path}: {error}") from None
    if not out:
        raise DataError(f"{path} has no word vectors; write a word and its numbers on each line, with spaces between")
    return out


def wordnet_similarities(one: Sequence[str], other: Sequence[str]) -> Floats:
    """Returns the path similarities of the closest senses of words: (words, words)."""
    return np.array([[wordnet_similarity(*sorted((word, second))) for second in other] for word in one])


@lru_cache(maxsize=1_000_000)
def wordnet_similarity(first: str, second: str) -> float:
    """Returns 1 / (1 + steps between the closest senses of two words), 0 where WordNet lacks one."""
    senses = _senses(first), _senses(second)
    from wn.similarity import path

    pairs = [(a, b) for a in senses[0] for b in senses[1] if a.pos == b.pos]
    return max((float(path(a, b, simulate_root=True)) for a, b in pairs), default=0.0)


@lru_cache(maxsize=100_000)
def _senses(word: str) -> list[Any]:
    """The senses of a word."""
    try:
        import wn
    except ImportError:
        raise DataError("wordnet=True needs the package wn: pip install 'sidelight[wordnet]'") from None
    try:
        return list(wn.synsets(word, lang="en"))
    except wn.Error as error:
        raise DataError(
            f"wordnet=True needs an English lexicon ({error}); download one: python -m wn download oewn:2024"
        ) from None
