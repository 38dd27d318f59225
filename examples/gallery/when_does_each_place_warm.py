"""
When does each place warm?
==========================

Two projections for North America, 1860 to 2099: scenario A1B, in which emissions grow until the middle of the
century, and E1, in which they are cut so that warming stays near 2 K. In every one of 1,813 cells a logistic curve
says how warm it was before, how much it warms, when half of the warming is reached, and how long it takes; with
standard errors, from one batched fit per scenario and no start values.
"""

# %%
# The data
# --------
#
# Annual mean temperature near the surface (Met Office, package iris-sample-data), and the year as a number: a model
# can also be given the dates themselves, which it then sees in seconds, days or years.

import time
from pathlib import Path

import iris_sample_data
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import namedgrad as ng  # noqa: F401 - it gives every DataArray its .grad

CELLS = ("latitude", "longitude")


def read(scenario):
    """Temperature over latitude and longitude (degrees east of Greenwich, from -180)."""
    with xr.open_dataset(Path(iris_sample_data.path) / f"{scenario}_north_america.nc") as file:
        t = file["air_temperature"].astype("float64").load()
    t = t.drop_vars(["forecast_period", "forecast_reference_time", "height"])
    return t.assign_coords(longitude=t.longitude - 360)


scenarios = {name: read(name) for name in ("A1B", "E1")}
year = xr.DataArray([d.year for d in scenarios["A1B"].time.values], dims="time", name="year", attrs={"units": "year"})
print(scenarios["A1B"].sizes)

# %%
# The model
# ---------
#
# Plain Python on whatever it is given. Its parameters are named, and nothing else is said of them but that a warming
# lies between 0 and 15 K: where it has only begun, a curve does not know where it will end.

PARAMETERS = ["before", "amount", "middle", "width"]
LIMITS = {"amount": (0, 15), "width": (1, None)}


def warming(p, year):
    """Temperature that rises by an amount, half of it before a middle year, over some width of years."""
    return p["before"] + p["amount"] / (1 + np.exp(-(year - p["middle"]) / p["width"]))


fits = {}
for name, t in scenarios.items():
    clock = time.perf_counter()
    fits[name] = t.grad.fit(warming, year, PARAMETERS, over=CELLS, bounds=LIMITS)
    print(f"{name}: {time.perf_counter() - clock:.1f} s")
    print(fits[name], "\n")

# %%
# Units follow from those of temperature and year, and errors from the fit.

for name in PARAMETERS:
    middle = fits["A1B"].params[name].median().item()
    print(f"{name:7} {middle:8.2f} ± {fits['A1B'].stderr[name].median().item():.2f} {fits['A1B'].params[name].units}")

# %%
# One place
# ---------
#
# Observations, the curve, and a band that holds the true curve with a probability of 95 %.

fits["A1B"].plot({"latitude": 40, "longitude": -105})

# %%
# Maps
# ----
#
# What is on its bound, or did not converge, is left out: there the years up to 2099 do not tell.


def answered(fit, values):
    """The cells whose fit is one."""
    return values.where(fit.status == 0)


figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained", sharex=True, sharey=True)
for row, (name, fit) in zip(axes, fits.items()):
    amount, middle = (answered(fit, fit.params[n]) for n in ("amount", "middle"))
    amount.plot(ax=row[0], vmin=0, vmax=12, cmap="inferno_r", cbar_kwargs={"label": "warming [K]"})
    middle.plot(ax=row[1], vmin=1980, vmax=2080, cmap="viridis", cbar_kwargs={"label": "half of it reached in"})
    row[0].set_title(f"{name}: amount")
    row[1].set_title(f"{name}: middle")
for panel in axes.ravel():
    panel.set(facecolor="lightgray", xlabel="longitude [°E]", ylabel="latitude [°N]")

# %%
# Where the scenarios differ, and from when on
# --------------------------------------------
#
# The warming up to a year follows from the parameters, and :meth:`propagate
# <namedgrad.fit.LeastSquaresResult.propagate>` says how sure it is, by the delta method: here for every cell and every
# year of the century. Two scenarios differ where they are more than two standard deviations of their difference apart.

years = xr.DataArray(np.arange(2000.0, 2100.0), dims="until", coords={"until": np.arange(2000, 2100)})


def so_far(p):
    """Warming since 1860."""
    return warming(p, years) - warming(p, 1860.0)


warmed = {name: fit.propagate(so_far) for name, fit in fits.items()}
apart = warmed["A1B"].value - warmed["E1"].value
sigma = np.hypot(warmed["A1B"].stderr, warmed["E1"].stderr)
differ = abs(apart) > 2 * sigma
for when in (2020, 2030, 2040, 2050):
    print(f"{when}: {differ.sel(until=when).mean().item():4.0%} of {differ[..., 0].size:,} cells differ")

never = ~differ.isel(until=-1)
since = xr.where(differ, -np.inf, differ.until).max("until") + 1  # the year after the last in which they do not
since = since.clip(min=2000).where(~never)

figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained", sharey=True)
shown = apart.sel(until=2035)
shown.plot(ax=axes[0], vmin=-1.5, vmax=1.5, cmap="RdBu_r", cbar_kwargs={"label": "A1B − E1, warming by 2035 [K]"})
axes[0].contourf(
    shown.longitude, shown.latitude, (~differ.sel(until=2035)).astype(float), levels=[0.5, 1.5], colors="none",
    hatches=["////"],
)  # fmt: skip
since.plot(ax=axes[1], vmin=2020, vmax=2060, cmap="magma", cbar_kwargs={"label": "two sigma apart from this year on"})
axes[0].set_title("Hatched: less than two sigma apart")
axes[1].set_title("Since when the scenarios differ")
for panel in axes:
    panel.set(facecolor="lightgray", xlabel="longitude [°E]", ylabel="latitude [°N]")
