"""Derivatives of Carlson's symmetric elliptic integrals: integrals of powers on a logarithmic scale."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from namedgrad.backends.part import Kernels
from namedgrad.backends.special import double, result_dtype, side_by_side

Raw = Any
_NODES = 112  # on either side
_RULES = ((1.0, 1, 12), (4.0, 2, 25), (8.0, 3, 44), (16.0, 4, 80))  # apart by how many logarithms, power, nodes
_APART = np.exp([apart for apart, *_ in _RULES])


@functools.cache
def _shared(power: int, halves: tuple[int, ...], left: float, kind: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes ``t`` around 1 and their weights: those of Gauss and Jacobi after ``t = (s / (1 - s))**n``.

    Powers at both ends are theirs.  The higher ``n`` is, the further apart operands may be until a singularity is near.
    """
    from scipy.special import roots_jacobi

    _, n, count = _RULES[kind]
    right = 0.5 * sum(halves) - 1 - power
    roots, weights = roots_jacobi(count, n * right - 1, n * left - 1)
    t = ((1 + roots) / (1 - roots)) ** n
    return t, 2 * n * weights * (1 - roots) ** (-n * (left + right)) * t ** (1 + power - left)


def _summed(halves: Sequence[int], nodes: np.ndarray, weights: np.ndarray, *operands: Raw) -> Raw:
    """The sum over nodes of a weight over each ``(t + x)**(n / 2)``."""
    total = 0.0
    for some in side_by_side(len(nodes), operands[0].size, on_host=True):
        here = slice(some.start, some.stop)
        factors = [nodes[here, None] + x for x in operands]
        below = np.sqrt(functools.reduce(np.multiply, [f for n, f in zip(halves, factors, strict=True) if n % 2]))
        for n, factor in zip(halves, factors, strict=True):
            for _ in range(n // 2):
                np.multiply(below, factor, out=below)
        total = total + np.add.reduce(np.divide(weights[here, None], below, out=below), axis=0)
    return total


class SymmetricKernels(Kernels):
    """A part of :class:`namedgrad.backends.base.Backend`."""

    def carlson_integral(self, power: int, *given: Raw) -> Raw:
        """The integral from 0 to infinity of ``t**power`` over each ``(t + x)**(n / 2)``: all ``n``, then all ``x``."""
        count = len(given) // 2
        halves, operands = given[:count], list(map(double, given[count:]))
        with np.errstate(all="ignore"):
            if self.may_branch:
                out = self._in_blocks(functools.partial(self._by_spread, power, halves), *operands)
            else:
                out = self._by_logarithms(power, halves, *operands)
        return out.astype(result_dtype(*given[count:]))

    def elliprc_slope(self, k: int, x: Raw, z: Raw, y: Raw) -> Raw:
        """The derivative of R_C in its operand ``k``; on the host from the value, ``y``, where no digits cancel.

        By parts, and by homogeneity.  In single precision from the value in double precision, of which enough are left.
        """
        by_integral = functools.partial(self.carlson_integral, 0, *((1, 4) if k else (3, 2)))
        factor = -0.5 if k else -0.25
        single = y.dtype == np.float32
        if not self.may_branch or not (single or y.dtype == np.float64):
            return factor * by_integral(x, z)
        if single:
            x, z = double(x), double(z)
            y = self.special.elliprc(x, z)
        with np.errstate(all="ignore"):
            apart = z - x
            first = (y - 1 / np.sqrt(x)) / (2 * apart)
            out = (0.5 * y + x * first) / -z if k else first
            lost = np.absolute(apart) <= (1e-6 if single else 0.1) * z
            if not self.isfinite_all(out):
                lost = lost | ~np.isfinite(out)
            out = self._repaired(out, lost, lambda x, z: factor * by_integral(x, z), x, z)
            return out.astype(np.float32) if single else out

    def _by_spread(self, power: int, halves: tuple[int, ...], *operands: Raw) -> Raw:
        """On the host cells whose operands lie about as far apart share nodes: a million in 0.3 s instead of 20.

        The rest are those at the ends of the range of numbers, and those without a value.
        """
        every = np.broadcast_arrays(*map(np.atleast_1d, operands))
        cells = [x.ravel() for x in every]
        low, high = functools.reduce(np.minimum, cells), functools.reduce(np.maximum, cells)
        left = np.full(high.shape, 1.0 + power)
        if not np.min(low, initial=1.0) > 0:
            low = functools.reduce(np.fmin, [np.where(x == 0, math.nan, x) for x in cells])
            for n, x in zip(halves, cells, strict=True):
                left -= np.where(x == 0, 0.5 * n, 0.0)
        ratio = high / low
        kind = functools.reduce(np.add, [ratio > apart for apart in _APART], np.zeros(high.shape, int))
        usual = functools.reduce(np.logical_and, [low > 0, high < math.inf, left > 0, ratio <= _APART[-1]])
        key = np.where(usual, 1 + kind + len(_RULES) * (2 * left).astype(int), 0)
        out = np.empty(high.shape)
        for k in np.flatnonzero(np.bincount(key)):
            here = np.flatnonzero(key == k)
            some = [x[here] for x in cells]
            if not k:
                out[here] = self._by_logarithms(power, halves, *some)
                continue
            root = np.sqrt(np.sqrt(low[here])) * np.sqrt(np.sqrt(high[here]))
            scale = root * root
            rule = _shared(power, halves, left[here[0]], kind[here[0]])
            scaled = _summed(halves, *rule, *(x / scale for x in some))
            out[here] = scaled / functools.reduce(np.multiply, [root] * (sum(halves) - 2 * (1 + power)))
        return out.reshape(every[0].shape) if any(map(np.ndim, operands)) else out[0]

    def _by_logarithms(self, power: int, halves: tuple[int, ...], *operands: Raw) -> Raw:
        """By nodes of every cell.

        After ``t = exp(u)`` the integrand falls off exponentially on both sides of the logarithms of the operands.  In
        between steps are even, beyond they grow as those of a hyperbolic sine, so that nodes are few.
        """
        xp = self.xp
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
        return xp.where(bad, math.nan, out)
