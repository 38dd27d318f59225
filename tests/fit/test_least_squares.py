"""``least_squares`` against SciPy, cell by cell, on every kind of array."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import xarray as xr

import namedgrad as ng
from tests.fit.problems import (
    EXACT,
    NAMES,
    START,
    TIME,
    each,
    labelled,
    model,
    named,
    observations,
    residual,
    scipy_params,
    stacked,
    vector,
)

OVER = ("lat", "lon")


def curve_fit(y, **options):
    """SciPy's covariance of one series."""
    keep = np.isfinite(y)
    return scipy.optimize.curve_fit(
        lambda t, *p: model(vector(np.array(p)), t), TIME[keep], y[keep], p0=[*START.values()], **EXACT, **options
    )


def test_parameters_cost_and_covariance_are_those_of_scipy():
    y = observations()
    fit = ng.least_squares(residual, START, *named(y), over=OVER)
    want = scipy_params(y)
    np.testing.assert_allclose(stacked(fit.params), want, rtol=1e-7)
    np.testing.assert_allclose(fit.covariance, each(y, lambda s: curve_fit(s)[1]), rtol=1e-4)
    left = model(dict(zip(NAMES, np.moveaxis(want, -1, 0), strict=True)), TIME[:, None, None]) - y
    np.testing.assert_allclose(fit.cost, 0.5 * np.sum(left**2, axis=0), rtol=1e-12)
    np.testing.assert_allclose(fit.dof, len(TIME) - 3)
    assert set(fit.status.values.ravel()) == {0}


def test_every_kind_of_array_gives_the_same_answer():
    y = observations()
    t, named_y = named(y)
    da = labelled(y)
    want = ng.least_squares(residual, START, t, named_y, over=OVER).params
    for args in ((da.time, da), (da.time, da.transpose("lon", "time", "lat")), (da.time.variable, da.variable)):
        got = ng.least_squares(residual, START, *args, over=OVER).params
        np.testing.assert_allclose(stacked(got), stacked(want), rtol=1e-9)
    hidden = ng.least_squares(residual, START, t, named_y.vectorize(*OVER)).params
    assert hidden["rate"].dims == ()
    np.testing.assert_allclose(stacked(ng.devectorize(hidden)), stacked(want), rtol=1e-9)
    one = ng.least_squares(residual, START, TIME, y[:, 1, 2])
    np.testing.assert_allclose([one.params[n].item() for n in NAMES], stacked(want)[1, 2], rtol=1e-9)


def test_results_carry_labels_and_the_function_sees_one_cell():
    da = labelled(observations())
    seen = []

    def looking(p, t, y):
        seen.append((y.dims, p["size"].dims, y.lat.dims))
        return residual(p, t, y)

    fit = ng.least_squares(looking, START, da.time, da, over=OVER)
    assert set(seen) == {(("time",), (), ())}
    for x in (fit.params, fit.stderr, fit.status, fit.covariance, fit.dof, fit.residual, fit.r2):
        xr.testing.assert_equal(x.lat, da.lat)
        xr.testing.assert_equal(x.lon, da.lon)
    assert fit.covariance.dims == (*OVER, "param", "param_wrt")
    assert list(fit.covariance.param.values) == list(NAMES)
    assert fit.residual.dims == da.dims
    xr.testing.assert_allclose(fit.stderr["rate"] ** 2, fit.covariance.sel(param="rate", param_wrt="rate", drop=True))


def test_start_values_per_cell_and_as_a_dataset_keep_their_attributes():
    y = observations()
    da = labelled(y)
    start = xr.Dataset(
        {"size": (da.max("time") - da.min("time")).assign_attrs(units="K"), "rate": 1.0, "offset": da.min("time")},
        attrs={"title": "start"},
    )

    def looking(p, t, y):
        assert isinstance(p, xr.Dataset)
        assert p.attrs == {"title": "start"}
        return p["size"] * np.exp(-p.rate * t) + p.offset - y

    fit = ng.least_squares(looking, start, da.time, da, over=OVER)
    np.testing.assert_allclose(stacked(fit.params), scipy_params(y), rtol=1e-7)
    assert fit.params["size"].attrs == {"units": "K"}


def test_a_linear_model_is_solved_exactly():
    rng = np.random.default_rng(3)
    t = np.linspace(1860.0, 2099.0, 40)
    y = rng.normal(size=(40, 6)) + 0.02 * t[:, None]
    fit = ng.least_squares(
        lambda p, t, y: p["a"] + p["b"] * t - y,
        {"a": 0.0, "b": 0.0}, ng.DimArray(t, ("t",)), ng.DimArray(y, ("t", "x")), over="x",
    )  # fmt: skip
    A = np.stack([np.ones_like(t), t], axis=1)
    want, squares, *_ = np.linalg.lstsq(A, y, rcond=None)
    np.testing.assert_allclose(fit.params["a"], want[0], rtol=1e-7)
    np.testing.assert_allclose(fit.params["b"], want[1], rtol=1e-7)
    cov = np.linalg.inv(A.T @ A)[..., None] * squares / 38
    np.testing.assert_allclose(fit.covariance.transpose("param", "param_wrt", "x"), cov, rtol=1e-6)


def test_a_start_far_away_is_no_trap():
    rng = np.random.default_rng(5)
    t = np.linspace(0, 3, 60)
    truth = [rng.uniform(low, high, (60, 1, 1)) for low, high in ((100, 500), (5, 10), (-50, 50))]
    y = np.squeeze(model(dict(zip(NAMES, truth, strict=True)), t[:, None])) + 0.1 * rng.normal(size=(60, 60))
    start = {"size": 1.0, "rate": 0.1, "offset": 0.0}
    fit = ng.least_squares(residual, start, ng.DimArray(t, ("t",)), ng.DimArray(y, ("cell", "t")), over="cell")
    assert (fit.status == 0).all()
    for i in range(0, 60, 10):
        near = [v[i, 0, 0] for v in truth]
        best = scipy.optimize.least_squares(lambda p, i=i: residual(vector(p), t, y[i]), near, jac="3-point", **EXACT)
        np.testing.assert_allclose([fit.params[n][i] for n in NAMES], best.x, rtol=1e-7)


def test_a_start_of_the_wrong_sign_is_no_trap():
    rng = np.random.default_rng(6)
    t = np.sort(rng.uniform(0.1, 4.1, (800, 12)), axis=1)
    a, b, start = rng.uniform(1, 4, 800), rng.uniform(0.3, 1.5, 800), rng.uniform(-5, 8, 800)
    y = a[:, None] * t ** b[:, None] + 0.05 * rng.normal(size=t.shape)

    def power(p, t, y):
        return p["size"] * t ** p["power"] - y

    start = {"size": 1.0, "power": ng.DimArray(start, ("cell",))}
    fit = ng.least_squares(power, start, *(ng.DimArray(v, ("cell", "t")) for v in (t, y)), over="cell")
    assert (fit.status == 0).all()
    best = [
        scipy.optimize.least_squares(lambda p, t=t, y=y: p[0] * t ** p[1] - y, near, **EXACT).x
        for t, y, *near in zip(t[::20], y[::20], a[::20], b[::20], strict=True)
    ]
    np.testing.assert_allclose(np.stack([fit.params["size"], fit.params["power"]], axis=-1)[::20], best, rtol=1e-5)


def test_a_cubic_in_years_is_ill_conditioned_and_quick():
    t = np.arange(1860.0, 2100.0)
    rng = np.random.default_rng(0)
    y = 1e-6 * (t - 1950) ** 3 + rng.normal(size=(5, 240))
    names = ("a", "b", "c", "d")
    fit = ng.least_squares(
        lambda p, t, y: p["a"] + p["b"] * t + p["c"] * t**2 + p["d"] * t**3 - y,
        dict.fromkeys(names, 0.0), ng.DimArray(t, ("t",)), ng.DimArray(y, ("cell", "t")), over="cell",
    )  # fmt: skip
    assert fit.iterations.max() <= 10
    x = (t - 1980) / 70
    want = np.polynomial.polynomial.polyval(x, np.polynomial.polynomial.polyfit(x, y.T, 3))
    np.testing.assert_allclose(fit.predict(), want, atol=1e-4)
    slope = np.polynomial.polynomial.polyfit(x, y.T, 3)[3] / 70**3
    np.testing.assert_allclose(fit.params["d"], slope, rtol=1e-5)


@pytest.mark.parametrize(("degree", "first"), [(1, 3e4), (1, 1e5), (2, 100.0), (2, 300.0), (3, 10.0)])
def test_a_polynomial_far_from_its_origin_is_quick(degree, first):
    t = np.linspace(0, 4, 30)
    y = 3 * np.exp(-0.8 * t) + 0.5 + 0.05 * np.random.default_rng(0).normal(size=(6, 30))
    names = [f"c{i}" for i in range(degree + 1)]

    def polynomial(p, t, y):
        return sum(p[n] * t**i for i, n in enumerate(names)) - y

    arrays = ng.DimArray(t + first, ("t",)), ng.DimArray(y, ("x", "t"))
    fit = ng.least_squares(polynomial, dict.fromkeys(names, 0.0), *arrays, over="x")
    assert (fit.status == 0).all()
    A = np.vander(t - 2, degree + 1)
    want, squares, *_ = np.linalg.lstsq(A, y.T, rcond=None)
    np.testing.assert_allclose(fit.params[names[-1]], want[0], rtol=1e-6)
    np.testing.assert_allclose(fit.cost, squares / 2, rtol=1e-9)
    error = np.sqrt(squares / (29 - degree) * np.linalg.inv(A.T @ A)[0, 0])
    np.testing.assert_allclose(fit.stderr[names[-1]], error, rtol=1e-5)
    assert first > 3e4 or fit.iterations.max() < 4


def test_integers_and_single_precision_are_fitted_in_double():
    t = xr.DataArray(np.arange(4), dims="t")
    y = xr.DataArray([[0, 2, 4, 6], [0, 3, 6, 9]], dims=("x", "t"))
    for kind in (int, "float32"):
        fit = ng.least_squares(lambda p, t, y: p["a"] * t - y, {"a": 1}, t, y.astype(kind), over="x")
        np.testing.assert_allclose(fit.params["a"], [2, 3], rtol=1e-7)
        np.testing.assert_allclose(fit.predict(), y, atol=1e-6)
        np.testing.assert_allclose(fit.r2, 1)


# ------------------------------------------------------------------------------------------------ cells are independent


@pytest.mark.parametrize("chunk", [1, 5, 7, 100])
def test_neither_chunks_nor_order_nor_neighbours_change_an_answer(chunk):
    y = observations()
    want = stacked(ng.least_squares(residual, START, *named(y), over=OVER).params)
    got = ng.least_squares(residual, START, *named(y), over=OVER, chunk=chunk)
    np.testing.assert_allclose(stacked(got.params), want, rtol=1e-12)
    back = ng.least_squares(residual, START, *named(y[:, ::-1, ::-1].copy()), over=("lon", "lat"), chunk=chunk)
    np.testing.assert_allclose(stacked(back.params), want[::-1, ::-1], rtol=1e-12)


def test_bad_cells_say_so_and_disturb_nobody():
    y = observations(1)
    bad = y.copy()
    bad[:, 0, 0] = np.nan
    bad[2:, 0, 1] = np.inf
    bad[:, 0, 2] = 7.0
    bad[[3, 9, 20], 0, 3] = [np.nan, np.inf, -np.inf]
    bad[:, 1, 0] = 1e300 * np.sign(bad[:, 1, 0])
    start = START | {"rate": ng.DimArray(np.where(np.arange(12).reshape(3, 4) == 5, -1e4, 1.0), OVER)}
    fit = ng.least_squares(residual, start, *named(bad), over=OVER)
    status = fit.status.values
    meaning = dict(zip(fit.status.flag_meanings.split(), fit.status.flag_values, strict=True))
    assert status[0, 0] == status[0, 1] == meaning["no_data"]
    assert status[1, 1] == meaning["not_finite"]
    assert np.isnan(stacked(fit.params)[[0, 0, 1], [0, 1, 1]]).all()
    assert np.isnan(fit.cost.values[[0, 0, 1], [0, 1, 1]]).all()
    assert fit.params["offset"][0, 2] == pytest.approx(7.0)
    np.testing.assert_allclose(stacked(fit.params)[0, 3], scipy_params(bad[:, :1, 3:])[0, 0], rtol=1e-7)
    assert fit.dof[0, 3] == len(TIME) - 3 - 3
    clean = stacked(ng.least_squares(residual, START, *named(y), over=OVER).params)
    rest = np.ones((3, 4), bool)
    rest[0], rest[1, :2] = False, False
    np.testing.assert_allclose(stacked(fit.params)[rest], clean[rest], rtol=1e-12)


def test_missing_data_are_told_from_a_model_that_fails():
    t, y = named(observations())
    masked = ng.DimArray(TIME > 1.0, ("time",))
    fit = ng.least_squares(lambda p, t, y: residual(p, t, y).where(masked), START, t, y, over=OVER)
    want = ng.least_squares(residual, START, t[{"time": TIME > 1.0}], y[{"time": TIME > 1.0}], over=OVER)
    np.testing.assert_allclose(stacked(fit.params), stacked(want.params), rtol=1e-9)
    np.testing.assert_array_equal(fit.dof, want.dof)
    failing = ng.least_squares(lambda p, t, y: ng.log(p["size"] - t) - y, {"size": 2.0}, t, y, over=OVER)
    assert (failing.status == 5).all()
    overflowing = ng.least_squares(residual, START | {"rate": -400.0}, t, y, over=OVER)
    assert (overflowing.status == 5).all()


def test_a_start_that_is_nan_is_no_missing_observation():
    t, y = named(observations())
    some = np.full((3, 4), 1.0)
    some[0] = np.nan
    for curve in (lambda p, t: p["a"] + p["b"] * t, lambda p, t: p["a"] * np.exp(-p["b"] * t)):
        for a in (some, np.full((3, 4), np.nan)):
            start = {"a": ng.DimArray(a, OVER), "b": 1.0}
            fit = ng.least_squares(lambda p, t, y, curve=curve: curve(p, t) - y, start, t, y, over=OVER)
            np.testing.assert_array_equal(fit.status == 5, np.isnan(a))
            assert not (fit.status == 4).any()


def test_edges_that_a_program_loses_do_not_count():
    da = labelled(observations())
    smooth = lambda x: x.rolling(time=5, center=True).mean()
    fit = ng.least_squares(lambda p, t, y: model(p, t) - smooth(y), START, da.time, da, over=OVER)
    np.testing.assert_allclose(stacked(fit.params), scipy_params(smooth(da).values), rtol=1e-6)
    assert (fit.dof == len(TIME) - 4 - 3).all()


@pytest.mark.parametrize("options", [{}, {"shared": "late"}, {"loss": "huber", "loss_scale": 1e3}])
def test_what_a_shift_within_the_model_loses_does_not_count(options):
    rng = np.random.default_rng(0)
    force = xr.DataArray(rng.normal(size=20), dims="time")
    y = xr.DataArray(rng.normal(size=(3, 20)), dims=("site", "time"))
    force[7], y[1, 12] = np.nan, np.inf
    now, before = force.values[1:], force.values[:-1]
    off = lambda p, f, y: p["now"] * f + p["late"] * f.shift(time=1) - y
    fit = lambda y: ng.least_squares(off, {"now": 0.0, "late": 0.0}, force, y, over="site", **options)
    found = fit(y)
    blocks, sides = [], []
    for site, one in enumerate(y.values[:, 1:]):
        some = np.isfinite(now + before + one)
        own = np.zeros((some.sum(), 6))
        own[:, site], own[:, 3 if "shared" in options else 3 + site] = now[some], before[some]
        blocks.append(own)
        sides.append(one[some])
    want = np.linalg.lstsq(np.concatenate(blocks), np.concatenate(sides))[0]
    np.testing.assert_allclose(found.params["now"], want[:3], rtol=1e-6)
    np.testing.assert_allclose(found.params["late"], want[3] if "shared" in options else want[3:], rtol=1e-6)
    assert int(found.dof.sum()) == sum(map(len, sides)) - (4 if "shared" in options else 6)
    assert found.status.isin([0]).all()
    lazy = ng.least_squares(off, {"now": 0.0, "late": 0.0}, force, y.chunk(site=1), over="site", **options)
    xr.testing.assert_allclose(lazy.params.compute(), found.params)
    gradient = ng.grad(lambda y: (fit(y).params["now"] ** 2).sum())(y)
    step = xr.zeros_like(y)
    step[0, 3] = 1e-5
    slope = ((fit(y + step).params["now"] ** 2).sum() - (fit(y - step).params["now"] ** 2).sum()) / 2e-5
    np.testing.assert_allclose(gradient[0, 3], slope, rtol=1e-5)
    assert (gradient[:, 0] == 0).all()


@pytest.mark.parametrize("curve", [
    lambda p, t: ng.log(p["a"] - t), lambda p, t: ng.sqrt(p["a"] - t), lambda p, t: ng.arcsin(t / p["a"]) + p["b"],
    lambda p, t: ng.log(p["b"] * p["a"] - t),
])  # fmt: skip
def test_observations_outside_of_the_domain_of_the_start_values_are_not_left_out(curve):
    """Other parameters would reach them: half of the data would be a fit that nobody asked for."""
    t = xr.DataArray(np.linspace(0.0, 300.0, 31), dims="time")
    y = curve({"a": 400.0, "b": 1.0}, t) * xr.DataArray([1.0, 1.0], dims="site")
    fit = ng.least_squares(lambda p, t, y: curve(p, t) - y, {"a": 100.0, "b": 1.0}, t, y, over="site")
    assert (fit.status == 5).all()
    fit = ng.least_squares(lambda p, t, y: curve(p, t) - y, {"a": 350.0, "b": 1.0}, t, y, over="site", fixed="b")
    np.testing.assert_allclose(fit.params["a"], 400.0)
    assert (fit.dof == 30).all()


@pytest.mark.parametrize("start", [{"a": 1997.5}, {"a": 1997.5, "r": 12.0}, {"a": 2003.2, "r": 11.0}])
def test_observations_outside_of_a_narrow_domain_far_from_0_are_not_left_out(start):
    x = xr.DataArray(np.linspace(1991.0, 2011.0, 21), dims="t")
    y = np.sqrt(144 - (x - 2001) ** 2) + xr.where(x > 2006, 3.0, 0.0)
    arc = lambda p, x, y: np.sqrt(p.get("r", 12.0) ** 2 - (x - p["a"]) ** 2) - y
    assert ng.least_squares(arc, start, x, y).status == 5
    floored = lambda p, x, y: arc(p, x, y) + 0 * np.maximum(p["a"], 0.0)  # which does not take complex numbers
    assert ng.least_squares(floored, start, x, y).status == 5


@pytest.mark.parametrize("curve", [
    lambda p, x: np.log(np.maximum(p["a"] - x, 0.0)), lambda p, x: np.log((p["a"] - x).where(p["a"] - x > 0)),
])  # fmt: skip
def test_a_model_that_masks_its_own_domain_leaves_nothing_out(curve):
    x = xr.DataArray(np.linspace(0.0, 5.0, 21), dims="t")
    y = np.log(6 - x)
    fit = lambda a: ng.least_squares(lambda p, x, y: curve(p, x) - y, {"a": a}, x, y)
    assert fit(1.37).status == 5
    np.testing.assert_allclose(fit(5.5).params.a, 6.0)


@pytest.mark.parametrize("limit", [(lambda a: a <= 0), (lambda a: a > 5)])
def test_what_is_left_out_is_told_within_the_bounds(limit):
    """A function may refuse parameters outside of them."""
    x = xr.DataArray(np.linspace(0.0, 5.0, 21), dims="t")
    shifted = lambda m: m.shift(t=1) + m
    y = shifted(2 * np.exp(-x / 3)).fillna(9.0)

    def off(p, x, y):
        if limit(p["a"]).any():
            raise ValueError("outside of the bounds")
        return shifted(p["a"] * np.exp(-x / p["b"])) - y

    for bounds in ({"a": (0.1, 4.0)}, None):
        fit = ng.least_squares(off, {"a": 1.0, "b": 2.0}, x, y, bounds=bounds)
        np.testing.assert_allclose([fit.params.a, fit.params.b], [2.0, 3.0])


def test_parameters_that_the_data_do_not_determine_are_reported():
    t, y = named(observations())
    fit = ng.least_squares(lambda p, t, y: (p["a"] + p["b"]) * ng.exp(-t) - y, {"a": 1.0, "b": 1.0}, t, y, over=OVER)
    assert (fit.status == 2).all()
    assert np.isinf(fit.stderr["a"]).all()
    enough = ng.least_squares(lambda p, t, y: p["a"] * ng.exp(-t) - y, {"a": 1.0}, t, y, over=OVER)
    np.testing.assert_allclose(fit.params["a"] + fit.params["b"], enough.params["a"], rtol=1e-6)


def test_iterations_run_out_per_cell():
    y = observations()
    full = ng.least_squares(residual, START, *named(y), over=OVER)
    most = int(full.iterations.median())
    fit = ng.least_squares(residual, START, *named(y), over=OVER, max_iterations=most)
    assert fit.iterations.max() == most
    assert ((fit.status == 1) == (full.iterations > most)).all()
    assert 0 < (fit.status == 1).sum() < 12


def test_calls_do_not_grow_with_the_number_of_cells():
    def calls(copies):
        count = 0

        def counting(p, t, y):
            nonlocal count
            count += 1
            return residual(p, t, y)

        same = np.repeat(observations()[:, :1, :1], copies, axis=2)
        ng.least_squares(counting, START, *named(same), over=OVER)
        return count

    assert calls(300) == calls(7)


# ------------------------------------------------------------------------------------------------ what can be asked for


def limit_vectors(limits):
    """Lower and upper bounds as SciPy takes them."""
    low, high = ([limits.get(n, (None, None))[i] for n in NAMES] for i in (0, 1))
    return np.array([-np.inf if v is None else v for v in low]), np.array([np.inf if v is None else v for v in high])


@pytest.mark.parametrize("limits", [{"rate": (0.8, 1.2)}, {"size": (None, 1.5), "offset": (0.0, None)}])
def test_bounds_are_kept_and_give_scipys_minimum(limits):
    y = observations(2)
    fit = ng.least_squares(residual, START, *named(y), over=OVER, bounds=limits)
    low, high = limit_vectors(limits)
    got = stacked(fit.params)
    assert (got >= low).all()
    assert (got <= high).all()
    np.testing.assert_allclose(got, scipy_params(y, low, high), rtol=1e-5, atol=1e-5)
    at = ((got == low) | (got == high)).any(axis=-1)
    assert at.sum() > 0
    np.testing.assert_array_equal(fit.status, np.where(at, 3, 0))


@pytest.mark.parametrize("kind", ["powers", "alike", "decays"])
@pytest.mark.parametrize("shared", [(), ("c1",)], ids=["apart", "shared"])
def test_bounds_of_columns_that_are_nearly_alike(kind, shared):
    """All columns that a full step takes across their bounds, stopped there at once, are worse than no step."""
    rng, t, n = np.random.default_rng(3), np.linspace(0, 1, 20), 4
    columns = {
        "powers": t[:, None] ** np.arange(n),
        "alike": rng.normal(size=(20, 1)) + 0.05 * rng.normal(size=(20, n)),
        "decays": np.exp(-np.outer(t, np.arange(1, n + 1))),
    }[kind]
    names = [f"c{i}" for i in range(n)]
    for _ in range(8):
        y = (columns @ rng.normal(size=(n, 12))).T + 0.3 * rng.normal(size=(12, 20))
        low, high = rng.uniform(-1, 0, n), rng.uniform(0, 1, n)
        named = {k: ng.DimArray(c, ("t",)) for k, c in zip(names, columns.T, strict=True)}
        fit = ng.least_squares(
            lambda p, y, named=named: sum(p[k] * c for k, c in named.items()) - y, dict.fromkeys(names, 0.0),
            ng.DimArray(y, ("cell", "t")), over="cell", bounds=dict(zip(names, zip(low, high, strict=True), strict=True)),
            shared=shared,
        )
        assert fit.status.isin([0, 3]).all()
        if shared:
            blocks = [np.tile(c[:, None], (12, 1)) if k in shared else np.kron(np.eye(12), c[:, None])
                      for k, c in zip(names, columns.T, strict=True)]  # fmt: skip
            ends = [np.repeat(v, [b.shape[1] for b in blocks]) for v in (low, high)]
            best = [scipy.optimize.lsq_linear(np.hstack(blocks), y.ravel(), ends, method="bvls").cost]
        else:
            best = [scipy.optimize.lsq_linear(columns, v, (low, high), method="bvls").cost for v in y]
        np.testing.assert_allclose(np.unique(fit.cost) if shared else fit.cost, best, rtol=1e-8)


@pytest.mark.parametrize("what", ["bounds", "prior"])
def test_bounds_and_priors_of_parameters_with_labels_meet_them(what):
    """Of orthogonal columns each coefficient is fitted alone."""
    rows = ng.DimArray(np.eye(2), ("row", "k")).to_xarray(coords={"k": ["u", "v"]})
    y = xr.DataArray([[1.0, 2.0], [3.0, 4.0]], dims=("cell", "row"))
    start = {"c": xr.DataArray([0.5, 0.5], {"k": ["u", "v"]}, ("k",))}
    number = xr.DataArray([0.7, 2.5], {"k": ["v", "u"]}, ("k",))
    pair = (None, number) if what == "bounds" else (number, 1e-9)
    fit = lambda pair: ng.least_squares(
        lambda p, y: (rows * p["c"]).sum("k") - y, start, y, over="cell", **{what: {"c": pair}}
    ).params["c"].transpose("cell", "k")  # fmt: skip
    want = [[1.0, 0.7], [2.5, 0.7]] if what == "bounds" else [[2.5, 0.7]] * 2
    np.testing.assert_allclose(fit(pair), want, rtol=1e-6)
    other = tuple(x.assign_coords(k=["v", "w"]) if x is number else x for x in pair)
    with pytest.raises(ng.AxisError, match=r"labels along 'k' \(2\) are not those of the start value.*reindex_like"):
        fit(other)


@pytest.mark.parametrize("chunks", [None, {"cell": 1}])
@pytest.mark.parametrize("labelled", [True, False])
def test_bounds_and_priors_of_cells_with_labels_meet_them(chunks, labelled):
    """The best number for one observation is that, or the bound, or, with a prior of the same weight, their mean."""
    y = xr.DataArray([1.0, 2.0, 3.0], {"cell": [*"abc"]}, ("cell",))
    data = y if chunks is None else y.chunk(chunks)
    start = {"c": xr.zeros_like(y) if labelled else 0.0}
    low = xr.DataArray([1.5, 2.5, 0.5], {"cell": [*"cba"]}, ("cell",))
    off = lambda p, y: p["c"] - y
    fit = lambda **options: ng.least_squares(off, start, data, over="cell", **options).params["c"]
    np.testing.assert_allclose(fit(bounds={"c": (low, None)}), [1.0, 2.5, 3.0], rtol=1e-6)
    np.testing.assert_allclose(fit(prior={"c": (low, 1.0)}), [0.75, 2.25, 2.25], rtol=1e-6)
    least = ng.minimize(lambda p, y: off(p, y) ** 2, start, data, over="cell", bounds={"c": (low, None)})
    np.testing.assert_allclose(least.params["c"], [1.0, 2.5, 3.0], rtol=1e-6)
    if not chunks:
        slope = ng.grad(lambda low: fit(bounds={"c": (low, None)}).sum())(low)
        np.testing.assert_allclose(slope, [0.0, 1.0, 0.0], atol=1e-12)
    with pytest.raises(ng.AxisError, match=r"labels along 'cell' \(2\) are not those of the .*data \(3\)"):
        fit(bounds={"c": (low[1:], None)})


@pytest.mark.parametrize("where", ["sigma", "tree", "another parameter"])
def test_bounds_meet_cells_by_labels_that_only_others_have(where):
    """The best number for one observation is that, or the bound."""
    y = xr.DataArray([1.0, 2.0, 3.0], dims="cell")
    names = {"cell": [*"abc"]}
    one = xr.DataArray(np.ones(3), names, ("cell",))
    low = xr.DataArray([1.5, 2.5, 0.5], {"cell": [*"cba"]}, ("cell",))
    data = xr.DataTree.from_dict({"/in/side": xr.Dataset({"y": y.assign_coords(names)})}) if where == "tree" else y
    start = {"c": 0.0} | ({"d": one} if where == "another parameter" else {})
    off = lambda p, y: (p["c"] - (y["in/side/y"] if where == "tree" else y)) * p.get("d", 1.0)
    fit = ng.least_squares(off, start, data, over="cell", bounds={"c": (low, None)}, fixed=[*start][1:],
                           sigma=one if where == "sigma" else None)  # fmt: skip
    np.testing.assert_allclose(fit.params["c"], [1.0, 2.5, 3.0], rtol=1e-6)


def test_bounds_of_parameters_with_a_multiindex():
    y = xr.DataArray(np.arange(4.0), dims="k").assign_coords(l=("k", [*"ppqq"]), m=("k", [0, 1, 0, 1])).set_index(k=("l", "m"))
    plain = y.reset_index("k", drop=True)
    off = lambda p, y: y - p["c"].reset_index("k", drop=True)
    fit = ng.least_squares(off, {"c": y * 0}, plain, bounds={"c": ((y + 10)[::-1], None)})
    np.testing.assert_allclose(fit.params["c"], np.arange(10.0, 14))


def test_bounds_may_differ_from_cell_to_cell():
    y = observations(2)
    top = np.linspace(0.5, 2.0, 3)
    fit = ng.least_squares(residual, START, *named(y), over=OVER, bounds={"rate": (0.1, ng.DimArray(top, ("lat",)))})
    for i, limit in enumerate(top):
        want = scipy_params(y[:, i : i + 1], *limit_vectors({"rate": (0.1, limit)}))
        np.testing.assert_allclose(stacked(fit.params)[i], want[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dims", [(), ("time",), ("time", "lat", "lon")])
def test_sigma_weighs_and_scales_the_covariance_as_scipy(dims):
    y = observations(4)
    sizes = dict(zip(("time", "lat", "lon"), y.shape, strict=True))
    sigma = np.random.default_rng(5).uniform(0.5, 2.0, tuple(sizes[d] for d in dims))
    given = float(sigma) if not dims else ng.DimArray(sigma, dims)
    fit = ng.least_squares(residual, START, *named(y), over=OVER, sigma=given)
    full = np.broadcast_to(sigma.reshape(sigma.shape + (1,) * (3 - len(dims)) if dims else ()), y.shape)
    for at in ((0, 0), (2, 1)):
        p, cov = curve_fit(y[:, *at], sigma=full[:, *at])
        np.testing.assert_allclose(stacked(fit.params)[at], p, rtol=1e-6)
        np.testing.assert_allclose(fit.covariance.values[at], cov, rtol=1e-4)
    off = model({n: fit.params[n].values for n in NAMES}, TIME[:, None, None]) - y
    np.testing.assert_allclose(fit.residual, off, atol=1e-12)
    np.testing.assert_allclose(fit.cost, 0.5 * np.sum((off / full) ** 2, axis=0), rtol=1e-9)


@pytest.mark.parametrize("missing", [np.nan, np.inf])
def test_sigma_that_is_missing_leaves_an_observation_out(missing):
    da = labelled(observations(4))
    sigma = xr.full_like(da, 0.5)
    sigma[4, 1, 2] = missing
    fit = ng.least_squares(residual, START, da.time, da, over=OVER, sigma=sigma)
    without = da.copy()
    without[4, 1, 2] = np.nan
    np.testing.assert_allclose(stacked(fit.params), scipy_params(without.values), rtol=1e-7)
    assert fit.dof[1, 2] == fit.dof[0, 0] - 1
    sigma[:, 0, 1] = missing
    found = ng.least_squares(residual, START, da.time, da, over=OVER, sigma=sigma)
    ds = ng.curvefit(da, "time", lambda t, size, rate, rest: size * np.exp(-rate * t) + rest, kwargs={"sigma": sigma})
    for status, dof in ((found.status, found.dof), (ds.curvefit_status, ds.curvefit_dof)):
        assert status[0, 1] == 4
        assert (status.values == 4).sum() == 1
        assert dof[0, 1] == 0
        assert dof[1, 2] == fit.dof[1, 2]
    assert (ng.least_squares(residual, START, da.time, da, over=OVER, sigma=missing).status == 4).all()


def test_no_observations_at_all():
    da = labelled(observations(4))
    elsewhere = da.assign_coords(time=da.time + 100)  # labels that do not meet leave nothing
    for t, y in ((da.time[:0], da[:0]), (da.time, elsewhere)):
        found = ng.least_squares(residual, START, t, y, over=OVER)
        assert (found.status == 4).all()
        assert np.isnan(found.params["rate"]).all()


@pytest.mark.parametrize("loss", ["huber", "soft_l1", "cauchy", "arctan"])
def test_robust_losses_are_those_of_scipy(loss):
    y = observations(6, 1, 3)
    y[[3, 17]] += 2.0
    fit = ng.least_squares(residual, START, *named(y), over=OVER, loss=loss, loss_scale=0.1)
    assert (fit.status == 0).all()
    want = scipy_params(y, loss=loss, f_scale=0.1)
    np.testing.assert_allclose(stacked(fit.params), want, rtol=1e-5, atol=1e-6)
    p, cov = curve_fit(y[:, 0, 0], method="trf", jac="3-point", loss=loss, f_scale=0.1)
    np.testing.assert_allclose(fit.covariance[0, 0], cov, rtol=1e-3)
    best = scipy.optimize.least_squares(
        lambda q: residual(vector(q), TIME, y[:, 0, 0]), p, loss=loss, f_scale=0.1, **EXACT
    )  # fmt: skip
    np.testing.assert_allclose(fit.cost[0, 0], best.cost, rtol=1e-9)


@pytest.mark.parametrize("loss", ["huber", "soft_l1", "cauchy", "arctan"])
def test_residuals_far_below_the_scale_of_a_robust_loss_are_squared(loss):
    y = observations(6, 1, 3)
    fit = ng.least_squares(residual, START, *named(y), over=OVER, loss=loss, loss_scale=1e9)
    assert (fit.status == 0).all()
    np.testing.assert_allclose(stacked(fit.params), scipy_params(y), rtol=1e-6)
    np.testing.assert_allclose(fit.covariance, each(y, lambda s: curve_fit(s)[1]), rtol=1e-4)


def test_a_prior_is_one_more_residual():
    y = observations(7)
    mean = np.linspace(0.5, 1.5, 3)
    fit = ng.least_squares(
        residual, START, *named(y), over=OVER, sigma=0.05, prior={"rate": (ng.DimArray(mean, ("lat",)), 0.01)}
    )
    for i, j in ((0, 0), (2, 3)):

        def rows(p, i=i, j=j):
            return np.append(residual(vector(p), TIME, y[:, i, j]) / 0.05, (p[1] - mean[i]) / 0.01)

        found = scipy.optimize.least_squares(rows, [*START.values()], jac="3-point", **EXACT)
        np.testing.assert_allclose(stacked(fit.params)[i, j], found.x, rtol=1e-6)
        np.testing.assert_allclose(fit.cost[i, j], found.cost, rtol=1e-9)
        cov = np.linalg.inv(found.jac.T @ found.jac) * 2 * found.cost / (len(TIME) + 1 - 3)
        np.testing.assert_allclose(fit.covariance[i, j], cov, rtol=1e-5)
    assert (fit.dof == len(TIME) + 1 - 3).all()


def test_fixed_parameters_stay_and_count_neither_in_dof_nor_in_errors():
    y = observations()
    held = ng.DimArray(np.linspace(0.5, 1.5, 12).reshape(3, 4), OVER)
    fit = ng.least_squares(residual, START | {"rate": held}, *named(y), over=OVER, fixed=["rate"])
    np.testing.assert_array_equal(fit.params["rate"], held.data)
    assert (fit.stderr["rate"] == 0).all()
    assert (fit.dof == len(TIME) - 2).all()
    for i, j in ((0, 0), (2, 3)):
        A = np.stack([np.exp(-held.data[i, j] * TIME), np.ones_like(TIME)], axis=1)
        want, squares, *_ = np.linalg.lstsq(A, y[:, i, j], rcond=None)
        np.testing.assert_allclose(stacked(fit.params)[i, j, [0, 2]], want, rtol=1e-7)
        cov = np.linalg.inv(A.T @ A) * squares / (len(TIME) - 2)
        np.testing.assert_allclose(fit.covariance.values[i, j][np.ix_([0, 2], [0, 2])], cov, rtol=1e-6)


def test_progress_counts_every_cell(capsys):
    y = observations()
    y[:, 0, 0] = np.nan
    ng.least_squares(residual, START, *named(y), over=OVER, progress=True, chunk=4)
    assert "12/12" in capsys.readouterr().err
    ng.least_squares(residual, START, *named(y), over=OVER)
    assert not capsys.readouterr().err


def test_arguments_are_left_as_they_are():
    y = observations()
    y[3, 1, 1] = np.nan
    da, start = labelled(y), xr.Dataset({n: ((), v) for n, v in START.items()})
    copy, first = da.copy(deep=True), start.copy(deep=True)
    ng.least_squares(residual, start, da.time, da, over=OVER, bounds={"rate": (0, 1)}, sigma=xr.ones_like(da))
    xr.testing.assert_identical(da, copy)
    xr.testing.assert_identical(start, first)


def test_dates_are_seconds_where_the_function_cannot_compute_with_them():
    y = labelled(observations())
    want = ng.least_squares(residual, START, y.time, y, over=OVER).params
    days = np.datetime64("2000-01-01") + (TIME * 86400e9).astype("timedelta64[ns]")
    dated = y.assign_coords(time=days)
    per_day = lambda p, t, y: p["size"] * np.exp(-p["rate"] / 86400 * t) + p["offset"] - y
    fit = ng.least_squares(per_day, START, dated.time, dated, over=OVER)
    np.testing.assert_allclose(stacked(fit.params), stacked(want), rtol=1e-8)
    assert fit.params.attrs == {"time_units": "seconds since 2000-01-01 00:00:00"}
    own = lambda p, t, y: p["size"] * np.exp(-p["rate"] * ((t - t[0]) / np.timedelta64(1, "D"))) + p["offset"] - y
    fit = ng.least_squares(own, START, dated.time, dated, over=OVER)
    np.testing.assert_allclose(stacked(fit.params), stacked(want), rtol=1e-8)
    assert not fit.params.attrs
    loss = lambda p, t, y: (per_day(p, t, y) ** 2).sum()
    low = ng.minimize(loss, START, dated.time, dated, over=OVER)
    np.testing.assert_allclose(stacked(low.params), stacked(want), rtol=1e-4)
    calendar = y.assign_coords(time=xr.date_range("2000-01-01", periods=30, calendar="360_day", use_cftime=True))
    fit = ng.least_squares(per_day, START, calendar.time, calendar, over=OVER)
    step = TIME[1] - TIME[0]
    np.testing.assert_allclose(fit.params["rate"] / step, want["rate"], rtol=1e-7)
    assert fit.params.attrs["time_calendar"] == "360_day"


@pytest.mark.parametrize("kind", ["dataset", "dict", "chunks"])
def test_dates_in_structures_are_seconds(kind):
    seconds = xr.DataArray(86400.0 * np.arange(6.0), dims="time", name="when")
    y = xr.DataArray(np.random.default_rng(0).normal(size=(3, 6)), dims=("site", "time"))
    want = np.polyfit(seconds, y.T, 1)
    when = np.datetime64("2000-01-01", "ns") + (seconds * 1e9).astype("timedelta64[ns]")
    data = {"when": when, "y": y, "station": xr.DataArray(np.array([*"abcdef"], object), dims="time")}
    if kind != "dict":
        data = xr.Dataset(data)
    if kind == "chunks":
        data = data.chunk(site=1)
    fit = ng.least_squares(
        lambda p, d: p["rest"] + p["slope"] * d["when"] - d["y"], {"rest": 0.0, "slope": 0.0}, data, over="site"
    )
    np.testing.assert_allclose(fit.params["slope"], want[0], rtol=1e-8)
    if kind != "chunks":
        assert fit.params.attrs == {"when_units": "seconds since 2000-01-01 00:00:00"}


@pytest.mark.parametrize("calendar", [None, "noleap"])
@pytest.mark.parametrize("form", ["dict", "Dataset", "arguments"])
def test_dates_in_all_arguments_count_from_one_date(form, calendar):
    """The time between two of them is what it was."""
    of = lambda first, step: xr.date_range(first, periods=12, freq=step, calendar=calendar or "standard", use_cftime=calendar is not None)
    begin, end = (xr.DataArray(of(*x).values, dims="t") for x in (("2000-01-01", "D"), ("2000-01-11", "2D")))
    y = 2 + 0.5 * xr.DataArray(10.0 + np.arange(12), dims="t")
    f = lambda p, begin, end: p["a"] + p["k"] * (end - begin) / 86400
    start = {"a": 1.0, "k": 1.0}
    if form == "arguments":
        fit = ng.least_squares(lambda p, b, e, y: f(p, b, e) - y, start, begin, end, y)
    else:
        both = {"begin": begin, "end": end}
        both = xr.Dataset(both) if form == "Dataset" else both
        fit = ng.least_squares(lambda p, d, y: f(p, d["begin"], d["end"]) - y, start, both, y)
    np.testing.assert_allclose([fit.params.a, fit.params.k], [2.0, 0.5], rtol=1e-9)


def test_dates_that_are_all_missing_and_other_calendars():
    of = lambda calendar: xr.DataArray(xr.date_range("2000-01-01", periods=12, calendar=calendar, use_cftime=True).values, dims="t")
    dates = xr.DataArray(np.datetime64("2000-01-11", "ns") + np.arange(12) * np.timedelta64(1, "D"), dims="t")
    y = 7 + 0.5 * xr.DataArray(np.arange(12.0), dims="t")
    line = lambda p, d, y: p["a"] + p["k"] * d / 86400 - y
    start = {"a": 1.0, "k": 1.0}
    gone = dates.where(dates < dates[0])
    fit = ng.least_squares(lambda p, gone, d, y: line(p, d, y), start, gone, dates, y)
    np.testing.assert_allclose([fit.params.a, fit.params.k], [7.0, 0.5])
    fit = ng.least_squares(line, start, of("noleap"), y)
    for other in (of("360_day"), dates):
        with pytest.raises(TypeError, match="convert_calendar"):
            fit.predict(other)


@pytest.mark.parametrize("calendar", [None, "360_day"])
@pytest.mark.parametrize("form", ["dim", "beside", "Dataset", "dict", "tree", "inherited", "node"])
def test_dates_in_coordinates_and_trees_are_seconds(form, calendar):
    """Where the function cannot compute with them; what comes out has dates again."""
    days = np.arange(12.0)
    y = xr.DataArray(np.random.default_rng(0).normal(size=(3, 12)), dims=("s", "t"))
    want = np.polyfit(days, y.values.T, 1)[0]
    dates = xr.date_range("2000-01-01", periods=12, calendar=calendar or "standard", use_cftime=calendar is not None)
    own = xr.Dataset({"y": y.assign_coords(t=dates)})
    data, when = {
        "dim": (own.y, lambda d: (d.t, d)),
        "beside": (y.assign_coords(when=("t", dates)), lambda d: (d.when, d)),
        "Dataset": (own, lambda d: (d.t, d.y)),
        "dict": ({"in": [own.y]}, lambda d: (d["in"][0].t, d["in"][0])),
        "tree": (xr.DataTree.from_dict({"/a": own}), lambda d: (d["a/y"].t, d["a/y"])),
        "inherited": (
            xr.DataTree.from_dict({"/": own.coords.to_dataset(), "/a": xr.Dataset({"y": y})}),
            lambda d: (d["a"].t, d["a/y"]),
        ),
        "node": (
            xr.DataTree.from_dict({"/x": xr.Dataset({"t": ("t", dates)}).reset_coords(), "/a": xr.Dataset({"y": y})}),
            lambda d: (d["x"].t, d["a/y"]),
        ),
    }[form]

    def line(p, d):
        t, y = when(d)
        return p["a"] + p["k"] * t / 86400 - y

    fit = ng.least_squares(line, {"a": 1.0, "k": 1.0}, data, over="s")
    np.testing.assert_allclose(fit.params["k"], want, rtol=1e-8)
    name = "when" if form == "beside" else "t"
    assert fit.params.attrs[f"{name}_units"] == "seconds since 2000-01-01 00:00:00"
    low = ng.minimize(lambda p, d: (line(p, d) ** 2).sum(), {"a": 1.0, "k": 1.0}, data, over="s")
    np.testing.assert_allclose(low.params["k"], want, rtol=1e-4)
    if form != "node":  # there they are no coordinates
        np.testing.assert_array_equal(fit.residual[name], dates)
        np.testing.assert_array_equal(fit.predict()[name], dates)


def _dated_line(calendar=None):
    """Two lines along dates, with other deviations at each, and the days since the first of them."""
    dates = xr.date_range("2000-01-01", periods=12, calendar=calendar or "standard", use_cftime=calendar is not None)
    days, rng = np.arange(12.0), np.random.default_rng(3)
    y = xr.DataArray(1 + 0.1 * days + 0.1 * rng.normal(size=(2, 12)), {"t": dates}, ("site", "t"))
    return y, xr.DataArray(rng.uniform(0.1, 0.3, 12), {"t": dates}, ("t",)), days


def _line_less(p, y):
    return p["a"] + p["k"] * y.t / 86400 - y


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("calendar", [None, "noleap"])
def test_what_meets_dates_that_are_counted_is_counted_alike(calendar, chunked):
    """sigma, start values, priors and bounds with the same coordinate."""
    y, sigma, days = _dated_line(calendar)
    own = xr.zeros_like(sigma)
    known = {"off": (own + 0.1, 2 * sigma)}
    fit = ng.least_squares(
        lambda p, y: _line_less(p, y) + p["off"], {"a": 0.0, "k": 0.0, "off": own}, y.chunk(site=1) if chunked else y,
        over="site", sigma=sigma, prior=known, bounds={"off": (own - 9, own + 9)},
    )  # fmt: skip
    spread = np.sqrt(5.0) * sigma.values  # of the observations about the line, when what is off is known to 2 sigma
    design = np.stack([np.ones(12), days], -1) / spread[:, None]
    want = np.linalg.lstsq(design, (y.values - 0.1).T / spread[:, None])[0]
    np.testing.assert_allclose([fit.params["a"], fit.params["k"]], want, rtol=1e-7)
    rest = (y.values - 0.1).T - (np.stack([np.ones(12), days], -1) @ want)
    np.testing.assert_allclose(fit.params["off"], 0.1 + 0.8 * rest.T, atol=1e-7)
    for found in (fit.params["off"], fit.stderr["off"], fit.residual, fit.predict()):
        np.testing.assert_array_equal(found.t, y.t)


@pytest.mark.parametrize("calendar", [None, "noleap"])
def test_dates_that_cannot_be_counted_are_refused_with_the_way_out(calendar):
    """cftime and seconds have no label in common, which left nothing to fit."""
    y, sigma, _ = _dated_line(calendar)
    start, line = {"a": 0.0, "k": 0.0}, _line_less
    want = ng.least_squares(line, start, y, over="site", sigma=sigma).params
    with pytest.raises(TypeError, match=r"neither with dates in coordinates, 't'.*captures.*sigma.*as an argument"):
        ng.least_squares(lambda p, y: line(p, y) / sigma, start, y, over="site")
    with pytest.raises(TypeError, match=r"captures.*sigma.*as an argument"):
        ng.minimize(lambda p, y: ((line(p, y) / sigma) ** 2).sum(), start, y, over="site")
    passed = ng.minimize(lambda p, sigma, y: ((line(p, y) / sigma) ** 2).sum(), start, sigma, y, over="site").params
    xr.testing.assert_allclose(passed, want, rtol=1e-5)
    with pytest.raises(TypeError, match=r"y\['t'\].dt.month, is to be computed before"):
        ng.least_squares(lambda p, y: line(p, y) + y.t.dt.month, start, y, over="site", sigma=sigma)
    passed = ng.least_squares(lambda p, m, y: line(p, y) + m, start, y.t.dt.month, y + 1, over="site", sigma=sigma).params
    xr.testing.assert_allclose(passed, want, rtol=1e-7)
    with pytest.raises(TypeError, match=r"dates of cells stay dates, 't'.*y\['t'\]"):
        ng.least_squares(line, start, y, over="t")
    found = ng.least_squares(lambda p, t, y: p["a"] + t / 86400 - y, {"a": 0.0}, y.t, y, over="t").params["a"]
    np.testing.assert_allclose(found, y.mean("site") - np.arange(12.0))


def test_predictions_for_coordinates_that_are_dates_have_these():
    dates = xr.date_range("2000-01-01", periods=12)
    x = xr.DataArray(np.ones(12), {"t": dates}, ("t",))
    y = xr.DataArray(2 + 0.5 * np.arange(12), dims="t")
    fit = ng.least_squares(lambda p, x, y: p["a"] * x + p["k"] * x.t / 86400 - y, {"a": 1.0, "k": 1.0}, x, y.assign_coords(t=dates))
    found = fit.predict(x.assign_coords(t=dates + np.timedelta64(12, "D")))
    np.testing.assert_allclose(found, y + 6, rtol=1e-8)
    assert found.t[0] == np.datetime64("2000-01-13")
    model = lambda p, x: p["a"] * x + p["k"] * x.t / 86400
    again = y.assign_coords(t=dates, x=x).grad.fit(model, "x", {"a": 1.0, "k": 1.0}).predict(x.assign_coords(t=found.t))
    xr.testing.assert_allclose(again.drop_vars("x", errors="ignore"), found)


def test_cells_with_dates_keep_them():
    y = xr.DataArray([[1.0, 2.0], [3.0, 4.0]], {"t": np.array(["2000-01-01", "2000-01-03"], "datetime64[ns]")}, ("t", "k"))
    fit = ng.least_squares(lambda p, d: p["a"] * d["when"] / 86400 - d["y"], {"a": 1.0},
                           xr.Dataset({"y": y, "when": y.t + np.timedelta64(1, "D")}), over="t")  # fmt: skip
    assert fit.params.t.equals(y.t)
    assert fit.residual.t.equals(y.t)


def test_dates_of_several_calendars_are_refused_where_they_would_be_counted():
    of = lambda name, calendar: xr.DataArray(
        xr.date_range("2000-01-01", periods=12, calendar=calendar, use_cftime=True).values, dims="t", name=name
    )
    y, start = xr.DataArray(np.arange(12.0), dims="t"), {"a": 1.0}
    dates = xr.DataArray(np.datetime64("2000-01-11", "ns") + np.arange(12) * np.timedelta64(1, "D"), dims="t", name="u")
    for first in (of("u", "noleap"), dates):
        with pytest.raises(TypeError, match=r"'360_day'.*convert_calendar"):
            ng.least_squares(lambda p, u, v, y: p["a"] * (u - v) - y, start, first, of("v", "360_day"), y)
    ours = lambda p, u, v, y: p["a"] * (u.dt.dayofyear + v.dt.dayofyear) - 4 * (y + 1)
    fit = ng.least_squares(ours, start, of("u", "noleap"), of("v", "360_day"), y)
    assert fit.params["a"].item() == pytest.approx(2.0)


def test_predictions_for_dates_count_from_where_the_fit_does():
    seconds = xr.DataArray(86400.0 * np.arange(6.0), dims="time")
    dates = np.datetime64("2000-01-01", "ns") + (seconds * 1e9).astype("timedelta64[ns]")
    y = 2.0 + 3e-5 * seconds
    line = lambda p, t, y: p["rest"] + p["slope"] * t - y
    fit = ng.least_squares(line, {"rest": 0.0, "slope": 0.0}, dates, y)
    later = (dates + np.timedelta64(10, "D")).rename("later")
    np.testing.assert_allclose(fit.predict(later), y + 3e-5 * 864000.0, rtol=1e-8)
    np.testing.assert_allclose(fit.predict(seconds), y, rtol=1e-8)
    with pytest.raises(TypeError, match="the arguments of the fit but the last, 1"):
        fit.predict(dates, y)
    with pytest.raises(TypeError, match="the arguments of the fit but the last, 1"):
        y.grad.fit(lambda p, t: p["slope"] * t, dates, {"slope": 1.0}).predict(dates, dates)


@pytest.mark.parametrize("options", [{}, {"fixed": ["rate"]}], ids=["free", "fixed"])
@pytest.mark.parametrize("dims", [("lat",), ("lat", "lon"), ("lon", "lat")], ids=str)
def test_start_values_with_vectorized_axes(dims, options):
    da = labelled(observations())
    one = xr.DataArray(np.linspace(0.5, 0.9, 3), dims="lat") * xr.DataArray([1.0, 1.1, 1.2, 1.3], dims="lon")
    rate = one.isel({d: 0 for d in one.dims if d not in dims}).transpose(*dims)
    fit = lambda y, rate: ng.least_squares(residual, START | {"rate": rate}, y.time, y, over="lon", **options).params
    found = ng.vmap(fit, "lat")(da, rate)
    for i in range(3):
        want = fit(da.isel(lat=i, drop=True), rate.isel(lat=i))
        xr.testing.assert_allclose(found.isel(lat=i, drop=True), want, rtol=1e-6)


def test_vectorized_axes_stay_hidden_in_results():
    da = labelled(observations())
    want = ng.least_squares(residual, START, da.time, da, over=OVER)
    mean = ng.vmap(lambda y: ng.least_squares(residual, START, y.time, y, over="lon").params["rate"].mean(), "lat")(da)
    xr.testing.assert_allclose(mean, want.params["rate"].mean("lon"), rtol=1e-9)
    error = ng.vmap(lambda y: ng.least_squares(residual, START, y.time, y, over="lon").stderr["rate"].max(), "lat")(da)
    np.testing.assert_allclose(error, want.stderr["rate"].max("lon"), rtol=1e-6)
    t, y = named(observations())
    whole = ng.least_squares(residual, START, t, y.vectorize(*OVER))
    assert {"params", "status", "stderr"} <= {*dir(whole)}
    assert whole.params is whole.params
    cost = lambda y: ng.least_squares(residual, START, t, y, over="lon").cost.sum()
    np.testing.assert_allclose(ng.vmap(cost, "lat")(y), want.cost.sum("lon"), rtol=1e-9)
    low = lambda y: ng.minimize(lambda p, y: ((p["a"] - y) ** 2).sum(), {"a": 0.0}, y, over="lon").params["a"].max()
    np.testing.assert_allclose(ng.vmap(low, "lat")(da), da.mean("time").max("lon"), rtol=1e-6)
