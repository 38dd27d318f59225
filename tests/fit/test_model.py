"""``.grad.fit``: dates as numbers, units of parameters, start values from the data."""

from __future__ import annotations

import cftime
import numpy as np
import pytest
import scipy.optimize
import xarray as xr

import namedgrad as ng

DAYS = np.arange(50) * 10.0


def decay(p, t):
    return p["a"] * np.exp(-p["b"] * t) + p["c"]


def series(calendar=None):
    """Two decays, one measurement every ten days."""
    options = {} if calendar is None else {"calendar": calendar, "use_cftime": True}
    time = xr.date_range("2000-01-01", periods=50, freq="10D", **options)
    y = [3 * np.exp(-DAYS / 100) + 1, 2 * np.exp(-DAYS / 50)]
    return xr.DataArray(y, dims=("site", "time"), coords={"time": time}, name="T", attrs={"units": "K"})


@pytest.mark.parametrize("calendar", [None, "standard", "360_day", "noleap"])
def test_dates_are_numbers_with_a_stated_origin(calendar):
    y = series(calendar)
    fit = y.grad.fit(decay, "time", ["a", "b", "c"], over="site", time_units="days")
    np.testing.assert_allclose(fit.params["b"], [0.01, 0.02], rtol=1e-6)
    np.testing.assert_allclose(fit.params["a"], [3, 2], rtol=1e-6)
    assert fit.params.attrs["time_units"] == "days since 2000-01-01 00:00:00"
    np.testing.assert_allclose(fit.predict(y.time[5:8]).transpose("site", ...), y[:, 5:8], rtol=1e-6)
    np.testing.assert_allclose(fit.predict(y.time.values[5]), y[:, 5], rtol=1e-6)
    seconds = y.grad.fit(decay, "time", {"a": 1.0, "b": None, "c": 0.0}, over="site")
    np.testing.assert_allclose(seconds.params["b"], np.array([0.01, 0.02]) / 86400, rtol=1e-6)
    as_text = fit.predict([str(t)[:10] for t in y.time.values[5:8]])
    np.testing.assert_allclose(as_text.transpose("site", ...), y[:, 5:8], rtol=1e-6)
    if calendar == "360_day":
        late = y.grad.fit(
            decay, "time", ["a", "b", "c"], over="site", time_units="days", time_origin=cftime.Datetime360Day(2000, 1, 11)
        )
        np.testing.assert_allclose(late.params["a"], [3 * np.exp(-0.1), 2 * np.exp(-0.2)], rtol=1e-6)


def test_parameters_have_units():
    y = series()
    fit = y.grad.fit(decay, "time", ["a", "b", "c"], over="site", time_units="days")
    assert {n: v.attrs["units"] for n, v in fit.params.items()} == {"a": "K", "b": "days-1", "c": "K"}
    assert fit.stderr["b"].attrs["units"] == "days-1"
    assert fit.predict().attrs == fit.predict(["2001-01-01"]).attrs == {"units": "K"}
    assert fit.confint().attrs == fit.params.attrs
    one = y[0].grad.fit(
        lambda p, t: p["a"] / (1 + np.exp(-(t - p["m"]) / p["w"])) + p["c"] + p["s"] * t,
        "time", {"a": -3.0, "m": 100.0, "w": 30.0, "c": 0.0, "s": 0.0}, time_units="days", max_iterations=5,
    )  # fmt: skip
    units = {n: v.attrs["units"] for n, v in one.params.items()}
    assert units == {"a": "K", "m": "days since 2000-01-01 00:00:00", "w": "days", "c": "K", "s": "K days-1"}
    x = xr.DataArray(np.linspace(1, 2, 50), dims="time", attrs={"units": "m s-1"})
    square = y[0].drop_vars("time").grad.fit(lambda p, x: p["a"] * x**2, x, {"a": 1.0})
    assert square.params["a"].attrs["units"] == "K (m s-1)-2"


def test_units_that_are_hidden_in_numbers_or_given_are_left_alone():
    y = series()
    wave = y[0].grad.fit(lambda p, t: p["a"] * np.cos(2 * np.pi * t / 365.25), "time", {"a": 1.0}, time_units="days")
    assert "units" not in wave.params["a"].attrs
    start = xr.Dataset({"a": ((), 1.0, {"units": "kelvin"}), "b": ((), 0.01), "c": ((), 0.0)})
    fit = y.grad.fit(lambda p, t: p.a * np.exp(-p.b * t) + p.c, "time", start, over="site", time_units="days")
    assert fit.params["a"].attrs["units"] == "kelvin"
    assert "units" not in y.drop_attrs().grad.fit(decay, "time", ["a", "b", "c"], over="site").params["a"].attrs


def test_a_fit_through_the_accessor_is_differentiable():
    y = series() + 0.01 * np.random.default_rng(0).normal(size=(2, 50))
    start = {"a": 2.0, "b": 0.01, "c": 0.5}
    mean = lambda y: y.grad.fit(decay, "time", start, over="site", time_units="days", tol=1e-12).params["c"].mean()
    gradient = ng.grad(mean)(y)
    step = xr.zeros_like(y)
    step[1, 7] = 1e-4
    slope = (mean(y + step) - mean(y - step)) / 2e-4
    np.testing.assert_allclose(gradient[1, 7], slope, rtol=1e-5)


def test_several_variables_that_share_parameters():
    """Closed form: the data are values of the model; of one array for all, SciPy's fit to both at once."""
    t, site = np.linspace(0, 3, 20), ("site",)
    t = xr.DataArray(t, dims="t", coords={"t": t})
    want = {"a": [1.0, 2.0, 3.0], "b": [0.5, 1.0, 1.5], "c": [2.0, 4.0, 6.0], "d": [1.0, 1.0, 1.0]}

    def model(p, t):
        fall = np.exp(-p["b"] * t)
        return xr.Dataset({"u": p["a"] * fall, "v": p["c"] * fall + p["d"]})

    ds = model(xr.Dataset({name: (site, value) for name, value in want.items()}), t)
    tree = xr.DataTree.from_dict({"/one": ds[["u"]], "/two": ds[["v"]]})
    fits = [
        ds.grad.fit(model, "t", list(want), over="site"),
        ds.grad.fit(lambda p, t: dict(model(p, t)), "t", list(want), over="site"),
        tree.grad.fit(lambda p, t: xr.DataTree.from_dict({"/one": model(p, t)[["u"]], "/two": model(p, t)[["v"]]}), t, list(want), over="site"),
    ]  # fmt: skip
    for fit in fits:
        for name, value in want.items():
            np.testing.assert_allclose(fit.params[name], value, rtol=1e-6)
    xr.testing.assert_allclose(fits[0].predict().transpose("site", "t"), ds)
    with pytest.raises(ValueError, match=r"only in one: \['v'\]"):
        ds.grad.fit(lambda p, t: model(p, t)[["u"]], "t", list(want), over="site")
    one = ds.grad.fit(lambda p, t: p["a"] * np.exp(-p["b"] * t), "t", {"a": 1.0, "b": 1.0}, over="site")
    at, both = np.tile(t.values, 2), np.concatenate([ds.u[1], ds.v[1]])
    found, _ = scipy.optimize.curve_fit(lambda t, a, b: a * np.exp(-b * t), at, both)
    np.testing.assert_allclose([one.params.a[1], one.params.b[1]], found, rtol=1e-5)


@pytest.mark.parametrize("units", [{}, {"units": "K"}])
def test_start_values_outside_of_the_domain_of_a_model(units):
    x = np.linspace(1.0, 5.0, 20)
    y = xr.DataArray(np.sqrt(x + 1) * np.array([[2.0], [3.0]]), {"x": x}, ("cell", "x"), "y", units)
    start = {"a": 1.0, "m": xr.DataArray([2.0, 0.0], dims="cell")}
    with np.errstate(invalid="ignore"):
        fit = y.grad.fit(lambda p, x: p["a"] * np.sqrt(x - p["m"]), "x", start, over="cell")
    assert fit.status.values.tolist() == [5, 0]
    np.testing.assert_allclose([fit.params["a"][1], fit.params["m"][1]], [3.0, -1.0], rtol=1e-7)
    found = y.grad.fit(lambda p, x: p["a"] * np.sqrt(x - p["m"]), "x", ["a", "m"], over="cell")
    np.testing.assert_allclose(found.params["a"], [2.0, 3.0], rtol=1e-7)


def test_a_model_whose_units_are_not_seen_where_all_parameters_are_one():
    v = np.linspace(36.0, 46.0, 12)

    def energy(p, v):
        eta = (v / p["v"]) ** (1 / 3)
        inner = 1.5 * (p["slope"] - 1) * (eta - 1)
        return p["e"] + 4.5 * p["b"] * p["v"] / (p["slope"] - 1) ** 2 * (1 - (1 + inner) * np.exp(-inner))

    true = {"e": -10.8, "v": 40.0, "b": 0.5, "slope": 4.5}
    y = xr.DataArray(energy(true, v), {"volume": v}, ("volume",), "energy", {"units": "eV"})
    fit = y.grad.fit(energy, "volume", {"e": -10.0, "v": 41.0, "b": 0.6, "slope": 4.0}, over=())
    for name, value in true.items():
        assert fit.params[name].item() == pytest.approx(value, rel=1e-5)
