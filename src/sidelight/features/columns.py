"""What is known of a token: expressions over its columns, shared by feature templates and rules.

    word                    the first column as it is
    word[-1]                the first column one token to the left
    word.lower().suffix(3)  the last three characters, lower-cased
    word.isdigit()          true or absent
    word[-1] & pos          both together (a conjunction)

Every expression prints as it is written, and `parse` reads that text, so files and command lines use the same
language. An expression maps a token's string to a string, or to None where it has nothing to say; predicates map to
"yes" or None. Since it depends on one string only, it is worked out once per distinct string, never per token.
"""

import re
import string
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from ..errors import DataError
from ..expressions import evaluate
from ..quoting import quoted
from .patterns import Pattern

YES = "yes"
NAMES = ("word", "pos")
# Tokens that an offset or a position goes at most.
_FARTHEST = 10**9
_NO_TRUTH = "{} is no truth value; for and, or, not write &, | and ~, and for == write .isin(...)"
_PUNCTUATION = frozenset(string.punctuation) | frozenset("–—‘’“”«»…·¡¿")


class _Kinds(dict[int, str]):
    """Letters as x or X, digits as d, the rest kept: for `str.translate`, each worked out when it is first seen."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        self[code] = kind = "X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c
        return kind


_KINDS = _Kinds()
_LONG_RUN = re.compile(r"(.)\1{4,}")


def _shape(value: str) -> str:
    """Letters as x or X, digits as d, the rest kept; runs of more than four are cut to four."""
    pattern = value.translate(_KINDS)
    return _cut(pattern) if len(pattern) > 4 else pattern


@lru_cache(4096)
def _cut(pattern: str) -> str:
    """Runs of more than four cut to four; many words have the same pattern."""
    return _LONG_RUN.sub(r"\1\1\1\1", pattern)


def _when(test: Callable[[str], bool]) -> Callable[[str], str | None]:
    return lambda value: YES if test(value) else None


# Name of a step -> maker of the function on a value. A new kind of feature is one line here and one method below.
_STEPS: dict[str, Callable[..., Callable[[str], str | None]]] = {
    "lower": lambda: str.lower,
    "shape": lambda: _shape,
    "prefix": lambda n: lambda value: value[:n] if len(value) >= n else None,
    "suffix": lambda n: lambda value: value[-n:] if len(value) >= n else None,
    "isdigit": lambda: _when(str.isdigit),
    "hasdigit": lambda: _when(lambda value: any(c.isdigit() for c in value)),
    "isupper": lambda: _when(str.isupper),
    "istitle": lambda: _when(lambda value: value[:1].isupper()),
    "isalpha": lambda: _when(str.isalpha),
    "ispunct": lambda: _when(lambda value: value != "" and all(c in _PUNCTUATION for c in value)),
    "matches": lambda pattern: _when(Pattern(pattern).found_in),
    "isin": lambda *words: _when(frozenset(words).__contains__),
}


@dataclass(frozen=True)
class Column:
    """One column of the token `offset` places away, changed by `steps` from left to right."""

    index: int
    offset: int = 0
    steps: tuple[tuple[Any, ...], ...] = ()
    negated: bool = False

    __iter__ = None  # indexing never ends, so without this a loop would not either

    readable: ClassVar[frozenset[str]] = frozenset(_STEPS)

    def __getitem__(self, offset: int) -> "Column":
        require_offset(offset, "an offset is a whole number of tokens")
        return replace(self, offset=self.offset + offset)

    def _then(self, *step: Any) -> "Column":
        if self.negated:
            raise DataError(f"nothing can follow a negation: {self}")
        return replace(self, steps=(*self.steps, step))

    def lower(self) -> "Column":
        """Lower case."""
        return self._then("lower")

    def shape(self) -> "Column":
        """Pattern of letter cases, digits and marks: "Xxx", "dddd", "X."."""
        return self._then("shape")

    def prefix(self, length: int) -> "Column":
        """The first characters; absent for shorter strings."""
        return self._then("prefix", _positive(length))

    def suffix(self, length: int) -> "Column":
        """The last characters; absent for shorter strings."""
        return self._then("suffix", _positive(length))

    def isdigit(self) -> "Column":
        """All digits."""
        return self._then("isdigit")

    def hasdigit(self) -> "Column":
        """At least one digit."""
        return self._then("hasdigit")

    def isupper(self) -> "Column":
        """All letters are capitals."""
        return self._then("isupper")

    def istitle(self) -> "Column":
        """Begins with a capital."""
        return self._then("istitle")

    def isalpha(self) -> "Column":
        """All letters."""
        return self._then("isalpha")

    def ispunct(self) -> "Column":
        """All punctuation marks."""
        return self._then("ispunct")

    def matches(self, pattern: str) -> "Column":
        """A regular expression is found in the string (anchor it with ^ and $ for the whole string).

        It is searched for in linear time, so there are no references to groups and no looking ahead or behind.
        """
        if not isinstance(pattern, str):
            raise DataError(f"a regular expression is given as a string, got {quoted(pattern)}")
        Pattern(pattern)
        return self._then("matches", pattern)

    def isin(self, *words: str | Iterable[str]) -> "Column":
        """Member of a word list, given as arguments or as one collection."""
        listed: list[Any] = []
        for item in words:
            listed += [item] if isinstance(item, str) or not isinstance(item, Iterable) else item
        if not listed:
            raise DataError("isin needs at least one word")
        for one in listed:
            if not isinstance(one, str):
                hint = f"; write {quoted(str(one))}" if isinstance(one, int | float) else ""
                raise DataError(f"words are strings, and isin was given {quoted(one)}{hint}")
        return self._then("isin", *sorted(set(listed)))

    def map(self, function: Callable[[str], Any]) -> "Column":
        """Any function of the string; None or False means absent. Such a model cannot be saved to a file."""
        return self._then("map", function)

    def __invert__(self) -> "Column":
        return replace(self, negated=not self.negated)

    def __and__(self, other: "Column | Template") -> "Template":
        return Template((self,)).__and__(other)

    def __or__(self, other: Any) -> Any:
        return _either(self, other)

    def __bool__(self) -> bool:
        raise DataError(_NO_TRUTH.format(self))

    @cached_property
    def _functions(self) -> list[Callable[[str], Any]]:
        return [args[0] if name == "map" else _STEPS[name](*args) for name, *args in self.steps]

    def value(self, token: str) -> str | None:
        """What the expression says of one string."""
        value: Any = token
        for function in self._functions:
            value = function(value)
            if value is None or value is False:
                value = None
                break
            value = YES if value is True else str(value)
        if self.negated:
            return YES if value is None else None
        return None if value is None else value

    def __reduce__(self) -> tuple[Any, ...]:
        return Column, (self.index, self.offset, self.steps, self.negated)

    def require_text(self) -> None:
        """Raise an error if the text form does not say all there is: `map` holds a Python function."""
        if any(name == "map" for name, *_ in self.steps):
            raise DataError(f"{self} holds a Python function and cannot be saved; use isin or matches instead")

    @property
    def base(self) -> "Column":
        """The same expression at offset 0."""
        return self._at_zero if self.offset else self

    @cached_property
    def _at_zero(self) -> "Column":
        return replace(self, offset=0)

    def __repr__(self) -> str:
        text = NAMES[self.index] if self.index < len(NAMES) else f"column({self.index})"
        text += f"[{self.offset}]" if self.offset else ""
        for name, *args in self.steps:
            text += f".{name}({', '.join(map(repr, args))})"
        return f"~{text}" if self.negated else text


@dataclass(frozen=True)
class Template:
    """A conjunction of columns: one feature per observed combination of their values. Empty: always the same one."""

    columns: tuple[Column, ...] = ()

    __iter__ = None

    def __and__(self, other: "Column | Template") -> "Template":
        if not isinstance(other, Column | Template):
            return NotImplemented
        more = (other,) if isinstance(other, Column) else other.columns
        return Template(self.columns + more)

    def __or__(self, other: Any) -> Any:
        return _either(self, other)

    def __invert__(self) -> Any:
        from ..rules.conditions import Not  # a condition, which no template can be

        return Not(self)

    def __bool__(self) -> bool:
        raise DataError(_NO_TRUTH.format(self))

    def __getitem__(self, offset: int) -> "Template":
        return Template(tuple(c[offset] for c in self.columns))

    def __repr__(self) -> str:
        return " & ".join(map(repr, self.columns)) or "bias"


def _either(one: Column | Template, other: Any) -> Any:
    """The condition that one or the other holds, for rules; no template is that."""
    from ..rules.conditions import Condition, any_of

    return any_of(one, other) if isinstance(other, Column | Template | Condition) else NotImplemented


word = Column(0)
pos = Column(1)
bias = Template()


def column(index: int) -> Column:
    """Make the expression of the column with this number.

    Parameters
    ----------
    index : int
        The number of the column, from 0; `word` and `pos` are the first two.

    Returns
    -------
    Column
        The column expression.
    """
    if not isinstance(index, int) or index < 0:
        raise DataError(f"columns are numbered from 0, got {quoted(index)}")
    return Column(index)


def window(expression: Column | Template, first: int, last: int) -> list[Template]:
    """Make a template of an expression at every offset from first to last.

    Parameters
    ----------
    expression : Column or Template
        The expression, such as `word.lower()`.
    first : int
        The first offset; negative ones are to the left of the token.
    last : int
        The last offset, which is included.

    Returns
    -------
    list of Template
        The expression at each offset.
    """
    return [as_template(expression[offset]) for offset in range(first, last + 1)]


def as_template(item: "str | Column | Template") -> Template:
    """A template from any of the ways to write one."""
    if isinstance(item, str):
        item = parse(item)
    if not isinstance(item, Column | Template):
        raise DataError(f"a template is a text or an expression such as word[-1] & word, got {quoted(item)}")
    return Template((item,)) if isinstance(item, Column) else item


def require_offset(number: Any, what: str) -> None:
    """Raises `DataError` unless it is a number of tokens from a place, of a size that sequences have."""
    if not isinstance(number, int):
        raise DataError(f"{what}, got {quoted(number)}")
    if abs(number) > _FARTHEST:
        raise DataError(f"{what}, at most {_FARTHEST:,} away, got {number}")


def _positive(length: int) -> int:
    if not isinstance(length, int) or length < 1:
        raise DataError(f"a prefix or suffix has at least 1 character, got {quoted(length)}")
    return length


def parse(text: str, names: Sequence[str] = ()) -> Column | Template:
    """Read a column expression or a template from its text.

    Parameters
    ----------
    text : str
        The text form, for example `word[-1].lower() & pos`.
    names : sequence of str, default=()
        More names of the first columns, in their order.

    Returns
    -------
    Column or Template
        The expression that prints as this text.
    """
    named = {name: Column(index) for index, name in enumerate(names)}
    value = evaluate(text, named | {"word": word, "pos": pos, "column": column, "bias": bias})
    if not isinstance(value, Column | Template):
        hint = "; write a template for each side of |" if "|" in text else ""
        raise DataError(f"cannot read the expression {quoted(text)}: it is not a column or a template{hint}")
    return value
