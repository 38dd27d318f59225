"""``scan``: a loop over a named dim with bounded memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from namedgrad.array import DimArray, constant
from namedgrad.axes import AxisError, Name
from namedgrad.rules.loops import scan_rows
from namedgrad.rules.movement import concat, slice_of
from namedgrad.rules.movement.parts import unbind
from namedgrad.transforms.checkpoint import checkpoint
from namedgrad.transforms.leaves import flatten, map_leaves, unflatten
from namedgrad.transforms.tape import quiet


def scan(
    step: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: Any, dim: Name, checkpoint_every: int | None = None
) -> tuple[Any, Any]:
    """Loop over a named dim: ``carry, y = step(carry, x)`` for every slice ``x`` of ``xs``.

    Parameters
    ----------
    step : callable
    carry : nested structure
        The state.
    xs : nested structure of DimArray
        Every array that has ``dim`` is sliced along it; others are passed whole.
    dim : name, or the number of an axis for arrays without names
    checkpoint_every : int, optional
        Under differentiation, keep the carry of every so many steps and run the rest again; the default, the square
        root of the length, keeps about twice that many steps in memory. 1 keeps every carry and nothing in between.

    Returns
    -------
    carry, ys
        The last carry, and the outputs joined along ``dim``, which comes first. Where that is empty, they are, too, and
        ``step`` is called once, with zeros, for their other dims.

    Raises
    ------
    AxisError
        If no array in ``xs`` has ``dim``, or their sizes differ.

    Examples
    --------
    >>> import namedgrad as ng
    >>> total, sums = ng.scan(lambda c, x: (c + x, c + x), 0.0, ng.DimArray([1.0, 2.0, 3.0], ("t",)), "t")
    >>> sums.data
    array([1., 3., 6.])
    """
    length = _length(xs, dim)
    if checkpoint_every is not None and checkpoint_every < 1:
        raise ValueError(f"scan: checkpoint_every={checkpoint_every} is not a positive number of steps")
    every = checkpoint_every or max(1, math.isqrt(length))

    @checkpoint
    def segment(carry: Any, part: Any) -> tuple[Any, list[Any]]:
        return scan_rows(step, carry, _steps(part, dim))

    outputs: list[Any] = []
    for start in range(0, length, every):
        carry, ys = segment(carry, _slice(xs, dim, slice(start, min(start + every, length))))
        outputs += ys
    ys = _stack(outputs, dim) if length else _no_outputs(step, carry, xs, dim)
    return carry, _labelled(ys, xs, dim)


def _no_outputs(step: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: Any, dim: Name) -> Any:
    """The outputs of no steps: what one of zeros gives says their structure, dims and dtypes."""
    row = map_leaves(lambda x: _slice_leaf(_lengthened(x, dim), dim, 0), xs)
    with quiet():
        ys = _stack([step(carry, row)[1]], dim)
    return _slice(ys, 0 if isinstance(dim, int) else dim, slice(0, 0))


def _lengthened(x: Any, dim: Name) -> Any:
    """With one cell more along the dim, which holds 0."""
    if _size(x, dim) is None:
        return x
    if isinstance(dim, int):
        return np.pad(x, [(0, int(axis == dim % x.ndim)) for axis in range(x.ndim)])
    return x.pad({dim: (0, 1)}, constant_values=0)


def _size(leaf: Any, dim: Name) -> int | None:
    """Size of a leaf along the dim, None if it lacks it; an int numbers an axis of an array without names."""
    if isinstance(dim, int):
        shape = getattr(leaf, "shape", ())
        return shape[dim] if -len(shape) <= dim < len(shape) else None
    return leaf.sizes[dim] if dim in getattr(leaf, "dims", ()) else None


def _length(xs: Any, dim: Name) -> int:
    sizes = {n for n in (_size(x, dim) for x in flatten(xs)[0]) if n is not None}
    if len(sizes) != 1:
        found = f"sizes {sorted(sizes)}" if sizes else "no array with it"
        raise AxisError(f"scan: the arrays in xs must agree on the dim {dim!r} to loop over; found {found}")
    return sizes.pop()


def _slice(xs: Any, dim: Name, index: Any) -> Any:
    return map_leaves(lambda x: _slice_leaf(x, dim, index), xs)


def _steps(xs: Any, dim: Name) -> list[Any]:
    """Every slice; those of a DimArray are cut at once, so that their cotangents are joined once."""
    leaves, treedef = flatten(xs)
    length = _length(xs, dim)
    columns = [
        unbind(x, dim)
        if isinstance(x, DimArray) and _size(x, dim) is not None
        else [_slice_leaf(x, dim, i) for i in range(length)]
        for x in leaves
    ]
    return [unflatten(treedef, list(row)) for row in zip(*columns, strict=True)]


def _slice_leaf(x: Any, dim: Name, index: Any) -> Any:
    if _size(x, dim) is None:
        return x
    if isinstance(dim, int):
        return x[(slice(None),) * (dim % x.ndim) + (index,)]
    return slice_of(x, dim, index) if isinstance(x, DimArray) else x.isel({dim: index})


def _stack(outputs: list[Any], dim: Name) -> Any:
    split = [flatten(y) for y in outputs]
    columns = zip(*(leaves for leaves, _ in split), strict=True)
    return unflatten(split[0][1], [None if c[0] is None else _join(c, dim) for c in columns])


def _labelled(ys: Any, xs: Any, dim: Name) -> Any:
    """Outputs that are xarray objects with the labels of the dim, where steps have lost them: a carry has none."""
    given = [x for x in flatten(xs)[0] if hasattr(x, "isel") and not isinstance(x, DimArray) and dim in x.coords]
    if not given:
        return ys
    leaves, treedef = flatten(ys)
    for k, y in enumerate(leaves):
        if hasattr(y, "isel") and not isinstance(y, DimArray) and dim not in y.coords:
            leaves[k] = y.assign_coords({dim: given[0].coords[dim]})
    return unflatten(treedef, leaves)


def _join(column: tuple[Any, ...], dim: Name) -> Any:
    if isinstance(dim, int):
        return np.stack(column)
    if hasattr(column[0], "isel") and not isinstance(column[0], DimArray):
        import xarray as xr

        common = set.intersection(*(set(y.coords) for y in column))
        bare = [y.drop_vars([n for n in y.coords if n not in common]) for y in column]
        return xr.concat(bare, dim, data_vars="all", coords="different", compat="equals", join="exact")
    return concat([constant(y) for y in column], dim).transpose(dim, ...)
