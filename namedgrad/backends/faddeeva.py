"""The error function and its like at complex numbers, from Faddeeva's function ``w(z) = exp(-z**2) erfc(-i z)``.

That is an integral over the real axis, for which a trapezoidal rule converges exponentially once what the pole at ``z``
contributes is put right.  Of the rules with nodes at multiples of the step and halfway between them, that one is taken
whose nodes are far from ``z`` (Al Azah and Chandler-Wilde 2021, "Computation of the complex error function using
modified trapezoidal rules").  The relative error is a few 1e-15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.special import double, is_complex, result_dtype

Raw = Any
_PAIRS = 11
_STEP = math.sqrt(math.pi / (_PAIRS + 1))
_MIDDLES = [((k + 0.5) * _STEP) ** 2 for k in range(_PAIRS + 1)]
_MULTIPLES = [(k * _STEP) ** 2 for k in range(1, _PAIRS + 1)]


class ErrorFunctions(Kernels):
    """A part of a backend whose own functions of these names take real numbers only."""

    def erf(self, x: Raw) -> Raw:
        """The error function; by its series near 0, where 1 - erfc(x) loses digits."""
        if not is_complex(x):
            return self.special.erf(x)
        xp, z = self.xp, double(x)
        near = xp.absolute(z) < 1
        square = xp.where(near, 2 * z * z, 0.0)
        series = 1.0
        for k in range(30, 0, -1):
            series = 1 + square / (2 * k + 1) * series
        series = 2 / math.sqrt(math.pi) * z * xp.exp(-0.5 * square) * series
        return xp.where(near, series, 1 - self.erfc(z)).astype(result_dtype(x))

    def erfc(self, x: Raw) -> Raw:
        """Its complement."""
        if not is_complex(x):
            return self.special.erfc(x)
        xp, z = self.xp, double(x)
        with np.errstate(all="ignore"):
            right, tail = self._sides(z)
            tail = xp.exp(-z * z) * tail
            return xp.where(right, tail, 2 - tail).astype(result_dtype(x))

    def erfcx(self, x: Raw) -> Raw:
        """The complement times ``exp(x**2)``."""
        if not is_complex(x):
            return self.special.erfcx(x)
        xp, z = self.xp, double(x)
        with np.errstate(all="ignore"):
            right, tail = self._sides(z)
            return xp.where(right, tail, 2 * xp.exp(z * z) - tail).astype(result_dtype(x))

    def ndtr(self, x: Raw) -> Raw:
        """The distribution function of the standard normal distribution."""
        return 0.5 * self.erfc(x * -math.sqrt(0.5)) if is_complex(x) else self.special.ndtr(x)

    def log_ndtr(self, x: Raw) -> Raw:
        """Its principal logarithm: that of the tail where the tail is most of it, else of what the tail takes from 1.

        The tail of the right half-plane is most of it where ``exp(-x**2 / 2)`` is large, beside the imaginary axis.
        """
        if not is_complex(x):
            return self.special.log_ndtr(x)
        xp, z = self.xp, double(x) * math.sqrt(0.5)
        with np.errstate(all="ignore"):
            right, tail = self._sides(z)
            power = -z * z
            large = xp.logical_or(~right, xp.real(power) > 300)
            rest = -0.5 * xp.exp(xp.where(large, 0.0, power)) * tail
            a, b = xp.real(rest), xp.imag(rest)
            near = 0.5 * xp.log1p(a * (2 + a) + b * b) + 1j * xp.arctan2(b, 1 + a)
            far = xp.log(xp.where(right, -0.5, 0.5) * tail) + power
            far = far - 2j * math.pi * xp.round(xp.imag(far) / (2 * math.pi))
            return xp.where(large, far, near).astype(result_dtype(x))

    def _sides(self, z: Raw) -> tuple[Raw, Raw]:
        """Whether a number lies on the right, and ``erfcx`` at that one of ``z`` and ``-z`` that does."""
        right = self.xp.real(z) >= 0
        return right, self._scaled(self.xp.where(right, z, -z))

    def _scaled(self, z: Raw) -> Raw:
        """``erfcx(z) = w(i z)`` in the right half-plane."""
        xp = self.xp
        below = xp.imag(z) > 0
        w = self._faddeeva(xp.absolute(xp.imag(z)) + 1j * xp.real(z))
        return xp.where(below, xp.conj(w), w)

    def _faddeeva(self, z: Raw) -> Raw:
        """``w(z)`` in the first quadrant."""
        xp = self.xp
        x, y, square = xp.real(z), xp.imag(z), z * z
        middles = 2j * _STEP / math.pi * z * sum(math.exp(-t) / (square - t) for t in _MIDDLES)
        multiples = 2 * z * sum(math.exp(-t) / (square - t) for t in _MULTIPLES)
        far = y >= xp.maximum(x, math.pi / _STEP)  # the pole contributes nothing
        turn = xp.exp(2j * math.pi / _STEP * xp.where(far, 1j, z))
        pole = 2 * xp.exp(xp.where(far, -1.0, -square)) * turn
        place = x / _STEP - xp.floor(x / _STEP)
        halfway = xp.logical_and(y < x, xp.absolute(place - 0.5) <= 0.25)
        by_multiples = 1j * _STEP / math.pi * (1 / xp.where(halfway, z, 1.0) + multiples) + pole / (turn - 1)
        return xp.where(halfway, by_multiples, xp.where(far, middles, middles + pole / (1 + turn)))
