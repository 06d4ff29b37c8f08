"""The kernelised structured perceptron on chains, with counters for every factor (section 4.4 of Fernandes 2012).

A wrong label of a token takes one from the token's counter for that label and gives one to that of the right label; so
does the perceptron with weights, whose weights are sums of features times these counters. The average of the counters
over all visits is kept.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..features.encoded import Encoded
from ..kernels.compiling import Ints, Longs
from ..running.forms import Such
from ..scorers.polynomial import PolynomialScorer
from ..stored import ArraySpec, finite
from ..structures.known import KnownLabels
from .perceptron import PerceptronState, Visits, compiled_weights, make_passes


def run(
    scorer: PolynomialScorer,
    encoded: Encoded,
    known: KnownLabels,
    state: PerceptronState,
    *,
    passes: int,
    margin: float,
    seed: int,
    on_pass: Callable[[int, int], None],
) -> None:
    """Make passes over the sequences in random order, changing `state`; stops after a pass without mistakes."""
    from ..kernels import polynomial

    kernel: Any = polynomial.kernel_pass
    counters, w = scorer.split(state.weights)
    late_counters, late = scorer.split(state.late)
    begin, post, amounts = polynomial.posting_lists(
        encoded.indptr, encoded.indices, encoded.values, encoded.attributes
    )  # fmt: skip
    fill, support = np.zeros(encoded.attributes, np.int64), np.zeros(encoded.tokens, np.int32)

    def visits() -> Visits:
        tables = compiled_weights(scorer.tables, encoded, PerceptronState(w, late))[:5]  # which have no attributes

        def visit(_: Encoded, order: Longs) -> tuple[int, int]:
            wrong: int = kernel(
                order, encoded.offsets, encoded.indptr, encoded.indices, encoded.values, known.outputs.values,
                scorer.tables.places, scorer.degree, margin, counters, late_counters, support, begin, fill, post,
                amounts, *tables, state.clock,
            )  # fmt: skip
            return wrong, wrong

        return visit

    changing = (support, fill, post, amounts)
    whole = ArraySpec(np.int32, (encoded.tokens,), least=0, most=1)
    lists = ArraySpec(np.int64, fill.shape, least=0), ArraySpec(np.int32, post.shape, least=0, below=encoded.tokens)
    form = Such((whole, *lists, finite(*amounts.shape)), lambda more: _agree(encoded, *more[:2]))
    options: dict[str, Any] = {"passes": passes, "seed": seed, "on_pass": on_pass}
    make_passes(lambda rng: [encoded], state, visits, **options, more=changing, more_form=form)


def _agree(encoded: Encoded, support: Ints, fill: Longs) -> bool:
    """Whether the list of every attribute has as many entries as support tokens have the attribute."""
    owner = np.repeat(np.arange(encoded.tokens), np.diff(encoded.indptr))
    there = encoded.indices[encoded.indptr[0] : encoded.indptr[-1]][support[owner] > 0]
    return np.array_equal(np.bincount(there, minlength=len(fill)), fill)
