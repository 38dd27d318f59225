"""Kernels that reduce over axes, beyond sums and extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels

Raw = Any


class StatisticKernels(Kernels):
    """Functions of given axes."""

    def has_nan(self, x: Raw) -> bool:
        """Whether there is a NaN; only where ``may_branch``."""
        raise NotImplementedError

    def shows_nan(self, x: Raw) -> bool:
        """Whether there is a NaN among a few of many cells; only where ``may_branch``."""
        raise NotImplementedError

    def divisible(self, y: Raw) -> Raw:
        """Whether products are so far from 0 and infinity that they can be divided; only where ``may_branch``."""
        raise NotImplementedError

    def count_true(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Number of true cells."""
        return self.xp.sum(x, axis=axis, dtype=np.int64)

    def prod(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Product."""
        return self.xp.prod(x, axis=axis)

    def max_present(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Largest of the numbers that are not NaN; NaN if there are none."""
        return self._of_present(x, axis, self.max, -np.inf)

    def min_present(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Smallest of them."""
        return self._of_present(x, axis, self.min, np.inf)

    def _of_present(self, x: Raw, axis: tuple[int, ...], reduce: Any, least: float) -> Raw:
        missing = self.xp.isnan(x)
        y = reduce(self.xp.where(missing, x.dtype.type(least), x), axis=axis)
        return self.xp.where(self.xp.all(missing, axis=axis), x.dtype.type(np.nan), y)

    def var(self, x: Raw, axis: tuple[int, ...], ddof: float) -> Raw:
        """Mean square distance from the mean, the count lessened by ``ddof``."""
        xp = self.xp
        count = int(np.prod([x.shape[i] for i in axis], dtype=int))
        off = x - xp.mean(x, axis=axis, keepdims=True)
        return xp.true_divide(xp.sum(off * off, axis=axis), count - ddof).astype(x.dtype)

    def var_and_distances(self, x: Raw, axis: tuple[int, ...], ddof: float) -> tuple[Raw, Raw, Raw] | None:
        """The variance, the mean, and the distances from it; None where they are found one after the other."""
        return None

    def length2(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Euclidean length."""
        return self.xp.sqrt(self.xp.sum(x * x, axis=axis))
