"""Distributions on whole numbers: their draws do not move with the parameters, so there is no derivative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad.array import DimArray, constant
from namedgrad.backends import may_look
from namedgrad.random.drawing import Draws, check_positive, distribution, operands
from namedgrad.random.drawing import scalar as c
from namedgrad.rules import elementwise as e
from namedgrad.rules.structure import cast, multiply, subtract
from namedgrad.trace import innermost

Sizes = Mapping[Any, int] | None


def _values(*parameters: Any) -> list[DimArray]:
    """Parameters without their derivatives."""
    return [innermost(p) for p in operands(*parameters)]


def _wholes(*parameters: Any) -> list[DimArray]:
    """Whole-number parameters."""
    found = [innermost(constant(p, "a parameter")) for p in parameters]
    for p in found:
        if p.dtype.kind not in "iub":
            raise TypeError(f"counts are whole numbers, not {p.dtype}")
    return found


@distribution
def bernoulli(p: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """One with probability ``p``, else zero.

    Parameters
    ----------
    p : DimArray or float

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.bernoulli(0.5, sizes={"x": 5}, rng=0).data
    array([0, 1, 1, 1, 0])
    """
    (p,) = _values(p)
    draws = Draws("bernoulli", (p,), sizes, rng)
    check_positive("bernoulli", p=p, one_minus_p=subtract(c(1.0), p))
    if may_look(p.raw) and np.isnan(p.raw).any():  # a draw that is a whole number cannot be NaN
        raise ValueError("random.bernoulli: p is NaN")
    return draws.finish(cast(e.less(draws("random"), p), int))


@distribution
def binomial(n: Any, p: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Number of successes among ``n`` trials of probability ``p``.

    Parameters
    ----------
    n : DimArray or int
    p : DimArray or float

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.binomial(10, 0.5, sizes={"x": 4}, rng=0).data
    array([6, 4, 2, 2])
    """
    (n,), (p,) = _wholes(n), _values(p)
    draws = Draws("binomial", (n, p), sizes, rng)
    return draws.finish(draws("binomial", n, p, whole=True))


@distribution
def negative_binomial(n: Any, p: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Number of failures before ``n`` successes: Poisson draws with rates from ``Gamma(n) (1 - p) / p``.

    Parameters
    ----------
    n, p : DimArray or float
        Number of successes, any positive real; probability of each.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.negative_binomial(5, 0.5, sizes={"x": 4}, rng=0).data
    array([ 3,  5,  2, 11])
    """
    n, p = _values(n, p)
    draws = Draws("negative_binomial", (n, p), sizes, rng)
    check_positive("negative_binomial", zero=False, n=n, p=p)
    rates = multiply(draws("standard_gamma", n), e.divide(subtract(c(1.0), p), p))
    return draws.finish(draws("poisson", rates, whole=True))


@distribution
def betabinomial(n: Any, a: Any, b: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Binomial draws with probabilities from Beta(a, b).

    Parameters
    ----------
    n : DimArray or int
        Number of trials.
    a, b : DimArray or float
        Of the beta distribution.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.betabinomial(10, 2.0, 3.0, sizes={"x": 4}, rng=0).data
    array([5, 2, 3, 1])
    """
    (n,), (a, b) = _wholes(n), _values(a, b)
    draws = Draws("betabinomial", (n, a, b), sizes, rng)
    return draws.finish(draws("binomial", n, draws("beta", a, b), whole=True))


@distribution
def geometric(p: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Number of trials up to the first success, at least 1.

    Parameters
    ----------
    p : DimArray or float
        Probability of a success.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.geometric(0.5, sizes={"x": 4}, rng=0).data
    array([2, 1, 1, 1])
    """
    (p,) = _values(p)
    draws = Draws("geometric", (p,), sizes, rng)
    return draws.finish(draws("geometric", p, whole=True))


@distribution
def hypergeometric(ngood: Any, nbad: Any, nsample: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Number of good ones in a sample without replacement.

    Parameters
    ----------
    ngood, nbad, nsample : DimArray or int
        Good ones, bad ones, and how many of them are taken.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.hypergeometric(10, 5, 6, sizes={"x": 4}, rng=0).data
    array([3, 3, 4, 3])
    """
    ngood, nbad, nsample = _wholes(ngood, nbad, nsample)
    draws = Draws("hypergeometric", (ngood, nbad, nsample), sizes, rng)
    return draws.finish(draws("hypergeometric", ngood, nbad, nsample, whole=True))


@distribution
def poisson(lam: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Poisson counts of mean ``lam``.

    Parameters
    ----------
    lam : DimArray or float

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.poisson(3.0, sizes={"x": 4}, rng=0).data
    array([2, 0, 7, 1])
    """
    (lam,) = _values(lam)
    draws = Draws("poisson", (lam,), sizes, rng)
    return draws.finish(draws("poisson", lam, whole=True))


@distribution
def zipf(a: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Zipf: ``k`` with probability ``k**-a / ζ(a)``.

    Parameters
    ----------
    a : DimArray or float
        Above 1.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.zipf(3.0, sizes={"x": 5}, rng=0).data
    array([1, 1, 1, 1, 2])
    """
    (a,) = _values(a)
    draws = Draws("zipf", (a,), sizes, rng)
    return draws.finish(draws("zipf", a, whole=True))


@distribution
def logseries(p: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Logarithmic series: ``k`` with probability ``-p**k / (k log(1 - p))``.

    Parameters
    ----------
    p : DimArray or float
        Between 0 and 1.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.logseries(0.9, sizes={"x": 5}, rng=0).data
    array([1, 1, 2, 3, 5])
    """
    (p,) = _values(p)
    draws = Draws("logseries", (p,), sizes, rng)
    return draws.finish(draws("logseries", p, whole=True))


@distribution
def integers(low: Any, high: Any = None, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Whole numbers from ``low`` to ``high - 1``, all as likely.

    Parameters
    ----------
    low, high : DimArray or int
        With one bound, from 0 to below it.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.integers(10, sizes={"x": 5}, rng=0).data
    array([8, 6, 5, 2, 3])
    """
    low, high = _wholes(0 if high is None else low, low if high is None else high)
    draws = Draws("integers", (low, high), sizes, rng)
    return draws.finish(draws("integers", low, high, whole=True))
