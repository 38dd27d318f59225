"""What a compiled program fixes of an xarray object: all but the data, coordinates by value."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from xarray.core.indexing import PandasIndexingAdapter

from namedgrad import backends
from namedgrad.positional.array import PositionalArray

NUMERIC = "biufc"


def is_open(variable: xr.Variable) -> bool:
    """Whether the data of a variable may differ between runs of one program."""
    if isinstance(variable._data, PositionalArray):
        return True
    return variable.dtype.kind in NUMERIC and backends.is_array(variable.data)


def about(variable: xr.Variable) -> Hashable:
    """Everything but the values: dims, attributes."""
    return (type(variable), variable.dims, repr(variable.attrs))


def content(variable: xr.Variable) -> Hashable:
    """Everything of a variable; equal for equal values."""
    data = variable._data
    if isinstance(data, PandasIndexingAdapter):
        return (about(variable), _index(data.array))
    if isinstance(data, PositionalArray):
        return (about(variable), data._x.names, data._x.hidden, _values(data._x.raw))
    return (about(variable), _values(variable.data))


def _values(data: Any) -> Hashable:
    if backends.is_array(data) and not isinstance(data, (np.ndarray, np.generic)):
        return getattr(data, "name", id(data))  # a lazy array has a name that says how it is made
    host = np.asarray(data)
    values: Hashable = repr(host.tolist()) if host.dtype == object else host.tobytes()
    return (str(host.dtype), host.shape, values)


_INDEXES: dict[int, tuple[weakref.ref[Any], Hashable]] = {}


def _index(index: Any) -> Hashable:
    """Everything of a pandas index, remembered since it cannot be written to."""
    found = _INDEXES.get(id(index))
    if found is None or found[0]() is not index:
        gone = functools.partial(lambda key, _: _INDEXES.pop(key, None), id(index))
        found = _INDEXES[id(index)] = (weakref.ref(index, gone), (type(index), *index.names, _values(index.to_numpy())))
    return found[1]


def contents(variables: Mapping[Any, xr.Variable]) -> Hashable:
    """Everything of several variables."""
    return tuple((n, content(v)) for n, v in variables.items())
