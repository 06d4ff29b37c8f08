"""The KL projection of a model onto statements about expectations.

    min over q, ξ   Σ_i [ E_q(-log p_θ(y|x_i)) - T H(q_i) ] + cost(ξ)      s.t.  A E_q[y] - b <= ξ  (or =, or >=)

With T = 1 the first part is KL(q ‖ p_θ) (Eq. 6 and 22 of Ganchev et al. 2010); T is γ in Eq. 4.7 of Chang 2011 and the
temperature in Eq. 16 of Dhillon et al. 2012. The slack ξ costs nothing inside a ball (`bound`), costs `penalty` times
its norm or half its square, or is not allowed. The dual has one price λ for every row and

    q(y) ∝ exp((θ·y - λ·Ay) / T),    D(λ) = Σ_i [log Z(θ) - T log Z((θ - Aᵀλ) / T)] - b·λ - cost*(λ)

(Eq. 7, 8, 23 of Ganchev et al.; 23 and 28 of Dhillon et al.). Where cost* leaves every row on its own (no slack, l1 or
squared penalties, an l∞ bound) each sequence finds its own prices in one compiled loop and BFGS (L-BFGS-B if there are
many) those of the corpus rows; if T is low, higher temperatures come first. Other norms take proximal gradient steps on
all prices at once. At T = 0 it is a linear program (`linear_program`).
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import Infeasible, NotSupported
from ..estimator import warn_convergence
from ..kernels.compiling import Flags, Floats
from ..kernels.parallel import one_blas_thread
from ..running.forms import Instance, Like, Number
from ..solvers import quasi_newton, spectral
from ..solvers.annealing import require_temperature
from ..solvers.quasi_newton import Curvature
from ..stored import ArraySpec
from .norms import RowCosts, Slack
from .rows import RowSet, Tilted
from .tilted import ScoredBatch, Tiltable, Tilting, parted

# Steps of a sequence on its own prices, in each evaluation of the dual, and the share of the tolerance it may miss.
_OWN_STEPS, _OWN_SHARE = 100, 0.03
# Corpus rows for which the matrix of BFGS is dense; more of them make L-BFGS-B cheaper.
_DENSE = 200
# Below _COOLING, where the gap is _FAR times what is good enough, T is reached from 1 by steps of the factor _COOLING.
_FAR, _COOLING = 10.0, 0.25
# Prices beyond this many temperatures make it worth asking whether the dual has a bound.
_SUSPICIOUS = 30.0


@dataclass(frozen=True)
class Projection:
    """The projected distribution q and its certificate.

    parts: expected parts of q, None where they stay with shards; prices: (rows,) λ, infinite where a row forbids parts;
    expected: (rows,) A E_q[y]; excess: (rows,) by how much that misses b; primal, dual: the two sides, `gap` apart;
    excess beyond what the slack allows is `violation`; divergence: the primal without the cost of slack; passes: work,
    in forward-backward passes.
    """

    parts: Any
    prices: Floats
    expected: Floats
    excess: Floats
    divergence: float
    primal: float
    dual: float
    violation: float
    converged: bool
    passes: float

    @staticmethod
    def form(parts: Any, rows: int) -> Instance:
        """Returns the form of a projection onto so many rows; parts: any of its batch."""
        given = {name: ArraySpec(np.float64, (rows,), infinite=True) for name in ("prices", "expected", "excess")}
        numbers = dict.fromkeys(("divergence", "primal", "dual", "violation", "passes"), Number())
        return Instance(Projection, parts=Like(parts), **given, **numbers)

    @property
    def gap(self) -> float:
        """How far the primal is above its optimum, if `violation` is zero."""
        return self.primal - self.dual

    def or_better(self, other: "Projection") -> "Projection":
        """The better one, with the work of both."""
        best = other if other.converged or (other.dual > self.dual and not self.converged) else self
        return replace(best, passes=self.passes + other.passes)

    def warn_unfinished(self) -> None:
        """Warn the caller of the package where it is not as good as asked."""
        if not self.converged:
            missed = f", and misses bounds by {self.violation:.2g}" if self.violation else ""
            warn_convergence(
                f"the projection onto the rules stopped {abs(self.gap):.2g} from its best{missed}; raise tolerance, or "
                "let the rules have more slack"
            )


def project(
    scores: Any,
    rows: RowSet,
    slack: Slack = Slack(),  # noqa: B008
    *,
    temperature: float = 1.0,
    start: Floats | None = None,
    curvature: Curvature | None = None,
    fixed: bool = False,
    log_partition: Floats | None = None,
    tolerance: float = 1e-4,
    max_iterations: int = 200,
    n_jobs: int = -1,
) -> Projection:
    """Project p_θ; see the module for the problem.

    start: prices to begin with; curvature: of the dual, as earlier projections onto these rows learned it, and this one
    learns more; fixed: the prices of corpus rows stay what they are at the start. log_partition: of p_θ where that is
    known, or is another than that of `scores` (which may be restricted to what is known of the outputs).
    max_iterations: at each temperature; low ones are reached from higher ones.
    It stops when the gap is at most `tolerance` for each sequence, and no row misses its bound by more than that
    beyond its slack. Raises `Infeasible`, naming rules, if no q has slack that is allowed.
    """
    never, some = parted(rows, slack)
    batch = ScoredBatch(scores, some, never, slack, n_jobs)
    if log_partition is None:
        log_partition = rows.structure(n_jobs).marginals(scores).log_partition
    found = project_batch(
        batch, slack, log_partition, temperature=temperature, start=None if start is None else start[kept(rows, never)],
        curvature=curvature, fixed=fixed, tolerance=tolerance, max_iterations=max_iterations,
    )  # fmt: skip
    return completed(replace(found, parts=batch.parts(found.parts)), rows, never)


def kept(rows: RowSet, never: RowSet | None) -> Flags:
    """Which rows have prices, and do not forbid parts instead."""
    return np.ones(len(rows), bool) if never is None else ~rows.forbidding


def completed(found: Projection, rows: RowSet, never: RowSet | None) -> Projection:
    """The same with the rows that forbid parts, at infinite prices."""
    if never is None:
        return found
    there = kept(rows, never)
    prices, expected = np.where(rows.high > 0, np.inf, -np.inf), rows.bound.copy()
    prices[there], expected[there] = found.prices, found.expected
    return replace(found, prices=prices, expected=expected, excess=rows.excess(expected))


def project_batch(
    batch: Tiltable,
    slack: Slack,
    log_partition: Floats,
    *,
    temperature: float = 1.0,
    start: Floats | None = None,
    curvature: Curvature | None = None,
    fixed: bool = False,
    tolerance: float = 1e-4,
    max_iterations: int = 200,
) -> Projection:
    """Project distributions wherever they are; see `project`. Prices are those of `batch.rows`."""
    slack.check()
    require_temperature(temperature)
    never, first = batch.never, np.zeros(len(batch.rows)) if start is None else start
    if never is not None:
        try:
            batch.require_possible()
        except Infeasible:
            raise Infeasible(
                f"no distribution satisfies {named(never, np.ones(len(never)))}; allow some slack"
            ) from None
    problem = _ProjectionDual(batch, slack, temperature, log_partition, tolerance, curvature or Curvature(), fixed)
    if never is None:
        return problem.solve(first, max_iterations)
    try:
        return problem.solve(first, max_iterations)
    except Infeasible as error:
        replace(problem, forbidding=False).solve(first, max_iterations)  # raises if the others contradict too
        what, hint = error.what.rsplit("; ", 1)
        raise Infeasible(f"{what} where {named(never, np.ones(len(never)))} holds; {hint}", error.sequence) from None


@dataclass(frozen=True)
class _ProjectionDual:
    """One projection; `apart` and `together` solve its dual."""

    batch: Tiltable
    slack: Slack
    temperature: float
    log_partition: Floats
    tolerance: float
    curvature: Curvature
    fixed: bool
    forbidding: bool = True

    @property
    def rows(self) -> RowSet:
        """What the prices are of."""
        return self.batch.rows

    @cached_property
    def costs(self) -> RowCosts:
        """What slack makes of the rows."""
        return RowCosts(self.rows, self.slack, self.fixed)

    def how(self, steps: int) -> Tilting:
        """How distributions are tilted, with this many steps of single sequences on their own prices."""
        return Tilting(self.temperature, steps, _OWN_SHARE * self.tolerance, self.forbidding)

    def tilt(self, prices: Floats, steps: int) -> Tilted:
        """Marginals at these prices, those of single sequences improved in this many steps."""
        return self.batch.tilt(prices, self.how(steps))

    def slope(self, found: Projection) -> Floats:
        """The gradient of -D, but for the part of cost* that has corners."""
        return self.costs.bound - found.expected + self.costs.curve * found.prices

    @property
    def allowed(self) -> float:
        """The largest gap that is good enough."""
        return self.tolerance * max(len(self.log_partition), 1)

    def certify(self, tilted: Tilted) -> Projection:
        """Both sides of the problem at these prices."""
        lam, excess = tilted.prices, self.rows.excess(tilted.expected)
        divergence = float((self.log_partition - self.temperature * tilted.log_partition).sum()) - _dot(
            lam, tilted.expected
        )
        cost = conjugate = violation = 0.0
        measured = self.costs.scale * excess
        if self.slack.none:
            violation = float(np.abs(excess).max(initial=0.0))
        elif self.slack.bound is not None:
            violation = max(0.0, self.costs.norm.size(measured) - self.slack.strength)
            conjugate = self.slack.strength * self.costs.norm.dual.size(lam / self.costs.scale)
        elif self.slack.norm == "squared":
            cost, conjugate = 0.5 * self.slack.strength * _dot(measured, measured), 0.5 * _dot(self.costs.curve, lam**2)
        else:
            cost = self.slack.strength * self.costs.norm.size(measured)
        dual = float((self.log_partition - self.temperature * tilted.log_partition).sum())
        dual -= _dot(self.rows.bound, lam) + conjugate
        converged = abs(divergence + cost - dual) <= self.allowed and violation <= self.tolerance
        found = Projection(
            tilted.parts,
            lam,
            tilted.expected,
            excess,
            divergence,
            divergence + cost,
            dual,
            violation,
            converged,
            tilted.passes,
        )
        if not converged and self.slack.penalty is None:
            self.require_bounded(found, tilted)
        return found

    def solve(self, first: Floats, max_iterations: int) -> Projection:
        """Prices from these on."""
        return (self.apart if self.costs.separates else self.together)(first, max_iterations)

    def apart(self, first: Floats, max_iterations: int) -> Projection:
        """Prices where no norm joins them.

        The colder, the closer the dual is to one with corners: where the first prices are far from the best, those of
        higher temperatures come before.
        """
        found = self.at(np.clip(first, self.costs.low, self.costs.high))
        if self.temperature < _COOLING and self.far(found):
            found = found.or_better(self.cooled(found.prices, max_iterations))
        return found if self.fixed else self.refine(found, max_iterations)

    def far(self, found: Projection) -> bool:
        """Whether this is nowhere near good enough."""
        return abs(found.gap) > _FAR * self.allowed or found.violation > _FAR * self.tolerance

    def at(self, prices: Floats) -> Projection:
        """What these prices of corpus rows lead to; those of single sequences are found in one compiled loop."""
        return self.certify(self.tilt(prices, _OWN_STEPS))

    def cooled(self, prices: Floats, max_iterations: int) -> Projection:
        """What the best prices of T = 1, then of lower and lower temperatures, lead to at this one."""
        warmth, passes = 1.0, 0.0
        while warmth > self.temperature:
            warm = replace(self, temperature=warmth)
            begun = warm.at(prices)
            found = begun if self.fixed else warm.refine(begun, max_iterations)
            prices, passes, warmth = found.prices, passes + found.passes, _COOLING * warmth
        found = self.at(prices)
        return replace(found, passes=passes + found.passes)

    def refine(self, found: Projection, max_iterations: int) -> Projection:
        """Better prices of the corpus rows, those of single sequences following; then, if need be, of all together."""
        count = self.rows.joint
        if count and not found.converged:
            if count <= _DENSE:
                found = self.remember(found, max_iterations)
            else:
                found = self.climb(found, count, _OWN_STEPS, max_iterations)
        return found if found.converged else self.climb(found, len(self.rows), 0, max_iterations)

    def steepness(self, count: int) -> Floats:
        """A guess of the dual's second derivatives by the first prices; where nothing is known, 1."""
        reach = np.concatenate((self.rows.reach, np.full(len(self.rows) - self.rows.joint, 0.1)))[:count]
        guess = self.costs.curve[:count] + reach / self.temperature
        return np.where(guess > 0, guess, 1.0)

    def remember(self, found: Projection, max_iterations: int) -> Projection:
        """BFGS with the curvature of earlier projections on the prices of the corpus rows."""
        count, best = self.rows.joint, found

        def evaluate(x: Floats) -> _SolverPoint:
            nonlocal best
            now = self.at(np.concatenate((x, best.prices[count:])))
            best = best.or_better(now)
            return _SolverPoint(now, self.slope(now)[:count])

        self.curvature.begin(self.steepness(count))
        quasi_newton.minimize(
            evaluate, found.prices[:count], _SolverPoint(found, self.slope(found)[:count]), self.costs.low[:count],
            self.costs.high[:count], self.curvature, max_iterations,
        )  # fmt: skip
        return best

    def climb(self, found: Projection, count: int, steps: int, max_iterations: int) -> Projection:
        """L-BFGS-B on the first prices, this many of them, the others taking `steps` at each evaluation."""
        from scipy.optimize import Bounds, minimize

        best, rest = found, found.prices[count:]
        size = 1.0 / np.sqrt(self.steepness(count))

        def objective(x: Floats) -> tuple[float, Floats]:
            nonlocal best, rest
            tilted = self.tilt(np.concatenate((x * size, rest)), steps)
            now, rest = self.certify(tilted), tilted.prices[count:]
            best = best.or_better(now)
            if now.converged:
                raise _Done
            return -now.dual, self.slope(now)[:count] * size

        with one_blas_thread(), suppress(_Done):
            minimize(
                objective, found.prices[:count] / size, jac=True, method="L-BFGS-B",
                bounds=Bounds(self.costs.low[:count] / size, self.costs.high[:count] / size),
                options={"maxiter": max_iterations, "maxfun": 2 * max_iterations, "ftol": 0.0, "gtol": 0.0},
            )  # fmt: skip
        return best

    def together(self, first: Floats, max_iterations: int) -> Projection:
        """All prices at once by proximal gradient steps."""

        def proximal(at: Floats, gradient: Floats, step: float) -> Floats:
            v = np.clip(at - step * gradient, self.rows.low, self.rows.high)
            if self.slack.penalty is not None:
                return self.costs.norm.dual.project(v, self.slack.penalty)
            return self.costs.norm.dual.shrink(v, step * self.slack.strength)

        if self.fixed:
            raise NotSupported(
                f"prices can be kept only where slack leaves the rows apart, not in the norm {self.slack.norm} with a "
                f"{'bound' if self.slack.penalty is None else 'penalty'}; use a penalty in 'squared' or 'l1'"
            )
        scale, passes = self.costs.scale, 0.0

        def evaluate(at: Floats) -> _SolverPoint:
            nonlocal passes
            now = self.certify(self.tilt(at * scale, 0))
            passes += now.passes
            return _SolverPoint(now, self.slope(now) * scale)

        begin = proximal(first / scale, np.zeros_like(first), 0.0)
        found = spectral.minimize(evaluate, proximal, begin, self.temperature, max_iterations).found
        if self.slack.bound is not None and found.violation > self.tolerance:
            self.press(found)
        return replace(found, passes=passes)

    def press(self, found: Projection) -> None:
        """Follow the prices to ever larger ones while the dual rises: if it has no bound, `certify` raises."""
        now, best = found, -np.inf
        while now.dual > best and np.isfinite(now.prices).all():
            best, now = now.dual, self.certify(self.tilt(4.0 * now.prices, 0))

    def require_bounded(self, found: Projection, tilted: Tilted) -> None:
        """Raise `Infeasible` if a dual is above all that its primal could be, so that no q is allowed."""
        if (np.abs(found.prices) * self.rows.extent).max(initial=0.0) < _SUSPICIOUS * self.temperature:
            return
        if self.costs.separates and len(self.rows) > self.rows.joint:
            self.require_each(found, tilted)
        limit = float((self.log_partition + self.batch.worst(None, self.how(0))).sum())
        if not self.fixed and found.dual > limit + 1e-6 * (1 + abs(limit)):
            raise Infeasible(f"no distribution satisfies {named(self.rows, found.prices)}; allow some slack, or more")

    def require_each(self, found: Projection, tilted: Tilted) -> None:
        """The same of every sequence alone, as the prices of the corpus rows leave it."""
        owner, joint = self.rows.owner, self.rows.joint
        limit = self.batch.worst(found.prices[:joint], self.how(0))
        paid = np.bincount(owner[joint:], (found.prices * self.costs.bound)[joint:], minlength=self.rows.sequences)
        beyond = -self.temperature * tilted.log_partition - paid > limit + 1e-6 * (1 + abs(limit))
        if beyond.any():
            i = int(beyond.argmax())
            guilty = np.where(owner == i, found.prices, 0.0)
            raise Infeasible(f"has no distribution that satisfies {named(self.rows, guilty)}; allow slack", i)


@dataclass(frozen=True)
class _SolverPoint:
    """Where a solver is."""

    found: Projection
    gradient: Floats

    @property
    def value(self) -> float:
        return -self.found.dual

    @property
    def done(self) -> bool:
        return self.found.converged


def shifted(scores: Any, rows: RowSet, prices: Floats) -> Any:
    """θ - Aᵀλ, infinite prices included: what the projected distribution scores (Eq. 29 of Dhillon et al. 2012)."""
    if np.isfinite(prices).all():
        return rows.shift(scores, prices)
    one, other = rows.parted()
    return other.shift(one.forbid(scores), prices[~rows.forbidding])


def _dot(a: Floats, b: Floats) -> float:
    """a·b without the threads that BLAS would wake for it."""
    return float((a * b).sum())


class _Done(Exception):
    """Leaves the optimiser once the certificate is good enough."""


def quoted(title: str) -> str:
    """A title as it is written, in quotes that it does not have."""
    return f"'{title}'" if "'" not in title else f'"{title}"'


def named(rows: RowSet, prices: Floats) -> str:
    """The rules whose rows shift scores most: they are what contradicts."""
    size = np.abs(prices) * rows.extent
    guilty = np.flatnonzero(size > 0.05 * size.max(initial=0.0))
    titles = list(dict.fromkeys(rows.rule(int(r)).title for r in guilty))
    return " and ".join(map(quoted, titles[:5])) + (f" and {len(titles) - 5} more" if len(titles) > 5 else "")
