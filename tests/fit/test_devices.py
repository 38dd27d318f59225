"""Data on another device are fitted there: the same answers, NumPy results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from namedgrad.fit import residuals
from tests.fit.problems import START, labelled, model, named, observations, stacked
from tests.support import fake_cupy
from tests.support.fake_cupy.counts import stats

OVER = ("lat", "lon")


def residual(p, t, y):
    """The exponential in functions of namedgrad, which take every device."""
    return p["size"] * ng.exp(-p["rate"] * t) + p["offset"] - y


def moved(cupy, *arrays):
    """The arrays on the device."""
    return [ng.DimArray(cupy.asarray(a.data), a.dims) for a in arrays]


@pytest.fixture(params=["few", "many"])
def algebra(request, monkeypatch):
    """Few cells are worked on by the host, many where their data are."""
    if request.param == "many":
        monkeypatch.setattr(residuals, "FEW", 0)


OPTIONS = [
    {}, {"loss": "huber", "sigma": 2.0}, {"bounds": {"rate": (0, 1)}}, {"fixed": ["offset"]},
    {"prior": {"rate": (0.5, 0.1)}}, {"bounds": {"rate": (0, 1), "size": (2, 3), "offset": (-1, 0.5)}}, {"chunk": 5},
]  # fmt: skip


@pytest.mark.usefixtures("algebra")
@pytest.mark.parametrize("options", OPTIONS)
def test_least_squares(cupy, options):
    y = observations()
    y[3, 1, 1] = np.nan
    host = named(y)
    want = ng.least_squares(residual, START, *host, over=OVER, **options)
    got = ng.least_squares(residual, START, *moved(cupy, *host), over=OVER, **options)
    np.testing.assert_allclose(stacked(got.params), stacked(want.params), rtol=1e-7)
    np.testing.assert_array_equal(got.status, want.status)
    for name in ("covariance", "r2", "aic", "residual"):
        np.testing.assert_allclose(getattr(got, name), getattr(want, name), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(got.predict(), want.predict(), rtol=1e-6)


@pytest.mark.parametrize("method", ["lbfgs", "newton-cg"])
def test_minimize(cupy, method):
    def loss(p, t, y):
        return (residual(p, t, y) ** 2).mean()

    host = named(observations())
    want = ng.least_squares(residual, START, *host, over=OVER)
    got = ng.minimize(loss, START, *moved(cupy, *host), over=OVER, method=method)
    np.testing.assert_allclose(stacked(got.params), stacked(want.params), rtol=1e-4)


@pytest.mark.parametrize("minimized", [False, True])
def test_start_values_and_bounds_from_the_host(cupy, minimized):
    def again(data, f, **options):
        loss = lambda p, t, y: (f(p, t, y) ** 2).sum()
        solve = ng.minimize if minimized else ng.least_squares
        return solve(loss if minimized else f, before, *data, over=OVER, bounds=limits, **options)

    host = [xr.DataArray(a.data, dims=a.dims) for a in named(observations())]
    there = [x.copy(data=cupy.asarray(x.values)) for x in host]
    off = lambda p, t, y: p["size"] * np.exp(-p["rate"] * t) + p["offset"] - y
    before = dict(ng.least_squares(off, START, *there, over=OVER, max_iterations=2).params)
    limits = {"rate": (before["rate"] / 4, before["rate"] * 1.01)}
    want, got = again(host, off), again(there, off)
    np.testing.assert_array_equal(got.status, want.status)
    np.testing.assert_allclose(stacked(got.params), stacked(want.params), rtol=1e-4 if minimized else 1e-7)


def test_two_devices_do_not_mix(cupy):
    t, y = named(observations())
    with pytest.raises(TypeError, match="different devices"):
        ng.least_squares(residual, START, t, *moved(cupy, y), over=OVER)


def curve(t, a, b, c):
    """The same for curvefit, in NumPy's functions, which arrays of every device take part in."""
    return a * np.exp(-b * t) + c


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"p0": {"a": 1.0, "b": 1.0, "c": 0.0}, "bounds": {"b": (0, 1)}},
        {"kwargs": {"sigma": np.linspace(1, 2, 30), "absolute_sigma": True}},
    ],
)
def test_curvefit(cupy, options):
    da = labelled(observations())
    da[3, 1, 1] = np.nan
    want = ng.curvefit(da, "time", curve, **options)
    got = ng.curvefit(da.copy(data=cupy.asarray(da.values)), "time", curve, **options)
    np.testing.assert_allclose(got.curvefit_coefficients, want.curvefit_coefficients, rtol=1e-6)
    np.testing.assert_allclose(got.curvefit_covariance, want.curvefit_covariance, rtol=1e-5, atol=1e-9)
    np.testing.assert_array_equal(got.curvefit_status, want.curvefit_status)


@pytest.mark.parametrize("at", ["time", "array"])
def test_a_model_of_a_coordinate(cupy, at):
    da = labelled(observations())
    there = da.copy(data=cupy.asarray(da.values))
    coord = "time" if at == "time" else xr.DataArray(cupy.asarray(da.time.values), dims="time")
    want = da.grad.fit(model, "time", START, over=OVER)
    got = there.grad.fit(model, coord, START, over=OVER)
    np.testing.assert_allclose(stacked(got.params), stacked(want.params), rtol=1e-7)
    np.testing.assert_allclose(got.predict(), want.predict(), rtol=1e-6)
    for later in ([5.0, 6.0], np.array([5, 6]), 5.0):
        np.testing.assert_allclose(got.predict(later), want.predict(later), rtol=1e-6)


def test_start_values(cupy):
    host = named(observations())
    want = ng.least_squares(residual, [*START], *host, over=OVER)
    got = ng.least_squares(residual, [*START], *moved(cupy, *host), over=OVER)
    np.testing.assert_allclose(stacked(got.params), stacked(want.params), rtol=1e-6)


@pytest.mark.parametrize("options", [{"fixed": "offset"}, {"bounds": {"rate": (0, 0.7)}}, {"shared": ["rate"]}])
def test_derivatives_where_numbers_come_from_the_host(cupy, options):
    host = named(observations())
    t, y = moved(cupy, *host)

    def rate(t, y):
        fit = ng.least_squares(residual, START, t, y, over=OVER, tol=1e-12, **options)
        return (fit.params["rate"] ** 2).sum() + fit.params["size"].sum()

    gradient = ng.grad(lambda y: rate(t, y))(y)
    assert gradient.backend == "cupy"
    along, h = np.random.default_rng(0).normal(size=y.shape), 1e-5
    ends = [float(rate(host[0], ng.DimArray(host[1].data + s * h * along, y.dims))) for s in (1, -1)]
    got = np.sum(gradient.to_numpy() * along)
    np.testing.assert_allclose(got, (ends[0] - ends[1]) / (2 * h), rtol=1e-4, atol=1e-6)


def test_derivatives_with_respect_to_a_bound_on_the_host(cupy):
    t, y = moved(cupy, *named(observations()))

    def size(upper):
        return ng.least_squares(residual, START, t, y, over=OVER, bounds={"rate": (0, upper)}).params["size"].sum()

    want = (float(size(0.7 + 1e-5)) - float(size(0.7 - 1e-5))) / 2e-5
    np.testing.assert_allclose(float(ng.grad(size)(0.7)), want, rtol=1e-4)


def test_as_many_iterations_as_on_the_host(cupy):
    """Which terms are linear is read off the calls, by their names."""
    host = named(observations())
    want = ng.least_squares(residual, START, *host, over=OVER)
    got = ng.least_squares(residual, START, *moved(cupy, *host), over=OVER)
    np.testing.assert_allclose(got.iterations, want.iterations, atol=1)
    assert got.iterations.max() < 9


def test_an_evaluation_waits_once(monkeypatch):
    cupy = fake_cupy.installed(monkeypatch)
    data = moved(cupy, *named(observations()))
    stats.reset()
    got = ng.least_squares(residual, START, *data, over=OVER)
    assert stats.syncs <= int(got.iterations.max()) + 8


def cells(count):
    """Exponentials, some of which take long; some have missing data."""
    rng = np.random.default_rng(4)
    t, slow = np.linspace(0, 4, 30), np.arange(count) % 60 == 7
    noise = 0.02 * rng.normal(size=(count, 30))
    y = rng.uniform(1, 3, (count, 1)) * np.exp(-np.where(slow, 4.0, 0.8)[:, None] * t) + noise
    y[::50, 3] = np.nan
    return [ng.DimArray(t, "t"), ng.DimArray(y, ("cell", "t"))]


@pytest.mark.parametrize("few", [0, 40, 1000])
@pytest.mark.parametrize("chunk", [None, 70])
def test_the_last_cells_of_many(cupy, monkeypatch, few, chunk):
    """They are evaluated by themselves, and those that are few are worked on by the host."""
    monkeypatch.setattr(residuals, "FEW", few)
    host = cells(300)
    want = ng.least_squares(residual, START, *host, over="cell")
    got = ng.least_squares(residual, START, *moved(cupy, *host), over="cell", chunk=chunk)
    np.testing.assert_array_equal(got.status, want.status)
    np.testing.assert_allclose(got.iterations, want.iterations, atol=1)
    for name in START:
        np.testing.assert_allclose(got.params[name].to_numpy(), want.params[name].to_numpy(), rtol=1e-6, atol=1e-9)


def test_what_an_iteration_asks_of_a_device_does_not_grow_with_the_cells(monkeypatch):
    cupy = fake_cupy.installed(monkeypatch)
    monkeypatch.setattr(residuals, "FEW", 0)
    for count in (300, 3000):
        data = moved(cupy, *cells(count))
        stats.reset()
        got = ng.least_squares(residual, START, *data, over="cell")
        iterations = int(got.iterations.max())
        assert stats.syncs <= 14 * iterations
        assert stats.copies <= 30 * iterations
        assert stats.launches <= 900 * iterations
        assert stats.sent <= 130 * count, "the start, and where the cells are that go on"


def test_one_recording_serves_all_sizes(monkeypatch):
    """The function is not called for the cells that are left, and these are not padded."""
    cupy = fake_cupy.installed(monkeypatch)
    monkeypatch.setattr(residuals, "FEW", 0)
    sizes = []

    def seen(p, t, y):
        sizes.append(p["rate"].full_shape[0] if p["rate"].full_shape else 0)
        return residual(p, t, y)

    t, y = cells(3000)
    ng.least_squares(seen, START, *moved(cupy, t, ng.DimArray(np.nan_to_num(y.data), y.dims)), over="cell")
    assert sizes
    assert max(sizes) < 100
