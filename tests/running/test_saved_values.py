import numpy as np
import pytest

from sidelight.errors import SidelightError
from sidelight.running import saved_values
from sidelight.running.digests import digest
from sidelight.solvers.certificate import Solution, Step
from sidelight.solvers.limited_memory import Changes, Descent, Point
from sidelight.solvers.perceptron import PerceptronState
from sidelight.solvers.quasi_newton import Curvature


def again(value, tmp_path):
    saved_values.write(tmp_path / "file", value)
    return saved_values.read(tmp_path / "file")


def test_plain_values_come_back(tmp_path):
    value = {
        "texts": ["a", "\x1f", "\ud800"], "numbers": (1, -0.0, 1e300, 2**80, True, None), ("a", 1): {"b": []},
        "set": {1, 2}, "frozen": frozenset("ab"), "infinite": [float("inf"), -float("inf")],
    }  # fmt: skip
    assert again(value, tmp_path) == value
    assert np.isnan(again(float("nan"), tmp_path))


def test_arrays_come_back_to_the_last_bit(tmp_path):
    arrays = [np.random.default_rng(0).normal(size=(3, 4)), np.arange(3, dtype=np.int32), np.empty((0, 2), np.float32)]
    for one, other in zip(again(arrays, tmp_path), arrays, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    number = again(np.float32(0.1), tmp_path)
    assert (type(number), number) == (np.float32, np.float32(0.1))


def test_generators_go_on(tmp_path):
    rng = np.random.default_rng(3)
    rng.normal(size=7)
    assert np.array_equal(again(rng, tmp_path).normal(size=5), rng.normal(size=5))


def test_objects_of_the_package_come_back(tmp_path):
    changes = Changes(3)
    changes.learn(Point(np.zeros(3), 1.0, np.ones(3)), Point(np.ones(3), 0.0, 2 * np.ones(3)))
    found = again(Descent(Point(np.ones(3), 0.0, np.zeros(3)), changes, 4), tmp_path)
    assert found.made == 4
    assert found.changes.order == changes.order
    assert np.array_equal(found.changes.step(np.ones(3)), changes.step(np.ones(3)))
    solution = again(Solution(np.ones(2), (Step(1, 2.0, float("nan"), 0.5),), True), tmp_path)
    assert (solution.converged, solution.last.objective, solution.steps[0].iteration) == (True, 2.0, 1)
    state = again(PerceptronState(np.ones(2), np.zeros(2), 3.0, [4, 5]), tmp_path)
    assert (state.clock, state.mistakes) == (3.0, [4, 5])
    assert np.array_equal(again(Curvature(np.eye(2)), tmp_path).matrix, np.eye(2))


def test_other_objects_are_refused_and_nothing_is_left(tmp_path):
    for wrong in (object(), lambda: 1, Step, np.array([object()])):
        with pytest.raises((SidelightError, ValueError)):
            saved_values.write(tmp_path / "file", [wrong])
    assert list(tmp_path.iterdir()) == []


def test_classes_of_other_packages_are_not_made(tmp_path):
    saved_values.write(tmp_path / "file", Step(1, 2.0, 1.0, 0.0))
    raw = (tmp_path / "file").read_bytes()
    name = b"sidelight.solvers.certificate:Step"
    assert name in raw
    for other in (b"subprocess:Popen", b"sidelight.cli.main:main"):
        packed = saved_values._packed(Step(1, 2.0, 1.0, 0.0), [])
        packed["object"] = other.decode()
        with pytest.raises(ValueError, match="is no class"):
            saved_values._unpacked(packed, [])


def test_digests_tell_values_apart():
    X = [["a", "b"], ["c"]]
    others = [
        [["a", "b", "c"]], [["c"], ["a", "b"]], [["a"], ["b", "c"]], [[("a",), "b"], ["c"]], [["a", "b"], ["c"], []],
        [["a", "b"], None], np.array([1.0]), np.array([1]), {"a": 1}, {"b": 1}, 1, 1.0, "1", None, True,
    ]  # fmt: skip
    found = [digest(X), *map(digest, others)]
    assert len(set(found)) == len(found)
    assert digest([["a", "b"], ["c"]]) == digest(X)
    assert digest({"a", "b"}) == digest({"b", "a"})


def test_digests_of_learners_are_of_their_parameters():
    from sidelight import CRF, CoDL, word

    assert digest(CoDL(CRF(n_jobs=2))) == digest(CoDL(CRF(verbose=True)))
    assert digest(CoDL(CRF(l2=1.0))) != digest(CoDL(CRF(l2=2.0)))
    assert digest(CRF(features=[word, word[-1]])) == digest(CRF(features=[word, word[-1]]))
    assert digest(CRF(features=[word, word[-1]])) != digest(CRF(features=[word, word[1]]))
