"""Levenberg-Marquardt, for every cell of a batch with its own damping and its own active bounds.

The damped step follows Marquardt (1963), the damping Nielsen (1999), *Damping parameter in Marquardt's method*.  Rows
that a bound holds back are taken out of the step; rows that would cross a bound stop there, and the others are solved
for again.
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
    damping: Array
    growth: Array
    predicted: Array

    @classmethod
    def enter(cls, index: Index, start: Array, lower: Array, upper: Array) -> Marquardt:
        """Cells that start."""
        p, n = start.shape
        flat = np.zeros((p, p, n))
        return cls.start(
            index, start, lower, upper, gradient=flat[0], normal=flat, damping=np.full(n, FIRST_DAMPING),
            growth=np.full(n, 2.0), predicted=np.zeros(n),
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
        self.x = np.where(better, self.trial, self.x)
        self.cost = np.where(better, at.cost, self.cost)
        self.gradient = np.where(better, at.gradient, self.gradient)
        self.normal = np.where(better, at.normal, self.normal)
        calmer = self.damping * np.maximum(1 / 3, 1 - (2 * ratio - 1) ** 3)
        self.damping = np.where(better, calmer, self.damping * self.growth)
        self.growth = np.where(better, 2.0, 2 * self.growth)

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
        step = small.solve(damped(self.normal, scale, free, ALMOST_UNDAMPED), downhill)
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

    def propose(self) -> None:
        """The damped step, ended at the bounds that it meets."""
        scale, free = self.scale(), self.free()
        low, high = self.lower - self.x, self.upper - self.x
        step = np.zeros_like(self.x)
        for _ in range(len(step)):
            pull = -self.gradient - small.times(self.normal, np.where(free, 0.0, step))
            factor = damped(self.normal, scale, free, self.damping)
            step = np.where(free, small.solve(factor, np.where(free, pull, 0.0) / scale) / scale, step)
            beyond = free & ((step < low) | (step > high))
            if not beyond.any():
                break
            step = np.clip(step, low, high)
            free = free & ~beyond
        self.trial = np.clip(self.x + step, self.lower, self.upper)
        step = self.trial - self.x
        self.predicted = -small.dot(step, self.gradient + 0.5 * small.times(self.normal, step))


def damped(normal: Array, scale: Array, free: Flags, damping: Any) -> Array:
    """Cholesky factor of the scaled normal matrix plus damping; rows that are not free are those of the identity."""
    a = np.where(free[:, None] & free, normal / scale[:, None] / scale, 0.0)
    n = np.arange(len(a))
    a[n, n] = np.where(free, a[n, n] + damping, 1.0)
    return small.cholesky(a)
