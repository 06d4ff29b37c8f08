"""`WordAligner`: learns from sentence pairs alone which of their words translate each other."""

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from ..declared import Bounds, Running, declared, parameter_hints
from ..errors import DataError
from ..estimator import Estimator, require_fitted
from ..kernels.compiling import Floats, Singles
from ..kernels.word_alignment import BIJECTIVE, NONE, SYMMETRIC, Direction
from ..records import Record, recorded
from ..running import checkpoints, scatter
from ..running.checkpoints import Carried
from ..running.forms import Like, Number
from ..running.places import current
from ..solvers import rounds
from ..stored import Arrays, ArraySpec, check_declared, check_values, finite, numbered, read_arrays
from .bitext import Bitext, PairTable, Vocabulary
from .estimation import (
    Beliefs,
    BlockPosteriors,
    EStep,
    Parameters,
    count,
    entropy,
    estimate,
    log_prior,
    no_counts,
    posteriors,
    uniform,
)
from .links import Combination, LinkList, as_links, chosen_cells

Constraint = Literal["none", "bijective", "symmetric"]
_CODES = {"none": NONE, "bijective": BIJECTIVE, "symmetric": SYMMETRIC}
# Probabilities of what no training pair has: a pair of known words, a word that is not known from a word that is, from
# one that is not either, and from the null word.
_UNSEEN, _NEW, _BOTH_NEW, _NULL_NEW = 1e-7, 1e-6, 1e-2, 1e-5
# Below this, weights p^(1/γ) leave the range of numbers.
_COLDEST = 0.01
# A projection for its own sake, such as for a picture, is more exact than one of an E step.
_EXACT_STEPS, _EXACT = 200, 1e-3

# What a model file keeps: pairs of words, in order, with their probabilities in both directions, and those of the null
# word and of jumps. Probabilities may be above 1 by what rounding adds.
_STORED = {
    "owners": ArraySpec(np.int32, ("pairs",), least=0, below="sources"),
    "partners": ArraySpec(np.int32, ("pairs",), least=0, below="targets"),
    "forward": ArraySpec(np.float32, ("pairs",), least=0, most=1.001),
    "backward": ArraySpec(np.float32, ("pairs",), least=0, most=1.001),
    "forward_null": ArraySpec(np.float32, ("targets",), least=0, most=1.001),
    "backward_null": ArraySpec(np.float32, ("sources",), least=0, most=1.001),
    "forward_jumps": finite("3*reach+2", least=0),
    "backward_jumps": finite("3*reach+2", least=0),
}

SentencePairs = Iterable[tuple[Sequence[str], Sequence[str]]]


@recorded
class AlignmentStep(Record):
    """One round of EM: model, "ibm1" or "hmm"; γ; the objective Σ E_q[log p] + γ H(q) of both directions."""

    better: ClassVar[str] = "higher"
    iteration: int
    model: str
    gamma: float
    objective: float

    def __str__(self) -> str:
        return f"{'IBM model 1' if self.model == 'ibm1' else 'HMM'}, objective {self.objective:.1f}"


class PairPosteriors(NamedTuple):
    """Probabilities of links of one pair, rows by source word and columns by target word.

    forward: the source word emits the target word, columns sum to one with `null_forward`; backward: the target word
    emits the source word, rows sum to one with `null_backward`.
    """

    forward: Floats
    backward: Floats
    null_forward: Floats
    null_backward: Floats


@declared
class WordAligner(Running, Estimator):
    """Word alignment of a bitext by IBM model 1 and then the HMM model, in both directions at once.

    Every E step projects the posteriors of each sentence pair on a constraint: bijective, where each word has at most
    one link in expectation, or symmetric, where both directions agree on the probability of every link (posterior
    regularization; Ganchev et al. 2010, section 5). With γ the entropy of the posteriors is weighed (unified EM; Chang
    2011, chapter 4): 1 is posterior regularization, between 0 and 1 it is firmer, and 0 takes the best alignments.

    The symmetric constraint projects the product of both directions: it minimises KL(q→ || p→) + KL(q← || p←) where q→
    and q← have the same expected links. Eq. 42 of Ganchev et al. 2010 projects the mixture (p→ + p←) / 2. There the
    directions are compared with weights that the projection changes, and need not end equal; in the product they do.

    Attributes
    ----------
    trace_ : tuple of AlignmentStep
        The objective of every round, before its M step.
    entropy_ : tuple of float
        The mean entropy in bits of both translation tables, of target words given a source word and the other way.
    """

    constraint: Annotated[Constraint, "What posteriors are projected on in training."] = "bijective"
    gamma: Annotated[
        float,
        "γ of the rounds of the last model; those of IBM model 1 before the HMM, and before γ = 0 one of the HMM, have "
        "γ = 1.",
        Bounds(0),
    ] = 0.5
    ibm1_iterations: Annotated[int, "Rounds of IBM model 1.", Bounds(0)] = 5
    hmm_iterations: Annotated[int, "Rounds of the HMM; 0 leaves it at IBM model 1.", Bounds(0)] = 3
    null: Annotated[float, "The probability that a word comes from the null word.", Bounds(0, 1)] = 0.2
    prior: Annotated[
        float,
        "Above 0, tables have a sparse Dirichlet prior with this parameter, and are estimated by variational Bayes.",
        Bounds(0),
    ] = 0.0
    stems: Annotated[
        float,
        "Every word is counted as if it had been linked this often more, as words that begin with the same letters "
        "are; this helps with rare words.",
        Bounds(0),
    ] = 5.0
    stem_length: Annotated[int, "How many letters these are.", Bounds(1)] = 5
    cognates: Annotated[
        float,
        "Words that look alike are counted as if they had been linked this often more, times how alike they are.",
        Bounds(0),
    ] = 1.0
    reach: Annotated[int, "Jumps that are farther than this many words are equally probable.", Bounds(1)] = 10
    combine: Annotated[
        Combination,
        "How links are read off: those whose geometric mean of both posteriors reaches the threshold, or a combination "
        "of those where each direction's does.",
    ] = "posterior"
    threshold: Annotated[float, "The least posterior of a link.", Bounds(0, 1)] = 0.3
    viterbi: Annotated[
        bool, "Whether each direction has the links of its best alignment instead; `combine` is then not 'posterior'."
    ] = False
    project: Annotated[bool, "Whether posteriors are projected on the constraint before links are read off."] = False
    steps: Annotated[int, "Steps of a projection at most, in training.", Bounds(0)] = 20
    tolerance: Annotated[float, "A projection ends when no constraint is missed by more than this.", Bounds(0)] = 0.02

    # Parameters ------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        """Raise `DataError` where a parameter makes no sense."""
        check_declared(self)
        if 0 < self.gamma < _COLDEST:
            raise DataError(
                f"gamma is 0 or at least {_COLDEST:g}, got {self.gamma!r}; smaller ones hardly differ from 0"
            )
        if not 0 < self.null < 1:
            raise DataError(f"null lies between 0 and 1, got {self.null!r}; agreement needs the null word")
        if self.ibm1_iterations + self.hmm_iterations == 0:
            raise DataError("ibm1_iterations and hmm_iterations are both 0: nothing would be learned")
        if self.viterbi and self.combine == "posterior":
            raise DataError(
                "viterbi has no posteriors to combine; set combine to 'intersection', 'union', 'grow-diag-final-and', "
                "'forward' or 'backward'"
            )

    # Learning --------------------------------------------------------------------------------------------------------

    def fit(self, X: SentencePairs, y: Any = None) -> Self:
        """Learn both directions from sentence pairs.

        Parameters
        ----------
        X : iterable of tuple
            Pairs (source, target) of lists of words. Pairs with an empty side teach nothing.
        y : None
            Not used.

        Returns
        -------
        WordAligner
            The aligner.
        """
        self._check()
        sources, targets = _sides(X)
        with checkpoints.fitting(self, {"X": (sources, targets)}):
            self._fit(sources, targets)
        return self

    def _fit(self, sources: list[Any], targets: list[Any]) -> None:
        vocabularies = Vocabulary.of(sources), Vocabulary.of(targets)
        words = len(vocabularies[0]), len(vocabularies[1])
        bitext = Bitext.of(vocabularies[0].encode(sources), vocabularies[1].encode(targets), words)
        if not len(bitext.table):
            raise DataError("there is nothing to learn from: no pair has words on both sides")
        model = uniform(bitext, words, self.reach, float(self.null))
        beliefs = Beliefs(
            float(self.prior),
            bitext.table.stems(*vocabularies, self.stem_length) if self.stems else None,
            float(self.stems),
            bitext.table.likeness(*vocabularies) if self.cognates else None,
            float(self.cognates),
        )
        parts = scatter(bitext.parts(current().workers, self.n_jobs), n_jobs=1)
        schedule = ["ibm1"] * self.ibm1_iterations + ["hmm"] * self.hmm_iterations

        def expect(name: str) -> Any:
            gamma = float(self.gamma) if name == schedule[-1] else 1.0
            if name == "hmm" and gamma == 0 and np.ptp(model.forward.jumps) == 0:
                gamma = 1.0  # under equal jumps, best alignments would say little of jumps
            step = EStep(name == "hmm", _CODES[self.constraint], gamma, self.steps, self.tolerance)
            return *count(parts, len(bitext.table), model, step), step

        def fit(found: Any) -> None:
            nonlocal model
            _, counts, step = found
            model = estimate(bitext, model, counts, words, beliefs, step.markov)

        def begin_with(saved: Parameters) -> None:
            nonlocal model
            model = saved

        self.trace_ = rounds.alternate(
            schedule, expect, rounds.InTurn(fit),
            lambda number, name, found: AlignmentStep(number, name, found[2].gamma, found[0] + log_prior(model)),
            title="align", verbose=self.verbose,
            carried=Carried(lambda: model, begin_with, lambda: Like(model, 0.0)),
            form=lambda: (Number(), Like(no_counts(model, len(bitext.table)), 0.0), EStep),
        )  # fmt: skip
        self._adopt(vocabularies, bitext.table, model)

    def _adopt(self, vocabularies: tuple[Vocabulary, Vocabulary], table: PairTable, model: Parameters) -> None:
        self._vocabularies, self._table, self._parameters = vocabularies, table, model
        self.entropy_ = (
            entropy(model.forward.table, table.owners, len(vocabularies[0])),
            entropy(model.backward.table, table.partners, len(vocabularies[1])),
        )

    # Aligning --------------------------------------------------------------------------------------------------------

    def predict(self, X: SentencePairs) -> list[LinkList]:
        """Returns the links of every pair.

        Parameters
        ----------
        X : iterable of tuple
            Pairs (source, target) of lists of words; they need not be those that it learned from.

        Returns
        -------
        list of list of tuple
            The links (i, j) of every pair, positions counted from 0; none where a side is empty.
        """
        self._check()
        step = self._decoding_step()
        out: list[LinkList] = []
        for bitext, block in self._blocks(X, step):
            out += as_links(bitext, block, chosen_cells(bitext, block, self.combine, float(self.threshold)))
        return out

    def fit_predict(self, X: SentencePairs, y: Any = None) -> list[LinkList]:
        """Learn from sentence pairs, and return their links.

        Parameters
        ----------
        X : iterable of tuple
            Pairs (source, target) of lists of words.
        y : None
            Not used.

        Returns
        -------
        list of list of tuple
            The links (i, j) of every pair.
        """
        pairs = list(X)
        return self.fit(pairs).predict(pairs)

    def predict_posteriors(
        self, X: SentencePairs, *, constraint: Constraint = "none", gamma: float = 1.0
    ) -> list[PairPosteriors]:
        """Returns the probabilities of all links of every pair.

        Parameters
        ----------
        X : iterable of tuple
            Pairs (source, target) of lists of words.
        constraint : {'none', 'bijective', 'symmetric'}, default='none'
            What the posteriors are projected on.
        gamma : float, default=1.0
            The weight of their entropy.

        Returns
        -------
        list of PairPosteriors
            Posteriors of both directions.
        """
        if constraint not in _CODES:
            raise DataError(f"constraint is one of {', '.join(map(repr, _CODES))}, got {constraint!r}")
        step = EStep(self._is_markov(), _CODES[constraint], gamma, _EXACT_STEPS, _EXACT)
        out = []
        for bitext, block in self._blocks(X, step):
            out += _matrices(bitext, block)
        return out

    def _decoding_step(self) -> EStep:
        constraint = _CODES[self.constraint] if self.project else NONE
        return EStep(self._is_markov(), constraint, 0.0 if self.viterbi else 1.0, _EXACT_STEPS, self.tolerance)

    def _is_markov(self) -> bool:
        return self.hmm_iterations > 0

    def _blocks(self, X: SentencePairs, step: EStep) -> Iterator[tuple[Bitext, BlockPosteriors]]:
        """Yields posteriors of pairs, with the encoded pairs."""
        require_fitted(self, "trace_")
        sources, targets = _sides(X)
        new = len(self._vocabularies[0]), len(self._vocabularies[1])
        encoded = [one.encode(side) for one, side in zip(self._vocabularies, (sources, targets), strict=True)]
        for (flat, _), number in zip(encoded, new, strict=True):
            flat[flat < 0] = number  # all words that are not known are one
        bitext = Bitext.of(encoded[0], encoded[1], (new[0] + 1, new[1] + 1))
        model = self._for_text(bitext, new)
        for block in posteriors(bitext.pairs, model, step, self.n_jobs):
            yield bitext, block

    def _for_text(self, bitext: Bitext, new: tuple[int, int]) -> Parameters:
        """Returns the parameters of the pairs of words of a text; `new` is the number of words that are not known."""
        table = bitext.table
        unknown = table.owners == new[0], table.partners == new[1]
        numbers = self._table.find(
            np.where(unknown[0], -1, table.owners).astype(np.int32),
            np.where(unknown[1], -1, table.partners).astype(np.int32),
        )
        known = numbers >= 0

        def row(one: Direction, given: Any, emitted: Any) -> Direction:
            out = np.full(len(table), _UNSEEN, np.float32)
            out[known] = one.table[numbers[known]]
            out[emitted] = _NEW
            out[given & emitted] = _BOTH_NEW
            null_row = np.append(one.null_row, np.float32(_NULL_NEW))
            return one._replace(table=out, null_row=null_row)

        model = self._parameters
        return Parameters(row(model.forward, *unknown), row(model.backward, *unknown[::-1]))

    # Files -----------------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the aligner to a file; an existing one is replaced only when the new one is complete.

        Parameters
        ----------
        path : str or path-like
            The model file.
        """
        from ..model_file import packed_trace, write_archive

        require_fitted(self, "trace_")
        table, model = self._table, self._parameters
        kept = np.flatnonzero((model.forward.table > _UNSEEN) | (model.backward.table > _UNSEEN))
        arrays: dict[str, Any] = {
            "owners": table.owners[kept],
            "partners": table.partners[kept],
            "forward": model.forward.table[kept],
            "backward": model.backward.table[kept],
            "forward_null": model.forward.null_row,
            "backward_null": model.backward.null_row,
            "forward_jumps": model.forward.jumps,
            "backward_jumps": model.backward.jumps,
        }
        header = {
            "learner": type(self).__name__,
            "parameters": self.get_params(deep=False),
            "words": [list(one.words) for one in self._vocabularies],
            "entropy": self.entropy_,
            "trace": packed_trace(self.trace_),
        }
        write_archive(path, header, arrays)

    @classmethod
    def from_archive(cls, header: dict[str, Any], arrays: Arrays) -> "WordAligner":
        """Returns the aligner that `save` wrote."""
        from ..model_file import unpacked_trace

        check_values(header["parameters"], parameter_hints(cls), cls.__name__)
        out = cls(**header["parameters"])
        out._check()
        one, two = (numbered(words, "the words of a side") for words in header["words"])
        found = read_arrays(arrays, _STORED, sources=len(one), targets=len(two), reach=out.reach)
        owners, partners = found["owners"], found["partners"]
        if not (np.diff(owners * np.int64(len(two)) + partners) > 0).all():
            raise DataError("the pairs of words are not in order, each once")
        rows = np.zeros(len(one) + 1, np.int64)
        np.cumsum(np.bincount(owners, minlength=len(one)), out=rows[1:])
        null = float(out.null)
        out._vocabularies = Vocabulary(tuple(one), one), Vocabulary(tuple(two), two)
        out._table = PairTable(rows, owners, partners)
        out._parameters = Parameters(*(
            Direction(found[side], found[f"{side}_null"], found[f"{side}_jumps"], null)
            for side in ("forward", "backward")
        ))  # fmt: skip
        out.trace_, out.entropy_ = unpacked_trace(header["trace"]), tuple(header["entropy"])
        check_values({"entropy": out.entropy_}, {"entropy": tuple[float, float]}, cls.__name__)
        return out


def _sides(X: SentencePairs) -> tuple[list[Sequence[str]], list[Sequence[str]]]:
    """Both sides of all pairs, checked to be lists of words."""
    sources, targets = list[Sequence[str]](), list[Sequence[str]]()
    for number, pair in enumerate(X):
        try:
            source, target = pair
        except (TypeError, ValueError):
            raise DataError(f"pair {number}: expected (source, target), got {pair!r}") from None
        if isinstance(source, str) or isinstance(target, str):
            raise DataError(f"pair {number}: expected lists of words, got a string; split it first")
        sources.append(source)
        targets.append(target)
    return sources, targets


def _matrices(bitext: Bitext, block: BlockPosteriors) -> list[PairPosteriors]:
    """Posteriors of every pair of a block as matrices."""
    pairs, out = bitext.pairs, []
    cell = word = other = 0
    for s in range(block.first, block.last):
        n = int(pairs.source_offsets[s + 1] - pairs.source_offsets[s])
        m = int(pairs.target_offsets[s + 1] - pairs.target_offsets[s])

        def matrix(flat: Singles, cell: int = cell, n: int = n, m: int = m) -> Floats:
            return flat[cell : cell + n * m].reshape(m, n).T.astype(np.float64)

        empty = not n or not m
        nulls = (
            np.ones(m) if empty else block.null_forward[other : other + m].astype(np.float64),
            np.ones(n) if empty else block.null_backward[word : word + n].astype(np.float64),
        )
        out.append(PairPosteriors(matrix(block.forward), matrix(block.backward), *nulls))
        cell, word, other = cell + n * m, word + n, other + m
    return out
