"""Where warming moves the freezing line most, in a climate projection for North America."""

from pathlib import Path

import iris_sample_data
import numpy as np
import xarray as xr
from matplotlib import pyplot as plt

import namedgrad as ng  # noqa: F401 - gives arrays their .grad

RADIUS = 6371.0  # of the earth, km


def frozen(temperature, area):
    """Area below freezing, by a smooth step two kelvin wide, on average over the years."""
    return (area / (1 + np.exp((temperature - 273.15) / 2))).sum(("latitude", "longitude")).mean("time")


def cell_area(grid):
    """The area of a cell, 10³ km²."""
    lat, lon = (np.deg2rad(grid[n]) for n in ("latitude", "longitude"))
    return RADIUS**2 * np.cos(lat) * abs(lat.diff("latitude").mean() * lon.diff("longitude").mean()) / 1000


def draw():
    data = xr.open_dataset(Path(iris_sample_data.path) / "A1B_north_america.nc")["air_temperature"].load()
    area = cell_area(data)
    spans = data.isel(time=slice(0, 30)), data.isel(time=slice(-30, None))
    maps = [span.grad(frozen, area).sum("time") for span in spans]  # every year of the span warmer
    lowest = min(m.min().item() for m in maps)
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.3), sharey=True, layout="constrained")
    for place, span, change in zip(axes, spans, maps, strict=True):
        shown = change.assign_coords(longitude=change.longitude - 360)
        colors = shown.plot(ax=place, cmap="Blues_r", vmin=lowest, vmax=0, add_colorbar=False, rasterized=True)
        years = span.time.dt.year.values
        place.set(title=f"{years[0]}–{years[-1]}", xlabel="longitude (°E)", ylabel="latitude (°N)")
        place.label_outer()
    figure.colorbar(colors, ax=axes, label="change of frozen area\n(10³ km² per kelvin in the cell)")
    return figure
