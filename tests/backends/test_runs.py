"""Large arrays on NumPy: writers whose positions ascend, and extremes of long windows, by shortcuts."""

from __future__ import annotations

import numpy as np
import pytest

import namedgrad as ng
from namedgrad.backends import NUMPY
from namedgrad.backends.runs import ascending_sums
from namedgrad.backends.windows import Span

RNG = np.random.default_rng(0)


def added(g, index, size):
    """The loop over rows, by NumPy."""
    out = np.zeros((*g.shape[:-1], size), g.dtype)
    rows = np.broadcast_to(index, g.shape)
    for at in np.ndindex(g.shape[:-1]):
        np.add.at(out[at], rows[at], g[at])
    return out


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("rows", [(), (7,), (2, 5)])
@pytest.mark.parametrize("own", [False, True])
def test_sums_of_runs(rows, own, dtype):
    g = RNG.normal(size=(*rows, 2000)).astype(dtype)
    index = np.sort(RNG.integers(0, 30, (*rows, 2000) if own else 2000), axis=-1)
    index[index == 4] = 3  # nothing is added to 4, nor to the last ones
    got = NUMPY.scatter_add(g, index, shared=len(rows) if own else 0, sizes=(35,))
    assert got.dtype == g.dtype
    assert ascending_sums(g, index, len(rows) if own else 0, 35) is not None
    np.testing.assert_allclose(got, added(g, index, 35), rtol=0, atol=1e-4 if dtype == "f4" else 1e-12)


@pytest.mark.parametrize("change", ["once down", "down at the end", "short runs", "random"])
def test_positions_that_do_not_ascend_in_long_runs(change):
    g, index = RNG.normal(size=(3, 2000)), np.sort(RNG.integers(0, 30, (3, 2000)), axis=-1)
    if change == "once down":
        index[1, 1000] = 0
    elif change == "down at the end":
        index[2, -1] = 0
    else:
        index = np.tile(np.arange(2000), (3, 1)) if change == "short runs" else RNG.integers(0, 30, (3, 2000))
    assert ascending_sums(g, index, 1, 2000) is None
    got = NUMPY.scatter_add(g, index, shared=1, sizes=(2000,))
    np.testing.assert_allclose(got, added(g, index, 2000), rtol=0, atol=1e-12)


@pytest.mark.parametrize("wrong", [-1, 30])
@pytest.mark.parametrize("own", [False, True])
def test_ascending_positions_out_of_range(wrong, own):
    index = np.repeat(np.arange(20), 100)
    index[index == (0 if wrong < 0 else 19)] = wrong
    with pytest.raises(IndexError):
        NUMPY.scatter_add(np.ones((3, 2000)), np.tile(index, (3, 1)) if own else index, shared=int(own), sizes=(30,))


def test_runs_keep_what_is_not_finite_apart():
    g, index = np.ones((2, 2000)), np.repeat(np.arange(20), 100)
    g[0, 150], g[1, 1999] = np.nan, np.inf
    got = NUMPY.scatter_add(g, index, shared=0, sizes=(20,))
    assert np.isnan(got[0, 1])
    assert got[1, 19] == np.inf
    assert (np.delete(got.ravel(), [1, 39]) == 100).all()


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8, 9, 16, 17])
@pytest.mark.parametrize("dtype", ["f8", "i8", "bool"])
def test_extremes_of_windows(size, dtype):
    x = (5 * RNG.normal(size=(4, 23))).astype(dtype)
    if dtype == "f8":
        x[1, 3], x[2, 10:] = np.nan, np.nan
    for before in (0, 3, size - 1):
        n = 23 - max(0, size - 1 - before)
        got = NUMPY.window_fmax(x, 1, Span(size, n, before=before)), NUMPY.window_max(x, 1, Span(size, n, before=before))
        for i in range(n):
            cells = x[:, max(0, i - before) : i - before + size]
            least = np.full((4, 1), -np.inf if dtype == "f8" else np.iinfo("i8").min if dtype == "i8" else False)
            np.testing.assert_array_equal(got[0][:, i], np.fmax.reduce(np.concatenate([least, cells], 1), axis=1))
            np.testing.assert_array_equal(got[1][:, i], cells.max(1))


@pytest.mark.parametrize("size", [5, 12, 30, 40])
def test_long_rolling_windows(size):
    x = RNG.normal(size=(3, 30))
    x[1, 7] = np.nan
    a = ng.DimArray(x, ("a", "time"))
    got = a.rolling(time=size, min_periods=1).max().data
    for i in range(30):
        np.testing.assert_array_equal(got[:, i], np.fmax.reduce(x[:, max(0, i - size + 1) : i + 1], axis=1))
