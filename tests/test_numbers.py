"""Hard numbers: zeros in products, tails, extremes, infinities, ties, empty slices, several dtypes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import namedgrad as ng
from tests.support.oracles import moved, richardson
from tests.support.tolerances import FIRST, REFERENCE, ROUNDING, SECOND, assert_close

RNG = np.random.default_rng(11)


def vector(*data: float) -> ng.DimArray:
    return ng.DimArray(np.array(data, float), "x")


def fd_gradient(f: Callable[[ng.DimArray], ng.DimArray], x: ng.DimArray) -> np.ndarray:
    eye = np.eye(x.size)
    return np.array([richardson(lambda h, k=k: f(moved(x, h * eye[k])).item()) for k in range(x.size)])


# ------------------------------------------------------------------------------------------------ zeros in products

ZEROS = [(1.5, -2.0, 0.7, 3.0), (0.0, -2.0, 0.7, 3.0), (0.0, -2.0, 0.0, 3.0), (0.0, 0.0, 0.0, 3.0), (0.0, 0.0, 0.0, 0.0), (2.0, 0.0)]
WEIGHTS = ng.DimArray([0.3, -1.2, 2.0, 0.7], "x")


@pytest.mark.parametrize("at", ZEROS, ids=str)
@pytest.mark.parametrize("name", ["prod", "cumprod", "prod of square", "power"])
def test_products_at_zeros_at_three_orders(name: str, at: tuple[float, ...]) -> None:
    x, w = vector(*at), WEIGHTS.isel(x=slice(0, len(at)))
    f = {
        "prod": lambda x: x.prod(),
        "cumprod": lambda x: (x.cumprod("x") * w).sum(),
        "prod of square": lambda x: (x * x).prod() + x.prod() * (x * w).sum(),
        "power": lambda x: (x**3 * w).prod() + (x**2.0).sum() + (x**1).prod(),
    }[name]
    assert_close(ng.grad(f)(x).data, fd_gradient(f, x), FIRST)
    v = vector(*RNG.normal(size=len(at)))
    slope = lambda x: (ng.grad(f)(x) * v).sum()
    assert_close(ng.hvp(f, x, v).data, fd_gradient(slope, x), FIRST)
    assert_close(ng.grad(slope)(x).data, fd_gradient(slope, x), FIRST)
    third = lambda x: (ng.hvp(f, x, v) * v).sum()
    assert_close(ng.grad(third)(x).data, fd_gradient(third, x), SECOND)


def test_products_reach_neither_overflow_nor_division() -> None:
    x = vector(1e-200, 1e-200, 1e300, 1e150)
    g = ng.grad(lambda x: x.prod())(x).data
    np.testing.assert_allclose(g, [1e250, 1e250, 1e-250, 1e-100], rtol=1e-12)


@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_curvature_of_products_next_to_zero(name: str) -> None:
    f = {"prod": lambda x: x.prod(), "cumprod": lambda x: x.cumprod("x").isel(x=-1)}[name]
    got = ng.hvp(f, vector(3.0, 1e-100), vector(1.0, 1.0)).data
    np.testing.assert_allclose(got, [1.0, 1.0], rtol=1e-12)


# ------------------------------------------------------------------------------------------------ tails and extremes

# f, where, derivative by another formula
ACCURATE: dict[str, tuple[Callable[[Any], Any], list[float], Callable[[np.ndarray], np.ndarray]]] = {
    "tanh": (np.tanh, [0.0, 1e-9, 5.0, 19.0, -40.0, 300.0], lambda x: np.cosh(x) ** -2.0),
    "log1p": (np.log1p, [1e-18, 1e-9, 1e18], lambda x: 1 / (1 + x)),
    "expm1": (np.expm1, [1e-18, -40.0, 3.0], np.exp),
    "arctan": (np.arctan, [1e-9, 1e10, 1e200], lambda x: np.where(x > 1e150, 0.0, 1 / (1 + np.minimum(x, 1e150) ** 2))),
    "arcsinh": (np.arcsinh, [1e-9, 1e10, 1e200], lambda x: 1 / np.hypot(1, x)),
    "arccosh": (np.arccosh, [1 + 1e-9, 2.0, 1e200], lambda x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1))),
    "arctanh": (np.arctanh, [1e-9, 1 - 1e-9, -1 + 1e-12], lambda x: 1 / ((1 - x) * (1 + x))),
    "arcsin": (np.arcsin, [1e-9, 1 - 1e-9], lambda x: 1 / np.sqrt((1 - x) * (1 + x))),
    "arccos": (np.arccos, [1e-9, 1 - 1e-9], lambda x: -1 / np.sqrt((1 - x) * (1 + x))),
    "hypot": (lambda x: np.hypot(x, 2 * x), [1e-300, 1.0, 1e300, -1e300], lambda x: np.sqrt(5.0) * np.sign(x)),
    "arctan2": (lambda x: np.arctan2(x, 1e200), [1e-100, 1e200, 1e250], lambda x: 1e-200 / (1 + (x * 1e-200) ** 2)),
    "logaddexp": (lambda x: np.logaddexp(x, 1.0), [-800.0, -1.0, 800.0], lambda x: scipy.special.expit(x - 1.0)),
    "logaddexp2": (lambda x: np.logaddexp2(x, 1.0), [-800.0, -1.0, 800.0], lambda x: 1 / (1 + 2.0 ** (1 - x))),
    "sqrt": (np.sqrt, [1e-300, 1e300], lambda x: 0.5 / np.sqrt(x)),
    "cbrt": (np.cbrt, [1e-300, -8.0, 1e300], lambda x: 1 / (3 * np.cbrt(x) ** 2)),
    "reciprocal": (np.reciprocal, [1e-100, -1e100], lambda x: -1 / x / x),
    "square": (np.square, [1e-200, 1e150], lambda x: 2 * x),
    "logsumexp": (lambda x: ng.logsumexp(ng.concat([x, 0 * x], "q"), "q"), [-800.0, 0.3, 800.0], scipy.special.expit),
    "std": (lambda x: ng.concat([x, -x], "q").std("q"), [1e-140, 1.0, 1e150], lambda x: np.sign(x)),
    "power": (lambda x: x**2.5, [1e-100, 1e100], lambda x: 2.5 * x**1.5),
}


@pytest.mark.parametrize("name", ACCURATE)
def test_factors_are_accurate_in_the_tails(name: str) -> None:
    f, at, derivative = ACCURATE[name]
    x = vector(*at)
    expected = derivative(x.data)
    out, pull = ng.pullback(f, x)
    np.testing.assert_allclose(pull(ng.ones_like(out)).data, expected, rtol=1e-12)
    np.testing.assert_allclose(ng.pushforward(f, (x,), (ng.ones_like(x),))[1].data, expected, rtol=1e-12)


def test_minus_infinity_in_log_sums() -> None:
    x = vector(-np.inf, 0.0, 1.0)
    p = scipy.special.softmax(x.data)
    np.testing.assert_allclose(ng.grad(lambda x: ng.logsumexp(x))(x).data, p, rtol=1e-14)
    h = ng.hessian(lambda x: ng.logsumexp(x))(x).data
    np.testing.assert_allclose(h, np.diag(p) - np.outer(p, p), rtol=1e-12, atol=1e-15)
    nothing = vector(-np.inf, -np.inf)
    assert ng.logsumexp(nothing).item() == -np.inf
    np.testing.assert_array_equal(ng.grad(lambda x: ng.logsumexp(x))(nothing).data, [0, 0])
    np.testing.assert_array_equal(ng.grad(lambda x: np.logaddexp(x, x).sum())(nothing).data, [0, 0])
    np.testing.assert_array_equal(ng.grad(lambda x: np.logaddexp2(x, 2 * x).sum())(nothing).data, [0, 0])
    np.testing.assert_allclose(ng.grad(lambda x: np.logaddexp(x, 0.0).sum())(nothing).data, [0, 0])


def test_powers() -> None:
    x, n = vector(0.0, 0.0, 2.0, -2.0), vector(0.0, 2.0, 0.0, 3.0)
    gx, gn = ng.grad(lambda x, n: (x**n).sum(), (0, 1))(x, n)
    np.testing.assert_allclose(gx.data, [0, 0, 0, 12], rtol=1e-15)
    assert gn.data[1] == 0
    np.testing.assert_allclose(gn.data[2], np.log(2), rtol=1e-15)
    for exponent in (0, 1, 2, 3, 0.0, 1.0, 2.0):
        at = vector(-1.5, 0.0, 0.5)
        f = lambda x, exponent=exponent: (x**exponent).sum()
        assert_close(ng.grad(f)(at).data, fd_gradient(f, at), FIRST)
        assert_close(ng.grad(lambda x, f=f: ng.grad(f)(x).sum())(at).data, fd_gradient(lambda x, f=f: ng.grad(f)(x).sum(), at), FIRST)
    base = ng.grad(lambda b: (0.0**b).sum())(vector(0.5, 3.0))
    np.testing.assert_array_equal(base.data, [0, 0])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_directions_of_infinite_numbers_are_those_of_numpy(dtype: str) -> None:
    inf, nan = np.inf, np.nan
    z = np.array([complex(*p) for p in itertools.product((inf, -inf, nan, 0.0, 3.0, -3.0), repeat=2)], dtype)
    x = ng.DimArray(z, "x")
    np.testing.assert_allclose(ng.sign(x).data, np.sign(z), rtol=2 * np.finfo(dtype).eps)
    _, pull = ng.pullback(ng.sign, x)
    far = np.isinf(np.abs(z))
    np.testing.assert_array_equal(pull(ng.ones_like(x)).data[far], 0)


def test_the_direction_of_a_number_whose_length_overflows() -> None:
    z = ng.DimArray(np.array([1.7e308 + 1.7e308j, -1.7e308 + 1.2e308j]), "x")
    np.testing.assert_allclose(ng.sign(z).data, z.data / 1e308 / np.abs(z.data / 1e308), rtol=1e-14)


# ------------------------------------------------------------------------------------------------ ties


@pytest.mark.parametrize("name", ["max", "min", "maximum", "minimum", "fmax", "fmin", "median"])
def test_ties_are_pulled_and_pushed_alike(name: str) -> None:
    x = vector(3.0, 1.0, 3.0, 1.0) if name != "median" else vector(3.0, 2.0, 2.0, 1.0)
    f = (lambda x: getattr(x, name)("x")) if name in {"max", "min", "median"} else (lambda x: getattr(np, name)(x, 3.0 if "max" in name else 1.0))
    t, c = vector(0.5, -2.0, 4.0, 7.0), 1.0
    out, pull = ng.pullback(f, x)
    seed = ng.ones_like(out) * c
    pushed = ng.pushforward(f, (x,), (t,))[1]
    np.testing.assert_allclose((pull(seed) * t).sum().item(), (seed * pushed).sum().item(), rtol=1e-14)
    total = pull(seed).data.sum()
    assert total == pytest.approx(1.0 if not out.dims else 0.5 * 2 if name != "median" else 1.0)


def test_fmax_ignores_nan() -> None:
    x, y = vector(np.nan, 1.0, np.nan, 2.0), vector(1.0, np.nan, np.nan, 2.0)
    gx, gy = ng.grad(lambda x, y: ng.where(ng.isnan(np.fmax(x, y)), 0.0, np.fmax(x, y)).sum(), (0, 1))(x, y)
    np.testing.assert_array_equal(gx.data, [0, 1, 0, 0.5])
    np.testing.assert_array_equal(gy.data, [1, 0, 0, 0.5])


# ------------------------------------------------------------------------------------------------ missing values


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "prod", "max", "min", "median"])
def test_missing_cells_and_slices(name: str) -> None:
    data = np.array([[1.0, np.nan, 4.0, 2.5], [np.nan, np.nan, np.nan, np.nan], [np.nan, 7.0, np.nan, np.nan]])
    x = ng.DimArray(data, ("y", "x"))
    c = np.array([2.0, 5.0, -3.0])
    _, pull = ng.pullback(lambda x: getattr(x, name)("x"), x)
    g = pull(ng.DimArray(c, "y")).data
    assert (g[np.isnan(data)] == 0).all()
    full = ng.grad(lambda x: getattr(x, name)("x"))(vector(1.0, 4.0, 2.5)).data
    np.testing.assert_allclose(g[0, [0, 2, 3]], 2.0 * full, rtol=1e-13)
    assert np.isfinite(g).all()
    pushed = ng.pushforward(lambda x: getattr(x, name)("x"), (x,), (ng.ones_like(x),))[1].data
    assert pushed[1] == 0
    np.testing.assert_allclose(pushed[0], full.sum(), rtol=1e-13, atol=1e-15)
    h = ng.hvp(lambda x: (getattr(x, name)("x") * ng.DimArray([2.0, 0.0, -3.0], "y")).sum(), x, ng.ones_like(x)).data
    assert (h[np.isnan(data)] == 0).all()
    vectorized = ng.grad(lambda x: getattr(x, name)())(x.vectorize("y")).data
    assert (vectorized[np.isnan(data)] == 0).all()
    np.testing.assert_allclose(vectorized[0, [0, 2, 3]], full, rtol=1e-13)


@pytest.mark.parametrize("min_count", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_min_count(name: str, min_count: int) -> None:
    import xarray as xr

    data = np.array([[1.0, np.nan, 4.0], [np.nan, np.nan, np.nan], [2.0, 7.0, 3.0]])
    x = ng.DimArray(data, ("y", "x"))
    expected = getattr(xr.DataArray(data, dims=("y", "x")), name)("x", min_count=min_count)
    np.testing.assert_array_equal(getattr(x, name)("x", min_count=min_count).data, expected)
    whole = getattr(xr.DataArray(data, dims=("y", "x")), name)(min_count=min_count)
    np.testing.assert_array_equal(getattr(x, name)(min_count=min_count).data, whole)
    np.testing.assert_array_equal(getattr(x, name)("x", min_count=min_count, skipna=False).data[:2], [np.nan, np.nan])
    complete = ng.DimArray(np.ones((2, 2)), ("y", "x"))
    expected = getattr(complete.to_xarray(), name)("x", min_count=min_count)
    np.testing.assert_array_equal(getattr(complete, name)("x", min_count=min_count).data, expected)


def test_skipna_is_xarrays_for_every_dtype() -> None:
    for dtype in (np.float32, np.float64, np.complex128, np.int64, np.bool_):
        a = ng.DimArray(np.array([[1, 0], [1, 1]], dtype), ("x", "y"))
        da = a.to_xarray()
        for name in ("sum", "mean", "prod", "max", "min", "count", "var", "std", "any", "all", "cumsum"):
            if dtype == np.bool_ and name in {"max", "min"}:
                continue
            if dtype == np.complex128 and name in {"any", "all", "max", "min"}:
                continue
            mine, theirs = getattr(a, name)("x"), getattr(da, name)("x")
            assert_close(mine.data, theirs.to_numpy(), REFERENCE)
            assert mine.dtype == theirs.dtype, (name, dtype)


# ------------------------------------------------------------------------------------------------ dtypes


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
def test_results_and_gradients_keep_the_dtype(dtype: Any) -> None:
    x = ng.DimArray(np.array([0.5, 0.25, 0.75], dtype), "x")
    functions: list[Callable[[ng.DimArray], ng.DimArray]] = [
        lambda x: x * 2 + 1, lambda x: x / 3, lambda x: x**2, np.exp, np.sin, lambda x: x.sum(), lambda x: x.mean(), lambda x: x.cumsum("x"),
        lambda x: x.isel(x=[0, 0]), lambda x: x.pad(x=1, constant_values=0), lambda x: ng.dot(x, x, dim="x"), lambda x: x.at[{"x": 0}].set(2.0),
        lambda x: ng.where(x.real > 0, x, 0.0), lambda x: ng.concat([x, x], "x"), lambda x: x.prod(), lambda x: x.std(), lambda x: 1.0 - x, lambda x: x.diff("x"),
    ]  # fmt: skip
    for k, f in enumerate(functions):
        out, pull = ng.pullback(f, x)
        real = np.dtype(dtype).type(0).real.dtype
        assert out.dtype in {np.dtype(dtype), real}, k
        assert pull(out).dtype == dtype, k
        assert ng.pushforward(f, (x,), (x,))[1].dtype == out.dtype, k
        assert ng.grad(lambda x, f=f: abs(f(x)).sum())(x).dtype == dtype, k


def test_sums_of_half_precision_do_not_stall() -> None:
    x = ng.DimArray(np.ones(5000, np.float16), "x")
    w = ng.DimArray(np.float16(1.0), ())
    assert x.sum().item() == 5000
    assert ng.grad(lambda w: (w * x).sum())(w).item() == 5000


def test_mixed_precision_operands_get_their_own_dtype() -> None:
    a, b = ng.DimArray(np.ones(3, np.float32), "x"), ng.DimArray(np.ones((3, 2)), ("x", "y"))
    ga, gb = ng.grad(lambda a, b: (a * b).sum(), (0, 1))(a, b)
    assert (ga.dtype, gb.dtype) == (np.float32, np.float64)
    z = ng.DimArray(np.ones(3) * 1j, "x")
    ga, gz = ng.grad(lambda a, z: abs(a * z + a).sum(), (0, 1))(a, z)
    assert (ga.dtype, gz.dtype) == (np.float32, np.complex128)


def test_seeds_are_of_the_outputs_precision() -> None:
    x = ng.DimArray(np.array([1 / 3]), "x")
    assert ng.grad(lambda x: (x / 3).sum())(x).item() == 1 / 3
    _, pull = ng.pullback(lambda x: x / 3, x)
    assert pull(ng.DimArray(np.float32([1.0]), "x")).dtype == np.float64


# ------------------------------------------------------------------------------------------------ complex numbers


COMPLEX: dict[str, Callable[[Any], Any]] = {
    "polynomial": lambda z: z**3 - 2 * z * z.conj() + z.conj() ** 2,
    "holomorphic": lambda z: np.exp(np.sin(z)) / (z + 3),
    "real and imaginary": lambda z: z.real * np.sin(z.imag) + 1j * z.imag**2,
    "absolute": lambda z: abs(z) * z + abs(z) ** 2,
    "angle": lambda z: ng.angle(z) * z,
    "sqrt and log": lambda z: np.sqrt(z) * np.log(z) + np.log1p(z) + np.log2(z) * np.log10(z),
    "hyperbolic": lambda z: np.tanh(z) + np.sinh(z) * np.cosh(z) + np.arctan(z),
    "reductions": lambda z: z * z.sum() + z.mean() * z.var() + z.cumsum("x") + z.prod() + z.std(),
    "contraction": lambda z: ng.dot(z, z.conj(), dim="x") * z + ng.dot(z, z, dim="x"),
    "where": lambda z: ng.where(z.real > 0, z * 2, z.conj() * 3j),
    "power": lambda z: z ** (2 + 1j) + 2.0**z + z**-1,
    "to real and back": lambda z: (z.real**2).astype(complex) * z,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_derivatives(name: str) -> None:
    f = COMPLEX[name]
    z = ng.DimArray(RNG.normal(size=4) + 1j * RNG.normal(size=4), "x")
    t, c = (ng.DimArray(RNG.normal(size=4) + 1j * RNG.normal(size=4), "x") for _ in range(2))
    expected = richardson(lambda h: f(z + h * t).to_numpy())
    assert_close(ng.pushforward(f, (z,), (t,))[1].to_numpy(), expected, FIRST)
    out, pull = ng.pullback(f, z)
    seed = c if out.dtype.kind == "c" else c.real
    g = pull(seed)
    assert g.dtype == np.complex128
    here = np.real(np.vdot(seed.to_numpy(), expected))
    assert np.real(np.vdot(g.to_numpy(), t.to_numpy())) == pytest.approx(here, rel=1e-7)
    slope = lambda z: ng.pullback(f, z)[1](seed)
    second = richardson(lambda h: slope(z + h * t).to_numpy(), 1e-4)
    assert_close(ng.pushforward(slope, (z,), (t,))[1].to_numpy(), second, SECOND)
    assert_close(ng.pullback(slope, z)[1](t).to_numpy(), second, SECOND)  # a Hessian is symmetric


def test_the_gradient_of_a_real_loss_is_dx_plus_i_dy() -> None:
    z = ng.DimArray([1 + 2j, -0.5 + 0.25j], "x")
    f = lambda z: (abs(z) ** 2 * z.real + z.imag**3).sum()
    expected = [
        richardson(lambda h, u=u, k=k: f(moved(z, h * u * np.eye(2)[k])).item()) for k, u in itertools.product(range(2), (1, 1j))
    ]
    assert_close(ng.grad(f)(z).data, np.array(expected[::2]) + 1j * np.array(expected[1::2]), FIRST)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_infinite_slopes_of_an_imaginary_part_are_imaginary(dtype: str) -> None:
    """Along the real axis nothing changes: -i times infinity, as a product of complex numbers, would be NaN there."""
    z = ng.DimArray(np.array([2.0, -1 + 0.5j], dtype), "x")
    g = ng.grad(lambda z: np.log(z.imag).sum())(z)
    assert g.dtype == dtype
    np.testing.assert_array_equal(g.data, np.array([complex(0, np.inf), 2j], dtype))


def test_real_inputs_of_complex_programs_have_real_gradients() -> None:
    x = vector(0.3, -1.2)
    f = lambda x: abs(np.exp(1j * x) + x * (2 - 1j)).sum()
    g = ng.grad(f)(x)
    assert g.dtype == np.float64
    assert_close(g.data, fd_gradient(f, x), FIRST)
    h = ng.hessian(f)(x)
    assert h.dtype == np.float64
    slope = lambda x: ng.grad(f)(x).sum()
    assert_close(h.data.sum(0), fd_gradient(slope, x), FIRST)


# ------------------------------------------------------------------------------------------------ linear algebra


def test_factors_of_nearly_singular_matrices() -> None:
    a = ng.DimArray(np.diag([1.0, 1e-8]), ("i", "j"))
    b = ng.DimArray([1.0, 1.0], "i")
    g = ng.grad(lambda b: ng.solve(a, b, ("i", "j")).sum())(b)
    np.testing.assert_allclose(g.data, [1.0, 1e8], rtol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        ng.solve(a * 0, b, ("i", "j"))
    with pytest.raises(np.linalg.LinAlgError):
        ng.cholesky(-a, ("i", "j"))


def test_cholesky_reads_the_lower_triangle_and_its_gradient_is_symmetric() -> None:
    spd = RNG.normal(size=(3, 3))
    spd = spd @ spd.T + np.eye(3)
    upper_changed = spd + np.triu(RNG.normal(size=(3, 3)), 1)
    f = lambda a: np.sin(ng.cholesky(a, ("i", "j"))).sum()
    a, b = (ng.DimArray(m, ("i", "j")) for m in (spd, upper_changed))
    np.testing.assert_allclose(ng.cholesky(b, ("i", "j")).data, np.linalg.cholesky(spd), rtol=1e-14)
    g = ng.grad(f)(a).data
    np.testing.assert_allclose(g, g.T, rtol=1e-12, atol=1e-14)
    v = RNG.normal(size=(3, 3))
    v = v + v.T
    assert_close(np.sum(g * v), richardson(lambda h: f(ng.DimArray(spd + h * v, ("i", "j"))).item()), FIRST)
    g2 = ng.grad(f)(ng.DimArray(spd, ("j", "i")).rename(i="j", j="i")).data
    np.testing.assert_allclose(g2, g, rtol=ROUNDING)


# ------------------------------------------------------------------------------------------------ branches


@pytest.mark.parametrize(
    ("name", "slope"),
    [("arcsin", np.cos), ("arccos", lambda y: -np.sin(y)), ("arcsinh", np.cosh), ("arccosh", np.sinh)],
)
def test_inverse_functions_on_both_sides_of_their_branch_cuts(name, slope):
    parts = [(a, b) for a in (-3.0, -0.5, -0.0, 0.0, 0.5, 3.0) for b in (-2.0, -0.5, -0.0, 0.0, 0.5, 2.0)]
    x = np.array([complex(a, b) for a, b in parts])
    got = ng.grad(lambda x: np.sum(np.real(getattr(np, name)(x))))(x)
    np.testing.assert_allclose(np.conj(got), 1 / slope(getattr(np, name)(x)), rtol=1e-12)


@pytest.mark.parametrize(("name", "point"), [("arcsin", 1), ("arccos", -1), ("arccosh", 1), ("arcsinh", 1j)])
def test_no_finite_slope_at_a_branch_point(name, point):
    got = ng.grad(lambda x: np.sum(np.real(getattr(np, name)(x))))(np.array([point + 0j]))
    assert not np.isfinite(got).any()


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arccosh"])
def test_slope_next_to_a_branch_point(name):
    """At 1 + d it is 1 / sqrt(d (2 + d)), up to a factor of i or -1; through the value, half of the digits are lost."""
    x = np.array([1 + 1e-10j])
    got = ng.grad(lambda x: np.sum(np.real(getattr(np, name)(x))))(x)
    np.testing.assert_allclose(abs(got), abs(1 / np.sqrt(1e-10j * (2 + 1e-10j))), rtol=1e-12)


# ------------------------------------------------------------------------------------------------ numbers of Python


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "var", "std", "cumsum", "cumprod", "nansum", "nanmean"])
@pytest.mark.parametrize("number", [2.5, 3, 0.5 - 1.5j])
def test_reductions_of_a_number_of_python(name, number):
    np.testing.assert_array_equal(getattr(ng, name)(number).data, np.ravel(getattr(np, name)(number))[0])


def test_softmax_silu_and_powers_of_a_number_of_python():
    assert [ng.softmax(0.7).item(), ng.log_softmax(0.7).item()] == [1, 0]
    z = 0.5 + 0.3j
    assert ng.silu(z).item() == pytest.approx(z / (1 + np.exp(-z)), rel=1e-14)
    np.testing.assert_array_equal(ng.vander(0.5, 4).data, np.vander([0.5], 4)[0])


@pytest.mark.parametrize(("name", "at", "slope"), [
    ("frexp", (0.0,), 1), ("frexp", (12.0,), 1 / 16), ("stdtr", (0.0, 1.0), np.nan),
    ("voigt_profile", (1e200, 1.0, 1.0), 0), ("voigt_profile", (0.5, 0.0, 1.0), -1 / np.pi / 1.25**2),
])  # fmt: skip
def test_slopes_at_numbers_of_python(name, at, slope):
    """They are those at arrays, also where Python refuses to divide by 0."""
    first = lambda out: out[0] if isinstance(out, tuple) else out
    found = ng.grad(lambda x: first(getattr(ng, name)(x, *at[1:])))(at[0])
    np.testing.assert_allclose(found, slope, rtol=1e-12)
