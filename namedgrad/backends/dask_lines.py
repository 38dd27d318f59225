"""Kernels along one axis on dask: the chunks along it are joined, the others stay as they are."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np

from namedgrad.backends.dask_chunks import Kernel
from namedgrad.backends.lines import LineKernels, Runs

Raw = Any


def _of_its_shape(name: str) -> Any:
    """A kernel whose result has the shape of its operand."""

    def kernel(self: DaskLines, x: Raw, axis: int) -> Raw:
        return self.along(name, x, axis, x.shape[axis])

    return kernel


class DaskLines(LineKernels):
    """On :class:`dask.array.Array`, with the NumPy backend's kernels."""

    along: Any  #: see :class:`namedgrad.backends.dask_along.AlongAxis`
    cumprod, cummax, cummin, sort = map(_of_its_shape, ("cumprod", "cummax", "cummin", "sort"))

    def argsort(self, x: Raw, axis: int) -> Raw:
        """Positions that sort; equal cells keep their order."""
        return self.along("argsort", x, axis, x.shape[axis], dtype=np.intp)

    def ranked(self, x: Raw, axis: int, start: int, stop: int) -> Raw:
        """Positions of the cells from one rank up to another."""
        return self.along("ranked", x, axis, stop - start, dtype=np.intp, start=start, stop=stop)

    def of_ranks(self, x: Raw, axis: int, start: int, stop: int) -> Raw:
        """The cells from one rank up to another, in order."""
        return self.along("of_ranks", x, axis, stop - start, start=start, stop=stop)

    def partition(self, x: Raw, axis: int, kth: tuple[int, ...]) -> Raw:
        """Values such that those at ``kth`` are where they are in sorted order."""
        return self.along("partition", x, axis, x.shape[axis], kth=kth)

    def recurrence(self, a: Raw, b: Raw) -> Raw:
        """``s[k] = a[k] s[k - 1] + b[k]`` along the last axis."""
        from namedgrad.backends import NUMPY

        a, b = (da.asarray(x).rechunk({-1: -1}) for x in da.broadcast_arrays(da.asarray(a), da.asarray(b)))
        return da.map_blocks(Kernel(NUMPY.recurrence), a, b, dtype=np.result_type(a, b))

    def step(self, x: Raw, axis: int) -> Raw:
        """Every cell but the first, less the one before it."""
        later, sooner = (self.cut(x, axis, k) for k in (slice(1, None), slice(None, -1)))
        return (later - sooner).rechunk({axis: later.chunks[axis]})

    def extend(self, x: Raw, axis: int, before: Runs, after: Runs) -> Raw:
        """Runs of cells of an axis put before and behind it."""
        size = x.shape[axis] + sum(count for _, _, count in (*before, *after))
        return self.along("extend", x, axis, size, before=before, after=after)

    def take_back(self, g: Raw, axis: int, before: Runs, after: Runs) -> Raw:
        """The transpose of :meth:`extend`."""
        size = g.shape[axis] - sum(count for _, _, count in (*before, *after))
        return self.along("take_back", g, axis, size, before=before, after=after)

    def unstep(self, g: Raw, axis: int) -> Raw:
        """The transpose of :meth:`step`."""
        shape, chunks = ((*s[:axis], 1, *s[axis + 1 :]) for s in (g.shape, g.chunks))
        end = da.zeros(shape, g.dtype, chunks=chunks)
        first, *rest = g.chunks[axis]
        out = da.concatenate([end, g], axis=axis) - da.concatenate([g, end], axis=axis)
        return out.rechunk({axis: (first + 1, *rest)})
