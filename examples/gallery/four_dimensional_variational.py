"""
Yesterday's sea from today's buoys: 4D-Var
==========================================

A forecast needs the whole state of the sea, and measurements are few, noisy and scattered in space and time.
Four-dimensional variational assimilation looks for the initial state whose *forecast* passes closest to all of them.
Weather centres write adjoint models for that by hand, over years. Here the model is thirty lines of xarray, and its
adjoint is ``.grad``.
"""

# %%
# A sea that moves
# ----------------
#
# Sea surface temperature in the equatorial Pacific, from the package iris-sample-data, is carried by a given current
# and mixed by eddies. One step is advection and diffusion, by ``shift`` to and fro; beyond the edges the sea goes on
# as it is there.

import time
import tracemalloc
from pathlib import Path

import iris_sample_data
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from scipy.optimize import minimize

import namedgrad as ng

KM, DAY = 1e3, 86400.0
STEP, STEPS_PER_DAY, DAYS = DAY / 3, 3, 14

with xr.open_dataset(Path(iris_sample_data.path) / "ostia_monthly.nc", decode_timedelta=False) as file:
    celsius = file["surface_temperature"].sel(time="2009-11").squeeze("time").load() - 273.15
sea = celsius.sel(longitude=slice(185, 265)).astype("float64").reset_coords(drop=True)
sea = sea.assign_coords(longitude=sea.longitude.astype("float64"), latitude=sea.latitude.astype("float64"))
sea = sea.rename("temperature").assign_attrs(units="°C")

dx = 111.2 * KM * sea.longitude.diff("longitude").mean().item()
dy = 111.2 * KM * sea.latitude.diff("latitude").mean().item()
lat, lon = np.deg2rad(sea.latitude), np.deg2rad(sea.longitude)
east = -0.5 * np.exp(-((sea.latitude / 3) ** 2)) + 0.15 * np.sin(6 * lon) * np.cos(18 * lat)
north = 0.2 * np.cos(6 * lon) * np.sin(12 * lat)
print(dict(sea.sizes), f"cells of {dx / KM:.0f} x {dy / KM:.0f} km")
print(f"currents up to {float(np.hypot(east, north).max()):.2f} m/s")


def shifted(x, dim, by):
    """The neighbours along a dim; at the edge, the cell itself."""
    return x.shift({dim: by}).fillna(x)


def smooth(x):
    """A few rounds of spreading to the neighbours."""
    for _ in range(6):
        for dim in ("longitude", "latitude"):
            x = (shifted(x, dim, 1) + 2 * x + shifted(x, dim, -1)) / 4
    return x


def step(temperature, diffusivity):
    """Eight hours later."""
    x, out = temperature, temperature
    for dim, size, speed in (("longitude", dx, east), ("latitude", dy, north)):
        behind, ahead = shifted(x, dim, 1), shifted(x, dim, -1)
        mixing = diffusivity * (behind - 2 * x + ahead) / size**2
        out = out + STEP * (mixing - speed * (ahead - behind) / (2 * size))
    return out


def day(temperature, diffusivity):
    """One day later."""
    for _ in range(STEPS_PER_DAY):
        temperature = step(temperature, diffusivity)
    return temperature


# %%
# Buoys
# -----
#
# The truth, the analysed sea with eddies added, is known to us alone. Every other day 80 buoys report it with an
# error of 0.1 K, at other places each time. Their temperature is read off the grid by ``interp``, as of any
# DataArray.

rng = np.random.default_rng(4)
TRUE_DIFFUSIVITY, NOISE, REPORTS, BUOYS = 20000.0, 0.1, range(2, DAYS + 1, 2), 80
places = xr.Dataset(
    {
        "longitude": (("report", "buoy"), rng.uniform(sea.longitude[0], sea.longitude[-1], (len(REPORTS), BUOYS))),
        "latitude": (("report", "buoy"), rng.uniform(sea.latitude[0], sea.latitude[-1], (len(REPORTS), BUOYS))),
    },
    coords={"report": list(REPORTS)},
)


def observe(initial, diffusivity, advance):
    """What the buoys would report, had the sea begun like this."""
    reports, temperature = [], initial
    for today in range(1, DAYS + 1):
        temperature = advance(temperature, diffusivity)
        if today in REPORTS:
            at = places.sel(report=today)
            reports.append(temperature.interp(longitude=at.longitude, latitude=at.latitude).reset_coords(drop=True))
    return xr.concat(reports, "report")


truth = sea + 4.0 * smooth(sea.copy(data=rng.normal(size=sea.shape)))
exact = observe(truth, TRUE_DIFFUSIVITY, day)
reports = exact + NOISE * xr.DataArray(rng.normal(size=exact.shape), dims=exact.dims)
print(f"{reports.size} reports, {sea.size} unknown temperatures and one unknown diffusivity")

# %%
# The cost
# --------
#
# What we know beforehand is poor: a temperature that depends on longitude alone, with errors that are smooth in
# space. The unknowns are the logarithm of the diffusivity and a field of weights; smoothing these gives the
# correction. Misfits count in units of their errors. ``ng.checkpoint`` keeps the state of each day only, and runs the
# day again on the way back.

background = sea.mean("latitude").rolling(longitude=31, center=True, min_periods=1).mean() + 0 * sea
checkpointed = ng.checkpoint(day)


def unknowns(control):
    """Initial state and diffusivity."""
    return background + 4.0 * smooth(control["weights"]), 10000.0 * np.exp(control["log_diffusivity"])


def cost(control, advance=checkpointed):
    """Misfit to the reports and to what was known before."""
    initial, diffusivity = unknowns(control)
    misfit = (observe(initial, diffusivity, advance) - reports) / NOISE
    return 0.5 * ((misfit**2).sum() + (control["weights"] ** 2).sum() + control["log_diffusivity"] ** 2)


start = xr.Dataset({"weights": xr.zeros_like(truth).drop_attrs(), "log_diffusivity": 0.0})

# %%
# Is the adjoint right?
# ---------------------
#
# Whoever has written one knows the question. The dot product test answers it, beside finite differences:

start.grad.check(cost, order=1)

# %%
# Going down
# ----------
#
# SciPy's L-BFGS wants vectors; ``value_and_grad`` gives it the rest. All iterations run the same program with other
# numbers, so it is recorded once: ``ng.compile``. Checkpoints trade time for memory.



def measured(f, name):
    """The recorded program, once it has said what it needs."""
    f(start)  # records
    tracemalloc.start()
    f(start)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    clock = time.perf_counter()
    f(start)
    print(f"cost and gradient, {name}: {1e3 * (time.perf_counter() - clock):.0f} ms, {peak:.1f} MB")
    return f


measured(ng.compile(ng.value_and_grad(lambda control: cost(control, day))), "all steps kept")
derived = measured(ng.compile(ng.value_and_grad(cost)), "days checkpointed")


def as_vector(control):
    """The unknowns in one row."""
    return np.append(control["weights"].values.ravel(), control["log_diffusivity"].item())


def as_control(vector):
    """And back."""
    return start.assign(
        weights=start["weights"].copy(data=vector[:-1].reshape(truth.shape)), log_diffusivity=vector[-1]
    )


def value_and_slope(vector):
    """What SciPy calls."""
    value, gradient = derived(as_control(vector))
    return value.item(), as_vector(gradient)


costs = []
clock = time.perf_counter()
found = minimize(
    value_and_slope, as_vector(start), jac=True, method="L-BFGS-B", options={"maxiter": 80},
    callback=lambda intermediate_result: costs.append(intermediate_result.fun),
)  # fmt: skip
seconds = time.perf_counter() - clock
analysis, diffusivity = unknowns(as_control(found.x))
print(f"{found.nit} iterations, {found.nfev} gradients in {seconds:.1f} s: cost {costs[0]:.0f} -> {costs[-1]:.0f}")
print(f"diffusivity: {diffusivity.item():.0f} m2/s, truly {TRUE_DIFFUSIVITY:.0f}")
for name, field in (("first guess", background), ("analysis", analysis)):
    print(f"{name:12} wrong by {np.sqrt(((field - truth) ** 2).mean()).item():.2f} K on average")
assert ((analysis - truth) ** 2).mean() < ((background - truth) ** 2).mean() / 9
assert 12_000 < diffusivity < 25_000

# %%
# The sea two weeks ago
# ---------------------

figure, axes = plt.subplots(3, 1, figsize=(9, 6.2), sharex=True, layout="constrained")
limits = {"vmin": float(truth.min()), "vmax": float(truth.max()), "cmap": "RdYlBu_r"}
for ax, (title, field) in zip(
    axes, {"Truth": truth, "First guess": background, "Analysis": analysis}.items(), strict=True
):
    field.assign_attrs(long_name="temperature", units="°C").plot(x="longitude", y="latitude", ax=ax, **limits)
    ax.set(title=title, xlabel="", ylabel="latitude [°N]")
axes[0].quiver(
    sea.longitude[::6], sea.latitude[::2], east[::2, ::6], north.transpose(*east.dims)[::2, ::6], width=0.002
)
axes[2].scatter(places.longitude, places.latitude, s=4, color="black", label="reports")
axes[2].legend(loc="lower right")
axes[2].set_xlabel("longitude [°E]")

# %%
# A buoy sees what the current brought there. The gradient of one of its readings with respect to the initial state is
# where that water, and with it the temperature, came from.

buoy = {"longitude": 215.0, "latitude": 0.0}


def reading(initial):
    """Temperature at one place on the last day."""
    temperature = initial
    for _ in range(DAYS):
        temperature = day(temperature, TRUE_DIFFUSIVITY)
    return temperature.interp(buoy)


origin = truth.grad(reading)
figure, ax = plt.subplots(figsize=(9, 2.6), layout="constrained")
origin.plot(ax=ax, cmap="magma_r", vmin=0, cbar_kwargs={"label": "share of the reading"})
ax.plot(buoy["longitude"], buoy["latitude"], "c^", label="buoy, day 14")
ax.set(title="Where the water came from", xlabel="longitude [°E]", ylabel="latitude [°N]")
ax.legend()
print(f"all shares together: {origin.sum().item():.3f}")
plt.show()
