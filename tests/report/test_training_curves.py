"""The course of a fit: that of the trace, for every learner that has one."""

from itertools import pairwise

import pytest

from sidelight import (
    CCM,
    CRF,
    EM,
    HMM,
    CoDL,
    NotSupported,
    SelfTraining,
    StructuralSVM,
    StructuredPerceptron,
    generate_references,
    load,
    starts_with,
    where,
    word,
)
from sidelight.report.training_curves import course_of, require_course
from tests.learners.as_published import DeterministicAnnealing, PosteriorRegularization

X, y = generate_references(40, seed=2)
HALF = [labels if i < 15 else None for i, labels in enumerate(y)]
RULES = [starts_with("author", "editor"), where(word.isin("pp", "pages")).label("pages")]


def curves(learner):
    return {curve.title: curve.lines for curve in course_of(learner).curves}


def test_rounds_of_a_projecting_learner():
    model = PosteriorRegularization(HMM(), RULES, iterations=3).fit(X, HALF)
    course = course_of(model)
    assert (course.unit, course.steps, course.breaks) == ("step", [1, 2, 3, 4], [])
    found = curves(model)
    assert list(found) == ["objective (lower is better)", "slack of the rules, in all"]
    objectives = found["objective (lower is better)"]["objective"]
    assert objectives == [step.objective for step in model.trace_]
    assert all(a >= b for a, b in pairwise(objectives))
    assert found["slack of the rules, in all"]["slack of the rules, in all"] == [s.slack for s in model.trace_]


def test_a_discriminative_model_is_the_same_from_the_first_round_on():
    model = PosteriorRegularization(CRF(["word"]), RULES, iterations=2).fit(X, HALF)
    found = curves(model)["objective (lower is better)"]["objective"]
    assert found == [step.objective for step in model.trace_]


def test_temperatures():
    model = DeterministicAnnealing(HMM(), RULES, start=2.0, rate=0.9, temperatures=3, iterations=2).fit(X, HALF)
    course = course_of(model)
    assert course.breaks == [2, 4]
    assert curves(model)["temperature"]["temperature"] == pytest.approx([2, 2, 1.8, 1.8, 1.62, 1.62, 1.62])


def test_batches_are_told_of_when_they_are_done():
    model = PosteriorRegularization(HMM(), RULES, iterations=2, batches=2).fit(X, HALF)
    assert (course_of(model).unit, course_of(model).steps) == ("step", [1, 2, 3])
    assert curves(model)["objective (lower is better)"]["objective"] == [s.objective for s in model.trace_]


def test_other_learners():
    model = CoDL(HMM(), RULES, iterations=3).fit(X, HALF)
    assert list(curves(model)) == ["objective (higher is better)", "violations of the rules", "labels changed"]
    assert curves(model)["labels changed"]["labels changed"] == [s.changed for s in model.trace_]
    assert list(curves(EM(HMM()).fit(X, HALF))) == ["objective (higher is better)"]
    model = StructuredPerceptron(epochs=4).fit(X, y)
    assert curves(model) == {"tokens wrong": {"tokens wrong": list(model.mistakes_)}}
    model = SelfTraining(HMM(), iterations=2).fit(X, HALF)
    assert curves(model) == {"inputs kept": {"inputs kept": list(model.kept_)}}
    model = StructuralSVM(["word"]).fit(X[:10], y[:10])
    assert list(curves(model)["objective, and a bound below it"]) == ["objective", "dual"]
    assert curves(CCM(CRF(["word"]), RULES).fit(X, y)).keys() == curves(CRF(["word"]).fit(X, y)).keys()


def test_nothing_to_draw():
    for learner in (HMM(), CCM(HMM(), RULES)):
        with pytest.raises(NotSupported, match="by counting"):
            require_course(learner)
    for learner in (CoDL(HMM()), EM(HMM()), CCM(CRF(), RULES), SelfTraining(HMM())):
        require_course(learner)
    with pytest.raises(NotSupported, match="0 step"):
        course_of(CoDL(HMM()).fit(X, y))


def test_files_keep_the_course(tmp_path):
    model = CRF(["word"]).fit(X, y)
    model.save(tmp_path / "m")
    assert repr(course_of(load(tmp_path / "m"))) == repr(course_of(model))
