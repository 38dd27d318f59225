"""Carlson's symmetric elliptic integrals and the arithmetic-geometric mean.

Each is an integral from 0 to infinity of powers of ``t + x``, one for every operand, and of ``t``.  A derivative is such
an integral with another power (DLMF 19.18, 19.23), computed by quadrature.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from namedgrad.array import DimArray, TraceError
from namedgrad.rules.elementwise import (
    c,
    divide,
    greater,
    greater_equal,
    less,
    logical_or,
    ordered,
    reciprocal,
    sqrt,
    square,
)
from namedgrad.rules.special.declare import Function, is_formula, scaled, special
from namedgrad.rules.special.integrals import elliptic
from namedgrad.rules.structure import add, equal, known_true, multiply, negative, subtract, where
from namedgrad.trace import innermost


@functools.cache
def _integral(power: int, halves: tuple[int, ...]) -> Function:
    """That of ``t**power`` over ``(t + x)**(n / 2)`` for every operand ``x`` and its ``n`` of ``halves``."""

    def partial(k: int) -> Callable[..., DimArray]:
        raised = tuple(n + 2 * (i == k) for i, n in enumerate(halves))
        return lambda y, *xs: scaled(-halves[k] / 2, _integral(power, raised)(*xs))

    return ordered("carlson_integral", (power, *halves), *map(partial, range(len(halves))))


def _slopes(name: str, factor: float, power: int, halves: tuple[int, ...]) -> list[Any]:
    """The partials of such an integral times a factor, of real operands."""

    def partial(k: int) -> Any:
        raised = tuple(n + 2 * (i == k) for i, n in enumerate(halves))

        def slope(y: DimArray, *xs: DimArray) -> DimArray:
            if any(x.dtype.kind == "c" for x in xs):
                raise TraceError(f"{name} has no derivative at complex numbers here; use ng.custom_pullback")
            return scaled(-factor * halves[k] / 2, _integral(power, raised)(*xs))

        return slope

    return [partial(k) for k in range(len(halves))]


@functools.cache
def _rc_slope_by_value(k: int) -> Function:
    factor, halves = (-0.5, (1, 4)) if k else (-0.25, (3, 2))
    partials = _slopes("elliprc", factor, 0, halves)
    return ordered("elliprc_slope", (k,), *(lambda s, x, z, y, p=p: p(s, x, z) for p in partials), None)


def _rc_slope(k: int, y: DimArray, x: DimArray, z: DimArray) -> DimArray:
    """Of complex numbers as of ``R_F(x, z, z)``; of a principal value, ``z`` below 0, by what equations leave (19.18.6)."""
    if is_formula(x) or any(v.dtype.kind == "c" for v in (x, z)):
        return scaled(-1 / 3, elliprd(x, z, z)) if k else scaled(-1 / 6, elliprd(z, z, x))
    usual = _rc_slope_by_value(k)(x, z, innermost(y))
    if known_true(greater_equal(z, c(0))):
        return usual
    below = less(z, c(0))
    first = divide(subtract(reciprocal(sqrt(x)), y), subtract(scaled(2.0, x), scaled(2.0, z)))
    there = divide(add(scaled(0.5, y), multiply(x, first)), negative(z)) if k else first
    return where(below, there, usual)


def _rj_slope(k: int, o: DimArray, *xs: DimArray) -> DimArray:
    """Of a principal value, where ``p`` is below 0, by partial fractions, and in ``p`` by homogeneity."""
    usual = _RJ[k](o, *xs)
    *roots, p = xs
    if is_formula(p) or known_true(greater_equal(p, c(0))):
        return usual

    def there(i: int) -> DimArray:
        x, others = roots[i], roots[:i] + roots[i + 1 :]
        return divide(subtract(o, elliprd(*others, x)), scaled(2.0, subtract(p, x)))

    if k < 3:
        return where(less(p, c(0)), there(k), usual)
    grown = functools.reduce(add.two, [multiply(x, there(i)) for i, x in enumerate(roots)], scaled(1.5, o))
    return where(less(p, c(0)), negative(divide(grown, p)), usual)


_RJ = _slopes("elliprj", 1.5, 0, (1, 1, 1, 2))


def _rf_slope(x: DimArray, y: DimArray, z: DimArray) -> DimArray:
    return scaled(-1 / 6, elliprd(y, z, x))


def _rg_slope(x: DimArray, y: DimArray, z: DimArray) -> DimArray:
    """Of complex numbers by the two integrals that this one is the difference of."""
    if any(v.dtype.kind == "c" for v in (x, y, z)):
        return subtract(scaled(1 / 4, elliprf(x, y, z)), scaled(1 / 12, multiply(x, elliprd(y, z, x))))
    return scaled(0.125, _integral(1, (3, 1, 1))(x, y, z))


def _mean_slope_near(u: DimArray, share: DimArray, apart: DimArray, p: DimArray) -> DimArray:
    turned = multiply(scaled(2 / math.pi, multiply(u, multiply(share, apart))), elliptic("ellipk_order", 1)(p))
    return scaled(0.5, multiply(u, subtract(c(1.0), turned)))


def _mean_slope(mean: DimArray, a: DimArray, b: DimArray) -> DimArray:
    """From ``π/2 m / K``, where ``m`` is the usual mean; infinite where ``a`` alone is 0.

    Of operands so far apart that only their logarithms count, which the mean tells (DLMF 19.12.1).
    """
    if is_formula(a):  # the same as a value of Carlson's, DLMF 19.25.1
        ratio = divide(b, a)
        return multiply(scaled(2 / (3 * math.pi), square(divide(mean, a))), elliprd(c(0.0), square(ratio), c(1.0)))
    half = add(scaled(0.5, a), scaled(0.5, b))
    u, x, z = (divide(v, half) for v in (mean, a, b))
    p, apart = multiply(x, z), subtract(x, z)
    if known_true(greater(p, c(4e-10))):
        return _mean_slope_near(u, z, apart, p)
    ratio = divide(b, a)
    small, large = less(ratio, c(1e-10)), greater(ratio, c(1e10))
    slope = _mean_slope_near(u, z, apart, where(logical_or(small, large), c(1.0), p))
    share = scaled(2 / math.pi, divide(mean, where(large, b, a)))
    slope = where(small, multiply(divide(mean, a), subtract(c(1.0), share)), slope)
    slope = where(large, multiply(divide(mean, a), share), slope)
    return where(equal(mean, c(0)), where(equal(a, c(0)), c(math.inf), c(0.0)), slope)


_SOURCE = "DLMF 19.16 and 19.18.1; integrals by quadrature, accurate where operands coincide."
# fmt: off
elliprc = special(
    "elliprc", lambda o, x, y: _rc_slope(0, o, x, y), lambda o, x, y: _rc_slope(1, o, x, y),
    domain="positive", operands=("x", "y"), says="Carlson's degenerate symmetric elliptic integral.", source="DLMF 19.16.6 and 19.18.1.")
elliprd = special(
    "elliprd", *_slopes("elliprd", 1.5, 0, (1, 1, 3)),
    domain="positive", operands=("x", "y", "z"), says="Carlson's symmetric elliptic integral of the second kind.", source=_SOURCE)
elliprf = special(
    "elliprf", lambda o, x, y, z: _rf_slope(x, y, z), lambda o, x, y, z: _rf_slope(y, x, z), lambda o, x, y, z: _rf_slope(z, x, y),
    domain="positive", operands=("x", "y", "z"), says="Carlson's symmetric elliptic integral of the first kind.", source="DLMF 19.18.1.")
elliprg = special(
    "elliprg", lambda o, x, y, z: _rg_slope(x, y, z), lambda o, x, y, z: _rg_slope(y, x, z), lambda o, x, y, z: _rg_slope(z, x, y),
    domain="positive", operands=("x", "y", "z"), says="Carlson's completely symmetric elliptic integral of the second kind.", source=_SOURCE)
elliprj = special(
    "elliprj", *(functools.partial(_rj_slope, k) for k in range(4)),
    domain="positive", operands=("x", "y", "z", "p"), says="Carlson's symmetric elliptic integral of the third kind.", source=_SOURCE)
agm = special(
    "agm", lambda y, a, b: _mean_slope(y, a, b), lambda y, a, b: _mean_slope(y, b, a),
    domain="positive", operands=("a", "b"), says="Arithmetic-geometric mean.", source="DLMF 19.8.5.")
# fmt: on
