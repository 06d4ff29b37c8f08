"""Generalized expectation and entropy regularization on references, with 17 statements about words and places.

`run` makes the tables chosen by `--tables`; without it, all of them. MALLET's numbers are quoted, not measured here:
test accuracy with 17 constraints on words and label shares, and the shortest of its trainings.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sidelight import (
    CRF,
    Chain,
    EntropyRegularization,
    GeneralizedExpectation,
    PosteriorRegularization,
    count,
    first,
    generate_references,
    runs,
    share,
    word,
)
from sidelight.demo.rules import REFERENCE_RULES
from sidelight.inference.rows import Rows
from sidelight.rules.automata import labels_named
from sidelight.rules.language import Rule
from sidelight.solvers.unlabelled import UnlabelledLoss

from . import annealing
from .chosen import constant
from .citations.experiment import Experiment
from .datasets import citation_files, unlabelled_citations
from .paper_settings import CRITERIA, POSTERIOR, per_fraction
from .report import Report, quoted, seconds
from .setting import Setting

OURS, MALLET = "sidelight", quoted("MALLET")
SIZES = (5, 20, 300)
# By the number of labelled references; None was not run there.
ACCURACY: dict[str, tuple[float | None, ...]] = {
    "CRF": (63.5, 74.8, 93.5),
    "GE": (69.0, 77.9, None),
    "PR": (65.1, 75.9, None),
    "ER and rules": (None, None, None),
    "ER": (45.4, None, None),
}
SECONDS = {"PR": 64.0, "GE": 125.0}
FASTER = 10.0
# Generated references without labels, and with them; the most seconds with rules as people write them.
GENERATED, LABELLED, PATIENCE = 1000, 25, 20.0
# Entropy of each unlabelled reference, alone and beside rules; what slack costs in PR.
ALONE, BESIDE, SLACK = (constant(f"expectation.{name}") for name in ("ALONE", "BESIDE", "SLACK"))
L2 = constant("expectation.L2")

AROUND = [*(f"word[{k}].lower()" for k in (-2, -1, 1, 2)), "word[-2].shape()", "word[2].shape()"]
_lower = word.lower()
_MONTHS = (
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
# Where, which fields, and how often.
STATEMENTS: dict[str, tuple[Any, tuple[str, ...], float]] = {
    "Start": (first, ("author",), 0.95),
    "Pages": (_lower.isin("pp", "pp.", "pages"), ("pages",), 0.95),
    "Range": (word.matches("^[0-9]+-+[0-9]+$"), ("pages",), 0.95),
    "Year": (word.matches("^(19|20)[0-9][0-9]$"), ("date",), 0.95),
    "Month": (_lower.isin(*_MONTHS.split()), ("date",), 0.95),
    "Quotations": (word.isin('"', "``", "''"), ("title",), 0.95),
    "Note": (_lower.isin("note", "submitted", "appear"), ("note",), 0.95),
    "Location": (word.isin("CA", "Australia", "NY"), ("location",), 0.95),
    "Report": (_lower.isin("tech", "technical"), ("tech",), 0.95),
    "Thesis": (_lower.isin("thesis", "phd", "report", "memo"), ("tech",), 0.9),
    "Venue": (_lower.isin("proc", "journal", "proceedings", "acm"), ("journal", "booktitle"), 0.95),
    "Meeting": (_lower.isin("conference", "workshop", "symposium"), ("booktitle",), 0.95),
    "Journal": (_lower.isin("transactions", "trans", "letters"), ("journal",), 0.9),
    "Editors": (_lower.isin("ed", "eds", "editor", "editors"), ("editor",), 0.95),
    "Volume": (_lower.isin("vol", "vol.", "volume"), ("volume",), 0.95),
    "Institution": (_lower.isin("university", "institute", "department", "laboratory"), ("institution",), 0.9),
    "Publisher": (_lower.isin("press", "publishers", "springer", "verlag", "wiley"), ("publisher",), 0.95),
}


def rules() -> list[Rule]:
    """Shares of fields where a word stands."""
    return [(share(*fields, where=at) == value).named(name) for name, (at, fields, value) in STATEMENTS.items()]


def crf() -> CRF:
    """The features of section 5.3 of Dhillon et al. 2012 and the words around."""
    return CRF([*annealing.FEATURES, *AROUND], l2=L2, all_weights=True)


def base(tolerance: float = 3e-4) -> CRF:
    """The same with unlabelled references, which are enough to leave out what occurs once."""
    model: CRF = crf().set_params(min_count=2, tolerance=tolerance, classes=sorted(labels_named(rules())))
    return model


def written() -> list[Rule]:
    """Seventeen rules as people write them, most of them about each reference."""
    least = [count(field) >= 1 for field in ("author", "title", "date")]
    shares = [share("author") == 0.3, share("title") == 0.25]
    return [*REFERENCE_RULES, *least, runs("title") <= 1, *shares]


# By the unlabelled references, on which penalties of shares depend.
LEARNERS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "PR": lambda pool: PosteriorRegularization(
        base(0.01),
        per_fraction([rule.expected(SLACK) for rule in rules()], pool),
        **{**POSTERIOR, "unlabeled_weight": None, "tolerance": 0.01},
    ),
    "GE": lambda pool: GeneralizedExpectation(base(), per_fraction(rules(), pool), **CRITERIA),
    "ER": lambda pool: EntropyRegularization(base(), strength=ALONE, **CRITERIA),
    "ER and rules": lambda pool: EntropyRegularization(
        base(), per_fraction(rules(), pool), strength=BESIDE, **CRITERIA
    ),
}


def accuracy(experiment: Experiment, report: Report) -> None:
    """Token accuracy of a supervised CRF and of what learns from unlabelled references too."""
    with report.section("Expectations and entropy of unlabelled references"):
        for name, quoted in ACCURACY.items():
            for count, number in zip(SIZES, quoted, strict=True):
                found = (
                    experiment.semi_supervised(
                        f"{name}, 17 statements", partial(LEARNERS[name], experiment.pool), count
                    )
                    if name in LEARNERS
                    else experiment.supervised("CRF and words around", crf, count)
                )
                what = f"{name}, {count} labelled"
                report.add(what, OURS, found.value, "%", deviation=found.deviation, at_least=number)
                if number is not None:
                    report.add(what, MALLET, number, "%")


def speed(experiment: Experiment, report: Report) -> None:
    """Seconds of whole trainings, features included, and the cost of a gradient in forward-backward passes."""
    with report.section("Seconds of training"):
        for name in ("PR", "GE", "ER and rules"):
            theirs = SECONDS.get(name)
            for count in SIZES[:2]:
                X, y = experiment.with_pool(count, experiment.seeds[0])
                spent = seconds(lambda name=name, X=X, y=y: LEARNERS[name](experiment.pool).fit(X, y))
                what = f"{name}, {count} labelled"
                report.add(what, OURS, spent, "s", at_most=None if theirs is None else theirs / FASTER)
                if theirs is not None:
                    report.add(what, MALLET, theirs, "s")
    with report.section(f"Seconds of training, {len(written())} rules as people write them, default CRF"):
        X, y = generate_references(GENERATED + LABELLED, seed=3)
        some = [*y[:LABELLED], *[None] * GENERATED]
        for learner in (GeneralizedExpectation, EntropyRegularization):
            spent = seconds(lambda learner=learner: learner(CRF(), written()).fit(X, some))
            report.add(f"{learner.__name__}, {GENERATED} generated", OURS, spent, "s", at_most=PATIENCE)
    with report.section(f"A gradient over {len(experiment.pool)} references, in forward-backward passes"):
        model = crf().fit(experiment.task.train_X, experiment.task.train_y)
        pool = model.encode(experiment.pool)
        scores = model.scores(pool)
        once = _best(lambda: Chain().marginals(scores))
        report.add("derivatives of marginals", OURS, _best(lambda: Chain().tangents(scores, scores)) / once, "passes")
        for some in (rules()[:1], rules()):
            rows = Rows.compile(some, experiment.pool, model.classes_)
            loss = UnlabelledLoss(model.scorer_, Chain(), pool, rows, "squared", 1.0, 0.0)
            spent = _best(lambda loss=loss: loss(model.weights_))
            report.add(f"scores, expectations, gradient; {len(rows)} statements", OURS, spent / once, "passes")


def _best(work: Callable[[], Any], times: int = 5) -> float:
    """Seconds of the fastest of several calls, after one that compiles."""
    work()
    return min(seconds(work) for _ in range(times))


TABLES: dict[str, Callable[[Experiment, Report], None]] = {"ge": accuracy, "ge-speed": speed}


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    return [*citation_files(setting.data, setting.split), unlabelled_citations(setting.data)]


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return f"citations, {setting.split}"


def run(setting: Setting, report: Report) -> None:
    """The tables asked for, each printed when it is done."""
    experiment = Experiment.read(setting)
    for name in setting.chosen(TABLES):
        TABLES[name](experiment, report)
