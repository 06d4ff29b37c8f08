"""Fits that are killed after they have written a checkpoint, and go on in the next one."""

from zipfile import ZipFile

import numpy as np

from sidelight import checkpointing
from sidelight.running.checkpoints import Journal


class Killed(BaseException):
    """The end of a process."""


def killed_after(writes, monkeypatch):
    """Let the process end after it has written this many checkpoints; the first is written when a folder is opened."""
    left, write = [writes], Journal.write

    def write_and_die(self):
        write(self)
        left[0] -= 1
        if left[0] < 0:
            raise Killed

    monkeypatch.setattr(Journal, "write", write_and_die)


def survive(fit, folder, monkeypatch, *, gaps=(2, 5, 11)):
    """`fit()` with checkpoints, killed after some of them again and again; returns what it gave, and the kills."""
    kills = 0
    while True:
        try:
            with monkeypatch.context() as patch:
                killed_after(gaps[kills % len(gaps)], patch)
                with checkpointing(folder, every=0):
                    return fit(), kills
        except Killed:
            kills += 1
            assert kills < 500


def content(learner, tmp_path):
    """The model file of a learner: its parts by name."""
    learner.save(tmp_path / "model")
    with ZipFile(tmp_path / "model") as file:
        return {name: file.read(name) for name in file.namelist()}


def references(count=24, labelled=8, seed=1):
    """References of which the first are labelled, and all their labels."""
    from sidelight import generate_references

    X, y = generate_references(count, seed=seed)
    return X, [one if i < labelled else None for i, one in enumerate(y)], y


def bitext(count=40, seed=0):
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        words = rng.integers(12, size=rng.integers(1, 6)).tolist()
        pairs.append(([f"e{w}" for w in words], [f"f{w}" for w in reversed(words)]))
    return pairs
