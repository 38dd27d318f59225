"""Derivatives through a fit against finite differences of the whole fit."""

from __future__ import annotations

import dask
import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.fit.problems import START, TIME, labelled, model, named, observations, residual

OVER = ("lat", "lon")
Y = labelled(observations())
WEIGHTS = xr.DataArray(np.random.default_rng(8).normal(size=(3, 4)), dims=OVER)
SIGMA = xr.DataArray(np.random.default_rng(9).uniform(0.5, 2, 30), dims="time")


def mixed(params):
    """A number that depends on all parameters of all cells."""
    a, b, c = (params[n] for n in ("size", "rate", "offset"))
    return (WEIGHTS * (a * b + c**2)).sum()


def fit(y=Y, start=START, time=Y.time, **options):
    """One fit, to rounding."""
    return ng.least_squares(residual, start, time, y, over=OVER, tol=1e-12, **options)


def check(f, x, rtol=2e-5, step=1e-5, eager=None):
    """Both modes against central differences along random directions.

    Of lazy results these are differences of the numbers that the same call gives in memory, by ``eager`` if ``x`` is.
    """
    rng, numbers = np.random.default_rng(1), eager or f
    gradient, here, at = dask.compute(ng.grad(f)(x), f(x), x)
    if at is not x or eager is not None:
        np.testing.assert_allclose(float(here), float(numbers(at)), rtol=1e-9)
    for _ in range(2):
        d = xr.zeros_like(x) + rng.normal(size=x.shape) if isinstance(x, xr.DataArray) else rng.normal(size=np.shape(x))
        (by,) = dask.compute(step * d)
        want = (float(numbers(at + by)) - float(numbers(at - by))) / (2 * step)
        assert want != 0
        np.testing.assert_allclose(float(np.nansum(np.asarray(gradient * d))), want, rtol=rtol)
        tangent = float(d) if isinstance(x, float) else d
        value, forward = dask.compute(*ng.pushforward(f, (x,), (tangent,)))
        np.testing.assert_allclose(float(forward), want, rtol=rtol)
        np.testing.assert_allclose(float(value), here, rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"sigma": SIGMA}, {"prior": {"rate": (0.7, 0.3)}, "sigma": 0.1}, {"fixed": ["rate"]},
        {"loss": "soft_l1", "loss_scale": 0.05}, {"loss": "cauchy", "loss_scale": 0.1},
        {"bounds": {"rate": (0.9, 1.2), "size": (None, 2.0)}}, {"chunk": 5},
    ],
)  # fmt: skip
def test_through_the_observations(options):
    check(lambda y: mixed(fit(y, **options).params), Y)


def test_through_everything_else_that_is_given():
    check(lambda t: mixed(fit(time=t).params), xr.DataArray(TIME, dims="time"))
    check(lambda s: mixed(fit(sigma=s).params), SIGMA)
    check(lambda m: mixed(fit(sigma=0.05, prior={"rate": (m, 0.02)}).params), xr.DataArray([0.5, 1.0, 2.0], dims="lat"))
    check(lambda s: mixed(fit(sigma=0.05, prior={"rate": (1.0, s)}).params), 0.02)
    held = xr.zeros_like(Y[0]) + np.linspace(0.5, 1.5, 12).reshape(3, 4)
    check(lambda r: mixed(fit(start=START | {"rate": r}, fixed=["rate"]).params), held)
    check(lambda top: mixed(fit(bounds={"rate": (0.1, top)}).params), xr.DataArray([0.6, 0.8, 0.9], dims="lat"))
    check(lambda low: mixed(fit(bounds={"rate": (low, None)}).params), 1.3)


def test_the_start_has_no_influence():
    start = {n: xr.zeros_like(Y[0]) + v for n, v in START.items()}
    g = ng.grad(lambda s: mixed(fit(start=s).params))(start)
    assert all((v == 0).all() for v in g.values())


def test_through_arrays_that_the_residual_captures():
    bent = xr.DataArray(np.linspace(0.9, 1.1, 30), dims="time")

    def captured(w):
        r = lambda p, t, y: w * model(p, t) - y
        return mixed(ng.least_squares(r, START, Y.time, Y, over=OVER, tol=1e-12).params)

    check(captured, bent)
    check(captured, 1.1)

    def both(w):
        r = lambda p, t, y: w * model(p, t) - y
        return mixed(ng.least_squares(r, START, Y.time, Y * w, over=OVER, tol=1e-12).params)

    check(both, bent)


def test_every_kind_of_array():
    t, y = named(observations())
    da = ng.grad(lambda y: fit(y).params["rate"].sum())(Y)
    got = ng.grad(lambda y: ng.least_squares(residual, START, t, y, over=OVER).params["rate"].sum())(y)
    assert isinstance(got, ng.DimArray)
    np.testing.assert_allclose(got.data, da.values, rtol=1e-4, atol=1e-8)
    one = ng.grad(lambda y: ng.least_squares(residual, START, TIME, y).params["rate"])(y.data[:, 1, 2])
    np.testing.assert_allclose(one, da.values[:, 1, 2], rtol=1e-4, atol=1e-8)
    ds = ng.grad(
        lambda d: (
            ng.least_squares(lambda p, t, d: model(p, t) - d["y"], START, Y.time, d, over=OVER).params["rate"].sum()
        )
    )(xr.Dataset({"y": Y}))
    np.testing.assert_allclose(ds["y"], da, rtol=1e-4, atol=1e-8)


def test_per_cell_gradients_in_vectorized_axes():
    def rate(y):
        return ng.least_squares(residual, START, y.time, y, over="lon").params["rate"].mean()

    got = ng.grad(rate, over="lat")(Y)
    assert got.dims == Y.dims
    for i in range(3):
        np.testing.assert_allclose(got.isel(lat=i), ng.grad(rate)(Y.isel(lat=i)), rtol=1e-6, atol=1e-10)
    value, _ = ng.value_and_grad(rate, over="lat")(Y)
    np.testing.assert_allclose(value, fit().params["rate"].mean("lon"), rtol=1e-6)
    jac = ng.jacobian(lambda y: ng.least_squares(residual, START, y.time, y).params["rate"], over=OVER)(Y)
    assert set(jac.dims) == {"lat", "lon", "time_wrt"}
    np.testing.assert_allclose(
        jac.transpose("time_wrt", "lat", "lon"),
        ng.grad(lambda y: fit(y).params["rate"].sum())(Y),
        rtol=1e-6,
        atol=1e-10,
    )


def test_cells_with_a_multiindex():
    def both(y, over):
        rates = ng.least_squares(residual, START, y.time, y, over=over, tol=1e-12).params["rate"]
        curve = lambda t, size, rate, offset: size * np.exp(-rate * t) + offset
        return (rates**2).sum() + ng.curvefit(y, "time", curve, p0=START).curvefit_coefficients.sel(param="rate").sum()

    stacked = Y.stack(cell=OVER)
    got = ng.grad(lambda y: both(y, "cell"))(stacked)
    assert got.indexes["cell"].equals(stacked.indexes["cell"])
    want = ng.grad(lambda y: both(y, OVER))(Y)
    np.testing.assert_allclose(got.unstack("cell"), want.transpose("time", *OVER), rtol=1e-6, atol=1e-10)


def test_the_cost_is_differentiated_too():
    check(lambda y: (WEIGHTS * fit(y).cost).sum(), Y)
    check(lambda low: (WEIGHTS * fit(bounds={"rate": (low, None)}).cost).sum(), 1.3)
    check(lambda s: (WEIGHTS * fit(sigma=s, prior={"rate": (0.5, 0.1)}).cost).sum(), SIGMA)


def test_bad_cells_have_no_influence_and_disturb_nobody():
    y = Y.copy()
    y[:, 0, 0] = np.nan
    y[[3, 9], 1, 1] = [np.nan, np.inf]
    g = ng.grad(lambda y: fit(y).params["rate"].sum())(y)
    clean = ng.grad(lambda y: fit(y).params["rate"].sum())(Y)
    assert np.isfinite(g).all()
    assert (g[:, 0, 0] == 0).all()
    assert (g[[3, 9], 1, 1] == 0).all()
    rest = np.ones((3, 4), bool)
    rest[[0, 1], [0, 1]] = False
    np.testing.assert_allclose(g.values[:, rest], clean.values[:, rest], rtol=1e-5, atol=1e-10)
    params, _ = ng.pullback(lambda y: fit(y).params["rate"], y)
    assert np.isnan(params[0, 0])


def test_parameters_that_are_not_determined_move_least():
    r = lambda p, t, y: (p["a"] + p["b"]) * np.exp(-t) - y
    g = ng.grad(lambda y: ng.least_squares(r, {"a": 1.0, "b": 1.0}, Y.time, y, over=OVER).params["a"].sum())(Y)
    e = np.exp(-TIME)[:, None, None]
    np.testing.assert_allclose(g, np.broadcast_to(0.5 * e / np.sum(e**2), g.shape), rtol=1e-6)


@pytest.mark.parametrize("method", ["lbfgs", "newton-cg"])
def test_minimize(method):
    def solve(y, **options):
        loss = lambda p, t, y: ((model(p, t) - y) ** 2).sum() + 0.1 * p["rate"] ** 4
        return ng.minimize(loss, START, Y.time, y, over=OVER, method=method, tol=1e-10, **options)

    check(lambda y: mixed(solve(y).params), Y, rtol=2e-4)
    check(lambda y: mixed(solve(y, bounds={"rate": (0.9, 1.1)}).params), Y, rtol=2e-4)
    check(
        lambda top: mixed(solve(Y, bounds={"rate": (0.1, top)}).params), xr.DataArray([0.6, 0.8, 0.9], dims="lat"), 2e-4
    )
    check(lambda y: (WEIGHTS * solve(y).cost).sum(), Y, rtol=2e-4)


def test_minimize_over_parameters_with_dims():
    rng = np.random.default_rng(2)
    A = ng.DimArray(rng.normal(size=(8, 4)), ("row", "k"))
    b = ng.DimArray(rng.normal(size=(8, 3)), ("row", "cell"))

    def best(b):
        loss = lambda p, b: ((ng.dot(A, p["v"], dim="k") - b) ** 2).sum() + 0.3 * (p["v"] ** 4).sum()
        return ng.minimize(loss, {"v": ng.DimArray(np.full(4, 0.1), ("k",))}, b, over="cell", tol=1e-11).params["v"]

    w = rng.normal(size=(3, 4))
    g = ng.grad(lambda b: (best(b) * xr.DataArray(w, dims=("cell", "k"))).sum())(b)
    d = rng.normal(size=(8, 3))
    at = lambda h: float(np.sum(best(ng.DimArray(b.data + h * d, b.dims)).values * w))
    assert float((g.data * d).sum()) == pytest.approx((at(1e-5) - at(-1e-5)) / 2e-5, rel=1e-4)


def test_what_is_not_differentiated_says_so():
    with pytest.raises(ng.TraceError, match="'stderr' of a fit is not differentiated"):
        ng.grad(lambda y: fit(y).stderr["rate"].mean())(Y)
    with pytest.raises(ng.TraceError, match="can be differentiated once"):
        ng.hessian(lambda s: mixed(fit(sigma=s).params))(SIGMA[:2])
    with pytest.raises(ng.TraceError, match="can be differentiated once"):
        ng.grad(lambda a: ng.grad(lambda y: mixed(fit(y * a).params))(Y).sum())(2.0)
    assert (ng.grad(lambda s: s * fit().params["rate"].mean())(2.0)) == pytest.approx(
        float(fit().params["rate"].mean())
    )


def test_a_value_that_is_held_beyond_a_bound():
    start = START | {"rate": 0.2}
    held = lambda start=start, **options: mixed(fit(start=start, fixed=["rate"], **options).params)
    check(lambda y: mixed(fit(y, start=start, fixed=["rate"], bounds={"rate": (0.4, None)}).params), Y)
    check(lambda low: held(bounds={"rate": (low, 3.0)}), 0.4)
    check(lambda high: held(START | {"rate": 2.0}, bounds={"rate": (None, high)}), xr.DataArray([0.5, 1.0, 9.0], dims="lat"))
    assert ng.grad(lambda rate: held(START | {"rate": rate}, bounds={"rate": (0.4, None)}))(0.2) == 0


def test_a_shared_parameter_with_dims_of_its_own_and_a_prior():
    t, band = xr.DataArray(np.linspace(0, 2, 12), dims="time"), xr.DataArray([0.5, 1.0, 2.0], dims="band")
    noise = xr.DataArray(0.05 * np.random.default_rng(4).normal(size=(12, 3, 2)), dims=("time", "band", "cell"))
    y = 2.0 * np.exp(-band * t) + noise
    off = lambda p, t, y: p["size"] * np.exp(-p["rate"] * t) - y
    options = {"over": "cell", "sigma": 0.05, "shared": "rate", "tol": 1e-12}

    def total(m, s=0.05):
        start = {"size": 1.5, "rate": 0 * band + 1.0}
        found = ng.least_squares(off, start, t, y, prior={"rate": (m, s)}, **options)
        return (found.params["size"] ** 2).sum() + (band * found.params["rate"]).sum()

    check(total, band)
    check(lambda s: total(band, s), 0.05)


def test_parameters_that_cells_share():
    rate = xr.ones_like(Y.lat)
    sigma = xr.ones_like(Y) * np.random.default_rng(3).uniform(0.5, 2, Y.shape)
    shared = lambda y=Y, **options: fit(y, start=START | {"rate": rate}, **options)

    def total(found):
        a, b, c = (found.params[n] for n in ("size", "rate", "offset"))
        return (
            (WEIGHTS * (a * b + c**2)).sum()
            + 3 * (b**2).sum()
            + (found.cost * xr.DataArray([1.0, 2.0, -1.0], dims="lat")).sum()
        )

    check(lambda y: total(shared(y)), Y)
    check(lambda s: total(shared(sigma=s, prior={"rate": (0.5, 0.1), "size": (2.0, 1.0)})), sigma)
    check(lambda m: total(shared(sigma=0.05, prior={"rate": (m, 0.02)})), xr.DataArray([0.5, 1.0, 2.0], dims="lat"))
    check(lambda y: total(shared(y, bounds={"rate": (1.0, None), "size": (None, 2.0)})), Y)
    check(lambda low: total(shared(bounds={"rate": (low, None)})), 1.4)
    y = Y.copy()
    y[:, 1, 0] = np.nan
    g = ng.grad(lambda y: (shared(y).params["rate"] ** 2).sum())(y)
    assert (g[:, 1, 0] == 0).all()
    alone = lambda y: (
        ng.least_squares(residual, START, y.time, y, over="lon", shared="rate", tol=1e-12).params["rate"] ** 2
    )
    want = ng.grad(alone)(y.isel(lat=1, lon=[1, 2, 3]))
    np.testing.assert_allclose(g.isel(lat=1, lon=[1, 2, 3]), want, rtol=1e-6, atol=1e-10)
    each = ng.grad(alone, over="lat")(Y)
    np.testing.assert_allclose(each, ng.grad(lambda y: (shared(y).params["rate"] ** 2).sum())(Y), rtol=1e-5, atol=1e-9)
    jac = ng.jacobian(lambda y: shared(y).params["rate"])(Y)
    assert jac.dims[0] == "lat"
    np.testing.assert_allclose(jac[0, :, 1:], 0, atol=1e-12)


def test_shared_parameters_of_nothing_are_nan_and_do_not_move():
    line = lambda p, t, y: p["level"] + p["slope"] * t - y
    t = xr.DataArray(np.arange(5.0), dims="time")
    y = xr.DataArray(np.random.default_rng(0).normal(size=(2, 3, 5)), dims=("site", "year", "time"))
    y[0] = np.nan
    slopes = {"level": 0.0, "slope": xr.DataArray([1.0, 1.0], dims="site")}

    def both(y, start=slopes):
        found = ng.least_squares(line, start, t, y, over=("site", "year"))
        return xr.Dataset({"slope": found.params["slope"], "cost": found.cost})

    value, tangent = ng.pushforward(both, (y,), (y.fillna(1.0),))
    xr.testing.assert_allclose(value, both(y), rtol=1e-13)  # the cost is summed in another order
    assert np.isnan(value.slope[0])
    assert tangent.slope[0] == 0
    change = (both(y * (1 + 1e-6)) - both(y)) / 1e-6
    np.testing.assert_allclose(tangent.slope[1], change.slope[1], rtol=1e-5)
    everywhere = lambda y: ng.least_squares(line, {"level": 0.0, "slope": 1.0}, t, y, over="site", shared="slope")
    nothing = y.isel(site=slice(0, 0), year=0)
    value, gradient = ng.value_and_grad(lambda y: everywhere(y).params["slope"])(nothing)
    assert np.isnan(value)
    assert gradient.shape == nothing.shape


def test_derivatives_with_respect_to_sigma_where_dates_in_its_coordinate_count():
    rng, days = np.random.default_rng(0), np.arange(8.0)
    dates = {"t": xr.date_range("2000-01-01", periods=8)}
    y, sigma = xr.DataArray(rng.normal(size=8), dates, ("t",)), xr.DataArray(rng.uniform(1, 2, 8), dates, ("t",))

    def slope(sigma):
        line = lambda p, y: p["a"] + p["k"] * y.t / 86400 - y
        return ng.least_squares(line, {"a": 0.0, "k": 0.0}, y, sigma=sigma).params["k"]

    def want(sigma):
        return np.polyfit(days, y.values, 1, w=1 / sigma)[0]

    differences = [(want(sigma.values + d) - want(sigma.values - d)) / 2e-5 for d in 1e-5 * np.eye(8)]
    np.testing.assert_allclose(ng.grad(slope)(sigma), differences, atol=1e-8)
    np.testing.assert_allclose(ng.pushforward(slope, (sigma,), (sigma,))[1], np.dot(differences, sigma), atol=1e-8)


@pytest.mark.parametrize("form", ["argument", "coordinate", "Dataset"])
def test_derivatives_of_fits_in_which_dates_count(form):
    """The slope of a line is linear in the observations; a variable of a Dataset may be no number."""
    days = np.arange(8.0)
    y = xr.DataArray(np.random.default_rng(0).normal(size=(3, 8)), dims=("s", "t"))
    t = xr.DataArray(np.datetime64("2000-01-01", "ns") + np.arange(8) * np.timedelta64(1, "D"), dims="t")
    data, line = {
        "argument": (y, lambda p, y, t: p["a"] + p["k"] * t / 86400 - y),
        "coordinate": (y.assign_coords(t=t), lambda p, y, _: p["a"] + p["k"] * y.t / 86400 - y),
        "Dataset": (
            xr.Dataset({"y": y, "when": t, "on": ("t", np.arange(8))}),
            lambda p, d, _: (p["a"] + p["k"] * d.when / 86400 - d.y).where(d.on < 6),
        ),
    }[form]
    f = lambda d: ng.least_squares(line, {"a": 0.0, "k": 0.0}, d, t, over="s").params["k"].sum()
    low = lambda d: ng.minimize(
        lambda p, d, t: (line(p, d, t) ** 2).sum(), {"a": 0.0, "k": 0.0}, d, t, over="s"
    ).params["k"].sum()  # fmt: skip
    count = 6 if form == "Dataset" else 8
    want = np.zeros(8)
    want[:count] = np.polyfit(days[:count], np.eye(count), 1)[0]
    for g in (f, low):
        found = ng.grad(g)(data)
        np.testing.assert_allclose(found.y if form == "Dataset" else found, np.tile(want, (3, 1)), atol=1e-9)


@pytest.mark.parametrize("start", [0.0, 0.5])
def test_parameters_that_a_kink_holds_at_zero(start):
    rng = np.random.default_rng(3)
    design = rng.standard_normal((40, 4))
    x = xr.DataArray(design, dims=("n", "k"))
    y = xr.DataArray(design @ [1.0, 0.0, -2.0, 0.0] + 0.3 * rng.standard_normal((3, 40)), dims=("c", "n"))
    penalty = xr.DataArray([6.0, 9.0, 12.0], dims="c")

    def loss(p, x, y, penalty):
        return 0.5 * (((x * p["b"]).sum("k") - y) ** 2).sum() + penalty * abs(p["b"]).sum()

    def lasso(y, penalty):
        b = xr.DataArray(np.full(4, start), dims="k")
        fit = ng.minimize(loss, {"b": b}, x, y, penalty, over="c", max_iterations=5000)
        return fit.params["b"].transpose("c", "k")

    along = [xr.zeros_like(v) + rng.standard_normal(v.shape) for v in (y, penalty)]
    found = lasso(y, penalty).values
    want, done = np.zeros_like(found), 0
    for i, row in enumerate(found):  # the others solve the normal equations of their own columns
        on = abs(row) > 1e-6
        done += (~on).sum()
        slope = design[:, on].T @ along[0].values[i] - np.sign(row[on]) * along[1].values[i]
        want[i, on] = np.linalg.solve(design[:, on].T @ design[:, on], slope)
    assert done >= 4
    got = ng.pushforward(lasso, (y, penalty), tuple(along))[1]
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)
    seed = xr.DataArray(rng.standard_normal(found.shape), dims=("c", "k"))
    score = lambda *given: (lasso(*given) * seed).sum()
    pulled = [ng.grad(lambda v: score(v, penalty))(y), ng.grad(lambda v: score(y, v))(penalty)]
    total = sum(float((g * v).sum()) for g, v in zip(pulled, along, strict=True))
    assert total == pytest.approx((seed.values * want).sum(), rel=1e-6)


@pytest.mark.parametrize("method", ["lbfgs", "newton-cg", "gradient-descent"])
@pytest.mark.parametrize("start", [0.0, 1.0])
def test_parameters_that_are_zero_without_a_kink_move(method, start):
    target = xr.DataArray([0.0, 1e-14, -1e-9, 1.0], dims="c")
    loss = lambda p, z: (p["x"] - z) ** 2 + 3 * p["x"] ** 2 + 10.0
    best = lambda z: ng.minimize(loss, {"x": start}, z, over="c", method=method).params["x"]
    d = xr.DataArray(np.random.default_rng(5).standard_normal(4), dims="c")
    np.testing.assert_allclose(ng.pushforward(best, (target,), (d,))[1], d / 4, rtol=1e-9)
