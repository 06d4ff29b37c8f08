"""Generated bibliographic references with gold fields: the data that is there when no file is.

A reference is drawn in three steps: an entry type and a topic give its fields (``_body``), a citation style
prints and orders them (``_compose``), and noise disturbs the result (``_disturb``). The gold convention is
that of citation field extraction: punctuation marks are tokens, and the marks that end a field belong to it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeAlias, TypeVar

import numpy as np

from sidelight.declared import require_seed
from sidelight.demo.reference_words import ABBREVIATIONS, COMMON, SMALL_WORDS, TOPICS
from sidelight.errors import DataError

FIELDS = (
    "author",
    "title",
    "journal",
    "booktitle",
    "volume",
    "pages",
    "date",
    "editor",
    "institution",
    "location",
    "publisher",
    "note",
    "tech",
)
"""The labels that occur in generated references."""

_T = TypeVar("_T")
_Sequences: TypeAlias = list[list[str]]


@dataclass(frozen=True)
class _Segment:
    """One field as printed; ``mark`` is the punctuation that ends it (None: what the style puts there)."""

    field: str
    text: str
    mark: str | None = None


@dataclass(frozen=True)
class _Style:
    """How a bibliography prints its entries; ``{}`` is the place of the value."""

    name: str = "J. Moore"  # or "Moore, J.", "Jane Moore", "Moore, Jane"
    last_author: str = ", and "
    lead: str = "."  # ends the authors and the title
    mark: str = ","  # ends the other fields
    date_first: bool = False
    date: str = "{}"
    month: bool = False
    quotes: bool = False
    title_case: bool = False
    volume: str = "{v}({n})"
    pages: str = "{}"
    meeting: str = "In Proceedings of the {}"
    editor: str = "In {}, editors"
    place_first: bool = False  # "Oslo: Heron Press" rather than "Heron Press, Oslo"


_HOUSE_STYLES = [
    _Style(month=True),
    _Style(name="Jane Moore", month=True, pages="pages {}"),
    _Style(last_author=" and ", lead=",", date="({})", volume="{v}", meeting="Proc. {}", editor="{}, eds."),
    _Style(
        last_author=" and ",
        lead=",",
        month=True,
        quotes=True,
        title_case=True,
        volume="vol. {v}, no. {n}",
        pages="pp. {}",
        meeting="in Proc. {}",
        editor="in {}, Eds.",
    ),
    _Style(
        name="Moore, J.",
        last_author=", & ",
        date_first=True,
        date="({})",
        volume="{v}",
        pages="pp. {}",
        editor="In {} (Eds.)",
        place_first=True,
    ),
    _Style(
        name="Moore, J.",
        date_first=True,
        date="({})",
        meeting="Proceedings of the {}",
        editor="In {} (Eds.)",
        place_first=True,
    ),
    _Style(
        name="Moore, J.",
        last_author="; and ",
        mark=".",
        date_first=True,
        title_case=True,
        volume="{v}",
        editor="In {}, eds.",
        place_first=True,
    ),
    _Style(
        name="Moore, Jane",
        mark=".",
        date_first=True,
        title_case=True,
        volume="Volume {v}",
        pages="p. {}",
        meeting="In {}",
        editor="Edited by {}",
        place_first=True,
    ),
]

_KINDS = (
    33 * ["article"]
    + 36 * ["meeting"]
    + 9 * ["report"]
    + 9 * ["book"]
    + 7 * ["chapter"]
    + 3 * ["thesis"]
    + 2 * ["misc"]
    + ["collection"]
)

_SYMBOL = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"[A-Za-z]{4,}")
_TOKEN = re.compile(r"[.,:;()\[\]\"?]|[^\s.,:;()\[\]\"?]+")
_A_BEFORE_VOWEL = re.compile(r"\b([Aa]) (?=[aeioAEIO])")


def generate_references(n: int, *, seed: int = 0, noise: float = 0.1) -> tuple[_Sequences, _Sequences]:
    """Draw tokenised references and the gold field of each token.

    The same seed gives the same references, and a smaller `n` gives a prefix of a larger one.

    Parameters
    ----------
    n : int
        The number of references.
    seed : int, default=0
        Seed of all that is random, at least 0.
    noise : float, default=0.1
        The strength of the disturbances, in [0, 1]: missing, swapped and repeated fields, missing or wrong punctuation,
        lower-casing, abbreviations and typos. At 0 each field is one run that ends with punctuation.

    Returns
    -------
    X : list of list of str
        The tokens of each reference.
    y : list of list of str
        The field of each token.
    """
    if n < 0:
        raise DataError(f"generate_references needs n >= 0, got {n}; pass the number of references to draw.")
    if not 0 <= noise <= 1:
        raise DataError(f"generate_references needs noise in [0, 1], got {noise}; 0 is clean.")
    require_seed(seed)
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        draw = _Draw(rng)
        segments = _disturb(_compose(draw), draw, noise)
        tokens = [(_TOKEN.findall(s.text + (s.mark or "")), s.field) for s in segments]
        X.append([token for found, _ in tokens for token in found])
        y.append([field for found, field in tokens for _ in found])
    return X, y


class _Draw:
    """The random choices of one reference, whose topic and year are fixed."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._random = rng.random
        self.year = self.between(1972, 1999)
        self._rules = COMMON | self.pick(TOPICS) | {"year": [str(self.year)], "yy": [str(self.year)[2:]]}

    def chance(self, probability: float) -> bool:
        return self._random() < probability

    def pick(self, options: Sequence[_T]) -> _T:
        return options[int(len(options) * self._random())]

    def between(self, low: int, high: int) -> int:
        return low + int((high - low + 1) * self._random())

    def text(self, symbol: str) -> str:
        """Expand a symbol of the grammar; a capitalised symbol is printed in title case."""
        if symbol == "number":
            return str(self.between(1, 400))
        if symbol[0].isupper():
            return _title_case(self.text(symbol.lower()))
        template = self.pick(self._rules[symbol])
        for name in _SYMBOL.findall(template):
            value = self.text(name)
            if value in template:  # "prices and prices": one more try
                value = self.text(name)
            template = template.replace(f"{{{name}}}", value, 1)
        return template


def _title_case(text: str) -> str:
    return " ".join(word if word in SMALL_WORDS else word[0].upper() + word[1:] for word in text.split())


def _compose(draw: _Draw) -> list[_Segment]:
    """One clean reference: who, title, body and date in the order and with the marks of a style."""
    style, kind = _draw_style(draw), draw.pick(_KINDS)
    count = draw.pick([1, 1, 1, 2, 2, 2, 3, 3, 4, 5])
    who = _people(draw, style, count)
    if kind == "collection":
        first = _Segment("editor", _edited("{} (Eds.)", who, count), style.lead)
    else:
        first = _Segment("author", who, style.lead)
    date = _date(draw, style)
    body = _body(draw, style, kind)
    if draw.chance(0.04) and kind != "misc":
        body.append(_Segment("note", draw.text("note")))
    title = _title(draw, style, kind)
    if style.date_first:
        segments = [first, date, title, *body]
    elif body[-1].field in ("pages", "note") and draw.chance(0.25):
        segments = [first, title, *body[:-1], date, body[-1]]
    else:
        segments = [first, title, *body, date]
    return [_close(s, "." if s is segments[-1] else style.mark) for s in segments]


def _draw_style(draw: _Draw) -> _Style:
    """A house style, with each habit replaced now and then by that of another house."""
    habits = {f.name: getattr(draw.pick(_HOUSE_STYLES), f.name) for f in fields(_Style) if draw.chance(0.25)}
    return replace(draw.pick(_HOUSE_STYLES), **habits)


def _close(segment: _Segment, default: str = "") -> _Segment:
    """Settle the mark that ends a segment; a full stop or question mark is not doubled."""
    mark = default if segment.mark is None else segment.mark
    return replace(segment, mark="" if mark == "." and segment.text[-1] in ".?" else mark)


def _people(draw: _Draw, style: _Style, count: int) -> str:
    people = [_person(draw, style) for _ in range(count)]
    if count > 1 and draw.chance(0.04):
        return people[0] + draw.pick([" et al.", ", et al."])
    if count == 1:
        return people[0]
    comma = ";" if style.last_author[0] == ";" else ","
    last = style.last_author if count > 2 or style.name == "Moore, J." else style.last_author.lstrip(comma)
    return f"{comma} ".join(people[:-1]) + last + people[-1]


def _edited(pattern: str, who: str, count: int) -> str:
    if count == 1:
        pattern = pattern.replace("ds.", "d.").replace("editors", "editor")
    return pattern.format(who)


def _person(draw: _Draw, style: _Style) -> str:
    surname = draw.text("surname")
    initials = " ".join(draw.text("letter") + "." for _ in range(draw.pick([1, 1, 1, 2, 2])))
    given = draw.text("given") + (f" {draw.text('letter')}." if draw.chance(0.25) else "")
    return {
        "J. Moore": f"{initials} {surname}",
        "Moore, J.": f"{surname}, {initials}",
        "Jane Moore": f"{given} {surname}",
        "Moore, Jane": f"{surname}, {given}",
    }[style.name]


def _title(draw: _Draw, style: _Style, kind: str) -> _Segment:
    is_book = kind in ("book", "collection")
    title = _A_BEFORE_VOWEL.sub(r"\1n ", draw.text("monograph" if is_book else "title"))
    title = _title_case(title) if style.title_case or is_book else title
    title = title[0].upper() + title[1:]
    if style.quotes and not is_book:
        return _Segment("title", '"' + title, draw.pick([style.lead + '"', '"' + style.lead]))
    return _Segment("title", title, style.lead)


def _date(draw: _Draw, style: _Style) -> _Segment:
    year = str(draw.year) + (draw.pick("ab") if style.date_first and draw.chance(0.08) else "")
    month = draw.text("month") + draw.pick([" ", " ", ", "]) if style.month and draw.chance(0.5) else ""
    return _Segment("date", style.date.format(month + year), "." if style.date_first else None)


def _body(draw: _Draw, style: _Style, kind: str) -> list[_Segment]:
    """The fields after the title that say where the work came out."""
    location = _Segment("location", draw.text("location"))
    if kind == "article":
        journal = _Segment("journal", draw.text("journal"))
        return [journal, *_volume_and_pages(draw, style)]
    if kind == "meeting":
        meeting = _Segment("booktitle", style.meeting.format(draw.text("meeting")))
        rest = [location] if draw.chance(0.4) else []
        if draw.chance(0.6):
            rest.insert(draw.between(0, len(rest)), _pages(draw, style))
        if draw.chance(0.15):
            publisher = _Segment("publisher", draw.text("publisher"))
            rest += [publisher] if location in rest else _imprint(draw, style)
        return [meeting, *rest]
    if kind == "chapter":
        count = draw.between(1, 3)
        editors = _Segment("editor", _edited(style.editor, _people(draw, style, count), count))
        book = _Segment("booktitle", draw.text("collection"))
        volume = [_Segment("volume", f"{draw.pick(['volume', 'Vol.', 'vol.'])} {draw.between(1, 9)}")]
        rest = [*(volume if draw.chance(0.2) else []), _pages(draw, style), *_imprint(draw, style)]
        return [editors, book, *rest] if draw.chance(0.75) else [book, editors, *rest]
    if kind in ("report", "thesis"):
        tech = _Segment("tech", draw.text(kind))
        institution = _Segment("institution", draw.text("institution"))
        pair = [tech, institution] if draw.chance(0.85) else [institution, tech]
        return [*pair, location] if draw.chance(0.25) else pair
    if kind == "misc":
        return [_Segment("note", draw.text("note"))]
    return _imprint(draw, style)


def _volume_and_pages(draw: _Draw, style: _Style) -> list[_Segment]:
    volume = _Segment("volume", style.volume.format(v=draw.between(1, 90), n=draw.between(1, 12)))
    if draw.chance(0.12):
        return [volume]
    if style.pages == "{}" and draw.chance(0.5):
        volume = replace(volume, mark=":")
    return [volume, _pages(draw, style)]


def _pages(draw: _Draw, style: _Style) -> _Segment:
    start = draw.between(1, 900)
    return _Segment("pages", style.pages.format(f"{start}-{start + draw.between(4, 30)}"))


def _imprint(draw: _Draw, style: _Style) -> list[_Segment]:
    publisher, location = _Segment("publisher", draw.text("publisher")), draw.text("location")
    if draw.chance(0.4):
        return [publisher]
    if style.place_first:
        return [_Segment("location", location, ":"), publisher]
    return [publisher, _Segment("location", location)]


def _disturb(segments: list[_Segment], draw: _Draw, noise: float) -> list[_Segment]:
    """Disturb the order of the fields, then each field; every probability is proportional to ``noise``."""
    segments = list(segments)
    if draw.chance(0.5 * noise):
        segments.pop(draw.between(1, len(segments) - 1) if draw.chance(0.8) else 0)
    if draw.chance(0.8 * noise) and len(segments) > 2:
        at = draw.between(1, len(segments) - 2) if draw.chance(0.95) else 0
        segments[at : at + 2] = segments[at + 1], segments[at]
    if segments[0].field == "date":
        segments[:2] = segments[1::-1]
    if draw.chance(0.3 * noise):
        segments.append(_Segment("note", draw.text("note"), "."))
    if draw.chance(0.4 * noise):
        again = _Segment("date", str(draw.year), ",") if draw.chance(0.7) else _series(draw)
        segments.insert(draw.between(2, len(segments)), again)
    return [_disturb_field(segment, draw, noise) for segment in segments]


def _series(draw: _Draw) -> _Segment:
    return _Segment("booktitle", draw.text("collection"), ",")


def _disturb_field(segment: _Segment, draw: _Draw, noise: float) -> _Segment:
    text, mark = segment.text, segment.mark or ""
    if draw.chance(noise):
        text = " ".join(ABBREVIATIONS.get(word, word) for word in text.split(" "))
    if draw.chance(0.5 * noise):
        text = text.replace(" and ", " & ")
    if draw.chance(0.5 * noise):
        text = text.lower()
    if draw.chance(noise):
        text = _WORD.sub(lambda found: _misspell(found[0], draw) if draw.chance(0.2) else found[0], text)
    if draw.chance(0.5 * noise):
        text, mark = text.rstrip(".") or text, ""
    elif draw.chance(0.3 * noise):
        mark = draw.pick([",", ".", ";"])
    return _close(replace(segment, text=text, mark=mark))


def _misspell(word: str, draw: _Draw) -> str:
    """Drop, double or swap a letter inside the word."""
    at = draw.between(1, len(word) - 2)
    here, after, rest = word[at], word[at + 1], word[at + 2 :]
    return word[:at] + draw.pick([after, here + here + after, after + here]) + rest
