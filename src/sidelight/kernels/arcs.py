"""Features of dependency arcs as places in tables of weights: scores, expected features and online passes.

A sentence of n words has n + 1 tokens, the root first, with a row of whole numbers (columns) each. A template joins
some columns of the head with some of the child. Either end gives it a code of 64 bits, a hash of its columns, and the
place of the feature is the leading bits of

    code of the head + code of the child + code of the way

so that all features of an arc are sums of numbers that are worked out once for each word (a hash kernel: Shi et al.
2009, Bohnet 2010). The way is the side on which the head stands, or also how far away it is. Further features tell the
tags between the two. A feature of a label has its place behind that of the arc's own: labels are next to each other.

Whoever reads this: `templates` is (2, templates, 3), the columns of head and child, -1 for none; the first three
templates join tag and tag, word and tag, tag and word. `shift` is 64 less the number of bits of a place. `parts` of a
sentence are those of `kernels.trees`.
"""

from typing import Any

import numpy as np

from .compiling import Floats, Ints, Longs, Stream, ordered, ordered_inner
from .perceptron import bump
from .projective_trees import best_tree
from .spanning_trees import best_spanning_tree

# Columns of a token. The first four are given; `fill_context` writes the others.
WORD, TAG, END, BEGIN = 0, 1, 2, 3
TAG_BEFORE, TAG_AFTER, TAG_BEFORE_2, TAG_AFTER_2, WORD_BEFORE, WORD_AFTER, FUNCTION, LEFT, RIGHT = range(4, 13)
COLUMNS = 13
# What stands before the root and after the last word, as tag and as word.
NONE, AFTER = -1, -2
# Kinds of tags for `FUNCTION`: passed over, taken by its word, taken by the tag.
OVER, BY_WORD, BY_TAG = 0, 1, 2
# Distances that are told apart; longer ones count as the last.
DISTANCES = (1, 2, 3, 4, 5, 7, 11, 21)
# How often a tag between head and child is counted.
COUNTED = 3
# Places of sentences are counted up to this.
_PLACES = 2


def _hash(value: int) -> int:
    """The finisher of splitmix64."""
    value = (value + 0x9E3779B97F4A7C15) % 2**64
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
    return value ^ (value >> 31)


_REACH = len(DISTANCES)
_NEAREST = np.array([max(k for k, d in enumerate(DISTANCES) if d <= max(m, 1)) for m in range(DISTANCES[-1] + 1)])
_SIDES = np.array([_hash(1000 + side) for side in range(3)], np.uint64)
_WAYS = np.array([_hash(2000 + way) for way in range(1 + 2 * _REACH)], np.uint64)


@ordered_inner
def mixed(code: Any, value: Any) -> Any:
    """A code with one more value in it."""
    x = (np.uint64(code) ^ np.uint64(np.int64(value) & 0xFFFFFFFF)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return x ^ (x >> np.uint64(32))


@ordered_inner
def way_of(h: int, c: int) -> tuple[int, int]:
    """On which side of the child the head is, and how it is reached; both are 0 for the root."""
    if h == 0:
        return 0, 0
    far = min(abs(h - c), len(_NEAREST) - 1)
    return (1, 1 + _NEAREST[far]) if h > c else (2, 1 + _REACH + _NEAREST[far])


@ordered
def way_numbers(heads: Longs, children: Longs) -> tuple[Ints, Ints]:
    """`way_of` of many arcs."""
    sides, ways = np.empty(len(heads), np.int32), np.empty(len(heads), np.int32)
    for k in range(len(heads)):
        sides[k], ways[k] = way_of(heads[k], children[k])
    return sides, ways


@ordered
def fill_context(words: Longs, kinds: Ints, columns: Ints) -> None:
    """Writes the columns that follow from words and tags; words: where sentences begin; kinds: of every tag."""
    for i in range(len(words) - 1):
        p, q = words[i], words[i + 1]
        function = NONE
        for t in range(p, q):
            row = columns[t]
            row[TAG_BEFORE] = columns[t - 1, TAG] if t > p else NONE
            row[TAG_AFTER] = columns[t + 1, TAG] if t + 1 < q else AFTER
            row[TAG_BEFORE_2] = columns[t - 2, TAG] if t > p + 1 else NONE
            row[TAG_AFTER_2] = columns[t + 2, TAG] if t + 2 < q else AFTER
            row[WORD_BEFORE] = columns[t - 1, WORD] if t > p else NONE
            row[WORD_AFTER] = columns[t + 1, WORD] if t + 1 < q else AFTER
            row[LEFT] = min(t - p - 1, _PLACES)
            row[RIGHT] = min(q - 1 - t, _PLACES)
            row[FUNCTION] = function
            if t > p and kinds[row[TAG]] == BY_WORD:
                function = row[WORD]
            elif t > p and kinds[row[TAG]] == BY_TAG:
                function = row[TAG]


@ordered_inner
def write_codes(columns: Ints, templates: Ints, codes: Stream) -> None:
    """The codes of all tokens of a sentence at both ends of every template: (2, tokens, templates)."""
    for end in range(2):
        for t in range(len(columns)):
            for k in range(templates.shape[1]):
                code = np.uint64(0)
                for j in range(templates.shape[2]):
                    column = templates[end, k, j]
                    if column >= 0:
                        if code == np.uint64(0):
                            code = mixed(np.uint64(7919 * (2 * k + end) + 1), column)
                        code = mixed(code, columns[t, column])
                codes[end, t, k] = code


@ordered_inner
def count_tag(tag: int, seen: Ints, count: Ints, found: int) -> int:
    """One more tag between head and child; returns how many different ones there are."""
    count[tag] += 1
    if count[tag] == 1:
        seen[found] = tag
        found += 1
    return found


@ordered_inner
def forget_tags(seen: Ints, count: Ints, found: int) -> None:
    """Sets the counts back to zero."""
    for j in range(found):
        count[seen[j]] = 0


@ordered_inner
def arc_places(
    h: int, c: int, columns: Ints, codes: Stream, shift: int, seen: Ints, count: Ints, found: int, out: Ints
) -> int:
    """Writes the places of all features of an arc and returns how many there are.

    seen, count, found: the tags between head and child, as `count_tag` leaves them; the rest of `seen` is a workspace.
    """
    side, way = way_of(h, c)
    near, far, bits = _SIDES[side], _WAYS[way], np.uint64(shift)
    mask = (np.int64(1) << (64 - shift)) - 1
    head, child = codes[0, h], codes[1, c]
    n = 0
    for k in range(len(head)):
        code = head[k] + child[k]
        out[n] = np.int32((code + near) >> bits)
        out[n + 1] = np.int32((code + far) >> bits)
        n += 2
    first = np.int64(mixed(head[0] + child[0] + near, 5) >> bits)
    second = np.int64(mixed(head[1] + child[1] + near, 5) >> bits)
    third = np.int64(mixed(head[2] + child[2] + near, 5) >> bits)
    for j in range(found):
        tag = np.int64(seen[j])
        for k in range(min(count[tag], COUNTED)):
            out[n] = (first + COUNTED * tag + k) & mask
            n += 1
        out[n] = (second + tag) & mask
        out[n + 1] = (third + tag) & mask
        n += 2
    if h == 0:  # nothing is after the root and before the word only: what comes later counts as well
        later, many = np.int64(COUNTED * len(count)), found
        for t in range(c + 1, len(columns)):
            many = count_tag(columns[t, TAG], seen, count, many)
            if count[columns[t, TAG]] == 1:
                out[n] = (first + later + columns[t, TAG]) & mask
                n += 1
        for t in range(c + 1, len(columns)):
            count[columns[t, TAG]] -= 1
    return n


@ordered_inner
def places_between(h: int, c: int, columns: Ints, codes: Stream, shift: int, seen: Ints, count: Ints, out: Ints) -> int:
    """`arc_places` of an arc for which nothing was counted yet."""
    found, step = 0, 1 if h > c else -1
    for t in range(c + step, h, step):
        found = count_tag(columns[t, TAG], seen, count, found)
    n = arc_places(h, c, columns, codes, shift, seen, count, found, out)
    forget_tags(seen, count, found)
    return n


@ordered_inner
def label_places(h: int, c: int, codes: Stream, shift: int, out: Ints) -> int:
    """Writes where the weights of all labels of an arc begin, for every feature, and returns how many there are."""
    side, way = way_of(h, c)
    near, far, bits = _SIDES[side], _WAYS[way], np.uint64(shift)
    head, child = codes[0, h], codes[1, c]
    for k in range(len(head)):
        out[k] = np.int32((head[k] + child[k] + near) >> bits)
    out[len(head)] = np.int32((head[0] + child[0] + far) >> bits)
    return len(head) + 1


@ordered_inner
def add_arc(places: Ints, n: int, w: Floats) -> float:
    """The score of an arc without its label."""
    total = 0.0
    for j in range(n):
        total += w[places[j]]
    return total


@ordered_inner
def score_sentence(
    columns: Ints, codes: Stream, shift: int, w: Floats, seen: Ints, count: Ints, places: Ints, arcs: Floats
) -> None:
    """Scores of all arcs of a sentence without labels: (words, slots of heads)."""
    n = len(columns) - 1
    for c in range(1, n + 1):
        for step in (-1, 1):
            found, h = 0, c + step
            while 0 <= h <= n:
                m = arc_places(h, c, columns, codes, shift, seen, count, found, places)
                arcs[c - 1, h if h < c else h - 1] = add_arc(places, m, w)
                found = count_tag(columns[h, TAG], seen, count, found)
                h += step
            forget_tags(seen, count, found)


@ordered_inner
def score_labels(h: int, c: int, codes: Stream, shift: int, table: Floats, rows: Ints, out: Floats) -> None:
    """Adds the scores of all labels of an arc."""
    m = label_places(h, c, codes, shift, rows)
    for j in range(m):
        row = table[rows[j] : rows[j] + len(out)]
        for label in range(len(out)):
            out[label] += row[label]


@ordered_inner
def best_label(theta: Floats) -> int:
    """The first label of the highest score."""
    best = 0
    for label in range(1, len(theta)):
        if theta[label] > theta[best]:
            best = label
    return best


@ordered_inner
def most_places(templates: Ints, tags: int) -> int:
    """How many features an arc has at most."""
    return 2 * int(templates.shape[1]) + (COUNTED + 3) * tags


@ordered_inner
def longest_in(words: Longs, lo: int, hi: int) -> int:
    """The most tokens of a sentence from lo to hi."""
    longest = 1
    for i in range(lo, hi):
        longest = max(longest, words[i + 1] - words[i])
    return longest


@ordered
def score_arcs(
    lo: int, hi: int, words: Longs, columns: Ints, tags: int, templates: Ints, shift: int, w: Floats,
    label_templates: Ints, label_shift: int, table: Floats, joint: bool, offsets: Longs, out: Floats,
) -> None:  # fmt: skip
    """Scores of all parts of sentences lo to hi; words: where tokens begin, offsets: where arcs begin.

    out: (arcs, labels). table: of the labels; empty where one label stands for none. Where labels are not `joint` with
    heads, the best label of every arc adds nothing, and others add less.
    """
    longest = longest_in(words, lo, hi)
    codes = np.empty((2, longest, templates.shape[1]), np.uint64)
    label_codes = np.empty((2, longest, label_templates.shape[1]), np.uint64)
    seen, count = np.empty(tags, np.int32), np.zeros(tags, np.int32)
    places, rows = np.empty(most_places(templates, tags), np.int32), np.empty(label_templates.shape[1] + 1, np.int32)
    space = np.empty(longest * longest)
    for i in range(lo, hi):
        sentence = columns[words[i] : words[i + 1]]
        n = len(sentence) - 1
        write_codes(sentence, templates, codes)
        arcs = space[: n * n].reshape(n, n)
        score_sentence(sentence, codes, shift, w, seen, count, places, arcs)
        if len(table) > 0:
            write_codes(sentence, label_templates, label_codes)
        for c in range(1, n + 1):
            for slot in range(n):
                theta = out[offsets[i] + (c - 1) * n + slot]
                theta[:] = arcs[c - 1, slot] if joint else 0.0
                if len(table) > 0:
                    h = slot if slot < c else slot + 1
                    score_labels(h, c, label_codes, label_shift, table, rows, theta)
                if not joint:
                    best = theta[best_label(theta)]
                    for label in range(len(theta)):
                        theta[label] += arcs[c - 1, slot] - best


@ordered
def expect_arcs(
    words: Longs, columns: Ints, tags: int, templates: Ints, shift: int, w: Floats, label_templates: Ints,
    label_shift: int, table: Floats, offsets: Longs, mass: Floats,
) -> None:  # fmt: skip
    """Adds the mass of all parts to the weights of their features: the transpose of `score_arcs`."""
    longest = longest_in(words, 0, len(words) - 1)
    codes = np.empty((2, longest, templates.shape[1]), np.uint64)
    label_codes = np.empty((2, longest, label_templates.shape[1]), np.uint64)
    seen, count = np.empty(tags, np.int32), np.zeros(tags, np.int32)
    places, rows = np.empty(most_places(templates, tags), np.int32), np.empty(label_templates.shape[1] + 1, np.int32)
    for i in range(len(words) - 1):
        sentence = columns[words[i] : words[i + 1]]
        n = len(sentence) - 1
        write_codes(sentence, templates, codes)
        if len(table) > 0:
            write_codes(sentence, label_templates, label_codes)
        for c in range(1, n + 1):
            for slot in range(n):
                part, total, h = mass[offsets[i] + (c - 1) * n + slot], 0.0, slot if slot < c else slot + 1
                used = False
                for label in range(len(part)):
                    total += part[label]
                    used = used or part[label] != 0.0
                if not used:
                    continue
                m = places_between(h, c, sentence, codes, shift, seen, count, places)
                for j in range(m):
                    w[places[j]] += total
                if len(table) > 0:
                    m = label_places(h, c, label_codes, label_shift, rows)
                    for j in range(m):
                        for label in range(len(part)):
                            table[rows[j] + label] += part[label]


@ordered
def list_places(
    sentences: Longs, children: Longs, heads: Longs, labels: Longs, words: Longs, columns: Ints, tags: int,
    templates: Ints, shift: int, label_templates: Ints, label_shift: int, label_count: int, pointer: Longs,
    out: Ints,
) -> int:  # fmt: skip
    """Writes the places of the weights of some arcs, in the order of sentences, and returns how many there are.

    children from 1, heads with the root as 0; label_count: how many labels there are, 0 for none. pointer: (arcs + 1,)
    where those of each arc begin; `out` may be too short, in which case nothing is written beyond its end.
    """
    longest = longest_in(words, 0, len(words) - 1)
    codes = np.empty((2, longest, templates.shape[1]), np.uint64)
    label_codes = np.empty((2, longest, label_templates.shape[1]), np.uint64)
    seen, count = np.empty(tags, np.int32), np.zeros(tags, np.int32)
    places, rows = np.empty(most_places(templates, tags), np.int32), np.empty(label_templates.shape[1] + 1, np.int32)
    last, size, first = -1, 0, 1 << (64 - shift)
    pointer[0] = 0
    for a in range(len(sentences)):
        i = sentences[a]
        sentence = columns[words[i] : words[i + 1]]
        if i != last:
            write_codes(sentence, templates, codes)
            write_codes(sentence, label_templates, label_codes)
            last = i
        m = places_between(heads[a], children[a], sentence, codes, shift, seen, count, places)
        for j in range(m):
            if size < len(out):
                out[size] = places[j]
            size += 1
        if label_count > 0:
            m = label_places(heads[a], children[a], label_codes, label_shift, rows)
            for j in range(m):
                if size < len(out):
                    out[size] = first + rows[j] + labels[a]
                size += 1
        pointer[a + 1] = size
    return size


@ordered_inner
def bump_arc(
    h: int, c: int, sentence: Ints, codes: Stream, shift: int, seen: Ints, count: Ints, places: Ints, step: float,
    clock: float, w: Floats, late: Floats,
) -> None:  # fmt: skip
    """Changes the weights of an arc."""
    m = places_between(h, c, sentence, codes, shift, seen, count, places)
    for j in range(m):
        bump(w, late, places[j], step, clock)


@ordered_inner
def bump_label(
    h: int, c: int, label: int, codes: Stream, shift: int, places: Ints, first: int, step: float, clock: float,
    w: Floats, late: Floats,
) -> None:  # fmt: skip
    """Changes the weights of a label; first: where the table of labels begins in the weights."""
    m = label_places(h, c, codes, shift, places)
    for j in range(m):
        bump(w, late, first + places[j] + label, step, clock)


@ordered_inner
def choose_labels(
    codes: Stream, shift: int, table: Floats, right: Ints, margin: float, rows: Ints, theta: Floats, arcs: Floats,
    best: Ints,
) -> None:  # fmt: skip
    """Adds the score of the best label to every arc, and writes which it is; without a table there is one label.

    A label other than that of the right arc, an arc that is not right, adds the margin; right: as `tree_pass` has it,
    or empty.
    """
    n, labels = len(arcs), len(theta)
    for c in range(n):
        for slot in range(n):
            h = slot if slot <= c else slot + 1
            theta[:] = margin
            if len(right) > 0 and h == right[c] // labels:
                theta[right[c] % labels] = 0.0
            if len(table) > 0:
                score_labels(h, c + 1, codes, shift, table, rows, theta)
            best[c, slot] = best_label(theta)
            arcs[c, slot] += theta[best[c, slot]]


@ordered_inner
def read_tree(arcs: Floats, projective: bool, single: bool, charts: Floats, numbers: Ints, slots: Ints) -> None:
    """Writes the head slots of the best tree; charts: 6 (n + 1)² numbers, numbers: 2 (n + 1)² + 18 (n + 1)."""
    n = len(arcs)
    N = n + 1
    if projective:
        best_tree(
            arcs, single, charts[: 4 * n * n].reshape(4, n, n), charts[4 * n * n : 4 * n * n + 2 * N].reshape(2, N),
            numbers[: 3 * n].reshape(n, 3), slots,
        )  # fmt: skip
    else:
        best_spanning_tree(
            arcs, single, charts[: N * N].reshape(N, N), numbers[: 2 * N * N].reshape(2, N, N),
            numbers[2 * N * N : 2 * N * N + 9 * (N + n)].reshape(9, N + n), slots,
        )  # fmt: skip


@ordered
def best_trees(
    lo: int, hi: int, words: Longs, columns: Ints, tags: int, templates: Ints, shift: int, w: Floats,
    label_templates: Ints, label_shift: int, table: Floats, joint: bool, labels: int, projective: bool, single: bool,
    outputs: Ints,
) -> None:  # fmt: skip
    """The best trees of sentences lo to hi, head * labels + label of every word, straight from the weights.

    w, table: as in `score_arcs`; nothing is kept of scores, which are read sentence by sentence.
    """
    longest = longest_in(words, lo, hi)
    codes = np.empty((2, longest, templates.shape[1]), np.uint64)
    label_codes = np.empty((2, longest, label_templates.shape[1]), np.uint64)
    seen, count = np.empty(tags, np.int32), np.zeros(tags, np.int32)
    places = np.empty(max(most_places(templates, tags), label_templates.shape[1] + 1), np.int32)
    space, best_space, slots = np.empty(longest**2), np.empty(longest**2, np.int32), np.empty(longest, np.int32)
    charts, numbers = np.empty(6 * longest**2), np.empty(2 * longest**2 + 18 * longest, np.int32)
    theta, right = np.empty(labels), np.empty(0, np.int32)
    for i in range(lo, hi):
        sentence = columns[words[i] : words[i + 1]]
        n = len(sentence) - 1
        arcs, best = space[: n * n].reshape(n, n), best_space[: n * n].reshape(n, n)
        write_codes(sentence, templates, codes)
        score_sentence(sentence, codes, shift, w, seen, count, places, arcs)
        if len(table) > 0:
            write_codes(sentence, label_templates, label_codes)
        if joint:
            choose_labels(label_codes, label_shift, table, right, 0.0, places, theta, arcs, best)
        read_tree(arcs, projective, single, charts, numbers, slots)
        for c in range(n):
            h, label = slots[c] if slots[c] <= c else slots[c] + 1, best[c, slots[c]]
            if not joint:
                theta[:] = 0.0
                score_labels(h, c + 1, label_codes, label_shift, table, places, theta)
                label = best_label(theta)
            outputs[words[i] - words[0] - i + c] = h * labels + label


@ordered
def tree_pass(
    order: Longs, words: Longs, columns: Ints, tags: int, templates: Ints, shift: int, label_templates: Ints,
    label_shift: int, joint: bool, labels: int, gold: Ints, weight: Floats, margin: float, projective: bool,
    single: bool, w: Floats, late: Floats, clock: float,
) -> int:  # fmt: skip
    """Visits the sentences in `order` as the averaged perceptron does; returns how many words were wrong.

    gold: head * labels + label of all words, one sentence after the other; weight: (sentences,) the length of the steps
    of each, empty for 1. A wrong word adds the margin to the score of
    a tree. Where labels are not `joint` with heads, trees are learned without them, and labels on the right arcs, with
    a margin that is smaller as they have fewer features. The clock ticks once a sentence.
    """
    longest, first = longest_in(words, 0, len(words) - 1), 1 << (64 - shift)
    codes = np.empty((2, longest, templates.shape[1]), np.uint64)
    label_codes = np.empty((2, longest, label_templates.shape[1]), np.uint64)
    seen, count = np.empty(tags, np.int32), np.zeros(tags, np.int32)
    places = np.empty(max(most_places(templates, tags), label_templates.shape[1] + 1), np.int32)
    table, no_table, theta, alone = w[first:], w[:0], np.empty(labels), np.empty(1)
    right_heads = np.empty(longest, np.int32)
    space, best_space, slots = np.empty(longest**2), np.empty(longest**2, np.int32), np.empty(longest, np.int32)
    charts, numbers = np.empty(6 * longest**2), np.empty(2 * longest**2 + 18 * longest, np.int32)
    label_margin = margin * label_templates.shape[1] / (2 * templates.shape[1])
    mistakes = 0
    for i in order:
        sentence, right = columns[words[i] : words[i + 1]], gold[words[i] - i : words[i + 1] - i - 1]
        n = len(sentence) - 1
        step = weight[i] if len(weight) > 0 else 1.0
        arcs, best = space[: n * n].reshape(n, n), best_space[: n * n].reshape(n, n)
        write_codes(sentence, templates, codes)
        score_sentence(sentence, codes, shift, w, seen, count, places, arcs)
        if len(table) > 0:
            write_codes(sentence, label_templates, label_codes)
        if joint:
            choose_labels(label_codes, label_shift, table, right, margin, places, theta, arcs, best)
        else:
            for c in range(n):
                right_heads[c] = right[c] // labels
            choose_labels(label_codes, label_shift, no_table, right_heads[:n], margin, places, alone, arcs, best)
        read_tree(arcs, projective, single, charts, numbers, slots)
        for c in range(n):
            h, label = slots[c] if slots[c] <= c else slots[c] + 1, best[c, slots[c]]
            right_head, right_label = right[c] // labels, right[c] % labels
            if not joint:
                theta[:] = label_margin
                theta[right_label] = 0.0
                score_labels(right_head, c + 1, label_codes, label_shift, table, places, theta)
                label = best_label(theta)
            if h == right_head and label == right_label:
                continue
            mistakes += 1
            if joint or h != right_head:
                bump_arc(right_head, c + 1, sentence, codes, shift, seen, count, places, step, clock, w, late)
                bump_arc(h, c + 1, sentence, codes, shift, seen, count, places, -step, clock, w, late)
            if len(table) > 0 and (joint or label != right_label):
                wrong_head = h if joint else right_head
                bump_label(
                    right_head, c + 1, right_label, label_codes, label_shift, places, first, step, clock, w, late
                )  # fmt: skip
                bump_label(wrong_head, c + 1, label, label_codes, label_shift, places, first, -step, clock, w, late)
        clock += 1.0
    return mistakes
