"""Values of a fit as a file: one zip archive of JSON and plain arrays, with checksums, without pickle.

Numbers, texts, lists, mappings, arrays, random generators, and instances of the classes of a list (`CLASSES`) are
written; what refers to anything else is an error. A file takes the place of the one before when it is whole and on the
disk.

A file may come from anyone: its head is checked before anything else is read, and instances are only made of the
classes of the list, without a call of their methods, with the attributes that they are declared with.
"""

import json
import os
import zipfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SidelightError
from ..stored import matches, read_npy
from .forms import annotations_of, attributes_of

# The classes whose instances a file may hold, and the modules that define them.
CLASSES = {
    "JournalEntry": "running.checkpoints",
    "Solution": "solvers.certificate",
    "Descent": "solvers.limited_memory",
    "Point": "solvers.limited_memory",
    "Changes": "solvers.limited_memory",
    "Curvature": "solvers.quasi_newton",
    "PerceptronState": "solvers.perceptron",
    "WorkingSets": "solvers.working_sets",
    "Expected": "solvers.expected",
    "ExpectedCounts": "solvers.pools",
    "BestOutputs": "solvers.pools",
    "Projection": "inference.projection",
    "Agreed": "inference.agreement",
    "HMMCounts": "scorers.hmm",
    "ValenceCounts": "scorers.valence",
    "ChainParts": "structures.chain",
    "SegmentParts": "structures.segmentation",
    "ChoiceParts": "structures.choice",
    "FlatParts": "structures.flat",
    "_Round": "learners.wrappers.codl",
    "_Sure": "learners.wrappers.self_training",
    "EStep": "wordalign.estimation",
    "Parameters": "wordalign.estimation",
    "Counts": "wordalign.estimation",
    "Direction": "kernels.word_alignment",
    # Records of iterations and rounds.
    "Step": "solvers.certificate",
    "Round": "solvers.latent_margins",
    "ProjectionStep": "solvers.projections",
    "Pass": "learners.labelled.perceptron",
    "AgreementStep": "learners.wrappers.agreement",
    "EMStep": "learners.wrappers.em",
    "SelfTrainingStep": "learners.wrappers.self_training",
    "CoDLStep": "learners.wrappers.codl",
    "CombinedStep": "learners.wrappers.combined",
    "AlignmentStep": "wordalign.aligner",
}
_PACKAGE = __name__.partition(".")[0]
_VALUES = "values.json"
# Keys of JSON objects that stand for something else than texts, numbers and lists.
_ARRAY, _TUPLE, _SET, _MAPPING, _GENERATOR, _OBJECT = "array", "tuple", "set", "mapping", "generator", "object"


def write(path: Path, head: Mapping[str, Any], value: Any) -> None:
    """Write a head of plain values, and a value; raises `OSError` where that fails, and the file is then as it was.

    Nobody else may write to the same file at the same time.
    """
    arrays: list[Any] = []
    text = json.dumps({"head": head, "value": _packed(value, arrays)}, ensure_ascii=True)
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with open(temporary, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                # Members have no time of writing, so that equal values give equal files.
                archive.writestr(zipfile.ZipInfo(_VALUES), text)
                for number, array in enumerate(arrays):
                    with archive.open(zipfile.ZipInfo(f"{number}.npy"), "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def read(path: Path, check_head: Callable[[Any], None]) -> Any:
    """Returns the value of a file; raises `ValueError` where the file is not whole, or not as `write` writes it.

    check_head: raises an error of the package unless the head is right; nothing is made of the value before.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
                raise ValueError("its members are compressed")
            content = json.loads(archive.read(_VALUES))
            check_head(content["head"] if isinstance(content, dict) and "head" in content else None)
            arrays = [read_npy(archive.read(f"{number}.npy")) for number in range(len(archive.namelist()) - 1)]
        return _unpacked(content["value"], arrays)
    except (OSError, SidelightError):
        raise
    except Exception as error:  # zipfile meets damage with errors of a dozen kinds
        raise ValueError(str(error)) from error


def _sync_folder(folder: Path) -> None:
    """Let the new name of a file be on the disk as well, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _packed(value: Any, arrays: list[Any]) -> Any:
    """The value as JSON has it; arrays go to `arrays`."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        arrays.append(np.asarray(value))
        return {_ARRAY: len(arrays) - 1, "scalar": isinstance(value, np.generic)}
    if type(value) is list:
        return [_packed(one, arrays) for one in value]
    if type(value) is tuple:
        return {_TUPLE: [_packed(one, arrays) for one in value]}
    if isinstance(value, set | frozenset):
        return {_SET: [_packed(one, arrays) for one in sorted(value, key=repr)], "frozen": isinstance(value, frozenset)}
    if isinstance(value, Mapping):
        return {_MAPPING: [[_packed(key, arrays), _packed(one, arrays)] for key, one in value.items()]}
    if isinstance(value, np.random.Generator):
        return {_GENERATOR: _packed(value.bit_generator.state, arrays)}
    kind = type(value)
    if f"{_PACKAGE}.{CLASSES.get(kind.__qualname__)}" != kind.__module__:
        raise SidelightError(f"a checkpoint cannot hold a {kind.__module__}.{kind.__qualname__}")
    held = {name: _packed(one, arrays) for name, one in attributes_of(value).items()}
    return {_OBJECT: kind.__qualname__, "values": held}


def _unpacked(value: Any, arrays: list[Any]) -> Any:
    """Take back what `_packed` gave."""
    if isinstance(value, list):
        return [_unpacked(one, arrays) for one in value]
    match value:
        case {"array": number, "scalar": scalar}:
            return arrays[number][()] if scalar else arrays[number]
        case {"tuple": items}:
            return tuple(_unpacked(one, arrays) for one in items)
        case {"set": items, "frozen": frozen}:
            found = [_unpacked(one, arrays) for one in items]
            return frozenset(found) if frozen else set(found)
        case {"mapping": items}:
            return {_unpacked(key, arrays): _unpacked(one, arrays) for key, one in items}
        case {"generator": state}:
            generator = np.random.default_rng()
            generator.bit_generator.state = _unpacked(state, arrays)
            return generator
        case {"object": str() as name, "values": dict() as held}:
            return _object(name, {key: _unpacked(one, arrays) for key, one in held.items()})
    return value


def _object(name: str, held: dict[str, Any]) -> Any:
    """Make an instance of a class of `CLASSES` from its attributes, which must have the declared types."""
    if name not in CLASSES:
        raise ValueError(f"{name[:100]} is no class that a checkpoint may hold")
    kind = getattr(import_module(f"{_PACKAGE}.{CLASSES[name]}"), name)
    declared = annotations_of(kind)
    if declared and held.keys() != declared.keys():
        raise ValueError(f"a {name} has the values {', '.join(declared)}")
    for key, hint in declared.items():
        if not matches(held[key], hint):
            raise ValueError(f"{key} of {name} has a value of another type")
    if issubclass(kind, tuple):
        return kind(**held)
    found = kind.__new__(kind)
    for key, one in held.items():
        object.__setattr__(found, key, one)
    return found
