"""Threads, exceptions, long chains, memory, nesting, and the finite guards."""

from __future__ import annotations

import concurrent.futures
import copy
import gc
import math
import pickle
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from tests.support.arrays import normal
from tests.support.memory import collected, taken
from tests.support.oracles import moved, richardson
from tests.support.transforms import TRANSFORMS, scalar

RNG = np.random.default_rng(0)


# ------------------------------------------------------------------------------------------------ threads and exceptions


def test_nested_gradients_in_four_threads() -> None:
    barrier = threading.Barrier(4)

    def work(seed: int) -> list[float]:
        barrier.wait()
        out = []
        for k in range(40):
            x0 = 1.0 + 0.1 * seed + 0.01 * k

            def slow(x: ng.DimArray) -> ng.DimArray:
                inner = ng.grad(lambda y: y * x * y)(x)  # 2 x**2
                time.sleep(0.0002)  # so that levels of other threads open and close in between
                return inner * ng.pushforward(lambda y: y**3, (x,), (scalar(1.0),))[1]  # 6 x**4

            out.append(ng.grad(slow)(scalar(x0)).item() / (24 * x0**3))
        return out

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for ratios in pool.map(work, range(4)):
            np.testing.assert_allclose(ratios, 1.0, rtol=1e-12)


def test_a_pullback_may_be_used_by_another_thread() -> None:
    x = normal(50)
    _, pull = ng.pullback(np.sin, x)
    c = normal(50)
    expected = np.cos(x.data) * c.data
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for g in pool.map(lambda _: pull(c), range(50)):
            np.testing.assert_allclose(g.data, expected, rtol=1e-15)


@pytest.mark.parametrize("transform", [ng.grad, ng.value_and_grad, ng.jacobian, ng.hessian], ids=lambda t: t.__name__)
def test_an_exception_leaves_nothing_behind(transform: Callable[..., Any]) -> None:
    x = normal(3)

    def bad(x: ng.DimArray) -> ng.DimArray:
        ng.grad(lambda y: (y * x).sum())(x)
        raise ZeroDivisionError

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            transform(bad)(x)
        with pytest.raises(ZeroDivisionError):
            ng.grad(lambda x: transform(bad)(x).sum())(x)
        with pytest.raises(ZeroDivisionError):
            ng.pushforward(bad, (x,), (x,))
    np.testing.assert_array_equal(ng.grad(lambda x: (x * x).sum())(x).data, 2 * x.data)
    np.testing.assert_allclose(ng.hessian(lambda x: (x**3).sum())(x).data, np.diag(6 * x.data), rtol=1e-14)


def test_a_caught_exception_inside_does_not_disturb() -> None:
    x = normal(3)

    def f(x: ng.DimArray) -> ng.DimArray:
        y = x * x
        try:
            ng.grad(lambda z: (z * y).sum() + {}["nothing"])(x)
        except KeyError:
            y = y * 2
        return y.sum()

    np.testing.assert_array_equal(ng.grad(f)(x).data, 4 * x.data)


def test_generators_and_closures_may_outlive_a_call() -> None:
    x = normal(3)

    def f(x: ng.DimArray) -> ng.DimArray:
        def parts() -> Iterator[ng.DimArray]:
            yield x * x
            yield np.sin(x)

        return sum(parts(), 0.0).sum()  # type: ignore[return-value, attr-defined]

    np.testing.assert_allclose(ng.grad(f)(x).data, 2 * x.data + np.cos(x.data), rtol=1e-15)


# ------------------------------------------------------------------------------------------------ long chains


LENGTH = 100_000


def chain(x: ng.DimArray) -> ng.DimArray:
    for _ in range(LENGTH // 2):
        x = x * 1.0000001 + 1e-9
    return x


@pytest.mark.slow
def test_a_chain_of_100_000_operations() -> None:
    x = scalar(0.5)
    start = time.process_time()  # not wall time: the machine may be busy
    y, pull = ng.pullback(chain, x)
    assert math.isclose(pull(scalar(1.0)).item(), 1.0000001 ** (LENGTH // 2), rel_tol=1e-9)
    _, linear = ng.linearize(chain, x)
    assert math.isclose(linear(scalar(2.0)).item(), 2 * 1.0000001 ** (LENGTH // 2), rel_tol=1e-9)
    assert math.isclose(ng.pushforward(chain, (x,), (x,))[1].item(), 0.5 * 1.0000001 ** (LENGTH // 2), rel_tol=1e-9)
    traced: list[ng.DimArray] = []
    ng.grad(lambda x: [traced.append(chain(x)), traced[0]][1])(x)
    del pull, linear, y
    traced.clear()  # freeing the graph must not recurse either
    assert time.process_time() - start < 40
    assert sys.getrecursionlimit() < LENGTH


@pytest.mark.slow
def test_a_long_chain_of_second_order() -> None:
    def f(x: ng.DimArray) -> ng.DimArray:
        for _ in range(5_000):
            x = np.sin(x)
        return x

    x = scalar(0.5)
    value = ng.hvp(f, x, scalar(1.0)).item()
    expected = richardson(lambda h: ng.grad(f)(scalar(0.5 + h)).item(), 1e-4)
    assert math.isclose(value, expected, rel_tol=1e-6)


def test_a_wide_sum_of_paths() -> None:
    def f(x: ng.DimArray) -> ng.DimArray:
        total = x * 0.0
        for k in range(2_000):
            total = total + x * k
        return total.sum()

    np.testing.assert_allclose(ng.grad(f)(normal(3)).data, np.full(3, 1999 * 1000.0))


def test_powers_by_repeated_squaring_take_linear_time() -> None:
    def f(x: ng.DimArray) -> ng.DimArray:
        for _ in range(60):
            x = x * x
        return x

    assert math.isclose(ng.grad(f)(scalar(1.0)).item(), 2.0**60)  # 2**60 paths, 60 nodes


# ------------------------------------------------------------------------------------------------ memory


@pytest.fixture
def without_collector() -> Iterator[None]:
    for _ in range(3):  # what has a finalizer may leave more
        collected()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def cycles_of_ours() -> list[Any]:
    """What only the collector finds, of the package and of the tests: other threads may leave cycles meanwhile."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        homes = [(str(getattr(o, "__module__", None) or type(o).__module__), o) for o in gc.garbage]
        return [o for home, o in homes if home.startswith(("namedgrad", "tests"))]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


@pytest.mark.parametrize("name", TRANSFORMS)
def test_no_reference_cycles(name: str, without_collector: None) -> None:
    m = ng.DimArray(np.eye(3) + 0.1, ("x", "k"))
    seen: list[weakref.ref[Any]] = []

    def f(x: ng.DimArray) -> ng.DimArray:
        y = np.sin(x * 2.0)
        seen.append(weakref.ref(y))
        z = ng.dot(m, y.cumsum("x"), dim="x").isel(k=[0, 0, 2]) + ng.solve(m, y, ("x", "k"))
        seen.append(weakref.ref(z))
        return ng.where(z > 0, z, z * z).max() + y.std()

    x = normal(3)
    result = TRANSFORMS[name](f, x)
    del x
    assert seen
    assert not [r for r in seen if r() is not None], "kept alive by a cycle"
    del result
    assert not cycles_of_ours()


def test_a_graph_dies_with_its_pullback(without_collector: None) -> None:
    kept: list[weakref.ref[Any]] = []

    def f(x: ng.DimArray) -> ng.DimArray:
        y = x * x
        kept.append(weakref.ref(y))
        return y * y

    out, pull = ng.pullback(f, normal(4))
    pull(normal(4))
    del out, pull
    assert kept[0]() is None


def test_memory_beyond_the_answer_does_not_grow_with_the_batch() -> None:
    def beyond_the_answer(batch: int) -> int:
        w = ng.DimArray(RNG.normal(size=400), "f")
        x = ng.DimArray(np.ones((batch, 400)), ("b", "f"), vectorized="b")
        c = ng.DimArray(np.ones(batch), "b", vectorized="b")
        _, pull = ng.pullback(lambda w: ng.dot(w, x, dim="f"), w)
        pull(c)
        pulled = taken(lambda: pull(c))
        return pulled.most - pulled.result.data.nbytes

    small, large = beyond_the_answer(50), beyond_the_answer(2000)
    assert large < small + 200_000, "400 * 1950 * 8 bytes are 6 MB: one more copy per slice would show"


# ------------------------------------------------------------------------------------------------ borrowed arrays


def test_pullback_keeps_private_copies_of_user_arrays() -> None:
    passed, captured, matrix = RNG.normal(size=4), RNG.normal(size=4), np.eye(4) + 0.1
    named = ng.DimArray(captured, "x")
    system = ng.DimArray(matrix, ("x", "k"))

    def f(x: ng.DimArray) -> ng.DimArray:
        return ng.dot(x * named, x, dim="x") + ng.solve(system, x * x, ("x", "k")).sum() + (x**named).sum() * 0

    x = ng.DimArray(np.abs(passed), "x")
    for record in (
        lambda: (lambda p: lambda: p(scalar(1.0)))(ng.pullback(f, x)[1]),
        lambda: (lambda m: lambda: m.T(scalar(1.0)))(ng.linearize(f, x)[1]),
        lambda: (lambda m: lambda: m(ng.ones_like(x)))(ng.linearize(f, x)[1]),
    ):
        again = record()
        expected = again().to_numpy()
        saved = [a.copy() for a in (x.data, captured, matrix)]
        for a in (x.data, captured, matrix):
            a[...] = np.nan
        np.testing.assert_array_equal(again().to_numpy(), expected)
        for a, s in zip((x.data, captured, matrix), saved, strict=True):
            a[...] = s


@pytest.mark.parametrize("n", [4, 20_000])  # of many cells values are copied when somebody sees them
def test_values_beside_a_pullback_share_memory_with_nothing(n: int) -> None:
    captured, kept = normal(n), []

    def keeping(x: ng.DimArray) -> ng.DimArray:
        y = x * 2.0
        kept.append(ng.stop_gradient(y))
        return y

    functions: list[Any] = [
        keeping, ng.stop_gradient, ng.exp, ng.sign, lambda x: x, lambda x: x + 1.0, lambda x: captured, lambda x: x.real,
        lambda x: x.isel(x=slice(0, 2)), lambda x: ng.tile(x, {"x": 2}), lambda x: (ng.exp(x) + 0.0, ng.flip(x + 1.0, "x")),
        lambda x: (lambda y: (y, y, y * y))(x + 1.0), lambda x: (lambda y: (y, y.isel(x=slice(1, 3))))(ng.sign(x)),
    ]  # fmt: skip
    for transform in (ng.pullback, ng.linearize):
        for f in functions:
            x = normal(n)
            out, rest = transform(f, x)
            values = [y.data for y in (out if isinstance(out, tuple) else (out,))]
            others = [x.data, captured.data, *(k.data for k in kept)]
            for k, a in enumerate(values):
                assert not any(np.shares_memory(a, other) for other in (*others, *values[:k]))
                assert a.flags.writeable
            pull = rest if transform is ng.pullback else rest.T
            ones = ng.ones_like(out) if not isinstance(out, tuple) else tuple(ng.ones_like(y) for y in out)
            before = pull(ones).to_numpy()
            for a in values:
                a[...] = np.nan
            np.testing.assert_array_equal(pull(ones).to_numpy(), before)


@pytest.mark.parametrize(("f", "least"), [(ng.log, 1e-310), (ng.reciprocal, 1e-310), (ng.square, 1.7e308)])
def test_factors_that_overflow_when_they_are_needed(f: Any, least: float) -> None:
    """The first pull meets what the factor is made of, and may be finite where later ones are not."""
    x = np.ones(20_000)
    x[0] = least
    _, pull = ng.pullback(lambda x: f(x + 0.0), ng.DimArray(x, ("x",)))
    for g in (1e-320, 0.0, 1e-320, 0.0):
        pulled = pull(ng.DimArray(np.full(len(x), g), ("x",))).data
        assert not np.isnan(pulled).any()
        if g == 0:
            np.testing.assert_array_equal(pulled, 0)


def test_rows_of_jacobians_after_one_whose_factors_did_not_overflow() -> None:
    x, weights = np.ones(20_000), np.ones((3, 20_000))
    x[0], weights[:, 0] = 1e-310, [1e-320, 0, 0]
    each = ng.DimArray(weights, ("k", "x"))
    table = ng.jacobian(lambda x: (ng.log(x + 0.0) * each).sum("x"), chunk=1)(ng.DimArray(x, ("x",)))
    np.testing.assert_allclose(table.data, weights / x, rtol=1e-4)


@pytest.mark.parametrize("transform", [ng.pullback, ng.linearize])
def test_a_value_that_nobody_has_seen_yet_is_like_all_others(transform: Any) -> None:
    n = 20_000
    x = normal(n)
    want = np.exp(x.data)
    for use in (
        lambda y: y.data,
        lambda y: np.asarray(y),
        lambda y: y.to_numpy(),
        lambda y: y.to_xarray().values,
        lambda y: copy.deepcopy(y).data,
        lambda y: pickle.loads(pickle.dumps(y)).data,
        lambda y: y.isel(x=slice(None)).data,
        lambda y: (y + 0.0).data,
        lambda y: ng.compile(lambda a: a + 0.0)(y).data,
        lambda y: ng.grad(lambda a: (a * a).sum() / 2.0)(y).data,
    ):
        y, back = transform(ng.exp, x)
        assert y.names == ("x",)
        assert isinstance(y, ng.DimArray)
        np.testing.assert_array_equal(use(y), want)
        y.data[...] = np.nan
        pull = back if transform is ng.pullback else back.T
        np.testing.assert_allclose(pull(ng.ones_like(x)).data, want, rtol=1e-15)
        assert np.isnan(y.data).all()


def test_what_loops_and_checkpoints_capture_is_kept() -> None:
    square = ng.custom_pullback(lambda x: named)
    square.pullback(lambda g, y, x: g * y * x)
    named = normal(3)
    functions: list[Any] = [
        lambda x: ng.checkpoint(lambda y: (y * x * x).sum())(x * 2.0),
        lambda x: ng.checkpoint(lambda y: y * ng.flip(x, "x"))(x * 2.0).sum(),
        lambda x: ng.fori_loop(0, 2, lambda i, y: y * x, 2.0 * x).sum(),
        lambda x: (square(x) * x).sum(),
    ]  # fmt: skip
    for f in functions:
        x = normal(3)
        _, pull = ng.pullback(f, x)
        expected = pull(scalar(1.0)).to_numpy()
        kept = named.data.copy()
        x.data[...], named.data[...] = -x.data, -named.data
        np.testing.assert_array_equal(pull(scalar(1.0)).to_numpy(), expected)
        named.data[...] = kept


def test_a_program_may_write_beside_its_input() -> None:
    buffer = np.arange(1.0, 9.0)
    x, scratch = ng.DimArray(buffer[:4], "x"), ng.DimArray(buffer[4:], "x")

    def f(x: ng.DimArray) -> ng.DimArray:
        for k in range(3):
            buffer[4:] = k + 1.0
            x = x * scratch
        return x

    y, pull = ng.pullback(f, x)
    np.testing.assert_array_equal(y.data, 6 * x.data)
    np.testing.assert_array_equal(pull(ng.ones_like(y)).data, np.full(4, 6.0))


def test_positional_values_that_a_program_keeps_stay_its_own() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(np.sign(x))
        return kept[-1]

    y, _ = ng.pullback(f, np.array([1.0, -2.0]))
    y[...] = 99.0
    np.testing.assert_array_equal(np.asarray(kept[0]), [1.0, -1.0])


def test_gradients_alias_neither_inputs_nor_cotangents_nor_each_other() -> None:
    x, y, c = normal(4), normal(4), normal(4)
    functions: list[Any] = [
        lambda x, y: x + y, lambda x, y: x - y, lambda x, y: y, lambda x, y: (x + y).transpose(), lambda x, y: ng.concat([x, y], "x").isel(x=slice(0, 4)),
        lambda x, y: x.rename(x="q").rename(q="x") + y, lambda x, y: ng.stop_gradient(x) + y, lambda x, y: x.real + y.conj(),
    ]  # fmt: skip
    for f in functions:
        _, pull = ng.pullback(f, x, y)
        first, second = pull(c), pull(c)
        arrays = [g.data for g in (*first, *second)]
        for k, a in enumerate(arrays):
            for other in (x.data, y.data, c.data, *arrays[:k]):
                assert not np.shares_memory(a, other)
            a[...] = 7.0  # writable, and harmless


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_gradient_of_a_weighted_sum_is_not_the_weights_themselves(dtype: str) -> None:
    """Where a cotangent is 1 everywhere the product with it is left out: of many cells, as few are not worth it."""
    x, w = (ng.DimArray(RNG.normal(size=(150, 100)).astype(dtype), ("a", "b")) for _ in range(2))
    before, halves = w.data.copy(), (slice(0, 75), slice(75, 150))
    losses: dict[str, Any] = {
        "plain": lambda x: (x * w).sum(), "turned": lambda x: (x.transpose("b", "a") * w).sum(), "padded": lambda x: (x.pad(a=(1, 2))[1:151] * w).sum(),
        "renamed": lambda x: (x.rename(a="c") * w.rename(a="c")).sum(), "halves": lambda x: sum((x[half] * w[half]).sum() for half in halves),
    }  # fmt: skip
    for name, loss in losses.items():
        g = ng.grad(loss)(x)
        np.testing.assert_array_equal(g.transpose("a", "b").data, before, err_msg=name)
        assert g.dtype == x.dtype
        assert not np.shares_memory(g.data, w.data)
        g.data[...] = 7.0  # writable, and harmless
        np.testing.assert_array_equal(w.data, before)


def test_a_factor_that_is_given_away_as_the_gradient_is_nobody_elses() -> None:
    x, kept = ng.DimArray(RNG.normal(size=(150, 100)), ("a", "b")), []

    def f(x: Any) -> Any:
        kept.append(ng.exp(x))  # a value and its own slope
        return kept[-1].sum(), kept[-1]

    want = np.exp(x.data)
    g, aux = ng.grad(f, has_aux=True)(x)
    both = ng.grad(lambda x, y: ((x + y) ** 2).sum(), (0, 1))(x, x)
    arrays = [g.data, aux.data, *(h.data for h in both)]
    for k, a in enumerate(arrays):
        assert a.flags.writeable
        assert not any(np.shares_memory(a, b) for b in (x.data, *arrays[:k]))
    np.testing.assert_array_equal(g.data, want)
    g.data[...] = 7.0
    np.testing.assert_array_equal(aux.data, want)
    np.testing.assert_array_equal(ng.stop_gradient(kept[0]).data, want)


def test_sums_of_cells_with_infinite_slopes() -> None:
    """A cell that does not count has gradient 0, whatever its slope; one that counts has its slope."""
    x = ng.DimArray([0.0, 4.0, np.inf], ("a",))
    some = ng.DimArray([False, True, True], ("a",))

    def twice(x: Any) -> Any:
        y = ng.sqrt(x)
        return y.sum() - y.sum()

    losses: dict[str, tuple[Any, list[float]]] = {
        "sum": (lambda x: ng.sqrt(x).sum(), [np.inf, 0.25, 0]), "mean": (lambda x: -ng.sqrt(x).mean(), [-np.inf, -0.25 / 3, 0]),
        "twice": (twice, [0, 0, 0]), "times 0": (lambda x: ng.sqrt(x).sum() * 0.0, [0, 0, 0]), "cells times 0": (lambda x: (ng.sqrt(x) * 0.0).sum(), [0, 0, 0]),
        "a part": (lambda x: ng.sqrt(x)[1:].sum(), [0, 0.25, 0]), "where": (lambda x: ng.where(some, ng.sqrt(x), 0.0).sum(), [0, 0.25, 0]),
        "two factors": (lambda x: ng.sqrt(x * ng.DimArray([0.0, 1.0, 1.0], ("a",))).sum(), [0, 0.25, 0]),
    }  # fmt: skip
    for name, (loss, want) in losses.items():
        np.testing.assert_array_equal(ng.grad(loss)(x).data, want, err_msg=name)


@pytest.mark.parametrize("size", [None, 1, 3])
def test_a_number_that_does_not_count_has_no_slope_beside_one_that_is_infinite(size: int | None) -> None:
    """As cells of an array: 0 times the slope of a number was NaN, while that of a row of numbers was 0."""
    x = ng.DimArray(np.zeros(() if size is None else size), () if size is None else ("a",))
    bounded: dict[str, Any] = {
        "maximum": lambda x: ng.maximum(x, 1e-200), "minimum": lambda x: -ng.minimum(-x, -1e-200), "fmax": lambda x: ng.fmax(1e-200, x), "square": lambda x: x**2 + 1e-200,
        "product": lambda x: x * x + 1e-200, "times 0": lambda x: 0 * x + 1e-200, "abs": lambda x: abs(x) + 1e-200, "hypot": lambda x: ng.hypot(x, 1e-200),
        "cosine": lambda x: 1e-200 * ng.cos(x),
    }  # fmt: skip
    for name, low in bounded.items():
        for loss in (lambda x, low=low: (1 / low(x)).sum(), lambda x, low=low: (low(x) ** -2.0).sum()):
            np.testing.assert_array_equal(ng.grad(loss)(x).data, np.zeros(x.shape), err_msg=name)
            np.testing.assert_array_equal(ng.compile(ng.grad(loss))(x).data, np.zeros(x.shape), err_msg=name)


def test_a_factor_0_leaves_an_infinite_slope_out_of_convolutions_and_determinants() -> None:
    """As products do: NumPy's value, the root of 0 whatever x is, does not depend on it."""
    x, kernel = ng.DimArray([1.0, 2.0, -0.5], "x"), ng.DimArray([0.0, 1.0], "x")
    slope = ng.grad(lambda x: ng.cbrt(ng.convolve(x, kernel, "x")).sum())(x)
    np.testing.assert_allclose(slope.data, np.abs([1.0, 2.0, 0.5]) ** (-2 / 3) / 3, rtol=1e-14)
    both = ng.grad(lambda x, k: ng.sqrt(ng.convolve(x, k, "x")).sum(), (0, 1))(ng.zeros({"x": 3}), ng.zeros({"x": 2}))
    np.testing.assert_array_equal(both[0].data, np.zeros(3))
    np.testing.assert_array_equal(both[1].data, np.zeros(2))
    zeros = ng.zeros({"i": 3, "j": 3})
    np.testing.assert_array_equal(ng.grad(lambda a: ng.sqrt(ng.linalg.det(a, ("i", "j"))))(zeros).data, np.zeros((3, 3)))


def test_second_derivatives_of_sums_over_many_cells() -> None:
    x, w = (ng.DimArray(RNG.uniform(1, 2, (150, 100)), ("a", "b")) for _ in range(2))
    twice = ng.grad(lambda x: (ng.grad(lambda y: (ng.exp(y) * x * w).sum())(x) * w).sum())(x)
    np.testing.assert_allclose(twice.data, w.data**2 * np.exp(x.data) * (x.data + 1), rtol=1e-14)
    np.testing.assert_allclose(ng.hvp(lambda x: (x**3 * w).sum(), x, w).data, 6 * x.data * w.data**2, rtol=1e-14)
    rows = ng.grad(lambda x, w: (x * x * w).sum(), over="a")(x, w)
    np.testing.assert_allclose(rows.data, 2 * x.data * w.data, rtol=1e-14)


def test_values_and_gradients_may_be_written() -> None:
    raw = RNG.normal(size=3)
    x = ng.DimArray(raw, "x")
    _, g = ng.value_and_grad(lambda x: x.sum())(x)
    g.data[...] = 5.0
    np.testing.assert_array_equal(ng.grad(lambda x: x.sum())(x).data, np.ones(3))
    np.testing.assert_array_equal(x.data, raw)


# ------------------------------------------------------------------------------------------------ nesting


def test_perturbation_confusion() -> None:
    def d(f: Callable[[ng.DimArray], ng.DimArray], x: ng.DimArray) -> ng.DimArray:
        return ng.pushforward(f, (x,), (ng.ones_like(x),))[1]

    x = scalar(1.5)
    assert math.isclose(d(lambda x: x * d(lambda y: x * y, x), x).item(), 3.0)
    assert math.isclose(ng.grad(lambda x: x * ng.grad(lambda y: x * y)(x))(x).item(), 3.0)
    assert math.isclose(ng.grad(lambda x: x * d(lambda y: x * y * y, x))(x).item(), 3 * 2 * 1.5**2)
    assert math.isclose(d(lambda x: x * ng.grad(lambda y: x * y * y)(x), x).item(), 3 * 2 * 1.5**2)
    assert d(lambda x: d(lambda y: x, x), x).item() == 0.0
    assert ng.grad(lambda x: ng.grad(lambda y: x + 0 * y)(x))(x).item() == 0.0


@pytest.mark.parametrize("order", ["rr", "rf", "fr", "ff", "rrr", "rfr", "frf", "ffr", "frr", "rrf"])
def test_any_order_of_modes(order: str) -> None:
    def derive(f: Callable[[ng.DimArray], ng.DimArray], mode: str) -> Callable[[ng.DimArray], ng.DimArray]:
        if mode == "r":
            return ng.grad(f)
        return lambda x: ng.pushforward(f, (x,), (scalar(1.0),))[1]

    def f(x: ng.DimArray) -> ng.DimArray:
        return np.exp(np.sin(x) * x) / (x * x + 1)

    lower = f
    for mode in order[:-1]:
        lower = derive(lower, mode)
    x = scalar(0.7)
    expected = richardson(lambda h: lower(scalar(0.7 + h)).item())
    assert math.isclose(derive(lower, order[-1])(x).item(), expected, rel_tol=1e-7)


def test_inner_gradients_close_over_outer_values() -> None:
    w, x = normal(3), normal(3)

    def outer(w: ng.DimArray) -> ng.DimArray:
        inner = ng.grad(lambda x: np.sin((w * x).sum()))(x)
        return (inner * inner).sum()

    expected = np.array([
        richardson(lambda h, k=k: outer(moved(w, h * np.eye(3)[k])).item()) for k in range(3)
    ])  # fmt: skip
    np.testing.assert_allclose(ng.grad(outer)(w).data, expected, rtol=1e-8)


def test_pullback_inside_a_gradient() -> None:
    x = normal(3)

    def f(x: ng.DimArray) -> ng.DimArray:
        y, pull = ng.pullback(lambda z: np.sin(z) * x, x)
        return (pull(y) * y).sum()  # (cos(x) x) (sin(x) x) (sin(x) x)

    expected = np.array([richardson(lambda h, k=k: f(moved(x, h * np.eye(3)[k])).item()) for k in range(3)])
    np.testing.assert_allclose(ng.grad(f)(x).data, expected, rtol=1e-7)
    _, linear = ng.linearize(lambda x: ng.linearize(lambda z: z * z * x, x)[1](x), x)
    np.testing.assert_allclose(linear(x).data, 6 * x.data**3, rtol=1e-12)


# ------------------------------------------------------------------------------------------------ finite guards

OTHERS = np.random.default_rng(1).normal(size=(3, 4))
# Functions of the rows of a matrix, one of which is spoiled and masked out.
OF_ROWS: dict[str, Callable[[ng.DimArray, ng.DimArray], ng.DimArray]] = {
    "softmax": lambda x, w: ng.softmax(x * w, "y"),
    "log_softmax": lambda x, w: ng.log_softmax(x * w, "y"),
    "softmin": lambda x, w: ng.softmin(x * w, "y"),
    "layer_norm": lambda x, w: ng.layer_norm(x, w, dim="y"),
    "rms_norm": lambda x, w: ng.rms_norm(x, w, dim="y"),
    "batch_norm": lambda x, w: ng.batch_norm(x, w, dim="y")[0],
    "normalize": lambda x, w: ng.normalize(x * w, "y"),
    "mse_loss": lambda x, w: ng.mse_loss(x, w, dim="y"),
    "cdist": lambda x, w: ng.cdist(x, w.expand_dims("z"), dim="y"),
    "cosine_similarity": lambda x, w: ng.cosine_similarity(x, w, dim="y"),
    "cross_entropy": lambda x, w: ng.cross_entropy(x * w, ng.DimArray([0, 1, 3], "x"), dim="y", reduction=None),
    "cubic": lambda x, w: ng.interp(x * w, {"y": ng.DimArray([0.3, 2.2], "z")}, ng.DimArray(np.arange(4.0), "y"), method="cubic"),
}


@pytest.mark.parametrize("spoiled", [np.nan, -np.inf, np.inf])
@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_row_behind_where_takes_no_part(name: str, spoiled: float) -> None:
    """As a query that may look at no key, whose scores are all minus infinity: its row is 0, and the weights' are finite."""
    x, w = ng.DimArray(np.where([[False], [True], [False]], spoiled, OTHERS), ("x", "y")), ng.DimArray(OTHERS[0] ** 2 + 0.5, "y")
    seen = ng.DimArray([True, False, True], "x")

    def f(x: ng.DimArray, w: ng.DimArray) -> ng.DimArray:
        y = ng.where(seen, OF_ROWS[name](x, w), 0.0)
        return (y * ng.DimArray(np.cos(np.arange(y.size)).reshape(y.shape), y.dims)).sum(skipna=False)

    gx, gw = ng.grad(f, (0, 1))(x, w)
    steps = np.eye(12).reshape(12, 3, 4)
    np.testing.assert_allclose(gx.data.ravel(), [richardson(lambda h, s=s: f(moved(x, h * s), w).item()) for s in steps], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(gw.data, [richardson(lambda h, s=s: f(x, moved(w, h * s)).item()) for s in np.eye(4)], rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(gx.isel(x=1).data, 0)
    bends = ng.hvp(lambda w: f(x, w), w, w), ng.grad(lambda w: (ng.grad(lambda v: f(x, v))(w) * ng.stop_gradient(w)).sum())(w)
    bent = richardson(lambda h: ng.grad(f, 1)(x, moved(w, h * w.data)).data, 1e-3)
    for found in bends:
        np.testing.assert_allclose(found.data, bent, rtol=1e-6, atol=1e-7)


def test_forward_and_reverse_agree_on_products_beside_infinity() -> None:
    x = np.array([2.0, np.inf, 3.0])
    expected = np.array([[1, 0, 0], [np.inf, 2, 0], [np.inf, 6, np.inf]])
    for mode in ("forward", "reverse"):
        np.testing.assert_array_equal(ng.jacobian(np.cumprod, mode=mode)(x), expected)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_convolution_with_infinity_moves_only_what_changes(mode: str) -> None:
    x, kernel = ng.DimArray([np.inf, 1.0, 2.0], "x"), ng.DimArray([1.0, 0.5], "x")
    jacobian = ng.jacobian(lambda k: ng.convolve(x, k, "x", mode="valid"), mode=mode)(kernel)
    np.testing.assert_array_equal(jacobian.data, [[1.0, np.inf], [2.0, 1.0]])

# ------------------------------------------------------------------------------------------------ warnings


def test_no_warnings_inside_a_trace_and_numpys_outside() -> None:
    x = ng.DimArray([0.0, 4.0], "x")
    ng.grad(lambda x: ng.where(x > 0, np.log(x) / x, 0.0).sum())(x)  # filterwarnings = error
    ng.hvp(lambda x: ng.where(x > 0, np.log(x) / x, 0.0).sum(), x, x)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.log(x)


# ------------------------------------------------------------------------------------------------ special sizes


@pytest.mark.parametrize("sizes", [(0,), (0, 2), (2, 0), (1,), (1, 1), ()])
def test_empty_single_and_no_dims(sizes: tuple[int, ...]) -> None:
    x = ng.DimArray(np.ones(sizes), tuple("xy"[: len(sizes)]))
    for f in (lambda x: (x * x).sum(), lambda x: np.sin(x).sum() * 2, lambda x: x.prod(), lambda x: ng.concat([x, x], "z").sum()):
        g = ng.grad(f)(x)
        assert g.data.shape == sizes
        assert np.isfinite(g.data).all()
        assert ng.pushforward(f, (x,), (x,))[1].shape == ()
    if sizes:
        for f in (lambda x: x.cumsum("x"), lambda x: x.flip("x"), lambda x: x.roll(x=3), lambda x: x.isel(x=slice(0, 0)), lambda x: x.pad(x=1)):
            out, pull = ng.pullback(f, x)
            assert pull(out).data.shape == sizes
    batched = x.expand_dims(b=0).vectorize("b")
    assert ng.grad(lambda x: (x * x).sum())(batched).data.shape == (0, *sizes)
