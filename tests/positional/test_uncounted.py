"""``x[mask]`` that chooses another number of cells in each slice, or one that a program leaves open.

The programs are NumPy's own: on plain slices NumPy runs them, and differences of what it finds are the derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from tests.support.oracles import richardson
from tests.support.tolerances import FIRST, REFERENCE, ROUNDING, SECOND

RNG = np.random.default_rng(3)
X = RNG.normal(size=(4, 9))
X[1] = -np.abs(X[1]) - 0.1
X[1, 4] = 0.7  # one cell is chosen
COTANGENT = np.array([1.3, -0.4, 0.8, -2.1])


def absolute(x: Any) -> Any:
    y = x.copy()
    y[y < 0] = -y[y < 0]
    return (y * np.cos(y)).sum()


def added(x: Any) -> Any:
    y = x * 2
    y[x > 0] += 1.5
    y[x < 0] *= x[x < 0]
    return (y * y).sum()


def gathered(x: Any) -> Any:
    y = np.zeros_like(x)
    m = x > -0.2
    y[m] = np.sqrt(x[m] + 0.3) / (1 + x[m])
    y[~m] = np.exp(x[~m])
    return (y * x).sum()


def reduced(x: Any) -> Any:
    v = np.log(x[x > 0])
    return v.sum() * v.mean() + np.prod(v) + np.exp(v).max() - np.exp(v).min() + np.any(v > 0) + np.count_nonzero(v) + v.size


def spread(x: Any) -> Any:
    v = x[x < 0.75]
    return v.std() + np.var(v, ddof=1) * np.median(v) + np.percentile(v, 30) * np.quantile(v, 0.8) + np.ptp(x)


def standardised(x: Any) -> Any:
    v = x[x < 0.75]
    v -= v.mean()
    v /= v.std()
    return (v**3).mean()


def met(x: Any) -> Any:
    m = x > 0
    v, w = x[m], np.sin(x)[m]
    return np.dot(v, w) + v @ v + np.average(v, weights=np.exp(w)) + np.where(w > 0.5, v, w * w).sum() + np.clip(v, 0.2, 0.9).sum()


def chosen_again(x: Any) -> Any:
    v = x[x > -0.9]
    v[v < 0] = v[v < 0] ** 2
    return np.sqrt(v[v > 0.1]).sum() + np.maximum.reduce(v) + np.add.reduce(v * v)


def rows(x: Any) -> Any:
    table = np.stack([x, x * x, np.sin(x)], axis=1)
    v = table[x > 0]
    table[x < 0] = -2.0 * table[x < 0] + np.array([1.0, 0.0, 2.0])
    return (v * np.array([1.0, -2.0, 0.5])).sum(axis=0) @ np.array([0.3, 0.7, -1.1]) + v.max(axis=0).sum() + (table**2).sum()


def views(x: Any) -> Any:
    y = np.stack([x, -x])
    y[1, x < 0] = np.sin(x[x < 0])
    first = y[0]
    first[x > 0.2] = 1 / x[x > 0.2]
    return (y**3).sum()


def later(x: Any) -> Any:
    m = x > 0
    v = x[m]
    m = np.logical_not(m)
    y = x * x
    y[m] = 0.5 * x[m]
    return (v * v * v).sum() + y.sum()


def functions(x: Any) -> Any:
    v = x[x > 0]
    return ng.sum(ng.exp(v)) + ng.hypot(v, 2.0).mean() if isinstance(x, type(P)) else np.exp(v).sum() + np.hypot(v, 2.0).mean()


def multiplied(x: Any) -> Any:
    table = np.stack([x, np.log(np.where(x > 0, x, np.nan))], axis=1)
    v = table[x > 0]
    once, twice = v @ x[:2], np.dot(v, np.stack([x[:2], x[2:4]], axis=1))
    return (once**2).sum() + (twice**3).sum() + (np.inner(v, x[1:3]) ** 2).mean() + v.dot(x[3:5]).max() + np.vdot(v, v)


def kept(x: Any) -> Any:
    v = x[x > -0.9]
    w = v.copy()
    np.clip(w, -0.3, 0.8, w)
    np.multiply(v, 2.0, out=v)
    u, same = np.real(v), v.astype(float, copy=False)
    u += 1.0
    bounded = v.clip(-0.5, 0.6, out=x[x > -0.9] * 0.0)
    np.nan_to_num(v, copy=False)
    u[...] = u.clip(-1.1).clip(max=2.0).conjugate()
    return (same * u).sum() + (bounded.real * w).sum() + 3.0 * (w * w).sum() + np.clip(v, min=np.sin(w), max=1.5).sum()


def options(x: Any) -> Any:
    v = x[x < 0.75]
    mean, total = np.average(v, weights=np.exp(v), keepdims=True, returned=True)
    q = np.quantile(v, [0.2, 0.7], 0) @ x[:2] + np.median(v, 0)
    return (mean * total).sum() + q + np.ptp(v) + np.amax(v) * np.amin(v) + np.count_nonzero(v, keepdims=True)[0]


def one_by_one(x: Any) -> Any:
    y = x * 1.0
    np.add.at(y, x > 0, np.sin(x[x > 0]))
    np.multiply.at(y, x < 0, x[x < 0])
    return (y * y).sum()


P = ng.positional(X, "B")
PROGRAMS: list[Callable[[Any], Any]] = [
    absolute, added, gathered, reduced, spread, standardised, met, chosen_again, rows, views, later, functions,
    multiplied, kept, options, one_by_one,
]  # fmt: skip
programs = pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)


def values(f: Callable[[Any], Any], x: np.ndarray = X) -> np.ndarray:
    """What NumPy finds for each slice."""
    return np.array([f(row) for row in x])


def slopes(f: Callable[[Any], Any], x: np.ndarray = X) -> np.ndarray:
    """The gradients, by differences of NumPy's results."""
    return np.stack([richardson(lambda h, e=e: values(f, x + h * e), 1e-4) for e in np.eye(x.shape[1])], axis=1)


def pulled(f: Callable[[Any], Any], x: Any, cotangent: Any = COTANGENT) -> tuple[Any, Any]:
    """A value, and a cotangent pulled back."""
    out, pull = ng.pullback(f, x)
    return out.data, pull(ng.positional(cotangent, "B")).data


@programs
def test_slices(f: Callable[[Any], Any]) -> None:
    value, gradient = pulled(f, P)
    np.testing.assert_allclose(value, values(f), rtol=REFERENCE)
    np.testing.assert_allclose(gradient, COTANGENT[:, None] * slopes(f), rtol=FIRST, atol=FIRST)
    t = RNG.normal(size=X.shape)
    _, tangent = ng.pushforward(f, (P,), (ng.positional(t, "B"),))
    np.testing.assert_allclose(tangent.data, (slopes(f) * t).sum(axis=1), rtol=FIRST, atol=FIRST)


@programs
def test_programs_that_leave_the_number_open(f: Callable[[Any], Any]) -> None:
    compiled = ng.compile(ng.value_and_grad(f))
    for row, value, gradient in zip(X, values(f), slopes(f), strict=True):  # recorded for the first of them
        found = compiled(row)
        np.testing.assert_allclose(found[0], value, rtol=REFERENCE)
        np.testing.assert_allclose(found[1], gradient, rtol=FIRST, atol=FIRST)
    both = ng.compile(lambda x: ng.grad(f)(x))
    both(ng.positional(X[::-1].copy(), "B"))
    np.testing.assert_allclose(both(P).data, slopes(f), rtol=FIRST, atol=FIRST)


@programs
def test_second_derivatives(f: Callable[[Any], Any]) -> None:
    t = RNG.normal(size=X.shape[1])
    along = lambda x: (ng.grad(f)(x) * t).sum()
    expected = np.stack([richardson(lambda h, r=r: ng.grad(f)(r + h * t), 1e-4) for r in X])
    np.testing.assert_allclose(ng.grad(along)(P).data, expected, rtol=SECOND, atol=SECOND)


@programs
def test_on_dask(f: Callable[[Any], Any]) -> None:
    value, gradient = pulled(f, ng.positional(da.from_array(X, chunks=(2, 4)), "B"))
    expected = pulled(f, P)
    for found, own in zip((value, gradient), expected, strict=True):
        assert isinstance(found, da.Array)
        np.testing.assert_allclose(found.compute(scheduler="sync"), own, rtol=ROUNDING, atol=ROUNDING)


@programs
def test_on_a_device(f: Callable[[Any], Any], cupy: Any) -> None:
    if f is rows:  # its own arrays are on the host
        f = lambda x: (np.stack([x, x * x], axis=1)[x > 0] * 0.5).sum(axis=0).max()
    found = ng.grad(f)(ng.positional(cupy.asarray(X), "B")).data
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_allclose(cupy.asnumpy(found), ng.grad(f)(P).data, rtol=ROUNDING, atol=ROUNDING)
    alone = ng.grad(f)(cupy.asarray(X[0]))
    np.testing.assert_allclose(cupy.asnumpy(alone), ng.grad(f)(X[0]), rtol=ROUNDING, atol=ROUNDING)


@programs
def test_functions_of_plain_slices_in_xarray(f: Callable[[Any], Any]) -> None:
    x = xr.DataArray(X, {"lat": [10.0, 20.0, 30.0, 40.0]}, ("lat", "x"))
    g = ng.grad(lambda x: xr.apply_ufunc(f, x, input_core_dims=[["x"]]), over="lat")(x)
    np.testing.assert_allclose(g, slopes(f), rtol=FIRST, atol=FIRST)
    assert g.dims == ("lat", "x")


def test_masks_of_several_axes() -> None:
    def f(x: Any) -> Any:
        a = x.reshape(3, 3)
        v = a[a > 0]
        a[a < 0] = np.exp(a[a < 0])
        return (v**3).sum() + v.mean() + a.std()

    np.testing.assert_allclose(ng.grad(f)(P).data, slopes(f), rtol=FIRST, atol=FIRST)


def test_cells_that_are_not_chosen_have_no_gradient_and_no_warning() -> None:
    x = ng.positional(np.array([[0.0, -1.0, 4.0], [np.nan, np.inf, 9.0]]), "B")
    g = ng.grad(lambda x: np.log(x[(x > 1) & (x < 10)]).sum())(x).data
    np.testing.assert_array_equal(g, [[0, 0, 0.25], [0, 0, 1 / 9]])


def test_what_is_written_later_changes_no_cells() -> None:
    def f(x: Any) -> Any:
        y, m = x * x, x > 0
        v = y[m]
        y[...] = 0.0
        m[...] = False
        w = v
        v += 1
        return (w * w).sum()

    np.testing.assert_allclose(ng.grad(f)(P).data, slopes(f), rtol=FIRST, atol=FIRST)


def test_integers_stay_integers() -> None:
    k = ng.positional(np.array([[1, -2, 3], [-4, 5, -6]]), "B")
    v = k[k > 0]
    assert v.dtype == np.dtype(int)
    assert v.sum().data.tolist() == [4, 5]
    assert v.max(initial=0).data.tolist() == [3, 5]
    assert np.sum(np.zeros_like(v) + 1).data.tolist() == [2, 1]
    assert np.size(v, 0).data.tolist() == [2, 1]
    assert (np.min(v).data.tolist(), np.min(v).dtype) == ([1, 5], np.dtype(int))
    assert (k > 0)[k > 0].min().data.tolist() == [True, True]
    with pytest.raises(TypeError, match="cannot hold"):
        v /= 2
    k[k < 0] = k[k < 0] * 10
    assert k.data.tolist() == [[1, -20, 3], [-40, 5, -60]]


REFUSED = {
    "its length": lambda v, x: len(v),
    "a loop over it": lambda v, x: list(v),
    "an index": lambda v, x: v[0],
    ".shape": lambda v, x: v.shape,
    "np.sort": lambda v, x: np.sort(v),
    "np.cumsum": lambda v, x: np.cumsum(v),
    "np.concatenate": lambda v, x: np.concatenate([v, v]),
    "a plain array": lambda v, x: np.asarray(v),
    "a number": lambda v, x: float(v),
    "its truth value": lambda v, x: bool(v),
    "what meets an array": lambda v, x: v + x,
    "cells of another choice": lambda v, x: v + x[x > 0.1],
    "a mask of other cells": lambda v, x: v[x[x > 0.1] > 1],
    "a write elsewhere": lambda v, x: x.copy().__setitem__(x < 0, v),
    "a result": lambda v, x: ng.grad(lambda x: x[x > 0])(x),
    "sort": lambda v, x: ng.sort(v),
    "shape=": lambda v, x: np.ones_like(v, shape=(3,)),
    "out=": lambda v, x: np.sin(v, out=x.copy()),
    "np.dot": lambda v, x: np.dot(v, x),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_needs_number_or_places_is_refused(what: str) -> None:
    with pytest.raises(ng.TraceError, match=rf"{what} needs their number or places; use np\.where"):
        REFUSED[what](P[P > 0], P)
    with pytest.raises(AttributeError, match="no attribute 'tidy'"):
        P[P > 0].tidy


def test_extremes_of_no_cells() -> None:
    x = ng.positional(np.array([[1.0, 2.0], [-1.0, -2.0]]), "B")
    with pytest.raises(ValueError, match="in one of the slices the mask chooses no cells; give initial="):
        np.max(x[x > 0])
    assert np.max(x[x > 0], initial=0.5).data.tolist() == [2.0, 0.5]
    largest = ng.compile(lambda x: np.max(x[x > 0]))
    assert largest(np.array([1.0, 3.0])) == 3.0
    assert np.isnan(largest(np.array([-1.0, -3.0])))
    with pytest.raises(ng.TraceError, match="of int64 without initial="):
        ng.compile(lambda k: np.max(k[k > 0]))(np.array([1, 2]))


def test_shapes_that_do_not_fit() -> None:
    table = ng.positional(RNG.normal(size=(4, 9, 2)), "B")
    with pytest.raises(ValueError, match="do not fit"):
        P.copy()[P > 0] = table[P > 0]
    assert np.size(table[P > 0], 0).data.tolist() == (X > 0).sum(axis=1).tolist()
    square = ng.positional(RNG.normal(size=(4, 9, 9)), "B")
    with pytest.raises(ValueError, match="do not fit"):
        square[P > 0] = P[P > 0]
    column = ng.positional(X[..., None], "B")[P > 0]
    with pytest.raises(ValueError, match="do not fit"):
        column += np.arange(3.0)
    with pytest.raises(ValueError, match="do not fit"):
        column[...] = np.arange(3.0)
    with pytest.raises(TypeError, match="complex"):
        column[...] = 1j
    with pytest.raises(IndexError):
        P[P > 0, :]
    with pytest.raises(ng.TraceError, match=r"bool\(\) of an array with vectorized axes"):
        assert 0.5 in P[P > 0]
    with pytest.raises(ng.TraceError, match="a number needs"):
        int(P[P > 0])


def test_plain_cells_where_a_mask_is_true() -> None:
    cells = np.arange(9.0)
    np.testing.assert_allclose(np.sum(cells, where=P > 0).data, [cells[r > 0].sum() for r in X])
    np.testing.assert_allclose(np.mean(cells, where=P < 0.75).data, [cells[r < 0.75].mean() for r in X])
    np.testing.assert_array_equal(np.max(cells, where=P > 0, initial=-1.0).data, [cells[r > 0].max() for r in X])
