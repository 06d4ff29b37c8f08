"""Tag induction: section 8.2 of Ganchev et al. 2010, on UD English and Portuguese.

Text without any tag; as many hidden states as there are universal tags. Words are in lower case, and those seen once
are one word. All systems are first-order HMMs that begin from the same random model and take the same number of rounds;
what is scored is the same text, labelled by the most probable state of each token. EM and sparse PR add 0.1 to every
expected count, as `HMM` does by default; the paper says of no such counts. One-to-one takes the best matching
of states and tags, where the paper picks greedily. A system is a line in `SYSTEMS`.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from sidelight import (
    EM,
    HMM,
    ChainParts,
    PosteriorRegularization,
    few_labels,
    labels_per_word,
    mutual_information,
    one_to_many,
    one_to_one,
    word,
)
from sidelight.inference.few_labels import Occurrences, project_words

from .datasets import MissingData, read_tagged, treebank_file
from .drawing import Panel, draw, require_drawing
from .paper_settings import POSTERIOR
from .report import Report
from .setting import Setting

TREEBANKS = {"en_ewt": "English", "pt_bosque": "Portuguese"}
# The paper has all sentences, 200 rounds, 30 of them EM before those of sparse PR, and strengths of 10, 32 and 100.
SENTENCES = 2000
ROUNDS, WARM_UP = 100, 30
STRENGTH = 32.0
_RARE = "unk"
# The example of Figure 11: the tags that occurrences have which are no nouns, and σ.
OCCURRENCES, EXAMPLE_TAGS, EXAMPLE_STRENGTH = 15, ("noun", "adjective", "verb", "adverb"), 20.0
OUTLIERS = {3: 1, 7: 2, 11: 3, 13: 1}


@dataclass(frozen=True)
class Text:
    """Sentences, their tags, and names for as many states."""

    X: list[list[str]]
    y: list[list[str]]
    states: list[str]

    @classmethod
    def read(cls, data: Path, treebank: str, sentences: int) -> "Text":
        """The first sentences of a treebank."""
        X, y = read_tagged(data, "upos", treebank)
        if len(X) < sentences:
            raise MissingData(f"{treebank_file(data, treebank)} has fewer than {sentences} tagged sentences")
        return cls.of([[str(w) for w in x] for x in X[:sentences]], y[:sentences])

    @classmethod
    def of(cls, X: list[list[str]], y: list[list[str]]) -> "Text":
        """Words in lower case; those seen once are one word."""
        lower = [[w.lower() for w in x] for x in X]
        counts = Counter(w for x in lower for w in x)
        tags = {tag for labels in y for tag in labels}
        states = [f"state {k}" for k in range(1, len(tags) + 1)]
        return cls([[w if counts[w] > 1 else _RARE for w in x] for x in lower], y, states)


class Scores(NamedTuple):
    """What one fit is worth, and how long it took."""

    many: float
    one: float
    information: float
    labels: float
    seconds: float

    @classmethod
    def of(cls, text: Text, model: Any, seconds: float) -> "Scores":
        """Of the most probable state at each token."""
        marginals = model.predict_marginals(text.X)
        states = [[model.classes_[k] for k in np.argmax(one, axis=1)] for one in marginals]
        return cls(
            100 * one_to_many(text.y, states),
            100 * one_to_one(text.y, states),
            mutual_information(text.y, states),
            labels_per_word(text.X, marginals),
            seconds,
        )


COLUMNS = {"1-to-many": "%", "1-to-1": "%", "information": "bits", "labels per word": "labels", "a fit": "s"}


def hmm(**options: Any) -> HMM:
    """Every word is itself, also in text that was not seen."""
    return HMM(unknown=None, rare=0, **options)


def em(base: HMM, rounds: int = ROUNDS) -> Callable[[Text, int], EM]:
    """EM, or variational EM if the base is that."""

    def fit(text: Text, seed: int) -> EM:
        learner = EM(base, iterations=rounds, spread=1.0, classes=text.states, random_state=seed, guard=False)
        return learner.fit(text.X, [None] * len(text.X))

    return fit


def sparse(text: Text, seed: int) -> PosteriorRegularization:
    """Posterior regularization after some rounds of EM: few states for each word seen ten times."""
    first = em(hmm(), WARM_UP)(text, seed)
    learner = PosteriorRegularization(
        hmm(),
        [few_labels(word).expected(STRENGTH)],
        **{**POSTERIOR, "iterations": ROUNDS - WARM_UP, "tolerance": 0.1},
    )
    return learner.fit(text.X, [None] * len(text.X), initial=first.driven_)


EM_NAME, SPARSE_NAME = "EM", f"Sparse PR, {STRENGTH:g}"
SYSTEMS: dict[str, Callable[[Text, int], Any]] = {
    EM_NAME: em(hmm()),
    "Variational EM, words 0.1": em(hmm(estimate="variational")),
    "Variational EM, words 0.01": em(hmm(estimate="variational", emission_smoothing=0.01)),
    SPARSE_NAME: sparse,
}


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    return [treebank_file(setting.data, name) for name in TREEBANKS]


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return f"UD, the first {SENTENCES:,} sentences of train, which are also what is learned from"


def run(setting: Setting, report: Report) -> None:
    """Every system on both languages, and with --figure the example of Figure 11 first."""
    if setting.figure:
        require_drawing(setting.figure)
        panels, (before, after) = one_word()
        report.note(f"Figure 11: the norm that is charged falls from {before:.2f} to {after:.2f}")
        draw(panels, setting.figure)
        report.note(f"wrote {setting.figure}")
    for treebank, language in TREEBANKS.items():
        compare(Text.read(setting.data, treebank, SENTENCES), language, setting.seeds, report)


def one_word() -> tuple[dict[str, Panel], tuple[float, float]]:
    """Figure 11: the tags of 15 occurrences of a word before and after the projection, and ℓ1/ℓ∞ norms of both.

    The occurrences are independent. The paper does not print its numbers: here eleven are nouns, with
    probabilities of 0.97 and more, and four are as surely something else.
    """
    sure = np.linspace(0.97, 0.999, OCCURRENCES)
    table = np.repeat((1 - sure[:, None]) / (len(EXAMPLE_TAGS) - 1), len(EXAMPLE_TAGS), axis=1)
    for i in range(OCCURRENCES):
        table[i, OUTLIERS.get(i, 0)] = sure[i]
    offsets = np.arange(OCCURRENCES + 1)
    shape = (len(EXAMPLE_TAGS),) * 2
    scores = ChainParts.of(offsets, np.log(table), np.zeros(shape))
    words = Occurrences.of(["word"] * OCCURRENCES, 1, EXAMPLE_STRENGTH)
    found = project_words(scores, words, tolerance=1e-6, max_iterations=2000)
    shown = {
        "before": (table, "probability"),
        f"prices λ, in all at most {EXAMPLE_STRENGTH:g} a tag": (found.prices.reshape(table.shape), "λ"),
        "after": (found.expected.reshape(table.shape), "probability"),
    }
    panels = {}
    for title, (values, name) in shown.items():
        panels[title] = Panel("occurrence", y=name)
        for tag, column in zip(EXAMPLE_TAGS, values.T, strict=True):
            for i, value in enumerate(column.tolist(), start=1):
                panels[title].add(tag, i, value)
    return panels, (float(table.max(axis=0).sum()), float(found.excess.sum()))


def compare(text: Text, language: str, seeds: tuple[int, ...], report: Report) -> None:
    """One table: every system, and sparse PR less EM."""
    flat = [w for x in text.X for w in x]
    rare = flat.count(_RARE) / len(flat)
    report.note(
        f"{language}: {len(text.X):,} sentences, {len(flat):,} tokens, {rare:.1%} of them rare; "
        f"{len(text.states)} tags with an entropy of {mutual_information(text.y, text.y):.2f} bits; {ROUNDS} rounds."
    )
    with report.section(f"Tag induction, {language}"):
        means = {name: _measure(report, text, seeds, name) for name in SYSTEMS}
        ours, plain = means[SPARSE_NAME], means[EM_NAME]
        what = f"{SPARSE_NAME} less {EM_NAME}"
        report.add(f"{what}, 1-to-many", "1-to-many", ours.many - plain.many, "%", at_least=0.0)
        report.add(f"{what}, 1-to-1", "1-to-1", ours.one - plain.one, "%")
        report.add(f"{what}, information", "information", ours.information - plain.information, "bits", at_least=0.0)


def _measure(report: Report, text: Text, seeds: tuple[int, ...], name: str) -> Scores:
    """Fit once per seed; reports and returns the means."""
    found = []
    for seed in seeds:
        begin = perf_counter()
        model = SYSTEMS[name](text, seed)
        found.append(Scores.of(text, model, perf_counter() - begin))
    for (column, unit), values in zip(COLUMNS.items(), zip(*found, strict=True), strict=True):
        report.add(name, column, fmean(values), unit, deviation=stdev(values) if len(values) > 1 else None)
    return Scores(*map(fmean, zip(*found, strict=True)))
