"""Attributes that stand at the same tokens as one: fewer weights, and the same optimum.

Whatever the sum of the weights of k such attributes, ‖w‖² is least where they are equal. So they can be one attribute
of value √k, whose squared weight is the sum of theirs: scores, penalty and objective are the same at fewer weights. In
references, a third of a token's attributes and half of all weights go.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..features.encoded import Encoded
from ..kernels.compiling import Floats, Longs
from .linear import LinearScorer


@dataclass(frozen=True)
class Merged:
    """A batch and the weights of its merged attributes.

    place: where each weight of the scorer that was merged has gone; factor: what to multiply by on the way back.
    """

    scorer: LinearScorer
    encoded: Encoded
    place: Longs
    factor: Floats

    @classmethod
    def of(cls, scorer: LinearScorer, encoded: Encoded) -> "Merged":
        """Merge what stands at the same tokens of the batch, on which the scorer was laid out."""
        if len(encoded.values):  # rarely the same
            return cls.alone(scorer, encoded)
        same = _same(encoded)
        kept, group, many = np.unique(same, return_inverse=True, return_counts=True)
        size = np.sqrt(many.astype(float))
        degree = np.diff(scorer.pointer)
        pointer = np.concatenate(([0], np.cumsum(degree[kept]))).astype(np.int64)
        label = scorer.label[np.repeat(same == np.arange(len(same)), degree)]
        owner = np.repeat(np.arange(len(degree)), degree)
        within = np.arange(len(owner)) - scorer.pointer[owner]
        tables = np.arange(scorer.size - len(owner))
        return cls(
            replace(scorer, pointer=pointer, label=label),
            _only(encoded, same, group, size),
            np.concatenate((pointer[group[owner]] + within, len(label) + tables)),
            np.concatenate((1.0 / size[group[owner]], np.ones(len(tables)))),
        )

    @classmethod
    def alone(cls, scorer: LinearScorer, encoded: Encoded) -> "Merged":
        """Merge nothing."""
        return cls(scorer, encoded, np.arange(scorer.size), np.ones(scorer.size))

    def expand(self, w: Floats) -> Floats:
        """The weights of all attributes."""
        return w[self.place] * self.factor


def _same(encoded: Encoded) -> Longs:
    """For every attribute the first one that stands at the same tokens."""
    every = np.arange(encoded.attributes)
    entries = encoded.indices[encoded.indptr[0] : encoded.indptr[-1]]
    order = np.argsort(entries, kind="stable")
    tokens = np.repeat(np.arange(encoded.tokens), np.diff(encoded.indptr))[order]
    degree = np.bincount(entries, minlength=encoded.attributes)
    begin = np.concatenate(([0], np.cumsum(degree)))
    names = np.random.default_rng(0).integers(2**64, size=encoded.tokens, dtype=np.uint64)
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(names[tokens])))  # modulo 2^64
    _, first, number = np.unique(sums[begin[1:]] - sums[begin[:-1]], return_index=True, return_inverse=True)
    same = first[number]
    # A sum that is the same by chance is no reason to merge.
    other = np.repeat(begin[same] - begin[:-1], degree) + np.arange(len(tokens))
    apart = np.bincount(entries[order], tokens[other % len(tokens)] != tokens, len(every)) > 0
    return np.where(apart | (degree[same] != degree), every, same)


def _only(encoded: Encoded, same: Longs, group: Longs, size: Floats) -> Encoded:
    """The batch with one attribute for each group."""
    entries = encoded.indices[encoded.indptr[0] : encoded.indptr[-1]]
    keep = same[entries] == entries
    indptr = np.concatenate(([0], np.cumsum(keep)))[encoded.indptr - encoded.indptr[0]]
    indices = group[entries[keep]]
    return Encoded(encoded.offsets, indptr.astype(np.int64), indices.astype(np.int32), size[indices], len(size))
