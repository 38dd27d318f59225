"""Exponentials that are normalized along axes, shifted by the maximum so that nothing overflows."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.special import is_complex

Raw = Any


def lost_beside_one(dtype: Any) -> float:
    """A number so small that enough of its digits are lost when it is added to 1 to look for another way."""
    return float(np.finfo(dtype).eps) ** 0.25


class SoftmaxKernels(Kernels):
    """A part of :class:`namedgrad.backends.base.Backend`."""

    def below_top(self, x: Raw, top: Raw) -> Raw:
        """``x - top`` of what is at most ``top``: 0 where both are infinite, as close as below."""
        xp = self.xp
        if self.may_branch and self.isfinite_all(top):
            return xp.subtract(x, top)
        if is_complex(x):
            return xp.add(self.below_top(x.real, top), xp.multiply(1j, x.imag))
        apart = xp.not_equal(x, top)
        return xp.subtract(self.select(apart, x), self.select(apart, top))

    def softmax(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """``exp(x)`` over its sum along axes."""
        if not axis or 0 in x.shape:
            return self.xp.exp(self.xp.subtract(x, x))
        e = self.xp.exp(self.below_max(x, axis))
        e /= self.xp.sum(e, axis=axis, keepdims=True)
        return e

    def log_softmax(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Its logarithm."""
        if not axis or 0 in x.shape:
            return self.xp.subtract(x, x) * 1.0
        out = self.below_max(x, axis)
        out -= self._log_sum(out, axis)
        return out

    def log_sum_below(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """``log(sum(exp(x)))`` along axes of what :meth:`below_max` gives."""
        return self.xp.squeeze(self._log_sum(x, axis), axis)

    def _log_sum(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Of what is 0 at its largest, along axes that stay: where it leads, the others are not added to 1."""
        xp = self.xp
        total = xp.sum(xp.exp(x), axis=axis, keepdims=True)
        log = xp.log(total)
        if x.dtype.kind == "c":
            return log
        leads = xp.less(total, 1 + lost_beside_one(x.dtype))
        if not self.may_branch:
            log = xp.where(leads, self._log_of_others(x, axis), log)
        elif leads.any():
            last = tuple(range(-len(axis), 0))
            rows = np.moveaxis(x, axis, last)[np.squeeze(leads, axis)]
            log[leads] = np.reshape(self._log_of_others(rows, last), (-1,))
        return log

    def _log_of_others(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        xp = self.xp
        others = xp.where(xp.equal(x, 0), 0, xp.exp(x)).astype(x.dtype)
        return xp.log1p(xp.sum(others, axis=axis, keepdims=True))

    def below_max(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """``x`` less its largest along axes."""
        if 0 in x.shape:
            return self.xp.subtract(x, x) * 1.0
        if x.dtype.kind not in "fc":
            x = x.astype(np.float64)
        return x - self.xp.max(x.real if x.dtype.kind == "c" else x, axis=axis, keepdims=True)
