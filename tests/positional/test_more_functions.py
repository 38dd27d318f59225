"""NumPy's functions between ends, of sets, polynomials, lines and runs, and histograms: NumPy, finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.integrate
import xarray as xr

import namedgrad as ng
from tests.support import fake_cupy
from tests.support.oracles import richardson
from tests.support.tolerances import FIRST, assert_close

NUMPY = np.lib.NumpyVersion(np.__version__)
RNG = np.random.default_rng(11)
V, W, POS = RNG.normal(size=6), RNG.normal(size=4), RNG.uniform(0.5, 2.0, size=3)
A, SAMPLE = RNG.normal(size=(3, 4)), RNG.uniform(size=(6, 2))
TIED = np.array([0.3, -1.2, 0.7])
INT = np.array([0, 2, 2, 5, 1])

# Each gives one array, from float arrays.
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "linspace": (lambda a, b: np.linspace(a, b, 5), (V[0], V[1])),
    "linspace of arrays": (lambda a, b: np.linspace(a, b, 4, axis=-1), (A, W)),
    "linspace without end": (lambda a: np.linspace(a, 2.0, 4, endpoint=False), (W,)),
    "linspace of one": (lambda a, b: np.linspace(a, b, 1), (W, W + 1)),
    "linspace of none": (lambda a, b: np.linspace(a, b, 0), (W, W + 1)),
    "linspace's step": (lambda a, b: np.linspace(a, b, 5, retstep=True)[1], (W, W + 1)),
    "logspace": (lambda a, b: np.logspace(a, b, 4), (V[:2], V[2:4])),
    "logspace of a base": (lambda a, b: np.logspace(0.5, a, 3, base=b), (W[:3], POS)),
    "geomspace": (lambda a, b: np.geomspace(a, b, 5), (POS, POS[::-1] + 0.3)),
    "geomspace below 0": (lambda a, b: np.geomspace(a, b, 3, endpoint=False), (-POS, -POS - 1)),
    "vectors by the upper half": (lambda a: np.linalg.eigh(a + a.T, "U")[1], (np.diag([1.0, 3.0, 6.0]) + A[:, :3] / 5,)),
    "left vectors of the symmetric": (lambda a: np.linalg.svd(a + a.T, hermitian=True)[0], (np.diag([1.0, -3.0, 6.0]) + A[:, :3] / 5,)),
    "right vectors of the symmetric": (lambda a: np.linalg.svd(a + a.T, hermitian=True).Vh, (np.diag([2.0, -5.0]) + 0.3,)),
    "singular values of the symmetric": (lambda a: np.linalg.svd(a + a.T, full_matrices=False, compute_uv=False, hermitian=True), (np.diag([1.0, -3.0]),)),
    "convolve in mode 2": (lambda a, v: np.convolve(a, v, 2), (V, W)),
    "correlate in mode 1": (lambda a, v: np.correlate(a, v, mode=1), (V, W)),
    "covariances of coefficients, unscaled": (lambda y: np.polyfit(W, y, 1, cov="unscaled")[1] + y[0], (A[:2].T.copy(),)),
    "unique": (np.unique, (np.array([3.0, 1.0, 2.0]),)),
    "unique rows": (lambda a: np.unique(a, axis=0), (A,)),
    "unique_values": (np.unique_values, (np.array([3.0, 1.0, 2.0]),)),
    "unique_counts": (lambda a: np.unique_counts(a).values, (np.array([3.0, 1.0, 2.0]),)),
    "union1d": (np.union1d, (V, W)),
    "setdiff1d": (lambda a: np.setdiff1d(np.concatenate([a, TIED[:1]]), TIED), (np.array([2.0, 0.9]),)),
    "setxor1d": (lambda a, b: np.setxor1d(a, b), (V, W)),
    "logaddexp.reduce": (np.logaddexp.reduce, (A,)),
    "logaddexp.reduce of some": (lambda a: np.logaddexp.reduce(a, axis=1, keepdims=True, initial=0.3, where=A > -0.5), (A,)),
    "hypot.reduce": (lambda a: np.hypot.reduce(a, axis=(0, 1)), (A,)),
    "fmax.reduce": (lambda a: np.fmax.reduce(a, axis=1, initial=0.1), (A,)),
    "fmin.reduce": (lambda a: np.fmin.reduce(np.where(A > 1, np.nan, a)), (A,)),
    "logaddexp2.reduce": (lambda a: np.logaddexp2.reduce(a, axis=(1, 0), keepdims=True), (A,)),
    "logaddexp2.reduce of some": (lambda a: np.logaddexp2.reduce(a, where=A > -0.5), (A,)),
    "arctan2.reduce": (np.arctan2.reduce, (A,)),
    "arctan2.reduce of some": (lambda a: np.arctan2.reduce(a, initial=0.3, where=A > -0.5), (A,)),
    "hypot.accumulate": (lambda a: np.hypot.accumulate(a, axis=1), (A,)),
    "maximum.reduce in a dtype": (lambda a: np.maximum.reduce(a, 1, dtype=np.float64), (A,)),
    "a single True": (lambda a: a[(True,)] ** 2, (A,)),
    "subtract.reduce": (np.subtract.reduce, (A,)),
    "subtract.reduce of some": (lambda a: np.subtract.reduce(a, axis=1, keepdims=True, initial=0.3, where=A > -0.5), (A,)),
    "subtract.accumulate": (lambda a: np.subtract.accumulate(a, axis=-1), (A,)),
    "divide.reduce": (lambda a: np.divide.reduce(a, axis=(1,)), (A,)),
    "divide.reduce of numbers": (lambda a: np.true_divide.reduce(a, axis=None, initial=2.0), (V,)),
    "divide.accumulate": (np.divide.accumulate, (A,)),
    "accumulate into an array": (lambda a: np.maximum.accumulate(a, out=np.zeros_like(a)), (A,)),
    "quantile in its levels": (lambda q: np.quantile(A, q, axis=0), (np.array([0.17, 0.52]),)),
    "quantile in both": (lambda a, q: np.quantile(a, q, axis=1, method="hazen"), (A, np.array([[0.3], [0.7]]))),
    "weighted quantile": (lambda a: np.quantile(a, 0.4, weights=A**2, method="inverted_cdf"), (A,)),
    "weighted quantiles along an axis": (
        lambda a: np.nanquantile(np.where(A > 1, np.nan, a), [0.0, 0.5, 1.0], 1, weights=A**2, method="inverted_cdf"), (A,)
    ),
    "weighted percentiles along axes": (
        lambda a: np.percentile(a, [30.0, 75.0], (1, 0), weights=A.T**2, method="inverted_cdf", keepdims=True), (A,)
    ),
    "percentile in its level": (lambda q: np.percentile(A, q), (np.array(37.0),)),
    "trim_zeros": (lambda a: np.trim_zeros(np.concatenate([a[:1] * 0, a, a[:2] * 0])), (W,)),
    "sort_complex": (lambda a: np.sort_complex(a).real, (W,)),
    "histogram": (lambda w: np.histogram(SAMPLE[:, 0], 3, (0.1, 0.9), weights=w)[0], (V,)),
    "histogram of edges": (lambda w: np.histogram(SAMPLE[:, 0], [0.0, 0.2, 1.0], weights=w)[0], (V,)),
    "histogram, density": (lambda w: np.histogram(SAMPLE[:, 0], 3, density=True, weights=w)[0], (V**2 + 1,)),
    "histogram's edges": (lambda a: np.histogram(a, 4)[1], (V,)),
    "histogram_bin_edges": (lambda a: np.histogram_bin_edges(a, "sturges"), (V,)),
    "density of moving samples": (lambda a, w: np.histogram(a, 3, density=True, weights=w)[0], (V, V**2 + 1)),
    "histogram2d's edges": (lambda a, b: np.histogram2d(a, b, (2, [-3.0, 0.0, 4.0]))[1], (V, V + 1)),
    "histogram2d of edges": (lambda w: np.histogram2d(*SAMPLE.T, [0.0, 0.3, 0.6, 1.0], weights=w)[0], (V,)),
    "histogram2d": (lambda w: np.histogram2d(*SAMPLE.T, (2, 3), weights=w)[0], (V,)),
    "histogramdd": (lambda w: np.histogramdd(SAMPLE, (3, 2), density=True, weights=w)[0], (V**2 + 1,)),
    "insert several at one place": (lambda a, b: np.insert(a, 1, b), (V, W)),
    "insert several at one listed": (lambda a, b: np.insert(a, [1], b, axis=1), (A, np.arange(6.0).reshape(3, 2))),
    "insert at a slice": (lambda a, b: np.insert(a, slice(1, 3), b, axis=1), (A, V[:2])),
    **({"insert at a mask": (lambda a, b: np.insert(a, np.array([False, True, False, True]), b), (W, V[:2]))} if NUMPY >= "2.2.0" else {}),
    "insert at no place": (lambda a: np.insert(a, [], []), (V,)),
    "unwrap in its period": (lambda a, p: np.unwrap(5 * a, period=p), (V, np.array(3.1))),
    "nanvar about a mean": (lambda a, m: np.nanvar(np.where(A > 1, np.nan, a), 1, keepdims=True, mean=m), (A, V[:3, None])),
    "nanstd of some about a mean": (lambda a, m: np.nanstd(a, 0, correction=0.5, where=A < 1, mean=m), (A, W)),
    "diff of order 0": (lambda a, b: np.diff(a, 0, prepend=b, append=b), (V, W)),
    "polyadd": (np.polyadd, (V, W)),
    "polysub": (np.polysub, (W, V)),
    "polymul": (np.polymul, (V, W)),
    "polyder": (lambda p: np.polyder(p, 2), (V,)),
    "polyint": (lambda p, k: np.polyint(p, 2, k), (W, V[:2])),
    "polydiv": (lambda u, v: np.polydiv(u, v)[0], (V, W + 2)),
    "polydiv's remainder": (lambda u, v: np.polydiv(u, v)[1], (V, W + 2)),
    "polydiv by a longer one": (lambda u, v: np.polydiv(u, v)[1], (W, V + 2)),
    "poly": (np.poly, (W,)),
    "roots": (lambda p: np.sort(np.abs(np.roots(p))), (np.array([2.0, -3.0, -11.0, 6.0]),)),
    "roots with zeros": (lambda p: np.sort(np.roots(np.concatenate([p, np.zeros(2)])).real), (np.array([1.0, -3.0, 2.0]),)),
    "apply_along_axis": (lambda a: np.apply_along_axis(lambda r: r.sum() * r, 0, a), (A,)),
    "apply_along_axis, to numbers": (lambda a: np.apply_along_axis(lambda r, s: (r**s).sum(), 1, a, 2), (A,)),
    "apply_along_axis, to tables": (lambda a: np.apply_along_axis(lambda r: np.outer(r, r[:2]), 1, a), (A,)),
    "apply_along_axis, to constants": (lambda a: np.apply_along_axis(lambda r: np.arange(2.0), 0, a) * a[:2], (A,)),
    "apply_over_axes": (lambda a: np.apply_over_axes(np.sum, a, [0, 1]), (A,)),
    "add.reduceat": (lambda a: np.add.reduceat(a, INT, axis=0), (V,)),
    "multiply.reduceat": (lambda a: np.multiply.reduceat(a, [0, 2], axis=1), (A,)),
    "maximum.reduceat": (lambda a: np.maximum.reduceat(a, [1, 3], axis=1), (A,)),
    "minimum.reduceat": (lambda a: np.minimum.reduceat(a, [0, 1]), (A,)),
    "logaddexp.reduceat": (lambda a: np.logaddexp.reduceat(a, [2, 0, 1, 1], axis=1), (A,)),
    "subtract.reduceat": (lambda a: np.subtract.reduceat(a, INT), (V,)),
    "divide.reduceat": (lambda a: np.divide.reduceat(a, [0, 2, 2], axis=-1), (A,)),
    "hypot.reduceat": (lambda a: np.hypot.reduceat(a, [1, 0]), (A,)),
    "power.reduceat": (lambda a: np.power.reduceat(a**2, [0, 2], axis=1), (A,)),
}


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_weighted_quantiles_pick_the_cells_that_numpy_picks(name: str) -> None:
    """Where levels meet steps of the weights, weights are 0, cells tie or are missing; in both precisions of the levels."""
    f, w = getattr(np, name), np.array([0.0, 2.0, 2.0, 0.0, 4.0, 2.0])
    for row in ([3.0, 1.0, 2.0, 1.0, 5.0, 2.0], [0.0, 1.0, 2.0, 9.0, 3.0, 4.0], [3.0, np.nan, 2.0, np.nan, 5.0, 4.0]):
        x = np.array(row)
        for q in (0.0, 0.2, 1.0, np.array([0.0, 0.2, 0.4, 0.8, 1.0]), np.array([0.2, 0.4], "float32")):
            seen: list[Any] = []
            rows = ng.jacobian(lambda x, q=q, s=seen: (s.append(f(x, q, weights=w, method="inverted_cdf")), s[-1])[1])(x)
            expected = f(x, q, weights=w, method="inverted_cdf")
            np.testing.assert_array_equal(ng.stop_gradient(seen[0]), expected)
            for line, value in zip(np.atleast_2d(rows), np.atleast_1d(expected), strict=True):
                there = (x == value) & (w > 0)  # a cell without weight takes no part in a tie
                if there.any():
                    np.testing.assert_allclose(line, there / there.sum())
    assert not ng.grad(lambda w: np.quantile(np.arange(3.0), 0.3, weights=w, method="inverted_cdf"))(np.ones(3)).any()
    table = xr.DataArray(np.array([x, x[::-1], x + w]), dims=("row", "cell"))
    slope = ng.grad(lambda a: xr.DataArray(f(a.data, 0.4, weights=w, method="inverted_cdf")), over="row")(table)
    alone = [ng.grad(lambda a: f(a, 0.4, weights=w, method="inverted_cdf"))(row) for row in table.data]
    np.testing.assert_array_equal(slope.data, alone)


def test_weights_of_quantiles_are_refused_where_numpy_refuses_them() -> None:
    for options, error in (
        ({"method": "linear", "weights": [1.0, 2.0, 0.0]}, ValueError), ({"weights": [1.0, -1.0, 0.0]}, ValueError), ({"weights": [1.0, 2.0], "axis": 0}, ValueError),
        ({"weights": [0.0, 0.0, 0.0]}, ValueError), ({"weights": [1.0, np.nan, 0.0]}, ValueError), ({"weights": np.ones((3, 1))}, TypeError),
    ):  # fmt: skip
        for f in (np.quantile, ng.grad(lambda x, q, **o: np.quantile(x, q, **o))):
            with pytest.raises(error, match=r"eight|Axis"), np.errstate(invalid="ignore"):
                f(np.arange(3.0), 0.5, **{"method": "inverted_cdf", **options})


def test_polynomials_that_take_values_out_say_what_to_use() -> None:
    x, c = np.array([0.2, 0.5]), np.array([1.0, -2.0, 3.0])
    chebyshev = np.polynomial.chebyshev
    for f, at in ((lambda x: np.polynomial.Chebyshev(c)(x), x), (lambda c: chebyshev.chebval(x, c), c)):
        with pytest.raises(ng.TraceError, match=r"np\.polynomial.*polyvander"):
            ng.grad(lambda v, f=f: f(v).sum())(at)
    rows = ng.jacobian(lambda c: chebyshev.chebvander(x, 2) @ c)(c)
    np.testing.assert_allclose(rows, np.stack([np.ones(2), x, 2 * x**2 - 1], -1))
    slopes = ng.grad(lambda x: chebyshev.chebval(x, c).sum())(x)
    np.testing.assert_allclose(slopes, c[1] + 4 * c[2] * x)


def test_differences_and_quotients_of_several_axes_have_no_order() -> None:
    """And those of no cells, or of some of them, no beginning; as in NumPy, also in the dtypes of integers."""
    x = np.arange(6.0).reshape(2, 3)
    for options in ({"axis": None}, {"axis": (0, 1)}, {"where": x > 1}):
        with pytest.raises(ValueError, match="reduction operation 'subtract'"):
            ng.grad(lambda x, o=options: np.subtract.reduce(x, **o).sum())(x)
    with pytest.raises(ValueError, match="no identity"):
        ng.grad(lambda x: np.divide.reduce(x[:, :0], axis=1).sum())(x)
    np.testing.assert_array_equal(ng.grad(np.divide.reduce)(np.array([0.0, 2.0, 4.0])), [0.125, 0.0, 0.0])
    assert ng.grad(lambda x: np.subtract.reduce(x))(3.0) == 1.0
    for whole in (np.array([7, 2, 1], "int32"), np.array([7, 2, 1], "uint8")):
        for f in (np.subtract.reduce, np.divide.reduce, np.subtract.accumulate, np.divide.accumulate):
            seen: list[Any] = []
            ng.grad(lambda x, f=f, w=whole, s=seen: (s.append(f(np.full_like(x, w, dtype=w.dtype))), x.sum())[1])(np.ones(3))
            np.testing.assert_allclose(np.asarray(seen[0]), f(whole), rtol=1e-15)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 1.0])])
def test_sums_of_weights_are_finite_where_averages_are_not(weights: Any, keepdims: bool) -> None:
    a, options = np.array([[1.0, np.nan, 2.0], [np.inf, 2.0, 3.0]]), {"weights": weights, "returned": True, "keepdims": keepdims}
    for x in (a, a.astype("float32")):
        for found, expected in zip(np.average(ng.positional(x), 1, **options), np.average(x, 1, **options), strict=True):
            np.testing.assert_array_equal(found.data, expected)
            assert found.dtype == expected.dtype
    np.testing.assert_array_equal(ng.grad(lambda w: np.average(a, 1, w, returned=True)[1].sum())(np.ones(3)), np.full(3, 2.0))


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
@pytest.mark.parametrize("ddof", [2, 3, 4])
@pytest.mark.parametrize("options", [{}, {"where": np.array([[True, True, False], [True, False, False]])}, {"mean": np.array([[2.0], [3.0]])}])
def test_spreads_of_too_few_cells_are_those_of_numpy(name: str, ddof: int, options: dict[str, Any]) -> None:
    f = getattr(np, name)
    for a in (np.array([[1.0, 2.0, 4.0], [2.0, 1.0, 7.0]]), np.array([[1.0, np.nan, 4.0], [np.nan, np.nan, 7.0]])):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = f(a, 1, ddof=ddof, **options)
            np.testing.assert_allclose(f(ng.positional(a), 1, ddof=ddof, **options).data, expected, rtol=1e-14)


def test_covariances_turn_one_row_of_the_first_array_alone() -> None:
    x, y = np.random.default_rng(0).normal(size=(4, 2)), np.arange(4.0)[None] ** 2
    np.testing.assert_allclose(np.cov(ng.positional(x), y, rowvar=False).data, np.cov(x, y, rowvar=False))
    np.testing.assert_allclose(np.corrcoef(ng.positional(x), y, rowvar=False).data, np.corrcoef(x, y, rowvar=False))


def test_covariances_of_too_few_cells_are_those_of_numpy() -> None:
    a = np.array([[1.0, 2.0, 4.0], [2.0, 1.0, 7.0]])
    calls = [lambda x: np.cov(x, ddof=5), lambda x: np.cov(x, fweights=[1, 0, 1], ddof=3), lambda x: np.cov(x[:, :1])]
    if NUMPY >= "2.2.0":  # which turns a table of one row, too
        calls += [lambda x: np.cov(x[:1], rowvar=False), lambda x: np.cov(x[:1], rowvar=False, bias=True)]
    for f in calls:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(f(ng.positional(a)).data, f(a), rtol=1e-14)


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name: str) -> None:
    f, args = CALLS[name]
    expected = np.asarray(f(*args))
    value, pull = ng.pullback(f, *args)
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-13)
    g = np.random.default_rng(3).normal(size=expected.shape)
    got = pull(g) if len(args) > 1 else (pull(g),)
    way = [RNG.normal(size=np.shape(a)) for a in args]
    slope = richardson(lambda t: np.sum(g * f(*(a + t * d for a, d in zip(args, way, strict=True)))))
    assert_close(sum(np.sum(a * d) for a, d in zip(got, way, strict=True)), slope, FIRST, what=name)


@pytest.mark.parametrize("ufunc", [np.power, np.arctan2])
def test_folds_go_from_cell_to_cell(ufunc: np.ufunc) -> None:
    """NumPy itself forgets cells of longer runs where the processor has AVX-512."""
    a, way, g = A**2, RNG.normal(size=A.shape), RNG.normal(size=3)
    folded = lambda a: (g * ufunc(ufunc(ufunc(a[:, 0], a[:, 1]), a[:, 2]), a[:, 3])).sum()
    slope = richardson(lambda t: folded(a + t * way))
    for f in (
        lambda a: ufunc.reduce(a, axis=1),
        lambda a: ufunc.reduceat(a, [0], axis=1)[:, 0],
        lambda a: ufunc.accumulate(a, axis=1)[:, -1],
    ):
        value, grad = ng.value_and_grad(lambda a, f=f: (g * f(a)).sum())(a)
        np.testing.assert_allclose(value, folded(a), rtol=1e-12)
        assert_close((grad * way).sum(), slope, FIRST)


def test_the_first_of_equal_cells_has_the_derivative() -> None:
    grad = ng.grad(lambda a: (np.unique(a) * np.array([1.0, 2.0, 3.0])).sum())
    np.testing.assert_array_equal(grad(np.array([3.0, 1.0, 3.0, 2.0])), [3.0, 1.0, 0.0, 2.0])
    grads = ng.grad(lambda a, b: np.intersect1d(a, b).sum(), (0, 1))(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    np.testing.assert_array_equal(grads, [[0.0, 0.5], [0.5, 0.0]])


def _written(a: Any) -> Any:
    out = a * 0
    out[[0, 2]] = (a[1] ** 2, 3)
    return out


def _into(write: Callable[..., None]) -> Callable[[Any], Any]:
    """What a function leaves in an array of nine cells, given two numbers that are differentiated."""

    def f(a: Any) -> Any:
        out = np.concatenate([a, a, a]).reshape(3, 3) * 1.0
        write(out, [a[0] ** 2, a[1]])
        return out

    return f


LISTS: dict[str, Callable[[Any], Any]] = {
    "ediff1d": lambda a: np.ediff1d(a, to_begin=a[0] ** 2, to_end=[a[1], 7]),
    "pad": lambda a: np.pad(a, (1, 2), constant_values=(a[0] ** 2, 7)),
    "pad of both axes": lambda a: np.pad(np.outer(a, a), 1, constant_values=[[a[0], 7], [a[1], a[2]]]),
    "pad by an array": lambda a: np.pad(np.outer(a, a), 1, constant_values=a[:2]),
    "pad, ramps": lambda a: np.pad(a, 2, "linear_ramp", end_values=((a[0] ** 2, 7),)),
    "quantile": lambda a: np.quantile(a, [a[0] ** 2 / 99, 0.5]),
    "nanpercentile": lambda a: np.nanpercentile(a, [[a[0] ** 2, 50]]),
    "put": _into(lambda out, ab: np.put(out, [0, 4, 8], ab)),
    "putmask": _into(lambda out, ab: np.putmask(out, out > 0, ab)),
    "fill_diagonal": _into(lambda out, ab: np.fill_diagonal(out, ab)),
    "polyadd": lambda a: np.polyadd(a, [a[0] ** 2, 7]),
    "polysub": lambda a: np.polysub(a, [a[0] ** 2, 7]),
    "polymul": lambda a: np.polymul([a[0] ** 2, 7], a),
    "polyint": lambda a: np.polyint(a, 2, k=[a[0] ** 2, 7]),
    "linalg.cross": lambda a: np.linalg.cross(a, [a[0] ** 2, 7, a[1]]),
    "operators": lambda a: [a[0], 7] - a[:2] * (a[1], a[2]),
    "a ufunc": lambda a: np.maximum(a, [a[1], a[1], 0.0]),
    "concatenate": lambda a: np.concatenate([a, [a[0] ** 2, 7]]),
    "insert": lambda a: np.insert(a, [1, 2], [a[0] ** 2, 7]),
    "matmul": lambda a: [[a[0], 1, 2], (a[1], 2, a[2])] @ a,
    "interp": lambda a: np.interp(0.4 * a[0], [0, 5], [a[1], a[2]]),
    "setitem": _written,
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_what_is_differentiated_are_arrays(name: str) -> None:
    f = LISTS[name]
    rows = np.array([[1.0, 2.0, 3.5], [1.4, 2.5, 3.0]])
    for x in rows:
        slopes = [richardson(lambda t, x=x, d=d: f(x + t * d)) for d in np.eye(3)]
        assert_close(ng.jacobian(f)(x), np.stack(slopes, axis=-1), FIRST)
    batch = ng.positional(rows, vectorized=("b",))
    per_slice = ng.grad(lambda a: np.sum(f(a) ** 2))(batch).devectorize().data
    assert_close(per_slice, np.stack([ng.grad(lambda a: np.sum(f(a) ** 2))(x) for x in rows]), FIRST)


def test_ends_that_differ_between_slices() -> None:
    ends = np.array([[1.0, 8.0], [-2.0, -0.5]])
    first, last = (ng.positional(e.copy(), vectorized=("b",)) for e in ends.T)
    np.testing.assert_allclose(np.geomspace(first, last, 4).data, [np.geomspace(*e, 4) for e in ends], rtol=1e-14)
    with pytest.raises(ValueError, match="cannot include zero"):
        np.geomspace(first, ng.positional(np.array([1.0, 0.0]), vectorized=("b",)), 4)


def test_lines_are_applied_to_at_once() -> None:
    seen: list[tuple[int, ...]] = []

    def one(r: Any) -> Any:
        seen.append(r.shape)
        return (r**3).sum()

    got = ng.grad(lambda a: np.apply_along_axis(one, 1, a).sum())(A)
    np.testing.assert_allclose(got, 3 * A**2)
    assert seen == [(4,)]


def test_per_slice() -> None:
    batch = RNG.normal(size=(5, 3, 4))
    p = ng.positional(batch, vectorized=("b",))
    for f in (
        lambda a: np.linspace(a, 1.0, 4, axis=1),
        lambda a: np.apply_along_axis(lambda r: r.sum() * r, 0, a),
        lambda a: np.add.reduceat(a, [0, 2], axis=1),
        lambda a: np.logaddexp.reduceat(a, [0, 2], axis=1),
        lambda a: np.histogram(a, 3, (-1.0, 1.0))[0],
        lambda a: np.histogram(a, [-2.0, 0.0, 1.0], density=True)[0],
        lambda a: np.histogram2d(a[0], a[1], (2, 3), ((-2.0, 2.0), (-1.0, 1.0)))[0],
        lambda a: np.polymul(a[0], a[1]),
    ):
        got = f(p).devectorize().data
        np.testing.assert_allclose(got, np.stack([f(x) for x in batch]), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda a: np.linspace(a, 1.0, -1), ValueError, "non-negative"),
        (lambda a: np.geomspace(a * 0, 1.0, 3), ValueError, "zero"),
        (lambda a: np.add.reduceat(a, [0, 9]), IndexError, "out-of-bounds"),
        (lambda a: np.histogram(SAMPLE[:, 0], weights=a), ValueError, "same shape"),
        (lambda a: np.polyint(a, 3, [1.0, 2.0]), ValueError, "rank-1 array"),
    ],
)  # fmt: skip
def test_errors(call: Callable[..., Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ng.grad(lambda a: call(a).sum())(W)


NUMBERS_FIRST: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "clip": (lambda a: ng.clip(0.45, a, 1.0), lambda a: np.clip(0.45, a, 1.0)),
    "clip of a list": (lambda a: ng.clip([[0.1], [0.5]], a, 1.0), lambda a: np.clip([[0.1], [0.5]], a, 1.0)),
    "div": (lambda a: ng.div(1.0, a), lambda a: 1.0 / a),
    "divmod": (lambda a: ng.divmod(1, a)[1], lambda a: np.remainder(1, a)),
    "fillna": (lambda a: ng.fillna([np.nan, 1.0, 2.0], a), lambda a: np.where([True, False, False], a, [0.0, 1.0, 2.0])),
    "nan_to_num": (lambda a: ng.nan_to_num(np.nan, nan=a[0]), lambda a: a[0] * 1.0),
}


@pytest.mark.parametrize("name", NUMBERS_FIRST)
def test_numbers_before_what_is_differentiated(name: str) -> None:
    ours, numpys = NUMBERS_FIRST[name]
    x = np.array([0.21, 0.43, 0.61])
    value, pull = ng.pullback(ours, x)
    np.testing.assert_allclose(value, numpys(x), rtol=1e-14)
    g = np.random.default_rng(3).normal(size=np.shape(value))
    slope = [richardson(lambda t, d=d: np.sum(g * numpys(x + t * d))) for d in np.eye(3)]
    assert_close(pull(g), np.array(slope), FIRST, what=name)


def test_products_of_named_and_positional_arrays_are_refused() -> None:
    named, p = ng.DimArray([1.0, 2.0, 3.0], "x"), ng.positional(W[:3])
    for product in (np.dot, np.outer, ng.dot, ng.outer):
        for pair in ((named, p), (p, named)):
            with pytest.raises(TypeError, match="DimArray"):
                product(*pair)


@pytest.mark.parametrize("ufunc", [np.logaddexp2, np.copysign, np.logical_xor, np.fmod, np.bitwise_and, np.gcd, np.greater, np.hypot])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.bool_])
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": None}, {"dtype": "f4"}, {"initial": 2}, {"initial": 2, "where": A > 0}, {"where": A > 0}])
def test_folds_are_those_of_numpy(ufunc: Any, dtype: Any, options: dict[str, Any]) -> None:
    x = (3 * A + 4).astype(dtype)
    try:
        with np.errstate(all="ignore"):
            expected = ufunc.reduce(x, **options)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            ufunc.reduce(ng.positional(x), **options)
    else:
        with np.errstate(all="ignore"):
            got = ufunc.reduce(ng.positional(x), **options)
        assert got.dtype == expected.dtype
        tight = {"rtol": 1e-2} if expected.dtype == np.float16 else {"rtol": 1e-6}
        np.testing.assert_allclose(getattr(got, "data", got), expected, **tight)


@pytest.mark.parametrize(("bins", "span"), [(4, (-2.0, 2.0)), ([-1.0, 0.0, 0.5, 2.0], None), (4, (1.0, 1.0))])
@pytest.mark.parametrize("density", [None, True])
def test_histograms_between_edges_that_are_given_are_compiled_and_lazy(bins: Any, span: Any, density: Any) -> None:
    x, w = RNG.normal(size=(3, 20)), RNG.random(size=20)

    def f(x: Any, w: Any) -> Any:
        return np.histogram(x, bins, span, density=density, weights=w)[0]

    program, lazy = ng.compile(f), [ng.positional(da.from_array(a, chunks=7)) for a in (x[0], w)]
    for row in x:
        np.testing.assert_allclose(program(row, w), f(row, w), rtol=1e-13)
    found = f(*lazy).data
    assert isinstance(found, da.Array)
    np.testing.assert_allclose(found.compute(), f(x[0], w), rtol=1e-13)


def test_histograms_of_truth_values_say_where_one_is_true() -> None:
    heavy = np.array([True, True, False])
    got = np.histogram(ng.positional(np.array([0.5, 1.0, 3.0])), 2, weights=heavy)[0]
    np.testing.assert_array_equal(got, np.histogram([0.5, 1.0, 3.0], 2, weights=heavy)[0])


def test_a_norm_has_one_order() -> None:
    for f in (lambda x: np.linalg.norm(x, np.ones(2)), lambda x: np.linalg.vector_norm(x, ord=x)):
        with pytest.raises(ValueError, match=r"ord is an array of shape"):
            ng.grad(f)(V)


def test_tables_of_several_samples_hold_doubles() -> None:
    sample, w = np.random.default_rng(2).normal(size=(9, 2)), np.arange(9, dtype="f4")
    for weights in (None, w):
        for found, want in (
            (np.histogramdd(ng.positional(sample), 3, weights=weights), np.histogramdd(sample, 3, weights=weights)),
            (np.histogram2d(ng.positional(sample[:, 0]), w, 3), np.histogram2d(sample[:, 0], w, 3)),
        ):
            assert found[0].dtype == want[0].dtype
            np.testing.assert_array_equal(np.asarray(found[0]), want[0])


@pytest.mark.parametrize("mode", ["mean", "median", "linear_ramp", "maximum"])
def test_truth_values_are_padded_by_whether_there_is_anything(mode: str) -> None:
    x, width = np.random.default_rng(4).random((2, 3, 4)) > 0.3, ((2, 3), (2, 0), (1, 3))
    for options in ({"end_values": True},) if mode == "linear_ramp" else ({}, {"stat_length": 2}):
        np.testing.assert_array_equal(np.asarray(np.pad(ng.positional(x), width, mode, **options)), np.pad(x, width, mode, **options))


def test_lazy_cells_are_looked_up_lazily() -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("computed before it was asked to")

    x = np.arange(6.0).reshape(2, 3)
    with dask.config.set(scheduler=refuse):
        found = np.isin(ng.positional(da.from_array(x, chunks=(1, 2))), [1.0, 4.0])
        slices = np.isin(ng.positional(da.from_array(x, chunks=(1, 2)), "b"), np.array([1.0, 4.0]), invert=True)
    np.testing.assert_array_equal(found.compute(scheduler="sync"), np.isin(x, [1, 4]))
    np.testing.assert_array_equal(slices.data.compute(scheduler="sync"), ~np.isin(x, [1, 4]))


# ------------------------------------------------------------------------------------------------ membership

CELLS = np.array([[0.0, 1.0, np.nan, 3.0], [3.0, 0.0, 1.0, 2.0]])
MEMBERS = np.array([[1.0, 3.0, np.nan], [0.0, 0.0, 7.0]])


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool", "complex128"])
def test_isin_of_slices_and_in_recorded_programs(dtype: str, invert: bool) -> None:
    cells, members = (np.nan_to_num(v, nan=5).astype(dtype) if dtype[0] in "iub" else v.astype(dtype) for v in (CELLS, MEMBERS))
    expected = [np.isin(*pair, invert=invert) for pair in zip(cells, members, strict=True)]
    found = np.isin(ng.positional(cells, "b"), ng.positional(members, "b"), invert=invert)
    np.testing.assert_array_equal(found.data, expected)
    again = ng.compile(lambda x, of: np.isin(x, of, invert=invert))
    for pair, e in zip(zip(cells, members, strict=True), expected, strict=True):
        np.testing.assert_array_equal(again(*map(ng.positional, pair)).data, e)
        np.testing.assert_array_equal(np.isin(pair[0], ng.positional(members, "b"), invert=invert).data[1], np.isin(pair[0], members[1], invert=invert))


def test_isin_of_xarray_in_recorded_programs() -> None:
    def f(d: Any) -> Any:
        return (d.where(d.isin([1.0, 3.0]), 0.0) ** 2).sum()

    d = xr.DataArray(np.nan_to_num(CELLS), dims=("a", "b"))
    again = ng.compile(ng.grad(f))
    for x in (d, d + 1):
        np.testing.assert_array_equal(again(x).values, np.where(np.isin(x.values, [1.0, 3.0]), 2 * x.values, 0))
    of_first = ng.grad(lambda d: (d.where(d.isin(d.isel(b=0)), 0.0) ** 2).sum(), over="a")(d)
    np.testing.assert_array_equal(of_first.values, np.where(d.values == d.values[:, :1], 2 * d.values, 0))


def test_isin_of_nothing_in_recorded_programs() -> None:
    for nothing in ([], np.empty(0)):
        assert not ng.compile(lambda x, of=nothing: np.isin(x, of))(ng.positional(CELLS)).data.any()


# ------------------------------------------------------------------------------------------------ beside the array

SQUARE, LINE = np.random.default_rng(3).normal(size=(4, 4)), np.sort(np.random.default_rng(4).random(4))
ENDS = SQUARE[:2] * 2
POINTS = np.array([[0.1, 0.5, 1.0], [0.0, 0.3, 0.3]])
BESIDE: dict[str, tuple[Callable[..., Any], Callable[..., Any], Any]] = {
    "average":              (lambda x, w: ng.average(x, w, 0), lambda x, w: np.average(x, 0, w), LINE),
    "average, two axes":    (lambda x, w: ng.average(x, w, 0), lambda x, w: np.average(x, 0, np.broadcast_to(w, x.shape)), LINE[:, None]),
    "trapezoid":            (lambda x, w: ng.trapezoid(x, w, 0), lambda x, w: np.trapezoid(x, w, axis=0), LINE),
    "cumulative_trapezoid": (lambda x, w: ng.cumulative_trapezoid(x, w, 0), lambda x, w: scipy.integrate.cumulative_trapezoid(x, w, axis=0), LINE),
    "gradient":             (lambda x, w: ng.gradient(x, 0, w), lambda x, w: np.gradient(x, w, axis=0), LINE),
    "gradient, two axes":   (lambda x, w: ng.gradient(x, None, [w, 0.5])[0], lambda x, w: np.gradient(x, w, 0.5)[0], LINE),
    "quantile":             (lambda x, w: ng.quantile(x, w, 0), lambda x, w: np.quantile(x, w, axis=0), POINTS),
    "nanquantile":          (lambda x, w: ng.nanquantile(x, w, 1), lambda x, w: np.nanquantile(x, w, axis=1), POINTS),
    "diff":                 (lambda x, w: ng.diff(x, 0, prepend=w, append=w), lambda x, w: np.diff(x, axis=0, prepend=w, append=w), ENDS),
    "ediff1d":              (lambda x, w: ng.ediff1d(x[0], to_end=w), lambda x, w: np.ediff1d(x[0], to_end=w), LINE[:2]),
}  # fmt: skip


@pytest.mark.parametrize("case", BESIDE)
def test_arrays_that_lie_along_the_axis_of_a_named_function(case: str) -> None:
    ours, theirs, beside = BESIDE[case]
    given, expected = (SQUARE, beside), theirs(SQUARE, beside)
    for x, w in ((ng.positional(SQUARE), beside), (SQUARE, ng.positional(beside)), tuple(map(ng.positional, given))):
        np.testing.assert_allclose(ours(x, w).data, expected, rtol=1e-13)
    found = ng.grad(lambda *of: np.sum(ours(*of) ** 2), (0, 1))(*given)
    towards = [np.random.default_rng(5).normal(size=v.shape) for v in given]
    if beside is POINTS:  # 0 and 1 are the ends
        towards[1] = 0 * towards[1]
    up, down = (np.sum(theirs(*(v + h * t for v, t in zip(given, towards, strict=True))) ** 2) for h in (1e-5, -1e-5))
    slope = sum(np.sum(g * t) for g, t in zip(found, towards, strict=True))
    np.testing.assert_allclose(slope, (up - down) / 2e-5, rtol=1e-6, atol=1e-8)


def test_an_array_beside_itself() -> None:
    x = ng.positional(SQUARE)
    np.testing.assert_array_equal(ng.diff(x, 1, prepend=x).data, np.diff(SQUARE, axis=1, prepend=SQUARE))
    line = ng.positional(LINE)
    np.testing.assert_allclose(ng.average(line, line, 0).data, np.average(LINE, weights=LINE), rtol=1e-14)
    np.testing.assert_allclose(ng.quantile(line, line).data, np.quantile(LINE, LINE), rtol=1e-14)


@pytest.mark.parametrize("shapes", [((3, 4, 5), (1, 4, 2)), ((3, 4, 5), (3, 1, 2)), ((1, 4, 5), (3, 4, 2)), ((3, 1, 5), (1, 4, 2))])
def test_indices_along_an_axis_broadcast(shapes: tuple[tuple[int, ...], ...]) -> None:
    rng = np.random.default_rng(6)
    x, i = rng.normal(size=shapes[0]), rng.permuted(np.broadcast_to(np.arange(5), (*shapes[1][:2], 5)), axis=2)[..., :2]
    for f in (ng.take_along_axis, ng.take_along_dim):
        np.testing.assert_array_equal(f(ng.positional(x), i, 2).data, np.take_along_axis(x, i, 2))
    slope = ng.grad(lambda x: np.sum(ng.take_along_axis(x, i, -1)))(x)
    hits = np.sum(i[..., None] == np.arange(5), axis=2)
    wide = np.broadcast_to(hits, np.broadcast_shapes(hits.shape, x.shape))
    expected = sum(wide[k] for k in range(len(wide)))[None] if x.shape[0] == 1 else np.sum(wide, 1, keepdims=True) if x.shape[1] == 1 else wide
    np.testing.assert_array_equal(slope, expected)
    if x.shape == (3, 4, 5):
        for v in (rng.normal(size=i.shape), rng.normal(size=(4, 1)), rng.normal(size=(3, 4, 2))):
            written = x.copy()
            np.put_along_axis(written, i, v, 2)
            np.testing.assert_array_equal(ng.put_along_axis(ng.positional(x), i, v, 2).data, written)


# ------------------------------------------------------------------------------------------------ histograms of slices

DRAWS = np.random.default_rng(8).normal(size=(2, 3, 7))
HEAVY = np.random.default_rng(9).random((2, 3, 7))
BINNED: dict[str, dict[str, Any]] = {
    "edges": {"bins": [-1.0, 0.0, 0.5, 1.0]}, "a range": {"bins": 4, "range": (-1.0, 1.0)}, "no range": {"bins": 3, "range": (0.0, 0.0)},
    "its own range": {"bins": 4}, "density": {"bins": 4, "density": True},
}  # fmt: skip


def _host(x: Any) -> Any:
    return fake_cupy.asnumpy(x.data if isinstance(x, ng.PositionalArray) else x)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("weights", [None, HEAVY, HEAVY * 1j, np.rint(9 * HEAVY).astype(int)])
@pytest.mark.parametrize("case", BINNED)
def test_histograms_of_slices_recorded_and_on_a_device(case: str, weights: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a, how = (9 * DRAWS).astype(dtype), BINNED[case]
    w = [None, None] if weights is None else weights
    expected = [np.histogram(x, weights=v, **how) for x, v in zip(a, w, strict=True)]
    slices = np.histogram(ng.positional(a, "b"), weights=None if weights is None else ng.positional(weights, "b"), **how)
    recorded = ng.compile(lambda x, v: np.histogram(x, weights=v, **how))
    to = fake_cupy.installed(monkeypatch).asarray
    for i, (counts, edges) in enumerate(expected):
        for found, e in zip(slices, (counts, edges), strict=True):
            of_slice = _host(found)[i] if isinstance(found, ng.PositionalArray) and found.vectorized else _host(found)
            assert of_slice.dtype == e.dtype
            np.testing.assert_allclose(of_slice, e, rtol=1e-6 if dtype == "float32" else 1e-13)
        there = np.histogram(ng.positional(to(a[i])), weights=None if weights is None else ng.positional(to(w[i])), **how)
        again = recorded(ng.positional(a[i]), None if weights is None else ng.positional(w[i]))
        for found in (there, again):
            for one, e in zip(found, (counts, edges), strict=True):
                np.testing.assert_allclose(_host(one), e, rtol=1e-6 if dtype == "float32" else 1e-13)


def test_slopes_of_histograms_of_slices() -> None:
    f = lambda a, w: np.sum(np.histogram(a, 3, density=True, weights=w)[0] ** 2)
    found = ng.grad(f, (0, 1))(ng.positional(DRAWS, "b"), ng.positional(HEAVY, "b"))
    for i in range(2):
        t, u = np.random.default_rng(1).normal(size=(2, 3, 7))
        slope = (f(DRAWS[i] + 1e-6 * t, HEAVY[i] + 1e-6 * u) - f(DRAWS[i] - 1e-6 * t, HEAVY[i] - 1e-6 * u)) / 2e-6
        np.testing.assert_allclose(np.sum(found[0].data[i] * t) + np.sum(found[1].data[i] * u), slope, rtol=1e-6)
    columns, edges = (DRAWS[:, 0], DRAWS[:, 1]), [[-2, 0, 0.5, 2], 2]
    table = np.histogram2d(*(ng.positional(c, "b") for c in columns), edges, weights=ng.positional(HEAVY[:, 0], "b"))[0]
    for i in range(2):
        np.testing.assert_allclose(table.data[i], np.histogram2d(columns[0][i], columns[1][i], edges, weights=HEAVY[i, 0])[0], rtol=1e-13)


def test_points_between_ends_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    to, ends = fake_cupy.installed(monkeypatch).asarray, (np.array([1.0, 2.0]), np.array([3.0, 5.0]))
    for f in (np.linspace, np.logspace, np.geomspace):
        np.testing.assert_allclose(_host(f(*(ng.positional(to(e)) for e in ends), 5)), f(*ends, 5), rtol=1e-14)
