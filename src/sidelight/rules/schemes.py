"""Labels that mark spans by prefixes: which may follow each other in BIO and BIOES."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from .comparisons import Comparison
from .counts import Count, Term
from .labels import Labels
from .language import Reading, Rule

# What BILOU writes for what BIOES writes.
_ALIKE = {"L": "E", "U": "S"}


@dataclass(frozen=True, eq=False, repr=False)
class Scheme(Rule):
    """Labels of spans follow each other as a scheme says; each place where they do not is a violation.

    "bio": inside a span (`I-x`) stands only behind its beginning (`B-x`) or its inside. "bioes": what begins also has
    to end (`B-x`, `I-x`, `E-x`), and a span of one token is `S-x`. Labels without a prefix of the scheme are outside.
    """

    hard_by_default: ClassVar[bool] = True
    kind: Literal["bio", "bioes"]

    def body(self) -> str:
        """For example "bio()"."""
        return f"{self.kind}()"

    @property
    def about_whole_outputs(self) -> bool:
        """Never: it is about neighbours."""
        return False

    def expand(self, labels: Sequence[str], title: str) -> list[tuple[str, Rule]]:
        """One comparison that counts what these labels forbid."""
        return [(title, self.together(labels, title))]

    def together(self, labels: Sequence[str], title: str) -> Rule:
        """The comparison, over these labels."""
        terms, text = self._forbidden(labels), self.body()
        count = Count(tuple(terms), text=text)
        return Comparison(count=count, op="<=", bound=0.0, text=text, name=self.name, reading=self.reading)

    def _forbidden(self, labels: Sequence[str]) -> list[Term]:
        """The starts, neighbours and ends that do not occur, no two of them at the same step."""
        going_on = self._marked(labels, "IE")
        terms = [Term("start", _all_of(going_on))]
        for kind in going_on:
            open_ = self._marked(labels, "BI").get(kind, [])
            terms.append(Term("pair", Labels(tuple(going_on[kind])), Labels(tuple(open_), all_but=True)))
        if self.kind == "bioes":
            opened = _all_of(self._marked(labels, "BI"))
            closed = Labels(_all_of(going_on).named, all_but=True)
            terms += [Term("pair", closed, opened), Term("end", opened)]
        return terms

    def _marked(self, labels: Sequence[str], marks: str) -> dict[str, list[str]]:
        """The labels with one of these marks, in the letters of BIOES, by the type of their spans."""
        found: dict[str, list[str]] = {}
        for label in labels:
            parts = re.fullmatch(r"([BI])(?:-(.*))?" if self.kind == "bio" else r"([BIESLU])(?:-(.*))?", label, re.S)
            if parts and _ALIKE.get(parts[1], parts[1]) in marks:
                found.setdefault(parts[2] or "", []).append(label)
        return found

    def complaint(self, labels: Sequence[str]) -> str:
        """What speaks against these labels: none has a prefix, or some can never occur.

        Nothing speaks against O alone: it is what data without spans have.
        """
        begun, written = self._marked(labels, "BS"), ", ".join(labels)
        if not begun and set(labels) != {"O"}:
            return f"finds no label that begins a span, such as B-NP, among {written}"
        lost = [label for kind, those in self._marked(labels, "IE").items() if kind not in begun for label in those]
        if lost:
            return f"would never allow the label {lost[0]!r}, since no label begins such a span (there are {written})"
        if self.kind == "bio" and any(re.match("[ESLU]-", label) for label in labels):
            return f"knows no prefixes but B- and I-, and there are {written}; write bioes()"
        return ""


def _all_of(found: dict[str, list[str]]) -> Labels:
    return Labels(tuple(label for those in found.values() for label in those))


def bio() -> Scheme:
    """Require that labels with the prefixes `B-` and `I-` follow each other as BIO (IOB2) says.

    `I-x` stands only directly behind `B-x` or `I-x`. Each place where it does not is a violation. The rule is hard
    unless another reading is given, as in `bio().soft(3)` or `bio().expected()`.

    Returns
    -------
    Scheme
        The rule, for whatever types of spans the labels have.
    """
    return Scheme(kind="bio", reading=Reading("hard"))


def bioes() -> Scheme:
    """Require that labels with the prefixes `B-`, `I-`, `E-` and `S-` follow each other as BIOES says.

    `B-x` and `I-x` are directly followed by `I-x` or `E-x`, which stand nowhere else; `S-x` is a span of one token.
    `L-` and `U-`, as BILOU writes `E-` and `S-`, are known too. Each place where labels do not follow each other so
    is a violation. The rule is hard unless another reading is given.

    Returns
    -------
    Scheme
        The rule, for whatever types of spans the labels have.
    """
    return Scheme(kind="bioes", reading=Reading("hard"))
