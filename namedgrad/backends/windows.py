"""Kernels of sliding windows: one backend call each, with a step per offset within a window, never per window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from namedgrad.backends.part import Kernels

Raw = Any
Shape = tuple[int, ...]


CACHED = 1 << 18  # numbers that stay in the cache
SEVERAL = 4  # offsets from where on their cells are far apart, and pieces from where on it pays to make these
LONG = 5  # cells of a window: its extreme is found by doubling, in three steps instead of five


class Span(NamedTuple):
    """How windows lie along an axis.

    The offset ``k`` of the window ``o`` is the cell ``o * stride + k * dilation - before``.
    """

    size: int  #: cells of a window
    number: int  #: of windows
    stride: int = 1
    dilation: int = 1
    before: int = 0  #: cells that are missing in front; negative: cells that no window has

    @property
    def reach(self) -> int:
        """Cells from the first one of the first window to the last one of the last."""
        return (self.number - 1) * self.stride + (self.size - 1) * self.dilation + 1 if self.number > 0 else 0

    @property
    def disjoint(self) -> bool:
        """Whether no cell can be in two windows."""
        return self.stride > (self.size - 1) * self.dilation

    def cells(self, k: int, n: int, xp: Any = None) -> tuple[slice, slice]:
        """Of the windows whose offset ``k`` is one of ``n`` cells: the windows, and the cells."""
        first = k * self.dilation - self.before  # the cell of window 0
        low = max(0, -(first // self.stride))
        high = min(self.number, (n - 1 - first) // self.stride + 1)
        if high <= low:
            return slice(0, 0), slice(0, 0)
        start = low * self.stride + first
        return slice(low, high), slice(start, start + (high - low - 1) * self.stride + 1, self.stride)

    def at(self, won: Raw) -> Raw:
        """The cells at offsets, one for each window along the last axis."""
        return np.arange(self.number) * self.stride - self.before + won * np.intp(self.dilation)


class Cover(NamedTuple):
    """No more windows than cells, which cover an axis of ``n`` cells and are as equal as whole cells allow.

    The ``i``-th starts at ``i n / number`` and ends before ``(i + 1) n / number``, rounded outwards.  A window that
    is a cell shorter than others has its last cell at two offsets, which is harmless where one cell is looked for.
    """

    size: int  #: cells of the largest window
    number: int  #: of windows
    n: int  #: cells of the axis

    def cells(self, k: int, n: int, xp: Any) -> tuple[slice, Raw]:
        """The cells at offset ``k``, each of them of one window only."""
        i = xp.arange(self.number) * self.n
        at = -(-(i + self.n) // self.number) - 1 if k == self.size - 1 else i // self.number + k
        return slice(0, self.number), at

    def at(self, won: Raw) -> Raw:
        """The cells at offsets, one for each window along the last axis."""
        i = np.arange(self.number) * self.n
        return np.minimum(i // self.number + won, -(-(i + self.n) // self.number) - 1)


class Drawn(NamedTuple):
    """Windows of one size whose distances differ by at most one cell, as a number ``draw`` in [0, 1) rounds them.

    No two are at the same place, and the last one ends an axis of ``n`` cells (Graham, Fractional max-pooling, 2014).
    """

    size: int  #: cells of a window
    number: int  #: of windows
    n: int  #: cells of the axis
    draw: float

    def cells(self, k: int, n: int, xp: Any) -> tuple[slice, Raw]:
        """The cells at offset ``k``."""
        return slice(0, self.number), self._starts(xp) + k

    def at(self, won: Raw) -> Raw:
        """The cells at offsets, one for each window along the last axis."""
        return self._starts(np) + won

    def _starts(self, xp: Any) -> Raw:
        i, step = xp.arange(self.number), (self.n - self.size) / max(self.number - 1, 1)
        drawn = xp.floor((i + self.draw) * step) - math.floor(self.draw * step)
        return xp.where(i < self.number - 1, drawn, self.n - self.size).astype(np.intp)


Along = Span | Cover | Drawn


class WindowKernels(Kernels):
    """Windows along axes of an array, and what is added, picked and put by them."""

    def windows(self, x: Raw, axis: tuple[int, ...], spans: tuple[Span, ...]) -> Raw:
        """The cells of every window, 0 where there are none: counted along the axes, offsets along new last axes."""
        xp = self.xp
        x = self._extended(x, axis, spans)
        for a, s in zip(axis, spans, strict=True):
            at = xp.arange(s.number)[:, None] * s.stride + xp.arange(s.size) * s.dilation
            x = xp.moveaxis(xp.take(x, at, axis=a), a + 1, -1)
        return x

    def overlap_add(self, g: Raw, axis: tuple[int, ...], spans: tuple[Span, ...], sizes: Shape) -> Raw:
        """The transpose of :meth:`windows`: the last axes of ``g`` added back into axes of these sizes."""
        shape = without_windows(g, axis, sizes)
        out = self._empty_as(g[(..., *(0,) * len(axis))], shape, zeros=True) if 0 not in g.shape else None
        if out is None:
            return self.xp.zeros(tuple(shape), dtype=g.dtype)
        self._add_offsets(out, g, axis, spans)
        return out

    def _add_offsets(self, out: Raw, g: Raw, axis: tuple[int, ...], spans: tuple[Span, ...]) -> None:
        disjoint = all(s.disjoint for s in spans)
        for offset in itertools.product(*(range(s.size) for s in spans)):
            places, cells = [slice(None)] * out.ndim, [slice(None)] * out.ndim
            for a, s, k in zip(axis, spans, offset, strict=True):
                places[a], cells[a] = s.cells(k, out.shape[a], self.xp)
            if disjoint:  # two thirds of the time
                out[tuple(cells)] = g[(*places, *offset)]
            else:
                out[tuple(cells)] += g[(*places, *offset)]

    def window_sum(self, x: Raw, axis: int, span: Span) -> Raw:
        """The sum of each window along an axis."""
        return self._accumulated(x, axis, span, self.xp.add, 0)

    def window_spread(self, g: Raw, axis: int, span: Span, n: int) -> Raw:
        """The transpose of :meth:`window_sum`: every cell gets the sum over the windows that have it."""
        full = isinstance(span, Span) and not span.before and span.stride == span.size and span.number * span.size == n
        out = self._empty_as(g, _resized(g.shape, axis, int(n)), zeros=not (full and span.disjoint))
        for places, cells in self._steps(axis, span, int(n)):
            if span.disjoint:  # two thirds of the time
                out[cells] = g[places]
            else:
                out[cells] += g[places]
        return out

    def window_prod(self, x: Raw, axis: int, span: Span) -> Raw:
        """The product of the cells that each window has."""
        return self._accumulated(x, axis, span, self.xp.multiply, 1)

    def window_max(self, x: Raw, axis: int, span: Along) -> Raw:
        """The largest cell of each window, NaN if it has one."""
        return self._extreme(x, axis, span, self.xp.maximum)

    def window_fmax(self, x: Raw, axis: int, span: Span) -> Raw:
        """The largest cell of each window that is not NaN, -inf if there is none."""
        return self.xp.fmax(self._extreme(x, axis, span, self.xp.fmax), _lowest(x.dtype))

    def window_won(self, x: Raw, y: Raw, axis: int, span: Along) -> Raw:
        """The offset of the first largest cell of each window, of the last NaN if there is one; -1 without cells."""
        xp, n = self.xp, x.shape[axis]
        out = xp.full(y.shape, -1, dtype="int8" if span.size < 128 else "int64")
        steps = list(enumerate(self._steps(axis, span, n)))
        for k, (places, cells) in reversed(steps):
            out[places] = xp.where(xp.equal(self._read(x, cells), y[places]), out.dtype.type(k), out[places])
        if x.dtype.kind == "f" and not (self.may_branch and not np.isnan(y).any()):
            for k, (places, cells) in steps:
                out[places] = xp.where(xp.isnan(self._read(x, cells)), out.dtype.type(k), out[places])
        return out

    def window_pick(self, x: Raw, won: Raw, span: Along) -> Raw:
        """The cell of each window along the last axis that is at the offset ``won``."""
        shape = np.broadcast_shapes(x.shape[:-1], won.shape[:-1])
        out = self.xp.zeros((*shape, span.number), dtype=x.dtype)
        for k, (places, cells) in enumerate(self._steps(out.ndim - 1, span, x.shape[-1])):
            ours = (..., places[-1])
            out[ours] = self.xp.where(self.xp.equal(won[ours], k), x[..., cells[-1]], out[ours])
        return out

    def window_put(self, g: Raw, won: Raw, span: Along, size: int) -> Raw:
        """The transpose of :meth:`window_pick`."""
        shape = np.broadcast_shapes(g.shape[:-1], won.shape[:-1])
        out = self._empty_as(g if g.shape[:-1] == shape else won, (*shape, int(size)), zeros=True, dtype=g.dtype)
        for k, (places, cells) in enumerate(self._steps(out.ndim - 1, span, int(size))):
            ours = (..., places[-1])
            out[..., cells[-1]] += self.xp.where(self.xp.equal(won[ours], k), g[ours], g.dtype.type(0))
        return out

    # ---------------------------------------------------------------- helpers

    def _extended(self, x: Raw, axis: Sequence[int], spans: Sequence[Span], fill: Any = 0) -> Raw:
        """``x`` with more cells, or fewer, such that the first window starts at the first cell."""
        shape, places, cells = list(x.shape), [slice(None)] * x.ndim, [slice(None)] * x.ndim
        for a, s in zip(axis, spans, strict=True):
            n = x.shape[a]
            cells[a] = slice(max(0, -s.before), max(0, min(n, s.reach - s.before)))
            shape[a] = s.reach
            room = max(0, s.before)
            places[a] = slice(room, room + max(0, cells[a].stop - cells[a].start))
            if s.before <= 0 and s.reach - s.before <= n:  # nothing is missing
                shape[a], places[a] = cells[a].stop - cells[a].start, slice(None)
        x = x[tuple(cells)]
        if tuple(shape) == x.shape:
            return x
        out = self._empty_as(x, shape, zeros=True)
        if fill:
            out[...] = fill
        out[tuple(places)] = x
        return out

    def _extreme(self, x: Raw, axis: int, span: Along, combine: Any) -> Raw:
        """Of windows at every cell, after step k each cell holds the extreme of the 2**k cells from it on."""
        low = _lowest(x.dtype)
        if not isinstance(span, Span) or span.size < LONG or span.stride > 1 or span.dilation > 1:
            return self._accumulated(x, axis, span, combine, low)
        out, lead, done = self._extended(x, (axis,), (span,), low), (slice(None),) * axis, 1
        while done < span.size:
            step = min(done, span.size - done)
            out = combine(out[(*lead, slice(None, -step))], out[(*lead, slice(step, None))])
            done += step
        return out

    def _accumulated(self, x: Raw, axis: int, span: Along, combine: Any, start: Any) -> Raw:
        shape = _resized(x.shape, axis, span.number)
        steps = list(self._steps(axis, span, x.shape[axis]))
        whole = [i for i, (places, _) in enumerate(steps) if places[axis] == slice(0, span.number)]
        if whole and span.number:  # nothing to fill where one offset has a cell in every window, to copy where two have
            cells = steps.pop(whole[0])[1]
            out = self._read(x, cells)
            if isinstance(cells[-1], slice) and len(whole) > 1:
                out = combine(out, self._read(x, steps.pop(whole[1] - 1)[1]))
            elif isinstance(cells[-1], slice):
                out = self.xp.array(out, copy=True)
        else:
            out = self._empty_as(x, shape, zeros=False)
            out[...] = start
        for places, cells in steps:
            if out.dtype.kind == "b":
                out[places] = combine(out[places], self._read(x, cells))
            else:
                combine(out[places], self._read(x, cells), out=out[places])
        return out

    def _read(self, x: Raw, cells: tuple[Any, ...]) -> Raw:
        """The cells of one offset; scattered ones in half to a quarter of the time of an index among slices."""
        return x[cells] if isinstance(cells[-1], slice) else self.xp.take(x, cells[-1], axis=len(cells) - 1)

    def _steps(self, axis: int, span: Along, n: int) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """For each offset, the index of the windows that have it and that of its cells."""
        lead = (slice(None),) * axis
        for k in range(span.size):
            places, cells = span.cells(k, n, self.xp)
            yield (*lead, places), (*lead, cells)

    def _empty_as(self, x: Raw, shape: Sequence[int], *, zeros: bool, dtype: Any = None) -> Raw:
        """An array of another shape whose axes lie in memory in the order of those of ``x``."""
        make = self.xp.zeros_like if zeros else self.xp.empty_like
        return make(x, dtype=dtype or x.dtype, shape=tuple(shape))


class HostWindows(WindowKernels):
    """Where writers to one cell follow one another, and a choice by a mask waits for mispredicted branches."""

    def _add_offsets(self, out: Raw, g: Raw, axis: tuple[int, ...], spans: tuple[Span, ...]) -> None:
        """Some rows at a time, which stay in the cache for all offsets: 240 x 2000 windows of 8 in 15 ms, not 40."""
        rows = max(1, CACHED * len(g) // g.size)
        if math.prod(s.size for s in spans) < SEVERAL or SEVERAL * rows > len(g) or not g.flags.c_contiguous:
            super()._add_offsets(out, g, axis, spans)
            return
        for k in range(0, len(g), rows):
            part = g[k : k + rows]
            own = tuple(
                s if a else s._replace(number=len(part), before=s.before - k * s.stride)
                for a, s in zip(axis, spans, strict=True)
            )
            super()._add_offsets(out if 0 in axis else out[k : k + rows], part, axis, own)

    def window_won(self, x: Raw, y: Raw, axis: int, span: Along) -> Raw:
        """By the largest of numbers that fall with the offset: of a million cells in pairs 1.2 ms instead of 8."""
        if span.size >= 128 or (x.dtype.kind == "f" and np.isnan(y).any()):
            return super().window_won(x, y, axis, span)
        left = np.zeros_like(y, dtype=np.int8)  # offsets from the one that is found on
        for k, (places, cells) in enumerate(self._steps(axis, span, x.shape[axis])):
            hit = np.equal(self._read(x, cells), y[places]).view(np.int8)
            hit *= np.int8(span.size - k)
            np.maximum(left[places], hit, out=left[places])
        won = np.int8(span.size) - left
        return won if left.all() else np.where(left, won, np.int8(-1))

    def window_pick(self, x: Raw, won: Raw, span: Along) -> Raw:
        """One look-up for each window instead of one choice for each offset."""
        if not won.size or won.min() < 0:
            return super().window_pick(x, won, span)
        shape, at = np.broadcast_shapes(x.shape[:-1], won.shape[:-1]), span.at(won)
        cells, at = (np.broadcast_to(a, (*shape, a.shape[-1])) for a in (x, at))
        return np.take_along_axis(cells, at, axis=-1)

    def window_put(self, g: Raw, won: Raw, span: Along, size: int) -> Raw:
        """One pass over the windows instead of one for each offset: a quarter of a million, 2 ms instead of 8."""
        shape = np.broadcast_shapes(g.shape, won.shape)
        out = self._empty_as(g if g.shape == shape else won, (*shape[:-1], int(size)), zeros=True, dtype=g.dtype)
        if not out.size or g.dtype.itemsize < np.dtype(np.float32).itemsize or won.min(initial=0) < 0:
            return super().window_put(g, won, span, size)
        steps = [step // out.itemsize for step in out.strides]
        rows: Any = 0
        for n, step in zip(shape[:-1], steps, strict=False):
            rows = rows[..., None] + np.arange(n) * step if np.ndim(rows) else np.arange(n) * step
        at = span.at(won) * steps[-1] + (rows[..., None] if np.ndim(rows) else 0)
        order = sorted(range(len(shape)), key=lambda axis: -steps[axis])
        to, part = (np.broadcast_to(a, shape).transpose(order).reshape(-1) for a in (at, g))
        with np.errstate(invalid="ignore"):
            np.add.at(out.transpose(order).reshape(-1), to, part)
        return out


def without_windows(g: Raw, axis: tuple[int, ...], sizes: Shape) -> list[int]:
    """The shape of what windows were taken of, along axes of these sizes."""
    shape = list(g.shape[: g.ndim - len(axis)])
    for a, n in zip(axis, sizes, strict=True):
        shape[a] = int(n)
    return shape


def _resized(shape: Shape, axis: int, size: int) -> Shape:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _lowest(dtype: Any) -> Any:
    if dtype.kind == "f":
        return -np.inf
    return False if dtype.kind == "b" else np.iinfo(dtype).min
