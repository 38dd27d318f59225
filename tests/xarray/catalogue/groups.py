"""groupby by every kind of grouper, resample."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from xarray.groupers import BinGrouper, SeasonGrouper, SeasonResampler, TimeResampler, UniqueGrouper

from tests.xarray.catalogue.entry import WEIGHTS, table

NAMES = ("sum", "mean", "std", "var", "max", "min", "median", "prod")
BASIN = xr.DataArray([["a", "b", "a", "c"], ["b", "b", "a", "c"], ["c", "a", "a", "b"]], dims=("lat", "lon"))


def _months(x):
    return x.groupby("time.month")


ENTRIES = [
    *table(
        *((f"groupby {n}", lambda x, n=n: getattr(_months(x), n)("time")) for n in NAMES),
        ("groupby count", lambda x: _months(x).count("time") * _months(x).mean("time")),
        ("groupby all and any", lambda x: (_months(x > 2).all("time") + _months(x > 3).any("time")) * _months(x).sum("time")),
        ("groupby first", lambda x: _months(x).first()),
        ("groupby last", lambda x: _months(x).last()),
        ("groupby first skipna=False", lambda x: _months(x).first(skipna=False)),
        ("groupby cumsum", lambda x: _months(x).cumsum("time")),
        ("groupby cumprod", lambda x: _months(x / 3).cumprod("time")),
        ("groupby quantile", lambda x: x.groupby("time.year").quantile(0.3, "time")),
        ("groupby reduce", lambda x: x.groupby("time.year").reduce(np.nanmean, "time")),
        ("groupby map", lambda x: x.groupby("time.year").map(lambda g: g - g.mean("time"))),
        ("groupby apply", lambda x: x.groupby("time.year").map(lambda g: g.std("time"))),
        ("groupby fillna", lambda x: _months(x).fillna(_months(x).mean("time"))),
        ("groupby where", lambda x: _months(x).where(x > 2.2)),
        ("groupby assign_coords", lambda x: _months(x).assign_coords(k=1.0).mean("time")),
        ("groupby minus", lambda x: _months(x) - _months(x).mean("time")),
        ("groupby divided", lambda x: (_months(x) / (_months(x).std("time") + 0.1)) * 2),
        ("groupby plus a Dataset", lambda x: _months(x) + _months(x).mean("time").to_dataset(name="m")),
        ("groupby_bins of itself", lambda x: x.fillna(2.0).groupby_bins(x.fillna(2.0), [0, 2, 3, 9]).mean(), ()),
        ("groupby of a statistic", lambda x: x.groupby(x.fillna(2.0).mean(("lat", "lon")).round(1).rename("level")).sum(), ()),
        ("groupby season", lambda x: x.groupby("time.season").mean("time")),
        ("groupby dayofyear", lambda x: x.groupby("time.dayofyear").mean("time")),
        ("groupby an array", lambda x: x.groupby(x.time.dt.quarter).std("time")),
        ("groupby a coordinate of text", lambda x: x.groupby("zone").mean(), ("time", "lon")),
        ("groupby two dims at once", lambda x: x.groupby(BASIN.rename("basin")).mean(), ("time",)),
        ("groupby several", lambda x: x.assign_coords(year=x.time.dt.year, half=("time", np.arange(24) // 6 % 2)).groupby(["year", "half"]).mean(), ("lat",)),
        ("groupby several groupers", lambda x: x.groupby(time=TimeResampler("YS"), lon=BinGrouper([-1, 100, 300])).mean(), ("lat",)),
        ("groupby iteration", lambda x: sum(k * g.sum("time") for k, g in x.groupby("time.year")), ("lat",)),
        ("groupby getitem", lambda x: x.groupby("time.year")[2002].mean("time")),
        ("groupby_bins", lambda x: x.groupby_bins("lon", [-1, 100, 300]).mean(), ("lat", "time")),
        ("groupby_bins labels", lambda x: x.groupby_bins("lon", [-1, 50, 100, 300], labels=["a", "b", "c"]).max(), ("lat", "time")),
        ("groupby_bins of a count", lambda x: x.groupby_bins("lat", 2).sum(), ("time", "lon")),
        ("groupby_bins map", lambda x: x.groupby_bins("lon", [-1, 100, 300]).map(lambda g: g.std("lon")), ("lat", "time")),
        ("groupby UniqueGrouper", lambda x: x.groupby(zone=UniqueGrouper(labels=["north", "south"])).sum(), ("time", "lon")),
        ("groupby BinGrouper", lambda x: x.groupby(lon=BinGrouper(bins=[-1, 100, 300])).sum(), ("lat", "time")),
        ("groupby SeasonGrouper", lambda x: x.groupby(time=SeasonGrouper(["DJFM", "AMJ", "JASON"])).mean()),
        ("groupby SeasonResampler", lambda x: x.groupby(time=SeasonResampler(["DJF", "MAM", "JJA", "SON"])).mean()),
        ("groupby weighted", lambda x: x.groupby("time.year").map(lambda g: g.weighted(WEIGHTS).mean("lon")), ("lat",)),
        ("groupby cumulative map", lambda x: x.groupby("time.year").map(lambda g: g.cumsum("time"))),
        ("groupby shuffle", lambda x: x.groupby("time.month").shuffle_to_chunks() * 2, ()),
    ),
    *table(
        *((f"resample {n}", lambda x, n=n: getattr(x.resample(time="QS"), n)()) for n in NAMES),
        ("resample count", lambda x: x.resample(time="QS").count() * x.resample(time="QS").mean()),
        ("resample first", lambda x: x.resample(time="QS").first()),
        ("resample last", lambda x: x.resample(time="QS").last()),
        ("resample quantile", lambda x: x.resample(time="YS").quantile(0.4)),
        ("resample reduce", lambda x: x.resample(time="QS").reduce(np.nansum)),
        ("resample map", lambda x: x.resample(time="YS").map(lambda g: g - g.mean("time"))),
        ("resample cumsum", lambda x: x.resample(time="YS").cumsum()),
        ("resample minus", lambda x: x.resample(time="YS").map(lambda g: g / g.sum("time")) - x),
        ("resample asfreq", lambda x: x.resample(time="14D").asfreq()),
        ("resample ffill", lambda x: x.resample(time="14D").ffill()),
        ("resample bfill", lambda x: x.resample(time="14D").bfill(tolerance="9D")),
        ("resample nearest", lambda x: x.resample(time="14D").nearest()),
        ("resample pad", lambda x: x.resample(time="14D").pad()),
        ("resample interpolate", lambda x: x.resample(time="14D").interpolate("linear")),
        ("resample interpolate cubic", lambda x: x.fillna(2.0).resample(time="14D").interpolate("cubic")),
        ("resample offset and closed", lambda x: x.resample(time="3MS", closed="right", label="right").sum()),
        ("resample to a period", lambda x: x.resample(time=pd.Timedelta("90D"), origin="start").mean()),
        ("resample of empty bins", lambda x: x.isel(time=[0, 1, 9, 10]).resample(time="QS").mean()),
    ),
    *table(
        ("Dataset.groupby", lambda d: d.groupby("time.month").mean()),
        ("Dataset.groupby anomalies", lambda d: d[["a", "b"]].groupby("time.month") - d[["a", "b"]].groupby("time.month").mean()),
        ("Dataset.groupby map", lambda d: d[["a", "b"]].groupby("time.year").map(lambda g: g / g.std("time"))),
        ("Dataset.groupby assign", lambda d: d[["a", "b"]].groupby("time.year").assign(c=lambda g: g.a.mean("time") * g.b)),
        ("Dataset.groupby first", lambda d: d[["a", "b"]].groupby("time.month").first()),
        ("Dataset.groupby quantile", lambda d: d[["a", "b"]].groupby("time.year").quantile(0.4)),
        ("Dataset.groupby_bins", lambda d: d.groupby_bins("lon", [-1, 100, 300]).mean(), ("lat", "time")),
        ("Dataset.resample", lambda d: d[["a", "b"]].resample(time="QS").mean()),
        ("Dataset.resample map", lambda d: d[["a", "b"]].resample(time="YS").map(lambda g: g.max("time"))),
        ("Dataset.resample interpolate", lambda d: d[["a", "b"]].resample(time="14D").interpolate()),
        given="dataset",
    ),
]  # fmt: skip
