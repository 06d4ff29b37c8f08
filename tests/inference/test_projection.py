"""Projections against a generic convex solver over every output of tiny chains (Proposition 2.1)."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from sidelight import (
    Chain,
    DataError,
    Infeasible,
    NotSupported,
    changes,
    count,
    each,
    ends_with,
    once_each,
    runs,
    share,
    starts_with,
    transitions,
    word,
)
from sidelight.inference import projection
from sidelight.inference.linear_program import relax
from sidelight.inference.norms import Norm, Slack
from sidelight.inference.projection import project, shifted
from sidelight.inference.rows import Rows
from sidelight.solvers.quasi_newton import Curvature
from tests.convex_oracle import least
from tests.inference.test_rows import LABELS, by_listing, counts, example, outputs_of

OWN = [runs(each("A", "B")) <= 0.6, count("C") >= 0.3, transitions("A", "B") + count("A") == 0.5]
CORPUS = [share("A") == 0.3, share("C") <= 0.4, (changes() >= 0.3).over_corpus()]
SLACKS = [
    Slack(),
    Slack("squared", penalty=3.0),
    Slack("l1", penalty=0.4),
    Slack("l2", penalty=0.5),
    Slack("linf", penalty=0.8),
    Slack("group", penalty=0.5),
    Slack("l1", bound=0.3),
    Slack("l2", bound=0.2),
    Slack("linf", bound=0.1),
    Slack("group", bound=0.2),
]
TIGHT = {"tolerance": 1e-8, "max_iterations": 3000}


class Listed:
    """The primal over one probability for each output of each sequence, and the slack of each row."""

    def __init__(self, scores, rows, slack, temperature):
        self.rows, self.slack, self.temperature = rows, slack, temperature
        self.values, tables, cut = [], [], rows.joint
        for i in range(len(scores)):
            outputs = outputs_of(scores, i)
            self.values.append(np.array([Chain().score(scores.sequences(i, i + 1), y)[0] for y in outputs]))
            table = np.zeros((len(outputs), len(rows)))
            own = slice(cut + i * len(rows.about_each), cut + (i + 1) * len(rows.about_each))
            for n, y in enumerate(outputs):
                found = counts(rows, i, y)
                table[n, :cut], table[n, own] = found[:cut], found[cut:]
            tables.append(table)
        self.table = np.concatenate(tables)
        self.edges = np.cumsum([0, *(len(v) for v in self.values)])
        self.log_p = np.concatenate([v - np.logaddexp.reduce(v) for v in self.values])
        weight = rows.penalty * (rows.copies if slack.penalty is not None else 1.0)
        self.scale = np.sqrt(weight) if slack.norm == "squared" else weight
        self.norm = Norm(slack.norm, rows.group)

    def divergence(self, q):
        q = np.maximum(q, 1e-300)
        return -q @ self.log_p + self.temperature * q @ np.log(q)

    def best(self):
        """SLSQP over (q, ξ, bounds on ξ): every norm is made smooth by variables that bound it."""
        q_size, r = len(self.log_p), len(self.rows)
        g = int(self.rows.group.max()) + 1

        def parts(z):
            return z[:q_size], z[q_size : q_size + r], z[q_size + r :]

        def cost(z):
            q, xi, top = parts(z)
            if self.slack.norm == "squared" and self.slack.penalty:
                return self.divergence(q) + self.slack.penalty / 2 * ((self.scale * xi) ** 2).sum()
            return self.divergence(q) + (self.slack.penalty or 0.0) * self.total(top)

        def slope(z):
            q, xi, _ = parts(z)
            out = np.zeros_like(z)
            out[:q_size] = -self.log_p + self.temperature * (1 + np.log(np.maximum(q, 1e-300)))
            if self.slack.norm == "squared" and self.slack.penalty:
                out[q_size : q_size + r] = self.slack.penalty * self.scale**2 * xi
            elif self.slack.penalty:
                out[q_size + r :] = self.slack.penalty
            return out

        tops = {"l1": r, "l2": 1, "linf": 1, "group": g, "squared": 0}[self.slack.norm]
        size = q_size + r + tops
        of_q, of_xi, of_top = np.split(np.eye(size), [q_size, q_size + r])
        missing = self.table.T @ of_q - of_xi
        upper, lower = self.rows.low == 0, self.rows.high == 0
        equal = ~upper & ~lower
        constraints = [
            linear("eq", np.add.reduceat(of_q, self.edges[:-1]), np.ones(len(self.edges) - 1)),
            linear("ineq", -missing[upper], -self.rows.bound[upper]),
            linear("ineq", missing[lower], self.rows.bound[lower]),
            linear("eq", missing[equal], self.rows.bound[equal]),
            *self.above(of_xi, of_top),
        ]
        if self.slack.bound is not None:
            total = of_top.sum(axis=0, keepdims=True)
            constraints.append(linear("ineq", -total, np.array([-self.slack.bound])))
        if self.slack.none:
            constraints.append(linear("eq", of_xi, np.zeros(r)))
        start = np.concatenate((np.exp(self.log_p), np.zeros(r), np.full(tops, 0.1)))
        limits = [(1e-12, 1)] * q_size + [(None, None)] * r + [(0, None)] * tops
        constraints = [c for c in constraints if np.size(c["fun"](start))]
        found = least(cost, start, jac=slope, bounds=limits, constraints=constraints, tolerance=1e-11)
        return found.fun, parts(found.x)[0]

    def linear_program(self):
        """The same at temperature zero."""
        size, r = len(self.log_p), len(self.rows)
        group = self.rows.group if self.slack.norm == "group" else np.zeros(r, int)
        g = int(group.max()) + 1
        cost = np.concatenate((-self.log_p, np.zeros(2 * r + g)))
        total = np.zeros(len(cost))
        if self.slack.norm == "l1":
            total[size : size + 2 * r] = np.tile(self.scale, 2)
        else:
            total[size + 2 * r :] = 1
        cost += (self.slack.penalty or 0.0) * total
        free = np.eye(r) * (not self.slack.none)
        rows = np.concatenate((self.table.T, -free, free, np.zeros((r, g))), axis=1)
        upper, lower = self.rows.high > 0, self.rows.low < 0
        tops = np.concatenate(
            (np.zeros((r, size)), np.diag(self.scale), np.diag(self.scale), -np.eye(g)[group]), axis=1
        )
        above = [rows[upper], -rows[lower], tops, total[None]]
        most = self.slack.bound if self.slack.bound is not None else 1e9
        limits = [self.rows.bound[upper], -self.rows.bound[lower], np.zeros(r), [most]]
        ones = np.zeros((len(self.values), len(cost)))
        for i in range(len(self.values)):
            ones[i, self.edges[i] : self.edges[i + 1]] = 1
        answer = linprog(cost, np.concatenate(above), np.concatenate(limits), ones, np.ones(len(ones)), (0, None))
        assert answer.status == 0
        return answer.fun

    def total(self, top):
        return top.sum()

    def above(self, of_xi, of_top):
        """Constraints that keep the variables of a norm above what they bound."""
        if self.slack.norm == "squared":
            return []
        size = self.scale[:, None] * of_xi
        if self.slack.norm == "l2":

            def length(z):
                return np.sqrt(((size @ z) ** 2).sum() + 1e-12)

            def slope(z):
                return of_top - (size @ z) @ size / length(z)

            return [{"type": "ineq", "fun": lambda z: of_top @ z - length(z), "jac": slope}]
        which = {"l1": np.arange(len(size)), "linf": np.zeros(len(size), int), "group": self.rows.group}
        top = of_top[which[self.slack.norm]]
        return [linear("ineq", np.concatenate((top - size, top + size)), np.zeros(2 * len(size)))]


def linear(kind, matrix, bound):
    """matrix @ z == bound, or >= bound."""
    return {"type": kind, "fun": lambda z: matrix @ z - bound, "jac": lambda z: matrix}


def tiny(seed, rules):
    X, scores = example(seed, lengths=(2, 1))
    return scores, Rows.compile(rules, X, LABELS)


@pytest.mark.parametrize("slack", SLACKS, ids=lambda s: f"{s.norm}-{s.penalty}-{s.bound}")
@pytest.mark.parametrize(("rules", "temperature"), [(OWN, 0.5), (CORPUS, 2.0), ([*OWN, *CORPUS], 1.0)])
def test_every_slack_by_a_generic_solver(slack, rules, temperature):
    require_best(*tiny(3, rules), slack, temperature)


@pytest.mark.parametrize("slack", [s for s in SLACKS if not s.none], ids=lambda s: f"{s.norm}-{s.penalty}-{s.bound}")
def test_slack_of_rules_that_count_differently_by_a_generic_solver(slack):
    """Every row's slack is multiplied by the penalty of its rule before the norm is taken."""
    rules = [rule.expected(penalty) for rule, penalty in zip(OWN[:2] + CORPUS[1:], (0.4, 3.0, 0.7, 2.0), strict=True)]
    require_best(*tiny(3, rules), slack, 1.0)


def require_best(scores, rows, slack, temperature):
    found = project(scores, rows, slack, temperature=temperature, **TIGHT)
    assert found.converged
    assert found.violation <= 1e-8
    assert abs(found.gap) <= 1e-7
    listed = Listed(scores, rows, slack, temperature)
    value, q = listed.best()
    np.testing.assert_allclose(found.primal, value, atol=2e-5)
    np.testing.assert_allclose(found.expected, listed.table.T @ q, atol=5e-3)
    _, expected, unary = by_listing(rows, scores, found.prices, temperature)
    np.testing.assert_allclose(found.expected, expected, atol=1e-9)
    np.testing.assert_allclose(found.parts.unary, unary, atol=1e-9)
    again = project(scores, rows, slack, temperature=temperature, start=found.prices, tolerance=1e-6)
    assert again.passes <= 1.0 + 1e-9
    assert again.converged


@pytest.mark.parametrize("rule", OWN, ids=lambda rule: rule.title)
@pytest.mark.parametrize("penalty", [0.3, 3.0, 300.0])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6])
def test_own_prices_stop_by_their_gap(rule, penalty, tolerance):
    """Each sequence stops by itself, near enough, and not much nearer than was asked."""
    X, scores = example(3, lengths=(4, 2, 5, 3, 6))
    rows = Rows.compile([rule], X, LABELS)
    found = project(scores, rows, Slack("squared", penalty=penalty), tolerance=tolerance, max_iterations=0)
    assert found.converged
    assert 0.0 <= found.gap + 1e-9 <= tolerance * len(X) + 1e-9
    assert found.passes <= 40


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_the_projection_factors_as_the_model_does(temperature):
    """Proposition 2.2: every output has its probability in the chain of the shifted scores."""
    scores, rows = tiny(7, [*OWN, *CORPUS])
    slack = Slack("squared", penalty=3.0)
    found = project(scores, rows, slack, temperature=temperature, **TIGHT)
    chain = shifted(scores, rows, found.prices).divide(temperature)
    log_z = Chain().marginals(chain).log_partition
    ours = [
        np.exp(Chain().score(chain.sequences(i, i + 1), y)[0] - log_z[i])
        for i in range(len(scores))
        for y in outputs_of(scores, i)
    ]
    np.testing.assert_allclose(ours, Listed(scores, rows, slack, temperature).best()[1], atol=2e-3)


def test_of_two_projections_the_converged_one_or_that_of_higher_dual_is_kept():
    """With the work of both."""
    found = project(*tiny(3, OWN), Slack("l1", penalty=1.0))
    low, high = (replace(found, dual=dual, converged=False, passes=2.0) for dual in (0.5, 1.0))
    done = replace(low, converged=True)
    for one, other, kept in ((low, high, 1.0), (high, low, 1.0), (high, done, 0.5), (done, high, 0.5)):
        best = one.or_better(other)
        assert (best.dual, best.passes) == (kept, 4.0)


def test_the_gap_closes_around_the_best():
    """Proposition 2.1: the dual from below and the primal from above, as near as the tolerance asks."""
    scores, rows = tiny(7, [*OWN, *CORPUS])
    slack = Slack("squared", penalty=3.0)
    best, _ = Listed(scores, rows, slack, 1.0).best()
    for tolerance in (1e-1, 1e-3, 1e-6):
        found = project(scores, rows, slack, tolerance=tolerance, max_iterations=3000)
        assert found.converged
        assert found.dual - 1e-5 <= best <= found.primal + 1e-5
        assert found.gap <= tolerance * len(scores)


@pytest.mark.parametrize("slack", [s for s in SLACKS if s.norm in ("squared", "l1")], ids=str)
def test_many_rows_about_the_corpus_end_where_few_do(slack, monkeypatch):
    """Beyond so many rows, L-BFGS-B takes the place of the dense matrix."""
    scores, rows = tiny(7, [*OWN, *CORPUS])
    few = project(scores, rows, slack, **TIGHT)
    monkeypatch.setattr(projection, "_DENSE", 0)
    many = project(scores, rows, slack, **TIGHT)
    assert few.converged
    assert many.converged
    np.testing.assert_allclose(many.expected, few.expected, atol=1e-4)


@pytest.mark.parametrize("slack", [Slack(), Slack("l1", penalty=0.4), Slack("squared", penalty=3.0)], ids=str)
@pytest.mark.parametrize("dense", [0, 200])
def test_rows_that_say_little_about_the_corpus(slack, dense, monkeypatch):
    """One about last tokens alone, and one that speaks of no token here."""
    monkeypatch.setattr(projection, "_DENSE", dense)
    nowhere = (count("A", where=word.isin("nothing")) <= 0.2).over_corpus()
    rules = [ends_with("A", "B").over_corpus(), nowhere, share("A") == 0.3]
    X, scores = example(7, lengths=(2, 1))
    rows = Rows.compile(rules, X, LABELS, units=[2.0, 2.0, 3.0])
    found = project(scores, rows, slack, **TIGHT)
    assert found.converged
    np.testing.assert_allclose(found.primal, Listed(scores, rows, slack, 1.0).best()[0], atol=2e-5)


def test_curvature_is_worth_passes_to_the_next_projection():
    X, scores = example(5, lengths=(6, 4, 5, 7))
    rows, slack, curvature = Rows.compile(CORPUS, X, LABELS), Slack("squared", penalty=30.0), Curvature()
    first = project(scores, rows, slack, curvature=curvature, **TIGHT)
    moved = replace(scores, unary=1.05 * scores.unary)
    options = {"start": first.prices, **TIGHT}
    after, alone = (project(moved, rows, slack, curvature=known, **options) for known in (curvature, None))
    assert after.converged
    assert after.passes < alone.passes
    np.testing.assert_allclose(after.expected, alone.expected, atol=1e-6)


@pytest.mark.parametrize(
    ("slack", "rules"), [(Slack(), CORPUS), *((Slack("l1", penalty=0.4), r) for r in (OWN, CORPUS, [*OWN, *CORPUS]))]
)
@pytest.mark.parametrize("temperature", [0.03, 0.001])
def test_cold_projections_come_near_the_linear_program(slack, rules, temperature):
    X, scores = example(6, lengths=(6, 4, 5, 7))
    rows = Rows.compile(rules, X, LABELS)
    found, program = project(scores, rows, slack, temperature=temperature, tolerance=1e-3), relax(scores, rows, slack)
    assert found.converged
    entropy = len(scores.unary) * np.log(len(LABELS))
    assert program.primal - temperature * entropy <= found.primal + 0.01
    assert found.dual <= program.primal + 1e-6


def test_cold_projections_are_reached_from_warm_ones(monkeypatch):
    X, scores = example(6, lengths=(6, 4, 5, 7) * 5)
    rows, slack = Rows.compile([*OWN, *CORPUS], X, LABELS), Slack("squared", penalty=300.0)
    options = {"temperature": 0.001, "tolerance": 1e-3}
    cooled = project(scores, rows, slack, **options)
    monkeypatch.setattr(projection, "_COOLING", 0.0)
    direct = project(scores, rows, slack, **options)
    assert cooled.converged
    assert cooled.passes < 0.5 * direct.passes
    assert cooled.dual >= direct.dual - 1e-3 * len(X)


def test_cold_projections_of_single_sequences():
    for seed in range(4):
        X, scores = example(seed, lengths=(6, 4, 5, 7) * 4)
        slack = Slack("squared", penalty=300.0)
        assert project(scores, Rows.compile(OWN, X, LABELS), slack, temperature=0.001, tolerance=1e-3).converged


@pytest.mark.parametrize("temperature", [0.2, 0.05])
def test_cold_projections_that_begin_near_stay_cold(temperature):
    X, scores = example(2, lengths=(6, 4, 5, 7) * 4)
    rows, slack = Rows.compile([*OWN, *CORPUS], X, LABELS), Slack("squared", penalty=30.0)
    options = {"temperature": temperature, "tolerance": 1e-3}
    first = project(scores, rows, slack, **options)
    noise = np.random.default_rng(0).normal(scale=0.02, size=scores.unary.shape)
    moved = replace(scores, unary=scores.unary + noise)
    again, anew = (project(moved, rows, slack, start=start, **options) for start in (first.prices, None))
    assert again.converged
    assert again.passes < 0.5 * anew.passes


def test_rules_count_as_much_as_they_are_worth():
    X, scores = example(3)
    light, heavy = (Rows.compile([(count("A") == 0.2).expected(p)], X, LABELS) for p in (0.1, 100.0))
    for norm in ("squared", "l1", "l2"):
        weak, strong = (project(scores, rows, Slack(norm, penalty=1.0), **TIGHT) for rows in (light, heavy))
        assert np.abs(strong.excess).sum() < 0.2 * np.abs(weak.excess).sum()


def test_nothing_to_do():
    X, scores = example(1)
    plain = Chain().marginals(scores)
    for rows in (Rows.compile([], X, LABELS), Rows.compile([count("A") <= 9, share("A") <= 1.0], X, LABELS)):
        found = project(scores, rows)
        assert found.converged
        np.testing.assert_allclose(found.primal, 0, atol=1e-9)
        np.testing.assert_allclose(found.parts.unary, plain.parts.unary)
        assert not found.prices.any()


def test_rules_that_forbid_are_restrictions():
    """Their prices are infinite; the divergence is -log of what is left."""
    X, scores = example(4)
    rows = Rows.compile([starts_with("A"), runs("B") <= 1], X, LABELS)
    found = project(scores, rows, tolerance=1e-7)
    assert np.isposinf(rows.split(found.prices)[1][:, 0]).all()
    assert np.isfinite(rows.split(found.prices)[1][:, 1]).all()
    np.testing.assert_array_equal(found.parts.unary[scores.offsets[:-1], 0], 1)
    alone = project(scores, Rows.compile([starts_with("A")], X, LABELS))
    left = Chain().marginals(Rows.compile([starts_with("A")], X, LABELS).forbid(scores)).log_partition
    np.testing.assert_allclose(alone.primal, (Chain().marginals(scores).log_partition - left).sum())


def test_restricted_scores_and_their_model():
    X, scores = example(2)
    rows = Rows.compile(OWN[:2], X, LABELS)
    allowed = np.ones(scores.unary.shape, bool)
    allowed[0, 1] = allowed[3, 0] = False
    log_z = Chain().marginals(scores).log_partition
    found = project(scores.restrict(allowed), rows, log_partition=log_z, **TIGHT)
    assert found.parts.unary[0, 1] == found.parts.unary[3, 0] == 0
    inside = project(scores.restrict(allowed), rows, **TIGHT)
    lost = (log_z - Chain().marginals(scores.restrict(allowed)).log_partition).sum()
    np.testing.assert_allclose(found.primal, inside.primal + lost)


def test_infeasible_rules_are_named():
    X, scores = example(0)
    cases = [
        ([count("A") >= 9], r"sequence 0 has no distribution that satisfies \"count\('A'\) >= 9\"; allow slack"),
        ([count("A") + count("B") >= 1.5, count("B") <= 0.2, once_each("C")], "sequence 0 has no distribution"),
        ([share("A") >= 0.9, share("B") >= 0.9], r"satisfies \"share\('A'\) >= 0.9\" and \"share\('B'\) >= 0.9\""),
        ([starts_with("A"), count("A") <= 0], r"starts_with\('A'\)"),
        (
            [starts_with("A"), count("A") <= 0.5],
            r"satisfies \"count\('A'\) <= 0.5\" where \"starts_with\('A'\)\" holds",
        ),
    ]
    for rules, message in cases:
        with pytest.raises(Infeasible, match=message):
            project(scores, Rows.compile(rules, X, LABELS), max_iterations=2000)
    with pytest.raises(Infeasible, match="no distribution satisfies"):
        project(scores, Rows.compile([count("A") >= 9], X, LABELS), Slack("l2", bound=0.5), max_iterations=2000)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf", "group"])
@pytest.mark.parametrize(
    "rules",
    [
        [share("A") >= 0.5, share("A") <= 0.49],
        [share("A") == 0.5, share("A") == 0.49],
        [count("A") == 0.5, count("A") == 0.6],
        [count("A") <= 0.5, (count("A") >= 0.55).over_corpus()],
        [ends_with("A"), ends_with("B")],
        [count("A", where=word.isin("nowhere")) >= 1],
    ],
    ids=str,
)
def test_contradictions_within_a_bound(norm, rules):
    X, scores = example(3)
    with pytest.raises(Infeasible, match=r"no distribution .*satisfies "):
        project(scores, Rows.compile(rules, X, LABELS), Slack(norm, bound=0.001))


def test_rules_that_contradict_are_all_named():
    """Their prices have different units: a share is divided by its tokens."""
    X, scores = example(3)
    rules = [count("A") <= 0.1, share("A") >= 0.9, count("C") >= 0.01]
    with pytest.raises(Infeasible, match=r"""satisfies "share\('A'\) >= 0.9" and "count\('A'\) <= 0.1"; allow"""):
        project(scores, Rows.compile(rules, X, LABELS))


@pytest.mark.parametrize(
    "slack", [Slack(), Slack("linf", bound=0.01), Slack("l1", penalty=5.0), Slack("squared", penalty=5.0)], ids=str
)
def test_kept_prices_are_those_of_the_whole_batch(slack):
    """Each sequence alone, at the corpus prices of all: the same distribution, although their scale is another."""
    X, scores = example(3)
    rules = [(count("A") >= 1.2).over_corpus(), count("B") <= 1.5]
    rows = Rows.compile(rules, X, LABELS)
    every = project(scores, rows, slack, **TIGHT)
    for i in range(len(scores)):
        some = Rows.compile(rules, X[i : i + 1], LABELS, rows.units)
        start = np.concatenate((every.prices[: rows.joint], [0.0]))
        alone = project(scores.sequences(i, i + 1), some, slack, start=start, fixed=True, **TIGHT)
        tokens = slice(scores.offsets[i], scores.offsets[i + 1])
        np.testing.assert_allclose(alone.parts.unary, every.parts.unary[tokens], atol=1e-5)
    contrary = Rows.compile([rules[0], count("B") >= 9], X[:1], LABELS, rows.units)
    with pytest.raises(Infeasible, match=r"sequence 0 has no distribution that satisfies \"count\('B'\) >= 9\""):
        project(scores.sequences(0, 1), contrary, start=start, fixed=True)


def test_bad_parameters():
    X, scores = example(0)
    rows = Rows.compile(OWN, X, LABELS)
    for temperature in (0, -1, np.inf, np.nan, "warm"):
        with pytest.raises(DataError, match="temperature is above 0"):
            project(scores, rows, temperature=temperature)
    cases = [
        (Slack("l3"), "the norm of slack is one of l1, l2"),
        (Slack("l1", penalty=1, bound=1), "a penalty or a bound, not both"),
        (Slack("l1", penalty=0), "finite number above 0, got 0"),
        (Slack("l1", bound=-1), "at least 0, got -1"),
        (Slack("l1", penalty="a"), "finite number above 0, got 'a'"),
        (Slack("l1", bound="a"), "at least 0, got 'a'"),
        (Slack("squared", bound=1), "use norm 'l2'"),
    ]
    for slack, message in cases:
        with pytest.raises(DataError, match=message):
            project(scores, rows, slack)
    with pytest.raises(DataError, match="a temperature of 1e-12 is too low to divide scores by"):
        project(scores, rows, temperature=1e-12)
    with pytest.raises(NotSupported, match="prices can be kept only"):
        project(scores, rows, Slack("l2", penalty=1), fixed=True)


@pytest.mark.parametrize(
    "slack", [s for s in SLACKS if s.none or s.norm in ("l1", "linf", "group")], ids=lambda s: str(s)
)
@pytest.mark.parametrize("rules", [OWN, CORPUS, [*OWN, *CORPUS]])
def test_temperature_zero_is_a_linear_program(slack, rules):
    """By HiGHS over every output; projections approach it from below."""
    scores, rows = tiny(7, rules)
    found = relax(scores, rows, slack)
    listed = Listed(scores, rows, slack, 0.0)
    np.testing.assert_allclose(found.primal, listed.linear_program(), atol=1e-7)
    np.testing.assert_allclose(found.parts.unary.sum(axis=1), 1)
    heads = scores.offsets[:-1]
    np.testing.assert_allclose(found.parts.pair.sum(axis=(0, 1)), np.delete(found.parts.unary, heads, 0).sum(axis=0))
    np.testing.assert_allclose(found.parts.start, found.parts.unary[heads].sum(axis=0))
    cold = project(scores, rows, slack, temperature=0.05, tolerance=1e-6, max_iterations=5000)
    assert cold.converged
    assert found.primal - 0.05 * np.log(27) <= cold.primal <= found.primal + 1e-6  # there are 27 outputs
    assert found.dual == found.primal


def test_programs_of_single_sequences():
    X, scores = example(3)
    rows = Rows.compile([count("A") == 0.5, runs("B") <= 0.5], X, LABELS)
    together = relax(scores, rows)
    for i in range(len(scores)):
        one = relax(scores.sequences(i, i + 1), rows.sequence_range(i, i + 1))
        tokens = slice(scores.offsets[i], scores.offsets[i + 1])
        np.testing.assert_allclose(together.parts.unary[tokens], one.parts.unary, atol=1e-9)
    np.testing.assert_allclose(rows.split(together.expected)[1][:, 0], 0.5)
    assert (rows.split(together.expected)[1][:, 1] <= 0.5 + 1e-9).all()
    best = relax(scores, Rows.compile([count("A") <= 9], X, LABELS))
    np.testing.assert_array_equal(best.parts.unary.argmax(axis=1), Chain().argmax(scores).outputs.values)
    with pytest.raises(NotSupported, match="makes no linear program"):
        relax(scores, rows, Slack("squared", penalty=1.0))
    with pytest.raises(Infeasible, match="sequence 0 has no distribution"):
        relax(scores, Rows.compile([count("A") >= 7], X, LABELS))
