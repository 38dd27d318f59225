"""Alignment, reindexing, concatenation, merging, broadcasting."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tests.xarray.catalogue.entry import OTHER, WEIGHTS, table


def _set(x):
    return xr.Dataset({"a": x, "b": x**2})


ENTRIES = table(
    ("arithmetic aligns", lambda x: x * x.isel(time=slice(3, None)) + OTHER.isel(lon=slice(0, 3))),
    ("arithmetic broadcasts", lambda x: x - x.mean("time") + WEIGHTS * x.time.dt.month),
    ("arithmetic join outer", lambda x: _joined(x, "outer")),
    ("align inner", lambda x: sum(xr.align(x, OTHER.isel(time=slice(2, None)), join="inner"))),
    ("align outer", lambda x: xr.align(x, OTHER.isel(time=slice(2, None)), join="outer")[1] * x),
    ("align left", lambda x: xr.align(x.isel(lon=[0, 1]), OTHER.isel(lon=[1, 2]), join="left", fill_value=3.0)[1] + x),
    ("align exact and override", lambda x: xr.align(x, x.assign_coords(lon=x.lon + 1), join="override")[1] * x),
    ("align exclude", lambda x: xr.align(x.isel(lon=[0, 1]), x.isel(time=slice(3, None)), exclude={"lon"})[0]),
    ("reindex", lambda x: x.reindex(lon=[90, 33, 0])),
    ("reindex fill_value", lambda x: x.reindex(lon=[90, 33, 0], fill_value=1.5) ** 2),
    ("reindex method", lambda x: x.reindex(lon=[80, 33, 2], method="nearest") + x.reindex(lon=[80, 33, 2], method="ffill")),
    ("reindex_like", lambda x: x.reindex_like(OTHER.isel(time=slice(0, 3), lon=[3, 1]))),
    ("broadcast", lambda x: xr.broadcast(x.mean("time"), OTHER)[0] * OTHER),
    ("broadcast_like", lambda x: x.mean("time").broadcast_like(OTHER)),
    ("concat on a new dim", lambda x: xr.concat([x, 2 * x, OTHER.broadcast_like(x)], "member", coords="minimal", compat="override")),
    ("concat along a dim", lambda x: xr.concat([x.isel(time=slice(9, None)) ** 2, x.isel(time=slice(0, 9))], "time")),
    ("concat join outer", lambda x: xr.concat([x.isel(lon=[0, 1]), x.isel(lon=[1, 2])], "k", join="outer")),
    ("concat of a pandas index", lambda x: xr.concat([x, x**2], _index("experiment"))),
    ("concat of Datasets", lambda x: xr.concat([_set(x), _set(2 * x)], "k", data_vars="all")),
    ("merge", lambda x: xr.merge([x.rename("a"), (x**2).rename("b")])),
    ("merge outer", lambda x: xr.merge([x.isel(lon=[0, 1]).rename("a"), OTHER.isel(lon=[1, 2]).rename("b")], join="outer", compat="no_conflicts")),
    ("merge method", lambda x: _set(x).merge(xr.Dataset({"c": np.exp(-x)}))),
    ("combine_by_coords", lambda x: xr.combine_by_coords([_set(x.isel(time=slice(12, None))), _set(x.isel(time=slice(0, 12)))])),
    ("combine_nested", lambda x: xr.combine_nested([[x.isel(lon=[0, 1]), x.isel(lon=[2, 3]) ** 2], [2 * x.isel(lon=[0, 1]), x.isel(lon=[2, 3])]], ["k", "lon"], coords="minimal", compat="override")),
    ("full_like, zeros_like, ones_like", lambda x: x * xr.ones_like(x) + xr.zeros_like(x) - xr.full_like(x, 2.0) * x),
    ("update and del", lambda x: _updated(x)),
    ("unify_chunks", lambda x: xr.unify_chunks(x, OTHER)[0] * 2),
    ("xr.DataArray of a DataArray", lambda x: xr.DataArray(x) * xr.DataArray(x.data, coords=x.coords, dims=x.dims)),
    ("xr.Dataset of arrays", lambda x: xr.Dataset({"a": (x.dims, x.data), "b": x.mean("time")})),
    ("stacked arrays", lambda x: xr.DataArray(np.stack([x.data, x.data**2]), dims=("k", *x.dims))),
    ("concatenated arrays", lambda x: xr.DataArray(np.concatenate([x.data, x.data[:1]]), dims=x.dims)),
)  # fmt: skip


def _index(name):
    import pandas as pd

    return pd.Index(["one", "two"], name=name)


def _joined(x, how):
    with xr.set_options(arithmetic_join=how):
        return x.isel(lon=slice(0, 3)) + OTHER.isel(lon=slice(1, 4))


def _updated(x):
    ds = _set(x)
    ds.update({"b": x + ds.a, "c": x.mean("time")})
    ds["d"] = ds.a * ds.c
    del ds["c"]
    return ds
