"""Kernels of distribution functions: those of Student's t and F in their degrees of freedom, Kolmogorov's."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.parameters import bell, nodes
from namedgrad.backends.part import Kernels
from namedgrad.backends.special import BERNOULLI, double, result_dtype

Raw = Any
_STIRLING = (-1 / 8, 1 / 192, -1 / 640, 17 / 14336, -31 / 18432, 691 / 180224)  # of log(Γ(z + 1/2) / Γ(z)) - log(z) / 2
_MEET = 0.8  # where both series of Kolmogorov's distribution converge fast


class DistributionKernels(Kernels):
    """A part of :class:`namedgrad.backends.base.Backend`."""

    # ---------------------------------------------------------------- degrees of freedom

    def t_drift(self, n: int, relative: int, v: Raw, t: Raw) -> Raw:
        """The n-th derivative in ``v`` of Student's distribution function, or that over the density."""
        xp, dtype, v, t = self.xp, result_dtype(v, t), double(v), double(t)
        with np.errstate(all="ignore"):
            size = xp.absolute(t)
            square, log = size * size, self._log_of_odds(v, t)
            ok = xp.logical_and(xp.logical_and(size > 0, size < math.inf), xp.logical_and(v > 0, v < math.inf))
            b, *odds = (xp.where(ok, x, 1.0) for x in (0.5 * v, square, square / v, log))
            out = self._drift(n, relative, 0.5 + 0.0 * b, b, odds)
            out = 0.5 ** (n + 1) * out * (t if relative else xp.sign(t))
            beside = xp.where(xp.logical_or(v <= 0, xp.isnan(v + t)), math.nan, 0.0)
            return xp.where(ok, out, beside).astype(dtype)

    def t_growth(self, n: int, v: Raw, t: Raw) -> Raw:
        """The derivative of order ``n + 1`` in ``v`` of the logarithm of Student's density."""
        dtype, v, t = result_dtype(v, t), double(v), double(t)
        with np.errstate(all="ignore"):
            log = self._log_of_odds(v, t)
            half = 0.5 * v
            return (0.5 ** (n + 1) * self._drifting(n + 1, 0.5, half)(log)[n]).astype(dtype)

    def _log_of_odds(self, v: Raw, t: Raw) -> Raw:
        """The logarithm of ``1 + t**2 / v``, which may be too large for a number."""
        size = self.xp.absolute(t)
        return self.xp.where(size > 1e150, 2 * self.xp.log(size) - self.xp.log(v), self.xp.log1p(t * t / v))

    def f_drift(self, a: Raw, b: Raw, x: Raw) -> Raw:
        """The derivative in ``b`` of the incomplete beta function at the odds ``x a / b``."""
        xp, dtype, a, b, x = self.xp, result_dtype(a, b, x), double(a), double(b), double(x)
        with np.errstate(all="ignore"):
            z = a * x / b
            ok = functools.reduce(xp.logical_and, [xp.logical_and(y > 0, y < math.inf) for y in (a, b, z, x)])
            a2, b2, *odds = (xp.where(ok, y, 1.0) for y in (a, b, x, z, xp.log1p(z)))
            beside = xp.where(functools.reduce(xp.minimum, (a, b, x)) >= 0, 0.0, math.nan)
            return xp.where(ok, self._drift(1, 0, a2, b2, odds), beside).astype(dtype)

    def _drift(self, n: int, relative: int, a: Raw, b: Raw, odds: list[Raw]) -> Raw:
        """The n-th derivative in ``b`` of the incomplete beta function at the odds ``z = x a / b``, of fixed ``x``.

        Where parameters are large those of the function and of the odds nearly cancel; that of the density is a sum of
        their difference, and the integral is one over the tail beside ``z``: of a tiny ``b`` always over that on the
        right, for the other begins with a plateau.  ``odds`` is ``x, z, log(1 + z)``.
        """
        xp, (x, z, log) = self.xp, odds
        right = xp.logical_or(x > 1, xp.logical_and(xp.logical_and(b < 0.1, x > b), z > 1))
        rest = xp.exp(-log)
        share = -xp.expm1(-log)
        turned = xp.where(right, 1 / z, 1.0)
        fall = xp.where(right, b - xp.maximum(a - 1, 0.0) * turned, a * rest - b * share)
        bend = xp.where(right, xp.maximum(a - 1, 0.0) * turned / share, (a + b) * share * rest)
        s = xp.maximum(2 / (fall + xp.sqrt(fall * fall + 2 * bend)), 1 / xp.where(right, b, a))
        growth, total = self._drifting(n, a, b), 0.0
        for node, weight in nodes(xp, 24, s, on_host=self.may_branch):
            y = s * node
            along = xp.where(right, log + y, xp.log1p(z * xp.exp(-y)))
            down = -a * y - (a + b) * xp.log1p(share * xp.expm1(-y))
            drop = xp.where(right, (a - 1) * xp.log1p(-turned * xp.expm1(-y)) - b * y, down)
            total = total + xp.sum(weight * xp.exp(drop) * bell(growth(along), n), axis=0)
        out = s * total * xp.where(right, -1 / share, 1.0)
        return out if relative else out * self._flow(a, b, x, log)

    def _drifting(self, n: int, a: Raw, b: Raw) -> Callable[[Raw], list[Raw]]:
        """Derivatives of order 1 to n in ``b`` of the logarithm of that density, by the logarithm of ``1 + z``."""
        rises = [self._rise(k, a, b) for k in range(n)]

        def growth(log: Raw) -> list[Raw]:
            xp = self.xp
            share, rest = -xp.expm1(-log), xp.exp(-log)
            out = [rises[0] - log * log * self._second(-log) + a / b * share]
            for k in range(1, n):
                m, turn = k - 1, (-1) ** k * math.factorial(k)
                outer = -turn / k * share**2 * sum((j + 1) * rest**j for j in range(m + 1)) / b**k
                out.append(rises[k] + outer + a * turn * share * sum(rest**j for j in range(k + 1)) / b ** (k + 1))
            return out

        return growth

    def _rise(self, n: int, a: Raw, b: Raw) -> Raw:
        """The n-th derivative in ``b`` of ``digamma(a + b) - digamma(b) - a / b``, by Stirling's series far from 0."""
        xp, turn = self.xp, (-1) ** n * math.factorial(n)
        small = b < 12
        near, far = xp.where(small, b, 12.0), xp.where(small, 12.0, b)
        psi = [self.special.digamma(v) if n == 0 else self.real_polygamma(n, v) for v in (a + near, near)]
        whole, log = a + far, xp.log1p(a / far)
        if n:
            out = sum((n - i) * far ** (i - n - 1) * whole ** (-i - 1) for i in range(n)) * a * a * -turn / n
        else:
            out = -log * log * self._second(log)
        for k in range(8):  # B_2k / 2k, or a half of the reciprocal itself
            p = 2 * k or 1
            count = (BERNOULLI[k - 1] / p if k else 0.5) * (-1) ** n * math.perm(p + n - 1, n)
            out = out - count * far ** (-p - n) * xp.expm1(-(p + n) * log)
        return xp.where(small, psi[0] - psi[1] - turn * a / near ** (n + 1), out)

    def _second(self, x: Raw) -> Raw:
        """``(exp(x) - 1 - x) / x**2``."""
        small = self.xp.absolute(x) < 0.5
        x = self.xp.where(small, x, 0.0), self.xp.where(small, 1.0, x)
        series = self.polynomial([1 / math.factorial(k + 2) for k in range(13, -1, -1)], x[0])
        return self.xp.where(small, series, (self.xp.expm1(x[1]) - x[1]) / (x[1] * x[1]))

    def _flow(self, a: Raw, b: Raw, x: Raw, log: Raw) -> Raw:
        """The density of the logarithm of the odds ``x a / b``, largest at ``x = 1``."""
        xp, share = self.xp, -self.xp.expm1(-log)
        near = xp.absolute(x - 1) < 0.5
        e = xp.where(near, x - 1, 0.0)
        beside = a * xp.log1p(e) - (a + b) * xp.log1p(a / (a + b) * e)
        apart = a * (xp.log(share) + xp.log1p(b / a)) - b * (log - xp.log1p(a / b))
        top = xp.sqrt(a / (a + b)) * xp.sqrt(b / (2 * math.pi))
        top = top * self._stirling(a + b) / (self._stirling(a) * self._stirling(b))
        return top * xp.exp(xp.where(near, beside, apart))

    def _stirling(self, a: Raw) -> Raw:
        """What Stirling's formula of the gamma function leaves out, a factor."""
        xp, large = self.xp, a > 12
        near, far = xp.where(large, 1.0, a), xp.where(large, a, 12.0)
        series = sum(b / (2 * k * (2 * k - 1)) * far ** (1 - 2 * k) for k, b in enumerate(BERNOULLI[:8], 1))
        whole = self.special.gamma(near + 1) * xp.exp(near) * near ** (-0.5 - near) / math.sqrt(2 * math.pi)
        return xp.where(large, xp.exp(series), whole)

    def t_density(self, v: Raw, t: Raw) -> Raw:
        """The density of Student's t; the quotient of gamma functions by Stirling's series where they are large."""
        xp = self.xp
        dtype, v, t = result_dtype(v, t), double(v), double(t)
        with np.errstate(all="ignore"):
            z = 0.5 * v + 0.0 * (t > 0)  # of the shape of both
            large = z > 12
            near, far = xp.where(large, 1.0, z), xp.where(large, z, 12.0)
            below = 1 / (far * far)
            series = sum(c * below**k for k, c in enumerate(_STIRLING)) / far
            near = self.special.gamma(near + 0.5) / (self.special.gamma(near) * xp.sqrt(near))
            factor = xp.where(large, xp.exp(series), near) / math.sqrt(2 * math.pi)
            power = xp.where(v == math.inf, 0.5 * t * t, 0.5 * (v + 1) * xp.log1p(t * t / v))
            return (factor * xp.exp(-power)).astype(dtype)

    def kolmogorov_order(self, n: int, x: Raw) -> Raw:
        """The n-th derivative of Kolmogorov's survival function, 1 up to 0: far from 0 and near it by other series."""
        xp, dtype, x = self.xp, result_dtype(x), double(x)

        def far(x: Raw) -> Raw:
            x, total = xp.minimum(x, 40.0), 0.0  # beyond all is 0
            for k in range(1, 7 + n // 2):
                root = math.sqrt(2) * k
                top = self.polynomial(_hermite(n), root * x)
                total = total - 2 * (-1) ** k * (-root) ** n * top * xp.exp(-((root * x) ** 2))
            return total

        def near(x: Raw) -> Raw:
            x, total = xp.maximum(x, 0.01), 0.0  # here, too
            first = math.pi**2 / 8 / (x * x)
            for k in range(1, 7 + n // 4 * 2, 2):
                s = k * k * first
                total = total + self.polynomial(_theta(n), s) * xp.exp(-s)
            total = math.sqrt(2 * math.pi) * total / x ** (n + 1)
            return -total if n else 1.0 - total

        def both(x: Raw) -> Raw:
            return self._pieces(x > _MEET, far, near, x, (1.0, 0.5))

        with np.errstate(all="ignore"):
            return self._in_blocks(both, x).astype(dtype, copy=False)


@functools.cache
def _hermite(n: int) -> list[float]:
    """Hermite's polynomial, its highest coefficient first."""
    return list(map(float, np.polynomial.hermite.herm2poly([0.0] * n + [1.0])[::-1]))


@functools.cache
def _theta(n: int) -> list[float]:
    """The polynomial p with ``x**-(n + 1) p(s) exp(-s)`` the n-th derivative of ``exp(-s) / x``, for s = C / x**2."""
    p = np.polynomial.Polynomial([1.0])
    for k in range(n):
        p = np.polynomial.Polynomial([0.0, 2.0]) * (p - p.deriv()) - (1 + k) * p
    return list(map(float, p.coef[::-1]))
