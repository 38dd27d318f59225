"""What a recorded program is and keeps: its buffers, its code, and threads that share it."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from namedgrad import backends
from namedgrad.compile.optimise import _Simplify
from namedgrad.compile.rewrite import Constant
from tests.compile.calls import Counted, X, same, tanh_sum
from tests.support.arrays import normal
from tests.support.memory import peak, taken

# ------------------------------------------------------------------------------------------------ memory of results


def shares(a: ng.DimArray, b: ng.DimArray) -> bool:
    return np.shares_memory(a.data, b.data)


def test_results_share_nothing() -> None:
    constant = normal(3)

    def f(x: ng.DimArray) -> Any:
        y = x * 2
        return (
            x,
            x.transpose(),
            y,
            y,
            y.rename(x="z"),
            constant,
            ng.ones({"k": 3}),
            ng.zeros_like(x),
            y.isel(x=slice(1, None)),
            x.stack(z=("x", "y")),
        )

    compiled = ng.compile(f)
    x = normal(3, 4)
    first, second = compiled(x), compiled(x)
    same(first, f(x))
    every = [x, constant, *first, *second]
    for i, a in enumerate(every):
        assert not [k for k, b in enumerate(every) if k != i and shares(a, b)], f"{i} shares memory"
    for a in first:
        a.data[...] = 0
    same(second, f(x))
    same(compiled(x), f(x))


def test_inputs_are_not_written_to() -> None:
    x, w = normal(50), normal(50)
    before = x.to_numpy(), w.to_numpy()
    f = ng.compile(ng.value_and_grad(lambda x: (ng.exp(x * w) + x - w).sum()))
    f(x)
    f(x)
    assert np.array_equal(x.data, before[0])
    assert np.array_equal(w.data, before[1])


def replay(f: Any, x: ng.DimArray) -> int:
    """Most bytes in use during a replay."""
    f(x)
    return peak(lambda: f(x))


def test_buffers_are_freed_or_written_over() -> None:
    def chain(x: ng.DimArray) -> ng.DimArray:
        for _ in range(20):
            x = ng.sin(x * 1.1 + 0.2)
        return x

    x = normal(200_000)
    assert replay(ng.compile(chain), x) < 1.5 * x.data.nbytes


def test_a_checkpoint_still_saves_memory() -> None:
    def segment(x: ng.DimArray) -> ng.DimArray:
        for _ in range(10):
            x = ng.sin(x * 1.1)
        return x

    def through(step: Any) -> Any:
        return ng.compile(ng.grad(lambda x: step(step(step(step(x)))).sum()))

    x = normal(100_000)
    plain, saved = through(segment), through(ng.checkpoint(segment))
    same(saved(x), plain(x))
    assert replay(saved, x) < 0.6 * replay(plain, x)


def test_a_program_keeps_no_data() -> None:
    def first_call() -> Any:
        f = ng.compile(ng.value_and_grad(lambda x: (ng.exp(x) * x).sum()))
        f(normal(200_000))
        gc.collect()
        return f

    assert taken(first_call).kept < 400_000


# ------------------------------------------------------------------------------------------------ the code


def test_dead_code_is_left_out_and_constants_are_folded() -> None:
    def f(x: ng.DimArray) -> ng.DimArray:
        _ = ng.exp(x).sum()
        table = ng.cos(ng.eye("i", "j", 3) * 2.0) + 1.0
        return x * table

    compiled = ng.compile(f)
    x = normal(2, dims="k")
    same(compiled(x), f(x))
    assert "exp" not in compiled.source
    assert "cos" not in compiled.source
    assert "eye" not in compiled.source
    assert compiled.source.count("(") < 12


def test_chains_of_views_are_one_call() -> None:
    def f(a: Any) -> Any:
        same = np.transpose(np.transpose(a)[:, None])[..., 0, :]
        turned, part = np.transpose(a[None])[:, :, 0], np.transpose(a)[1:, :, None]
        return np.exp(same), turned + 1.0, a[None][..., None] * 2.0, same, part

    compiled, a = ng.compile(f), np.arange(6.0).reshape(2, 3)
    for got, want in zip(compiled(a), f(a), strict=True):
        np.testing.assert_array_equal(got, want, strict=True)
    source = compiled.source
    assert "exp(a0)" in source
    assert source.count("transpose(") == 1  # the second result and the last have it in common
    assert source.count("getitem(") == 2


def test_a_view_relies_on_the_checks_of_what_it_shows() -> None:
    f = ng.grad(lambda x: ((2.0 * x.transpose("b", "a")) ** 3).sum(), over="c")
    compiled = ng.compile(f)
    x = ng.DimArray(np.random.default_rng(0).normal(size=(2, 3, 4)), ("a", "b", "c"))
    same(compiled(x), f(x))
    x = x.at[{"a": 0, "b": 1, "c": 2}].set(np.nan)
    same(compiled(x), f(x))


def test_what_numpy_broadcasts_by_itself_relies_on_the_checks_of_what_it_is_made_of() -> None:
    weights, other = np.array([0.0, 1.0]), np.arange(6.0).reshape(3, 2) + 1

    def f(v: Any, other: Any) -> Any:
        slope = ng.grad(lambda v: (np.sqrt(v) * weights).sum())(v)
        return np.exp(np.minimum(np.broadcast_to(slope, (3, 2)), other) + other)

    compiled = ng.compile(f)
    for v in (np.array([1.0, 4.0]), np.array([0.0, 4.0])):
        np.testing.assert_array_equal(compiled(v, other), f(v, other))


@pytest.mark.parametrize("order", [2, 3, -1, 0.5])
def test_norms_are_scaled_only_where_they_leave_the_range(order: float) -> None:
    f = ng.grad(lambda x: np.exp(-ng.norm(x, "b", ord=order) / ng.stop_gradient(ng.norm(x, "b", ord=order))).sum())
    compiled, x = ng.compile(f), np.array([[3.0, 4.0], [1.0, -2.0]])
    want = f(ng.DimArray(x, ("a", "b"))).data
    for _ in range(2):
        np.testing.assert_allclose(compiled(ng.DimArray(x, ("a", "b"))).data, want, rtol=1e-14)
    assert order != 2 or "maximum(" not in compiled.source
    for scale in (1e200, 1e-200, 1.0):
        scaled = compiled(ng.DimArray(x * scale, ("a", "b"))).data  # of norms of degree 1 it is the direction by the size
        np.testing.assert_allclose(scaled * scale, want, rtol=1e-12)
    for first in ([0.0, 0.0], [np.inf, 1.0], [np.nan, 1.0]):
        g = ng.grad(lambda x: ng.norm(x, "b", ord=order).sum())
        again, special = ng.compile(g), ng.DimArray([first, [1.0, 2.0]], ("a", "b"))
        again(ng.DimArray(x, ("a", "b")))
        np.testing.assert_allclose(again(special).data, g(special).data, rtol=1e-15 * 4)


def test_zeros_that_count_for_nothing_are_no_other_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are known by identity, which another constant may get when one is freed."""
    beside, met = _Simplify.beside_nothing, []

    def watched(self: Any, call: Any, out: Any) -> Any:
        met.extend(np.any(a.value) for a in call.args if type(a) is Constant and id(a.value) in self.nothing)
        return beside(self, call, out)

    monkeypatch.setattr(_Simplify, "beside_nothing", watched)
    x = ng.DimArray([[1.0, 2.0], [1.0, 2.0], [3.0, 5.0]], ("a", "b"))
    f = lambda x: (x.std("a") ** 2 + (x - x[{"a": [0, 0, 0]}]).std("a") ** 2).sum()
    for _ in range(20):
        ng.compile(ng.grad(lambda y: (ng.grad(f)(y) * x).sum()))(x)
    assert met
    assert not any(met)


def test_two_factors_in_one_rely_on_the_checks_of_the_first_product() -> None:
    weights = np.array([0.0, 1.0])
    f = lambda v: np.exp(0.3 * (2.0 * ng.grad(lambda v: (np.sqrt(v) * weights).sum())(v)))
    compiled = ng.compile(f)
    for v in (np.array([1.0, 4.0]), np.array([0.0, 4.0])):
        np.testing.assert_allclose(compiled(v), np.exp(0.3 * np.array([0.0, 0.5])), rtol=1e-15)
    assert compiled.source.count("multiply(") == 1


def test_no_guard_is_paid_for_while_values_are_finite() -> None:
    f = ng.compile(ng.grad(lambda x: (ng.sqrt(x) * x).mean()))
    f(ng.DimArray([1.0, 2.0], ("x",)))
    assert "scale" not in f.source
    assert "where" not in f.source
    assert "select" not in f.source
    g = f(ng.DimArray([0.0, np.nan], ("x",)))
    same(g, ng.DimArray([0.0, 0.0], ("x",)))
    assert "scale" in f.source or "select" in f.source
    same(f(ng.DimArray([1.0, 4.0], ("x",))), ng.DimArray([0.75, 1.5], ("x",)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_slope_of_a_mean_square_is_one_product(dtype: str) -> None:
    x, y = (ng.DimArray(np.random.default_rng(k).normal(size=(30, 40)).astype(dtype), ("a", "b")) for k in range(2))
    f = ng.compile(ng.value_and_grad(lambda x: ((x - y) ** 2).mean()))
    for _ in range(2):
        value, slope = f(x)
    d = x.data - y.data
    assert f.source.count("multiply(") == 1
    assert slope.dtype == dtype
    np.testing.assert_allclose(value.data, (d * d).mean(), rtol=1e-6)
    np.testing.assert_allclose(slope.data, d * (2 / d.size), rtol=4 * np.finfo(dtype).eps)
    third = ng.compile(ng.value_and_grad(lambda x: (3 * (x - y) ** 2).mean()))  # 3 (2 d) and (3 / n) (2 d) differ by rounding
    third(x)
    np.testing.assert_allclose(third(x)[1].data, d * (6 / d.size), rtol=4 * np.finfo(dtype).eps)


def test_source_is_empty_before_the_first_call() -> None:
    f = ng.compile(tanh_sum)
    assert f.source == ""
    assert repr(f) == "<compiled tanh_sum>"
    assert f.__doc__ == tanh_sum.__doc__


def test_the_number_of_programs_is_bounded() -> None:
    scale = 0
    f = ng.compile(lambda x: x * scale)
    for scale in range(300):
        same(f(X), X * scale)
    assert f.cache_info().programs <= 256


def test_no_warnings_about_values() -> None:
    f = ng.compile(ng.value_and_grad(lambda x: ng.log(x).sum()))
    value, g = f(ng.DimArray([0.0, 1.0], ("x",)))
    assert value.item() == -np.inf
    assert g.data.tolist() == [np.inf, 1.0]
    assert np.geterr()["divide"] == "warn"


# ------------------------------------------------------------------------------------------------ threads


def in_threads(n: int, f: Any) -> list[Any]:
    out: list[Any] = [None] * n
    start = threading.Barrier(n)

    def run(i: int) -> None:
        start.wait()
        try:
            out[i] = f(i)
        except BaseException as error:  # noqa: BLE001 - shown by the test
            out[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return out


def test_the_first_call_from_many_threads() -> None:
    for _ in range(5):
        counted = Counted(lambda x: (ng.sin(x) * x).sum())
        f = ng.compile(ng.value_and_grad(counted))
        xs = [normal(20) for _ in range(8)]
        for got, x in zip(in_threads(8, lambda i, f=f, xs=xs: f(xs[i])), xs, strict=True):
            same(got, ng.value_and_grad(counted.f)(x))
        assert counted.runs == 1
        assert backends.recording == 0


def test_recording_and_eager_code_in_other_threads() -> None:
    def work(i: int) -> Any:
        for k in range(20):
            x = normal(3 + k % 5, dims="x")
            same(ng.grad(lambda x: (x * x * x).sum())(x), 3 * x * x)
            same(ng.compile(lambda x: ng.exp(x) + i)(x), ng.exp(x) + i)
            if k % 4 == 0:
                assert float((x - x).sum()) == 0
        return "done"

    assert in_threads(6, work) == ["done"] * 6
    assert backends.recording == 0


def test_replays_in_threads_do_not_share_buffers() -> None:
    f = ng.compile(ng.value_and_grad(lambda x: (ng.exp(ng.sin(x) * 2) * x).sum()))
    xs = [normal(2000) for _ in range(8)]
    f(xs[0])
    want = [ng.value_and_grad(lambda x: (ng.exp(ng.sin(x) * 2) * x).sum())(x) for x in xs]
    got = in_threads(8, lambda i: [f(xs[i]) for _ in range(30)])
    for several, w in zip(got, want, strict=True):
        for one in several:
            same(one, w)


@pytest.mark.parametrize("how", ["interp", "grid_sample"])
def test_neighbours_that_are_infinite_count_by_weight_in_replays_too(how):
    calls = {
        "interp": lambda y, t: y.interp(x=t),
        "grid_sample": lambda y, t: ng.grid_sample(y, {"x": t - 1.5}, padding_mode="border"),
    }
    at = ng.DimArray([0.0, 1.0, 1.5, 2.0, 3.0], ("t",))
    f = ng.compile(calls[how])
    for cells in ([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, np.inf, 4.0], [1.0, -np.inf, 3.0, 4.0]):
        y = ng.DimArray(cells, ("x",))
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(f(y, at).data, calls[how](y, at).data)
    assert f.cache_info().recordings == 1


def test_a_number_does_not_stand_for_the_array_that_it_was_made():
    x = ng.DimArray([1.0, 2.0, 3.0], ("x",))
    last, carries = ng.compile(lambda c: ng.scan(lambda c, x: (0.5 * c + x, c), c, x, "x"))(8.0)
    np.testing.assert_array_equal(carries.data, [8, 5, 4.5])
    gradient = ng.compile(ng.grad(lambda c: ng.scan(lambda c, x: (0.5 * c + x, c), ng.where(np.True_, c, 0.0), x, "x")[1].sum()))
    assert [gradient(8.0), gradient(2.0), last.item()] == [1.75, 1.75, 5.25]
