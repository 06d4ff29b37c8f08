"""Rules with their meaning written a second time, as plain Python over one input and one output.

Every maker returns a rule (or a count, or a condition) of the library together with a function that says what it means;
`random_rule` draws rules of every kind. A meaning takes the tokens x, the labels y, and the list of all labels.
"""

from functools import cache
from itertools import groupby, pairwise, product
from types import SimpleNamespace

import numpy as np

from sidelight import (
    ChainParts,
    SegmentParts,
    all_of,
    any_of,
    before,
    changes,
    changes_only_after,
    count,
    each,
    ends_with,
    first,
    last,
    min_length,
    once_each,
    others,
    position,
    runs,
    starts_with,
    transitions,
    when,
    where,
    word,
)

LABELS = ["A", "B", "C"]
WORDS = ["a", "b", "1", "22", ",", "."]


def at(x, t, test):
    """A test of the token at place t; False where there is none."""
    return 0 <= t < len(x) and test(x[t])


def _comma(w):
    return w in {",", "."}


# A condition and what it means at token t of x. The last one cannot be written to a file.
CONDITIONS = [
    (None, lambda x, t: True),
    (word.isdigit(), lambda x, t: x[t].isdigit()),
    (~word.isdigit(), lambda x, t: not x[t].isdigit()),
    (word[-1].ispunct(), lambda x, t: at(x, t - 1, _comma)),
    (~word[1].isin("a", "1"), lambda x, t: not at(x, t + 1, lambda w: w in {"a", "1"})),
    (word.isalpha() & word[-1].isalpha(), lambda x, t: x[t].isalpha() and at(x, t - 1, str.isalpha)),
    (first, lambda x, t: t == 0),
    (~last, lambda x, t: t != len(x) - 1),
    (position(1), lambda x, t: t == 1),
    (position(-2), lambda x, t: t == len(x) - 2),
    (any_of(word.ispunct(), last), lambda x, t: _comma(x[t]) or t == len(x) - 1),
    (~all_of(word.isalpha(), ~first), lambda x, t: not (x[t].isalpha() and t > 0)),
    (when(lambda x, t: (len(x) + t) % 2), lambda x, t: (len(x) + t) % 2 == 1),
]


def random_labels(rng):
    """Labels as they are given to the language, and the set they stand for."""
    chosen = [str(c) for c in rng.permutation(LABELS)[: rng.integers(1, 3)]]
    if rng.random() < 0.3:
        return [others(*chosen)], set(LABELS) - set(chosen)
    return chosen, set(chosen)


def random_count(rng, conditions=CONDITIONS, *, below=True):
    """A count and its meaning; it falls below zero only if `below`."""
    condition, holds = conditions[rng.integers(len(conditions))]
    given, these = random_labels(rng)
    kind = rng.integers(7 if below else 6)
    if kind == 0:
        return count(*given, where=condition), lambda x, y: sum(c in these and holds(x, t) for t, c in enumerate(y))
    if kind == 1:
        return runs(*given, where=condition), lambda x, y: sum(
            c in these and (t == 0 or y[t - 1] != c) and holds(x, t) for t, c in enumerate(y)
        )
    if kind == 2:
        also, those = random_labels(rng)
        one, other = (names[0] if len(names) == 1 else names for names in (also, given))
        return transitions(one, to=other, where=condition), lambda x, y: sum(
            y[t - 1] in those and y[t] in these and holds(x, t) for t in range(1, len(y))
        )
    if kind == 3:
        return changes(where=condition), lambda x, y: sum(y[t - 1] != y[t] and holds(x, t) for t in range(1, len(y)))
    left, a = random_count(rng, conditions, below=below)
    if kind == 4:
        return 2 * left + 1, lambda x, y: 2 * a(x, y) + 1
    right, b = random_count(rng, conditions, below=below)
    if kind == 5:
        return left + right, lambda x, y: a(x, y) + b(x, y)
    return left - right, lambda x, y: a(x, y) - b(x, y)


def missed(value, op, bound):
    """By how much a number misses its bound."""
    return {"<=": max(value - bound, 0), ">=": max(bound - value, 0), "==": abs(value - bound)}[op]


def compare(left, op, right):
    """The comparison as it is written."""
    return left <= right if op == "<=" else left >= right if op == ">=" else left == right


def random_comparison(rng, conditions=CONDITIONS, *, below=True):
    """A comparison and its meaning."""
    counted, value = random_count(rng, conditions, below=below)
    op = str(rng.choice(["<=", ">=", "=="]))
    if below and rng.random() < 0.25:
        other, much = random_count(rng, conditions)
        shift = int(rng.integers(-1, 3))
        return compare(counted, op, other - shift), lambda x, y: missed(value(x, y), op, much(x, y) - shift)
    bound = float(rng.choice([-1, 0, 0.5, 1, 1, 1.5, 2, 2, 3]))
    return compare(counted, op, bound), lambda x, y: missed(value(x, y), op, bound)


def random_logic(rng, conditions=CONDITIONS, depth=2):
    """A formula of comparisons and whether it holds."""
    if depth == 0 or rng.random() < 0.2:
        rule, degree = random_comparison(rng, conditions, below=False)
        return rule, lambda x, y: degree(x, y) == 0
    left, a = random_logic(rng, conditions, depth - 1)
    if rng.random() < 0.2:
        return ~left, lambda x, y: not a(x, y)
    right, b = random_logic(rng, conditions, depth - 1)
    kind = rng.integers(3)
    if kind == 0:
        return left & right, lambda x, y: a(x, y) and b(x, y)
    if kind == 1:
        return left | right, lambda x, y: a(x, y) or b(x, y)
    return left >> right, lambda x, y: not a(x, y) or b(x, y)


def stretches(y):
    """Runs as (label, length)."""
    return [(c, len(list(group))) for c, group in groupby(y)]


def named_rules(conditions=CONDITIONS):
    """The rules that have names of their own, with their meanings."""
    comma = word.ispunct()
    out = [
        (starts_with("A"), lambda x, y: float(y[0] != "A")),
        (starts_with("A", "C"), lambda x, y: float(y[0] not in {"A", "C"})),
        (ends_with("B", "C"), lambda x, y: float(y[-1] not in {"B", "C"})),
        (once_each(), lambda x, y: sum(max(sum(c == d for d, _ in stretches(y)) - 1, 0) for c in LABELS)),
        (once_each("A", "C"), lambda x, y: sum(max(sum(c == d for d, _ in stretches(y)) - 1, 0) for c in "AC")),
        (count(each) >= 1, lambda x, y: sum(c not in y for c in LABELS)),
        (count(others(each)) >= 1, lambda x, y: sum(set(y) == {c} for c in LABELS)),
        (
            (count(each("A", "B")) >= 1) >> (starts_with("A") & (count(each("A", "B")) >= 2)),
            lambda x, y: all(c in y for c in "AB") and not (y[0] == "A" and all(y.count(c) >= 2 for c in "AB")),
        ),
        (~once_each(), lambda x, y: all(sum(c == d for d, _ in stretches(y)) < 2 for c in LABELS)),
        (~~once_each(), lambda x, y: sum(max(sum(c == d for d, _ in stretches(y)) - 1, 0) for c in LABELS)),
        (~(count(each) == 1), lambda x, y: all(y.count(c) == 1 for c in LABELS)),
        (once_each() >> (count("A") >= 2), lambda x, y: len(stretches(y)) == len(set(y)) and y.count("A") < 2),
        (once_each() | ends_with("A"), lambda x, y: len(stretches(y)) > len(set(y)) and y[-1] != "A"),
        (
            ~(once_each("A") | (count("B") >= 1)),
            lambda x, y: (sum(c == "A" for c, _ in stretches(y)) < 2) + y.count("B"),
        ),
        (
            transitions(after=each, to="A") <= 1,
            lambda x, y: sum(max(sum(p == (c, "A") for p in pairwise(y)) - 1, 0) for c in LABELS),
        ),
        (min_length(1), lambda x, y: 0),
        (min_length(2), lambda x, y: sum(n < 2 for _, n in stretches(y))),
        (min_length(3, "A", "B"), lambda x, y: sum(n < 3 and c in "AB" for c, n in stretches(y))),
        (before("A", "B"), lambda x, y: sum(c == "A" and "B" in y[:t] for t, c in enumerate(y))),
        (
            before(["A", "B"], ["C", "B"]),
            lambda x, y: sum(c in "AB" and any(d in "BC" for d in y[:t]) for t, c in enumerate(y)),
        ),
        (before(others("A"), "A"), lambda x, y: sum(c != "A" and "A" in y[:t] for t, c in enumerate(y))),
        (
            changes_only_after(comma),
            lambda x, y: sum(y[t - 1] != y[t] and not _comma(x[t - 1]) for t in range(1, len(y))),
        ),
        (
            changes_only_after(~word.isdigit()),
            lambda x, y: sum(y[t - 1] != y[t] and x[t - 1].isdigit() for t in range(1, len(y))),
        ),
        (runs() <= 2, lambda x, y: max(len(stretches(y)) - 2, 0)),
        (count() >= 4, lambda x, y: max(4 - len(y), 0)),
    ]
    for condition, holds in conditions:
        if condition is not None:
            out.append((where(condition).label("A", "B"), lambda x, y, holds=holds: sum(
                c not in "AB" and holds(x, t) for t, c in enumerate(y)
            )))  # fmt: skip
            out.append((where(condition).never("C"), lambda x, y, holds=holds: sum(
                c == "C" and holds(x, t) for t, c in enumerate(y)
            )))  # fmt: skip
    return out


# Lists of conditions by their identity, and the rules that have names of their own.
_NAMED = {}


def random_rule(rng, conditions=CONDITIONS):
    """Any rule and its meaning."""
    kind = rng.integers(4)
    if kind == 0:
        return random_comparison(rng, conditions)
    if kind == 1:
        left, a = random_logic(rng, conditions, 1)
        right, b = random_logic(rng, conditions, 1)
        return left | right, lambda x, y: float(not (a(x, y) or b(x, y)))
    if id(conditions) not in _NAMED:
        _NAMED[id(conditions)] = conditions, named_rules(conditions)
    listed = _NAMED[id(conditions)][1]
    if kind == 2:
        rule, degree = listed[rng.integers(len(listed))]
        other, more = random_comparison(rng, conditions)
        if isinstance(rule, type(other)) and rng.random() < 0.3:
            return rule & other, lambda x, y: degree(x, y) + more(x, y)
    return listed[rng.integers(len(listed))]


def random_input(rng, longest=5):
    """Tokens of one sequence."""
    return [str(w) for w in rng.choice(WORDS, size=rng.integers(1, longest + 1))]


def random_scores(rng, X, *, types=1, forbidden=0.0, whole=False, order=1):
    """Scores of a batch; `whole` ones make ties, and a share of the parts can be forbidden."""
    offsets = np.concatenate(([0], np.cumsum([len(x) for x in X])))
    n, L = int(offsets[-1]), len(LABELS)

    def draw(*shape):
        values = rng.integers(-2, 3, size=shape).astype(float) if whole else 2 * rng.normal(size=shape)
        return np.where(rng.random(shape) < forbidden, -np.inf, values)

    kinds = rng.integers(types, size=n).astype(np.int32)
    return ChainParts.of(
        offsets, draw(n, L), draw(types, L, L), pair_type=kinds, start=draw(L), end=draw(L),
        triple=draw(L, L, L) if order == 2 else None,
    )  # fmt: skip


def chain_score(scores, i, y):
    """The score of labels y (numbers) of sequence i, part by part."""
    p, n = scores.offsets[i], len(y)
    total = scores.start[y[0]] + scores.end[y[-1]] + sum([scores.unary[p + t][y[t]] for t in range(n)])
    total += sum([scores.pair[scores.pair_type[p + t]][y[t - 1]][y[t]] for t in range(1, n)])
    if scores.triple is not None:
        total += sum([scores.triple[y[t - 2]][y[t - 1]][y[t]] for t in range(2, n)])
    return float(total)


def random_segment_scores(rng, X, *, forbidden=0.0, whole=False, longest=3, differ=False):
    """As `random_scores`, for segmentations; neighbours that `differ` are never two segments of one label."""
    offsets = np.concatenate(([0], np.cumsum([len(x) for x in X])))
    n, L = int(offsets[-1]), len(LABELS)

    def draw(*shape):
        values = rng.integers(-2, 3, size=shape).astype(float) if whole else 2 * rng.normal(size=shape)
        return np.where(rng.random(shape) < forbidden, -np.inf, values)

    pair = np.where(np.eye(L, dtype=bool) & differ, -np.inf, draw(L, L))
    return SegmentParts.of(
        offsets, draw(n, L), pair, draw(L, longest),
        opens=draw(n, L), closes=draw(n, L), start=draw(L), end=draw(L),
    )  # fmt: skip


def segment_score(scores, i, y):
    """The score of codes y of sequence i, segment by segment."""
    p = scores.offsets[i]
    cuts = [t for t, code in enumerate(y) if code % 2] + [len(y)]
    total = scores.start[y[0] // 2] + scores.end[y[-1] // 2]
    for a, b in pairwise(cuts):
        c = y[a] // 2
        if b - a > len(scores.length[0]):
            return -np.inf
        total += scores.opens[p + a][c] + scores.closes[p + b - 1][c] + scores.length[c][b - a - 1]
        total += sum([scores.unary[t][c] for t in range(p + a, p + b)])
        total += scores.pair[y[a - 1] // 2][c] if a > 0 else 0.0
    return float(total)


@cache
def segmentations(n):
    """Every output of n tokens, in codes."""
    return list(_segmentations(n))


def _segmentations(n):
    for labels in product(range(len(LABELS)), repeat=n):
        for marks in product((0, 1), repeat=n - 1):
            begins = (1, *marks)
            if all(begins[t] or labels[t] == labels[t - 1] for t in range(1, n)):
                yield tuple(2 * c + b for c, b in zip(labels, begins, strict=True))


def scored_outputs(scores, i, n):
    """Every output of sequence i: as the structure writes it, its labels, and its score."""
    arrays = {name: getattr(scores, name) for name in ("offsets", "start", "end", "unary", "pair")}
    if isinstance(scores, SegmentParts):
        arrays |= {name: getattr(scores, name) for name in ("opens", "closes", "length")}
        lists = SimpleNamespace(**{name: array.tolist() for name, array in arrays.items()})  # quicker to read from
        for y in segmentations(n):
            yield y, tuple([code // 2 for code in y]), segment_score(lists, i, y)
    else:
        lists = SimpleNamespace(**{name: array.tolist() for name, array in arrays.items()})
        lists.pair_type, lists.triple = scores.pair_type.tolist(), scores.triple
        for y in product(range(len(LABELS)), repeat=n):
            yield y, y, chain_score(lists, i, y)


def every_output(scores, i, x, rules, penalty):
    """Every output of sequence i (as numbers) with its score less penalties, best first; those of -inf left out."""
    found = []
    degrees = {}
    for output, labels, total in scored_outputs(scores, i, len(x)):
        if total == -np.inf:
            continue
        if labels not in degrees:
            names = [LABELS[c] for c in labels]
            degrees[labels] = [degree(x, names) for _, degree in rules]
        for missed_by, rho in zip(degrees[labels], penalty, strict=True):
            total -= rho * missed_by if missed_by > 0 and rho > 0 else 0.0
        if total > -np.inf:
            found.append((total, output))
    return sorted(found, reverse=True)
