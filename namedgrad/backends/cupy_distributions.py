"""Distribution functions that CuPy lacks, from the incomplete gamma and beta functions that it has."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.special import double, result_dtype

Raw = Any
MANY = 1e7  # degrees of freedom
_EVENTS = 600  # of half the noncentrality on average, up to half as many


class CupyDistributions(Kernels):
    """A part of :class:`namedgrad.backends.cupy.CupyBackend`."""

    # ---------------------------------------------------------------- of odds r = x / (1 - x)

    def _beta_at_odds(self, a: Raw, b: Raw, r: Raw) -> tuple[Raw, Raw]:
        """The incomplete beta function at ``r / (1 + r)`` and its complement, the smaller one to all digits."""
        xp, betainc = self.xp, self.special.betainc
        right = r > 1
        rest = 1 / (1 + r)
        share = xp.where(right, 1.0, r) * rest
        found = betainc(xp.where(right, b, a), xp.where(right, a, b), share)
        small = found < 0.5
        opposite = betainc(xp.where(right, a, b), xp.where(right, b, a), 1 - share)
        other = xp.where(small, 1 - found, opposite)
        return xp.where(right, other, found), xp.where(right, found, other)

    def _odds_of_beta(self, a: Raw, b: Raw, p: Raw) -> Raw:
        """The odds at which the incomplete beta function is ``p``."""
        x, rest = self.special.betaincinv(a, b, p), self.special.betaincinv(b, a, 1 - p)
        return self.xp.where(x < 0.5, x / (1 - x), (1 - rest) / rest)

    def stdtr(self, v: Raw, t: Raw) -> Raw:
        """The distribution function of Student's t."""
        xp, dtype, v, t = self.xp, result_dtype(v, t), double(v), double(t)
        many, few = self._degrees(v, t)
        tail = 0.5 * self._beta_at_odds(0.5 + 0.0 * few, 0.5 * few, t * t / few)[1]
        normal = self.special.ndtr(xp.sign(t) * self._stretch(many) * xp.sqrt(many * xp.log1p(t * t / many)))
        return xp.where(many > MANY, normal, xp.where(t > 0, 1 - tail, tail)).astype(dtype)

    def stdtrit(self, v: Raw, p: Raw) -> Raw:
        """Its inverse."""
        xp, dtype, v, p = self.xp, result_dtype(v, p), double(v), double(p)
        many, few = self._degrees(v, p)
        tail = xp.minimum(p, 1 - p)
        near = self._odds_of_beta(0.5 + 0.0 * few, 0.5 * few, 1 - 2 * tail)
        far = 1 / self._odds_of_beta(0.5 * few, 0.5 + 0.0 * few, 2 * tail)
        size = xp.sqrt(few * xp.where(tail > 0.25, near, far))
        normal = self.special.ndtri(tail) / self._stretch(many)
        size = xp.where(many > MANY, xp.sqrt(many * xp.expm1(normal * normal / many)), size)
        return xp.where(p < 0.5, -size, size).astype(dtype)

    def _degrees(self, v: Raw, t: Raw) -> tuple[Raw, Raw]:
        """Of freedom, where they are many and where they are few: of many ``v / (v + t**2)`` has lost its digits."""
        v = v + (self.xp.zeros_like(t) if hasattr(t, "dtype") else 0.0)  # CuPy's functions take arrays
        return self.xp.minimum(self.xp.maximum(v, MANY), 1e30), self.xp.minimum(v, MANY)

    def _stretch(self, v: Raw) -> Raw:
        """What ``sqrt(v log(1 + t**2 / v))`` is multiplied by to be normal (Wallace 1959), up to ``v**-2``."""
        return (v + 0.125) / (v + 0.375)

    def fdtr(self, n: Raw, d: Raw, x: Raw) -> Raw:
        """The distribution function of the F distribution."""
        return self._of_f(n, d, x)[0].astype(result_dtype(n, d, x))

    def fdtrc(self, n: Raw, d: Raw, x: Raw) -> Raw:
        """Its complement."""
        return self._of_f(n, d, x)[1].astype(result_dtype(n, d, x))

    def _of_f(self, n: Raw, d: Raw, x: Raw) -> tuple[Raw, Raw]:
        n, d = double(n), double(d)
        return self._beta_at_odds(0.5 * n, 0.5 * d, n * double(x) / d)

    def fdtri(self, n: Raw, d: Raw, p: Raw) -> Raw:
        """Its inverse."""
        dtype, n, d, p = result_dtype(n, d, p), double(n), double(d), double(p)
        return (d / n * self._odds_of_beta(0.5 * n, 0.5 * d, p)).astype(dtype)

    def chndtr(self, x: Raw, df: Raw, nc: Raw) -> Raw:
        """That of the noncentral chi-square distribution, a sum over Poisson's numbers; NaN where they may be large."""
        xp, gammaln, dtype = self.xp, self.special.gammaln, result_dtype(x, df, nc)
        half, a, mean = 0.5 * double(x), 0.5 * double(df), 0.5 * double(nc)
        end = xp.equal(half, math.inf)
        half = xp.where(end, 1.0, half)
        zero = 0.0 * (half + a + mean)
        a, mean, half = a + zero, mean + zero, xp.where(half + zero < 0, math.nan, half)
        central, total = self.special.gammainc(a + _EVENTS, half), 0.0
        with np.errstate(all="ignore"):
            log, at = xp.log(xp.maximum(mean, 1e-300)), xp.log(half)
            for j in range(_EVENTS - 1, -1, -1):
                central = central + xp.exp((a + j) * at - half - gammaln(a + (j + 1)))
                total = total + xp.exp(j * log - mean - math.lgamma(j + 1)) * central
        return xp.where(end, 1.0 + zero, xp.where(mean > _EVENTS / 2, math.nan, total)).astype(dtype)

    # ---------------------------------------------------------------- of counts

    def bdtr(self, k: Raw, n: Raw, p: Raw) -> Raw:
        """At most ``k`` successes."""
        return self._of_trials(k, n, p, 1, lambda k, n, p: self.special.betainc(n - k, k + 1, 1 - p))

    def bdtrc(self, k: Raw, n: Raw, p: Raw) -> Raw:
        """More than ``k`` successes."""
        return self._of_trials(k, n, p, 0, lambda k, n, p: self.special.betainc(k + 1, n - k, p))

    def bdtri(self, k: Raw, n: Raw, y: Raw) -> Raw:
        """The probability of one, of which at most ``k`` have the probability ``y``."""
        return self._of_trials(k, n, y, math.nan, lambda k, n, y: 1 - self.special.betaincinv(n - k, k + 1, y))

    def _of_trials(self, k: Raw, n: Raw, p: Raw, whole: float, f: Callable[..., Raw]) -> Raw:
        """A function of counts rounded down, and what it is where ``k`` is ``n``; none where ``k`` is less or more."""
        xp = self.xp
        dtype, k, n = result_dtype(k, n, p), xp.floor(double(k)), xp.floor(double(n))
        known = xp.logical_and(k >= 0, k < n)
        out = f(xp.where(known, k, 0.0), xp.where(known, n, 1.0), double(p))
        return xp.where(known, out, xp.where(k == n, whole, math.nan)).astype(dtype)

    def nbdtr(self, k: Raw, n: Raw, p: Raw) -> Raw:
        """At most ``k`` failures before the ``n``-th success."""
        return self._of_failures(k, n, p, lambda k, n, p: self.special.betainc(n, k + 1, p))

    def nbdtrc(self, k: Raw, n: Raw, p: Raw) -> Raw:
        """More than ``k``."""
        return self._of_failures(k, n, p, lambda k, n, p: self.special.betainc(k + 1, n, 1 - p))

    def nbdtri(self, k: Raw, n: Raw, y: Raw) -> Raw:
        """The probability of a success, with which at most ``k`` have the probability ``y``."""
        return self._of_failures(k, n, y, lambda k, n, y: self.special.betaincinv(n, k + 1, y))

    def _of_failures(self, k: Raw, n: Raw, p: Raw, f: Callable[..., Raw]) -> Raw:
        return f(self.xp.floor(double(k)), self.xp.floor(double(n)), double(p)).astype(result_dtype(k, n, p))

    def pdtr(self, k: Raw, m: Raw) -> Raw:
        """At most ``k`` events."""
        return self.special.gammaincc(self.xp.floor(double(k)) + 1, double(m)).astype(result_dtype(k, m))

    def pdtrc(self, k: Raw, m: Raw) -> Raw:
        """More than ``k``."""
        return self.special.gammainc(self.xp.floor(double(k)) + 1, double(m)).astype(result_dtype(k, m))

    def pdtri(self, k: Raw, y: Raw) -> Raw:
        """The mean with which at most ``k`` have the probability ``y``."""
        return self.special.gammainccinv(self.xp.floor(double(k)) + 1, double(y)).astype(result_dtype(k, y))

    # ---------------------------------------------------------------- gamma, chi-square, normal, Kolmogorov

    def gdtr(self, a: Raw, b: Raw, x: Raw) -> Raw:
        """The distribution function of the gamma distribution."""
        return self.special.gammainc(b, a * x)

    def gdtrc(self, a: Raw, b: Raw, x: Raw) -> Raw:
        """Its complement."""
        return self.special.gammaincc(b, a * x)

    def gdtrix(self, a: Raw, b: Raw, p: Raw) -> Raw:
        """Its inverse."""
        return self.special.gammaincinv(b, p) / a

    def gdtria(self, p: Raw, b: Raw, x: Raw) -> Raw:
        """Its inverse in the rate."""
        return self.special.gammaincinv(b, p) / x

    def chdtri(self, v: Raw, p: Raw) -> Raw:
        """The inverse of the survival function of the chi-square distribution."""
        return 2 * self.special.gammainccinv(0.5 * v, p)

    def nrdtrimn(self, p: Raw, std: Raw, x: Raw) -> Raw:
        """The mean of a normal distribution with a known quantile."""
        return x - std * self.special.ndtri(p)

    def nrdtrisd(self, mn: Raw, p: Raw, x: Raw) -> Raw:
        """Its deviation."""
        return (x - mn) / self.special.ndtri(p)

    def kolmogorov(self, x: Raw) -> Raw:
        """The survival function of Kolmogorov's distribution."""
        return self.kolmogorov_order(0, x)
