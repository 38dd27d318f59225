"""Derivatives of Kummer's function ``M(a, b, x)`` in its parameters, of Legendre's functions, and a density.

Those of Kummer's are its power series; where the real part of ``x`` is below 0, that of ``exp(x) M(b - a, b, -x)``
(DLMF 13.2.39), whose terms have one sign where those of the other alternate if ``b`` is not below ``a``.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.special import double, result_dtype

Raw = Any
_MOST = 5000  # terms
_TERMS = 1600  # where nobody may look whether they are enough: at the ends of the range
_ROUNDING = float(np.finfo(np.float64).eps)
_FAR = 700.0  # from here on terms leave the range of numbers


class ConfluentKernels(Kernels):
    """A part of :class:`namedgrad.backends.base.Backend`."""

    def lpmv_rest(self, j: int, m: Raw, v: Raw, x: Raw) -> Raw:
        """The j-th derivative of a Legendre function over ``(1 - x**2)**(|m| / 2)``, also at -1 and 1.

        Without that factor the derivative of one of order ``m`` is minus that of order ``m + 1`` (DLMF 14.6.1); what
        negative orders are multiplied by is no function of ``x`` (DLMF 14.9.3).
        """
        xp, poch, dtype = self.xp, self.special.poch, result_dtype(m, v, x)
        m, v, x = double(m), double(v), double(x)
        with np.errstate(all="ignore"):
            m, v = m + 0.0 * x, xp.maximum(v, -1 - v) + 0.0 * x
            k = xp.absolute(m)
            end = xp.equal(xp.absolute(x), 1)
            inner = xp.where(end, 0.0, x)
            order = k + j
            found = self.function("lpmv")(order, v, inner) * ((1 - inner) * (1 + inner)) ** (-0.5 * order)
            sign = 1 - 2 * xp.remainder(order, 2)
            left = xp.where(xp.equal(v, xp.rint(v)), sign * (1 - 2 * xp.remainder(v, 2)), math.nan)
            less = self.special.gammaln(order + 1) + math.log(2) * order
            last = sign * poch(v + 1 - order, 2 * order) * xp.exp(-less)
            found = xp.where(end, xp.where(x < 0, left, 1.0) * last, found)
            below = (1 - 2 * xp.remainder(k, 2)) / poch(v + 1 - k, 2 * k)
            return ((-1) ** j * xp.where(m < 0, below, 1.0) * found).astype(dtype)

    def chndtr_density(self, df: Raw, nc: Raw, x: Raw) -> Raw:
        """The density of the noncentral chi-square distribution: from a Bessel function, or the series of that."""
        xp, dtype, h, nc, x = self.xp, result_dtype(df, nc, x), 0.5 * double(df) - 1, double(nc), double(x)
        with np.errstate(all="ignore"):
            square = nc * x
            near, total, power = square < 4 + 0.0 * h, 0.0, 1.0
            at, rate = xp.where(near, x, 0.0) / 2, xp.where(near, nc, 0.0) / 2
            for k in range(24):
                factor = self.special.rgamma(h + (k + 1) + 0.0 * square)
                total = total + xp.where(xp.equal(factor, 0), 0.0, power * factor * at ** (h + k))
                power = power * rate / (k + 1)
            shift = xp.sqrt(x) - xp.sqrt(nc)
            bessel = self.function("ive")(h, xp.sqrt(xp.where(near, 4.0, square)))
            far = (x / nc) ** (0.5 * h) * xp.exp(-0.5 * shift * shift) * bessel
            out = xp.where(near, xp.exp(-0.5 * (x + nc)) * total, far)
            return (0.5 * xp.where(xp.isinf(x), 0.0, out)).astype(dtype)

    def hyp1f1_order(self, i: int, j: int, a: Raw, b: Raw, x: Raw) -> Raw:
        """The derivative of orders ``i`` in ``a`` and ``j`` in ``b``; NaN where terms are too few or cancel."""
        with np.errstate(all="ignore"):
            out = self._in_blocks(functools.partial(self._kummer, i, j), double(a), double(b), double(x))
        return out.astype(result_dtype(a, b, x))

    def _kummer(self, i: int, j: int, a: Raw, b: Raw, x: Raw) -> Raw:
        xp = self.xp
        left = xp.real(x) < 0
        x = xp.where(xp.absolute(x) < 2 * _FAR, x, math.nan)
        root = xp.where(left, xp.exp(0.5 * x), 1.0)
        found = self._kummer_series(i + j, xp.where(left, b - a, a), b, xp.where(left, -x, x), root)
        mirrored = sum(math.comb(j, k) * found[i + k, j - k] for k in range(j + 1))
        return xp.where(left, (-1) ** i * root * mirrored, found[i, j])

    def _kummer_series(self, n: int, a: Raw, b: Raw, x: Raw, first: Raw) -> dict[tuple[int, int], Raw]:
        """All derivatives up to that order, of a series that starts with ``first``."""
        xp = self.xp
        every = [(p, q) for p in range(n + 1) for q in range(n + 1 - p)]
        zero = 0.0 * (first + a + b + x)
        term = {m: first + zero if m == (0, 0) else zero for m in every}
        total, largest = term, {m: xp.absolute(t) for m, t in term.items()}
        sizes = (xp.absolute(v) for v in (a, b, x))
        least = float(np.max(np.nan_to_num(sum(sizes)), initial=0.0)) if self.may_branch else math.inf
        for k in range(_MOST if self.may_branch else _TERMS):
            after: dict[tuple[int, int], Raw] = {}
            for p, q in every:
                top = (a + k) * term[p, q] + (term[p - 1, q] if p else 0.0)
                after[p, q] = (top - (after[p, q - 1] if q else 0.0)) / (b + k)
            term = {m: t * (x / (k + 1)) for m, t in after.items()}
            total = {m: total[m] + term[m] for m in every}
            largest = {m: xp.maximum(largest[m], xp.absolute(term[m])) for m in every}
            if k > least and k % 8 == 0 and not any(np.any(abs(term[m]) > 1e-18 * abs(total[m])) for m in every):
                break
        out = {}
        for (p, q), t in total.items():
            enough = xp.maximum(1e-8 * xp.absolute(t), 1e-13 * xp.absolute(first))  # next to a zero of the sum
            long = xp.absolute(term[p, q]) <= 1e-12 * xp.absolute(t)
            out[p, q] = xp.where(xp.logical_and(long, _ROUNDING * largest[p, q] <= enough), t, math.nan)
        return {(p, q): math.factorial(p) * math.factorial(q) * t for (p, q), t in out.items()}
