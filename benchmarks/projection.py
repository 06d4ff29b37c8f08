"""Grammar from another language: section 7 of Ganchev et al. 2010, from English to French by way of the Hansards.

Everything is learned here: taggers (CRF) and the English parser on UD treebanks whose words are made to look like those
of the Hansards (lower case, no accents, no elisions), the word aligner on the bitext itself. French trees are looked at
for scores alone, and for a row of what trees would teach; French tags are those of the treebank's training part, and
gold where trees are scored. What η is, and whether leaves are projected too, is chosen as in the paper, without trees:
the model that keeps most projected heads of other sentences of the bitext. The aligner is `WordAligner` with its
defaults, where the paper has posterior regularization under the symmetric constraint. Scores on short trees of the
training part, which no learner but the last row's has seen, stand beside the others: there are six times as many.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from sidelight import (
    CRF,
    DMV,
    EM,
    Parsing,
    WordAligner,
    complete_at_random,
    learn_from_projected,
    project_pairs,
    read_bitext,
    read_trees,
)
from sidelight.transfer import PlainSentence, TokenColumns, listed_heads

from .chosen import constant
from .datasets import MissingData, treebank_file
from .parser import parser
from .report import Report, quoted
from .setting import Setting

# Sentence pairs that are aligned, sentences that are learned from, and those that settings are chosen on.
PAIRS, SENTENCES, HELD_OUT = 12_000, 1_000, 600
LONGEST, SCORED = 20, 10
TABLES = {"projection-generative": "generative", "projection-discriminative": "discriminative"}
# Table 8 and section 7.3.2: 10,000 sentences from English to Spanish, CoNLL-X.
PUBLISHED = {
    "generative": {"unsupervised, harmonic start": 41.7, "random completion": 68.2, "PR, heads, η = 0.9": 69.5},
    "discriminative": {"random completion": 67.6, "PR, heads, η = 0.9": 70.6},
}
EM_ROUNDS = 30
ROUNDS, L2 = constant("projection.ROUNDS"), constant("projection.L2")
# η, and whether leaves are projected.
SETTINGS = ((0.9, False), (0.9, True), (1.0, False), (1.0, True))
_ELISIONS = {
    "l'": "le",
    "d'": "de",
    "n'": "ne",
    "s'": "se",
    "qu'": "que",
    "j'": "je",
    "c'": "ce",
    "m'": "me",
    "t'": "te",
}

Trees = tuple[list[list[TokenColumns]], list[list[int]]]


@dataclass(frozen=True)
class Text:
    """What is learned from and scored.

    projected: sentences to learn from; held_out: those that settings are chosen on; short, scored: trees of up to ten
    words of the treebank's training part and of the part that is scored.
    """

    projected: list[list[TokenColumns]]
    held_out: list[list[TokenColumns]]
    short: Trees
    scored: Trees

    def scores(self, learner: Any) -> tuple[float, float]:
        """Words with the right head, in percent: of what is scored, and of the treebank's training part."""
        return 100 * float(learner.score(*self.scored)), 100 * float(learner.score(*self.short))

    def kept(self, learner: Any) -> float:
        """Projected heads of the sentences held out that the best trees have, in percent."""
        lists = [listed_heads(x) for x in self.held_out]
        found = [
            head in listed
            for heads, some in zip(learner.predict(self.held_out), lists, strict=True)
            for head, listed in zip(heads, some, strict=True)
            if listed
        ]
        return 100 * fmean(found)


def files(setting: Setting) -> list[Path]:
    """What the benchmark reads."""
    french = treebank_file(setting.data, "fr_sequoia")
    bitext = [setting.data / "hansards" / f"train.{end}" for end in "ef"]
    return [*bitext, treebank_file(setting.data), french, french.with_name(f"{setting.split}.conllu")]


def scored(setting: Setting) -> str:
    """The data that is scored."""
    return f"UD French-Sequoia, {setting.split}, up to {SCORED} words without punctuation, gold tags"


def plain(word: str) -> str:
    """A word as the Hansards have it: in lower case, without accents, with elided vowels."""
    letters = unicodedata.normalize("NFD", word.lower().replace("’", "'"))
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return _ELISIONS.get(bare, bare)


def read_plain(path: Path) -> tuple[list[list[TokenColumns]], list[Any]]:
    """The trees of a file, with plain words."""
    X, y = read_trees(path)
    return [[(plain(word), tag) for word, tag in x] for x in X], y


def short_trees(X: Sequence[Sequence[TokenColumns]], y: Sequence[Any]) -> Trees:
    """Trees without punctuation that have one root and at most ten words."""
    found = [PlainSentence.of(x, heads) for x, heads in zip(X, y, strict=True)]
    kept = [(s.x, s.heads) for s in found if s.heads and len(s.x) <= SCORED and s.heads.count(0) == 1]
    return [x for x, _ in kept], [heads for _, heads in kept]


def tagger(X: Sequence[Sequence[TokenColumns]]) -> CRF:
    """A tagger of plain words."""
    words, tags = ([[token[column] for token in x] for x in X] for column in (0, 1))
    return CRF().fit(words, tags)


def read(setting: Setting, report: Report) -> Text:
    """The pipeline up to projected heads."""
    english, french = (read_plain(path) for path in files(setting)[2:4])
    pairs = read_bitext(*files(setting)[:2])[:PAIRS]
    links = WordAligner().fit(pairs).predict(pairs)
    models = tagger(english[0]), parser(0, labelled=False).fit(*english), tagger(french[0])
    X = project_pairs(pairs, links, *models, longest=LONGEST)
    if len(X) <= HELD_OUT:
        raise MissingData(f"heads were projected on {len(X)} sentences only")
    words = sum(map(len, X))
    with report.section("Projected heads", "Hansards, train"):
        report.add("sentence pairs", "sidelight", len(pairs), "")
        report.add("French sentences with projected heads", "sidelight", len(X), "")
        share = sum(bool(token[2]) for x in X for token in x) / words
        report.add("words with a projected head", "sidelight", 100 * share, "%")
    test = read_plain(files(setting)[-1])
    return Text(X[:-HELD_OUT][:SENTENCES], X[-HELD_OUT:], short_trees(*french), short_trees(*test))


def run(setting: Setting, report: Report) -> None:
    """A table for each kind of model."""
    text = read(setting, report)
    bases: dict[str, Any] = {
        "generative": DMV(), "discriminative": CRF(task=Parsing(projective=True, lift=True), l2=L2, tolerance=0.05)
    }  # fmt: skip
    nothing = [None] * len(text.projected)
    lists = [listed_heads(x) for x in text.projected]
    completed = [complete_at_random(lists, random_state=seed) for seed in setting.seeds]
    for name in (TABLES[table] for table in setting.chosen(TABLES)):
        base = bases[name]
        with report.section(f"Parsers, {name}"):
            rivals = {"random completion": [text.scores(base.fit(text.projected, trees)) for trees in completed]}
            if base.generative:
                for start in ("harmonic", "even"):
                    learner = EM(DMV(start=start), iterations=EM_ROUNDS, guard=False).fit(text.projected, nothing)
                    rivals[f"unsupervised, {start} start"] = [text.scores(learner)]
            for what, scores in rivals.items():
                _add(report, what, scores)
            _regularized(report, text, name, max(fmean(s for s, _ in some) for some in rivals.values()))
            _add(report, "supervised: trees of up to ten words of train", [text.scores(base.fit(*text.short))])
            for what, value in PUBLISHED[name].items():
                report.add(what, quoted("Spanish, Ganchev et al. 2010"), value, "%")


def _add(report: Report, what: str, scores: Sequence[tuple[float, float]], at_least: float | None = None) -> None:
    """One or several scores of both parts of the treebank; at_least: what is asked of the first."""
    for part, values in zip(("UAS", "UAS on train"), zip(*scores, strict=True), strict=True):
        spread = stdev(values) if len(values) > 1 else None
        asked = at_least if part == "UAS" else None
        report.add(what, part, fmean(values), "%", deviation=spread, at_least=asked)


def _regularized(report: Report, text: Text, name: str, rival: float) -> None:
    """Posterior regularization in every setting, and in the one that is chosen."""
    found = list[tuple[float, tuple[float, float], str]]()
    for share, leaves in SETTINGS:
        model = learn_from_projected(
            text.projected, generative=name == "generative", share=share, leaves=leaves, iterations=ROUNDS[name]
        )
        what = f"PR, heads{' and leaves' if leaves else ''}, η = {share}"
        found.append((text.kept(model), text.scores(model), what))
        _add(report, what, [found[-1][1]])
        report.add(what, "projected heads kept", found[-1][0], "%")
    _, scores, chosen = max(found)
    _add(report, "PR, chosen by projected heads kept", [scores], at_least=rival)
    report.note(f"chosen: {chosen}")
