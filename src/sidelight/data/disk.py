"""Arrays in files, read by ranges into memory of their own, so that a file may be larger than memory.

A mapping of the file would do the same, but pages that were read through it count as memory of the process until the
system wants them back.
"""

import os
from threading import Lock
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

_lock = Lock()


def read_array(file: IO[bytes], dtype: Any, count: int, place: int, name: str) -> NDArray[Any]:
    """Return `count` numbers that stand at byte `place` of an open file, called `name` in errors."""
    out = np.empty(count, dtype)
    view, done = out.view(np.uint8).data, 0
    while done < len(view):
        try:
            got = _read_into(file, view[done:], place + done)
        except OSError as error:
            raise DataError(f"{name}: cannot read: {error.strerror}") from error
        if not got:
            raise DataError(f"{name}: ends early; it was cut off while it was open")
        done += got
    return out


def _read_into(file: IO[bytes], view: memoryview, place: int) -> int:
    if hasattr(os, "preadv"):  # which threads can share
        return os.preadv(file.fileno(), [view], place)
    with _lock:
        file.seek(place)
        return int(file.readinto(view))  # type: ignore[attr-defined]
