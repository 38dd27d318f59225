"""Kernels that reduce over axes, where NumPy's values may be looked at and its arrays written into."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.backends.statistics import StatisticKernels

Raw = Any


class NumpyStatistics(StatisticKernels):
    """On :class:`numpy.ndarray`."""

    def has_nan(self, x: Raw) -> bool:
        """Whether there is a NaN."""
        return not self.isfinite_all(x) and bool(np.isnan(x).any())  # type: ignore[attr-defined]

    def divisible(self, y: Raw) -> bool:
        """Whether all products are so far from 0 and infinity that dividing one by a factor is exact to rounding."""
        if not np.size(y):
            return True
        size = np.abs(y)
        info = np.finfo(size.dtype)
        low, high = size.min(), size.max()
        return bool(low > info.tiny / info.eps and high < math.inf)

    def count_true(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Number of true cells, counted as bytes: half the time of a sum of booleans."""
        return np.add.reduce(np.asarray(x).view(np.uint8), axis=axis, dtype=np.int64)

    def var(self, x: Raw, axis: tuple[int, ...], ddof: float) -> Raw:
        """Mean square distance from the mean, the count lessened by ``ddof``."""
        count = math.prod(x.shape[i] for i in axis)
        middle = np.add.reduce(x, axis=axis, keepdims=True)
        off = np.subtract(x, np.true_divide(middle, count, dtype=middle.dtype, casting="unsafe"))
        np.multiply(off, off, out=off)
        out = np.add.reduce(off, axis=axis)
        return np.true_divide(out, count - ddof).astype(x.dtype, copy=False)
