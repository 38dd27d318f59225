"""Lazy xarray objects on real schedulers: chunks as the input has them, two workers, memory bounded by chunks."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.support.lazy import refuse
from tests.xarray.programs import field

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


def anomaly(x):
    months = x.groupby("time.month")
    return ((months - months.mean("time")) ** 2).mean()


def area_mean(x):
    return (x.weighted(np.cos(np.deg2rad(x.lat))).mean(("lat", "lon")) ** 2).mean()


PROGRAMS = {
    "anomaly": anomaly,
    "area mean": area_mean,
    "rolling": lambda x: (x.rolling(time=3).mean() ** 2).mean(),
    "neighbours": lambda x: (x.diff("lon") ** 2).sum() + (x.shift(time=1) * x).sum(),
    "spread": lambda x: x.where(x > 2.2).std("time").mean(),
    "dataset": lambda x: x.to_dataset(name="a").assign(b=x**2).to_array().mean(),
}


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.admin.tick.interval": "1h", "distributed.worker.profile.enabled": False}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("name", PROGRAMS)
def test_two_workers(client, name):
    f, x = PROGRAMS[name], field()
    lazy = x.chunk(time=12, lat=2)
    with dask.config.set(scheduler=refuse):
        value, g = ng.value_and_grad(f)(lazy)
    assert g.chunks == lazy.chunks
    assert g.coords.identical(x.coords)
    value, g = dask.compute(value, g, scheduler=client)
    expected = ng.grad(f)(x)
    np.testing.assert_allclose(g, expected, rtol=1e-9, atol=1e-12)
    assert value.item() == pytest.approx(f(x).item())
    assert len(client.scheduler_info()["workers"]) == 2


def test_both_workers_take_part(client):
    x = xr.DataArray(np.arange(40.0), dims="x").chunk(x=5)
    g = x.grad(lambda x: (x**2).sum())
    kept = client.persist(g)
    distributed.wait(kept)
    where = client.who_has(kept)
    assert len({worker for workers in where.values() for worker in workers}) == 2
    np.testing.assert_array_equal(kept, 2 * np.arange(40.0))


def test_over_jacobians_and_datasets(client):
    x = field()[:, :, 0]
    lazy = x.chunk(time=12, lat=1)
    for call in (
        lambda x: ng.grad(lambda x: x.std("time"), over="lat")(x),
        lambda x: ng.jacobian(lambda x: x.mean("time"), over="lat")(x),
        lambda x: ng.hessian(lambda x: (x**3).sum(), part="diagonal")(x),
        lambda x: ng.grad(lambda d: (d.a * d.a.lat).sum())(x.to_dataset(name="a")).a,
        lambda x: x.grad.sensitivity(lambda x: x.std(), density=x.area),
    ):
        with dask.config.set(scheduler=refuse):
            g = call(lazy)
        assert g.chunks is not None
        (g,) = dask.compute(g, scheduler=client)
        expected = call(x)
        assert g.dims == expected.dims
        np.testing.assert_allclose(g, expected, rtol=1e-9, atol=1e-12)


def test_fits(client):
    """The results of one fit, whose chunks lie on different workers, which may hand them to each other."""
    t = xr.DataArray(np.arange(12.0), dims="t", coords={"t": np.arange(12.0)})
    rate = xr.DataArray(np.linspace(0.1, 0.6, 6), dims="site", coords={"site": list("abcdef")})
    y = 3 * np.exp(-rate * t) + 0.01 * np.sin(5 * t)
    model, start = (lambda p, t: p["size"] * np.exp(-p["rate"] * t)), {"size": 1.0, "rate": 0.3}
    want = y.grad.fit(model, "t", start, over="site")
    with dask.config.set(scheduler=refuse):
        fit = y.chunk(site=2).grad.fit(model, "t", start, over="site")
        asked = [fit.params, fit.status, fit.confint(), fit.predict(), fit.predict([20.0, 30.0]), fit.residual]
        curve = y.chunk(site=2).grad.curvefit("t", lambda t, size, rate: size * np.exp(-rate * t), p0=start)
    *found, params = dask.compute(*asked, curve.curvefit_coefficients, scheduler=client)
    expected = [want.params, want.status, want.confint(), want.predict(), want.predict([20.0, 30.0]), want.residual]
    for x, known in zip(found, expected, strict=True):
        xr.testing.assert_allclose(x, known, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(params.sel(param="rate"), want.params.rate, rtol=1e-6)


BOUNDED = """
    import resource
    import dask, numpy as np, xarray as xr
    import dask.array as da
    import namedgrad as ng

    data = da.random.default_rng(0).normal(size=(48, 2**20), chunks=(12, 2**15))  # 3 MiB each
    x = xr.DataArray(data, dims=("time", "cell")) + 3.0
    weights = xr.DataArray(np.linspace(0.0, 1.0, 48), dims="time")
    f = lambda x: ((x * weights).mean("time") ** 2).sum() + np.log(abs(x) + 1).sum()

    def megabytes():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    with dask.config.set(scheduler="threads", num_workers=2):
        part = x.isel(cell=slice(0, 2**15))
        (ng.grad(f)(part) * part).sum().compute()
        before = megabytes()
        g = ng.grad(f)(x)
        assert g.chunks == x.chunks
        total = (g * x).sum().compute()  # takes every chunk of the gradient, keeps none
        print(x.nbytes / 2**20, megabytes() - before, float(total))
"""


def test_memory_is_bounded_by_chunks():
    """384 MiB of data, and as many of gradients, pass through a fraction of that."""
    command = [sys.executable, "-c", textwrap.dedent(BOUNDED)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    size, used, total = map(float, done.stdout.split())
    assert size == 384.0
    assert used < size / 4
    assert total > 0
