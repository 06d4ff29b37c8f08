"""Features of dependency arcs: those of the MSTParser (Table 7 of Ganchev et al. 2010), and some more of their kind.

A feature joins columns of the head and of the child: words, tags, how words begin and end, tags and words beside them,
the last function word before them, and where they stand. All of them are there twice, with the side on which the head
is, and with how far away it is; the tags between head and child are joined with words and tags of both.

`arc_dicts` says them in words, a feature dict for every arc. `ArcEncoder` keeps whole numbers for each word only, and
the features are worked out from these whenever arcs are scored: see `kernels.arcs`. They are places in a table that is
smaller than the number of all features, so that some share a weight.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Ints, Longs
from ..stored import Arrays, ArraySpec, numbered, whole
from .encoded import Encoded, State, require_list
from .parts import described, token_columns

ROOT, END, NONE = "<root>", "<end>", "<none>"
# The columns of a token, as `kernels.arcs` numbers them, and what features call them: word and tag, how the word ends
# and begins, tags and words before and after, the function word before, and places from the left and the right.
_NAMES = ("w", "t", "end", "begin", "t-1", "t+1", "t-2", "t+2", "w-1", "w+1", "f", "left", "right")
# What a feature joins of head and child: names of columns.
ArcTemplate = tuple[str, str]
# The hand-written templates. The first three are also joined with every tag between the two, and are always there.
_TEMPLATES: tuple[ArcTemplate, ...] = (
    ("t", "t"), ("w", "t"), ("t", "w"),
    ("w", ""), ("t", ""), ("w t", ""), ("end t", ""), ("t-1 t t+1", ""),
    ("", "w"), ("", "t"), ("", "w t"), ("", "end t"), ("", "t-1 t t+1"),
    ("w", "w"), ("w t", "t"), ("t", "w t"), ("w t", "w"), ("w", "w t"), ("w t", "w t"),
    ("end t", "t"), ("t", "end t"), ("end t", "end t"), ("w", "end t"), ("end t", "w"),
    ("begin t", "t"), ("t", "begin t"), ("begin t", "begin t"),
    ("t t+1", "t"), ("t-1 t", "t"), ("t", "t-1 t"), ("t", "t t+1"),
    ("t t+1", "t-1 t"), ("t-1 t", "t-1 t"), ("t t+1", "t t+1"), ("t-1 t", "t t+1"),
    ("t-1 t t+1", "t"), ("t", "t-1 t t+1"), ("t-1 t t+1", "t-1 t t+1"), ("w t", "t-1 t t+1"), ("t-1 t t+1", "w t"),
    ("t", "t-2 t-1 t"), ("t", "t t+1 t+2"), ("t-2 t-1 t", "t"), ("t t+1 t+2", "t"),
    ("t", "w-1 t"), ("t", "w+1 t"), ("w-1 t", "t"), ("w+1 t", "t"),
    ("t", "f t"), ("f t", "t"), ("f t", "f t"), ("w t", "f t"), ("end t", "f t"), ("t", "f w"), ("w", "f w"),
)  # fmt: skip
# The same for the labels of arcs, and more of them for labels that are chosen after the heads, when only few arcs are
# asked for; the first one is there with the distance, too.
_LABEL_TEMPLATES = (
    ("t", "t"), ("", "w t"), ("w t", ""), ("w", "t"), ("t", "w"), ("w", "w"), ("t", "end t"), ("end t", "t"),
    ("t", "t-1 t t+1"), ("t-1 t t+1", "t"), ("t", "begin t"), ("t", "w-1 t"), ("t", "w+1 t"), ("t", "f t"),
    ("w t", "f t"), ("f t", "t"), ("t", "t left right"),
)  # fmt: skip
_MORE_LABEL_TEMPLATES = (
    ("w-1 t", "t"), ("w+1 t", "t"), ("t t+1", "t-1 t"), ("t-1 t", "t t+1"), ("w t", "w t"), ("t", "w t"),
    ("w t", "t"), ("t", "t-2 t-1 t"), ("t", "t t+1 t+2"), ("f t", "f t"), ("end t", "end t"), ("w", "end t"),
    ("f t", "w"), ("", "w-1 w"), ("", "w w+1"), ("w", "w-1 t"), ("w", "w+1 t"), ("", "w left right"),
    ("t-1 t", "t-1 t"), ("t t+1", "t t+1"), ("w-1 t", "w"), ("t", "f w"), ("end t", "f t"),
)  # fmt: skip
# Universal tags of function words, and those at which one looks no further for such a word. Other tags are passed over.
_FUNCTION, _STOP = ("ADP", "SCONJ", "CCONJ", "PART", "PUNCT"), ("VERB", "AUX", "PRON")
# A word that is seen less often is known by how it ends, so that something is learned about words that were never seen.
_RARE = 2
# Logarithms of the sizes of tables, and about how many features stand for one place. See `ArcEncoder.describe`.
_BITS, _MOST_BITS, _PER_PLACE = 12, 22, 16
_NAMED, _NAMED_ARCS = 5000, 20_000
# What a model file keeps of the layout of features.
STORED = {
    "bits": ArraySpec(np.int64, (1,), least=_BITS, most=_MOST_BITS),
    "joint": ArraySpec(np.bool_, (1,)),
    "templates": ArraySpec(np.int32, (2, "templates", "columns"), least=-1, below=len(_NAMES)),
}

# Words and tags of a sentence.
Columns = tuple[list[str], list[str]]

# What `arc_table` tells of arcs by default: what there is of both ends but for their places, the side on which the
# head is, with the distance, and which tags are between the two.
_BESIDE = _NAMES[: _NAMES.index("left")]
BASIC_ARCS = (*(f"h{name}" for name in _BESIDE), *(f"c{name}" for name in _BESIDE), "way", "between")
_OF_ARCS = ("side", "way", "between")


def arc_ends(n: int) -> tuple[Longs, Longs]:
    """Child (from 0) and head (0 for the root) of every arc of a sentence, in the structure's order."""
    child = np.repeat(np.arange(n), n)
    place = np.tile(np.arange(n), n)
    return child, place + (place > child)


def read_templates(given: Sequence[str] | None) -> tuple[ArcTemplate, ...]:
    """Returns what features join, from texts such as "hw ct ct+1"; those that tags between are joined with come first.

    None is the hand-written ones.
    """
    if given is None:
        return _TEMPLATES
    if isinstance(given, str):
        raise DataError(f"features are a list of templates, got only {given!r}; put it into a list")
    return tuple(dict.fromkeys((*_TEMPLATES[:3], *map(_read_template, given))))


def _read_template(text: str) -> ArcTemplate:
    ends: dict[str, list[str]] = {"h": [], "c": []}
    for name in text.split() if isinstance(text, str) else ():
        if name[0] not in ends or name[1:] not in _NAMES:
            break
        ends[name[0]].append(name[1:])
    else:
        if any(ends.values()):
            head, child = (" ".join(sorted(set(names), key=_NAMES.index)) for names in ends.values())
            return head, child
    raise DataError(
        f"cannot read the template {text!r} of arcs: it joins columns of the head and of the child, such as hw ct; "
        f"after h or c there are {', '.join(_NAMES)}"
    )


def template_of(names: Sequence[str]) -> str | None:
    """Returns the text of the template that joins these features of `arc_table`; None if it is of no end.

    Sides, distances and tags between are left out, since templates have them anyway.
    """
    ends = [sorted((n[1:] for n in names if n not in _OF_ARCS and n[0] == end), key=_NAMES.index) for end in "hc"]
    text = " ".join(f"{end}{name}" for end, some in zip("hc", ends, strict=True) for name in some)
    return text or None


@cache
def layout(templates: tuple[ArcTemplate, ...] = _TEMPLATES, *, joint: bool) -> tuple[Ints, Ints]:
    """Returns the columns of head and child of every feature of arcs, and of labels: (2, features, n), -1 for none."""
    found = []
    for some in (templates, label_templates(joint)):
        widest = max(len(names.split()) for template in some for names in template)
        table = np.full((2, len(some), widest), -1, np.int32)
        for k, template in enumerate(some):
            for end, names in enumerate(template):
                for j, name in enumerate(names.split()):
                    table[end, k, j] = _NAMES.index(name)
        found.append(table)
    return found[0], found[1]


def templates_in(table: Ints) -> tuple[ArcTemplate, ...]:
    """Returns the templates of arcs that have this layout."""
    heads, children = ([" ".join(_NAMES[k] for k in row if k >= 0) for row in end] for end in table.tolist())
    return _require_first(tuple(zip(heads, children, strict=True)))


def _stored_templates(given: Any) -> tuple[ArcTemplate, ...]:
    """Returns the templates that `ArcEncoder.state` wrote."""
    if given is None:
        return _TEMPLATES
    found = []
    for head, child in given:
        if not all(name in _NAMES for name in (*head.split(), *child.split())):
            raise DataError(f"{head!r}, {child!r} is no template of arcs")
        found.append((head, child))
    return _require_first(tuple(found))


def _require_first(templates: tuple[ArcTemplate, ...]) -> tuple[ArcTemplate, ...]:
    """Returns the same; raises `DataError` unless those that tags between are joined with come first."""
    if templates[:3] != _TEMPLATES[:3]:
        raise DataError("the templates of arcs do not begin with those that tags between are joined with")
    return templates


def label_templates(joint: bool) -> tuple[tuple[str, str], ...]:
    """Returns what features of labels join, where labels are chosen together with heads, or after them."""
    return _LABEL_TEMPLATES if joint else (*_LABEL_TEMPLATES, *_MORE_LABEL_TEMPLATES)


@dataclass(frozen=True)
class ArcsEncoded(Encoded):
    """A batch of sentences with a row of whole numbers for every token, the root first.

    offsets: where the arcs of each sentence begin; indptr: where its tokens begin; indices: the rows, flat, of which
    `sequences` shares all; attributes: how many places the table of arcs has; shapes: (sentences, 1) words; tags: how
    many tags there are; sentences: words and tags, for explanations; templates: what features join.
    """

    shapes: Longs
    tags: int
    sentences: list[Columns]
    templates: tuple[ArcTemplate, ...]

    @property
    def columns(self) -> Ints:
        """The rows of all tokens: (tokens, columns)."""
        return self.indices.reshape(-1, len(_NAMES))

    @property
    def tokens(self) -> int:
        """Number of arcs."""
        return int(self.offsets[-1])

    def sequences(self, first: int, last: int) -> "ArcsEncoded":
        """Sentences first to last - 1."""
        offsets = self.offsets[first : last + 1]
        indptr, shapes = self.indptr[first : last + 1], self.shapes[first:last]
        return ArcsEncoded(
            offsets - offsets[0], indptr, self.indices, self.values, self.attributes, shapes, self.tags,
            self.sentences[first:last], self.templates,
        )  # fmt: skip

    def take(self, which: Longs) -> "ArcsEncoded":
        """Some sentences, in this order, with rows of their own."""
        shapes = self.shapes[which]
        tokens = shapes[:, 0] + 1
        indptr, offsets = _edges(tokens), _edges(shapes[:, 0] ** 2)
        rows = np.repeat(self.indptr[which] - indptr[:-1], tokens) + np.arange(indptr[-1])
        return ArcsEncoded(
            offsets, indptr, self.columns[rows].ravel(), self.values, self.attributes, shapes, self.tags,
            [self.sentences[i] for i in which.tolist()], self.templates,
        )  # fmt: skip

    def features(self, index: int, h: int, c: int) -> list[str]:
        """Returns the features of an arc in words, in the order of the kernel; child from 1, head 0 for the root."""
        return [f"{name}={text}" for name, text in self._sentence(index).features(h, c)]

    def label_features(self, index: int, h: int, c: int, *, joint: bool) -> list[str]:
        """Returns the features of an arc's label in words."""
        return [f"{name}={text}" for name, text in self._sentence(index).labelled(h, c, joint)]

    def _sentence(self, index: int) -> "_Sentence":
        return _Sentence(*self.sentences[index], self.templates)


def arc_dicts(words: Sequence[str], tags: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the features of every arc of a sentence as dicts, in the structure's order."""
    sentence = _Sentence(words, tags)
    child, head = arc_ends(len(words))
    return [dict(sentence.features(h, c)) for c, h in zip((child + 1).tolist(), head.tolist(), strict=True)]


class _Sentence:
    """Words and tags as features say them; places count from the root as 0."""

    def __init__(
        self, words: Sequence[str], tags: Sequence[str], templates: Sequence[ArcTemplate] = _TEMPLATES
    ) -> None:
        self.n, self.tags, self.templates = len(words), [ROOT, *tags], templates
        self.rows = [self._row(t, [ROOT, *words]) for t in range(self.n + 1)]
        function = NONE
        for t, row in enumerate(self.rows):
            row["f"] = function
            if t and self.tags[t] in _FUNCTION:
                function = row["w"]
            elif t and self.tags[t] in _STOP:
                function = self.tags[t]

    def _row(self, t: int, words: list[str]) -> dict[str, str]:
        word, end, begin = words[t], _ending(words[t]), _beginning(words[t])
        beside = {f"{kind}{k:+}": self._at(values, t + k) for kind, values in (("t", self.tags), ("w", words))
                  for k in (-2, -1, 1, 2)}  # fmt: skip
        return {"w": word, "t": self.tags[t], "end": end, "begin": begin, **beside,
                "left": str(min(t - 1, 2)), "right": str(min(self.n - t, 2))}  # fmt: skip

    def _at(self, values: list[str], t: int) -> str:
        return values[t] if 0 <= t <= self.n else END if t > 0 else NONE

    def features(self, h: int, c: int) -> Iterator[tuple[str, str]]:
        """Yields name and text of all features of an arc, in the order of the kernel."""
        side, way = way_of(h, c)
        for names in self.templates:
            name, text = self._joined(names, h, c)
            yield name, f"{text} {side}"
            yield f"{name} far", f"{text} {way}"
        count = Counter(self.tags[min(h, c) + 1 : max(h, c)])
        for tag in dict.fromkeys(self._between(h, c)):
            for k in range(min(count[tag], 3)):
                yield f"ht ct between {tag} {k + 1}", f"{self._joined(_TEMPLATES[0], h, c)[1]} {side}"
            for names in _TEMPLATES[1:3]:
                name, text = self._joined(names, h, c)
                yield f"{name} between {tag}", f"{text} {side}"
        if h == 0:
            for tag in dict.fromkeys(self.tags[c + 1 :]):
                if tag not in count:
                    yield f"ct later {tag}", self.tags[c]

    def labelled(self, h: int, c: int, joint: bool) -> Iterator[tuple[str, str]]:
        """Yields name and text of the features of an arc's label, in the order of the kernel."""
        side, way = way_of(h, c)
        for names in label_templates(joint):
            name, text = self._joined(names, h, c)
            yield f"label {name}", f"{text} {side}"
        name, text = self._joined(_LABEL_TEMPLATES[0], h, c)
        yield f"label {name} far", f"{text} {way}"

    def _between(self, h: int, c: int) -> list[str]:
        """Tags between head and child, from the child on."""
        return self.tags[c + 1 : h] if h > c else self.tags[h + 1 : c][::-1]

    def _joined(self, names: ArcTemplate, h: int, c: int) -> tuple[str, str]:
        """Name and text of what a template joins."""
        joined, of_head, of_child = _ends(names)
        head, child = self.rows[h], self.rows[c]
        return joined, " ".join([*map(head.__getitem__, of_head), *map(child.__getitem__, of_child)])


@cache
def _ends(names: ArcTemplate) -> tuple[str, list[str], list[str]]:
    """The name of what a template joins, and what it takes of the head and of the child."""
    of_head, of_child = (some.split() for some in names)
    return " ".join([*(f"h{name}" for name in of_head), *(f"c{name}" for name in of_child)]), of_head, of_child


def way_of(h: int, c: int) -> tuple[str, str]:
    """Returns the side on which the head is, < or > as it is written, and that with the distance."""
    from ..kernels.arcs import DISTANCES

    if not h:
        return "root", "root"
    side = "<" if h > c else ">"
    return side, f"{side}{max(d for d in DISTANCES if d <= abs(h - c))}"


def _ending(word: str) -> str:
    return word[-3:]


def _beginning(word: str) -> str:
    return word[:4].lower()


@dataclass
class ArcEncoder:
    """Turns sentences into rows of whole numbers, from which features of arcs are worked out.

    read: words and tags of a sentence, checked; min_count: words that are seen less often are known by their endings,
    as are those that are seen once; templates: what features join. bits: logarithm of the places of features.
    """

    read: Callable[[Any], Columns]
    min_count: int = 1
    templates: tuple[ArcTemplate, ...] = _TEMPLATES
    words_: set[str] = field(default_factory=set, init=False, repr=False)
    tags_: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    bits_: int = field(default=_BITS, init=False, repr=False)
    names_: dict[int, str] = field(default_factory=dict, init=False, repr=False)

    def fit_transform(self, X: Sequence[Any]) -> ArcsEncoded:
        """Learn words, tags and the size of tables from X and encode it."""
        sentences = self._sentences(X)
        count = Counter(word for words, _ in sentences for word in words)
        self.words_ = {word for word, times in count.items() if times >= max(self.min_count, _RARE)}
        self.tags_ = {tag: k for k, tag in enumerate(dict.fromkeys(t for _, tags in sentences for t in (ROOT, *tags)))}
        features = sum(len(words) ** 2 for words, _ in sentences) * 2 * len(self.templates)
        self.bits_ = min(max((features // _PER_PLACE).bit_length(), _BITS), _MOST_BITS)
        encoded = self._encoded(sentences)
        self.names_ = self._names(encoded)
        return encoded

    def transform(self, X: Sequence[Any]) -> ArcsEncoded:
        """Encode X."""
        return self._encoded(self._sentences(X))

    def _sentences(self, X: Sequence[Any]) -> list[Columns]:
        require_list(X, "sentences")
        return described(self.read, X, "sentence")

    def _encoded(self, sentences: Sequence[Columns]) -> ArcsEncoded:
        from ..kernels import arcs

        flat = [word for words, _ in sentences for word in (ROOT, *words)]
        distinct = {word: k for k, word in enumerate(dict.fromkeys(flat))}
        number = np.fromiter(map(distinct.__getitem__, flat), np.int64, len(flat))
        codes = np.array([self._codes(word) for word in distinct], np.uint32).reshape(-1, 3).view(np.int32)
        tag, unknown = self.tags_.get, len(self.tags_)
        columns = np.empty((len(flat), arcs.COLUMNS), np.int32)
        columns[:, [arcs.WORD, arcs.END, arcs.BEGIN]] = codes[number]
        columns[:, arcs.TAG] = [tag(t, unknown) for _, tags in sentences for t in (ROOT, *tags)]
        sizes = np.array([len(words) for words, _ in sentences], np.int64)
        words, kinds = _edges(sizes + 1), np.zeros(unknown + 1, np.int32)
        kinds[[self.tags_[t] for t in _FUNCTION if t in self.tags_]] = arcs.BY_WORD
        kinds[[self.tags_[t] for t in _STOP if t in self.tags_]] = arcs.BY_TAG
        arcs.fill_context(words, kinds, columns)
        return ArcsEncoded(
            _edges(sizes**2), words, columns.ravel(), np.empty(0), 1 << self.bits_, sizes.reshape(-1, 1), unknown + 1,
            list(sentences), self.templates,
        )  # fmt: skip

    def _codes(self, word: str) -> tuple[int, int, int]:
        """Word, ending and beginning as whole numbers."""
        known = word if word in self.words_ or word == ROOT else f"<unknown> {word[-2:]}"
        return _code("w", known), _code("e", _ending(word)), _code("b", _beginning(word))

    def _names(self, encoded: ArcsEncoded) -> dict[int, str]:
        """The most frequent features of the first sentences by their places, those of labels behind those of arcs."""
        from ..scorers.arcs import ArcScorer
        from ..structures.trees import Trees

        count = int(np.searchsorted(encoded.offsets, _NAMED_ARCS, side="right")) - 1
        some = encoded.sequences(0, max(count, 1))
        scorer = ArcScorer(self.bits_, Trees(1), 2, templates=self.templates)  # of the first of two labels
        pointer, places = scorer.places(some, 2 * np.arange(min(some.tokens, _NAMED_ARCS)))
        found, first, times = np.unique(places, return_index=True, return_counts=True)
        chosen = np.argsort(-times, kind="stable")[:_NAMED]
        parts = np.searchsorted(pointer, first[chosen], side="right") - 1
        home = np.searchsorted(some.offsets, parts, side="right") - 1
        names, here, part, features = dict.fromkeys(found[chosen].tolist(), ""), -1, -1, list[tuple[str, str]]()
        for k in np.argsort(parts, kind="stable").tolist():  # those of the same sentence and arc one after the other
            if home[k] != here:
                here = int(home[k])
                sentence, ends = _Sentence(*some.sentences[here], self.templates), arc_ends(int(some.shapes[here, 0]))
            if parts[k] != part:
                part = int(parts[k])
                child, head = (int(end[part - some.offsets[here]]) for end in ends)
                features = [*sentence.features(head, child + 1), *sentence.labelled(head, child + 1, joint=True)]
            names[int(found[chosen[k]])] = "=".join(features[first[chosen[k]] - pointer[part]])
        return names

    def describe(self, attribute: int) -> str:
        """For example "hw ct=sees NOUN <"; the number of the place where no frequent feature is known to have it."""
        if not attribute >= 0:
            raise DataError(f"there is no attribute {attribute}")
        return self.names_.get(attribute, f"rare features {attribute}")

    def state(self) -> State:
        """Words and tags, and the names of frequent features."""
        values = {
            "min_count": self.min_count, "words": sorted(self.words_), "tags": list(self.tags_), "bits": self.bits_,
            "names": {str(place): name for place, name in self.names_.items()},
            "templates": None if self.templates == _TEMPLATES else self.templates,
        }  # fmt: skip
        return values, {}

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: Arrays, read: Callable[[Any], Columns]) -> "ArcEncoder":
        """The encoder that gave this state."""
        encoder = cls(read, whole(values["min_count"], "min_count"), _stored_templates(values["templates"]))
        encoder.words_ = set(numbered(values["words"], "the words of the encoder"))
        encoder.bits_ = whole(values["bits"], "bits", _BITS, _MOST_BITS)
        encoder.tags_ = numbered(values["tags"], "the tags of the encoder")
        if ROOT not in encoder.tags_:
            raise DataError(f"the tags of the encoder lack that of the root, {ROOT!r}")
        most = (3 << encoder.bits_ >> 1) - 1  # the table of labels is half as large as that of arcs
        for place, name in values["names"].items():
            encoder.names_[whole(int(place), "the place of a feature", 0, most)] = str(name)
        return encoder


def arc_table(X: Sequence[Any], y: Sequence[Any], names: Sequence[str]) -> tuple[Ints, Longs, Ints]:
    """Returns features of all arcs as numbers, (names, arcs), how many values each has, and whether arcs are there.

    names: a column of the head or of the child, such as hw or ct+1, the side on which the head is, the way (the side
    with the distance), or between (the set of tags). y: heads of every word, or pairs of head and label, or None.
    The last array has 1 for arcs of the trees, 0 for others and -1 where the head is not known.
    """
    from ..kernels.arcs import way_numbers

    known = (*_OF_ARCS, *(f"{end}{name}" for end in "hc" for name in _NAMES))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise DataError(f"arcs have no feature {unknown[0]!r}; they have {', '.join(known)}")
    encoded = ArcEncoder(token_columns).fit_transform(X)
    ends = [arc_ends(n) for n in encoded.shapes[:, 0].tolist()]
    child, head = (np.concatenate([pair[k] for pair in ends]) + (k == 0) for k in (0, 1))  # words from 1
    first = np.repeat(encoded.indptr[:-1], encoded.shapes[:, 0] ** 2)
    columns, sizes = [], []
    for name in names:
        if name in _OF_ARCS:
            found = _between(encoded) if name == "between" else way_numbers(head, child)[name == "way"]
            distinct, codes = np.unique(found, return_inverse=True)
        else:
            distinct, of_token = np.unique(encoded.columns[:, _NAMES.index(name[1:])], return_inverse=True)
            codes = of_token[first + (head if name[0] == "h" else child)]
        columns.append(codes.astype(np.int32))
        sizes.append(len(distinct))
    heads = np.repeat(np.concatenate([_known_heads(i, n, y[i]) for i, n in enumerate(encoded.shapes[:, 0].tolist())]),
                      np.repeat(encoded.shapes[:, 0], encoded.shapes[:, 0]))  # fmt: skip
    return np.stack(columns), np.array(sizes, np.int64), np.where(heads < 0, -1, heads == head).astype(np.int32)


def _between(encoded: ArcsEncoded) -> Longs:
    """The set of tags between head and child of every arc, as bits."""
    out = np.empty(encoded.tokens, np.int64)
    tags = encoded.columns[:, _NAMES.index("t")] % 63
    bit = np.int64(1) << np.arange(63)
    for i, n in enumerate(encoded.shapes[:, 0].tolist()):
        mine = tags[encoded.indptr[i] : encoded.indptr[i + 1]]
        seen = np.zeros((n + 2, 63), np.int32)
        np.add.at(seen, (np.arange(1, n + 2), mine), 1)
        seen = np.cumsum(seen, axis=0)
        child, head = arc_ends(n)
        low, high = np.minimum(child + 1, head), np.maximum(child + 1, head)
        used = np.flatnonzero(seen[-1])
        out[encoded.offsets[i] : encoded.offsets[i + 1]] = (seen[high][:, used] > seen[low + 1][:, used]) @ bit[used]
    return out


def _known_heads(index: int, n: int, y: Any) -> Longs:
    """The head of every word of a sentence, -1 where it is not known."""
    if y is None:
        return np.full(n, -1, np.int64)
    if isinstance(y, str) or not hasattr(y, "__len__") or len(y) != n:
        raise DataError(f"sentence {index} has {n} words, and y is not a list of {n} heads")
    heads = [one[0] if isinstance(one, tuple | list) else one for one in y]
    return np.array([-1 if head is None else head for head in heads], np.int64)


def _code(kind: str, text: str) -> int:
    """A number for a text that is the same on every machine."""
    return crc32(f"{kind}{text}".encode(errors="surrogatepass"))


def _edges(sizes: Longs) -> Longs:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
