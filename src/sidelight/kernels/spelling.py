"""How alike words are spelt, for all pairs of words of two lists."""

import numpy as np

from .compiling import Floats, Ints, Longs, inner, kernel


@inner
def edit_distance(one: Ints, other: Ints, row: Longs) -> int:
    """How many letters must be inserted, deleted or replaced; row: a workspace longer than `other`."""
    for j in range(len(other) + 1):
        row[j] = j
    for i in range(len(one)):
        corner, row[0] = row[0], i + 1
        for j in range(len(other)):
            above = row[j + 1]
            row[j + 1] = min(above + 1, row[j] + 1, corner + (1 if one[i] != other[j] else 0))
            corner = above
    return int(row[len(other)])


@kernel
def similarities(
    letters: Ints, starts: Longs, other_letters: Ints, other_starts: Longs, shortest: int, out: Floats
) -> None:
    """Fills (words, other words): 1 less edit distance or the share of the common prefix, whichever is more.

    letters: those of all words; starts: (words + 1,) where each begins. Two words that are both shorter than `shortest`
    are alike only if they are the same.
    """
    row = np.empty(len(other_letters) + 1, np.int64)
    for i in range(len(starts) - 1):
        one = letters[starts[i] : starts[i + 1]]
        for j in range(len(other_starts) - 1):
            other = other_letters[other_starts[j] : other_starts[j + 1]]
            least, most = min(len(one), len(other)), max(len(one), len(other))
            prefix = 0
            while prefix < least and one[prefix] == other[prefix]:
                prefix += 1
            if prefix == most:
                out[i, j] = 1.0
            elif most < shortest:
                out[i, j] = 0.0
            else:
                near = 1.0 - edit_distance(one, other, row) / most if 2 * least >= most else 0.0
                out[i, j] = max(near, prefix / most)
