"""The page about new structures: its code runs as it stands, in few lines, and the structure passes the kit."""

import re
from pathlib import Path

import numpy as np
import pytest

from sidelight import (
    CCM,
    CRF,
    JLIS,
    LatentStructuralSVM,
    PosteriorRegularization,
    SelfTraining,
    StructuralSVM,
    TransductiveSVM,
    count,
)
from sidelight.errors import DataError, NotSupported
from sidelight.structures.flat import FlatParts, KnownOutputs
from sidelight.structures.known import Outputs
from sidelight.supervision import Signal
from tests.structure_kit import check_argmax, check_entropy, check_kbest, enumerate_outputs

PAGE = Path(__file__).parents[1] / "docs" / "structures.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What the page defines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        names: dict = {"__name__": "page"}
        for block in BLOCKS:
            exec(compile(block, str(PAGE), "exec"), names)
        return names


def test_four_learners_find_most_of_it(page):
    assert page["scores"].keys() == {"CRF", "StructuralSVM", "StructuredPerceptron", "MIRA"}
    assert min(page["scores"].values()) > 0.9


def test_the_structure_is_short():
    lines = [line for line in BLOCKS[0].splitlines() if line.strip()]
    assert len(lines) < 50


def test_what_the_page_says_of_errors(page):
    with pytest.raises(DataError, match=r"sentence 1: \(3, 99\) is no output: a stretch of \d+ words begins before it"):
        page["crf"].fit(page["X"][:2], [(0, 1), (3, 99)])
    with pytest.raises(DataError, match="X has 3 sentences but y has 2"):
        page["crf"].fit(page["X"][:3], page["y"][:2])
    with pytest.raises(DataError, match="sentence 0: 3 is no output"):
        page["crf"].fit(page["X"][:2], [3, (0, 1)])
    with pytest.raises(DataError, match="X must be a list of"):
        page["crf"].predict("abc")
    for learner in (JLIS(task=page["FindSpan"]()), SelfTraining(CRF(task=page["FindSpan"]()))):
        assert learner.fit(page["X"][:60], page["y"][:60]).score(page["X"], page["y"]) > 0.9
    some = [one if i % 3 else None for i, one in enumerate(page["y"][:60])]
    found = TransductiveSVM(task=page["FindSpan"](), change=0.1).fit(page["X"][:60], some)
    assert found.score(page["X"], page["y"]) > 0.9
    with pytest.raises(NotSupported, match="FindSpan takes no rules; give the task a method `view`"):
        CCM(CRF(task=page["FindSpan"]()), [count() <= 1]).fit(page["X"], page["y"])
    with pytest.raises(NotSupported, match="works out expectations under rules, which FindSpan does not offer"):
        PosteriorRegularization(CRF(task=page["FindSpan"]()), [count() <= 1]).fit(page["X"], page["y"])
    with pytest.raises(
        NotSupported, match=r"CRF cannot learn from unlabelled sentences \(None\) .*; use CoDL or TransductiveSVM"
    ):
        page["crf"].fit(page["X"][:2], [None, (0, 1)])
    with pytest.raises(NotSupported, match="FindSpan does not say which parts belong to a token"):
        page["crf"].explain(page["X"][0])


def test_known_outputs_are_kept(page):
    """`complete` keeps to what is known, and a latent SVM of outputs that are all known is an SVM."""
    X, y, task = page["X"], page["y"], page["FindSpan"]()
    assert page["crf"].complete(X[:3], [None, (0, 1), None])[1] == (0, 1)
    assert page["crf"].predict([]) == []
    latent, plain = (learner(task=task, C=1.0).fit(X[:40], y[:40]) for learner in (LatentStructuralSVM, StructuralSVM))
    assert abs(latent.score(X[80:], y[80:]) - plain.score(X[80:], y[80:])) < 0.1


def scores_of(rng, sizes, forbid=0.0):
    offsets = np.concatenate(([0], np.cumsum([n * (n + 1) // 2 for n in sizes]))).astype(np.int64)
    values = np.where(rng.random(offsets[-1]) < forbid, -np.inf, rng.normal(size=offsets[-1]))
    values[offsets[:-1]] = 0.0
    return FlatParts(values, offsets, np.array(sizes)[:, None])


@pytest.mark.parametrize("forbid", [0.0, 0.4])
def test_the_kit(page, forbid):
    rng = np.random.default_rng(0)
    structure, scores = page["OneSpan"](1), scores_of(rng, [1, 3, 4, 2], forbid)
    listed = [enumerate_outputs(structure, scores, i) for i in range(len(scores))]
    check_argmax(structure, scores, listed)
    check_kbest(structure, scores, listed, 4)
    check_entropy(structure, scores, listed)
    marginals = structure.marginals(scores)
    for i, (outputs, values) in enumerate(listed):
        expected = np.zeros(len(scores.of(i)[0]))
        for output, p in zip(outputs, np.exp(values - marginals.log_partition[i]), strict=True):
            expected[structure.parts_of(scores.of(i)[1], np.array(output))] += p
        np.testing.assert_allclose(marginals.parts.of(i)[0], expected, atol=1e-9)
        np.testing.assert_allclose(expected.sum(), 1.0)


def test_the_loss_has_a_constant(page):
    """Δ(y) = cost·y + constant counts the parts in which two outputs differ."""
    structure, scores = page["OneSpan"](1), scores_of(np.random.default_rng(1), [3, 2])
    outputs = Outputs(np.array([0, 2, 1, 2], np.int32), np.array([0, 2, 4]))
    known = KnownOutputs((Signal.FULL,) * 2, outputs, structure)
    delta = structure.loss(scores, known)
    for i in range(2):
        for output in structure.support(scores, i):
            cost = structure.score(delta.cost.sequences(i, i + 1), np.array(output, np.int32))[0] + delta.constant[i]
            assert cost == (0.0 if list(output) == known.outputs.inputs(i, i + 1).values.tolist() else 2.0)


def test_ties_are_broken_at_random(page):
    structure = page["OneSpan"](1)
    scores = scores_of(np.random.default_rng(0), [2]).times(0.0)
    seen = {tuple(structure.argmax(scores, seed=seed).outputs.values) for seed in range(60)}
    assert seen == {(0, 1), (0, 2), (1, 2)}


def test_partition_gives_the_best_outputs(page):
    """The k best by calls for the best one alone are those of the enumeration."""

    class Single(page["OneSpan"]):
        def rivals(self, shape, part):
            return np.delete(np.arange(shape[0] * (shape[0] + 1) // 2), part)

    structure, rng = Single(1), np.random.default_rng(0)
    for n in (1, 2, 4):
        scores = np.where(rng.random(n * (n + 1) // 2) < 0.2, -np.inf, rng.normal(size=n * (n + 1) // 2))
        scores[0] = 0.5
        assert [tuple(y) for y in structure.by_partition(scores, (n,), 5)] == [
            tuple(y) for y in structure.best(scores, (n,), 5)
        ]
    with pytest.raises(NotSupported, match="OneSpan does not say how a part is forced"):
        page["OneSpan"](1).by_partition(np.zeros(3), (2,), 2)


def test_tangents_are_derivatives(page):
    """Central differences agree with the covariance of the outputs by enumeration."""
    structure, rng = page["OneSpan"](1), np.random.default_rng(1)
    scores, delta = (FlatParts(rng.normal(size=6), np.array([0, 6]), np.array([[3]])) for _ in range(2))
    moved, mass = structure.tangents(scores, delta), structure.marginals(scores).parts.values
    mean = mass @ delta.values
    np.testing.assert_allclose(moved.slope, [mean], atol=1e-9)
    np.testing.assert_allclose(moved.parts.values, mass * (delta.values - mean), atol=1e-8)


def test_what_the_page_says_of_programs(page):
    model = page["model"]
    assert model.predict([{"post": 30, "shop": 25, "bank": 10}]) == [["shop", "bank"]]
    assert model.infer(page["days"]).exact.all()
    assert [set(one) for one in model.predict(page["days"])] == page["runs"]
    with pytest.raises(DataError, match=r"input 0: .* breaks the row 'no shopping without money'"):
        model.fit(page["days"][:1], [{"shop"}])
