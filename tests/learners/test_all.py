"""Every learner on every form of input."""

import pytest

import sidelight
from sidelight import (
    CRF,
    HMM,
    JLIS,
    MIRA,
    KernelPerceptron,
    LatentStructuralSVM,
    Segmenting,
    SemiCRF,
    StructuralSVM,
    StructuredPerceptron,
    TransductiveSVM,
    pos,
    word,
)
from tests.learner_kit import check_learner
from tests.learners.samples import FORMS, labelled

CASES = [
    (HMM(), "words"),
    (HMM(word.lower(), unknown=None, emission_smoothing=0.5), "columns"),
    (CRF(solver="lbfgs", tolerance=0.02), "words"),
    (CRF(order=2, l1=0.1, l2=0.5, tolerance=0.02, features=["word", "word[-1] & word"]), "words"),
    (CRF(solver="eg", boundaries=False), "words"),
    (CRF(solver="eg", features=[word, pos[-1] & pos, ~word.isdigit()], all_weights=True), "columns"),
    (CRF(solver="eg", min_count=2), "dicts"),
    (CRF(solver="eg"), "sparse"),
    (CRF(solver="lbfgs", order=2, tolerance=0.02), "arrays"),
    (SemiCRF(), "words"),
    (SemiCRF(features=[word, pos], begin_features=[pos[-1] & pos], end_features=[], length=False), "columns"),
    (SemiCRF(min_count=2, boundaries=False, max_length=6), "dicts"),
    (SemiCRF(all_weights=True, end_features=[]), "arrays"),
    (CRF(task=Segmenting(length=False, max_length=6), l2=0.1), "columns"),
    (StructuredPerceptron(), "words"),
    (StructuredPerceptron(order=2, margin=1.0, random_state=3), "columns"),
    (StructuredPerceptron(epochs=3), "dicts"),
    (StructuredPerceptron(all_weights=True), "arrays"),
    (KernelPerceptron(epochs=3), "columns"),
    (KernelPerceptron(degree=3, margin=1.0, boundaries=False, random_state=3), "sparse"),
    (StructuralSVM(), "words"),
    (StructuralSVM(order=2, loss="hinge", C=1.0), "columns"),
    (StructuralSVM(C=1.0, boundaries=False, check_inference=True), "dicts"),
    (StructuralSVM(all_weights=True), "sparse"),
    (LatentStructuralSVM(C=1.0, change=0.01), "words"),
    (LatentStructuralSVM(loss="hinge", restarts=2, change=0.01), "arrays"),
    (JLIS(), "words"),
    (TransductiveSVM(change=0.05, steps=1), "words"),
    (JLIS(order=2, loss="hinge", constant=0.0, change=0.01, tolerance=0.02), "columns"),
    (MIRA(), "words"),
    (MIRA(order=2, k=3, C=0.1, random_state=3), "columns"),
    (MIRA(k=1, epochs=3), "dicts"),
    (MIRA(C=float("inf"), boundaries=False), "sparse"),
]


@pytest.mark.parametrize(("learner", "form"), CASES, ids=lambda value: str(value)[:40])
def test_conventions(learner, form, tmp_path):
    X, y = labelled()
    check_learner(learner, FORMS[form](X), y, tmp_path)


def test_no_learner_is_left_out():
    """Learners around others, of documents, of partial labels, of trees and of a yes or no have tests of their own."""
    around = {"CCM", "CoDL", "EM", "SelfTraining", "PosteriorRegularization", "UnifiedEM", "DeterministicAnnealing"}
    around |= {"GeneralizedExpectation", "EntropyRegularization", "Agreement", "Combined"}
    elsewhere = around | {"Auto", "MaxEnt", "ContrastiveEstimation", "DocumentJLIS", "LCLR", "TwoStage", "DMV"}
    assert {type(learner).__name__ for learner, _ in CASES} == set(sidelight.LEARNERS) - elsewhere
