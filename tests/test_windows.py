"""Convolution, pooling and rolling reductions beyond the grid: positional layouts, other operands, errors."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import xarray as xr

import namedgrad as ng
from namedgrad.backends import overlapping
from tests.support.memory import taken
from tests.support.oracles import fd_gradients


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def naive(x: np.ndarray, w: np.ndarray, *options: int) -> np.ndarray:
    """A sum per output cell, over (batch, channel, cells...)."""
    (stride, padding, dilation, groups), d = options, x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *[(padding, padding)] * d])
    counts = [(n - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    out = np.zeros((len(x), len(w), *counts), np.result_type(x, w))
    for o in range(len(w)):
        first = o // (len(w) // groups) * w.shape[1]
        for place in itertools.product(*map(range, counts)):
            cells = tuple(slice(p * stride, p * stride + dilation * (k - 1) + 1, dilation) for p, k in zip(place, w.shape[2:], strict=True))
            out[(slice(None), o, *place)] = (x[(slice(None), slice(first, first + w.shape[1]), *cells)] * w[o]).sum(tuple(range(1, d + 2)))
    return out


OPTIONS = [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (3, 1, 2, 2)]


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), OPTIONS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_convolution_by_place(d: int, stride: int, padding: int, dilation: int, groups: int) -> None:
    x, w, bias = draw(2, 4, *(7, 6, 5)[:d]), draw(6, 4 // groups, *(3, 2, 2)[:d]), draw(6)
    conv, back = getattr(ng, f"conv{d}d"), getattr(ng, f"conv_transpose{d}d")
    y = conv(x, w, bias, stride, padding, dilation, groups)
    expected = naive(x, w, stride, padding, dilation, groups)
    assert type(y) is np.ndarray
    np.testing.assert_allclose(y, expected + bias.reshape(-1, *(1,) * d), rtol=1e-12, atol=1e-12)
    g = draw(*expected.shape, seed=1)
    more = tuple((n + 2 * padding - dilation * (k - 1) - 1) % stride for n, k in zip(x.shape[2:], w.shape[2:], strict=True))
    if all(m < max(stride, dilation) for m in more):  # the transpose, by <conv(x), g> = <x, conv_transpose(g)>
        z = back(g, w, None, stride, padding, more, groups, dilation)
        assert z.shape == x.shape
        np.testing.assert_allclose(np.vdot(z, x), np.vdot(g, expected), rtol=1e-12)
    _, pull = ng.pullback(lambda *a: conv(*a, stride, padding, dilation, groups), x, w, bias)
    for mine, fd in zip(pull(g), fd_of(lambda *a: conv(*a, stride, padding, dilation, groups), (x, w, bias), g), strict=True):
        np.testing.assert_allclose(mine, fd, rtol=1e-6, atol=1e-7)


def fd_of(f: Any, xs: Any, g: np.ndarray) -> list[np.ndarray]:
    """Central differences, exact for what is linear in each operand."""
    out = []
    for i, x in enumerate(xs):
        gradient = np.zeros_like(x)
        for at in np.ndindex(x.shape):
            step = np.zeros_like(x)
            step[at] = 0.5
            gradient[at] = np.vdot(f(*xs[:i], x + step, *xs[i + 1 :]) - f(*xs[:i], x - step, *xs[i + 1 :]), g)
        out.append(gradient)
    return out


def test_padding_of_every_kind() -> None:
    x, w = draw(1, 2, 6), draw(3, 2, 4)
    np.testing.assert_allclose(ng.conv1d(x, w, padding="valid"), naive(x, w, 1, 0, 1, 1))
    same = np.pad(x, [(0, 0), (0, 0), (1, 2)])
    np.testing.assert_allclose(ng.conv1d(x, w, padding="same"), naive(same, w, 1, 0, 1, 1))
    for mode, numpy in {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}.items():
        padded = np.pad(x, [(0, 0), (0, 0), (2, 2)], mode=numpy)  # type: ignore[call-overload]
        np.testing.assert_allclose(ng.conv1d(x, w, padding=2, padding_mode=mode), naive(padded, w, 1, 0, 1, 1))


def test_convolution_without_batch_and_per_slice() -> None:
    x, w = draw(2, 3, 8), draw(4, 3, 3)
    np.testing.assert_allclose(ng.conv1d(x[0], w), naive(x[:1], w, 1, 0, 1, 1)[0], rtol=1e-12)
    kernels = draw(5, 4, 3, 3)
    out = ng.conv1d(ng.positional(x, "image"), ng.positional(kernels, "model"))
    assert out.vectorized == ("image", "model")
    for i, k in np.ndindex(2, 5):
        np.testing.assert_allclose(out.data[i, k], naive(x[i : i + 1], kernels[k], 1, 0, 1, 1)[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("padding", [(0, 0), (3, 1), (7, 9), (-2, 1), (4, -3)])
@pytest.mark.parametrize("dilation", [1, 3])
def test_gradients_of_neighbouring_windows_at_all_ends(padding: tuple[int, int], dilation: int) -> None:
    x, w = ng.DimArray(draw(3, 12), ("c", "t")), ng.DimArray(draw(2, 3, 3), ("o", "c", "k"))

    def by_cell(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        (before, after), n = padding, 2 * dilation + 1
        full = np.pad(x, ((0, 0), (max(before, 0), max(after, 0))))[:, max(-before, 0) : None if after >= 0 else after]
        cells = np.lib.stride_tricks.sliding_window_view(full, n, 1)[..., ::dilation]
        return np.einsum("ctk,ock->to", cells, w)

    y, pull = ng.pullback(lambda x, w: ng.conv(x, w, {"t": "k"}, "c", padding={"t": padding}, dilation=dilation), x, w)
    np.testing.assert_allclose(y.data, by_cell(x.data, w.data), rtol=1e-12, atol=1e-12)
    g = draw(*y.shape, seed=2)
    expected = fd_of(by_cell, (x.data, w.data), g)
    for mine, fd in zip(pull(ng.DimArray(g, y.dims)), expected, strict=True):
        np.testing.assert_allclose(mine.data, fd, rtol=1e-6, atol=1e-7)


def test_gradients_of_long_kernels_need_no_room_for_all_windows() -> None:
    x, w = ng.DimArray(draw(20_000), ("t",)), ng.DimArray(draw(500), ("k",))
    y, pull = ng.pullback(lambda x, w: ng.conv(x, w, {"t": "k"}), x, w)
    g = ng.DimArray(draw(y.size, seed=1), ("t",))
    _, most, (in_x, in_w) = taken(lambda: pull(g))
    assert most < 0.05 * x.size * w.size * 8
    np.testing.assert_allclose(in_x.data, np.convolve(g.data, w.data), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(in_w.data, np.correlate(x.data, g.data, "valid"), rtol=1e-10, atol=1e-10)


def test_convolution_by_axis_number() -> None:
    x, w = draw(2, 3, 8), draw(4, 3, 3)
    y = ng.conv(ng.positional(x), ng.positional(w), {2: 2}, {1: 1}, stride={-1: 2})
    np.testing.assert_allclose(np.moveaxis(y.data, -1, 1), naive(x, w, 2, 0, 1, 1), rtol=1e-12)
    runs = ng.unfold(ng.positional(x), {2: 3})
    np.testing.assert_array_equal(runs.data, np.lib.stride_tricks.sliding_window_view(x, 3, 2))
    counts = ng.fold(ng.unfold(ng.positional(np.ones(5)), {0: 2}), {0: 1}, {0: 5})
    np.testing.assert_array_equal(counts.data, [1, 2, 2, 2, 1])
    np.testing.assert_array_equal(ng.max_pool(ng.positional(x), {-1: 2}).data, x.reshape(2, 3, 4, 2).max(-1))
    np.testing.assert_allclose(ng.rolling_mean(ng.positional(x), {2: 8}).data[..., -1], x.mean(-1), rtol=1e-12)


def test_a_kernel_dim_may_be_called_as_a_windowed_dim_is() -> None:
    x, w = draw(8), draw(3)
    y = ng.conv(ng.DimArray(x, "t"), ng.DimArray(w, "t"), {"t": "t"})
    np.testing.assert_allclose(y.data, np.correlate(x, w), rtol=1e-12)
    local = draw(6, 3)  # a kernel per place
    z = ng.conv(ng.DimArray(x, "t"), ng.DimArray(local, ("t", "k")), {"t": "k"})
    np.testing.assert_allclose(z.data, [np.dot(x[i : i + 3], local[i]) for i in range(6)], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("stride", [1, 2])
def test_windows_that_stay_a_view_in_a_contraction(dtype: Any, stride: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    product = overlapping._product
    monkeypatch.setattr(overlapping, "_product", lambda *a: made.append(1) or product(*a))
    x, w = (draw(*shape) + (1j * draw(*shape, seed=1) if dtype is np.complex128 else 0) for shape in ((4, 3, 40, 40), (5, 3, 3, 4)))
    y = ng.conv(ng.DimArray(x, tuple("ncyx")), ng.DimArray(w, tuple("ocab")), {"y": "a", "x": "b"}, "c", stride={"y": stride, "x": 1})
    assert made
    runs = np.lib.stride_tricks.sliding_window_view(x, (3, 4), (2, 3))[:, :, ::stride]
    np.testing.assert_allclose(y.transpose("n", "y", "x", "o").data, np.einsum("ncyxab,ocab->nyxo", runs, w), rtol=1e-12, atol=1e-12)


def test_missing_and_infinite_cells_stay_in_their_windows() -> None:
    x = ng.DimArray([1.0, np.nan, 2.0, 4.0, np.inf, 8.0], "x")
    w = ng.DimArray([1.0, 10.0], "k")
    y, pull = ng.pullback(lambda x, w: ng.conv(x, w, {"x": "k"}), x, w)
    np.testing.assert_array_equal(y.data, [np.nan, np.nan, 42.0, np.inf, np.inf])
    dx, dw = pull(ng.DimArray([0.0, 0.0, 2.0, 0.0, 0.0], "x"))  # windows that do not count leave no NaN behind
    np.testing.assert_array_equal(dx.data, [0, 0, 2, 20, 0, 0])
    np.testing.assert_array_equal(dw.data, [4, 8])
    for pool in (ng.avg_pool, ng.lp_pool, ng.rolling_sum):
        out, back = ng.pullback(lambda x, pool=pool: pool(x, {"x": 2}), x)
        g = np.where(np.isfinite(out.data), 1.0, 0.0)
        assert np.isfinite(back(ng.DimArray(g, "x")).data).all()


# ------------------------------------------------------------------------------------------------ pooling


def test_indices_of_maxima() -> None:
    x = np.round(2 * draw(2, 3, 6, 7))  # with ties
    x[0, 0, 2, 3] = np.nan
    y, at = ng.max_pool2d(x, 3, 2, 1, return_indices=True)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    runs = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2].reshape(*y.shape, 9)
    np.testing.assert_array_equal(y, runs.max(-1))
    first = runs.argmax(-1)  # NaN is the largest of all
    rows, columns = np.indices(y.shape[2:])
    np.testing.assert_array_equal(at, (2 * rows + first // 3 - 1) * 7 + 2 * columns + first % 3 - 1)
    _, pull = ng.pullback(lambda x: ng.max_pool2d(x, 3, 2, 1), x)
    g = draw(*y.shape)
    expected = np.zeros((2, 3, 42))
    for n, c in np.ndindex(2, 3):
        np.add.at(expected[n, c], at[n, c].ravel(), g[n, c].ravel())
    np.testing.assert_allclose(pull(g), expected.reshape(x.shape), rtol=1e-12)


def test_the_last_of_several_missing_cells_is_the_maximum() -> None:
    x = np.array([[[1.0, np.nan, np.nan, 3.0], [np.nan, 2.0, np.nan, 0.0]]])
    y, at = ng.max_pool1d(x, 4, return_indices=True)
    assert np.isnan(y).all()
    np.testing.assert_array_equal(at, [[[2], [2]]])
    np.testing.assert_array_equal(ng.adaptive_max_pool1d(x, 3, return_indices=True)[1], [[[1, 2, 2], [0, 2, 2]]])


@pytest.mark.parametrize(("n", "size"), [(7, 3), (7, 5), (9, 4), (5, 8), (6, 6), (3, 1)])
def test_adaptive_windows(n: int, size: int) -> None:
    x = draw(2, 3, n)
    spans = [(i * n // size, math.ceil((i + 1) * n / size)) for i in range(size)]
    np.testing.assert_allclose(ng.adaptive_avg_pool1d(x, size), np.stack([x[..., a:b].mean(-1) for a, b in spans], -1), rtol=1e-12)
    assert ng.adaptive_avg_pool1d(x[:0], size).shape == (0, 3, size)
    y, at = ng.adaptive_max_pool1d(x, size, return_indices=True)
    np.testing.assert_array_equal(y, np.stack([x[..., a:b].max(-1) for a, b in spans], -1))
    np.testing.assert_array_equal(at, np.stack([a + x[..., a:b].argmax(-1) for a, b in spans], -1))
    g = draw(2, 3, size, seed=2)
    _, pull = ng.pullback(lambda x: ng.adaptive_max_pool1d(x, size), x)
    expected = np.zeros_like(x)
    for place in np.ndindex(g.shape):
        expected[(*place[:2], at[place])] += g[place]
    np.testing.assert_allclose(pull(g), expected, rtol=1e-12)


@pytest.mark.parametrize(("size", "count"), [(1, 1), (3, 1), (3, 5), (3, 9), (2, 10), (11, 1)])
@pytest.mark.parametrize("u", [0.0, 0.4, 0.99])
def test_fractional_windows_that_overlap_and_leave_gaps(size: int, count: int, u: float) -> None:
    x, g = draw(2, 11), draw(2, count)
    step = (11 - size) / max(count - 1, 1)
    starts = [*(int(np.floor((i + u) * step) - np.floor(u * step)) for i in range(count - 1)), 11 - size]
    at = np.array([[k + x[row, k : k + size].argmax() for k in starts] for row in range(2)])
    expected = np.zeros((2, 11))
    np.add.at(expected, (np.arange(2)[:, None], at), g)
    for given in (u, ng.DimArray(u, ())):
        y, places = ng.fractional_max_pool(ng.DimArray(x, ("c", "x")), given, {"x": size}, {"x": count}, return_indices=True)
        np.testing.assert_array_equal(places.data, at)
        np.testing.assert_array_equal(y.data, np.take_along_axis(x, at, 1))
        pull = ng.pullback(lambda x, given=given: ng.fractional_max_pool(x, given, {"x": size}, {"x": count}), ng.DimArray(x, ("c", "x")))[1]
        np.testing.assert_allclose(pull(ng.DimArray(g, ("c", "x"))).data, expected)


def test_fractional_windows_drawn_per_channel() -> None:
    x, u = draw(2, 3, 9, 7), np.random.default_rng(0).uniform(size=(2, 3, 2))
    y, at = ng.fractional_max_pool2d(x, 2, (4, 3), return_indices=True, _random_samples=u)
    ratio = ng.fractional_max_pool2d(x, 2, output_ratio=0.5, _random_samples=u)
    assert ratio.shape == (2, 3, 4, 3)
    for n, c in np.ndindex(2, 3):
        for (i, j), value in np.ndenumerate(y[n, c]):
            a, b = (_start(k, m, size, v) for k, m, size, v in ((i, 4, 9, u[n, c, 1]), (j, 3, 7, u[n, c, 0])))
            assert value == x[n, c, a : a + 2, b : b + 2].max() == x[n, c].ravel()[at[n, c, i, j]]
    batched = ng.fractional_max_pool(ng.DimArray(x, tuple("ncyx"), vectorized="n"), ng.DimArray(u[..., 0], ("n", "c"), vectorized="n"), {"x": 2}, {"x": 3})
    starts = [_start(k, 3, 7, u[1, 2, 0]) for k in range(3)]
    np.testing.assert_array_equal(batched.data[1, 2], np.stack([x[1, 2, :, s : s + 2].max(-1) for s in starts], -1))


def _start(i: int, count: int, n: int, u: float) -> int:
    step = (n - 2) / (count - 1)
    return n - 2 if i == count - 1 else int((i + u) * step) - int(u * step)


def test_unpooling_undoes_pooling() -> None:
    x = draw(2, 3, 6, 5)
    y, at = ng.max_pool2d(x, 2, return_indices=True)
    z = ng.max_unpool2d(y, at, 2, output_size=(6, 5))
    np.testing.assert_array_equal(ng.max_pool2d(z, 2), np.maximum(y, 0))
    with pytest.raises(IndexError):
        ng.max_unpool2d(y, at, 2)  # into 6 x 4 cells
    np.testing.assert_array_equal(np.sort(z[z != 0]), np.sort(y.ravel()))


def test_columns_of_windows() -> None:
    x = draw(2, 3, 5, 6)
    columns = ng.im2col(x, (2, 3), padding=1, stride=(1, 2))
    runs = np.lib.stride_tricks.sliding_window_view(np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)]), (2, 3), (2, 3))[:, :, :, ::2]
    np.testing.assert_array_equal(columns, runs.transpose(0, 1, 4, 5, 2, 3).reshape(2, 18, -1))
    counts = ng.col2im(ng.im2col(np.ones_like(x), (2, 3), padding=1, stride=(1, 2)), (5, 6), (2, 3), padding=1, stride=(1, 2))
    np.testing.assert_allclose(np.vdot(ng.col2im(columns, (5, 6), (2, 3), padding=1, stride=(1, 2)), x), np.vdot(columns, columns), rtol=1e-12)
    assert counts.min() >= 1


def test_channels_by_place() -> None:
    x = ng.positional(np.arange(16.0).reshape(1, 4, 2, 2))
    fine = ng.pixel_shuffle(x, 2)
    np.testing.assert_array_equal(fine.data[0, 0], [[0, 4, 1, 5], [8, 12, 9, 13], [2, 6, 3, 7], [10, 14, 11, 15]])
    np.testing.assert_array_equal(ng.pixel_unshuffle(fine, 2).data, x.data)
    np.testing.assert_array_equal(ng.channel_shuffle(x, 2).data[0, :, 0, 0], [0, 8, 4, 12])
    np.testing.assert_array_equal(ng.pixel_shuffle(x, upscale_factor=2).data, fine.data)
    np.testing.assert_array_equal(ng.pixel_shuffle(x, {2: 2, 3: 1}, channel=1).data[0, 0], [[0, 1], [4, 5], [2, 3], [6, 7]])
    normed = ng.local_response_norm(x, 3, alpha=3.0, beta=1.0).data
    np.testing.assert_allclose(normed[0, 1, 0, 1], 5 / (1 + 1 + 25 + 81), rtol=1e-12)


# ------------------------------------------------------------------------------------------------ rolling


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "var", "std", "median", "count"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
def test_rolling_is_that_of_xarray(name: str, dtype: str) -> None:
    x = (2 * draw(9)).astype(dtype)
    a, b = ng.DimArray(x, "time"), xr.DataArray(x, dims="time")
    if dtype == "bool" and name in {"var", "std", "median", "max", "min", "prod"}:
        return  # of no use, and not the same in versions of xarray
    for window, options in ((3, {}), (4, {"center": True}), (2, {"min_periods": 1}), (12, {"min_periods": 2, "center": True})):
        mine = getattr(a.rolling(time=window, **options), name)()
        expected = getattr(b.rolling(time=window, **options), name)()
        np.testing.assert_allclose(mine.data, expected.data, rtol=2e-6 if dtype == "float32" else 1e-12, atol=1e-6)


@pytest.mark.parametrize("zeros", [(), (4,), (4, 5), (0, 4, 5, 8)])
@pytest.mark.parametrize("options", [{}, {"center": True, "min_periods": 1}])
def test_gradients_of_rolling_products_are_products_of_the_other_cells(zeros: tuple[int, ...], options: dict[str, Any]) -> None:
    x, g = draw(2, 9), draw(2, 9, seed=1)
    x[:, zeros] = 0
    pulled = ng.pullback(lambda a: ng.rolling_prod(a, {"x": 4}, **options).fillna(0.0), ng.DimArray(x, ("y", "x")))[1]
    expected, before = np.zeros_like(x), 2 if options else 3
    for at in range(0 if options else before, 9):
        window = [k for k in range(at - before, at - before + 4) if 0 <= k < 9]
        for k in window:
            expected[:, k] += g[:, at] * x[:, [j for j in window if j != k]].prod(1)
    np.testing.assert_allclose(pulled(ng.DimArray(g, ("y", "x"))).data, expected, rtol=1e-12, atol=1e-14)
    ng.check_gradients(lambda a: ng.rolling_prod(a, {"y": 2, "x": 3}, min_periods=2), ng.DimArray(x, ("y", "x")))


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 9, 1001])
def test_medians_of_odd_numbers_of_cells(dtype: str, n: int) -> None:
    x = np.random.default_rng(n).integers(0, 200, (2, n)).astype(dtype)
    got = ng.median(ng.DimArray(x, ("y", "x")), "x").data
    np.testing.assert_array_equal(got, np.median(x, 1))
    assert got.dtype == np.median(x, 1).dtype


def test_rolling_windows() -> None:
    x = draw(3, 8)
    a, b = ng.DimArray(x, ("y", "x")), xr.DataArray(x, dims=("y", "x"))
    for options, construct in (
        ({}, {"window_dim": {"x": "k"}}), ({"center": True}, {"window_dim": {"x": "k"}, "stride": 3}), ({}, {"x": "k", "fill_value": 0.0}),
    ):  # fmt: skip
        mine = a.rolling({"x": 3}, **options).construct(**construct)
        expected = b.rolling({"x": 3}, **options).construct(**construct)
        assert mine.dims == expected.dims
        np.testing.assert_array_equal(mine.data, expected.data)
    two = a.rolling(y=2, x=3, center={"x": True}).construct({"y": "j", "x": "k"}, stride={"y": 1, "x": 2})
    np.testing.assert_array_equal(two.data, b.rolling(y=2, x=3, center={"x": True}).construct({"y": "j", "x": "k"}, stride={"y": 1, "x": 2}).data)
    assert repr(a.rolling(x=3)).startswith("<Rolling (x: 3) of DimArray")


def test_labelled_arrays_keep_what_does_not_move() -> None:
    image = xr.DataArray(draw(3, 4, 6), dims=("c", "y", "x"), coords={"c": list("rgb"), "y": range(4), "x": range(6)}, name="image")
    pooled = ng.avg_pool(image, {"x": 2})
    assert set(pooled.coords) == {"c", "y"}
    np.testing.assert_allclose(pooled.data, image.data.reshape(3, 4, 3, 2).mean(-1), rtol=1e-12)
    kernel = xr.DataArray(draw(2, 3, 3), dims=("out", "c", "k"), coords={"out": ["a", "b"], "c": list("rgb")})
    smooth = ng.conv(image, kernel, {"x": "k"}, "c", padding="same")
    assert smooth.dims == ("y", "x", "out")
    assert set(smooth.coords) == {"y", "out"}
    rolled = ng.rolling_mean(image, {"x": 3}, center=True)
    xr.testing.assert_allclose(rolled, image.rolling(x=3, center=True).mean())
    g = ng.grad(lambda a: (ng.max_pool(a, {"x": 3, "y": 2}) ** 2).sum())(image)
    (expected,) = fd_gradients(lambda a: (ng.max_pool(a, {"x": 3, "y": 2}) ** 2).sum(), [ng.DimArray(image.data, image.dims)], [ng.DimArray(1.0, ())])
    np.testing.assert_allclose(g.data, expected, rtol=1e-6, atol=1e-7)
    xr.testing.assert_equal(g.coords.to_dataset(), image.coords.to_dataset())


# ------------------------------------------------------------------------------------------------ errors

A = ng.DimArray(draw(6, 4), ("x", "c"))
W = ng.DimArray(draw(3, 4), ("k", "c"))
P = np.ones((2, 3, 8))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ng.conv(A, W, {"z": "k"}), ng.AxisError, "no dim 'z'"),
        (lambda: ng.conv(A, W, {"x": "q"}), ng.AxisError, "no dim 'q'"),
        (lambda: ng.conv(A, W, ("x", "k")), TypeError, "in a mapping"),
        (lambda: ng.conv(A, W, {"x": "k", "c": "k"}), ng.AxisError, "twice"),
        (lambda: ng.conv(A, W, {"x": "k"}, contract="x"), ng.AxisError, "'x'"),
        (lambda: ng.conv(A.vectorize("x"), W, {"x": "k"}), ng.AxisError, "devectorize"),
        (lambda: ng.conv(A, W.vectorize("k"), {"x": "k"}), ng.AxisError, "devectorize"),
        (lambda: ng.conv(A, W, {"x": "k"}, dilation=4), ValueError, "do not fit"),
        (lambda: ng.conv(A, W, {"x": "k"}, stride=0), ValueError, "at least 1"),
        (lambda: ng.conv(A, W, {"x": "k"}, stride={"y": 2}), ng.AxisError, "not one of the windowed dims"),
        (lambda: ng.conv(A, W, {"x": "k"}, stride={}), ng.AxisError, "no value for"),
        (lambda: ng.conv(A, W, {"x": "k"}, stride=2, padding="same"), ValueError, "stride"),
        (lambda: ng.conv(A, W, {"x": "k"}, padding=(1, 2, 3)), ValueError, "before, after"),
        (lambda: ng.conv(A, W, {"x": "k"}, padding_mode="mirror"), ValueError, "'reflect'"),
        (lambda: ng.conv(A, W.isel(c=slice(0, 2)), {"x": "k"}, contract="c"), ng.AxisError, "differ"),
        (lambda: ng.conv_transpose(A, W, {"x": "k"}, output_padding=1), ValueError, "less than"),
        (lambda: ng.conv_transpose(A, W, {"x": "k"}, padding=4), ValueError, "leaves nothing"),
        (lambda: ng.avg_pool(A, 2), TypeError, "mapping"),
        (lambda: ng.avg_pool(A, {"x": 2}, padding=2), ValueError, "half"),
        (lambda: ng.avg_pool(A, {"x": 2}, divisor_override=0), ValueError, "not be 0"),
        (lambda: ng.max_pool(A, {"x": 7}), ValueError, "do not fit"),
        (lambda: ng.max_pool(ng.DimArray([1j, 2], "x"), {"x": 2}), TypeError, "no order"),
        (lambda: ng.unfold(A, {"x": 2}, new_dim="c"), ng.AxisError, "exists already"),
        (lambda: ng.fold(A, {"x": "c"}, {"x": 8}), ValueError, "such windows"),
        (lambda: ng.adaptive_avg_pool(A, {"x": -1}), ValueError, "at least 0"),
        (lambda: ng.fractional_max_pool(A, 0.5, {"x": 4}, {"x": 4}), ValueError, "do not fit"),
        (lambda: ng.max_unpool(A, ng.DimArray([0], "p"), {"x": 3}), ng.AxisError, "no dim 'x'"),
        (lambda: ng.pixel_shuffle(A, {"x": 3}, "c"), ValueError, "multiple"),
        (lambda: ng.pixel_unshuffle(A, {"x": 4}, "c"), ValueError, "multiple"),
        (lambda: ng.pixel_shuffle(A, {"c": 2}, "c"), ng.AxisError, "cannot be one"),
        (lambda: ng.channel_shuffle(A, 3, "c"), ValueError, "equal groups"),
        (lambda: A.rolling(z=2), ng.AxisError, "no dim 'z'"),
        (lambda: A.rolling(x=2, min_periods=0), ValueError, "greater than 0"),
        (lambda: A.rolling(x=2).construct("c"), ng.AxisError, "exists already"),
        (lambda: A.rolling(x=2, c=2).construct("k"), ng.AxisError, "mapping"),
        (lambda: ng.conv1d(P, np.ones((4, 2, 3))), ValueError, "does not fit"),
        (lambda: ng.conv1d(P, np.ones((4, 3))), ValueError, "axes"),
        (lambda: ng.conv2d(P[0], np.ones((4, 3, 2, 2))), ValueError, "axes or more"),
        (lambda: ng.conv1d(P, np.ones((4, 3, 2)), stride=(1, 2)), ValueError, "2 numbers for 1"),
        (lambda: ng.conv1d(A, np.ones((4, 3, 2))), TypeError, "DimArray"),
        (lambda: ng.fractional_max_pool2d(P, 2, 2), ValueError, "_random_samples"),
        (lambda: ng.col2im(P, (4, 4), 2), ValueError, "columns"),
        (lambda: ng.fold(ng.positional(P), (4, 4), (2, 2)), TypeError, "dim of offsets.*col2im"),
        (lambda: ng.diagonal_scatter(A, np.ones(3), 1), ng.AxisError, "rows and of the columns"),
    ],
)
def test_errors_name_the_way_out(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("pool", [ng.max_pool, ng.avg_pool])
def test_paddings_of_pooling_are_in_cells(pool: Any) -> None:
    with pytest.raises(TypeError, match="padding 'same' along 'x' is not in cells"):
        pool(ng.DimArray(draw(6), "x"), {"x": 2}, padding="same")
