"""Rows over the arcs of trees and the links of alignments: against lists of outputs, and a generic convex solver."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint
from scipy.special import logsumexp, xlogy

from sidelight import Aligning, Parsing, check, child, count, head, pos, root, share, source, target, without, word
from sidelight.errors import DataError, Infeasible
from sidelight.inference.norms import Slack
from sidelight.inference.projection import project, shifted
from sidelight.structures.flat import FlatParts
from tests.convex_oracle import least

SENTENCES = [
    [("the", "D"), ("dog", "N"), ("runs", "V")],
    [("dogs", "N"), ("cats", "N"), ("run", "V")],
    [("see", "V"), ("a", "D"), ("cat", "N")],
]
PAIRS = [(["a", "b"], ["x", "y", "z"]), (["c"], ["x", "y"]), (["b", "a", "c"], ["z", "x"])]
TREE_RULES = [
    count(where=head(pos.isin("D"))) <= 0.2,
    count(by=head(pos.isin("N"))) <= 0.6,
    count(where=child(pos.isin("N")), by=head(pos.isin("V"))) >= 0.7,
    count(where=root & child(pos.isin("V"))) == 0.9,
    (count(where=child(pos.isin("D")) & head(pos.isin("N"))) >= 0.8).over_corpus(),
]
LINK_RULES = [
    count(by=target) <= 0.7,
    count(by=source(word.isin("a", "b"))) >= 0.6,
    count(where=without(target)) <= 0.5,
    (count(where=source(word.isin("a")) & target(word.isin("x"))) >= 0.9).over_corpus(),
]
CASES = {
    "trees": (Parsing(), SENTENCES, TREE_RULES),
    "projective": (Parsing(projective=True, single_root=False), SENTENCES, TREE_RULES),
    "alignments": (Aligning(longest=2), PAIRS, LINK_RULES),
}


def scored(task, X, seed=0):
    blank = task.blank(X, [])
    return FlatParts(np.random.default_rng(seed).normal(size=len(blank.values)), blank.offsets, blank.shapes)


def listed(task, scores):
    """For every input all outputs as 0/1 rows over its parts, and their scores."""
    structure, out = task.structure(1), []
    for i in range(len(scores)):
        theta, shape = scores.of(i)
        rows = []
        for y in structure.all_outputs(shape):
            rows.append(np.zeros(len(theta)))
            rows[-1][structure.parts_of(shape, y)] = 1.0
        out.append((np.array(rows), np.array(rows) @ theta))
    return out


@pytest.mark.parametrize("case", CASES)
def test_rows_are_ragged_and_count_parts(case):
    task, X, rules = CASES[case]
    scores, rows = scored(task, X), task.rows(rules, X, [])
    assert rows.joint == 1
    per_input = np.bincount(rows.owner[rows.joint :], minlength=len(X))
    assert len(set(per_input.tolist())) > 1
    np.testing.assert_array_equal(rows.owner[rows.joint :], np.sort(rows.owner[rows.joint :]))
    prices = np.random.default_rng(1).normal(size=len(rows))
    tilted = rows.tilt(scores, prices, temperature=0.7, n_jobs=1)
    expected = np.zeros(len(rows))
    for i, (outputs, values) in enumerate(listed(task, scores)):
        a, b = scores.offsets[i], scores.offsets[i + 1]
        own = rows.matrix[:, a:b].toarray()
        moved = (values - outputs @ own.T @ prices) / 0.7
        np.testing.assert_allclose(tilted.log_partition[i], logsumexp(moved))
        expected += own @ (np.exp(moved - logsumexp(moved)) @ outputs)
    np.testing.assert_allclose(tilted.expected, expected, atol=1e-10)
    which = np.array([2, 0])
    some = rows.take(which)
    kept = np.concatenate((np.arange(rows.joint), *(np.flatnonzero(rows.owner == i) for i in which)))
    found = some.tilt(scores.take(which), prices[kept], temperature=0.7, n_jobs=1)
    np.testing.assert_allclose(found.log_partition, tilted.log_partition[which])
    np.testing.assert_allclose(found.expected[rows.joint :], expected[kept][rows.joint :], atol=1e-10)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_steps_on_own_prices_raise_the_dual_of_each_input_to_its_maximum(case, temperature):
    """-T log Z - b·λ - Σ curve λ² / 2 never falls, and ends where no step within the range raises it."""
    task, X, rules = CASES[case]
    scores, rows = scored(task, X, 2), task.rows(rules, X, [])
    own, low, high = slice(rows.joint, None), rows.low[rows.joint :], rows.high[rows.joint :]
    start, curve = np.clip(np.full(len(rows), 2.0), rows.low, rows.high), np.full(len(low), 0.1)
    before = np.full(len(X), -np.inf)
    for steps in (0, 1, 2, 3, 4, 6, 10, 300):
        found = rows.tilt(scores, start, temperature=temperature, curve=curve, steps=steps, tolerance=1e-9, n_jobs=1)
        prices, expected = found.prices[own], found.expected[own]
        paid = np.bincount(rows.owner[own], rows.bound[own] * prices + 0.05 * prices**2, len(X))
        value = -temperature * found.log_partition - paid
        assert (value >= before - 1e-9).all()
        before = value
    slope = expected - rows.bound[own] - 0.1 * prices
    np.testing.assert_allclose(np.clip(prices + slope, low, high), prices, atol=1e-6)


@pytest.mark.parametrize("factor", [-0.5, 0.0, 2.0])
def test_a_direction_is_finite_where_parts_are_forbidden(factor):
    task, X, rules = CASES["trees"]
    scores, rows = scored(task, X), task.rows(rules, X, [])
    forbidden = np.arange(len(scores.values)) % 4 == 1
    prices = np.random.default_rng(0).normal(size=len(rows))
    some = FlatParts(np.where(forbidden, -np.inf, scores.values), scores.offsets, scores.shapes)
    expected = factor * np.where(forbidden, 0.0, scores.values) - rows.matrix.T @ prices
    np.testing.assert_allclose(rows.direction(some, prices, factor).values, expected)


def by_solver(task, scores, rows, slack):
    """The least of KL(q ‖ p) + cost of slack over distributions over all outputs, by SLSQP."""
    inputs = listed(task, scores)
    sizes = np.cumsum([0, *(len(values) for _, values in inputs)])
    log_p = np.concatenate([values - logsumexp(values) for _, values in inputs])
    counts = np.zeros((len(rows), sizes[-1]))
    for i, (outputs, _) in enumerate(inputs):
        part = rows.matrix[:, scores.offsets[i] : scores.offsets[i + 1]].toarray()
        counts[:, sizes[i] : sizes[i + 1]] = part @ outputs.T
    weight = rows.penalty * rows.copies
    totals = np.array([[float(sizes[i] <= k < sizes[i + 1]) for k in range(sizes[-1])] for i in range(len(inputs))])
    count_of, n = sizes[-1], len(rows)

    def objective(z):
        q, xi = z[:count_of], z[count_of:]
        divergence = float(xlogy(q, q).sum() - q @ log_p)
        if slack.norm == "squared":
            return divergence + 0.5 * slack.penalty * float(weight @ xi**2)
        return divergence + slack.penalty * float(weight @ xi)

    def slope(z):
        q, xi = z[:count_of], z[count_of:]
        return np.concatenate((1 + np.log(q) - log_p, slack.penalty * weight * (xi if slack.norm == "squared" else 1)))

    upper, lower = rows.high > 0, rows.low < 0
    identity = np.eye(n)
    rules = [
        LinearConstraint(np.hstack([totals, np.zeros((len(inputs), n))]), 1.0, 1.0),
        LinearConstraint(np.hstack([counts[upper], -identity[upper]]), -np.inf, rows.bound[upper]),
        LinearConstraint(np.hstack([counts[lower], identity[lower]]), rows.bound[lower], np.inf),
    ]
    bounds = [(1e-12, 1.0)] * count_of + [(0.0, None)] * n
    start = np.concatenate((np.exp(log_p), np.ones(n)))
    return least(objective, start, jac=slope, bounds=bounds, constraints=rules, tolerance=1e-12).fun


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("slack", [Slack("squared", 3.0), Slack("l1", 1.5)], ids=["squared", "l1"])
def test_projections_are_those_of_a_generic_solver(case, slack):
    task, X, rules = CASES[case]
    scores, rows = scored(task, X, 3), task.rows(rules, X, [])
    found = project(scores, rows, slack, tolerance=1e-7, n_jobs=1)
    assert found.converged
    np.testing.assert_allclose(found.primal, by_solver(task, scores, rows, slack), atol=2e-5)
    moved = task.structure(1).marginals(shifted(scores, rows, found.prices)).parts
    np.testing.assert_allclose(moved.values, found.parts.values, atol=1e-8)


def test_places_where_rules_can_be_broken():
    """Children of forbidden heads, where every such arc is a violation; else the tokens, or inputs, counted by."""
    rules = [
        count(where=head(pos.isin("D"))) <= 0,
        count(by=head(pos.isin("N"))) <= 1,
        count(where=child(pos.isin("N"))) >= 1,
    ]
    compiled = Parsing().compiled(rules, SENTENCES, [])
    np.testing.assert_array_equal(compiled.places, [4, 4, 3])


def test_violations_of_the_corpus_are_those_of_all_inputs():
    """An average over the inputs that misses its bound by a third is one violation of three inputs."""
    rule = (count(where=root & child(pos.isin("V"))) >= 1).over_corpus()
    (found,) = check([rule], SENTENCES, [[2, 3, 0], [3, 3, 0], [3, 3, 0]], task=Parsing())
    np.testing.assert_allclose(found.violations, 1.0)


def test_without_slack_parts_are_forbidden():
    task, X = Parsing(), SENTENCES
    scores, rows = scored(task, X), task.rows([count(where=head(pos.isin("D"))) <= 0, count(by=head) <= 1], X, [])
    found = project(scores, rows, tolerance=1e-5, n_jobs=1)
    assert found.converged
    view = task.view(X, [])
    np.testing.assert_array_equal(found.parts.values[view.holds(head(pos.isin("D")))], 0.0)
    assert (found.excess <= 1e-4).all()
    with pytest.raises(Infeasible, match=r"sequence 0 has no distribution that satisfies 'count\(by=head\) >= 1'"):
        project(scores, task.rows([count(by=head) >= 1], X, []), tolerance=1e-4, n_jobs=1)


def test_shares_and_labels_of_arcs():
    task, X, names = Parsing(labelled=True), SENTENCES, ["det", "obj"]
    rows = task.rows([share("det") == 0.5, count("obj", by=head) <= 1], X, names)
    blank = task.blank(X, names)
    y = [
        [(2, "det"), (3, "obj"), (0, "obj")],
        [(2, "det"), (0, "obj"), (2, "det")],
        [(0, "det"), (3, "det"), (1, "obj")],
    ]
    known = task.known(task.read(y, task.sizes(X)), task.sizes(X), names)
    counted = rows.count(task.structure(1).indicator(blank, known.outputs.values))
    np.testing.assert_allclose(counted[0], (5 - 0.5 * 9) / 3)
    per_head = {(int(o), c) for o, c in zip(rows.owner[1:], counted[1:], strict=True) if c}
    assert per_head == {(0, 1.0), (2, 1.0)}
    with pytest.raises(
        DataError, match=r"rule \"count\('nsubj'\) <= 1\": there is no label 'nsubj'; known are det, obj"
    ):
        task.rows([count("nsubj") <= 1], X, names)
