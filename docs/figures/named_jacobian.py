"""Jacobians of three xarray programs, drawn as the DataArrays that they are."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr

import namedgrad as ng  # noqa: F401 - gives DataArrays their .grad

TIME = pd.date_range("2001-01-01", periods=36, freq="MS")
T = xr.DataArray(np.cos(np.arange(36.0)), dims="time", coords={"time": TIME})

PROGRAMS = {
    't.groupby("time.month") - monthly means': lambda t: t.groupby("time.month") - t.groupby("time.month").mean(),
    "t.rolling(time=7, center=True).mean()": lambda t: t.rolling(time=7, center=True).mean().fillna(0),
    't.resample(time="YS").max()': lambda t: t.resample(time="YS").max(),
}


def draw():
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
    for ax, (title, program) in zip(axes, PROGRAMS.items(), strict=True):
        jacobian = T.grad.jacobian(program)
        jacobian.plot(ax=ax, cmap="RdBu_r", center=0, cbar_kwargs={"orientation": "horizontal", "label": ""})
        ax.set_title(title, family="monospace", fontsize=8.5)
        ax.invert_yaxis()
        ax.tick_params(labelsize=8)
        ax.tick_params(axis="x", rotation=0)
        ax.set_xticks(np.array(["2001", "2002", "2003"], dtype="datetime64[ns]"), ["2001", "2002", "2003"])
        ax.set_yticks(np.array(["2001", "2002", "2003"], dtype="datetime64[ns]"), ["2001", "2002", "2003"])
    return figure
