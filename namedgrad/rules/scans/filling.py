"""Missing cells filled with the nearest ones before or behind them."""

from __future__ import annotations

from typing import Any

from namedgrad.array import DimArray, extent
from namedgrad.axes import Name
from namedgrad.primitive import operation, sample
from namedgrad.rules import elementwise as e
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import pick_one
from namedgrad.rules.elementwise import c
from namedgrad.rules.indexing import gather
from namedgrad.rules.movement.cuts import flip_axes
from namedgrad.rules.reductions.common import present
from namedgrad.rules.scans.extremes import running_position
from namedgrad.rules.structure import equal, missing, negative, positions, reorder, subtract, where


@operation(sample("missing(a,b)", dim="b"), sample("missing(a,b)", dim="a", limit=1), method=True)
def ffill(x: DimArray, dim: Any = None, limit: int | None = None) -> DimArray:
    """NaN filled with the last number before it.

    Parameters
    ----------
    x : DimArray
    dim : name, optional
        Needed unless there is one dim only.
    limit : int, optional
        How many cells in a row are filled at most.

    Returns
    -------
    DimArray
        With the dims of ``x``; NaN where no number comes before.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.

    Notes
    -----
    The derivative goes to the cell that the value comes from. As :meth:`xarray.DataArray.ffill`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> nan = float("nan")
    >>> ng.DimArray([nan, 1.0, nan, nan], ("x",)).ffill("x", limit=1).data
    array([nan,  1.,  1., nan])
    """
    return _filled(x, pick_one(x, dim, "ffill"), limit, back=False)


@operation(sample("missing(a,b)", dim="b"), sample("missing(a,b)", dim="a", limit=1), method=True)
def bfill(x: DimArray, dim: Any = None, limit: int | None = None) -> DimArray:
    """NaN filled with the next number behind it.

    Parameters
    ----------
    x : DimArray
    dim : name, optional
        Needed unless there is one dim only.
    limit : int, optional
        How many cells in a row are filled at most.

    Returns
    -------
    DimArray
        With the dims of ``x``; NaN where no number comes behind.

    Raises
    ------
    AxisError
        If the dim is unknown, or vectorized.

    Notes
    -----
    The derivative goes to the cell that the value comes from. As :meth:`xarray.DataArray.bfill`.

    Examples
    --------
    >>> import namedgrad as ng
    >>> nan = float("nan")
    >>> ng.DimArray([nan, 1.0, nan, 2.0], ("x",)).bfill("x").data
    array([1., 1., 2., 2.])
    """
    return _filled(x, pick_one(x, dim, "bfill"), limit, back=True)


def _filled(x: DimArray, name: Name, limit: int | None, *, back: bool) -> DimArray:
    mask = _known(x)
    if mask is None:
        return x
    n = extent(x, name)
    near = running_position(flip_axes(mask, (name,)) if back else mask, name, 0)
    if back:  # the mask and the positions are turned, which are small or made anew, not x
        near = subtract(c(n - 1), flip_axes(near, (name,)))  # in this order it is contiguous
    out = gather(x, {name: near})
    known = None if x.level is None else _known(out)  # without a number the outermost cell, which is missing, had a gradient
    if limit is not None:
        ahead = subtract(near, positions(n, name, x))
        close = e.less_equal(ahead if back else negative(ahead), c(limit))
        known = close if known is None else e.logical_and(known, close)
    return reorder(out if known is None else where(known, out, missing(out)), x.names)


def _known(x: DimArray) -> DimArray | None:
    """Mask of the cells that are neither NaN nor NaT, or None for all."""
    x = stop_gradient(x)
    return equal(x, x) if x.dtype.kind in "mM" else present(x, None)
