"""Digests of data and parameters: the same for equal ones, in the same order, in any process."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import blake2b
from typing import Any

import numpy as np

from ..containers import column_values, is_column

# Parameters that change no model.
UNIMPORTANT = frozenset({"n_jobs", "verbose"})


def digest(value: Any) -> str:
    """Returns the digest of data or of a parameter: texts, numbers, arrays, lists, mappings, learners, rules, ..."""
    found = blake2b(digest_size=16)
    _add(found, value)
    return found.hexdigest()


def _add(found: Any, value: Any) -> None:
    if isinstance(value, list | tuple):
        _add_list(found, value)
    elif value is None or isinstance(value, str | int | float | bool | bytes | Enum):
        found.update(f"{type(value).__name__}:{value!r};".encode(errors="surrogatepass"))
    elif isinstance(value, np.ndarray):
        found.update(f"array:{value.dtype.str}:{value.shape};".encode())
        if value.dtype.hasobject:
            _add_list(found, value.ravel().tolist())
        else:
            found.update(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
    elif is_column(value):
        _add_list(found, column_values(value))
    elif isinstance(value, np.generic):
        _add(found, value.item())
    elif isinstance(value, Mapping):
        found.update(f"mapping:{len(value)};".encode())
        for key, one in value.items():
            _add(found, key)
            _add(found, one)
    elif isinstance(value, set | frozenset):
        _add_list(found, sorted(value, key=repr))
    elif hasattr(value, "content"):  # of what is on disk, or in arrays in the place of lists
        for one in value.content():
            _add(found, one)
    elif isinstance(value, Sequence):  # such as a corpus on disk, input by input
        found.update(f"list:{len(value)};".encode())
        for one in value:
            _add(found, one)
    else:
        _add_object(found, value)


def _add_list(found: Any, values: Any) -> None:
    """Texts alone, which sequences mostly are made of, are taken in one go."""
    found.update(f"list:{len(values)};".encode())
    try:
        found.update("\x1f".join(values).encode(errors="surrogatepass"))
    except TypeError:
        for one in values:
            _add(found, one)


def _add_object(found: Any, value: Any) -> None:
    """A learner by its parameters, anything else by what it is made of."""
    kind = value if isinstance(value, type) or hasattr(value, "__qualname__") else type(value)
    found.update(f"{kind.__module__}.{kind.__qualname__};".encode())
    if kind is value:
        return
    if hasattr(value, "get_params") and not hasattr(value, "model_"):
        held = {name: one for name, one in value.get_params(deep=False).items() if name not in UNIMPORTANT}
    elif is_dataclass(value):
        held = {one.name: getattr(value, one.name) for one in fields(value)}
    elif hasattr(value, "__dict__"):
        held = vars(value)
    elif hasattr(value, "__slots__"):
        held = {name: getattr(value, name) for name in value.__slots__}
    else:
        held = {"as text": repr(value)}
    _add(found, held)
