"""Bessel functions and their kin: all ways to their slopes.

Numbers of many digits are from mpmath 1.3 with 50 digits, by differences of its own functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import namedgrad as ng
from tests.support.oracles import richardson

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

# on both sides of where the slope of a Bessel function is found in another way: next to 0, and where the value is 0
PLACES = (-25.0, -2.5, -9.99e-4, 0.0, 1e-200, 9.99e-4, 1.01e-3, 0.3, 1.8411837813406593, 4.0, 25.0, 300.0, math.nan)


@pytest.mark.parametrize(("dtype", "exact"), [("float32", 2e-5), ("float64", 2e-12)])
@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv", "ive", "kve"])
def test_slopes_of_bessel_functions_of_any_order_are_those_of_scipy(name: str, dtype: Any, exact: float) -> None:
    """An array of orders, and one at a time; SciPy has none of the scaled functions, and NaN next to poles."""
    plain, sign = (name[:2], 1 if name == "kve" else -1) if name.endswith("e") else (name, 0)
    v, x = np.array([-40.5, -2.0, -1.3, -0.5, 0.0, 0.25, 1.0, 2.5, 70.0], dtype), np.array(PLACES, dtype)
    order, at = v.astype(float)[:, None], x.astype(float)
    turned = np.exp(sign * np.abs(at) if name == "ive" else sign * at)
    grown = np.sign(at) if name == "ive" else 1.0
    with np.errstate(all="ignore"):
        want = turned * (getattr(scipy.special, plain + "p")(order, at) + sign * grown * getattr(scipy.special, plain)(order, at))
        size = turned * np.abs(getattr(scipy.special, plain)(order, at))
        known = np.isfinite(want) & (np.abs(want) < np.finfo(dtype).max) & (np.abs(want) > np.finfo(dtype).tiny)
    f = getattr(ng, name)
    both = ng.pushforward(lambda x: f(ng.DimArray(v, "v"), x), (ng.DimArray(x, "x"),), (ng.ones({"x": len(x)}, dtype=dtype),))[1]
    each = [ng.grad(lambda x, k=k: f(ng.DimArray(k, ()), x).sum(skipna=False))(ng.DimArray(x, "x")).data for k in v]
    for found in (both.transpose("v", "x").data, np.stack(each)):
        assert found.dtype == dtype
        assert known.mean() > 0.35
        assert np.isnan(found[:, -1]).all()
        beside = np.where(known, exact * np.maximum(np.abs(want), size), 0)
        assert (np.abs(found - want)[known] <= beside[known]).all()


@pytest.mark.parametrize("name", ["spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"])
def test_slopes_of_spherical_bessel_functions_are_those_of_scipy(name: str) -> None:
    n, x = np.array([0, 1, 2, 7]), np.array([p for p in PLACES if p > 1e-9])
    with np.errstate(all="ignore"):
        want = getattr(scipy.special, name)(n[:, None], x, derivative=True)
    f = getattr(ng, name)
    found = ng.pushforward(lambda x: f(ng.DimArray(n, "n"), x), (ng.DimArray(x, "x"),), (ng.ones({"x": len(x)}),))[1]
    known = np.isfinite(want)
    np.testing.assert_allclose(found.transpose("n", "x").data[known], want[known], rtol=1e-12, atol=1e-300)


def test_spherical_bessel_functions_next_to_0() -> None:
    """Like their first terms, DLMF 10.52: ``x**n / (2n + 1)!!`` and ``-(2n - 1)!! / x**(n + 1)``."""
    x = ng.DimArray([1e-300, -1e-160, 1e-120], "x")
    np.testing.assert_allclose(ng.spherical_in(0, x).data, 1.0, rtol=1e-15)
    np.testing.assert_allclose(ng.spherical_in(1, x).data, x.data / 3, rtol=1e-15)
    for n in (2, 5):
        assert ng.grad(lambda x, n=n: ng.spherical_yn(n, x))(ng.DimArray(1e-300, ())).item() == np.inf
    short = ng.DimArray(np.arange(3, dtype="float32"), "n")
    np.testing.assert_allclose(ng.spherical_in(short, 0 * x).data, [[1.0] * 3, [0.0] * 3, [0.0] * 3], rtol=0)


@pytest.mark.parametrize("name", ["iv", "ive"])
@pytest.mark.parametrize("dtype", ["int64", "int8", "bool"])
def test_modified_bessel_functions_of_whole_numbers(name: str, dtype: str) -> None:
    v, x = np.array([-1, 0, 1, 2]), np.array([0, 1])
    for order in (v, v.astype(dtype)):
        found = getattr(ng, name)(ng.DimArray(order, "v"), ng.DimArray(x.astype(dtype), "x")).data
        np.testing.assert_allclose(found, getattr(scipy.special, name)(order.astype(float)[:, None], x.astype(float)), rtol=1e-6)


def test_bessel_functions_next_to_0_have_their_values_beside_missing_cells() -> None:
    """SciPy's are NaN at numbers without all their digits; a NaN hid that there are any."""
    x = ng.DimArray([1e-310, math.nan, 2.0, 5e-324], "x")
    np.testing.assert_array_equal(ng.iv(0, x).data[[0, 3]], [1, 1])
    for order, slopes in ((0, [0, 0]), (1, [0.5, 0.5]), (2, [0, 0])):
        got = ng.grad(lambda x, v=order: ng.iv(v, x).sum(skipna=False))(x)
        np.testing.assert_allclose(got.data[[0, 3]], slopes, rtol=1e-14, atol=1e-300)


def test_scaled_bessel_functions_of_short_orders_next_to_0() -> None:
    """As their first term: ``sqrt(2 x / pi)``."""
    found = ng.ive(ng.DimArray(np.float32([0.5]), "v"), ng.DimArray([1e-120], "x"))
    np.testing.assert_allclose(found.data, math.sqrt(2e-120 / math.pi), rtol=1e-14)


@pytest.mark.parametrize("x", [3e9, 1e20, 1e300])
def test_scaled_bessel_functions_far_away(x: float) -> None:
    """By the first terms of their series (DLMF 10.40); SciPy's are NaN from 2**31 on."""
    v = ng.DimArray([0.0, 0.5, 2.0], "v")
    for f, size, sign in ((ng.ive, 1 / math.sqrt(2 * math.pi * x), -1), (ng.kve, math.sqrt(math.pi / 2 / x), 1)):
        want = size * (1 + sign * (4 * v.data**2 - 1) / (8 * x))
        np.testing.assert_allclose(f(v, x).data, want, rtol=1e-14)
    np.testing.assert_allclose(ng.ive(ng.DimArray([0.0, 1.0], "v"), -x).data, [1 / math.sqrt(2 * math.pi * x), -1 / math.sqrt(2 * math.pi * x)], rtol=1e-9)


def test_all_slopes_of_the_falling_airy_function_are_0_at_infinity() -> None:
    f = lambda x: ng.airy(x)[0]
    for _ in range(4):
        assert f(ng.DimArray(np.inf, ())).item() == 0
        f = ng.grad(f)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_slopes_of_the_modified_bessel_function_of_order_1(dtype: str) -> None:
    """At 0, where the quotient rounds, and where the value is infinite."""
    a = ng.DimArray(np.array([0.0, 1e-30, -5e-9, 0.5, -800.0], dtype), "x")
    with np.errstate(all="ignore"):
        want = scipy.special.ivp(1, a.data.astype(float))
    np.testing.assert_allclose(ng.grad(lambda a: ng.i1(a).sum())(a).data, [*want[:4], np.inf], rtol=1e-6 if dtype == "float32" else 1e-14)
    near = a.isel(x=slice(3))
    scaled = ng.grad(lambda a: ng.i1e(a).sum())(near)
    np.testing.assert_allclose(scaled.data, 0.5 - np.abs(near.data), rtol=2e-7 if dtype == "float32" else 3e-16)
    bend = ng.hessian(lambda a: ng.i1(a).sum(), part="diagonal")(a.isel(x=slice(4)))
    np.testing.assert_allclose(bend.data, scipy.special.ivp(1, a.data[:4].astype(float), 2), rtol=1e-6 if dtype == "float32" else 1e-14)


# slopes by the value where it is exact enough, elsewhere in another way; operands on both sides
BY_VALUE: list[tuple[str, tuple[float, float], Callable[[Any, Any], Any]]] = [
    ("dawsn", (-9, 9), lambda x, y: 1 - 2 * x * y),
    ("erfcx", (-3, 3), lambda x, y: 2 * x * y - 2 / math.sqrt(math.pi)),
    ("exprel", (-6, 6), lambda x, y: (np.exp(x) - y) / x),
    ("log_ndtr", (-4, 4), lambda x, y: np.exp(-0.5 * x * x - y) / math.sqrt(2 * math.pi)),
    ("ndtri_exp", (-9, -1e-3), lambda x, y: np.exp(0.5 * y * y + x) * math.sqrt(2 * math.pi)),
    ("wofz", (-9, 9), lambda x, y: 2j / math.sqrt(math.pi) - 2 * x * y),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "between", "slope"), BY_VALUE, ids=[name for name, *_ in BY_VALUE])
def test_slopes_by_the_value_of_many_cells_in_any_order(name: str, between: Any, slope: Any, dtype: Any) -> None:
    cells = np.random.default_rng(4).uniform(*between, (160, 250)).astype(dtype)
    exact = {"atol": 1e-5, "rtol": 1e-5} if dtype == "float32" else {"atol": 1e-13, "rtol": 1e-12}
    for x in (cells, cells.T, cells[::3, ::-1], cells[0, 0]):
        a = ng.DimArray(x, ("a", "b")[: x.ndim])
        found = ng.pushforward(getattr(ng, name), (a,), (ng.ones_like(a),))[1]
        far = np.asarray(x, float)
        np.testing.assert_allclose(found.data, slope(far, getattr(scipy.special, name)(far)), **exact)
        assert found.dtype == getattr(ng, name)(a).dtype


@pytest.mark.parametrize("order", ["C", "F"])
def test_spherical_bessel_functions_of_many_cells_by_series_and_recurrence(order: Any) -> None:
    x = np.random.default_rng(3).uniform(-4, 4, (160, 250)).astype(float, order=order)
    for some in (x, x[::3, ::-1]):
        found = ng.grad(lambda a: ng.sinc(a).sum())(ng.DimArray(some, ("a", "b"))).data
        np.testing.assert_allclose(found, (np.cos(math.pi * some) - np.sinc(some)) / some, rtol=1e-9, atol=1e-12)
        bend = ng.grad(lambda a: ng.grad(lambda b: ng.sici(b)[0].sum())(a).sum())(ng.DimArray(some, ("a", "b"))).data
        np.testing.assert_allclose(bend, (np.cos(some) - np.sin(some) / some) / some, rtol=1e-9, atol=1e-12)


def test_sums_over_nodes_of_many_cells_are_cut_into_blocks() -> None:
    rng = np.random.default_rng(6)
    x, y, z = rng.uniform(0.1, 3, (3, 3000))
    found = ng.grad(lambda x: ng.elliprf(x, y, z).sum())(x)
    np.testing.assert_allclose(found, -scipy.special.elliprd(y, z, x) / 6, rtol=1e-12)  # DLMF 19.18.1
    found = ng.grad(lambda v: scipy.special.jv(v, y).sum())(x)
    np.testing.assert_allclose(found, richardson(lambda t: scipy.special.jv(x + t, y)), rtol=1e-7, atol=1e-9)
    found = ng.grad(lambda a: scipy.special.hyp2f1(a, x + 1.2, x + 2.5, 0.9).sum())(x)
    np.testing.assert_allclose(found, richardson(lambda t: scipy.special.hyp2f1(x + t, x + 1.2, x + 2.5, 0.9)), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:floating point number truncated")
@pytest.mark.parametrize("name", ["kn", "yn"])
@pytest.mark.parametrize("order", [0, 1, -2, 3, 2.5, -1.5])
def test_slopes_of_functions_of_whole_order(name: str, order: float) -> None:
    """SciPy takes the whole part of an order; next to 0 the value is that of a power."""
    x, h, f = np.array([0.01, 0.3, 0.9, 2.2, 17.0, 80.0]), 1e-4, getattr(scipy.special, name)
    at = lambda t: f(order, x * (1 + t))
    expected = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h * x)
    found = ng.grad(lambda x: getattr(ng, name)(order, x).sum())(ng.DimArray(x, "x"))
    np.testing.assert_allclose(found.data, expected, rtol=1e-9)


@pytest.mark.parametrize(("name", "order", "own"), [("jv", 0, "j1"), ("yv", 1, "y0"), ("iv", 0, "i1"), ("kve", 1, "k0e")])
def test_slopes_beside_the_orders_0_and_1_are_as_exact_by_their_own_functions(
    monkeypatch: pytest.MonkeyPatch, name: str, order: int, own: str
) -> None:
    mp: Any = pytest.importorskip("mpmath")
    x, calls, function = np.linspace(0.02, 49.0, 60), [], getattr(scipy.special, own)
    monkeypatch.setattr(scipy.special, own, lambda x: calls.append(np.size(x)) or function(x))
    found = ng.grad(lambda x: getattr(ng, name)(order, x).sum())(ng.DimArray(x, "x")).data
    assert calls == [x.size]
    exact = {"jv": mp.besselj, "yv": mp.bessely, "iv": mp.besseli, "kve": lambda v, t: mp.exp(t) * mp.besselk(v, t)}[name]
    want = [float(mp.diff(lambda t: exact(order, t), mp.mpf(v))) for v in x]
    np.testing.assert_allclose(found, want, rtol=1e-14, atol=1e-15)
