"""Large arrays on NumPy: shortcuts along rows give what the plain calls give."""

from __future__ import annotations

import numpy as np
import pytest

import namedgrad as ng
from namedgrad.backends import NUMPY

RNG = np.random.default_rng(0)


def close(got, want, dtype):
    np.testing.assert_allclose(got, want, rtol=100 * np.finfo(dtype).eps, atol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 64, 65])
def test_sums_over_short_rows(size, dtype):
    x = RNG.normal(size=(300, 50, size)).astype(dtype)
    apart = np.repeat(x, 2, axis=2)[..., ::2]
    for y in (x, x[::2], x.transpose(1, 0, 2), np.asfortranarray(x), x[..., ::-1], apart):
        got = NUMPY.total(y, (2,))
        assert got.dtype == dtype
        assert got.shape == y.shape[:2]
        close(got, np.sum(y, axis=2, dtype="f8"), dtype)
        for axis in (0, 1):
            close(NUMPY.total(np.moveaxis(y, 2, axis), (axis,)), got, dtype)


def test_sums_over_short_rows_keep_what_is_not_finite():
    x = np.ones((10_000, 3))
    x[3, 1], x[4, 0], x[5] = np.nan, np.inf, -np.inf
    got = NUMPY.total(x, (1,))
    assert np.isnan(got[3])
    assert got[4] == np.inf
    assert got[5] == -np.inf
    assert (got[6:] == 3).all()


@pytest.mark.parametrize("shape", [(25_000,), (3, 25_000), (2, 200, 130), (40, 3)])
def test_inner_products_along_long_rows(shape):
    x, y = RNG.normal(size=(2, *shape))
    names = tuple("abc"[: len(shape)])
    for k in range(len(shape)):
        dims = names[k:]
        axis = tuple(range(k, len(shape)))
        got = ng.dot(ng.DimArray(x, names), ng.DimArray(y, names), dim=dims)
        np.testing.assert_allclose(got.data, (x * y).sum(axis), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(ng.norm(ng.DimArray(x, names), dims).data, np.sqrt((x * x).sum(axis)), rtol=1e-13)
    turned = ng.DimArray(np.asfortranarray(x), names), ng.DimArray(np.asfortranarray(y), names)
    np.testing.assert_allclose(ng.dot(*turned).item(), (x * y).sum(), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("where", ["everywhere", "once", "all of a row"])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "var", "std", "cumsum", "cumprod"])
def test_missing_numbers_among_many(name, where):
    x = RNG.uniform(0.99, 1.01, (400, 300))
    if where == "everywhere":
        x[RNG.random(x.shape) < 0.1] = np.nan
    elif where == "once":
        x[7, 11] = np.nan
    else:
        x[5] = np.nan
    theirs = getattr(np, "nan" + name)
    got = getattr(ng.DimArray(x, ("a", "b")), name)("b").data
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning) if where == "all of a row" and name in WARNS else np.errstate():
        want = theirs(x, axis=1)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    g = ng.grad(lambda x: getattr(x, name)("b").sum())(ng.DimArray(x, ("a", "b"))).data
    assert (g[np.isnan(x)] == 0).all()
    assert np.isfinite(g).all()


WARNS = {"mean", "max", "min", "var", "std"}


def test_extremes_of_what_is_present():
    x = np.array([[1.0, np.nan, 3.0, 3.0], [np.nan] * 4, [-np.inf, np.nan, -np.inf, -np.inf]])
    high = ng.DimArray(x, ("a", "b")).max("b")
    np.testing.assert_array_equal(high.data, [3.0, np.nan, -np.inf])
    g = ng.grad(lambda x: x.max("b").sum())(ng.DimArray(x, ("a", "b"))).data
    np.testing.assert_array_equal(g, [[0, 0, 0.5, 0.5], [0] * 4, [1 / 3, 0, 1 / 3, 1 / 3]])
    low = ng.DimArray(-x, ("a", "b")).min("b")
    np.testing.assert_array_equal(low.data, -high.data)


@pytest.mark.parametrize("kind", ["distinct", "ties", "few ties", "missing", "few missing", "integers"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_ranks_among_many(axis, kind):
    x = RNG.permutation(24 * 25 * 26).reshape(24, 25, 26).astype(float) - 999.0
    if kind == "ties":
        x = np.floor(x / 700)
    elif kind == "missing":
        x[RNG.random(x.shape) < 0.3] = np.nan
    elif kind.startswith("few"):  # in a few lines of every axis
        x[3, 4, 5:9] = x[3, 9:12, 5] = x[8:11, 4, 5] = 7000.5 if kind == "few ties" else np.nan
    elif kind == "integers":
        x = (x // 3).astype(np.int64)
    order = np.argsort(x, axis=axis, kind="stable")
    n = x.shape[axis]
    for start, stop in ((0, 1), (0, 5), (3, 4), (7, 12), (n - 5, n), (n - 1, n), (0, n - 1), (0, n), (4, 4)):
        want, cells = (np.take(a, range(start, stop), axis) for a in (order, np.sort(x, axis)))
        np.testing.assert_array_equal(NUMPY.ranked(x, axis, start, stop), want)
        np.testing.assert_array_equal(NUMPY.of_ranks(x, axis, start, stop), cells)
        np.testing.assert_array_equal(NUMPY.places_of(x, cells, axis, start, stop), want)
    np.testing.assert_array_equal(NUMPY.argsort(x, axis), order)
    np.testing.assert_array_equal(NUMPY.inverse_order(order, axis), np.argsort(order, axis))
    a = ng.DimArray(x, ("a", "b", "c"))
    _, at = ng.topk(a, 4, "abc"[axis], return_indices=True)
    down = np.flip(n - 1 - np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    np.testing.assert_array_equal(at.data, np.take(down, range(4), axis))
    _, at = ng.kthvalue(a, 3, "abc"[axis], return_indices=True)
    np.testing.assert_array_equal(at.data, np.take(order, 2, axis))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(4, 64, 70, 3), (4, 65, 8, 8), (4, 65, 9, 9), (2, 100, 100, 2)])
def test_sums_in_front_of_a_few_cells(shape, dtype):
    x = RNG.normal(size=shape).astype(dtype)
    for y in (x, x[:, ::2], np.asfortranarray(x)):
        for axis in ((1,), (2,), (1, 2), (0, 2)):
            got = NUMPY.total(y, axis)
            assert got.dtype == dtype
            np.testing.assert_allclose(got, np.sum(y, axis=axis, dtype="f8"), rtol=0, atol=1e4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "f2", "c16"])
@pytest.mark.parametrize("size", [(1,), (2,), (7,), (64,), (65,), (3, 4), (9, 8)])
def test_short_windows_are_reduced_as_copies_of_them(size, dtype):
    shape = (100,) * len(size) if len(size) > 1 else (30, 900)
    x = np.round(RNG.uniform(0.5, 2, shape) * 4).astype(dtype) / np.dtype(dtype).type(4) if dtype != "i8" else RNG.integers(1, 3, shape)
    window = np.lib.stride_tricks.sliding_window_view(x, size, tuple(range(-len(size), 0)))
    axis = tuple(range(window.ndim - len(size), window.ndim))
    copy = np.ascontiguousarray(window)
    precision = 1e-2 if dtype == "f2" else 2e-5 if dtype == "f4" else 1e-12
    for name in ("total", "prod", "max", "min"):
        if dtype in ("f2", "c16") and name != "total":
            continue
        got, want = getattr(NUMPY, name)(window, axis), {"total": np.sum}.get(name, getattr(np, name, None))(copy, axis=axis)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=precision)
    if dtype in ("f4", "f8"):
        np.testing.assert_allclose(NUMPY.var(window, axis, 0), np.var(copy, axis=axis, dtype="f8"), rtol=precision, atol=precision)
    if dtype != "c16" and len(size) == 1:
        np.testing.assert_array_equal(NUMPY.argmax(window, axis), np.argmax(copy, axis=axis[0]))
        np.testing.assert_array_equal(NUMPY.argmin(window, axis), np.argmin(copy, axis=axis[0]))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_in_its_windows(value):
    x = RNG.normal(size=(30, 900))
    x[3, 100:102], x[7, 0] = value, value
    window = np.lib.stride_tricks.sliding_window_view(x, 7, 1)
    copy = np.ascontiguousarray(window)
    with np.errstate(invalid="ignore"):
        for name in ("max", "min", "prod", "argmax", "argmin"):
            axis = (2,)
            want = getattr(np, name)(copy, axis=2)
            np.testing.assert_allclose(getattr(NUMPY, name)(window, axis), want, rtol=1e-12)
        np.testing.assert_allclose(NUMPY.var(window, (2,), 1), np.var(copy, axis=2, ddof=1), rtol=1e-11)


@pytest.mark.parametrize("size", [*range(2, 18)])
@pytest.mark.parametrize("kind", ["distinct", "ties", "integers", "nan", "infinite"])
def test_ranks_of_short_windows(size, kind):
    x = RNG.normal(size=(30, 900))
    if kind == "ties":
        x = np.round(x)
    if kind == "integers":
        x = RNG.integers(-5, 5, x.shape)
    if kind in ("nan", "infinite"):
        x[RNG.random(x.shape) < 0.1] = np.nan if kind == "nan" else np.inf
    window = np.lib.stride_tricks.sliding_window_view(x, size, 1)
    for rank in (np.array(0), np.array(size // 2), np.array([size // 2, size - 1]), np.array([[size // 2], [(size - 1) // 2]])):
        got = NUMPY.at_ranks(window, rank, 2)
        np.testing.assert_array_equal(got, np.sort(window, axis=2)[..., rank])
