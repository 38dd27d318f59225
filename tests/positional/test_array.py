"""The positional array as an object: names, kinds of results, leaving the trace, meeting other kinds of arrays."""

from __future__ import annotations

import contextlib
import copy
import math
import operator
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.special
import scipy.stats
import xarray as xr

import namedgrad as ng

rng = np.random.default_rng(11)
X = rng.normal(size=(3, 4))
BATCH = rng.normal(size=(5, 3, 4))


# ------------------------------------------------------------------------------------------------ names


def test_leading_axes_are_vectorized_and_hidden() -> None:
    p = ng.positional(BATCH, vectorized=("b",))
    assert p.shape == (3, 4)
    assert (p.ndim, p.size, len(p), p.nbytes) == (2, 12, 3, 96)
    assert p.vectorized == ("b",)
    assert p.vectorized_sizes == {"b": 5}
    assert p.data is BATCH
    assert p.backend == "numpy"
    assert p.devectorize().shape == (5, 3, 4)
    assert p.devectorize().vectorized == ()
    assert p.name("x", "y").dims == ("x", "y")
    assert p.name("x", "y").vectorized == ("b",)
    assert ng.positional(BATCH).vectorize("u", "v").vectorized == ("u", "v")
    assert ng.positional(BATCH).vectorize("u", "v").shape == (4,)


def test_devectorized_axes_come_first_in_the_order_asked_for() -> None:
    p = ng.positional(BATCH, ("u", "v"))
    np.testing.assert_array_equal(p.devectorize("v", "u").data, BATCH.swapaxes(0, 1))
    np.testing.assert_array_equal(p.devectorize("v").data, BATCH)
    assert p.devectorize("v").shape == (3, 4)


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: ng.positional(X, ("a", "b", "c")), r"3 vectorized names .* \(3, 4\)"),
        (lambda: ng.positional(X, ("a", "a")), "more than once"),
        (lambda: ng.positional(X, (0,)), "ints are positions"),
        (lambda: ng.positional(X).vectorize("a", "b", "c"), "3 names"),
        (lambda: ng.positional(X, "b").vectorize("b"), "vectorized already"),
        (lambda: ng.positional(X).devectorize("b"), "not vectorized"),
        (lambda: ng.positional(X).name("x"), "2 axes but 1 dims"),
        (lambda: ng.positional(X, "b").name("b"), "more than once"),
    ],
)
def test_names_that_do_not_fit(attempt: Any, message: str) -> None:
    with pytest.raises(ng.AxisError, match=message):
        attempt()


def test_data_that_are_no_numbers() -> None:
    with pytest.raises(TypeError, match="rectangular"):
        ng.positional(np.array([{}, None]))
    with pytest.raises(TypeError, match="its axes have names"):
        ng.positional(ng.DimArray([1.0], "x"))


# ------------------------------------------------------------------------------------------------ kinds of results


def test_truth_values_and_integers_are_plain_where_all_slices_agree() -> None:
    p = ng.positional(X)
    for y in (p > 0, np.argmax(p, axis=0), np.isnan(p), p.astype(int), np.argsort(p)):
        assert isinstance(y, np.ndarray)
    assert isinstance(p > ng.positional(X), np.ndarray)
    assert np.argmax(p) == np.argmax(X)


def test_truth_values_of_slices_stay_positional_and_refuse_to_steer() -> None:
    p = ng.positional(BATCH, "b")
    flags, places = p > 0, np.argmax(p)
    assert isinstance(flags, ng.PositionalArray)
    np.testing.assert_array_equal(flags.data, BATCH > 0)
    np.testing.assert_array_equal(places.data, BATCH.reshape(5, -1).argmax(1))
    for leave in (
        lambda: bool(flags[0, 0]),
        lambda: [0, 1][places],
        lambda: np.asarray(flags),
        lambda: int(places),
        lambda: np.sort(p[flags]),
    ):
        with pytest.raises(ng.TraceError, match=r"np\.|devectorize"):
            leave()


def test_python_if_works_on_a_single_element_while_differentiating() -> None:
    def f(x: Any) -> Any:
        return x * 3 if x > 1 else x * x

    assert ng.grad(f)(2.0) == 3.0
    assert ng.grad(f)(0.5) == 1.0
    assert ng.grad(lambda x: np.sum(x[x > 0] ** 2))(np.array([-1.0, 2.0])).tolist() == [0.0, 4.0]


EDGES = np.linspace(-1, 1, 4)


@pytest.mark.parametrize(
    "found",
    [
        lambda x: np.searchsorted(EDGES, x), lambda x: np.digitize(x, EDGES), lambda x: np.isin(x, EDGES),
        lambda x: np.histogram(x, EDGES)[0], lambda x: np.histogram(x, 3)[0], lambda x: np.argmax(x, axis=1, keepdims=True),
        lambda x: np.nonzero(x)[0], lambda x: np.argwhere(x > 0), lambda x: np.sort(x, axis=0)[:, 0].searchsorted(EDGES),
        lambda x: np.bincount(np.digitize(x, EDGES).ravel()), lambda x: np.unique(x, return_inverse=True)[1],
        lambda x: np.any(x > 0, axis=0), lambda x: np.argpartition(x, 1, axis=0), lambda x: np.sign(x).astype(int),
    ],
)  # fmt: skip
def test_what_numpy_makes_anew_of_values_may_be_written(found: Callable[[Any], Any]) -> None:
    """Positions that are corrected, as of what lies on the last edge: they are nobody else's."""
    def written(x: Any) -> Any:
        places = found(x)
        places[:1] = 1 - places[:1]
        return places

    def f(x: Any) -> Any:
        one, two = written(x), written(x)
        np.testing.assert_array_equal(one, two)
        return (x * x * (1 + np.sum(one))).sum()

    x = X[:3, :2].copy()
    np.testing.assert_allclose(ng.grad(f)(x), 2 * x * (1 + written(x).sum()), rtol=1e-12)


def test_plain_views_of_integers_cannot_be_written_behind_the_back() -> None:
    mine = np.arange(4)
    p = ng.positional(mine)
    with pytest.raises(ValueError, match="read-only"):
        p[1:][0] = 7
    with pytest.raises(ValueError, match="read-only"):
        p.reshape(2, 2)[0, 0] = 7
    p.astype(int)[0] = 7
    assert mine.tolist() == [0, 1, 2, 3]


# ------------------------------------------------------------------------------------------------ transforms


def test_plain_in_plain_out() -> None:
    value, slope = ng.value_and_grad(lambda x: np.sum(np.sin(x)))(X)
    assert isinstance(value, float)
    assert type(slope) is np.ndarray
    np.testing.assert_allclose(slope, np.cos(X))
    out, pull = ng.pullback(np.sin, X)
    assert type(out) is np.ndarray
    assert type(pull(X)) is np.ndarray
    out, pushed = ng.pushforward(np.sin, (X,), (X,))
    assert type(out) is type(pushed) is np.ndarray


def test_numbers_come_back_as_numbers() -> None:
    value, slope = ng.value_and_grad(lambda x: x**3)(2.0)
    assert isinstance(value, float)
    assert type(slope) is float
    assert (value, slope) == (8.0, 12.0)
    assert type(ng.grad(lambda z: abs(z) ** 2)(1 + 2j)) is complex
    single = ng.grad(lambda x: x * x)(np.float32(3))
    assert type(single) is np.float32
    assert type(ng.grad(lambda x: x * x)(np.float64(3))) is np.float64
    assert type(ng.grad(lambda x: x * x)(np.array(3.0))) is np.ndarray


def test_vectorized_answers_stay_positional() -> None:
    data = ng.positional(BATCH, "b")
    value, slope = ng.value_and_grad(lambda w: np.sum(np.sin(w) * data))(X)
    assert isinstance(value, ng.PositionalArray)
    assert isinstance(slope, ng.PositionalArray)
    assert slope.vectorized == ("b",)
    np.testing.assert_allclose(slope.data, np.cos(X) * BATCH)
    total = ng.grad(lambda w: np.sum((np.sin(w) * data).devectorize()))(X)
    np.testing.assert_allclose(total, np.cos(X) * BATCH.sum(0))


def test_two_names_give_the_cross_product() -> None:
    a, b = ng.positional(BATCH[:, 0], "u"), ng.positional(BATCH[:2, 1], "v")
    slope = ng.grad(lambda a, b: np.sum(a * b**2))(a, b)
    assert set(slope.vectorized) == {"u", "v"}
    np.testing.assert_allclose(slope.name("x").data.reshape(-1, 4), np.tile(BATCH[:2, 1] ** 2, (1, 1)).repeat(5, 0))


def test_positional_in_positional_out() -> None:
    p = ng.positional(X)
    value, slope = ng.value_and_grad(lambda x: np.sum(x**2))(p)
    assert isinstance(value, ng.PositionalArray)
    assert isinstance(slope, ng.PositionalArray)
    mixed = ng.value_and_grad(lambda x, y: np.sum(x * y))(X, p)
    assert isinstance(mixed[0], ng.PositionalArray)
    assert type(mixed[1]) is np.ndarray


def test_structures() -> None:
    tree = {"w": X, "b": [np.float32(1.5), 2.0]}
    slope = ng.grad(lambda t: np.sum(t["w"] ** 2) * t["b"][0] + t["b"][1])(tree)
    np.testing.assert_allclose(slope["w"], 3 * X)
    assert type(slope["b"][0]) is np.float32
    assert slope["b"][1] == 1.0


def test_jacobian_has_the_axes_of_the_output_then_of_the_input() -> None:
    jac = ng.jacobian(lambda x: np.sum(np.sin(x), axis=0))(X)
    assert type(jac) is np.ndarray
    assert jac.shape == (4, 3, 4)
    expected = np.einsum("jk,ij->kij", np.eye(4), np.cos(X))
    np.testing.assert_allclose(jac, expected)
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(ng.jacobian(lambda x: np.sum(np.sin(x), axis=0), mode=mode)(X), expected)
        np.testing.assert_allclose(ng.jacobian(lambda x: np.sum(np.sin(x), axis=0), mode=mode, chunk=2)(X), expected)
    assert ng.jacobian(lambda x: x * np.arange(3.0))(2.0).tolist() == [0.0, 1.0, 2.0]
    batched = ng.jacobian(np.sin)(ng.positional(X, "b"))
    assert batched.vectorized == ("b",)
    np.testing.assert_allclose(batched.data, np.stack([np.diag(np.cos(row)) for row in X]))
    named = ng.jacobian(lambda a, s: a * s, wrt=1)(ng.DimArray([1.0, 2.0], "x"), 3.0)
    assert named.dims == ("x",)


def test_hessian_of_plain_arrays() -> None:
    v = X[0]
    np.testing.assert_allclose(ng.hessian(lambda x: np.sum(x**3))(v), np.diag(6 * v))
    np.testing.assert_allclose(ng.hessian(lambda x: np.sum(x**3), part="diagonal")(v), 6 * v)
    assert ng.hessian(lambda x: np.sum(x**3), part="trace")(v) == pytest.approx(6 * v.sum())
    np.testing.assert_allclose(ng.hvp(lambda x: np.sum(x**3), v, np.ones(4)), 6 * v)
    assert ng.hessian(lambda x: x**3)(2.0) == 12.0


def test_nested_gradients() -> None:
    assert ng.grad(lambda x: ng.grad(lambda y: y**3 * x)(x) * x)(2.0) == pytest.approx(12 * 2.0**3)
    inner = ng.grad(lambda x: np.sum(ng.grad(lambda y: np.sum(y**3))(x) ** 2))(X)
    np.testing.assert_allclose(inner, 36 * X**3)


def test_captured_arrays_count_like_passed_ones() -> None:
    data = ng.positional(BATCH, "b")
    captured = ng.grad(lambda w: np.sum(w * data))(X)
    passed = ng.grad(lambda w, d: np.sum(w * d))(X, data)
    np.testing.assert_array_equal(captured.data, passed.data)


# ------------------------------------------------------------------------------------------------ leaving the trace


@pytest.mark.parametrize(
    "leave",
    [
        lambda x: np.asarray(x), lambda x: np.array(x), lambda x: float(x[0, 0]), lambda x: int(x[0, 0]), lambda x: math.sin(x[0, 0]),
        lambda x: x[0, 0].item(), lambda x: x.tolist(), lambda x: bool(x[0, 0]), lambda x: pickle.dumps(x), lambda x: complex(x[0, 0]),
        lambda x: x.data, lambda x: np.array([x[0, 0], x[0, 1]]), lambda x: np.sin(np.asarray([x[0]])), lambda x: x.to_numpy(),
        lambda x: [1, 2, 3][x[0, 0]], lambda x: hash(x),
    ],
)  # fmt: skip
def test_leaving_the_trace_is_a_typed_error(leave: Any) -> None:
    with pytest.raises(TypeError):
        ng.grad(lambda x: (leave(x), np.sum(x))[1])(X)


def test_a_traced_value_is_dead_after_its_transform() -> None:
    kept = []
    ng.grad(lambda x: (kept.append(x), np.sum(x))[1])(X)
    with pytest.raises(ng.TraceError, match="returned"):
        kept[0] + 1


def test_copies_stay_on_the_tape() -> None:
    for duplicate in (copy.copy, copy.deepcopy, lambda x: x.copy(), np.copy):
        np.testing.assert_allclose(ng.grad(lambda x, d=duplicate: np.sum(d(x) ** 2))(X), 2 * X)
    p = ng.positional(X, "b")
    again = pickle.loads(pickle.dumps(p))
    assert again.vectorized == ("b",)
    np.testing.assert_array_equal(again.data, X)


def test_repr_tells_shape_names_and_dtype() -> None:
    assert repr(ng.positional(BATCH, "b")).startswith("<positional (3, 4) vectorized (b: 5) float64>")
    seen = []
    ng.grad(lambda x: (seen.append(repr(x)), np.sum(x))[1])(X)
    assert "Traced" in seen[0]
    assert "(3, 4)" in seen[0]


# ------------------------------------------------------------------------------------------------ other kinds of arrays


@pytest.mark.parametrize(
    "meet",
    [
        lambda p, a: p + a,
        lambda p, a: a + p,
        np.add,
        lambda p, a: np.add(a, p),
        ng.add,
        lambda p, a: p.__setitem__(0, a),
        np.matmul,
        np.dot,
    ],
)
def test_a_dimarray_is_refused_with_the_way_out(meet: Any) -> None:
    with pytest.raises(TypeError, match=r"\.name\("):
        meet(ng.positional(X), ng.DimArray(X, ("x", "y")))


def test_plain_arrays_and_lists_join_in_any_place() -> None:
    p = ng.positional(BATCH, "b")
    np.testing.assert_allclose((X + p).data, X + BATCH)
    np.testing.assert_allclose((p * [1.0, 2.0, 3.0, 4.0]).data, BATCH * [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose((np.float64(2) * p).data, 2 * BATCH)
    np.testing.assert_allclose((np.array(2.0) * p).data, 2 * BATCH)


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(3, 4\) \(3,\)"):
        ng.positional(X) + np.ones(3)
    with pytest.raises(ng.AxisError, match="sizes of 'b' differ"):
        ng.positional(X, "b") + ng.positional(BATCH[:, 0], "b")


def test_inside_a_dataarray() -> None:
    assert not any(
        hasattr(ng.PositionalArray, name) for name in ("__array_namespace__", "chunks", "compute", "__dask_graph__")
    )

    def f(x: Any) -> Any:
        da = xr.DataArray(x, dims=("time", "lat"), coords={"lat": np.arange(4.0)})
        inside = (da - da.mean("time")) ** 2
        return inside.sel(lat=slice(1, 3)).sum().data

    weights = np.zeros((3, 4))
    weights[:, 1:] = 1
    np.testing.assert_allclose(ng.grad(f)(X), 2 * (X - X.mean(0)) * weights)


# ------------------------------------------------------------------------------------------------ ng functions


def test_ng_functions_take_axis_numbers() -> None:
    p = ng.positional(BATCH, "b")
    checks = {
        lambda: ng.sum(p, dim=0): BATCH.sum(1), lambda: ng.mean(p): BATCH.mean((1, 2)), lambda: ng.max(p, (0, 1)): BATCH.max((1, 2)),
        lambda: ng.cumsum(p, dim=-1): BATCH.cumsum(-1), lambda: ng.roll(p, {0: 1}): np.roll(BATCH, 1, 1), lambda: ng.exp(p): np.exp(BATCH),
        lambda: ng.clip(p, 0, 1): BATCH.clip(0, 1), lambda: ng.concat([p, p], 0): np.concatenate([BATCH, BATCH], 1),
        lambda: ng.transpose(p): BATCH.swapaxes(1, 2), lambda: ng.take(p, [0, 2], 1): BATCH[:, :, [0, 2]],
        lambda: ng.isel(p, {0: 1, 1: [0, 3]}): BATCH[:, 1, [0, 3]], lambda: ng.median(p, 0): np.median(BATCH, 1),
        lambda: ng.pad(p, {1: (1, 0)}, constant_values=0.0): np.pad(BATCH, ((0, 0), (0, 0), (1, 0))),
        lambda: ng.expand_dims(p, 0): BATCH[:, None], lambda: ng.where(p > 0, p, 0.0): np.where(BATCH > 0, BATCH, 0),
        lambda: ng.quantile(p, [0.2, 0.8], 0): np.moveaxis(np.quantile(BATCH, [0.2, 0.8], axis=1), 0, 1),
        lambda: ng.maximum(p, p[:1]): np.maximum(BATCH, BATCH[:, :1]), lambda: ng.diff(p, 0): np.diff(BATCH, axis=1),
        lambda: ng.logsumexp(p, -1, keepdims=True): np.log(np.exp(BATCH).sum(-1, keepdims=True)),
    }  # fmt: skip
    for call, expected in checks.items():
        got = call()
        assert got.vectorized == ("b",)
        np.testing.assert_allclose(got.data, expected, rtol=1e-12)


def test_ng_linear_algebra_works_on_the_last_two_axes() -> None:
    a = BATCH @ BATCH.swapaxes(1, 2) + np.eye(3)
    p = ng.positional(a, "b")
    np.testing.assert_allclose(ng.cholesky(p).data, np.linalg.cholesky(a))
    np.testing.assert_allclose(ng.solve(p, X).data, np.linalg.solve(a, X))
    np.testing.assert_allclose(ng.matmul(p, X).data, a @ X)
    np.testing.assert_allclose(ng.cholesky(p, dims=(0, 1)).data, np.linalg.cholesky(a))


def test_functions_that_make_names_ask_for_names() -> None:
    for call in (lambda p: ng.stack(p, z=(0, 1)), lambda p: ng.rename(p, {0: "x"})):
        with pytest.raises(TypeError, match=r"x\.name\("):
            call(ng.positional(X))
    with pytest.raises(ng.AxisError, match="out of bounds"):
        ng.sum(ng.positional(X), 2)


def test_names_of_letters_and_of_vectorized_axes_do_not_meet() -> None:
    p = ng.positional(BATCH, "i")
    np.testing.assert_allclose(np.einsum("ij->j", p).data, BATCH.sum(1))
    np.testing.assert_allclose(
        np.quantile(ng.positional(BATCH, "quantile"), [0.5], axis=0).data[:, 0], np.median(BATCH, 1)
    )


@pytest.mark.parametrize(
    ("leave", "instead"),
    [
        (lambda x: np.array([x[0], x[1]]), r"np\.stack\(\[a, b\]\) for np\.array\(\[a, b\]\)"),
        (lambda x: np.ones(3).dot(x), r"array @ x for array\.dot\(x\)"),
        (lambda x: np.vectorize(lambda v: v**2)(x), r"^np\.vectorize\(\), .*np\.where for a branch"),
        (lambda x: np.mean([x[0, 0], x[0, 1]]), r"^np\.mean\(\), .*np\.mean\(np\.stack\(\[a, b\]\)\)"),
        (lambda x: np.nanmean([x[0, 0], x[0, 1]]), r"^np\.nanmean\(\), .*np\.nanmean\(np\.stack\(\[a, b\]\)\)"),
        (lambda x: np.linalg.norm([x[0, 0], x[0, 1]]), r"^np\.linalg\.norm\(\)"),
        (lambda x: np.interp([0.5], [0.0, 1.0], [2.0, 3.0], left=x[0, 0]), r"np\.interp\(ng\.positional\(a\), \.\.\.\) for a plain"),
        (lambda x: np.ma.masked_greater(x, 0.5), r"^np\.ma\.masked_greater\(\), .*use np\.where\(mask, np\.nan, x\)"),
        (lambda x: np.ma.array([1.0, 2.0]) * x[0], r"^an operator of a masked array, "),
        (lambda x: scipy.signal.detrend(x), r"^scipy\.signal\.detrend\(\), .*use ng\.detrend"),
        (lambda x: scipy.signal.fftconvolve(x, x), r"use ng\.convolve"),
        (lambda x: scipy.special.comb(x, 2), r"use its ufuncs, as binom"),
        (lambda x: scipy.special.factorial(x), r"gamma\(n \+ 1\) for factorial"),
        (lambda x: scipy.special.logsumexp(x), r"use ng\.logsumexp"),
        (lambda x: scipy.interpolate.CubicSpline(range(2), x)(0.5), r"^scipy\.interpolate\.CubicSpline\(\), .*ng\.interp"),
        (lambda x: scipy.interpolate.CubicSpline(range(4), range(4))(x), r"^scipy\.interpolate\.CubicSpline\(\), "),
        (lambda x: scipy.fft.fht(x, 0.1, 0.5), r"^scipy\.fft\.fht\(\), "),
        (lambda x: scipy.ndimage.maximum(x), r"use ng\.max\("),
        (lambda x: scipy.signal.square(x), r"use ng\.convolve"),  # a wave, where np.square is a power
        (lambda x: scipy.linalg.cholesky(x), r"^scipy\.linalg\.cholesky\(\), .*use ng\.cholesky\("),
        (lambda x: scipy.linalg.lstsq(x, x), r"^scipy\.linalg\.lstsq\(\), .*use ng\.lstsq\("),
        (lambda x: scipy.linalg.toeplitz(x[0]), r"^scipy\.linalg\.toeplitz\(\), .*use np\.linalg's functions"),
        (lambda x: scipy.signal.lfilter([1.0], [1.0, 0.5], x), r"^scipy\.signal\.lfilter\(\), .*f\(np\.eye\(n\), axis=0\) @ x"),
        (lambda x: scipy.ndimage.gaussian_filter1d(x, 1.0), r"f\(np\.eye\(n\), axis=0\) @ x"),
        (lambda x: scipy.stats.skew(x), r"^scipy\.stats\.skew\(\), .*NumPy's functions and the ufuncs of scipy\.special"),
        (lambda x: scipy.optimize.brentq(lambda y: y - x[0, 0], 0, 1), r"^scipy\.optimize\.brentq\(\), .*ng\.least_squares"),
        (lambda x: scipy.optimize.nnls(x, np.ones(3)), r"^scipy\.optimize\.nnls\(\), "),
        (lambda x: scipy.integrate.odeint(lambda y, t: -x[0, 0] * y, 1.0, [0.0, 1.0]), r"^scipy\.integrate\.odeint\(\), .*ng\.scan"),
        (lambda x: scipy.sparse.eye_array(3) * x, r"use A @ x or x @ A .*A\.toarray\(\)"),
    ],
)
def test_what_to_do_instead_is_said(leave: Any, instead: str) -> None:
    with pytest.raises(ng.TraceError, match=instead):
        ng.grad(lambda x: np.sum(leave(x)))(X)


def test_what_compiled_code_drops_is_said() -> None:
    """Brent's method in C takes -1 for what is no number, goes on, and finds no change of sign."""

    def root(x: Any) -> Any:
        constant, options = x[0, 0], (1e-12, 1e-12, 9, (), False, True)
        return scipy.optimize._zeros._brentq(lambda y: constant, 0.0, 1.0, *options)

    with pytest.raises(ng.TraceError, match=r"^float\(\)"):
        ng.grad(root)(X)
    with pytest.raises(ValueError, match="different signs"):  # of plain numbers, after it
        ng.grad(lambda x: root(np.ones((1, 1))) * x.sum())(X)



def test_who_asks_for_the_memory_is_told() -> None:
    grid = np.arange(4.0)
    with pytest.raises(AttributeError, match=r"'flags'; functions that ask for the memory .* np\.asarray"):
        ng.grad(lambda x: np.sum(scipy.interpolate.RegularGridInterpolator((grid[:3], grid), x)([[0.5, 0.5]])))(X)


def test_splines_of_scipy_may_be_refused_often() -> None:
    """SciPy 1.17 gives back a reference to the dtype that is not its own, which is freed after some sixty errors."""
    program = (
        "import sys, numpy as np, scipy.interpolate as s, namedgrad as ng\n"
        "x = np.linspace(0.0, 5.0, 9); t, c, k = s.splrep(x, np.sin(x)); before = sys.getrefcount(x.dtype)\n"
        "for _ in range(200):\n"
        "    try: ng.grad(lambda v: np.sum(s.splev(x, (t, v, k))))(c)\n"
        "    except ng.TraceError: pass\n"
        "print(sys.getrefcount(x.dtype) >= before)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)  # noqa: S603 - own text
    assert (run.returncode, run.stdout, run.stderr) == (0, "True\n", "")


@pytest.mark.parametrize("f", [operator.mul, operator.add, np.matmul, np.multiply, np.dot])
def test_sparse_arrays_are_no_operands(f: Any) -> None:
    """NumPy takes one for a single cell, and made of a product an array of sparse arrays."""
    for x, sparse in ((ng.positional(X), scipy.sparse.csr_array(X)), (ng.positional(BATCH, "b"), scipy.sparse.eye(2))):
        with pytest.raises(TypeError, match=r"sparse array: A @ x .*\.toarray\(\)"):
            f(x, sparse)


def test_what_numpy_does_not_ask_for_joins_a_positional_array() -> None:
    """The way out of the error: NumPy asks the other arguments of these functions only."""
    a, gaps = ng.positional(np.array([0.3, -1.0, 0.2])), ng.positional(np.array([np.nan, 1.0]))
    for f, slope in (
        (lambda v: np.interp(a, [1.0, 2.0], [2.0, 3.0], left=v), 3.0), (lambda v: np.pad(a, 1, constant_values=v), 2.0),
        (lambda v: np.max(a, initial=v), 1.0), (lambda v: np.full_like(a, v), 3.0), (lambda v: np.nan_to_num(gaps, nan=v), 1.0),
    ):  # fmt: skip
        assert ng.grad(lambda v, f=f: np.sum(f(v)))(1.5) == slope


def test_what_compiled_code_makes_of_a_trace_error_is_one() -> None:
    """SciPy's root finders call the function again with the error of its last call still set, which is a SystemError."""

    def root(x: Any) -> Any:
        try:
            return float(x[0, 0])
        except ng.TraceError as error:
            raise SystemError("returned a result with an exception set") from error

    with pytest.raises(ng.TraceError, match=r"float\(\)"):
        ng.grad(root)(X)


@pytest.mark.parametrize(("text", "error"), [("__getitem__", ng.TraceError), ("'X' object has no attribute 'y'", AttributeError)])
def test_a_method_that_is_not_found_while_a_trace_error_is_pending(text: str, error: type[Exception]) -> None:
    """Or in the function that they call again no method of a class is found, whichever is looked up first."""

    def root(x: Any) -> Any:
        with contextlib.suppress(ng.TraceError):
            float(x[0, 0])
        raise AttributeError(text)

    with pytest.raises(error, match=r"float\(\)" if error is ng.TraceError else text):
        ng.grad(root)(X)


def test_bounds_of_a_plain_array() -> None:
    a, x = np.array([0.5, 2.5, 3.5, 2.0]), np.array([1.0, 2.0, 3.0, 9.0])
    for f, low, high in (
        (lambda x: a.clip(x, 1.1 * x), x, 1.1 * x), (lambda x: a.clip(max=x), -np.inf, x), (lambda x: a.clip(x), x, np.inf),
    ):  # fmt: skip
        value, g = ng.value_and_grad(lambda x, f=f: np.sum(f(x)))(x)
        assert value == a.clip(low, high).sum()
        np.testing.assert_array_equal(g, np.where(a < low, 1.0, np.where(a > high, 1.0 if high is x else 1.1, 0.0)))


@pytest.mark.parametrize("x", [np.float64(3.0), np.array([3.0, 1.0]), np.array([[1.0, 3.0], [2.0, 5.0]])])
def test_what_is_in_an_array(x):
    assert 3.0 in ng.positional(x)
    assert 7.0 not in ng.positional(x)
    assert ng.grad(lambda v: np.sum(v) * (2.0 if 3.0 in v else 5.0))(x).tolist() == np.full(x.shape, 2.0).tolist()
    with pytest.raises(ng.TraceError, match="one answer per slice"):
        _ = 3.0 in ng.positional(np.stack([x, x]), vectorized=("b",))


def test_method_choose():
    x, index = np.array([3.0, 4.0]), np.array([[1, 0], [0, 3]])
    for i in (ng.positional(index), ng.positional(index, vectorized=("b",))):
        np.testing.assert_array_equal(i.choose([x, 9.0, 8.0, 7.0]).devectorize().data, index.choose([x, 9.0, 8.0, 7.0]))
    taken = ng.grad(lambda v: np.sum(ng.positional(index).choose([v, v**2, 0.0, 1.0])))(x)
    np.testing.assert_array_equal(taken, [7.0, 1.0])


def test_shifts_and_the_device() -> None:
    def f(x: Any) -> Any:
        assert x.device == np.ones(2).device
        return np.sum(np.exp(x) * (np.argsort(x) << 1))

    x = np.array([0.5, 0.1, 0.7])
    np.testing.assert_allclose(ng.grad(f)(x), np.exp(x) * 2 * np.argsort(x))
    np.testing.assert_array_equal(8 >> ng.positional([1, 2]), [4, 2])
