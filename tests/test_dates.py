"""Dates and spans of time in named arrays: what xarray's methods make of them, NaT among them."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import namedgrad as ng

DATES = np.array([["2000-01-04", "2000-01-01", "2000-01-09"], ["1969-01-01", "2005-01-01", "2001-06-01"]], "M8[ns]")
LACKING = DATES.copy()
LACKING[0, 1] = "NaT"


@pytest.mark.parametrize("data", [DATES, LACKING, DATES - DATES[0, 0], LACKING - DATES[1, 1]], ids="dDtT")
@pytest.mark.parametrize("unit", ["s", "ns"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.mean("t"), lambda x: x.mean(), lambda x: x.mean("k"), lambda x: x.mean("t", skipna=False),
        lambda x: x.isel(t=[1]).mean("t"), lambda x: x.coarsen(t=2, boundary="pad").mean(),
        lambda x: x.where(x > np.array(0, x.dtype)), lambda x: x.shift(t=1), lambda x: x.shift(t=-2, k=1),
        lambda x: x.pad(t=(1, 2)), lambda x: x.where(x.isnull()).mean("k"), lambda x: x.max("t"), lambda x: x.max("t", skipna=True), lambda x: x.min(skipna=True), lambda x: x.fillna(x[0, 0]),
    ],
)  # fmt: skip
def test_they_stay_dates_as_in_xarray(f, data, unit):
    data = data.astype(data.dtype.str[:3] + f"[{unit}]")
    want = f(xr.DataArray(data, dims=("k", "t")))
    got = f(ng.DimArray(data, ("k", "t")))
    assert got.dtype == want.dtype
    assert got.dims == want.dims
    np.testing.assert_array_equal(got.data, want.values)


def test_means_on_dask_per_slice_and_in_compiled_programs():
    from_dask = ng.DimArray(pytest.importorskip("dask.array").from_array(LACKING, chunks=1), ("k", "t"))
    want = xr.DataArray(LACKING, dims=("k", "t")).mean("t").values
    np.testing.assert_array_equal(from_dask.mean("t").data.compute(), want)
    x = ng.DimArray(LACKING, ("k", "t"))
    np.testing.assert_array_equal(x.vectorize("k").mean().data, want)
    np.testing.assert_array_equal(ng.compile(lambda x: x.mean("t"))(x).data, want)


def test_missing_dates_are_filled_from_their_neighbours():
    x = ng.DimArray(LACKING, ("k", "t"))
    np.testing.assert_array_equal(x.ffill("t").data, [LACKING[0, [0, 0, 2]], LACKING[1]])
    np.testing.assert_array_equal(x.bfill("t").data, [LACKING[0, [0, 2, 2]], LACKING[1]])


def test_what_has_no_answer_does_not_give_a_number():
    x = ng.DimArray(LACKING, ("k", "t"))
    np.testing.assert_array_equal(x.median("t").data, np.array(["NaT", "2001-06-01"], "M8[ns]"))
    with pytest.raises(TypeError, match=r"\(x - origin\) / np.timedelta64"):
        x.rolling(t=2).mean()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_missing_date_is_no_number(dtype):
    x = ng.DimArray(LACKING.astype("M8[D]"), ("k", "t"))
    there = ~np.isnat(LACKING)
    np.testing.assert_array_equal(x.astype(dtype).data, np.where(there, LACKING.astype("M8[D]").astype(dtype), np.nan))
    assert x.astype(dtype).dtype == dtype
    assert np.isnan(ng.gradient(x, "t").data[0]).any()


@pytest.mark.parametrize("q", [0.1, 0.3, 0.5, 0.77, [0.0, 0.6, 1.0]])
def test_quantiles_are_cut_to_whole_ticks_as_in_numpy(q):
    ticks = np.random.default_rng(0).integers(0, 10**9, (5, 8))
    for data in (np.datetime64("2200-01-01", "ns") + ticks, ticks.astype("m8[ns]")):
        np.testing.assert_array_equal(ng.DimArray(data, ("k", "t")).quantile(q, "t").to_numpy(), np.quantile(data, q, axis=1))


@pytest.mark.parametrize("n", [2, 3, 6])
def test_medians_of_dates_and_spans(n):
    """Of an even number it is as far from either of the two in the middle; halves of spans would lose a tick."""
    ticks = 2 * np.random.default_rng(1).integers(0, 10**9, (5, n)) + 1
    want = np.median(ticks, axis=1).astype(int)
    for start in (np.datetime64("2200-01-01", "ns"), np.timedelta64(0, "ns")):
        for found in (ng.DimArray(start + ticks, ("k", "t")).median("t").data, np.median(ng.positional(start + ticks), axis=1)):
            np.testing.assert_array_equal(np.asarray(found), start + want)


@pytest.mark.parametrize("skipna", [None, False])
def test_means_of_groups_are_dates(skipna):
    group = np.array([0, 3, 0, 0, 3, 1])
    data = np.datetime64("2200-01-01", "ns") + np.random.default_rng(1).integers(0, 10**9, 6)
    data[4] = "NaT"
    for x in (data, data - data[0]):
        found = ng.segment_mean(ng.DimArray(x, "t"), group, "t", size=4, skipna=skipna)
        parts = [ng.DimArray(x[group == k], "t").mean("t", skipna=skipna).to_numpy() if (group == k).any() else np.array("NaT", x.dtype) for k in range(4)]
        np.testing.assert_array_equal(found.to_numpy(), np.array(parts, x.dtype))


@pytest.mark.parametrize("skipna", [None, True, False])
@pytest.mark.parametrize("data", [DATES, LACKING, DATES - DATES[0, 0], LACKING - DATES[1, 1]], ids="dDtT")
@pytest.mark.parametrize("how", ["max", "min"])
def test_extremes_of_groups_are_dates(how, data, skipna):
    group = np.array([0, 0, 2])
    want = getattr(xr.DataArray(data, dims=("k", "t")).groupby(xr.DataArray(group, dims="t", name="g")), how)(skipna=skipna)
    got = getattr(ng, f"segment_{how}")(ng.DimArray(data, ("k", "t")), group, "t", skipna=skipna)
    np.testing.assert_array_equal(got.isel(t=[0, 2]).data, want.transpose("k", "g").values)
    assert np.isnat(got.isel(t=1).data).all(), "a group without cells"
    per_slice = getattr(ng, f"segment_{how}")(ng.DimArray(data, ("k", "t")).vectorize("k"), group, "t", skipna=skipna)
    np.testing.assert_array_equal(per_slice.data, got.data)


def test_dates_that_are_there_are_counted_in_groups():
    group = np.array([0, 0, 2])
    want = xr.DataArray(LACKING, dims=("k", "t")).groupby(xr.DataArray(group, dims="t", name="g")).count()
    got = ng.segment_count(ng.DimArray(LACKING, ("k", "t")), group, "t", skipna=True)
    np.testing.assert_array_equal(got.isel(t=[0, 2]).data, want.transpose("k", "g").values)
    assert want.values.sum() < LACKING.size == ng.segment_count(ng.DimArray(LACKING, ("k", "t")), group, "t").data.sum()


def test_spans_of_time_that_are_there_are_summed():
    spans = LACKING - DATES[1, 1]
    want = np.where(np.isnat(spans), np.array(0, spans.dtype), spans).sum(1)
    np.testing.assert_array_equal(ng.DimArray(spans, ("k", "t")).sum("t", skipna=True).data, want)


# ------------------------------------------------------------------------------------------------ spans that are differentiated

SPANS = np.array([6, 6, 7, 8, 5, 3], "m8[h]").astype("m8[us]")
LACK = SPANS.copy()
LACK[2] = "NaT"
HOUR, DAYS = np.timedelta64(1, "h"), np.datetime64("2000-01-01", "us") + np.arange(6) * np.timedelta64(6, "h")
POWER = xr.DataArray([1.0, 2.5, 2.25, 4.0, 3.5, -1.0], dims="t", coords={"t": DAYS})
SPAN, GAPPED = (xr.DataArray(v, dims="t", coords={"t": DAYS}) for v in (SPANS, LACK))
PLACES = np.arange(6)
OF_SPANS = {
    "energy": lambda a: (a * SPAN).sum() / HOUR, "the other order": lambda a: (SPAN * a).sum() / HOUR, "weighted": lambda a: (a * SPAN).sum() / SPAN.sum(),
    "below": lambda a: SPAN.sum() / (a * SPAN).sum(), "by pandas": lambda a: (a * pd.Timedelta("6h")).sum() / pd.Timedelta("1h"),
    "by Python": lambda a: (a * dt.timedelta(hours=6)).sum() / dt.timedelta(hours=1), "mean": lambda a: (a * SPAN).mean() / HOUR,
    "mean of those there": lambda a: (a * GAPPED).mean() / HOUR, "median": lambda a: (a * SPAN).median() / HOUR, "quantile": lambda a: (a * SPAN).quantile(0.3) / HOUR,
    "groups": lambda a: ((a * SPAN).groupby(a.t.dt.day).mean() / HOUR).sum(), "resample": lambda a: ((a * SPAN).resample(t="12h").sum() / HOUR).sum(),
    "coarsen": lambda a: ((a * SPAN).coarsen(t=2).mean() / HOUR * np.arange(3)).sum(), "divided": lambda a: (SPAN / a / HOUR).sum(), "times two": lambda a: ((a * SPAN) * a / HOUR).sum(),
    "where": lambda a: (xr.where(a > 2, a * SPAN, SPAN) / HOUR).sum(), "filled": lambda a: ((a * GAPPED).fillna(HOUR) / HOUR).sum(), "abs": lambda a: (abs(a * SPAN) / HOUR).sum(),
    "added": lambda a: ((SPAN - a * SPAN + HOUR) / HOUR * PLACES).sum(), "largest": lambda a: (a * SPAN).max() / HOUR, "differences": lambda a: ((a * SPAN).diff("t") / HOUR * np.arange(5)).sum(),
    "running": lambda a: ((a * SPAN).cumsum("t") / HOUR).sum(), "seconds": lambda a: (a * SPAN).dt.total_seconds().sum(), "as numbers": lambda a: (a * SPAN).astype(float).sum() / 1e6,
    "dates": lambda a: (((a.t + a * SPAN) - a.t) / HOUR * PLACES).sum(), "clip": lambda a: ((a * SPAN).clip(HOUR, 20 * HOUR) / HOUR).sum(), "shift": lambda a: ((a * SPAN).shift(t=1) / HOUR * PLACES).sum(),
    "finer": lambda a: ((a * SPAN).astype("m8[ns]") / HOUR).sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_SPANS)
def test_gradients_pass_spans_of_time(name):
    """By differences: a product with whole ticks of a microsecond is rounded by far less."""
    f = OF_SPANS[name]
    steps = [xr.zeros_like(POWER) + 1e-2 * (k == PLACES) for k in range(6)]
    want = [(float(f(POWER + e)) - float(f(POWER - e))) / 2e-2 for e in steps]
    near = [(float(f(POWER + 0.5 * e)) - float(f(POWER - 0.5 * e))) / 1e-2 for e in steps]
    want = (4 * np.array(near) - np.array(want)) / 3
    for g in (POWER.grad(f), ng.pullback(f, POWER)[1](1.0), ng.compile(ng.grad(f))(POWER)):
        np.testing.assert_allclose(g.values, want, rtol=1e-6, atol=1e-7)
    _, slope = ng.jvp(f, (POWER,), (xr.ones_like(POWER),))
    np.testing.assert_allclose(slope, np.sum(want), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("hour", [dt.timedelta(hours=1), pd.Timedelta("1h")], ids=["Python's", "pandas'"])
def test_dim_arrays_take_other_spans(hour):
    x, days = ng.DimArray([1.0, 2.0], "t"), ng.DimArray(DAYS[:2], "t")
    assert ((x * hour).data == np.array([1, 2], "m8[h]")).all()
    assert ((days + hour).data == DAYS[:2] + HOUR).all()
    assert ng.grad(lambda x: (hour * x).sum() / (2 * hour))(x).data.tolist() == [0.5, 0.5]


def test_spans_of_slices_and_of_second_order():
    x, d = ng.DimArray([1.0, 2.0, 3.0], "q"), ng.DimArray(np.array([1, 2, 3], "m8[h]"), "q")
    np.testing.assert_allclose(ng.hessian(lambda x: (x * x * d).sum() / HOUR)(x).data, np.diag([2.0, 4.0, 6.0]))
    per_slice = ng.grad(lambda x: (x * d).mean() / HOUR)(x.expand_dims(b=2).vectorize("b"))
    np.testing.assert_allclose(per_slice.to_numpy(), [[1 / 3, 2 / 3, 1]] * 2)


def test_spans_that_would_be_rounded_or_have_two_units_say_so():
    with pytest.raises(ng.TraceError, match=r"rounds these to whole ticks; interpolate numbers, x / np.timedelta64"):
        POWER.grad(lambda a: (a * SPAN).interp(t=DAYS[:2] + HOUR).sum() / HOUR)
    with pytest.raises(TypeError, match=r"timedelta64\[us\] meets timedelta64\[s\].*x.astype\('timedelta64\[us\]'\)"):
        POWER.grad(lambda a: (a * SPAN + a * SPAN.astype("m8[s]")).sum() / HOUR)


@pytest.mark.parametrize("name", ["energy", "weighted", "mean of those there", "seconds", "where", "dates"])
def test_gradients_pass_lazy_spans_of_time(name):
    pytest.importorskip("dask")
    lazy = POWER.chunk(t=3).grad(OF_SPANS[name])
    assert lazy.chunks is not None
    np.testing.assert_allclose(lazy.values, POWER.grad(OF_SPANS[name]).values, rtol=1e-14)


@pytest.mark.parametrize("how", [lambda x: x, lambda x: ng.positional(x.data)])
def test_spans_as_integers_keep_their_derivative(how):
    d = how(ng.DimArray(np.array([1, 2, 3], "m8[h]"), "q"))
    g = ng.grad(lambda x: ((x * d).astype("int64") * 0.5).sum())(how(ng.DimArray([1.0, 2.0, 3.0], "q")))
    np.testing.assert_array_equal(g.data, [0.5, 1.0, 1.5])
