"""Special functions composed for devices, and derivatives in orders and parameters, over wide ranges of arguments."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.special

import namedgrad as ng
from namedgrad.backends import get_backend
from tests.support.tolerances import ROUNDING, assert_close

COUNT = 400
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # SciPy overflows where the answer does


@pytest.fixture
def kernels(cupy: Any) -> Any:
    return get_backend("cupy")


def drawn(size: float, *, complex_numbers: bool, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-size if complex_numbers else 0, size, COUNT)
    return x + 1j * rng.uniform(-size, size, COUNT) if complex_numbers else x


def assert_relative(got: np.ndarray, expected: np.ndarray, tolerance: float, size: np.ndarray | None = None) -> None:
    size = np.abs(expected) if size is None else size
    known = np.isfinite(expected) & (size > 1e-280)
    assert known.mean() > 0.3
    worst = np.max(np.abs(got - expected)[known] / size[known])
    assert worst < tolerance


@pytest.mark.parametrize("name", ["erf", "erfc", "erfcx", "ndtr"])
@pytest.mark.parametrize("size", [0.01, 1.0, 5.0, 25.0])
def test_error_functions_of_complex_numbers(name: str, size: float, kernels: Any) -> None:
    z = drawn(size, complex_numbers=True, seed=1)
    z[:40], z[40:80] = z[:40].real, 1j * z[40:80].imag
    z = z[np.abs(np.real(z * z)) < 600]
    assert_relative(getattr(kernels, name)(kernels.asarray(z)).get(), getattr(scipy.special, name)(z), 1e-12)


@pytest.mark.parametrize("size", [1.0, 5.0, 25.0])
def test_logarithm_of_the_normal_distribution_at_complex_numbers(size: float, kernels: Any) -> None:
    z = drawn(size, complex_numbers=True, seed=1)
    found = kernels.log_ndtr(kernels.asarray(z)).get()
    z, found = z[np.abs(np.real(z * z)) < 600], found[np.abs(np.real(z * z)) < 600]
    assert_relative(np.exp(found), scipy.special.ndtr(z), 1e-12)
    right = np.real(z) > 0.3 * size  # where the logarithm is small; SciPy's has half of the digits
    complement = scipy.special.erfc(z[right] / np.sqrt(2)) / 2
    assert_relative(-np.expm1(found[right]), complement, 1e-12)


@pytest.mark.parametrize("size", [1.0, 5.0, 40.0, 1000.0])
@pytest.mark.parametrize("across", [True, False], ids=["everywhere", "beside the imaginary axis"])
def test_logarithm_of_the_normal_distribution_over_the_plane(size: float, across: bool, kernels: Any) -> None:
    z = drawn(size, complex_numbers=True, seed=9)
    z = z if across else 1j * z.imag + 1e-3 * z.real
    z[:40], z[40:80] = -np.abs(z[:40].real), 1j * z[40:80].imag
    found, expected = kernels.log_ndtr(kernels.asarray(z)).get(), scipy.special.log_ndtr(z)
    small = np.abs(expected) < 0.1  # SciPy's has half of the digits there
    assert_relative(found[~small], expected[~small], 1e-11)
    assert np.all(np.abs(found - expected)[small] < 1e-11)


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "ive", "kv", "kve"])
@pytest.mark.parametrize("size", [0.1, 5.0, 60.0, 300.0])
@pytest.mark.parametrize("complex_numbers", [False, True], ids=["real", "complex"])
def test_bessel_functions(name: str, size: float, complex_numbers: bool, kernels: Any) -> None:
    x = drawn(size, complex_numbers=complex_numbers, seed=2)
    low = 0 if complex_numbers else -min(size, 60) / 2  # SciPy is wrong for some large negative orders
    v = np.random.default_rng(3).uniform(low, max(size, 4) / 2, COUNT)
    v[::3] = np.round(v[::3])
    expected = getattr(scipy.special, name)(v, x)
    found = getattr(kernels, name)(kernels.asarray(v), kernels.asarray(x)).get()
    waves = None  # what oscillates crosses 0
    if name in ("jv", "yv") and not complex_numbers:
        both = np.hypot(scipy.special.jv(v, x), scipy.special.yv(v, x))
        waves = np.where(np.abs(v) < x, both, np.abs(expected))
    assert_relative(found, expected, 2e-12, waves)


@pytest.mark.parametrize("x", [1e-300, 1e-200, 1e-100, 1e-20, 1e-3], ids=str)
def test_bessel_functions_of_small_orders_next_to_0(x: float, kernels: Any) -> None:
    """Integrands that hardly change over hundreds of units, and end at once: K_0(1e-300) lacked 3e-4 of itself."""
    v = np.array([0.0, 1e-6, 1e-3, 0.1, 0.3, 0.7])
    for z in (x, x + 0j, 1j * x, x * np.exp(0.3j), -x * np.exp(0.8j)):
        found = kernels.kv(kernels.asarray(v), kernels.asarray(np.full(6, z))).get()
        np.testing.assert_allclose(found, scipy.special.kv(v, z), rtol=2e-11)


@pytest.mark.parametrize("x", [1e-300, 1e-200, 1e-100, 1e-20], ids=str)
@pytest.mark.parametrize("turn", [None, 1.0, np.exp(0.8j)], ids=str)
def test_slopes_in_small_orders_next_to_0(x: float, turn: Any) -> None:
    """Those of the leading terms, ``1/2 Γ(v) (x/2)**-v`` and the same of ``-v``."""
    v, log = np.array([0.1, 0.3, 0.7]), np.log(x / 2) + (0.0 if turn is None else np.log(turn + 0j))
    terms = [scipy.special.gamma(u) * np.exp(-u * log) * (scipy.special.digamma(u) - log) for u in (v, -v)]
    kernel = get_backend("numpy").kve_order
    np.testing.assert_allclose(kernel(1, v, np.full(3, x if turn is None else x * turn)), 0.5 * (terms[0] - terms[1]), rtol=2e-11)


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "ive", "kv", "kve"])
@pytest.mark.parametrize("x", [3.5, 3.5 + 0j, 2.0 - 3.0j])
def test_bessel_functions_of_half_orders_below_0_at_a_number(name: str, x: complex, kernels: Any) -> None:
    """There the part that grows with the order drops out exactly."""
    v = np.array([-0.5, -2.5, -11.5, -39.5, -59.5, -7.0])
    found = getattr(kernels, name)(kernels.asarray(v), x).get()
    assert_relative(found, getattr(scipy.special, name)(v, x), 1e-12)


def test_nothing_of_the_left_half_plane_is_computed_on_the_right(monkeypatch: pytest.MonkeyPatch) -> None:
    numpy, z = get_backend("numpy"), np.array([2 + 1j, 0.3 - 4j])
    expected = numpy.kve_order(1, 0.7, z)
    left = numpy.kve_order(1, 0.7, np.append(z, -1 + 1j))
    monkeypatch.setattr(type(numpy), "_rising", None)
    assert_relative(numpy.kve_order(1, 0.7, z), expected, 1e-15)
    assert_relative(left[:2], expected, 1e-15)


@pytest.mark.parametrize("name", ["jv", "yv", "iv"])
@pytest.mark.parametrize("size", [5.0, 60.0])
@pytest.mark.parametrize("complex_numbers", [False, True], ids=["real", "complex"])
def test_recurrence_differentiated_in_the_order(name: str, size: float, complex_numbers: bool) -> None:
    x = drawn(size, complex_numbers=complex_numbers, seed=4) + 0.2
    v = np.random.default_rng(5).uniform(-2, size / 2, COUNT)
    kernel = getattr(get_backend("numpy"), f"{name}_order")
    sign = -1 if name == "iv" else 1
    for n in (1, 2):
        below, middle, above = (kernel(n, v + k, x) for k in (-1, 0, 1))
        right = 2 / x * (v * middle + n * kernel(n - 1, v, x))
        terms = np.abs(below) + np.abs(above) + np.abs(right)
        assert_relative(below + sign * above - right, np.zeros(COUNT), 1e-12, terms)


@pytest.mark.parametrize(("low", "high"), [(-0.95, 0.95), (0.95, 0.998), (-400.0, -1.0)])
def test_hyp2f1(low: float, high: float, kernels: Any) -> None:
    rng = np.random.default_rng(6)
    a, b = rng.uniform(-3, 3, (2, COUNT))
    c, x = rng.uniform(0.2, 4, COUNT), rng.uniform(low, high, COUNT)
    for v in (a, b, c):  # differences that are whole numbers are exceptions of the usual formulas
        v[:150] = np.round(v[:150])
    c = np.maximum(c, 0.2)
    found = kernels.hyp2f1(*map(kernels.asarray, (a, b, c, x))).get()
    expected = scipy.special.hyp2f1(a, b, c, x)
    known = np.isfinite(expected)
    assert_relative(found[known], expected[known], 1e-10, np.maximum(np.abs(expected[known]), 1e-3))  # SciPy's error


def _gauss(kernels: Any, a: Any, b: Any, c: Any, x: Any) -> np.ndarray:
    return kernels.hyp2f1(*(kernels.asarray(np.asarray(v, float) + 0 * x) for v in (a, b, c)), kernels.asarray(x)).get()


def test_hyp2f1_up_to_its_singularities(kernels: Any) -> None:
    near = 10.0 ** -np.arange(1, 16)
    high, low = 1 - near, -1 / near
    near = 1 - high  # as rounded
    assert_relative(_gauss(kernels, 1, 1, 2, high), -np.log(near) / high, 1e-13)
    assert_relative(_gauss(kernels, 1, 1, 2, low), -np.log1p(-low) / low, 1e-13)
    assert_relative(_gauss(kernels, 0.5, 0.5, 1, high), 2 / np.pi * scipy.special.ellipkm1(near), 1e-13)
    assert_relative(_gauss(kernels, -0.5, 0.5, 1, low), 2 / np.pi * scipy.special.ellipe(low), 1e-13)
    assert_relative(_gauss(kernels, 0.5, 1, 1.5, low), np.arctan(np.sqrt(-low)) / np.sqrt(-low), 1e-13)
    assert_relative(_gauss(kernels, 0.5, 0.5, 1.5, high), (np.pi / 2 - np.arcsin(np.sqrt(near))) / np.sqrt(high), 1e-13)
    a, b = np.array([[2.5, 0.7], [-1.3, 2], [-2, 0.5], [3, 4], [2 + 1e-12, 1]]).T[:, :, None]
    for x, rest in ((high, near), (low, 1 - low)):
        assert_relative(_gauss(kernels, a, b, b, x + 0 * a), rest**-a, 1e-12)
        assert_relative(_gauss(kernels, a, 0, b, x + 0 * a), 1 + 0 * (x + a), 1e-12)
        assert_relative(_gauss(kernels, -2, 0, 1.5, x), 1 + 0 * x, 1e-12)


def test_hyp2f1_next_to_its_cut(kernels: Any) -> None:
    x = np.linspace(1.01, 12, 200)
    for side in (1e-9j, -1e-9j, 0.1j):
        z = x + side
        a, b, c = (kernels.asarray(np.full(200, v)) for v in (1.0, 1.0, 2.0))
        assert_relative(kernels.hyp2f1(a, b, c, kernels.asarray(z)).get(), -np.log(1 - z) / z, 1e-12)


@pytest.mark.parametrize("x", [Fraction(-7, 2), Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(4)])
def test_hyp2f1_that_is_a_polynomial(x: Fraction, kernels: Any) -> None:
    rows = list(itertools.product(range(9), (Fraction(5, 2), Fraction(-1, 2), Fraction(-9)), (Fraction(3, 2), Fraction(-10))))
    sums = []
    for degree, b, c in rows:
        terms = [Fraction(1)]
        for n in range(degree):
            terms.append(terms[-1] * (n - degree) * (b + n) * x / ((c + n) * (n + 1)))
        sums.append((float(sum(terms)), float(sum(map(abs, terms)))))
    degree, b, c = np.array(rows, float).T
    expected, size = np.array(sums).T
    assert_relative(_gauss(kernels, -degree, b, c, np.full(len(rows), float(x))), expected, 1e-12, size)


def test_hyp2f1_of_high_degree_is_right_or_nan(kernels: Any) -> None:
    assert_relative(_gauss(kernels, -80, 1.5, 2.5, np.ones(1)), scipy.special.hyp2f1(-80, 1.5, 2.5, np.ones(1)), 1e-12)
    assert np.isnan(_gauss(kernels, -80, 1.5, 2.5, np.full(1, 1.5))).all()


@pytest.mark.parametrize(("low", "high"), [(-0.95, 0.95), (0.95, 0.999), (-2000.0, -1.0), (1 - 1e-9, 1.0), (-1e15, -1e9)])
@pytest.mark.parametrize("orders", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1)])
def test_contiguous_functions_differentiated_in_the_parameters(low: float, high: float, orders: tuple[int, int, int]) -> None:
    """(b - a) F + a F(a+1) - b F(b+1) = 0, DLMF 15.5.12, and its derivatives."""
    rng = np.random.default_rng(7)
    a, b = rng.uniform(0.1, 4, (2, COUNT))
    c, x = rng.uniform(0.2, 4, COUNT), rng.uniform(low, high, COUNT)
    a[:50], b[:50], c[25:50] = np.ceil(a[:50]), np.ceil(b[:50]), np.ceil(c[25:50])
    kernel = get_backend("numpy").hyp2f1_order

    def times(slopes: tuple[float, float], factor: np.ndarray, shift: tuple[int, int]) -> list[np.ndarray]:
        """The derivative of a factor that is linear in a and b, times a function, by Leibniz' rule."""
        i, j, k = orders
        at = (a + shift[0], b + shift[1], c, x)
        terms = [factor * kernel(i, j, k, *at)]
        if i:
            terms.append(i * slopes[0] * kernel(i - 1, j, k, *at))
        if j:
            terms.append(j * slopes[1] * kernel(i, j - 1, k, *at))
        return terms

    terms = [*times((-1, 1), b - a, (0, 0)), *times((1, 0), a, (1, 0)), *times((0, -1), -b, (0, 1))]
    assert_relative(sum(terms), np.zeros(COUNT), 1e-11, sum(map(np.abs, terms)))


@pytest.mark.parametrize("name", ["eval_chebyt", "eval_chebyu", "eval_legendre", "eval_laguerre", "eval_hermite"])
def test_negative_degrees_of_polynomials(name: str, kernels: Any) -> None:
    x = np.array([0.3, -0.7, 1.2])
    here = ng.DimArray(kernels.asarray(x), "x")
    for n in range(-5, 6):
        expected = getattr(scipy.special, name)(n, x)
        for degree in (n, ng.DimArray(kernels.asarray(np.full(3, n)), "x")):
            assert_close(getattr(ng, name)(degree, here).to_numpy(), expected, 10 * ROUNDING)


@pytest.mark.parametrize("size", [0.1, 1.4, 5.0])
def test_fresnel_integrals_of_complex_numbers(size: float, kernels: Any) -> None:
    z = drawn(size, complex_numbers=True, seed=11)
    z[:40], z[40:80] = z[:40].real, 1j * z[40:80].imag
    for found, expected in zip(kernels.fresnel(kernels.asarray(z)), scipy.special.fresnel(z), strict=True):
        assert_relative(found.get(), expected, 2e-12)


@pytest.mark.parametrize("name", ["airy", "sici", "shichi"])
def test_what_is_known_at_real_numbers_alone_says_so(name: str, kernels: Any) -> None:
    z = ng.DimArray(kernels.asarray(np.array([1.0 + 2.0j])), "x")
    with pytest.raises(TypeError, match=rf"no kernel '{name}' for complex numbers; use .to\('numpy'\)"):
        getattr(ng, name)(z)


ENDS = {
    "k0": ([0.0, np.inf],), "k1": ([0.0, np.inf],), "k0e": ([0.0],), "k1e": ([0.0],), "kv": ([0.0, 0.5, -2.0], [0.0, 0.0, 0.0]),
    "kve": ([0.0, 0.5, -2.0], [0.0, 0.0, 0.0]), "kn": ([0.0, 1.0, 3.0], [0.0, 0.0, 0.0]), "ellipk": ([-np.inf, -1e308, 0.0, 1.0, 2.0],),
    "ellipkm1": ([np.inf, 1e308, 1.0, 0.0, -1.0],), "ellipe": ([-np.inf, 1.0, 0.0, 2.0],),
    "owens_t": ([0.0, 0.0, 0.0, 1.0, -1.0, np.inf, np.inf], [np.inf, -np.inf, 1.0, np.inf, -np.inf, 1.0, np.inf]),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_functions_composed_for_devices_at_their_ends(name: str, kernels: Any) -> None:
    args = [np.array(a) for a in ENDS[name]]
    found = getattr(kernels, name)(*map(kernels.asarray, args)).get()
    np.testing.assert_allclose(found, getattr(scipy.special, name)(*args), rtol=1e-12)
