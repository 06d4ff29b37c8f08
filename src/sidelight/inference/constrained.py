"""The best outputs under rules: the cheapest exact method that is enough.

1. Rules that are sums over parts are folded into the scores.
2. The plain best output is right if it violates none of the other rules.
3. Otherwise best-first search, first with few nodes and then, better priced, with more.
4. A sequence on which search takes too many nodes goes to an integer program.

Beam search is the approximate choice. Every result says whether it is exact, and bounds the best score otherwise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice
from time import monotonic
from typing import Literal, TypeVar, get_args

import numpy as np

from ..errors import DataError, Infeasible, NotSupported, warn
from ..kernels.compiling import Flags, Floats, Ints, Longs
from ..kernels.parallel import map_each, stop_event
from ..rules.language import Rule
from ..structures.known import Outputs
from ..structures.lattice import SegmentLattice
from ..structures.protocol import TIME_LIMIT, Best, RuledParts, Structure
from .compiled import WeighedRules, times

Method = Literal["exact", "beam", "program"]
P = TypeVar("P", bound=RuledParts)
# Nodes of a search before the integer program; more where there are few enough (token, label, joint state).
_NODE_LIMIT, _LARGE_LIMIT, _FEW = 200_000, 2_000_000, 2e7
# Searches of one sequence: (steps of pricing, nodes). Few steps are enough for most.
_STAGES = ((40, 3_000), (300, 50_000), (300, _LARGE_LIMIT))
# Naming the rules in conflict: nodes of one search, nodes of all, and small sets of rules tried.
_CONFLICT_NODES, _CONFLICT_WORK, _CONFLICT_SETS = 50_000, 400_000, 300
# Nodes of one search there where only one or two automata count, whose joint states are few.
_PAIR_NODES = 3_000
# Seconds of one integer program there, and nodes of all searches after a beam, which is to be fast.
_CONFLICT_SECONDS, _BEAM_WORK = 5.0, 10_000
# Variables of the automata's runs in an integer program at most; it takes some 300 bytes for each.
_LARGEST_PROGRAM = 1_000_000
# What the integer program's scores may be off by.
_ROUNDING = 1e-5


def check_method(method: str, beam: int, k: int = 1, time_limit: float | None = None) -> None:
    """Raise `DataError` unless these are a method, a width, a number of outputs and a time."""
    if k < 1 or beam < 1:
        raise DataError(f"k-best needs k >= 1 and a beam of at least 1, got {k} and {beam}")
    if method not in get_args(Method):
        raise DataError(f"method is one of {', '.join(get_args(Method))}, got {method!r}")
    if time_limit is not None and not time_limit > 0:
        raise DataError(f"time_limit is a number of seconds above 0, or None, got {time_limit!r}")


@dataclass(frozen=True)
class Constrained:
    """The k best outputs under rules.

    outputs: with values (k, tokens), -1 where an input has fewer; scores: (sequences, k), penalties included, -inf
    there; exact: (sequences,) bool; bound: (sequences,) no output scores higher; searched: (sequences,)
    bool, where the plain best output was not enough; nodes: (sequences,) expanded in search.
    """

    outputs: Outputs
    scores: Floats
    exact: Flags
    bound: Floats
    searched: Flags
    nodes: Longs

    def best(self) -> Best:
        """Returns the best output of each input."""
        first = Outputs(self.outputs.values[0], self.outputs.offsets)
        exact = bool(self.exact.all())
        return Best(first, self.scores[:, 0], exact, None if exact else self.bound)


def warn_unproved(found: Constrained) -> Constrained:
    """Returns the same, with a warning where outputs are not proved to be the best."""
    open_ends = int((~found.exact).sum())
    if open_ends:
        warn(
            f"{open_ends} of {len(found.exact)} outputs are not proved to be the best (beam or time limit); "
            "`infer` gives a bound for each",
        )
    return found


def best_outputs(
    structure: Structure[P],
    scores: P,
    rules: WeighedRules,
    *,
    k: int = 1,
    method: Method = "exact",
    beam: int = 50,
    node_limit: int | None = None,
    time_limit: float | None = TIME_LIMIT,
) -> Constrained:
    """The k best outputs of every input under the rules.

    node_limit: nodes of a search before the integer program; None: as many as pay. time_limit: seconds for each input
    that needs search, None for no limit; one that takes longer gets the best output found, which is not exact then.
    """
    check_method(method, beam, k, time_limit)
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
    seconds = np.inf if time_limit is None else time_limit
    limits = _Limits(beam, node_limit, seconds, int(searched.argmax()) if len(searched) else 0)

    def problem(i: int) -> _SequenceSearch:
        assert lattice is not None
        return _SequenceSearch(lattice.sequence(i), rest, slice(scores.offsets[i], scores.offsets[i + 1]), i)

    def solve(i: int) -> None:
        if stop_event().is_set():  # there is no need for the others
            return
        one = problem(i)
        answer, tokens = one.solve(k, method, limits), one.tokens
        if i == limits.first and answer.proves_none:
            stop_event().set()
        labels[:, tokens], values[i], exact[i], nodes[i] = answer.labels, answer.scores, answer.exact, answer.nodes
        bound[i] = answer.scores[0] if answer.exact else min(bound[i], answer.bound)

    map_each(solve, np.flatnonzero(searched).tolist(), structure.n_jobs)
    bad = np.flatnonzero(~(values[:, 0] > -np.inf)).tolist()
    if bad and exact[bad[0]]:
        raise _conflict(structure, scores, rules, bad[0])
    if bad:
        first = problem(bad[0])
        if first.searchable and first.search(1, 40, _BEAM_WORK).proves_none:
            raise _conflict(structure, scores, rules, bad[0], _BEAM_WORK)
        what, more = f"in the beam of {beam}", "take a wider one, or method='exact'"
        if method != "beam":
            what = "found" if time_limit is None else f"found in {time_limit:g} seconds"
            more = "give it more time or a wider beam, or make a rule soft"
        raise Infeasible(f"has no output {what} that satisfies the hard rules; {more}", bad[0])
    return Constrained(Outputs(labels, scores.offsets), values, exact, bound, searched, nodes)


def _without_search(structure: Structure[P], scores: P, k: int) -> tuple[Ints, Floats]:
    """The k best outputs when only the folded rules count: labels (k, tokens), scores (sequences, k)."""
    if k == 1:
        best = structure.argmax(scores)
        return best.outputs.values[None].copy(), best.scores[:, None].copy()
    ranked = structure.kbest(scores, k)
    return ranked.outputs.values, ranked.scores


@dataclass(frozen=True)
class _Limits:
    """What the solution of one sequence may take.

    first: the number of the first sequence that is solved, where contradictions of rules are looked for soon.
    """

    beam: int
    nodes: int | None
    seconds: float
    first: int


@dataclass(frozen=True)
class _Answer:
    """k outputs of one sequence."""

    labels: Ints
    scores: Floats
    exact: bool
    nodes: int
    bound: float

    @property
    def proves_none(self) -> bool:
        """Whether there is no output at all."""
        return self.exact and bool(self.scores[0] == -np.inf)


@dataclass(frozen=True)
class _SequenceSearch:
    """One sequence with its folded scores and the rules that are left; `number` is its place in the batch."""

    scores: SegmentLattice
    rules: WeighedRules
    tokens: slice
    number: int

    def solve(self, k: int, method: Method, limits: _Limits) -> _Answer:
        if method == "program":
            if not self.programmable:
                raise NotSupported("these rules make too large an integer program; use method='exact' or 'beam'")
            return self.program(k, limits.seconds)
        if method == "beam":
            return self.beam(k, limits.beam)
        end, bound = monotonic() + limits.seconds, np.inf
        rate = np.inf  # nodes per second
        check = _STAGES[1] if self.number == limits.first else _STAGES[2]
        for rounds, most in _STAGES if self.searchable else ():
            begun = monotonic()
            if (rounds, most) == check and self.contradictory():
                return self.none(k)
            limit = min(most, self.node_limit if limits.nodes is None else limits.nodes)
            if end - begun < limit / rate and end < np.inf:
                break
            answer = self.search(k, rounds, limit)
            if answer.exact:
                return answer
            bound, rate = min(bound, answer.bound), max(answer.nodes, 1) / (monotonic() - begun)
        if not self.searchable and self.contradictory():
            return self.none(k)
        if not (self.programmable or self.searchable):
            raise NotSupported("these rules have too many states to decode under together; use smaller bounds")
        answer = replace(self.none(k), exact=False, bound=np.inf)
        if self.programmable:
            answer = self.program(k, max(end - monotonic(), 0.0))
        if not answer.exact and self.searchable:
            other = self.beam(k, limits.beam)
            answer = other if other.scores[0] > answer.scores[0] else answer
        return answer if answer.exact else replace(answer, bound=min(bound, answer.bound))

    @property
    def _states(self) -> float:
        return float(np.prod(self.rules.stacked.sizes.astype(float))) * self.scores.unary.size

    @property
    def searchable(self) -> bool:
        """Whether a node's number fits into an integer."""
        return self._states < 2.0**62

    @property
    def programmable(self) -> bool:
        """Whether the runs of the automata make an integer program that fits into memory."""
        return sum(m.after.size for m in self.rules.compiled.automata) * len(self.scores.unary) <= _LARGEST_PROGRAM

    @property
    def node_limit(self) -> int:
        """Nodes worth expanding before the integer program."""
        return _LARGE_LIMIT if self._states < _FEW else _NODE_LIMIT

    def none(self, k: int) -> _Answer:
        """The answer where there is no output."""
        return _Answer(np.full((k, len(self.scores.unary)), -1, np.int32), np.full(k, -np.inf), True, 0, -np.inf)

    def contradictory(self) -> bool:
        """Whether one or two hard automata alone leave no output, which is proved much sooner than for all rules."""
        return _small_contradiction(self.scores, self.rules.sequence(self.number)) is not None

    def beam(self, k: int, width: int) -> _Answer:
        """Beam search."""
        from ..kernels import search

        if not self.searchable:
            raise NotSupported("these rules have too many joint states for a beam; use method='exact'")
        codes, values = np.full((k, len(self.scores.unary)), -1, np.int32), np.full(k, -np.inf)
        stacked = self.rules.stacked
        arguments = (*self.scores.tables(), *stacked.at(self.tokens), stacked.sizes, self.rules.penalty, k)
        nodes = search.beam_search(*arguments, width, codes, values)
        return _Answer(self.scores.outputs(codes), values, False, nodes, np.inf)

    def search(self, k: int, rounds: int, node_limit: int) -> _Answer:
        """Best-first search."""
        from ..kernels import search

        stacked, penalty = self.rules.stacked, self.rules.penalty
        codes, values = np.full((k, len(self.scores.unary)), -1, np.int32), np.full(k, -np.inf)
        arguments = (*self.scores.tables(), *stacked.at(self.tokens), stacked.sizes, penalty, k)
        low, high = times(penalty, stacked.low != 0) * stacked.low, times(penalty, stacked.high)
        status, _, nodes, bound = search.best_first(
            *arguments, stacked.amount, stacked.slack, low, high, rounds, node_limit, codes, values
        )
        return _Answer(self.scores.outputs(codes), values, status != search.LIMIT, nodes, bound)

    def program(self, k: int, seconds: float) -> _Answer:
        """Integer programs, each excluding the outputs found before."""
        from .program import solve

        automata = [replace(m, kind=m.kind[self.tokens]) for m in self.rules.compiled.automata]
        found, bounds = solve(self.scores.polytope(), automata, self.rules.penalty, k, time_limit=seconds)
        one, marked = self.rules.sequence(self.number), self.scores.marked
        labels, values = np.full((k, len(self.scores.unary)), -1, np.int32), np.full(k, -np.inf)
        for rank, output in enumerate(found):  # the solver's own score is rounded
            tokens = output >> 1 if marked else output
            labels[rank], values[rank] = output, self.scores.score(output) - one.cost(tokens)[0]
        order = np.argsort(-values, kind="stable")
        exact = bool((values[order] >= bounds - _ROUNDING).all())
        return _Answer(labels[order], values[order], exact, 0, float(bounds[0]))


def _first_without(structure: Structure[P], folded: P) -> int:
    """The first sequence that has no output."""
    for i in range(len(folded)):
        try:
            structure.argmax(folded.sequences(i, i + 1))
        except Infeasible:
            return i
    raise AssertionError("every sequence alone has an output")


def _conflict(
    structure: Structure[P], scores: P, rules: WeighedRules, index: int, work: int = _CONFLICT_WORK
) -> Infeasible:
    """Name a sequence without an output, and few hard rules that cannot hold together there.

    Single automata and pairs of them are tried first, then single rules and pairs; then rules are left out of all hard
    ones as long as the others are still impossible. A search that takes too long proves nothing, so on hard inputs more
    rules may be named than needed.
    """
    one, alone = rules.sequence(index), scores.sequences(index, index + 1)
    hard = sorted({r for r, p in zip(one.compiled.owner, one.penalty, strict=True) if np.isinf(p)})

    def impossible(some: Sequence[int]) -> bool:
        nonlocal work
        kept = [k for k, r in enumerate(one.compiled.owner) if r in some and np.isinf(one.penalty[k])]
        none, nodes = _without_output(structure, alone, one.keep(kept), min(work, _CONFLICT_NODES))
        work -= nodes
        return none

    if impossible([]):
        return Infeasible("has no output of finite score, even without rules", index)
    few = _small_contradiction(alone.lattice(), one)
    hard = hard if few is None else sorted({one.compiled.owner[k] for k in few})
    if few is not None and len(hard) <= 2:
        return named_contradiction(hard, rules.compiled.rules, index)
    return contradiction(hard, impossible, rules.compiled.rules, index)


def _small_contradiction(scores: SegmentLattice, one: WeighedRules) -> tuple[int, ...] | None:
    """One or two hard automata that are proved to leave no output of one sequence; None if none are found."""
    hard = np.flatnonzero(np.isinf(one.penalty)).tolist()
    for some in islice(chain(combinations(hard, 1), combinations(hard, 2)), _CONFLICT_SETS):
        problem = _SequenceSearch(scores, one.keep(some), slice(None), 0)
        if problem.searchable and problem.search(1, 40, _PAIR_NODES).proves_none:
            return some
    return None


def contradiction(
    hard: list[int], impossible: Callable[[Sequence[int]], bool], rules: Sequence[Rule], index: int
) -> Infeasible:
    """Returns an error that names few of the hard rules that cannot hold together on one input.

    hard: their numbers among `rules`; impossible: whether it is proved that some of them cannot hold together.
    """
    small = islice(chain(combinations(hard, 1), combinations(hard, 2)), _CONFLICT_SETS)
    guilty = next((list(some) for some in small if impossible(some)), hard)
    for rule in guilty if len(guilty) > 2 else []:
        without = [r for r in guilty if r != rule]
        guilty = without if impossible(without) else guilty
    return named_contradiction(guilty, rules, index)


def named_contradiction(guilty: Sequence[int], rules: Sequence[Rule], index: int) -> Infeasible:
    """Returns the error that these of the rules cannot hold together on one input."""
    named = " and ".join(repr(rules[r].title) for r in guilty)
    which = "one of them" if len(guilty) > 1 else "it"
    return Infeasible(f"has no output that satisfies {named}; make {which} soft", index)


def _without_output(structure: Structure[P], scores: P, hard: WeighedRules, limit: int) -> tuple[bool, int]:
    """Whether it is proved that a sequence has no output under these rules, and the nodes that this took."""
    folded, rest = hard.fold(scores)
    try:
        best = structure.argmax(folded)
    except Infeasible:
        return True, 0
    if not (rest.cost(structure.token_labels(best.outputs.values)) > 0).any():
        return False, 0
    problem = _SequenceSearch(folded.lattice(), rest, slice(None), 0)
    if not problem.searchable:
        return problem.programmable and problem.program(1, _CONFLICT_SECONDS).proves_none, limit
    answer = problem.search(1, 40, limit)
    return answer.proves_none, answer.nodes
