"""Kernels along one axis of lazy arrays, whose chunks are joined along it: NumPy's kernel on every chunk."""

from __future__ import annotations

from typing import Any

import numpy as np

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

    def cosine(self, x: Raw, axis: int, kind: int) -> Raw:
        """Cosine transform of an axis."""
        return self.along("cosine", x, axis, x.shape[axis], kind=kind)

    def central(self, x: Raw, axis: int, edge_order: int) -> Raw:
        """Central differences along an axis."""
        return self.along("central", x, axis, x.shape[axis], edge_order=edge_order)

    def central_back(self, g: Raw, axis: int, edge_order: int) -> Raw:
        """The transpose of :meth:`central`."""
        return self.along("central_back", g, axis, g.shape[axis], edge_order=edge_order)

    def along(self, kernel: str, x: Raw, axis: int, size: int, dtype: Any = None, **kwargs: Any) -> Raw:
        """A kernel of the host that makes an axis one of ``size``."""
        from namedgrad.backends import NUMPY
        from namedgrad.backends.dask import Kernel

        axis %= x.ndim
        whole = x.rechunk({axis: -1})
        chunks = (*whole.chunks[:axis], (int(size),), *whole.chunks[axis + 1 :])
        function = Kernel(NUMPY.function(kernel), axis=axis, **kwargs)
        return whole.map_blocks(function, chunks=chunks, dtype=dtype or x.dtype)

    def convolve(self, x: Raw, y: Raw, *, full: bool) -> Raw:
        """Convolution of last axes."""
        n, m = int(x.shape[-1]), int(y.shape[-1])
        size = n + m - 1 if full else abs(n - m) + 1
        return self.of_last("convolve", "(n),(m)->(k)", x, y, sizes={"k": size}, full=full)

    def tridiagonal(self, lower: Raw, middle: Raw, upper: Raw, b: Raw) -> Raw:
        """Tridiagonal equations along last axes."""
        return self.of_last("tridiagonal", "(n),(n),(n),(n)->(n)", lower, middle, upper, b)

    def fill_gaps(self, y: Raw, present: Raw, weights: Any) -> Raw:
        """Weighted sums in the missing cells of lines."""
        return self.of_last("fill_gaps", "(n),(n)->(n)", y, present, dtype=y.dtype, weights=weights)

    def fill_gaps_back(self, g: Raw, present: Raw, weights: Any) -> Raw:
        """The transpose of :meth:`fill_gaps`."""
        return self.of_last("fill_gaps_back", "(n),(n)->(n)", g, present, dtype=g.dtype, weights=weights)

    def gap_offsets(self, present: Raw, weights: Any) -> Raw:
        """What is added in the missing cells of lines."""
        return self.of_last("gap_offsets", "(n)->(n)", present, weights=weights)

    def of_last(
        self, kernel: str, signature: str, *raw: Raw, sizes: Any = None, dtype: Any = None, **kwargs: Any
    ) -> Raw:
        """A kernel of the host on last axes, whole in every chunk."""
        import dask.array as da

        from namedgrad.backends import NUMPY
        from namedgrad.backends.dask import Kernel

        cores = signature.split("->", maxsplit=1)[0].split("),(")
        arrays = [da.asarray(r) for r in raw]
        counts = [len([name for name in c.strip("()").split(",") if name]) for c in cores]
        whole = [r.rechunk({-1 - i: -1 for i in range(n)}) for r, n in zip(arrays, counts, strict=True)]
        function = Kernel(NUMPY.function(kernel), **kwargs)
        dtype = dtype or np.result_type(*(r.dtype for r in arrays), np.float32)
        return da.apply_gufunc(function, signature, *whole, output_dtypes=dtype, output_sizes=sizes)
