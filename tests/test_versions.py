"""Arrays that are written a part at a time: the numbers of NumPy, derivatives by complex steps, time linear in the writes."""

from __future__ import annotations

import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from namedgrad.backends import NUMPY
from namedgrad.versions import MANY, Version
from tests.support.memory import peak

SHAPE = (9, 25, 30)  # more than MANY cells, of which a row is few
KEYS: list[Any] = [3, -1, (slice(1, 3), 4), (..., 7), (slice(None), slice(2, 4), slice(None, None, 3)), slice(4, 5), (2, 3, 4)]
STEP = 1e-30


def program(seed: int, x: Any) -> Any:
    """Writes and reads in random order, of an array, its views and copies, and of what it was before."""
    rng, total = np.random.default_rng(seed), 0.0
    table = np.zeros_like(x, shape=SHAPE)
    table[0] = x
    others: list[Any] = []
    for _ in range(14):
        kind, key = rng.integers(8), KEYS[rng.integers(len(KEYS))]
        w = rng.normal(size=SHAPE)
        if kind <= 1:
            table[key] = 0.5 * x[0, 0] * w[key] + 1
        elif kind == 2:
            table[key] += x[1, 2] * w[key]
        elif kind == 3:
            table[1:3] = table[0] * table[4] + x
        elif kind == 4:
            total = total + np.sum(table[key] ** 2 * w[key])
        elif kind == 5:
            total = total + np.sum(table * w)
        elif kind == 6:
            others.append((table[key], w[key]))  # a view, which sees what is written later
        else:
            others.append((table.copy(), w))
            others[-1][0][key] *= 3.0
    return total + np.sum(table**3) + sum(np.sum(y * w) for y, w in others)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    assert np.prod(SHAPE) > MANY
    rng = np.random.default_rng(seed)
    x, t = rng.normal(size=(2, *SHAPE[1:]))
    value, gradient = ng.value_and_grad(lambda x: program(seed, x))(x)
    np.testing.assert_allclose(value, program(seed, x), rtol=1e-12)
    slope = program(seed, x + 1j * STEP * t).imag / STEP
    np.testing.assert_allclose(np.sum(gradient * t), slope, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ng.jvp(lambda x: program(seed, x), (x,), (t,))[1], slope, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_second_derivatives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, t = rng.normal(size=(2, *SHAPE[1:]))
    found = ng.hvp(lambda x: program(seed, x), x, t)
    step = 1e-5
    near = [ng.grad(lambda x: program(seed, x))(x + k * step * t) for k in (1, -1)]
    np.testing.assert_allclose(found, (near[0] - near[1]) / (2 * step), rtol=1e-5, atol=1e-4)


def test_earlier_arrays_keep_their_cells() -> None:
    """Of named arrays, outside of any derivative."""
    a = [ng.zeros({"t": 80, "x": 100})]
    for i in range(6):
        a.append(a[-1].at[{"t": i}].set(i + 1.0))
    branch = a[3].at[{"x": slice(0, 2)}].add(10.0)
    for i in (0, 5, 2, 6, 3):
        expected = np.zeros((80, 100))
        expected[:i] = np.arange(1, i + 1)[:, None]
        np.testing.assert_array_equal(a[i].data, expected)
    expected = np.zeros((80, 100))
    expected[:3] = np.arange(1, 4)[:, None]
    expected[:, :2] += 10
    np.testing.assert_array_equal(branch.data, expected)


def test_what_was_given_away_is_not_written() -> None:
    a = ng.zeros({"t": 80, "x": 100}).at[{"t": 0}].set(1.0)
    whole, row, rows = a.data, a.isel(t=0).data, a.isel(t=slice(0, 40)).data
    b = a.at[{"t": 0}].set(2.0).at[{"t": 1}].set(3.0)
    assert (whole[0], row, rows[0]) == tuple(map(pytest.approx, (np.ones(100),) * 3))
    assert whole[1].max() == rows[1].max() == 0
    np.testing.assert_array_equal(b.data[:2, 0], [2, 3])


@pytest.mark.parametrize("oldest_first", [True, False])
def test_many_versions_are_restored_in_linear_time(monkeypatch: pytest.MonkeyPatch, oldest_first: bool) -> None:
    kept = [ng.zeros({"t": 80, "x": 100})]
    for i in range(200):
        kept.append(kept[-1].at[{"t": slice(i % 4 * 20, i % 4 * 20 + 20)}].set(i + 1.0))
    calls, replace = [0], type(NUMPY).replace
    monkeypatch.setattr(type(NUMPY), "replace", lambda *a: (calls.__setitem__(0, calls[0] + 1), replace(*a))[1])
    for i in range(201) if oldest_first else reversed(range(201)):
        rows = [max([k + 1 for k in range(i) if k % 4 == quarter], default=0) for quarter in range(4)]
        np.testing.assert_array_equal(kept[i].data[:, 0], np.repeat(rows, 20))
    assert calls[0] < 8 * 200  # 19,900 if each went all the way


def test_programs_capture_what_is_not_written() -> None:
    a = ng.zeros({"t": 80, "x": 100}).at[{"t": 0}].set(1.0)
    x = ng.DimArray(np.arange(100.0), "x")
    f = ng.compile(lambda x: x * a.isel(t=0))
    np.testing.assert_array_equal(f(x).data, x.data)
    b = a.at[{"t": 0}].set(5.0)
    np.testing.assert_array_equal(f(x).data, x.data)
    np.testing.assert_array_equal(ng.compile(lambda x: x * b.isel(t=0))(x).data, 5 * x.data)


def test_a_write_that_fails_changes_nothing() -> None:
    a = ng.zeros({"t": 80, "x": 100}).at[{"t": 0}].set(1e308)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        a.at[{"t": 0}].add(1e308)
    np.testing.assert_array_equal(a.isel(t=0).data, np.full(100, 1e308))


def test_threads_write_on_from_one_array() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for _ in range(30):
                base = ng.zeros({"t": 80, "x": 500}).at[{"t": 0}].set(1.0)
                made = [*pool.map(lambda k, base=base: base.at[{"t": 1}].set(k + 2.0), range(8))]
                for k, a in enumerate(made):
                    np.testing.assert_array_equal(a.data[:3], np.array([[1.0], [k + 2], [0]]) * np.ones(500))
                np.testing.assert_array_equal(base.data[:2], np.array([[1.0], [0]]) * np.ones(500))
    finally:
        sys.setswitchinterval(interval)


def test_attributes_do_not_ask_for_cells() -> None:
    a = ng.zeros({"t": 80, "x": 100}).at[{"t": 0}].set(1.0)
    assert type(a) is Version
    assert (a.shape, a.dims, a.size, a.dtype, a.backend, a.full_shape) == ((80, 100), ("t", "x"), 8000, float, "numpy", (80, 100))
    renamed = a.rename(t="s").vectorize("s")
    b = a.at[{"t": 1}].set(5.0)
    assert not a.state._is_shown
    assert not b.state._is_shown
    np.testing.assert_array_equal(renamed.sum("x").devectorize("s").data[:2], [100, 0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(b)).data, b.data)
    np.testing.assert_array_equal(b.isel(t=1).data, np.full(100, 5.0))


def test_results_are_plain_arrays() -> None:
    x = ng.DimArray(np.ones((80, 100)), ("t", "x"))
    write = lambda x: x.at[{"t": 0}].multiply(3.0)
    first = lambda x: x.isel(t=0).sum() + (x.isel(t=1) ** 2).sum()
    out, back = ng.pullback(write, x)
    results = [out, back(x), *ng.jvp(write, (x,), (x,)), ng.grad(first)(x), *ng.value_and_grad(first)(x), ng.hvp(first, x, x)]
    assert [type(r) for r in results] == [ng.DimArray] * len(results)
    out.data[...] = 7.0  # of the user's from now on
    np.testing.assert_array_equal(back(x).data, np.where(np.arange(80)[:, None], 1.0, 3.0) * np.ones(100))
    assert repr(write(x)).startswith("<DimArray (t: 80, x: 100) float64>")


def heat(u: Any, steps: int) -> Any:
    """Every step is kept, as programs do that are to be looked at later."""
    table = np.zeros_like(u, shape=(steps, u.size))
    table[0] = u
    for n in range(steps - 1):
        table[n + 1] = table[n] + 0.1 * (np.roll(table[n], 1) - 2 * table[n] + np.roll(table[n], -1))
    return np.sum(table[-1] ** 2)


def line(u: Any, steps: int) -> Any:
    """Cell by cell."""
    out = np.zeros_like(u)
    for n in range(steps):
        out[n + 1] = 0.5 * out[n] + u[n]
    return np.sum(out)


def test_single_cells_are_read_without_copies() -> None:
    u = np.ones(1_000_000)
    np.testing.assert_allclose(ng.grad(lambda u: line(u, 3))(u)[:4], [1.75, 1.5, 1, 0])
    begin = time.thread_time()
    ng.grad(lambda u: line(u, 300))(u)
    assert time.thread_time() - begin < 0.25  # 0.5 with a copy of 8 MB for each


@pytest.mark.parametrize("derivative", [ng.grad, lambda f: lambda u: ng.jvp(f, (u,), (u,))])
def test_time_grows_with_the_writes_alone(derivative: Any) -> None:
    u = np.random.default_rng(0).normal(size=4000)
    seconds = []
    for steps in (100, 400):
        f = derivative(lambda u, steps=steps: heat(u, steps))
        f(u)
        begin = time.thread_time()
        f(u)
        seconds.append(time.thread_time() - begin)
    assert seconds[1] < 8 * seconds[0]  # 4 times, 16 if each write copied the table


def test_gradient_of_steps() -> None:
    """Linear steps: the gradient is that of a product of circulant matrices, by their eigenvalues."""
    u = np.random.default_rng(0).normal(size=300)
    factor = (1 - 0.2 * (1 - np.cos(2 * np.pi * np.fft.fftfreq(u.size)))) ** 59
    expected = 2 * np.fft.ifft(factor**2 * np.fft.fft(u)).real
    np.testing.assert_allclose(ng.grad(lambda u: heat(u, 60))(u), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_compiled(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, t = rng.normal(size=(2, *SHAPE[1:]))
    compiled = ng.compile(ng.grad(lambda x: program(seed, x)))
    for y in (x, t, x):
        before = y.copy()
        slope = program(seed, y + 1j * STEP * t).imag / STEP
        np.testing.assert_allclose(np.sum(compiled(y) * t), slope, rtol=1e-10, atol=1e-10)
        np.testing.assert_array_equal(y, before)


def test_compiled_steps_are_written_in_place() -> None:
    u = np.random.default_rng(0).normal(size=4000)
    compiled = ng.compile(ng.grad(lambda u: heat(u, 40)))
    np.testing.assert_allclose(compiled(u), ng.grad(lambda u: heat(u, 40))(u), rtol=1e-12)
    assert peak(lambda: compiled(u)) < 3 * 40 * u.nbytes  # the table, its cotangent and rows, not a table for each row


def test_recording_keeps_no_table_for_each_row() -> None:
    u = np.random.default_rng(0).normal(size=4000)
    assert peak(lambda: ng.compile(ng.grad(lambda u: heat(u, 40)))(u)) < 10 * 40 * u.nbytes  # of 80
