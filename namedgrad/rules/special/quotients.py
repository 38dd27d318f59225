"""Quotients of gamma functions, whose derivatives are finite where they are 0: at the poles of what they are divided by."""

from __future__ import annotations

import functools
import math

from namedgrad.array import DimArray
from namedgrad.primitive import elementwise
from namedgrad.rules.elementwise import absolute_real, c, greater, less, logical_and, logical_or, ordered, rint
from namedgrad.rules.special.beta import against_sum, beta, sine_and_slope
from namedgrad.rules.special.declare import Function, by_value, is_formula, scaled, special
from namedgrad.rules.special.gamma import digamma, gamma
from namedgrad.rules.structure import (
    add,
    equal,
    known_true,
    logical_not,
    multiply,
    negative,
    not_equal,
    scale,
    subtract,
    where,
)

_ONE = c(1.0)


@functools.cache
def _rgamma(n: int) -> Function:
    """The n-th derivative of one over the gamma function, of real numbers."""
    return ordered("rgamma_order", (n,), lambda y, x: _rgamma(n + 1)(x))


_rgamma_slope = by_value(
    lambda y, x: negative(multiply(y, digamma(x))), elementwise("rgamma_slope", lambda s, x, y: _rgamma(2)(x), None)
)


def _poch_in_base(y: DimArray, a: DimArray, m: DimArray) -> DimArray:
    """By the logarithm; next to the poles of ``Γ(a)``, where that nearly cancels, by the product with ``1 / Γ(a)``.

    Next to that at 0 only its derivatives cancel.
    """
    usual = negative(scale(y, against_sum(a, m)))
    if is_formula(y):
        return usual
    last = a.level is None and m.level is None
    beyond = greater(absolute_real(m), absolute_real(subtract(a, rint(a))))  # or that would be the more exact one there
    low = logical_and(logical_and(less(a, c(0.0 if last else 0.5)), greater(a, c(-100.0))), not_equal(a, rint(a)))
    there = logical_or(equal(y, c(0)), logical_and(low, beyond))
    if known_true(logical_not(there)):
        return usual
    base, top = where(there, a, _ONE), where(there, add(a, m), _ONE)
    return where(there, multiply(gamma(top), add(scale(rgamma(base), digamma(top)), _rgamma(1)(base))), usual)


def _binom_in_number(y: DimArray, n: DimArray, k: DimArray) -> DimArray:
    rest = add(subtract(n, k), _ONE)
    return _where_0(y, n, k, negative(scale(y, against_sum(rest, k))), in_number=True)


def _binom_in_choice(y: DimArray, n: DimArray, k: DimArray) -> DimArray:
    rest, after = add(subtract(n, k), _ONE), add(k, _ONE)
    return _where_0(y, n, k, negative(scale(y, against_sum(after, subtract(rest, after)))), in_number=False)


def _from_pole(x: DimArray) -> DimArray:
    """The distance of ``x + 1`` from the next pole of the gamma function, 1 on the right of them."""
    return where(less(x, c(-0.5)), absolute_real(subtract(x, rint(x))), _ONE)


def _where_0(y: DimArray, n: DimArray, k: DimArray, usual: DimArray, *, in_number: bool) -> DimArray:
    """The usual derivative of a binomial coefficient ``y``, where that is 0 and next to there the one by reflection.

    That is ``-sin(π q) / π beta(n + 1, -q)``, where q is that of k and n - k that is below 0.  Next to where it is 0
    the usual one is a small number times a large one, whose derivatives cancel.
    """
    if is_formula(y):
        return usual
    of_k, of_rest = _from_pole(k), _from_pole(subtract(n, k))
    nearest = where(less(of_k, of_rest), of_k, of_rest)
    cancels = logical_and(less(nearest, c(0.1)), less(nearest, _from_pole(n)))
    lost = logical_or(equal(y, c(0)), cancels)
    if known_true(logical_not(lost)):
        return usual
    below = logical_or(logical_not(lost), where(equal(of_k, of_rest), less(k, c(0)), less(of_k, of_rest)))
    n, k = where(lost, n, _ONE), where(lost, k, c(-1.0))
    q = where(below, k, subtract(n, k))
    turn, slope = sine_and_slope(q)
    top, other = add(n, _ONE), negative(q)
    size = scaled(1 / math.pi, beta(top, other))
    there = multiply(size, subtract(multiply(turn, against_sum(other, top)), slope))  # in q
    if in_number:
        there = subtract(where(below, c(0.0), there), multiply(multiply(size, turn), against_sum(top, other)))
    else:
        there = where(below, there, negative(there))
    return where(lost, there, usual)


# fmt: off
rgamma = special(
    "rgamma", _rgamma_slope,
    domain="real", says="One over the gamma function, which is 0 at its poles.",
    source="At real numbers below a half by reflection, DLMF 5.5.3, so at the poles of the gamma function, too.")
gammasgn = special(
    "gammasgn", None, domain="real", says="The sign of the gamma function.")
poch = special(
    "poch", lambda y, a, m: _poch_in_base(y, a, m), lambda y, a, m: scale(y, digamma(add(a, m))),
    domain="positive", operands=("a", "m"), says="Pochhammer's symbol, Γ(a + m) / Γ(a).", source="DLMF 5.2.5 and 5.2.2.")
binom = special(
    "binom", lambda y, n, k: _binom_in_number(y, n, k), lambda y, n, k: _binom_in_choice(y, n, k),
    domain=("above_three", "positive"), operands=("n", "k"), says="Binomial coefficient of real numbers.", source="DLMF 1.2.6 and 5.2.2.")
# fmt: on
