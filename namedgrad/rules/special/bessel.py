"""Bessel functions of real order, Gauss' hypergeometric function and Owen's T.

A derivative in the argument is half the sum or difference of the neighbouring orders (DLMF 10.6, 10.29), so every order
of derivative comes from the same few kernels.  That in the order of K is a kernel of its own; the others have none.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from namedgrad.array import DimArray
from namedgrad.primitive import elementwise
from namedgrad.rules.elementwise import absolute_real, c, divide, exp, greater, less, ordered, reciprocal, square
from namedgrad.rules.elementwise import sign as direction
from namedgrad.rules.special.declare import constant_in, scaled, special
from namedgrad.rules.special.normal import erf
from namedgrad.rules.structure import add, equal, multiply, negative, subtract, where

Function = Callable[..., DimArray]


def _neighbours(f: Function, v: DimArray, x: DimArray, sign: int = 1) -> DimArray:
    """Half the sum of the orders below and above, or half their difference."""
    below, above = f(subtract(v, c(1)), x), f(add(v, c(1)), x)
    return scaled(0.5, add(below, above) if sign > 0 else subtract(below, above))


def _without_growth(x: DimArray, y: DimArray) -> DimArray:
    """What the factor ``exp(-abs(x))`` adds to a derivative."""
    return multiply(direction(x), y)


@functools.cache
def _kve(n: int) -> Function:
    """The n-th derivative in the order of ``exp(x) K``."""
    return ordered(
        "kve_order", (n,), lambda y, v, x: _kve(n + 1)(v, x), lambda y, v, x: subtract(y, _neighbours(_kve(n), v, x))
    )


def _pole(x: DimArray, sign: int, slope: DimArray) -> DimArray:
    """A slope that is a difference of infinities at 0."""
    return where(equal(x, c(0)), c(sign * math.inf), slope)


def _i1_slope(x: DimArray) -> DimArray:
    """Half of the orders around 1; SciPy's function of order 2 has no value next to 0."""
    return where(less(absolute_real(x), c(1e-100)), c(0.5), scaled(0.5, add(i0(x), iv(c(2), x))))


def _i1e_slope(y: DimArray, x: DimArray) -> DimArray:
    """The same, scaled; far from 0 without the order 2, of which SciPy has no value at large arguments."""
    far = greater(absolute_real(x), c(1.0))
    near = scaled(0.5, add(i0e(x), _ive(c(2), where(far, c(1.0), x))))
    return where(far, subtract(i0e(x), divide(y, where(far, x, c(1.0)))), near)


def _k_in_order(v: DimArray, x: DimArray) -> DimArray:
    return constant_in("the order v", "K of a complex argument")() if x.dtype.kind == "c" else _kve(1)(v, x)


def _order(name: str) -> Function:
    return constant_in("the order v", f"{name}(v, x)")


_ive_less = elementwise(
    "ive_less", _order("ive"), lambda y, v, x, s: scaled(0.5, add(_ive_less(subtract(v, c(1)), x, s), _ive_less(add(v, c(1)), x, s))),
    lambda y, v, x, s: negative(y),
)  # fmt: skip
_V = ("v", "x")
_ORDER = ("positive", "positive")

# fmt: off
jv = special(
    "jv", _order("jv"), lambda y, v, x: _neighbours(jv, v, x, -1),
    domain=("order", "positive"), operands=_V, says="Bessel function of the first kind and real order v.")
yv = special(
    "yv", _order("yv"), lambda y, v, x: _pole(x, 1, _neighbours(yv, v, x, -1)),
    domain=("order", "positive"), operands=_V, says="Bessel function of the second kind and real order v.")
iv = special(
    "iv", _order("iv"), lambda y, v, x: _neighbours(iv, v, x),
    domain=("order", "positive"), operands=_V, says="Modified Bessel function of the first kind and real order v.")
kv = special(
    "kv", lambda y, v, x: multiply(exp(negative(x)), _k_in_order(v, x)), lambda y, v, x: negative(_neighbours(kv, v, x)),
    domain=_ORDER, operands=_V, says="Modified Bessel function of the second kind and real order v.",
    source="The derivative in v by the trapezoidal rule on DLMF 10.32.9.")
kve = special(
    "kve", lambda y, v, x: _k_in_order(v, x), lambda y, v, x: _pole(x, -1, subtract(y, _neighbours(kve, v, x))),
    domain=_ORDER, operands=_V, says="Scaled modified Bessel function of the second kind, exp(x) kv(v, x).",
    source="The derivative in v by the trapezoidal rule on DLMF 10.32.9.")
j0 = special("j0", lambda y, x: negative(j1(x)), domain="real",
             says="Bessel function of the first kind of order 0.", torch="torch.special.bessel_j0")
j1 = special("j1", lambda y, x: scaled(0.5, subtract(j0(x), jv(c(2), x))), domain="real",
             says="Bessel function of the first kind of order 1.", torch="torch.special.bessel_j1")
y0 = special("y0", lambda y, x: negative(y1(x)), domain="positive",
             says="Bessel function of the second kind of order 0.", torch="torch.special.bessel_y0")
y1 = special("y1", lambda y, x: _pole(x, 1, scaled(0.5, subtract(y0(x), yv(c(2), x)))), domain="positive",
             says="Bessel function of the second kind of order 1.", torch="torch.special.bessel_y1")
i0 = special("i0", lambda y, x: i1(x), domain="real",
             says="Modified Bessel function of the first kind of order 0.", torch="torch.special.i0")
i1 = special("i1", lambda y, x: _i1_slope(x), domain="real",
             says="Modified Bessel function of the first kind of order 1.", torch="torch.special.i1")
i0e = special("i0e", lambda y, x: subtract(i1e(x), _without_growth(x, y)), domain="nonzero",
              says="Scaled modified Bessel function exp(-abs(x)) i0(x).", torch="torch.special.i0e")
i1e = special("i1e", lambda y, x: subtract(_i1e_slope(y, x), _without_growth(x, y)), domain="nonzero",
              says="Scaled modified Bessel function exp(-abs(x)) i1(x).", torch="torch.special.i1e")
k0 = special("k0", lambda y, x: negative(k1(x)), domain="positive",
             says="Modified Bessel function of the second kind of order 0.", torch="torch.special.modified_bessel_k0")
k1 = special("k1", lambda y, x: scaled(-0.5, add(k0(x), kv(c(2), x))), domain="positive",
             says="Modified Bessel function of the second kind of order 1.", torch="torch.special.modified_bessel_k1")
k0e = special("k0e", lambda y, x: _pole(x, -1, subtract(y, k1e(x))), domain="positive",
              says="Scaled modified Bessel function exp(x) k0(x).", torch="torch.special.scaled_modified_bessel_k0")
k1e = special("k1e", lambda y, x: _pole(x, -1, subtract(y, scaled(0.5, add(k0e(x), kve(c(2), x))))), domain="positive",
              says="Scaled modified Bessel function exp(x) k1(x).", torch="torch.special.scaled_modified_bessel_k1")
hyp2f1 = special(
    "hyp2f1", *(constant_in("a, b and c", "hyp2f1(a, b, c, x)"),) * 3,
    lambda y, a, b, d, x: multiply(divide(multiply(a, b), d), hyp2f1(*(add(v, c(1.0)) for v in (a, b, d)), x)),
    domain=("count", "count", "count", "unit"), operands=("a", "b", "c", "x"),
    says="Gauss' hypergeometric function.", source="The derivative in x is DLMF 15.5.1; there is none in a, b and c.")
owens_t = special(
    "owens_t", lambda y, h, a: scaled(-0.5 / math.sqrt(2 * math.pi), multiply(exp(scaled(-0.5, square(h))), erf(scaled(math.sqrt(0.5), multiply(a, h))))),
    lambda y, h, a: multiply(scaled(0.5 / math.pi, exp(scaled(-0.5, add(square(h), square(multiply(a, h)))))), reciprocal(add(c(1.0), square(a)))),
    domain="real", operands=("h", "a"), says="Owen's T function.", source="Owen (1956).")
_ive = elementwise("ive", _order("ive"), lambda y, v, x: subtract(_neighbours(_ive, v, x), _without_growth(x, y)))
# fmt: on
