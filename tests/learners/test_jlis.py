"""Yes/no supervision: the objective, what helps, what cannot be learned."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sidelight import (
    BAD,
    GOOD,
    JLIS,
    DocumentJLIS,
    LatentStructuralSVM,
    StructuralSVM,
    TagDictionary,
    count,
    load,
    starts_with,
)
from sidelight.errors import DataError, Infeasible, NotSupported
from tests.learners.samples import labelled

X, Y = labelled(seed=1, count=30, longest=8)
SOON = {"change": 0.01}  # where only a model is needed, not the last of what the objective falls by
LONG = [i for i, x in enumerate(X) if len(x) > 3]


def mixed(known, seed=0):
    """The first sequences labelled; of the long others a copy that is GOOD and a shuffled one that is BAD."""
    rng = np.random.default_rng(seed)
    rest = [X[i] for i in LONG if i >= known][:12]
    shuffled = [[x[j] for j in rng.permutation(len(x))] for x in rest]
    return [*X[:known], *rest, *shuffled], [*Y[:known], *[GOOD] * len(rest), *[BAD] * len(rest)]


LOSSES = {"squared_hinge": lambda a: max(a, 0.0) ** 2, "logistic": lambda a: np.logaddexp(0.0, a)}


def objective(learner, data, y):
    """Eq. 6.3 by its words, at the learner's weights."""
    weights, last = learner.weights_, learner.constant_weight_
    total, loss = 0.5 * (weights @ weights + last**2), LOSSES[learner.loss]
    for x, known in zip(data, y, strict=True):
        scores = learner.scores([x])
        if known is GOOD or known is BAD:
            best = learner.structure_.argmax(scores).scores[0] / len(x) + learner.constant * last
            slack = 1 - best if known is GOOD else 1 + best
            total += learner.C2 * loss(slack)
        elif learner.labelled == "jointly":
            gold = np.array([learner.classes_.index(label) for label in known], np.int32)
            wrong = scores.of_labels((gold[:, None] != np.arange(len(learner.classes_))).astype(float))
            structure = learner.structure_
            slack = structure.argmax(scores + wrong).scores[0] - structure.score(scores, gold)[0]
            total += learner.C1 * loss(slack)
    return total


@pytest.mark.parametrize("known", [0, 2, 10])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_objective_never_rises(known, loss):
    """Theorem 3: Q(w_t+1) <= A(w_t+1, w_t) <= Q(w_t)."""
    data, y = mixed(known)
    for seed in range(2):
        learner = JLIS(C2=5.0, loss=loss, classes=["A", "T", "Y"], random_state=seed, change=1e-4).fit(data, y)
        values = [one.objective for one in learner.rounds_] + [learner.objective_]
        assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()
        for one, after in zip(learner.rounds_, values[1:], strict=True):
            assert after <= one.bound * (1 + 1e-9)
            assert one.bound <= one.objective * (1 + 1e-9)


@pytest.mark.parametrize("options", [{}, {"loss": "logistic"}, {"labelled": "start"}])
def test_the_objective_is_equation_6_3(options):
    data, y = mixed(5)
    learner = JLIS(C1=0.5, C2=2.0, constant=0.7, **options, **SOON).fit(data, y)
    values = [one.objective for one in learner.rounds_] + [learner.objective_]
    assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()
    np.testing.assert_allclose(learner.objective_, objective(learner, data, y), rtol=1e-6)


def test_labels_for_the_start_only_need_companions():
    with pytest.raises(DataError, match="labelled='start' learns from GOOD and BAD inputs, and y lacks some of them"):
        JLIS(labelled="start").fit(X[:5], Y[:5])
    with pytest.raises(DataError, match="labelled must be 'jointly' or 'start', got 'never'"):
        JLIS(labelled="never").fit(X[:5], Y[:5])


def test_without_companions_it_is_the_structural_svm():
    options = {"tolerance": 1e-5, "epsilon": 1e-5, "max_iterations": 2000}
    joint = JLIS(C1=0.3, **options).fit(X[:15], Y[:15])
    plain = StructuralSVM(C=0.3, **options).fit(X[:15], Y[:15])
    np.testing.assert_allclose(joint.objective_, plain.trace_[-1].objective, rtol=1e-4)
    np.testing.assert_allclose(joint.weights_, plain.weights_, atol=0.02)


def test_companions_are_told_apart():
    data, y = mixed(10)
    learner = JLIS(["word", "word[-1] & word"], C2=100.0, **SOON).fit(data, y)
    companions = [(x, known) for x, known in zip(data, y, strict=True) if known is GOOD or known is BAD]
    values = learner.decision_function([x for x, _ in companions])
    right = [(value > 0) == (known is GOOD) for value, (_, known) in zip(values, companions, strict=True)]
    assert np.mean(right) > 0.8
    assert learner.predict_companion([x for x, _ in companions]) == [GOOD if v > 0 else BAD for v in values]


def test_the_binary_task_alone_needs_no_labels():
    data, y = mixed(0)
    learner = JLIS(["word", "word[-1] & word"], C2=100.0, classes=["1", "2"], **SOON).fit(data, y)
    right = np.mean([a is b for a, b in zip(learner.predict_companion(data), y, strict=True)])
    assert right > 0.8
    assert {label for labels in learner.predict(data) for label in labels} <= {"1", "2"}


def test_restarts_keep_the_lowest_objective():
    data, y = mixed(0)
    options = {"classes": ["A", "T", "Y"], "C2": 10.0, "change": 1e-3}
    learner = JLIS(restarts=4, **options).fit(data, y)
    assert len(learner.run_objectives_) == 4
    assert learner.objective_ == min(learner.run_objectives_)
    assert len(set(learner.run_objectives_)) > 1
    fixed = JLIS(random_ties=False, **options).fit(data, y)
    again = JLIS(random_ties=False, random_state=7, **options).fit(data, y)
    np.testing.assert_allclose(fixed.objective_, again.objective_, rtol=0.01)


def test_sizes():
    data, y = mixed(5)
    by_length = JLIS(**SOON).fit(data, y)
    by_function = JLIS(size=len, **SOON).fit(data, y)
    np.testing.assert_array_equal(by_length.weights_, by_function.weights_)
    assert JLIS(size=None, **SOON).fit(data, y).objective_ != by_length.objective_


def test_small_costs_are_learned_from_too():
    """An objective below one is solved to a share of itself, not of one."""
    learner = JLIS(C1=1e-3, C2=1e-3, **SOON).fit(*mixed(5))
    assert learner.objective_ < 1
    assert learner.trace_[-1].gap <= 0.01 * learner.objective_
    assert np.count_nonzero(learner.weights_) > 0


def test_an_input_without_output_is_named_by_its_place():
    data, y = mixed(5)
    data, y = [*data, ["7"]], [*y, BAD]
    with pytest.raises(Infeasible, match=f"sequence {len(data) - 1}") as caught:
        JLIS(rules=[count("A") >= 2]).fit(
            [["Ann", "Bob", *x] for x in data[:-1]] + data[-1:],
            [["A", "A", *known] if isinstance(known, list) else known for known in y],
        )
    assert caught.value.sequence == len(data) - 1


@pytest.mark.parametrize("learner", [JLIS(), DocumentJLIS(), LatentStructuralSVM()], ids=lambda m: type(m).__name__)
def test_it_stops_where_the_papers_do(learner):
    """ν of Eq. 6.11 is 1e-5 (section 6.3 of Chang 2011; section 4 of Chang et al. 2010)."""
    assert learner.change == 1e-5


def test_few_iterations_and_rounds():
    """The objective never rises even where the convex problems are cut short, and stopping early is said."""
    data, y = mixed(3)
    for iterations in (1, 2):
        with pytest.warns(ConvergenceWarning, match="JLIS stopped before its tolerance"):
            learner = JLIS(C2=10.0, max_iterations=iterations, tolerance=1e-6, change=1e-6).fit(data, y)
        values = [one.objective for one in learner.rounds_] + [learner.objective_]
        assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()
    with pytest.warns(ConvergenceWarning, match="JLIS still changed by more than `change` after 1 rounds"):
        assert not JLIS(max_rounds=1).fit(data, y).converged_


def test_a_dictionary_limits_outputs():
    data, y = mixed(0)
    tags = TagDictionary({"Ann": {"A"}, "Bob": {"A"}, "run": {"T"}, "7": {"Y"}}, open={"A", "T", "Y"})
    learner = JLIS(dictionary=tags, C2=10.0, **SOON).fit(data, y)
    assert learner.classes_ == ["A", "T", "Y"]
    for x, labels in zip(data, learner.predict(data), strict=True):
        for word, label in zip(x, labels, strict=True):
            assert label in tags.labels.get(word, tags.open)
    values = [one.objective for one in learner.rounds_] + [learner.objective_]
    assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()
    with pytest.raises(DataError, match=r"dictionary must be a TagDictionary or None, got \{"):
        JLIS(dictionary={"a": {"A"}}).fit(data, y)


def test_contradictions_are_told():
    data, y = mixed(3)
    with pytest.warns(
        UserWarning, match=r"3 of 3 labelled sequences contradict the rules or the dictionary, sequence 0"
    ):
        JLIS(rules=[starts_with("Y")], **SOON).fit(data, y)
    with pytest.warns(UserWarning, match="labelled sequences contradict"):
        JLIS(dictionary=TagDictionary({"Ann": {"Y"}}), **SOON).fit(data, y)
    with pytest.raises(DataError, match="rules is a list of rules"):
        JLIS(rules=starts_with("A")).fit(data, y)


def test_words_that_a_dictionary_lacks_may_have_any_label():
    data, y = mixed(5)
    learner = JLIS(dictionary=TagDictionary({"Ann": {"A"}}), **SOON).fit(data, y)
    assert {label for labels in learner.predict(data) for label in labels} == {"A", "T", "Y"}
    assert learner.score(data, y) > 0.8


@pytest.mark.filterwarnings("ignore:.*contradict")
def test_rules_limit_outputs(tmp_path):
    data, y = mixed(10)
    rules = [count("Y") <= 1, starts_with("A")]
    learner = JLIS(rules=rules, C2=10.0, check_inference=True, **SOON).fit(data, y)
    predicted = learner.predict(data)
    assert all(labels[0] == "A" and labels.count("Y") <= 1 for labels in predicted)
    free = JLIS(C2=10.0, **SOON).fit(data, y)
    assert any(labels.count("Y") > 1 for labels in free.predict(data))
    best = learner.structure_.argmax(learner.scores(data)).scores / [len(x) for x in data] + learner.constant_weight_
    assert (learner.decision_function(data) <= best + 1e-9).all()
    assert learner.complete(data, [None] * len(data)) == predicted
    for ranked, first in zip(learner.predict_kbest(data, 3), predicted, strict=True):
        assert ranked[0].labels == first
        assert all(one.labels[0] == "A" and one.labels.count("Y") <= 1 for one in ranked)
    for call in (learner.predict_marginals, learner.log_partition):
        with pytest.raises(NotSupported, match="there are no exact marginals under the rule"):
            call(data)
    with pytest.raises(NotSupported, match="reads the tokens themselves; give X as it is"):
        learner.encode(data)
    learner.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(data) == predicted


def test_ties_are_random_under_rules_that_fold():
    data, y = mixed(0)
    options = {"classes": ["A", "T", "Y"], "C2": 10.0, "change": 1e-3}
    vacuous = [starts_with("A", "T", "Y")]
    objectives = [JLIS(rules=vacuous, random_state=seed, **options).fit(data, y).objective_ for seed in range(2)]
    free = [JLIS(random_state=seed, **options).fit(data, y).objective_ for seed in range(2)]
    np.testing.assert_allclose(objectives, free, rtol=0.02)
    assert len(set(objectives)) == 2


def test_decisions_about_encoded_input():
    data, y = mixed(5)
    learner = JLIS(**SOON).fit(data, y)
    np.testing.assert_allclose(learner.decision_function(learner.encode(data)), learner.decision_function(data))


def test_files(tmp_path):
    data, y = mixed(5)
    tags = TagDictionary({"Ann": {"A"}, "x": {"A", "T"}}, open={"A", "T", "Y"})
    learner = JLIS(restarts=2, dictionary=tags, **SOON).fit(data, y)
    learner.save(tmp_path / "m")
    read = load(tmp_path / "m")
    np.testing.assert_array_equal(read.decision_function(data), learner.decision_function(data))
    assert read.rounds_ == learner.rounds_
    assert read.run_objectives_ == learner.run_objectives_
    assert read.dictionary == tags
