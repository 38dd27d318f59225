"""Kernels of sliding windows on lazy arrays, whose chunks are joined along the windowed axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad.backends.dask_along import of_last
from namedgrad.backends.dask_chunks import Kernel
from namedgrad.backends.windows import Along, Shape, Span

Raw = Any


class DaskWindowKernels:
    """What :class:`namedgrad.backends.windows.WindowKernels` has, chunk by chunk."""

    along: Any  #: see :class:`namedgrad.backends.dask_along.AlongAxis`

    def windows(self, x: Raw, axis: tuple[int, ...], spans: tuple[Span, ...]) -> Raw:
        """The cells of every window."""
        chunks = [(s.number,) for s in spans], [(s.size,) for s in spans]
        new = list(range(x.ndim, x.ndim + len(axis)))
        return _whole("windows", x, axis, chunks, new_axis=new, spans=spans)

    def overlap_add(self, g: Raw, axis: tuple[int, ...], spans: tuple[Span, ...], sizes: Shape) -> Raw:
        """The transpose of :meth:`windows`."""
        last = list(range(g.ndim - len(axis), g.ndim))
        plain = tuple(map(int, sizes))
        return _whole("overlap_add", g, axis, ([(n,) for n in plain], []), drop_axis=last, spans=spans, sizes=plain)

    def window_sum(self, x: Raw, axis: int, span: Span) -> Raw:
        """The sum of each window along an axis."""
        return self.along("window_sum", x, axis, span.number, span=span)

    def window_spread(self, g: Raw, axis: int, span: Span, n: int) -> Raw:
        """The transpose of :meth:`window_sum`."""
        return self.along("window_spread", g, axis, n, span=span, n=int(n))

    def window_prod(self, x: Raw, axis: int, span: Span) -> Raw:
        """The product of each window along an axis."""
        return self.along("window_prod", x, axis, span.number, span=span)

    def window_max(self, x: Raw, axis: int, span: Along) -> Raw:
        """The largest cell of each window along an axis."""
        return self.along("window_max", x, axis, span.number, span=span)

    def window_fmax(self, x: Raw, axis: int, span: Span) -> Raw:
        """The largest cell of each window that is not NaN."""
        return self.along("window_fmax", x, axis, span.number, span=span)

    def window_won(self, x: Raw, y: Raw, axis: int, span: Along) -> Raw:
        """The offset of the first largest cell of each window."""
        import dask.array as da

        from namedgrad.backends import NUMPY

        letters = list(range(x.ndim))
        others = [i if i != axis else x.ndim for i in letters]
        kernel = Kernel(NUMPY.function("window_won"), axis=axis, span=span)
        whole = (x.rechunk({axis: -1}), letters, y.rechunk({axis: -1}), others)
        return da.blockwise(kernel, others, *whole, dtype=np.int8 if span.size < 128 else np.int64, concatenate=True)

    def window_pick(self, x: Raw, won: Raw, span: Along) -> Raw:
        """The cell of each window along the last axis that is at the offset ``won``."""
        return of_last("window_pick", "(n),(m)->(m)", x, won, dtype=x.dtype, span=span)

    def window_put(self, g: Raw, won: Raw, span: Along, size: int) -> Raw:
        """The transpose of :meth:`window_pick`."""
        size = int(size)
        return of_last("window_put", "(m),(m)->(n)", g, won, sizes={"n": size}, dtype=g.dtype, span=span, size=size)


def _whole(
    kernel: str, x: Raw, axis: tuple[int, ...], chunks: tuple[Sequence[Any], Sequence[Any]], *, new_axis: Any = None,
    drop_axis: Sequence[int] = (), **params: Any,
) -> Raw:  # fmt: skip
    """NumPy's kernel of chunks that are whole along these axes and those dropped.

    ``chunks`` are those that these axes get, and those of new axes.
    """
    from namedgrad.backends import NUMPY

    whole = x.rechunk(dict.fromkeys((*axis, *drop_axis), -1))
    made = dict(zip(axis, chunks[0], strict=True))
    kept = [made.get(a, c) for a, c in enumerate(whole.chunks) if a not in drop_axis]
    out = (*kept, *chunks[1])
    return whole.map_blocks(
        Kernel(NUMPY.function(kernel), axis=axis, **params), chunks=out, new_axis=new_axis, drop_axis=list(drop_axis),
        dtype=x.dtype, meta=np.empty((0,) * len(out), x.dtype),
    )  # fmt: skip
