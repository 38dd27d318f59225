"""xarray objects to named arrays and back.

The data of a variable is a plain array, or a positional one that is traced or has vectorized axes; its names are the
dims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from namedgrad import axes, backends
from namedgrad.array import DimArray, constant, make
from namedgrad.axes import NONE, AxisError, Name, Names
from namedgrad.positional.array import PositionalArray, numbers, ordered, wrap
from namedgrad.positional.scipy_fft import offer
from namedgrad.rules.structure import relabel, reorder
from namedgrad.trace import innermost


def named(variable: xr.Variable) -> DimArray:
    """The data of a variable under its dims."""
    data, dims = variable.data, variable.dims
    if not isinstance(data, PositionalArray):
        if not backends.is_array(data):
            raise TypeError(f"data of type {type(data)!r} is not an array of a known backend (numpy, cupy, dask)")
        axes.refuse_repeats(dims)
        return make(data, dims, NONE)
    x = data._x
    if taken := [d for d in dims if d in x.hidden]:
        raise AxisError(
            f"{taken[0]!r} is a vectorized axis and also a visible dim of an array with dims {dims}; give one of the "
            f"two another name, or pass every xarray object that has the dim {taken[0]!r} as an argument"
        )
    return relabel(x, dict(zip(numbers(len(dims)), dims, strict=True)))


def data_for(x: DimArray, dims: Names) -> Any:
    """What a variable with these dims holds: the plain array if it can, else a positional one."""
    x = settled(x)
    if x.level is None and not x.hidden and not backends.is_recording():
        return reorder(x, dims).data
    return numbered(x, dims)


def numbered(x: DimArray, dims: Names) -> PositionalArray:
    """A positional array with the visible axes in the order of ``dims``."""
    offer()
    return wrap(ordered(x, dims))


def settled(x: DimArray) -> DimArray:
    """The value at the levels whose transforms are still running."""
    while x.level is not None and not x.level.open:
        x = x.value
    return x


def beside(labels: Any, data: Any) -> Any:
    """Labels and what is made of them, which xarray keeps on the host, where the data are: it moves them, too."""
    if meets_host(data) or not isinstance(labels, np.ndarray):
        return labels
    return backends.call(backends.backend_of(_raw(data)).asarray, labels)


def meets_host(data: Any) -> bool:
    """Whether arrays on the host can stand beside these data, those on a device being the ones that cannot."""
    return backends.backend_of(_raw(data)).meets_host


def _raw(data: Any) -> Any:
    x = data._x if isinstance(data, PositionalArray) else data
    return innermost(x).raw if isinstance(x, DimArray) else x


def regathered(several: Any, parts: Iterable[Any]) -> Any:
    """Parts in the place of several results: in a tuple, named or not, or a list."""
    return type(several)(*parts) if hasattr(several, "_fields") else type(several)(parts)


def hidden_names(variable: xr.Variable) -> Names:
    """Vectorized axes of a variable's data."""
    data = variable._data
    return data.vectorized if isinstance(data, PositionalArray) else ()


def coordinates(variables: Mapping[Name, xr.Variable], indexes: Mapping[Name, Any]) -> xr.Coordinates:
    """Coordinates with those of the indexes whose coordinates are all there, and no others."""
    return xr.Coordinates(variables, indexes=whole(variables, indexes))


def some_of(coords: xr.Coordinates, names: Iterable[Name]) -> xr.Coordinates:
    """Some of the coordinates, with the indexes whose coordinates are all there."""
    return coordinates({n: coords.variables[n] for n in names}, coords.xindexes)


def whole(variables: Mapping[Name, xr.Variable], indexes: Mapping[Name, Any]) -> dict[Name, Any]:
    """Those of the indexes whose coordinates are all there."""
    owners: dict[int, list[Name]] = {}
    for n, i in indexes.items():
        owners.setdefault(id(i), []).append(n)
    return {n: i for n, i in indexes.items() if all(owner in variables for owner in owners[id(i)])}


def asdimarray(x: Any) -> DimArray:
    """A DimArray of the same data.

    Parameters
    ----------
    x : DimArray, xarray.DataArray, xarray.Variable or scalar
        Dims become names; vectorized axes stay vectorized, a traced array stays traced. Coordinates are left behind.

    Returns
    -------
    DimArray
        Itself if it is one; the data is not copied.

    Raises
    ------
    TypeError
        If ``x`` is anything else; plain arrays have no names: use ``ng.DimArray(array, dims)``.

    Examples
    --------
    >>> import namedgrad as ng, xarray as xr
    >>> ng.asdimarray(xr.DataArray([1.0, 2.0], dims="x"))
    <DimArray (x: 2) float64>
    array([1., 2.])
    """
    if isinstance(x, xr.DataArray):
        return named(x.variable)
    if isinstance(x, xr.Variable):
        return named(x)
    if isinstance(x, xr.Dataset):
        raise TypeError(f"a Dataset holds several arrays; take one of its variables {list(x.data_vars)} with ds[name]")
    return constant(x, "x")


def _refuse(self: DimArray) -> xr.Variable:
    raise TypeError(
        f"xarray objects do not combine with a DimArray, here one with dims {self.dims}; use .to_xarray() on the "
        "DimArray, or ng.asdimarray(x) on the xarray object"
    )


# xarray asks its operands for these, and takes what lacks them for a plain array
DimArray.variable = DimArray.encoding = property(_refuse)  # type: ignore[attr-defined]
