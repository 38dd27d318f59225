"""What depends on order along a line: weighted quantiles, ranks, the first and last present cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from namedgrad import axes
from namedgrad.positional.array import PositionalArray, box, ordered
from namedgrad.positional.axis import name_of
from namedgrad.positional.operands import unwrap
from namedgrad.positional.protocol import kind_of, positional_in
from namedgrad.rules.sorting.ranks import rank as rank_along
from namedgrad.rules.sorting.ranks import weighted_quantiles
from namedgrad.rules.structure import constant_like

# ------------------------------------------------------------------------------------------------ weighted quantiles


def weighted_quantile(
    da: xr.DataArray, weights: xr.DataArray, q: Any, dim: Any = None, skipna: bool | None = None
) -> xr.DataArray:
    """Quantiles of weighted data; see :func:`namedgrad.xr.weighted_quantile`."""
    skipna = da.dtype.kind in "cf" if skipna is None else skipna
    q = np.atleast_1d(np.asarray(q, dtype=float))
    if q.ndim > 1:
        raise ValueError("q must be a scalar or 1d")
    if np.any((q < 0) | (q > 1)):
        raise ValueError("q values must be between 0 and 1")
    dims = list(da.dims) if dim is None else [dim] if isinstance(dim, str) or dim in da.dims else list(dim)
    da, weights = xr.broadcast(*xr.align(da, weights, join="inner"))
    out = xr.apply_ufunc(
        _weighted_quantiles, da, weights, input_core_dims=[dims, dims], output_core_dims=[["quantile"]],
        kwargs={"q": q, "skipna": skipna, "count": len(dims)},
    )  # fmt: skip
    return out.transpose("quantile", ...).assign_coords(quantile=q).squeeze()


def quantile_of_weighted(self: Any, da: Any, q: Any, dim: Any = None, skipna: bool | None = None) -> xr.DataArray:
    """As xarray's method, for what ``da.weighted(...)`` gives."""
    return weighted_quantile(da, self.weights, q, dim, skipna)


def _weighted_quantiles(data: Any, weights: Any, q: Any, *, skipna: bool, count: int) -> Any:
    """The quantiles along a new last axis, over the last ones."""
    x, w = unwrap(data), unwrap(weights)
    level: Any = axes.local("level of quantiles")
    out = weighted_quantiles(x, w, constant_like(q, x, (level,)), x.dims[x.ndim - count :], skipna=skipna)
    return box(ordered(out, (*x.dims[: x.ndim - count], level)), kind_of(positional_in((data, weights))))


# ------------------------------------------------------------------------------------------------ ranks


def rank(variable: xr.Variable, dim: Any, *, pct: bool = False) -> xr.Variable:
    """Ranks along a dim, from 1; equal cells share the mean of theirs, missing cells have none."""
    if dim not in variable.dims:
        raise ValueError(f"dim {dim!r} is not one of the dims {variable.dims}")
    p: Any = variable._data
    x = unwrap(p)
    out = rank_along(x, name_of(x, variable.dims.index(dim)))
    ranked = xr.Variable(variable.dims, box(out, kind_of((p,))), variable.attrs)
    return ranked / variable.notnull().sum(dim) if pct else ranked


def rank_of_dataset(self: xr.Dataset, dim: Any, *, pct: bool = False, keep_attrs: bool | None = None) -> xr.Dataset:
    """As ``Dataset.rank``, which refuses to be without bottleneck."""
    if dim not in self.dims:
        raise ValueError(f"Dimension {dim!r} not found in data dimensions {tuple(self.dims)}")
    ranked = {n: v.variable.rank(dim, pct=pct) for n, v in self.data_vars.items() if dim in v.dims}
    return xr.Dataset(ranked, coords=self.coords, attrs=self.attrs if keep_attrs is not False else None)


# ------------------------------------------------------------------------------------------------ first and last


def first_present(values: PositionalArray, axis: Any, *, keepdims: bool = False) -> Any:
    """The first present cell along an axis; missing where there is none."""
    return _chosen(values, axis, last=False, keepdims=keepdims)


def last_present(values: PositionalArray, axis: Any, *, keepdims: bool = False) -> Any:
    """The last present cell along an axis; missing where there is none."""
    return _chosen(values, axis, last=True, keepdims=keepdims)


def _chosen(values: Any, axis: Any, *, last: bool, keepdims: bool) -> Any:
    (axis,) = axis if isinstance(axis, tuple) else (axis,)
    present = ~np.isnan(values)
    if last:
        at = values.shape[axis] - 1 - np.argmax(np.flip(present, axis), axis=axis, keepdims=True)
    else:
        at = np.argmax(present, axis=axis, keepdims=True)
    out = np.take_along_axis(values, at, axis)
    return out if keepdims else np.squeeze(out, axis)


