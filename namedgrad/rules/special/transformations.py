"""Power transformations of Box and Cox, whose derivatives have holes where an exponent is 0, and functions like them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from namedgrad.array import DimArray, constant
from namedgrad.backends import may_look
from namedgrad.primitive import elementwise, operation, sample
from namedgrad.rules.elementwise import (
    absolute_real,
    c,
    clip,
    divide,
    exp,
    greater,
    isinf,
    less,
    log,
    log1p,
    logical_and,
    logical_or,
    power,
    promoted,
    reciprocal,
    sign,
    sin,
    square,
)
from namedgrad.rules.special.declare import FAMILY, ByValue, derivative, is_formula, scaled, special, with_slopes
from namedgrad.rules.special.entropy import xlog1py
from namedgrad.rules.structure import add, equal, known_finite, known_true, multiply, negative, scale, subtract, where
from namedgrad.trace import innermost

FAR = 1e20  #: beside it 1 is lost


def _by_exponent(n: int, logarithm: DimArray, exponent: DimArray) -> DimArray:
    """The n-th derivative of ``(exp(exponent * logarithm) - 1) / exponent``, also where the logarithm is infinite.

    There the power is 0 or infinite; an infinite one outweighs the rest, and the logarithm may as well be finite.
    """
    def near(inner: DimArray) -> DimArray:
        factor = functools.reduce(multiply, [inner] * (n - 1), square(inner))
        return multiply(factor, derivative("exprel_order", n)(multiply(exponent, inner)))

    if is_formula(logarithm) or known_finite(logarithm):
        return near(logarithm)
    limit = float(np.finfo(logarithm.dtype).max) ** 0.6  # whose square is infinite
    ends = isinf(logarithm)
    vanishes = logical_and(ends, less(multiply(sign(logarithm), exponent), c(0.0)))
    alone = scaled(float(math.factorial(n)), functools.reduce(multiply, [reciprocal(negative(exponent))] * (n + 1)))
    return where(vanishes, alone, near(where(vanishes, c(-1.0), clip(logarithm, -limit, limit))))


@functools.cache
def _in_exponent(n: int, log_of: Callable[[DimArray], DimArray], slope: Callable[..., DimArray]) -> Callable[..., DimArray]:
    """The same of ``x`` with such a logarithm and such a slope, ``x**(exponent - 1)``."""
    return with_slopes(
        lambda x, k: _by_exponent(n, log_of(x), k),
        lambda y, x, k: _outweighing(slope(x, k), log_of(x), n),
        lambda y, x, k: _in_exponent(n + 1, log_of, slope)(x, k),
    )


def _outweighing(steep: DimArray, logarithm: DimArray, n: int = 1) -> DimArray:
    """A power times the n-th one of a logarithm, which is 0 where the power is."""
    gone = logical_and(equal(steep, c(0.0)), isinf(logarithm))
    return functools.reduce(multiply, [where(gone, c(0.0), logarithm)] * n, steep)


def _slope(x: DimArray, k: DimArray) -> DimArray:
    return power(x, subtract(k, c(1.0)))


_slope_1p: Callable[..., DimArray] = with_slopes(
    lambda x, k: exp(xlog1py(subtract(k, c(1.0)), x)),
    lambda y, x, k: scale(subtract(k, c(1.0)), _slope_1p(x, subtract(k, c(1.0)))),
    lambda y, x, k: _outweighing(y, log1p(x)),
)


def _of_inverse(x: DimArray, exponent: DimArray) -> DimArray:
    """The derivative of ``log(1 + exponent * x) / exponent``."""
    return multiply(square(x), derivative("log1p_ratio_order", 1)(_inner(exponent, x)))


def _inner(exponent: DimArray, x: DimArray) -> DimArray:
    """Their product, 0 where the exponent is, for which the transformation is a logarithm."""
    product = multiply(exponent, x)
    return product if is_formula(x) or known_finite(product) else where(equal(exponent, c(0.0)), c(0.0), product)


def _stretch(y: DimArray, x: DimArray, exponent: DimArray) -> DimArray:
    """``(1 + exponent * x)**(1 / exponent - 1)`` from ``y``, the power that is higher by 1; at its ends that is lost."""
    base = add(c(1.0), _inner(exponent, x))
    quotient = divide(y, base)
    if is_formula(x) or (known_finite(quotient) and known_finite(base)):
        return quotient
    ends = logical_or(equal(base, c(0.0)), isinf(base))
    return where(ends, power(base, subtract(reciprocal(exponent), c(1.0))), quotient)


def _inverse_in_exponent(y: DimArray, x: DimArray, exponent: DimArray) -> DimArray:
    """The derivative of ``y``, the inverse; where its base is 0 a power of it outweighs its logarithm."""
    inner, base = multiply(y, _of_inverse(x, exponent)), _inner(exponent, x)
    if is_formula(x) or (known_finite(inner) and known_true(less(innermost(base), c(FAR)))):
        return inner
    zero, far = equal(base, c(-1.0)), greater(base, c(FAR))
    inner = where(far, multiply(y, _of_far_inverse(where(far, x, c(FAR)), where(far, exponent, c(1.0)))), inner)
    inner = where(zero, multiply(_stretch(y, x, exponent), divide(x, exponent)), inner)
    return where(logical_and(equal(y, c(0.0)), isinf(x)), c(0.0), inner)


def _of_far_inverse(x: DimArray, exponent: DimArray) -> DimArray:
    """As :func:`_of_inverse`, where ``exponent * x`` is much larger than 1; it and its square may be too large."""
    size = add(log(absolute_real(x)), log(absolute_real(exponent)))
    return divide(divide(subtract(c(1.0), size), exponent), exponent)


def _more(y: DimArray, x: DimArray, exponent: DimArray) -> DimArray:
    """``1 + y`` of the inverse less 1, whose digits are those of the inverse where that is small."""
    out = add(c(1.0), y)
    small = less(innermost(out), c(0.1))
    return out if may_look(small.raw) and not np.any(small.raw) else where(small, inv_boxcox(x, exponent), out)


_exprel_slope = elementwise("exprel_slope", lambda s, x, y: derivative("exprel_order", 2)(x), None)
_TWO = ("x", "lmbda")
# fmt: off
exp10 = special(
    "exp10", lambda y, x: scaled(math.log(10), y), domain="real", says="Ten to the power x.")
exprel = special(
    "exprel", lambda y, x: _exprel_slope(x, innermost(y)), domain="real", says="Relative exponential, (exp(x) - 1) / x.", form=ByValue)
cosm1 = special(
    "cosm1", lambda y, x: negative(sin(x)), domain="real", says="cos(x) - 1, accurate near 0.")
boxcox = special(
    "boxcox", lambda y, x, k: _slope(x, k), lambda y, x, k: _in_exponent(1, log, _slope)(promoted(x, y), k),
    domain=("positive", "real"), operands=_TWO, says="Transformation of Box and Cox, (x**lmbda - 1) / lmbda or log(x).")
boxcox1p = special(
    "boxcox1p", lambda y, x, k: _slope_1p(x, k), lambda y, x, k: _in_exponent(1, log1p, _slope_1p)(promoted(x, y), k),
    domain=("positive", "real"), operands=_TWO, says="Transformation of Box and Cox of 1 + x.")
inv_boxcox = special(
    "inv_boxcox", lambda y, x, k: _stretch(y, x, k), lambda y, x, k: _inverse_in_exponent(y, promoted(x, y), k),
    domain="fraction", operands=_TWO, says="Inverse of the transformation of Box and Cox, (1 + lmbda x)**(1 / lmbda) or exp(x).")
inv_boxcox1p = special(
    "inv_boxcox1p", lambda y, x, k: _stretch(_more(y, x, k), x, k), lambda y, x, k: _inverse_in_exponent(_more(y, x, k), promoted(x, y), k),
    domain="fraction", operands=_TWO, says="Inverse of the transformation of Box and Cox of 1 + x.")
# fmt: on


def _lambert_slope(y: DimArray, z: DimArray) -> DimArray:
    """One over ``z + exp(y)``, whose parts at infinity may not add up."""
    if is_formula(z) or known_finite(z):
        return reciprocal(add(z, exp(y)))
    far = isinf(z)
    return where(far, c(0.0), reciprocal(add(where(far, c(1.0), z), exp(where(far, c(0.0), y)))))


_lambert = elementwise("lambert_branch", None, lambda y, k, z: _lambert_slope(y, z))


@operation(sample("positive(a,b)"), sample("complex(a,b)", k=1), sample("complex(b)", k=-1), family=FAMILY)
def lambertw(z: DimArray, k: int = 0) -> DimArray:
    """Lambert's function W, the inverse of ``w exp(w)``.

    Parameters
    ----------
    z : DimArray or scalar
        Real or complex.
    k : int
        The branch: 0 is the principal one; -1 is real between ``-1 / e`` and 0.

    Returns
    -------
    DimArray
        Complex.

    Notes
    -----
    The derivative is ``1 / (z + exp(w))``. SciPy: :obj:`scipy.special.lambertw`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.lambertw(ng.DimArray([0.0, 1.0], ("x",))).data.real.round(4)
    array([0.    , 0.5671])
    """
    return _lambert.two(c(k), constant(z))
