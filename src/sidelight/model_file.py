"""Model files: one zip archive with a JSON header and plain arrays; no pickle, checksummed, written atomically.

`header.json` holds the format's name and version, the learner's class, parameters and labels, and the encoder; every
array is a `.npy` member read without pickle. The archive's checksums tell a damaged file. What arrays and values must
be is declared where they are used, and checked by `stored`. The format is described in docs/model_files.md.
"""

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .containers import column_values, is_column
from .data.formats import Layout
from .data.source import open_for_writing
from .declared import parameter_hints
from .dictionary import TagDictionary
from .errors import DataError, ModelFileError, SidelightError
from .features.arrays import ArrayEncoder
from .features.columns import Column, Template, parse
from .features.dicts import DictEncoder
from .features.documents import BagEncoder, RowEncoder
from .features.hashed import HashedEncoder
from .features.segments import SegmentEncoder
from .features.symbols import SymbolEncoder
from .features.templates import TemplateEncoder
from .inference.readings import Readings
from .learners.tasks import task_named
from .learners.wrappers.agreement import View
from .records import RECORDS, Record
from .rules.files import parse_rule, saved_text
from .rules.language import Rule
from .stored import Arrays, ArraySpec, check_values, finite, matches, numbered, read_npy, within
from .supervision import Companion

FORMAT = "sidelight model"
VERSION = 4
_ENCODERS: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        TemplateEncoder,
        HashedEncoder,
        DictEncoder,
        ArrayEncoder,
        SymbolEncoder,
        SegmentEncoder,
        BagEncoder,
        RowEncoder,
    )
}
# A fixed time stamp, so that equal models give equal files.
_STAMP = (2000, 1, 1, 0, 0, 0)
_HEADER = "header.json"
# Unpacked, all members together take at most _ROOM bytes and _RATIO for each byte of the file. The header has limits of
# its own, since its values take several times as much memory as their texts. `save` keeps to these limits.
_ROOM, _RATIO = 1 << 24, 100
_HEADER_ROOM, _HEADER_RATIO = 1 << 20, 10
# How deeply learners, or lists and other values, may be nested.
_DEEPEST = 40
# What fitted attributes that model files keep must be.
_KEPT: dict[str, Any] = {
    "trace_": tuple[Record, ...],
    "rounds_": tuple[Record, ...],
    "converged_": bool | None,
    "solver_": str | None,
    "objective_": float,
    "run_objectives_": tuple[float, ...],
    "constant_weight_": float,
    "coef_": finite("weights"),
    "calibrated_": tuple[float, float] | None,
    "penalties_": ArraySpec(np.float64, ("rules",), least=0, infinite=True),
    "weight_": float,
    "balance_": float,
    "temperature_": float,
    "readings_": Readings,
    "prices_": finite("prices"),
    "units_": tuple[float, ...],
    "signals_": tuple[Any, ...],
    "results_": tuple[Any, ...],
    "rule_costs_": tuple[Any, ...],
    "why_": str,
    "metric_": str,
    "_free": bool,
}


def save(learner: Any, path: str | PathLike[str]) -> None:
    """Write a fitted learner to `path`; an existing file is replaced only when the new one is complete."""
    description, arrays = _describe(learner, "")
    if learner.layout_ is not None:
        description["layout"] = asdict(learner.layout_)
    write_archive(path, description, arrays)


def write_archive(path: str | PathLike[str], description: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write a model file: plain values that describe a fitted learner, and its arrays by name."""
    from . import __version__

    header = {"format": FORMAT, "version": VERSION, "sidelight": __version__, **description}
    text = json.dumps(header, ensure_ascii=False, default=_plain)
    members = {_HEADER: text.encode(errors="surrogatepass")}
    for name, array in arrays.items():
        member = io.BytesIO()
        np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
        members[f"{name}.npy"] = member.getvalue()
    content = _zipped(members, zipfile.ZIP_DEFLATED)
    if _excess(len(members[_HEADER]), sum(map(len, members.values())), len(content)):
        content = _zipped(members, zipfile.ZIP_STORED)  # `load` would not unpack as much
    try:
        with open_for_writing(path, binary=True) as file:
            file.write(content)
    except DataError as error:
        raise ModelFileError(str(error)) from error


def load(path: str | PathLike[str]) -> Any:
    """Read any fitted learner from a file written by `save`.

    The file may come from anyone: whatever it holds is checked before it is used (docs/model_files.md).

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
    try:
        archive = Archive(raw)
        if archive.header.get("learner") == "WordAligner":
            from .wordalign.aligner import WordAligner

            return WordAligner.from_archive(archive.header, archive)
        learner = _rebuild(archive.header, archive, "")
        learner.layout_ = _layout(archive.header.get("layout"))
        return learner
    except ModelFileError as error:  # says what is wrong with a file, without its name
        raise ModelFileError(f"{name} {error}") from None
    except SidelightError as error:
        raise ModelFileError(f"{name} is not a complete sidelight model: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{name} is not a complete sidelight model: {error!r} is missing or wrong") from error
    except RecursionError:
        raise ModelFileError(f"{name} is not a sidelight model: its header is nested too deeply") from None
    except (ValueError, ArithmeticError, LookupError, MemoryError) as error:
        raise ModelFileError(f"{name} is not a complete sidelight model: {error}") from error


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


def _labels(classes: Any) -> list[Any]:
    """The labels of a file: different texts, different whole numbers, or truth values."""
    if isinstance(classes, list) and set(map(type, classes)) in ({int}, {bool}):
        if len(set(classes)) != len(classes):
            raise DataError("the labels must be different")
        return classes
    return list(numbered(classes, "the labels"))


def _rebuild(header: Any, arrays: Arrays, folder: str) -> Any:
    """The learner that `_describe` described."""
    if folder.count("/") > _DEEPEST:
        raise DataError(f"learners are nested more than {_DEEPEST} deep")
    learner, encoder, labels = _unfitted(header), None, _labels(header["classes"])
    learner.classes_ = labels
    for part in learner.models_:
        inner = header["models"].get(part)
        setattr(learner, part, None if inner is None else _rebuild(inner, arrays, f"{folder}{part}/"))
    if not learner.models_:
        encoder = _restored_encoder(learner, header["encoder"], within(arrays, f"{folder}encoder/"))
    learner.restore(encoder, within(arrays, f"{folder}learner/"))
    for name in (*learner.saved, "guard_", "_free"):
        found = _unpacked(header["kept"][name], arrays, f"{folder}{name}")
        setattr(learner, name, _checked_kept(learner, name, found))
    learner.check_restored(labels)
    return learner


def _layout(values: Any) -> Layout | None:
    """The columns of the files that a model was trained on; None where no option named them."""
    if values is None:
        return None
    layout = Layout(**values)
    layout.check()
    return layout


def _checked_kept(learner: Any, name: str, value: Any) -> Any:
    """What a file kept of a fitted attribute; raises `DataError` unless it is as `_KEPT` declares it."""
    declared = _KEPT.get(name, Any)
    if isinstance(declared, ArraySpec):
        sizes = {"rules": len(learner.rules or ()), "weights": 0 if learner.models_ else learner.model_.size}
        return declared.checked(name, value, sizes)
    if not matches(value, declared):
        raise DataError(f"{name} of {type(learner).__name__} has a value of another type")
    return value


def _restored_encoder(learner: Any, described: Any, arrays: Arrays) -> Any:
    """The encoder of a learner with a model of its own."""
    if hasattr(learner.task_, "restore_encoder"):
        return learner.task_.restore_encoder(described["values"], arrays)
    return _ENCODERS[described["class"]].from_state(described["values"], arrays, learner.n_jobs)


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


def _unpacked(value: Any, arrays: Arrays, place: str) -> Any:
    """Take back what `_packed` gave; lists come back as tuples. An array is read from its own place alone."""
    if isinstance(value, list):
        return tuple(_unpacked(item, arrays, f"{place}/{k}") for k, item in enumerate(value))
    if isinstance(value, dict) and value.keys() == {"array"}:
        return arrays[place]
    if isinstance(value, dict) and value.keys() == {"record", "values"}:
        kind = _record(value["record"])
        found = {k: _unpacked(v, arrays, f"{place}/{k}") for k, v in value["values"].items()}
        record = kind(**found)
        for one in fields(kind):
            if not matches(getattr(record, one.name), one.type):
                raise DataError(f"{one.name} of {kind.__name__} has a value of another type")
        return record
    return _rich(value)


def _record(name: Any) -> Any:
    """A kind of record, which the module of some learner may define that nobody has imported yet."""
    from . import learners_by_name

    if name not in RECORDS:
        learners_by_name()
    return RECORDS[name]


def packed_trace(trace: Any) -> Any:
    """Returns the steps of a fit, numbers and texts alone, as JSON has them."""
    return _packed(trace, {}, "")


def unpacked_trace(packed: Any) -> Any:
    """Returns the steps that `packed_trace` packed."""
    return _unpacked(packed, {}, "")


def _parameters(learner: Any) -> dict[str, Any]:
    return {name: _plain(value) for name, value in learner.get_params(deep=False).items()}


def _unfitted(header: dict[str, Any], depth: int = 0) -> Any:
    import sidelight

    name = header["learner"]
    if not isinstance(name, str) or name not in sidelight.LEARNERS:
        raise ModelFileError(f"holds a {name}, which this version of sidelight does not have")
    learner = getattr(sidelight, name)  # imports this one alone
    parameters = {k: _rich(v, depth) for k, v in header["parameters"].items()}
    check_values(parameters, parameter_hints(learner), name)
    made = learner(**parameters)
    made.check()
    return made


def _zipped(members: dict[str, bytes], method: int) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method, compresslevel=1) as archive:
        for name, member in members.items():
            archive.writestr(zipfile.ZipInfo(name, _STAMP), member, method)
    return content.getvalue()


def _excess(header: int, total: int, packed: int) -> int:
    """Returns a size that a file of `packed` bytes may not unpack to, of its header or of all members; 0 for none."""
    return header * (header > _HEADER_ROOM + _HEADER_RATIO * packed) or total * (total > _ROOM + _RATIO * packed)


class Archive(Mapping[str, NDArray[Any]]):
    """The header and the arrays of a model file, by name; an array is unpacked when it is asked for.

    Errors say what is wrong with the file, as in "is damaged", and do not name it.
    """

    def __init__(self, raw: bytes) -> None:
        if not raw.startswith(b"PK"):
            raise ModelFileError("is not a sidelight model; models are written by `sidelight train` or .save()")
        with _damage():
            self._archive = zipfile.ZipFile(io.BytesIO(raw))
            self._members = {info.filename: info for info in self._archive.infolist()}
            self._check(len(raw))
            self.header = json.loads(self._content(_HEADER))
        _check_header(self.header)

    def _check(self, size: int) -> None:
        """Raises `ModelFileError` for a file of another kind, or one that unpacks to far more than its size."""
        members = self._archive.infolist()
        if _HEADER not in self._members:
            raise ModelFileError("is a zip archive but not a sidelight model")
        if len(members) != len(self._members):
            raise ModelFileError("is damaged: some of its members are there twice")
        if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in members):
            raise ModelFileError("is not a sidelight model: its members are compressed by another method")
        excess = _excess(self._members[_HEADER].file_size, sum(info.file_size for info in members), size)
        if excess:
            raise ModelFileError(
                f"has {size} bytes and would take {excess} unpacked; no sidelight model is packed as tightly"
            )

    def _content(self, member: str) -> bytes:
        info = self._members[member]
        with self._archive.open(info) as file:
            content = file.read(info.file_size)  # no more than is declared, and the checksum is compared at its end
        if len(content) != info.file_size:
            raise ValueError(f"{member} ends early")
        return content

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self:
            raise DataError(f"the array {name} is missing")
        with _damage():
            return read_npy(self._content(f"{name}.npy"))

    def __contains__(self, name: object) -> bool:
        return f"{name}.npy" in self._members

    def __iter__(self) -> Iterator[str]:
        return (member.removesuffix(".npy") for member in self._members if member.endswith(".npy"))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@contextmanager
def _damage() -> Iterator[None]:
    """Whatever is raised in reading a zip archive becomes a `ModelFileError`."""
    try:
        yield
    except (ModelFileError, RecursionError):
        raise
    except Exception as error:  # zipfile meets damage with errors of a dozen kinds
        raise ModelFileError(f"is damaged or cut off ({error}); train again or copy it again") from None


def _check_header(header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError("is a zip archive but not a sidelight model")
    if header.get("version") != VERSION:
        raise ModelFileError(
            f"has version {header.get('version')} of the model format, this sidelight reads {VERSION}; "
            f"it was written by sidelight {header.get('sidelight')}; train the model again, or load it with that "
            "version"
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
    if is_column(value):
        return _plain(column_values(value))
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise DataError(f"a parameter of type {type(value).__name__} cannot be saved: {value!r}")


def _rich(value: Any, depth: int = 0) -> Any:
    """Take back what `_plain` gave."""
    if depth > _DEEPEST:
        raise DataError(f"values are nested more than {_DEEPEST} deep")
    deeper = partial(_rich, depth=depth + 1)
    match value:
        case list():
            return [deeper(item) for item in value]
        case {"expression": str() as text, **more} if not more:
            return parse(text)
        case {"rule": str() as text, **more} if not more:
            return parse_rule(text)
        case {"companion": name, **more} if not more:
            return Companion[name]
        case {"dictionary": dict() as labels, "open": list() as others, "word": word, **more} if not more:
            sets = {word: frozenset(tags) for word, tags in labels.items()}
            return TagDictionary(sets, frozenset(others), deeper(word))
        case {"task": name, "parameters": dict() as parameters, **more} if not more:
            return _task(name, {k: deeper(v) for k, v in parameters.items()})
        case {"learner": _, "parameters": dict(), **more} if not more:
            return _unfitted(value, depth + 1)
        case {"view": [learner, key, prefix, part], **more} if not more:
            return _view(deeper(learner), deeper(key), prefix, None if part is None else tuple(part))
        case {"mapping": list() as items, **more} if not more:
            return {tuple(key) if isinstance(key, list) else key: deeper(item) for key, item in items}
        case dict():
            raise DataError(f"a value with the names {', '.join(map(str, list(value)[:5]))} is not part of the format")
    return value


def _view(*values: Any) -> View:
    given = dict(zip((one.name for one in fields(View)), values, strict=True))
    check_values(given, parameter_hints(View), "a view")
    return View(**given)


def _task(name: Any, parameters: dict[str, Any]) -> Any:
    task = task_named(name)
    if task is None:
        raise ModelFileError(
            f"has a model for the task {name}, which is not known here; import the module that defines it, and mark "
            "its class with sidelight.register_task"
        )
    check_values(parameters, parameter_hints(task), task.__name__)
    return task(**parameters)
