"""Trees that are projected along links."""

import numpy as np
import pytest

from sidelight import DataError, Trees, complete_at_random, project_bitext, projected_heads
from sidelight.transfer import listed_heads

SOURCE = [("the", "DET"), ("dogs", "NOUN"), (",", "PUNCT"), ("bark", "VERB"), (".", "PUNCT")]
HEADS = [2, 4, 4, 0, 3]  # the full stop depends on the comma
TARGET = [("les", "DET"), ("chiens", "NOUN"), ("aboient", "VERB"), (".", "PUNCT")]
LINKS = [(0, 0), (1, 1), (3, 2), (4, 3)]


def test_projected_heads():
    assert projected_heads([2, 3, 0], [(0, 0), (1, 1), (2, 2)], 4) == [[2], [3], [0], []]
    # A word that is linked twice hands its arcs on twice; a word is not its own head.
    assert projected_heads([2, 0], [(0, 0), (1, 0), (1, 1)], 2) == [[0, 2], [0]]
    assert projected_heads([2, 0], [], 1) == [[]]
    with pytest.raises(DataError, match="link 0-3 is outside"):
        projected_heads([0], [(0, 3)], 2)


def test_punctuation_and_links_of_other_kinds_are_left_out():
    (found,) = project_bitext([SOURCE], [HEADS], [TARGET], [LINKS])
    assert found == [("les", "DET", "2", "leaf"), ("chiens", "NOUN", "3", ""), ("aboient", "VERB", "0", "")]
    assert listed_heads(found) == [[2], [3], [0]]
    crossed = [(0, 0), (1, 2), (3, 1)]  # a noun and a verb
    assert project_bitext([SOURCE], [HEADS], [TARGET], [crossed]) == []


def test_sentences_that_are_left_out():
    fragment = [("dogs", "NOUN")]
    assert project_bitext([fragment], [[0]], [TARGET], [[(0, 1)]]) == []
    assert project_bitext([SOURCE], [HEADS], [TARGET], [LINKS], longest=2) == []
    with pytest.raises(DataError, match="as many sentences as heads, translations and links"):
        project_bitext([SOURCE], [], [TARGET], [LINKS])


def test_completion_keeps_what_fits_and_makes_trees():
    """All projected arcs of a tree are kept; of arcs that exclude each other one is; every result is a tree."""
    trees = Trees(1, projective=True)
    assert complete_at_random([[[2], [0], [2]]]) == [[2, 0, 2]]
    lists = [[[2], [3], [1], []], [[0], [0], []], [[], [], [], [], []], [[3], [4], [], [3]], [[2], [], [1]]]
    for seed in range(20):
        for listed, heads in zip(lists, complete_at_random(lists, random_state=seed), strict=True):
            assert any(np.array_equal(heads, one) for one in trees.all_outputs((len(heads), 1)))
            if listed == [[2], [], [1]]:  # word 2 lies under the arc from 1 to 3, so it cannot be the head of 1 as well
                assert (heads[0] == 2) != (heads[2] == 1)
    assert len({tuple(complete_at_random(lists, random_state=seed)[2]) for seed in range(20)}) > 5
