"""Confluent hypergeometric functions that CuPy lacks, and Struve's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.special import double, is_complex, result_dtype

Raw = Any
_NODES = np.arange(-5.0, 7.5, 1 / 16)  # of s, where t = exp(s - exp(-s)) goes through all numbers above 0
_TERMS = 140  # of the series
_STEPS = 41  # to parameters above 0
_NEAR, _SHARE = 6.0, 0.85  # up to these, of a number and of the order, terms that alternate cost few digits
_MOST = 168.0  # from here on the first term leaves the range of numbers


class CupyConfluent(Kernels):
    """A part of :class:`namedgrad.backends.cupy.CupyBackend`."""

    def hyp0f1(self, v: Raw, z: Raw) -> Raw:
        """Near 0 by its series, else from a Bessel function (DLMF 10.16.9 and 10.39.9)."""
        xp, dtype, v, z = self.xp, result_dtype(v, z), double(v), double(z)
        size = xp.absolute(z)
        near = size < 1 + 0 * v
        at, term, out = xp.where(near, z, 0.0), 1.0, 1.0
        for k in range(24):
            term = term * (at / ((v + k) * (k + 1)))
            out = out + term
        if is_complex(z):
            root = xp.sqrt(xp.where(near, 1.0, -z))
            bessel = self.jv_order(0, v - 1, 2 * root)
        else:
            root = xp.sqrt(xp.where(near, 1.0, size))
            bessel = xp.where(z < 0, self.jv_order(0, v - 1, 2 * root), self.iv_order(0, v - 1, 2 * root))
        far = self.special.gamma(v + 0 * size) * root ** (1 - v) * bessel
        return xp.where(near, out, far).astype(dtype)

    def hyp1f1(self, a: Raw, b: Raw, x: Raw) -> Raw:
        """Kummer's function."""
        return self.hyp1f1_order(0, 0, a, b, x)

    def hyperu(self, a: Raw, b: Raw, x: Raw) -> Raw:
        """Tricomi's function: an integral (DLMF 13.4.4) of an ``a`` above 0, below by recurrence (DLMF 13.3.7)."""
        xp, dtype = self.xp, result_dtype(a, b, x)
        a, b, x = (xp.asarray(double(v)) for v in (a, b, x))
        up = xp.maximum(xp.ceil(1 - a), 0.0)
        start = a + up
        now, above = self._tricomi(start, b, x), self._tricomi(start + 1, b, x)
        for k in range(_STEPS):
            c, last = start - k, up > k
            below = (2 * c + x - b) * now - c * (c - b + 1) * above
            now, above = xp.where(last, below, now), xp.where(last, now, above)
        low = xp.minimum(b, 0.999)
        at_0 = xp.where(b < 1, self.special.gamma(1 - low) * self.special.rgamma(a - low + 1), math.inf)
        at_end = xp.where(xp.equal(x, 0), at_0, xp.where(a > 0, 0.0, math.inf))
        end = xp.logical_or(xp.equal(x, 0), xp.equal(x, math.inf))
        out = xp.where(end, xp.where(xp.equal(a, 0), 1.0, at_end), now)
        return xp.where(xp.logical_and(up <= _STEPS, x >= 0), out, math.nan).astype(dtype)

    def _tricomi(self, a: Raw, b: Raw, x: Raw) -> Raw:
        """Of an ``a`` above 0, with ``t / x`` for the variable of the integral."""
        xp = self.xp
        x = xp.where(xp.logical_and(x > 0, x < math.inf), x, 1.0)
        total, log = 0.0 * (a + b + x), xp.log(x)
        front = self.special.gammaln(a + 0 * total) + a * log
        for s in _NODES:
            t, weight = math.exp(s - math.exp(-s)), (s - math.exp(-s)) * a + math.log1p(math.exp(-s))
            total = total + xp.exp(weight + (b - a - 1) * xp.log1p(t / x) - t - front)
        return total * (_NODES[1] - _NODES[0])

    # ---------------------------------------------------------------- Struve's

    def struve(self, v: Raw, x: Raw) -> Raw:
        """Near 0 by its series, else by an integral (DLMF 11.2.1 and 11.5.2)."""
        xp, dtype = self.xp, result_dtype(v, x)
        v, x = xp.asarray(double(v)), xp.asarray(double(x))
        size = xp.absolute(x)
        near = size < xp.maximum(_NEAR, _SHARE * v) + 0 * v
        end = xp.equal(size, math.inf)
        far = xp.where(near, xp.maximum(_NEAR, v), size)
        total: Any = 0.0
        for s in _NODES:
            t, weight = math.exp(s - math.exp(-s)), s - math.exp(-s) + math.log1p(math.exp(-s))
            total = total + xp.exp(weight - t + (v - 0.5) * xp.log1p((t / far) ** 2))
        power = (0.5 * far) ** (0.5 * (v - 1))
        front = power * self.special.rgamma(v + 0.5 + xp.zeros_like(far)) * power / math.sqrt(math.pi)
        wave = xp.where(end, 0.0, self.yv_order(0, v, xp.where(end, 1.0, far)))
        beyond = xp.where(v < _MOST, wave + front * total * (_NODES[1] - _NODES[0]), math.nan)
        series = self._struve_series(v, xp.where(near, size, 0.0), -1)
        return self._signed(v, x, xp.where(near, series, beyond)).astype(dtype)

    def modstruve(self, v: Raw, x: Raw) -> Raw:
        """By its series, far away that of a Bessel function, from which it differs by less than the rounding."""
        xp, dtype = self.xp, result_dtype(v, x)
        v, x = xp.asarray(double(v)), xp.asarray(double(x))
        size = xp.absolute(x)
        near = size < 60 + xp.maximum(v, 0.0)
        end = xp.equal(size, math.inf)
        series = self._struve_series(v, xp.where(near, size, 0.0), 1)
        beyond = xp.where(end, math.inf, self.iv_order(0, v, xp.where(xp.logical_or(near, end), 60.0, size)))
        return self._signed(v, x, xp.where(near, series, beyond)).astype(dtype)

    def _struve_series(self, v: Raw, x: Raw, sign: int) -> Raw:
        """Both, from the first term that is not 0; NaN where large terms cancel."""
        xp, v = self.xp, v + 0 * x
        none = xp.logical_and(v < -1, xp.equal(v + 0.5, xp.rint(v + 0.5)))
        start = xp.where(none, -v - 0.5, 0.0)
        square, least = sign * 0.25 * x * x, start + 1.5
        power = (0.5 * x) ** (0.5 * (v + 1) + start)  # its square may leave the range of numbers
        term = power * (self.special.rgamma(v + least) * self.special.rgamma(least)) * power
        term = term * (1 - (1 - sign) * xp.remainder(start, 2))
        out, largest = term, xp.absolute(term)
        for k in range(_TERMS):
            term = term * (square / ((k + least) * (k + least + v)))
            out, largest = out + term, xp.maximum(largest, xp.absolute(term))
        error = xp.maximum(xp.absolute(term), 2e-16 * largest)
        enough = xp.maximum(1e-10 * xp.absolute(out), xp.where(v < 1, 1e-12, 0.0))  # those of low orders have zeros
        kept = xp.logical_and(v < _MOST, error <= enough)
        return xp.where(kept, out, math.nan)

    def _signed(self, v: Raw, x: Raw, out: Raw) -> Raw:
        """On the left those of whole orders are odd or even."""
        xp = self.xp
        turned = xp.where(xp.equal(v, xp.rint(v)), 1 - 2 * xp.remainder(v + 1, 2), math.nan)
        return xp.where(x < 0, turned * out, out)
