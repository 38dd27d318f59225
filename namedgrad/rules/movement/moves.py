"""Cells moved along dims: flip, roll, shift, rot90."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.dims import mapping, pick, row_and_column
from namedgrad.rules.elementwise import c
from namedgrad.rules.movement.cuts import flip_axes, roll_axes, slice_of
from namedgrad.rules.movement.padding import pad
from namedgrad.rules.structure import equal, missing, positions, relabel, reorder, subtract, where


@operation(sample("real(a,b)", dim="a"), sample("real(a,b)"), method=True)
def flip(x: DimArray, dim: Any = None) -> DimArray:
    """Reverse the order along dims.

    Parameters
    ----------
    x : DimArray
    dim : name or names, optional
        Dims to reverse; all by default.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 3.0], ("x",)).flip("x").data
    array([3., 2., 1.])
    """
    dims = pick(x, dim, "flip")
    return flip_axes(x, dims) if dims else x


@operation(sample("real(a,b)", shifts={"a": 1}), sample("real(a,b)", shifts={"a": -2, "b": 5}), method=True)
def roll(x: DimArray, /, shifts: Mapping[Any, Any] | None = None, roll_coords: bool = False, **keywords: Any) -> DimArray:
    """Shift cyclically along dims.

    Parameters
    ----------
    x : DimArray
    shifts : mapping of dim to int, optional
        Or as keywords: ``a.roll(x=1)``, which moves the last cell to the front. One with vectorized axes is a shift
        per slice.
    roll_coords : bool
        Changes nothing, as there are no coordinates; here so that programs written for xarray run.
    **keywords : int
        The mapping in keyword form.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 3.0], ("x",)).roll(x=1).data
    array([3., 1., 2.])
    """
    table = mapping(x, shifts, keywords, "roll")
    for name in [n for n, by in table.items() if _per_slice(by)]:
        source, size = _source(x, name, table.pop(name))
        x = _read(x, name, e.remainder(source, c(size)))
    return roll_axes(x, tuple(table), shift=tuple(operator.index(s) for s in table.values())) if table else x


def _per_slice(by: Any) -> bool:
    """Whether vectorized axes have a shift each."""
    return isinstance(by, DimArray) and bool(by.vectorized) and not by.ndim


def _source(x: DimArray, name: Name, by: DimArray) -> tuple[DimArray, int]:
    """From where along a dim its cells come, and its size."""
    return subtract(positions(extent(x, name), name, x), by), extent(x, name)


def _read(x: DimArray, name: Name, at: DimArray) -> DimArray:
    from namedgrad.rules.indexing import isel

    out = isel(x, {name: at})
    return reorder(out, (*(n for n in out.names if n not in x.names), *x.names))


@operation(sample("real(a,b)", shifts={"a": 1}), sample("real(a,b)", shifts={"a": -2, "b": 1}, fill_value=0.5), method=True)
def shift(
    x: DimArray, /, shifts: Mapping[Any, Any] | None = None, fill_value: Any = np.nan, **keywords: Any
) -> DimArray:
    """Shift along dims; cells that leave are lost.

    Parameters
    ----------
    x : DimArray
    shifts : mapping of dim to int, optional
        Or as keywords: ``a.shift(x=1)``. One with vectorized axes is a shift per slice.
    fill_value : scalar
        What enters: NaN by default, as in xarray.
    **keywords : int
        The mapping in keyword form.

    Returns
    -------
    DimArray

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.DimArray([1.0, 2.0, 3.0], ("x",)).shift(x=1).data
    array([nan,  1.,  2.])
    """
    for name, by in mapping(x, shifts, keywords, "shift").items():
        n = extent(x, name)
        if _per_slice(by):
            source, _ = _source(x, name, by)
            at = e.clip(source, 0, n - 1)
            fill = missing(x) if isinstance(fill_value, float) and math.isnan(fill_value) else constant(fill_value)
            x = where(equal(at, source), _read(x, name, at), fill) if n else x
            continue
        k = max(-n, min(n, operator.index(by)))
        if k:
            kept = slice_of(x, name, slice(0, n - k) if k > 0 else slice(-k, n))
            x = pad(kept, {name: (k, 0) if k > 0 else (0, -k)}, constant_values=fill_value)
    return x


@operation(sample("real(a,b,c)", dims=("a", "b")), sample("real(a,b)", dims=("b", "a"), k=2), sample("complex(a,b)", dims=("a", "b"), k=-1))
def rot90(x: DimArray, dims: Sequence[Name], k: int = 1) -> DimArray:
    """Rotate by quarter turns in the plane of two dims.

    Parameters
    ----------
    x : DimArray
    dims : (first, second)
        One turn moves cells from the first dim towards the second.
    k : int
        How many turns.

    Returns
    -------
    DimArray
        With the dims of ``x``; an odd number of turns exchanges the sizes of the two.

    Raises
    ------
    AxisError
        If ``dims`` are not two visible dims.

    Notes
    -----
    As :func:`numpy.rot90` and ``torch.rot90``.

    Examples
    --------
    >>> import namedgrad as ng
    >>> ng.rot90(ng.DimArray([[1, 2], [3, 4]], ("x", "y")), ("x", "y")).data
    array([[2, 4],
           [1, 3]])
    """
    first, second = row_and_column(x, dims, "rot90")
    if k % 4 == 0:
        return x
    if k % 4 == 2:
        return flip_axes(x, (first, second))
    turned = relabel(flip_axes(x, (second if k % 4 == 1 else first,)), {first: second, second: first})
    return reorder(turned, x.names)
