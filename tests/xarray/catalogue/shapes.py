"""Order of dims, names, stacks, shifts, pads, coordinates, attributes."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tests.xarray.catalogue.entry import WEIGHTS, table

ENTRIES = [
    *table(
        ("transpose", lambda x: x.transpose("lon", ..., "time") * 2),
        ("transpose and meet", lambda x: x + x.transpose("lon", ..., "time") ** 2),
        ("expand_dims", lambda x: x.expand_dims("z", axis=1) * xr.DataArray([1.0, 2.0], dims="k")),
        ("expand_dims of a size", lambda x: x.expand_dims(member=3).cumsum("member")),
        ("expand_dims of labels", lambda x: x.expand_dims(member=[1.5, 2.5]) * xr.DataArray([1.0, 2.0], dims="member")),
        ("stack", lambda x: x.stack(z=("time", "lon")).isel(z=slice(0, 90, 7))),
        ("stack without an index", lambda x: x.stack(z=("time", "lon"), create_index=False)[..., 3:20]),
        ("stack of the rest", lambda x: x.transpose("time", ...).stack(z=["lon", ...]).isel(z=0), ()),
        ("unstack", lambda x: x.stack(z=("time", "lon")).unstack("z") ** 2),
        ("unstack of a part", lambda x: x.stack(z=("time", "lon")).isel(z=slice(3, 50)).unstack("z")),
        ("unstack fill_value", lambda x: x.stack(z=("time", "lon")).isel(z=slice(3, 50)).unstack("z", fill_value=0.5)),
        ("set_index and unstack", lambda x: x.assign_coords(year=x.time.dt.year, month=x.time.dt.month).set_index(time=["year", "month"]).unstack("time")),
        ("reset_index", lambda x: x.stack(z=("time", "lon")).reset_index("z").isel(z=slice(3))),
        ("reorder_levels", lambda x: x.stack(z=("time", "lon")).reorder_levels(z=["lon", "time"]).unstack("z")),
        ("to_stacked_array", lambda x: xr.Dataset({"a": x.drop_vars("area"), "b": x.mean("lon")}).to_stacked_array("z", sample_dims=["time"]), ()),
        ("to_unstacked_dataset", lambda x: xr.Dataset({"a": x.isel(lon=0, lat=0, drop=True), "b": x.isel(lon=1, lat=0, drop=True)}).to_stacked_array("z", sample_dims=["time"]).to_unstacked_dataset("z"), ()),
        ("shift", lambda x: x.shift(time=2) * x),
        ("shift back", lambda x: x.shift(lon=-1, fill_value=0.0) + x),
        ("roll", lambda x: x.roll(lon=1) * x),
        ("roll with coordinates", lambda x: x.roll(lon=1, time=-3, roll_coords=True)),
        ("diff", lambda x: x.diff("time") ** 2),
        ("diff lower", lambda x: x.diff("time", n=2, label="lower")),
        *(
            (f"pad {m}", lambda x, m=m: x.pad(lon=(2, 1), mode=m) ** 2)
            for m in ("constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap")
        ),
        ("pad constant_values", lambda x: x.pad({"time": (1, 0), "lon": 2}, constant_values={"time": 1.0, "lon": (2.0, 3.0)})),
        ("pad odd", lambda x: x.pad(lon=2, mode="reflect", reflect_type="odd")),
        ("pad stat_length", lambda x: x.pad(lon=2, mode="mean", stat_length=2)),
        ("pad end_values", lambda x: x.pad(lon=2, mode="linear_ramp", end_values=1.0)),
        ("sortby", lambda x: x.sortby("lon", ascending=False)),
        ("sortby an array", lambda x: x.sortby(xr.DataArray([3.0, 1.0, 2.0, 0.0], dims="lon", coords={"lon": x.lon}))),
        ("sortby the data", lambda x: x.sortby(x.isel(lat=0, lon=0) if "lat" in x.dims else x.isel(lon=0)), ()),
        ("sortby twice, descending", lambda x: x.isel(lat=1, drop=True).sortby([x.isel(lon=0, lat=1).round(), x.isel(lon=1, lat=1)], ascending=False), ()),
        ("rename", lambda x: x.rename(lon="x").rename("other")),
        ("swap_dims", lambda x: x.assign_coords(k=("lon", [4, 3, 2, 1])).swap_dims(lon="k").sel(k=[1, 4])),
        ("assign_coords", lambda x: x.assign_coords(lon=x.lon + 1, k=3.0).sel(lon=91)),
        ("a coordinate made of data", lambda x: (lambda y: y.level * y)(x.assign_coords(level=x.mean("time")))),
        ("assign_attrs and drop_attrs", lambda x: x.assign_attrs(units="m").drop_attrs() * x),
        ("drop_vars", lambda x: x.drop_vars(["lon", "area"]).isel(lon=1) * x),
        ("drop_indexes", lambda x: x.drop_indexes("lon") * 2),
        ("drop_encoding", lambda x: x.drop_encoding() * 2),
        ("set_xindex", lambda x: x.drop_indexes("lon").set_xindex("lon").sel(lon=90)),
        ("reset_coords", lambda x: x.reset_coords("height")["tas"] * x.reset_coords("height", drop=True)),
        ("reset_coords to a Dataset", lambda x: x.reset_coords("height").tas),
        ("copy", lambda x: x.copy() * x.copy(deep=False)),
        ("coords as operands", lambda x: x * np.cos(np.deg2rad(x.lon)) + x.area * x + x.height * x**2),
        ("chunksizes and sizes", lambda x: x.sum("time") / x.sizes["time"] / x.ndim / len(x.dims) / x.shape[0] * x.size),
        ("to_dataset", lambda x: x.to_dataset(name="a").assign(b=lambda d: d.a**2)),
        ("to_dataset of a dim", lambda x: x.assign_coords(lon=["a", "b", "c", "d"]).to_dataset("lon").map(np.sqrt), ()),
        ("get_axis_num", lambda x: x.reduce(np.sum, axis=x.get_axis_num("lon"))),
        ("isel of a broadcast array", lambda x: WEIGHTS.broadcast_like(x).isel(lon=1) * x.isel(lon=2)),
        ("as_variable", lambda x: xr.DataArray(xr.as_variable(x) * 2.0)),
    ),
]  # fmt: skip
