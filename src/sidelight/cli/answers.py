"""What a model says about inputs, and how labels are written in each format; for trees and links see `structured`."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sidelight.errors import NotSupported

if TYPE_CHECKING:
    from sidelight.learners.learner import Scored


@dataclass(frozen=True)
class Answers:
    """Outputs, such as labels, and if asked for the probabilities of all their parts and the best outputs.

    verdicts: of a model that says yes or no, what it says of each input, as JSON has it.
    """

    X: list[Any]
    classes: list[str]
    outputs: list[Any]
    marginals: list[Any] | None
    kbest: "list[list[Scored]] | None"
    verdicts: list[dict[str, Any]] | None = None

    def ranked(self, index: int, record: Callable[[Any], dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the best outputs of an input as JSON has them; record: that of one output."""
        assert self.kbest is not None
        return [{**record(one.labels), "score": one.score, "probability": one.probability} for one in self.kbest[index]]


def ask(learner: Any, X: list[Any], *, marginals: bool, kbest: int | None) -> Answers:
    """Predict the outputs of inputs."""
    encoded: Any = X
    if not learner.judges and all(map(len, X)):  # empty inputs have outputs, but no encoding
        with suppress(NotSupported):  # a learner with rules reads the tokens, and two models have an encoding each
            encoded = learner.encode(X)
    return Answers(
        X,
        learner.classes_,
        learner.predict_structure(encoded),
        _chances(learner, encoded) if marginals else None,
        learner.predict_kbest(encoded, kbest) if kbest else None,
        _verdicts(learner, X) if learner.judges else None,
    )


def _verdicts(learner: Any, X: list[Any]) -> list[dict[str, Any]]:
    """The answer to each input, its score, and a calibrated probability where there is one."""
    from sidelight.data.pairs import COMPANION

    values = learner.decision_function(X)
    found = [{COMPANION: bool(value > 0), "score": round(float(value), 6)} for value in values]
    if learner.calibration:
        for verdict, (_, chance) in zip(found, learner.predict_proba(X), strict=True):
            verdict["probability"] = round(float(chance), 6)
    return found


def _chances(learner: Any, encoded: Any) -> list[Any]:
    try:
        chances: list[Any] = learner.predict_marginals(encoded)
    except NotSupported as error:
        if not (learner.rules_used_ and learner.task_.has_rows):  # it has no probabilities without rules either
            raise
        raise NotSupported(f"{error} (--without-rules)") from None
    return chances


def write_jsonl(answers: Answers, path: Any) -> None:
    """One object a sequence, with `marginals` (one object a token) and `kbest` beside tokens and labels."""
    from sidelight.data import write_jsonlines

    extra: list[dict[str, Any]] = [{} for _ in answers.X]
    for record, table in zip(extra, answers.marginals or [], strict=False):
        record["marginals"] = [dict(zip(answers.classes, row, strict=True)) for row in table.round(6).tolist()]
    for index, record in enumerate(extra if answers.kbest else []):
        record["kbest"] = answers.ranked(index, lambda labels: {"labels": labels})
    write_jsonlines(path, answers.X, answers.outputs, extra=extra)


def write_conllu(answers: Answers, path: Any, columns: tuple[str, ...], label: str) -> None:
    """Ten columns: those of the tokens and the label are filled."""
    from sidelight.data import write_conllu as write

    if answers.marginals is not None:
        raise NotSupported("conllu has no place for probabilities; use --output-format jsonl or tsv")
    write(path, answers.X, answers.outputs, columns=columns, label=label)


def write_labels(answers: Answers, path: Any, format: str) -> None:
    """A format that has a place for tokens and labels, and for nothing else."""
    from sidelight.data import FORMATS

    if answers.marginals is not None:
        raise NotSupported(f"{format} has no place for probabilities; use --output-format jsonl or tsv")
    FORMATS[format].write(path, answers.X, answers.outputs)


def write_columns(answers: Answers, path: Any, format: str, kept: Any) -> None:
    """The columns of the input, the label in the place where the input had one, else last, then its probability if
    there are marginals.

    kept: all columns of the input as `reading.FileRows`; None where those of the tokens and the label last are all.
    """
    from sidelight.data import FORMATS

    if answers.marginals is None and kept is None:
        FORMATS[format].write(path, answers.X, answers.outputs)
        return
    place = None if kept is None else kept.label
    rows = [
        [_with_label(list(cells), label, place) for cells, label in zip(sequence, labels, strict=True)]
        for sequence, labels in zip(
            (map(_cells, x) for x in answers.X) if kept is None else kept.rows, answers.outputs, strict=True
        )
    ]
    if answers.marginals is None:
        FORMATS[format].write(path, rows)
        return
    number = {label: k for k, label in enumerate(answers.classes)}
    chances = [
        [f"{table[t, number[label]]:.4f}" for t, label in enumerate(labels)]
        for table, labels in zip(answers.marginals, answers.outputs, strict=True)
    ]
    FORMATS[format].write(path, rows, chances)


def _with_label(cells: list[str], label: str, place: int | None) -> list[str]:
    if place is None:
        return [*cells, label]
    cells[place] = label
    return cells


def _cells(token: Any) -> tuple[str, ...]:
    if isinstance(token, dict):
        raise NotSupported("columns cannot hold tokens that are feature objects; use --output-format jsonl")
    return (token,) if isinstance(token, str) else tuple(token)
