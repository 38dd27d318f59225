"""Slopes of Carlson's integrals, first and second, where operands are apart, next to each other, at 0 and far away."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import namedgrad as ng

RNG = np.random.default_rng(3)
COUNTS = {"elliprc": 2, "elliprd": 3, "elliprf": 3, "elliprg": 3, "elliprj": 4}
POINTS = [
    RNG.uniform(0.1, 3, 4),
    np.exp(RNG.uniform(-8, 8, 4)),  # too far apart for nodes that others share
    np.exp(RNG.uniform(-20, 20, 4)),
    1.3 + 1e-9 * RNG.normal(size=4),
    1.3 + 1e-3 * RNG.normal(size=4),
    np.array([1.0, 2.0, 1.0 + 1e-7, 2.0 - 1e-8]),
    np.array([1e-3, 50.0, 50.1, 1e-3 + 1e-9]),
]


def cells(count: int) -> list[ng.DimArray]:
    return [ng.DimArray(x, "x") for x in np.array(POINTS)[:, :count].T]


def known(name: str, count: int, *ks: int) -> np.ndarray:
    mp: Any = pytest.importorskip("mpmath")
    with mp.workdps(25):
        order = tuple(ks.count(k) for k in range(count))
        return np.array([float(mp.diff(getattr(mp, name), tuple(map(mp.mpf, p[:count].tolist())), order)) for p in POINTS])


@pytest.mark.parametrize(("name", "count"), COUNTS.items())
def test_slopes(name: str, count: int) -> None:
    xs = cells(count)
    for k in range(count):
        found = ng.grad(lambda *xs: getattr(ng, name)(*xs).sum(), k)(*xs)
        np.testing.assert_allclose(found.data, known(name, count, k), rtol=3e-14)


@pytest.mark.parametrize(("name", "count"), COUNTS.items())
def test_second_slopes(name: str, count: int) -> None:
    xs = cells(count)
    for j, k in itertools.combinations_with_replacement(range(count), 2):
        slope = ng.grad(lambda *xs: getattr(ng, name)(*xs).sum(), j)
        found = ng.grad(lambda *xs, slope=slope: slope(*xs).sum(), k)(*xs)
        np.testing.assert_allclose(found.data, known(name, count, j, k), rtol=1e-13)
