"""What positional arrays are made of, and what they are combined with: plain arrays, numbers, lists."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

import numpy as np

from namedgrad import axes, backends
from namedgrad.array import DimArray, duration, make
from namedgrad.axes import NONE, AxisError, Name
from namedgrad.positional import nested
from namedgrad.positional.array import PositionalArray, as_array, kin_of, numbers, wrap
from namedgrad.positional.memory import given

SCALARS = (bool, int, float, complex, np.generic)

FEW = 8192  # cells: to copy them takes a few microseconds


def positional(data: Any, vectorized: Iterable[Name] | str = ()) -> PositionalArray:
    """An array with numbered axes, the leading ones hidden under the names in ``vectorized``.

    Parameters
    ----------
    data : array or nested lists
        Kept as it is, never copied or moved.
    vectorized : names, optional
        Names of the leading axes that are batch axes.

    Raises
    ------
    AxisError
        If there are more names than axes, or a name is repeated or reserved.

    Examples
    --------
    >>> import numpy as np, namedgrad as ng
    >>> p = ng.positional(np.arange(6.0).reshape(2, 3), vectorized="batch")
    >>> p.shape, np.mean(p).data
    ((3,), array([1., 4.]))
    """
    if isinstance(data, DimArray):
        raise TypeError("data is a DimArray, its axes have names; use ng.positional(a.data) to drop them")
    if isinstance(data, PositionalArray):
        return data.vectorize(*axes.check_names(vectorized)) if vectorized else data
    names = axes.check_names(vectorized)
    raw = backends.as_plain(data, "data") if backends.is_array(data) else np.asarray(data)
    if raw.dtype == object:
        raise TypeError(f"cannot make an array of numbers from {type(data).__name__}; lists must be rectangular")
    if len(names) > raw.ndim:
        raise AxisError(f"positional: {len(names)} vectorized names {names} for data of shape {raw.shape}")
    out = given(wrap(make(raw, (*names, *numbers(raw.ndim - len(names))), frozenset(names) or NONE)), raw)
    return as_array(out) if backends.is_array(data) else out


def unwrap(value: Any, what: str = "operand") -> DimArray:
    """An operand as a DimArray with numbered axes: positional arrays, plain arrays, lists and scalars.

    Raises
    ------
    TypeError
        If it is a DimArray or an xarray object, whose axes have names.
    """
    if isinstance(value, DimArray):
        raise TypeError(
            f"{what} is a DimArray with dims {value.dims}, which does not combine with a positional array; "
            "name the axes of the positional array with .name(...), one name per axis"
        )
    return numbered(value, what)


def is_of_xarray(value: Any) -> bool:
    """Whether it is one of xarray's objects."""
    return type(value).__module__.partition(".")[0] == "xarray"


def nameless(value: Any) -> Any:
    """The array of a DataArray or Variable, of which NumPy sees no names; all else as it is."""
    return value.data if is_of_xarray(value) and hasattr(value, "ndim") else value


def numbered(value: Any, what: str = "operand") -> DimArray:
    """As :func:`unwrap`; a DimArray is taken to have numbered axes already."""
    if isinstance(value, PositionalArray):
        return value._x
    if isinstance(value, DimArray):
        return value
    if isinstance(value, SCALARS):
        return make(value, (), NONE)
    if isinstance(value, dt.timedelta):
        return make(duration(value), (), NONE)
    if not backends.is_array(value):
        if is_of_xarray(value):
            raise TypeError(f"{what} is a {type(value).__name__}; combine a positional array with its .data")
        if backends.is_sparse(value):  # of which NumPy makes one cell
            raise TypeError(f"{what} is a sparse array: A @ x and x @ A are products with it; A.toarray() is dense")
        if nested.holds(value, PositionalArray):
            return nested.stacked(value)
        value = np.asarray(value)
    return make(kept(backends.as_plain(value, what)), numbers(value.ndim), NONE)


def arrayed(value: Any) -> DimArray:
    """As :func:`numbered`, for functions that make arrays of what they take: to them Python's numbers have a dtype."""
    return numbered(np.asarray(value) if isinstance(value, (int, float, complex)) else value)


def whole(value: Any) -> Any:
    """A list or tuple that holds positional arrays as one of them, which NumPy's functions then take; else as it is."""
    found = list(nested.within(value, PositionalArray))
    return wrap(nested.stacked(value), kin_of(map(type, found))) if found else value


def kept(raw: Any) -> Any:
    """A plain array as an operand: a copy if it is small, since it may be written into before it is pulled back."""
    if not isinstance(raw, np.ndarray) or raw.size > FEW or not raw.flags.writeable or backends.is_known(raw):
        return raw
    return raw.copy()
