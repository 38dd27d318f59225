"""Gauss' hypergeometric function and Kummer's, differentiable in their arguments and parameters, and other confluent ones."""

from __future__ import annotations

import functools
import itertools
import math

from namedgrad.array import DimArray
from namedgrad.rules.elementwise import c, divide, ordered
from namedgrad.rules.special.declare import Function, constant_in, scaled, special
from namedgrad.rules.structure import add, negative, scale


@functools.cache
def _order(name: str, orders: tuple[int, ...]) -> Function:
    """The derivative of these orders in the parameters, of which the last one divides."""
    if not any(orders):
        return hyp2f1 if name == "hyp2f1" else hyp1f1

    def partial(k: int) -> Function:
        return lambda y, *xs: _order(name, tuple(n + (i == k) for i, n in enumerate(orders)))(*xs)

    partials = [partial(k) for k in range(len(orders))]
    return ordered(f"{name}_order", orders, *partials, lambda y, *xs: _slope(name, orders, *xs))


def _slope(name: str, orders: tuple[int, ...], *operands: DimArray) -> DimArray:
    """Leibniz' rule for ``a b / c F(a + 1, b + 1; c + 1; x)``, DLMF 15.5.1, or ``a / b M(a + 1, b + 1, x)``, 13.3.15."""
    *factors, divisor, x = operands
    after, terms = [add(v, c(1.0)) for v in operands[:-1]], []
    for taken in itertools.product(*(range(min(n, 1) + 1) for n in orders[:-1]), range(orders[-1] + 1)):
        *ones, r = taken
        count = math.prod(map(math.comb, orders, taken)) * (-1) ** r * math.factorial(r)
        term = _order(name, tuple(n - k for n, k in zip(orders, taken, strict=True)))(*after, x)
        term = term if count == 1 else scaled(float(count), term)
        for v in (v for v, one in zip(factors, ones, strict=True) if not one):
            term = scale(v, term)  # of a polynomial it is 0 where that of the next one is infinite
        for _ in range(r + 1):
            term = divide(term, divisor)
        terms.append(term)
    return functools.reduce(add.two, terms)


# fmt: off
hyp2f1 = special(
    "hyp2f1", lambda y, *xs: _order("hyp2f1", (1, 0, 0))(*xs), lambda y, *xs: _order("hyp2f1", (0, 1, 0))(*xs), lambda y, *xs: _order("hyp2f1", (0, 0, 1))(*xs),
    lambda y, *xs: _slope("hyp2f1", (0, 0, 0), *xs),
    domain=("positive", "positive", "positive", "unit"), operands=("a", "b", "c", "x"),
    says="Gauss' hypergeometric function.",
    source="The derivative in x is DLMF 15.5.1; those in a, b and c by series and their continuation along 15.10.1.")
hyp1f1 = special(
    "hyp1f1", lambda y, *xs: _order("hyp1f1", (1, 0))(*xs), lambda y, *xs: _order("hyp1f1", (0, 1))(*xs), lambda y, *xs: _slope("hyp1f1", (0, 0), *xs),
    domain=("positive", "positive", "real"), operands=("a", "b", "x"), says="Kummer's confluent hypergeometric function.",
    source="The derivative in x is DLMF 13.3.15; those in a and b by the power series, below 0 after 13.2.39, at arguments of size up to 1400, if 8 digits are left.")
hyp0f1 = special(
    "hyp0f1", constant_in("the parameter v", "hyp0f1(v, z)"), lambda y, v, z: divide(hyp0f1(add(v, c(1)), z), v),
    domain=("count", "real"), operands=("v", "z"), says="Confluent hypergeometric limit function.", source="DLMF 16.3.1.")
hyperu = special(
    "hyperu", constant_in("the parameter a", "hyperu(a, b, x)"), constant_in("the parameter b", "hyperu(a, b, x)"),
    lambda y, a, b, x: negative(scale(a, hyperu(add(a, c(1)), add(b, c(1)), x))),
    domain=("count", "count", "positive"), operands=("a", "b", "x"), says="Tricomi's confluent hypergeometric function.", source="DLMF 13.3.22.")
# fmt: on
