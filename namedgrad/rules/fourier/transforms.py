"""Discrete Fourier transforms along dims, as NumPy defines them (no scaling forward, 1/n backward).

The matrices are symmetric, so the full transforms are their own transposes.  Those between real and half-complex arrays
are linear over the reals; maps are transposed without conjugation (see :mod:`namedgrad.linear`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import axes
from namedgrad.array import DimArray, extent
from namedgrad.linear import Like
from namedgrad.primitive import linear
from namedgrad.rules.complex import real
from namedgrad.rules.elementwise import c, logical_or
from namedgrad.rules.movement import core_dims, core_size, join, slice_of
from namedgrad.rules.structure import cast, equal, make_like, multiply, positions, where, zeros_spread

LAST = axes.core(-1)


def _once(g: DimArray, n: int) -> DimArray:
    """Half of what stands for a pair of frequencies, of ``n``."""
    return multiply(g, _weights(g, n, 0.5))


def _back(transform: Any, g: DimArray, x: Like, norm: str) -> DimArray:
    n = core_size(x)
    return transform(_once(to_complex(g), n), core_dims(x), n=n, norm=norm)


def _twice(g: DimArray, n: int) -> DimArray:
    """Twice what stands for a pair of frequencies, of ``n``: one of them and its conjugate."""
    return multiply(g, _weights(g, n, 2.0))


def _weights(g: DimArray, n: int, paired: float) -> DimArray:
    """A weight per non-negative frequency of ``n``: most have a negative one, the first and n / 2 have not."""
    at = positions(n // 2 + 1, LAST, g)
    single = logical_or(equal(at, c(0)), equal(at, c(n / 2)))
    return cast(where(single, c(1.0), c(paired)), g.dtype.type(0).real.dtype)


def to_complex(g: DimArray) -> DimArray:
    """In the complex dtype of the same precision."""
    return g if g.dtype.kind == "c" else cast(g, np.result_type(g.dtype, np.complex64))


def _cast(g: DimArray, x: Like) -> DimArray:
    """In the kind of numbers of an operand."""
    return g if x.dtype.kind == "c" else real(g)


# Real arrays are transformed as they are. With g^T y for y of x: sums over half of the frequencies are the real parts of
# sums over all of them, which is where the weights come from. It is the last dim of which there is half.
# fmt: off
fft   = linear("(n)->(n)", "fft",   transpose=lambda g, x, norm: _cast(fft(g, core_dims(x), norm=norm), x), many=True)
ifft  = linear("(n)->(n)", "ifft",  transpose=lambda g, x, norm: _cast(ifft(g, core_dims(x), norm=norm), x), many=True)
rfft  = linear("(n)->(n)", "rfft",  transpose=lambda g, x, norm: _back(hfft, g, x, norm), many=True)
hfft  = linear("(n)->(n)", "hfft",  transpose=lambda g, x, n, norm: _twice(rfft(real(g), core_dims(x), norm=norm), n), many=True)
irfft = linear("(n)->(n)", "irfft", transpose=lambda g, x, n, norm: _twice(ihfft(real(g), core_dims(x), norm=norm), n), many=True)
ihfft = linear("(n)->(n)", "ihfft", transpose=lambda g, x, norm: _back(irfft, g, x, norm), many=True)
# fmt: on


def resized(x: DimArray, n: int, dim: Any = LAST) -> DimArray:
    """Cut or padded with zeros at the end to size ``n``."""
    size = extent(x, dim)
    if size >= n:
        return slice_of(x, dim, slice(0, n))
    sizes = tuple(n - size if name == dim else s for name, s in zip(x.names, x.full_shape, strict=True))
    return join([x, make_like(zeros_spread(x, Like(x.names, sizes, x.dtype)), x)], dim)

