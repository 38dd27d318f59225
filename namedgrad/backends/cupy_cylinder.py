"""Bessel functions by other names that CuPy lacks: of Hankel and Kelvin, most of them for real numbers only."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from namedgrad.backends.cupy_integrals import require_real
from namedgrad.backends.part import Kernels
from namedgrad.backends.special import double, is_complex, result_dtype

Raw = Any
_TURN = cmath.exp(0.25j * math.pi)


class CupyCylinder(Kernels):
    """A part of :class:`namedgrad.backends.cupy.CupyBackend`."""

    def kn(self, n: Raw, x: Raw) -> Raw:
        """The modified one of the second kind."""
        return self.kv(n, x)

    def yn(self, n: Raw, x: Raw) -> Raw:
        """That of the second kind."""
        return self.yv(n, x)

    def jve(self, v: Raw, z: Raw) -> Raw:
        """That of the first kind, at real numbers without a factor."""
        return self.jv(v, require_real(z, "jve")).astype(result_dtype(v, z))

    def yve(self, v: Raw, z: Raw) -> Raw:
        """That of the second kind."""
        return self.yv(v, require_real(z, "yve")).astype(result_dtype(v, z))

    def hankel1(self, v: Raw, z: Raw) -> Raw:
        """``J + i Y``."""
        return self._hankel(v, z, 1, bare=False)

    def hankel2(self, v: Raw, z: Raw) -> Raw:
        """``J - i Y``."""
        return self._hankel(v, z, -1, bare=False)

    def hankel1e(self, v: Raw, z: Raw) -> Raw:
        """The first, times ``exp(-i z)``."""
        return self._hankel(v, z, 1, bare=True)

    def hankel2e(self, v: Raw, z: Raw) -> Raw:
        """The second, times ``exp(i z)``."""
        return self._hankel(v, z, -1, bare=True)

    def _hankel(self, v: Raw, z: Raw, sign: int, *, bare: bool) -> Raw:
        """From J and Y; of complex numbers where they grow and cancel from K (DLMF 10.27.8)."""
        xp, dtype, z = self.xp, np.result_type(result_dtype(v, z), np.complex64), double(z)

        def of_waves(z: Raw) -> Raw:
            return (self.jv(v, z) + 1j * sign * self.yv(v, z)) * (xp.exp(-1j * sign * z) if bare else 1.0)

        if not is_complex(z):
            return of_waves(z).astype(dtype)
        grows = sign * xp.imag(z) <= 0  # on the axis K has another side of the cut
        w = -1j * sign * xp.where(grows, 1j * sign, z)
        factor = -2j * sign / math.pi * xp.exp(-0.5j * math.pi * sign * v - (0.0 if bare else w))
        return xp.where(grows, of_waves(xp.where(grows, z, 1.0)), factor * self.kve(v, w)).astype(dtype)

    # ---------------------------------------------------------------- of an eighth of a turn

    def ber(self, x: Raw) -> Raw:
        """The real part of I of order 0."""
        return self._kelvin_first(0.0, x)[0].astype(result_dtype(x))

    def bei(self, x: Raw) -> Raw:
        """The imaginary part."""
        return self._kelvin_first(0.0, x)[1].astype(result_dtype(x))

    def berp(self, x: Raw) -> Raw:
        """The slope of the real part, from order 1."""
        return self._kelvin_first(1.0, x)[0].astype(result_dtype(x))

    def beip(self, x: Raw) -> Raw:
        """That of the imaginary part."""
        return self._kelvin_first(1.0, x)[1].astype(result_dtype(x))

    def ker(self, x: Raw) -> Raw:
        """The real part of K of order 0."""
        return self._kelvin_second(0.0, x)[0].astype(result_dtype(x))

    def kei(self, x: Raw) -> Raw:
        """The imaginary part."""
        return self._kelvin_second(0.0, x)[1].astype(result_dtype(x))

    def kerp(self, x: Raw) -> Raw:
        """The slope of the real part."""
        return self._kelvin_second(1.0, x)[0].astype(result_dtype(x))

    def keip(self, x: Raw) -> Raw:
        """That of the imaginary part."""
        return self._kelvin_second(1.0, x)[1].astype(result_dtype(x))

    def _kelvin_first(self, order: float, x: Raw) -> tuple[Raw, Raw]:
        xp, x = self.xp, require_real(x, "ber")
        w = self.iv(order, xp.absolute(x) * _TURN) * _TURN**order
        w = xp.where(x < 0, -w, w) if order else w
        return xp.real(w), xp.imag(w)

    def _kelvin_second(self, order: float, x: Raw) -> tuple[Raw, Raw]:
        xp, x = self.xp, require_real(x, "ker")
        with np.errstate(all="ignore"):
            right = x > 0
            w = self.kv(order, xp.where(right, x, 1.0) * _TURN) * (-_TURN) ** order
        real, imag = (-math.inf, 0.0) if order else (math.inf, -0.25 * math.pi)
        ends = (xp.where(x == 0, end, math.nan) for end in (real, imag))
        return tuple(xp.where(right, part, end) for part, end in zip((xp.real(w), xp.imag(w)), ends, strict=True))
