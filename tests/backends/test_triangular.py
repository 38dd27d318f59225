"""Stacks of triangular matrices in NumPy, beside LAPACK one matrix at a time; memory of gradients of shared matrices."""

from unittest import mock

import numpy as np
import pytest
import scipy.linalg

import namedgrad as ng
from namedgrad.backends import numpy_triangular as triangular
from tests.support.memory import taken

rng = np.random.default_rng(11)
DIMS = ("i", "j")
SIZES = (1, 2, 7, 8, 9, 17, 64, 65, 130)
DTYPES = ("float64", "complex128", "float32")


def tolerance(dtype):
    return 1e-4 if dtype == "float32" else 1e-11


def some(*shape, dtype):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)


def factors(batch, n, dtype):
    a = some(*batch, n, n, dtype=dtype)
    return np.linalg.cholesky(a @ np.conj(np.swapaxes(a, -1, -2)) + n * np.eye(n)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_stacks_are_solved_as_scipy_solves_one(n, lower, unit, dtype):
    a = factors((3,), n, dtype) / (n if unit else 1)
    a = a if lower else np.swapaxes(a, -1, -2)
    a += (np.triu if lower else np.tril)(some(3, n, n, dtype=dtype), 1 if lower else -1)  # never read
    b = some(3, n, 2, dtype=dtype)
    expected = [scipy.linalg.solve_triangular(x, y, lower=lower, unit_diagonal=unit) for x, y in zip(a, b)]
    for stored in (a, np.swapaxes(np.swapaxes(a, -1, -2).copy(), -1, -2)):
        for got in (triangular.solve(stored, b, lower, unit, "raise"), [triangular.solve(x, y, lower, unit, "raise") for x, y in zip(stored, b)]):
            np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance(dtype) * np.abs(expected).max())
    assert triangular.solve(a, b, lower, unit, "raise").dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "batch"), [(8, (8,)), (9, (3, 3)), (32, (2,)), (1, (5,)), (33, (2, 4))])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_single_right_hand_sides_of_many_matrices(n, batch, lower, unit, dtype):
    a = factors(batch, n, dtype) / (n if unit else 1)
    a = a if lower else np.swapaxes(a, -1, -2)
    b = some(*batch[-1:], n, 1, dtype=dtype)
    whole = np.broadcast_to(b, (*batch, n, 1))
    expected = np.empty(whole.shape, dtype)
    for at in np.ndindex(*batch):
        expected[at] = scipy.linalg.solve_triangular(a[at], whole[at], lower=lower, unit_diagonal=unit)
    for stored in (a, np.swapaxes(np.swapaxes(a, -1, -2).copy(), -1, -2), np.moveaxis(np.moveaxis(a, 0, -1).copy(), -1, 0)):
        got = triangular.solve(stored, b, lower, unit, "raise")
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance(dtype) * np.abs(expected).max())
        assert got.dtype == dtype


def test_a_number_that_is_not_finite_spoils_only_what_depends_on_it():
    for n, batch in ((12, 4), (12, 20)):
        a, b = factors((batch,), n, "float64"), some(batch, n, 1, dtype="float64")
        b[2, 5] = np.nan
        for stored in (a, np.swapaxes(np.swapaxes(a, -1, -2).copy(), -1, -2)):
            x = triangular.solve(stored, b, lower=True, unit=False, errors="raise")
            np.testing.assert_array_equal(np.isnan(x).nonzero()[0], 2)
            np.testing.assert_array_equal(np.isnan(x[2, :, 0]), np.arange(n) >= 5)


def test_a_singular_matrix_is_refused_or_left_out():
    a, b = factors((4,), 9, "float64"), some(4, 9, 1, dtype="float64")
    a[1, 3, 3] = 0
    with pytest.raises(np.linalg.LinAlgError):
        triangular.solve(a, b, lower=True, unit=False, errors="raise")
    x = triangular.solve(a, b, lower=True, unit=False, errors="nan")
    assert np.isnan(x[1]).all()
    np.testing.assert_allclose(a[[0, 2, 3]] @ x[[0, 2, 3]], b[[0, 2, 3]], atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [*SIZES, 100, 200])
def test_gradients_of_cholesky_factors_of_any_size(n, dtype):
    """Murray (2016), eq. 9, by general inverses."""
    y, g = factors((2,), n, dtype), np.tril(some(2, n, n, dtype=dtype))
    inverse, adjoint = np.linalg.inv(y), lambda x: np.conj(np.swapaxes(x, -1, -2))
    half = np.tril(adjoint(y) @ g) * (1 - np.eye(n) / 2)
    expected = adjoint(inverse) @ ((half + adjoint(half)) / 2) @ inverse
    got = triangular.cholesky_gradient(y, g + np.triu(some(n, n, dtype=dtype), 1))
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance(dtype) * max(1, np.abs(expected).max()))
    assert got.dtype == dtype


@pytest.mark.parametrize("n", [40, 150])
def test_cholesky_against_finite_differences(n):
    a = factors((), n, "float64")
    a, t, w = a @ a.T, some(n, n, dtype="float64"), some(n, n, dtype="float64")
    t = t + t.T

    def f(a):
        return float(np.sum(np.sin(np.linalg.cholesky(a)) * w))

    g = ng.grad(lambda a: (ng.sin(ng.cholesky(a, DIMS)) * ng.DimArray(w, DIMS)).sum())(ng.DimArray(a, DIMS))
    np.testing.assert_allclose(g.data, g.data.T, atol=1e-13)
    h = 1e-5
    np.testing.assert_allclose(np.sum(g.data * t), (f(a + h * t) - f(a - h * t)) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("which", ["lower", "upper"])
def test_inverses_and_determinants_of_triangular_matrices(which):
    a = factors((5,), 11, "complex128") * 1j
    a = a if which == "lower" else np.swapaxes(a, -1, -2)
    x = ng.DimArray(a, ("b", "i", "j"))
    with mock.patch("numpy.linalg.inv") as general:
        inverse, (sign, log) = ng.inv(x, DIMS), ng.slogdet(x, DIMS)
    general.assert_not_called()
    np.testing.assert_allclose(inverse.data @ a, np.broadcast_to(np.eye(11), a.shape), atol=1e-12)
    expected = np.linalg.slogdet(a)
    np.testing.assert_allclose(sign.data, expected[0], atol=1e-12)
    np.testing.assert_allclose(log.data, expected[1], rtol=1e-12)


def test_calls_do_not_grow_with_the_batch():
    def calls(count, n):
        a, b = factors((count,), n, "float64"), some(count, n, 1, dtype="float64")
        with mock.patch.object(triangular.np, "matmul", wraps=np.matmul) as products, mock.patch.object(
            triangular.np, "einsum", wraps=np.einsum
        ) as sums:
            triangular.solve(a, b, lower=True, unit=False, errors="raise")
            triangular.cholesky_gradient(a, a)
        return products.call_count, sums.call_count

    for n in (20, 40):
        assert calls(2, n) == calls(50, n)


def test_tiles_hold_all_of_a_large_stack():
    y, g = factors((300,), 40, "float64"), some(40, 40, dtype="float64")
    got = triangular.cholesky_gradient(y, g)
    for k in (0, 150, 299):
        np.testing.assert_allclose(got[k], triangular.cholesky_gradient(y[k], g), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("what", ["dot", "solve", "triangular"])
def test_a_shared_matrix_is_not_copied_for_every_slice(what):
    m, count = 100, 64
    a = ng.DimArray(rng.normal(size=(m, m)) + m * np.eye(m), DIMS)
    b = ng.DimArray(rng.normal(size=(count, m)), ("b", "j" if what == "dot" else "i")).vectorize("b")
    f = {
        "dot": lambda a: ng.dot(a, b, dim="j"), "solve": lambda a: ng.solve(a, b, DIMS),
        "triangular": lambda a: ng.solve_triangular(a, b, DIMS),
    }[what]  # fmt: skip

    def most_and_gradient(loss):
        pulled = taken(lambda: ng.grad(loss)(a))
        return pulled.most / a.data.nbytes, pulled.result

    most, gradient = most_and_gradient(lambda a: (f(a) ** 2).sum().devectorize("b").sum())
    assert gradient.data.shape == (m, m)
    assert most < 8, "one gradient for all slices, and nothing as large as one for each"
    most, gradient = most_and_gradient(lambda a: (f(a) ** 2).sum())
    assert gradient.devectorize("b").sizes == {"b": count, "i": m, "j": m}
    assert most < (2.2 if what == "triangular" else 1.2) * count, "the gradients, and no copy of the matrix for each"
