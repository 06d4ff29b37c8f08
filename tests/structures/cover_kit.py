"""What the tests of alignments and matchings share: random scores, and claims about parts, losses and large scores."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sidelight.errors import DataError
from sidelight.structures.flat import FlatParts, KnownOutputs
from sidelight.structures.known import Outputs
from sidelight.supervision import Signal
from tests.structure_kit import check_argmax, check_kbest, enumerate_outputs


def random_scores(rng, structure, shapes, *, scale=1.0, forbid=0.0):
    shapes = np.array(shapes, np.int64)
    offsets = np.concatenate(([0], np.cumsum(structure.part_counts(shapes)))).astype(np.int64)
    values = rng.normal(scale=scale, size=offsets[-1])
    values[rng.random(len(values)) < forbid] = -np.inf
    return FlatParts(values, offsets, shapes)


def with_loss(structure, scores):
    """Scores and the loss beside the worst outputs."""
    known = KnownOutputs((Signal.FULL,) * len(scores), structure.argmax(scores.times(-1.0)).outputs, structure)
    return scores + structure.loss(scores, known).cost


def all_but_one_forbidden(rng, structure, scores):
    """Scores that leave one output of each input, and these outputs."""
    found = []
    for i in range(len(scores)):
        outputs = list(structure.all_outputs(scores.of(i)[1]))
        found.append(outputs[rng.integers(len(outputs))])
    values = np.concatenate(found)
    return scores.restrict(structure.indicator(scores, values).values > 0), values


def coverage(structure, shape, output):
    """How often each item is covered, by the parts' own rivals: deletions of an item are rivals of what covers it."""
    n, m = shape[:2]
    deletions = int(structure.part_counts(np.array([shape]))[0]) - n - m
    covered = np.zeros(n + m, int)
    for part in structure.parts_of(shape, output).tolist():
        touched = np.append(structure.rivals(shape, part), part)
        covered[touched[touched >= deletions] - deletions] += 1
    return covered


def check_parts(structure, shape):
    """Outputs are distinct and so are their parts, and both cover every item once; rivals are never together."""
    outputs = [tuple(y.tolist()) for y in structure.all_outputs(shape)]
    parts = [tuple(structure.parts_of(shape, np.array(y)).tolist()) for y in outputs]
    assert len(set(outputs)) == len(set(parts)) == len(outputs)
    together = {(p, q) for some in parts for p in some for q in some if p != q}
    count = int(structure.part_counts(np.array([shape]))[0])
    sizes = structure.items_covered(shape)
    for y, some in zip(outputs, parts, strict=True):
        assert (coverage(structure, shape, np.array(y)) == 1).all()
        assert sizes[list(some)].sum() == shape[0] + shape[1]
    for part in range(count):
        rivals = set(structure.rivals(shape, part).tolist())
        assert part not in rivals
        assert not {q for p, q in together if p == part} & rivals
        with_it = {some for some in parts if part in some}
        assert with_it == {some for some in parts if not rivals & set(some)}


def check_kit(structure, scores, k=5):
    """Best outputs against enumeration, also the k best by partition."""
    listed = [enumerate_outputs(structure, scores, i) for i in range(len(scores))]
    check_argmax(structure, scores, listed)
    check_kbest(structure, scores, listed, k)
    for i, (_, values) in enumerate(listed):
        theta, shape = scores.of(i)
        found = structure.by_partition(theta, shape, k)
        sums = [theta[structure.parts_of(shape, y)].sum() for y in found]
        np.testing.assert_allclose(sums, np.sort(values)[::-1][: len(found)], rtol=1e-9, atol=1e-9)
        assert len({tuple(y.tolist()) for y in found}) == len(found) == min(k, len(values))
    return listed


def check_loss(rng, structure, scores):
    """cost·y + constant is the number of items that are covered by another part than in the known output."""
    gold = [list(structure.all_outputs(scores.of(i)[1])) for i in range(len(scores))]
    gold = [outputs[rng.integers(len(outputs))] for outputs in gold]
    slots = np.concatenate(([0], np.cumsum([len(y) for y in gold])))
    known = KnownOutputs((Signal.FULL,) * len(gold), Outputs(np.concatenate(gold), slots), structure)
    delta = structure.loss(scores, known)
    assert not delta.constant.any()
    for i, right in enumerate(gold):
        shape = scores.of(i)[1]
        covered_by = owners(structure, shape, right)
        for output in structure.all_outputs(shape):
            cost = structure.score(delta.cost.sequences(i, i + 1), output)[0]
            assert cost == (owners(structure, shape, output) != covered_by).sum()
    np.testing.assert_array_equal(
        structure.loss(scores.sequences(1, 2), known.inputs(1, 2)).cost.values, delta.cost.sequences(1, 2).values
    )
    check_partial_loss(rng, structure, scores, known, delta)


def check_partial_loss(rng, structure, scores, known, delta):
    """Allowed parts cost nothing, and nothing does where nothing is known."""
    allowed = [rng.random(len(scores.of(i)[0])) < 0.5 for i in range(len(scores))]
    kinds = (Signal.PARTIAL, Signal.NOTHING, *known.kinds[2:])
    values = known.outputs.values.copy()
    values[: known.outputs.offsets[2]] = -1
    some = KnownOutputs(kinds, Outputs(values, known.outputs.offsets), structure, tuple(allowed))
    cost = structure.loss(scores, some).cost
    sizes = structure.items_covered(scores.of(0)[1])
    np.testing.assert_array_equal(cost.of(0)[0], np.where(allowed[0], 0.0, sizes))
    assert not cost.of(1)[0].any()
    np.testing.assert_array_equal(cost.sequences(2, len(scores)).values, delta.cost.sequences(2, len(scores)).values)


def owners(structure, shape, output):
    """The part that covers each item."""
    n, m = shape[:2]
    deletions = int(structure.part_counts(np.array([shape]))[0]) - n - m
    owner = np.full(n + m, -1)
    for part in structure.parts_of(shape, output).tolist():
        touched = np.append(structure.rivals(shape, part), part)
        owner[touched[touched >= deletions] - deletions] = part
    return owner


def check_best_exactly(structure, scores):
    """The best output by exact sums; whatever is lost is below the rounding of its own score."""
    best = structure.argmax(scores)
    for i in range(len(scores)):
        theta, shape = scores.of(i)
        found = best.outputs.inputs(i, i + 1).values

        def total(output, theta=theta, shape=shape):
            parts = theta[structure.parts_of(shape, output)]
            return (
                sum(map(Fraction, parts.tolist()), Fraction(0)) if np.isfinite(parts).all() else -(Fraction(10) ** 400)
            )

        high = max(total(output) for output in structure.all_outputs(shape))
        digits = max(1, *(abs(Fraction(v)) for v in theta[structure.parts_of(shape, found)].tolist()))
        assert high - total(found) <= digits * Fraction(1, 10**13)


def check_refused(structure, scores):
    """Scores that are no numbers, or shapes that are none, are refused by name; so are outputs that are none."""
    for bad in (np.nan, np.inf):
        values = scores.values.copy()
        values[scores.offsets[1]] = bad
        for call in (structure.argmax, lambda s: structure.kbest(s, 2)):
            with pytest.raises(DataError, match="sequence 1 has scores that are no numbers"):
                call(replace(scores, values=values))
    shapes = scores.shapes.copy()
    shapes[1, 1] += 1
    with pytest.raises(DataError, match=r"sequence 1 has the shape .* and \d+ parts, which is none"):
        structure.argmax(replace(scores, shapes=shapes))
    with pytest.raises(DataError, match="a shape is three whole numbers"):
        structure.argmax(replace(scores, shapes=scores.shapes[:, :2]))
    with pytest.raises(DataError, match="k-best needs a whole number k >= 1"):
        structure.kbest(scores, 0)
    outputs = structure.argmax(scores).outputs
    values = outputs.values.copy()
    values[outputs.offsets[1]] = 10**6
    with pytest.raises(DataError, match=r"sequence 1: \[1000000.* is no output of an input of the shape"):
        structure.indicator(scores, values)
