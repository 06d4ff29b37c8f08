import pytest
from rich.console import Console, RenderableType

from sidelight import BAD, CRF, GOOD, HMM, Combined, SemiCRF, generate_references
from sidelight.learners.choosing.signals import SignalWeight
from sidelight.learners.labelled import crf
from sidelight.report.evaluation import compare, evaluate
from sidelight.report.summary import summarize_training
from sidelight.report.tables import confusion_table, evaluation_page, training_table, transitions_table
from sidelight.report.weights import strongest_weights, transition_scores, weights_by_label


def shown(part: RenderableType, width: int = 100) -> str:
    console = Console(width=width, force_terminal=False)
    with console.capture() as capture:
        console.print(part)
    return capture.get()


def test_numbers_of_the_page() -> None:
    page = shown(evaluation_page(compare([["a", "a", "b", "b"]], [["a", "a", "b", "a"]]), 100, confusion=True))
    assert "accuracy 75.00 %" in page
    assert ["a", "66.67", "100.00", "80.00", "2", "3", "2"] in [line.split() for line in page.splitlines()]
    assert ["b", "b", "1", "1"] in [line.split() for line in page.splitlines()]


def test_wide_matrices_become_lists() -> None:
    labels = [f"label{k}" for k in range(40)]
    found = compare([labels], [[*labels[1:], labels[0]]]).confusion
    text = shown(confusion_table(found, 100))
    assert "Most frequent confusions (40 in all" in text
    assert max(map(len, text.splitlines())) <= 100


def test_evaluation_is_that_of_the_metrics() -> None:
    X, y = generate_references(30)
    model = HMM().fit(X[:20], y[:20])
    found = evaluate(model, X[20:], y[20:])
    assert found.accuracy == model.score(X[20:], y[20:])
    assert (found.sequences, found.skipped) == (10, 0)
    assert sum(map(sum, found.confusion.matrix)) == found.tokens == sum(map(len, X[20:]))


def test_transitions_and_weights() -> None:
    X, y = generate_references(20)
    model = HMM().fit(X, y)
    scores = model.scores(X)
    found = transition_scores(model)
    assert found.pair == scores.pair[0].tolist()
    assert found.start == scores.start.tolist()
    assert "(start)" in shown(transitions_table(found, 120), 120)
    assert "10 highest and lowest" in shown(transitions_table(found, 60), 60)
    assert [w.label for w in strongest_weights(model, 2, "title")] == ["title", "title"]
    assert strongest_weights(model, 0) == []
    by_label = weights_by_label(model, 3)
    assert set(by_label) == set(model.classes_)
    assert all(w.weight > 0 and w.label == label for label, found in by_label.items() for w in found)


def test_training_names_the_solver_that_took_over(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = generate_references(12)
    monkeypatch.setattr(crf, "_PASSES", 2)
    model = SemiCRF(["word"]).fit(X, y)
    page = shown(training_table(summarize_training(model, X, y, 1.0, "none.model", None)), 200)
    assert f"{len(model.trace_)} iterations of eg, then lbfgs, converged" in page


@pytest.mark.parametrize(
    ("without", "left_out", "unlabeled", "companions"),
    [
        ([], [], 1, 2),
        (["companions"], ["BAD"], 1, 1),  # GOOD sequences are unlabelled ones too
        (["unlabelled"], ["None"], 0, 2),
        (["unlabelled", "companions"], ["None", "GOOD", "BAD"], 0, 0),
    ],
)
def test_sequences_of_signals_without_a_weight_are_not_used(
    without: list[str], left_out: list[str], unlabeled: int, companions: int
) -> None:
    X, y = [["a", "b"], ["b"], ["a"], ["b", "a", "b"], ["a"] * 4], [["A", "B"], [frozenset("AB")], None, GOOD, BAD]
    tokens = {"None": 1, "GOOD": 3, "BAD": 4}
    model = Combined(CRF(), weights=dict.fromkeys(without, 0.0), iterations=1, guard=False).fit(X, y)
    model.signals_ = tuple(SignalWeight(name, 0.0) for name in without)
    found = summarize_training(model, X, y, 1.0, "none.model", None)
    assert (found.sequences, found.unused) == (5 - len(left_out), len(left_out))
    assert (found.unlabeled, found.companions) == (unlabeled, companions)
    assert found.tokens == 11 - sum(tokens[one] for one in left_out)
    assert ("not used" in shown(training_table(found), 200)) == bool(left_out)
