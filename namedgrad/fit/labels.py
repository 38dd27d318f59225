"""Labels: of cells that an error names; and those that move with the coordinates of a model, which may make them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from namedgrad.axes import Name
from namedgrad.transforms.leaves import flatten, unflatten

Array = np.ndarray[Any, Any]
SHOWN = 3  # cells that an error names


def followers(data: Any, coordinates: Sequence[Array]) -> dict[Name, int]:
    """The coordinates whose values the labels of arguments are, by the dim of these."""
    found = dict[Name, int]()
    for dim, labels in _numbers(flatten(data)[0]):
        for k, values in enumerate(coordinates):
            if values.ndim == 1 and np.array_equal(labels, values):
                found.setdefault(dim, k)
    return found


def _numbers(leaves: Sequence[Any]) -> Iterator[tuple[Name, Array]]:
    """Labels that are numbers."""
    for leaf in leaves:
        if isinstance(leaf, (xr.DataArray, xr.Dataset)):
            own = ((dim, leaf.indexes[dim].values) for dim in leaf.dims if dim in leaf.indexes)
            yield from (pair for pair in own if pair[1].dtype.kind in "iuf")


def moved(data: Any, labels: Mapping[Name, Array]) -> Any:
    """Arguments with these labels in place of others."""
    leaves, how = flatten(data)
    return unflatten(how, [_moved(leaf, labels) for leaf in leaves])


def _moved(leaf: Any, labels: Mapping[Name, Array]) -> Any:
    if not isinstance(leaf, (xr.DataArray, xr.Dataset)):
        return leaf
    own = {dim: x for dim, x in labels.items() if dim in leaf.indexes}
    return leaf.assign_coords(own) if own else leaf


def places(where: xr.DataArray, at: Any) -> str:
    """The first of some cells, by label."""
    shown = []
    for position in np.stack(np.unravel_index(at[:SHOWN], where.shape), axis=-1).tolist():
        pairs = zip(where.dims, position, strict=True)
        shown.append("(" + ", ".join(f"{d}={where[d].values[i] if d in where.coords else i}" for d, i in pairs) + ")")
    return ", ".join(shown) + (", ..." if at.size > SHOWN else "")


def coordinate(obj: Any, name: str) -> xr.DataArray:
    """A coordinate or variable by name."""
    try:
        found: xr.DataArray = obj[name]
    except KeyError:
        raise KeyError(f"coords: there is no {name!r}{_others(obj, name)}") from None
    return found


def _others(obj: Any, name: str) -> str:
    """What there is in place of a coordinate; nodes of a tree may each have one of that name."""
    nodes = [n.path for n in obj.subtree if name in n.coords] if isinstance(obj, xr.DataTree) else []
    if nodes:
        return f" at the root of the tree; give that of a node, tree[{nodes[0]!r}][{name!r}]"
    return f", the coordinates are {tuple(obj.coords)}"
