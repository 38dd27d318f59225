"""Fits against other packages, on problems that each of them solves its own way: SciPy, statsmodels, lmfit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import xarray as xr

import namedgrad as ng

TIGHT = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}
X = np.linspace(0.1, 6.0, 60)
MODELS = {
    "growth": (lambda x, a, b, c: a / (1 + np.exp(-b * (x - c))), (3.0, 2.0, 3.0), (2.0, 1.0, 2.0)),
    "peak": (lambda x, a, b, c: a * np.exp(-(((x - b) / c) ** 2)), (2.0, 2.5, 0.8), (1.0, 2.0, 1.0)),
    "power": (lambda x, a, b, c: a * x**b + c, (1.5, 0.7, -1.0), (1.0, 1.0, 0.0)),
    "damped": (lambda x, a, b, c: a * np.exp(-b * x) * np.cos(c * x), (2.0, 0.3, 2.0), (1.0, 0.1, 1.9)),
}
NAMES = ("a", "b", "c")


def data(model, cells=4, seed=0, outliers=0):
    """Noisy curves (cell, x)."""
    func, truth, _ = MODELS[model]
    rng = np.random.default_rng(seed)
    own = np.array(truth)[:, None, None] * rng.uniform(0.9, 1.1, (3, cells, 1))
    y = func(X, *own) + 0.05 * rng.normal(size=(cells, X.size))
    if outliers:
        y[:, rng.choice(X.size, outliers, replace=False)] += 2.0
    return y


def ours(model, y, **options):
    """Our fit of all cells."""
    func, _, start = MODELS[model]
    return ng.least_squares(
        lambda p, x, y: func(x, *(p[n] for n in NAMES)) - y, dict(zip(NAMES, start, strict=True)),
        ng.DimArray(X, ("x",)), ng.DimArray(y, ("cell", "x")), over="cell", **options,
    )  # fmt: skip


def stacked(params):
    """(cell, parameter)."""
    return np.stack([params[n].values for n in NAMES], axis=-1)


# ------------------------------------------------------------------------------------------------ SciPy


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("loss", ["linear", "huber", "soft_l1", "cauchy", "arctan"])
def test_least_squares_of_scipy(model, loss):
    func, _, start = MODELS[model]
    y = data(model, outliers=0 if loss == "linear" else 4)
    fit = ours(model, y, loss=loss, loss_scale=0.2, tol=1e-11)
    for i, row in enumerate(y):
        want = scipy.optimize.least_squares(
            lambda p, row=row: func(X, *p) - row, start, loss=loss, f_scale=0.2, jac="3-point", **TIGHT
        )
        if fit.cost[i] < want.cost * (1 - 1e-9):  # a better minimum, where SciPy starts again from ours
            want = scipy.optimize.least_squares(
                lambda p, row=row: func(X, *p) - row, stacked(fit.params)[i], loss=loss, f_scale=0.2, jac="3-point", **TIGHT
            )
        np.testing.assert_allclose(stacked(fit.params)[i], want.x, rtol=2e-5, atol=1e-6)
        np.testing.assert_allclose(fit.cost[i], want.cost, rtol=1e-8)


STEP = lambda x, a, m, k, c: a / (1 + np.exp(-k * (x - m))) + c
PEAK = lambda x, a, m, s, c: a * np.exp(-0.5 * ((x - m) / s) ** 2) + c


@pytest.mark.parametrize("missing", [None, "y", "x"])
def test_a_slope_that_is_rounding_at_the_start_leads_nowhere(missing):
    """The angle of a spot whose widths start equal: it went to 1e14, and costs were ten times too high."""
    names = ("a", "i", "j", "s", "r", "turn", "c")

    def spot(p, i, j):
        along = np.cos(p["turn"]) * (i - p["i"]) + np.sin(p["turn"]) * (j - p["j"])
        across = np.sin(p["turn"]) * (i - p["i"]) - np.cos(p["turn"]) * (j - p["j"])
        return p["a"] * np.exp(-((along / p["s"]) ** 2) - (across / p["r"]) ** 2) + p["c"]

    i, j = (np.ravel(x).astype(float) for x in np.meshgrid(np.arange(16), np.arange(20), indexing="ij"))
    start = dict(zip(names, (2.0, 7.0, 10.0, 3.0, 3.0, 0.3, 0.0), strict=True))
    rng = np.random.default_rng(0)
    y = [spot(dict(zip(names, (3, 7 - k, 9 + k, 4, 2, 0.4 + 0.2 * k, 0.5), strict=True)), i, j) for k in range(3)]
    y = np.array(y) + 0.05 * rng.normal(size=(3, i.size))
    i = np.tile(i, (3, 1))
    if missing:
        {"x": i, "y": y}[missing][0, 5] = np.nan
    named = ng.DimArray(i, ("cell", "n")), ng.DimArray(j, ("n",)), ng.DimArray(y, ("cell", "n"))
    fit = ng.least_squares(lambda p, i, j, y: spot(p, i, j) - y, start, *named, over="cell")
    for k in range(3):
        keep = np.isfinite(y[k] + i[k])
        misfit = lambda p, k=k, keep=keep: (spot(dict(zip(names, p, strict=True)), i[k], j) - y[k])[keep]
        want = scipy.optimize.least_squares(misfit, [*start.values()], **TIGHT)
        np.testing.assert_allclose(fit.cost[k], want.cost, rtol=1e-9)
        assert fit.status[k] == 0


def test_bounded_losses_lead_from_far_starts_where_scipys_does_from_near():
    """Where most residuals are outliers a bounded loss is flat: 9 of these 12 cells ended far from the best."""
    func, truth, start = lambda x, a, b, c: a * (1 - b * np.exp(-c * x)), (4.0, 0.7, 0.35), (1.0, 0.5, 0.3)
    rng = np.random.default_rng(3)
    own = np.array(truth)[:, None, None] * rng.uniform(0.8, 1.2, (3, 12, 1))
    y = func(X, *own) + 0.03 * rng.normal(size=(12, X.size))
    y[:, 7] += 3.0
    y[:, 20] -= 2.0
    fit = ng.least_squares(
        lambda p, x, y: func(x, *(p[n] for n in NAMES)) - y, dict(zip(NAMES, start, strict=True)),
        ng.DimArray(X, ("x",)), ng.DimArray(y, ("cell", "x")), over="cell", loss="arctan", loss_scale=0.05,
    )  # fmt: skip
    for i, row in enumerate(y):
        want = scipy.optimize.least_squares(
            lambda p, row=row: func(X, *p) - row, own[:, i, 0], loss="arctan", f_scale=0.05, jac="3-point",
            **TIGHT,
        )  # fmt: skip
        assert fit.cost[i] <= want.cost * (1 + 1e-7)
        assert int(fit.status[i]) in {0, 3}


@pytest.mark.parametrize(
    ("func", "limits", "start"),
    [
        (PEAK, [(1, 3), (0.3, 0.7), (0.05, 0.2), (-1, 1)], (1.0, 0.4, 0.2, 0.5)),  # where a dip is nearer than the peak
        (PEAK, [(1, 3), (0.3, 0.7), (0.05, 0.2), (-1, 1)], (2.0, 0.5, 0.12, 0.0)),
        (STEP, [(1, 3), (0.3, 0.7), (8, 20), (-1, 1)], (2.0, 0.5, 12.0, 0.0)),
    ],
)  # fmt: skip
def test_start_values_that_are_far_lead_where_minpack_goes(func, limits, start):
    rng, x = np.random.default_rng(1), np.linspace(0, 1, 120)
    y = func(x, *(rng.uniform(*limit, (150, 1)) for limit in limits)) + 0.05 * rng.normal(size=(150, 120))
    fit = ng.least_squares(
        lambda p, x, y: func(x, *p.values()) - y, dict(zip("amsc", start, strict=True)), ng.DimArray(x, ("x",)),
        ng.DimArray(y, ("cell", "x")), over="cell",
    )  # fmt: skip
    want = [scipy.optimize.least_squares(lambda p, row=row: func(x, *p) - row, start, method="lm").cost for row in y]
    assert (fit.cost.values > 1.001 * np.array(want)).mean() <= 0.01
    assert np.median(fit.iterations) <= 10


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("bounded", [False, True])
def test_curve_fit_of_scipy(model, absolute, bounded):
    func, truth, start = MODELS[model]
    y, sigma = data(model), np.linspace(0.03, 0.08, X.size)
    low = np.array([-np.inf, 0.98 * truth[1], -np.inf]) if bounded else np.full(3, -np.inf)
    da = xr.DataArray(y, dims=("cell", "x"), coords={"x": X})
    p0 = dict(zip(NAMES, np.maximum(start, low).tolist(), strict=True))
    fit = ng.curvefit(
        da, "x", func, p0=p0, bounds={n: (b, np.inf) for n, b in zip(NAMES, low.tolist(), strict=True) if np.isfinite(b)},
        kwargs={"sigma": sigma, "absolute_sigma": absolute, "xtol": 1e-12},
    )  # fmt: skip
    for i, row in enumerate(y):
        options = TIGHT | ({"jac": "3-point", "x_scale": "jac"} if bounded else {})
        p, cov = scipy.optimize.curve_fit(
            func, X, row, [*p0.values()], sigma, absolute_sigma=absolute, bounds=(low, np.inf), **options
        )
        np.testing.assert_allclose(fit.curvefit_coefficients[i], p, rtol=1e-5)
        np.testing.assert_allclose(fit.curvefit_covariance[i], cov, rtol=2e-3, atol=1e-3 * np.abs(cov).max())


def test_broken_lines_that_fit_best_with_an_observation_in_the_break():
    rng = np.random.default_rng(0)
    x, broken = np.linspace(0, 20, 60), lambda x, a, b, c, d: np.maximum(a * x + b, c * x + d)
    truth = np.array([0.2, 3.0, 1.5, -10.0])[:, None, None] * rng.uniform(0.9, 1.1, (4, 60, 1))
    y = xr.DataArray(broken(x, *truth) + 0.3 * rng.normal(size=(60, 60)), dims=("cell", "x"), coords={"x": x})
    start = {"a": 0.1, "b": 2.0, "c": 1.0, "d": -8.0}
    fit = ng.curvefit(y, "x", broken, p0=start)  # raises where one runs out of iterations
    theirs = [scipy.optimize.curve_fit(broken, x, row, p0=[*start.values()])[0] for row in y.values]
    least = [((broken(x, *p) - row) ** 2).sum() for p, row in zip(theirs, y.values, strict=True)]
    assert (fit.curvefit_chi2 < 1.01 * np.array(least)).all()
    assert (fit.curvefit_status == 6).any(), "no cell ends in the break"


# ------------------------------------------------------------------------------------------------ statsmodels


def regression(seed=3):
    """Two regressors along t, and observations (cell, t) with outliers and one that is missing."""
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, 40))
    y = 1.0 + rng.normal(size=(5, 1)) * u - 2.0 * v + 0.3 * rng.normal(size=(5, 40))
    y[:, ::13] += 4.0
    y[2, 5] = np.nan
    return u, v, y


def plane(p, u, v, y):
    return p["const"] + p["u"] * u + p["v"] * v - y


def fitted(u, v, y, **options):
    named = [ng.DimArray(x, ("t",)) for x in (u, v)]
    start = {"const": 0.0, "u": 0.0, "v": 0.0}
    return ng.least_squares(plane, start, *named, ng.DimArray(y, ("cell", "t")), over="cell", **options)


@pytest.mark.parametrize("weighted", [False, True])
def test_ols_and_wls_of_statsmodels(weighted):
    linear = pytest.importorskip("statsmodels.regression.linear_model")
    u, v, y = regression()
    sigma = np.random.default_rng(0).uniform(0.5, 2, 40)
    fit = fitted(u, v, y, sigma=ng.DimArray(sigma, ("t",)) if weighted else None)
    for i, row in enumerate(y):
        keep = np.isfinite(row)
        A = np.stack([np.ones(40), u, v], axis=1)[keep]
        want = linear.WLS(row[keep], A, weights=sigma[keep] ** -2 if weighted else 1.0).fit()
        for name, k in (("const", 0), ("u", 1), ("v", 2)):
            assert fit.params[name][i].item() == pytest.approx(want.params[k], rel=1e-9, abs=1e-12)
            assert fit.stderr[name][i].item() == pytest.approx(want.bse[k], rel=1e-9)
        for ours, theirs in (("aic", "aic"), ("bic", "bic"), ("r2", "rsquared"), ("dof", "df_resid")):
            assert getattr(fit, ours)[i].item() == pytest.approx(getattr(want, theirs), rel=1e-9)
        np.testing.assert_allclose(fit.covariance[i], want.cov_params(), rtol=1e-8)
        np.testing.assert_allclose(fit.predict()[i][keep], want.fittedvalues, rtol=1e-9)


def test_rlm_of_statsmodels():
    robust = pytest.importorskip("statsmodels.robust.robust_linear_model")
    norms = pytest.importorskip("statsmodels.robust.norms")
    u, v, y = regression()
    scale = 0.4
    fit = fitted(u, v, y, loss="huber", loss_scale=scale, tol=1e-11)
    for i, row in enumerate(y):
        keep = np.isfinite(row)
        A = np.stack([np.ones(40), u, v], axis=1)[keep]
        # in units of the scale, which RLM would estimate else: Huber's norm bends at t = 1 there
        model = robust.RLM(row[keep] / scale, A / scale, M=norms.HuberT(t=1.0))
        p = scipy.optimize.minimize(
            lambda p, m=model: np.sum(m.M.rho(m.endog - m.exog @ p)), np.zeros(3), method="BFGS", options={"gtol": 1e-10}
        ).x
        np.testing.assert_allclose([fit.params[n][i] for n in ("const", "u", "v")], p, rtol=1e-5, atol=1e-6)


# ------------------------------------------------------------------------------------------------ lmfit


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("options", ["free", "fixed", "bounded"])
def test_lmfit(model, options):
    lmfit = pytest.importorskip("lmfit")
    func, truth, start = MODELS[model]
    y = data(model)
    mine = {"free": {}, "fixed": {"fixed": "b"}, "bounded": {"bounds": {"c": (truth[2] - 5.0, truth[2] + 5.0)}}}[options]
    if options == "fixed":
        start = (start[0], truth[1], start[2])
    fit = ng.least_squares(
        lambda p, x, y: func(x, *(p[n] for n in NAMES)) - y, dict(zip(NAMES, start, strict=True)),
        ng.DimArray(X, ("x",)), ng.DimArray(y, ("cell", "x")), over="cell", tol=1e-11, **mine,
    )  # fmt: skip
    theirs = lmfit.Model(func, independent_vars=["x"], param_names=[*NAMES])
    for i, row in enumerate(y):
        p = theirs.make_params(**dict(zip(NAMES, start, strict=True)))
        if options == "fixed":
            p["b"].vary = False
        if options == "bounded":
            p["c"].min, p["c"].max = mine["bounds"]["c"]
        want = theirs.fit(row, p, x=X, fit_kws={"ftol": 1e-13, "xtol": 1e-13})
        for n in NAMES:
            assert fit.params[n][i].item() == pytest.approx(want.params[n].value, rel=1e-5)
            if options == "free":
                assert fit.stderr[n][i].item() == pytest.approx(want.params[n].stderr, rel=1e-3)
        assert fit.chi2[i].item() == pytest.approx(want.chisqr, rel=1e-8)
        assert fit.dof[i].item() == want.nfree
        assert fit.r2[i].item() == pytest.approx(want.rsquared, rel=1e-6)
