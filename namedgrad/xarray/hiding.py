"""Dims of xarray objects hidden and shown again, and what becomes of their coordinates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from xarray.indexes import PandasIndex

from namedgrad import backends
from namedgrad.array import DimArray, make
from namedgrad.axes import NONE, Name, Names
from namedgrad.positional.array import PositionalArray
from namedgrad.rules.structure import relabel
from namedgrad.transforms.leaves import Over
from namedgrad.xarray.convert import data_for, hidden_names, named, numbered
from namedgrad.xarray.labels import label

# ------------------------------------------------------------------------------------------------ variables


def hide(variable: xr.Variable, names: Iterable[Name]) -> xr.Variable:
    """The variable without those dims, which become vectorized axes of its data."""
    gone = tuple(n for n in names if n in variable.dims)
    dims = tuple(d for d in variable.dims if d not in gone)
    x = relabel(_named_or_objects(variable), {}, hide=gone)
    return xr.Variable(dims, numbered(x, dims), variable.attrs, variable.encoding)


def _named_or_objects(variable: xr.Variable) -> DimArray:
    """The data under its dims; types that NumPy does not have (categories of a coordinate) become objects."""
    if backends.is_array(variable.data) or isinstance(variable.data, PositionalArray):
        return named(variable)
    return make(np.asarray(variable.values, dtype=object), variable.dims, NONE)


def show(variable: xr.Variable, names: Iterable[Name], order: Names | None = None) -> xr.Variable:
    """The variable with those of its vectorized axes as dims, in front unless an order is given."""
    back = tuple(n for n in names if n in hidden_names(variable))
    if not back:
        return variable
    dims = order or (*back, *variable.dims)
    return xr.Variable(dims, data_for(relabel(named(variable), {}, show=back), dims), variable.attrs, variable.encoding)


# ------------------------------------------------------------------------------------------------ coordinates


class Opened(NamedTuple):
    """An xarray object taken apart; a DataArray has one variable, called None."""

    data: dict[Any, xr.Variable]
    coords: dict[Name, xr.Variable]
    indexes: dict[Name, Any]


class Known(NamedTuple):
    """A coordinate along an ``over`` dim: as the user gave it, its index, and as the function sees it."""

    variable: xr.Variable
    index: Any
    label: xr.Variable


def hidden_coords(opened: Opened, names: Names) -> tuple[dict[Name, xr.Variable], dict[Name, Any]]:
    """Coordinates and indexes as the function sees them; equal ones of several arguments share their data."""
    labels = names.labels if isinstance(names, Over) else {}
    coords = {}
    for n, v in opened.coords.items():
        if set(names).isdisjoint(v.dims):
            coords[n] = v
        elif n in labels and (labels[n].variable is v or labels[n].variable.equals(v)):
            coords[n] = labels[n].label
        else:
            coords[n] = hidden_label(v, names)
    return coords, {n: i for n, i in opened.indexes.items() if coords[n] is opened.coords[n]}


def hidden_label(variable: xr.Variable, names: Names) -> xr.Variable:
    """A coordinate as the function sees it."""
    hidden = hide(variable, names)
    hidden.data = label(hidden.data._x, variable)
    return hidden


def shown_coords(result: Opened, dims: Names, names: Names) -> tuple[dict[Name, xr.Variable], dict[Name, Any]]:
    """Coordinates of a result whose hidden ``names`` became dims again."""
    labels: dict[Name, Known] = names.labels if isinstance(names, Over) else {}
    coords = {n: _original(v, names) for n, v in result.coords.items()}
    indexes = dict(result.indexes)
    for n, known in labels.items():
        fits = known.index is not None and n not in indexes and set(known.variable.dims).issubset(dims)
        if fits and coords.get(n, known.variable) is known.variable:
            coords[n], indexes[n] = known.variable, known.index
    for n, v in coords.items():
        if v.dims == (n,) and v is not result.coords.get(n) and n not in indexes and backends.is_array(v.data):
            indexes[n] = PandasIndex(v, n)
            coords[n] = indexes[n].create_variables({n: v})[n]
    return {n: v for n, v in coords.items() if set(v.dims).issubset(dims)}, indexes


def _original(variable: xr.Variable, names: Names) -> xr.Variable:
    source = getattr(variable._data, "source", None)
    if source is None or not set(hidden_names(variable)).difference(hidden_names(source)).issubset(names):
        return show(variable, names)
    renamed = tuple(d for d in source.dims if d not in names) != variable.dims
    return show(variable, names) if renamed else source
