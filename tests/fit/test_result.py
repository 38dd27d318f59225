"""What a result says: goodness of fit, predictions, status, text."""

from __future__ import annotations

import numpy as np
import pytest
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


def test_predictions_from_named_and_plain_arrays():
    y = observations()
    fit = ng.least_squares(residual, START, *named(y), over=OVER)
    got = fit.predict(ng.DimArray([0.0, 1.0], ("s",)))
    want = model({n: fit.params[n] for n in NAMES}, xr.DataArray([0.0, 1.0], dims="s"))
    np.testing.assert_allclose(got.transpose(*want.dims), want)
    one = ng.least_squares(residual, START, TIME, y[:, 0, 0])
    np.testing.assert_allclose(one.predict(np.array([0.0, 1.0])), got[0, 0], rtol=1e-7)


def test_predictions_need_a_residual_that_is_linear_in_the_observations():
    t, y = named(observations())
    fit = ng.least_squares(lambda p, t, y: p["a"] * t - y**2, {"a": 1.0}, t, y, over=OVER)
    with pytest.raises(ValueError, match="not linear"):
        fit.predict()
    neighbours = ng.least_squares(lambda p, t, y: p["a"] * t - y - 0.5 * y.roll(time=1), {"a": 1.0}, t, y, over=OVER)
    with pytest.raises(ValueError, match="not linear"):
        neighbours.predict()
    with pytest.raises(TypeError, match="takes 1 arguments, or none; got 2"):
        ng.least_squares(residual, START, t, y, over=OVER).predict(t, y)


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
