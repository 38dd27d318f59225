"""Bessel functions of real order, and Owen's T.

A derivative in the argument is half the sum or difference of the neighbouring orders (DLMF 10.6, 10.29).  Those of any
degree in the order are kernels of their own, in which the same holds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from namedgrad.array import DimArray, constant
from namedgrad.primitive import elementwise, operation, sample
from namedgrad.rules.complex import imag, real
from namedgrad.rules.elementwise import absolute_real, c, divide, exp, greater, less, ordered, reciprocal, square
from namedgrad.rules.elementwise import sign as direction
from namedgrad.rules.special.declare import FAMILY, scaled, special
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
def _in_order(name: str, n: int, sign: int) -> Function:
    """The n-th derivative of a Bessel function in its order."""
    return ordered(
        f"{name}_order",
        (n,),
        lambda y, v, x: _in_order(name, n + 1, sign)(v, x),
        lambda y, v, x: _neighbours(_in_order(name, n, sign), v, x, sign),
    )


@functools.cache
def _ive_in_order(n: int) -> Function:
    """That of ``exp(-abs(x)) I``."""
    return ordered(
        "ive_order",
        (n,),
        lambda y, v, x: _ive_in_order(n + 1)(v, x),
        lambda y, v, x: subtract(_neighbours(_ive_in_order(n), v, x), _without_growth(x, y)),
    )


@functools.cache
def _kve_in_order(n: int) -> Function:
    """That of ``exp(x) K``."""
    return ordered(
        "kve_order",
        (n,),
        lambda y, v, x: _kve_in_order(n + 1)(v, x),
        lambda y, v, x: subtract(y, _neighbours(_kve_in_order(n), v, x)),
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


_SOURCE = "The derivative in v, of any degree, by quadrature along paths of steepest descent, DLMF 10.32."
_V = ("v", "x")
_ORDER = ("positive", "positive")

_ive = elementwise(
    "ive",
    lambda y, v, x: _ive_in_order(1)(v, x),
    lambda y, v, x: subtract(_neighbours(_ive, v, x), _without_growth(x, y)),
)


@functools.cache
def _turned(n: int) -> Function:
    """The n-th derivative in the order of exp(-x) I or exp(x) I, whichever does not grow."""
    return ordered(
        "ive_turned_order",
        (n,),
        lambda y, v, x: _turned(n + 1)(v, x),
        lambda y, v, x: subtract(_neighbours(_turned(n), v, x), multiply(_side(x), y)),
    )


def _side(x: DimArray) -> DimArray:
    """The sign of the real part of a complex number."""
    return where(less(real(x), c(0.0)), c(-1.0), c(1.0))


def _unturned(x: DimArray) -> DimArray:
    """What there is to it."""
    return exp(multiply(c(1j), multiply(_side(x), imag(x))))


@operation(
    sample("order(a,b)", "nonzero(b)"), sample("order(b)", "nonzero(a,b)"), sample("positive(b)", "positive(a)"), family=FAMILY
)
def ive(v: DimArray | float, x: DimArray | float) -> DimArray:
    """Scaled modified Bessel function of the first kind, exp(-abs(real(x))) iv(v, x).

    Parameters
    ----------
    v : DimArray or scalar
        The order, any real number.
    x : DimArray or scalar
        Real or complex.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim has two sizes, or is vectorized in one operand and visible in another.

    Notes
    -----
    | Derivative in ``x``: ``(ive(v - 1, x) + ive(v + 1, x)) / 2 - sign(x) * ive(v, x)``
    | Derivative in ``v``: of any degree, by quadrature along paths of steepest descent, DLMF 10.32.

    SciPy: :obj:`scipy.special.ive`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.ive(0, ng.DimArray([0.0, 1000.0], ("x",))).data
    array([1.        , 0.01261724])
    """
    order, at = constant(v), constant(x)
    return multiply(_turned(0)(order, at), _unturned(at)) if at.dtype.kind == "c" else _ive.two(order, at)


# fmt: off
jv = special(
    "jv", lambda y, v, x: _in_order("jv", 1, -1)(v, x), lambda y, v, x: _neighbours(jv, v, x, -1),
    domain=("order", "positive"), operands=_V, says="Bessel function of the first kind and real order v.",
    source=_SOURCE)
yv = special(
    "yv", lambda y, v, x: _in_order("yv", 1, -1)(v, x), lambda y, v, x: _pole(x, 1, _neighbours(yv, v, x, -1)),
    domain=("order", "positive"), operands=_V, says="Bessel function of the second kind and real order v.",
    source=_SOURCE)
iv = special(
    "iv", lambda y, v, x: _in_order("iv", 1, 1)(v, x), lambda y, v, x: _neighbours(iv, v, x),
    domain=("order", "positive"), operands=_V, says="Modified Bessel function of the first kind and real order v.",
    source=_SOURCE)
kv = special(
    "kv", lambda y, v, x: multiply(exp(negative(x)), _kve_in_order(1)(v, x)), lambda y, v, x: negative(_neighbours(kv, v, x)),
    domain=_ORDER, operands=_V, says="Modified Bessel function of the second kind and real order v.",
    source=_SOURCE)
kve = special(
    "kve", lambda y, v, x: _kve_in_order(1)(v, x), lambda y, v, x: _pole(x, -1, subtract(y, _neighbours(kve, v, x))),
    domain=_ORDER, operands=_V, says="Scaled modified Bessel function of the second kind, exp(x) kv(v, x).",
    source=_SOURCE)
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
owens_t = special(
    "owens_t", lambda y, h, a: scaled(-0.5 / math.sqrt(2 * math.pi), multiply(exp(scaled(-0.5, square(h))), erf(scaled(math.sqrt(0.5), multiply(a, h))))),
    lambda y, h, a: multiply(scaled(0.5 / math.pi, exp(scaled(-0.5, add(square(h), square(multiply(a, h)))))), reciprocal(add(c(1.0), square(a)))),
    domain="real", operands=("h", "a"), says="Owen's T function.", source="Owen (1956).")
# fmt: on
