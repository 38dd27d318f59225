"""``minimize`` where steps leave the domain of the loss, start far away, or in other units: against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import xarray as xr

import namedgrad as ng

SECOND = ("lbfgs", "newton-cg")
LOSSES = {
    "log": (lambda x: x - np.log(x), 1.0, [1e-6, 0.01, 1.5, 3.0, 5.0, 10.0, 100.0, 1e6]),
    "root": (lambda x: x - 2 * np.sqrt(x), 1.0, [1e-6, 0.1, 3.0, 10.0, 50.0, 1e8]),
    "poisson": (lambda x: 50 * x - 120 * np.log(x), 2.4, [1e-3, 1.0, 20.0, 1e4]),
    "quotient": (lambda x: 7 / x + np.log(x), 7.0, [0.1, 1.0, 10.0, 100.0, 1e5]),
    "barrier": (lambda x: x - np.log(x) - np.log(1 - x), (3 - 5**0.5) / 2, [0.01, 0.5, 0.999]),
    "entropy": (lambda x: x * np.log(x), np.exp(-1), [1e-3, 0.9, 5.0, 100.0]),
    "exponential": (lambda x: np.exp(x - 1) - x, 1.0, [-30.0, 0.0, 30.0, 300.0]),
    "quartic": (lambda x: (x - 1) ** 4, 1.0, [0.0, 30.0, 1e4]),
    "far": (lambda x: (x - 1) ** 2, 1.0, [1e6, -1e12]),
    "units": (lambda x: 1e-12 * (x * 1e12 - np.log(x * 1e12)), 1e-12, [3e-12, 1e-10]),
    "large": (lambda x: 1e12 * (x / 1e12 - np.log(x / 1e12)), 1e12, [3e12, 1e14]),
}
CASES = [(name, start) for name, (_, _, starts) in LOSSES.items() for start in starts]


def at(fit):
    """The parameter, in the first cell if there are many."""
    return float(np.ravel(fit.params["x"])[0])


@pytest.mark.parametrize("method", SECOND)
@pytest.mark.parametrize("over", [(), "cell"])
@pytest.mark.parametrize(("name", "start"), CASES)
def test_minima_of_losses_with_an_edge_or_far_away(name, start, method, over):
    loss, want, _ = LOSSES[name]
    x = ng.DimArray([start, start], ("cell",)) if over else start
    fit = ng.minimize(lambda p: loss(p["x"]), {"x": x}, over=over, method=method)
    assert np.all(fit.status == 0)
    assert at(fit) == pytest.approx(want, rel=1e-4 if name in {"quartic", "far"} else 2e-6)


@pytest.mark.parametrize("start", [2.0, 3.0, 10.0, 100.0])
@pytest.mark.parametrize(("bounds", "want"), [((0.0, None), 1.0), ((2.0, None), 2.0), ((-5.0, 200.0), 1.0)])
def test_steps_out_of_the_domain_and_bounds(start, bounds, want):
    fit = ng.minimize(lambda p: p["x"] - np.log(p["x"]), {"x": start}, bounds={"x": bounds})
    assert fit.status == (3 if want == 2 else 0)
    assert at(fit) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("method", ["lbfgs", "newton-cg", "gradient-descent"])
@pytest.mark.parametrize("way", ["skipna", "bounds"])
def test_widths_below_0_are_outside_of_the_domain_where_sums_do_not_leave_out_nan(method, way):
    d = xr.DataArray(np.random.default_rng(0).standard_normal((300, 21)), dims=("cell", "n"))
    skipna, bounds = (False, None) if way == "skipna" else (True, {"s": (1e-3, None)})
    loss = lambda p, d: ((d - p["m"]) ** 2 / (2 * p["s"] ** 2) + np.log(p["s"])).sum(skipna=skipna)
    fit = ng.minimize(loss, {"m": 0.0, "s": 1.0}, d, over="cell", method=method, bounds=bounds)
    assert (fit.status == 0).all()
    np.testing.assert_allclose(fit.params["s"], d.std("n"), rtol=1e-6)


def test_maximum_likelihood_from_afar():
    rng = np.random.default_rng(0)
    waits = xr.DataArray(rng.gamma(3.0, 2.0, 200), dims="n")
    fit = ng.minimize(lambda p, d: (d / p["x"] + np.log(p["x"])).mean(skipna=False), {"x": 10.0}, waits)
    assert at(fit) == pytest.approx(float(waits.mean()), rel=1e-6)
    d = xr.DataArray(rng.normal(3, 0.5, 50), dims="n")
    loss = lambda p, d: (np.log(p["s"]) + (d - p["m"]) ** 2 / (2 * p["s"] ** 2)).mean()
    for start in ({"m": 0.0, "s": 10.0}, {"m": 100.0, "s": 1.0}, {"m": 0.0, "s": 0.1}):
        fit = ng.minimize(loss, start, d)
        assert fit.status == 0
        np.testing.assert_allclose([fit.params["m"], fit.params["s"]], [d.mean(), d.std()], rtol=1e-6)
    again = ng.minimize(loss, fit.params, d)
    assert again.status == 0
    np.testing.assert_allclose(again.params["s"], fit.params["s"], rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_many_parameters_with_an_edge_give_scipys_minimum(scale):
    rng = np.random.default_rng(2)
    A, b = rng.uniform(0.1, 1, (30, 8)), rng.poisson(40, 30).astype(float)
    matrix, counts = ng.DimArray(A, ("row", "k")), ng.DimArray(b, ("row",))

    def loss(p):
        mean = ng.dot(matrix, p["x"] / scale, dim="k")
        return (mean - counts * np.log(mean)).sum()

    def by_hand(x):
        return (A @ x - b * np.log(A @ x)).sum(), A.T @ (1 - b / (A @ x))

    start = np.full(8, 200.0)
    want = scipy.optimize.minimize(
        by_hand, np.full(8, 5.0), jac=True, bounds=[(1e-3, None)] * 8, method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 5000},
    )  # fmt: skip
    x = ng.DimArray(start * scale, ("k",))
    fit = ng.minimize(loss, {"x": x}, bounds={"x": (1e-3 * scale, None)})
    assert fit.status == 3
    np.testing.assert_allclose(fit.params["x"] / scale, want.x, atol=1e-3)
    assert float(fit.cost) <= want.fun + 1e-9 * abs(want.fun)


@pytest.mark.parametrize("method", [*SECOND, "gradient-descent", "adam"])
def test_what_has_no_minimum_does_not_converge(method):
    for loss in (np.log, lambda x: -x, lambda x: -np.exp(x), lambda x: -1 / x):
        fit = ng.minimize(lambda p, loss=loss: loss(p["x"]), {"x": 1.0}, method=method, max_iterations=50)
        assert fit.status in (1, 6)


@pytest.mark.parametrize("method", [*SECOND, "gradient-descent", "adam"])
@pytest.mark.parametrize(
    ("loss", "start"), [(np.log, -1.0), (np.log, 0.0), (np.exp, 1e4), (lambda x: 1 / x, 0.0), (np.sqrt, 0.0)]
)
def test_starts_outside_of_the_domain_say_so(method, loss, start):
    with np.errstate(all="ignore"):
        fit = ng.minimize(lambda p: loss(p["x"]), {"x": start}, method=method)
    assert fit.status == 5
    assert np.isnan(at(fit))


@pytest.mark.parametrize("method", SECOND)
def test_starts_that_a_bound_holds(method):
    square = lambda p: (p["x"] - 3) ** 2
    for start, bounds, want in ((5.0, (5.0, 10.0), 5.0), (7.0, (7.0, 7.0), 7.0), (-2.0, (-10.0, -2.0), -2.0)):
        fit = ng.minimize(square, {"x": start}, bounds={"x": bounds}, method=method)
        assert (fit.status, at(fit)) == (3, want)
    inward = ng.minimize(square, {"x": 1.0}, bounds={"x": (1.0, 5.0)}, method=method)
    assert inward.status == 0
    assert at(inward) == pytest.approx(3.0)
