"""Gather and scatter: positions along core axes of an array, read and written.

An indexed array has the axes ``(shared..., head..., core..., tail...)`` and each index ``(shared..., new...)``, with
axes of size 1 where it is the same for all; what is gathered or written has ``(shared..., head..., new..., tail...)``.
``shared`` and ``tail`` count axes.  Positions are in range and not negative.

CuPy has no ``multiply.at``, and its assignment has no order: products are made of sorted runs, and of several writers
to one cell the last is found first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels

Raw = Any
Shape = tuple[int, ...]


def neutral(how: str, dtype: np.dtype[Any]) -> Any:
    """What changes nothing when it is combined."""
    if how in ("add", "multiply"):
        return dtype.type(how == "multiply")
    if dtype.kind == "b":
        return dtype.type(how == "minimum")
    if dtype.kind in "mM":
        ends = np.iinfo(np.int64)
        return np.array(ends.min + 1 if how == "maximum" else ends.max).astype(dtype)[()]  # the least of all is NaT
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return dtype.type(info.min if how == "maximum" else info.max)
    return dtype.type(-math.inf if how == "maximum" else math.inf)


def adds_up(how: str, x: Raw) -> bool:
    """Whether writers would be lost in half precision, in which sums of ones end at 2048."""
    return how in {"add", "multiply"} and x.dtype == np.float16


def _runs(bounds: Raw) -> Raw:
    """The number of its run for every cell."""
    return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))


class IndexKernels(Kernels):
    """The kernels, written against ``self.xp``."""

    # ---------------------------------------------------------------- reading

    def take(self, x: Raw, index: Raw, axis: int) -> Raw:
        """Positions of one axis."""
        return self.xp.take(x, index, axis=axis)

    def gather(self, x: Raw, *index: Raw, shared: int, tail: int = 0) -> Raw:
        """The cells at the index."""
        if not shared:
            return x[(slice(None),) * (x.ndim - len(index) - tail) + index]
        core = x.ndim - len(index) - tail
        at = self.places(index, x.shape, core, shared, tail)
        return self.xp.take(self.reshape(x, (-1,)), at)

    def wrap_index(self, index: Raw, size: int) -> Raw:
        """Negative positions counted from the end."""
        return self.xp.where(index < 0, index + size, index)

    def first_of(self, x: Raw, other: Raw) -> Raw:
        """The first of two arrays of one shape."""
        return x

    # ---------------------------------------------------------------- writing

    def scatter_add(self, g: Raw, *index: Raw, shared: int, sizes: Shape, tail: int = 0) -> Raw:
        """The transpose of :meth:`gather`: ``g`` added into zeros that have axes ``sizes`` in place of the new ones."""
        return self.scatter("add", g, *index, shared=shared, sizes=sizes, tail=tail)

    def sparse_product(self, x: Raw, axis: int, matrix: Any) -> Raw:
        """A matrix of SciPy's times the lines along an axis: cells gathered by its columns, added up by its rows."""
        cells, lines = matrix.tocoo(), self.xp.moveaxis(x, axis, -1)
        col, row, data = (self.asarray(a) for a in (cells.col, cells.row, cells.data))
        out = self.scatter_add(self.take(lines, col, -1) * data, row, shared=0, sizes=(matrix.shape[0],))
        return self.xp.moveaxis(out, -1, axis)

    def scatter_count(self, mask: Raw, *index: Raw, shared: int, sizes: Shape, tail: int = 0) -> Raw:
        """To how many true cells of a mask each cell belongs."""
        return self.scatter("add", mask.astype(np.float64), *index, shared=shared, sizes=sizes, tail=tail)

    def scatter_multiply(self, g: Raw, *index: Raw, shared: int, sizes: Shape, tail: int = 0) -> Raw:
        """The product of all writers to a cell, 1 where there is none."""
        return self.scatter("multiply", g, *index, shared=shared, sizes=sizes, tail=tail)

    def scatter(self, how: str, g: Raw, *index: Raw, shared: int, sizes: Shape, tail: int = 0) -> Raw:
        """Writers combined by a ufunc."""
        if adds_up(how, g):
            wide = self.scatter(how, g.astype(np.float32), *index, shared=shared, sizes=sizes, tail=tail)
            return wide.astype(np.float16)
        shape = self.target_shape(g, index, shared, sizes, tail)
        out = self.xp.zeros(shape, g.dtype) if how == "add" else self.xp.full(shape, neutral(how, g.dtype), g.dtype)
        return self.accumulate(how, out, g, index, shared=shared, tail=tail)

    def scatter_into(self, x: Raw, g: Raw, *index: Raw, how: str, shared: int, tail: int = 0) -> Raw:
        """``x`` with ``g`` combined into its cells; ``"put"`` replaces them, and the last writer wins."""
        if adds_up(how, x):
            x, g = x.astype(np.float32), g.astype(np.float32)
            return self.scatter_into(x, g, *index, how=how, shared=shared, tail=tail).astype(np.float16)
        core = x.shape[x.ndim - tail - len(index) : x.ndim - tail]
        if how == "put":
            return self.put(x, g, index, shared=shared, sizes=core, tail=tail)
        return self.accumulate(how, self.xp.array(x, copy=True, order="C"), g, index, shared=shared, tail=tail)

    def write_block(self, x: Raw, v: Raw, index: tuple[Any, ...], how: str) -> Raw:
        """A copy with ``v`` put, or added, at a basic index."""
        out = self.xp.array(x, copy=True, order="C")
        if how == "add":
            out[index] += v
        else:
            out[index] = v
        return out

    def put(self, x: Raw, g: Raw, index: Sequence[Raw], *, shared: int, sizes: Shape, tail: int) -> Raw:
        """The winners added into zeros, chosen where there is one."""
        own = g.ndim - tail - self.joint_ndim(index)
        won, hit = self.winners(*index, shared=shared, sizes=sizes)
        won, hit = (self.with_own(a, shared, own, tail) for a in (won, hit))
        zero = g.dtype.type(0)
        new = self.scatter_add(self.xp.where(won, g, zero), *index, shared=shared, sizes=sizes, tail=tail)
        return self.xp.where(hit, new, x)

    def winners(self, *index: Raw, shared: int, sizes: Shape) -> tuple[Raw, Raw]:
        """Which writer to a cell is the last one, over the axes of the index; and which cells have any."""
        shape = np.broadcast_shapes(*(i.shape for i in index))
        number = self.reshape(self.asarray(self.arange(1, math.prod(shape) + 1)), shape)
        best = self.scatter("maximum", number, *index, shared=shared, sizes=sizes)
        return self.xp.equal(self.gather(best, *index, shared=shared), number), best > 0

    def last_writers(self, *index: Raw, shared: int, sizes: Shape) -> Raw:
        """Which writer to a cell is the last one, over the axes of the index."""
        return self.winners(*index, shared=shared, sizes=sizes)[0]

    def accumulate(self, how: str, out: Raw, g: Raw, index: Sequence[Raw], *, shared: int, tail: int) -> Raw:
        """``g`` combined into ``out``, which nobody else sees."""
        core = out.ndim - len(index) - tail
        at = self.places(index, out.shape, core, shared, tail)
        if at.shape != g.shape:
            at = self.xp.broadcast_to(at, g.shape)
        # NumPy's `at` is 4 to 8 times as fast on a flat array as with an index tuple, for any dtype.
        self.combine_at(how, self.reshape(out, (-1,)), self.reshape(at, (-1,)), self.reshape(g, (-1,)))
        return out

    def combine_at(self, how: str, out: Raw, at: Raw, g: Raw) -> None:
        """Combine ``g`` into the flat ``out`` at positions of it, in place."""
        with np.errstate(invalid="ignore"):  # NumPy warns of NaN here, which it does not where it compares whole arrays
            getattr(self.xp, how).at(out, at, g)

    # ---------------------------------------------------------------- runs

    def reduce_runs(self, x: Raw, axis: int, bounds: Raw, how: str) -> Raw:
        """The runs of cells between bounds, from the first cell of an axis to its last one, combined by a ufunc."""
        lines, index = self.xp.moveaxis(x, axis, -1), self.indices(_runs(bounds))
        out = self.scatter(how, lines, index, shared=0, sizes=(len(bounds) - 1,))
        return self.xp.moveaxis(out, -1, axis)

    def repeat_runs(self, x: Raw, axis: int, bounds: Raw) -> Raw:
        """Each cell of an axis as often as its run is long."""
        return self.take(x, self.indices(_runs(bounds)), axis)

    # ---------------------------------------------------------------- products

    def are_moderate(self, whole: Raw) -> Raw:
        """Whether products may be looked at, and are such that a factor is found by division."""
        return False

    def exclusive_product(self, g: Raw, whole: Raw, *index: Raw, shared: int, sizes: Shape, tail: int = 0) -> Raw:
        """For each writer the product of the others to the same cell, of whose products ``whole`` consists."""
        core = g.ndim - tail - (self.joint_ndim(index) - shared)
        at = self.xp.broadcast_to(self.places(index, whole.shape, core, shared, tail), g.shape)
        order, key, value = self._sorted(self.reshape(at, (-1,)), self.reshape(g, (-1,)))
        one = self.xp.ones(1, g.dtype)
        longest = self.longest_run(index, shared)
        before = self._running(key, self._shifted(key, value, one), longest)
        after = self._running(key[::-1], self._shifted(key[::-1], value[::-1], one), longest)[::-1]
        out = self.xp.empty(value.shape, g.dtype)
        out[order] = before * after
        return self.reshape(out, g.shape)

    def _sorted(self, key: Raw, value: Raw) -> tuple[Raw, Raw, Raw]:
        order = self.xp.argsort(key, kind="stable")
        return order, key[order], value[order]

    def _shifted(self, key: Raw, value: Raw, one: Raw) -> Raw:
        """The predecessor of each cell in its run, 1 for the first."""
        moved = self.xp.concatenate([one, value[:-1]])[: value.shape[0]]
        return self.xp.where(self._same(key, 1), moved, one)

    def _same(self, key: Raw, step: int) -> Raw:
        """Whether the cell ``step`` before belongs to the same run."""
        ahead = self.xp.zeros(min(step, key.shape[0]), bool)
        return self.xp.concatenate([ahead, key[step:] == key[:-step]]) if step < key.shape[0] else ahead

    def longest_run(self, index: Sequence[Raw], shared: int) -> int:
        """How many writers a cell may have."""
        return math.prod(np.broadcast_shapes(*(i.shape for i in index))[shared:])

    def _running(self, key: Raw, value: Raw, longest: int) -> Raw:
        """Running products along runs of equal keys, in a logarithmic number of steps (Hillis and Steele, 1986)."""
        step = 1
        while step < min(longest, value.shape[0]):
            earlier = self.xp.concatenate([self.xp.ones(step, value.dtype), value[:-step]])
            value = self.xp.where(self._same(key, step), value * earlier, value)
            step *= 2
        return value

    # ---------------------------------------------------------------- shapes and positions

    def joint_ndim(self, index: Sequence[Raw]) -> int:
        """Number of axes of the index."""
        return max(i.ndim for i in index)

    def target_shape(self, g: Raw, index: Sequence[Raw], shared: int, sizes: Shape, tail: int) -> Shape:
        """The shape of what ``g`` is written into."""
        new = self.joint_ndim(index) - shared
        return (*g.shape[: g.ndim - tail - new], *sizes, *g.shape[g.ndim - tail :])

    def with_own(self, a: Raw, shared: int, own: int, tail: int) -> Raw:
        """Axes ``(shared..., rest...)`` with ones of size 1 for head and tail."""
        return self.reshape(a, (*a.shape[:shared], *(1,) * own, *a.shape[shared:], *(1,) * tail))

    def places(self, index: Sequence[Raw], shape: Shape, core: int, shared: int, tail: int) -> Raw:
        """Flat positions in an array of this shape, whose core axes start at ``core``.

        They have the axes ``(shared..., head..., new..., tail...)``.
        """
        stop = len(shape) - tail
        at = index[0].astype(np.intp, copy=False)  # small integers would wrap
        for i, n in zip(index[1:], shape[core + 1 : stop], strict=True):
            at = at * n + i
        if not (core or tail):
            return at
        new = at.ndim - shared
        at = self.with_own(at, shared, core - shared, tail)
        inner = math.prod(shape[stop:])
        if tail:
            at = at * inner + self.reshape(self.arange(0, inner), shape[stop:])
        if not core:
            return at
        step = math.prod(shape[core:])
        rows = self.reshape(self.arange(0, math.prod(shape[:core])), (*shape[:core], *(1,) * (new + tail)))
        return rows * step + at
