"""Distribution functions and their inverses, differentiable in all parameters that are no counts.

Each is an incomplete gamma or beta function.  Where both tails matter, that of the beta distribution takes the odds
``r = x / (1 - x)``, from which ``x`` and ``1 - x`` come to all digits.  Counts are rounded down, as SciPy does: in them
a function is constant almost everywhere.  Inverses are differentiated implicitly.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from namedgrad.array import DimArray
from namedgrad.primitive import elementwise
from namedgrad.rules.elementwise import (
    c,
    divide,
    exp,
    floor,
    greater,
    hypot,
    ordered,
    power,
    reciprocal,
    sqrt,
    square,
)
from namedgrad.rules.special import beta as of_beta
from namedgrad.rules.special import gamma as of_gamma
from namedgrad.rules.special.beta import beta
from namedgrad.rules.special.declare import Function, constant_in, is_formula, of_exponential, scaled, special
from namedgrad.rules.special.gamma import implicit
from namedgrad.rules.special.normal import ndtri
from namedgrad.rules.structure import add, cast, isfinite, multiply, negative, scale, select, subtract, where
from namedgrad.trace import innermost

_ONE = c(1.0)


def halved(x: DimArray) -> DimArray:
    """Half of an array."""
    return scaled(0.5, x)


def _in_double(slope: Function) -> Function:
    """A difference of what nearly cancels, in double precision."""

    def f(*xs: DimArray) -> DimArray:
        dtype = np.result_type(*(x.dtype for x in xs))
        return cast(slope(*(cast(x, np.float64) for x in xs)), dtype) if dtype == np.float32 else slope(*xs)

    return f


# ------------------------------------------------------------------------------------------------ of odds


@functools.cache
def _odds(m: int, n: int) -> Function:
    """The derivative of orders ``m`` in ``a`` and ``n`` in ``b`` of the incomplete beta function at ``r / (1 + r)``."""
    return ordered(
        "betaprime_order",
        (m, n),
        lambda y, a, b, r: _odds(m + 1, n)(a, b, r),
        lambda y, a, b, r: _odds(m, n + 1)(a, b, r),
        lambda y, a, b, r: odds_density(m, n, a, b, r),
    )


def odds_density(m: int, n: int, a: DimArray, b: DimArray, r: DimArray) -> DimArray:
    """The same of its derivative in ``r``."""
    if is_formula(r):
        return divide(multiply(power(r, subtract(a, _ONE)), power(add(_ONE, r), negative(add(a, b)))), beta(a, b))
    rest = reciprocal(add(_ONE, r))
    found, _ = _from_the_smaller_side(m, n, a, b, r, rest)
    return scale(scale(found, rest), rest)


def odds_flow(a: DimArray, b: DimArray, r: DimArray) -> DimArray:
    """The derivative of that function in the logarithm of ``r``."""
    if is_formula(r):
        return multiply(r, odds_density(0, 0, a, b, r))
    found, share = _from_the_smaller_side(0, 0, a, b, r, reciprocal(add(_ONE, r)))
    return scale(scale(found, share), subtract(_ONE, share))


def _from_the_smaller_side(
    m: int, n: int, a: DimArray, b: DimArray, r: DimArray, rest: DimArray
) -> tuple[DimArray, DimArray]:
    """The density of the beta distribution at ``x``, or what it is at ``1 - x``, and the smaller of the two."""
    right = greater(innermost(r), _ONE)
    share = multiply(where(right, _ONE, r), rest)
    if m == n:
        return of_beta.density_order(m, n)(where(right, b, a), where(right, a, b), share), share
    return where(right, of_beta.density_order(n, m)(b, a, share), of_beta.density_order(m, n)(a, b, share)), share


# ------------------------------------------------------------------------------------------------ Student's t


@functools.cache
def _growth(n: int) -> Function:
    """The derivative of order ``n + 1`` in ``v`` of the logarithm of the density."""

    def in_t(y: DimArray, v: DimArray, t: DimArray) -> DimArray:  # that of t (1 - t**2) / (v + t**2)**2
        w = reciprocal(hypot(sqrt(v), t))
        share, below = multiply(t, w), square(w)
        rest = multiply(multiply(share, w), subtract(below, square(share)))
        return functools.reduce(multiply, [below] * n, scaled(float((-1) ** n * math.factorial(n + 1)), rest))

    return ordered("t_growth", (n,), lambda y, v, t: _growth(n + 1)(v, t), in_t)


t_density = elementwise(
    "t_density",
    lambda y, v, t: scale(y, _growth(0)(v, t)),
    lambda y, v, t: scale(y, _t_slope(v, t)),
)


def _t_slope(v: DimArray, t: DimArray) -> DimArray:
    """The derivative in ``t`` of the logarithm of the density."""
    return negative(divide(multiply(add(v, _ONE), t), add(v, square(t))))


def _t_products(n: int, v: DimArray, t: DimArray) -> DimArray:
    """The n-th derivative in ``v`` of the density over it."""
    return of_exponential([_growth(k)(v, t) for k in range(n)])


@functools.cache
def t_drift(n: int) -> Function:
    """The n-th derivative in ``v`` of the distribution function."""
    return ordered(
        "t_drift",
        (n, 0),
        lambda y, v, t: t_drift(n + 1)(v, t),
        lambda y, v, t: scale(t_density(v, t), _t_products(n, v, t)),
    )


@functools.cache
def _t_rate(n: int) -> Function:
    """The same over the density, which may be too small for a number."""
    return ordered(
        "t_drift",
        (n, 1),
        lambda y, v, t: subtract(_t_rate(n + 1)(v, t), scale(y, _growth(0)(v, t))),
        lambda y, v, t: subtract(_t_products(n, v, t), scale(y, _t_slope(v, t))),
    )


def _t_shift(v: DimArray, t: DimArray) -> DimArray:
    """By which a quantile falls with ``v``; 0 where it is infinite, but at 0 only in value."""
    return divide(t_drift(1)(v, t), t_density(v, t)) if is_formula(t) else select(isfinite(t), _t_rate(1)(v, t))


# ------------------------------------------------------------------------------------------------ slopes of them all


def _f_odds(n: DimArray, d: DimArray, x: DimArray) -> tuple[DimArray, DimArray, DimArray]:
    return halved(n), halved(d), divide(multiply(n, x), d)


def _f_in(k: int, n: DimArray, d: DimArray, x: DimArray) -> DimArray:
    """That of the F distribution in a number of degrees of freedom, of which the odds depend on it, too.

    Both parts nearly cancel where that is large; the value is one integral of their sum.
    """
    a, b, r = _f_odds(n, d, x)
    moved = divide(odds_flow(a, b, r), d if k else n)
    slope = halved(_odds(k == 0, k == 1)(a, b, r))
    parts = subtract(slope, moved) if k else add(slope, moved)
    if is_formula(x):
        return parts
    a, b, x = map(innermost, (a, b, x))
    whole = _f_drift(a, b, x) if k else negative(_f_drift(b, a, divide(_ONE, x)))
    return _with_value(parts, halved(whole))


_f_drift = elementwise("f_drift", None, None, None)
_with_value = ordered("known_part", (0,), 1, None)


def f_density(n: DimArray, d: DimArray, x: DimArray) -> DimArray:
    """That of the F distribution."""
    return multiply(divide(n, d), odds_density(0, 0, *_f_odds(n, d, x)))


def _of_successes(k: DimArray, n: DimArray, p: DimArray) -> DimArray:
    """The density in ``p`` of more than ``k`` successes in ``n`` trials."""
    return of_beta.density(add(floor(k), _ONE), subtract(floor(n), floor(k)), p)


def _of_failures(k: DimArray, n: DimArray, p: DimArray) -> DimArray:
    """That of at most ``k`` failures before the ``n``-th success."""
    return of_beta.density(floor(n), add(floor(k), _ONE), p)


def _of_events(k: DimArray, m: DimArray) -> DimArray:
    """That in ``m`` of more than ``k`` events."""
    return of_gamma.density(add(floor(k), _ONE), m)


def _rate(f: DimArray, by: DimArray) -> DimArray:
    return negative(divide(f, by))


@functools.cache
def kolmogorov_order(n: int) -> Function:
    """The n-th derivative of Kolmogorov's distribution function."""
    return ordered("kolmogorov_order", (n,), lambda y, x: kolmogorov_order(n + 1)(x))


def _quantile_slope(z: DimArray) -> DimArray:
    """The derivative of a quantile ``z`` of the normal distribution."""
    return scaled(math.sqrt(2 * math.pi), exp(halved(square(z))))


def _complement(*slopes: Function | None) -> Sequence[Function | None]:
    """The partials of one minus a function."""
    return [f and (lambda y, *xs, f=f: negative(f(y, *xs))) for f in slopes]


_DEGREES = constant_in("df", "chndtr(x, df, nc)")
chndtr_density = elementwise(
    "chndtr_density",
    _DEGREES,
    lambda y, df, nc, x: halved(subtract(chndtr_density(add(df, c(2.0)), nc, x), y)),
    lambda y, df, nc, x: halved(subtract(chndtr_density(subtract(df, c(2.0)), nc, x), y)),
)


f_in_degrees = [_in_double(functools.partial(_f_in, k)) for k in (0, 1)]
_F = [lambda y, *xs, f=f: f(*xs) for f in (*f_in_degrees, f_density)]
_GAMMA = [
    lambda y, a, b, x: scale(of_gamma.density(b, multiply(a, x)), x),
    lambda y, a, b, x: of_gamma.gammainc_order(1)(b, multiply(a, x)),
    lambda y, a, b, x: scale(of_gamma.density(b, multiply(a, x)), a),
]
_SUCCESSES = [None, None, lambda y, k, n, p: _of_successes(k, n, p)]
_FAILURES = [None, None, lambda y, k, n, p: _of_failures(k, n, p)]
_EVENTS = [None, lambda y, k, m: _of_events(k, m)]
_COUNTS, _TRIALS = ("k", "n", "p"), ("order", "trials", "fraction")
_INVERSE = "Differentiated implicitly."
_WHOLE = "Counts are rounded down: no gradient passes to them."
# fmt: off
stdtr = special(
    "stdtr", lambda y, v, t: t_drift(1)(v, t), lambda y, v, t: t_density(v, t),
    domain=("positive", "real"), operands=("df", "t"), says="Distribution function of Student's t with df degrees of freedom.",
    source="The derivative in df is one of the incomplete beta function, DLMF 8.17.")
stdtrit = special(
    "stdtrit", lambda t, v, p: negative(_t_shift(v, t)), lambda t, v, p: reciprocal(t_density(v, t)),
    domain=("positive", "fraction"), operands=("df", "p"), says="Quantile function of Student's t with df degrees of freedom.",
    source=_INVERSE)
fdtr = special(
    "fdtr", *_F,
    domain="positive", operands=("dfn", "dfd", "x"), says="Distribution function of the F distribution.",
    source="Those in dfn and dfd are derivatives of the incomplete beta function at dfn x / (dfd + dfn x), DLMF 8.17.")
fdtrc = special(
    "fdtrc", *_complement(*_F),
    domain="positive", operands=("dfn", "dfd", "x"), says="Survival function of the F distribution.",
    source="Those in dfn and dfd are derivatives of the incomplete beta function at dfn x / (dfd + dfn x), DLMF 8.17.")
fdtri = special(
    "fdtri", lambda x, n, d, p: implicit(x, f_in_degrees[0](n, d, x), f_density(n, d, x)),
    lambda x, n, d, p: implicit(x, f_in_degrees[1](n, d, x), f_density(n, d, x)), lambda x, n, d, p: reciprocal(f_density(n, d, x)),
    domain=("positive", "above_one", "tail"), operands=("dfn", "dfd", "p"), says="Quantile function of the F distribution.",
    source=_INVERSE)
bdtr = special(
    "bdtr", *_complement(*_SUCCESSES),
    domain=_TRIALS, operands=_COUNTS, says="Probability of at most k successes in n trials, each of probability p.",
    source=_WHOLE)
bdtrc = special(
    "bdtrc", *_SUCCESSES,
    domain=_TRIALS, operands=_COUNTS, says="Probability of more than k successes in n trials, each of probability p.",
    source=_WHOLE)
bdtri = special(
    "bdtri", None, None, lambda p, k, n, y: negative(reciprocal(_of_successes(k, n, p))),
    domain=_TRIALS, operands=("k", "n", "y"), says="Inverse in p of bdtr: at most k successes in n trials have the probability y.",
    source=_WHOLE)
nbdtr = special(
    "nbdtr", *_FAILURES,
    domain=_TRIALS, operands=_COUNTS, says="Probability of at most k failures before the n-th success, each of probability p.",
    source=_WHOLE)
nbdtrc = special(
    "nbdtrc", *_complement(*_FAILURES),
    domain=_TRIALS, operands=_COUNTS, says="Probability of more than k failures before the n-th success, each of probability p.",
    source=_WHOLE)
nbdtri = special(
    "nbdtri", None, None, lambda p, k, n, y: reciprocal(_of_failures(k, n, p)),
    domain=_TRIALS, operands=("k", "n", "y"), says="Inverse in p of nbdtr: at most k failures have the probability y.",
    source=_WHOLE)
pdtr = special(
    "pdtr", *_complement(*_EVENTS),
    domain=("order", "positive"), operands=("k", "m"), says="Distribution function of the Poisson distribution of mean m.",
    source=_WHOLE)
pdtrc = special(
    "pdtrc", *_EVENTS,
    domain=("order", "positive"), operands=("k", "m"), says="Survival function of the Poisson distribution of mean m.",
    source=_WHOLE)
pdtri = special(
    "pdtri", None, lambda m, k, y: negative(reciprocal(_of_events(k, m))),
    domain=("order", "fraction"), operands=("k", "y"), says="Inverse in m of pdtr: the mean of which at most k events have the probability y.",
    source=_WHOLE)
gdtr = special(
    "gdtr", *_GAMMA,
    domain="positive", operands=("a", "b", "x"), says="Distribution function of the gamma distribution of rate a and shape b.")
gdtrc = special(
    "gdtrc", *_complement(*_GAMMA),
    domain="positive", operands=("a", "b", "x"), says="Survival function of the gamma distribution of rate a and shape b.")
gdtrix = special(
    "gdtrix", lambda x, a, b, p: _rate(x, a), lambda x, a, b, p: divide(of_gamma.inverse_shift(b, multiply(a, x)), a),
    lambda x, a, b, p: divide(of_gamma.inverse_rise(b, p, multiply(a, x)), a),
    domain=("positive", "positive", "fraction"), operands=("a", "b", "p"), says="Quantile function of the gamma distribution of rate a and shape b.",
    source=_INVERSE)
gdtria = special(
    "gdtria", lambda a, p, b, x: divide(of_gamma.inverse_rise(b, p, multiply(a, x)), x),
    lambda a, p, b, x: divide(of_gamma.inverse_shift(b, multiply(a, x)), x), lambda a, p, b, x: _rate(a, x),
    domain=("fraction", "positive", "positive"), operands=("p", "b", "x"), says="Inverse in a of gdtr: the rate with gdtr(a, b, x) = p.",
    source=_INVERSE)
chdtri = special(
    "chdtri", lambda x, v, p: of_gamma.inverse_shift(halved(v), halved(x)), lambda x, v, p: scaled(2.0, of_gamma.inverse_fall(halved(v), p, halved(x))),
    domain=("positive", "fraction"), operands=("v", "p"), says="Inverse in x of chdtrc: the x with chdtrc(v, x) = p.",
    source=_INVERSE)
nrdtrimn = special(
    "nrdtrimn", lambda y, p, std, x: negative(multiply(std, _quantile_slope(ndtri(p)))), lambda y, p, std, x: negative(ndtri(p)), 1,
    domain=("fraction", "positive", "real"), operands=("p", "std", "x"), says="Mean of the normal distribution of deviation std with the quantile x at p.")
nrdtrisd = special(
    "nrdtrisd", lambda y, mn, p, x: negative(reciprocal(ndtri(p))),
    lambda y, mn, p, x: _rate(multiply(y, _quantile_slope(ndtri(p))), ndtri(p)), lambda y, mn, p, x: reciprocal(ndtri(p)),
    domain=("real", "tail", "real"), operands=("mn", "p", "x"), says="Deviation of the normal distribution of mean mn with the quantile x at p.")
chndtr = special(
    "chndtr", lambda y, x, df, nc: chndtr_density(df, nc, x), _DEGREES, lambda y, x, df, nc: negative(chndtr_density(add(df, c(2.0)), nc, x)),
    domain=("positive", "count", "positive"), operands=("x", "df", "nc"), says="Distribution function of the noncentral chi-square distribution.",
    source="The density of df degrees of freedom, and minus that of two more, from Bessel functions, DLMF 10.25.2.")
kolmogorov = special(
    "kolmogorov", lambda y, x: kolmogorov_order(1)(x),
    domain="positive", says="Survival function of Kolmogorov's distribution, of the largest deviation from a distribution.",
    source="Term by term, of the series that converges faster: DLMF 20.2 near 0 after 20.7.32.")
# fmt: on
