"""The best outputs under rules: the cheapest exact method that is enough.

1. Local rules are folded into the scores.
2. Plain Viterbi is right if its output violates none of the other rules.
3. Otherwise best-first search with the completion without rules as heuristic.
4. A sequence on which search takes too many nodes goes to an integer program.

Beam search is the approximate choice. Every result says whether it is exact, and bounds the best score otherwise.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from ..errors import DataError, Infeasible, NotSupported
from ..kernels.compiling import Flags, Floats, Ints, Longs
from ..kernels.parallel import thread_count
from ..structures.chain import Chain, ChainParts
from .compiled import WeighedRules, times

Method = Literal["exact", "beam", "program"]
_NODE_LIMIT = 200_000


@dataclass(frozen=True)
class Constrained:
    """The k best outputs under rules.

    labels: (k, tokens), -1 where an input has fewer; scores: (sequences, k), penalties included, -inf there; exact:
    (sequences,) bool; bound: (sequences,) no output scores higher; searched: (sequences,) bool, where plain Viterbi
    was not enough; nodes: (sequences,) expanded in search.
    """

    labels: Ints
    scores: Floats
    exact: Flags
    bound: Floats
    searched: Flags
    nodes: Longs


def best_outputs(
    scores: ChainParts,
    rules: WeighedRules,
    *,
    k: int = 1,
    method: Method = "exact",
    beam: int = 50,
    node_limit: int = _NODE_LIMIT,
    n_jobs: int = -1,
) -> Constrained:
    """The k best outputs of every input under the rules."""
    if k < 1 or beam < 1:
        raise DataError(f"k-best needs k >= 1 and a beam of at least 1, got {k} and {beam}")
    if method not in get_args(Method):
        raise DataError(f"method is one of {', '.join(get_args(Method))}, got {method!r}")
    folded = rules.fold(scores)
    if rules.split[1] and scores.order > 1:
        raise NotSupported("rules that are not local need a chain of order 1")
    try:
        labels, values = _without_search(folded, k, n_jobs)
    except Infeasible:
        raise _conflict(scores, rules) from None
    cost = np.stack([rules.cost(np.maximum(row, 0)) for row in labels], axis=1)
    searched = np.asarray(((cost > 0) & (values > -np.inf)).any(axis=1))
    bound, exact, nodes = values[:, 0].copy(), np.ones(len(scores), bool), np.zeros(len(scores), np.int64)

    def solve(i: int) -> None:
        tokens = slice(scores.offsets[i], scores.offsets[i + 1])
        one = _Problem(folded.sequences(i, i + 1), rules, tokens)
        answer = one.solve(k, method, beam, node_limit)
        labels[:, tokens], values[i], exact[i], nodes[i] = answer.labels, answer.scores, answer.exact, answer.nodes
        bound[i] = answer.scores[0] if answer.exact else min(bound[i], answer.bound)

    todo = np.flatnonzero(searched).tolist()
    with ThreadPoolExecutor(thread_count(n_jobs)) as pool:
        list(pool.map(solve, todo))
    bad = np.flatnonzero(~(values[:, 0] > -np.inf))
    if len(bad) and not exact[bad[0]] and _feasible(scores, rules, int(bad[0]), rules.penalty):
        raise Infeasible(
            f"the beam of {beam} lost every output of sequence {bad[0]} that satisfies the hard rules; "
            "take a wider one, or method='exact'"
        )
    if len(bad):
        raise _conflict(scores, rules, int(bad[0]))
    return Constrained(labels, values, exact, bound, searched, nodes)


def _without_search(scores: ChainParts, k: int, n_jobs: int) -> tuple[Ints, Floats]:
    """The k best outputs when only the folded rules count: labels (k, tokens), scores (sequences, k)."""
    if k == 1:
        best = Chain(n_jobs).argmax(scores)
        return best.labels[None].copy(), best.scores[:, None].copy()
    ranked = Chain(n_jobs).kbest(scores, k)
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

    scores: ChainParts
    rules: WeighedRules
    tokens: slice

    def solve(self, k: int, method: Method, beam: int, node_limit: int) -> _Answer:
        if method == "program":
            return self.program(k)
        if method == "beam":
            return self.search(k, beam, node_limit)
        answer = self.search(k, 0, node_limit)
        return answer if answer.exact else self.program(k)

    def search(self, k: int, beam: int, node_limit: int) -> _Answer:
        """Best-first search, or beam search if beam > 0."""
        from ..kernels import search

        stacked, penalty = self.rules.searched
        if float(np.prod(stacked.sizes.astype(float))) * self.scores.unary.size >= 2.0**62:
            raise NotSupported("these rules have too many joint states to search; use method='program'")
        n = len(self.scores.unary)
        labels, values = np.full((k, n), -1, np.int32), np.full(k, -np.inf)
        s = self.scores
        arguments = (
            s.unary, s.pair, s.pair_type, s.start, s.end, *stacked.at(self.tokens), stacked.sizes, penalty, k,
        )  # fmt: skip
        low, high = times(penalty, stacked.low != 0) * stacked.low, times(penalty, stacked.high)
        if beam:
            nodes = search.beam_search(*arguments, beam, labels, values)
            return _Answer(labels, values, False, nodes, np.inf)
        status, _, nodes, bound = search.best_first(
            *arguments, stacked.amount, stacked.slack, low, high, node_limit, labels, values
        )
        return _Answer(labels, values, status != search.LIMIT, nodes, bound)

    def program(self, k: int) -> _Answer:
        """Integer programs, each excluding the outputs found before."""
        from .program import solve_chain

        stacked_numbers = self.rules.split[1]
        automata = [
            replace(m, kind=m.kind[self.tokens]) for m in (self.rules.compiled.automata[j] for j in stacked_numbers)
        ]
        labels, values = solve_chain(self.scores, automata, self.rules.penalty[stacked_numbers], k)
        return _Answer(labels, values, True, 0, values[0])


def _conflict(scores: ChainParts, rules: WeighedRules, index: int | None = None) -> Infeasible:
    """Name a sequence without an output, and a smallest set of hard rules that cannot hold together there."""
    compiled = rules.compiled
    if index is None:
        index = next(i for i in range(len(scores)) if not _feasible(scores, rules, i, rules.penalty))
    guilty = rules.penalty.copy()
    for rule in compiled.rules:
        without = guilty.copy()
        without[[m.rule is rule for m in compiled.automata]] = 0.0
        if not _feasible(scores, rules, index, without):
            guilty = without
    left = {id(m.rule): m.rule for m, p in zip(compiled.automata, guilty, strict=True) if np.isinf(p)}
    named = " and ".join(repr(rule.title) for rule in left.values())
    if not named:
        return Infeasible(f"sequence {index} has no output of finite score, even without rules")
    return Infeasible(f"sequence {index} has no output that satisfies {named}; make one of them soft")


def _feasible(scores: ChainParts, rules: WeighedRules, index: int, penalty: Floats) -> bool:
    """Whether one sequence has an output under the hard rules among these."""
    hard = np.where(np.isinf(penalty), np.inf, 0.0)
    one = WeighedRules(rules.compiled.sequences(index, index + 1), hard)
    try:
        folded = one.fold(scores.sequences(index, index + 1))
        best = Chain(1).argmax(folded)
    except Infeasible:
        return False
    if not (one.cost(best.labels) > 0).any():
        return True
    answer = _Problem(folded, one, slice(None)).solve(1, "exact", 1, _NODE_LIMIT)
    return bool(answer.scores[0] > -np.inf)
