"""Probabilities before and after rules are those of the model and of its projection."""

import numpy as np
import pytest

from sidelight import (
    CCM,
    CRF,
    HMM,
    changes_only_after,
    generate_references,
    once_each,
    punctuation,
    share,
    starts_with,
)
from sidelight.inference.checking import check
from sidelight.report.posteriors import posteriors_of
from tests.learners.as_published import DeterministicAnnealing, GeneralizedExpectation, PosteriorRegularization

X, y = generate_references(60, seed=2)
HALF = [labels if i < 15 else None for i, labels in enumerate(y)]
RULES = [starts_with("author", "editor"), changes_only_after(punctuation)]
NEW, _ = generate_references(30, seed=9)


@pytest.mark.parametrize("decode", ["model", "projected"])
def test_projection(decode):
    model = PosteriorRegularization(HMM(), RULES, iterations=2, decode=decode, penalty=10.0).fit(X, HALF)
    found = posteriors_of(model, NEW[0])
    before, after = found.tables
    assert np.allclose(before.chance, model.base_.predict_marginals([NEW[0]])[0])
    assert before.labels == model.base_.predict([NEW[0]])[0]
    projected = model.set_params(decode="projected")
    assert np.allclose(after.chance, projected.predict_marginals([NEW[0]])[0])
    assert after.labels == projected.predict([NEW[0]])[0]
    assert found.changed == [t for t, (a, b) in enumerate(zip(before.labels, after.labels, strict=True)) if a != b]
    assert [e.rule for e in found.effects] == [rule.title for rule in RULES]
    for effect in found.effects:
        assert effect.after <= effect.before
        # Squared slack: a price is the penalty times the miss.
        assert effect.price == pytest.approx(10.0 * effect.after, abs=0.05)


def test_expectations_are_those_of_the_table():
    model = PosteriorRegularization(HMM(), RULES[:1], iterations=1).fit(X, HALF)
    found = posteriors_of(model, NEW[1])
    (effect,) = found.effects
    allowed = [found.classes.index(label) for label in ("author", "editor")]
    for table, expected in zip(found.tables, (effect.before, effect.after), strict=True):
        assert expected == pytest.approx(1 - table.chance[0, allowed].sum(), abs=1e-9)


def test_temperature_and_rules_about_the_corpus():
    rules = [*RULES, share("title") == 0.3]
    model = DeterministicAnnealing(HMM(), rules, temperatures=2, iterations=1).fit(X, HALF)
    found = posteriors_of(model, NEW[0])
    assert np.allclose(found.tables[1].chance, model.predict_marginals([NEW[0]])[0])
    assert (found.effects[0].bound, found.effects[0].before) == ("of the corpus", None)
    assert found.effects[0].price == pytest.approx(model.prices_[0])


def test_penalties():
    model = CCM(HMM(), RULES).fit(X[:20], y[:20])
    x = next(x for x in NEW if model.predict([x]) != model.base_.predict([x]))
    found = posteriors_of(model, x)
    assert np.allclose(found.tables[1].chance, model.predict_marginals([x])[0])
    assert (found.tables[0].labels, found.tables[1].labels) == (model.base_.predict([x])[0], model.predict([x])[0])
    assert (found.cost, found.measure) == ("penalty", "violations")
    violations = {c.rule.title: c.violations for c in check(RULES, [x], [found.tables[0].labels], examples=0)}
    assert {e.rule: e.before for e in found.effects} == {k: v for k, v in violations.items() if v}


def test_rules_without_probabilities():
    model = CCM(HMM(), [once_each()]).fit(X[:20], y[:20])
    table = posteriors_of(model, NEW[0]).tables[1]
    assert table.title == "best labels under the rules"
    assert [model.classes_[k] for k in table.chance.argmax(axis=1)] == table.labels == model.predict([NEW[0]])[0]


def test_models_that_predict_without_rules():
    for model in (CRF(["word"]).fit(X[:20], y[:20]), GeneralizedExpectation(CRF(["word"]), RULES).fit(X, HALF)):
        (table,) = posteriors_of(model, NEW[0]).tables
        assert np.allclose(table.chance, model.predict_marginals([NEW[0]])[0])
