"""Fits with known answers: noisy exponentials on a grid, and SciPy's answer for every cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
import xarray as xr

import namedgrad as ng

NAMES = ("size", "rate", "offset")
START = {"size": 1.0, "rate": 1.0, "offset": 0.0}
TIME = np.linspace(0.0, 4.0, 30)
EXACT = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}


def model(p: Any, t: Any) -> Any:
    """An exponential."""
    return p["size"] * np.exp(-p["rate"] * t) + p["offset"]


def residual(p: Any, t: Any, y: Any) -> Any:
    """Model minus observations."""
    return model(p, t) - y


def observations(seed: int = 0, lat: int = 3, lon: int = 4) -> np.ndarray:
    """Noisy exponentials (time, lat, lon)."""
    rng = np.random.default_rng(seed)
    size, rate, offset = (rng.uniform(a, b, (lat, lon)) for a, b in ((1, 3), (0.4, 2), (-1, 1)))
    y = size * np.exp(-rate * TIME[:, None, None]) + offset
    return y + 0.05 * rng.normal(size=y.shape)


def labelled(y: np.ndarray) -> xr.DataArray:
    """Observations with coordinates and units."""
    coords = {"time": TIME, "lat": 10.0 * np.arange(y.shape[1]), "lon": np.arange(y.shape[2]) - 180.0}
    return xr.DataArray(y, coords, ("time", "lat", "lon"), "y", {"units": "K"})


def named(y: np.ndarray) -> tuple[ng.DimArray, ng.DimArray]:
    """Time and observations without coordinates."""
    return ng.DimArray(TIME, ("time",)), ng.DimArray(y, ("time", "lat", "lon"))


def vector(p: np.ndarray) -> dict[str, float]:
    """A parameter vector by name."""
    return dict(zip(NAMES, p, strict=True))


def each(y: np.ndarray, solve: Callable[..., Any]) -> np.ndarray:
    """``solve`` applied to every cell's series, stacked over (lat, lon)."""
    rows = [[solve(y[:, i, j]) for j in range(y.shape[2])] for i in range(y.shape[1])]
    return np.array(rows)


def scipy_params(y: np.ndarray, low: Any = -np.inf, high: Any = np.inf, **options: Any) -> np.ndarray:
    """SciPy's parameters (lat, lon, 3)."""
    start = np.clip([*START.values()], low, high)

    def solve(series: np.ndarray) -> np.ndarray:
        keep = np.isfinite(series)
        misfit = lambda p: residual(vector(p), TIME[keep], series[keep])
        return scipy.optimize.least_squares(misfit, start, jac="cs", bounds=(low, high), **EXACT, **options).x

    return each(y, solve)


def stacked(params: xr.Dataset) -> np.ndarray:
    """A Dataset of parameters as (lat, lon, 3)."""
    return np.stack([params[n].transpose("lat", "lon").to_numpy() for n in NAMES], axis=-1)
