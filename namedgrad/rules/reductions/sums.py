"""Sums, means and counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, extent
from namedgrad.primitive import operation, sample
from namedgrad.rules.dims import pick
from namedgrad.rules.dtypes import real_dtype
from namedgrad.rules.elementwise import c
from namedgrad.rules.half import in_single
from namedgrad.rules.reductions.common import (
    asked_in,
    counts,
    if_enough,
    in_dtype,
    mean_of,
    over_present,
    ratio,
    restore,
    summed,
)
from namedgrad.rules.reductions.dates import mean_of_dates
from namedgrad.rules.structure import cast, contract, equal, multiply, not_equal, not_nan, select, total


@operation(sample("real(a,b,c)", dim="b"), sample("real(a,b)"), sample("missing(a,b)", dim=("a",)),
           sample("real(a,b)", dim="a", keepdims=True), method=True)
@in_single
def sum(x: DimArray, dim: Any = None, *, skipna: bool | None = None, min_count: int | None = None,
        keepdims: bool = False, dtype: Any = None) -> DimArray:
    """Sum over dims.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to sum; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    min_count : int, optional
        Fewer present cells than this give NaN.
    keepdims : bool
        Keep the reduced dims with size 1.
    dtype : dtype, optional
        In which it is done; by default that of ``x`` (half precision by way of single precision).

    Returns
    -------
    DimArray
        Without the reduced dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([[1.0, 2.0], [3.0, float("nan")]], ("x", "y")).sum("y").data
    array([3., 3.])
    """
    dims, x = pick(x, dim, "sum"), asked_in(x, dtype, skipna, 0)
    if not dims and dim is not None:  # as in xarray, where no dim is summed no NaN is left out either
        return x
    out, mask = over_present(x, skipna, lambda mask: summed(total(x if mask is None else select(mask, x), dims), dtype))
    return restore(if_enough(out, x, dims, mask, skipna, min_count), x, dims, keepdims)


@operation(sample("real(a,b,c)", dim=("a", "c")), sample("missing(a,b)", dim="b"), sample("real(a,b)"), method=True)
@in_single
def mean(x: DimArray, dim: Any = None, *, skipna: bool | None = None, keepdims: bool = False, dtype: Any = None) -> DimArray:
    """Mean over dims; NaN, with gradient 0, where nothing is present. The mean of dates is a date.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to average; all by default.
    skipna : bool, optional
        Leave NaN out; the default for floats. A cell left out has gradient 0.
    keepdims : bool
        Keep the reduced dims with size 1.
    dtype : dtype, optional
        In which it is done; by default that of ``x`` (half precision by way of single precision).

    Returns
    -------
    DimArray
        Without the reduced dims.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> a = ng.DimArray([[1.0, 2.0], [3.0, float("nan")]], ("x", "y"))
    >>> a.mean("y").data
    array([1.5, 3. ])
    >>> ng.grad(lambda a: a.mean())(a).data.round(3)
    array([[0.333, 0.333],
           [0.333, 0.   ]])
    """
    dims, x = pick(x, dim, "mean"), asked_in(x, dtype, skipna)
    if x.dtype.kind in "mM":
        return restore(mean_of_dates(x, dims, skipna), x, dims, keepdims)
    out, _ = over_present(x, skipna, lambda mask: mean_of(x, dims, mask))
    return restore(in_dtype(out, dtype), x, dims, keepdims)


@operation(sample("real(a,b,c)", dim="b"), sample("real(a,b)", "positive(b)", dim="b"), sample("missing(a,b)", "positive(a,b)", dim="a"),
           sample("real(a,b)", "positive(a)", keepdims=True))
@in_single
def average(x: DimArray, weights: Any = None, dim: Any = None, *, skipna: bool | None = None, keepdims: bool = False) -> DimArray:
    """Weighted mean over dims.

    Parameters
    ----------
    x : DimArray
    weights : DimArray, optional
        Met with ``x`` by name; a dim that they lack counts all its cells alike. Without weights, the mean.
    dim : name or names, optional
        Dims of ``x`` to average; all of it and of the weights by default.
    skipna : bool, optional
        Leave NaN cells of ``x`` out, with their weights; the default for floats. Such a cell has gradient 0.
    keepdims : bool
        Keep the reduced dims of ``x`` with size 1.

    Returns
    -------
    DimArray
        ``sum(weights * x) / sum(weights)``; NaN where the weights sum to 0.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    Derivatives: ``w / sum(w)`` in ``x``, ``(x - average) / sum(w)`` in the weights. As :func:`numpy.average` and
    :meth:`xarray.DataArray.weighted`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([1.0, 2.0, 4.0], ("x",))
    >>> ng.average(x, ng.DimArray([1.0, 1.0, 2.0], ("x",))).item()
    2.75
    """
    if weights is None:
        return mean(x, dim, skipna=skipna, keepdims=keepdims)
    w = constant(weights)
    w = cast(w, real_dtype(x)) if backends.is_number(weights) and x.dtype.kind in "fc" else w
    x = cast(x, "float64") if x.dtype.kind in "biu" else x  # products of whole numbers would wrap around
    w = cast(w, np.result_type(x.dtype, w.dtype)) if w.dtype.kind in "biu" else w
    dims = axes.in_order((*x.dims, *w.dims)) if dim is None or dim is Ellipsis else pick(x, dim, "average")

    def reduce(mask: DimArray | None) -> DimArray:
        if mask is not None:
            return ratio(contract(select(mask, x), w, dims), contract(cast(mask, real_dtype(x)), w, dims))
        rest = math.prod(extent(x, d) for d in dims if d not in w.names)
        return ratio(contract(x, w, dims), multiply(total(w, tuple(d for d in dims if d in w.names)), c(rest)))

    return restore(over_present(x, skipna, reduce)[0], x, dims, keepdims)


@operation(sample("missing(a,b)", dim="a"), method=True, differentiable=False)
def count(x: DimArray, dim: Any = None, *, keepdims: bool = False) -> DimArray:
    """Number of cells over dims that are not NaN.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to count over; all by default.
    keepdims : bool
        Keep the reduced dims with size 1.

    Returns
    -------
    DimArray
        Of integers; no gradient passes.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([[1.0, 2.0], [3.0, float("nan")]], ("x", "y")).count("y").data
    array([2, 1])
    """
    dims = pick(x, dim, "count")
    mask = not_nan(x) if x.dtype.kind in "fc" else equal(x, x)
    return restore(counts(mask, dims, "int64"), x, dims, keepdims)


@operation(sample("bool(a,b)", dim="a"), sample("real(a,b)"), differentiable=False)
def count_nonzero(x: DimArray, dim: Any = None, *, keepdims: bool = False) -> DimArray:
    """Number of cells over dims that are not 0.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to count over; all by default.
    keepdims : bool
        Keep the reduced dims with size 1.

    Returns
    -------
    DimArray
        Of integers; no gradient passes.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Notes
    -----
    As :func:`numpy.count_nonzero`; NaN is not 0.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.count_nonzero(ng.DimArray([0.0, 2.0, -1.0], ("x",))).item()
    2
    """
    dims = pick(x, dim, "count_nonzero")
    return restore(counts(not_equal(x, c(0)), dims, "int64"), x, dims, keepdims)
