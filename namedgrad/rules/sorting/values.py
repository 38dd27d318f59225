"""Which values there are: the most frequent one, all distinct ones, and where they are not 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, describe, extent, make, refuse_while_recording
from namedgrad.axes import NONE, AxisError, Name
from namedgrad.primitive import operation, sample
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import pick_one
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import gather
from namedgrad.rules.movement.cuts import flip_axes
from namedgrad.rules.reductions.common import refuse_empty
from namedgrad.rules.reductions.places import argmax
from namedgrad.rules.scans.extremes import run_starts, running_position
from namedgrad.rules.sorting.order import sort_axis
from namedgrad.rules.structure import equal, positions, reorder, subtract, where
from namedgrad.trace import innermost


@operation(sample("index_c(a,nine)", dim="nine"), sample("real(a,b)", dim="b"))
def mode(x: DimArray, dim: Any = None, *, return_indices: bool = False) -> DimArray | tuple[DimArray, DimArray]:
    """The most frequent value along a dim, the smallest of several.

    Parameters
    ----------
    x : DimArray
    dim : name, optional
        Needed unless there is one dim only.
    return_indices : bool
        Give the position of its last occurrence as well.

    Returns
    -------
    DimArray
        Without the dim; with ``return_indices`` a tuple of it and of the position.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.
    ValueError
        If there is no cell.

    Notes
    -----
    The derivative goes to the last cell that has the value. As ``torch.mode``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> value, at = ng.mode(ng.DimArray([3.0, 1.0, 3.0, 2.0], ("x",)), return_indices=True)
    >>> value.item(), at.item()
    (3.0, 2)
    """
    name = pick_one(x, dim, "mode")
    refuse_empty(x, (name,), "mode")
    flat = stop_gradient(x)
    line = sort_axis(flat, name)
    n = extent(x, name)
    start = running_position(run_starts(line, name), name, 0)
    run = reorder(subtract(positions(n, name, x), start), line.names)  # how many equal cells come before, in order
    value = gather(line, {name: argmax(run, name)})
    if x.level is None and not return_indices:
        return reorder(value, tuple(k for k in x.names if k != name))
    back = argmax(flip_axes(equal(flat, value), (name,)), name)
    at = where(equal(value, value), subtract(c(n - 1), back), c(0))  # all are NaN: the first one
    out = gather(x, {name: at})
    return (out, at) if return_indices else out


def _plain(x: DimArray, what: str, instead: str) -> Any:
    """The values, where their number may decide a size."""
    if x.hidden:
        raise AxisError(f"{what}: the size of the result differs from slice to slice of {describe(x)}; {instead}")
    raw = innermost(x).raw
    if backends.backend_of(raw).name == "dask":
        raise TypeError(f"{what}: the size of the result depends on values that are not computed yet; {instead}, or .compute() first")
    refuse_while_recording(what, instead, raw)
    return raw if backends.is_array(raw) else np.asarray(raw)


def unique(x: DimArray, *, new_dim: Name = "unique") -> DimArray:
    """The distinct values, in ascending order.

    Parameters
    ----------
    x : DimArray
    new_dim : name
        The dim of the result.

    Returns
    -------
    DimArray
        No gradient passes.

    Raises
    ------
    AxisError
        If there are vectorized axes: each slice has another number of values.
    TypeError
        If the values are not known yet: on dask.
    TraceError
        While a program is being recorded.

    Notes
    -----
    As :func:`numpy.unique`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.unique(ng.DimArray([3, 1, 3], ("x",)))
    <DimArray (unique: 2) int64>
    array([1, 3])
    """
    raw = _plain(x, "unique", "sort(x) and compare neighbours")
    axes.check_names((new_dim,))
    return make(backends.call(backends.backend_of(raw).function("unique"), raw), (new_dim,), NONE)


def nonzero(x: DimArray, *, new_dim: Name = "point") -> dict[Name, DimArray]:
    """Where an array is not 0: positions by dim, for pointwise indexing.

    Parameters
    ----------
    x : DimArray
    new_dim : name
        The dim that counts the cells found.

    Returns
    -------
    dict of name to DimArray
        ``x.isel(ng.nonzero(x))`` are the cells. No gradient passes.

    Raises
    ------
    AxisError
        If there are vectorized axes: each slice has another number of cells.
    TypeError
        If the values are not known yet: on dask.
    TraceError
        While a program is being recorded.

    Notes
    -----
    As :func:`numpy.nonzero`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> x = ng.DimArray([[0.0, 2.0], [3.0, 0.0]], ("x", "y"))
    >>> {name: at.data.tolist() for name, at in ng.nonzero(x).items()}
    {'x': [0, 1], 'y': [1, 0]}
    """
    raw = _plain(x, "nonzero", "where(x != 0, ...)")
    axes.check_names((new_dim,))
    found = backends.call(backends.backend_of(raw).function("nonzero"), raw)
    return {n: make(at, (new_dim,), NONE) for n, at in zip(innermost(x).names, found, strict=True)}
