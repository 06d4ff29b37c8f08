"""JSON lines: one object a line, ``{"tokens": [...], "labels": [...]}``. It holds every kind of supervision."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from sidelight.data.source import (
    Inputs,
    InputsLike,
    Label,
    Lines,
    Outputs,
    OutputsLike,
    Source,
    Target,
    Token,
    open_for_writing,
    partial_label,
    read_lines,
)
from sidelight.errors import DataError

if TYPE_CHECKING:
    from sidelight.supervision import Companion

TOKENS, LABELS = "tokens", "labels"


def read_jsonlines(source: Source, *, partial: bool = False) -> tuple[Inputs, Outputs]:
    """Read one sequence a line from JSON lines; blank lines and other keys are skipped.

    Tokens are strings, lists of strings (columns, which become tuples) or objects (features, which stay dicts), all of
    one kind. Labels are a list with, for each token, a string, null (unknown) or a list of strings (one of these); or
    null or absent (nothing known); or ``"GOOD"`` or ``"BAD"`` for the sequence as a whole.

    Parameters
    ----------
    source : str, path-like, file or iterable of str
        A path, "-" for standard input, an open file, or lines.
    partial : bool, default=False
        Whether the label ``"?"`` is unknown (None) and ``"A|B"`` is one of these (a frozenset), as in columns.

    Returns
    -------
    X : list of list
        The tokens of each sequence.
    y : list
        What is known about the labels of each sequence: a list, None, GOOD or BAD.
    """
    lines = read_lines(source)
    X: Inputs = []
    y: Outputs = []
    kind = ""
    for number, line in enumerate(lines.lines, start=1):
        if not line.strip():
            continue
        record = _parse(line, lines, number)
        tokens = [_token(token, i, lines, number) for i, token in enumerate(record[TOKENS])]
        kind = _check_kind(tokens, kind, lines, number)
        X.append(tokens)
        known = _labels(record.get(LABELS), len(tokens), lines, number)
        if partial and isinstance(known, list):
            known = [partial_label(one, lines, number) if isinstance(one, str) else one for one in known]
        y.append(known)
    return X, y


def write_jsonlines(
    target: Target,
    X: InputsLike,
    y: OutputsLike | None = None,
    *,
    extra: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Write one sequence a line as JSON lines.

    Parameters
    ----------
    target : str, path-like or file
        A path, "-" for standard output, or an open file.
    X : sequence
        The tokens of each sequence.
    y : sequence or None, default=None
        What is known about the labels of each sequence.
    extra : sequence of mapping or None, default=None
        For each sequence, keys and values to write beside tokens and labels (marginals, say).
    """
    for name, values in (("label sequences", y), ("extra mappings", extra)):
        if values is not None and len(values) != len(X):
            raise DataError(f"expected as many {name} as token sequences ({len(X)}), got {len(values)}")
    with open_for_writing(target) as file:
        for index, tokens in enumerate(X):
            record: dict[str, Any] = {TOKENS: list(tokens)}
            if y is not None:
                record[LABELS] = _labels_record(y[index], len(tokens), index)
            if extra is not None:
                _add_extra(record, extra[index], index)
            file.write(json_text(record, f"sequence {index}") + "\n")


def parse_object(line: str, lines: Lines, number: int, example: str) -> dict[str, Any]:
    """Return the JSON object on a line; example: what one looks like, for messages."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        advice = "write one JSON object a line"
        raise lines.error(number, f"bad JSON at column {error.colno}: {error.msg}; {advice}") from error
    except RecursionError as error:
        raise lines.error(number, "bad JSON at column 1: lists and objects are nested too deeply") from error
    except ValueError as error:
        raise lines.error(number, "bad JSON at column 1: a number has more digits than can be read") from error
    if not isinstance(record, dict):
        raise lines.error(number, f"expected an object such as {example}, found {json_name(record)}")
    return record


def _parse(line: str, lines: Lines, number: int) -> dict[str, Any]:
    record = parse_object(line, lines, number, '{"tokens": [...]}')
    if not isinstance(record.get(TOKENS), list):
        found = json_name(record[TOKENS]) if TOKENS in record else f"only the keys {sorted(record)}"
        raise lines.error(number, f'expected a list under "tokens", found {found}')
    return record


def _token(token: Any, index: int, lines: Lines, number: int) -> Token:
    if isinstance(token, str | dict):
        return token
    if isinstance(token, list) and token and all(isinstance(column, str) for column in token):
        return tuple(token)
    found = f"{json_name(token)} {json.dumps(token, ensure_ascii=False)}"
    raise lines.error(number, f"token {index}: expected a string, a list of strings or an object, found {found}")


def _check_kind(tokens: list[Token], kind: str, lines: Lines, number: int) -> str:
    for index, token in enumerate(tokens):
        found = _kind(token)
        if found != (kind or found):
            lists = found.startswith("a list") and kind.startswith("a list")
            advice = '; features of a token are an object, such as {"word": "Ann"}' if lists else ""
            raise lines.error(number, f"token {index}: expected {kind} like the tokens before, found {found}{advice}")
        kind = found
    return kind


def _kind(token: Token) -> str:
    if isinstance(token, str):
        return "a string"
    return "an object" if isinstance(token, dict) else f"a list of {len(token)} strings"


def _labels(value: Any, length: int, lines: Lines, number: int) -> list[Label] | Companion | None:
    if value is None:
        return None
    if value in ("GOOD", "BAD"):
        from sidelight.supervision import BAD, GOOD

        return GOOD if value == "GOOD" else BAD
    if not isinstance(value, list):
        found = f"{json_name(value)} {json.dumps(value, ensure_ascii=False)}"
        raise lines.error(number, f'expected labels: a list, null, "GOOD" or "BAD"; found {found}')
    if len(value) != length:
        raise lines.error(number, f"expected {length} labels, one a token, found {len(value)}")
    return [_label(label, index, lines, number) for index, label in enumerate(value)]


def _label(label: Any, index: int, lines: Lines, number: int) -> Label:
    if label is None or (isinstance(label, str) and label):
        return label
    if isinstance(label, list) and label and all(isinstance(name, str) and name for name in label):
        return frozenset(label)
    found = f"{json_name(label)} {json.dumps(label, ensure_ascii=False)}"
    advice = "expected a string, null (unknown) or a list of strings (one of these)"
    raise lines.error(number, f"label {index}: {advice}, none of them empty; found {found}")


def json_name(value: Any) -> str:
    """Name the JSON type of a value."""
    names = {dict: "an object", list: "a list", str: "the string", bool: "the constant", type(None): "null"}
    return names.get(type(value), "the number")


def _labels_record(labels: Any, length: int, index: int) -> Any:
    if labels is None:
        return None
    if not isinstance(labels, str) and isinstance(labels, Iterable):
        values = [_label_record(label, index) for label in labels]
        if len(values) != length:
            raise DataError(f"sequence {index}: expected {length} labels, one a token, got {len(values)}")
        return values
    from sidelight.supervision import Companion

    if isinstance(labels, Companion):
        return labels.name
    raise DataError(f"sequence {index}: expected labels (a list, None, GOOD or BAD), got {labels!r}")


def _label_record(label: Any, index: int) -> str | list[str] | None:
    if label is None or (isinstance(label, str) and label):
        return label
    if isinstance(label, AbstractSet) and label:
        return sorted(label)
    raise DataError(
        f"sequence {index}: expected a label (a string, None or a set of strings, not empty), got {label!r}"
    )


def _add_extra(record: dict[str, Any], extra: Mapping[str, Any], index: int) -> None:
    for key, value in extra.items():
        if key in (TOKENS, LABELS):
            raise DataError(f"sequence {index}: the key {key!r} is taken; give the extra values another")
        record[key] = value


def json_text(record: dict[str, Any], what: str) -> str:
    """Return a record as one line; what: as messages call it."""
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what}: cannot be written as JSON: {error}") from error


def _plain(value: Any) -> Any:
    """Turn arrays and array scalars into lists and numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"no JSON form for {type(value).__name__} {value!r}")
