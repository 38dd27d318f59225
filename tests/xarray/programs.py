"""Unmodified xarray programs, each of one DataArray ``x`` with dims (time, lat, lon), monthly for two years."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

TIME = pd.date_range("2001-01-01", periods=24, freq="MS")
LAT = np.array([-40.0, 5.0, 60.0])
LON = np.array([0.0, 90.0, 180.0, 270.0])


class Program(NamedTuple):
    """A program, and the dims over which its slices are independent."""

    name: str
    function: Callable[[xr.DataArray], Any]
    over: tuple[str, ...] = ("lat",)


def field(seed: int = 0, dtype: Any = np.float64) -> xr.DataArray:
    """Positive random data with coordinates of several kinds."""
    rng = np.random.default_rng(seed)
    return xr.DataArray(
        (2 + rng.normal(size=(24, 3, 4)) * 0.3 + np.arange(4)).astype(dtype),
        dims=("time", "lat", "lon"),
        coords={
            "time": TIME,
            "lat": ("lat", LAT, {"units": "degrees_north"}),
            "lon": LON,
            "zone": ("lat", ["south", "middle", "north"]),
            "area": (("lat", "lon"), np.cos(np.deg2rad(LAT))[:, None] * np.ones(4)),
            "height": 2.0,
        },
        name="tas",
        attrs={"units": "K", "standard_name": "air_temperature"},
    )


def data_set() -> xr.Dataset:
    """A variable of all dims, one of some, and one of whole numbers."""
    x = field()
    return xr.Dataset({"a": x, "b": x.mean("time"), "n": ("lat", [1, 2, 3])}, attrs={"title": "t"})


def with_gaps(seed: int = 0) -> xr.DataArray:
    """The same with missing cells, among them a whole series."""
    x = field(seed)
    gaps = np.random.default_rng(seed + 1).random(x.shape) < 0.1
    gaps[:, 1, 2] = True
    return x.where(~gaps)


def _line(x: xr.DataArray, a: float = 1.0, b: float = 2.0) -> xr.DataArray:
    return a * x + b


def _in_place(x: xr.DataArray) -> xr.DataArray:
    y = x * 2
    y += x
    y /= 3
    y -= y.mean("time")
    return y * x


def _standardised(x: xr.DataArray) -> xr.DataArray:
    months = x.groupby("time.month")
    return (months - months.mean("time")).groupby("time.month") / (months.std("time") + 0.1)


def _dataset(x: xr.DataArray) -> xr.Dataset:
    return xr.Dataset({"a": x, "b": np.log(x), "m": x.mean("time")})


def _mean_square(a: Any) -> Any:
    return (a**2).mean(axis=-1)


COEFFICIENTS = xr.DataArray([1.0, 0.5, -0.2], dims="degree", coords={"degree": [0, 1, 2]})
KERNEL = xr.DataArray([1.0, 2.0, 3.0], dims="w")
WEIGHTS = xr.DataArray([0.5, 1.0, 0.25, 2.0], dims="lon", coords={"lon": LON})
POINTS = {"lat": xr.DataArray([0, 2, 0], dims="point"), "lon": xr.DataArray([1, 3, 1], dims="point")}
AT_POINTS = {"time": xr.DataArray([0, 5, 5], dims="point"), "lon": xr.DataArray([1, 3, 1], dims="point")}

ARITHMETIC = [
    Program("operators", lambda x: (2 * x - x / 3 + x**2) * (1 - x) + (-x) - abs(x) + x % 0.7),
    Program("reflected operators", lambda x: 1 / x + 2**x + (3 - x) + np.float64(2) * x),
    Program("numpy ufuncs", lambda x: np.exp(-x) + np.sin(x) * np.log(x) + np.sqrt(x) + np.arctan2(x, 2)),
    Program("several operands", lambda x: np.maximum(x, 2.1) + np.minimum(x, x.mean("time")) + np.hypot(x, 1)),
    Program("with coordinates", lambda x: x * np.cos(np.deg2rad(x.lat)) + x.area * x + x.lon / 100 * x**2),
    Program("with another array", lambda x: x * WEIGHTS + (x - WEIGHTS) ** 2, ("time", "lat")),
    Program("with its own mean", lambda x: (x - x.mean("time")) / x.std("time")),
    Program("clip", lambda x: x.clip(2.0, 4.0)),
    Program("clip at arrays", lambda x: x.clip(max=x.mean("time") + 0.1)),
    Program("round", lambda x: x.round() + x),
    Program("astype", lambda x: x.astype("complex128").real * x.astype(float)),
    Program("polyval", lambda x: xr.polyval(x, COEFFICIENTS)),
    Program("apply_ufunc", lambda x: xr.apply_ufunc(_line, x, kwargs={"a": 3.0}, keep_attrs=True)),
    Program("apply_ufunc core dims", lambda x: xr.apply_ufunc(_mean_square, x, input_core_dims=[["time"]])),
    Program("pipe and assign", lambda x: x.pipe(_line, b=1.0).assign_attrs(k=1).assign_coords(extra=3.0) * x),
    Program("as numpy functions", lambda x: np.sum(x.data, axis=0) * x.isel(time=0)),
]

REDUCTIONS = [
    *(
        Program(name, lambda x, name=name: getattr(x, name)("time"))
        for name in ("sum", "mean", "max", "min", "prod", "std", "var", "median")
    ),
    Program("everything", lambda x: x.mean(), ()),
    Program("several dims", lambda x: x.sum(["time", "lon"]) + x.std(("time", "lon")) + x.mean(...)),
    Program("skipna off", lambda x: x.mean("time", skipna=False) + x.sum("time", skipna=False)),
    Program("min_count", lambda x: x.sum("time", min_count=20)),
    Program("ddof", lambda x: x.std("time", ddof=1) * x.var("time", ddof=1)),
    Program("keepdims", lambda x: x.sum("time", keepdims=True) ** 2),
    Program("cumsum", lambda x: x.cumsum("time")),
    Program("cumprod", lambda x: (x / 3).cumprod("time")),
    Program("quantile", lambda x: x.fillna(1.0).quantile(0.3, "time")),
    Program("quantiles", lambda x: x.fillna(1.0).quantile([0.25, 0.75], "time")),
    Program("dot", lambda x: xr.dot(x, x**2, dim="time")),
    Program("dot of three", lambda x: xr.dot(x, WEIGHTS, x, dim=["lon"]), ("time", "lat")),
    Program("dot method", lambda x: x.dot(WEIGHTS), ("time", "lat")),
    Program("corr", lambda x: xr.corr(x, x**2 + x.shift(time=1), "time")),
    Program("cov", lambda x: xr.cov(x, np.exp(x / 3), "time")),
    Program("weighted mean", lambda x: x.weighted(WEIGHTS).mean("lon"), ("time", "lat")),
    Program("weighted sum", lambda x: x.weighted(np.cos(np.deg2rad(x.lat))).sum("lat"), ("lon",)),
    Program("weighted by data", lambda x: x.weighted((x**2).fillna(0)).mean("time")),
    Program("weighted std", lambda x: x.fillna(1.5).weighted(WEIGHTS).std("lon"), ("time", "lat")),
    Program("integrate", lambda x: x.integrate("lon") + x.mean("lon"), ("time", "lat")),
    Program("cumulative_integrate", lambda x: x.cumulative_integrate("lon"), ("time", "lat")),
    Program("differentiate", lambda x: x.differentiate("lon"), ("time", "lat")),
    Program("argmax as index", lambda x: x.isel(time=3) * x.max("time")),
]

MISSING = [
    Program("where", lambda x: x.where(x > 2.0)),
    Program("where other", lambda x: x.where(x > 2.0, -x)),
    Program("where coordinate", lambda x: x.where(x.lon > 100).mean("lon"), ("time", "lat")),
    Program("where drop", lambda x: x.where(x.lon > 100, drop=True), ("time", "lat")),
    Program("xr.where", lambda x: xr.where(x > 3.0, x**2, 1 - x)),
    Program("masked division", lambda x: (1 / (x - 2.5)).where(abs(x - 2.5) > 0.2)),
    Program("fillna", lambda x: x.fillna(0.5) * x.fillna(x.mean("time"))),
    Program("isnull", lambda x: x.where(x.notnull(), 0.0)),
    Program("count", lambda x: x.sum("time") / x.count("time")),
    Program("combine_first", lambda x: x.where(x < 3).combine_first(2 * x)),
    Program("dropna", lambda x: x.fillna(1.0).shift(time=2).dropna("time"), ()),
    Program("nan functions", lambda x: x.reduce(np.nanmean, "time")),
]

SELECTION = [
    Program("sel", lambda x: x.sel(time="2001-03") + x.sel(lon=90)),
    Program("sel nearest", lambda x: x.sel(lon=100, method="nearest")),
    Program("sel slice", lambda x: x.sel(time=slice("2001-03", "2002-02"), lon=slice(50, 200))),
    Program("sel list", lambda x: x.sel(lon=[270, 0])),
    Program("isel", lambda x: x.isel(time=-1) * x.isel(time=[0, 3, 3, 5])),
    Program("isel slice", lambda x: x.isel(time=slice(None, None, -2), lon=slice(1, 3))),
    Program("pointwise", lambda x: x.isel(POINTS), ("time",)),
    Program("pointwise in time", lambda x: x.isel(AT_POINTS)),
    Program("getitem", lambda x: x[3] + x[..., 1:, :].sum()),
    Program("mask index", lambda x: x[..., np.array([True, False, True, True])]),
    Program("loc", lambda x: x.loc[{"lon": 90}]),
    Program("head and thin", lambda x: x.head(time=5).mean("time") + x.thin(time=6).sum("time")),
    Program("drop_sel", lambda x: x.drop_sel(lon=90)),
    Program("reindex", lambda x: x.reindex(lon=[90, 33, 0])),
    Program("squeeze", lambda x: x.isel(lon=[2]).squeeze("lon")),
    Program("alignment", lambda x: x * x.isel(time=slice(3, None)) + x.isel(lon=slice(0, 3))),
]

GROUPS = [
    Program("groupby anomalies", lambda x: x.groupby("time.month") - x.groupby("time.month").mean()),
    Program("groupby mean", lambda x: x.groupby("time.season").mean()),
    Program("groupby several", lambda x: x.groupby("time.year").std("time") + x.groupby("time.year").sum("time")),
    Program("groupby max", lambda x: x.groupby("time.year").max("time")),
    Program("groupby map", lambda x: x.groupby("time.year").map(lambda g: g - g.mean("time"))),
    Program("groupby coordinate", lambda x: x.groupby("zone").mean(), ("time", "lon")),
    Program("groupby_bins", lambda x: x.groupby_bins("lon", [-1, 100, 300]).mean(), ("time", "lat")),
    Program("resample", lambda x: x.resample(time="QS").mean()),
    Program("resample sum", lambda x: x.resample(time="YS").sum()),
    Program("rolling mean", lambda x: x.rolling(time=3).mean()),
    Program("rolling centred", lambda x: x.rolling(time=4, center=True, min_periods=1).sum()),
    Program("rolling others", lambda x: x.rolling(time=3).std() + x.rolling(time=3).max() + x.rolling(time=3).min()),
    Program("rolling two dims", lambda x: x.rolling(time=3, lon=2, min_periods=1).mean()),
    Program("rolling construct", lambda x: x.rolling(time=3).construct("w", fill_value=0.0).dot(KERNEL)),
    Program("coarsen", lambda x: x.coarsen(time=6).mean() + x.coarsen(time=6).max()),
    Program("coarsen trim", lambda x: x.coarsen(time=5, boundary="trim").sum()),
    Program("coarsen construct", lambda x: x.coarsen(time=12).construct(time=("year", "month")).mean("year")),
    Program("cumulative", lambda x: x.cumulative("time").mean()),
]

SHAPES = [
    Program("shift", lambda x: x.shift(time=2) * x + x.shift(lon=-1, fill_value=0.0)),
    Program("roll", lambda x: x.roll(lon=1, roll_coords=True) * x),
    Program("diff", lambda x: x.diff("time") + x.diff("time", n=2, label="lower")),
    Program("pad", lambda x: x.pad(lon=1, constant_values=1.5)),
    Program("pad reflect", lambda x: x.pad(lon=2, mode="reflect").cumsum("lon")),
    Program("pad wrap", lambda x: x.pad(lon=1, mode="wrap").prod("lon") + x.pad(time=2, mode="edge").sum("time")),
    Program("transpose", lambda x: x.transpose("lon", ..., "time") * 2),
    Program("transposed sum", lambda x: x + x.transpose("lon", ..., "time") ** 2),
    Program("expand_dims", lambda x: x.expand_dims(member=3).sum("member") + x.expand_dims("z").squeeze()),
    Program("stack", lambda x: x.stack(z=("time", "lon")).isel(z=slice(0, 90, 7))),
    Program("stack and unstack", lambda x: x.stack(z=("time", "lon")).unstack("z") ** 2),
    Program("stack all", lambda x: x.stack(z=("time", "lat", "lon")).sum("z"), ()),
    Program("broadcast", lambda x: xr.broadcast(x, WEIGHTS)[0] * x.mean("time").broadcast_like(x)),
    Program("concat", lambda x: xr.concat([x, 2 * x], "member")),
    Program("concat pieces", lambda x: xr.concat([x.isel(time=slice(9, None)) ** 2, x.isel(time=slice(0, 9))], "time")),
    Program("sortby", lambda x: x.sortby("lon", ascending=False)),
    Program("swap_dims", lambda x: x.assign_coords(k=("lon", [4, 3, 2, 1])).swap_dims(lon="k").sum("k")),
    Program("rename", lambda x: x.rename(lon="x").rename("other")),
    Program("set index", lambda x: x.assign_coords(lon=x.lon + 1).sel(lon=91)),
    Program("reset_index", lambda x: x.drop_vars(["lon", "area"]).isel(lon=1)),
    Program("copy", lambda x: x.copy() * x.copy(deep=False)),
]

DATASETS = [
    Program("to dataset", lambda x: x.to_dataset(name="a").assign(b=lambda d: d.a**2).map(np.sqrt)),
    Program("dataset arithmetic", lambda x: (_dataset(x) * 2 - _dataset(x).mean("time")) ** 2),
    Program("dataset reductions", lambda x: _dataset(x).std("time")),
    Program("dataset selection", lambda x: _dataset(x).isel(time=slice(0, 5)).sel(lon=90)),
    Program("dataset groupby", lambda x: _dataset(x).groupby("time.year").mean()),
    Program("merge", lambda x: xr.merge([x.rename("a"), (x**2).rename("b")])),
    Program("to_array", lambda x: _dataset(x).to_array("v").mean("v")),
    Program("dataset weighted", lambda x: _dataset(x).weighted(WEIGHTS).mean("lon")),
    Program("dataset concat", lambda x: xr.concat([_dataset(x), _dataset(2 * x)], "k").mean("k")),
]

BY_NAME = [Program("in place", _in_place), Program("standardised", _standardised)]

PROGRAMS = [*BY_NAME, *ARITHMETIC, *REDUCTIONS, *MISSING, *SELECTION, *GROUPS, *SHAPES, *DATASETS]
