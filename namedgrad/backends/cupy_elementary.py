"""Special functions of few lines that CuPy lacks: of degrees, of one angle, of the gamma and the zeta function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from namedgrad.backends.failures import NoKernelError
from namedgrad.backends.part import Kernels
from namedgrad.backends.special import double, is_complex, result_dtype

Raw = Any
# Bernoulli numbers over factorials, of even orders, each over the order and 1; the highest first
_DILOGARITHM = [
    (-1) ** (k + 1) * 2 * float(scipy.special.zeta(2 * k)) / ((2 * math.pi) ** (2 * k) * (2 * k + 1))
    for k in range(30, 0, -1)
]


class CupyElementary(Kernels):
    """A part of :class:`namedgrad.backends.cupy.CupyBackend`."""

    # ---------------------------------------------------------------- degrees

    def sindg(self, x: Raw) -> Raw:
        """The sine of degrees, exact at multiples of a right angle."""
        rest, sign = self._half_turns(x)
        return (sign * self.xp.sin(rest * (math.pi / 180))).astype(result_dtype(x))

    def cosdg(self, x: Raw) -> Raw:
        """The cosine."""
        rest, sign = self._half_turns(x)
        return (sign * self.xp.sin((90 - self.xp.absolute(rest)) * (math.pi / 180))).astype(result_dtype(x))

    def tandg(self, x: Raw) -> Raw:
        """The tangent, infinite without a sign."""
        return self._quotient(self.sindg(double(x)), self.cosdg(double(x))).astype(result_dtype(x))

    def cotdg(self, x: Raw) -> Raw:
        """The cotangent."""
        return self._quotient(self.cosdg(double(x)), self.sindg(double(x))).astype(result_dtype(x))

    def _half_turns(self, x: Raw) -> tuple[Raw, Raw]:
        """What is left of degrees after whole half turns, and the sign that these give."""
        x = self.xp.fmod(double(x), 360)
        turns = self.xp.rint(x / 180)
        return x - 180 * turns, 1 - 2 * self.xp.remainder(turns, 2)

    def _quotient(self, top: Raw, below: Raw) -> Raw:
        none = self.xp.equal(below, 0)
        return self.xp.where(none, math.inf, top / self.xp.where(none, 1.0, below))

    def radian(self, d: Raw, m: Raw, s: Raw) -> Raw:
        """Degrees, minutes and seconds."""
        return (math.pi / 180) * (d + m / 60 + s / 3600)

    # ---------------------------------------------------------------- gamma, zeta, dilogarithm

    def binom(self, n: Raw, k: Raw) -> Raw:
        """Binomial coefficients, as one over a beta function."""
        dtype, n, k = result_dtype(n, k), double(n), double(k)
        below = (n + 1) * self.special.beta(n - k + 1, k + 1)
        return (1 / below).astype(dtype)

    def zetac(self, x: Raw) -> Raw:
        """Riemann's zeta function less 1, by reflection on the left."""
        xp, dtype, x = self.xp, result_dtype(x), double(x)
        with np.errstate(all="ignore"):
            left, right = x < -1, x >= 1
            other = xp.where(left, 1 - x, 2.0)
            turns = xp.rint(0.5 * x)
            wave = (1 - 2 * xp.remainder(turns, 2)) * xp.sin(0.5 * math.pi * (x - 2 * turns))
            size = 2 * xp.exp(self.special.gammaln(other) - math.log(2 * math.pi) * other)
            mirrored = wave * size * self.special.zeta(other, 1.0) - 1
            between = self.zeta_order(0, xp.where(xp.logical_or(left, right), 0.5, x), 1.0) - 1
            above = self.special.zeta(xp.where(right, x, 2.0), 2.0)
            above = xp.where(x == 1, math.inf, above)
        return xp.where(left, mirrored, xp.where(right, above, between)).astype(dtype)

    def spence(self, z: Raw) -> Raw:
        """The dilogarithm of ``1 - z``, by its series in ``log(z)`` where that is short (DLMF 25.12.4, 25.12.6)."""
        xp, dtype, z = self.xp, result_dtype(z), double(z)
        with np.errstate(all="ignore"):
            zero, high = xp.equal(z, 0), xp.absolute(z) > 2
            log = xp.log(xp.where(zero, 1.0, z))
            within = xp.where(high, 1 / xp.where(zero, 1.0, z), z)
            low = xp.absolute(within) < 0.5
            part = xp.where(low, within, 0.0)
            u = -xp.where(low, xp.log1p(-part), xp.where(high, -log, log))
            near = u * (1 - u / 4 + self.polynomial(_DILOGARITHM, u * u) * u * u)
            reflected = math.pi**2 / 6 + xp.where(high, log, -log) * xp.log1p(-part) - near
            out = xp.where(low, reflected, near)
            return xp.where(high, -0.5 * log * log - out, out).astype(dtype)

    # ---------------------------------------------------------------- what CuPy gives less digits of, or no NaN

    def remainder(self, x: Raw, y: Raw) -> Raw:
        """CuPy subtracts a rounded multiple of the divisor: here no digit is lost, as in NumPy."""
        xp = self.xp
        out = xp.fmod(x, y)
        if out.dtype.kind != "f":
            return xp.remainder(x, y)
        other = xp.not_equal(out < 0, y < 0)
        return xp.where(xp.equal(out, 0), xp.copysign(out, y), xp.where(other, out + y, out))

    def logaddexp2(self, x: Raw, y: Raw) -> Raw:
        """CuPy adds 1 to what is small before it takes the logarithm."""
        xp, base = self.xp, math.log(2)
        if is_complex(x) or is_complex(y):
            return self.logaddexp(base * x, base * y) / base
        more = xp.log1p(xp.exp2(-xp.absolute(x - y))) * (1 / base)
        return xp.where(xp.equal(x, y), x + 1.0, xp.maximum(x, y) + more)

    def sinc(self, x: Raw) -> Raw:
        """CuPy takes NaN for 0."""
        return self.xp.where(self.xp.isnan(x), x, self.xp.sinc(x))

    def xlog1py(self, x: Raw, y: Raw) -> Raw:
        """CuPy gives 0 for 0 times NaN."""
        out = self.special.xlog1py(x, y)
        return self.xp.where(self.xp.isnan(y), y, out).astype(out.dtype)

    # ---------------------------------------------------------------- powers, means, inverses

    def pseudo_huber(self, delta: Raw, r: Raw) -> Raw:
        """That of CuPy subtracts 1 from what is near 1, which loses half of the digits of small residuals."""
        xp, dtype, delta, r = self.xp, result_dtype(delta, r), double(delta), double(r)
        with np.errstate(all="ignore"):
            none = xp.logical_or(xp.equal(delta, 0), xp.equal(r, 0))
            part = r / xp.where(none, 1.0, delta)
            out = delta * delta * xp.expm1(0.5 * xp.log1p(part * part))
            return xp.where(none, 0.0, xp.where(xp.less(delta, 0), math.inf, out)).astype(dtype)

    def powm1(self, x: Raw, y: Raw) -> Raw:
        """``x**y - 1``."""
        xp = self.xp
        with np.errstate(all="ignore"):
            right = x > 0
            return xp.where(right, xp.expm1(y * xp.log(xp.where(right, x, 1.0))), x**y - 1).astype(result_dtype(x, y))

    def agm(self, a: Raw, b: Raw) -> Raw:
        """The arithmetic-geometric mean, from a complete elliptic integral (DLMF 19.8.5)."""
        dtype, a, b = result_dtype(a, b), double(a), double(b)
        half = 0.5 * a + 0.5 * b
        some = self.xp.where(self.xp.equal(half, 0), 1.0, half)
        return (0.5 * math.pi * half / self.ellipkm1((a / some) * (b / some))).astype(dtype)

    def wrightomega(self, z: Raw) -> Raw:
        """The solution of ``w + log(w) = z`` by two steps of fourth order (Lawrence et al. 2012)."""
        if is_complex(z):
            raise NoKernelError("'wrightomega' for complex numbers")
        xp, dtype, z = self.xp, result_dtype(z), double(z)
        with np.errstate(all="ignore"):
            left, right = z < -50, z > 1e20
            at = xp.where(xp.logical_or(left, right), 1.0, z)
            large = at > 1
            log = xp.log(xp.where(large, at, 1.0))
            w = xp.where(large, at - log + log / at, xp.exp(xp.where(at < -2, at, 2 * (xp.minimum(at, 1.0) - 1) / 3)))
            for _ in range(3):
                rest, after = at - w - xp.log(w), w + 1
                both = 2 * after * (after + 2 / 3 * rest)
                w = w * (1 + rest / after * (both - rest) / (both - 2 * rest))
            return xp.where(left, xp.exp(z), xp.where(right, z, w)).astype(dtype)
