"""Cumulative sums of exponentials."""

from __future__ import annotations

import math
from typing import Any

from namedgrad.array import DimArray
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import real
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import pick_one
from namedgrad.rules.elementwise import c
from namedgrad.rules.reductions.exponentials import may_bend, regained
from namedgrad.rules.scans.extremes import cummax
from namedgrad.rules.scans.recurrence import delayed, recurrence
from namedgrad.rules.structure import add, cast, equal, isfinite, logical_not, not_equal, select, where


@operation(sample("real(a,b,c)", dim="b"), sample("complex(a,b)", dim="b"))
def logcumsumexp(x: DimArray, dim: Any = None) -> DimArray:
    """``log(cumsum(exp(x)))`` along a dim, shifted by the running maximum so that nothing overflows.

    Parameters
    ----------
    x : DimArray
    dim : name, optional
        Needed unless there is one dim only.

    Returns
    -------
    DimArray
        With the dims of ``x``.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.

    Notes
    -----
    As long as every cell is -inf the result is -inf, with gradient 0; from a cell inf on it is inf, and such cells share
    the gradient equally. The counterpart of ``torch.logcumsumexp`` and of ``numpy.logaddexp.accumulate``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.logcumsumexp(ng.DimArray([1000.0, 1000.0], ("x",)), "x").data.round(4)
    array([1000.    , 1000.6931])
    """
    name = pick_one(x, dim, "logcumsumexp")
    top = cummax(stop_gradient(real(x)), name, skipna=False)
    some = not_equal(top, c(-math.inf))
    top = where(some, top, c(0.0))
    inside = _below(x, top, some, name)
    if may_bend(x, inside):
        largest = cummax(x, name, skipna=False)
        top = where(isfinite(stop_gradient(largest)), largest, top)
        inside = _below(x, top, some, name)
    nothing = equal(inside, c(0))
    out = where(nothing, c(-math.inf), e.log(where(nothing, c(1), inside)))
    return add(regained(out, inside, top, lambda top: _others(stop_gradient(x), top, some, name)), top)


def _below(x: DimArray, top: DimArray, some: DimArray, name: Name) -> DimArray:
    """Cumulative sums of exponentials below the running maximum, which is one where there are ``some``."""
    parts = e.exp(e.below_top(x, top))
    return recurrence(cast(_drop(top, some, name), parts.dtype), parts, name)


def _others(x: DimArray, top: DimArray, some: DimArray, name: Name) -> DimArray:
    """The same without the 1 of the cell that is the maximum; it is one of the others where a larger one follows."""
    drop = _drop(top, some, name)
    parts = e.exp(e.below_top(x, top))
    is_next = e.logical_or(e.greater(top, delayed(top, name)), logical_not(delayed(some, name)))
    return recurrence(cast(drop, parts.dtype), where(is_next, cast(drop, parts.dtype), parts), name)


def _drop(top: DimArray, some: DimArray, name: Name) -> DimArray:
    """By how much sums below the last maximum shrink below the next."""
    return select(delayed(some, name), e.exp(e.below_top(delayed(top, name), top)))
