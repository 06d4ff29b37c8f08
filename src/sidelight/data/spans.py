"""Spans of characters in texts: as labels of tokens to learn from, and back again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from sidelight.containers import library_of
from sidelight.data.source import Inputs, Outputs
from sidelight.data.text import tokenize
from sidelight.errors import DataError

if TYPE_CHECKING:
    from sidelight.metrics import Scheme

Prefixes: TypeAlias = Literal["bio", "bioes", "runs"]
_OUTSIDE = "O"


class CharSpan(NamedTuple):
    """A stretch of a text that has a label.

    Parameters
    ----------
    start : int
        Where it begins: the number of its first character, from 0.
    end : int
        Where it ends: the number of the character behind its last one.
    label : str
        Its label, without a prefix.
    text : str
        The characters.
    """

    start: int
    end: int
    label: str
    text: str


def token_offsets(text: str, tokens: Sequence[str]) -> list[tuple[int, int]]:
    """Find tokens in the text that they were cut from.

    Parameters
    ----------
    text : str
        The text.
    tokens : sequence of str
        Its tokens, in their order; between them the text has white space only.

    Returns
    -------
    list of (int, int)
        The numbers of the first character of each token and of the character behind its last one.

    Raises
    ------
    DataError
        If the text has something else than these tokens.
    """
    found, at = list[tuple[int, int]](), 0
    for number, token in enumerate(tokens):
        start = text.find(token, at)
        if not token or start < 0 or text[at:start].strip():
            raise DataError(
                f"token {number}, {token!r}, does not follow at character {at} of the text: {text[at:][:40]!r}"
            )
        found.append((start, at := start + len(token)))
    if text[at:].strip():
        raise DataError(f"the text goes on behind its last token: {text[at:][:40]!r}")
    return found


def read_spans(
    texts: Iterable[str],
    spans: Iterable[Any] | None = None,
    *,
    scheme: Prefixes = "bio",
    tokenizer: Callable[[str], Sequence[str]] = tokenize,
) -> tuple[Inputs, Outputs]:
    """Cut texts into tokens, and turn labelled spans of their characters into labels of tokens.

    Parameters
    ----------
    texts : iterable of str
        The texts, a sequence each.
    spans : iterable or None, default=None
        For each text its spans as (start, end, label), or as dicts with these keys, the end exclusive; or None where
        nothing is known. No two spans of a text overlap. Without it, nothing is known of any text.
    scheme : {'bio', 'bioes', 'runs'}, default='bio'
        How spans are written as labels: by the prefixes of BIO or BIOES, or by the label alone at every token.
    tokenizer : callable, default=tokenize
        It cuts a text into tokens and drops nothing but white space.

    Returns
    -------
    X : list of list of str
        The tokens of each text.
    y : list
        The labels of each text, O outside of spans; None where nothing is known.

    Raises
    ------
    DataError
        If a span does not begin and end where tokens do, or overlaps another one.
    """
    X: Inputs = []
    y: Outputs = []
    written = list(texts)
    given = [None] * len(written) if spans is None else list(spans)
    if len(given) != len(written):
        raise DataError(f"there are {len(written)} texts but spans of {len(given)}")
    for index, (text, those) in enumerate(zip(written, given, strict=True)):
        if not isinstance(text, str):
            raise DataError(f"text {index}: expected a string, got {text!r}")
        tokens = list(tokenizer(text))
        try:
            places = token_offsets(text, tokens)
            labels = None if those is None else span_labels(len(tokens), _token_spans(text, places, those), scheme)
        except DataError as error:
            raise DataError(f"text {index}: {error}") from None
        X.append(list(tokens))
        y.append(None if labels is None else list(labels))
    return X, y


def char_spans(
    texts: Iterable[Any],
    y: Iterable[Sequence[str]],
    *,
    tokens: Iterable[Sequence[str]] | None = None,
    scheme: Scheme = "auto",
    tokenizer: Callable[[str], Sequence[str]] = tokenize,
) -> list[list[CharSpan]]:
    """Turn labels of tokens into spans of the characters of texts.

    Parameters
    ----------
    texts : iterable of str or Doc
        The texts; those of spaCy have their own tokens.
    y : iterable of sequence of str
        The labels of each text's tokens, such as predictions.
    tokens : iterable of sequence of str or None, default=None
        The tokens of each text, where they are not those of `tokenizer`.
    scheme : {'bio', 'runs', 'auto'}, default='auto'
        How labels are read as spans, as by `span_scores`; 'auto' chooses by all labels.
    tokenizer : callable, default=tokenize
        It cut the texts into tokens.

    Returns
    -------
    list of list of CharSpan
        The spans of each text, in their order.

    Raises
    ------
    DataError
        If there are not as many labels as tokens, or if tokens are not those of their text.
    """
    known, written = [list(labels) for labels in y], list(texts)
    given = [None] * len(written) if tokens is None else list(tokens)
    if not len(written) == len(known) == len(given):
        raise DataError(f"there are {len(written)} texts but labels of {len(known)} (and tokens of {len(given)})")
    out = []
    cut = spans_of_tokens(known, scheme)
    for index, (text, own, labels, found) in enumerate(zip(written, given, known, cut, strict=True)):
        whole, places = _places(index, text, own, tokenizer)
        if len(places) != len(labels):
            raise DataError(f"text {index} has {len(places)} tokens but {len(labels)} labels")
        edges = [(places[first][0], places[last - 1][1], label) for label, first, last in found]
        out.append([CharSpan(start, end, label, whole[start:end]) for start, end, label in edges])
    return out


def spans_of_tokens(y: Sequence[Sequence[str]], scheme: Scheme) -> list[list[tuple[str, int, int]]]:
    """Return the spans of every sequence as (label, first token, token behind the last), read alike for all of y."""
    from sidelight.metrics import scheme_of, spans

    for index, labels in enumerate(y):
        wrong = [label for label in labels if not isinstance(label, str)]
        if wrong:
            raise DataError(f"sequence {index}: expected labels, that is strings, got {wrong[0]!r}")
    resolved = scheme_of({label for labels in y for label in labels}) if scheme == "auto" else scheme
    return [spans(labels, resolved) for labels in y]


def span_labels(count: int, spans: Iterable[tuple[str, int, int]], scheme: Prefixes) -> list[str]:
    """Return the labels of `count` tokens with these spans, each (label, first token, token behind the last)."""
    if scheme not in ("bio", "bioes", "runs"):
        raise DataError(f"expected the scheme 'bio', 'bioes' or 'runs', got {scheme!r}")
    labels = [_OUTSIDE] * count
    for label, first, last in spans:
        for t in range(first, last):
            if labels[t] != _OUTSIDE:
                raise DataError(f"two spans have token {t}, one of them {label}, and a token has one label")
            labels[t] = f"{_prefix(t, first, last - 1, scheme)}{label}"
    return labels


def _prefix(t: int, first: int, last: int, scheme: Prefixes) -> str:
    if scheme == "runs":
        return ""
    if scheme == "bioes" and t == last:
        return "S-" if first == last else "E-"
    return "B-" if t == first else "I-"


def _places(
    index: int, text: Any, tokens: Sequence[str] | None, tokenizer: Callable[[str], Sequence[str]]
) -> tuple[str, list[tuple[int, int]]]:
    if library_of(text) == "spacy":
        return text.text, [(token.idx, token.idx + len(token)) for token in text]
    if not isinstance(text, str):
        raise DataError(f"text {index}: expected a string or a Doc, got {text!r}")
    try:
        return text, token_offsets(text, tokenizer(text) if tokens is None else tokens)
    except DataError as error:
        raise DataError(f"text {index}: {error}") from None


def _token_spans(text: str, places: Sequence[tuple[int, int]], spans: Iterable[Any]) -> list[tuple[str, int, int]]:
    """Spans of characters as (label, first token, token behind the last)."""
    first = {start: t for t, (start, _) in enumerate(places)}
    behind = {end: t + 1 for t, (_, end) in enumerate(places)}
    found = []
    for span in spans:
        start, end, label = _span(span)
        if start not in first or end not in behind or end <= start:
            near = ", ".join(repr(text[a:b]) for a, b in places if a < end and b > start)
            raise DataError(
                f"the span from {start} to {end}, {text[max(start, 0) : end]!r}, does not begin and end where tokens do"
                + (f"; it is in the tokens {near}" if near else "")
            )
        found.append((label, first[start], behind[end]))
    return found


def _span(span: Any) -> tuple[int, int, str]:
    if isinstance(span, Mapping):
        span = tuple(span.get(key) for key in ("start", "end", "label"))
    start, end, label = (*span[:3], None, None, None)[:3] if isinstance(span, Sequence) else (None, None, None)
    if not isinstance(start, int) or not isinstance(end, int) or not isinstance(label, str) or not label:
        raise DataError(f"a span is (start, end, label), or a dict with these keys, got {span!r}")
    return start, end, label
