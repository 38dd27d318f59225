"""Gauss' hypergeometric function ``F(a, b; c; x)`` and its derivatives of any order in a, b and c.

With ``x = 4 w / (1 + w)**2`` the plane without the cut from 1 to infinity becomes the unit disc, in which the power
series in ``w`` converges everywhere.  Its coefficients follow from the differential equation (DLMF 15.10.1) by a
recurrence over four terms, which knows no exceptions at whole differences of parameters; so do their derivatives in the
parameters.  Transformations of Pfaff and Euler (DLMF 15.8.1) come first, so that nothing cancels.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.special import double, is_complex, result_dtype

Raw = Any
Index = tuple[int, int, int]
Jet = dict[Index, Raw]  # derivatives by how often each parameter occurs, over factorials
_TERMS = 400  # where nobody may look whether they are enough: for 0.998 and -400, say
_MOST = 20000
_POLYNOMIAL = 60


class HypergeometricKernels:
    """A part of :class:`namedgrad.backends.base.Backend`."""

    xp: Any
    special: Any
    may_branch: bool
    real_polygamma: Callable[..., Raw]

    def hyp2f1_order(self, i: int, j: int, k: int, *operands: Raw) -> Raw:
        """The derivative of orders ``i`` in ``a``, ``j`` in ``b``, ``k`` in ``c``; NaN where a series is too short."""
        a, b, c, x = operands
        xp, dtype, real = self.xp, result_dtype(a, b, c, x), not is_complex(x)
        a, b, c, x = map(double, (a, b, c, x))
        zero = xp.zeros_like(xp.real(a + b + c + x), dtype=float)
        a, b, c, x = (v + zero for v in (a, b, c, x))
        every: list[Index] = list(itertools.product(range(i + 1), range(j + 1), range(k + 1)))
        with np.errstate(all="ignore"):
            beyond = xp.logical_and(xp.real(x) >= 1, xp.equal(xp.imag(x), 0))
            z = xp.where(beyond, 0.0, x)
            turned, first, second, power = self._transformed(a, b, c, z)
            third = {(0, 0, 0): c, (0, 0, 1): 1.0}
            series = self._series(every, first, second, third, xp.where(turned, z / (z - 1), z))
            log = xp.log1p(-z) if real else xp.log(1 - z)
            out = sum(_term(log, power, m) * series[i - m[0], j - m[1], k - m[2]] for m in every)
            out = math.factorial(i) * math.factorial(j) * math.factorial(k) * out * xp.exp(power[0, 0, 0] * log)
            out = xp.where(beyond, math.nan, out)
            out = xp.where(xp.equal(x, 1), self._at_one((i, j, k), a, b, c), out)
            out = out if i + j + k else self._exceptions(a, b, c, x, out, beyond=beyond)
        return out.astype(dtype)

    def _transformed(self, a: Raw, b: Raw, c: Raw, z: Raw) -> tuple[Raw, Jet, Jet, Jet]:
        """The transformation that loses the fewest digits: whether the argument is turned, parameters, power before it.

        The exponents at the singularities 1 and infinity, which are those of the series at ``w`` = 1 and -1 twice, tell
        how the coefficients and the function grow.  Digits are lost where terms of alternating signs grow, from what is
        singular on the other side of ``w``, and where their sum falls off.
        """
        xp = self.xp
        right = xp.real(z) > 0
        aside = xp.logical_and(right, xp.logical_and(xp.absolute(z) > 1, xp.absolute(xp.imag(z)) > 0))

        def above(*numbers: Raw) -> Raw:
            return functools.reduce(xp.maximum, numbers, xp.zeros_like(a))

        def cost(at_one: Raw, at_infinity: Raw, lost: Raw) -> Raw:
            """Of a series on the right, on the left, and, if it is complex, beside both singularities."""
            return xp.where(aside, at_one + at_infinity, xp.where(right, at_infinity, at_one + lost))

        low, high, left = xp.minimum(a, b), xp.maximum(a, b), c - a - b
        plain = cost(above(-left), above(-low), above(low))
        euler = cost(above(left), above(high - c), above(c - high))
        by_a, by_b = (
            xp.where(
                aside,
                above(v - u) + above(u - c, -v),
                xp.where(right, above(xp.minimum(v, c - u)) + above(v - u), above(u - c, -v)),
            )
            for u, v in ((b, a), (a, b))
        )
        best = xp.minimum(xp.minimum(plain, euler), xp.minimum(by_a, by_b))
        where, free = [], xp.ones_like(best)
        for cost in (plain, by_a, by_b, euler):
            where.append(free * xp.equal(cost, best))
            free = free - where[-1]

        def chosen(*slopes: tuple[int, int, int]) -> Jet:
            of_a, of_b, of_c = (sum(m * d[n] for m, d in zip(where, slopes, strict=True) if d[n]) for n in range(3))
            return {(0, 0, 0): of_a * a + of_b * b + of_c * c, (1, 0, 0): of_a, (0, 1, 0): of_b, (0, 0, 1): of_c}

        first = chosen((1, 0, 0), (1, 0, 0), (0, 1, 0), (-1, 0, 1))
        second = chosen((0, 1, 0), (0, -1, 1), (-1, 0, 1), (0, -1, 1))
        power = chosen((0, 0, 0), (-1, 0, 0), (0, -1, 0), (-1, -1, 1))
        return where[1] + where[2] > 0, first, second, power

    def _series(self, every: list[Index], a: Jet, b: Jet, c: Jet, y: Raw) -> Jet:
        """The power series in ``w``, term by term."""
        xp = self.xp
        w = y / (1 + xp.sqrt(1 - y)) ** 2
        zero, square, rest = xp.zeros_like(c[0, 0, 0] * w), w * w, 1 - xp.absolute(w)
        older: Jet = dict.fromkeys(every, zero)
        old, now = dict(older), dict(older)
        now[0, 0, 0] = zero + 1
        value, four = dict(now), {m: 4 * v for m, v in _times(a, b, every).items()}
        eight = {m: 4 * (a.get(m, 0.0) + b.get(m, 0.0)) - 3 * c.get(m, 0.0) for m in (*a, (0, 0, 0)) if m in now}
        eight[0, 0, 0] = eight[0, 0, 0] + 4
        for n in range(_MOST if self.may_branch else _TERMS):
            first = {m: v + n * eight[m] if m in eight else v for m, v in four.items()}
            second = {m: (n - 1) * eight[m] - v if m in eight else -v for m, v in four.items()}
            first[0, 0, 0] = first[0, 0, 0] - n * (n + 3)
            second[0, 0, 0] = second[0, 0, 0] + (n - 1) * (n - 4)
            third = {m: -(n - 2) * v for m, v in c.items() if m in now}
            third[0, 0, 0] = third[0, 0, 0] + (n - 2) * (n - 1)
            parts = [_times(*pair, every) for pair in ((first, now), (second, old), (third, older))]
            after: Jet = {}
            for m in every:  # ascending, so that what a derivative builds on is there
                total = w * (parts[0][m] + w * parts[1][m] + square * parts[2][m]) / (n + 1)
                below = after[m[0], m[1], m[2] - 1] if m[2] else 0.0
                after[m] = (total - below) / (c[0, 0, 0] + n)
            value = {m: v + after[m] for m, v in value.items()}
            older, old, now = old, now, after
            if self.may_branch and n % 8 == 7 and all(_settled(now[m], old[m], v, rest) for m, v in value.items()):
                break
        good = {m: _small(now[m], old[m], v, 1e-9 * rest) for m, v in value.items()}
        return {m: xp.where(good[m], v, math.nan) for m, v in value.items()}

    def _at_one(self, orders: Index, a: Raw, b: Raw, c: Raw) -> Raw:
        """The sum of Gauss at 1 (DLMF 15.4.20), and its derivatives by those of its logarithm."""
        xp, gammaln, parts = self.xp, self.special.gammaln, (c, c - a - b, c - a, c - b)
        top, sign = gammaln(c) + gammaln(c - a - b) - gammaln(c - a) - gammaln(c - b), 1.0
        for v in parts:
            sign = sign * xp.where(xp.logical_and(v < 0, xp.equal(xp.remainder(xp.floor(v), 2), 1)), -1.0, 1.0)
        psi = [[self.real_polygamma(n, v) for v in parts] for n in range(sum(orders))]

        def slope(i: int, j: int, k: int) -> Raw:
            whole, left, less_a, less_b = psi[i + j + k - 1]
            out = (-1) ** (i + j) * left + (whole if i == j == 0 else 0.0)
            return out - ((-1) ** i * less_a if j == 0 else 0.0) - ((-1) ** j * less_b if i == 0 else 0.0)

        found: dict[Index, Any] = {(0, 0, 0): 1.0}
        for m in itertools.product(*(range(n + 1) for n in orders)):
            if any(m):
                at = next(p for p in range(3) if m[p])
                lower = tuple(n - (p == at) for p, n in enumerate(m))
                rests = itertools.product(*(range(n + 1) for n in lower))
                terms = []
                for r in rests:
                    count = math.prod(math.comb(n, q) for n, q in zip(lower, r, strict=True))
                    step = [n - q + (p == at) for p, (n, q) in enumerate(zip(lower, r, strict=True))]
                    terms.append(count * slope(*step) * found[r])  # type: ignore[index]
                found[m] = sum(terms)  # type: ignore[index]
        return xp.where(c - a - b > 0, sign * xp.exp(top) * found[orders], math.nan if any(orders) else math.inf)

    def _exceptions(self, a: Raw, b: Raw, c: Raw, x: Raw, out: Raw, *, beyond: Raw) -> Raw:
        """From 1 on, and where ``c`` is 0, -1, ..., polynomials."""
        xp = self.xp
        short = [xp.logical_and(_ends(xp, v), ~xp.logical_and(_ends(xp, c), v < c)) for v in (a, b)]
        ends, pole = xp.logical_or(*short), _ends(xp, c)
        term, polynomial = 1.0, 1.0
        for n in range(_POLYNOMIAL):
            above = (a + n) * (b + n) * term
            term = xp.where(xp.equal(above, 0), 0.0, x * above / ((c + n) * (n + 1)))
            polynomial = polynomial + term
        out = xp.where(xp.logical_and(ends, xp.logical_or(beyond, pole)), polynomial, out)
        return xp.where(xp.logical_and(pole, ~ends), math.inf, out)


def _times(x: Jet, y: Jet, every: list[Index]) -> Jet:
    """The product of two truncated power series in the parameters."""
    out: Jet = {}
    for m in every:
        parts = [v * y[rest] for k, v in x.items() if (rest := (m[0] - k[0], m[1] - k[1], m[2] - k[2])) in y]
        out[m] = sum(parts[1:], start=parts[0]) if parts else 0.0
    return out


def _term(log: Raw, power: Jet, m: Index) -> Raw:
    """A coefficient of ``(1 - x)**power`` in the parameters, over its first one."""
    out: Any = 1.0
    for count, step in zip(m, ((1, 0, 0), (0, 1, 0), (0, 0, 1)), strict=True):
        out = out * (log * power[step]) ** count / math.factorial(count)
    return out


def _small(term: Raw, before: Raw, value: Raw, bound: Raw) -> Raw:
    """Whether what comes after the last two terms does not count."""
    return abs(term) + abs(before) <= bound * abs(value)


def _settled(term: Raw, before: Raw, value: Raw, rest: Raw) -> bool:
    """Whether a series has converged, or never will; on NumPy."""
    return bool((_small(term, before, value, 1e-17 * rest) | ~np.isfinite(value) | ~(rest > 0)).all())


def _ends(xp: Any, a: Raw) -> Raw:
    """Whether a parameter is 0, -1, -2, ..."""
    return xp.logical_and(a <= 0, xp.equal(a, xp.floor(a)))
