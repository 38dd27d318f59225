"""Gauss' hypergeometric function next to its singularities 1 and infinity, with derivatives in its parameters.

There it is a combination of two power series (DLMF 15.8.4, after the transformation of Pfaff 15.8.1 at infinity), whose
coefficients have poles that cancel where the difference of their exponents is a whole number.  But the function is
analytic in that difference, so its value there is its mean over a circle of differences around it, on which the
combination loses few digits: the trapezoidal rule with so many points is exact to rounding.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from namedgrad.backends.jets import ORIGIN, Index, Jet, composed, convolved, exponential, minus, over, times
from namedgrad.backends.part import Kernels
from namedgrad.backends.special import is_complex, side_by_side

Raw = Any
_PI = math.pi
_POINTS = 18


class ConnectionKernels(Kernels):
    """A part of :class:`namedgrad.backends.base.Backend`."""

    def connected(self, every: list[Index], a: Raw, b: Raw, c: Raw, z: Raw) -> Jet:
        """The function at ``z``; real numbers above 0.8 or below -4.

        Next to 1 it is that of ``a``, ``b`` and ``c`` itself, with the exponents 0 and ``c - a - b``; next to infinity
        ``(1 - z)**-a`` times that of ``a``, ``c - b`` and ``c``, with 0 and ``b - a``.  On the circle ``b`` is varied,
        or ``a`` if that leaves the larger of two terms exactly 0 where it is.
        """
        xp = self.xp
        far = xp.absolute(1 - z) > 1
        y = xp.where(far, 1 / (1 - z), 1 - z)
        log = xp.log(y)
        steep, more = c - a - b < 0, b > a
        one = xp.where(xp.where(far, more, ~steep), c - a, a)
        other = xp.where(xp.where(far, ~more, ~steep), c - b, b)
        swapped = xp.logical_and(ends(xp, other), ~ends(xp, one))
        a, b = xp.where(swapped, b, a), xp.where(swapped, a, b)
        turn = xp.where(swapped, 1.0, 0.0)
        first: Jet = {ORIGIN: a, (1, 0, 0): 1 - turn, (0, 1, 0): turn}
        second: Jet = {ORIGIN: b, (1, 0, 0): turn, (0, 1, 0): 1 - turn}
        gap = xp.where(far, b - a, c - a - b)
        radius = 1 / (2 + xp.absolute(log))
        radius = xp.where(xp.absolute(gap - xp.round(gap)) < radius / 2, radius, 0.0)
        third: Jet = {ORIGIN: c, (0, 0, 1): 1.0}
        total = self._around_whole(every, radius, [first, second, third, *({ORIGIN: v} for v in (far, y, log))])
        power = composed(_powers(xp.where(far, log, 0.0), max(map(sum, every))), first, every)
        front = xp.exp(xp.where(far, a * log, 0.0))
        return {m: front * v for m, v in times(power, total, every).items()}

    def _around_whole(self, every: list[Index], radius: Raw, given: list[Jet]) -> Jet:
        """The combination on circles; on NumPy, where the radius is 0, at one point."""
        if not self.may_branch:
            return self._on_circles(every, radius, given)
        alone = radius == 0
        out = {m: np.zeros(alone.shape, given[-2][ORIGIN].dtype) for m in every}
        for where, function in ((alone, self._two_series), (~alone, self._on_circles)):
            if where.any():
                some = [{m: v[where] if np.ndim(v) else v for m, v in jet.items()} for jet in given]
                for m, v in function(every, radius[where], some).items():
                    out[m][where] = v
        return out

    def _on_circles(self, every: list[Index], radius: Raw, given: list[Jet]) -> Jet:
        """The mean over points on circles, those of few cells side by side."""
        xp, real = self.xp, not is_complex(given[-2][ORIGIN])
        points = _POINTS // 2 if real else _POINTS  # of conjugate points, one will do
        turns = [cmath.exp(2j * _PI * (n + 0.5) / _POINTS) for n in range(points)]
        total: Jet = {}
        for some in side_by_side(points, radius.size, on_host=self.may_branch):
            found = self._two_series(every, xp.stack([radius * turns[n] for n in some]), given)
            for m, v in found.items():
                total[m] = total.get(m, 0.0) + xp.sum(2 * xp.real(v) if real else v, axis=0) / _POINTS
        return total

    def _two_series(self, every: list[Index], step: Raw, given: list[Jet]) -> Jet:
        """The combination for a ``b`` that is off by ``step``; it has no value if the difference is a whole number."""
        xp, count = self.xp, max(map(sum, every))
        first, b, c = given[:3]
        far, y, log = (v[ORIGIN] for v in given[3:])
        b = {**b, ORIGIN: b[ORIGIN] + step}
        rest = minus(c, b)
        second, opposite = _either(xp, far, rest, b), _either(xp, far, b, rest)
        others, gap = (minus(c, first), opposite), minus(opposite, first)
        above, gamma = self._reciprocal_gamma(c, every)
        parts = []
        for sign, pair, below in ((-1.0, (first, second), others), (1.0, others, (first, second))):
            third = {m: sign * v for m, v in gap.items()}
            third[ORIGIN] = third[ORIGIN] + 1
            size, out = -above, self._power_series(every, *pair, third, y)
            for v in (*below, third):
                logarithm, factor = self._reciprocal_gamma(v, every)
                size, out = size + logarithm, times(out, factor, every)
            if sign > 0:
                size, out = size + gap[ORIGIN] * log, times(out, composed(_powers(log, count), gap, every), every)
            parts.append({m: xp.exp(size) * v for m, v in out.items()})
        sine = composed(self._sine(gap[ORIGIN], count), gap, every)
        return over(minus(*parts), times(sine, gamma, every), every)

    def _reciprocal_gamma(self, v: Jet, every: list[Index]) -> tuple[Raw, Jet]:
        """One over the gamma function: a logarithm, and what it is to be multiplied by; on the left by reflection."""
        xp, count, at = self.xp, max(map(sum, every)), v[ORIGIN]
        right = xp.real(at) >= 0.5
        there = xp.where(right, at, 1 - at)
        polygamma = self.complex_polygamma if is_complex(at) else self.real_polygamma
        slopes = [0.0, *(polygamma(n - 1, there) / math.factorial(n) for n in range(1, count + 1))]
        series = exponential([xp.where(right, -1.0, (-1.0) ** n) * slope for n, slope in enumerate(slopes)])
        sine = [xp.where(right, float(n == 0), s) for n, s in enumerate(self._sine(at, count))]
        return xp.where(right, -1.0, 1.0) * self.special.loggamma(there), composed(convolved(series, sine), v, every)

    def _sine(self, x: Raw, count: int) -> list[Raw]:
        """Taylor coefficients of ``sin(πx) / π``, which is exactly 0 at whole numbers."""
        xp = self.xp
        whole = xp.round(xp.real(x))
        sign, rest = xp.where(xp.equal(xp.remainder(whole, 2), 0), 1.0, -1.0), _PI * (x - whole)
        waves = [sign * xp.sin(rest), sign * xp.cos(rest)]
        return [(-1) ** (n // 2) * _PI ** (n - 1) / math.factorial(n) * waves[n % 2] for n in range(count + 1)]

    def _power_series(self, every: list[Index], first: Jet, second: Jet, third: Jet, y: Raw) -> Jet:
        """The power series in ``y`` or, for numbers on the left, that of Pfaff's transformation."""
        xp, real = self.xp, not is_complex(y)
        if not real:
            turned = xp.absolute(1 - y) > 1
            second = _either(xp, turned, minus(third, second), second)
        at = y if real else xp.where(turned, y / (y - 1), y)
        term: Jet = {ORIGIN: 0.0 * at + 1.0}
        value = dict(term)
        for n in range(50 if real else 150):
            shifted = [{**v, ORIGIN: v[ORIGIN] + n} for v in (first, second, third)]
            term = over(times(times(term, shifted[0], every), shifted[1], every), shifted[2], every)
            term = {m: v * (at / (n + 1)) for m, v in term.items()}
            value = {m: value.get(m, 0.0) + v for m, v in term.items()}
            if self.may_branch and n % 4 == 3 and _settled(term, value):
                break
        value = {m: xp.where(abs(term[m]) <= 1e-10 * abs(v), v, math.nan) for m, v in value.items()}
        if real:
            return value
        log = xp.where(turned, -xp.log(1 - y), 0.0)
        power = composed(_powers(log, max(map(sum, every))), first, every)
        front = xp.exp(first[ORIGIN] * log)
        return {m: front * v for m, v in times(value, power, every).items()}


def _either(xp: Any, where: Raw, x: Jet, y: Jet) -> Jet:
    """A choice cell by cell."""
    return {m: xp.where(where, x.get(m, 0.0), y.get(m, 0.0)) for m in {**x, **y}}


def ends(xp: Any, a: Raw) -> Raw:
    """Whether a parameter is 0, -1, -2, ..."""
    return xp.logical_and(a <= 0, xp.equal(a, xp.round(a)))


def _powers(log: Raw, count: int) -> list[Raw]:
    """Taylor coefficients of ``exp(log * t)`` at 0."""
    return [log**n / math.factorial(n) for n in range(count + 1)]


def _settled(term: Jet, value: Jet) -> bool:
    """Whether a series has converged, or never will; on NumPy."""
    return all(bool(((abs(v) <= 1e-17 * abs(value[m])) | ~np.isfinite(value[m])).all()) for m, v in term.items())
