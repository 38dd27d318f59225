"""Start values of what cells share, from those that each has found for itself.

Cells know what they share with different errors, some of them not at all, and where terms may change places they need
not mean the same one.  So there are several candidates: the best compromise if the costs of all cells were quadratic,
and values that cells have found, all that with terms in several orders; and what was given.  Each cell goes where it is
best with these held, from what it has found in any order.  From the few that then cost least together all parameters
move, and where they end is the start.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from namedgrad.fit import small
from namedgrad.fit.arrow import Arrow
from namedgrad.fit.batch import Flags
from namedgrad.fit.canonical import exchanged
from namedgrad.fit.cells import Index
from namedgrad.fit.coupled import solve
from namedgrad.fit.determined import inverses
from namedgrad.fit.places import here
from namedgrad.fit.small import Array
from namedgrad.fit.trials import NOTHING, cheapest, descend

if TYPE_CHECKING:
    from namedgrad.fit.residuals import Residuals

PARTS = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the cells have found less
ORDERS = 3  # of terms, besides that in which cells have found them
ALONE, HELD, TOGETHER = 30, 20, 60  # iterations
BEST = 3  # candidates from which all parameters move
TOLERANCE = 1e-8
VAGUE = 1.0  # relative error of what a cell has found


class Common:
    """Candidates for what is shared, and where they lead.

    Attributes
    ----------
    cells, layout : those that take part, and how they do
    absent : (shared row,) what has no start values
    given : (free row, cell) where all parameters are to start
    orders : (free row, cell) each, what cells have found for themselves
    """

    def __init__(self, problem: Residuals, missing: list[int], several: list[Array]) -> None:
        self.problem, self.x = problem, several[0]
        self.usable: Flags = (problem.counts > 0) & ~problem.unusable
        problem.begin_together(self.usable)
        self.cells = np.flatnonzero(self.usable)
        self.layout = problem.layout.only(np.arange(problem.layout.count), self.cells)
        self.absent = np.isin(problem.shared_rows(), missing)
        self.given = problem.start[problem.free][:, self.cells]
        self.orders = [x for found in several for x in self._orders(found, missing)]

    def start(self) -> Array:
        """The start values (parameter, cell)."""
        problem, out = self.problem, self.x.copy()
        if not self.cells.size:
            return out
        tried = [self._held(candidate) for candidate in self._candidates()]
        cost = np.array([self.layout.total(c) for _, c in tried])
        nothing = NOTHING * np.nanmax(np.where(np.isfinite(cost), cost, 0.0), axis=0)
        best = cheapest(cost, BEST, nothing)
        points = np.array([x for x, _ in tried])
        ends = [self._together(points[b[self.layout.problem], :, np.arange(len(self.cells))].T) for b in best]
        last = cheapest(np.array([c for _, c in ends]), 1, nothing)[0][self.layout.problem]
        out[np.ix_(problem.free, self.cells)] = np.array([x for x, _ in ends])[last, :, np.arange(len(self.cells))].T
        return self._spread(out)

    def _orders(self, x: Array, missing: list[int]) -> Iterator[Array]:
        """Where cells go from points (parameter, cell), with terms as they are there and in other orders."""
        problem, whole = self.problem, x.copy()
        whole[np.ix_(problem.free, self.usable)], _ = self._descended([x[problem.free][:, self.cells]], ALONE)
        others = exchanged(problem, missing, whole, set(problem.shared_rows()))
        for v in (whole, *itertools.islice(others, ORDERS)):
            yield v[problem.free][:, self.cells]

    def _spread(self, x: Array) -> Array:
        """With what is shared in the cells that took no part, too."""
        rows, lay = self.problem.shared_rows(), self.problem.layout
        values = lay.scattered(self.layout.lowest(x[rows][:, self.cells]))
        x[rows] = np.where(np.isfinite(values), values, x[rows])
        return x

    # ---------------------------------------------------------------- candidates

    def _candidates(self) -> Iterator[Array]:
        """Values (shared row, cell) that are the same where they are shared."""
        for x in self.orders:
            normal = here(self.problem.evaluate(x, self.cells).normal)
            compromise = self._compromise(x, np.nan_to_num(normal))
            yield compromise
            sure = self._sure(x, normal)
            yield from (self._found(x, sure, part) for part in PARTS)
            if not self.absent.all():
                yield np.where(self.absent[:, None], compromise, self.given[self.layout.shared])

    def _compromise(self, x: Array, normal: Array) -> Array:
        """What is best if the cost of each cell were that of its normal matrix around where it is best."""
        lay, pull = self.layout, small.times(normal, x)
        every = np.ones((len(lay.local), x.shape[1]), bool), np.ones((lay.count, lay.unknowns), bool)
        factor = Arrow(
            lay, normal[np.ix_(lay.local, lay.local)], normal[np.ix_(lay.local, lay.shared)],
            lay.assembled(normal[np.ix_(lay.shared, lay.shared)]),
        ).factor(every, (0.0, 0.0))  # fmt: skip
        return lay.scattered(factor.solve(pull[lay.local], lay.gathered(pull[lay.shared]))[1])

    def _sure(self, x: Array, normal: Array) -> Flags:
        """The cells (cell,) that know what is shared."""
        point = self.problem.evaluate(x, self.cells)
        inverse, lost = inverses(normal, np.isfinite(normal).all(axis=(0, 1)))
        with np.errstate(all="ignore"):
            variances = small.diagonal(inverse) * 2 * here(point.cost) / self.problem.counts[self.cells]
            return ~lost & (variances <= np.square(VAGUE * x))[self.layout.shared].all(axis=0)

    def _found(self, x: Array, sure: Flags, part: float) -> Array:
        """What the cell has found than which a part of those that share something have found less."""
        lay, rows = self.layout, x[self.layout.shared]
        out = np.empty_like(rows)
        for k, slot in enumerate(lay.slot):
            at = lay.problem * lay.unknowns + slot
            size = lay.count * lay.unknowns
            order = np.lexsort((*rows[::-1], ~sure, at))  # whole points, of those that are sure first
            several, known = np.bincount(at, minlength=size), np.bincount(at, sure, size).astype(int)
            first = np.cumsum(several) - several
            count = np.where(known > 0, known, several)
            chosen = first + np.floor(part * np.maximum(count - 1, 0) + 0.5).astype(int)
            out[k] = rows[k, order[chosen[at]]]
        return out

    # ---------------------------------------------------------------- where they lead

    def _held(self, shared: Array) -> tuple[Array, Array]:
        """Where each cell goes with what is shared held, the best from any order; and what that costs."""
        points = [x.copy() for x in self.orders]
        for x in points:
            x[self.layout.shared] = shared
        return self._descended(points, HELD, self.layout.shared)

    def _descended(self, points: list[Array], iterations: int, held: Index | None = None) -> tuple[Array, Array]:
        """The best (free row, cell) of where points lead with some rows held, and the costs (cell,)."""
        problem, cells = self.problem, self.cells
        low, high = (m[problem.free][:, cells] for m in (problem.lower, problem.upper))
        start = np.concatenate([np.clip(x, low, high) for x in points], axis=1)
        at = np.tile(cells, len(points))
        hold = np.zeros(start.shape, bool)
        hold[[] if held is None else held] = True
        found = descend(problem, start, at, problem.linearity, tol=TOLERANCE, max_iterations=iterations, held=hold)
        x = found.arrays["x"]
        x = np.where(np.isfinite(x).all(axis=0), x, start)
        cost = here(problem.evaluate(x, at).cost).reshape(len(points), -1)
        cost = np.where(np.isfinite(cost), cost, np.inf)
        best = cost.argmin(axis=0) * len(cells) + np.arange(len(cells))
        return x[:, best], cost.ravel()[best]

    def _together(self, x: Array) -> tuple[Array, Array]:
        """Where all parameters lead to from a point (free row, cell), and what the problems cost there."""
        problem, start = self.problem, self.problem.start[self.problem.free]
        start[:, self.cells] = x
        found = solve(problem, problem.layout, start, self.usable, TOLERANCE, TOGETHER, lambda _: None)
        x = np.where(np.isfinite(found.arrays["x"][:, self.cells]).all(axis=0), found.arrays["x"][:, self.cells], x)
        cost = self.layout.total(here(problem.evaluate(x, self.cells).cost))
        return x, np.where(np.isfinite(cost), cost, np.inf)
