"""Moving windows, blocks, running statistics."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tests.xarray.catalogue.entry import table

KERNEL = xr.DataArray([1.0, 2.0, 3.0], dims="w")


def _rolling(name):
    return (f"rolling {name}", lambda x: getattr(x.rolling(time=4), name)())


def _coarsen(name):
    return (f"coarsen {name}", lambda x: getattr(x.coarsen(time=4), name)())


def _cumulative(name):
    return (f"cumulative {name}", lambda x: getattr(x.cumulative("time"), name)())


NAMES = ("sum", "mean", "std", "var", "max", "min", "median", "prod")

ENTRIES = [
    *table(
        *map(_rolling, NAMES),
        ("rolling count", lambda x: x.rolling(time=4, min_periods=1).count() * x),
        ("rolling argmax", lambda x: x * x.fillna(0).rolling(time=3).argmax()),
        ("rolling argmin", lambda x: x * x.fillna(9).rolling(time=3).argmin()),
        ("rolling centre", lambda x: x.rolling(time=5, center=True).mean()),
        ("rolling min_periods", lambda x: x.rolling(time=5, min_periods=2).mean()),
        ("rolling std min_periods", lambda x: x.rolling(time=5, min_periods=3, center=True).std(ddof=1)),
        ("rolling of two dims", lambda x: x.rolling(time=3, lon=2, min_periods=1).mean()),
        ("rolling of two dims, max", lambda x: x.rolling(time=3, lon=2, center=True).max()),
        ("rolling construct", lambda x: x.rolling(time=3).construct("w", fill_value=0.0).dot(KERNEL)),
        ("rolling construct stride", lambda x: x.rolling(time=3).construct("w", stride=2).mean("w")),
        ("rolling reduce", lambda x: x.rolling(time=3).reduce(np.mean)),
        ("rolling reduce by a function", lambda x: x.rolling(time=3).reduce(lambda a, axis: (a**2).sum(axis=axis))),
        ("rolling iteration", lambda x: xr.concat([w.std("time") for _, w in x.rolling(time=3)], "time"), ("lat",)),
        ("rolling construct of two", lambda x: x.rolling(time=3, lon=2).construct(time="a", lon="b").max(("a", "b"))),
        *map(_coarsen, NAMES),
        ("coarsen count", lambda x: x.coarsen(time=4).count() * x.coarsen(time=4).mean()),
        ("coarsen trim", lambda x: x.coarsen(time=5, boundary="trim").mean()),
        ("coarsen pad", lambda x: x.coarsen(time=5, boundary="pad").sum()),
        ("coarsen side", lambda x: x.coarsen(time=7, boundary="trim", side="right").max()),
        ("coarsen of two dims", lambda x: x.coarsen(time=3, lon=2, coord_func={"time": "min", "lon": "max"}).mean()),
        ("coarsen construct", lambda x: x.coarsen(time=12).construct(time=("year", "month")).std("year")),
        ("coarsen reduce", lambda x: x.coarsen(time=3).reduce(np.ptp)),
        *map(_cumulative, NAMES),
        ("cumulative count", lambda x: x.cumulative("time").count() * x),
        ("cumulative of two dims", lambda x: x.cumulative(["time", "lon"]).sum()),
        ("cumulative min_periods", lambda x: x.cumulative("time", min_periods=3).mean()),
        ("rolling_exp mean", lambda x: x.rolling_exp(time=3).mean()),
        ("rolling_exp span", lambda x: x.rolling_exp(time=3, window_type="halflife").mean()),
        ("rolling_exp sum", lambda x: x.rolling_exp(time=3, window_type="com").sum()),
        ("rolling_exp std", lambda x: x.rolling_exp(time=0.4, window_type="alpha").std()),
        ("rolling_exp var", lambda x: x.rolling_exp(time=3).var()),
        ("rolling_exp cov", lambda x: x.rolling_exp(time=3).cov(x**2)),
        ("rolling_exp corr", lambda x: x.rolling_exp(time=5).corr(x.shift(time=1)).isel(time=slice(8, None))),
    ),
    *table(
        ("Dataset.rolling", lambda d: d.rolling(time=3).mean()),
        ("Dataset.rolling construct", lambda d: d.rolling(time=3).construct("w").sum("w")),
        ("Dataset.rolling reduce", lambda d: d.rolling(time=3).reduce(np.max)),
        ("Dataset.coarsen", lambda d: d.coarsen(time=6).max()),
        ("Dataset.coarsen construct", lambda d: d[["a", "b"]].coarsen(time=12).construct(time=("year", "month")).mean("year")),
        ("Dataset.cumulative", lambda d: d.cumulative("time").max()),
        ("Dataset.weighted", lambda d: d.weighted(np.cos(d.lon / 100) + 2).mean("lon")),
        ("Dataset.weighted std", lambda d: d.weighted(np.cos(d.lon / 100) + 2).std("lon")),
        ("Dataset.weighted quantile", lambda d: d.weighted(np.cos(d.lon / 100) + 2).quantile(0.3, dim="lon")),
        ("Dataset.rolling_exp", lambda d: d[["a", "b"]].rolling_exp(time=3).mean()),
        given="dataset",
    ),
]  # fmt: skip
