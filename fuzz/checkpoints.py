"""Altered checkpoints: files of fits that were interrupted, with other arrays, values and members.

A case takes the checkpoint of a small fit that was interrupted, changes the file in one place, and fits again. A fit
that goes on from an array of another type or shape, or with something that is no number, must end with the same model.
"""

import io
import json
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import sidelight as sl
from sidelight.running.checkpoints import Journal
from tests.learners.samples import labelled
from tests.running.killing import bitext

_X, _Y = labelled(count=12, longest=4)
_HALF = [*_Y[:6], *[None] * 6]
_RULES = [sl.starts_with("A"), sl.count("Y") <= 2]
_EXPECTED = [sl.count("A") >= 1]
_HIDDEN = [[None if t % 2 else label for t, label in enumerate(one)] for one in _Y[6:]]


def _fit(make: Callable[[], Any], y: Any) -> Any:
    return make().fit(_X, y)


FITS: dict[str, Callable[[], Any]] = {
    "lbfgs": partial(_fit, lambda: sl.CRF(solver="lbfgs", max_iterations=9), _Y),
    "lbfgs with l1": partial(_fit, lambda: sl.CRF(solver="lbfgs", l1=0.01, tolerance=1e-12, max_iterations=120), _Y),
    "eg": partial(_fit, lambda: sl.CRF(solver="eg", tolerance=1e-4, max_iterations=9), _Y),
    "sgd": partial(_fit, lambda: sl.CRF(solver="sgd", max_iterations=4), _Y),
    "eg on segments": partial(_fit, lambda: sl.SemiCRF(max_iterations=6), _Y),
    "perceptron": partial(_fit, lambda: sl.StructuredPerceptron(epochs=4), _Y),
    "mira": partial(_fit, lambda: sl.MIRA(epochs=4), _Y),
    "kernel perceptron": partial(_fit, lambda: sl.KernelPerceptron(epochs=4), _Y),
    "cutting planes": partial(_fit, lambda: sl.StructuralSVM(tolerance=0.01), _Y),
    "subgradient": partial(_fit, lambda: sl.StructuralSVM(solver="sgd", max_iterations=6), _Y),
    "latent svm": partial(_fit, lambda: sl.LatentStructuralSVM(tolerance=0.1, max_rounds=4), [*_Y[:6], *_HIDDEN]),
    "em": partial(_fit, lambda: sl.EM(sl.HMM(), iterations=3, guard=False), _HALF),
    "codl": partial(
        _fit, lambda: sl.CoDL(sl.CRF(max_iterations=9), _RULES, iterations=3, guard=False, balance=0.1), _HALF
    ),
    "self-training": partial(_fit, lambda: sl.SelfTraining(sl.HMM(), iterations=2, guard=False, threshold=0.1), _HALF),
    "pr around an hmm": partial(
        _fit, lambda: sl.PosteriorRegularization(sl.HMM(), _EXPECTED, iterations=3, guard=False), _HALF
    ),
    "pr around a crf": partial(
        _fit, lambda: sl.PosteriorRegularization(sl.CRF(max_iterations=5), _EXPECTED, iterations=3, guard=False), _HALF
    ),
    "agreement": partial(
        _fit, lambda: sl.Agreement([sl.CRF(["word"], max_iterations=9), sl.HMM()], iterations=2, guard=False), _HALF
    ),
    "combined": partial(
        _fit, lambda: sl.Combined(sl.CRF(max_iterations=5), _EXPECTED, iterations=2, weights={}, guard=False), _HALF
    ),
    "word aligner": lambda: sl.WordAligner(ibm1_iterations=2, hmm_iterations=2).fit(bitext(12)),
}  # fmt: skip
# Writes after which a fit is interrupted: between them there are states of every kind.
_WRITES = (1, 2, 4)
_LEAVES = (
    None, True, -1, 0, 2, 10**9, 10**30, -0.5, float("nan"), float("inf"), "", "x", [], {}, [[]],
    {"array": 0, "scalar": True}, {"array": 10**6, "scalar": False}, {"tuple": []}, {"set": [[]], "frozen": False},
    {"mapping": [[{"mapping": []}, 1]]}, {"generator": {"mapping": []}},
    {"object": "Step", "values": {}}, {"object": "JournalEntry", "values": {}},
    {"object": "sidelight.running.joblib_cluster:tempfile._TemporaryFileCloser", "values": {"name": "x"}},
)  # fmt: skip
Members = dict[str, bytes]


class _Interrupted(BaseException):
    """The end of a run."""


@cache
def _right(name: str) -> Members:
    """The model of a fit that nothing interrupts, by the members of its file."""
    return _content(FITS[name]())


@cache
def _checkpoint(name: str, writes: int) -> Members:
    """The checkpoint of a fit that was interrupted after so many writes; empty where it was not."""
    left, write = writes, Journal.write

    def write_and_end(self: Journal) -> None:
        nonlocal left
        write(self)
        left -= 1
        if left < 0:
            raise _Interrupted

    with tempfile.TemporaryDirectory() as folder:
        Journal.write = write_and_end  # type: ignore[method-assign]
        try:
            with sl.checkpointing(folder, every=0):
                FITS[name]()
        except _Interrupted:
            return _members(Path(folder) / "checkpoint.zip")
        finally:
            Journal.write = write  # type: ignore[method-assign]
    return {}


def _content(learner: Any) -> Members:
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder) / "model")
        return _members(Path(folder) / "model")


def _members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def setup(folder: Path) -> None:
    """Makes every fit once, and interrupts it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in FITS:
            _right(name)
            for writes in _WRITES:
                _checkpoint(name, writes)


def case(folder: Path, random: Random) -> str:
    """Alters a checkpoint and goes on from it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _altered(folder, random)


def _altered(folder: Path, random: Random) -> str:
    name = random.choice(sorted(FITS))
    members = dict(_checkpoint(name, random.choice(_WRITES)))
    arrays = [member for member in members if member.endswith(".npy")]
    kind = random.choice(("array", "array", "numbers", "values")) if arrays else "values"
    if not members:
        return "not interrupted"
    if kind == "values":
        members["values.json"] = _other_values(members["values.json"], random)
    else:
        member = random.choice(arrays)
        array = np.load(io.BytesIO(members[member]))
        out = io.BytesIO()
        np.save(out, (_other_array if kind == "array" else _other_numbers)(array, random))
        members[member] = out.getvalue()
    found = resumed(folder, name, members)
    if found == "another model" and kind == "array":
        raise AssertionError(f"{name}: another model came of an array of another type or shape")
    return found


def resumed(folder: Path, name: str, members: Members) -> str:
    """Returns the outcome of a fit that goes on from a checkpoint with these members."""
    place = folder / "resumed"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    with zipfile.ZipFile(place / "checkpoint.zip", "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    try:
        with sl.checkpointing(place, every=1000):
            learner = FITS[name]()
    except sl.DataError as error:
        return "refused" if "checkpoint" in str(error) else "failed in fitting"
    except sl.SidelightError:
        return "failed in fitting"
    return "the same model" if _content(learner) == _right(name) else "another model"


def _other_array(array: Any, random: Random) -> Any:
    """The array with another type or shape, or with something that is no number."""
    if array.dtype.kind == "f" and array.size and random.random() < 0.3:
        array = array.copy()
        array.flat[random.randrange(array.size)] = random.choice((np.nan, np.inf, -np.inf))
        return array
    kinds = [
        kind for kind in ("f4", "f8", "i4", "i8", "u8", "U3", "bool", "complex128") if np.dtype(kind) != array.dtype
    ]
    flat = array.ravel()
    return random.choice(
        (
            lambda: array.astype(random.choice(kinds)), lambda: flat[:-1], lambda: flat[:1], lambda: flat[:0],
            lambda: array[None], lambda: array[..., None], lambda: np.concatenate([flat, flat]),
            lambda: np.zeros((3,) * (array.ndim + 1), array.dtype),
        )
    )()  # fmt: skip


def _other_numbers(array: Any, random: Random) -> Any:
    """The array with other numbers of its type."""
    array = array.copy()
    some = slice(None) if random.random() < 0.3 or not array.size else random.randrange(array.size)
    if array.dtype.kind == "b":
        array.reshape(-1)[some] ^= True
    elif array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            array.reshape(-1)[some] = random.choice((0.0, -1.0, 1.0, 1e9, -1e30, 1e99, 1e-300, 0.5))
    elif array.dtype.kind in "iu":
        array.reshape(-1)[some] = random.choice((0, -1, 1, 7, 10**6, 2**31 - 1, -(2**31)))
    return array


def _other_values(content: bytes, random: Random) -> bytes:
    """The values with one of them changed, left out or taken for another one."""
    values = json.loads(content)
    places: list[tuple[Any, Any]] = []

    def collect(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)):
            places.append((value, key))
            if isinstance(value[key], dict | list):
                collect(value[key])

    collect(values)
    holder, key = random.choice(places)
    change = random.random()
    if change < 0.2:
        del holder[key]
    elif change < 0.4:
        other, another = random.choice(places)
        holder[key] = json.loads(json.dumps(other[another])) if not isinstance(other[another], dict) else other[another]
    elif isinstance(holder[key], int | float) and change < 0.7:
        holder[key] = random.choice((-1, 0, 1, 3, 10**6, 10**12, -0.5, 1e300, float("nan"), float("inf")))
    else:
        holder[key] = random.choice(_LEAVES)
    try:
        return json.dumps(values).encode()
    except (ValueError, RecursionError):  # a value inside itself
        return content
