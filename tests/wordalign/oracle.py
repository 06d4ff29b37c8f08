"""Word alignment by enumeration of all alignments of tiny pairs."""

from itertools import product

import numpy as np


def jump_weight(jumps, memory, i):
    """memory: the last word that was aligned, -1 if there is none."""
    reach = (len(jumps) - 2) // 3
    if memory < 0:
        return jumps[2 * reach + 1 + min(i, reach)]
    return jumps[max(-reach, min(reach, i - memory)) + reach]


def alignments(emissions, null_emissions, jumps, null, *, markov=True):
    """All alignments (a state for each word, -1 for the null word) and their probabilities.

    emissions: (words, states); null_emissions: (words,).
    """
    length, states = emissions.shape
    found = []
    for path in product(range(-1, states), repeat=length):
        p, memory = 1.0, -1
        for j, i in enumerate(path):
            if i < 0:
                p *= null * null_emissions[j]
                continue
            jump = 1 / states
            if markov:
                jump = jump_weight(jumps, memory, i) / sum(jump_weight(jumps, memory, k) for k in range(states))
            p *= (1 - null) * jump * emissions[j, i]
            memory = i
        found.append((path, p))
    return [path for path, _ in found], np.array([p for _, p in found])


def indicators(paths, states):
    """(alignments, words, states): which links each alignment has."""
    return np.array([[[float(i == k) for k in range(states)] for i in path] for path in paths])
