"""Steps of a length that is set beforehand, for losses that are only sampled: Adam, and plain gradient descent.

Nothing is taken back: a loss that is drawn anew in every evaluation cannot be compared with the last one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from namedgrad.fit.batch import Flags
from namedgrad.fit.cells import Index
from namedgrad.fit.descent import Descent, Slope
from namedgrad.fit.small import Array

FIRST_RATE = 0.05  # of the size of a parameter
MEAN, SQUARE, TINY = 0.9, 0.999, 1e-8  # the constants of Adam, as published

Rate = float | Callable[[int], float] | None


@dataclasses.dataclass
class Scheduled(Descent):
    """Gradient descent with a learning rate.

    Attributes
    ----------
    rate : the learning rate, or a function of the number of the step; for None it falls from a part of the size of each
        parameter to 0
    most : how many steps there may be
    shorter : what the rate is multiplied with in cells that have met a loss that is not finite
    """

    rate: Rate
    most: int
    shorter: Array

    @classmethod
    def enter(cls, index: Index, start: Array, lower: Array, upper: Array, **own: Any) -> Self:
        """Cells that start."""
        return super().enter(index, start, lower, upper, shorter=np.ones(len(index)), **own)

    def learn(self, at: Slope) -> None:
        """Go to the trial unless the loss is not finite there."""
        new = np.isinf(self.cost)
        self.iterations = self.iterations + ~new
        good = np.isfinite(at.cost) & np.isfinite(at.gradient).all(axis=0)
        self.x = np.where(good, self.trial, self.x)
        self.settle()
        self.cost = np.where(good, at.cost, self.cost)
        self.gradient = np.where(good, at.gradient, self.gradient)
        self.shorter = np.where(good, self.shorter, 0.5 * self.shorter)
        self._note(good)

    def _note(self, good: Flags) -> None:
        """Take note of a new gradient."""

    def verdict(self, tol: float, max_iterations: int) -> np.ndarray[Any, Any]:
        """A status for cells that are done, -1 for the others."""
        stuck = self.shorter < np.finfo(float).tiny
        return self.judge(self.converged(tol), stuck, max_iterations)

    def lengths(self) -> Array:
        """The learning rate of every number."""
        if self.rate is None:
            return FIRST_RATE * self.size() * (1 - self.iterations / (self.most + 1)) * self.shorter
        rate = np.array([self.rate(int(k)) for k in self.iterations]) if callable(self.rate) else self.rate
        return np.broadcast_to(rate * self.shorter, self.x.shape)

    def heading(self) -> Array:
        """Directions in units of the learning rate."""
        if self.rate is not None:
            return -self.gradient
        steepest = np.sqrt(np.sum((self.gradient * self.size()) ** 2, axis=0))
        return -self.gradient * self.size() / np.where(steepest > 0, steepest, 1.0)

    def propose(self) -> None:
        """One step, brought back into the bounds."""
        self.trial = np.clip(self.x + self.lengths() * self.heading(), self.lower, self.upper)


@dataclasses.dataclass
class Adam(Scheduled):
    """Kingma and Ba (2015), *Adam: a method for stochastic optimization*, algorithm 1."""

    mean: Array
    square: Array

    @classmethod
    def enter(cls, index: Index, start: Array, lower: Array, upper: Array, **own: Any) -> Self:
        """Cells that start, and remember nothing."""
        return super().enter(index, start, lower, upper, mean=np.zeros_like(start), square=np.zeros_like(start), **own)

    def _note(self, good: Flags) -> None:
        self.mean = np.where(good, MEAN * self.mean + (1 - MEAN) * self.gradient, self.mean)
        self.square = np.where(good, SQUARE * self.square + (1 - SQUARE) * self.gradient**2, self.square)

    def heading(self) -> Array:
        """Running means of gradients by the root of those of their squares."""
        count = self.iterations + 1
        mean, square = self.mean / (1 - MEAN**count), self.square / (1 - SQUARE**count)
        return -mean / (np.sqrt(square) + TINY * np.sqrt(square.max(axis=0, initial=1e-300)))
