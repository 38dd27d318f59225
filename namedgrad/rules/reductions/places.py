"""Truth and places: any, all, argmax and their like; no gradient passes."""

from __future__ import annotations

import math
from typing import Any

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, extent
from namedgrad.axes import Name, Names
from namedgrad.primitive import operation, reduction, sample, zeros_of
from namedgrad.rules import elementwise as e
from namedgrad.rules.control import stop_gradient
from namedgrad.rules.dims import pick, pick_one
from namedgrad.rules.elementwise import c
from namedgrad.rules.movement.stacking import merge
from namedgrad.rules.reductions.common import present, refuse_empty, restore
from namedgrad.rules.structure import cast, where

_TRUTH = """{first}

Parameters
----------
x : DimArray
dim : name or names, optional
    Dims to reduce; all by default.
keepdims : bool
    Keep the reduced dims with size 1.

Returns
-------
DimArray
    Booleans; no gradient passes.

Raises
------
AxisError
    If a dim is unknown, or vectorized.

Examples
--------
>>> import namedgrad as ng
>>> ng.{kernel}(ng.DimArray([False, True], ("x",)), "x").item()
{result}
"""


def _truth(kernel: str, first: str, result: str) -> Any:
    prim = reduction(kernel)

    def function(x: DimArray, dim: Any = None, *, keepdims: bool = False) -> DimArray:
        dims = pick(x, dim, kernel)
        return restore(prim(x, dims) if dims else cast(x, bool), x, dims, keepdims)

    function.__name__ = function.__qualname__ = kernel
    function.__doc__ = _TRUTH.format(kernel=kernel, first=first, result=result)
    return operation(sample("real(a,b)", dim="a"), sample("bool(a,b)"), method=True, differentiable=False)(function)


any = _truth("any", "Whether any cell is true.", "True")
all = _truth("all", "Whether every cell is true.", "False")


# ------------------------------------------------------------------------------------------------ positions

_PLACE = """Position of the {kind} value.

Parameters
----------
x : DimArray
dim : name or names, list of names or ..., optional
    Dims to reduce; all by default.
skipna : bool, optional
    Leave NaN out; the default for floats. Else the first NaN is the {kind} value, as in NumPy.
keepdims : bool
    Keep the reduced dims with size 1.

Returns
-------
DimArray or dict of dim to DimArray
    The first of several; over several dims, in a tuple or by default, a position among them joined in the call's order.
    For a list, as ``...`` is of all dims, the position along each of them instead, as in xarray: what :func:`isel` takes.
    No gradient passes.

Raises
------
AxisError
    If a dim is unknown, or vectorized.
ValueError
    If there is no cell, or NaN is left out and nothing remains.

Examples
--------
>>> import namedgrad as ng
>>> ng.{kernel}(ng.DimArray([4.0, 7.0, 7.0], ("x",)), "x").item()
{result}
>>> a = ng.DimArray([[4.0, 7.0], [2.0, 7.0]], ("x", "y"))
>>> at = a.{kernel}(...)
>>> at["x"].item(), at["y"].item(), a.isel(at).item()
{several}
"""

_ARG = {kernel: (reduction(kernel), fill) for kernel, fill in (("argmax", -math.inf), ("argmin", math.inf))}


def _filled(x: DimArray, kernel: str, skipna: bool | None) -> tuple[DimArray, DimArray | None]:
    """The array with its NaN out of the way, and the mask of the others."""
    mask = present(x, skipna)
    return (x, None) if mask is None else (where(mask, x, c(_ARG[kernel][1])), mask)


def _position(x: DimArray, dims: Names, kernel: str) -> DimArray:
    refuse_empty(x, dims, kernel)
    if len(dims) > 1:
        name: Name = axes.local(("places", dims))
        x, dims = merge(x, dims, name), (name,)
    return _ARG[kernel][0](x, dims)


def place(x: DimArray, dims: Names, kernel: str, skipna: bool | None) -> DimArray:
    """Position of the ``kernel``, "argmax" or "argmin", among the cells of dims in their order."""
    if not dims:  # one cell is at position 0
        return cast(zeros_of(stop_gradient(x)), "int64")
    y, mask = _filled(stop_gradient(x), kernel, skipna)
    if mask is not None:
        _refuse_nan(any(mask, dims), kernel)
    return _position(y, dims, kernel)


def _along_each(x: DimArray, dims: Names, at: DimArray) -> dict[Name, DimArray]:
    """A position among the cells of dims as one along each of them."""
    found: dict[Name, DimArray] = {}
    for d in reversed(dims):
        size = c(extent(x, d))
        found[d], at = e.remainder(at, size), e.floor_divide(at, size)
    return {d: found[d] for d in dims}


def _place(kernel: str, kind: str, result: str, several: str) -> Any:
    def function(x: DimArray, dim: Any = None, *, skipna: bool | None = None, keepdims: bool = False) -> Any:
        dims = pick(x, dim, kernel)
        at = place(x, dims, kernel, skipna)
        if dim is Ellipsis or isinstance(dim, list):
            return {d: restore(k, x, dims, keepdims) for d, k in _along_each(x, dims, at).items()}
        return restore(at, x, dims, keepdims)

    function.__name__ = function.__qualname__ = kernel
    function.__doc__ = _PLACE.format(kernel=kernel, kind=kind, result=result, several=several)
    return operation(sample("real(a,b)", dim="a"), sample("real(a,b)"), sample("missing(a,b)", dim="b", skipna=False), method=True,
                     differentiable=False)(function)


def _refuse_nan(some: DimArray, what: str) -> None:
    if backends.may_look(some.raw) and not backends.backend_of(some.raw).to_numpy(some.raw).all():
        raise ValueError(f"{what}: all cells of a slice are NaN; fill them first, with .fillna or ng.where")


argmax = _place("argmax", "largest", "1", "(0, 1, 7.0)")
argmin = _place("argmin", "smallest", "0", "(1, 0, 2.0)")

_LABEL = """Where along a dim the {kind} value is.

Parameters
----------
x : DimArray
dim : name, optional
    Needed unless there is one dim only.
skipna : bool, optional
    Leave NaN out; the default for floats.
fill_value : scalar
    What a slice without any number gives.

Returns
-------
DimArray
    Positions, since a DimArray has no coordinates; on a DataArray, labels. Of floats with NaN left out they are floats
    themselves, so that ``fill_value`` has a place, as in xarray. No gradient passes.

Raises
------
AxisError
    If the dim is unknown, or vectorized.
ValueError
    If there is no cell.

Examples
--------
>>> import namedgrad as ng
>>> ng.{name}(ng.DimArray([4, 7, 7], ("x",)), "x").item()
{result}
"""


def _label(name: str, kernel: str, kind: str, result: str) -> Any:
    def function(x: DimArray, dim: Any = None, *, skipna: bool | None = None, fill_value: Any = math.nan) -> DimArray:
        own = pick_one(x, dim, name)
        x = stop_gradient(x)
        y, mask = _filled(x, kernel, skipna)
        at = _position(y, (own,), kernel)
        if skipna is False or x.dtype.kind not in "fc":
            return at
        at = cast(at, "float64")
        return at if mask is None else where(any(mask, (own,)), at, constant(fill_value))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _LABEL.format(name=name, kind=kind, result=result)
    return operation(sample("real(a,b)", dim="a"), sample("missing(a,b)", dim="b", fill_value=-1.0), method=True, differentiable=False)(
        function
    )


idxmax = _label("idxmax", "argmax", "largest", "1")
idxmin = _label("idxmin", "argmin", "smallest", "0")
