"""Sums of products that share their tables: the numbers of NumPy, by fewer passes."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from namedgrad.array import make
from namedgrad.fit import replay
from namedgrad.fit.replay import Replay
from namedgrad.rules.structure import contract, reorder
from tests.fit.test_regroup import CELLS, T, cells, row, same_draws

__all__ = ["same_draws"]  # a fixture

NAMES = {1: ("c",), 2: ("c", "t"), 3: ("c", "s", "t")}
ROWS = np.stack([np.ones_like(T), T])


def run(f, *arrays):
    """The results of a program, of other numbers than it was recorded for, and its text."""
    raws = [np.ones_like(x) for x in arrays]

    def function():
        several = f(*(make(x, NAMES[x.ndim], frozenset()) for x in raws))
        return [reorder(x, ("c", *(n for n in x.names if n != "c"))).raw for x in several]

    program = Replay(function, raws, CELLS)
    return [np.array(x) for x in program(list(arrays))], program._written(frozenset())[0]


def total(x, y):
    """The sum over all but cells."""
    return contract(x, y, tuple(n for n in x.names if n != "c"))


def sums(a, e, r):
    """Those of an exponential with a trend: columns ``e`` and ``-t a e``, and two that all cells share."""
    k = ng.multiply(ng.multiply(a, e), row(-T))
    shared = ng.DimArray(ROWS, ("row", "t"))
    pairs = [total(r, r), total(e, r), total(k, r), total(e, e), total(e, k), total(k, k)]
    return [*pairs, *(contract(x, shared, ("t",)) for x in (r, e, k))]


def by_hand(a, e, r):
    k = -T * a[:, None] * e
    pairs = [(r * r), (e * r), (k * r), (e * e), (e * k), (k * k)]
    return [*(x.sum(axis=1) for x in pairs), *(x @ ROWS.T for x in (r, e, k))]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_of_a_model_share_tables(dtype):
    a, e, r = (x.astype(dtype) for x in (cells(), cells(T.size), cells(T.size)))
    found, text = run(lambda a, e, r: [x.astype(dtype) for x in sums(a, e, r)], a, e, r)
    exact = 1e-13 if dtype is np.float64 else 1e-5
    for mine, plain in zip(found, by_hand(a, e, r), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=exact, atol=exact * 10)
    if dtype is np.float64:
        assert text.count("contract(") == 1
        assert text.count("sums_with(") == 4


def test_signs_are_factors():
    a, e, r = cells(), cells(T.size), cells(T.size)
    found, text = run(lambda a, e, r: sums(a, ng.negative(e), r), a, e, r)
    for mine, plain in zip(found, by_hand(a, -e, r), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-13, atol=1e-12)
    assert text.count("sums_with(") == 4


def test_a_cell_that_is_not_finite_disturbs_no_other():
    a, e, r = cells(), cells(T.size), cells(T.size)
    a[1], e[2, 3], r[3, 0] = np.inf, np.nan, np.inf
    found, _ = run(sums, a, e, r)
    with np.errstate(invalid="ignore"):
        expected = by_hand(a, e, r)
    for mine, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine[[0, 4]], plain[[0, 4]], rtol=1e-13, atol=1e-13)
        assert not np.isfinite(mine[1:4]).all() or np.isfinite(plain[1:4]).all()


def test_residuals_along_several_dims():
    a, e, r = cells(), cells(3, T.size), cells(3, T.size)
    plane = np.random.default_rng(1).normal(size=(3, T.size))

    def several(a, e, r):
        k = ng.multiply(a, ng.multiply(e, ng.DimArray(plane, ("s", "t"))))
        return [total(e, e), total(e, k), total(k, k), total(k, r)]

    found, text = run(several, a, e, r)
    k = a[:, None, None] * e * plane
    for mine, (x, y) in zip(found, ((e, e), (e, k), (k, k), (k, r)), strict=True):
        np.testing.assert_allclose(mine, (x * y).sum(axis=(1, 2)), rtol=1e-13, atol=1e-13)
    assert "sums_with(" in text


def test_sums_may_be_used_at_once():
    a, e, r = cells(), cells(T.size), cells(T.size)

    def ratio(a, e, r):
        *pairs, _, _, last = sums(a, e, r)
        return [ng.divide(pairs[4], pairs[3]), last, ng.multiply(pairs[2], a)]

    found, _ = run(ratio, a, e, r)
    plain = by_hand(a, e, r)
    for mine, expected in zip(found, (plain[4] / plain[3], plain[8], plain[2] * a), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-12, atol=1e-12)


def test_what_shares_nothing_stays():
    a, e, r = cells(), cells(T.size), cells(T.size)
    found, text = run(lambda a, e, r: [total(ng.multiply(a, e), r), total(ng.sin(e), e)], a, e, r)
    np.testing.assert_allclose(found[0], (a[:, None] * e * r).sum(axis=1), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found[1], (np.sin(e) * e).sum(axis=1), rtol=1e-13, atol=1e-13)
    assert "sums_with(" not in text


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32])
def test_products_of_rows_are_as_exact_as_tables(dtype):
    """The square of a row of integers may be beyond what they can hold; that of float32 is none of float64."""
    e, q = cells(T.size), np.linspace(np.pi, 120 if dtype is np.int8 else 3e4, T.size).astype(dtype)

    def several(e):
        k = ng.multiply(e, ng.DimArray(q, ("t",)))
        return [total(e, e), total(e, k), total(k, k), contract(k, ng.DimArray(ROWS, ("row", "t")), ("t",))]

    found, text = run(several, e)
    k = e * q.astype(float)
    for mine, plain in zip(found, ((e * e).sum(1), (e * k).sum(1), (k * k).sum(1), k @ ROWS.T), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-13, atol=1e-10)
    assert "sums_with(" in text


def test_tables_may_be_made_of_sums():
    a, e, r = cells(), cells(T.size), cells(T.size)

    def several(a, e, r):
        k = ng.multiply(ng.multiply(a, e), row(-T))
        size = total(k, e)
        z = ng.multiply(ng.multiply(size, ng.multiply(r, e)), row())
        return [total(e, e), total(k, k), total(z, z), total(e, z)]

    found, text = run(several, a, e, r)
    k = -T * a[:, None] * e
    z = (k * e).sum(axis=1, keepdims=True) * r * e * T
    for mine, (x, y) in zip(found, ((e, e), (k, k), (z, z), (e, z)), strict=True):
        np.testing.assert_allclose(mine, (x * y).sum(axis=1), rtol=1e-13, atol=1e-13)
    assert "sums_with(" in text


@pytest.mark.parametrize("array", [lambda x, *dims: ng.DimArray(x, dims), lambda x, *dims: xr.DataArray(x, dims=dims)])
@pytest.mark.parametrize("cells_first", [True, False])
def test_evaluations_of_a_fit_are_such_programs(monkeypatch, array, cells_first):
    texts = list[str]()
    made = replay._made
    monkeypatch.setattr(replay, "_made", lambda text, names: made(texts.append(text) or text, names))
    t, truth = np.linspace(0, 1, 40), [np.linspace(*ends, 50)[:, None] for ends in ((1, 3), (2, 5), (-1, 1), (0, 1))]
    model = lambda t, a, b, c, d: a * np.exp(-b * t) + c + d * t
    y = truth[0] * np.exp(-truth[1] * t) + truth[2] + truth[3] * t
    residual = lambda p, t, y: model(t, *p.values()) - y
    start = dict(zip("abcd", (2.0, 3.0, 0.0, 0.0), strict=True))
    data = array(y, "cell", "t") if cells_first else array(y.T.copy(), "t", "cell")
    fit = ng.least_squares(residual, start, array(t, "t"), data, over="cell")
    for name, x in zip("abcd", truth, strict=True):
        np.testing.assert_allclose(np.asarray(fit.params[name]), x[:, 0], rtol=1e-7, atol=1e-7)
    assert texts
    for text in texts:
        assert "scale(" not in text  # sums that are not finite tell, and are made once more with guards
        assert text.count("contract(") == 1
        assert text.count("sums_with(") == 4
