"""Altered corpora: files with other rows, places, headers and sizes, whose checksums are right.

A case alters a small corpus in one or two places, reads it and learns from it.
"""

import json
import warnings
import zlib
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import sidelight as sl
from sidelight.data.corpus_file import _TAIL, MAGIC, write_corpus
from tests.learners.samples import labelled

_NUMBERS = (-1, 0, 1, -4, -5, 7, 100, 2**31 - 1, -(2**31))
_LEAVES = (None, True, -1, 0, 10**9, 10**400, "", "A", [], [[]], ["A", "A"], {}, 0.5, "\ud800", [["A"]], [None])


def setup(folder: Path) -> None:
    """Learns once from the corpus as it is, so that kernels are compiled."""
    (folder / "whole.sl").write_bytes(_whole(folder))
    _learn(folder / "whole.sl")


def case(folder: Path, random: Random) -> str:
    """Alters a corpus, reads it and learns from it."""
    path = folder / "altered.sl"
    path.write_bytes(altered(_whole(folder), random))
    _learn(path)
    return "learned from"


def _whole(folder: Path) -> bytes:
    X, y = labelled(count=10, longest=4)
    write_corpus(folder / "corpus.sl", zip(X, y, strict=True))
    return (folder / "corpus.sl").read_bytes()


def _learn(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        corpus = sl.read_corpus(path)
        list(corpus)
        list(corpus.y)
        sl.HMM().fit(corpus, corpus.y).predict(corpus)
        sl.StructuredPerceptron(epochs=1).fit(corpus, corpus.y)


def altered(raw: bytes, random: Random) -> bytes:
    """Returns the corpus with other content."""
    ends = len(MAGIC), len(raw) - len(MAGIC) - _TAIL.size
    columns, tokens, sequences, header, _ = sizes = list(_TAIL.unpack(raw[ends[1] : ends[1] + _TAIL.size]))
    at = ends[0] + 4 * tokens * (columns + 1)
    rows = np.frombuffer(raw[ends[0] : at], "<i4").copy()
    offsets = np.frombuffer(raw[at : at + 8 * (sequences + 1)], "<i8").copy()
    values = json.loads(raw[at + 8 * (sequences + 1) : ends[1]])
    for _ in range(random.randrange(1, 3)):
        kind = random.random()
        if kind < 0.3:
            rows[random.randrange(len(rows))] = random.choice(_NUMBERS)
        elif kind < 0.5:
            offsets[random.randrange(len(offsets))] = random.choice((*_NUMBERS, 2**62, -(2**62)))
        elif kind < 0.85:
            holder, key = random.choice(list(_places(values)))
            holder[key] = random.choice(_LEAVES)
        else:
            sizes[random.randrange(4)] = random.choice((0, 1, 2, 100, 2**32, 2**62, 2**64 - 1))
    text = json.dumps(values).encode()
    if sizes[3] == header:
        sizes[3] = len(text)
    content = offsets.tobytes() + text
    return MAGIC + rows.tobytes() + content + _TAIL.pack(*sizes[:4], zlib.crc32(content)) + MAGIC


def _places(values: Any) -> Any:
    """Yields every container within nested values, with each of its keys or positions."""
    for key in list(values) if isinstance(values, dict) else range(len(values)):
        yield values, key
        if isinstance(values[key], dict | list):
            yield from _places(values[key])
