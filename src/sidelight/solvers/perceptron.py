"""The averaged structured perceptron (Algorithm 2 of Chang 2011; averaging of Collins 2002).

    w ← w + F(x, y) - F(x, argmax θ)      and the average of w over all visits is what is kept.

With a margin the argmax is taken over θ + margin * Δ, Δ the loss of the structure: the large-margin structured
perceptron of Fernandes and Brefeld 2011. In batches of several inputs each argmax is that under the weights before the
batch (Zhao and Huang 2013), so that threads can share them. Passes over chains, and over trees with features of arcs
input by input, are compiled; other structures go through the same steps in Python.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..errors import NotSupported
from ..features.encoded import Encoded
from ..kernels.compiling import Floats, Ints, Longs
from ..kernels.lanes import Lanes, Meeting
from ..kernels.parallel import WORTH_TOKENS, available_cores, thread_count
from ..running.checkpoints import JournalStep, step
from ..running.forms import Instance, Number, Several
from ..scorers.linear import LinearScorer
from ..scorers.protocol import SparseVectors
from ..stored import finite
from ..structures.known import Known, Outputs
from ..structures.protocol import Loss, Structure

# Sequences after which lanes are tried anew.
_STRETCH = 1000


@dataclass
class PerceptronState:
    """What the next pass goes on from: weights, their time-weighted changes, and visits so far plus one."""

    weights: Floats
    late: Floats
    clock: float = 1.0
    mistakes: list[int] = field(default_factory=list)

    @classmethod
    def zero(cls, scorer: Any) -> "PerceptronState":
        """Before the first visit."""
        return cls(np.zeros(scorer.size), np.zeros(scorer.size))

    def copy(self) -> "PerceptronState":
        """The same state, to go on from without changing this one."""
        return PerceptronState(self.weights.copy(), self.late.copy(), self.clock, list(self.mistakes))

    def spread(self, places: Longs, size: int) -> "PerceptronState":
        """The same state where there are more weights, zero so far; places: where the weights of this one stand."""
        weights, late = np.zeros(size), np.zeros(size)
        weights[places], late[places] = self.weights, self.late
        return PerceptronState(weights, late, self.clock, list(self.mistakes))

    def take(self, other: "PerceptronState") -> None:
        """Become the same as another state, in the arrays that are there."""
        self.weights[:], self.late[:] = other.weights, other.late
        self.clock, self.mistakes = other.clock, other.mistakes

    def form(self) -> Instance:
        """Returns the form of other states of as many weights."""
        w, mistakes = finite(len(self.weights)), Several(Number(0, whole=True))
        return Instance(PerceptronState, weights=w, late=w, clock=Number(1.0), mistakes=mistakes)

    def average(self) -> Floats:
        """Mean of the weights over all visits, the zero before the first one included."""
        return self.weights - self.late / self.clock


@dataclass(frozen=True)
class Examples:
    """Inputs with known outputs, and how their parts get scores.

    weights: (inputs,) what each counts, empty where all count 1.
    """

    scorer: Any
    structure: Structure[Any]
    encoded: Encoded
    known: Known[Any]
    weights: Floats = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.encoded)

    def weight(self, index: int) -> float:
        """Returns what one input counts."""
        return float(self.weights[index]) if len(self.weights) else 1.0

    def chain(self) -> LinearScorer | None:
        """Returns the scorer of chains that compiled passes need; None where scores are no chain's."""
        found: LinearScorer | None = self.scorer.as_chain() if hasattr(self.scorer, "as_chain") else None
        return found

    def arrays(self, chain: LinearScorer) -> tuple[Any, ...]:
        """Returns what compiled passes take."""
        encoded = self.encoded
        return (
            encoded.offsets, encoded.indptr, encoded.indices, encoded.values, chain.pointer, chain.label, chain.places,
            self.known.outputs.values,
        )  # fmt: skip

    def parts(self, rng: np.random.Generator) -> Iterator["Examples"]:
        """The inputs as they are visited, some in memory at a time, in random order; all at once where they are there.

        So inputs on disk that are far from each other are visited one after the other only where parts meet.
        """
        ranges = self.encoded.chunks() if hasattr(self.encoded, "chunks") else [(0, len(self))]
        if len(ranges) == 1:
            yield self
            return
        for number in rng.permutation(len(ranges)).tolist():
            a, b = ranges[number]
            known: Any = self.known.inputs(a, b)
            weights = self.weights[a:b] if len(self.weights) else self.weights
            yield replace(self, encoded=self.encoded.sequences(a, b).loaded(), known=known.loaded(), weights=weights)

    def some(self, which: Longs, w: Floats) -> "SomeExamples":
        """Returns some inputs with their scores under these weights."""
        if len(which) == 1:  # a view, without copies
            first = int(which[0])
            encoded, known = self.encoded.sequences(first, first + 1), self.known.inputs(first, first + 1)
        else:
            encoded, known = self.encoded.take(which), self.known.take(which)
        return SomeExamples(self, encoded, self.scorer.prepare(w).scores(encoded), known)


# Visits some inputs in an order: by how much they were wrong, and a number that is 0 if no weight moved.
Visits = Callable[[Any, Longs], tuple[int, int]]


@dataclass(frozen=True)
class SomeExamples:
    """A few inputs: their scores, and what is known of them."""

    examples: Examples
    encoded: Encoded
    scores: Any
    known: Known[Any]

    @property
    def gold(self) -> Outputs:
        """The outputs that they should have."""
        return self.known.outputs

    @cached_property
    def loss(self) -> Loss[Any]:
        """How wrong others are."""
        return self.examples.structure.loss(self.scores, self.known)

    def wrong(self, outputs: Ints) -> Floats:
        """Returns the loss of an output of each."""
        found: Floats = self.examples.structure.score(self.loss.cost, outputs) + self.loss.constant
        return found

    def steps(self, which: Longs, outputs: Ints) -> SparseVectors:
        """Returns F(x, y) - F(x, output) of some of them."""
        rows: SparseVectors = self.examples.scorer.rows(self.encoded, which, self.gold.values, outputs)
        return rows


def make_passes(
    parts: Callable[[np.random.Generator], Iterable[Any]],
    state: PerceptronState,
    visits: Callable[[], Visits],
    *,
    passes: int,
    seed: int,
    on_pass: Callable[[int, int], None],
    more: Sequence[Any] = (),
    more_form: Any = (),
) -> None:
    """Passes over inputs in random order, changing `state`; stops after one in which no weight moved.

    parts: gives the inputs of a pass, some at a time; visits: gives what visits inputs, from `state` as it is; more:
    other arrays that change with it, and their form.
    """
    with step("passes") as saved:
        form = {"state": state.form(), "more": more_form}
        begun = {"rng": np.random.Generator, "made": Number(0, passes, whole=True)}
        before = saved.found(form) if saved.done else saved.state(lambda: form | begun)
        if before is not None:
            state.take(before["state"])
            for array, value in zip(more, before["more"], strict=True):
                array[:] = value
        if not saved.done:
            _pass_on(parts, state, visits(), saved, before, passes, seed, on_pass, more)
            saved.finish({"state": state.copy(), "more": [array.copy() for array in more]})


def _pass_on(
    parts: Callable[[np.random.Generator], Iterable[Any]],
    state: PerceptronState,
    visit: Visits,
    saved: JournalStep,
    before: Any,
    passes: int,
    seed: int,
    on_pass: Callable[[int, int], None],
    more: Sequence[Any],
) -> None:
    """The passes of `make_passes`, from where those of an earlier run ended; before: the state that this saved."""
    rng, made = (np.random.default_rng(seed), 0) if before is None else (before["rng"], before["made"])
    for number in range(made + 1, passes + 1):
        wrong, moves = 0, 0
        for part in parts(rng):
            found = visit(part, rng.permutation(len(part)))
            wrong, moves = wrong + found[0], moves + found[1]
            state.clock += len(part)
        state.mistakes.append(wrong)
        on_pass(number, wrong)
        if moves == 0 or saved.save({"state": state, "more": list(more), "rng": rng, "made": number}):
            break


def compiled_weights(chain: LinearScorer, encoded: Encoded, state: PerceptronState) -> tuple[Any, ...]:
    """Returns the arrays of weights that a compiled pass changes, and where those of attributes are."""
    parts, dense = chain.scores(encoded.sequences(0, 0), state.weights), chain.prepare(state.weights).dense
    return state.weights, state.late, parts.arcs(), parts.start, parts.end, chain.spans, dense


def run(
    examples: Examples,
    state: PerceptronState,
    *,
    passes: int,
    margin: float,
    growth: float = 0.0,
    squared: bool = False,
    sums: Floats | None = None,
    batch_size: int = 1,
    seed: int,
    on_pass: Callable[[int, int], None] = lambda number, mistakes: None,
) -> None:
    """Make passes over the inputs in random order, changing `state`; stops after a pass without mistakes.

    A step is as long as its input counts. batch_size: how many inputs have their best outputs under the same weights;
    of chains, threads share them. The margin grows by `growth` with every visit, `squared` chooses the
    steps of the squared hinge loss, and `sums` adds up the steps of each input: for `solvers.subgradient`, on chains.
    """
    chain = examples.chain()
    if chain is None and (growth or squared or sums is not None):
        raise NotSupported("subgradient steps have compiled passes only; use another solver for this structure")
    if sums is not None:  # which are those of all inputs
        examples = replace(examples, encoded=examples.encoded.loaded())

    def visits() -> Visits:
        if chain is None and batch_size == 1 and hasattr(examples.scorer, "perceptron_pass"):
            gold = examples.known.outputs.values
            visit_trees = examples.scorer.perceptron_pass(examples.encoded, gold, examples.weights, state)
            return lambda _, order: (wrong := visit_trees(order, margin), wrong)
        if chain is None:
            return partial(_visit, state, margin, batch_size)
        weights, added = compiled_weights(chain, examples.encoded, state), np.empty((0, 2)) if sums is None else sums
        options = margin, growth, squared, *weights
        lanes = Lanes(min(thread_count(examples.structure.n_jobs), available_cores(), batch_size))

        def visit(some: Examples, order: Longs) -> tuple[int, int]:
            data, wrong = (*some.arrays(chain), some.weights), 0
            stretch = max(len(order), 1) if lanes.most == 1 else -(-_STRETCH // batch_size) * batch_size
            for begin in range(0, len(order), stretch):
                here = order[begin : begin + stretch]
                wrong += _in_lanes(lanes, here, data, (*options, state.clock + begin, added), batch_size)
            return wrong, wrong

        return visit

    make_passes(examples.parts, state, visits, passes=passes, seed=seed, on_pass=on_pass)


def _in_lanes(lanes: Lanes, order: Longs, data: tuple[Any, ...], options: tuple[Any, ...], batch_size: int) -> int:
    """Visit sequences by the compiled pass, which lanes share; wrong tokens."""
    from ..kernels import perceptron

    lengths = data[0][order + 1] - data[0][order]
    guesses = np.empty((min(batch_size, max(len(order), 1)), int(lengths.max(initial=0))), np.int32)

    def work(number: int, count: int, meeting: Meeting) -> int:
        state = np.zeros(3, np.int64)
        while not perceptron.perceptron_pass(*(order, *data, *options, number, count, state, guesses, meeting.counter)):
            meeting.rest()
        return int(state[perceptron.MISTAKES])

    tokens = int(lengths.sum())
    return lanes.run(work, tokens) if tokens >= WORTH_TOKENS else work(0, 1, Meeting(1))


def _visit(state: PerceptronState, margin: float, batch_size: int, examples: Examples, order: Longs) -> tuple[int, int]:
    """One pass on any structure: the loop that compiled passes do for chains."""
    total, moves = 0.0, 0
    for begin in range(0, len(order), batch_size):
        which = order[begin : begin + batch_size]
        some = examples.some(which, state.weights)
        scores = some.scores + some.loss.cost.times(margin) if margin else some.scores
        best = examples.structure.argmax(scores).outputs
        off = some.gold.differing(best)
        if not len(off):
            continue
        rows, wrong = some.steps(off, best.values), some.wrong(best.values)
        for row, number in enumerate(off.tolist()):
            at, step = rows.row(row)
            step = examples.weight(int(which[number])) * step
            state.weights[at] += step
            state.late[at] += (state.clock + begin + number) * step
        total, moves = total + float(wrong[off].sum()), moves + len(off)
    return round(total), moves
