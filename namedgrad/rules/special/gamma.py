"""The gamma function, its logarithm and its incomplete integrals, differentiable in the shape parameter too.

The incomplete function is the integral of the density ``x**(a - 1) exp(-x) / gamma(a)``.  Its derivatives in ``a`` are
integrals of the same density times a polynomial in log x, one kernel for every order; those in ``x`` are derivatives of
the density.  An inverse is differentiated implicitly.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from namedgrad.array import DimArray
from namedgrad.primitive import elementwise, operation, sample
from namedgrad.rules.elementwise import c, divide, isinf, less, log, logical_and, ordered, power, square
from namedgrad.rules.special.declare import (
    FAMILY,
    constant_in,
    inverse,
    is_formula,
    of_exponential,
    scaled,
    special,
    with_slopes,
)
from namedgrad.rules.structure import (
    add,
    equal,
    isfinite,
    known_finite,
    multiply,
    negative,
    not_equal,
    scale,
    select,
    subtract,
    where,
)


def psi(n: int) -> Callable[[DimArray], DimArray]:
    """The polygamma function of order ``n``."""
    return (lambda x: polygamma.two(c(n), x)) if n else digamma


# fmt: off
digamma = special(
    "digamma", lambda y, x: psi(1)(x),
    domain="positive", says="Digamma function ψ, the derivative of log Γ.", torch="torch.special.digamma")
gammaln = special(
    "gammaln", lambda y, x: digamma(x),
    domain="positive", says="Logarithm of the absolute value of the gamma function.", torch="torch.special.gammaln, torch.lgamma")
loggamma = special(
    "loggamma", lambda y, x: digamma(x),
    domain="positive", says="Principal branch of the logarithm of the gamma function, for complex numbers too.")
gamma = special(
    "gamma", lambda y, x: multiply(y, digamma(x)),
    domain="positive", says="Gamma function Γ.")
polygamma = special(
    "polygamma", constant_in("the order n", "polygamma(n, x)"), lambda y, n, x: polygamma(add(n, c(1)), x),
    domain=("order", "positive"), operands=("n", "x"), says="Derivative of order n of the digamma function.",
    torch="torch.special.polygamma",
    source="For complex x by recurrence and the asymptotic series, DLMF 5.15; n is then one number.")
# fmt: on


@operation(sample("above_three(a,b)", d=3), sample("positive(a,b)", d=1), family=FAMILY)
def multigammaln(x: DimArray, d: int) -> DimArray:
    """Logarithm of the multivariate gamma function of dimension ``d``.

    Parameters
    ----------
    x : DimArray
        Larger than ``(d - 1) / 2``.
    d : int
        At least 1.

    Returns
    -------
    DimArray

    Raises
    ------
    ValueError
        If ``d`` is not a whole number of 1 or more.

    Notes
    -----
    The sum of ``gammaln(x + (1 - j) / 2)`` for j from 1 to d, plus d (d - 1) / 4 log π; so is the derivative of
    digamma functions. SciPy: :obj:`scipy.special.multigammaln`; PyTorch: ``torch.special.multigammaln``.

    Examples
    --------
    >>> import math, namedgrad as ng
    >>> math.isclose(ng.multigammaln(ng.DimArray(1.0, ()), 2).item(), math.log(math.pi))
    True
    """
    if d < 1 or d != int(d):
        raise ValueError(f"multigammaln: d={d!r} counts dimensions; give 1, 2, 3 or more")
    out = gammaln(x)
    for j in range(2, int(d) + 1):
        out = add(out, gammaln(add(x, c((1 - j) / 2))))
    return add(out, c(d * (d - 1) / 4 * math.log(math.pi))) if d > 1 else out


# ------------------------------------------------------------------------------------------------ incomplete


@functools.cache
def _density(n: int, i: int = 0) -> Callable[[DimArray, DimArray], DimArray]:
    """The n-th derivative in ``a`` of ``x**(a - 1 - i) exp(-x) / gamma(a)``, from those of its logarithm.

    With ``gamma(a - i)`` that would be a density, and have poles where ``a`` is 1.
    """

    def in_x(y: DimArray, a: DimArray, x: DimArray) -> DimArray:  # nothing is divided by x
        rise = scale(subtract(a, c(1.0 + i)), _density(n, i + 1)(a, x))
        return subtract(add(rise, scaled(n, _density(n - 1, i + 1)(a, x))) if n else rise, y)

    def value(a: DimArray, x: DimArray) -> DimArray:
        y = _density(0, i)(a, x)
        turn = digamma(a)
        slopes = [subtract(outweighed(log(x), y), turn), *(negative(psi(k)(a)) for k in range(1, n))]
        usual = multiply(y, of_exponential(slopes))
        if is_formula(y) or known_finite(turn):
            return usual
        at_0 = scaled(n, _density(n - 1, i + 1)(add(a, c(1.0)), x))  # by gamma(a) = gamma(a + 1) / a
        return where(equal(a, c(0.0)), at_0, usual)

    partials = (lambda y, a, x: _density(n + 1, i)(a, x), in_x)
    if n:
        return with_slopes(value, *partials)
    return ordered("gamma_flattened", (i,), *partials) if i else elementwise("gamma_density", *partials)


def outweighed(logarithm: DimArray, power: DimArray) -> DimArray:
    """A logarithm, 0 where it is infinite and a power is 0, which outweighs it."""
    if is_formula(power) or known_finite(logarithm):
        return logarithm
    return where(logical_and(equal(power, c(0.0)), isinf(logarithm)), c(0.0), logarithm)


density = _density(0)


@functools.cache
def gammainc_order(n: int) -> Callable[..., DimArray]:
    """The n-th derivative of the regularized lower incomplete gamma function in ``a``."""
    return ordered("gammainc_order", (n,), lambda y, a, x: gammainc_order(n + 1)(a, x), lambda y, a, x: _density(n)(a, x))


# ------------------------------------------------------------------------------------------------ its inverse

NEAR = 1e-30  # the density is its first term there to all digits, and the next power of x does not overflow yet


def implicit(x: DimArray, slope: DimArray, dens: DimArray) -> DimArray:
    """The derivative of an inverse in a parameter; 0 where the inverse is 0, or infinite, for all parameters."""
    if is_formula(x):
        return negative(divide(slope, dens))
    return negative(select(logical_and(not_equal(x, c(0)), isfinite(x)), divide(slope, dens)))


def bend_at_0(bend: DimArray, a: DimArray, norm: DimArray, p: DimArray, x: DimArray) -> DimArray:
    """The second derivative of an inverse ``x`` of ``p``, near 0 that of the inverse of ``x**a / (a norm)``."""
    if is_formula(x):
        return bend
    order = divide(subtract(c(1.0), scaled(2.0, a)), a)  # a power of p, which may be too small for x
    fall = power(multiply(p, multiply(a, norm)), order)
    there = multiply(subtract(c(1.0), a), multiply(square(norm), fall))
    return where(logical_and(less(x, c(NEAR)), less(a, c(1))), there, bend)


def _decay(a: DimArray, x: DimArray) -> DimArray:
    """Minus the derivative in ``x`` of the logarithm of the density."""
    return subtract(c(1.0), scale(subtract(a, c(1.0)), inverse(x)))


def _shift_in_x(s: DimArray, a: DimArray, x: DimArray) -> DimArray:
    return subtract(scale(s, _decay(a, x)), subtract(log(x), digamma(a)))


inverse_shift = with_slopes(
    lambda a, x: implicit(x, gammainc_order(1)(a, x), density(a, x)),
    lambda s, a, x: subtract(implicit(x, gammainc_order(2)(a, x), density(a, x)), scale(s, subtract(log(x), digamma(a)))),
    _shift_in_x,
)


def _steepness(sign: int) -> Callable[..., DimArray]:
    """The derivative of an inverse ``x`` in its last operand, of which the partials know that x depends on the others.

    Those in x would lose the limits at its ends.
    """

    def bend(_: DimArray, a: DimArray, p: DimArray, x: DimArray) -> DimArray:
        usual = multiply(square(inverse(density(a, x))), _decay(a, x))
        return bend_at_0(usual, a, gamma(a), p if sign > 0 else subtract(c(1.0), p), x)

    return with_slopes(
        lambda a, p, x: inverse(density(a, x)) if sign > 0 else negative(inverse(density(a, x))),
        lambda y, a, p, x: scale(y, _shift_in_x(inverse_shift(a, x), a, x)),
        bend,
        None,
    )


inverse_rise, inverse_fall = _steepness(1), _steepness(-1)
_SOURCE = "The derivative in a is an integral of the density times log(t) - ψ(a), on the side of the smaller tail."
# fmt: off
gammainc = special(
    "gammainc", lambda y, a, x: gammainc_order(1)(a, x), lambda y, a, x: density(a, x),
    domain="positive", operands=("a", "x"), says="Regularized lower incomplete gamma function P(a, x).",
    torch="torch.special.gammainc", source=_SOURCE)
gammaincc = special(
    "gammaincc", lambda y, a, x: negative(gammainc_order(1)(a, x)), lambda y, a, x: negative(density(a, x)),
    domain="positive", operands=("a", "x"), says="Regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x).",
    torch="torch.special.gammaincc", source=_SOURCE)
gammaincinv = special(
    "gammaincinv", lambda x, a, p: inverse_shift(a, x), lambda x, a, p: inverse_rise(a, p, x),
    domain=("positive", "fraction"), operands=("a", "p"), says="Inverse in x of the lower function: the x with P(a, x) = p.",
    source="Differentiated implicitly.")
gammainccinv = special(
    "gammainccinv", lambda x, a, q: inverse_shift(a, x), lambda x, a, q: inverse_fall(a, q, x),
    domain=("positive", "fraction"), operands=("a", "q"), says="Inverse in x of the upper function: the x with Q(a, x) = q.",
    source="Differentiated implicitly.")
chdtr = special(
    "chdtr", lambda y, v, x: scaled(0.5, gammainc_order(1)(scaled(0.5, v), scaled(0.5, x))),
    lambda y, v, x: scaled(0.5, density(scaled(0.5, v), scaled(0.5, x))),
    domain="positive", operands=("v", "x"), says="Distribution function of the chi-square distribution with v degrees of freedom.")
chdtrc = special(
    "chdtrc", lambda y, v, x: scaled(-0.5, gammainc_order(1)(scaled(0.5, v), scaled(0.5, x))),
    lambda y, v, x: scaled(-0.5, density(scaled(0.5, v), scaled(0.5, x))),
    domain="positive", operands=("v", "x"), says="Survival function of the chi-square distribution with v degrees of freedom.")
# fmt: on
