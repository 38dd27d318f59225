"""Reductions, scans, weighted reductions, statistics of two arrays."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tests.xarray.catalogue.entry import OTHER, WEIGHTS, table

_OF_TWO = [] if np.lib.NumpyVersion(np.__version__) >= "2.5.0" else [  # which refuses vectors of two numbers
    ("cross of two", lambda x: xr.cross(x.isel(lon=slice(0, 2), drop=True), x.isel(lon=slice(0, 2)) ** 2, dim="lon"), ("lat", "time")),
]  # fmt: skip


def _weighted(x):
    return x.weighted(WEIGHTS)


ENTRIES = [
    *table(
        *((n, lambda x, n=n: getattr(x, n)("time")) for n in ("sum", "mean", "max", "min", "prod", "std", "var", "median")),
        ("count as a divisor", lambda x: x.sum("time") / x.count("time")),
        ("all and any as masks", lambda x: x.where((x > 1).all("time") | (x > 3).any("time"))),
        ("sum min_count", lambda x: x.sum("time", min_count=22)),
        ("prod min_count", lambda x: x.prod(("time", "lon"), min_count=3)),
        ("mean skipna=False", lambda x: x.mean("time", skipna=False)),
        ("sum skipna=False", lambda x: x.sum("time", skipna=False)),
        ("max skipna=False", lambda x: x.max("time", skipna=False)),
        ("prod skipna=False", lambda x: x.prod("time", skipna=False)),
        ("std skipna=False", lambda x: x.std("time", skipna=False)),
        ("median skipna=False", lambda x: x.median("time", skipna=False)),
        ("std ddof", lambda x: x.std("time", ddof=1)),
        ("var of two dims", lambda x: x.var(("time", "lon"), ddof=1)),
        ("sum keepdims", lambda x: x.sum("time", keepdims=True).isel(time=0) * x),
        ("mean of everything", lambda x: x.mean(...) * x.sum(), ()),
        ("median of two dims", lambda x: x.median(["time", "lon"])),
        ("cumsum", lambda x: x.cumsum("time")),
        ("cumprod", lambda x: (x / 3).cumprod("time")),
        ("cumsum of two dims", lambda x: x.cumsum(["time", "lon"])),
        ("cumprod skipna=False", lambda x: (x / 3).cumprod("time", skipna=False)),
        ("cumsum skipna=False", lambda x: x.cumsum("time", skipna=False)),
        ("quantile", lambda x: x.quantile(0.3, "time")),
        ("quantiles", lambda x: x.quantile([0.1, 0.5, 0.9], "time")),
        ("quantile of two dims", lambda x: x.quantile(0.7, ["time", "lon"])),
        *(
            (f"quantile {m}", lambda x, m=m: x.quantile(0.37, "time", method=m))
            for m in ("hazen", "weibull", "lower", "higher", "midpoint", "nearest", "median_unbiased", "inverted_cdf")
        ),
        ("quantile skipna=False", lambda x: x.quantile(0.3, "time", skipna=False)),
        ("argmax as an index", lambda x: x.fillna(0).isel(time=x.fillna(0).argmax("time"))),
        ("argmin of several dims", lambda x: x.fillna(9).isel(x.fillna(9).argmin(["time", "lon"]))),
        ("idxmax as a label", lambda x: x.fillna(0).sel(time=x.fillna(0).idxmax("time"))),
        ("idxmin of numbers", lambda x: x * 0 + x.idxmin("lon", fill_value=0.0) * x.mean("lon"), ("lat", "time")),
        ("argsort as an index", lambda x: x[{"time": x.isel(lon=0, lat=0).fillna(x.time.dt.dayofyear / 1e4).argsort().data}], ()),
        ("rank", lambda x: x * x.rank("time")),
        ("rank pct", lambda x: x * x.rank("time", pct=True)),
    ),
    *table(
        ("weighted mean", lambda x: _weighted(x).mean("lon")),
        ("weighted sum", lambda x: _weighted(x).sum("lon")),
        ("weighted std", lambda x: _weighted(x).std("lon")),
        ("weighted var", lambda x: _weighted(x).var(("time", "lon")), ("lat",)),
        ("weighted sum_of_squares", lambda x: _weighted(x).sum_of_squares("lon")),
        ("weighted sum_of_weights", lambda x: _weighted(x).sum_of_weights("lon") * x.mean("lon")),
        ("weighted quantile", lambda x: _weighted(x).quantile(0.4, dim="lon")),
        ("weighted quantiles", lambda x: x.weighted(OTHER).quantile([0.2, 0.8], dim=("time", "lon")), ("lat",)),
        ("weighted by a latitude", lambda x: x.weighted(np.cos(np.deg2rad(x.lat))).mean(("lat", "lon")), ("time",)),
        ("weighted by the data", lambda x: x.weighted((x**2).fillna(0)).mean("lon")),
        ("weighted skipna=False", lambda x: _weighted(x).mean("lon", skipna=False)),
        ("weighted everything", lambda x: _weighted(x).mean(), ()),
        over=("lat", "time"),
    ),
    *table(
        ("dot", lambda x: xr.dot(x, OTHER, dim="time")),
        ("dot of three", lambda x: xr.dot(x.fillna(1.0), OTHER, WEIGHTS, dim=["time", "lon"])),
        ("dot method", lambda x: x.dot(OTHER, "lon")),
        ("dot of all", lambda x: xr.dot(x.fillna(1.0), x.fillna(2.0)), ()),
        ("cov", lambda x: xr.cov(x, OTHER, "time")),
        ("cov ddof and weights", lambda x: xr.cov(x, x**2, "time", ddof=0)),
        ("corr", lambda x: xr.corr(x, OTHER, "time")),
        ("corr weighted", lambda x: xr.corr(x, OTHER, "lon", weights=WEIGHTS)),
        ("cov weighted", lambda x: xr.cov(x, OTHER, "lon", weights=WEIGHTS)),
        ("corr with a lag", lambda x: xr.corr(x, x.shift(time=1), "time")),
        ("corr of everything", lambda x: xr.corr(x, OTHER), ()),
        ("cross", lambda x: xr.cross(x.isel(lon=slice(0, 3)), xr.DataArray([1.0, 2.0, -1.0], dims="lon"), dim="lon"), ("lat", "time")),
        *_OF_TWO,
    ),
]  # fmt: skip
