"""What every kind of rule answers, and that a kind which no reader knows by name works everywhere."""

from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise, product
from pkgutil import iter_modules

import numpy as np
import pytest

import sidelight
from sidelight import (
    CCM,
    HMM,
    DataError,
    NotSupported,
    PosteriorRegularization,
    before,
    bio,
    check,
    count,
    each,
    few_labels,
    min_length,
    once_each,
    others,
    parse_rule,
    rules,
    share,
    word,
)
from sidelight.inference.checking import labels_unused
from sidelight.inference.compiled import CompiledRules
from sidelight.report.rules import check_data, violated_at
from sidelight.rules.automata import Automaton, Compilation, compile_rules, labels_named
from sidelight.rules.labels import Labels, as_labels
from sidelight.rules.language import Rule
from sidelight.rules.rows import compile_statements

LABELS = ["A", "B", "C"]
# One rule of every kind, with the labels it names.
KINDS = [
    (count("A") >= 1, "A"),
    (share("A") == 0.3, "A"),
    ((count("A") >= 1) | (count("B") >= 1), "AB"),
    (min_length(2, "A"), "A"),
    (before("A", "B"), "AB"),
    (few_labels(word, at_least=1), ""),
    (bio().expected(), ""),
]


def test_every_kind_is_tried_here():
    for module in iter_modules(rules.__path__):
        import_module(f"sidelight.rules.{module.name}")
    kinds = {kind for kind in Rule.__subclasses__() if kind.__module__.startswith("sidelight.")}
    assert {type(rule) for rule, _ in KINDS} == kinds


@pytest.mark.parametrize(("rule", "named"), KINDS, ids=repr)
def test_what_every_kind_answers(rule, named):
    assert labels_named([rule]) == set(named)
    assert repr(parse_rule(repr(rule))) == repr(rule)
    assert [(title, repr(one)) for title, one in rule.expand(LABELS, "title")] == [("title", repr(rule))]
    assert rule.only_about_corpus == rule.about_corpus
    X, y = [["a", "b", "a"], ["c"]], [["A", "B", "C"], ["B"]]
    found = check([rule], X, y)[0]
    if rule.about_corpus:
        assert (found.violations > 0, found.sequences) == (True, 0)
        with pytest.raises(NotSupported, match="is about the corpus, not about one output"):
            compile_rules([rule], X, LABELS)
    else:
        automata = compile_rules([rule], X, LABELS)
        assert [(m.rule, m.title, len(m.kind)) for m in automata] == [(rule, rule.title, 4)]
    try:
        statements = compile_statements([rule], X, LABELS)
    except NotSupported as error:
        assert "is not a sum over parts" in str(error) or rule.per_word  # noqa: PT017
    else:
        assert [(s.rule, s.corpus) for s in statements] == [(rule, rule.about_corpus)]


@pytest.mark.parametrize(
    ("rule", "first"),
    [
        (once_each(), ["A", "", "A", ""]),
        (count(each) >= count(others(each)), ["A", "", "A", ""]),
        (min_length(2, each), ["A"]),
        (before(each, "C"), ["A", "C"]),
        (before(others(each), each), ["A", "A"]),
    ],
    ids=repr,
)
def test_each_is_replaced_wherever_a_kind_names_labels(rule, first):
    expanded = rule.named("it").expand(LABELS, "it")
    assert [title for title, _ in expanded] == ["it [A]", "it [B]", "it [C]"]
    for name, (_, single) in zip(LABELS, expanded, strict=True):
        assert not any(these.names == each for these in single.label_sets())
        assert name in labels_named([single])
    assert ["".join(these.names) for these in expanded[0][1].label_sets()] == first


@pytest.mark.parametrize(
    ("rule", "whole"),
    [
        (count("A") <= 0, False),
        (count("A") <= 1, True),
        (count("A") >= count("B"), False),
        (min_length(1), False),
        (min_length(2), True),
        (before("A", "B"), True),
        ((count("A") <= 0) & (count("B") <= 0), False),
        ((count("A") <= 0) & min_length(2), True),
        ((count("A") <= 0) | (count("B") <= 0), True),
    ],
    ids=repr,
)
def test_rules_about_whole_outputs(rule, whole):
    assert rule.about_whole_outputs == whole


@pytest.mark.parametrize(
    ("rule", "some", "only"),
    [
        (share("A") <= 0.5, True, True),
        ((share("A") <= 0.5) & (count("B") <= 3).over_corpus(), True, True),
        ((share("A") <= 0.5) & (count("B") <= 3), True, False),
        ((share("A") <= 0.5) & few_labels(), True, False),
        ((share("A") <= 0.5) | (share("B") <= 0.5), True, False),
        (few_labels(), True, True),
        ((count("A") <= 0) & (count("B") <= 0), False, False),
    ],
    ids=repr,
)
def test_rules_about_the_corpus(rule, some, only):
    assert (rule.about_corpus, rule.only_about_corpus) == (some, only)


def test_words_are_public_and_read_from_text():
    for name, module in rules.WORDS.items():
        home = import_module(f"sidelight.rules.{module}")
        assert getattr(sidelight, name) is getattr(home, name)
        assert name in sidelight.__all__
    with pytest.raises(DataError, match=f"there are word, pos, column, {', '.join(rules.WORDS)}$"):
        parse_rule("often('A')")


@dataclass(frozen=True, eq=False, repr=False)
class Alternates(Rule):
    """No two neighbours both have labels of `to`; each such pair is a violation. No reader knows this kind."""

    to: Labels

    def body(self):
        return f"alternates({self.to!r})"

    def automata(self, at: Compilation):
        inside = at.members(self.to)
        pairs = np.vstack((np.outer(inside, inside), np.zeros(len(at.labels))))
        return [Automaton.of_labels(at, pairs, [[0, 0]], [[0, 1]])]


def meaning(y, these):
    return sum(a in these and b in these for a, b in pairwise(y))


def test_a_new_kind_is_one_class():
    rule, X = Alternates(as_labels(["A", "C"])), [["x"] * 4] * 81
    y = [list(labels) for labels in product(LABELS, repeat=4)]
    assert (repr(rule.soft(2)), labels_named([rule])) == ("(alternates('A', 'C')).soft(2)", {"A", "C"})
    codes = np.array([LABELS.index(c) for one in y for c in one], np.int32)
    rules = [rule, Alternates(as_labels(each)), rule & (count("B") <= 1)]
    expected = [
        (meaning(b, "AC"), sum(meaning(b, c) for c in LABELS), meaning(b, "AC") + max(b.count("B") - 1, 0)) for b in y
    ]
    np.testing.assert_array_equal(CompiledRules.compile(rules, X, LABELS).violations(codes), expected)
    assert violated_at(rule, X[0], list("AACB")) == [1, 2]
    assert violated_at(rule, X[0], list("ABCB")) == []
    assert check_data([rule], X, y, None, examples=0)[0].gold.degree == sum(row[0] for row in expected)
    assert labels_unused([rule], ["A", "B"]) == [(rule.title, ["C"])]


def test_learners_take_a_new_kind():
    X, y = [["a", "b", "a", "c"], ["b", "a", "c", "a"]], [list("AABC"), list("BAAC")]
    rule = Alternates(as_labels("A")).hard()
    assert [meaning(labels, "A") for labels in HMM().fit(X, y).predict(X)] != [0, 0]
    assert [meaning(labels, "A") for labels in CCM(HMM(), [rule]).fit(X, y).predict(X)] == [0, 0]
    with pytest.raises(
        NotSupported, match=r"rule \"alternates\('A'\)\" is not a sum over parts, .* read it as hard or"
    ):
        PosteriorRegularization(HMM(), [Alternates(as_labels("A"))]).fit(X, y)


def test_a_new_kind_cannot_do_what_its_class_does_not_say():
    rule = Alternates(as_labels("A"))
    with pytest.raises(DataError, match=r"alternates\('A'\) cannot be negated"):
        ~rule  # noqa: B018
    with pytest.raises(NotSupported, match=r"\"alternates\('A'\)\" cannot stand inside &, \|, >> or ~"):
        compile_rules([rule | (count("A") >= 1)], [["x"]], LABELS)
    with pytest.raises(DataError, match=r"rule \"alternates\('Q'\)\" names the label 'Q'; known are A, B, C"):
        compile_rules([Alternates(as_labels("Q"))], [["x"]], LABELS)


@pytest.mark.parametrize("wrong", ["count", None, count("A")])
def test_what_is_no_rule_is_refused(wrong):
    for call in (
        lambda: labels_named([wrong]),
        lambda: check([wrong], [["x"]], [["A"]]),
        lambda: compile_statements([wrong], [["x"]], LABELS),
    ):
        with pytest.raises(DataError, match="expected a rule, got"):
            call()
