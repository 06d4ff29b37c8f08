"""Eight tasks of different kinds, each with rules of common sense and with false ones.

The rules were written before any result was looked at. `false` rules sound as plausible and are wrong: for the question
what a learner makes of knowledge that misleads. Sequences are drawn from the training files alone: some are labelled,
others are unlabelled, and others again are scored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sidelight import (
    changes_only_after,
    count,
    ends_with,
    first,
    generate_references,
    once_each,
    pos,
    punctuation,
    read_columns,
    read_conllu,
    span_scores,
    starts_with,
    token_accuracy,
    transitions,
    where,
    word,
)
from sidelight.rules.language import Rule

_lower = word.lower()
_MONTHS = (
    "january", "february", "march", "april", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip


@dataclass(frozen=True)
class Draw:
    """One draw: labelled sequences, others without labels, and those that are scored."""

    X: list[Any]
    y: list[Any]
    pool: list[Any]
    test_X: list[Any]  # noqa: N815
    test_y: list[Any]


@dataclass(frozen=True)
class Task:
    """Sequences, what is known about them, and how outputs are scored.

    counts: numbers of labelled sequences; pool, scored: how many sequences are unlabelled, and how many are scored;
    metric: "accuracy" of tokens, or "F1" of spans, which are runs of a label in `scheme` "runs".
    """

    name: str
    read: Callable[[Path], tuple[list[Any], list[Any]]]
    files: tuple[str, ...]
    rules: Callable[[], list[Rule]]
    false: Callable[[], list[Rule]]
    counts: tuple[int, ...]
    pool: int
    scored: int
    metric: str = "accuracy"
    scheme: str = "bio"

    def draw(self, data: tuple[list[Any], list[Any]], labelled: int, seed: int) -> Draw:
        """Labelled sequences of this seed; the same for all smaller numbers of them."""
        X, y = data
        order = np.random.default_rng(seed).permutation(len(X)).tolist()
        scored, most = order[: self.scored], max(self.counts)
        known, rest = order[self.scored :][:labelled], order[self.scored + most :][: self.pool]
        return Draw(
            [X[i] for i in known],
            [y[i] for i in known],
            [X[i] for i in rest],
            [X[i] for i in scored],
            [y[i] for i in scored],
        )

    def score(self, gold: Sequence[Any], predicted: Sequence[Any]) -> float:
        """Points between 0 and 100."""
        if self.metric == "accuracy":
            return 100 * float(token_accuracy(gold, predicted))
        return 100 * float(span_scores(gold, predicted, scheme=self.scheme).overall.f1)


# References ----------------------------------------------------------------------------------------------------------


def _references() -> list[Rule]:
    return [
        starts_with("author", "editor"),
        once_each(),
        changes_only_after(punctuation),
        count("author", "editor") >= 1,
        count("title") >= 2,
        count("date") >= 1,
        where(_lower.isin("pp", "pp.", "pages")).label("pages"),
        where(word.matches("^[0-9]+-+[0-9]+$")).label("pages"),
        where(word.matches("^(19|20)[0-9][0-9]$")).label("date"),
        where(_lower.isin(*_MONTHS)).label("date"),
        where(_lower.isin("proc", "proceedings", "conference", "workshop", "symposium")).label("booktitle"),
        where(_lower.isin("journal", "transactions", "letters")).label("journal"),
        where(_lower.isin("vol", "volume", "no")).label("volume"),
        where(_lower.isin("university", "institute", "department")).label("institution"),
        where(_lower.isin("press", "springer", "verlag", "wiley", "publishers")).label("publisher"),
        where(_lower.isin("ed", "eds", "editor", "editors")).label("editor"),
        where(_lower.isin("technical", "thesis", "tr")).label("tech"),
        (count("journal") >= 1) >> (count("booktitle") == 0),
    ]


def _false_references() -> list[Rule]:
    return [
        ends_with("title", "publisher"),
        where(_lower.isin("of", "the", "for")).label("journal"),
        where(word.istitle()).never("author"),
        count("volume") >= 3,
        where(word.isin(",")).label("location"),
        where(_lower.isin("in")).label("editor"),
    ]


def _read_citations(data: Path) -> tuple[list[Any], list[Any]]:
    return read_columns(data / "citations" / "train.tsv", separator="\t")


# Chunks --------------------------------------------------------------------------------------------------------------


def _inside(*kinds: str) -> list[Rule]:
    """The inside of a span follows its beginning or its inside, and no sequence begins with it."""
    return [
        *((transitions(after=["O"], to=f"I-{kind}") == 0) for kind in kinds),
        *(where(first).never(f"I-{kind}") for kind in kinds),
    ]


def _chunks() -> list[Rule]:
    return [
        *_inside("NP", "VP"),
        where(punctuation).label("O"),
        where(pos.isin("DT", "PRP$")).label("B-NP", "I-NP"),
        where(pos.isin("PRP")).label("B-NP"),
        where(pos.isin("NN", "NNS", "NNP", "NNPS", "CD")).label("B-NP", "I-NP"),
        where(pos.isin("VBD", "VBZ", "VBP", "MD")).label("B-VP", "I-VP"),
        where(pos.isin("VB")).label("I-VP", "B-VP"),
        where(pos.isin("TO")).label("B-PP", "B-VP", "I-VP"),
        where(pos.isin("IN")).label("B-PP", "B-SBAR"),
        count("B-VP") >= 1,
        count("B-NP") >= 1,
    ]


def _false_chunks() -> list[Rule]:
    return [
        where(pos.isin("JJ")).label("B-ADJP"),
        count("B-NP") <= 2,
        where(pos.isin("CC")).label("B-NP"),
        starts_with("B-VP", "O"),
        where(pos.isin("RB")).label("B-NP", "I-NP"),
    ]


# Tags ----------------------------------------------------------------------------------------------------------------


def _english() -> list[Rule]:
    return [
        where(punctuation).label("PUNCT", "SYM"),
        where(word.isdigit()).label("NUM"),
        where(_lower.isin("the", "a", "an")).label("DET"),
        where(_lower.isin("and", "or", "but")).label("CCONJ"),
        where(_lower.isin("i", "you", "he", "she", "it", "we", "they", "me", "him", "them")).label("PRON"),
        where(_lower.isin("of", "in", "on", "at", "from", "with", "by")).label("ADP"),
        where(_lower.isin("is", "are", "was", "were", "be", "been", "has", "had")).label("AUX", "VERB"),
        where(_lower.isin("can", "will", "would", "could", "should", "may", "might", "must")).label("AUX"),
        where(_lower.suffix(2).isin("ly")).label("ADV"),
        where(_lower.suffix(4).isin("tion", "ment", "ness")).label("NOUN", "PROPN"),
        where(_lower.suffix(3).isin("ing")).label("VERB", "NOUN", "AUX"),
        where(word.istitle() & ~first_place()).label("PROPN", "PRON"),
        where(_lower.isin("not", "n't")).label("PART"),
        transitions(after=["DET"], to=["VERB", "AUX", "PUNCT"]) == 0,
        count("VERB", "AUX") >= 1,
    ]


def first_place() -> Any:
    """The first word of a sentence, which has no word before it."""
    return ~word[-1].matches(".")


def _false_english() -> list[Rule]:
    return [
        where(_lower.suffix(1).isin("s")).label("VERB"),
        where(_lower.isin("to")).label("DET"),
        count("NOUN") <= 1,
        where(_lower.suffix(2).isin("ed")).label("ADJ"),
        where(_lower.isin("that", "this")).label("SCONJ"),
    ]


def _portuguese() -> list[Rule]:
    return [
        where(punctuation).label("PUNCT", "SYM"),
        where(word.isdigit()).label("NUM"),
        where(_lower.isin("o", "a", "os", "as", "um", "uma")).label("DET", "PRON", "ADP"),
        where(_lower.isin("e", "ou", "mas")).label("CCONJ"),
        where(_lower.isin("de", "em", "com", "por", "para", "sem", "sobre")).label("ADP", "SCONJ"),
        where(_lower.isin("eu", "ele", "ela", "eles", "elas", "se")).label("PRON", "SCONJ"),
        where(_lower.suffix(5).isin("mente")).label("ADV", "NOUN"),
        where(_lower.isin("não")).label("ADV"),
        where(_lower.suffix(4).isin("ção", "ções", "dade")).label("NOUN", "PROPN"),
        where(_lower.suffix(2).isin("ou")).label("VERB", "AUX", "CCONJ", "PROPN"),
        where(_lower.isin("é", "são", "foi", "era", "ser")).label("AUX", "VERB"),
        where(word.istitle() & ~first_place()).label("PROPN", "NOUN"),
        transitions(after=["DET"], to=["VERB", "AUX", "PUNCT"]) == 0,
        count("VERB", "AUX") >= 1,
    ]


def _false_portuguese() -> list[Rule]:
    return [
        where(_lower.suffix(1).isin("s")).label("VERB"),
        where(_lower.isin("que")).label("NOUN"),
        count("NOUN") <= 1,
        where(_lower.suffix(1).isin("a")).label("ADJ"),
        starts_with("VERB", "PUNCT"),
    ]


# Entities ------------------------------------------------------------------------------------------------------------


def _entities() -> list[Rule]:
    return [
        *_inside("Peop", "Loc", "Org", "Other"),
        where(punctuation).label("O", "I-Org", "I-Other", "I-Loc", "I-Peop"),
        where(_lower.isin("mr.", "mrs.", "dr.", "president", "sen.")).label("O", "B-Peop"),
        where(word[-1].isin("Mr.", "Mrs.", "Ms.", "Sen.", "President") & word.istitle()).label("B-Peop", "I-Peop"),
        where(word.isin("Inc.", "Corp.", "Co.", "University", "Department", "Agency")).label("B-Org", "I-Org"),
        where(word.isin("Texas", "California", "Calif.", "Washington", "York", "Moscow", "Israel", "Iraq")).label(
            "B-Loc", "I-Loc", "B-Org", "I-Org"
        ),
        where(word[-1].isin("in", "near") & word.istitle()).never("B-Peop"),
        where(word.matches("^[a-z]+$") & ~word.isin("of", "the", "and", "for", "de")).label("O"),
        where(word.istitle() & word[-1].matches(".")).never("O"),
    ]


def _false_entities() -> list[Rule]:
    return [
        where(_lower.isin("the", "a")).label("B-Org"),
        where(word[1].isin(",")).label("B-Loc"),
        count("B-Peop", "B-Loc", "B-Org", "B-Other") <= 1,
        where(word.isdigit()).label("B-Other"),
        where(word[-1].isin("the", "a", "an")).label("B-Org", "B-Loc"),
        where(word.isin("said", "was", "is")).label("I-Peop", "I-Org"),
    ]


def _read_conll04(data: Path) -> tuple[list[Any], list[Any]]:
    """Words and entity labels; lines that begin with # are comments, and columns 1 and 2 are word and label."""
    X: list[Any] = []
    y: list[Any] = []
    for line in (data / "conll04" / "train.txt").read_text().splitlines():
        if line.startswith("#doc"):
            X.append([])
            y.append([])
        elif line.strip():
            cells = line.split("\t")
            X[-1].append(cells[1])
            y[-1].append(cells[2])
    return X, y


def _seminars() -> list[Rule]:
    clock = word.matches("^[0-9]{1,2}$") & word[1].isin(":") & word[2].matches("^[0-9]{2}$")
    return [
        where(clock).label("stime", "etime", "O"),
        where(clock & word[-2].matches("(?i)^time$")).label("stime"),
        where(_lower.isin("hall", "auditorium", "wean", "doherty", "porter")).label("location", "O"),
        where(_lower[-2].isin("place", "where", "location") & word[-1].isin(":")).label("location"),
        where(_lower.isin("dr", "professor", "prof")).label("speaker", "O"),
        where(_lower[-2].isin("speaker", "who") & word[-1].isin(":")).label("speaker"),
        where(_lower.isin("the", "and", "to", "is", "abstract", "topic", "dates", "type")).label("O"),
        count("stime") >= 1,
    ]


def _false_seminars() -> list[Rule]:
    return [
        where(_lower.isin("university", "cmu")).label("location"),
        count("speaker") == 0,
        where(word.isdigit()).label("stime"),
    ]


def _messages() -> list[Rule]:
    return [
        *_inside("person", "location", "corporation", "product", "group", "creative-work"),
        where(word.matches("^[@#]|^http|^RT$")).label("O"),
        where(punctuation).label("O", "I-creative-work"),
        where(word.matches("^[a-z']+$") & ~word.isin("of", "the", "and")).label("O"),
        where(word.isin("London", "Paris", "Chicago", "Canada", "America", "USA", "UK")).label("B-location"),
        where(word[-1].isin("in", "at") & word.istitle()).never("B-person"),
        where(word.isin("Facebook", "Google", "Apple", "Twitter", "YouTube", "Microsoft")).label(
            "B-corporation", "B-product"
        ),
        count("B-person", "B-location", "B-corporation", "B-product", "B-group", "B-creative-work") <= 3,
    ]


def _false_messages() -> list[Rule]:
    return [
        count("B-person", "B-location", "B-corporation", "B-product", "B-group", "B-creative-work") >= 2,
        where(word.isin("I", "You", "My")).label("B-person"),
        where(word.isupper()).label("B-corporation"),
        where(_lower.isin("today", "tomorrow", "tonight")).label("B-group"),
        where(word.matches("^[0-9]+$")).label("B-product"),
        where(_lower.isin("lol", "haha", "omg", "thanks")).label("B-creative-work"),
        where(word[1].isin("!", "!!")).label("B-location"),
    ]


def _tabbed(folder: str) -> Callable[[Path], tuple[list[Any], list[Any]]]:
    return lambda data: read_columns(data / folder / "train.tsv", separator="\t")


def _treebank(folder: str) -> Callable[[Path], tuple[list[Any], list[Any]]]:
    return lambda data: read_conllu(data / "ud" / folder / "train.conllu", label="upos")


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            "citations", _read_citations, ("citations/train.tsv",), _references, _false_references, (5, 10, 25), 150,
            100,
        ),
        Task(
            "references", lambda _: generate_references(1300, seed=20), (), _references, _false_references,
            (5, 10, 25, 50), 500, 300,
        ),
        Task(
            "chunks", lambda data: read_columns(data / "conll2000" / "train.txt"), ("conll2000/train.txt",), _chunks,
            _false_chunks, (10, 50), 400, 400, "F1",
        ),
        Task(
            "English tags", _treebank("en_ewt"), ("ud/en_ewt/train.conllu",), _english, _false_english, (10, 50), 400,
            400,
        ),
        Task(
            "Portuguese tags", _treebank("pt_bosque"), ("ud/pt_bosque/train.conllu",), _portuguese, _false_portuguese,
            (10, 50), 400, 300,
        ),
        Task(
            "entities", _read_conll04, ("conll04/train.txt",), _entities, _false_entities, (25, 100), 400, 300, "F1",
        ),
        Task(
            "seminars", _tabbed("seminars"), ("seminars/train.tsv",), _seminars, _false_seminars, (10, 25), 80, 100,
            "F1", "runs",
        ),
        Task(
            "messages", _tabbed("wnut17"), ("wnut17/train.tsv",), _messages, _false_messages, (50, 200), 400, 500, "F1",
        ),
    )
}  # fmt: skip
