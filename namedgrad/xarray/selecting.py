"""Plain arrays and labels picked by positions that differ per slice, and positions of labels that do.

``x.isel(time=x.argmax("time"))`` under ``over=`` picks another cell of a plain coordinate in each slice; the result is
a coordinate with vectorized axes, as one along a hidden dim is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from xarray.core import indexing

from namedgrad.array import TraceError, make, refuse_while_recording
from namedgrad.axes import NONE
from namedgrad.positional.array import PositionalArray, numbers, wrap
from namedgrad.trace import innermost
from namedgrad.xarray.convert import beside
from namedgrad.xarray.holding import is_single
from namedgrad.xarray.labels import Disagreement, agreement, label

# ------------------------------------------------------------------------------------------------ plain arrays


def pick(indexable: Any, indexer: Any) -> Any:
    """The cells of a plain array, or of an index, at positions with vectorized axes."""
    raw = np.asarray(indexable)
    ours = wrap(make(raw, numbers(raw.ndim), NONE))
    picked = indexing.apply_indexer(indexing.as_indexable(ours), indexer)
    differs = isinstance(picked, PositionalArray)  # else it is plain, as integers that are the same in every slice
    return label(picked._x, None) if differs and isinstance(indexable, indexing.PandasIndexingAdapter) else picked


_ONE = "_one_position"


def getitem(original: Any, self: Any, key: Any) -> Any:
    """One position per slice is one cell along a dim, until it has been picked."""
    keys = key if isinstance(key, tuple) else (key,)
    out = original(self, tuple(xr.Variable((_ONE,), _data(k)[None]) if is_single(k) else k for k in keys))
    return original(out, tuple(0 if d == _ONE else slice(None) for d in out.dims))


def _data(k: Any) -> Any:
    return k.data if isinstance(k, (xr.Variable, xr.DataArray)) else k


def finalize(self: Any, dims: Any, data: Any) -> xr.Variable:
    """What is picked from an index is an ordinary variable."""
    return xr.Variable(dims, data, self.attrs, self.encoding)


# ------------------------------------------------------------------------------------------------ labels


def positions_of(self: Any, labels: Mapping[Any, Any], method: Any = None, tolerance: Any = None) -> Any:
    """As ``PandasIndex.sel``, for labels with vectorized axes."""
    ((name, wanted),) = labels.items()
    x = innermost(_data(wanted)._x)
    refuse_while_recording("selecting by labels (sel, loc)", "isel with positions", x.raw)
    found = self.index.get_indexer(np.asarray(x.raw).ravel(), method=method, tolerance=tolerance)
    if (found < 0).any():
        raise KeyError(f"not all values found in index {name!r}")
    at: Any = wrap(make(found.reshape(x.full_shape), x.names, x.hidden))
    if isinstance(wanted, xr.DataArray):
        at = xr.DataArray(at, coords=wanted._coords, dims=wanted.dims)
    elif isinstance(wanted, xr.Variable):
        at = xr.Variable(wanted.dims, at)
    return indexing.IndexSelResult({self.dim: at})


def bound_of(value: Any) -> Any:
    """A bound of a slice of labels, which is fixed while it is differentiated."""
    if np.ndim(value):
        raise ValueError(f"a slice of labels needs bounds without dims, not {value!r}")
    x = innermost(_data(value)._x)
    refuse_while_recording("selecting by labels (sel, loc)", "where(x.lat > low) for a mask", x.raw)
    if x.hidden:
        raise TraceError(
            f"sel: a slice with a bound that has vectorized axes {x.vectorized} has a length of its own in each slice; "
            "take a mask, x.where((x.lat >= low) & (x.lat <= high))"
        )
    return np.asarray(x.raw)[()]


def sortby(self: xr.Dataset, variables: Any, ascending: bool = True) -> xr.Dataset:
    """By arrays that are differentiated: their order is fixed, and may differ per slice."""
    keys = variables(self) if callable(variables) else variables
    keys = [k if isinstance(k, xr.DataArray) else self[k] for k in (keys if isinstance(keys, list) else [keys])]
    if any(by.ndim != 1 for by in keys):
        raise ValueError("Input DataArray is not 1-D.")
    out, *keys = xr.align(self, *keys, join="left")
    dims = dict.fromkeys(by.dims[0] for by in keys)
    for i in reversed(range(len(keys))):
        by = keys[i]
        present = by.data if ascending else np.where(np.isnan(by.data), -np.inf, by.data)  # missing cells come last
        order = {by.dims[0]: xr.Variable(by.dims, np.argsort(present, kind="stable"))}
        out, keys = out.isel(order), [k.isel(order, missing_dims="ignore") for k in keys]
    return out if ascending else out.isel(dict.fromkeys(dims, slice(None, None, -1)))


# ------------------------------------------------------------------------------------------------ sizes


def dropna(self: Any, dim: Any, *, how: str = "any", thresh: int | None = None, subset: Any = None) -> xr.Dataset:
    """As ``Dataset.dropna``, where the slices agree on which labels go."""
    if dim not in self.dims:
        raise ValueError(f"Dimension {dim!r} not found in data dimensions {tuple(self.dims)}")
    arrays = [self._variables[k] for k in (self.data_vars if subset is None else subset)]
    arrays = [a for a in arrays if dim in a.dims]
    others = [[d for d in a.dims if d != dim] for a in arrays]
    count: Any = np.zeros(self.sizes[dim], int)
    for a, dims in zip(arrays, others, strict=True):
        there = a.count(dims).data
        count = beside(count, there) + there
    size = sum(math.prod(self.sizes[d] for d in dims) for dims in others)
    mask = count >= thresh if thresh is not None else count == size if how == "any" else count > 0
    if isinstance(mask, PositionalArray):
        refuse_while_recording("which labels dropna leaves out", "where or fillna", innermost(mask._x).raw)
        mask = agreement(mask._x)
    if isinstance(mask, Disagreement):
        raise TraceError(
            f"dropna along {dim!r} would leave out other labels in each slice along the vectorized axes "
            f"{mask.vectorized}, so results would differ in size; use where or fillna, which keep the shape"
        )
    return self.isel({dim: mask})
