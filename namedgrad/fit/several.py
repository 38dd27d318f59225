"""Residuals that come as several arrays, a Dataset for example: to a solver they are one list of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr

from namedgrad.array import DimArray
from namedgrad.fit.cells import NUMBER
from namedgrad.linear import Like
from namedgrad.rules.movement import join, merge
from namedgrad.rules.structure import spread
from namedgrad.transforms.grad import Output


def is_several(out: Output) -> bool:
    """Whether a function returned more than one array, and nothing else."""
    return len(out.parts) > 1 and all(out.tree.counts) and all(x.dtype.kind == "f" for x in out.parts)


def joined(out: Output) -> Output:
    """All arrays as one, along :data:`NUMBER`."""
    return Output(join([_line(x) for x in out.parts], NUMBER))


def _line(x: DimArray) -> DimArray:
    if x.dims:
        return merge(x, x.dims, NUMBER)
    return spread(x, Like((*x.names, NUMBER), (*x.full_shape, 1), x.dtype))


def divided(value: Any, sigma: Any) -> Any:
    """A structure of arrays divided by another one, or by one array."""
    if isinstance(value, Mapping) and not isinstance(value, xr.Dataset):
        parts = {n: divided(v, sigma[n] if isinstance(sigma, Mapping) else sigma) for n, v in value.items()}
        return value.assign(parts) if isinstance(value, xr.DataTree) else parts
    if isinstance(value, (list, tuple)):
        pairs = zip(value, sigma if isinstance(sigma, (list, tuple)) else [sigma] * len(value), strict=True)
        return type(value)(divided(v, s) for v, s in pairs)
    return value / sigma


def names_of(out: Output) -> list[Any]:
    """What to call the arrays."""
    (leaf, *more) = out.tree.leaves
    if isinstance(leaf, xr.Dataset) and not more:
        return [n for n, v in leaf.data_vars.items() if v.dtype.kind == "f"]
    if isinstance(leaf, xr.DataTree) and not more:
        return [
            f"{path}/{n}".removeprefix("./") for path, node in leaf.subtree_with_keys for n, v in node.data_vars.items()
            if v.dtype.kind == "f"
        ]  # fmt: skip
    return [".".join(map(str, path)) for path in out.tree.treedef.paths()]
