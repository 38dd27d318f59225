"""Distances between points along the last axis."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.rows import short_buffer

Raw = Any
BLOCK = 1 << 15  # cells that are worked on at a time
FEW_POINTS = 50
PAIR_BLOCKS = 32  # of rows of the square of all pairs: work on one half of it, and on a thirty-second of the other


class DistanceKernels(Kernels):
    """The p-norm of differences, and the mean of squares, for every backend."""

    def distance(self, x: Raw, y: Raw, p: float) -> Raw:
        """``sum(|x - y|**p)**(1 / p)`` over the last axis, for finite ``p > 0``; the other axes broadcast."""
        size = self.xp.absolute(self.xp.subtract(x, y))
        if p == 1:
            return self.total(size, (size.ndim - 1,))
        return self._norm(size, p)

    def _norm(self, size: Raw, p: float) -> Raw:
        """The p-norm by quotients with the largest, so that nothing overflows."""
        xp = self.xp
        top = self.max(size, (size.ndim - 1,))[..., None]
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

    def pair_distance(self, x: Raw, p: float) -> Raw:
        """The p-norm between every two points, whose coordinates are along the axis before the last."""
        points, n = self.xp.moveaxis(x, -1, -2), x.shape[-1]
        square = self.distance(points[..., :, None, :], points[..., None, :, :], p)
        return self.xp.take(square.reshape(*x.shape[:-2], n * n), self.pair_cells(n), axis=-1)

    def pair_difference(self, x: Raw, axis: int) -> Raw:
        """Along an axis, the first of every two cells minus the second."""
        n = x.shape[axis]
        first = self.pair_cells(n) // max(n, 1)
        second = self.pair_cells(n) - n * first
        return self.xp.subtract(self.xp.take(x, first, axis=axis), self.xp.take(x, second, axis=axis))

    def pair_spread(self, g: Raw, axis: int, n: int) -> Raw:
        """The transpose of :meth:`pair_difference` of ``n`` cells."""
        g = self.xp.moveaxis(g, axis, -1)
        square = self.xp.zeros((*g.shape[:-1], n * n), dtype=g.dtype)
        square[..., self.pair_cells(n)] = g
        square = square.reshape(*g.shape[:-1], n, n)
        return self.xp.moveaxis(square.sum(-1) - square.sum(-2), -1, axis)

    def square_sum(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Sum of squares over axes."""
        return self.total(self.xp.multiply(x, x), axis)

    def pair_pull(self, w: Raw, x: Raw) -> Raw:
        """The spread of differences with weights, one for each pair."""
        weighed = self.scale(w[..., None, :], self.pair_difference(x, x.ndim - 1))
        return self.pair_spread(weighed, weighed.ndim - 1, x.shape[-1])


class NumpyDistanceKernels(DistanceKernels):
    """Without temporary arrays of all coordinates of all pairs."""

    def distance(self, x: Raw, y: Raw, p: float) -> Raw:
        """The p-norm, again where powers may have over- or underflown."""
        out = self._unchecked(x, y, p)
        if p > 2 or p <= 1 or (lost := _lost(out, p)) is None:
            return out
        ends = (np.broadcast_to(v, (*out.shape, v.shape[-1]))[lost] for v in (x, y))
        out[lost] = self._norm(np.absolute(np.subtract(*ends)), p)
        return out

    def _unchecked(self, x: Raw, y: Raw, p: float) -> Raw:
        """The p-norm; of many pairs coordinate by coordinate, in blocks that stay in the cache."""
        pairs = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
        if p == 2 and 16 * x.shape[-1] > np.prod(pairs, dtype=int):
            difference = np.subtract(x, y)
            with np.errstate(over="ignore", under="ignore"):
                return np.asarray(np.sqrt(np.einsum("...i,...i->...", difference, difference)))
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
        return out

    def root_slope(self, y: Raw) -> Raw:
        """``0.5 / y``, and 0 where ``y`` is."""
        return np.divide(0.5, y, out=np.zeros(np.shape(y), y.dtype), where=np.not_equal(y, 0))

    def root_above_zero(self, x: Raw) -> Raw:
        """The square root of ``max(x, 0)``, with one array of that size."""
        out = np.maximum(x, 0)
        return np.sqrt(out, out=out) if isinstance(out, np.ndarray) else np.sqrt(out)

    def pair_distance(self, x: Raw, p: float) -> Raw:
        """The p-norm between every two points in blocks of rows, which leave out most cells below the diagonal.

        Of 1000 points in space: 5 ms instead of 16, and their gradient 11 instead of 41, as each pair counts once.
        SciPy, which takes one set at a time, needs 1 ms.
        """
        n, points = x.shape[-1], np.moveaxis(np.ascontiguousarray(x), -1, -2)
        alone = x.ndim == 2 and n > 1 and p <= 2 and x.dtype == np.float64  # above, powers are of quotients
        out = self._pairs_of_one(points, p) if alone else self._pairs(points, p)
        if p > 2 or p <= 1 or (lost := _lost(out, p)) is None:
            return out
        *at, pair = np.nonzero(lost)
        first, second = np.divmod(self.pair_cells(n)[pair], n)
        out[lost] = self._norm(np.absolute(points[(*at, first)] - points[(*at, second)]), p)
        return out

    def _pairs_of_one(self, points: Raw, p: float) -> Raw:
        """All of one set, by SciPy."""
        from scipy.spatial.distance import pdist

        return pdist(points, "minkowski", p=p)

    def _pairs(self, points: Raw, p: float) -> Raw:
        """All of them."""
        n = points.shape[-2]
        out, step = np.empty((*points.shape[:-2], n * (n - 1) // 2), points.dtype), -(-n // PAIR_BLOCKS)
        for start in range(0, n - 1, max(step, 1)):
            first, second = points[..., start : min(start + step, n - 1), :], points[..., start + 1 :, :]
            block = self._unchecked(first[..., :, None, :], second[..., None, :, :], p)
            for row, (_, pairs) in enumerate(_pairs_by_first(n, start, start + first.shape[-2])):
                out[..., pairs] = block[..., row, row:]
        return out

    def pair_difference(self, x: Raw, axis: int) -> Raw:
        """Along an axis, the first of every two cells minus the second."""
        x = np.ascontiguousarray(np.moveaxis(x, axis, -1))
        n = x.shape[-1]
        out = np.empty((*x.shape[:-1], n * (n - 1) // 2), x.dtype)
        with short_buffer(out.size):
            for i, pairs in _pairs_by_first(n, 0, n - 1):
                np.subtract(x[..., i, None], x[..., i + 1 :], out=out[..., pairs])
        return np.moveaxis(out, -1, axis)

    def pair_spread(self, g: Raw, axis: int, n: int) -> Raw:
        """The transpose of :meth:`pair_difference` of ``n`` cells."""
        g = np.moveaxis(g, axis, -1)
        out, cells = np.zeros((*g.shape[:-1], n), g.dtype), list(_pairs_by_first(n, 0, n - 1))
        if cells:
            np.add.reduceat(g, [pairs.start for _, pairs in cells], axis=-1, out=out[..., :-1])
        with short_buffer(g.size):
            for i, pairs in cells:
                out[..., i + 1 :] -= g[..., pairs]
        return np.moveaxis(out, -1, axis)

    def pair_pull(self, w: Raw, x: Raw) -> Raw:
        """In blocks of the square of all pairs, which stay in the cache: of 1000 points in space 4 ms instead of 7."""
        alone = w.ndim == 1 and x.ndim == 2 and w.size and w.dtype == x.dtype
        alone = alone and x.shape[-1] > min(len(x), FEW_POINTS)  # else not worth a step for each coordinate
        out = self._pulled(w, np.ascontiguousarray(x)) if alone else None
        return super().pair_pull(w, x) if out is None or not np.isfinite(out).all() else out

    def _pulled(self, w: Raw, x: Raw) -> Raw:
        """Of one set; 0 times what is not finite is not 0."""
        from scipy.spatial.distance import squareform

        square, out = squareform(w, checks=False), np.empty_like(x)
        step = max(1, BLOCK // len(square))
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(square), step):
                here = slice(start, start + step)
                for to, line in zip(out, x, strict=True):
                    np.einsum("ij,ij->i", square[here], line[here, None] - line, out=to[here])
        return out

    def pair_cells(self, n: int) -> Raw:
        """The cells above the diagonal of a flattened square, row by row."""
        row = np.arange(n)
        start = row * (2 * n - 1 - row) // 2
        return np.arange(n * (n - 1) // 2) + np.repeat(row * n - start + row + 1, n - 1 - row)

    def square_sum(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Sum of squares over axes, in one pass."""
        every = list(range(x.ndim))
        return np.einsum(x, every, x, every, [i for i in every if i - x.ndim not in axis and i not in axis])


def _pairs_by_first(n: int, start: int, stop: int) -> Iterator[tuple[int, slice]]:
    """Some points that are the first of a pair, and the pairs of each."""
    end = start * (2 * n - 1 - start) // 2
    for i in range(start, stop):
        begin, end = end, end + n - 1 - i
        yield i, slice(begin, end)


def _lost(out: Raw, p: float) -> Raw | None:
    """Where a root of a sum of powers cannot be trusted; None if that is nowhere."""
    limits = np.finfo(out.dtype)
    low, high = float(limits.tiny) ** (1 / p) * 1e8, float(limits.max) ** (1 / p) * 1e-8
    with np.errstate(invalid="ignore"):
        if low < out.min(initial=math.inf) and out.max(initial=0) < high:  # two passes instead of four
            return None
        lost = ~((out > low) & (out < high))
    return lost if lost.any() else None


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
