"""
From curvefit to namedgrad
==========================

:meth:`xarray.DataArray.curvefit` calls SciPy once per cell. :func:`namedgrad.curvefit` takes the same arguments,
gives the same Dataset, and fits all cells as one batched problem with exact derivatives. What the two make of the
same data, and how long they take, is measured here whenever this page is built.
"""

# %%
# The data
# --------
#
# Monthly sea surface temperature (OSTIA, package iris-sample-data) over 54 months, around the equator; land is
# missing. The model is a seasonal cycle on a level, with a trend.

import time
import warnings
from pathlib import Path

import iris_sample_data
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import namedgrad as ng

with xr.open_dataset(Path(iris_sample_data.path) / "ostia_monthly.nc") as file:
    sst = (file["surface_temperature"].astype("float64") - 273.15).load()
sst = sst.reset_coords(drop=True).assign_attrs(units="degC")
month = xr.DataArray(np.arange(sst.sizes["time"], dtype=float), dims="time", name="month", attrs={"units": "month"})
sst = sst.assign_coords(time=month)
print(dict(sst.sizes))


def season(t, level, trend, size, phase):
    """A seasonal cycle."""
    return level + trend * t + size * np.cos(2 * np.pi * (t / 12 - phase))


hottest = sst.fillna(-99).argmax("time") % 12 / 12
start = {"level": 27.0, "trend": 0.0, "size": 1.0, "phase": hottest}

# %%
# The same call
# -------------
#
# One cell at a time, in some places only, for it takes its time:

few = {"latitude": slice(2, None, 5), "longitude": slice(2, None, 27)}
first = start | {"phase": hottest.isel(few)}
clock = time.perf_counter()
theirs = sst.isel(few).curvefit("time", season, p0=first)
one_by_one = time.perf_counter() - clock

# %%
# All of these cells, and all there are:

clock = time.perf_counter()
ours = ng.curvefit(sst.isel(few), "time", season, p0=first)
same_cells = time.perf_counter() - clock
clock = time.perf_counter()
everywhere = ng.curvefit(sst, "time", season, p0=start)
all_cells = time.perf_counter() - clock

few_count, count = (int(x[0].size) for x in (sst.isel(few), sst))
variance = ours.curvefit_covariance.where(ours.cov_i == ours.cov_j).sum("cov_j").rename(cov_i="param")
apart = (abs(ours.curvefit_coefficients - theirs.curvefit_coefficients) / np.sqrt(variance)).max().item()
print(f"xarray:    {few_count:6,} cells in {one_by_one:6.2f} s: {few_count / one_by_one:8,.0f} per second")
print(f"namedgrad: {few_count:6,} cells in {same_cells:6.2f} s: {few_count / same_cells:8,.0f} per second")
print(f"namedgrad: {count:6,} cells in {all_cells:6.2f} s: {count / all_cells:8,.0f} per second")
print(f"largest difference of a coefficient: {apart:.1e} of its standard error")

# %%
# More in the Dataset
# -------------------
#
# The first two variables are xarray's. The others say how each fit ended, how many iterations it took, how well it
# fits, and in what units the parameters are.

print(everywhere)

# %%
figure, axes = plt.subplots(2, 1, figsize=(9, 4.6), layout="constrained", sharex=True)
size, phase = (everywhere.curvefit_coefficients.sel(param=n) for n in ("size", "phase"))
(2 * abs(size)).plot(ax=axes[0], robust=True, cmap="viridis", cbar_kwargs={"label": "range [°C]"})
warmest = (12 * (phase + 0.5 * (size < 0))) % 12
warmest.plot(ax=axes[1], vmin=0, vmax=12, cmap="twilight", cbar_kwargs={"label": "warmest month, from April"})
for panel, title in zip(axes, ("Seasonal cycle", "When it is warmest")):
    panel.set(title=title, facecolor="lightgray", xlabel="longitude", ylabel="latitude")

# %%
# What goes wrong goes wrong alone
# --------------------------------
#
# A cell that cannot be fitted says so in ``curvefit_status``, or the call raises when all others are done, and says
# how many and where. An infinite value counts as missing. Dates are numbers since a stated origin, also those of other
# calendars.

part = {"latitude": slice(6, 9), "longitude": slice(240, 244)}
broken = sst.isel(part).copy()
broken[3, 1, 1] = np.inf
broken[2:, 2, 2] = np.nan
there = start | {"phase": hottest.isel(part)}
try:
    ng.curvefit(broken, "time", season, p0=there)
except RuntimeError as error:
    print(error)
fit = ng.curvefit(broken, "time", season, p0=there, errors="ignore")
print(fit.curvefit_status.values)

# %%
# Start values
# ------------
#
# xarray starts from 1 where none are given, which is far from most answers. Here they are found from the data: with
# the period of the cycle as one more parameter, and no hint that it is 12 months.


def cycle(t, level, trend, size, period, phase):  # noqa: PLR0917
    """A cycle of unknown period."""
    return level + trend * t + size * np.cos(2 * np.pi * (t / period - phase))


def misfit(fit):
    """Root mean square of the residuals."""
    curve = cycle(sst.isel(few).time, *(fit.curvefit_coefficients.sel(param=n, drop=True) for n in fit.param.values))
    return np.sqrt(((sst.isel(few) - curve) ** 2).mean("time"))


with warnings.catch_warnings(), np.errstate(all="ignore"):
    warnings.simplefilter("ignore")
    unguided = sst.isel(few).curvefit("time", cycle, errors="ignore")
found = ng.curvefit(sst.isel(few), "time", cycle, errors="ignore")
for name, fit in (("xarray", unguided), ("namedgrad", found)):
    period = abs(fit.curvefit_coefficients.sel(param="period"))
    print(f"{name:10} median misfit {misfit(fit).median().item():.2f} °C, period {period.median().item():.1f} months")
