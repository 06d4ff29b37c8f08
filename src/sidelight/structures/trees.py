"""Dependency trees: every word has a head, another word or the root, and no word is its own ancestor.

    s(x, y) = Σ words c  θ[c, head of c, label of the arc]

An input of n words and L arc labels has the shape (n, L). Its parts are the labelled arcs, one for each word c in
0..n-1, head h (0 is the root, 1..n are the words; no word heads itself) and label l, with the number
((c * n) + h') * L + l, where h' = h if h <= c and h - 1 if not. An output is one number for each word,
head * L + label.

Projective trees, drawn above the sentence with the root on its left, have no crossing arcs; their recursion is that of
Eisner (1996). Trees that may cross are found by the algorithm of Chu & Liu (1965) and Edmonds (1967) and summed by the
matrix-tree theorem (Koo et al. 2007); see `kernels.projective_trees` and `kernels.spanning_trees`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Flags, Floats, Ints, Longs
from ..kernels.parallel import map_each
from ..supervision import Signal
from .chain import AHEAD, EXACT, require_exact, require_feasible
from .flat import FlatParts, FlatStructure, KnownOutputs, Shape, alone, require_count
from .known import Outputs, places_of
from .protocol import Best, Loss, Marginals, Ranked

# Arcs that are worth one unit of the shards that threads share, see `kernels.parallel`.
_ARCS = 8


@dataclass(frozen=True)
class _Sums:
    """log_partition, entropy: (inputs,); parts: expected parts; alone: the inputs whose best tree has all the mass,
    since their scores are too far apart for sums.
    """

    log_partition: Floats
    entropy: Floats
    parts: FlatParts
    alone: Longs


@dataclass(frozen=True)
class Trees(FlatStructure):
    """Dependency trees with labelled or unlabelled arcs.

    The shape of an input is (words, labels). Its parts are numbered by word, head and label, an output is head * labels
    + label for each word, and the head 0 is the root. The loss is the number of words with a wrong arc.

    Parameters
    ----------
    n_jobs : int, default=-1
        Threads that share the inputs of a batch; -1 is every core.
    projective : bool, default=False
        Whether arcs must not cross, with the root to the left of all words.
    single_root : bool, default=True
        Whether exactly one word hangs on the root; else one or more do.
    """

    projective: bool = field(default=False, kw_only=True)
    single_root: bool = field(default=True, kw_only=True)

    def slots(self, shape: Shape) -> int:
        """An output is a number for each word."""
        return int(shape[0])

    def parts_of(self, shape: Shape, output: Ints) -> Longs:
        """Returns the number of every word's arc."""
        n, L = shape
        words, (heads, labels) = np.arange(n), np.divmod(np.asarray(output, np.int64), L)
        parts: Longs = (words * n + heads - (heads > words)) * L + labels
        return parts

    def rivals(self, shape: Shape, part: int) -> Longs:
        """Returns the other arcs of the same word."""
        width = shape[0] * shape[1]
        first = part // width * width
        return np.delete(np.arange(first, first + width), part - first)

    def all_outputs(self, shape: Shape) -> Iterator[Ints]:
        """Returns every output of a tiny input."""
        n, L = shape
        choices = [[h for h in range(n + 1) if h != c + 1] for c in range(n)]
        for heads in product(*choices):
            if self._is_tree(heads):
                for labels in product(range(L), repeat=n):
                    yield np.array([h * L + k for h, k in zip(heads, labels, strict=True)], np.int32)

    def _is_tree(self, heads: tuple[int, ...]) -> bool:
        """Whether these heads are those of a tree of the kind that is asked for."""
        if self.single_root and heads.count(0) != 1:
            return False
        for word in range(1, len(heads) + 1):
            above, steps = word, 0
            while above and steps <= len(heads):
                above, steps = heads[above - 1], steps + 1
            if above:
                return False
        return not (self.projective and _crosses(heads))

    def best(self, scores: Floats, shape: Shape, k: int) -> list[Ints]:
        """Returns the k best trees of finite score, best first, or as many as there are."""
        one = alone(scores, shape)
        outputs, found = self._best(one, 1) if k == 1 else self._ranked(one, k, 1)
        if not found.max() < np.inf:
            require_feasible(found.ravel())
        return list(outputs.values.reshape(k, -1)[found.ravel() > -np.inf])

    def expected(self, scores: Floats, shape: Shape) -> tuple[float, Floats]:
        """Returns the log-partition and the probabilities of all arcs."""
        marginals = replace(self, n_jobs=1).marginals(alone(scores, shape))
        return float(marginals.log_partition[0]), marginals.parts.values

    # For batches -----------------------------------------------------------------------------------------------------

    def output_offsets(self, scores: FlatParts) -> Longs:
        """Where the words of each input begin."""
        return _word_offsets(_sizes(scores)[0])

    def argmax(self, scores: FlatParts, *, seed: int | None = None) -> Best:
        """The best tree of each input; with a seed, ties among the first few are broken at random.

        Without a seed ties are broken in a fixed way. Raises `Infeasible` for an input without a tree of finite score.
        """
        if seed is not None:
            return super().argmax(scores, seed=seed)
        outputs, found = self._best(scores, self.n_jobs)
        require_feasible(found)
        return Best(outputs, found)

    def _best(self, scores: FlatParts, n_jobs: int) -> tuple[Outputs, Floats]:
        """The best trees and their scores, -inf where there is none."""
        from ..kernels import parallel, trees

        sizes, labels = _sizes(scores)
        words = _word_offsets(sizes)
        outputs, found = np.full(words[-1], -1, np.int32), np.empty(len(scores))
        kernel = trees.best_projective_trees if self.projective else trees.best_spanning_trees

        def run(lo: int, hi: int) -> None:
            kernel(lo, hi, sizes, labels, scores.offsets, words, scores.values, self.single_root, outputs, found)

        parallel.map_shards(run, _work(sizes), n_jobs)
        return Outputs(outputs, words), found

    def kbest(self, scores: FlatParts, k: int) -> Ranked:
        """The k best trees of each input, by partition."""
        require_count(k)
        outputs, found = self._ranked(scores, int(k), self.n_jobs)
        require_feasible(found[:, 0])
        return Ranked(outputs, found)

    def _ranked(self, scores: FlatParts, k: int, n_jobs: int) -> tuple[Outputs, Floats]:
        """The k best trees and their scores, -1 and -inf where there are fewer."""
        from ..kernels import parallel, ranked_trees

        sizes, labels = _sizes(scores)
        words = _word_offsets(sizes)
        outputs, found = np.full((k, words[-1]), -1, np.int32), np.full((len(scores), k), -np.inf)

        def run(lo: int, hi: int) -> None:
            values = (sizes, labels, scores.offsets, words, scores.values, self.projective, self.single_root)
            ranked_trees.k_best_trees(lo, hi, *values, outputs, found)

        parallel.map_shards(run, _work(sizes), n_jobs)
        return Outputs(outputs, words), found

    def marginals(self, scores: FlatParts) -> Marginals[FlatParts]:
        """Log-partition and the probability of every arc.

        Sums have positive terms only, so no digits are lost whatever the scores; where products underflow, logarithms
        take their place. Raises `Infeasible` for an input without a tree of finite score, and `DataError` where all
        trees score so much less than the best arcs of all words (1e9 and more) that rounding would spoil
        probabilities, unless one tree is ahead of all others by more than that.
        """
        found = self._summed(scores)
        return Marginals(found.log_partition, found.parts)

    def entropy(self, scores: FlatParts) -> Floats:
        """H = log Z - θ·μ of each input, from scores less the largest one of each word."""
        return self._summed(scores).entropy

    def _summed(self, scores: FlatParts) -> "_Sums":
        """What sums over all trees of each input give; raises what `marginals` raises."""
        mass, sums = self._marginals(scores)
        low, most, expected = sums.T
        found = _Sums(
            np.where(low == -np.inf, low, low + most), np.maximum(low - expected, 0.0), replace(scores, values=mass),
            np.flatnonzero(~(_rounding(low) <= EXACT) & (low != -np.inf)),
        )  # fmt: skip
        if len(found.alone):
            self._put_best(scores, found)
        require_feasible(found.log_partition)
        return found

    def _marginals(self, scores: FlatParts) -> tuple[Floats, Floats]:
        """Probabilities of all parts, and sums as `kernels.trees.projective_marginals` gives them."""
        from ..kernels import parallel, trees

        sizes, labels = _sizes(scores)
        mass, sums = np.empty_like(scores.values), np.empty((len(scores), 3))
        kernel = trees.projective_marginals if self.projective else trees.spanning_marginals

        def run(lo: int, hi: int) -> None:
            kernel(lo, hi, sizes, labels, scores.offsets, scores.values, self.single_root, mass, sums)

        parallel.map_shards(run, _work(sizes), self.n_jobs)
        return mass, sums

    def _put_best(self, scores: FlatParts, found: "_Sums") -> None:
        """Gives the best trees of some inputs all the mass; `DataError` where others are not far enough behind."""
        some = scores.take(found.alone)
        outputs, found.log_partition[found.alone] = self._best(some, self.n_jobs)
        require_feasible(found.log_partition)
        best, second = self.kbest(_settled(some), 2).scores.T
        require_exact(np.where(best - second > AHEAD + 64 * _rounding(best), 0.0, np.inf))
        found.entropy[found.alone] = 0.0
        found.parts.values[places_of(scores.offsets, found.alone)[0]] = self.indicator(some, outputs.values).values

    def sample(self, scores: FlatParts, draws: int, *, seed: int) -> Ints:
        """Returns independent exact draws, (draws, words); raises what `marginals` raises."""
        from ..kernels import parallel, trees

        if seed < 0:
            raise DataError(f"a seed is a whole number of at least 0, got {seed}")
        alone = self._summed(scores).alone
        sizes, labels = _sizes(scores)
        words = _word_offsets(sizes)
        outputs = np.empty((draws, words[-1]), np.int32)
        kernel = trees.sample_projective_trees if self.projective else trees.sample_spanning_trees

        def run(lo: int, hi: int) -> None:
            values = (sizes, labels, scores.offsets, words, scores.values, self.single_root)
            kernel(lo, hi, *values, draws, seed, outputs)

        parallel.map_shards(run, _work(sizes), self.n_jobs)
        if len(alone):
            outputs[:, places_of(words, alone)[0]] = self.argmax(scores.take(alone)).outputs.values
        return outputs

    def indicator(self, scores: FlatParts, values: Ints) -> FlatParts:
        """The given outputs as 0/1 parts."""
        on = np.zeros_like(scores.values)
        on[self._places(scores, values)] = 1.0
        return replace(scores, values=on)

    def score(self, scores: FlatParts, values: Ints) -> Floats:
        """θ·y of the given outputs."""
        owner = np.repeat(np.arange(len(scores)), _sizes(scores)[0])
        arcs = scores.values[self._places(scores, values)]
        return np.bincount(owner, weights=arcs, minlength=len(scores)).astype(float)

    def _places(self, scores: FlatParts, values: Ints) -> Longs:
        """The places among all parts of the batch of the arcs of outputs; values: (words,)."""
        sizes, labels = _sizes(scores)
        n, L = np.repeat(sizes, sizes), np.repeat(labels, sizes)
        words = np.arange(len(n)) - np.repeat(_word_offsets(sizes)[:-1], sizes)
        heads, label = np.divmod(np.asarray(values, np.int64), L)
        return np.repeat(scores.offsets[:-1], sizes) + (words * n + heads - (heads > words)) * L + label

    def loss(self, scores: FlatParts, known: KnownOutputs) -> Loss[FlatParts]:
        """Returns the number of words whose arc contradicts what is known; where nothing is known nothing does."""
        cost = np.ones_like(scores.values)
        for i, kind in enumerate(known.kinds):
            at = slice(scores.offsets[i], scores.offsets[i + 1])
            if kind is Signal.FULL:
                cost[at][self.parts_of(scores.of(i)[1], known.outputs.inputs(i, i + 1).values)] = 0.0
            else:
                cost[at] = ~_allowed(known, i) if kind is Signal.PARTIAL else 0.0
        return Loss(replace(scores, values=cost), np.zeros(len(scores)))


@dataclass(frozen=True)
class ValenceTrees(Trees):
    """Projective trees with one root whose arcs know whether they lead to the nearest child of a head on its side.

    The shape of an input is (words, 2). Parts are numbered as those of `Trees` with two labels: 0 for an arc to the
    nearest child on its side of the head, and 1 for one to a child that is further away. Heads alone say which is
    which, so there are as many outputs as trees. An arc from the root has the label 0.

    A model that counts the children of a head on each side as none, one or more (Klein & Manning 2004) is a sum over
    these parts.

    Parameters
    ----------
    n_jobs : int, default=-1
        Threads that share the inputs of a batch; -1 is every core.
    projective : bool, default=True
        Arcs must not cross; there is no other way.
    single_root : bool, default=True
        One word hangs on the root; there is no other way.
    """

    projective: bool = field(default=True, kw_only=True)

    def all_outputs(self, shape: Shape) -> Iterator[Ints]:
        """Returns every output of a tiny input."""
        for heads in super().all_outputs((shape[0], 1)):
            yield with_valence(heads)

    def best(self, scores: Floats, shape: Shape, k: int) -> list[Ints]:
        """Returns the k best trees of finite score, best first, or as many as there are."""
        return super().best(scores, shape, 1) if k == 1 else self.by_partition(scores, shape, k)

    def _best(self, scores: FlatParts, n_jobs: int) -> tuple[Outputs, Floats]:
        mass, sums = self._compiled(scores, n_jobs, best=True)
        sizes, words = _sizes(scores)[0], self.output_offsets(scores)
        found = np.where(np.isnan(sums[:, 0]) | (sums[:, 0] == -np.inf), sums[:, 0], 0.0)
        part = np.flatnonzero(mass)
        owner = np.searchsorted(scores.offsets, part, side="right") - 1
        arc, valence = np.divmod(part - scores.offsets[owner], 2)
        word, slot = np.divmod(arc, sizes[owner])
        outputs = np.full(words[-1], -1, np.int32)
        outputs[words[owner] + word] = (slot + (slot > word)) * 2 + valence
        found += np.bincount(owner, weights=scores.values[part], minlength=len(scores))
        return Outputs(outputs, words), found

    def _ranked(self, scores: FlatParts, k: int, n_jobs: int) -> tuple[Outputs, Floats]:
        words = self.output_offsets(scores)
        outputs, found = np.full((k, words[-1]), -1, np.int32), np.full((len(scores), k), -np.inf)

        def run(i: int) -> None:
            theta, shape = scores.of(i)
            for rank, output in enumerate(self.best(theta, shape, k)):
                outputs[rank, words[i] : words[i + 1]] = output
                found[i, rank] = theta[self.parts_of(shape, output)].sum()

        map_each(run, range(len(scores)), n_jobs)
        return Outputs(outputs, words), found

    def _marginals(self, scores: FlatParts) -> tuple[Floats, Floats]:
        return self._compiled(scores, self.n_jobs, best=False)

    def _compiled(self, scores: FlatParts, n_jobs: int, *, best: bool) -> tuple[Floats, Floats]:
        from ..kernels import parallel, valence_trees

        sizes, labels = _sizes(scores)
        if (labels != 2).any():
            raise DataError(f"input {int((labels != 2).argmax())} has no parts of trees with valence: (words, 2)")
        mass, sums = np.empty_like(scores.values), np.empty((len(scores), 3))

        def run(lo: int, hi: int) -> None:
            valence_trees.valence_trees(lo, hi, sizes, scores.offsets, scores.values, best, mass, sums)

        parallel.map_shards(run, _work(sizes), n_jobs)
        return mass, sums

    def sample(self, scores: FlatParts, draws: int, *, seed: int) -> Ints:
        """Not offered."""
        return FlatStructure.sample(self, scores, draws, seed=seed)


def with_valence(heads: Ints) -> Ints:
    """Returns heads as outputs of `ValenceTrees`: head * 2, and one more for a child that is not the nearest one."""
    out = 2 * np.asarray(heads, np.int32)
    for c, head in enumerate(heads, start=1):
        between = heads[c : head - 1] if head > c else heads[head : c - 1]
        out[c - 1] += bool(head and (np.asarray(between) == head).any())
    return out


def _crosses(heads: tuple[int, ...]) -> bool:
    """Whether two arcs cross when they are drawn above the root and the words."""
    arcs = [(min(h, c), max(h, c)) for c, h in enumerate(heads, start=1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def _sizes(scores: FlatParts) -> tuple[Longs, Longs]:
    """Numbers of words and of labels of each input; raises `DataError` where parts are not those of its shape."""
    if not len(scores):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    shapes = np.asarray(scores.shapes, np.int64).reshape(len(scores), -1)
    if shapes.shape[1] != 2 or shapes.min() < 1:
        _refuse_shapes(shapes)
    sizes, labels = np.ascontiguousarray(shapes[:, 0]), np.ascontiguousarray(shapes[:, 1])
    parts = scores.offsets[1:] - scores.offsets[:-1]
    wrong = parts != sizes * sizes * labels
    if wrong.any():
        i = int(wrong.argmax())
        raise DataError(
            f"input {i} has {parts[i]} parts; {sizes[i]} words and {labels[i]} labels have {sizes[i] ** 2 * labels[i]}"
        )
    return sizes, labels


def _refuse_shapes(shapes: Longs) -> None:
    bad = int((shapes < 1).any(axis=1).argmax()) if shapes.shape[1] == 2 else 0
    raise DataError(f"input {bad} has the shape {shapes[bad].tolist()}; it must be (words, labels), each >= 1")


def _word_offsets(sizes: Longs) -> Longs:
    """Where the words of inputs of these sizes begin."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _work(sizes: Longs) -> Longs:
    """How much work lies before each input, about."""
    return np.concatenate(([0], np.cumsum(sizes * sizes // _ARCS + 1))).astype(np.int64)


def _rounding(sums: Floats) -> Floats:
    """What sums of this size may miss."""
    rounding: Floats = 4 * np.finfo(float).eps * np.abs(sums)
    return rounding


def _settled(scores: FlatParts) -> FlatParts:
    """Halves of scores less the largest one of each word, which are no larger than scores themselves."""
    sizes, labels = _sizes(scores)
    width = np.repeat(sizes * labels, sizes)
    firsts = np.cumsum(width) - width
    top = np.maximum.reduceat(scores.values, firsts)
    top = np.where(top > -np.inf, top, 0.0)
    return replace(scores, values=0.5 * scores.values - np.repeat(0.5 * top, width))


def _allowed(known: KnownOutputs, index: int) -> Flags:
    """Which parts an output that is known in part may have."""
    allowed = known.allowed[index]
    if allowed is None:
        raise DataError(f"output {index} is known in part, but not which parts it may have")
    return allowed
