"""Special functions that CuPy lacks, made of those that it has.

Bessel functions are there for orders that are known beforehand as plain integers, which is all that derivatives of the
functions of order 0 and 1 need; an order that lies on the device would have to be looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.special import double, is_complex, result_dtype

Raw = Any
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)


class NoKernelError(TypeError, AttributeError):
    """A function that this backend lacks."""


class NoFunctions:
    """What stands for ``cupyx.scipy.special`` where that is missing."""

    def __getattr__(self, name: str) -> Any:
        raise NoKernelError(f"the cupy backend has no kernel {name!r}; use .to('numpy') to compute it on the host")


class CupySpecial:
    """A part of :class:`namedgrad.backends.cupy.CupyBackend`."""

    xp: Any
    special: Any
    kve_order: Callable[..., Raw]
    complex_polygamma: Callable[..., Raw]

    def spacing(self, x: Raw) -> Raw:
        """The distance to the next number."""
        size = self.xp.absolute(x)
        return self.xp.copysign(self.xp.nextafter(size, math.inf) - size, x)

    # ---------------------------------------------------------------- gamma and beta

    def gamma(self, x: Raw) -> Raw:
        """The gamma function."""
        return self.xp.exp(self.special.loggamma(x)) if is_complex(x) else self.special.gamma(x)

    def digamma(self, x: Raw) -> Raw:
        """The digamma function."""
        return self.complex_polygamma(0, x) if is_complex(x) else self.special.digamma(x)

    def real_polygamma(self, n: Raw, x: Raw) -> Raw:
        """From Hurwitz' zeta function, DLMF 25.11.12."""
        if isinstance(n, int):
            sign = (-1.0) ** (n + 1) * math.factorial(n)
            return sign * self.special.zeta(n + 1.0, x) if n else self.special.digamma(x)
        xp, after = self.xp, n + 1.0
        higher = xp.where(xp.equal(n % 2, 0), -1.0, 1.0) * self.special.gamma(after) * self.special.zeta(after, x)
        return xp.where(xp.equal(n, 0), self.special.digamma(x), higher)

    def betaincc(self, a: Raw, b: Raw, x: Raw) -> Raw:
        """The complement of the incomplete beta function, by its symmetry."""
        return self.special.betainc(b, a, 1 - x)

    def betainccinv(self, a: Raw, b: Raw, q: Raw) -> Raw:
        """Its inverse."""
        upper = self.special.betaincinv(b, a, q)
        return self.xp.where(q > 0.5, self.special.betaincinv(a, b, 1 - q), 1 - upper)

    def owens_t(self, h: Raw, a: Raw) -> Raw:
        """Owen's T: Gauss-Legendre quadrature for ``a`` up to 1, above by its complement (Owen 1956)."""
        xp, ndtr = self.xp, self.special.ndtr
        dtype, h, a = result_dtype(h, a), xp.absolute(double(h)), double(a)
        size = xp.absolute(a)
        large = size > 1
        top, at = xp.where(large, 1 / xp.where(large, size, 1.0), size), xp.where(large, size * h, h)
        total: Any = 0.0
        for node, weight in zip((_NODES + 1) / 2, _WEIGHTS / 2, strict=True):
            square = (node * top) ** 2
            total = total + weight * xp.exp(-0.5 * at * at * (1 + square)) / (1 + square)
        inner = total * top / (2 * math.pi)
        p, q = ndtr(-h), ndtr(-xp.where(large, size * h, 0.0))
        out = xp.where(large, 0.5 * (p + q) - p * q - inner, inner)
        return (xp.where(a < 0, -1.0, 1.0) * out).astype(dtype)

    # ---------------------------------------------------------------- Bessel functions

    def kve(self, v: Raw, x: Raw) -> Raw:
        """Scaled modified Bessel function of the second kind."""
        self._real("kve", x)
        return self.kve_order(0, v, x)

    def kv(self, v: Raw, x: Raw) -> Raw:
        """Modified Bessel function of the second kind."""
        self._real("kv", x)
        return self.kve_order(0, v, x) * self.xp.exp(-x)

    def k0e(self, x: Raw) -> Raw:
        """That of order 0."""
        return self.kve(0.0, x)

    def k1e(self, x: Raw) -> Raw:
        """That of order 1."""
        return self.kve(1.0, x)

    def k0(self, x: Raw) -> Raw:
        """Unscaled, of order 0."""
        return self.kv(0.0, x)

    def k1(self, x: Raw) -> Raw:
        """Unscaled, of order 1."""
        return self.kv(1.0, x)

    def jv(self, v: Raw, x: Raw) -> Raw:
        """Bessel function of the first kind and an order that is known."""
        n = self._known("jv", v, x)
        return self._upwards(n, x, (self.special.j0, self.special.j1), sign=-1, mirror=(-1) ** n)

    def yv(self, v: Raw, x: Raw) -> Raw:
        """Bessel function of the second kind."""
        n = self._known("yv", v, x)
        below, out = self.special.y0(x), self.special.y1(x)
        for k in range(1, abs(n)):
            below, out = out, 2 * k / x * out - below
        return (below if n == 0 else out) * (1 if n >= 0 else (-1) ** n)

    def iv(self, v: Raw, x: Raw) -> Raw:
        """Modified Bessel function of the first kind."""
        n = self._known("iv", v, x)
        return self._upwards(n, x, (self.special.i0, self.special.i1), sign=1, mirror=1)

    def ive(self, v: Raw, x: Raw) -> Raw:
        """The same, scaled."""
        n = self._known("ive", v, x)
        damp = self.xp.exp(-self.xp.absolute(x))
        return self._upwards(n, x, (self.special.i0e, self.special.i1e), sign=1, mirror=1, damp=damp)

    def _upwards(self, n: int, x: Raw, first: Any, *, sign: int, mirror: int, damp: Raw = 1.0) -> Raw:
        """The power series near 0, recurrence from orders 0 and 1 elsewhere."""
        xp, factor = self.xp, mirror if n < 0 else 1
        n = abs(n)
        if n < 2:
            return first[n](x) * factor
        dtype, x = result_dtype(x), double(x)
        near = xp.absolute(x) < (n + 1 if sign < 0 else 16)
        z = xp.where(near, x, 0.5) / 2
        term = z**n / math.factorial(n)
        series = term
        for k in range(1, 40):
            term = sign * term * z * z / (k * (n + k))
            series = series + term
        z = xp.where(near, 20.0, x)
        below, out = first[0](z), first[1](z)
        for k in range(1, n):
            below, out = out, sign * (below - 2 * k / z * out)
        return (xp.where(near, series * damp, out) * factor).astype(dtype)

    def _real(self, name: str, x: Raw) -> None:
        if is_complex(x):
            raise NoKernelError(f"the cupy backend has no kernel {name!r} for complex numbers; use .to('numpy')")

    def _known(self, name: str, v: Raw, x: Raw) -> int:
        self._real(name, x)
        if isinstance(v, (int, float, np.generic)) and v == int(v):
            return int(v)
        raise NoKernelError(
            f"the cupy backend has {name!r} for orders that are plain integers only; use .to('numpy') for others"
        )
