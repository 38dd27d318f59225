"""Small dtypes: sums of integers that leave their range, and half precision, in which squares and exponentials overflow."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage
import scipy.special

import namedgrad as ng

RNG = np.random.default_rng(5)
NANOSECONDS = np.array([1.6e18, 1.7e18, 1.65e18, 1.6e18, 1.6e18, 1.7e18, 1.6e18]).astype("int64")  # their sum is above 2**63
MEANS: dict[str, Callable[[ng.DimArray], Any]] = {
    "mean": lambda t: t.mean("x"),
    "nanmean": ng.nanmean,
    "average": lambda t: ng.average(t, dim="x"),
    "var": lambda t: t.var("x") ** 0.5 + t.data.mean() - t.data.std(),
    "avg_pool": lambda t: ng.avg_pool(t, {"x": 7}),
    "rolling": lambda t: t.rolling(x=7).mean().isel(x=-1),
    "cumulative": lambda t: t.cumulative("x").mean().isel(x=-1),
    "segment_mean": lambda t: ng.segment_mean(t, [0] * 7, "x"),
    "segment_reduce": lambda t: ng.segment_reduce(t, "mean", lengths=[7], dim="x"),
}


@pytest.mark.parametrize("name", MEANS)
def test_a_mean_of_integers_does_not_wrap(name: str) -> None:
    found = MEANS[name](ng.DimArray(NANOSECONDS, "x")).to_numpy()
    assert found.dtype == np.float64
    np.testing.assert_allclose(found.ravel(), NANOSECONDS.mean(), rtol=1e-15)


@pytest.mark.parametrize("name", ["expit", "log_expit", "softplus", "silu", "mish", "gelu", "elu", "tanhshrink", "softsign"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool"])
def test_small_integers_are_doubles_first(name: str, dtype: str) -> None:
    x = np.array([0, 1, 1, 0]).astype(dtype) if dtype == "bool" else np.array([0, 3, 100, 7], dtype)
    options = {"approximate": "tanh"} if name == "gelu" else {}
    function = getattr(ng, name)
    found = function(ng.DimArray(x, "x"), **options).to_numpy()
    np.testing.assert_allclose(found, function(ng.DimArray(x.astype(float), "x"), **options).to_numpy(), rtol=1e-14)


FAR = np.array([-60000, -300, -20, -5, -0.5, 0, 0.5, 5, 8, 12, 20, 300, 60000])


@pytest.mark.parametrize("name", ["silu", "mish", "gelu", "softplus", "log_sigmoid", "hardswish", "elu", "celu", "selu", "tanhshrink"])
def test_activations_in_half_precision(name: str) -> None:
    function = getattr(ng, name)

    def both(x: ng.DimArray) -> tuple[np.ndarray, np.ndarray]:
        return function(x).to_numpy(), ng.grad(lambda x: function(x).sum())(x).to_numpy()

    exact = both(ng.DimArray(FAR, "x"))
    for half, double in zip(both(ng.DimArray(FAR.astype(np.float16), "x")), exact, strict=True):
        assert half.dtype == np.float16
        np.testing.assert_allclose(half.astype(float), double, rtol=6e-3, atol=2e-3)


def test_gelu_with_tanh_in_half_precision() -> None:
    x = ng.DimArray(FAR.astype(np.float16), "x")
    slope = ng.grad(lambda x: ng.gelu(x, "tanh").sum())(x).to_numpy()
    np.testing.assert_allclose(slope.astype(float), ng.grad(lambda x: ng.gelu(x, "tanh").sum())(ng.DimArray(FAR, "x")).to_numpy(), atol=4e-3)


def test_sums_over_no_dim_leave_nan_as_xarray_does() -> None:
    x = ng.DimArray(np.array([1.0, np.nan]), "x")
    np.testing.assert_array_equal(x.sum(()).data, [1.0, np.nan])
    np.testing.assert_array_equal(x.prod(()).data, [1.0, np.nan])


def test_logcumsumexp_behind_infinity() -> None:
    x = ng.DimArray(np.array([1.0, 2.0, np.inf, 2.0, -np.inf]), "x")
    np.testing.assert_array_equal(ng.logcumsumexp(x).data[2:], [np.inf] * 3)
    first = ng.grad(lambda x: ng.logcumsumexp(x).isel(x=1))(x).data
    np.testing.assert_allclose(first[:2], np.exp([1, 2]) / np.exp([1, 2]).sum())
    np.testing.assert_array_equal(first[2:], 0)


def test_angles_between_truth_values_and_small_integers() -> None:
    x, y = np.array([1, 1, 0, 1, 0, 1]), np.array([1, 0, 0, 1, 1, 1])
    expected = x @ y / np.sqrt(x @ x * (y @ y))
    for dtype in ("bool", "int8"):
        a, b = (ng.DimArray((v * (100 if dtype == "int8" else 1)).astype(dtype), "x") for v in (x, y))
        np.testing.assert_allclose(ng.cosine_similarity(a, b, dim="x").data, expected, rtol=1e-15)


def test_sums_of_groups_of_truth_values_are_counts() -> None:
    x = ng.DimArray(np.array([True, True, False, True]), "x")
    np.testing.assert_array_equal(ng.segment_sum(x, [0, 0, 1, 1], "x").data, [2, 1])
    np.testing.assert_array_equal(ng.segment_reduce(x, "sum", lengths=[2, 2], dim="x").data, [2, 1])
    assert ng.segment_prod(x, [0, 0, 1, 1], "x").data.tolist() == [1, 0]


@pytest.mark.parametrize("p", [0, 1, 1.5, 2, 3, np.inf])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool"])
def test_distances_between_small_integers(dtype: str, p: float) -> None:
    x = np.array([[100, 0], [120, 99], [0, 1]]).astype(dtype)
    found = ng.cdist(ng.DimArray(x, ("i", "k")), ng.DimArray(x[::-1].copy(), ("j", "k")), "k", p=p).data
    apart = np.abs(x[:, None].astype(float) - x[::-1].astype(float))
    np.testing.assert_allclose(found, np.linalg.norm(apart, p, axis=-1) if p else (apart != 0).sum(-1), rtol=1e-14)
    pairs = ng.pdist(ng.DimArray(x, ("i", "k")), ("i", "k"), p=p).data
    np.testing.assert_allclose(pairs, [found[0, 1], found[0, 0], found[1, 0]], rtol=1e-14)


MANY = (RNG.normal(size=20000) * 3 + 10).astype(np.float16), (RNG.normal(size=20000) * 3).astype(np.float16)  # whose sums overflow
SUMS: dict[str, Callable[[ng.DimArray, ng.DimArray], Any]] = {
    "mean": lambda x, y: x.mean("x"),
    "nanmean": lambda x, y: ng.nanmean(x),
    "average": lambda x, y: ng.average(x, abs(y)),
    "var": lambda x, y: x.var("x"),
    "std": lambda x, y: x.std("x"),
    "cov": lambda x, y: ng.cov(x, y),
    "corr": lambda x, y: ng.corr(x, x + y),
    "mse_loss": ng.mse_loss,
    "l1_loss": ng.l1_loss,
    "layer_norm": lambda x, y: ng.layer_norm(x, y, dim="x"),
    "rms_norm": lambda x, y: ng.rms_norm(x, dim="x"),
    "batch_norm": lambda x, y: ng.batch_norm(x, dim="x") * y,
    "avg_pool": lambda x, y: ng.avg_pool(x * 30, {"x": 500}),
    "rolling": lambda x, y: (x * 30).isel(x=slice(0, 600)).rolling(x=500).mean().isel(x=-1),
    "segment_mean": lambda x, y: ng.segment_mean(x, np.zeros(20000, int), "x"),
    "cosine_similarity": lambda x, y: ng.cosine_similarity(x, x + y, dim="x"),
}


@pytest.mark.parametrize("name", SUMS)
def test_half_precision_is_accumulated_in_single(name: str) -> None:
    half, double = ([ng.DimArray(v.astype(dtype), "x") for v in MANY] for dtype in (np.float16, float))
    found, expected = (SUMS[name](*xs) for xs in (half, double))
    assert found.dtype == np.float16
    np.testing.assert_allclose(found.data, expected.data, rtol=3e-3, atol=3e-3 * np.abs(expected.data).max())
    slopes = [ng.grad(lambda x, y: SUMS[name](x, y).sum())(*xs).data.astype(float) for xs in (half, double)]
    size = max(np.abs(slopes[1]).max(), 1e-3)
    assert np.abs(slopes[0] - slopes[1]).max() < 4e-3 * size


STEPS = (np.random.default_rng(6).integers(-9, 10, 3000) / 1024 + 1).astype(np.float16)  # exactly
LONG: dict[str, Callable[[ng.DimArray], Any]] = {
    "cumsum": lambda x: x.cumsum("x"),
    "cumprod": lambda x: x.cumprod("x"),
    "prod": lambda x: x.prod("x"),
    "np.cumsum": lambda x: ng.asdimarray(np.cumsum(x, axis="x")),
    "rolling sum": lambda x: x.rolling(x=2500, min_periods=1).sum(),
    "rolling prod": lambda x: x.rolling(x=2500, min_periods=1).prod(),
    "rolling max": lambda x: x.rolling(x=2500, min_periods=1).max(),
    "construct": lambda x: x.rolling(x=3).construct("k", fill_value=0).isel(k=0),
    "cumulative_trapezoid": lambda x: ng.cumulative_trapezoid(x, dim="x"),
    "cumulative_integrate": lambda x: ng.cumulative_integrate(x, dim="x"),
    "lp_pool": lambda x: ng.lp_pool(x * 64, {"x": 3}, p=3.0) / 64,
    "cdist": lambda x: ng.cdist(x[{"x": slice(1500)}], x[{"x": slice(1500, 3000)}] * 2, dim="x", compute_mode="matmul"),
}


@pytest.mark.parametrize("name", LONG)
def test_what_grows_cell_by_cell_is_rounded_to_half_precision_once(name: str) -> None:
    half, double = (ng.DimArray(STEPS.astype(dtype), "x") for dtype in (np.float16, float))
    found, expected = (LONG[name](x) for x in (half, double))
    assert found.dtype == np.float16
    np.testing.assert_allclose(found.data.astype(float), expected.data, rtol=1e-3)
    slopes = [ng.grad(lambda x: LONG[name](x).sum())(x).data.astype(float) for x in (half, double)]
    assert np.abs(slopes[0] - slopes[1]).max() < 4e-3 * np.abs(slopes[1]).max()


@pytest.mark.parametrize("at", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_normalised_positions_on_many_half_cells(mode: str, at: Any) -> None:
    x = ng.DimArray(STEPS, "x")
    u = ng.DimArray(np.array([-0.7, 0.123, 0.5, 0.91], np.float16).astype(at), "p")
    f = lambda x, u: ng.grid_sample(x, {"x": u}, mode, align_corners=True)
    (value, g), (expected, h) = ((f(*xs), ng.grad(lambda x, u: f(x, u).sum(), (0, 1))(*xs)) for xs in ((x, u), (x.astype(float), u.astype(float))))
    assert (value.dtype, g[0].dtype, g[1].dtype) == (np.float16, np.float16, at)
    for a, b in zip((value, *g), (expected, *h), strict=True):
        np.testing.assert_allclose(a.data.astype(float), b.data, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("method", ["linear", "cubic", "pchip", "akima", "makima"])
def test_interpolation_between_half_cells_far_apart(method: str) -> None:
    """The squares and cubes of their distances leave the range."""
    x, at, to = STEPS[:6], np.array([-900, -300, 10, 400, 1000, 2100], np.float16), np.array([-500, 700.5, 2000], np.float16)
    f = lambda x, to: ng.interp(x, {"x": to}, {"x": at}, method)
    pairs = [(ng.DimArray(x.astype(d), "x"), ng.DimArray(to.astype(d), "p")) for d in (np.float16, float)]
    oracle = {"cubic": scipy.interpolate.CubicSpline, "pchip": scipy.interpolate.PchipInterpolator}.get(method)
    values = [f(*p).data for p in pairs]
    assert values[0].dtype == np.float16
    np.testing.assert_allclose(values[0], values[1], rtol=2e-3)
    if oracle:
        np.testing.assert_allclose(values[0], oracle(at.astype(float), x.astype(float))(to.astype(float)), rtol=2e-3)
    for a, b in zip(*(ng.grad(lambda x, to: f(x, to).sum(), (0, 1))(*p) for p in pairs), strict=True):
        assert a.dtype == np.float16
        np.testing.assert_allclose(a.data.astype(float), b.data, rtol=3e-3, atol=1e-3 * np.abs(b.data).max())


@pytest.mark.parametrize("name", ["kv", "kve", "iv", "i0e", "i1e", "k0e", "k1e", "binom", "poch"])
def test_slopes_of_special_functions_of_half_cells(name: str) -> None:
    f, x = getattr(ng, name), np.array([0.004, 0.5, 7.0, 30.0, 60.0] if name != "iv" else [0.004, 0.5, 7.0], np.float16)
    of = lambda x: (f if name[-1] == "e" and name[1] in "01" else functools.partial(f, 1.0) if name[1] == "v" else lambda v: f(v, 0.5))(x)
    found, exact = (ng.grad(lambda x: of(x).sum())(ng.DimArray(x.astype(d), "x")).data for d in (np.float16, float))
    assert found.dtype == np.float16
    np.testing.assert_allclose(found.astype(float), exact, rtol=2e-3, atol=1e-7)


def test_a_unit_vector_of_half_zeros_is_0() -> None:
    """By the length, or by ``eps``, which has no place in half precision."""
    x = ng.DimArray(np.zeros((2, 3), np.float16) + np.array([[0], [2]], np.float16), ("a", "x"))
    out, g = ng.normalize(x, dim="x"), ng.grad(lambda x: ng.normalize(x, dim="x").isel(a=1, x=0).sum())(x)
    assert out.dtype == g.dtype == np.float16
    np.testing.assert_allclose(out.data, [[0, 0, 0], [3**-0.5] * 3], rtol=1e-3)
    np.testing.assert_allclose(g.data, [[0, 0, 0], np.array([2, -1, -1]) / (3 * 3**0.5 * 2)], rtol=2e-3)


@pytest.mark.parametrize("name", ["cosine", "gaussian", "margin", "weighted", "renorm"])
def test_losses_of_half_cells_whose_squares_leave_the_range(name: str) -> None:
    x, y, v = (np.array(a, np.float16) for a in ([300, -200, 3e-4], [100, 250, 2e-4], [2000, 900, 1]))
    f = {
        "cosine": lambda x, y, v: ng.cosine_embedding_loss(x, y, 1.0, dim="x"),
        "gaussian": lambda x, y, v: ng.gaussian_nll_loss(x, y, v),
        "margin": lambda x, y, v: ng.multi_margin_loss(x, ng.DimArray(1, ()), dim="x", p=2, margin=1.0, weight=v / 60000),
        "weighted": lambda x, y, v: ng.cross_entropy(x / 100, ng.DimArray(1, ()), dim="x", weight=v),
        "renorm": lambda x, y, v: ng.renorm(x, "x", maxnorm=5.0).sum(),
    }[name]
    args = [[ng.DimArray(a.astype(d), "x") for a in (x, y, v)] for d in (np.float16, float)]
    (value, g), (exact, h) = (ng.value_and_grad(f)(*a) for a in args)
    assert value.dtype == g.dtype == np.float16
    np.testing.assert_allclose(value.data, exact.data, rtol=2e-3)
    np.testing.assert_allclose(g.data.astype(float), h.data, rtol=4e-3, atol=3e-4 * np.abs(h.data).max())


@pytest.mark.parametrize("at", [np.float16, np.float64])
def test_positions_among_many_half_cells(at: Any) -> None:
    p = np.array([3.25, 1001.5, 2500, 2998], at)
    f = lambda x, p: ng.map_coordinates(x, {"x": p})
    x, places = ng.DimArray(STEPS, "x"), ng.DimArray(p, "p")
    exact = scipy.ndimage.map_coordinates(STEPS.astype(float), [p.astype(float)], order=1)
    np.testing.assert_allclose(f(x, places).data.astype(float), exact, rtol=1e-3)
    first = np.floor(p).astype(int)
    np.testing.assert_allclose(ng.grad(lambda p: f(x, p).sum())(places).data, (STEPS[first + 1] - STEPS[first]), rtol=1e-3)


def test_half_precision_beside_single_gives_single() -> None:
    x, y = ng.DimArray(MANY[0], "x"), ng.DimArray(MANY[1].astype(np.float32), "x")
    assert ng.cov(x, y).dtype == ng.mse_loss(x, y).dtype == np.float32
    assert ng.mse_loss(x, y.astype(float)).dtype == np.float64


CELLS = 70_000  # cells: in half precision neither their number nor, past 2048, a count of them has a place


@pytest.mark.parametrize("name", ["max", "mean", "segment_mean", "segment_max", "scatter_reduce", "adaptive_avg_pool", "np.mean"])
def test_what_many_half_cells_share(name):
    x, one = np.ones(CELLS, np.float16), ng.DimArray(np.zeros(CELLS, int), "n")
    f = {
        "max": lambda x: ng.max(x),
        "mean": lambda x: ng.mean(x),
        "segment_mean": lambda x: ng.segment_mean(x, one, "n", 1).sum(),
        "segment_max": lambda x: ng.segment_max(x, one, "n", 1).sum(),
        "scatter_reduce": lambda x: ng.scatter_reduce(ng.zeros({"n": 1}, dtype=np.float16), one, x, "n", "mean", include_self=False).sum(),
        "adaptive_avg_pool": lambda x: ng.adaptive_avg_pool(x, {"n": 1}).sum(),
    }.get(name)
    value, g = ng.value_and_grad(np.mean)(x) if f is None else ng.value_and_grad(f)(ng.DimArray(x, "n"))
    assert float(value) == 1
    assert g.dtype == np.float16
    np.testing.assert_allclose(np.asarray(g.data), np.full(CELLS, 1 / CELLS), rtol=2e-3)


def test_sums_of_half_cells_that_leave_the_range():
    x = ng.DimArray(np.full(CELLS, 2, np.float16), "n")
    assert ng.vector_norm(x).item() == np.float16(2 * np.sqrt(CELLS))
    assert ng.logsumexp(x).item() == np.float16(2 + np.log(CELLS))
    np.testing.assert_allclose(ng.softmax(x).data, 1 / CELLS, rtol=2e-3)
    np.testing.assert_allclose(ng.grad(ng.logsumexp)(x).data, 1 / CELLS, rtol=2e-3)
    np.testing.assert_allclose(ng.grad(ng.vector_norm)(x).data, 1 / np.sqrt(CELLS), rtol=2e-3)


@pytest.mark.parametrize("name", ["take", "gather", "embedding", "index"])
def test_gradients_of_a_half_cell_that_is_read_often(name):
    zeros = np.zeros(5000, int)
    read = {
        "take": lambda x: np.take(x, zeros),
        "gather": lambda x: ng.gather(x, zeros, 0),
        "embedding": lambda x: ng.embedding(zeros, x[:, None], 0),
        "index": lambda x: x[zeros],
    }[name]
    g = ng.grad(lambda x: read(x).sum())(np.ones(1, np.float16))
    assert (g.dtype, g.item()) == (np.float16, 5000)


def test_half_cells_that_many_are_added_to():
    x, many, zeros = (ng.positional(v) for v in (np.ones(1, np.float16), np.ones(5000, np.float16), np.zeros(5000, int)))
    for out in (ng.scatter_add(x, zeros, many, 0), ng.index_add(x, zeros, many, 0), x.at[zeros].add(many)):
        assert (out.dtype, out.data.item()) == (np.float16, np.float16(5001))


PIXELS = np.array([1, 3, 40, 200, 255], "u1")
WIDE = PIXELS.astype(float)
BESIDE_PIXELS: dict[str, tuple[Callable[[ng.DimArray, Any], Any], Callable[[Any], Any]]] = {
    "power": (lambda x, g: x**g, lambda g: WIDE**g),
    "float_power": (lambda x, g: ng.float_power(x, g), lambda g: WIDE**g),
    "xlogy": (lambda x, g: ng.xlogy(g, x), lambda g: g * np.log(WIDE)),
    "xlog1py": (lambda x, g: ng.xlog1py(g, x), lambda g: g * np.log1p(WIDE)),
    "boxcox": (lambda x, g: ng.boxcox(x, g), lambda g: (WIDE**g - 1) / g),
    "boxcox1p": (lambda x, g: ng.boxcox1p(x, g), lambda g: ((WIDE + 1) ** g - 1) / g),
    "kve": (lambda x, g: ng.kv(g, x - 1 + (x < 2)) * ng.exp(1.0 * x), lambda g: scipy.special.kv(g, WIDE - 1 + (WIDE < 2)) * np.exp(WIDE)),
    "elu": (lambda x, g: ng.elu(x.astype("i1"), g), lambda g: np.where(WIDE < 128, WIDE, g * np.expm1(WIDE - 256))),
    "logits": (lambda x, g: ng.binary_cross_entropy_with_logits(x, g, reduction=None), lambda g: np.log1p(np.exp(-WIDE)) + (1 - g) * WIDE),
    "poisson": (lambda x, g: ng.poisson_nll_loss(x.isel(x=[0, 1]), g, reduction=None), lambda g: np.exp(WIDE[:2]) - g * WIDE[:2]),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE_PIXELS)
def test_a_parameter_beside_small_integers(name: str) -> None:
    call, oracle = BESIDE_PIXELS[name]
    x, g, h = ng.DimArray(PIXELS, "x"), 0.45, 1e-4
    np.testing.assert_allclose(call(x, g).data, oracle(g), rtol=1e-13)
    slope = (8 * (oracle(g + h) - oracle(g - h)) - (oracle(g + 2 * h) - oracle(g - 2 * h))).sum() / (12 * h)
    np.testing.assert_allclose(ng.grad(lambda g: call(x, g).sum())(g), slope, rtol=1e-8)


@pytest.mark.parametrize("beside", [np.array([100, 3, 0], "i1"), np.array([200, 3, 1], "u1"), np.array([50_000], "i4"), np.array([True, False])])
def test_slopes_of_angles_and_lengths_beside_whole_numbers(beside):
    x, z = np.array([0.0 if beside.dtype == bool else 1.5 * beside.max()]), beside.astype(float)
    square = np.where(z + x == 0, 1, x**2 + z**2)  # at the origin the slope is 0
    np.testing.assert_allclose(ng.grad(lambda x: np.arctan2(x, beside).sum())(x), (z / square).sum(), rtol=1e-14)
    np.testing.assert_allclose(ng.grad(lambda x: np.arctan2(beside, x).sum())(x), -(z / square).sum(), rtol=1e-14)
    np.testing.assert_allclose(ng.hessian(lambda x: np.hypot(x, beside).sum())(x), [[(z**2 / square**1.5).sum()]], rtol=1e-13)


@pytest.mark.parametrize("number", [np.int8(12), np.int32(50_000), np.int64(4 * 10**9)])
def test_slopes_of_transformations_beside_whole_numbers(number):
    x, k, wide = ng.DimArray(np.array([number]), "x"), 0.45, float(number)
    base = (1 + k * wide) ** (1 / k) * (wide / (k * (1 + k * wide)) - np.log1p(k * wide) / k**2)
    for f in (ng.inv_boxcox, ng.inv_boxcox1p):
        np.testing.assert_allclose(ng.grad(lambda k, f=f: f(x, k).sum())(k), base, rtol=1e-9)
    for h, a in ((x, 0.3), (1.5, x)):
        slope = ng.grad(lambda a, h=h: ng.owens_t(h, a).sum())(a) if h is x else ng.grad(lambda h, a=a: ng.owens_t(h, a).sum())(h)
        u, v = (wide, 0.3) if h is x else (1.5, wide)
        in_a = np.exp(-(u**2) * (1 + v**2) / 2) / (2 * np.pi * (1 + v**2))
        in_h = -np.exp(-(u**2) / 2) * math.erf(u * v / math.sqrt(2)) / math.sqrt(8 * np.pi)
        np.testing.assert_allclose(slope, in_a if h is x else in_h, rtol=1e-9)


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv"])
def test_bends_of_bessel_functions_of_unsigned_orders(name):
    f, x = getattr(scipy.special, name), np.array([0.7, 1.3])
    sign = -1 if name in ("jv", "yv") else 1
    for n in (0, 1):
        order = ng.DimArray(np.array(n, "u1"), ())
        bend = ng.hvp(lambda x, order=order: getattr(ng, name)(order, x).sum(), ng.DimArray(x, "x"), ng.ones({"x": 2}))
        np.testing.assert_allclose(bend.data, (f(n - 2, x) + sign * 2 * f(n, x) + f(n + 2, x)) / 4, rtol=1e-12)


def test_slopes_of_scaled_bessel_functions_of_short_orders():
    x, n = np.array([0.7, 1.3, 400.0]), np.array(12, "i1")  # whose square leaves its range
    for f, oracle, sign in ((ng.ive, scipy.special.ive, 1), (ng.kve, scipy.special.kve, -1)):
        g = ng.grad(lambda x, f=f: f(ng.DimArray(n, ()), x).sum())(ng.DimArray(x, "x")).data
        slope = sign * ((oracle(11, x) + oracle(13, x)) / 2 - oracle(12, x))
        np.testing.assert_allclose(g, slope, rtol=1e-11)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2"])
def test_slopes_of_functions_of_short_orders(dtype):
    n, x = np.array(100, dtype), np.array([0.3, 0.7])
    order, at = ng.DimArray(n, ()), ng.DimArray(x, "x")
    slope = ng.grad(lambda x: ng.eval_jacobi(order, order, order, x).sum())(at).data
    np.testing.assert_allclose(slope, 301 / 2 * scipy.special.eval_jacobi(99, 101.0, 101.0, x), rtol=1e-12)
    bend = ng.hvp(lambda x: ng.spherical_yn(order, x).sum(), at, ng.ones({"x": 2})).data
    y, dy = scipy.special.spherical_yn(100, x), scipy.special.spherical_yn(100, x, derivative=True)
    np.testing.assert_allclose(bend, ((100 * 101 - x**2) * y - 2 * x * dy) / x**2, rtol=1e-11)
    top = np.iinfo("i1").max
    slope = ng.grad(lambda x: ng.eval_legendre(ng.DimArray(np.array(top, dtype), ()), x).sum())(at).data
    legendre = np.polynomial.Legendre.basis(top)
    np.testing.assert_allclose(slope, legendre.deriv()(x), rtol=1e-9)


def test_truth_values_and_small_integers_are_added_as_numbers() -> None:
    x, yes = ng.DimArray([0.5, 2.0, 4.0], "x"), ng.DimArray([True, True, False], "i")
    for reduce, want in (("mean", [1.0, 2.0, 0.0]), ("sum", [2.0, 2.0, 0.0])):
        src = {"i": ng.DimArray([0, 0, 2], "i")}
        out = ng.scatter_reduce(x.rename(x="i"), src["i"], yes, "i", reduce, include_self=False)
        np.testing.assert_array_equal(out.data, want, err_msg=reduce)
    assert ng.integrate(ng.DimArray([True, True, True], "x"), dim="x").item() == 2
    np.testing.assert_array_equal(ng.vander(ng.DimArray(np.array([100], "i1"), "x"), 4).data, [[10**6, 10**4, 100, 1]])
    u = ng.DimArray([True, True, False, True], "x")
    v = ng.DimArray([0.5, -1.0, 2.0, 1.5], "x")
    cosine = np.dot(u.data, v.data) / np.sqrt(3 * np.dot(v.data, v.data))
    assert ng.cosine_embedding_loss(u, v, 1.0, dim="x").item() == pytest.approx(1 - cosine)


def test_softplus_of_complex_numbers() -> None:
    z = np.array([0.3 + 0.4j, -1 + 0.2j, 30 - 1j])
    np.testing.assert_allclose(ng.softplus(ng.DimArray(z, "x")).data, [*np.log1p(np.exp(z[:2])), z[2]], rtol=1e-14)
    g = ng.grad(lambda z: ng.real(ng.softplus(z)).sum())(ng.DimArray(z, "x")).data
    np.testing.assert_allclose(g, [*np.conj(1 / (1 + np.exp(-z[:2]))), 1], rtol=1e-14)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "gammainc", "gammaincc", "beta", "betaln", "ellipkinc", "jv", "spherical_jn"])
def test_special_functions_of_numbers_stay_in_single_precision(name: str) -> None:
    function, oracle = getattr(ng, name), getattr(scipy.special, name)
    x, v = np.array([0.25, 0.5, 0.75]), 1 if name == "spherical_jn" else 0.375
    for args in ((v, x), (x, v))[: 1 if name == "spherical_jn" else 2]:
        single = [ng.DimArray(a.astype("f4"), "x") if a is x else a for a in args]
        out = function(*single)
        assert out.dtype == np.float32
        np.testing.assert_allclose(out.data, oracle(*args), rtol=1e-6)
    assert ng.compile(function)(v, ng.DimArray(x.astype("f4"), "x")).dtype == np.float32


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.uint64])
def test_short_whole_numbers_do_not_wrap_around(dtype):
    first, second = (np.array(v).astype(dtype) for v in ([36, 0, 24, 1], [48, 12, 0, 1]))
    x, y = (ng.DimArray(v, ("a",)) for v in (first, second))
    wide, other = first.astype(float), second.astype(float)
    mean = np.average(wide, weights=other)
    np.testing.assert_allclose(ng.average(x, y).item(), mean)
    np.testing.assert_allclose(np.asarray(np.average(ng.positional(first), weights=second)), mean)
    np.testing.assert_allclose(ng.dist(x, y).item(), np.linalg.norm(wide - other))
    np.testing.assert_allclose(ng.pairwise_distance(x, y, dim="a", eps=0.0).item(), np.linalg.norm(wide - other))
    np.testing.assert_allclose(ng.softmin(x, "a").data, np.exp(-wide) / np.exp(-wide).sum())


@pytest.mark.parametrize("weight", [bool, np.int8, np.uint8, np.int64, np.float32])
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.complex64])
def test_dtypes_of_weighted_averages(dtype, weight):
    x, w = np.array([1, 2, 4]).astype(dtype), np.array([1, 0, 1]).astype(weight)
    found, want = ng.average(ng.DimArray(x, ("a",)), ng.DimArray(w, ("a",))), np.average(x, weights=w)
    assert found.dtype == want.dtype
    np.testing.assert_allclose(found.data, want)


@pytest.mark.parametrize("subscripts", ["ab,b->a", "ab,a->", "ab,a->a", "ab,ac->b", "ab,cb->"])
@pytest.mark.parametrize("whole", [bool, np.int8, np.int32])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64, np.int8, bool])
def test_dtypes_of_products_with_whole_numbers(subscripts, whole, dtype):
    first, second = subscripts.split("->")[0].split(",")
    sizes = {"a": 3, "b": 4, "c": 2}
    x = RNG.integers(0, 2, [sizes[n] for n in first]).astype(whole)
    y = RNG.normal(size=[sizes[n] for n in second]).astype(dtype)
    found, want = np.einsum(subscripts, ng.positional(x), ng.positional(y)), np.einsum(subscripts, x, y)
    assert np.asarray(found).dtype == want.dtype
    tolerance = 1e-2 if dtype is np.float16 else 1e-5
    np.testing.assert_allclose(np.asarray(found), want, rtol=tolerance, atol=tolerance)


def test_cross_entropy_in_half_precision_is_rounded_once() -> None:
    x, t = RNG.normal(size=(500, 10)).astype(np.float16), RNG.integers(0, 10, 500)
    found = ng.cross_entropy(ng.DimArray(x, ("x", "class")), ng.DimArray(t, "x"), dim="class", reduction=None).data
    exact = -scipy.special.log_softmax(x.astype(float), axis=1)[np.arange(500), t]
    assert found.dtype == np.float16
    np.testing.assert_allclose(found.astype(float), exact, rtol=5.1e-4)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4"])
def test_runs_of_cells_in_the_other_order_of_bytes(reduce: str, dtype: str) -> None:
    """As files of netCDF 3 store them."""
    x = ng.DimArray(np.array([3, 1, 2, 5, 4, 7]).astype(dtype), "x")
    expected = [getattr(np, reduce)(run) for run in ([3, 1], [2, 5, 4, 7])]
    np.testing.assert_allclose(ng.segment_reduce(x, reduce, lengths=[2, 4], dim="x").data, expected)
    np.testing.assert_allclose(getattr(ng, f"segment_{reduce}")(x, [0, 0, 1, 1, 1, 1], "x").data, expected)
    if dtype != ">i4":
        g = ng.grad(lambda x: ng.segment_reduce(x, reduce, lengths=[2, 4], dim="x").sum())(x)
        h = ng.grad(lambda x: ng.segment_reduce(x, reduce, lengths=[2, 4], dim="x").sum())(x.astype(float))
        np.testing.assert_allclose(g.data, h.data)
        assert g.dtype == x.dtype


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
@pytest.mark.parametrize("name", ["std", "norm", "hypot"])
def test_functions_of_lengths_beside_a_0_keep_their_dtype(name: str, dtype: str) -> None:
    """What is under a root may be a sum in double precision."""
    length = {"std": lambda x: (x * x).std("t"), "norm": lambda x: ng.norm(x, "t"), "hypot": lambda x: ng.hypot(ng.real(x), 0.5)}[name]
    x = ng.DimArray(np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 3.0]]).astype(dtype), ("a", "t"))
    for f in (lambda x: length(x) * length(x.real), lambda x: length(x) ** 2, lambda x: ng.exp(-length(x) * x.real.std("t"))):
        kind = f(x).dtype
        assert kind.itemsize < 8
        (out, pull), (same, tangent) = ng.pullback(f, x), ng.pushforward(f, (x,), (x,))
        assert out.dtype == same.dtype == tangent.dtype == ng.compile(lambda x, f=f: ng.pullback(f, x)[0])(x).dtype == kind
        assert pull(out).dtype == x.dtype
        np.testing.assert_allclose(out.data, f(x).data, rtol=2e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("name", ["ber", "bei", "berp", "beip", "ker", "kei", "kerp", "keip"])
def test_kelvin_functions_have_the_digits_of_single_precision(name: str) -> None:
    x = np.linspace(0.1, 12.0, 60, dtype=np.float32)
    f, wide = getattr(scipy.special, name), x.astype(float)
    h = 1e-4
    want = (8 * (f(wide + h) - f(wide - h)) - f(wide + 2 * h) + f(wide - 2 * h)) / (12 * h)
    tangent = np.cos(np.arange(60, dtype=np.float32))
    value, moved = ng.pushforward(f, (x,), (tangent,))
    assert value.dtype == moved.dtype == np.float32
    np.testing.assert_allclose(value, f(wide), rtol=1e-6)
    np.testing.assert_allclose(moved, want * tangent, rtol=3e-6, atol=1e-8)  # SciPy's have 9 digits where its expansions meet


@pytest.mark.parametrize("f", [scipy.special.betaln, scipy.special.beta, scipy.special.poch, scipy.special.binom])
def test_differences_of_digamma_functions_in_single_precision(f: Callable[..., Any]) -> None:
    x, b, h = np.array([600.0, 170.0, 45.0, 0.3, 3.0], np.float32), np.float32(1.75), 1e-3
    wide = x.astype(float)
    want = (8 * (f(wide + h, 1.75) - f(wide - h, 1.75)) - f(wide + 2 * h, 1.75) + f(wide - 2 * h, 1.75)) / (12 * h)
    got = ng.grad(lambda x: (np.float32(-3) * f(x, b)).sum())(x)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, -3 * want, rtol=2e-6)
