"""Alignments of two graphs: words are linked or deleted, and so are the edges between them.

    s(x, y) = Σ links + Σ deleted words + Σ pairs of edges + Σ deleted edges           (Eq. 5.6 to 5.9, Chang 2011)

An edge is paired with another one if and only if both of its ends are linked to those of the other, so the links of
words say everything. Without pairs of edges it is a matching, and solved as one. With them it is a matching whose links
gain in pairs, which `kernels/graph_alignment.py` searches; what takes too long there is left to HiGHS.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Flags, Floats, Longs
from ..kernels.parallel import map_each
from .flat import FlatParts, Shape
from .polytope import LinearRows
from .program_rows import Points, ProgramRows
from .programs import Programs
from .protocol import Best

# Nodes of the search after which the rest is left to HiGHS.
_NODES = 2000
# Inputs that a thread takes at a time.
_BLOCK = 64
# By how much scores are disturbed at most so that ties are broken at random, as a share of the largest.
_DISTURBED = 1e-8


@dataclass(frozen=True, eq=False)
class Graphs:
    """Two graphs and what may be aligned.

    Parameters
    ----------
    n, m : int
        How many words either has.
    links : array
        Which words may be linked: (links, 2), numbers of a source and a target word.
    edges, other_edges : array
        Head and child of every edge of the source and of the target: (edges, 2).
    null_words : bool, default=True
        Whether there are variables for deleted words.
    null_relations : bool, default=True
        Whether there are variables for deleted edges.
    """

    n: int
    m: int
    links: Longs
    edges: Longs
    other_edges: Longs
    null_words: bool = True
    null_relations: bool = True

    def __post_init__(self) -> None:
        if self.n < 1 or self.m < 1:
            raise DataError("a sentence has no words; leave such pairs out")
        for side, size, edges in (("source", self.n, self.edges), ("target", self.m, self.other_edges)):
            _require_edges(side, size, edges)

    @cached_property
    def ends(self) -> tuple[Longs, Longs]:
        """The source word and the target word of each link: (links,) each."""
        return np.ascontiguousarray(self.links[:, 0]), np.ascontiguousarray(self.links[:, 1])

    @cached_property
    def pairs(self) -> tuple[Longs, Longs, Longs, Longs]:
        """Edges that may be paired: one of either graph, the link of their heads, and that of their children."""
        number = np.full((self.n, self.m), -1, np.int64)
        number[self.ends] = np.arange(len(self.links))
        (head, child), (other_head, other_child) = self.edges.T, self.other_edges.T
        heads, children = number[np.ix_(head, other_head)], number[np.ix_(child, other_child)]
        one, other = np.nonzero((heads >= 0) & (children >= 0))
        return one, other, heads[one, other], children[one, other]

    @cached_property
    def places(self) -> Longs:
        """Where the variables begin of: source words, target words, pairs of edges, edges, other edges; and the end."""
        words, edges = int(self.null_words), int(self.null_relations)
        sizes = (
            len(self.links), self.n * words, self.m * words, len(self.pairs[0]), len(self.edges) * edges,
            len(self.other_edges) * edges,
        )  # fmt: skip
        return np.cumsum(sizes)

    @cached_property
    def shares(self) -> Floats:
        """How the search has shared the gain of each pair between its links, where the next one begins."""
        return np.full(len(self.pairs[0]), 0.5)

    def output(self, chosen: Flags) -> Flags:
        """Returns the values of all variables, from those of the links."""
        source, target, pairs, edges, others, end = self.places.tolist()
        out = np.ones(end, bool)
        out[:source] = chosen
        one, other, heads, children = self.pairs
        paired = chosen[heads] & chosen[children]
        out[pairs:edges] = paired
        if self.null_words:
            out[source + self.ends[0][chosen]] = out[target + self.ends[1][chosen]] = False
        if self.null_relations:
            out[edges + one[paired]] = out[others + other[paired]] = False
        return out

    def names(self) -> tuple[Any, ...]:
        """Returns what messages call the variables."""
        words = [("word", i, j) for i, j in self.links.tolist()]
        if self.null_words:
            words += [("word", i, None) for i in range(self.n)] + [("word", None, j) for j in range(self.m)]
        one, other = (list(map(tuple, edges.tolist())) for edges in (self.edges, self.other_edges))
        paired: list[Any] = [
            ("edge", one[p], other[q]) for p, q in zip(*(column.tolist() for column in self.pairs[:2]), strict=True)
        ]
        if self.null_relations:
            paired += [("edge", edge, None) for edge in one] + [("edge", None, edge) for edge in other]
        return (*words, *paired)


class GraphRows(ProgramRows):
    """The rows of Eq. 5.6 to 5.8 over the variables of two graphs.

    Without null words every word of the shorter sentence is linked, and words of the longer one at most once. Without
    null relations an edge that is not paired has no variable. (Table 5.4 asks that all words and edges of both sides
    are mapped, which graphs of different sizes cannot be.)

    Parameters
    ----------
    graphs : Graphs
        The graphs.
    """

    def __init__(self, graphs: Graphs) -> None:
        vars(self).update(graphs=graphs, variables=int(graphs.places[-1]))

    graphs: Graphs

    @cached_property
    def rows(self) -> LinearRows:
        """The rows; most inputs are never asked for them."""
        return _rows(self.graphs)[0]

    @cached_property
    def titles(self) -> tuple[str | None, ...]:
        """What messages call each row."""
        return _rows(self.graphs)[1]

    @cached_property
    def names(self) -> tuple[Any, ...]:
        """What messages call each variable."""
        return self.graphs.names()


@dataclass(frozen=True)
class GraphAlignments(Programs):
    """Alignments of two graphs with deletions.

    The shape of an input is `GraphRows(Graphs(...)).shape`. Outputs are exact, to about 1e-10 of their score, unless a
    time limit ends the search. With a seed, ties are broken at random.

    Parameters
    ----------
    n_jobs : int, default=-1
        Threads that share the inputs of a batch; -1 is every core.
    time_limit : float or None, default=60.0
        Seconds for each input. Out of time, the best output found is returned, with a bound on what others score. None
        searches until the best output is proved to be it.
    """

    def solve(self, scores: Floats, shape: Shape, k: int = 1) -> Points:
        """Returns the k best outputs of one input, with a bound and whether they are proved to be the best."""
        rows: ProgramRows = shape[1]
        graphs = rows.graphs if isinstance(rows, GraphRows) else None
        if k > 1 or graphs is None or not np.isfinite(scores[graphs.places[2] :]).all():
            return super().solve(scores, shape, k)
        from ..kernels.graph_alignment import best_alignment

        source, _, pairs, edges, others, _ = graphs.places.tolist()
        gain, constant = scores[pairs:edges], 0.0
        if graphs.null_relations:
            constant = float(scores[edges:].sum())
            gain = gain - scores[edges + graphs.pairs[0]] - scores[others + graphs.pairs[1]]
        chosen = np.zeros(source, bool)
        best, bound, _ = best_alignment(
            *graphs.ends, scores[:source], *_deletions(graphs, scores), *graphs.pairs[2:], gain, graphs.shares, _NODES,
            chosen,
        )  # fmt: skip
        if best == -np.inf:
            return Points.none(rows.variables)
        output = graphs.output(chosen)
        own, score = output[None], np.array([best + constant])
        if bound <= best:
            return Points.proved(own, score)
        self._starts.put(rows, output)
        found = super().solve(scores, shape)
        limit = min(found.bound, bound + constant)
        if found.exact or (len(found.values) and found.scores[0] >= score[0]):
            return replace(found, bound=limit)
        return Points(own, score, False, limit)  # HiGHS had no time to find anything as good

    def _each(self, run: Callable[[int], None], count: int) -> None:
        """Searches are short, so that threads take many at a time."""
        blocks = [range(first, min(first + _BLOCK, count)) for first in range(0, count, _BLOCK)]

        def run_block(block: range) -> None:
            for i in block:
                run(i)

        map_each(run_block, blocks, self.n_jobs)

    def argmax(self, scores: FlatParts, *, seed: int | None = None) -> Best:
        """The best output of each input; with a seed, ties are broken at random, by disturbing the scores a little."""
        if seed is None:
            return super().argmax(scores)
        finite = np.where(np.isfinite(scores.values), np.abs(scores.values), 0.0)
        noise = _DISTURBED * max(float(finite.max(initial=0.0)), np.finfo(float).tiny)
        disturbed = scores.values + noise * np.random.default_rng(seed).random(len(finite))
        best = super().argmax(replace(scores, values=disturbed))
        return replace(best, scores=self.score(scores, best.outputs.values))


def _deletions(graphs: Graphs, scores: Floats) -> tuple[Floats, Floats]:
    """Scores of deleted words; without null words those of the shorter sentence must be linked."""
    source, target, pairs = graphs.places[:3].tolist()
    if graphs.null_words:
        return scores[source:target], scores[target:pairs]
    return tuple(np.full(size, -np.inf if linked else 0.0) for size, linked in _linked(graphs))  # type: ignore[return-value]


def _linked(graphs: Graphs) -> Iterator[tuple[int, bool]]:
    """How many words either side has, and whether all of them must be linked where words cannot be deleted."""
    yield graphs.n, graphs.n <= graphs.m
    yield graphs.m, graphs.m <= graphs.n


def _require_edges(side: str, size: int, edges: Longs) -> None:
    """Raises `DataError` for edges that are out of range, or no edges of a simple graph."""
    seen = set[tuple[int, ...]]()
    for edge in map(tuple, edges.tolist()):
        if not 0 <= min(edge) <= max(edge) < size:
            raise DataError(f"the edge {edge} of the {side} is out of range: it has {size} words, numbered from 0")
        if edge[0] == edge[1]:
            raise DataError(f"the edge {edge} of the {side} leads from a word to itself")
        if edge in seen:
            raise DataError(f"the {side} has the edge {edge} twice; name each once")
        seen.add(edge)


def _rows(graphs: Graphs) -> tuple[LinearRows, tuple[str | None, ...]]:
    """The rows, and what messages call those of words and edges."""
    places, number = graphs.places, np.arange(len(graphs.pairs[0]))
    low, high, entries, titles = [], [], [], list[str | None]()

    def sums(sums_of: Longs, members: Longs, deleted: int | None, count: int, least: float) -> None:
        """One row for every item: of its members and its deletion at most one, and at least `least`."""
        first = len(titles)
        entries.append((first + sums_of, members, np.ones(len(members))))
        if deleted is not None:
            entries.append((first + np.arange(count), deleted + np.arange(count), np.ones(count)))
        low.append(np.full(count, least))
        high.append(np.ones(count))

    for side, ends, place, (size, linked) in zip(
        ("source", "target"), graphs.ends, places[:2].tolist(), _linked(graphs), strict=True
    ):
        sums(ends, np.arange(len(ends)), place if graphs.null_words else None, size, float(linked or graphs.null_words))
        titles += [f"word {i} of the {side}" for i in range(size)]
    for side, edges, paired, place in zip(
        ("source", "target"), (graphs.edges, graphs.other_edges), graphs.pairs[:2], places[3:5].tolist(), strict=True
    ):
        null = graphs.null_relations
        sums(paired, places[2] + number, place if null else None, len(edges), float(null))
        titles += [f"edge {tuple(edge)} of the {side}" for edge in edges.tolist()]
    # A pair is chosen if and only if both links are.
    pair, heads, children = places[2] + number, graphs.pairs[2], graphs.pairs[3]
    for terms, most in (
        (((heads, 1.0), (children, 1.0), (pair, -1.0)), 1.0),
        (((pair, 1.0), (heads, -1.0)), 0.0),
        (((pair, 1.0), (children, -1.0)), 0.0),
    ):
        entries += [(len(titles) + number, variables, np.full(len(number), value)) for variables, value in terms]
        low.append(np.full(len(number), -np.inf))
        high.append(np.full(len(number), most))
        titles += [None] * len(number)
    row, variable, value = (np.concatenate(column) for column in zip(*entries, strict=True))
    return LinearRows.of(np.concatenate(low), np.concatenate(high), row, variable, value), tuple(titles)
