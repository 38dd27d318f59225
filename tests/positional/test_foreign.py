"""Captured arrays of other classes: columns of pandas, masked arrays, matrices, arrays in files, sparse matrices."""

import operator

import dask.array
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import xarray as xr

import namedgrad as ng
from tests.support import fake_cupy

X = np.array([0.5, 1.5, -2.0])
TABLE = pd.DataFrame({"x": [1.0, 2.0, 4.0], "y": [3.0, 1.0, -2.0]}, index=[10, 20, 30])
WHOLE = np.ma.array([1.0, 2.0, 4.0])
MASKED = np.ma.array([1.0, 2.0, 4.0], mask=[False, True, False])
ROUTES = {
    "operator": lambda x, c: x * c,
    "reflected": lambda x, c: c * x,
    "ufunc": lambda x, c: np.hypot(c, x),
    "dot": lambda x, c: np.dot(x, c),
    "where": lambda x, c: np.where(x > 1, x, c),
    "stack": lambda x, c: np.stack([x, c]),
    "written": lambda x, c: _written(x, c),
}


def _written(x, c):
    out = np.zeros(3, like=x)
    out[:] = c
    return out * x


@pytest.mark.parametrize("table", [TABLE["x"], TABLE, pd.Index([1.0, 2.0, 4.0])], ids=["series", "frame", "index"])
@pytest.mark.parametrize("f", [operator.mul, operator.sub, operator.pow, np.hypot, np.maximum])
def test_labels_are_not_lost(f, table):
    """With them would go alignment, sums that leave out missing values, and the degrees of freedom of .std()."""
    some = X[: table.shape[-1]]
    for x in (some, xr.DataArray(some, dims="t")) if table.ndim == 1 and f is operator.mul else (some,):
        for pair in (lambda x: (x, table), lambda x: (table, x)):
            with pytest.raises(TypeError, match=r"\.to_numpy\(\)"):
                ng.grad(lambda x, pair=pair: np.sum(f(*pair(x))))(x)


def test_functions_that_give_arrays_take_columns():
    column, c = TABLE["x"], TABLE["x"].to_numpy()
    np.testing.assert_array_equal(ng.grad(lambda x: np.dot(x, column))(X), c)
    np.testing.assert_array_equal(ng.grad(lambda x: np.where(column > 1, x, column).sum())(X), [0, 1, 1])
    np.testing.assert_array_equal(ng.grad(lambda x: (np.stack([x, column])[::-1] ** 2).prod(0).sum())(X), 2 * X * c**2)


def test_a_table_to_differentiate_by_is_refused():
    with pytest.raises(TypeError, match=r"\.to_numpy\(\)"):
        ng.grad(lambda s: (s * s).sum())(TABLE["x"])


def test_a_compiled_function_sees_a_column_change():
    table = TABLE.copy()
    f = ng.compile(lambda x: x * table["x"].mean() + table["y"].to_numpy())
    for new in ([1.0, 2.0, 3.0], [5.0, 2.0, 3.0]):
        table["x"] = new
        for _ in range(3):
            np.testing.assert_allclose(f(X), X * np.mean(new) + table["y"].to_numpy(), rtol=1e-15)


@pytest.mark.parametrize("route", ROUTES)
def test_masks_are_not_lost(route):
    f = ROUTES[route]
    with pytest.raises(TypeError, match=r"filled\(np\.nan\)"):
        ng.grad(lambda x: np.sum(f(x, MASKED)))(X)
    if route != "reflected":  # there NumPy's own class computes, with plain arrays
        mine, plain = (ng.grad(lambda x, c=c: np.sum(f(x, c)))(X) for c in (WHOLE, WHOLE.data))
        np.testing.assert_array_equal(mine, plain)


def test_masked_arguments():
    for call in (ng.grad(lambda x: (x**2).sum()), ng.compile(np.exp), ng.positional):
        with pytest.raises(TypeError, match="1 of 3 cells"):
            call(MASKED)
    np.testing.assert_array_equal(ng.grad(lambda x: (x**2).sum())(WHOLE), [2.0, 4.0, 8.0])
    with pytest.raises(TypeError, match="masked array"):
        ng.DimArray(X, "x") * np.ma.masked


@pytest.mark.parametrize("dtype", [float, np.float32, complex, int, "M8[ns]", "m8[s]"])
def test_named_arrays_are_nan_where_masked_as_in_xarray(dtype):
    masked = np.ma.array(np.arange(3).astype(dtype), mask=[False, True, False])
    want, got = xr.DataArray(masked, dims="x").to_numpy(), ng.DimArray(masked, "x").data
    assert type(got) is np.ndarray
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    assert masked.mask[1]


def test_matrices_are_refused():
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.asmatrix(np.eye(3))
    for f in (lambda x: x * matrix, lambda x: matrix * x, lambda x: np.add(x, matrix)):
        with pytest.raises(TypeError, match=r"np\.asarray"):
            ng.grad(lambda x, f=f: np.sum(f(x)))(np.ones((3, 3)))
    with pytest.raises(TypeError, match=r"numpy\.matrix"):
        ng.grad(np.sum)(matrix)


def test_arrays_in_files(tmp_path):
    file = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=(3,))
    file[:] = [1, 2, 4]
    np.testing.assert_array_equal(ng.grad(lambda x: np.sum(x * file))(X), [1, 2, 4])
    np.testing.assert_array_equal(ng.grad(lambda x: np.sum(x**2))(file), [2, 4, 8])


# ---------------------------------------------------------------------------------------- sparse matrices

RNG = np.random.default_rng(7)
DENSE = RNG.normal(size=(4, 3)) * (RNG.random((4, 3)) < 0.6)
PRODUCTS = {
    "A @ x": (lambda A, x: A @ x, 3), "A.dot(x)": (lambda A, x: _dot(A, x), 3), "x @ A": (lambda A, x: x @ A, 4),
    "A @ X": (lambda A, x: A @ np.stack([x, 2 * x], -1), 3), "X @ A": (lambda A, x: np.stack([x, x**2]) @ A, 4),
    "A.T @ (A @ x)": (lambda A, x: A.T @ (A @ x) ** 2, 3), "written": (lambda A, x: _filled(A, x), 3),
}  # fmt: skip


def _dot(matrix, x):
    """COO has a method of its own, which refuses."""
    return matrix.dot(x) if scipy.sparse.issparse(matrix) and matrix.format != "coo" else matrix @ x


def _filled(matrix, x):
    out = np.zeros((2, 4), like=x)
    out[1] = matrix @ x
    return out


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csr_matrix], ids=["array", "matrix"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_with_sparse_matrices(name, kind, form):
    f, n = PRODUCTS[name]
    sparse, x, c = kind(DENSE).asformat(form), RNG.normal(size=n), RNG.normal(size=n)
    g = RNG.normal(size=np.shape(f(DENSE, x)))

    def loss(A, x):
        return np.sum(np.sin(f(A, x)) * g)

    np.testing.assert_allclose(ng.positional(f(sparse, ng.positional(x))).data, f(DENSE, x), rtol=1e-13, atol=1e-13)
    mine, plain = (ng.grad(lambda x, A=A: loss(A, x))(x) for A in (sparse, DENSE))
    step = 1e-6 * c
    np.testing.assert_allclose(mine @ c, (loss(DENSE, x + step) - loss(DENSE, x - step)) / 2e-6, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(mine, plain, rtol=1e-12, atol=1e-13)
    _, pushed = ng.pushforward(lambda x: f(sparse, x), (x,), (c,))
    np.testing.assert_allclose(np.sum(pushed * g), np.sum((f(DENSE, x + step) - f(DENSE, x - step)) * g) / 2e-6, rtol=1e-7)
    twice, wanted = (ng.hessian(lambda x, A=A: loss(A, x))(x) for A in (sparse, DENSE))
    np.testing.assert_allclose(twice, wanted, rtol=1e-11, atol=1e-12)


def test_a_batch_of_products_with_a_sparse_matrix():
    sparse, X = scipy.sparse.csr_array(DENSE), RNG.normal(size=(5, 3))
    batch = ng.positional(X, vectorized="b")
    gradient = ng.grad(lambda x: np.sum((sparse @ x) ** 3))(batch)
    np.testing.assert_allclose(gradient.data, 3 * (X @ DENSE.T) ** 2 @ DENSE, rtol=1e-12)
    assert gradient.shape == (3,)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, complex])
def test_dtypes_of_sparse_products(dtype):
    sparse = scipy.sparse.csr_array(DENSE.astype(np.float32))
    x = RNG.normal(size=3).astype(dtype)
    out, pull = ng.pullback(lambda x: sparse @ x, x)
    assert out.dtype == np.result_type(dtype, np.float32)
    (gradient,) = (pull(np.ones_like(out)),)
    assert gradient.dtype == dtype
    np.testing.assert_allclose(gradient, DENSE.sum(0), rtol=2e-3 if dtype is np.float16 else 1e-6)


def test_a_complex_sparse_matrix_is_conjugated():
    matrix = DENSE + 1j * DENSE[::-1]
    gradient = ng.grad(lambda x: np.sum(np.abs(scipy.sparse.csr_array(matrix) @ x) ** 2))(X)
    np.testing.assert_allclose(gradient, 2 * (matrix.conj().T @ (matrix @ X)).real, rtol=1e-12)


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0)])
def test_empty_sparse_matrices(shape):
    x = np.ones(shape[1])
    for A in (scipy.sparse.csr_array(shape), scipy.sparse.coo_array(shape)):
        out, pull = ng.pullback(lambda x, A=A: A @ x, x)
        np.testing.assert_array_equal(out, np.zeros(shape[0]))
        np.testing.assert_array_equal(pull(np.ones(shape[0])), np.zeros(shape[1]))


@pytest.mark.parametrize("other", ["dask", "cupy"])
def test_sparse_products_elsewhere(other, monkeypatch):
    sparse = scipy.sparse.csr_array(DENSE)
    if other == "dask":
        x, host = dask.array.from_array(np.outer(X, [1.0, 2.0]), chunks=(2, 1)), lambda a: a.compute(scheduler="sync")
    else:
        fake_cupy.installed(monkeypatch)
        x, host = fake_cupy.asarray(np.outer(X, [1.0, 2.0])), fake_cupy.asnumpy
    with dask.config.set(scheduler=_never):
        out, pull = ng.pullback(lambda x: sparse @ x, ng.positional(x))
        gradient = pull(out)
    np.testing.assert_allclose(host(out.data), DENSE @ np.outer(X, [1.0, 2.0]), rtol=1e-13)
    np.testing.assert_allclose(host(gradient.data), DENSE.T @ DENSE @ np.outer(X, [1.0, 2.0]), rtol=1e-12)


def _never(*args, **kwargs):
    raise AssertionError("computed")


def test_compiled_products_see_a_sparse_matrix_change():
    sparse = scipy.sparse.csr_array(DENSE)
    f = ng.compile(ng.grad(lambda x: np.sum((sparse @ x) ** 2)))
    for factor in (1.0, 3.0, 0.5):
        sparse.data *= factor
        now = sparse.toarray()
        np.testing.assert_allclose(f(X), 2 * now.T @ now @ X, rtol=1e-12)


def test_sparse_products_under_xarray():
    sparse, da = scipy.sparse.csr_array(DENSE), xr.DataArray(X, dims="cell")

    def regridded(da):
        return xr.apply_ufunc(lambda v: sparse @ v, da, input_core_dims=[["cell"]], output_core_dims=[["to"]])

    gradient = ng.grad(lambda da: (regridded(da) ** 2).sum())(da)
    np.testing.assert_allclose(gradient, 2 * DENSE.T @ DENSE @ X, rtol=1e-12)


def test_what_sparse_arrays_cannot_do_here():
    sparse = scipy.sparse.csr_array(DENSE)
    for f in (lambda x: sparse * x, lambda x: x + sparse, lambda x: np.maximum(x, sparse)):
        with pytest.raises(TypeError, match="toarray"):
            ng.grad(lambda x, f=f: np.sum(f(x)))(X)
    for f in (lambda x: sparse @ x[:2], lambda x: x @ sparse, lambda x: np.ones((2, 3, 1)) * x @ sparse.T):
        with pytest.raises(ValueError, match="do not fit together"):
            ng.grad(lambda x, f=f: np.sum(f(x)))(X)
