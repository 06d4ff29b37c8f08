"""A small folder of made-up data in the formats that benchmarks read: enough for every benchmark in a small run."""

import random
from itertools import cycle, pairwise
from pathlib import Path

import numpy as np

from benchmarks.phonetic import names

Word = tuple[str, str, str, int, str]  # form, universal tag, Penn tag, head, label of the arc

DETERMINERS, ADJECTIVES = ("the", "a", "this"), ("old", "small", "red", "new")
NOUNS = ("dog", "house", "report", "garden", "plan", "walk")
VERBS = ("sees", "sells", "likes", "walk", "plan")
FRENCH = {
    "the": "le", "a": "un", "this": "ce", "old": "vieux", "small": "petit", "red": "rouge", "new": "nouveau",
    "dog": "chien", "house": "maison", "report": "rapport", "garden": "jardin", "plan": "projet", "walk": "marche",
    "sees": "voit", "sells": "vend", "likes": "aime", ".": ".",
}  # fmt: skip


# Words that tell a field of a reference; the first of a label.
WORDS = {
    "booktitle": ("Proc", "conference"), "journal": ("Journal", "Transactions"), "editor": ("ed", "editors"),
    "volume": ("vol", "17"), "institution": ("University", "Institute"), "location": ("CA", "Oslo"),
    "publisher": ("Press", "Springer"), "note": ("submitted", "note"), "tech": ("technical", "thesis", "tech"),
    "title": ('"', "``"), "date": ("March", "2003"), "pages": ("pp.", "3-9"),
}  # fmt: skip
# Labels that the rules of tasks name and the sentences above do not have, each with a word.
TAGS = {
    "NUM": "7", "CCONJ": "and", "PRON": "he", "ADP": "of", "AUX": "can", "ADV": "slowly", "PROPN": "Ada", "PART": "not",
    "SCONJ": "that", "SYM": "%", "INTJ": "oh", "X": "etc",
}  # fmt: skip
CHUNKS = ("I-VP", "B-PP", "B-SBAR", "B-ADJP")
SEMINARS = ("stime", "etime", "location")
KINDS = ("person", "location", "corporation", "product", "group", "creative-work")


def make(folder: Path) -> Path:
    """Write all files and return the folder."""
    rng = random.Random(0)
    trees = [sentence(rng) for _ in range(60)]
    trees.append([(w, tag, tag, min(k, 1), "dep" if k else "root") for k, (tag, w) in enumerate(TAGS.items())])
    _treebanks(folder, trees)
    _citations(folder, rng)
    _chunks(folder, trees)
    _hansards(folder, rng)
    _entities(folder, rng)
    _pairs(folder, trees)
    for name, label, more in (
        ("seminars", "speaker", SEMINARS),
        ("wnut17", "B-person", [f"{mark}-{kind}" for kind in KINDS for mark in "BI"]),
    ):
        sequences = [[(w, label if tag == "NOUN" else "O") for w, tag, *_ in tree] for tree in trees]
        _labelled(folder / name / "train.tsv", [*sequences, [(one, one) for one in more]])
    _reviews(folder, rng)
    _letters(folder)
    return folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def sentence(rng: random.Random) -> list[Word]:
    """A subject, a verb and sometimes an object, with their tags and heads."""
    subject, words = _phrase(rng, 1, "nsubj"), list[Word]()
    verb = len(subject) + 1
    complement = _phrase(rng, verb + 1, "obj") if rng.random() < 0.6 else []
    for part in (subject, complement):
        words += [(w, tag, penn, verb if head < 0 else head, label) for w, tag, penn, head, label in part]
        if part is subject:
            words.append((rng.choice(VERBS), "VERB", "VBZ", 0, "root"))
    return [*words, (".", "PUNCT", ".", verb, "punct")]


def _phrase(rng: random.Random, first: int, label: str) -> list[Word]:
    """A noun phrase whose first word has this number; -1 is the head of its noun."""
    more = rng.random() < 0.5
    noun = first + 1 + more
    words: list[Word] = [(rng.choice(DETERMINERS), "DET", "DT", noun, "det")]
    if more:
        words.append((rng.choice(ADJECTIVES), "ADJ", "JJ", noun, "amod"))
    return [*words, (rng.choice(NOUNS), "NOUN", "NN", -1, label)]


def _treebanks(folder: Path, trees: list[list[Word]]) -> None:
    def written(words: dict[str, str]) -> str:
        return "".join(
            "".join(
                f"{i}\t{words.get(w, w)}\t{w}\t{tag}\t{penn}\t_\t{head}\t{label}\t_\t_\n"
                for i, (w, tag, penn, head, label) in enumerate(tree, start=1)
            )
            + "\n"
            for tree in trees
        )

    for name, words in (("en_ewt", {}), ("pt_bosque", {}), ("fr_sequoia", FRENCH)):
        for part in ("train", "dev"):
            _write(folder / "ud" / name / f"{part}.conllu", written(words))


def _citations(folder: Path, rng: random.Random) -> None:
    words = cycle((word, field) for field, some in WORDS.items() for word in some)

    def reference() -> list[tuple[str, str]]:
        title = rng.choice(("rules", "trees", "words"))
        out = [
            ("A.", "author"),
            (rng.choice(("Moore", "Lee")), "author"),
            (".", "author"),
            (title, "title"),
            (".", "title"),
        ]
        for _ in range(3):
            word, field = next(words)
            out += [(word, field), (",", field)]
        return [*out, (rng.choice(("1999", "2001")), "date"), (".", "date")]

    _labelled(folder / "citations" / "train.tsv", [reference() for _ in range(24)])
    _labelled(folder / "citations" / "dev.tsv", [reference() for _ in range(9)])
    texts = ("\n".join(token for token, _ in reference()) for _ in range(9))
    _write(folder / "citations" / "unlabeled.txt", "\n\n".join(texts) + "\n")


def _labelled(path: Path, sequences: list[list[tuple[str, str]]]) -> None:
    _write(path, "\n".join("".join(f"{token}\t{label}\n" for token, label in one) for one in sequences))


def _chunks(folder: Path, trees: list[list[Word]]) -> None:
    chunks = {"DET": "B-NP", "ADJ": "I-NP", "NOUN": "I-NP", "VERB": "B-VP", "PUNCT": "O"}
    text = "\n".join("".join(f"{w} {penn} {chunks.get(tag, 'O')}\n" for w, tag, penn, *_ in tree) for tree in trees)
    text += "\n" + "".join(f"{label} IN {label}\n" for label in CHUNKS)
    _write(folder / "conll2000" / "train.txt", text + "\n")


def _hansards(folder: Path, rng: random.Random) -> None:
    for part, count in (("train", 40), ("dev", 12)):
        texts = [[w for w, *_ in sentence(rng)] for _ in range(count)]
        _write(folder / "hansards" / f"{part}.e", "".join(" ".join(x) + "\n" for x in texts))
        _write(folder / "hansards" / f"{part}.f", "".join(" ".join(FRENCH[w] for w in x) + "\n" for x in texts))
        links = (f"{k} {i} {i} S\n" for k, x in enumerate(texts, start=1) for i in range(1, len(x) + 1))
        _write(folder / "hansards" / f"{part}.wa", "".join(links))


def _entities(folder: Path, rng: random.Random) -> None:
    def document(number: int) -> str:
        person, place = rng.choice(("Ada", "Kay", "Bob")), rng.choice(("Paris", "Oslo"))
        rows = [(person, "B-Peop", "['Live_In']", "[3]"), ("lives", "O", "['N']", "[1]"), ("in", "O", "['N']", "[2]"),
                (place, "B-Loc", "['N']", "[3]"), (".", "O", "['N']", "[4]")]  # fmt: skip
        if number % 2:
            rows[0] = (person, "B-Peop", "['N']", "[0]")
            rows[1] = ("left", "O", "['N']", "[1]")
        return f"#doc {number}\n" + "".join(f"{i}\t" + "\t".join(row) + "\n" for i, row in enumerate(rows))

    kinds = ("B-Org", "I-Org", "B-Other", "I-Other", "B-Peop", "I-Peop", "B-Loc", "I-Loc")
    last = "#doc 99\n" + "".join(f"{i}\tword\t{kind}\t['N']\t[{i}]\n" for i, kind in enumerate(kinds))
    for part, count in (("train", 8), ("dev", 3)):
        _write(folder / "conll04" / f"{part}.txt", "\n".join([*map(document, range(count)), last]))


def _pairs(folder: Path, trees: list[list[Word]]) -> None:
    """Names in two scripts, paraphrases and entailments."""
    hebrew = {c: chr(ord("א") + k % 22) for k, c in enumerate("abcdefghijklmnopqrstuvwxyz")}
    for part, seed in (("train", 1), ("dev", 2)):
        rows = [f"{one.name}\t{' '.join(hebrew[c] for c in one.name)}\t1" for one in names(12, seed)]
        _write(folder / "translit" / "en_he" / f"{part}.tsv", "\n".join(rows) + "\n")
    texts = [" ".join(w for w, *_ in tree) for tree in trees[:13]]
    pairs = [(one, one if k % 2 else other, k % 2) for k, (one, other) in enumerate(pairwise(texts))]
    rows = [f"{same}\t1\t2\t{one}\t{other}" for one, other, same in pairs]
    _write(folder / "msrp" / "train.tsv", "\n".join(["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", *rows]) + "\n")
    found = (
        f'<pair id="{k}" entailment="{"YES" if same else "NO"}"><t>{one}</t><h>{other}</h></pair>'
        for k, (one, other, same) in enumerate(pairs)
    )
    _write(folder / "rte" / "rte3_dev.xml", f"<entailment-corpus>{''.join(found)}</entailment-corpus>")


def _reviews(folder: Path, rng: random.Random) -> None:
    common, signs = (
        ("plot", "film", "book", "story", "it", "was"),
        {"positive": ("good", "fine"), "negative": ("bad", "dull")},
    )
    for kind in ("books", "dvd"):
        for sign, words in signs.items():
            texts = (" ".join([*rng.sample(common, 3), *words, kind]) for _ in range(8))
            text = "".join(f"<review>{one}</review>\n" for one in texts)
            _write(folder / "reviews" / kind / f"{sign}.parsed", f"<reviews>{text}</reviews>")


def _letters(folder: Path) -> None:
    """Words of two letters in three folds; each letter has an image of its own."""
    labels = np.array([0, 1, 1, 2, 2, 0] * 2, np.int8)
    images = np.random.default_rng(0).integers(0, 256, (3, 16), dtype=np.uint8)
    (folder / "letters").mkdir(parents=True)
    lengths, folds = np.full(6, 2), np.array([0, 0, 1, 1, 2, 2])
    np.savez(folder / "letters" / "train.npz", pixels=images[labels], labels=labels, lengths=lengths, folds=folds)
