"""Programs that others wrote: functions of climate packages, unmodified, where these are installed.

``nox -s xarray`` installs them.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from tests.xarray.harness import check_gradient, check_over

pytestmark = pytest.mark.filterwarnings("ignore")  # what others warn of is not our subject

DAYS, LATITUDES = pd.date_range("2000-01-01", periods=730), np.linspace(20.0, 60.0, 3)


def field(low: float, high: float, units: str = "K", seed: int = 0) -> xr.DataArray:
    """Two years of days at some latitudes."""
    values = np.random.default_rng(seed).uniform(low, high, (DAYS.size, LATITUDES.size))
    lat = xr.DataArray(LATITUDES, dims="lat", attrs={"units": "degrees_north"})
    return xr.DataArray(values, {"time": DAYS, "lat": lat}, ("time", "lat"), attrs={"units": units})


def like(x: Any, values: Any, units: str) -> Any:
    return (0 * x + values).assign_attrs(units=units)


WARM = field(270, 300)
COLD = (WARM - field(2, 12, seed=1)).assign_attrs(units="K")
RAIN = field(0, 1e-4, "kg m-2 s-1")
HUMID, SUN, WIND = field(40, 80, "%", 2), field(10, 25, "MJ m-2 day-1", 3), field(1, 4, "m s-1", 4)
PLANE = xr.DataArray(
    np.random.default_rng(5).normal(size=(3, 16, 12)),
    {"time": range(3), "y": 2.0 * np.arange(16), "x": 3.0 * np.arange(12)},
    ("time", "y", "x"),
)
LAT = np.deg2rad(xr.DataArray(LATITUDES, {"lat": LATITUDES}, ("lat",)))

XCLIM = {
    "tx_max": lambda p, x: p.tx_max(x, "MS"),
    "growing_degree_days": lambda p, x: p.growing_degree_days(x, "10 degC", "YS"),
    "heating_degree_days": lambda p, x: p.heating_degree_days(x),
    "daily_temperature_range": lambda p, x: p.daily_temperature_range(COLD, x, "MS"),
    "extreme_temperature_range": lambda p, x: p.extreme_temperature_range(COLD, x),
    "temperature_seasonality": lambda p, x: p.temperature_seasonality(x),
    "relative_humidity": lambda p, x: p.relative_humidity(x, (x - 3).assign_attrs(units="K"), method="sonntag90"),
    "saturation_vapor_pressure": lambda p, x: p.saturation_vapor_pressure(x, method="its90"),
    "vapor_pressure_deficit": lambda p, x: p.vapor_pressure_deficit(x, HUMID),
    "heat_index": lambda p, x: p.heat_index((x + 20).assign_attrs(units="K"), HUMID),
    "humidex": lambda p, x: p.humidex(x, (x - 4).assign_attrs(units="K")),
    "wind_chill_index": lambda p, x: p.wind_chill_index(x, like(x, 20.0, "km/h")),
    "evapotranspiration": lambda p, x: p.potential_evapotranspiration(tasmin=COLD, tasmax=x, method="HG85"),
    "huglin_index": lambda p, x: p.huglin_index(COLD, x, lat=x.lat, freq="YS", method="jones"),
    "biologically_effective": lambda p, x: p.biologically_effective_degree_days(COLD, x, lat=x.lat, freq="YS"),
    "snowfall_approximation": lambda p, x: p.snowfall_approximation(RAIN, x, method="brown"),
    "hot_spell_max_magnitude": lambda p, x: p.hot_spell_max_magnitude(x, "290 K", 2),
}  # fmt: skip
PYET = {
    "hargreaves": lambda p, x: p.hargreaves(x, x + 5, x - 4, LAT),
    "hamon": lambda p, x: p.hamon(x, LAT),
    "turc": lambda p, x: p.turc(x, SUN, HUMID),
    "makkink": lambda p, x: p.makkink(x, SUN, elevation=100.0),
    "pm_fao56": lambda p, x: p.pm_fao56(x, WIND, rs=SUN, elevation=100.0, lat=LAT, tmax=x + 5, tmin=x - 4, rh=HUMID),
    "priestley_taylor": lambda p, x: p.priestley_taylor(x, rs=SUN, elevation=100.0, lat=LAT, tmax=x + 5, tmin=x - 4, rh=HUMID),
}  # fmt: skip
XSKILLSCORE = {
    "pearson_r": lambda p, x: p.pearson_r(x, COLD, dim="time"),
    "weighted": lambda p, x: p.rmse(x, COLD, dim="time", weights=xr.DataArray(np.linspace(1, 2, DAYS.size), {"time": DAYS}, ("time",))),
    "skipna": lambda p, x: p.mse(x.where(x > 275), COLD, dim="time", skipna=True),
    "linslope": lambda p, x: p.linslope(x, COLD, dim="time"),
    "r2": lambda p, x: p.r2(x, COLD, dim="time"),
    "median_absolute_error": lambda p, x: p.median_absolute_error(x, COLD, dim="time"),
}  # fmt: skip
XRFT = {
    "fft": lambda p, x: p.fft(x, dim="x"),
    "there and back": lambda p, x: p.idft(2 * p.dft(x, dim="x", true_phase=True, true_amplitude=True), dim="freq_x", true_phase=True, true_amplitude=True),
    "power_spectrum": lambda p, x: p.power_spectrum(x, dim=["y", "x"], detrend="linear", window="hann"),
    "half": lambda p, x: p.power_spectrum(x, dim="x", real_dim="x", detrend="constant"),
    "cross_spectrum": lambda p, x: p.cross_spectrum(x, PLANE**2, dim=["y", "x"]),
    "detrend": lambda p, x: p.detrend(x, dim=["y", "x"], detrend_type="linear"),
}  # fmt: skip
XHISTOGRAM = {
    "weights": lambda p, x: p.histogram(PLANE.rename("z"), bins=[np.linspace(-3, 3, 7)], weights=x, dim=["y", "x"]),
    "density": lambda p, x: p.histogram(PLANE.rename("z"), bins=[np.linspace(-3, 3, 7)], weights=x**2, density=True),
}  # fmt: skip
CF = {
    "weighted": lambda p, x: x.cf.weighted(np.cos(np.deg2rad(x.lat))).mean("latitude"),
    "differentiate": lambda p, x: x.cf.differentiate("latitude"),
    "interp": lambda p, x: x.cf.interp(latitude=[25.0, 33.0]),
}  # fmt: skip
GLOBE = xr.DataArray(
    np.random.default_rng(6).normal(size=(9, 12)),
    {"latitude": np.linspace(-80, 80, 9), "longitude": 30.0 * np.arange(12)},
    ("latitude", "longitude"),
)
TARGET = xr.Dataset(coords={"latitude": np.linspace(-60, 60, 5), "longitude": np.linspace(10, 300, 7)})
REGRID = {
    "linear": lambda p, x: x.regrid.linear(TARGET),
    "nearest": lambda p, x: x.regrid.nearest(TARGET),
    "conservative": lambda p, x: x.regrid.conservative(TARGET, latitude_coord="latitude"),
}  # fmt: skip
PROGRAMS = {
    "xclim.indices": (XCLIM, WARM),
    "pyet": (PYET, (WARM - 273.15).drop_attrs()),
    "xskillscore": (XSKILLSCORE, WARM.drop_attrs()),
    "xrft": (XRFT, PLANE),
    "xhistogram.xarray": (XHISTOGRAM, 1 + PLANE**2),
    "cf_xarray": (CF, WARM.drop_attrs(deep=False)),
    "xarray_regrid": (REGRID, GLOBE),
}
ALONE = [  # with no other field
    "tx_max", "growing_degree_days", "heating_degree_days", "temperature_seasonality", "relative_humidity",
    "saturation_vapor_pressure", "humidex", "wind_chill_index",
]  # fmt: skip
INSTALLED = [m for m in PROGRAMS if importlib.util.find_spec(m.partition(".")[0])]
CASES = [(module, name) for module in INSTALLED for name in PROGRAMS[module][0]]


def prepared(module: str, name: str) -> tuple[Any, xr.DataArray]:
    package, (programs, x) = importlib.import_module(module), PROGRAMS[module]
    program = programs[name]
    return (lambda x: program(package, x)), x


@pytest.mark.parametrize(("module", "name"), CASES)
def test_gradients_are_finite_differences(module: str, name: str) -> None:
    program, x = prepared(module, name)
    check_gradient(program, x, directions=2, tolerance=2e-5)


@pytest.mark.parametrize("name", ALONE if "xclim.indices" in INSTALLED else [])
def test_gradients_per_latitude(name: str) -> None:
    program, x = prepared("xclim.indices", name)
    check_over(program, x, "lat", slices=1)
