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
    return (type(variable), variable.dims, told(variable.attrs))


def told(value: Any) -> Hashable:
    """Everything of attributes; arrays show some of their cells only, and some of their digits."""
    if backends.is_array(value):
        return _values(value)
    if isinstance(value, Mapping):
        return (type(value), *((k, told(v)) for k, v in value.items()))
    return (type(value), *map(told, value)) if isinstance(value, (list, tuple)) else repr(value)


_OPTIONS = (
    "arithmetic_broadcast", "arithmetic_compat", "arithmetic_join", "keep_attrs", "use_new_combine_kwarg_defaults",
)  # fmt: skip


def options() -> Hashable:
    """The options of xarray's on which results depend; not every version has all."""
    known = xr.get_options()
    return tuple(known.get(name) for name in _OPTIONS)


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
