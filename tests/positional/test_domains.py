"""``np.emath``: complex results where a cell leaves the domain of real numbers, as NumPy decides it."""

import numpy as np
import pytest

import namedgrad as ng

INSIDE, OUTSIDE = np.array([0.3, 0.7]), np.array([-0.3, 1.7])
ONE = {n: getattr(np.emath, n) for n in ("sqrt", "log", "log2", "log10", "arcsin", "arccos", "arctanh")}
PROGRAMS = ONE | {
    "logn": lambda x: np.emath.logn(3.0, x), "logn of both": lambda x: np.emath.logn(x, x + 5.0),
    "power": lambda x: np.emath.power(x, 1.5), "integer": lambda x: np.emath.power(x, -2), "exponent": lambda x: np.emath.power(3, x),
}  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("x", [INSIDE, OUTSIDE], ids=["inside", "outside"])
def test_functions_follow_numpy(f, x):
    def loss(x):
        y = f(x)
        return np.sum(np.array([1.0, -2.0]) * (y.real + 0.7 * y.imag + np.abs(y) ** 2))

    value, gradient = ng.value_and_grad(loss)(x)
    assert value == loss(x)
    step = 1e-6 * np.eye(2)
    differences = np.array([(loss(x + s) - loss(x - s)) / 2e-6 for s in step])
    np.testing.assert_allclose(gradient, differences, rtol=1e-7)
    tangent = np.array([0.4, -1.7])
    np.testing.assert_allclose(ng.pushforward(loss, (x,), (tangent,))[1], gradient @ tangent, rtol=1e-12)
    rows = ng.grad(loss)(ng.positional(np.stack([INSIDE, OUTSIDE]), vectorized="row")).data
    np.testing.assert_allclose(rows, [ng.grad(loss)(INSIDE), ng.grad(loss)(OUTSIDE)], rtol=1e-12)


@pytest.mark.parametrize("x", [np.array([0.5, 4.0]), np.array([-0.5, 4.0], np.float32), np.array([2, 4]), np.array([-2 + 0j])])
@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_dtypes_are_numpys(f, x):
    found, want = f(ng.positional(x)), f(x)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found.data, want)


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("x", [-2.0, 3.0])
def test_numbers_of_python(f, x):
    loss = lambda x: f(x).real + 0.7 * f(x).imag
    want = (loss(x + 1e-6) - loss(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(ng.grad(loss)(x), want, rtol=1e-7)


def test_total_reflection():
    def transmitted(index):
        angle = np.emath.arcsin(1.5 / index * np.sin(0.9))
        cosines = 1.5 * np.cos(0.9), index * np.cos(angle)
        return np.abs(2 * cosines[0] / (cosines[0] + cosines[1])) ** 2

    for index in (1.0, 1.4):  # behind a glass, with and without
        want = (transmitted(index + 1e-6) - transmitted(index - 1e-6)) / 2e-6
        np.testing.assert_allclose(ng.grad(transmitted)(index), want, rtol=1e-8)


def test_a_program_cannot_leave_its_dtypes_open():
    with pytest.raises(ng.TraceError, match=r"np.sqrt\(x.astype\(complex\)\)"):
        ng.compile(np.emath.sqrt)(INSIDE)
