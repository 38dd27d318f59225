"""Programs of fits whose tables are shown in other orders: the numbers of NumPy, cells first."""

from __future__ import annotations

import numpy as np
import pytest

import namedgrad as ng
from namedgrad.rules.structure import reorder, select, where
from tests.fit.test_regroup import T, cells, row, run, same_draws

__all__ = ["same_draws"]  # a fixture

S = np.array([0.5, -2.0, 1.5])


def turned(x, *names):
    return reorder(x, names)


PROGRAMS = {
    "a row": (lambda a, y: turned(row() * turned(ng.exp(y), "t", "c"), "c", "t"), lambda a, y: T * np.exp(y)),
    "a column": (lambda a, y: turned(turned(ng.exp(y), "t", "c") * a, "c", "t"), lambda a, y: np.exp(y) * a),
    "two": (lambda a, y: turned(row() * turned(ng.exp(y), "t", "c") * a, "c", "t"), lambda a, y: T * np.exp(y) * a),
    "a number": (lambda a, y: turned(2 - turned(ng.exp(y), "t", "c"), "c", "t"), lambda a, y: 2 - np.exp(y)),
    "two views": (
        lambda a, y: turned(turned(ng.exp(y), "t", "c") + turned(ng.sin(y), "t", "c"), "c", "t"),
        lambda a, y: np.exp(y) + np.sin(y),
    ),
    "of a view": (
        lambda a, y: turned(a * turned(row() / turned(ng.exp(y), "t", "c"), "c", "t"), "c", "t"),
        lambda a, y: a * T / np.exp(y),
    ),
    "a selection": (
        lambda a, y: turned(select(turned(ng.exp(y), "t", "c") > 1, turned(y, "t", "c")), "c", "t"),
        lambda a, y: np.where(np.exp(y) > 1, y, 0),
    ),
    "another table": (
        lambda a, y: turned(where(a > 0, turned(ng.exp(y), "t", "c"), turned(y, "t", "c") * row()), "c", "t"),
        lambda a, y: np.where(a > 0, np.exp(y), y * T),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_views_are_undone(name):
    ours, plain = PROGRAMS[name]
    a, y = cells(), cells(T.size)
    before = a.copy(), y.copy()
    (found,), calls = run(lambda a, y: [ours(a, y)], a, y)
    np.testing.assert_allclose(found, plain(a[:, None], y), rtol=1e-14)
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(y, before[1])
    assert "transpose" not in calls


def test_tables_of_several_axes():
    y, rows = cells(S.size, T.size), ng.DimArray(S[:, None] * T, ("s", "t"))

    def ours(y):
        out = rows * turned(ng.exp(y), "t", "c", "s")
        return [turned(row() + out, "c", "s", "t"), out.names and turned(out, "c", "s", "t") * 2]

    found, calls = run(ours, y)
    plain = S[:, None] * T * np.exp(y)
    for mine, known in zip(found, (T + plain, 2 * plain), strict=True):
        np.testing.assert_allclose(mine, known, rtol=1e-14)
    assert "transpose" not in calls


def test_a_view_that_is_a_result():
    y = cells(T.size)
    found, _ = run(lambda y: [turned(row() * turned(ng.exp(y), "t", "c"), "c", "t"), ng.exp(y)], y)
    np.testing.assert_allclose(found[0], T * np.exp(y), rtol=1e-14)
    np.testing.assert_allclose(found[1], np.exp(y), rtol=1e-14)
