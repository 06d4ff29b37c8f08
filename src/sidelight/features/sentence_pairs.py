"""Features of sentence pairs: what words and dependencies have in common, and what the deleted ones are.

Words are compared by spelling: equal, of one lemma, or alike by edit distance or prefix. Tags and labels of edges are
used where sentences carry them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Floats, Longs
from .word_similarity import vector_similarities, wordnet_similarities

# Endings that words of one lemma differ by, longest first, and how many letters are left of a word at least.
_ENDINGS = ("ings", "ing", "ies", "ied", "ers", "est", "ed", "es", "er", "ly", "s", "e", "y")
_LEFT = 3
NEGATIONS = frozenset({"not", "n't", "no", "never", "nor", "neither", "without", "none", "nobody", "nothing"})
# Similarity of words of one lemma, and of other words at most; words with fewer than SHORTEST letters are equal or
# different.
SAME_LEMMA, ALIKE, SHORTEST = 0.9, 0.8, 4
# Universal tags that are one where words are compared.
_CLASSES = {"PROPN": "NOUN", "AUX": "VERB"}


@dataclass(frozen=True)
class Sentence:
    """A sentence as a graph: words, and what is known of them.

    Parameters
    ----------
    words : sequence of str
        The words.
    tags : sequence of str, default=()
        The part of speech of every word.
    lemmas : sequence of str, default=()
        The lemma of every word; else words whose stems agree are taken for words of one lemma.
    edges : sequence of tuples, default=()
        Dependencies (head, child) or (head, child, label), by the numbers of words from 0.
    """

    words: Sequence[str]
    tags: Sequence[str] = ()
    lemmas: Sequence[str] = ()
    edges: Sequence[tuple[Any, ...]] = ()

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    @classmethod
    def parsed(
        cls,
        words: Sequence[str],
        heads: Sequence[int],
        labels: Sequence[str] = (),
        *,
        tags: Sequence[str] = (),
        lemmas: Sequence[str] = (),
    ) -> "Sentence":
        """Return a sentence with the edges of its tree, as `Parsing` predicts it.

        Parameters
        ----------
        words : sequence of str
            The words.
        heads : sequence of int
            The head of every word, from 1; 0 for the root, which makes no edge.
        labels : sequence of str, default=()
            The label of every word's arc.
        tags, lemmas : sequence of str, default=()
            Those of every word.

        Returns
        -------
        Sentence
            The sentence.
        """
        if len(heads) != len(words) or len(labels) not in (0, len(words)):
            raise DataError(f"there are {len(words)} words, {len(heads)} heads and {len(labels)} labels; give as many")
        edges = [(head - 1, t, *labels[t : t + 1]) for t, head in enumerate(heads) if head]
        return cls(words, tags, lemmas, edges)


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Returns a word in lower case without its ending."""
    word = word.lower()
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEFT:
            left = word[: len(word) - len(ending)]
            return left[:-1] if len(left) > _LEFT and left[-1] == left[-2] else left
    return word


def similarities(source: Sentence, target: Sentence, *, vectors: str | None = None, wordnet: bool = False) -> Floats:
    """Returns how similar words are, (source words, target words), from 0 to 1: equal, of one lemma, or alike.

    vectors: a file of word vectors, whose cosines count too; wordnet: whether similarities by WordNet do.
    """
    from ..kernels import spelling

    one, other = ([word.lower() for word in side.words] for side in (source, target))
    table = np.empty((len(one), len(other)))
    spelling.similarities(*_letters(one), *_letters(other), SHORTEST, table)
    equal, marks = (
        table == 1.0,
        ([k for k, word in enumerate(words) if not word[:1].isalpha()] for words in (one, other)),
    )
    np.minimum(table, ALIKE, out=table)
    table[next(marks)] = table[:, next(marks)] = 0.0
    if vectors is not None:
        np.maximum(table, np.minimum(vector_similarities(vectors, one, other), ALIKE), out=table)
    if wordnet:
        np.maximum(table, np.minimum(wordnet_similarities(one, other), ALIKE), out=table)
    for names, others in ((source.lemmas, target.lemmas), (list(map(stem, one)), list(map(stem, other)))):
        places = dict[str, list[int]]()
        for j, name in enumerate(others):
            places.setdefault(name.lower(), []).append(j)
        for i, name in enumerate(names):
            table[i, places.get(name.lower(), [])] = SAME_LEMMA
    table[equal] = 1.0
    return table


def _letters(words: Sequence[str]) -> tuple[Any, Longs]:
    """All letters of words as numbers, and where each word begins."""
    starts = np.concatenate(([0], np.cumsum([len(word) for word in words]))).astype(np.int64)
    return np.frombuffer("".join(words).encode("utf-32-le"), np.int32), starts


def kind_of(similarity: float) -> str:
    """Returns what the similarity of two words makes them."""
    if similarity >= 1.0:
        return "same"
    return "lemma" if similarity >= SAME_LEMMA else "alike" if similarity >= 0.5 else "other"


def link_features(source: Sentence, target: Sentence, links: Longs, similarity: Floats) -> list[dict[str, Any]]:
    """Returns the features of links; similarity: that of the words of each link."""
    tags, other_tags = _classes(source), _classes(target)
    numbers, other_numbers = (_numbers(side) for side in (source, target))
    one, other = (["", *(word.lower() for word in side.words), ""] for side in (source, target))
    out: list[dict[str, Any]] = []
    for (i, j), value in zip(links.tolist(), similarity.tolist(), strict=True):
        kind = kind_of(value)
        features: dict[str, Any] = {"link": True, "similarity": value, "kind": kind}
        features["distance"] = abs((i + 0.5) / len(source) - (j + 0.5) / len(target))
        features["equal neighbours"] = str((one[i] == other[j]) + (one[i + 2] == other[j + 2]))
        if tags and other_tags:
            features["kind, tags"] = f"{kind} {tags[i]} {other_tags[j]}"
            features["one tag"] = kind if tags[i] == other_tags[j] else None
        if numbers[i] or other_numbers[j]:
            features["number"] = kind
        out.append(features)
    return out


def deletion_features(sentence: Sentence, side: str) -> list[dict[str, Any]]:
    """Returns the features of deleted words; side: "" where either sentence's are the same."""
    tags, numbers = sentence.tags, _numbers(sentence)
    out: list[dict[str, Any]] = []
    for i, word in enumerate(sentence.words):
        features: dict[str, Any] = {f"deleted {side}": True, f"deleted number {side}": numbers[i]}
        features[f"deleted negation {side}"] = word.lower() in NEGATIONS
        if tags:
            features[f"deleted tag {side}"] = tags[i]
        out.append(features)
    return out


def pair_features(
    source: Sentence, target: Sentence, edges: Sequence[Sequence[int]], similarity: Floats
) -> list[dict[str, Any]]:
    """Returns the features of pairs of edges; edges: of either sentence; similarity: that of heads times children."""
    out: list[dict[str, Any]] = []
    for one, other, value in zip(*edges, similarity.tolist(), strict=True):
        labels = [side.edges[e][2] if len(side.edges[e]) > 2 else "" for side, e in ((source, one), (target, other))]
        label = None if not all(labels) else labels[0] if labels[0] == labels[1] else "others"
        out.append({"edges": True, "similarity of edges": value, "label of edges": label})
    return out


def edge_deletion_features(sentence: Sentence, side: str) -> list[dict[str, Any]]:
    """Returns the features of deleted edges."""
    return [
        {f"edge deleted {side}": True, f"label deleted {side}": edge[2] if len(edge) > 2 else None}
        for edge in sentence.edges
    ]


def _classes(sentence: Sentence) -> list[str]:
    """The tags of words as they are compared."""
    return [_CLASSES.get(tag, tag) for tag in sentence.tags]


def _numbers(sentence: Sentence) -> list[bool]:
    """Which words have digits."""
    return [any(letter.isdigit() for letter in word) for word in sentence.words]
