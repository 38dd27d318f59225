"""Indexing of every kind, and assignment."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tests.xarray.catalogue.entry import WEIGHTS, table

POINT_TIME = xr.DataArray([0, 5, 5, 7], dims="point")
POINT_LON = xr.DataArray([1, 3, 1, 0], dims="point")
ALONG_LON = xr.DataArray([3, 1, 7, 7], dims="lon")


def _assign(x):
    y = x.copy()
    y[3] = 0.0
    y[{"lon": 1}] = y.isel(lon=2) ** 2
    return y * x


def _assign_loc(x):
    y = x * 1.0
    y.loc[{"lon": 90}] = y.loc[{"lon": 180}] * 3
    y.loc["2001-03":"2001-06"] = 1.5
    return y * x


def _assign_mask(x):
    y = x.copy()
    y[{"time": slice(2, 9, 3), "lon": [0, 2]}] = 7.0
    return y * x


def _assign_points(x):
    y = x.copy()
    y[{"time": POINT_TIME[:2], "lon": POINT_LON[:2]}] = xr.DataArray([1.0, 2.0], dims="point")
    return y * x


def _assign_values_of_points(x):
    y = xr.zeros_like(x)
    y[{"time": POINT_TIME[[0, 1, 3]], "lon": POINT_LON[[0, 1, 3]]}] = x.isel(time=[1, 2, 3], lon=0).transpose("time", ...).rename(time="point").drop_vars("point") ** 2
    return y


def _loop(x):
    out = xr.zeros_like(x)
    for i in range(1, 6):
        out[{"time": i}] = 0.5 * out[{"time": i - 1}] + x[{"time": i}] ** 2
    return out


ENTRIES = table(
    ("isel of a number", lambda x: x.isel(time=-2) * x.isel(lon=0)),
    ("isel of a slice", lambda x: x.isel(time=slice(None, None, -2), lon=slice(1, 3))),
    ("isel of a list", lambda x: x.isel(time=[0, 3, 3, 5])),
    ("isel of two lists", lambda x: x.isel(time=[4, 1], lon=[2, 0, 0])),
    ("isel by a mask", lambda x: x.isel(lon=np.array([True, False, True, True]))),
    ("isel by a mask of time", lambda x: x.isel(time=x.time.dt.month.isin([12, 1, 2]))),
    ("isel pointwise", lambda x: x.isel(time=POINT_TIME, lon=POINT_LON)),
    ("isel along another dim", lambda x: x.isel(time=ALONG_LON)),
    ("isel to two new dims", lambda x: x.isel(time=xr.DataArray([[0, 1], [2, 2]], dims=("a", "b")))),
    ("isel drop", lambda x: x.isel(time=3, drop=True) + x),
    ("isel missing_dims", lambda x: x.isel(time=3, depth=0, missing_dims="ignore")),
    ("sel of a label", lambda x: x.sel(lon=90) + x.sel(time="2001-05-01")),
    ("sel of a part of a date", lambda x: x.sel(time="2002")),
    ("sel of a slice", lambda x: x.sel(time=slice("2001-03", "2002-02"), lon=slice(50, 200))),
    ("sel of a list", lambda x: x.sel(lon=[270, 0])),
    ("sel nearest", lambda x: x.sel(lon=[100, 10], method="nearest")),
    ("sel pad", lambda x: x.sel(lon=100, method="pad") + x.sel(lon=100, method="backfill")),
    ("sel tolerance", lambda x: x.sel(lon=91, method="nearest", tolerance=2)),
    ("sel pointwise", lambda x: x.sel(time=x.time[[0, 4]].rename(time="p").drop_vars("p"), lon=xr.DataArray([90.0, 270.0], dims="p"))),
    ("sel by a mask", lambda x: x.sel(time=x.time.dt.year == 2002)),
    ("sel in a MultiIndex", lambda x: x.stack(z=("time", "lon")).sel(z=("2001-03-01", 90.0))),
    ("sel a level", lambda x: x.stack(z=("time", "lon")).sel(lon=90.0)),
    ("loc", lambda x: x.loc[{"lon": 90}] + x.loc["2001-04-01"]),
    ("loc of slices", lambda x: x.loc["2001-02":"2001-08"]),
    ("getitem", lambda x: x[3] + x[..., 1:].sum("lon")),
    ("getitem of a mapping", lambda x: x[{"time": slice(0, 4), "lon": [1, 2]}]),
    ("getitem of lists", lambda x: x[[0, 2], ..., [1, 3]]),
    ("getitem of a mask", lambda x: x[x.time.dt.month == 4]),
    ("head", lambda x: x.head(time=5)),
    ("tail", lambda x: x.tail(time=3, lon=2)),
    ("thin", lambda x: x.thin(time=6)),
    ("drop_sel", lambda x: x.drop_sel(lon=[90, 180])),
    ("drop_isel", lambda x: x.drop_isel(time=[0, 4])),
    ("drop_duplicates", lambda x: x.assign_coords(lon=[0.0, 0.0, 1.0, 2.0]).drop_duplicates("lon")),
    ("squeeze", lambda x: x.isel(lon=[2]).squeeze("lon") + x.isel(time=[3], lon=[1]).squeeze()),
    ("query", lambda x: x.query(lon="lon > 100")),
    ("where drop of a condition", lambda x: x.where((x.lon > 50) & (x.lon < 200), drop=True)),
    ("iteration", lambda x: sum(a**i for i, a in enumerate(x.transpose("lon", ...), 1)), ("lat",)),
    ("unpacking", lambda x: (lambda a, b, *rest: a * b)(*x.transpose("lon", ...)), ("lat",)),
    ("zip of slices", lambda x: sum(a * b for a, b in zip(x.isel(time=slice(0, 3)), x.isel(time=slice(3, 6)).drop_vars("time"), strict=True)), ()),
    ("assignment", _assign, ("lat",)),
    ("assignment by loc", _assign_loc, ("lat",)),
    ("assignment by lists", _assign_mask, ("lat",)),
    ("assignment of points", _assign_points, ("lat",)),
    ("assignment of values at points", _assign_values_of_points, ()),
    ("assignment in a loop", _loop, ("lat", "lon")),
    ("assignment of data", lambda x: _with_data(x)),
    ("first and last of a sorted array", lambda x: x.sortby("lon", ascending=False).isel(lon=0) - x.sortby("lon").isel(lon=-1)),
    ("nearest by a coordinate", lambda x: x.isel(lon=int(abs(x.lon - 100).argmin())) * WEIGHTS.sum()),
)  # fmt: skip


def _with_data(x):
    y = x.copy()
    y.data = x.data**2
    return y
