"""What a result says: goodness of fit, predictions, status, text."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import namedgrad as ng
from tests.fit.problems import NAMES, START, TIME, labelled, model, named, observations, residual

OVER = ("lat", "lon")


def line(p, t, y):
    """A straight line."""
    return p["a"] + p["b"] * t - y


@pytest.mark.parametrize("sigma", [None, "time"])
def test_criteria_are_those_of_statsmodels(sigma):
    linear = pytest.importorskip("statsmodels.regression.linear_model")
    y = observations(1)
    y[[2, 7], 1, 1] = np.nan
    s = np.random.default_rng(0).uniform(0.5, 2, len(TIME)) if sigma else np.ones(len(TIME))
    given = ng.DimArray(s, ("time",)) if sigma else None
    fit = ng.least_squares(line, {"a": 0.0, "b": 0.0}, *named(y), over=OVER, sigma=given)
    for at in ((0, 0), (1, 1)):
        keep = np.isfinite(y[:, *at])
        A = np.stack([np.ones(keep.sum()), TIME[keep]], axis=1)
        want = linear.WLS(y[keep, *at], A, weights=s[keep] ** -2).fit()
        assert fit.aic.values[at] == pytest.approx(want.aic, rel=1e-9)
        assert fit.bic.values[at] == pytest.approx(want.bic, rel=1e-9)
        assert fit.r2.values[at] == pytest.approx(want.rsquared, rel=1e-9)
        assert fit.stderr["b"].values[at] == pytest.approx(want.bse[1], rel=1e-9)


def test_criteria_by_their_formulas():
    y = observations(1)
    fit = ng.least_squares(residual, START, *named(y), over=OVER)
    n, k = len(TIME), 3
    squares = np.sum(fit.residual.values**2, axis=0)
    likelihood = -0.5 * n * (np.log(2 * np.pi * squares / n) + 1)
    np.testing.assert_allclose(fit.aic, 2 * k - 2 * likelihood, rtol=1e-10)
    np.testing.assert_allclose(fit.bic, k * np.log(n) - 2 * likelihood, rtol=1e-10)
    np.testing.assert_allclose(fit.r2, 1 - squares / np.sum((y - y.mean(axis=0)) ** 2, axis=0), rtol=1e-10)


@pytest.mark.parametrize("weight", [1.0, -1.0, -3.0])
def test_predictions_are_the_model_whatever_the_sign_and_weight_of_the_residual(weight):
    da = labelled(observations())
    da[4, 1, 2] = np.nan
    fit = ng.least_squares(lambda p, t, y: weight * residual(p, t, y), START, da.time, da, over=OVER)
    got = fit.predict()
    assert got.dims == da.dims
    xr.testing.assert_allclose(got, model(fit.params, da.time).transpose(*da.dims))  # also where data are missing
    later = xr.DataArray([5.0, 6.0], dims="later", coords={"later": [5.0, 6.0]})
    other = fit.predict(later)
    assert set(other.dims) == {"later", "lat", "lon"}
    xr.testing.assert_allclose(other, model(fit.params, later).transpose(*other.dims))
    shifted = da.time + 0.1 * da.lat
    xr.testing.assert_allclose(fit.predict(shifted), model(fit.params, shifted).transpose(*da.dims))


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("over", [(), "cell"])
@pytest.mark.parametrize("rows", [0, 7])
def test_predictions_where_nothing_could_be_fitted(many, over, rows):
    t = xr.DataArray(np.arange(rows, dtype=float), dims="t")
    y = xr.DataArray(np.full((rows, 2), np.nan), dims=("t", "cell"))
    given = {"a": y, "b": y} if many and rows else y
    r = lambda p, t, y: {n: line(p, t, v) for n, v in y.items()} if isinstance(y, dict) else line(p, t, y)
    fit = ng.least_squares(r, {"a": 0.0, "b": 0.0}, t, given, over=over)
    assert (fit.status == 4).all()
    found = fit.predict()
    for one in (found.a, found.b) if isinstance(found, xr.Dataset) else (found,):
        assert one.sizes == y.sizes
        assert one.isnull().all()


def test_predictions_from_named_and_plain_arrays():
    y = observations()
    fit = ng.least_squares(residual, START, *named(y), over=OVER)
    got = fit.predict(ng.DimArray([0.0, 1.0], ("s",)))
    want = model({n: fit.params[n] for n in NAMES}, xr.DataArray([0.0, 1.0], dims="s"))
    np.testing.assert_allclose(got.transpose(*want.dims), want)
    one = ng.least_squares(residual, START, TIME, y[:, 0, 0])
    np.testing.assert_allclose(one.predict(np.array([0.0, 1.0])), got[0, 0], rtol=1e-7)
    da = labelled(y)
    labels = ng.least_squares(residual, START, da.time, da, over=OVER)
    for x in ([0.0, 1.0], np.array([0.0, 1.0])):
        along = labels.predict(x)
        np.testing.assert_array_equal(along.time, x)
        np.testing.assert_allclose(along.transpose(*OVER, "time"), got.transpose(*OVER, "s"), rtol=1e-7)
    with pytest.raises(ValueError, match=r"'time' has dims \('time',\).* 2 axes without names; give xr.DataArray"):
        labels.predict([[0.0, 1.0]])


@pytest.mark.parametrize("x", [[1.0, 3.0, 7.0], np.array([2.0, 8.0]), 3.0])
def test_predictions_of_models_that_lose_names(x):
    t = np.linspace(0.0, 10.0, 40)
    line = lambda p, t: np.where(t < p["t"], p["y"] + p["a"] * (t - p["t"]), p["y"] + p["b"] * (t - p["t"]))
    truth = {"t": 5.0, "y": 6.0, "a": 1.0, "b": -0.5}
    rng = np.random.default_rng(0)
    y = xr.DataArray(line(truth, t) + 0.1 * rng.normal(size=(3, 40)), {"t": t}, ("site", "t"))
    fit = y.grad.fit(line, "t", {"t": 4.9, "y": 5.0, "a": 0.9, "b": -0.4}, over="site")
    got = fit.predict(x)
    want = [line({n: v.item() for n, v in fit.params.isel(site=i).items()}, np.array(x)) for i in range(3)]
    np.testing.assert_allclose(got, want, rtol=1e-9)
    assert got.dims == ("site", "t")[: 1 + np.ndim(x)]
    if np.ndim(x):
        np.testing.assert_array_equal(got.t, x)


def test_predictions_need_a_residual_that_is_linear_in_the_observations():
    t, y = named(observations())
    fit = ng.least_squares(lambda p, t, y: p["a"] * t - y**2, {"a": 1.0}, t, y, over=OVER)
    with pytest.raises(ValueError, match="not linear"):
        fit.predict()
    neighbours = ng.least_squares(lambda p, t, y: p["a"] * t - y - 0.5 * y.roll(time=1), {"a": 1.0}, t, y, over=OVER)
    with pytest.raises(ValueError, match="not linear"):
        neighbours.predict()
    with pytest.raises(TypeError, match="but the last, 1, or none; got 2"):
        ng.least_squares(residual, START, t, y, over=OVER).predict(t, y)


def test_intervals_are_those_of_statsmodels():
    linear = pytest.importorskip("statsmodels.regression.linear_model")
    y = observations(1)
    y[[2, 7], 1, 1] = np.nan
    fit = ng.least_squares(line, {"a": 0.0, "b": 0.0}, *named(y), over=OVER)
    for at in ((0, 0), (1, 1)):
        keep = np.isfinite(y[:, *at])
        want = linear.OLS(y[keep, *at], np.stack([np.ones(keep.sum()), TIME[keep]], axis=1)).fit()
        for level in (0.95, 0.5):
            got = np.stack([fit.confint(level)[n].values[at] for n in ("a", "b")])
            np.testing.assert_allclose(got, want.conf_int(1 - level), rtol=1e-8)
        np.testing.assert_allclose(fit.unscaled_covariance.values[at], want.normalized_cov_params, rtol=1e-8)
        assert fit.chi2.values[at] == pytest.approx(want.ssr, rel=1e-9)
    assert [*fit.confint().bound.values] == ["lower", "upper"]
    with pytest.raises(ValueError, match="between 0 and 1"):
        fit.confint(95)


def test_fisher_information_is_what_the_slopes_say():
    y = observations(1)
    fit = ng.least_squares(residual, START, *named(y), over=OVER, sigma=0.5, fixed="offset")
    p = {n: fit.params[n].values[1, 2] for n in NAMES}
    decay = np.exp(-p["rate"] * TIME)
    J = np.stack([decay, -p["size"] * TIME * decay, 0 * TIME], axis=1) / 0.5
    np.testing.assert_allclose(
        fit.fisher().sel(lat=1, lon=2) if "lat" in fit.fisher().coords else fit.fisher()[1, 2], J.T @ J, rtol=1e-6
    )
    inverse = np.linalg.inv(J.T[:2] @ J[:, :2])
    np.testing.assert_allclose(fit.unscaled_covariance[1, 2, :2, :2], inverse, rtol=1e-6)
    np.testing.assert_allclose(fit.covariance, fit.unscaled_covariance * (fit.chi2 / fit.dof), rtol=1e-9)


def finite_differences(g, params, covariance):
    """Standard errors of ``g(params)`` by central differences in every parameter of every cell."""
    variance = 0.0
    for at in np.ndindex(*covariance.shape[:-2]):
        columns = []
        for n in NAMES:
            h, ends = 1e-6 * abs(params[n].values[at]), []
            for sign in (1, -1):
                moved = params.copy(deep=True)
                moved[n].values[at] += sign * h
                ends.append(g(moved))
            columns.append((ends[0] - ends[1]) / (2 * h))
        variance = variance + sum(
            a * b * covariance.values[(*at, i, j)] for i, a in enumerate(columns) for j, b in enumerate(columns)
        )
    return np.sqrt(variance)


S = xr.DataArray([0.0, 1.0, 2.0], dims="s")


@pytest.mark.parametrize(
    "g",
    [
        lambda p: np.log(2) / p["rate"],
        lambda p: p["rate"].mean(),
        lambda p: p["rate"] - p["rate"].mean(),
        lambda p: model(p, S),
        lambda p: p["rate"].mean("lat") * p["size"],
        lambda p: (p["rate"] * xr.DataArray(np.arange(100.0), dims="s")).mean(OVER),
        lambda p: p["size"].roll(lon=1) * p["rate"],
        lambda p: 3.0 + 0 * p["size"].sum(),
        lambda p: p["size"].diff("lat"),
        lambda p: (p["size"] * p["rate"]).isel(lat=[2, 0], lon=slice(None, None, -1)),
        lambda p: (p["size"] / p["rate"]).assign_coords(lat=[1, 2, 3]),
        lambda p: p["size"].interp(lat=[5.0, 15.0]) * S,
    ],
)
def test_errors_are_propagated(g):
    fit = ng.least_squares(residual, START, labelled(observations()).time, labelled(observations()), over=OVER)
    found = fit.propagate(g)
    xr.testing.assert_allclose(found.value, g(fit.params))
    want = finite_differences(g, fit.params, fit.covariance)
    np.testing.assert_allclose(found.stderr, want.transpose(*found.stderr.dims), rtol=1e-6, atol=1e-12)


def test_what_is_fixed_and_the_same_along_a_dim_adds_no_error():
    da = labelled(observations())
    rate = xr.DataArray([0.8, 1.0, 1.2], {"lat": da.lat}, ("lat",))
    fit = ng.least_squares(residual, START | {"rate": rate}, da.time, da, over=OVER, fixed="rate")
    assert fit.params["rate"].dims == ("lat",)
    found = fit.propagate(lambda p: p["size"] / p["rate"])
    np.testing.assert_allclose(found.stderr, fit.stderr["size"] / rate, rtol=1e-7)
    found = fit.propagate(lambda p: (p["size"] / p["rate"]).mean("lon"))
    np.testing.assert_allclose(found.stderr, np.sqrt((fit.stderr["size"] ** 2).sum("lon")) / rate / 4, rtol=1e-7)


def test_errors_of_shared_parameters_are_propagated():
    da = labelled(observations())
    start = {"size": 1.0, "rate": xr.DataArray(np.ones(3), {"lat": da.lat}, ("lat",)), "offset": 0.0}
    fit = ng.least_squares(residual, start, da.time, da, over=OVER)
    p = fit.params
    for g in (
        lambda p: p["rate"].mean(),
        lambda p: p["size"] * p["rate"] + p["offset"],
        lambda p: 1 / p["rate"],
    ):
        found = fit.propagate(g)
        spots = [(n, at) for n in NAMES for at in np.ndindex(p[n].shape)]
        slopes, h = [], 1e-6
        for n, at in spots:
            ends = []
            for sign in (1, -1):
                moved = p.copy(deep=True)
                moved[n].values[at] += sign * h
                ends.append(g(moved).values)
            slopes.append((ends[0] - ends[1]) / (2 * h))
        blocks = [[full(fit.covariance[a, b], p[a], p[b]) for b in NAMES] for a in NAMES]
        J = np.stack([s.ravel() for s in slopes], axis=1)
        want = np.sqrt(np.diag(J @ np.block(blocks) @ J.T)).reshape(found.value.shape)
        np.testing.assert_allclose(found.stderr, want, rtol=1e-5)
    plt = pytest.importorskip("matplotlib.pyplot")
    assert len(fit.plot().axes[1].lines) >= 1  # one rate per latitude
    assert fit.plot({"lat": 10, "lon": -179}).axes[0].get_title().startswith("size = ")
    plt.close("all")


def full(block, first, second):
    """A block between all numbers of two parameters; problems that have nothing in common have covariance 0."""
    wrt = block.rename({d: f"{d}_wrt" for d in second.dims if f"{d}_wrt" not in block.dims and d not in first.dims})
    out = np.zeros((first.size, second.size))
    for i, a in enumerate(np.ndindex(first.shape)):
        for j, b in enumerate(np.ndindex(second.shape)):
            left, right = dict(zip(first.dims, a, strict=True)), dict(zip(second.dims, b, strict=True))
            common = [d for d in block.dims if d in left and d in right and f"{d}_wrt" not in block.dims]
            if all(left[d] == right[d] for d in common):
                at = {**left, **{f"{d}_wrt": k for d, k in right.items()}}
                out[i, j] = wrt.isel({d: k for d, k in at.items() if d in wrt.dims}).item()
    return out


def test_propagated_errors_have_units_and_missing_cells_stay_missing():
    da = labelled(observations())
    da[:, 0, 0] = np.nan
    fit = ng.least_squares(residual, START, da.time, da, over=OVER)
    found = fit.propagate(lambda p: (np.log(2) / p["rate"]).assign_attrs(units="d", long_name="half-life"))
    assert found.stderr.attrs == {"units": "d", "long_name": "standard error of half-life"}
    np.testing.assert_array_equal(np.isnan(found.stderr), np.isnan(fit.params["rate"]))
    assert np.isnan(found.stderr).sum() == 1
    with pytest.raises(TypeError, match="must return a DataArray or Dataset"):
        fit.propagate(lambda p: p["rate"].values)


@pytest.mark.parametrize("chunks", [None, {}])
def test_errors_of_what_follows_from_no_cells(chunks):
    da = labelled(observations())[:, :0]
    fit = ng.least_squares(residual, START, da.time, da if chunks is None else da.chunk(chunks), over=OVER)
    assert np.isnan(fit.propagate(lambda p: p["rate"].mean()).compute().stderr)
    assert fit.propagate(lambda p: p["rate"] ** 2).compute().stderr.shape == (0, 4)
    assert float(fit.propagate(lambda p: p["rate"].sum()).compute().stderr) == 0.0


def test_errors_of_several_quantities():
    da = labelled(observations())
    fit = ng.least_squares(residual, START, da.time, da, over=OVER)
    several = {"half_life": lambda p: np.log(2) / p["rate"], "first": lambda p: (p["size"] + p["offset"]).mean("lat")}
    found = fit.propagate(lambda p: xr.Dataset({n: g(p) for n, g in several.items()} | {"three": 3}, attrs={"of": "y"}))
    assert found.attrs == {"of": "y"}
    assert float(found["three_stderr"]) == 0.0
    for n, g in several.items():
        xr.testing.assert_allclose(found[f"{n}_value"], g(fit.params))
        want = finite_differences(g, fit.params, fit.covariance)
        np.testing.assert_allclose(found[f"{n}_stderr"], want.transpose(*found[f"{n}_stderr"].dims), rtol=1e-6)


@pytest.mark.parametrize("rate", [1.0, xr.DataArray(np.ones(3), dims="lat")], ids=["own", "shared"])
def test_what_follows_from_missing_cells_has_no_error(rate):
    da = labelled(observations()).drop_vars(["lat", "lon"])
    da[:, 0, 0], da[:, 2] = np.nan, np.nan
    fit = ng.least_squares(residual, START | {"rate": rate}, da.time, da, over=OVER)
    gone = np.zeros((3, 4), bool)
    gone[0, 0] = gone[2] = True
    for g in (lambda p: p["size"] * p["rate"], lambda p: p["size"].mean("lon"), lambda p: p["size"].sum(skipna=False)):
        found = fit.propagate(g)
        np.testing.assert_array_equal(np.isnan(found.stderr), np.isnan(found.value))
    np.testing.assert_array_equal(np.isnan(fit.propagate(lambda p: p["size"] * p["rate"]).stderr), gone)


def test_what_follows_from_parameters_that_are_not_determined_has_an_infinite_error():
    t = xr.DataArray(np.arange(4.0), dims="t")
    y = xr.DataArray([[0.1, 0.9, 2.2, 2.9], [1.0, 3.0, np.nan, np.nan]], dims=("cell", "t"))
    fit = ng.least_squares(lambda p, t, y: p["a"] + p["b"] * t - y, {"a": 0.0, "b": 1.0}, t, y, over="cell")
    for g in (lambda p: p["a"] - p["b"], lambda p: p["a"] + p["b"], lambda p: -p["b"]):
        np.testing.assert_array_equal(np.isinf(fit.propagate(g).stderr), [False, True])
        assert np.isinf(fit.propagate(lambda p, g=g: g(p).mean()).stderr)
    twice = ng.least_squares(
        lambda p, t, y: p["a"] + (p["b"] + p["c"]) * t - y, {"a": 0.0, "b": 1.0, "c": 0.0}, t, y, over="cell",
        shared="c",
    )  # fmt: skip
    assert np.isinf(twice.propagate(lambda p: p["b"] - p["c"]).stderr).all()


def test_errors_of_cells_with_a_multiindex():
    da = labelled(observations())
    for fixed in ((), "offset"):
        found = []
        for y, over in ((da, OVER), (da.stack(cell=OVER), "cell")):
            fit = ng.least_squares(residual, START, y.time, y, over=over, fixed=fixed)
            found.append(fit.propagate(lambda p: p["size"] / p["rate"] + p["offset"]).stderr)
        xr.testing.assert_allclose(found[1].unstack("cell"), found[0], rtol=1e-6)


def test_pictures():
    plt = pytest.importorskip("matplotlib.pyplot")
    da = labelled(observations())
    da[4, 1, 2] = np.nan
    da[:, 0, 0] = np.nan
    fit = ng.least_squares(residual, START, da.time.assign_attrs(units="d"), da, over=OVER)
    maps = fit.plot()
    assert [a.get_title() for a in maps.axes[:4]] == [*NAMES, "status"]
    drawn = maps.axes[0].collections[0].get_array()
    np.testing.assert_allclose(np.ma.filled(drawn, np.nan), fit.params["size"])
    one = fit.plot({"lat": 11, "lon": -177.9}).axes[0]
    curve, points = (line.get_xydata() for line in one.lines)
    np.testing.assert_allclose(curve[:, 1], model({n: fit.params[n].values[1, 2] for n in NAMES}, TIME))
    assert len(points) == len(TIME) - 1
    assert (one.get_xlabel(), one.get_ylabel()) == ("time [d]", "y [K]")
    along = ng.least_squares(residual, START, da.time, da[:, 1], over="lon").plot()
    np.testing.assert_allclose(along.axes[0].lines[0].get_ydata(), fit.params["size"][1], rtol=1e-6)
    assert ng.least_squares(residual, START, TIME, da.values[:, 1, 1]).plot().axes[0].get_title().startswith("size = ")
    for wrong, match in (({"lat": 0, "lon": -180}, "no_data"), ({"lat": 0}, "by all of")):
        with pytest.raises(ValueError, match=match):
            fit.plot(wrong)
    plt.close("all")


def test_pictures_of_cells_with_labels_of_every_kind():
    plt = pytest.importorskip("matplotlib.pyplot")
    da = labelled(observations())
    order = [2, 0, 1]
    mixed = da.isel(lat=order)
    fit = ng.least_squares(residual, START, mixed.time, mixed, over=OVER)
    drawn = fit.plot().axes[0].collections[0]
    np.testing.assert_allclose(np.ma.filled(drawn.get_array(), np.nan), fit.params["size"].sortby("lat"))
    days = xr.date_range("2000-01-01", periods=3, calendar="360_day", use_cftime=True)
    for labels, label in ((days, "2000-01-01"), (["a", "b", "b"], "a"), (["b", "b", "a"], "b"), (["b", "a", "b"], "b")):
        along = da[:, :, 0].assign_coords(lat=labels)
        fit = ng.least_squares(residual, START, along.time, along, over="lat")
        drawn = fit.plot({"lat": label}).axes[0].lines[0].get_ydata()
        np.testing.assert_allclose(drawn, fit.predict().isel(lat=0))
    with pytest.raises(ValueError, match="no cell 'c' among the 3 along 'lat'"):
        fit.plot({"lat": "c"})
    nothing = ng.least_squares(residual, START, da.time, da[:, :0], over=OVER)
    with pytest.raises(ValueError, match="there are no cells"):
        nothing.plot()
    da[:] = np.nan
    assert ng.least_squares(residual, START, da.time, da, over=OVER, shared="size").plot().axes
    plt.close("all")


def test_the_band_is_that_of_the_mean_response():
    linear = pytest.importorskip("statsmodels.regression.linear_model")
    y = observations(1)[:, 0, 0]
    fit = ng.least_squares(line, {"a": 0.0, "b": 0.0}, TIME, y)
    plt = pytest.importorskip("matplotlib.pyplot")
    band = fit.plot().axes[0].collections[0].get_paths()[0].vertices
    want = linear.OLS(y, np.stack([np.ones_like(TIME), TIME], axis=1)).fit().get_prediction().conf_int()
    for t, (low, high) in zip(TIME[1:-1], want[1:-1], strict=True):
        at = band[np.isclose(band[:, 0], t), 1]
        np.testing.assert_allclose([at.min(), at.max()], [low, high], rtol=1e-6)
    plt.close("all")


def test_status_explains_itself():
    fit = ng.least_squares(residual, START, *named(observations()), over=OVER)
    words = fit.status.attrs["flag_meanings"].split()
    assert words[:5] == ["converged", "max_iterations", "singular", "bound", "no_data"]
    assert len(words) == len(fit.status.attrs["flag_values"])
    assert fit.status.dtype.kind == "i"
    assert (fit.status == words.index("converged")).all()


def test_text_and_html_count_the_ends():
    y = observations()
    y[:, 0, 0] = np.nan
    fit = ng.least_squares(residual, START, *named(y), over=OVER)
    assert "12 fits over (lat: 3 × lon: 4): 11 converged, 1 no_data" in repr(fit)
    for n in NAMES:
        assert n in repr(fit)
        assert n in fit._repr_html_()
    assert "11 converged" in fit._repr_html_()
    assert "1 fit: 1 converged" in repr(ng.minimize(lambda p: (p["a"] - 1) ** 2, {"a": 0.0}))


def test_a_result_can_be_pickled_and_goes_on():
    y = observations(2, 30, 40)
    fit = ng.least_squares(residual, START, *named(y), over=("lat", "lon"))
    again = pickle.loads(pickle.dumps(fit))
    xr.testing.assert_identical(again.params, fit.params)
    np.testing.assert_allclose(again.r2, fit.r2)
    np.testing.assert_allclose(again.predict(), fit.predict())


def both(p, t, data):
    """Residuals of two arrays."""
    return {n: residual(p, t, data[n]) for n in ("first", "second")}


def rows(p, t, y):
    """A curve, and a constant from a parameter with a dim."""
    return residual(p, t, y) + p["w"].sum()


@pytest.mark.parametrize("again", [copy.deepcopy, lambda fit: pickle.loads(pickle.dumps(fit))])
@pytest.mark.parametrize("kind", ["one", "several", "shared", "own", "model", "dates", "vectorized"])
def test_copies_of_every_kind_of_result_know_as_much(kind, again):
    y = labelled(observations()).drop_vars("time")
    t = xr.DataArray(TIME, dims="time", name="t")
    dates = t.copy(data=np.datetime64("2000-01-01", "ns") + (TIME * 86400e9).astype("timedelta64[ns]"))
    prior = {"w": (0.0, 1.0), "offset": (0.0, 1.0)}
    fit = {
        "one": lambda: ng.least_squares(residual, START, t, y, over=OVER),
        "several": lambda: ng.least_squares(both, START, t, {"first": y, "second": 1.1 * y}, over=OVER),
        "shared": lambda: ng.least_squares(residual, START, t, y, over=OVER, shared="offset"),
        "own": lambda: ng.least_squares(rows, START | {"w": xr.zeros_like(y.lon)}, t, y, over="lat", prior=prior),
        "model": lambda: y.grad.fit(model, t, START, over=OVER),
        "dates": lambda: y.grad.fit(model, dates, START, over=OVER, time_units="days"),
        "vectorized": lambda: ng.least_squares(residual, START, named(y.values)[0], named(y.values)[1].vectorize(*OVER)),
    }[kind]()
    matrices = lambda fit: [fit.covariance["size", "rate"]] if kind in ("shared", "own") else [fit.covariance]
    tables = lambda fit: [fit.params, fit.stderr, fit.chi2, fit.aic, fit.r2, fit.residual, fit.predict(), fit.confint()]
    early = again(fit)  # before anything is asked for
    want = [*tables(fit), *matrices(fit)]
    for copied in (early, again(fit)):
        for here, there in zip(want, [*tables(copied), *matrices(copied)], strict=True):
            xr.testing.assert_identical(*(ng.devectorize(x) for x in (here, there)))
    if kind in ("one", "model"):
        xr.testing.assert_identical(early.predict(t + 1), fit.predict(t + 1))


def test_lazy_results_can_be_pickled():
    y = labelled(observations())
    fit = ng.least_squares(residual, START, y.time, y.chunk(lat=2), over=OVER)
    again = pickle.loads(pickle.dumps(fit))
    xr.testing.assert_identical(again.params.compute(), fit.params.compute())
    assert len(again.plot({"lat": 10.0, "lon": -180.0}).axes) > 0


@pytest.mark.parametrize("x", ["2024-01-11", ["2024-01-11", "2024-03-01"], np.array(["2024-01-11", "2024-03-01"], "M8[D]"), 10.0, [10.0, 60.0]])
def test_predictions_at_dates_and_numbers_of_every_form(x):
    dates = np.datetime64("2024-01-01") + np.arange(30) * np.timedelta64(2, "D")
    y = xr.DataArray(np.exp(-0.05 * np.arange(0.0, 60.0, 2.0)), {"time": dates}, ("time",))
    fit = y.grad.fit(lambda p, t: p["size"] * np.exp(-p["rate"] * t), "time", ["size", "rate"], time_units="days")
    days = np.array([10.0, 60.0])[0 if np.ndim(x) == 0 else slice(None)]
    got = fit.predict(x)
    np.testing.assert_allclose(got, np.exp(-0.05 * days), rtol=1e-6)
    assert got.dims == ("time",)[: np.ndim(x)]
    if np.ndim(x):
        np.testing.assert_array_equal(got.time, np.asarray(x, got.time.dtype))
    with pytest.raises(ValueError, match=r"dims \('time',\).* 2 axes without names; give xr.DataArray"):
        fit.predict([[1.0, 2.0]])
    kept = fit.predict(y.time[3:5])
    assert kept.indexes["time"].equals(y.indexes["time"][3:5])


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(("dim", "what"), [("param", "covariance"), ("bound", "confint")])
def test_dims_called_like_those_of_a_result(dim, what, lazy):
    """They are never met with labels that are others, nor repeated."""
    y = labelled(observations())[:, 0].rename(lon=dim)
    fit = ng.least_squares(residual, START, y["time"], y.chunk({dim: 1}) if lazy else y, over=dim)
    assert fit.stderr["rate"].compute().notnull().all()
    with pytest.raises((ng.AxisError, AttributeError), match=f"'{what}'" if lazy and dim == "param" else "rename"):
        fit.confint() if what == "confint" else fit.covariance


@pytest.mark.parametrize("shared", [(), "b", ("a", "b")])
@pytest.mark.parametrize("over", ["site", "time"])
def test_indexes_of_every_kind_are_kept(over, shared):
    """Also a MultiIndex whose levels came in a dict, as variables that are not those of an index."""
    levels = pd.MultiIndex.from_product([["n", "s"], [0, 1, 2]], names=["half", "number"])
    several = xr.Coordinates.from_pandas_multiindex(levels, "site")
    steps = xr.Coordinates.from_xindex(xr.indexes.RangeIndex.arange(0.0, 5.0, dim="time"))
    for coords in ({**several}, several, steps):
        y = xr.DataArray(np.random.default_rng(0).normal(size=(6, 5)), dims=("site", "time"))
        y = xr.DataArray(y, coords) if isinstance(coords, dict) else y.assign_coords(coords)
        t = xr.DataArray(np.arange(float(y.size)).reshape(y.shape) ** 0.5, dims=y.dims)
        fit = ng.least_squares(line, {"a": 0.0, "b": 0.0}, t, y, over=over, shared=shared)
        for x in (fit.params, fit.stderr, fit.status, fit.cost, fit.r2, fit.predict(), fit.residual, fit.confint()):
            for name in set(y.dims) & set(x.dims) & set(y.xindexes):
                assert x.xindexes[name].equals(y.xindexes[name])


def test_pictures_of_cells_with_parameters_of_several_numbers():
    """The band of a linear model is known: Student's t times the root of the diagonal of ``X C X.T``."""
    plt = pytest.importorskip("matplotlib.pyplot")
    x = np.linspace(-1.0, 1.0, 12)
    design = np.stack([x**2, x, np.ones(12)], axis=1)
    y = np.random.default_rng(0).normal(size=(2, 12))
    basis = xr.DataArray(design[:, :2], dims=("t", "k"))
    given = xr.DataArray(y, dims=("s", "t"))
    off = lambda p, basis, y: (basis * p["c"]).sum("k") + p["rest"] - y
    start = {"c": xr.DataArray([1.0, 1.0], dims="k"), "rest": 0.0}
    fit = ng.least_squares(off, start, basis, given, over="s")
    want, (rest,) = np.linalg.lstsq(design, y[1], rcond=None)[:2]
    spread = np.einsum("ti,ij,tj->t", design, np.linalg.inv(design.T @ design) * rest / 9, design)
    panel = fit.plot({"s": 1}).axes[0]
    np.testing.assert_allclose(panel.lines[0].get_ydata(), design @ want, rtol=1e-6)
    edge = panel.collections[0].get_paths()[0].vertices
    reach = np.array([np.ptp(edge[edge[:, 0] == i, 1]) / 2 for i in range(12)])
    np.testing.assert_allclose(reach, scipy.stats.t.ppf(0.975, 9) * np.sqrt(spread), rtol=1e-6)
    assert panel.get_title() == f"rest = {want[2]:.4g}"
    plt.close("all")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sizes", [(1, 1), (1, 3), (3, 1)])
def test_maps_of_a_single_row(sizes):
    plt = pytest.importorskip("matplotlib.pyplot")
    da = labelled(observations())[:, : sizes[0], : sizes[1]]
    fit = ng.least_squares(residual, START, da.time, da, over=OVER)
    drawn = fit.plot().axes[0]
    if sizes != (1, 1):
        np.testing.assert_allclose(drawn.lines[0].get_ydata(), fit.params["size"].values.ravel())
    plt.close("all")


def test_predictions_of_plain_arrays_along_another_dim():
    """What np.where gives of DataArrays has no names, and met observations of 0 without dims."""
    t, heights = np.linspace(0.0, 3.0, 8), np.array([0.0, 1.0, 2.0])
    y = np.where(t < 1.5, [[[2.0]], [[3.0]]], 7.0) + np.array([[-0.1], [0.0], [0.1]])
    y = xr.DataArray(y, {"height": heights, "t": t}, ("cell", "height", "t"))
    step = lambda p, t: np.where(t < 1.5, p["a"], p["b"])
    fit = y[:, 1].grad.fit(step, "t", {"a": 1.0, "b": 1.0}, over="cell")
    later = xr.DataArray([1.0, 2.0], {"later": [10, 20]}, ("later",))
    want = xr.DataArray([[2.0, 7.0], [3.0, 7.0]], {"later": [10, 20]}, ("cell", "later"), "prediction")
    xr.testing.assert_allclose(fit.predict(later), want)
    both = lambda p, z, t, y: np.where((z > -1) & (t < 1.5), p["a"], p["b"]) - y
    fit = ng.least_squares(both, {"a": 1.0, "b": 1.0}, y.height, y.t, y, over="cell")
    found = fit.predict(xr.DataArray([5.0], dims="level"), later)
    xr.testing.assert_allclose(found, want.expand_dims("level", 1))
    assert fit.predict(y.height, later).dims == ("cell", "height", "later")
    assert fit.predict(xr.DataArray([5.0], dims="level"), y.t).dims == ("cell", "level", "t")


@pytest.mark.parametrize("start", [{"a": 1.0, "b": 0.0}, ["a", "b"]])
def test_a_cell_without_observations_says_so_whatever_the_model_is(start):
    """Also where that is 0 / 0 at the start."""
    t = np.linspace(0.5, 3.0, 8)
    y = xr.DataArray([2 * np.sin(0.7 * t) / 0.7, np.full(8, np.nan)], {"t": t}, ("cell", "t"))
    origin = 0.0 if isinstance(start, dict) else 1.0
    fit = y.grad.fit(lambda p, t: p["a"] * np.sin((p["b"] - origin) * t) / (p["b"] - origin), "t", start, over="cell")
    assert fit.status.values.tolist() == [5 if origin == 0.0 else 0, 4]
