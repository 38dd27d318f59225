"""Programs of fits with products and sums regrouped: the numbers of NumPy, by fewer calls."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import namedgrad as ng
from namedgrad.array import make
from namedgrad.compile.optimise import Line
from namedgrad.fit.replay import Replay
from namedgrad.rules.structure import reorder

RNG = np.random.default_rng(0)
FIRST = RNG.bit_generator.state
T = np.linspace(-1.0, 2.0, 6)
CELLS = 5


@pytest.fixture(autouse=True)
def same_draws():
    """Whatever the order of tests."""
    RNG.bit_generator.state = FIRST


def run(f, *arrays):
    """The results of a program, of other numbers than it was recorded for, and how often it calls what."""
    raws = [np.ones_like(x) for x in arrays]
    names = {1: ("c",), 2: ("c", "t"), 3: ("c", "s", "t")}

    def function():
        several = f(*(make(x, names[x.ndim], frozenset("c")) for x in raws))
        return [reorder(x, names[x.ndim + 1]).raw for x in several]

    program = Replay(function, raws, CELLS)
    found = [np.array(x) for x in program(list(arrays))]
    lines = [line for line in program.plan(frozenset()).code if isinstance(line, Line)]
    calls = [getattr(line.call.function, "__name__", "") for line in lines]
    return found, {n: calls.count(n) for n in calls}


def cells(*shape, dtype=float):
    return RNG.normal(size=(CELLS, *shape)).astype(dtype)


def row(values=T):
    return ng.DimArray(values, ("t",))


SUMS = {
    "level and trend": (lambda a, b, y: a + b * row() - y, lambda a, b, y: a + b * T - y),
    "behind": (lambda a, b, y: y - (a - b * row()), lambda a, b, y: y - (a - b * T)),
    "negative": (lambda a, b, y: -(a - b * row()) - y, lambda a, b, y: -(a - b * T) - y),
    "two trends": (lambda a, b, y: a * row() - y * y + b * row(T**2), lambda a, b, y: T * a - y * y + T**2 * b),
    "alone": (lambda a, b, y: ng.sin(a * row() + b) * y, lambda a, b, y: np.sin(a * T + b) * y),
    "nested": (
        lambda a, b, y: ng.exp(y + a + b * row()) - (y + a - b * row()),
        lambda a, b, y: np.exp(y + a + b * T) - (y + a - T * b),
    ),
}


@pytest.mark.parametrize("name", SUMS)
def test_columns_times_rows_are_one_product_of_matrices(name):
    mine, plain = SUMS[name]
    a, b, y = cells(), cells(), cells(T.size)
    (found,), calls = run(lambda *x: [mine(*x)], a, b, y)
    np.testing.assert_allclose(found, plain(a[:, None], b[:, None], y), rtol=1e-13, atol=1e-13)
    assert calls["matmul"] == 1
    assert calls.get("multiply", 0) == {"two trends": 1, "alone": 1}.get(name, 0)


def test_residuals_along_several_dims():
    a, b, y = cells(), cells(), cells(3, T.size)
    plane = RNG.normal(size=y.shape[1:])
    (found,), calls = run(lambda a, b, y: [y + a * ng.DimArray(plane, ("s", "t")) + b], a, b, y)
    np.testing.assert_allclose(found, y + a[:, None, None] * plane + b[:, None, None], rtol=1e-13, atol=1e-13)
    assert calls["matmul"] == 1


def test_single_precision_stays():
    a, b, y = cells(dtype=np.float32), cells(dtype=np.float32), cells(T.size, dtype=np.float32)
    (found,), calls = run(lambda a, b, y: [a + b * row(T.astype(np.float32)) - y], a, b, y)
    np.testing.assert_allclose(found, a[:, None] + b[:, None] * T - y, rtol=1e-5, atol=1e-6)
    assert found.dtype == np.float32
    assert calls["matmul"] == 1


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, bool])
def test_rows_of_integers(dtype):
    a, b, y = cells(), cells(), cells(T.size)
    t = np.array([-128, -1, 0, 1, 2, 127]).astype(dtype)
    (found,), calls = run(lambda a, b, y: [y - (a + b * row(t))], a, b, y)
    np.testing.assert_allclose(found, y - (a[:, None] + b[:, None] * t), rtol=1e-13, atol=1e-13)
    assert calls["matmul"] == 1


def test_one_column_times_a_row_is_exact():
    a, y = cells(), cells(T.size)
    a[1] = np.inf
    (found,), calls = run(lambda a, y: [y * ng.exp(a * row(T + 3))], a, y)
    np.testing.assert_array_equal(found, y * np.exp(a[:, None] * (T + 3)))
    assert calls["matmul"] == calls["multiply"] == 1


def test_one_term_stays_and_so_does_a_product_that_is_needed():
    a, b, y = cells(), cells(), cells(T.size)
    (found,), calls = run(lambda a, b, y: [a + y * b], a, b, y)
    np.testing.assert_allclose(found, a[:, None] + y * b[:, None], rtol=1e-14)
    assert "matmul" not in calls
    (trend, found), calls = run(lambda a, b, y: [b * row(), a + b * row() + y], a, b, y)
    np.testing.assert_allclose(trend, b[:, None] * T, rtol=1e-14)
    np.testing.assert_allclose(found, a[:, None] + b[:, None] * T + y, rtol=1e-13, atol=1e-13)
    assert calls["matmul"] == 1


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("is_first", [True, False])
def test_a_product_that_is_needed_is_a_factor(order, is_first):
    a, x, y = cells(), cells(T.size), cells(T.size)

    def both(a, x, y):
        p, q, r = (ng.exp(x), a, y)[order[0]], (ng.exp(x), a, y)[order[1]], (ng.exp(x), a, y)[order[2]]
        pair, all_ = (lambda: a * ng.exp(x)), (lambda: p * q * r)
        return [pair(), all_()] if is_first else [all_(), pair()][::-1]

    (pair, all_), calls = run(both, a, x, y)
    np.testing.assert_allclose(pair, a[:, None] * np.exp(x), rtol=1e-14)
    np.testing.assert_allclose(all_, a[:, None] * np.exp(x) * y, rtol=1e-14)
    assert calls["multiply"] <= 3


def test_a_product_that_two_need_is_made_once():
    a, b, x, y = cells(), cells(), cells(T.size), cells(T.size)
    found, calls = run(lambda a, b, x, y: [a * x * y, b * x * y, x * y], a, b, x, y)
    for one, factor in zip(found, (a[:, None], b[:, None], 1.0), strict=True):
        np.testing.assert_allclose(one, factor * x * y, rtol=1e-14)
    assert calls["multiply"] == 3


def test_what_is_not_finite_concerns_its_own_cells():
    a, b, y = cells(), cells(), cells(T.size)
    a[1], b[3], y[4, 2] = np.inf, np.nan, np.inf
    with np.errstate(invalid="ignore"):
        (found,), calls = run(lambda a, b, y: [a + b * row() - y], a, b, y)
        expected = a[:, None] + b[:, None] * T - y
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    assert calls["matmul"] == 1


def test_models_take_fewer_passes():
    a, b, c, d, y = cells(), cells(), cells(), cells(), cells(T.size)

    def step(a, b, c, d, y):
        f = lambda b: a * ng.exp(-b * row()) + c + d * row() - y
        return ng.pushforward(f, (b,), (ng.ones_like(b),))

    (value, slope), calls = run(step, a, b, c, d, y)
    e = a[:, None] * np.exp(-b[:, None] * T)
    np.testing.assert_allclose(value, e + c[:, None] + d[:, None] * T - y, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(slope, -T * e, rtol=1e-13, atol=1e-13)
    assert calls["multiply"] == calls["matmul"] == 2
    assert calls["add"] + calls["subtract"] == 2


def test_what_a_model_says_twice_is_computed_once():
    """Also where a coordinate is shifted twice, by NumPy, which makes an array of its own each time."""

    def saturation(a, n, y):
        shifted = lambda: ng.DimArray(T + 1.5, ("t",))
        return [a * shifted() ** n / (1 + shifted() ** n) - y]

    a, n, y = np.abs(cells()), np.abs(cells()), cells(6)
    (found,), calls = run(saturation, a, n, y)
    power = (T + 1.5) ** n[:, None]
    np.testing.assert_allclose(found, a[:, None] * power / (1 + power) - y, rtol=1e-13)
    assert calls["power"] == 1
