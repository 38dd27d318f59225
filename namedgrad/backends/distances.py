"""Distances between points along the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

Raw = Any
BLOCK = 1 << 15  # cells that are worked on at a time


class DistanceKernels:
    """The p-norm of differences, and the mean of squares, for every backend."""

    xp: Any
    total: Any
    arange: Any

    def distance(self, x: Raw, y: Raw, p: float) -> Raw:
        """``sum(|x - y|**p)**(1 / p)`` over the last axis, for finite ``p > 0``; the other axes broadcast."""
        size = self.xp.absolute(self.xp.subtract(x, y))
        if p == 1:
            return self.total(size, (size.ndim - 1,))
        return self._norm(size, p)

    def _norm(self, size: Raw, p: float) -> Raw:
        """The p-norm by quotients with the largest, so that nothing overflows."""
        xp = self.xp
        top = xp.max(size, axis=-1, keepdims=True)
        safe = xp.where(xp.logical_or(top == 0, xp.isinf(top)), xp.ones_like(top), top)
        ratio = xp.divide(size, safe)
        whole = self.total(xp.multiply(ratio, ratio) if p == 2 else xp.power(ratio, p), (size.ndim - 1,))
        return xp.multiply(xp.sqrt(whole) if p == 2 else xp.power(whole, 1 / p), safe[..., 0])

    def root_above_zero(self, x: Raw) -> Raw:
        """The square root of ``max(x, 0)``."""
        return self.xp.sqrt(self.xp.maximum(x, 0))

    def root_slope(self, y: Raw) -> Raw:
        """``0.5 / y``, and 0 where ``y`` is."""
        xp = self.xp
        some = xp.not_equal(y, 0)
        return xp.where(some, xp.divide(0.5, xp.where(some, y, xp.ones_like(y))), xp.zeros_like(y))

    def pair_cells(self, n: int) -> Raw:
        """The cells above the diagonal of a flattened square: (0, 1), (0, 2), ..., (1, 2), ...

        Row i starts at pair ``k = i (2 n - 1 - i) / 2``; there the root is that of ``(2 n - 1 - 2 i)**2``, and exact.
        """
        k = self.arange(0, n * (n - 1) // 2)
        root = self.xp.sqrt(float((2 * n - 1) ** 2) - 8.0 * k)
        row = self.xp.floor(0.5 * (2.0 * n - 1 - root)).astype("int64")
        return row * n + k - row * (2 * n - 1 - row) // 2 + row + 1

    def square_sum(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Sum of squares over axes."""
        return self.total(self.xp.multiply(x, x), axis)


class NumpyDistanceKernels(DistanceKernels):
    """Without temporary arrays of all coordinates of all pairs."""

    def distance(self, x: Raw, y: Raw, p: float) -> Raw:
        """The p-norm; of many pairs coordinate by coordinate, in blocks that stay in the cache."""
        pairs = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
        if p == 2 and 16 * x.shape[-1] > np.prod(pairs, dtype=int):
            difference = np.subtract(x, y)
            with np.errstate(over="ignore", under="ignore"):
                out = np.asarray(np.sqrt(np.einsum("...i,...i->...", difference, difference)))
            return self._repaired(out, x, y, p)
        if p > 2 or 16 * x.shape[-1] > np.prod(pairs, dtype=int):
            return super().distance(x, y, p)
        x, y = (v.reshape((1,) * (len(pairs) + 1 - v.ndim) + v.shape) for v in (x, y))
        out = np.zeros(pairs, np.result_type(x, y))
        axis = int(np.argmax(pairs))
        step = max(1, BLOCK * pairs[axis] // out.size)
        with np.errstate(over="ignore", under="ignore"):
            for start in range(0, pairs[axis], step):
                at = (*(slice(None),) * axis, slice(start, start + step))
                left, right = (v[at] if v.shape[axis] > 1 else v for v in (x, y))
                _add_powers(out[at], left, right, p)
        return out if p <= 1 else self._repaired(out, x, y, p)

    def root_slope(self, y: Raw) -> Raw:
        """``0.5 / y``, and 0 where ``y`` is."""
        return np.divide(0.5, y, out=np.zeros(np.shape(y), y.dtype), where=np.not_equal(y, 0))

    def _repaired(self, out: Raw, x: Raw, y: Raw, p: float) -> Raw:
        """Those distances again whose powers may have over- or underflown."""
        lost = _lost(out, p)
        if lost.any():
            ends = (np.broadcast_to(v, (*out.shape, v.shape[-1]))[lost] for v in (x, y))
            out[lost] = self._norm(np.absolute(np.subtract(*ends)), p)
        return out

    def root_above_zero(self, x: Raw) -> Raw:
        """The square root of ``max(x, 0)``, with one array of that size."""
        out = np.maximum(x, 0)
        return np.sqrt(out, out=out) if isinstance(out, np.ndarray) else np.sqrt(out)

    def pair_cells(self, n: int) -> Raw:
        """The cells above the diagonal of a flattened square, row by row."""
        row = np.arange(n)
        start = row * (2 * n - 1 - row) // 2
        return np.arange(n * (n - 1) // 2) + np.repeat(row * n - start + row + 1, n - 1 - row)

    def square_sum(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Sum of squares over axes, in one pass."""
        every = list(range(x.ndim))
        return np.einsum(x, every, x, every, [i for i in every if i - x.ndim not in axis and i not in axis])


def _lost(out: Raw, p: float) -> Raw:
    """Where a root of a sum of powers cannot be trusted."""
    limits = np.finfo(out.dtype)
    low, high = float(limits.tiny) ** (1 / p) * 1e8, float(limits.max) ** (1 / p) * 1e-8
    with np.errstate(invalid="ignore"):
        return ~((out > low) & (out < high))


def _add_powers(out: Raw, x: Raw, y: Raw, p: float) -> None:
    """The p-norm of differences, written into zeros."""
    size = np.empty_like(out)
    for i in range(x.shape[-1]):
        np.subtract(x[..., i], y[..., i], out=size)
        if p == 2:
            np.multiply(size, size, out=size)
        else:
            np.absolute(size, out=size)
            if p != 1:
                np.power(size, p, out=size)
        np.add(out, size, out=out)
    if p != 1:
        np.sqrt(out, out=out) if p == 2 else np.power(out, 1 / p, out=out)
