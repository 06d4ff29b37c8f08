"""Model files: one zip archive with a JSON header and plain arrays; no pickle, checksummed, written atomically.

`header.json` holds the format's name and version, the learner's class, parameters and labels, and the encoder; every
array is a `.npy` member read without pickle. The archive's checksums tell a damaged file.
"""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .data.source import open_for_writing
from .dictionary import TagDictionary
from .errors import DataError, ModelFileError
from .features.arrays import ArrayEncoder
from .features.columns import Column, Template, parse
from .features.dicts import DictEncoder
from .features.documents import BagEncoder, RowEncoder
from .features.segments import SegmentEncoder
from .features.symbols import SymbolEncoder
from .features.templates import TemplateEncoder
from .learners.tasks import task_named
from .learners.wrappers.agreement import View
from .records import RECORDS
from .rules.files import parse_rule, saved_text
from .rules.language import Rule
from .supervision import Companion

FORMAT = "sidelight model"
VERSION = 3
_ENCODERS: dict[str, Any] = {
    cls.__name__: cls
    for cls in (TemplateEncoder, DictEncoder, ArrayEncoder, SymbolEncoder, SegmentEncoder, BagEncoder, RowEncoder)
}
# A fixed time stamp, so that equal models give equal files.
_STAMP = (2000, 1, 1, 0, 0, 0)


def save(learner: Any, path: str | PathLike[str]) -> None:
    """Write a fitted learner to `path`; an existing file is replaced only when the new one is complete."""
    write_archive(path, *_describe(learner, ""))


def write_archive(path: str | PathLike[str], description: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write a model file: plain values that describe a fitted learner, and its arrays by name."""
    from . import __version__

    header = {"format": FORMAT, "version": VERSION, "sidelight": __version__, **description}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        text = json.dumps(header, ensure_ascii=False, default=_plain)
        _put(archive, "header.json", text.encode(errors="surrogatepass"))
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            _put(archive, f"{name}.npy", member.getvalue())
    try:
        with open_for_writing(path, binary=True) as file:
            file.write(content.getbuffer())
    except DataError as error:
        raise ModelFileError(str(error)) from error


def load(path: str | PathLike[str]) -> Any:
    """Read any fitted learner from a file written by `save`.

    Parameters
    ----------
    path : str or path-like
        The model file.

    Returns
    -------
    learner
        The fitted learner.

    Raises
    ------
    ModelFileError
        If the file cannot be read or is not a complete model.
    """
    name = str(path)
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(f"cannot read the model file {name}: {error.strerror}") from None
    header, arrays = _open(name, raw)
    try:
        if header.get("learner") == "WordAligner":
            from .wordalign.aligner import WordAligner

            return WordAligner.from_archive(name, header, arrays)
        return _rebuild(name, header, arrays, "")
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{name} is not a complete sidelight model: {error!r} is missing or wrong") from error


def _describe(learner: Any, folder: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A fitted learner, and the fitted learners inside it, as plain values and arrays named by folder."""
    arrays = learner.state()
    named = {f"{folder}learner/{k}": array for k, array in arrays.items()}
    kept = {
        name: _packed(getattr(learner, name), named, f"{folder}{name}") for name in (*learner.saved, "guard_", "_free")
    }
    out: dict[str, Any] = {
        "learner": type(learner).__name__,
        "parameters": _parameters(learner),
        "classes": learner.model_.classes,
        "kept": kept,
        "models": {},
    }
    if not learner.models_:
        encoder_values, encoder_arrays = learner.encoder_.state()
        out["encoder"] = {"class": type(learner.encoder_).__name__, "values": encoder_values}
        named |= {f"{folder}encoder/{k}": array for k, array in encoder_arrays.items()}
    for name, model in learner.models_.items():
        if model is not None:
            out["models"][name], more = _describe(model, f"{folder}{name}/")
            named |= more
    return out, named


def _rebuild(name: str, header: dict[str, Any], arrays: dict[str, Any], folder: str) -> Any:
    """The learner that `_describe` described."""

    def inside(part: str) -> dict[str, Any]:
        start = f"{folder}{part}/"
        return {k.removeprefix(start): array for k, array in arrays.items() if k.startswith(start)}

    learner, encoder = _unfitted(header, name), None
    learner.classes_ = header["classes"]
    for part in learner.models_:
        inner = header["models"].get(part)
        setattr(learner, part, None if inner is None else _rebuild(name, inner, arrays, f"{folder}{part}/"))
    if "encoder" in header:
        kind, values = header["encoder"]["class"], header["encoder"]["values"]
        if hasattr(learner.task_, "restore_encoder"):
            encoder = learner.task_.restore_encoder(values, inside("encoder"))
        else:
            encoder = _ENCODERS[kind].from_state(values, inside("encoder"), learner.n_jobs)
    learner.restore(encoder, inside("learner"))
    for attribute, packed in header["kept"].items():
        setattr(learner, attribute, _unpacked(packed, arrays))
    return learner


def _packed(value: Any, arrays: dict[str, Any], place: str) -> Any:
    """What a fit left behind, as JSON has it; arrays go to `arrays`, by their place."""
    if isinstance(value, np.ndarray):
        arrays[place] = value
        return {"array": place}
    if type(value).__name__ in RECORDS:
        found = {one.name: _packed(getattr(value, one.name), arrays, f"{place}/{one.name}") for one in fields(value)}
        return {"record": type(value).__name__, "values": found}
    if isinstance(value, list | tuple):
        return [_packed(item, arrays, f"{place}/{k}") for k, item in enumerate(value)]
    return _plain(value)


def _unpacked(value: Any, arrays: dict[str, Any]) -> Any:
    """Take back what `_packed` gave; lists come back as tuples."""
    if isinstance(value, list):
        return tuple(_unpacked(item, arrays) for item in value)
    if isinstance(value, dict) and value.keys() == {"array"}:
        return arrays[value["array"]]
    if isinstance(value, dict) and value.keys() == {"record", "values"}:
        return RECORDS[value["record"]](**{k: _unpacked(v, arrays) for k, v in value["values"].items()})
    return _rich(value)


def packed_trace(trace: Any) -> Any:
    """Returns the steps of a fit, numbers and texts alone, as JSON has them."""
    return _packed(trace, {}, "")


def unpacked_trace(packed: Any) -> Any:
    """Returns the steps that `packed_trace` packed."""
    return _unpacked(packed, {})


def _parameters(learner: Any) -> dict[str, Any]:
    return {name: _plain(value) for name, value in learner.get_params(deep=False).items()}


def _unfitted(header: dict[str, Any], name: str) -> Any:
    from . import learners_by_name

    known = learners_by_name()
    if header.get("learner") not in known:
        raise ModelFileError(f"{name} holds a {header.get('learner')}, which this version of sidelight does not have")
    return known[header["learner"]](**{k: _rich(v) for k, v in header["parameters"].items()})


def _put(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _STAMP), content, zipfile.ZIP_DEFLATED)


def _open(name: str, raw: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays, or an error that says what kind of file this is."""
    if not raw.startswith(b"PK"):
        raise ModelFileError(f"{name} is not a sidelight model; models are written by `sidelight train` or .save()")
    arrays: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            if "header.json" not in archive.namelist():
                raise ModelFileError(f"{name} is a zip archive but not a sidelight model")
            header = json.loads(archive.read("header.json"))
            _check_header(name, header)
            for member in archive.namelist():
                if member.endswith(".npy"):
                    content = io.BytesIO(archive.read(member))
                    arrays[member.removesuffix(".npy")] = np.lib.format.read_array(content, allow_pickle=False)
    except ModelFileError:
        raise
    except Exception as error:  # zipfile meets damage with errors of a dozen kinds
        raise ModelFileError(f"{name} is damaged or cut off ({error}); train again or copy it again") from None
    return header, arrays


def _check_header(name: str, header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{name} is a zip archive but not a sidelight model")
    if header.get("version") != VERSION:
        raise ModelFileError(
            f"{name} has version {header.get('version')} of the model format, this sidelight reads {VERSION}; "
            f"it was written by sidelight {header.get('sidelight')}; train the model again"
        )


def _plain(value: Any) -> Any:
    """A parameter as JSON: column expressions and rules as marked text, learners by name and parameters."""
    if isinstance(value, Column | Template):
        return {"expression": str(value)}
    if isinstance(value, Rule):
        return {"rule": saved_text(value)}
    if isinstance(value, Companion):
        return {"companion": value.name}
    if isinstance(value, TagDictionary):
        labels = {word: sorted(tags) for word, tags in value.labels.items()}
        return {"dictionary": labels, "open": sorted(value.open), "word": _plain(value.word)}
    if hasattr(value, "lay_out"):  # a task
        name = type(value).__name__
        if task_named(name) is not type(value):
            raise DataError(f"the task {name} cannot be saved; mark its class with sidelight.register_task")
        return {"task": name, "parameters": {one.name: _plain(getattr(value, one.name)) for one in fields(value)}}
    if isinstance(value, View):
        return {"view": [_plain(getattr(value, one.name)) for one in fields(value)]}
    if hasattr(value, "get_params"):
        return {"learner": type(value).__name__, "parameters": _parameters(value)}
    if isinstance(value, Mapping):
        return {"mapping": [[_plain(key), _plain(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise DataError(f"a parameter of type {type(value).__name__} cannot be saved: {value!r}")


def _rich(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"expression"}:
        return parse(value["expression"])
    if isinstance(value, dict) and value.keys() == {"rule"}:
        return parse_rule(value["rule"])
    if isinstance(value, dict) and value.keys() == {"companion"}:
        return Companion[value["companion"]]
    if isinstance(value, dict) and value.keys() == {"dictionary", "open", "word"}:
        labels = {word: frozenset(tags) for word, tags in value["dictionary"].items()}
        return TagDictionary(labels, frozenset(value["open"]), _rich(value["word"]))
    if isinstance(value, dict) and value.keys() == {"task", "parameters"}:
        task = task_named(value["task"])
        if task is None:
            raise ModelFileError(
                f"the file has a model for the task {value['task']}, which is not known here; import the module that "
                "defines it, and mark its class with sidelight.register_task"
            )
        return task(**{k: _rich(v) for k, v in value["parameters"].items()})
    if isinstance(value, dict) and value.keys() == {"learner", "parameters"}:
        return _unfitted(value, "the file")
    if isinstance(value, dict) and value.keys() == {"view"}:
        learner, key, prefix, part = map(_rich, value["view"])
        return View(learner, key, prefix, None if part is None else tuple(part))
    if isinstance(value, dict) and value.keys() == {"mapping"}:
        return {tuple(key) if isinstance(key, list) else key: _rich(item) for key, item in value["mapping"]}
    return [_rich(item) for item in value] if isinstance(value, list) else value
