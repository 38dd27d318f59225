"""``np.fft``, made of four transforms along one axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.positional.array import numbered
from namedgrad.positional.axis import name_of, names_of
from namedgrad.positional.protocol import implements
from namedgrad.rules import fourier as f
from namedgrad.rules import movement
from namedgrad.rules.complex import conjugate
from namedgrad.rules.elementwise import c
from namedgrad.rules.structure import cast, multiply

Step = Callable[[DimArray, Name, int | None], DimArray]
SCALES: dict[Any, tuple[float, float]] = {None: (0, 0), "backward": (0, 0), "ortho": (-0.5, 0.5), "forward": (-1, 1)}


def scaled(x: DimArray, n: int, norm: Any, *, inverse: bool) -> DimArray:
    """``norm=``: powers of n that the transforms, unscaled forward and by 1/n backward, are multiplied with."""
    if norm not in SCALES:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    power = SCALES[norm][inverse]
    return multiply(x, c(n**power)) if power else x


def _complex(x: DimArray) -> DimArray:
    return x if x.dtype.kind == "c" else cast(x, np.result_type(x.dtype, np.complex64))


def _float(x: DimArray, what: str) -> DimArray:
    if x.dtype.kind == "c":
        raise TypeError(
            f"np.fft.{what} needs a real array, got {x.dtype}; use np.fft.{what.lstrip('r')} or take its real part"
        )
    return x if x.dtype.kind == "f" else cast(x, "float64")


# ------------------------------------------------------------------------------------------------ one axis


def fft(x: DimArray, dim: Name, n: int | None, norm: Any = None) -> DimArray:
    """Forward transform."""
    n = extent(x, dim) if n is None else n
    return scaled(f.fft(f.resized(_complex(x), n, dim), (dim,)), n, norm, inverse=False)


def ifft(x: DimArray, dim: Name, n: int | None, norm: Any = None) -> DimArray:
    """Backward transform."""
    n = extent(x, dim) if n is None else n
    return scaled(f.ifft(f.resized(_complex(x), n, dim), (dim,)), n, norm, inverse=True)


def rfft(x: DimArray, dim: Name, n: int | None, norm: Any = None) -> DimArray:
    """Forward transform of a real array, non-negative frequencies."""
    n = extent(x, dim) if n is None else n
    return scaled(f.rfft(f.resized(_float(x, "rfft"), n, dim), (dim,)), n, norm, inverse=False)


def irfft(x: DimArray, dim: Name, n: int | None, norm: Any = None) -> DimArray:
    """Backward transform to a real array."""
    n = 2 * (extent(x, dim) - 1) if n is None else n
    return scaled(f.irfft(f.resized(_complex(x), n // 2 + 1, dim), (dim,), n=n), n, norm, inverse=True)


def hfft(x: DimArray, dim: Name, n: int | None, norm: Any = None) -> DimArray:
    """Forward transform of half of a Hermitian-symmetric array."""
    n = 2 * (extent(x, dim) - 1) if n is None else n
    y = irfft(conjugate(x), dim, n)
    return multiply(y, c(float(n) ** (1 + SCALES[norm][0])))


def ihfft(x: DimArray, dim: Name, n: int | None, norm: Any = None) -> DimArray:
    """Backward transform of a real array, half of it."""
    n = extent(x, dim) if n is None else n
    y = conjugate(rfft(x, dim, n))
    return multiply(y, c(float(n) ** (SCALES[norm][1] - 1)))


def _one(step: Callable[..., DimArray]) -> Callable[..., DimArray]:
    def function(a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> DimArray:
        if n is not None and n < 1:
            raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
        x = numbered(a)
        return step(x, name_of(x, axis), n, norm)

    return function


for _key, _step in (
    (np.fft.fft, fft), (np.fft.ifft, ifft), (np.fft.rfft, rfft), (np.fft.irfft, irfft), (np.fft.hfft, hfft),
    (np.fft.ihfft, ihfft),
):  # fmt: skip
    implements(_key)(_one(_step))


# ------------------------------------------------------------------------------------------------ several axes


def _plan(x: DimArray, s: Any, axes: Any) -> list[tuple[Name, int | None]]:
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    names = [name_of(x, a) for a in axes]
    sizes = [None] * len(names) if s is None else [None if n == -1 else n for n in s]
    if len(sizes) != len(names):
        raise ValueError("Shape and axes have different lengths.")
    return list(zip(names, sizes))


def _many(
    last: Callable[..., DimArray], other: Callable[..., DimArray], *, last_first: bool, default: Any
) -> Callable[..., DimArray]:
    def function(a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> DimArray:
        x = numbered(a)
        plan = _plan(x, s, axes)
        (end, size), rest = plan[-1], plan[:-1]
        if last_first:
            x = last(x, end, size, norm)
        for name, n in reversed(rest):
            x = other(x, name, n, norm)
        return x if last_first else last(x, end, size, norm)

    return function


for _several, _last, _other, _first, _default in (
    (np.fft.fft2, fft, fft, True, (-2, -1)), (np.fft.ifft2, ifft, ifft, True, (-2, -1)),
    (np.fft.fftn, fft, fft, True, None), (np.fft.ifftn, ifft, ifft, True, None),
    (np.fft.rfft2, rfft, fft, True, (-2, -1)), (np.fft.rfftn, rfft, fft, True, None),
    (np.fft.irfft2, irfft, ifft, False, (-2, -1)), (np.fft.irfftn, irfft, ifft, False, None),
):  # fmt: skip
    implements(_several)(_many(_last, _other, last_first=_first, default=_default))


def _shift(sign: int) -> Callable[..., DimArray]:
    def function(x: Any, axes: Any = None) -> DimArray:
        v = numbered(x)
        names = names_of(v, axes)
        return movement.roll(v, {n: extent(v, n) // 2 if sign > 0 else -(extent(v, n) // 2) for n in names})

    return function


implements(np.fft.fftshift)(_shift(1))
implements(np.fft.ifftshift)(_shift(-1))
