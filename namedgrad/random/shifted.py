"""Distributions of a location and a scale: a standard draw, moved and stretched.  Derivatives are exact."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from namedgrad.array import DimArray
from namedgrad.random.drawing import Draws, check_positive, distribution, operands
from namedgrad.random.drawing import scalar as c
from namedgrad.rules import elementwise as e
from namedgrad.rules.structure import add, multiply, negative, subtract, where

Sizes = Mapping[Any, int] | None


def moved(draws: Draws, what: str, loc: DimArray, scale: DimArray, standard: DimArray) -> DimArray:
    """``loc + scale * standard``."""
    check_positive(what, scale=scale)
    return draws.finish(add(loc, multiply(scale, standard)))


@distribution
def uniform(low: Any = 0.0, high: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Uniform on [low, high): ``low + (high - low) u``.

    Parameters
    ----------
    low, high : DimArray or float
        Ends; either order.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.uniform(2.0, 3.0, sizes={"x": 4}, rng=0).data.round(3)
    array([2.637, 2.27 , 2.041, 2.017])
    """
    low, high = operands(low, high)
    draws = Draws("uniform", (low, high), sizes, rng)
    return draws.finish(add(low, multiply(subtract(high, low), draws("random"))))


@distribution
def normal(loc: Any = 0.0, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Normal, of density ``exp(-((x - loc) / scale)² / 2) / (scale √(2π))``: ``loc + scale z``.

    Parameters
    ----------
    loc, scale : DimArray or float
        Mean and standard deviation.

    Notes
    -----
    Derivatives: 1 in ``loc``, ``z = (x - loc) / scale`` in ``scale``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> loc = ng.DimArray([0.0, 100.0], "x")
    >>> ng.random.normal(loc, sizes={"time": 3}, rng=0).dims
    ('x', 'time')
    >>> def variance(scale):
    ...     return ng.random.normal(loc, scale, sizes={"time": 1000}, rng=0).var("time").mean()
    >>> round(ng.grad(variance)(1.0), 1)  # of scale²
    2.0
    """
    loc, scale = operands(loc, scale)
    draws = Draws("normal", (loc, scale), sizes, rng)
    return moved(draws, "normal", loc, scale, draws("standard_normal"))


@distribution
def halfnormal(loc: Any = 0.0, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Upper half of a normal distribution: ``loc + scale |z|``.

    Parameters
    ----------
    loc, scale : DimArray or float
        The lower end, and the standard deviation of the whole.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.halfnormal(sizes={"x": 3}, rng=0).data.round(3)
    array([0.126, 0.132, 0.64 ])
    """
    loc, scale = operands(loc, scale)
    draws = Draws("halfnormal", (loc, scale), sizes, rng)
    return moved(draws, "halfnormal", loc, scale, e.absolute_real(draws("standard_normal")))


@distribution
def lognormal(mean: Any = 0.0, sigma: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Exponential of a normal draw: ``exp(mean + sigma z)``.

    Parameters
    ----------
    mean, sigma : DimArray or float
        Of the logarithm.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.lognormal(1.0, 0.1, sizes={"x": 2}, rng=0).data.round(3)
    array([2.753, 2.683])
    """
    mean, sigma = operands(mean, sigma)
    draws = Draws("lognormal", (mean, sigma), sizes, rng)
    return draws.finish(e.exp(moved(draws, "lognormal", mean, sigma, draws("standard_normal"))))


@distribution
def logitnormal(loc: Any = 0.0, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Logistic function of a normal draw: ``1 / (1 + exp(-(loc + scale z)))``, between 0 and 1.

    Parameters
    ----------
    loc, scale : DimArray or float
        Of the log-odds.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.logitnormal(2.0, 0.1, sizes={"x": 2}, rng=0).data.round(3)
    array([0.882, 0.879])
    """
    loc, scale = operands(loc, scale)
    draws = Draws("logitnormal", (loc, scale), sizes, rng)
    odds = moved(draws, "logitnormal", loc, scale, draws("standard_normal"))
    return draws.finish(e.reciprocal(add(c(1.0), e.exp(negative(odds)))))


@distribution
def laplace(loc: Any = 0.0, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Laplace, of density ``exp(-|x - loc| / scale) / (2 scale)``.

    Parameters
    ----------
    loc, scale : DimArray or float

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.laplace(sizes={"x": 3}, rng=0).data.round(3)
    array([ 0.32 , -0.617, -2.502])
    """
    loc, scale = operands(loc, scale)
    draws = Draws("laplace", (loc, scale), sizes, rng)
    u = positive(draws("random"))
    left = e.less(u, c(0.5))
    near = where(left, add(u, u), subtract(c(2.0), add(u, u)))
    return moved(draws, "laplace", loc, scale, where(left, e.log(near), negative(e.log(near))))


@distribution
def logistic(loc: Any = 0.0, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Logistic, of distribution function ``1 / (1 + exp(-(x - loc) / scale))``: ``loc + scale log(u / (1 - u))``.

    Parameters
    ----------
    loc, scale : DimArray or float

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.logistic(sizes={"x": 2}, rng=0).data.round(3)
    array([ 0.562, -0.996])
    """
    loc, scale = operands(loc, scale)
    draws = Draws("logistic", (loc, scale), sizes, rng)
    u = positive(draws("random"))
    return moved(draws, "logistic", loc, scale, e.log(e.divide(u, subtract(c(1.0), u))))


@distribution
def gumbel(loc: Any = 0.0, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Gumbel, of distribution function ``exp(-exp(-(x - loc) / scale))``.

    Parameters
    ----------
    loc, scale : DimArray or float

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.gumbel(sizes={"x": 2}, rng=0).data.round(3)
    array([-0.013,  1.157])
    """
    loc, scale = operands(loc, scale)
    draws = Draws("gumbel", (loc, scale), sizes, rng)
    u = positive(draws("random"))
    return moved(draws, "gumbel", loc, scale, negative(e.log(negative(e.log1p(negative(u))))))


@distribution
def cauchy(loc: Any = 0.0, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Cauchy, of density ``1 / (π scale (1 + ((x - loc) / scale)²))``: ``loc + scale tan(π (u - 1/2))``.

    Parameters
    ----------
    loc, scale : DimArray or float
        Median and half width; there are no moments.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.cauchy(sizes={"x": 2}, rng=0).data.round(3)
    array([ 0.459, -0.883])
    """
    loc, scale = operands(loc, scale)
    draws = Draws("cauchy", (loc, scale), sizes, rng)
    return moved(draws, "cauchy", loc, scale, e.tan(multiply(c(math.pi), subtract(draws("random"), c(0.5)))))


@distribution
def halfcauchy(loc: Any = 0.0, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Upper half of a Cauchy distribution: ``loc + scale tan(π u / 2)``.

    Parameters
    ----------
    loc, scale : DimArray or float
        The lower end, and the median distance from it.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.halfcauchy(sizes={"x": 2}, rng=0).data.round(3)
    array([1.559, 0.451])
    """
    loc, scale = operands(loc, scale)
    draws = Draws("halfcauchy", (loc, scale), sizes, rng)
    return moved(draws, "halfcauchy", loc, scale, e.tan(multiply(c(math.pi / 2), draws("random"))))


@distribution
def exponential(scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Exponential, of density ``exp(-x / scale) / scale``.

    Parameters
    ----------
    scale : DimArray or float
        The mean; the inverse of the rate.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.exponential(2.0, sizes={"x": 3}, rng=0).data.round(3)
    array([1.36 , 2.039, 0.04 ])
    """
    (scale,) = operands(scale)
    draws = Draws("exponential", (scale,), sizes, rng)
    return moved(draws, "exponential", c(0.0), scale, draws("standard_exponential"))


@distribution
def rayleigh(scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Length of a normal vector of the plane: ``scale √(2 ε)`` with ε exponential.

    Parameters
    ----------
    scale : DimArray or float
        Standard deviation of each of the two components.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.rayleigh(sizes={"x": 3}, rng=0).data.round(3)
    array([1.166, 1.428, 0.199])
    """
    (scale,) = operands(scale)
    draws = Draws("rayleigh", (scale,), sizes, rng)
    return moved(draws, "rayleigh", c(0.0), scale, e.sqrt(multiply(c(2.0), draws("standard_exponential"))))


@distribution
def maxwell(scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Length of a normal vector of space: ``scale √(2 γ)`` with γ from Gamma(3/2).

    Parameters
    ----------
    scale : DimArray or float
        Standard deviation of each of the three components.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.maxwell(sizes={"x": 2}, rng=0).data.round(3)
    array([1.617, 2.002])
    """
    (scale,) = operands(scale)
    draws = Draws("maxwell", (scale,), sizes, rng)
    return moved(draws, "maxwell", c(0.0), scale, e.sqrt(multiply(c(2.0), draws("standard_gamma", c(1.5)))))


def positive(u: DimArray) -> DimArray:
    """Uniform draws without 0, where a logarithm would be infinite, and without 1, to which rounding may bring them."""
    last = 1 - float(u.dtype.type(2.0) ** -(24 if u.dtype.itemsize == 4 else 53))
    return e.minimum(e.maximum(u, c(5e-324 if u.dtype.itemsize == 8 else 1e-45)), c(last))
