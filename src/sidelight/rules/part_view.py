"""The parts of a batch as rules see them, and rules as statements about them.

A statement about parts is a row of numbers, one for every part: E[row·y], or row·y itself, compared with a bound. Where
a rule is written with `by`, every input has as many rows as it has tokens at that end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import DataError, NotSupported
from ..features.templates import sequence_offsets
from ..kernels.compiling import Floats, Ints, Longs
from .conditions import JoinedConditions, Mask, Not, Where, mask_of
from .counts import Count, Op
from .ends import AtEnd, End, HeadIn, Without, child, head
from .labels import Labels
from .language import Rule
from .rows import penalty_of, require_expected


@dataclass(frozen=True)
class EndView:
    """One end of all parts of a batch.

    tokens: the sequence of each input on this side; first, last: (parts,) the flat numbers of the tokens that a part
    covers, from first to last - 1, none where it lacks this end.
    """

    tokens: Sequence[Any]
    first: Longs
    last: Longs

    def where(self, holds: Mask) -> Mask:
        """Returns which parts cover a token that satisfies a condition; holds: (tokens,)."""
        total = np.concatenate(([0], np.cumsum(holds)))
        return np.asarray(total[self.last] > total[self.first])

    @property
    def lacking(self) -> Mask:
        """Which parts lack this end."""
        return np.asarray(self.last <= self.first)

    def covered(self, parts: Longs) -> tuple[Longs, Longs]:
        """Returns for some parts every token that one of them covers: which of these parts, and the token."""
        sizes = (self.last - self.first)[parts]
        which = np.repeat(np.arange(len(parts)), sizes)
        begin = np.cumsum(sizes) - sizes
        return which, self.first[parts][which] + np.arange(len(which)) - begin[which]


@dataclass(frozen=True)
class PartView:
    """The parts of a batch as rules see them.

    offsets: (inputs + 1,) where the parts of each input begin; label: (parts,) the number of each part's label, -1 for
    parts without one; labels: their names; ends: by name; main: the end that conditions without an end are about;
    links: which parts are counted where a rule does not ask for parts `without` an end, None if all are; others:
    whether other inputs may have more labels, so that one that no part has here is no error.
    """

    offsets: Longs
    label: Ints
    labels: Sequence[str]
    ends: Mapping[str, EndView]
    main: str
    links: Mask | None = None
    others: bool = False

    @property
    def inputs(self) -> int:
        """How many inputs there are."""
        return len(self.offsets) - 1

    @property
    def owner(self) -> Longs:
        """The input of each part."""
        return np.repeat(np.arange(self.inputs), np.diff(self.offsets))

    def end(self, end: End) -> EndView:
        """Returns one end; an error where these parts have no such end."""
        if end.name not in self.ends:
            raise DataError(f"{end!r} is no end of these parts; they have {' and '.join(self.ends)}")
        return self.ends[end.name]

    def holds(self, condition: Where | None) -> Mask:
        """Returns for which parts a condition holds."""
        if condition is None:
            return np.ones(int(self.offsets[-1]), bool)
        if isinstance(condition, JoinedConditions):
            masks = np.stack([self.holds(part) for part in condition.parts])
            return np.asarray(masks.all(axis=0) if condition.every else masks.any(axis=0))
        if isinstance(condition, Not):
            return ~self.holds(condition.part)
        if isinstance(condition, Without):
            return self.end(condition.end).lacking
        if isinstance(condition, HeadIn):
            return self._listed(condition)
        if not self.ends:
            raise NotSupported(f"{condition!r} is a condition on tokens, and these parts are about none; count labels")
        end = self.end(condition.end) if isinstance(condition, AtEnd) else self.ends[self.main]
        inner: Where = condition.condition if isinstance(condition, AtEnd) else condition
        return end.where(mask_of(inner, end.tokens))

    def _listed(self, condition: HeadIn) -> Mask:
        """Returns which arcs have a head that their child lists."""
        heads, children = self.end(head), self.end(child)
        offsets, lists = sequence_offsets(children.tokens), condition.listed(children.tokens)
        longest = int(np.diff(offsets).max(initial=0)) + 1
        number = np.where(heads.lacking, 0, heads.first - offsets[:-1][self.owner] + 1)
        listed = [t * longest + h for t, some in enumerate(lists) for h in some if h < longest]
        return np.isin(children.first * longest + number, np.array(listed, np.int64))

    def spoken(self, condition: Where | None) -> Mask:
        """Returns which parts a count with this condition is about: deletions only where it asks for them.

        Parts without any end, such as pairs of edges, follow from the others, and are never counted.
        """
        holds = self.holds(condition)
        if self.ends:
            holds = holds & ~np.all([end.lacking for end in self.ends.values()], axis=0)
        return holds if self.links is None or _asks_for_deletions(condition) else holds & self.links

    def members(self, these: Labels) -> Mask:
        """Returns which parts have one of these labels; a label that does not exist is an error."""
        found, unknown = these.among(self.labels)
        if unknown and not self.others:
            known = f"known are {', '.join(self.labels)}" if self.labels else "these parts have no labels"
            raise DataError(f"there is no label {unknown[0]!r}; {known}")
        inside = np.array([*found, False], bool)[self.label]
        return np.asarray(~inside if these.all_but else inside)


def _asks_for_deletions(condition: Where | None) -> bool:
    """Whether a condition names parts `without` an end; what is not without one has both."""
    match condition:
        case Without():
            return True
        case JoinedConditions():
            return any(map(_asks_for_deletions, condition.parts))
    return False


@dataclass(frozen=True)
class PartStatement:
    """One rule (or one label's share of it) on a batch: rows over parts, each compared with the same bound.

    owner: (rows,) the input that a row is about, in rising order, or -1 for the corpus; row, part, value: its entries;
    the rest is as in `rows.Statement`. decisions: where every part that a row speaks of is a violation of its own, at
    how many places one of them could be chosen; else None.
    """

    rule: Rule
    title: str
    op: Op
    bound: float
    corpus: bool
    penalty: float
    owner: Longs
    row: Longs
    part: Longs
    value: Floats
    unit: float = 1.0
    target: float = 0.0
    decisions: float | None = None

    @property
    def one_sign(self) -> bool:
        """Whether, with a bound of zero, every part with an entry violates it by itself."""
        above = self.op != ">=" and bool((self.value >= 0).all())
        below = self.op != "<=" and bool((self.value <= 0).all())
        return self.bound == 0 and (above or below)


def part_statements(
    rules: Sequence[Rule], view: PartView, units: Sequence[float] | None = None, room: Sequence[float] = ()
) -> list[PartStatement]:
    """Returns all statements of all rules about expectations; see `rows.compile_statements`."""
    out: list[PartStatement] = []
    left = None if units is None else iter(units)
    for rule in rules:
        require_expected(rule)
        for title, single in rule.expand(view.labels, rule.title):
            one = rule_statement(rule, title, single, view)
            if one.corpus:
                one = _averaged(one, view, single, None if left is None else next(left))
            out.append(one)
    for k, more in enumerate(room):
        out[k] = replace(out[k], bound=out[k].bound + more, target=out[k].target + more)
    return out


def rule_statement(rule: Rule, title: str, single: Rule, view: PartView) -> PartStatement:
    """Returns one rule on the parts of a batch; `each` is replaced in it already."""
    from .comparisons import Comparison

    if not isinstance(single, Comparison):
        raise NotSupported(
            f"rule {title!r} is no comparison of a count, and only these can speak of arcs and links; write counts "
            "that are compared with a bound"
        )
    try:
        row, part, value, owner = _entries(single.count, view, title)
    except DataError as error:
        raise DataError(f"rule {rule.title!r}: {error}") from error.__cause__
    if single.corpus:
        row, owner = np.zeros_like(row), np.array([-1])
    one = PartStatement(
        rule, title, single.op, single.bound, single.corpus, penalty_of(rule), owner, row, part, value,
        target=single.bound,
    )  # fmt: skip
    whole = all(term.by is None for term in single.count.terms)
    if not (one.one_sign and whole):
        return one
    places = view.ends[view.main].first[part] if view.ends else part
    return replace(one, decisions=float(len(np.unique(places))))


def _averaged(one: PartStatement, view: PartView, single: Any, unit: float | None) -> PartStatement:
    """A statement about the corpus as an average over its inputs, those with parts that a share speaks of."""
    if unit is None:
        if not len(one.part):
            raise DataError(f"rule {one.title!r} is about parts of the corpus, and the data has none of them")
        unit = float(len(np.unique(view.owner[one.part])) if single.share else view.inputs)
    return replace(one, value=one.value / unit, unit=unit)


def _entries(count: Count, view: PartView, title: str) -> tuple[Longs, Longs, Floats, Longs]:
    """The entries (row, part, value) of a count, and the input of each row."""
    kinds = {term.kind for term in count.terms}
    if kinds - {"token"}:
        raise NotSupported(f"rule {title!r} is about neighbours in a sequence, and arcs and links have none")
    by = {repr(term.by): term.by for term in count.terms}
    if len(by) > 1:
        raise NotSupported(f"rule {title!r} counts by different ends; both sides must be counted by the same")
    amount = np.zeros(int(view.offsets[-1]))
    for term in count.terms:
        amount += term.coefficient * (view.members(term.to) & view.spoken(term.where))
    part = np.flatnonzero(amount)
    chosen = next(iter(by.values()))
    if chosen is None:
        return view.owner[part], part, amount[part], np.arange(view.inputs)
    end = view.end(chosen.end if isinstance(chosen, AtEnd) else chosen)
    offsets = sequence_offsets(end.tokens)
    speaks = np.ones(int(offsets[-1]), bool)
    if isinstance(chosen, AtEnd):
        speaks = mask_of(chosen.condition, end.tokens)
    which, token = end.covered(part)
    kept = speaks[token]
    which, token = which[kept], token[kept]
    number = np.cumsum(speaks) - 1
    owner = np.repeat(np.arange(view.inputs), np.diff(offsets))[speaks]
    return number[token], part[which], amount[part][which], owner
