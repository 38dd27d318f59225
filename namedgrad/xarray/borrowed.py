"""Methods of DataArrays that DimArrays have as DataArrays without coordinates."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import xarray as xr

from namedgrad.array import DimArray
from namedgrad.xarray.convert import data_for, named, numbered

_DOC = """{summary}

Parameters
----------
*args, **kwargs
    Those of :meth:`xarray.DataArray.{name}`; a DimArray where that takes a DataArray. Positions 0, 1, 2, ... along a
    dim stand for its coordinate.

Returns
-------
DimArray{more}

Examples
--------
>>> import namedgrad as ng
>>> {example}
{result}
"""


class Borrowed:
    """What a method of xarray's gives to be reduced, such as groups: its own methods give DimArrays.

    Examples
    --------
    >>> import namedgrad as ng
    >>> groups = ng.DimArray([1.0, 2.0, 4.0], "x").groupby(ng.DimArray([0, 1, 0], "x"))
    >>> groups.sum().data
    array([5., 2.])
    """

    __slots__ = ("_of",)

    def __init__(self, of: Any) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of, name)
        return _called_with_dimarrays(found) if callable(found) else found

    def __dir__(self) -> list[str]:
        return dir(self._of)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._of!r}>"


def _called_with_dimarrays(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _back(method(*map(_there, args), **{k: _there(v) for k, v in kwargs.items()}))

    return call


def _there(value: Any, name: Any = "group") -> Any:
    """An operand as a DataArray, which has to have a name where it groups; functions are given DimArrays."""
    if isinstance(value, DimArray):
        return xr.DataArray(data_for(value, value.dims), dims=value.dims, name=name)
    return _given_dimarrays(value) if callable(value) and not isinstance(value, type) else value


def _given_dimarrays(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        own = (named(a.variable) if isinstance(a, xr.DataArray) else a for a in args)
        return _there(function(*own, **kwargs), None)

    return call


def _back(value: Any) -> Any:
    return named(value.variable) if isinstance(value, xr.DataArray) else Borrowed(value)


def _borrow(name: str, summary: str, more: str, example: str, result: str) -> None:
    def method(self: DimArray, *args: Any, **kwargs: Any) -> Any:
        own = xr.DataArray(numbered(self, self.dims), dims=self.dims)  # ours, so that no other package is needed
        return _called_with_dimarrays(getattr(own, name))(*args, **kwargs)

    method.__name__, method.__qualname__ = name, f"DimArray.{name}"
    method.__doc__ = _DOC.format(name=name, summary=summary, more=more, example=example, result=result)
    method.__wrapped__ = getattr(xr.DataArray, name)  # type: ignore[attr-defined]  # which tells the parameters
    setattr(DimArray, name, method)


_REDUCED = " by its methods, which are xarray's"
_borrow(
    "interpolate_na", "NaN filled in from their neighbours along a dim.", "",
    'ng.DimArray([1.0, float("nan"), 4.0], "x").interpolate_na("x").data', "array([1. , 2.5, 4. ])",
)  # fmt: skip
_borrow(
    "groupby", 'Groups of cells by the values of a DimArray, to be reduced; ascending, along "group".', _REDUCED,
    'ng.DimArray([1.0, 2.0, 4.0], "x").groupby(ng.DimArray([7, 3, 7], "x")).mean().data', "array([2. , 2.5])",
)  # fmt: skip
_borrow(
    "groupby_bins", 'Groups of cells between bounds, to be reduced; along "group_bins".', _REDUCED,
    'ng.DimArray([1.0, 2.0, 4.0], "x").groupby_bins(ng.arange("x", 3), [-1, 1, 2]).sum().data', "array([3., 4.])",
)  # fmt: skip
_borrow(
    "rolling_exp", "Windows whose weights decay exponentially, to be reduced.", _REDUCED,
    'ng.DimArray([1.0, 2.0, 4.0], "x").rolling_exp(x=0.5, window_type="alpha").mean().data.round(6)',
    "array([1.      , 1.666667, 3.      ])",
)  # fmt: skip
