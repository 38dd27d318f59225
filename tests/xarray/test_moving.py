"""What xarray hands to numbagg: values against pandas, and the whole way where numbagg is installed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import namedgrad as ng
from namedgrad.xarray import numbagg
from tests.xarray.programs import with_gaps


def series(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(3, 30))
    a[rng.random(a.shape) < 0.3] = np.nan
    a[1, 5:12] = np.nan
    return a


def by_rows(function, a):
    return np.stack([function(pd.Series(row)).to_numpy() for row in a])


CASES = [
    ("move_sum", (3, 1), lambda s: s.rolling(3, min_periods=1).sum()),
    ("move_sum", (4, 4), lambda s: s.rolling(4).sum()),
    ("move_mean", (3, 1), lambda s: s.rolling(3, min_periods=1).mean()),
    ("move_mean", (5, 2), lambda s: s.rolling(5, min_periods=2).mean()),
    ("move_var", (4, 2), lambda s: s.rolling(4, min_periods=2).var()),
    ("move_std", (4, 3), lambda s: s.rolling(4, min_periods=3).std()),
    ("ffill", (30,), lambda s: s.ffill()),
    ("ffill", (1,), lambda s: s.ffill(limit=1)),
    ("ffill", (4,), lambda s: s.ffill(limit=4)),
    ("ffill", (5,), lambda s: s.ffill(limit=5)),
    ("move_exp_nanmean", (np.full(30, 0.3), 0.0), lambda s: s.ewm(alpha=0.3).mean()),
]


@pytest.mark.parametrize(("name", "options", "reference"), CASES)
def test_values_and_gradients(name, options, reference):
    a = series()
    function = lambda a, axis=-1: numbagg.GUFUNCS[name](a, *options, axis=axis)
    expected = by_rows(reference, a)
    np.testing.assert_allclose(function(ng.positional(a)).data, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(function(ng.positional(a, "b")).data, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(function(ng.positional(a.T), axis=0).data, expected.T, rtol=1e-10, atol=1e-12)
    weights = np.random.default_rng(1).normal(size=a.shape)
    loss = lambda a: np.nansum(function(a) * weights)
    g = ng.grad(loss)(a)
    np.testing.assert_array_equal(g[np.isnan(a)], 0.0)
    along = np.where(np.isnan(a), 0.0, np.random.default_rng(2).normal(size=a.shape))
    ends = [np.nansum(by_rows(reference, a + h * along) * weights) for h in (1e-5, -1e-5)]
    assert np.vdot(g, along) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.ffill("time"),
        lambda x: x.bfill("time", limit=1),
        lambda x: x.rolling(time=3).std(ddof=1),
        lambda x: x.rolling(time=3, min_periods=1).mean(),
        lambda x: x.rolling_exp(time=3).mean(),
    ],
)
def test_through_xarray(f):
    pytest.importorskip("numbagg")
    x = with_gaps()
    loss = lambda x: (f(x) ** 2).sum()
    g = ng.grad(loss)(x)
    along = x.copy(data=np.where(x.isnull(), 0.0, np.random.default_rng(2).normal(size=x.shape)))
    ends = [loss(x + h * along).item() for h in (1e-5, -1e-5)]
    assert np.vdot(g, along) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
    np.testing.assert_array_equal(g.values[x.isnull()], 0.0)
