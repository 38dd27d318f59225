"""Derivatives of Kummer's function ``M(a, b, x)`` in its parameters, by its power series.

Below 0 that of ``exp(x) M(b - a, b, -x)`` (DLMF 13.2.39), whose terms have one sign where those of the other alternate.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.backends.special import double, result_dtype

Raw = Any
_MOST = 5000  # terms
_FAR = 1400.0  # from here on terms leave the range of numbers


class ConfluentKernels:
    """A part of :class:`namedgrad.backends.base.Backend`."""

    _in_blocks: Callable[..., Raw]

    def hyp1f1_order(self, i: int, j: int, a: Raw, b: Raw, x: Raw) -> Raw:
        """The derivative of orders ``i`` in ``a`` and ``j`` in ``b``."""
        with np.errstate(all="ignore"):
            out = self._in_blocks(functools.partial(_both_sides, i, j), double(a), double(b), double(x))
        return out.astype(result_dtype(a, b, x))


def _both_sides(i: int, j: int, a: Raw, b: Raw, x: Raw) -> Raw:
    x = np.where(np.absolute(x) < _FAR, x, np.nan)
    left = x < 0
    root = np.where(left, np.exp(0.5 * x), 1.0)
    found = _series(i + j, np.where(left, b - a, a), b + 0.0 * x, np.absolute(x), root)
    out = found[i, j]
    if np.any(left):
        mirrored = sum(math.comb(j, k) * found[i + k, j - k] for k in range(j + 1))
        out = np.where(left, (-1) ** i * mirrored, out)
    return out * root


def _series(n: int, a: Raw, b: Raw, x: Raw, first: Raw) -> dict[tuple[int, int], Raw]:
    """All derivatives up to that order, of a series that starts with ``first``."""
    every = [(p, q) for p in range(n + 1) for q in range(n + 1 - p)]
    zero = np.zeros(np.broadcast(a, x).shape)
    term = {m: first + zero if m == (0, 0) else zero for m in every}
    total = dict.fromkeys(every, zero)
    least = np.nanmax(np.absolute(a) + np.absolute(b) + x, initial=0.0)
    for k in range(_MOST):
        total = {m: total[m] + term[m] for m in every}
        if k > least and k % 8 == 0 and not any(np.any(abs(term[m]) > 1e-18 * abs(total[m])) for m in every):
            break
        after: dict[tuple[int, int], Raw] = {}
        for p, q in every:
            top = (a + k) * term[p, q] + (term[p - 1, q] if p else 0.0)
            after[p, q] = (top - (after[p, q - 1] if q else 0.0)) / (b + k)
        term = {m: t * (x / (k + 1)) for m, t in after.items()}
    return {(p, q): math.factorial(p) * math.factorial(q) * t for (p, q), t in total.items()}
