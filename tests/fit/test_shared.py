"""Parameters that cells share, against SciPy on all cells at once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import xarray as xr

import namedgrad as ng

LAT, LON = np.array([10.0, 20.0, 30.0]), np.arange(4) - 180.0
T = np.linspace(0.0, 3.0, 25)
OVER = ("lat", "lon")


def residual(p, t, y):
    """Decay at a rate, to an offset."""
    return p["size"] * np.exp(-p["rate"] * t) + p["offset"] - y


def data(seed=0):
    rng = np.random.default_rng(seed)
    rate, offset, size = rng.uniform(0.5, 2, (3, 1)), rng.uniform(-1, 1, 4), rng.uniform(1, 3, (3, 4))
    y = size * np.exp(-rate * T[:, None, None]) + offset + 0.05 * rng.normal(size=(25, 3, 4))
    return xr.DataArray(y, {"time": T, "lat": LON[:3] * 0 + LAT, "lon": LON}, ("time", "lat", "lon"), "y")


Y = data()
RATE = xr.DataArray(np.ones(3), {"lat": LAT}, ("lat",), "rate", {"units": "1/s"})
OFFSET = xr.DataArray(np.zeros(4), {"lon": LON}, ("lon",))


class Flat:
    """All parameters of a fit in one vector."""

    def __init__(self, **dims):
        self.dims, self.parts, start = dims, {}, 0
        for n, own in dims.items():
            size = int(np.prod([Y.sizes[d] for d in own], dtype=int))
            self.parts[n] = slice(start, start + size)
            start += size
        self.count = start

    def named(self, v):
        return {
            n: xr.DataArray(v[at].reshape([Y.sizes[d] for d in self.dims[n]]), dims=self.dims[n])
            for n, at in self.parts.items()
        }

    def vector(self, ds):
        return np.concatenate([ds[n].transpose(*own).values.ravel() for n, own in self.dims.items()])


def scipy_fit(flat, rows, y=Y, **options):
    start = flat.vector(
        {
            n: xr.DataArray(np.full([y.sizes[d] for d in own], 1.0 if n != "offset" else 0.0), dims=own)
            for n, own in flat.dims.items()
        }
    )
    exact = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15, "jac": "3-point"}
    low, high = options.get("bounds", (-np.inf, np.inf))
    return scipy.optimize.least_squares(lambda v: rows(flat.named(v)), np.clip(start, low, high), **exact, **options)


def rows_of(p, y=Y, sigma=1.0):
    r = (
        (residual(p, xr.DataArray(T, dims="time"), y.drop_vars(y.coords)) / sigma)
        .transpose("time", "lat", "lon")
        .values
    )
    return r[np.isfinite(r)]


FLAT = Flat(size=OVER, rate=("lat",), offset=("lon",))


def test_everything_is_that_of_one_large_fit():
    fit = ng.least_squares(residual, {"size": 1.0, "rate": RATE, "offset": OFFSET}, Y.time, Y, over=OVER)
    want = scipy_fit(FLAT, rows_of)
    np.testing.assert_allclose(FLAT.vector(fit.params), want.x, rtol=1e-6)
    assert fit.params["rate"].dims == ("lat",)
    assert fit.params["rate"].attrs == {"units": "1/s"}
    xr.testing.assert_equal(fit.params["rate"].lat, Y.lat)
    assert fit.cost.dims == ()  # rates share longitudes and offsets latitudes: one problem
    np.testing.assert_allclose(fit.cost, want.cost, rtol=1e-10)
    assert fit.dof == Y.size - FLAT.count
    assert (fit.status == 0).all()
    cov = np.linalg.inv(want.jac.T @ want.jac) * 2 * want.cost / (Y.size - FLAT.count)
    np.testing.assert_allclose(FLAT.vector(fit.stderr), np.sqrt(np.diag(cov)), rtol=1e-5)
    at = FLAT.parts
    for a in FLAT.dims:
        for b in FLAT.dims:
            block = fit.covariance[a, b]
            assert block.dims == (*FLAT.dims[a], *(f"{d}_wrt" for d in FLAT.dims[b]))
            wanted = cov[at[a], at[b]].reshape(block.shape)
            np.testing.assert_allclose(block, wanted, rtol=1e-4, atol=1e-9)
            np.testing.assert_allclose(fit.covariance[a][b], block)
            fisher = (want.jac.T @ want.jac)[at[a], at[b]].reshape(block.shape)
            np.testing.assert_allclose(fit.fisher()[a, b], fisher, rtol=1e-4, atol=1e-7)
    assert len(fit.covariance) == 9
    with pytest.raises(KeyError, match="two of the parameters"):
        fit.covariance["size", "speed"]


def test_latitudes_stay_independent_where_only_longitudes_are_shared():
    fit = ng.least_squares(residual, {"size": 1.0, "rate": RATE, "offset": 0.0}, Y.time, Y, over=OVER)
    assert fit.cost.dims == fit.dof.dims == fit.aic.dims == ("lat",)
    for i in range(3):
        one = ng.least_squares(
            residual, {"size": 1.0, "rate": 1.0, "offset": 0.0}, Y.time, Y[:, i], over="lon", shared=["rate"]
        )
        for n in fit.params:
            np.testing.assert_allclose(fit.params[n][i], one.params[n], rtol=1e-7)
            np.testing.assert_allclose(fit.stderr[n][i], one.stderr[n], rtol=1e-6)
        np.testing.assert_allclose(fit.cost[i], one.cost)
        np.testing.assert_allclose(fit.bic[i], one.bic)
        np.testing.assert_allclose(
            fit.covariance["size", "size"][i].values, one.covariance["size", "size"].values, rtol=1e-5, atol=1e-10
        )
    for options in ({"chunk": 3}, {"chunk": 1}):
        again = ng.least_squares(residual, {"size": 1.0, "rate": RATE, "offset": 0.0}, Y.time, Y, over=OVER, **options)
        xr.testing.assert_allclose(again.params, fit.params, rtol=1e-10)
    turned = ng.least_squares(
        residual, {"offset": 0.0, "rate": RATE[::-1], "size": 1.0}, Y.time, Y.transpose("lon", "time", "lat")[:, :, ::-1],
        over=("lon", "lat"),
    )  # fmt: skip
    xr.testing.assert_allclose(turned.params["rate"].sortby("lat"), fit.params["rate"], rtol=1e-8)


def test_bounds_of_both_kinds():
    y = data(3)
    limits = {"rate": (0.9, 1.2), "size": (1.5, xr.DataArray([2.0, 2.2, 2.4, 2.6], {"lon": LON}, ("lon",)))}
    fit = ng.least_squares(residual, {"size": 1.0, "rate": RATE, "offset": OFFSET}, y.time, y, over=OVER, bounds=limits)
    low = FLAT.vector({"size": xr.full_like(Y[0], 1.5), "rate": RATE * 0 + 0.9, "offset": OFFSET - np.inf})
    high = FLAT.vector(
        {"size": xr.zeros_like(Y[0]) + limits["size"][1], "rate": RATE * 0 + 1.2, "offset": OFFSET + np.inf}
    )
    want = scipy_fit(FLAT, lambda p: rows_of(p, y), bounds=(low, high))
    got = FLAT.vector(fit.params)
    assert ((got >= low) & (got <= high)).all()
    assert ((got == low) | (got == high)).sum() > 3
    np.testing.assert_allclose(fit.cost, want.cost, rtol=1e-7)
    np.testing.assert_allclose(got, want.x, atol=2e-4)
    assert (fit.status == 3).all()


def test_sigma_priors_losses_and_fixed_parameters():
    rng = np.random.default_rng(4)
    sigma = xr.DataArray(rng.uniform(0.5, 2, (25, 4)), {"lon": LON}, ("time", "lon"))
    mean = xr.DataArray([0.5, 1.0, 1.5], {"lat": LAT}, ("lat",))
    fit = ng.least_squares(
        residual, {"size": 1.0, "rate": RATE, "offset": OFFSET}, Y.time, Y, over=OVER, sigma=sigma,
        prior={"rate": (mean, 0.1), "size": (2.0, 0.5)},
    )  # fmt: skip

    def rows(p):
        more = [((p["rate"] - mean.values) / 0.1).values.ravel(), ((p["size"] - 2.0) / 0.5).values.ravel()]
        return np.concatenate([rows_of(p, sigma=sigma.drop_vars("lon")), *more])

    want = scipy_fit(FLAT, rows)
    np.testing.assert_allclose(FLAT.vector(fit.params), want.x, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(fit.cost, want.cost, rtol=1e-9)
    assert fit.dof == Y.size + 3 + 12 - FLAT.count
    robust = ng.least_squares(
        residual, {"size": 1.0, "rate": RATE, "offset": OFFSET}, Y.time, Y, over=OVER, loss="soft_l1", loss_scale=0.05
    )
    want = scipy_fit(FLAT, rows_of, loss="soft_l1", f_scale=0.05)
    np.testing.assert_allclose(FLAT.vector(robust.params), want.x, rtol=1e-5, atol=1e-6)
    cov = np.linalg.inv(want.jac.T @ want.jac) * 2 * want.cost / (Y.size - FLAT.count)
    np.testing.assert_allclose(FLAT.vector(robust.stderr), np.sqrt(np.diag(cov)), rtol=1e-4)
    held = ng.least_squares(
        residual, {"size": 1.0, "rate": RATE * 1.1, "offset": 0.0}, Y.time, Y, over=OVER, fixed="rate"
    )
    xr.testing.assert_equal(held.params["rate"], RATE * 1.1)
    assert held.cost.dims == OVER  # what is fixed couples nothing


def test_cells_and_rows_without_data_disturb_nobody():
    y = Y.copy()
    y[:, 1, 2] = np.nan
    y[[3, 9], 0, 0] = [np.nan, np.inf]
    y[:, 2] = np.nan
    fit = ng.least_squares(residual, {"size": 1.0, "rate": RATE, "offset": 0.0}, y.time, y, over=OVER)
    assert fit.status[1, 2] == 4
    assert (fit.status[2] == 4).all()
    assert np.isnan(fit.params["rate"][2])
    assert np.isnan(fit.params["size"][1, 2])
    left = y.isel(lat=1, lon=[0, 1, 3])
    alone = ng.least_squares(
        residual, {"size": 1.0, "rate": 1.0, "offset": 0.0}, y.time, left, over="lon", shared="rate"
    )
    np.testing.assert_allclose(fit.params["rate"][1], alone.params["rate"], rtol=1e-8)
    np.testing.assert_allclose(fit.stderr["rate"][1], alone.stderr["rate"], rtol=1e-6)
    assert fit.dof[1] == alone.dof == 3 * 25 - 7
    assert fit.dof[0] == 4 * 25 - 2 - 9


def test_a_number_for_all_cells_of_named_arrays():
    t, y = ng.DimArray(T, ("time",)), ng.DimArray(Y.values, Y.dims)
    r = lambda p, t, y: p["size"] * ng.exp(-p["rate"] * t) + p["offset"] - y
    fit = ng.least_squares(
        r, {"size": 1.0, "rate": 1.0, "offset": ng.zeros({"lon": 4})}, t, y, over=OVER, shared="rate"
    )
    flat = Flat(size=OVER, rate=(), offset=("lon",))
    want = scipy_fit(flat, rows_of)
    np.testing.assert_allclose(flat.vector(fit.params), want.x, rtol=1e-6)
    assert fit.params["rate"].dims == ()


def test_parameters_with_dims_of_their_own():
    rng = np.random.default_rng(0)
    A = xr.DataArray(rng.normal(size=(20, 3)), dims=("row", "k"))
    b = xr.DataArray(rng.normal(size=(20, 5)), dims=("row", "cell"))
    start = {"v": xr.DataArray(np.zeros(3), {"k": ["p", "q", "r"]}, ("k",)), "c": 0.0}
    A = A.assign_coords(k=["p", "q", "r"])
    fit = ng.least_squares(lambda p, A, b: (A * p["v"]).sum("k") + p["c"] - b, start, A, b, over="cell")
    design = np.concatenate([A.values, np.ones((20, 1))], axis=1)
    want, squares, *_ = np.linalg.lstsq(design, b.values, rcond=None)
    assert fit.params["v"].dims == ("cell", "k")
    np.testing.assert_allclose(fit.params["v"], want[:3].T, rtol=1e-7)
    cov = np.linalg.inv(design.T @ design) * (squares / 16)[:, None, None]
    np.testing.assert_allclose(fit.covariance["v", "v"], cov[:, :3, :3], rtol=1e-6)
    assert fit.covariance["v", "v"].dims == ("cell", "k", "k_wrt")
    np.testing.assert_allclose(fit.covariance["v", "c"], cov[:, :3, 3], rtol=1e-6)
    np.testing.assert_allclose(fit.stderr["v"], np.sqrt(np.diagonal(cov, axis1=1, axis2=2))[:, :3], rtol=1e-6)
    many = xr.DataArray(rng.normal(size=(60, 20)), dims=("row", "k"))
    c = xr.DataArray(rng.normal(size=(60, 4)), dims=("row", "cell"))
    wide = ng.least_squares(
        lambda p, A, b: (A * p["v"]).sum("k") - b, {"v": xr.zeros_like(many[0])}, many, c, over="cell"
    )
    np.testing.assert_allclose(wide.params["v"], np.linalg.lstsq(many.values, c.values, rcond=None)[0].T, rtol=1e-7)


def test_blocks_of_shared_parameters_with_dims_of_their_own():
    rng = np.random.default_rng(0)
    k = {"k": ["p", "q"]}
    A = xr.DataArray(rng.normal(size=(9, 2, 2)), {"lat": [10.0, 20.0], **k}, ("row", "lat", "k"))
    b = xr.DataArray(rng.normal(size=(9, 2, 3)), {"lat": [10.0, 20.0], "lon": [1, 2, 3]}, ("row", "lat", "lon"))
    start = {"v": xr.DataArray(np.zeros((2, 2)), k, ("lat", "k")), "c": 0.0, "w": xr.DataArray(np.zeros((2, 3)), k, ("k", "lon"))}
    model = lambda p, A: (A * p["v"] + A**2 * p["w"]).sum("k") + p["c"]
    fit = ng.least_squares(lambda p, A, b: model(p, A) - b, start, A, b, over=OVER)
    sizes, dims = {"lat": 2, "lon": 3, "k": 2}, {"v": ("lat", "k"), "c": OVER, "w": ("lon", "k")}
    columns = {n: [] for n in dims}  # of one large linear problem
    for n, own in dims.items():
        for i in np.ndindex(*(sizes[d] for d in own)):
            p = {m: xr.DataArray(np.zeros([sizes[d] for d in o]), dims=o) for m, o in dims.items()}
            p[n].values[i] = 1.0
            columns[n].append((model(p, A.drop_vars(A.coords)) + 0 * b.drop_vars(b.coords)).transpose(*b.dims).values.ravel())
    design = np.concatenate([*columns.values()]).T
    found, squares, *_ = np.linalg.lstsq(design, b.values.ravel(), rcond=None)
    assert fit.dof == b.size - len(found)
    normal = design.T @ design
    cov = np.linalg.inv(normal) * squares / (b.size - len(found))
    at = dict(zip(dims, np.split(np.arange(len(found)), np.cumsum([4, 6])), strict=True))
    for n, own in dims.items():
        np.testing.assert_allclose(fit.params[n].transpose(*own).values.ravel(), found[at[n]], rtol=1e-6)
        np.testing.assert_allclose(fit.stderr[n].transpose(*own).values.ravel(), np.sqrt(np.diag(cov))[at[n]], rtol=1e-6)
        for m, other in dims.items():
            for block, want in ((fit.covariance[n, m], cov), (fit.fisher()[n, m], normal)):
                assert block.dims == (*own, *(f"{d}_wrt" for d in other))
                np.testing.assert_allclose(block.values.ravel(), want[np.ix_(at[n], at[m])].ravel(), rtol=1e-6, atol=1e-10)
    assert [*fit.covariance["v", "w"].k_wrt.values] == k["k"]
    total = fit.propagate(lambda p: (p["v"] ** 2).sum() + p["w"].sum())
    slope = np.concatenate([2 * found[at["v"]], np.zeros(6), np.ones(6)])
    np.testing.assert_allclose(total.stderr, np.sqrt(slope @ cov @ slope), rtol=1e-6)


def test_what_has_lost_its_influence_does_not_run_away():
    """From starts where a step makes one of two peaks so narrow that no observation is within it."""
    x, sets = np.linspace(0.0, 10.0, 60), 60
    truth = {"a": [2.0, 3.0], "m": [2.5, 2.6], "s": [0.6, 0.6], "b": [1.6, 5.0], "n": [7.6, 7.3], "r": [0.9, 0.9]}

    def model(p, x):
        first = p["a"] * np.exp(-(((x - p["m"]) / p["s"]) ** 2) / 2)
        return first + p["b"] * np.exp(-(((x - p["n"]) / p["r"]) ** 2) / 2)

    known = {n: np.array(v)[:, None] for n, v in truth.items()}
    y = model(known, x) + 0.02 * np.random.default_rng(0).normal(size=(2, 60))
    *order, common = truth

    def rows(v):
        return (model(dict(zip(order, v[:-1].reshape(-1, 2, 1), strict=True)) | {common: v[-1]}, x) - y).ravel()

    want = scipy.optimize.least_squares(rows, [*np.ravel([truth[n] for n in order]), 0.9], method="lm")
    rng = np.random.default_rng(1)
    start = {n: np.array(v) * np.exp(0.1 * rng.normal(size=(sets, 2))) for n, v in truth.items()}
    params = {n: xr.DataArray(v, dims=("set", "cell")) for n, v in start.items()}
    fit = ng.least_squares(
        lambda p, x, y: model(p, x) - y, params | {common: params[common][:, 0]}, xr.DataArray(x, dims="x"),
        xr.DataArray(y, dims=("cell", "x")).expand_dims(set=sets), over=("set", "cell"),
    )  # fmt: skip
    there = np.isclose(fit.cost, want.cost, rtol=1e-6)
    assert there.sum() >= sets - 2
    assert (fit.status.values[there] == 0).all()


def test_the_last_digits_of_the_cost_do_not_decide_whether_it_is_done():
    rng = np.random.default_rng(3)
    t = np.sort(rng.uniform(0, 4, (60, 3, 12)), axis=2)
    size, rate = rng.uniform(1, 4, (60, 1, 1)), rng.uniform(0.3, 1.5, (60, 3, 1))
    y = size * np.exp(-rate * t) + 0.5 + 0.1 * rng.normal(size=t.shape)

    def decay(p, t, y):
        return p["size"] * np.exp(-p["rate"] * t) + p["rest"] - y

    start = {"size": ng.DimArray(np.full(60, 2.0), ("i",)), "rate": 0.8, "rest": 0.0}
    fit = ng.least_squares(decay, start, *(ng.DimArray(v, ("i", "j", "t")) for v in (t, y)), over=("i", "j"))
    assert (fit.status == 0).all()
    for i in range(0, 60, 12):
        best = scipy.optimize.least_squares(
            lambda p, i=i: decay({"size": p[0], "rate": p[1:4, None], "rest": p[4:, None]}, t[i], y[i]).ravel(),
            [2.0, *[0.8] * 3, *[0.0] * 3], xtol=1e-14, ftol=1e-14, gtol=1e-14, jac="3-point",
        )  # fmt: skip
        found = [fit.params["size"][i], *fit.params["rate"][i], *fit.params["rest"][i]]
        np.testing.assert_allclose(found, best.x, rtol=1e-5)


def test_minimize_says_how_to_share():
    with pytest.raises(ng.AxisError, match=r"leave \('lon',\) out of over="):
        ng.minimize(
            lambda p, t, y: (residual(p, t, y) ** 2).sum(),
            {"size": 1.0, "rate": RATE, "offset": 0.0},
            Y.time,
            Y,
            over=OVER,
        )


def line(p, t, y):
    """A straight line."""
    return p["a"] + p["b"] * t - y


def lines(dtype=float):
    """Noisy lines of three sites, and their abscissae."""
    t = np.linspace(0.0, 3.0, 8)
    y = [1, 2, 3] + 0.5 * t[:, None] + 0.1 * np.random.default_rng(2).normal(size=(8, 3))
    return xr.DataArray(t, dims="time"), xr.DataArray(y.astype(dtype), {"site": [*"abc"]}, ("time", "site"))


def test_long_doubles():
    t, y = lines(np.longdouble)
    design = np.concatenate([np.kron(np.ones((8, 1)), np.eye(3)), np.repeat(t.values, 3)[:, None]], axis=1)
    want = np.linalg.pinv(design)

    def slope(y):
        return ng.least_squares(line, {"a": 1.0, "b": 1.0}, t, y, over="site", shared="b").params["b"]

    assert float(slope(y)) == pytest.approx(want[3] @ y.values.ravel().astype(float), rel=1e-9)
    np.testing.assert_allclose(ng.grad(slope)(y).values.astype(float).ravel(), want[3], rtol=1e-9)


def test_predictions_for_data_without_cells_where_all_is_shared():
    t, y = lines()
    fit = ng.least_squares(line, {"a": 1.0, "b": 1.0}, t, y, over="site", shared=("a", "b"))
    slope, level = np.polyfit(np.repeat(t.values, 3), y.values.ravel(), 1)
    found = fit.predict(xr.DataArray([5.0, 7.0], dims="time"))
    assert found.dims == ("time", "site")
    assert found.site.equals(y.site)
    np.testing.assert_allclose(found, np.repeat([[level + 5 * slope], [level + 7 * slope]], 3, axis=1), rtol=1e-9)


@pytest.mark.parametrize("seed", [3, 5, 6])
def test_cells_that_are_hard_to_fit_keep_nobody_waiting(seed):
    """Voigt profiles that are nearly those of Lorentz or Gauss, which one of two widths does not change."""
    rng, x = np.random.default_rng(seed), np.linspace(-5.0, 5.0, 40)

    def model(p, x):
        return p["a"] * scipy.special.voigt_profile(x - p["m"], p["s"], p["g"]) + p["c"]

    truth = {n: rng.uniform(a, b, (20, 1)) for n, a, b in (("a", 2, 5), ("m", -1, 1), ("s", 0.7, 1.5))}
    y = model(truth | {"c": 0.0, "g": 0.6}, x) + 0.2 * rng.normal(size=(20, 40))
    start = {"a": 3.0, "m": 0.0, "s": 1.0, "c": 0.0, "g": 0.8}
    fit = ng.least_squares(
        lambda p, x, y: model(p, x) - y, start, xr.DataArray(x, dims="x"), xr.DataArray(y, dims=("cell", "x")),
        over="cell", shared="g",
    )  # fmt: skip
    assert (fit.status == 0).all()
    assert fit.iterations < 40

    def rows(v):
        return (model(dict(zip("amsc", v[:-1].reshape(4, 20, 1), strict=True)) | {"g": v[-1]}, x) - y).ravel()

    found = np.concatenate([*(fit.params[n].values for n in "amsc"), [fit.params["g"].item()]])
    np.testing.assert_allclose(0.5 * np.sum(rows(found) ** 2), fit.cost, rtol=1e-12)
    best = scipy.optimize.least_squares(rows, found, method="lm", xtol=1e-14, ftol=1e-14, gtol=1e-14)
    np.testing.assert_allclose(fit.cost, best.cost, rtol=1e-10)
    np.testing.assert_allclose(fit.params["g"], best.x[-1], rtol=3e-6)


def decays(bad):
    """Six decays to one offset, and a residual function; the first series is replaced."""
    rng = np.random.default_rng(0)
    size, rate = rng.uniform(1, 2, (6, 1)), rng.uniform(0.5, 1, (6, 1))
    y = size * np.exp(-rate * T) + 0.3 + 0.02 * rng.normal(size=(6, 25))
    y[0] = bad
    return xr.DataArray(T, dims="time"), xr.DataArray(y, dims=("site", "time"))


def offset_of(y, more):
    """The offset and its standard error by SciPy, from all series but the first, and ``more`` rows of residuals."""

    def rows(v):
        off = v[:5, None] * np.exp(-v[5:10, None] * T) + v[10] - y.values[1:]
        return np.concatenate([off.ravel(), more(v[10])])

    best = scipy.optimize.least_squares(rows, [1.5] * 5 + [0.7] * 5 + [0.2], xtol=1e-15, ftol=1e-15, gtol=1e-15)
    variance = 2 * best.cost / (best.fun.size - 11) * np.linalg.inv(best.jac.T @ best.jac)
    return best.x[10], np.sqrt(variance[10, 10])


ONE_DATUM = np.where(T == 0, 1.0, np.nan)
AT_ONCE = np.concatenate([[2.0, 0.1], 0.29 + 0.01 * np.cos(np.arange(23))])  # the best rate of such a fall is infinite


@pytest.mark.parametrize(
    ("bad", "status", "rows"),
    [
        (ONE_DATUM, 2, lambda c: np.zeros(0)),
        (AT_ONCE, 2, lambda c: c - AT_ONCE[1:]),
        (np.full(25, 1e200), 5, lambda c: np.zeros(0)),
        (np.where(np.arange(25) == 3, -1e180, 0.3), 5, lambda c: np.zeros(0)),
    ],
)  # fmt: skip
def test_a_hopeless_cell_marks_no_other(bad, status, rows):
    t, y = decays(bad)
    start = {"size": 1.5, "rate": 0.5, "offset": 0.2}
    fit = ng.least_squares(residual, start, t, y, over="site", shared="offset")
    assert fit.status.values.tolist() == [status] + [0] * 5
    value, error = offset_of(y, rows)
    np.testing.assert_allclose(fit.params["offset"], value, atol=1e-5 * error)
    np.testing.assert_allclose(fit.stderr["offset"], error, rtol=1e-5)
    assert np.isfinite(fit.stderr["rate"][1:]).all()
    assert not np.isfinite(fit.stderr["rate"][0])
    blocks = fit.covariance
    assert np.isfinite(blocks["rate", "size"][1:, 1:]).all()
    if status == 2:
        assert np.isinf(blocks["rate", "rate"][0]).all()
        assert np.isinf(blocks["rate", "offset"][0])


def test_a_shared_parameter_that_no_data_determine_marks_its_cells():
    y = Y.where((Y.lat != 20) | (Y.time == T[1]))  # the size takes what is left there
    start = {"size": 1.0, "rate": RATE, "offset": OFFSET}
    t = xr.DataArray(T, dims="time")
    fit = ng.least_squares(residual, start, t, y, over=OVER)
    others = ng.least_squares(residual, {**start, "rate": RATE[::2]}, t, y[:, ::2], over=OVER)
    assert fit.status.values.tolist() == [[0] * 4, [2] * 4, [0] * 4]
    assert fit.dof == others.dof
    assert np.isinf(fit.stderr["rate"][1])
    assert np.isinf(fit.stderr["size"][1]).all()
    for n in start:
        here, there = (r[n].sel(lat=others.params.lat) if n != "offset" else r[n] for r in (fit.params, fit.stderr))
        np.testing.assert_allclose(here, others.params[n], atol=1e-6)
        np.testing.assert_allclose(there, others.stderr[n], rtol=1e-6)


def test_a_bound_marks_the_cells_that_it_holds():
    t, y = decays(np.exp(-5.0 * T))
    start = {"size": 1.5, "rate": 0.5, "offset": 0.2}
    fit = ng.least_squares(residual, start, t, y, over="site", shared="offset", bounds={"rate": (None, 3.0)})
    assert fit.status.values.tolist() == [3] + [0] * 5
    fit = ng.least_squares(residual, start, t, y, over="site", shared="offset", bounds={"offset": (0.5, None)})
    assert (fit.status == 3).all()
