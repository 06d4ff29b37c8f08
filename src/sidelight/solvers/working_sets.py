"""Working sets of margin demands, solved by dual coordinate descent (Eq. 6.8 to 6.10, Algorithm 15 of Chang 2011).

    minimise  ‖w‖² / 2 + Σ_g C_g ℓ(ξ_g)   with  w·v_r ≥ m_r - ξ_g  for the rows r of group g

    dual      Σ_r α_r m_r - ‖Σ_r α_r v_r‖² / 2 - Σ_g C_g ℓ*(Σ_{r in g} α_r / C_g),   α ≥ 0

    "squared_hinge"   ℓ(ξ) = max(0, ξ)²        ℓ*(s) = s² / 4
    "hinge"           ℓ(ξ) = max(0, ξ)         ℓ*(s) = 0 for s ≤ 1
    "logistic"        ℓ(ξ) = log(1 + e^ξ)      ℓ*(s) = s log s + (1 - s) log(1 - s) for s ≤ 1

The printed Algorithm 15 has the sign of the Σα term
wrong; its Eq. 6.9 and 6.10 are right.
"""

from typing import Any

import numpy as np

from ..errors import DataError
from ..kernels.compiling import Flags, Floats, Ints, Longs, Singles
from ..running.forms import Instance, Like, Number, Such
from ..scorers.protocol import SparseVectors
from ..stored import ArraySpec, finite
from . import limited_memory

# Rows at zero are dropped after this many clean-ups in a row.
_PATIENCE = 3
# Below this share of C_g a dual variable counts as zero there.
_UNUSED = 1e-12
# How many weights are few, and which share of them a row has that is long; 1 / τ of `settle` times the tolerance, and
# its steps at most. Rows of words' features have a share of 0.03, where coordinate descent is 5 to 10 times as fast.
_FEW, _LONG, _SHARP, _MOST = 2000, 0.2, 4.0, 300
# Clean-ups copy all rows, so they wait for this share of them.
_WASTE = 0.2


class WorkingSets:
    """The rows found so far, their dual variables, and the weights these give.

    cost: (groups,) C_g; loss: the name of ℓ. `weights` is changed in place by `descend`.
    """

    def __init__(self, size: int, cost: Floats, *, loss: str) -> None:
        self.cost, self.loss = cost, loss
        # Violations below this cost nothing.
        self.floor = -np.inf if loss == "logistic" else 0.0
        self.weights, self.total = np.zeros(size), np.zeros(len(cost))
        self.count = 0
        self._pointer = np.zeros(1, np.int64)
        self._index, self._value = np.empty(0, np.int32), np.empty(0, np.float32)
        self._norm, self._margin, self._alpha = np.empty(0), np.empty(0), np.empty(0)
        self._group, self._idle = np.empty(0, np.int32), np.empty(0, np.int32)

    def recast(self, size: int, cost: Floats, *, loss: str) -> "WorkingSets":
        """A copy with other costs, for the same rows; dual variables are cut to what the new costs allow."""
        if size != len(self.weights) or len(cost) != len(self.total):
            raise DataError("a warm start needs the data of the last fit, with the same weights and sequences")
        out = WorkingSets(size, cost, loss=loss)
        for name in ("_pointer", "_index", "_value", "_norm", "_margin", "_alpha", "_group", "_idle"):
            setattr(out, name, getattr(self, name).copy())
        out.count = self.count
        if loss != "squared_hinge":
            share = np.minimum(1.0, cost / np.maximum(self.total, 1e-300))
            out._alpha[: out.count] *= share[out._group[: out.count]]
        out.refresh()
        return out

    def copy(self) -> "WorkingSets":
        """The same rows, dual variables and weights, to go on from without changing these."""
        out = WorkingSets(0, np.empty(0), loss=self.loss)
        for name, value in vars(self).items():
            setattr(out, name, value.copy() if isinstance(value, np.ndarray) else value)
        return out

    def take(self, other: "WorkingSets") -> None:
        """Become the same as another one, which is not to change any more."""
        vars(self).update(vars(other.copy()))

    def form(self) -> Such:
        """Returns the form of other sets of the same groups and weights."""
        whole = ArraySpec(np.int32, ("rows",), least=0)
        rows = finite("rows"), finite("rows", least=0.0)
        one = Instance(
            WorkingSets, cost=Like(self.cost), loss=str, floor=float, weights=finite(len(self.weights)),
            total=finite(len(self.cost), least=0.0), count=Number(0, whole=True),
            _pointer=ArraySpec(np.int64, ("heads",), least=0), _index=ArraySpec(np.int32, ("entries",)),
            _value=ArraySpec(np.float32, ("entries",)), _norm=rows[1], _margin=rows[0], _alpha=rows[1], _group=whole,
            _idle=whole,
        )  # fmt: skip
        return Such(one, self._belongs)

    def _belongs(self, other: "WorkingSets") -> bool:
        """Whether the rows of other sets are about the groups and weights of these, and give their weights."""
        count, size = other.count, len(self.weights)
        if (other.loss, other.floor) != (self.loss, self.floor) or not np.array_equal(other.cost, self.cost):
            return False
        if count > len(other._group) or count >= len(other._pointer):
            return False
        pointer, group = other._pointer[: count + 1], other._group[:count]
        if pointer[0] or (np.diff(pointer) < 0).any() or pointer[-1] > len(other._index):
            return False
        index, value = other._index[: pointer[-1]], other._value[: pointer[-1]]
        if (index < 0).any() or (index >= size).any() or (group >= len(self.total)).any():
            return False
        same = other.copy()
        same.refresh()
        owner = np.repeat(np.arange(count), np.diff(pointer))
        norm = np.bincount(owner, value.astype(float) ** 2, count)
        pairs = (same.weights, other.weights), (same.total, other.total), (norm, other._norm[:count])
        return all(np.allclose(one, two, rtol=1e-6, atol=1e-9) for one, two in pairs)

    @property
    def _rows(self) -> tuple[Longs, Ints, Singles]:
        return self._pointer, self._index, self._value

    def add(self, group: Ints, margin: Floats, rows: SparseVectors) -> None:
        """New rows with their groups and margins; their dual variables are zero."""
        used, more, entries = self.count, len(group), len(rows.indices)
        filled = int(self._pointer[used])
        self._pointer = _with_room(self._pointer, used + more + 1)
        self._pointer[used + 1 : used + more + 1] = filled + rows.pointer[1:]
        self._index, self._value = (_with_room(a, filled + entries) for a in (self._index, self._value))
        self._index[filled : filled + entries] = rows.indices
        self._value[filled : filled + entries] = rows.values
        for name, new in (
            ("_norm", rows.norms()),
            ("_margin", margin),
            ("_group", group),
            ("_alpha", 0.0),
            ("_idle", 0),
        ):
            array = _with_room(getattr(self, name), used + more)
            array[used : used + more] = new
            setattr(self, name, array)
        self.count += more

    def shift(self, group: Longs, vectors: SparseVectors) -> None:
        """Add a vector to every row of each of these groups, and drop those rows of theirs that are not in use.

        Dual variables stay, all of them scaled down alike where that raises the dual objective.
        """
        if not len(group):
            return
        number = np.full(len(self.total), -1)
        number[group] = np.arange(len(group))
        self._keep((self._alpha[: self.count] > 0.0) | (number[self._group[: self.count]] < 0))
        vector = number[self._group[: self.count]]
        moving, alpha = vector >= 0, self._alpha[: self.count][vector >= 0]
        rows = self._moved(moving, vector[moving], vectors)
        groups, margin = self._group[: self.count][moving], self._margin[: self.count][moving]
        self._keep(~moving)
        self.add(groups, margin, rows)
        self._alpha[self.count - len(alpha) : self.count] = alpha
        self.refresh()
        self._shrink()

    def drop(self, group: Longs) -> None:
        """Drop the rows of these groups.

        The dual variables of others stay, all of them scaled down alike where that raises the dual objective.
        """
        if not len(group):
            return
        dropped = np.zeros(len(self.total), bool)
        dropped[group] = True
        self._keep(~dropped[self._group[: self.count]])
        self.refresh()
        self._shrink()

    def _moved(self, moving: Flags, vector: Longs, vectors: SparseVectors) -> SparseVectors:
        """Some of the rows, each with one of the vectors added."""
        from scipy.sparse import csr_array

        filled, size = self._pointer[self.count], len(self.weights)
        old = csr_array(
            (self._value[:filled], self._index[:filled], self._pointer[: self.count + 1]), (self.count, size)
        )
        more = csr_array((vectors.values, vectors.indices, vectors.pointer), (len(vectors.pointer) - 1, size))
        new = old[moving] + more[vector]
        return SparseVectors(new.indptr.astype(np.int64), new.indices.astype(np.int32), new.data)

    def _shrink(self) -> None:
        """Scale the dual variables by the share of them, at most 1, that is best; not for the logistic loss."""
        if self.loss == "logistic":
            return
        rise = _dot(self._alpha[: self.count], self._margin[: self.count])
        fall = rise - self.dual()
        share = min(max(rise / (2 * fall), 0.0), 1.0) if fall > 0.0 else 1.0
        if share < 1.0:
            self._alpha[: self.count] *= share
            self.refresh()

    def refresh(self) -> None:
        """Sum up weights and totals anew, so that rounding does not pile up."""
        from ..kernels import dual

        alpha = self._alpha[: self.count]
        dual.weighted_sum(self.count, *self._rows, alpha, self.weights)
        self.total[:] = np.bincount(self._group[: self.count], weights=alpha, minlength=len(self.total))

    def worst(self, first: int, last: int) -> Floats:
        """The largest violation m_r - w·v_r among the rows of groups first to last - 1; -inf where there is no row."""
        from ..kernels.dual import violations

        rows = self._rows_of(first, last)
        violation, out = np.empty(len(rows)), np.full(last - first, -np.inf)
        violations(rows, *self._rows, self._margin, self.weights, violation)
        np.maximum.at(out, self._group[rows] - first, violation)
        return out

    def _rows_of(self, first: int, last: int) -> Longs:
        group = self._group[: self.count]
        return np.flatnonzero((group >= first) & (group < last))

    def descend(self, passes: int, rng: np.random.Generator, first: int = 0, last: int | None = None) -> None:
        """Passes in random order over the rows of groups first to last - 1."""
        rows = self._rows_of(first, len(self.total) if last is None else last)
        (self._descend_squared if self.loss == "squared_hinge" else self._descend_linear)(rows, passes, rng)

    def _descend_squared(self, order: Longs, passes: int, rng: np.random.Generator) -> None:
        from ..kernels import dual

        threshold = np.inf
        for _ in range(passes):
            rng.shuffle(order)
            kept, threshold = dual.descend_squared(
                order, *self._rows, self._norm, self._margin, self._group, self.cost, threshold,
                self._alpha, self.total, self.weights,
            )  # fmt: skip
            order = order[:kept]

    def _descend_linear(self, rows: Longs, passes: int, rng: np.random.Generator) -> None:
        from ..kernels import dual

        members = rows[np.argsort(self._group[rows], kind="stable")]
        groups, heads = np.unique(self._group[members], return_index=True)
        edges = np.append(heads, len(members)).astype(np.int64)
        blocks, end = (groups, edges, members, *self._rows), (self.cost, self._alpha, self.total, self.weights)
        scratch = np.zeros(len(self.weights))
        for _ in range(passes):
            order = rng.permutation(len(groups))
            dual.descend_linear(order, *blocks, self._norm, self._margin, *end, scratch, self.loss == "logistic")

    def settle(self, tolerance: float) -> None:
        """Bring the dual variables near their best values by L-BFGS over the weights, if these are few and rows long.

        Such rows are much like each other, and coordinate descent takes thousands of passes for them. The largest
        violation of a group is smoothed, ξ_g = τ log Σ_r exp((m_r - w·v_r) / τ), with a τ that leaves a gap within
        `tolerance`; its rows get the dual variables 2 C_g ξ_g times their softmax. They are taken if they raise the
        dual objective. For the squared loss alone: the linear one has corners at zero too.
        """
        from scipy.sparse import csr_array

        long = self._pointer[self.count] >= _LONG * self.count * len(self.weights)
        if not (self.loss == "squared_hinge" and 0 < len(self.weights) <= _FEW and self.count and long):
            return
        order = np.argsort(self._group[: self.count], kind="stable")
        groups, heads = np.unique(self._group[order], return_index=True)
        sizes = np.diff(heads, append=self.count)
        filled = self._pointer[self.count]
        rows = csr_array(
            (self._value[:filled].astype(float), self._index[:filled], self._pointer[: self.count + 1]),
            (self.count, len(self.weights)),
        )[order]
        across, margin, cost, sharp = rows.T.tocsr(), self._margin[order], self.cost[groups], _SHARP / tolerance
        alpha, gap = np.empty(self.count), np.inf

        def smooth(w: Floats) -> tuple[float, Floats]:
            nonlocal alpha, gap
            violation = margin - rows @ w
            worst = np.maximum.reduceat(violation, heads)
            share = np.exp(sharp * (violation - np.repeat(worst, sizes)))
            total = np.add.reduceat(share, heads)
            slack = np.maximum(worst + np.log(total) / sharp, 0.0)
            alpha = np.repeat(2.0 * cost * slack / total, sizes) * share
            sums = across @ alpha
            missed = _dot(cost, slack**2)
            value = 0.5 * _dot(w, w) + missed
            gap = (value - _dot(alpha, margin) + 0.5 * _dot(sums, sums) + missed) / value
            return value, w - sums

        limited_memory.minimize(smooth, self.weights, _MOST, lambda _: gap <= tolerance / 4)
        before, now = self._alpha[: self.count].copy(), self.dual()
        self._alpha[order] = alpha
        self.refresh()
        if self.dual() < now:
            self._alpha[: self.count] = before
            self.refresh()

    def clean(self) -> None:
        """Drop rows whose dual variable was zero at several clean-ups in a row."""
        idle = self._idle[: self.count]
        unused = self._alpha[: self.count] <= _UNUSED * self.cost[self._group[: self.count]]
        idle[:] = np.where(unused, idle + 1, 0)
        if (idle >= _PATIENCE).sum() > _WASTE * self.count:
            self._keep(idle < _PATIENCE)

    def _keep(self, keep: Any) -> None:
        rows = np.flatnonzero(keep)
        lengths = np.diff(self._pointer[: self.count + 1])
        entries = np.repeat(keep, lengths)
        filled = int(self._pointer[self.count])
        self._index, self._value = self._index[:filled][entries], self._value[:filled][entries]
        self._pointer = np.concatenate(([0], np.cumsum(lengths[rows])))
        for name in ("_norm", "_margin", "_group", "_alpha", "_idle"):
            setattr(self, name, getattr(self, name)[rows])
        self.count = len(rows)

    def dual(self) -> float:
        """The dual objective: no weights have a lower primal one."""
        value = _dot(self._alpha[: self.count], self._margin[: self.count]) - 0.5 * _dot(self.weights, self.weights)
        if self.loss == "squared_hinge":
            return value - float((self.total**2 / (4 * self.cost)).sum())
        if self.loss == "logistic":
            from scipy.special import entr

            share = np.clip(self.total / self.cost, 0.0, 1.0)
            return value + _dot(self.cost, entr(share) + entr(1 - share))
        return value

    def primal(self, violation: Floats, w: Floats | None = None) -> float:
        """The primal objective of the weights (or of others), given the largest violation of each group under them."""
        w, slack = self.weights if w is None else w, np.maximum(violation, 0.0)
        if self.loss == "logistic":
            return 0.5 * _dot(w, w) + _dot(self.cost, np.logaddexp(0.0, violation))
        return 0.5 * _dot(w, w) + _dot(self.cost, slack**2 if self.loss == "squared_hinge" else slack)


def _dot(a: Floats, b: Floats) -> float:
    """a·b without the threads of BLAS, which cost more than they save here."""
    return float(np.einsum("i,i->", a, b))


def _with_room(array: Any, needed: int) -> Any:
    """The array, or a longer copy with room for this many entries."""
    if needed <= len(array):
        return array
    out = np.zeros(max(needed, 2 * len(array)), array.dtype)
    out[: len(array)] = array
    return out
