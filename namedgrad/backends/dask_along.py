"""Kernels along one axis of lazy arrays, whose chunks are joined along it: NumPy's kernel on every chunk."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np

from namedgrad.backends.dask_chunks import Kernel, joined, of_whole
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

    def cosine(self, x: Raw, axis: int, kind: int, power: float) -> Raw:
        """Cosine transform of an axis."""
        return self.along("cosine", x, axis, x.shape[axis], kind=kind, power=power)

    def central(self, x: Raw, axis: int, edge_order: int) -> Raw:
        """Central differences along an axis."""
        return self.along("central", x, axis, x.shape[axis], edge_order=edge_order)

    def central_back(self, g: Raw, axis: int, edge_order: int) -> Raw:
        """The transpose of :meth:`central`."""
        return self.along("central_back", g, axis, g.shape[axis], edge_order=edge_order)

    def pair_distance(self, x: Raw, p: float) -> Raw:
        """The p-norm between every two points."""
        n = int(x.shape[-1])
        return of_last("pair_distance", "(k,n)->(q)", x, sizes={"q": n * (n - 1) // 2}, dtype=x.dtype, p=p)

    def pair_difference(self, x: Raw, axis: int) -> Raw:
        """Along an axis, the first of every two cells minus the second."""
        return self.along("pair_difference", x, axis, x.shape[axis] * (x.shape[axis] - 1) // 2)

    def pair_spread(self, g: Raw, axis: int, n: int) -> Raw:
        """The transpose of :meth:`pair_difference` of ``n`` cells."""
        return self.along("pair_spread", g, axis, n, n=int(n))

    def fft(self, x: Raw, axis: tuple[int, ...], norm: str) -> Raw:
        """Discrete Fourier transform along axes."""
        return self.along("fft", x, axis, None, dtype=_complex(x), norm=norm)

    def ifft(self, x: Raw, axis: tuple[int, ...], norm: str) -> Raw:
        """Its inverse."""
        return self.along("ifft", x, axis, None, dtype=_complex(x), norm=norm)

    def rfft(self, x: Raw, axis: tuple[int, ...], norm: str) -> Raw:
        """The non-negative frequencies of a real array."""
        return self.along("rfft", x, axis, x.shape[axis[-1]] // 2 + 1, dtype=_complex(x), norm=norm)

    def irfft(self, x: Raw, axis: tuple[int, ...], n: int, norm: str) -> Raw:
        """Its inverse, of size ``n``."""
        return self.along("irfft", x, axis, n, dtype=x.real.dtype, n=n, norm=norm)

    def hfft(self, x: Raw, axis: tuple[int, ...], n: int, norm: str) -> Raw:
        """The frequencies, of size ``n``, of an array with Hermitian symmetry."""
        return self.along("hfft", x, axis, n, dtype=x.real.dtype, n=n, norm=norm)

    def ihfft(self, x: Raw, axis: tuple[int, ...], norm: str) -> Raw:
        """Its inverse."""
        return self.along("ihfft", x, axis, x.shape[axis[-1]] // 2 + 1, dtype=_complex(x), norm=norm)

    def along(
        self, kernel: str, x: Raw, axis: int | tuple[int, ...], size: int | None, dtype: Any = None, **kwargs: Any
    ) -> Raw:
        """A kernel of the host that makes an axis, the last of several, one of ``size``; None where sizes stay."""
        from namedgrad.backends import NUMPY

        many = axis if isinstance(axis, tuple) else (axis,)
        new = {} if size is None else {many[-1] % x.ndim: int(size)}
        return of_whole(Kernel(NUMPY.function(kernel), axis=axis, **kwargs), joined(x, *many), new, dtype or x.dtype)

    def convolve(self, x: Raw, y: Raw, *, full: bool) -> Raw:
        """Convolution of last axes."""
        n, m = int(x.shape[-1]), int(y.shape[-1])
        size = n + m - 1 if full else abs(n - m) + 1
        return of_last("convolve", "(n),(m)->(k)", x, y, sizes={"k": size}, dtype=np.result_type(x, y), full=full)

    def tridiagonal(self, lower: Raw, middle: Raw, upper: Raw, b: Raw) -> Raw:
        """Tridiagonal equations along last axes."""
        return of_last("tridiagonal", "(n),(n),(n),(n)->(n)", lower, middle, upper, b)

    def fill_gaps(self, y: Raw, present: Raw, weights: Any) -> Raw:
        """Weighted sums in the missing cells of lines."""
        return of_last("fill_gaps", "(n),(n)->(n)", y, present, dtype=y.dtype, weights=weights)

    def fill_gaps_back(self, g: Raw, present: Raw, weights: Any) -> Raw:
        """The transpose of :meth:`fill_gaps`."""
        return of_last("fill_gaps_back", "(n),(n)->(n)", g, present, dtype=g.dtype, weights=weights)

    def gap_offsets(self, present: Raw, weights: Any) -> Raw:
        """What is added in the missing cells of lines."""
        return of_last("gap_offsets", "(n)->(n)", present, weights=weights)


def of_last(kernel: str, signature: str, *raw: Raw, sizes: Any = None, dtype: Any = None, **options: Any) -> Raw:
    """A kernel of the host on last axes, whole in every chunk; the axes before them are broadcast, and cut alike."""
    import dask.array as da

    from namedgrad.backends import NUMPY

    cores = [len(re.findall(r"\w", part)) for part in signature.partition("->")[0].split("),(")]
    whole = [da.asarray(x).rechunk(dict.fromkeys(range(-n, 0), -1)) for x, n in zip(raw, cores, strict=True)]
    pairs = list(enumerate(zip(whole, cores, strict=True)))
    axes = [(*range(n - x.ndim, 0), *((i, k) for k in range(n))) for i, (x, n) in pairs]  # the first ones are shared
    _, whole = da.core.unify_chunks(*itertools.chain.from_iterable(zip(whole, axes, strict=True)), warn=False)
    dtype = dtype or np.result_type(*(x.dtype for x in whole), np.float32)
    run = Kernel(NUMPY.function(kernel), **options)
    return da.apply_gufunc(run, signature, *whole, output_dtypes=dtype, output_sizes=sizes)


def _complex(x: Raw) -> Any:
    """The complex dtype of the same precision."""
    return np.result_type(x.dtype, np.complex64)
