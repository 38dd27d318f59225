"""Gauss' hypergeometric function, differentiable in its argument and in its parameters."""

from __future__ import annotations

import functools
import itertools
import math

from namedgrad.array import DimArray
from namedgrad.rules.elementwise import c, divide, ordered
from namedgrad.rules.special.declare import Function, scaled, special
from namedgrad.rules.structure import add, scale


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


# fmt: off
hyp2f1 = special(
    "hyp2f1", lambda y, *xs: _order(1, 0, 0)(*xs), lambda y, *xs: _order(0, 1, 0)(*xs), lambda y, *xs: _order(0, 0, 1)(*xs),
    lambda y, *xs: _slope(0, 0, 0, *xs),
    domain=("positive", "positive", "positive", "unit"), operands=("a", "b", "c", "x"),
    says="Gauss' hypergeometric function.",
    source="The derivative in x is DLMF 15.5.1; those in a, b and c by series and their continuation along 15.10.1.")
# fmt: on
