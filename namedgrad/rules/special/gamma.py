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
from namedgrad.rules.elementwise import c, divide, log, ordered
from namedgrad.rules.special.declare import FAMILY, constant_in, inverse, scaled, special
from namedgrad.rules.structure import add, multiply, negative, not_equal, scale, select, subtract


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

    Returns
    -------
    DimArray

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
    out = gammaln(x)
    for j in range(2, d + 1):
        out = add(out, gammaln(add(x, c((1 - j) / 2))))
    return add(out, c(d * (d - 1) / 4 * math.log(math.pi))) if d > 1 else out


# ------------------------------------------------------------------------------------------------ incomplete


@functools.cache
def _flattened(i: int) -> Callable[[DimArray, DimArray], DimArray]:
    """``x**(a - 1 - i) exp(-x) / gamma(a)``: with ``gamma(a - i)`` it would be a density, and have poles where ``a`` is 1."""
    return ordered("gamma_flattened", (i,), _in_a, _in_x(i))


def _in_a(y: DimArray, a: DimArray, x: DimArray) -> DimArray:
    return multiply(y, subtract(log(x), digamma(a)))


def _in_x(i: int) -> Callable[[DimArray, DimArray, DimArray], DimArray]:
    return lambda y, a, x: subtract(scale(subtract(a, c(1.0 + i)), _flattened(i + 1)(a, x)), y)


density = elementwise("gamma_density", _in_a, _in_x(0))


@functools.cache
def _density_order(n: int) -> Callable[[DimArray, DimArray], DimArray]:
    """The n-th derivative of the density in ``a``, from those of its logarithm."""

    def value(a: DimArray, x: DimArray) -> DimArray:
        slopes = [subtract(log(x), digamma(a)), *(negative(psi(k)(a)) for k in range(1, n))]
        found = [c(1.0)]
        for k in range(n):
            parts = [multiply(c(float(math.comb(k, i))), multiply(slopes[i], found[k - i])) for i in range(k + 1)]
            found.append(functools.reduce(add.two, parts))
        return multiply(density(a, x), found[n])

    return value


@functools.cache
def _lower(n: int) -> Callable[..., DimArray]:
    """The n-th derivative of the regularized lower incomplete gamma function in ``a``."""
    return ordered("gammainc_order", (n,), lambda y, a, x: _lower(n + 1)(a, x), lambda y, a, x: _density_order(n)(a, x))


def implicit(x: DimArray, slope: DimArray, dens: DimArray) -> DimArray:
    """The derivative of an inverse in a parameter; 0 where the inverse is 0 for all parameters."""
    return negative(select(not_equal(x, c(0)), divide(slope, dens)))


_SOURCE = "The derivative in a is an integral of the density times log(t) - ψ(a), on the side of the smaller tail."
# fmt: off
gammainc = special(
    "gammainc", lambda y, a, x: _lower(1)(a, x), lambda y, a, x: density(a, x),
    domain="positive", operands=("a", "x"), says="Regularized lower incomplete gamma function P(a, x).",
    torch="torch.special.gammainc", source=_SOURCE)
gammaincc = special(
    "gammaincc", lambda y, a, x: negative(_lower(1)(a, x)), lambda y, a, x: negative(density(a, x)),
    domain="positive", operands=("a", "x"), says="Regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x).",
    torch="torch.special.gammaincc", source=_SOURCE)
gammaincinv = special(
    "gammaincinv", lambda x, a, p: implicit(x, _lower(1)(a, x), density(a, x)), lambda x, a, p: inverse(density(a, x)),
    domain=("positive", "fraction"), operands=("a", "p"), says="Inverse in x of the lower function: the x with P(a, x) = p.",
    source="Differentiated implicitly.")
gammainccinv = special(
    "gammainccinv", lambda x, a, q: implicit(x, _lower(1)(a, x), density(a, x)),
    lambda x, a, q: negative(inverse(density(a, x))),
    domain=("positive", "fraction"), operands=("a", "q"), says="Inverse in x of the upper function: the x with Q(a, x) = q.",
    source="Differentiated implicitly.")
chdtr = special(
    "chdtr", lambda y, v, x: scaled(0.5, _lower(1)(scaled(0.5, v), scaled(0.5, x))),
    lambda y, v, x: scaled(0.5, density(scaled(0.5, v), scaled(0.5, x))),
    domain="positive", operands=("v", "x"), says="Distribution function of the chi-square distribution with v degrees of freedom.")
chdtrc = special(
    "chdtrc", lambda y, v, x: scaled(-0.5, _lower(1)(scaled(0.5, v), scaled(0.5, x))),
    lambda y, v, x: scaled(-0.5, density(scaled(0.5, v), scaled(0.5, x))),
    domain="positive", operands=("v", "x"), says="Survival function of the chi-square distribution with v degrees of freedom.")
# fmt: on
