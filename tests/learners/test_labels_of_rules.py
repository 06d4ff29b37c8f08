"""A label that only a rule or a dictionary names is a label, for all learners; a likely misspelling gets a note."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from sidelight import (
    BAD,
    CCM,
    CRF,
    GOOD,
    HMM,
    JLIS,
    LCLR,
    MIRA,
    Auto,
    CoDL,
    Combined,
    DataError,
    DeterministicAnnealing,
    EntropyRegularization,
    GeneralizedExpectation,
    MaxEnt,
    PosteriorRegularization,
    SemiCRF,
    StructuralSVM,
    StructuredPerceptron,
    TagDictionary,
    TransductiveSVM,
    UnifiedEM,
    bio,
    count,
    generate_references,
    load,
    share,
    shuffled,
    starts_with,
    where,
    word,
)
from sidelight.demo.rules import REFERENCE_RULES
from sidelight.labels import misspelt_label

X = [["ann", "1", "tale"], ["bob", "2", "story"], ["cy", "note", "3"], ["dan", "5", "poem"]]
Y = [["A", "Y", "T"], ["A", "Y", "T"], ["A", "T", "Y"], ["A", "Y", "T"]]
RULE = where(word.isin("note")).label("N")
NEW = [["eve", "note", "4"]]


@pytest.mark.parametrize(
    "learner",
    [
        CCM(HMM(), [RULE.hard()]),
        CCM(CRF(), [RULE.hard()]),
        CCM(SemiCRF(), [RULE.hard()]),
        CCM(StructuralSVM(), [RULE.hard()]),
        CCM(StructuredPerceptron(), [RULE.hard()]),
        CCM(MIRA(), [RULE.hard()]),
        CoDL(HMM(), [RULE.hard()]),
        CoDL(CRF(), [RULE.hard()]),
        PosteriorRegularization(HMM(), [RULE], penalty=50.0),
        PosteriorRegularization(CRF(), [RULE], penalty=50.0),
        UnifiedEM(CRF(), [RULE], penalty=50.0),
        DeterministicAnnealing(CRF(), [RULE], penalty=50.0),
        GeneralizedExpectation(CRF(), [RULE.expected(50.0)]),
        EntropyRegularization(CRF(), [RULE.expected(50.0)]),
        Combined(CRF(), [RULE.hard()]),
        JLIS(rules=[RULE.hard()]),
        TransductiveSVM(rules=[RULE.hard()]),
        Auto([RULE.hard()]),
    ],
    ids=lambda one: f"{type(one).__name__}({type(one.base).__name__ if one.base else ''})",
)
def test_the_rule_decides_where_its_label_is(learner, tmp_path):
    """No labelled sequence has the label; predictions have it where the rule asks for it, and nowhere else."""
    if "guard" in learner.get_params():
        learner.set_params(guard=False)
    some = [1, 3, 0, 1, 3, 0]  # nothing labelled contradicts the rule
    pool = [] if isinstance(learner, JLIS | CCM | Auto) else [X[2]] * 6
    model = learner.fit([X[i] for i in some] + pool, [Y[i] for i in some] + [None] * len(pool))
    assert model.classes_ == ["A", "N", "T", "Y"]
    assert model.predict(NEW)[0][1] == "N"
    assert all("N" not in labels for labels in model.predict([X[0], X[1], X[3]]))
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(NEW) == model.predict(NEW)


def test_folds_of_few_references_have_scores():
    """Some folds lack labels that rules name: without a score a search would name an arbitrary winner."""
    X, y = generate_references(12, seed=2)[:2]
    rules = [*REFERENCE_RULES[:1], where(word.isin("no.")).label("number")]
    assert "number" not in {label for labels in y for label in labels}
    learner = CCM(CRF(max_iterations=20), rules)
    found = GridSearchCV(learner, {"base__l2": [0.1, 1.0]}, cv=4, error_score="raise").fit(X, y)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    assert np.isfinite(cross_val_score(PosteriorRegularization(HMM(), rules), X, y, cv=4, error_score="raise")).all()


def test_folds_without_spans_have_scores():
    X, y = [["a", "b"], ["b", "c"], ["c", "a"], ["b", "a"]], [["O", "O"], ["O", "O"], ["O", "O"], ["B-x", "I-x"]]
    rules = [bio(), count("I-y") <= 1]  # I-y is in no fold, nor is a label that begins such a span
    assert np.isfinite(cross_val_score(CCM(HMM(), rules), X, y, cv=4, error_score="raise")).all()


def test_a_type_of_spans_that_no_sequence_has():
    """Its labels have the prefixes that labels of the data have; the name of a type of the data is no label."""
    X, y = [["ann", "b"], ["b", "bob"], ["b", "ann"]], [["B-PER", "O"], ["O", "B-PER"], ["O", "B-PER"]]
    rules = [where(word.isin("rome")).label("LOC").hard(), where(word.isin("ann")).label("PER"), bio()]
    model = CCM(HMM(), rules).fit(X, y)
    assert model.classes_ == ["B-LOC", "B-PER", "O"]
    assert model.predict([["b", "rome"]]) == [["O", "B-LOC"]]
    marked = CCM(HMM(), rules).all_labels([["B-PER", "I-PER", "O"]])
    assert marked == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]
    assert CCM(HMM(), rules).all_labels([["A", "B-PER", "O"]]) == ["A", "B-PER", "LOC", "O"]


@pytest.mark.parametrize("learner", [CCM(HMM()), PosteriorRegularization(CRF()), JLIS(), Auto(), TransductiveSVM()])
def test_what_looks_like_a_misspelling_gets_a_note(learner):
    y = generate_references(4, seed=2)[1]
    learner.set_params(rules=[starts_with("autor", "abstract").hard()])
    whose = "the base's " if isinstance(learner, CCM) else ""
    message = (
        f"the rule {learner.rules[0].title!r} names the label 'autor', which no sequence has, so it is a label of its "
        f"own; did you mean 'author'? If 'autor' is right, name all labels in {whose}classes=[...]"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        labels = learner.all_labels(y)
        assert {"autor", "abstract", "author"} <= set(labels)
    assert [str(one.message) for one in caught] == [message]
    (learner.base if whose else learner).set_params(classes=labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert learner.all_labels(y) == labels


X_LONG, Y_LONG = [["a", "b"], ["b"]], [["author0000", "B"], ["B"]]
MANY = [f"author{i:05d}" for i in range(20_000)]


@pytest.mark.parametrize(
    "learner",
    [
        CCM(HMM()),
        CCM(SemiCRF()),
        CCM(MaxEnt()),
        CoDL(CRF()),
        PosteriorRegularization(HMM()),
        UnifiedEM(CRF()),
        GeneralizedExpectation(CRF()),
        Combined(CRF()),
        JLIS(),
        TransductiveSVM(),
        Auto(),
    ],
    ids=lambda one: f"{type(one).__name__}({type(one.base).__name__ if one.base else ''})",
)
def test_more_labels_than_tables_hold_are_refused_before_anything_is_noted(learner):
    learner.set_params(rules=[starts_with(*MANY)])
    X, y = ([{"a": 1}, {"b": 1}], ["author0000", "B"]) if learner.task_.noun == "document" else (X_LONG, Y_LONG)
    more = [GOOD, BAD] if isinstance(learner, JLIS) else y[:2] if isinstance(learner, CCM) else [None, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match="over 20,002 labels needs a table of label pairs"):
            learner.fit([*X, *X], [*y, *more])


def test_one_note_names_a_few_of_many_misspelt_labels():
    with pytest.warns(UserWarning, match="labels of their own") as caught:
        CCM(HMM(), [starts_with(*MANY[:8])]).all_labels(Y_LONG)
    text = str(caught.pop().message)
    assert not caught.list
    assert (
        "names the labels 'author00000', 'author00001', 'author00002', 'author00003', 'author00004' and 3 oth" in text
    )
    assert "so they are labels of their own; did you mean 'author0000'? If they are right, name all labels in" in text


@pytest.mark.parametrize("learner", [PosteriorRegularization(HMM()), GeneralizedExpectation(MaxEnt())])
def test_label_shares_of_many_labels_are_refused_with_their_size(learner):
    """A statement for every label, each with a table of label pairs: cubic in the labels that a rule adds."""
    learner.set_params(rules=[count(*MANY[:1500]) <= 1], guard=False)
    X, y = ([{"a": 1}, {"b": 1}], ["author0000", "B"]) if isinstance(learner.base, MaxEnt) else (X_LONG, Y_LONG)
    message = "1,50[0-3] statements about expectations over 1,502 labels need 27.1 GB of memory .* label_shares=False"
    with pytest.raises(DataError, match=message):
        learner.fit([*X, X[0]], [*y, None])


def test_labels_that_only_a_dictionary_names():
    tags = TagDictionary({"note": {"N", "Tt"}, "tale": {"T"}})
    learner = JLIS(rules=[count("N") <= 2], dictionary=tags, C2=1.0)
    with pytest.warns(UserWarning, match="the dictionary names the label 'Tt', which no sequence has.*mean 'TT'"):
        assert learner.all_labels([["A", "TT", "Y"]]) == ["A", "N", "T", "TT", "Tt", "Y"]


def test_labels_without_a_labelled_sequence():
    """Rules may name all labels."""
    rules = [starts_with("A", "Y"), count("T") >= 1]
    y = [GOOD] * 4 + [BAD] * 4
    model = JLIS(rules=rules, guard=False, max_rounds=2).fit(X + shuffled(X, seed=1), y)
    assert model.classes_ == ["A", "T", "Y"]
    assert LCLR(rules=rules).fit(X + shuffled(X, seed=1), y).model_.classes == ["A", "T", "Y"]
    with pytest.raises(DataError, match="labels are not known"):
        JLIS().fit(X + shuffled(X, seed=1), y)


@pytest.mark.parametrize("learner", [PosteriorRegularization(HMM()), JLIS(), Auto(budget=0.0)])
@pytest.mark.parametrize("rule", [(count("N") <= 1).hard(), share("N") <= 0.5], ids=["sequence", "corpus"])
def test_classes_that_are_named_are_all(learner, rule):
    learner.set_params(rules=[rule], classes=["A", "T", "Y"])
    with pytest.raises(DataError, match="names the label 'N'; known are A, T, Y"):
        learner.fit(X, Y)


@pytest.mark.guarded
@pytest.mark.parametrize(
    "learner",
    [PosteriorRegularization(HMM(), [RULE]), CCM(HMM(), [RULE]), TransductiveSVM(rules=[RULE.hard()])],
    ids=lambda one: type(one).__name__,
)
def test_comparisons_know_these_labels_too(learner):
    pool = 0 if isinstance(learner, CCM) else 2
    found = learner.fit([X[i] for i in (0, 1, 3, 0, 1, 3)] + [X[2]] * pool, [Y[0]] * 6 + [None] * pool).guard_
    assert (found.failure, found.sequences) == ("", 6) or (found.failure, found.sequences) == (None, 6)
    assert [cost.reason for cost in found.rules if "label('N')" in cost.rule] == [None]


def test_numbers_as_labels_and_rules():
    learner = CCM(MaxEnt(), [count("spam") <= 0])
    with pytest.raises(DataError, match="y has numbers as labels, and the rules name strings"):
        learner.fit([["a"], ["b"]], [0, 1])
    assert list(learner.fit([["a"], ["b"]], ["ham", "eggs"]).classes_) == ["eggs", "ham", "spam"]


@pytest.mark.parametrize(
    ("label", "known", "meant"),
    [
        ("autor", ["author", "title"], "author"),
        ("Author", ["author", "title"], "author"),
        ("titel", ["author", "title"], "title"),
        ("note", ["author", "title", "date"], None),
        ("booktitle", ["author", "title"], None),
        ("NNS", ["NN", "VB"], None),
        ("nn", ["NN", "VB"], "NN"),
        ("I-PER", ["B-PER", "O"], None),
        ("B-PRE", ["B-PER", "O"], "B-PER"),
        ("PER", ["B-PER", "I-PER", "O"], None),
        ("PERSN", ["B-PERSON", "I-PERSON", "O"], "PERSON"),
        ("N", [], None),
    ],
)
def test_misspellings(label, known, meant):
    assert misspelt_label(label, known) == meant
