"""What is known beside labels: rules and unlabelled sequences, and the learner that uses them around another one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer

from sidelight.cli.parameters import CLASSES, NOT_BASES, divide_settings, make_learner
from sidelight.cli.reading import Reader, Sequences
from sidelight.errors import DataError, Infeasible


@dataclass(frozen=True)
class Knowledge:
    """The options of `train` about it."""

    rules: str | None = None
    reading: str | None = None
    unlabeled: str | None = None
    semi: str | None = None
    balance: float | None = None
    iterations: int | None = None
    labels: str | None = None

    @property
    def wrapper(self) -> str | None:
        """The name of the learner around the base learner; None if the options ask for none."""
        if self.semi or self.unlabeled:
            return self.semi or "codl"
        return "ccm" if self.rules else None

    def make_learner(
        self, base: str, options: dict[str, Any], settings: Sequence[str], *, quiet: bool, jobs: int | None
    ) -> Any:
        """The base learner, with whatever learns from rules and unlabelled sequences around it."""
        wrapper = self.wrapper
        self._check(base)
        if wrapper is None:
            return make_learner(base, options, settings, quiet=quiet, jobs=jobs)
        mine, others = divide_settings(wrapper, base, settings)
        # The rounds report progress; the base learner within a round does not.
        inner = make_learner(base, options, others, quiet=quiet or wrapper != "ccm", jobs=jobs)
        fixed: dict[str, Any] = {"base": inner}
        if self.rules:
            from sidelight.rules.files import read_rules

            fixed["rules"] = read_rules(self.rules)
        given = {"reading": self.reading, "balance": self.balance, "iterations": self.iterations}
        return make_learner(wrapper, given, mine, quiet=quiet, jobs=jobs, **fixed)

    def _check(self, base: str) -> None:
        if self.wrapper and base in NOT_BASES:
            able = ", ".join(name for name in CLASSES if name not in NOT_BASES)
            message = f"rules and unlabelled data do not go with the learner {base}, but with {able}"
            raise typer.BadParameter(message, param_hint="--learner")
        if self.rules and self.wrapper in ("em", "self-training"):
            raise typer.BadParameter(f"{self.wrapper} has no use for rules; codl has", param_hint="--semi")
        for flag, value, needs, there in (
            ("--reading", self.reading, "--rules", self.rules),
            ("--labels", self.labels, "--rules", self.rules),
            ("--balance", self.balance, "--unlabeled", self.semi or self.unlabeled),
            ("--iterations", self.iterations, "--unlabeled", self.semi or self.unlabeled),
        ):
            if value is not None and not there:
                raise typer.BadParameter(f"this needs {needs}", param_hint=flag)

    def add_unlabeled(self, reader: Reader, sequences: Sequences) -> Sequences:
        """The data with the unlabelled sequences behind it."""
        if self.unlabeled is None:
            if self.semi and all(isinstance(labels, list) and any(labels) for labels in sequences.y):
                message = "there are no unlabelled sequences to learn from; give --unlabeled"
                raise typer.BadParameter(message, param_hint="--semi")
            return sequences
        more = reader.read_unlabeled(self.unlabeled)
        expected, found = _width(sequences.X), _width(more)
        if expected != found:
            raise DataError(
                f"{self.unlabeled}: tokens have {found}, those of the labelled data {expected}; "
                "leave out the labels and keep the other columns"
            )
        return Sequences(sequences.X + more, sequences.y + [None] * len(more), sequences.format)

    def check_labels(self, learner: Any, sequences: Sequences) -> None:
        """Refuse rules about labels that neither the data nor --labels has: most likely they are misspelt."""
        from sidelight.rules.automata import labels_named
        from sidelight.supervision import label_set

        known = {*label_set(sequences.y), *filter(None, (self.labels or "").split(","))}
        named = {label: rule for rule in getattr(learner, "rules", None) or () for label in labels_named([rule])}
        unknown = sorted(named.keys() - known)
        if unknown:
            rule, label = named[unknown[0]].title, unknown[0]
            raise DataError(
                f"{self.rules}: the rule {rule!r} names the label {label!r}, which the data does not have "
                f"(it has {', '.join(sorted(known))}); if it is right, say --labels {','.join(unknown)}"
            )
        if self.labels:
            learner.base.set_params(classes=sorted(known))


@contextmanager
def file_of_conflicts(path: str | None) -> Iterator[None]:
    """Name the file, if there is one, in errors about sequences that cannot satisfy the hard rules."""
    try:
        yield
    except Infeasible as error:
        raise Infeasible(f"{path}: {error}" if path else str(error)) from None


def _width(X: Sequence[Any]) -> str:
    token = next((token for x in X for token in x), "")
    if isinstance(token, dict):
        return "features"
    return "1 column" if isinstance(token, str) else f"{len(token)} columns"
