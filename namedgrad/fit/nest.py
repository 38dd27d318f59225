"""Fits with shared parameters that take long: one fit of what is shared, around fits of the cells.

Given what is shared, each cell is a problem of its own, and the cost with its best parameters is a function of what is
shared alone: that of a fit with few unknowns, whose normal matrix is the Schur complement
(:mod:`~namedgrad.fit.arrow`).  Both are those of :mod:`~namedgrad.fit.marquardt`, with all that it does where steps are
badly predicted; and a cell that is in trouble takes more of them, and holds nobody back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from namedgrad.fit.arrow import Arrow, Layout
from namedgrad.fit.batch import Flags, Found, held, solve
from namedgrad.fit.cells import Index
from namedgrad.fit.marquardt import Linear, Marquardt
from namedgrad.fit.small import Array
from namedgrad.fit.status import Status
from namedgrad.fit.sums import Point

if TYPE_CHECKING:
    from namedgrad.fit.residuals import Residuals
Pair = tuple[Array, Array]


class Nest:
    """Some problems: where their cells are best, for the best of what is shared that has been tried.

    Attributes
    ----------
    x, longest, normal, status : (row, cell) and so on of each cell; what columns have been long does not start anew
    cost : of each problem
    """

    def __init__(
        self, problem: Residuals, layout: Layout, cells: Index, x: Array, longest: Array, shared: Pair,
        low: Array, high: Array, tol: float, max_iterations: int,
    ) -> None:  # fmt: skip
        self.problem, self.layout, self.cells = problem, layout, cells
        self.tol, self.max_iterations = tol, max_iterations
        self.x, self.longest, self.shared, self.lower, self.upper = x, longest, shared, low, high
        self.low, self.high = (m[problem.free][:, cells] for m in (problem.lower, problem.upper))
        n, count = x.shape
        self.normal, self.status = np.full((n, n, count), np.nan), np.full(count, -1)
        self.cost = np.full(layout.count, np.inf)

    def solve(self) -> Found:
        """The fit of what is shared, after which the cells are where they are best for that."""
        lay, none, prior = self.layout, np.zeros(0, int), self.problem.prior(self.cells)
        linear = Linear(none, np.ones((lay.unknowns, 1), bool), none, none, exact=True)
        found = self._solve(
            self.evaluate, lay.count, lay.count, [v.T for v in (*self.shared, self.lower, self.upper)], linear,
            ("x", "cost", "iterations"), prior if prior is None else lay.gathered(prior[lay.shared]).T,
        )  # fmt: skip
        self.evaluate(found.arrays["x"], np.arange(lay.count))  # the last step, which has not been seen
        bound = lay.total(((self.x <= self.low) | (self.x >= self.high)).any(axis=0).astype(float)) > 0
        found.status[(found.status == Status.CONVERGED) & bound] = Status.BOUND
        return found

    def statuses(self, shared: Found) -> np.ndarray[Any, Any]:
        """That of each cell: where it has not found its own best, it says so."""
        ends = shared.status[self.layout.problem]
        return np.where(done(ends) & ~done(self.status), self.status, ends)

    def evaluate(self, shared: Array, problems: Index) -> Point:
        """Cost with the best parameters of each cell, its gradient and normal matrix."""
        at = np.flatnonzero(np.isin(self.layout.problem, problems))
        lay = self.layout.only(problems, at)
        found = self._fit_cells(lay.scattered(shared.T), at)
        x, cost, gradient, normal = (found.arrays[n] for n in ("x", "cost", "gradient", "normal"))
        free = ~held(x, gradient, self.low[:, at], self.high[:, at])[lay.local]
        every = np.ones((lay.count, lay.unknowns), bool)
        factor = Arrow.of(lay, Point(cost, gradient, normal)).factor((free, every), (0.0, 0.0))
        total, close = lay.total(cost), self.tol * cost  # what is left in the cells, unless there is no way out
        slope = factor.reduced(gradient[lay.local], lay.gathered(gradient[lay.shared]), close)
        self._keep(total <= self.cost[problems], problems, total, lay, at, found)
        return Point(total, slope.T, np.moveaxis(factor.complement(), 0, -1))

    def _keep(self, better: Flags, problems: Index, cost: Array, lay: Layout, at: Index, found: Found) -> None:
        """Go on from there where it is better."""
        mine = better[lay.problem]
        self.cost[problems[better]] = cost[better]
        self.status[at[mine]] = found.status[mine]
        for n in ("x", "longest", "normal"):
            getattr(self, n)[..., at[mine]] = found.arrays[n][..., mine]

    def _fit_cells(self, shared: Array, at: Index) -> Found:
        """Fits of some cells, with what is shared held."""
        x, longest, low, high = (v[:, at] for v in (self.x, self.longest, self.low, self.high))
        for v in (x, low, high):
            v[self.layout.shared] = shared
        return self._solve(
            lambda y, k: self.problem.evaluate(y, self.cells[at[k]]), len(at), self.problem.most,
            (x, longest, low, high), self.problem.linearity, ("x", "cost", "gradient", "normal", "longest"),
            self.problem.prior(self.cells[at]),
        )  # fmt: skip

    def _solve(
        self, evaluate: Callable[[Array, Index], Point], count: int, size: int, start: Sequence[Array],
        linear: Linear, keep: Sequence[str], prior: Array | None,
    ) -> Found:  # fmt: skip
        """Levenberg-Marquardt from somewhere, with the longest columns so far, between bounds.

        It goes wherever the cost is less, as do the cells.
        """

        def enter(at: Index) -> Marquardt:
            x, longest, low, high = (v[:, at] for v in start)
            known = prior if prior is None else prior[:, at]
            return dataclasses.replace(Marquardt.enter(at, x, low, high, linear, known), longest=longest, worth=0.0)

        return solve(
            evaluate, enter, np.arange(count), count, keep=keep, size=size, tol=self.tol,
            max_iterations=self.max_iterations,
        )  # fmt: skip


def done(status: np.ndarray[Any, Any]) -> Flags:
    """Whether the tolerance is met."""
    return np.asarray((status == Status.CONVERGED) | (status == Status.BOUND))
