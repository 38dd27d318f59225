"""The beta function and its incomplete integral, differentiable in both parameters."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping

import numpy as np

from namedgrad.array import DimArray
from namedgrad.backends import may_look
from namedgrad.primitive import elementwise
from namedgrad.rules.elementwise import (
    absolute_real,
    c,
    cos,
    divide,
    less,
    less_equal,
    log,
    log1p,
    logical_and,
    ordered,
    rint,
    sin,
    square,
)
from namedgrad.rules.special.declare import inverse, is_formula, scaled, special, with_slopes
from namedgrad.rules.special.gamma import bend_at_0, digamma, implicit, outweighed, psi
from namedgrad.rules.structure import (
    add,
    equal,
    logical_not,
    multiply,
    negative,
    not_equal,
    scale,
    select,
    subtract,
    where,
)
from namedgrad.trace import innermost


@functools.cache
def _step(n: int) -> Callable[[DimArray, DimArray], DimArray]:
    """``ψ(a) - ψ(a + b)`` of the polygamma functions of order ``n``."""
    return ordered(
        "polygamma_step",
        (n,),
        lambda y, a, b: _step(n + 1)(a, b),
        lambda y, a, b: negative(psi(n + 1)(add(a, b))),
    )


against_sum = _step(0)


def _of_beta(y: DimArray, a: DimArray, b: DimArray) -> DimArray:
    """The derivative of the beta function in ``a``; where it is 0, at the poles of ``Γ(a + b)``, by reflection.

    ``beta(a, b) = sin(π (a + b)) / sin(π b) beta(a, 1 - a - b)``, DLMF 5.5.3.  So next to them, where a small number
    times a large one has derivatives that cancel.
    """
    if is_formula(a):
        return multiply(y, against_sum(a, b))
    both = innermost(add(a, b))
    from_whole, other = (absolute_real(subtract(x, rint(x))) for x in (both, innermost(b)))
    whole = logical_and(less(from_whole, c(0.1)), less(from_whole, other))
    zero = logical_and(whole, less(both, c(0.5)))
    if may_look(zero.raw) and not np.any(zero.raw):
        return scale(y, against_sum(a, b))
    a_there, b_there = where(zero, a, c(0.5)), where(zero, b, c(-0.5))
    total = add(a_there, b_there)
    mirrored = subtract(c(1.0), total)
    turn, slope = sine_and_slope(total)
    change = add(slope, multiply(turn, subtract(digamma(a_there), digamma(mirrored))))
    there = multiply(divide(beta(a_there, mirrored), sine_and_slope(b_there)[0]), change)
    return where(zero, there, scale(y, against_sum(where(zero, c(1.0), a), where(zero, c(1.0), b))))


def sine_and_slope(x: DimArray) -> tuple[DimArray, DimArray]:
    """``sin(π x)``, exactly 0 at whole numbers, and its derivative."""
    whole = rint(innermost(x))
    odd = subtract(whole, scaled(2.0, rint(scaled(0.5, whole))))
    sign = subtract(c(1.0), scaled(2.0, square(odd)))
    angle = scaled(math.pi, subtract(x, whole))
    return multiply(sign, sin(angle)), scaled(math.pi, multiply(sign, cos(angle)))


@functools.cache
def density_order(m: int, n: int, i: int = 0, j: int = 0) -> Callable[[DimArray, DimArray, DimArray], DimArray]:
    """The derivative of ``x**(a - 1 - i) (1 - x)**(b - 1 - j) / beta(a, b)`` of orders ``m`` in ``a`` and ``n`` in ``b``.

    It is made from those of the logarithm. With ``beta(a - i, b - j)`` there would be poles where ``a + b`` is 1.
    """

    def in_x(y: DimArray, a: DimArray, b: DimArray, x: DimArray) -> DimArray:  # nothing is divided by x
        rise = scale(subtract(a, c(1.0 + i)), density_order(m, n, i + 1, j)(a, b, x))
        fall = scale(subtract(b, c(1.0 + j)), density_order(m, n, i, j + 1)(a, b, x))
        rise = add(rise, scaled(m, density_order(m - 1, n, i + 1, j)(a, b, x))) if m else rise
        fall = add(fall, scaled(n, density_order(m, n - 1, i, j + 1)(a, b, x))) if n else fall
        at_1 = _outweighed(subtract(b, c(1.0 + j)), n, equal(x, c(1)))
        at_0 = _outweighed(subtract(a, c(1.0 + i)), m, equal(x, c(0)))
        return subtract(select(logical_not(at_1), rise), select(logical_not(at_0), fall))

    def value(a: DimArray, b: DimArray, x: DimArray) -> DimArray:
        y = density_order(0, 0, i, j)(a, b, x)

        def slope(p: int, q: int) -> DimArray:
            if p + q == 1:
                first, log_t = (a, log(x)) if p else (b, log1p(negative(x)))
                return subtract(outweighed(log_t, y), against_sum(first, b if p else a))
            both = psi(p + q - 1)(add(a, b))
            return both if p and q else subtract(both, psi(p + q - 1)(a if p else b))

        found: dict[tuple[int, int], DimArray] = {(0, 0): c(1.0)}
        for p in range(m + 1):
            for q in range(n + 1):
                if p or q:
                    found[p, q] = _next(p, q, slope, found)
        return multiply(y, found[m, n])

    partials = (lambda y, a, b, x: density_order(m + 1, n, i, j)(a, b, x), lambda y, a, b, x: density_order(m, n + 1, i, j)(a, b, x), in_x)
    if m or n:
        return with_slopes(value, *partials)
    return ordered("beta_flattened", (i, j), *partials) if i or j else elementwise("beta_density", *partials)


def _outweighed(power: DimArray, logs: int, at_end: DimArray) -> DimArray:
    """Where a part of a slope, or its slope, is infinite at an end: the other part is, too, by one power more."""
    steep = less_equal(power, c(1)) if logs else logical_and(less(power, c(1)), not_equal(power, c(0)))
    return logical_and(at_end, steep)


density = density_order(0, 0)


def _next(
    i: int, j: int, slope: Callable[[int, int], DimArray], found: Mapping[tuple[int, int], DimArray]
) -> DimArray:
    """Leibniz' rule for ``exp(f)' = f' exp(f)``."""
    if i:
        terms = [((p + 1, r), math.comb(i - 1, p) * math.comb(j, r), (i - 1 - p, j - r)) for p in range(i) for r in range(j + 1)]
    else:
        terms = [((0, r + 1), math.comb(j - 1, r), (0, j - 1 - r)) for r in range(j)]
    parts = [multiply(c(float(k)), multiply(slope(*s), found[rest])) for s, k, rest in terms]
    return functools.reduce(add.two, parts)


@functools.cache
def betainc_order(m: int, n: int) -> Callable[..., DimArray]:
    """The derivative of the regularized incomplete beta function of orders ``m`` in ``a`` and ``n`` in ``b``."""
    return ordered(
        "betainc_order",
        (m, n),
        lambda y, a, b, x: betainc_order(m + 1, n)(a, b, x),
        lambda y, a, b, x: betainc_order(m, n + 1)(a, b, x),
        lambda y, a, b, x: density_order(m, n)(a, b, x),
    )


# ------------------------------------------------------------------------------------------------ its inverse


def _growth(a: DimArray, b: DimArray, x: DimArray) -> DimArray:
    """The derivative in ``x`` of the logarithm of the density."""
    rise = scale(subtract(a, c(1.0)), inverse(x))
    return subtract(rise, scale(subtract(b, c(1.0)), inverse(subtract(c(1.0), x))))


def _logarithm(k: int, a: DimArray, b: DimArray, x: DimArray) -> DimArray:
    """The derivative of the logarithm of the density, in ``a`` or in ``b``."""
    return subtract(log1p(negative(x)), against_sum(b, a)) if k else subtract(log(x), against_sum(a, b))


@functools.cache
def _shift(k: int) -> Callable[..., DimArray]:
    """The derivative of an inverse ``x`` in ``a`` or in ``b``; 0 at 1, too."""

    def moved(m: int, n: int, a: DimArray, b: DimArray, x: DimArray) -> DimArray:
        return select(not_equal(x, c(1)), implicit(x, betainc_order(m, n)(a, b, x), density(a, b, x)))

    def again(j: int) -> Callable[..., DimArray]:
        m, n = (1 - k) + (1 - j), k + j
        return lambda s, a, b, x: subtract(moved(m, n, a, b, x), scale(s, _logarithm(j, a, b, x)))

    return with_slopes(functools.partial(moved, 1 - k, k), again(0), again(1), functools.partial(_shift_in_x, k))


def _shift_in_x(k: int, s: DimArray, a: DimArray, b: DimArray, x: DimArray) -> DimArray:
    return negative(add(_logarithm(k, a, b, x), scale(s, _growth(a, b, x))))


def _steepness(sign: int) -> Callable[..., DimArray]:
    """The derivative of an inverse ``x`` in its last operand, of which the partials know that x depends on the others."""

    def of(k: int) -> Callable[..., DimArray]:
        return lambda y, a, b, p, x: scale(y, _shift_in_x(k, _shift(k)(a, b, x), a, b, x))

    def bend(_: DimArray, a: DimArray, b: DimArray, p: DimArray, x: DimArray) -> DimArray:
        falling, norm = multiply(square(inverse(density(a, b, x))), _growth(a, b, x)), beta(a, b)
        low, high = (p, subtract(c(1.0), p)) if sign > 0 else (subtract(c(1.0), p), p)
        rising = bend_at_0(negative(falling), a, norm, low, x)
        return negative(bend_at_0(negative(rising), b, norm, high, subtract(c(1.0), x)))

    def value(a: DimArray, b: DimArray, p: DimArray, x: DimArray) -> DimArray:
        return inverse(density(a, b, x)) if sign > 0 else negative(inverse(density(a, b, x)))

    return with_slopes(value, of(0), of(1), bend, None)


_rise, _fall = _steepness(1), _steepness(-1)
_OPERANDS = ("a", "b", "x")
_SOURCE = "The derivatives in a and b are integrals of the density times logarithms, on the side of the smaller tail."
# fmt: off
beta = special(
    "beta", lambda y, a, b: _of_beta(y, a, b), lambda y, a, b: _of_beta(y, b, a),
    domain="positive", operands=("a", "b"), says="Beta function Γ(a) Γ(b) / Γ(a + b).")
betaln = special(
    "betaln", lambda y, a, b: against_sum(a, b), lambda y, a, b: against_sum(b, a),
    domain="positive", operands=("a", "b"), says="Logarithm of the absolute value of the beta function.")
betainc = special(
    "betainc", lambda y, a, b, x: betainc_order(1, 0)(a, b, x), lambda y, a, b, x: betainc_order(0, 1)(a, b, x),
    lambda y, a, b, x: density(a, b, x),
    domain=("positive", "positive", "fraction"), operands=_OPERANDS, says="Regularized incomplete beta function I(x; a, b).",
    source=_SOURCE)
betaincc = special(
    "betaincc", lambda y, a, b, x: negative(betainc_order(1, 0)(a, b, x)), lambda y, a, b, x: negative(betainc_order(0, 1)(a, b, x)),
    lambda y, a, b, x: negative(density(a, b, x)),
    domain=("positive", "positive", "fraction"), operands=_OPERANDS, says="Complement 1 - I(x; a, b) of the incomplete beta function.",
    source=_SOURCE)
betaincinv = special(
    "betaincinv", lambda x, a, b, p: _shift(0)(a, b, x), lambda x, a, b, p: _shift(1)(a, b, x), lambda x, a, b, p: _rise(a, b, p, x),
    domain=("positive", "positive", "fraction"), operands=("a", "b", "p"),
    says="Inverse in x of the incomplete beta function: the x with I(x; a, b) = p.", source="Differentiated implicitly.")
betainccinv = special(
    "betainccinv", lambda x, a, b, q: _shift(0)(a, b, x), lambda x, a, b, q: _shift(1)(a, b, x), lambda x, a, b, q: _fall(a, b, q, x),
    domain=("positive", "positive", "fraction"), operands=("a", "b", "q"),
    says="Inverse in x of the complement: the x with 1 - I(x; a, b) = q.", source="Differentiated implicitly.")
# fmt: on
