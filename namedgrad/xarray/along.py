"""Tangents and cotangents of xarray objects: they meet what they belong to by the names of variables and by labels."""

from __future__ import annotations

from typing import Any

import xarray as xr
from xarray.indexes import PandasIndex

from namedgrad.axes import AxisError
from namedgrad.xarray.moving import Moving


def along(own: Any, given: Any, what: str) -> Any:
    """``given`` with the float variables of ``own``, in its order, and labels in the order that they have there."""
    if isinstance(own, xr.DataTree):
        return _tree(own, _same(own, given, what), what)
    if isinstance(own, xr.Dataset):
        return _dataset(own, _same(own, given, what), what, "")
    return _labels(own, given, what) if isinstance(own, xr.DataArray) and isinstance(given, xr.DataArray) else given


def _same(own: Any, given: Any, what: str) -> Any:
    if not isinstance(given, type(own)):
        raise TypeError(f"the {what} of a {type(own).__name__} must be one too, got a {type(given).__name__}")
    return given


def _tree(own: xr.DataTree, given: xr.DataTree, what: str) -> xr.DataTree:
    theirs = {path: node.to_dataset() for path, node in given.subtree_with_keys}
    nodes = {}
    for path, node in own.subtree_with_keys:
        if path not in theirs:
            raise TypeError(f"the {what} has no node {path!r}; give it the nodes of the DataTree that it belongs to")
        nodes[path] = _dataset(node.to_dataset(), theirs[path], what, f" of node {path!r}")
    return xr.DataTree.from_dict(nodes, name=own.name)


def _dataset(own: xr.Dataset, given: xr.Dataset, what: str, where: str) -> xr.Dataset:
    names = [n for n, v in own.data_vars.items() if v.dtype.kind in "fc"]
    if missing := [n for n in names if n not in given.data_vars]:
        raise TypeError(f"the {what}{where} has no variable {missing[0]!r}; give zeros for what does not change")
    if extra := [n for n, v in given.data_vars.items() if v.dtype.kind in "fc" and n not in names]:
        raise TypeError(f"the {what}{where} has a variable {extra[0]!r}, but what is differentiated are {names}")
    whole = {n: given[n].astype(float) for n in names if given[n].dtype.kind in "biu"}
    return _labels(own, given[names].assign(whole), what)


def _labels(own: Any, given: Any, what: str) -> Any:
    """Labels in another order are brought into that of ``own``; other labels are an error: no pairing by position."""
    wanted = {}
    for dim, index in given.xindexes.items():
        mine = own.xindexes.get(dim)
        if not all(isinstance(i, PandasIndex) and not isinstance(i, Moving) for i in (mine, index)):
            continue
        if dim not in own.dims or mine.equals(index) or mine.index.size != index.index.size:
            continue  # sizes that differ are refused later
        if not mine.index.is_unique or not mine.index.sort_values().equals(index.index.sort_values()):
            raise AxisError(
                f"the {what} has other labels along {dim!r} than what it belongs to: align it with .reindex_like(...), "
                f"or leave them out with .drop_vars({dim!r}) to pair cells by position"
            )
        wanted[dim] = mine.index
    return given.reindex(wanted) if wanted else given
