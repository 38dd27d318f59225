"""
Thermoclines from 48 Gaussian processes at once
===============================================

In the tropical Atlantic a thin layer separates the warm surface from the cold deep water. How deep is it, and how sure
can one be, when temperature is known at a few dozen depths only? Every station gets a Gaussian process of its own: its
length scale, size and noise are those that make the station's profile most likely. One batched program fits all 48.
"""

# %%
# The data
# --------
#
# Potential temperature on a grid of 6 × 8 stations, from the package iris-sample-data. The sea floor cuts some profiles
# short: those depths are missing.

import time
from pathlib import Path

import iris_sample_data
import numpy as np
import xarray as xr

import namedgrad as ng

STATIONS, MATRIX = ("lat", "lon"), ("depth", "depth2")

with xr.open_dataset(Path(iris_sample_data.path) / "atlantic_profiles.nc") as file:
    theta = (file["theta"].astype("float64") - 273.15).drop_vars("time").load()
theta = theta.assign_coords(lon=(theta.lon + 180) % 360 - 180).sortby("lon")
theta["lon"].attrs["units"], theta["lat"].attrs["units"] = "°E", "°N"
known = theta.notnull()
print(f"{theta.sizes['lat'] * theta.sizes['lon']} stations, {theta.sizes['depth']} depths")
print(f"{int((~known).sum())} temperatures missing, {int(theta.depth.min())} m to {int(theta.depth.max())} m")

# %%
# The likelihood of one station
# -----------------------------
#
# A squared exponential in the logarithm of depth, and noise. A missing depth gets a row and a column of the unit
# matrix: it adds nothing to misfit and determinant. ``dims`` names the rows and columns of a matrix;
# whatever other dims there are is a batch, so the same lines serve one station and all of them.

log_depth = np.log(theta.depth.astype("float64"))
anomaly = (theta - theta.mean("depth")).fillna(0.0)
unit = xr.DataArray(np.eye(theta.sizes["depth"]), dims=MATRIX)


def columns(x):
    """A vector along the rows, along the columns."""
    return x.rename(depth="depth2")


def kernel(parameters, x, y):
    """Covariance of the profile at two depths."""
    distance = (x - y) / np.exp(parameters["log_scale"])
    return np.exp(2 * parameters["log_size"] - 0.5 * distance**2)


def factor(parameters, known):
    """Cholesky factor of the covariance of the measurements."""
    smooth = kernel(parameters, log_depth, columns(log_depth)).where(known & columns(known), 0.0)
    noise = xr.where(known, np.exp(2 * parameters["log_noise"]), 1.0)
    return ng.cholesky(smooth + unit * noise, MATRIX)


def surprise(parameters, anomaly, known):
    """Minus the logarithm of the marginal likelihood."""
    low = factor(parameters, known)
    misfit = ng.solve_triangular(low, anomaly, MATRIX)
    return 0.5 * (misfit**2).sum() + ng.logdet(low, MATRIX) + 0.5 * np.log(2 * np.pi) * known.sum()


# %%
# All stations at once
# --------------------
#
# ``over`` names the dims whose cells are problems of their own.

start = xr.Dataset({"log_scale": 0.0, "log_size": 2.0, "log_noise": -1.0})
clock = time.perf_counter()
fit = ng.minimize(surprise, start, anomaly, known, over=STATIONS, tol=1e-6)
together = time.perf_counter() - clock
print(fit)
