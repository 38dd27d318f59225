"""Residuals of several variables that share parameters."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import xarray as xr

import namedgrad as ng

T = np.linspace(0, 3, 20)
SITES = ["a", "b", "c"]


def data():
    rng = np.random.default_rng(0)
    rate, size, level = (rng.uniform(low, high, (3, 1)) for low, high in ((0.5, 2), (1, 3), (0, 1)))
    warm = size * np.exp(-rate * T) + 0.05 * rng.normal(size=(3, 20))
    dry = (level - 0.5 * np.exp(-2 * rate * T) + 0.02 * rng.normal(size=(3, 20)))[:, ::2]
    warm[1, 3] = np.nan
    return xr.Dataset(
        {"warm": (("site", "t"), warm, {"units": "K"}), "dry": (("site", "u"), dry)},
        {"site": SITES, "t": T, "u": T[::2]},
    )


START = {"size": 1.0, "rate": 1.0, "level": 0.0}


def model(p, ds):
    return {"warm": p["size"] * np.exp(-p["rate"] * ds.t), "dry": p["level"] - 0.5 * np.exp(-2 * p["rate"] * ds.u)}


def residual(p, ds):
    return xr.Dataset(model(p, ds)) - ds


def best(ds, i, s=(1.0, 1.0)):
    one = ds.isel(site=i)

    def rows(v):
        m = model(dict(zip(START, v, strict=True)), one)
        r = np.concatenate([(m["warm"] - one.warm).values / s[0], (m["dry"] - one.dry).values / s[1]])
        return r[np.isfinite(r)]

    return scipy.optimize.least_squares(rows, list(START.values()), xtol=1e-15, ftol=1e-15, gtol=1e-15, jac="3-point")


@pytest.mark.parametrize("form", ["dataset", "dict", "tuple"])
def test_several_arrays_are_one_list_of_residuals(form):
    ds = data()
    r = {
        "dataset": residual,
        "dict": lambda p, ds: {n: m - ds[n] for n, m in model(p, ds).items()},
        "tuple": lambda p, ds: tuple(m - ds[n] for n, m in model(p, ds).items()),
    }[form]
    fit = ng.least_squares(r, START, ds, over="site")
    for i in range(3):
        want = best(ds, i)
        np.testing.assert_allclose([fit.params[n][i] for n in START], want.x, rtol=1e-6)
        np.testing.assert_allclose(fit.cost[i], want.cost, rtol=1e-9)
    np.testing.assert_array_equal(fit.dof, [27, 26, 27])
    names = {"dataset": ["warm", "dry"], "dict": ["dry", "warm"], "tuple": ["0", "1"]}[form]
    assert sorted(fit.residual.data_vars) == sorted(names)
    if form == "dataset":
        off = xr.Dataset(model(fit.params, ds)) - ds
        xr.testing.assert_allclose(fit.residual.transpose("site", ...), off.transpose("site", ...))


def test_sigma_per_variable():
    ds = data()
    fit = ng.least_squares(residual, START, ds, over="site", sigma=xr.Dataset({"warm": 0.05, "dry": 0.02}))
    named = ng.least_squares(
        lambda p, ds: {n: m - ds[n] for n, m in model(p, ds).items()},
        START,
        ds,
        over="site",
        sigma={"warm": 0.05, "dry": 0.02},
    )
    for i in range(3):
        want = best(ds, i, (0.05, 0.02))
        np.testing.assert_allclose([fit.params[n][i] for n in START], want.x, rtol=1e-6)
        np.testing.assert_allclose([named.params[n][i] for n in START], want.x, rtol=1e-6)
    assert np.isfinite(fit.aic).all()


def test_predictions_of_several_arrays_and_how_good_they_are():
    ds = data()
    curves = lambda p, t, u: model(p, xr.Dataset(coords={"t": t, "u": u}))
    r = lambda p, t, u, ds: xr.Dataset(curves(p, t, u)) - ds
    sigma = xr.Dataset({"warm": 0.05, "dry": 0.02})
    fit = ng.least_squares(r, START, ds.t, ds.u, ds, over="site", sigma=sigma)
    want = xr.Dataset(model(fit.params, ds)).transpose("site", ...)
    xr.testing.assert_allclose(fit.predict().transpose("site", ...), want)
    t, u = xr.DataArray([0.5, 1.5], dims="later"), xr.DataArray([0.1], dims="soon")
    new = fit.predict(t, u)
    np.testing.assert_allclose(new.warm, fit.params["size"] * np.exp(-fit.params["rate"] * t), rtol=1e-12)
    assert new.dry.dims == ("site", "soon")
    off = ((want - ds) / sigma) ** 2
    about = ((ds - ds.mean(["t", "u"])) / sigma) ** 2
    share = sum(off[n].sum(d) for n, d in (("warm", "t"), ("dry", "u")))
    share = share / sum(about[n].sum(d) for n, d in (("warm", "t"), ("dry", "u")))
    np.testing.assert_allclose(fit.r2, 1 - share, rtol=1e-10)
    panels = fit.plot({"site": "b"}).axes
    assert [p.get_ylabel() for p in panels] == ["warm [K]", "dry"]
    for panel, name in zip(panels, ("warm", "dry"), strict=True):
        line, dots = panel.lines
        np.testing.assert_allclose(line.get_ydata(), want[name].sel(site="b"), rtol=1e-12)
        np.testing.assert_array_equal(dots.get_ydata(), ds[name].sel(site="b").dropna(ds[name].dims[-1]))


def test_a_variable_without_observations_explains_nothing():
    ds = data()
    ds["warm"][0], ds["dry"][2] = np.nan, np.nan
    fit = ng.least_squares(residual, START, ds, over="site", fixed=["size", "level"])
    off = xr.Dataset(model(fit.params, ds)) - ds
    for site, name, dim in ((0, "dry", "u"), (2, "warm", "t")):
        y, r = (x[name].isel(site=site) for x in (ds, off))
        np.testing.assert_allclose(fit.r2[site], 1 - (r**2).sum() / ((y - y.mean(dim)) ** 2).sum(), rtol=1e-10)


def test_arrays_of_no_numbers_belong_to_what_they_are_made_of():
    none = data().isel(site=slice(0))
    fit = ng.least_squares(residual, START, none, over="site")
    assert fit.predict().sizes == {"site": 0, "t": 20, "u": 10}
    assert fit.r2.sizes == {"site": 0}
    dry = data().isel(t=slice(0))
    fit = ng.least_squares(lambda p, ds: {n: model(p, ds)[n] - ds[n] for n in ("dry", "warm")}, START, dry, over="site")
    assert {n: v.shape for n, v in fit.predict().items()} == {"dry": (3, 10), "warm": (3, 0)}
    alone = ng.least_squares(lambda p, u, y: model(p, dry)["dry"] - y, START, dry.u, dry.dry, over="site")
    np.testing.assert_allclose(fit.r2, alone.r2, rtol=1e-6)
    nothing = dry.isel(u=slice(0))
    fit = ng.least_squares(residual, START, nothing, over="site")
    assert fit.predict().warm.shape == (3, 0)
    assert np.isnan(fit.r2).all()


def test_arrays_that_do_not_belong_to_one_observation():
    ds = data()
    both = ng.least_squares(
        lambda p, ds: {"a": model(p, ds)["warm"] - ds.warm - ds.dry.mean(), "b": model(p, ds)["dry"] - ds.dry},
        START, ds, over="site",
    )  # fmt: skip
    with pytest.raises(TypeError, match="residual 1 depends on 2 of the 2 arrays"):
        both.predict()


def test_a_tree_of_datasets():
    ds = data()
    tree = xr.DataTree.from_dict({"/": ds[["warm"]], "/soil": ds[["dry"]]})

    def r(p, tree):
        m = model(p, xr.Dataset(coords={"t": tree.t, "u": tree["soil"].u}))
        return m["warm"] - tree["warm"], m["dry"] - tree["soil/dry"]

    fit = ng.least_squares(r, START, tree, over="site")
    want = ng.least_squares(residual, START, ds, over="site")
    lazy = ng.least_squares(r, START, tree.chunk({"site": 2}), over="site")
    below = ng.least_squares(
        lambda p, tree: r(p, xr.DataTree.from_dict({"/": tree["air"].to_dataset(), "/soil": tree["soil"].to_dataset()})),
        START, xr.DataTree.from_dict({"/air": ds[["warm"]], "/soil": ds[["dry"]]}).chunk({"site": 2}), over="site",
    )  # fmt: skip
    assert lazy.params["rate"].chunks == ((2, 1),)
    for n in START:
        np.testing.assert_allclose(fit.params[n], want.params[n], rtol=1e-8)
        np.testing.assert_allclose(lazy.params[n].compute(), want.params[n], rtol=1e-8)
        np.testing.assert_allclose(below.params[n].compute(), want.params[n], rtol=1e-8)


@pytest.mark.parametrize("form", ["number", "dict", "tree"])
def test_sigma_of_a_tree_whose_nodes_are_in_no_order(form):
    ds = data()
    nodes = {"/": ["warm"], "/soil": ["dry"], "/air": ["dry"]}
    tree = xr.DataTree.from_dict({path: ds[names] for path, names in nodes.items()})
    far = xr.DataArray(np.linspace(0.01, 0.03, 10), dims="u")
    sigma = {
        "number": 0.05,
        "dict": {"warm": 0.05, "soil": {"dry": far}, "air": {"dry": 0.1}},
        "tree": xr.DataTree.from_dict(
            {"/": xr.Dataset({"warm": 0.05}), "/soil": xr.Dataset({"dry": far}), "/air": xr.Dataset({"dry": 0.1})}
        ),
    }[form]
    by_name = {"a": 0.05, "b": 0.05, "c": 0.05} if form == "number" else {"a": 0.05, "b": far, "c": 0.1}

    def r(p, t, u, tree):
        m = xr.Dataset(model(p, xr.Dataset(coords={"t": t, "u": u})))
        return xr.DataTree.from_dict({path: m[names] for path, names in nodes.items()}) - tree

    def flat(p, t, u, d):
        m = model(p, xr.Dataset(coords={"t": t, "u": u}))
        return {"a": m["warm"] - d["a"], "b": m["dry"] - d["b"], "c": m["dry"] - d["c"]}

    fit = ng.least_squares(r, START, ds.t, ds.u, tree, over="site", sigma=sigma)
    arrays = {"a": ds.warm, "b": ds.dry, "c": ds.dry}
    want = ng.least_squares(flat, START, ds.t, ds.u, arrays, over="site", sigma=by_name)
    for n in START:
        np.testing.assert_allclose(fit.params[n], want.params[n], rtol=1e-6)
    off = {"a": "warm", "b": "dry", "c": "dry"}
    m = model(fit.params, ds)
    chi2 = sum((((m[n] - ds[n]) / by_name[k]) ** 2).sum(["t", "u"][n == "dry"]) for k, n in off.items())
    np.testing.assert_allclose(fit.chi2, chi2, rtol=1e-9)
    np.testing.assert_allclose(fit.r2, want.r2, rtol=1e-6)
    for path, n in {"warm": "warm", "soil/dry": "dry", "air/dry": "dry"}.items():
        np.testing.assert_allclose(fit.predict()[path], m[n].transpose("site", ...), rtol=1e-6)


@pytest.mark.parametrize("form", ["tree", "list"])
def test_predictions_are_called_what_the_residuals_are_whatever_the_order_of_the_observations(form):
    ds = data()
    tree = xr.DataTree.from_dict({"/": ds[["warm"]], "/soil": ds[["dry"]]})
    observed, take = {
        "tree": (tree, lambda d: {"warm": d["warm"], "dry": d["soil/dry"]}),
        "list": ([ds.warm, ds.dry], lambda d: {"warm": d[0], "dry": d[1]}),
    }[form]

    def r(p, t, u, d):
        m = model(p, xr.Dataset(coords={"t": t, "u": u}))
        return {n: m[n] - y for n, y in take(d).items()}

    fit = ng.least_squares(r, START, ds.t, ds.u, observed, over="site")
    for n, m in model(fit.params, ds).items():
        np.testing.assert_allclose(fit.predict()[n], m.transpose("site", ...), rtol=1e-9)
        np.testing.assert_allclose(fit.residual[n], (m - ds[n]).transpose("site", ...), rtol=1e-9, atol=1e-12)
    later = fit.predict(ds.t + 1, ds.u[:2])
    np.testing.assert_allclose(later.warm, fit.params["size"] * np.exp(-fit.params["rate"] * (ds.t + 1)))
    assert later.dry.sizes == {"site": 3, "u": 2}


def test_derivatives_with_respect_to_a_dataset():
    ds = data().fillna(1.0)
    f = lambda ds: (ng.least_squares(residual, START, ds, over="site", tol=1e-12).params["rate"] ** 2).sum()
    g = ng.grad(f)(ds)
    d = ds.map(lambda v: xr.zeros_like(v) + np.random.default_rng(1).normal(size=v.shape))
    want = (float(f(ds + 1e-5 * d)) - float(f(ds - 1e-5 * d))) / 2e-5
    assert float((g * d).sum().to_dataarray().sum()) == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("dtype", [float, int])
@pytest.mark.parametrize("form", ["Dataset", "DataTree", "dict", "nested"])
def test_observations_in_structures_are_known_whatever_their_dtype(form, dtype):
    """What is said of them is what is said of the array."""
    t = xr.DataArray(np.arange(30.0), dims="t")
    y = xr.DataArray(np.random.default_rng(0).poisson(50 - t, (4, 30)), dims=("s", "t"))
    line = lambda p, t: p["a"] + p["b"] * t
    take, data = {
        "Dataset": (lambda d: d["y"], xr.Dataset({"y": y.astype(dtype)})),
        "DataTree": (lambda d: d["q"]["y"], xr.DataTree.from_dict({"q": xr.Dataset({"y": y.astype(dtype)})})),
        "dict": (lambda d: d["y"], {"y": y.astype(dtype)}),
        "nested": (lambda d: d["q"][0], {"q": [y.astype(dtype)]}),
    }[form]
    start = {"a": 0.0, "b": 0.0}
    want = ng.least_squares(lambda p, t, y: line(p, t) - y, start, t, y.astype(float), over="s")
    fit = ng.least_squares(lambda p, t, d: line(p, t) - take(d), start, t, data, over="s")
    slopes = np.polyfit(t, y.T, 1)
    np.testing.assert_allclose(fit.predict(), slopes[1][:, None] + np.outer(slopes[0], t))
    xr.testing.assert_allclose(fit.r2, want.r2)
    np.testing.assert_allclose(fit.predict(t + 30), want.predict(t + 30))


@pytest.mark.parametrize("flags", [lambda d: d.y.isel(t=d.order), lambda d: d.y.where(d.order >= 0)])
def test_integers_beside_observations_stay_what_the_function_wants(flags):
    t = xr.DataArray(np.arange(30.0), dims="t")
    d = xr.Dataset({"y": 1.0 + t**2, "order": ("t", np.arange(30))})
    fit = ng.least_squares(lambda p, t, d: p["a"] + p["b"] * t - flags(d), {"a": 0.0, "b": 0.0}, t, d)
    slopes = np.polyfit(t, d.y, 1)
    np.testing.assert_allclose(fit.predict(), np.polyval(slopes, t))
    fit = ng.least_squares(lambda p, t, d: p["a"] + p["b"] * t - flags(d) ** 2, {"a": 0.0, "b": 0.0}, t, d)
    with pytest.raises(ValueError, match="not linear, element by element"):
        fit.predict()
