"""What depends on order along a line: weighted quantiles, ranks, the first and last present cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from namedgrad import axes
from namedgrad.positional.array import PositionalArray, box
from namedgrad.positional.axis import name_of
from namedgrad.positional.operands import unwrap
from namedgrad.positional.protocol import kind_of
from namedgrad.rules import elementwise as e
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing.search import searchsorted
from namedgrad.rules.sorting.order import sort_axis
from namedgrad.rules.structure import cast, relabel, reorder, where

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
    """Akinshin (2023), "Weighted quantile estimators", type 7: cells share the unit interval by weight."""
    shape = (*data.shape[: data.ndim - count], -1)
    data, weights = np.reshape(data, shape), np.reshape(weights, shape)
    nan = np.isnan(data)
    used = ~nan & (weights != 0)
    order = np.argsort(np.where(used, data, np.inf), axis=-1)
    data = np.take_along_axis(np.where(used, data, 0.0), order, axis=-1)
    weights = np.take_along_axis(np.where(used, weights, 0.0), order, axis=-1)
    total = weights.sum(axis=-1, keepdims=True)
    empty = ~np.any(used, axis=-1, keepdims=True)
    total = np.where(empty, 1.0, total)
    effective = np.where(empty, 1.0, total**2 / np.where(empty, 1.0, (weights**2).sum(axis=-1, keepdims=True)))
    summed = np.cumsum(weights / total, axis=-1)
    summed = np.concatenate([np.zeros_like(summed[..., :1]), summed], axis=-1)[..., None, :]
    effective = effective[..., None]
    h = np.minimum(np.maximum((effective - 1) * q[:, None] + 1, 1), effective)
    u = np.maximum((h - 1) / effective, np.minimum(h / effective, summed))
    share = np.diff(u * effective - h + 1, axis=-1)
    out = (data[..., None, :] * share).sum(axis=-1)
    gone = empty if skipna else empty | np.any(nan, axis=-1, keepdims=True)
    return np.where(gone, np.nan, out)


# ------------------------------------------------------------------------------------------------ ranks


def rank(variable: xr.Variable, dim: Any, *, pct: bool = False) -> xr.Variable:
    """Ranks along a dim, from 1; equal cells share the mean of theirs, missing cells have none."""
    if dim not in variable.dims:
        raise ValueError(f"dim {dim!r} is not one of the dims {variable.dims}")
    p: Any = variable._data
    x = stop_gradient(unwrap(p))
    x = x if x.dtype.kind == "f" else cast(x, "float64")
    line = name_of(x, variable.dims.index(dim))
    edges = sort_axis(x, line)
    low, high = (searchsorted_along(edges, x, line, side) for side in ("left", "right"))
    out = where(e.isnan(x), c(np.nan), (low + high + 1) * 0.5)
    ranked = xr.Variable(variable.dims, box(reorder(out, x.names), kind_of((p,))), variable.attrs)
    return ranked / variable.notnull().sum(dim) if pct else ranked


def rank_of_dataset(self: xr.Dataset, dim: Any, *, pct: bool = False, keep_attrs: bool | None = None) -> xr.Dataset:
    """As ``Dataset.rank``, which refuses to be without bottleneck."""
    if dim not in self.dims:
        raise ValueError(f"Dimension {dim!r} not found in data dimensions {tuple(self.dims)}")
    ranked = {n: v.variable.rank(dim, pct=pct) for n, v in self.data_vars.items() if dim in v.dims}
    return xr.Dataset(ranked, coords=self.coords, attrs=self.attrs if keep_attrs is not False else None)


def searchsorted_along(edges: Any, x: Any, line: Any, side: str) -> Any:
    """Places of the cells of each line among those of the same line."""
    among = axes.fresh(line)
    return searchsorted(relabel(edges, {line: among}), x, among, side=side)


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


