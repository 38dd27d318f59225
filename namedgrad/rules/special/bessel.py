"""Bessel functions of real order, and Owen's T.

A derivative in the argument is half the sum or difference of the neighbouring orders (DLMF 10.6, 10.29).  Those of any
degree in the order are kernels of their own, in which the same holds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from namedgrad.array import DimArray, constant
from namedgrad.primitive import elementwise, operation, sample
from namedgrad.rules.complex import imag, real
from namedgrad.rules.elementwise import (
    absolute_real,
    c,
    divide,
    exp,
    greater,
    isinf,
    less,
    logical_and,
    logical_or,
    ordered,
    promoted,
    reciprocal,
    square,
)
from namedgrad.rules.elementwise import sign as direction
from namedgrad.rules.special.declare import FAMILY, Function, is_formula, scaled, slope_by_value, special
from namedgrad.rules.special.far import by_quotient
from namedgrad.rules.special.normal import erf
from namedgrad.rules.structure import add, cast, equal, multiply, negative, subtract, where
from namedgrad.trace import innermost


def neighbours(f: Function, v: DimArray, x: DimArray, sign: int = 1) -> DimArray:
    """Half the sum of the orders below and above, or half their difference."""
    below, above = f(subtract(v, c(1.0)), x), f(add(v, c(1.0)), x)
    return scaled(0.5, add(below, above) if sign > 0 else subtract(below, above))


def _without_growth(x: DimArray, y: DimArray) -> DimArray:
    """What the factor ``exp(-abs(x))`` adds to a derivative."""
    return multiply(direction(x), y)


@functools.cache
def in_order(kernel: str, n: int, slope: Callable[[Function, DimArray, DimArray, DimArray], DimArray]) -> Function:
    """The n-th derivative in its order of a function with such a kernel and such a derivative in the argument."""
    return ordered(
        kernel,
        (n,),
        lambda y, v, x: in_order(kernel, n + 1, slope)(v, x),
        lambda y, v, x: slope(in_order(kernel, n, slope), y, v, x),
    )


def _less_leading(small: DimArray, lead: DimArray) -> DimArray:
    """``small - lead``, without ``small`` where it is lost in any derivative: both may be infinite, as at 0."""
    if is_formula(lead):
        return subtract(small, lead)
    rounding = float(np.finfo(lead.dtype).eps) ** 2
    size, leading = absolute_real(innermost(small)), absolute_real(innermost(lead))
    lost = logical_or(isinf(leading), less(size, scaled(rounding, leading)))
    return subtract(where(lost, c(0.0), small), lead)


def slope_of_waves(f: Function, y: DimArray, v: DimArray, x: DimArray) -> DimArray:
    """The derivative in the argument of J and Y; near 0 the neighbour leads whose order is larger in size."""
    if is_formula(x):
        return neighbours(f, v, x, -1)
    below, above, left = f(subtract(v, c(1.0)), x), f(add(v, c(1.0)), x), less(v, c(0))
    difference = _less_leading(where(left, above, below), where(left, below, above))
    return multiply(where(left, c(-0.5), c(0.5)), difference)


def _of_first(f: Function, y: DimArray, v: DimArray, x: DimArray) -> DimArray:
    """That of I."""
    return neighbours(f, v, x)


def _of_scaled_first(f: Function, y: DimArray, v: DimArray, x: DimArray) -> DimArray:
    """That of ``exp(-abs(x)) I``, and of its derivatives in the order."""
    return negative(_less_leading(_without_growth(x, y), neighbours(f, v, x)))


def _of_turned_first(f: Function, y: DimArray, v: DimArray, x: DimArray) -> DimArray:
    """That of ``exp(-x) I`` or ``exp(x) I``, whichever does not grow."""
    return subtract(neighbours(f, v, x), multiply(_side(x), y))


def slope_of_scaled_second(f: Function, y: DimArray, v: DimArray, x: DimArray) -> DimArray:
    """That of ``exp(x) K``."""
    return _less_leading(y, neighbours(f, v, x))


jv_order, yv_order = (in_order(f"{name}_order", 1, slope_of_waves) for name in ("jv", "yv"))
kve_order = in_order("kve_order", 1, slope_of_scaled_second)
_iv_order, _ive_order = in_order("iv_order", 1, _of_first), in_order("ive_order", 1, _of_scaled_first)


def _kv_in_order(v: DimArray, x: DimArray, y: DimArray) -> DimArray:
    return multiply(exp(negative(promoted(x, y))), kve_order(v, x))


def _of_second(f: Function, y: DimArray, v: DimArray, x: DimArray) -> DimArray:
    """That of K."""
    return negative(neighbours(f, v, x))


jv_slope = slope_by_value("jv", lambda: jv, slope_of_waves, jv_order)
yv_slope = slope_by_value("yv", lambda: yv, slope_of_waves, yv_order)
_iv_slope = slope_by_value("iv", lambda: iv, _of_first, _iv_order)
_ive_slope = slope_by_value("ive", lambda: _ive, _of_scaled_first, _ive_order)
kv_slope = slope_by_value("kv", lambda: kv, _of_second, lambda v, x: _kv_in_order(v, x, x))
_kve_slope = slope_by_value("kve", lambda: kve, slope_of_scaled_second, kve_order)


def _bend_of_scaled_first(s: DimArray, x: DimArray, _: DimArray) -> DimArray:
    """The derivative of ``s``, the scaled slope of I of order 1; SciPy has no value of order 3 at large arguments."""
    y, far = i1e(x), greater(absolute_real(x), c(1.0))
    x = cast(x, y.dtype)  # from half precision
    t = reciprocal(where(far, x, c(1.0)))
    by_equation = subtract(multiply(add(c(1.0), square(t)), y), multiply(t, s))
    around = scaled(0.25, add(scaled(3.0, y), _ive(c(3), where(far, c(1.0), x))))
    return subtract(where(far, by_equation, around), _without_growth(x, s))


def _of_order_one(kernel: str, zero: Function, bend: Callable[..., DimArray]) -> Function:
    """``f_0 - y / x``, the slope of ``y = f_1``."""
    known = elementwise(kernel, bend, None)
    return lambda y, x: subtract(zero(x), divide(y, x)) if is_formula(x) else known(x, innermost(y))


_j1_slope = _of_order_one("j1_slope", lambda x: j0(x), lambda s, x, y: scaled(0.25, subtract(jv(c(3), x), scaled(3.0, j1(x)))))
_i1_slope = _of_order_one("i1_slope", lambda x: i0(x), lambda s, x, y: add(scaled(0.25, iv(c(3), x)), scaled(0.75, i1(x))))
_i1e_slope = _of_order_one("i1e_slope", lambda x: i0e(x), _bend_of_scaled_first)


_SOURCE = "The derivative in v, of any degree, by quadrature along paths of steepest descent, DLMF 10.32."
_V = ("v", "x")
_ORDER = ("positive", "positive")

_ive = elementwise(
    "ive",
    lambda y, v, x: _ive_order(v, x),
    lambda y, v, x: by_quotient(y, v, x, 1, lambda x: _ive_slope(y, v, x)),
)


def _both(x: DimArray, y: DimArray) -> DimArray:
    """The product, 0 where one is 0 and the other infinite."""
    if is_formula(x):
        return multiply(x, y)
    none = logical_or(logical_and(equal(x, c(0.0)), isinf(y)), logical_and(isinf(x), equal(y, c(0.0))))
    return where(none, c(0.0), multiply(x, y))


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
    return multiply(in_order("ive_turned_order", 0, _of_turned_first)(order, at), _unturned(at)) if at.dtype.kind == "c" else _ive.two(order, at)


# fmt: off
jv = special(
    "jv", lambda y, v, x: jv_order(v, x), lambda y, v, x: jv_slope(y, v, x),
    domain=("order", "positive"), operands=_V, says="Bessel function of the first kind and real order v.",
    source=_SOURCE)
yv = special(
    "yv", lambda y, v, x: yv_order(v, x), lambda y, v, x: yv_slope(y, v, x),
    domain=("order", "positive"), operands=_V, says="Bessel function of the second kind and real order v.",
    source=_SOURCE)
iv = special(
    "iv", lambda y, v, x: _iv_order(v, x), lambda y, v, x: _iv_slope(y, v, x),
    domain=("order", "positive"), operands=_V, says="Modified Bessel function of the first kind and real order v.",
    source=_SOURCE)
kv = special(
    "kv", lambda y, v, x: _kv_in_order(v, x, y), lambda y, v, x: kv_slope(y, v, x),
    domain=_ORDER, operands=_V, says="Modified Bessel function of the second kind and real order v.",
    source=_SOURCE)
kve = special(
    "kve", lambda y, v, x: kve_order(v, x), lambda y, v, x: by_quotient(y, v, x, -1, lambda x: _kve_slope(y, v, x)),
    domain=_ORDER, operands=_V, says="Scaled modified Bessel function of the second kind, exp(x) kv(v, x).",
    source=_SOURCE)
j0 = special("j0", lambda y, x: negative(j1(x)), domain="real",
             says="Bessel function of the first kind of order 0.", torch="torch.special.bessel_j0")
j1 = special("j1", lambda y, x: _j1_slope(y, x), domain="real",
             says="Bessel function of the first kind of order 1.", torch="torch.special.bessel_j1")
y0 = special("y0", lambda y, x: negative(y1(x)), domain="positive",
             says="Bessel function of the second kind of order 0.", torch="torch.special.bessel_y0")
y1 = special("y1", lambda y, x: _less_leading(y0(x), divide(y, x)), domain="positive",
             says="Bessel function of the second kind of order 1.", torch="torch.special.bessel_y1")
i0 = special("i0", lambda y, x: i1(x), domain="real",
             says="Modified Bessel function of the first kind of order 0.", torch="torch.special.i0")
i1 = special("i1", lambda y, x: _i1_slope(y, x), domain="real",
             says="Modified Bessel function of the first kind of order 1.", torch="torch.special.i1")
i0e = special("i0e", lambda y, x: by_quotient(y, c(0.0), x, 1, lambda x: subtract(i1e(x), _without_growth(x, y))), domain="nonzero",
              says="Scaled modified Bessel function exp(-abs(x)) i0(x).", torch="torch.special.i0e")
i1e = special("i1e", lambda y, x: by_quotient(y, c(1.0), x, 1, lambda x: subtract(_i1e_slope(y, x), _without_growth(x, y))), domain="nonzero",
              says="Scaled modified Bessel function exp(-abs(x)) i1(x).", torch="torch.special.i1e")
k0 = special("k0", lambda y, x: negative(k1(x)), domain="positive",
             says="Modified Bessel function of the second kind of order 0.", torch="torch.special.modified_bessel_k0")
k1 = special("k1", lambda y, x: negative(add(k0(x), divide(y, x))), domain="positive",
             says="Modified Bessel function of the second kind of order 1.", torch="torch.special.modified_bessel_k1")
k0e = special("k0e", lambda y, x: by_quotient(y, c(0.0), x, -1, lambda x: _less_leading(y, k1e(x))), domain="positive",
              says="Scaled modified Bessel function exp(x) k0(x).", torch="torch.special.scaled_modified_bessel_k0")
k1e = special("k1e", lambda y, x: by_quotient(y, c(1.0), x, -1, lambda x: _less_leading(y, add(k0e(x), divide(y, x)))), domain="positive",
              says="Scaled modified Bessel function exp(x) k1(x).", torch="torch.special.scaled_modified_bessel_k1")
owens_t = special(
    "owens_t", lambda y, h, a: scaled(-0.5 / math.sqrt(2 * math.pi), multiply(exp(scaled(-0.5, square(promoted(h, y)))), erf(scaled(math.sqrt(0.5), _both(a, h))))),
    lambda y, h, a: multiply(scaled(0.5 / math.pi, exp(scaled(-0.5, add(square(promoted(h, y)), square(_both(a, h)))))), reciprocal(add(c(1.0), square(promoted(a, y))))),
    domain="real", operands=("h", "a"), says="Owen's T function.", source="Owen (1956).")
# fmt: on
