"""Methods of Dataset and of DataTree."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tests.xarray.catalogue.entry import WEIGHTS, table

NAMES = ("sum", "mean", "std", "var", "max", "min", "median", "prod")


def _assigned(d):
    e = d.copy()
    e["b"] = e.a * e.b
    e["c"] = ("k", np.arange(3.0))
    e.a[{"time": 3}] = 2.0
    return e * e.a.mean()


def _in_place(d):
    e = d * 1.0
    e += d
    e["a"] *= 2
    e /= 3
    return e


def _updated(d):
    e = d.copy()
    e.update({"a": d.b, "q": d.a**2})
    return e


ENTRIES = [
    *table(
        *((f"Dataset.{n}", lambda d, n=n: getattr(d, n)("time")) for n in NAMES),
        ("Dataset.cumsum", lambda d: d.cumsum("time")),
        ("Dataset.cumprod", lambda d: (d / 3).cumprod("time")),
        ("Dataset.quantile", lambda d: d.quantile(0.3, "time")),
        ("Dataset.reduce", lambda d: d.reduce(np.nanmean, "time")),
        ("Dataset.count", lambda d: d.count("time") * d.sum("time")),
        ("Dataset.argmax", lambda d: d.a.fillna(0).isel(time=d[["a", "b"]].fillna(0).argmax("time").b)),
        ("Dataset.idxmin", lambda d: d.a * d[["a", "b"]].idxmin("lon", fill_value=0.0).b),
        ("Dataset.rank", lambda d: d[["a", "b"]].rank("time") * d.a),
        ("Dataset arithmetic", lambda d: (d * 2 - d.mean("time")) ** 2 / (1 + d)),
        ("Dataset with an array", lambda d: d * WEIGHTS + d.a),
        ("Dataset in place", _in_place),
        ("Dataset.map", lambda d: d.map(np.sqrt)),
        ("Dataset.map with arguments", lambda d: d.map(lambda v, k: v**k, k=2)),
        ("Dataset.apply_ufunc", lambda d: xr.apply_ufunc(lambda a: a * 2 + 1, d)),
        ("Dataset.assign", lambda d: d.assign(c=d.a * d.b, e=lambda v: v.m**2)),
        ("Dataset setitem", _assigned, ()),
        ("Dataset.assign_coords", lambda d: d.assign_coords(k=d.m).a * d.m),
        ("Dataset.set_coords", lambda d: (d.set_coords("m").a * d.set_coords("m").m).rename("p")),
        ("Dataset.astype", lambda d: d.astype("float64") * 2),
        ("Dataset.clip", lambda d: d.clip(2.0, 3.0)),
        ("Dataset.round", lambda d: d.round() + d),
        ("Dataset.where", lambda d: d.where(d.a > 2)),
        ("Dataset.where other", lambda d: d.where(d.a > 2, d.a)),
        ("Dataset.fillna", lambda d: d.fillna({"a": 1.0, "b": d.m})),
        ("Dataset.isnull", lambda d: d.where(~d.isnull(), 3.0)),
        ("Dataset.combine_first", lambda d: d.where(d > 2).combine_first(d * 3)),
        ("Dataset.dropna", lambda d: d.fillna(2.0).shift(time=1).dropna("time")),
        ("Dataset.isel", lambda d: d.isel(time=slice(0, 5), lon=[1, 0])),
        ("Dataset.isel pointwise", lambda d: d.isel(time=xr.DataArray([0, 4], dims="p"), lon=xr.DataArray([1, 3], dims="p"))),
        ("Dataset.sel", lambda d: d.sel(time="2001", lon=slice(0, 100))),
        ("Dataset.sel nearest", lambda d: d.sel(lon=[99.0, 3.0], method="nearest")),
        ("Dataset.loc", lambda d: d.loc[{"lon": [0, 90]}]),
        ("Dataset.head, tail, thin", lambda d: d.head(time=3).mean("time") + d.tail(time=2).sum("time") * d.thin(time=5).max("time")),
        ("Dataset.drop_sel", lambda d: d.drop_sel(lon=90).drop_isel(time=0)),
        ("Dataset.drop_vars", lambda d: d.drop_vars("a") * d.a),
        ("Dataset.drop_dims", lambda d: d.drop_dims("time") * d.a),
        ("Dataset.drop_duplicates", lambda d: d.assign_coords(lon=[0.0, 0.0, 1.0, 2.0]).drop_duplicates("lon")),
        ("Dataset.query", lambda d: d.query(lon="lon > 50")),
        ("Dataset.eval", lambda d: d.eval("a * 2 + b")),
        ("Dataset.get and filter_by_attrs", lambda d: d.get("a") * d.filter_by_attrs(units="K").a),
        ("Dataset of names", lambda d: d[["a", "m"]] * 2),
        ("Dataset items and values", lambda d: sum(v for _, v in d.items()) * sum(d.data_vars.values())),
        ("Dataset.rename", lambda d: d.rename(a="z", lon="x")),
        ("Dataset.rename_dims and rename_vars", lambda d: d.rename_dims(lon="x").rename_vars(a="z")),
        ("Dataset.swap_dims", lambda d: d.assign_coords(k=("lon", [4, 3, 2, 1])).swap_dims(lon="k").sel(k=2)),
        ("Dataset.expand_dims", lambda d: d.expand_dims(member=2) * xr.DataArray([1.0, 2.0], dims="member")),
        ("Dataset.squeeze", lambda d: d.isel(lon=[1]).squeeze()),
        ("Dataset.transpose", lambda d: d.transpose("lon", ...) * 2),
        ("Dataset.stack and unstack", lambda d: d.stack(z=("lon", "time")).unstack("z")),
        ("Dataset.set_index", lambda d: d[["a"]].assign_coords(y=d.time.dt.year, o=d.time.dt.month).set_index(time=["y", "o"]).unstack("time")),
        ("Dataset.reset_index", lambda d: d.reset_index("lon").isel(lon=2)),
        ("Dataset.reset_coords", lambda d: d.reset_coords("height").drop_vars("height") * 2),
        ("Dataset.to_array", lambda d: d.to_dataarray("v").std("v")),
        ("Dataset.to_array and to_dataset", lambda d: d[["a", "b"]].to_array("v").to_dataset("v")),
        ("Dataset.to_stacked_array", lambda d: d[["a", "b"]].to_stacked_array("z", ["time"]), ()),
        ("Dataset.broadcast_like", lambda d: d[["m"]].broadcast_like(d.a)),
        ("Dataset.shift", lambda d: d.shift(time=1) * d),
        ("Dataset.roll", lambda d: d.roll(lon=1) * d),
        ("Dataset.diff", lambda d: d.diff("lon") ** 2),
        ("Dataset.pad", lambda d: d.pad(lon=1, mode="edge")),
        ("Dataset.sortby", lambda d: d.sortby("lon", ascending=False)),
        ("Dataset.reindex", lambda d: d.reindex(lon=[90, 33, 0])),
        ("Dataset.reindex_like", lambda d: d.reindex_like(WEIGHTS.isel(lon=[3, 1]))),
        ("Dataset.merge", lambda d: d.merge(d[["a"]].rename(a="q") ** 2)),
        ("Dataset.update", lambda d: _updated(d)),
        ("Dataset.pipe", lambda d: d.pipe(lambda e: e.a / e.b)),
        ("Dataset.map_blocks", lambda d: d.map_blocks(lambda e: e * 2)),
        ("Dataset.real and imag", lambda d: (d * (1 + 2j)).imag + d.real + d.conj()),
        ("Dataset.copy", lambda d: d.copy(deep=True) * d.copy()),
        ("Dataset.dot and corr", lambda d: xr.dot(d.a.fillna(0), d.b.fillna(0), dim="time") + xr.corr(d.a, d.b, "time")),
        ("Dataset.to_dataarray weighted", lambda d: d[["a", "b"]].to_dataarray("v").weighted(WEIGHTS).mean("lon")),
        ("Dataset.cov of variables", lambda d: xr.cov(d.a, d.m, "lon")),
        ("Dataset attribute assignment", lambda d: d.assign_attrs(k=1).drop_attrs() * 2),
        ("xr.where of Datasets", lambda d: xr.where(d > 2.5, d, -d)),
        ("xr.concat of Datasets", lambda d: xr.concat([d[["a", "b"]], 2 * d[["a", "b"]]], "k").mean("k")),
        ("xr.polyval of a Dataset", lambda d: xr.polyval(d, xr.DataArray([1.0, 2.0], dims="degree", coords={"degree": [0, 1]}))),
        ("xr.align of Datasets", lambda d: xr.align(d, d.isel(time=slice(3, 9)) * 2)[0]),
        ("xr.broadcast of Datasets", lambda d: xr.broadcast(d)[0] * 2),
        ("xr.ones_like of a Dataset", lambda d: xr.ones_like(d) * d),
        given="dataset",
    ),
    *table(
        ("DataTree arithmetic", lambda t: t * 2.0 - 1.0, ("lat", "lon")),
        ("DataTree of two trees", lambda t: t * t + t, ("lat", "lon")),
        *((f"DataTree.{n}", lambda t, n=n: getattr(t, n)("lon"), ("lat", "time")) for n in NAMES),
        ("DataTree.cumsum", lambda t: t.cumsum("lon"), ("lat", "time")),
        ("DataTree.cumprod", lambda t: (t / 3).cumprod("lon"), ("lat", "time")),
        ("DataTree.reduce", lambda t: t.reduce(np.nanmean, "lon"), ("lat", "time")),
        ("DataTree.count", lambda t: t.count("lon") * t.mean("lon"), ("lat", "time")),
        ("DataTree.map_over_datasets", lambda t: t.map_over_datasets(lambda ds: np.exp(-ds)), ("lat",)),
        ("xr.map_over_datasets", lambda t: xr.map_over_datasets(lambda a, b: a * b, t, t), ("lat",)),
        ("DataTree.pipe", lambda t: t.pipe(lambda v: v["a"] * v["coarse/c"].mean("t")), ("lat",)),
        ("DataTree.isel", lambda t: t.isel(lon=1), ("lat", "time")),
        ("DataTree.sel", lambda t: t.sel(lon=[90, 0]), ("lat", "time")),
        ("DataTree.assign", lambda t: t.assign(k=t["a"] * 2), ("lat",)),
        ("DataTree.update", lambda t: _tree_updated(t), ("lat",)),
        ("DataTree.filter", lambda t: t.filter(lambda n: "c" in n.data_vars), ("lat",)),
        ("DataTree.match and prune", lambda t: t.match("coarse").prune(), ()),
        ("DataTree.drop_nodes", lambda t: t.drop_nodes("coarse"), ("lat",)),
        ("DataTree subtree", lambda t: sum(n.to_dataset(inherit=False).to_dataarray().sum() for n in t.subtree), ("lat",)),
        ("DataTree getitem", lambda t: t["/coarse"]["c"] * t["/a"].mean("time"), ("lat",)),
        ("DataTree.round and conj", lambda t: t.round() + t.conj(), ("lat",)),
        ("DataTree.to_dict and from_dict", lambda t: xr.DataTree.from_dict({k: v * 2 for k, v in t.to_dict().items()}), ("lat",)),
        ("DataTree to_dataset", lambda t: t["coarse"].to_dataset().map(np.sqrt), ("lat",)),
        ("DataTree.copy", lambda t: t.copy(deep=True) * 3, ("lat",)),
        ("xr.group_subtrees", lambda t: [a.to_dataset().mean("lon") * b.to_dataset().max("lon") for _, (a, b) in xr.group_subtrees(t, t)][1], ("lat",)),
        given="tree",
    ),
]  # fmt: skip


def _tree_updated(t):
    t = t.copy()
    t["new"] = xr.DataTree(t["a"].mean("time").to_dataset(name="n"))
    t["coarse/d"] = t["coarse/c"] ** 2
    return t
