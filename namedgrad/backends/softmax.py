"""Exponentials that are normalized along axes, shifted by the maximum so that nothing overflows."""

from __future__ import annotations

from typing import Any

import numpy as np

Raw = Any


class SoftmaxKernels:
    """A part of :class:`namedgrad.backends.base.Backend`."""

    xp: Any

    def softmax(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """``exp(x)`` over its sum along axes."""
        if 0 in x.shape or not axis:
            return self.xp.exp(self.xp.subtract(x, x))
        e = self.xp.exp(self._below_max(x, axis))
        return e / self.xp.sum(e, axis=axis, keepdims=True)

    def log_softmax(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Its logarithm."""
        if 0 in x.shape or not axis:
            return self.xp.subtract(x, x) * 1.0
        shifted = self._below_max(x, axis)
        return shifted - self.xp.log(self.xp.sum(self.xp.exp(shifted), axis=axis, keepdims=True))

    def _below_max(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        if x.dtype.kind not in "fc":
            x = x.astype(np.float64)
        return x - self.xp.max(x.real if x.dtype.kind == "c" else x, axis=axis, keepdims=True)
