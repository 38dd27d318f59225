"""Functions of degrees, of Huber, and those whose derivatives are elementary."""

from __future__ import annotations

import math

from namedgrad.array import DimArray
from namedgrad.primitive import elementwise
from namedgrad.rules.complex import absolute
from namedgrad.rules.elementwise import (
    absolute_real,
    c,
    clip_both,
    divide,
    hypot,
    less,
    log,
    log_of_base,
    maximum,
    ordered,
    part_of_length,
    power,
    power_base,
    promoted,
    reciprocal,
    square,
)
from namedgrad.rules.special.declare import is_formula, scaled, special
from namedgrad.rules.structure import add, multiply, negative, scale, subtract, where
from namedgrad.trace import innermost

_DEGREE = math.pi / 180
_ONE = c(1.0)


def _log1p_ratio(n: int, x: DimArray) -> DimArray:
    return ordered("log1p_ratio_order", (n,), lambda y, x: _log1p_ratio(n + 1, x))(x)


def _spence_bend(s: DimArray, z: DimArray) -> DimArray:
    """The derivative of the slope ``s``, near 1 that of a logarithm of what is beyond it."""
    beyond = subtract(z, _ONE)
    near = less(absolute(innermost(beyond)), c(0.5))
    away = where(near, c(2.0), z)
    usual = divide(add(reciprocal(away), s), subtract(_ONE, away))
    return where(near, negative(_log1p_ratio(1, where(near, beyond, c(0.0)))), usual)


_spence_slope_of = elementwise("spence_slope", _spence_bend)


def _spence_slope(z: DimArray) -> DimArray:
    return divide(log(z), subtract(_ONE, z)) if is_formula(z) else _spence_slope_of(z)


def _omega_slope(y: DimArray) -> DimArray:
    """``y / (1 + y)``, at large real numbers as ``1 / (1 + 1 / y)``, in whose derivative nothing cancels."""
    if y.dtype.kind == "c" or is_formula(y):
        return divide(y, add(_ONE, y))
    small = less(innermost(y), _ONE)
    low, high = where(small, y, _ONE), where(small, _ONE, y)
    return where(small, divide(low, add(_ONE, low)), reciprocal(add(_ONE, reciprocal(high))))


def _pseudo_huber_in_delta(delta: DimArray, r: DimArray) -> DimArray:
    """``(t - delta)**2 / t`` of the length ``t``, without that difference."""
    length = hypot(delta, r)
    sine, cosine = part_of_length(r, delta, length), part_of_length(delta, r, length)
    return multiply(multiply(r, sine), square(divide(sine, add(_ONE, cosine))))


_huber_length = elementwise("huber_length", None, None, None)


def _in_degrees(slope: DimArray) -> DimArray:
    return scaled(_DEGREE, slope)


# fmt: off
sindg = special(
    "sindg", lambda y, x: _in_degrees(cosdg(x)), domain="real", says="Sine of an angle in degrees.")
cosdg = special(
    "cosdg", lambda y, x: negative(_in_degrees(sindg(x))), domain="real", says="Cosine of an angle in degrees.")
tandg = special(
    "tandg", lambda y, x: _in_degrees(add(_ONE, square(y))), domain="real", says="Tangent of an angle in degrees.")
cotdg = special(
    "cotdg", lambda y, x: negative(_in_degrees(add(_ONE, square(y)))), domain="above_three", says="Cotangent of an angle in degrees.")
radian = special(
    "radian", lambda y, *x: c(_DEGREE), lambda y, *x: c(_DEGREE / 60), lambda y, *x: c(_DEGREE / 3600),
    domain="real", operands=("d", "m", "s"), says="Angle of d degrees, m minutes and s seconds in radians.")
powm1 = special(
    "powm1", lambda o, x, y: power_base(x, y), lambda o, x, y: multiply(power(x, y), log_of_base(promoted(x, o), y)),
    domain=("positive", "real"), operands=("x", "y"), says="x**y - 1, accurate where the power is near 1.")
huber = special(
    "huber", lambda y, delta, r: maximum(subtract(absolute_real(r), delta), c(0)), lambda y, delta, r: clip_both(r, negative(delta), delta),
    domain=("quarters", "real"), operands=("delta", "r"), says="Huber's loss, r²/2 up to the size delta, beyond linear.",
    kernel="huber_of_delta")
pseudo_huber = special(
    "pseudo_huber", lambda y, delta, r: _pseudo_huber_in_delta(delta, r), lambda y, delta, r: scale(part_of_length(r, delta, _huber_length(y, delta, r)), delta),
    domain=("positive", "real"), operands=("delta", "r"), says="Smooth form of Huber's loss, delta² (√(1 + (r / delta)²) - 1).")
spence = special(
    "spence", lambda y, z: _spence_slope(z),
    domain="positive", operands=("z",), says="Spence's integral, the dilogarithm of 1 - z.", source="DLMF 25.12.2.")
wrightomega = special(
    "wrightomega", lambda y, z: _omega_slope(y),
    domain="real", operands=("z",), says="Wright's omega function, the solution of y + log(y) = z.", source="DLMF 4.13.4, of W(exp(z)).")
# fmt: on
