"""The error function and the normal distribution.

Their scaled forms are members of one family, ``exp(x**2) i^n erfc(x)``, which is closed under differentiation and free
of cancellation where ``2 x erfcx(x) - 2 / sqrt(pi)`` loses all digits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from namedgrad.array import DimArray
from namedgrad.primitive import elementwise
from namedgrad.rules.elementwise import c, exp, ordered, reciprocal, square
from namedgrad.rules.special.declare import ByValue, by_value, scaled, special
from namedgrad.rules.structure import add, equal, multiply, negative, scale, subtract, where

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_HALF = math.sqrt(0.5)


def _gauss(x: DimArray) -> DimArray:
    return exp(negative(square(x)))


@functools.cache
def _erfcx(n: int) -> Callable[..., DimArray]:
    """``exp(x**2) i^n erfc(x)``; its derivative is -2 (n + 1) times the next one (DLMF 7.18.10)."""
    return ordered("erfcx_order", (n,), lambda y, x: scaled(-2.0 * (n + 1), _erfcx(n + 1)(x)))


_erfcx_slope = by_value(
    lambda y, x: scaled(-2.0, _erfcx(1)(x)), elementwise("erfcx_slope", lambda s, x, y: scaled(8.0, _erfcx(2)(x)), None)
)
_ratio = elementwise("erfcx_ratio", lambda y, x: subtract(scaled(2.0, multiply(y, add(x, y))), c(1.0)))


@functools.cache
def _hazard_order(n: int) -> Callable[..., DimArray]:
    return ordered("normal_hazard_order", (n,), lambda y, x: _hazard_order(n + 1)(x))


def _plain_slope(y: DimArray, x: DimArray) -> DimArray:
    """The density falls to 0 faster than the hazard's excess over ``-x`` grows; that excess falls as ``-1 / x``."""
    slope = scale(y, scaled(1 / _ROOT_HALF, _ratio(scaled(-_ROOT_HALF, x))))
    return negative(where(equal(x, c(-math.inf)), c(1.0), slope))


_hazard_slope = by_value(
    _plain_slope, elementwise("normal_hazard_bend", lambda b, x, y: _hazard_order(2)(x), None)
)
_hazard = elementwise("normal_hazard", _hazard_slope)
# the hazard at x, whose logarithm of the distribution function is y
_log_ndtr_slope = by_value(
    lambda y, x: _hazard(x), elementwise("log_ndtr_slope", lambda s, x, y: _hazard_slope(s, x), None)
)

# fmt: off
erf = special(
    "erf", lambda y, x: scaled(_TWO_OVER_ROOT_PI, _gauss(x)),
    domain="real", says="Error function, 2 / √π times the integral of exp(-t²) from 0 to x.", torch="torch.special.erf")
erfc = special(
    "erfc", lambda y, x: scaled(-_TWO_OVER_ROOT_PI, _gauss(x)),
    domain="real", says="Complementary error function, 1 - erf(x), accurate in the right tail.", torch="torch.special.erfc")
erfcx = special(
    "erfcx", _erfcx_slope,
    domain="real", says="Scaled complementary error function, exp(x²) erfc(x).", torch="torch.special.erfcx", form=ByValue,
    source="The derivative -2 exp(x²) i¹erfc(x) is a repeated integral of erfc, DLMF 7.18, so the tail keeps its digits.")
erfinv = special(
    "erfinv", lambda y, x: scaled(1 / _TWO_OVER_ROOT_PI, exp(square(y))),
    domain="unit", says="Inverse of the error function.", torch="torch.special.erfinv")
erfcinv = special(
    "erfcinv", lambda y, x: scaled(-1 / _TWO_OVER_ROOT_PI, exp(square(y))),
    domain="positive", says="Inverse of the complementary error function.")
ndtr = special(
    "ndtr", lambda y, x: scaled(1 / math.sqrt(2 * math.pi), exp(scaled(-0.5, square(x)))),
    domain="real", says="Distribution function of the standard normal distribution.", torch="torch.special.ndtr")
log_ndtr = special(
    "log_ndtr", _log_ndtr_slope,
    domain="real", says="Logarithm of the distribution function of the standard normal distribution.",
    torch="torch.special.log_ndtr", form=ByValue,
    source="The derivative is √(2/π) / erfcx(-x / √2), which neither over- nor underflows in the left tail.")
ndtri = special(
    "ndtri", lambda y, x: scaled(math.sqrt(2 * math.pi), exp(scaled(0.5, square(y)))),
    domain="fraction", says="Quantile function of the standard normal distribution.", torch="torch.special.ndtri")
ndtri_exp = special(
    "ndtri_exp", lambda y, x: reciprocal(_log_ndtr_slope(x, y)),
    domain="negative", says="Quantile function of the standard normal distribution at exp(x).", form=ByValue)
# fmt: on
