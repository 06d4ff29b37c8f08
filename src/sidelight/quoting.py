"""Values that messages quote: as Python writes them, shortened if they are long."""

from collections.abc import Sequence
from reprlib import Repr

from .errors import listed

# A list of names in a message has at most this many.
FEW = 5
# A quoted value has at most this many characters.
LONGEST = 100
_HUGE = 10**LONGEST
_WRITTEN = Repr()
_WRITTEN.maxstring = _WRITTEN.maxother = LONGEST
_WRITTEN.maxlist = _WRITTEN.maxtuple = _WRITTEN.maxset = _WRITTEN.maxfrozenset = _WRITTEN.maxdict = 6


def quoted(value: object) -> str:
    """Returns `repr(value)` for a message, with "..." in the place of what goes beyond about a hundred characters.

    Whole numbers of more digits than Python writes are described by their size.
    """
    if isinstance(value, int) and abs(value) >= _HUGE:
        return f"a whole number of about {int(value.bit_length() * 0.30103)} digits"
    try:
        text = _WRITTEN.repr(value)
    except ValueError:  # a huge number inside
        text = f"a {type(value).__name__} with a number of more digits than Python writes"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def quoted_few(names: Sequence[str], last: str = "and") -> str:
    """Returns names for a message, each quoted: the first few of them, and the number of others."""
    shown = [quoted(name) for name in names[:FEW]]
    others = len(names) - len(shown)
    if others:
        shown.append(f"{others:,} {'other' if others == 1 else 'others'}")
    return listed(shown, last)
