"""Span scores are compared with conlleval, whose counting is written out below as the script does it."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight.errors import DataError
from sidelight.metrics import (
    Score,
    confusion,
    label_scores,
    labels_per_word,
    mutual_information,
    one_to_many,
    one_to_one,
    paired_t_test,
    span_scores,
    spans,
    token_accuracy,
    variation_of_information,
)

# Which (previous tag, tag) pairs end and start a chunk in conlleval, with its later extension to E and S.
ENDS = {"BB", "BO", "BS", "IB", "IO", "IS"} | {last + tag for last in "ES" for tag in "BIESO"}
STARTS = {last + tag for last in "BIESO" for tag in "BS"} | {last + tag for last in "ESO" for tag in "IE"}


def conlleval(y_true, y_pred):
    """Count correct, guessed and true chunks a token at a time, with the script's state and its order of tests."""
    correct, guessed, true = Counter(), Counter(), Counter()
    last_t, last_g, inside = ("O", ""), ("O", ""), False

    def ended(last, now):
        return last[0] + now[0] in ENDS or (last[0] != "O" and last[1] != now[1])

    def started(last, now):
        return last[0] + now[0] in STARTS or (now[0] != "O" and last[1] != now[1])

    pairs = []
    for truth, guess in zip(y_true, y_pred, strict=True):
        pairs += [*zip(truth, guess, strict=True), ("O", "O")]  # a sentence break counts as outside
    for truth, guess in pairs:
        now_t, now_g = ((label[0], label[2:]) for label in (truth, guess))
        if inside:
            end_t, end_g = ended(last_t, now_t), ended(last_g, now_g)
            if end_t and end_g and last_t[1] == last_g[1]:
                inside = False
                correct[last_t[1]] += 1
            elif end_t != end_g or now_t[1] != now_g[1]:
                inside = False
        start_t, start_g = started(last_t, now_t), started(last_g, now_g)
        if start_t and start_g and now_t[1] == now_g[1]:
            inside = True
        true[now_t[1]] += start_t
        guessed[now_g[1]] += start_g
        last_t, last_g = now_t, now_g
    return correct, +guessed, +true


def percentages(correct, guessed, true):
    precision = 100 * correct / guessed if guessed else 0.0
    recall = 100 * correct / true if true else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def assert_like_conlleval(y_true, y_pred):
    scores = span_scores(y_true, y_pred)
    correct, guessed, true = conlleval(y_true, y_pred)
    assert set(scores.by_type) == set(guessed) | set(true)
    counts = {kind: (correct[kind], guessed[kind], true[kind]) for kind in scores.by_type}
    counts[None] = (correct.total(), guessed.total(), true.total())
    for kind, expected in counts.items():
        score = scores.overall if kind is None else scores.by_type[kind]
        assert (score.correct, score.predicted, score.support) == expected
        assert 100 * np.array([score.precision, score.recall, score.f1]) == pytest.approx(percentages(*expected))


def tagged(prefixes):
    label = st.sampled_from(["O", *(f"{prefix}-{kind}" for prefix in prefixes for kind in ("A", "B", "A-B"))])
    sequence = st.lists(st.tuples(label, label, st.booleans()), min_size=1, max_size=15)
    return st.lists(sequence, min_size=1, max_size=5)


@pytest.mark.parametrize("prefixes", ["BI", "BIES", "I", "IE"])
def test_spans_are_counted_as_conlleval_does(prefixes):
    @given(tagged(prefixes))
    def check(sequences):
        y_true = [[true for true, _, _ in sequence] for sequence in sequences]
        y_pred = [[true if same else other for true, other, same in sequence] for sequence in sequences]
        assert_like_conlleval(y_true, y_pred)

    check()


@given(tagged("BILU"))
def test_bilou_is_iobes_with_other_letters(sequences):
    iobes = {"L": "E", "U": "S"}
    for sequence in sequences:
        labels = [label for label, _, _ in sequence]
        assert spans(labels) == spans([iobes.get(label[0], label[0]) + label[1:] for label in labels])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("O B-A I-A O", [("A", 1, 3)]),
        ("B-A B-A", [("A", 0, 1), ("A", 1, 2)]),
        ("I-A I-A O I-A", [("A", 0, 2), ("A", 3, 4)]),
        ("B-A I-B I-B", [("A", 0, 1), ("B", 1, 3)]),
        ("B-A I-A E-A E-A", [("A", 0, 3), ("A", 3, 4)]),
        ("S-A I-A S-A", [("A", 0, 1), ("A", 1, 2), ("A", 2, 3)]),
        ("U-A B-A L-A", [("A", 0, 1), ("A", 1, 3)]),
        ("B-A-B I-A-B", [("A-B", 0, 2)]),
        ("O O", []),
        ("", []),
        ("NN NN VB O O NN", [("NN", 0, 2), ("VB", 2, 3), ("NN", 5, 6)]),
        ("N-P N-P", [("N-P", 0, 2)]),
        ("B-A I", [("B-A", 0, 1), ("I", 1, 2)]),
    ],
)
def test_spans(labels, expected):
    assert spans(labels.split()) == expected


def test_schemes_can_be_chosen():
    assert spans(["B-A", "B-A"], "runs") == [("B-A", 0, 2)]
    assert spans(["B", "I", "O", "B"], "bio") == [("", 0, 2), ("", 3, 4)]
    with pytest.raises(DataError, match="got 'NN'; use scheme='runs' for plain labels"):
        spans(["NN"], "bio")
    with pytest.raises(DataError, match="expected the scheme 'bio', 'runs' or 'auto', got 'iob'"):
        spans(["O"], "iob")  # type: ignore[arg-type]


def test_the_scheme_is_chosen_by_all_labels():
    scores = span_scores([["B-A", "I-A"], ["O"]], [["B-A", "I-A"], ["X"]])
    assert set(scores.by_type) == {"B-A", "I-A", "X"}
    assert set(span_scores([["B-A", "I-A"]], [["O", "O"]]).by_type) == {"A"}


def test_span_scores_by_hand():
    y_true = [["B-A", "I-A", "O", "B-B"], ["B-A"]]
    y_pred = [["B-A", "I-A", "O", "B-A"], ["O"]]
    scores = span_scores(y_true, y_pred)
    assert scores.overall == Score(1 / 2, 1 / 3, 0.4, support=3, predicted=2, correct=1)
    assert scores.by_type == {
        "A": Score(1 / 2, 1 / 2, 1 / 2, support=2, predicted=2, correct=1),
        "B": Score(0.0, 0.0, 0.0, support=1, predicted=0, correct=0),
    }
    assert (scores.accuracy, scores.tokens) == (3 / 5, 5)


def test_spans_do_not_cross_sequences():
    assert span_scores([["I-A"], ["I-A"]], [["I-A"], ["I-A"]]).overall.support == 2


def test_confusion_and_label_scores_by_hand():
    y_true, y_pred = [["a", "b", "b"], ["c"]], [["a", "b", "a"], ["d"]]
    labels, matrix = confusion(y_true, y_pred)
    assert labels == ["a", "b", "c", "d"]
    assert matrix.tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    scores = label_scores(y_true, y_pred)
    assert list(scores) == labels
    assert scores["a"] == Score(1 / 2, 1.0, 2 / 3, support=1, predicted=2, correct=1)
    assert scores["b"] == Score(1.0, 1 / 2, 2 / 3, support=2, predicted=1, correct=1)
    assert scores["d"] == Score(0.0, 0.0, 0.0, support=0, predicted=1, correct=0)
    assert token_accuracy(y_true, y_pred) == 2 / 4


def test_arrays_of_labels_are_sequences_too():
    y_true = [["B-A", "O"]]
    y_pred = [np.array(["B-A", "B-A"])]
    assert token_accuracy(y_true, y_pred) == 0.5
    assert span_scores(y_true, y_pred).overall.correct == 1
    assert confusion(y_true, y_pred)[1].tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize(
    "metric", [token_accuracy, span_scores, label_scores, confusion, one_to_many, one_to_one, mutual_information]
)
@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([["a"], ["b"]], [["a"]], r"as many predicted as true sequences \(2\), got 1"),
        ([["a"], ["b", "c"]], [["a"], ["b"]], "sequence 1: expected 2 labels, one a token, got 1"),
        ([["a"], None], [["a"], ["b"]], "sequence 1: expected a list of true labels, got None"),
        ([["a", None]], [["a", "b"]], r"sequence 0, position 1: expected a true label .*, got None"),
        ([["a"]], [[frozenset({"a"})]], "sequence 0, position 0: expected a predicted label"),
        ([["a"]], ["a"], "sequence 0: expected a list of predicted labels, got 'a'"),
        ([], [], "expected at least one token to score"),
        ([[]], [[]], "expected at least one token to score"),
    ],
)
def test_what_cannot_be_scored(metric, y_true, y_pred, message):
    with pytest.raises(DataError, match=message):
        metric(y_true, y_pred)


def test_induced_labels_by_hand():
    """Two states: s meets N three times and V once, t meets V twice; u meets N once."""
    y_true = [["N", "N", "N", "V"], ["V", "V", "N"]]
    y_pred = [["s", "s", "s", "s"], ["t", "t", "u"]]
    assert one_to_many(y_true, y_pred) == 6 / 7
    assert one_to_one(y_true, y_pred) == 5 / 7
    true = -(4 / 7 * np.log2(4 / 7) + 3 / 7 * np.log2(3 / 7))
    left = 4 / 7 * (-(3 / 4) * np.log2(3 / 4) - 1 / 4 * np.log2(1 / 4))  # only s leaves a doubt
    np.testing.assert_allclose(mutual_information(y_true, y_pred), true - left)
    states = -(4 / 7 * np.log2(4 / 7) + 2 / 7 * np.log2(2 / 7) + 1 / 7 * np.log2(1 / 7))
    np.testing.assert_allclose(variation_of_information(y_true, y_pred), left + states - (true - left))


def test_the_best_mapping_is_not_the_greedy_one():
    """Greedily s would take N (5) and leave t with nothing of V (0); s to V and t to N gives 4 + 4."""
    y_true = [["N"] * 5 + ["V"] * 4 + ["N"] * 4]
    y_pred = [["s"] * 9 + ["t"] * 4]
    assert one_to_one(y_true, y_pred) == 8 / 13
    assert one_to_many(y_true, y_pred) == 9 / 13


def test_induced_labels_may_be_named_as_they_like():
    y_true = [["N", "V", "D"], ["N", "V"]]
    renamed = [["V", "D", "N"], ["V", "D"]]
    assert one_to_many(y_true, renamed) == one_to_one(y_true, renamed) == 1.0
    np.testing.assert_allclose(mutual_information(y_true, renamed), mutual_information(y_true, y_true))
    np.testing.assert_allclose(variation_of_information(y_true, renamed), 0, atol=1e-12)
    constant = [["s"] * 3, ["s"] * 2]
    np.testing.assert_allclose(mutual_information(y_true, constant), 0, atol=1e-12)


def test_labels_per_word_needs_probabilities():
    with pytest.raises(DataError, match="as predict_marginals gives"):
        labels_per_word([["a", "b"]], [["X", "Y"]], at_least=1)


def test_labels_per_word_by_hand():
    words = [["a", "b", "a"], ["c", "a"]]
    marginals = [np.array([[0.9, 0.1], [0.5, 0.5], [0.4, 0.6]]), np.array([[1.0, 0.0], [0.7, 0.3]])]
    np.testing.assert_allclose(labels_per_word(words, marginals, at_least=2), 0.9 + 0.6)
    np.testing.assert_allclose(labels_per_word(words, marginals, at_least=1), (1.5 + 1.0 + 1.0) / 3)
    with pytest.raises(DataError, match="no word is seen 11 times"):
        labels_per_word(words, marginals)
    with pytest.raises(DataError, match="a row of probabilities for each word"):
        labels_per_word(words, marginals[:1])


def test_paired_t_tests_are_those_of_scipy():
    from scipy.stats import ttest_rel

    first, second = [71.0, 74.5, 69.0, 80.0], [70.0, 72.0, 69.5, 77.0]
    found, expected = paired_t_test(first, second), ttest_rel(first, second)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.probability == pytest.approx(expected.pvalue)
    assert (found.difference, found.pairs) == (1.5, 4)
    assert "+1.5 ± 0.79 on average of 4 pairs, paired t-test p = 0.15" in str(found)
    assert paired_t_test([1.0, 1.0], [1.0, 1.0]).probability == 1.0
    assert paired_t_test([2.0, 2.0], [1.0, 1.0]).probability == 0.0
    for scores in (([1.0], [2.0]), ([1.0, 2.0], [1.0])):
        with pytest.raises(DataError, match="a paired test needs two scores or more of each system"):
            paired_t_test(*scores)
    with pytest.raises(DataError, match="finite scores"):
        paired_t_test([1.0, float("nan")], [1.0, 1.0])
