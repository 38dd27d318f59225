"""
Thermoclines from 48 Gaussian processes at once
===============================================

In the tropical Atlantic a thin layer separates the warm surface from the cold deep water. How deep is it, and how sure
can one be, when temperature is known at a few dozen depths only? Every station gets a Gaussian process of its own: its
length scale, size and noise are those that make the station's profile most likely. One batched program fits all 48 and
draws from them.
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
import matplotlib.pyplot as plt
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
# A squared exponential in a depth that is stretched near the surface, where more happens, and noise. A missing depth
# gets a row and a column of the unit matrix: it adds nothing to misfit and determinant. ``dims`` names the rows and
# columns of a matrix; whatever other dims there are is a batch, so the same lines serve one station and all of them.

anomaly = (theta - theta.mean("depth")).fillna(0.0)
unit = xr.DataArray(np.eye(theta.sizes["depth"]), dims=MATRIX)


def stretched(depth):
    """Depth as the process sees it."""
    return np.log(depth + 50.0)


position = stretched(theta.depth.astype("float64"))


def columns(x):
    """A vector along the rows, along the columns."""
    return x.rename(depth="depth2")


def kernel(parameters, x, y):
    """Covariance of the profile at two depths."""
    distance = (x - y) / np.exp(parameters["log_scale"])
    return np.exp(2 * parameters["log_size"] - 0.5 * distance**2)


def factor(parameters, known):
    """Cholesky factor of the covariance of the measurements."""
    smooth = kernel(parameters, position, columns(position)).where(known & columns(known), 0.0)
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
# ``over`` names the dims whose cells are problems of their own. The Cholesky factors, the triangular equations and the
# determinants of all 48 are each one call.

start = xr.Dataset({"log_scale": 0.0, "log_size": 2.0, "log_noise": -1.0})
clock = time.perf_counter()
fit = ng.minimize(surprise, start, anomaly, known, over=STATIONS, tol=1e-6)
together = time.perf_counter() - clock
print(fit)

# %%
# The same one station after another, on one line of latitude: the numbers are the same, the time is not.

clock = time.perf_counter()
apart = []
for i in range(theta.sizes["lon"]):
    here = {"lat": 0, "lon": i}
    alone = ng.minimize(surprise, start, anomaly.isel(here), known.isel(here), tol=1e-6)
    apart.append(abs(alone.params - fit.params.isel(here)).to_array().max().item())
loop = (time.perf_counter() - clock) / len(apart)
print(f"largest difference of a parameter: {max(apart):.1e}")
assert (fit.status == 0).all()
assert max(apart) < 1e-5  # both stop where a step is less than 1e-6
print(f"{1000 * together / 48:.0f} ms for a station together with all others, {1000 * loop:.0f} ms alone")
print(f"{loop * 48 / together:.1f} times as fast")

# %%
# Profiles between the measurements
# ---------------------------------
#
# The mean of the process at other depths is a function of these depths, so its slope is a derivative like any other:
# one forward pass gives it at all depths of all stations.

depth = xr.DataArray(np.geomspace(10.0, 400.0, 150), dims="at", attrs={"units": "m", "long_name": "depth"})
best = fit.params
low = factor(best, known)
weights = ng.solve_triangular(low, anomaly, MATRIX)


def seen_from(at):
    """What the measurements and the process at other depths have in common, in units of independent noise."""
    common = kernel(best, position, stretched(at)).where(known, 0.0)
    return ng.solve_triangular(low, common, MATRIX)


def profile(at):
    """Mean of the process."""
    return (seen_from(at) * weights).sum("depth2") + theta.mean("depth")


temperature, slope = ng.pushforward(profile, (depth,), (xr.ones_like(depth),))

# %%
# How deep is the thermocline?
# ----------------------------
#
# Its depth is that of an isotherm: 16 °C lies in the steep layer of every station. Draws from the process say how well
# it is known: each is a profile that fits the measurements as well as they are known. Their covariance is factored by
# one more Cholesky call. To first order the uncertainty is that of the temperature there, divided by the slope.

at2 = {"at": "at2"}
ready = seen_from(depth)
spread = kernel(best, stretched(depth), stretched(depth).rename(at2)) - (ready * ready.rename(at2)).sum("depth2")
jitter = 1e-6 * np.exp(2 * best["log_size"]) * xr.DataArray(np.eye(depth.size), dims=("at", "at2"))
noise = xr.DataArray(np.random.default_rng(0).normal(size=(depth.size, 400)), dims=("at2", "draw"))
draws = temperature + xr.dot(ng.cholesky(spread + jitter, ("at", "at2")), noise, dim="at2")


def isotherm(temperature, degrees=16.0):
    """Depth at which temperature first falls below, between two depths on the line that joins them."""
    after = (temperature < degrees).argmax("at")
    t0, t1 = (temperature.isel(at=k) for k in (after - 1, after))
    z0, z1 = (depth.isel(at=k) for k in (after - 1, after))
    return z0 + (z1 - z0) * (t0 - degrees) / (t0 - t1)


drawn = isotherm(draws)
thermocline = isotherm(temperature).assign_attrs(units="m", long_name="depth of 16 °C")
uncertainty = drawn.std("draw").assign_attrs(units="m", long_name="its standard deviation")
variance = np.exp(2 * best["log_size"]) - (ready**2).sum("depth2")
linear = np.sqrt(variance / slope**2).isel(at=abs(depth - thermocline).argmin("at"))
print(f"thermocline: {float(thermocline.min()):.0f} m to {float(thermocline.max()):.0f} m")
print(f"standard deviation: {float(uncertainty.min()):.1f} m to {float(uncertainty.max()):.1f} m")
print(f"to first order it is {float((linear / uncertainty).median()):.2f} times that at the median station")
assert 40 < thermocline.min() < thermocline.max() < 300
assert 0.5 < (linear / uncertainty).median() < 1.5

# %%
# The least certain station: measurements, draws, the slope, and the depth of 16 °C in nine of ten draws. And all of
# them on a map.

station = uncertainty.argmax(STATIONS)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
left.plot(draws.isel(station).isel(draw=slice(0, 40)).transpose("at", "draw"), depth, color="C0", alpha=0.15, lw=0.8)
left.plot(theta.isel(station), theta.depth, "ko", ms=4)
right.plot(10 * slope.isel(station), depth)
right.axhspan(*(drawn.isel(station).quantile([0.05, 0.95]).values), color="C1", alpha=0.3)
left.set(xlabel="potential temperature (°C)", ylabel="depth (m)", ylim=(300, 10), title="measured, and 40 draws")
right.set(xlabel="slope (°C per 10 m)", title="slope of the mean, and the thermocline")

# %%

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for place, field, colours in zip(axes, (thermocline, uncertainty), ("viridis_r", "magma_r"), strict=True):
    field.plot(ax=place, cmap=colours, cbar_kwargs={"label": f"{field.long_name} (m)"})
    place.set(xlabel="longitude (°E)", ylabel="latitude (°N)", title="")
    place.label_outer()
