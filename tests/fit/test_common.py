"""Fits with shared parameters and no start values, against SciPy from the truth."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import xarray as xr

import namedgrad as ng

FAMILIES = {
    "decay": (lambda p, x: p["a"] * np.exp(-p["k"] * x) + p["c"], (0, 5), {"a": (1, 5), "k": (0.5, 1.5), "c": (-1, 1)}, ["k"]),
    "the faster of two decays": (
        lambda p, x: p["a"] * np.exp(-p["k"] * x) + p["b"] * np.exp(-p["m"] * x), (0, 5),
        {"a": (1, 5), "k": (2, 4), "b": (1, 5), "m": (0.2, 0.8)}, ["k"],
    ),
    "now the faster and now the slower one": (
        lambda p, x: p["a"] * np.exp(-p["k"] * x) + p["b"] * np.exp(-p["m"] * x), (0, 5),
        {"a": (1, 5), "k": (0.9, 1), "b": (1, 5), "m": (0.2, 5)}, ["k"],
    ),
    "midpoint": (
        lambda p, x: p["a"] / (1 + np.exp(-(x - p["m"]) / p["w"])), (1850, 2020),
        {"a": (1, 5), "m": (1900, 1970), "w": (5, 20)}, ["m"],
    ),
    "width of a step": (
        lambda p, x: p["a"] / (1 + np.exp(-(x - p["m"]) / p["w"])), (0, 10), {"a": (1, 5), "m": (2, 8), "w": (0.3, 1)}, ["w"],
    ),
    "frequency": (
        lambda p, x: p["a"] * np.sin(p["f"] * x + p["h"]) + p["c"], (0, 8),
        {"a": (1, 5), "f": (3, 9), "h": (0, 6), "c": (-1, 1)}, ["f"],
    ),
    "width of a peak": (
        lambda p, x: p["a"] * np.exp(-0.5 * ((x - p["m"]) / p["s"]) ** 2), (-5, 5),
        {"a": (1, 5), "m": (-3, 3), "s": (0.4, 1.5)}, ["s"],
    ),
    "half-saturation": (lambda p, x: p["v"] * x / (p["K"] + x), (0.2, 20), {"v": (1, 9), "K": (1, 8)}, ["K"]),
    "exponent": (lambda p, x: p["a"] * x ** p["b"], (0.2, 20), {"a": (1, 5), "b": (0.3, 2)}, ["b"]),
}  # fmt: skip


def observed(family, cells, seed, noise=0.03):
    """Coordinate, true parameters, and noisy observations (cell, x)."""
    model, ends, limits, shared = FAMILIES[family]
    rng, x = np.random.default_rng(seed), np.linspace(*ends, 50)
    truth = {n: rng.uniform(*pair, 1 if n in shared else (cells, 1)) for n, pair in limits.items()}
    y = model(truth, x)
    return x, truth, y + noise * y.std() * rng.normal(size=y.shape)


def fitted(family, x, y, **options):
    model, _, limits, shared = FAMILIES[family]
    return ng.least_squares(
        lambda p, x, y: model(p, x) - y, [*limits], xr.DataArray(x, dims="x"), xr.DataArray(y, dims=("cell", "x")),
        over="cell", shared=shared, **options,
    )  # fmt: skip


def least(family, x, truth, y):
    """The cost that SciPy reaches from the truth."""
    model, ends = FAMILIES[family][0], np.cumsum([v.size for v in truth.values()])[:-1]

    def rows(v):
        parts = zip(truth.items(), np.split(v, ends), strict=True)
        return (model({n: part.reshape(own.shape) for (n, own), part in parts}, x) - y).ravel()

    start = np.concatenate([v.ravel() for v in truth.values()])
    return scipy.optimize.least_squares(rows, start, x_scale="jac", xtol=1e-12, ftol=1e-12, gtol=1e-12).cost


@pytest.mark.parametrize("family", FAMILIES)
def test_as_good_as_from_the_truth(family):
    x, truth, y = observed(family, 5, 1)
    fit = fitted(family, x, y)
    assert fit.cost <= least(family, x, truth, y) * (1 + 1e-6)
    assert (fit.status == 0).all()


def test_the_order_of_cells_makes_no_difference():
    family = "now the faster and now the slower one"
    x, _, y = observed(family, 5, 1)
    order = [3, 0, 4, 1, 2]
    here, there = fitted(family, x, y), fitted(family, x, y[order])
    for n in here.params:
        moved = here.params[n] if n == "k" else here.params[n][order]
        np.testing.assert_allclose(there.params[n], moved, rtol=1e-6)


def test_a_cell_without_data_and_gaps():
    x, truth, y = observed("half-saturation", 5, 2)
    y[2] = np.nan
    y[0, ::3] = np.nan
    fit = fitted("half-saturation", x, y)
    assert fit.status.values.tolist() == [0, 0, 4, 0, 0]
    known = np.isfinite(y)
    rows = lambda v: (v[:5, None] * x / (v[5] + x) - y)[known]
    best = scipy.optimize.least_squares(rows, np.append(truth["v"], truth["K"]), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    np.testing.assert_allclose(fit.params["K"], best.x[5], rtol=1e-6)
    np.testing.assert_allclose(fit.cost, best.cost, rtol=1e-9)


@pytest.mark.parametrize("given", [1.0, 1e3])
def test_start_values_that_are_there_to_tell_dims(given):
    """With so fast a decay nothing is left at the second observation."""
    rng, x, rate = np.random.default_rng(0), np.linspace(0, 5, 30), np.array([0.5, 2.0, 9.0])
    size, rest = rng.uniform(1, 4, (3, 4)), rng.uniform(-1, 1, (3, 4))
    y = size[..., None] * np.exp(-rate[:, None, None] * x) + rest[..., None] + 0.02 * rng.normal(size=(3, 4, 30))
    start = {"size": None, "rate": xr.DataArray(np.full(3, given), dims="lat"), "rest": None}
    fit = ng.least_squares(
        lambda p, x, y: p["size"] * np.exp(-p["rate"] * x) + p["rest"] - y, start, xr.DataArray(x, dims="x"),
        xr.DataArray(y, dims=("lat", "lon", "x")), over=("lat", "lon"),
    )  # fmt: skip
    assert fit.cost.dims == ("lat",)
    for i in range(3):
        rows = lambda v, i=i: (v[:4, None] * np.exp(-v[8] * x) + v[4:8, None] - y[i]).ravel()
        best = scipy.optimize.least_squares(rows, [*size[i], *rest[i], rate[i]], xtol=1e-14, ftol=1e-14, gtol=1e-14)
        np.testing.assert_allclose(fit.cost[i], best.cost, rtol=1e-8)
        np.testing.assert_allclose(fit.params["rate"][i], best.x[8], rtol=1e-5)
