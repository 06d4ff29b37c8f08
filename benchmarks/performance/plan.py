"""What is measured: the cells of every topic, and how often systems take turns."""

from collections.abc import Iterator
from dataclasses import replace

from .cells import Cell

# Learners that have data of their own kind; all others label sequences.
OTHERS = {"MaxEnt": "reviews", "DocumentJLIS": "reviews", "DMV": "trees", "LCLR": "names", "TwoStage": "names"}
_SIZES = {"reviews": 1000, "trees": 250, "names": 200, "bitext": 2000}
FEW, MORE = {"citations": 25, "chunks": 100}, {"citations": 150, "chunks": 400}
SENTENCES = (250, 500, 1000, 2000, 4000, 8000)
LABELS = (2, 5, 10, 20, 50)
RULES = (0, 2, 4, 8, 16)
THREADS, WORKERS = (1, 2), (1, 2, 4)
# Our two learners with the features and objective of CRFsuite, and these.
CRF, PERCEPTRON = "CRF, as CRFsuite", "perceptron, as CRFsuite"
THEIR_CRF, THEIR_PERCEPTRON = "CRFsuite: CRF", "CRFsuite: perceptron"
# Data, how many labelled and unlabelled inputs, ours, and the peer that it is beside.
PAIRS = (
    ("chunks", 8000, 0, CRF, THEIR_CRF),
    ("chunks", 8000, 0, PERCEPTRON, THEIR_PERCEPTRON),
    ("chunks", 1000, 0, CRF, "Wapiti: CRF"),
    ("citations", 25, 150, "CoDL(HMM)", "CRFsuite and word lists"),
    ("citations", 25, 150, "CoDL(HMM)", "skweak, then CRFsuite"),
    ("reviews", 1500, 0, "MaxEnt", "LogisticRegression"),
    ("bitext", 5000, 0, "WordAligner", "eflomal"),
    ("words", 0, 1000, "EM(HMM), 20 iterations", "hmmlearn"),
)
# Ours run in two threads, and so do the peers but for those that have one.
_SINGLE = (THEIR_CRF, THEIR_PERCEPTRON, "CRFsuite and word lists", "skweak, then CRFsuite", "hmmlearn")
TURNS = {"learners": 1, "peers": 2, "sentences": 1, "labels": 1, "rules": 2, "threads": 3, "workers": 2}
_GENERATED = 400


def learners() -> Iterator[Cell]:
    """Every learner, one thread each."""
    import sidelight

    for data, labelled in FEW.items():
        for name in sidelight.LEARNERS:
            if name not in OTHERS:
                yield Cell("learners", name, data, labelled, MORE[data])
    for name, data in (*OTHERS.items(), ("WordAligner", "bitext")):
        yield Cell("learners", name, data, _SIZES[data])


def peers() -> Iterator[Cell]:
    """Ours beside the peers."""
    for data, labelled, unlabelled, *systems in PAIRS:
        for name in systems:
            yield Cell("peers", name, data, labelled, unlabelled, threads=1 if name in _SINGLE else 2)


def sentences() -> Iterator[Cell]:
    """By the number of labelled sentences, one thread each."""
    systems = (CRF, PERCEPTRON, "StructuralSVM, same features", THEIR_CRF, THEIR_PERCEPTRON)
    for size in SENTENCES:
        for name in systems:
            yield Cell("sentences", name, "chunks", size)


def labels() -> Iterator[Cell]:
    """By the number of labels."""
    for count in LABELS:
        for name in (CRF, PERCEPTRON, "StructuralSVM, same features", THEIR_CRF):
            yield Cell("labels", name, "generated", _GENERATED, labels=count)


def rules() -> Iterator[Cell]:
    """By the number of rules."""
    for count in RULES:
        for name in ("CCM(HMM)", "CoDL(HMM)", "PosteriorRegularization(HMM)"):
            yield Cell("rules", name, "citations", 25, 150, rules=count)


def threads() -> Iterator[Cell]:
    """By the number of threads."""
    for name in (CRF, "CRF, L-BFGS, 20 iterations", "StructuralSVM, 20 iterations"):
        for count in THREADS:
            yield Cell("threads", name, "chunks", 4000, threads=count)
    for count in THREADS:
        yield Cell("threads", "PosteriorRegularization(HMM)", "citations", 25, 150, threads=count)


def workers() -> Iterator[Cell]:
    """By the number of processes, and in one thread beside them."""
    for count in (0, *WORKERS):
        for name in ("CRF, L-BFGS, 20 iterations", "StructuralSVM, 20 iterations"):
            yield Cell("workers", name, "chunks", 4000, workers=count)
        yield Cell("workers", "PosteriorRegularization(HMM)", "citations", 25, 150, workers=count)


TOPICS = {
    "peers": peers,
    "learners": learners,
    "sentences": sentences,
    "labels": labels,
    "rules": rules,
    "threads": threads,
    "workers": workers,
}
# Small generated data, and few systems, for a look at whether all goes well.
_QUICK = {
    "peers": ("CoDL(HMM)", "CRFsuite and word lists"),
    "learners": ("HMM", "CoDL"),
    "sentences": (PERCEPTRON,),
    "labels": (PERCEPTRON, THEIR_CRF),
    "rules": ("CCM(HMM)",),
    "threads": ("PosteriorRegularization(HMM)",),
    "workers": ("PosteriorRegularization(HMM)",),
}


def cells(topic: str, turns: int | None = None) -> list[Cell]:
    """All cells of a topic, one turn after the other."""
    once = list(dict.fromkeys(TOPICS[topic]()))
    return [replace(cell, turn=turn) for turn in range(turns or TURNS[topic]) for cell in once]


def quick_cells(topic: str, turns: int | None = None) -> list[Cell]:
    """A few of them with a few inputs, on generated data."""
    few = [
        replace(cell, data=cell.data if cell.data == "generated" else "references", labelled=_fewer(cell),
                unlabelled=min(cell.unlabelled, 15))
        for cell in cells(topic, turns or 1)
        if cell.system in _QUICK[topic] and (cell.labels or 0) <= 5 and cell.rules in (None, 0, 2) and cell.workers < 4
    ]  # fmt: skip
    return list(dict.fromkeys(few))


def _fewer(cell: Cell) -> int:
    """Ten inputs, or twice as many where there are more of them."""
    return 20 if cell.labelled > 250 else 10
