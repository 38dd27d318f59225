"""Resampling of one axis: each cell of the result is a weighted sum of a few cells of the operand.

A :class:`Grid` says which cells and weights; they are computed where the data is, from a range of integers.  On the
host the plan is kept, in two forms: a few gathers, or a small matrix where that is faster.  Its transpose is a plan of
the same kind.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from namedgrad.backends.numpy_index import evenly
from namedgrad.backends.part import Kernels

Raw = Any
CUBIC, CUBIC_SMOOTH = -0.75, -0.5  #: the free parameter of Keys' cubic (1981), in PyTorch and for its antialias
# Measured on one core: a gather costs about 3 ns per cell and tap, a matrix product 0.07 ns per multiplication.
GATHERS_PER_PRODUCT = 40


class Grid(NamedTuple):
    """``size`` cells in place of ``n``, each ``step`` old cells wide (``align``: the first and last cells stay)."""

    kind: str  #: nearest, nearest-exact, linear, cubic, area, or smooth-linear and smooth-cubic, with antialias
    n: int
    size: int
    step: float
    align: bool = False


def taps(grid: Grid, xp: Any) -> tuple[Raw, Raw | None]:
    """Positions and weights, of shape (taps, size); None stands for ones."""
    at = xp.arange(grid.size)
    if grid.kind in {"nearest", "nearest-exact"}:
        return _nearest(grid, at, xp), None
    if grid.kind == "area":
        return _area(grid, at, xp)
    if grid.kind.startswith("smooth"):
        return _smooth(grid, at, xp)
    place = at * grid.step if grid.align else (at + 0.5) * grid.step - 0.5
    if grid.kind == "linear":
        place = xp.maximum(place, 0.0)
        first = xp.minimum(xp.floor(place), float(grid.n - 1))
        t = xp.minimum(place - first, 1.0)
        index = xp.stack([first, first + 1])
        weights = xp.stack([1.0 - t, t])
    else:
        first = xp.floor(place)
        t = xp.minimum(xp.maximum(place - first, 0.0), 1.0)
        index = xp.stack([first + k for k in (-1, 0, 1, 2)])
        weights = xp.stack(cubic_weights(t))
    return xp.clip(index, 0, grid.n - 1).astype("int64"), weights


def cubic_weights(t: Any) -> list[Any]:
    """Weights of the four neighbours at ``t`` between the second and the third: Keys (1981), eq. 4."""
    s = 1 - t
    return [_outer(t + 1, CUBIC), _inner(t, CUBIC), _inner(s, CUBIC), _outer(s + 1, CUBIC)]


def _inner(x: Any, a: float) -> Any:
    return ((a + 2) * x - (a + 3)) * x * x + 1


def _outer(x: Any, a: float) -> Any:
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def _nearest(grid: Grid, at: Raw, xp: Any) -> Raw:
    half = 0.5 if grid.kind == "nearest-exact" else 0.0
    step = np.float32(grid.step)  # as PyTorch computes positions, for any dtype of the data
    place = xp.floor((at.astype("float32") + np.float32(half)) * step)
    return xp.minimum(place, np.float32(grid.n - 1)).astype("int64")[None]


def _area(grid: Grid, at: Raw, xp: Any) -> tuple[Raw, Raw]:
    n, size = grid.n, grid.size
    start, end = at * n // size, -(-(at + 1) * n // size)
    index = start + xp.arange(-(-n // size) + 1)[:, None]
    inside = index < end
    return xp.minimum(index, n - 1), inside / (end - start)


def _smooth(grid: Grid, at: Raw, xp: Any) -> tuple[Raw, Raw]:
    """A kernel as wide as the cells of the result where these are larger, normalised; cut at the ends."""
    scale = max(grid.step, 1.0)
    cubic = grid.kind == "smooth-cubic"
    reach = (2.0 if cubic else 1.0) * scale
    center = (at + 0.5) * grid.step
    start = xp.maximum(xp.trunc(center - reach + 0.5), 0.0)
    end = xp.minimum(xp.trunc(center + reach + 0.5), float(grid.n))
    index = start + xp.arange(2 * math.ceil(reach) + 1)[:, None]
    x = xp.absolute((index - center + 0.5) * (1 / scale))
    a = CUBIC_SMOOTH
    w = xp.where(x < 1, _inner(x, a), xp.where(x < 2, _outer(x, a), 0.0)) if cubic else xp.maximum(1 - x, 0.0)
    w = xp.where(index < end, w, 0.0)
    return xp.minimum(index, float(grid.n - 1)).astype("int64"), w / xp.sum(w, axis=0)


class ResamplingKernels(Kernels):
    """Kernels for any namespace."""

    def resample(self, x: Raw, axis: int, grid: Grid) -> Raw:
        """Weighted sums of cells along an axis."""
        index, weights = taps(grid, self.xp)
        rows = [self.xp.take(x, i, axis=axis) for i in index]
        if weights is None:
            return rows[0]
        parts = [self._weighed(r, w, axis) for r, w in zip(rows, weights, strict=True)]
        return functools.reduce(self.xp.add, parts)

    def resample_back(self, g: Raw, axis: int, grid: Grid) -> Raw:
        """The transpose of :meth:`resample`."""
        index, weights = taps(grid, self.xp)
        g = self.xp.moveaxis(g, axis, -1)
        parts = [g] * len(index) if weights is None else [self._weighed(g, w, -1) for w in weights]
        scatter: Any = self
        full = self.xp.stack(parts, axis=-2)
        out = scatter.scatter_add(full, index, shared=0, sizes=(grid.n,))
        return self.xp.moveaxis(out, -1, axis)

    def tridiagonal(self, lower: Raw, middle: Raw, upper: Raw, b: Raw) -> Raw:
        """Equations along the last axis by parallel cyclic reduction: each step doubles the distance of the neighbours.

        Stable without pivoting where the diagonal is dominant (Hockney and Jesshope 1981, section 5.4).
        """
        xp, n = self.xp, b.shape[-1]
        lower, upper = xp.where(xp.arange(n) > 0, lower, 0), xp.where(xp.arange(n) < n - 1, upper, 0)
        k = 1
        while k < n:
            before = [self._moved(v, k, fill) for v, fill in ((lower, 0), (middle, 1), (upper, 0), (b, 0))]
            after = [self._moved(v, -k, fill) for v, fill in ((lower, 0), (middle, 1), (upper, 0), (b, 0))]
            p, q = lower / before[1], upper / after[1]
            middle = middle - p * before[2] - q * after[0]
            b = b - p * before[3] - q * after[3]
            lower, upper = -p * before[0], -q * after[2]
            k *= 2
        return b / middle

    def _moved(self, x: Raw, by: int, fill: float) -> Raw:
        """Cells moved along the last axis."""
        xp, n = self.xp, x.shape[-1]
        empty = xp.full((*x.shape[:-1], abs(by)), fill, dtype=x.dtype)
        if by > 0:
            return xp.concatenate((empty, x[..., : n - by]), axis=-1)
        return xp.concatenate((x[..., -by:], empty), axis=-1)

    def _weighed(self, x: Raw, w: Raw, axis: int) -> Raw:
        """``x * w``, exactly 0 where the weight is, whatever the cell holds."""
        w = _along(w, axis, x.ndim).astype(x.dtype.type(0).real.dtype)
        return self.xp.where(self.xp.equal(w, 0), x.dtype.type(0), x * w)


def _along(w: Raw, axis: int, ndim: int) -> Raw:
    """A vector as an array that broadcasts along an axis."""
    return w[(slice(None), *(None,) * (ndim - 1 - axis % ndim))]


# ------------------------------------------------------------------------------------------------ on the host


class Plan:
    """Sparse rows with an equal number of cells each; ``rows`` are those that have any."""

    def __init__(self, row: Raw, column: Raw, weight: Raw, shape: tuple[int, int]) -> None:
        order = np.lexsort((column, row))
        row, column, weight = row[order], column[order], weight[order]
        self.shape = shape
        self.rows, start, counts = np.unique(row, return_index=True, return_counts=True)
        taps_ = int(counts.max(initial=0))
        offset = np.arange(taps_)[:, None]
        real = offset < counts
        at = start + np.where(real, offset, 0)  # a row with fewer cells has its first cell several times
        share = np.where(at == start, taps_ - counts + 1, 1)
        self.weights = weight[at] / share
        # Evenly spaced cells are views: twice as fast in gradients of nearest neighbours.
        self.index = [evenly([i], shape[1:]) or i for i in column[at]]
        self.plain = bool((self.weights == 1).all())
        self.cells = (row, column, weight)

    @functools.cached_property
    def matrix(self) -> Raw | None:
        """Dense, where that is faster."""
        if self.shape[1] > GATHERS_PER_PRODUCT * len(self.index) or (self.plain and len(self.index) == 1):
            return None
        row, column, weight = self.cells
        out = np.zeros(self.shape)
        out[row, column] = weight  # cells are unique
        return out

    def __call__(self, x: Raw, axis: int) -> Raw:
        """The weighted sums."""
        if self.matrix is not None:
            with np.errstate(invalid="ignore", over="ignore"):
                out = _product(self.matrix.astype(x.dtype.type(0).real.dtype, copy=False), x, axis)
                if math.isfinite(abs(np.add.reduce(out, axis=None))):
                    return out
        return self._gathered(x, axis)

    def _gathered(self, x: Raw, axis: int) -> Raw:
        kind, lead = x.dtype.type(0).real.dtype, (slice(None),) * axis
        out = spare = None
        ours = False  # whether `out` is no view of `x`
        for i, w in zip(self.index, self.weights, strict=True):
            taken = None if isinstance(i, slice) else np.take(x, i, axis=axis, out=spare, mode="clip")
            part = x[(*lead, i)] if taken is None else taken
            if not self.plain:
                weight = _along(w.astype(kind), axis, x.ndim)
                part = taken = np.multiply(part, weight, out=spare if taken is None else taken)
            if out is None:
                out, ours = part, taken is not None
            else:
                out = np.add(out, part, out=out if ours else None)
                ours, spare = True, spare if taken is None else taken
        return self._spread(x, out if ours or out is None else out.copy(), axis)

    def _spread(self, x: Raw, out: Raw | None, axis: int) -> Raw:
        if out is not None and len(self.rows) == self.shape[0]:
            return out
        full = np.zeros((*x.shape[:axis], self.shape[0], *x.shape[axis + 1 :]), x.dtype)
        if out is not None:
            full[(slice(None),) * axis + (self.rows,)] = out
        return full


def _product(matrix: Raw, x: Raw, axis: int) -> Raw:
    rest = x.shape[axis + 1 :]
    if math.prod(rest) == 1:
        flat = np.matmul(x.reshape(-1, x.shape[axis]), matrix.T)
    else:
        flat = np.matmul(matrix, x.reshape(math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])))
    return flat.reshape(*x.shape[:axis], len(matrix), *rest)


@functools.lru_cache(256)
def _plans(grid: Grid) -> tuple[Plan, Plan]:
    index, weights = taps(grid, np)
    row = np.broadcast_to(np.arange(grid.size), index.shape)
    weight = np.ones(index.shape) if weights is None else weights
    key, inverse = np.unique(row * grid.n + index, return_inverse=True)
    joined = np.bincount(inverse.reshape(-1), weight.reshape(-1), len(key))
    key, joined = key[joined != 0], joined[joined != 0]
    row, column = key // grid.n, key % grid.n
    return Plan(row, column, joined, (grid.size, grid.n)), Plan(column, row, joined, (grid.n, grid.size))


class HostResampling(ResamplingKernels):
    """Kernels for the host, with the plan of each grid kept."""

    def resample(self, x: Raw, axis: int, grid: Grid) -> Raw:
        """Weighted sums of cells along an axis."""
        return _plans(grid)[0](x, axis)

    def resample_back(self, g: Raw, axis: int, grid: Grid) -> Raw:
        """The transpose of :meth:`resample`."""
        return _plans(grid)[1](g, axis)

    def tridiagonal(self, lower: Raw, middle: Raw, upper: Raw, b: Raw) -> Raw:
        """By elimination where there is one matrix."""
        if max(lower.ndim, middle.ndim, upper.ndim) > 1 or b.shape[-1] < 2:
            return super().tridiagonal(lower, middle, upper, b)
        import scipy.linalg

        n = b.shape[-1]
        bands = np.zeros((3, n), np.result_type(lower, middle, upper))
        bands[0, 1:], bands[1], bands[2, :-1] = upper[:-1], middle, lower[1:]
        kind = np.result_type(bands, b)
        x = scipy.linalg.solve_banded((1, 1), bands, b.reshape(-1, n).T, check_finite=False)
        return x.T.reshape(b.shape).astype(kind, copy=False)
