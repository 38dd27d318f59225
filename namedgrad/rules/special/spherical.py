"""Spherical Bessel functions of whole orders: a derivative is a combination of the neighbouring ones (DLMF 10.51)."""

from __future__ import annotations

from collections.abc import Callable

from namedgrad.array import DimArray
from namedgrad.rules.elementwise import c, divide, maximum
from namedgrad.rules.special.declare import constant_in, scaled, slope_by_value, special
from namedgrad.rules.structure import add, multiply, not_equal, subtract, where

_ONE = c(1)


def _slope(below: float, above: float) -> Callable[..., DimArray]:
    """That of a family with ``(2n + 1) f_n' = below n f_(n-1) + above (n + 1) f_(n+1)``."""

    def slope(f: Callable[..., DimArray], y: DimArray, n: DimArray, x: DimArray) -> DimArray:
        after = add(n, _ONE)
        before = where(not_equal(n, c(0)), f(maximum(subtract(n, _ONE), c(0)), x), c(0.0))
        first = multiply(scaled(below, n), before)
        return divide(add(first, multiply(scaled(above, after), f(after, x))), add(n, after))

    return slope


# fmt: off
_jn_slope = slope_by_value("spherical_jn", lambda: spherical_jn, _slope(1.0, -1.0))
_yn_slope = slope_by_value("spherical_yn", lambda: spherical_yn, _slope(1.0, -1.0))
_in_slope = slope_by_value("spherical_in", lambda: spherical_in, _slope(1.0, 1.0))
_kn_slope = slope_by_value("spherical_kn", lambda: spherical_kn, _slope(-1.0, -1.0))
spherical_jn = special(
    "spherical_jn", constant_in("the order n", "spherical_jn(n, x)"), lambda y, n, x: _jn_slope(y, n, x),
    domain=("order", "nonzero"), operands=("n", "x"), says="Spherical Bessel function of the first kind and whole order n.",
    torch="torch.special.spherical_bessel_j0 (n = 0)")
spherical_yn = special(
    "spherical_yn", constant_in("the order n", "spherical_yn(n, x)"), lambda y, n, x: _yn_slope(y, n, x),
    domain=("order", "nonzero"), operands=("n", "x"), says="Spherical Bessel function of the second kind and whole order n.")
spherical_in = special(
    "spherical_in", constant_in("the order n", "spherical_in(n, x)"), lambda y, n, x: _in_slope(y, n, x),
    domain=("order", "nonzero"), operands=("n", "x"), says="Modified spherical Bessel function of the first kind and whole order n.")
spherical_kn = special(
    "spherical_kn", constant_in("the order n", "spherical_kn(n, x)"), lambda y, n, x: _kn_slope(y, n, x),
    domain=("order", "positive"), operands=("n", "x"), says="Modified spherical Bessel function of the second kind and whole order n.")
# fmt: on
