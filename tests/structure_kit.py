"""One set of claims for every structure, checked against enumeration on tiny inputs.

A structure passes if, for given scores, argmax, k-best, log-partition, marginals, entropy, sampling, loss
augmentation, restriction and tempering agree with what listing every output gives.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from sidelight.errors import Infeasible
from sidelight.structures.chain import ChainParts
from sidelight.structures.choice import ChoiceParts
from sidelight.structures.known import KnownLabels
from sidelight.supervision import Signal

Indicator = Callable[[Any, int, tuple[int, ...]], Any]


def enumerate_outputs(structure: Any, scores: Any, index: int) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Every output of one input with its score."""
    outputs = list(structure.support(scores, index))
    return outputs, scores_of(structure, scores, index, outputs)


def scores_of(structure: Any, scores: Any, index: int, outputs: list[tuple[int, ...]]) -> np.ndarray:
    """The scores of several outputs of one input."""
    if not outputs:
        return np.empty(0)
    if isinstance(scores, ChainParts):
        many = scores.sequences(index, index + 1).repeated(len(outputs))
    elif isinstance(scores, ChoiceParts):
        many = ChoiceParts(np.tile(scores.unary[index], (len(outputs), 1)))
    else:
        many = scores.take(np.full(len(outputs), index))
    return structure.score(many, np.array(outputs, np.int32).ravel())


def check_structure(structure: Any, scores: Any, indicator: Indicator, *, k: int = 4) -> None:
    """Check every call on `scores`; `indicator(scores, index, output)` gives the parts of one output as Parts."""
    listed = [enumerate_outputs(structure, scores, i) for i in range(len(scores))]
    if any(len(values) == 0 for _, values in listed):
        first = next(i for i, (_, values) in enumerate(listed) if len(values) == 0)
        for call in (structure.argmax, structure.marginals, lambda s: structure.kbest(s, 2)):
            with pytest.raises(Infeasible, match=f"sequence {first} "):
                call(scores)
        return
    check_argmax(structure, scores, listed)
    check_kbest(structure, scores, listed, k)
    check_marginals(structure, scores, listed, indicator)
    check_entropy(structure, scores, listed)


def check_argmax(structure: Any, scores: Any, listed: list[Any]) -> None:
    for seed in (None, 0, 1):
        best = structure.argmax(scores, seed=seed)
        assert best.exact
        np.testing.assert_allclose(structure.score(scores, best.outputs.values), best.scores, rtol=1e-9, atol=1e-9)
        for i, (_, values) in enumerate(listed):
            np.testing.assert_allclose(best.scores[i], values.max(), rtol=1e-9, atol=1e-9)


def check_kbest(structure: Any, scores: Any, listed: list[Any], k: int) -> None:
    ranked = structure.kbest(scores, k)
    for i, (outputs, values) in enumerate(listed):
        tokens = slice(ranked.outputs.offsets[i], ranked.outputs.offsets[i + 1])
        found = [
            tuple(int(c) for c in row[tokens])
            for row, s in zip(ranked.outputs.values, ranked.scores[i], strict=True)
            if s > -np.inf
        ]
        count = min(k, len(outputs))
        assert len(found) == len(set(found)) == count
        np.testing.assert_allclose(ranked.scores[i][:count], np.sort(values)[::-1][:count], rtol=1e-9, atol=1e-9)
        by_output = dict(zip(outputs, values, strict=True))
        np.testing.assert_allclose([by_output[y] for y in found], ranked.scores[i][:count], rtol=1e-9, atol=1e-9)


def check_marginals(structure: Any, scores: Any, listed: list[Any], indicator: Indicator) -> None:
    marginals = structure.marginals(scores)
    expected: dict[str, np.ndarray] = {}
    for i, (outputs, values) in enumerate(listed):
        log_z = logsumexp(values)
        np.testing.assert_allclose(marginals.log_partition[i], log_z, rtol=1e-9, atol=1e-9)
        for y, p in zip(outputs, np.exp(values - log_z), strict=True):
            for name, part in indicator(scores, i, y).items():
                expected[name] = expected.get(name, 0) + p * part
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(marginals.parts, name), value, atol=1e-9, err_msg=name)


def check_entropy(structure: Any, scores: Any, listed: list[Any]) -> None:
    entropy = structure.entropy(scores)
    for i, (_, values) in enumerate(listed):
        log_p = values - logsumexp(values)
        scale = max(1.0, np.abs(values).max())
        np.testing.assert_allclose(entropy[i], -(np.exp(log_p) * log_p).sum(), atol=1e-9 * scale)


def check_sampling(structure: Any, scores: Any, *, draws: int = 20_000) -> None:
    """Frequencies of draws lie within five standard errors of the probabilities."""
    labels = structure.sample(scores, draws, seed=7)
    np.testing.assert_array_equal(labels, structure.sample(scores, draws, seed=7))
    for i in range(len(scores)):
        outputs, values = enumerate_outputs(structure, scores, i)
        chance = dict(zip(outputs, np.exp(values - logsumexp(values)), strict=True))
        rows = labels[:, scores.offsets[i] : scores.offsets[i + 1]]
        seen, counts = np.unique(rows, axis=0, return_counts=True)
        for y, count in zip(seen, counts, strict=True):
            p = chance[tuple(int(c) for c in y)]
            assert abs(count / draws - p) < 5 * np.sqrt(p * (1 - p) / draws) + 1e-3


def check_ties(structure: Any, scores: Any) -> None:
    """With all scores equal, seeds reach every output, and no seed always gives the same one."""
    outputs, values = enumerate_outputs(structure, scores, 0)
    assert np.ptp(values) == 0
    seen = {tuple(structure.argmax(scores, seed=seed).outputs.values) for seed in range(40 * len(outputs))}
    assert len(seen) == len(outputs)
    assert len({tuple(structure.argmax(scores).outputs.values) for _ in range(5)}) == 1


def known_labels(rng: np.random.Generator, scores: Any, partial: bool = False) -> KnownLabels:
    """Random labels of every token, or with `partial` random sets of labels."""
    labels = rng.integers(scores.labels, size=len(scores.unary)).astype(np.int32)
    known = KnownLabels.complete(labels, scores.offsets)
    if not partial:
        return known
    allowed = known.choices(scores.labels) | (rng.random(scores.unary.shape) < 0.5)
    labels = np.where(allowed.sum(axis=1) == 1, labels, -1).astype(np.int32)
    return KnownLabels((Signal.PARTIAL,) * len(scores), labels, allowed, scores.offsets)


def check_loss(structure: Any, scores: Any, known: KnownLabels) -> None:
    """The loss of every output counts the tokens whose labels contradict what is known, input by input."""
    delta, allowed = structure.loss(scores, known), known.choices(scores.labels)
    for i in range(len(scores)):
        at = slice(scores.offsets[i], scores.offsets[i + 1])
        for output in structure.support(scores, i):
            labels = structure.token_labels(np.array(output, np.int32))
            wrong = (~allowed[at][np.arange(len(labels)), labels]).sum()
            cost = structure.score(delta.cost.sequences(i, i + 1), np.array(output, np.int32))[0]
            np.testing.assert_allclose(cost + delta.constant[i], wrong)
    one = delta.cost.sequences(0, 1)
    alone = structure.loss(scores.sequences(0, 1), known.inputs(0, 1))
    np.testing.assert_array_equal(alone.cost.unary, one.unary)
    np.testing.assert_array_equal(
        structure.loss(scores.sequences(1, 2), known.take(np.array([1]))).cost.unary, delta.cost.sequences(1, 2).unary
    )
