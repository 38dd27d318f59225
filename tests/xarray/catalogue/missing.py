"""Where, fills, and what else asks which cells are missing."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tests.xarray.catalogue.entry import OTHER, table

MASK = xr.DataArray(np.array([True, False, True, True]), dims="lon")

ENTRIES = table(
    ("where", lambda x: x.where(x > 2.0)),
    ("where other", lambda x: x.where(x > 2.0, -(x**2))),
    ("where number", lambda x: x.where(x > 2.0, 0.0)),
    ("where of a coordinate", lambda x: x.where(x.lon > 100).mean("lon"), ("lat", "time")),
    ("where of a function", lambda x: x.where(lambda a: a > a.mean("time"))),
    ("where drop", lambda x: x.where(x.lon > 100, drop=True)),
    ("where drop by a mask", lambda x: x.where(MASK, drop=True)),
    ("xr.where", lambda x: xr.where(x > 3.0, x**2, 1 - x)),
    ("xr.where of numbers", lambda x: xr.where(x > 3.0, 1.0, 0.0) * x),
    ("xr.where keep_attrs", lambda x: xr.where(x.lon > 100, x, OTHER, keep_attrs=True)),
    ("masked division", lambda x: (1 / (x - 2.5)).where(abs(x - 2.5) > 0.2)),
    ("masked logarithm", lambda x: xr.where(x > 2, np.log(x.where(x > 2, 1.0)), 0.0)),
    ("fillna", lambda x: x.fillna(0.5) * x),
    ("fillna by an array", lambda x: x.fillna(x.mean("time")) + x.fillna(OTHER)),
    ("isnull", lambda x: x.where(~x.isnull(), 0.0)),
    ("notnull", lambda x: x.where(x.notnull(), 1.0) * x.notnull()),
    ("combine_first", lambda x: x.where(x < 3).combine_first(2 * OTHER)),
    ("dropna", lambda x: x.fillna(1.0).shift(time=2).dropna("time")),
    ("dropna how all", lambda x: x.shift(time=2).dropna("time", how="all"), ("lat",)),
    ("dropna thresh", lambda x: x.shift(lon=1).dropna("lon", thresh=5), ()),
    ("ffill", lambda x: x.ffill("time")),
    ("ffill limit", lambda x: x.where(x > 2).ffill("time", limit=1)),
    ("bfill", lambda x: x.bfill("time")),
    ("bfill limit", lambda x: x.where(x > 2).bfill("lon", limit=1)),
    ("to_masked_array", lambda x: xr.DataArray(x.to_masked_array()), (), "out of the trace"),
    ("heat wave days", lambda x: x.where(x > x.quantile(0.7, "time")).sum("time")),
    ("degree days", lambda x: (x - 2).clip(min=0).sum("time")),
)
