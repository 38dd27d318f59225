"""Orthogonal polynomials: a derivative is a polynomial of the degree below, of other parameters (DLMF 18.9)."""

from __future__ import annotations

import functools
from collections.abc import Callable

from namedgrad.array import DimArray
from namedgrad.rules.elementwise import absolute_real, c, maximum, ordered, power, sign
from namedgrad.rules.special.declare import constant_in, scaled, special
from namedgrad.rules.structure import add, multiply, not_equal, scale, select, subtract

_ONE, _TWO = c(1), c(2)


def _degree(name: str) -> Callable[..., DimArray]:
    return constant_in("the degree n", f"{name}(n, ...)")


def _parameter(name: str, what: str) -> Callable[..., DimArray]:
    return constant_in(f"the parameter {what}", name)


def _below(n: DimArray) -> DimArray:
    return subtract(n, _ONE)


def _slope(n: DimArray, factor: DimArray, lower: DimArray) -> DimArray:
    """A factor times a polynomial of the degree below; SciPy's of degree -1 are not 0 everywhere."""
    return multiply(factor, select(not_equal(n, c(0)), lower))


def _slope_of_legendre(n: DimArray, factor: DimArray, x: DimArray) -> DimArray:
    """Of the polynomials of degree n and -n - 1, which are the same (DLMF 14.9.5)."""
    n = maximum(n, subtract(c(-1), n))
    return _slope(n, factor, eval_gegenbauer(_below(n), c(1.5), x))


def _slope_of_second(n: DimArray, factor: float, x: DimArray) -> DimArray:
    """Of Chebyshev polynomials of the second kind, sin((n + 1) t) / sin(t): odd in n + 1."""
    turns = add(n, _ONE)
    degree = subtract(absolute_real(turns), _ONE)
    return _slope(degree, scaled(factor, sign(turns)), select(not_equal(turns, c(0)), eval_gegenbauer(_below(degree), _TWO, x)))


def _between(x: DimArray) -> DimArray:
    """The place between -1 and 1 of one between 0 and 1."""
    return subtract(scaled(2.0, x), _ONE)


@functools.cache
def _rest(j: int) -> Callable[..., DimArray]:
    """The j-th derivative of an associated Legendre function over ``(1 - x**2)**(|m| / 2)``."""
    return ordered("lpmv_rest", (j,), _parameter("lpmv", "m"), _parameter("lpmv", "v"), lambda y, m, v, x: _rest(j + 1)(m, v, x))


def _associated_slope(m: DimArray, v: DimArray, x: DimArray) -> DimArray:
    order, below = absolute_real(m), multiply(subtract(_ONE, x), add(_ONE, x))
    half = scaled(0.5, order)
    falling = scale(order, scale(_rest(0)(m, v, x), multiply(x, power(below, subtract(half, _ONE)))))
    return subtract(scale(power(below, half), _rest(1)(m, v, x)), falling)


# fmt: off
eval_jacobi = special(
    "eval_jacobi", _degree("eval_jacobi"), _parameter("eval_jacobi", "alpha"), _parameter("eval_jacobi", "beta"),
    lambda y, n, a, b, x: _slope(n, scaled(0.5, add(add(n, _ONE), add(a, b))), eval_jacobi(_below(n), add(a, _ONE), add(b, _ONE), x)),
    domain=("order", "count", "count", "real"), operands=("n", "alpha", "beta", "x"), says="Jacobi polynomial of degree n.")
eval_gegenbauer = special(
    "eval_gegenbauer", _degree("eval_gegenbauer"), _parameter("eval_gegenbauer", "alpha"),
    lambda y, n, a, x: _slope(n, scaled(2.0, a), eval_gegenbauer(_below(n), add(a, _ONE), x)),
    domain=("order", "count", "real"), operands=("n", "alpha", "x"), says="Gegenbauer polynomial of degree n.")
eval_legendre = special(
    "eval_legendre", _degree("eval_legendre"),
    lambda y, n, x: _slope_of_legendre(n, _ONE, x),
    domain=("order", "real"), operands=("n", "x"), says="Legendre polynomial of degree n.",
    torch="torch.special.legendre_polynomial_p(x, n)")
eval_chebyt = special(
    "eval_chebyt", _degree("eval_chebyt"), lambda y, n, x: _slope(n, n, eval_chebyu(_below(n), x)),
    domain=("order", "real"), operands=("n", "x"), says="Chebyshev polynomial of the first kind and degree n.",
    torch="torch.special.chebyshev_polynomial_t(x, n)")
eval_chebyu = special(
    "eval_chebyu", _degree("eval_chebyu"), lambda y, n, x: _slope_of_second(n, 2.0, x),
    domain=("order", "real"), operands=("n", "x"), says="Chebyshev polynomial of the second kind and degree n.",
    torch="torch.special.chebyshev_polynomial_u(x, n)")
eval_genlaguerre = special(
    "eval_genlaguerre", _degree("eval_genlaguerre"), _parameter("eval_genlaguerre", "alpha"),
    lambda y, n, a, x: _slope(n, c(-1), eval_genlaguerre(_below(n), add(a, _ONE), x)),
    domain=("order", "count", "real"), operands=("n", "alpha", "x"), says="Generalized Laguerre polynomial of degree n.")
eval_laguerre = special(
    "eval_laguerre", _degree("eval_laguerre"), lambda y, n, x: _slope(n, c(-1), eval_genlaguerre(_below(n), _ONE, x)),
    domain=("order", "real"), operands=("n", "x"), says="Laguerre polynomial of degree n.",
    torch="torch.special.laguerre_polynomial_l(x, n)")
eval_hermite = special(
    "eval_hermite", _degree("eval_hermite"),
    lambda y, n, x: _slope(n, scaled(2.0, n), eval_hermite(_below(n), x)),
    domain=("order", "real"), operands=("n", "x"), says="Hermite polynomial of degree n, of the weight exp(-x²).",
    torch="torch.special.hermite_polynomial_h(x, n)")
eval_hermitenorm = special(
    "eval_hermitenorm", _degree("eval_hermitenorm"),
    lambda y, n, x: _slope(n, n, eval_hermitenorm(_below(n), x)),
    domain=("order", "real"), operands=("n", "x"), says="Hermite polynomial of degree n, of the weight exp(-x²/2).",
    torch="torch.special.hermite_polynomial_he(x, n)")
eval_sh_jacobi = special(
    "eval_sh_jacobi", _degree("eval_sh_jacobi"), _parameter("eval_sh_jacobi", "p"), _parameter("eval_sh_jacobi", "q"),
    lambda y, n, p, q, x: _slope(n, n, eval_sh_jacobi(_below(n), add(p, _TWO), add(q, _ONE), x)),
    domain=("order", "above_count", "count", "real"), operands=("n", "p", "q", "x"), says="Shifted Jacobi polynomial of degree n.")
eval_sh_legendre = special(
    "eval_sh_legendre", _degree("eval_sh_legendre"),
    lambda y, n, x: _slope_of_legendre(n, _TWO, _between(x)),
    domain=("order", "real"), operands=("n", "x"), says="Shifted Legendre polynomial of degree n, that of 2 x - 1.")
eval_sh_chebyt = special(
    "eval_sh_chebyt", _degree("eval_sh_chebyt"), lambda y, n, x: _slope(n, scaled(2.0, n), eval_sh_chebyu(_below(n), x)),
    domain=("order", "real"), operands=("n", "x"), says="Shifted Chebyshev polynomial of the first kind and degree n, that of 2 x - 1.",
    torch="torch.special.shifted_chebyshev_polynomial_t(x, n)")
eval_sh_chebyu = special(
    "eval_sh_chebyu", _degree("eval_sh_chebyu"), lambda y, n, x: _slope_of_second(n, 4.0, _between(x)),
    domain=("order", "real"), operands=("n", "x"), says="Shifted Chebyshev polynomial of the second kind and degree n, that of 2 x - 1.",
    torch="torch.special.shifted_chebyshev_polynomial_u(x, n)")
eval_chebyc = special(
    "eval_chebyc", _degree("eval_chebyc"), lambda y, n, x: _slope(n, n, eval_chebys(_below(n), x)),
    domain=("order", "real"), operands=("n", "x"), says="Chebyshev polynomial of the first kind on [-2, 2] and degree n, 2 T(x / 2).")
eval_chebys = special(
    "eval_chebys", _degree("eval_chebys"), lambda y, n, x: _slope_of_second(n, 1.0, scaled(0.5, x)),
    domain=("order", "real"), operands=("n", "x"), says="Chebyshev polynomial of the second kind on [-2, 2] and degree n, U(x / 2).")
lpmv = special(
    "lpmv", _parameter("lpmv", "m"), _parameter("lpmv", "v"), lambda y, m, v, x: _associated_slope(m, v, x),
    domain=("order", "count", "unit"), operands=("m", "v", "x"), says="Associated Legendre function of the first kind, of whole order m and degree v.",
    source="DLMF 14.6.1, of the function over (1 - x²)^(m / 2); negative orders after DLMF 14.9.3.")
# fmt: on
