"""Documents of spaCy: their tokens and spans to learn from, and predictions as their spans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sidelight.containers import library_of
from sidelight.data.source import Inputs, Outputs
from sidelight.data.spans import Prefixes, span_labels, spans_of_tokens
from sidelight.errors import DataError

if TYPE_CHECKING:
    from sidelight.metrics import Scheme


def read_docs(
    docs: Iterable[Any],
    spans: str | None = "ents",
    *,
    columns: str | Sequence[str] = "text",
    scheme: Prefixes = "bio",
) -> tuple[Inputs, Outputs]:
    """Read the tokens of spaCy's documents, and their spans as labels.

    Parameters
    ----------
    docs : iterable of Doc
        The documents.
    spans : str or None, default='ents'
        Which spans become labels: 'ents' for `doc.ents`, otherwise the key of a group in `doc.spans`; None for none.
        Nothing is known of documents that have no entities marked, or no such group.
    columns : str or sequence of str, default='text'
        What is read of a token: names of its attributes, such as 'text', 'lemma_' and 'pos_'. With several, tokens are
        tuples.
    scheme : {'bio', 'bioes', 'runs'}, default='bio'
        How spans are written as labels: by the prefixes of BIO or BIOES, or by the label alone at every token.

    Returns
    -------
    X : list of list
        The tokens of each document.
    y : list
        The labels of each document, O outside of spans; None where nothing is known.
    """
    X: Inputs = []
    y: Outputs = []
    names = [columns] if isinstance(columns, str) else list(columns)
    for index, doc in enumerate(docs):
        _require_doc(index, doc)
        try:
            rows = [tuple(str(getattr(token, name)) for name in names) for token in doc]
        except AttributeError as error:
            raise DataError(f"document {index}: {error}; columns are attributes of spaCy's tokens") from None
        X.append([row[0] for row in rows] if len(names) == 1 else list(rows))
        found = None if spans is None else _spans_of(doc, spans)
        if found is None:
            y.append(None)
            continue
        try:
            y.append(list(span_labels(len(doc), found, scheme)))
        except DataError as error:
            raise DataError(f"document {index}: {error}") from None
    return X, y


def write_docs(
    docs: Iterable[Any], y: Iterable[Sequence[str]], spans: str = "ents", *, scheme: Scheme = "auto"
) -> list[Any]:
    """Put labels of tokens into spaCy's documents, as their spans.

    Parameters
    ----------
    docs : iterable of Doc
        The documents, which are changed.
    y : iterable of sequence of str
        The labels of each document's tokens, such as predictions.
    spans : str, default='ents'
        Where spans go: 'ents' for `doc.ents`, otherwise the key of a group in `doc.spans`. What is there is replaced.
    scheme : {'bio', 'runs', 'auto'}, default='auto'
        How labels are read as spans, as by `span_scores`; 'auto' chooses by all labels.

    Returns
    -------
    list of Doc
        The documents.
    """
    written, known = list(docs), [list(labels) for labels in y]
    if len(written) != len(known):
        raise DataError(f"there are {len(written)} documents but labels of {len(known)}")
    for index, (doc, labels) in enumerate(zip(written, known, strict=True)):
        _require_doc(index, doc)
        if len(doc) != len(labels):
            raise DataError(f"document {index} has {len(doc)} tokens but {len(labels)} labels")
    for doc, found in zip(written, spans_of_tokens(known, scheme), strict=True):
        made = [doc[first:last] for _, first, last in found]
        for span, (label, _, _) in zip(made, found, strict=True):
            span.label_ = label
        if spans == "ents":
            doc.ents = made
        else:
            doc.spans[spans] = made
    return written


def _require_doc(index: int, doc: Any) -> None:
    if library_of(doc) != "spacy" or not hasattr(doc, "ents"):
        raise DataError(f"document {index}: expected a Doc of spaCy, got {type(doc).__name__}")


def _spans_of(doc: Any, spans: str) -> list[tuple[str, int, int]] | None:
    if spans == "ents":
        found = doc.ents if len(doc) == 0 or doc.has_annotation("ENT_IOB") else None
    else:
        found = doc.spans.get(spans)
    return None if found is None else [(span.label_, span.start, span.end) for span in found]
