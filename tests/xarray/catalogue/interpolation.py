"""Values at other coordinates, fills of gaps, derivatives and integrals along coordinates, polynomials, fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from tests.xarray.catalogue.entry import WEIGHTS, table

POINTS = {"lat": xr.DataArray([-10.0, 20.0, 59.0], dims="point"), "lon": xr.DataArray([10.0, 100.0, 260.0], dims="point")}
COEFFICIENTS = xr.DataArray([1.0, 0.5, -0.2], dims="degree", coords={"degree": [0, 1, 2]})
DAYS = pd.to_datetime(["2001-01-10", "2001-03-03", "2001-06-20"])
FINE = [10.0, 95.0, 200.0]
METHODS = ("linear", "nearest", "zero", "slinear", "quadratic", "cubic", "quintic", "polynomial", "pchip", "barycentric", "krogh", "akima", "makima")
ORDER = {"polynomial": {"order": 3}}


def _at(method):
    """At times between the months: there are enough nodes for every method; but polynomials cannot be in nanoseconds."""
    if method in {"barycentric", "krogh"}:
        return (f"interp {method}", lambda x: x.interp(lon=FINE, method=method), ("lat", "time"))
    options = {"kwargs": ORDER[method]} if method in ORDER else {}
    return (f"interp {method}", lambda x: x.fillna(2.0).isel(time=slice(0, 9)).interp(time=DAYS, method=method, **options))


def _gaps(method):
    options = ORDER.get(method, {})
    return (f"interpolate_na {method}", lambda x: _holes(x).interpolate_na("time", method=method, **options))


ENTRIES = [
    *table(
        *map(_at, METHODS),
        ("interp of gaps", lambda x: x.interp(lon=FINE), ("lat", "time")),
        ("interp nearest of gaps", lambda x: x.interp(lon=FINE, method="nearest"), ("lat", "time")),
        ("interp outside", lambda x: x.interp(lon=[-20.0, 90.0, 100.0, 300.0]), ("lat", "time")),
        ("interp extrapolate", lambda x: x.interp(lon=[-20.0, 100.0, 300.0], kwargs={"fill_value": "extrapolate"}), ("lat", "time")),
        ("interp fill_value", lambda x: x.interp(lon=[-20.0, 100.0, 300.0], kwargs={"fill_value": 1.5}) ** 2, ("lat", "time")),
        ("interp of two dims", lambda x: x.interp(lat=[-10.0, 20.0], lon=FINE), ("time",)),
        ("interp of two dims, pchip", lambda x: x.fillna(2.0).interp(time=DAYS[:2], lon=FINE, method="pchip"), ("lat",)),
        ("interp at points, slinear", lambda x: x.fillna(2.0).interp(POINTS, method="slinear"), ("time",)),
        ("interp at points", lambda x: x.interp(POINTS), ("time",)),
        ("interp at points, nearest", lambda x: x.interp(POINTS, method="nearest"), ("time",)),
        ("interp at a number", lambda x: x.interp(lon=100.0), ("lat", "time")),
        ("interp along another dim", lambda x: x.interp(lon=xr.DataArray(np.linspace(5.0, 250.0, 24), dims="time", coords={"time": x.time})), ("lat",)),
        ("interp to two new dims", lambda x: x.interp(lon=xr.DataArray([[1.0, 50.0], [100.0, 222.0]], dims=("a", "b"))), ("lat", "time")),
        ("interp at the data", lambda x: WEIGHTS.interp(lon=x * 20), ("lat", "time")),
        ("interp at positions", lambda x: x.drop_vars(["lon", "area"]).interp(lon=[0.5, 2.2]), ("lat", "time")),
        ("interp_like", lambda x: x.interp_like(xr.DataArray(np.zeros(3), dims="lon", coords={"lon": FINE})), ("lat", "time")),
        ("interp_like of times", lambda x: x.interp_like(x.isel(time=slice(0, 6)).assign_coords(time=x.time[:6] + np.timedelta64(5, "D"))[..., 0].drop_vars("lon"))),
        ("interp_calendar", lambda x: x.interp_calendar(x.time.isel(time=slice(2, 9)) + np.timedelta64(12, "h"))),
    ),
    *table(
        *map(_gaps, [m for m in METHODS if m != "quintic"]),
        ("interpolate_na spline", lambda x: _quiet(lambda: _holes(x).interpolate_na("time", method="spline", s=0))),
        ("interpolate_na limit", lambda x: x.where(x > 2).interpolate_na("time", limit=1)),
        ("interpolate_na max_gap", lambda x: x.where(x > 2).interpolate_na("time", max_gap="70D")),
        ("interpolate_na without coordinate", lambda x: x.where(x > 2).interpolate_na("time", use_coordinate=False)),
        ("interpolate_na of another coordinate", lambda x: x.assign_coords(day=("time", np.arange(24.0) ** 1.5)).where(x > 2).interpolate_na("time", use_coordinate="day")),
        ("interpolate_na extrapolate", lambda x: x.where(x > 2).interpolate_na("lon", fill_value="extrapolate")),
        ("interpolate_na max_gap of numbers", lambda x: x.where(x > 2).interpolate_na("lon", max_gap=100.0)),
    ),
    *table(
        ("differentiate", lambda x: x.differentiate("lon"), ("lat", "time")),
        ("differentiate edge_order", lambda x: x.differentiate("lon", edge_order=2), ("lat", "time")),
        ("differentiate in time", lambda x: x.differentiate("time", datetime_unit="D")),
        ("integrate", lambda x: x.integrate("lon"), ("lat", "time")),
        ("integrate in time", lambda x: x.integrate("time", datetime_unit="D")),
        ("integrate of two dims", lambda x: x.fillna(1.0).integrate(["time", "lon"], "h")),
        ("cumulative_integrate", lambda x: x.cumulative_integrate("lon"), ("lat", "time")),
        ("cumulative_integrate in time", lambda x: x.cumulative_integrate("time", "D")),
        ("polyfit", lambda x: x.polyfit("lon", 2), ("lat", "time")),
        ("polyfit weighted", lambda x: x.polyfit("lon", 1, w=np.array([1.0, 2.0, 0.5, 1.0])), ("lat", "time")),
        ("polyfit in time", lambda x: x.polyfit("time", 1).polyfit_coefficients * 1e15),
        ("polyfit full", lambda x: x.fillna(2.0).polyfit("lon", 1, full=True).polyfit_residuals, ("lat", "time")),
        ("polyfit covariance", lambda x: x.fillna(2.0).isel(time=0).polyfit("lon", 1, cov=True).polyfit_covariance, ()),
        ("curvefit", lambda x: x.isel(time=slice(0, 3)).curvefit("lon", _line).curvefit_coefficients),
        ("curvefit reduce_dims", lambda x: x.isel(time=slice(0, 6)).curvefit("lon", _line, reduce_dims="time").curvefit_coefficients),
        ("polyval", lambda x: xr.polyval(x, COEFFICIENTS)),
        ("polyval of coefficients", lambda x: xr.polyval(xr.DataArray([1.0, 2.0], dims="s"), x.isel(time=slice(0, 3)).rename(time="degree").assign_coords(degree=[0, 1, 2]))),
        ("polyval of a Dataset", lambda x: xr.polyval(x.lon, x.polyfit("lon", 1)), ("lat", "time")),
        ("trend removed", lambda x: x - xr.polyval(x.time, x.polyfit("time", 1).polyfit_coefficients)),
        ("gradient by numpy", lambda x: x.copy(data=np.gradient(x.data, axis=0))),
    ),
    *table(
        ("Dataset.interp", lambda d: d.interp(lon=FINE), ("lat", "time")),
        ("Dataset.interp_like", lambda d: d.interp_like(xr.Dataset(coords={"lon": FINE})), ("lat", "time")),
        ("Dataset.interpolate_na", lambda d: d.where(d.a > 2).interpolate_na("time")),
        ("Dataset.ffill", lambda d: d[["a", "b"]].where(d.a > 2).ffill("time")),
        ("Dataset.bfill", lambda d: d[["a", "b"]].where(d.a > 2).bfill("lon", limit=1)),
        ("Dataset.differentiate", lambda d: d.differentiate("lon"), ("lat", "time")),
        ("Dataset.integrate", lambda d: d.integrate("lon"), ("lat", "time")),
        ("Dataset.cumulative_integrate", lambda d: d.cumulative_integrate("lon"), ("lat", "time")),
        ("Dataset.curvefit", lambda d: d[["a", "b"]].isel(time=slice(0, 2)).curvefit("lon", _line)[["a_curvefit_coefficients", "b_curvefit_coefficients"]], ("lat",)),
        ("Dataset.polyfit", lambda d: d.fillna(2.0).polyfit("lon", 1), ("lat", "time")),
        given="dataset",
    ),
]  # fmt: skip


def _line(lon, slope=0.01, start=1.0):
    return slope * lon + start


def _holes(x):
    """Gaps in one column, so that there are enough cells for every method."""
    y = x.isel(time=slice(0, 9))
    return y.where((y.lon != 90) | (y.time.dt.month % 3 != 2))


def _quiet(f):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return f()
