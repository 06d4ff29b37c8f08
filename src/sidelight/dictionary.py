"""Tag dictionaries: which labels a word may have, as partial labels for learners without labelled sequences.

tags = TagDictionary.of(X, y)        from labelled sequences, or TagDictionary({"play": {"NOUN", "VERB"}, ...})
known = tags.apply(X_new)            for every token the set of its labels
EM(HMM()).fit(X_new, known)          and so ContrastiveEstimation, CRF and all others that take partial labels
CoDL(HMM(), tags.rules())            as rules, which outputs may break at a penalty
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .containers import plain_inputs, plain_outputs
from .errors import DataError
from .features.columns import Column
from .features.symbols import as_column, column_values
from .labels import check_lengths
from .quoting import quoted
from .rules.conditions import Where
from .rules.language import Rule
from .rules.usual import where
from .supervision import Signal, kind_of


@dataclass(frozen=True)
class TagDictionary:
    """The labels that words may have.

    Parameters
    ----------
    labels : mapping of str to set of str
        The labels of each word.
    open : set of str, default=frozenset()
        The labels of words that are not in the dictionary. If it is empty, unknown words may have any label.
    word : str or Column, default='word'
        What of a token is looked up: a column expression, such as `word.lower()`, or its text.
    """

    labels: Mapping[str, AbstractSet[str]]
    open: AbstractSet[str] = frozenset()
    word: str | Column = "word"

    def __post_init__(self) -> None:
        for word, labels in [*self.labels.items(), *([("unknown words", self.open)] if self.open else [])]:
            if not isinstance(labels, AbstractSet) or not labels or not all(isinstance(label, str) for label in labels):
                raise DataError(
                    f"the labels of {quoted(word)} must be a non-empty set of strings, got {quoted(labels)}"
                )

    @classmethod
    def of(
        cls,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        word: str | Column = "word",
        open: AbstractSet[str] = frozenset(),
        min_count: int = 1,
        min_share: float = 0.0,
    ) -> "TagDictionary":
        """The labels that words have in labelled sequences.

        Words seen fewer than `min_count` times are left out, and so are the labels that a word has in a smaller share
        of its places than `min_share`: many of those are mistakes of the annotators. Its most frequent labels stay.
        """
        if not 0 <= min_share <= 0.5:
            raise DataError(f"min_share lies between 0 and 0.5, got {quoted(min_share)}")
        X, y = plain_inputs(X), plain_outputs(y)
        tokens = column_values(as_column(word, "word"), X)
        check_lengths([len(x) for x in X], y)
        for i, labels in enumerate(y):
            if kind_of(labels) is not Signal.FULL:
                raise DataError(f"sequence {i}: a dictionary is made of full labels, got {quoted(labels)}")
        found: dict[str, Counter[str]] = {}
        for token, label in zip(tokens, chain.from_iterable(y), strict=True):
            found.setdefault(token, Counter())[label] += 1
        kept = {
            token: frozenset(
                label for label, n in counts.items() if n >= min_share * counts.total() or n == max(counts.values())
            )
            for token, counts in found.items()
            if counts.total() >= min_count
        }
        return cls(kept, open or frozenset(label for counts in found.values() for label in counts), word)

    @property
    def classes(self) -> set[str]:
        """All labels of the dictionary."""
        return set(self.open).union(*self.labels.values())

    def rules(self) -> list[Rule]:
        """The dictionary as rules, one for every set of labels; as soft rules, outputs may break them at a penalty."""
        column, words = as_column(self.word, "word"), dict[tuple[str, ...], list[str]]()
        for one, labels in self.labels.items():
            words.setdefault(tuple(sorted(labels)), []).append(one)
        held: list[tuple[tuple[str, ...], Where]] = [(some, column.isin(*words[some])) for some in words]
        if self.open:
            held.append((tuple(sorted(self.open)), ~column.isin(*self.labels)))
        return [where(holds).label(*some).named(f"dictionary: {' or '.join(some)}") for some, holds in held]

    def contradicted(self, X: Sequence[Any], y: Sequence[Any]) -> list[int]:
        """The numbers of fully labelled sequences that have a label which the dictionary excludes."""
        return [
            i
            for i, (labels, tags) in enumerate(zip(y, self.apply(X), strict=True))
            if any(allowed is not None and label not in allowed for label, allowed in zip(labels, tags, strict=True))
        ]

    def apply(self, X: Sequence[Any]) -> list[list[AbstractSet[str] | None]]:
        """For every token the set of labels it may have, or None for any: y for learners that take partial labels."""
        X = plain_inputs(X)
        if not len(X):
            return []
        tokens = iter(column_values(as_column(self.word, "word"), X))
        return [[self.labels.get(next(tokens), self.open or None) for _ in x] for x in X]
