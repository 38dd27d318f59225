"""Sums along rows of one memory block each."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

Raw = Any

# OpenBLAS gives longer vectors to its threads, and waits for them: where another process has the core, 12 ms instead of
# 5 us (measured on two shared cores).
BLAS_THREADS_FROM = 10_000

# For every row np.add.reduce starts anew. A million cells in rows of 2, 8, 32: 7.3, 2.2, 0.7 ms; added cell by cell
# 0.2, 0.7, 0.9 ms; by einsum 1.9, 0.5, 0.2 ms.
MANY, FEW, SHORT = 10_000, 6, 64
FEW_KEPT = 8
LINE = 128
RUN = 16  # neighbours that make a slice worth a pass of its own

# Where rows are parts of longer ones NumPy (2.4) takes as many at a time as its buffer holds, 8192 cells, though it has
# nothing to copy. The difference of two arrays of 1000 rows of 998 cells takes 1.5 ms, with a shorter buffer 0.5.
BUFFER = 256


def short_buffer(cells: int) -> contextlib.AbstractContextManager[None]:
    """For what combines parts of rows of one dtype, not for casts and sums; of a few cells 4 us would be no gain."""
    return _short_buffer() if cells >= MANY else contextlib.nullcontext()


@contextlib.contextmanager
def _short_buffer() -> Iterator[None]:
    before = np.setbufsize(BUFFER)
    try:
        yield
    finally:
        np.setbufsize(before)


def total(x: Raw, axis: tuple[int, ...] | None = None) -> Raw:
    """Sum over axes."""
    if x.size < MANY:
        return np.add.reduce(x, axis=axis)
    if not axis or len(axis) > 1 or not 1 < x.shape[axis[0]] <= SHORT or x.dtype.kind != "f" or x.itemsize < 4:
        lines = _lines(x, axis) if axis else None
        return folded(np.add, x, axis) if lines is None else lines
    cells = x if axis[0] == x.ndim - 1 else np.moveaxis(x, axis[0], -1)
    if abs(cells.strides[-1]) > min(map(abs, cells.strides)):
        return np.add.reduce(x, axis=axis) if cells is x else folded(np.add, x, axis)
    return _added(cells) if cells.shape[-1] <= FEW else np.einsum("...i->...", cells)


def _added(x: Raw) -> Raw:
    """The cells of short rows, added one after the other."""
    out = x[..., 0] + x[..., 1]
    for i in range(2, x.shape[-1]):
        out += x[..., i]
    return out


def _lines(x: Raw, axis: tuple[int, ...]) -> Raw | None:
    """Sums over neighbouring axes behind which a few cells are kept, as a product with ones; None of anything else.

    NumPy adds these few at a time. Of 8 x 256 x 256 x 2 over the third axis: 0.3 ms instead of 19.
    """
    start, stop = axis[0], axis[-1] + 1
    count, kept = math.prod(x.shape[start:stop]), math.prod(x.shape[stop:])
    if not (x.flags.c_contiguous and x.dtype.kind == "f" and x.itemsize >= 4 and axis == tuple(range(start, stop))):
        return None
    if not (1 < kept <= FEW_KEPT and SHORT < count <= BLAS_THREADS_FROM // kept):
        return None
    out = np.matmul(np.ones(count, x.dtype), x.reshape(*x.shape[:start], count, kept))
    return out.reshape(*x.shape[:start], *x.shape[stop:])


def cells_of(x: Raw, axis: tuple[int, ...]) -> list[Raw] | None:
    """The cells of short windows, one array for each offset; None unless neighbours along a kept axis lie as close.

    NumPy's reductions start anew for every window. A million windows of seven: a product in 4 ms instead of 20, the
    place of the largest in 5 instead of 40.
    """
    if x.size < MANY or not axis or not 1 < math.prod(x.shape[i] for i in axis) <= SHORT:
        return None
    step = min(abs(x.strides[i]) for i in axis)
    if not any(n >= RUN and 0 < x.strides[i] <= step for i, n in enumerate(x.shape) if i not in axis):
        return None
    first = np.moveaxis(x, axis, range(len(axis)))
    return [first[at] for at in np.ndindex(*first.shape[: len(axis)])]


def _has_lines(x: Raw, axis: tuple[int, ...]) -> bool:
    """Whether long runs of kept cells lie within the reduced axes, so that NumPy goes through both once.

    A million cells, four reduced, lines of 1000 kept: 0.25 ms instead of 0.5; of 64: 0.6 instead of 0.5.
    """
    step = min(abs(x.strides[i]) for i in axis)
    return any(n >= LINE and x.strides[i] == x.itemsize < step for i, n in enumerate(x.shape) if i not in axis)


def folded(combine: np.ufunc, x: Raw, axis: tuple[int, ...] | None) -> Raw:
    """A reduction by a ufunc that keeps the dtype."""
    if x.size < MANY or not axis or x.dtype.kind != "f" or x.itemsize < 4 or _has_lines(x, axis):
        return combine.reduce(x, axis=axis)
    if (cells := cells_of(x, axis)) is None:
        return combine.reduce(x, axis=axis)
    out = combine(cells[0], cells[1])
    for cell in cells[2:]:
        combine(out, cell, out=out)
    return out


def first_extreme(better: np.ufunc, x: Raw, axis: int) -> Raw | None:
    """Where the first largest or smallest cell of short windows is; None with NaN, and of anything else."""
    cells = cells_of(x, (axis,)) if x.dtype.kind == "f" else None
    if cells is None:
        return None
    best = np.maximum if better is np.greater else np.minimum
    top, at = cells[0].copy(), np.zeros(cells[0].shape, np.int8)
    for k, cell in enumerate(cells[1:], 1):
        np.maximum(at, better(cell, top).view(np.int8) * np.int8(k), out=at)
        best(top, cell, out=top)
    return None if np.isnan(top).any() else at.astype(np.intp)


def row_products(x: Raw, y: Raw, start: int) -> Raw | None:
    """Sums of ``x * y`` over the axes from one on; None unless these are alike and one block in real arrays.

    By BLAS, in a third to half of the time of einsum.
    """
    if x.shape != y.shape or not (x.dtype.kind == y.dtype.kind == "f" and _is_block(x, start) and _is_block(y, start)):
        return None
    if x.ndim - start > 1:
        rows = (*x.shape[:start], math.prod(x.shape[start:]))
        x, y = x.reshape(rows), y.reshape(rows)
    return np.vecdot(x, y) if x.shape[-1] <= BLAS_THREADS_FROM else long_products(x, y)


def long_products(x: Raw, y: Raw) -> Raw:
    """The same along the last axis, cut into pieces that are short enough for one thread."""
    whole = x.shape[-1] // BLAS_THREADS_FROM * BLAS_THREADS_FROM
    pieces = (*x.shape[:-1], -1, BLAS_THREADS_FROM)
    parts = np.vecdot(x[..., :whole].reshape(pieces), y[..., :whole].reshape(pieces))
    return np.add.reduce(parts, axis=-1) + np.vecdot(x[..., whole:], y[..., whole:])


def is_one_axis(x: Raw, start: int, stop: int) -> bool:
    """Whether axes lie one within the other in memory."""
    return all(x.strides[i] == x.shape[i + 1] * x.strides[i + 1] for i in range(start, stop - 1))


def _is_block(x: Raw, start: int) -> bool:
    """Whether the axes from one on lie in memory as one."""
    return bool(x.flags.c_contiguous or (x.strides[-1] == x.itemsize and is_one_axis(x, start, x.ndim)))
