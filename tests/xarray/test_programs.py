"""Every program: gradients of a random linear combination of its results against finite differences, with and without
missing cells, and over dims against the loop of slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.xarray.programs import PROGRAMS, Program, field, with_gaps

STEP = 2e-5
EACH = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)


def arrays(out: Any) -> list[xr.DataArray]:
    return list(out.data_vars.values()) if isinstance(out, xr.Dataset) else [out]


def cotangents(program: Program, x: xr.DataArray) -> list[xr.DataArray]:
    """Random weights like the results, without coordinates, so that they align by dims alone."""
    rng = np.random.default_rng(7)
    return [xr.DataArray(rng.normal(size=a.shape), dims=a.dims) for a in arrays(program.function(x))]


def loss(program: Program, x: xr.DataArray, weights: list[xr.DataArray]) -> xr.DataArray:
    out = [xr.DataArray(a.variable) for a in arrays(program.function(x))]
    total = (out[0] * weights[0]).sum()
    for a, w in zip(out[1:], weights[1:], strict=True):
        total = total + (a * w).sum()
    return total


def slope(program: Program, x: xr.DataArray, weights: list[xr.DataArray], along: np.ndarray) -> float:
    """Directional derivative by central differences, extrapolated."""

    def central(h: float) -> float:
        ends = (loss(program, x.copy(data=x.values + s * h * along), weights).item() for s in (1, -1))
        return float(np.subtract(*ends)) / (2 * h)

    return (4 * central(STEP / 2) - central(STEP)) / 3


def compare(program: Program, x: xr.DataArray) -> xr.DataArray:
    weights = cotangents(program, x)
    before = x.copy(deep=True)
    value, g = ng.value_and_grad(lambda x: loss(program, x, weights))(x)
    assert x.identical(before)
    assert value.item() == pytest.approx(loss(program, x, weights).item(), rel=1e-14)
    assert type(g.data) is np.ndarray
    assert g.dims == x.dims
    assert g.dtype == x.dtype
    assert g.coords.identical(x.coords)
    present = x.notnull().values
    rng = np.random.default_rng(3)
    for _ in range(3):
        along = np.where(present, rng.normal(size=x.shape), 0)
        expected = slope(program, x, weights, along)
        assert np.vdot(g.values, along) == pytest.approx(expected, rel=2e-6, abs=1e-6 * np.abs(g.values).sum())
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
    weights = cotangents(program, x)

    def run(x: xr.DataArray, weights: list[xr.DataArray]) -> xr.DataArray:
        return loss(program, x, weights)

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
    weights = cotangents(program, x)
    f = lambda x: loss(program, x, weights)
    v = x.copy(data=np.random.default_rng(5).normal(size=x.shape))
    g = ng.grad(f)
    expected = (g(x + STEP * v) - g(x - STEP * v)) / (2 * STEP)
    np.testing.assert_allclose(ng.hvp(f, x, v).values, expected.values, rtol=1e-5, atol=1e-6)


def test_single_precision_stays():
    x = field(dtype=np.float32)
    g = ng.grad(lambda x: (x.groupby("time.month") - x.groupby("time.month").mean()).std())(x)
    assert g.dtype == np.float32
