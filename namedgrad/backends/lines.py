"""Kernels along one whole axis: cumulative products and extremes, recurrences, order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Raw = Any


class LineKernels:
    """Written with slices and elementwise functions alone: log2(n) steps for n cells, each on all of them at once."""

    xp: Any

    def cumprod(self, x: Raw, axis: int) -> Raw:
        """Cumulative product."""
        return self.xp.cumprod(x, axis=axis)

    def cummax(self, x: Raw, axis: int) -> Raw:
        """Running maximum."""
        return self._doubled(self.xp.maximum, x, axis)

    def cummin(self, x: Raw, axis: int) -> Raw:
        """Running minimum."""
        return self._doubled(self.xp.minimum, x, axis)

    def _doubled(self, combine: Callable[..., Any], x: Raw, axis: int) -> Raw:
        """After step k every cell holds the combination of the last 2**k cells up to it (Hillis and Steele, 1986)."""
        out = self.xp.moveaxis(x, axis, -1).copy()
        step = 1
        while step < out.shape[-1]:
            out[..., step:] = combine(out[..., step:], out[..., :-step].copy())
            step *= 2
        return self.xp.moveaxis(out, -1, axis)

    def recurrence(self, a: Raw, b: Raw) -> Raw:
        """``s[k] = a[k] s[k - 1] + b[k]`` along the last axis, ``s[0] = b[0]``; the other axes broadcast."""
        a, b = (x.copy() for x in self._both(a, b))
        step = 1
        while step < b.shape[-1]:
            b[..., step:] = a[..., step:] * b[..., :-step].copy() + b[..., step:]
            a[..., step:] = a[..., step:] * a[..., :-step].copy()
            step *= 2
        return b

    def _both(self, a: Raw, b: Raw) -> Sequence[Raw]:
        """Two arrays of one shape and one dtype."""
        dtype = np.result_type(a, b)
        a, b = self.xp.broadcast_arrays(a, b)
        return a.astype(dtype), b.astype(dtype)

    def sort(self, x: Raw, axis: int) -> Raw:
        """Values in ascending order along one axis, NaN last."""
        return self.xp.sort(x, axis=axis)

    def argsort(self, x: Raw, axis: int) -> Raw:
        """Positions that sort along one axis; equal cells keep their order."""
        return self.xp.argsort(x, axis=axis, kind="stable")

    def partition(self, x: Raw, axis: int, kth: tuple[int, ...]) -> Raw:
        """Values such that those at ``kth`` are where they are in sorted order."""
        return self.xp.partition(x, kth, axis=axis)

    def step(self, x: Raw, axis: int) -> Raw:
        """Every cell but the first, less the one before it."""
        later, sooner = (self._cut(x, axis, k) for k in (slice(1, None), slice(None, -1)))
        return later - sooner

    def unstep(self, g: Raw, axis: int) -> Raw:
        """The transpose of :meth:`step`."""
        shape = (*g.shape[:axis], g.shape[axis] + 1, *g.shape[axis + 1 :])
        out = self.zeros(shape, g.dtype)
        self._cut(out, axis, slice(1, None))[...] = g
        self._cut(out, axis, slice(None, -1))[...] -= g
        return out

    zeros: Any  #: see :class:`namedgrad.backends.base.Backend`

    def _cut(self, x: Raw, axis: int, index: slice) -> Raw:
        return x[(slice(None),) * axis + (index,)]
