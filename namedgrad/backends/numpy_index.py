"""Gather and scatter where NumPy's values may be looked at."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad.backends.runs import ascending_sums
from namedgrad.backends.scatter import IndexKernels, Raw, Shape, adds_up, neutral

FEW = 16  # of positions that are not evenly spaced these show it
SMALL = 1024  # cells that NumPy reads, or adds, in less time than it takes to look how else they could be
MANY = 64  # of this many positions one may show that one is there twice
SPARSE = 4  # cells for each that is written up to which a mask pays


def evenly(index: Sequence[Raw], sizes: Shape) -> slice | None:
    """The slice of joined axes that an index picks, each cell once and in order; None unless there is one."""
    if any(i.ndim != 1 for i in index) or len({i.size for i in index}) > 1 or index[0].size < 2:
        return None
    if index[0].size > FEW and evenly([i[:FEW] for i in index], sizes) is None:
        return None
    if any(i.min() < 0 or i.max() >= n for i, n in zip(index, sizes, strict=False)):
        return None
    at = np.ravel_multi_index(tuple(index), sizes[: len(index)])
    step = int(at[1]) - int(at[0])
    return slice(int(at[0]), int(at[-1]) + 1, step) if step > 0 and (np.diff(at) == step).all() else None


def joined(x: Raw, core: int, count: int, even: slice) -> Raw:
    """The cells of a slice of some axes taken as one, in an array that is one block: a view."""
    shape = x.shape
    line = x.reshape(*shape[:core], math.prod(shape[core : core + count]), *shape[core + count :])
    return line[(slice(None),) * core + (even,)]


def _all_differ(index: Sequence[Raw], g: Raw, sizes: Shape) -> bool:
    """Whether no position of one axis is written to twice.

    Only asked of few: rows by one copy take 0.7 ms instead of 4, columns 2.5 ms instead of 5.
    """
    (i, *others) = index
    if others or i.ndim != 1 or g.size < SPARSE * i.size or not i.size:
        return False
    return bool(i.min() >= 0 and i.max() < sizes[0] and np.bincount(i.astype(np.intp, copy=False)).max() == 1)


def _are_alone(at: Raw, size: int) -> bool:
    """Whether no position is there twice, which some show: a million in 2 ms."""
    if at.size > size or (at.size > MANY and not _are_alone(at[: at.size // MANY], size)):
        return False
    met = np.zeros(size, bool)
    met[at] = True
    return bool(np.count_nonzero(met) == at.size)


def _is_zero(x: Raw) -> bool:
    """Whether an array is one zero for all cells."""
    return bool(x.size) and not (any(x.strides) or any(x[(slice(0, 1),) * x.ndim].tobytes()))


def _to_write_into(x: Raw) -> Raw:
    """A copy; of one zero for all cells memory that is not written yet: a million in 1.3 ms instead of 1.6."""
    return np.zeros(x.shape, x.dtype) if _is_zero(x) else np.array(x, copy=True, order="C")


def _has_negative_zero(x: Raw) -> bool:
    """Whether there is a double -0.0, to which 0.0 must not be added: its bits are the least integer."""
    return bool(x.view(np.int64).min(initial=0) == np.iinfo(np.int64).min)


class NumpyIndex(IndexKernels):
    """On :class:`numpy.ndarray`."""

    def take(self, x: Raw, index: Raw, axis: int) -> Raw:
        """Positions of one axis; NumPy's function takes 1 us more than the method."""
        return x.take(index, axis)

    def wrap_index(self, index: Raw, size: int) -> Raw:
        """Negative positions counted from the end; one out of range is refused."""
        if np.size(index) and not -size <= np.min(index) <= np.max(index) < size:
            raise IndexError(f"an index from {np.min(index)} to {np.max(index)} is out of range for size {size}")
        return super().wrap_index(index, size)

    def scatter(self, how: str, g: Raw, *index: Raw, shared: int, sizes: Shape, tail: int = 0) -> Raw:
        """Writers combined by a ufunc; sums by runs where they ascend, of a few cells as they come."""
        if how == "add" and not shared and g.size <= SMALL and not adds_up(how, g):
            fresh = np.zeros(self.target_shape(g, index, shared, sizes, tail), g.dtype)
            key = (slice(None),) * (fresh.ndim - len(index) - tail) + index
            with contextlib.suppress(IndexError), np.errstate(invalid="ignore"):  # refused below, by its number
                np.add.at(fresh, key, g)  # type: ignore[arg-type]
                return fresh
        even = evenly(index, sizes) if how == "add" and not shared else None
        if even is not None:  # written, not added: zeros that nothing has read are no memory yet, 10 ms instead of 17
            fresh = np.zeros(self.target_shape(g, index, shared, sizes, tail), g.dtype)
            joined(fresh, fresh.ndim - len(index) - tail, len(index), even)[...] = g
            return fresh
        if how == "add" and not shared and _all_differ(index, g, sizes):
            blank = np.broadcast_to(g.dtype.type(0), self.target_shape(g, index, shared, sizes, tail))
            return self.put(blank, g, index, shared=shared, sizes=sizes, tail=tail)
        alone = how == "add" and len(index) == 1 and not tail and g.dtype.itemsize > np.dtype(np.float16).itemsize
        out = ascending_sums(g, index[0], shared, sizes[0]) if alone else None
        if out is None and how == "add" and g.dtype == np.float64 and g.size and any(g.strides):
            out = self._binned_sums(g, index, shared=shared, sizes=sizes, tail=tail)
        return super().scatter(how, g, *index, shared=shared, sizes=sizes, tail=tail) if out is None else out

    def _binned_sums(self, g: Raw, index: Sequence[Raw], *, shared: int, sizes: Shape, tail: int) -> Raw | None:
        """Doubles added by ``bincount``, in the order of their memory: two million at random in 16 ms instead of 22."""
        shape = self.target_shape(g, index, shared, sizes, tail)
        at = self.places(index, shape, len(shape) - tail - len(index), shared, tail)
        order = np.argsort([-abs(s) for s in g.strides], kind="stable")
        at = at.astype(np.intp, copy=False)
        if at.shape != g.shape:  # else as it is: bincount copies what it may not write to
            at = np.broadcast_to(at, g.shape)
        at, g = (np.transpose(a, order).reshape(-1) for a in (at, g))
        with contextlib.suppress(ValueError):  # a position out of range, which the other way refuses by its name
            return np.bincount(at, g, math.prod(shape)).reshape(shape)
        return None

    def scatter_into(self, x: Raw, g: Raw, *index: Raw, how: str, shared: int, tail: int = 0) -> Raw:
        """As :meth:`IndexKernels.scatter_into`; many doubles by their sums: a million in 8 ms instead of 11.

        Sums may be too large where they are not with ``x``.
        """
        doubles = how == "add" and x.dtype == g.dtype == np.float64
        if doubles and SPARSE * g.size >= x.size and not _has_negative_zero(x):
            sizes = x.shape[x.ndim - tail - len(index) : x.ndim - tail]
            with np.errstate(over="ignore", invalid="ignore"):
                out = self.scatter(how, g, *index, shared=shared, sizes=sizes, tail=tail)
                np.add(x, out, out=out)
            if self.isfinite_all(out):
                return out
        return super().scatter_into(x, g, *index, how=how, shared=shared, tail=tail)

    def sparse_product(self, x: Raw, axis: int, matrix: Any) -> Raw:
        """As :meth:`IndexKernels.sparse_product`, by SciPy, which has no half precision."""
        if x.dtype.itemsize < np.dtype(np.float32).itemsize:
            return super().sparse_product(x, axis, matrix)
        lines = np.moveaxis(x, axis, 0)
        out = matrix @ lines.reshape(lines.shape[0], math.prod(lines.shape[1:]))
        return np.moveaxis(out.reshape(matrix.shape[0], *lines.shape[1:]), 0, axis)

    def scatter_count(self, mask: Raw, *index: Raw, shared: int, sizes: Shape, tail: int = 0) -> Raw:
        """Only the true cells if they are few: those of the extremes of a million cells in 0.3 ms instead of 2."""
        at = np.flatnonzero(mask)
        if SPARSE * at.size > mask.size:
            return super().scatter_count(mask, *index, shared=shared, sizes=sizes, tail=tail)
        shape = self.target_shape(mask, index, shared, sizes, tail)
        places = self.places(index, shape, len(shape) - tail - len(index), shared, tail)
        to = np.broadcast_to(places, mask.shape).reshape(-1)[at]
        return np.bincount(to, minlength=math.prod(shape)).astype(np.float64).reshape(shape)

    def accumulate(self, how: str, out: Raw, g: Raw, index: Sequence[Raw], *, shared: int, tail: int) -> Raw:
        """``g`` combined into ``out``; into cells that are evenly spaced at once: embedded diagonals, 2 ms for 9."""
        core = out.ndim - len(index) - tail
        even = None if shared else evenly(index, out.shape[core:])
        if even is None:
            return super().accumulate(how, out, g, index, shared=shared, tail=tail)
        cells = joined(out, core, len(index), even)
        with np.errstate(invalid="ignore"):
            getattr(np, how)(cells, g, out=cells)
        return out

    def gather(self, x: Raw, *index: Raw, shared: int, tail: int = 0) -> Raw:
        """The cells at the index: by a slice if they are evenly spaced, by one position each if there are several.

        A million pairs of positions take 5 ms instead of 8, 65,536 pairs in 16 images 0.7 ms instead of 1.5; the
        diagonals of as many cells 0.3 ms instead of 0.5; along one axis ``np.take`` needs half to a quarter of the time
        of an index.
        """
        core = x.ndim - len(index) - tail
        if len(index) == 1 and not shared:
            return np.take(x, index[0].astype(np.intp, copy=False), axis=core)
        if not x.flags.c_contiguous or shared or np.broadcast(*index).size <= SMALL:
            return super().gather(x, *index, shared=shared, tail=tail)
        even = evenly(index, x.shape[core:])
        if even is None:
            stop = x.ndim - tail
            at = self.places(index, x.shape[core:stop], 0, 0, 0)
            return np.take(x.reshape(*x.shape[:core], math.prod(x.shape[core:stop]), *x.shape[stop:]), at, axis=core)
        return np.array(joined(x, core, len(index), even), order="C")

    def places(self, index: Sequence[Raw], shape: Shape, core: int, shared: int, tail: int) -> Raw:
        """Flat positions; one out of range is refused, since it would point to another row, if there are any."""
        for i, n in zip(index if len(shape) > 1 else (), shape[core:], strict=False):
            if i.size and int(i.astype(np.intp, copy=False).view(np.uintp).max()) >= n:  # one pass: negative is large
                raise IndexError(f"an index from {i.min()} to {i.max()} is out of range for size {n}")
        return super().places(index, shape, core, shared, tail)

    def combine_at(self, how: str, out: Raw, at: Raw, g: Raw) -> None:
        """Combine ``g`` into the flat ``out``; how many writers there are is counted, in half of the time."""
        ones = how == "add" and g.strides == (0,) and 0 < g.size >= out.size and g[0] == 1
        if ones and out.dtype.kind in "iuf":
            out += np.bincount(at, minlength=out.size).astype(out.dtype, copy=False)
            return
        super().combine_at(how, out, at, g)

    def put(self, x: Raw, g: Raw, index: Sequence[Raw], *, shared: int, sizes: Shape, tail: int) -> Raw:
        """NumPy assigns in order, so the last writer wins; many zeros by a mask: a million in 3 ms instead of 6.

        Of every other column by a mask of one row: 0.4 ms instead of 0.9.
        """
        blank = SPARSE * g.size > x.size and _is_zero(g)
        if blank and len(index) == 1 == index[0].ndim and not shared:
            left = np.ones(sizes[0], bool)
            left[index[0]] = False
            return self.select(left.reshape(-1, *(1,) * tail), x)
        blank = blank and not tail
        out = np.ones(x.shape, bool) if blank else _to_write_into(x)
        core = x.ndim - len(index) - tail
        if shared or len(index) > 1:
            at = self.places(index, x.shape, core, shared, tail)
            out.reshape(-1)[np.broadcast_to(at, g.shape)] = False if blank else g
        else:
            out[(slice(None),) * core + tuple(index)] = False if blank else g
        return self.select(out, x) if blank else out

    def last_writers(self, *index: Raw, shared: int, sizes: Shape) -> Raw:
        """By short numbers, which are written where they are read only: a million in 8 ms instead of 15."""
        shape = np.broadcast_shapes(*(i.shape for i in index))
        count, cells = math.prod(shape), (*shape[:shared], *sizes)
        at = np.broadcast_to(self.places(index, cells, shared, shared, 0), shape)
        if _are_alone(at.reshape(-1), math.prod(cells)):
            return np.ones(shape, bool)
        number = np.arange(count, dtype=np.int32 if count < 2**31 else np.intp).reshape(shape)
        last = np.empty(math.prod(cells), number.dtype)
        last[at] = number
        return np.equal(np.take(last, at), number)

    def are_moderate(self, whole: Raw) -> Raw:
        """Whether a cotangent of any usual size times such a product stays in the normal range, and all are finite."""
        if whole.dtype.kind not in "fc":
            return np.False_
        size, least = np.abs(whole), np.finfo(whole.dtype).tiny ** 0.125
        return np.logical_and(least < size.min(initial=1), size.max(initial=1) < 1 / least)

    def exclusive_product(self, g: Raw, whole: Raw, *index: Raw, shared: int, sizes: Shape, tail: int = 0) -> Raw:
        """By a division where that is exact; sorted where a factor is 0, or a product leaves the normal range."""
        if g.dtype.kind in "fc" and g.size:
            size, kind = np.abs(whole), np.finfo(g.dtype)
            if kind.tiny / kind.eps < size.min() and size.max() < kind.max * kind.eps:
                core = g.ndim - tail - (self.joint_ndim(index) - shared)
                at = self.places(index, whole.shape, core, shared, tail)
                return np.divide(np.take(whole.reshape(-1), at), g)
        return super().exclusive_product(g, whole, *index, shared=shared, sizes=sizes, tail=tail)

    def reduce_runs(self, x: Raw, axis: int, bounds: Raw, how: str) -> Raw:
        """As :meth:`IndexKernels.reduce_runs`: a thousand runs of a million cells take 0.4 ms, scattered 3 ms."""
        some = bounds[1:] > bounds[:-1]
        wide = np.float32 if adds_up(how, x) else x.dtype.newbyteorder("=")
        with np.errstate(invalid="ignore"):
            full = getattr(np, how).reduceat(x, bounds[:-1][some], axis=axis, dtype=wide).astype(x.dtype, copy=False)
        if some.all():
            return full
        out = np.full((*x.shape[:axis], some.size, *x.shape[axis + 1 :]), neutral(how, x.dtype))
        out[(slice(None),) * axis + (some,)] = full
        return out

    def repeat_runs(self, x: Raw, axis: int, bounds: Raw) -> Raw:
        """Each cell of an axis as often as its run is long."""
        return np.repeat(x, np.diff(bounds), axis=axis)

    def first_true(self, x: Raw, axis: int, size: int) -> Raw:
        """Positions of the first true cells along an axis, 0 where there are fewer.

        By one flat index: 4 ms for half of a million cells, 11 by one of all axes and a mask of where they go.
        """
        lines = np.moveaxis(x, axis, -1)
        count = np.count_nonzero(lines, axis=-1).reshape(-1)
        width, line = max(size, int(np.max(count, initial=0))), np.arange(count.size)
        out, at = np.zeros((count.size, width), np.intp), np.flatnonzero(lines)
        to = np.arange(at.size) + np.repeat(line * width - (np.cumsum(count) - count), count)
        out.reshape(-1)[to] = at - np.repeat(line * lines.shape[-1], count)
        return np.moveaxis(out.reshape(*lines.shape[:-1], width)[..., :size], -1, axis)
