"""Sentence pairs with parts of speech, lemmas and dependencies, which sidelight itself works out.

A tagger, a parser and a labeller of arcs are learned from the trees of UD English. What they say of the pairs is kept
in a temporary folder, since to learn them takes some minutes.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from sidelight import Parsing, StructuredPerceptron, read_conllu

from .datasets import treebank_file

# Sentences that the parser learns from, and how often it goes through them.
_PARSED, _EPOCHS = 5000, 5
_TOKEN = re.compile(
    r"n't\b|'(?:s|re|ve|ll|d|m)\b|\d+(?:[.,:]\d+)*|\w+?(?=n't\b)|\w+(?:[-.&]\w+)*|\.\.\.|--|[^\w\s]", re.IGNORECASE
)
_COLUMNS = ("form", "upos", "lemma", "head", "deprel")


@dataclass(frozen=True)
class Parsed:
    """A sentence: words, tags, lemmas, the number of each word's head (0 for the root), and the labels of arcs."""

    words: list[str]
    tags: list[str]
    lemmas: list[str]
    heads: list[int]
    labels: list[str]


Pairs = list[tuple[Parsed, Parsed]]


def tokens(text: str) -> list[str]:
    """The words, numbers and marks of a text."""
    return _TOKEN.findall(text.replace("``", '"').replace("''", '"').replace("’", "'"))


def read_paraphrases(path: Path) -> tuple[list[tuple[str, str]], list[bool]]:
    """Pairs of sentences, and whether they mean the same."""
    rows = [line.split("\t") for line in path.read_text("utf-8-sig").splitlines()[1:]]
    return [(row[3], row[4]) for row in rows], [row[0] == "1" for row in rows]


def read_entailments(path: Path) -> tuple[list[tuple[str, str]], list[bool]]:
    """Pairs of a text and a hypothesis, and whether the text entails it; RTE 1 and 2 write the answer otherwise."""
    pairs, answers = [], []
    for pair in ElementTree.parse(path).iter("pair"):
        pairs.append((pair.findtext("t", ""), pair.findtext("h", "")))
        answers.append((pair.get("entailment") or pair.get("value") or "").upper() in ("YES", "TRUE"))
    return pairs, answers


def parsed(pairs: Sequence[tuple[str, str]], data: Path) -> Pairs:
    """The sentences of pairs, parsed; kept in a temporary folder, from which a second call reads them."""
    texts = [text for pair in pairs for text in pair]
    key = sha256(json.dumps([texts, _PARSED, _EPOCHS, _TOKEN.pattern]).encode()).hexdigest()[:16]
    file = Path(tempfile.gettempdir()) / "sidelight-benchmarks" / f"parsed-{key}.json"
    if not file.exists():
        found = [asdict(one) for one in _parse([tokens(text) for text in texts], data)]
        file.parent.mkdir(exist_ok=True)
        part = file.with_suffix(".part")
        part.write_text(json.dumps(found))
        part.replace(file)
    sentences = [Parsed(**one) for one in json.loads(file.read_text())]
    return list(zip(sentences[::2], sentences[1::2], strict=True))


def _parse(sentences: list[list[str]], data: Path) -> list[Parsed]:
    """Learn from the treebank, and parse."""
    trees, _ = read_conllu(treebank_file(data), columns=_COLUMNS)
    words = [[token[0] for token in tree] for tree in trees]
    tagger = StructuredPerceptron(random_state=0).fit(words, [[token[1] for token in tree] for tree in trees])
    tags = tagger.predict(sentences)
    few = trees[:_PARSED]
    parser = StructuredPerceptron(task=Parsing(), epochs=_EPOCHS, random_state=0)
    parser.fit([[token[:2] for token in tree] for tree in few], [[int(token[3]) for token in tree] for tree in few])
    heads = parser.predict([list(zip(*both, strict=True)) for both in zip(sentences, tags, strict=True)])
    labeller = StructuredPerceptron(random_state=0)
    labeller.fit(
        [_beside_heads([t[0] for t in tree], [t[1] for t in tree], [int(t[3]) for t in tree]) for tree in trees],
        [[token[4].split(":")[0] for token in tree] for tree in trees],
    )
    labels = labeller.predict([_beside_heads(*one) for one in zip(sentences, tags, heads, strict=True)])
    known = Counter((token[0].lower(), token[1], token[2].lower()) for tree in trees for token in tree)
    lemmas: dict[tuple[str, str], str] = {}
    for (word, tag, lemma), _ in known.most_common():
        lemmas.setdefault((word, tag), lemma)
    return [
        Parsed(own, tag, [lemmas.get((w.lower(), t), w.lower()) for w, t in zip(own, tag, strict=True)], head, label)
        for own, tag, head, label in zip(sentences, tags, heads, labels, strict=True)
    ]


def _beside_heads(words: Sequence[str], tags: Sequence[str], heads: Sequence[int]) -> list[tuple[str, ...]]:
    """Each word with its tag, and those of its head and on which side that is."""
    out: list[tuple[str, ...]] = []
    for t, (word, tag, head) in enumerate(zip(words, tags, heads, strict=True)):
        other: Any = (words[head - 1], tags[head - 1]) if head else ("", "ROOT")
        side = "root" if not head else "left" if head <= t else "right"
        out.append((word, tag, *other, side))
    return out
