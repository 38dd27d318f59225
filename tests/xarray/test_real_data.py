"""Real climate data: a regional warming signal and its sensitivity, monthly anomalies, missing sea temperatures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng

samples = pytest.importorskip("iris_sample_data")
pytest.importorskip("netCDF4")


def load(name: str, variable: str) -> xr.DataArray:
    with xr.open_dataset(Path(samples.path) / name, decode_timedelta=False) as ds:
        return ds[variable].astype(float).load()


def warming(t: xr.DataArray) -> xr.DataArray:
    """Area-weighted mean of the last thirty years minus that of the first thirty, in a region."""
    region = t.sel(latitude=slice(30, 50), longitude=slice(240, 280))
    mean = region.weighted(np.cos(np.deg2rad(region.latitude))).mean(("latitude", "longitude"))
    return mean.isel(time=slice(-30, None)).mean("time") - mean.isel(time=slice(0, 30)).mean("time")


def slope(f, x: xr.DataArray, along: xr.DataArray, h: float) -> float:
    return ((f(x + h * along) - f(x - h * along)) / (2 * h)).item()


def test_sensitivity_of_regional_warming():
    t = load("A1B_north_america.nc", "air_temperature")
    g = t.grad(warming)
    assert g.dims == t.dims
    assert g.coords.identical(t.coords)
    assert g.attrs["units"] == "1"
    along = t.copy(data=np.random.default_rng(0).normal(size=t.shape))
    assert np.vdot(g, along) == pytest.approx(slope(warming, t, along, 1.0), rel=1e-9)
    np.testing.assert_array_equal(g.sel(latitude=slice(None, 25)), 0.0)
    assert g.isel(time=slice(-30, None)).sum().item() == pytest.approx(1.0)


def test_every_cell_at_once():
    t = load("A1B_north_america.nc", "air_temperature")[:, ::12, ::16]
    f = lambda t: (t.rolling(time=20).mean().diff("time") ** 2).mean() / t.var("time")
    value, g = ng.value_and_grad(f, over=("latitude", "longitude"))(t)
    assert value.dims == ("latitude", "longitude")
    for i in range(t.sizes["latitude"]):
        for j in range(t.sizes["longitude"]):
            np.testing.assert_allclose(g[:, i, j], t[:, i, j].grad(f), rtol=1e-10, atol=1e-16)


def test_land_has_no_gradient():
    sst = load("ostia_monthly.nc", "surface_temperature").isel(longitude=slice(0, 40))
    anomaly = lambda t: ((t.groupby("time.month") - t.groupby("time.month").mean()) ** 2).mean()
    assert sst.isnull().any()
    g = sst.grad(anomaly)
    np.testing.assert_array_equal(g.values[sst.isnull()], 0.0)
    along = sst.copy(data=np.where(sst.isnull(), 0.0, np.random.default_rng(0).normal(size=sst.shape)))
    assert np.vdot(g, along) == pytest.approx(slope(anomaly, sst, along, 1e-3), rel=1e-7)
