"""What a row of the catalogue is, and the data that rows are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from tests.xarray.programs import LON, field, with_gaps


class Entry(NamedTuple):
    """A call of xarray, the dims over which its slices are independent, and what it is given."""

    name: str
    function: Callable[[Any], Any]
    over: tuple[str, ...] = ("lat",)
    refused: str = ""  #: what the typed error says, for the few that have no derivative
    given: str = "array"


WEIGHTS = xr.DataArray([0.5, 1.0, 0.25, 2.0], dims="lon", coords={"lon": LON})
OTHER = xr.DataArray(
    np.random.default_rng(11).normal(size=(24, 4)) + 3.0, dims=("time", "lon"), coords={"time": field().time, "lon": LON}
)


def table(*rows: tuple[Any, ...], over: tuple[str, ...] = ("lat",), given: str = "array") -> list[Entry]:
    """Rows of (name, function) or (name, function, over)."""
    return [Entry(*r, *(over, "")[len(r) - 2 :], given) for r in rows]


def _set(x: xr.DataArray) -> xr.Dataset:
    """Two arrays and a map; the second array differs in its dims and in its gaps."""
    other = np.exp(x.copy() / 3).isel(lat=slice(None)).roll(lon=1, roll_coords=False)
    return xr.Dataset({"a": x, "b": other.rename("b"), "m": other.isel(time=0, drop=True) + 0.5}, attrs={"title": "t"})


def _tree(x: xr.DataArray) -> xr.DataTree:
    coarse = x.isel(time=slice(0, 12)).rename("c").rename(time="t").drop_vars("zone") * 1.5
    return xr.DataTree.from_dict({"/": _set(x), "/coarse": coarse.to_dataset(name="c")})


def _cftime(x: xr.DataArray) -> xr.DataArray:
    return x.assign_coords(time=xr.date_range("2001-01-01", periods=24, freq="MS", calendar="noleap", use_cftime=True))


def _tracks(x: xr.DataArray) -> xr.DataArray:
    """Daily values of one place, with gaps of several lengths if there are gaps at all."""
    y = x.isel(lon=0, drop=True).copy(deep=True)
    return y.assign_coords(time=np.datetime64("2001-01-01") + np.arange(24) * np.timedelta64(1, "D"))


GIVEN: dict[str, Callable[[xr.DataArray], Any]] = {
    "array": lambda x: x,
    "dataset": _set,
    "tree": _tree,
    "cftime": _cftime,
    "daily": _tracks,
    "variable": lambda x: x.variable,
}


def data(entry: Entry, *, gaps: bool) -> Any:
    """The data of a row, without or with missing cells."""
    return GIVEN[entry.given](with_gaps() if gaps else field())
