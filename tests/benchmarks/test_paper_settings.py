"""The settings of published tables: penalties of shares in the papers' unit, and nothing left to defaults."""

import numpy as np
import pytest

from benchmarks import annealing, expectation
from benchmarks.citations.experiment import ccm, codl
from benchmarks.paper_settings import per_fraction
from sidelight import count, generate_references, share, word
from sidelight.inference.rows import Rows
from sidelight.rules.language import Rule

X, Y = generate_references(12, seed=1)
LABELS = sorted({label for labels in Y for label in labels})
PUNCTUATION = word.ispunct()


@pytest.mark.parametrize(
    ("rule", "where"), [(share("title") == 0.1, None), (share("author", where=PUNCTUATION) <= 0.05, PUNCTUATION)]
)
def test_a_missed_share_costs_as_much_as_its_fraction_did(rule: Rule, where: object) -> None:
    penalty = 7.0
    rows = Rows.compile(per_fraction([rule.expected(penalty)], X), X, LABELS)
    missed = rows.excess(rows.count(np.array([LABELS.index(c) for labels in Y for c in labels], np.int32)))
    tokens = [(w, c) for x, labels in zip(X, Y, strict=True) for w, c in zip(x, labels, strict=True)]
    spoken = [c for w, c in tokens if where is None or not any(map(str.isalnum, w))]
    name, value = ("title", 0.1) if where is None else ("author", 0.05)
    fraction = spoken.count(name) / len(spoken) - value
    assert fraction > 0
    assert float((rows.penalty * rows.copies * missed**2).sum()) == pytest.approx(penalty * len(X) * fraction**2)


def test_other_rules_and_shares_of_nothing_stay_as_they_are() -> None:
    rules = [(count("title") >= 1).expected(2.0), share("title", where=word.isin("no such word")) == 1]
    assert per_fraction(rules, X) == rules


def test_tables_leave_nothing_to_defaults() -> None:
    known = per_fraction(annealing.rules(Y), X)
    for learner in (annealing.regularized(known), annealing.annealed(known), expectation.LEARNERS["PR"](X)):
        found = learner.get_params(deep=False)
        assert (found["norm"], found["penalty"], found["label_shares"]) == ("squared", 1.0, False)
        assert (found["balance"], found["unlabeled_weight"], found["decode"] != "rules") == (0.0, None, True)
        assert found["iterations"] == 30
    for name in ("GE", "ER", "ER and rules"):
        found = expectation.LEARNERS[name](X).get_params(deep=False)
        assert (found["penalty"], found["label_shares"]) == (1.0, False)
        assert (found["unlabeled_weight"], found["decode"]) == (1.0, "model")
    assert codl().counting == ccm([]).counting == "tokens"
