"""Distributions with a dim of their own: vectors, categories, choices and orders.

Every other dim of a parameter, vectorized or not, is a batch of independent draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from namedgrad import backends
from namedgrad.array import DimArray, constant, extent, make
from namedgrad.axes import NONE, AxisError, Name
from namedgrad.ops import FUNCTIONS
from namedgrad.random.drawing import Draws, check_positive, distribution, operands
from namedgrad.random.drawing import scalar as c
from namedgrad.random.gammas import standard_gamma
from namedgrad.random.shifted import positive
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import check
from namedgrad.rules.structure import add, cast, contract, multiply, relabel, subtract, total, where
from namedgrad.trace import innermost

Sizes = Mapping[Any, int] | None


@distribution
def multivariate_normal(
    mean: Any, cov: Any, dims: tuple[Any, Any], *, sizes: Sizes = None, rng: Any = None
) -> DimArray:
    """Normal vectors of a mean and a covariance matrix: ``mean + L z`` with ``L Lᵀ = cov`` (Cholesky).

    Parameters
    ----------
    mean : DimArray or float
        Over ``row`` and any other dims.
    cov : DimArray
        Positive definite, over ``row``, ``column`` and any other dims; its symmetric part counts.
    dims : (row, column)
        Names of the two dims of ``cov``; the vectors are along ``row``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> cov = ng.DimArray([[4.0, 2.0], [2.0, 3.0]], ("x", "y"))
    >>> ng.random.multivariate_normal(0.0, cov, ("x", "y"), sizes={"time": 1000}, rng=0).dims
    ('x', 'time')
    """
    mean, cov = operands(mean, cov)
    row, column = dims
    for name in (row, column):
        check(cov, name, "random.multivariate_normal")
    if column in mean.names:
        raise AxisError(f"random.multivariate_normal: mean has the column dim {column!r}; its vectors are along {row!r}")
    draws = Draws("multivariate_normal", (mean, total(innermost(cov), (column,))), sizes, rng)
    z = relabel(draws("standard_normal"), {row: column})
    factor = FUNCTIONS["cholesky"](cov, (row, column))
    return draws.finish(add(mean, contract(factor, z, (column,))))


@distribution
def dirichlet(alpha: Any, dim: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Shares that are positive and sum to 1 along ``dim``: gamma draws divided by their sum.

    Parameters
    ----------
    alpha : DimArray
        Positive concentrations. The mean is ``alpha / alpha.sum(dim)``.
    dim : name
        Along which the shares sum to 1.

    Notes
    -----
    The logarithm of Gamma(α) is drawn as ``log Gamma(α + 1) + log(u) / α``, so small concentrations do not underflow.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.random.dirichlet(ng.DimArray([1.0, 2.0, 3.0], "k"), "k", sizes={"time": 5}, rng=0)
    >>> x.dims, bool((abs(x.sum("k") - 1) < 1e-15).all())
    (('k', 'time'), True)
    """
    (alpha,) = operands(alpha)
    check(alpha, dim, "random.dirichlet")
    draws = Draws("dirichlet", (alpha,), sizes, rng)
    check_positive("dirichlet", zero=False, alpha=alpha)
    lift = e.divide(e.log(positive(draws("random"))), alpha)
    logs = add(e.log(standard_gamma(draws, "dirichlet", add(alpha, c(1.0)))), lift)
    return draws.finish(e.exp(subtract(logs, FUNCTIONS["logsumexp"](logs, dim))))


# ------------------------------------------------------------------------------------------------ whole numbers


def _probabilities(what: str, p: Any, dim: Name) -> DimArray:
    (p,) = operands(p)
    check(p, dim, f"random.{what}")
    p = innermost(p)
    check_positive(what, p=p)
    if not extent(p, dim):
        raise ValueError(f"random.{what}: there are no categories along {dim!r}")
    whole = total(p, (dim,)).raw
    if backends.may_look(whole) and not np.all(np.isfinite(whole) & np.greater(whole, 0)):
        raise ValueError(f"random.{what}: the sum of p along {dim!r} is 0 or not finite")
    return p


def _category(draws: Draws, p: DimArray, dim: Name) -> DimArray:
    """Where a uniform draw falls among the cumulative probabilities."""
    up_to = FUNCTIONS["cumsum"](p, dim)
    last = up_to.isel({dim: extent(p, dim) - 1})
    passed = e.greater_equal(multiply(draws("random"), last), up_to.isel({dim: slice(None, -1)}))
    return total(cast(passed, int), (dim,))


@distribution
def categorical(p: Any, dim: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """Positions along ``dim``, with given probabilities.

    Parameters
    ----------
    p : DimArray
        Probabilities; what they sum to along ``dim`` does not matter.
    dim : name
        Of the categories; the result does not have it.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.categorical(ng.DimArray([0.2, 0.3, 0.5], "k"), "k", sizes={"x": 6}, rng=0).data
    array([2, 1, 0, 0, 2, 2])
    """
    p = _probabilities("categorical", p, dim)
    draws = Draws("categorical", (p,), sizes, rng, without=(dim,))
    draws.names, draws.shape = _drop(draws, dim)
    return draws.finish(_category(draws, p, dim))


@distribution
def multinomial(n: Any, p: Any, dim: Any, *, sizes: Sizes = None, rng: Any = None) -> DimArray:
    """How ``n`` trials fall into categories: counts along ``dim`` that sum to ``n``.

    Parameters
    ----------
    n : DimArray or int
        Number of trials.
    p : DimArray
        Probabilities; what they sum to along ``dim`` does not matter.
    dim : name
        Of the categories.

    Notes
    -----
    Each category in turn takes a binomial share of what the ones before it left.

    Examples
    --------
    >>> import namedgrad as ng
    >>> counts = ng.random.multinomial(10, ng.DimArray([0.2, 0.3, 0.5], "k"), "k", sizes={"x": 4}, rng=0)
    >>> counts.sum("k").data
    array([10, 10, 10, 10])
    """
    p, n = _probabilities("multinomial", p, dim), innermost(constant(n, "n"))
    if n.dtype.kind not in "iu":
        raise TypeError(f"random.multinomial: n counts trials, it is a whole number, not {n.dtype}")
    draws = Draws("multinomial", (p, n), sizes, rng, without=(dim,))
    draws.names, draws.shape = _drop(draws, dim)
    left, above, parts = n, total(p, (dim,)), []
    count = extent(p, dim)
    for k in range(count - 1):
        own = p.isel({dim: k})
        some = e.greater(above, c(0.0))
        share = e.minimum(e.divide(own, where(some, above, c(1.0))), c(1.0))
        parts.append(draws("binomial", left, share, whole=True))
        left, above = subtract(left, parts[-1]), e.maximum(subtract(above, own), c(0.0))
    parts.append(add(left, make(np.zeros((), int), (), NONE)))
    return draws.finish(FUNCTIONS["concat"]([x.expand_dims({dim: 1}) for x in parts], dim))


def _drop(draws: Draws, dim: Name) -> tuple[Any, Any]:
    kept = [(n, s) for n, s in zip(draws.names, draws.shape, strict=True) if n != dim]
    return tuple(n for n, _ in kept), tuple(s for _, s in kept)


@distribution
def permutation(x: Any, dim: Any, *, rng: Any = None) -> DimArray:
    """Cells along a dim in random order: each slice of vectorized axes in an order of its own, others moved together.

    Parameters
    ----------
    x : DimArray or int
        What to reorder, or how many positions.
    dim : name
        Along which.

    Returns
    -------
    DimArray
        As ``x``; its gradient moves back.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.random.permutation(5, "x", rng=0).data
    array([3, 2, 1, 0, 4])
    """
    x = _positions(x, dim)
    check(x, dim, "random.permutation")
    return x.isel({dim: _order(x, dim, rng, "permutation")})


def _positions(x: Any, dim: Name) -> DimArray:
    x = constant(x)
    return make(np.arange(int(x.raw)), (dim,), NONE) if not x.names and x.dtype.kind in "iu" else x


def _order(x: DimArray, dim: Name, rng: Any, what: str) -> DimArray:
    """Positions along ``dim`` in random order, per slice."""
    held = innermost(x)
    others = tuple(n for n in held.names if n != dim and n not in held.hidden)
    keys = Draws(what, (cast(held.isel(dict.fromkeys(others, 0)), float),), None, rng)
    return FUNCTIONS["argsort"](keys("random"), dim)


@distribution
def choice(
    x: Any, dim: Any, *, sizes: Sizes = None, replace: bool = True, p: Any = None, rng: Any = None
) -> DimArray:
    """Cells drawn from along a dim, which the dims of ``sizes`` take the place of.

    Parameters
    ----------
    x : DimArray or int
        What to draw from, or how many positions.
    dim : name
        Along which; each slice of vectorized axes draws for itself, other dims are taken together.
    replace : bool
        Whether a cell may be drawn twice; if not, ``sizes`` has one dim, and no ``p``.
    p : DimArray, optional
        Probabilities along ``dim``; equal ones by default.

    Returns
    -------
    DimArray
        The drawn cells; their gradient goes back to where they were drawn from.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([10.0, 20.0, 30.0], "x")
    >>> ng.random.choice(x, "x", sizes={"draw": 5}, rng=0).data
    array([20., 10., 10., 10., 30.])
    >>> ng.random.choice(x, "x", sizes={"draw": 2}, replace=False, rng=0).data
    array([30., 20.])
    """
    x = _positions(x, dim)
    check(x, dim, "random.choice")
    sizes = dict(sizes or {})
    if replace:
        weights = _even(x, dim) if p is None else _probabilities("choice", p, dim)
        draws = Draws("choice", (weights,), sizes, rng, without=(dim,))
        draws.names, draws.shape = _drop(draws, dim)
        return x.isel({dim: draws.finish(_category(draws, weights, dim))})
    if p is not None or len(sizes) != 1:
        raise TypeError("random.choice: without replacement, sizes names one dim, and there is no p")
    ((new, count),) = sizes.items()
    if count > extent(x, dim):
        raise ValueError(f"random.choice: {count} of {extent(x, dim)} cells of {dim!r} without replacement")
    order = _order(x, dim, rng, "choice").isel({dim: slice(0, count)})
    return x.isel({dim: order.rename({dim: new}) if new != dim else order})


def _even(x: DimArray, dim: Name) -> DimArray:
    """Equal probabilities, for each slice."""
    held = innermost(x)
    others = tuple(n for n in held.names if n != dim and n not in held.hidden)
    first = held.isel(dict.fromkeys(others, 0))
    backend = backends.backend_of(first.raw)
    return make(backends.call(backend.full, first.full_shape, 1.0, np.dtype(float)), first.names, first.hidden)
