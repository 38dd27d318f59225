"""Whose arrays an object of xarray's holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr

from namedgrad.positional.array import PositionalArray


def holds(obj: Any) -> bool:
    """Whether an object is, or contains, an array of ours."""
    if isinstance(obj, PositionalArray):
        return True
    if isinstance(obj, xr.Variable):
        return isinstance(obj._data, PositionalArray)
    if isinstance(obj, xr.DataArray):
        return isinstance(obj._variable._data, PositionalArray)
    if isinstance(obj, xr.Dataset):
        return any(isinstance(v._data, PositionalArray) for v in obj._variables.values())
    if isinstance(obj, Mapping):
        return any(map(holds, obj.values()))
    return isinstance(obj, (list, tuple)) and any(map(holds, obj))


def is_single(k: Any) -> bool:
    """Whether an indexer is one position per slice."""
    k = k._data if isinstance(k, xr.Variable) else k.variable._data if isinstance(k, xr.DataArray) else k
    return isinstance(k, PositionalArray) and k.ndim == 0


def is_moving_date(array: Any) -> bool:
    """Whether it is an array of times that are differentiated."""
    return isinstance(array, PositionalArray) and array.dtype.kind in "mM" and array._x.level is not None
