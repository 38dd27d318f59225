"""Levenberg-Marquardt, for every cell of a batch with its own damping and its own active bounds.

The damped step follows Marquardt (1963), the damping Nielsen (1999), *Damping parameter in Marquardt's method*.  The
normal matrix lacks the curvature of the residuals themselves, which slows the last iterations down where residuals are
large; a secant estimate of it is kept, and used where it predicts better (Dennis, Gay and Welsch 1981, *An adaptive
nonlinear least-squares algorithm*).  Rows that a bound holds back are taken out of the step; rows that would cross a
bound stop there, and the others are solved for again.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from namedgrad.fit import small
from namedgrad.fit.batch import Batch, Flags
from namedgrad.fit.cells import Index
from namedgrad.fit.small import Array

FIRST_DAMPING, MOST_DAMPING = 1e-3, 1e15
ALMOST_UNDAMPED = 1e-13  # keeps a singular matrix positive definite
ROUNDING = 1e-13  # relative changes of the cost below this say nothing


class Point(NamedTuple):
    """What an evaluation gives: (cell,), (row, cell) and (row, row, cell)."""

    cost: Array
    gradient: Array
    normal: Array


@dataclasses.dataclass
class Marquardt(Batch):
    """Cells, the normal equations where they are, and the step that they try."""

    gradient: Array
    normal: Array
    longest: Array  # that each column of the Jacobian has been
    damping: Array
    growth: Array
    predicted: Array
    bend: Array  # the curvature that the normal matrix lacks, as far as it is known
    bent: Flags  # whether it is used
    by_bend: Array  # what using it takes from the prediction, or would take

    @classmethod
    def enter(cls, index: Index, start: Array, lower: Array, upper: Array) -> Marquardt:
        """Cells that start."""
        p, n = start.shape
        flat = np.zeros((p, p, n))
        return cls.start(
            index, start, lower, upper, gradient=flat[0], normal=flat, longest=flat[0],
            damping=np.full(n, FIRST_DAMPING), growth=np.full(n, 2.0), predicted=np.zeros(n),
            bend=flat, bent=np.zeros(n, bool), by_bend=np.zeros(n),
        )  # fmt: skip

    def learn(self, at: Point) -> None:
        """Go to the trial where it is better, and set the damping by how well the step was predicted."""
        new = np.isinf(self.cost)
        self.iterations = self.iterations + ~new
        noise = ROUNDING * self.cost
        gain = self.cost - at.cost
        ratio = gain / self.predicted
        ratio[(np.abs(gain) <= noise) & (np.abs(self.predicted) <= noise)] = 1.0
        ratio[new] = 0.5
        finite = np.isfinite(at.cost) & np.isfinite(at.gradient).all(axis=0) & np.isfinite(at.normal).all(axis=(0, 1))
        better = finite & (ratio > 0)
        self._compare(gain)
        self._bend(better & ~new, self.trial - self.x, at)
        self.x = np.where(better, self.trial, self.x)
        self.cost = np.where(better, at.cost, self.cost)
        self.gradient = np.where(better, at.gradient, self.gradient)
        self.normal = np.where(better, at.normal, self.normal)
        self.longest = np.maximum(self.longest, np.sqrt(small.diagonal(self.normal)))
        least = np.clip(np.abs(ratio - 1), 0.01, 1 / 3)  # a third, and less where the prediction was good
        calmer = self.damping * np.maximum(least, 1 - (2 * ratio - 1) ** 3)
        self.damping = np.where(better, calmer, self.damping * self.growth)
        self.growth = np.where(better, 2.0, 2 * self.growth)

    def _compare(self, gain: Array) -> None:
        """Use the estimate of the curvature where it would have predicted the last step better."""
        without = self.predicted + np.where(self.bent, self.by_bend, 0.0)
        self.bent = np.abs(gain - without + self.by_bend) < np.abs(gain - without)

    def _bend(self, moved: Flags, step: Array, at: Point) -> None:
        """The secant update of the curvature, after shrinking it to what this step has shown of it."""
        change = at.gradient - self.gradient
        along = small.dot(step, change)
        seen = change - small.times(at.normal, step)
        known = small.times(self.bend, step)
        size = np.abs(small.dot(step, known))
        shrink = np.minimum(1.0, np.abs(small.dot(step, seen)) / np.where(size > 0, size, 1.0))
        off = (seen - shrink * known) / along
        outer = off[:, None] * change
        update = outer + np.swapaxes(outer, 0, 1) - small.dot(off, step) / along * change[:, None] * change
        new = shrink * self.bend + update
        good = moved & (along > 0) & np.isfinite(new).all(axis=(0, 1))
        self.bend = np.where(good, new, self.bend)

    def verdict(self, tol: float, max_iterations: int) -> np.ndarray[Any, Any]:
        """A status for cells that are done, -1 for the others."""
        converged = self.converged(tol)
        stuck = self.damping > MOST_DAMPING
        if stuck.any():  # no smaller step can be told from none: rounding is in the way, or a kink
            converged |= stuck & self.converged(np.sqrt(tol))
        return self.judge(converged, stuck, max_iterations)

    def converged(self, tol: float) -> Flags:
        """Whether the undamped step promises next to nothing, or the data are met to rounding.

        It would lower the cost by ``tol**2`` of itself, which is to move by ``tol * sqrt(dof)`` standard errors; or it
        moves every parameter by less than ``tol`` of itself.
        """
        scale, free = self.scale(), self.free()
        downhill = np.where(free, -self.gradient, 0.0) / scale
        step = small.solve(self.factor(scale, free, ALMOST_UNDAMPED)[1], downhill)
        near = small.dot(step, downhill) <= tol**2 * 2 * self.cost
        still = (np.abs(step) <= tol * np.abs(self.x * scale)).all(axis=0)
        met = 2 * self.cost <= tol**3 * small.dot(self.x * scale, self.x * scale)
        return near | still | met

    def scale(self) -> Array:
        """Lengths of the columns of the Jacobian; 1 for a column of zeros."""
        squares = small.diagonal(self.normal)
        return np.sqrt(np.where(squares > 0, squares, 1.0))

    def free(self) -> Flags:
        """Rows that no bound holds back."""
        held = ((self.x <= self.lower) & (self.gradient > 0)) | ((self.x >= self.upper) & (self.gradient < 0))
        return ~held

    def factor(self, scale: Array, free: Flags, damping: Any) -> tuple[Array, Array]:
        """The matrix of the step and its Cholesky factor, scaled and damped; no bend where that is not positive."""
        matrix = self.normal + np.where(self.bent, self.bend, 0.0)
        factor = damped(matrix, scale, free, damping)
        wrong = self.bent & ~np.isfinite(small.diagonal(factor)).all(axis=0)
        if wrong.any():
            matrix = np.where(wrong, self.normal, matrix)
            factor = np.where(wrong, damped(self.normal, scale, free, damping), factor)
        return matrix, factor

    def propose(self) -> None:
        """The damped step, ended at the bounds that it meets.

        The damping is measured by the longest that the columns of the Jacobian have been (Moré 1978), so that a
        parameter which has lost its influence does not run away.
        """
        scale, free = np.where(self.longest > 0, self.longest, 1.0), self.free()
        low, high = self.lower - self.x, self.upper - self.x
        step = np.zeros_like(self.x)
        for _ in range(len(step)):
            matrix, factor = self.factor(scale, free, self.damping)
            pull = -self.gradient - small.times(matrix, np.where(free, 0.0, step))
            step = np.where(free, small.solve(factor, np.where(free, pull, 0.0) / scale) / scale, step)
            beyond = free & ((step < low) | (step > high))
            if not beyond.any():
                break
            step = np.clip(step, low, high)
            free = free & ~beyond
        self.trial = np.clip(self.x + step, self.lower, self.upper)
        step = self.trial - self.x
        self.by_bend = 0.5 * small.dot(step, small.times(self.bend, step))
        without = -small.dot(step, self.gradient + 0.5 * small.times(self.normal, step))
        self.bent = self.bent & (matrix != self.normal).any(axis=(0, 1))
        self.predicted = without - np.where(self.bent, self.by_bend, 0.0)


def damped(normal: Array, scale: Array, free: Flags, damping: Any) -> Array:
    """Cholesky factor of the scaled normal matrix plus damping; rows that are not free are those of the identity."""
    a = np.where(free[:, None] & free, normal / scale[:, None] / scale, 0.0)
    n = np.arange(len(a))
    a[n, n] = np.where(free, a[n, n] + damping, 1.0)
    return small.cholesky(a)
