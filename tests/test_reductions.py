"""Reductions, scans and order beyond the grid: options against references, sizes, regressions, errors."""

from __future__ import annotations

import math
import warnings
from typing import Any

import dask.array
import numpy as np
import pytest
import scipy.integrate
import xarray as xr

import namedgrad as ng

NAN, INF = np.nan, np.inf
RNG = np.random.default_rng(11)
X = RNG.normal(size=(4, 7))
HOLES = np.where(RNG.uniform(size=X.shape) < 0.3, NAN, X)
A, G = ng.DimArray(X, ("a", "b")), ng.DimArray(HOLES, ("a", "b"))
NO_CELLS = ng.DimArray(np.zeros((2, 0)), ("a", "b"))


def gradient(f: Any, *values: Any) -> list[Any]:
    """Gradients of the sum of ``f`` weighted with 1, -2, 3, ... as plain lists."""
    arrays = [ng.DimArray(v, ("x", "y")[: np.ndim(v)]) for v in values]
    out, pull = ng.pullback(f, *arrays)
    weights = np.arange(1.0, out.size + 1) * (-1) ** np.arange(out.size)
    got = pull(ng.DimArray(weights.reshape(out.shape), out.dims))
    return [g.to_numpy().tolist() for g in (got if isinstance(got, tuple) else (got,))]


# ------------------------------------------------------------------------------------------------ against references


@pytest.mark.parametrize("name", ["sum", "prod"])
@pytest.mark.parametrize("min_count", [None, 1, 4, 8])
@pytest.mark.parametrize("skipna", [None, True, False])
def test_min_count_is_that_of_xarray(name: str, min_count: int | None, skipna: bool | None) -> None:
    expected = getattr(xr.DataArray(HOLES, dims=("a", "b")), name)("b", min_count=min_count, skipna=skipna)
    got = getattr(ng, name)(G, "b", min_count=min_count, skipna=skipna)
    np.testing.assert_allclose(got.data, expected.data, rtol=1e-13)


@pytest.mark.parametrize("ord", [2, 1, 3, np.inf])
def test_norms_that_are_masked_out_have_no_slope(ord: float) -> None:
    """Nor do missing or infinite cells of theirs reach the slopes of others, in both modes, compiled, and twice."""
    x, there = np.array([[np.nan, 1.0], [np.inf, 2.0], [0.0, 0.0], [3.0, 4.0]]), ng.DimArray([False, False, True, True], "a")
    a, alone = ng.DimArray(x, ("a", "b")), (x[3] / np.linalg.norm(x[3], ord)) ** (ord - 1)
    loss = lambda a: ng.where(there, ng.vector_norm(a, "b", ord=ord), 0.0).sum()
    for grad in (ng.grad(loss), ng.compile(ng.grad(loss))):
        np.testing.assert_allclose(grad(a).data, [[0.0, 0.0]] * 3 + [alone], rtol=1e-14)
    way = ng.ones({"a": 4, "b": 2})
    np.testing.assert_allclose(ng.pushforward(loss, (a,), (way,))[1].item(), ng.grad(loss)(a).data.sum(), rtol=1e-14)
    assert np.isfinite(ng.hvp(loss, a, way).data).all()


@pytest.mark.parametrize("ord", [0.5, 2, 3])
def test_infinite_norms_move_as_hypot_does(ord: float) -> None:
    """The slope is the sign in infinite cells, and 0 elsewhere, in both modes and compiled; finite vectors keep theirs."""
    a = ng.DimArray([[np.inf, 2.0, 5.0], [1.0, -np.inf, np.inf], [3.0, 4.0, 0.1]], ("a", "b"))
    length = lambda a: ng.vector_norm(a, "b", ord=ord).sum()
    finite = (a.data[2] / np.sum(a.data[2] ** ord) ** (1 / ord)) ** (ord - 1)
    for grad in (ng.grad(length), ng.compile(ng.grad(length))):
        np.testing.assert_allclose(grad(a).data, [[1, 0, 0], [0, -1, 1], finite], rtol=1e-13)
    way = ng.ones({"a": 3, "b": 3})
    np.testing.assert_allclose(ng.pushforward(length, (a,), (way,))[1].item(), 1 + finite.sum(), rtol=1e-13)
    assert ng.hypot(a[{"a": 0}][{"b": 0}], 2.0).item() == ng.norm(a[{"a": 0}]).item() == np.inf


@pytest.mark.parametrize("ord", [0.5, 2, 3])
def test_infinite_norms_of_complex_cells_are_those_of_their_sizes(ord: float) -> None:
    a = ng.DimArray([[complex(np.inf, 1), 2.0, 5j], [1j, complex(-np.inf, np.inf), 1.0], [np.inf, np.nan, 1j]], ("a", "b"))
    length = lambda a: ng.vector_norm(a, "b", ord=ord)
    with np.errstate(invalid="ignore"):
        expected = np.linalg.norm(np.abs(a.data), ord, axis=1)
        np.testing.assert_array_equal(length(a).data, expected)
        rows = a[{"a": [0, 1]}]
        for grad in (ng.grad(lambda a: length(a).sum()), ng.compile(ng.grad(lambda a: length(a).sum()))):
            np.testing.assert_array_equal(grad(rows).data, [[1, 0, 0], [0, -1 + 1j, 0]])


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("ddof", [0, 1, 2.5])
@pytest.mark.parametrize("data", [X, HOLES, X + 1j * X[::-1]])
def test_freedom_is_that_of_numpy(name: str, ddof: float, data: Any) -> None:
    expected = getattr(np, f"nan{name}" if np.isnan(data).any() else name)(data, axis=1, ddof=ddof)
    np.testing.assert_allclose(getattr(ng, name)(ng.DimArray(data, ("a", "b")), "b", ddof=ddof).data, expected, rtol=1e-13)


@pytest.mark.parametrize("data", [X, HOLES])
@pytest.mark.parametrize("weighted", [False, True])
def test_covariance_and_correlation_are_those_of_xarray(data: Any, weighted: bool) -> None:
    one, two = xr.DataArray(data, dims=("a", "b")), xr.DataArray(X[:, ::-1] ** 2, dims=("a", "b"))
    w = xr.DataArray(np.arange(1.0, 8.0), dims="b") if weighted else None
    mine = [ng.DimArray(v.data, v.dims) for v in (one, two)]
    own = {} if w is None else {"weights": ng.DimArray(w.data, ("b",))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = xr.cov(one, two, "b", **({} if w is None else {"weights": w})), xr.corr(one, two, "b", **({} if w is None else {"weights": w}))
    np.testing.assert_allclose(ng.cov(*mine, "b", **own).data, expected[0].data, rtol=1e-12)
    np.testing.assert_allclose(ng.corr(*mine, "b", **own).data, expected[1].data, rtol=1e-12)


def test_covariance_of_dims_of_one_array_is_a_matrix() -> None:
    np.testing.assert_allclose(ng.cov(A, A.rename(a="c"), "b").data, np.cov(X), rtol=1e-13)
    np.testing.assert_allclose(ng.corr(A, A.rename(a="c"), "b").data, np.corrcoef(X), rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int64, np.complex128])
def test_medians_of_whole_and_of_complex_numbers(dtype: Any, n: int) -> None:
    """Of whole numbers from the whole range, whose differences do not fit into it."""
    whole = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else np.iinfo(np.uint8)
    x = RNG.integers(whole.min, whole.max, n, endpoint=True, dtype=whole.dtype)
    x = x > 100 if dtype is np.bool_ else x * np.exp(1j * np.arange(n)) if dtype is np.complex128 else x
    wide = x if dtype is np.complex128 else x.astype(float)
    for found in (ng.median(ng.DimArray(x, "x")), ng.DimArray(x, "x").rolling(x=n).median().isel(x=-1)):
        np.testing.assert_allclose(found.data, np.median(wide), rtol=1e-12)
    if dtype is not np.complex128:
        np.testing.assert_allclose(ng.quantile(ng.DimArray(x, "x"), [0.3, 0.5]).data, np.quantile(wide, [0.3, 0.5]), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 11, 50, 101])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_quantiles_are_those_of_numpy_to_the_last_bit(n: int, gaps: float) -> None:
    """Programs compare cells with a quantile, and it is often one of them."""
    x = RNG.gamma(0.8, 5.0, (20, n))
    x[(RNG.random(x.shape) < gaps) & (np.arange(n) > 0)] = np.nan
    methods = ("linear", "hazen", "weibull", "median_unbiased", "midpoint")
    found: list[Any] = [lambda x, m=m: np.nanquantile(x, [0.05, 0.3, 0.5, 0.9, 0.95], axis=1, method=m) for m in methods]
    for f in (*found, lambda x: np.nanmedian(x, axis=1), lambda x: np.median(x, axis=1)):
        np.testing.assert_array_equal(ng.pullback(f, x)[0], f(x))
        np.testing.assert_array_equal(ng.compile(f)(x), f(x))
    excess = lambda x: np.where(x > np.nanquantile(x, 0.9, axis=1, keepdims=True), x, 0.0).sum()
    assert ng.value_and_grad(excess)(x)[0] == excess(x)


@pytest.mark.parametrize("name", ["max", "min", "median", "ptp"])
@pytest.mark.parametrize("dim", [None, "a"])
def test_both_modes_of_extremes_of_complex_numbers(name: str, dim: Any) -> None:
    """The tangent has an imaginary part as well as the value."""
    z, t = (RNG.normal(size=(5, 3)) + 1j * RNG.normal(size=(5, 3)) for _ in range(2))
    f = lambda z: getattr(np, name)(z, axis=None if dim is None else 0)
    named = [ng.DimArray(v, ("a", "b")) for v in (z, t)]
    own = lambda z: getattr(ng, name)(z, dim)
    slope = ng.pushforward(own, named[:1], named[1:])[1]
    np.testing.assert_allclose(slope.data, (f(z + 1e-6 * t) - f(z - 1e-6 * t)) / 2e-6, rtol=1e-8)
    c = slope * 0 + (0.3 - 1.2j)
    pulled = ng.pullback(own, named[0])[1](c).data
    np.testing.assert_allclose(np.sum(pulled.conj() * t).real, np.sum(c.data.conj() * slope.data).real, rtol=1e-12)


@pytest.mark.parametrize("q", [0.0, 1.0, 0.3, [0.5], [[0.1, 0.9], [0.2, 0.4]]])
def test_quantiles_of_integers(q: Any) -> None:
    counts = RNG.integers(0, 5, 12)
    if np.ndim(q) < 2:
        np.testing.assert_allclose(ng.quantile(ng.DimArray(counts, "x"), q).data, np.quantile(counts, q))


def test_numpy_spellings_on_named_arrays() -> None:
    for f in (np.nansum, np.nanmean, np.nanmax, np.nanmin, np.nanstd, np.nanvar, np.nanprod, np.nanmedian):
        np.testing.assert_allclose(f(G, axis="b").data, f(HOLES, axis=1), rtol=1e-13)
    np.testing.assert_allclose(np.nanquantile(G, 0.3, axis="b").data, np.nanquantile(HOLES, 0.3, axis=1), rtol=1e-13)
    np.testing.assert_allclose(np.ptp(A, axis="a").data, np.ptp(X, axis=0))
    np.testing.assert_allclose(np.trapezoid(A, axis="b").data, np.trapezoid(X, axis=1))


def test_several_levels_of_a_running_integral() -> None:
    x = np.sort(RNG.uniform(size=7))
    got = ng.cumulative_trapezoid(A, ng.DimArray(x, "b"), initial=0)
    np.testing.assert_allclose(got.data, scipy.integrate.cumulative_trapezoid(X, x, initial=0), rtol=1e-13)


# ------------------------------------------------------------------------------------------------ special places


def test_second_derivative_of_a_product_with_two_zeros() -> None:
    x = ng.DimArray([0.0, 2.0, 0.0, 5.0], "x")
    hessian = ng.hessian(lambda x: x.prod())(x).data
    expected = np.zeros((4, 4))
    expected[0, 2] = expected[2, 0] = 10.0
    np.testing.assert_array_equal(hessian, expected)


def test_third_derivative_of_a_running_product_at_zero() -> None:
    def third(x: Any) -> Any:
        g = ng.grad(lambda x: ng.cumprod(x, "x").isel(x=2))
        return ng.grad(lambda x: ng.grad(lambda x: g(x).isel(x=0))(x).isel(x=1))(x)

    assert third(ng.DimArray([0.0, 0.0, 0.0, 1.0], "x")).data.tolist() == [0, 0, 1, 0]


def test_products_that_leave_the_range_of_floats() -> None:
    assert gradient(lambda x: x.prod(), [1e-170, 1e-170, 1e170, 2.0])[0] == pytest.approx([2.0, 2.0, 0.0, 0.0])
    assert gradient(lambda x: ng.cumprod(x, "x"), [1e-200, 1e-200, 3.0])[0][1] == pytest.approx(1e-200 * (-2 + 3 * 3))


def test_long_recurrences_are_the_loop() -> None:
    a, b = RNG.normal(size=(2, 5000)), RNG.normal(size=(2, 5000))
    a /= np.abs(a).max()
    s = b.copy()
    for k in range(1, 5000):
        s[:, k] += a[:, k] * s[:, k - 1]
    from namedgrad.rules.scans import recurrence

    got = recurrence(ng.DimArray(a, ("y", "x")), ng.DimArray(b, ("y", "x")), "x")
    np.testing.assert_allclose(got.data, s, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("x", [[1, math.nan, 2, -1], [math.nan, 1, 2, 0], [1, -math.inf, math.nan, 3], [math.inf, math.nan, 1, 1]])
def test_a_cumulative_logarithm_keeps_nan(x: list[float]) -> None:
    got = ng.logcumsumexp(ng.DimArray(x, "x"), "x")
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(got.data, np.logaddexp.accumulate(x))


@pytest.mark.parametrize("rows", [1, 300])
def test_a_gate_of_0_lets_nothing_through(rows: int) -> None:
    from namedgrad.rules.scans import recurrence

    b = np.tile([math.nan, 1.0, math.inf, 2.0, 3.0, 4.0, math.inf, 5.0], (rows, 1))
    a = np.tile([1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0], (rows, 1))
    got = recurrence(ng.DimArray(a, ("y", "x")), ng.DimArray(b, ("y", "x")), "x")
    np.testing.assert_array_equal(got.data, np.tile([math.nan, 1, math.inf, 2, 5, 9, math.inf, 5], (rows, 1)))


def test_running_extremes_that_tie_keep_infinite_directions_in_their_run() -> None:
    x = ng.DimArray([[math.inf, 3.0, 2.0], [1.0, 1.0, 2.0]], ("y", "x"))  # a tie in one line
    t = ng.DimArray([[math.nan, 5.0, 7.0], [2.0, 4.0, 3.0]], ("y", "x"))
    _, pushed = ng.pushforward(lambda x: ng.cummin(x, "x"), (x,), (t,))
    np.testing.assert_array_equal(pushed.data, [[math.nan, 5, 7], [2, 3, 3]])
    _, pulled = ng.pullback(lambda x: ng.cummin(x, "x"), x)
    slope = pulled(t)
    np.testing.assert_array_equal(slope.data, [[math.nan, 5, 7], [5.5, 3.5, 0]])


def test_ties_of_running_extremes_share_in_both_modes() -> None:
    x = ng.DimArray([1.0, 3.0, 3.0, 2.0, 3.0], "x")
    jacobians = [ng.jacobian(lambda x: ng.cummax(x, "x"), mode=mode)(x).data for mode in ("forward", "reverse")]
    third = 1 / 3
    expected = [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0, 0], [0, third, third, 0, third]]
    for j in jacobians:
        np.testing.assert_allclose(j, expected, rtol=1e-15)


def test_ties_of_order_statistics_share_in_both_modes() -> None:
    x = ng.DimArray([2.0, 1.0, 2.0, 2.0, 7.0], "x")
    for f in (lambda x: x.median(), lambda x: x.quantile(0.25), lambda x: x.quantile(0.5, skipna=True)):
        for mode in ("forward", "reverse"):
            np.testing.assert_allclose(ng.jacobian(f, mode=mode)(x).data, [1 / 3, 0, 1 / 3, 1 / 3, 0], rtol=1e-15)


def test_a_missing_cell_has_gradient_zero_even_beside_infinity() -> None:
    for f in (ng.sum, ng.max, ng.nanmax, ng.median):
        assert gradient(f, [NAN, INF, 1.0])[0][0] == 0


@pytest.mark.parametrize("f", [ng.sum, ng.mean, ng.std, ng.var, ng.max, ng.min, ng.prod, ng.median, ng.vector_norm, ng.cumsum, ng.cumprod])
def test_constants_stay_finite(f: Any) -> None:
    for value in (0.0, 1.0, -3.0):
        assert np.isfinite(gradient(f, [value] * 4)[0]).all()


def test_positions_beside_values() -> None:
    x = ng.DimArray([3.0, 1.0, 3.0, 5.0, 0.0], "x")
    for call in (
        lambda: ng.topk(x, 3, return_indices=True),
        lambda: ng.kthvalue(x, 2, return_indices=True),
        lambda: ng.mode(x, return_indices=True),
        lambda: ng.cummax(x, return_indices=True),
        lambda: ng.cummin(x, return_indices=True),
    ):
        values, at = call()
        np.testing.assert_array_equal(x.isel(x=ng.DimArray(at.data, at.dims)).data, values.data)


def test_a_large_order_of_sorting_is_stable() -> None:
    x = RNG.integers(0, 50, 3000).astype(float)
    np.testing.assert_array_equal(ng.argsort(ng.DimArray(x, "x")).data, np.argsort(x, kind="stable"))
    x[::7] = NAN
    np.testing.assert_array_equal(ng.argsort(ng.DimArray(x, "x")).data, np.argsort(x, kind="stable"))


# ------------------------------------------------------------------------------------------------ sizes that values decide


def test_distinct_values_and_places() -> None:
    x = ng.DimArray([[0.0, 2.0], [2.0, 0.0]], ("x", "y"))
    assert ng.unique(x).data.tolist() == [0.0, 2.0]
    assert x.isel(ng.nonzero(x)).data.tolist() == [2.0, 2.0]
    assert np.unique(x).dims == ("unique",)
    for call in (lambda x: ng.unique(x).sum(), lambda x: ng.nonzero(x)["x"].sum()):
        with pytest.raises(ng.AxisError, match="slice"):
            call(x.vectorize("x"))
        with pytest.raises(ng.TraceError, match=r"ng\.compile"):
            ng.compile(call)(x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ng.sort(A), "dim= must name one of"),
        (lambda: ng.topk(A, 9, "b"), "k=9 of the 7 cells"),
        (lambda: ng.kthvalue(A, 0, "b"), "between 1 and 7"),
        (lambda: ng.partition(A, "b", kth=7), "out of range"),
        (lambda: ng.norm(A.expand_dims(c=2), ord=1), "vector_norm"),
        (lambda: ng.trapezoid(A), "dim= must name one of"),
        (lambda: ng.argmax(ng.DimArray([NAN, NAN], "x")), "all cells of a slice are NaN"),
        (lambda: ng.quantile(A, 1.5), "between 0 and 1"),
        (lambda: ng.quantile(A, 0.5, method="best"), "is not one of"),
        (lambda: ng.cummax(A, ("a", "b")), "along one dim"),
        (lambda: ng.cov(A, A, "z"), "no dim 'z'"),
        (lambda: ng.corr(A, A, ("b", "b")), "'b' occurs more than once"),
        (lambda: ng.max(NO_CELLS, "b"), "max: .* has no cells along 'b'"),
        (lambda: ng.ptp(NO_CELLS), "has no cells along 'b'"),
        (lambda: ng.argmin(NO_CELLS), "argmin: .* has no cells along 'b'"),
        (lambda: ng.mode(NO_CELLS, "b"), "mode: .* has no cells along 'b'"),
        (lambda: ng.grad(lambda x: x.min("b").sum())(NO_CELLS), "has no cells along 'b'"),
        (lambda: ng.compile(ng.max)(NO_CELLS), "has no cells along 'b'"),
        (lambda: ng.cumulative_integrate(A), "dim= must name one of"),
        (lambda: ng.detrend(A, None), "dim= must name one of"),
        (lambda: A.vectorize("b").var("b"), "vectorized"),
    ],
)
def test_errors_say_what_is_wrong(call: Any, message: str) -> None:
    with pytest.raises((ValueError, IndexError), match=message):
        call()


def test_cells_are_asked_for_only_where_one_is_needed() -> None:
    empty = ng.DimArray(np.zeros((0, 3)), ("a", "b"))
    assert ng.max(empty, "b").shape == ng.argmax(empty, "b").shape == (0,)
    with pytest.raises(ValueError, match="along 'a'"):
        ng.max(empty, "a")


@pytest.mark.parametrize("x", [[1, np.inf, 2], [-np.inf, 2], [np.inf, 1], [1, -np.inf, 2, np.inf], [-np.inf, -np.inf, 3], [1, 2, np.inf, 0]])
def test_a_median_beside_infinite_cells(x: list[float]) -> None:
    found = ng.median(ng.DimArray(np.array(x, float), "x")).data
    np.testing.assert_array_equal(found, np.median(np.array(x, float)))


def test_quantiles_beside_infinite_cells() -> None:
    x = ng.DimArray(np.array([1.0, 2.0, np.inf, 0.0, -np.inf]), "x")
    np.testing.assert_array_equal(ng.quantile(x, [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0], "x").data, [-np.inf, -np.inf, 0, 1, 2, np.inf, np.inf])
    slope = ng.grad(lambda x: x.quantile(0.75, "x"))(x).data
    np.testing.assert_array_equal(slope, [0, 1, 0, 0, 0])
    rolled = ng.DimArray(np.array([1.0, np.inf, 2, 3, -np.inf, 0]), "x").rolling(x=3).median().data
    np.testing.assert_array_equal(rolled[2:], [2, 3, 2, 0])


def test_a_quantile_is_differentiable_in_its_level() -> None:
    x = np.random.default_rng(2).normal(size=(6, 3))
    named, q, h = ng.DimArray(x, ("t", "s")), np.array([0.27, 0.66]), 1e-6
    levels = ng.DimArray(q, ("level",))
    out = ng.quantile(named, levels, "t")
    assert out.dims == ("level", "s")
    np.testing.assert_allclose(out.data, np.quantile(x, q, axis=0), rtol=1e-12)
    slope = ng.grad(lambda q: (ng.quantile(named, q, "t") ** 2).sum())(levels).data
    up, down = (np.quantile(x, q + s, axis=0) ** 2 for s in (h, -h))
    np.testing.assert_allclose(slope, (up - down).sum(1) / (2 * h), rtol=1e-7)
    one_each = ng.grad(lambda q: ng.quantile(named, q).sum())(levels.vectorize("level")).devectorize().data
    want = [(np.quantile(x, v + h) - np.quantile(x, v - h)) / (2 * h) for v in q]
    np.testing.assert_allclose(one_each, want, rtol=1e-7)
    with pytest.raises(ValueError, match="between 0 and 1"):
        ng.quantile(named, 2 * levels, "t")


@pytest.mark.parametrize("transform", [ng.grad, lambda f: ng.compile(ng.grad(f))])
@pytest.mark.parametrize("q", [0.0, 0.25, 0.5])
def test_the_level_of_a_cell_has_the_slope_of_the_way_to_the_next(q: float, transform: Any) -> None:
    x, h = np.array([[3.0, -1.0, 8.0, 0.5, 1.5], [3.0, -1.0, INF, 0.5, 1.5]]), 2.0**-12
    want = [(np.quantile(row, q + h) - np.quantile(row, q)) / h for row in x]
    both, one = ng.DimArray(x, ("b", "x"), vectorized=("b",)), ng.DimArray(x[0], "x")
    lazy = ng.DimArray(dask.array.from_array(x[0], chunks=2), "x")
    for values, expected in ((both, want), (one, want[0]), (lazy, want[0])):
        slope = transform(lambda q: ng.quantile(values, q, "x"))(ng.DimArray(q, ()))  # noqa: B023
        np.testing.assert_allclose(slope.devectorize().to_numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize("f", [ng.cov, ng.corr])
def test_weighted_moments_of_vectorized_operands(f):
    x, y, w = RNG.normal(size=(2, 5)), RNG.normal(size=5), RNG.uniform(1, 2, size=5)
    y, w = ng.DimArray(y, "n"), ng.DimArray(w, "n")
    batch = ng.DimArray(x, ("row", "n")).vectorize("row")
    heavy = ng.DimArray(np.stack([w.data, w.data[::-1]]), ("other", "n")).vectorize("other")
    for a, b, weights in ((batch, y, w), (y, batch, w), (batch, batch, w), (batch, y, heavy)):
        got = f(a, b, "n", weights=weights)
        for i in range(2):
            for j in range(2 if weights is heavy else 1):
                one = [ng.DimArray(x[i], "n") if v is batch else v for v in (a, b)]
                by = ng.DimArray(heavy.data[j], "n") if weights is heavy else w
                p, q = (v.data for v in one)
                p, q = p - np.average(p, weights=by.data), q - np.average(q, weights=by.data)
                pq, pp, qq = (np.average(v, weights=by.data) for v in (p * q, p * p, q * q))
                want = pq / np.sqrt(pp * qq) if f is ng.corr else pq * 5 / 4
                cell = got.devectorize().transpose(*sorted(got.vectorized, reverse=True)).data
                np.testing.assert_allclose(cell[(i, j) if weights is heavy else (i,)], want, rtol=1e-12)


@pytest.mark.parametrize("call", [
    lambda x: ng.exp(x, where=x > 1), lambda x: ng.exp(x, dtype="f4"), lambda x: ng.cos(x, dim="c"),
    lambda x: ng.exp(x, x), lambda x: ng.add(x, x, where=x > 1), lambda x: ng.add(x),
])  # fmt: skip
def test_unknown_arguments_are_refused(call):
    with pytest.raises(TypeError, match=r"operands by position and no keyword"):
        call(ng.DimArray([1.0, 2.0], "c"))


# ------------------------------------------------------------------------------------------------ NaN and infinity as results


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("skipna", [True, False])
@pytest.mark.parametrize(("name", "extreme"), [("cummax", np.max), ("cummin", np.min)])
def test_running_extremes_share_what_holds_them(name: str, extreme: Any, skipna: bool, mode: str) -> None:
    for x in RNG.choice([NAN, INF, -INF, 1.0, 2.0, 2.0, 3.0], (20, 5)):
        expected = np.zeros((5, 5))
        for i in range(5):
            seen = x[: i + 1]
            there = seen[~np.isnan(seen)] if skipna else seen
            top = extreme(there) if there.size else 0.0
            hits = np.isnan(seen) if np.isnan(top) else seen == top
            expected[i, : i + 1] = hits / max(hits.sum(), 1)
        found = ng.jacobian(lambda a: getattr(ng, name)(a, "x", skipna=skipna), mode=mode)(ng.DimArray(x, "x"))
        np.testing.assert_array_equal(found.data, expected)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("f", [np.max, np.min, np.median, lambda x: np.quantile(x, 0.3)])
def test_cells_that_are_nan_share_the_gradient_of_nan(f: Any, mode: str) -> None:
    for x in ([NAN, 1.0, NAN, INF], [NAN], [1.0, NAN]):
        share = np.isnan(x) / np.isnan(x).sum()
        np.testing.assert_array_equal(ng.jacobian(f, mode=mode)(np.array(x)), share)
    np.testing.assert_array_equal(ng.jacobian(lambda x: x.max(), mode=mode)(ng.DimArray([NAN, NAN], "x")).data, 0)


@pytest.mark.parametrize("x", [[INF, 1.0], [1.0, INF, INF, 2.0], [-INF, 1.0, INF], [2.0, -INF], [-INF, -INF], [INF, -INF, INF]])
def test_sums_of_exponentials_at_infinity_are_those_of_pairs(x: list[float]) -> None:
    """The derivative is the limit in which all infinite cells grow alike."""
    near = np.array([400.0 if v == INF else v for v in x])
    share = np.exp(near - 400) / np.exp(near - 400).sum() if INF in x else np.nan_to_num(np.exp(near) / max(np.exp(near).sum(), 1e-9))
    a = ng.DimArray(np.array(x), "x")
    assert ng.logsumexp(a).item() == np.logaddexp.reduce(x)
    np.testing.assert_allclose(ng.grad(ng.logsumexp)(a).data, share, atol=1e-170)
    np.testing.assert_allclose(ng.hessian(ng.logsumexp)(a).data, np.diag(share) - np.outer(share, share), atol=1e-170)
    np.testing.assert_allclose(ng.jacobian(ng.logcumsumexp)(a).data[-1], share, atol=1e-170)
    np.testing.assert_array_equal(ng.logcumsumexp(a).data, np.logaddexp.accumulate(x))


@pytest.mark.parametrize(("x", "slope"), [(INF, 1.0), (-INF, 0.0), (0.5, 1.0)])
def test_the_sum_of_one_exponential(x: float, slope: float) -> None:
    assert ng.logsumexp(x).item() == x
    assert ng.grad(ng.logsumexp)(x) == slope


@pytest.mark.parametrize("scale", [1e-25, 1e-20, 1.0, 1e25])
def test_slopes_of_np_std_are_those_of_the_shape(scale: float) -> None:
    x = np.array([1.0, 3.0, 8.0], np.float32) * np.float32(scale)
    expected = (np.array([1.0, 3.0, 8.0]) - 4) / (3 * np.std([1.0, 3.0, 8.0]))
    for f in (np.std, np.nanstd):
        np.testing.assert_allclose(ng.grad(f)(x), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value", [0.1, 0.7, 330000.1, -1e-30])
def test_deviations_of_equal_cells_have_no_slope_where_their_mean_is_rounded(value: float, dtype: str) -> None:
    """What is added to all cells changes nothing: slopes add up to 0, and are all alike."""
    x = np.full((2, 6), value, dtype)
    x[1] += np.arange(6)
    spread = (np.arange(6) - 2.5) / (6 * np.std(np.arange(6)))
    for f in (np.std, np.nanstd, lambda x, axis: np.sqrt(np.var(x, axis))):
        grad = ng.grad(lambda x, f=f: f(x, 1).sum())
        for slopes in (grad(x), ng.compile(grad)(x)):
            np.testing.assert_allclose(slopes, [np.zeros(6), spread], atol=2e-2 if dtype == "float32" else 1e-9)
    cells = xr.DataArray(x, dims=("row", "t"), coords={"t": [0, 0, 0, 1, 1, 1]})
    for g in (lambda x: x.groupby("t").std(), lambda x: x.coarsen(t=3).std(), lambda x: x.expand_dims(k=3).std("k")):
        np.testing.assert_allclose(ng.grad(lambda x, g=g: g(x).sum())(cells).data[0], 0, atol=1e-5)


@pytest.mark.parametrize("dtype", ["int64", "int8", "bool"])
def test_correlations_of_integers_of_which_a_row_is_constant(dtype: str) -> None:
    x = np.array([[1, 0, 1, 1], [1, 1, 1, 1]]).astype(dtype)
    found = ng.corr(ng.DimArray(x, ("i", "j")), ng.DimArray(x[0], ("j",)), "j").data
    np.testing.assert_allclose(found, [1.0, np.nan], rtol=1e-15)


def test_the_deviation_of_a_group_with_a_complex_infinity_is_nan() -> None:
    x = ng.DimArray([1e200 + 1j, np.inf, 2.0, 4.0], ("i",))
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(ng.segment_std(x, [0, 0, 1, 1], "i").data, [np.nan, 1.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int8])
def test_logsumexp_of_no_cells_has_the_dtype_of_others(dtype):
    some, none = (ng.logsumexp(ng.DimArray(np.zeros((n, 2), dtype), ("a", "b")), "a") for n in (3, 0))
    assert none.dtype == some.dtype
    np.testing.assert_array_equal(none.data, -np.inf)


SUMS = ["sum", "prod", "cumsum", "cumprod"]
IN_FLOATS = [("f4", "f8"), ("f8", "f4"), ("f2", "f4"), ("f4", "f2"), ("i4", "f4")]
IN_INTEGERS = [("f8", "i8"), ("i8", "i1"), ("?", "i4")]


@pytest.mark.parametrize(
    ("name", "given", "asked"),
    [(n, *d) for n in [*SUMS, "mean", "var", "std"] for d in IN_FLOATS] + [(n, *d) for n in SUMS for d in IN_INTEGERS],
)
def test_dtype_is_that_of_xarray(name: str, given: str, asked: str) -> None:
    x = (np.abs(X) * 5 + 40 * (asked == "i1")).astype(given)
    expected = getattr(xr.DataArray(x, dims=("a", "b")), name)("b", dtype=asked)
    array, eps = ng.DimArray(x, ("a", "b")), max(np.finfo(v).eps for v in (given, asked, "f8") if v[0] == "f")
    for found in (getattr(array, name)("b", dtype=asked), getattr(np, name)(array, axis="b", dtype=asked)):
        assert found.dtype == expected.dtype == np.dtype(asked)
        np.testing.assert_allclose(found.data, expected.data, rtol=8 * eps)


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("asked", ["i8", "u1", "?"])
def test_nan_is_left_out_before_it_would_be_a_whole_number(name: str, asked: str) -> None:
    x = np.array([[1.6, np.nan, 2.7], [0.0, np.nan, np.nan]])
    expected = getattr(xr.DataArray(x, dims=("a", "b")), name)("b", dtype=asked)
    array = ng.DimArray(x, ("a", "b"))
    for found in (getattr(array, name)("b", dtype=asked), ng.compile(lambda x: getattr(x, name)("b", dtype=asked))(array)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.data, expected.data)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_what_may_be_nan_is_refused_in_whole_numbers(name: str) -> None:
    x = np.array([1.6, np.nan])
    with pytest.raises(TypeError):
        getattr(xr.DataArray(x), name)(dtype="i8")
    with pytest.raises(TypeError, match="has no NaN"):
        getattr(ng.DimArray(x, ("a",)), name)(dtype="i8")


def test_the_gradient_of_a_sum_in_another_dtype_has_that_of_the_operand() -> None:
    x = ng.DimArray(np.array([3.0, 1e8, -1e8], "f4"), ("x",))
    assert x.sum("x", dtype="f8").item() == 3.0
    value, found = ng.value_and_grad(lambda x: (x * x).mean(dtype="f8"))(x)
    assert (value.dtype, found.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(found.data, np.array([2.0, 2e8 / 3, -2e8 / 3]), rtol=1e-6)


@pytest.mark.parametrize("gap", [False, True])
def test_weights_do_not_turn_the_dims_of_an_average(gap: bool) -> None:
    """Neither where no cell is missing, nor where that is not known."""
    x = ng.DimArray([[1.0, 2.0, np.nan if gap else 4.0], [0.5, 3.0, 5.0]], ("x", "z"))
    weights = ng.DimArray([[1.0, 2.0], [3.0, 1.0]], ("y", "x"))
    f = lambda x: ng.average(x, weights, "x")
    assert f(x).dims == ng.compile(f)(x).dims == ng.pullback(f, x)[0].dims == ("z", "y")
    expected = [[np.average(column[seen], weights=w[seen]) for w in weights.data] for column in x.data.T for seen in [~np.isnan(column)]]
    np.testing.assert_allclose(f(x).data, expected)
