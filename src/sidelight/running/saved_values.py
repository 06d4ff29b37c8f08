"""Values of a fit as a file: one zip archive of JSON and plain arrays, with checksums, without pickle.

Numbers, texts, lists, mappings, arrays, random generators, and instances of the package's own classes are written; what
refers to anything else is an error. A file takes the place of the one before when it is whole and on the disk.
"""

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SidelightError

_PACKAGE = __name__.partition(".")[0]
_VALUES = "values.json"
# Keys of JSON objects that stand for something else than texts, numbers and lists.
_ARRAY, _TUPLE, _SET, _MAPPING, _GENERATOR, _OBJECT = "array", "tuple", "set", "mapping", "generator", "object"


def write(path: Path, value: Any) -> None:
    """Write a value; raises `OSError` where that fails, and the file is then as it was.

    Nobody else may write to the same file at the same time.
    """
    arrays: list[Any] = []
    text = json.dumps(_packed(value, arrays), ensure_ascii=True)
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with open(temporary, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr(_VALUES, text)
                for number, array in enumerate(arrays):
                    with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def read(path: Path) -> Any:
    """Returns the value of a file; raises `ValueError` where the file is not whole."""
    try:
        with zipfile.ZipFile(path) as archive:
            text = archive.read(_VALUES)
            arrays = []
            for number in range(len(archive.namelist()) - 1):
                with archive.open(f"{number}.npy") as member:
                    arrays.append(np.lib.format.read_array(member, allow_pickle=False))
        return _unpacked(json.loads(text), arrays)
    except OSError:
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
    if kind.__module__.partition(".")[0] != _PACKAGE or isinstance(value, type):
        raise SidelightError(f"a checkpoint cannot hold a {kind.__module__}.{kind.__qualname__}")
    held = {name: _packed(one, arrays) for name, one in _attributes(value).items()}
    return {_OBJECT: f"{kind.__module__}:{kind.__qualname__}", "values": held}


def _attributes(value: Any) -> dict[str, Any]:
    """What an instance of one of the package's classes is made of."""
    if hasattr(value, "_asdict"):  # a named tuple
        return dict(zip(value._fields, value, strict=True))
    if is_dataclass(value):
        names = [one.name for one in fields(value) if hasattr(value, one.name)]
        return {name: getattr(value, name) for name in names}
    return dict(vars(value))


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
    """An instance of one of the package's classes with these attributes."""
    module, _, path = name.partition(":")
    if module.partition(".")[0] != _PACKAGE:
        raise ValueError(f"{name} is no class of {_PACKAGE}")
    kind: Any = import_module(module)
    for part in path.split("."):
        kind = getattr(kind, part)
    if not isinstance(kind, type):
        raise ValueError(f"{name} is no class")
    if issubclass(kind, tuple):
        return kind(**held)
    found = kind.__new__(kind)
    for key, one in held.items():
        object.__setattr__(found, key, one)
    return found
