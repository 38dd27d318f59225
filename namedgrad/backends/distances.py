"""Distances between points along the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

Raw = Any


class DistanceKernels:
    """The p-norm of differences, and the mean of squares, for every backend."""

    xp: Any
    total: Any
    arange: Any

    def distance(self, x: Raw, y: Raw, p: float) -> Raw:
        """``sum(|x - y|**p)**(1 / p)`` over the last axis, for finite ``p > 0``; the other axes broadcast."""
        size = self.xp.absolute(self.xp.subtract(x, y))
        return self._root(self.total(self._power(size, p), (-1,)), p)

    def _power(self, size: Raw, p: float) -> Raw:
        return size if p == 1 else self.xp.multiply(size, size) if p == 2 else self.xp.power(size, p)

    def _root(self, total: Raw, p: float) -> Raw:
        return total if p == 1 else self.xp.sqrt(total) if p == 2 else self.xp.power(total, 1 / p)

    def root_above_zero(self, x: Raw) -> Raw:
        """The square root of ``max(x, 0)``."""
        return self.xp.sqrt(self.xp.maximum(x, 0))

    def pair_rows(self, n: int) -> Raw:
        """The smaller number of every two out of ``n``: 0, 0, ..., 1, ...

        Row i starts at cell ``k = i (2 n - 1 - i) / 2``; there the root is that of ``(2 n - 1 - 2 i)**2``, and exact.
        """
        k = self.arange(0, n * (n - 1) // 2)
        root = self.xp.sqrt(float((2 * n - 1) ** 2) - 8.0 * k)
        return self.xp.floor(0.5 * (2.0 * n - 1 - root)).astype("int64")

    def pair_columns(self, n: int) -> Raw:
        """The larger number of every two out of ``n``: 1, 2, ..., 2, ..."""
        row = self.pair_rows(n)
        return self.arange(0, n * (n - 1) // 2) - row * (2 * n - 1 - row) // 2 + row + 1

    def square_sum(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Sum of squares over axes."""
        return self.total(self.xp.multiply(x, x), axis)


class NumpyDistanceKernels(DistanceKernels):
    """Without temporary arrays of all coordinates of all pairs."""

    def distance(self, x: Raw, y: Raw, p: float) -> Raw:
        """The p-norm; of many pairs coordinate by coordinate, in place."""
        pairs = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
        if 16 * x.shape[-1] > np.prod(pairs, dtype=int):
            return super().distance(x, y, p)
        total: Any = 0
        for i in range(x.shape[-1]):
            size = np.subtract(x[..., i], y[..., i])
            if p == 2:
                size *= size
            else:
                np.absolute(size, out=size)
                if p != 1:
                    np.power(size, p, out=size)
            total = size if i == 0 else np.add(total, size, out=total)
        return np.sqrt(total, out=total) if p == 2 else self._root(total, p)

    def root_above_zero(self, x: Raw) -> Raw:
        """The square root of ``max(x, 0)``, with one array of that size."""
        out = np.maximum(x, 0)
        return np.sqrt(out, out=out) if isinstance(out, np.ndarray) else np.sqrt(out)

    def pair_rows(self, n: int) -> Raw:
        """The smaller number of every two."""
        return np.triu_indices(n, 1)[0]

    def pair_columns(self, n: int) -> Raw:
        """The larger number of every two."""
        return np.triu_indices(n, 1)[1]

    def square_sum(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Sum of squares over axes, in one pass."""
        every = list(range(x.ndim))
        return np.einsum(x, every, x, every, [i for i in every if i - x.ndim not in axis and i not in axis])
