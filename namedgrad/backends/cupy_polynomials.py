"""Polynomials, spherical Bessel functions, powers and logarithms that CuPy lacks, for real numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.special import double, is_complex, result_dtype

Raw = Any
_ORDERS = 13  # of Bessel functions whose orders are on the device
_LARGEST = 20  # degree of a Legendre function that is not whole: of larger ones large terms cancel
_DEGREES = 64  # of polynomials whose degrees are on the device


class CupyPolynomials(Kernels):
    """A part of :class:`namedgrad.backends.cupy.CupyBackend`."""

    # ---------------------------------------------------------------- powers and logarithms

    def exprel(self, x: Raw) -> Raw:
        """The relative exponential."""
        return self.exprel_order(0, x)

    def cosm1(self, x: Raw) -> Raw:
        """``cos(x) - 1``."""
        half = self.xp.sin(0.5 * x)
        return -2 * half * half

    def boxcox(self, x: Raw, k: Raw) -> Raw:
        """The transformation of Box and Cox."""
        return self._of_logarithm(self.xp.log(x), k)

    def boxcox1p(self, x: Raw, k: Raw) -> Raw:
        """That of ``1 + x``."""
        return self._of_logarithm(self.xp.log1p(x), k)

    def _of_logarithm(self, log: Raw, k: Raw) -> Raw:
        xp = self.xp
        end, none = xp.isinf(log), xp.equal(k, 0)
        inner, power = xp.where(end, 0.0, log), xp.where(none, 1.0, k)
        last = xp.where(none, log, xp.expm1(xp.where(end, log, 0.0) * power) / power)
        return xp.where(end, last, inner * self.exprel_order(0, k * inner)).astype(result_dtype(log, k))

    def inv_boxcox(self, x: Raw, k: Raw) -> Raw:
        """Its inverse."""
        return self.xp.exp(x * self.log1p_ratio_order(0, k * x)).astype(result_dtype(x, k))

    def inv_boxcox1p(self, x: Raw, k: Raw) -> Raw:
        """That less 1."""
        return self.xp.expm1(x * self.log1p_ratio_order(0, k * x)).astype(result_dtype(x, k))

    # ---------------------------------------------------------------- orthogonal polynomials

    def lpmv(self, m: Raw, v: Raw, x: Raw) -> Raw:
        """The associated Legendre function, of degrees that are not whole from Gauss' (DLMF 14.3.4 and 14.9.3)."""
        xp, dtype, m, v, x = self.xp, result_dtype(m, v, x), double(m), double(v), double(x)
        zero = 0.0 * x
        m, v = m + zero, xp.maximum(v, -1 - v) + zero
        order = xp.absolute(m)
        rising = self.special.poch(v + 1 - order, 2 * order)
        front = xp.where(m < 0, 1.0, rising * (1 - 2 * xp.remainder(order, 2)))
        front = front * xp.exp(-self.special.gammaln(order + 1))
        gauss = self.hyp2f1_order(0, 0, 0, order - v, order + v + 1, order + 1, 0.5 * (1 - x))
        out = front * (0.25 * (1 - x) * (1 + x)) ** (0.5 * order) * gauss
        out = xp.where(xp.logical_and(xp.equal(rising, 0), m >= 0), 0.0, out)
        whole = xp.logical_and(xp.equal(v, xp.rint(v)), order <= v)
        sign = xp.where(m < 0, 1 / xp.where(whole, rising, 1.0), 1 - 2 * xp.remainder(order, 2))
        out = xp.where(whole, sign * self._legendre(order, v, x), xp.where(v <= _LARGEST, out, math.nan))
        return xp.where(xp.logical_and(xp.absolute(x) <= 1, xp.equal(m, xp.rint(m))), out, math.nan).astype(dtype)

    def _legendre(self, order: Raw, v: Raw, x: Raw) -> Raw:
        """That of whole degrees without its sign, by recurrence from that of ``order`` (DLMF 14.7.15 and 14.10.3)."""
        xp = self.xp
        first = self.special.poch(0.5, order) * (4 * (1 - x) * (1 + x)) ** (0.5 * order)
        below, now = 0.0 * first, first
        for k in range(_DEGREES):
            degree = order + k
            above = ((2 * degree + 1) * x * now - (degree + order) * below) / (k + 1)
            below, now = now, xp.where(degree < v, above, now)
        return xp.where(v - order <= _DEGREES, now, math.nan)

    def _polynomial(
        self, n: Raw, x: Raw, first: Callable[[Raw], Raw], step: Callable[[int, Raw, Raw], Raw], negative: float = 0.0
    ) -> Raw:
        """By a recurrence over three degrees; of degrees on the device up to 64; ``negative`` ones as in SciPy."""
        xp = self.xp
        below, now = 0.0 * x + 1.0, first(x) + 0.0 * x
        if isinstance(n, (int, float, np.number)):
            if n < 1:
                return below if n == 0 else below * negative
            for k in range(1, int(n)):
                below, now = now, step(k, now, below)
            return now
        out = xp.where(xp.equal(n, 1), now, xp.where(xp.equal(n, 0), below, xp.where(n < 0, negative, math.nan)))
        for k in range(1, _DEGREES):
            below, now = now, step(k, now, below)
            out = xp.where(xp.equal(n, k + 1), now, out)
        return out

    def eval_jacobi(self, n: Raw, a: Raw, b: Raw, x: Raw) -> Raw:
        """Jacobi polynomials (DLMF 18.9.2)."""
        dtype, x = result_dtype(x), double(x)

        def step(k: int, now: Raw, below: Raw) -> Raw:
            s = 2 * k + a + b
            middle = (s + 1) * ((s + 2) * s * x + a * a - b * b) * now - 2 * (k + a) * (k + b) * (s + 2) * below
            return middle / (2 * (k + 1) * (k + a + b + 1) * s)

        return self._polynomial(n, x, lambda x: 0.5 * (a - b + (a + b + 2) * x), step).astype(dtype)

    def eval_legendre(self, n: Raw, x: Raw) -> Raw:
        """Legendre polynomials."""
        dtype, x = result_dtype(x), double(x)
        step = lambda k, now, below: ((2 * k + 1) * x * now - k * below) / (k + 1)
        return self._polynomial(abs(n + 0.5) - 0.5, x, lambda x: x, step).astype(dtype)  # -1 - n is n

    def eval_gegenbauer(self, n: Raw, a: Raw, x: Raw) -> Raw:
        """Gegenbauer polynomials."""
        dtype, x = result_dtype(x), double(x)
        step = lambda k, now, below: (2 * (k + a) * x * now - (k + 2 * a - 1) * below) / (k + 1)
        return self._polynomial(n, x, lambda x: 2 * a * x, step).astype(dtype)

    def eval_chebyt(self, n: Raw, x: Raw) -> Raw:
        """Chebyshev polynomials of the first kind."""
        dtype, x = result_dtype(x), double(x)
        return self._polynomial(abs(n), x, lambda x: x, lambda k, now, below: 2 * x * now - below).astype(dtype)

    def eval_chebyu(self, n: Raw, x: Raw) -> Raw:
        """Those of the second kind."""
        dtype, x = result_dtype(x), double(x)
        sign = 1.0 * (n > -1) - 1.0 * (n < -1)  # DLMF 18.7.3, as sines: -2 - n is -n
        out = self._polynomial(abs(n + 1) - 1, x, lambda x: 2 * x, lambda k, now, below: 2 * x * now - below)
        return (sign * out).astype(dtype)

    def eval_genlaguerre(self, n: Raw, a: Raw, x: Raw) -> Raw:
        """Generalized Laguerre polynomials."""
        dtype, x = result_dtype(x), double(x)
        step = lambda k, now, below: ((2 * k + 1 + a - x) * now - (k + a) * below) / (k + 1)
        return self._polynomial(n, x, lambda x: 1 + a - x, step).astype(dtype)

    def eval_laguerre(self, n: Raw, x: Raw) -> Raw:
        """Laguerre polynomials."""
        return self.eval_genlaguerre(n, 0, x)

    def eval_hermite(self, n: Raw, x: Raw) -> Raw:
        """Hermite polynomials."""
        dtype, x = result_dtype(x), double(x)
        step = lambda k, now, below: 2 * (x * now - k * below)
        return self._polynomial(n, x, lambda x: 2 * x, step, math.nan).astype(dtype)

    def eval_hermitenorm(self, n: Raw, x: Raw) -> Raw:
        """Those of the weight ``exp(-x**2 / 2)``."""
        dtype, x = result_dtype(x), double(x)
        step = lambda k, now, below: x * now - k * below
        return self._polynomial(n, x, lambda x: x, step, math.nan).astype(dtype)

    # ---------------------------------------------------------------- of other intervals

    def eval_sh_legendre(self, n: Raw, x: Raw) -> Raw:
        """Shifted Legendre polynomials."""
        return self.eval_legendre(n, 2 * double(x) - 1).astype(result_dtype(x))

    def eval_sh_chebyt(self, n: Raw, x: Raw) -> Raw:
        """Shifted Chebyshev polynomials of the first kind."""
        return self.eval_chebyt(n, 2 * double(x) - 1).astype(result_dtype(x))

    def eval_sh_chebyu(self, n: Raw, x: Raw) -> Raw:
        """Those of the second kind."""
        return self.eval_chebyu(n, 2 * double(x) - 1).astype(result_dtype(x))

    def eval_chebyc(self, n: Raw, x: Raw) -> Raw:
        """Chebyshev polynomials of the first kind up to 2."""
        return (2 * self.eval_chebyt(n, 0.5 * double(x))).astype(result_dtype(x))

    def eval_chebys(self, n: Raw, x: Raw) -> Raw:
        """Those of the second kind."""
        return self.eval_chebyu(n, 0.5 * double(x)).astype(result_dtype(x))

    def eval_sh_jacobi(self, n: Raw, p: Raw, q: Raw, x: Raw) -> Raw:
        """Shifted Jacobi polynomials, whose highest coefficient is 1."""
        n, p, q = double(n), double(p), double(q)
        out = self.eval_jacobi(n, p - q, q - 1, 2 * double(x) - 1)
        return (out / self.binom(2 * n + p - 1, n)).astype(result_dtype(x))

    # ---------------------------------------------------------------- spherical Bessel functions

    def spherical_jn(self, n: Raw, x: Raw) -> Raw:
        """That of the first kind."""
        return self._of_orders(self.spherical_j, n, x)

    def spherical_yn(self, n: Raw, x: Raw) -> Raw:
        """That of the second kind."""
        return self._of_orders(self._spherical_y, n, x)

    def spherical_in(self, n: Raw, x: Raw) -> Raw:
        """The modified one of the first kind."""
        return self._of_orders(self._spherical_i, n, x)

    def spherical_kn(self, n: Raw, x: Raw) -> Raw:
        """The modified one of the second kind."""
        return self._of_orders(self._spherical_k, n, x)

    def _of_orders(self, function: Callable[[int, Raw], Raw], n: Raw, x: Raw) -> Raw:
        """A function of one order, or of orders on the device, up to 12."""
        if isinstance(n, (int, float, np.number)):
            return function(int(n), x)
        out: Any = math.nan
        for k in range(_ORDERS):
            out = self.xp.where(self.xp.equal(n, k), function(k, x), out)
        return out.astype(result_dtype(x))

    def _spherical_y(self, n: int, x: Raw) -> Raw:
        """That of the second kind, by recurrence upwards (DLMF 10.51.1)."""
        xp, dtype, x = self.xp, result_dtype(x), double(x)
        with np.errstate(all="ignore"):
            below, out = xp.sin(x) / x, -xp.cos(x) / x
            for k in range(n):
                below, out = out, (2 * k + 1) / x * out - below
            if not is_complex(x):
                out = xp.where(xp.equal(x, 0), -math.inf, xp.where(xp.isinf(x), 0.0, out))
        return out.astype(dtype)

    def _spherical_k(self, n: int, x: Raw) -> Raw:
        """The modified one of the second kind, by recurrence upwards (DLMF 10.51.4)."""
        xp, dtype, x = self.xp, result_dtype(x), double(x)
        with np.errstate(all="ignore"):
            below = out = 0.5 * math.pi / x * xp.exp(-x)
            for k in range(n):
                below, out = out, (2 * k + 1) / x * out + below
        return out.astype(dtype)

    def _spherical_i(self, n: int, x: Raw) -> Raw:
        """The modified one of the first kind: near 0 by the power series, else by recurrence upwards."""
        if is_complex(x):
            return ((-1j) ** n * self.spherical_j(n, 1j * double(x))).astype(result_dtype(x))
        xp, dtype, x, bound = self.xp, result_dtype(x), double(x), max(2.0, 0.5 * n * n)

        def series(z: Raw) -> Raw:
            first, out = 1 / math.prod(range(1, 2 * n + 2, 2)), 1.0
            square = 0.5 * z * z
            for k in range(25 + int(1.5 * bound), 0, -1):
                out = 1 + square / (k * (2 * (n + k) + 1)) * out
            return first * z**n * out

        def recurrence(z: Raw) -> Raw:
            below, out = xp.cosh(z) / z, xp.sinh(z) / z
            for k in range(n):
                below, out = out, below - (2 * k + 1) / z * out
            return out

        with np.errstate(all="ignore"):
            out = self._pieces(xp.absolute(x) < bound, series, recurrence, x, (0.5, 2.0 * bound))
            out = xp.where(xp.isinf(x), xp.where(x < 0, (-1.0) ** n, 1.0) * math.inf, out)
        return out.astype(dtype)
