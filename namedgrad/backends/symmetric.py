"""Derivatives of Carlson's symmetric elliptic integrals: integrals of powers on a logarithmic scale."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from namedgrad.backends.special import double, result_dtype, side_by_side

Raw = Any
_NODES = 112  # on either side


class SymmetricKernels:
    """A part of :class:`namedgrad.backends.base.Backend`."""

    xp: Any
    may_branch: bool

    def carlson_integral(self, power: int, *given: Raw) -> Raw:
        """The integral from 0 to infinity of ``t**power`` over each ``(t + x)**(n / 2)``: all ``n``, then all ``x``.

        After ``t = exp(u)`` the integrand falls off exponentially on both sides of the logarithms of the operands.  In
        between steps are even, beyond they grow as those of a hyperbolic sine, so that nodes are few.
        """
        xp, count = self.xp, len(given) // 2
        halves, operands = given[:count], list(map(double, given[count:]))
        dtype = result_dtype(*given[count:])
        with np.errstate(all="ignore"):
            bad = functools.reduce(xp.logical_or, [xp.logical_or(x < 0, x != x) for x in operands])  # noqa: PLR0124 - NaN
            at_zero = [xp.logical_or(x == 0, bad) for x in operands]
            # of an operand that is 0 a power of t is left; where that leaves no integral it is infinite
            left = 1.0 + power + 0.0 * bad
            for n, zero in zip(halves, at_zero, strict=True):
                left = left - xp.where(zero, 0.5 * n, 0.0)
            logs = [xp.log(xp.where(zero, math.nan, x)) for x, zero in zip(operands, at_zero, strict=True)]
            low, high = functools.reduce(xp.fmin, logs), functools.reduce(xp.fmax, logs)
            far = high == math.inf
            none = xp.logical_or(left <= 0, ~xp.isfinite(high))
            low, high, left = (xp.where(none, v, w) for v, w in ((0.0, low), (0.0, high), (1.0, left)))
            right = 0.5 * sum(halves) - 1 - power
            width = 0.5 * (high - low) + 2.0
            reach = xp.arcsinh((38.0 / xp.minimum(left, right) + width) / width)
            apart = float(np.max(width * reach, initial=0.0)) if self.may_branch else 0.0
            nodes = max(_NODES, math.ceil(6 * apart))  # operands far apart need more of them in between
            middle, step, total = 0.5 * (low + high), reach / nodes, 0.0
            for some in side_by_side(2 * nodes + 1, step.size, on_host=self.may_branch):
                w = xp.stack([(k - nodes) * step for k in some])
                u = middle + width * xp.sinh(w)
                fall = (1 + power) * u
                for n, log in zip(halves, logs, strict=True):
                    fall = fall - 0.5 * n * xp.where(log == log, xp.logaddexp(u, log), u)  # noqa: PLR0124 - NaN
                total = total + xp.sum(xp.exp(fall) * xp.cosh(w), axis=0)
            out = total * step * width
            out = xp.where(none, xp.where(far, 0.0, math.inf), out)
            return xp.where(bad, math.nan, out).astype(dtype)
