"""Rules about the parts of any structure, ready for inference on one batch: rows, their penalties, and best outputs.

What `compiled` and `constrained` are for labels of tokens, this is for arcs, links and other parts. Rules whose every
violation is one part are folded into the scores; for the others the structure's own argmax is steered by prices
(`branching`), where it does not solve programs with rows itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import monotonic
from typing import Any

import numpy as np

from ..errors import Infeasible, NotSupported
from ..kernels.compiling import Flags, Floats, Ints, Longs
from ..kernels.parallel import map_each
from ..rules.language import Rule
from ..rules.part_view import PartView, rule_statement
from ..structures.flat import FlatParts, FlatStructure
from ..structures.known import Outputs
from ..structures.protocol import TIME_LIMIT
from .branching import Found, UpperRows, best_under_rows
from .compiled import Counting, learn_penalties, rule_log_odds, times
from .constrained import Constrained, Method, check_method, contradiction
from .part_rows import FlatRows

# Seconds for each set of rules that is tried where rules contradict each other, and for all of them together.
_CONFLICT_SECONDS, _ALL_CONFLICT_SECONDS = 2.0, 20.0


@dataclass(frozen=True)
class PartRules:
    """The rows of a list of rules on a batch.

    rules: as they were given; rows: of all of them; rule_of: (statements,) the rule that each statement belongs to;
    blank: parts of the batch without scores.
    """

    rules: tuple[Rule, ...]
    rows: FlatRows
    rule_of: Longs
    blank: FlatParts

    @classmethod
    def compile(cls, rules: Sequence[Rule], view: PartView, blank: FlatParts, structure: FlatStructure) -> "PartRules":
        """Compile once for a batch; the rules' conditions are evaluated here."""
        statements, owners = [], []
        for number, rule in enumerate(rules):
            for title, single in rule.expand(view.labels, rule.title):
                one = rule_statement(rule, title, single, view)
                if one.corpus:
                    raise NotSupported(
                        f"{rule.title} is about the corpus, not about one output; it cannot steer decoding"
                    )
                statements.append(one)
                owners.append(number)
        return cls(tuple(rules), FlatRows.of(statements, view, structure), np.array(owners, np.int64), blank)

    @property
    def offsets(self) -> Longs:
        """Where the outputs of each input begin."""
        return self.structure.output_offsets(self.blank)

    @property
    def structure(self) -> FlatStructure:
        """The structure whose parts these are."""
        return self.rows.flat

    @cached_property
    def row_rule(self) -> Longs:
        """The rule that each row belongs to."""
        return self.rule_of[self.rows.group] if len(self.rows) else np.empty(0, np.int64)

    def sequences(self, first: int, last: int) -> "PartRules":
        """The same rules on inputs first to last - 1."""
        return replace(self, rows=self.rows.sequence_range(first, last), blank=self.blank.sequences(first, last))

    def excess(self, values: Ints) -> Floats:
        """By how much one output per input misses the bound of each row."""
        parts = self.structure.indicator(self.blank, values)
        return np.abs(self.rows.excess(self.rows.count(parts)))

    def violations(self, values: Ints) -> Floats:
        """Degree of violation of each input (rows) and rule (columns) by one output per input."""
        out = np.zeros((self.rows.sequences, len(self.rules)))
        np.add.at(out, (self.rows.owner, self.row_rule), self.excess(values))
        return out

    def broken_at(self, values: Ints) -> Longs:
        """The parts of outputs that count towards a bound from above which is missed."""
        parts = self.structure.indicator(self.blank, values)
        over = self.rows.excess(self.rows.count(parts)) > 0
        return np.asarray(np.flatnonzero((abs(self.rows.matrix[over]).sum(axis=0) > 0) & (parts.values > 0)))

    def learn_from(self, known: Any, counting: Counting = "places") -> Floats:
        """The log-odds of every rule by counting on known outputs."""
        values = known.outputs.values
        if counting == "tokens":
            return learn_penalties(self.violations(values).sum(axis=0), len(values))
        excess, local = self.excess(values), np.array([s.decisions is not None for s in self.rows.statements], bool)
        broken = np.where(local[self.rows.group] if len(excess) else False, excess, excess > 0)
        return rule_log_odds(np.bincount(self.row_rule, broken, len(self.rules)).astype(float), self.places)

    @cached_property
    def places(self) -> Floats:
        """In how many places each rule can be violated.

        These are decisions where every violation is one part, and otherwise rows: one for each input, or for each token
        that the rule counts by.
        """
        out = np.zeros(len(self.rules))
        rows = np.bincount(self.rows.group, minlength=len(self.rule_of))
        for number, statement in enumerate(self.rows.statements):
            out[self.rule_of[number]] += rows[number] if statement.decisions is None else statement.decisions
        return out

    def weigh(self, penalties: Floats) -> "WeighedPartRules":
        """With a penalty per rule; inf makes a rule hard."""
        return WeighedPartRules(self, np.asarray(penalties, float)[self.row_rule])


@dataclass(frozen=True)
class WeighedPartRules:
    """Rules about parts with a penalty for each row."""

    compiled: PartRules
    penalty: Floats

    @property
    def folding(self) -> Flags:
        """Which rows are sums over parts, each of which is a violation."""
        return self.compiled.rows.forbidding

    def charge(self, kept: Flags) -> Floats:
        """What each part costs by some of the rows that are sums over parts."""
        at = np.flatnonzero(kept & (self.penalty > 0))
        matrix, penalty = abs(self.compiled.rows.matrix[at]), self.penalty[at]
        hard = np.isinf(penalty)
        cost: Floats = matrix.T @ np.where(hard, 0.0, penalty)
        return np.where(matrix.T @ hard.astype(float) > 0, np.inf, cost)

    def folded(self, scores: FlatParts) -> tuple[FlatParts, str | None]:
        """Scores less what parts cost, and the title of a rule that is no such sum, None if all are."""
        left = np.flatnonzero(~self.folding & (self.penalty > 0))
        title = self.compiled.rows.rule(int(left[0])).title if len(left) else None
        return self.compiled.rows.lower(scores, self.charge(self.folding)), title

    def cost(self, values: Ints) -> Floats:
        """Penalty of one output per input."""
        charged = times(self.penalty, self.compiled.excess(values))
        return np.bincount(self.compiled.rows.owner, charged, self.compiled.rows.sequences).astype(float)

    def best(
        self,
        structure: FlatStructure,
        scores: FlatParts,
        *,
        k: int = 1,
        method: Method = "exact",
        beam: int = 50,
        time_limit: float | None = TIME_LIMIT,
    ) -> Constrained:
        """The k best outputs of every input under the rules; see `constrained.best_outputs`."""
        check_method(method, beam, k, time_limit)
        if method != "exact":
            raise NotSupported(f"method={method!r} is for labels of tokens; outputs of other kinds have method='exact'")
        folded, _ = self.folded(scores)
        kept = ~self.folding & (self.penalty > 0)
        try:
            ranked = structure.kbest(folded, k)
        except Infeasible as error:
            raise self.conflict(scores, error.sequence or 0) from None
        values, ranks = ranked.outputs.values.copy(), ranked.scores.copy()
        rest = replace(self, penalty=np.where(kept, self.penalty, 0.0))
        cost = np.stack([rest.cost(self._complete(row, values[0])) for row in values], axis=1)
        searched = np.asarray(((cost > 0) & (ranks > -np.inf)).any(axis=1))
        exact, nodes = np.ones(len(scores), bool), np.zeros(len(scores), np.int64)
        bound = ranks[:, 0].copy()
        if ranked.exact is not None and ranked.bound is not None:  # a time limit ended some searches
            exact, bound = ranked.exact.copy(), ranked.bound.copy()
        offsets = ranked.outputs.offsets

        def solve(i: int) -> None:
            found = rest.search(structure, folded, i, k, np.inf if time_limit is None else time_limit)
            at = slice(offsets[i], offsets[i + 1])
            values[:, at], ranks[i] = -1, -np.inf
            for rank, (output, score) in enumerate(zip(found.outputs, found.scores, strict=True)):
                values[rank, at], ranks[i, rank] = output, score
            exact[i], nodes[i], bound[i] = found.exact, found.nodes, min(bound[i], found.bound)

        map_each(solve, np.flatnonzero(searched).tolist(), structure.n_jobs)
        bad = np.flatnonzero(~(ranks[:, 0] > -np.inf)).tolist()
        if bad and exact[bad[0]]:
            raise self.conflict(scores, bad[0])
        if bad:
            raise Infeasible(
                "has no output found that satisfies the hard rules, and it is not proved that there is none; give it "
                "more time, or make a rule soft", bad[0],
            )  # fmt: skip
        return Constrained(Outputs(values, offsets), ranks, exact, bound, searched, nodes)

    def _complete(self, row: Ints, first: Ints) -> Ints:
        """An output for every input: where there are fewer, the best one."""
        return np.where(row < 0, first, row)

    def search(self, structure: FlatStructure, scores: FlatParts, i: int, k: int, seconds: float) -> Found:
        """The k best outputs of one input."""
        theta, shape = scores.of(i)
        rows = self.upper(i)
        found = structure.best_under_rows(theta, shape, rows.linear(), rows.penalty, k, seconds)
        if found is None:
            return best_under_rows(structure, theta, shape, rows, k, seconds)
        return Found(list(found.values.astype(np.int32)), found.scores.tolist(), found.bound, found.exact, 0)

    def upper(self, i: int) -> UpperRows:
        """The rows of one input, all of them upper bounds."""
        from scipy.sparse import vstack

        rows = self.compiled.rows
        at = np.flatnonzero((rows.owner == i) & (self.penalty > 0))
        a, b = rows.offsets[i], rows.offsets[i + 1]
        matrix, bound, penalty = rows.matrix[at][:, a:b], rows.bound[at], self.penalty[at]
        above, below = rows.high[at] > 0, rows.low[at] < 0
        both: Any = vstack([matrix[above], -matrix[below]], format="csr")
        return UpperRows(
            both, np.concatenate((bound[above], -bound[below])), np.concatenate((penalty[above], penalty[below]))
        )

    def conflict(self, scores: FlatParts, index: int) -> Infeasible:
        """Name an input without an output, and few hard rules that cannot hold together there."""
        structure, alone = self.compiled.structure, scores.sequences(index, index + 1)
        one = self.compiled.rows.take(np.array([index]))
        here = np.flatnonzero(self.compiled.rows.owner == index)
        rule, penalty = self.compiled.row_rule[here], self.penalty[here]
        hard = sorted(set(rule[np.isinf(penalty)].tolist()))
        some = replace(self.compiled, rows=one, blank=self.compiled.blank.sequences(index, index + 1))
        end = monotonic() + _ALL_CONFLICT_SECONDS
        flat = alone.changed(lambda values: np.where(np.isfinite(values), 0.0, -np.inf))

        def impossible(rules: Sequence[int]) -> bool:
            only = WeighedPartRules(some, np.where(np.isin(rule, rules) & np.isinf(penalty), np.inf, 0.0))
            folded, _ = only.folded(flat)
            kept = replace(only, penalty=np.where(only.folding, 0.0, only.penalty))
            if not structure.best(*folded.of(0), 1):
                return True
            left = end - monotonic()
            if left <= 0:  # more rules are named than needed
                return False
            found = kept.search(structure, folded, 0, 1, min(left, _CONFLICT_SECONDS))
            return found.exact and not found.outputs

        if impossible([]):
            return Infeasible("has no output of finite score, even without rules", index)
        return contradiction(hard, impossible, self.compiled.rules, index)
