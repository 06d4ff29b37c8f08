"""Rows over the parts of segmentations, against lists of all outputs."""

import numpy as np
import pytest
from scipy.special import logsumexp

from sidelight import NotSupported, changes, count, each, runs, share, starts_with, transitions, where, word
from sidelight.errors import Infeasible
from sidelight.inference.norms import Slack
from sidelight.inference.part_rows import SegmentRows
from sidelight.inference.projection import project, shifted
from sidelight.structures.segmentation import Segmentation, SegmentParts

LABELS = ["A", "B", "C"]
X = [["a", "b", "a"], ["b", "b", "c", "a"], ["c"], ["a", "c", "c"]]
RULES = [
    runs(each) <= 1,
    count("A") >= 1,
    where(word.isin("b")).label("B"),
    starts_with("A"),
    changes() <= 1,
    (share("C") == 0.3).expected(2.0),
    (count("B", where=word.isin("a", "c")) <= 0.5).over_corpus(),
]


def segments(seed=0, longest=4):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum([len(x) for x in X])))
    tables = [rng.normal(size=(int(offsets[-1]), 3)) for _ in range(3)]
    pair = np.where(np.eye(3, dtype=bool), -np.inf, rng.normal(size=(3, 3)))
    ends = {"start": rng.normal(size=3), "end": rng.normal(size=3)}
    return SegmentParts.of(
        offsets, tables[0], pair, rng.normal(size=(3, longest)), opens=tables[1], closes=tables[2], **ends
    )


def listed(scores):
    """For every sequence its outputs as parts, and their scores."""
    structure, out = Segmentation(1), []
    for i in range(len(scores)):
        some = scores.sequences(i, i + 1)
        outputs = [np.array(y, np.int32) for y in structure.support(scores, i)]
        parts = [structure.indicator(some, y) for y in outputs]
        out.append((parts, np.array([structure.score(some, y)[0] for y in outputs])))
    return out


def counts(rows, i, parts):
    """A·y of one sequence's output, rows of the corpus first."""
    return rows.take(np.array([i])).count(parts)


def split(rows, values):
    """Values of the rows of the corpus, and of those of each sequence, which are as many for all here."""
    return values[: rows.joint], values[rows.joint :].reshape(rows.sequences, -1)


def by_listing(scores, rows, prices, temperature):
    """Log-partitions and expectations of all rows under (θ - Aᵀλ) / T, by all outputs."""
    corpus, own = split(rows, prices)
    expected, totals = np.zeros(len(rows)), []
    for i, (outputs, values) in enumerate(listed(scores)):
        every = np.array([counts(rows, i, y) for y in outputs])
        tilted = (values - every @ np.concatenate((corpus, own[i]))) / temperature
        totals.append(logsumexp(tilted))
        mean = np.exp(tilted - totals[-1]) @ every
        expected[: rows.joint] += mean[: rows.joint]
        split(rows, expected)[1][i] = mean[rows.joint :]
    return np.array(totals), expected


@pytest.mark.parametrize("temperature", [1.0, 0.5, 3.0])
def test_tilted_marginals_are_those_of_all_outputs(temperature):
    scores, rows = segments(), SegmentRows.compile(RULES, X, LABELS)
    prices = np.random.default_rng(1).normal(size=len(rows))
    tilted = rows.tilt(scores, prices, temperature=temperature, n_jobs=1)
    totals, expected = by_listing(scores, rows, prices, temperature)
    np.testing.assert_allclose(tilted.log_partition, totals)
    np.testing.assert_allclose(tilted.expected, expected, atol=1e-10)


def test_rows_of_some_sequences_are_the_same():
    rows, scores = SegmentRows.compile(RULES, X, LABELS), segments()
    which = np.array([3, 1])
    some, left = rows.take(which), scores.take(which)
    prices = np.random.default_rng(2).normal(size=len(rows))
    corpus, own = split(rows, prices)
    whole = rows.tilt(scores, prices, n_jobs=1)
    found = some.tilt(left, np.concatenate((corpus, own[which].ravel())), n_jobs=1)
    np.testing.assert_allclose(found.log_partition, whole.log_partition[which])
    np.testing.assert_allclose(split(some, found.expected)[1], split(rows, whole.expected)[1][which])


@pytest.mark.parametrize("slack", [Slack("l1", 2.0), Slack("squared", 3.0), Slack("l2", 1.5), Slack("linf", bound=0.7)])
def test_projections_keep_their_certificate(slack):
    scores, rows = segments(), SegmentRows.compile(RULES, X, LABELS)
    found = project(scores, rows, slack, tolerance=1e-6, n_jobs=1)
    assert found.converged
    assert found.violation <= 1e-6
    _, expected = by_listing(scores, rows, found.prices, 1.0)
    np.testing.assert_allclose(found.expected, expected, atol=1e-8)
    divergence = 0.0
    corpus, own = split(rows, found.prices)
    for i, (outputs, values) in enumerate(listed(scores)):
        every = np.array([counts(rows, i, y) for y in outputs])
        log_q = values - every @ np.concatenate((corpus, own[i]))
        log_q -= logsumexp(log_q)
        divergence += np.exp(log_q) @ (log_q - values + logsumexp(values))
    np.testing.assert_allclose(found.divergence, divergence, rtol=1e-6)
    moved = Segmentation(1).marginals(shifted(scores, rows, found.prices)).parts
    np.testing.assert_allclose(moved.unary, found.parts.unary, atol=1e-8)


def test_without_slack_rules_hold_and_parts_are_forbidden():
    rules = [where(word.isin("b")).label("B"), runs(each) <= 1]
    scores, rows = segments(3), SegmentRows.compile(rules, X, LABELS)
    found = project(scores, rows, tolerance=1e-4, n_jobs=1)
    assert found.converged
    at = [t for t, token in enumerate(token for x in X for token in x) if token == "b"]
    np.testing.assert_allclose(found.parts.unary[at, 1], 1.0, atol=1e-9)
    assert (found.excess <= 1e-3).all()
    with pytest.raises(Infeasible, match="sequence 0 has no distribution that satisfies"):
        project(scores, SegmentRows.compile([count("A") >= 9], X, LABELS), tolerance=1e-4, n_jobs=1)


def test_what_depends_on_the_segment_before_is_refused():
    with pytest.raises(NotSupported, match="depends on the label of the segment before"):
        SegmentRows.compile([transitions("A", "B") <= 1], X, LABELS)
    scores, rows = segments(), SegmentRows.compile([runs("A") <= 1], X, LABELS)
    with pytest.raises(NotSupported, match="derivatives of expectations need label chains"):
        rows.direction(scores, np.zeros(len(rows)), 1.0)
