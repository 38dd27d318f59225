"""Distributions whose quantile function is a formula: it is applied to a standard draw.  Derivatives are exact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from namedgrad.array import DimArray
from namedgrad.random.drawing import Draws, check_positive, distribution, operands
from namedgrad.random.drawing import scalar as c
from namedgrad.random.shifted import moved
from namedgrad.rules import elementwise as e
from namedgrad.rules.structure import add, multiply, negative, subtract, where

Sizes = Mapping[Any, int] | None


@distribution
def weibull(a: Any, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Weibull, of distribution function ``1 - exp(-(x / scale)**a)``: ``scale ε**(1 / a)`` with ε exponential.

    Parameters
    ----------
    a, scale : DimArray or float
        Shape and scale.

    Notes
    -----
    Derivatives: ``-x log(ε) / a²`` in ``a``, ``x / scale`` in ``scale``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.weibull(2.0, sizes={"x": 3}, rng=0).data.round(3)
    array([0.825, 1.01 , 0.141])
    """
    a, scale = operands(a, scale)
    draws = Draws("weibull", (a, scale), sizes, rng)
    check_positive("weibull", zero=False, a=a)
    return moved(draws, "weibull", c(0.0), scale, e.power(draws("standard_exponential"), e.reciprocal(a)))


@distribution
def pareto(a: Any, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Pareto II (Lomax), of distribution function ``1 - (1 + x / scale)**-a``: ``scale (exp(ε / a) - 1)``.

    Parameters
    ----------
    a, scale : DimArray or float
        Tail index and scale.

    Notes
    -----
    As NumPy's; it starts at 0. That of SciPy, PyTorch and PyTensor starts at ``scale``: add ``scale`` to a draw.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.pareto(3.0, sizes={"x": 3}, rng=0).data.round(3)
    array([0.254, 0.405, 0.007])
    """
    a, scale = operands(a, scale)
    draws = Draws("pareto", (a, scale), sizes, rng)
    check_positive("pareto", zero=False, a=a)
    return moved(draws, "pareto", c(0.0), scale, e.expm1(e.divide(draws("standard_exponential"), a)))


@distribution
def power(a: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Power law on [0, 1], of density ``a x**(a - 1)``: ``u**(1 / a)``.

    Parameters
    ----------
    a : DimArray or float
        Positive.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.power(3.0, sizes={"x": 3}, rng=0).data.round(3)
    array([0.79 , 0.861, 0.27 ])
    """
    (a,) = operands(a)
    draws = Draws("power", (a,), sizes, rng)
    check_positive("power", zero=False, a=a)
    return draws.finish(e.power(_complement(draws("standard_exponential")), e.reciprocal(a)))


@distribution
def kumaraswamy(a: Any, b: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Kumaraswamy on [0, 1], of distribution function ``1 - (1 - x**a)**b``.

    Parameters
    ----------
    a, b : DimArray or float
        Positive.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.kumaraswamy(2.0, 3.0, sizes={"x": 2}, rng=0).data.round(3)
    array([0.45 , 0.537])
    """
    a, b = operands(a, b)
    draws = Draws("kumaraswamy", (a, b), sizes, rng)
    check_positive("kumaraswamy", zero=False, a=a, b=b)
    return draws.finish(e.power(_complement(e.divide(draws("standard_exponential"), b)), e.reciprocal(a)))


@distribution
def triangular(left: Any, mode: Any, right: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Triangular on [left, right] with its peak at ``mode``.

    Parameters
    ----------
    left, mode, right : DimArray or float
        In this order of size.

    Notes
    -----
    With ``c = (mode - left) / (right - left)``: ``left + √(u (right - left) (mode - left))`` for ``u <= c``, else
    ``right - √((1 - u) (right - left) (right - mode))``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.triangular(0.0, 1.0, 3.0, sizes={"x": 3}, rng=0).data.round(3)
    array([1.524, 0.9  , 0.351])
    """
    left, mode, right = operands(left, mode, right)
    draws = Draws("triangular", (left, mode, right), sizes, rng)
    width, rise, fall = subtract(right, left), subtract(mode, left), subtract(right, mode)
    check_positive("triangular", right_minus_mode=fall, mode_minus_left=rise)
    u = draws("random")
    low = e.less_equal(multiply(u, width), rise)
    lower = e.sqrt(where(low, multiply(multiply(u, width), rise), c(1.0)))
    upper = e.sqrt(where(low, c(1.0), multiply(multiply(subtract(c(1.0), u), width), fall)))
    return draws.finish(where(low, add(left, lower), subtract(right, upper)))


@distribution
def truncexpon(b: Any, loc: Any = 0.0, scale: Any = 1.0, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Exponential cut off at ``loc + b scale``: ``loc - scale log(1 - u (1 - exp(-b)))``.

    Parameters
    ----------
    b : DimArray or float
        Where it ends, in scales.
    loc, scale : DimArray or float
        Where it starts, and the scale.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.truncexpon(1.0, sizes={"x": 3}, rng=0).data.round(3)
    array([0.515, 0.187, 0.026])
    """
    b, loc, scale = operands(b, loc, scale)
    draws = Draws("truncexpon", (b, loc, scale), sizes, rng)
    check_positive("truncexpon", zero=False, b=b)
    standard = negative(e.log1p(multiply(draws("random"), e.expm1(negative(b)))))
    return moved(draws, "truncexpon", loc, scale, standard)


def _complement(exponent: DimArray) -> DimArray:
    """``1 - exp(-exponent)``."""
    return negative(e.expm1(negative(exponent)))
