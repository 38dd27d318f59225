"""Resampling and signals with axis numbers: images as (batch, channel, ...), coordinates along their axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage

import namedgrad as ng

RNG = np.random.default_rng(0)
IMAGE = RNG.normal(size=(2, 3, 4, 5))
P = ng.positional(IMAGE)
NAMED = ng.DimArray(IMAGE, ("n", "c", "h", "w"))


def same(found: Any, expected: Any) -> None:
    assert np.allclose(found.data, expected, rtol=0, atol=1e-14 * np.abs(expected).max(initial=100.0))


def test_sizes_of_spatial_axes() -> None:
    expected = ng.interpolate(NAMED, {"h": 7, "w": 3}, mode="bilinear").data
    same(ng.interpolate(P, (7, 3), mode="bilinear"), expected)
    same(ng.interpolate(P, {2: 7, -1: 3}, mode="bilinear"), expected)
    same(ng.upsample(P, scale_factor=2), np.repeat(np.repeat(IMAGE, 2, 2), 2, 3))
    with pytest.raises(ng.AxisError, match="3 sizes"):
        ng.interpolate(P, (1, 2, 3))


def test_grids() -> None:
    theta = RNG.normal(size=(2, 2, 3))
    grid = ng.affine_grid(ng.positional(theta), (2, 3, 6, 7))
    named = ng.affine_grid(ng.DimArray(theta, ("n", "r", "c")), {"H": 6, "W": 7}, ("r", "c"))
    same(grid, named.data)
    same(ng.grid_sample(P, grid), ng.grid_sample(NAMED, named, dims=("h", "w"), coord="r").data)


def test_gradients_of_a_batch_are_those_of_its_images() -> None:
    grid = RNG.uniform(-1, 1, (2, 3, 3, 2))
    whole = ng.grad(lambda x, g: (ng.grid_sample(x, g) ** 2).sum(), wrt=(0, 1))(P, ng.positional(grid))
    for k in range(2):
        one = ng.grad(lambda x, g: (ng.grid_sample(x, g) ** 2).sum(), wrt=(0, 1))(IMAGE[k : k + 1], grid[k : k + 1])
        for a, b in zip(whole, one, strict=True):
            assert np.allclose(a.data[k : k + 1], b, rtol=0, atol=1e-12)


def test_along_an_axis() -> None:
    where, at = np.sort(RNG.uniform(0, 3, 4)), RNG.uniform(0, 3, (6, 2))
    same(ng.interp(P, at, where, "cubic", dim=2, fill_value="extrapolate"), scipy.interpolate.CubicSpline(where, IMAGE, axis=2)(at))
    same(ng.differentiate(P, where, dim=2), np.gradient(IMAGE, where, axis=2))
    same(ng.integrate(P, where, dim=2), np.trapezoid(IMAGE, where, axis=2))
    for found, expected in zip(ng.gradient(P, dim=(1, 3)), np.gradient(IMAGE, axis=(1, 3)), strict=True):
        same(found, expected)
    same(ng.map_coordinates(P, RNG.uniform(0, 3, (4, 6)) * 0 + 1, mode="nearest"), np.full(6, IMAGE[1, 1, 1, 1]))


def test_convolution_and_polynomials() -> None:
    kernel = RNG.normal(size=3)
    same(ng.convolve(P, kernel), np.apply_along_axis(np.convolve, -1, IMAGE, kernel))
    same(ng.polyval(P, kernel), np.polyval(kernel, IMAGE))
    y, x = RNG.normal(size=(9, 3)), RNG.normal(size=9)
    same(ng.polyfit(ng.positional(y), x, dim=0, deg=2), np.polyfit(x, y, 2))
    same(np.polyfit(x, ng.positional(y), 2, w=np.arange(1.0, 10.0)), np.polyfit(x, y, 2, w=np.arange(1.0, 10.0)))
    same(np.vander(ng.positional(x), 4, increasing=True), np.vander(x, 4, increasing=True))


@pytest.mark.parametrize("period", [None, 2.0])
def test_interp_with_and_without_period(period: float | None) -> None:
    at, known, values = RNG.uniform(-5, 5, 20), np.sort(RNG.uniform(0, 2, 6)), RNG.normal(size=6)
    same(np.interp(ng.positional(at), known, values, period=period), np.interp(at, known, values, period=period))
    same(np.interp(at, ng.positional(known), values, period=period), np.interp(at, known, values, period=period))
    if period is None:
        same(np.interp(at, known, ng.positional(values), -7.0, 9.0), np.interp(at, known, values, -7.0, 9.0))
