"""Links read off posteriors or best alignments of both directions."""

from typing import Literal

import numpy as np

from ..kernels.compiling import Flags, Singles
from ..kernels.word_alignment import grow_links
from .bitext import Bitext
from .estimation import BlockPosteriors

Combination = Literal["posterior", "intersection", "union", "grow-diag-final-and", "forward", "backward"]
LinkList = list[tuple[int, int]]


def chosen_cells(bitext: Bitext, block: BlockPosteriors, combine: Combination, threshold: float) -> Flags:
    """Returns which cells of a block are links.

    posterior: those whose geometric mean of both posteriors reaches the threshold; all others combine those where the
    posterior of one direction does.
    """
    if combine == "posterior":
        return _reached(np.sqrt(block.forward * block.backward), threshold)
    forward, backward = (_reached(one, threshold) for one in (block.forward, block.backward))
    if combine in ("forward", "backward"):
        return forward if combine == "forward" else backward
    if combine == "intersection":
        return forward & backward
    if combine == "union":
        return forward | backward
    pairs, span = bitext.pairs, slice(block.first, block.last + 1)
    grown = np.empty(len(forward), np.bool_)
    grow_links(pairs.source_offsets[span], pairs.target_offsets[span], forward, backward, grown)
    return grown


def as_links(bitext: Bitext, block: BlockPosteriors, chosen: Flags) -> list[LinkList]:
    """Returns the links (source, target) of every pair of a block, sorted."""
    pairs = bitext.pairs
    offsets = pairs.cell_offsets[block.first : block.last + 1] - pairs.cell_offsets[block.first]
    lengths = np.diff(pairs.source_offsets[block.first : block.last + 1])
    cells = np.flatnonzero(chosen)
    owners = np.searchsorted(offsets, cells, side="right") - 1
    within = cells - offsets[owners]
    i, j = within % lengths[owners], within // lengths[owners]
    order = np.lexsort((j, i, owners))
    ends = np.searchsorted(owners[order], np.arange(block.last - block.first + 1))
    flat = list(zip(i[order].tolist(), j[order].tolist(), strict=True))
    return [flat[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def _reached(posteriors: Singles, threshold: float) -> Flags:
    return np.asarray(posteriors >= np.float32(threshold))
