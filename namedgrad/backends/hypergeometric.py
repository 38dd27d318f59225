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
from typing import Any, NamedTuple

import numpy as np

from namedgrad.backends.connection import ConnectionKernels, ends
from namedgrad.backends.jets import ORIGIN, Index, Jet, over, times
from namedgrad.backends.special import double, is_complex, result_dtype

Raw = Any
_TERMS = 120  # where nobody may look whether they are enough
_MOST = 20000
_POLYNOMIAL = 60


class HypergeometricKernels(ConnectionKernels):
    """A part of :class:`namedgrad.backends.base.Backend`."""

    def hyp2f1_order(self, i: int, j: int, k: int, *operands: Raw) -> Raw:
        """The derivative of orders ``i`` in ``a``, ``j`` in ``b``, ``k`` in ``c``; NaN where a series is too short."""
        a, b, c, x = operands
        xp, dtype = self.xp, result_dtype(a, b, c, x)
        a, b, c, x = map(double, (a, b, c, x))
        zero = xp.zeros_like(xp.real(a + b + c + x), dtype=float)
        a, b, c, x = (v + zero for v in (a, b, c, x))
        every: list[Index] = list(itertools.product(range(i + 1), range(j + 1), range(k + 1)))
        with np.errstate(all="ignore"):
            beyond = xp.logical_and(xp.real(x) >= 1, xp.equal(xp.imag(x), 0))
            found = self._on_the_plane(every, a, b, c, xp.where(beyond, 0.0, x)).get((i, j, k), zero)
            out = math.factorial(i) * math.factorial(j) * math.factorial(k) * found
            out = xp.where(beyond, math.nan, out)
            out = xp.where(xp.equal(x, 1), self._at_one((i, j, k), a, b, c), out)
            out = out if i + j + k else self._exceptions(a, b, c, x, out, beyond=beyond)
        return out.astype(dtype)

    def _on_the_plane(self, every: list[Index], a: Raw, b: Raw, c: Raw, z: Raw) -> Jet:
        """By the series in ``w`` where that converges fast, by connection formulas next to 1 and infinity."""
        xp, real = self.xp, not is_complex(z)
        if not self.may_branch:
            outer = xp.absolute(_disc(xp, z)) > (0.52 if real else 0.6)
            inner = self._central(every, a, b, c, xp.where(outer, 0.0, z))
            near = self.connected(every, a, b, c, xp.where(outer, z, 0.95))
            return {m: xp.where(outer, near.get(m, 0.0), v) for m, v in inner.items()}
        outer = np.asarray(abs(_disc(xp, z)) > (0.9 if real else 0.7))  # where that is faster
        out = {m: np.zeros(outer.shape, z.dtype) for m in every}
        for where, function in ((outer, self.connected), (~outer, self._central)):
            if where.any():
                for m, v in function(every, *(np.asarray(v)[where] for v in (a, b, c, z))).items():
                    out[m][where] = v
        return out

    def _central(self, every: list[Index], a: Raw, b: Raw, c: Raw, z: Raw) -> Jet:
        """The series after the transformation that suits it."""
        xp = self.xp
        turned, first, second, power = self._transformed(a, b, c, z)
        series = self._series(every, first, second, {ORIGIN: c, (0, 0, 1): 1.0}, xp.where(turned, z / (z - 1), z))
        log = xp.log(1 - z) if is_complex(z) else xp.log1p(-z)
        front, more = xp.exp(power[ORIGIN] * log), {m: _term(log, power, m) for m in every}
        return {m: front * v for m, v in times(series, more, every).items()}

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

        def lost_by(at_one: Raw, at_infinity: Raw, by_fall: Raw) -> Raw:
            """Of a series on the right, on the left, and, if it is complex, beside both singularities."""
            return xp.where(aside, at_one + at_infinity, xp.where(right, at_infinity, at_one + by_fall))

        low, high, left = xp.minimum(a, b), xp.maximum(a, b), c - a - b
        plain = lost_by(above(-left), above(-low), above(low))
        euler = lost_by(above(left), above(high - c), above(c - high))
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
        for lost in (plain, by_a, by_b, euler):
            where.append(free * xp.equal(lost, best))
            free = free - where[-1]

        def chosen(*slopes: tuple[int, int, int]) -> Jet:
            of_a, of_b, of_c = (sum(m * d[n] for m, d in zip(where, slopes, strict=True) if d[n]) for n in range(3))
            return {(0, 0, 0): of_a * a + of_b * b + of_c * c, (1, 0, 0): of_a, (0, 1, 0): of_b, (0, 0, 1): of_c}

        first = chosen((1, 0, 0), (1, 0, 0), (0, 1, 0), (-1, 0, 1))
        second = chosen((0, 1, 0), (0, -1, 1), (-1, 0, 1), (0, -1, 1))
        power = chosen((0, 0, 0), (-1, 0, 0), (0, -1, 0), (-1, -1, 1))
        return where[1] + where[2] > 0, first, second, power

    def _series(self, every: list[Index], a: Jet, b: Jet, c: Jet, y: Raw) -> Jet:
        """The power series in ``w``, term by term; on NumPy cells leave it once they have converged."""
        xp = self.xp
        w = _disc(xp, y)
        zero = xp.zeros_like(c[ORIGIN] * w)
        four = {m: 4 * v for m, v in times(a, b, every).items()}
        eight = {m: 4 * (a.get(m, 0.0) + b.get(m, 0.0)) - 3 * c.get(m, 0.0) for m in (*a, ORIGIN) if m in every}
        eight[ORIGIN] = eight[ORIGIN] + 4
        none = dict.fromkeys(every, zero)
        start = {**none, ORIGIN: zero + 1}
        state = _Series({ORIGIN: w}, four, eight, {m: v for m, v in c.items() if m in every}, none, none, start, start)
        if not self.may_branch:
            for n in range(_TERMS):
                state = state.after(n, every)
            return {m: xp.where(good, state.value[m], math.nan) for m, good in state.small(1e-9).items()}
        out, left = {m: np.full(zero.shape, math.nan, zero.dtype) for m in every}, np.arange(w.size)
        for n in range(_MOST):
            state = state.after(n, every)
            done = state.settled() if n % 8 == 7 else np.False_
            if done.all() or (n % 64 == 63 and done.any()):
                for m, good in state.small(1e-9).items():
                    out[m][left[done]] = np.where(good, state.value[m], math.nan)[done]
                left, state = left[~done], state.cut(~done)
                if not left.size:
                    break
        return out

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
        short = [xp.logical_and(ends(xp, v), ~xp.logical_and(ends(xp, c), v < c)) for v in (a, b)]
        whole, pole = xp.logical_or(*short), ends(xp, c)
        beyond = xp.logical_and(beyond, ~xp.logical_and(xp.equal(x, 1), c - a - b > 0))
        term, polynomial = 1.0, 1.0
        for n in range(_POLYNOMIAL):
            above = (a + n) * (b + n) * term
            term = xp.where(xp.equal(above, 0), 0.0, x * above / ((c + n) * (n + 1)))
            polynomial = polynomial + term
        polynomial = xp.where(xp.equal(term, 0), polynomial, math.nan)
        out = xp.where(xp.logical_and(whole, xp.logical_or(beyond, pole)), polynomial, out)
        return xp.where(xp.logical_and(pole, ~whole), math.inf, out)


class _Series(NamedTuple):
    """Where the sum of a series stands: its argument and coefficients, the last three terms, and their sum."""

    w: Jet
    four: Jet
    eight: Jet
    c: Jet
    older: Jet
    old: Jet
    now: Jet
    value: Jet

    def after(self, n: int, every: list[Index]) -> _Series:
        """One term further, by the recurrence of the coefficients."""
        four, eight, w = self.four, self.eight, self.w[ORIGIN]
        first = {m: four.get(m, 0.0) + n * eight.get(m, 0.0) for m in {**four, **eight}}
        second = {m: (n - 1) * eight.get(m, 0.0) - four.get(m, 0.0) for m in {**four, **eight}}
        first[ORIGIN] = first[ORIGIN] - n * (n + 3)
        second[ORIGIN] = second[ORIGIN] + (n - 1) * (n - 4)
        third = {m: -(n - 2) * v for m, v in self.c.items()}
        third[ORIGIN] = third[ORIGIN] + (n - 2) * (n - 1)
        parts = [times(*pair, every) for pair in ((first, self.now), (second, self.old), (third, self.older))]
        total = {m: w * (parts[0][m] + w * parts[1][m] + w * w * parts[2][m]) / (n + 1) for m in every}
        term = over(total, {**self.c, ORIGIN: self.c[ORIGIN] + n}, every)
        value = {m: v + term[m] for m, v in self.value.items()}
        return self._replace(older=self.old, old=self.now, now=term, value=value)

    def small(self, bound: float) -> dict[Index, Raw]:
        """Whether what comes after the last two terms does not count."""
        rest = bound * (1 - abs(self.w[ORIGIN]))
        return {m: abs(self.now[m]) + abs(self.old[m]) <= rest * abs(v) for m, v in self.value.items()}

    def settled(self) -> Raw:
        """Which cells have converged, or never will; on NumPy."""
        small = self.small(1e-17)
        return np.logical_and.reduce([small[m] | ~np.isfinite(v) for m, v in self.value.items()])

    def cut(self, keep: Raw) -> _Series:
        """Some of the cells."""
        return _Series(*({m: v[keep] if np.ndim(v) else v for m, v in jet.items()} for jet in self))


def _disc(xp: Any, y: Raw) -> Raw:
    """The point of the unit disc for one of the plane."""
    return y / (1 + xp.sqrt(1 - y)) ** 2


def _term(log: Raw, power: Jet, m: Index) -> Raw:
    """A coefficient of ``(1 - x)**power`` in the parameters, over its first one."""
    out: Any = 1.0
    for count, step in zip(m, ((1, 0, 0), (0, 1, 0), (0, 0, 1)), strict=True):
        out = out * (log * power[step]) ** count / math.factorial(count)
    return out
