"""Labels that are differentiated, for dims that get them as labels: ``reindex``, ``expand_dims``, ``xr.concat``.

Which cells have them is found by the values that they have; the coordinate is the one that is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from xarray.core.indexes import Indexes
from xarray.indexes import PandasIndex

from namedgrad.xarray.seams import holds

Call = Callable[..., Any]


def _data(given: Any) -> Any:
    """Labels, which may be several numbers."""
    if isinstance(given, (list, tuple)):
        return np.stack([_data(v) for v in given])
    return given.data if isinstance(given, (xr.DataArray, xr.Variable)) else given


def _index(name: Any, given: Any) -> PandasIndex:
    return PandasIndex.from_variables({name: xr.Variable((name,), _data(given))}, options={})


def given_indexes(original: Call, indexes: Mapping[Any, Any]) -> Indexes[Any]:
    """Labels for objects to have, by name."""
    new = {n: _index(n, v) for n, v in indexes.items() if holds(v) and getattr(v, "dims", (n,)) == (n,)}
    rest = original({n: v for n, v in indexes.items() if n not in new})
    variables = {n: v for i in new.values() for n, v in i.create_variables().items()}
    return Indexes({**rest, **new}, {**rest.variables, **variables})


def new_dim(original: Call, given: Any) -> tuple[Any, PandasIndex]:
    """The dim along which ``concat`` puts objects, and its labels."""
    dim, _ = original(given.copy(data=np.arange(given.size)) if hasattr(given, "dims") else np.arange(len(given)))
    return dim, _index(dim, given)


def expand_dims(
    original: Call, self: xr.Dataset, dim: Any = None, axis: Any = None, create_index_for_new_dim: Any = True,
    **dims: Any,
) -> xr.Dataset:  # fmt: skip
    """New dims, which get their labels afterwards."""
    given = dims if dim is None else dim
    labels = {n: v for n, v in given.items() if holds(v)}
    counts = {n: np.arange(len(v)) for n, v in labels.items()}
    out = original(self, {**given, **counts}, axis, create_index_for_new_dim)
    variables = {n: xr.Variable((n,), _data(v)) for n, v in labels.items()}
    indexes = {n: _index(n, v) for n, v in variables.items()} if create_index_for_new_dim else {}
    return out.assign_coords(xr.Coordinates(variables, indexes=indexes))
