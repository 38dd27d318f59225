"""Quotients of gamma functions, whose derivatives are finite where they are 0: at the poles of what they are divided by."""

from __future__ import annotations

import functools

from namedgrad.array import DimArray
from namedgrad.rules.elementwise import c, greater, less, logical_and, logical_or, ordered, rint
from namedgrad.rules.special.beta import _against_sum
from namedgrad.rules.special.declare import Function, is_formula, special
from namedgrad.rules.special.gamma import digamma, gamma
from namedgrad.rules.structure import add, equal, multiply, negative, not_equal, scale, subtract, where

_ONE = c(1.0)


@functools.cache
def _rgamma(n: int) -> Function:
    """The n-th derivative of one over the gamma function, of real numbers."""
    return ordered("rgamma_order", (n,), lambda y, x: _rgamma(n + 1)(x))


def _rgamma_slope(y: DimArray, x: DimArray) -> DimArray:
    plain = x.dtype.kind == "c" or is_formula(x)
    return negative(multiply(y, digamma(x))) if plain else _rgamma(1)(x)


def _poch_in_base(y: DimArray, a: DimArray, m: DimArray) -> DimArray:
    """By the logarithm; next to the poles of ``Γ(a)``, where that nearly cancels, by the product with ``1 / Γ(a)``."""
    usual = negative(scale(y, _against_sum(a, m)))
    if is_formula(y):
        return usual
    low = logical_and(logical_and(less(a, c(0.5)), greater(a, c(-100.0))), not_equal(a, rint(a)))
    there = logical_or(equal(y, c(0)), low)
    base, top = where(there, a, _ONE), where(there, add(a, m), _ONE)
    return where(there, multiply(gamma(top), add(scale(rgamma(base), digamma(top)), _rgamma(1)(base))), usual)


def _binom_in_number(y: DimArray, n: DimArray, k: DimArray) -> DimArray:
    rest = add(subtract(n, k), _ONE)
    usual = negative(scale(y, _against_sum(rest, k)))
    if is_formula(y):
        return usual
    zero = equal(y, c(0))
    n, k = where(zero, n, _ONE), where(zero, k, _ONE)
    rest = add(subtract(n, k), _ONE)
    slope = add(scale(rgamma(rest), digamma(add(n, _ONE))), _rgamma(1)(rest))
    return where(zero, scale(poch(add(k, _ONE), subtract(n, k)), slope), usual)


def _binom_in_choice(y: DimArray, n: DimArray, k: DimArray) -> DimArray:
    rest, after = add(subtract(n, k), _ONE), add(k, _ONE)
    usual = negative(scale(y, _against_sum(after, subtract(rest, after))))
    if is_formula(y):
        return usual
    zero = equal(y, c(0))
    n, k = where(zero, n, _ONE), where(zero, k, _ONE)
    other = subtract(n, k)
    rest, after = add(other, _ONE), add(k, _ONE)
    there = subtract(scale(poch(rest, k), _rgamma(1)(after)), scale(poch(after, other), _rgamma(1)(rest)))
    return where(zero, there, usual)


# fmt: off
rgamma = special(
    "rgamma", lambda y, x: _rgamma_slope(y, x),
    domain="real", says="One over the gamma function, which is 0 at its poles.",
    source="At real numbers below a half by reflection, DLMF 5.5.3, so at the poles of the gamma function, too.")
poch = special(
    "poch", lambda y, a, m: _poch_in_base(y, a, m), lambda y, a, m: scale(y, digamma(add(a, m))),
    domain="positive", operands=("a", "m"), says="Pochhammer's symbol, Γ(a + m) / Γ(a).", source="DLMF 5.2.5 and 5.2.2.")
binom = special(
    "binom", lambda y, n, k: _binom_in_number(y, n, k), lambda y, n, k: _binom_in_choice(y, n, k),
    domain=("above_three", "positive"), operands=("n", "k"), says="Binomial coefficient of real numbers.", source="DLMF 1.2.6 and 5.2.2.")
# fmt: on
