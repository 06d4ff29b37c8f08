import pytest

from sidelight import CCM, HMM, CoDL, generate_references, parse_rule
from sidelight.demo.rules import REFERENCE_RULES
from sidelight.inference.checking import labels_unused
from sidelight.report.explanations import what_rules_changed
from sidelight.report.models import inner_models
from sidelight.report.rules import check_data, rules_of, violated_at
from sidelight.report.text import marked_text

TOKENS = ["A", ".", "B", "C", "D"]


@pytest.mark.parametrize(
    ("rule", "labels", "places"),
    [
        ("starts_with('b')", "aabbb", [0]),
        ("once_each()", "abaab", [2, 4]),
        ("runs('a') <= 1", "ababa", [2, 4]),
        ("changes_only_after(punctuation)", "aabab", [3, 4]),
        ("where(word.isin('B', 'D')).label('b')", "aaaaa", [2, 4]),
        ("count('a') <= 2", "abaaa", [3, 4]),
        ("before('a', 'b')", "abaab", [2, 3]),
        ("min_length(2)", "abbab", [0, 3, 4]),
        ("min_length(3, 'b')", "abbaa", [1, 2]),
        ("count('b') >= 2", "aaaab", []),
        ("(count('a') >= 1) >> (count('b') == 0)", "aaaab", []),
        ("starts_with('a') & where(last).label('a')", "babab", [0, 4]),
        ("count('z') == 0", "aabbb", []),
    ],
)
def test_places_of_violations(rule: str, labels: str, places: list[int]) -> None:
    assert violated_at(parse_rule(rule), TOKENS, list(labels)) == places


def test_marked_text_shortens_what_is_not_marked() -> None:
    words = list("abcdefghijkl")
    assert marked_text(words, ["x"] * 12, []).plain == "[x] a b c d … j k l"
    assert marked_text(words, ["x"] * 12, [0, 11]).plain == "[x] »a« b c d e f g h i j k »l«"
    assert marked_text([*"abcdefgh", ".", ".", "i"], ["x"] * 11, []).plain == "[x] a b c d … i"


def test_rules_of_models() -> None:
    X, y = generate_references(12)
    rules = [parse_rule("once_each()").named("once"), parse_rule("starts_with('author')").hard()]
    model = CCM(HMM(), rules).fit(X, y)
    once, start = rules_of(model, X, y)
    assert (once.name, once.text, once.reading, once.learned) == ("once", "once_each()", "soft", True)
    assert once.penalty == model.penalties_[0]
    assert (start.reading, start.penalty, start.learned) == ("hard", None, False)
    assert once.violations is not None
    assert once.violations.of == 12
    assert [use.violations for use in rules_of(model)] == [None, None]
    assert rules_of(model.base_) == []


def test_models_inside() -> None:
    X, y = generate_references(8)
    ccm = CCM(HMM(), []).fit(X, y)
    codl = CoDL(HMM()).fit(X, [*y[:4], *[None] * 4])
    assert inner_models(ccm) == {"": ccm.base_}
    assert inner_models(ccm.base_) == {"": ccm.base_}
    assert inner_models(codl) == {"labelled data": codl.base_, "unlabelled data": codl.driven_}
    assert inner_models(CCM.around(codl, [])) == inner_models(codl)


def test_what_rules_changed() -> None:
    X, y = generate_references(40, seed=2)
    model = CCM(HMM(), list(REFERENCE_RULES)).fit(X[:10], y[:10])
    penalties = model.penalties_.copy()
    for x in X[10:]:
        labels = model.predict([x])[0]
        change = what_rules_changed(model, x, labels)
        assert change is not None
        assert change.without == model.base_.predict([x])[0]
        assert change.tokens == sum(map(str.__ne__, change.without, labels))
        cost = sum((r.penalty or 0) * (r.without - r.with_rules) for r in change.rules)
        assert cost > 0 if change.tokens else cost == 0
    assert (model.penalties_ == penalties).all()
    assert what_rules_changed(model.base_, X[0], y[0]) is None


def test_check_data() -> None:
    X, y = generate_references(30)
    found = check_data(REFERENCE_RULES, X, y, y, examples=2)
    assert [one.gold for one in found] == [one.predicted for one in found]
    for one in found:
        assert len(one.examples) <= 2
        for example in one.examples:
            assert (example.tokens, example.labels) == (X[example.sequence], y[example.sequence])
            assert example.at
    assert check_data(REFERENCE_RULES, X, [None] * 30, y, examples=0)[0].gold is None


def test_labels_that_occur_nowhere() -> None:
    rules = [parse_rule("count('a') >= 1"), parse_rule("starts_with('b', 'c')")]
    assert labels_unused(rules, ["a", "b"]) == [("starts_with('b', 'c')", ["c"])]
    assert labels_unused(rules, ["a", "b", "c"]) == []
    assert labels_unused([*rules, parse_rule("count('c', 'd') >= 1")], ["a", "b"]) == [
        ("starts_with('b', 'c')", ["c"]),
        ("count('c', 'd') >= 1", ["d"]),
    ]
