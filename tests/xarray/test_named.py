"""``ng.xr``: what the named functions give, against xarray, pandas and SciPy, and through a gradient."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import namedgrad as ng
from tests.xarray.harness import check_gradient, quiet
from tests.xarray.programs import WEIGHTS, field, with_gaps


def by_rows(function, x, dim="time"):
    """A function of a pandas series for each line."""
    axis = x.dims.index(dim)
    return x.copy(data=np.apply_along_axis(lambda row: np.asarray(function(pd.Series(row)), dtype=float), axis, x.values))


AS_XARRAY = {
    "interp": (lambda x: ng.xr.interp(x, lon=[10.0, 95.0]), lambda x: x.interp(lon=[10.0, 95.0])),
    "interp cubic": (
        lambda x: ng.xr.interp(x.fillna(1.0), {"lon": [10.0, 95.0]}, "cubic"),
        lambda x: x.fillna(1.0).interp({"lon": [10.0, 95.0]}, "cubic"),
    ),
    "interp outside": (
        lambda x: ng.xr.interp(x, lon=[-10.0, 300.0], kwargs={"fill_value": 2.0}),
        lambda x: x.interp(lon=[-10.0, 300.0], kwargs={"fill_value": 2.0}),
    ),
    "interp_like": (lambda x: ng.xr.interp_like(x, WEIGHTS[1:]), lambda x: x.interp_like(WEIGHTS[1:])),
    "interpolate_na": (
        lambda x: ng.xr.interpolate_na(x, "time", limit=2),
        lambda x: x.interpolate_na("time", limit=2),
    ),
    "resample": (
        lambda x: ng.xr.resample_interpolate(x, time="15D"),
        lambda x: x.resample(time="15D").interpolate("linear"),
    ),
    "weighted_quantile": (
        lambda x: ng.xr.weighted_quantile(x, WEIGHTS, [0.2, 0.7], "lon"),
        lambda x: x.weighted(WEIGHTS).quantile([0.2, 0.7], dim="lon"),
    ),
    "polyfit": (lambda x: ng.xr.polyfit(x, "lon", 1), lambda x: x.polyfit("lon", 1)),
    "apply_ufunc": (
        lambda x: ng.xr.apply_ufunc(np.sum, x, input_core_dims=[["lon"]], vectorize=True),
        lambda x: xr.apply_ufunc(np.sum, x, input_core_dims=[["lon"]], vectorize=True),
    ),
    "first": (
        lambda x: x.groupby("time.year").map(lambda g: ng.xr.first(g, "time")),
        lambda x: x.groupby("time.year").first(),
    ),
    "last": (
        lambda x: x.groupby("time.year").map(lambda g: ng.xr.last(g, "time")),
        lambda x: x.groupby("time.year").last(),
    ),
}
AS_PANDAS = {
    "ffill": (lambda x: ng.xr.ffill(x, "time"), lambda x: by_rows(lambda s: s.ffill(), x)),
    "ffill limit": (lambda x: ng.xr.ffill(x, "time", 1), lambda x: by_rows(lambda s: s.ffill(limit=1), x)),
    "bfill": (lambda x: ng.xr.bfill(x, "lon"), lambda x: by_rows(lambda s: s.bfill(), x, "lon")),
    "rolling_exp mean": (
        lambda x: ng.xr.rolling_exp(x, time=4).mean(),
        lambda x: by_rows(lambda s: s.ewm(span=4).mean(), x),
    ),
    "rolling_exp std": (
        lambda x: ng.xr.rolling_exp(x.fillna(1.0), {"time": 3.0}, "halflife").std(),
        lambda x: by_rows(lambda s: s.ewm(halflife=3).std(), x.fillna(1.0)),
    ),
    "rolling_exp var": (
        lambda x: ng.xr.rolling_exp(x.fillna(1.0), time=0.3, window_type="alpha").var(),
        lambda x: by_rows(lambda s: s.ewm(alpha=0.3).var(), x.fillna(1.0)),
    ),
    "rank": (
        lambda x: ng.xr.rank(x, "time"),
        lambda x: by_rows(lambda s: scipy.stats.rankdata(s, nan_policy="omit"), x),
    ),
    "rank pct": (
        lambda x: ng.xr.rank(x.round(), "time", pct=True),
        lambda x: by_rows(lambda s: s.rank(pct=True), x.round()),
    ),
}  # fmt: skip


def compare(ours, theirs):
    xr.testing.assert_allclose(ours, theirs, rtol=1e-11)
    for a in ours.data_vars.values() if isinstance(ours, xr.Dataset) else [ours]:
        assert type(a.data) is np.ndarray


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", AS_XARRAY)
def test_as_xarray(name, gaps):
    x = with_gaps() if gaps else field()
    ours, theirs = AS_XARRAY[name]
    before = x.copy(deep=True)
    with quiet():
        compare(ours(x), theirs(x))
    assert x.identical(before)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", AS_PANDAS)
def test_as_pandas(name, gaps):
    x = with_gaps() if gaps else field()
    ours, theirs = AS_PANDAS[name]
    with quiet():
        compare(ours(x), theirs(x))


@pytest.mark.parametrize("name", [*AS_XARRAY, *AS_PANDAS])
def test_gradients(name):
    ours, theirs = {**AS_XARRAY, **AS_PANDAS}[name]
    inside = {"rank": lambda x: x * ours(x), "rank pct": lambda x: x * ours(x)}.get(name, ours)
    plain = {"rank": lambda x: x * theirs(x), "rank pct": lambda x: x * theirs(x)}.get(name, theirs)
    either = lambda x: plain(x) if type(x.data) is np.ndarray else inside(x)
    with quiet():
        check_gradient(either, with_gaps())


def test_datasets():
    ds = xr.Dataset({"a": with_gaps(), "b": field()}, attrs={"title": "t"})
    with quiet():
        compare(ng.xr.interp(ds, lon=[10.0]), ds.interp(lon=[10.0]))
        compare(ng.xr.polyfit(ds, "lon", 1), ds.polyfit("lon", 1))
        filled = ng.xr.ffill(ds, "time")
        compare(filled.a, by_rows(lambda s: s.ffill(), ds.a))
        assert filled.attrs == ds.attrs
        compare(ng.xr.weighted_quantile(ds, WEIGHTS, 0.3, "lon"), ds.weighted(WEIGHTS).quantile(0.3, dim="lon"))
        assert set(ng.xr.rank(ds, "time").data_vars) == {"a", "b"}


def test_weights_are_differentiated():
    x = field().isel(time=0, lat=0, drop=True)
    f = lambda w: x.weighted(w).quantile(0.4) ** 2
    g = ng.grad(f)(WEIGHTS)
    for i in range(4):
        step = 1e-6 * np.eye(4)[i]
        expected = (f(WEIGHTS + step) - f(WEIGHTS - step)).item() / 2e-6
        assert g[i].item() == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_what_is_refused():
    x = with_gaps()
    with pytest.raises(ng.TraceError, match="s=0"), quiet(), pytest.warns(PendingDeprecationWarning):
        ng.grad(lambda x: x.interpolate_na("time", method="spline").sum())(x)
    with pytest.raises(ng.TraceError, match="differ in size"):
        ng.grad(lambda x: x.dropna("time").sum(), over="lat")(x.isel(lon=[0, 1]))
    with pytest.raises(ValueError, match="window_type"):
        ng.xr.rolling_exp(x, time=3, window_type="week")
    with pytest.raises(ValueError, match="one dim"):
        ng.xr.rolling_exp(x, time=3, lon=2)
    with pytest.raises(ValueError, match="between 0 and 1"):
        ng.xr.weighted_quantile(x, WEIGHTS, 2.0)
    with pytest.raises(ValueError, match="finite"):
        ng.grad(lambda x: x.interp(lon=[5.0], method="pchip").sum())(x)
    with pytest.raises(ValueError, match="range"):
        ng.grad(lambda x: x.interp(lon=[-5.0], kwargs={"bounds_error": True}).sum())(x)
