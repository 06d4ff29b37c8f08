"""Documents: inputs with one row of attributes each, for one decision per input.

A document is a list of words, whose counts are its features, a feature dict (see `dicts`), or a row of a matrix.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Longs
from ..quoting import quoted
from .arrays import ArrayEncoder
from .dicts import DictEncoder, FeatureNumbers, TokenRows, attribute_of
from .encoded import LARGEST_VALUE, Encoded, Encoder, require_list


def require_documents(X: Any) -> None:
    """Raises `DataError` unless X is a list of documents or a matrix."""
    if getattr(X, "shape", ()) == ():
        require_list(X, "documents or a matrix")
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise DataError("Complex data not supported: X must be a matrix of real numbers")
    if document_count(X) == 0:
        raise DataError("no documents were given")


def choose_document_encoder(X: Any, min_count: int) -> Encoder:
    """The encoder for the kind of the first document."""
    require_documents(X)
    rows = hasattr(X, "shape") or hasattr(X[0], "shape") or _is_row(X[0])
    return RowEncoder(min_count) if rows else BagEncoder(min_count)


def _is_row(document: Any) -> bool:
    """Whether a document is a list that begins with a number."""
    return isinstance(document, list | tuple) and len(document) > 0 and isinstance(document[0], Real)


def document_count(X: Any) -> int:
    """How many documents there are."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


@dataclass
class BagEncoder(DictEncoder):
    """Attributes are the words, or the names of features; those of fewer than `min_count` documents are dropped."""

    def _offsets(self, X: Sequence[Any]) -> Longs:
        return np.arange(require_list(X, "documents") + 1)

    def _rows(self, X: Sequence[Any], first: int, numbers: FeatureNumbers) -> TokenRows:
        return self._rows_by_steps(X, first, numbers.number_of)

    def _features(self, X: Sequence[Any], first: int) -> Iterator[tuple[int, int, str, float]]:
        """(document, 0, attribute, value) of everything that is not absent; first: the number of document X[0]."""
        for i, document in enumerate(X, first):
            if isinstance(document, str) or not isinstance(document, Mapping | Sequence):
                raise DataError(f"document {i}: expected a list of words or a feature dict, got {quoted(document)}")
            if not isinstance(document, Mapping):
                if not all(isinstance(word, str) for word in document):
                    raise DataError(f"document {i}: expected words, that is strings, got {quoted(document)}")
                for word, count in Counter(document).items():
                    yield i, 0, word, float(count)
                continue
            for name, value in document.items():
                try:
                    attribute = attribute_of(name, value)
                except DataError as error:
                    raise DataError(f"document {i}: {error}") from None
                if attribute is not None:
                    yield i, 0, *attribute


@dataclass
class RowEncoder(ArrayEncoder):
    """Attributes are the columns of a dense or scipy sparse matrix, or of rows in a list."""

    def fit_transform(self, X: Any) -> Encoded:
        """Take the number of columns from X and encode it; columns with too few non-zeros are left out."""
        return self._one_each(super().fit_transform([_matrix(X)]))

    def transform(self, X: Any) -> Encoded:
        """Encode X."""
        if isinstance(X, list) and len(X) == 1 and getattr(X[0], "ndim", 0) == 2:  # from fit_transform
            return self._one_each(super().transform(X))
        if document_count(X) == 0:
            return self._one_each(super().transform([]))
        return self._one_each(super().transform([_matrix(X, self.width_)]))

    @staticmethod
    def _one_each(encoded: Encoded) -> Encoded:
        return replace(encoded, offsets=np.arange(encoded.tokens + 1))


def _matrix(X: Any, width: int | None = None) -> Any:
    """X as one sparse matrix, checked."""
    from scipy import sparse

    if not hasattr(X, "shape"):
        rows: list[Any] = [x if hasattr(x, "tocsr") else np.atleast_2d(np.asarray(x)) for x in X]
        for i, row in enumerate(rows):
            if row.shape != (1, rows[0].shape[1]):
                raise DataError(f"document {i}: expected a row of {rows[0].shape[1]} numbers, got shape {row.shape}")
        try:
            X = sparse.vstack([sparse.csr_array(row) for row in rows])
        except (ValueError, TypeError) as error:
            raise DataError(f"X must be a matrix of numbers: {error}") from None
    if X.ndim != 2:
        raise DataError(
            f"X must be a matrix with a row for every document, got shape {tuple(X.shape)}. Reshape your data: one "
            "document is X.reshape(1, -1)"
        )
    if X.shape[1] == 0:
        raise DataError(f"X has 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    if width is not None and X.shape[1] != width:
        raise DataError(f"the model was trained on {width} columns, these documents have {X.shape[1]}")
    try:
        whole = sparse.coo_array(X, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise DataError(f"X must be a matrix of numbers: {error}") from None
    odd = np.flatnonzero(~(np.abs(whole.data) <= LARGEST_VALUE))
    if len(odd):
        row, column = (int(place[odd[0]]) for place in whole.coords)
        raise DataError(
            f"document {row}: feature {column} is not a finite number: it is NaN, inf or beyond {LARGEST_VALUE:g}"
        )
    return whole.tocsr()
