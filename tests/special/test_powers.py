"""Powers at their edges, and branch cuts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import namedgrad as ng

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.mark.parametrize("kind", ["numbers", "arrays"])
def test_second_derivatives_of_power_at_its_edges(kind: str) -> None:
    for z, want in ((0.0, [0, 0]), (1.0, [1, 0]), (2.0, [0, 2]), (3.0, [0, 0])):
        x = ng.DimArray([0.0], "x")
        exponent = z if kind == "numbers" else ng.DimArray([z], "x")
        f = lambda x, exponent=exponent: (x**exponent).sum()
        found = [ng.grad(f)(x), ng.grad(lambda x, f=f: ng.grad(f)(x).sum())(x)]
        np.testing.assert_array_equal([g.data[0] for g in found], want)


@pytest.mark.parametrize("kind", ["numbers", "arrays"])
@pytest.mark.parametrize(("x", "z", "want"), [
    (-0.0, -1.0, -np.inf), (0.0, -1.0, -np.inf), (-0.0, -2.0, np.inf), (0.0, -2.0, -np.inf), (-0.0, -3.0, -np.inf), (-0.0, -1.5, -np.inf), (3.0, -2.0, -2 / 27),
    (2.0, -np.inf, 0.0), (-np.inf, -np.inf, 0.0), (0.5, -np.inf, -np.inf), (2.0, np.inf, np.inf),
])  # fmt: skip
def test_slopes_of_negative_and_infinite_powers(x: float, z: float, want: float, kind: str) -> None:
    base = np.array([x, 2.0])
    slope = (lambda x, z=z: ng.grad(lambda x: 3.0 * (x**z).sum())(x)) if kind == "numbers" else (lambda x: ng.grad(lambda x: 3.0 * (x ** np.array([z, -1.0])).sum())(x))
    for f in (slope, ng.compile(slope)):
        np.testing.assert_allclose(f(base)[0], 3 * want, rtol=1e-15)


def test_the_mixed_derivative_of_power_at_exponent_zero() -> None:
    x, z = ng.DimArray([2.0, 0.5], "x"), ng.DimArray([0.0, 0.0], "x")
    mixed = ng.grad(lambda z: ng.grad(lambda x: (x**z).sum())(x).sum())(z)
    np.testing.assert_allclose(mixed.data, [0.5, 2.0])
    other = ng.grad(lambda x: ng.grad(lambda z: (x**z).sum())(z).sum())(x)
    np.testing.assert_allclose(other.data, [0.5, 2.0])


@pytest.mark.parametrize(("dtype", "bases"), [
    (np.float64, [1e-200, 1e200, 1e-300, 0.3, 2.0]), (np.float32, [1e-25, 1e20, 1e-20, 0.3, 2.0]), (np.float16, [300.0, 3e-4, 0.3, 2.0]),
])  # fmt: skip
def test_mixed_derivatives_of_powers_that_leave_the_range(dtype: Any, bases: list[float]) -> None:
    """``x**(z - 1) (1 + z log x)``, which is in range where ``x**z`` is not, in every combination of modes."""
    x = np.array(bases, dtype)
    w = np.linspace(-1.2, 0.7, x.size).astype(dtype)
    both = ng.grad(lambda x, z: (w * x**z).sum(), wrt=(0, 1))
    ways = {
        "base over exponent": lambda x, z: ng.pushforward(lambda x: both(x, z)[1], (x,), (np.ones_like(x),))[1],
        "exponent over base": lambda x, z: ng.pushforward(lambda z: both(x, z)[0], (z,), (np.ones_like(z),))[1],
        "reverse over reverse": lambda x, z: ng.grad(lambda x: both(x, z)[1].sum())(x),
        "the other way round": lambda x, z: ng.grad(lambda z: both(x, z)[0].sum())(z),
    }
    for exponent in (2.0, 1.5):
        z = np.full_like(x, exponent)
        exact = w * np.power(x.astype(float), exponent - 1) * (1 + exponent * np.log(x.astype(float)))
        for way in ways.values():
            for g in (way, ng.compile(way)):
                np.testing.assert_allclose(g(x, z), exact, rtol=40 * float(np.finfo(dtype).eps))


def test_mixed_derivatives_of_powers_of_the_largest_and_smallest_numbers() -> None:
    z, want = np.array([-1.0, 0.0, 0.5, 2.0]), {np.inf: [0, 0, 0, np.inf], 0.0: [np.inf, 0, 0, 0]}
    for base, exact in want.items():
        x = np.full(4, base)
        np.testing.assert_array_equal(ng.grad(lambda x: ng.grad(lambda z: (3.0 * x**z).sum())(z).sum())(x), exact)


def test_integer_exponents_of_any_dtype() -> None:
    x = ng.DimArray([0.0, -2.0, 3.0], "x")
    for dtype in ("int64", "uint8", "int32"):
        n = ng.DimArray(np.array([0, 3, 2], dtype), "x")
        np.testing.assert_allclose(ng.grad(lambda x, n=n: (x**n).sum())(x).data, [0, 12, 6])


def test_a_negative_base_and_a_complex_exponent() -> None:
    x, z = ng.DimArray([-2.0], "x"), ng.DimArray([0.5 + 0.3j], "x")
    f = lambda x, z: ng.real(x**z).sum()
    gx, gz = ng.grad(f, (0, 1))(x, z)
    h = 1e-6
    value = lambda x, z: np.real((x + 0j) ** z)[0]
    np.testing.assert_allclose(gx.data, (value(x.data + h, z.data) - value(x.data - h, z.data)) / (2 * h), rtol=1e-8)
    along = [(value(x.data, z.data + d * h) - value(x.data, z.data - d * h)) / (2 * h) for d in (1, 1j)]
    np.testing.assert_allclose(gz.data[0], along[0] + 1j * along[1], rtol=1e-8)


@pytest.mark.parametrize("f", [np.arcsin, np.arccos, np.arccosh, np.arctanh, np.arcsinh, np.sqrt, np.log])
def test_branch_cuts_are_those_of_the_value(f: Any) -> None:
    at = np.array([2.0 + 0j, -2.0 + 0j, 0.5 + 2j, -0.5 - 2j, 3 + 1e-300j])
    slope = ng.pushforward(f, (ng.DimArray(at, "x"),), (ng.ones({"x": 5}, dtype=complex),))[1].data
    h = 1e-6
    np.testing.assert_allclose(slope, (f(at + h) - f(at - h)) / (2 * h), rtol=1e-7, atol=1e-9)
