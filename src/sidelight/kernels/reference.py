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
