"""Groups and bins of what is differentiated: their cells are fixed, their labels move."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from namedgrad import ops
from namedgrad.array import TraceError
from namedgrad.xarray.holding import holds

Call = Callable[..., Any]


def by_values(original: Call, self: Any, group: Any) -> Any:
    """In which bin or group a value lies is fixed while it is differentiated."""
    try:
        values = np.asarray(ops.FUNCTIONS["stop_gradient"](group.data))
    except TypeError:
        raise TraceError(
            "groupby: in which bin or group a value lies differs per slice under over=, or is not known yet in a "
            "compiled program and on dask; take each bin by a mask, x.where((v > low) & (v <= high)).mean(...), and "
            "each group by x.where(v == label)"
        ) from None
    return original(self, group.copy(deep=False, data=values))


def by_label(original: Call, self: Any, group: Any) -> Any:
    """The label of a group is the first of the values that are equal, as in ``np.unique``."""
    found = by_values(original, self, group)
    if self.labels is None:
        codes, first = np.unique(found.codes.data, return_index=True)
        name, values = found.unique_coord.dims[0], group.data.reshape(-1)[first[codes >= 0]]
        found.unique_coord = xr.Variable((name,), values, found.unique_coord.attrs)
        found.coords = xr.Coordinates({name: found.unique_coord})
    return found


def labels_of_several(original: Call, self: Any, obj: Any) -> Any:
    """An index of several variables leaves the trace: labels of groups by it are put back."""
    out = original(self, obj)
    ours = [g for g in self.groupers if holds(g.unique_coord) and g.name in out.dims and g.name in out.coords]
    at = {g.name: {g.name: g.full_index.get_indexer(out.coords[g.name].data)} for g in ours}
    return out.assign_coords({g.name: g.unique_coord.isel(at[g.name]) for g in ours})


def each_of_several(original: Call, self: Any) -> Any:
    """Groups with their labels, of which the index of several variables has the values."""
    for labels, group in original(self):
        ours = (holds(g.unique_coord) for g in self.groupers)
        at = (g.full_index.get_loc(v) for g, v in zip(self.groupers, labels, strict=True))
        triples = zip(self.groupers, labels, ours, at, strict=True)
        yield tuple(g.unique_coord.data[k] if own else v for g, v, own, k in triples), group


def with_groups(original: Call, self: Any, obj: Any, groupers: Any, **options: Any) -> None:
    """Groups are looked up by values."""
    original(self, obj, groupers, **options)
    self._groups = dict(zip(self.encoded.full_index, filter(None, self.encoded.group_indices), strict=True))


def together(original: Call, func: Call, *args: Any) -> Any:
    """Groups meet other objects by their values; what is combined of them has the labels that move."""
    (grouper,) = next(a for a in args if hasattr(a, "groupers")).groupers
    kept = grouper.encoded
    fixed = np.asarray(ops.FUNCTIONS["stop_gradient"](kept.unique_coord.data))
    grouper.encoded = copy.copy(kept)
    grouper.encoded.unique_coord = kept.unique_coord.copy(data=fixed)
    try:
        return original(func, *args)
    finally:
        grouper.encoded = kept
