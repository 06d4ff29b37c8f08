"""The projection at temperature zero: a linear program over the marginals of chains.

    min over μ, ξ   Σ_i [log Z(θ) - θ·μ_i] + cost(ξ)      s.t.  Aμ - b <= ξ,  μ in the marginal polytope

(Eq. 4.6 of Chang 2011, and Eq. 12 of Dhillon et al. 2012.) The polytope is that of the chain's lattice: flows from
label to label, all of which are mixtures of outputs. A sequence whose best output already satisfies its rows needs no
program; without rows about the corpus every other one has its own.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..errors import Infeasible, NotSupported
from ..kernels.compiling import Floats, Ints, Longs
from ..kernels.tilting import Entries
from ..structures.chain import Chain, ChainParts
from ..structures.highs import HighsProgram, solve
from ..structures.polytope import LinearRows, Polytope
from .norms import Slack
from .projection import Projection, named
from .rows import Rows


def relax(
    scores: ChainParts,
    rows: Rows,
    slack: Slack = Slack(),  # noqa: B008
    *,
    log_partition: Floats | None = None,
    n_jobs: int = -1,
) -> Projection:
    """The best marginals under the rows; no slack, or linear: l1, linf or group."""
    require_linear(slack)
    rows.require(scores)
    if log_partition is None:
        log_partition = Chain(n_jobs).marginals(scores).log_partition
    best = Chain(n_jobs).argmax(scores)
    counted = rows.count(best.outputs.values)
    wrong = rows.excess(counted) != 0
    parts = Chain(n_jobs).indicator(scores, best.outputs.values)
    prices, expected, value = np.zeros(len(rows)), counted.copy(), float(best.scores.sum())
    alone = rows.joint == 0 and (slack.none or (slack.norm == "l1" and slack.penalty is not None))
    if wrong.any():
        chosen = np.flatnonzero(rows.split(wrong.astype(float))[1].any(axis=1)) if alone else None
        ranges = [(0, len(scores))] if chosen is None else [(i, i + 1) for i in chosen.tolist()]
        unary, pair = parts.unary.copy(), parts.pair.copy()
        for first, last in ranges:
            some, theta = rows.sequence_range(first, last), scores.sequences(first, last)
            at = slice(None) if chosen is None else slice(first * len(rows.about_each), last * len(rows.about_each))
            a, b = scores.offsets[first], scores.offsets[last]
            old = Chain(1).indicator(theta, best.outputs.values[a:b])
            unary[a:b], by_type, prices[at], expected[at], gain = _program(theta, some, slack, first)
            pair += by_type - old.pair
            value += gain - float(best.scores[first:last].sum())
        heads, tails = scores.offsets[:-1], scores.offsets[1:] - 1
        parts = replace(parts, unary=unary, pair=pair, start=unary[heads].sum(axis=0), end=unary[tails].sum(axis=0))
    divergence = float(log_partition.sum()) - scores.dot(parts)
    primal = float(log_partition.sum()) - value
    return Projection(parts, prices, expected, rows.excess(expected), divergence, primal, primal, 0.0, True, 0.0)


def require_linear(slack: Slack) -> None:
    """Raise unless there is no slack, or it is linear."""
    slack.check()
    if not slack.none and slack.norm not in ("l1", "linf", "group"):
        raise NotSupported(
            f"slack in the norm {slack.norm} makes no linear program; use l1, linf or group, or a temperature (gamma) "
            "above 0"
        )


@dataclass(frozen=True)
class _Flows:
    """The marginals of a batch of chains as variables of its polytope.

    token: (tokens, L), pair: (tokens, L, L), the variable of each part, -1 where it is forbidden.
    """

    polytope: Polytope[Ints]
    token: Longs
    pair: Longs

    @classmethod
    def of(cls, scores: ChainParts) -> "_Flows":
        lattice = scores.lattice()
        polytope, (segments, _) = lattice.polytope(), lattice.segments()
        assert polytope.steps is not None
        L = scores.labels
        token, pair = np.full(scores.unary.shape, -1), np.full((*scores.unary.shape, L), -1)
        first, _, label = segments.T
        at, before, after, variable = polytope.steps[polytope.steps[:, 1] < L].T
        token[first, label], pair[at, before, after] = polytope.choices, variable
        return cls(polytope, token, pair)

    def rows(self, rows: Rows) -> LinearRows:
        """Returns all rows over the variables, without slack."""
        L, sequence = rows.labels, np.repeat(np.arange(rows.sequences), np.diff(rows.offsets))
        follows = np.ones(len(self.token), bool)
        follows[rows.offsets[:-1]] = False
        every, inner = np.arange(len(self.token)), np.flatnonzero(follows)
        found: list[tuple[Longs, Longs, Floats]] = []
        for tables, corpus in ((rows.shared, True), (rows.single, False)):
            for entries, code, at, variables in (
                (tables.unary, tables.code, every, self.token),
                (tables.pair, rows.types[inner], inner, self.pair.reshape(-1, L * L)),
            ):
                position, entry = _places(entries, code)
                row = entries.row[entry].astype(np.int64)
                row = row if corpus else rows.joint + sequence[at[position]] * len(rows.about_each) + row
                found.append((row, variables[at[position], entries.cell[entry]], entries.value[entry]))
        row, variable, value = (np.concatenate([f[k] for f in found]) for k in range(3))
        may = variable >= 0
        low, high = np.where(rows.low < 0, rows.bound, -np.inf), np.where(rows.high > 0, rows.bound, np.inf)
        return LinearRows.of(low, high, row[may], variable[may], value[may])


def _program(scores: ChainParts, rows: Rows, slack: Slack, first: int) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Token marginals (tokens, L), pair marginals by type, prices, Aμ, and θ·μ less the cost of slack."""
    flows = _Flows.of(scores)
    polytope, stated = flows.polytope, flows.rows(rows)
    program = _with_slack(
        HighsProgram(polytope.scores, np.ones(len(polytope.scores)), stated + polytope.rows), rows, slack
    )
    try:
        best = solve(program)
    except Infeasible:
        guilty = named(rows, np.ones(len(rows)))
        if len(scores) == 1:
            raise Infeasible(f"has no distribution that satisfies {guilty}; allow slack", first) from None
        raise Infeasible(f"no distribution satisfies {guilty}; allow some slack, or more") from None
    assert best.values is not None
    mass = np.append(best.values, 0.0)  # for parts without a variable
    pair = np.zeros_like(scores.pair)
    np.add.at(pair, scores.pair_type, mass[flows.pair])
    return mass[flows.token], pair, best.prices[: len(rows)], stated.times(mass), best.objective


def _with_slack(program: HighsProgram, rows: Rows, slack: Slack) -> HighsProgram:
    """Returns the program with slack ξ = above - below in its first rows, and the cost or the bound of its norm.

    Both are at least zero; `top` is at least as large as either, for each group or for all, unless the norm is l1.
    """
    if slack.none:
        return program
    width, r = len(program.gain), len(rows)
    scale = rows.penalty * (rows.copies if slack.penalty is not None else 1.0)
    number = np.arange(r)
    above, below = width + number, width + r + number
    group = rows.group if slack.norm == "group" else np.zeros(r, np.int64)
    top = width + 2 * r + (np.empty(0, np.int64) if slack.norm == "l1" else np.arange(int(group.max()) + 1))
    total = np.concatenate((np.tile(scale if slack.norm == "l1" else np.zeros(r), 2), np.ones(len(top))))
    cost = 0.0 if slack.penalty is None else slack.penalty
    all_rows = program.rows.adding(np.tile(number, 2), np.concatenate((above, below)), np.repeat([-1.0, 1.0], r))
    if len(top):
        all_rows += LinearRows.of(
            np.full(r, -np.inf), np.zeros(r), np.tile(number, 3), np.concatenate((above, below, top[group])),
            np.concatenate((scale, scale, -np.ones(r))),
        )  # fmt: skip
    if slack.bound:
        all_rows += LinearRows.of(
            np.array([-np.inf]), np.array([slack.bound]), np.zeros(len(total), np.int64), width + np.arange(len(total)),
            total,
        )  # fmt: skip
    return HighsProgram(
        np.concatenate((program.gain, -cost * total)),
        np.concatenate((program.upper, np.full(len(total), np.inf))),
        all_rows,
    )


def _places(entries: Entries, code: Ints) -> tuple[Longs, Longs]:
    """Every entry of every position: the position's number and the entry's."""
    size = np.diff(entries.pointer)[code]
    position = np.repeat(np.arange(len(size)), size)
    within = np.arange(len(position)) - np.repeat(np.cumsum(size) - size, size)
    return position, entries.pointer[code][position] + within
