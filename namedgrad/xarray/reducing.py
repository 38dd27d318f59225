"""``reduce`` of DimArrays and of their windows: any function of an array with numbered axes, as xarray calls it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from namedgrad.array import DimArray, describe
from namedgrad.axes import AxisError, Names
from namedgrad.positional.axis import named
from namedgrad.positional.operands import unwrap
from namedgrad.rules.dims import at_axis, pick
from namedgrad.rules.methods import keep_attrs_by_name
from namedgrad.rules.movement.coarsening import Coarsen
from namedgrad.rules.reductions import present
from namedgrad.rules.reductions.common import restore
from namedgrad.rules.structure import reorder
from namedgrad.rules.windows.rolling import Rolling
from namedgrad.xarray.convert import data_for


def reduce(
    x: DimArray, func: Callable[..., Any], dim: Any = None, *, axis: Any = None, keepdims: bool = False, **kwargs: Any
) -> DimArray:
    """Dims reduced by any function.

    Parameters
    ----------
    x : DimArray
    func : callable
        Called as xarray calls it, ``func(array, axis=axis, **kwargs)``, with an array whose axes are numbered, which
        NumPy's functions take and which may be differentiated; without ``axis`` if no dims are named. A function with a
        parameter ``dim`` gets the DimArray and the names instead.
    dim : name or names, optional
        Dims to reduce; all by default.
    axis : int or sequence of int, optional
        The dims by their places instead.
    keepdims : bool
        Keep the reduced dims with size 1.
    **kwargs
        Other arguments of the function.

    Returns
    -------
    DimArray
        Without the reduced dims; with all of them where the function gives an array of the same shape.

    Raises
    ------
    AxisError
        If a dim is unknown, or vectorized, or the function gives another number of axes.
    TypeError
        If both ``dim`` and ``axis`` are given.

    Notes
    -----
    The derivative is that of what the function calls. :meth:`xarray.DataArray.reduce`.

    Examples
    --------
    >>> import numpy as np, namedgrad as ng
    >>> a = ng.DimArray([[1.0, 4.0], [2.0, 9.0]], ("x", "y"))
    >>> a.reduce(lambda v, axis: np.sort(v, axis).take(-1, axis), "y").data
    array([4., 9.])
    """
    if dim is not None and axis is not None:
        raise TypeError("reduce: give dim= or axis=, not both")
    dim = dim if axis is None else at_axis(x, axis, "reduce")
    return _reduced(x, func, dim, pick(x, dim, "reduce"), kwargs, keepdims=keepdims)


def _reduced(
    x: DimArray, func: Callable[..., Any], dim: Any, dims: Names, kwargs: dict[str, Any], *, keepdims: bool = False
) -> DimArray:
    if _takes_names(func):
        return restore(func(x, dim=dims, **kwargs), x, dims, keepdims)
    if dim is not None and dim is not Ellipsis:
        places = tuple(x.dims.index(n) for n in dims)
        kwargs = {"axis": places[0] if len(places) == 1 else places, **kwargs}
    out = unwrap(func(data_for(x, x.dims), **kwargs), "reduce: the result of the function")
    if out.shape == x.shape:
        return named(out, x.dims)
    rest = tuple(n for n in x.dims if n not in dims)
    if out.ndim != len(rest):
        raise AxisError(
            f"reduce: the function gave the shape {out.shape} for the dims {rest} of {describe(x)}; "
            "let it return an array without the reduced axes, or one of the shape that it was given"
        )
    return restore(named(out, rest), x, dims, keepdims)


def _takes_names(func: Callable[..., Any]) -> bool:
    try:
        return "dim" in inspect.signature(func).parameters
    except ValueError:  # built in
        return False


def _of_windows(
    self: Rolling, func: Callable[..., Any], *, sliding_window_view_kwargs: Any = None, **kwargs: Any  # noqa: ARG001
) -> DimArray:
    """Windows reduced by any function, as :meth:`DimArray.reduce` calls it; cells outside of the array are NaN."""
    runs, offsets = self._cells(self.x, math.nan)
    runs = reorder(runs, (*(n for n in runs.names if n not in offsets), *offsets))
    return self._enough(_reduced(runs, func, offsets, offsets, kwargs), self._counts(present(self.x, None)))


def _of_blocks(self: Coarsen, func: Callable[..., Any], **kwargs: Any) -> DimArray:
    """Every block reduced by any function, as :meth:`DimArray.reduce` calls it."""
    cells = tuple(self.blocks.values())
    return _reduced(self.x, func, cells, cells, kwargs)


DimArray.reduce, Rolling.reduce, Coarsen.reduce = reduce, _of_windows, _of_blocks  # type: ignore[attr-defined]
for _kind in (DimArray, Rolling, Coarsen):
    keep_attrs_by_name(_kind, ("reduce",))
