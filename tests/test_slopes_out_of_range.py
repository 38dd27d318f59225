"""Programs whose slopes leave the range of numbers on the way, and come back: two that meet give an ordinary number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng

logistic = lambda t: 1 / (1 + math.exp(-t))
bend = lambda t: logistic(t) * logistic(-t)
F = Callable[[Any], Any]
PROGRAMS: dict[str, tuple[F, F, F]] = {  # with slope and second derivative
    "log of exp": (lambda t: np.log(np.exp(t)), lambda t: 1, lambda t: 0),
    "log2 of exp": (lambda t: np.log2(np.exp(t)), lambda t: 1 / math.log(2), lambda t: 0),
    "log10 of exp": (lambda t: np.log10(np.exp(t)), lambda t: 1 / math.log(10), lambda t: 0),
    "softplus": (lambda t: np.log(1 + np.exp(t)), logistic, bend),
    "softplus by log1p": (lambda t: np.log1p(np.exp(t)), logistic, bend),
    "log of cosh": (lambda t: np.log(np.cosh(t)), math.tanh, lambda t: 4 * bend(2 * t)),
    "log of a sum": (lambda t: np.log(np.exp(t) + np.exp(-t)), math.tanh, lambda t: 4 * bend(2 * t)),
    "log of a quotient": (lambda t: np.log(1 / np.exp(t)), lambda t: -1, lambda t: 0),
    "log of a logistic": (lambda t: np.log(1 / (1 + np.exp(-t))), lambda t: logistic(-t), lambda t: -bend(t)),
    "log of a reciprocal": (lambda t: np.log(np.reciprocal(1 + np.exp(-t))), lambda t: logistic(-t), lambda t: -bend(t)),
    "log of a power": (lambda t: np.log((1 + np.exp(-t)) ** -1), lambda t: logistic(-t), lambda t: -bend(t)),
    "log of a square": (lambda t: np.log((1 + np.exp(-t / 2)) ** -2), lambda t: logistic(-t / 2), lambda t: -bend(t / 2) / 2),
    "log of a broken power": (lambda t: np.log((1 + np.exp(-t / 2)) ** -1.5), lambda t: 0.75 * logistic(-t / 2), lambda t: -0.375 * bend(t / 2)),
    "one": (lambda t: np.exp(-t) * (1 / np.exp(-t)), lambda t: 0, lambda t: 0),
    "one by itself": (lambda t: np.exp(t) / np.exp(t), lambda t: 0, lambda t: 0),
    "one by a root": (lambda t: np.exp(t) ** -0.5 * np.exp(t / 2), lambda t: 0, lambda t: 0),
    "log of a share": (lambda t: np.log(np.exp(-t / 10) / (np.exp(t) + np.exp(-t / 10))), lambda t: -1.1 * logistic(1.1 * t), lambda t: -1.21 * bend(1.1 * t)),
    "arccosh of cosh": (lambda t: np.arccosh(np.cosh(t)), np.sign, lambda t: 0),
    "an angle": (lambda t: np.arctan2(2 * np.exp(t), np.exp(t)), lambda t: 0, lambda t: 0),
    "logit": (lambda t: ng.logit(ng.expit(np.minimum(t, 3))), lambda t: t < 3, lambda t: 0),
    "arcsinh of sinh": (lambda t: np.arcsinh(np.sinh(t)), lambda t: 1, lambda t: 0),
}  # fmt: skip


def modes(f: F, v: np.ndarray) -> tuple[dict[str, F], dict[str, F]]:
    """Gradients, and products of ``v`` with the Hessian, in all combinations of modes."""
    total, push = lambda x: f(x).sum(), lambda x: ng.pushforward(f, (x,), (v,))[1]
    first = {"reverse": ng.grad(total), "forward": push}
    second = {
        "forward over reverse": lambda x: ng.hvp(total, x, v),
        "reverse over reverse": lambda x: ng.grad(lambda x: ng.grad(total)(x).sum())(x),
        "reverse over forward": lambda x: ng.grad(lambda x: push(x).sum())(x),
        "forward over forward": lambda x: ng.pushforward(push, (x,), (v,))[1],
    }
    return first, second


@pytest.mark.parametrize("size", [3, 20_000])
@pytest.mark.parametrize(("dtype", "far"), [(np.float64, 350.0), (np.float32, 60.0)], ids=["double", "single"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_slopes_that_leave_the_range_and_come_back(name: str, dtype: Any, far: float, size: int) -> None:
    f, slope, bends = PROGRAMS[name]
    tolerance = 30 * float(np.finfo(dtype).eps)
    for some, exact in zip(modes(f, np.ones(size, dtype)), (slope, bends), strict=True):
        for g in some.values():
            program = ng.compile(g)
            program(np.full(size, 0.5, dtype))
            for t in (far, -far, 1.0):
                with np.errstate(all="ignore"):
                    got = [np.asarray(h(np.full(size, t, dtype))) for h in (g, program)]
                for value in got:
                    assert value.dtype == dtype
                    np.testing.assert_allclose(value, exact(t), rtol=tolerance, atol=tolerance * 4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logarithms_of_shares_of_exponentials(dtype: Any) -> None:
    """As softmax is written by hand: a share by the sum of all is out of range, which its reciprocal brings back."""
    x = np.array([[350.0, -30.0, 20.0], [1.0, 2.0, 3.0]], dtype) * (1 if dtype is np.float64 else dtype(0.2))
    w = np.array([[0.0, 1.0, 0.5], [1.0, -2.0, 0.3]], dtype)
    a = ng.DimArray(x, ("row", "class"))
    weights = ng.DimArray(w, a.dims)

    def loss(a: ng.DimArray, weights: ng.DimArray) -> ng.DimArray:
        shares = np.exp(a) / np.exp(a).sum("class")
        return (np.log(shares) * weights).sum()

    p = np.exp(x.astype(float) - x.max(1, keepdims=True).astype(float))
    want = w - w.sum(1, keepdims=True) * p / p.sum(1, keepdims=True)
    program = ng.compile(ng.grad(loss))
    program(ng.zeros_like(a), weights)
    tolerance = 100 * float(np.finfo(dtype).eps)
    for g in (ng.grad(loss)(a, weights), program(a, weights), ng.grad(loss, over="row")(a, weights)):
        np.testing.assert_allclose(g.data, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("power", [-1, -2, -0.5, -1.5, -3.0])
def test_slopes_of_negative_powers_at_the_ends(power: float) -> None:
    x = np.array([0.0, math.inf, 2.0, 1e-200, 1e100])
    with np.errstate(all="ignore"):
        want = power * x ** (power - 1)
        for f in (ng.grad(lambda x: (x**power).sum()), ng.compile(ng.grad(lambda x: (x**power).sum()))):
            np.testing.assert_allclose(f(x), want, rtol=1e-14)
        if power % 1:
            assert ng.grad(lambda x: (x**power).sum())(np.array([-0.0]))[0] == -math.inf


@pytest.mark.parametrize("power", [-1.5, -2.0, [-1.5, -2.0, -0.5, 2.0], [1.5, 2.0, 0.5, 2.0]], ids=str)
def test_logarithms_of_powers_of_which_the_exponents_are_differentiated(power: Any) -> None:
    x, p = np.array([1e130, 1e-130, 2.0, 3.0]), np.asarray(power, float)
    f = lambda x, p: np.log(x**p).sum()
    gradients = lambda x, p: ng.grad(f, wrt=(0, 1))(x, p)
    bends = lambda x, p: ng.pushforward(ng.grad(f), (x, p), (0.1 * x, 0 * p))[1]
    programs = ng.compile(gradients), ng.compile(bends)
    for program in programs:
        program(np.full(4, 2.0), np.full(p.shape, 2.0))
    for g, h in ((gradients, bends), programs):
        in_x, in_p = g(x, p)
        np.testing.assert_allclose(in_x, p / x, rtol=1e-13)
        np.testing.assert_allclose(in_p, np.log(x) if p.ndim else np.log(x).sum(), rtol=1e-13)
        np.testing.assert_allclose(h(x, p), -0.1 * p / x, rtol=1e-12)


@pytest.mark.parametrize("where", ["both", "base", "exponent"])
def test_slices_of_powers_of_exponents_of_both_signs(where: str) -> None:
    x, p = np.array([[1.0, 2.0, 3.0], [0.5, 2.0, 1e95]]), np.array([[-1.0, 2.0, 0.5], [-2.5, 1.0, -3.0]])
    a = ng.DimArray(x, ("b", "i")).vectorize("b") if where != "exponent" else ng.DimArray(x[1], "i")
    b = ng.DimArray(p, ("b", "i")).vectorize("b") if where != "base" else ng.DimArray(p[1], "i")
    g = lambda a, b: ng.grad(lambda a, b: np.log(a**b).sum(), wrt=(0, 1))(a, b)
    program = ng.compile(g)
    program(a, abs(b))
    u, v, _ = np.broadcast_arrays(a.data, b.data, np.empty((2, 3)))
    for h in (g, program):
        in_x, in_p = (d.devectorize("b").transpose("b", "i").data for d in h(a, b))
        np.testing.assert_allclose(in_x, v / u, rtol=1e-13)
        np.testing.assert_allclose(in_p, np.log(u), rtol=1e-13, atol=1e-15)


def test_angles_over_dims_of_their_own_bend() -> None:
    y, x = ng.DimArray([2e-200, 3e-200], "i"), ng.DimArray([1e-200, -3e-200, 2e-200], "j")
    w = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])
    f = lambda y, x: (np.arctan2(y, x) * ng.DimArray(w, ("i", "j")) * 1e-200).sum()
    a, b = y.data[:, None] * 1e200, x.data * 1e200
    slopes = w * b / (a * a + b * b), -w * a / (a * a + b * b)
    bends = -w * 2 * a * b / (a * a + b * b) ** 2  # in y twice
    for g in (ng.grad(f, wrt=(0, 1)), ng.compile(ng.grad(f, wrt=(0, 1)))):
        for got, want, dim in zip(g(y, x), slopes, (1, 0), strict=True):
            np.testing.assert_allclose(got.data, want.sum(dim), rtol=1e-13)
    product = lambda y: ng.pushforward(ng.grad(f), (y, x), (y, 0 * x))[1]
    for h in (product, ng.compile(product)):
        np.testing.assert_allclose(h(y).data, (bends * a).sum(1), rtol=1e-12)


def test_exponents_over_dims_of_their_own() -> None:
    x, p = ng.DimArray([1.0, 2.0, 3.0], "i"), ng.DimArray([-1.0, 2.0], "j")
    in_x, in_p = ng.grad(lambda x, p: (x**p).sum(), wrt=(0, 1))(x, p)
    powers = x.data ** p.data[:, None]
    np.testing.assert_allclose(in_x.data, (p.data[:, None] * powers / x.data).sum(0), rtol=1e-14)
    np.testing.assert_allclose(in_p.data, (np.log(x.data) * powers).sum(1), rtol=1e-14)


def test_tides_in_units_of_one_metre_in_single_precision() -> None:
    """Of the acceleration towards a star: the power of the distance whose slope is asked for is below the range."""
    mass = np.float32(1.3e20)
    pull = lambda x: mass * x[0] * (x[0] ** 2 + x[1] ** 2) ** -1.5
    x = np.array([1.5e11, 2e11], np.float32)
    u = 1.5e11**2 + 2e11**2
    want = 1.3e20 * np.array([u**-1.5 - 3 * 1.5e11**2 * u**-2.5, -3 * 1.5e11 * 2e11 * u**-2.5])
    np.testing.assert_allclose(ng.grad(pull)(x), want, rtol=1e-5)
    np.testing.assert_allclose(ng.compile(ng.grad(pull))(x), want, rtol=1e-5)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_slopes_of_quotients_that_are_no_numbers_are_none(mode, compiled):
    """-x / z**2 at an infinite z: 0, unless x is infinite, too; beside others of fewer dims as well."""
    x = ng.DimArray([[np.inf, 1.0, 0.0, np.inf, 2.0], [3.0, np.inf, 1.0, 2.0, 1.0]], ("a", "i"))
    z, rng = ng.DimArray([np.inf, np.inf, 2.0, 2.0, 1e300], "i"), np.random.default_rng(0)
    tangent, cotangent = ng.DimArray(rng.normal(size=5), "i"), ng.DimArray(rng.normal(size=(2, 5)), ("a", "i"))

    def slopes(x, z):
        if mode == "forward":
            return ng.pushforward(lambda z: x / z, (z,), (tangent,))[1].transpose("a", "i")
        wide = z.expand_dims(a=2)
        return ng.pullback(lambda w: x / w, wide)[1](cotangent).transpose("a", "i")

    def summed(x, z):
        return ng.pullback(lambda z: x / z, z)[1](cotangent)

    with np.errstate(all="ignore"):
        f, g = (ng.compile(h) if compiled else h for h in (slopes, summed))
        f(cotangent, tangent), g(cotangent, tangent)
        slope = -(x.data / z.data) / z.data
        expected = slope * (tangent if mode == "forward" else cotangent).data
        np.testing.assert_allclose(f(x, z).data, expected, rtol=1e-14)
        np.testing.assert_allclose(g(x, z).data, (slope * cotangent.data).sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize("divisor", [5e-324, -5e-324, 1e-310])
def test_a_quotient_0_has_no_slope_in_a_divisor_next_to_0(divisor: float) -> None:
    x, z = np.array([0.0, -0.0, 3.0]), np.array([divisor, divisor, 2.0])
    f = ng.grad(lambda z: (x / z * np.array([2.0, -3.0, 0.5])).sum())
    for g in (f, ng.compile(f), ng.compile(ng.grad(lambda z: (-0.7 * (x / z)).sum()))):
        np.testing.assert_array_equal(g(z)[:2], [0.0, 0.0])
    np.testing.assert_allclose(f(z)[2], -0.375)
