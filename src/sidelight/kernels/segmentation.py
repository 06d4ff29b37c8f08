"""Semi-Markov recursions over batches of sequences stored flat (Sarawagi & Cohen 2004, Eq. 4 and section 3.2).

A boundary t lies before token t, so a sequence of n tokens has boundaries 0 to n. Every recursion alternates two steps:

    open    at boundary t a segment of label c opens after one of label a      labels² each
    close   a segment of label c and length m closes at boundary t             labels · max_length each

so a sequence costs n · (max_length · labels + labels²). The score of a segment is added up token by token as its
length grows, so a forbidden token forbids every segment that covers it, and no prefix sums cancel.

All sums are done in log space. Cells are left out of a sum where they are below exp(-60) of its largest one, which is
far less than rounding.

Legend: u unary, opens and closes scores of a segment's first and last token, length (M, L) by length - 1 and label;
α open and β closed prefixes, B backward sums, δ best prefixes. Scores of first and last labels are part of opens[0]
and closes[n - 1].
"""

import numpy as np

from .chain import draw, random_unit, sequence_stream
from .compiling import Floats, Ints, Longs, Stream, kernel

LEAST = -60.0


@kernel
def longest_of(lo: int, hi: int, offsets: Longs) -> int:
    """Most tokens of a sequence from lo to hi."""
    longest = 0
    for i in range(lo, hi):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


@kernel
def write_segment(labels: Ints, first: int, last: int, c: int) -> None:
    """Tokens first to last - 1 as one segment: 2 * label, plus one where it begins."""
    for t in range(first, last):
        labels[t] = 2 * c
    labels[first] += 1


@kernel
def closing_scores(t: int, c: int, u: Floats, length: Floats, opened: Floats, out: Floats) -> int:
    """out[m - 1] = opened[t - m, c] + Σ u + length score of the segment of m tokens up to boundary t; how many m."""
    most: int = min(length.shape[0], t)
    total = 0.0
    for m in range(1, most + 1):
        total += u[t - m, c]
        out[m - 1] = opened[t - m, c] + total + length[m - 1, c]
    return most


@kernel
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


@kernel
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


@kernel
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


@kernel
def forward(
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    length: Floats,
    alpha: Floats,
    beta: Floats,
    cells: Floats,
    high: Floats,
    total: Floats,
) -> float:
    """Log-sums over prefixes, and the log-partition.

    alpha: (n, L) those in which a segment opens at t, its first token's score included; beta: (n + 1, L) those in
    which one closes at t. cells: (M, L), high, total: (L,) are workspaces.
    """
    n, L = u.shape
    M = length.shape[0]
    for t in range(n + 1):
        most = min(M, t)
        for c in range(L):
            high[c] = -np.inf
            total[c] = 0.0
        for m in range(1, most + 1):
            row = cells[m - 1]
            for c in range(L):
                total[c] += u[t - m, c]
                v = alpha[t - m, c] + total[c] + length[m - 1, c]
                row[c] = v
                high[c] = v if v > high[c] else high[c]
        for c in range(L):
            total[c] = 0.0
        for m in range(most):
            row = cells[m]
            for c in range(L):
                v = row[c] - high[c]
                if v > LEAST:
                    total[c] += np.exp(v)
        for c in range(L):
            beta[t, c] = high[c]
            if high[c] > -np.inf:
                beta[t, c] += np.log(total[c]) + closes[t - 1, c]
        if t == n:
            break
        if t == 0:
            for c in range(L):
                alpha[0, c] = opens[0, c]
            continue
        for c in range(L):
            top = -np.inf
            for a in range(L):
                v = beta[t, a] + pair[a, c]
                top = v if v > top else top
            alpha[t, c] = top
            if top > -np.inf:
                rest = 0.0
                for a in range(L):
                    v = beta[t, a] + pair[a, c] - top
                    if v > LEAST:
                        rest += np.exp(v)
                alpha[t, c] += np.log(rest) + opens[t, c]
    top = -np.inf
    for c in range(L):
        top = beta[n, c] if beta[n, c] > top else top
    if top == -np.inf:
        return top
    rest = 0.0
    for c in range(L):
        rest += np.exp(beta[n, c] - top)
    log_partition: float = top + np.log(rest)
    return log_partition


@kernel
def backward(
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    length: Floats,
    log_partition: float,
    alpha: Floats,
    beta: Floats,
    back: Floats,
    cells: Floats,
    high: Floats,
    total: Floats,
    on_token: Floats,
    on_open: Floats,
    on_close: Floats,
    on_pair: Floats,
    on_length: Floats,
) -> float:
    """Marginals from `forward`'s sums: writes those of tokens, adds those of pairs and lengths; the expected score.

    back: (n + 1, L) log-sums over what follows a segment that closes at t. A token's marginal is the sum of those of
    the segments that cover it, added up from the longest, so it needs no differences.
    """
    n, L = u.shape
    M = length.shape[0]
    expected = 0.0
    for t in range(n):
        for c in range(L):
            on_token[t, c] = 0.0
            on_open[t, c] = 0.0
            on_close[t, c] = 0.0
    for c in range(L):
        back[n, c] = 0.0
    for t in range(n - 1, -1, -1):
        most = min(M, n - t)
        for c in range(L):
            high[c] = -np.inf
            total[c] = 0.0
        for m in range(1, most + 1):
            row = cells[m - 1]
            for c in range(L):
                total[c] += u[t + m - 1, c]
                v = total[c] + length[m - 1, c] + closes[t + m - 1, c] + back[t + m, c]
                row[c] = v
                high[c] = v if v > high[c] else high[c]
        for c in range(L):
            rest = 0.0
            if high[c] == -np.inf:
                total[c] = -np.inf
                continue
            chance = alpha[t, c] + high[c] - log_partition
            weight = np.exp(chance) if chance > LEAST else 0.0
            if weight > 0.0:
                for m in range(most - 1, -1, -1):
                    v = cells[m, c] - high[c]
                    if v > LEAST:
                        v = np.exp(v)
                        rest += v
                        v *= weight
                        expected += v * (cells[m, c] - back[t + m + 1, c] + opens[t, c])
                        on_length[m, c] += v
                        on_close[t + m, c] += v
                    on_token[t + m, c] += rest * weight
                on_open[t, c] = rest * weight
            else:
                for m in range(most):
                    v = cells[m, c] - high[c]
                    if v > LEAST:
                        rest += np.exp(v)
            total[c] = high[c] + np.log(rest) + opens[t, c]
        if t == 0:
            break
        for a in range(L):
            top = -np.inf
            for c in range(L):
                v = pair[a, c] + total[c]
                top = v if v > top else top
            back[t, a] = top
            if top == -np.inf:
                continue
            chance = beta[t, a] + top - log_partition
            weight = np.exp(chance) if chance > LEAST else 0.0
            rest = 0.0
            for c in range(L):
                v = pair[a, c] + total[c] - top
                if v > LEAST:
                    v = np.exp(v)
                    rest += v
                    if weight > 0.0:
                        expected += v * weight * pair[a, c]
                        on_pair[a, c] += v * weight
            back[t, a] += np.log(rest)
    return expected


@kernel
def forward_backward(
    lo: int,
    hi: int,
    offsets: Longs,
    u: Floats,
    opens: Floats,
    closes: Floats,
    pair: Floats,
    length: Floats,
    log_partition: Floats,
    expected: Floats,
    on_token: Floats,
    on_open: Floats,
    on_close: Floats,
) -> tuple[Floats, Floats]:
    """Log-partitions, expected scores and marginals of sequences lo to hi; returns the sums of pairs and lengths."""
    L, M = u.shape[1], length.shape[0]
    longest = longest_of(lo, hi, offsets)
    alpha, beta, back = np.empty((longest + 1, L)), np.empty((longest + 1, L)), np.empty((longest + 1, L))
    cells, high, total = np.empty((M, L)), np.empty(L), np.empty(L)
    on_pair, on_length = np.zeros((L, L)), np.zeros((M, L))
    for i in range(lo, hi):
        p, q = offsets[i], offsets[i + 1]
        z = forward(u[p:q], opens[p:q], closes[p:q], pair, length, alpha, beta, cells, high, total)
        log_partition[i] = z
        if z > -np.inf:
            expected[i] = backward(
                u[p:q], opens[p:q], closes[p:q], pair, length, z, alpha, beta, back, cells, high, total,
                on_token[p:q], on_open[p:q], on_close[p:q], on_pair, on_length,
            )  # fmt: skip
    return on_pair, on_length


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
    longest = longest_of(lo, hi, offsets)
    alpha, beta = np.empty((longest + 1, L)), np.empty((longest + 1, L))
    cells, high, total = np.empty((M, L)), np.empty(L), np.empty(L)
    chance = np.empty(max(M, L))
    for i in range(lo, hi):
        p, q = offsets[i], offsets[i + 1]
        n = q - p
        stream = sequence_stream(seed, i)
        forward(u[p:q], opens[p:q], closes[p:q], pair, length, alpha, beta, cells, high, total)
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
