"""Ranks along a line, and quantiles of cells with weights."""

from __future__ import annotations

import math

from namedgrad import axes
from namedgrad.array import DimArray
from namedgrad.axes import Name, Names
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import check
from namedgrad.rules.dtypes import floating, real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import gather
from namedgrad.rules.indexing.search import searchsorted
from namedgrad.rules.movement import broadcast_like
from namedgrad.rules.movement.differences import difference
from namedgrad.rules.movement.padding import pad_axis
from namedgrad.rules.movement.stacking import merge
from namedgrad.rules.reductions.common import counts
from namedgrad.rules.reductions.places import any
from namedgrad.rules.scans.sums import cumsum_axis
from namedgrad.rules.sorting.order import argsort_of, sort_axis
from namedgrad.rules.structure import (
    add,
    cast,
    logical_not,
    multiply,
    not_equal,
    not_nan,
    relabel,
    reorder,
    subtract,
    total,
    where,
)
from namedgrad.trace import innermost


@operation(sample("real(a,b)", dim="a"), sample("missing(a,b)", dim="b", pct=True), method=True, differentiable=False)
def rank(x: DimArray, dim: Name, *, pct: bool = False) -> DimArray:
    """Ranks along a dim, from 1; equal cells share the mean of theirs.

    Parameters
    ----------
    x : DimArray
    dim : name
    pct : bool
        As parts of the number of cells that are not NaN.

    Returns
    -------
    DimArray
        Floats with the dims of ``x``, NaN where ``x`` is. No gradient passes.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.

    Notes
    -----
    :meth:`xarray.DataArray.rank`, ``bottleneck.nanrankdata``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.rank(ng.DimArray([4.0, 2.0, 4.0, 9.0], ("x",)), "x").data
    array([2.5, 1. , 2.5, 4. ])
    """
    line, x = check(x, dim, "rank"), stop_gradient(x)
    x = x if x.dtype.kind == "f" else cast(x, "float64")
    among: Name = axes.local(("sorted", line))
    edges = relabel(sort_axis(x, line), {line: among})
    low, high = (searchsorted(edges, x, among, side=side) for side in ("left", "right"))
    there = not_nan(x)
    out = where(there, multiply(add(add(low, high), c(1)), c(0.5)), c(math.nan))
    return reorder(e.divide(out, counts(there, (line,), "float64")) if pct else out, x.names)


def weighted_quantiles(x: DimArray, weights: DimArray, q: DimArray, dims: Names, *, skipna: bool) -> DimArray:
    """Quantiles ``q`` over dims: cells share the unit interval by their weights.

    Akinshin, A. (2023), *Weighted quantile estimators*, arXiv:2304.07265, type 7.
    """
    line: Name = axes.local("weighted cells")
    x, w = floating(x), cast(weights, real_dtype(weights))
    x, w = (merge(a, dims, line) for a in (broadcast_like(x, w), broadcast_like(w, x)))
    there = not_nan(x)
    used = e.logical_and(there, not_equal(w, c(0)))
    order = argsort_of(innermost(where(used, x, c(math.inf))), line)
    x, w = (gather(where(used, a, c(0.0)), {line: order}) for a in (x, w))
    some = any(used, (line,))
    whole, squares = (where(some, total(a, (line,)), c(1.0)) for a in (w, e.square(w)))
    size = where(some, e.divide(e.square(whole), squares), c(1.0))  # Kish's, of the sample
    ends = pad_axis(cumsum_axis(e.divide(w, whole), line), line, (1, 0), "constant", (0.0, 0.0), odd=False)
    h = e.minimum(e.maximum(add(multiply(subtract(size, c(1)), q), c(1)), c(1.0)), size)
    u = e.maximum(e.divide(subtract(h, c(1)), size), e.minimum(e.divide(h, size), ends))
    out = total(multiply(x, difference(multiply(u, size), line)), (line,))
    known = some if skipna else e.logical_and(some, logical_not(any(logical_not(there), (line,))))
    return where(known, out, c(math.nan))
