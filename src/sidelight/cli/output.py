"""Where results go: JSON on standard output, files that can be written for certain."""

import dataclasses
import json
import math
import os
import sys
from typing import Any

from sidelight.data.source import STANDARD_STREAM, open_for_writing
from sidelight.errors import DataError, shortened


def note(message: str) -> None:
    """Print a remark on standard error."""
    print(f"note: {shortened(message)}", file=sys.stderr)


def print_json(value: Any) -> None:
    """Print one JSON object. Numbers that JSON does not have become null."""
    json.dump(plain(value), sys.stdout, allow_nan=False, indent=2)
    sys.stdout.write("\n")


def plain(value: Any) -> Any:
    """Dataclasses, arrays and mappings as what JSON has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)


class _OnlyTrying(Exception):
    pass


def check_writable(target: str, *sources: str | None) -> None:
    """Raise an error now if `target` could not be written later, or is one of the files that are read."""
    for source in sources:
        if source and os.path.exists(source) and os.path.exists(target) and os.path.samefile(source, target):
            raise DataError(f"{target}: cannot write: it is also what is read; give another name")
    if target == STANDARD_STREAM or (
        os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target)
    ):
        return
    try:
        # The temporary file is made and removed; the target stays as it is.
        with open_for_writing(target, binary=True):
            raise _OnlyTrying
    except _OnlyTrying:
        pass


def check_figure(path: str, *sources: str | None, svg: bool = False) -> None:
    """Raise an error now if a figure could not be drawn later; svg: one of those that are written by hand."""
    from sidelight.report.figures import require_figure
    from sidelight.report.svg import require_svg

    (require_svg if svg else require_figure)(path)
    check_writable(path, *sources)
