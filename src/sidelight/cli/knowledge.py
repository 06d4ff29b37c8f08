"""What is known beside labels: rules, unlabelled, good and bad sequences, and the learner that uses them."""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from sidelight.cli.parameters import (
    BASES,
    COMPANIONS,
    DEFAULT_BASES,
    EXPECTING,
    JUDGING_WRAPPERS,
    UNLABELLED,
    WRAPPERS,
    divide,
    divide_views,
    make_learner,
    require_task,
)
from sidelight.cli.reading import DataReader, Sequences
from sidelight.errors import DataError, Infeasible

# By how much a tree must be above others for each wrong word, where nothing is said: an arc has some hundred features,
# each of which changes by one.
MARGIN = 300.0


@dataclass(frozen=True)
class Knowledge:
    """The options of `train` about it."""

    rules: str | None = None
    reading: str | None = None
    unlabeled: str | None = None
    balance: float | None = None
    iterations: int | None = None
    penalty: float | None = None
    decode: str | None = None
    labels: str | None = None
    good: str | None = None
    bad: str | None = None

    def make_learner(
        self,
        name: str | None,
        base: str | None,
        options: dict[str, Any],
        settings: Sequence[str],
        *,
        quiet: bool,
        jobs: int | None,
        task: Any = None,
    ) -> Any:
        """The learner that the options ask for, with its base learner inside if it goes around one.

        Without a name it is auto, or the usual one of the task.
        """
        wrapper, inside = self._arrange(name or usual_learner(task), base, usual_learner(task))
        if name is None and wrapper is None and getattr(task, "kind", None) == "trees":
            inside, options = "perceptron", {**options, "margin": options.get("margin") or MARGIN}
        if task is not None:
            require_task(inside, type(task).__name__.lower())
            if name is None and not quiet:
                _tell(type(task).__name__, wrapper, inside)
        if inside == "auto":
            self._check_auto()
        else:
            self._check(wrapper, inside)
        fixed: dict[str, Any] = {"rules": self._read_rules(wrapper)} if self.rules else {}
        given_task = {} if task is None else {"task": task}
        if wrapper is None:
            return make_learner(inside, options, settings, quiet=quiet, jobs=jobs, **fixed, **given_task)
        names = ("reading", "balance", "iterations", "penalty", "decode")
        given = {name: getattr(self, name) for name in names}
        mine, wanted, rest, others = divide(wrapper, inside, options, settings)
        # The rounds report progress; the base learner within a round does not.
        fixed["base"] = make_learner(inside, rest, others, quiet=quiet or wrapper != "ccm", jobs=jobs, **given_task)
        return make_learner(wrapper, given | mine, wanted, quiet=quiet, jobs=jobs, **fixed)

    def make_agreement(
        self,
        name: str | None,
        base: str | None,
        views: Sequence[str],
        options: dict[str, Any],
        settings: Sequence[str],
        *,
        quiet: bool,
        jobs: int | None,
    ) -> Any:
        """The models of several views, each with the templates of a file, that are learned to agree."""
        from sidelight import Agreement
        from sidelight.cli.templates import read_templates

        if name is not None:
            raise typer.BadParameter(
                "views have a learner of their own; name what each is with --base", param_hint="--learner"
            )
        if base not in (None, "crf"):
            message = "views of the command line are crf models; leave this out, or use Agreement in Python"
            raise typer.BadParameter(message, param_hint="--base")
        if options["template"]:
            raise typer.BadParameter("every --view has its own; leave this out", param_hint="--template")
        for flag in ("rules", "good", "bad", "reading", "balance", "penalty", "decode", "labels"):
            if getattr(self, flag) is not None:
                raise typer.BadParameter("views that agree make no use of this", param_hint=f"--{flag}")
        names = [Path(file).stem for file in views]
        if len(set(names)) < len(names):
            names = [str(file) for file in views]
        if len(set(names)) < max(2, len(names)):
            raise typer.BadParameter("give two different files at least", param_hint="--view")
        learners, (own, rest) = {}, divide_views(settings)
        for title, file in zip(names, views, strict=True):
            mine = {**options, "template": read_templates([], file)}
            learners[title] = make_learner(base or "crf", mine, rest, quiet=True, jobs=jobs)
        if self.iterations is not None:
            own["iterations"] = self.iterations
        return Agreement(learners, verbose=not quiet, n_jobs=-1 if jobs is None else jobs, **own)

    def _arrange(self, name: str, base: str | None, usual: str) -> tuple[str | None, str]:
        """The learner that goes around another, None if there is none, and the one that it goes around."""
        if name in WRAPPERS:
            return name, base or (DEFAULT_BASES[name] if usual == "auto" else usual)
        if base is not None:
            message = f"the learner {name} does not go around another; {_listed(WRAPPERS)} do (--learner)"
            raise typer.BadParameter(message, param_hint="--base")
        if name == "auto" or name in UNLABELLED:
            return None, name
        if self.unlabeled:
            return "codl", name
        return ("ccm" if self.rules and name not in COMPANIONS else None), name

    def _check_auto(self) -> None:
        for name in ("reading", "balance", "iterations", "penalty", "decode"):
            if getattr(self, name) is not None:
                message = "the learner auto tries learners with their own settings; name one with --learner"
                raise typer.BadParameter(message, param_hint=f"--{name}")
        if self.labels is not None and not self.rules:
            raise typer.BadParameter("this needs --rules", param_hint="--labels")

    def _check(self, wrapper: str | None, inside: str) -> None:
        if wrapper and inside not in BASES:
            more = f"; {inside} learns from --good and --bad" if inside in COMPANIONS else ""
            message = f"rules and unlabelled data do not go with the learner {inside}, but with {_listed(BASES)}"
            raise typer.BadParameter(message + more, param_hint="--learner")
        if self.rules and wrapper in ("em", "self-training"):
            raise typer.BadParameter(f"{wrapper} has no use for rules; codl and pr have", param_hint="--rules")
        if wrapper == "ccm" and self.unlabeled:
            raise typer.BadParameter("ccm learns from labels only; codl from both", param_hint="--unlabeled")
        learning = wrapper not in (None, "ccm")
        judging = inside in COMPANIONS or wrapper in JUDGING_WRAPPERS
        for flag, value, needs, there in (
            ("--learner", wrapper if wrapper == "ccm" else None, "--rules", self.rules),
            ("--reading", self.reading, "--rules", self.rules),
            ("--labels", self.labels, "--rules", self.rules),
            ("--balance", self.balance, "--unlabeled", learning),
            ("--iterations", self.iterations, "--unlabeled", learning),
            ("--penalty", self.penalty, "--learner pr, uem or daso", wrapper),
            ("--decode", self.decode, "--learner pr, uem or daso", wrapper),
            ("--good", self.good, "--learner jlis, lclr, combined or auto", judging),
            ("--bad", self.bad, "--learner jlis, lclr, combined or auto", judging),
        ):
            if value is not None and not there:
                raise typer.BadParameter(f"this needs {needs}", param_hint=flag)
        if inside in (*COMPANIONS, *UNLABELLED) and self.reading == "soft":
            raise typer.BadParameter(f"{inside} takes every rule as hard", param_hint="--reading")

    def _read_rules(self, wrapper: str | None) -> list[Any]:
        from sidelight.rules.files import read_rules

        rules = read_rules(str(self.rules))
        for rule in rules if wrapper in EXPECTING else ():
            known = ("expected", "hard") if wrapper == "uem" else ("expected",)  # hard: at gamma = -inf
            if rule.reading is not None and rule.reading.kind not in known:
                raise DataError(
                    f"{self.rules}: the rule {rule.title!r} is read as {rule.reading.kind}, and {wrapper} reads rules "
                    'as statements about expectations; leave out its reading and penalty, or say reading = "expected"'
                )
        return rules

    def add_sequences(self, name: str | None, learner: Any, reader: DataReader, sequences: Sequences) -> Sequences:
        """The data with the unlabelled, good and bad sequences behind it; name: of the learner, where it was given."""
        from sidelight.supervision import BAD, GOOD

        X, y = list(sequences.X), list(sequences.y)
        good = self._read_more(reader, self.good, sequences) if self.good else []
        for more, known in (
            (self._read_more(reader, self.unlabeled, sequences) if self.unlabeled else [], None),
            (good, GOOD),
            (self._bad(reader, sequences, good), BAD),
        ):
            X, y = X + more, y + [known] * len(more)
        self._require_more(name, _kinds(learner.task_, X, y))
        return Sequences(X, y, sequences.format)

    def _bad(self, reader: DataReader, sequences: Sequences, good: list[Any]) -> list[Any]:
        """Those of the file, or reordered copies of the good sequences; without these, of the labelled ones."""
        from sidelight.data import companions
        from sidelight.supervision import BAD

        if self.bad in reader.made:
            mine = [x for x, known in zip(sequences.X, sequences.y, strict=True) if known is not BAD]
            made: list[Any] = getattr(companions, str(self.bad))(good or mine)
            return made
        if self.bad and self.bad != "-" and not Path(self.bad).exists():
            raise typer.BadParameter(
                f"there is no file {self.bad}, and it is not one of {', '.join(reader.made)}", param_hint="--bad"
            )
        return self._read_more(reader, self.bad, sequences) if self.bad else []

    def _read_more(self, reader: DataReader, path: str, sequences: Sequences) -> list[Any]:
        more = reader.read_unlabeled(path)
        expected, found = reader.width(sequences.X), reader.width(more)
        if expected != found:
            raise DataError(
                f"{path}: tokens have {found}, those of the labelled data {expected}; "
                "leave out the labels and keep the other columns"
            )
        return more

    @staticmethod
    def _require_more(name: str | None, kinds: set[Any]) -> None:
        """A learner that was asked for by name needs what it is for."""
        from sidelight.supervision import Signal

        learning = name in UNLABELLED or (name in WRAPPERS and name not in ("ccm", "combined"))
        if learning and kinds <= {Signal.FULL}:
            message = "there is no unlabelled data to learn from; give --unlabeled"
        elif name == "jlis" and Signal.COMPANION not in kinds:
            message = "there is no good or bad data to learn from; give --good and --bad, or use svm"
        else:
            return
        raise typer.BadParameter(message, param_hint="--learner")

    def check_labels(self, learner: Any, sequences: Sequences) -> None:
        """Refuse rules about labels that neither the data nor --labels has: most likely they are misspelt."""
        from sidelight.rules.automata import labels_named

        task = learner.task_
        found = task.labels(task.read(sequences.y, task.sizes(sequences.X)))
        known = {*found, *filter(None, (self.labels or "").split(","))}
        named = {label: rule for rule in learner.rules or () for label in labels_named([rule])}
        unknown = sorted(named.keys() - known)
        if unknown:
            rule, label = named[unknown[0]].title, unknown[0]
            if not task.has_labels:
                raise DataError(
                    f"{self.rules}: the rule {rule!r} names the label {label!r}, and there are no labels; arcs have "
                    "some with --task parsing --set task.labelled=true"
                )
            raise DataError(
                f"{self.rules}: the rule {rule!r} names the label {label!r}, which the data does not have "
                f"(it has {', '.join(sorted(known))}); if it is right, say --labels {','.join(unknown)}"
            )
        if self.labels:
            (learner if learner.base is None else learner.base).set_params(classes=sorted(known))


@contextmanager
def file_of_conflicts(path: str | None, advice: str = "", *, before: int = 0) -> Iterator[None]:
    """Name the file, if there is one, in errors about sequences that cannot satisfy the rules, and what to do.

    before: the number of sequences that are not of this file, and come before those that are.
    """
    try:
        yield
    except Infeasible as error:
        if error.sequence is not None and error.sequence >= before:
            error = error.numbered(error.sequence - before)
        raise Infeasible(f"{path}: {error}{advice}" if path else f"{error}{advice}") from None


def way_out(learner: str | None, estimator: Any) -> str:
    """What to do on the command line where rules of a learner contradict each other."""
    if learner == "uem":
        gamma = float(estimator.gamma)
        ways = {0.0: "--penalty 1 --set norm=l1", math.inf: "--set norm=l1 --set bound=1", -math.inf: "--learner codl"}
        return f" ({ways.get(gamma, '--penalty 1')})"
    return f" ({learner} takes every rule as hard, so leave one out)" if learner in COMPANIONS else ""


def _listed(names: Iterable[str]) -> str:
    *some, last = names
    return f"{', '.join(some)} and {last}"


def usual_learner(task: Any) -> str:
    """What learns a task where no learner is named: without probabilities of parts, from margins."""
    if task is None:
        return "auto"
    return "crf" if task.has_rows else "svm"


def _tell(task: str, wrapper: str | None, inside: str) -> None:
    """Say what learns: what auto would try is for sequences."""
    around = f"{wrapper} around {inside}" if wrapper else inside
    around += f" with --margin {MARGIN:g}" if inside == "perceptron" else ""
    print(f"note: {task} has no learner auto, so this is {around}; --learner names another", file=sys.stderr)


def _kinds(task: Any, X: list[Any], y: list[Any]) -> set[Any]:
    """The kinds of what is known."""
    return set(task.kinds(task.read(y, task.sizes(X))))
