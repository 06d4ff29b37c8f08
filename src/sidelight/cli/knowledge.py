"""What is known beside labels: rules, unlabelled, good and bad sequences, and the learner that uses them."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from sidelight.cli.output import note
from sidelight.cli.parameters import (
    BASES,
    COMPANIONS,
    DEFAULT_BASES,
    EXPECTING,
    JUDGING_WRAPPERS,
    UNLABELLED,
    WITHOUT_RULES,
    WRAPPERS,
    divide,
    divide_views,
    has_parameter,
    make_learner,
    require_base,
    require_task,
)
from sidelight.cli.reading import DataReader, Sequences
from sidelight.cli.settings import Setting, names
from sidelight.errors import DataError, Infeasible, listed

# By how much a tree must be above others for each wrong word, unless --margin is given: an arc has some hundred
# features, each of which changes by one.
MARGIN = 300.0


# Files, or ways to make sequences, and how many sequences each has, one after the other.
Files = list[tuple[str, int]]


@dataclass(frozen=True)
class KnowledgeOptions:
    """The options of `train` about it."""

    rules: str | None = None
    unlabeled: str | None = None
    classes: str | None = None
    good: str | None = None
    bad: str | None = None

    def make_learner(
        self,
        name: str | None,
        base: str | None,
        features: list[str] | None,
        settings: Sequence[Setting],
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
            inside = "perceptron"
            settings = settings if "margin" in names(settings) else [*settings, Setting("margin", str(MARGIN))]
        if task is not None:
            require_task(inside, type(task).__name__.lower())
            if name is None and not quiet:
                _tell(type(task).__name__, wrapper, inside)
        if inside == "auto":
            self._check_auto(settings)
        else:
            self._check(wrapper, inside, settings)
        fixed: dict[str, Any] = {"rules": self._read_rules(wrapper)} if self.rules else {}
        given_task = {} if task is None else {"task": task}
        if wrapper is None:
            require_base(inside, settings)
            return make_learner(inside, features, settings, quiet=quiet, jobs=jobs, **fixed, **given_task)
        mine, rest = divide(wrapper, inside, settings)
        # The rounds report progress; the base learner within a round does not.
        fixed["base"] = make_learner(inside, features, rest, quiet=quiet or wrapper != "ccm", jobs=jobs, **given_task)
        return make_learner(wrapper, None, mine, quiet=quiet, jobs=jobs, **fixed)

    def make_agreement(
        self,
        name: str | None,
        base: str | None,
        views: Sequence[str],
        features: list[str] | None,
        settings: Sequence[Setting],
        parse: Callable[[str], list[str]],
        *,
        quiet: bool,
        jobs: int | None,
    ) -> Any:
        """The models of several views, each with the templates of a file, that are learned to agree.

        parse: what reads a template.
        """
        from sidelight import Agreement
        from sidelight.cli.templates import read_templates

        if name is not None:
            raise typer.BadParameter(
                "views have a learner of their own; name what each is with --base", param_hint="--learner"
            )
        if base not in (None, "crf"):
            message = "views of the command line are crf models; leave this out, or use Agreement in Python"
            raise typer.BadParameter(message, param_hint="--base")
        if features:
            raise typer.BadParameter("every --view has its own; leave this out", param_hint="--features")
        for flag in ("rules", "good", "bad", "classes"):
            if getattr(self, flag) is not None:
                raise typer.BadParameter("views that agree make no use of this", param_hint=f"--{flag}")
        titles = [Path(file).stem for file in views]
        if len(set(titles)) < len(titles):
            titles = [str(file) for file in views]
        if len(set(titles)) < max(2, len(titles)):
            raise typer.BadParameter("give two different files at least", param_hint="--view")
        learners, (own, rest) = {}, divide_views(settings)
        for title, file in zip(titles, views, strict=True):
            templates = read_templates([], file, parse)
            learners[title] = make_learner(base or "crf", templates, rest, quiet=True, jobs=jobs)
        return Agreement(learners, verbose=not quiet, n_jobs=-1 if jobs is None else jobs, **own)

    def _arrange(self, name: str, base: str | None, usual: str) -> tuple[str | None, str]:
        """The learner that goes around another, None if there is none, and the one that it goes around."""
        if name in WRAPPERS:
            return name, base or (DEFAULT_BASES[name] if usual == "auto" else usual)
        if base is not None:
            message = f"the learner {name} does not go around another; {listed(list(WRAPPERS))} do (--learner)"
            raise typer.BadParameter(message, param_hint="--base")
        if name == "auto" or name in UNLABELLED:
            return None, name
        if self.unlabeled:
            return (None if name in WITHOUT_RULES and not self.rules else "codl"), name
        return ("ccm" if self.rules and name not in COMPANIONS else None), name

    def _check_auto(self, settings: Sequence[Setting]) -> None:
        for setting in settings:
            if setting.of or (has_parameter(setting.name) and not has_parameter(setting.name, "auto")):
                raise setting.refused(
                    "the learner auto tries learners with their own settings; name one with --learner"
                )
        if self.classes is not None and not self.rules:
            raise typer.BadParameter("this needs --rules", param_hint="--classes")

    def _check(self, wrapper: str | None, inside: str, settings: Sequence[Setting]) -> None:
        if wrapper and inside not in BASES:
            more = f"; {inside} learns from --good and --bad" if inside in COMPANIONS else ""
            what = "rules" if inside in WITHOUT_RULES else "rules and unlabelled data"
            message = f"{what} do not go with the learner {inside}, but with {listed(BASES)}"
            raise typer.BadParameter(message + more, param_hint="--learner")
        if self.rules and wrapper in ("em", "self-training"):
            raise typer.BadParameter(f"{wrapper} has no use for rules; codl and pr have", param_hint="--rules")
        if wrapper == "ccm" and self.unlabeled:
            raise typer.BadParameter("ccm learns from labels only; codl from both", param_hint="--unlabeled")
        judging = inside in COMPANIONS or wrapper in JUDGING_WRAPPERS
        for flag, value, needs, there in (
            ("--learner", wrapper if wrapper == "ccm" else None, "--rules", self.rules),
            ("--reading", "reading" if wrapper and "reading" in names(settings) else None, "--rules", self.rules),
            ("--classes", self.classes, "--rules", self.rules),
            ("--good", self.good, "--learner jlis, lclr, combined or auto", judging),
            ("--bad", self.bad, "--learner jlis, lclr, combined or auto", judging),
        ):
            if value is not None and not there:
                raise typer.BadParameter(f"this needs {needs}", param_hint=flag)

    def _read_rules(self, wrapper: str | None) -> list[Any]:
        from sidelight.rules.files import given_rules

        rules = given_rules(str(self.rules))
        for rule in rules if wrapper in EXPECTING else ():
            known = ("expected", "hard") if wrapper == "uem" else ("expected",)  # hard: at gamma = -inf
            if rule.reading is not None and rule.reading.kind not in known:
                raise DataError(
                    f"{self.rules}: the rule {rule.title!r} is read as {rule.reading.kind}, and {wrapper} reads rules "
                    'as statements about expectations; give it reading = "expected" in a file of rules'
                )
        return rules

    def add_sequences(
        self, name: str | None, learner: Any, reader: DataReader, data: str, sequences: Sequences
    ) -> tuple[Sequences, Files]:
        """The data with the unlabelled, good and bad sequences behind it, and the files that they are from.

        name: of the learner, where it was given; data: the file of the data.
        """
        from sidelight.data.joined import joined
        from sidelight.supervision import BAD, GOOD

        X, y, files = sequences.X, sequences.y, [(data, len(sequences.X))]
        good = self._read_more(reader, self.good, sequences) if self.good else []
        for path, more, known in (
            (self.unlabeled, self._read_more(reader, self.unlabeled, sequences) if self.unlabeled else [], None),
            (self.good, good, GOOD),
            (self._bad_source(reader, data), self._bad(reader, data, sequences, good), BAD),
        ):
            X, y = joined([X, more]), joined([y, [known] * len(more)])
            files += [(path, len(more))] if path else []
        self._require_more(name, _kinds(learner.task_, X, y))
        return Sequences(X, y, sequences.format), files

    def _bad_source(self, reader: DataReader, data: str) -> str | None:
        """The file of the bad sequences; if they are reordered copies, the file of the originals and the way."""
        return f"{self.good or data} ({self.bad})" if self.bad in reader.made else self.bad

    def _bad(self, reader: DataReader, data: str, sequences: Sequences, good: Any) -> Any:
        """Those of the file, or reordered copies of the good sequences; without these, of the labelled ones."""
        from sidelight.data import companions
        from sidelight.supervision import BAD

        if self.bad in reader.made:
            mine = [x for x, known in zip(sequences.X, sequences.y, strict=True) if known is not BAD]
            try:
                made: list[Any] = getattr(companions, str(self.bad))(good or mine)
            except DataError as error:
                raise DataError(f"{self._bad_source(reader, data)}: {error}") from None
            if not made:
                raise DataError(f"{self._bad_source(reader, data)}: no sequence has two tokens that differ")
            return made
        if self.bad and self.bad != "-" and not os.path.exists(self.bad):
            raise typer.BadParameter(
                f"there is no file {self.bad}, and it is not one of {', '.join(reader.made)}", param_hint="--bad"
            )
        return self._read_more(reader, self.bad, sequences) if self.bad else []

    def _read_more(self, reader: DataReader, path: str, sequences: Sequences) -> Any:
        more = reader.read_unlabeled(path, beside=sequences.X)
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
        """Refuse rules about labels where there are none, and let the learner know those of --classes."""
        from sidelight.rules.automata import labels_named
        from sidelight.rules.labels import labels_added

        task = learner.task_
        named = {label: rule.title for rule in learner.rules or () for label in sorted(labels_named([rule]))}
        if named and not task.has_labels:
            label, rule = next(iter(named.items()))
            raise DataError(
                f"{self.rules}: the rule {rule!r} names the label {label!r}, and there are no labels; arcs have "
                "some with --task parsing --set task.labelled=true"
            )
        if self.classes:
            found = task.labels(task.read(sequences.y, task.sizes(sequences.X)))
            known = sorted({*found, *filter(None, self.classes.split(","))})
            more = labels_named(learner.rules or (), known).difference(known)
            every = {*known, *(label for name in more for label in labels_added(name, known))}
            (learner if learner.base is None else learner.base).set_params(classes=sorted(every))


@contextmanager
def file_of_conflicts(files: Files, advice: str = "") -> Iterator[None]:
    """Name the file, and the number there, in errors about sequences that cannot satisfy the rules, and what to do.

    An error that is about no single sequence is about those of the last file.
    """
    try:
        yield
    except Infeasible as error:
        path = files[-1][0]
        if error.sequence is not None:
            path, number = _place(error.sequence, files)
            error = error.numbered(number)
        raise Infeasible(f"{path}: {error}{advice}") from None


def _place(number: int, files: Files) -> tuple[str, int]:
    """The file of a sequence, and its number there."""
    first = 0
    for path, count in files:
        if number < first + count:
            return path, number - first
        first += count
    return " and ".join(path for path, _ in files), number


def way_out(learner: str | None, estimator: Any) -> str:
    """What to do on the command line where rules of a learner contradict each other."""
    if learner == "uem":
        gamma = float(estimator.gamma)
        ways = {0.0: "--penalty 1 --norm l1", math.inf: "--norm l1 --bound 1", -math.inf: "--learner codl"}
        return f" ({ways.get(gamma, '--penalty 1')})"
    return f" ({learner} takes every rule as hard, so leave one out)" if learner in COMPANIONS else ""


def usual_learner(task: Any) -> str:
    """What learns a task where no learner is named: without probabilities of parts, from margins."""
    if task is None:
        return "auto"
    return "crf" if task.has_rows else "svm"


def _tell(task: str, wrapper: str | None, inside: str) -> None:
    """Say what learns: what auto would try is for sequences."""
    around = f"{wrapper} around {inside}" if wrapper else inside
    around += f" with --margin {MARGIN:g}" if inside == "perceptron" else ""
    note(f"{task} has no learner auto, so this is {around}; --learner names another")


def _kinds(task: Any, X: list[Any], y: list[Any]) -> set[Any]:
    """The kinds of what is known."""
    return set(task.kinds(task.read(y, task.sizes(X))))
