"""The rule language, and what every kind of rule answers.

    count("author") >= 1                              tokens labelled author
    runs("title") <= 1                                maximal stretches of one label
    transitions(after="author", to="title") == 1      neighbouring tokens with these labels
    count("date", where=word.isdigit()) >= 1          only where a condition holds
    (count("journal") >= 1) >> (count("booktitle") == 0)       implies; also &, | and ~
    runs(each) <= 1                                   for each label
    share("title") == 0.30                            of all tokens
    (changes() <= 5).over_corpus()                    on average over the sequences
    few_labels(word.lower())                          for each word, in the whole corpus

A rule is *satisfied* or violated to a degree: by how much a count misses its bound, or one for a logical rule. How it
is used is its reading: `rule.hard()`, `rule.soft(penalty)`, `rule.soft()` with the penalty learned from labelled data,
or `rule.expected()`, a statement about the expectation. A rule without a reading leaves it to the learner.

Every kind of rule is one class in a module of its own, beside the function that it is written with; `rules.WORDS` lists
these functions. What compiling, checking and reports need to know of a rule, they ask the rule.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from sys import float_info
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from ..errors import DataError, NotSupported
from ..kernels.compiling import Ints
from ..quoting import quoted
from .labels import Each, Labels

if TYPE_CHECKING:
    from .automata import Automaton, Compilation
    from .comparisons import Comparison
    from .logic import Logic
    from .rows import Statement


# Characters of a title.
_LONGEST_TITLE = 160


class Title(str):
    """What messages call a rule. In quotes it stays as it is written: backslashes are not doubled, as in any string."""

    __slots__ = ()

    def __repr__(self) -> str:
        quote = '"' if "'" in self else "'"
        return f"{quote}{self}{quote}"


@dataclass(frozen=True)
class Reading:
    """How a rule is used; penalty None means learned from labelled data, or for `expected` the learner's."""

    kind: Literal["hard", "soft", "expected"]
    penalty: float | None = None

    def __repr__(self) -> str:
        return f".{self.kind}({'' if self.penalty is None else self.penalty})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Rule:
    """Base of all rules.

    A kind of rule is a frozen dataclass that has at least `body`, how it is written, and `automata`, how violations are
    counted. Fields that are `Labels` are the labels it names, and `each` is replaced in them. The other answers are
    those of a rule about each output as a whole that has no expectation, unless a class says otherwise.
    """

    readable: ClassVar[frozenset[str]] = frozenset({"hard", "soft", "expected", "named"})
    per_word: ClassVar[bool] = False  # whether it charges for each word of the corpus, and is no bound on a count
    hard_by_default: ClassVar[bool] = False  # whether it is hard unless it is given another reading
    name: str = ""
    reading: Reading | None = None

    # How it is read and written ---------------------------------------------------------------------------------

    def hard(self) -> "Rule":
        """Never violated."""
        return replace(self, reading=Reading("hard"))

    def soft(self, penalty: float | None = None) -> "Rule":
        """Each unit of violation costs `penalty` score; None: learned by counting (Eq. 3.10 of Chang 2011)."""
        if penalty is not None and not (isinstance(penalty, Real) and 0 <= penalty <= float_info.max):
            raise DataError(
                f"a penalty is a finite number of at least 0, got {penalty!r} for {self!r}; see also .hard()"
            )
        return replace(self, reading=Reading("soft", penalty))

    def expected(self, penalty: float | None = None) -> "Rule":
        """About the expected count under a distribution over outputs, not about each output.

        `penalty` weighs its slack against that of other rules; None leaves it to the learner.
        """
        if penalty is not None and not (isinstance(penalty, Real) and 0 < penalty <= float_info.max):
            raise DataError(f"the penalty of an expected rule is a finite number above 0, got {penalty!r} for {self!r}")
        return replace(self, reading=Reading("expected", penalty))

    def named(self, name: str) -> "Rule":
        """The same rule with a name for tables and messages."""
        return replace(self, name=name)

    def body(self) -> str:
        """The rule without its name and reading, as it is written."""
        raise NotImplementedError

    @property
    def title(self) -> Title:
        """Its name, or itself, without the middle of what is very long, such as a word list."""
        text = self.name or self.body()
        return Title(text if len(text) <= _LONGEST_TITLE else f"{text[: _LONGEST_TITLE - 60]} ... {text[-55:]}")

    def __repr__(self) -> str:
        text = self.body()
        if self.reading is not None:
            text = f"({text}){self.reading!r}"
        return f"({text}).named({self.name!r})" if self.name else text

    # How it is combined -----------------------------------------------------------------------------------------

    def __and__(self, other: "Rule") -> "Logic":
        return _formula("all", (self, require_rule(other)))

    def __or__(self, other: "Rule") -> "Logic":
        return _formula("any", (self, require_rule(other)))

    def __rshift__(self, other: "Rule") -> "Logic":
        self.require_bare()
        return _formula("any", (~self, require_rule(other)), f"({self.body()}) >> ({other.body()})")

    def __invert__(self) -> "Rule":
        raise DataError(f"{self!r} cannot be negated")

    def __bool__(self) -> bool:
        raise DataError(f"a rule is not a truth value; combine rules with &, | and ~, not {self.body()} and ...")

    def require_bare(self) -> None:
        """Raise if it has a reading or a name: a formula is one rule with one reading, so its parts have none."""
        if self.reading is not None or self.name:
            what = "name" if self.reading is None else "reading"
            raise DataError(
                f"{self!r} stands inside a formula and cannot have a {what} of its own; give one to the formula"
            )

    def comparisons(self) -> "list[Comparison]":
        """The comparisons that decide whether it holds inside a formula."""
        raise NotSupported(f"{self.title!r} cannot stand inside &, |, >> or ~; only comparisons of counts can")

    def holds(self, truth: Mapping[int, bool]) -> bool:
        """Whether it holds, given which of its comparisons do, by their id."""
        return truth[id(self)]

    # Labels -----------------------------------------------------------------------------------------------------

    def label_sets(self) -> list[Labels]:
        """The labels it speaks of, place by place."""
        return list(self._label_fields().values())

    def complaint(self, labels: Sequence[str]) -> str:
        """What speaks against using it where these are all labels; empty if nothing does."""
        return ""

    def about_label(self, name: str) -> Self:
        """The same rule with this label in the place of `each`."""
        about: dict[str, Any] = {field: these.about(name) for field, these in self._label_fields().items()}
        return replace(self, **about)

    def _label_fields(self) -> dict[str, Labels]:
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {field: value for field, value in values.items() if isinstance(value, Labels)}

    def expand(self, labels: Sequence[str], title: str) -> "list[tuple[str, Rule]]":
        """The rule once for each label that `each` stands for, with titles; inside a formula these stay together."""
        return [(f"{title} [{name}]", one) for name, one in self.by_label(labels, title)] or [(title, self)]

    def together(self, labels: Sequence[str], title: str) -> "Rule":
        """The rule inside a formula: if it has `each`, it holds when it does for all labels."""
        parts = tuple(one for _, one in self.by_label(labels, title))
        return _formula("all", parts) if parts else self

    def by_label(self, labels: Sequence[str], title: str) -> list[tuple[str, Self]]:
        """Each label that `each` stands for, and the rule about it; none if it has no `each`."""
        found = {these.names for these in self.label_sets() if isinstance(these.names, Each)}
        if len(found) > 1:
            raise DataError(
                f"rule {title!r} has several different each(...); a comparison speaks of one label at a time"
            )
        return [(name, self.about_label(name)) for one in found for name in one.labels or tuple(labels)]

    # Outputs ----------------------------------------------------------------------------------------------------

    @property
    def about_whole_outputs(self) -> bool:
        """Whether it is surely no sum over labels and neighbours, so that no chain of order 2 can keep to it."""
        return True

    def automata(self, at: "Compilation") -> "list[Automaton]":
        """Automata that count its violations in the labels of each sequence; its `each` is replaced before."""
        raise DataError(f"no automaton is known for {self!r}")

    def shown_at(self, charged: Sequence[int], labels: Sequence[int]) -> Iterable[int]:
        """The tokens of one sequence that show a violation.

        charged: the steps at which the automaton counts one, as many as there are tokens for the end; labels: the
        number of the label of each token.
        """
        return (t for t in charged if t < len(labels))

    # Expectations and the corpus --------------------------------------------------------------------------------

    def statement(self, at: "Compilation", units: Iterator[float] | None) -> "Statement":
        """The rule as a statement about expectations; its `each` is replaced before.

        units: what the next statement about the corpus is divided by; None means the sequences of this batch.
        """
        raise NotSupported(
            f"rule {at.title!r} is not a sum over parts, so a chain cannot work out its expectation; read it as hard "
            "or soft (CCM, CoDL), or compare a count with a bound"
        )

    @property
    def about_corpus(self) -> bool:
        """Whether it, or a part of it, is about the corpus."""
        return False

    @property
    def only_about_corpus(self) -> bool:
        """Whether it is about the corpus as a whole, so that it is checked once for all sequences."""
        return self.about_corpus

    def corpus_violation(self, at: "Compilation", labels: Ints) -> float:
        """By how much the labels (tokens,) of a corpus violate it, if it is about the corpus."""
        raise NotSupported(f"rule {at.rule.title!r} is about the corpus and cannot hold for some label only")


def require_rule(value: Any) -> Rule:
    """The value itself; raise `DataError` unless it is a rule."""
    if not isinstance(value, Rule):
        called = f", a function; write {value.__name__}(...)" if isinstance(value, FunctionType) else ""
        raise DataError(f"expected a rule, got {quoted(value)}{called}")
    return value


def listed_rules(rules: Any, example: str) -> list[Rule]:
    """The rules that were given; raise `DataError` unless they are a list of rules. example: how to write that."""
    if isinstance(rules, Rule | str) or not (rules is None or isinstance(rules, Sequence)):
        raise DataError(
            f"rules is a list of rules; write {example}, or read_rules(path) for a file, got {quoted(rules)}"
        )
    for rule in rules or ():
        if isinstance(rule, str):
            raise DataError(f"expected a rule, got {quoted(rule)}; parse_rule(...) reads one from text")
        require_rule(rule)
    return list(rules or ())


def _formula(kind: Literal["all", "any"], parts: tuple[Rule, ...], text: str = "") -> "Logic":
    from .logic import Logic  # a kind of rule itself

    return Logic(kind, parts, text)
