"""Semi-Markov recursions over batches of sequences stored flat (Sarawagi & Cohen 2004, Eq. 4 and section 3.2).

A boundary t lies before token t, so a sequence of n tokens has boundaries 0 to n. Every recursion alternates two steps:

    open    at boundary t a segment of label c opens after one of label a      labels² each
    close   a segment of label c and length m closes at boundary t             labels · max_length each

so a sequence costs n · (max_length · labels + labels²). Scores of first and last labels are part of opens[0] and
closes[n - 1]; `length` is (longest, labels).

Log-sums over prefixes and suffixes are kept as logarithms. With the prefix sums of the unary scores taken out, the sum
over the segments that close (or open) at a boundary is one of products of a number per boundary and one per length,
so exponentials are taken once a boundary, relative to a reference that follows the window. Such a sum is trusted where
it is at least FLOOR, when whatever vanished from it is far below rounding; else it is done again with a new reference,
and at last with one exponential each.
"""

import numpy as np

from .chain import draw, random_unit, sequence_stream
from .compiling import Flags, Floats, Ints, Longs, Stream, inner, kernel

FLOOR = 1e-150
# How far a value may exceed the reference: exp(SLACK) leaves room to add up.
SLACK = 200.0
# Log-probabilities below this are taken as zero.
LEAST = -80.0
# Prefix sums beyond this leave too few digits behind the point.
WIDEST = 1e10


@inner
def longest_of(lo: int, hi: int, offsets: Longs) -> int:
    """Most tokens of a sequence from lo to hi."""
    longest = 0
    for i in range(lo, hi):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


@inner
def write_segment(labels: Ints, first: int, last: int, c: int) -> None:
    """Tokens first to last - 1 as one segment: 2 * label, plus one where it begins."""
    for t in range(first, last):
        labels[t] = 2 * c
    labels[first] += 1


@inner
def closing_scores(t: int, c: int, u: Floats, length: Floats, opened: Floats, out: Floats) -> int:
    """out[m - 1] = opened[t - m, c] + Σ u + length score of the segment of m tokens up to boundary t; how many m."""
    most: int = min(length.shape[0], t)
    total = 0.0
    for m in range(1, most + 1):
        total += u[t - m, c]
        out[m - 1] = opened[t - m, c] + total + length[m - 1, c]
    return most


@inner
def pick(values: Floats, count: int, stream: Stream) -> int:
    """Place of the largest of the first `count` values: the first one, or with a stream one of them at random."""
    best, place, ties = -np.inf, 0, 0
    for j in range(count):
        v = values[j]
        if v > best:
            best, place, ties = v, j, 1
        elif v == best and len(stream) > 0 and v > -np.inf:
            ties += 1
            if random_unit(stream) * ties < 1.0:
                place = j
    return place


@inner
def best_segments(
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    length: Floats,
    opened: Floats,
    closed: Floats,
    cells: Floats,
    labels: Ints,
    stream: Stream,
) -> float:
    """The best segmentation of one sequence: writes `labels`, returns its score.

    opened: (n, L) and closed: (n + 1, L) are the best prefixes, cells: (M or L,) a workspace. No back pointers: the
    way back redoes one maximum a segment, where equal maxima are broken at random if a stream is given.
    """
    n, L = u.shape
    M = length.shape[0]
    for t in range(n + 1):
        for c in range(L):
            closed[t, c] = -np.inf
            cells[c] = 0.0
        for m in range(1, min(M, t) + 1):
            for c in range(L):
                cells[c] += u[t - m, c]
                v = opened[t - m, c] + cells[c] + length[m - 1, c]
                closed[t, c] = v if v > closed[t, c] else closed[t, c]
        if t > 0:
            for c in range(L):
                closed[t, c] += closes[t - 1, c]
        if t == n:
            break
        if t == 0:
            for c in range(L):
                opened[0, c] = opens[0, c]
            continue
        for c in range(L):
            opened[t, c] = -np.inf
        for a in range(L):
            before = closed[t, a]
            if before == -np.inf:
                continue
            for c in range(L):
                v = before + pair[a, c]
                opened[t, c] = v if v > opened[t, c] else opened[t, c]
        for c in range(L):
            opened[t, c] += opens[t, c]
    t = n
    c = pick(closed[n], L, stream)
    best: float = closed[n, c]
    if best == -np.inf:
        return best
    while t > 0:
        most = closing_scores(t, c, u, length, opened, cells)
        m = pick(cells, most, stream) + 1
        write_segment(labels, t - m, t, c)
        t -= m
        if t > 0:
            for a in range(L):
                cells[a] = closed[t, a] + pair[a, c]
            c = pick(cells, L, stream)
    return best


@kernel
def best_segmentations(
    lo: int,
    hi: int,
    offsets: Longs,
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    length: Floats,
    seed: int,
    labels: Ints,
    scores: Floats,
) -> None:
    """`best_segments` for sequences lo to hi. A seed below 0 breaks ties by the lowest label and length."""
    L = u.shape[1]
    longest = longest_of(lo, hi, offsets)
    opened, closed = np.empty((longest + 1, L)), np.empty((longest + 1, L))
    cells = np.empty(max(length.shape[0], L))
    stream = np.empty(0, np.uint64)
    for i in range(lo, hi):
        p, q = offsets[i], offsets[i + 1]
        if seed >= 0:
            stream = sequence_stream(seed, i)
        scores[i] = best_segments(
            u[p:q], opens[p:q], closes[p:q], pair, length, opened, closed, cells, labels[p:q], stream
        )


@inner
def k_best_segments(
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    length: Floats,
    k: int,
    labels: Ints,
    scores: Floats,
) -> None:
    """The k best segmentations of one sequence: labels (k, n), scores (k,); -1 and -inf where there are fewer.

    Every state keeps its k best prefixes in order, with where they came from: the rank and label (opened) or the rank
    and length (closed) of the prefix before.
    """
    n, L = u.shape
    M = length.shape[0]
    opened, closed = np.full((n, L, k), -np.inf), np.full((n + 1, L, k), -np.inf)
    opened_from, closed_from = np.zeros((n, L, k), np.int32), np.zeros((n + 1, L, k), np.int32)
    gain = np.empty(max(M, L))
    head = np.empty(max(M, L), np.int64)
    for t in range(n + 1):
        for c in range(L):
            most = min(M, t)
            total = closes[t - 1, c] if t > 0 else 0.0
            for m in range(1, most + 1):
                total += u[t - m, c]
                gain[m - 1] = total + length[m - 1, c]
                head[m - 1] = 0
            for r in range(k):
                best, which = -np.inf, -1
                for j in range(most):
                    if head[j] < k:
                        v = opened[t - 1 - j, c, head[j]] + gain[j]
                        if v > best:
                            best, which = v, j
                if which < 0:
                    break
                closed[t, c, r] = best
                closed_from[t, c, r] = which * k + head[which]
                head[which] += 1
        if t == n:
            break
        for c in range(L):
            if t == 0:
                opened[0, c, 0] = opens[0, c]
                continue
            for a in range(L):
                head[a] = 0
            for r in range(k):
                best, which = -np.inf, -1
                for a in range(L):
                    if head[a] < k:
                        v = closed[t, a, head[a]] + pair[a, c]
                        if v > best:
                            best, which = v, a
                if which < 0:
                    break
                opened[t, c, r] = best + opens[t, c]
                opened_from[t, c, r] = which * k + head[which]
                head[which] += 1
    for c in range(L):
        head[c] = 0
    for r in range(k):
        best, which = -np.inf, -1
        for c in range(L):
            if head[c] < k and closed[n, c, head[c]] > best:
                best, which = closed[n, c, head[c]], c
        scores[r] = best
        if which < 0:
            labels[r] = -1
            continue
        t, c, rank = n, which, head[which]
        head[which] += 1
        while t > 0:
            code = closed_from[t, c, rank]
            m, rank = code // k + 1, code % k
            write_segment(labels[r], t - m, t, c)
            t -= m
            code = opened_from[t, c, rank]
            c, rank = code // k, code % k


@kernel
def k_best_segmentations(
    lo: int,
    hi: int,
    offsets: Longs,
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    length: Floats,
    k: int,
    labels: Ints,
    scores: Floats,
) -> None:
    """`k_best_segments` for sequences lo to hi; labels: (k, tokens), scores: (sequences, k)."""
    for i in range(lo, hi):
        p, q = offsets[i], offsets[i + 1]
        k_best_segments(u[p:q], opens[p:q], closes[p:q], pair, length, k, labels[:, p:q], scores[i])


@inner
def exponentials(table: Floats, e_table: Floats, tops: Floats) -> None:
    """exp(table - tops) with the largest entry of each column as `tops`, or zero where there is none."""
    R, L = table.shape
    for c in range(L):
        tops[c] = -np.inf
        for r in range(R):
            tops[c] = max(tops[c], table[r, c])
        if tops[c] == -np.inf:
            tops[c] = 0.0
        for r in range(R):
            e_table[r, c] = np.exp(table[r, c] - tops[c])


@inner
def rebase(c: int, lo: int, hi: int, logs: Floats, linear: Floats, reference: Floats) -> None:
    """Make the largest of logs[lo:hi, c] the reference, and linear = exp(logs - reference) there."""
    top = -np.inf
    for x in range(lo, hi):
        top = max(top, logs[x, c])
    reference[c] = top
    for x in range(lo, hi):
        linear[x, c] = np.exp(logs[x, c] - top) if top > -np.inf else 0.0


@inner
def enter(x: int, c: int, value: float, lo: int, hi: int, logs: Floats, linear: Floats, reference: Floats) -> None:
    """A new boundary x of the window lo to hi - 1."""
    logs[x, c] = value
    if value > reference[c] + SLACK:
        rebase(c, lo, hi, logs, linear, reference)
    else:
        linear[x, c] = np.exp(value - reference[c]) if value > -np.inf else 0.0


@inner
def log_window_sum(at: int, c: int, lo: int, hi: int, logs: Floats, length: Floats) -> float:
    """log Σ exp(logs[x, c] + score of the length |at - x|) over lo <= x < hi, whatever the sizes of the scores."""
    top = -np.inf
    for x in range(lo, hi):
        top = max(top, logs[x, c] + length[abs(at - x) - 1, c])
    if top == -np.inf:
        return top
    total = 0.0
    for x in range(lo, hi):
        total += np.exp(logs[x, c] + length[abs(at - x) - 1, c] - top)
    value: float = top + np.log(total)
    return value


@inner
def window_sums(
    at: int,
    lo: int,
    hi: int,
    logs: Floats,
    linear: Floats,
    reference: Floats,
    length: Floats,
    e_length: Floats,
    tops: Floats,
    sums: Floats,
    out: Floats,
) -> None:
    """`log_window_sum` of every label into `out`, by sums of products.

    sums: (L,) the sums of linear * e_length, below FLOOR where they could not be trusted even with a new reference.
    """
    L = len(sums)
    for c in range(L):
        sums[c] = 0.0
    for x in range(lo, hi):
        values, weights = linear[x], e_length[abs(at - x) - 1]
        for c in range(L):
            sums[c] += values[c] * weights[c]
    for c in range(L):
        if sums[c] < FLOOR:
            rebase(c, lo, hi, logs, linear, reference)
            for x in range(lo, hi):
                sums[c] += linear[x, c] * e_length[abs(at - x) - 1, c]
        if sums[c] < FLOOR:
            out[c] = log_window_sum(at, c, lo, hi, logs, length)
        else:
            out[c] = np.log(sums[c]) + reference[c] + tops[c]


@inner
def forward(
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    e_pair: Floats,
    pair_top: Floats,
    length: Floats,
    e_length: Floats,
    length_top: Floats,
    prefix: Floats,
    alpha: Floats,
    beta: Floats,
    logs: Floats,
    linear: Floats,
    rows: Floats,
) -> float:
    """Log-sums over prefixes, and the log-partition.

    alpha: (n, L) those in which a segment opens at t, its first token's score included; beta: (n + 1, L) those in
    which one closes at t; prefix: (n + 1, L) sums of the finite unary scores before t. logs, linear: (n + 1, L) and
    rows: (4, L) are workspaces; logs holds alpha - prefix, or -inf once a forbidden token lies in between.
    """
    n, L = u.shape
    M = length.shape[0]
    reference, sums, out, e_beta = rows[0], rows[1], rows[2], rows[3]
    for c in range(L):
        reference[c] = -np.inf
        prefix[0, c] = 0.0
        beta[0, c] = -np.inf
    for t in range(n + 1):
        lo = max(0, t - M)
        if t > 0:
            for c in range(L):
                finite = u[t - 1, c] > -np.inf
                prefix[t, c] = prefix[t - 1, c] + (u[t - 1, c] if finite else 0.0)
                if not finite:
                    for x in range(lo, t):
                        logs[x, c] = -np.inf
                        linear[x, c] = 0.0
            window_sums(t, lo, t, logs, linear, reference, length, e_length, length_top, sums, out)
            for c in range(L):
                beta[t, c] = out[c] + prefix[t, c] + closes[t - 1, c]
        if t == n:
            break
        top = -np.inf
        for c in range(L):
            top = max(top, beta[t, c])
        for c in range(L):
            e_beta[c] = np.exp(beta[t, c] - top) if top > -np.inf else 0.0
            sums[c] = 0.0
        for a in range(L):
            for c in range(L):
                sums[c] += e_beta[a] * e_pair[a, c]
        for c in range(L):
            if t == 0:
                alpha[0, c] = opens[0, c]
            elif sums[c] >= FLOOR:
                alpha[t, c] = np.log(sums[c]) + top + pair_top[c] + opens[t, c]
            else:
                alpha[t, c] = log_sum_pairs(beta[t], pair[:, c]) + opens[t, c]
            enter(t, c, alpha[t, c] - prefix[t, c], max(0, t + 1 - M), t + 1, logs, linear, reference)
    return log_sum_pairs(beta[n], np.zeros(L))


@inner
def log_sum_pairs(one: Floats, other: Floats) -> float:
    """log Σ exp(one + other)."""
    top = -np.inf
    for c in range(len(one)):
        top = max(top, one[c] + other[c])
    if top == -np.inf:
        return top
    total = 0.0
    for c in range(len(one)):
        total += np.exp(one[c] + other[c] - top)
    value: float = top + np.log(total)
    return value


@inner
def backward(
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    e_pair: Floats,
    pair_top: Floats,
    length: Floats,
    e_length: Floats,
    length_top: Floats,
    log_partition: float,
    prefix: Floats,
    alpha: Floats,
    beta: Floats,
    logs: Floats,
    linear: Floats,
    rows: Floats,
    on_token: Floats,
    on_open: Floats,
    on_close: Floats,
    on_pair: Floats,
    on_length: Floats,
) -> None:
    """Marginals from `forward`'s sums.

    logs: what follows a segment that closes at t, the score of its last token and `prefix` included. A token's marginal
    is the sum of those of the segments that cover it, added up from the longest, so it needs no differences.
    """
    n, L = u.shape
    M = length.shape[0]
    reference, sums, out, weight = rows[0], rows[1], rows[2], rows[3]
    for table in (on_token, on_open, on_close, on_pair, on_length):
        clear(table)
    for c in range(L):
        reference[c] = -np.inf
        enter(n, c, prefix[n, c] + closes[n - 1, c], n, n + 1, logs, linear, reference)
    for t in range(n - 1, -1, -1):
        hi = min(n, t + M) + 1
        for c in range(L):
            if u[t, c] == -np.inf:
                for x in range(t + 1, hi):
                    logs[x, c] = -np.inf
                    linear[x, c] = 0.0
        window_sums(t, t + 1, hi, logs, linear, reference, length, e_length, length_top, sums, out)
        likely = False
        for c in range(L):
            chance = alpha[t, c] - prefix[t, c] + out[c] - log_partition
            weight[c] = 0.0
            if chance > LEAST:
                on_open[t, c] = np.exp(chance)
                if sums[c] >= FLOOR:
                    weight[c] = on_open[t, c] / sums[c]
                    likely = True
                else:
                    base = alpha[t, c] - prefix[t, c] - log_partition
                    spread_by_logs(t, c, hi, base, logs, length, on_token, on_close, on_length)
            out[c] += opens[t, c] - prefix[t, c] + pair_top[c]
        if likely:
            for c in range(L):
                sums[c] = 0.0
            for x in range(hi - 1, t, -1):
                values, weights = linear[x], e_length[x - t - 1]
                lengths, tokens, ends = on_length[x - t - 1], on_token[x - 1], on_close[x - 1]
                for c in range(L):
                    mass = weight[c] * values[c] * weights[c]
                    sums[c] += mass
                    lengths[c] += mass
                    ends[c] += mass
                    tokens[c] += sums[c]
        if t == 0:
            break
        open_pairs(t, out, pair, e_pair, pair_top, log_partition, beta[t], weight, sums, on_pair)
        for a in range(L):
            value = sums[a] + prefix[t, a] + closes[t - 1, a]
            enter(t, a, value, t, min(n, t - 1 + M) + 1, logs, linear, reference)


@inner
def spread_by_logs(
    t: int,
    c: int,
    hi: int,
    base: float,
    logs: Floats,
    length: Floats,
    on_token: Floats,
    on_close: Floats,
    on_length: Floats,
) -> None:
    """Marginals of the segments of label c that open at t, one exponential each."""
    covered = 0.0
    for x in range(hi - 1, t, -1):
        mass = np.exp(base + logs[x, c] + length[x - t - 1, c])
        covered += mass
        on_length[x - t - 1, c] += mass
        on_close[x - 1, c] += mass
        on_token[x - 1, c] += covered


@inner
def open_pairs(
    t: int,
    following: Floats,
    pair: Floats,
    e_pair: Floats,
    pair_top: Floats,
    log_partition: float,
    closed: Floats,
    e_following: Floats,
    out: Floats,
    on_pair: Floats,
) -> None:
    """out[a] = log Σ_c exp(pair[a, c] + what follows label c), and the marginals of the pairs that meet at t.

    following: (L,) with pair_top added already; e_following is a workspace.
    """
    L = len(out)
    top = -np.inf
    for c in range(L):
        top = max(top, following[c])
    for c in range(L):
        e_following[c] = np.exp(following[c] - top) if top > -np.inf else 0.0
    for a in range(L):
        total = 0.0
        for c in range(L):
            total += e_pair[a, c] * e_following[c]
        if total >= FLOOR:
            out[a] = np.log(total) + top
            chance = closed[a] + out[a] - log_partition
            if chance > LEAST:
                factor = np.exp(chance) / total
                for c in range(L):
                    on_pair[a, c] += factor * e_pair[a, c] * e_following[c]
            continue
        for c in range(L):
            following[c] -= pair_top[c]
        out[a] = log_sum_pairs(pair[a], following)
        if closed[a] + out[a] - log_partition > LEAST:
            for c in range(L):
                on_pair[a, c] += np.exp(closed[a] + pair[a, c] + following[c] - log_partition)
        for c in range(L):
            following[c] += pair_top[c]


@inner
def clear(table: Floats) -> None:
    """All zero."""
    for r in range(table.shape[0]):
        for c in range(table.shape[1]):
            table[r, c] = 0.0


@inner
def weighted_sum(scores: Floats, mass: Floats) -> float:
    """Σ scores * mass over two tables, where no mass counts zero whatever the score."""
    total = 0.0
    for r in range(scores.shape[0]):
        for c in range(scores.shape[1]):
            if mass[r, c] > 0.0:
                total += scores[r, c] * mass[r, c]
    return total


@kernel
def log_forward_backwards(
    lo: int,
    hi: int,
    offsets: Longs,
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    length: Floats,
    trusted: Flags,
    log_partition: Floats,
    expected: Floats,
    on_token: Floats,
    on_open: Floats,
    on_close: Floats,
    on_pair: Floats,
    on_length: Floats,
) -> None:
    """`scaled_segments.forward_backward` for those of sequences lo to hi that are not trusted, for scores of any size.

    NaN where prefix sums are beyond WIDEST, or no numbers.
    """
    L, M = u.shape[1], length.shape[0]
    space = np.empty((5, longest_of(lo, hi, offsets) + 1, L))
    prefix, alpha, beta, logs, linear = space[0], space[1], space[2], space[3], space[4]
    rows, pair_top, length_top = np.empty((4, L)), np.empty(L), np.empty(L)
    e_pair, e_length = np.empty((L, L)), np.empty((M, L))
    exponentials(pair, e_pair, pair_top)
    exponentials(length, e_length, length_top)
    pairs, lengths = np.empty((L, L)), np.empty((M, L))
    for i in range(lo, hi):
        if trusted[i]:
            continue
        p, q = offsets[i], offsets[i + 1]
        z = forward(
            u[p:q], opens[p:q], closes[p:q], pair, e_pair, pair_top, length, e_length, length_top,
            prefix, alpha, beta, logs, linear, rows,
        )  # fmt: skip
        for c in range(L):
            if abs(prefix[q - p, c]) > WIDEST:
                z = np.nan
        log_partition[i] = z
        if np.isnan(z):
            for t in range(p, q):
                for c in range(L):
                    on_token[t, c] = np.nan
        if not z > -np.inf:
            continue
        backward(
            u[p:q], opens[p:q], closes[p:q], pair, e_pair, pair_top, length, e_length, length_top, z,
            prefix, alpha, beta, logs, linear, rows, on_token[p:q], on_open[p:q], on_close[p:q], pairs, lengths,
        )  # fmt: skip
        if len(expected) > 0:
            expected[i] = weighted_sum(u[p:q], on_token[p:q])
            expected[i] += weighted_sum(opens[p:q], on_open[p:q]) + weighted_sum(closes[p:q], on_close[p:q])
            expected[i] += weighted_sum(pair, pairs) + weighted_sum(length, lengths)
        for r in range(L):
            for c in range(L):
                on_pair[r, c] += pairs[r, c]
        for r in range(min(M, q - p)):
            for c in range(L):
                on_length[r, c] += lengths[r, c]


@kernel
def sample_segmentations(
    lo: int,
    hi: int,
    offsets: Longs,
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    length: Floats,
    draws: int,
    seed: int,
    labels: Ints,
) -> None:
    """Exact samples of sequences lo to hi by forward filtering and backward sampling; labels: (draws, tokens)."""
    L, M = u.shape[1], length.shape[0]
    space = np.empty((5, longest_of(lo, hi, offsets) + 1, L))
    prefix, alpha, beta, logs, linear = space[0], space[1], space[2], space[3], space[4]
    rows, pair_top, length_top = np.empty((4, L)), np.empty(L), np.empty(L)
    e_pair, e_length = np.empty((L, L)), np.empty((M, L))
    exponentials(pair, e_pair, pair_top)
    exponentials(length, e_length, length_top)
    chance = np.empty(max(M, L))
    for i in range(lo, hi):
        p, q = offsets[i], offsets[i + 1]
        n = q - p
        stream = sequence_stream(seed, i)
        forward(
            u[p:q], opens[p:q], closes[p:q], pair, e_pair, pair_top, length, e_length, length_top,
            prefix, alpha, beta, logs, linear, rows,
        )  # fmt: skip
        for d in range(draws):
            t = n
            c = draw(beta[n], chance, stream)
            while t > 0:
                most = closing_scores(t, c, u[p:q], length, alpha, chance)
                m = draw(chance[:most], chance, stream) + 1
                write_segment(labels[d, p:q], t - m, t, c)
                t -= m
                if t > 0:
                    for a in range(L):
                        chance[a] = beta[t, a] + pair[a, c]
                    c = draw(chance[:L], chance, stream)
