"""Descent with a line search: quasi-Newton (L-BFGS), truncated Newton and steepest descent, cell by cell in one batch.

All methods share the search for a step that satisfies the weak Wolfe conditions, by bisection and doubling (Lewis and
Overton 2013, *Nonsmooth optimization via quasi-Newton methods*, algorithm 2.6); they differ in the direction only.
With bounds, rows that a bound holds back are left out of the direction and the step is projected, in which case
sufficient decrease is all that is asked for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from namedgrad.fit import small
from namedgrad.fit.batch import Batch, Flags, held
from namedgrad.fit.cells import Index
from namedgrad.fit.small import Array

ENOUGH, STEEP = 1e-4, 0.9  # of the promised decrease; of the slope at the start
ROUNDING = 1e-14  # relative changes of the cost below this say nothing
FIRST = 0.1  # of the parameters, changed by the first step
MEMORY = 10
EXACT = 0.01  # how well Newton's equations are met far from the minimum; 0.5, as in the book, zigzags in few dimensions
CURVED = 1e-8  # cosine between a step and the change of the gradient along it that is worth remembering
SAME, TINY = 1e-15, 1e-30  # steps that cannot be told apart, or from none: relative to the longer, to the parameters
FAR = 1e3  # times the size of the parameters: a step that lowers the loss by as much as promised need not be longer
SHORT = 0.05  # of the parameters: what the last step says of the curvature holds around here if it was no longer


class Slope(NamedTuple):
    """What an evaluation gives: (cell,) and (row, cell)."""

    cost: Array
    gradient: Array


@dataclasses.dataclass
class Descent(Batch):
    """Cells, the line along which they search, and what they have tried of it: steepest descent."""

    origin: Array  # where it started, or what came first instead of 0
    first: Array  # the cost there
    tried: Array  # how far the last trial was that was not too short, relative to the parameters
    gradient: Array
    direction: Array
    sure: Flags  # whether the direction leads to a minimum, as far as its method knows
    step: Array
    secant: Array  # the step to the minimum, by the curvature along the last one; 0: not known
    too_short: Array  # the longest step known to be too short
    too_long: Array  # the shortest step known to be too long

    @classmethod
    def enter(cls, index: Index, start: Array, lower: Array, upper: Array, **own: Any) -> Self:
        """Cells that start; a method gives its own arrays."""
        flat, n = np.zeros_like(start), start.shape[1]
        return cls.start(
            index, start, lower, upper, origin=start, first=np.zeros(n), tried=np.zeros(n), gradient=flat,
            direction=flat, sure=np.zeros(n, bool), step=np.zeros(n), secant=np.zeros(n), too_short=np.zeros(n),
            too_long=np.full(n, np.inf), **own,
        )  # fmt: skip

    # ---------------------------------------------------------------- one iteration

    def learn(self, at: Slope) -> None:
        """Judge the trial: too long, too short, or good; go there if it is good."""
        new = np.isinf(self.cost)
        self.iterations = self.iterations + ~new
        moved = self.trial - self.x
        slope = small.dot(self.gradient, moved)
        later = small.dot(at.gradient, moved)
        length = (np.abs(moved) / self.size()).max(axis=0, initial=0.0)
        finite = np.isfinite(at.cost) & np.isfinite(at.gradient).all(axis=0)
        with np.errstate(invalid="ignore"):
            lower = at.cost <= self.cost + ENOUGH * slope
            level = np.abs(at.cost - self.cost) <= ROUNDING * np.abs(self.cost)
            lower &= ~level | (later < STEEP * -slope)  # else it has gone too far, which only the slope can tell
            level &= (slope <= later) & (later < STEEP * -slope)
            cut_off = (self.trial != self.x + self.step * self.direction).any(axis=0)
            nowhere = (self.x + self.step * self.direction == self.x).all(axis=0)
            steep = (later < STEEP * slope) & ~cut_off & ~level & (length <= FAR) | nowhere
        decreases = finite & (lower | level | nowhere)
        good = finite & new | decreases & ~steep
        self.too_long = np.where(decreases, self.too_long, self.step)
        self.too_short = np.where(decreases & steep, self.step, self.too_short)
        self.remember(good & ~new, moved, at.gradient - self.gradient)
        self.tried = np.where(decreases & steep, self.tried, length)
        self.first = np.where(good & new, at.cost, self.first)
        self.x = np.where(good, self.trial, self.x)
        self.settle(np.where(good & ~new, self.cost - at.cost, 0.0))
        self.cost = np.where(good, at.cost, self.cost)
        self.gradient = np.where(good, at.gradient, self.gradient)
        self._search(good)

    def _search(self, arrived: Flags) -> None:
        """A new line for the cells that have arrived, another step for the others."""
        step = np.where(np.isinf(self.too_long), 2 * self.step, 0.5 * (self.too_short + self.too_long))
        if arrived.any():
            at, self.direction, self.sure = self.only(np.flatnonzero(arrived)), self.direction.copy(), self.sure.copy()
            ahead, length, sure = at.line()
            ahead = np.where(at.free(), ahead, 0.0)
            downhill = small.dot(at.gradient, ahead) < 0
            self.direction[:, arrived] = np.where(downhill, ahead, np.where(at.free(), -at.gradient, 0.0))
            self.sure[arrived] = downhill & sure
            step[arrived] = np.where(downhill, length, at.first_step())
        self.step = step
        self.too_short = np.where(arrived, 0.0, self.too_short)
        self.too_long = np.where(arrived, np.inf, self.too_long)

    def line(self) -> tuple[Array, Array, Any]:
        """Directions, the first step to try along them, and whether they are sure: that of Barzilai and Borwein (1988).

        Twice the last one, which is what comes of a curvature that is not positive, would for ever be halved again to
        one that all but leads to the same height on the other side.
        """
        known = self.secant > 0
        length = np.where(known, self.secant, np.where(self.step > 0, 2 * self.step, self.first_step()))
        return -self.gradient, length, False

    def remember(self, good: Flags, moved: Array, change: Array) -> None:
        """Take note of a step and of how it changed the gradient."""
        bend = small.dot(moved, change)
        step = np.where(bend > 0, small.dot(moved, moved) / np.where(bend > 0, bend, 1.0), 0.0)
        self.secant = np.where(good, step, self.secant)

    def first_step(self) -> Array:
        """A step down the gradient when nothing is known of the curvature: a part of the size of the parameters."""
        return first_step(self.size(), self.gradient)

    def free(self) -> Flags:
        """Rows that no bound holds back."""
        return ~held(self.x, self.gradient, self.lower, self.upper)

    def verdict(self, tol: float, max_iterations: int) -> np.ndarray[Any, Any]:
        """A status for cells that are done, -1 for the others."""
        converged = self.converged(tol)
        same = np.isfinite(self.too_long) & (self.too_long - self.too_short <= SAME * self.too_long)
        stuck = same | (self.step * (np.abs(self.direction) / self.size()).max(axis=0, initial=0.0) < TINY)
        if stuck.any():  # rounding is in the way, or a kink
            converged |= stuck & (self.converged(np.sqrt(tol)) | self.is_level(np.sqrt(ROUNDING)) | self.is_zero(tol))
        return self.judge(converged, stuck, max_iterations)

    def converged(self, tol: float) -> Flags:
        """Whether the method is done; one that goes down the slope is where that is level."""
        return self.is_level(tol)

    def is_level(self, tol: float) -> Flags:
        """Whether a change of any parameter by all of itself would change the cost by less than ``tol`` of itself.

        That is the relative gradient of Dennis and Schnabel (1983), section 7.2.5.
        """
        slope = np.abs(np.where(self.free(), self.gradient, 0.0))
        return np.asarray((slope * self.size() <= tol * np.abs(self.cost)).all(axis=0))

    def is_zero(self, tol: float) -> Flags:
        """Whether changes of the parameters by their rounding may change the cost by all of itself, to first order.

        Or it is next to nothing of what it was: then rounding may do so to second order.
        """
        by_rounding = SAME * small.dot(np.abs(self.gradient), self.size())
        return np.asarray(np.abs(self.cost) <= np.maximum(by_rounding, tol**3 * np.abs(self.first)))

    def settle(self, gain: Array | float = 0.0) -> None:
        """Note how far parameters that started at 0 have gone first, or could have gone alone for the same gain."""
        self.origin = np.where(self.origin != 0, self.origin, reach(self.x, self.gradient, gain))

    def size(self) -> Array:
        """How large parameters are: now, or at the start, or, where that is 0, soon after it."""
        size = np.maximum(np.abs(self.x), np.abs(self.origin))
        return np.where(size > 0, size, 1.0)

    def propose(self) -> None:
        """The next point along the line, brought back into the bounds."""
        self.trial = np.clip(self.x + self.step * self.direction, self.lower, self.upper)


@dataclasses.dataclass
class Newton(Descent):
    """Methods whose direction leads, as far as they know, to the minimum."""

    def converged(self, tol: float) -> Flags:
        """Whether the step moves no parameter by ``tol`` of itself, or lowers the cost by no ``tol**2`` of itself.

        A parameter that was much larger at the start, and may end at 0, need not move by less than ``tol`` of what it
        was, if next to nothing of the cost is to be gained, or the cost is 0 but for the rounding at the start.
        """
        length, gain, cost = np.abs(self.direction), -small.dot(self.direction, self.gradient), np.abs(self.cost)
        low = gain <= tol**2 * 2 * cost
        near = (length <= tol * np.abs(self.x)).all(axis=0)
        little = gain <= np.maximum(tol**1.5 * cost, tol**4 * np.abs(self.first))
        near |= little & (length <= tol * self.size()).all(axis=0)
        flat = ~np.where(self.free(), self.gradient, 0.0).any(axis=0)
        return (near | low) & self.sure & self.informed() | flat

    def informed(self) -> Flags:
        """Cells that know something of the curvature."""
        return np.ones(self.cost.shape, dtype=bool)


@dataclasses.dataclass
class LBFGS(Newton):
    """Quasi-Newton directions from the last steps (Nocedal and Wright 2006, algorithm 7.4)."""

    steps: Array  # (memory, row, cell), newest first
    changes: Array  # of the gradient along them

    @classmethod
    def enter(cls, index: Index, start: Array, lower: Array, upper: Array, **own: Any) -> Self:
        """Cells that start, and remember nothing."""
        empty = np.zeros((MEMORY, *start.shape))
        return super().enter(index, start, lower, upper, steps=empty, changes=empty, **own)

    def informed(self) -> Flags:
        """Cells that have taken steps, the last of them short: a secant over a long one says nothing of where it is."""
        return np.asarray(self.steps[0].any(axis=0) & (self.tried <= SHORT))

    def remember(self, good: Flags, moved: Array, change: Array) -> None:
        """Keep the steps along which the curvature is positive."""
        size = self.size()
        lengths = np.sqrt(small.dot(moved / size, moved / size) * small.dot(change * size, change * size))
        curved = good & (small.dot(moved, change) > CURVED * lengths)
        if curved.any():
            self.steps = np.where(curved, np.concatenate([moved[None], self.steps[:-1]]), self.steps)
            self.changes = np.where(curved, np.concatenate([change[None], self.changes[:-1]]), self.changes)

    def line(self) -> tuple[Array, Array, Any]:
        """The two-loop recursion over the free rows, in units of the size of the parameters."""
        free, size = self.free(), self.size()
        s, y = self.steps / size, self.changes * size
        if not free.all():
            s, y = np.where(free, s, 0.0), np.where(free, y, 0.0)
        curvature = np.sum(s * y, axis=1)
        known = curvature > 0
        weight = np.where(known, 1 / np.where(known, curvature, 1.0), 0.0)
        q = np.where(free, self.gradient * size, 0.0)
        shares = []
        for i in range(MEMORY):
            shares.append(weight[i] * small.dot(s[i], q))
            q = q - shares[i] * y[i]
        squares = small.dot(y[0], y[0])
        q = q * np.where(known[0], curvature[0] / np.where(known[0], squares, 1.0), first_step(np.ones_like(q), q))
        for i in reversed(range(MEMORY)):
            q = q + (shares[i] - weight[i] * small.dot(y[i], q)) * s[i]
        return -q * size, np.ones(len(self.cost)), True


Curvature = Callable[[Array, Index], Callable[[Array], Array]]


@dataclasses.dataclass
class NewtonCG(Newton):
    """Newton directions by conjugate gradients, cut short (Nocedal and Wright 2006, algorithm 7.1)."""

    curvature: Curvature  # the Hessian of some cells at some points, as a product with vectors

    def line(self) -> tuple[Array, Array, Any]:
        """Conjugate gradients until Newton's equations are met well enough, or the curvature is not positive.

        Where it is not, the last step goes as far as it would if the curvature had the other sign, and is not sure.
        """
        free, size, times = self.free(), self.size(), self.curvature(self.x, self.index)
        slope = np.where(free, self.gradient * size, 0.0)
        unit = np.abs(slope).max(axis=0, initial=0.0)
        unit = np.where(unit > 0, unit, 1.0)
        residual = slope / unit  # squares of what has become small may underflow
        left, unknown = small.dot(residual, residual), first_step(np.ones_like(residual), residual) / unit
        enough = np.minimum(EXACT**2, np.sqrt(left) * unit) * left
        found, toward = np.zeros_like(residual), -residual
        active, convex = left > 0, np.ones(len(self.cost), bool)
        for _ in range(2 * len(residual)):
            image = np.where(free, size * times(size * np.where(active, toward, 0.0)), 0.0)
            bend, squares = np.where(active, small.dot(toward, image), 1.0), left
            length = np.where(active, np.where(bend != 0, squares / np.abs(bend), unknown), 0.0)
            found = found + length * toward
            residual = residual + length * image
            left = small.dot(residual, residual)
            convex = convex & (bend > 0)
            active = active & convex & (left > enough)
            if not active.any():
                break
            toward = left / np.where(squares > 0, squares, 1.0) * toward - residual
        return found * unit * size, np.ones(len(self.cost)), convex


def reach(x: Array, slope: Array, gain: Array | float) -> Array:
    """How large parameters are that have left 0: beside one that is steep, others hardly move at first.

    At most 1, as which they are taken before.
    """
    alone = np.minimum(gain / np.where(slope != 0, np.abs(slope), np.inf), 1.0)
    return np.where(x != 0, np.maximum(np.abs(x), alone), 0.0)


def first_step(size: Array, slope: Array) -> Array:
    """How often a slope goes into a part of the size of the parameters."""
    return FIRST * np.sqrt(small.dot(size, size) / np.where(slope.any(axis=0), small.dot(slope, slope), 1.0))
