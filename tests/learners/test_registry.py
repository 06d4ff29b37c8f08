"""What the registry says learners can do, and the learners that messages suggest."""

import inspect
import re
from itertools import combinations

import pytest

import sidelight as sl
from sidelight.errors import NotSupported, SidelightError
from sidelight.learners.registry import REGISTRY, able, outputs_of
from sidelight.supervision import Signal
from tests.learners.samples import labelled
from tests.parts_data import sentences, shuffles, spellings

X, Y = labelled(count=8, longest=3)
TREES, LINKS, PAIRS = sentences(8), spellings(8), shuffles(8)
LETTERS = ["A", "T", "Y"]


def some(y):
    """A part of a label sequence: the last label is one of two."""
    return [*y[:-1], {y[-1], "A", "T"}]


# A task, inputs, and their outputs in full and in part.
TASKS = {
    "chains": (None, X, Y, [some(y) for y in Y]),
    "segments": (sl.Segmenting(), X, Y, [some(y) for y in Y]),
    "documents": (sl.Classifying(), X, ["A", "T"] * 4, [{"A", "T"}] * 8),
    "parts": (sl.Aligning(), *LINKS, [sl.Partial(y[:1]) for y in LINKS[1]]),
    "programs": (sl.Matching(), *PAIRS, [sl.Partial(y[:1]) for y in PAIRS[1]]),
    "valence": (sl.DMV().task_, *TREES, [[None, *y[1:]] for y in TREES[1]]),
}
SETS = [set(kinds) for size in (1, 2, 3, 4) for kinds in combinations(Signal, size)]


def data(name, kinds):
    """Inputs of which two each have every kind of knowledge."""
    _, inputs, full, partial = TASKS[name]
    known = {
        Signal.FULL: full,
        Signal.PARTIAL: partial,
        Signal.NOTHING: [None] * 8,
        Signal.COMPANION: [sl.GOOD, sl.BAD] * 4,
    }
    order = [kind for kind in Signal if kind in kinds for _ in range(2)]
    return inputs[: len(order)], [known[kind][i] for i, kind in enumerate(order)]


def made(learner, name, kinds=(Signal.FULL,)):
    """A learner for a task, around a base that suits it, with few steps and all labels."""
    task, cls, row = TASKS[name][0], getattr(sl, learner), REGISTRY[learner]
    known = inspect.signature(cls).parameters
    labels = {"chains": LETTERS, "segments": LETTERS, "documents": ["A", "T"]}.get(name)
    more = {
        "tolerance": 0.3,
        "change": 0.5,
        "guard": False,
        "epochs": 1,
        "steps": 1,
        "iterations": 1,
        "budget": 0.0,
        "folds": 2,
    }
    more = {key: value for key, value in more.items() if key in known}
    if "classes" in known and not row.inside and labels:
        more["classes"] = labels
    given = {} if task is None or "task" not in known else {"task": task}
    if learner == "TwoStage":
        more["initial"] = sl.StructuralSVM(tolerance=0.3, **given).fit(*data(name, {Signal.FULL}))
    if learner == "Combined":
        more["weights"] = {}
    if learner == "Agreement":
        return cls([base(learner, name, kinds), base(learner, name, kinds)], **more)
    return cls(base(learner, name, kinds), **more) if row.inside else cls(**more, **given)


def base(learner, name, kinds):
    task = TASKS[name][0]
    if name == "valence":
        return sl.DMV()
    if learner == "EM":
        return sl.HMM(classes=LETTERS)
    labels = {"chains": LETTERS, "segments": LETTERS, "documents": ["A", "T"]}.get(name)
    if name == "programs":
        cls = sl.LatentStructuralSVM if Signal.PARTIAL in kinds else sl.StructuralSVM
        return cls(task=task, tolerance=0.3)
    return sl.CRF(task=task, tolerance=0.3, classes=labels)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.filterwarnings("ignore")
def test_learners_can_do_what_the_registry_says(name):
    """Each learner of a task learns from labels together with every kind of knowledge that it declares."""
    task = made("CRF", name).task_ if name != "valence" else TASKS[name][0]
    assert outputs_of(task) == name
    for learner, row in REGISTRY.items():
        if name in row.outputs:
            X, y = data(name, row.signals)
            fitted = made(learner, name, row.signals).fit(X, y)
            assert len(fitted.predict(X)) == len(X)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.filterwarnings("ignore")
def test_what_is_suggested_can_do_all_that_is_asked_for(name):
    """For all learners of a task and all combinations of kinds of knowledge, those that messages name are fitted."""
    done = set()
    for kinds in SETS:
        X, y = data(name, kinds)
        for learner, row in REGISTRY.items():
            if name not in row.outputs or kinds <= row.signals:
                continue
            if row.signals == {Signal.COMPANION}:  # whose y are answers
                continue
            with pytest.raises(NotSupported) as caught:
                made(learner, name, kinds).fit(X, y)
            message = str(caught.value)
            task = made(learner, name).task_
            head, _, advice = message.partition("; ")
            assert head.startswith(f"{learner} cannot learn from ")
            if advice.startswith("use "):
                named, others = kinds, advice.removeprefix("use ")
            elif advice.startswith("with some"):
                named = kinds | {Signal.FULL}
                others = re.fullmatch(f"with some {task.noun}s of full labels too, (.*) can use all", advice)[1]
            elif advice == "leave them out":
                assert not any(able([kind], task) for kind in kinds)
                continue
            else:
                _, others, left = re.fullmatch("leave out (.*), and (.*) can use (.*)", advice).groups()
                named = {kind for kind in Signal if kind.value.format(task.noun) in left}
                assert named < kinds
            for other in others.split(" or "):
                if (other, *named) not in done:
                    made(other, name, named).fit(*data(name, named))
                    done.add((other, *named))


def test_rules_are_asked_for_too():
    chains = sl.CRF().task_
    kinds = {Signal.FULL, Signal.NOTHING}
    assert "TransductiveSVM" in able(kinds, chains, [sl.starts_with("A")])
    assert able(kinds, chains, [sl.share("A") >= 0.3]) == [
        "PosteriorRegularization", "UnifiedEM", "DeterministicAnnealing", "GeneralizedExpectation",
        "EntropyRegularization", "Combined",
    ]  # fmt: skip
    assert able(kinds, chains, [sl.starts_with("A").hard(), sl.share("A") >= 0.3]) == ["Combined"]
    assert able(kinds, chains, [sl.few_labels(sl.word)]) == [
        "PosteriorRegularization", "UnifiedEM", "DeterministicAnnealing"
    ]  # fmt: skip
    with pytest.raises(NotSupported, match=r"cannot learn from GOOD / BAD \(sequence 7\); use Combined$"):
        sl.PosteriorRegularization(sl.HMM(), [sl.share("A") >= 0.3]).fit(X, [*Y[:7], sl.GOOD])


def test_rules_are_taken_as_the_registry_says():
    for name, row in REGISTRY.items():
        assert ("rules" in inspect.signature(getattr(sl, name)).parameters) == bool(row.rules)


def test_suggestions_of_weights_are_learners_that_take_them():
    for name, row in REGISTRY.items():
        outputs = next(one for one in TASKS if one in row.outputs)
        if row.weighted:
            continue
        X, y = data(outputs, {Signal.FULL})
        with pytest.raises(SidelightError, match="has no use for sample_weight; use ") as caught:
            made(name, outputs).fit(X, y, sample_weight=[1.0] * len(X))
        others = str(caught.value).partition("; use ")[2].split(" or ")
        assert all(REGISTRY[one].weighted and outputs in REGISTRY[one].outputs for one in others)
