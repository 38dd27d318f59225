"""Forward mode where there are many cells, lengths of complex numbers, and slopes in single precision."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.special

import namedgrad as ng

RNG = np.random.default_rng(0)
X, Y, T, U = RNG.uniform(0.5, 1.5, (4, 150, 200))
AB = ("a", "b")


def table(x: Any, dims: tuple[str, ...] = AB) -> ng.DimArray:
    return ng.DimArray(np.asarray(x), dims)


def tangent(f: Any, xs: Any, ts: Any) -> np.ndarray:
    return ng.pushforward(f, tuple(xs), tuple(ts))[1].transpose(*AB).data


EXACT = {  # by the slopes in both operands
    "add": lambda x, y, t, u: t + u,
    "subtract": lambda x, y, t, u: t - u,
    "multiply": lambda x, y, t, u: t * y + x * u,
    "divide": lambda x, y, t, u: (t - u * (x / y)) / y,
    "hypot": lambda x, y, t, u: (t * x + u * y) / np.hypot(x, y),
    "arctan2": lambda x, y, t, u: (t * y - u * x) / (x * x + y * y),
    "power": lambda x, y, t, u: x**y * (t * y / x + u * np.log(x)),
    "maximum": lambda x, y, t, u: np.where(x > y, t, u),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("layout", ["alike", "turned", "row", "column", "outer"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tangents_of_two_operands(name: str, layout: str, dtype: Any) -> None:
    x, y, t, u = (v.astype(dtype) for v in (X, Y, T, U))
    first, second = AB, {"turned": ("b", "a"), "row": ("b",), "column": ("a",), "outer": ("b",)}.get(layout, AB)
    if layout == "outer":
        x, t, first = x[:, 0], t[:, 0], ("a",)
    take = {"turned": lambda v: v.T, "row": lambda v: v[0], "outer": lambda v: v[0], "column": lambda v: v[:, 0]}.get(layout, np.array)
    wide = {"turned": lambda v: v.T, "column": lambda v: v[:, None]}.get(layout, np.array)
    y, u = take(y), take(u)
    got = tangent(getattr(ng, name), (table(x, first), table(y, second)), (table(t, first), table(u, second)))
    left = (lambda v: v[:, None]) if layout == "outer" else np.array
    want = EXACT[name](*(f(v).astype(np.longdouble) for f, v in ((left, x), (wide, y), (left, t), (wide, u))))
    assert got.dtype == dtype
    np.testing.assert_allclose(got, want.astype(float), rtol=20 * np.finfo(dtype).eps, atol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", ["multiply", "divide"])
@pytest.mark.parametrize("odd", [0.0, math.inf, math.nan])
def test_what_meets_a_tangent_of_0_does_not_count(name: str, odd: float) -> None:
    y, t, u = Y.copy(), T.copy(), U.copy()
    y[3, 4], t[3, 4], u[3, 4] = odd, 0.0, 0.0
    got = tangent(getattr(ng, name), (table(X), table(y)), (table(t), table(u)))
    with np.errstate(all="ignore"):
        want = EXACT[name](X, y, t, u)
    want[3, 4] = 0
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("x", "z", "t", "u"), [(1e300, 1e100, 1e150, 1e200), (1e-300, 1e-100, 1e-280, 1e-200), (1e-200, 1e-200, 0.0, 1e-200), (1e200, 1e-105, 3e195, 1e-110)])
def test_tangents_of_quotients_stay_in_range(x: float, z: float, t: float, u: float) -> None:
    cells = [table(np.full((150, 200), v)) for v in (x, z, t, u)]
    x_, z_, t_, u_ = map(Fraction, (x, z, t, u))
    np.testing.assert_allclose(tangent(ng.divide, cells[:2], cells[2:]), float((t_ - u_ * x_ / z_) / z_), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_divided_by_itself_has_no_tangent(dtype: Any) -> None:
    x, t = X.astype(dtype), T.astype(dtype)
    assert not tangent(lambda x: x / x, (table(x),), (table(t),)).any()
    assert not tangent(lambda x: x / x, (table(x.T, ("b", "a")),), (table(t.T, ("b", "a")),)).any()


def test_several_tangents_at_once_and_tangents_of_tangents() -> None:
    several = table(np.stack([T, 2 * T, -T]), ("k", *AB)).vectorize("k")
    got = ng.pushforward(ng.divide, (table(X), table(Y)), (several, table(U)))[1].devectorize("k").transpose("k", *AB).data
    for k, factor in enumerate((1, 2, -1)):
        np.testing.assert_allclose(got[k], EXACT["divide"](X, Y, factor * T, U), rtol=1e-13, atol=1e-13)
    slope = lambda x, y: ng.pushforward(ng.multiply, (x, y), (table(T), table(U)))[1]
    np.testing.assert_allclose(tangent(slope, (table(X), table(Y)), (table(U), table(T))), T * T + U * U, rtol=1e-13)


def test_operands_and_tangents_stay_as_they_are() -> None:
    cells = [table(v.copy()) for v in (X, Y, T, U)]
    for f in (ng.add, ng.multiply, ng.divide, ng.hypot, lambda x, y: x / y + x):
        ng.pushforward(f, tuple(cells[:2]), tuple(cells[2:]))
    for cell, v in zip(cells, (X, Y, T, U), strict=True):
        np.testing.assert_array_equal(cell.data, v)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_tangents_of_convolutions(mode: str) -> None:
    (x, t), (y, u) = RNG.normal(size=(2, 40)), RNG.normal(size=(2, 5))
    got = ng.pushforward(lambda x, y: ng.convolve(x, y, "x", mode=mode), (table(x, ("x",)), table(y, ("x",))), (table(t, ("x",)), table(u, ("x",))))[1]
    np.testing.assert_allclose(got.data, np.convolve(t, y, mode) + np.convolve(x, u, mode), rtol=1e-12, atol=1e-12)
    y[2], t[:] = math.inf, 0
    got = ng.pushforward(lambda x: ng.convolve(x, table(y, ("x",)), "x", mode=mode), (table(x, ("x",)),), (table(t, ("x",)),))[1]
    assert not got.data.any()


def test_tangents_of_kronecker_products() -> None:
    (x, t), (y, u) = RNG.normal(size=(2, 30, 4)), RNG.normal(size=(2, 5, 60))
    got = tangent(ng.kron, (table(x), table(y)), (table(t), table(u)))
    np.testing.assert_allclose(got, np.kron(t, y) + np.kron(x, u), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("odd", [None, math.nan, -math.inf])
@pytest.mark.parametrize("dims", [("b",), ("a",), AB])
def test_tangents_of_the_largest_in_windows(odd: float | None, dims: tuple[str, ...]) -> None:
    x, t = RNG.normal(size=(2, 12, 18))
    if odd is not None:
        x[2:5, 4:7] = odd
    size = tuple(3 if d in dims else 1 for d in AB)
    windows, moved = (v.reshape(12 // size[0], size[0], 18 // size[1], size[1]).swapaxes(1, 2).reshape(12 // size[0], 18 // size[1], -1) for v in (x, t))
    got = tangent(lambda x: ng.max_pool(x, dict.fromkeys(dims, 3)), (table(x),), (table(t),))
    want = np.take_along_axis(moved, np.argmax(windows, -1)[..., None], -1)[..., 0]
    one = ~np.isnan(windows).any(-1)  # of several NaN nobody knows which counts
    np.testing.assert_array_equal(got[one], want[one])


@pytest.mark.parametrize("name", ["dawsn", "erfcx", "log_ndtr", "ndtri_exp", "exprel"])
def test_single_precision_is_double_precision_rounded(name: str) -> None:
    x = np.concatenate([-(10 ** RNG.uniform(-20, 2, 3000)), [-0.0, -math.inf, math.nan]]).astype(np.float32)
    x = x if name == "ndtri_exp" else np.concatenate([x, -x])
    f, of = getattr(ng, name), lambda d: table(x.astype(d), ("x",))
    with np.errstate(all="ignore"):
        value, pull = ng.pullback(f, of(np.float32))
        _, exactly = ng.pullback(f, of(np.float64))
        np.testing.assert_array_equal(value.data, f(of(np.float32)).data)
        got, want = (p(ng.ones_like(of(d))).data for p, d in ((pull, np.float32), (exactly, np.float64)))
        np.testing.assert_array_equal(got, want.astype(np.float32))
    if hasattr(scipy.special, name):
        np.testing.assert_array_equal(value.data, getattr(scipy.special, name)(x))
    assert got.dtype == value.dtype == np.float32


@pytest.mark.parametrize("dim", AB)
@pytest.mark.parametrize("skipna", [None, False])
@pytest.mark.parametrize("odd", [None, "tie", math.nan])
def test_tangents_of_the_largest(odd: Any, skipna: bool | None, dim: str) -> None:
    x, t = RNG.normal(size=(2, 12, 18))
    if odd == "tie":
        x[3, 4] = x[3, 5] = x[4, 4] = 9.0
    elif odd is not None:
        x[3] = x[:, 5] = odd
    got = ng.pushforward(lambda x: ng.max(x, dim, skipna=skipna), (table(x),), (table(t),))[1].data
    lines, moved = (np.moveaxis(v, AB.index(dim), -1) for v in (x, t))
    top = (np.max if skipna is False else np.fmax.reduce)(lines, axis=-1)[:, None]
    ties = (lines == top) | (np.isnan(lines) & np.isnan(top) & (skipna is False))
    want = np.where(ties, moved, 0).sum(-1) / np.maximum(ties.sum(-1), 1)
    np.testing.assert_allclose(got, want, rtol=1e-14)


@pytest.mark.parametrize("dims", ["a", "b", "c", ("a", "b"), ("a", "c")])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, complex])
def test_norms_over_any_dims(dims: Any, dtype: Any) -> None:
    x = RNG.normal(size=(6, 7, 8)).astype(dtype)
    gone = tuple("abc".index(d) for d in dims)
    want = np.sqrt((np.abs(x.astype(np.result_type(dtype, np.float64))) ** 2).sum(gone))
    got = ng.norm(table(x, ("a", "b", "c")), dims).data
    np.testing.assert_allclose(got, want, rtol=20 * float(np.finfo(dtype).eps))
    assert got.dtype == np.finfo(dtype).dtype


@pytest.mark.parametrize("rows", [3, 400])
@pytest.mark.parametrize("f", [ng.norm, ng.var, ng.std], ids=lambda f: f.__name__)
def test_lengths_and_variances_of_complex_numbers(f: Any, rows: int) -> None:
    z, t = RNG.normal(size=(2, rows, 60)) + 1j * RNG.normal(size=(2, rows, 60))
    weights = RNG.normal(size=rows)
    middle = z - z.mean(1, keepdims=True)
    value = {"norm": np.linalg.norm(z, axis=1), "var": np.var(z, axis=1), "std": np.std(z, axis=1)}[f.__name__]
    slope = {"norm": z / value[:, None], "var": middle / 30, "std": middle / 60 / value[:, None]}[f.__name__]
    out, pull = ng.pullback(lambda z: f(z, "b"), table(z))
    np.testing.assert_allclose(out.data, value, rtol=1e-13)
    np.testing.assert_allclose(pull(table(weights, ("a",))).data, weights[:, None] * slope, rtol=1e-12, atol=1e-13)
    pushed = ng.pushforward(lambda z: f(z, "b"), (table(z),), (table(t),))[1].data
    np.testing.assert_allclose(pushed, (slope.conj() * t).real.sum(1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("odd", [math.inf, math.nan, complex(math.inf, math.nan)])
def test_squares_of_complex_numbers_that_do_not_count(odd: Any) -> None:
    z = np.array([1 + 2j, odd, -1j])
    weights = table([2.0, 0.0, 3.0], ("x",))
    loss = lambda z: (ng.mse_loss(z, ng.zeros_like(z), reduction=None) * weights).sum(skipna=False)
    np.testing.assert_allclose(ng.grad(loss)(table(z, ("x",))).data, [4 + 8j, 0, -6j])


def test_curvature_of_squares_of_complex_numbers() -> None:
    z, t = table(RNG.normal(size=5) + 1j * RNG.normal(size=5), ("x",)), table(RNG.normal(size=5) + 1j * RNG.normal(size=5), ("x",))
    square = lambda z: ng.mse_loss(z, ng.zeros_like(z), reduction="sum")
    quartic = lambda z: square(z) * square(z)  # (z·z)^2: gradient 4 |z|^2 z
    got = ng.pushforward(ng.grad(quartic), (z,), (t,))[1].data
    size, along = np.vdot(z.data, z.data).real, np.vdot(z.data, t.data).real
    np.testing.assert_allclose(got, 4 * size * t.data + 8 * along * z.data, rtol=1e-12)
