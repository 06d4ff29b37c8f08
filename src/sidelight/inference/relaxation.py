"""The projection at temperature zero: a linear program over the marginals of chains, solved by HiGHS.

    min over μ, ξ   Σ_i [log Z(θ) - θ·μ_i] + cost(ξ)      s.t.  Aμ - b <= ξ,  μ in the marginal polytope

(Eq. 4.6 of Chang 2011, and Eq. 12 of Dhillon et al. 2012.) For chains the polytope is that of flows. A sequence whose
best output already satisfies its rows needs no program; without rows about the corpus every other one has its own.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import Infeasible, NotSupported, SidelightError
from ..kernels.compiling import Floats, Longs
from ..kernels.tilting import Entries
from ..structures.chain import Chain, ChainParts
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
            token, flow, lam, gain = _program(theta, some, slack, first)
            a, b = scores.offsets[first], scores.offsets[last]
            old = Chain(1).indicator(theta, best.outputs.values[a:b])
            unary[a:b] = token
            pair += _by_type(theta, flow) - old.pair
            value += gain - float(best.scores[first:last].sum())
            at = slice(None) if chosen is None else slice(first * len(rows.about_each), last * len(rows.about_each))
            prices[at], expected[at] = lam, _matrix(some, theta) @ np.concatenate((token.ravel(), flow.ravel()))
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


def _program(scores: ChainParts, rows: Rows, slack: Slack, first: int) -> tuple[Floats, Floats, Floats, float]:
    """Token marginals (tokens, L), pair marginals (inner tokens, L, L), prices, and θ·μ less the cost of slack."""
    from scipy.optimize import linprog

    tokens, L = scores.unary.shape
    follows = _follows(scores)
    unary = scores.unary.copy()
    unary[scores.offsets[:-1]] += scores.start
    unary[scores.offsets[1:] - 1] += scores.end
    gain = np.concatenate((unary.ravel(), scores.pair[scores.pair_type[follows]].ravel()))
    width, r = len(gain), len(rows)
    A = _matrix(rows, scores)
    scale = rows.penalty * (rows.copies if slack.penalty is not None else 1.0)
    # ξ = above - below, both at least zero; `top` bounds their norm, group by group or for all.
    group = rows.group if slack.norm == "group" else np.zeros(r, np.int64)
    tops = 0 if slack.none else int(group.max()) + 1 if slack.norm in ("linf", "group") else 0
    free = 0 if slack.none else r
    cost = np.concatenate((-np.where(np.isfinite(gain), gain, 0.0), np.zeros(2 * free + tops)))
    total = np.zeros_like(cost)
    total[width + 2 * free :] = 1.0
    if slack.norm == "l1" and free:
        total[width : width + 2 * free] = np.tile(scale, 2)
    if slack.penalty is not None:
        cost += slack.penalty * total
    eye = sparse.eye_array(r, format="csr")[:, :free]
    slacked = sparse.hstack((A, -eye, eye, sparse.csr_array((r, tops))), format="csr")
    upper, lower = rows.high > 0, rows.low < 0
    below = [slacked[upper & ~lower], -slacked[lower & ~upper]]
    limits = [rows.bound[upper & ~lower], -rows.bound[lower & ~upper]]
    if tops:
        choose = sparse.csr_array((np.ones(r), (np.arange(r), group)), shape=(r, tops))
        weigh = sparse.diags_array(scale)
        below += [sparse.hstack((sparse.csr_array((r, width)), weigh, weigh, -choose), format="csr")]
        limits += [np.zeros(r)]
    if slack.bound:
        below.append(sparse.csr_array(total[None]))
        limits.append(np.array([slack.bound]))
    flows, ones = _flows(scores, len(cost))
    equal = sparse.vstack((flows, slacked[upper & lower]), format="csr")
    most = np.concatenate((np.where(np.isfinite(gain), 1.0, 0.0), np.full(2 * free + tops, np.inf)))
    box: Any = np.stack((np.zeros_like(most), most), axis=1)
    ends = np.concatenate((ones, rows.bound[upper & lower]))
    answer: Any = linprog(
        cost, sparse.vstack(below, format="csr"), np.concatenate(limits), equal, ends, box, method="highs"
    )
    if answer.status == 2:
        guilty = named(rows, np.ones(r))
        if len(scores) == 1:
            raise Infeasible(f"has no distribution that satisfies {guilty}; allow slack", first)
        raise Infeasible(f"no distribution satisfies {guilty}; allow some slack, or more")
    if answer.status != 0:
        raise SidelightError(f"the linear program ended with: {answer.message}")
    lam = np.zeros(r)
    many = int((upper & ~lower).sum())
    lam[upper & ~lower] = -answer.ineqlin.marginals[:many]
    lam[lower & ~upper] = answer.ineqlin.marginals[many : many + int((lower & ~upper).sum())]
    lam[upper & lower] = -answer.eqlin.marginals[len(ones) :]
    token = answer.x[: tokens * L].reshape(tokens, L)
    return token, answer.x[tokens * L : width].reshape(-1, L, L), lam, -float(answer.fun)


def _follows(scores: ChainParts) -> Longs:
    """Positions with another before them."""
    inner = np.ones(len(scores.unary), bool)
    inner[scores.offsets[:-1]] = False
    return np.flatnonzero(inner)


def _by_type(scores: ChainParts, flow: Floats) -> Floats:
    out = np.zeros_like(scores.pair)
    np.add.at(out, scores.pair_type[_follows(scores)], flow)
    return out


def _flows(scores: ChainParts, width: int) -> tuple[Any, Floats]:
    """One label at a first token; pairs agree with the labels of both tokens."""
    tokens, L = scores.unary.shape
    follows, heads = _follows(scores), scores.offsets[:-1]
    pair = tokens * L + np.arange(len(follows) * L * L).reshape(-1, L, L)
    rows = [np.repeat(np.arange(len(heads)), L)]
    columns = [(heads[:, None] * L + np.arange(L)).ravel()]
    values = [np.ones(len(heads) * L)]
    start = len(heads)
    for at, table in ((follows, pair.transpose(0, 2, 1)), (follows - 1, pair)):
        number = start + np.arange(len(follows) * L)
        rows += [np.repeat(number, L), number]
        columns += [table.reshape(-1), (at[:, None] * L + np.arange(L)).ravel()]
        values += [np.ones(len(number) * L), -np.ones(len(number))]
        start += len(number)
    matrix = sparse.csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(start, width)
    )
    return matrix, np.concatenate((np.ones(len(heads)), np.zeros(start - len(heads))))


def _matrix(rows: Rows, scores: ChainParts) -> Any:
    """All rows over token and pair variables."""
    L, follows = rows.labels, _follows(scores)
    tokens = len(scores.unary)
    sequence = np.repeat(np.arange(rows.sequences), np.diff(rows.offsets))
    found: list[tuple[Longs, Longs, Floats]] = []
    for tables, corpus in ((rows.shared, True), (rows.single, False)):
        for entries, code, at, base in (
            (tables.unary, tables.code, sequence, np.arange(tokens) * L),
            (tables.pair, rows.types[follows], sequence[follows], tokens * L + np.arange(len(follows)) * L * L),
        ):
            position, entry = _places(entries, code)
            row = entries.row[entry].astype(np.int64)
            row = row if corpus else rows.joint + at[position] * len(rows.about_each) + row
            found.append((row, base[position] + entries.cell[entry], entries.value[entry]))
    row, column, value = (np.concatenate([f[k] for f in found]) for k in range(3))
    return sparse.csr_array((value, (row, column)), shape=(len(rows), tokens * L + len(follows) * L * L))


def _places(entries: Entries, code: Sequence[int] | Any) -> tuple[Longs, Longs]:
    """Every entry of every position: the position's number and the entry's."""
    size = np.diff(entries.pointer)[code]
    position = np.repeat(np.arange(len(size)), size)
    within = np.arange(len(position)) - np.repeat(np.cumsum(size) - size, size)
    return position, entries.pointer[np.asarray(code)][position] + within
