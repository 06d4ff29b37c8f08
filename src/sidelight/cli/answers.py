"""What a model says about sequences, and how it is written in each format."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sidelight.errors import NotSupported


@dataclass(frozen=True)
class Answers:
    """Labels, and if asked for the probability of every label at every token and the best label sequences."""

    X: list[Any]
    classes: list[str]
    labels: list[list[str]]
    marginals: list[Any] | None
    kbest: list[list[dict[str, Any]]] | None


def ask(learner: Any, X: list[Any], *, marginals: bool, kbest: int | None) -> Answers:
    """Label the sequences."""
    encoded: Any = X
    with suppress(NotSupported):  # a learner with rules reads the tokens, and two models have an encoding each
        encoded = learner.encode(X)
    return Answers(
        X,
        learner.classes_,
        learner.predict(encoded),
        _chances(learner, encoded) if marginals else None,
        _ranked(learner, encoded, kbest) if kbest else None,
    )


def _chances(learner: Any, encoded: Any) -> list[Any]:
    try:
        chances: list[Any] = learner.predict_marginals(encoded)
    except NotSupported as error:
        raise NotSupported(f"{error} (--without-rules)") from None
    return chances


def _ranked(learner: Any, encoded: Any, count: int) -> list[list[dict[str, Any]]]:
    import numpy as np

    try:
        totals = learner.log_partition(encoded)
    except NotSupported:  # rules about whole sequences: there are scores, but no probabilities
        totals = [None] * len(encoded)
    return [
        [
            {
                "labels": one.labels,
                "score": one.score,
                "probability": None if total is None else float(np.exp(one.score - total)),
            }
            for one in sequences
        ]
        for sequences, total in zip(learner.predict_kbest(encoded, count), totals, strict=True)
    ]


def write_jsonl(answers: Answers, path: str) -> None:
    """One object a sequence, with `marginals` (one object a token) and `kbest` beside tokens and labels."""
    from sidelight.data import write_jsonlines

    extra: list[dict[str, Any]] = [{} for _ in answers.X]
    for record, table in zip(extra, answers.marginals or [], strict=False):
        record["marginals"] = [dict(zip(answers.classes, row, strict=True)) for row in table.round(6).tolist()]
    for record, ranked in zip(extra, answers.kbest or [], strict=False):
        record["kbest"] = ranked
    write_jsonlines(path, answers.X, answers.labels, extra=extra)


def write_conllu(answers: Answers, path: str, columns: tuple[str, ...], label: str) -> None:
    """Ten columns: those of the tokens and the label are filled."""
    from sidelight.data import write_conllu as write

    if answers.marginals is not None:
        raise NotSupported("conllu has no place for probabilities; use --output-format jsonl or tsv")
    write(path, answers.X, answers.labels, columns=columns, label=label)


def write_columns(answers: Answers, path: str, format: str) -> None:
    """The token's columns, its label, and with marginals the probability of that label."""
    from sidelight.data import FORMATS

    if answers.marginals is None:
        FORMATS[format].write(path, answers.X, answers.labels)
        return
    number = {label: k for k, label in enumerate(answers.classes)}
    rows = [
        [(*_cells(token), label) for token, label in zip(tokens, labels, strict=True)]
        for tokens, labels in zip(answers.X, answers.labels, strict=True)
    ]
    chances = [
        [f"{table[t, number[label]]:.4f}" for t, label in enumerate(labels)]
        for table, labels in zip(answers.marginals, answers.labels, strict=True)
    ]
    FORMATS[format].write(path, rows, chances)


def _cells(token: Any) -> tuple[str, ...]:
    if isinstance(token, dict):
        raise NotSupported("columns cannot hold tokens that are feature objects; use --output-format jsonl")
    return (token,) if isinstance(token, str) else tuple(token)
