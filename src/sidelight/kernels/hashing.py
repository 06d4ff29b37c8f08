"""Feature templates on integer columns: keys of conjunctions, and an open-addressing table from key to number.

And the same table for texts.
"""

from typing import Any

import numpy as np

from .compiling import Bits, Bytes, Ints, Longs, inner, kernel

_EMPTY = -1
_FNV, _PRIME = 0xCBF29CE484222325, 0x100000001B3


@kernel
def slot_of(key: int, mask: int) -> int:
    """First place to look for a key (Fibonacci hashing)."""
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return int(np.int64((h ^ (h >> np.uint64(32))) & np.uint64(mask)))


@kernel
def template_keys(offsets: Longs, codes: Ints, places: Longs, sizes: Longs, reach: int, keys: Longs) -> None:
    """Key of one template at every token: the codes of its columns as digits; -1 where one is absent.

    codes: (columns of the template, tokens), -1 for an absent or unknown value; places: its offsets; sizes: number of
    values of each column. Beyond a sequence's ends the digit says how far: size + distance - 1 before the beginning,
    size + reach + distance - 1 behind the end, so a digit is below size + 2 reach.
    """
    for i in range(len(offsets) - 1):
        p, q = offsets[i] - offsets[0], offsets[i + 1] - offsets[0]
        for t in range(p, q):
            key = np.int64(0)
            for d in range(len(places)):
                at = t + places[d]
                if at < p:
                    digit = sizes[d] + (p - at) - 1
                elif at >= q:
                    digit = sizes[d] + reach + (at - q)
                else:
                    digit = np.int64(codes[d, at])
                if digit < 0:
                    key = np.int64(-1)
                    break
                key = key * (sizes[d] + 2 * reach) + digit
            keys[t] = key


@kernel
def number_keys(
    keys: Longs, ids: Ints, slots: Ints, distinct: Longs, counts: Longs, n: int
) -> tuple[Ints, Longs, Longs, int]:
    """Number distinct keys in order of appearance, going on from n of them, and count how often each is there.

    ids: the number of every key, -1 for a negative one. slots: the numbers of keys, -1 for none, twice as many as
    `distinct` and `counts` have room for. Returns these, larger where they had to grow, and the number of keys.
    """
    for t in range(len(keys)):
        key, room, mask = keys[t], len(distinct), len(slots) - 1
        if key < 0:
            ids[t] = -1
            continue
        s = slot_of(key, mask)
        while slots[s] != _EMPTY and distinct[slots[s]] != key:
            s = (s + 1) & mask
        if slots[s] == _EMPTY:
            slots[s] = n
            distinct[n] = key
            counts[n] = 0
            n += 1
        ids[t] = slots[s]
        counts[slots[s]] += 1
        if n == room:
            mask = 4 * room - 1
            slots = np.empty(4 * room, np.int32)
            more, again = np.empty(2 * room, np.int64), np.empty(2 * room, np.int64)
            for s in range(4 * room):
                slots[s] = _EMPTY
            for j in range(n):
                more[j], again[j] = distinct[j], counts[j]
                s = slot_of(distinct[j], mask)
                while slots[s] != _EMPTY:
                    s = (s + 1) & mask
                slots[s] = j
            distinct, counts = more, again
    return slots, distinct, counts, n


@kernel
def number_codes(codes: Ints, numbers: Ints, order: Ints, n: int) -> int:
    """Number the distinct codes in order of appearance, n of which have numbers already; returns how many have one.

    numbers: the number of every code, -1 for none yet; order: the code of every number.
    """
    for t in range(len(codes)):
        if numbers[codes[t]] < 0:
            numbers[codes[t]] = n
            order[n] = codes[t]
            n += 1
    return n


@kernel
def fill_table(keys: Longs, values: Ints, slots: Longs, found: Ints) -> None:
    """Put distinct keys with their values into an empty table of 2^k slots."""
    mask = len(slots) - 1
    for j in range(len(keys)):
        s = slot_of(keys[j], mask)
        while slots[s] != _EMPTY:
            s = (s + 1) & mask
        slots[s] = keys[j]
        found[s] = values[j]


@kernel
def look_up(keys: Longs, slots: Longs, found: Ints, ids: Ints) -> None:
    """Value of every key, -1 where it is not in the table."""
    mask = len(slots) - 1
    for t in range(len(keys)):
        key = keys[t]
        ids[t] = -1
        if key < 0:
            continue
        s = slot_of(key, mask)
        while slots[s] != _EMPTY:
            if slots[s] == key:
                ids[t] = found[s]
                break
            s = (s + 1) & mask


@inner
def hashed(text: Bytes, begin: int, end: int, code: Any) -> Any:
    """FNV-1a of bytes, going on from the hash of what is before them."""
    for j in range(begin, end):
        code = (code ^ np.uint64(text[j])) * np.uint64(_PRIME)
    return code


@kernel
def fill_texts(pool: Bytes, starts: Longs, slots: Ints) -> None:
    """Put the numbers of distinct texts into 2^n slots that are all -1; pool: the texts, a zero byte behind each."""
    mask = len(slots) - 1
    for k in range(len(starts) - 1):
        s = slot_of(hashed(pool, starts[k], starts[k + 1] - 1, np.uint64(_FNV)), mask)
        while slots[s] != _EMPTY:
            s = (s + 1) & mask
        slots[s] = k


@kernel
def look_up_texts(befores: Bytes, values: Bytes, pool: Bytes, starts: Longs, slots: Ints, out: Ints) -> None:
    """Number of each text, -1 for one not there: out[k, i] is about the k-th of `befores` and its i-th value.

    befores: texts that are not empty, and values: those of one after those of the other, a zero byte behind each. What
    is far apart in memory is first read in loops of its own, so that the processor waits for many places at a time.
    """
    K, n = out.shape
    mask = len(slots) - 1
    slot, edges, widths = np.empty(K * n, np.int64), np.empty(K * n + 1, np.int64), np.empty(K + 1, np.int64)
    p, q = 0, 0
    for k in range(K):
        widths[k] = p
        seed: Any = np.uint64(_FNV)
        while befores[p] != 0:
            seed = (seed ^ np.uint64(befores[p])) * np.uint64(_PRIME)
            p += 1
        p += 1
        for i in range(n):
            edges[k * n + i] = q
            code = seed
            while values[q] != 0:
                code = (code ^ np.uint64(values[q])) * np.uint64(_PRIME)
                q += 1
            q += 1
            slot[k * n + i] = slot_of(code, mask)
    widths[K], edges[K * n] = p, q
    found, place, letter = np.empty(K * n, np.int32), np.empty(K * n, np.int64), np.empty(K * n, np.uint8)
    for m in range(K * n):
        found[m] = slots[slot[m]]
    for m in range(K * n):
        place[m] = starts[max(found[m], 0)]
    for m in range(K * n):
        letter[m] = pool[place[m]] if found[m] != _EMPTY else np.uint8(0)
    for k in range(K):
        first, width = widths[k], widths[k + 1] - widths[k] - 1
        for i in range(n):
            m = k * n + i
            s, number, begin, length = slot[m], found[m], edges[m], edges[m + 1] - edges[m] - 1
            same = number != _EMPTY and letter[m] == befores[first]
            while number != _EMPTY:
                at = starts[number]
                same = same and starts[number + 1] - 1 - at == width + length
                j = 0
                while same and j < width:
                    same = pool[at + j] == befores[first + j]
                    j += 1
                j = 0
                while same and j < length:
                    same = pool[at + width + j] == values[begin + j]
                    j += 1
                if same:
                    break
                s, same = (s + 1) & mask, True
                number = slots[s]
            out[k, i] = number


@inner
def mixed(code: Any) -> Any:
    """Spread the bits of a hash over all of its bits (the end of SplitMix64)."""
    code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return code ^ (code >> np.uint64(31))


@kernel
def mix_texts(pool: Bytes, edges: Longs, out: Bits) -> None:
    """A hash of every text, which is not 0; pool: their bytes; edges: where each begins, and the last one ends."""
    for k in range(len(edges) - 1):
        code = mixed(hashed(pool, edges[k], edges[k + 1], np.uint64(_FNV)))
        out[k] = code if code != np.uint64(0) else np.uint64(1)


def mixed_texts(pool: Bytes, edges: Longs) -> Bits:
    """The same as an array."""
    out = np.empty(len(edges) - 1, np.uint64)
    mix_texts(pool, edges, out)
    return out


@kernel
def hashed_keys(offsets: Longs, texts: Bits, places: Longs, seed: Any, mask: Any, ids: Ints) -> None:
    """Hash of one template at every token; -1 where a column is absent.

    texts: (columns of the template, tokens) hashes, 0 for an absent value; places: its offsets; seed: of the template;
    mask: the bits that are kept. Beyond a sequence's ends the distance stands in the place of a text.
    """
    for i in range(len(offsets) - 1):
        p, q = offsets[i] - offsets[0], offsets[i + 1] - offsets[0]
        for t in range(p, q):
            code = seed
            there = True
            for d in range(len(places)):
                at = t + places[d]
                if at < p:
                    text = np.uint64(p - at) << np.uint64(32)
                elif at >= q:
                    text = np.uint64(at - q + 1)
                else:
                    text = texts[d, at]
                    there = there and text != np.uint64(0)
                code = mixed(code + text * np.uint64(0x9E3779B97F4A7C15))
            ids[t] = np.int32(code & mask) if there else np.int32(-1)
