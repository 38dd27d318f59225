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
def _order(i: int, j: int, k: int) -> Function:
    """The derivative of orders ``i`` in the first parameter, ``j`` in the second and ``k`` in the third."""
    if i == j == k == 0:
        return hyp2f1
    return ordered(
        "hyp2f1_order",
        (i, j, k),
        lambda y, *xs: _order(i + 1, j, k)(*xs),
        lambda y, *xs: _order(i, j + 1, k)(*xs),
        lambda y, *xs: _order(i, j, k + 1)(*xs),
        lambda y, *xs: _slope(i, j, k, *xs),
    )


def _slope(i: int, j: int, k: int, first: DimArray, second: DimArray, third: DimArray, x: DimArray) -> DimArray:
    """Leibniz' rule for ``a b / c F(a + 1, b + 1; c + 1; x)``, DLMF 15.5.1."""
    after = [add(v, c(1.0)) for v in (first, second, third)]
    terms = []
    for p, q, r in itertools.product(range(min(i, 1) + 1), range(min(j, 1) + 1), range(k + 1)):
        count = math.comb(i, p) * math.comb(j, q) * math.comb(k, r) * (-1) ** r * math.factorial(r)
        factor = _order(i - p, j - q, k - r)(*after, x)
        factor = factor if count == 1 else scaled(float(count), factor)
        for v in ([] if p else [first]) + ([] if q else [second]):
            factor = scale(v, factor)  # of a polynomial it is 0 where that of the next one is infinite
        for _ in range(r + 1):
            factor = divide(factor, third)
        terms.append(factor)
    return functools.reduce(add.two, terms)


@functools.cache
def _kummer(i: int, j: int) -> Function:
    """The derivative of orders ``i`` in the first parameter and ``j`` in the second."""
    if i == j == 0:
        return hyp1f1
    return ordered(
        "hyp1f1_order",
        (i, j),
        lambda y, *xs: _kummer(i + 1, j)(*xs),
        lambda y, *xs: _kummer(i, j + 1)(*xs),
        lambda y, *xs: _kummer_slope(i, j, *xs),
    )


def _kummer_slope(i: int, j: int, first: DimArray, second: DimArray, x: DimArray) -> DimArray:
    """Leibniz' rule for ``a / b M(a + 1, b + 1, x)``, DLMF 13.3.15."""
    after = add(first, c(1.0)), add(second, c(1.0))
    terms = []
    for p, r in itertools.product(range(min(i, 1) + 1), range(j + 1)):
        count = math.comb(i, p) * math.comb(j, r) * (-1) ** r * math.factorial(r)
        factor = _kummer(i - p, j - r)(*after, x)
        factor = factor if count == 1 else scaled(float(count), factor)
        factor = factor if p else scale(first, factor)
        for _ in range(r + 1):
            factor = divide(factor, second)
        terms.append(factor)
    return functools.reduce(add.two, terms)


# fmt: off
hyp2f1 = special(
    "hyp2f1", lambda y, *xs: _order(1, 0, 0)(*xs), lambda y, *xs: _order(0, 1, 0)(*xs), lambda y, *xs: _order(0, 0, 1)(*xs),
    lambda y, *xs: _slope(0, 0, 0, *xs),
    domain=("positive", "positive", "positive", "unit"), operands=("a", "b", "c", "x"),
    says="Gauss' hypergeometric function.",
    source="The derivative in x is DLMF 15.5.1; those in a, b and c by series and their continuation along 15.10.1.")
hyp1f1 = special(
    "hyp1f1", lambda y, *xs: _kummer(1, 0)(*xs), lambda y, *xs: _kummer(0, 1)(*xs), lambda y, *xs: _kummer_slope(0, 0, *xs),
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
