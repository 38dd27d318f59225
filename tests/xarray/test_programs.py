"""Every program: gradients of a random linear combination of its results against finite differences, with and without
missing cells, and over dims against the loop of slices."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.xarray.harness import STEP, check_gradient, cotangents, loss
from tests.xarray.programs import PROGRAMS, Program, field, with_gaps

EACH = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)


def compare(program: Program, x: xr.DataArray) -> xr.DataArray:
    g = check_gradient(program.function, x, directions=3, value_tolerance=1e-14)
    assert type(g.data) is np.ndarray
    assert g.dims == x.dims
    assert g.coords.identical(x.coords)
    return g


@EACH
def test_gradient_is_the_finite_difference(program):
    compare(program, field())


@EACH
def test_missing_cells_get_exactly_zero(program):
    x = with_gaps()
    g = compare(program, x)
    np.testing.assert_array_equal(g.values[x.isnull().values], 0.0)


@pytest.mark.parametrize(
    ("program", "dim"), [(p, d) for p in PROGRAMS for d in p.over], ids=lambda v: getattr(v, "name", v)
)
@pytest.mark.parametrize("data", [field, with_gaps])
def test_over_is_the_loop_of_slices(program, dim, data):
    x = data()
    weights = cotangents(program.function, x)

    def run(x: xr.DataArray, weights: list[xr.DataArray]) -> xr.DataArray:
        return loss(program.function, x, weights)

    value, g = ng.value_and_grad(run, over=dim)(x, weights)
    slices = [
        ng.value_and_grad(run)(x.isel({dim: i}), [w.isel({dim: i}, missing_dims="ignore") for w in weights])
        for i in range(x.sizes[dim])
    ]
    expected = np.stack([s[1].values for s in slices], axis=x.dims.index(dim))
    np.testing.assert_allclose(g.values, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    assert g.coords.identical(x.coords)
    np.testing.assert_allclose(value.values, [s[0].item() for s in slices], rtol=1e-12)
    assert value.dims == (dim,)
    assert value[dim].variable.identical(x[dim].variable)


@pytest.mark.parametrize(
    "name", ["operators", "with its own mean", "groupby anomalies", "rolling mean", "weighted by data", "corr"]
)
def test_second_order(name):
    program = next(p for p in PROGRAMS if p.name == name)
    x = field()
    weights = cotangents(program.function, x)
    f = lambda x: loss(program.function, x, weights)
    v = x.copy(data=np.random.default_rng(5).normal(size=x.shape))
    g = ng.grad(f)
    expected = (g(x + STEP * v) - g(x - STEP * v)) / (2 * STEP)
    np.testing.assert_allclose(ng.hvp(f, x, v).values, expected.values, rtol=1e-5, atol=1e-6)


def test_single_precision_stays():
    x = field(dtype=np.float32)
    g = ng.grad(lambda x: (x.groupby("time.month") - x.groupby("time.month").mean()).std())(x)
    assert g.dtype == np.float32
