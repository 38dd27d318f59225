"""Kernels of distribution functions: the density of Student's t, Kolmogorov's distribution."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.special import double, result_dtype

Raw = Any
_STIRLING = (-1 / 8, 1 / 192, -1 / 640, 17 / 14336, -31 / 18432, 691 / 180224)  # of log(Γ(z + 1/2) / Γ(z)) - log(z) / 2
_MEET = 0.8  # where both series of Kolmogorov's distribution converge fast


class DistributionKernels:
    """A part of :class:`namedgrad.backends.base.Backend`."""

    xp: Any
    special: Any
    polynomial: Callable[..., Raw]

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
        far = x > _MEET
        with np.errstate(all="ignore"):
            right = xp.where(far, xp.minimum(x, 40.0), 1.0)  # beyond these all is 0
            left = xp.where(far, 1.0, xp.maximum(x, 0.01))
            total = 0.0
            for k in range(1, 11):
                root = math.sqrt(2) * k
                top = self.polynomial(_hermite(n), root * right)
                total = total - 2 * (-1) ** k * (-root) ** n * top * xp.exp(-((root * right) ** 2))
            near = 0.0
            for k in range(1, 9, 2):
                s = (k * math.pi) ** 2 / 8 / (left * left)
                near = near + xp.where(s > 700, 0.0, self.polynomial(_theta(n), s) * xp.exp(-s))
            near = math.sqrt(2 * math.pi) * near / left ** (n + 1)
            return xp.where(far, total, -near if n else 1.0 - near).astype(dtype)


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
