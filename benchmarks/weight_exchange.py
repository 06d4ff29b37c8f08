"""CRFsuite's weights in the place of sidelight's, so that one objective judges both."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sidelight.kernels.compiling import Floats, Ints, Longs
from sidelight.scorers.linear import LinearScorer

from .chunk_features import attributes


def attribute_numbers(X: Sequence[Any], rows: Ints) -> dict[str, int]:
    """sidelight's number of every attribute string; rows: (tokens, templates), raises unless they match one to one."""
    names = (name for x in X for token in attributes(x) for name in token)
    pairs = set(zip(names, rows.ravel().tolist(), strict=True))
    numbers = dict(pairs)
    if not len(pairs) == len(numbers) == len(set(numbers.values())):
        raise ValueError("attribute strings and sidelight's attributes do not match one to one")
    return numbers


def weights_as(scorer: LinearScorer, classes: Sequence[str], numbers: dict[str, int], tagger: Any) -> Floats:
    """CRFsuite's weights in the order of sidelight's."""
    info, L = tagger.info(), scorer.labels
    if len(info.attributes) != len(numbers):
        raise ValueError(f"CRFsuite has {len(info.attributes)} attributes, sidelight {len(numbers)}")
    label = {name: k for k, name in enumerate(classes)}
    owners = np.repeat(np.arange(len(scorer.pointer) - 1), np.diff(scorer.pointer))
    w = np.zeros(scorer.size)
    _place(w, owners * L + scorer.label, {numbers[a] * L + label[b]: v for (a, b), v in info.state_features.items()})
    _place(w[len(scorer.label) :], scorer.pairs, {label[a] * L + label[b]: v for (a, b), v in info.transitions.items()})
    return w


def _place(out: Floats, codes: Longs, values: dict[int, float]) -> None:
    """Put every value where its code stands among the sorted codes."""
    wanted = np.fromiter(values, np.int64, len(values))
    at = np.searchsorted(codes, wanted)
    if not np.array_equal(codes[at], wanted):
        raise ValueError("CRFsuite has weights that sidelight has not")
    out[at] = list(values.values())
