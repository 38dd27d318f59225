"""Losses cell by cell, of which a composition would be slower, or wrong at infinity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Raw = Any

LEAST_LOG = -100.0  # PyTorch's bound of the logarithms in binary cross entropy


class LossKernels:
    """Elementwise kernels on raw arrays."""

    xp: Any
    scale: Callable[[Raw, Raw], Raw]

    def huber(self, d: Raw, delta: Raw) -> Raw:
        """``d**2 / 2`` up to ``delta``, from there on a straight line."""
        near = self.xp.clip(d, -delta, delta)
        return near * (d - 0.5 * near)

    def xlogx(self, x: Raw) -> Raw:
        """``x log(x)``, 0 at 0."""
        return x * self.xp.log(x + (x == 0))

    def clamped_log_odds(self, x: Raw) -> Raw:
        """``log(x) - log(1 - x)`` with both logarithms bounded from below."""
        return self._clamped_log(x) - self._clamped_log1m(x)

    def bce(self, x: Raw, target: Raw) -> Raw:
        """Binary cross entropy of probabilities, the logarithms bounded from below."""
        return (target - 1) * self._clamped_log1m(x) - target * self._clamped_log(x)

    def _clamped_log(self, x: Raw) -> Raw:
        with np.errstate(divide="ignore"):
            return self.xp.maximum(self.xp.log(x), LEAST_LOG)

    def _clamped_log1m(self, x: Raw) -> Raw:
        with np.errstate(divide="ignore"):
            return self.xp.maximum(self.xp.log1p(-x), LEAST_LOG)

    def bce_logits(self, x: Raw, target: Raw, weight: Raw) -> Raw:
        """``(1 - target) softplus(x) + weight target softplus(-x)``; a product with 0 is 0 at infinity too."""
        xp = self.xp
        positive = xp.greater(x, 0)
        other, own = 1 - target, weight * target
        line = self.scale(positive * other - xp.logical_not(positive) * own, x)
        return line + (other + own) * xp.log1p(xp.exp(-xp.absolute(x)))
