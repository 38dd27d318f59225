"""Gather and scatter where NumPy's values may be looked at."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence

import numpy as np

from namedgrad.backends.runs import ascending_sums
from namedgrad.backends.scatter import IndexKernels, Raw, Shape, adds_up, neutral

FEW = 16  # of positions that are not evenly spaced these show it
MANY = 16  # writers to each cell from which on their sums are worth an array of their own


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


def _to_write_into(x: Raw) -> Raw:
    """A copy; of one zero for all cells memory that is not written yet: a million in 1.3 ms instead of 1.6."""
    one = x[(slice(0, 1),) * x.ndim]
    empty = x.size and not (any(x.strides) or any(one.tobytes()))
    return np.zeros(x.shape, x.dtype) if empty else np.array(x, copy=True, order="C")


class NumpyIndex(IndexKernels):
    """On :class:`numpy.ndarray`."""

    def wrap_index(self, index: Raw, size: int) -> Raw:
        """Negative positions counted from the end; one out of range is refused."""
        if np.size(index) and not -size <= np.min(index) <= np.max(index) < size:
            raise IndexError(f"an index from {np.min(index)} to {np.max(index)} is out of range for size {size}")
        return super().wrap_index(index, size)

    def scatter(self, how: str, g: Raw, *index: Raw, shared: int, sizes: Shape, tail: int = 0) -> Raw:
        """Writers combined by a ufunc; sums by runs where they ascend."""
        even = evenly(index, sizes) if how == "add" and not shared else None
        if even is not None:  # written, not added: zeros that nothing has read are no memory yet, 10 ms instead of 17
            fresh = np.zeros(self.target_shape(g, index, shared, sizes, tail), g.dtype)
            joined(fresh, fresh.ndim - len(index) - tail, len(index), even)[...] = g
            return fresh
        alone = how == "add" and len(index) == 1 and not tail and g.dtype.itemsize > np.dtype(np.float16).itemsize
        out = ascending_sums(g, index[0], shared, sizes[0]) if alone else None
        return super().scatter(how, g, *index, shared=shared, sizes=sizes, tail=tail) if out is None else out

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
        if not x.flags.c_contiguous or shared:
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
        """Combine ``g`` into the flat ``out``; how many writers there are is counted, in half of the time.

        Doubles are added to few cells by ``bincount`` too: a million to a thousand in 1.2 ms instead of 1.4.
        """
        ones = how == "add" and g.strides == (0,) and 0 < g.size >= out.size and g[0] == 1
        if ones and out.dtype.kind in "iuf":
            out += np.bincount(at, minlength=out.size).astype(out.dtype, copy=False)
            return
        if how == "add" and out.dtype == g.dtype == np.float64 and g.size > MANY * out.size:
            with contextlib.suppress(ValueError):  # a position out of range, which the other way refuses by its name
                out += np.bincount(at, g, out.size)
                return
        super().combine_at(how, out, at, g)

    def put(self, x: Raw, g: Raw, index: Sequence[Raw], *, shared: int, sizes: Shape, tail: int) -> Raw:
        """NumPy assigns in order, so the last writer wins."""
        out = _to_write_into(x)
        if shared or len(index) > 1:
            at = self.places(index, out.shape, out.ndim - len(index) - tail, shared, tail)
            out.reshape(-1)[np.broadcast_to(at, g.shape)] = g
        else:
            out[(slice(None),) * (out.ndim - len(index) - tail) + tuple(index)] = g
        return out

    def winners(self, *index: Raw, shared: int, sizes: Shape) -> tuple[Raw, Raw]:
        """Which writer to a cell is the last one, over the axes of the index; and which cells have any."""
        shape = np.broadcast_shapes(*(i.shape for i in index))
        number = np.arange(1, math.prod(shape) + 1).reshape(shape)
        best = self.put(np.zeros((*shape[:shared], *sizes), np.intp), number, index, shared=shared, sizes=sizes, tail=0)
        return np.equal(self.gather(best, *index, shared=shared), number), best > 0

    def exclusive_product(self, g: Raw, whole: Raw, *index: Raw, shared: int, sizes: Shape, tail: int = 0) -> Raw:
        """By a division where that is exact; sorted where a factor is 0, or a product leaves the normal range."""
        if g.dtype.kind in "fc" and g.size:
            size, kind = np.abs(whole), np.finfo(g.dtype)
            if kind.tiny / kind.eps < size.min() and size.max() < kind.max * kind.eps:
                core = g.ndim - tail - (self.joint_ndim(index) - shared)
                at = self.places(index, whole.shape, core, shared, tail)
                return np.divide(whole.reshape(-1)[at], g)
        return super().exclusive_product(g, whole, *index, shared=shared, sizes=sizes, tail=tail)

    def reduce_runs(self, x: Raw, axis: int, bounds: Raw, how: str) -> Raw:
        """As :meth:`IndexKernels.reduce_runs`: a thousand runs of a million cells take 0.4 ms, scattered 3 ms."""
        some = bounds[1:] > bounds[:-1]
        wide = np.float32 if adds_up(how, x) else x.dtype
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
