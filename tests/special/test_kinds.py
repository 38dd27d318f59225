"""Orders, dtypes and complex numbers.

Numbers of many digits are from mpmath 1.3 with 50 digits, by differences of its own functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.special

import namedgrad as ng
from tests.support.oracles import richardson

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.mark.parametrize("name", ["exprel", "i1", "i1e", "j1", "dawsn", "erfcx", "log_ndtr"])
def test_slopes_of_half_precision_are_those_of_double_precision(name: str) -> None:
    f = getattr(ng, name)
    points = np.array([0.0, 0.001, 0.5, 1.0, 2.0, -2.0], np.float16)
    found, exact = (ng.grad(lambda x: f(x).sum())(ng.DimArray(points.astype(d), "x")).data for d in (np.float16, np.float64))
    np.testing.assert_allclose(found.astype(float), exact, rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv", "spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int64, np.float16])
def test_orders_and_arguments_of_any_dtype(name: str, dtype: Any) -> None:
    f = getattr(ng, name)
    orders, x = np.array([0, 1, 2, 5], dtype), np.array([2.0, 5e-4, 3.0, 0.5])
    of = lambda v, x: ng.grad(lambda x: f(ng.DimArray(v, "x"), x).sum())(ng.DimArray(x, "x")).data
    if dtype is np.float16:
        orders, x = np.array([0, 1, 2, 1]), np.array([2.0, 0.7, 3.0, 1.5], dtype)
    exact = of(orders.astype(int), x.astype(float))
    np.testing.assert_allclose(of(orders, x), exact, rtol=2e-3 if dtype is np.float16 else 1e-12)


def test_derivatives_in_the_order_where_exp_overflows() -> None:
    """``-K_0`` at order 0 (DLMF 10.38.4), which vanishes; at 712 by mpmath's difference in 40 digits."""
    slope = lambda v, x: ng.grad(lambda v: ng.iv(v, np.float64(x)))(np.float64(v))
    assert slope(0.0, 1e5) == 0
    np.testing.assert_allclose(slope(0.0, 2.0), -scipy.special.k0(2.0), rtol=1e-12)
    np.testing.assert_allclose(slope(0.5, 712.0), -1.7343490182122928e304, rtol=1e-12)


@pytest.mark.parametrize("name", ["kv", "kve"])
@pytest.mark.parametrize("z", [3.5 + 0j, 1.2 - 0.7j, -0.8 + 0.4j])
def test_orders_of_functions_of_one_complex_number(name: str, z: complex) -> None:
    """Arguments that are Python's numbers."""
    f = getattr(scipy.special, name)
    slope = ng.grad(lambda v: np.real(f(v, z)))(0.6)
    assert slope == pytest.approx(richardson(lambda t: f(0.6 + t, z).real), rel=1e-7)


def test_derivatives_at_numbers_of_python() -> None:
    for name, v, slope in (
        ("jv", 1, 0.5), ("jv", 0.0, 0.0), ("iv", 1.0, 0.5), ("iv", 2, 0.0), ("ive", 1.0, 0.5), ("kv", 1.0, -math.inf), ("kve", 2, -math.inf),
    ):  # fmt: skip
        assert ng.grad(lambda x, name=name, v=v: getattr(scipy.special, name)(v, x))(0.0) == slope
    hazard = lambda x: np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) / scipy.special.ndtr(x)
    for x in (-2.5, 0.0, 1.5):
        assert ng.grad(scipy.special.log_ndtr)(x) == pytest.approx(hazard(x), rel=1e-14)
        assert ng.grad(ng.grad(scipy.special.log_ndtr))(x) == pytest.approx(-hazard(x) * (x + hazard(x)), rel=1e-12)
    z = 0.25 + 0.5j
    along = lambda t: np.real(ng.grad(lambda z: np.real(scipy.special.log_ndtr(z)))(z + t))
    assert ng.pushforward(along, (0.0,), (1.0,))[1] == pytest.approx(np.real(-hazard(z) * (z + hazard(z))), rel=1e-12)
    for w in (0.25 + 0.5j, 30.0 + 1.0j):  # w' = 2i / sqrt(pi) - 2 z w
        slope = 2j / math.sqrt(math.pi) - 2 * w * scipy.special.wofz(w)
        assert ng.grad(lambda x, w=w: np.real(scipy.special.wofz(x + 1j * w.imag)))(w.real) == pytest.approx(slope.real, rel=1e-9)


# Riemann's function and its first derivative, from mpmath.
RIEMANN = {
    -20.5: (-108.21747505877606, 300.57792297065504), -4.0: (0.0, 0.007983811450268624), -2.0: (0.0, -0.03044845705839327),
    -1.0: (-1 / 12, -0.165421143700451), 0.0: (-0.5, -0.9189385332046727), 0.5: (-1.4603545088095868, -3.922646139209152), 3.0: (1.2020569031595942, -0.19812624288563685),
}  # fmt: skip


@pytest.mark.parametrize("s", RIEMANN)
def test_the_zeta_function_of_riemann_is_continued(s):
    for f in (ng.zeta, scipy.special.zeta):
        value, slope = ng.value_and_grad(f)(s)
        np.testing.assert_allclose([float(value), slope], RIEMANN[s], rtol=1e-12)
    with pytest.raises(TypeError, match="complex128"):
        ng.zeta(ng.DimArray([1j], "x"))


def test_wright_omega_of_complex_numbers() -> None:
    """Numbers of mpmath: W(exp(z)) / (1 + W(exp(z)))."""
    z = np.array([1j, 2 + 1.5j, -1 - 2j, 0.3 + 0.1j])
    want = [0.36722934973185634 + 0.15418250544917733j, 0.6437395902843029 + 0.1351067528217153j, 0.10960340952403609 - 0.3407535266969183j, 0.40566611856309037 + 0.014335614223547122j]
    slope = ng.grad(lambda z: np.sum(np.real(scipy.special.wrightomega(z))))(z)
    np.testing.assert_allclose(np.conj(slope), want, rtol=1e-13)


@pytest.mark.parametrize("name", ["jve", "elliprd"])
def test_what_has_a_derivative_at_real_numbers_alone_says_so(name: str) -> None:
    z = np.array([0.5 + 1j])
    call = {"jve": lambda z: ng.jve(1, z), "elliprd": lambda z: ng.elliprd(z, 1.0, 2.0)}[name]
    with pytest.raises(TypeError, match=f"{name}.* complex"):
        ng.grad(lambda v: np.sum(np.real(call(v))))(z)


ERFCX = [lambda mp, z, n=n: mp.diff(lambda z: mp.exp(z * z) * mp.erfc(z), z, n) for n in (1, 2)]
FAR_OUT: list[tuple[str, complex, Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = [
    ("tan", 5 + 20j, lambda mp, z: mp.sec(z) ** 2, lambda mp, z: 2 * mp.tan(z) * mp.sec(z) ** 2),
    ("tan", -0.5 - 40j, lambda mp, z: mp.sec(z) ** 2, lambda mp, z: 2 * mp.tan(z) * mp.sec(z) ** 2),
    ("erfcx", 1e5 + 1j, *ERFCX),
    ("erfcx", 1e3 - 1e3j, *ERFCX),
    ("erfcx", -2 + 0.3j, *ERFCX),
    ("arctan", 1e160 + 1e160j, lambda mp, z: 1 / (1 + z * z), lambda mp, z: -2 * z / (1 + z * z) ** 2),
    ("arctanh", 1e160 + 1e160j, lambda mp, z: 1 / (1 - z * z), lambda mp, z: 2 * z / (1 - z * z) ** 2),
    ("arcsinh", 1e160 + 1e160j, lambda mp, z: 1 / mp.sqrt(1 + z * z), lambda mp, z: -z / mp.sqrt(1 + z * z) ** 3),
]  # fmt: skip


@pytest.mark.parametrize(("name", "z", "slope", "bend"), FAR_OUT)
def test_slopes_of_complex_functions_far_from_0(name: str, z: complex, slope: Any, bend: Any) -> None:
    mp = pytest.importorskip("mpmath")
    x, one, f = ng.DimArray([z], "x"), ng.DimArray([1 + 0j], "x"), getattr(ng, name)

    def first(x: ng.DimArray) -> ng.DimArray:
        return ng.pushforward(f, (x,), (one,))[1]

    with mp.workdps(60):
        known = [complex(of(mp, mp.mpmathify(z))) for of in (slope, bend)]
    np.testing.assert_allclose(first(x).data, known[0], rtol=1e-13)
    np.testing.assert_allclose(ng.pushforward(first, (x,), (one,))[1].data, known[1], rtol=1e-12)


@pytest.mark.parametrize(("name", "base"), [("log2", 2), ("log10", 10)])
def test_bends_of_logarithms_of_small_numbers(name: str, base: int) -> None:
    x = 1e-154 if base == 10 else 1.2e-154
    found = ng.hessian(lambda x: getattr(ng, name)(x).sum())(ng.DimArray([x], "x")).data
    np.testing.assert_allclose(found, [[-1 / math.log(base) / x / x]], rtol=1e-14)


@pytest.mark.parametrize("z", [1e-9j, 1e-12 + 1e-13j, -0.3 + 0.1j, 2 - 1j])
def test_derivatives_of_dawsons_integral_of_complex_numbers(z: complex) -> None:
    mp = pytest.importorskip("mpmath")
    x, one = ng.DimArray([z], "x"), ng.DimArray([1 + 0j], "x")

    def first(x: ng.DimArray) -> ng.DimArray:
        return ng.pushforward(ng.dawsn, (x,), (one,))[1]

    def second(x: ng.DimArray) -> ng.DimArray:
        return ng.pushforward(first, (x,), (one,))[1]

    with mp.workdps(40):
        at = mp.mpmathify(z)
        d = mp.sqrt(mp.pi) / 2 * mp.exp(-at * at) * mp.erfi(at)
        once = 1 - 2 * at * d
        twice = -2 * d - 2 * at * once
        known = [complex(v) for v in (once, twice, -4 * once - 2 * at * twice)]
    found = [first(x).data[0], second(x).data[0], ng.pushforward(second, (x,), (one,))[1].data[0]]
    np.testing.assert_allclose(found, known, rtol=1e-13)


# Derivatives in n, k, n n, n k and k k by mpmath's differences with 50 digits.
NO_CHOICES = {
    (2.5, -200.0): [0, -2.8742079702723285e-08, 0, 1.210056026977564e-07, -9.997476531273146e-10],
    (0.3, -1e5): [0, -2.838045999404764e-07, 0, 3.315440628687715e-06, -7.37890853013202e-12],
    (1000.0, -3.0): [0, 1.988049820600074e-09, 0, -5.952248924198598e-12, 2.3810733038896565e-08],
}


@pytest.mark.parametrize("at", NO_CHOICES)
def test_slopes_of_binomial_coefficients_that_are_0(at: tuple[float, float]) -> None:
    n, k = (ng.DimArray(v, ()) for v in at)
    first = [ng.grad(ng.binom, i)(n, k).item() for i in (0, 1)]
    second = [ng.grad(ng.grad(ng.binom, i), j)(n, k).item() for i, j in ((0, 0), (0, 1), (1, 1))]
    np.testing.assert_allclose([*first, *second], NO_CHOICES[at], rtol=1e-10)


@pytest.mark.parametrize("name", ["fdtr", "fdtrc"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_degrees_of_freedom_of_the_f_distribution_at_whole_numbers(name: str, dtype: Any) -> None:
    x, h, oracle = np.array([1, 2, 5], dtype), 1e-3, getattr(scipy.special, name)
    found = ng.grad(lambda n, d: getattr(ng, name)(n, d, ng.DimArray(x, "x")).sum(), (0, 1))(2.5, 3.5)
    for g, at in zip(found, (lambda t: oracle(2.5 + t, 3.5, x).sum(), lambda t: oracle(2.5, 3.5 + t, x).sum()), strict=True):
        np.testing.assert_allclose(g, (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h), rtol=1e-9)


@pytest.mark.parametrize("name", ["elliprc", "elliprf", "elliprg"])
def test_slopes_of_carlsons_integrals_at_complex_numbers(name: str) -> None:
    points, h, oracle = (np.array([0.3 + 0.4j, 1.0 - 2.0j]), np.array([2.0, 0.7 + 1.0j]), np.array([1.5 + 0.2j, 3.0])), 1e-5, getattr(scipy.special, name)
    points = points[: oracle.nin]
    for k in range(oracle.nin):
        at = lambda t, k=k: oracle(*(v + t * (i == k) for i, v in enumerate(points)))
        slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
        _, tangent = ng.pushforward(lambda v, k=k: getattr(ng, name)(*(v if i == k else ng.DimArray(w, "x") for i, w in enumerate(points))),
                                    (ng.DimArray(points[k] + 0j, "x"),), (ng.ones({"x": 2}, dtype=complex),))  # fmt: skip
        np.testing.assert_allclose(tangent.data, slope, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_of_fresnels_integrals_far_away_are_those_of_the_exact_square(dtype: type) -> None:
    """Whose rounding would turn them: of a rational number, modulo 4; even numbers alone are left from ``2**53`` on."""
    _check_slopes_of_fresnels_integrals(np.array([-0.7, 1000.3, 1e5 + 0.3, 3e8 + 0.25, 1e15 + 0.5, 2.0**52 + 1, 1e17, 1e30], dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_of_fresnels_integrals_of_moderate_numbers_are_those_of_the_exact_square(dtype: type) -> None:
    _check_slopes_of_fresnels_integrals(np.array([-0.7, 1e-50, 1 / 3, -math.pi, 19.97, 1000.3, 2047.9], dtype))


def _check_slopes_of_fresnels_integrals(x: np.ndarray) -> None:
    dtype = x.dtype
    turn = np.array([float(Fraction(float(v)) ** 2 % 4) for v in x]) * (math.pi / 2)
    for k, exact in enumerate((np.sin(turn), np.cos(turn))):
        g = ng.grad(lambda x, k=k: ng.fresnel(x)[k].sum())(ng.DimArray(x, "x"))
        assert g.dtype == dtype
        np.testing.assert_allclose(g.data, exact, atol=1e-6 if dtype == np.float32 else 4e-15)
        bend = ng.hvp(lambda x, k=k: ng.fresnel(x)[k].sum(), ng.DimArray(x[:5], "x"), ng.ones({"x": 5}, dtype=dtype))
        slope = math.pi * x[:5].astype(float) * ((np.cos, lambda t: -np.sin(t))[k](turn[:5]))
        np.testing.assert_allclose(bend.data, slope, rtol=1e-5 if dtype == np.float32 else 1e-12)
