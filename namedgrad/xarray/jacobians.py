"""Jacobians as xarray objects: output dims keep names and coordinates, those of the input get the suffix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xarray as xr

from namedgrad.array import DimArray
from namedgrad.axes import Axis, AxisError, Name
from namedgrad.rules.movement import concat
from namedgrad.rules.structure import relabel, reorder
from namedgrad.transforms.leaves import Block
from namedgrad.xarray.attrs import derivative_attrs
from namedgrad.xarray.convert import coordinates, data_for

PARAM = "param"


def jacobian(out: Any, by: Any, rows: Sequence[Sequence[Block]]) -> Any:
    """The blocks of one output leaf and one input leaf, at least one of them an xarray object.

    A Dataset of numbers is a vector of parameters: its blocks are stacked along ``param`` (output) and ``param_wrt``
    (input).  Other Datasets, and DataTrees, give one variable per variable; two of them a dict, output first.
    """
    outs, ins = _names(out), _names(by)
    table = {(o, i): b for o, row in zip(outs, rows, strict=True) for i, b in zip(ins, row, strict=True)}
    if isinstance(by, xr.Dataset) and all(not b.in_names for b in table.values()):
        return _of_parameters(out, by, outs, ins, table)
    arrays = {key: _array(b, out, by, *key) for key, b in table.items()}
    if not isinstance(by, SEVERAL):
        return _collected(out, {o: arrays[o, None] for o in outs})
    rows_by_name = {o: _collected(by, {i: arrays[o, i] for i in ins}) for o in outs}
    return rows_by_name if isinstance(out, SEVERAL) else rows_by_name[None]


SEVERAL = (xr.Dataset, xr.DataTree)


def join(path: str, name: Any) -> Any:
    """The name of a variable in a tree: that of its node in front, as the tree's user writes it."""
    return name if path == "." else f"{path}/{name}"


def _names(leaf: Any) -> list[Name]:
    if isinstance(leaf, xr.DataTree):
        return [join(path, n) for path, node in leaf.subtree_with_keys for n in _names(node.to_dataset())]
    if isinstance(leaf, xr.Dataset):
        return [n for n, v in leaf.data_vars.items() if v.dtype.kind in "fc"]
    return [None]


def _collected(leaf: Any, arrays: dict[Any, xr.DataArray]) -> Any:
    """Arrays by the names of a leaf's variables, in an object like the leaf."""
    if isinstance(leaf, xr.DataTree):
        nodes: dict[str, dict[Any, xr.DataArray]] = {path: {} for path, _ in leaf.subtree_with_keys}
        for key, a in arrays.items():
            path, _, name = key.rpartition("/")
            nodes[path or "."][name] = a
        return xr.DataTree.from_dict({p: _dataset(several) for p, several in nodes.items()}, name=leaf.name)
    return _dataset(arrays) if isinstance(leaf, xr.Dataset) else arrays[None]


def _dataset(arrays: dict[Any, xr.DataArray]) -> xr.Dataset:
    return xr.Dataset({n: a.variable for n, a in arrays.items()}, coords=_joint_coords(list(arrays.values())))


def _joint_coords(arrays: Sequence[xr.DataArray]) -> xr.Coordinates:
    variables = {n: v for a in arrays for n, v in a.coords.variables.items()}
    return coordinates(variables, {n: i for a in arrays for n, i in a.xindexes.items()})


def _of_parameters(out: Any, by: xr.Dataset, outs: list[Name], ins: list[Name], table: dict[Any, Block]) -> Any:
    """Columns stacked along ``param_wrt``; rows along ``param`` if the output is a Dataset of numbers too."""
    column = f"{PARAM}{next(iter(table.values())).suffix}"
    arrays = {}
    for o in outs:
        blocks = [table[o, i] for i in ins]
        stacked = _stack([b.array for b in blocks], column)
        block = blocks[0]._replace(array=stacked)
        arrays[o] = _array(block, out, by, o, None).assign_coords({column: list(ins)})
    if not isinstance(out, xr.Dataset) or any(b.out_names for b in table.values()):
        return _collected(out, arrays)
    rows = [_stack([table[o, i].array for i in ins], column) for o in outs]
    block = table[outs[0], ins[0]]._replace(array=_stack(rows, PARAM, first=True))
    return _array(block, out, by, None, None).assign_coords({PARAM: list(outs), column: list(ins)})


def _stack(arrays: Sequence[DimArray], dim: str, *, first: bool = False) -> DimArray:
    """Arrays along a new dim: after all others, or before the visible ones."""
    if any(dim in a.names for a in arrays):
        raise AxisError(f"jacobian: the name {dim!r} for the parameters is taken; choose another suffix=")
    x = concat(list(arrays), dim)
    rest = tuple(n for n in x.names if n != dim)
    hidden = tuple(n for n in rest if n in x.hidden)
    return reorder(x, (*hidden, dim, *rest[len(hidden) :]) if first else (*rest, dim))


def _array(block: Block, out: Any, by: Any, o: Name, i: Name) -> xr.DataArray:
    """One block with coordinates, name and attributes."""
    x, dims = _named_axes(block)
    out_part, by_part = _part(out, o), _part(by, i)
    variable = xr.Variable(dims, data_for(x, dims), _attrs(out_part, by_part))
    variables, indexes = _out_coords(out_part if isinstance(out, xr.DataTree) else out, block)
    more, more_indexes = _in_coords(by_part if isinstance(by, xr.DataTree) else by, block)
    if taken := [n for n in more if n in variables]:
        name = taken[0]
        raise AxisError(f"jacobian: the name {name!r} for a coordinate of the input is taken; choose another suffix=")
    return xr.DataArray(
        variable, coords=coordinates(variables | more, indexes | more_indexes), name=getattr(out_part, "name", None)
    )


def _part(leaf: Any, name: Name) -> Any:
    several: Any = leaf
    return several[name] if isinstance(leaf, SEVERAL) and name is not None else leaf


def _attrs(out: Any, by: Any) -> dict[str, Any]:
    own = getattr(by, "attrs", {}) if isinstance(by, (xr.DataArray, xr.Variable)) else {}
    made = derivative_attrs(out, getattr(by, "name", None), own, lambda: None)
    return {k: v for k, v in made.items() if k in ("units", "long_name")}


def _named_axes(block: Block) -> tuple[DimArray, tuple[Name, ...]]:
    """The array with a name for numbered axes, as xarray would give; and its visible dims in order."""
    names: dict[Name, Name] = {n: f"dim_{k}" for k, n in enumerate(block.out_names) if isinstance(n, Axis)}
    names |= {n: f"dim_{k}{block.suffix}" for k, n in enumerate(block.in_names) if not isinstance(n, (str, tuple))}
    x = relabel(block.array, names)
    return x, x.dims


def _coords_of(leaf: Any) -> tuple[dict[Name, xr.Variable], dict[Name, Any]]:
    if isinstance(leaf, (xr.DataArray, xr.Dataset)):
        return dict(leaf.coords.variables), dict(leaf.xindexes)
    return {}, {}


def _out_coords(leaf: Any, block: Block) -> tuple[dict[Name, xr.Variable], dict[Name, Any]]:
    variables, indexes = _coords_of(leaf)
    return {n: v for n, v in variables.items() if set(v.dims).issubset(block.out_names)}, indexes


def _in_coords(leaf: Any, block: Block) -> tuple[dict[Name, xr.Variable], dict[Name, Any]]:
    """Coordinates of the input along its dims, under the suffix."""
    variables, indexes = _coords_of(leaf)
    table = block.wrt_names
    mine = {n: v for n, v in variables.items() if v.dims and set(v.dims).issubset(table)}
    new = {n: table.get(n) or (f"{n}{block.suffix}" if isinstance(n, str) else (n, block.suffix)) for n in mine}
    renamed = {new[n]: xr.Variable([table[d] for d in v.dims], v.data, v.attrs, v.encoding) for n, v in mine.items()}
    moved = {id(i): i.rename(new, table) for n, i in indexes.items() if n in mine}
    return renamed, {new[n]: moved[id(i)] for n, i in indexes.items() if n in mine}
