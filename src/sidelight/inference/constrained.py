"""The best outputs under rules: the cheapest exact method that is enough.

1. Rules that are sums over parts are folded into the scores.
2. The plain best output is right if it violates none of the other rules.
3. Otherwise best-first search with the completion without rules as heuristic.
4. A sequence on which search takes too many nodes goes to an integer program.

Beam search is the approximate choice. Every result says whether it is exact, and bounds the best score otherwise.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice
from typing import Literal, TypeVar, get_args

import numpy as np

from ..errors import DataError, Infeasible, NotSupported
from ..kernels.compiling import Flags, Floats, Ints, Longs
from ..kernels.parallel import thread_count
from ..structures.lattice import Lattice
from ..structures.protocol import RuledParts, Structure
from .compiled import WeighedRules, times

Method = Literal["exact", "beam", "program"]
P = TypeVar("P", bound=RuledParts)
_NODE_LIMIT = 200_000
# Naming the rules in conflict: nodes of one search, nodes of all, and small sets of rules tried.
_CONFLICT_NODES, _CONFLICT_WORK, _CONFLICT_SETS = 50_000, 400_000, 300


@dataclass(frozen=True)
class Constrained:
    """The k best outputs under rules.

    labels: (k, tokens), as the structure writes outputs, -1 where an input has fewer; scores: (sequences, k), penalties
    included, -inf there; exact: (sequences,) bool; bound: (sequences,) no output scores higher; searched: (sequences,)
    bool, where the plain best output was not enough; nodes: (sequences,) expanded in search.
    """

    labels: Ints
    scores: Floats
    exact: Flags
    bound: Floats
    searched: Flags
    nodes: Longs


def best_outputs(
    structure: Structure[P],
    scores: P,
    rules: WeighedRules,
    *,
    k: int = 1,
    method: Method = "exact",
    beam: int = 50,
    node_limit: int = _NODE_LIMIT,
) -> Constrained:
    """The k best outputs of every input under the rules."""
    if k < 1 or beam < 1:
        raise DataError(f"k-best needs k >= 1 and a beam of at least 1, got {k} and {beam}")
    if method not in get_args(Method):
        raise DataError(f"method is one of {', '.join(get_args(Method))}, got {method!r}")
    if not hasattr(scores, "lattice"):
        raise NotSupported(f"{type(structure).__name__} takes no rules; Chain and Segmentation do")
    folded, rest = rules.fold(scores)
    lattice = folded.lattice() if len(rest.penalty) else None
    try:
        labels, values = _without_search(structure, folded, k)
    except Infeasible:
        raise _conflict(structure, scores, rules, _first_without(structure, folded)) from None
    cost = np.stack([rest.cost(structure.token_labels(np.maximum(row, 0))) for row in labels], axis=1)
    searched = np.asarray(((cost > 0) & (values > -np.inf)).any(axis=1))
    bound, exact, nodes = values[:, 0].copy(), np.ones(len(scores), bool), np.zeros(len(scores), np.int64)

    def problem(i: int) -> _Problem:
        assert lattice is not None
        return _Problem(lattice.sequence(i), rest, slice(scores.offsets[i], scores.offsets[i + 1]))

    def solve(i: int) -> None:
        one = problem(i)
        answer, tokens = one.solve(k, method, beam, node_limit), one.tokens
        labels[:, tokens], values[i], exact[i], nodes[i] = answer.labels, answer.scores, answer.exact, answer.nodes
        bound[i] = answer.scores[0] if answer.exact else min(bound[i], answer.bound)

    todo = np.flatnonzero(searched).tolist()
    with ThreadPoolExecutor(thread_count(structure.n_jobs)) as pool:
        list(pool.map(solve, todo))
    bad = np.flatnonzero(~(values[:, 0] > -np.inf))
    if len(bad) and not exact[bad[0]] and problem(int(bad[0])).solve(1, "exact", 1, node_limit).scores[0] > -np.inf:
        raise Infeasible(
            f"the beam of {beam} lost every output of sequence {bad[0]} that satisfies the hard rules; "
            "take a wider one, or method='exact'"
        )
    if len(bad):
        raise _conflict(structure, scores, rules, int(bad[0]))
    return Constrained(labels, values, exact, bound, searched, nodes)


def _without_search(structure: Structure[P], scores: P, k: int) -> tuple[Ints, Floats]:
    """The k best outputs when only the folded rules count: labels (k, tokens), scores (sequences, k)."""
    if k == 1:
        best = structure.argmax(scores)
        return best.labels[None].copy(), best.scores[:, None].copy()
    ranked = structure.kbest(scores, k)
    return ranked.labels, ranked.scores


@dataclass(frozen=True)
class _Answer:
    """k outputs of one sequence."""

    labels: Ints
    scores: Floats
    exact: bool
    nodes: int
    bound: float


@dataclass(frozen=True)
class _Problem:
    """One sequence with its folded scores and the rules that are left."""

    scores: Lattice
    rules: WeighedRules
    tokens: slice

    def solve(self, k: int, method: Method, beam: int, node_limit: int) -> _Answer:
        if method == "program":
            return self.program(k)
        if method == "beam":
            return self.search(k, beam, node_limit)
        answer = self.search(k, 0, node_limit)
        return answer if answer.exact else self.program(k)

    @property
    def searchable(self) -> bool:
        """Whether a node's number fits into an integer."""
        return float(np.prod(self.rules.stacked.sizes.astype(float))) * self.scores.unary.size < 2.0**62

    def search(self, k: int, beam: int, node_limit: int) -> _Answer:
        """Best-first search, or beam search if beam > 0."""
        from ..kernels import search

        stacked, penalty = self.rules.stacked, self.rules.penalty
        if not self.searchable:
            raise NotSupported("these rules have too many joint states to search; use method='program'")
        codes, values = np.full((k, len(self.scores.unary)), -1, np.int32), np.full(k, -np.inf)
        arguments = (*self.scores.tables(), *stacked.at(self.tokens), stacked.sizes, penalty, k)
        if beam:
            nodes = search.beam_search(*arguments, beam, codes, values)
            return _Answer(self.scores.outputs(codes), values, False, nodes, np.inf)
        low, high = times(penalty, stacked.low != 0) * stacked.low, times(penalty, stacked.high)
        status, _, nodes, bound = search.best_first(
            *arguments, stacked.amount, stacked.slack, low, high, node_limit, codes, values
        )
        return _Answer(self.scores.outputs(codes), values, status != search.LIMIT, nodes, bound)

    def program(self, k: int) -> _Answer:
        """Integer programs, each excluding the outputs found before."""
        from .program import solve

        automata = [replace(m, kind=m.kind[self.tokens]) for m in self.rules.compiled.automata]
        labels, values = solve(self.scores.polytope(), automata, self.rules.penalty, k)
        return _Answer(labels, values, True, 0, values[0])


def _first_without(structure: Structure[P], folded: P) -> int:
    """The first sequence that has no output."""
    for i in range(len(folded)):
        try:
            structure.argmax(folded.sequences(i, i + 1))
        except Infeasible:
            return i
    raise AssertionError("every sequence alone has an output")


def _conflict(structure: Structure[P], scores: P, rules: WeighedRules, index: int) -> Infeasible:
    """Name a sequence without an output, and few hard rules that cannot hold together there.

    Single rules and pairs are tried first; then rules are left out of all hard ones as long as the others are still
    impossible. A search that takes too long proves nothing, so on hard inputs more rules may be named than needed.
    """
    work = _CONFLICT_WORK
    one, alone = rules.sequence(index), scores.sequences(index, index + 1)
    hard = sorted({r for r, p in zip(one.compiled.owner, one.penalty, strict=True) if np.isinf(p)})

    def impossible(some: Sequence[int]) -> bool:
        nonlocal work
        kept = [k for k, r in enumerate(one.compiled.owner) if r in some and np.isinf(one.penalty[k])]
        none, nodes = _without_output(structure, alone, one.keep(kept), min(work, _CONFLICT_NODES))
        work -= nodes
        return none

    if impossible([]):
        return Infeasible(f"sequence {index} has no output of finite score, even without rules")
    small = islice(chain(combinations(hard, 1), combinations(hard, 2)), _CONFLICT_SETS)
    guilty = next((list(some) for some in small if impossible(some)), hard)
    for rule in guilty if len(guilty) > 2 else []:
        without = [r for r in guilty if r != rule]
        guilty = without if impossible(without) else guilty
    named = " and ".join(repr(rules.compiled.rules[r].title) for r in guilty)
    return Infeasible(f"sequence {index} has no output that satisfies {named}; make one of them soft")


def _without_output(structure: Structure[P], scores: P, hard: WeighedRules, limit: int) -> tuple[bool, int]:
    """Whether it is proved that a sequence has no output under these rules, and the nodes that this took."""
    folded, rest = hard.fold(scores)
    try:
        best = structure.argmax(folded)
    except Infeasible:
        return True, 0
    if not (rest.cost(structure.token_labels(best.labels)) > 0).any():
        return False, 0
    problem = _Problem(folded.lattice(), rest, slice(None))
    if not problem.searchable:
        return False, 0
    answer = problem.search(1, 0, limit)
    return answer.exact and answer.scores[0] == -np.inf, answer.nodes
