"""Training of both directions: E steps over blocks of sentence pairs in threads, M steps from counts.

    E  q = the posteriors of both directions, projected on the constraint: max E_q[log p] + γ H(q)
    M  t(f | e) ∝ expected links of e and f (or variational Bayes), jumps by their distances

Posteriors of a block of pairs are worked out shard by shard and then added to the counts in the order of the cells, so
that results do not depend on the number of threads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ..kernels.compiling import Floats, Ints, Longs, Singles
from ..kernels.parallel import map_each
from ..kernels.word_alignment import Direction, Pairs, add_counts, expect, normalise, stem_uses
from ..running import Scattered
from .bitext import Bitext, BitextPart, Stems, blocks, shards

# Probabilities are not below this, so that no alignment of the training text is impossible.
LOWEST = 1e-30
# Uses of every jump that are added to those that are counted.
_JUMPS = 1.0


@dataclass(frozen=True)
class EStep:
    """How posteriors are found. constraint: 0 none, 1 bijective, 2 symmetric; markov: jumps count, as they do not in
    IBM model 1; steps, tolerance: when a projection ends."""

    markov: bool
    constraint: int
    gamma: float
    steps: int
    tolerance: float


class Parameters(NamedTuple):
    """Both directions: the target given the source, and the source given the target."""

    forward: Direction
    backward: Direction


class BlockPosteriors(NamedTuple):
    """Posteriors of the pairs `first` to `last` - 1, in the order of cells, of target words and of source words."""

    first: int
    last: int
    objective: float
    forward: Singles
    backward: Singles
    null_forward: Singles
    null_backward: Singles
    uses: Floats
    chances: Floats


class Counts(NamedTuple):
    """What an M step needs of one direction."""

    table: Floats
    null_row: Floats
    uses: Floats
    chances: Floats


@dataclass(frozen=True)
class Beliefs:
    """What is believed of translation tables before anything is counted.

    prior: parameter of a Dirichlet prior, 0 for none; stems, uses: every word has been used this often as its stem is;
    likeness, cognates: words that are alike have been linked this often, times their likeness.
    """

    prior: float = 0.0
    stems: Stems | None = None
    uses: float = 0.0
    likeness: Singles | None = None
    cognates: float = 0.0


def uniform(bitext: Bitext, words: tuple[int, int], reach: int, null: float) -> Parameters:
    """Returns the parameters that training begins with: all words beside a word are equally probable."""
    table, jumps = bitext.table, np.ones(3 * reach + 2)
    sides = ((table.owners, words[0], words[1]), (table.partners, words[1], words[0]))
    return Parameters(*(
        Direction((1.0 / np.bincount(owners, minlength=own)[owners]).astype(np.float32),
                  np.full(other, 1.0 / max(other, 1), np.float32), jumps, null)
        for owners, own, other in sides
    ))  # fmt: skip


def posteriors(pairs: Pairs, model: Parameters, step: EStep, n_jobs: int | None) -> Iterator[BlockPosteriors]:
    """Yields the posteriors of one block of pairs after the other."""
    jumps = 2, len(model.forward.jumps)
    for first, last in blocks(pairs):
        cells, targets, sources = (
            int(offsets[last] - offsets[first])
            for offsets in (pairs.cell_offsets, pairs.target_offsets, pairs.source_offsets)
        )
        forward, backward = np.empty(cells, np.float32), np.empty(cells, np.float32)
        nulls = np.empty(targets, np.float32), np.empty(sources, np.float32)
        work = partial(_shard, pairs, model, step, first, forward, backward, nulls)
        objective, uses, chances = 0.0, np.zeros(jumps), np.zeros(jumps)
        for one in map_each(work, shards(pairs, first, last), n_jobs):
            objective, uses, chances = objective + one[0], uses + one[1], chances + one[2]
        yield BlockPosteriors(first, last, objective, forward, backward, *nulls, uses, chances)


def _shard(
    pairs: Pairs,
    model: Parameters,
    step: EStep,
    start: int,
    forward: Singles,
    backward: Singles,
    nulls: tuple[Singles, Singles],
    shard: tuple[int, int],
) -> tuple[float, Floats, Floats]:
    """Fills the posteriors of a shard of a block that begins with pair `start`; returns the objective and jumps."""
    uses, chances = np.zeros((2, len(model.forward.jumps))), np.zeros((2, len(model.forward.jumps)))
    objective = expect(
        pairs, *shard, model.forward, model.backward, step.markov, step.constraint, float(step.gamma),
        step.steps, step.tolerance, start, forward, backward, *nulls, uses, chances,
    )  # fmt: skip
    return objective, uses, chances


def count(
    parts: Scattered[BitextPart], size: int, model: Parameters, step: EStep
) -> tuple[float, tuple[Counts, Counts]]:
    """Returns the objective of an E step, and the counts of both directions; size: that of the whole table."""
    objective, counts = 0.0, None
    for value, numbers, found in parts.map(_count, model, step):
        objective += value
        if numbers is None:
            counts = found
            continue
        counts = counts or no_counts(model, size)
        for total, one in zip(counts, found, strict=True):
            total.table[numbers] += one.table
            for k in range(1, len(total)):
                total[k][:] += one[k]
    assert counts is not None  # there is a part
    return objective, counts


def no_counts(model: Parameters, size: int) -> tuple[Counts, Counts]:
    """Returns zero counts for both directions; size: the number of entries of the whole table."""
    forward, backward = (
        Counts(np.zeros(size), np.zeros(len(one.null_row)), np.zeros(len(one.jumps)), np.zeros(len(one.jumps)))
        for one in model
    )
    return forward, backward


def _count(
    part: BitextPart, common: None, model: Parameters, step: EStep
) -> tuple[float, Longs | None, tuple[Counts, Counts]]:
    """The objective of a part, the numbers of its pairs of words, and the counts of both directions."""
    pairs, n_jobs, counts = part.pairs, part.n_jobs, no_counts(model, part.size)
    if part.numbers is not None:
        model = Parameters(*(one._replace(table=one.table[part.numbers]) for one in model))
    objective = 0.0
    for block in posteriors(pairs, model, step, n_jobs):
        objective += block.objective
        cells, target, source = (
            flat[offsets[block.first] : offsets[block.last]]
            for flat, offsets in (
                (pairs.cells, pairs.cell_offsets),
                (pairs.target, pairs.target_offsets),
                (pairs.source, pairs.source_offsets),
            )
        )
        found = (
            (cells, block.forward, target, block.null_forward),
            (cells, block.backward, source, block.null_backward),
        )

        def add(k: int, found: tuple[tuple[Ints, Singles, Ints, Singles], ...] = found) -> None:
            add_counts(found[k][0], found[k][1], counts[k].table)
            add_counts(found[k][2], found[k][3], counts[k].null_row)

        map_each(add, (0, 1), n_jobs)
        for k in (0, 1):
            counts[k].uses[:] += block.uses[k]
            counts[k].chances[:] += block.chances[k]
    return objective, part.numbers, counts


def estimate(
    bitext: Bitext,
    model: Parameters,
    counts: tuple[Counts, Counts],
    words: tuple[int, int],
    beliefs: Beliefs,
    markov: bool,
) -> Parameters:
    """Returns the parameters that are estimated from counts, to which the uses of `beliefs` are added."""
    table, stems = bitext.table, beliefs.stems
    out = []
    for k, (old, counted) in enumerate(zip(model, counts, strict=True)):
        owners, partners = (table.owners, table.partners) if k == 0 else (table.partners, table.owners)
        if beliefs.likeness is not None:
            counted.table[:] += beliefs.cognates * beliefs.likeness
        extra = np.empty(0 if stems is None else len(counted.table))
        if stems is not None:
            kinds = (stems.source, stems.target) if k == 0 else (stems.target, stems.source)
            stem_uses(counted.table, stems.pairs, stems.size, owners, kinds[0], partners, kinds[1], beliefs.uses, extra)
        emissions, null_row = np.empty(len(table), np.float32), np.empty(len(counted.null_row), np.float32)
        spread = 0.0 if stems is None else beliefs.uses
        normalise(counted.table, owners, words[k], beliefs.prior, extra, spread, LOWEST, emissions)
        one = np.zeros(len(null_row), np.int32)
        normalise(counted.null_row, one, 1, 0.0, np.empty(0), 0.0, LOWEST, null_row)
        jumps = _jumps(old.jumps, counted) if markov else old.jumps
        out.append(old._replace(table=emissions, null_row=null_row, jumps=jumps))
    return Parameters(*out)


def _jumps(old: Floats, counts: Counts) -> Floats:
    """The next weights of the jumps (see `_count_jumps` of the kernels)."""
    return np.concatenate([
        (counts.uses[part] + _JUMPS) / (counts.chances[part] + _JUMPS * len(old[part]) / old[part].sum())
        for part in _kinds(old)
    ])  # fmt: skip


def log_prior(model: Parameters) -> float:
    """Returns the log-prior of the jumps: each was used once from a place that all are possible from."""
    kinds = [one.jumps[part] for one in model for part in _kinds(one.jumps)]
    return _JUMPS * float(sum(np.log(part / part.sum()).sum() for part in kinds))


def _kinds(jumps: Floats) -> tuple[slice, slice]:
    """The jumps between words, and those to the first word."""
    between = 2 * ((len(jumps) - 2) // 3) + 1
    return slice(between), slice(between, None)


def entropy(table: Singles, owners: Ints, words: int) -> float:
    """Returns the mean entropy of a translation table in bits, over the words that it is conditioned on."""
    p = table.astype(np.float64)
    totals = np.bincount(owners, p, words)
    p /= totals[owners]
    each = np.bincount(owners, -p * np.log2(np.maximum(p, LOWEST)), words)
    return float(each[totals > 0].mean()) if len(owners) else 0.0
