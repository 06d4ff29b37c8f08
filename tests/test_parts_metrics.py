import pytest

from sidelight import DataError, GoldLinks, alignment_scores, link_scores, tree_scores


def test_attachment_scores():
    found = tree_scores([[2, 0], [0]], [[2, 0], [0]])
    assert (found.uas, found.las, found.exact, found.words) == (1.0, None, 1.0, 3)
    truth = [[(2, "a"), (0, "b"), (2, "c")], [(0, "x"), (None, "y")], [None, (0, "r")]]
    guess = [[(2, "a"), (0, "z"), (1, "c")], [(0, "x"), (1, "y")], [(2, "q"), (0, "r")]]
    found = tree_scores(truth, guess, labelled=True)
    assert (found.words, found.unknown, found.uas, found.las) == (5, 2, 4 / 5, 3 / 5)
    assert (found.whole, found.exact, found.sentences) == (1, 0.0, 3)


def test_scores_without_punctuation():
    X = [[("a", "X"), ("...", "PUNCT")], ["$", ",a"]]
    found = tree_scores([[2, 0], [0, 1]], [[0, 1], [0, 1]], X=X).without
    assert (found.words, found.uas, found.las) == (3, 2 / 3, None)
    assert tree_scores([[0]], [[0]]).without is None
    assert tree_scores([[0]], [[0]], X=[["!"]]).without is None


def test_scores_of_links():
    found = link_scores([[(0, 0), ((1, 3), (1, 2))], []], [[(0, 0), (1, 1)], []])
    assert (found.links.precision, found.links.recall, found.exact, found.pairs) == (0.5, 0.5, 0.5, 2)
    assert link_scores([[((0, 1), (2, 3))]], [[(0, 2)]]).exact == 1.0


def test_what_cannot_be_compared():
    with pytest.raises(DataError, match="as many predicted outputs as true ones"):
        tree_scores([[0]], [])
    with pytest.raises(DataError, match="expected 2 heads, one a word, got 1"):
        tree_scores([[2, 0]], [[0]])
    with pytest.raises(DataError, match="no head is known"):
        tree_scores([[None]], [[0]])
    with pytest.raises(DataError, match="no links are known"):
        link_scores([], [])


def test_alignment_error_rate():
    gold = [GoldLinks(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (1, 2)})), GoldLinks()]
    scores = alignment_scores(gold, [[(0, 0), (1, 2), (2, 2)], []])
    assert (scores.precision, scores.recall) == (2 / 3, 1 / 2)
    assert scores.aer == pytest.approx(1 - (1 + 2) / (3 + 2))
    assert alignment_scores(gold, [[], []]).aer == 1.0
    with pytest.raises(DataError, match="no links are known"):
        alignment_scores(gold[1:], [[]])
