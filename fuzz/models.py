"""Altered model files: valid archives with other arrays, headers and members, of every learner.

A case takes one of the golden files (tests/golden), changes it in a few places, loads it and predicts.
"""

import io
import json
import warnings
import zipfile
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from sidelight import load
from sidelight.errors import ModelFileError, SidelightError
from tests.golden.cases import CASES
from tests.golden.regenerate import FOLDER

HEADER = "header.json"
# What numbers become, in arrays and in headers.
_NUMBERS = (-1, 0, 1, 2, -5, 3, 7, 100, 3000, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 0.5, -1e-9)
_LARGE = (1e308, -1e308, float("inf"), float("-inf"), float("nan"), 1e99, 10**9, -(10**18))
_TYPES = ("int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64", ">f8", ">i4", "bool", "U3",
          "complex128", "S2", "M8[s]", "i4,f8")  # fmt: skip
_LEAVES = (
    None, True, False, "", "x", "\ud800", "word", "word.lower()", "word[-3]", "word.suffix(2)", [], {}, [[]], ["A"],
    ["A", "A"], 10**30, -(10**400), {"rule": "count('A') <= 1"}, {"expression": "word"}, {"companion": "GOOD"},
    {"task": "Classifying", "parameters": {}}, {"learner": "HMM", "parameters": {}}, {"mapping": [["a", 1]]},
    {"dictionary": {"Ann": ["A"]}, "open": [], "word": "word"}, {"array": "learner/weights"}, [0] * 1000,
    [str(k) for k in range(2000)], *_NUMBERS, *_LARGE,
)  # fmt: skip
Members = dict[str, Any]
_files: dict[str, bytes] = {}


def setup(folder: Path) -> None:
    """Reads the golden files, and predicts with each once, so that kernels are compiled."""
    for name, case in CASES.items():
        _files[name] = (FOLDER / f"{name}.model").read_bytes()
        (folder / "whole.model").write_bytes(_files[name])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _use(load(folder / "whole.model"), case.new)


def case(folder: Path, random: Random) -> str:
    """Alters a file, loads it and predicts."""
    name = random.choice(sorted(CASES))
    path = folder / "altered.model"
    path.write_bytes(altered(_files.get(name) or (FOLDER / f"{name}.model").read_bytes(), random))
    try:
        learner = load(path)
    except ModelFileError:
        return "refused"
    try:
        _use(learner, CASES[name].new)
    except SidelightError:
        return "failed with an error of the package in predicting"
    return "answered"


def _use(learner: Any, X: Any) -> None:
    """Predicts, and then asks for what reports show, where the learner offers it."""
    learner.predict(X)
    repr(learner)
    with suppress(SidelightError):
        if hasattr(learner, "predict_marginals"):
            learner.predict_marginals(X)
    with suppress(SidelightError):
        if hasattr(learner, "explain"):
            learner.explain(X[0], 0)
    with suppress(SidelightError):
        if hasattr(learner, "top_weights"):
            learner.top_weights(3)


def altered(raw: bytes, random: Random) -> bytes:
    """Returns another archive: one to three changes of its header, its arrays, or its members."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members: Members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members[HEADER])
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        kind = random.random()
        if kind < 0.55 and len(members) > 1:
            _alter_array(members, random)
        elif kind < 0.9:
            header = _alter_header(header, random)
        else:
            _alter_members(members, random)
    if HEADER in members and members[HEADER] != b"":
        members[HEADER] = json.dumps(header).encode(errors="surrogatepass")
        if random.random() < 0.01:
            members[HEADER] = b'{"format": ' + b"[" * 100_000
    content = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        warnings.simplefilter("ignore")
        for name, value in members.items():
            archive.writestr(name, value)
        if random.random() < 0.02:
            archive.writestr(random.choice(list(members)), b"again")
    return content.getvalue()


# Arrays ---------------------------------------------------------------------------------------------------------------


def _alter_array(members: Members, random: Random) -> None:
    arrays = [name for name in members if name.endswith(".npy")]
    if not arrays:
        return
    name = random.choice(arrays)
    try:
        array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    except Exception:  # altered before, and no array any more
        return
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = _other_array(array, random)
    content = io.BytesIO()
    np.lib.format.write_array(content, array, allow_pickle=False)
    members[name] = content.getvalue()
    if random.random() < 0.03:
        members[name] = _other_header(members[name], random)


def _other_array(array: Any, random: Random) -> Any:
    array = array.copy()
    match random.randrange(14):
        case 0 | 1 | 2 if array.size:
            array.flat[random.randrange(array.size)] = _fitting(array, random)
        case 3 if array.size:
            array[...] = _fitting(array, random)
        case 4 | 5:
            try:
                array = array.astype(random.choice(_TYPES))
            except (ValueError, TypeError):
                return array
        case 6:
            array = array.reshape(random.choice([(-1,), (1, -1), (-1, 1), (*array.shape, 1)])) if array.size else array
        case 7:
            array = array[: random.randrange(len(array) + 1)] if array.ndim else array
        case 8:
            array = np.concatenate([array] * random.choice((2, 3, 50))) if array.ndim else array
        case 9:
            array = np.empty(random.choice([(0,), (0, 0), (), (1, 0), (2, 0, 3)]), array.dtype)
        case 10:
            array = array[::-1]
        case 11:
            array = np.asfortranarray(array.T) if array.ndim > 1 else np.sort(array)
        case 12 if array.size:
            array.flat[:] = np.random.default_rng(random.randrange(2**32)).permutation(array.ravel())
        case 13 if array.size and array.dtype.kind in "if":
            array = array * random.choice((2, -1, 1000)) + random.choice((0, 1, -1))
    return array


def _fitting(array: Any, random: Random) -> Any:
    """A number that an array of this type can hold."""
    if array.dtype.kind == "f":
        return random.choice(_NUMBERS + _LARGE)
    if array.dtype.kind in "iu":
        bounds = np.iinfo(array.dtype)
        value = random.choice([*(n for n in _NUMBERS if isinstance(n, int)), bounds.min, bounds.max, array.size])
        return min(max(value, bounds.min), bounds.max)
    return array.flat[0]


def _other_header(content: bytes, random: Random) -> bytes:
    """An array whose own header declares another shape or type."""
    begin, end = content.index(b"{"), content.index(b"\n", 10)
    text = random.choice((
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
        b"{'descr': '|V0', 'fortran_order': False, 'shape': (99999999,), }",
        b"{'shape': (3,)}", b"[[[[[[[[[[[[[[[[[[[[",
    ))  # fmt: skip
    return content[:begin] + text.ljust(end - begin)[: max(end - begin, 0)] + content[end:]


# Headers --------------------------------------------------------------------------------------------------------------


def _place(header: Any, random: Random) -> tuple[Any, Any]:
    """A container with a key or number in it, found on a way down from the header: long lists have no more weight."""
    owner: Any = header
    key: Any = random.choice([name for name in header if name not in ("format", "version")])
    while isinstance(owner[key], dict | list) and owner[key] and random.random() < 0.8:
        owner = owner[key]
        key = random.choice(list(owner)) if isinstance(owner, dict) else random.randrange(len(owner))
    return owner, key


def _alter_header(header: Any, random: Random) -> Any:
    if len(header) <= 2:
        return header
    owner, key = _place(header, random)
    other, other_key = _place(header, random)
    match random.randrange(10):
        case 0 | 1 | 2 | 3:
            owner[key] = deepcopy(random.choice(_LEAVES))
        case 4:
            del owner[key]
        case 5:
            owner[key] = deepcopy(other[other_key])
        case 6 if isinstance(owner[key], list):
            owner[key] = owner[key] * random.choice((0, 2, 100))
        case 7 if isinstance(owner, list):
            random.shuffle(owner)
        case 8 if isinstance(owner[key], str):
            owner[key] = _other_text(owner[key], random)
        case 9:
            owner[key] = _deep(owner[key], random)
        case _ if isinstance(owner, dict):
            more = random.choice(("x", "predict", "classes_", "model_", "__class__"))
            owner[more] = deepcopy(random.choice(_LEAVES))
    return header


def _deep(value: Any, random: Random) -> Any:
    """A value inside of others."""
    for _ in range(random.choice((1, 20, 60))):
        value = random.choice(([value], {"mapping": [["a", value]]}, {"learner": "EM", "parameters": {"base": value}}))
    return value


def _other_text(text: str, random: Random) -> str:
    names = ("CRF", "HMM", "CCM", "SemiCRF", "WordAligner", "DictEncoder", "ArrayEncoder", "TemplateEncoder", "Parsing")
    at = random.randrange(len(text) + 1)
    return random.choice((text + "x", text[:at] + text[at + 1 :], text[:at] + "é" + text[at:], random.choice(names)))


# Members --------------------------------------------------------------------------------------------------------------


def _alter_members(members: Members, random: Random) -> None:
    names = [name for name in members if name != HEADER]
    if not names:
        return
    one, other = random.choice(names), random.choice(names)
    match random.randrange(7):
        case 0 | 1:
            del members[one]
        case 2:
            members[one], members[other] = members[other], members[one]
        case 3:
            members[f"{one.removesuffix('.npy')}/more.npy"] = members.pop(one)
        case 4:
            members["extra.npy"] = bytes(random.choice((10, 10**6, 40 * 10**6)))
        case 5:
            members[one] = random.randbytes(random.randrange(200))
        case 6:
            at = random.randrange(len(members[one]) + 1)
            members[one] = members[one][:at] + random.randbytes(4) + members[one][at + 4 :]
