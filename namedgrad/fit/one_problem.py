"""A single problem by SciPy's L-BFGS-B, whose bookkeeping does not slow down with many parameters.

SciPy measures what is left to gain in the units that it is given.  Those of the start are too large where the loss has
become much smaller, so that it ends too early: whether it has converged is judged as in a batch, and unless it has, it
starts again in the units of where it is.
"""

from __future__ import annotations

import collections
from collections.abc import Callable

import numpy as np

from namedgrad.fit.batch import Found
from namedgrad.fit.descent import LBFGS, MEMORY, Descent, Slope, reach
from namedgrad.fit.small import Array
from namedgrad.fit.status import Status

SMALLEST = 4 * np.finfo(float).eps
TRUSTED = 1e8  # times the expected decrease: a loss that rises by more is interpolated by a step of next to nothing
FLAT = 1e-2  # times the tolerance: a relative gradient that leaves no doubt
HUGE = 1e300
STOPPED = {1, 99}  # SciPy's status when it runs out of iterations, and when the callback ends it


def lbfgsb(
    evaluate: Callable[[Array], Slope], start: Array, lower: Array, upper: Array, *, tol: float, max_iterations: int,
    watch: Callable[[Array, Array], bool],
) -> Found:  # fmt: skip
    """Minimise from ``start`` (row,)."""
    search = Search(evaluate, start, lower, upper, watch)
    if not search.is_finite(search.at):
        return _found(Status.NOT_FINITE, np.full_like(start, np.nan), search.at, 0)
    converged, ended, iterations = search.converged(tol), -1, 0
    while not converged and ended not in STOPPED:
        before = search.cost
        ended, taken = search.run(tol, max_iterations - iterations)
        iterations += taken
        converged = search.converged(tol)
        if before - search.cost <= SMALLEST * abs(before):  # rounding is in the way, or a kink
            converged |= search.converged(np.sqrt(tol))
            break
    status = Status.CONVERGED if converged else Status.MAX_ITERATIONS if ended in STOPPED else Status.STALLED
    if converged and ((search.x <= lower) | (search.x >= upper)).any():
        status = Status.BOUND
    return _found(status, search.x, search.at, iterations)


class Search:
    """Where the search is, and what its last steps say of the curvature."""

    def __init__(
        self, evaluate: Callable[[Array], Slope], start: Array, lower: Array, upper: Array,
        watch: Callable[[Array, Array], bool],
    ) -> None:  # fmt: skip
        self.evaluate, self.watch = evaluate, watch
        self.origin = self.x = self.trial = start
        self.lower, self.upper = lower, upper
        self.at = self.tried = evaluate(start[:, None])
        self.first = self.cost
        self.pairs: collections.deque[tuple[Array, Array]] = collections.deque(maxlen=MEMORY)
        self.moved = np.zeros_like(start)

    @property
    def cost(self) -> float:
        """The loss where it is."""
        return float(self.at.cost[0])

    def is_finite(self, at: Slope) -> bool:
        """Whether a point can be used."""
        return bool(np.isfinite(at.cost).all() and np.isfinite(at.gradient).all())

    def units(self) -> tuple[Array, float]:
        """Of the parameters and of the loss, where it is."""
        size = np.maximum(np.abs(self.x), np.abs(self.origin))
        size = np.where(size > 0, size, 1.0)
        slope = float(np.abs(self.at.gradient[:, 0] * size).max(initial=0.0))
        return size, min(max(abs(self.cost), slope, 1 / HUGE), HUGE)

    def run(self, tol: float, max_iterations: int) -> tuple[int, int]:
        """Descend until SciPy is content; gives its status and how many iterations it took."""
        import scipy.optimize

        size, unit = self.units()
        low, high = self.lower / size, self.upper / size

        def scaled(u: Array) -> tuple[float, Array]:
            x = np.where(u <= low, self.lower, np.where(u >= high, self.upper, u * size))  # on bounds, not beside them
            cost, gradient = self.value(np.clip(x, self.lower, self.upper))
            return cost / unit, gradient / unit * size

        out = scipy.optimize.minimize(
            scaled, self.x / size, jac=True, method="L-BFGS-B", callback=self.accept,
            bounds=scipy.optimize.Bounds(low, high),
            options={"maxiter": max_iterations, "maxfun": 2 * max_iterations + 20, "maxcor": MEMORY,
                     "ftol": max(tol**2, SMALLEST), "gtol": tol * FLAT},
        )  # fmt: skip
        return int(out.status), int(out.nit)

    def value(self, x: Array) -> tuple[float, Array]:
        """Loss and gradient of a trial.

        Where they are of no use, they are those of a valley on the way there, for SciPy's line search to step back by
        some factor: what is not finite would end it.
        """
        if not np.array_equal(x, self.trial):
            self.trial, self.tried = x, self.evaluate(x[:, None])
        self.moved = x - self.x
        slope = abs(float(self.moved @ self.at.gradient[:, 0]))
        if self.is_finite(self.tried) and self.tried.cost[0] - self.cost <= TRUSTED * slope:
            return float(self.tried.cost[0]), self.tried.gradient[:, 0]
        return self.cost + slope, -self.at.gradient[:, 0]

    def accept(self, _: Array) -> None:
        """Go to the last trial."""
        self.pairs.append((self.moved, (self.tried.gradient - self.at.gradient)[:, 0]))
        gone = reach(self.trial, self.at.gradient[:, 0], self.cost - float(self.tried.cost[0]))
        self.origin = np.where(self.origin != 0, self.origin, gone)  # there is a size to compare with
        self.x, self.at = self.trial, self.tried
        if self.watch(self.x[:, None], self.at.cost):
            raise StopIteration

    def converged(self, tol: float) -> bool:
        """Whether it has converged, as in a batch, or the gradient is next to nothing."""
        size, unit = self.units()
        state = LBFGS.enter(np.zeros(1, int), *((v / size)[:, None] for v in (self.x, self.lower, self.upper)))
        state.origin, state.first = (self.origin / size)[:, None], np.array([self.first / unit])
        state.cost, state.gradient = self.at.cost / unit, self.at.gradient / unit * size[:, None]
        state.tried = np.array([np.abs(self.moved / size).max(initial=0.0)])
        for step, change in self.pairs:
            state.remember(np.ones(1, bool), (step / size)[:, None], (change / unit * size)[:, None])
        state.direction, state.sure = np.where(state.free(), state.line()[0], 0.0), np.ones(1, bool)
        return bool(state.converged(tol)[0] or Descent.converged(state, FLAT * tol)[0])


def _found(status: Status, x: Array, at: Slope, iterations: int) -> Found:
    last = at if status != Status.NOT_FINITE else Slope(at.cost * np.nan, at.gradient * np.nan)
    arrays = {"x": x[:, None], **last._asdict(), "iterations": np.array([float(iterations)])}
    return Found(np.array([int(status)]), arrays)
