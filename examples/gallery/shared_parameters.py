"""
Shared parameters
=================

Every place warms by an amount of its own. But when half of the warming is reached, and how long it takes, may be
common to all places of one latitude. A parameter that is given over ``latitude`` alone is one number for all
longitudes: that couples the cells of a latitude to one problem with hundreds of unknowns, which is solved as what it
is, small blocks and a border.
"""

# %%
# The data
# --------
#
# Annual mean temperature of North America, 1860 to 2099, scenario A1B (Met Office, package iris-sample-data).

import time
from pathlib import Path

import iris_sample_data
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import namedgrad as ng  # noqa: F401 - it gives every DataArray its .grad

CELLS = ("latitude", "longitude")
with xr.open_dataset(Path(iris_sample_data.path) / "A1B_north_america.nc") as file:
    t = file["air_temperature"].astype("float64").load()
t = t.drop_vars(["forecast_period", "forecast_reference_time", "height"])
t = t.sel(longitude=slice(235, 285)).assign_coords(longitude=lambda x: x.longitude - 360)
year = xr.DataArray([d.year for d in t.time.values], dims="time", name="year", attrs={"units": "year"})
print(dict(t.sizes))


def warming(p, year):
    """Temperature that rises by an amount, half of it before a middle year, over some width of years."""
    return p["before"] + p["amount"] / (1 + np.exp(-(year - p["middle"]) / p["width"]))


# %%
# Each cell for itself
# --------------------

clock = time.perf_counter()
alone = t.grad.fit(warming, year, ["before", "amount", "middle", "width"], over=CELLS, bounds={"amount": (0, 15)})
print(f"{time.perf_counter() - clock:.1f} s")
print(alone)

# %%
# One middle and one width per latitude
# -------------------------------------
#
# What is shared is said by the dims of the start values: here the medians along longitude of what the cells found.
# Cells of one problem should be weighed by how noisy they are: the sea varies less from year to year than the land.

start = {
    "before": alone.params["before"],
    "amount": alone.params["amount"],
    "middle": alone.params["middle"].median("longitude"),
    "width": alone.params["width"].median("longitude"),
}
clock = time.perf_counter()
noise = np.sqrt(alone.chi2 / alone.dof)
together = t.grad.fit(warming, year, start, over=CELLS, bounds={"amount": (0, 15)}, sigma=noise)
print(f"{time.perf_counter() - clock:.1f} s")
print(together)

# %%
# The covariance comes in named blocks, made when asked for: a pair of parameters that have latitude in common is a
# matrix per latitude, with the second longitude called ``longitude_wrt``.

print(together.covariance["amount", "amount"].dims)
print(together.covariance["middle", "width"].dims)

# %%
# What sharing gains
# ------------------
#
# All longitudes of a latitude tell of its middle and its width: these are known a few times better, and so is the
# amount of the warming, from which they are hard to tell apart.

for name in alone.params:
    before, after = (fit.stderr[name].median().item() for fit in (alone, together))
    print(f"{name:7} ± {before:.2f} alone, ± {after:.2f} shared {alone.params[name].units}")

figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for panel, name in zip(axes[:2], ("middle", "width")):
    x, values = t.latitude, alone.params[name]
    panel.plot(x, values, ".", color="lightgray", markersize=3)
    panel.errorbar(x, together.params[name], 2 * together.stderr[name], fmt="o", markersize=3, label="shared, ± 2 σ")
    panel.set(xlabel="latitude [°N]", ylabel=f"{name} [year]", ylim=np.nanpercentile(values, [1, 99]))
    panel.set_title("gray: each cell for itself")
    panel.legend()
together.params["amount"].plot(ax=axes[2], vmin=0, vmax=12, cmap="inferno_r", cbar_kwargs={"label": "warming [K]"})
axes[2].set(title="amount, with shared middle and width", xlabel="longitude [°E]", ylabel="latitude [°N]")

# %%
# Is it justified?
# ----------------
#
# What sharing costs in misfit is measured in units of the noise: the ratio of what each parameter that was saved costs
# to what remains per observation. If the cells of a latitude had the same middle and width it would be close to 1
# (Fisher's F).

costs = (together.chi2 - alone.chi2 / noise**2).sum("longitude")
ratio = costs / (2 * (t.sizes["longitude"] - 1))
print(f"ratio: median {ratio.median().item():.1f}, least {ratio.min().item():.1f} at {ratio.idxmin().item():.0f} °N")
print(f"below 2 in {(ratio < 2).mean().item():.0%} of the latitudes")
