"""Families of special functions that are closed under differentiation: the first operand says which member is meant.

Where a recurrence over the members loses digits, a power series or an asymptotic one takes its place.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.special import double, floating, is_complex, is_short, result_dtype

Raw = Any
_ROOT_PI = math.sqrt(math.pi)
# ``(coth(h) - 1 / h) / h`` up to 1 as a quotient of polynomials in ``h**2``: 1 / (3 + h**2 / (5 + ... h**2 / 19))
_ABOVE, _BELOW = (1, 1430, 289575, 16081065, 218243025), (55, 25740, 2837835, 91891800, 654729075)
_LOST_OF_POINT = 1.2428753672788363e-17  # what the rounding of exp(-1) adds
_MODERATE = 2048.0  # up to here the rounding of ``(x - a) * (x + a)``, if ``a`` is ``x`` in float32, is below 2**-53
_FAR = 7.0  # from here on Faddeeva's function by its asymptotic series


@functools.cache
def _gauss() -> list[tuple[float, float]]:
    """Nodes and weights on the interval from -1 to 1, found when they are needed."""
    return [(float(x), float(w)) for x, w in zip(*np.polynomial.legendre.leggauss(96), strict=True)]


def _sine_of_quarters(x: Raw) -> Raw:
    """The sine of so many quarter turns in single precision, from what is left of half turns."""
    halves = np.rint(0.5 * x)
    out = np.sin((0.5 * np.pi * (x - 2 * halves)).astype(np.float32))
    odd = halves - 2 * np.floor(0.5 * halves)
    return np.multiply(out, 1 - 2 * odd, dtype=np.float32, casting="same_kind")


class FamilyKernels(Kernels):
    """A part of :class:`namedgrad.backends.base.Backend`."""

    # ---------------------------------------------------------------- functions with several results

    def known_part(self, k: int, _x: Raw, *values: Raw) -> Raw:
        """One of the results of a function that has several."""
        return self.xp.positive(values[int(k)])

    def lambert_branch(self, k: Raw, z: Raw) -> Raw:
        """A branch of Lambert's function; SciPy's stops early next to the branch point, or has no value there."""
        dtype, z, k = np.result_type(result_dtype(z), np.complex64), double(z) + 0j, int(k)
        with np.errstate(all="ignore"):
            if not self.may_branch:
                return self._lambert(k, z).astype(dtype)
            z = np.asarray(z)
            near = abs(math.e * z + 1) < 0.1
            out = np.array(self.special.lambertw(np.where(near, 1.0, z), k))
            if near.any():
                out[near] = self._lambert(k, z[near])
            return out.astype(dtype)

    def _lambert(self, k: int, z: Raw) -> Raw:
        """A branch of Lambert's function by Halley's method, started as SciPy does (Corless et al. 1996)."""
        xp = self.xp
        zero, a, b = xp.equal(z, 0), xp.real(z), xp.imag(z)
        log = xp.log(xp.where(zero, 1.0, z)) + 2j * math.pi * k
        w = log - xp.log(xp.where(xp.equal(log, 0), 1.0, log))
        root = xp.sqrt(2 * math.e * ((z + math.exp(-1)) - _LOST_OF_POINT))
        beside = xp.absolute(root) < 1
        if k == 0:
            low = xp.logical_and(xp.absolute(b) < 1, a > -2.5 * xp.absolute(b) - 0.2)
            middle = xp.logical_and(low, xp.logical_and(a > -1, a < 1.5))
            quotient = (12.85106382978723 * z + 12.34042553191489) * z + 1  # of Padé, with what is below
            quotient = quotient / ((32.53191489361702 * z + 14.34042553191489) * z + 1)
            w = xp.where(middle, z * quotient, w)
            w = xp.where(beside, self.polynomial(_around_point(), root), w)
        elif k == -1:
            real = xp.logical_and(xp.equal(b, 0), xp.logical_and(a < 0, a >= -1 / math.e))
            w = xp.where(real, xp.log(xp.where(real, -a, 1.0)), w)
            beside = xp.logical_and(beside, b >= 0)
            w = xp.where(beside, self.polynomial(_around_point(), -root), w)
        elif k == 1:
            beside = xp.logical_and(beside, b < 0)
            w = xp.where(beside, self.polynomial(_around_point(), -root), w)
        exact = xp.logical_and(beside, xp.absolute(root) < 0.1) if abs(k) < 2 else False
        for _ in range(24):
            e = xp.exp(w)
            f = w * e - z
            below = e * (w + 1) - (w + 2) * f / (2 * w + 2)
            step = xp.where(xp.equal(below, 0), 0.0, f / xp.where(xp.equal(below, 0), 1.0, below))
            w = w - xp.where(xp.logical_or(exact, ~xp.isfinite(step)), 0.0, step)
        return xp.where(zero, 0.0 if k == 0 else complex(-math.inf), w)

    # ---------------------------------------------------------------- elliptic integrals

    def ellipk_order(self, n: int, p: Raw) -> Raw:
        """The n-th derivative of K in the parameter ``m = 1 - p``."""
        return self._elliptic(n, p, 0.5)

    def ellipe_order(self, n: int, p: Raw) -> Raw:
        """That of E."""
        return self._elliptic(n, p, -0.5)

    def _elliptic(self, n: int, p: Raw, a: float) -> Raw:
        """The function ``π/2 F(a, 1/2; 1; m)``: near 0 by its series, else by its equation, differentiated.

        A first derivative near 0 is found with the arithmetic-geometric mean (DLMF 19.8): a million in 20 ms, not 45.
        """
        xp, dtype, p = self.xp, result_dtype(p), double(p)

        def mean(p: Raw) -> Raw:
            root = xp.sqrt(p)
            one, other, m = 0.5 * (1 + root), xp.sqrt(root), 0.0625 * (1 - p)
            part = m / (one * one)
            total = part  # of squared differences, over m
            for k in range(1, 4):
                one, other = 0.5 * (one + other), xp.sqrt(one * other)
                part = part / one
                part = m * (part * part)
                total = total + 2.0**k * part
            half = math.pi / 2 / (one + other)  # of K
            return (0.5 - total) * half / p if a > 0 else (-0.5 - total) * half

        def series(p: Raw) -> Raw:
            terms = [math.pi / 2 * _rising(a, n) * _rising(0.5, n) / math.factorial(n)]
            for k in range(n, n + 60):
                terms.append(terms[-1] * (a + k) * (0.5 + k) / ((k + 1) * (k + 1 - n)))
            return self.polynomial(terms[::-1], 1 - p)

        def recurrence(p: Raw) -> Raw:
            m, k, e = 1 - p, self.function("ellipkm1")(p), self.function("ellipe")(1 - p)
            below, now = (k, (e / p - k) / (2 * m)) if a > 0 else (e, (e - k) / (2 * m))
            for i in range(n - 1):
                above = (a + i) * (0.5 + i) * below - (1 + i - (a + 1.5 + 2 * i) * m) * now
                below, now = now, above / m / p  # the product may overflow
            now = xp.where(xp.equal(p, math.inf), 0.0 if a > 0 or n else math.inf, now)
            return xp.where(xp.equal(p, 0), math.copysign(math.inf, a), now)

        def both(p: Raw) -> Raw:
            if n == 1:
                return self._pieces(xp.logical_and(p > 0.05, p < 20), mean, recurrence, p, (1.0, 0.04))
            return self._pieces(abs(1 - p) < 0.4, series, recurrence, p, (1.0, 0.5))

        with np.errstate(all="ignore"):
            return self._in_blocks(both, p).astype(dtype, copy=False)

    def ellipkinc_order(self, n: int, phi: Raw, m: Raw) -> Raw:
        """The n-th derivative of the incomplete F in the parameter: an integral of ``sin**2n / delta**(2n + 1)``."""
        return self._incomplete(n, phi, m, 0.5)

    def ellipeinc_order(self, n: int, phi: Raw, m: Raw) -> Raw:
        """That of the incomplete E."""
        return self._incomplete(n, phi, m, -0.5)

    def _incomplete(self, n: int, phi: Raw, m: Raw, a: float) -> Raw:
        """What is left of ``phi`` after whole half turns, and for those complete integrals."""
        xp, dtype = self.xp, result_dtype(phi, m)
        phi, m = double(phi), double(m)
        with np.errstate(all="ignore"):
            far = xp.logical_and(xp.equal(m, -math.inf), xp.isfinite(phi))
            m = xp.where(far, 0.0, m)
            turns = xp.round(phi / math.pi)
            rest = phi - turns * math.pi
            member = self._by_duplication if n == 1 else functools.partial(self._by_quadrature, n)
            out = self._in_blocks(functools.partial(member, a), rest, m)
            if not self.may_branch or np.any(turns):
                out = xp.where(xp.equal(turns, 0), out, 2 * turns * self._complete(n, m, a) + out)
            if a > 0 or n:  # with m = 1 the integral grows without bound towards a quarter of a turn
                end = xp.logical_and(xp.equal(m, 1), xp.absolute(rest) > 0.5 * math.pi - 1e-15)
                out = xp.where(end, xp.sign(rest) * math.copysign(math.inf, a), out)
                out = xp.where(far, 0.0, out)
            out = xp.where(m > 1, math.nan, out)
        return out.astype(dtype)

    def _by_quadrature(self, n: int, a: float, phi: Raw, m: Raw) -> Raw:
        """After ``tan = sinh(u) / sqrt(s)``, in which nothing is singular and all widths are near 1, at any ``m``.

        The parts meet where the second one of the two factors falls off.
        """
        xp = self.xp
        p = xp.maximum(1 - m, 0.0)
        s = xp.maximum(p, 1.0)
        whole = xp.minimum(xp.arcsinh(xp.sqrt(s) * xp.absolute(xp.tan(phi))), 38.0 + xp.log(s) / 2)
        edge = xp.arcsinh(xp.sqrt(xp.maximum(p, 1 / p)))
        edge = xp.where(edge < whole, edge, whole / 2)
        rest, total = p / s, 0.0
        for start, end in ((0.0, edge), (edge, whole)):
            half = 0.5 * (end - start)
            for node, weight in _gauss():
                u = start + half * (1 + node)
                sech, square = 1 / xp.cosh(u), xp.tanh(u) ** 2
                first, second = s * sech * sech + square, sech * sech + rest * square
                part = weight * half * sech * (square / second) ** n / xp.sqrt(first * second)
                total = total + (part if a > 0 else part * second / first)
        return _rising(a, n) * xp.sign(phi) * s ** (0.5 - n - a) * total

    def _by_duplication(self, a: float, phi: Raw, m: Raw) -> Raw:
        """The first derivative as a symmetric integral of Carlson (DLMF 19.25): a million in 100 ms, not 3000."""
        xp = self.xp
        sine, cosine = xp.sin(phi), xp.cos(phi) ** 2
        square = sine * sine
        below = xp.maximum(1 - m, 0.0) * square + cosine
        others = (1.0, below) if a > 0 else (below, 1.0)
        return math.copysign(1 / 6, a) * sine * square * self._carlson(cosine, *others)

    def _carlson(self, x: Raw, y: Raw, z: Raw) -> Raw:
        """Carlson's R_D by duplication, which brings the three together, and a series (DLMF 19.36)."""
        xp = self.xp
        mean = 0.2 * x + 0.2 * y + 0.6 * z
        first, second, third = mean - x, mean - y, mean - z
        spread = 650.0 * xp.maximum(xp.maximum(xp.absolute(first), xp.absolute(second)), xp.absolute(third))
        total, scale = 0.0, 1.0
        for _ in range(16):  # as many as the ends of the range of numbers need
            if self.may_branch and not (spread > mean).any():
                break
            p, q, r = xp.sqrt(x), xp.sqrt(y), xp.sqrt(z)
            step = p * q + (p + q) * r
            total = total + scale / (r * (z + step))
            x, y, z, mean = (0.25 * (v + step) for v in (x, y, z, mean))
            spread, scale = 0.25 * spread, 0.25 * scale
        first, second = scale * first / mean, scale * second / mean
        third = (first + second) / -3
        product, square = first * second, third * third
        e2, e3 = product - 6 * square, (3 * product - 8 * square) * third
        e4, e5 = 3 * (product - square) * square, product * square * third
        series = 1 - 3 / 14 * e2 + e3 / 6 + 9 / 88 * e2 * e2 - 3 / 22 * e4 - 9 / 52 * e2 * e3 + 3 / 26 * e5
        return scale * series / (mean * xp.sqrt(mean)) + 3 * total

    def _complete(self, n: int, m: Raw, a: float) -> Raw:
        """The n-th derivative of K or E in the parameter."""
        if n:
            return self._elliptic(n, 1 - m, a)
        return self.function("ellipk" if a > 0 else "ellipe")(m)

    # ---------------------------------------------------------------- quotients with a hole at 0

    def exprel_order(self, n: int, x: Raw) -> Raw:
        """The n-th derivative of ``(exp(x) - 1) / x``, the integral of ``t**n exp(x t)`` from 0 to 1."""
        xp, dtype, x = self.xp, result_dtype(x), double(x)

        def series(x: Raw) -> Raw:
            return self.polynomial([1 / (math.factorial(k) * (n + k + 1)) for k in range(18 + 6 * n, -1, -1)], x)

        def recurrence(x: Raw) -> Raw:
            root = xp.exp(x / 2)
            top = root * (root / x)  # exp(x) / x, finite for longer than exp(x)
            out = top - 1 / x
            for k in range(1, n + 1):
                out = top - k * out / x
            far = xp.logical_or(xp.equal(x, math.inf), xp.equal(top, math.inf)) if not is_complex(x) else False
            return xp.where(far, math.inf, out)

        def both(x: Raw) -> Raw:
            return self._pieces(xp.absolute(x) < 1 + n, series, recurrence, x, (0.5, 2.0 + n))

        return self._in_blocks(both, x).astype(dtype, copy=False)

    def exprel_slope(self, x: Raw, y: Raw) -> Raw:
        """The first derivative, ``y / 2 (1 + coth(h) - 1 / h)`` with ``h = x / 2``; near 0 by a fraction."""
        if not self.may_branch or is_complex(x) or is_short(x, y):
            return self.exprel_order(1, x)

        def some(x: Raw, y: Raw) -> Raw:
            half = np.asarray(0.5 * x)
            square = half * half
            out = np.asarray(half * self.polynomial(_ABOVE, square))
            out /= self.polynomial(_BELOW, square)
            out += 1.0
            out *= 0.5 * y
            return self._repaired(out, ~(square <= 1.0), lambda x: self.exprel_order(1, x), x)

        with np.errstate(all="ignore"):
            return self._in_blocks(some, x, y)

    def log1p_ratio_order(self, n: int, x: Raw) -> Raw:
        """The n-th derivative of ``log(1 + x) / x``."""
        xp, dtype, x = self.xp, result_dtype(x), double(x)

        def odd(x: Raw) -> Raw:
            """The first one by the inverse hyperbolic tangent, whose powers are the smaller ones."""
            z = x / (2 + x)
            tail = self.polynomial([1 / k for k in range(37, 1, -2)], z * z)
            return -0.5 * (1 - z) ** 2 * (1 / (1 + z) + z * tail)

        def series(x: Raw) -> Raw:
            return self.polynomial([(-1) ** k / (k + 1) * math.perm(k, n) for k in range(60 + 10 * n, n - 1, -1)], x)

        def recurrence(x: Raw) -> Raw:
            out = xp.log1p(x) / x
            for k in range(1, n + 1):
                out = ((-1) ** (k - 1) * math.factorial(k - 1) / (1 + x) ** k - k * out) / x
            return out

        def both(x: Raw) -> Raw:
            if n == 1:
                return self._pieces(xp.absolute(3 * x) < xp.absolute(2 + x), odd, recurrence, x, (0.2, 2.0))
            return self._pieces(xp.absolute(x) < 0.4, series, recurrence, x, (0.2, 0.6))

        return self._in_blocks(both, x).astype(dtype, copy=False)

    def spence_slope(self, z: Raw) -> Raw:
        """``log(z) / (1 - z)``, of complex numbers near 1 by the logarithm of what is beyond it."""
        xp, dtype, z = self.xp, result_dtype(z), double(z)
        with np.errstate(all="ignore"):
            out = xp.log(z) / (1 - z)
            if is_complex(z):
                near = xp.absolute(z - 1) < 0.5
                out = xp.where(near, -self.log1p_ratio_order(0, xp.where(near, z - 1, 0.0)), out)
            elif not (self.may_branch and self.isfinite_all(out)):
                out = xp.where(xp.equal(z, 1), -1.0, out)
        return out.astype(dtype, copy=False)

    # ---------------------------------------------------------------- hyperbolic functions and cosine by their argument

    def sinh_ratio(self, x: Raw) -> Raw:
        """``sinh(x) / x``: 1 at 0, finite where ``sinh(x)`` alone is not."""
        xp, x = self.xp, floating(x)
        with np.errstate(all="ignore"):
            out = xp.sinh(x) / x
            if self.may_branch and self.isfinite_all(out):
                return out
            if not is_complex(x):
                out = xp.where(xp.isfinite(out), out, self._growth(xp.absolute(x)))
            return xp.where(xp.equal(x, 0), out.dtype.type(1), out).astype(out.dtype)

    def cosh_ratio(self, x: Raw) -> Raw:
        """``cosh(x) / x``, finite where ``cosh(x)`` alone is not, and infinite at infinity."""
        xp, x = self.xp, floating(x)
        with np.errstate(all="ignore"):
            out = xp.cosh(x) / x
            if is_complex(x) or (self.may_branch and self.isfinite_all(out)):
                return out
            size = xp.absolute(x)
            known = xp.logical_or(xp.isfinite(out), size < 1)
            return xp.where(known, out, xp.copysign(self._growth(size), x)).astype(out.dtype)

    def sine_of_square(self, x: Raw) -> Raw:
        """``sin(pi x**2 / 2)``."""
        return self._of_square(self.xp.sin, 0, floating(x))

    def cosine_of_square(self, x: Raw) -> Raw:
        """``cos(pi x**2 / 2)``."""
        return self._of_square(self.xp.cos, 1, floating(x))

    def _of_square(self, f: Callable[[Raw], Raw], ahead: int, x: Raw) -> Raw:
        """At a quarter turn times the square, known modulo 4 from a double and what rounding took from it.

        Of moderate numbers from the square of a float32, which is exact, and the rest, in three quarters of the time;
        in single precision by the sine of at most a quarter turn, so many quarters ahead, in a fifth.
        """
        xp = self.xp
        if is_complex(x):
            return f(0.5 * np.pi * x * x)

        def some(x: Raw) -> Raw:
            if self.may_branch and np.max(np.absolute(x), initial=0) < _MODERATE:
                if x.dtype == np.float32:
                    return _sine_of_quarters(x.astype(np.float64) ** 2 + ahead)
                high = x.astype(np.float32).astype(np.float64)
                whole, rest = high * high, (x - high) * (x + high)
                return f(0.5 * np.pi * (whole - 4 * np.trunc(0.25 * whole) + rest)).astype(result_dtype(x), copy=False)
            even = xp.logical_and(xp.absolute(x) >= 2.0**53, xp.isfinite(x))  # all numbers from there on are
            wide = xp.where(even, 0, x).astype(np.float64)
            whole, split = wide * wide, 134217729.0 * wide  # 2**27 + 1: Dekker's halves
            high = split - (split - wide)
            low = wide - high
            rest = ((high * high - whole) + 2 * high * low) + low * low
            quarters = (v - 4 * xp.trunc(0.25 * v) for v in (whole, rest))  # fmod of 4, in a tenth of the time
            return f(0.5 * np.pi * sum(quarters)).astype(result_dtype(x))

        with np.errstate(all="ignore"):
            return self._in_blocks(some, x)

    def _growth(self, x: Raw) -> Raw:
        """``exp(x) / (2 x)`` of large numbers."""
        half = self.xp.exp(0.5 * x)
        return self.xp.where(self.xp.isinf(x), x, 0.5 * half / x * half)

    def cos_ratio(self, x: Raw) -> Raw:
        """``cos(x) / x``, 0 at infinity."""
        xp, x = self.xp, floating(x)
        with np.errstate(all="ignore"):
            out = xp.cos(x) / x
            if is_complex(x) or (self.may_branch and self.isfinite_all(out)):
                return out
            return xp.where(xp.isinf(x), out.dtype.type(0), out)

    # ---------------------------------------------------------------- Faddeeva's function

    def wofz_slope(self, z: Raw, w: Raw) -> Raw:
        """The first derivative from the value ``w``, where nothing cancels."""
        if not self.may_branch or w.dtype.itemsize < 16:
            return self.wofz_order(1, z)
        with np.errstate(all="ignore"):
            out = np.asarray(np.multiply(z, w))
            np.add(np.multiply(out, -2.0, out=out), 2j / _ROOT_PI, out=out)
            near = np.real(z) ** 2 + np.imag(z) ** 2 < _FAR**2 if is_complex(z) else np.absolute(z) < _FAR
            return self._repaired(out, np.logical_not(near), lambda z: self.wofz_order(1, z), z)

    def dawsn_slope(self, x: Raw, y: Raw) -> Raw:
        """The same of Dawson's integral."""
        if not self.may_branch or is_complex(x) or is_short(x, y):
            return self.dawsn_order(1, x)
        with np.errstate(all="ignore"):
            return self._repaired(1 - 2 * x * y, ~(np.absolute(x) < _FAR), lambda x: self.dawsn_order(1, x), x)

    def wofz_order(self, n: int, z: Raw) -> Raw:
        """The n-th derivative: near 0 by recurrence (DLMF 7.10), else by the asymptotic series (7.12.1)."""
        xp, dtype, z = self.xp, np.result_type(result_dtype(z), np.complex64), double(z) + 0j

        def recurrence(z: Raw) -> Raw:
            below, now = 0.0, self.function("wofz")(z)
            for k in range(n):
                step = 2j / _ROOT_PI if not k else -2.0 * k * below
                below, now = now, step - 2 * z * now
            return now

        def asymptotic(z: Raw) -> Raw:
            factors = [1.0]
            for k in range(24):
                factors.append(factors[-1] * (k + 0.5))
            out = self.polynomial([f * _rising(2 * k + 1, n) for k, f in enumerate(factors)][::-1], 1 / (z * z))
            out = 1j / _ROOT_PI * (-1) ** n * out
            for _ in range(n + 1):  # a power of z may overflow
                out = out / z
            lower = xp.imag(z) < 1e-3  # above, exp(-z**2) is below rounding; beside the real axis there is half of it
            share = xp.where(xp.imag(z) < -1e-3, 2.0, 1.0) * (-1) ** n * _hermite(n, z)
            gauss = xp.exp(xp.where(lower, -z * z, 0.0))
            out = out + xp.where(xp.logical_and(lower, gauss != 0), share * gauss, 0.0)
            return xp.where(xp.isinf(xp.absolute(z)), 0.0, out)

        with np.errstate(all="ignore"):
            return self._pieces(xp.absolute(z) < _FAR, recurrence, asymptotic, z, (1 + 1j, 9 + 1j)).astype(dtype)

    def dawsn_order(self, n: int, x: Raw) -> Raw:
        """The n-th derivative of Dawson's integral, a half of ``√π imag(w)``."""
        if is_complex(x):
            return self._complex_dawsn_order(n, double(x)).astype(result_dtype(x))
        return (0.5 * _ROOT_PI * self.xp.imag(self.wofz_order(n, double(x)))).astype(result_dtype(x))

    def _complex_dawsn_order(self, n: int, x: Raw) -> Raw:
        """By recurrence near 0, where the difference from a Gaussian loses digits."""

        def recurrence(x: Raw) -> Raw:
            below, now = 0.0, self.function("dawsn")(x)
            for k in range(n):
                below, now = now, (-2.0 * k * below if k else 1.0) - 2 * x * now
            return now

        def difference(x: Raw) -> Raw:
            return 0.5j * _ROOT_PI * ((-1) ** n * _hermite(n, x) * self.xp.exp(-x * x) - self.wofz_order(n, x))

        with np.errstate(all="ignore"):
            if not n:
                return difference(x)
            return self._pieces(self.xp.absolute(x) < 1, recurrence, difference, x, (0.5 + 0j, 2 + 0j))

    def voigt_order(self, n: int, k: int, x: Raw, s: Raw, g: Raw) -> Raw:
        """The n-th derivative in ``x`` of the real or imaginary part of ``w((x + i g) / (s √2)) / (s √(2π))``."""
        out = self._complex_voigt(n, x, s, g)
        return (self.xp.imag(out) if k else self.xp.real(out)).astype(result_dtype(x, s, g))

    def _complex_voigt(self, n: int, x: Raw, s: Raw, g: Raw) -> Raw:
        """Both parts."""
        xp = self.xp
        z, s = double(x) + 1j * double(g), double(s) + 0.0 * double(x)
        sharp = xp.equal(s, 0)
        width = math.sqrt(2) * xp.where(sharp, 1.0, s)
        with np.errstate(all="ignore"):
            wide = self.wofz_order(n, z / width) / (width ** (n + 1) * _ROOT_PI)
            out = xp.where(sharp, 1j / math.pi * (-1) ** n * math.factorial(n) / z ** (n + 1), wide)
            return xp.where(xp.isinf(xp.absolute(z)), 0.0, out)

    def voigt_profile(self, x: Raw, s: Raw, g: Raw) -> Raw:
        """SciPy's function."""
        return self.special.voigt_profile(x, s, g) if self.may_branch else self.voigt_order(0, 0, x, s, g)

    def voigt_parts(self, x: Raw, s: Raw, g: Raw) -> Raw:
        """The profile and what is conjugate to it, as one complex number: its slopes follow from both."""
        if not self.may_branch:
            return self._complex_voigt(0, x, s, g)
        width, z = math.sqrt(2) * double(s), double(x) + 1j * double(g)
        with np.errstate(all="ignore"):
            out = self.special.wofz(z / width) / (width * _ROOT_PI)
            return self._repaired(out, ~(np.isfinite(out) & (width != 0)), self._few_voigt_parts, x, s, g)

    def _few_voigt_parts(self, x: Raw, s: Raw, g: Raw) -> Raw:
        """Where the profile is no quotient; SciPy has its value there."""
        out = self._complex_voigt(0, x, s, g)
        out.real = self.special.voigt_profile(double(x), double(s), double(g))
        return out

    def voigt_value(self, x: Raw, s: Raw, g: Raw, parts: Raw) -> Raw:
        """The profile, given both."""
        return self.xp.real(parts).astype(result_dtype(x, s, g))

    def voigt_slope(self, n: int, k: int, *known: Raw) -> Raw:
        """A first or second derivative, given both: ``w' = 2i/√π - 2 z w`` where not too much cancels."""
        x, s, g, parts = known
        if not self.may_branch:
            return self.voigt_order(n, k, x, s, g)
        dtype, v, other = result_dtype(x, s, g), np.real(parts), np.imag(parts)
        x, s, g = double(x), double(s), double(g)
        with np.errstate(all="ignore"):
            square = s * s
            far = ~(x * x + g * g < 2 * _FAR**2 * square)
            rise, turn = g * other - x * v, 1 / math.pi - x * other - g * v
            out = (turn if k else rise) / square
            if n == 2:
                out = (g * turn - x * rise) / square**2 - v / square
            return self._repaired(out, far, functools.partial(self.voigt_order, n, k), x, s, g).astype(dtype)


@functools.cache
def _around_point() -> list[float]:
    """Of Lambert's function in powers of ``sqrt(2 (e z + 1))``, the highest first (Corless et al. 1996)."""
    mu, alpha = [-1.0, 1.0], [2.0, -1.0]
    for k in range(2, 18):
        alpha.append(sum(mu[j] * mu[k + 1 - j] for j in range(2, k)))
        mu.append((k - 1) / (k + 1) * (mu[k - 2] / 2 + alpha[k - 2] / 4) - alpha[k] / 2 - mu[k - 1] / (k + 1))
    return mu[::-1]


def _hermite(n: int, x: Raw) -> Raw:
    """The n-th polynomial of Hermite, by recurrence: SciPy's takes no complex numbers."""
    below, out = 0.0, 1.0
    for k in range(n):
        below, out = out, 2 * x * out - 2 * k * below
    return out


def _rising(a: float, n: int) -> float:
    """``a (a + 1) ... (a + n - 1)``."""
    return math.prod((a + k for k in range(n)), start=1.0)
