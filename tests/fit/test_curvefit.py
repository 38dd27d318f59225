"""``curvefit`` against xarray's: the same Dataset and the same numbers, without its faults."""

from __future__ import annotations

import functools

import cftime
import numpy as np
import pytest
import scipy.optimize
import scipy.special
import xarray as xr

import namedgrad as ng

COEFFICIENTS, COVARIANCE = "curvefit_coefficients", "curvefit_covariance"
EXACT = {"ftol": 1e-13, "xtol": 1e-13, "gtol": 1e-13}
T = np.arange(0, 5, 0.5)


def exp_decay(t, n0, tau=1):
    return n0 * np.exp(-t / tau)


def sine(t, a, f, p):
    return a * np.sin(2 * np.pi * (f * t + p))


def decays(seed: int = 0, x: int = 4, y: int = 3) -> xr.DataArray:
    """Noisy exponentials (t, x, y) with labels, a scalar coordinate and attributes."""
    rng = np.random.default_rng(seed)
    n0, tau = xr.DataArray(rng.uniform(2, 5, (x, y)), dims=("x", "y")), xr.DataArray(rng.uniform(1, 4, (x,)), dims="x")
    t = xr.DataArray(T, dims="t", coords={"t": T})
    da = exp_decay(t, n0, tau).transpose("t", "x", "y") + 0.05 * rng.normal(size=(len(T), x, y))
    return da.assign_coords(x=np.arange(x) * 10.0, y=list("abcdef")[:y], height=2.0).assign_attrs(units="K").rename("temp")


def assert_same(ours: xr.Dataset, theirs: xr.Dataset, rtol: float = 1e-6) -> None:
    """All that xarray gives, in the same place."""
    assert [*ours.data_vars][: len(theirs.data_vars)] != []
    for name, want in theirs.data_vars.items():
        got = ours[name]
        assert got.dims == want.dims
        assert got.attrs == want.attrs
        xr.testing.assert_identical(got.coords.to_dataset(), want.coords.to_dataset())
        np.testing.assert_allclose(got, want, rtol=rtol if name.endswith("coefficients") else 1e-4, atol=1e-10)
    assert ours.attrs == theirs.attrs
    assert set(theirs.dims) == set(ours.dims)


# ------------------------------------------------------------------------------------------------ xarray's own tests


@pytest.mark.parametrize("use_dask", [True, False])
def test_curvefit(use_dask):
    da = xr.DataArray(
        np.stack([exp_decay(T, 3, 3), exp_decay(T, 5, 4), np.nan * T], axis=-1),
        dims=("t", "x"), coords={"t": T, "x": [0, 1, 2]},
    )  # fmt: skip
    da[0, 0] = np.nan
    expected = xr.DataArray(
        [[3, 3], [5, 4], [np.nan, np.nan]], dims=("x", "param"), coords={"x": [0, 1, 2], "param": ["n0", "tau"]}
    )
    if use_dask:
        da = da.chunk({"x": 1})
    fit = ng.curvefit(da, coords=[da.t], func=exp_decay, p0={"n0": 4}, bounds={"tau": (2, 6)})
    assert (fit[COEFFICIENTS].chunks is not None) == use_dask
    xr.testing.assert_allclose(fit[COEFFICIENTS], expected, rtol=1e-6)
    da = da.compute()
    fit = ng.curvefit(da, coords="t", func=np.power, reduce_dims="x", param_names=["a"])
    assert "a" in fit.param
    assert "x" not in fit.dims


@pytest.mark.parametrize("use_dask", [True, False])
def test_curvefit_multidimensional_guess(use_dask):
    t = np.arange(0, 2, 0.02)
    da = xr.DataArray(np.stack([sine(t, 1.0, 2, 0), sine(t, 1.0, 2, 0)]), coords={"x": [0, 1], "t": t})
    expected = xr.DataArray([[1, 2, 0], [-1, 2, 0.5]], coords={"x": [0, 1], "param": ["a", "f", "p"]})
    a_guess, p_guess = xr.DataArray([1, -1], coords=[da.x]), xr.DataArray([0, 0.5], coords=[da.x])
    if use_dask:
        da = da.chunk({"x": 1})
    fit = ng.curvefit(da, coords=[da.t], func=sine, p0={"a": a_guess, "p": p_guess, "f": 2})
    xr.testing.assert_allclose(fit[COEFFICIENTS], expected)
    with pytest.raises(
        ValueError,
        match=r"Initial guess for 'a' has unexpected dimensions .* should only have dimensions that are in data "
        "dimensions",
    ):
        ng.curvefit(da, coords=[da.t], func=sine, p0={"a": xr.DataArray([1, 2], coords={"foo": [1, 2]})})


@pytest.mark.parametrize("use_dask", [True, False])
def test_curvefit_multidimensional_bounds(use_dask):
    t = np.arange(0, 2, 0.02)
    da = xr.DataArray(np.stack([sine(t, 1.0, 2, 0), sine(t, 1.0, 2, 0)]), coords={"x": [0, 1], "t": t})
    expected = xr.DataArray([[1, 2, 0], [-1, 2, 0.5]], coords={"x": [0, 1], "param": ["a", "f", "p"]})
    if use_dask:
        da = da.chunk({"x": 1})
    low, high = xr.DataArray([0, -2], coords=[da.x]), xr.DataArray([2, 0], coords=[da.x])
    for bounds in ((low, high), (-2, high)):
        fit = ng.curvefit(da, coords=[da.t], func=sine, p0={"f": 2, "p": 0.25}, bounds={"a": bounds})
        xr.testing.assert_allclose(fit[COEFFICIENTS], expected)
    with pytest.raises(
        ValueError,
        match=r"Upper bound for 'a' has unexpected dimensions .* should only have dimensions that are in data "
        "dimensions",
    ):
        ng.curvefit(da, coords=[da.t], func=sine, bounds={"a": (0, xr.DataArray([1], coords={"foo": [1]}))})


@pytest.mark.parametrize("use_dask", [True, False])
def test_curvefit_ignore_errors(use_dask):
    def line(x, a, b):
        if a > 10:
            return 0
        return a * x + b

    da = xr.DataArray([[1, 3, 5], [0, 20, 40]], coords={"i": [1, 2], "x": [0.0, 1.0, 2.0]})
    if use_dask:
        da = da.chunk({"i": 1})
    expected = xr.DataArray([[2, 1], [np.nan, np.nan]], coords={"i": [1, 2], "param": ["a", "b"]})
    with pytest.raises(RuntimeError, match="calls to function has reached maxfev"):
        ng.curvefit(da, coords="x", func=line, kwargs={"maxfev": 5}).compute()
    fit = ng.curvefit(da, coords="x", func=line, errors="ignore", kwargs={"maxfev": 5}).compute()
    xr.testing.assert_allclose(fit[COEFFICIENTS], expected)


def test_curvefit_helpers():
    from namedgrad.fit.curvefit import parameter_names, start_and_limits

    names, defaults = parameter_names(exp_decay, [])
    assert names == ["n0", "tau"]
    start, limits = start_and_limits(names, {"n0": 4}, {"tau": [5, np.inf]}, defaults)
    assert start == {"n0": 4, "tau": 6}
    assert limits == {"n0": (-np.inf, np.inf), "tau": (5, np.inf)}
    low = xr.DataArray([3, 4], coords=[("x", [1, 2])])
    start, limits = start_and_limits(names, {"n0": 4}, {"tau": [low, np.inf]}, defaults)
    assert (start["tau"] == xr.DataArray([4, 5], coords=[("x", [1, 2])])).all()
    assert (limits["tau"][0] == low).all()
    assert limits["tau"][1] == np.inf
    assert parameter_names(np.power, ["a"])[0] == ["a"]
    with pytest.raises(ValueError, match="takes variable length arguments"):
        parameter_names(lambda x, *p: x, None)


def test_the_signature_is_xarrays():
    import inspect

    ours, theirs = inspect.signature(ng.curvefit).parameters, inspect.signature(xr.Dataset.curvefit).parameters
    for got, want in zip([*ours.values()][1:], [*theirs.values()][1:], strict=False):
        assert (got.name, got.default) == (want.name, want.default)
    assert len(ours) > len(theirs)


# ------------------------------------------------------------------------------------------------ the same Dataset


def gauss(x, a, m, s):
    return a * np.exp(-0.5 * ((x - m) / s) ** 2)


P0 = {"n0": 3.0, "tau": 2.0}
LOWER = xr.DataArray([0.5, 0.6, 0.7, 0.8], dims="x", coords={"x": np.arange(4) * 10.0})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"p0": P0},
        {"p0": {"tau": 2 * LOWER}},
        {"p0": P0, "bounds": {"tau": (LOWER, 2.5)}},
        {"bounds": {"tau": (LOWER, 2.5), "n0": (-np.inf, 3.5)}},
        {"p0": P0, "reduce_dims": "x"},
        {"p0": P0, "reduce_dims": ["x", "y"]},
        {"p0": P0, "kwargs": {"sigma": np.linspace(1, 2, 10)}},
        {"p0": P0, "kwargs": {"sigma": np.linspace(0.1, 0.2, 10), "absolute_sigma": True}},
        {"p0": P0, "kwargs": {"sigma": np.diag(np.linspace(1, 2, 10)) + 0.1}},
        {"p0": P0, "kwargs": {"method": "trf", "loss": "soft_l1", "f_scale": 0.05}},
        {"p0": P0, "kwargs": {"method": "dogbox"}},
        {"p0": P0, "kwargs": {"maxfev": 500}},
        {"p0": P0, "skipna": False},
    ],
)
def test_the_dataset_is_xarrays(options):
    da = decays()
    theirs = {**options, "kwargs": {**EXACT, **options.get("kwargs", {})}}
    if "loss" in options.get("kwargs", {}):
        theirs["kwargs"]["jac"] = "3-point"
    assert_same(ng.curvefit(da, "t", exp_decay, **options), da.curvefit("t", exp_decay, **theirs))


def test_datasets_trees_and_several_variables():
    ds = xr.Dataset({"a": decays(0), "b": decays(1)[:, :, 0]}, attrs={"title": "two"})
    ours = ng.curvefit(ds, "t", exp_decay, p0=P0)
    assert_same(ours, ds.curvefit("t", exp_decay, p0=P0, kwargs=EXACT))
    assert {"a_curvefit_status", "b_curvefit_chi2"} <= set(ours.data_vars)
    tree = xr.DataTree.from_dict({"/one": ds, "/two/deep": ds.isel(x=slice(2))})
    fit = ng.curvefit(tree, "t", exp_decay, p0=P0)
    xr.testing.assert_allclose(fit["one"].to_dataset(), ours)
    np.testing.assert_allclose(fit["two/deep/a_curvefit_coefficients"], ours.a_curvefit_coefficients[:2], rtol=1e-7)


def test_several_coordinates_and_coordinates_that_differ_from_cell_to_cell():
    rng = np.random.default_rng(0)
    plane = lambda xy, a, b, c: a * np.exp(-b * xy[0]) + c * xy[1]
    one, two = (xr.DataArray(np.linspace(0, n, n), dims=d, coords={d: np.linspace(0, n, n)}) for d, n in (("u", 4), ("v", 5)))
    scale = xr.DataArray(rng.uniform(1, 2, 3), dims="cell")
    da = (scale * np.exp(-0.4 * one) + 0.3 * two + 0.01 * rng.normal(size=(3, 1, 1))).transpose("u", "cell", "v")
    names = {"param_names": ["a", "b", "c"]}
    assert_same(ng.curvefit(da, ["u", "v"], plane, **names), da.curvefit(["u", "v"], plane, kwargs=EXACT, **names))
    t = xr.DataArray(T, dims="t") * xr.DataArray([1.0, 1.5, 0.5], dims="cell")
    y = 3 * np.exp(-t / 2.0) + 0.01 * rng.normal(size=t.shape)
    options = {"reduce_dims": "t", "p0": P0}
    assert_same(ng.curvefit(y, t, exp_decay, **options), y.curvefit(t, exp_decay, kwargs=EXACT, **options))


def test_missing_observations_and_missing_coordinates_are_left_out():
    da = decays()
    da[2, 1, 1] = da[:, 2, 2] = np.nan
    assert_same(ng.curvefit(da, "t", exp_decay), da.curvefit("t", exp_decay, kwargs=EXACT))
    t = da.t.values.copy()
    t[[3, 7]] = np.nan
    gone = da.assign_coords(t=t)
    assert_same(ng.curvefit(gone, "t", exp_decay), da.drop_isel(t=[3, 7]).curvefit("t", exp_decay, kwargs=EXACT))


def test_status_and_more():
    da = decays()
    da[:, 0, 0] = np.nan
    fit = ng.curvefit(da, "t", exp_decay, p0=P0, bounds={"tau": (0, 1.5)})
    words = dict(zip(fit.curvefit_status.attrs["flag_meanings"].split(), fit.curvefit_status.attrs["flag_values"], strict=True))
    at = (fit[COEFFICIENTS].sel(param="tau") == 1.5).values
    assert at.sum() > 2
    assert (fit.curvefit_status.values[at] == words["bound"]).all()
    assert fit.curvefit_status[0, 0] == words["no_data"]
    assert fit.curvefit_dof[1, 1] == len(T) - 2
    assert fit.curvefit_iterations.max() < 20
    p = fit[COEFFICIENTS]
    off = exp_decay(da.t, p.sel(param="n0", drop=True), p.sel(param="tau", drop=True)) - da
    xr.testing.assert_allclose(fit.curvefit_chi2, (off**2).sum("t", min_count=1).drop_vars("height").assign_coords(height=2.0))


# ------------------------------------------------------------------------------------------------ faults that are gone


def test_levels_of_a_stacked_coordinate():
    da = decays().stack(point=("t", "y"))
    options = {"reduce_dims": "point", "p0": {"n0": 3.0, "tau": 2.0}}
    theirs = da.curvefit(da.t, exp_decay, **options)
    fit = ng.curvefit(da, da.t, exp_decay, **options)
    np.testing.assert_allclose(fit[COEFFICIENTS], theirs[COEFFICIENTS], rtol=1e-5)
    dates = np.datetime64("2000-01-01", "ns") + (T * 86400e9).astype("timedelta64[ns]")
    dated = decays().assign_coords(t=dates).stack(point=("y", "t"))
    fit = ng.curvefit(dated, "t", exp_decay, time_units="days", **options)
    np.testing.assert_allclose(fit[COEFFICIENTS], theirs[COEFFICIENTS], rtol=1e-5)


def test_a_cftime_coordinate():
    time = xr.date_range("1860-01-01", periods=40, freq="180D", calendar="360_day", use_cftime=True)
    y = xr.DataArray(2.0 + 0.5 * np.arange(40) * 180 / 360, coords={"time": time})
    fit = ng.curvefit(y, "time", lambda t, a, b: a + b * t, time_units="years")
    np.testing.assert_allclose(fit[COEFFICIENTS], [2.0, 0.5], rtol=1e-6)
    assert fit.attrs == {"time_units": "years since 1860-01-01 00:00:00", "time_calendar": "360_day"}
    seconds = ng.curvefit(y, "time", lambda t, a, b: a + b * t)
    np.testing.assert_allclose(seconds[COEFFICIENTS], [2.0, 0.5 / (360 * 86400)], rtol=1e-6)
    later = ng.curvefit(y, "time", lambda t, a, b: a + b * t, time_units="years", time_origin=cftime.Datetime360Day(1870, 1, 1))
    np.testing.assert_allclose(later[COEFFICIENTS], [7.0, 0.5], rtol=1e-6)


@pytest.mark.parametrize("unit", ["s", "ns"])
def test_a_datetime_coordinate_has_slopes_per_second(unit):
    time = np.datetime64("2000-03-01T12:00", unit) + np.arange(20) * np.timedelta64(6, "h")
    y = xr.DataArray(1.0 + 3.0 * np.arange(20) * 6 * 3600, coords={"time": time})
    fit = ng.curvefit(y, "time", lambda t, a, b: a + b * t)
    np.testing.assert_allclose(fit[COEFFICIENTS], [1.0, 3.0], rtol=1e-6)
    assert fit.attrs == {"time_units": "seconds since 2000-03-01 12:00:00"}
    days = ng.curvefit(y, y.time - y.time[0], lambda t, a, b: a + b * t, reduce_dims="time", time_units="days")
    np.testing.assert_allclose(days[COEFFICIENTS], [1.0, 3.0 * 86400], rtol=1e-6)
    missing = time.copy()
    missing[3] = "NaT"
    np.testing.assert_allclose(
        ng.curvefit(y.assign_coords(time=missing), "time", lambda t, a, b: a + b * t)[COEFFICIENTS], [1.0, 3.0], rtol=1e-6
    )


def test_sigma_as_an_option():
    da = decays()
    sigma = xr.DataArray(np.random.default_rng(3).uniform(0.05, 0.2, da.shape), coords=da.coords)
    fit = ng.curvefit(da, "t", exp_decay, p0=P0, sigma=sigma)
    i, j = 1, 2
    known = np.isfinite(da.values[:, i, j])
    want = scipy.optimize.curve_fit(
        exp_decay, T[known], da.values[known, i, j], [3, 2], sigma.values[known, i, j], **EXACT
    )
    np.testing.assert_allclose(fit[COEFFICIENTS][i, j], want[0], rtol=1e-6)
    np.testing.assert_allclose(fit[COVARIANCE][i, j], want[1], rtol=1e-4)
    with pytest.raises(TypeError, match="sigma is given twice"):
        ng.curvefit(da, "t", exp_decay, p0=P0, sigma=sigma, kwargs={"sigma": 0.1})


def test_sigma_as_a_dataarray_and_with_missing_observations():
    da = decays()
    da[3, 1, 1] = np.nan
    sigma = xr.DataArray(np.random.default_rng(3).uniform(0.05, 0.2, da.shape), coords=da.coords)
    sigma[5, 2, 0] = np.nan
    for s in (sigma, sigma[:, 0, 0].drop_vars(["x", "y"]), sigma[0], sigma[:, 0, 0].values, 0.1):
        fit = ng.curvefit(da, "t", exp_decay, p0=P0, kwargs={"sigma": s, "absolute_sigma": True})
        full = (s if isinstance(s, xr.DataArray) else xr.DataArray(s, dims="t" if np.ndim(s) else ())).broadcast_like(da)
        full = full.transpose(*da.dims)
        for i, j in ((0, 0), (1, 1), (2, 0)):
            keep = np.isfinite(da.values[:, i, j]) & np.isfinite(full.values[:, i, j])
            p, cov = scipy.optimize.curve_fit(
                exp_decay, T[keep], da.values[keep, i, j], [3, 2], full.values[keep, i, j], absolute_sigma=True, **EXACT
            )
            np.testing.assert_allclose(fit[COEFFICIENTS][i, j], p, rtol=1e-6)
            np.testing.assert_allclose(fit[COVARIANCE][i, j], cov, rtol=1e-4)


def test_sigma_meets_observations_by_label():
    da = decays()
    sigma = xr.DataArray(np.random.default_rng(3).uniform(0.05, 0.2, len(T)), coords={"t": T})
    more = xr.concat([sigma, sigma.assign_coords(t=T + 100)], dim="t").isel(t=np.random.default_rng(4).permutation(2 * len(T)))
    got = ng.curvefit(da, "t", exp_decay, p0=P0, sigma=more)
    for i, j in ((0, 0), (2, 1)):
        p, cov = scipy.optimize.curve_fit(exp_decay, T, da.values[:, i, j], [3, 2], sigma.values, **EXACT)
        np.testing.assert_allclose(got[COEFFICIENTS][i, j], p, rtol=1e-6)
        np.testing.assert_allclose(got[COVARIANCE][i, j], cov, rtol=1e-4)


def test_a_covariance_of_observations_with_a_missing_one():
    da = decays()[:, 0, 0]
    da[3] = np.nan
    matrix = np.exp(-np.abs(T[:, None] - T)) * 0.01
    keep = np.isfinite(da.values)
    p, cov = scipy.optimize.curve_fit(exp_decay, T[keep], da.values[keep], [3, 2], matrix[np.ix_(keep, keep)])
    fit = ng.curvefit(da, "t", exp_decay, p0=P0, kwargs={"sigma": matrix})
    np.testing.assert_allclose(fit[COEFFICIENTS], p, rtol=1e-6)
    np.testing.assert_allclose(fit[COVARIANCE], cov, rtol=1e-4)


def test_infinite_observations_are_missing_ones():
    da = decays()
    want = ng.curvefit(da.where(da.t != 1.0), "t", exp_decay, p0=P0)
    da[2] = np.inf
    for errors in ("ignore", "raise"):
        xr.testing.assert_identical(ng.curvefit(da, "t", exp_decay, p0=P0, errors=errors), want)
    for obj in (da, xr.Dataset({"one": da, "other": 2 * da})):
        with pytest.raises(ValueError, match="must not contain infs or NaNs"):
            ng.curvefit(obj, "t", exp_decay, p0=P0, skipna=False)
    da[2, 1:] = 3.0
    fit = ng.curvefit(da, "t", exp_decay, p0=P0, skipna=False, errors="ignore")
    assert np.isnan(fit[COEFFICIENTS][0]).all()
    assert np.isfinite(fit[COEFFICIENTS][1:]).all()


def test_errors_are_raised_at_the_end_and_say_how_many_and_where():
    da = decays()
    da[1:, 2, 1] = np.nan  # one observation, two parameters
    with pytest.raises(RuntimeError, match=r"1 of 12 fits.*fewer observations than parameters: 1 \(\(x=20.0, y=b\)\)"):
        ng.curvefit(da, "t", exp_decay, p0=P0)
    fit = ng.curvefit(da, "t", exp_decay, p0=P0, errors="ignore")
    assert np.isnan(fit[COEFFICIENTS]).all("param").sum() == 1
    with pytest.raises(RuntimeError, match=r"1 of 12 fits of a\..*\n.*12 of 12 fits of b"):
        ng.curvefit(xr.Dataset({"a": da, "b": da.isel(t=[0])}), "t", exp_decay, p0=P0)
    with pytest.raises(RuntimeError, match="1 of 3 fits of a chunk"):
        ng.curvefit(da.chunk(x=1), "t", exp_decay, p0=P0).compute()
    with pytest.raises(RuntimeError, match=r"12 of 12 fits.*maxfev = 3"):
        ng.curvefit(decays(), "t", exp_decay, p0={"n0": 3.0, "tau": 20.0}, kwargs={"maxfev": 3})
    with pytest.raises(ValueError, match='"raise" or "ignore"'):
        ng.curvefit(da, "t", exp_decay, errors="no")


def test_units_are_not_lost():
    da = decays()
    fit = ng.curvefit(da.assign_coords(t=da.t.assign_attrs(units="h")), "t", lambda t, a, b, c: a * np.exp(-b * t) + c)
    assert [*fit.curvefit_units.values] == ["K", "h-1", "K"]
    ds = xr.Dataset({"q": da.assign_attrs(units="W m-2")})
    fit = ng.curvefit(ds, "t", lambda t, a, m, s: a**2 / (1 + ((t - m) / s) ** 2))
    assert "q_curvefit_units" not in fit  # the square root of a W m-2 has no name
    assert "curvefit_units" not in ng.curvefit(da.drop_attrs(), "t", exp_decay)


# ------------------------------------------------------------------------------------------------ functions of all kinds


def piecewise(x, a, b, at):
    return np.piecewise(x, [x < at], [lambda x: a * x, lambda x: a * at + b * (x - at)])


def written(x, a, b):
    out = np.zeros_like(x)
    out[x < 2] = a
    out[x >= 2] = b
    return out


@pytest.mark.parametrize(
    ("func", "truth"),
    [
        (piecewise, {"a": 1.0, "b": 2.0, "at": 2.2}),
        (lambda x, a, b: a * scipy.special.erf(x / b), {"a": 1.0, "b": 1.0}),
        (lambda x, a: a, {"a": 3.0}),
        (lambda x, a, b: np.where(x > 1, a, b * x), {"a": 1.0, "b": -1.0}),
        (lambda x, *p: np.polynomial.polynomial.polyval(x, list(p)), {"a": 0.5, "b": 2.0}),
        (lambda x, a, b: np.interp(x, [0, 2, 4.5], [a, b, 0.0]), {"a": 1.0, "b": 3.0}),
        (written, {"a": 1.0, "b": 3.0}),
        (lambda x, a, b: [float(a) * v + b for v in x], {"a": 1.0, "b": 3.0}),
    ],
)
def test_any_function_can_be_fitted(func, truth):
    noise = 0.02 * np.random.default_rng(2).normal(size=(3, len(T)))
    da = xr.DataArray(func(T, *truth.values()) + noise, dims=("x", "t"), coords={"t": T})
    options = {"p0": {n: 0.9 * v + 0.2 for n, v in truth.items()}, "param_names": [*truth]}
    assert_same(ng.curvefit(da, "t", func, **options), da.curvefit("t", func, kwargs=EXACT, **options), rtol=2e-6)


@pytest.mark.parametrize("options", [{}, {"bounds": {"tau": (0, 2.0)}}, {"reduce_dims": "x"}, {"kwargs": {"sigma": T + 1}}])
def test_a_curve_fit_is_differentiable(options):
    da = decays()[:, :, :2]
    da[3, 1, 1] = np.nan
    weight = xr.DataArray([1.0, 2.0], dims="param")
    total = lambda da: (ng.curvefit(da, "t", exp_decay, p0=P0, tol=1e-12, **options)[COEFFICIENTS] * weight).sum()
    gradient, step = ng.grad(total)(da), xr.full_like(da, 0.0)
    assert gradient.dims == da.dims
    for at in ((2, 0, 0), (7, 3, 1), (3, 1, 1)):
        moved = step.copy()
        moved[at] = 1e-5
        slope = (total(da + moved) - total(da - moved)) / 2e-5
        np.testing.assert_allclose(gradient[at], slope, rtol=1e-6, atol=1e-8)
    with pytest.raises(ng.TraceError, match=r"out\[x < 2\] = a"):
        ng.grad(lambda da: ng.curvefit(da, "t", written)[COEFFICIENTS].sum())(da)
    with pytest.raises(TypeError, match="complex"):
        ng.curvefit(da + 1j, "t", exp_decay)


@pytest.mark.parametrize("options", [{}, {"kwargs": {"sigma": T + 1, "absolute_sigma": True}}, {"reduce_dims": "x"}])
def test_covariance_and_chi2_are_differentiable(options):
    da = decays()[:, :, :2]
    da[3, 1, 1], da[1:, 2, 1] = np.nan, np.nan  # one observation is missing, and all but one
    weight = xr.DataArray([[1.0, 2.0], [-3.0, 0.5]], dims=("cov_i", "cov_j"))

    def total(da):
        fit = ng.curvefit(da, "t", exp_decay, p0=P0, tol=1e-12, errors="ignore", **options)
        return (fit[COVARIANCE] * weight).sum() + fit["curvefit_chi2"].sum()

    gradient, step = ng.grad(total)(da), xr.full_like(da, 0.0)
    for at in ((2, 0, 0), (7, 3, 1), (3, 1, 1)):
        moved = step.copy()
        moved[at] = 1e-4
        slope = (total(da + moved) - total(da - moved)) / 2e-4
        np.testing.assert_allclose(gradient[at], slope, rtol=2e-5, atol=1e-8)
    plain = ng.curvefit(da, "t", exp_decay, p0=P0, tol=1e-12, errors="ignore", **options)
    value = ng.value_and_grad(total)(da)[0]
    assert value.item() == pytest.approx(((plain[COVARIANCE] * weight).sum() + plain["curvefit_chi2"].sum()).item())


def test_a_function_that_runs_cell_by_cell_says_so_where_it_matters():
    da = decays(x=20, y=6)
    with pytest.warns(UserWarning, match="cannot be run on many cells at once"):
        ng.curvefit(da, "t", written)
    with pytest.raises(IndexError):
        ng.curvefit(da, "t", lambda x, a: a * x["wrong"])


def test_start_values_outside_of_bounds_are_moved_there_also_cell_by_cell():
    """For the functions that cannot run on all cells at once as for the others."""
    t = xr.DataArray(np.linspace(0, 4, 12), dims="t")
    y = xr.DataArray([1.0, 1.5, 3.0], dims="u") * t + 0.5
    p0, bounds = {"a": xr.DataArray([1.5, 2.5, 2.5], dims="u")}, {"a": (0, 2.0)}
    want = scipy.optimize.lsq_linear(np.stack([t, np.ones(12)], 1), y.values[2], ([0, -np.inf], [2, np.inf])).x
    for f in (lambda t, a, b: np.polyval([a, b], t), lambda t, a, b: a * t + b):
        found = ng.curvefit(y, t, f, reduce_dims="t", p0=p0, bounds=bounds).curvefit_coefficients
        np.testing.assert_allclose(found, [[1.0, 0.5], [1.5, 0.5], want], rtol=1e-3)


@pytest.mark.filterwarnings("ignore:Covariance of the parameters could not be estimated")
def test_a_minimum_next_to_where_there_is_no_model():
    """``0**a`` is 1 at 0 and infinite below."""
    rng, t = np.random.default_rng(2), np.linspace(0, 6, 31)
    top, rate, end = (rng.uniform(*ends, (12, 1)) for ends in ((2, 4), (0.5, 1.5), (0.2, 1)))
    y = xr.DataArray(top * np.exp(-rate * t) + end + 0.03 * rng.normal(size=(12, 31)), {"t": t}, ("x", "t"))
    with np.errstate(divide="ignore"):
        want, found = (f("t", np.power, param_names=["a"], kwargs=EXACT) for f in (y.curvefit, y.grad.curvefit))
    np.testing.assert_allclose(found[COEFFICIENTS], want[COEFFICIENTS], atol=1e-6)


def test_what_scipy_is_told_to_leave_out_is_left_out():
    t = np.linspace(0, 3, 10)
    y = xr.DataArray([2.0, 3.0], dims="u") * np.exp(-xr.DataArray(t, {"t": t}, ("t",)))
    y[1, 3] = np.nan
    args = "t", lambda t, a, b: a * np.exp(-b * t)
    want, found = (
        f(*args, skipna=False, p0={"a": 2.0}, kwargs={"nan_policy": "omit"}).curvefit_coefficients
        for f in (y.curvefit, y.grad.curvefit)
    )
    np.testing.assert_allclose(found, want, rtol=1e-6)


def test_the_function_runs_once_for_all_cells():
    calls = []

    def counting(t, n0, tau):
        calls.append(np.shape(t))
        return exp_decay(t, n0, tau)

    def count(x):
        calls.clear()
        ng.curvefit(decays().isel(x=np.zeros(x, int), y=[0]), "t", counting, p0=P0)
        return len(calls)

    assert count(300) == count(2)


def test_nothing_is_changed_and_empty_input_is_fine():
    da = decays()
    da[0, 0, 0] = np.inf
    copy, p0 = da.copy(deep=True), {"tau": 2 * LOWER}
    ng.curvefit(da, "t", exp_decay, p0=p0)
    xr.testing.assert_identical(da, copy)
    xr.testing.assert_identical(p0["tau"], 2 * LOWER)
    empty = ng.curvefit(da.isel(x=[]), "t", exp_decay, p0=P0)
    assert empty[COEFFICIENTS].shape == (0, 3, 2)
    assert np.isnan(ng.curvefit(da.isel(t=[]), "t", exp_decay, p0=P0)[COEFFICIENTS]).all()


@pytest.mark.parametrize(
    ("error", "match", "options"),
    [
        (ValueError, "fitting on scalar data", {"coords": xr.DataArray(T, dims="t")}),
        (KeyError, r"there is no 'q', the coordinates are \(", {"coords": "q"}),
        (TypeError, "give names or DataArrays, got int 3", {"coords": [3]}),
        (ValueError, r"reduce_dims=\['q'\]", {"reduce_dims": "q"}),
        (ValueError, "sigma has 3 numbers", {"kwargs": {"sigma": np.ones(3)}}),
        (ValueError, "sigma must be positive", {"kwargs": {"sigma": 0.0}}),
        (ValueError, r"dims \['q'\]", {"kwargs": {"sigma": xr.DataArray([1.0], dims="q")}}),
        (ValueError, r"shape \(2, 3\), but the covariance matrix of 10 .*\['t'\] has \(10, 10\)", {"kwargs": {"sigma": np.ones((2, 3))}}),
        (ValueError, "no value at 4 of the 10 labels of the data along 't'", {"sigma": xr.DataArray(np.ones(6), coords={"t": T[:6]})}),
        (ValueError, "no value at 10 of the 10 labels", {"sigma": xr.DataArray(np.ones(10), coords={"t": T + 1e-9})}),
        (TypeError, "unexpected keyword argument 'maxfun'", {"kwargs": {"maxfun": 3}}),
        (ValueError, "'lm' only works for unconstrained", {"kwargs": {"method": "lm"}, "bounds": {"tau": (0, 1)}}),
        (ValueError, "one of", {"kwargs": {"method": "lbfgs"}}),
        (ValueError, "is not one of 'linear'", {"kwargs": {"loss": "l1"}}),
        (TypeError, "full_output", {"kwargs": {"full_output": True}}),
        (ValueError, "no parameter to fit", {"func": lambda x: x}),
        (ValueError, r"broadcast together with shapes \(5,\) \(10,\)", {"func": lambda x, a: a * x[:5]}),
        (ValueError, "lower bound", {"bounds": {"tau": (2, 1)}, "p0": {"tau": 1}}),
        (ValueError, r"bounds for 'tau' must be a pair.*\(0, 1, 2\)", {"bounds": {"tau": (0, 1, 2)}}),
        (ValueError, "time_units='weeks'", {"time_units": "weeks"}),
        (ValueError, r"p0: no parameter 'n'; the parameters are \('n0', 'tau'\)", {"p0": {"n0": 1.0, "n": 2.0}}),
        (ValueError, r"bounds: no parameter 'Tau'; the parameters are \('n0', 'tau'\)", {"bounds": {"Tau": (0, 1)}}),
        (ValueError, "param_names: 'a' is named 2 times", {"param_names": ["a", "b", "a"]}),
    ],
)
def test_messages(error, match, options):
    da = decays().drop_vars("t") if "coords" in options else decays()
    with pytest.raises(error, match=match):
        ng.curvefit(da, **{"coords": "t", "func": exp_decay, **options})


def test_coordinates_with_labels_that_the_data_lack():
    z = xr.DataArray(T, coords={"t": T + 0.25}, name="z")
    with pytest.raises(ValueError, match=r"'z' has labels along 't' that the data lack.*\.drop_vars\('t'\)"):
        ng.curvefit(decays(), z, exp_decay, reduce_dims="t", p0=P0)
    got = ng.curvefit(decays(), z.drop_vars("t"), exp_decay, reduce_dims="t", p0=P0)
    np.testing.assert_allclose(got[COEFFICIENTS], ng.curvefit(decays(), "t", exp_decay, p0=P0)[COEFFICIENTS], rtol=1e-9)


def test_a_variable_without_the_dim_of_the_fit():
    ds = xr.Dataset({"a": decays(), "b": decays().mean("t")})
    with pytest.raises(ValueError, match=r"'b' has the dims .*, but the fit is over \['t'\].*\.drop_vars\('b'\)"):
        ng.curvefit(ds, "t", exp_decay, p0=P0)


def test_a_bound_of_none_is_no_bound():
    da = decays()
    want = da.curvefit("t", exp_decay, p0=P0, bounds={"tau": (-np.inf, 3.0), "n0": (2.0, np.inf)})[COEFFICIENTS]
    got = ng.curvefit(da, "t", exp_decay, p0=P0, bounds={"tau": (None, 3.0), "n0": (2.0, None)})[COEFFICIENTS]
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_keywords_with_defaults_are_no_parameters():
    da = decays()
    fit = ng.curvefit(da, "t", functools.partial(lambda t, n0, tau: n0 * np.exp(-t / tau), tau=2.0))
    assert [*fit.param.values] == ["n0"]
    shape = np.exp(-T / 2)
    want = (da * xr.DataArray(shape, dims="t")).sum("t") / (shape**2).sum()
    np.testing.assert_allclose(fit[COEFFICIENTS].sel(param="n0"), want, rtol=1e-9)


@pytest.mark.parametrize("what", ["p0", "bounds", "kwargs"])
def test_what_must_be_a_dict(what):
    with pytest.raises(TypeError, match=f"{what} must be a dict, got tuple"):
        ng.curvefit(decays(), "t", exp_decay, **{what: (0, 1)})


@pytest.mark.filterwarnings("ignore::scipy.optimize.OptimizeWarning")
def test_as_many_points_as_parameters():
    x = xr.DataArray([0.0, 1.0, 2.0], dims="x", coords={"x": [0.0, 1.0, 2.0]})
    covariance = lambda y: ng.curvefit(y, "x", lambda x, a, b, c: a + b * x + c * x**2)[COVARIANCE]
    theirs = (1 + x).curvefit("x", lambda x, a, b, c: a + b * x + c * x**2)[COVARIANCE]
    np.testing.assert_array_equal(theirs, np.inf)
    np.testing.assert_array_equal(covariance(1 + x), np.inf)
    np.testing.assert_array_equal(ng.pushforward(covariance, (1 + x,), (x,))[0], np.inf)
