"""Slopes of scaled Bessel functions far from 0, where the neighbouring orders of which they are a difference agree.

There a scaled function falls like ``1 / sqrt(x)``, and its slope is small beside it.  Their quotient ``w`` solves the
Riccati equation ``w' + 2 w + w**2 + (1 + w) / x = (v / x)**2`` (from DLMF 10.25.1, with ``I = exp(x) y`` and ``y' = w y``);
its series in ``1 / x`` is asymptotic, and that of K has the signs of odd powers turned (DLMF 10.40.1 and 10.40.2).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from namedgrad.array import DimArray
from namedgrad.backends import may_look
from namedgrad.rules.elementwise import absolute_real, c, greater, reciprocal
from namedgrad.rules.elementwise import sign as direction
from namedgrad.rules.special.declare import is_formula, scaled
from namedgrad.rules.structure import add, multiply, subtract, where
from namedgrad.trace import innermost

FAR, TERMS = 32.0, 16  # at 32 the 16th term is as small as the rounding


def _series(square_of_order: DimArray) -> list[DimArray]:
    """Coefficients of the powers of ``1 / x`` from the first on."""
    w: list[DimArray] = []
    for k in range(1, TERMS + 1):
        found = c(-1.0) if k == 1 else scaled(float(k - 2), w[-1])
        if k == 2:
            found = add(found, square_of_order)
        products = itertools.starmap(multiply, zip(w, reversed(w), strict=True))
        w.append(scaled(0.5, functools.reduce(subtract, products, found)))
    return w


def by_quotient(y: DimArray, v: DimArray, x: DimArray, sign: int, slope: Callable[[DimArray], DimArray]) -> DimArray:
    """The slope of ``y``, the scaled I (of ``sign`` 1) or K (of -1) of order ``v``: ``slope(x)`` unless ``x`` is far away."""
    if x.dtype.kind == "c" or is_formula(x):
        return slope(x)
    size, order = absolute_real(x), multiply(multiply(c(1.0), v), v)
    far = greater(innermost(size), multiply(c(FAR), add(c(1.0), innermost(order))))
    if may_look(far.raw) and not far.raw.any():
        return slope(x)
    t = scaled(float(sign), reciprocal(where(far, size, c(FAR))))
    series = reversed(_series(where(far, order, c(0.0)) if order.names else order))
    w = multiply(t, functools.reduce(lambda p, term: add(multiply(p, t), term), series))
    return where(far, multiply(scaled(float(sign), multiply(direction(x), w)), y), slope(where(far, c(1.0), x)))
