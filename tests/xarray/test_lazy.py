"""dask arrays inside xarray objects: lazy in, lazy out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.support.lazy import refuse
from tests.xarray.harness import check_gradient, check_over, quiet
from tests.xarray.programs import PROGRAMS, field

dask = pytest.importorskip("dask")


LAZY = (
    "operators", "where", "mean", "std", "cumsum", "dot", "weighted mean", "weighted by data", "groupby anomalies",
    "rolling mean", "isel", "concat", "stack", "shift",
)  # fmt: skip


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.name in LAZY], ids=lambda p: p.name)
def test_nothing_computes_until_asked(program):
    x = field()
    loss = lambda x: (program.function(x) ** 2).sum()
    with dask.config.set(scheduler=refuse):
        value, g = ng.value_and_grad(loss)(x.chunk(time=12, lon=2))
    assert g.chunks is not None
    assert g.coords.identical(x.coords)
    expected = ng.grad(loss)(x)
    np.testing.assert_allclose(g.compute(), expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(value.compute(), loss(x), rtol=1e-12)


@pytest.mark.parametrize(
    "program",
    [lambda x: x.isel(lat=[1, 1, 0]).resample(time="YS").first(), lambda x: x[:, :2].weighted(x.area[:2]).sum("lat")],
    ids=["first of each year", "weighted"],
)  # fmt: skip
def test_how_arrays_of_numpy_would_lie_is_not_asked_of_lazy_ones(program):
    """Not of operands that are not differentiated either: which cells are present, and weights."""
    x = field().where(field() > 1.5).assign_coords(area=("lat", [1.0, 2.0, 3.0]))
    loss = lambda x: (program(x) ** 2).sum()
    computed = []
    with warnings.catch_warnings(), dask.config.set(scheduler=lambda *args, **_: computed.append(args)):
        warnings.simplefilter("ignore")  # an error would be taken as no answer
        g = ng.grad(loss)(x.chunk(time=12, lon=2))
    assert not computed
    np.testing.assert_allclose(g.compute(), ng.grad(loss)(x), rtol=1e-10)


def test_over_dims_of_a_lazy_array():
    x = field()
    f = lambda x: (x * x.lat).std()
    with dask.config.set(scheduler=refuse):
        g = ng.grad(f, over="lat")(x.chunk(time=12, lat=1))
    np.testing.assert_allclose(g.compute(), ng.grad(f, over="lat")(x), rtol=1e-10)


def test_arrays_made_inside_are_lazy_and_cut_alike():
    x = field().chunk(time=12, lon=2)
    seen = []

    def loss(x):
        makers = (np.zeros_like, np.ones_like, lambda a: np.full_like(a, 2.0), lambda a: np.zeros(a.shape, like=a))
        seen.extend(make(x.data) for make in makers)
        return sum((x * xr.Variable(x.dims, a)).sum() for a in seen)

    with dask.config.set(scheduler=refuse):
        g = ng.grad(loss)(x)
    assert [a.data.chunks for a in seen if a.data is not None] == [x.chunks] * 4
    np.testing.assert_array_equal(g.compute(), 3.0)


@pytest.mark.parametrize("gaps", [False, True])
def test_lines_with_gaps_are_fitted_lazily(gaps):
    x = field().where(field() > 2.0) if gaps else field()
    loss = lambda x: (x.polyfit("time", 1).polyfit_coefficients ** 2).sum()
    lazy = x.chunk(time=12, lon=2)
    with dask.config.set(scheduler=refuse):
        g = ng.grad(loss)(lazy)
    assert g.chunks == lazy.chunks
    np.testing.assert_allclose(g.compute(), ng.grad(loss)(x), rtol=1e-6, atol=1e-12)


def test_windows_longer_than_chunks():
    x = field()
    loss = lambda x: (x.cumulative("time").sum() ** 2).sum()
    with dask.config.set(scheduler=refuse):
        g = ng.grad(loss)(x.chunk(time=12))
    np.testing.assert_allclose(g.compute(), ng.grad(loss)(x), rtol=1e-10)


@pytest.mark.parametrize("options", [{"method": "cubic"}, {"method": "quadratic", "fill_value": "extrapolate"}, {"method": "polynomial", "order": 3},
                                     {"method": "spline", "s": 0, "order": 2}, {"method": "cubic", "bounds_error": False, "fill_value": 3.0},
                                     {"method": "krogh"}])  # fmt: skip
def test_splines_through_gaps(options):
    """Where cells are missing is seen when the values are there: chunk by chunk, at every run of a compiled program."""
    x = field()[:12].where(np.random.default_rng(0).random((12, 3, 4)) > 0.15)
    assert x.count("time").min() > 5
    f = lambda x: (x.interpolate_na("time", use_coordinate=False, **options) ** 2).sum()
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # of splines in xarray
        g = ng.grad(f)(x)
        lazy = ng.grad(f)(x.chunk(lat=1))
        assert lazy.chunks is not None
        np.testing.assert_allclose(lazy, g, rtol=1e-9)
        compiled = ng.compile(ng.value_and_grad(f))
        for y in (x, x.where(x.lon > 90, field()[:12])):
            value, gradient = compiled(y)
            assert float(value) == pytest.approx(float(f(y)), rel=1e-9)
            np.testing.assert_allclose(gradient, ng.grad(f)(y), rtol=1e-9)
        assert compiled.cache_info().recordings == 1
        check_gradient(lambda x: x.interpolate_na("time", use_coordinate=False, **options), x, tolerance=1e-5, value_tolerance=1e-9)
        check_over(lambda x: x.interpolate_na("time", use_coordinate=False, **options), x, "lat")


def test_extremes_and_blocks_of_a_dataset():
    ds = xr.Dataset({"a": field(), "whole": ("lat", [1, 2, 3])})
    for f in (
        lambda d: (d[["a"]].idxmax("lon").a * d.a.sum("lon") * d.whole).sum(),
        lambda d: xr.map_blocks(lambda d: d[["a"]] ** 2 * d.whole, d).a.sum(),
    ):
        g = ng.grad(f)(ds.chunk(time=8))
        assert g.a.chunks is not None
        np.testing.assert_allclose(g.a, ng.grad(f)(ds).a)
