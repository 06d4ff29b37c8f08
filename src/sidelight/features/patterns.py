"""Regular expressions that are searched for in time linear in the length of the text.

Python's own engine tries one way to match after another, which takes exponential time for some expressions, and rules,
templates and model files bring expressions from elsewhere. Here an expression becomes a nondeterministic automaton,
all of whose states are followed side by side (K. Thompson, Regular expression search algorithm, 1968). Python's parser
reads the expression and Python's engine says which single characters, and which places between two characters, each of
its atoms matches, so that the meaning is that of `re`.
"""

import re
import warnings
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from ..errors import DataError

# States of an automaton at most; repeats such as {3,50} are written out.
_MOST_STATES = 2_000
# Moves that are remembered at most.
_MOST_MOVES = 20_000
# Answers about strings, such as words, that are asked about again and again: how many at most, and how long these are.
_MOST_ANSWERS, _LONGEST = 20_000, 40

_ATOMS = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN, _constants.RANGE)
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)
_TYPES = re.ASCII | re.LOCALE | re.UNICODE
_TWO = "; write two conditions, as in word.matches('a') & ~word.matches('b')"
# What is refused, and what to do about it.
_REFUSED = {
    _constants.GROUPREF: ("refers back to a group", ""),
    _constants.GROUPREF_EXISTS: ("asks whether a group matched", ""),
    _constants.ASSERT: ("looks ahead or behind", _TWO),
    _constants.ASSERT_NOT: ("looks ahead or behind", _TWO),
    _constants.ATOMIC_GROUP: ("has an atomic group", "; write (?:...)"),
    _constants.POSSESSIVE_REPEAT: ("has a possessive repeat", "; leave out the + behind the repeat"),
}


class Pattern:
    """A regular expression.

    Parameters
    ----------
    text : str
        The expression, as `re` reads it, without references to groups, looking ahead or behind, atomic groups and
        possessive repeats.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        # For every state, the states that follow at once; those behind a place; those behind a character.
        self._empty: list[list[int]] = []
        self._places: list[tuple[int, int] | None] = []
        self._characters: list[tuple[int, int] | None] = []
        self._tests: list[Any] = []
        self._known: dict[Any, int] = {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = _parser.parse(text)
            self._start, self._end = self._state(), self._state()
            self._add(tree, tree.state.flags, self._start, self._end)
        except (re.error, OverflowError) as error:
            raise DataError(f"bad regular expression {text!r}: {error}") from None
        except RecursionError:
            raise DataError(f"bad regular expression {text[:40]!r}...: it is nested too deeply") from None
        self._moves: dict[tuple[frozenset[int], tuple[bool, ...], str], frozenset[int]] = {}
        self._answers: dict[str, bool] = {}
        self._asserted = sorted({place[0] for place in self._places if place is not None})

    def found_in(self, value: str) -> bool:
        """Returns whether the expression matches somewhere in a string.

        Parameters
        ----------
        value : str
            The string.

        Returns
        -------
        bool
            What `re.search(text, value) is not None` is.
        """
        if len(value) > _LONGEST:
            return self._search(value)
        answer = self._answers.get(value)
        if answer is None:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            answer = self._answers[value] = self._search(value)
        return answer

    def _search(self, value: str) -> bool:
        before: frozenset[int] = frozenset()
        for at in range(len(value) + 1):
            holds = tuple([self._tests[k].match(value, at) is not None for k in self._asserted])
            character = value[at : at + 1]
            key = before, holds, character
            after = self._moves.get(key)
            if after is None:
                after = self._move(*key)
                if len(self._moves) >= _MOST_MOVES:
                    self._moves.clear()
                self._moves[key] = after
            if self._end in after:
                return True
            before = after
        return False

    def _move(self, before: frozenset[int], holds: tuple[bool, ...], character: str) -> frozenset[int]:
        """The states behind a character; the last one alone if it is reached in front of it."""
        true = {k for k, holds_here in zip(self._asserted, holds, strict=True) if holds_here}
        reached, open_ends = set(before) | {self._start}, [*before, self._start]
        while open_ends:
            state = open_ends.pop()
            following = list(self._empty[state])
            place = self._places[state]
            if place is not None and place[0] in true:
                following.append(place[1])
            for other in following:
                if other not in reached:
                    reached.add(other)
                    open_ends.append(other)
        if self._end in reached:
            return frozenset({self._end})
        steps = [self._characters[state] for state in reached]
        tests = {step[0] for step in steps if step is not None}
        may = {k for k in tests if character and self._tests[k].match(character) is not None}
        return frozenset(step[1] for step in steps if step is not None and step[0] in may)

    def _state(self) -> int:
        if len(self._empty) == _MOST_STATES:
            raise DataError(
                f"the regular expression {self.text[:80]!r} is too large: with its repeats written out it has more "
                f"than {_MOST_STATES} states; use smaller repeats, or + and *"
            )
        self._empty.append([])
        self._places.append(None)
        self._characters.append(None)
        return len(self._empty) - 1

    def _test(self, item: Any, flags: int) -> int:
        """The number of what Python's engine makes of one atom or place."""
        key = repr(item), flags
        if key not in self._known:
            self._known[key] = len(self._tests)
            self._tests.append(_compiler.compile(_parser.SubPattern(_parser.State(), [item]), flags))
        return self._known[key]

    def _add(self, tree: Any, flags: int, first: int, last: int) -> None:
        """Adds the ways from one state to another that a part of the expression matches."""
        for item in tree:
            middle = self._state()
            self._add_item(item, flags, first, middle)
            first = middle
        self._empty[first].append(last)

    def _add_item(self, item: Any, flags: int, first: int, last: int) -> None:
        kind, value = item
        if kind in _ATOMS:
            self._characters[first] = self._test(item, flags), last
        elif kind is _constants.AT:
            self._places[first] = self._test(item, flags), last
        elif kind is _constants.SUBPATTERN:
            _, more, fewer, inner = value
            kept = flags & ~_TYPES if more & _TYPES else flags
            self._add(inner, (kept | more) & ~fewer, first, last)
        elif kind is _constants.BRANCH:
            for branch in value[1]:
                begin = self._state()
                self._empty[first].append(begin)
                self._add(branch, flags, begin, last)
        elif kind in _REPEATS:
            least, most, inner = value
            self._add_repeat(least, most, inner, flags, first, last)
        elif kind is not _constants.FAILURE:  # which nothing matches
            what, instead = _REFUSED.get(kind, (f"has {kind}", ""))
            raise DataError(
                f"the regular expression {self.text!r} {what}, which cannot be searched for in linear time{instead}"
            )

    def _add_repeat(self, least: int, most: Any, inner: Any, flags: int, first: int, last: int) -> None:
        for _ in range(least):
            after = self._state()
            self._add(inner, flags, first, after)
            first = after
        if most is _constants.MAXREPEAT:
            loop = self._state()
            self._empty[first].append(loop)
            self._add(inner, flags, loop, loop)
            self._empty[loop].append(last)
            return
        self._empty[first].append(last)
        for _ in range(int(most) - least):
            after = self._state()
            self._add(inner, flags, first, after)
            self._empty[after].append(last)
            first = after
