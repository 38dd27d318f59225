"""Sums of exponentials, shifted so that nothing overflows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from namedgrad import backends
from namedgrad.array import DimArray, constant
from namedgrad.axes import Names, in_order
from namedgrad.backends.softmax import lost_beside_one
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.complex import real
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import pick
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.reductions.common import count_of, restore
from namedgrad.rules.reductions.extremes import max
from namedgrad.rules.structure import (
    add,
    cast,
    contract,
    equal,
    guarded_contract,
    if_likely,
    isfinite,
    logical_not,
    not_equal,
    reorder,
    subtract,
    total,
    where,
)
from namedgrad.trace import innermost

BESIDE = 2.0**-10  # 1 takes so many digits of what is added to it that a logarithm of the sum lacks them


@operation(sample("real(a,b,c)", dim=("a", "b")), sample("real(a,b)"), method=True)
@in_single
def logsumexp(x: DimArray, dim: Any = None, *, weights: Any = None, keepdims: bool = False) -> DimArray:
    """``log(sum(exp(x)))`` over dims, shifted by the maximum so that nothing overflows.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reduce; all by default.
    weights : DimArray, optional
        Factors of the exponentials, met with ``x`` by name; SciPy calls them ``b``.
    keepdims : bool
        Keep the reduced dims with size 1.

    Returns
    -------
    DimArray
        Without the reduced dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    Where every cell is -inf the result is -inf, with gradient 0; cells that are inf share the gradient equally. A cell
    of weight 0 counts for nothing, whatever it holds. As :func:`scipy.special.logsumexp`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1000.0, 1000.0], ("x",)).logsumexp("x").item()
    1000.6931471805599
    """
    dims = pick(x, dim, "logsumexp")
    known, fixed = stop_gradient(x), None
    if weights is not None:
        weights = constant(weights)
        fixed = stop_gradient(weights)
        known = _where_weighed(known, fixed)  # the largest cell may not count
    top = real(max(known, dims, skipna=False) if count_of(x, dims) else total(known, dims))
    top = where(equal(top, c(-math.inf)), c(0.0), top)
    inside = total(e.exp(e.below_top(x, top)), dims) if weights is None else _weighted(x, top, weights, dims)
    if weights is None and count_of(x, dims) and may_bend(x, inside):
        largest = max(x, dims, skipna=False)
        top = where(isfinite(stop_gradient(largest)), largest, top)
        inside = total(e.exp(e.below_top(x, top)), dims)
    nothing = equal(inside, c(0))
    out = where(nothing, c(-math.inf), e.log(where(nothing, c(1), inside)))
    return restore(add(regained(out, inside, top, lambda top: _others(known, top, fixed, dims)), top), x, dims, keepdims)


def _weighted(x: DimArray, top: DimArray, weights: DimArray, dims: Names) -> DimArray:
    """The weighted sum of exponentials; a cell of weight 0 is left out, unless the slope in its weight is asked for."""
    if weights.level is None:
        return contract(e.exp(e.below_top(_where_weighed(x, weights), top)), weights, dims)
    return guarded_contract(e.exp(e.below_top(x, top)), weights, dims)


def _where_weighed(x: DimArray, weights: DimArray) -> DimArray:
    """Scores, -inf where the weight is 0."""
    out = where(equal(weights, c(0)), c(-math.inf), x)
    return reorder(out, in_order((*x.names, *out.names)))


def _others(x: DimArray, top: DimArray, weights: DimArray | None, dims: Names) -> DimArray:
    """The sum of exponentials less 1, which is the share of a largest cell that weighs 1."""
    largest = equal(x, top)
    parts = where(largest, c(0), e.exp(e.below_top(x, top)))
    if weights is None:
        return total(parts, dims)
    return add(contract(parts, weights, dims), subtract(contract(cast(largest, parts.dtype), weights, dims), c(1)))


def regained(out: DimArray, inside: DimArray, top: DimArray, others: Callable[[DimArray], DimArray]) -> DimArray:
    """``out``, the logarithm of ``inside``, with the digits that the 1 of the largest cell took.

    They are missed where that cell is near 0: the result then consists of what the ``others`` add. Derivatives are of
    ``inside``, of which they are right.
    """
    if out.dtype.kind != "f" or _nowhere(e.less(innermost(inside), c(1 + BESIDE))):
        return out
    inside, top = stop_gradient(inside), stop_gradient(top)
    near = e.logical_and(e.less(inside, c(1 + BESIDE)), e.less(e.absolute_real(top), c(BESIDE)))
    if _nowhere(near):
        return out
    near = e.logical_and(near, not_equal(inside, c(0)))  # of no cell nothing is lost
    lost = subtract(e.log1p(where(near, others(top), c(0))), e.log(where(near, inside, c(1))))
    full = add(out, where(near, lost, c(0)))
    return if_likely(logical_not(near), lambda: out, lambda: full)


def may_bend(x: DimArray, inside: DimArray) -> bool:
    """Whether one share may be so near 1 that what it lacks is lost, of which second derivatives are made.

    Of the others, each less the largest cell with its slope, nothing is lost.
    """
    if x.level is None or x.value.level is None or x.dtype.kind != "f":  # differentiated at most once
        return False
    return not _nowhere(e.less(innermost(inside), c(1 + lost_beside_one(x.dtype))))


def _nowhere(mask: DimArray) -> bool:
    """Whether no cell is known to be true."""
    raw = innermost(mask).raw
    return backends.may_look(raw) and not raw.any()
