"""Cells in which a first attempt fails: what is found from the same start values otherwise."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import xarray as xr

import namedgrad as ng

CELLS = 30


def fitted(func, x, y, start):
    """The fit, the costs in all cells, and those of SciPy from the same start."""
    names = [f"p{k}" for k in range(len(start))]
    data = xr.DataArray(y, {"x": x}, ("cell", "x"))
    ds = ng.curvefit(data, "x", func, p0=dict(zip(names, start, strict=True)), param_names=names, errors="ignore")
    ours = ds.curvefit_coefficients.transpose("cell", "param").values
    with np.errstate(all="ignore"):
        theirs = [scipy.optimize.leastsq(lambda p, row: func(x, *p) - row, start, (row,), maxfev=4000)[0] for row in y]
    cost = lambda p: np.array([np.sum((func(x, *v) - row) ** 2) for v, row in zip(p, y, strict=True)])
    return ds, cost(ours), cost(theirs)


def observed(func, x, limits, noise=0.02, seed=3):
    """Noisy observations (cell, x), with parameters drawn between limits."""
    rng = np.random.default_rng(seed)
    drawn = [rng.uniform(*limit, (CELLS, 1)) for limit in limits]
    y = func(x, *drawn)
    return y + noise * y.std(axis=1, keepdims=True) * rng.normal(size=y.shape)


def skewed(x, a, m, s, skew):
    """A skewed peak: the slope in its skewness is that in its place and width where the skewness is 0."""
    z = (x - m) / s
    return a / s * np.exp(-0.5 * z**2) * (1 + scipy.special.erf(skew * z / np.sqrt(2)))


def infusion(t, *p):
    """Two exponentials after an infusion."""
    a, alpha, beta, b, lag = p
    return a * np.exp(-alpha * t) + b * np.exp(-beta * t) - (a + b) * np.exp(-(alpha + lag) * t)


@pytest.mark.parametrize(
    ("func", "x", "limits", "start"),
    [
        (skewed, np.linspace(0, 120, 120), [(15, 25), (40, 80), (8, 20), (-4, 4)], [18.0, 55.0, 5.0, 1.0]),
        (infusion, np.linspace(0, 40, 41), [(1, 4), (0.2, 1), (0.02, 0.1), (2, 6), (0.5, 3)], [1.0, 1.0, 0.1, 1.0, 1.0]),
    ],
    ids=["saddle", "runaway"],
)
def test_no_cell_is_lost_that_scipy_finds_from_the_same_start(func, x, limits, start):
    _, ours, theirs = fitted(func, x, observed(func, x, limits), start)
    assert (ours <= theirs * (1 + 1e-6)).all()


def test_a_start_at_which_a_derivative_is_infinite():
    x = np.linspace(1, 5, 20)
    y = observed(lambda x, b, c: np.sqrt(b) * x + c, x, [(1, 4), (-1, 1)])
    slope, offset = np.polyfit(x, y.T, 1)
    data = xr.DataArray(y, {"x": x}, ("cell", "x"))
    ds = ng.curvefit(data, "x", lambda x, b, c: np.sqrt(b) * x + c, p0={"b": 0.0, "c": 0.0})
    np.testing.assert_allclose(ds.curvefit_coefficients, np.stack([slope**2, offset], -1), rtol=1e-7)
    below = {"b": 0.0, "c": 0.0}  # where it is the upper bound, too
    ds = ng.curvefit(data, "x", lambda x, b, c: np.sqrt(-b) * x + c, p0=below, bounds={"b": (-np.inf, 0)})
    np.testing.assert_allclose(ds.curvefit_coefficients, np.stack([-(slope**2), offset], -1), rtol=1e-7)
    assert (ds.curvefit_status == 0).all()


def test_an_edge_that_starts_at_an_observation():
    def edge(x, a, m, c):
        return np.nan_to_num(a * np.sqrt(x - m)) * np.heaviside(x - m, 1) + c

    x = np.linspace(-10, 10, 81)
    with np.errstate(invalid="ignore"):
        y = observed(edge, x, [(1, 3), (-6, -4), (0, 1)])
        _, ours, theirs = fitted(edge, x, y, [2.0, -5.0, 0.0])
    assert (ours <= theirs * (1 + 1e-6)).mean() > 0.9  # an observation on either side of an edge is a minimum


def test_what_nothing_depends_on_stays_singular():
    x = np.linspace(1, 5, 20)
    y = observed(lambda x, a, b: a * x + b, x, [(1, 4), (-1, 1)])
    ds = ng.curvefit(xr.DataArray(y, {"x": x}, ("cell", "x")), "x", lambda x, a, b, c: a * x + b + 0 * c)
    assert (ds.curvefit_status == 2).all()
    assert np.isinf(ds.curvefit_covariance).all()
    np.testing.assert_allclose(ds.curvefit_coefficients[:, :2], np.polyfit(x, y.T, 1).T, rtol=1e-9)
