"""Margins of unlabelled inputs."""

from itertools import pairwise

import numpy as np
import pytest

from sidelight import Classifying, Matching, StructuralSVM, TransductiveSVM, generate_references, load, starts_with
from sidelight.errors import DataError, NotSupported, SidelightError
from sidelight.learners.margins.jlis import some_inputs
from sidelight.learners.margins.transductive_svm import _Chosen
from sidelight.learners.model import prepare
from sidelight.solvers import latent_margins
from sidelight.solvers.margin_constraints import Labelled
from sidelight.structures.known import KnownLabels
from tests.learners.samples import labelled
from tests.parts_data import shuffles

X, Y = labelled(seed=1, count=16, longest=6)
HALF = [labels if i < 8 else None for i, labels in enumerate(Y)]
QUICK = {"change": 0.01, "guard": False, "n_jobs": 1}


def missed(learner, x, gold):
    """The margin that an output misses, by its words."""
    scores, structure = learner.scores([x]), learner.structure_
    labels = np.array([learner.classes_.index(label) for label in gold], np.int32)
    wrong = scores.of_labels((labels[:, None] != np.arange(len(learner.classes_))).astype(float))
    return structure.argmax(scores + wrong).scores[0] - structure.score(scores, labels)[0]


def test_the_objective_counts_margins_of_all_inputs(tmp_path):
    learner = TransductiveSVM(C=0.5, unlabeled_weight=0.4, steps=2, **QUICK).fit(X, HALF)
    values = [one.objective for one in learner.rounds_] + [learner.objective_]
    assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()
    known = 0.5 * learner.weights_ @ learner.weights_
    known += sum(0.5 * missed(learner, x, y) ** 2 for x, y in zip(X[:8], Y[:8], strict=True))
    predicted = learner.predict(X[8:])
    # Outputs are kept where they miss less than the best ones do, so these bound the objective.
    whole = known + sum(0.2 * missed(learner, x, y) ** 2 for x, y in zip(X[8:], predicted, strict=True))
    assert known <= learner.objective_ <= whole * (1 + 1e-6)
    learner.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(X) == learner.predict(X)


@pytest.mark.parametrize(("weight", "last"), [(None, 0.5 * 6 / 10), (0.4, 0.2)])
def test_the_cost_of_unlabelled_inputs_doubles_up_to_its_own(weight, last, monkeypatch):
    """Three problems, each begun where the one before ended, of which only the last is to be solved closely; without
    a weight the ten unlabelled inputs together cost as much as the six labelled ones.
    """
    solved, solve = [], latent_margins.minimize

    def noted(problem, start, **options):
        solved.append((problem, start, options["change"], solve(problem, start, **options)))
        return solved[-1][-1]

    monkeypatch.setattr(latent_margins, "minimize", noted)
    y = [labels if i < 6 else None for i, labels in enumerate(Y)]
    TransductiveSVM(C=0.5, unlabeled_weight=weight, steps=3, tolerance=0.05, **QUICK).fit(X, y)
    costs = [problem.choose[0](start, 0).cost for problem, start, *_ in solved]
    np.testing.assert_allclose(costs, [last / 4, last / 2, last])
    assert [change for _, _, change, _ in solved] == [0.05, 0.05, 0.01]
    for (*_, found), (_, start, *_) in pairwise(solved):
        assert start is found.weights


def test_rows_of_outputs_that_are_replaced_are_forgotten():
    """Margins of an unlabelled input are about its chosen output: rows made for another one would ask for too much."""
    data, gold = generate_references(24, seed=0)
    learner = TransductiveSVM(["word"], steps=2, check_inference=True, **QUICK)
    learner.fit(data, [labels if i < 4 else None for i, labels in enumerate(gold)])
    assert len(learner.rounds_) > 1
    last = learner.trace_[-1]
    assert last.dual <= learner.objective_ * (1 + 1e-6)


def test_an_output_is_replaced_where_that_lowers_its_missed_margin():
    rng, learner = np.random.default_rng(0), TransductiveSVM(n_jobs=1)
    prepared = prepare(learner, X, Y, sorted({label for labels in Y for label in labels}))
    pool = some_inputs(learner, X, prepared, list(range(len(X))))
    kept = 0
    for seed in range(10):
        choose = _Chosen(learner, prepared, pool, [len(x) for x in X], seed).at(1.0)
        size = prepared.scorer.size
        before = 0.3 * rng.normal(size=size)
        first, w = choose(before, 0), before + 0.1 * rng.normal(size=size)
        best = pool.best(w).outputs
        found = choose(w, 1)
        of_best = Labelled(pool, KnownLabels.complete(best.values, best.offsets), 1.0)
        missed_now, missed_before, missed_best = (
            one.worst(w.view(), 0, len(X)).violation for one in (found, first, of_best)
        )
        np.testing.assert_allclose(missed_now, np.minimum(missed_before, missed_best), atol=1e-9)
        kept += int((missed_before < missed_best - 1e-6).sum())
    assert kept > 0


def test_an_inexact_search_is_named_by_its_place(monkeypatch):
    """Labelled inputs are behind the unlabelled ones; the search for the worst output of input 12 finds another one."""
    exact, calls = Labelled.worst, []

    def worst(self, w, first, last):
        found = exact(self, w, first, last)
        numbers = self.batch.argmax.numbers
        at = [] if numbers is None else np.flatnonzero(np.asarray(numbers[first:last]) == 12)
        if len(at):
            calls.append(at)
            if len(calls) > 1:
                found.violation[at] -= 5.0
        return found

    monkeypatch.setattr(Labelled, "worst", worst)
    learner = TransductiveSVM(C=0.5, steps=1, tolerance=1e-5, check_inference=True, **QUICK)
    with pytest.raises(SidelightError, match=r"an output of input 12 .* the inference is not exact"):
        learner.fit(X, [None] * 8 + Y[8:])


def test_without_unlabelled_inputs_it_is_the_structural_svm():
    options = {"C": 0.3, "tolerance": 1e-3, "epsilon": 1e-3}
    with pytest.warns(UserWarning, match="no sequence is unlabelled: this is the structural SVM of the labelled ones"):
        alone = TransductiveSVM(**options, **QUICK).fit(X[:8], Y[:8])
    plain = StructuralSVM(**options).fit(X[:8], Y[:8])
    np.testing.assert_allclose(alone.objective_, plain.trace_[-1].objective, rtol=2e-3)


def test_outputs_keep_to_the_rules():
    label = sorted({labels[0] for labels in Y})[0]
    some = [i for i in range(8) if Y[i][0] == label]
    known = [Y[i] if i in some else None for i in range(len(Y))]
    learner = TransductiveSVM(rules=[starts_with(label)], **QUICK).fit(X, known)
    assert {labels[0] for labels in learner.predict(X)} == {label}


def test_labels_that_contradict_the_rules_are_named():
    label = next(a for labels in Y for a in labels if a != Y[0][0])
    with pytest.warns(UserWarning, match="labelled sequences contradict the rules or the dictionary, sequence 0"):
        TransductiveSVM(rules=[starts_with(label)], steps=1, **QUICK).fit(X, HALF)


@pytest.mark.parametrize(
    ("task", "data"),
    [(Matching(), shuffles(6)), (Classifying(), ([["ball"], ["judge"]] * 3, ["sport", "law"] * 3))],
    ids=["matching", "documents"],
)
def test_other_outputs_are_chosen_too(task, data):
    X, y = data
    learner = TransductiveSVM(task=task, steps=1, **QUICK).fit(X, [*y[:4], None, None])
    assert learner.predict(X[:4]) == y[:4]


def test_bad_input():
    with pytest.raises(DataError, match="margins begin from labelled sequences, and there are none"):
        TransductiveSVM(classes=["A"]).fit(X, [None] * len(X))
    with pytest.raises(DataError, match="unlabeled_weight"):
        TransductiveSVM(unlabeled_weight=0).fit(X, HALF)
    with pytest.raises(NotSupported, match="TransductiveSVM cannot learn from partial labels"):
        TransductiveSVM().fit(X, [[labels[0], *[None] * (len(labels) - 1)] for labels in Y])
