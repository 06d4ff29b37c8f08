"""Plain NumPy twins of the kernels, for tests: one sequence at a time, in log space, no tricks."""

import numpy as np

from .compiling import Floats, Ints


def _grid(u: Floats, arcs: Floats, types: Ints, t: int) -> Floats:
    """Arc scores into position t with its unary scores: (b, a, c)."""
    step: Floats = arcs[min(t, 2) - 1, types[t]] + u[t]
    return step


def _log_sum_exp(values: Floats, axis: int) -> Floats:
    high = values.max(axis=axis, keepdims=True)
    high[high == -np.inf] = 0.0
    with np.errstate(divide="ignore"):
        total: Floats = np.log(np.exp(values - high).sum(axis=axis)) + high.squeeze(axis)
    return total


def best_path(u: Floats, arcs: Floats, types: Ints, start: Floats, end: Floats) -> tuple[Ints, float]:
    """Viterbi with back pointers; layouts as in `kernels.chain`."""
    n, L = u.shape
    B = arcs.shape[2]
    delta = np.full((B, L), -np.inf)
    delta[0] = u[0] + start
    back = []
    for t in range(1, n):
        before = delta.reshape(L, B).T[:, :, None] if B > 1 else delta[:, :, None]  # (b, a, 1)
        reach = before + _grid(u, arcs, types, t)
        back.append(reach.argmax(axis=1))
        delta = reach.max(axis=1)
    final = (delta + end).ravel()
    state = int(final.argmax())
    labels = [state % L]
    for pointer in reversed(back):
        b, c = state // L, state % L
        state = int(pointer[b, c]) * B + b
        labels.append(state % L)
    return np.array(labels[::-1], np.int32), float(final.max())


def marginals(u: Floats, arcs: Floats, types: Ints, start: Floats, end: Floats) -> tuple[float, Floats, Floats]:
    """Log-partition, state marginals (n, L) and arc marginals (n, B, L, L) by forward and backward sums."""
    n, L = u.shape
    B = arcs.shape[2]

    def as_beginning(state: Floats) -> Floats:
        """(B, L) as end of an arc -> (b, a) as its beginning."""
        return state.reshape(L, B).T if B > 1 else state

    alpha = [np.full((B, L), -np.inf)]
    alpha[0][0] = u[0] + start
    for t in range(1, n):
        alpha.append(_log_sum_exp(as_beginning(alpha[-1])[:, :, None] + _grid(u, arcs, types, t), axis=1))
    log_partition = float(_log_sum_exp((alpha[-1] + end).reshape(1, -1), axis=1)[0])
    beta = np.broadcast_to(end, (B, L))
    gamma, xi = np.zeros((n, L)), np.zeros((n, B, L, L))
    for t in range(n - 1, -1, -1):
        gamma[t] = np.exp(alpha[t] + beta - log_partition).sum(axis=0)
        if t > 0:
            onward = _grid(u, arcs, types, t) + beta[:, None, :]
            xi[t] = np.exp(as_beginning(alpha[t - 1])[:, :, None] + onward - log_partition)
            back = _log_sum_exp(onward, axis=2)  # (b, a)
            beta = back.T.reshape(B, L) if B > 1 else back
    return log_partition, gamma, xi


def tangents(
    u: Floats, arcs: Floats, types: Ints, start: Floats, end: Floats,
    d: Floats, turn: Floats, kinds: Ints, first: Floats, last: Floats,
) -> tuple[float, Floats, Floats]:  # fmt: skip
    """E[δ·y], and Cov of δ·y with states (n, L) and arcs (n, B, L, L), from the marginals of neighbours.

    The mean direction of what comes before a state is a mean over its predecessors, and the same from behind.
    """
    n, L = u.shape
    B = arcs.shape[2]
    _, chance, xi = marginals(u, arcs, types, start, end)
    d = d.copy()
    d[0] += first
    d[-1] += last
    state = np.zeros((n, B, L))  # marginals of (b, c)
    state[0, 0] = chance[0]
    state[1:] = xi[1:].sum(axis=2)
    bend = [np.zeros((B, L, L))] + [turn[min(t, 2) - 1, kinds[t]] for t in range(1, n)]

    def share(part: Floats, whole: Floats) -> Floats:
        return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)

    def beginning(table: Floats) -> Floats:
        return table.reshape(L, B).T if B > 1 else table

    ahead, behind = np.zeros((n, B, L)), np.zeros((n, B, L))
    ahead[0, 0] = d[0]
    for t in range(1, n):
        p = share(xi[t], np.broadcast_to(state[t][:, None, :], xi[t].shape))
        ahead[t] = d[t] + (p * (beginning(ahead[t - 1])[:, :, None] + bend[t])).sum(axis=1)
    for t in range(n - 1, 0, -1):
        p = share(xi[t], np.broadcast_to(beginning(state[t - 1])[:, :, None], xi[t].shape))
        back = (p * (bend[t] + (d[t] + behind[t])[:, None, :])).sum(axis=2)  # (b, a)
        behind[t - 1] = back.T.reshape(B, L) if B > 1 else back
    slope = float((state[-1] * ahead[-1]).sum())
    states = (state * (ahead + behind - slope)).sum(axis=1)
    pairs = np.zeros_like(xi)
    for t in range(1, n):
        whole = beginning(ahead[t - 1])[:, :, None] + bend[t] + (d[t] + behind[t])[:, None, :]
        pairs[t] = xi[t] * (whole - slope)
    return slope, states, pairs


def segment_scores(u: Floats, opens: Floats, closes: Floats, length: Floats) -> Floats:
    """Scores of every segment (begin, length - 1, label), -inf for those that reach past the end.

    u, opens, closes: (n, L); length: (M, L); first and last labels' scores are part of opens and closes.
    """
    n, L = u.shape
    M = len(length)
    out = np.full((n, M, L), -np.inf)
    for b in range(n):
        for m in range(1, min(M, n - b) + 1):
            out[b, m - 1] = opens[b] + u[b : b + m].sum(axis=0) + closes[b + m - 1] + length[m - 1]
    return out


def best_segments(u: Floats, opens: Floats, closes: Floats, pair: Floats, length: Floats) -> tuple[Ints, float]:
    """Semi-Markov Viterbi with back pointers, over the table of all segments; the output as 2 * label + begins."""
    n, L = u.shape
    segment = segment_scores(u, opens, closes, length)
    best = np.full((n + 1, L), -np.inf)
    back: dict[tuple[int, int], tuple[int, int]] = {}
    for t in range(1, n + 1):
        for c in range(L):
            for m in range(1, min(len(length), t) + 1):
                reach = np.zeros(1) if m == t else best[t - m] + pair[:, c]
                value = float(reach.max() + segment[t - m, m - 1, c])
                if value > best[t, c]:
                    best[t, c] = value
                    back[t, c] = (m, int(reach.argmax()))
    outputs = np.empty(n, np.int32)
    t, c = n, int(best[n].argmax())
    while t > 0:
        m, before = back[t, c]
        outputs[t - m : t] = 2 * c
        outputs[t - m] += 1
        t, c = t - m, before
    return outputs, float(best[n].max())


def segment_marginals(
    u: Floats, opens: Floats, closes: Floats, pair: Floats, length: Floats
) -> tuple[float, Floats, Floats]:
    """Log-partition, the marginals of all segments (n, M, L) and those of neighbours (n, L, L), by where they meet."""
    n, L = u.shape
    M = len(length)
    segment = segment_scores(u, opens, closes, length)
    before = np.full((n + 1, L), -np.inf)  # prefixes, by the label of the segment that comes next
    closed = np.full((n + 1, L), -np.inf)
    before[0] = 0.0
    for t in range(1, n + 1):
        sizes = range(1, min(M, t) + 1)
        closed[t] = _log_sum_exp(np.stack([before[t - m] + segment[t - m, m - 1] for m in sizes]), axis=0)
        before[t] = _log_sum_exp(closed[t][:, None] + pair, axis=0)
    log_partition = float(_log_sum_exp(closed[n][None], axis=1)[0])
    after = np.full((n + 1, L), -np.inf)  # suffixes, by the label of the segment that came before
    after[n] = 0.0
    onward = np.full((n, L), -np.inf)
    for t in range(n - 1, -1, -1):
        sizes = range(1, min(M, n - t) + 1)
        onward[t] = _log_sum_exp(np.stack([segment[t, m - 1] + after[t + m] for m in sizes]), axis=0)
        after[t] = _log_sum_exp(pair + onward[t], axis=1)
    chance, meeting = np.zeros((n, M, L)), np.zeros((n, L, L))
    for b in range(n):
        for m in range(1, min(M, n - b) + 1):
            chance[b, m - 1] = np.exp(before[b] + segment[b, m - 1] + after[b + m] - log_partition)
        if b > 0:
            meeting[b] = np.exp(closed[b][:, None] + pair + onward[b] - log_partition)
    return log_partition, chance, meeting
