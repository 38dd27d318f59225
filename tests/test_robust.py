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
from namedgrad.transforms import tape
from tests.support.memory import taken
from tests.support.oracles import moved, richardson
from tests.support.tolerances import ROUNDING, SECOND, assert_close

RNG = np.random.default_rng(0)


def array(*sizes: int) -> ng.DimArray:
    return ng.DimArray(RNG.normal(size=sizes), tuple("xyz"[: len(sizes)]))


def scalar(value: float) -> ng.DimArray:
    return ng.DimArray(value, ())


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
    x = array(50)
    _, pull = ng.pullback(np.sin, x)
    c = array(50)
    expected = np.cos(x.data) * c.data
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for g in pool.map(lambda _: pull(c), range(50)):
            np.testing.assert_allclose(g.data, expected, rtol=1e-15)


@pytest.mark.parametrize("transform", [ng.grad, ng.value_and_grad, ng.jacobian, ng.hessian], ids=lambda t: t.__name__)
def test_an_exception_leaves_nothing_behind(transform: Callable[..., Any]) -> None:
    x = array(3)

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
    x = array(3)

    def f(x: ng.DimArray) -> ng.DimArray:
        y = x * x
        try:
            ng.grad(lambda z: (z * y).sum() + {}["nothing"])(x)
        except KeyError:
            y = y * 2
        return y.sum()

    np.testing.assert_array_equal(ng.grad(f)(x).data, 4 * x.data)


def test_generators_and_closures_may_outlive_a_call() -> None:
    x = array(3)

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

    np.testing.assert_allclose(ng.grad(f)(array(3)).data, np.full(3, 1999 * 1000.0))


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
        gc.collect()
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


def _custom(f: Callable[..., Any]) -> Any:
    g = ng.custom_pullback(f)
    g.pullback(lambda c, out, x: c * np.cos(x))
    return g


def _custom_forward(f: Callable[..., Any]) -> Any:
    g = ng.custom_pushforward(f)
    g.pushforward(lambda t, out, x: (t[0] * np.cos(x)).sum())
    return g


TRANSFORMS: dict[str, Callable[[Any, ng.DimArray], Any]] = {
    "grad": lambda f, x: ng.grad(f)(x),
    "value_and_grad": lambda f, x: ng.value_and_grad(f)(x),
    "pullback": lambda f, x: ng.pullback(f, x)[1](scalar(1.0)),
    "pushforward": lambda f, x: ng.pushforward(f, (x,), (x,)),
    "linearize": lambda f, x: [ng.linearize(f, x)[1](x), ng.linearize(f, x)[1].T(scalar(1.0))],
    "jacobian": lambda f, x: ng.jacobian(f)(x),
    "hessian": lambda f, x: ng.hessian(f)(x),
    "hvp": lambda f, x: ng.hvp(f, x, x),
    "checkpoint": lambda f, x: ng.grad(ng.checkpoint(f))(x),
    "custom_pullback": lambda f, x: ng.grad(_custom(f))(x),
    "custom_pushforward": lambda f, x: ng.grad(_custom_forward(f))(x),
    "scan": lambda f, x: ng.grad(lambda x: ng.scan(lambda c, k: (c + f(x), None), 0.0, ng.ones({"t": 4}), "t")[0])(x),
    "vmap": lambda f, x: ng.vmap(ng.grad(f), "b")(x.expand_dims(b=2)),
    "has_aux": lambda f, x: ng.grad(lambda x: (f(x), {"aux": x * 2}), has_aux=True)(x),
    "second order": lambda f, x: ng.grad(lambda x: ng.grad(f)(x).sum())(x),
}


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

    x = array(3)
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

    out, pull = ng.pullback(f, array(4))
    pull(array(4))
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


def test_values_beside_a_pullback_share_memory_with_nothing() -> None:
    captured, kept = array(4), []

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
            x = array(4)
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


def test_what_loops_and_checkpoints_capture_is_kept() -> None:
    square = ng.custom_pullback(lambda x: named)
    square.pullback(lambda g, y, x: g * y * x)
    named = array(3)
    functions: list[Any] = [
        lambda x: ng.checkpoint(lambda y: (y * x * x).sum())(x * 2.0),
        lambda x: ng.checkpoint(lambda y: y * ng.flip(x, "x"))(x * 2.0).sum(),
        lambda x: ng.fori_loop(0, 2, lambda i, y: y * x, 2.0 * x).sum(),
        lambda x: (square(x) * x).sum(),
    ]  # fmt: skip
    for f in functions:
        x = array(3)
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
    x, y, c = array(4), array(4), array(4)
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


def test_values_and_gradients_may_be_written() -> None:
    raw = RNG.normal(size=3)
    x = ng.DimArray(raw, "x")
    _, g = ng.value_and_grad(lambda x: x.sum())(x)
    g.data[...] = 5.0
    np.testing.assert_array_equal(ng.grad(lambda x: x.sum())(x).data, np.ones(3))
    np.testing.assert_array_equal(x.data, raw)


# ------------------------------------------------------------------------------------------------ leaving the trace


LEAKS: dict[str, Callable[[Any], Any]] = {
    "np.asarray": np.asarray,
    "np.array": np.array,
    "float": lambda x: float(x.sum()),
    "int": lambda x: int(x.sum()),
    "complex": lambda x: complex(x.sum()),
    "math.sin": lambda x: math.sin(x.sum()),
    "bool": lambda x: bool(x.sum()),
    "item": lambda x: x.sum().item(),
    "data": lambda x: x.data,
    "to_numpy": lambda x: x.to_numpy(),
    "to_xarray": lambda x: x.to_xarray(),
    "pickle": pickle.dumps,
    "index": lambda x: [1, 2][x.sum()],
    "range": lambda x: range(x.sum()),
    "format": lambda x: f"{x.sum():.2f}",
}


@pytest.mark.parametrize("name", LEAKS)
def test_leaving_the_trace_is_refused(name: str) -> None:
    x = array(3)
    attempts = (
        lambda: ng.grad(lambda x: (LEAKS[name](x), x.sum())[1])(x),
        lambda: ng.pushforward(lambda x: (LEAKS[name](x), x)[1], (x,), (x,)),
        lambda: ng.jacobian(lambda x: (LEAKS[name](x), x)[1])(x),
    )
    for attempt in attempts:
        with pytest.raises(TypeError) as info:
            attempt()
        if name not in {"format", "range", "index"}:
            assert isinstance(info.value, ng.TraceError)
            assert "stop_gradient" in str(info.value) or "use" in str(info.value)


def test_comparisons_steer_python() -> None:
    def f(x: ng.DimArray) -> ng.DimArray:
        y = x.sum()
        return y * y if y > 0 else -y

    assert ng.grad(f)(ng.DimArray([1.0, 2.0], "x")).data.tolist() == [6.0, 6.0]
    assert ng.grad(f)(ng.DimArray([-1.0, -2.0], "x")).data.tolist() == [-1.0, -1.0]
    with pytest.raises(TypeError, match="per slice"):
        ng.grad(f)(ng.DimArray([[1.0], [2.0]], ("b", "x"), vectorized="b"))
    with pytest.raises(ValueError, match="single element"):
        ng.grad(lambda x: x.sum() if x > 0 else -x.sum())(ng.DimArray([1.0, 2.0], "x"))


def test_comparisons_are_untraced() -> None:
    def f(x: ng.DimArray) -> ng.DimArray:
        mask = x > 0
        assert type(mask) is ng.DimArray
        assert mask.dtype == bool
        mask.to_numpy()
        assert type(x.argmax("x")) is ng.DimArray
        return ng.where(mask, x, 0.0).sum()

    np.testing.assert_array_equal(ng.grad(f)(ng.DimArray([-1.0, 2.0], "x")).data, [0.0, 1.0])


def test_a_traced_value_used_after_its_transform() -> None:
    kept: list[Any] = []

    def f(x: ng.DimArray) -> ng.DimArray:
        kept.append(x * 2)
        return x.sum()

    x = array(3)
    for transform in (
        lambda: ng.grad(f)(x), lambda: ng.pullback(f, x), lambda: ng.pushforward(f, (x,), (x,)), lambda: ng.jacobian(f)(x), lambda: ng.hvp(f, x, x),
    ):  # fmt: skip
        kept.clear()
        transform()
        for use in (lambda y: y + 1, np.sin, lambda y: y.sum(), lambda y: y * y, lambda y: ng.grad(lambda z: (z * y).sum())(x), lambda y: y.isel(x=0)):
            with pytest.raises(ng.TraceError, match="return it from the function"):
                use(kept[0])


def _leaves(result: Any) -> Iterator[Any]:
    if isinstance(result, (tuple, list)):
        for r in result:
            yield from _leaves(r)
    elif isinstance(result, dict):
        yield from _leaves(list(result.values()))
    else:
        yield result


@pytest.mark.parametrize("name", TRANSFORMS)
def test_results_contain_nothing_traced(name: str) -> None:
    f = lambda x: (x * x).sum() * 2 + ng.stop_gradient(x).sum()
    for r in _leaves(TRANSFORMS[name](f, array(3))):
        assert type(r) is ng.DimArray
        r.to_numpy()
    aux = ng.grad(lambda x: ((x * x).sum(), {"mid": [x * 2, "text", None, 3]}), has_aux=True)(array(3))[1]
    assert type(aux["mid"][0]) is ng.DimArray
    assert aux["mid"][1:] == ["text", None, 3]


def test_deepcopy_stays_on_the_trace() -> None:
    x = array(3)
    g = ng.grad(lambda x: (copy.deepcopy(x) * copy.copy(x)).sum())(x)
    np.testing.assert_array_equal(g.data, 2 * x.data)


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
    w, x = array(3), array(3)

    def outer(w: ng.DimArray) -> ng.DimArray:
        inner = ng.grad(lambda x: np.sin((w * x).sum()))(x)
        return (inner * inner).sum()

    expected = np.array([
        richardson(lambda h, k=k: outer(moved(w, h * np.eye(3)[k])).item()) for k in range(3)
    ])  # fmt: skip
    np.testing.assert_allclose(ng.grad(outer)(w).data, expected, rtol=1e-8)


def test_pullback_inside_a_gradient() -> None:
    x = array(3)

    def f(x: ng.DimArray) -> ng.DimArray:
        y, pull = ng.pullback(lambda z: np.sin(z) * x, x)
        return (pull(y) * y).sum()  # (cos(x) x) (sin(x) x) (sin(x) x)

    expected = np.array([richardson(lambda h, k=k: f(moved(x, h * np.eye(3)[k])).item()) for k in range(3)])
    np.testing.assert_allclose(ng.grad(f)(x).data, expected, rtol=1e-7)
    _, linear = ng.linearize(lambda x: ng.linearize(lambda z: z * z * x, x)[1](x), x)
    np.testing.assert_allclose(linear(x).data, 6 * x.data**3, rtol=1e-12)


# ------------------------------------------------------------------------------------------------ finite guards

# f(x), the cells where it is masked out, and a place where the factor there is not finite.
MASKED: dict[str, tuple[Callable[[ng.DimArray], ng.DimArray], list[float]]] = {
    "sqrt at 0": (np.sqrt, [0.0, 4.0]),
    "sqrt below 0": (np.sqrt, [-1.0, 4.0]),
    "log at 0": (np.log, [0.0, 4.0]),
    "log below 0": (np.log, [-2.0, 4.0]),
    "log2": (np.log2, [0.0, 4.0]),
    "log1p": (np.log1p, [-1.0, 4.0]),
    "divide by 0": (lambda x: 1.0 / x, [0.0, 4.0]),
    "0 / 0": (lambda x: x / x, [0.0, 4.0]),
    "reciprocal": (np.reciprocal, [0.0, 4.0]),
    "power -1": (lambda x: x**-1.0, [0.0, 4.0]),
    "power 0.5": (lambda x: x**0.5, [0.0, 4.0]),
    "fractional power below 0": (lambda x: x**1.5, [-1.0, 4.0]),
    "0 ** x": (lambda x: 0.0**x, [-1.0, 4.0]),
    "x ** x": (lambda x: x**x, [0.0, 1.5]),
    "exp overflows": (np.exp, [1000.0, 1.0]),
    "exp of exp": (lambda x: np.exp(np.exp(x)), [1000.0, 1.0]),
    "arccos at 1": (np.arccos, [1.0, 0.5]),
    "arcsin beyond 1": (np.arcsin, [1.5, 0.5]),
    "arctanh at 1": (np.arctanh, [1.0, 0.5]),
    "arccosh at 1": (np.arccosh, [1.0, 2.5]),
    "cbrt": (np.cbrt, [0.0, 4.0]),
    "multiply by inf": (lambda x: x * ng.DimArray([np.inf, 3.0], "x"), [2.0, 4.0]),
    "multiply by nan": (lambda x: x * ng.DimArray([np.nan, 3.0], "x"), [2.0, 4.0]),
    "arctan2": (lambda x: np.arctan2(x, x * 0), [0.0, 4.0]),
    "log of sqrt": (lambda x: np.log(np.sqrt(x)), [0.0, 4.0]),
    "sqrt of square": (lambda x: np.sqrt(x * x), [0.0, 4.0]),
    "tan overflow": (lambda x: np.sinh(x), [1000.0, 1.0]),
    "nan": (np.sin, [np.nan, 1.0]),
    "inf": (np.sin, [np.inf, 1.0]),
    "dot with nan": (lambda x: ng.dot(ng.DimArray([[np.nan, 1.0], [2.0, 3.0]], ("x", "k")), x * x, dim=()).sum("k", skipna=False), [2.0, 4.0]),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_cells_get_exactly_zero(name: str) -> None:
    f, at = MASKED[name]
    x, keep = ng.DimArray(at, "x"), ng.DimArray([False, True], "x")
    alone = ng.DimArray(at[1:], "x")

    def masked(x: ng.DimArray) -> ng.DimArray:
        return ng.where(keep, f(x), 0.0).sum()

    def plain(x: ng.DimArray) -> ng.DimArray:
        return f(ng.concat([ng.DimArray([1.0], "x"), x], "x")).isel(x=1)

    g = ng.grad(masked)(x).data
    assert g[0] == 0
    assert_close(g[1:], ng.grad(plain)(alone).data, ROUNDING)
    pushed = ng.pushforward(masked, (x,), (ng.DimArray([3.0, 2.0], "x"),))[1]
    assert_close(pushed.data, 2 * g[1], ROUNDING)
    v = ng.DimArray([5.0, 1.0], "x")
    second = ng.grad(lambda x: ng.grad(plain)(x).sum())(alone).data
    for h in (ng.hvp(masked, x, v).data, ng.grad(lambda x: (ng.grad(masked)(x) * v).sum())(x).data):
        assert h[0] == 0
        assert_close(h[1:], second, SECOND)
    assert not np.isnan(ng.hessian(masked)(x).data).any()
    third = ng.grad(lambda x: ng.hvp(masked, x, v).sum())(x).data
    assert third[0] == 0


@pytest.mark.parametrize("name", [n for n in MASKED if n not in {"nan", "multiply by nan", "dot with nan"}])
def test_cells_left_out_by_index_get_exactly_zero(name: str) -> None:
    f, at = MASKED[name]
    x = ng.DimArray(at, "x")
    for chosen in (lambda y: y.isel(x=1), lambda y: y.isel(x=[1, 1]).sum(), lambda y: (y * ng.DimArray([0.0, 1.0], "x")).isel(x=1)):
        g = ng.grad(lambda x, chosen=chosen: chosen(f(x)))(x).data
        assert g[0] == 0
        assert np.isfinite(g[1])


def test_true_infinities_survive() -> None:
    x = ng.DimArray([0.0, 4.0], "x")
    np.testing.assert_array_equal(ng.grad(lambda x: np.sqrt(x).sum())(x).data, [np.inf, 0.25])
    np.testing.assert_array_equal(ng.grad(lambda x: np.log(x).sum())(x).data, [np.inf, 0.25])
    np.testing.assert_array_equal(ng.grad(lambda x: (-1.0 / x).sum())(x).data, [np.inf, 1 / 16])
    assert np.isnan(ng.grad(lambda x: (x * np.nan).sum(skipna=False))(x).data).all()
    mixed = ng.grad(lambda x: (np.sqrt(x) + ng.where(x > 1, np.log(x), 0.0)).sum())(x).data
    np.testing.assert_array_equal(mixed, [np.inf, 0.5])


def test_guards_under_vectorized_axes() -> None:
    x = ng.DimArray([[0.0, 4.0], [1.0, 0.0]], ("b", "x"), vectorized="b")
    g = ng.grad(lambda x: ng.where(x > 0, np.log(x) / np.sqrt(x), 0.0).sum())(x).data
    expected = (1 - 0.5 * np.log([4.0, 1.0])) / np.array([4.0, 1.0]) ** 1.5
    np.testing.assert_allclose(g, [[0, expected[0]], [expected[1], 0]], rtol=1e-14)


def test_contractions_guard_row_by_row() -> None:
    m = ng.DimArray([[np.inf, 1.0], [2.0, 3.0]], ("i", "j"))
    x = ng.DimArray([1.0, 2.0], "j")
    keep = ng.DimArray([False, True], "i")
    g = ng.grad(lambda x: ng.where(keep, ng.dot(m, x, dim="j"), 0.0).sum())(x)
    np.testing.assert_array_equal(g.data, [2.0, 3.0])
    g = ng.grad(lambda x: ng.dot(m, x, dim="j").sum())(x)
    np.testing.assert_array_equal(g.data, [np.inf, 4.0])
    pushed = ng.pushforward(lambda x: ng.dot(m, x, dim="j"), (x,), (ng.DimArray([0.0, 1.0], "j"),))[1]
    np.testing.assert_array_equal(pushed.data, [1.0, 3.0])


def test_norm_like_functions_at_zero() -> None:
    zero = ng.DimArray([0.0, 0.0], "x")
    for f in (lambda x: x.std(), lambda x: np.hypot(x.isel(x=0), x.isel(x=1)), lambda x: abs(x).sum()):
        np.testing.assert_array_equal(ng.grad(f)(zero).data, [0.0, 0.0])
        np.testing.assert_array_equal(ng.pushforward(f, (zero,), (ng.DimArray([1.0, -2.0], "x"),))[1].data, 0.0)
        assert np.isfinite(ng.hessian(lambda x, f=f: ng.where(x.sum() > 0, f(x), 0.0))(zero).data).all()
    z = ng.DimArray([0j, 3 + 4j], "x")
    np.testing.assert_allclose(ng.grad(lambda z: abs(z).sum())(z).data, [0, 0.6 + 0.8j], rtol=1e-15)


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


# ------------------------------------------------------------------------------------------------ one record, many passes


def test_every_pass_over_one_record_is_guarded() -> None:
    x = ng.DimArray([0.0, 4.0], ("x",))
    _, pull = ng.pullback(lambda a: ng.sqrt(a), x)
    for cotangent, expected in (([0.0, 1.0], [0.0, 0.25]), ([2.0, 0.0], [math.inf, 0.0]), ([0.0, 3.0], [0.0, 0.75])):
        np.testing.assert_array_equal(pull(ng.DimArray(cotangent, ("x",))).data, expected)


def test_a_pass_over_nothing_tells_nothing_about_the_next() -> None:
    _, pull = ng.pullback(ng.sqrt, ng.DimArray([0.0, 4.0], ("x",)))
    assert pull(ng.DimArray(np.zeros((0, 2)), ("b", "x"), vectorized=("b",))).data.shape == (0, 2)
    np.testing.assert_array_equal(pull(ng.DimArray([0.0, 1.0], ("x",))).data, [0.0, 0.25])


def test_a_pass_through_one_output_tells_nothing_about_another() -> None:
    x = ng.DimArray([0.0, 4.0], ("x",))
    _, pull = ng.pullback(lambda a: (2 * a, ng.sqrt(a)), x)
    one, nothing = ng.DimArray([1.0, 1.0], ("x",)), ng.DimArray([0.0, 0.0], ("x",))
    np.testing.assert_array_equal(pull((one, ng.DimArray([0.0, 1.0], ("x",)))).data, [2.0, 2.25])
    np.testing.assert_array_equal(pull((one, nothing)).data, [2.0, 2.0])


def test_gradient_clipping_hides_what_is_not_finite_from_one_pass_only() -> None:
    @ng.custom_pullback
    def f(x: ng.DimArray) -> ng.DimArray:
        return x

    @f.pullback
    def _(g: ng.DimArray, out: ng.DimArray, x: ng.DimArray) -> ng.DimArray:
        return g.clip(-1, 1)

    x = ng.DimArray([0.0, 4.0], ("x",))
    _, pull = ng.pullback(lambda a: ng.sqrt(f(a)), x)
    np.testing.assert_array_equal(pull(ng.DimArray([1.0, 1.0], ("x",))).data, [1.0, 0.25])
    np.testing.assert_array_equal(pull(ng.DimArray([0.0, 1.0], ("x",))).data, [0.0, 0.25])


def test_a_record_known_to_be_finite_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    kind = type(ng.backends.NUMPY)
    original = kind.isfinite_all
    monkeypatch.setattr(kind, "isfinite_all", lambda self, x: looked.append(1) or original(self, x))
    _, pull = ng.pullback(ng.exp, array(3))
    for _ in range(3):
        pull(array(3))
    assert len(looked) == 1


SELECTING = {
    "max": lambda x: ng.max(x, "b", skipna=False),
    "unbind": lambda x: ng.unbind(x, "a")[1],
    "rolling": lambda x: x.rolling(b=3).max(),
    "max_pool": lambda x: ng.max_pool(x, {"b": 2}),
    "segment_max": lambda x: ng.segment_max(x, np.array([0, 1, 0, 1]), "b", 2),
    "segment_reduce": lambda x: ng.segment_reduce(x, "max", lengths=[3, 1], dim="b"),
}


@pytest.mark.parametrize("name", SELECTING)
def test_what_selects_multiplies_nothing_and_is_not_looked_at(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = ng.DimArray(np.random.default_rng(0).normal(size=(3, 4)), ("a", "b"))
    out, pull = ng.pullback(SELECTING[name], x)
    seed = np.full(out.data.shape, np.inf)
    seed[:1] = 0
    looked: list[int] = []
    kind = type(ng.backends.NUMPY)
    original = kind.isfinite_all
    monkeypatch.setattr(kind, "isfinite_all", lambda self, x: looked.append(1) or original(self, x))
    found = pull(ng.DimArray(seed, out.dims)).data
    assert not looked
    assert set(np.unique(found)) <= {0, np.inf}  # no cell that is not chosen is 0 times infinity


@pytest.mark.parametrize("both", [False, True])
def test_of_a_product_only_the_factors_of_what_is_differentiated_are_copied(
    both: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x, y, g = (rng.normal(size=s) for s in ((3, 4), (4, 5), (3, 5)))
    wants = (g @ y.T, x.T @ g)
    a, b = ng.DimArray(x, ("i", "k")), ng.DimArray(y, ("k", "j"))
    copied: list[tuple[int, ...]] = []
    kind = type(ng.backends.NUMPY)
    original = kind.copy
    monkeypatch.setattr(kind, "copy", lambda self, x: copied.append(x.shape) or original(self, x))
    _, pull = ng.pullback(ng.dot, a, b) if both else ng.pullback(lambda a: ng.dot(a, b), a)
    assert copied == ([x.shape, y.shape] if both else [y.shape])
    x[:], y[:] = 7, 8
    found = pull(ng.DimArray(g, ("i", "j")))
    for one, want in zip(found if both else (found,), wants, strict=False):
        np.testing.assert_allclose(one.data, want)


def test_a_value_without_derivative_is_copied_only_if_somebody_else_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    x, constant = ng.DimArray([0.4, 1.6, 2.7], "x"), ng.DimArray([1.0, 2.0, 3.0], "x")

    def keep(y: ng.DimArray) -> ng.DimArray:
        kept.append(y)
        return y

    programs: dict[Callable[..., Any], int] = {
        ng.rint: 0, lambda x: (ng.rint(x), ng.sign(x)): 0, lambda x: keep(ng.rint(x)): 1, lambda x: constant: 1, lambda x: constant[1:]: 1,
        lambda x: keep(ng.rint(x))[1:]: 1, lambda x: [ng.rint(x)] * 2: 2, lambda x: (lambda r: (r, r * x))(ng.rint(x)): 1,
    }  # fmt: skip
    copied: list[int] = []
    original = tape.fresh_copy
    monkeypatch.setattr(tape, "fresh_copy", lambda a: copied.append(a.size) or original(a))
    for f, count in programs.items():
        copied.clear()
        ng.pullback(f, x)
        assert len(copied) == count
        copied.clear()
        ng.linearize(f, x)
        assert len(copied) == count


def test_of_a_captured_array_that_repeats_a_cell_one_cell_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = np.array([2.0, 3.0])
    x, captured = ng.DimArray(np.ones((50, 2)), ("x", "y")), ng.DimArray(np.broadcast_to(cells, (50, 2)), ("x", "y"))
    copied: list[int] = []
    kind = type(ng.backends.NUMPY)
    original = kind.copy
    monkeypatch.setattr(kind, "copy", lambda self, x: copied.append(x.size) or original(self, x))
    _, pull = ng.pullback(lambda x: x * captured, x)
    assert copied == [2]
    cells[:] = 7.0
    np.testing.assert_array_equal(pull(ng.ones_like(x)).data, np.full((50, 2), [2.0, 3.0]))


KEEPING = {
    "multiply": (lambda x, a: x * a, lambda x, a: a),
    "divide": (lambda x, a: a / x, lambda x, a: -a / x**2),
    "twice": (lambda x, a: (a * x) * (x * a), lambda x, a: 2 * a**2 * x),
    "exp": (lambda x, a: ng.exp(x), lambda x, a: np.exp(x)),
    "power": (lambda x, a: x**a, lambda x, a: a * x ** (a - 1)),
    "where": (lambda x, a: ng.where(a > 0.7, x * a, x), lambda x, a: np.where(a > 0.7, a, 1)),
    "view": (lambda x, a: x * ng.flip(a, "x"), lambda x, a: a[::-1]),
}


@pytest.mark.parametrize("name", KEEPING)
def test_what_is_overwritten_later_is_not_what_pullback_and_linearize_keep(name: str) -> None:
    f, slope = KEEPING[name]
    rng = np.random.default_rng(0)
    x, a, c = rng.uniform(0.5, 1, 6), rng.uniform(0.5, 1, 6), rng.normal(size=6)
    want, (at, by, seed) = c * slope(x, a), (ng.DimArray(v, ("x",)) for v in (x, a, c))
    _, pull = ng.pullback(lambda x: f(x, by), at)
    _, linear = ng.linearize(lambda x: f(x, by), at)
    x[:], a[:] = 9, 7
    for found in (pull(seed), linear(seed), linear.T(seed)):
        assert_close(found.to_numpy(), want, ROUNDING)
