"""Kernels along one whole axis: cumulative products and extremes, recurrences, order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels

Raw = Any
Run = tuple[int, int, int]
Runs = tuple[Run, ...]


class LineKernels(Kernels):
    """Written with slices and elementwise functions alone: log2(n) steps for n cells, each on all of them at once."""

    def cumprod(self, x: Raw, axis: int) -> Raw:
        """Cumulative product."""
        return self.xp.cumprod(x, axis=axis)

    def cummax(self, x: Raw, axis: int) -> Raw:
        """Running maximum."""
        return self._doubled(self.xp.maximum, x, axis)

    def cummin(self, x: Raw, axis: int) -> Raw:
        """Running minimum."""
        return self._doubled(self.xp.minimum, x, axis)

    def run_starts(self, x: Raw, axis: int) -> Raw:
        """Where a cell differs from the one before it; the first ones do."""
        first, later, sooner = (self.cut(x, axis, slice(*ends)) for ends in ((1,), (1, None), (-1,)))
        return self.xp.concatenate([self.xp.ones_like(first, dtype=bool), self.xp.not_equal(later, sooner)], axis=axis)

    def last_true(self, x: Raw, axis: int, none: int) -> Raw:
        """Position of the last true cell up to each one, ``none`` where there is none yet."""
        n = x.shape[axis]
        short = np.min_scalar_type(-n - 1)  # 2 bytes take 2.9 ms instead of 4.7, for a million cells
        at = self.xp.arange(-none, n - none, dtype=short).reshape(n, *(1,) * (x.ndim - axis - 1))
        out = self.cummax(self.xp.multiply(x, at), axis).astype(np.intp)  # ``where`` takes 4 times as long
        return out + none if none else out

    def _doubled(self, combine: Callable[..., Any], x: Raw, axis: int) -> Raw:
        """After step k every cell holds the combination of the last 2**k cells up to it (Hillis and Steele, 1986)."""
        out = self.xp.moveaxis(x, axis, -1).copy()
        step = 1
        while step < out.shape[-1]:
            out[..., step:] = combine(out[..., step:], out[..., :-step].copy())
            step *= 2
        return self.xp.moveaxis(out, -1, axis)

    def recurrence(self, a: Raw, b: Raw) -> Raw:
        """``s[k] = a[k] s[k - 1] + b[k]`` along the last axis, ``s[0] = b[0]``; the other axes broadcast.

        A gate ``a`` of 0 lets nothing through, not even infinity or NaN, and no gate makes anything of 0.
        """
        a, b = (x.copy() for x in self._both(a, b))
        step = 1
        while step < b.shape[-1]:
            b[..., step:] = self.scale(b[..., :-step], a[..., step:]) + b[..., step:]
            a[..., step:] = self.scale(a[..., :-step], a[..., step:])
            step *= 2
        return b

    def _both(self, a: Raw, b: Raw) -> Sequence[Raw]:
        """Two arrays of one shape and one dtype."""
        dtype = np.result_type(a, b)
        a, b = self.xp.broadcast_arrays(a, b)
        return a.astype(dtype), b.astype(dtype)

    def powers(self, x: Raw, n: int, *, increasing: bool) -> Raw:
        """The powers of ``x`` up to ``n - 1`` along a new last axis, each of them the one before times ``x``."""
        out = [self.xp.ones_like(x), x][:n]
        while len(out) < n:
            out.append(out[-1] * x)
        if not n:
            return self.zeros((*x.shape, 0), x.dtype)
        return self.xp.moveaxis(self.xp.stack(out if increasing else out[::-1]), 0, -1)

    def sort(self, x: Raw, axis: int) -> Raw:
        """Values in ascending order along one axis, NaN last."""
        return self.xp.sort(x, axis=axis)

    def argsort(self, x: Raw, axis: int) -> Raw:
        """Positions that sort along one axis; equal cells keep their order."""
        return self.xp.argsort(x, axis=axis, kind="stable")

    def inverse_order(self, order: Raw, axis: int) -> Raw:
        """Where in an order every position stands."""
        return self.argsort(order, axis)

    def places_of(self, x: Raw, values: Raw, axis: int, start: int, stop: int) -> Raw:
        """As :meth:`ranked`, where the cells there are known."""
        return self.ranked(x, axis, start, stop)

    def ranked(self, x: Raw, axis: int, start: int, stop: int) -> Raw:
        """Positions of the cells from one rank up to another."""
        return self.cut(self.argsort(x, axis), axis, slice(start, stop))

    def of_ranks(self, x: Raw, axis: int, start: int, stop: int) -> Raw:
        """The cells from one rank up to another, in order."""
        return self.cut(self.xp.sort(x, axis=axis), axis, slice(start, stop))

    def partition(self, x: Raw, axis: int, kth: tuple[int, ...]) -> Raw:
        """Values such that those at ``kth`` are where they are in sorted order."""
        return self.xp.partition(x, kth, axis=axis) if kth else x

    def at_ranks(self, x: Raw, rank: Raw, axis: int) -> Raw:
        """Values of given ranks along one axis."""
        return self.xp.take(self.partition(x, axis, tuple(np.unique(rank).tolist())), rank, axis=axis)

    def step(self, x: Raw, axis: int) -> Raw:
        """Every cell but the first, less the one before it."""
        later, sooner = (self.cut(x, axis, k) for k in (slice(1, None), slice(None, -1)))
        return later - sooner

    def unstep(self, g: Raw, axis: int) -> Raw:
        """The transpose of :meth:`step`."""
        shape = (*g.shape[:axis], g.shape[axis] + 1, *g.shape[axis + 1 :])
        out = self.zeros(shape, g.dtype)
        self.cut(out, axis, slice(1, None))[...] = g
        self.cut(out, axis, slice(None, -1))[...] -= g
        return out

    def concat_steps(self, *parts: Raw, axis: int, at: int) -> Raw:
        """Arrays joined along an axis, one of them after :meth:`step`."""
        return self.concat(*(self.step(p, axis) if k == at else p for k, p in enumerate(parts)), axis=axis)

    def extend(self, x: Raw, axis: int, before: Runs, after: Runs) -> Raw:
        """Runs of cells of an axis put before and behind it."""
        parts = [*(self._run(x, axis, run) for run in before), x, *(self._run(x, axis, run) for run in after)]
        return self.xp.concatenate(parts, axis=axis)

    def _run(self, x: Raw, axis: int, run: Run) -> Raw:
        first, last, count = run
        part = self.cut(x, axis, slice(min(first, last), max(first, last) + 1))
        if first > last:
            return self.xp.flip(part, axis=axis)
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        return part if first < last or count == 1 else self.xp.broadcast_to(part, shape)

    def take_back(self, g: Raw, axis: int, before: Runs, after: Runs) -> Raw:
        """The transpose of :meth:`extend`: every run added to where it came from."""
        lead, tail = (sum(count for _, _, count in runs) for runs in (before, after))
        out = self.cut(g, axis, slice(lead, g.shape[axis] - tail)).copy()
        for runs, start in ((before, 0), (after, g.shape[axis] - tail)):
            at = start
            for first, last, count in runs:
                part = self.cut(g, axis, slice(at, at + count))
                if first > last:
                    part = self.xp.flip(part, axis=axis)
                elif first == last:
                    part = self.xp.sum(part, axis=axis, keepdims=True)
                self.cut(out, axis, slice(min(first, last), max(first, last) + 1))[...] += part
                at += count
        return out

    def repeat(self, x: Raw, axis: int, times: int) -> Raw:
        """Every cell of an axis several times."""
        return self.xp.repeat(x, times, axis=axis)
