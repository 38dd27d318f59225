"""Checkpoints, scans and stopped gradients: what they run again, what they keep, what they draw."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from tests.support.arrays import cut
from tests.support.drawn import RNG, array, f
from tests.support.memory import taken
from tests.support.tolerances import EXACT, ROUNDING, assert_close


def test_checkpoint_changes_nothing() -> None:
    x, captured = array("xz"), array("z")
    plain = lambda x: (np.sin(f(x)) * captured).sum() * x.sum()
    checked = ng.checkpoint(plain)
    v = array("xz")
    assert_close(checked(x).to_numpy(), plain(x).to_numpy(), EXACT)
    assert_close(ng.grad(checked)(x).to_numpy(), ng.grad(plain)(x).to_numpy(), ROUNDING)
    assert_close(ng.hvp(checked, x, v).to_numpy(), ng.hvp(plain, x, v).to_numpy(), ROUNDING)
    assert_close(ng.pushforward(checked, (x,), (v,))[1].to_numpy(), ng.pushforward(plain, (x,), (v,))[1].to_numpy(), ROUNDING)
    assert_close(ng.linearize(checked, x)[1](v).to_numpy(), ng.linearize(plain, x)[1](v).to_numpy(), ROUNDING)
    assert_close(ng.hessian(checked)(x).to_numpy(), ng.hessian(plain)(x).to_numpy(), ROUNDING)
    rr = lambda f: ng.grad(lambda x: (ng.grad(f)(x) * v).sum())(x)
    assert_close(rr(checked).to_numpy(), rr(plain).to_numpy(), ROUNDING)
    batched = array("bxz", "b")
    assert_close(ng.grad(checked)(batched).to_numpy(), ng.grad(plain)(batched).to_numpy(), ROUNDING)


def test_checkpoint_differentiates_what_it_captures() -> None:
    x, y = array("x"), array("x")

    def outer(y: ng.DimArray) -> ng.DimArray:
        return ng.checkpoint(lambda x: np.sin(x * y).sum())(x * y)

    expected = (np.cos(x * y * y) * 2 * x * y).data
    np.testing.assert_allclose(ng.grad(outer)(y).data, expected, rtol=1e-13)
    np.testing.assert_allclose(ng.jacobian(outer, mode="forward")(y).data, expected, rtol=1e-13)
    twice = ng.grad(lambda y: ng.checkpoint(lambda: ng.checkpoint(lambda: (y * y).sum())())())(y)
    np.testing.assert_allclose(twice.data, 2 * y.data)


RUN_AGAIN: dict[str, Callable[..., Any]] = {
    "checkpoint": lambda f, x: ng.checkpoint(f)(x),
    "checkpoint within another": lambda f, x: ng.checkpoint(lambda x: ng.checkpoint(f)(x))(x),
    "checkpoint that gives it back": lambda f, x: sum(ng.checkpoint(lambda x: (f(x) / 2, f(x) / 2))(x)),
    "scan": lambda f, x: ng.scan(lambda c, v: (f(v), None), x * 0, ng.concat([x, x], "t"), "t")[0],
    "while_loop": lambda f, x: ng.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, f(s[1])), (0, x))[1],
    "fori_loop": lambda f, x: ng.fori_loop(0, 1, lambda i, x: f(x), x),
}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("inner", ["grad", "pushforward", "linearize"])
@pytest.mark.parametrize("name", RUN_AGAIN)
def test_what_is_captured_may_belong_to_a_later_transform_than_the_arguments(name: str, inner: str, mode: str) -> None:
    x, w, ones = array("x"), array("x") + 0.3, ng.ones({"x": array("x").size})

    def slope(f: Callable[..., Any], w: ng.DimArray) -> ng.DimArray:
        """The derivative of each cell of f in the same cell of w."""
        if inner == "grad":
            return ng.grad(lambda w: f(w).sum())(w)
        return ng.pushforward(f, (w,), (ones,))[1] if inner == "pushforward" else ng.linearize(f, w)[1](ones)

    through = lambda x: slope(lambda w: RUN_AGAIN[name](lambda x: ng.sin(w * x), x), w)
    found = ng.jacobian(through, mode=mode)(x).data
    expected = np.diag(np.cos((w * x).data) - (w * x * np.sin(w * x)).data)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    three = ng.grad(lambda y: (ng.grad(lambda x: (through(x) * y).sum())(x * y) * y).sum())
    plain = ng.grad(lambda y: (ng.grad(lambda x: (x * np.cos(w * x) * y).sum())(x * y) * y).sum())
    np.testing.assert_allclose(three(w).data, plain(w).data, rtol=1e-12)


@pytest.mark.parametrize("name", RUN_AGAIN)
def test_what_is_captured_of_a_later_transform_need_not_matter(name: str) -> None:
    x, w = array("x"), array("x")
    curvature = lambda x, w: ng.hvp(lambda u: (x * x * u * u).sum(), w, w * 0 + 1.0)  # 2 x^2, whatever w is
    through = lambda x: ng.grad(lambda w: (RUN_AGAIN[name](lambda x: curvature(x, w), x) * w).sum())(w * 1.0)
    np.testing.assert_allclose(ng.grad(lambda x: through(x).sum())(x).data, 4 * x.data, rtol=1e-12)


@pytest.mark.parametrize("outer", RUN_AGAIN)
@pytest.mark.parametrize("inner", RUN_AGAIN)
def test_what_is_captured_may_be_given_back_as_it_is(outer: str, inner: str) -> None:
    x, w = array("x"), array("x")
    for other in (lambda v: v, lambda v: w):
        found = ng.grad(lambda x: (RUN_AGAIN[outer](lambda v: RUN_AGAIN[inner](lambda s: x, other(v)), x) * w).sum())(x)  # noqa: B023
        np.testing.assert_allclose(found.data, w.data)


@pytest.mark.parametrize(("size", "passes"), [(lambda x: 1.0, 1), (lambda x: 1.0 + np.sum(np.sqrt(x * 0.0)), 2)])
def test_checkpoint_runs_again_and_keeps_little(size: Callable[..., Any], passes: int) -> None:
    """A root that is 0 inside of it, of which the slope needs a guard, is of no interest where no length is returned."""
    calls = []

    def deep(x: ng.DimArray) -> ng.DimArray:
        calls.append(1)
        x = x * size(x)
        for _ in range(50):
            x = np.sin(x) * 1.01
        return x

    x = ng.DimArray(RNG.normal(size=20_000), "x")

    def held(g: Any) -> int:
        kept, _, (out, pull) = taken(lambda: ng.pullback(lambda x: g(g(g(g(x)))).sum(), x))
        calls.clear()
        pull(out)
        return kept

    plain = held(deep)
    assert len(calls) == 0
    assert held(ng.checkpoint(deep)) < plain / 5
    assert len(calls) == 4 * passes


@pytest.mark.parametrize("every", [None, 1, 2, 100])
def test_scan(every: int | None) -> None:
    xs, w = ng.DimArray(RNG.normal(size=(7, 2)), ("t", "x")), array("x")

    def step(carry: Any, x: Any) -> Any:
        new = np.tanh(carry * w + x["u"])
        return new, {"out": new * 2, "sum": new.sum()}

    def run(w0: ng.DimArray, xs: ng.DimArray) -> ng.DimArray:
        carry, ys = ng.scan(step, w0, {"u": xs}, "t", checkpoint_every=every)
        return carry.sum() + (ys["out"] * ys["sum"]).sum()

    def loop(w0: ng.DimArray, xs: ng.DimArray) -> ng.DimArray:
        carry, total = w0, 0.0
        for t in range(7):
            carry, y = step(carry, {"u": xs.isel(t=t)})
            total = total + (y["out"] * y["sum"]).sum()
        return carry.sum() + total

    w0 = array("x")
    assert_close(run(w0, xs).to_numpy(), loop(w0, xs).to_numpy(), ROUNDING)
    for k in range(2):
        assert_close(ng.grad(run, k)(w0, xs).to_numpy(), ng.grad(loop, k)(w0, xs).to_numpy(), ROUNDING)
    v = ng.ones_like(xs)
    assert_close(ng.hvp(lambda xs: run(w0, xs), xs, v).to_numpy(), ng.hvp(lambda xs: loop(w0, xs), xs, v).to_numpy(), ROUNDING)
    batched = ng.DimArray(RNG.normal(size=(7, 3, 2)), ("t", "b", "x"), vectorized="b")
    g = ng.grad(run, 1)(w0, batched)
    for b in range(3):
        assert_close(cut(g, {"b": b}).to_numpy(), ng.grad(loop, 1)(w0, cut(batched, {"b": b})).to_numpy(), ROUNDING)


def test_scan_outputs_and_refusals() -> None:
    xs = ng.DimArray(np.arange(6.0).reshape(2, 3), ("x", "t"))
    carry, ys = ng.scan(lambda c, x: (c + x, c * x), ng.zeros({"x": 2}), xs, "t")
    np.testing.assert_array_equal(carry.data, xs.data.sum(1))
    assert ys.dims == ("t", "x")
    carry, nothing = ng.scan(lambda c, x: (c + x, None), 0.0, xs.isel(x=0), "t")
    assert nothing is None
    assert carry.item() == 3.0
    with pytest.raises(ng.AxisError, match="'q'"):
        ng.scan(lambda c, x: (c, c), 0.0, xs, "q")
    with pytest.raises(ng.AxisError, match=r"3.*4|4.*3"):
        ng.scan(lambda c, x: (c, c), 0.0, (xs, ng.ones({"t": 4})), "t")


def test_stop_gradient() -> None:
    x = array("x")
    np.testing.assert_array_equal(ng.grad(lambda x: (x * ng.stop_gradient(x)).sum())(x).data, x.data)
    assert not ng.grad(lambda x: ng.stop_gradient(x * x).sum())(x).data.any()
    pushed = ng.pushforward(lambda x: x * ng.stop_gradient(x), (x,), (ng.ones_like(x),))[1]
    np.testing.assert_array_equal(pushed.data, x.data)
    inner = ng.grad(lambda x: (x * ng.grad(lambda y: (y * y * ng.stop_gradient(x)).sum())(x)).sum())(x)
    np.testing.assert_allclose(inner.data, 4 * x.data * x.data, rtol=1e-13)


class Noisy:
    """An object that draws from a generator of its own."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(5)

    def times_noise(self, x: ng.DimArray) -> ng.DimArray:
        return (x * ng.DimArray(self.rng.normal(size=5), ("x",))).sum()


NOISY = Noisy()
DRAWN = np.random.default_rng(7)
TABLE = {"rng": np.random.RandomState(9)}


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (ng.dropout(ng.sin(x), rng=DRAWN) ** 2).sum(),
        lambda x: (ng.alpha_dropout(ng.sin(x), rng=DRAWN) ** 2).sum(),
        lambda x: (x * DRAWN.random()).sum(),
        NOISY.times_noise,
        lambda x: NOISY.times_noise(x * x),
        lambda x: (x * TABLE["rng"].rand()).sum(),
        lambda x: (x * np.random.rand()).sum(),  # noqa: NPY002 - the global state
        lambda x: (x * random.random()).sum(),
    ],
    ids=["dropout", "alpha_dropout", "global", "method", "attribute", "table", "numpy", "python"],
)
def test_a_checkpoint_draws_the_same_again(f: Any) -> None:
    x = ng.DimArray(np.linspace(0.5, 2.0, 5), ("x",))

    def run(g: Any) -> tuple[Any, ...]:
        NOISY.rng, TABLE["rng"] = np.random.default_rng(5), np.random.RandomState(9)
        DRAWN.bit_generator.state = np.random.default_rng(7).bit_generator.state
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        found = [ng.grad(g)(x).data, ng.grad(g)(x).data, ng.pushforward(g, (x,), (x,))[1].data]
        return *found, DRAWN.random(), NOISY.rng.random(), TABLE["rng"].rand(), np.random.rand(), random.random()  # noqa: NPY002

    for got, expected in zip(run(ng.checkpoint(f)), run(f), strict=True):
        assert np.array_equal(got, expected)


def test_a_checkpoint_draws_the_same_again_from_a_generator_that_it_is_given() -> None:
    x = ng.DimArray(np.linspace(0.5, 2.0, 5), ("x",))

    def f(x: ng.DimArray, rngs: dict[str, Any]) -> ng.DimArray:
        return (ng.sin(x) * ng.DimArray(rngs["rng"].normal(size=5), ("x",))).sum()

    plain, again = (ng.grad(lambda x, g=g: g(x, {"rng": np.random.default_rng(2)}))(x) for g in (f, ng.checkpoint(f)))
    assert np.array_equal(plain.data, again.data)


def test_a_checkpoint_that_gives_other_values_is_an_error() -> None:
    count = iter(range(10))
    x = ng.DimArray([1.0, 2.0], ("x",))
    with pytest.raises(ValueError, match="gave other values when it ran again"):
        ng.grad(ng.checkpoint(lambda x: (x * next(count)).sum()))(x)
    captured = ng.DimArray(np.array([1.0, 2.0]), ("x",))
    pull = ng.pullback(ng.checkpoint(lambda x: (x * captured).sum()), x)[1]
    captured.data[:] = 5.0
    with pytest.raises(ValueError, match=r"a captured array that was written .*\.copy\(\)"):
        pull(1.0)


def test_rounding_of_what_cancels_is_no_other_value_of_a_checkpoint() -> None:
    x, k, noise = ng.DimArray([0.5, 2.0], ("x",)), ng.DimArray([1, 2], ("x",)), itertools.cycle([1e-17, 3e-17])
    f = ng.checkpoint(lambda x, k: (x * k * next(noise)).sum() + (k * (x - x)).sum())  # 0 but for rounding
    np.testing.assert_allclose(ng.grad(f)(x, k).data, [1e-17, 2e-17], atol=1e-16)
    with pytest.raises(ValueError, match="gave other values"):
        ng.grad(ng.checkpoint(lambda x, k: (k * x * next(noise)).sum() * 1e3))(x, k)


def test_lengths_beside_captured_values_of_a_later_transform():
    """The run that looks for lengths was recorded by the transform of what is captured, which then failed."""
    x, w = np.array([0.0, 1.0, -2.0]), np.array([0.5, 1.0, 2.0])
    smooth = lambda w: ng.checkpoint(lambda x: (abs(x) * w) ** 2)
    f = lambda x, w: np.sum(ng.linearize(lambda w: smooth(w)(x), w)[1](x * x))
    for g in (ng.grad(f, (0, 1)), ng.compile(ng.grad(f, (0, 1)))):
        np.testing.assert_allclose(g(x, w), (8 * x**3 * w, 2 * x**4), rtol=1e-12, atol=1e-12)


def test_hessians_of_lengths_times_captured_values():
    """Beside a captured value a length had lost what is known of its square: the Hessian where it is 0 was 0."""
    x, w = np.array([0.0, 1.0, -2.0]), np.array([0.5, 1.0, 2.0])
    f = lambda x, w: np.sum(ng.checkpoint(lambda x: (abs(x) * w) ** 2)(x))
    for h in (ng.hessian(f, (0, 1)), ng.compile(ng.hessian(f, (0, 1)))):
        (xx, xw), (wx, ww) = h(x, w)
        for block, want in ((xx, 2 * w**2), (xw, 4 * x * w), (wx, 4 * x * w), (ww, 2 * x**2)):
            np.testing.assert_allclose(block, np.diag(want), rtol=1e-12, atol=1e-12)
