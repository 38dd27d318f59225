"""Kernels along one axis of lazy arrays, whose chunks are joined along it: NumPy's kernel on every chunk."""

from __future__ import annotations

from typing import Any

from namedgrad.backends.resampling import Grid

Raw = Any


class AlongAxis:
    """What the dask backend computes chunk by chunk."""

    def resample(self, x: Raw, axis: int, grid: Grid) -> Raw:
        """Weighted sums of cells along an axis."""
        return self.along("resample", x, axis, grid.size, grid=grid)

    def resample_back(self, g: Raw, axis: int, grid: Grid) -> Raw:
        """The transpose of :meth:`resample`."""
        return self.along("resample_back", g, axis, grid.n, grid=grid)

    def along(self, kernel: str, x: Raw, axis: int, size: int, dtype: Any = None, **kwargs: Any) -> Raw:
        """A kernel of the host that makes an axis one of ``size``."""
        from namedgrad.backends import NUMPY
        from namedgrad.backends.dask import Kernel

        axis %= x.ndim
        whole = x.rechunk({axis: -1})
        chunks = (*whole.chunks[:axis], (int(size),), *whole.chunks[axis + 1 :])
        function = Kernel(NUMPY.function(kernel), axis=axis, **kwargs)
        return whole.map_blocks(function, chunks=chunks, dtype=dtype or x.dtype)
