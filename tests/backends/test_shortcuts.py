"""Kernels of NumPy's that take a shorter way where the operands allow it: on either side of the switch."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special

import namedgrad as ng
from namedgrad import backends
from namedgrad.backends.windows import Span

RNG = np.random.default_rng(5)
NUMPY = backends.NUMPY


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("n", [2, 3, 101])
@pytest.mark.parametrize("spacing", [(-3, 0.06, 0), (1e3, 1e-3, 0), (0, 1, 0.2), (0, 1, 0.9)])
def test_values_among_edges_that_are_evenly_spaced_or_nearly(
    side: str, dtype: type, n: int, spacing: tuple[float, float, float]
) -> None:
    first, width, off = spacing
    edges = np.sort(first + width * (np.arange(n) + off * RNG.uniform(-1, 1, n))).astype(dtype)
    x = RNG.uniform(first - width, first + width * (n + 1), (150, 100)).astype(dtype)
    close = np.concatenate([edges, np.nextafter(edges, dtype(-np.inf)), np.nextafter(edges, dtype(np.inf))])
    x.flat[: close.size], x[-1, :3] = close, (np.nan, np.inf, -np.inf)
    x[-2, 0] = np.finfo(dtype).max
    for values in (x, x[::-1, ::2], np.asfortranarray(x)):
        want = np.searchsorted(edges, values, side=side)
        np.testing.assert_array_equal(NUMPY.searchsorted(edges, values, right=side == "right"), want)


@pytest.mark.parametrize("tail", [0, 1])
@pytest.mark.parametrize("index", [
    ([0, 1, 2], [0, 1, 2]), ([0, 1], [2, 3]), ([2, 1, 0], [0, 1, 2]), ([0, 0], [1, 1]), ([0, 2, 2], [1, 0, 3]),
    ([1], [3]), ([], []), (range(20), range(20)), ([*range(18), 3, 5], range(20)),
])  # fmt: skip
def test_cells_at_pairs_of_positions_are_read_and_added(index: tuple[list[int], list[int]], tail: int) -> None:
    at = tuple(np.array(i, np.intp) for i in index)
    x = RNG.normal(size=(3, 20, 24, *(2,) * tail))
    for a in (x, x[::-1], np.asfortranarray(x)):
        np.testing.assert_array_equal(NUMPY.gather(a, *at, shared=0, tail=tail), a[:, at[0], at[1]])
    g = RNG.normal(size=(3, at[0].size, *(2,) * tail))
    want = np.zeros(x.shape)
    for n, (i, j) in enumerate(zip(*at, strict=True)):
        want[:, i, j] += g[:, n]
    np.testing.assert_allclose(NUMPY.scatter_add(g, *at, shared=0, sizes=(20, 24), tail=tail), want)


@pytest.mark.parametrize("n", [2, 64, 65])  # from 16 writers to each of four cells on another way is taken
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128])
def test_many_writers_to_few_cells(n: int, dtype: type) -> None:
    index, x = RNG.integers(0, 4, n), np.arange(8, dtype=dtype).reshape(2, 4)
    line = (9 * RNG.normal(size=2 * n)).astype(dtype)
    special = line[:n].copy()
    if dtype is not np.int64:
        special[:2] = np.nan, np.inf
    for g in (line[:n], line[::-2], special, np.broadcast_to(dtype(3), n)):
        want = np.zeros(4, dtype)
        np.add.at(want, index, g)
        got = NUMPY.scatter_add(g, index, shared=0, sizes=(4,))
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=1e-5 if dtype is np.float32 else 1e-12)
        both = NUMPY.scatter_into(x, np.stack([g, g]), index, how="add", shared=0)
        np.testing.assert_allclose(both, x + want, rtol=1e-4 if dtype is np.float32 else 1e-12)
    if n > 2:
        with pytest.raises(IndexError):
            NUMPY.scatter_add(line[:n], index + 1, shared=0, sizes=(4,))


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("n", [2, 3, 4, 3.0, 5, 8, -2, -3.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_short_powers_of_many_numbers(dtype: type, n: float, record: bool) -> None:
    f = (lambda f: ng.compile(f)) if record else (lambda f: f)
    power, slope = f(lambda x: x**n), f(ng.grad(lambda x: (x**n).sum(skipna=False)))
    exact = np.exp(RNG.uniform(-4, 4, 2000)).astype(dtype) * RNG.choice([-1, 1], 2000).astype(dtype)
    most = dtype(mpmath.root(float(np.finfo(dtype).max), n))  # one of these is the last that stays in range
    ends = [np.nextafter(most, dtype(np.inf)), -most, 1e-15, -0.0, 0.0, np.inf, -np.inf, np.nan, 1e-40, 1e-110, 1e-160]
    with np.errstate(all="ignore"):
        for a in (exact, exact[::-2], np.resize(np.array(ends, dtype), 2000), np.resize(np.array(ends[3:8], dtype), 2000)):
            for _ in range(2):
                got, g = (h(ng.DimArray(a, "a")) for h in (power, slope))
            assert got.dtype == g.dtype == dtype
            np.testing.assert_allclose(got.data, a**n, rtol=4 * np.finfo(dtype).eps, atol=2 * np.finfo(dtype).smallest_subnormal)
            np.testing.assert_array_equal(np.signbit(got.data[~np.isnan(a)]), np.signbit(a**n)[~np.isnan(a)])
            np.testing.assert_allclose(g.data, n * a ** (n - 1), rtol=4 * np.finfo(dtype).eps, atol=1e-43)
    with pytest.warns(RuntimeWarning, match="overflow"):
        ng.DimArray(np.full(2000, (2 if n > 0 else 0.5) * most, dtype), "a") ** n


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.complex64])
def test_one_or_the_other_of_many_cells(dtype: type, share: float) -> None:
    shape = 60, 20, 20
    x, y = ((9 * RNG.normal(size=shape)).astype(dtype) for _ in range(2))
    if np.issubdtype(dtype, np.inexact):
        x[0, 0, :5], y[1, 1, :5] = [np.nan, -0.0, np.inf, -np.inf, 0.0], [0.0, np.inf, -0.0, np.nan, -np.inf]
    masks = RNG.random(shape) < share, (RNG.random((20, 60, 20)) < share).transpose(1, 0, 2), RNG.random((20, 20)) < share
    others = y, y[0], y.transpose(0, 2, 1), y[..., :1], y[::-1], dtype(2), y.real.astype(np.float64), 1.5, -3, True, np.float32(0.1)
    for mask in (*masks, masks[0].astype(int), share > 0.1):
        for other in others:
            for a, b in ((x, other), (other, x), (other, 2.5), (other, dtype(7)), (2.5, -1), (2, 3), (-0.0, 0.1)):
                got, want = NUMPY.where(mask, a, b), np.where(mask, a, b)
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got, want)
                if want.dtype.kind == "f":
                    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_polygamma_of_many_numbers(dtype: type, n: int) -> None:
    some = np.exp(RNG.uniform(-12, 12, 200)).astype(dtype)
    want = np.array([float(mpmath.psi(n, mpmath.mpf(float(v)))) for v in some])
    got = ng.polygamma(n, ng.DimArray(np.resize(some, 2000), "a"))
    assert got.dtype == dtype
    np.testing.assert_allclose(got.data[:200], want, rtol=2e-15 if dtype is np.float64 else 1e-7)
    ends = np.array([5e-324, 1e-160, 1e-60, 1e60, 1e200, 1.7e308, 0.5])
    for a in (ends, np.append(ends, np.inf), np.append(ends, np.nan), np.append(ends, [-0.0, 0.0, -2.0, -0.5])):
        got = ng.polygamma(n, ng.DimArray(np.resize(a, 2000), "a")).data[: a.size]
        np.testing.assert_allclose(got, scipy.special.polygamma(n, a), rtol=2e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
def test_modf_of_many_numbers(dtype: type) -> None:
    x = (5 * RNG.normal(size=(120, 200))).astype(dtype)
    x.flat[:6] = [0, -1, 2, -3, 4, -5]
    if np.issubdtype(dtype, np.floating):
        x.flat[6:12] = [np.inf, -np.inf, np.nan, -0.0, 0.5, -0.5]
    for y in (x, x.T, x[::-1, ::2], np.broadcast_to(x[0], (300, 200)), x[:3]):
        for got, want in zip(ng.modf(ng.DimArray(y, ("a", "b"))), np.modf(y), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got.data, want)
            number = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(got.data)[number], np.signbit(want)[number])


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int64])
@pytest.mark.parametrize("lengths", [[2, 3, 1], [0, 6, 0], [0, 0, 2, 4], [6], [1] * 6])
def test_runs_that_are_known(lengths: list[int], dtype: type) -> None:
    x = RNG.integers(-3, 4, (2, 6, 3)).astype(dtype)
    if dtype is np.float64:
        x[0, 3, 1], x[1, 2, 0] = np.nan, np.inf
    ends = np.cumsum(lengths)
    low = -np.inf if dtype is not np.int64 else np.iinfo(dtype).min
    for how, reduce in {"sum": lambda p: p.sum(1), "max": lambda p: p.max(1, initial=low)}.items():
        want = np.stack([reduce(x[:, e - n : e]) for e, n in zip(ends, lengths, strict=True)], 1)
        got = ng.segment_reduce(ng.DimArray(x, ("a", "b", "c")), how, lengths=lengths, dim="b")
        assert (got.dims, got.dtype) == (("a", "b", "c"), want.dtype)
        np.testing.assert_array_equal(got.data, want)


def test_the_mode_of_lines_with_nan_and_zeros_of_both_signs() -> None:
    for _ in range(100):
        x = RNG.choice([0.0, -0.0, 1, 2, np.nan, np.inf], (4, RNG.integers(1, 6)), p=[0.2, 0.1, 0.2, 0.2, 0.2, 0.1])
        value, at = ng.mode(ng.DimArray(x, ("a", "b")), "b", return_indices=True)
        np.testing.assert_array_equal(ng.mode(ng.DimArray(x.T, ("b", "a")), "b").data, value.data)
        for line, v, k in zip(x, value.data, at.data, strict=True):
            found, count = np.unique(line, return_counts=True, equal_nan=False)
            want = found[count.argmax()]
            np.testing.assert_array_equal(v, want)
            assert k == (0 if np.isnan(want) else np.flatnonzero(line == want)[-1])


@pytest.mark.parametrize("shape", [(3, 4, 5), (5,), (0, 3), (3, 0), (2, 1), (200, 90)])
@pytest.mark.parametrize("size", [0, 1, 3, 95])
def test_positions_of_true_cells(shape: tuple[int, ...], size: int) -> None:
    x = RNG.random(shape) < 0.5
    for axis in range(x.ndim):
        want = np.zeros((*(n for a, n in enumerate(shape) if a != axis), size), int)
        for at in np.ndindex(*want.shape[:-1]):
            found = np.flatnonzero(np.moveaxis(x, axis, -1)[at])[:size]
            want[(*at, slice(found.size))] = found
        np.testing.assert_array_equal(NUMPY.first_true(x, axis, size), np.moveaxis(want, -1, axis))


@pytest.mark.parametrize("p", [0.5, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("scale", [1.0, 1e200, 1e-200])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_of_the_pairs_of_one_set_and_of_several(p: float, scale: float, dtype: type) -> None:
    x = RNG.normal(size=(2, 3, 30)).astype(dtype)
    x[..., 3] = x[..., 4]
    i, j = np.triu_indices(30, 1)
    want = (np.abs(x[..., i] - x[..., j]).astype(float) ** p).sum(-2) ** (1 / p)
    scale = scale if dtype is np.float64 else 1.0
    got = NUMPY.pair_distance(dtype(scale) * x, p)
    assert got.dtype == dtype
    tolerance = 1e-11 if dtype is np.float64 else 1e-4
    np.testing.assert_allclose(got / scale, want, rtol=tolerance, atol=1e-30)
    np.testing.assert_allclose(NUMPY.pair_distance(dtype(scale) * x[0], p) / scale, want[0], rtol=tolerance, atol=1e-30)
    x[0, 0, 2], x[0, 1, 5] = np.nan, np.inf
    lost = ((i == 2) | (j == 2), ((i == 5) | (j == 5)) & (i != 2) & (j != 2))
    found = NUMPY.pair_distance(x[0], p)
    assert np.isnan(found[lost[0]]).all()
    assert np.isinf(found[lost[1]]).all()


@pytest.mark.parametrize("spans", [
    (Span(2, 3, 2), Span(3, 2, 3)), (Span(2, 3, 4), Span(2, 2, 3, 2)), (Span(2, 2, 2), Span(1, 5, 1)), (Span(2, 3, 1), Span(2, 2, 2)),
    (Span(2, 3, 2, 1, 1), Span(2, 2, 2)), (Span(2, 3, 2, 1, -1), Span(2, 2, 2)), (Span(2, 0, 2), Span(2, 2, 2)),
])  # fmt: skip
@pytest.mark.parametrize("more", [0, 1])
def test_windows_added_back(spans: tuple[Span, Span], more: int) -> None:
    sizes = tuple(s.reach + more for s in spans)
    shape = 2, *(s.number for s in spans), *(s.size for s in spans)
    for innermost in range(5):
        g = np.moveaxis(np.moveaxis(RNG.normal(size=shape), innermost, -1).copy(), -1, innermost)
        want = np.zeros((2, *sizes))
        for at in np.ndindex(*g.shape[1:]):
            cell = [o * s.stride + k * s.dilation - s.before for s, o, k in zip(spans, at[:2], at[2:], strict=True)]
            if all(0 <= i < n for i, n in zip(cell, sizes, strict=True)):
                want[(slice(None), *cell)] += g[(slice(None), *at)]
        np.testing.assert_allclose(NUMPY.overlap_add(g, (1, 2), spans, sizes), want, atol=1e-14)


QUOTIENTS = {
    "plain": lambda n: RNG.normal(size=(2, n)),
    "whole": lambda n: (RNG.integers(-20, 20, n), RNG.choice([-3.0, -2, -1, 1, 2, 0.1, -0.1], n)),
    "zeros": lambda n: (RNG.choice([0.0, -0.0, 1e-30, -1], n), RNG.choice([-1.0, 1, 1e-30, 7], n)),
    "large": lambda n: (RNG.choice([1e30, -1e30, 1], n), RNG.choice([3.0, -7, 1e-8], n)),
    "by zero": lambda n: (RNG.choice([0.0, -0.0, 1], n), RNG.choice([0.0, -0.0, 1], n)),
    "not finite": lambda n: (RNG.choice([np.inf, np.nan, 1], n), RNG.choice([-np.inf, np.nan, 1], n)),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", QUOTIENTS)
def test_divmod_of_many_numbers(kind: str, dtype: type) -> None:
    x, y = (np.asarray(a, dtype) for a in QUOTIENTS[kind](40_000))
    with np.errstate(all="ignore"):
        want = np.divmod(x, y)
        got = ng.divmod(ng.DimArray(x, "a"), ng.DimArray(y, "a"))
    for g, w in zip(got, want, strict=True):
        assert g.dtype == dtype
        np.testing.assert_array_equal(g.data, w)
        there = ~np.isnan(w)
        np.testing.assert_array_equal(np.signbit(g.data)[there], np.signbit(w)[there])
    if kind in ("plain", "whole"):
        slope = ng.grad(lambda y: ng.divmod(ng.DimArray(x, "a"), y)[1].sum())(ng.DimArray(y, "a"))
        np.testing.assert_array_equal(slope.data, -np.floor_divide(x, y))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_slopes_of_mantissas(dtype: type) -> None:
    info = np.finfo(dtype)
    x = np.array([1, -3.5, 0.1, info.max, info.tiny, 0, -0.0, np.inf], dtype)
    for part in (x[:5], x):
        got = ng.grad(lambda x: ng.frexp(x)[0].sum())(ng.DimArray(part, "a")).data
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(got, np.ldexp(np.ones((), dtype), -np.frexp(part)[1]))


FAR = [710.0, 720.0, 740.0, 800.0, np.inf]
NEAR = [*np.geomspace(1e-300, 700, 100), 1.9, 2.0, 2.1, 18.5, 19.5]


@pytest.mark.parametrize("x", [NEAR, np.negative(NEAR), [*NEAR, *FAR, *np.negative(FAR), np.nan]])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_slopes_that_values_tell(x: list[float], dtype: type) -> None:
    given = np.array(x).astype(dtype)
    kind, exact = np.finfo(dtype), [mpmath.mpf(float(v)) for v in given]
    with mpmath.workdps(700), np.errstate(all="ignore"):
        rises = [0 if mpmath.isinf(v) else mpmath.exp(-abs(v)) / (1 + mpmath.exp(-abs(v))) ** 2 for v in exact]
        squares = [mpmath.tanh(v) ** 2 for v in exact]
        want = np.array(rises, float), np.array(squares, float)
        got = NUMPY.expit_slope(given, NUMPY.expit(given)), NUMPY.tanhshrink_slope(given, NUMPY.tanhshrink(given))
    for mine, theirs in zip(got, want, strict=True):
        assert mine.dtype == dtype
        np.testing.assert_allclose(mine, theirs, rtol=4 * kind.eps, atol=4 * kind.smallest_subnormal)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex128, np.int64])
@pytest.mark.parametrize("count", [1, 20, 90, 400])
def test_zeros_put_into_many_cells_or_few(count: int, dtype: type) -> None:
    x = RNG.normal(size=(12, 20)) * 9
    x[0, 0], x[3] = np.nan, np.inf
    x = (np.nan_to_num(x, posinf=5) if dtype is np.int64 else x).astype(dtype)
    zero = np.broadcast_to(np.zeros((), dtype), count)
    pair = tuple(RNG.integers(0, n, count) for n in x.shape)
    for a in (x, x.T.copy().T):
        want = a.copy()
        want[pair] = 0
        before = a.copy()
        np.testing.assert_array_equal(NUMPY.put(a, zero, pair, shared=0, sizes=x.shape, tail=0), want)
        one = RNG.integers(0, 20, count)
        want = a.copy()
        want[:, one] = 0
        many = np.broadcast_to(zero, (12, count))
        np.testing.assert_array_equal(NUMPY.put(a, many, [one], shared=0, sizes=(20,), tail=0), want)
        np.testing.assert_array_equal(a, before)


@pytest.mark.parametrize("count", [0, 1, 30, 300])
@pytest.mark.parametrize("shared", [0, 1])
def test_last_writers_and_how_many_there_are(shared: int, count: int) -> None:
    cells, lead = (7, 9), (4,) * shared
    index = [RNG.integers(0, n, (*lead, count)) for n in cells]
    won, wins = np.zeros((*lead, count), bool), {}
    for k in np.ndindex(won.shape):
        wins[(*k[:shared], *(i[k] for i in index))] = k
    for k in wins.values():
        won[k] = True
    np.testing.assert_array_equal(NUMPY.last_writers(*index, shared=shared, sizes=cells), won)
    for share in (0.02, 0.9):
        mask = RNG.random((*lead, count)) < share
        want = np.zeros((*lead, *cells))
        np.add.at(want, (*np.indices(won.shape)[:shared], *index), mask)
        np.testing.assert_array_equal(NUMPY.scatter_count(mask, *index, shared=shared, sizes=cells), want)
        if not shared:
            rows = np.stack([mask, ~mask], -1)
            got = NUMPY.scatter_count(rows, *index, shared=0, sizes=cells, tail=1)
            np.testing.assert_array_equal(got.sum(-1), NUMPY.scatter_count(mask | ~mask, *index, shared=0, sizes=cells))
            np.testing.assert_array_equal(got[..., 0], want)


@pytest.mark.parametrize("kind", ["numbers", "ties", "missing", "integers"])
@pytest.mark.parametrize("size", [1, 3, 127, 128, 140])
@pytest.mark.parametrize("stride", [1, 2])
def test_offsets_of_the_largest_cells(size: int, stride: int, kind: str) -> None:
    x = RNG.normal(size=(3, 300))
    x = {"ties": np.round(x), "integers": np.round(3 * x).astype(int)}.get(kind, x)
    if kind == "missing":
        x[RNG.random(x.shape) < 0.02] = np.nan
    span = Span(size, (300 - size) // stride + 1, stride)
    windows = np.lib.stride_tricks.sliding_window_view(x, size, 1)[:, ::stride]
    nan = np.isnan(windows)
    want = np.where(nan.any(-1), size - 1 - nan[..., ::-1].argmax(-1), windows.argmax(-1))
    for a, axis in ((x, 1), (x.T, 0), (x.T.copy(), 0)):
        y = NUMPY.window_max(a, axis, span)
        np.testing.assert_array_equal(NUMPY.window_won(a, y, axis, span), want if axis else want.T)


def test_windows_beyond_the_ends_have_no_largest_cell() -> None:
    x, span = RNG.normal(size=(2, 5)), Span(2, 6, 2, before=4)
    won = NUMPY.window_won(x, NUMPY.window_max(x, 1, span), 1, span)
    np.testing.assert_array_equal(won[:, [0, 1, 5]], -1)
    np.testing.assert_array_equal(won[:, 2:4], x[:, :4].reshape(2, 2, 2).argmax(-1))
    np.testing.assert_array_equal(won[:, 4], 0)


@pytest.mark.parametrize("beta", [0.75, 2, 0, -0.5, -2])
@pytest.mark.parametrize("k", [0.0, 1.0])
def test_exponents_of_the_response(beta: float, k: float) -> None:
    x, c = RNG.uniform(1, 2, (2, 7, 3))

    def response(x: np.ndarray) -> np.ndarray:
        padded = np.pad(x * x, ((1, 1), (0, 0)))
        return x / (k + 0.3 * (padded[:-2] + padded[1:-1] + padded[2:]) / 3) ** beta

    def ours(x: ng.DimArray) -> ng.DimArray:
        return ng.local_response_norm(x, "a", 3, alpha=0.3, beta=beta, k=k)

    a = ng.DimArray(x, ("a", "b"))
    np.testing.assert_allclose(ours(a).data, response(x), rtol=1e-13)
    got = ng.grad(lambda x: (ours(x) * ng.DimArray(c, a.dims)).sum())(a).data
    for i in np.ndindex(3, 3):
        h = np.zeros_like(x)
        h[i] = 1e-6
        slope = ((response(x + h) - response(x - h)) * c).sum() / 2e-6
        np.testing.assert_allclose(got[i], slope, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("count", [10, 20_000])
def test_divmod_warns_as_numpy_does(count: int) -> None:
    y = np.ones(count)
    y[5] = 0.0
    x, z = ng.DimArray(np.ones(count), "x"), ng.DimArray(y, "x")
    with pytest.warns(RuntimeWarning) as found:
        ng.divmod(x, z)
    assert {str(w.message).split(" enc")[0] for w in found} == {"divide by zero", "invalid value"}
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        ng.floor_divide(x, z)


@pytest.mark.parametrize(("name", "one"), [("xlogy", 0.0), ("xlog1py", 1.0)])
def test_zeros_have_the_signs_of_scipy(name: str, one: float) -> None:
    x, y = (a.ravel() for a in np.meshgrid([-3.0, -0.0, 0.0, 2.0], np.array([1.0, 0.25, 0.5, 2.0]) - one))
    x, y = np.tile(x, 100), np.tile(y, 100)
    for keep in (np.full(x.shape, fill_value=True), x != 0):
        found = getattr(ng, name)(ng.DimArray(x[keep], "x"), ng.DimArray(y[keep], "x")).data
        exact = getattr(scipy.special, name)(x[keep], y[keep])
        np.testing.assert_allclose(found, exact)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(exact))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.complex128])
@pytest.mark.parametrize("shape", [(3, 4), (1, 5), (0, 3), (3, 0), (130, 90)])
def test_matrices_times_vectors(shape: tuple[int, int], dtype: type) -> None:
    close = 0.05 if dtype is np.float16 else 1e-4
    whole = (3 * RNG.normal(size=(2 * shape[0], 2 * shape[1]))).astype(dtype)
    repeated = np.broadcast_to(whole[: shape[0], :1], shape)
    for x in (np.ascontiguousarray(whole[::2, ::2]), np.asfortranarray(whole[::2, ::2]), whole[::2, ::-2], repeated):
        matrix = ng.DimArray(x, ("a", "b"))
        for dim, size, sums in (("a", shape[0], "ab,a->b"), ("b", shape[1], "ab,b->a")):
            vector = (2 * RNG.normal(size=2 * size)).astype(dtype)[::2]
            named, want = ng.DimArray(vector, (dim,)), np.einsum(sums, x, vector, dtype=np.result_type(dtype, np.float32))
            for got in (ng.dot(matrix, named), ng.dot(named, matrix)):
                assert got.data.dtype == dtype
                np.testing.assert_allclose(got.data, want, rtol=close, atol=close)


def test_matrices_times_vectors_where_zeros_meet_infinity() -> None:
    a, b = ng.DimArray(np.array([1.0, np.inf, 2.0]), ("a",)), ng.DimArray(np.array([3.0, 4.0]), ("b",))
    g = np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]])
    along_a, along_b = ng.pullback(ng.outer, a, b)[1](ng.DimArray(g, ("a", "b")))
    np.testing.assert_array_equal(along_a.data, g @ b.data)
    np.testing.assert_array_equal(along_b.data, g[::2].T @ a.data[::2])


@pytest.mark.parametrize("axis", [(0,), (1,), (0, 1), (2, 1)])
@pytest.mark.parametrize(("stride", "dilation", "before"), [(1, 1, 0), (1, 2, 3), (2, 1, -1), (3, 2, 2)])
def test_overlapping_windows_are_added_row_by_row(monkeypatch, axis, stride, dilation, before):
    monkeypatch.setattr(backends.windows, "CACHED", 40)
    numbers = (12, 5, 4)
    spans = tuple(Span(4, numbers[a], stride, dilation, before) for a in axis)
    sizes = tuple(s.reach + 2 for s in spans)
    g = np.random.default_rng(0).normal(size=(*numbers, *(4,) * len(axis)))
    expected = np.zeros([dict(zip(axis, sizes, strict=True)).get(a, n) for a, n in enumerate(numbers)])
    at = np.indices(g.shape)
    cells = list(at[:3])
    for i, a in enumerate(axis):
        cells[a] = at[a] * stride + at[3 + i] * dilation - before
    there = np.logical_and.reduce([(cells[a] >= 0) & (cells[a] < expected.shape[a]) for a in axis])
    np.add.at(expected, tuple(c[there] for c in cells), g[there])
    np.testing.assert_allclose(NUMPY.overlap_add(g, axis, spans, sizes), expected, rtol=1e-13, atol=1e-13)
