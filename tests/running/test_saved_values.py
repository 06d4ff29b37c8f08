import gc
import importlib
import json
import pkgutil
import zipfile
from types import ModuleType

import numpy as np
import pytest

import sidelight
from sidelight.errors import DataError, SidelightError
from sidelight.running import saved_values
from sidelight.running.digests import digest
from sidelight.solvers.certificate import Solution, Step
from sidelight.solvers.limited_memory import Changes, Descent, Point
from sidelight.solvers.perceptron import PerceptronState
from sidelight.solvers.quasi_newton import Curvature


def again(value, tmp_path):
    saved_values.write(tmp_path / "file", {}, value)
    return saved_values.read(tmp_path / "file", lambda head: None)


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


def test_equal_values_give_equal_files_at_any_time(tmp_path, monkeypatch):
    value = {"a": np.arange(3.0), "b": [1, "x"]}
    saved_values.write(tmp_path / "one", {}, value)
    monkeypatch.setattr("time.time", lambda: 2e9)
    saved_values.write(tmp_path / "two", {}, value)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


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
            saved_values.write(tmp_path / "file", {}, [wrong])
    assert list(tmp_path.iterdir()) == []


def reachable_classes():
    """The names of all classes that can be reached from modules of the package, through what the modules import too."""
    found = set()
    for one in pkgutil.walk_packages(sidelight.__path__, "sidelight."):
        if one.name.endswith("__main__"):
            continue
        module = importlib.import_module(one.name)
        for name, value in vars(module).items():
            inner = vars(value).items() if isinstance(value, ModuleType) else ()
            some = [(name, value), *((f"{name}.{more}", each) for more, each in inner)]
            found |= {(module.__name__, path, kind) for path, kind in some if isinstance(kind, type)}
    return found


def test_instances_are_made_of_no_class_but_those_of_the_list(monkeypatch):
    classes = reachable_classes()
    assert len(classes) > 2000
    monkeypatch.setattr(saved_values, "import_module", lambda name: pytest.fail(f"imported {name}"))
    for module, path, kind in classes:
        for name in {f"{module}:{path}", f"{kind.__module__}:{kind.__qualname__}", path, kind.__qualname__} - {
            *saved_values.CLASSES
        }:
            with pytest.raises(ValueError, match="is no class that a checkpoint may hold"):
                saved_values._unpacked({"object": name, "values": {}}, [])


def test_classes_of_the_list_do_nothing_when_they_are_made_or_collected():
    for name, module in saved_values.CLASSES.items():
        kind = getattr(importlib.import_module(f"sidelight.{module}"), name)
        assert not hasattr(kind, "__del__")
        assert kind.__new__ is object.__new__ or issubclass(kind, tuple)


def forged(path, change):
    """Writes a file again with other values."""
    saved_values.write(path, {"format": "right"}, Step(1, 2.0, 1.0, 0.0))
    with zipfile.ZipFile(path) as archive:
        content = json.loads(archive.read("values.json"))
    change(content)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("values.json", json.dumps(content))


def test_a_file_cannot_delete_files(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")

    def closer(content):
        held = {"name": str(victim), "delete": True, "close_called": False}
        name = "sidelight.running.joblib_cluster:tempfile._TemporaryFileCloser"
        content["value"] = {"object": name, "values": held}

    forged(tmp_path / "file", closer)
    with pytest.raises(ValueError, match=r"_TemporaryFileCloser is no class that a checkpoint may hold"):
        saved_values.read(tmp_path / "file", lambda head: None)
    gc.collect()
    assert victim.read_text() == "mine"


def test_nothing_is_made_before_the_head_is_checked(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(saved_values, "_unpacked", lambda *_: made.append(1))
    forged(tmp_path / "file", lambda content: content["head"].update(format="other"))

    def check(head):
        if head != {"format": "right"}:
            raise DataError("another format")

    with pytest.raises(DataError, match="another format"):
        saved_values.read(tmp_path / "file", check)
    assert not made


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"iteration": 1}, "a Step has the values iteration, objective, dual, residual"),
        (
            {"iteration": "x", "objective": 2.0, "dual": 1.0, "residual": 0.0},
            "iteration of Step has a value",
        ),
        ({"iteration": 1, "objective": 2.0, "dual": 1.0, "residual": 0.0, "gap": 3.0}, "a Step has the values"),
    ],
)
def test_instances_have_the_attributes_that_are_declared(tmp_path, values, message):
    forged(tmp_path / "file", lambda content: content["value"].update(values=values))
    with pytest.raises(ValueError, match=message):
        saved_values.read(tmp_path / "file", lambda head: None)


def test_a_file_that_is_compressed_is_not_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "file", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("values.json", json.dumps({"head": {}, "value": " " * (1 << 26)}))
    with pytest.raises(ValueError, match="its members are compressed"):
        saved_values.read(tmp_path / "file", lambda head: None)


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
