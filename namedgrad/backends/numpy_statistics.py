"""Kernels that reduce over axes, where NumPy's values may be looked at and its arrays written into."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.backends.rows import cells_of, first_extreme, folded, row_products, total
from namedgrad.backends.statistics import StatisticKernels

Raw = Any
MANY, LOOKED_AT = 100_000, 1000  # cells from which on some are looked at, and about how many
BYTE, FEW_PIECES = 255, 16  # the most that a byte counts, and so often pays


class NumpyStatistics(StatisticKernels):
    """On :class:`numpy.ndarray`."""

    def has_nan(self, x: Raw) -> bool:
        """Whether there is a NaN."""
        return not self.isfinite_all(x) and bool(np.isnan(x).any())

    def has_no_zero(self, x: Raw) -> bool:
        """Whether no cell is 0; the least number is found in a third of the time."""
        if x.dtype.kind == "f" and x.size and np.minimum.reduce(x, axis=None) > 0:
            return True
        return bool(x.all())

    def shows_nan(self, x: Raw) -> bool:
        """Whether there is a NaN among a few of many cells, which lie all over the array."""
        if getattr(x, "size", 1) < MANY:
            return False
        each = max(1, round(LOOKED_AT ** (1 / x.ndim)))
        return bool(np.isnan(x[tuple(slice(n // each // 2, None, max(1, n // each)) for n in x.shape)]).any())

    def divisible(self, y: Raw) -> Raw:
        """Whether all products are so far from 0 and infinity that dividing one by a factor is exact to rounding."""
        if not np.size(y):
            return np.True_
        size = np.abs(y)
        info = np.finfo(size.dtype)
        low, high = size.min(), size.max()
        return np.logical_and(low > info.tiny / info.eps, high < math.inf)

    def count_true(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Number of true cells, counted as bytes; along one axis, unless long, as many at a time as a byte counts.

        A million along the first of 100 x 100 x 100: 0.03 ms instead of 0.33, along the last 0.2 instead of 0.44.
        """
        bytes_ = np.asarray(x).view(np.uint8)
        if len(axis) != 1 or bytes_.size < MANY or bytes_.shape[axis[0]] > FEW_PIECES * BYTE:
            return np.add.reduce(bytes_, axis=axis, dtype=np.int64)
        lines = np.moveaxis(bytes_, axis[0], 0)
        out = np.zeros(lines.shape[1:], np.int64)
        for i in range(0, len(lines), BYTE):
            out += np.add.reduce(lines[i : i + BYTE], axis=0, dtype=np.uint8)
        return out

    def prod(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Product over axes."""
        return folded(np.multiply, x, axis)

    def max(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Largest value over axes."""
        return folded(np.maximum, x, axis)

    def min(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Smallest value over axes."""
        return folded(np.minimum, x, axis)

    def argmax(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """First position of the largest value along one axis."""
        found = first_extreme(np.greater, x, axis[0])
        return np.argmax(x, axis=axis[0]) if found is None else found

    def argmin(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """First position of the smallest value along one axis."""
        found = first_extreme(np.less, x, axis[0])
        return np.argmin(x, axis=axis[0]) if found is None else found

    def max_present(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Largest of the numbers that are not NaN; NaN if there are none."""
        return np.fmax.reduce(x, axis=axis)

    def min_present(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Smallest of them."""
        return np.fmin.reduce(x, axis=axis)

    def length2(self, x: Raw, axis: tuple[int, ...]) -> Raw:
        """Euclidean length."""
        start = x.ndim - len(axis)
        squares = row_products(x, x, start) if axis == tuple(range(start, x.ndim)) and axis else None
        if squares is None and x.dtype.char in "fd" and x.ndim and x.ndim - 1 not in axis:  # sums in order both ways
            squares = np.einsum(x, range(x.ndim), x, range(x.ndim), [i for i in range(x.ndim) if i not in axis])
        return super().length2(x, axis) if squares is None else np.sqrt(squares)

    def var(self, x: Raw, axis: tuple[int, ...], ddof: float) -> Raw:
        """Mean square distance from the mean, the count lessened by ``ddof``."""
        count = math.prod(x.shape[i] for i in axis)
        if x.dtype.kind == "f" and x.itemsize >= 4 and (cells := cells_of(x, axis)) is not None:
            return _squares(cells, sum(cells[1:], cells[0]) / count) / x.dtype.type(count - ddof)
        _, off = _distances(x, axis, count)
        out = _sums_of_squares(off, axis, into=off)
        return np.true_divide(out, count - ddof).astype(x.dtype, copy=False)

    def var_and_distances(self, x: Raw, axis: tuple[int, ...], ddof: float) -> tuple[Raw, Raw, Raw] | None:
        """Also the mean, and what is left without it; None of few cells, and of short windows."""
        if x.size < MANY or x.dtype.char not in "fd" or cells_of(x, axis) is not None:
            return None
        count = math.prod(x.shape[i] for i in axis)
        mean, off = _distances(x, axis, count)
        out = np.true_divide(_sums_of_squares(off, axis), count - ddof).astype(x.dtype, copy=False)
        return out, np.squeeze(mean, axis), off


def _distances(x: Raw, axis: tuple[int, ...], count: int) -> tuple[Raw, Raw]:
    """The mean, whose axes stay, and what is left without it."""
    middle = np.expand_dims(total(x, axis), axis)
    mean = np.true_divide(middle, count, dtype=middle.dtype, casting="unsafe")
    return mean, np.subtract(x, mean)


def _sums_of_squares(off: Raw, axis: tuple[int, ...], into: Raw | None = None) -> Raw:
    start = off.ndim - len(axis)
    out = row_products(off, off, start) if axis and axis == tuple(range(start, off.ndim)) else None
    return np.add.reduce(np.multiply(off, off, out=into), axis=axis) if out is None else out


def _squares(cells: list[Raw], middle: Raw) -> Raw:
    out = np.zeros(middle.shape, middle.dtype)
    for cell in cells:
        off = cell - middle
        off *= off
        out += off
    return out
