"""Integrals of elementary functions that CuPy lacks, most of them for real numbers only.

Near 0 they are power series, elsewhere made of one another or of Faddeeva's function; at the argument where two ways
meet neither has lost more than two digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.backends.failures import NoKernelError
from namedgrad.backends.part import Kernels
from namedgrad.backends.special import double, is_complex, result_dtype

Raw = Any
_EULER = 0.57721566490153286061
_AI, _BI = 0.355028053887817239, 0.614926627446000736  # Airy's functions at 0, and their slopes
_AIP, _BIP = -0.258819403792806798, 0.448288357353826359


class CupyIntegrals(Kernels):
    """A part of :class:`namedgrad.backends.cupy.CupyBackend`."""

    # ---------------------------------------------------------------- elliptic integrals

    def ellipkm1(self, p: Raw) -> Raw:
        """K by the arithmetic-geometric mean (DLMF 19.8.5)."""
        return self._mean(p)[0]

    def ellipk(self, m: Raw) -> Raw:
        """That of the parameter itself."""
        return self._mean(1 - double(m))[0].astype(result_dtype(m))

    def ellipe(self, m: Raw) -> Raw:
        """E, by the same mean (DLMF 19.8.6)."""
        return self._mean(1 - double(m))[1].astype(result_dtype(m))

    def ellipkinc(self, phi: Raw, m: Raw) -> Raw:
        """The incomplete integral of the first kind."""
        return self.ellipkinc_order(0, phi, m)

    def ellipeinc(self, phi: Raw, m: Raw) -> Raw:
        """That of the second kind."""
        return self.ellipeinc_order(0, phi, m)

    def ellipj(self, u: Raw, m: Raw) -> tuple[Raw, Raw, Raw, Raw]:
        """Jacobi's elliptic functions and their amplitude, by the arithmetic-geometric mean (DLMF 22.20(ii))."""
        xp, dtype, u = self.xp, result_dtype(u, m), double(u)
        m = double(m) + 0.0 * u
        one = xp.equal(m, 1)
        a, b, ratios = 1.0, xp.sqrt(1 - xp.where(one, 0.0, xp.where(m < 0, math.nan, m))), []
        for _ in range(9):
            a, b, c = 0.5 * (a + b), xp.sqrt(a * b), 0.5 * (a - b)
            ratios.append(c / a)
        ph = 2.0 ** len(ratios) * a * u
        for ratio in reversed(ratios):
            ph = 0.5 * (ph + xp.arcsin(ratio * xp.sin(ph)))
        ph = xp.where(one, xp.arctan(xp.sinh(u)), ph)
        sn = xp.where(one, xp.tanh(u), xp.sin(ph))
        cn = xp.where(one, 1 / xp.cosh(u), xp.cos(ph))
        sn, cn, dn, ph = (v.astype(dtype) for v in (sn, cn, xp.sqrt(cn * cn + (1 - m) * sn * sn), ph))
        return sn, cn, dn, ph

    def _mean(self, p: Raw) -> tuple[Raw, Raw]:
        """K and E; for ``p`` above 1 turned into the reciprocal (DLMF 19.7.2), so that nothing cancels."""
        xp, dtype, p = self.xp, result_dtype(p), double(p)
        large = p > 1
        root = xp.sqrt(xp.where(large, p, 1.0))
        q = xp.where(large, 1 / xp.where(large, p, 1.0), p)
        a, total = self._arithmetic_geometric(xp.sqrt(q), 0.5 * (1 - q), 12)
        k = xp.where(xp.equal(p, 0), math.inf, 0.5 * math.pi / xp.where(xp.equal(q, 0), 1.0, a))
        e = k * (1 - total)
        e = xp.where(q < 0.1, self._near_one(xp.where(q < 0.1, q, 0.05), k), e)
        e = xp.where(xp.equal(q, 0), 1.0, e)  # where p is infinite K is 0, as the root is infinite
        return (k / root).astype(dtype), (e * root).astype(dtype)

    def _arithmetic_geometric(self, b: Raw, total: Raw, steps: int) -> tuple[Raw, Raw]:
        """The arithmetic-geometric mean of 1 and ``b``, and a sum of the squares of differences on the way to it."""
        a, power = 1.0 + 0 * b, 0.5
        for _ in range(steps):
            c = 0.5 * (a - b)
            a, b, power = 0.5 * (a + b), self.xp.sqrt(a * b), 2 * power
            total = total + power * c * c
        return a, total

    def _near_one(self, q: Raw, k: Raw) -> Raw:
        """E where ``1 - total`` cancels, by Legendre's relation of the mean for the complementary parameter."""
        a, total = self._arithmetic_geometric(self.xp.sqrt(1 - q), 0.5 * q, 7)
        other = 0.5 * math.pi / a
        return (0.5 * math.pi + k * other * total) / other  # E K' + E' K - K K' = π / 2, with K' - E' = K' total

    # ---------------------------------------------------------------- exponential and trigonometric integrals

    def exp1(self, x: Raw) -> Raw:
        """The exponential integral E1."""
        return self._complex_exp1(double(x)).astype(result_dtype(x)) if is_complex(x) else self.special.expn(1, x)

    def _complex_exp1(self, z: Raw) -> Raw:
        """Where ``abs(z) + real(z)`` is small by its series, or an asymptotic one, else by a continued fraction."""
        xp = self.xp
        size = xp.absolute(z)
        inside = size + xp.real(z) < 2.2
        near, far = xp.logical_and(inside, size < 40), xp.logical_and(inside, size >= 40)
        at = xp.where(near, z, 1.0)
        term, series = 1.0, -_EULER - xp.log(at)
        for k in range(1, 140):
            term = term * (-at / k)
            series = series - term / k
        at, tail = xp.where(far, z, 50.0), 0.0
        for k in range(40, -1, -1):
            tail = 1 - (k + 1) / at * tail
        beyond = xp.where(far, tail / xp.where(far, z, 50.0), 1 / _fraction(xp.where(inside, 5.0, z)))
        return xp.where(near, series, xp.exp(xp.where(near, 0.0, -z)) * beyond)

    def expi(self, x: Raw) -> Raw:
        """The exponential integral Ei: a series of positive terms, an asymptotic one, E1 on the left."""
        xp, dtype, x = self.xp, result_dtype(x), double(x)
        if is_complex(x):
            turn = xp.where(xp.imag(x) > 0, 1.0, xp.where(xp.imag(x) < 0, -1.0, 0.0))
            return (1j * math.pi * turn - self._complex_exp1(-x)).astype(dtype)
        left, far = x < 0, x > 40
        near = xp.where(xp.logical_or(left, far), 1.0, x)
        out, term = _EULER + xp.log(near), 1.0
        for k in range(1, 140):
            term = term * (near / k)
            out = out + term / k
        large = xp.where(far, x, 50.0)
        tail: Any = 0.0
        for k in range(40, -1, -1):
            tail = 1 + (k + 1) / large * tail
        tail = xp.exp(large) / large * tail
        out = xp.where(left, -self.exp1(xp.where(left, -x, 1.0)), xp.where(far, tail, out))
        return xp.where(xp.logical_or(xp.isnan(x), xp.equal(x, math.inf)), x, out).astype(dtype)

    def sici(self, x: Raw) -> tuple[Raw, Raw]:
        """Sine and cosine integrals: by their series, else by the continued fraction of E1 (DLMF 6.9.1)."""
        xp, dtype, x = self.xp, result_dtype(x), require_real(x, "sici")
        size = xp.absolute(x)
        near = size < 4
        si, rest = self._odd_and_even(xp.where(near, size, 1.0), -1)
        ci = _EULER + xp.log(xp.where(near, size, 1.0)) + rest
        z = 1j * xp.where(near, 5.0, xp.minimum(size, 1e300))
        e1 = xp.exp(-z) / _fraction(z)
        si = xp.where(near, si, math.pi / 2 + xp.imag(e1))
        ci = xp.where(near, ci, xp.where(xp.isinf(x), xp.where(x < 0, math.nan, 0.0), -xp.real(e1)))
        si = xp.where(x < 0, -si, si)
        si, ci = (xp.where(xp.isnan(x), x, v).astype(dtype) for v in (si, ci))
        return si, ci

    def shichi(self, x: Raw) -> tuple[Raw, Raw]:
        """The hyperbolic ones: by their series, else from the exponential integrals."""
        xp, dtype, x = self.xp, result_dtype(x), require_real(x, "shichi")
        size = xp.absolute(x)
        near = size < 4
        shi, rest = self._odd_and_even(xp.where(near, size, 1.0), 1)
        far = xp.where(near, 5.0, size)
        up, down = self.expi(far), self.exp1(far)
        down = xp.where(xp.isinf(far), 0.0, down)
        shi = xp.where(near, shi, 0.5 * (up + down))
        chi = xp.where(near, _EULER + xp.log(xp.where(near, size, 1.0)) + rest, 0.5 * (up - down))
        return xp.where(x < 0, -shi, shi).astype(dtype), chi.astype(dtype)

    def _odd_and_even(self, x: Raw, sign: int) -> tuple[Raw, Raw]:
        """Sums of ``sign**k x**(2k+1) / (2k+1) / (2k+1)!`` from 0 on, and of the even powers from 2 on."""
        term, out = 1.0, [0.0, 0.0]
        for n in range(1, 42):
            term = term * (x / n)
            out[n % 2] = out[n % 2] + sign ** (n // 2) / n * term
        return out[1], out[0]

    def fresnel(self, x: Raw) -> tuple[Raw, Raw]:
        """Fresnel's integrals: by their series, else from the complementary error function (DLMF 7.5.10)."""
        if is_complex(x):
            return self._complex_fresnel(x)
        xp, dtype, x = self.xp, result_dtype(x), double(x)
        size = xp.absolute(x)
        near = size < 1.5
        first_s, first_c = self._fresnel_series(xp.where(near, size, 1.0))
        far = xp.where(near, 2.0, xp.minimum(size, 1e100))
        rest = xp.exp(0.5j * math.pi * far * far) * self.erfcx(0.5 * math.sqrt(math.pi) * (1 - 1j) * far)
        both = 0.5 * (1 + 1j) * (1 - rest)
        s, c = xp.where(near, first_s, xp.imag(both)), xp.where(near, first_c, xp.real(both))
        way = xp.where(xp.isnan(x), x, xp.where(x < 0, -1.0, 1.0))
        return (way * s).astype(dtype), (way * c).astype(dtype)

    def _complex_fresnel(self, x: Raw) -> tuple[Raw, Raw]:
        """The same, where C + iS and C - iS are error functions of one turned to either side."""
        xp, z = self.xp, double(x)
        near = xp.absolute(z) < 1.5
        series = self._fresnel_series(xp.where(near, z, 1.0))
        plus, minus = (0.5 * (1 + i) * self.erf(0.5 * math.sqrt(math.pi) * (1 - i) * z) for i in (1j, -1j))
        far = -0.5j * (plus - minus), 0.5 * (plus + minus)
        s, c = (xp.where(near, a, b) for a, b in zip(series, far, strict=True))
        return s.astype(result_dtype(x)), c.astype(result_dtype(x))

    def _fresnel_series(self, z: Raw) -> tuple[Raw, Raw]:
        """Both by powers of ``z``."""
        t, term, out = math.pi / 2 * z * z, z, [0.0, 0.0]
        for n in range(30):
            out[n % 2] = out[n % 2] + (-1) ** (n // 2) / (2 * n + 1) * term
            term = term * (t / (n + 1))
        return out[1], out[0]

    # ---------------------------------------------------------------- of Faddeeva's function

    def wofz(self, z: Raw) -> Raw:
        """Faddeeva's function, from that of the first quadrant."""
        xp, dtype, z = self.xp, np.result_type(result_dtype(z), np.complex64), double(z) + 0j
        right, upper = xp.real(z) >= 0, xp.imag(z) >= 0
        w = self._faddeeva(xp.absolute(xp.real(z)) + 1j * xp.absolute(xp.imag(z)))
        w = xp.where(xp.equal(right, upper), w, xp.conj(w))
        lower = 2 * xp.exp(xp.where(upper, 0.0, -z * z)) - w
        return xp.where(upper, w, lower).astype(dtype)

    def dawsn(self, x: Raw) -> Raw:
        """Dawson's integral."""
        return self.dawsn_order(0, x)

    def erfi(self, x: Raw) -> Raw:
        """The imaginary error function."""
        xp, dtype, x = self.xp, result_dtype(x), double(x)
        far = xp.isinf(x)
        out = 2 / math.sqrt(math.pi) * xp.exp(x * x) * self.dawsn_order(0, xp.where(far, 0.0, x))
        return xp.where(far, x, out).astype(dtype)

    # ---------------------------------------------------------------- Airy's functions

    def airy(self, x: Raw) -> tuple[Raw, ...]:
        """Airy's functions and their slopes."""
        return self._airy(require_real(x, "airy"), result_dtype(x), scaled=False)

    def airye(self, x: Raw) -> tuple[Raw, ...]:
        """The same without the factors by which they fall and grow."""
        return self._airy(require_real(x, "airye"), result_dtype(x), scaled=True)

    def _airy(self, x: Raw, dtype: Any, *, scaled: bool) -> tuple[Raw, ...]:
        """By their series, else by Bessel functions (DLMF 9.6)."""
        xp, size = self.xp, self.xp.absolute(x)
        near, left = size < 1.5, x < 0
        parts = self._airy_series(xp.where(near, x, 1.0))
        at = xp.where(near, 2.0, size)
        root = xp.sqrt(at)
        arc = 2 / 3 * at * root
        right = xp.where(left, 1.0, arc)
        k, kp = self.kve_order(0, 1 / 3, right), self.kve_order(0, 2 / 3, right)
        third = root / math.sqrt(3)
        two = at / math.sqrt(3)
        fade, grow = (1 / math.pi, 1.0) if scaled else (xp.exp(-right) / math.pi, xp.exp(right))
        more = math.sqrt(3) / math.pi * xp.exp(-2 * right)  # I of order -v is I of v, and K (DLMF 10.27.2)
        i, ip = (2 * self.ive_order(0, v, right) for v in (1 / 3, 2 / 3))
        falls = (third * fade * k, -two * fade * kp, third * grow * (i + more * k), two * grow * (ip + more * kp))
        turn = xp.where(left, arc, 1.0)
        j, below, jp, belowp = (self.jv_order(0, v, turn) for v in (1 / 3, -1 / 3, 2 / 3, -2 / 3))
        waves = (root / 3 * (j + below), at / 3 * (jp - belowp), third * (below - j), two * (belowp + jp))
        if scaled:
            factor = xp.exp(2 / 3 * xp.where(near, xp.maximum(x, 0.0), 0.0) ** 1.5)
            none = xp.where(left, math.nan, 1.0)  # on the left the factor is not real
            parts = [parts[0] * factor * none, parts[1] * factor * none, parts[2] / factor, parts[3] / factor]
            waves = (waves[0] * none, waves[1] * none, *waves[2:])
        found = (xp.where(near, n, xp.where(left, w, f)) for n, w, f in zip(parts, waves, falls, strict=True))
        return tuple(v.astype(dtype) for v in found)

    def _airy_series(self, x: Raw) -> list[Raw]:
        """From the two solutions that are 1 and x near 0, and their slopes (DLMF 9.4)."""
        cube = x * x * x
        first, second, first_slope, second_slope = 1.0, x, 0.5 * x * x, 1.0
        term, other, slope, rest = first, second, first_slope, second_slope
        for k in range(1, 20):
            term, other = term * cube / ((3 * k - 1) * (3 * k)), other * cube / ((3 * k) * (3 * k + 1))
            slope, rest = slope * cube / ((3 * k) * (3 * k + 2)), rest * cube / ((3 * k - 2) * (3 * k))
            first, second = first + term, second + other
            first_slope, second_slope = first_slope + slope, second_slope + rest
        return [
            _AI * first + _AIP * second, _AI * first_slope + _AIP * second_slope,
            _BI * first + _BIP * second, _BI * first_slope + _BIP * second_slope,
        ]  # fmt: skip


def _fraction(z: Raw) -> Raw:
    """The continued fraction of ``exp(-z) / E1(z)`` (DLMF 6.9.1)."""
    out = z + 161
    for k in range(80, 0, -1):
        out = z + (2 * k - 1) - k * k / out
    return out


def require_real(x: Raw, name: str) -> Raw:
    """In double precision; refused where it is complex, for which the formulas do not hold."""
    if is_complex(x):
        raise NoKernelError(f"{name!r} for complex numbers")
    return double(x)
