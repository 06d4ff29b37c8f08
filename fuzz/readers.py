"""Altered and random files for every reader.

A case takes a small file of some format, alters its bytes in a few places, or writes one from pieces that mean
something to some reader, and reads it. What was read is written and read again, which must give the same.
"""

import io
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from sidelight.data.bitext import read_bitext, read_links
from sidelight.data.formats import FORMATS, guess_format
from sidelight.data.pairs import PairFile, read_pairs, write_pairs
from sidelight.data.text import tokenize
from sidelight.data.trees import Treebank, read_trees, write_trees
from sidelight.errors import SidelightError
from sidelight.features.columns import parse
from sidelight.features.word_similarity import read_vectors
from sidelight.rules.files import read_rules

_COLUMNS = "Ann B\nsaw O|B\n\n# note\nthe ? \nend O\n"
_CONLLU = (
    "# text = a b\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\ta\tX\t_\tNumber=Sing|Case=Nom\t2\tdet\t_\t_\n"
    "2\tb\tb\tY\t_\t_\t0\troot\t_\tp=0.5\n2.1\tc\t_\t_\t_\t_\t_\t_\t_\t_\n\n1\tc\tc\t_\t_\t_\t_\t_\t_\t_\n\n"
)
_LINES = (
    '{"tokens": ["a", "b"], "labels": ["X", null]}\n{"tokens": ["c"], "labels": "GOOD"}\n'
    '{"tokens": ["d"], "labels": [["X", "Y"]], "id": 3}\n'
)
_DICTS = '{"tokens": [{"w": "a", "n": 1.5}, {"w": "b", "x": true}], "labels": ["X", "Y"]}\n'
_PAIRS = (
    '{"source": ["a", "b"], "target": "xyz", "links": [[0, 0], [1, 2]]}\n'
    '{"source": "ab", "target": "c", "good": true}\n{"source": ["a"], "target": ["b"], "partial": [[0, 0]]}\n'
)
_RULES = "[[rule]]\nrule = '''count('A') >= 1'''\nread = 'soft'\npenalty = 2.0\n\n[[rule]]\nrule = \"once_each()\"\n"
_VECTORS = "2 3\na 1.0 2 3\nb 0 -1e3 .5\n"
_SAMPLES = {
    "columns": _COLUMNS,
    "tsv": _COLUMNS.replace(" ", "\t"),
    "conllu": _CONLLU,
    "jsonl": _LINES,
    "dicts": _DICTS,
    "text": "A sentence, with 3.14 marks. ('quoted')\n\nmore-or-less text\n",
    "bitext": "a b c\nd\n\ne f\n",
    "links": "0-0 1?1 2p0\n0-0\n\n1-1\n",
    "naacl": "1 1 1 S\n2 1 1 P 0.5\n4 2 2\n",
    "pairs": _PAIRS,
    "trees": _CONLLU,
    "rules": _RULES,
    "vectors": _VECTORS,
    "templates": "word[-1].lower() & pos",
    "guessed": _COLUMNS,
}
# Pieces that mean something to some reader.
_PIECES = (
    "\n", "\n\n", "\r\n", "\r", " ", "\t", "\t\t", "\f", "\v", "\x00", "\x1c", "\x85", "\u2028", "\u00a0", "\ufeff",
    "#", "?", "|", "_", "-", "0", "1", "2", "-1", "1-2", "1.1", "3-1", "0-0", "9999999999999999999999", "1e999", "nan",
    "NaN", "-0", "0x10", "1_000", "²", "٣", "null", "true", '"', "'", "'''", "\\", "\\u0000", "\\ud800",
    "{", "}", "[", "]", ":", ",", "{}", "[]", '""', '"tokens"', '"labels"', '"links"', '"source"', '"target"', '"good"',
    "GOOD", "BAD", "Infinity", "S", "P", "rule", "[[rule]]", "=", "word", "count('A')", "(" * 200, "[" * 5000,
    '{"a":' * 2000, "é", "😀",
    "Number=Sing", "=", "a" * 3000,
)  # fmt: skip
_BYTES = (b"\xff", b"\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf5", b"\x80", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf")
Pair = tuple[list[Any], list[Any]]


def setup(folder: Path) -> None:
    """Nothing is needed."""


def case(folder: Path, random: Random) -> str:
    """Writes a file and reads it."""
    kind = random.choice(sorted(_SAMPLES))
    _read(kind, content(kind, random), random, folder)
    return "read"


def content(kind: str, random: Random) -> bytes:
    """Returns the bytes of a file: those of a sample of some format, altered, or pieces in any order."""
    if random.random() < 0.2:
        return b"".join(_piece(random) for _ in range(random.randrange(12)))
    sample = _SAMPLES[kind if random.random() < 0.95 else random.choice(sorted(_SAMPLES))].encode()
    for _ in range(random.randrange(1, 5)):
        first = random.randrange(len(sample) + 1)
        last = min(first + random.choice((0, 0, 1, 1, 2, 5, 30)), len(sample))
        sample = sample[:first] + (b"" if random.random() < 0.3 else _piece(random)) + sample[last:]
    return sample * random.choice((1, 1, 1, 2, 20))


def _piece(random: Random) -> bytes:
    if random.random() < 0.08:
        return random.choice(_BYTES)
    if random.random() < 0.1:
        return bytes([random.randrange(256)])
    return random.choice(_PIECES).encode()


def _read(kind: str, content: bytes, random: Random, folder: Path) -> None:
    """Reads a file as a format, with options drawn at random."""
    if kind in ("columns", "tsv", "conllu", "jsonl", "dicts", "text"):
        _format("jsonl" if kind == "dicts" else kind, content, random)
    else:
        _OTHERS[kind](content, random, folder)


def _format(name: str, content: bytes, random: Random) -> None:
    format, options = FORMATS[name], dict[str, Any]()
    if name in ("columns", "tsv"):
        options = {
            "label": random.choice((-1, -1, -1, 0, 1, 5, -7, None)),
            "partial": random.random() < 0.3,
            "comment": random.choice((None, None, "#", "")),
        }
    if name == "columns" and random.random() < 0.3:
        options["separator"] = random.choice((" ", ",", "ab", "\t"))
    if name == "conllu":
        columns = ("form", "form,upos", "feats:Number", "misc:p", "head", "nothing", "form:x", "")
        options = {"columns": random.choice(columns).split(","), "label": random.choice(("upos", "feats:Case", None))}
    X, y = format.read(io.BytesIO(content), **options)
    _again(format.write, lambda source: format.read(source, **_written(name, options)), X, y)


def _written(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that a file is read with that was written."""
    if name not in ("columns", "tsv"):
        return options
    return {"label": None if options["label"] is None else -1, "partial": options["partial"]}


def _again(write: Callable[..., None], read: Callable[[Any], Pair], X: list[Any], y: list[Any]) -> None:
    """Writes and reads once more; an error of the package says what cannot be written."""
    target = io.StringIO()
    try:
        write(target, X, y)
        found = read(io.StringIO(target.getvalue()))
    except SidelightError:
        return
    if len(found[0]) != len(X):
        raise AssertionError(f"{len(X)} inputs became {len(found[0])} by writing and reading them")


def _bitext(content: bytes, random: Random, folder: Path) -> None:
    cut = random.randrange(len(content) + 1)
    parts = (content, content) if random.random() < 0.5 else (content[:cut], content[cut:])
    read_bitext(*map(io.BytesIO, parts))


def _links(content: bytes, random: Random, folder: Path) -> None:
    pairs = [(["a"] * random.randrange(4), ["b"] * random.randrange(4)) for _ in range(random.randrange(6))]
    read_links(io.BytesIO(content), pairs, random.choice((None, "pharaoh", "naacl")))


def _pairs(content: bytes, random: Random, folder: Path) -> None:
    if random.random() < 0.3:
        found = PairFile.read(io.BytesIO(content), answers=random.random() < 0.5)
        found.write(io.StringIO(), [[]] * len(found.X))
        return
    _again(write_pairs, read_pairs, *read_pairs(io.BytesIO(content)))


def _trees(content: bytes, random: Random, folder: Path) -> None:
    labelled = random.random() < 0.5
    if random.random() < 0.3:
        bank = Treebank.read(io.BytesIO(content), labelled=labelled, heads=random.random() < 0.5)
        bank.write(io.StringIO(), bank.y, labelled=labelled)
        return
    _again(write_trees, read_trees, *read_trees(io.BytesIO(content), labelled=labelled))


def _on_disk(read: Callable[[str], Any], name: str) -> Callable[[bytes, Random, Path], None]:
    """A reader of files alone."""

    def run(content: bytes, random: Random, folder: Path) -> None:
        path = folder / name
        path.write_bytes(content)
        read(str(path))

    return run


def _text(read: Callable[[str], Any]) -> Callable[[bytes, Random, Path], None]:
    """A reader of a text."""

    def run(content: bytes, random: Random, folder: Path) -> None:
        text = content.decode(errors="replace")
        read(text)
        tokenize(text)

    return run


def _guessed(path: str) -> None:
    FORMATS[guess_format(path)].read(path)


_OTHERS: dict[str, Callable[[bytes, Random, Path], None]] = {
    "bitext": _bitext,
    "links": _links,
    "naacl": _links,
    "pairs": _pairs,
    "trees": _trees,
    "rules": _on_disk(read_rules, "rules.toml"),
    "vectors": _on_disk(read_vectors, "vectors.txt"),
    "templates": _text(parse),
    "guessed": _on_disk(_guessed, "guessed.txt"),
}
