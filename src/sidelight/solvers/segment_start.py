"""Where the search for the weights of segments begins if labels are known in part.

Segments are the runs of equal labels, so a segmentation is a labelling, and the likelihood of partial labels is the sum
over all labellings that agree with them. It is not convex, and from zero weights the search often ends where unknown
tokens are segments of their own. All labellings are equally probable at zero weights, so that between two known
neighbours of the same label an unknown token often has another one, and the weights of lengths learn that segments have
one token. So the search begins near a labelling in which unknown tokens continue the segments beside them:

1. unknown labels are filled in such that there are as few segments as possible;
2. a label chain, with the weights of tokens and of label pairs alone, is fitted to these labels, and from there to what
   is known, so that it finds segments of which no token is known;
3. its most probable labels are filled in, and segments are fitted to these.
"""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..kernels.compiling import Floats, Ints
from ..scorers.segments import SegmentScorer
from ..structures.chain import Chain
from ..structures.known import KnownLabels
from ..structures.segmentation import Segmentation, SegmentParts, labels_of
from . import lbfgs
from .losses import LogLoss, blocks

# Relative gap, or decrease, at which the preliminary fits stop.
_ROUGH = 1e-2


@dataclass(frozen=True)
class SegmentStart:
    """The first weights for the loss of partial labels; l1, l2, max_iterations: of the fits on the way."""

    loss: LogLoss[SegmentScorer]
    l1: float
    l2: float
    max_iterations: int

    def weights(self) -> Floats:
        """Returns the weights to begin with."""
        loss, known, n_jobs = self.loss, cast(KnownLabels, self.loss.known), self.loss.structure.n_jobs
        structure, tokens = Segmentation(n_jobs), chain_scorer(loss.scorer)
        chain = LogLoss(tokens.token, Chain(n_jobs), loss.encoded, known, loss.counts)
        filled = structure.argmax(known.restrict(fewest_segments(known, loss.scorer))).outputs.values
        labels = KnownLabels.complete(labels_of(filled), known.offsets)
        weights = self._fitted(replace(chain, known=labels), np.zeros(chain.scorer.size))
        ready, found = tokens.prepare(self._fitted(chain, weights)), list[Ints]()
        for a, b in blocks(loss.encoded.offsets):
            scores = known.inputs(a, b).restrict(ready.scores(loss.encoded.sequences(a, b), n_jobs))
            found.append(structure.argmax(scores).outputs.values)
        segments = np.concatenate(found)
        labels = replace(labels, labels=labels_of(segments), written=segments)
        return self._fitted(replace(loss, known=labels), np.zeros(loss.scorer.size))

    def _fitted(self, loss: LogLoss[Any], start: Floats) -> Floats:
        return lbfgs.minimize(
            loss, start, l1=self.l1, l2=self.l2, tolerance=_ROUGH, max_iterations=self.max_iterations,
            convex=loss.known.full,
        ).weights  # fmt: skip


def chain_scorer(scorer: SegmentScorer) -> SegmentScorer:
    """Returns a scorer of the same segments by their tokens and by pairs of labels alone, as a label chain has them."""
    L = scorer.labels
    token = replace(scorer.token, pairs=np.union1d(scorer.token.pairs, np.arange(L) * (L + 1)))
    first, last = (
        replace(place, pointer=np.zeros_like(place.pointer), label=place.label[:0])
        for place in (scorer.first, scorer.last)
    )
    return SegmentScorer(token, first, last, np.full(scorer.longest, -1, np.int64))


def fewest_segments(known: KnownLabels, scorer: SegmentScorer) -> SegmentParts:
    """Returns scores by which outputs with fewer segments are better, and with frequent labels among equally many."""
    tokens, L = len(known.labels), scorer.labels
    counts = np.bincount(known.labels[known.labels >= 0], minlength=L)
    rarity = np.log((counts.sum() + L) / (counts + 1))
    less = rarity / (2 * rarity.max() * np.diff(known.offsets).max())  # less than a segment in any sequence
    differ = np.where(np.eye(L, dtype=bool), -np.inf, 0.0)
    length, opens = np.zeros((L, scorer.longest)), np.full((tokens, L), -1.0)
    return SegmentParts.of(known.offsets, np.tile(-less, (tokens, 1)), differ, length, opens=opens)
