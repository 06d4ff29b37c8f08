"""Trees with valence against listing every tree."""

import numpy as np
import pytest

from sidelight import DataError, NotSupported, Trees
from sidelight.structures.trees import ValenceTrees, with_valence
from tests.structures.test_trees import check, parts_of, random_scores

VALENCE = ValenceTrees(1)


def check_all(scores, k=4):
    with pytest.MonkeyPatch.context() as patch:  # draws are not offered
        patch.setattr(ValenceTrees, "sample", lambda self, scores, draws, *, seed: self.argmax(scores))
        return check(VALENCE, scores, k)


@pytest.mark.parametrize(("scale", "forbid"), [(1.0, 0.0), (400.0, 0.0), (1.0, 0.3), (50.0, 0.5)])
def test_against_enumeration(scale, forbid):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        check_all(random_scores(rng, [(1, 2), (4, 2), (2, 2), (5, 2), (3, 2)], scale, forbid))


def test_six_words():
    """All trees of six words; there are 728 projective ones with one root."""
    scores = random_scores(np.random.default_rng(0), [(6, 2)], 2.0)
    assert len(list(VALENCE.support(scores, 0))) == 728
    assert check_all(scores)


def test_with_equal_parts_it_is_the_plain_structure():
    rng = np.random.default_rng(1)
    arcs = random_scores(rng, [(7, 1), (12, 1)])
    both = parts_of(np.repeat(arcs.values, 2), [(7, 2), (12, 2)])
    plain, valence = Trees(1, projective=True).marginals(arcs), VALENCE.marginals(both)
    np.testing.assert_allclose(valence.log_partition, plain.log_partition)
    np.testing.assert_allclose(valence.parts.values.reshape(-1, 2).sum(axis=1), plain.parts.values, atol=1e-12)
    best = VALENCE.argmax(both)
    np.testing.assert_array_equal(best.outputs.values // 2, Trees(1, projective=True).argmax(arcs).outputs.values)
    first = best.outputs.inputs(0, 1).values
    np.testing.assert_array_equal(with_valence(first // 2), first)


def test_valence_of_heads():
    """Of the two children on the left of the last word the nearer one is the nearest; on the right there is one."""
    assert with_valence(np.array([3, 3, 0, 3, 3])).tolist() == [7, 6, 0, 6, 7]


def test_what_is_not_offered():
    with pytest.raises(NotSupported, match="no samples"):
        VALENCE.sample(parts_of(0.0, [(2, 2)]), 1, seed=0)
    with pytest.raises(DataError, match="input 1 has no parts"):
        VALENCE.marginals(parts_of(0.0, [(2, 2), (2, 3)]))
