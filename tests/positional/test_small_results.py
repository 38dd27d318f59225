"""Dtypes, precision and special cells of NumPy's functions on positional arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import namedgrad as ng
from tests.support.oracles import richardson

NUMPY = np.lib.NumpyVersion(np.__version__)


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "midpoint", "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "hazen"])
@pytest.mark.parametrize("q", [0.3, np.array([0.3, 0.9]), *([np.float64(0.3)] if NUMPY >= "2.1.0" else [])])  # which was a Python number
def test_precision_of_quantiles(method, q):
    a = np.random.default_rng(0).normal(size=(3, 7)).astype("f4")
    found, g = ng.value_and_grad(lambda x: (np.sum(np.quantile(x, q, axis=1, method=method)), np.quantile(x, q, axis=1, method=method)), has_aux=True)(a)
    expected = np.quantile(a, q, axis=1, method=method)
    assert found[1].dtype == expected.dtype
    assert g.dtype == a.dtype
    np.testing.assert_allclose(found[1], expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("knots", [[0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 2.0], [-np.inf, 0.0, 1.0], [0.0, 1.0, np.inf], [-np.inf, 0.5, np.inf], [-np.inf, 1.0, 1.0]])
def test_lines_between_equal_and_infinite_knots_are_those_of_numpy(knots: list[float]) -> None:
    xp, fp = np.array(knots), np.array([1.0, 2.0, 5.0])
    x = np.array([-3.0, 0.0, 0.3, 0.5, 0.7, 1.0, 4.0, np.inf, -np.inf, np.nan])
    expected = np.interp(x, xp, fp)
    value, pull = ng.pullback(lambda x, fp: np.interp(x, xp, fp), x, fp)
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    np.testing.assert_allclose(ng.compile(lambda fp: np.interp(x, xp, fp))(fp), expected, rtol=1e-14)
    rows = ng.jacobian(lambda fp: np.interp(x[:-1], xp, fp))(fp)
    np.testing.assert_allclose(rows, np.stack([np.interp(x[:-1], xp, e) for e in np.eye(3)], -1), atol=1e-14)  # it is linear in these
    inner = np.abs(x - 0.3) < 0.3
    slopes = [richardson(lambda t: np.interp(x + t, xp, fp))[i] for i in np.flatnonzero(inner)]
    np.testing.assert_allclose(pull(np.ones(10))[0][inner], slopes, atol=1e-9)


@pytest.mark.parametrize("fp", [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [np.nan] * 2 + [3.0, 4.0] + [np.nan] * 2, [np.inf, np.inf, np.inf, np.nan, 5.0, -np.inf]])
def test_lines_between_several_infinite_knots_and_missing_cells_are_those_of_numpy(fp: list[float]) -> None:
    xp, fp = np.array([-np.inf, -np.inf, 0.0, 1.0, np.inf, np.inf]), np.array(fp)
    x = np.array([-np.inf, -5.0, 0.0, 0.5, 1.0, 5.0, np.inf])
    expected = np.interp(x, xp, fp)
    np.testing.assert_array_equal(ng.pullback(lambda fp: np.interp(x, xp, fp), fp)[0], expected)
    np.testing.assert_array_equal(ng.compile(lambda x: np.interp(x, xp, fp))(x), expected)


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("size", [np.inf, -np.inf])
def test_slopes_at_infinite_cells_are_those_of_numpy_where_distances_are_uneven(edge_order: int, size: float) -> None:
    """The cell itself counts by the difference of the distances: in the two secants it has opposite signs."""
    at = np.array([0.0, 1.0, 3.0, 4.0, 6.0, 7.0, 9.0])
    for places in ([0], [1], [2], [3], [2, 3], [1, 2, 3], [2, 4], [6]):
        x = np.array([1.0, 2.0, 4.0, 5.0, 7.0, 8.0, 6.0])
        x[places] = size
        with np.errstate(invalid="ignore"):
            expected = np.gradient(x, at, edge_order=edge_order)
            found = np.gradient(ng.positional(x), at, edge_order=edge_order).data
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    weigh = np.arange(1.0, 8.0)
    rows = np.stack([np.gradient(row, at, edge_order=edge_order) for row in np.eye(7)], -1)
    x[:] = [1.0, 2.0, size, 5.0, 7.0, 8.0, 6.0]
    with np.errstate(invalid="ignore"):
        slopes = ng.grad(lambda x: (np.gradient(x, at, edge_order=edge_order) * weigh).sum())(x)
    np.testing.assert_allclose(slopes, weigh @ rows, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("method", ["lower", "higher", "nearest", "inverted_cdf", "closest_observation"])
def test_quantiles_that_are_cells_do_not_see_infinite_ones_beside_them(method: str) -> None:
    a, q = np.array([[-np.inf, 2.0, np.inf], [1.0, np.inf, np.inf], [-np.inf, -np.inf, 5.0]]), [0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0]
    expected = np.quantile(a, q, axis=1, method=method)
    np.testing.assert_array_equal(ng.quantile(ng.DimArray(a, ("x", "y")), q, "y", method=method).data, expected)
    value, pull = ng.pullback(lambda a: np.nanquantile(a, q, axis=1, method=method), a)
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_allclose(pull(np.ones((7, 3))), np.sum([(a == e[:, None]) / (a == e[:, None]).sum(1, keepdims=True) for e in expected], 0))


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
@pytest.mark.parametrize("f", [
    lambda a: np.linspace(a[0], a[1], 4), lambda a: np.linspace(a, a + 1, 3, retstep=True)[1], lambda a: np.linspace(a[0], a[1], 1),
    lambda a: np.logspace(a[0], a[1], 3), lambda a: np.geomspace(a[0], a[1], 3), np.poly, lambda a: np.poly(np.outer(a, a) + np.diag(a)),
    lambda a: np.abs(np.roots(a)),
])  # fmt: skip
def test_precision_is_that_of_numpy(f: Callable[[Any], Any], dtype: str) -> None:
    x = np.array([1, 3, 2], dtype)
    expected, found = f(x), f(ng.positional(x))
    found = found.data if isinstance(found, ng.PositionalArray) else found
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5)


SOME = np.array([True, False, True])
OWN_DTYPE: dict[str, Callable[[Any], Any]] = {
    "round": lambda a: np.round(a, -1),
    "max of some": lambda a: np.max(a, where=SOME, initial=0),
    "min of some": lambda a: np.min(a, where=SOME, initial=90),
    "max from a float": lambda a: np.max(a, initial=np.float64(7.5)),
    "sum from a float": lambda a: np.sum(a, initial=np.float64(2.5)),
    "prod from a float": lambda a: np.prod(a, initial=np.float64(2.5)),
    "clip": lambda a: np.clip(a, 1, 20, dtype="float64"),
    "pad": lambda a: np.pad(a, 1, constant_values=3.75),
    "einsum": lambda a: np.einsum("i,i", a, a, dtype="complex128"),
    "vander": lambda a: np.vander(a, 3),
    "histogram": lambda a: np.histogram([1.0, 2.0, 5.0], 2, weights=a)[0],
    "isclose": lambda a: np.isclose(a, a[::-1], atol=9.0),
    "unwrap of nothing": lambda a: np.unwrap(a[:0]),
    "resize of nothing": lambda a: np.resize(a[:0], (2, 3)),
    "einsum of one": lambda a: np.einsum("ij->i", np.stack([a, a])),
    "matrix_power": lambda a: np.linalg.matrix_power(np.stack([a[:2], a[1:]]), 3),
    "matrix_power of 0": lambda a: np.linalg.matrix_power(np.stack([a[:2], a[1:]]), 0),
    "matrix_power below 0": lambda a: np.linalg.matrix_power(np.stack([a[:2], a[1:]]), -1),
    "a cell as quantile": lambda a: np.quantile(a, [0.3, 0.9], method="lower"),
    "mean of whole numbers": lambda a: np.mean(a, dtype="int64"),
    "imag": np.imag,
    "i0": lambda a: np.i0(a / a.dtype.type(9)),
}


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32"])
@pytest.mark.parametrize("name", OWN_DTYPE)
def test_dtypes_are_those_of_numpy(name: str, dtype: str) -> None:
    f, x = OWN_DTYPE[name], np.array([25, 4, 17], dtype)
    expected = f(x)
    batch = [ng.positional(np.stack([x, x]), vectorized=("b",))] if "histogram" not in name else []
    for found, ref in ((f(ng.positional(x)), expected), *((f(p).devectorize(), np.stack([expected] * 2)) for p in batch)):
        bare = found.data if isinstance(found, ng.PositionalArray) else found
        assert bare.dtype == ref.dtype
        np.testing.assert_allclose(bare, ref, rtol=1e-6)


OF_ONE_CELL: list[Callable[..., Any]] = [
    np.sum, np.prod, np.max, np.ptp, np.any, np.argmax, np.nansum, np.nanmean, np.nanmin, np.nanargmin, np.count_nonzero,
    np.cumsum, np.cumprod, np.nancumsum, np.argsort, np.add.reduce, np.maximum.reduce, np.logaddexp.reduce,
    lambda a, axis: np.max(a, axis, keepdims=True), np.squeeze, lambda a, axis: np.take(a, 0, axis),
    lambda a, axis: np.take(a, [[0, -1]], axis), lambda a, axis: np.repeat(a, 3, axis), lambda a, axis: np.repeat(a, [2], axis),
]  # fmt: skip


@pytest.mark.parametrize("f", OF_ONE_CELL)
@pytest.mark.parametrize("axis", [0, -1])
def test_a_single_cell_has_the_axes_that_numpy_grants_it(f: Callable[..., Any], axis: int) -> None:
    expected, found = f(np.array(3.0), axis=axis), f(ng.positional(np.array(3.0)), axis=axis)
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_array_equal(getattr(found, "data", found), expected)
    for refused in (1, (0,)):
        with pytest.raises(np.exceptions.AxisError):
            np.sum(ng.positional(np.array(3.0)), axis=refused)


def test_other_small_dtypes_are_those_of_numpy() -> None:
    for f, x in ((lambda a: np.einsum("ij->j", a), SOME[None]), (np.imag, SOME), (np.i0, np.ones(2, "float16"))):
        assert f(ng.positional(x)).dtype == f(x).dtype
        np.testing.assert_allclose(f(ng.positional(x)).data, f(x), rtol=1e-3)


def bare(found: Any) -> Any:
    return found if isinstance(found, (np.ndarray, np.generic)) else found.data


@pytest.mark.parametrize("f", [np.sum, np.prod, np.nansum, np.nanprod, np.add.reduce, np.multiply.reduce])
@pytest.mark.parametrize("kind", ["bool", "int8", "uint16", "float32"])
def test_sums_over_no_axes_have_the_dtype_of_sums(f: Callable[..., Any], kind: str) -> None:
    """Truth values are counted: two that are added make 2."""
    for a, axis in ((np.array(1, kind), None), (np.array(1, kind), 0), (np.ones(2, kind), ()), (np.ones((1, 2), kind), 0)):
        expected = np.add(*2 * [f(a, axis=axis)])
        for x in (ng.positional(a), ng.positional(np.stack([a, a]), vectorized=("b",))):
            twice = bare(np.add(*2 * [f(x, axis=axis)]))
            assert twice.dtype == expected.dtype
            np.testing.assert_array_equal(*np.broadcast_arrays(twice, expected))
    named = ng.DimArray(np.array(1, kind), ())
    assert named.sum().dtype == named.prod().dtype == np.sum(named.data).dtype


@pytest.mark.parametrize("f", [np.sum, np.prod, np.cumsum, np.cumprod, np.nansum, np.nancumsum, np.var])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32"])
def test_whole_numbers_are_reduced_in_the_dtype_asked_for(f: Callable[..., Any], dtype: str) -> None:
    a = np.array([[0, 1, 8] if f is np.var else [100, 103, 7], [1, 5, 9]])
    expected, found = f(a, axis=1, dtype=dtype), bare(f(ng.positional(a), axis=1, dtype=dtype))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("f", [np.var, np.std, np.nanvar, np.nanstd])
@pytest.mark.parametrize("kinds", [("float32", "float64", None), ("float64", "float32", None), ("float64", "float64", "float32"), ("int8", "float32", None), ("complex64", "complex128", None)])
def test_spreads_about_a_mean_of_another_precision_have_the_dtype_of_numpy(f: Callable[..., Any], kinds: tuple[Any, ...]) -> None:
    own, other, dtype = kinds
    a, mean = np.array([[1, 2, 6], [3, 4, 9]], own), np.array([[3], [5]], other)
    expected = f(a, axis=1, mean=mean, dtype=dtype, keepdims=True)
    found = bare(f(ng.positional(a), axis=1, mean=mean, dtype=dtype, keepdims=True))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_numbers_of_two_signs_or_none_are_compared_without_overflow() -> None:
    for a, b in (([1, 200], [2, 190]), ([True, False], [True, True])):
        x, y = (np.array(v, "uint8" if a[0] == 1 and a[1] == 200 else bool) for v in (a, b))
        np.testing.assert_array_equal(np.isclose(ng.positional(x), ng.positional(y), atol=1), np.isclose(x.astype(float), y, atol=1))
    assert np.max(ng.positional(SOME), where=~SOME, initial=False) == np.False_


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
@pytest.mark.parametrize("p", [[2], [0, 2, 0], [0, 0]])
def test_precision_of_roots_at_0_is_that_of_numpy(p: list[int], dtype: str) -> None:
    x = np.array(p, dtype)
    assert np.roots(ng.positional(x)).dtype == np.roots(x).dtype
    zeros = np.array([300, 301, 0], dtype)
    assert np.poly(ng.positional(zeros)).dtype == np.poly(zeros).dtype
    np.testing.assert_array_equal(np.poly(ng.positional(zeros)).data, [1, -601, 90300, 0])


def test_polynomials_of_matrices_that_turn_are_real() -> None:
    a = np.array([[0.2, -1.0, 0.1], [1.0, 0.1, 0.3], [0.2, 0.0, 2.0]])
    assert np.iscomplexobj(np.linalg.eigvals(a))
    expected = -np.eye(3), np.trace(a) * np.eye(3) - a.T, -np.linalg.det(a) * np.linalg.inv(a).T
    for k, slope in enumerate(expected, 1):
        np.testing.assert_allclose(ng.grad(lambda a, k=k: np.poly(a)[k])(a), slope, atol=1e-13)
