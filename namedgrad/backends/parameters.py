"""Kernels of derivatives with respect to parameters: of the incomplete gamma and beta functions, zeta, K and polygamma.

An incomplete gamma or beta function is the integral of a density, and a derivative of any order in its parameters that
of the density times a polynomial in logarithms, whose integral over the whole range is 0.  So one may integrate on
either side of ``x``; on the side of the smaller tail the integrand of a first derivative keeps its sign, which leaves a
small relative error everywhere.  The quadrature is a trapezoidal rule after ``v = exp(u - exp(-u))`` (Takahasi and Mori
1974), with nodes that are the same for all elements.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.special import BERNOULLI, double, is_complex, result_dtype, side_by_side

Raw = Any


def rows(xp: Any, first: int, last: int, cells: Raw, *, on_host: bool) -> Iterator[Raw]:
    """The numbers from ``first`` to ``last``, one after the other beside some cells, as many at a time as fit."""
    for some in side_by_side(last + 1 - first, 4 * cells.size, on_host=on_host):
        yield xp.reshape(xp.arange(first + some.start, first + some.stop), (-1, *(1,) * cells.ndim))


def nodes(xp: Any, steps: int, cells: Raw, *, on_host: bool) -> Iterator[tuple[Raw, Raw]]:
    """Places and weights of the quadrature, with so many of them to an e-fold, beside some cells."""
    for numbers in rows(xp, -11 * steps // 3, 15 * steps // 4, cells, on_host=on_host):
        u = numbers / steps
        v = xp.exp(u - xp.exp(-u))
        yield v, v * (1 + xp.exp(-u)) / steps


class ParameterKernels(Kernels):
    """A part of :class:`namedgrad.backends.base.Backend`."""

    # ---------------------------------------------------------------- incomplete gamma

    def gamma_density(self, a: Raw, x: Raw) -> Raw:
        """``x**(a - 1) exp(-x) / gamma(a)``, for any real ``a``."""
        out = self._in_blocks(self._density, double(a), double(x))
        return out.astype(result_dtype(a, x), copy=False)

    def _density(self, a: Raw, x: Raw) -> Raw:
        xp = self.xp
        large = xp.greater(a, 10.0)
        if self.may_branch and not np.any(large):
            return self._near_density(0, a, x)
        big = xp.where(large, a, 20.0)
        d = (x - big) / big
        stirling = sum(b / (2 * k * (2 * k - 1) * big ** (2 * k - 1)) for k, b in enumerate(BERNOULLI[:7], 1))
        logarithm = xp.where(d < -0.5, xp.log(x / big), xp.log1p(d))
        far = big * (logarithm - d) + 0.5 * xp.log(big / (2 * math.pi)) - stirling - xp.log(x)
        beyond = xp.logical_or(xp.isinf(x), xp.logical_and(xp.isinf(big), xp.equal(x, x)))
        far = xp.where(xp.equal(x, 0), 0.0, xp.exp(xp.where(beyond, -math.inf, far)))
        return xp.where(large, far, self._near_density(0, xp.where(large, 1.0, a), x))

    def _near_density(self, i: int, a: Raw, x: Raw) -> Raw:
        """``x**(a - 1 - i) exp(-x) / gamma(a)`` of a small ``a``."""
        xp = self.xp
        x = xp.minimum(x, 800.0)  # beyond, exp(-x) is 0
        out = x ** (a - (1 + i)) * xp.exp(-x) * _reciprocal_gamma(xp, self.special, a)
        return xp.where(xp.equal(out, out), out, 0.0 * a * x)  # 0**-1 / gamma(0)

    def rgamma_order(self, n: int, x: Raw) -> Raw:
        """The n-th derivative of one over the gamma function; below a half by reflection (DLMF 5.5.3)."""
        xp, dtype, x = self.xp, result_dtype(x), double(x)
        with np.errstate(all="ignore"):
            left = x < 0.5
            z = xp.where(left, 1 - x, xp.minimum(x, 200.0))  # beyond all is 0
            slopes = [self.special.digamma(z), *(self.real_polygamma(k, z) for k in range(1, n))]
            rest = math.pi * (x - 2 * xp.rint(0.5 * x))
            waves = [xp.sin(rest), xp.cos(rest)]
            below = sum(
                math.comb(n, k) * (-1) ** (n - k + k // 2) * math.pi ** (k - 1) * waves[k % 2] * bell(slopes, n - k)
                for k in range(n + 1)
            )
            above = bell([-s for s in slopes], n)
            return (xp.where(left, below, above) * self.special.gamma(z) ** xp.where(left, 1.0, -1.0)).astype(dtype)

    def rgamma_slope(self, x: Raw, y: Raw) -> Raw:
        """The first one, on the host from the value, ``y``, where it has no zeros."""
        if not self.may_branch:
            return self.rgamma_order(1, x)
        with np.errstate(all="ignore"):
            out = -y * self.special.digamma(x)
            lost = ~((x > 0) & np.isfinite(out))
        return self._repaired(out, lost, functools.partial(self.rgamma_order, 1), x).astype(y.dtype, copy=False)

    def gammainc_order(self, n: int, a: Raw, x: Raw) -> Raw:
        """The n-th derivative in ``a`` of the regularized lower incomplete gamma function."""
        xp, psi = self.xp, self.special.digamma
        dtype, a, x = result_dtype(a, x), double(a), double(x)
        ok = xp.logical_and(xp.logical_and(x > 0, x < math.inf), xp.logical_and(a >= 0, a < math.inf))
        beside = xp.where(xp.logical_or(a < 0, x < 0), math.nan, 0.0 * xp.minimum(a, x))
        x = xp.where(ok, x, 1.0)
        shifted = xp.less(a, 1)
        log_x = xp.log(x)
        # P(a, x) = P(a + 1, x) + x**a exp(-x) / gamma(a + 1) brings a small a above 1
        b = xp.where(ok, xp.where(shifted, a + 1, a), 1.0)
        slopes = [log_x - psi(b), *(-self.real_polygamma(k, b) for k in range(1, n))]
        left = slopes[0] <= 0
        k = xp.where(left, b - x, x - b + 1) / xp.where(left, 1.0, x)
        c = xp.where(left, x, (b - 1) / (x * x))
        s = 2 / (k + xp.sqrt(k * k + 2 * c))
        total: Any = 0.0
        for v, w in nodes(xp, 12, s, on_host=self.may_branch):
            sv = s * v
            along = xp.where(left, -sv, xp.log1p(sv / x))  # log(t / x)
            z = sv / x
            drop = xp.where(left, -(b - x) * sv - x * (sv + xp.expm1(-sv)), (b - 1) * (along - z) - (x - b + 1) * z)
            total = total + xp.sum(w * xp.exp(drop) * bell([slopes[0] + along, *slopes[1:]], n), axis=0)
        density = self.gamma_density(b, x)
        out = density * s * total * xp.where(left, x, -1.0)
        more = self.gamma_density(xp.where(shifted, b, 1.0), x) * bell(slopes, n)
        out = out + xp.where(shifted, more, 0.0)
        return xp.where(ok, out, beside).astype(dtype)

    def gamma_flattened(self, i: int, a: Raw, x: Raw) -> Raw:
        """The density divided by ``x**i``: another density, unless ``a`` is so small that this has a pole."""
        xp = self.xp
        dtype, a, x = result_dtype(a, x), double(a), double(x)
        low = a < i + 0.5
        factors = math.prod((xp.where(low, 1.0, a - k) for k in range(1, i + 1)), start=1.0)
        near = self._near_density(i, xp.where(low, a, 1.0), x)
        return xp.where(low, near, self.gamma_density(xp.where(low, 1.0, a - i), x) / factors).astype(dtype)

    # ---------------------------------------------------------------- incomplete beta

    def beta_density(self, a: Raw, b: Raw, x: Raw) -> Raw:
        """``x**(a - 1) (1 - x)**(b - 1) / beta(a, b)``, 0 where a parameter is 0."""
        return self.beta_flattened(0, 0, a, b, x)

    def beta_flattened(self, i: int, j: int, a: Raw, b: Raw, x: Raw) -> Raw:
        """The same, divided by ``x**i (1 - x)**j``."""
        xp = self.xp
        dtype, a, b, x = result_dtype(a, b, x), double(a), double(b), double(x)
        none = xp.logical_or(xp.equal(a, 0), xp.equal(b, 0))
        a, b = xp.where(none, 1.0, a), xp.where(none, 1.0, b)
        sign = _gamma_sign(xp, a) * _gamma_sign(xp, b) * _gamma_sign(xp, a + b)
        powers = self.special.xlogy(a - (1 + i), x) + self.special.xlog1py(b - (1 + j), -x)
        return xp.where(none, 0.0 * x, sign * xp.exp(powers - self.special.betaln(a, b))).astype(dtype)

    def betainc_order(self, m: int, n: int, a: Raw, b: Raw, x: Raw) -> Raw:
        """The derivative of orders ``m`` in ``a`` and ``n`` in ``b`` of the regularized incomplete beta function."""
        xp = self.xp
        dtype, a, b, x = result_dtype(a, b, x), double(a), double(b), double(x)
        ok = xp.logical_and(xp.logical_and(x > 0, x < 1), xp.logical_and(a > 0, b > 0))
        a, b, x = (xp.where(ok, v, 0.5) for v in (a, b, x))
        out = self._betainc_order(m, n, a, b, sides=(x, 1 - x), logs=(xp.log(x), xp.log1p(-x)))
        return xp.where(ok, out, 0.0 * out).astype(dtype)

    def betaprime_order(self, m: int, n: int, a: Raw, b: Raw, r: Raw) -> Raw:
        """The same at ``x = r / (1 + r)``, of which ``1 - x`` is known to all digits."""
        xp = self.xp
        dtype, a, b, r = result_dtype(a, b, r), double(a), double(b), double(r)
        ok = xp.logical_and(xp.logical_and(r > 0, r < math.inf), xp.logical_and(a > 0, b > 0))
        a, b, r = (xp.where(ok, v, 0.5) for v in (a, b, r))
        rest, log_rest, small = 1 / (1 + r), -xp.log1p(r), r < 1
        log_x = xp.where(small, xp.log(r) + log_rest, -xp.log1p(1 / xp.where(small, 1.0, r)))
        out = self._betainc_order(m, n, a, b, sides=(r * rest, rest), logs=(log_x, log_rest))
        return xp.where(ok, out, 0.0 * out).astype(dtype)

    def _betainc_order(self, m: int, n: int, a: Raw, b: Raw, *, sides: tuple[Raw, Raw], logs: tuple[Raw, Raw]) -> Raw:
        xp = self.xp
        # I(a, b) = I(a + 1, b) + x**a y**b / (a B(a, b)), and = I(a, b + 1) - x**a y**b / (b B(a, b))
        low_a, low_b = xp.less(a, 1), xp.less(b, 1)
        up, down = xp.where(low_a, a, 1.0), xp.where(low_b, b, 1.0)
        a2, b2 = xp.where(low_a, a + 1, a), xp.where(low_b, b + 1, b)
        out = self._beta_tail(m, n, a2, b2, sides=sides, logs=logs)
        first = self._beta_term(m, n, up, b, tops=(up + 1, b), logs=logs)
        second = self._beta_term(m, n, a2, down, tops=(a2, down + 1), logs=logs)
        return out + xp.where(low_a, first, 0.0) - xp.where(low_b, second, 0.0)

    def _beta_slopes(self, upto: int, a: Raw, b: Raw, top_a: Raw, top_b: Raw) -> Callable[[int, int], Raw]:
        """Derivatives in ``a`` and ``b`` of ``log(gamma(a + b) / (gamma(top_a) gamma(top_b)))``, tops moving along."""
        psi = [self.special.digamma, *(functools.partial(self.real_polygamma, k) for k in range(1, upto))]
        both, one, other = ([f(v) for f in psi] for v in (a + b, top_a, top_b))

        def slope(i: int, j: int) -> Raw:
            k = i + j - 1
            return both[k] - (one[k] if j == 0 else other[k] if i == 0 else 0.0)

        return slope

    def _beta_term(self, m: int, n: int, a: Raw, b: Raw, *, tops: tuple[Raw, Raw], logs: tuple[Raw, Raw]) -> Raw:
        """Derivatives of ``x**a y**b gamma(a + b) / (gamma(top_a) gamma(top_b))``."""
        (top_a, top_b), (log_x, log_y), log_gamma = tops, logs, self.special.gammaln
        value = self.xp.exp(a * log_x + b * log_y + log_gamma(a + b) - log_gamma(top_a) - log_gamma(top_b))
        return value * _bell2(self._beta_slopes(m + n, a, b, top_a, top_b), m, n, log_x, log_y)

    def _beta_tail(self, m: int, n: int, a: Raw, b: Raw, *, sides: tuple[Raw, Raw], logs: tuple[Raw, Raw]) -> Raw:
        """The integral on the side of the smaller tail, for parameters of at least 1."""
        xp, (x, y), (log_x, log_y) = self.xp, sides, logs
        slope = self._beta_slopes(m + n, a, b, a, b)
        if n == 0:
            left = xp.less(log_x + slope(1, 0), 0)
        elif m == 0:
            left = xp.greater(log_y + slope(0, 1), 0)
        else:
            left = xp.less(x * (a + b), a)
        p, q = xp.where(left, a, b), xp.where(left, b, a)
        u, w = xp.where(left, x, y), xp.where(left, y, x)
        log_u, log_w = xp.where(left, log_x, log_y), xp.where(left, log_y, log_x)
        k, c = (p * w - (q - 1) * u) / w, (q - 1) * u / (w * w)
        s = 2 / (k + xp.sqrt(k * k + 2 * c))
        total: Any = 0.0
        for v, weight in nodes(xp, 12, s, on_host=self.may_branch):
            sv = s * v
            other = xp.log1p(-u * xp.expm1(-sv) / w)
            log_t, log_rest = log_u - sv, log_w + other
            factor = _bell2(slope, m, n, xp.where(left, log_t, log_rest), xp.where(left, log_rest, log_t))
            total = total + xp.sum(weight * xp.exp((q - 1) * other - p * sv) * factor, axis=0)
        front = xp.exp(p * log_u + (q - 1) * log_w - self.special.betaln(a, b))
        return front * s * total * xp.where(left, 1.0, -1.0)

    # ---------------------------------------------------------------- zeta, K, polygamma

    def zeta_order(self, n: int, s: Raw, q: Raw) -> Raw:
        """The n-th derivative in ``s`` of Hurwitz' zeta function, by Euler-Maclaurin summation (DLMF 25.11.5)."""
        xp = self.xp
        dtype, s, q = result_dtype(s, q), double(s), double(q)
        bad = xp.logical_or(xp.less_equal(q, 0), xp.equal(s, 1))
        endless = xp.equal(s, math.inf)  # of the sum the first term is left, 0, 1 or infinite
        limit = xp.where(xp.less(q, 1), math.inf, xp.where(xp.equal(q, 1), float(n == 0), 0.0))
        far = xp.logical_and(xp.equal(q, math.inf), xp.greater(s, 1))
        limit = xp.where(far, 0.0, limit)
        far = xp.logical_or(far, endless)
        s, q = xp.where(bad, 2.0, s), xp.where(xp.logical_or(bad, far), 1.0, q)
        out: Any = 0.0
        for k in rows(xp, 0, 14, s + q, on_host=self.may_branch):
            out = out + xp.sum((-xp.log(q + k)) ** n * (q + k) ** -s, axis=0)
        w = q + 15
        slope, power = -xp.log(w), w**-s
        counts = [math.comb(n, i) * (-1) ** i * math.factorial(i) for i in range(n + 1)]
        tail = sum(count * slope ** (n - i) / (s - 1) ** (i + 1) for i, count in enumerate(counts))
        out = out + w * power * tail + 0.5 * slope**n * power
        rising: list[Any] = [power] + [0.0] * n  # times s/w (s + 1)/w ... and its derivatives: 0 where power is
        for j, bernoulli in enumerate(BERNOULLI, 1):
            for r in range(max(0, 2 * j - 3), 2 * j - 1):
                rising = [(s + r) / w * rising[i] + (i / w * rising[i - 1] if i else 0.0) for i in range(n + 1)]
            grown = sum(math.comb(n, i) * slope ** (n - i) * rising[i] for i in range(n + 1))
            out = out + bernoulli / math.factorial(2 * j) * grown
        return xp.where(bad, math.nan, xp.where(far, limit, out)).astype(dtype)

    def kve_order(self, n: int, v: Raw, x: Raw) -> Raw:
        """The n-th derivative in ``v`` of ``exp(x) K_v(x)``: the trapezoidal rule on ``exp(v t - x cosh t)``.

        The integrand falls off doubly exponentially (DLMF 10.32.9), on an interval around its maximum.  Next to 0 that
        is long, and nearly all of the fall is at its end: there the points ``low + long tanh(crowd u)`` stand closer.
        """
        if is_complex(x):  # by a rule of its own: at real numbers nothing oscillates, and a sum is ten times as fast
            return self.complex_kve_order(n, v, x)
        xp = self.xp
        dtype, v, x = result_dtype(v, x), double(v), double(x)
        sign = xp.where(xp.less(v, 0), -1.0, 1.0) ** n
        v = xp.absolute(v)
        far, pole = xp.equal(x, math.inf), xp.equal(x, 0)
        ok = xp.logical_and(x > 0, ~far)
        x = xp.where(ok, x, 1.0)
        count = 160
        peak, radius = xp.arcsinh(v / x), xp.hypot(v, x)
        half = 2 * xp.arcsinh(xp.sqrt(22 / radius))  # cosh(half) is 1 + 44 / radius
        # below the maximum the integrand may fall off as slowly as exp(v t)
        low = xp.maximum(peak - half - 44 / xp.maximum(v, 1e-3), 0.0)
        long = peak + half - low
        crowd = 0.5 * xp.log1p(0.2 * long)
        long, step = long / xp.tanh(crowd), crowd / count
        at_zero = xp.equal(low, 0)
        top = v * peak - 2 * x * xp.sinh(peak / 2) ** 2
        total: Any = 0.0
        for j in rows(xp, 0, count, step, on_host=self.may_branch):
            place = xp.tanh(j * step)
            t = low + long * place
            wave = 1 + (-1) ** n * xp.exp(-2 * v * t)  # 2 cosh(v t) exp(-v t), or sinh
            weight = xp.where(xp.logical_and(at_zero, xp.equal(j, 0)), 0.5, 1.0) * (1 - place * place)
            term = weight * t**n * 0.5 * wave * xp.exp(v * t - 2 * x * xp.sinh(t / 2) ** 2 - top)
            total = total + xp.sum(term, axis=0)
        out = xp.where(ok, sign * long * step * total * xp.exp(top), math.nan)
        out = xp.where(far, 0.0 * v, out)
        return (out if n else xp.where(pole, math.inf, out)).astype(dtype)

    def polygamma(self, n: Raw, x: Raw) -> Raw:
        """The polygamma function in the dtype of ``x``."""
        return self.complex_polygamma(int(n), x) if is_complex(x) else self.real_polygamma(n, x).astype(result_dtype(x))

    def real_polygamma(self, n: Raw, x: Raw) -> Raw:
        """SciPy's function; far on the left, where that takes as long as the number is large, by reflection."""
        polygamma, left = self.special.polygamma, np.less(x, -100.0)
        if np.ndim(n) or not np.any(left):
            return polygamma(n, x)
        z, n = np.where(left, x, -100.5), int(n)
        turn = math.pi * (z - np.round(z))
        with np.errstate(all="ignore"):
            slope = math.pi ** (n + 1) * _horner(_cotangent(n), 1 / np.tan(turn))
            there = np.where(turn == 0, polygamma(n, -1.0), (-1) ** n * polygamma(n, 1 - z) - slope)
        return np.where(left, there, polygamma(n, np.where(left, 1.0, x)))

    def complex_polygamma(self, n: int, x: Raw) -> Raw:
        """Recurrence to the right, there the asymptotic series; reflection on the left."""
        xp = self.xp
        dtype, x = result_dtype(x), double(x)
        left = xp.real(x) < 0.5
        z = xp.where(left, 1 - x, x)
        sign = (-1.0) ** (n + 1)
        out: Any = 0.0
        for _ in range(18):
            out = out + sign * math.factorial(n) / z ** (n + 1)
            z = z + 1
        leading = math.factorial(n - 1) / z**n if n else -xp.log(z)
        out = out + sign * (leading + math.factorial(n) / (2 * z ** (n + 1)))
        for k, bernoulli in enumerate(BERNOULLI, 1):
            rising = math.factorial(2 * k + n - 1) / math.factorial(2 * k)
            out = out + sign * bernoulli * rising / z ** (2 * k + n)
        turn = math.pi * (x - xp.rint(xp.real(x)))  # next to a pole all digits are in the rest
        cotangent = xp.cos(turn) / xp.sin(turn)  # reflection, DLMF 5.15.6
        mirrored = (-1.0) ** n * out - math.pi ** (n + 1) * _horner(_cotangent(n), cotangent)
        return xp.where(left, mirrored, out).astype(dtype)


def bell(slopes: list[Raw], n: int) -> Raw:
    """The n-th derivative of ``exp(f)`` over ``exp(f)``, from the derivatives of ``f``."""
    found: list[Any] = [1.0]
    for k in range(n):
        found.append(sum(math.comb(k, i) * slopes[i] * found[k - i] for i in range(k + 1)))
    return found[n]


def _bell2(slope: Callable[[int, int], Raw], m: int, n: int, log_x: Raw, log_y: Raw) -> Raw:
    """Derivatives of ``exp(f)`` over it; those of ``f`` are ``slope``, and ``log_x`` and ``log_y`` besides."""

    def full(i: int, j: int) -> Raw:
        return slope(i, j) + (log_x if (i, j) == (1, 0) else log_y if (i, j) == (0, 1) else 0.0)

    found: dict[tuple[int, int], Any] = {(0, 0): 1.0}
    for i in range(m + 1):
        for j in range(n + 1):
            if i:
                pairs = [(p, r) for p in range(i) for r in range(j + 1)]
                found[i, j] = sum(
                    math.comb(i - 1, p) * math.comb(j, r) * full(p + 1, r) * found[i - 1 - p, j - r] for p, r in pairs
                )
            elif j:
                found[i, j] = sum(math.comb(j - 1, r) * full(0, r + 1) * found[0, j - 1 - r] for r in range(j))
    return found[m, n]


def _horner(coefficients: Any, x: Raw) -> Raw:
    """A polynomial, its lowest coefficient first."""
    out: Any = 0.0
    for c in reversed([float(c) for c in coefficients]):
        out = out * x + c
    return out


def _cotangent(n: int) -> Any:
    """The n-th derivative of the cotangent as a polynomial in it."""
    p = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        p = p.deriv() * np.polynomial.Polynomial([-1.0, 0.0, -1.0])
    return p.coef


def _gamma_sign(xp: Any, a: Raw) -> Raw:
    """The sign of the gamma function; 1 at its poles."""
    below = xp.less(a, 0)
    if xp is np and not np.any(below):  # remainders take longer than gammaln
        return 1.0
    odd = xp.equal(xp.remainder(xp.floor(a), 2), 1)
    return xp.where(xp.logical_and(below, odd), -1.0, 1.0)


def _reciprocal_gamma(xp: Any, special: Any, a: Raw) -> Raw:
    """One over the gamma function, 0 at its poles."""
    return _gamma_sign(xp, a) * xp.exp(-special.gammaln(a))
