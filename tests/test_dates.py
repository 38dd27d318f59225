"""Dates and spans of time in named arrays: what xarray's methods make of them, NaT among them."""

from __future__ import annotations

import numpy as np
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
