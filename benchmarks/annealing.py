"""Rules about expectations on references: Tables 3 and 4 of Dhillon et al. 2012, and the cost of a projection.

`run` makes the tables chosen by `--tables`; without it, all of them. (I) is inductive: what is scored was not seen, and
Viterbi decodes by the model alone. (T) is transductive: it is among the unlabelled references, and Eq. 30 decodes.
"The values of these constraints are estimated from the training data", the paper says of the shares of fields: in
`daso-3` that is all of it, 13 numbers that are known beside the few labels; in `daso-3-own` it is the few labelled
references alone, in which several fields never occur. In `daso-4` nothing is known before the first temperature, as
annealing has it: what the paper begins with it does not say. `daso-4-labelled` begins with the model of the labelled.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sidelight import (
    CRF,
    HMM,
    Chain,
    CoDL,
    DeterministicAnnealing,
    PosteriorRegularization,
    changes,
    changes_only_after,
    once_each,
    paired_t_test,
    punctuation,
    share,
    token_accuracy,
    where,
    word,
)
from sidelight.inference.rows import Rows
from sidelight.rules.automata import labels_named
from sidelight.rules.language import Rule

from .chosen import constant
from .citations.experiment import BALANCE, ITERATIONS, Experiment
from .datasets import citation_files, unlabelled_citations
from .paper_settings import ANNEALING, COUNTED, POSTERIOR, per_fraction
from .report import Report, quoted, seconds
from .setting import Setting
from .word_classes import learn_classes, with_classes

OURS, PAPER = "sidelight", quoted("Dhillon et al. 2012")
SIZES = (5, 20, 300)
SLACK = 1.0
TABLE_3 = {
    "CRF": (63.1, 79.1, 89.9),
    "CoDL": (71.0, 79.4, 88.8),
    "PR (I)": (73.0, 82.7, 90.1),
    "PR (T)": (74.1, 84.4, 90.6),
    "DASO (I)": (75.2, 84.9, 91.1),
    "DASO (T)": (77.3, 86.0, 92.1),
}
# (first temperature, rate, as many temperatures as lead to its last one) -> without and with annealing.
TABLE_4 = {
    (1.0, 0.9, 11): (72.1, 77.1),
    (1.0, 0.7, 11): (72.9, 76.9),
    (1.0, 0.5, 11): (70.7, 76.1),
    (2.0, 0.9, 11): (74.2, 77.3),
    (2.0, 0.7, 11): (73.8, 77.0),
    (2.0, 0.5, 11): (72.8, 76.2),
    (5.0, 0.5, 13): (72.5, 75.5),
}
# What the slack of a rule costs, per fraction of a share; what they are stands in `chosen`.
ONCE, WORDS, SHARES, EDGES = (constant(f"annealing.{name}") for name in ("ONCE", "WORDS", "SHARES", "EDGES"))
L2, L2_HOT = constant("annealing.L2"), constant("annealing.L2_HOT")
PR_ROUNDS, ROUNDS = constant("annealing.PR_ROUNDS"), constant("annealing.ROUNDS")
HOT_ROUNDS, FLAT_ROUNDS = constant("annealing.HOT_ROUNDS"), constant("annealing.FLAT_ROUNDS")
# A round is timed as the difference between this many.
TIMED = (5, 25)
# That of Table 3, and that of the paper.
SCHEDULE = {**constant("annealing.SCHEDULE"), "iterations": ROUNDS}
PAPER_SCHEDULE = {"start": 2.0, "rate": 0.9, "temperatures": 11, "iterations": ROUNDS}
HOT = "DASO, T from 2 by 0.9"
PASSES_TARGET, PR_TARGET, DASO_TARGET = 15.0, 60.0, 600.0

_lower = word.lower()
# Section 5.3: the token, regular expressions of it and its neighbours, and their classes instead of Brown clusters.
_SHAPES = (
    "shape()", "istitle()", "isupper()", "hasdigit()", "isdigit()", "ispunct()", "matches('-')", "prefix(2)",
    "prefix(3)", "suffix(2)", "suffix(3)",
)  # fmt: skip
FEATURES = ["word.lower()", "word", *(f"{place}.{s}" for place in ("word", "word[-1]", "word[1]") for s in _SHAPES)]
CLASSES = ["pos", "pos[-1]", "pos[1]"]
_WORDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "Pages": (_lower.isin("pp", "pp.", "pages"), ("pages",)),
    "Date": (word.matches("^(19|20)[0-9][0-9]$"), ("date",)),
    "Quotations": (word.isin('"', "``", "''"), ("title",)),
    "Note": (_lower.isin("note", "submitted", "appear"), ("note",)),
    "Location": (word.isin("CA", "Australia", "NY"), ("location",)),
    "TechReport": (_lower.isin("tech", "tech_report"), ("tech",)),
    "Venue": (_lower.isin("proc", "journal", "proceedings", "acm"), ("journal", "booktitle")),
    "Editors": (_lower.isin("ed", "editors"), ("editor",)),
}


def crf(known: Sequence[Rule] = (), l2: float = L2) -> CRF:
    """The model of all tables; with rules, whose fields it has, and unlabelled references, without rare features."""
    fields = sorted(labels_named(known)) or None
    return CRF([*FEATURES, *CLASSES], l2=l2, all_weights=True, min_count=2 if known else 1, classes=fields)


def rules(y: Sequence[Any]) -> list[Rule]:
    """Table 2, with the shares of fields in these references."""
    flat = [label for labels in y for label in labels]
    found = {label: round(flat.count(label) / len(flat), 4) for label in sorted(set(flat))}
    edges = changes(where=~punctuation[-1]) - 0.01 * changes() == 0
    return [
        once_each().expected(ONCE),
        *((share(*fields, where=at) == 1).expected(WORDS).named(name) for name, (at, fields) in _WORDS.items()),
        *((share(label) == value).expected(SHARES) for label, value in found.items()),
        edges.over_corpus().expected(EDGES).named("Punctuation"),
    ]


def decoded() -> list[Rule]:
    """Those of Table 2 that single outputs keep to or break: all but the shares of fields."""
    words = [where(at).label(*fields).named(name) for name, (at, fields) in _WORDS.items()]
    return [once_each(), changes_only_after(punctuation), *words]


def driven() -> CoDL:
    """Constraint-driven learning around the CRF of all tables, set as in the thesis."""
    known = decoded()
    base = crf().set_params(classes=sorted(labels_named(known)))
    return CoDL(base, known, balance=BALANCE, iterations=ITERATIONS, **COUNTED)


def regularized(known: Sequence[Rule], **options: Any) -> PosteriorRegularization:
    """Posterior regularization with both losses as means, as there."""
    settings = {**POSTERIOR, "unlabeled_weight": None, "iterations": PR_ROUNDS, "tolerance": 0.02, **options}
    return PosteriorRegularization(crf(known), known, **settings)


def hot(known: Sequence[Rule]) -> DeterministicAnnealing:
    """Deterministic annealing by the paper's schedule and rounds."""
    return annealed(known, l2=L2_HOT, **{**PAPER_SCHEDULE, "iterations": HOT_ROUNDS})


def annealed(known: Sequence[Rule], *, l2: float = L2, **options: Any) -> DeterministicAnnealing:
    """Deterministic annealing by a schedule."""
    settings = {**ANNEALING, "tolerance": 0.02, **SCHEDULE, **options}
    return DeterministicAnnealing(crf(known, l2), known, **settings)


class Scores(NamedTuple):
    """Accuracy in percent, and the squared violations of Viterbi's output on what is scored (section 5.3)."""

    inductive: float
    transductive: float
    violation: float


class Means(NamedTuple):
    """Means over the subsets of `Scores`, deviations where there are several, and all of them."""

    value: Scores
    deviation: Scores | None
    each: list[Scores]

    def compared(self, other: "Means", kind: str) -> str:
        """Whether it differs from another, by the test of the paper, whose bold numbers have 0.05 at most."""
        if len(self.each) < 2:
            return "one subset, no test"
        return str(paired_t_test(*([getattr(one, kind) for one in means.each] for means in (self, other))))


def measure(
    experiment: Experiment, count: int, make: Callable[..., Any], *, inductive: bool = True, own: bool = False
) -> Means:
    """Train on subsets of this many labelled references; own: with the shares of fields in these alone."""
    task, found = experiment.task, []
    for seed in experiment.seeds if count < len(task.train_X) else experiment.seeds[:1]:
        X, y = experiment.subset(count, seed)
        known = rules(y if own else task.train_y)
        first = float("nan")
        if inductive:
            first = experiment.accuracy(_fitted(make, known, X, y, experiment.pool))
        model = _fitted(make, known, X, y, [*experiment.pool, *task.eval_X])
        left = violations(model, known, task.eval_X)
        second = 100 * token_accuracy(task.eval_y, model.set_params(decode="projected").predict(task.eval_X))
        found.append(Scores(first, float(second), left))
    spread = Scores(*np.std(found, axis=0, ddof=1).tolist()) if len(found) > 1 else None
    return Means(Scores(*np.mean(found, axis=0).tolist()), spread, found)


def _fitted(make: Callable[..., Any], known: Sequence[Rule], X: list[Any], y: list[Any], pool: list[Any]) -> Any:
    """What learns from a pool beside X and y; it decodes by the model."""
    model = make(per_fraction(known, pool)).fit([*X, *pool], [*y, *[None] * len(pool)])
    return model.set_params(decode="model")


def violations(model: Any, known: Sequence[Rule], X: Sequence[Any]) -> float:
    """Σ ξ² of Viterbi's output by the model alone, a mean over sequences for the rules about each of them.

    Shares are missed by fractions.
    """
    rows = Rows.compile(per_fraction([rule.expected(1.0) for rule in known], X), X, model.classes_)
    labels = np.array([model.classes_.index(c) for y in model.predict(X) for c in y], np.int32)
    return float((rows.penalty * rows.copies * rows.excess(rows.count(labels)) ** 2).sum() / len(X))


def comparison(experiment: Experiment, report: Report, *, own: bool = False) -> None:
    """Table 3."""
    rows: dict[str, list[tuple[float, float | None]]] = {}
    lasting: list[dict[str, float]] = []
    for count in SIZES:
        rows.setdefault("CRF", []).append(experiment.supervised("CRF, section 5.3", crf, count))
        rows.setdefault("CoDL", []).append(experiment.semi_supervised("CoDL, CRF of section 5.3", driven, count))
        lasting.append({})
        measured_by: dict[str, Means] = {}
        for name, make in (("PR", regularized), ("DASO", annealed), (HOT, hot)):
            found = measure(experiment, count, make, own=own)
            spread, measured_by[name] = found.deviation, found
            rows.setdefault(f"{name} (I)", []).append((found.value.inductive, spread and spread.inductive))
            rows.setdefault(f"{name} (T)", []).append((found.value.transductive, spread and spread.transductive))
            lasting[-1][name] = found.value.violation
            report.note(f"{name}, {count} labelled: {found.value}")
        for kind in ("inductive", "transductive"):
            test = measured_by["DASO"].compared(measured_by["PR"], kind)
            report.note(f"DASO less PR, {kind}, {count} labelled: {test}")
    shares = "the labelled references" if own else "the training data"
    with report.section(f"Table 3: rules about expectations and unlabelled references, shares of {shares}"):
        for name, measured in rows.items():
            for count, number, (value, spread) in zip(SIZES, TABLE_3[name.replace(HOT, "DASO")], measured, strict=True):
                what = f"{name}, {count} labelled"
                report.add(what, OURS, value, "%", deviation=spread, at_least=number - SLACK)
                report.add(what, PAPER, number, "%")
        for kind in ("(I)", "(T)"):
            for count, (plain, _), (cooled, _) in zip(SIZES, rows[f"PR {kind}"], rows[f"DASO {kind}"], strict=True):
                report.add(f"DASO less PR {kind}, {count} labelled", OURS, cooled - plain, "%", at_least=0.0)
    with report.section(f"Violations of Viterbi's output, squared, shares of {shares}"):
        for count, left in zip(SIZES, lasting, strict=True):
            for name, violation in left.items():
                report.add(f"{count} labelled", name, violation, "ξ²", at_most=left["PR"] if name == "DASO" else None)


def schedules(experiment: Experiment, report: Report, *, begin: str = "nothing") -> None:
    """Table 4: from the first temperature down, or at the last one from the start; 5 labelled, transductive."""
    with report.section(f"Table 4: schedules, {SIZES[0]} labelled, begun with {begin}"):
        for (start, rate, count), (flat, cooled) in TABLE_4.items():
            (l2, rounds), last = (L2_HOT, HOT_ROUNDS) if start > 1 else (L2, ROUNDS), start * rate ** (count - 1)
            make = partial(annealed, l2=l2, begin=begin)
            hot = partial(make, start=start, rate=rate, temperatures=count, iterations=rounds)
            cold = partial(make, start=last, rate=1.0, temperatures=1, iterations=FLAT_ROUNDS)
            without, slow = (measure(experiment, SIZES[0], one, inductive=False) for one in (cold, hot))
            what = f"T from {start:g} by {rate:g}"
            report.note(
                f"{what}: {slow.value.transductive:.2f} %, at {last:.4f} alone {without.value.transductive:.2f} %"
            )
            report.note(f"{what}, annealed less not: {slow.compared(without, 'transductive')}")
            for system, one in (("at the last T", without), ("annealed", slow)):
                deviation = one.deviation and one.deviation.transductive
                least = without.value.transductive if one is slow else None
                report.add(what, system, one.value.transductive, "%", deviation=deviation, at_least=least)
            report.add(what, f"{PAPER}, at the last T", flat, "%")
            report.add(what, f"{PAPER}, annealed", cooled, "%")


def speed(experiment: Experiment, report: Report) -> None:
    """Seconds of a forward-backward pass, of rounds of both models, and of whole trainings with 20 labelled."""
    X, y = experiment.with_pool(SIZES[1], experiment.seeds[0])
    labelled, known = y[: SIZES[1]], per_fraction(rules(experiment.task.train_y), experiment.pool)
    plain = crf().fit(X[: SIZES[1]], labelled)
    scores = plain.scores(experiment.pool)
    Chain().marginals(scores)
    once = min(seconds(lambda: Chain().marginals(scores)) for _ in range(5))
    report.note(f"Speed: {len(experiment.pool)} references, one pass is {once * 1000:.1f} ms; all cores.")
    with report.section(f"Speed, {SIZES[1]} labelled"):
        for name, make in (
            (
                "HMM",
                lambda n: PosteriorRegularization(
                    HMM("word.lower()", classes=crf(known).classes),
                    known,
                    **{**POSTERIOR, "iterations": n, "tolerance": 0.02},
                ),
            ),
            ("CRF", lambda n: regularized(known, iterations=n)),
        ):
            few, many = (seconds(lambda n=n, make=make: make(n).fit(X, y)) for n in TIMED)
            each = (many - few) / (TIMED[1] - TIMED[0]) / once
            report.add(f"a round of PR, {name}", OURS, each, "passes", at_most=PASSES_TARGET)
        spent = seconds(lambda: regularized(known).fit(X, y))
        report.add(f"PR, {PR_ROUNDS} rounds, CRF", OURS, spent, "s", at_most=PR_TARGET)
        spent = seconds(lambda: annealed(known, l2=L2_HOT, **PAPER_SCHEDULE).fit(X, y))
        report.add(
            f"DASO, {PAPER_SCHEDULE['temperatures']} temperatures of {ROUNDS} rounds",
            OURS,
            spent,
            "s",
            at_most=DASO_TARGET,
        )


def classed(experiment: Experiment) -> Experiment:
    """The same with the classes of words, learned without labels from all but what is scored, as a second column."""
    task = experiment.task
    classes = learn_classes([*experiment.pool, *task.train_X])
    train, scored, pool = (with_classes(X, classes) for X in (task.train_X, task.eval_X, experiment.pool))
    return replace(experiment, task=replace(task, train_X=train, eval_X=scored), pool=pool)


TABLES: dict[str, Callable[[Experiment, Report], None]] = {
    "daso-3": comparison,
    "daso-3-own": partial(comparison, own=True),
    "daso-4": schedules,
    "daso-4-labelled": partial(schedules, begin="labelled"),
    "daso-speed": speed,
}


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    return [*citation_files(setting.data, setting.split), unlabelled_citations(setting.data)]


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return f"citations, {setting.split}"


def run(setting: Setting, report: Report) -> None:
    """The tables asked for, each printed when it is done."""
    experiment = classed(Experiment.read(setting))
    for name in setting.chosen(TABLES):
        TABLES[name](experiment, report)
