"""Discrete Fourier transforms along one dim, as NumPy defines them (no scaling forward, 1/n backward).

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
from namedgrad.rules.complex import conjugate, real
from namedgrad.rules.elementwise import c, logical_or
from namedgrad.rules.movement import core_size, join, slice_of
from namedgrad.rules.structure import cast, equal, make_like, multiply, positions, where, zeros_spread

LAST = axes.core(-1)


def _rfft_pullback(g: DimArray, x: Like) -> DimArray:
    """Re(sum of g_k w^kn), which is what the inverse gives of the conjugates, but for the weights and for 1/n."""
    n = core_size(x)
    return irfft(multiply(conjugate(to_complex(g)), _weights(g, n, n, n / 2)), n=n)


def _irfft_pullback(g: DimArray, x: Like, n: int) -> DimArray:
    """Every frequency but the first (and the last of an even n) stands for two, of which the other is conjugate."""
    return multiply(conjugate(rfft(real(g))), _weights(g, n, 1 / n, 2 / n))


def _weights(g: DimArray, n: int, alone: float, paired: float) -> DimArray:
    """A weight per non-negative frequency of ``n``: most have a negative one, the first and n / 2 have not."""
    at = positions(n // 2 + 1, LAST, g)
    single = logical_or(equal(at, c(0)), equal(at, c(n / 2)))
    return cast(where(single, c(float(alone)), c(float(paired))), g.dtype.type(0).real.dtype)


def to_complex(g: DimArray) -> DimArray:
    """In the complex dtype of the same precision."""
    return g if g.dtype.kind == "c" else cast(g, np.result_type(g.dtype, np.complex64))


# fmt: off
fft   = linear("(n)->(n)", "fft",   transpose=lambda g, x: fft(to_complex(g)))
ifft  = linear("(n)->(n)", "ifft",  transpose=lambda g, x: ifft(to_complex(g)))
rfft  = linear("(n)->(n)", "rfft",  transpose=_rfft_pullback)
irfft = linear("(n)->(n)", "irfft", transpose=_irfft_pullback)
# fmt: on


def resized(x: DimArray, n: int, dim: Any = LAST) -> DimArray:
    """Cut or padded with zeros at the end to size ``n``."""
    size = extent(x, dim)
    if size >= n:
        return slice_of(x, dim, slice(0, n))
    sizes = tuple(n - size if name == dim else s for name, s in zip(x.names, x.full_shape, strict=True))
    return join([x, make_like(zeros_spread(x, Like(x.names, sizes, x.dtype)), x)], dim)

