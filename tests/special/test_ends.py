"""Derivatives at the ends of the range are their limits.

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
from tests.special.slopes import slopes

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


INF = np.inf
# at the ends: operation, operands, which of them, first and second derivative
ENDS = [
    ("arctan", (INF,), 0, 0, 0), ("arctan", (-INF,), 0, 0, 0), ("arctan", (1e200,), 0, 0, 0), ("arctan", (1e60,), 0, 1e-120, -2e-180),
    ("arcsinh", (INF,), 0, 0, 0), ("arcsinh", (-1e100,), 0, 1e-100, 1e-200), ("arccosh", (INF,), 0, 0, 0), ("arccosh", (1e100,), 0, 1e-100, -1e-200),
    ("log_ndtr", (INF,), 0, 0, 0), ("log_ndtr", (-INF,), 0, INF, -1), ("log_ndtr", (-1e200,), 0, 1e200, -1), ("log_ndtr", (1e200,), 0, 0, 0),
    ("logit", (1e-300,), 0, 1e300, -INF), ("logit", (1e-100,), 0, 1e100, -1e200), ("logit", (0.5,), 0, 4, 0),
    ("exprel", (800.0,), 0, INF, INF), ("exprel", (1e300,), 0, INF, INF), ("exprel", (INF,), 0, INF, INF), ("exprel", (-INF,), 0, 0, 0),
    ("dawsn", (1e300,), 0, 0, 0), ("dawsn", (-1e200,), 0, 0, 0), ("dawsn", (1e154,), 0, -5e-309, 0), ("dawsn", (1e60,), 0, -5e-121, 1e-180), ("dawsn", (INF,), 0, 0, 0),
    ("boxcox", (INF, 0.5), 1, INF, INF), ("boxcox", (INF, 0.0), 1, INF, INF), ("boxcox", (INF, -0.5), 1, 4, 16), ("boxcox", (2.0, 1e10), 1, INF, INF),
    ("boxcox", (0.0, 0.5), 1, 4, -16), ("boxcox", (0.0, 0.0), 1, INF, -INF), ("boxcox", (0.0, -0.5), 1, INF, -INF), ("boxcox", (1e-300, -2.0), 1, INF, -INF),
    ("boxcox1p", (INF, -0.5), 1, 4, 16), ("boxcox1p", (INF, 0.0), 1, INF, INF), ("boxcox1p", (-1.0, -0.5), 1, INF, -INF), ("boxcox1p", (3.0, 1e10), 1, INF, INF),
    ("boxcox1p", (-1.0, 2.0), 0, 0, 1), ("boxcox1p", (INF, 2.0), 0, INF, 1), ("boxcox1p", (-1.0, 3.0), 0, 0, 0), ("boxcox1p", (-1.0, 0.5), 0, INF, -INF),
    ("expi", (720.0,), 0, INF, INF), ("expi", (800.0,), 0, INF, INF), ("expi", (1e300,), 0, INF, INF), ("expi", (INF,), 0, INF, INF), ("expi", (-INF,), 0, 0, 0),
    ("expi", (1.0,), 0, math.e, 0), ("expi", (-2.0,), 0, -math.exp(-2) / 2, -math.exp(-2) * 0.75), ("expi", (1e-200,), 0, 1e200, -INF),
    # like powers of x, DLMF 10.7 and 10.30, of which two terms are infinite
    ("kve", (0.0, 0.0), 1, -INF, INF), ("kve", (1.0, 0.0), 1, -INF, INF), ("kve", (-2.5, 0.0), 1, -INF, INF), ("kve", (2.0, 1e-160), 1, -INF, INF),
    ("kve", (0.5, 1e-310), 1, -INF, INF), ("kve", (300.0, 0.5), 1, -INF, INF), ("kve", (2.0, 1e-90), 1, -4e270, INF), ("kve", (3.0, 1e-50), 1, -2.4e201, 9.6e251),
    ("kv", (0.0, 0.0), 1, -INF, INF), ("kv", (2.0, 1e-160), 1, -INF, INF), ("k0", (0.0,), 0, -INF, INF), ("k1", (1e-200,), 0, -INF, INF),
    ("k0e", (0.0,), 0, -INF, INF), ("k0e", (1e-310,), 0, -INF, INF), ("k1e", (0.0,), 0, -INF, INF), ("k1e", (1e-200,), 0, -INF, INF), ("k1e", (1e-120,), 0, -1e240, INF),
    ("ive", (-0.5, 0.0), 1, -INF, INF), ("ive", (-1.5, 0.0), 1, INF, -INF), ("ive", (0.3, 0.0), 1, INF, -INF), ("ive", (-0.5, 1e-310), 1, -INF, INF),
    ("ive", (0.5, 1e-310), 1, math.sqrt(0.5 / math.pi) * 1e155, -INF), ("iv", (0.5, 1e-310), 1, math.sqrt(0.5 / math.pi) * 1e155, -INF),
    ("iv", (1.5, 1e-310), 1, math.sqrt(0.5 / math.pi) * 1e-155, math.sqrt(0.125 / math.pi) * 1e155), ("iv", (-2.5, 1e-310), 1, -INF, INF),
    ("spherical_in", (0, 1e-300), 1, 1e-300 / 3, 1 / 3), ("spherical_in", (1, 1e-300), 1, 1 / 3, 2e-301), ("spherical_in", (1, -1e-200), 1, 1 / 3, -2e-201),
    ("spherical_in", (2, 0.0), 1, 0, 2 / 15), ("y0", (0.0,), 0, INF, -INF), ("y1", (0.0,), 0, INF, -INF), ("y1", (1e-200,), 0, INF, -INF), ("y1", (1e-120,), 0, 2e240 / math.pi, -INF),
    ("yv", (0.0, 0.0), 1, INF, -INF), ("yv", (0.5, 0.0), 1, INF, -INF), ("yv", (2.0, 1e-160), 1, INF, -INF), ("yv", (300.0, 0.5), 1, INF, -INF),
    ("yv", (-1.0, 0.0), 1, -INF, INF), ("yv", (-1.0, 1e-200), 1, -INF, INF), ("yv", (-2.3, 1e-200), 1, INF, -INF), ("jv", (-2.3, 0.0), 1, -INF, INF),
    ("jv", (-1.5, 1e-200), 1, INF, -INF), ("jv", (0.5, 0.0), 1, INF, -INF), ("jv", (0.0, 0.0), 1, 0, -0.5), ("jv", (2.0, 0.0), 1, 0, 0.25),
    ("zeta", (1e15, 1.7), 0, 0, 0), ("zeta", (1e300, 40.0), 0, 0, 0), ("zeta", (1e20, 0.7), 0, INF, INF), ("zeta", (1e16, 1e16), 0, 0, 0),  # powers of q
    # x**(a - 2) and x**(a - 1) below it
    ("betainc", (0.5, 0.5, 0.0), 2, INF, -INF), ("betainc", (0.5, 0.5, 1.0), 2, INF, INF), ("betaincc", (0.3, 0.8, 0.0), 2, -INF, INF),
    ("betainc", (0.5, 2.0, 1.0), 2, 0, -0.75), ("betainc", (1.0, 0.5, 0.0), 2, 0.5, 0.25),
]


@pytest.mark.parametrize("on", ["numpy", "cupy"])
@pytest.mark.parametrize("after", [1e-14, -1e-14, 1e-11, -1e-11, 1e-8, -1e-8])
@pytest.mark.parametrize("pole", [1, 2, 5, 40])
def test_next_to_its_poles_the_digamma_function_has_its_digits(cupy: Any, on: str, pole: int, after: float) -> None:
    gone = (after - pole) + pole  # exactly
    x = ng.DimArray(np.array([after - pole]), "x").vectorize("x").to(on)
    want = -1 / gone + sum(1 / k for k in range(1, pole + 1)) - np.euler_gamma  # and terms as small as gone, DLMF 5.7.6
    for f in (ng.digamma, ng.grad(ng.gammaln), lambda x: ng.polygamma(0, x), lambda x: ng.grad(ng.gamma)(x) / ng.gamma(x), lambda x: ng.digamma(x + 0j).real):
        np.testing.assert_allclose(f(x).to_numpy(), [want], rtol=1e-14)
    np.testing.assert_allclose(ng.polygamma(1, x + 0j).real.to_numpy(), [1 / gone**2], rtol=1e-14)


@pytest.mark.parametrize(("name", "xs", "k", "first", "second"), ENDS)
def test_derivatives_at_the_ends_are_their_limits(name: str, xs: tuple[float, ...], k: int, first: float, second: float) -> None:
    f, args = getattr(ng, name), [ng.DimArray(np.array([x]), "x").vectorize("x") for x in xs]
    slope = ng.grad(f, k)
    np.testing.assert_allclose(slope(*args).data, [first], rtol=1e-12)
    np.testing.assert_allclose(ng.grad(slope, k)(*args).data, [second], rtol=1e-12)
    pushed = ng.pushforward(lambda x: slope(*args[:k], x, *args[k + 1 :]), (args[k],), (ng.ones_like(args[k]),))[1]
    np.testing.assert_allclose(pushed.data, [second], rtol=1e-12)


@pytest.mark.parametrize("x", [720.0, 800.0, 1e300, INF])
def test_bend_of_the_hyperbolic_integrals_far_away(x: float) -> None:
    a = ng.DimArray(np.array([x, -x]), "x")
    for part, side in ((0, 1), (1, -1)):
        slope = ng.grad(lambda a, k=part: ng.shichi(a)[k].sum(skipna=False))
        np.testing.assert_array_equal(slope(a).data, [INF, side * INF])
        np.testing.assert_array_equal(ng.hessian(lambda a, k=part: ng.shichi(a)[k].sum(skipna=False), part="diagonal")(a).data, [INF, -side * INF])
    near = ng.DimArray(np.array([-3.0, 0.2, 2.0]), "x")
    bend = ng.hessian(lambda a: ng.shichi(a)[1].sum(), part="diagonal")(near).data
    np.testing.assert_allclose(bend, np.sinh(near.data) / near.data - np.cosh(near.data) / near.data**2, rtol=1e-12)


# value, first and second derivative where exp(x) is infinite and the function is not
PAST_EXP: list[tuple[str, Callable[[ng.DimArray], ng.DimArray], float, list[float]]] = [
    ("shi", lambda x: ng.shichi(x)[0], 715.0, [2.3218128351852856e307, 2.3185609836691009e307, 2.3153182410345987e307]),
    ("chi", lambda x: ng.shichi(x)[1], 715.0, [2.3218128351852856e307, 2.3185609836691009e307, 2.3153182410345987e307]),
    ("shi", lambda x: ng.shichi(x)[0], -715.0, [-2.3218128351852856e307, 2.3185609836691009e307, -2.3153182410345987e307]),
    ("expi", ng.expi, 715.0, [4.6436256703705711e307, 4.6371219673382019e307, 4.6306364820691974e307]),
    ("exprel", ng.exprel, 715.0, [4.6371219673382019e307, 4.6306364820691974e307, 4.6241691380177286e307]),
    ("i0", ng.i0, 712.0, [2.4684110577627524e307, 2.4666770135246152e307, 2.4649466237549931e307]),
    ("i1", ng.i1, 713.0, [6.700424559186402e+307, 6.695730753770314e+307, 6.691046812701312e+307]),
    ("i1", ng.i1, -712.0, [-2.4666770135246152e307, 2.4649466237549931e307, -2.4632198756176668e307]),
    ("spherical_in", lambda x: ng.spherical_in(1, x), -715.0, [-2.3153182410345987e307, 2.3120845690088643e307]),
    ("bi", lambda x: ng.airy(x)[2], 300.0, [INF, INF, INF]),
    ("ai", lambda x: ng.airy(x)[0], INF, [0.0, 0.0]),
]


@pytest.mark.parametrize(("name", "f", "x", "known"), PAST_EXP, ids=[f"{n}{x}" for n, _, x, _ in PAST_EXP])
def test_functions_that_grow_are_finite_as_long_as_their_value_is(
    name: str, f: Callable[[ng.DimArray], ng.DimArray], x: float, known: list[float]
) -> None:
    """Beside an ordinary cell, too; numbers of mpmath with 100 digits."""
    found = [f(ng.DimArray(x, ())).item(), *slopes(f, (x,), 0, len(known) - 1)]
    np.testing.assert_allclose(found, known, rtol=1e-12)
    np.testing.assert_allclose(f(ng.DimArray([x, 2.0], "x")).data, [known[0], f(ng.DimArray(2.0, ())).item()], rtol=1e-12)


@pytest.mark.parametrize("a", [1e-100, -1e-20, 1e-10, 1e-6, 9e-5])
@pytest.mark.parametrize("h", [5.0, -7.0, 20.0])
def test_owens_function_of_a_small_angle_and_a_large_height(h: float, a: float) -> None:
    """By a Gauss rule, from ``exp(-h**2 (1 + t**2) / 2) / (1 + t**2)``."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    t = a * (nodes + 1) / 2
    want = a / 2 * np.sum(weights * np.exp(-(h**2) * (1 + t**2) / 2) / (1 + t**2)) / (2 * math.pi)
    np.testing.assert_allclose(ng.owens_t(h, ng.DimArray([a, 0.5], "x")).data[0], want, rtol=1e-13)


@pytest.mark.parametrize("cells", [1, 3, 5000])
@pytest.mark.parametrize("exponent", [0.0, 1e-310, -1e-200, 1e-120, 1e-20])
def test_inverse_transformation_of_box_and_cox_next_to_the_exponential(exponent: float, cells: int) -> None:
    """However many cells there are."""
    x = np.linspace(-3, 4, cells)
    numbers = [exponent, ng.DimArray(np.full(cells, exponent), "x")]
    for k in numbers:
        np.testing.assert_allclose(ng.inv_boxcox1p(ng.DimArray(x, "x"), k).data, np.expm1(x), rtol=1e-12)


@pytest.mark.parametrize(("x", "y"), [(1.0, 1e-310), (1e-310, 1e20), (5e-324, 2.0), (1e300, 1e-20), (3.0, 0.5)])
def test_divergence_where_the_quotient_leaves_the_range(x: float, y: float) -> None:
    """By the difference of logarithms."""
    want = x * (math.log(x) - math.log(y)) - x + y
    np.testing.assert_allclose(ng.kl_entr(x, y).item(), want, rtol=1e-13)
    both = ng.kl_entr(ng.DimArray([x, 1.0], "n"), ng.DimArray([y, 0.0], "n")).data
    np.testing.assert_allclose(both, [want, INF], rtol=1e-13)


# branch, argument next to -1 / e, value, first and second derivative
LAMBERT: list[tuple[int, complex, list[complex]]] = [
    (0, -0.36787944117144233, [(-1+8.220079714836618e-09j), (-1.8121878856393634-330688013.1043928j), (-4.707102403763229-1.3303345685754657e+25j)]),
    (-1, -0.36787944117144233, [(-1-8.220079714836618e-09j), (-1.8121878856393634+330688013.1043928j), (-4.707102403763229+1.3303345685754657e+25j)]),
    (0, -0.36787944117, [(-0.9999971997634111+0j), (970730.1973473511+0j), (-3.365143354179788e+17+0j)]),
    (-1, -0.36787944117, [(-1.0000028002418166+0j), (-970733.8217231224+0j), (3.365143354179788e+17+0j)]),
    (0, -0.3678, [(-0.9793607149578305+0j), (129.0138410227933+0j), (-823095.5282433452+0j)]),
    (-1, -0.3678, [(-1.0209272394094255+0j), (-132.63896482766455+0j), (823086.1100569422+0j)]),
    (-1, -0.37, [(-0.9961676927124447-0.10718261880835069j), (-1.802262206030492+25.183672203902105j), (-4.654428037724184+6000.363009585374j)]),
    (1, (-0.367879441171-1e-13j), [(-1.0000015604303434+1.742010506383921e-07j), (-1720567.602805361-192077.91738944873j), (1.8037260974401654e+18+6.249407716560422e+17j)]),
]


@pytest.mark.parametrize(("k", "z", "known"), LAMBERT)
def test_lamberts_function_next_to_its_branch_point(k: int, z: complex, known: list[complex]) -> None:
    """With 60 digits, by Newton's method; the value is far more exact than what the rounding of the argument does to it."""
    x = ng.DimArray(np.array([z, 1.0]), "x")
    slope = lambda x: ng.pushforward(lambda x: ng.lambertw(x, k), (x,), (ng.ones_like(x),))[1]
    bend = ng.pushforward(slope, (x,), (ng.ones_like(x),))[1]
    found = [v.data[0] for v in (ng.lambertw(x, k), slope(x), bend)]
    assert abs(found[0] - known[0]) < 3e-16
    for value, exact in zip(found[1:], known[1:], strict=True):
        assert abs(value - exact) < 1e-7 * abs(exact)


@pytest.mark.parametrize("k", [0, -1, 1])
def test_slopes_of_lamberts_function_vanish_at_infinity(k: int) -> None:
    z = ng.DimArray(np.array([INF, -INF, 1.0]), "x")
    slope = lambda z: ng.grad(lambda z: ng.lambertw(z, k).real.sum(skipna=False))(z)
    np.testing.assert_array_equal(slope(z).data[:2], [0.0, 0.0])
    np.testing.assert_array_equal(ng.grad(lambda z: slope(z).sum(skipna=False))(z).data[:2], [0.0, 0.0])


@pytest.mark.parametrize("name", ["boxcox", "boxcox1p"])
def test_mixed_derivatives_of_power_transformations_at_the_ends(name: str) -> None:
    """``x**(k - 1) log(x)``, in both orders."""
    low = 0.0 if name == "boxcox" else -1.0
    for x, k, mixed in ((low, 0.5, -INF), (low, 0.0, -INF), (low, -0.5, -INF), (low, 2.0, 0), (INF, 0.5, 0), (INF, -0.5, 0), (INF, 2.0, INF), (low + 2.0, 1.7, 2**0.7 * math.log(2))):
        args = [ng.DimArray(np.array([v]), "x").vectorize("x") for v in (x, k)]
        for first, second in ((0, 1), (1, 0)):
            slope = ng.grad(getattr(ng, name), first)
            np.testing.assert_allclose(ng.grad(slope, second)(*args).data, [mixed], rtol=1e-12, err_msg=f"{x, k, first}")


@pytest.mark.parametrize(("y", "x"), [(3e-200, 4e-200), (4e-200, -3e-200), (1e-200, 1e-200), (5e-324, 1.0), (0.0, 5e-324), (5e-324, 0.0), (0.0, -1e-200), (-1.5, 2.0)])
def test_bends_of_arctan2_near_the_origin_are_their_limits(y: float, x: float) -> None:
    """``2 x y / r**4`` with its sign, and ``(y**2 - x**2) / r**4``, in fractions."""
    a, b = Fraction(y), Fraction(x)
    args = [ng.DimArray(np.array([v]), "n").vectorize("n") for v in (y, x)]
    for i in (0, 1):
        slope = ng.grad(ng.arctan2, i)
        for j in (0, 1):
            exact = ((a * a - b * b) if i != j else 2 * a * b * (-1 if i == 0 else 1)) / (a * a + b * b) ** 2
            expected = (INF if exact > 0 else -INF) if abs(exact) > Fraction(np.finfo(float).max) else float(exact)
            np.testing.assert_allclose(ng.grad(slope, j)(*args).data, [expected], rtol=1e-13)


def test_bends_of_the_first_bessel_function_where_its_quotient_rounds() -> None:
    """From its series ``x / 2 - x**3 / 16 + x**5 / 384``."""
    x = np.array([0.0, 1e-300, 1e-12, -9e-9, 1.1e-8, 1e-5])
    slope = ng.grad(lambda v: ng.j1(v).sum())
    bend = ng.grad(lambda v: slope(v).sum())
    third = ng.grad(lambda v: bend(v).sum())
    v = ng.DimArray(x, "x")
    np.testing.assert_allclose(slope(v).data, 0.5 - 3 * x**2 / 16, rtol=1e-15)
    np.testing.assert_allclose(bend(v).data, -3 * x / 8, rtol=1e-10)
    np.testing.assert_allclose(third(v).data, np.full(6, -0.375), rtol=1e-9)


@pytest.mark.parametrize("v", [0.5, 1.0, 2.0, 7.5])
def test_mixed_derivative_of_the_median_of_students_t(v: float) -> None:
    """The median is 0 for all degrees of freedom; its slope, one over the density at 0, is not the same for all."""
    digamma = scipy.special.digamma
    density = math.exp(math.lgamma((v + 1) / 2) - math.lgamma(v / 2)) / math.sqrt(v * math.pi)
    mixed = -(digamma((v + 1) / 2) - digamma(v / 2) - 1 / v) / 2 / density
    args = [ng.DimArray(np.array([a]), "x").vectorize("x") for a in (v, 0.5)]
    for first, second in ((0, 1), (1, 0)):
        np.testing.assert_allclose(ng.grad(ng.grad(ng.stdtrit, first), second)(*args).data, [mixed], rtol=1e-12)


def test_the_logarithm_of_the_normal_distribution_is_flat_far_on_the_right_of_the_plane() -> None:
    z, t = np.array([40 + 0.5j, 40 - 3j, 60 + 40j, 1000 + 200j, 1e200 + 0.5j]), np.array([0.7, -1.3j, 2 + 1j, -0.4, 3j])
    slope = lambda z: ng.pushforward(scipy.special.log_ndtr, (z,), (t,))[1]
    bend = lambda z: ng.pushforward(slope, (z,), (t,))[1]
    for f in (slope, bend, ng.compile(slope)):
        np.testing.assert_array_equal(f(z), 0)
