"""How rules are written, printed and read back."""

import pickle
import re

import numpy as np
import pytest

from sidelight import (
    CCM,
    HMM,
    DataError,
    all_of,
    any_of,
    before,
    bio,
    changes,
    changes_only_after,
    check,
    column,
    count,
    each,
    ends_with,
    few_labels,
    first,
    last,
    min_length,
    once_each,
    others,
    parse_rule,
    pos,
    position,
    punctuation,
    runs,
    share,
    starts_with,
    transitions,
    when,
    where,
    word,
)
from sidelight.rules.comparisons import Comparison
from sidelight.rules.language import Reading
from sidelight.rules.logic import Logic

A, B = count("A"), count("B")

# As it is printed -> the rule.
PRINTED = {
    "count('A') >= 1": A >= 1,
    "count() <= 30": count() <= 30,
    "count('A', 'B') == 2": count("A", ["B"]) == 2,
    "count('A') <= 1.5": A <= 1.5,
    "count('A') >= -1": A >= -1,
    "count(others('A')) <= 3": count(others("A")) <= 3,
    "count(others(each)) >= 1": count(others(each)) >= 1,
    "count(each('A', 'B')) >= 1": count(each("A", "B")) >= 1,
    "runs(each) <= 1": runs(each) <= 1,
    "runs('A', where=first) == 1": runs("A", where=first) == 1,
    "transitions(after='A', to='B') == 1": transitions("A", "B") == 1,
    "transitions(after=['A', 'C'], to=others('B')) == 1": transitions(after=("A", "C"), to=others("B")) == 1,
    "transitions(to=['A', 'B']) <= 4": transitions(to=["A", "B"]) <= 4,
    "transitions(after=each, to='A', where=last) <= 4": transitions(each, "A", where=last) <= 4,
    "changes(where=~word.ispunct()) <= 2": changes(where=~punctuation) <= 2,
    "count('A') <= count('B')": A <= B,
    "count('A') == count('B') + 1": A == B + 1,
    "count('A') - (count('B') - 2 * (count('C'))) >= 0": A - (B - 2 * count("C")) >= 0,
    "count('A') + count('B') - 1 <= 3": A + B - 1 <= 3,
    "2 * (count('A') + 1) + -3 <= 3": (A + 1) * 2 + -3 <= 3,
    "-1 * (count('A')) >= -2": -1 * A >= -2,
    "share('A') <= 0.3": share("A") <= 0.3,
    "share('A', 'B', where=word[1].isdigit()) == 1": share("A", "B", where=word[1].isdigit()) == 1,
    "starts_with('A', 'B')": starts_with("A", "B"),
    "ends_with('A')": ends_with(["A"]),
    "once_each()": once_each(),
    "once_each('A', 'B')": once_each("A", "B"),
    "changes_only_after(word.ispunct())": changes_only_after(punctuation),
    "changes_only_after(~word[-1].isin('a', 'b'))": changes_only_after(~word[-1].isin("b", "a")),
    "min_length(3)": min_length(3),
    "min_length(2, 'A', 'B')": min_length(2, "A", "B"),
    "min_length(2, others('A'))": min_length(2, others("A")),
    "before('A', 'B')": before("A", "B"),
    "before(['A', 'C'], others('B'))": before(["A", "C"], others("B")),
    "few_labels(word, at_least=10)": few_labels(),
    "(few_labels(word.lower(), at_least=2)).expected(32.0)": few_labels(word.lower(), at_least=2).expected(32.0),
    "where(word.lower().isin('p', 'pp')).label('A')": where(word.lower().isin("pp", "p")).label("A"),
    "where(any_of(first, ~last, position(-2))).never('A', 'B')": where(any_of(first, ~last, position(-2))).never(
        "A", "B"
    ),
    "where(~all_of(word.isdigit() & pos[-1].prefix(2), column(2).matches('a b'))).label('A')": where(
        ~all_of(word.isdigit() & pos[-1].prefix(2), column(2).matches("a b"))
    ).label("A"),
    "where(first).never(others('A'))": where(first).never(others("A")),
    "~(starts_with('A'))": ~starts_with("A"),
    "~(count('A') == 1)": ~(A == 1),
    "~(~(count('A') <= 1))": ~~(A <= 1),
    "(count('A') >= 1) >> (count('B') == 0)": (A >= 1) >> (B == 0),
    "((count('A') >= 1) & (starts_with('B'))) | (count('B') <= 0)": ((A >= 1) & starts_with("B")) | (B <= 0),
    "(~(count('A') >= 1)) | (~(count('B') >= 2))": ~((A >= 1) & (B >= 2)),
    "(min_length(2)) & (before('A', 'B'))": min_length(2) & before("A", "B"),
    "(count('A') >= 1).hard()": (A >= 1).hard(),
    "(count('A') >= 1).soft()": (A >= 1).soft(),
    "(count('A') >= 1).soft(2.5)": (A >= 1).soft(2.5),
    "(count('A') >= 1).expected()": (A >= 1).expected(),
    "(count('A') >= 1).named('it\\'s \"mine\"')": (A >= 1).named('it\'s "mine"'),
    "((once_each()).soft(1)).named('once')": once_each().soft(1).named("once"),
    "(((count('A') >= 1) >> (count('B') == 0)).hard()).named('é')": ((A >= 1) >> (B == 0)).hard().named("é"),
}


def fields(rule):
    """Everything a rule is made of, as text."""
    if isinstance(rule, Logic):
        return rule.kind, tuple(map(fields, rule.parts)), rule.name, rule.reading
    inner = {k: v for k, v in vars(rule).items() if k != "count"}
    return repr(inner), repr([vars(t) for t in rule.count.terms]) if isinstance(rule, Comparison) else ""


@pytest.mark.parametrize("text", PRINTED)
def test_printed_rules_read_back(text):
    rule = PRINTED[text]
    assert repr(rule) == text
    again = parse_rule(text)
    assert repr(again) == text
    assert fields(again) == fields(rule)
    assert fields(pickle.loads(pickle.dumps(rule))) == fields(rule)


def test_readings_do_not_change_the_rule_they_come_from():
    rule = A >= 1
    hard, soft, mine = rule.hard(), rule.soft(2), rule.named("mine")
    assert (rule.reading, rule.name) == (None, "")
    assert hard.reading == Reading("hard")
    assert soft.reading == Reading("soft", 2)
    assert rule.soft().reading == Reading("soft", None)
    assert rule.expected().reading == Reading("expected")
    assert (mine.title, rule.title, hard.title) == ("mine", "count('A') >= 1", "count('A') >= 1")
    assert mine.hard().name == "mine"


def test_bounds_gather_constants():
    for rule, bound in (
        (A + 1 <= 3, 2),
        (A - 1 >= B + 2, 3),
        (2 * (A - 1) == 4, 6),
        (np.int64(2) >= A + B, 2),
        (np.float64(0.5) <= A + B, 0.5),
    ):
        assert rule.bound == bound
    assert (3 >= A).op == "<="  # noqa: SIM300
    assert (3 >= A).bound == 3  # noqa: SIM300
    assert [t.coefficient for t in (A - 2 * B >= 0).count.terms] == [1, -2]


def test_negation():
    for rule, op, bound in (
        (~(A <= 1), ">=", 2),
        (~(A >= 1), "<=", 0),
        (~(A <= 1.5), ">=", 2),
        (~(A >= 1.5), "<=", 1),
        (~~(A <= 1), "<=", 1),
    ):
        assert (rule.op, rule.bound) == (op, bound)
    either = ~(A == 1)
    assert [(part.op, part.bound) for part in either.parts] == [("<=", 0), (">=", 2)]
    assert either.kind == "any"
    both = ~((A >= 1) | (B >= 1))
    assert both.kind == "all"


@pytest.mark.parametrize("rule", [A >= 1, (A >= 1) | (B >= 1), once_each(), min_length(2), before("A", "B")], ids=repr)
def test_a_rule_is_not_a_truth_value(rule):
    with pytest.raises(DataError, match=r"not a truth value; combine rules with &, \| and ~"):
        bool(rule)
    with pytest.raises(DataError, match="not a truth value"):
        rule and rule  # noqa: B018
    with pytest.raises(DataError, match="not a truth value"):
        assert not rule


def test_chained_comparisons_and_inequality_are_refused():
    with pytest.raises(DataError, match="not a truth value"):
        1 <= A <= 3  # noqa: B015
    with pytest.raises(DataError, match=r"write ~\(... == 1\)"):
        A != 1  # noqa: B015


@pytest.mark.parametrize("nonsense", ["3", None, [1], float("nan"), float("inf"), 1j, each])
def test_counts_are_compared_with_numbers(nonsense):
    counted = count("A")
    for call in (
        lambda: counted <= nonsense,
        lambda: counted >= nonsense,
        lambda: counted == nonsense,
        lambda: counted + nonsense,
        lambda: counted - nonsense,
        lambda: counted * nonsense,
    ):
        with pytest.raises(DataError, match="a count is combined and compared with numbers and counts, got"):
            call()


def test_counts_are_not_multiplied():
    with pytest.raises(DataError, match="a count is combined and compared with numbers"):
        A * B


@pytest.mark.parametrize("penalty", [-1, -1e-9, float("nan"), float("inf"), "2", [1]])
def test_penalties_are_numbers_of_at_least_zero(penalty):
    with pytest.raises(DataError, match=r"a penalty is a finite number of at least 0, got .* for count\('A'\) >= 1"):
        (A >= 1).soft(penalty)


@pytest.mark.parametrize("value", [-0.1, 1.1, "half", None, float("nan")])
def test_shares_lie_between_zero_and_one(value):
    for call in (lambda: share("A") <= value, lambda: share("A") >= value, lambda: share("A") == value):
        with pytest.raises(DataError, match="a share lies between 0 and 1"):
            call()
    for wrong in (lambda: share("A") + share("B"), lambda: 2 * share("A"), lambda: share("A") - count("B")):
        with pytest.raises(DataError, match="shares are compared, not added up"):
            wrong()
    with pytest.raises(DataError, match="shares are compared, not added up"):
        parse_rule("share('A') + share('B') >= 0.3")


def test_shares_need_a_label_and_cannot_be_negated():
    with pytest.raises(DataError, match="share needs a label"):
        share()
    with pytest.raises(DataError, match="is about the corpus and cannot be negated"):
        ~(share("A") <= 0.5)
    with pytest.raises(DataError, match="is about the corpus and cannot be negated"):
        (share("A") <= 0.5) >> (A >= 1)


@pytest.mark.parametrize("length", [0, -1, 1.5, "2", None])
def test_lengths_are_whole_and_positive(length):
    with pytest.raises(DataError, match="a length is a whole number of at least 1"):
        min_length(length)


@pytest.mark.parametrize(
    "call",
    [
        lambda: count(3),
        lambda: count("A", 3),
        lambda: runs(["A", None]),
        lambda: others(3),
        lambda: each(3),
        lambda: starts_with(3),
        lambda: min_length(2, 3),
        lambda: before(3, "A"),
        lambda: transitions(after=3),
        lambda: where(first).label(3),
        lambda: where(first).never(3),
        lambda: once_each(3),
        lambda: share(3),
    ],
)
def test_labels_are_strings(call):
    with pytest.raises(DataError, match=r"labels are strings, got (3; where y has numbers as labels.*|None)$"):
        call()


@pytest.mark.parametrize(
    "call", [starts_with, ends_with, others, where(first).label, where(first).never, lambda: starts_with([])]
)
def test_some_rules_need_a_label(call):
    with pytest.raises(DataError, match="at least one label is needed here"):
        call()


def test_each_and_others_stand_alone():
    with pytest.raises(DataError, match=r"labels are strings, got each; each and others\(...\) stand alone"):
        count("A", each)
    with pytest.raises(DataError, match=r"got others\('B'\); each and others"):
        starts_with("A", others("B"))


def test_rules_are_combined_with_rules():
    for call in (lambda: (A >= 1) & 3, lambda: (A >= 1) | A, lambda: (A >= 1) >> "B"):
        with pytest.raises(DataError, match="expected a rule, got"):
            call()
    with pytest.raises(DataError, match=r"expected a rule, got <function bio at .*>, a function; write bio\(...\)"):
        (A >= 1) & bio


@pytest.mark.parametrize("rule", [min_length(2), before("A", "B"), few_labels(word)], ids=repr)
def test_patterns_cannot_be_negated(rule):
    with pytest.raises(DataError, match="cannot be negated"):
        ~rule  # noqa: B018
    with pytest.raises(DataError, match="cannot be negated"):
        rule >> (A >= 1)


def test_few_labels_takes_a_column_and_a_number():
    for column_ in (first, word & pos, word[-1], "word"):
        with pytest.raises(DataError, match="few_labels takes one column of the token itself"):
            few_labels(column_)
    for number in (0, 1.5, "2"):
        with pytest.raises(DataError, match="at_least is a whole number of at least 1"):
            few_labels(word, at_least=number)


def test_changes_only_after_takes_conditions_on_one_token():
    X, y = [["a", ",", ";", "b", "c"]], [["A", "B", "C", "B", "A"]]
    for condition, broken in [
        (word.isin(","), 3),
        (word.isin(",") | word.isin(";"), 2),
        (~(word.isin(",") | word.isin(";")), 2),
        (word.ispunct() & ~word.isin(";"), 3),
        (~(word.ispunct() & word.isin(";")), 1),
    ]:
        rule = changes_only_after(condition)
        assert check([rule], X, y)[0].violations == broken
        assert repr(parse_rule(repr(rule))) == repr(rule)
    with pytest.raises(DataError, match="the condition first cannot be moved to a neighbour"):
        changes_only_after(first)
    with pytest.raises(DataError, match="a condition is a column expression"):
        changes_only_after("word")


def test_positions_are_whole_numbers():
    with pytest.raises(DataError, match="a position is a whole number, got 'a'"):
        position("a")


def test_parse_rule_wants_a_rule():
    for text in ("count('A')", "word", "3", "each", "share('A')"):
        with pytest.raises(DataError, match="is not a rule: a count needs a bound"):
            parse_rule(text)
    with pytest.raises(DataError, match=r"'once_each' is not a rule: it is a function; write once_each\(...\)"):
        parse_rule("once_each")


def test_counts_add_from_both_sides():
    assert repr(1 + count("A") >= 2) == repr(count("A") + 1 >= 2)


def test_columns_join_by_or():
    printed = "where(any_of(word.isdigit(), ~word.isupper())).label('A')"
    assert repr(where(word.isdigit() | ~word.isupper()).label("A")) == printed
    assert repr(parse_rule("where(word.isdigit() | ~word.isupper()).label('A')")) == printed
    both = where((word.istitle() & pos.isin("N")) | last).never("A")
    assert repr(both) == "where(any_of(word.istitle() & pos.isin('N'), last)).never('A')"
    assert repr(parse_rule(repr(both))) == repr(both)
    with pytest.raises(TypeError, match="unsupported operand"):
        word | "a"


def test_conditions_are_no_truth_values():
    for condition in (word.isdigit(), word & pos, first, ~first, word | pos):
        with pytest.raises(DataError, match="no truth value; for and, or, not write &, \\| and ~"):
            bool(condition)


def test_conditions_join_with_columns():
    assert repr(where(word.isdigit() & first).label("A")) == "where(all_of(word.isdigit(), first)).label('A')"
    assert repr(where(last | word.isdigit()).label("A")) == "where(any_of(last, word.isdigit())).label('A')"
    assert repr(parse_rule("where(word.isdigit() & first).label('A')")) == (
        "where(all_of(word.isdigit(), first)).label('A')"
    )


@pytest.mark.parametrize(
    "formula",
    [
        lambda a, b: a.hard() | b,
        lambda a, b: a | b.soft(2),
        lambda a, b: a & b.expected(),
        lambda a, b: a.soft() >> b,
        lambda a, b: a >> b.hard(),
        lambda a, b: ~a.hard(),
        lambda a, b: ~(a | b).hard(),
        lambda a, b: (a & b).soft(1) | b,
    ],
)
def test_parts_of_a_formula_have_no_reading(formula):
    a, b = count("A") >= 1, count("B") >= 1
    with pytest.raises(DataError, match="stands inside a formula and cannot have a reading of its own; give one to"):
        formula(a, b)


def test_parts_of_a_formula_have_no_name():
    with pytest.raises(DataError, match="cannot have a name of its own; give one to the formula"):
        (count("A") >= 1).named("some") | (count("B") >= 1)
    rule = ((count("A") >= 1) | (count("B") >= 1)).hard().named("some")
    assert (rule.title, rule.reading.kind) == ("some", "hard")


def test_conditions_are_checked_at_once():
    with pytest.raises(DataError, match=r'got False; for a word write word.isin\("pp"\)'):
        where(word == "pp")
    with pytest.raises(DataError, match=r"write when\(function\)"):
        count("A", where=lambda x, t: True)
    with pytest.raises(DataError, match=r"a condition is .*, got 3"):
        count("A", where=3)
    with pytest.raises(DataError, match="when takes a function of a sequence and a position, got 3"):
        when(3)


def test_conditions_of_nothing_are_refused():
    for make in (any_of, all_of):
        with pytest.raises(DataError, match=rf"{make.__name__}\(\) needs at least one condition"):
            make()


@pytest.mark.parametrize("number", [10**16, 10**400, -1e300])
def test_numbers_in_rules_are_of_a_size_that_sums_are_exact_for(number):
    for write in (lambda: count("a") >= number, lambda: number * count("a"), lambda: count("a") + number):
        with pytest.raises(DataError, match=r"lie between -1e\+15 and 1e\+15"):
            write()
    with pytest.raises(DataError, match="lie between"):
        10**10 * (10**10 * count("a"))


@pytest.mark.parametrize("write", [lambda: position(10**20), lambda: word[-(10**20)]])
def test_no_token_is_that_far_away(write):
    with pytest.raises(DataError, match="at most 1,000,000,000 away"):
        write()


def test_titles_stay_as_they_are_written_in_messages():
    """What stands in quotes can be copied back: the backslashes of a regular expression are not escaped twice."""
    rule = where(word.matches(r"^\d{5}$")).label("zip")
    assert repr(rule.title) == f'"{rule!r}"'
    assert repr(parse_rule(repr(rule.title)[1:-1])) == repr(rule)
    assert repr(rule.named("zip codes").title) == "'zip codes'"
    with pytest.raises(DataError, match=re.escape(r"""where(word.matches('^\\d{5}$'))""")):
        CCM.around(HMM().fit([["1"], ["2"]], [["a"], ["b"]]), [rule.hard()]).predict([["1"]])
