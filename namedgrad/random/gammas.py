"""Gamma, beta and what is made of them, and other distributions without a quantile formula.

Draws follow their parameters by implicit reparameterisation, see :mod:`namedgrad.random.implicit`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from namedgrad.array import DimArray
from namedgrad.random.drawing import Draws, check_positive, distribution, operands
from namedgrad.random.drawing import scalar as c
from namedgrad.random.implicit import drawn_beta, drawn_gamma, drawn_power, drawn_vonmises, drawn_wald
from namedgrad.rules import elementwise as e
from namedgrad.rules.structure import add, cast, multiply, subtract, where
from namedgrad.trace import innermost

Sizes = Mapping[Any, int] | None


def standard_gamma(draws: Draws, what: str, shape: DimArray) -> DimArray:
    """Draws from Gamma(shape) that follow their shape."""
    check_positive(what, shape=shape)
    return drawn_gamma(draws("standard_gamma", shape), shape)


def _power(draws: Draws, what: str, shape: DimArray, p: float) -> DimArray:
    """A power of such draws."""
    check_positive(what, shape=shape)
    z = draws("standard_gamma", shape)
    return drawn_power(p)(e.power(z, c(p)), z, shape)


def _mean_square(draws: Draws, what: str, df: DimArray, p: float) -> DimArray:
    """``(χ²(df) / df)**p``."""
    half = e.divide(df, c(2.0))
    check_positive(what, df=df)
    z = draws("standard_gamma", half)
    mean = multiply(e.power(z, c(p)), e.power(innermost(half), c(-p)))
    return drawn_power(p, of_mean=True)(mean, z, half)


def _chisquare(draws: Draws, what: str, df: DimArray) -> DimArray:
    return multiply(c(2.0), standard_gamma(draws, what, e.divide(df, c(2.0))))


@distribution
def gamma(shape: Any, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Gamma, of density ``x**(shape - 1) exp(-x / scale) / (Γ(shape) scale**shape)``.

    Parameters
    ----------
    shape, scale : DimArray or float
        The mean is ``shape * scale``. ``scale`` is the inverse of the rate.

    Notes
    -----
    Derivatives: ``x / scale`` in ``scale``; in ``shape`` that of the quantile at fixed probability,
    ``-(dP/dshape) / p``, to about ten units of rounding, at every order.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.random.gamma(2.0, sizes={"x": 3}, rng=0)
    >>> x.data.round(3)
    array([1.834, 2.638, 1.066])
    >>> def mean(shape):
    ...     return ng.random.gamma(shape, sizes={"x": 10000}, rng=0).mean()
    >>> round(ng.grad(mean)(2.0), 1)
    1.0
    """
    shape, scale = operands(shape, scale)
    draws = Draws("gamma", (shape, scale), sizes, rng)
    check_positive("gamma", scale=scale)
    return draws.finish(multiply(standard_gamma(draws, "gamma", shape), scale))


@distribution
def invgamma(shape: Any, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Inverse gamma: ``scale / γ`` with γ from Gamma(shape).

    Parameters
    ----------
    shape, scale : DimArray or float
        The mean is ``scale / (shape - 1)``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.invgamma(2.0, sizes={"x": 3}, rng=0).data.round(3)
    array([0.545, 0.379, 0.938])
    """
    shape, scale = operands(shape, scale)
    draws = Draws("invgamma", (shape, scale), sizes, rng)
    check_positive("invgamma", scale=scale)
    return draws.finish(multiply(scale, _power(draws, "invgamma", shape, -1.0)))


@distribution
def gengamma(alpha: Any = 1.0, p: Any = 1.0, lambd: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Generalised gamma: ``lambd γ**(1 / p)`` with γ from Gamma(alpha / p).

    Parameters
    ----------
    alpha, p, lambd : DimArray or float
        The density is proportional to ``x**(alpha - 1) exp(-(x / lambd)**p)``, as in PyTensor.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.gengamma(2.0, 1.0, 3.0, sizes={"x": 2}, rng=0).data.round(3)
    array([5.503, 7.913])
    """
    alpha, p, lambd = operands(alpha, p, lambd)
    draws = Draws("gengamma", (alpha, p, lambd), sizes, rng)
    check_positive("gengamma", zero=False, p=p)
    return draws.finish(
        multiply(lambd, e.power(standard_gamma(draws, "gengamma", e.divide(alpha, p)), e.reciprocal(p)))
    )


@distribution
def chisquare(df: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Chi-square: ``2 γ`` with γ from Gamma(df / 2); the sum of ``df`` squares of normal draws.

    Parameters
    ----------
    df : DimArray or float
        Degrees of freedom.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.chisquare(4.0, sizes={"x": 2}, rng=0).data.round(3)
    array([3.669, 5.275])
    """
    (df,) = operands(df)
    draws = Draws("chisquare", (df,), sizes, rng)
    return draws.finish(_chisquare(draws, "chisquare", df))


def _noncentral(draws: Draws, what: str, df: DimArray, nonc: DimArray) -> DimArray:
    check_positive(what, df_minus_1=subtract(df, c(1.0)), nonc=nonc)
    shifted = add(draws("standard_normal"), e.sqrt(nonc))
    return add(e.square(shifted), _chisquare(draws, what, subtract(df, c(1.0))))


@distribution
def noncentral_chisquare(df: Any, nonc: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Noncentral chi-square: ``(z + √nonc)² + χ²(df - 1)``.

    Parameters
    ----------
    df : DimArray or float
        Degrees of freedom, at least 1 (only then a draw follows both parameters).
    nonc : DimArray or float
        Sum of the squared means. The derivative of a draw at 0 is infinite.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.noncentral_chisquare(3.0, 1.0, sizes={"x": 2}, rng=0).data.round(3)
    array([1.307, 0.758])
    """
    df, nonc = operands(df, nonc)
    draws = Draws("noncentral_chisquare", (df, nonc), sizes, rng)
    return draws.finish(_noncentral(draws, "noncentral_chisquare", df, nonc))


@distribution
def f(dfnum: Any, dfden: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Fisher's F: ``(χ²(dfnum) / dfnum) / (χ²(dfden) / dfden)``.

    Parameters
    ----------
    dfnum, dfden : DimArray or float
        Degrees of freedom.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.f(4.0, 6.0, sizes={"x": 2}, rng=0).data.round(3)
    array([1.46 , 0.731])
    """
    dfnum, dfden = operands(dfnum, dfden)
    draws = Draws("f", (dfnum, dfden), sizes, rng)
    check_positive("f", zero=False, dfnum=dfnum, dfden=dfden)
    return draws.finish(multiply(_mean_square(draws, "f", dfnum, 1.0), _mean_square(draws, "f", dfden, -1.0)))


@distribution
def noncentral_f(dfnum: Any, dfden: Any, nonc: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Noncentral F: that of :func:`f` with a noncentral chi-square above.

    Parameters
    ----------
    dfnum, dfden, nonc : DimArray or float
        ``dfnum`` is at least 1.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.noncentral_f(4.0, 6.0, 1.0, sizes={"x": 2}, rng=0).data.round(3)
    array([0.731, 0.945])
    """
    dfnum, dfden, nonc = operands(dfnum, dfden, nonc)
    draws = Draws("noncentral_f", (dfnum, dfden, nonc), sizes, rng)
    check_positive("noncentral_f", zero=False, dfden=dfden)
    above = _noncentral(draws, "noncentral_f", dfnum, nonc)
    return draws.finish(multiply(e.divide(above, dfnum), _mean_square(draws, "noncentral_f", dfden, -1.0)))


@distribution
def t(df: Any, loc: Any = 0.0, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Student's t: ``loc + scale z / √(χ²(df) / df)``.

    Parameters
    ----------
    df : DimArray or float
        Degrees of freedom.
    loc, scale : DimArray or float

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.t(5.0, sizes={"x": 2}, rng=0).data.round(3)
    array([ 0.11 , -0.172])
    """
    df, loc, scale = operands(df, loc, scale)
    draws = Draws("t", (df, loc, scale), sizes, rng)
    check_positive("t", scale=scale)
    check_positive("t", zero=False, df=df)
    standard = multiply(draws("standard_normal"), _mean_square(draws, "t", df, -0.5))
    return draws.finish(add(loc, multiply(scale, standard)))


@distribution
def beta(a: Any, b: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Beta on [0, 1], of density ``x**(a - 1) (1 - x)**(b - 1) Γ(a + b) / (Γ(a) Γ(b))``.

    Parameters
    ----------
    a, b : DimArray or float
        Positive. The mean is ``a / (a + b)``.

    Notes
    -----
    Derivatives are those of the quantile at fixed probability, at every order.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.beta(2.0, 3.0, sizes={"x": 3}, rng=0).data.round(3)
    array([0.322, 0.165, 0.34 ])
    """
    a, b = operands(a, b)
    draws = Draws("beta", (a, b), sizes, rng)
    check_positive("beta", zero=False, a=a, b=b)
    return draws.finish(drawn_beta(draws("beta", a, b), a, b))


@distribution
def vonmises(mu: Any = 0.0, kappa: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Von Mises angles in [-π, π), of density ``exp(kappa cos(x - mu)) / (2π I0(kappa))``.

    Parameters
    ----------
    mu, kappa : DimArray or float
        Mean direction and concentration.

    Notes
    -----
    Derivatives: 1 in ``mu``; in ``kappa`` that of the quantile, counted from ``mu``, at fixed probability; first and
    second order.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.vonmises(0.0, 4.0, sizes={"x": 3}, rng=0).data.round(3)
    array([-0.742,  0.013,  0.675])
    """
    mu, kappa = operands(mu, kappa)
    draws = Draws("vonmises", (mu, kappa), sizes, rng)
    check_positive("vonmises", kappa=kappa)
    x = add(mu, drawn_vonmises(draws("vonmises", c(0.0), kappa), kappa))
    return draws.finish(subtract(e.remainder(add(x, c(math.pi)), c(2 * math.pi)), c(math.pi)))


@distribution
def wald(mean: Any, scale: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Wald (inverse Gaussian), of density ``√(scale / (2π x³)) exp(-scale (x - mean)² / (2 mean² x))``.

    Parameters
    ----------
    mean, scale : DimArray or float
        Positive.

    Notes
    -----
    Derivatives are those of the quantile at fixed probability, which Mills' ratio ``m = Φ(-b) / φ(b)`` at
    ``b = r (x / mean + 1)``, ``r = √(scale / x)`` gives: ``2 scale x m / (mean² r)`` in ``mean``,
    ``x / scale - 2 x m / (mean r)`` in ``scale``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.wald(1.0, 2.0, sizes={"x": 3}, rng=0).data.round(3)
    array([0.915, 1.098, 1.567])
    """
    mean, scale = operands(mean, scale)
    draws = Draws("wald", (mean, scale), sizes, rng)
    check_positive("wald", zero=False, mean=mean, scale=scale)
    return draws.finish(drawn_wald(_one_of_two(draws, innermost(mean), innermost(scale)), mean, scale))


def _one_of_two(draws: Draws, mean: DimArray, scale: DimArray) -> DimArray:
    """The two roots of a squared normal draw, one of them drawn (Michael, Schucany and Haas 1976)."""
    w = e.divide(multiply(mean, e.square(draws("standard_normal"))), multiply(c(2.0), scale))
    low = e.divide(mean, add(add(c(1.0), w), e.sqrt(multiply(w, add(w, c(2.0))))))
    keep = e.less_equal(multiply(draws("random"), add(mean, low)), mean)
    return cast(where(keep, low, e.divide(e.square(mean), low)), draws.dtype)
