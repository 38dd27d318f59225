"""Kernels of the normal distribution and the scaled error functions, accurate in both tails."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.special import FEW, double, is_complex, is_short, result_dtype

Raw = Any


class NormalKernels(Kernels):
    """A part of :class:`namedgrad.backends.base.Backend`."""

    def value_and_slope(self, name: str, x: Raw) -> tuple[Raw, Raw] | None:
        """Those of many cells in single precision, from one value in double precision; of others None."""
        if not self.may_branch or getattr(x, "dtype", None) != np.float32 or x.size < FEW:
            return None
        wide = double(x)
        y = self.function(name)(wide)
        with np.errstate(over="ignore"):
            return y.astype(x.dtype), self.function(f"{name}_slope")(wide, y).astype(x.dtype)

    def erfcx_order(self, n: int, x: Raw) -> Raw:
        """Repeated integrals of erfc, scaled: ``exp(x**2) i^n erfc(x)`` (DLMF 7.18); ``erfcx(x) = w(i x)``."""
        if is_complex(x):
            return (-0.5j) ** n / math.factorial(n) * self.wofz_order(n, 1j * x)
        dtype, x = result_dtype(x), double(x)

        def left(z: Raw) -> Raw:
            below, out = 2 / math.sqrt(math.pi), self.special.erfcx(z)
            for k in range(1, n + 1):
                below, out = out, (below - 2 * z * out) / (2 * k)
            return out

        def right(z: Raw) -> Raw:
            out = self.special.erfcx(z)
            for k in range(1, n + 1):
                out = out * self._erfc_ratio(k, z)
            return out

        return self._pieces(x > 1.5, right, left, x, (2.0, 0.0)).astype(dtype)

    def erfcx_slope(self, x: Raw, y: Raw) -> Raw:
        """``(erfcx)'``, -2 times the first of these, from the value ``y``."""
        if not self.may_branch or is_short(x, y):
            return -2.0 * self.erfcx_order(1, x)
        with np.errstate(all="ignore"):
            out = 2 * x * y - 2 / math.sqrt(math.pi)
            return self._repaired(out, np.real(x) > 1.5, lambda x, y: -2.0 * y * self._erfc_ratio(1, x), x, y)

    def erfcx_ratio(self, x: Raw) -> Raw:
        """``erfcx_order(1, x) / erfcx(x)``, which is Mills' ratio turned over, less ``x``."""
        dtype, x = result_dtype(x), double(x)

        def left(z: Raw) -> Raw:
            return self._over_erfcx(z) / math.sqrt(math.pi) - z

        return self._pieces(self.xp.real(x) > 1.5, lambda z: self._erfc_ratio(1, z), left, x, (2.0, 0.0)).astype(dtype)

    def _erfc_ratio(self, n: int, x: Raw) -> Raw:
        """``i^n erfc(x) / i^(n-1) erfc(x)`` by its continued fraction (DLMF 7.18.13)."""
        tail = x
        for k in range(90, 0, -1):
            tail = x + ((n + k) / 2) / tail
        return 0.5 / tail

    def normal_hazard(self, x: Raw) -> Raw:
        """Density over distribution function of the standard normal distribution: ``(log_ndtr)'``."""
        out = math.sqrt(2 / math.pi) * self._over_erfcx(double(x) * -math.sqrt(0.5))
        return out.astype(result_dtype(x))

    def _over_erfcx(self, z: Raw) -> Raw:
        """One over the scaled function: a complex infinity divides to NaN."""
        scaled = self.special.erfcx(z)
        return self.xp.where(self.xp.isinf(scaled), 0.0, 1 / scaled) if is_complex(z) else 1 / scaled

    def log_ndtr_slope(self, x: Raw, y: Raw) -> Raw:
        """The same from the value ``y`` of ``log_ndtr``, without its loss of digits in the left tail."""
        if not self.may_branch or is_short(x, y):
            return self.normal_hazard(x)
        with np.errstate(all="ignore"):
            out = np.exp(-0.5 * x * x - y) * (1 / math.sqrt(2 * math.pi))
            return self._repaired(out, np.logical_not(x > -1.0), self.normal_hazard, x)

    def ndtri_exp_slope(self, x: Raw, y: Raw) -> Raw:
        """That of the quantile ``y`` whose logarithm of the distribution function is ``x``."""
        return 1 / self.log_ndtr_slope(y, x)

    def normal_hazard_bend(self, x: Raw, y: Raw) -> Raw:
        """The derivative of the hazard ``y``, ``-y (x + y)``: 0 on the right, and -1 at the end on the left."""
        excess = math.sqrt(2) * self.erfcx_ratio(-math.sqrt(0.5) * x)
        out = -self.function("scale")(y, excess)
        return self.xp.where(self.xp.equal(x, -math.inf), -1.0, out).astype(result_dtype(x))

    def normal_hazard_order(self, n: int, x: Raw) -> Raw:
        """The n-th derivative of the hazard, from the second on, where two terms of that of the first one cancel."""
        dtype, x = result_dtype(x), double(x)

        def left(x: Raw) -> Raw:  # by the asymptotic series of x + y, from that of erfc (DLMF 7.12.1)
            terms = [-1.0]
            for k in range(1, 26):
                terms.append(sum(a * b for a, b in zip(terms, reversed(terms), strict=True)) - (2 * k - 1) * terms[-1])
            rising = [math.perm(2 * k + n, n) * a for k, a in enumerate(terms)]
            return self.polynomial(rising[::-1], 1 / (x * x)) * (-1 / x) ** n / x

        def right(x: Raw) -> Raw:  # by the equation y' = -y (x + y), differentiated
            x = self.xp.minimum(x, 1e3)
            y = [self.normal_hazard(x)]
            excess = [math.sqrt(2) * self.erfcx_ratio(-math.sqrt(0.5) * x)]
            for k in range(n):
                y.append(-sum(math.comb(k, i) * y[i] * excess[k - i] for i in range(k + 1)))
                excess.append(y[-1] if k else 1 + y[-1])
            return y[n]

        with np.errstate(all="ignore"):
            return self._pieces(x < -10.0, left, right, x, (-20.0, 0.0)).astype(dtype)

    def ndtri_exp(self, y: Raw) -> Raw:
        """The quantile function of the normal distribution at ``exp(y)``; far tails by Newton's method."""
        if given := self._given("ndtri_exp", y):
            return given(y)
        xp = self.xp
        dtype, y = result_dtype(y), double(y)
        far = y < -300.0
        upper = y > -0.01  # there the quantile is that of the complement
        near = self.special.ndtri(xp.exp(xp.where(far, -1.0, y)))
        above = -self.special.ndtri(-xp.expm1(xp.where(upper, y, -1.0)))
        x = -xp.sqrt(-2 * xp.where(far, y, -300.0))
        for _ in range(6):
            x = x - (self.special.log_ndtr(x) - xp.where(far, y, -300.0)) / self.normal_hazard(x)
        out = xp.where(far, x, xp.where(upper, above, near))
        return xp.where(xp.equal(y, -math.inf), -math.inf, out).astype(dtype)
