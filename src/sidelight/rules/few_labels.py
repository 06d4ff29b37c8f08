"""Each word has few labels in the corpus."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from ..errors import DataError, NotSupported
from ..features.columns import Column, word
from ..features.symbols import column_values
from ..kernels.compiling import Ints, Longs
from .automata import Compilation
from .language import Rule


@dataclass(frozen=True, eq=False, repr=False)
class FewLabels(Rule):
    """A word has few labels in the corpus; each one beyond the first that any of its tokens has is a violation.

    `of` says what of a token is its word; words with fewer than `at_least` tokens are left out.
    """

    per_word: ClassVar[bool] = True
    of: Column
    at_least: int

    def body(self) -> str:
        """For example "few_labels(word.lower(), at_least=10)"."""
        return f"few_labels({self.of!r}, at_least={self.at_least})"

    @property
    def about_corpus(self) -> bool:
        """Always: a word may occur in any sequence."""
        return True

    def automata(self, at: Compilation) -> NoReturn:
        """Refused, since no output alone violates it."""
        raise NotSupported(f"{at.rule.title} is about the corpus, not about one output; it cannot steer decoding")

    def statement(self, at: Compilation, units: Iterator[float] | None) -> NoReturn:
        """Refused, since it has no bound."""
        raise NotSupported(
            f"rule {at.title!r} is no bound on a count, but a charge that only PosteriorRegularization and its "
            "relatives know, with no other kind of rule beside it"
        )

    def corpus_violation(self, at: Compilation, labels: Ints) -> float:
        """How many labels its words have beyond one each."""
        token, edges = self.occurrences(at.batch.X)
        words = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        return float(len(np.unique(words * len(at.labels) + labels[token])) - (len(edges) - 1))

    def occurrences(self, X: Sequence[Any]) -> tuple[Longs, Longs]:
        """The tokens of each word that it speaks of, see `tokens_by_word`."""
        return tokens_by_word(column_values(self.of, X), self.at_least)


def tokens_by_word(values: Sequence[str], at_least: int) -> tuple[Longs, Longs]:
    """The numbers of tokens, word by word, and edges: those of word g are token[edges[g] : edges[g + 1]].

    values: the word of each token ("" is none); words with fewer than `at_least` tokens are left out.
    """
    names, number, count = np.unique(np.array(values, dtype=str), return_inverse=True, return_counts=True)
    often = (count >= at_least) & (names != "")
    order = np.argsort(number, kind="stable")
    token = order[often[number[order]]].astype(np.int64)
    return token, np.concatenate(([0], np.cumsum(count[often]))).astype(np.int64)


def few_labels(of: Column = word, *, at_least: int = 10) -> FewLabels:
    """Require that each word has few labels among all its tokens in the corpus.

    `few_labels(word).expected(32)` charges 32 times Σ over words and labels of the largest probability that any token
    of the word gives the label (section 8 of Ganchev et al. 2010).

    Parameters
    ----------
    of : Column, default=word
        What tells words apart, `word.lower()` for instance.
    at_least : int, default=10
        Words seen fewer times are left out.

    Returns
    -------
    FewLabels
        The rule.
    """
    if not isinstance(of, Column) or of.offset != 0:
        raise DataError(f"few_labels takes one column of the token itself, such as word.lower(), got {of!r}")
    if not isinstance(at_least, int) or at_least < 1:
        raise DataError(f"at_least is a whole number of at least 1, got {at_least!r}")
    return FewLabels(of, at_least)
