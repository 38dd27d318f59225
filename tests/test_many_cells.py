"""Shorter ways that are taken where there are many cells: as by their definitions, also where a way ends."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.special

import namedgrad as ng

N = 20_000
RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=N)


def line(x: Any) -> ng.DimArray:
    return ng.DimArray(np.asarray(x), ("x",))


def gradients(f: Any, *arrays: Any) -> list[np.ndarray]:
    found = ng.grad(lambda *xs: (f(*xs) * line(WEIGHTS)).sum(skipna=False), wrt=tuple(range(len(arrays))))(*map(line, arrays))
    return [g.data for g in found]


@pytest.mark.parametrize("odd", [None, 0.0, 1e-310, 5e-324, -2.0, math.inf, math.nan])
@pytest.mark.parametrize("exponent", [None, 2.5, -1.0, 4.0])
def test_slopes_of_powers_are_those_of_the_definition(odd: float | None, exponent: float | None) -> None:
    x, z = 10 ** RNG.uniform(-30, 30, N), RNG.uniform(-4, 4, N) if exponent is None else np.full(N, exponent)
    if odd is not None:
        x[7], z[7] = odd, 3.0 if exponent is None else exponent
    with np.errstate(all="ignore"):
        want = WEIGHTS * (z * x ** (z - 1))
        got = gradients(ng.power, x, z)[0] if exponent is None else gradients(lambda x: x**exponent, x)[0]
    np.testing.assert_allclose(got, want, rtol=2e-13)


def test_slopes_of_powers_that_vanish_or_overflow_keep_their_digits() -> None:
    x, z = np.full(N, 2.0), np.full(N, 3.0)
    x[:4], z[:4] = (1e-108, 1e-160, 1e200, 2.0), (3.0, 2.5, 1.6, -1074.0)
    got, _ = gradients(ng.power, x, z)
    with np.errstate(all="ignore"):
        want = WEIGHTS[:3] * z[:3] * x[:3] ** (z[:3] - 1)
    np.testing.assert_allclose(got[:3], want, rtol=1e-12)
    np.testing.assert_allclose(got[3], WEIGHTS[3] * (z[3] / x[3]) * x[3] ** z[3], atol=5e-324)  # one unit of its last place
    np.testing.assert_allclose(got[4:], WEIGHTS[4:] * 12, rtol=1e-15)


def test_second_slopes_of_powers() -> None:
    x, z = RNG.uniform(0.5, 2, N), RNG.uniform(-2, 2, N)
    slope = ng.grad(lambda x, z: (x**z).sum())
    in_base, in_exponent = ng.grad(lambda x, z: (slope(x, z) * line(WEIGHTS)).sum(), wrt=(0, 1))(line(x), line(z))
    np.testing.assert_allclose(in_base.data, WEIGHTS * z * (z - 1) * x ** (z - 2), rtol=1e-12)
    np.testing.assert_allclose(in_exponent.data, WEIGHTS * x ** (z - 1) * (1 + z * np.log(x)), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("reach", [5, 80, 700, 2000])
def test_the_logistic_function_and_its_slope(reach: float, dtype: Any) -> None:
    x = RNG.uniform(-reach, reach, N).astype(dtype)
    wide, kind = x.astype(np.float64), np.finfo(dtype)
    fall = np.exp(-np.abs(wide))
    value, slope = np.where(x < 0, fall, 1) / (1 + fall), fall / (1 + fall) ** 2
    out, pull = ng.pullback(ng.expit, line(x))
    g = pull(line(np.ones(N, dtype)))
    assert out.dtype == g.dtype == dtype
    for got, want in ((out.data, value), (g.data, slope)):
        np.testing.assert_allclose(got, want, rtol=8 * kind.eps, atol=4 * kind.tiny)
    np.testing.assert_array_equal(out.data, ng.expit(line(x)).data)
    _, pushed = ng.jvp(ng.expit, (line(x),), (line(np.full(N, 2, dtype)),))
    np.testing.assert_array_equal(pushed.data, 2 * g.data)


def test_the_bend_of_the_logistic_function() -> None:
    x = RNG.uniform(-5, 5, N)
    slope = ng.grad(lambda x: ng.sigmoid(x).sum())
    s = 1 / (1 + np.exp(-x))
    np.testing.assert_allclose(gradients(slope, x)[0], WEIGHTS * s * (1 - s) * (1 - 2 * s), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("odd", [None, (math.inf, 1), (-math.inf, 1), (math.inf, math.inf), (-math.inf, -math.inf), (math.nan, 1), (2, 2)])
@pytest.mark.parametrize("reach", [5, 700, 2000])
def test_both_shares_of_a_logarithmic_sum(reach: float, odd: tuple[float, float] | None, dtype: Any) -> None:
    x, z = RNG.uniform(-reach, reach, (2, N)).astype(dtype)
    if odd is not None:
        x[7], z[7] = odd
    with np.errstate(all="ignore"):
        value, want = np.logaddexp(x, z), [scipy.special.expit((a - b).astype(float)) for a, b in ((x, z), (z, x))]
    if odd is not None and odd[0] == odd[1]:
        want[0][7] = want[1][7] = 0 if odd[0] < 0 else 0.5
    out, pull = ng.pullback(ng.logaddexp, line(x), line(z))
    np.testing.assert_array_equal(out.data, value)
    for got, share in zip(pull(line(WEIGHTS.astype(dtype))), want, strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got.data, WEIGHTS.astype(dtype) * share, rtol=8 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).tiny)
    if odd is None:
        _, pushed = ng.jvp(ng.logaddexp, (line(x), line(z)), (line(np.ones(N, dtype)),) * 2)
        np.testing.assert_allclose(pushed.data, 1, rtol=8 * np.finfo(dtype).eps)
        np.testing.assert_allclose(ng.grad(lambda x: ng.logaddexp(x, line(z)).sum())(line(x)).data, want[0], rtol=8 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).tiny)


def test_the_bend_of_a_logarithmic_sum() -> None:
    x, z = RNG.uniform(-5, 5, (2, N))
    slope = ng.grad(lambda x, z: ng.logaddexp(x, z).sum())
    bend = WEIGHTS * scipy.special.expit(x - z) * scipy.special.expit(z - x)
    for got, want in zip(gradients(slope, x, z), (bend, -bend), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("fill", ["none", "nan", "nan at the end", "ties", "infinite", "all nan"])
@pytest.mark.parametrize("skipna", [None, False])
@pytest.mark.parametrize("dim", ["x", "y"])
def test_running_maxima_leave_nan_out(fill: str, skipna: bool | None, dim: str) -> None:
    x = RNG.normal(size=(40, 50))
    match fill:
        case "nan":
            x[RNG.random(x.shape) < 0.2] = math.nan
        case "nan at the end":
            x[:, -1] = x[-1] = math.nan
        case "ties":
            x = np.round(x)
        case "infinite":
            x[3, 4], x[30, 40] = math.inf, -math.inf
        case "all nan":
            x[:] = math.nan
    axis = ("x", "y").index(dim)
    want = np.maximum.accumulate(x, axis) if skipna is False else np.fmax.accumulate(x, axis)
    np.testing.assert_array_equal(ng.cummax(ng.DimArray(x, ("x", "y")), dim, skipna=skipna).data, want)


@pytest.mark.parametrize("seed", [0.0, 1.5, math.inf])
@pytest.mark.parametrize("odd", [None, math.inf, math.nan])
@pytest.mark.parametrize("size", [4, 500])
def test_where_a_cotangent_is_0_no_factor_of_a_sum_of_products_counts(size: int, odd: float | None, seed: float) -> None:
    x, y = RNG.normal(size=(2, 30, size))
    y[3, 2] = 0
    if odd is not None:
        x[3, 1] = odd
    c = RNG.normal(size=30)
    c[3] = seed
    _, pull = ng.pullback(lambda x, y: ng.vecdot(x, y, "b"), *(ng.DimArray(a, ("a", "b")) for a in (x, y)))
    with np.errstate(invalid="ignore"):
        want = [np.where((c[:, None] == 0) | (a == 0), 0, c[:, None] * a) for a in (y, x)]
    for got, w in zip(pull(ng.DimArray(c, ("a",))), want, strict=True):
        np.testing.assert_allclose(got.data, w)


@pytest.mark.parametrize("size", [4, 500])
def test_a_guarded_sum_of_products_does_not_tell_that_its_cotangents_are_finite(size: int) -> None:
    """In ``sum(t x)`` an infinite ``t`` that meets 0 is left out, so the sum is finite; its slope in ``x`` is ``c t``."""
    x, y, t = RNG.normal(size=(3, size))
    x[1], t[1] = 0, math.inf
    _, pull = ng.pullback(lambda x: ng.jvp(lambda y: ng.vdot(x, y), (line(y),), (line(t),))[1], line(x))
    for c, want in ((0.0, np.zeros(size)), (2.0, 2 * t)):
        np.testing.assert_array_equal(pull(ng.DimArray(np.array(c), ())).data, want)


@pytest.mark.parametrize("length", [ng.norm, lambda x, dim: ng.prod(x, dim, skipna=False)])
def test_nothing_is_pulled_into_rows_whose_cotangent_is_0(length: Any) -> None:
    x = RNG.uniform(0.5, 1, size=(30, 500))
    x[3, 1] = math.inf
    _, pull = ng.pullback(lambda x: length(x, "b"), ng.DimArray(x, ("a", "b")))
    got = pull(ng.DimArray(np.where(np.arange(30) == 3, 0.0, 1.0), ("a",))).data
    assert not got[3].any()
    assert np.isfinite(got).all()


@pytest.mark.parametrize("turned", [False, True])
def test_a_quotient_in_its_denominator(turned: bool) -> None:
    x, y = RNG.normal(size=(2, 150, 200))
    y[3, 4], x[5, 6] = -0.0, 0.0
    other = ng.DimArray(y.T, ("b", "a")) if turned else ng.DimArray(y, ("a", "b"))
    out, pull = ng.pullback(lambda y: ng.DimArray(x, ("a", "b")) / y, other)
    with np.errstate(all="ignore"):
        want = -(x / y) / y
    got = pull(ng.ones_like(out)).data
    np.testing.assert_allclose(got.T if turned else got, want, rtol=1e-14)


@pytest.mark.parametrize("least", [0.0, 1.0])
@pytest.mark.parametrize("names", [("a",), ("b",), ()])
def test_a_quotient_in_a_denominator_of_fewer_dims(names: tuple[str, ...], least: float) -> None:
    x, g = RNG.normal(size=(2, 150, 200))
    y = RNG.uniform(1, 2, [{"a": 150, "b": 200}[n] for n in names])
    y.flat[0] = least
    wide = ng.DimArray(y, names).expand_dims(**{n: 1 for n in "ab" if n not in names}).transpose("a", "b").data
    g[np.broadcast_to(wide == 0, g.shape)] = 0  # what counts for nothing is divided by 0
    x[0, 0] = math.inf
    g[0, 0] = 0
    with np.errstate(all="ignore"):
        factor, twice = -x / wide**2, 2 * x / wide**3
    gone = tuple(i for i, n in enumerate("ab") if n not in names)
    want, bent = (np.where(g == 0, 0, g * np.where(g == 0, 0, f)).sum(gone) for f in (factor, twice))
    quotient = lambda y: ng.DimArray(x, ("a", "b")) / y
    _, pull = ng.pullback(quotient, ng.DimArray(y, names))
    np.testing.assert_allclose(pull(ng.DimArray(g, ("a", "b"))).data, want, rtol=1e-11, atol=1e-11)
    slope = ng.grad(lambda y: (ng.DimArray(g, ("a", "b")) * quotient(y)).sum(skipna=False))
    some = ng.DimArray(np.where(y == 0, 1.5, y), names)
    got = ng.grad(lambda y: slope(y).sum(skipna=False))(some).data
    np.testing.assert_allclose(got[y != 0], bent[y != 0], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("odd", [math.inf, -math.inf, math.nan, 0.0, 1e-310])
def test_a_quotient_in_a_denominator_of_fewer_dims_that_is_odd(odd: float) -> None:
    x, y = np.where(np.arange(150) == 2, math.nan, RNG.normal(size=(200, 150)) * 1e-300), np.full(150, 2.0)
    y[1:3] = odd
    pull = lambda y, g: ng.pullback(lambda y: ng.DimArray(x, ("a", "b")) / y, y)[1](g)
    with np.errstate(all="ignore"):
        want = -(x / y).sum(0) / y  # not in the other order, in which infinities of both signs meet
    for f in (pull, ng.compile(pull)):
        np.testing.assert_allclose(f(ng.DimArray(y, ("b",)), ng.ones({"a": 200, "b": 150})).data, want, rtol=1e-9)


@pytest.mark.parametrize("size", [3, 400_000])
@pytest.mark.parametrize(("x", "z", "g"), [(1e300, 1e100, 1e200), (1e-300, 1e-100, 1e-200), (3.0, 2.0, 5.0)])
def test_slopes_of_quotients_stay_in_range(size: int, x: float, z: float, g: float) -> None:
    top, below, seed = (ng.DimArray(np.full(size, v), "a") for v in (x, z, g))
    exact = -float(Fraction(g) * Fraction(x) / Fraction(z) ** 2)
    slope = lambda top, below, seed: ng.pullback(lambda z: top / z, below)[1](seed)
    both = lambda top, below, seed: ng.pullback(ng.divide, top, below)[1](seed)[1]
    for f in (slope, both, ng.compile(slope), ng.compile(both)):
        np.testing.assert_allclose(f(top, below, seed).data, exact, rtol=1e-14)


def test_gradients_of_the_largest_lie_in_memory_as_the_cells_do() -> None:
    x, g = RNG.normal(size=(200, 150)).T, RNG.normal(size=150)
    x[3, 5:7] = 9
    _, pull = ng.pullback(lambda x: x.max("b"), ng.DimArray(x, ("a", "b")))
    got, top = pull(ng.DimArray(g, ("a",))).data, x == x.max(1, keepdims=True)
    np.testing.assert_allclose(got, top * (g / top.sum(1))[:, None], rtol=1e-15)
    assert got.flags.f_contiguous


@pytest.mark.parametrize("shape", [(3,), (30_000,), (150, 200)])
def test_the_imaginary_part_gives_imaginary_gradients(shape: tuple[int, ...]) -> None:
    g = RNG.normal(size=shape)
    g.flat[1] = math.inf
    z = ng.DimArray(RNG.normal(size=shape) + 1j, ("a", "b")[: len(shape)])
    _, pull = ng.pullback(lambda z: z.imag, z)
    got = pull(ng.DimArray(g, z.dims)).data
    assert not got.real.any()
    np.testing.assert_array_equal(got.imag, g)


@pytest.mark.parametrize("odd", [None, 3000.0, -math.inf])
@pytest.mark.parametrize("at", [0, 140_001, -1])
def test_what_is_computed_stretch_by_stretch_goes_where_it_came_from(at: int, odd: float | None) -> None:
    x, t, w = RNG.normal(size=(400, 700)), RNG.uniform(0.1, 0.9, 700), 1 / RNG.uniform(1, 3, (400, 1))
    x.flat[at] = x.flat[at] if odd is None else odd
    a, b, c = ng.DimArray(x, ("a", "b")), ng.DimArray(t, ("b",)), ng.DimArray(w[:, 0], ("a",))
    got = ng.binary_cross_entropy_with_logits(a, b, pos_weight=c, reduction=None).data
    want = (1 - t) * np.logaddexp(0, x) + w * t * np.logaddexp(0, -x)
    np.testing.assert_allclose(got, want, rtol=1e-13)
    slope = ng.grad(lambda x: ng.binary_cross_entropy_with_logits(x, b, pos_weight=c, reduction="sum"))(a).data
    np.testing.assert_allclose(slope, (1 - t) * scipy.special.expit(x) - w * t * scipy.special.expit(-x), rtol=1e-12, atol=1e-14)
    turn = np.fmod(np.where(np.isfinite(x), x, 0) ** 2, 4) * (math.pi / 2)
    np.testing.assert_allclose(ng.grad(lambda x: ng.fresnel(x)[0].sum())(a).data[np.isfinite(x)], np.sin(turn)[np.isfinite(x)], atol=1e-14)


@pytest.mark.parametrize("odd", [None, 0.0, 800.0, -1e308, math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("w", [1, 3.0, 0.25])
def test_cross_entropies_of_logits_and_their_slopes(w: float, odd: float | None) -> None:
    x, t = RNG.normal(size=N) * 10, RNG.uniform(size=N)
    t[:4], x[3] = (0, 1, 0.5, 0.5), x[3] if odd is None else odd
    if odd is not None:
        x[:3] = odd
    up, down = scipy.special.expit(x), scipy.special.expit(-x)
    rise = [(1 - t) * up, -w * t * down]
    with np.errstate(all="ignore"):
        odds = scipy.special.log_expit(-x) - w * scipy.special.log_expit(x)
        want = np.where(t < 1, (1 - t) * np.logaddexp(0, x), 0) + np.where(t > 0, w * t * np.logaddexp(0, -x), 0)
        want = (want * WEIGHTS).sum()
    loss = lambda x, t: ng.binary_cross_entropy_with_logits(x, t, pos_weight=w if w != 1 else None, reduction=None)
    value, (in_logits, in_target) = ng.value_and_grad(lambda *xt: (loss(*xt) * line(WEIGHTS)).sum(skipna=False), (0, 1))(line(x), line(t))
    np.testing.assert_allclose(value.item(), want, rtol=1e-12)
    np.testing.assert_allclose(in_logits.data, WEIGHTS * sum(rise), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(in_target.data, WEIGHTS * odds, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(gradients(lambda x: loss(x, line(t)), x)[0], in_logits.data)


@pytest.mark.parametrize("odd", [None, "tie", math.nan, math.inf])
@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_shares_in_the_larger_and_the_smaller(name: str, odd: Any) -> None:
    f, sign, (x, z) = getattr(ng, name), 1 if name in ("maximum", "fmax") else -1, RNG.normal(size=(2, N))
    if odd is not None:
        x[5] = z[5] if odd == "tie" else odd
    share = (sign * x > sign * z) + 0.5 * (x == z)
    share[np.isnan(x)] = name in ("maximum", "minimum")
    for got, want in zip(gradients(f, x, z), (share, 1 - share), strict=True):
        np.testing.assert_array_equal(got, WEIGHTS * want)
    np.testing.assert_array_equal(gradients(lambda x: f(x, 0.25), x)[0][6:], (WEIGHTS * (sign * x > sign * 0.25))[6:])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("odd", [0.0, 1e-200, math.inf])
def test_the_slope_of_the_tangent(odd: float, dtype: Any) -> None:
    x, w = RNG.uniform(-1.5, 1.5, N).astype(dtype), WEIGHTS.astype(dtype)
    w[0] = odd
    _, pull = ng.pullback(ng.tan, a := line(x.copy()))
    a.data[...] = 0
    for _ in range(2):
        np.testing.assert_allclose(pull(line(w)).data, w / np.cos(x.astype(np.float64)) ** 2, rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("odd", [None, 0, 1e-30 + 1e-30j, 1e30 - 1e30j, -1e-30j, -math.inf])
def test_the_slope_of_the_length_of_complex_numbers(odd: complex | None, dtype: Any) -> None:
    z, t = ((RNG.normal(size=N) + 1j * RNG.normal(size=N)).astype(dtype) for _ in range(2))
    z[0] = z[0] if odd is None else odd
    with np.errstate(invalid="ignore"):
        turn = z / np.where(z == 0, 1, abs(z.astype(np.complex128)))
    turn[0] = turn[0] if odd != -math.inf else -1
    y, pull = ng.pullback(ng.absolute, a := line(z.copy()))
    y.data[...], a.data[...] = 0, 0
    tol = 40 * np.finfo(dtype).eps
    for w in (WEIGHTS, WEIGHTS, 1e30 * WEIGHTS):
        np.testing.assert_allclose(pull(line(w.astype(z.real.dtype))).data, w * turn, rtol=tol)
    _, tangent = ng.pushforward(ng.absolute, (line(z),), (line(t),))
    np.testing.assert_allclose(tangent.data, (turn.conj() * t).real, rtol=tol, atol=tol)


@pytest.mark.parametrize("name", ["maximum", "fmin"])
def test_shares_of_an_array_that_is_met_by_name(name: str) -> None:
    x, z, c = RNG.normal(size=(60, 50)), RNG.normal(size=60), RNG.normal(size=(60, 50))
    _, pull = ng.pullback(getattr(ng, name), ng.DimArray(x, ("a", "b")), ng.DimArray(z, ("a",)))
    over = c * (x > z[:, None] if name == "maximum" else x < z[:, None])
    first, second = pull(ng.DimArray(c, ("a", "b")))
    np.testing.assert_array_equal(first.data, over)
    np.testing.assert_allclose(second.data, (c - over).sum(1), rtol=1e-12)
    each = ng.grad(lambda x, z: (getattr(ng, name)(x, z) ** 2).sum(), over="b")(ng.DimArray(x, ("a", "b")), ng.DimArray(z, ("a",)))
    np.testing.assert_array_equal(each.transpose("a", "b").data, 2 * x * (over != 0))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("reach", [0.9, 1.1, 6.0])
def test_slopes_of_sinc(reach: float, dtype: Any) -> None:
    x = RNG.uniform(-reach, reach, N).astype(dtype)
    x[:6] = 0, 1e-9, -0.3, 1, -0.5, 4.5
    wide = x.astype(np.longdouble)
    z = wide * np.longdouble("3.14159265358979323846264338327950288")
    with np.errstate(invalid="ignore"):
        far = (np.cos(z) - np.sin(z) / z) / wide
    near = np.pi * z * (-1 / 3 + z**2 * (1 / 30 + z**2 * (-1 / 840 + z**2 * (1 / 45360 - z**2 / 3991680))))
    want = np.where(np.abs(x) < 0.05, near, far).astype(float)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(gradients(ng.sinc, x)[0], WEIGHTS * want, rtol=4000 * eps if dtype is np.float64 else 8 * eps, atol=50 * eps)


@pytest.mark.parametrize("twice", [(), (0, 1), (3, -1), (-2, -1)])
def test_of_several_writers_to_a_cell_the_last_one_counts(twice: tuple[int, ...]) -> None:
    at, x, y = RNG.permutation(2 * N)[:N], RNG.normal(size=2 * N), RNG.normal(size=N)
    if twice:
        at[twice[1]] = at[twice[0]]
    c, want = RNG.normal(size=2 * N), x.copy()
    out, pull = ng.pullback(lambda x, y: ng.put(x, ng.DimArray(at, ("p",)), y), line(x), ng.DimArray(y, ("p",)))
    first, second = (g.data for g in pull(line(c)))
    for place, value in zip(at, y, strict=True):
        want[place] = value
    np.testing.assert_array_equal(out.data, want)
    passed = c[at]
    if twice:
        passed[twice[0]] = 0
    np.testing.assert_array_equal(second, passed)
    np.testing.assert_array_equal(first, np.where(np.isin(np.arange(2 * N), at), 0, c))


@pytest.mark.parametrize("dim", ["x", "y"])
def test_running_minima_pass_to_where_they_were_met(dim: str) -> None:
    x, c, t = RNG.normal(size=(3, 40, 50))
    x[:, :3] -= 5  # runs that are long
    axis = ("x", "y").index(dim)
    lines, weights = (np.moveaxis(a, axis, -1) for a in (x, c))
    met = np.array([[int(np.argmin(row[: k + 1])) for k in range(row.size)] for row in lines])
    want = np.zeros(lines.shape)
    np.add.at(want, (np.arange(len(lines))[:, None], met), weights)
    names = ("x", "y")
    _, pull = ng.pullback(lambda x: ng.cummin(x, dim), ng.DimArray(x, names))
    np.testing.assert_allclose(pull(ng.DimArray(c, names)).data, np.moveaxis(want, -1, axis), rtol=1e-12)
    _, pushed = ng.jvp(lambda x: ng.cummin(x, dim), (ng.DimArray(x, names),), (ng.DimArray(t, names),))
    np.testing.assert_array_equal(pushed.data, np.take_along_axis(t, np.moveaxis(met, -1, axis), axis))
    table = ng.jacobian(lambda x: ng.cummin(x, dim).sum("y" if dim == "x" else "x"))(ng.DimArray(x, names)).data
    np.testing.assert_array_equal(table.sum(0), np.moveaxis([np.bincount(m, minlength=len(m)) for m in met], -1, axis))


@pytest.mark.parametrize("degree", [2, 3, 9, 32])
@pytest.mark.parametrize("parameter", [0.5, 2, 3.5])
def test_gegenbauer_polynomials_are_those_of_single_cells(degree: int, parameter: float) -> None:
    x = np.concatenate([RNG.uniform(-1, 1, N), RNG.uniform(-3, 3, N), [1, -1, 0, math.inf, -math.inf, math.nan]])
    with np.errstate(all="ignore"):
        want = scipy.special.eval_gegenbauer(degree, parameter, x)
    rounding = 5e-14 * scipy.special.eval_gegenbauer(degree, parameter, 1.0)  # of its recurrence, next to a root
    np.testing.assert_allclose(ng.eval_gegenbauer(degree, parameter, line(x)).data, want, rtol=1e-13, atol=rounding)
    single = ng.eval_gegenbauer(degree, parameter, line(x.astype("f4")))
    with np.errstate(all="ignore"):
        want = scipy.special.eval_gegenbauer(degree, parameter, x.astype("f4").astype("f8"))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single.data, want, rtol=1e-7, atol=rounding)


MET = {  # f, what its slope is the reciprocal of, and the bend
    "log": (ng.log, lambda x: x, lambda x: -1 / x**2),
    "log1p": (ng.log1p, lambda x: 1 + x, lambda x: -1 / (1 + x) ** 2),
    "cbrt": (ng.cbrt, lambda x: 3 * np.cbrt(x) ** 2, lambda x: -2 / 9 * x ** (-5 / 3)),
    "log2": (ng.log2, lambda x: x * np.log(2), lambda x: -1 / (x**2 * np.log(2))),
    "sqrt": (ng.sqrt, lambda x: 2 * np.sqrt(x), lambda x: -0.25 * x**-1.5),
    "exp2": (ng.exp2, lambda x: 2**-x / np.log(2), lambda x: 2**x * np.log(2) ** 2),
    "divide": (lambda x: (x + 1) / x, lambda x: -(x**2), lambda x: 2 / x**3),
    "divide a number": (lambda x: 3 / x, lambda x: -(x**2) / 3, lambda x: 6 / x**3),
    "softsign": (ng.softsign, lambda x: (1 + x) ** 2, lambda x: -2 / (1 + x) ** 3),
    "reciprocal": (ng.reciprocal, lambda x: -(x**2), lambda x: 2 / x**3),
    "square": (ng.square, lambda x: 0.5 / x, lambda x: 2.0),
    "power": (lambda x: x**2, lambda x: 0.5 / x, lambda x: 2.0),
    "multiply": (lambda x: x * x, lambda x: 0.5 / x, lambda x: 2.0),
}


@pytest.mark.parametrize("name", MET)
def test_cotangents_that_meet_operands_and_not_factors(name: str) -> None:
    f, by, bend = MET[name]
    x, other = RNG.uniform(0.5, 2, N), RNG.normal(size=N)
    np.testing.assert_allclose(gradients(f, x)[0], WEIGHTS / by(x), rtol=5e-15)
    given = x.copy()
    for keep in (ng.pullback(f, line(given))[1], ng.linearize(f, line(given))[1]):
        given[:] = 0
        for g in (WEIGHTS, other, WEIGHTS):
            np.testing.assert_allclose(keep(line(g)).data, g / by(x), rtol=1e-14)
        given[:] = x
    both = ng.jacobian(lambda x: (f(x) * ng.DimArray(np.stack([WEIGHTS, other]), ("w", "x"))).sum("x"))(line(x))
    np.testing.assert_allclose(both.data, np.stack([WEIGHTS, other]) / by(x), rtol=1e-14)
    slope = ng.grad(lambda x: f(x).sum())
    np.testing.assert_allclose(gradients(slope, x)[0], WEIGHTS * bend(x), rtol=1e-13)
    ones = slope(line(given))
    ones.data[...] = 0
    np.testing.assert_array_equal(given, x)


@pytest.mark.parametrize("delta", [0.5, 1e-170, 1e-30, 1e30, 1e170])
def test_slopes_of_pseudo_huber(delta: float) -> None:
    r = RNG.normal(size=N) * 10 ** RNG.uniform(-8, 8, N)
    r[:3] = 0, math.inf, -math.inf
    want = np.where(np.isinf(r), np.copysign(delta, r), delta * np.sin(np.arctan2(r, delta)))
    np.testing.assert_allclose(gradients(lambda r: ng.pseudo_huber(delta, r), r)[0], WEIGHTS * want, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_what_is_divided_by_0_counts_where_a_cotangent_is_not_0(dtype: Any) -> None:
    x, w = RNG.uniform(0.5, 2, N).astype(dtype), np.ones(N, dtype)
    x[:6], w[:6] = [0, 0, 0, math.inf, math.inf, math.nan], [0, 2, -2, 0, 1, 0]
    g = ng.grad(lambda x: (ng.log(x) * line(w)).sum(skipna=False))(line(x)).data
    assert g.dtype == dtype
    np.testing.assert_array_equal(g[:6], [0, math.inf, -math.inf, 0, 0, 0])
    np.testing.assert_allclose(g[6:], w[6:] / x[6:], rtol=2 * np.finfo(dtype).eps)
    rows = ng.DimArray(np.stack([x[6:], x[6:]]), ("r", "x"))
    total = ng.grad(lambda c: (rows / c).sum())(ng.DimArray(x[6:].astype(np.float64), ("x",))).data
    np.testing.assert_allclose(total, -2 / x[6:].astype(np.float64), rtol=1e-3 if dtype is np.float16 else 1e-6)


def _after_writing(x: Any) -> Any:
    by, y, z, total = np.full(N, 2.0), x * 1.5, x + 1, 0
    for k in range(3):
        by[:] = k + 1
        total = total + (x / by * WEIGHTS).sum()
    total = total + (np.log(y) * WEIGHTS).sum() + (y * y * WEIGHTS).sum()
    total = total + (y / z * WEIGHTS).sum() + (np.sqrt(z) * WEIGHTS).sum()
    y *= 0
    z *= 0
    by[:] = 100
    return total


def test_operands_that_programs_write_into_count_as_they_were() -> None:
    x = RNG.uniform(0.5, 2, N)
    want = WEIGHTS * (1 + 1 / 2 + 1 / 3 + 1 / x + 2 * 1.5**2 * x + 1.5 / (x + 1) ** 2 + 0.5 / np.sqrt(x + 1))
    np.testing.assert_allclose(ng.grad(_after_writing)(x), want, rtol=1e-12)
    np.testing.assert_allclose(ng.pullback(_after_writing, x)[1](1.0), want, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("axis", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)])
def test_slopes_of_variances_are_distances_from_the_mean(axis: tuple[int, ...], dtype: str) -> None:
    for order in ((0, 1, 2), (2, 0, 1)):
        x = RNG.normal(3, 1, (40, 60, 50)).astype(dtype).transpose(order)
        named, dims = ng.DimArray(x, ("a", "b", "c")), ["abc"[i] for i in axis]
        off = x - x.astype("f8").mean(axis, keepdims=True)
        count = math.prod(x.shape[i] for i in axis)
        g, t = np.asarray(RNG.normal(size=x.var(axis).shape)).astype(dtype), RNG.normal(size=x.shape).astype(dtype)
        names = [d for d in named.dims if d not in dims]
        rtol, atol = (1e-12, 1e-12) if dtype == "f8" else (2e-5, 1e-4 / count)
        for f, ddof, slope in (
            (ng.var, 1, 2 * off / (count - 1)),
            (ng.std, 0, off / count / np.sqrt((off * off).mean(axis, keepdims=True))),
        ):
            along = functools.partial(f, dim=dims, ddof=ddof)
            y, pull = ng.pullback(along, named)
            np.testing.assert_allclose(y.data, along(named).data, rtol=0)
            np.testing.assert_allclose(y.data, getattr(np, f.__name__)(x.astype("f8"), axis, ddof=ddof), rtol=rtol)
            pulled = pull(ng.DimArray(g, names)).data
            np.testing.assert_allclose(pulled, np.expand_dims(g, axis) * slope, rtol=rtol, atol=atol)
            _, pushed = ng.pushforward(along, (named,), (ng.DimArray(t, named.dims),))
            np.testing.assert_allclose(pushed.data, (slope * t).sum(axis), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("n", [255, 256, 1000, 4080, 4081])
def test_counts_along_dims_of_any_length(n: int) -> None:
    for share in (0.0, 0.3):
        x = np.where(RNG.random((n, 400)) < share, math.nan, 1.0)
        for array, dims in ((x, ("a", "b")), (x.T, ("b", "a"))):
            named = ng.DimArray(array, dims)
            for dim in dims:
                np.testing.assert_array_equal(ng.count(named, dim).data, np.isfinite(array).sum(dims.index(dim)))


def test_slopes_of_elliprc_in_single_precision() -> None:
    x, y = (np.exp(RNG.uniform(-8, 8, N)).astype("f4") for _ in range(2))
    y[: N // 4] = x[: N // 4] * (1 + 10 ** RNG.uniform(-7, -1, N // 4)).astype("f4")
    y[:100] = x[:100]
    _, pull = ng.pullback(ng.elliprc, line(x), line(y))
    xx, yy, elliprd = x.astype("f8"), y.astype("f8"), scipy.special.elliprd
    for found, want in zip(pull(line(np.ones(N, "f4"))), (-elliprd(yy, yy, xx) / 6, -elliprd(xx, yy, yy) / 3), strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found.data, want, rtol=1.2e-7)


def test_slopes_of_fresnel_integrals_in_single_precision() -> None:
    x = np.concatenate([RNG.uniform(-3, 3, N), RNG.uniform(-80, 80, N), np.sqrt(np.arange(1, 40))]).astype("f4")
    turns = [Fraction(float(v)) ** 2 % 4 for v in x]  # quarters
    near = np.array([float(t - 4 if t > 2 else t) for t in turns])
    for k, (f, shift) in enumerate(((np.sin, 0), (np.cos, 1))):
        _, pull = ng.pullback(lambda x, k=k: ng.fresnel(x)[k], line(x))
        found, want = pull(line(np.ones(len(x), "f4"))).data, f(np.pi / 2 * near)
        close = np.abs((near + shift) / 2 - np.rint((near + shift) / 2)) < 1e-7  # next to a root, that of the formula is off
        assert found.dtype == np.float32
        np.testing.assert_allclose(found[~close], want[~close], rtol=3e-7)
        np.testing.assert_allclose(found[close], want[close], atol=1e-6)
