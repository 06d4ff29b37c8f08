"""Labelled text on one line, readable with and without colours: `[author] J. Moore [title] On circuits.`"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from rich.text import Text

_PALETTE = (
    *("cyan", "green", "yellow", "magenta", "blue", "bright_red", "bright_cyan", "bright_green"),
    *("bright_yellow", "bright_magenta", "bright_blue", "red"),
)
_PREFIXES = ("B-", "I-", "E-", "S-", "L-", "U-")
_OPENING = ("B-", "S-", "U-")
_NO_SPACE_BEFORE = frozenset(".,;:)]!?%")
_NO_SPACE_AFTER = frozenset("([")
DIFFERS = "≠"
_MARKS = ("»", "«")
# Words of a run around its middle, which may be left out.
_HEAD, _TAIL = 4, 3


@dataclass(frozen=True)
class Run:
    """Neighbouring words with the same label, and the same gold label where that differs (else None)."""

    label: str
    gold: str | None
    words: tuple[str, ...]


def span_type(label: str) -> str:
    """The label without its B-, I- or other prefix."""
    return label[2:] if label.startswith(_PREFIXES) and len(label) > 2 else label


def label_styles(labels: Iterable[str]) -> dict[str, str]:
    """A colour for every type of label; the outside label O has none."""
    kinds = sorted({span_type(label) for label in labels} - {"O"})
    return dict(zip(kinds, cycle(_PALETTE), strict=False)) | {"O": "dim"}


def label_runs(tokens: Sequence[Any], labels: Sequence[str], gold: Sequence[Any] | None = None) -> list[Run]:
    """Cut a labelled sequence into runs."""
    found: list[Run] = []
    for t, (token, label) in enumerate(zip(tokens, labels, strict=True)):
        truth = gold[t] if gold is not None and isinstance(gold[t], str) and gold[t] != label else None
        kind, wanted = span_type(label), None if truth is None else span_type(truth)
        last = found[-1] if found else None
        if last and (last.label, last.gold) == (kind, wanted) and not label.startswith(_OPENING):
            found[-1] = Run(kind, wanted, (*last.words, token_text(token)))
        else:
            found.append(Run(kind, wanted, (token_text(token),)))
    return found


def token_text(token: Any) -> str:
    """What stands for a token: its first column."""
    if isinstance(token, dict):
        return str(next(iter(token.values()), ""))
    return token if isinstance(token, str) else str(token[0])


def labelled_text(
    tokens: Sequence[Any],
    labels: Sequence[str],
    gold: Sequence[Any] | None = None,
    styles: dict[str, str] | None = None,
) -> Text:
    """The words with a tag before each run; where the gold label differs it is named too, and the words underlined."""
    colour = label_styles([*labels, *(g for g in gold or () if isinstance(g, str))]) if styles is None else styles
    out = Text()
    for run in label_runs(tokens, labels, gold):
        style = colour.get(run.label, "")
        wrong = run.gold is not None
        tag = f"[{run.label} {DIFFERS} {run.gold}]" if wrong else f"[{run.label}]"
        out.append(" " if out else "")
        out.append(tag, f"bold {style} reverse" if wrong else f"bold {style}")
        out.append(" ")
        out.append(join_words(run.words), f"{style} underline" if wrong else style)
    return out


def marked_text(tokens: Sequence[Any], labels: Sequence[str], marked: Iterable[int]) -> Text:
    """The words with a tag before each run and marks around some of them; long runs without any are shortened."""
    colour, chosen = label_styles(labels), frozenset(marked)
    out, t = Text(), 0
    for run in label_runs(tokens, labels):
        style, inside = colour.get(run.label, ""), range(t, t + len(run.words))
        t = inside.stop
        out.append(" " if out else "")
        out.append(f"[{run.label}]", f"bold {style}")
        words = [
            _MARKS[0] + word + _MARKS[1] if k in chosen else word for k, word in zip(inside, run.words, strict=True)
        ]
        if chosen.isdisjoint(inside) and len(words) > _HEAD + _TAIL + 1:
            words[_HEAD:-_TAIL] = ["…"]
            while len(words) > _HEAD + 2 and words[_HEAD + 1] in _NO_SPACE_BEFORE:
                del words[_HEAD + 1]
        out.append(" ")
        out.append(join_words(words), style)
    out.highlight_regex(f"{_MARKS[0]}[^{_MARKS[1]}]+{_MARKS[1]}", "bold reverse")
    return out


def marked(text: str, mark: bool) -> tuple[str, str]:
    """A text and its style, with marks around it where it is to stand out."""
    return (_MARKS[0] + text + _MARKS[1], "bold reverse") if mark else (text, "")


def join_words(words: Sequence[str]) -> str:
    """Words with spaces between, but none before a comma or point."""
    text = ""
    for word in words:
        glued = not text or word in _NO_SPACE_BEFORE or text[-1] in _NO_SPACE_AFTER
        text += word if glued else f" {word}"
    return text
