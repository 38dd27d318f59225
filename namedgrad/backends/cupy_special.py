"""Special functions that CuPy lacks, made of those that it has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.backends.cupy_confluent import CupyConfluent
from namedgrad.backends.cupy_cylinder import CupyCylinder
from namedgrad.backends.cupy_distributions import CupyDistributions
from namedgrad.backends.cupy_elementary import CupyElementary
from namedgrad.backends.cupy_integrals import CupyIntegrals
from namedgrad.backends.cupy_polynomials import CupyPolynomials
from namedgrad.backends.cupy_symmetric import CupySymmetric
from namedgrad.backends.faddeeva import ErrorFunctions
from namedgrad.backends.failures import NoKernelError
from namedgrad.backends.special import double, is_complex, result_dtype

Raw = Any
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)


class NoFunctions:
    """What stands for ``cupyx.scipy.special`` where that is missing."""

    def __getattr__(self, name: str) -> Any:
        raise NoKernelError(repr(name))


class CupySpecial(
    ErrorFunctions, CupyConfluent, CupyCylinder, CupyDistributions, CupyElementary, CupyIntegrals, CupyPolynomials,
    CupySymmetric,
):
    """A part of :class:`namedgrad.backends.cupy.CupyBackend`."""

    def spacing(self, x: Raw) -> Raw:
        """The distance to the next number."""
        size = self.xp.absolute(x)
        return self.xp.copysign(self.xp.nextafter(size, math.inf) - size, x)

    # ---------------------------------------------------------------- gamma and beta

    def gamma(self, x: Raw) -> Raw:
        """The gamma function."""
        return self.xp.exp(self.special.loggamma(x)) if is_complex(x) else self.special.gamma(x)

    def digamma(self, x: Raw) -> Raw:
        """The digamma function; next to its poles by reflection, DLMF 5.5.4, as CuPy's has lost its digits there."""
        if is_complex(x):
            return self.complex_polygamma(0, x)
        xp = self.xp
        turn = x - xp.rint(x)
        near = xp.logical_and(xp.logical_and(xp.less(x, -0.5), xp.absolute(turn) < 0.1), turn != 0)
        out = self.special.digamma(xp.where(near, 1 - x, x))
        return xp.where(near, out - math.pi / xp.tan(math.pi * turn), out)

    def real_polygamma(self, n: Raw, x: Raw) -> Raw:
        """From Hurwitz' zeta function, DLMF 25.11.12."""
        if isinstance(n, int):
            sign = (-1.0) ** (n + 1) * math.factorial(n)
            return sign * self.special.zeta(n + 1.0, x) if n else self.digamma(x)
        xp, after = self.xp, n + 1.0
        higher = xp.where(xp.equal(n % 2, 0), -1.0, 1.0) * self.special.gamma(after) * self.special.zeta(after, x)
        return xp.where(xp.equal(n, 0), self.digamma(x), higher)

    def chdtr(self, v: Raw, x: Raw) -> Raw:
        """The distribution function of the chi-square distribution."""
        return self.special.gammainc(0.5 * v, 0.5 * x)

    def chdtrc(self, v: Raw, x: Raw) -> Raw:
        """Its complement."""
        return self.special.gammaincc(0.5 * v, 0.5 * x)

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
        size = xp.minimum(xp.absolute(a), 1e300)  # as good as infinite, also times 0
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
        return self.kve_order(0, v, x)

    def kv(self, v: Raw, x: Raw) -> Raw:
        """Modified Bessel function of the second kind."""
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
        """Bessel function of the first kind."""
        return self.jv_order(0, v, x)

    def yv(self, v: Raw, x: Raw) -> Raw:
        """Bessel function of the second kind."""
        return self.yv_order(0, v, x)

    def iv(self, v: Raw, x: Raw) -> Raw:
        """Modified Bessel function of the first kind."""
        return self.iv_order(0, v, x)

    def ive(self, v: Raw, x: Raw) -> Raw:
        """The same, scaled."""
        return self.ive_order(0, v, x)

    def hyp2f1(self, a: Raw, b: Raw, c: Raw, x: Raw) -> Raw:
        """Gauss' hypergeometric function."""
        return self.hyp2f1_order(0, 0, 0, a, b, c, x)
