"""Derivatives where parameters coincide, and at poles and zeros.

Numbers of many digits are from mpmath 1.3 with 50 digits, by differences of its own functions.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special

import namedgrad as ng

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def _derivative(f, orders):
    """The partial derivative of a function of several numbers, the last order first."""
    for which in orders:
        f = _slope_of(f, which)
    return f


def _slope_of(f, which):
    return lambda *xs: ng.grad(lambda *xs: f(*xs).sum(), wrt=which)(*xs)


@pytest.mark.parametrize("y", [0.1, 0.3, 0.5, 0.7])
def test_arcsine_law(y):
    """``betaincinv(1/2, 1/2, y)`` is ``sin(pi y / 2)**2``, and ``betainc(1/2, 1/2, x)`` is ``2 / pi arcsin(sqrt(x))``."""
    at, half, w = ng.DimArray([y], ("x",)), 0.5, np.pi
    want = [w / 2 * np.sin(w * y), w**2 / 2 * np.cos(w * y), -(w**3) / 2 * np.sin(w * y)]
    got = [_derivative(lambda p: ng.betaincinv(half, half, p), (0,) * k)(at).item() for k in (1, 2, 3)]
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    first = (y * (1 - y)) ** -0.5 / w
    got = [_derivative(lambda x: ng.betainc(half, half, x), (0,) * k)(at).item() for k in (1, 2)]
    np.testing.assert_allclose(got, [first, -0.5 * first * (1 / y - 1 / (1 - y))], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "at", "orders", "want"),
    [  # by mpmath's numerical differentiation with 40 digits
        ("gammainc", (1.0, 0.8), (0, 1, 1), 0.4025663491255398),
        ("gammainc", (1.0, 0.8), (1, 1, 0), 0.4025663491255398),
        ("gammainc", (2.0, 0.8), (0, 1, 1, 1), 0.011284206627565109),
        ("gammainc", (0.0, 0.5), (0, 1), 1.21306131942527),
        ("gammainc", (0.0, 2.0), (1, 0), 0.06766764161830635),
        ("gammaincc", (0.0, 2.0), (0, 1), -0.06766764161830635),
        ("gammainc", (0.0, 2.0), (0, 0, 1), 0.1719249155037984),
        ("gammainc", (0.0, 0.5), (0, 1, 1), -3.6391839582758005),
        ("betainc", (0.5, 0.5, 0.3), (2, 2), -0.6615324933741492),
        ("betainc", (0.5, 0.5, 0.3), (0, 2, 2), 2.194752092747761),
        ("betainc", (0.3, 0.7, 0.3), (2, 2, 1), -1.31386172447131),
        ("betainc", (1.0, 1.0, 0.3), (2, 2, 0), 3.3333333333333335),
        ("betainc", (1.5, 0.5, 0.3), (2, 2, 2), 0.47252320955296356),
        ("betainc", (1.2, 0.8, 0.3), (2, 2, 2), -0.7162503739831315),
        ("betainc", (1.0, 2.0, 0.3), (0, 2, 2), 4.074612275318539),
    ],
)
def test_derivatives_where_gamma_functions_have_poles(name, at, orders, want):
    operands = [ng.DimArray([v], ("x",)) for v in at]
    assert _derivative(getattr(ng, name), orders)(*operands).item() == pytest.approx(want, rel=1e-9)


ZEROS = [(0.5, -0.5), (-0.5, -0.5), (0.5, -1.5), (-2.5, 2.5), (-0.25, -0.75), (2.25, -4.25), (150.25, -153.25), (200.5, -200.5)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_derivatives_of_beta_where_it_is_0(dtype: str) -> None:
    """``Γ(a) Γ(b)`` times ``1 / Γ``, whose series at ``-n`` is ``(-1)**n n! (e - ψ(n + 1) e**2 + ...)``."""
    mp = pytest.importorskip("mpmath")
    at = np.array(ZEROS, dtype)
    operands = [ng.DimArray(x, ("x",)) for x in at.T]
    found = {which: _derivative(ng.beta, which)(*operands).data for which in [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]}
    with mp.workdps(50):
        for k, (a, b) in enumerate(at.tolist()):
            n = round(-a - b)
            first = mp.gamma(a) * mp.gamma(b) * (-1) ** n * mp.factorial(n)
            for which, slopes in found.items():
                second = sum(mp.psi(0, (a, b)[i]) for i in which) - 2 * mp.psi(0, n + 1)
                expected = float(first if len(which) == 1 else first * second)
                np.testing.assert_allclose(slopes[k], expected, rtol=2e-5 if dtype == "float32" else 1e-12, err_msg=f"{a, b, which}")


@pytest.mark.parametrize(("a", "slope"), [(1.0, -1.0), (2.0, 1.0), (3.0, 0.0)])
def test_bend_of_gammainc_at_0(a, slope):
    """The density of the gamma distribution is ``x**(a - 1) exp(-x) / gamma(a)``."""
    bend = _derivative(lambda x: ng.gammainc(a, x), (0, 0))
    np.testing.assert_allclose(bend(ng.DimArray([0.0], ("x",))).data, [slope], atol=1e-15)


@pytest.mark.parametrize("x", [0.3, 1.0])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_hypergeometric_polynomials_have_derivatives_of_all_orders(n: int, x: float) -> None:
    """At 1 the function that follows the last of them is infinite."""
    b, third = 2.0, 3.0
    p = np.polynomial.Polynomial([scipy.special.poch(-n, k) * scipy.special.poch(b, k) / scipy.special.poch(third, k) / math.factorial(k) for k in range(n + 1)])
    f = lambda x: ng.hyp2f1(ng.DimArray(-float(n), ()), ng.DimArray(b, ()), ng.DimArray(third, ()), x)
    for k in range(n + 3):
        np.testing.assert_allclose(f(ng.DimArray(x, ())).item(), p.deriv(k)(x), atol=1e-14, rtol=1e-13)
        f = ng.grad(f)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("name", "at", "orders", "limit"), [
    ("gammainc", (2.0, 0.0), (1, 1), 0.0), ("gammainc", (2.5, np.inf), (1, 1), 0.0), ("gammaincc", (3.0, 0.0), (2, 1), 0.0),
    ("gammainc", (3.0, 0.0), (1, 2), 0.0), ("gammainc", (2.0, 0.0), (1, 2), -np.inf), ("chdtr", (6.0, 0.0), (1, 1), 0.0),
    ("betainc", (2.0, 3.0, 0.0), (1, 0, 1), 0.0), ("betainc", (3.0, 2.0, 1.0), (0, 1, 1), 0.0), ("betainc", (3.0, 2.0, 1.0), (0, 1, 2), np.inf),
    ("betaincc", (2.0, 3.0, 0.0), (0, 1, 1), 0.0), ("gammaincinv", (2.0, 0.0), (1, 1), np.inf), ("betaincinv", (2.0, 3.0, 0.0), (1, 0, 1), np.inf),
    ("betaincinv", (2.5, 1.5, 1.0), (0, 1, 1), np.inf), ("betaincinv", (1.0, 2.0, 1.0), (1, 0, 1), -np.inf), ("betainccinv", (0.5, 0.5, 0.0), (1, 0, 1), 0.0),
])  # fmt: skip
def test_a_power_outweighs_its_logarithm(name: str, at: tuple[float, ...], orders: tuple[int, ...], limit: float, compiled: bool) -> None:
    """At the ends of distributions, whatever is differentiated first."""
    for turn in (1, -1):
        f = getattr(ng, name)
        for k, n in list(enumerate(orders))[::turn]:
            for _ in range(n):
                f = ng.grad(f, wrt=k)
        found = (ng.compile(f) if compiled else f)(*(ng.DimArray(x, ()) for x in at))
        np.testing.assert_array_equal(abs(found.data) if limit == 0 else found.data, limit)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("name", "at", "bend"), [
    ("gammaincinv", (0.5, 0.0), np.pi / 2), ("gammaincinv", (1.0, 0.0), 1.0), ("gammaincinv", (0.3, 0.0), 0.0), ("gammainccinv", (0.5, 1.0), np.pi / 2),
    ("betaincinv", (0.5, 0.5, 0.0), np.pi**2 / 2), ("betaincinv", (0.5, 0.5, 1.0), -np.pi**2 / 2), ("betainccinv", (0.5, 0.5, 0.0), -np.pi**2 / 2),
    ("gammaincinv", (0.7, 1e-300), 1.4323710199306824e171),
    ("gammaincinv", (0.5, 1e-157), np.pi / 2), ("betaincinv", (0.5, 0.5, 1e-200), np.pi**2 / 2), ("betaincinv", (1.0, 2.0, 0.0), 0.25), ("betaincinv", (0.25, 0.25, 1.0), 0.0),
])  # fmt: skip
def test_bends_of_inverses_at_their_ends(name: str, at: tuple[float, ...], bend: float, compiled: bool) -> None:
    """Near 0 the first inverse is ``π p**2 / 4`` of 1/2, ``-log(1 - p)`` of 1; the second ``sin(π p / 2)**2``, ``1 - sqrt(1 - p)``."""
    f = ng.grad(ng.grad(getattr(ng, name), wrt=len(at) - 1), wrt=len(at) - 1)
    found = (ng.compile(f) if compiled else f)(*(ng.DimArray(x, ()) for x in at))
    np.testing.assert_allclose(found.data, bend, rtol=1e-12, atol=0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "v", "sign"), [("i0e", 0, 1), ("i1e", 1, 1), ("k0e", 0, -1), ("k1e", 1, -1), ("ive", 1.5, 1), ("kve", 1.5, -1)])
def test_scaled_bessel_functions_have_slopes_far_away(name: str, v: float, sign: int, dtype: str) -> None:
    """Hankel's expansion, DLMF 10.40: there the neighbouring orders agree in all digits that a difference would need."""
    x = np.array([1e4, 1e6, 3e8], dtype)
    f = (lambda x: getattr(ng, name)(v, x)) if name in ("ive", "kve") else getattr(ng, name)
    m, far = 4 * v * v, x.astype(float)
    terms = [1.0, -sign * (m - 1) / 8, (m - 1) * (m - 9) / 128]
    front = 1 / np.sqrt(2 * np.pi) if sign > 0 else np.sqrt(np.pi / 2)
    power = lambda k, n: np.prod([-k - 0.5 - i for i in range(n)]) * far ** (-k - 0.5 - n)
    a = ng.DimArray(x, "x")
    for n, found in enumerate([f(a), ng.grad(lambda a: f(a).sum())(a), ng.hessian(lambda a: f(a).sum(), part="diagonal")(a)]):
        expected = front * sum(c * power(k, n) for k, c in enumerate(terms))
        np.testing.assert_allclose(found.data, expected, rtol=1e-6 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize(("order", "whole"), [(-0.5, 0), (0.31, 0), (0.99, 0), (1.5, 1), (2.7, 2), (2, 2)])
@pytest.mark.filterwarnings("ignore:floating point number truncated:RuntimeWarning")
def test_orders_of_exponential_integrals_are_cut_off(order: float, whole: int) -> None:
    """SciPy takes the order below; between 0 and 1 the slope was that of 1."""
    x = 0.43
    first = [np.exp(-x) / x * (1 + 1 / x), scipy.special.expn(0, x), scipy.special.expn(1, x)][whole]
    second = [np.exp(-x) / x * (1 + 2 / x + 2 / x**2), np.exp(-x) / x * (1 + 1 / x), scipy.special.expn(0, x)][whole]
    np.testing.assert_allclose(ng.grad(lambda v: ng.expn(order, v))(x), -first, rtol=1e-13)
    np.testing.assert_allclose(ng.grad(ng.grad(lambda v: ng.expn(order, v)))(x), second, rtol=1e-13)


@pytest.mark.parametrize(("dtype", "x"), [("float32", [-80.0, -2.0, 0.5, 30.0, 91.5]), ("float64", [-700.0, -2.0, 0.5, 300.0, 713.0])])
def test_slopes_of_the_exponential_integral_reach_as_far_as_they_are_finite(dtype: str, x: list[float]) -> None:
    """In numbers of more range, where the machine has them."""
    a, far = ng.DimArray(np.array(x, dtype), "x"), np.array(x, "longdouble")
    with np.errstate(over="ignore"):
        first = np.exp(far) / far
        second = first - first / far
    tolerance = {"rtol": 2e-6 if dtype == "float32" else 1e-13}
    np.testing.assert_allclose(ng.grad(lambda a: ng.expi(a).sum(skipna=False))(a).data, first.astype(dtype), **tolerance)
    np.testing.assert_allclose(ng.hessian(lambda a: ng.expi(a).sum(skipna=False), part="diagonal")(a).data, second.astype(dtype), **tolerance)


def test_second_derivative_of_log1mexp_does_not_underflow_where_the_square_of_the_exponential_overflows() -> None:
    for dtype, x in (("float32", [-80.0, -50.0, -1.0, -1e-3]), ("float64", [-600.0, -400.0, -1.0, -1e-3])):
        found = ng.hessian(lambda a: ng.log1mexp(a).sum(), part="diagonal")(ng.DimArray(np.array(x, dtype), "x")).data
        e = np.expm1(-np.array(x, dtype).astype("longdouble"))
        np.testing.assert_allclose(found, (-(e + 1) / e**2).astype(dtype), rtol=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["iv", "ive"])
def test_modified_bessel_functions_at_0_begin_like_their_series(name: str, dtype: str) -> None:
    """``(x / 2)**v / gamma(v + 1)``, DLMF 10.25.2: the slope is infinite for orders between 0 and 1."""
    f, zero = getattr(ng, name), ng.DimArray(np.zeros(2, dtype), ("x",))
    for v, value, slope in ((0.5, 0, np.inf), (0.25, 0, np.inf), (1.0, 0, 0.5), (1.5, 0, 0), (-0.5, np.inf, None), (-1.5, -np.inf, None)):
        out = f(v, zero)
        assert out.dtype == dtype
        np.testing.assert_array_equal(out.data, value)
        if slope is not None:
            np.testing.assert_array_equal(ng.grad(lambda x, v=v: f(v, x).sum())(zero).data, slope)
    near = ng.DimArray(np.array([1e-300, 1e-200]), ("x",))
    np.testing.assert_allclose(ng.iv(-0.5, near).data, np.sqrt(2 / (np.pi * near.data)), rtol=1e-12)
