"""Captured arrays of other classes: columns of pandas, masked arrays, matrices, arrays in files."""

import operator

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import namedgrad as ng

X = np.array([0.5, 1.5, -2.0])
TABLE = pd.DataFrame({"x": [1.0, 2.0, 4.0], "y": [3.0, 1.0, -2.0]}, index=[10, 20, 30])
WHOLE = np.ma.array([1.0, 2.0, 4.0])
MASKED = np.ma.array([1.0, 2.0, 4.0], mask=[False, True, False])
OPERATORS = {
    "add": (operator.add, lambda x, c: np.ones(3)), "sub": (operator.sub, lambda x, c: np.ones(3)),
    "mul": (operator.mul, lambda x, c: c), "truediv": (operator.truediv, lambda x, c: 1 / c),
}  # fmt: skip
REFLECTED = {
    "add": (operator.add, lambda x, c: np.ones(3)), "sub": (operator.sub, lambda x, c: -np.ones(3)),
    "mul": (operator.mul, lambda x, c: c), "truediv": (operator.truediv, lambda x, c: -c / x**2),
}  # fmt: skip
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


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("column", [TABLE["x"], pd.Index([1.0, 2.0, 4.0])], ids=["series", "index"])
def test_columns_on_either_side(name, column):
    c = column.to_numpy()
    for op, slope, order in ((*OPERATORS[name], 1), (*REFLECTED[name], -1)):

        def f(x, op=op, order=order):
            return np.sum(op(*(x, column)[::order]))

        value, gradient = ng.value_and_grad(f)(X)
        np.testing.assert_allclose(value, op(*(X, c)[::order]).sum(), rtol=1e-15)
        np.testing.assert_allclose(gradient, slope(X, c), rtol=1e-15)


def test_a_regression_on_a_table():
    def loss(p):
        return np.mean((TABLE["y"] - (p[0] * TABLE["x"] + p[1])) ** 2)

    x, y = TABLE["x"].to_numpy(), TABLE["y"].to_numpy()
    left = y - 0.5 * x + 1
    value, gradient = ng.value_and_grad(loss)(np.array([0.5, -1.0]))
    np.testing.assert_allclose(value, (left**2).mean(), rtol=1e-15)
    np.testing.assert_allclose(gradient, [(-2 * left * x).mean(), (-2 * left).mean()], rtol=1e-14)
    np.testing.assert_allclose(ng.hessian(loss)(np.zeros(2)), 2 * np.array([[7, 7 / 3], [7 / 3, 1]]), rtol=1e-14)


def test_a_whole_table_and_functions_of_numpy():
    gradient = ng.grad(lambda w: np.sum(w @ TABLE.T + np.exp(TABLE["x"] * w[0]) + np.maximum(TABLE["y"], w[1])))
    x = TABLE["x"].to_numpy()
    np.testing.assert_allclose(gradient(np.array([0.5, 2.0])), [7 + (x * np.exp(x / 2)).sum(), 2 + 2], rtol=1e-14)
    assert (np.asarray(ng.grad(lambda x: np.greater(TABLE, x[:2]).sum() * x.sum())(X)) == 4).all()


def test_products_that_pandas_computes_name_the_way_out():
    with pytest.raises(ng.TraceError, match=r"use \.to_numpy\(\)"):
        ng.grad(lambda w: np.sum(TABLE @ w))(np.ones(2))
    np.testing.assert_array_equal(ng.grad(lambda w: np.sum(TABLE.to_numpy() @ w))(np.ones(2)), [7, 2])


def test_columns_beside_xarray():
    da = xr.DataArray(X, dims="t")
    gradient = ng.grad(lambda da: (da * TABLE["x"]).sum())(da)
    xr.testing.assert_equal(gradient, xr.DataArray([1.0, 2.0, 4.0], dims="t"))


def test_a_table_to_differentiate_by_is_refused():
    with pytest.raises(TypeError, match=r"\.to_numpy\(\)"):
        ng.grad(lambda s: (s * s).sum())(TABLE["x"])


def test_a_compiled_function_sees_a_column_change():
    table = TABLE.copy()
    f = ng.compile(lambda x: x * table["x"].mean() + table["y"])
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
