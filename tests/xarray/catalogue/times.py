"""Axes of time: calendars, parts of dates, climate indices; and Variables."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tests.xarray.catalogue.entry import table


def _noleap(x):
    import cftime

    return cftime.DatetimeNoLeap(*x)


ENTRIES = [
    *table(
        ("cftime sel", lambda x: x.sel(time="2001-05")),
        ("cftime sel of a slice", lambda x: x.sel(time=slice("2001-03", "2001-08"))),
        ("cftime sel nearest", lambda x: x.sel(time=_noleap((2001, 3, 20)), method="nearest")),
        ("cftime groupby", lambda x: x.groupby("time.month") - x.groupby("time.month").mean("time")),
        ("cftime season", lambda x: x.groupby("time.season").mean("time")),
        ("cftime resample", lambda x: x.resample(time="QS").mean()),
        ("cftime resample ffill", lambda x: x.resample(time="15D").ffill()),
        ("cftime resample interpolate", lambda x: x.resample(time="15D").interpolate()),
        ("cftime interp", lambda x: x.interp(time=[_noleap((2001, 3, 20)), _noleap((2002, 7, 4))])),
        ("cftime interpolate_na", lambda x: x.where(x > 2).interpolate_na("time")),
        ("cftime differentiate", lambda x: x.differentiate("time", datetime_unit="D")),
        ("cftime integrate", lambda x: x.integrate("time", datetime_unit="D")),
        ("cftime rolling", lambda x: x.rolling(time=3).mean()),
        ("cftime shift of the index", lambda x: x.assign_coords(time=x.indexes["time"].shift(1, "MS")).sel(time="2001-05")),
        ("cftime days in month", lambda x: x.weighted(x.time.dt.days_in_month).mean("time")),
        ("convert_calendar", lambda x: x.convert_calendar("standard", use_cftime=False).sel(time="2001-05")),
        ("interp_calendar to a calendar", lambda x: x.interp_calendar(xr.date_range("2001-02-01", periods=5, freq="MS", calendar="360_day", use_cftime=True))),
        ("cftime polyfit", lambda x: x.polyfit("time", 1).polyfit_coefficients * 1e15),
        ("cftime concat", lambda x: xr.concat([x.isel(time=slice(12, None)), x.isel(time=slice(0, 12))], "time").sortby("time")),
        given="cftime",
    ),
    *table(
        ("dt as a factor", lambda x: x * x.time.dt.month + x.time.dt.dayofyear / 100),
        ("days in a month as weights", lambda x: x.weighted(x.time.dt.days_in_month).mean("time")),
        ("month lengths by season", lambda x: (x * x.time.dt.days_in_month).groupby("time.season").sum("time")),
        ("standardised anomalies", lambda x: (x.groupby("time.month") - x.groupby("time.month").mean("time")).groupby("time.month") / (x.groupby("time.month").std("time") + 0.1)),
        ("seasonal cycle by unstack", lambda x: x.assign_coords(year=x.time.dt.year, month=x.time.dt.month).set_index(time=["year", "month"]).unstack("time").mean("year")),
        ("convert_calendar to noleap", lambda x: x.convert_calendar("noleap")),
        ("convert_calendar align_on", lambda x: x.convert_calendar("360_day", align_on="year")),
        ("time minus its start", lambda x: x * ((x.time - x.time[0]) / np.timedelta64(30, "D"))),
        ("seconds as a coordinate", lambda x: x.assign_coords(time=(x.time - x.time[0]) / np.timedelta64(1, "D")).differentiate("time")),
        ("isel of a month", lambda x: x[x.time.dt.month == 1].mean("time") - x[x.time.dt.month == 7].mean("time")),
    ),
    *table(
        ("daily resample", lambda x: x.resample(time="7D").mean(), ()),
        ("daily interpolate_na max_gap", lambda x: x.where(x > 2).interpolate_na("time", max_gap="3D"), ()),
        ("daily upsample", lambda x: x.fillna(2.0).resample(time="6h").interpolate("quadratic"), ()),
        ("daily groupby time of day", lambda x: x.groupby("time.day").mean(), ()),
        ("daily groupby floor", lambda x: x.groupby(x.time.dt.floor("10D")).max(), ()),
        given="daily",
    ),
    *table(
        ("Variable arithmetic", lambda v: v * 2 + v**2, ("lat", "lon")),
        ("Variable.mean", lambda v: v.mean("time") * v.sum("lon"), ("lat",)),
        ("Variable.isel", lambda v: v.isel(time=slice(0, 3)) * 2 + v[3], ("lat",)),
        ("Variable.transpose", lambda v: v.transpose("lon", ...) * 2, ("lat",)),
        ("Variable.permute_dims", lambda v: v.permute_dims("lon", ...) * 2, ("lat",)),
        ("Variable.stack and unstack", lambda v: v.stack(z=("time", "lon")).unstack(z={"time": 24, "lon": 4}), ("lat",)),
        ("Variable.shift and roll", lambda v: v.shift(time=1) * v.roll(lon=1), ("lat",)),
        ("Variable.pad", lambda v: v.pad(lon=(1, 1), mode="edge"), ("lat",)),
        ("Variable.concat", lambda v: xr.Variable.concat([v, 2 * v], "k"), ("lat",)),
        ("Variable.rolling_window", lambda v: v.rolling_window("time", 3, "w").mean("w"), ("lat",)),
        ("Variable.coarsen", lambda v: v.coarsen({"time": 4}, np.nanmean), ("lat",)),
        ("Variable.quantile", lambda v: v.quantile(0.3, "time"), ("lat",)),
        ("Variable.where and fillna", lambda v: v.where(v > 2).fillna(1.0) * v, ("lat",)),
        ("Variable.set_dims", lambda v: v.set_dims(("k", *v.dims), (2, *v.shape)) * 2, ("lat",)),
        ("Variable.broadcast_to", lambda v: v.mean("time", keepdims=True).broadcast_to(**v.sizes) * 2, ("lat",)),
        ("Variable.squeeze and expand_dims", lambda v: v.expand_dims("k").squeeze("k") * 2, ("lat",)),
        ("Variable.clip and round", lambda v: v.clip(2, 3) + v.round() + v, ("lat",)),
        ("Variable.cumsum and cumprod", lambda v: v.cumsum("time") + v.cumprod("lon"), ("lat",)),
        ("Variable.reduce", lambda v: v.reduce(np.nanmax, "time"), ("lat",)),
        ("Variable.rank", lambda v: v.rank("time") * v, ("lat",)),
        given="variable",
    ),
]  # fmt: skip
