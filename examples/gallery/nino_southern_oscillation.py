"""
Which ocean cells make El Niño's correlation
============================================

When the tropical Pacific is warm, pressure is high over Darwin: sea and air swing together, the Southern Oscillation.
The usual measure is one number, the correlation of a temperature index with a pressure index. Which of the cells that
go into the first decide it, and in which months? One reverse pass through the program that computes the number
answers for all 419,904 temperatures at once.
"""

# %%
# The data
# --------
#
# Monthly sea surface temperatures along the equator (OSTIA, five years), with land missing, and the Southern
# Oscillation index from pressure at Darwin, both from the package iris-sample-data. Only the labels of the months are
# made alike.

import time
from pathlib import Path

import iris_sample_data
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import namedgrad as ng  # noqa: F401 - gives DataArrays their .grad

SAMPLES = Path(iris_sample_data.path)

with xr.open_dataset(SAMPLES / "ostia_monthly.nc", decode_timedelta=False) as file:
    sst = file["surface_temperature"].astype("float64").load()
with xr.open_dataset(SAMPLES / "SOI_Darwin.nc") as file:
    soi = file["SOI_Darwin"].astype("float64").load()

sst = sst.assign_coords(time=sst.indexes["time"].to_period("M").to_timestamp()).reset_coords(drop=True).rename("sst")
print(dict(sst.sizes), f"{sst.size:,} values, {sst.isnull().mean().item():.0%} of them land")

# %%
# The program
# -----------
#
# Plain xarray, as one would have written it years ago. The index is the *relative* Niño 3.4: the anomaly of the
# region 5° S to 5° N, 170° W to 120° W, less that of the whole belt, so that it does not take a warming of all oceans
# for an El Niño.


def area_mean(x):
    """Mean over the cells by their size."""
    return x.weighted(np.cos(np.deg2rad(x.latitude))).mean(("latitude", "longitude"))


def anomaly(x):
    """What the seasonal cycle leaves."""
    months = x.groupby("time.month")
    return months - months.mean()


def correlation(sst):
    """Correlation of relative Niño 3.4 and the Southern Oscillation index."""
    nino34 = area_mean(sst.sel(latitude=slice(-5, 5), longitude=slice(190, 240)))
    return xr.corr(anomaly(nino34) - anomaly(area_mean(sst)), soi, "time").rename("correlation").assign_attrs(units="1")


print(f"correlation: {correlation(sst).item():.3f}")

# %%
# All cells, all months
# ---------------------
#
# The gradient is a DataArray like ``sst``. Divided by the area of the cells it does not depend on the grid: change of
# the correlation per kelvin, in one month, over a million square kilometres.

width, height = np.deg2rad(sst.longitude.diff("longitude").mean()), np.deg2rad(sst.latitude.diff("latitude").mean())
area = (6.371**2 * width * height * np.cos(np.deg2rad(sst.latitude))).astype("float64").assign_attrs(units="1e6 km2")

clock = time.perf_counter()
sensitivity = sst.grad.sensitivity(correlation, density=area)
gradient_time = time.perf_counter() - clock

clock = time.perf_counter()
correlation(sst)
print(f"one value: {time.perf_counter() - clock:.2f} s; sensitivity to all {sst.size:,}: {gradient_time:.2f} s")
print(sensitivity.attrs)

# %%
# Is it right? Warm every ocean cell in every month by a random amount, a little, and look how much the correlation
# changes; and no land cell may count.

gradient = sensitivity * area
along = sst.copy(data=np.random.default_rng(0).normal(size=sst.shape)).where(sst.notnull(), 0.0)
step = 1e-3
difference = (correlation(sst + step * along) - correlation(sst - step * along)).item() / (2 * step)
print(f"by finite differences {difference:.12f}")
print(f"by the gradient       {(gradient * along).sum().item():.12f}")
print("largest sensitivity on land:", abs(sensitivity.where(sst.isnull())).max().item())
assert abs(difference / (gradient * along).sum() - 1) < 1e-6
assert abs(sensitivity.where(sst.isnull())).max() == 0.0

# %%
# What a kelvin would do, and what the sea did
# --------------------------------------------
#
# Above: how much a cell matters per kelvin, whichever way, over all months. The region of the index stands out, and
# every other cell of the belt has a part: what warms elsewhere takes away from what is relative. Islands and
# continents have none.
#
# Below: sensitivity times the anomaly that there was, summed over the months, is what each cell did to the
# correlation. Blue cells made it more negative, by going up and down with the pressure; red ones held against it.

land = sst.isnull().all("time")
panels = {
    "How much a kelvin matters": (np.sqrt((sensitivity**2).sum("time")), "viridis", "1 / (K 10⁶ km²)"),
    "What each cell did": ((sensitivity * anomaly(sst)).sum("time"), "RdBu_r", "1 / 10⁶ km²"),
}
figure, axes = plt.subplots(2, 1, figsize=(9, 4.4), sharex=True, layout="constrained")
for ax, (title, (values, colours, label)) in zip(axes, panels.items(), strict=True):
    values.where(~land).plot(ax=ax, cmap=colours, cbar_kwargs={"label": label})
    ax.plot([190, 240, 240, 190, 190], [-5, -5, 4.7, 4.7, -5], color="black", linewidth=1)
    ax.set(title=title, xlabel="", ylabel="latitude [°N]", facecolor="0.8")
axes[-1].set_xlabel("longitude [°E]")

# %%
# Which months
# ------------
#
# The sensitivities summed over the region of the index, month by month, beside the pressure. A warmer sea in a month
# of high index (a La Niña) would weaken the correlation, in a month of low index (an El Niño) it would make it
# stronger still: each month speaks as its pressure does, less what the other months make one expect of it.

inside = gradient.sel(longitude=slice(190, 240)).sum(("latitude", "longitude"))
months = inside.time.values
figure, ax = plt.subplots(figsize=(9, 3), layout="constrained")
ax.bar(months, inside.values, width=np.timedelta64(25, "D"), color=np.where(inside > 0, "tab:red", "tab:blue"))
ax.set(ylabel="change of the correlation\nper K in the region", title="Which months decide")
other = ax.twinx()
other.plot(months, soi.sel(time=months), color="black", marker=".", linewidth=1)
other.set_ylabel("Southern Oscillation index")
plt.show()
