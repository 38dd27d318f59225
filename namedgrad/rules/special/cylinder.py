"""Bessel functions by other names, of Hankel, Struve and Kelvin: derivatives by neighbouring orders (DLMF 10.6, 10.61, 11.4)."""

from __future__ import annotations

import math
from collections.abc import Callable

from namedgrad.array import DimArray, TraceError
from namedgrad.rules.complex import imag
from namedgrad.rules.elementwise import absolute_real, c, divide, exp, less, less_equal, power, trunc
from namedgrad.rules.special.bessel import (
    jv_order,
    jv_slope,
    kv_slope,
    kve,
    kve_order,
    neighbours,
    slope_of_waves,
    yv_order,
    yv_slope,
)
from namedgrad.rules.special.declare import Function, constant_in, is_formula, scaled, slope_by_value, special
from namedgrad.rules.special.quotients import rgamma
from namedgrad.rules.structure import add, equal, multiply, negative, subtract, where
from namedgrad.trace import innermost

_V, _ORDERS = ("v", "z"), ("order", "positive")


def _order(name: str) -> Function:
    return constant_in("the order", name)


def _of_real(slope: Function, name: str) -> Function:
    """What holds at real numbers alone: a factor of the size of an imaginary part has no complex derivative."""

    def partial(y: DimArray, v: DimArray, z: DimArray) -> DimArray:
        if z.dtype.kind == "c":
            raise TraceError(f"{name} has no derivative at complex numbers; use {name[:-1]}(v, z) * np.exp(-abs(z.imag))")
        return slope(y, v, z)

    return partial


def _hankel_in_order(sign: int, *, bare: bool = False) -> Function:
    """From J and Y; where they grow and cancel from K (DLMF 10.27.8). ``bare`` of the factor ``exp(sign i z)``."""

    def of_waves(v: DimArray, z: DimArray) -> DimArray:
        found = add(jv_order(v, z), multiply(c(sign * 1j), yv_order(v, z)))
        return multiply(found, exp(multiply(c(-1j * sign), z))) if bare else found

    def in_order(v: DimArray, z: DimArray) -> DimArray:
        if z.dtype.kind != "c":
            return of_waves(v, z)
        grows = less_equal(scaled(float(sign), imag(z)), c(0.0))  # on the axis K has another side of the cut
        w = multiply(c(-1j * sign), where(grows, c(1j * sign), z))
        found = subtract(kve_order(v, w), multiply(c(0.5j * math.pi * sign), kve(v, w)))
        turn = multiply(c(-0.5j * math.pi * sign), v)
        front = multiply(c(-2j * sign / math.pi), exp(turn if bare else subtract(turn, w)))
        return where(grows, of_waves(v, where(grows, z, c(1.0))), multiply(front, found))

    return in_order


def _between(f: Function, y: DimArray, v: DimArray, z: DimArray) -> DimArray:
    return neighbours(f, v, z, -1)


def _turned(sign: int) -> Callable[..., DimArray]:
    """The slope of a function of waves with a factor ``exp(-sign i z)``."""
    return lambda f, y, v, z: subtract(neighbours(f, v, z, -1), multiply(c(sign * 1j), y))


def _bend(y: DimArray, other: DimArray, x: DimArray, limit: float) -> DimArray:
    """``other - y / x``, the second derivative of a function of Kelvin; that of the smallest numbers is a limit."""
    if is_formula(x):
        return subtract(other, divide(y, x))
    tiny = less(absolute_real(innermost(x)), c(1e-150))
    usual = subtract(other, divide(y, where(tiny, c(1.0), x)))
    return where(tiny, c(limit), usual)


def _struve_slope(f: Function, sign: int, y: DimArray, v: DimArray, x: DimArray) -> DimArray:
    """``f(v - 1) - v / x f(v)``; at 0 from both neighbours and what they miss, of order 0 from the one above."""
    below = f(subtract(v, c(1.0)), x)
    if is_formula(x):
        return subtract(below, multiply(divide(v, x), y))
    zero = equal(x, c(0))
    usual = subtract(below, multiply(divide(v, where(zero, c(1.0), x)), y))
    half = multiply(power(scaled(0.5, x), v), scaled(1 / math.sqrt(math.pi), rgamma(add(v, c(1.5)))))
    above = scaled(float(sign), f(add(v, c(1.0)), x))
    around = scaled(0.5, add(add(below, above), half))
    return where(equal(v, c(0)), add(half, above), where(zero, around, usual))


_yn_slope = slope_by_value("yn", lambda: yn, slope_of_waves)
_hankel1_slope = slope_by_value("hankel1", lambda: hankel1, _between, _hankel_in_order(1))
_hankel2_slope = slope_by_value("hankel2", lambda: hankel2, _between, _hankel_in_order(-1))
_hankel1e_slope = slope_by_value("hankel1e", lambda: hankel1e, _turned(1), _hankel_in_order(1, bare=True))
_hankel2e_slope = slope_by_value("hankel2e", lambda: hankel2e, _turned(-1), _hankel_in_order(-1, bare=True))


# fmt: off
kn = special(
    "kn", _order("kn(n, x)"), lambda y, n, x: kv_slope(y, trunc(n), x),
    domain=_ORDERS, operands=("n", "x"), says="Modified Bessel function of the second kind and whole order n.", source="DLMF 10.29.1.")
yn = special(
    "yn", _order("yn(n, x)"), lambda y, n, x: _yn_slope(y, trunc(n), x),
    domain=_ORDERS, operands=("n", "x"), says="Bessel function of the second kind and whole order n.", source="DLMF 10.6.1.")
jve = special(
    "jve", _of_real(lambda y, v, z: jv_order(v, z), "jve"), _of_real(lambda y, v, z: jv_slope(y, v, z), "jve"),
    domain=_ORDERS, operands=_V, says="Bessel function of the first kind and real order v, scaled by exp(-abs(imag(z))).",
    source="At real numbers, where the factor is 1, DLMF 10.6.1.")
yve = special(
    "yve", _of_real(lambda y, v, z: yv_order(v, z), "yve"), _of_real(lambda y, v, z: yv_slope(y, v, z), "yve"),
    domain=_ORDERS, operands=_V, says="Bessel function of the second kind and real order v, scaled by exp(-abs(imag(z))).",
    source="At real numbers, where the factor is 1, DLMF 10.6.1.")
hankel1 = special(
    "hankel1", lambda y, v, z: _hankel_in_order(1)(v, z), lambda y, v, z: _hankel1_slope(y, v, z),
    domain=_ORDERS, operands=_V, says="Hankel function of the first kind and real order v, J + i Y.", source="DLMF 10.6.1.")
hankel2 = special(
    "hankel2", lambda y, v, z: _hankel_in_order(-1)(v, z), lambda y, v, z: _hankel2_slope(y, v, z),
    domain=_ORDERS, operands=_V, says="Hankel function of the second kind and real order v, J - i Y.", source="DLMF 10.6.1.")
hankel1e = special(
    "hankel1e", lambda y, v, z: _hankel_in_order(1, bare=True)(v, z), lambda y, v, z: _hankel1e_slope(y, v, z),
    domain=_ORDERS, operands=_V, says="Hankel function of the first kind, times exp(-i z).", source="DLMF 10.6.1.")
hankel2e = special(
    "hankel2e", lambda y, v, z: _hankel_in_order(-1, bare=True)(v, z), lambda y, v, z: _hankel2e_slope(y, v, z),
    domain=_ORDERS, operands=_V, says="Hankel function of the second kind, times exp(i z).", source="DLMF 10.6.1.")
struve = special(
    "struve", _order("struve(v, x)"), lambda y, v, x: _struve_slope(struve, -1, y, v, x),
    domain=_ORDERS, operands=("v", "x"), says="Struve function of real order v.", source="DLMF 11.4.27, at 0 11.4.24 and 11.4.28.")
modstruve = special(
    "modstruve", _order("modstruve(v, x)"), lambda y, v, x: _struve_slope(modstruve, 1, y, v, x),
    domain=_ORDERS, operands=("v", "x"), says="Modified Struve function of real order v.", source="DLMF 11.4.29, at 0 11.4.26 and 11.4.30.")
ber = special("ber", lambda y, x: berp(x), domain="real", says="Kelvin function ber.")
bei = special("bei", lambda y, x: beip(x), domain="real", says="Kelvin function bei.")
ker = special("ker", lambda y, x: kerp(x), domain="positive", says="Kelvin function ker.")
kei = special("kei", lambda y, x: keip(x), domain="positive", says="Kelvin function kei.")
berp = special("berp", lambda y, x: _bend(y, negative(bei(x)), x, 0.0), domain="real", says="Derivative of the Kelvin function ber.",
               source="DLMF 10.61.3 as an equation of first order.")
beip = special("beip", lambda y, x: _bend(y, ber(x), x, 0.5), domain="real", says="Derivative of the Kelvin function bei.",
               source="DLMF 10.61.3 as an equation of first order.")
kerp = special("kerp", lambda y, x: _bend(y, negative(kei(x)), x, math.inf), domain="positive", says="Derivative of the Kelvin function ker.",
               source="DLMF 10.61.3 as an equation of first order.")
keip = special("keip", lambda y, x: _bend(y, ker(x), x, math.inf), domain="positive", says="Derivative of the Kelvin function kei.",
               source="DLMF 10.61.3 as an equation of first order.")
# fmt: on
