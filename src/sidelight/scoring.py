"""Scores for scikit-learn's model selection: functions of a fitted model, X and y, to be given as `scoring=`."""

from typing import Any

from .errors import DataError
from .features.encoded import some_of
from .metrics import OUTSIDE, label_scores, span_scores
from .quoting import quoted
from .sample_weights import read_weights
from .supervision import Companion, Signal, StoredOutputs, by_kind, some_known


def span_f1(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the F1 score of spans, those of conlleval, for `scoring=` of scikit-learn's model selection.

    A span is right if its type, its first and its last token are; all types count together (micro-averaged). Spans are
    read off B-, I- (E-, S-) labels where there are such, and are runs of equal labels other than "O" elsewhere.

    Parameters
    ----------
    estimator : estimator
        A fitted model of label sequences, or a pipeline that ends with one.
    X : list
        The sequences.
    y : list
        The labels of each; sequences that are not labelled (None, GOOD, BAD) are left out.
    sample_weight : sequence of float or None, default=None
        What each sequence counts, at least 0; None: 1 for all.

    Returns
    -------
    float
        The score, from 0 to 1; 0 where there is no span.
    """
    known, predicted, weights = _compared(estimator, X, y, sample_weight)
    return span_scores(known, predicted, sample_weight=weights).overall.f1


def flat_f1(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the F1 score of tokens, for `scoring=` of scikit-learn's model selection.

    It is the mean of the F1 scores of all labels other than "O" that y has, each counted as often as tokens have the
    label: `flat_f1_score` of sklearn-crfsuite with average="weighted" and without the label "O".

    Parameters
    ----------
    estimator : estimator
        A fitted model of label sequences, or a pipeline that ends with one.
    X : list
        The sequences.
    y : list
        The labels of each; sequences that are not labelled (None, GOOD, BAD) are left out.
    sample_weight : sequence of float or None, default=None
        What each sequence counts, at least 0; None: 1 for all.

    Returns
    -------
    float
        The score, from 0 to 1; 0 where all labels are "O".
    """
    known, predicted, weights = _compared(estimator, X, y, sample_weight)
    found = label_scores(known, predicted, sample_weight=weights)
    some = [one for label, one in found.items() if label != OUTSIDE]
    tokens = sum(one.support for one in some)
    return sum(one.support * one.f1 for one in some) / tokens if tokens else 0.0


def labelled_part(X: Any, y: Any, sample_weight: Any, noun: str) -> tuple[Any, Any, Any]:
    """Returns the inputs that are labelled and count, their outputs, and what each counts, None where none are given.

    Raises `DataError` where there are no such inputs.
    """
    if not hasattr(y, "__len__") or isinstance(y, str):
        raise DataError(f"y must be a list with one element per {noun}, got {quoted(y)}")
    if isinstance(y, StoredOutputs):
        which = by_kind(y)
        labelled = sorted([*which[Signal.FULL], *which[Signal.PARTIAL]])
    else:
        labelled = [i for i, known in enumerate(y) if known is not None and not isinstance(known, Companion)]
    if not labelled:
        raise DataError(f"no {noun} is labelled, so there is nothing to score")
    weights = None
    if sample_weight is not None:
        counts = read_weights(sample_weight, len(y), noun, "score")
        labelled = [i for i in labelled if counts[i]]
        if not labelled:
            raise DataError(f"sample_weight is zero for all {noun}s that are labelled, so there is nothing to score")
        weights = counts[labelled]
    if len(labelled) == len(y):
        return X, y, weights
    inputs = X.shape[0] if hasattr(X, "shape") else len(X)
    if inputs != len(y):
        raise DataError(f"X has {inputs} {noun}s but y has {len(y)}")
    return some_of(X, labelled), some_known(y, labelled), weights


def _compared(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[list[Any], list[Any], Any]:
    """True and predicted labels of the sequences that are labelled and count, and what each counts."""
    some, known, weights = labelled_part(X, y, sample_weight, "sequence")
    return list(known), list(estimator.predict(some)), weights
