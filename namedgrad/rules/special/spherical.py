"""Spherical Bessel functions of whole orders: a derivative is a combination of the neighbouring ones (DLMF 10.51)."""

from __future__ import annotations

from collections.abc import Callable

from namedgrad.array import DimArray
from namedgrad.primitive import elementwise
from namedgrad.rules.elementwise import c, divide, maximum
from namedgrad.rules.special.declare import constant_in, is_formula, scaled, special
from namedgrad.rules.structure import add, multiply, not_equal, subtract, where
from namedgrad.trace import innermost

Function = Callable[..., DimArray]
_ONE = c(1)


def _slope(f: Function, below: float, above: float, n: DimArray, x: DimArray) -> DimArray:
    """That of a family with ``(2n + 1) f_n' = below n f_(n-1) + above (n + 1) f_(n+1)``."""
    after = add(n, _ONE)
    before = where(not_equal(n, c(0)), f(maximum(subtract(n, _ONE), c(0)), x), c(0.0))
    first = multiply(scaled(below, n), before)
    return divide(add(first, multiply(scaled(above, after), f(after, x))), add(n, after))


def _from_value(name: str, f: Callable[[], Function], below: float, above: float) -> Function:
    """The derivative in the argument; of real numbers by a kernel that is given the value."""

    def of_slope(n: DimArray, x: DimArray) -> DimArray:
        return known(n, x, innermost(f()(n, x)))

    known = elementwise(f"{name}_slope", None, lambda s, n, x, y: _slope(of_slope, below, above, n, x), None)

    def partial(y: DimArray, n: DimArray, x: DimArray) -> DimArray:
        return _slope(f(), below, above, n, x) if x.dtype.kind == "c" or is_formula(x) else known(n, x, innermost(y))

    return partial


# fmt: off
_jn_slope = _from_value("spherical_jn", lambda: spherical_jn, 1.0, -1.0)
_yn_slope = _from_value("spherical_yn", lambda: spherical_yn, 1.0, -1.0)
_in_slope = _from_value("spherical_in", lambda: spherical_in, 1.0, 1.0)
_kn_slope = _from_value("spherical_kn", lambda: spherical_kn, -1.0, -1.0)
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
